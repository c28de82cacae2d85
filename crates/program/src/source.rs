//! The text of a program as tokens that know where they stand, and the pieces that are cut out of it.
//!
//! `sqlparser` reads expressions, queries and table definitions, not procedures; so the program's own statements are read from its
//! tokens here, and what lies between them is handed on as text. Whatever is taken out of a piece or put into it keeps its length,
//! so that places in the piece are places in the file:
//!
//! ```text
//!   SELECT balance INTO bal FROM account WHERE id = acct       in the file
//!   SELECT balance          FROM account WHERE id = acct       the piece: INTO is the program's, the query is SQL's
//!   SET total = total + line.price                             in the file, inside FOR line IN …
//!               total + line·price                             the piece: a field is a variable with a dot that nobody types
//! ```
//!
//! `DELIMITER` lines of MySQL's client are understood the same way: the line becomes blanks, the delimiter a semicolon.

use crate::dollars;
use skew_value::{Dialect, Place, SqlError, SqlState};
use sqlparser::dialect::{Dialect as Grammar, MySqlDialect, PostgreSqlDialect};
use sqlparser::tokenizer::{Location, Token, Tokenizer};
use std::collections::BTreeMap;
use std::ops::Range;

/// Stands for the dot and the brackets in the name of a field.
pub(crate) const FIELD_DOT: char = '·';

/// The largest program that is read.
const LARGEST_TEXT: usize = 16 << 20;

/// A token of the file.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub(crate) token: Token,
    /// Its bytes in the text.
    pub(crate) bytes: Range<usize>,
    pub(crate) place: Place,
}

impl Spot {
    /// Whether it is this word, unquoted, in any case of letters.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
    }

    /// Its name, if it is one: lower-case unless quoted.
    pub(crate) fn name(&self) -> Option<String> {
        match &self.token {
            Token::Word(word) if word.quote_style.is_some() => Some(word.value.clone()),
            Token::Word(word) => Some(word.value.to_lowercase()),
            _ => None,
        }
    }
}

/// A file of program text.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) dialect: Dialect,
    /// The text with delimiters replaced, character by character as long as the file.
    pub(crate) text: String,
    /// All tokens but blanks and comments, up to the end of the file; behind it those of each body between dollars, up to the end of the body.
    pub(crate) spots: Vec<Spot>,
    /// Where the tokens of the body begin that a token is: `AS $$ … $$`; or why it has none.
    pub(crate) bodies: BTreeMap<usize, Result<usize, SqlError>>,
    /// The token that is the end of the file.
    pub(crate) end: usize,
}

/// A part of the file: some tokens, with other words in place of some of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    /// The tokens.
    pub(crate) spots: Range<usize>,
    /// What stands in place of some; nothing for those that are left out.
    pub(crate) instead: Vec<(Range<usize>, &'static str)>,
}

impl Piece {
    /// Tokens as they are.
    pub(crate) fn plain(spots: Range<usize>) -> Piece {
        Piece { spots, instead: Vec::new() }
    }
}

impl Source {
    /// Reads the tokens of a file in a dialect.
    pub(crate) fn new(file: &str, dialect: Dialect) -> Result<Source, SqlError> {
        if file.len() > LARGEST_TEXT {
            let message = format!("the program has more than {} MiB", LARGEST_TEXT >> 20);
            return Err(SqlError::new(SqlState::LIMIT_EXCEEDED, message).at(Place { line: 1, column: 1 }));
        }
        let text = replace_delimiters(file);
        let mut spots = tokens_of(&text, dialect)?;
        let end = spots.len() - 1;
        let mut bodies = BTreeMap::new();
        if dialect == Dialect::Postgres {
            let numbers: Vec<usize> = (0..end).filter(|number| dollars::is_body(&spots, *number)).collect();
            for number in numbers {
                let first = spots.len();
                let body = dollars::body_tokens(&text, &spots[number]);
                bodies.insert(number, body.map(|body| spots.extend(body)).map(|()| first));
            }
        }
        Ok(Source { dialect, text, spots, bodies, end })
    }

    /// The text of a piece as it stands in the file.
    pub(crate) fn text_of(&self, piece: &Piece) -> String {
        self.rewritten(piece, &[])
    }

