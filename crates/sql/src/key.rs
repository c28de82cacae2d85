//! How values become keys.
//!
//! A store knows rows by [`RowKey`]s, and two things are asked of the translation: *equal values have one key* (`1.0` and `1.00` are
//! one row), and, where [`keeps_order`] says so, *keys order as values do*, so that `BETWEEN` is a range of keys.
//!
//! ```text
//!   7                          Number 7
//!   'bolt'                     bolt                       by its bytes; CHAR(n) without the blanks at its end
//!   DATE '2024-02-29'          2024-02-29                 before year 0: Number; after 9999: ~ and days, which sorts behind
//!   TIMESTAMP '… 12:00:00.50'  2024-02-29 12:00:00.5      a shorter fraction is a prefix, so order holds
//!   NUMERIC 1.50               1.5                        equal, but not ordered: '10' < '9'
//!   NULL                       %null                      distinct from every text, and last
//! ```
//!
//! The planner asks [`keeps_order`] before it turns a comparison into a range; equality is always safe once both sides have the
//! column's type.

use crate::catalog::{Index, Table};
use crate::storage::{KeyPart, Row, RowKey};
use chrono::{DateTime, Datelike, NaiveDate};
use skew_value::number::{integer_of_decimal, integer_of_real, real_of_decimal};
use skew_value::{Collation, Datum, Interval, SqlError, SqlState, SqlType};
use std::fmt::Write as _;
use std::sync::Arc;

/// The microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Whether the keys of a type order as its values do.
pub(crate) fn keeps_order(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Boolean
        | SqlType::Integer { .. }
        | SqlType::Text(_)
        | SqlType::Character(_)
        | SqlType::Bytes
        | SqlType::Date
        | SqlType::Time(_)
        | SqlType::Timestamp(_)
        | SqlType::TimestampZoned(_)
        | SqlType::Interval
        | SqlType::Uuid
        | SqlType::ObjectId
        | SqlType::Registered(_)
        | SqlType::Name
        | SqlType::Letter => true,
        SqlType::Unknown
        | SqlType::Single
        | SqlType::Double
        | SqlType::Decimal(_)
        | SqlType::Json
        | SqlType::JsonBinary
        | SqlType::Array(_)
        | SqlType::Vector(_)
        | SqlType::Void
        | SqlType::Record(_)
        | SqlType::Enumeration(_) => false,
    }
}

/// The key of a row that a query found, whose columns come first; where the table has no primary key it stands behind them. A row of NULLs
/// that an outer join filled in is none.
pub(crate) fn found_key(table: &Table, found: &[Datum]) -> Result<Option<RowKey>, SqlError> {
    let columns = table.columns.len();
    if let Some(primary_key) = &table.primary_key {
        let missing = primary_key.columns.iter().any(|&place| found[place].is_null());
        return if missing { Ok(None) } else { row_key(table, &found[..columns]) };
    }
    match found.get(columns) {
        None | Some(Datum::Null) => Ok(None),
        Some(value) => {
            let part = key_part(value, &SqlType::BIGINT)?;
            Ok(Some(RowKey { space: table.space, parts: Arc::from([part]) }))
        }
    }
}

/// The part of a key that stands for a value of a type. The value must have been cast to that type.
pub(crate) fn key_part(datum: &Datum, sql_type: &SqlType) -> Result<KeyPart, SqlError> {
    if let Some(part) = part_of_other_kind(datum, sql_type) {
        return Ok(part);
    }
    Ok(match datum {
        Datum::Null => KeyPart::Null,
        Datum::Boolean(value) => KeyPart::Number(i128::from(*value)),
        Datum::Integer(value) => KeyPart::Number(*value),
        Datum::Real(value) => text_part(real_text(*value)),
        Datum::Decimal(value) => text_part(value.normalized().to_plain_string()),
        Datum::Text(value) => match sql_type {
            SqlType::Character(_) => text_part(value.trim_end_matches(' ')),
            _ => KeyPart::Text(value.clone()),
        },
        Datum::Bytes(value) => text_part(hexadecimal(value)),
        Datum::Date(days) => date_part(*days),
        Datum::Time(microseconds) => KeyPart::Number(i128::from(*microseconds)),
        Datum::Timestamp(microseconds) | Datum::TimestampZoned(microseconds) => timestamp_part(*microseconds),
        Datum::Interval(interval) => KeyPart::Number(interval_span(interval)),
        Datum::Json(text) => match sql_type {
            SqlType::Json => {
                return Err(SqlError::new(
                    SqlState::UNDEFINED_FUNCTION,
                    "data type json has no default operator class for access method \"btree\"",
                )
                .with_hint("use jsonb, which can be compared"));
            }
            _ => KeyPart::Text(text.clone()),
        },
        Datum::Uuid(number) => text_part(uuid_text(*number)),
        Datum::Array(elements) => text_part(array_text(elements, sql_type)?),
    })
}

