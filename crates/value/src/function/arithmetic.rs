//! `+ - * / %`, powers and bits.
//!
//! ```text
//!            PostgreSQL                       MySQL
//!   7 / 2    3                                3.5000
//!   1 / 0    refused (22012)                  NULL
//!   2 ^ 3    8 (a double)                     1 (exclusive or)
//! ```
//!
//! Integers that leave their type are refused (22003), never wrapped.

use super::Invocation;
use super::arguments::{Evaluated, decimal, integer, real};
use super::signature::{SignatureRow, TypePattern::*, row};
use crate::{Datum, number};
use crate::{IntegerWidth, SqlType};
use crate::{SqlError, SqlState};
use bigdecimal::{BigDecimal, One, ToPrimitive, Zero};

pub(super) const OPERATORS: &[SignatureRow] = &[
    row("+", &[Number, Number], Number, add),
    row("-", &[Number, Number], Number, subtract),
    row("*", &[Number, Number], Number, multiply),
    row("/", &[Number, Number], Number, divide).postgres(),
    row("/", &[Exact, Exact], Numeric, divide_mysql).mysql(),
    row("/", &[Double, Double], Double, divide_mysql).mysql(),
    row("div", &[Number, Number], Big, whole_quotient).mysql(),
    row("%", &[Exact, Exact], Exact, remainder),
    row("%", &[Double, Double], Double, remainder).mysql(),
    row("+", &[Number], Number, same),
    row("-", &[Number], Number, negate),
    row("^", &[Double, Double], Double, super::numbers::power).postgres(),
    row("^", &[Numeric, Numeric], Numeric, super::numbers::power).postgres(),
    row("&", &[Whole, Whole], Whole, and).postgres(),
    row("|", &[Whole, Whole], Whole, or).postgres(),
    row("#", &[Whole, Whole], Whole, exclusive_or).postgres(),
    row("~", &[Whole], Whole, not).postgres(),
    row("<<", &[Whole, Integer], Whole, shift_left).postgres(),
    row(">>", &[Whole, Integer], Whole, shift_right).postgres(),
    row("&", &[Big, Big], Big, mysql_bits).mysql(),
    row("|", &[Big, Big], Big, mysql_bits_or).mysql(),
    row("^", &[Big, Big], Big, mysql_bits_exclusive).mysql(),
    row("~", &[Big], Big, mysql_bits_not).mysql(),
    row("<<", &[Big, Big], Big, mysql_shift_left).mysql(),
    row(">>", &[Big, Big], Big, mysql_shift_right).mysql(),
    row("|/", &[Double], Double, super::numbers::square_root).postgres(),
    row("@", &[Number], Number, super::numbers::absolute).postgres(),
];

/// The functions that say the same in words.
pub(super) const FUNCTIONS: &[SignatureRow] = &[
    row("mod", &[Exact, Exact], Exact, remainder),
    row("mod", &[Double, Double], Double, remainder).mysql(),
    row("div", &[Numeric, Numeric], Numeric, whole_decimal_quotient).postgres(),
];

/// An integer in the range of its type.
pub(super) fn in_range(value: Option<i128>, sql_type: &SqlType) -> Evaluated {
    let (width, unsigned) = match sql_type {
        SqlType::Integer { width, unsigned } => (*width, *unsigned),
        _ => (IntegerWidth::Big, false),
    };
    match value {
        Some(value) if width.range(unsigned).contains(&value) => Ok(Datum::Integer(value)),
        _ => Err(number::out_of_range(&sql_type.to_string())),
    }
}

/// A product or quotient that became zero though nothing zero or infinite went in is refused by PostgreSQL.
pub(super) fn not_vanished(value: f64, arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let answer = finite(value, arguments, call.result)?;
    let is_sound = |one: &Datum| matches!(one, Datum::Real(value) if *value != 0.0 && value.is_finite());
    let vanished = answer == Datum::Real(0.0) || answer == Datum::Real(-0.0);
    if vanished && arguments.iter().all(is_sound) && call.environment.dialect == crate::Dialect::Postgres {
        return Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, "value out of range: underflow"));
    }
    Ok(answer)
}

