//! Values as text: what a client sends and sees.
//!
//! ```text
//!            PostgreSQL                       MySQL
//!   boolean  t                                1
//!   arrays   {a,"b c",NULL}
//!   bytea    \x616263                         abc
//!   jsonb    {"a": [1, 2]}                    the same
//! ```
//!
//! MySQL forgives what PostgreSQL refuses; that is in `lenient`, for casts that nobody wrote.

use crate::Dialect;
use crate::json::Json;
use crate::types::{IntegerWidth, SqlType};
use crate::zone::{Style, Zone, print_offset};
use crate::{Datum, Interval, number, temporal};
use crate::{SqlError, SqlState};

/// The text is no value of the type.
pub(crate) fn invalid(text: &str, sql_type: &SqlType) -> SqlError {
    let name = match sql_type {
        SqlType::Decimal(_) => "numeric".to_owned(),
        other => other.to_string(),
    };
    SqlError::new(SqlState::INVALID_TEXT, format!("invalid input syntax for type {name}: \"{text}\""))
}

/// Reads a value of a type. Lengths and scales are not applied: a cast does that.
pub fn input(text: &str, sql_type: &SqlType, style: impl Into<Style>) -> Result<Datum, SqlError> {
    read(text, sql_type, style.into())
}

fn read(text: &str, sql_type: &SqlType, style: Style) -> Result<Datum, SqlError> {
    let trimmed = text.trim();
    match sql_type {
        SqlType::Unknown | SqlType::Text(_) | SqlType::Enumeration(_) | SqlType::Void => Ok(Datum::text(text)),
        SqlType::Name => Ok(Datum::text(cut(text, 63))),
        SqlType::Letter => Ok(Datum::text(cut(text, 1))),
        SqlType::Character(_) => Ok(Datum::text(text.trim_end_matches(' '))),
        SqlType::Boolean => boolean(trimmed).map(Datum::Boolean).ok_or_else(|| invalid(text, sql_type)),
        SqlType::Integer { width, unsigned } => integer(trimmed, text, sql_type, *width, *unsigned),
        SqlType::ObjectId | SqlType::Registered(_) => {
            trimmed.parse::<u32>().map(|id| Datum::Integer(id.into())).map_err(|_| invalid(text, sql_type))
        }
        SqlType::Single | SqlType::Double => real(trimmed, text, sql_type),
        SqlType::Decimal(_) => decimal(trimmed, text, sql_type),
        SqlType::Bytes => bytes(text, style.dialect),
        SqlType::Date | SqlType::Time(_) | SqlType::Timestamp(_) | SqlType::TimestampZoned(_) => {
            moment(text, sql_type, style)
        }
        SqlType::Interval => Interval::parse(text).map(Datum::Interval),
        SqlType::Json if style.dialect == Dialect::Postgres => Json::parse(text).map(|_| Datum::Json(text.into())),
        SqlType::Json | SqlType::JsonBinary => Json::parse(text).map(|document| Datum::Json(document.print().into())),
        SqlType::Uuid => uuid(trimmed).map(Datum::Uuid).ok_or_else(|| invalid(text, sql_type)),
        SqlType::Record(_) => Err(SqlError::unsupported("a row value written as text")),
        SqlType::Array(element) => array(text, element, style),
        SqlType::Vector(element) => {
            let elements = trimmed.split_whitespace().map(|word| read(word, element, style));
            elements.collect::<Result<_, _>>().map(Datum::Array)
        }
    }
}

/// The first letters of a text.
fn cut(text: &str, length: usize) -> &str {
    text.char_indices().nth(length).map_or(text, |(end, _)| &text[..end])
}

fn boolean(text: &str) -> Option<bool> {
    let lower = text.to_ascii_lowercase();
    let is_prefix = |word: &str, least: usize| lower.len() >= least && word.starts_with(&lower);
    if is_prefix("true", 1) || is_prefix("yes", 1) || lower == "on" || lower == "1" {
        Some(true)
    } else if is_prefix("false", 1) || is_prefix("no", 1) || is_prefix("off", 2) || lower == "0" {
        Some(false)
    } else {
        None
    }
}

