//! Time zones: how far a clock on the wall is from UTC, and how the settings of a session write that.
//!
//! ```text
//!   stored                       on the wall in Europe/Berlin       printed
//!   2024-03-31 00:59:59 UTC      2024-03-31 01:59:59                2024-03-31 01:59:59+01
//!   2024-03-31 01:00:00 UTC      2024-03-31 03:00:00                2024-03-31 03:00:00+02
//! ```
//!
//! Moments are kept in UTC; a [`Zone`] only matters on their way to and from local time: text, dates, calendar arithmetic. A local time
//! that is skipped in spring is read as before the change, one that comes twice in autumn as after it, as in PostgreSQL.
//!
//! A [`Style`] is all that reading and printing values depends on: the dialect, and the zone of the session. A dialect alone is a style
//! in UTC.

use crate::Dialect;
use crate::Interval;
use crate::SqlError;
use crate::temporal::{self, DAY, SECOND, date_of, days_of, weekday};
use chrono::{DateTime, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::{OffsetName, TZ_VARIANTS, Tz};

/// How values are read and printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// Which SQL.
    pub dialect: Dialect,
    /// Where the session's clock hangs.
    pub zone: Zone,
}

impl From<Dialect> for Style {
    fn from(dialect: Dialect) -> Style {
        Style { dialect, zone: Zone::Utc }
    }
}

/// A time zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Zone {
    /// UTC, under one of the names that print as `UTC`.
    #[default]
    Utc,
    /// Always this many seconds east of UTC; with letters (`GMT-01:00`) or without (`<+01>-01`).
    Fixed {
        /// Seconds.
        east: i32,
        /// Whether it has letters of its own, which are not kept.
        lettered: bool,
    },
    /// A zone of the IANA database.
    Named(Tz),
}

/// The last year whose changes the database writes out: later years go by the rules of one like them.
const LAST_YEAR: i64 = 2099;
/// Hours of a zone: PostgreSQL goes up to a week.
const MOST_HOURS: i64 = 167;

impl Zone {
    /// The zone that a setting names, and the name under which it is shown.
    pub fn of_setting(value: &str) -> Option<(Zone, String)> {
        let value = value.trim();
        if let Some(interval) = value.get(..8).filter(|word| word.eq_ignore_ascii_case("interval")) {
            return numbered(span_of(&value[interval.len()..])?);
        }
        match value.parse::<f64>() {
            // Hours to the east, where names count to the west.
            Ok(hours) if value.ends_with(|last: char| last.is_ascii_digit() || last == '.') => {
                numbered((hours * 3600.0).trunc() as i64)
            }
            _ => Zone::named(value),
        }
    }

    /// The zone of a name, and the name as it is shown: one of the database in any case, or a difference as POSIX writes it, to the
    /// west.
    pub(crate) fn named(name: &str) -> Option<(Zone, String)> {
        let exact: Option<Tz> = name.parse().ok();
        let found = exact.or_else(|| TZ_VARIANTS.iter().copied().find(|zone| zone.name().eq_ignore_ascii_case(name)));
        match found {
            Some(zone) if is_universal(zone) => Some((Zone::Utc, zone.name().to_owned())),
            Some(zone) => Some((Zone::Named(zone), zone.name().to_owned())),
            None => posix(name).map(|zone| (zone, name.to_ascii_uppercase())),
        }
    }

    /// What a clock on the wall shows at a moment; infinite times stay.
    pub(crate) fn local(self, moment: i64) -> i64 {
        if self == Zone::Utc || temporal::is_infinite(moment) { moment } else { moment + self.east(moment) }
    }

    /// The moment at which a clock on the wall shows a time.
    pub(crate) fn moment(self, local: i64) -> Result<i64, SqlError> {
        if self == Zone::Utc || temporal::is_infinite(local) {
            return Ok(local);
        }
        temporal::checked_timestamp(i128::from(local) - i128::from(self.east_of_local(local)))
    }

    /// Microseconds east of UTC at a moment.
    pub(crate) fn east(self, moment: i64) -> i64 {
        match self {
            Zone::Utc => 0,
            Zone::Fixed { east, .. } => i64::from(east) * SECOND,
            Zone::Named(zone) => seconds_at(zone, moment, |clock| zone.offset_from_utc_datetime(&clock)),
        }
    }

