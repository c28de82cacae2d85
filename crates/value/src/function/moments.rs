//! Arithmetic and functions of dates, times and intervals.
//!
//! ```text
//!   date - date = integer          timestamp - timestamp = interval of days and time
//!   date + integer = date          date + interval = timestamp (MySQL: date, if the interval has whole days)
//! ```
//!
//! The printing and reading by patterns (`to_char`, `date_format`) is in [`super::formats`].

use super::Invocation;
use super::arguments::{Evaluated, date, integer, interval, invalid, real, text, time};
use super::signature::{SignatureRow, TypePattern::*, row};
use crate::Dialect;
use crate::SqlType;
use crate::interval::months_later;
use crate::temporal::{self, DAY, SECOND, date_of, days_of, weekday};
use crate::{Datum, Interval as Span, Zone, number};
use crate::{SqlError, SqlState};
use bigdecimal::BigDecimal;

pub(super) const OPERATORS: &[SignatureRow] = &[
    row("+", &[Date, Integer], Date, add_days).postgres(),
    row("+", &[Integer, Date], Date, add_days).postgres(),
    row("-", &[Date, Integer], Date, subtract_days).postgres(),
    row("-", &[Date, Date], Integer, days_between).postgres(),
    row("+", &[Date, Interval], Timestamp, add_span).postgres(),
    row("-", &[Date, Interval], Timestamp, subtract_span).postgres(),
    row("+", &[Date, Interval], Date, add_span).mysql(),
    row("-", &[Date, Interval], Date, subtract_span).mysql(),
    row("+", &[Text, Interval], Text, super::formats::text_add).mysql(),
    row("+", &[Interval, Text], Text, super::formats::text_add).mysql(),
    row("-", &[Text, Interval], Text, super::formats::text_subtract).mysql(),
    row("+", &[Interval, Date], Date, add_span).mysql(),
    row("+", &[Date, Time], Timestamp, date_and_time).postgres(),
    row("+", &[Timestamp, Interval], Timestamp, add_span),
    row("+", &[Interval, Timestamp], Timestamp, add_span),
    row("-", &[Timestamp, Interval], Timestamp, subtract_span),
    row("+", &[Zoned, Interval], Zoned, add_span).postgres(),
    row("+", &[Interval, Zoned], Zoned, add_span).postgres(),
    row("-", &[Zoned, Interval], Zoned, subtract_span).postgres(),
    row("+", &[Interval, Date], Timestamp, add_span).postgres(),
    row("-", &[Timestamp, Timestamp], Interval, between).postgres(),
    row("-", &[Zoned, Zoned], Interval, between).postgres(),
    row("+", &[Time, Interval], Time, add_span),
    row("-", &[Time, Interval], Time, subtract_span),
    row("-", &[Time, Time], Interval, between).postgres(),
    row("+", &[Interval, Interval], Interval, add_spans),
    row("-", &[Interval, Interval], Interval, subtract_spans),
    row("-", &[Interval], Interval, negate),
    row("*", &[Interval, Double], Interval, scale),
    row("*", &[Double, Interval], Interval, scale),
    row("/", &[Interval, Double], Interval, divide),
];

