//! Values on the wire, as people and as machines write them.
//!
//! ```text
//!   type          binary
//!   bool          1 byte                                   date         days since 2000-01-01:4
//!   int2 4 8 oid  2, 4 or 8 bytes, big-endian               timestamp    microseconds since 2000-01-01:8
//!   float4 8      IEEE 754                                  interval     microseconds:8 days:4 months:4
//!   numeric       count:2 weight:2 sign:2 scale:2, digits   array        dimensions:4 nulls:4 oid:4 (length:4 first:4)…, values
//!                 to the base of 10,000                     jsonb        1, then its text
//!                                                           record       count:4, then of each oid:4 and value
//! ```
//!
//! Texts are those of [`skew_value`]. Infinite dates and times are the largest and the smallest number in both worlds.

use super::message::ValueFormat;
use skew_sql::{Catalog, Session};
use skew_value::{
    Datum, Dialect, IntegerWidth, Interval, SqlError, SqlState, SqlType, Style, input, number, output, temporal,
};
use std::sync::Arc;

/// Days from 1970-01-01, where values begin, to 2000-01-01, where the protocol does.
const DAYS: i32 = 10_957;
const MICROSECONDS: i64 = DAYS as i64 * 86_400_000_000;

fn is_object_id(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::ObjectId | SqlType::Registered(_))
}

/// How a client is told of a type: its number, its length, what bounds it.
pub(crate) fn description(sql_type: &SqlType) -> (u32, i16, i32) {
    // What nothing decides is text, as in `SELECT NULL`.
    let sql_type = if *sql_type == SqlType::Unknown { &SqlType::TEXT } else { sql_type };
    (sql_type.oid(), sql_type.typlen(), sql_type.typmod())
}