/// A value whose static type was relabelled rather than converted (an integer where a decimal is meant) still has the type's key.
fn part_of_other_kind(datum: &Datum, sql_type: &SqlType) -> Option<KeyPart> {
    match (datum, sql_type) {
        (Datum::Integer(value), SqlType::Decimal(_)) => Some(text_part(value.to_string())),
        (Datum::Integer(value), SqlType::Single | SqlType::Double) => Some(text_part(real_text(*value as f64))),
        (Datum::Decimal(value), SqlType::Single | SqlType::Double) => {
            Some(text_part(real_text(real_of_decimal(value))))
        }
        (Datum::Decimal(value), SqlType::Integer { .. }) if value.is_integer() => {
            integer_of_decimal(value).map(KeyPart::Number)
        }
        (Datum::Real(value), SqlType::Integer { .. }) if value.fract() == 0.0 => {
            integer_of_real(*value).map(KeyPart::Number)
        }
        // What MySQL compares a date with is a timestamp; at midnight it may be the date.
        (Datum::Timestamp(microseconds), SqlType::Date) if microseconds.rem_euclid(DAY) == 0 => {
            i32::try_from(microseconds.div_euclid(DAY)).ok().map(date_part)
        }
        (Datum::Date(days), SqlType::Timestamp(_) | SqlType::TimestampZoned(_)) => {
            Some(timestamp_part(i64::from(*days).saturating_mul(DAY)))
        }
        _ => None,
    }
}

fn text_part(text: impl Into<Arc<str>>) -> KeyPart {
    KeyPart::Text(text.into())
}

/// One text for both zeros and for every NaN.
fn real_text(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value}") }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn uuid_text(number: u128) -> String {
    let digits = format!("{number:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// PostgreSQL compares intervals as if a month had 30 days and a day 24 hours.
fn interval_span(interval: &Interval) -> i128 {
    let days = i128::from(interval.months) * 30 + i128::from(interval.days);
    days * 86_400_000_000 + i128::from(interval.microseconds)
}

fn date_part(days: i32) -> KeyPart {
    let date = NaiveDate::from_num_days_from_ce_opt(days.saturating_add(719_163));
    match date.filter(|date| (0..=9999).contains(&date.year())) {
        Some(date) => text_part(date.format("%Y-%m-%d").to_string()),
        None => part_outside_calendar(i64::from(days)),
    }
}

fn timestamp_part(microseconds: i64) -> KeyPart {
    match DateTime::from_timestamp_micros(microseconds).filter(|time| (0..=9999).contains(&time.year())) {
        Some(time) => {
            let text = time.format("%Y-%m-%d %H:%M:%S%.6f").to_string();
            text_part(text.trim_end_matches('0').trim_end_matches('.').to_owned())
        }
        None => part_outside_calendar(microseconds),
    }
}

/// Numbers come before texts and `~` comes after digits, so that years outside 0 to 9999 find their place too.
fn part_outside_calendar(count: i64) -> KeyPart {
    if count < 0 { KeyPart::Number(i128::from(count)) } else { text_part(format!("~{count:020}")) }
}

fn array_text(elements: &[Datum], sql_type: &SqlType) -> Result<String, SqlError> {
    let element_type = match sql_type {
        SqlType::Array(element) => element,
        other => other,
    };
    let text = |element: &Datum| match key_part(element, element_type)?.to_string() {
        // Else an array of one empty text would be the empty array. No text is written like this, for its % would be escaped.
        empty if empty.is_empty() => Ok("%empty".to_owned()),
        text => Ok(text.replace(',', "%2c")),
    };
    Ok(format!("{{{}}}", elements.iter().map(text).collect::<Result<Vec<String>, SqlError>>()?.join(",")))
}

/// The part of a key that stands for a value of a column: as [`key_part`], and texts that the column's collation calls equal are one.
pub(crate) fn column_part(table: &Table, column: usize, datum: &Datum) -> Result<KeyPart, SqlError> {
    let column = &table.columns[column];
    let part = key_part(datum, &column.sql_type)?;
    Ok(match (part, column.text_collation()) {
        (KeyPart::Text(text), Collation::Folded) => text_part(Collation::Folded.equality_key(&text)),
        (part, _) => part,
    })
}

/// Whether the keys of a column order as its values do: as [`keeps_order`], but not where a collation folds letters.
pub(crate) fn column_keeps_order(table: &Table, column: usize) -> bool {
    let column = &table.columns[column];
    keeps_order(&column.sql_type) && column.text_collation() == Collation::Bytes
}

/// The parts of several values.
pub(crate) fn key_parts<'values>(
    values: impl IntoIterator<Item = (&'values Datum, &'values SqlType)>,
) -> Result<Vec<KeyPart>, SqlError> {
    values.into_iter().map(|(datum, sql_type)| key_part(datum, sql_type)).collect()
}

