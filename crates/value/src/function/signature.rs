//! Rows of the tables: a name, what it takes, what it gives, what it does.
//!
//! ```text
//!   row("lower", &[Text], Text, lower)
//!   row("array_append", &[Elements, Element], Elements, append).lenient()     any element type, the same in all places; NULLs welcome
//! ```
//!
//! A [`TypePattern`] is a type or a family of types. The kinds of one family in one row are one type: `+` takes two numbers and gives a number,
//! and which number is found from the arguments.

use super::Implementation;
use crate::Dialect;
use crate::SqlType;

/// A type, or a family of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TypePattern {
    Boolean,
    Integer,
    Big,
    Numeric,
    Double,
    Text,
    Bytes,
    Date,
    Time,
    Timestamp,
    Zoned,
    Interval,
    Json,
    Jsonb,
    Uuid,
    TextArray,
    /// Any number; all in the row are the same.
    Number,
    /// Any integer or NUMERIC; all in the row are the same.
    Exact,
    /// Any integer.
    Whole,
    /// Any type, each place its own.
    Any,
    /// Any type but an array.
    NonArray,
    /// Any type; all in the row are the same.
    Element,
    /// An array of [`TypePattern::Element`].
    Elements,
    /// Any type that can be compared with the other one of the row.
    Comparable,
}

/// Which dialects know the row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Speakers {
    Both,
    One(Dialect),
}

/// A row.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignatureRow {
    pub(super) name: &'static str,
    pub(super) takes: &'static [TypePattern],
    pub(super) gives: TypePattern,
    pub(super) run: Implementation,
    pub(super) strict: bool,
    pub(super) volatile: bool,
    /// The last kind may stand any number of times, also never.
    pub(super) variadic: bool,
    pub(super) speakers: Speakers,
}

/// A strict row of both dialects.
pub(super) const fn row(
    name: &'static str,
    takes: &'static [TypePattern],
    gives: TypePattern,
    run: Implementation,
) -> SignatureRow {
    SignatureRow { name, takes, gives, run, strict: true, volatile: false, variadic: false, speakers: Speakers::Both }
}

impl SignatureRow {
    /// It sees NULLs.
    pub(super) const fn lenient(self) -> SignatureRow {
        SignatureRow { strict: false, ..self }
    }

    /// Two calls may differ.
    pub(super) const fn volatile(self) -> SignatureRow {
        SignatureRow { volatile: true, ..self }
    }

    /// Its last parameter repeats.
    pub(super) const fn variadic(self) -> SignatureRow {
        SignatureRow { variadic: true, ..self }
    }

    /// PostgreSQL alone has it.
    pub(super) const fn postgres(self) -> SignatureRow {
        SignatureRow { speakers: Speakers::One(Dialect::Postgres), ..self }
    }

    /// MySQL alone has it.
    pub(super) const fn mysql(self) -> SignatureRow {
        SignatureRow { speakers: Speakers::One(Dialect::MySql), ..self }
    }

    /// Whether a dialect has it.
    pub(super) fn is_spoken(&self, dialect: Dialect) -> bool {
        self.speakers == Speakers::Both || self.speakers == Speakers::One(dialect)
    }

    /// The kind of an argument, if the row takes this many.
    pub(super) fn kind(&self, place: usize) -> TypePattern {
        *self.takes.get(place).or(self.takes.last()).unwrap_or(&TypePattern::Any)
    }

    /// Whether it takes this many arguments.
    pub(super) fn takes_so_many(&self, count: usize) -> bool {
        if self.variadic { count + 1 >= self.takes.len() } else { count == self.takes.len() }
    }
}

impl TypePattern {
    /// The type, unless it is a family.
    pub(super) fn concrete(self, dialect: Dialect) -> Option<SqlType> {
        Some(match self {
            TypePattern::Boolean => SqlType::Boolean,
            TypePattern::Integer => SqlType::INTEGER,
            TypePattern::Big => SqlType::BIGINT,
            TypePattern::Numeric => SqlType::NUMERIC,
            TypePattern::Double => SqlType::Double,
            TypePattern::Text => SqlType::TEXT,
            TypePattern::Bytes => SqlType::Bytes,
            TypePattern::Date => SqlType::Date,
            TypePattern::Time => SqlType::TIME,
            TypePattern::Timestamp => SqlType::TIMESTAMP,
            // MySQL has one kind of timestamp.
            TypePattern::Zoned if dialect == Dialect::MySql => SqlType::TIMESTAMP,
            TypePattern::Zoned => SqlType::TIMESTAMPTZ,
            TypePattern::Interval => SqlType::Interval,
            TypePattern::Json => SqlType::Json,
            TypePattern::Jsonb if dialect == Dialect::MySql => SqlType::Json,
            TypePattern::Jsonb => SqlType::JsonBinary,
            TypePattern::Uuid => SqlType::Uuid,
            TypePattern::TextArray => SqlType::Array(Box::new(SqlType::TEXT)),
            _ => return None,
        })
    }
}