pub(super) const FUNCTIONS: &[SignatureRow] = &[
    row("now", &[], Zoned, now),
    row("current_timestamp", &[], Zoned, now),
    row("current_timestamp", &[Integer], Zoned, now),
    row("transaction_timestamp", &[], Zoned, now).postgres(),
    row("statement_timestamp", &[], Zoned, now).postgres(),
    row("clock_timestamp", &[], Zoned, clock).volatile().postgres(),
    row("sysdate", &[], Timestamp, clock).mysql(),
    row("now", &[Integer], Timestamp, now).mysql(),
    row("utc_timestamp", &[], Timestamp, now).mysql(),
    row("localtimestamp", &[], Timestamp, now),
    row("localtime", &[], Time, current_time).postgres(),
    row("current_time", &[], Time, current_time),
    row("curtime", &[], Time, current_time).mysql(),
    row("current_date", &[], Date, today),
    row("curdate", &[], Date, today).mysql(),
    row("utc_date", &[], Date, today).mysql(),
    row("date", &[Timestamp], Date, date_part_of),
    row("date", &[Zoned], Date, date_part_of).postgres(),
    row("date_trunc", &[Text, Timestamp], Timestamp, truncate).postgres(),
    row("date_trunc", &[Text, Zoned], Zoned, truncate).postgres(),
    row("date_trunc", &[Text, Zoned, Text], Zoned, truncate).postgres(),
    row("date_trunc", &[Text, Interval], Interval, truncate).postgres(),
    row("date_part", &[Text, Timestamp], Double, part).postgres(),
    row("date_part", &[Text, Zoned], Double, part).postgres(),
    row("date_part", &[Text, Date], Double, part).postgres(),
    row("date_part", &[Text, Time], Double, part).postgres(),
    row("date_part", &[Text, Interval], Double, part).postgres(),
    row("extract", &[Text, Timestamp], Numeric, part).postgres(),
    row("extract", &[Text, Zoned], Numeric, part).postgres(),
    row("extract", &[Text, Date], Numeric, part).postgres(),
    row("extract", &[Text, Time], Numeric, part).postgres(),
    row("extract", &[Text, Interval], Numeric, part).postgres(),
    row("extract", &[Text, Timestamp], Big, part).mysql(),
    row("extract", &[Text, Time], Big, part).mysql(),
    row("age", &[Timestamp, Timestamp], Interval, age).postgres(),
    row("age", &[Zoned, Zoned], Interval, age).postgres(),
    row("age", &[Timestamp], Interval, age_today).postgres(),
    row("age", &[Zoned], Interval, age_today).postgres(),
    row("make_date", &[Integer, Integer, Integer], Date, make_date).postgres(),
    row("make_time", &[Integer, Integer, Double], Time, make_time).postgres(),
    row("make_interval", &[Integer], Interval, make_interval).variadic().postgres(),
    row("make_timestamp", &[Integer, Integer, Integer, Integer, Integer, Double], Timestamp, make_timestamp).postgres(),
    row("make_timestamptz", &[Integer, Integer, Integer, Integer, Integer, Double], Zoned, make_zoned).postgres(),
    row("make_timestamptz", &[Integer, Integer, Integer, Integer, Integer, Double, Text], Zoned, make_zoned).postgres(),
    row("justify_days", &[Interval], Interval, justify_days).postgres(),
    row("justify_hours", &[Interval], Interval, justify_hours).postgres(),
    row("justify_interval", &[Interval], Interval, justify).postgres(),
    row("isfinite", &[Timestamp], Boolean, is_finite).postgres(),
    row("to_timestamp", &[Double], Zoned, from_seconds).postgres(),
    row("timezone", &[Text, Timestamp], Zoned, super::zones::at_zone).postgres(),
    row("timezone", &[Text, Zoned], Timestamp, super::zones::at_zone).postgres(),
];

pub(super) fn moment(time: i64, sql_type: &SqlType) -> Datum {
    match sql_type {
        SqlType::TimestampZoned(_) => Datum::TimestampZoned(time),
        SqlType::Time(_) => Datum::Time(time.rem_euclid(DAY)),
        _ => Datum::Timestamp(time),
    }
}

/// The microseconds of a date or timestamp.
pub(super) fn micros(arguments: &[Datum], place: usize) -> Result<i64, SqlError> {
    match arguments.get(place) {
        Some(Datum::Date(temporal::INFINITE_DATE)) => Ok(temporal::INFINITE),
        Some(Datum::Date(i32::MIN)) => Ok(i64::MIN),
        Some(Datum::Date(days)) => temporal::checked_timestamp(i128::from(*days) * i128::from(DAY)),
        _ => time(arguments, place),
    }
}

fn add_days(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (days, count) = match arguments {
        [Datum::Date(days), Datum::Integer(count)] | [Datum::Integer(count), Datum::Date(days)] => (*days, *count),
        _ => (date(arguments, 0)?, integer(arguments, 1)?),
    };
    moved(days, count)
}

fn subtract_days(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    moved(date(arguments, 0)?, -integer(arguments, 1)?)
}

fn moved(days: i32, count: i128) -> Evaluated {
    if temporal::is_infinite_date(days) {
        return Ok(Datum::Date(days));
    }
    let sum = i64::try_from(i128::from(days) + count).map_err(|_| temporal::out_of_range("date"))?;
    Ok(Datum::Date(temporal::checked_date(sum)?))
}

