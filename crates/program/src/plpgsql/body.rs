//! The body of a function in PL/pgSQL: blocks, branches and loops.
//!
//! ```text
//!   <<label>> DECLARE … BEGIN … EXCEPTION WHEN … THEN … END label;
//!   IF … THEN … ELSIF … ELSE … END IF;          CASE … WHEN 1, 2 THEN … END CASE;
//!   LOOP … END LOOP;     WHILE … LOOP … END LOOP;     FOR i IN REVERSE 1..n BY 2 LOOP …     FOR r IN SELECT … LOOP …
//! ```

use crate::dollars::is_range;
use crate::file_parser::Parser;
use crate::source::{Piece, Spot, syntax};
use crate::syntax::*;
use skew_value::{Place, SqlError};
use sqlparser::tokenizer::Token;

/// Where the reading of a body is.
pub(super) struct Body<'p, 's> {
    pub(super) parser: &'p mut Parser<'s>,
    /// The variable that RETURN gives its value to.
    pub(super) result: Option<String>,
    /// What RETURNS TABLE (…) declares.
    columns: Vec<ParameterText>,
    /// The names of the parameters.
    given: Vec<String>,
    /// The label of the whole body, which RETURN leaves.
    pub(super) whole: Name,
    /// The labels of the loops around, the innermost last.
    pub(super) loops: Vec<Name>,
    /// How many labels were made.
    made: usize,
    /// The tokens of the body.
    first: usize,
}

/// What its header says of a body.
#[derive(Default)]
pub(super) struct AboutBody {
    pub(super) result: Option<String>,
    pub(super) columns: Vec<ParameterText>,
    pub(super) given: Vec<String>,
}

/// The words that end a list of statements.
const ENDS: [&str; 6] = ["end", "exception", "elsif", "elseif", "else", "when"];

impl<'p, 's> Body<'p, 's> {
    pub(super) fn new(parser: &'p mut Parser<'s>, about: AboutBody) -> Self {
        let whole = Name { text: "body·".to_owned(), place: parser.place() };
        let first = parser.next;
        let AboutBody { result, columns, given } = about;
        Body { parser, result, columns, given, whole, loops: Vec::new(), made: 0, first }
    }

    /// The whole of it, up to the end of the text.
    pub(super) fn outermost(&mut self) -> Result<Statement, SqlError> {
        let place = self.parser.place();
        self.directives()?;
        if let Some(label) = self.label()? {
            self.whole = label;
        }
        let label = Some(self.whole.clone());
        let mut statements = self.declared_columns();
        statements.extend(self.block_statements()?);
        self.parser.end_label(&label)?;
        self.parser.accept(&Token::SemiColon);
        match self.parser.is_at_end() {
            true => Ok(Statement { place, kind: StatementKind::Block(label, statements) }),
            false => Err(self.parser.expected("the end of the body")),
        }
    }

    /// The variables of RETURNS TABLE.
    fn declared_columns(&mut self) -> Vec<Statement> {
        let columns = std::mem::take(&mut self.columns).into_iter();
        let declare = |column: ParameterText| Statement {
            place: column.name.place,
            kind: StatementKind::Declare { names: vec![column.name], sql_type: column.sql_type, default: None },
        };
        columns.map(declare).collect()
    }

    /// `#variable_conflict use_column` and its like.
    fn directives(&mut self) -> Result<(), SqlError> {
        while self.parser.accept(&Token::Sharp) {
            self.parser.advance();
            if self.parser.is_word("use_column") {
                return Err(SqlError::unsupported("#variable_conflict use_column").at(self.parser.place()));
            }
            self.parser.advance();
        }
        Ok(())
    }

    /// `<<name>>`.
    pub(super) fn label(&mut self) -> Result<Option<Name>, SqlError> {
        if !self.parser.accept(&Token::ShiftLeft) {
            return Ok(None);
        }
        let name = self.parser.name("a label")?;
        self.parser.expect(&Token::ShiftRight)?;
        Ok(Some(name))
    }

    /// Declarations, statements and handlers, up to END.
    fn block_statements(&mut self) -> Result<Vec<Statement>, SqlError> {
        let mut statements = Vec::new();
        while self.parser.accept_word("declare") {
            while !self.parser.is_word("begin") && !self.parser.is_word("declare") {
                statements.push(self.declaration()?);
            }
        }
        self.parser.expect_word("begin")?;
        statements.extend(self.statements()?);
        if self.parser.is_word("exception") {
            self.handlers()?;
        }
        self.parser.expect_word("end")?;
        Ok(statements)
    }

