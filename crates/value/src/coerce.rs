//! Which type may become which, and what several types have in common.
//!
//! ```text
//!   implicit     widening:  smallint → integer → bigint → numeric → real → double, date → timestamp → timestamptz
//!   assignment   also narrowing (checked), and anything → text
//!   explicit     also text → anything, integer ↔ boolean
//! ```
//!
//! In MySQL anything becomes anything without being asked, except an interval.

use crate::Dialect;
use crate::cast::CastKind;
use crate::types::{IntegerWidth, SqlType};
use crate::{SqlError, SqlState};

impl SqlType {
    /// Whether it is a number.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self, SqlType::Integer { .. } | SqlType::Decimal(_) | SqlType::Single | SqlType::Double)
    }

    /// Whether it is text of some kind.
    pub fn is_text(&self) -> bool {
        matches!(self, SqlType::Text(_) | SqlType::Character(_) | SqlType::Name | SqlType::Letter)
    }

    /// Whether it is a date or a timestamp.
    pub(crate) fn is_date_like(&self) -> bool {
        matches!(self, SqlType::Date | SqlType::Timestamp(_) | SqlType::TimestampZoned(_))
    }

    /// The same without length, scale and digits.
    pub fn unbounded(&self) -> SqlType {
        match self {
            SqlType::Decimal(_) => SqlType::NUMERIC,
            SqlType::Text(_) => SqlType::TEXT,
            SqlType::Time(_) => SqlType::TIME,
            SqlType::Timestamp(_) => SqlType::TIMESTAMP,
            SqlType::TimestampZoned(_) => SqlType::TIMESTAMPTZ,
            SqlType::Array(element) => SqlType::Array(Box::new(element.unbounded())),
            other => other.clone(),
        }
    }

    /// Whether the two differ in nothing but bounds.
    pub(crate) fn is_same_kind(&self, other: &SqlType) -> bool {
        match (self, other) {
            (SqlType::Character(_), SqlType::Character(_)) => true,
            _ => self.unbounded() == other.unbounded(),
        }
    }
}

/// The place of a number in the order of implicit widening.
fn number_rank(sql_type: &SqlType) -> Option<u8> {
    Some(match sql_type {
        SqlType::Integer { width, unsigned } => {
            let rank = match width {
                IntegerWidth::Tiny => 0,
                IntegerWidth::Small => 2,
                IntegerWidth::Medium => 4,
                IntegerWidth::Normal => 6,
                IntegerWidth::Big => 8,
            };
            rank + u8::from(*unsigned)
        }
        SqlType::Decimal(_) => 10,
        SqlType::Single => 11,
        SqlType::Double => 12,
        _ => return None,
    })
}

/// Whether a value of one type may become the other in such a cast.
pub fn can_coerce(from: &SqlType, to: &SqlType, kind: CastKind, dialect: Dialect) -> bool {
    if *from == SqlType::Unknown || *to == SqlType::Unknown || from.is_same_kind(to) {
        return true;
    }
    if let (SqlType::Array(from) | SqlType::Vector(from), SqlType::Array(to) | SqlType::Vector(to)) = (from, to) {
        return can_coerce(from, to, kind, dialect);
    }
    let has_array = matches!(from, SqlType::Array(_)) || matches!(to, SqlType::Array(_));
    if dialect == Dialect::MySql {
        // An interval is no value of MySQL: it stands beside a date or nowhere.
        let has_interval = *from == SqlType::Interval || *to == SqlType::Interval;
        return !has_array && !has_interval;
    }
    is_implicit(from, to)
        || (kind >= CastKind::Assignment && is_assignment(from, to))
        || (kind == CastKind::Explicit && is_explicit(from, to))
}

fn is_implicit(from: &SqlType, to: &SqlType) -> bool {
    use SqlType::*;
    if let (Some(from), Some(to)) = (number_rank(from), number_rank(to)) {
        return from < to;
    }
    matches!(
        (from, to),
        (Text(_) | Character(_) | Name | Letter, Text(_) | Character(_) | Name)
            | (Date, Timestamp(_) | TimestampZoned(_))
            | (Timestamp(_), TimestampZoned(_))
            | (Time(_), Interval)
            | (Integer { .. }, ObjectId | Registered(_))
            | (ObjectId, Registered(_))
            | (Registered(_), ObjectId)
    )
}

fn is_assignment(from: &SqlType, to: &SqlType) -> bool {
    use SqlType::*;
    match (from, to) {
        _ if from.is_number() && to.is_number() => true,
        (_, Text(_) | Character(_) | Name) => true,
        (Text(_) | Character(_) | Name, Letter) => true,
        (Timestamp(_) | TimestampZoned(_), Date | Time(_)) | (TimestampZoned(_), Timestamp(_)) => true,
        (Interval, Time(_)) => true,
        (Json, JsonBinary) | (JsonBinary, Json) => true,
        (ObjectId | Registered(_), Integer { .. }) => true,
        _ => false,
    }
}

