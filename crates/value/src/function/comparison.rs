//! Comparisons and logic.
//!
//! Two sides are compared as the values they are where that is exact (an integer with a NUMERIC, texts of different length), so that a
//! column stays a bare column and can be looked up by key; else both become their common type.
//!
//! ```text
//!   integer = numeric        as they are               integer = double      both double, as PostgreSQL does
//!   integer = '5'            the literal is read       MySQL: integer = text the text's leading number, exactly
//! ```

use super::Invocation;
use super::arguments::Evaluated;
use super::signature::{SignatureRow, TypePattern::*, row};
use crate::Dialect;
use crate::SqlType;
use crate::coerce::number_type;
use crate::json::Json;
use crate::{Collation, Datum, common_type, compare_in};
use std::cmp::Ordering;

pub(super) const OPERATORS: &[SignatureRow] = &[
    row("=", &[Comparable, Comparable], Boolean, equal),
    row("<>", &[Comparable, Comparable], Boolean, unequal),
    row("!=", &[Comparable, Comparable], Boolean, unequal),
    row("<", &[Comparable, Comparable], Boolean, less),
    row("<=", &[Comparable, Comparable], Boolean, less_or_equal),
    row(">", &[Comparable, Comparable], Boolean, greater),
    row(">=", &[Comparable, Comparable], Boolean, greater_or_equal),
    row("is distinct from", &[Comparable, Comparable], Boolean, distinct).lenient(),
    row("is not distinct from", &[Comparable, Comparable], Boolean, not_distinct).lenient(),
    row("<=>", &[Comparable, Comparable], Boolean, not_distinct).lenient().mysql(),
    row("and", &[Boolean, Boolean], Boolean, and).lenient(),
    row("or", &[Boolean, Boolean], Boolean, or).lenient(),
    row("&&", &[Boolean, Boolean], Boolean, and).lenient().mysql(),
    row("||", &[Boolean, Boolean], Boolean, or).lenient().mysql(),
    row("xor", &[Boolean, Boolean], Boolean, exclusive_or).mysql(),
    row("not", &[Boolean], Boolean, not),
    row("!", &[Boolean], Boolean, not).mysql(),
];

/// What the two sides become; nothing if they cannot be compared.
pub(super) fn comparable(
    symbol: &str,
    left: &SqlType,
    right: &SqlType,
    dialect: Dialect,
) -> Option<(SqlType, SqlType)> {
    let both = |common: SqlType| Some((common.clone(), common));
    let orders = !matches!(symbol, "=" | "<>" | "!=" | "<=>" | "is distinct from" | "is not distinct from");
    if orders && matches!(left, SqlType::Enumeration(_)) && dialect == Dialect::Postgres {
        // The order of an enumeration is its declaration, which only the catalog knows.
        return None;
    }
    match (left, right) {
        (SqlType::Unknown, SqlType::Unknown) => both(SqlType::TEXT),
        _ if dialect == Dialect::MySql => Some(comparable_in_mysql(left, right)),
        (SqlType::Unknown, known) => both(known.clone()),
        (known, SqlType::Unknown) => both(known.clone()),
        _ if is_exact(left) && is_exact(right) => Some((left.clone(), right.clone())),
        _ if left.is_number() && right.is_number() => both(number_type(left, right)),
        // What is varying beside what is padded is padded too: blanks at the end do not count. Beside a text they do.
        (SqlType::Text(Some(length)), SqlType::Character(other)) => {
            Some((SqlType::Character(*length.max(other)), right.clone()))
        }
        (SqlType::Character(length), SqlType::Text(Some(other))) => {
            Some((left.clone(), SqlType::Character(*length.max(other))))
        }
        _ if left.is_text() && right.is_text() => Some((left.clone(), right.clone())),
        _ if left.is_same_kind(right) => Some((left.clone(), right.clone())),
        _ => both(common_type(&[left.clone(), right.clone()], dialect).ok()?),
    }
}

fn is_exact(one: &SqlType) -> bool {
    matches!(one, SqlType::Integer { .. } | SqlType::Decimal(_) | SqlType::ObjectId | SqlType::Registered(_))
}

