//! A file of SQL taken apart at its top level, for whoever puts texts together before they are read as one program.
//!
//! ```text
//!   CREATE TABLE …; INSERT …;        schema and rows
//!   CREATE PROCEDURE p(…) … END;     a procedure, as a whole
//!   BEGIN; … COMMIT;                 statements of a transaction
//!   SESSION …  ASSERT …              who calls what: from the first of them to the end
//! ```
//!
//! Nothing is bound here, and what is wrong with a part is for whoever reads it as a program.

use crate::error::ProgramError;
use crate::file_parser::Parser;
use crate::source::{Source, named_dialect};
use skew_value::{Dialect, Place, SqlState};
use sqlparser::tokenizer::Token;
use std::ops::Range;

/// What a part of a file is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PartKind {
    /// CREATE TABLE and whatever else changes the schema.
    Schema,
    /// INSERT.
    Rows,
    /// CREATE PROCEDURE, with its name.
    Procedure(String),
    /// Code that no program can have: what it is called.
    Code(&'static str),
    /// What says nothing about rows or tables: rights, functions that go or are called otherwise.
    Silent,
    /// BEGIN or START TRANSACTION.
    Begin,
    /// COMMIT or END.
    Commit,
    /// Any other statement.
    Statement,
    /// Sessions and assertions, up to the end.
    Sessions,
}

/// A part of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilePart {
    /// What it is.
    pub kind: PartKind,
    /// Its bytes, with its semicolon.
    pub bytes: Range<usize>,
    /// Where it begins.
    pub place: Place,
    /// Why a procedure cannot be read, if it cannot.
    pub error: Option<ProgramError>,
}

/// The dialect that the first line of a text names.
pub fn dialect_of(text: &str) -> Option<Dialect> {
    named_dialect(text).ok().flatten()
}

/// The parts of a text, in order.
pub fn parts(text: &str, dialect: Dialect) -> Result<Vec<FilePart>, ProgramError> {
    let start = Place { line: 1, column: 1 };
    let source = Source::new(text, dialect).map_err(|error| ProgramError::new(error, start, text))?;
    let mut parser = Parser::new(&source);
    let mut parts = Vec::new();
    while !parser.is_at_end() {
        if parser.accept(&Token::SemiColon) {
            continue;
        }
        parts.push(part(&mut parser, text));
    }
    Ok(parts)
}

fn part(parser: &mut Parser<'_>, text: &str) -> FilePart {
    let (first, place) = (parser.next, parser.place());
    let mut error = None;
    let kind = if parser.is_word("session") && parser.ahead(2).token == Token::Colon || parser.is_word("assert") {
        while !parser.is_at_end() {
            parser.advance();
        }
        PartKind::Sessions
    } else if parser.creates_procedure() {
        let (name, has_dollars) = (name_of_procedure(parser), has_dollars(parser));
        match parser.procedure() {
            Ok(procedure) => PartKind::Procedure(procedure.name.text),
            Err(found) => {
                error = Some(ProgramError::new(found, place, text));
                parser.next = first;
                if has_dollars {
                    skip_statement(parser)
                } else {
                    skip_to_definition(parser)
                }
                PartKind::Procedure(name)
            }
        }
    } else {
        let kind = kind_of_statement(parser);
        skip_statement(parser);
        kind
    };
    let spots = &parser.source.spots;
    let end = spots[parser.next.saturating_sub(1).max(first)].bytes.end;
    FilePart { kind, bytes: spots[first].bytes.start..end, place, error }
}

fn name_of_procedure(parser: &Parser<'_>) -> String {
    let is_kind = |count: &usize| ["procedure", "function"].iter().any(|word| parser.ahead(*count).is_word(word));
    let Some(mut place) = (0..16).find(is_kind) else { return "DO".to_owned() };
    // Its schema may stand before it.
    while parser.ahead(place + 2).token == Token::Period {
        place += 2;
    }
    parser.ahead(place + 1).name().unwrap_or_default()
}

/// Whether the body of a definition is one token, so that its semicolon is its end.
fn has_dollars(parser: &Parser<'_>) -> bool {
    let spots = parser.source.spots.iter().enumerate().skip(parser.next);
    let mut own = spots.take_while(|(_, spot)| !matches!(spot.token, Token::SemiColon | Token::EOF));
    own.any(|(number, _)| parser.source.bodies.contains_key(&number))
}

fn skip_statement(parser: &mut Parser<'_>) {
    while !parser.is_at_end() && !parser.accept(&Token::SemiColon) {
        parser.advance();
    }
}

/// Goes on to the next definition at the beginning of a statement; what lies between belongs to a procedure that cannot be read.
fn skip_to_definition(parser: &mut Parser<'_>) {
    parser.advance();
    while !parser.is_at_end() {
        let begins = parser.next > 0 && parser.source.spots[parser.next - 1].token == Token::SemiColon;
        let is_definition = ["create", "alter", "drop", "session", "assert"].iter().any(|word| parser.is_word(word));
        if begins && is_definition {
            return;
        }
        parser.advance();
    }
}

