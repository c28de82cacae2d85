//! What a line of PL/pgSQL does: assignments, SQL with and without INTO, RETURN, RAISE, jumps.

use super::body::Body;
use crate::source::{Piece, syntax};
use crate::syntax::*;
use skew_value::{Place, SqlError};
use sqlparser::tokenizer::Token;

/// RAISE with one of these goes on.
const TOLD: [&str; 5] = ["notice", "warning", "info", "log", "debug"];

/// Errors that RAISE and their like raise: raise_exception, assert_failure.
const RAISED: &str = "P0001";
const FAILED: &str = "P0004";

/// Nothing at all.
fn nothing() -> StatementKind {
    StatementKind::Block(None, Vec::new())
}

/// Assignments.
impl Body<'_, '_> {
    /// `x :=`, `x =`, `r.f :=`, `a[1] :=`.
    pub(super) fn is_assignment(&self) -> bool {
        let assigns = |count: usize| matches!(self.parser.ahead(count).token, Token::Assignment | Token::Eq);
        let is_field = self.parser.ahead(1).token == Token::Period && assigns(3);
        let is_name = self.parser.spot().name().is_some();
        is_name && (assigns(1) || is_field || self.parser.ahead(1).token == Token::LBracket)
    }

    pub(super) fn assignment(&mut self) -> Result<StatementKind, SqlError> {
        let name = self.target()?;
        if self.parser.spot().token == Token::LBracket {
            return Err(SqlError::unsupported("an assignment to an element of an array").at(name.place));
        }
        self.parser.advance();
        let value = self.expression("a value")?;
        Ok(StatementKind::Set(vec![(name, value)]))
    }

    /// A variable, or a field of one.
    fn target(&mut self) -> Result<Name, SqlError> {
        let name = self.parser.name("the name of a variable")?;
        match self.parser.accept(&Token::Period) {
            true => {
                let field = self.parser.name("the name of a field")?;
                Ok(Name { text: format!("{}·{}", name.text, field.text), ..name })
            }
            false => Ok(name),
        }
    }
}

/// Statements by their first word.
impl Body<'_, '_> {
    pub(super) fn plain(&mut self, place: Place) -> Result<StatementKind, SqlError> {
        let Some(word) = self.parser.spot().name() else { return Err(self.parser.expected("a statement")) };
        match word.as_str() {
            "null" => {
                self.parser.advance();
                Ok(nothing())
            }
            "exit" | "continue" => self.jump(word == "exit"),
            "return" => self.returned(place),
            "raise" => self.raise(place),
            "assert" => self.assert(place),
            "perform" => self.perform(),
            "get" => self.diagnostics(),
            "select" | "with" | "values" | "table" | "insert" | "update" | "delete" => self.sql(place),
            _ => Err(refused(&word, place)),
        }
    }

    /// EXIT and CONTINUE, with a label or for the innermost loop, perhaps WHEN.
    fn jump(&mut self, leaves: bool) -> Result<StatementKind, SqlError> {
        let place = self.parser.place();
        self.parser.advance();
        let is_named = self.parser.spot().token != Token::SemiColon && !self.parser.is_word("when");
        let label = match is_named {
            true => self.parser.name("a label")?,
            false => {
                let around = self.loops.last().cloned();
                around.ok_or_else(|| syntax(place, "there is no loop around this"))?
            }
        };
        let kind = if leaves { StatementKind::Leave(label) } else { StatementKind::Iterate(label) };
        if !self.parser.accept_word("when") {
            return Ok(kind);
        }
        let condition = self.expression("a condition")?;
        let arms = vec![(condition, vec![Statement { place, kind }])];
        Ok(StatementKind::If { arms, otherwise: None, must_match: false })
    }

    /// RETURN, RETURN x, RETURN NEXT x, RETURN QUERY.
    fn returned(&mut self, place: Place) -> Result<StatementKind, SqlError> {
        let start = self.parser.next;
        self.parser.advance();
        if self.parser.accept_word("query") {
            if self.parser.is_word("execute") {
                return Err(refused("execute", place));
            }
            return Ok(StatementKind::Sql(self.parser.whole_statement()?));
        }
        let leave = Statement { place, kind: StatementKind::Leave(self.whole.clone()) };
        let is_next = self.parser.accept_word("next");
        if self.parser.spot().token == Token::SemiColon {
            return match is_next {
                true => Err(SqlError::unsupported("RETURN NEXT without a value").at(place)),
                false => Ok(leave.kind),
            };
        }
        let value = self.expression("a value")?;
        if is_next {
            let instead = vec![(start..start + 2, "SELECT")];
            return Ok(StatementKind::Sql(Piece { spots: start..value.spots.end, instead }));
        }
        let Some(result) = self.result.clone() else {
            return Err(SqlError::unsupported("RETURN with a value, where none or rows are returned").at(place));
        };
        let name = Name { text: result, place };
        let set = Statement { place, kind: StatementKind::Set(vec![(name, value)]) };
        Ok(StatementKind::Block(None, vec![set, leave]))
    }

