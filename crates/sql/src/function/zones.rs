//! `AT TIME ZONE`: how far a zone is from UTC at a moment.
//!
//! ```text
//!   'UTC', 'Z'             0
//!   '+02'                  two hours *west*: PostgreSQL reads signs as POSIX does
//!   'America/New_York'     four or five hours west, by the time of the year; names in any case
//! ```
//!
//! A local time that is skipped in spring is read as before the change, one that comes twice in autumn as after it, as in PostgreSQL.

use super::Invocation;
use super::arguments::{Answer, text, time};
use super::moments::moment;
use crate::error::{SqlError, SqlState};
use crate::value::Datum;
use crate::value::temporal::{self, SECOND};
use crate::value::types::SqlType;
use chrono::{DateTime, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};

/// A local time in a zone as a moment, or a moment as the local time of a zone.
pub(super) fn at_zone(arguments: &[Datum], call: Invocation<'_>) -> Answer {
    let time = time(arguments, 1)?;
    if temporal::is_infinite(time) {
        return Ok(moment(time, call.result));
    }
    let is_local = matches!(call.result, SqlType::TimestampZoned(_));
    let offset = i128::from(offset(text(arguments, 0)?.trim(), time, is_local)?);
    let shifted = if is_local { i128::from(time) - offset } else { i128::from(time) + offset };
    Ok(moment(temporal::checked_timestamp(shifted)?, call.result))
}

/// Microseconds east of UTC.
fn offset(zone: &str, time: i64, is_local: bool) -> Result<i64, SqlError> {
    match zone.to_ascii_lowercase().as_str() {
        "utc" | "gmt" | "z" | "zulu" | "etc/utc" | "universal" => Ok(0),
        _ if zone.starts_with(['+', '-']) => {
            let parts = temporal::parse(&format!("00:00:00{zone}"), "time zone")?;
            Ok(-parts.offset.unwrap_or(0))
        }
        _ => {
            let unknown = || SqlError::new(SqlState::INVALID_PARAMETER, format!("time zone \"{zone}\" not recognized"));
            let zone = named(zone).ok_or_else(unknown)?;
            let clock = DateTime::from_timestamp_micros(time).ok_or_else(|| temporal::out_of_range("timestamp"))?;
            Ok(i64::from(seconds_east(zone, clock.naive_utc(), is_local)) * SECOND)
        }
    }
}

fn named(name: &str) -> Option<Tz> {
    let exact = name.parse().ok();
    exact.or_else(|| TZ_VARIANTS.iter().copied().find(|zone| zone.name().eq_ignore_ascii_case(name)))
}

fn seconds_east(zone: Tz, clock: NaiveDateTime, is_local: bool) -> i32 {
    let found = if is_local { zone.offset_from_local_datetime(&clock).latest() } else { None };
    // Skipped hours are few: some hours earlier the clock still showed the time before the change.
    let before = if is_local { clock.checked_sub_signed(TimeDelta::hours(12)).unwrap_or(clock) } else { clock };
    found.unwrap_or_else(|| zone.offset_from_utc_datetime(&before)).fix().local_minus_utc()
}