fn days_between(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (left, right) = (date(arguments, 0)?, date(arguments, 1)?);
    if temporal::is_infinite_date(left) || temporal::is_infinite_date(right) {
        return Err(SqlError::new(SqlState::DATETIME_OVERFLOW, "cannot subtract infinite dates"));
    }
    Ok(Datum::Integer(i128::from(left) - i128::from(right)))
}

fn date_and_time(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let midnight = micros(arguments, 0)?;
    if temporal::is_infinite(midnight) {
        return Ok(Datum::Timestamp(midnight));
    }
    let sum = i128::from(midnight) + i128::from(time(arguments, 1)?);
    Ok(Datum::Timestamp(temporal::checked_timestamp(sum)?))
}

/// A moment this much later; MySQL keeps a date a date, which an interval with hours would not.
pub(super) fn later(datum: &Datum, span: Span, result: &SqlType) -> Evaluated {
    if let (Datum::Time(time), SqlType::Time(_)) = (datum, result) {
        return Ok(Datum::Time((time + span.microseconds % DAY).rem_euclid(DAY)));
    }
    if let (Datum::Date(days), SqlType::Date) = (datum, result) {
        if span.microseconds != 0 {
            return Err(SqlError::unsupported("adding hours to a DATE").with_hint("cast the date to DATETIME"));
        }
        let days = months_later((*days).into(), span.months) + i64::from(span.days);
        return Ok(Datum::Date(temporal::checked_date(days)?));
    }
    Ok(moment(span.after(micros(std::slice::from_ref(datum), 0)?)?, result))
}

/// A timestamp this much later. Months and days are those of the wall's calendar, so a day may have 23 hours; hours are hours.
pub(super) fn after(span: Span, time: i64, call: Invocation<'_>) -> Result<i64, SqlError> {
    let zone = call.environment.zone();
    if zone == Zone::Utc || !matches!(call.result, SqlType::TimestampZoned(_)) {
        return span.after(time);
    }
    let mut time = time;
    for part in [Span { months: span.months, ..Span::default() }, Span { days: span.days, ..Span::default() }] {
        if part != Span::default() {
            time = zone.moment(part.after(zone.local(time))?)?;
        }
    }
    Span { microseconds: span.microseconds, ..Span::default() }.after(time)
}

fn moved_by(datum: &Datum, span: Span, call: Invocation<'_>) -> Evaluated {
    match datum {
        Datum::TimestampZoned(time) => Ok(moment(after(span, *time, call)?, call.result)),
        other => later(other, span, call.result),
    }
}

fn add_span(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    match arguments {
        [Datum::Interval(span), other] | [other, Datum::Interval(span)] => moved_by(other, *span, call),
        _ => Err(invalid("an interval is added to a date or time")),
    }
}

fn subtract_span(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let span = interval(arguments, 1)?.checked_neg()?;
    moved_by(arguments.first().unwrap_or(&Datum::Null), span, call)
}

fn between(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let (left, right) = (time(arguments, 0)?, time(arguments, 1)?);
    if temporal::is_infinite(left) || temporal::is_infinite(right) {
        return Err(SqlError::new(SqlState::DATETIME_OVERFLOW, "cannot subtract infinite timestamps"));
    }
    let difference = left.checked_sub(right).ok_or_else(|| temporal::out_of_range("interval"))?;
    let days = if matches!(call.parameters.first(), Some(SqlType::Time(_))) { 0 } else { difference / DAY };
    let span = Span { months: 0, days: days as i32, microseconds: difference - days * DAY };
    Ok(Datum::Interval(span))
}

fn add_spans(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    interval(arguments, 0)?.checked_add(interval(arguments, 1)?).map(Datum::Interval)
}

fn subtract_spans(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    interval(arguments, 0)?.checked_add(interval(arguments, 1)?.checked_neg()?).map(Datum::Interval)
}

fn negate(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    interval(arguments, 0)?.checked_neg().map(Datum::Interval)
}

fn scale(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    match arguments {
        [Datum::Interval(span), Datum::Real(factor)] | [Datum::Real(factor), Datum::Interval(span)] => {
            span.scale(*factor).map(Datum::Interval)
        }
        _ => Err(invalid("an interval is multiplied by a number")),
    }
}

fn divide(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    match real(arguments, 1)? {
        0.0 => Err(number::division_by_zero()),
        divisor => interval(arguments, 0)?.scale(1.0 / divisor).map(Datum::Interval),
    }
}