    /// RAISE: an error aborts, anything else is only told.
    fn raise(&mut self, place: Place) -> Result<StatementKind, SqlError> {
        self.parser.advance();
        let is_told = TOLD.iter().any(|word| self.parser.accept_word(word));
        self.parser.accept_word("exception");
        if self.parser.spot().token == Token::SemiColon {
            return Err(SqlError::unsupported("RAISE without an error, outside of a handler").at(place));
        }
        let first = self.parser.next;
        let rest = self.expression("a message")?;
        let spots = &self.parser.source.spots[rest.spots];
        if is_told {
            return match spots.iter().any(|spot| spot.is_word("select")) {
                true => Err(SqlError::unsupported("RAISE with a query in it").at(place)),
                false => Ok(nothing()),
            };
        }
        let has_message = matches!(spots[0].token, Token::SingleQuotedString(_));
        let message = has_message.then(|| Piece::plain(first..first + 1));
        let code = spots.windows(3).find(|three| three[0].is_word("errcode"));
        let state = match code.map(|three| &three[2].token) {
            Some(Token::SingleQuotedString(state)) if is_state(state) => state.clone(),
            _ => RAISED.to_owned(),
        };
        Ok(StatementKind::Signal { state, message })
    }

    /// ASSERT condition, message.
    fn assert(&mut self, place: Place) -> Result<StatementKind, SqlError> {
        self.parser.advance();
        let ends = |spot: &crate::source::Spot| matches!(spot.token, Token::Comma | Token::SemiColon);
        let condition = self.parser.piece("a condition", ends)?;
        let message = match self.parser.accept(&Token::Comma) {
            true => Some(self.expression("a message")?),
            false => None,
        };
        let signal = Statement { place, kind: StatementKind::Signal { state: FAILED.to_owned(), message } };
        Ok(StatementKind::If { arms: vec![(condition, Vec::new())], otherwise: Some(vec![signal]), must_match: false })
    }

    /// PERFORM: a query whose rows nobody looks at.
    fn perform(&mut self) -> Result<StatementKind, SqlError> {
        let piece = self.parser.whole_statement()?;
        let query = Piece { instead: vec![(piece.spots.start..piece.spots.start + 1, "SELECT")], ..piece };
        Ok(StatementKind::SelectInto { query, into: Vec::new(), rows: IntoRows::First })
    }

    /// GET DIAGNOSTICS n = ROW_COUNT.
    fn diagnostics(&mut self) -> Result<StatementKind, SqlError> {
        self.parser.advance();
        self.parser.accept_word("current");
        self.parser.expect_word("diagnostics")?;
        let name = self.target()?;
        if !self.parser.accept(&Token::Assignment) {
            self.parser.expect(&Token::Eq)?;
        }
        let place = self.parser.place();
        if self.parser.accept_word("row_count") && self.parser.spot().token == Token::SemiColon {
            return Ok(StatementKind::RowCount(name));
        }
        Err(SqlError::unsupported("GET DIAGNOSTICS of anything but ROW_COUNT").at(place))
    }

    /// SQL, with or without INTO.
    fn sql(&mut self, place: Place) -> Result<StatementKind, SqlError> {
        let is_query = ["select", "values", "table"].iter().any(|word| self.parser.is_word(word));
        let piece = self.parser.whole_statement()?;
        let Some(into) = self.place_of_into(&piece) else {
            return match is_query {
                true => {
                    Err(syntax(place, "the rows of this query go nowhere").with_hint("write SELECT … INTO, or PERFORM"))
                }
                false => Ok(StatementKind::Sql(piece)),
            };
        };
        let end = self.parser.next;
        self.parser.next = into + 1;
        let is_strict = self.parser.accept_word("strict");
        let mut names = vec![self.target()?];
        while self.parser.accept(&Token::Comma) {
            names.push(self.target()?);
        }
        let query = Piece { instead: vec![(into..self.parser.next, "")], ..piece };
        self.parser.next = end;
        let rows = match (is_strict, self.changes(&query)) {
            (true, _) => IntoRows::Strict,
            (false, true) => IntoRows::One,
            (false, false) => IntoRows::First,
        };
        Ok(StatementKind::SelectInto { query, into: names, rows })
    }

