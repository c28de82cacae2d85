//! Casts: what a value becomes when its type changes.
//!
//! ```text
//!   2.5 → integer                3           halves away from zero; of a float, to even
//!   'abcdef' → varchar(3)        refused when stored, 'abc' when CAST is written, untouched between operator and operand
//!   'ab' → char(5)               kept as 'ab', printed as 'ab   ': blanks at the end of a CHAR mean nothing
//! ```
//!
//! Whether a cast may be made is asked in [`crate::coerce`]; here it is made.

use crate::Dialect;
use crate::json::Json;
use crate::types::SqlType;
use crate::zone::Style;
use crate::{Datum, Interval, lenient, number, temporal, text};
use crate::{SqlError, SqlState};
use bigdecimal::{BigDecimal, Signed, Zero};

/// Why a value is cast, which decides what may be lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CastKind {
    /// By the binder, between arguments and parameters: bounds of the target are not applied.
    Implicit,
    /// Into a column: what does not fit is refused.
    Assignment,
    /// CAST(… AS …): text is cut.
    Explicit,
}

/// Casts a value; NULL stays NULL.
pub fn cast(
    datum: &Datum,
    from: &SqlType,
    to: &SqlType,
    kind: CastKind,
    style: impl Into<Style>,
) -> Result<Datum, SqlError> {
    if datum.is_null() || *to == SqlType::Unknown {
        return Ok(datum.clone());
    }
    Cast { from, to, kind, style: style.into() }.apply(datum)
}

struct Cast<'types> {
    from: &'types SqlType,
    to: &'types SqlType,
    kind: CastKind,
    style: Style,
}

