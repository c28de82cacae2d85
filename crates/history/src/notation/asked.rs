//! What statements asked for and how transactions were refused, in the notation: `@2:update,waited` and `!40001@2`.
//!
//! Both stand right behind what they belong to. A level or times of a transaction begin with `@`, too, and are told apart by what
//! follows: a level begins with a letter, times have two dots.

use super::{NotationReader, shorten, unquoted};
use crate::builder::{Problem, Refusal};
use crate::history::Outcome;
use crate::statement::{Asked, KINDS, Refused, StatementKind};

impl NotationReader<'_, '_> {
    /// What the statement behind an event asked for, if that stands here.
    pub(super) fn asked(&mut self) -> Result<Asked, Refusal> {
        let Some(rest) = self.rest.strip_prefix('@') else { return Ok(Asked::default()) };
        let (word, rest) = rest.split_at(rest.find([' ', '|', '<', '!', '?', '@']).unwrap_or(rest.len()));
        if !word.starts_with(|first: char| first.is_ascii_digit() || first == ':') || word.contains("..") {
            return Ok(Asked::default());
        }
        self.rest = rest;
        let mut words = word.split(',');
        let first = words.next().unwrap_or_default();
        let (number, kind) = first.split_once(':').unwrap_or((first, StatementKind::default().name()));
        let unknown = |_| self.builder.refuse(Problem::malformed(format!("`{kind}` is no kind of statement"), &KINDS));
        let mut asked = Asked { kind: kind.parse().map_err(unknown)?, ..Asked::default() };
        if !number.is_empty() {
            asked.statement = self.statement(number)?;
        }
        for word in words {
            match word {
                "passed" => asked.passed = true,
                "waited" => asked.waited = true,
                other => return Err(self.refuse(format!("`,{other}` is neither `,passed` nor `,waited`"))),
            }
        }
        Ok(asked)
    }

    fn statement(&self, number: &str) -> Result<u32, Refusal> {
        let number: Option<u32> = number.parse().ok().filter(|&number| number > 0);
        number.ok_or_else(|| self.refuse("statements are numbered from 1".to_owned()))
    }

    /// The transaction was aborted; its error and the statement that was refused may stand here.
    pub(super) fn aborted(&mut self, outcome: Outcome) -> Result<(), Refusal> {
        self.builder.outcome(outcome);
        let error = match self.rest.chars().next() {
            Some('"') => self.quoted()?,
            Some(first) if first.is_alphanumeric() => {
                let end = self.rest.find(|letter| !is_in_word(letter)).unwrap_or(self.rest.len());
                let (error, rest) = self.rest.split_at(end);
                self.rest = rest;
                error.to_owned()
            }
            _ => return Ok(()),
        };
        let statement = self.refused_statement()?;
        self.builder.refused(&error, statement);
        Ok(())
    }

    /// The statement that was refused; 0 when what stands here are times, or a level.
    fn refused_statement(&mut self) -> Result<u32, Refusal> {
        let Some(rest) = self.rest.strip_prefix('@') else { return Ok(0) };
        let (number, rest) = rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count());
        if number.is_empty() || rest.starts_with("..") {
            return Ok(0);
        }
        self.rest = rest;
        self.statement(number)
    }

    /// The text between quotes that stands here.
    fn quoted(&mut self) -> Result<String, Refusal> {
        let mut letters = self.rest.char_indices().skip(1);
        while let Some((place, letter)) = letters.next() {
            match letter {
                '\\' => drop(letters.next()),
                '"' => {
                    let (text, rest) = self.rest.split_at(place + 1);
                    self.rest = rest;
                    return Ok(unquoted(text));
                }
                _ => {}
            }
        }
        Err(self.refuse(format!("`{}` does not end with a quote", shorten(self.rest))))
    }
}

/// What a statement asked for, as it stands behind an event; nothing where nothing is known of it.
pub(super) fn show(asked: Asked) -> String {
    let Asked { statement, kind, passed, waited, found: _ } = asked;
    if (Asked { found: false, ..asked }) == Asked::default() {
        return String::new();
    }
    let number = if statement > 0 { statement.to_string() } else { String::new() };
    let kind = if statement > 0 && kind == StatementKind::default() { String::new() } else { format!(":{kind}") };
    let passed = if passed { ",passed" } else { "" };
    let waited = if waited { ",waited" } else { "" };
    format!("@{number}{kind}{passed}{waited}")
}

/// Whether an error with this letter needs no quotes.
fn is_in_word(letter: char) -> bool {
    letter.is_alphanumeric() || "-_.".contains(letter)
}

/// How a transaction was refused, as it stands behind its `!`.
pub(super) fn show_refused(refused: Refused<'_>) -> String {
    let Refused { error, statement } = refused;
    let is_word = error.starts_with(char::is_alphanumeric) && error.chars().all(is_in_word);
    let error = if is_word { error.to_owned() } else { format!("{error:?}") };
    if statement > 0 { format!("{error}@{statement}") } else { error }
}