    /// Where a piece begins.
    pub(crate) fn place_of(&self, piece: &Piece) -> Place {
        self.spots[piece.spots.start.min(self.spots.len() - 1)].place
    }

    /// The text of a piece in which some tokens are replaced by a name; what is left out or gets shorter becomes blanks.
    pub(crate) fn rewritten(&self, piece: &Piece, names: &[(Range<usize>, String)]) -> String {
        let Some(bytes) = self.bytes_of(&piece.spots) else { return String::new() };
        let mut text = String::with_capacity(bytes.len());
        let mut done = bytes.start;
        let instead = piece.instead.iter().map(|(spots, words)| (spots.clone(), (*words).to_owned()));
        let mut changes: Vec<(Range<usize>, String)> = instead.chain(names.iter().cloned()).collect();
        changes.sort_by_key(|(spots, _)| spots.start);
        for (spots, name) in changes {
            let Some(change) = self.bytes_of(&spots) else { continue };
            if change.start < done {
                continue;
            }
            text.push_str(&self.text[done..change.start]);
            text.push_str(&padded(&name, &self.text[change.clone()]));
            done = change.end;
        }
        text.push_str(&self.text[done..bytes.end]);
        text
    }

    /// The same, as a statement or expression whose places are those of the file after [`in_file`].
    fn bytes_of(&self, spots: &Range<usize>) -> Option<Range<usize>> {
        if spots.is_empty() {
            return None;
        }
        Some(self.spots[spots.start].bytes.start..self.spots[spots.end - 1].bytes.end)
    }
}

/// The text is no program.
pub(crate) fn syntax(place: Place, message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, message).at(place)
}

/// The error of a piece, at its place in the file. `prefix` characters were put before the piece.
pub(crate) fn in_file(mut error: SqlError, piece: Place, prefix: u32) -> SqlError {
    error.place = Some(match error.place {
        Some(Place { line: 1, column }) => {
            Place { line: piece.line, column: piece.column + column.saturating_sub(1 + prefix) }
        }
        Some(Place { line, column }) => Place { line: piece.line + line - 1, column },
        None => piece,
    });
    error
}

/// A message in which fields have their dots again.
pub(crate) fn readable(message: &str) -> String {
    message.replace(FIELD_DOT, ".")
}

/// A name as long as what it replaces, with the same line breaks.
fn padded(name: &str, replaced: &str) -> String {
    let mut text = name.to_owned();
    for character in replaced.chars().skip(name.chars().count()) {
        text.push(if character == '\n' { '\n' } else { ' ' });
    }
    text
}

/// The dialect that the first line names: `-- dialect: mysql`.
pub(crate) fn named_dialect(file: &str) -> Result<Option<Dialect>, SqlError> {
    let first = file.lines().next().unwrap_or_default().trim_start_matches('\u{feff}').trim();
    let comment = first.strip_prefix("--").map(str::trim);
    let Some(name) = comment.and_then(|comment| comment.strip_prefix("dialect:")) else { return Ok(None) };
    match name.trim().to_ascii_lowercase().as_str() {
        "mysql" | "mariadb" => Ok(Some(Dialect::MySql)),
        "postgres" | "postgresql" => Ok(Some(Dialect::Postgres)),
        other => Err(syntax(Place { line: 1, column: 1 }, format!("there is no dialect {other}"))
            .with_hint("write postgres or mysql")),
    }
}

pub(crate) fn tokens_of(text: &str, dialect: Dialect) -> Result<Vec<Spot>, SqlError> {
    let grammar: &dyn Grammar = match dialect {
        Dialect::Postgres => &PostgreSqlDialect {},
        Dialect::MySql => &MySqlDialect {},
    };
    let tokens = Tokenizer::new(grammar, text)
        .tokenize_with_location()
        .map_err(|error| syntax(place(error.location), error.message.to_lowercase()))?;
    let mut walk = Walk { text, byte: 0, line: 1, column: 1 };
    let mut spots = Vec::new();
    for found in tokens {
        let bytes = walk.to(found.span.start)..walk.to(found.span.end);
        if !matches!(found.token, Token::Whitespace(_) | Token::EOF) {
            spots.push(Spot { token: found.token, bytes, place: place(found.span.start) });
        }
    }
    let end = walk.to(Location { line: u64::MAX, column: 0 });
    let last = Place { line: walk.line as u32, column: walk.column as u32 };
    spots.push(Spot { token: Token::EOF, bytes: end..end, place: last });
    Ok(spots)
}