/// A float that became infinite though nothing infinite went in is refused.
pub(super) fn finite(value: f64, arguments: &[Datum], sql_type: &SqlType) -> Evaluated {
    let value = if *sql_type == SqlType::Single { f64::from(value as f32) } else { value };
    let had_infinity = arguments.iter().any(|one| matches!(one, Datum::Real(value) if value.is_infinite()));
    if value.is_infinite() && !had_infinity {
        return Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, "value out of range: overflow"));
    }
    Ok(Datum::Real(value))
}

fn both_integers(arguments: &[Datum]) -> Option<(i128, i128)> {
    match arguments {
        [Datum::Integer(left), Datum::Integer(right)] => Some((*left, *right)),
        _ => None,
    }
}

fn has_real(arguments: &[Datum]) -> bool {
    arguments.iter().any(|one| matches!(one, Datum::Real(_)))
}

fn add(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    match both_integers(arguments) {
        Some((left, right)) => in_range(left.checked_add(right), call.result),
        None if has_real(arguments) => finite(real(arguments, 0)? + real(arguments, 1)?, arguments, call.result),
        None => {
            number::checked_decimal(number::add(&decimal(arguments, 0)?, &decimal(arguments, 1)?)).map(Datum::Decimal)
        }
    }
}

fn subtract(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    match both_integers(arguments) {
        Some((left, right)) => in_range(left.checked_sub(right), call.result),
        None if has_real(arguments) => finite(real(arguments, 0)? - real(arguments, 1)?, arguments, call.result),
        None => {
            number::checked_decimal(number::add(&decimal(arguments, 0)?, &-decimal(arguments, 1)?)).map(Datum::Decimal)
        }
    }
}

fn multiply(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    match both_integers(arguments) {
        Some((left, right)) => in_range(left.checked_mul(right), call.result),
        None if has_real(arguments) => not_vanished(real(arguments, 0)? * real(arguments, 1)?, arguments, call),
        None => number::checked_decimal(number::multiply(&decimal(arguments, 0)?, &decimal(arguments, 1)?))
            .map(Datum::Decimal),
    }
}

fn divide(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    match both_integers(arguments) {
        Some((_, 0)) => Err(number::division_by_zero()),
        Some((left, right)) => in_range(left.checked_div(right), call.result),
        None if has_real(arguments) => {
            let (left, right) = (real(arguments, 0)?, real(arguments, 1)?);
            if right == 0.0 && !left.is_nan() {
                return Err(number::division_by_zero());
            }
            not_vanished(left / right, arguments, call)
        }
        None => number::divide(&decimal(arguments, 0)?, &decimal(arguments, 1)?).map(Datum::Decimal),
    }
}

/// MySQL gives a query NULL for a division by zero, and refuses to store what comes of one.
fn by_zero(call: Invocation<'_>) -> Evaluated {
    let forgiven = call.environment.dialect == crate::Dialect::MySql && !call.environment.changes;
    if forgiven { Ok(Datum::Null) } else { Err(number::division_by_zero()) }
}

/// MySQL gives four more digits than the dividend has.
fn divide_mysql(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    if has_real(arguments) {
        let right = real(arguments, 1)?;
        return if right == 0.0 { by_zero(call) } else { finite(real(arguments, 0)? / right, arguments, call.result) };
    }
    let (left, right) = (decimal(arguments, 0)?, decimal(arguments, 1)?);
    if right.is_zero() {
        return by_zero(call);
    }
    let scale = (left.fractional_digit_count() + 4).clamp(0, 30);
    Ok(Datum::Decimal(number::quotient(&left, &right, scale)))
}

fn whole_quotient(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let (left, right) = (decimal(arguments, 0)?, decimal(arguments, 1)?);
    if right.is_zero() {
        return by_zero(call);
    }
    in_range(whole_part(&left, &right).to_i128(), call.result)
}

fn whole_decimal_quotient(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (left, right) = (decimal(arguments, 0)?, decimal(arguments, 1)?);
    if right.is_zero() {
        return Err(number::division_by_zero());
    }
    Ok(Datum::Decimal(whole_part(&left, &right)))
}

/// The quotient cut at the point, exactly.
fn whole_part(left: &BigDecimal, right: &BigDecimal) -> BigDecimal {
    let rest = left % right;
    number::quotient(&(left - rest), right, 0)
}