/// The key of a row of a table with a primary key; `None` for a table whose rows have generated keys.
pub(crate) fn row_key(table: &Table, row: &[Datum]) -> Result<Option<RowKey>, SqlError> {
    let Some(primary_key) = &table.primary_key else { return Ok(None) };
    let parts = primary_key.columns.iter().map(|&column| column_part(table, column, table.value(row, column)));
    Ok(Some(RowKey { space: table.space, parts: parts.collect::<Result<_, SqlError>>()? }))
}

/// The entry of a row in an index: its key, and what stands under it.
///
/// A unique index whose values are all there has one place per value, so that two rows with one value meet; with a NULL in it (which
/// equals nothing, unless the index says so) the row's own key makes the place distinct.
pub(crate) fn index_entry(index: &Index, values: Vec<KeyPart>, row_key: &RowKey, row_key_values: Row) -> (RowKey, Row) {
    if is_unique_entry(index, &values) {
        return (RowKey { space: index.space, parts: values.into() }, row_key_values);
    }
    let parts = values.into_iter().chain(row_key.parts.iter().cloned()).collect();
    (RowKey { space: index.space, parts }, Arc::from([]))
}

/// Whether an entry with these values stands alone under its values.
pub(crate) fn is_unique_entry(index: &Index, values: &[KeyPart]) -> bool {
    index.unique && (index.nulls_not_distinct || !values.contains(&KeyPart::Null))
}

/// Whether the entry under this key stands alone under its values: no part of the row's key is behind them.
pub(crate) fn stands_alone(index: &Index, key: &RowKey) -> bool {
    index.unique && key.parts.len() == index.columns.len()
}

/// What stands under a unique entry: the values of the row's key.
pub(crate) fn row_key_values(table: &Table, row_key: &RowKey, row: &[Datum]) -> Row {
    match &table.primary_key {
        Some(primary_key) => primary_key.columns.iter().map(|&column| table.value(row, column).clone()).collect(),
        None => row_key.parts.iter().map(generated_value).collect(),
    }
}

/// A generated key as a value.
fn generated_value(part: &KeyPart) -> Datum {
    match part {
        KeyPart::Number(number) => Datum::Integer(*number),
        KeyPart::Text(text) => Datum::Text(text.clone()),
        KeyPart::Null => Datum::Null,
    }
}