    fn east_of_local(self, local: i64) -> i64 {
        let Zone::Named(zone) = self else { return self.east(local) };
        seconds_at(zone, local, |clock| {
            // A day earlier the clock still showed the time before the change that skipped this one.
            let before = clock.checked_sub_signed(TimeDelta::days(1)).unwrap_or(clock);
            let found = zone.offset_from_local_datetime(&clock).latest();
            found.unwrap_or_else(|| zone.offset_from_utc_datetime(&before))
        })
    }

    /// `CET`; nothing where the letters are not known.
    pub(crate) fn abbreviation(self, moment: i64) -> Option<String> {
        match self {
            Zone::Utc => Some("UTC".to_owned()),
            Zone::Fixed { lettered: true, .. } => None,
            Zone::Fixed { .. } => Some(print_offset(self.east(moment))),
            Zone::Named(zone) => {
                let offset = zone.offset_from_utc_datetime(&clock_of(zone, moment)?);
                // Many zones have no letters but a number.
                let number = || print_offset(self.east(moment)).replace(':', "");
                Some(offset.abbreviation().map_or_else(number, str::to_owned))
            }
        }
    }
}

/// `+01`, `+05:30`, `-00:53:28`.
pub(crate) fn print_offset(east: i64) -> String {
    let sign = if east < 0 { '-' } else { '+' };
    let seconds = east.abs() / SECOND;
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (minutes, rest) {
        (0, 0) => format!("{sign}{hours:02}"),
        (_, 0) => format!("{sign}{hours:02}:{minutes:02}"),
        _ => format!("{sign}{hours:02}:{minutes:02}:{rest:02}"),
    }
}

fn is_universal(zone: Tz) -> bool {
    let name = zone.name();
    ["UTC", "UCT", "Zulu", "Universal"].contains(&name.strip_prefix("Etc/").unwrap_or(name))
}

fn seconds_at<O: Offset>(zone: Tz, time: i64, offset: impl Fn(NaiveDateTime) -> O) -> i64 {
    clock_of(zone, time).map_or(0, |clock| i64::from(offset(clock).fix().local_minus_utc()) * SECOND)
}

/// A time as the database takes it. After its last year, where the clocks still change, stands a year with the same calendar; where they
/// do not, any.
fn clock_of(zone: Tz, time: i64) -> Option<NaiveDateTime> {
    let clock = |time: i64| DateTime::from_timestamp_micros(time).map(|clock| clock.naive_utc());
    let days = time.div_euclid(DAY);
    let (year, month, day) = date_of(days);
    if year <= LAST_YEAR {
        return clock(time);
    }
    let at = |month: i64| Some(zone.offset_from_utc_datetime(&clock(days_of(LAST_YEAR, month, 1) * DAY)?).fix());
    let is_alike = |other: &i64| is_same_calendar(*other, year);
    let changes = at(1)? != at(7)?;
    let other = (LAST_YEAR - 27..=LAST_YEAR).find(is_alike).filter(|_| changes).unwrap_or(LAST_YEAR);
    // The first of March stands for a leap day, which only matters where nothing changes.
    clock(days_of(other, month, day) * DAY + time.rem_euclid(DAY))
}

fn is_same_calendar(left: i64, right: i64) -> bool {
    let (first, other) = (days_of(left, 1, 1), days_of(right, 1, 1));
    weekday(first) == weekday(other) && days_of(left + 1, 1, 1) - first == days_of(right + 1, 1, 1) - other
}

/// A difference to the east, shown as POSIX writes it: `<+01>-01`.
fn numbered(east: i64) -> Option<(Zone, String)> {
    if east.abs() > MOST_HOURS * 3600 {
        return None;
    }
    let shown = print_offset(east * SECOND);
    let west = if east < 0 { shown.replacen('-', "+", 1) } else { shown.replacen('+', "-", 1) };
    Some((Zone::Fixed { east: i32::try_from(east).ok()?, lettered: false }, format!("<{shown}>{west}")))
}

/// The seconds of `'+01:00' HOUR TO MINUTE` or `'1' HOUR`: an interval without months and days.
fn span_of(text: &str) -> Option<i64> {
    let (amount, unit) = text.trim().strip_prefix('\'')?.split_once('\'')?;
    let is_number = amount.trim().parse::<f64>().is_ok();
    let written = if is_number { format!("{amount} {}", unit.trim()) } else { amount.to_owned() };
    let span = Interval::parse(&written).ok()?;
    (span.months == 0 && span.days == 0).then_some(span.microseconds / SECOND)
}