fn remainder(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let is_zero = match arguments.get(1) {
        Some(Datum::Integer(value)) => *value == 0,
        Some(Datum::Real(value)) => *value == 0.0,
        Some(Datum::Decimal(value)) => value.is_zero(),
        _ => false,
    };
    if is_zero {
        return by_zero(call);
    }
    match both_integers(arguments) {
        Some((left, right)) => in_range(left.checked_rem(right), call.result),
        None if has_real(arguments) => Ok(Datum::Real(real(arguments, 0)? % real(arguments, 1)?)),
        None => {
            let (left, right) = (decimal(arguments, 0)?, decimal(arguments, 1)?);
            let scale = left.fractional_digit_count().max(right.fractional_digit_count());
            Ok(Datum::Decimal((left % right).with_scale(scale)))
        }
    }
}

fn same(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(arguments.first().cloned().unwrap_or_default())
}

fn negate(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    match arguments.first() {
        Some(Datum::Real(value)) => Ok(Datum::Real(-value)),
        Some(Datum::Decimal(value)) => Ok(Datum::Decimal(-value)),
        _ if matches!(call.result, SqlType::Integer { unsigned: true, .. }) => {
            in_range(integer(arguments, 0)?.checked_neg(), &SqlType::BIGINT)
        }
        _ => in_range(integer(arguments, 0)?.checked_neg(), call.result),
    }
}

fn and(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(integer(arguments, 0)? & integer(arguments, 1)?))
}

fn or(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(integer(arguments, 0)? | integer(arguments, 1)?))
}

fn exclusive_or(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(integer(arguments, 0)? ^ integer(arguments, 1)?))
}

fn not(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(!integer(arguments, 0)?))
}

/// The bits of the type: shifts drop what leaves it, and count modulo its size, as the machine does.
fn bits_of(sql_type: &SqlType) -> u32 {
    match sql_type {
        SqlType::Integer { width: IntegerWidth::Small, .. } => 16,
        SqlType::Integer { width: IntegerWidth::Normal, .. } => 32,
        _ => 64,
    }
}

fn shift_left(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let (value, count) = (integer(arguments, 0)?, integer(arguments, 1)?);
    Ok(Datum::Integer(match bits_of(call.result) {
        16 => i128::from(((value as i32) << (count.rem_euclid(32) as u32)) as i16),
        32 => i128::from((value as i32) << (count.rem_euclid(32) as u32)),
        _ => i128::from((value as i64) << (count.rem_euclid(64) as u32)),
    }))
}

fn shift_right(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let modulus = if bits_of(call.result) == 64 { 64 } else { 32 };
    Ok(Datum::Integer(integer(arguments, 0)? >> (integer(arguments, 1)?.rem_euclid(modulus) as u32)))
}

/// MySQL's bits are 64, unsigned.
fn unsigned(value: i128) -> Datum {
    Datum::Integer(i128::from(value as u64))
}

fn mysql_bits(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(unsigned(integer(arguments, 0)? & integer(arguments, 1)?))
}

fn mysql_bits_or(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(unsigned(integer(arguments, 0)? | integer(arguments, 1)?))
}

fn mysql_bits_exclusive(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(unsigned(integer(arguments, 0)? ^ integer(arguments, 1)?))
}

fn mysql_bits_not(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(unsigned(!integer(arguments, 0)?))
}

/// By 64 places and more nothing is left.
fn shifted(arguments: &[Datum], shift: fn(u64, u32) -> Option<u64>) -> Evaluated {
    let count = u32::try_from(integer(arguments, 1)?).unwrap_or(u32::MAX);
    Ok(Datum::Integer(shift(integer(arguments, 0)? as u64, count).unwrap_or(0).into()))
}

fn mysql_shift_left(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    shifted(arguments, u64::checked_shl)
}

fn mysql_shift_right(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    shifted(arguments, u64::checked_shr)
}

/// A decimal to a whole power, by squaring; refused when it grows beyond what NUMERIC holds.
pub(super) fn whole_power(base: &BigDecimal, exponent: u32) -> Result<BigDecimal, SqlError> {
    let (mut result, mut square, mut rest) = (BigDecimal::one(), base.clone(), exponent);
    while rest > 0 {
        if rest & 1 == 1 {
            result *= &square;
        }
        rest >>= 1;
        if rest > 0 {
            square = &square * &square;
        }
        if result.digits() > 200_000 || square.digits() > 200_000 {
            return Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, "value overflows numeric format"));
        }
    }
    Ok(result)
}
