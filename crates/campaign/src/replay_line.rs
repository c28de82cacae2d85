//! The line that shows a run again: a command and its flags, in the words of a shell.
//!
//! ```text
//!   skew serve --level causal --budget 5000 --replay 3 -- pytest -q
//! ```
//!
//! Which flags there are, and which of them were given, is for whoever knows the command line.

use std::fmt::{Display, Write};

/// A flag, or a word that stands for itself, with its values.
#[derive(Clone, Debug)]
pub struct ReplayFlag {
    /// What clap calls it.
    pub id: String,
    /// How it is written.
    pub kind: FlagKind,
    /// As a shell wants them.
    pub values: Vec<String>,
    /// Whether it is in the line.
    pub is_shown: bool,
}

/// How a flag is written.
#[derive(Clone, Debug)]
pub enum FlagKind {
    /// `--bare`
    Switch(String),
    /// `--level causal`
    Valued(String),
    /// `program.sql`
    Word,
    /// `-- pytest -q`
    Behind,
}

impl ReplayFlag {
    fn write(&self, line: &mut String) {
        let _ = match &self.kind {
            FlagKind::Switch(name) => write!(line, " {name}"),
            FlagKind::Valued(name) => self.values.iter().try_for_each(|value| write!(line, " {name} {value}")),
            FlagKind::Word => self.values.iter().try_for_each(|value| write!(line, " {value}")),
            FlagKind::Behind => write!(line, " -- {}", self.values.join(" ")),
        };
    }
}

/// A line that is still open.
#[derive(Clone, Debug)]
pub struct ReplayLine {
    command: &'static str,
    flags: Vec<ReplayFlag>,
}

impl ReplayLine {
    /// A line of a command, with these flags.
    pub fn new(command: &'static str, flags: Vec<ReplayFlag>) -> ReplayLine {
        ReplayLine { command, flags }
    }

    fn flag(&mut self, id: &str) -> Option<&mut ReplayFlag> {
        let flag = self.flags.iter_mut().find(|flag| flag.id == id);
        debug_assert!(flag.is_some(), "{id} is no flag, or one that lines leave out");
        flag
    }

    /// Shows a flag even with its usual value.
    pub fn insist(&mut self, id: &str) {
        self.flag(id).into_iter().for_each(|flag| flag.is_shown = true);
    }

    /// Leaves a flag out.
    pub fn without(&mut self, id: &str) {
        self.flag(id).into_iter().for_each(|flag| flag.is_shown = false);
    }

    /// Gives a flag this value, whatever was given.
    pub fn set(&mut self, id: &str, value: impl Display) {
        self.set_words(id, quote(&value.to_string()));
    }

    /// The same in words that are as a command line has them.
    pub fn set_words(&mut self, id: &str, words: String) {
        if let Some(flag) = self.flag(id) {
            (flag.values, flag.is_shown) = (vec![words], true);
        }
    }

    /// The whole line.
    pub fn end(self) -> String {
        let mut line = self.command.to_owned();
        let (behind, before): (Vec<&ReplayFlag>, Vec<&ReplayFlag>) =
            self.flags.iter().filter(|flag| flag.is_shown).partition(|flag| matches!(flag.kind, FlagKind::Behind));
        before.into_iter().chain(behind).for_each(|flag| flag.write(&mut line));
        line
    }
}

/// The word as a shell wants it.
pub fn quote(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:=@%,".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_stumble() {
        assert_eq!(quote("a/b-1.json"), "a/b-1.json");
        assert_eq!(quote("it's here"), "'it'\\''s here'");
        assert_eq!(quote(""), "''");
    }
}
