//! What is stored.
//!
//! A [`Datum`] says what is stored; the static [`SqlType`](crate::SqlType) beside it says what it means: `Integer` is one variant for all
//! widths of both dialects, and the type bounds it.

use crate::interval::Interval;
use bigdecimal::BigDecimal;
use std::sync::Arc;

/// A value.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Datum {
    /// NULL, of every type.
    #[default]
    Null,
    /// BOOLEAN.
    Boolean(bool),
    /// SMALLINT to BIGINT, signed or not, and object identifiers.
    Integer(i128),
    /// REAL and DOUBLE PRECISION.
    Real(f64),
    /// NUMERIC, with its scale.
    Decimal(BigDecimal),
    /// Every kind of text.
    Text(Arc<str>),
    /// BYTEA, BLOB, BINARY.
    Bytes(Arc<[u8]>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight; MySQL's TIME may be negative or longer than a day.
    Time(i64),
    /// Microseconds since 1970-01-01, of no time zone.
    Timestamp(i64),
    /// Microseconds since 1970-01-01 UTC.
    TimestampZoned(i64),
    /// INTERVAL.
    Interval(Interval),
    /// JSON as written; JSONB in its canonical text.
    Json(Arc<str>),
    /// UUID.
    Uuid(u128),
    /// An array of one dimension, or the fields of a row value.
    Array(Arc<[Datum]>),
}

impl Datum {
    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// A text.
    pub fn text(text: impl Into<Arc<str>>) -> Datum {
        Datum::Text(text.into())
    }
}