    /// Whether a statement is a change: INSERT, UPDATE, DELETE outside of parentheses.
    fn changes(&self, piece: &Piece) -> bool {
        self.outside_of_parentheses(piece).any(|number| {
            let spot = &self.parser.source.spots[number];
            let before = |word: &str| number > 0 && self.parser.source.spots[number - 1].is_word(word);
            // FOR UPDATE, FOR NO KEY UPDATE.
            let is_lock = before("for") || before("key");
            !is_lock && ["insert", "update", "delete"].iter().any(|word| spot.is_word(word))
        })
    }

    /// The INTO that names variables: outside of parentheses, and not that of INSERT INTO.
    fn place_of_into(&self, piece: &Piece) -> Option<usize> {
        let spots = &self.parser.source.spots;
        let is_target =
            |number: &usize| spots[*number].is_word("into") && !(*number > 0 && spots[*number - 1].is_word("insert"));
        self.outside_of_parentheses(piece).find(is_target)
    }

    fn outside_of_parentheses(&self, piece: &Piece) -> impl Iterator<Item = usize> {
        let mut depth = 0_usize;
        piece.spots.clone().filter(move |number| {
            match self.parser.source.spots[*number].token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        })
    }
}

/// Functions in SQL.
impl Body<'_, '_> {
    /// The statements between dollars.
    pub(super) fn statements_of_sql(&mut self) -> Result<Statement, SqlError> {
        let place = self.parser.place();
        let mut statements = Vec::new();
        while !self.parser.is_at_end() {
            if !self.parser.accept(&Token::SemiColon) {
                statements.push(self.statement_of_sql()?);
            }
        }
        Ok(self.returning_last(place, statements))
    }

    /// The caller gets the rows of the last statement.
    fn returning_last(&self, place: Place, mut statements: Vec<Statement>) -> Statement {
        let others = statements.len().saturating_sub(1);
        for statement in statements.iter_mut().take(others) {
            if let StatementKind::Sql(query) = &statement.kind
                && !self.changes(query)
            {
                let (query, into) = (query.clone(), Vec::new());
                statement.kind = StatementKind::SelectInto { query, into, rows: IntoRows::First };
            }
        }
        Statement { place, kind: StatementKind::Block(Some(self.whole.clone()), statements) }
    }

    /// `BEGIN ATOMIC … END` or `RETURN …`.
    pub(super) fn inline(&mut self) -> Result<Statement, SqlError> {
        let place = self.parser.place();
        let mut statements = Vec::new();
        if self.parser.is_word("return") {
            let kind = self.returned(place)?;
            statements.push(Statement { place, kind });
        } else {
            self.parser.expect_word("begin")?;
            self.parser.expect_word("atomic")?;
            while !self.parser.accept_word("end") {
                if self.parser.is_at_end() {
                    return Err(self.parser.expected("END"));
                }
                statements.push(self.statement_of_sql()?);
                self.parser.expect(&Token::SemiColon)?;
            }
        }
        Ok(self.returning_last(place, statements))
    }

    fn statement_of_sql(&mut self) -> Result<Statement, SqlError> {
        let place = self.parser.place();
        let words = ["select", "with", "values", "table", "insert", "update", "delete"];
        let is_known = words.iter().any(|word| self.parser.is_word(word)) || self.parser.spot().token == Token::LParen;
        match self.parser.spot().name().filter(|_| !is_known) {
            Some(word) => Err(refused(&word, place)),
            None => Ok(Statement { place, kind: StatementKind::Sql(self.parser.whole_statement()?) }),
        }
    }
}

fn is_state(text: &str) -> bool {
    text.len() == 5 && text.chars().all(|letter| letter.is_ascii_digit() || letter.is_ascii_uppercase())
}

/// What a function here cannot do, by name.
fn refused(word: &str, place: Place) -> SqlError {
    let construct = match word {
        "execute" => "dynamic SQL (EXECUTE)".to_owned(),
        "open" | "fetch" | "move" | "close" => "a cursor".to_owned(),
        "commit" | "rollback" | "savepoint" | "start" => "ending a transaction inside a function".to_owned(),
        "call" => "CALL inside a function".to_owned(),
        "create" | "alter" | "drop" | "truncate" => "changing the schema in a function".to_owned(),
        other => format!("{} in a function", other.to_uppercase()),
    };
    SqlError::unsupported(construct).at(place)
}
