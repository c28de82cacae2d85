//! Reads a program file: schema and rows, procedures, then sessions and assertions.
//!
//! ```text
//!   CREATE TABLE …; INSERT …;          any SQL, as a piece up to its semicolon
//!   CREATE PROCEDURE p(…) BEGIN … END;  its body is read by `body_parser`
//!   SESSION a: CALL p(1, @x); CALL …    up to the next SESSION, ASSERT or the end
//!   ASSERT 'name': condition;
//! ```
//!
//! A token decides what comes next; nothing is tried twice, so the time is linear. Statements nest at most [`DEEPEST`] deep.

use crate::plpgsql;
use crate::source::{Piece, Source, Spot, syntax};
use crate::syntax::*;
use skew_history::level::{IsolationLevel, listed};
use skew_value::{Dialect, Place, SqlError, SqlState};
use sqlparser::tokenizer::Token;

/// How deep statements may nest.
pub(super) const DEEPEST: usize = 64;

/// Reads a whole file.
pub(crate) fn parse(source: &Source) -> Result<ProgramText, SqlError> {
    Parser::new(source).program()
}

/// Where the reading is.
pub(super) struct Parser<'a> {
    pub(super) source: &'a Source,
    pub(super) next: usize,
    pub(super) depth: usize,
    /// How many DO blocks there were.
    pub(super) blocks: usize,
}

/// Tokens.
impl<'a> Parser<'a> {
    pub(super) fn new(source: &'a Source) -> Parser<'a> {
        Parser { source, next: 0, depth: 0, blocks: 0 }
    }

    pub(super) fn spot(&self) -> &'a Spot {
        &self.source.spots[self.next]
    }

    /// The token so many places further, or the end.
    pub(super) fn ahead(&self, count: usize) -> &'a Spot {
        let spots = &self.source.spots[self.next..];
        let last = spots.iter().take(count).position(|spot| spot.token == Token::EOF);
        &spots[last.unwrap_or(count)]
    }

    pub(super) fn place(&self) -> Place {
        self.spot().place
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.spot().token == Token::EOF
    }

    pub(super) fn advance(&mut self) {
        if !self.is_at_end() {
            self.next += 1;
        }
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.spot().is_word(word)
    }

    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let accepted = self.is_word(word);
        if accepted {
            self.advance();
        }
        accepted
    }

    pub(super) fn accept(&mut self, token: &Token) -> bool {
        let accepted = self.spot().token == *token;
        if accepted {
            self.advance();
        }
        accepted
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<(), SqlError> {
        if self.accept_word(word) { Ok(()) } else { Err(self.expected(word)) }
    }

    pub(super) fn expect(&mut self, token: &Token) -> Result<(), SqlError> {
        if self.accept(token) { Ok(()) } else { Err(self.expected(&token.to_string())) }
    }

    pub(super) fn expected(&self, what: &str) -> SqlError {
        let found = match &self.spot().token {
            Token::EOF if self.next == self.source.end => "the end of the file".to_owned(),
            Token::EOF => "the end of the body".to_owned(),
            token => token.to_string(),
        };
        syntax(self.place(), format!("expected {what}, found {found}"))
    }

    pub(super) fn name(&mut self, what: &str) -> Result<Name, SqlError> {
        let (place, name) = (self.place(), self.spot().name());
        let text = name.ok_or_else(|| self.expected(what))?;
        self.advance();
        Ok(Name { text, place })
    }

    /// The text between quotes.
    pub(super) fn quoted(&mut self, what: &str) -> Result<String, SqlError> {
        let text = match &self.spot().token {
            Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) => text.clone(),
            _ => return Err(self.expected(what)),
        };
        self.advance();
        Ok(text)
    }

    /// The tokens up to one that ends the piece, outside of parentheses and of CASE … END.
    pub(super) fn piece(&mut self, what: &str, ends: impl Fn(&Spot) -> bool) -> Result<Piece, SqlError> {
        let start = self.next;
        let (mut parentheses, mut cases) = (0_usize, 0_usize);
        loop {
            let spot = self.spot();
            let outside = parentheses == 0 && cases == 0;
            if spot.token == Token::EOF || (outside && ends(spot)) {
                break;
            }
            match &spot.token {
                Token::LParen | Token::LBracket | Token::LBrace => parentheses += 1,
                Token::RParen | Token::RBracket | Token::RBrace if parentheses == 0 => break,
                Token::RParen | Token::RBracket | Token::RBrace => parentheses -= 1,
                Token::SemiColon => break,
                Token::Word(_) if spot.is_word("case") => cases += 1,
                Token::Word(_) if spot.is_word("end") => cases = cases.saturating_sub(1),
                _ => {}
            }
            self.advance();
        }
        match self.next > start {
            true => Ok(Piece::plain(start..self.next)),
            false => Err(self.expected(what)),
        }
    }

    /// Goes one level deeper, if that is still allowed.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, SqlError>) -> Result<T, SqlError> {
        if self.depth >= DEEPEST {
            let message = format!("statements are nested more than {DEEPEST} deep");
            return Err(SqlError::new(SqlState::TOO_COMPLEX, message).at(self.place()));
        }
        self.depth += 1;
        let outcome = read(self);
        self.depth -= 1;
        outcome
    }
}