fn now(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let mysql = call.environment.dialect == Dialect::MySql;
    let digits = match arguments.first() {
        Some(Datum::Integer(digits)) if (0..=6).contains(digits) => Some(*digits as u8),
        Some(_) => return Err(invalid("the precision of a time is between 0 and 6")),
        None => mysql.then_some(0),
    };
    let time = match call.result {
        SqlType::TimestampZoned(_) => call.environment.transaction_time,
        _ => here(call),
    };
    Ok(moment(cut(time, digits), call.result))
}

/// When the transaction began, as the clock on the wall showed it.
fn here(call: Invocation<'_>) -> i64 {
    call.environment.zone().local(call.environment.transaction_time)
}

/// A timestamp as the clock on the wall shows it: a moment in the session's zone, any other as it is.
pub(super) fn wall(arguments: &[Datum], place: usize, call: Invocation<'_>) -> Result<i64, SqlError> {
    let time = micros(arguments, place)?;
    Ok(match arguments.get(place) {
        Some(Datum::TimestampZoned(_)) => call.environment.zone().local(time),
        _ => time,
    })
}

/// The present is cut, not rounded: it must not lie in the future.
fn cut(time: i64, digits: Option<u8>) -> i64 {
    let unit = 10i64.pow(6 - u32::from(digits.unwrap_or(6)));
    time.div_euclid(unit) * unit
}

fn clock(_: &[Datum], call: Invocation<'_>) -> Evaluated {
    let digits = (call.environment.dialect == Dialect::MySql).then_some(0);
    Ok(moment(cut(call.environment.clock_time, digits), call.result))
}

fn current_time(_: &[Datum], call: Invocation<'_>) -> Evaluated {
    let digits = (call.environment.dialect == Dialect::MySql).then_some(0);
    Ok(Datum::Time(cut(here(call), digits).rem_euclid(DAY)))
}

fn today(_: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(Datum::Date(temporal::checked_date(here(call).div_euclid(DAY))?))
}

fn date_part_of(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(Datum::Date(temporal::day_of(wall(arguments, 0, call)?)?))
}

fn unknown_unit(unit: &str, call: Invocation<'_>) -> SqlError {
    let of = call.parameters.get(1).map_or("time".to_owned(), ToString::to_string);
    SqlError::new(SqlState::INVALID_PARAMETER, format!("unit \"{unit}\" not recognized for type {of}"))
}

fn truncate(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let unit = text(arguments, 0)?.to_ascii_lowercase();
    if let Some(Datum::Interval(span)) = arguments.get(1) {
        return truncate_span(*span, &unit).map(Datum::Interval).ok_or_else(|| unknown_unit(&unit, call));
    }
    let time = micros(arguments, 1)?;
    if temporal::is_infinite(time) {
        return Ok(moment(time, call.result));
    }
    let zone = match (arguments.get(1), arguments.get(2)) {
        (Some(Datum::TimestampZoned(_)), None) => call.environment.zone(),
        (_, None) => Zone::Utc,
        (_, Some(_)) => super::zones::zone_of(text(arguments, 2)?)?,
    };
    let local = zone.local(time);
    let start = truncated(local, &unit).ok_or_else(|| unknown_unit(&unit, call))?;
    // The beginning of an hour lies as far from UTC as its end, even where an hour comes twice; that of a day may not.
    let is_within = ["hour", "minute", "second", "milli", "micro"].iter().any(|smaller| unit.starts_with(smaller));
    Ok(moment(if is_within { start - (local - time) } else { zone.moment(start)? }, call.result))
}

fn truncated(time: i64, unit: &str) -> Option<i64> {
    let floor = |size: i64| time.div_euclid(size) * size;
    let days = time.div_euclid(DAY);
    let (year, month, _) = date_of(days);
    let start = |year: i64, month: i64| days_of(year, month, 1) * DAY;
    Some(match unit.strip_suffix('s').unwrap_or(unit) {
        "microsecond" => time,
        "millisecond" => floor(1000),
        "second" => floor(SECOND),
        "minute" => floor(60 * SECOND),
        "hour" => floor(3600 * SECOND),
        "day" => floor(DAY),
        "week" => (days - (weekday(days) + 6) % 7) * DAY,
        "month" => start(year, month),
        "quarter" => start(year, (month - 1) / 3 * 3 + 1),
        "year" => start(year, 1),
        "decade" => start(year.div_euclid(10) * 10, 1),
        "century" | "centurie" => start((year - 1).div_euclid(100) * 100 + 1, 1),
        "millennium" => start((year - 1).div_euclid(1000) * 1000 + 1, 1),
        _ => return None,
    })
}

