//! Exponentials, logarithms and powers of NUMERIC, to as many digits as PostgreSQL gives: 16 that count, or the scale of the argument.
//!
//! ```text
//!   exp(1.0)     2.7182818284590452          ln(1.05)    0.048790164169432003
//!   2.0 ^ 0.5    1.4142135623730950          2.0 ^ 10    1024.0000000000000000
//! ```
//!
//! The work is done on whole numbers that stand for a decimal times a power of ten ([`Fixed`]), with digits to spare; what comes out is
//! rounded once. A logarithm takes roots until its argument is near 1, an exponential halves its argument until it is near 0; then
//! a series of a few terms does.

use super::arithmetic::whole_power;
use crate::number;
use crate::{SqlError, SqlState};
use bigdecimal::num_bigint::BigInt;
use bigdecimal::{BigDecimal, One, Signed, ToPrimitive, Zero};

/// The digits that count in every result.
const SIGNIFICANT: i64 = 16;
/// Digits that absorb what each step rounds away.
const SPARE: i64 = 24;
/// Beyond this, e to the power of it is no NUMERIC that PostgreSQL would compute.
const GREATEST_EXPONENT: f64 = 6000.0;
const ROOTS: u32 = 10;

fn clamped(scale: i64) -> i64 {
    scale.clamp(0, 1000)
}

/// The decimal logarithm, roughly, of a number that is not zero.
fn magnitude(value: &BigDecimal) -> f64 {
    let (digits, scale) = value.as_bigint_and_exponent();
    let text = digits.magnitude().to_string();
    let head: f64 = text[..text.len().min(17)].parse().unwrap_or(1.0);
    head.log10() + (text.len() as i64 - text.len().min(17) as i64 - scale) as f64
}

/// Where the first digit of the logarithm stands, as PostgreSQL estimates it.
fn logarithm_weight(value: &BigDecimal) -> i64 {
    let (low, high) = (BigDecimal::new(9.into(), 1), BigDecimal::new(11.into(), 1));
    if *value >= low && *value <= high {
        let (weight, first) = number::leading_group(&(value - BigDecimal::one()));
        return if first == 0 { 0 } else { weight * 4 + (first as f64).log10() as i64 };
    }
    (magnitude(value) * std::f64::consts::LN_10).abs().log10() as i64
}

/// Whole numbers that stand for decimals of one scale.
struct Fixed {
    one: BigInt,
    scale: i64,
}

impl Fixed {
    fn new(scale: i64) -> Fixed {
        Fixed { one: BigInt::from(10).pow(scale as u32), scale }
    }

    fn of(&self, value: &BigDecimal) -> BigInt {
        number::round_decimal(value, self.scale).into_bigint_and_exponent().0
    }

    fn product(&self, left: &BigInt, right: &BigInt) -> BigInt {
        left * right / &self.one
    }

    /// e to a power that is not negative.
    fn exponential(&self, power: &BigInt) -> BigInt {
        let mut halvings = 0u32;
        let mut small = power.clone();
        while &small * 256 > self.one {
            small /= 2;
            halvings += 1;
        }
        let (mut sum, mut term, mut place) = (self.one.clone(), self.one.clone(), 0u32);
        while !term.is_zero() {
            place += 1;
            term = self.product(&term, &small) / place;
            sum += &term;
        }
        (0..halvings).fold(sum, |square, _| self.product(&square, &square))
    }

    /// The natural logarithm of a number between 0.1 and 1.
    fn logarithm_of_fraction(&self, value: &BigInt) -> BigInt {
        let root = (0..ROOTS).fold(value.clone(), |root, _| (root * &self.one).sqrt());
        // ln y = 2 artanh((y - 1) / (y + 1)).
        let ratio = (&root - &self.one) * &self.one / (&root + &self.one);
        let square = self.product(&ratio, &ratio);
        let (mut sum, mut power, mut place) = (ratio.clone(), ratio, 1u32);
        while !power.is_zero() {
            place += 2;
            power = self.product(&power, &square);
            sum += &power / place;
        }
        sum * BigInt::from(2).pow(ROOTS + 1)
    }
}

/// The natural logarithm of a positive number, right to a scale and some digits.
fn natural(value: &BigDecimal, scale: i64) -> BigDecimal {
    let fixed = Fixed::new(scale + SPARE);
    let (digits, own_scale) = value.as_bigint_and_exponent();
    let length = digits.magnitude().to_string().len() as i64;
    let fraction = fixed.of(&BigDecimal::new(digits, length));
    let tens = BigInt::from(length - own_scale) * fixed.logarithm_of_fraction(&(&fixed.one / 10));
    BigDecimal::new(fixed.logarithm_of_fraction(&fraction) - tens, fixed.scale)
}

