//! Reads the body of a procedure: the statements of SQL/PSM as MariaDB has them.
//!
//! ```text
//!   IF  condition  THEN  statements  ELSEIF … ELSE … END IF;
//!       ^^^^^^^^^ a piece: everything up to THEN, outside of parentheses and of CASE … END
//! ```
//!
//! What MariaDB has and this does not (handlers, cursors, dynamic SQL) is refused by name, with what to write instead.

use crate::file_parser::Parser;
use crate::source::{Piece, Spot, syntax};
use crate::syntax::*;
use skew_value::{Dialect, Place, SqlError};
use sqlparser::tokenizer::Token;

impl Parser<'_> {
    /// The body of a procedure: one statement, nearly always a block.
    pub(super) fn body(&mut self) -> Result<Statement, SqlError> {
        let place = self.place();
        let label = self.label()?;
        let kind = match self.is_word("begin") {
            // `START TRANSACTION` and `COMMIT` around everything are what a procedure means anyway.
            true => {
                let statements = self.deeper(|parser| parser.block_statements(true))?;
                self.end_label(&label)?;
                StatementKind::Block(label, statements)
            }
            false => self.deeper(|parser| parser.labelled(label))?,
        };
        Ok(Statement { place, kind })
    }

    fn statement(&mut self) -> Result<Statement, SqlError> {
        let place = self.place();
        let label = self.label()?;
        let kind = self.deeper(|parser| parser.labelled(label))?;
        Ok(Statement { place, kind })
    }

    /// `name:` before a block or loop.
    fn label(&mut self) -> Result<Option<Name>, SqlError> {
        if self.ahead(1).token != Token::Colon || self.spot().name().is_none() {
            return Ok(None);
        }
        let name = self.name("a label")?;
        self.advance();
        let begins = ["begin", "loop", "while", "repeat", "for"];
        match begins.iter().any(|word| self.is_word(word)) {
            true => Ok(Some(name)),
            false => Err(self.expected("BEGIN, LOOP, WHILE, REPEAT or FOR after the label")),
        }
    }

    fn labelled(&mut self, label: Option<Name>) -> Result<StatementKind, SqlError> {
        if self.is_word("begin") {
            let statements = self.block_statements(false)?;
            self.end_label(&label)?;
            return Ok(StatementKind::Block(label, statements));
        }
        if self.accept_word("while") {
            return self.while_loop(label);
        }
        if self.accept_word("loop") {
            let body = self.statements_until(&["end"])?;
            self.end_of("loop", &label)?;
            return Ok(StatementKind::Loop(label, body));
        }
        if self.accept_word("repeat") {
            let body = self.statements_until(&["until"])?;
            self.expect_word("until")?;
            let condition = self.piece("a condition", |spot| spot.is_word("end"))?;
            self.end_of("repeat", &label)?;
            return Ok(StatementKind::Repeat(label, body, condition));
        }
        if self.accept_word("for") {
            return self.for_loop(label);
        }
        self.plain_statement()
    }

    /// BEGIN … END without what follows END. Declarations come first.
    fn block_statements(&mut self, outermost: bool) -> Result<Vec<Statement>, SqlError> {
        self.expect_word("begin")?;
        if self.accept_word("not") {
            self.expect_word("atomic")?;
        }
        let mut statements: Vec<Statement> = Vec::new();
        while !self.is_word("end") {
            if outermost && self.transaction_control(statements.is_empty())? {
                continue;
            }
            let statement = self.statement_or_end()?;
            let is_declaration = |statement: &Statement| matches!(statement.kind, StatementKind::Declare { .. });
            if is_declaration(&statement) && statements.last().is_some_and(|last| !is_declaration(last)) {
                return Err(syntax(statement.place, "DECLARE comes before the other statements of its block"));
            }
            statements.push(statement);
        }
        self.expect_word("end")?;
        Ok(statements)
    }

    /// Skips START TRANSACTION at the beginning and COMMIT at the end of a procedure, where they change nothing.
    fn transaction_control(&mut self, at_start: bool) -> Result<bool, SqlError> {
        let starts =
            self.is_word("start") && self.ahead(1).is_word("transaction") && self.ahead(2).token == Token::SemiColon;
        if at_start && starts {
            (0..3).for_each(|_| self.advance());
            return Ok(true);
        }
        let commits = self.is_word("commit") && self.ahead(1).token == Token::SemiColon && self.ahead(2).is_word("end");
        if commits {
            (0..2).for_each(|_| self.advance());
        }
        Ok(commits)
    }

    fn statement_or_end(&mut self) -> Result<Statement, SqlError> {
        if self.is_at_end() {
            return Err(self.expected("END"));
        }
        let statement = self.statement()?;
        self.expect(&Token::SemiColon)?;
        Ok(statement)
    }

    /// Statements up to one of these words, which is left for the caller.
    fn statements_until(&mut self, words: &[&str]) -> Result<Vec<Statement>, SqlError> {
        let mut statements = Vec::new();
        while !words.iter().any(|word| self.is_word(word)) {
            if self.is_at_end() {
                return Err(self.expected(&words.join(" or ").to_uppercase()));
            }
            let statement = self.statement_or_end()?;
            if matches!(statement.kind, StatementKind::Declare { .. }) {
                return Err(syntax(statement.place, "DECLARE stands at the beginning of a block")
                    .with_hint("write BEGIN … END around it"));
            }
            statements.push(statement);
        }
        Ok(statements)
    }

    /// END LOOP label.
    fn end_of(&mut self, word: &str, label: &Option<Name>) -> Result<(), SqlError> {
        self.expect_word("end")?;
        self.expect_word(word)?;
        self.end_label(label)
    }

    pub(super) fn end_label(&mut self, label: &Option<Name>) -> Result<(), SqlError> {
        if self.spot().token == Token::SemiColon || self.spot().name().is_none() {
            return Ok(());
        }
        let end = self.name("the label")?;
        match label {
            Some(begin) if begin.text == end.text => Ok(()),
            _ => Err(syntax(end.place, format!("the label {} is not the one at the beginning", end.text))),
        }
    }

    fn while_loop(&mut self, label: Option<Name>) -> Result<StatementKind, SqlError> {
        let condition = self.piece("a condition", |spot| spot.is_word("do"))?;
        self.expect_word("do")?;
        let body = self.statements_until(&["end"])?;
        self.end_of("while", &label)?;
        Ok(StatementKind::While(label, condition, body))
    }

    fn for_loop(&mut self, label: Option<Name>) -> Result<StatementKind, SqlError> {
        let row = self.name("the name of the row")?;
        self.expect_word("in")?;
        let is_query = |spot: &Spot| spot.is_word("select") || spot.is_word("with") || spot.token == Token::LParen;
        if !is_query(self.spot()) {
            return Err(self.expected("(SELECT …)").with_hint("a loop over numbers is a WHILE"));
        }
        let query = self.piece("a query", |spot| spot.is_word("do"))?;
        self.expect_word("do")?;
        let body = self.statements_until(&["end"])?;
        self.end_of("for", &label)?;
        Ok(StatementKind::For { label, row: LoopRow::Row(row), query, body, tells: false })
    }

    fn plain_statement(&mut self) -> Result<StatementKind, SqlError> {
        let place = self.place();
        let Some(word) = self.spot().name() else { return self.query_or_change() };
        match word.as_str() {
            "declare" => self.declare(),
            "set" => self.set(),
            "if" => self.conditional(),
            "case" => self.case(),
            "leave" | "iterate" => self.jump(word == "leave"),
            "signal" => self.signal(),
            "savepoint" | "release" => self.savepoint(),
            "rollback" if (1..3).any(|count| self.ahead(count).is_word("to")) => self.savepoint(),
            "rollback" => {
                self.advance();
                Ok(StatementKind::Rollback)
            }
            "get" => self.diagnostics(),
            "select" | "with" => self.query(),
            "insert" | "update" | "delete" | "replace" | "values" | "table" => self.query_or_change(),
            _ => Err(refused(&word, place)),
        }
    }

    /// DECLARE a, b INT DEFAULT 0.
    fn declare(&mut self) -> Result<StatementKind, SqlError> {
        self.expect_word("declare")?;
        if ["continue", "exit", "undo"].iter().any(|kind| self.is_word(kind)) && self.ahead(1).is_word("handler") {
            return Err(refused("handler", self.place()));
        }
        let mut names = vec![self.name("the name of a variable")?];
        while self.accept(&Token::Comma) {
            names.push(self.name("the name of a variable")?);
        }
        for (word, refusal) in [("cursor", "cursor"), ("condition", "condition")] {
            if self.is_word(word) {
                return Err(refused(refusal, self.place()));
            }
        }
        let sql_type = self.piece("a type", |spot| spot.is_word("default") || spot.token == Token::SemiColon)?;
        let default = match self.accept_word("default") {
            true => Some(self.piece("a value", |spot| spot.token == Token::SemiColon)?),
            false => None,
        };
        Ok(StatementKind::Declare { names, sql_type, default })
    }

    /// SET a = 1, b = 2.
    fn set(&mut self) -> Result<StatementKind, SqlError> {
        self.expect_word("set")?;
        let mut assignments = Vec::new();
        loop {
            let name = self.name("the name of a variable")?;
            if name.text.starts_with('@') || ["transaction", "session", "global"].contains(&name.text.as_str()) {
                return Err(refused("set", name.place));
            }
            if !self.accept(&Token::Assignment) {
                self.expect(&Token::Eq)?;
            }
            let value = self.piece("a value", |spot| matches!(spot.token, Token::Comma | Token::SemiColon))?;
            assignments.push((name, value));
            if !self.accept(&Token::Comma) {
                return Ok(StatementKind::Set(assignments));
            }
        }
    }

    fn conditional(&mut self) -> Result<StatementKind, SqlError> {
        let mut arms = Vec::new();
        self.expect_word("if")?;
        loop {
            let condition = self.piece("a condition", |spot| spot.is_word("then"))?;
            self.expect_word("then")?;
            arms.push((condition, self.statements_until(&["elseif", "elsif", "else", "end"])?));
            if !self.accept_word("elseif") && !self.accept_word("elsif") {
                break;
            }
        }
        let otherwise = self.otherwise()?;
        self.end_of("if", &None)?;
        Ok(StatementKind::If { arms, otherwise, must_match: false })
    }

    fn case(&mut self) -> Result<StatementKind, SqlError> {
        self.expect_word("case")?;
        let subject = match self.is_word("when") {
            true => None,
            false => Some(self.piece("a value", |spot| spot.is_word("when"))?),
        };
        let mut arms = Vec::new();
        while self.accept_word("when") {
            let condition = self.piece("a condition", |spot| spot.is_word("then"))?;
            self.expect_word("then")?;
            arms.push((condition, self.statements_until(&["when", "else", "end"])?));
        }
        if arms.is_empty() {
            return Err(self.expected("WHEN"));
        }
        let otherwise = self.otherwise()?;
        self.end_of("case", &None)?;
        Ok(match subject {
            Some(subject) => StatementKind::Case { subject, arms, otherwise },
            None => StatementKind::If { arms, otherwise, must_match: true },
        })
    }

    fn otherwise(&mut self) -> Result<Option<Vec<Statement>>, SqlError> {
        match self.accept_word("else") {
            true => Ok(Some(self.statements_until(&["end"])?)),
            false => Ok(None),
        }
    }

    fn jump(&mut self, leaves: bool) -> Result<StatementKind, SqlError> {
        self.advance();
        let label = self.name("a label")?;
        Ok(if leaves { StatementKind::Leave(label) } else { StatementKind::Iterate(label) })
    }

    /// SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'.
    fn signal(&mut self) -> Result<StatementKind, SqlError> {
        self.expect_word("signal")?;
        self.expect_word("sqlstate")?;
        self.accept_word("value");
        let place = self.place();
        let state = self.quoted("a SQLSTATE in quotes")?;
        let is_state =
            state.len() == 5 && state.chars().all(|letter| letter.is_ascii_digit() || letter.is_ascii_uppercase());
        if !is_state || state.starts_with("00") {
            return Err(
                syntax(place, format!("'{state}' is no SQLSTATE of an error")).with_hint("'45000' is for your own")
            );
        }
        let mut message = None;
        if self.accept_word("set") {
            loop {
                let item = self.name("MESSAGE_TEXT")?;
                self.expect(&Token::Eq)?;
                let value = self.piece("a text", |spot| matches!(spot.token, Token::Comma | Token::SemiColon))?;
                match item.text.as_str() {
                    "message_text" => message = Some(value),
                    "mysql_errno" => {}
                    other => return Err(syntax(item.place, format!("SIGNAL cannot set {other}"))),
                }
                if !self.accept(&Token::Comma) {
                    break;
                }
            }
        }
        Ok(StatementKind::Signal { state, message })
    }

    /// SAVEPOINT a, RELEASE [SAVEPOINT] a, ROLLBACK [WORK] TO [SAVEPOINT] a.
    fn savepoint(&mut self) -> Result<StatementKind, SqlError> {
        let start = self.next;
        let verb = match (self.accept_word("savepoint"), self.accept_word("release")) {
            (true, _) => SavepointVerb::Set,
            (false, true) => SavepointVerb::Release,
            (false, false) => {
                self.expect_word("rollback")?;
                let _ = self.accept_word("work") || self.accept_word("transaction");
                self.expect_word("to")?;
                SavepointVerb::BackTo
            }
        };
        match verb {
            SavepointVerb::Set => {}
            // MySQL's RELEASE has the word.
            SavepointVerb::Release if self.source.dialect == Dialect::MySql => self.expect_word("savepoint")?,
            SavepointVerb::Release | SavepointVerb::BackTo => drop(self.accept_word("savepoint")),
        }
        let name = self.name("the name of a savepoint")?;
        Ok(StatementKind::Savepoint(verb, name, Piece::plain(start..self.next)))
    }

    /// GET DIAGNOSTICS n = ROW_COUNT.
    fn diagnostics(&mut self) -> Result<StatementKind, SqlError> {
        self.expect_word("get")?;
        self.accept_word("current");
        self.expect_word("diagnostics")?;
        let name = self.name("the name of a variable")?;
        self.expect(&Token::Eq)?;
        self.expect_word("row_count")?;
        Ok(StatementKind::RowCount(name))
    }

    fn query_or_change(&mut self) -> Result<StatementKind, SqlError> {
        Ok(StatementKind::Sql(self.whole_statement()?))
    }

    pub(super) fn whole_statement(&mut self) -> Result<Piece, SqlError> {
        let start = self.next;
        while !self.is_at_end() && self.spot().token != Token::SemiColon {
            self.advance();
        }
        match self.next > start {
            true => Ok(Piece::plain(start..self.next)),
            false => Err(self.expected("a statement")),
        }
    }

    /// A query, with or without INTO.
    fn query(&mut self) -> Result<StatementKind, SqlError> {
        let piece = self.whole_statement()?;
        let Some(into) = self.place_of_into(&piece) else { return Ok(StatementKind::Sql(piece)) };
        let end = self.next;
        self.next = into + 1;
        let mut names = vec![self.target()?];
        while self.accept(&Token::Comma) {
            names.push(self.target()?);
        }
        let query = Piece { instead: vec![(into..self.next, "")], ..piece };
        self.next = end;
        Ok(StatementKind::SelectInto { query, into: names, rows: IntoRows::Keep })
    }

    fn target(&mut self) -> Result<Name, SqlError> {
        let name = self.name("the name of a variable")?;
        match name.text.starts_with('@') {
            true => Err(refused("set", name.place)),
            false => Ok(name),
        }
    }

    fn is_call(&self, number: usize) -> bool {
        self.source.spots.get(number + 1).is_some_and(|next| next.token == Token::LParen)
    }

    /// The INTO outside of parentheses; `WITH … INSERT INTO` has another.
    fn place_of_into(&self, piece: &Piece) -> Option<usize> {
        let mut depth = 0_usize;
        for number in piece.spots.clone() {
            let spot = &self.source.spots[number];
            match spot.token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                _ if depth > 0 => {}
                // `replace(` is the function, as `insert(` is in MySQL; a statement has a table or INTO behind the word.
                _ if (spot.is_word("insert") || spot.is_word("replace")) && !self.is_call(number) => return None,
                _ if spot.is_word("into") => return Some(number),
                _ => {}
            }
        }
        None
    }
}

