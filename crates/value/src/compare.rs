//! The order of values, and keys for grouping.
//!
//! Values of one common type compare as PostgreSQL compares them: numbers by their exact value whatever their representation, NaN
//! above all numbers, intervals by their length with months of 30 days, arrays element by element.
//!
//! A [`GroupKey`] is a value made hashable so that what compares equal is one group: 1, 1.0 and 1.00; -0.0 and 0.0; NULL and NULL;
//! in MySQL 'a' and 'A'.

use crate::collation::Collation;
use crate::json::{Document, Json};
use crate::{Datum, Interval};
use bigdecimal::num_bigint::BigInt;
use bigdecimal::{BigDecimal, ToPrimitive};
use std::cmp::Ordering;
use std::sync::Arc;

/// The order of two values of one common type, texts by their bytes; NULL is above all, equal to NULL.
pub fn compare(left: &Datum, right: &Datum) -> Ordering {
    compare_in(left, right, Collation::Bytes)
}

/// The same with texts in a collation.
pub fn compare_in(left: &Datum, right: &Datum, collation: Collation) -> Ordering {
    match (left, right) {
        (Datum::Integer(left), Datum::Integer(right)) => left.cmp(right),
        (Datum::Text(left), Datum::Text(right)) => collation.key(left).cmp(&collation.key(right)),
        (Datum::Real(left), Datum::Real(right)) => compare_reals(*left, *right),
        (Datum::Decimal(left), Datum::Decimal(right)) => left.cmp(right),
        (Datum::Date(left), Datum::Date(right)) => left.cmp(right),
        (
            Datum::Timestamp(left) | Datum::TimestampZoned(left),
            Datum::Timestamp(right) | Datum::TimestampZoned(right),
        ) => left.cmp(right),
        _ => GroupKey::new(left, collation).cmp(&GroupKey::new(right, collation)),
    }
}

/// The order of floats in which NaN is the greatest and zeroes are equal.
pub(crate) fn compare_reals(left: f64, right: f64) -> Ordering {
    match left.partial_cmp(&right) {
        Some(order) => order,
        None => left.is_nan().cmp(&right.is_nan()),
    }
}

impl Interval {
    /// Its length in microseconds, a month being 30 days: what comparisons go by.
    pub(crate) fn length(&self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * 86_400_000_000 + i128::from(self.microseconds)
    }
}

/// A value as a key of groups, DISTINCT and hash joins.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GroupKey {
    /// A boolean.
    Boolean(bool),
    /// A number.
    Number(NumberKey),
    /// A text, folded by its collation.
    Text(Arc<str>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A date, time, timestamp or interval in its unit.
    Span(i128),
    /// A document.
    Json(Box<Document>),
    /// A UUID.
    Uuid(u128),
    /// An array.
    Array(Vec<GroupKey>),
    /// NULL, the last.
    Null,
}

impl GroupKey {
    /// The key of a value.
    pub fn new(datum: &Datum, collation: Collation) -> GroupKey {
        match datum {
            Datum::Null => GroupKey::Null,
            Datum::Boolean(value) => GroupKey::Boolean(*value),
            Datum::Integer(value) => GroupKey::Number(NumberKey::Integer(*value)),
            Datum::Real(value) => GroupKey::Number(NumberKey::of_real(*value)),
            Datum::Decimal(value) => GroupKey::Number(NumberKey::of_decimal(value)),
            Datum::Text(text) if collation == Collation::Bytes => GroupKey::Text(text.clone()),
            Datum::Text(text) => GroupKey::Text(collation.key(text).into()),
            Datum::Bytes(bytes) => GroupKey::Bytes(bytes.clone()),
            Datum::Date(days) => GroupKey::Span(i128::from(*days) * 86_400_000_000),
            Datum::Time(time) | Datum::Timestamp(time) | Datum::TimestampZoned(time) => GroupKey::Span((*time).into()),
            Datum::Interval(interval) => GroupKey::Span(interval.length()),
            Datum::Json(text) => match Json::parse(text) {
                Ok(document) => GroupKey::Json(Box::new(Document(document))),
                Err(_) => GroupKey::Text(text.clone()),
            },
            Datum::Uuid(value) => GroupKey::Uuid(*value),
            Datum::Array(elements) => {
                GroupKey::Array(elements.iter().map(|element| GroupKey::new(element, collation)).collect())
            }
        }
    }
}

/// A number by its exact value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum NumberKey {
    /// Below all.
    NegativeInfinity,
    /// Whole and not huge.
    Integer(i128),
    /// Anything else that is finite: digits that do not end in 0, and the scale.
    Decimal(BigInt, i64),
    /// Above all numbers.
    Infinity,
    /// Above that.
    NotANumber,
}

impl NumberKey {
    fn of_real(value: f64) -> NumberKey {
        if value.is_nan() {
            return NumberKey::NotANumber;
        }
        if value.is_infinite() {
            return if value > 0.0 { NumberKey::Infinity } else { NumberKey::NegativeInfinity };
        }
        if value.fract() == 0.0 && value.abs() < 1e18 {
            return NumberKey::Integer(value as i128);
        }
        NumberKey::of_decimal(&crate::number::exact(value))
    }

    fn of_decimal(value: &BigDecimal) -> NumberKey {
        let normal = value.normalized();
        let (digits, scale) = normal.as_bigint_and_exponent();
        if let Some(whole) = normal.to_i128().filter(|_| (-30..=0).contains(&scale)) {
            return NumberKey::Integer(whole);
        }
        NumberKey::Decimal(digits, scale)
    }

    fn rank(&self) -> u8 {
        match self {
            NumberKey::NegativeInfinity => 0,
            NumberKey::Integer(_) | NumberKey::Decimal(..) => 1,
            NumberKey::Infinity => 2,
            NumberKey::NotANumber => 3,
        }
    }

    fn decimal(&self) -> BigDecimal {
        match self {
            NumberKey::Integer(value) => BigDecimal::from(*value),
            NumberKey::Decimal(digits, scale) => BigDecimal::new(digits.clone(), *scale),
            _ => BigDecimal::from(0),
        }
    }
}

impl Ord for NumberKey {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (NumberKey::Integer(left), NumberKey::Integer(right)) => left.cmp(right),
            _ if self.rank() == 1 && other.rank() == 1 => self.decimal().cmp(&other.decimal()),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for NumberKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
