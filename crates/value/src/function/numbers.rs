//! Functions of numbers.
//!
//! A whole number given to `round`, `ceil` or `sqrt` is a double in PostgreSQL, because double is the preferred number; a NUMERIC stays
//! a NUMERIC. In MySQL whole numbers stay whole.

use super::arguments::{Evaluated, decimal, integer, invalid, real};
use super::arithmetic::{in_range, not_vanished};
use super::signature::{SignatureRow, TypePattern::*, row};
use super::{Invocation, transcendental};
use crate::Dialect;
use crate::{Datum, number};
use crate::{SqlError, SqlState};
use bigdecimal::num_bigint::BigInt;
use bigdecimal::{BigDecimal, Signed, Zero};

pub(super) const FUNCTIONS: &[SignatureRow] = &[
    row("abs", &[Number], Number, absolute),
    row("ceil", &[Double], Double, ceiling),
    row("ceil", &[Numeric], Numeric, ceiling),
    row("ceiling", &[Double], Double, ceiling),
    row("ceiling", &[Numeric], Numeric, ceiling),
    row("ceil", &[Whole], Whole, ceiling).mysql(),
    row("ceiling", &[Whole], Whole, ceiling).mysql(),
    row("floor", &[Double], Double, floor),
    row("floor", &[Numeric], Numeric, floor),
    row("floor", &[Whole], Whole, floor).mysql(),
    row("round", &[Double], Double, round),
    row("round", &[Numeric], Numeric, round),
    row("round", &[Whole], Whole, round).mysql(),
    row("round", &[Numeric, Integer], Numeric, round_to),
    row("round", &[Double, Integer], Double, round_to).mysql(),
    row("trunc", &[Double], Double, truncate).postgres(),
    row("trunc", &[Numeric], Numeric, truncate).postgres(),
    row("trunc", &[Numeric, Integer], Numeric, truncate_to).postgres(),
    row("truncate", &[Numeric, Integer], Numeric, truncate_to).mysql(),
    row("truncate", &[Double, Integer], Double, truncate_to).mysql(),
    row("sign", &[Double], Double, sign),
    row("sign", &[Numeric], Numeric, sign),
    row("sqrt", &[Double], Double, square_root),
    row("sqrt", &[Numeric], Numeric, square_root).postgres(),
    row("cbrt", &[Double], Double, cube_root).postgres(),
    row("power", &[Double, Double], Double, power),
    row("power", &[Numeric, Numeric], Numeric, power).postgres(),
    row("pow", &[Double, Double], Double, power),
    row("pow", &[Numeric, Numeric], Numeric, power).postgres(),
    row("exp", &[Double], Double, exponential),
    row("exp", &[Numeric], Numeric, exponential).postgres(),
    row("ln", &[Double], Double, natural_logarithm),
    row("ln", &[Numeric], Numeric, natural_logarithm).postgres(),
    row("log", &[Double], Double, logarithm),
    row("log", &[Numeric], Numeric, decimal_logarithm_ten).postgres(),
    row("log", &[Double, Double], Double, logarithm_to_base).mysql(),
    row("log", &[Numeric, Numeric], Numeric, decimal_logarithm).postgres(),
    row("log10", &[Double], Double, logarithm_ten),
    row("log10", &[Numeric], Numeric, decimal_logarithm_ten).postgres(),
    row("log2", &[Double], Double, logarithm_two).mysql(),
    row("pi", &[], Double, pi),
    row("sin", &[Double], Double, sine),
    row("cos", &[Double], Double, cosine),
    row("tan", &[Double], Double, tangent),
    row("cot", &[Double], Double, cotangent),
    row("asin", &[Double], Double, arc_sine),
    row("acos", &[Double], Double, arc_cosine),
    row("atan", &[Double], Double, arc_tangent),
    row("atan2", &[Double, Double], Double, arc_tangent_two),
    row("degrees", &[Double], Double, degrees),
    row("radians", &[Double], Double, radians),
    row("gcd", &[Whole, Whole], Whole, greatest_divisor).postgres(),
    row("lcm", &[Whole, Whole], Whole, least_multiple).postgres(),
    row("random", &[], Double, random).volatile().postgres(),
    row("rand", &[], Double, random).volatile().mysql(),
    row("width_bucket", &[Double, Double, Double, Integer], Integer, width_bucket).postgres(),
    row("scale", &[Numeric], Integer, scale).postgres(),
    row("trim_scale", &[Numeric], Numeric, trim_scale).postgres(),
    row("factorial", &[Big], Numeric, factorial).postgres(),
];

pub(super) fn absolute(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    match arguments.first() {
        Some(Datum::Real(value)) => Ok(Datum::Real(value.abs())),
        Some(Datum::Decimal(value)) => Ok(Datum::Decimal(value.abs())),
        _ => in_range(integer(arguments, 0)?.checked_abs(), call.result),
    }
}