    /// `name [CONSTANT] type [NOT NULL] [:= value];`
    fn declaration(&mut self) -> Result<Statement, SqlError> {
        let place = self.parser.place();
        let name = self.parser.name("the name of a variable")?;
        self.parser.accept_word("constant");
        for (word, construct) in [("alias", "ALIAS FOR"), ("cursor", "a cursor"), ("refcursor", "a cursor")] {
            if self.parser.is_word(word) || (word == "cursor" && self.parser.ahead(1).is_word(word)) {
                return Err(SqlError::unsupported(construct).at(self.parser.place()));
            }
        }
        let ends = |spot: &Spot| {
            let word = ["default", "not", "collate"].iter().any(|word| spot.is_word(word));
            word || matches!(spot.token, Token::Assignment | Token::Eq | Token::SemiColon)
        };
        let sql_type = self.parser.piece("a type", ends)?;
        if self.parser.accept_word("collate") {
            self.parser.advance();
        }
        if self.parser.accept_word("not") {
            self.parser.expect_word("null")?;
        }
        let is_given = self.parser.accept_word("default")
            || self.parser.accept(&Token::Assignment)
            || self.parser.accept(&Token::Eq);
        let default = is_given.then(|| self.expression("a value")).transpose()?;
        self.parser.expect(&Token::SemiColon)?;
        Ok(Statement { place, kind: StatementKind::Declare { names: vec![name], sql_type, default } })
    }

    /// An expression up to the semicolon.
    pub(super) fn expression(&mut self, what: &str) -> Result<Piece, SqlError> {
        self.parser.piece(what, |spot| spot.token == Token::SemiColon)
    }

    /// Statements up to a word that ends them, which is left for the caller.
    pub(super) fn statements(&mut self) -> Result<Vec<Statement>, SqlError> {
        let mut statements = Vec::new();
        while !ENDS.iter().any(|word| self.parser.is_word(word)) {
            if self.parser.is_at_end() {
                return Err(self.parser.expected("END"));
            }
            statements.push(self.statement()?);
            self.parser.expect(&Token::SemiColon)?;
        }
        Ok(statements)
    }

    fn statement(&mut self) -> Result<Statement, SqlError> {
        if self.parser.depth >= crate::file_parser::DEEPEST {
            return self.parser.deeper(|_| Err(SqlError::unsupported("")));
        }
        let place = self.parser.place();
        let label = self.label()?;
        self.parser.depth += 1;
        let kind = self.labelled(label, place);
        self.parser.depth -= 1;
        Ok(Statement { place, kind: kind? })
    }

    fn labelled(&mut self, label: Option<Name>, place: Place) -> Result<StatementKind, SqlError> {
        if self.parser.is_word("begin") || self.parser.is_word("declare") {
            let statements = self.block_statements()?;
            self.parser.end_label(&label)?;
            return Ok(StatementKind::Block(label, statements));
        }
        let begins_loop = ["loop", "while", "for", "foreach"].iter().any(|word| self.parser.is_word(word));
        if begins_loop && !self.is_assignment() {
            return self.any_loop(label);
        }
        match label {
            Some(label) => Err(syntax(label.place, "a label stands before a block or a loop")),
            None if self.is_assignment() => self.assignment(),
            None if self.parser.is_word("if") => self.conditional(),
            None if self.parser.is_word("case") => self.case(),
            None => self.plain(place),
        }
    }

    /// EXCEPTION WHEN … THEN …: those that only raise again change nothing, because an error aborts the transaction. Others go on after a part of
    /// the transaction was rolled back.
    fn handlers(&mut self) -> Result<(), SqlError> {
        let place = self.parser.place();
        self.parser.expect_word("exception")?;
        while self.parser.accept_word("when") {
            self.parser.piece("a condition", |spot| spot.is_word("then"))?;
            self.parser.expect_word("then")?;
            let first = self.parser.next;
            let raises = self.only_raises();
            if !raises {
                self.parser.next = first;
                let error = SqlError::unsupported("a handler that goes on after an error (EXCEPTION WHEN)").at(place);
                return Err(error.with_hint("INSERT … ON CONFLICT often does without"));
            }
        }
        Ok(())
    }