/// What a program cannot have, by its word after CREATE.
const CODE: [(&str, &str); 5] = [
    ("trigger", "CREATE TRIGGER"),
    ("function", "CREATE FUNCTION"),
    ("rule", "CREATE RULE"),
    ("policy", "CREATE POLICY"),
    ("event", "CREATE EVENT"),
];

/// Statements that say nothing about rows or tables, by their first words.
const SILENT: [(&str, &str); 18] = [
    ("grant", ""),
    ("revoke", ""),
    ("comment", "on"),
    ("security", "label"),
    ("drop", "function"),
    ("drop", "procedure"),
    ("drop", "routine"),
    ("drop", "aggregate"),
    ("drop", "trigger"),
    ("drop", "rule"),
    ("drop", "policy"),
    ("alter", "function"),
    ("alter", "procedure"),
    ("alter", "sequence"),
    ("alter", "default"),
    ("create", "aggregate"),
    ("create", "statistics"),
    ("set", "schema"),
];

fn kind_of_statement(parser: &Parser<'_>) -> PartKind {
    let is = |word: &str| parser.is_word(word);
    let tables = ["table", "index", "sequence", "type", "schema", "domain", "extension", "view"];
    let is_named = |word: &&str| parser.creates(word) && !tables.iter().any(|table| parser.creates(table));
    if let Some((_, what)) = CODE.iter().find(|(word, _)| is_named(word)) {
        return PartKind::Code(what);
    }
    let is_silent = |pair: &(&str, &str)| is(pair.0) && (pair.1.is_empty() || parser.ahead(1).is_word(pair.1));
    if SILENT.iter().any(is_silent) {
        return PartKind::Silent;
    }
    let is_any = |words: &[&str]| words.iter().any(|word| is(word));
    let starts = is("start") && parser.ahead(1).is_word("transaction");
    if is("insert") {
        PartKind::Rows
    } else if is("begin") || starts {
        PartKind::Begin
    } else if is_any(&["commit", "end"]) {
        PartKind::Commit
    } else if is_any(&[
        "select",
        "update",
        "delete",
        "with",
        "values",
        "call",
        "rollback",
        "replace",
        "savepoint",
        "release",
    ]) {
        PartKind::Statement
    } else {
        PartKind::Schema
    }
}

impl ProgramError {
    /// Whether it is about something that is not supported, rather than wrong.
    pub fn is_unsupported(&self) -> bool {
        self.state == SqlState::FEATURE_NOT_SUPPORTED || self.message.contains("not supported")
    }

    /// What it is that is not understood, where the text may be right all the same: not supported here, or a function that is defined elsewhere.
    pub fn construct(&self) -> Option<String> {
        let is_elsewhere = self.state == SqlState::UNDEFINED_FUNCTION;
        let named = self.message.trim_end_matches(" is not supported").trim_end_matches(" does not exist");
        (is_elsewhere || self.is_unsupported()).then(|| named.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_apart_at_its_top_level() {
        let text = "CREATE TABLE t (id INT PRIMARY KEY);\nINSERT INTO t VALUES (1);\n\
            CREATE PROCEDURE p() BEGIN SELECT id FROM t; END;\n\
            BEGIN;\nUPDATE t SET id = 2;\nCOMMIT;\n\
            CREATE FUNCTION f() RETURNS int AS $$ BEGIN RETURN 1; END; $$ LANGUAGE plpgsql;\n\
            CREATE TRIGGER u AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();\n\
            SESSION a: CALL p();\nASSERT 'x': true;";
        let parts = parts(text, Dialect::Postgres).unwrap();
        let kinds: Vec<&PartKind> = parts.iter().map(|part| &part.kind).collect();
        let expected = [
            PartKind::Schema,
            PartKind::Rows,
            PartKind::Procedure("p".to_owned()),
            PartKind::Begin,
            PartKind::Statement,
            PartKind::Commit,
            PartKind::Procedure("f".to_owned()),
            PartKind::Code("CREATE TRIGGER"),
            PartKind::Sessions,
        ];
        assert_eq!(kinds, expected.iter().collect::<Vec<&PartKind>>());
        assert_eq!(&text[parts[2].bytes.clone()], "CREATE PROCEDURE p() BEGIN SELECT id FROM t; END;");
        assert!(text[parts[8].bytes.clone()].starts_with("SESSION") && parts[8].bytes.end == text.len());
    }

    #[test]
    fn a_procedure_that_cannot_be_read_ends_where_the_next_definition_begins() {
        let text =
            "CREATE PROCEDURE p() BEGIN DECLARE c CURSOR FOR SELECT 1; END;\nCREATE PROCEDURE q() BEGIN SELECT 1; END;";
        let parts = parts(text, Dialect::Postgres).unwrap();
        assert_eq!(parts.len(), 2, "{parts:#?}");
        assert!(parts[0].error.as_ref().is_some_and(ProgramError::is_unsupported) && parts[1].error.is_none());
    }
}