fn by_kind(arguments: &[Datum], of_real: fn(f64) -> f64, of_decimal: fn(&BigDecimal) -> BigDecimal) -> Evaluated {
    match arguments.first() {
        Some(Datum::Real(value)) => Ok(Datum::Real(of_real(*value))),
        Some(Datum::Decimal(value)) => Ok(Datum::Decimal(of_decimal(value))),
        other => Ok(other.cloned().unwrap_or_default()),
    }
}

fn ceiling(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    by_kind(arguments, f64::ceil, |value| value.with_scale_round(0, bigdecimal::RoundingMode::Ceiling))
}

fn floor(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    by_kind(arguments, f64::floor, |value| value.with_scale_round(0, bigdecimal::RoundingMode::Floor))
}

fn round(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let of_real = if call.environment.dialect == Dialect::MySql { f64::round } else { f64::round_ties_even };
    by_kind(arguments, of_real, |value| number::round_decimal(value, 0))
}

fn truncate(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    by_kind(arguments, f64::trunc, |value| number::truncate_decimal(value, 0))
}

/// The scale that the second argument asks for, within what NUMERIC has.
fn wanted_scale(arguments: &[Datum]) -> Result<i64, SqlError> {
    Ok(integer(arguments, 1)?.clamp(-2000, 2000) as i64)
}

fn to_scale(arguments: &[Datum], call: Invocation<'_>, change: fn(&BigDecimal, i64) -> BigDecimal) -> Evaluated {
    let scale = wanted_scale(arguments)?;
    match arguments.first() {
        Some(Datum::Real(value)) => {
            Ok(Datum::Real(number::real_of_decimal(&change(&number::decimal_of_real(*value, false)?, scale))))
        }
        _ => {
            let value = decimal(arguments, 0)?;
            // MySQL does not add digits that were not there.
            let mysql = call.environment.dialect == Dialect::MySql;
            let scale = if mysql { scale.min(value.fractional_digit_count()) } else { scale };
            Ok(Datum::Decimal(change(&value, scale)))
        }
    }
}

fn round_to(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    to_scale(arguments, call, number::round_decimal)
}

fn truncate_to(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    to_scale(arguments, call, number::truncate_decimal)
}

fn sign(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    by_kind(
        arguments,
        |value| if value == 0.0 || value.is_nan() { value.abs() } else { value.signum() },
        |value| {
            BigDecimal::from(if value.is_zero() {
                0
            } else if value.is_negative() {
                -1
            } else {
                1
            })
        },
    )
}

fn undefined_result(what: &str, call: Invocation<'_>, state: &'static str) -> Evaluated {
    match call.environment.dialect {
        Dialect::MySql => Ok(Datum::Null),
        Dialect::Postgres => Err(SqlError::new(SqlState(state), what)),
    }
}

pub(super) fn square_root(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let message = "cannot take square root of a negative number";
    if let Some(Datum::Decimal(value)) = arguments.first() {
        if value.is_negative() {
            return undefined_result(message, call, "2201F");
        }
        return Ok(Datum::Decimal(decimal_root(value)));
    }
    let value = real(arguments, 0)?;
    if value < 0.0 { undefined_result(message, call, "2201F") } else { Ok(Datum::Real(value.sqrt())) }
}

/// The root with PostgreSQL's scale: 16 significant digits, counted in groups of four.
pub(super) fn decimal_root(value: &BigDecimal) -> BigDecimal {
    if value.is_zero() {
        return value.clone();
    }
    let (digits, scale) = value.as_bigint_and_exponent();
    let first_place = digits.magnitude().to_string().len() as i64 - scale - 1;
    let weight = first_place.div_euclid(4);
    let root_weight = (weight + 1) * 4 / 2 - 1;
    let wanted = (16 - root_weight).max(scale).clamp(0, 1000);
    let shift = 2 * (wanted + 1) - scale;
    let power = BigInt::from(10).pow(shift.unsigned_abs() as u32);
    let shifted = if shift >= 0 { digits * power } else { digits / power };
    number::round_decimal(&BigDecimal::new(shifted.sqrt(), wanted + 1), wanted)
}

fn cube_root(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Real(real(arguments, 0)?.cbrt()))
}

pub(super) fn power(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    if let [Datum::Decimal(base), Datum::Decimal(exponent)] = arguments {
        return transcendental::power(base, exponent).map(Datum::Decimal);
    }
    let (base, exponent) = (real(arguments, 0)?, real(arguments, 1)?);
    if base == 0.0 && exponent < 0.0 {
        return undefined_result("zero raised to a negative power is undefined", call, "2201F");
    }
    if base < 0.0 && exponent.fract() != 0.0 {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return undefined_result(message, call, "2201F");
    }
    if exponent == 0.0 { Ok(Datum::Real(1.0)) } else { not_vanished(base.powf(exponent), arguments, call) }
}

fn decimal_logarithm_ten(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    transcendental::logarithm(&BigDecimal::from(10), &decimal(arguments, 0)?).map(Datum::Decimal)
}

fn decimal_logarithm(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    transcendental::logarithm(&decimal(arguments, 0)?, &decimal(arguments, 1)?).map(Datum::Decimal)
}