impl Cast<'_> {
    fn apply(&self, datum: &Datum) -> Result<Datum, SqlError> {
        match self.to {
            SqlType::Integer { .. } => self.integer(datum),
            SqlType::ObjectId | SqlType::Registered(_) => self.object_id(datum),
            SqlType::Single | SqlType::Double => self.real(datum),
            SqlType::Decimal(bounds) => self.decimal(datum, *bounds),
            SqlType::Text(length) => self.text(datum, *length, false),
            SqlType::Name => self.text(datum, Some(63), false),
            SqlType::Letter => self.text(datum, Some(1), false),
            SqlType::Character(length) => self.text(datum, Some(*length), true),
            SqlType::Boolean => self.boolean(datum),
            SqlType::Date => self.date(datum),
            SqlType::Time(digits) => self.time(datum, *digits),
            SqlType::Timestamp(digits) => self.timestamp(datum, *digits, Datum::Timestamp),
            SqlType::TimestampZoned(digits) => self.timestamp(datum, *digits, Datum::TimestampZoned),
            SqlType::Array(element) | SqlType::Vector(element) => self.array(datum, element),
            SqlType::Json | SqlType::JsonBinary => self.json(datum),
            _ => self.other(datum),
        }
    }

    /// Bounds are not applied between operators and operands.
    fn digits(&self, digits: Option<u8>) -> Option<u8> {
        if self.kind == CastKind::Implicit { None } else { digits }
    }

    fn is_mysql(&self) -> bool {
        self.style.dialect == Dialect::MySql
    }

    /// MySQL forgives where nothing is stored.
    fn is_lenient(&self) -> bool {
        self.is_mysql() && self.kind != CastKind::Assignment
    }

    fn impossible(&self) -> SqlError {
        SqlError::new(SqlState::CANNOT_COERCE, format!("cannot cast type {} to {}", self.from, self.to))
    }

    fn other(&self, datum: &Datum) -> Result<Datum, SqlError> {
        match (datum, self.to) {
            (Datum::Text(text), SqlType::Bytes) if self.is_mysql() => Ok(Datum::Bytes(text.as_bytes().into())),
            (Datum::Bytes(_), SqlType::Bytes)
            | (Datum::Interval(_), SqlType::Interval)
            | (Datum::Uuid(_), SqlType::Uuid)
            | (Datum::Text(_), SqlType::Enumeration(_)) => Ok(datum.clone()),
            (Datum::Time(time), SqlType::Interval) => {
                Ok(Datum::Interval(Interval { microseconds: *time, ..Interval::default() }))
            }
            (Datum::Text(text), _) => text::input(text, self.to, self.style),
            (_, SqlType::Bytes) if self.is_mysql() => {
                Ok(Datum::Bytes(text::output(datum, self.from, self.style).as_bytes().into()))
            }
            _ => Err(self.impossible()),
        }
    }

    /// The exact number that stands in a value, where one does.
    fn number(&self, datum: &Datum) -> Result<Option<BigDecimal>, SqlError> {
        Ok(Some(match datum {
            Datum::Decimal(value) => value.clone(),
            Datum::Integer(value) => BigDecimal::from(*value),
            Datum::Boolean(value) => BigDecimal::from(u8::from(*value)),
            Datum::Text(text) if self.is_lenient() => lenient::leading_decimal(text),
            Datum::Bytes(bytes) if self.is_mysql() => lenient::leading_decimal(&String::from_utf8_lossy(bytes)),
            Datum::Json(text) => match Json::parse(text)? {
                Json::Number(value) => value,
                Json::String(text) if self.is_mysql() => lenient::leading_decimal(&text),
                Json::Boolean(value) if self.is_mysql() => BigDecimal::from(u8::from(value)),
                other => {
                    let message = format!("cannot cast jsonb {} to type {}", other.kind(), self.to);
                    return Err(SqlError::new(SqlState::INVALID_PARAMETER, message));
                }
            },
            _ if self.is_mysql() => match text::output(datum, self.from, self.style) {
                text if text.contains(['-', ':']) => {
                    let digits: String =
                        text.chars().filter(|letter| letter.is_ascii_digit() || *letter == '.').collect();
                    lenient::leading_decimal(&digits)
                }
                text => lenient::leading_decimal(&text),
            },
            _ => return Ok(None),
        }))
    }

    fn integer(&self, datum: &Datum) -> Result<Datum, SqlError> {
        let value = match datum {
            Datum::Integer(value) => Some(*value),
            Datum::Real(value) if self.is_mysql() => number::integer_of_real(value.round()),
            Datum::Real(value) => number::integer_of_real(*value),
            Datum::Text(text) if !self.is_lenient() => match text::input(text, self.to, self.style) {
                Err(error) if self.is_mysql() && error.state == SqlState::INVALID_TEXT => {
                    number::integer_of_decimal(&self.strict_decimal(text)?)
                }
                read => return read,
            },
            Datum::Text(text) if self.kind == CastKind::Explicit => {
                let greatest = if matches!(self.to, SqlType::Integer { unsigned: true, .. }) {
                    u64::MAX.into()
                } else {
                    i64::MAX.into()
                };
                Some(lenient::leading_integer(text).clamp(i64::MIN.into(), greatest))
            }
            other => number::integer_of_decimal(&self.number(other)?.ok_or_else(|| self.impossible())?),
        };
        self.in_range(value)
    }

    fn strict_decimal(&self, text: &str) -> Result<BigDecimal, SqlError> {
        number::parse_decimal(text.trim())
            .map_err(|_| SqlError::new(SqlState::INVALID_TEXT, format!("incorrect {} value: '{text}'", self.to)))
    }

    fn in_range(&self, value: Option<i128>) -> Result<Datum, SqlError> {
        let SqlType::Integer { width, unsigned } = self.to else { return Err(self.impossible()) };
        match value {
            Some(value) if width.range(*unsigned).contains(&value) => Ok(Datum::Integer(value)),
            Some(value) if self.is_lenient() && self.kind == CastKind::Explicit => {
                // CAST(-1 AS UNSIGNED) is the same 64 bits.
                Ok(Datum::Integer(if *unsigned { i128::from(value as u64) } else { i128::from(value as i64) }))
            }
            Some(value) if self.is_lenient() => Ok(Datum::Integer(value)),
            _ => Err(number::out_of_range(&self.to.to_string())),
        }
    }

    fn object_id(&self, datum: &Datum) -> Result<Datum, SqlError> {
        match datum {
            Datum::Integer(value) if (0..1 << 32).contains(value) => Ok(datum.clone()),
            Datum::Integer(_) => Err(number::out_of_range("OID")),
            Datum::Text(text) => text::input(text, self.to, self.style),
            _ => Err(self.impossible()),
        }
    }

    fn real(&self, datum: &Datum) -> Result<Datum, SqlError> {
        let value = match datum {
            Datum::Real(value) => *value,
            Datum::Integer(value) => *value as f64,
            Datum::Text(text) if self.is_lenient() => lenient::leading_real(text),
            Datum::Text(text) => return text::input(text, self.to, self.style),
            Datum::Boolean(_) if !self.is_mysql() => return Err(self.impossible()),
            other => number::real_of_decimal(&self.number(other)?.ok_or_else(|| self.impossible())?),
        };
        let rounded = if *self.to == SqlType::Single { f64::from(value as f32) } else { value };
        let was_infinite = matches!(datum, Datum::Real(value) if value.is_infinite());
        if rounded.is_infinite() && !was_infinite || !self.is_mysql() && rounded == 0.0 && !self.is_zero(datum)? {
            return Err(number::out_of_range(&self.to.to_string()));
        }
        Ok(Datum::Real(rounded))
    }

    /// Whether a number is zero: one that only becomes zero as a float is refused.
    fn is_zero(&self, datum: &Datum) -> Result<bool, SqlError> {
        match datum {
            Datum::Real(value) => Ok(*value == 0.0),
            other => Ok(self.number(other)?.is_none_or(|value| value.is_zero())),
        }
    }

    fn decimal(&self, datum: &Datum, bounds: Option<(u32, i32)>) -> Result<Datum, SqlError> {
        let value = match datum {
            Datum::Real(value) => number::decimal_of_real(*value, *self.from == SqlType::Single)?,
            Datum::Text(text) if !self.is_lenient() => match text::input(text, self.to, self.style)? {
                Datum::Decimal(value) => value,
                _ => return Err(self.impossible()),
            },
            Datum::Boolean(_) if !self.is_mysql() => return Err(self.impossible()),
            other => self.number(other)?.ok_or_else(|| self.impossible())?,
        };
        match bounds {
            Some((precision, scale)) if self.kind != CastKind::Implicit => {
                bounded(&value, precision, scale, self.is_lenient()).map(Datum::Decimal)
            }
            _ => number::checked_decimal(value).map(Datum::Decimal),
        }
    }

    fn text(&self, datum: &Datum, length: Option<u32>, blank_padded: bool) -> Result<Datum, SqlError> {
        let text = match (datum, self.is_mysql()) {
            (Datum::Text(text), _) => text.clone(),
            // A cast spells the word where output prints one letter.
            (Datum::Boolean(value), false) => if *value { "true" } else { "false" }.into(),
            _ => text::output(datum, self.from, self.style).into(),
        };
        let text = if blank_padded { text.trim_end_matches(' ').into() } else { text };
        let Some(length) = length.filter(|_| self.kind != CastKind::Implicit) else { return Ok(Datum::Text(text)) };
        let Some((end, _)) = text.char_indices().nth(length as usize) else { return Ok(Datum::Text(text)) };
        let is_strict = self.kind == CastKind::Assignment && !matches!(self.to, SqlType::Name | SqlType::Letter);
        // Blanks beyond the length are dropped in silence, as the standard wants.
        if is_strict && !text[end..].bytes().all(|byte| byte == b' ') {
            let message = format!("value too long for type {}", self.to);
            return Err(SqlError::new(SqlState::TEXT_TOO_LONG, message));
        }
        let cut = if blank_padded { text[..end].trim_end_matches(' ') } else { &text[..end] };
        Ok(Datum::text(cut))
    }

    fn boolean(&self, datum: &Datum) -> Result<Datum, SqlError> {
        match datum {
            Datum::Boolean(_) => Ok(datum.clone()),
            Datum::Integer(value) => Ok(Datum::Boolean(*value != 0)),
            Datum::Real(value) if self.is_mysql() => Ok(Datum::Boolean(*value != 0.0)),
            Datum::Text(text) if !self.is_mysql() => text::input(text, self.to, self.style),
            Datum::Json(text) if !self.is_mysql() => match Json::parse(text)? {
                Json::Boolean(value) => Ok(Datum::Boolean(value)),
                other => {
                    let message = format!("cannot cast jsonb {} to type boolean", other.kind());
                    Err(SqlError::new(SqlState::INVALID_PARAMETER, message))
                }
            },
            other if self.is_mysql() => {
                let value = self.number(other)?.ok_or_else(|| self.impossible())?;
                Ok(Datum::Boolean(!value.is_zero()))
            }
            _ => Err(self.impossible()),
        }
    }

    fn date(&self, datum: &Datum) -> Result<Datum, SqlError> {
        match datum {
            Datum::Date(_) => Ok(datum.clone()),
            Datum::Timestamp(time) => temporal::day_of(*time).map(Datum::Date),
            Datum::TimestampZoned(time) => temporal::day_of(self.style.zone.local(*time)).map(Datum::Date),
            Datum::Text(text) => self.lenient_moment(text),
            _ => Err(self.impossible()),
        }
    }

    /// MySQL makes NULL of what is no date, unless it is stored.
    fn lenient_moment(&self, text: &str) -> Result<Datum, SqlError> {
        match text::input(text, self.to, self.style) {
            Err(_) if self.is_lenient() => Ok(Datum::Null),
            read => read,
        }
    }

    fn time(&self, datum: &Datum, digits: Option<u8>) -> Result<Datum, SqlError> {
        let time = match datum {
            Datum::Time(time) => *time,
            Datum::Timestamp(time) | Datum::TimestampZoned(time) if temporal::is_infinite(*time) => {
                return Ok(Datum::Null);
            }
            Datum::Timestamp(time) => time.rem_euclid(temporal::DAY),
            Datum::TimestampZoned(time) => self.style.zone.local(*time).rem_euclid(temporal::DAY),
            Datum::Interval(interval) => interval.microseconds.rem_euclid(temporal::DAY),
            Datum::Date(_) if self.is_mysql() => 0,
            Datum::Text(text) => return self.lenient_moment(text),
            _ => return Err(self.impossible()),
        };
        Ok(Datum::Time(temporal::round_time(time, self.digits(digits))))
    }

    fn timestamp(&self, datum: &Datum, digits: Option<u8>, made: fn(i64) -> Datum) -> Result<Datum, SqlError> {
        let zone = self.style.zone;
        let time = match datum {
            Datum::Timestamp(time) => *time,
            Datum::TimestampZoned(time) => match self.to {
                // A moment is a moment in every zone.
                SqlType::TimestampZoned(_) => return Ok(self.rounded(*time, digits, made)),
                _ => zone.local(*time),
            },
            Datum::Date(temporal::INFINITE_DATE) => temporal::INFINITE,
            Datum::Date(i32::MIN) => i64::MIN,
            Datum::Date(days) => temporal::checked_timestamp(i128::from(*days) * i128::from(temporal::DAY))?,
            Datum::Text(text) => return self.lenient_moment(text),
            _ => return Err(self.impossible()),
        };
        let is_moment = matches!(self.to, SqlType::TimestampZoned(_));
        Ok(self.rounded(if is_moment { zone.moment(time)? } else { time }, digits, made))
    }

    fn rounded(&self, time: i64, digits: Option<u8>, made: fn(i64) -> Datum) -> Datum {
        made(temporal::round_timestamp(time, self.digits(digits), self.style.dialect))
    }

    fn array(&self, datum: &Datum, element: &SqlType) -> Result<Datum, SqlError> {
        match (datum, self.from) {
            (Datum::Array(elements), SqlType::Array(from) | SqlType::Vector(from)) => {
                let cast_one = |one: &Datum| cast(one, from, element, self.kind, self.style);
                Ok(Datum::Array(elements.iter().map(cast_one).collect::<Result<_, _>>()?))
            }
            (Datum::Array(_), _) => Ok(datum.clone()),
            (Datum::Text(text), _) if matches!(self.to, SqlType::Vector(_)) => text::input(text, self.to, self.style),
            (Datum::Text(text), _) => {
                let read = text::input(text, &SqlType::Array(Box::new(element.unbounded())), self.style)?;
                let from = SqlType::Array(Box::new(element.unbounded()));
                cast(&read, &from, self.to, self.kind, self.style)
            }
            _ => Err(self.impossible()),
        }
    }

    fn json(&self, datum: &Datum) -> Result<Datum, SqlError> {
        match datum {
            Datum::Json(text) | Datum::Text(text) => text::input(text, self.to, self.style),
            Datum::Integer(_) | Datum::Decimal(_) | Datum::Real(_) if self.is_mysql() => {
                Ok(Datum::Json(text::output(datum, self.from, self.style).into()))
            }
            Datum::Boolean(value) if self.is_mysql() => Ok(Datum::Json(if *value { "true" } else { "false" }.into())),
            _ => Err(self.impossible()),
        }
    }
}

/// A decimal in its precision and scale; MySQL's CAST gives the greatest number where the value is too large.
fn bounded(value: &BigDecimal, precision: u32, scale: i32, saturating: bool) -> Result<BigDecimal, SqlError> {
    let rounded = number::round_decimal(value, scale.into());
    let limit = BigDecimal::new(1.into(), -(i64::from(precision) - i64::from(scale)));
    if rounded.abs() < limit {
        return Ok(rounded);
    }
    if saturating {
        let greatest = limit - BigDecimal::new(1.into(), scale.into());
        return Ok(if rounded.is_negative() { -greatest } else { greatest });
    }
    Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, "numeric field overflow").with_hint(format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less than 10^{}.",
        i64::from(precision) - i64::from(scale)
    )))
}
