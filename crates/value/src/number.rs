//! Numbers: their text, rounding, and the scale of quotients.
//!
//! A decimal keeps its scale, as NUMERIC does: `1.50` prints as `1.50`, and `1.50 + 1.5` is `3.00`. Division has no natural scale;
//! PostgreSQL gives the quotient at least 16 significant digits, and so does `divide`:
//!
//! ```text
//!   1 / 3      0.33333333333333333333      20 digits after the point
//!   10000 / 3  3333.3333333333333333       16 digits after the point
//! ```

use crate::{SqlError, SqlState};
use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::{BigDecimal, FromPrimitive, Signed, ToPrimitive, Zero};

/// Digits before the point and after it that a NUMERIC may have.
const MOST_WHOLE_DIGITS: i64 = 131_072;
const MOST_SCALE: i64 = 16_383;

/// A number that does not fit.
pub fn out_of_range(type_name: &str) -> SqlError {
    SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, format!("{type_name} out of range"))
}

/// Division by zero.
pub(crate) fn division_by_zero() -> SqlError {
    SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// The exact value of a finite float.
pub(crate) fn exact(value: f64) -> BigDecimal {
    BigDecimal::from_f64(value).unwrap_or_default()
}

/// A decimal as PostgreSQL would convert it: 15 significant digits for a double, 6 for a single.
pub(crate) fn decimal_of_real(value: f64, single: bool) -> Result<BigDecimal, SqlError> {
    if !value.is_finite() {
        return Err(SqlError::unsupported("a NUMERIC that is not a finite number"));
    }
    let digits = if single { 5 } else { 14 };
    let decimal = parse_decimal(&format!("{value:.digits$e}"))?;
    let plain = decimal.normalized();
    Ok(if plain.fractional_digit_count() < 0 { plain.with_scale(0) } else { plain })
}

/// The nearest float.
pub fn real_of_decimal(value: &BigDecimal) -> f64 {
    print_decimal(value).parse().unwrap_or(f64::NAN)
}

/// Reads a decimal: digits with a point and an exponent; keeps the scale that is written.
pub(crate) fn parse_decimal(text: &str) -> Result<BigDecimal, SqlError> {
    let invalid =
        || SqlError::new(SqlState::INVALID_TEXT, format!("invalid input syntax for type numeric: \"{text}\""));
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(place) => (&text[..place], parse_exponent(&text[place + 1..]).ok_or_else(invalid)?),
        None => (text, 0),
    };
    let unsigned = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = whole.bytes().chain(fraction.bytes());
    if whole.len() + fraction.len() == 0 || !digits.clone().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid());
    }
    let scale = fraction.len() as i64 - exponent;
    let text: String = digits.map(char::from).skip_while(|digit| *digit == '0').collect();
    if scale > MOST_SCALE || text.len() as i64 - scale > MOST_WHOLE_DIGITS && !text.is_empty() {
        return Err(overflow());
    }
    if text.is_empty() {
        return Ok(BigDecimal::new(0.into(), scale.max(0)));
    }
    let number: BigInt = text.parse().map_err(|_| invalid())?;
    let signed = if mantissa.starts_with('-') { -number } else { number };
    let decimal = BigDecimal::new(signed, scale);
    Ok(if scale < 0 { decimal.with_scale(0) } else { decimal })
}

/// The number behind `e`; one with more digits than anything could have is as good as the greatest.
fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(i64::MAX).min(1 << 40);
    Some(if text.starts_with('-') { -size } else { size })
}

/// More digits than NUMERIC has.
pub(crate) fn overflow() -> SqlError {
    SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, "value overflows numeric format")
}

/// The digits of a decimal, without exponent.
pub fn print_decimal(value: &BigDecimal) -> String {
    let (digits, scale) = value.as_bigint_and_exponent();
    if scale <= 0 {
        return (digits * BigInt::from(10).pow(scale.unsigned_abs() as u32)).to_string();
    }
    let scale = scale as usize;
    let text = format!("{:0>width$}", digits.magnitude().to_string(), width = scale + 1);
    let (whole, fraction) = text.split_at(text.len() - scale);
    let sign = if digits.sign() == Sign::Minus { "-" } else { "" };
    format!("{sign}{whole}.{fraction}")
}

/// Rounds to a scale, halves away from zero; a negative scale rounds tens and hundreds but leaves none behind.
pub(crate) fn round_decimal(value: &BigDecimal, scale: i64) -> BigDecimal {
    let rounded = value.with_scale_round(scale, bigdecimal::RoundingMode::HalfUp);
    if scale < 0 { rounded.with_scale(0) } else { rounded }
}