fn comparable_in_mysql(left: &SqlType, right: &SqlType) -> (SqlType, SqlType) {
    use SqlType::*;
    let is_text = |one: &SqlType| one.is_text() || *one == Unknown;
    let number = |one: &SqlType| if *one == Boolean { SqlType::INTEGER } else { one.clone() };
    let is_number = |one: &SqlType| one.is_number() || *one == Boolean;
    let is_time = |one: &SqlType| one.is_date_like() || matches!(one, Time(_));
    match (left, right) {
        (Unknown, Enumeration(_)) => (right.clone(), right.clone()),
        (Enumeration(_), Unknown) => (left.clone(), left.clone()),
        _ if is_text(left) && is_text(right) => (SqlType::TEXT, SqlType::TEXT),
        _ if is_exact(&number(left)) && is_exact(&number(right)) => (number(left), number(right)),
        _ if is_number(left) && is_number(right) => (Double, Double),
        _ if is_exact(&number(left)) && is_text(right) => (number(left), SqlType::NUMERIC),
        _ if is_text(left) && is_exact(&number(right)) => (SqlType::NUMERIC, number(right)),
        _ if is_number(left) && is_text(right) || is_text(left) && is_number(right) => (Double, Double),
        (Date, Date) => (Date, Date),
        (Date, _) if is_text(right) => (Date, SqlType::TIMESTAMP),
        (_, Date) if is_text(left) => (SqlType::TIMESTAMP, Date),
        (Time(_), _) if is_text(right) || matches!(right, Time(_)) => (left.unbounded(), left.unbounded()),
        (_, Time(_)) if is_text(left) => (right.unbounded(), right.unbounded()),
        _ if is_time(left) && is_text(right) || is_text(left) && is_time(right) => {
            (SqlType::TIMESTAMP, SqlType::TIMESTAMP)
        }
        _ if left.is_date_like() && right.is_date_like() => (SqlType::TIMESTAMP, SqlType::TIMESTAMP),
        (Bytes, _) | (_, Bytes) => (Bytes, Bytes),
        (Json, _) if is_text(right) => (Json, SqlType::TEXT),
        (_, Json) if is_text(left) => (SqlType::TEXT, Json),
        _ if is_time(left) && is_number(right) || is_number(left) && is_time(right) => (Double, Double),
        _ if left == right => (left.clone(), right.clone()),
        _ => (SqlType::TEXT, SqlType::TEXT),
    }
}

fn order(arguments: &[Datum], call: Invocation<'_>) -> Ordering {
    let collation = Collation::of(call.environment.dialect);
    match arguments {
        [Datum::Json(left), Datum::Text(right)] => {
            Json::parse(left).map_or(Ordering::Less, |left| left.cmp(&Json::String(right.to_string())))
        }
        [Datum::Text(left), Datum::Json(right)] => {
            Json::parse(right).map_or(Ordering::Less, |right| Json::String(left.to_string()).cmp(&right))
        }
        [left, right] => compare_in(left, right, collation),
        _ => Ordering::Equal,
    }
}

fn equal(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(order(arguments, call).is_eq()))
}

fn unequal(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(order(arguments, call).is_ne()))
}

fn less(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(order(arguments, call).is_lt()))
}

fn less_or_equal(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(order(arguments, call).is_le()))
}

fn greater(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(order(arguments, call).is_gt()))
}

fn greater_or_equal(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(order(arguments, call).is_ge()))
}

fn not_distinct(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let nulls = arguments.iter().filter(|one| one.is_null()).count();
    Ok(Datum::Boolean(nulls == 2 || (nulls == 0 && order(arguments, call).is_eq())))
}

fn distinct(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    match not_distinct(arguments, call)? {
        Datum::Boolean(same) => Ok(Datum::Boolean(!same)),
        other => Ok(other),
    }
}

fn and(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(if arguments.contains(&Datum::Boolean(false)) {
        Datum::Boolean(false)
    } else if arguments.contains(&Datum::Null) {
        Datum::Null
    } else {
        Datum::Boolean(true)
    })
}

fn or(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(if arguments.contains(&Datum::Boolean(true)) {
        Datum::Boolean(true)
    } else if arguments.contains(&Datum::Null) {
        Datum::Null
    } else {
        Datum::Boolean(false)
    })
}

fn exclusive_or(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(arguments.first() != arguments.get(1)))
}

fn not(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(match arguments.first() {
        Some(Datum::Boolean(value)) => Datum::Boolean(!value),
        _ => Datum::Null,
    })
}