fn integer(
    trimmed: &str,
    text: &str,
    sql_type: &SqlType,
    width: IntegerWidth,
    unsigned: bool,
) -> Result<Datum, SqlError> {
    let digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid(text, sql_type));
    }
    let range = || {
        let message = format!("value \"{text}\" is out of range for type {sql_type}");
        SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, message)
    };
    let value: i128 = trimmed.parse().map_err(|_| range())?;
    if width.range(unsigned).contains(&value) { Ok(Datum::Integer(value)) } else { Err(range()) }
}

impl IntegerWidth {
    /// The values of an integer of this width.
    pub(crate) fn range(self, unsigned: bool) -> std::ops::RangeInclusive<i128> {
        let bits = match self {
            IntegerWidth::Tiny => 8,
            IntegerWidth::Small => 16,
            IntegerWidth::Medium => 24,
            IntegerWidth::Normal => 32,
            IntegerWidth::Big => 64,
        };
        if unsigned { 0..=(1i128 << bits) - 1 } else { -(1i128 << (bits - 1))..=(1i128 << (bits - 1)) - 1 }
    }
}

fn real(trimmed: &str, text: &str, sql_type: &SqlType) -> Result<Datum, SqlError> {
    let lower = trimmed.to_ascii_lowercase();
    let special = match lower.strip_prefix(['-', '+']).unwrap_or(&lower) {
        "inf" | "infinity" => Some(f64::INFINITY),
        "nan" => Some(f64::NAN),
        _ => None,
    };
    if let Some(value) = special {
        return Ok(Datum::Real(if lower.starts_with('-') { -value } else { value }));
    }
    let value: f64 = trimmed.parse().map_err(|_| invalid(text, sql_type))?;
    let rounded = if *sql_type == SqlType::Single { f64::from(value as f32) } else { value };
    let mantissa = lower.split('e').next().unwrap_or_default();
    let vanished = rounded == 0.0 && mantissa.contains(|letter: char| matches!(letter, '1'..='9'));
    if rounded.is_infinite() || vanished {
        let message = format!("\"{trimmed}\" is out of range for type {sql_type}");
        return Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, message));
    }
    Ok(Datum::Real(rounded))
}

fn decimal(trimmed: &str, text: &str, sql_type: &SqlType) -> Result<Datum, SqlError> {
    let lower = trimmed.to_ascii_lowercase();
    if matches!(lower.trim_start_matches(['-', '+']), "nan" | "inf" | "infinity") {
        return Err(SqlError::unsupported("a NUMERIC that is not a finite number"));
    }
    number::parse_decimal(trimmed).map(Datum::Decimal).map_err(|error| match error.state {
        SqlState::INVALID_TEXT => invalid(text, sql_type),
        _ => error,
    })
}

fn bytes(text: &str, dialect: Dialect) -> Result<Datum, SqlError> {
    if dialect == Dialect::MySql {
        return Ok(Datum::Bytes(text.as_bytes().into()));
    }
    let read = match text.strip_prefix("\\x") {
        Some(digits) => from_hex(digits),
        None => from_escapes(text.as_bytes()),
    };
    read.map(|bytes| Datum::Bytes(bytes.into())).ok_or_else(|| match text.starts_with("\\x") {
        true => SqlError::new(SqlState::INVALID_PARAMETER, "invalid hexadecimal data"),
        false => invalid(text, &SqlType::Bytes),
    })
}

/// Bytes of pairs of hexadecimal digits; blanks may stand between the pairs.
pub(crate) fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let value = |byte: u8| (byte as char).to_digit(16);
    digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some((value(*high)? * 16 + value(*low)?) as u8),
            _ => None,
        })
        .collect()
}

fn from_escapes(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut place = 0;
    while let Some(byte) = text.get(place) {
        match (byte, text.get(place + 1)) {
            (b'\\', Some(b'\\')) => place += 1,
            (b'\\', _) => {
                let digits = std::str::from_utf8(text.get(place + 1..place + 4)?).ok()?;
                bytes.push(u8::from_str_radix(digits, 8).ok()?);
                place += 4;
                continue;
            }
            _ => {}
        }
        bytes.push(*byte);
        place += 1;
    }
    Some(bytes)
}