/// What a procedure here cannot do, by name and with what to write instead.
fn refused(word: &str, place: Place) -> SqlError {
    let (construct, hint) = match word {
        "handler" => (
            "DECLARE … HANDLER",
            "an error aborts the transaction; to look for a row, use EXISTS or SELECT … INTO a variable that is NULL before",
        ),
        "cursor" | "open" | "fetch" | "close" => ("a cursor", "write FOR row IN (SELECT …) DO … END FOR"),
        "condition" => ("DECLARE … CONDITION", "write the SQLSTATE in SIGNAL"),
        "set" => (
            "setting a session's variable in a procedure",
            "use an OUT parameter; a level is given by `CALL … AT level`",
        ),
        "commit" | "start" | "begin" => (
            "ending a transaction inside a procedure",
            "a procedure is one transaction: write two procedures and call one after the other",
        ),
        "call" => ("CALL inside a procedure", "write the statements of the other procedure here"),
        "resignal" => ("RESIGNAL", "write SIGNAL"),
        "return" => ("RETURN in a procedure", "give the outermost block a label and LEAVE it"),
        "create" | "alter" | "drop" | "truncate" | "rename" => {
            ("changing the schema in a procedure", "write it before the procedures")
        }
        "prepare" | "execute" | "deallocate" => ("dynamic SQL", "write the statement itself"),
        other => return SqlError::unsupported(format!("{} in a procedure", other.to_uppercase())).at(place),
    };
    SqlError::unsupported(construct).with_hint(hint).at(place)
}
