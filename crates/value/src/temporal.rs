//! Dates and times: the calendar, reading and printing.
//!
//! ```text
//!   Date       days since 1970-01-01                    19723                     2024-01-01
//!   Timestamp  microseconds since 1970-01-01 00:00      1704067200000000          2024-01-01 00:00:00
//! ```
//!
//! The calendar is the Gregorian one without beginning, as in PostgreSQL. A text may carry an offset from UTC; what one without means is a
//! matter of time zones, which are in [`crate::Zone`]. The greatest and least integers stand for `infinity` and `-infinity`. Intervals are in [`crate::Interval`].

use crate::Dialect;
use crate::{SqlError, SqlState};

/// Microseconds of a second.
pub(crate) const SECOND: i64 = 1_000_000;
/// Microseconds of a day.
pub(crate) const DAY: i64 = 86_400 * SECOND;
/// The days of `infinity` and `-infinity`.
pub(crate) const INFINITE_DATE: i32 = i32::MAX;
/// The microseconds of `infinity`; the least integer is `-infinity`.
pub(crate) const INFINITE: i64 = i64::MAX;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The day number of a date of the calendar; the month may be out of its range and then moves the year.
pub(crate) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = (year + (month - 1).div_euclid(12), (month - 1).rem_euclid(12) + 1);
    // Years start in March, so that the leap day is the last of its year.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of a day number.
