//! Taking arguments out of their values.
//!
//! The binder casts arguments to the types of the parameters, so a value of another kind here is a mistake of ours; it is reported as
//! one instead of ending the program.

use crate::json::Json;
use crate::{Datum, Interval, number};
use crate::{SqlError, SqlState};
use bigdecimal::BigDecimal;
use std::sync::Arc;

/// The most bytes that a function gives.
pub(super) const LONGEST_TEXT: usize = 64 << 20;
/// The most rows that a table function gives.
pub(super) const MOST_ROWS: usize = 10_000_000;

pub(super) type Evaluated = Result<Datum, SqlError>;

fn unexpected(wanted: &str, datum: &Datum) -> SqlError {
    SqlError::new(SqlState::INTERNAL, format!("{wanted} was expected, not {datum:?}"))
}

/// An argument that the function does not accept.
pub(super) fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER, message)
}

/// More than a function may give.
pub(super) fn too_large(what: &str) -> SqlError {
    SqlError::new(SqlState::LIMIT_EXCEEDED, format!("{what} is larger than the limit"))
}

pub(super) fn text(arguments: &[Datum], place: usize) -> Result<&str, SqlError> {
    match arguments.get(place) {
        Some(Datum::Text(text) | Datum::Json(text)) => Ok(text),
        other => Err(unexpected("a text", other.unwrap_or(&Datum::Null))),
    }
}

pub(super) fn integer(arguments: &[Datum], place: usize) -> Result<i128, SqlError> {
    match arguments.get(place) {
        Some(Datum::Integer(value)) => Ok(*value),
        Some(Datum::Boolean(value)) => Ok((*value).into()),
        other => Err(unexpected("an integer", other.unwrap_or(&Datum::Null))),
    }
}

pub(super) fn real(arguments: &[Datum], place: usize) -> Result<f64, SqlError> {
    match arguments.get(place) {
        Some(Datum::Real(value)) => Ok(*value),
        Some(Datum::Integer(value)) => Ok(*value as f64),
        Some(Datum::Decimal(value)) => Ok(number::real_of_decimal(value)),
        other => Err(unexpected("a float", other.unwrap_or(&Datum::Null))),
    }
}

pub(super) fn decimal(arguments: &[Datum], place: usize) -> Result<BigDecimal, SqlError> {
    match arguments.get(place) {
        Some(Datum::Decimal(value)) => Ok(value.clone()),
        Some(Datum::Integer(value)) => Ok(BigDecimal::from(*value)),
        Some(Datum::Real(value)) => number::decimal_of_real(*value, false),
        other => Err(unexpected("a decimal", other.unwrap_or(&Datum::Null))),
    }
}

pub(super) fn boolean(arguments: &[Datum], place: usize) -> Result<bool, SqlError> {
    match arguments.get(place) {
        Some(Datum::Boolean(value)) => Ok(*value),
        other => Err(unexpected("a boolean", other.unwrap_or(&Datum::Null))),
    }
}

pub(super) fn bytes(arguments: &[Datum], place: usize) -> Result<&[u8], SqlError> {
    match arguments.get(place) {
        Some(Datum::Bytes(bytes)) => Ok(bytes),
        Some(Datum::Text(text)) => Ok(text.as_bytes()),
        other => Err(unexpected("bytes", other.unwrap_or(&Datum::Null))),
    }
}

pub(super) fn date(arguments: &[Datum], place: usize) -> Result<i32, SqlError> {
    match arguments.get(place) {
        Some(Datum::Date(days)) => Ok(*days),
        other => Err(unexpected("a date", other.unwrap_or(&Datum::Null))),
    }
}

/// The microseconds of a time or timestamp.
pub(super) fn time(arguments: &[Datum], place: usize) -> Result<i64, SqlError> {
    match arguments.get(place) {
        Some(Datum::Time(time) | Datum::Timestamp(time) | Datum::TimestampZoned(time)) => Ok(*time),
        other => Err(unexpected("a time", other.unwrap_or(&Datum::Null))),
    }
}

pub(super) fn interval(arguments: &[Datum], place: usize) -> Result<Interval, SqlError> {
    match arguments.get(place) {
        Some(Datum::Interval(interval)) => Ok(*interval),
        other => Err(unexpected("an interval", other.unwrap_or(&Datum::Null))),
    }
}

pub(super) fn array(arguments: &[Datum], place: usize) -> Result<&[Datum], SqlError> {
    match arguments.get(place) {
        Some(Datum::Array(elements)) => Ok(elements),
        other => Err(unexpected("an array", other.unwrap_or(&Datum::Null))),
    }
}

pub(super) fn json(arguments: &[Datum], place: usize) -> Result<Json, SqlError> {
    match arguments.get(place) {
        Some(Datum::Json(text) | Datum::Text(text)) => Json::parse(text),
        other => Err(unexpected("json", other.unwrap_or(&Datum::Null))),
    }
}

/// A text as a value.
pub(super) fn answer(text: impl Into<Arc<str>>) -> Evaluated {
    Ok(Datum::Text(text.into()))
}

/// A document in its canonical text.
pub(super) fn document(document: &Json) -> Evaluated {
    Ok(Datum::Json(document.print().into()))
}