    /// Skips the statements of a handler; whether they are RAISE, and the last one is an error.
    fn only_raises(&mut self) -> bool {
        let mut is_error = false;
        while self.parser.is_word("raise") {
            let told = ["notice", "warning", "info", "log", "debug"];
            is_error = !told.iter().any(|word| self.parser.ahead(1).is_word(word));
            while self.parser.spot().token != Token::SemiColon && !self.parser.is_at_end() {
                self.parser.advance();
            }
            self.parser.accept(&Token::SemiColon);
        }
        is_error && (self.parser.is_word("when") || self.parser.is_word("end"))
    }
}

/// Branches.
impl Body<'_, '_> {
    fn condition(&mut self) -> Result<Piece, SqlError> {
        let piece = self.parser.piece("a condition", |spot| spot.is_word("then"))?;
        self.parser.expect_word("then")?;
        Ok(piece)
    }

    fn conditional(&mut self) -> Result<StatementKind, SqlError> {
        self.parser.expect_word("if")?;
        let mut arms = Vec::new();
        loop {
            let condition = self.condition()?;
            arms.push((condition, self.statements()?));
            if !self.parser.accept_word("elsif") && !self.parser.accept_word("elseif") {
                break;
            }
        }
        let otherwise = self.otherwise()?;
        self.end_of("if")?;
        Ok(StatementKind::If { arms, otherwise, must_match: false })
    }

    fn case(&mut self) -> Result<StatementKind, SqlError> {
        self.parser.expect_word("case")?;
        let subject = match self.parser.is_word("when") {
            true => None,
            false => Some(self.parser.piece("a value", |spot| spot.is_word("when"))?),
        };
        let mut arms = Vec::new();
        while self.parser.accept_word("when") {
            let condition = self.condition()?;
            arms.push((condition, self.statements()?));
        }
        if arms.is_empty() {
            return Err(self.parser.expected("WHEN"));
        }
        let otherwise = self.otherwise()?;
        self.end_of("case")?;
        Ok(match subject {
            Some(subject) => StatementKind::Case { subject, arms, otherwise },
            None => StatementKind::If { arms, otherwise, must_match: true },
        })
    }

    fn otherwise(&mut self) -> Result<Option<Vec<Statement>>, SqlError> {
        let has_one = self.parser.accept_word("else");
        has_one.then(|| self.statements()).transpose()
    }

    fn end_of(&mut self, word: &str) -> Result<(), SqlError> {
        self.parser.expect_word("end")?;
        self.parser.expect_word(word)
    }
}

/// Loops.
impl Body<'_, '_> {
    fn any_loop(&mut self, label: Option<Name>) -> Result<StatementKind, SqlError> {
        let start = self.parser.next;
        let label = label.unwrap_or_else(|| {
            self.made += 1;
            // A dot that nobody types.
            Name { text: format!("loop·{}", self.made), place: self.parser.place() }
        });
        if self.parser.is_word("for") {
            return self.for_loop(label, start);
        }
        if self.parser.is_word("foreach") {
            return Err(SqlError::unsupported("FOREACH").at(self.parser.place()));
        }
        let condition = match self.parser.accept_word("while") {
            true => Some(self.parser.piece("a condition", |spot| spot.is_word("loop"))?),
            false => None,
        };
        let body = self.rounds(&label)?;
        Ok(match condition {
            Some(condition) => StatementKind::While(Some(label), condition, body),
            None => StatementKind::Loop(Some(label), body),
        })
    }

    /// LOOP … END LOOP.
    fn rounds(&mut self, label: &Name) -> Result<Vec<Statement>, SqlError> {
        self.parser.expect_word("loop")?;
        self.loops.push(label.clone());
        let body = self.statements()?;
        self.loops.pop();
        self.end_of("loop")?;
        self.parser.end_label(&Some(label.clone()))?;
        Ok(body)
    }