/// Cuts to a scale.
pub(crate) fn truncate_decimal(value: &BigDecimal, scale: i64) -> BigDecimal {
    let cut = value.with_scale_round(scale, bigdecimal::RoundingMode::Down);
    if scale < 0 { cut.with_scale(0) } else { cut }
}

/// The product, with the sum of the scales. The operator of `bigdecimal` loses the scale of a factor that is 1.
pub(crate) fn multiply(left: &BigDecimal, right: &BigDecimal) -> BigDecimal {
    let (left, left_scale) = left.as_bigint_and_exponent();
    let (right, right_scale) = right.as_bigint_and_exponent();
    BigDecimal::new(left * right, left_scale + right_scale)
}

/// The sum, with the larger scale, also when one of the two is 0.
pub(crate) fn add(left: &BigDecimal, right: &BigDecimal) -> BigDecimal {
    let scale = left.fractional_digit_count().max(right.fractional_digit_count());
    let (left, _) = left.with_scale(scale).into_bigint_and_exponent();
    let (right, _) = right.with_scale(scale).into_bigint_and_exponent();
    BigDecimal::new(left + right, scale)
}

/// The quotient with the scale that PostgreSQL gives it.
pub(crate) fn divide(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal, SqlError> {
    if right.is_zero() {
        return Err(division_by_zero());
    }
    Ok(quotient(left, right, quotient_scale(left, right)))
}

/// The quotient rounded to a scale, exactly.
pub(crate) fn quotient(left: &BigDecimal, right: &BigDecimal, scale: i64) -> BigDecimal {
    let (above, above_scale) = left.as_bigint_and_exponent();
    let (below, below_scale) = right.as_bigint_and_exponent();
    // above·10^-a / below·10^-b, times 10^scale, as one whole division.
    let shift = scale - above_scale + below_scale;
    let power = BigInt::from(10).pow(shift.unsigned_abs() as u32);
    let (above, below) = if shift >= 0 { (above * power, below) } else { (above, below * power) };
    let negative = (above.sign() == Sign::Minus) != (below.sign() == Sign::Minus);
    let (above, below) = (above.abs(), below.abs());
    let doubled: BigInt = (above * 2 + &below) / (below * 2);
    BigDecimal::new(if negative { -doubled } else { doubled }, scale)
}

/// PostgreSQL counts digits in groups of four, from the point; its rule is stated in these groups.
fn quotient_scale(left: &BigDecimal, right: &BigDecimal) -> i64 {
    let (left_weight, left_first) = leading_group(left);
    let (right_weight, right_first) = leading_group(right);
    let mut weight = left_weight - right_weight;
    if left_first <= right_first {
        weight -= 1;
    }
    let scale = 16 - weight * 4;
    let scales = left.fractional_digit_count().max(right.fractional_digit_count());
    scale.max(scales).clamp(0, 1000)
}

/// The place of the first group of four digits that is not zero (0: the one before the point) and its value.
pub(crate) fn leading_group(value: &BigDecimal) -> (i64, i64) {
    if value.is_zero() {
        return (0, 0);
    }
    let (digits, scale) = value.as_bigint_and_exponent();
    let text = digits.magnitude().to_string();
    let first_place = text.len() as i64 - scale - 1;
    let weight = first_place.div_euclid(4);
    let taken = (first_place.rem_euclid(4) + 1) as usize;
    let head: String = text.chars().chain(std::iter::repeat('0')).take(taken).collect();
    (weight, head.parse().unwrap_or(0))
}

/// Refuses a decimal that NUMERIC could not hold.
pub(crate) fn checked_decimal(value: BigDecimal) -> Result<BigDecimal, SqlError> {
    let whole = value.digits() as i64 - value.fractional_digit_count();
    if whole > MOST_WHOLE_DIGITS {
        return Err(overflow());
    }
    if value.fractional_digit_count() > MOST_SCALE { Ok(round_decimal(&value, MOST_SCALE)) } else { Ok(value) }
}

/// A whole decimal, rounded halves away from zero, as an integer.
pub fn integer_of_decimal(value: &BigDecimal) -> Option<i128> {
    round_decimal(value, 0).to_i128()
}

/// A float as an integer, halves to even as PostgreSQL rounds them.
pub fn integer_of_real(value: f64) -> Option<i128> {
    value.is_finite().then(|| value.round_ties_even()).filter(|whole| whole.abs() < 1e30).map(|whole| whole as i128)
}

/// The shortest text that reads back as the same float, as PostgreSQL prints it.
pub(crate) fn print_real(value: f64, single: bool) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let scientific = if single { format!("{:e}", value as f32) } else { format!("{value:e}") };
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..if single { 6 } else { 15 }).contains(&exponent) {
        return if single { format!("{}", value as f32) } else { format!("{value}") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}