/// Pairs of hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn uuid(text: &str) -> Option<u128> {
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
    let digits: String = inner.chars().filter(|letter| *letter != '-').collect();
    let groups_are_sound = inner.len() == 32 || inner.len() >= 36;
    if digits.len() != 32
        || !groups_are_sound
        || inner.starts_with('-')
        || !digits.bytes().all(|b| b.is_ascii_hexdigit())
    {
        return None;
    }
    u128::from_str_radix(&digits, 16).ok()
}

fn moment(text: &str, sql_type: &SqlType, style: Style) -> Result<Datum, SqlError> {
    let dialect = style.dialect;
    if let (SqlType::Time(digits), Dialect::MySql) = (sql_type, dialect)
        && let Some(time) = crate::lenient::mysql_time(text)
    {
        return Ok(Datum::Time(temporal::round_time(time, *digits)));
    }
    let invalid = || {
        let name = sql_type.to_string();
        SqlError::new(SqlState::INVALID_DATETIME, format!("invalid input syntax for type {name}: \"{text}\""))
    };
    let parts = temporal::parse(text, &sql_type.to_string())?;
    if let SqlType::Time(digits) = sql_type {
        return parts.time.map(|time| Datum::Time(temporal::round_time(time, *digits))).ok_or_else(invalid);
    }
    if parts.infinite != 0 {
        return Ok(infinite(parts.infinite > 0, sql_type));
    }
    let days = parts.date.ok_or_else(invalid)?;
    let micros = i128::from(days) * i128::from(temporal::DAY) + i128::from(parts.time.unwrap_or(0));
    Ok(match sql_type {
        SqlType::Date => Datum::Date(temporal::checked_date(days)?),
        SqlType::Timestamp(digits) => {
            Datum::Timestamp(temporal::round_timestamp(temporal::checked_timestamp(micros)?, *digits, dialect))
        }
        SqlType::TimestampZoned(digits) => {
            let moment = match parts.offset {
                Some(offset) => temporal::checked_timestamp(micros - i128::from(offset))?,
                None => style.zone.moment(temporal::checked_timestamp(micros)?)?,
            };
            Datum::TimestampZoned(temporal::round_timestamp(moment, *digits, dialect))
        }
        _ => return Err(invalid()),
    })
}

fn infinite(future: bool, sql_type: &SqlType) -> Datum {
    let time = if future { temporal::INFINITE } else { i64::MIN };
    match sql_type {
        SqlType::Date => Datum::Date(if future { temporal::INFINITE_DATE } else { i32::MIN }),
        SqlType::Timestamp(_) => Datum::Timestamp(time),
        _ => Datum::TimestampZoned(time),
    }
}

/// Prints a value of a type; NULL prints as nothing.
pub fn output(datum: &Datum, sql_type: &SqlType, style: impl Into<Style>) -> String {
    print(datum, sql_type, style.into())
}

fn print(datum: &Datum, sql_type: &SqlType, style: Style) -> String {
    let mysql = style.dialect == Dialect::MySql;
    let digits = match sql_type {
        SqlType::Time(digits) | SqlType::Timestamp(digits) | SqlType::TimestampZoned(digits) if mysql => *digits,
        _ => None,
    };
    match datum {
        Datum::Null => String::new(),
        Datum::Boolean(value) if mysql => u8::from(*value).to_string(),
        Datum::Boolean(value) => if *value { "t" } else { "f" }.to_owned(),
        Datum::Integer(value) => value.to_string(),
        Datum::Real(value) if mysql => crate::lenient::print_real(*value, *sql_type == SqlType::Single),
        Datum::Real(value) => number::print_real(*value, *sql_type == SqlType::Single),
        Datum::Decimal(value) => number::print_decimal(value),
        Datum::Text(text) => match sql_type {
            SqlType::Character(length) if !mysql => format!("{text:<width$}", width = *length as usize),
            _ => text.to_string(),
        },
        Datum::Bytes(bytes) if mysql => String::from_utf8_lossy(bytes).into_owned(),
        Datum::Bytes(bytes) => format!("\\x{}", to_hex(bytes)),
        Datum::Date(days) => temporal::print_date(*days),
        Datum::Time(time) => temporal::print_time(*time, digits),
        Datum::Timestamp(time) => temporal::print_timestamp(*time, digits, ""),
        Datum::TimestampZoned(time) if mysql => temporal::print_timestamp(*time, digits, ""),
        Datum::TimestampZoned(time) if style.zone == Zone::Utc => temporal::print_timestamp(*time, digits, "+00"),
        Datum::TimestampZoned(time) => {
            let offset = print_offset(style.zone.east(*time));
            temporal::print_timestamp(style.zone.local(*time), digits, &offset)
        }
        Datum::Interval(interval) => interval.print(),
        Datum::Json(text) => text.to_string(),
        Datum::Uuid(value) => print_uuid(*value),
        Datum::Array(elements) => print_array(elements, sql_type, style),
    }
}