/// The row that an index entry points to: in a unique entry by its row, in the others by the end of its key.
pub(crate) fn entry_target(table: &Table, index: &Index, key: &RowKey, entry: &[Datum]) -> Result<RowKey, SqlError> {
    if !stands_alone(index, key) {
        let parts = key.parts.get(index.columns.len()..).unwrap_or_default();
        return Ok(RowKey { space: table.space, parts: parts.into() });
    }
    let parts = match &table.primary_key {
        Some(primary_key) => primary_key
            .columns
            .iter()
            .zip(entry)
            .map(|(&column, datum)| column_part(table, column, datum))
            .collect::<Result<Vec<KeyPart>, SqlError>>()?,
        None => key_parts(entry.iter().map(|datum| (datum, &SqlType::BIGINT)))?,
    };
    Ok(RowKey { space: table.space, parts: parts.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::str::FromStr;

    fn part(datum: Datum, sql_type: SqlType) -> KeyPart {
        key_part(&datum, &sql_type).unwrap()
    }

    fn decimal(text: &str) -> Datum {
        Datum::Decimal(bigdecimal::BigDecimal::from_str(text).unwrap())
    }

    #[test]
    fn equal_values_have_one_key() {
        assert_eq!(part(decimal("1.0"), SqlType::Decimal(None)), part(decimal("1.00"), SqlType::Decimal(None)));
        assert_eq!(part(decimal("100"), SqlType::Decimal(None)), part(decimal("1E+2"), SqlType::Decimal(None)));
        assert_eq!(part(Datum::Real(-0.0), SqlType::Double), part(Datum::Real(0.0), SqlType::Double));
        assert_eq!(part(Datum::text("a  "), SqlType::Character(5)), part(Datum::text("a"), SqlType::Character(5)));
        assert_eq!(part(decimal("7.0"), SqlType::Decimal(None)), part(Datum::Integer(7), SqlType::Decimal(None)));
        assert_eq!(part(decimal("7.0"), SqlType::BIGINT), part(Datum::Integer(7), SqlType::BIGINT));
        let month = Interval { months: 1, ..Interval::default() };
        let days = Interval { days: 30, ..Interval::default() };
        assert_eq!(part(Datum::Interval(month), SqlType::Interval), part(Datum::Interval(days), SqlType::Interval));
    }

    #[test]
    fn an_array_of_an_empty_text_is_not_the_empty_array() {
        let texts = |texts: &[&str]| {
            let elements: Vec<Datum> = texts.iter().map(|text| Datum::text(*text)).collect();
            part(Datum::Array(elements.into()), SqlType::Array(Box::new(SqlType::TEXT)))
        };
        let arrays: [&[&str]; 5] = [&[], &[""], &["", ""], &["%empty"], &["a,b"]];
        let parts: std::collections::BTreeSet<KeyPart> = arrays.map(texts).into_iter().collect();
        assert_eq!(parts.len(), arrays.len(), "{parts:?}");
    }

    #[test]
    fn dates_and_times_keep_their_order_also_outside_the_calendar_of_four_digits() {
        let days = [i32::MIN, -800_000, -719_528, -1, 0, 1, 19_000, 2_932_896, 2_932_897, i32::MAX];
        let parts: Vec<KeyPart> = days.iter().map(|&days| part(Datum::Date(days), SqlType::Date)).collect();
        assert!(parts.is_sorted(), "{parts:?}");
        let times = [i64::MIN, -1, 0, 1, 9, 10, 500_000, 1_000_000, 253_402_300_800_000_000, i64::MAX];
        let parts: Vec<KeyPart> =
            times.iter().map(|&time| part(Datum::Timestamp(time), SqlType::Timestamp(None))).collect();
        assert!(parts.is_sorted(), "{parts:?}");
        assert_eq!(parts[6].to_string(), "1970-01-01 00:00:00.5");
        assert_eq!(parts[2].to_string(), "1970-01-01 00:00:00");
    }

    #[test]
    fn null_is_no_text_and_comes_last() {
        let null = part(Datum::Null, SqlType::TEXT);
        assert_ne!(null.to_string(), part(Datum::text("%null"), SqlType::TEXT).to_string());
        assert!(null > part(Datum::text("\u{10ffff}"), SqlType::TEXT));
    }
}