/// `UTC+3`, `<+03>-03:00`, `-3`: letters or none, then hours, minutes and seconds to the west.
fn posix(name: &str) -> Option<Zone> {
    let (letters, rest) = match name.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>')?,
        None => {
            name.split_at(name.find(|letter: char| !letter.is_ascii_alphabetic()).filter(|end| *end != 1 && *end != 2)?)
        }
    };
    let (west, digits) = match rest.strip_prefix('-') {
        Some(digits) => (false, digits),
        None => (true, rest.strip_prefix('+').unwrap_or(rest)),
    };
    let fields: Vec<i64> = digits.split(':').map(temporal::number_of).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match fields[..] {
        [hours] => (hours, 0, 0),
        [hours, minutes] => (hours, minutes, 0),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return None,
    };
    if digits.starts_with(':') || hours > MOST_HOURS || minutes > 59 || seconds > 59 || digits.is_empty() {
        return None;
    }
    let distance = i32::try_from(hours * 3600 + minutes * 60 + seconds).ok()?;
    let east = if west { -distance } else { distance };
    let is_number = letters.starts_with(['+', '-']) && letters == print_offset(i64::from(east) * SECOND);
    Some(Zone::Fixed { east, lettered: !is_number })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        let parts = temporal::parse(text, "timestamp").unwrap();
        parts.date.unwrap() * DAY + parts.time.unwrap_or(0)
    }

    fn printed(name: &str, local: &str) -> String {
        let (zone, _) = Zone::of_setting(name).unwrap();
        let moment = zone.moment(at(local)).unwrap();
        temporal::print_timestamp(zone.local(moment), None, &print_offset(zone.east(moment)))
    }

    #[test]
    fn a_skipped_time_is_read_as_before_the_change_and_a_repeated_one_as_after_it() {
        assert_eq!(printed("Europe/Berlin", "2024-03-31 02:30"), "2024-03-31 03:30:00+02");
        assert_eq!(printed("Europe/Berlin", "2024-10-27 02:30"), "2024-10-27 02:30:00+01");
        // A whole day was skipped.
        assert_eq!(printed("Pacific/Apia", "2011-12-30 23:30"), "2011-12-31 23:30:00+14");
    }

    #[test]
    fn the_rules_go_on_after_the_last_year_of_the_database() {
        for year in [2099, 2100, 2101, 2150, 2396, 4000, 250_000] {
            assert_eq!(printed("Europe/Berlin", &format!("{year}-07-01")), format!("{year}-07-01 00:00:00+02"));
            assert_eq!(printed("Europe/Berlin", &format!("{year}-12-01")), format!("{year}-12-01 00:00:00+01"));
        }
        // In 2150 the last Sunday of March is the 29th.
        assert_eq!(printed("Europe/Berlin", "2150-03-29 02:30"), "2150-03-29 03:30:00+02");
        assert_eq!(
            printed("Africa/Casablanca", "2150-02-01"),
            printed("Africa/Casablanca", "2150-08-01").replace("-08-", "-02-")
        );
    }

    #[test]
    fn a_setting_is_a_name_or_hours_to_the_east_and_a_name_counts_to_the_west() {
        let shown = |value: &str| Zone::of_setting(value).map(|(_, shown)| shown);
        let east = |value: &str| Zone::of_setting(value).map(|(zone, _)| zone.east(0) / SECOND);
        assert_eq!(shown("europe/berlin").as_deref(), Some("Europe/Berlin"));
        assert_eq!(shown("3").as_deref(), Some("<+03>-03"));
        assert_eq!(shown("-7").as_deref(), Some("<-07>+07"));
        assert_eq!(shown("5.5").as_deref(), Some("<+05:30>-05:30"));
        assert_eq!(shown("INTERVAL '+00:00' HOUR TO MINUTE").as_deref(), Some("<+00>-00"));
        assert_eq!(east("INTERVAL '-08:30' HOUR TO MINUTE"), Some(-30_600));
        assert_eq!(east("INTERVAL '2' HOUR"), Some(7200));
        assert_eq!((east("+02"), east("+02:00")), (Some(7200), Some(-7200)));
        assert_eq!((east("GMT-01:00"), shown("gmt-01:00").as_deref()), (Some(3600), Some("GMT-01:00")));
        assert_eq!((east("<+03>-03"), east("UTC+3")), (Some(10_800), Some(-10_800)));
        for wrong in
            ["", "z", "CEST", "foo/bar", "200", "FOO4BAR", "INTERVAL '1 day'", "INTERVAL", "NaN", "inf", "UTC+", "é"]
        {
            assert_eq!(shown(wrong), None, "{wrong}");
        }
    }
}