fn truncate_span(span: Span, unit: &str) -> Option<Span> {
    let micros = |size: i64| Span { microseconds: span.microseconds / size * size, ..span };
    let months = |size: i32| Span { months: span.months / size * size, days: 0, microseconds: 0 };
    Some(match unit.strip_suffix('s').unwrap_or(unit) {
        "microsecond" => span,
        "millisecond" => micros(1000),
        "second" => micros(SECOND),
        "minute" => micros(60 * SECOND),
        "hour" => micros(3600 * SECOND),
        "day" => Span { microseconds: 0, ..span },
        "month" => months(1),
        "quarter" => months(3),
        "year" => months(12),
        "decade" => months(120),
        "century" => months(1200),
        _ => return None,
    })
}

/// EXTRACT and date_part: exact, then of the type that the function gives.
pub(super) fn part(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let unit = text(arguments, 0)?.to_ascii_lowercase();
    let found = match arguments.get(1) {
        Some(Datum::Interval(span)) => span_part(*span, &unit),
        Some(Datum::Time(time)) => clock_part(*time, &unit).or((unit == "epoch").then(|| seconds(*time))),
        _ => {
            let time = micros(arguments, 1)?;
            if temporal::is_infinite(time) {
                return Err(SqlError::unsupported("a part of an infinite date"));
            }
            let has_clock = !matches!(arguments.get(1), Some(Datum::Date(_)));
            let local = wall(arguments, 1, call)?;
            match arguments.get(1) {
                Some(Datum::TimestampZoned(_)) if unit == "epoch" => Some(seconds(time)),
                Some(Datum::TimestampZoned(_)) => {
                    zone_part(local - time, &unit).or_else(|| moment_part(local, &unit, has_clock))
                }
                _ => moment_part(local, &unit, has_clock),
            }
        }
    };
    let value = found.ok_or_else(|| unknown_unit(&unit, call))?;
    Ok(match call.result {
        SqlType::Double => Datum::Real(number::real_of_decimal(&value)),
        SqlType::Integer { .. } => {
            Datum::Integer(number::integer_of_decimal(&number::truncate_decimal(&value, 0)).unwrap_or(0))
        }
        _ => Datum::Decimal(value),
    })
}

fn seconds(micros: i64) -> BigDecimal {
    BigDecimal::new(micros.into(), 6)
}

/// Of the distance from UTC, in microseconds.
fn zone_part(east: i64, unit: &str) -> Option<BigDecimal> {
    let seconds = east / SECOND;
    Some(BigDecimal::from(match unit {
        "timezone" => seconds,
        "timezone_hour" => seconds / 3600,
        "timezone_minute" => seconds / 60 % 60,
        _ => return None,
    }))
}

fn moment_part(time: i64, unit: &str, has_clock: bool) -> Option<BigDecimal> {
    let days = time.div_euclid(DAY);
    let (year, month, day) = date_of(days);
    Some(BigDecimal::from(match unit {
        "year" => without_zero(year),
        "month" => month,
        "day" => day,
        "quarter" => (month - 1) / 3 + 1,
        "dow" => weekday(days),
        "isodow" => (weekday(days) + 6) % 7 + 1,
        "doy" => days - days_of(year, 1, 1) + 1,
        "week" => iso_week(days).1,
        "isoyear" => without_zero(iso_week(days).0),
        "decade" => year.div_euclid(10),
        "century" => counted_from_one(year, 100),
        "millennium" => counted_from_one(year, 1000),
        "julian" if !has_clock => days + 2_440_588,
        "epoch" if !has_clock => days * 86_400,
        "epoch" => return Some(seconds(time)),
        _ if has_clock => return clock_part(time.rem_euclid(DAY), unit),
        _ => return None,
    }))
}

/// The calendar counts 1 BC as 0, people as -1.
fn without_zero(year: i64) -> i64 {
    if year > 0 { year } else { year - 1 }
}