    fn for_loop(&mut self, label: Name, start: usize) -> Result<StatementKind, SqlError> {
        self.parser.expect_word("for")?;
        let mut names = vec![self.parser.name("the name of the row")?];
        while self.parser.accept(&Token::Comma) {
            names.push(self.parser.name("the name of a variable")?);
        }
        self.parser.expect_word("in")?;
        if self.has_range() {
            return self.range(label, names.remove(0), start);
        }
        let place = self.parser.place();
        if self.parser.is_word("execute") {
            return Err(SqlError::unsupported("dynamic SQL (EXECUTE)").at(place));
        }
        let begins = ["select", "with", "values", "insert", "update", "delete", "table"];
        let is_query = begins.iter().any(|word| self.parser.is_word(word)) || self.parser.spot().token == Token::LParen;
        if !is_query {
            return Err(SqlError::unsupported("a loop over a cursor").at(place));
        }
        let query = self.parser.piece("a query", |spot| spot.is_word("loop"))?;
        let body = self.rounds(&label)?;
        let row = self.row(names, start)?;
        let tells = self.is_told(start);
        Ok(StatementKind::For { label: Some(label), row, query, body, tells })
    }

    /// Whether `..` comes before LOOP.
    fn has_range(&self) -> bool {
        let spots = self.parser.source.spots[self.parser.next..].iter();
        let mut until = spots.take_while(|spot| !spot.is_word("loop") && spot.token != Token::EOF);
        until.any(is_range)
    }

    /// A loop over numbers: the variable is its own.
    fn range(&mut self, label: Name, number: Name, start: usize) -> Result<StatementKind, SqlError> {
        let reverse = self.parser.accept_word("reverse");
        let from = self.parser.piece("a number", is_range)?;
        self.parser.advance();
        let to = self.parser.piece("a number", |spot| spot.is_word("loop") || spot.is_word("by"))?;
        let by = match self.parser.accept_word("by") {
            true => Some(self.parser.piece("a number", |spot| spot.is_word("loop"))?),
            false => None,
        };
        let body = self.rounds(&label)?;
        let (bounds, tells) = (RangeBounds { from, to, by, reverse }, self.is_told(start));
        Ok(StatementKind::Range { label: Some(label), number, bounds, body, tells })
    }

    /// What rows are given to: a row, if its fields are used, else variables, which keep their values after the loop. Nobody may want these.
    fn row(&self, mut names: Vec<Name>, start: usize) -> Result<LoopRow, SqlError> {
        let has_fields = |name: &Name| {
            let spots = &self.parser.source.spots[start..self.parser.next];
            spots.windows(2).any(|two| two[0].name().as_ref() == Some(&name.text) && two[1].token == Token::Period)
        };
        if names.len() == 1 && (has_fields(&names[0]) || self.is_record(&names[0])) {
            return Ok(LoopRow::Row(names.remove(0)));
        }
        let uses = |name: &Name| self.outside(start).filter(|spot| spot.name().as_ref() == Some(&name.text)).count();
        // One use is the declaration.
        let is_used = |name: &&Name| uses(name) > 1 || self.given.contains(&name.text);
        match names.iter().find(is_used) {
            None => Ok(LoopRow::Variables(names)),
            Some(name) => {
                let construct = format!("a variable of a loop that is used outside of it ({})", name.text);
                Err(SqlError::unsupported(construct).at(name.place))
            }
        }
    }

    /// Whether a variable was declared as a row.
    fn is_record(&self, name: &Name) -> bool {
        let spots = &self.parser.source.spots[self.first..];
        let declared = |three: &[Spot]| {
            let is_row = three[1].is_word("record") || three[1..].iter().any(|spot| spot.is_word("rowtype"));
            three[0].name().as_ref() == Some(&name.text) && is_row
        };
        spots.windows(4).take_while(|three| three[0].token != Token::EOF).any(declared)
    }

    /// Whether somebody may ask for FOUND after a loop that began at a token.
    fn is_told(&self, start: usize) -> bool {
        match self.loops.is_empty() {
            true => self.after().any(|spot| spot.is_word("found")),
            false => self.outside(start).any(|spot| spot.is_word("found")),
        }
    }

    fn after(&self) -> impl Iterator<Item = &'_ Spot> {
        self.parser.source.spots[self.parser.next..].iter().take_while(|spot| spot.token != Token::EOF)
    }

    /// The tokens of the body before a token, and those that come next.
    fn outside(&self, start: usize) -> impl Iterator<Item = &'_ Spot> {
        self.parser.source.spots[self.first..start].iter().chain(self.after())
    }
}