fn exponential(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    if let Some(Datum::Decimal(value)) = arguments.first() {
        return transcendental::exponential(value).map(Datum::Decimal);
    }
    not_vanished(real(arguments, 0)?.exp(), arguments, call)
}

fn logarithm_of(value: f64, logarithm: fn(f64) -> f64, call: Invocation<'_>) -> Evaluated {
    if value == 0.0 {
        return undefined_result("cannot take logarithm of zero", call, "2201E");
    }
    if value < 0.0 {
        return undefined_result("cannot take logarithm of a negative number", call, "2201E");
    }
    Ok(Datum::Real(logarithm(value)))
}

fn natural_logarithm(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    if let Some(Datum::Decimal(value)) = arguments.first() {
        return transcendental::natural_logarithm(value).map(Datum::Decimal);
    }
    logarithm_of(real(arguments, 0)?, f64::ln, call)
}

/// `log(x)` is to base 10 in PostgreSQL and natural in MySQL.
fn logarithm(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let mysql = call.environment.dialect == Dialect::MySql;
    logarithm_of(real(arguments, 0)?, if mysql { f64::ln } else { f64::log10 }, call)
}

fn logarithm_ten(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    logarithm_of(real(arguments, 0)?, f64::log10, call)
}

fn logarithm_two(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    logarithm_of(real(arguments, 0)?, f64::log2, call)
}

fn logarithm_to_base(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let base = logarithm_of(real(arguments, 0)?, f64::ln, call)?;
    let value = logarithm_of(real(arguments, 1)?, f64::ln, call)?;
    match (base, value) {
        (Datum::Real(base), Datum::Real(value)) if base != 0.0 => Ok(Datum::Real(value / base)),
        (Datum::Real(_), Datum::Real(_)) => Err(number::division_by_zero()),
        _ => Ok(Datum::Null),
    }
}

fn pi(_: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Real(std::f64::consts::PI))
}

fn sine(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Real(real(arguments, 0)?.sin()))
}

fn cosine(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Real(real(arguments, 0)?.cos()))
}

fn tangent(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Real(real(arguments, 0)?.tan()))
}

fn cotangent(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Real(1.0 / real(arguments, 0)?.tan()))
}

fn arc(arguments: &[Datum], call: Invocation<'_>, function: fn(f64) -> f64) -> Evaluated {
    let value = real(arguments, 0)?;
    if value.abs() > 1.0 {
        undefined_result("input is out of range", call, "22003")
    } else {
        Ok(Datum::Real(function(value)))
    }
}

fn arc_sine(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    arc(arguments, call, f64::asin)
}

fn arc_cosine(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    arc(arguments, call, f64::acos)
}

fn arc_tangent(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Real(real(arguments, 0)?.atan()))
}

fn arc_tangent_two(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Real(real(arguments, 0)?.atan2(real(arguments, 1)?)))
}

fn degrees(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Real(real(arguments, 0)?.to_degrees()))
}

fn radians(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Real(real(arguments, 0)?.to_radians()))
}

fn euclid(left: i128, right: i128) -> i128 {
    if right == 0 { left.abs() } else { euclid(right, left % right) }
}

fn greatest_divisor(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    in_range(Some(euclid(integer(arguments, 0)?, integer(arguments, 1)?)), call.result)
}

fn least_multiple(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let (left, right) = (integer(arguments, 0)?, integer(arguments, 1)?);
    if left == 0 || right == 0 {
        return Ok(Datum::Integer(0));
    }
    in_range((left / euclid(left, right)).checked_mul(right).map(i128::abs), call.result)
}

fn random(_: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(Datum::Real((call.environment.random() >> 11) as f64 / (1u64 << 53) as f64))
}

fn width_bucket(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (value, low, high) = (real(arguments, 0)?, real(arguments, 1)?, real(arguments, 2)?);
    let count = integer(arguments, 3)?;
    if count < 1 || low == high || value.is_nan() {
        return Err(SqlError::new(SqlState("2201G"), "count must be greater than zero, and the bounds must differ"));
    }
    if !low.is_finite() || !high.is_finite() {
        return Err(SqlError::new(SqlState("2201G"), "lower and upper bounds must be finite"));
    }
    let place = (((value - low) / (high - low) * count as f64).floor() as i128).saturating_add(1);
    Ok(Datum::Integer(place.clamp(0, count + 1)))
}

fn scale(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(decimal(arguments, 0)?.fractional_digit_count().max(0).into()))
}

fn trim_scale(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let plain = decimal(arguments, 0)?.normalized();
    Ok(Datum::Decimal(if plain.fractional_digit_count() < 0 { plain.with_scale(0) } else { plain }))
}

fn factorial(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let count = integer(arguments, 0)?;
    match count {
        ..0 => Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, "factorial of a negative number is undefined")),
        5001.. => Err(invalid("the factorial is larger than the limit")),
        _ => Ok(Datum::Decimal(BigDecimal::from((1..=count).fold(BigInt::from(1), |product, one| product * one)))),
    }
}
