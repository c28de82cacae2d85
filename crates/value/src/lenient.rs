//! What MySQL makes of text where it wants a number or a time.
//!
//! ```text
//!   '12abc' + 0     12        '1:2' as TIME     01:02:00
//!   'abc' + 0       0         '101112'          10:11:12
//! ```
//!
//! Only conversions that nobody wrote are forgiving; storing into a column is strict, as in MySQL's default mode.

use crate::number;
use crate::temporal::{self, SECOND};
use bigdecimal::BigDecimal;

/// The number that a text starts with; none is 0.
pub(crate) fn leading_decimal(text: &str) -> BigDecimal {
    let text = text.trim_start();
    let mut end = 0;
    let mut seen_point = false;
    for (place, letter) in text.char_indices() {
        match letter {
            '+' | '-' if place == 0 => {}
            '.' if !seen_point => seen_point = true,
            '0'..='9' => end = place + 1,
            'e' | 'E' if end > 0 => {
                end = exponent_end(text, place).unwrap_or(end);
                break;
            }
            _ => break,
        }
    }
    number::parse_decimal(&text[..end]).unwrap_or_default()
}

fn exponent_end(text: &str, place: usize) -> Option<usize> {
    let rest = &text[place + 1..];
    let sign = usize::from(rest.starts_with(['+', '-']));
    let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0 && digits < 4).then_some(place + 1 + sign + digits)
}

/// The whole number that a text starts with; none is 0. CAST('2.9' AS SIGNED) reads the digits and stops at the point.
pub(crate) fn leading_integer(text: &str) -> i128 {
    let text = text.trim_start();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = digits.bytes().take_while(u8::is_ascii_digit).count();
    let size = if end == 0 { 0 } else { digits[..end].parse().unwrap_or(i128::MAX) };
    if text.starts_with('-') { -size } else { size }
}

/// The float that a text starts with.
pub(crate) fn leading_real(text: &str) -> f64 {
    number::real_of_decimal(&leading_decimal(text))
}

/// MySQL's TIME: negative, longer than a day, with days before it, or a bare number of hours, minutes and seconds.
pub(crate) fn mysql_time(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (days, clock) = match text.split_once(' ') {
        Some((days, clock)) => (temporal::number_of(days)?, clock),
        None => (0, text),
    };
    let time = if clock.contains(':') { colon_time(clock)? } else { bare_time(clock)? };
    let total = days.checked_mul(temporal::DAY)?.checked_add(time)?;
    (total < 839 * 3600 * SECOND).then_some(sign * total)
}

fn colon_time(clock: &str) -> Option<i64> {
    let mut fields = clock.splitn(3, ':');
    let hours = fields.next().and_then(temporal::number_of)?;
    let minutes = fields.next().and_then(temporal::number_of)?;
    let micros = fields.next().map_or(Some(0), temporal::parse_seconds)?;
    (hours < 1000 && minutes < 60 && micros < 60 * SECOND).then_some((hours * 3600 + minutes * 60) * SECOND + micros)
}

fn bare_time(clock: &str) -> Option<i64> {
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let number = temporal::number_of(whole)?;
    let (hours, minutes, seconds) = (number / 10_000, number / 100 % 100, number % 100);
    let fraction = temporal::parse_seconds(&format!("0.{fraction}"))?;
    let sound = number < 10_000_000 && minutes < 60 && seconds < 60;
    sound.then_some((hours * 3600 + minutes * 60 + seconds) * SECOND + fraction)
}

/// MySQL's text of a float: plain up to 15 digits, else with an exponent that has no plus and no leading zero.
pub(crate) fn print_real(value: f64, single: bool) -> String {
    let text = number::print_real(value, single);
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let sign = if exponent.starts_with('-') { "-" } else { "" };
            format!("{mantissa}e{sign}{}", exponent.trim_start_matches(['+', '-', '0']))
        }
        None => text,
    }
}