fn place(location: Location) -> Place {
    let number = |number: u64| u32::try_from(number.max(1)).unwrap_or(u32::MAX);
    Place { line: number(location.line), column: number(location.column) }
}

/// Goes through the text once, to turn lines and columns into bytes.
struct Walk<'a> {
    text: &'a str,
    byte: usize,
    line: u64,
    column: u64,
}

impl Walk<'_> {
    fn to(&mut self, location: Location) -> usize {
        for character in self.text[self.byte..].chars() {
            if (self.line, self.column) >= (location.line, location.column) {
                break;
            }
            self.byte += character.len_utf8();
            (self.line, self.column) =
                if character == '\n' { (self.line + 1, 1) } else { (self.line, self.column + 1) };
        }
        self.byte
    }
}

/// What [`replace_delimiters`] is inside of.
#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Nothing,
    Quotes(char),
    LineComment,
    BlockComment,
}

/// Makes `DELIMITER //` lines blank and the delimiter a semicolon, outside of quotes and comments.
fn replace_delimiters(file: &str) -> String {
    if !file.to_ascii_lowercase().contains("delimiter") {
        return file.to_owned();
    }
    let mut delimiter = String::from(";");
    let mut inside = Inside::Nothing;
    let mut text = String::with_capacity(file.len());
    for line in file.split_inclusive('\n') {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if inside == Inside::Nothing && first.eq_ignore_ascii_case("delimiter") {
            delimiter = words.next().unwrap_or(";").to_owned();
            text.push_str(&padded("", line));
            continue;
        }
        replace_in_line(line, &delimiter, &mut inside, &mut text);
        if inside == Inside::LineComment {
            inside = Inside::Nothing;
        }
    }
    text
}

fn replace_in_line(line: &str, delimiter: &str, inside: &mut Inside, text: &mut String) {
    let mut skip = 0;
    for (byte, character) in line.char_indices() {
        let rest = &line[byte..];
        if byte < skip {
            continue;
        }
        let next = match *inside {
            Inside::Nothing if rest.starts_with(delimiter) => {
                text.push_str(&padded(";", delimiter));
                skip = byte + delimiter.len();
                continue;
            }
            Inside::Nothing if rest.starts_with("--") || character == '#' => Inside::LineComment,
            Inside::Nothing if rest.starts_with("/*") => Inside::BlockComment,
            Inside::Nothing if matches!(character, '\'' | '"' | '`') => Inside::Quotes(character),
            Inside::Quotes(quote) if character == quote => Inside::Nothing,
            Inside::BlockComment if rest.starts_with("*/") => Inside::Nothing,
            same => same,
        };
        *inside = next;
        text.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_become_semicolons_of_the_same_length() {
        let text = "DELIMITER //\nSELECT '//'; x // -- //\nDELIMITER ;\n1;";
        assert_eq!(
            replace_delimiters(text),
            "            \nSELECT '//'; x ;  -- //\n            \n1;".replace("            \n1", "           \n1")
        );
    }

    #[test]
    fn a_piece_keeps_its_length_when_a_part_is_left_out() {
        let source = Source::new("SELECT a INTO b FROM t", Dialect::Postgres).unwrap();
        let piece = Piece { spots: 0..6, instead: vec![(2..4, "")] };
        assert_eq!(source.text_of(&piece), "SELECT a        FROM t");
        assert_eq!(source.rewritten(&piece, &[(1..2, "é".to_owned())]), "SELECT é        FROM t");
    }

    #[test]
    fn the_first_line_names_the_dialect() {
        assert_eq!(named_dialect("-- dialect: postgres\nx"), Ok(Some(Dialect::Postgres)));
        assert_eq!(named_dialect("--dialect: MariaDB \nx"), Ok(Some(Dialect::MySql)));
        assert_eq!(named_dialect("SELECT 1\n-- dialect: mysql"), Ok(None));
        assert!(named_dialect("-- dialect: oracle").is_err());
    }
}