/// e to a power, rounded to a scale.
fn raised(power: &BigDecimal, scale: i64) -> Result<BigDecimal, SqlError> {
    let size = number::real_of_decimal(power);
    if size.abs() >= GREATEST_EXPONENT {
        return if size > 0.0 { Err(number::overflow()) } else { Ok(BigDecimal::new(0.into(), scale)) };
    }
    let fixed = Fixed::new(scale + (size.abs() / std::f64::consts::LN_10) as i64 + SPARE);
    let result = fixed.exponential(&fixed.of(&power.abs()));
    let result = if size < 0.0 { &fixed.one * &fixed.one / result } else { result };
    Ok(number::round_decimal(&BigDecimal::new(result, fixed.scale), scale))
}

fn undefined(message: &str, state: &'static str) -> SqlError {
    SqlError::new(SqlState(state), message)
}

fn positive(value: &BigDecimal) -> Result<(), SqlError> {
    if value.is_zero() {
        return Err(undefined("cannot take logarithm of zero", "2201E"));
    }
    if value.is_negative() {
        return Err(undefined("cannot take logarithm of a negative number", "2201E"));
    }
    Ok(())
}

/// e to a power.
pub(super) fn exponential(power: &BigDecimal) -> Result<BigDecimal, SqlError> {
    let weight = (number::real_of_decimal(power) * std::f64::consts::LOG10_E).clamp(-2000.0, 2000.0) as i64;
    raised(power, clamped((SIGNIFICANT - weight).max(power.fractional_digit_count())))
}

/// The natural logarithm.
pub(super) fn natural_logarithm(value: &BigDecimal) -> Result<BigDecimal, SqlError> {
    positive(value)?;
    let scale = clamped((SIGNIFICANT - logarithm_weight(value)).max(value.fractional_digit_count()));
    Ok(number::round_decimal(&natural(value, scale), scale))
}

/// The logarithm to a base.
pub(super) fn logarithm(base: &BigDecimal, value: &BigDecimal) -> Result<BigDecimal, SqlError> {
    positive(base)?;
    positive(value)?;
    let weight = logarithm_weight(value) - logarithm_weight(base);
    let scales = base.fractional_digit_count().max(value.fractional_digit_count());
    let scale = clamped((SIGNIFICANT - weight).max(scales));
    let below = natural(base, scale + SPARE);
    if *base == BigDecimal::one() {
        return Err(number::division_by_zero());
    }
    Ok(number::quotient(&natural(value, scale + SPARE), &below, scale))
}

/// A power.
pub(super) fn power(base: &BigDecimal, exponent: &BigDecimal) -> Result<BigDecimal, SqlError> {
    let whole = exponent.is_integer().then(|| exponent.to_i32()).flatten();
    if base.is_zero() && exponent.is_negative() {
        return Err(undefined("zero raised to a negative power is undefined", "2201F"));
    }
    if base.is_negative() && !exponent.is_integer() {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return Err(undefined(message, "2201F"));
    }
    if base.is_zero() && whole != Some(0) {
        return Ok(BigDecimal::new(0.into(), SIGNIFICANT.max(base.fractional_digit_count())));
    }
    let weight = if base.is_zero() { 0.0 } else { magnitude(base) * number::real_of_decimal(exponent) };
    if weight > 140_000.0 {
        return Err(number::overflow());
    }
    let scale = clamped(match exponent.is_integer() {
        // PostgreSQL gives a whole power 16 digits after the point, whatever its size.
        true => SIGNIFICANT.max(base.fractional_digit_count()),
        false => {
            let scales = base.fractional_digit_count().max(exponent.fractional_digit_count());
            (SIGNIFICANT - weight.max(-2000.0) as i64).max(scales)
        }
    });
    let size = whole.map(i32::unsigned_abs).filter(|size| base.digits().saturating_mul((*size).into()) <= 200_000);
    let result = match (size, whole) {
        (Some(size), Some(0..)) => number::round_decimal(&whole_power(base, size)?, scale),
        (Some(size), _) => number::quotient(&BigDecimal::one(), &whole_power(base, size)?, scale),
        (None, _) => {
            let logarithm = natural(&base.abs(), scale + SPARE);
            let result = raised(&(logarithm * exponent), scale)?;
            let is_odd = exponent.is_integer() && !(exponent % BigDecimal::from(2)).is_zero();
            if base.is_negative() && is_odd { -result } else { result }
        }
    };
    number::checked_decimal(result)
}
