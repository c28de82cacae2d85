//! A piece of JSON or EDN, opened: what the readers of the general formats walk over.
//!
//! JSON's objects and EDN's maps are both [`DatumKind::Map`]; a member is found by its name whether that is the text `"type"` or the
//! keyword `:type`. Every datum knows where it stands, so that whoever dislikes it can say where.

use super::text::{Lines, excerpt};
use crate::builder::{HistoryBuilder, Place, Refusal};
use crate::history::KeyId;
use crate::name::Name;
use crate::value::Value;
use std::borrow::Cow;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Datum<'a> {
    /// Its first byte.
    pub(super) at: usize,
    /// Behind its last byte.
    pub(super) end: usize,
    pub(super) kind: DatumKind<'a>,
}

#[derive(Clone, Debug)]
pub(super) enum DatumKind<'a> {
    Nil,
    Boolean(bool),
    /// Of at most 64 bits.
    Integer(i128),
    Real(f64),
    Text(Cow<'a, str>),
    /// Without its colon.
    Keyword(&'a str),
    List(Vec<Datum<'a>>),
    Map(Vec<(Datum<'a>, Datum<'a>)>),
}

/// The deepest nesting that is read; no history needs a tenth of it.
pub(super) const DEEPEST: usize = 64;

/// The most values that are read into memory at a time, as one form or one element of a file: more would not fit there.
pub(super) const MOST_AT_A_TIME: usize = 1 << 25;

/// What to do about more.
pub(super) const TOO_MANY_ADVICE: &str = "check that the file is whole; put every operation on a line of its own";

impl<'a> Datum<'a> {
    /// The member of a map with this name, when it is there and not nil.
    pub(super) fn member(&self, name: &str) -> Option<&Datum<'a>> {
        let DatumKind::Map(members) = &self.kind else { return None };
        let found = members.iter().find(|(key, _)| key.word() == Some(name))?;
        (!found.1.is_nil()).then_some(&found.1)
    }

    pub(super) fn is_nil(&self) -> bool {
        matches!(self.kind, DatumKind::Nil)
    }

    pub(super) fn is_map(&self) -> bool {
        matches!(self.kind, DatumKind::Map(_))
    }

    /// A text or a keyword.
    pub(super) fn word(&self) -> Option<&str> {
        match &self.kind {
            DatumKind::Text(text) => Some(text),
            DatumKind::Keyword(word) => Some(word),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Datum<'a>]> {
        match &self.kind {
            DatumKind::List(elements) => Some(elements),
            _ => None,
        }
    }

    /// A name, spelt as in the input: keywords keep their colon, so that `:x` and `"x"` stay two names.
    pub(super) fn name(&self) -> Option<OwnedName<'_>> {
        match &self.kind {
            DatumKind::Integer(number) => Some(match i64::try_from(*number) {
                Ok(number) => OwnedName::Integer(number),
                Err(_) => OwnedName::Text(number.to_string().into()),
            }),
            DatumKind::Text(text) => Some(OwnedName::Text(Cow::Borrowed(text))),
            DatumKind::Keyword(word) => Some(OwnedName::Text(format!(":{word}").into())),
            _ => None,
        }
    }

    /// What it is, for messages.
    pub(super) fn noun(&self) -> &'static str {
        match self.kind {
            DatumKind::Nil => "nothing",
            DatumKind::Boolean(_) => "a truth value",
            DatumKind::Integer(_) => "an integer",
            DatumKind::Real(_) => "a number with a fraction",
            DatumKind::Text(_) => "a text",
            DatumKind::Keyword(_) => "a keyword",
            DatumKind::List(_) => "a list",
            DatumKind::Map(_) => "a map",
        }
    }
}

/// A name that may have been put together here.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum OwnedName<'a> {
    Integer(i64),
    Text(Cow<'a, str>),
}

impl OwnedName<'_> {
    pub(super) fn as_name(&self) -> Name<'_> {
        match self {
            OwnedName::Integer(number) => Name::Integer(*number),
            OwnedName::Text(text) => Name::from(&**text),
        }
    }
}

/// Takes data into a builder, refusing what does not fit.
pub(super) struct Taker<'t> {
    pub(super) builder: HistoryBuilder,
    pub(super) lines: Lines<'t>,
}

impl<'t> Taker<'t> {
    pub(super) fn new(text: &'t str, first_line: u64) -> Taker<'t> {
        Taker { builder: HistoryBuilder::new(), lines: Lines::new(text, first_line) }
    }

    pub(super) fn place(&self, datum: &Datum<'_>) -> Place {
        self.lines.place(datum.at)
    }

    pub(super) fn refuse(&self, datum: &Datum<'_>, what: impl Into<String>, advice: &'static str) -> Refusal {
        self.lines.refuse(datum.at, what, advice)
    }

    pub(super) fn key(&mut self, datum: &Datum<'_>) -> Result<KeyId, Refusal> {
        match datum.name() {
            Some(name) => Ok(self.builder.key(name.as_name())),
            None => Err(self.refuse(datum, format!("{} where a key should be", datum.noun()), NAMES)),
        }
    }

    /// A scalar; nil is the absent value.
    pub(super) fn scalar(&mut self, datum: &Datum<'_>) -> Result<Value, Refusal> {
        let values = self.builder.values();
        Ok(match &datum.kind {
            DatumKind::Nil => Value::ABSENT,
            DatumKind::Boolean(truth) => values.boolean(*truth),
            DatumKind::Integer(number) => values.integer(*number),
            DatumKind::Real(number) => values.real(*number),
            DatumKind::Text(text) => values.text(text),
            DatumKind::Keyword(word) => values.text(&format!(":{word}")),
            DatumKind::List(_) | DatumKind::Map(_) => {
                let what = format!("{} where a number, a text, a truth value or nothing should be", datum.noun());
                return Err(self.refuse(datum, what, "only reads of appended keys have lists, of plain elements"));
            }
        })
    }

    /// What an append adds, or a list holds: anything but nothing.
    pub(super) fn element(&mut self, datum: &Datum<'_>) -> Result<Value, Refusal> {
        if datum.is_nil() {
            return Err(self.refuse(datum, "nothing where an element of a list should be", "append a value"));
        }
        self.scalar(datum)
    }

    /// What a read returned. A list without elements is one that nobody appended to: absent.
    pub(super) fn read_value(&mut self, datum: &Datum<'_>) -> Result<Value, Refusal> {
        let DatumKind::List(elements) = &datum.kind else { return self.scalar(datum) };
        if elements.is_empty() {
            return Ok(Value::ABSENT);
        }
        let elements = elements.iter().map(|element| self.element(element)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.builder.values().list(elements))
    }

    /// An integer of 64 bits with sign, such as a time.
    pub(super) fn signed(&self, datum: &Datum<'_>, what: &str) -> Result<i64, Refusal> {
        match datum.kind {
            DatumKind::Integer(number) => i64::try_from(number)
                .map_err(|_| self.refuse(datum, format!("{what} has more than 63 bits"), "use smaller numbers")),
            _ => {
                let what = format!("{} as {what}, which should be an integer", datum.noun());
                Err(self.refuse(datum, what, "use integers on one clock"))
            }
        }
    }

    /// A word out of a few.
    pub(super) fn unknown_word(&self, datum: &Datum<'_>, what: &str, advice: &'static str) -> Refusal {
        let shown = datum.word().map_or_else(|| datum.noun().to_owned(), |word| format!("`{}`", excerpt(word)));
        self.refuse(datum, format!("{shown} is not {what}"), advice)
    }
}

pub(super) const NAMES: &str = "names are texts or integers";