pub(crate) fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let place = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * place + 2) / 5 + 1;
    let month = if place < 10 { place + 3 } else { place - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// How many days a month has.
pub(crate) fn days_of_month(year: i64, month: i64) -> i64 {
    days_of(year, month + 1, 1) - days_of(year, month, 1)
}

/// 0 is Sunday.
pub(crate) fn weekday(days: i64) -> i64 {
    (days + 4).rem_euclid(7)
}

/// A date or time that does not exist.
pub(crate) fn out_of_range(what: &str) -> SqlError {
    SqlError::new(SqlState::DATETIME_OVERFLOW, format!("{what} out of range"))
}

/// Days as a date, if the calendar of PostgreSQL has it.
pub fn checked_date(days: i64) -> Result<i32, SqlError> {
    match i32::try_from(days) {
        Ok(days) if (-2_440_588..2_145_042_906).contains(&days) => Ok(days),
        _ => Err(out_of_range("date")),
    }
}

/// Microseconds as a timestamp, if PostgreSQL has it.
pub fn checked_timestamp(time: i128) -> Result<i64, SqlError> {
    match i64::try_from(time) {
        Ok(time) if (-210_866_803_200_000_000..9_223_371_331_200_000_000).contains(&time) => Ok(time),
        _ => Err(out_of_range("timestamp")),
    }
}

/// Whether the microseconds stand for `infinity` or `-infinity`.
pub(crate) fn is_infinite(time: i64) -> bool {
    time == INFINITE || time == i64::MIN
}

/// Whether the days stand for `infinity` or `-infinity`.
pub(crate) fn is_infinite_date(days: i32) -> bool {
    days == INFINITE_DATE || days == i32::MIN
}

/// The day of a timestamp; an infinite one has an infinite day.
pub(crate) fn day_of(time: i64) -> Result<i32, SqlError> {
    match time {
        INFINITE => Ok(INFINITE_DATE),
        i64::MIN => Ok(i32::MIN),
        _ => checked_date(time.div_euclid(DAY)),
    }
}

/// Rounds microseconds to this many digits of a second, halves away from zero.
pub(crate) fn round_time(time: i64, digits: Option<u8>) -> i64 {
    match digits {
        Some(digits) if digits < 6 && !is_infinite(time) => {
            let unit = 10i64.pow(6 - u32::from(digits));
            let half = if time < 0 { -unit / 2 } else { unit / 2 };
            time.saturating_add(half) / unit * unit
        }
        _ => time,
    }
}

/// Rounds a timestamp. PostgreSQL counts from 2000, and rounds halves away from there: 1999-12-31 23:59:58.5 is rounded down, and
/// 2000-01-01 00:00:01.5 up. MySQL rounds all halves up.
pub(crate) fn round_timestamp(time: i64, digits: Option<u8>, dialect: Dialect) -> i64 {
    let origin = match dialect {
        Dialect::Postgres => 10_957 * DAY,
        Dialect::MySql => -719_468 * DAY,
    };
    match time.checked_sub(origin) {
        Some(since) if !is_infinite(time) => round_time(since, digits) + origin,
        _ => time,
    }
}

/// `2024-01-31`, with ` BC` behind years before 1.
pub(crate) fn print_date(days: i32) -> String {
    match days {
        INFINITE_DATE => return "infinity".to_owned(),
        i32::MIN => return "-infinity".to_owned(),
        _ => {}
    }
    let (year, month, day) = date_of(days.into());
    if year > 0 { format!("{year:04}-{month:02}-{day:02}") } else { format!("{:04}-{month:02}-{day:02} BC", 1 - year) }
}

/// `10:20:30.5`: with exactly this many digits if told, else as few as needed. Negative and long times are MySQL's.
pub(crate) fn print_time(time: i64, digits: Option<u8>) -> String {
    let (sign, time) = if time < 0 { ("-", time.unsigned_abs()) } else { ("", time.unsigned_abs()) };
    let (seconds, fraction) = (time / SECOND as u64, time % SECOND as u64);
    let clock = format!("{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    clock + &print_fraction(fraction, digits)
}

/// `.5` of microseconds, or nothing.
pub(crate) fn print_fraction(fraction: u64, digits: Option<u8>) -> String {
    match digits {
        Some(0) => String::new(),
        Some(digits) => format!(".{}", &format!("{fraction:06}")[..usize::from(digits.min(6))]),
        None if fraction == 0 => String::new(),
        None => format!(".{}", format!("{fraction:06}").trim_end_matches('0')),
    }
}

/// `2024-01-31 10:20:30`.
pub(crate) fn print_timestamp(time: i64, digits: Option<u8>, zone: &str) -> String {
    match time {
        INFINITE => return "infinity".to_owned(),
        i64::MIN => return "-infinity".to_owned(),
        _ => {}
    }
    let date = print_date(time.div_euclid(DAY) as i32);
    let clock = print_time(time.rem_euclid(DAY), digits);
    match date.strip_suffix(" BC") {
        Some(date) => format!("{date} {clock}{zone} BC"),
        None => format!("{date} {clock}{zone}"),
    }
}

/// What a text of a date and time says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parts {
    /// The day number, where a date is written.
    pub(crate) date: Option<i64>,
    /// Microseconds since midnight, where a time is written.
    pub(crate) time: Option<i64>,
    /// Microseconds east of UTC, where a zone is written.
    pub(crate) offset: Option<i64>,
    /// `infinity` (1) or `-infinity` (-1).
    pub(crate) infinite: i8,
}

/// Reads a date, a time, or both, in the forms that PostgreSQL takes: ISO first, then names of months, then month/day/year.
pub(crate) fn parse(text: &str, type_name: &str) -> Result<Parts, SqlError> {
    let invalid =
        || SqlError::new(SqlState::INVALID_DATETIME, format!("invalid input syntax for type {type_name}: \"{text}\""));
    let lower = text.trim().to_ascii_lowercase();
    match lower.as_str() {
        "infinity" | "+infinity" => return Ok(Parts { infinite: 1, ..Parts::default() }),
        "-infinity" => return Ok(Parts { infinite: -1, ..Parts::default() }),
        "epoch" => return Ok(Parts { date: Some(0), time: Some(0), offset: Some(0), infinite: 0 }),
        "now" | "today" | "tomorrow" | "yesterday" => {
            return Err(SqlError::unsupported(format!("the literal '{lower}' of {type_name}"))
                .with_hint("now(), current_date and arithmetic on them say the same"));
        }
        _ => {}
    }
    let overflow =
        || SqlError::new(SqlState::DATETIME_OVERFLOW, format!("date/time field value out of range: \"{text}\""));
    let mut words = Words::default();
    for word in split_words(&lower) {
        words.take(word).ok_or_else(invalid)?;
    }
    words.parts().map_err(|wrong| if wrong { invalid() } else { overflow() })
}

/// Cuts at blanks, commas, and the `t` between date and time.
fn split_words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for word in text.split([' ', ',', '\t', '\n']).filter(|word| !word.is_empty()) {
        match word.split_once('t') {
            Some((date, time))
                if date.starts_with(|first: char| first.is_ascii_digit())
                    && time.starts_with(|first: char| first.is_ascii_digit()) =>
            {
                words.extend([date, time]);
            }
            _ => words.push(word),
        }
    }
    words
}