fn print_uuid(value: u128) -> String {
    let digits = format!("{value:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// `(1,"a b",)`: NULL is nothing at all.
fn print_record(values: &[Datum], fields: &[(String, SqlType)], style: Style) -> String {
    let special = |letter: char| matches!(letter, '(' | ')' | ',' | '"' | '\\') || letter.is_ascii_whitespace();
    let field = |(value, (_, sql_type)): (&Datum, &(String, SqlType))| match print(value, sql_type, style) {
        _ if value.is_null() => String::new(),
        text if !text.is_empty() && !text.contains(special) => text,
        text => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\"\"")),
    };
    format!("({})", values.iter().zip(fields).map(field).collect::<Vec<String>>().join(","))
}

fn print_array(elements: &[Datum], sql_type: &SqlType, style: Style) -> String {
    let element_type = match sql_type {
        SqlType::Record(fields) => return print_record(elements, fields, style),
        SqlType::Array(element) | SqlType::Vector(element) => element,
        other => other,
    };
    let quoted = |element: &Datum| match element {
        Datum::Null => "NULL".to_owned(),
        other => quote_element(print(other, element_type, style)),
    };
    if matches!(sql_type, SqlType::Vector(_)) {
        return elements.iter().map(|one| print(one, element_type, style)).collect::<Vec<_>>().join(" ");
    }
    format!("{{{}}}", elements.iter().map(quoted).collect::<Vec<_>>().join(","))
}

fn quote_element(text: String) -> String {
    let special = |letter: char| matches!(letter, '{' | '}' | ',' | '"' | '\\') || letter.is_ascii_whitespace();
    if !text.is_empty() && !text.contains(special) && !text.eq_ignore_ascii_case("null") {
        return text;
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn array(text: &str, element: &SqlType, style: Style) -> Result<Datum, SqlError> {
    let malformed = || SqlError::new(SqlState::INVALID_TEXT, format!("malformed array literal: \"{text}\""));
    let inner = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).ok_or_else(malformed)?;
    let mut elements = Vec::new();
    if inner.trim().is_empty() {
        return Ok(Datum::Array(elements.into()));
    }
    let mut letters = inner.chars().peekable();
    loop {
        let (word, quoted) = array_word(&mut letters).ok_or_else(malformed)?;
        elements.push(match word.as_str() {
            "" if !quoted => return Err(malformed()),
            null if !quoted && null.eq_ignore_ascii_case("null") => Datum::Null,
            word if !quoted && word.contains(['{', '}']) => {
                return Err(SqlError::unsupported("an array of more than one dimension"));
            }
            word => read(word, element, style)?,
        });
        match letters.next() {
            None => return Ok(Datum::Array(elements.into())),
            Some(',') => {}
            Some(_) => return Err(malformed()),
        }
    }
}

/// One element up to its comma, and whether it was in quotes.
fn array_word(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<(String, bool)> {
    let mut word = String::new();
    while letters.next_if(|letter| letter.is_ascii_whitespace()).is_some() {}
    if letters.next_if_eq(&'"').is_some() {
        loop {
            match letters.next()? {
                '"' => break,
                '\\' => word.push(letters.next()?),
                letter => word.push(letter),
            }
        }
        while letters.next_if(|letter| letter.is_ascii_whitespace()).is_some() {}
        return Some((word, true));
    }
    while let Some(letter) = letters.next_if(|letter| *letter != ',') {
        match letter {
            '\\' => word.push(letters.next()?),
            '"' => return None,
            letter => word.push(letter),
        }
    }
    Some((word.trim_end().to_owned(), false))
}