/// Writes a value with its length before it.
pub(crate) fn encode(
    datum: &Datum,
    sql_type: &SqlType,
    format: ValueFormat,
    session: &Session,
    bytes: &mut Vec<u8>,
) -> Result<(), SqlError> {
    if datum.is_null() {
        bytes.extend_from_slice(&(-1i32).to_be_bytes());
        return Ok(());
    }
    let start = bytes.len();
    bytes.extend_from_slice(&[0; 4]);
    write(datum, sql_type, format, session, bytes)?;
    let length = (bytes.len() - start - 4) as u32;
    bytes[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Writes a value that is not NULL. Its text may need the session, which knows the names of things.
pub(crate) fn write(
    datum: &Datum,
    sql_type: &SqlType,
    format: ValueFormat,
    session: &Session,
    bytes: &mut Vec<u8>,
) -> Result<(), SqlError> {
    match (format, datum, sql_type) {
        (ValueFormat::Binary, ..) => return binary(datum, sql_type, session, bytes),
        (_, Datum::Text(text), SqlType::Text(_)) => bytes.extend_from_slice(text.as_bytes()),
        _ => bytes.extend_from_slice(session.text_of(datum, sql_type).as_bytes()),
    }
    Ok(())
}

fn binary(datum: &Datum, sql_type: &SqlType, session: &Session, bytes: &mut Vec<u8>) -> Result<(), SqlError> {
    match (datum, sql_type) {
        (Datum::Boolean(truth), _) => bytes.push(u8::from(*truth)),
        (Datum::Integer(value), _) => integer(*value, sql_type, bytes)?,
        (Datum::Real(value), SqlType::Single) => bytes.extend_from_slice(&(*value as f32).to_be_bytes()),
        (Datum::Real(value), _) => bytes.extend_from_slice(&value.to_be_bytes()),
        (Datum::Decimal(value), _) => decimal(&number::print_decimal(value), bytes),
        (Datum::Bytes(content), _) => bytes.extend_from_slice(content),
        (Datum::Date(days), _) => bytes.extend_from_slice(&shifted(*days, -DAYS).to_be_bytes()),
        (Datum::Time(time), _) => bytes.extend_from_slice(&time.to_be_bytes()),
        (Datum::Timestamp(time) | Datum::TimestampZoned(time), _) => {
            bytes.extend_from_slice(&shifted_time(*time, -MICROSECONDS).to_be_bytes());
        }
        (Datum::Interval(interval), _) => {
            bytes.extend_from_slice(&interval.microseconds.to_be_bytes());
            bytes.extend_from_slice(&interval.days.to_be_bytes());
            bytes.extend_from_slice(&interval.months.to_be_bytes());
        }
        (Datum::Uuid(value), _) => bytes.extend_from_slice(&value.to_be_bytes()),
        (Datum::Json(text), SqlType::JsonBinary) => {
            bytes.push(1);
            bytes.extend_from_slice(text.as_bytes());
        }
        (Datum::Array(elements), SqlType::Array(element)) => array(elements, element, 1, session, bytes)?,
        (Datum::Array(elements), SqlType::Vector(element)) => array(elements, element, 0, session, bytes)?,
        (Datum::Array(values), SqlType::Record(fields)) => record(values, fields, session, bytes)?,
        (Datum::Array(_), other) => {
            return Err(SqlError::unsupported(format!("an array as {other} in the binary format")));
        }
        (Datum::Text(_) | Datum::Json(_) | Datum::Null, _) => {
            bytes.extend_from_slice(output(datum, sql_type, Dialect::Postgres).as_bytes());
        }
    }
    Ok(())
}

/// A number beyond the type's would be another one: rather an error.
fn integer(value: i128, sql_type: &SqlType, bytes: &mut Vec<u8>) -> Result<(), SqlError> {
    let range = |_| number::out_of_range(&sql_type.to_string());
    match sql_type {
        SqlType::Single => bytes.extend_from_slice(&(value as f32).to_be_bytes()),
        SqlType::Double => bytes.extend_from_slice(&(value as f64).to_be_bytes()),
        SqlType::Decimal(_) => decimal(&value.to_string(), bytes),
        _ => match sql_type.typlen() {
            2 => bytes.extend_from_slice(&i16::try_from(value).map_err(range)?.to_be_bytes()),
            8 => bytes.extend_from_slice(&i64::try_from(value).map_err(range)?.to_be_bytes()),
            _ if is_object_id(sql_type) => bytes.extend_from_slice(&u32::try_from(value).map_err(range)?.to_be_bytes()),
            _ => bytes.extend_from_slice(&i32::try_from(value).map_err(range)?.to_be_bytes()),
        },
    }
    Ok(())
}

fn shifted(days: i32, by: i32) -> i32 {
    if days == i32::MAX || days == i32::MIN { days } else { days.saturating_add(by) }
}

fn shifted_time(time: i64, by: i64) -> i64 {
    if time == i64::MAX || time == i64::MIN { time } else { time.saturating_add(by) }
}

/// A day of the protocol; one that PostgreSQL does not have is not taken for the end of days.
fn from_days(days: i32) -> Result<i32, SqlError> {
    match days {
        i32::MAX | i32::MIN => Ok(days),
        days => temporal::checked_date(i64::from(days) + i64::from(DAYS)),
    }
}

fn from_microseconds(time: i64) -> Result<i64, SqlError> {
    match time {
        i64::MAX | i64::MIN => Ok(time),
        time => temporal::checked_timestamp(i128::from(time) + i128::from(MICROSECONDS)),
    }
}

/// `-12345.678` has the digits 1, 2345, 6780, of which the first counts 10,000¹, and three places behind the point.
fn decimal(text: &str, bytes: &mut Vec<u8>) {
    let (negative, plain) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
    let padded_whole = format!("{}{whole}", "0".repeat((4 - whole.len() % 4) % 4));
    let padded_fraction = format!("{fraction}{}", "0".repeat((4 - fraction.len() % 4) % 4));
    let letters = format!("{padded_whole}{padded_fraction}").into_bytes();
    let digits: Vec<u16> = letters
        .chunks(4)
        .map(|four| four.iter().fold(0, |value, letter| value * 10 + u16::from(letter - b'0')))
        .collect();
    let first = digits.iter().take_while(|digit| **digit == 0).count();
    let last = digits.iter().rposition(|digit| *digit != 0).map_or(first, |place| place + 1);
    let used = &digits[first.min(last)..last];
    let weight = if used.is_empty() { 0 } else { (padded_whole.len() / 4) as i16 - 1 - first as i16 };
    let sign: u16 = if negative && !used.is_empty() { 0x4000 } else { 0 };
    for short in [used.len() as u16, weight as u16, sign, fraction.len() as u16] {
        bytes.extend_from_slice(&short.to_be_bytes());
    }
    used.iter().for_each(|digit| bytes.extend_from_slice(&digit.to_be_bytes()));
}

fn array(
    elements: &Arc<[Datum]>,
    element: &SqlType,
    first: u32,
    session: &Session,
    bytes: &mut Vec<u8>,
) -> Result<(), SqlError> {
    let dimensions = u32::from(!elements.is_empty());
    let nulls = u32::from(elements.iter().any(Datum::is_null));
    for long in [dimensions, nulls, element.oid()] {
        bytes.extend_from_slice(&long.to_be_bytes());
    }
    if !elements.is_empty() {
        bytes.extend_from_slice(&(elements.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&first.to_be_bytes());
    }
    elements.iter().try_for_each(|one| encode(one, element, ValueFormat::Binary, session, bytes))
}

/// The fields of a row: how many, then each with its type.
fn record(
    values: &[Datum],
    fields: &[(String, SqlType)],
    session: &Session,
    bytes: &mut Vec<u8>,
) -> Result<(), SqlError> {
    bytes.extend_from_slice(&(fields.len() as u32).to_be_bytes());
    for (value, (_, sql_type)) in values.iter().zip(fields) {
        bytes.extend_from_slice(&description(sql_type).0.to_be_bytes());
        encode(value, sql_type, ValueFormat::Binary, session, bytes)?;
    }
    Ok(())
}

/// Reads a value; a text in the style of the session.
pub(crate) fn decode(bytes: &[u8], sql_type: &SqlType, format: ValueFormat, style: Style) -> Result<Datum, SqlError> {
    match format {
        ValueFormat::Text => input(text(bytes)?, sql_type, style),
        ValueFormat::Binary => decode_binary(bytes, sql_type),
    }
}

/// Reads a value that machines wrote, which is the same in every session.
pub(crate) fn decode_binary(bytes: &[u8], sql_type: &SqlType) -> Result<Datum, SqlError> {
    let mut rest = bytes;
    let value = from_binary(&mut rest, sql_type)?;
    if rest.is_empty() { Ok(value) } else { Err(incorrect()) }
}

/// A text that is no label of its enumeration would be carried on as if it were one.
pub(crate) fn check_labels(datum: &Datum, sql_type: &SqlType, catalog: &Catalog) -> Result<(), SqlError> {
    match (datum, sql_type) {
        (Datum::Text(label), SqlType::Enumeration(id)) => {
            let found = catalog.enumerations.values().find(|enumeration| enumeration.id == *id);
            match found.filter(|enumeration| !enumeration.labels.iter().any(|known| **known == **label)) {
                None => Ok(()),
                Some(enumeration) => {
                    let message = format!("invalid input value for enum {}: \"{label}\"", enumeration.name);
                    Err(SqlError::new(SqlState::INVALID_TEXT, message))
                }
            }
        }
        (Datum::Array(elements), SqlType::Array(element)) => {
            elements.iter().try_for_each(|one| check_labels(one, element, catalog))
        }
        _ => Ok(()),
    }
}

fn text(bytes: &[u8]) -> Result<&str, SqlError> {
    let message = "invalid byte sequence for encoding \"UTF8\"";
    let text = std::str::from_utf8(bytes).map_err(|_| SqlError::new(SqlState("22021"), message))?;
    if text.contains('\0') { Err(SqlError::new(SqlState("22021"), format!("{message}: 0x00"))) } else { Ok(text) }
}

fn incorrect() -> SqlError {
    SqlError::new(SqlState("22P03"), "incorrect binary data format in a parameter")
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], SqlError> {
    let (taken, rest) = bytes.split_first_chunk::<N>().ok_or_else(incorrect)?;
    *bytes = rest;
    Ok(*taken)
}

fn from_binary(bytes: &mut &[u8], sql_type: &SqlType) -> Result<Datum, SqlError> {
    Ok(match sql_type {
        SqlType::Boolean => Datum::Boolean(take::<1>(bytes)? != [0]),
        SqlType::Integer { width: IntegerWidth::Small | IntegerWidth::Tiny, .. } => {
            Datum::Integer(i16::from_be_bytes(take(bytes)?).into())
        }
        SqlType::Integer { width: IntegerWidth::Big, .. } => Datum::Integer(i64::from_be_bytes(take(bytes)?).into()),
        SqlType::Integer { .. } => Datum::Integer(i32::from_be_bytes(take(bytes)?).into()),
        SqlType::Single => Datum::Real(f32::from_be_bytes(take(bytes)?).into()),
        SqlType::Double => Datum::Real(f64::from_be_bytes(take(bytes)?)),
        SqlType::Decimal(_) => from_decimal(bytes)?,
        SqlType::Bytes => Datum::Bytes(std::mem::take(bytes).into()),
        SqlType::Date => Datum::Date(from_days(i32::from_be_bytes(take(bytes)?))?),
        SqlType::Time(_) => from_time(i64::from_be_bytes(take(bytes)?))?,
        SqlType::Timestamp(_) => Datum::Timestamp(from_microseconds(i64::from_be_bytes(take(bytes)?))?),
        SqlType::TimestampZoned(_) => Datum::TimestampZoned(from_microseconds(i64::from_be_bytes(take(bytes)?))?),
        SqlType::Interval => {
            let microseconds = i64::from_be_bytes(take(bytes)?);
            let days = i32::from_be_bytes(take(bytes)?);
            Datum::Interval(Interval { microseconds, days, months: i32::from_be_bytes(take(bytes)?) })
        }
        SqlType::Uuid => Datum::Uuid(u128::from_be_bytes(take(bytes)?)),
        SqlType::JsonBinary => match take::<1>(bytes)? {
            [1] => input(text(std::mem::take(bytes))?, sql_type, Dialect::Postgres)?,
            _ => return Err(SqlError::new(SqlState("22P03"), "unsupported jsonb version number")),
        },
        SqlType::Array(element) | SqlType::Vector(element) => from_array(bytes, element)?,
        other if is_object_id(other) => Datum::Integer(u32::from_be_bytes(take(bytes)?).into()),
        other => input(text(std::mem::take(bytes))?, other, Dialect::Postgres)?,
    })
}

fn from_time(time: i64) -> Result<Datum, SqlError> {
    let day = 86_400_000_000;
    if (0..=day).contains(&time) {
        Ok(Datum::Time(time))
    } else {
        Err(SqlError::new(SqlState::DATETIME_OVERFLOW, "time out of range"))
    }
}

/// Digits become the text that they stand for.
fn from_decimal(bytes: &mut &[u8]) -> Result<Datum, SqlError> {
    let count = u16::from_be_bytes(take(bytes)?);
    let weight = i16::from_be_bytes(take(bytes)?);
    let sign = u16::from_be_bytes(take(bytes)?);
    let scale = usize::from(u16::from_be_bytes(take(bytes)?));
    if !matches!(sign, 0 | 0x4000) {
        return Err(match sign {
            0xC000 | 0xD000 | 0xF000 => SqlError::unsupported("a NUMERIC that is not a finite number"),
            _ => incorrect(),
        });
    }
    if scale > 0x3FFF || count > 0x3FFF {
        return Err(incorrect());
    }
    let digits = (0..count).map(|_| take(bytes).map(u16::from_be_bytes)).collect::<Result<Vec<u16>, _>>()?;
    if digits.iter().any(|digit| *digit > 9999) {
        return Err(incorrect());
    }
    let digit = |place: i32| usize::try_from(i32::from(weight) - place).ok().and_then(|at| digits.get(at)).copied();
    let whole: String =
        (0..=i32::from(weight).max(0)).rev().map(|place| format!("{:04}", digit(place).unwrap_or(0))).collect();
    let groups = scale.div_ceil(4) as i32;
    let mut fraction: String = (1..=groups).map(|place| format!("{:04}", digit(-place).unwrap_or(0))).collect();
    fraction.truncate(scale);
    let sign = if sign == 0 { "" } else { "-" };
    let point = if scale == 0 { "" } else { "." };
    input(&format!("{sign}{whole}{point}{fraction}"), &SqlType::NUMERIC, Dialect::Postgres)
}

fn from_array(bytes: &mut &[u8], element: &SqlType) -> Result<Datum, SqlError> {
    let dimensions = u32::from_be_bytes(take(bytes)?);
    let _nulls: [u8; 4] = take(bytes)?;
    let oid = u32::from_be_bytes(take(bytes)?);
    if dimensions > 1 {
        return Err(SqlError::unsupported("an array of more than one dimension"));
    }
    if dimensions == 0 {
        return Ok(Datum::Array(Arc::from([])));
    }
    // A client may know texts by another name, such as varchar; anything else would be misread.
    let texts = [25, 1042, 1043, 19];
    if oid != element.oid() && !(texts.contains(&oid) && texts.contains(&element.oid())) {
        let message = format!("wrong element type: {oid} where {element} is expected");
        return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
    }
    let length = u32::from_be_bytes(take(bytes)?);
    let _first: [u8; 4] = take(bytes)?;
    let mut elements = Vec::new();
    for _ in 0..length {
        let length = i32::from_be_bytes(take(bytes)?);
        let Ok(length) = usize::try_from(length) else {
            elements.push(Datum::Null);
            continue;
        };
        let (content, rest) = bytes.split_at_checked(length).ok_or_else(incorrect)?;
        *bytes = rest;
        elements.push(decode_binary(content, element)?);
    }
    Ok(Datum::Array(elements.into()))
}