#[derive(Default)]
struct Words {
    date: Option<(i64, i64, i64)>,
    numbers: Vec<i64>,
    month: Option<i64>,
    time: Option<(i64, i64, i64)>,
    afternoon: Option<bool>,
    offset: Option<i64>,
    before_christ: bool,
}

impl Words {
    fn take(&mut self, word: &str) -> Option<()> {
        if word.contains(':') && word.starts_with(|first: char| first.is_ascii_digit()) && self.time.is_none() {
            return self.take_time(word);
        }
        match word {
            "bc" => self.before_christ = true,
            "ad" => {}
            "am" | "pm" => self.afternoon = Some(word == "pm"),
            "z" | "utc" | "gmt" | "zulu" => self.offset = Some(0),
            _ if self.time.is_some() && word.starts_with(['+', '-']) => self.offset = Some(parse_offset(word)?),
            _ if word.starts_with(|first: char| first.is_ascii_digit()) => return self.take_date(word),
            _ => match MONTHS.iter().position(|name| word.len() >= 3 && word.starts_with(name)) {
                Some(month) => self.month = Some(month as i64 + 1),
                None => return is_weekday(word).then_some(()),
            },
        }
        Some(())
    }

    fn take_time(&mut self, word: &str) -> Option<()> {
        let end = word.find(|letter: char| !letter.is_ascii_digit() && letter != ':' && letter != '.');
        let (clock, rest) = word.split_at(end.unwrap_or(word.len()));
        let mut fields = clock.splitn(3, ':');
        let hour: i64 = fields.next()?.parse().ok()?;
        let minute: i64 = fields.next()?.parse().ok()?;
        let micros = fields.next().map_or(Some(0), parse_seconds)?;
        self.time = Some((hour, minute, micros));
        if rest.is_empty() { Some(()) } else { self.take(rest) }
    }

    fn take_date(&mut self, word: &str) -> Option<()> {
        let fields: Vec<&str> = word.split(['-', '/', '.']).collect();
        match fields[..] {
            [all] if all.len() == 8 && number_of(all).is_some() && self.numbers.is_empty() && self.month.is_none() => {
                self.date = Some((all[..4].parse().ok()?, all[4..6].parse().ok()?, all[6..].parse().ok()?));
            }
            [one] => self.numbers.push(one.trim_end_matches(['s', 't', 'n', 'd', 'r', 'h']).parse().ok()?),
            [year, month, day] if year.len() >= 3 => {
                self.date = Some((year.parse().ok()?, month_of(month)?, day.parse().ok()?));
            }
            [first, second, year] => {
                let year = full_year(year)?;
                self.date = Some(match first.parse() {
                    Ok(month) if second.starts_with(|letter: char| letter.is_ascii_digit()) => {
                        (year, month, second.parse().ok()?)
                    }
                    _ => (year, month_of(second)?, first.parse().ok()?),
                });
            }
            _ => return None,
        }
        Some(())
    }