/// The file.
impl Parser<'_> {
    fn program(&mut self) -> Result<ProgramText, SqlError> {
        let mut program = ProgramText::default();
        while !self.is_at_end() {
            if self.accept(&Token::SemiColon) {
                continue;
            }
            let is_late = !program.sessions.is_empty() || !program.assertions.is_empty();
            if self.is_word("session") {
                program.sessions.push(self.session()?);
            } else if self.is_word("assert") {
                program.assertions.push(self.assertion()?);
            } else if is_late {
                return Err(self.too_late());
            } else if self.creates_procedure() {
                let procedure = self.procedure()?;
                program.add(procedure);
            } else {
                program.schema.push(self.schema_statement()?);
            }
        }
        Ok(program)
    }

    fn too_late(&self) -> SqlError {
        if self.is_word("call") {
            return syntax(self.place(), "CALL belongs to a session").with_hint("write it after `SESSION name:`");
        }
        self.expected("SESSION, ASSERT or the end of the file")
            .with_hint("schema, rows and procedures come before the first SESSION and ASSERT")
    }

    fn schema_statement(&mut self) -> Result<Piece, SqlError> {
        if self.is_word("call") {
            return Err(self.too_late());
        }
        // No expression of the program's own is around: only the semicolon ends it.
        let start = self.next;
        while !self.is_at_end() && self.spot().token != Token::SemiColon {
            self.advance();
        }
        let piece = Piece::plain(start..self.next);
        self.accept(&Token::SemiColon);
        Ok(piece)
    }

    /// CREATE [OR REPLACE] [DEFINER = …] PROCEDURE; PostgreSQL's functions and DO, too.
    pub(super) fn creates_procedure(&self) -> bool {
        self.creates("procedure") || self.is_of_postgres()
    }

    pub(super) fn creates(&self, word: &str) -> bool {
        self.is_word("create")
            && (1..8)
                .map(|count| self.ahead(count))
                .take_while(|spot| spot.token != Token::LParen)
                .any(|spot| spot.is_word(word))
    }

    pub(super) fn procedure(&mut self) -> Result<ProcedureText, SqlError> {
        if self.is_of_postgres() {
            return plpgsql::definition(self);
        }
        while !self.accept_word("procedure") {
            self.advance();
        }
        if self.accept_word("if") {
            self.expect_word("not")?;
            self.expect_word("exists")?;
        }
        let name = self.name("the name of the procedure")?;
        let parameters = self.parameters()?;
        self.characteristics()?;
        let body = self.body()?;
        self.accept(&Token::SemiColon);
        Ok(ProcedureText { name, parameters, body, language: Language::Psm })
    }

    fn parameters(&mut self) -> Result<Vec<ParameterText>, SqlError> {
        let mut parameters = Vec::new();
        self.expect(&Token::LParen)?;
        while !self.accept(&Token::RParen) {
            let mode = self.parameter_mode();
            let name = self.name("the name of a parameter")?;
            let ends = |spot: &Spot| matches!(spot.token, Token::Comma | Token::RParen);
            let sql_type = self.piece("the type of the parameter", ends)?;
            parameters.push(ParameterText { mode, name, sql_type, default: None });
            if !self.accept(&Token::Comma) && self.spot().token != Token::RParen {
                return Err(self.expected(", or )"));
            }
        }
        Ok(parameters)
    }

    fn parameter_mode(&mut self) -> ParameterMode {
        // `in INT` is a parameter named in; `IN x INT` is not.
        let names_follow = self.ahead(1).name().is_some()
            && !matches!(self.ahead(2).token, Token::Comma | Token::RParen | Token::LParen);
        for (word, mode) in [("in", ParameterMode::In), ("out", ParameterMode::Out), ("inout", ParameterMode::InOut)] {
            if names_follow && self.accept_word(word) {
                return mode;
            }
        }
        ParameterMode::In
    }

    /// What MariaDB allows between the parameters and the body, none of which matters here.
    fn characteristics(&mut self) -> Result<(), SqlError> {
        const WORDS: [&str; 13] = [
            "language",
            "sql",
            "deterministic",
            "not",
            "contains",
            "no",
            "reads",
            "modifies",
            "data",
            "security",
            "definer",
            "invoker",
            "comment",
        ];
        loop {
            if self.is_word("as") || self.is_word("plpgsql") {
                return Err(syntax(self.place(), "procedures of PL/pgSQL are not supported").with_hint(
                    "write the body as SQL/PSM: BEGIN DECLARE …; SELECT … INTO …; IF … THEN … END IF; END",
                ));
            }
            if WORDS.iter().any(|word| self.is_word(word)) {
                let is_comment = self.is_word("comment");
                self.advance();
                if is_comment {
                    self.quoted("the text of the comment")?;
                }
                continue;
            }
            return Ok(());
        }
    }

    fn session(&mut self) -> Result<SessionText, SqlError> {
        self.expect_word("session")?;
        // Names of sessions are shown, so their letters stay as they are.
        let shown = match &self.spot().token {
            Token::Word(word) => word.value.clone(),
            _ => return Err(self.expected("the name of the session")),
        };
        let name = Name { text: shown, ..self.name("the name of the session")? };
        self.expect(&Token::Colon)?;
        let mut calls = Vec::new();
        while self.accept_word("call") {
            calls.push(self.call()?);
        }
        if calls.is_empty() {
            return Err(self.expected("CALL"));
        }
        Ok(SessionText { name, calls })
    }

    fn call(&mut self) -> Result<CallText, SqlError> {
        let procedure = self.name("the name of a procedure")?;
        let mut arguments = Vec::new();
        if self.accept(&Token::LParen) {
            while !self.accept(&Token::RParen) {
                arguments.push(self.argument()?);
                if !self.accept(&Token::Comma) && self.spot().token != Token::RParen {
                    return Err(self.expected(", or )"));
                }
            }
        }
        let level = if self.accept_word("at") { Some(self.level()?) } else { None };
        if !self.accept(&Token::SemiColon) && !self.is_at_end() {
            return Err(self.expected("; after the call"));
        }
        Ok(CallText { procedure, arguments, level })
    }

    fn argument(&mut self) -> Result<ArgumentText, SqlError> {
        let place = self.place();
        if let Some(text) = self.session_variable()? {
            return Ok(ArgumentText::Variable(Name { text, place }));
        }
        let ends = |spot: &Spot| matches!(spot.token, Token::Comma | Token::RParen);
        Ok(ArgumentText::Constant(self.piece("an argument", ends)?))
    }

    /// `@name`: one word to MySQL's tokenizer, two tokens to PostgreSQL's.
    fn session_variable(&mut self) -> Result<Option<String>, SqlError> {
        match (&self.spot().token, self.source.dialect) {
            (Token::Word(word), Dialect::MySql) if word.value.starts_with('@') && word.quote_style.is_none() => {
                let name = word.value[1..].to_lowercase();
                self.advance();
                Ok(Some(name))
            }
            (Token::AtSign, _) => {
                self.advance();
                Ok(Some(self.name("the name of a session variable")?.text))
            }
            _ => Ok(None),
        }
    }

    /// The words of a level, joined by hyphens or blanks.
    fn level(&mut self) -> Result<IsolationLevel, SqlError> {
        let place = self.place();
        let mut text = String::new();
        while self.spot().token != Token::SemiColon && !self.is_at_end() {
            match &self.spot().token {
                Token::Word(word) => {
                    if !text.is_empty() && !text.ends_with(['-', ':']) {
                        text.push('-');
                    }
                    text.push_str(&word.value.to_lowercase());
                }
                Token::SingleQuotedString(name) => text.push_str(name),
                Token::Minus => text.push('-'),
                Token::Colon => text.push(':'),
                _ => break,
            }
            self.advance();
        }
        text.parse().map_err(|_| {
            let levels = listed(IsolationLevel::of_papers().map(IsolationLevel::name), "and");
            syntax(place, format!("there is no isolation level {text}")).with_hint(format!("the levels are {levels}"))
        })
    }

    fn assertion(&mut self) -> Result<AssertionText, SqlError> {
        self.expect_word("assert")?;
        let name = self.quoted("the name of the assertion in quotes")?;
        self.expect(&Token::Colon)?;
        let condition = self.piece("a condition", |spot| spot.token == Token::SemiColon)?;
        if !self.accept(&Token::SemiColon) && !self.is_at_end() {
            return Err(self.expected("; after the condition"));
        }
        Ok(AssertionText { name, condition })
    }
}