/// Which century or millennium a year is in: there is none of number 0.
fn counted_from_one(year: i64, size: i64) -> i64 {
    if year > 0 { (year + size - 1) / size } else { -((size - year) / size) }
}

fn clock_part(time: i64, unit: &str) -> Option<BigDecimal> {
    Some(match unit {
        "hour" => BigDecimal::from(time / (3600 * SECOND)),
        "minute" => BigDecimal::from(time / (60 * SECOND) % 60),
        "second" => seconds(time % (60 * SECOND)),
        "millisecond" | "milliseconds" => BigDecimal::new((time % (60 * SECOND)).into(), 3),
        "microsecond" | "microseconds" => BigDecimal::from(time % (60 * SECOND)),
        _ => return None,
    })
}

fn span_part(span: Span, unit: &str) -> Option<BigDecimal> {
    Some(match unit {
        "year" => BigDecimal::from(span.months / 12),
        "month" => BigDecimal::from(span.months % 12),
        "quarter" => BigDecimal::from(span.months % 12 / 3 + 1),
        "decade" => BigDecimal::from(span.months / 120),
        "century" => BigDecimal::from(span.months / 1200),
        "millennium" => BigDecimal::from(span.months / 12_000),
        "day" => BigDecimal::from(span.days),
        // A year is 365.25 days here, a month of the rest 30.
        "epoch" => {
            let years = i128::from(span.months / 12) * 31_557_600_000_000;
            let months = i128::from(span.months % 12) * 30 * i128::from(DAY);
            let total = years + months + i128::from(span.days) * i128::from(DAY) + i128::from(span.microseconds);
            BigDecimal::new(total.into(), 6)
        }
        _ => return clock_part(span.microseconds, unit),
    })
}

/// The year and week of ISO 8601: a week belongs to the year that its Thursday is in.
pub(super) fn iso_week(days: i64) -> (i64, i64) {
    let thursday = days - (weekday(days) + 6) % 7 + 3;
    let (year, _, _) = date_of(thursday);
    (year, (thursday - days_of(year, 1, 1)) / 7 + 1)
}

/// The difference in years, months, days and time, as people count ages.
fn age_between(later: i64, earlier: i64, zone: Zone) -> Result<Span, SqlError> {
    if temporal::is_infinite(later) || temporal::is_infinite(earlier) {
        return Err(temporal::out_of_range("timestamp"));
    }
    if later < earlier {
        return age_between(earlier, later, zone)?.checked_neg();
    }
    let (later, earlier) = (zone.local(later), zone.local(earlier));
    let ((later_year, later_month, later_day), (year, month, day)) =
        (date_of(later.div_euclid(DAY)), date_of(earlier.div_euclid(DAY)));
    let mut micros = later.rem_euclid(DAY) - earlier.rem_euclid(DAY);
    let mut days = later_day - day;
    let mut months = (later_year - year) * 12 + later_month - month;
    if micros < 0 {
        micros += DAY;
        days -= 1;
    }
    if days < 0 {
        // The borrowed month is the one in which the earlier date lies.
        days += temporal::days_of_month(year, month);
        months -= 1;
    }
    Ok(Span { months: months as i32, days: days as i32, microseconds: micros })
}

fn age(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let zone = match call.parameters.first() {
        Some(SqlType::TimestampZoned(_)) => call.environment.zone(),
        _ => Zone::Utc,
    };
    age_between(micros(arguments, 0)?, micros(arguments, 1)?, zone).map(Datum::Interval)
}

fn age_today(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let today = here(call).div_euclid(DAY) * DAY;
    match arguments.first() {
        Some(Datum::TimestampZoned(time)) => {
            let zone = call.environment.zone();
            age_between(zone.moment(today)?, *time, zone).map(Datum::Interval)
        }
        _ => age_between(today, micros(arguments, 0)?, Zone::Utc).map(Datum::Interval),
    }
}

fn make_date(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (year, month, day) = (integer(arguments, 0)?, integer(arguments, 1)?, integer(arguments, 2)?);
    Ok(Datum::Date(temporal::checked_date(checked_days(year, month, day)?)?))
}