    /// `Err(true)` is a text that is no date, `Err(false)` one that names a day or time that does not exist.
    fn parts(mut self) -> Result<Parts, bool> {
        if let (Some(month), None) = (self.month, self.date) {
            self.date = match self.numbers[..] {
                [day, year] if day <= 31 => Some((year, month, day)),
                [year, day] => Some((year, month, day)),
                _ => return Err(true),
            };
        } else if !self.numbers.is_empty() {
            return Err(true);
        }
        let date = self.date.map(|(year, month, day)| self.day_number(year, month, day)).transpose()?;
        let time = self.time.map(|(hour, minute, micros)| self.clock(hour, minute, micros)).transpose()?;
        if date.is_none() && time.is_none() {
            Err(true)
        } else {
            Ok(Parts { date, time, offset: self.offset, infinite: 0 })
        }
    }

    fn day_number(&self, year: i64, month: i64, day: i64) -> Result<i64, bool> {
        let year = if self.before_christ { 1 - year } else { year };
        let known_year = (-4713..6_000_000).contains(&year) && (year != 0 || self.before_christ);
        let sound = known_year && (1..=12).contains(&month) && day >= 1;
        if sound && day <= days_of_month(year, month) { Ok(days_of(year, month, day)) } else { Err(false) }
    }

    fn clock(&self, hour: i64, minute: i64, micros: i64) -> Result<i64, bool> {
        let hour = match self.afternoon {
            Some(_) if !(1..=12).contains(&hour) => return Err(false),
            Some(true) if hour < 12 => hour + 12,
            Some(false) if hour == 12 => 0,
            _ => hour,
        };
        if !(0..=24).contains(&hour) || !(0..60).contains(&minute) || micros > 60 * SECOND {
            return Err(false);
        }
        let time = (hour * 3600 + minute * 60) * SECOND + micros;
        if time <= DAY { Ok(time) } else { Err(false) }
    }
}

/// Digits and nothing else: no sign.
pub(crate) fn number_of(text: &str) -> Option<i64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn month_of(text: &str) -> Option<i64> {
    match text.parse() {
        Ok(month) => Some(month),
        Err(_) => {
            MONTHS.iter().position(|name| text.len() >= 3 && text.starts_with(name)).map(|place| place as i64 + 1)
        }
    }
}

fn full_year(text: &str) -> Option<i64> {
    let year: i64 = text.parse().ok()?;
    Some(match text.len() {
        0..=2 if year < 70 => year + 2000,
        0..=2 => year + 1900,
        _ => year,
    })
}

fn is_weekday(word: &str) -> bool {
    ["sun", "mon", "tue", "wed", "thu", "fri", "sat"].iter().any(|name| word.starts_with(name))
}

/// `30.5` as microseconds, rounded.
pub(crate) fn parse_seconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds = if whole.is_empty() && !fraction.is_empty() { 0 } else { number_of(whole)? };
    let digits = format!("{fraction:0<7}");
    let micros: i64 = digits[..6].parse().ok()?;
    let rounded = micros + i64::from(digits.as_bytes()[6] >= b'5');
    seconds.checked_mul(SECOND)?.checked_add(rounded)
}

/// `+02`, `+02:30`, `-0330` as microseconds east of UTC.
fn parse_offset(text: &str) -> Option<i64> {
    let (sign, digits) = (if text.starts_with('-') { -1 } else { 1 }, text[1..].replace(':', ""));
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes, seconds) = match digits.len() {
        1 | 2 => (digits.as_str(), "0", "0"),
        4 => (&digits[..2], &digits[2..], "0"),
        6 => (&digits[..2], &digits[2..4], &digits[4..]),
        _ => return None,
    };
    let seconds: i64 =
        hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60 + seconds.parse::<i64>().ok()?;
    (seconds < 16 * 3600).then_some(sign * seconds * SECOND)
}
