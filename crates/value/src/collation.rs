//! How texts compare.
//!
//! ```text
//!   PostgreSQL, collation C       'B' < 'a'    'a' <> 'A'      the bytes
//!   MySQL, utf8mb4_0900_ai_ci     'a' = 'A' = 'ä',  '_' < '0' < 'a'    letters without case and accents
//! ```
//!
//! [`Collation::key`] turns a text into one whose bytes compare as the texts do, so that keys of indexes, groups and comparisons agree.
//! The folding of other scripts is by their lower-case letters, which is not the order of a full collation table but is the same for
//! every user of this module.

use crate::Dialect;
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// An order of texts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Collation {
    /// By bytes, which for UTF-8 is by code points.
    #[default]
    Bytes,
    /// Without case and accents.
    Folded,
}

/// ASCII in the order of the Unicode collation table; letters are folded before.
const ORDER: &str = "\t\n\u{b}\u{c}\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz";

impl Collation {
    /// What texts of a dialect have when nothing else is said.
    pub fn of(dialect: Dialect) -> Collation {
        match dialect {
            Dialect::Postgres => Collation::Bytes,
            Dialect::MySql => Collation::Folded,
        }
    }

    /// The collation of a name: `utf8mb4_bin`, `utf8mb4_0900_ai_ci`, `C`. Anything that does not end in `_ci` is by bytes.
    pub fn from_name(name: &str) -> Collation {
        if name.to_ascii_lowercase().ends_with("_ci") { Collation::Folded } else { Collation::Bytes }
    }

    /// Whether PostgreSQL may have a collation of this name: its own ones, and those of languages and countries, `de-x-icu`, `en_US.utf8`.
    pub fn is_of_postgres(name: &str) -> bool {
        let own = ["c", "posix", "default", "ucs_basic", "c.utf8", "c.utf-8"];
        let is_language = |word: &str| (2..=3).contains(&word.len()) && word.chars().all(|one| one.is_ascii_lowercase());
        let is_country = |word: &str| word.len() == 2 && word.chars().all(|one| one.is_ascii_uppercase());
        let locale = name.split(['.', '@']).next().unwrap_or_default();
        let is_locale = match locale.split_once('_') {
            Some((language, country)) => is_language(language) && is_country(country),
            None => false,
        };
        own.contains(&name.to_ascii_lowercase().as_str()) || is_locale || name.ends_with("-x-icu")
    }

    /// A text whose bytes compare as this collation compares.
    pub(crate) fn key(self, text: &str) -> Cow<'_, str> {
        match self {
            Collation::Bytes => Cow::Borrowed(text),
            Collation::Folded => Cow::Owned(folded(text)),
        }
    }

    /// A readable text that is the same for texts that this collation calls equal; its order means nothing.
    pub fn equality_key(self, text: &str) -> String {
        let letter = |character: char| match (character as usize).checked_sub(1) {
            Some(place) if place < ORDER.len() => ORDER.as_bytes()[place] as char,
            _ => character,
        };
        match self {
            Collation::Bytes => text.to_owned(),
            Collation::Folded => folded(text).chars().map(letter).collect(),
        }
    }
}

fn folded(text: &str) -> String {
    let plain = text.nfd().filter(|character| !is_combining_mark(*character));
    let mut key = String::with_capacity(text.len());
    for character in plain.flat_map(char::to_lowercase) {
        match ORDER.find(character) {
            // Every character of the table is one byte, so its place is below 128 and, from 1 on, sorts before all others.
            Some(place) => key.push((place as u8 + 1) as char),
            None if character == 'ß' => key.push_str(&folded("ss")),
            None if character.is_control() => {}
            None => key.push(character),
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgresql_has_collations_of_its_own_and_of_languages() {
        for name in ["C", "POSIX", "default", "ucs_basic", "en_US", "en_US.utf8", "de_AT@euro", "de-x-icu", "C.utf8"] {
            assert!(Collation::is_of_postgres(name), "{name}");
        }
        for name in ["nocase", "utf8mb4_bin", "latin1_general_ci", "BINARY", "en_us_ci", ""] {
            assert!(!Collation::is_of_postgres(name), "{name}");
        }
    }
}