/// The day number of a date that exists.
pub(super) fn checked_days(year: i128, month: i128, day: i128) -> Result<i64, SqlError> {
    let sound = year != 0 && (-4712..6_000_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let year = if year < 0 { year + 1 } else { year } as i64;
    if !sound || day as i64 > temporal::days_of_month(year, month as i64) {
        return Err(SqlError::new(SqlState::DATETIME_OVERFLOW, "date field value out of range"));
    }
    Ok(days_of(year, month as i64, day as i64))
}

fn checked_clock(arguments: &[Datum], place: usize) -> Result<i64, SqlError> {
    let (hour, minute, second) =
        (integer(arguments, place)?, integer(arguments, place + 1)?, real(arguments, place + 2)?);
    let sound = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0).contains(&second);
    let time =
        ((hour * 3600 + minute * 60) as i64).saturating_mul(SECOND).saturating_add((second * 1e6).round() as i64);
    if sound && time <= DAY {
        Ok(time)
    } else {
        Err(SqlError::new(SqlState::DATETIME_OVERFLOW, "time field value out of range"))
    }
}

fn make_time(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    checked_clock(arguments, 0).map(Datum::Time)
}

fn make_timestamp(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let days = checked_days(integer(arguments, 0)?, integer(arguments, 1)?, integer(arguments, 2)?)?;
    let clock = checked_clock(arguments, 3)?;
    Ok(Datum::Timestamp(temporal::checked_timestamp(i128::from(days) * i128::from(DAY) + i128::from(clock))?))
}

fn make_zoned(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let local = micros(&[make_timestamp(arguments, call)?], 0)?;
    let zone = match arguments.get(6) {
        Some(_) => super::zones::written_zone(text(arguments, 6)?)?,
        None => call.environment.zone(),
    };
    zone.moment(local).map(Datum::TimestampZoned)
}

fn make_interval(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let units = ["year", "month", "week", "day", "hour", "minute", "second"];
    let mut sum = Span::default();
    if arguments.len() > units.len() {
        return Err(invalid("make_interval takes at most seven arguments"));
    }
    for (place, unit) in units.iter().enumerate().take(arguments.len()) {
        let one = Span::of_unit(real(arguments, place)?, unit).ok_or_else(|| temporal::out_of_range("interval"))?;
        sum = sum.checked_add(one)?;
    }
    Ok(Datum::Interval(sum))
}

/// Moves whole units up, and makes the signs agree.
fn carried(low: i64, size: i64, high: i64) -> (i64, i64) {
    let (mut low, mut high) = (low % size, high + low / size);
    if high > 0 && low < 0 {
        (low, high) = (low + size, high - 1);
    } else if high < 0 && low > 0 {
        (low, high) = (low - size, high + 1);
    }
    (low, high)
}

/// An amount of months or days, unless there are too many.
fn amount(value: i64) -> Result<i32, SqlError> {
    i32::try_from(value).map_err(|_| temporal::out_of_range("interval"))
}

fn days_carried(span: Span) -> Result<Span, SqlError> {
    let (days, months) = carried(span.days.into(), 30, span.months.into());
    Ok(Span { months: amount(months)?, days: amount(days)?, ..span })
}

fn hours_carried(span: Span) -> Result<Span, SqlError> {
    let (microseconds, days) = carried(span.microseconds, DAY, span.days.into());
    Ok(Span { days: amount(days)?, microseconds, ..span })
}

fn justify_days(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    days_carried(interval(arguments, 0)?).map(Datum::Interval)
}

fn justify_hours(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    hours_carried(interval(arguments, 0)?).map(Datum::Interval)
}

fn justify(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let span = days_carried(hours_carried(interval(arguments, 0)?)?)?;
    let mixed = (span.months > 0 || (span.months == 0 && span.days > 0)) && span.microseconds < 0;
    let mixed_down = (span.months < 0 || (span.months == 0 && span.days < 0)) && span.microseconds > 0;
    let (step, micros) = if mixed {
        (-1, DAY)
    } else if mixed_down {
        (1, -DAY)
    } else {
        (0, 0)
    };
    let adjusted = Span { days: span.days + step, microseconds: span.microseconds + micros, ..span };
    days_carried(adjusted).map(Datum::Interval)
}

fn is_finite(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Boolean(!temporal::is_infinite(micros(arguments, 0)?)))
}

fn from_seconds(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let micros = (real(arguments, 0)? * 1e6).round();
    if micros.abs() > 9e18 || micros.is_nan() {
        return Err(temporal::out_of_range("timestamp"));
    }
    Ok(Datum::TimestampZoned(temporal::checked_timestamp(micros as i128)?))
}