fn is_explicit(from: &SqlType, to: &SqlType) -> bool {
    use SqlType::*;
    match (from, to) {
        (Text(_) | Character(_) | Name | Letter, _) => true,
        (Integer { width: IntegerWidth::Normal, .. }, Boolean) => true,
        (Boolean, Integer { width: IntegerWidth::Normal, .. }) => true,
        (JsonBinary, Boolean) => true,
        (JsonBinary, _) => to.is_number(),
        _ => false,
    }
}

/// The type that holds values of all these, as UNION, CASE, COALESCE, VALUES and IN want it.
pub fn common_type(types: &[SqlType], dialect: Dialect) -> Result<SqlType, SqlError> {
    // In MySQL an enumeration beside anything is a text, another enumeration included.
    if dialect == Dialect::MySql && types.len() > 1 && types.iter().any(|one| matches!(one, SqlType::Enumeration(_))) {
        let text = |one: &SqlType| if matches!(one, SqlType::Enumeration(_)) { SqlType::TEXT } else { one.clone() };
        return common_type(&types.iter().map(text).collect::<Vec<SqlType>>(), dialect);
    }
    let mut known = types.iter().filter(|one| **one != SqlType::Unknown);
    let Some(first) = known.next() else { return Ok(SqlType::TEXT) };
    let mut common = first.clone();
    for other in known {
        common = common_of_two(&common, other, dialect)?;
    }
    Ok(common)
}

fn common_of_two(left: &SqlType, right: &SqlType, dialect: Dialect) -> Result<SqlType, SqlError> {
    if left == right {
        return Ok(left.clone());
    }
    if dialect == Dialect::MySql {
        return Ok(mysql_common(left, right));
    }
    if left.is_same_kind(right) {
        return Ok(left.unbounded());
    }
    let fits = |from: &SqlType, to: &SqlType| can_coerce(from, to, CastKind::Implicit, Dialect::Postgres);
    match (left, right) {
        _ if left.is_text() && right.is_text() => Ok(SqlType::TEXT),
        _ if fits(left, right) => Ok(right.unbounded()),
        _ if fits(right, left) => Ok(left.unbounded()),
        _ => {
            let message = format!("types {left} and {right} cannot be matched");
            Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message))
        }
    }
}

fn mysql_common(left: &SqlType, right: &SqlType) -> SqlType {
    let numeric = |one: &SqlType| one.is_number() || *one == SqlType::Boolean;
    if left.is_same_kind(right) {
        return wider(left, right);
    }
    if numeric(left) && numeric(right) {
        return number_type(left, right);
    }
    match (left, right) {
        _ if left.is_date_like() && right.is_date_like() => {
            wider(&SqlType::Timestamp(Some(0)), &SqlType::Timestamp(Some(6)))
        }
        (SqlType::Bytes, _) | (_, SqlType::Bytes) => SqlType::Bytes,
        _ => SqlType::TEXT,
    }
}

/// Of two types that differ in their bounds, the one that holds both.
fn wider(left: &SqlType, right: &SqlType) -> SqlType {
    match (left, right) {
        (SqlType::Decimal(Some((precision, scale))), SqlType::Decimal(Some((other, other_scale)))) => {
            let scales = *scale.max(other_scale);
            let whole = (*precision as i32 - scale).max(*other as i32 - other_scale);
            SqlType::Decimal(Some(((whole + scales) as u32, scales)))
        }
        (SqlType::Text(Some(left)), SqlType::Text(Some(right))) => SqlType::Text(Some(*left.max(right))),
        (SqlType::Character(left), SqlType::Character(right)) => SqlType::Character(*left.max(right)),
        (SqlType::Timestamp(left), SqlType::Timestamp(right)) => SqlType::Timestamp(*left.max(right)),
        (SqlType::Time(left), SqlType::Time(right)) => SqlType::Time(*left.max(right)),
        _ => left.unbounded(),
    }
}

/// The type in which two different numbers meet: the wider one; a single beside anything else is a double.
pub(crate) fn number_type(left: &SqlType, right: &SqlType) -> SqlType {
    let as_number = |one: &SqlType| match one {
        SqlType::Boolean => SqlType::INTEGER,
        other => other.unbounded(),
    };
    let (left, right) = (as_number(left), as_number(right));
    match (&left, &right) {
        (SqlType::Single, SqlType::Single) => SqlType::Single,
        (SqlType::Single | SqlType::Double, _) | (_, SqlType::Single | SqlType::Double) => SqlType::Double,
        (SqlType::Integer { width, unsigned }, SqlType::Integer { width: other, unsigned: other_unsigned }) => {
            if width == other && unsigned != other_unsigned && *width == IntegerWidth::Big {
                return SqlType::NUMERIC;
            }
            SqlType::Integer { width: *width.max(other), unsigned: *unsigned || *other_unsigned }
        }
        _ => SqlType::NUMERIC,
    }
}
