//! Dates and numbers by patterns: `to_char`, `to_date`, `date_format`, and MySQL's functions of dates.
//!
//! ```text
//!   to_char(timestamp '2024-01-31 10:20:30', 'YYYY-MM-DD HH24:MI')      2024-01-31 10:20
//!   to_char(1234.5, 'FM9,999.00')                                       1,234.50
//!   date_format('2024-01-31', '%W %e')                                  Wednesday 31
//! ```
//!
//! A pattern that is not known is refused rather than printed as it stands.

use super::Invocation;
use super::arguments::{Evaluated, answer, decimal, integer, interval, invalid, real, text};
use super::moments::{checked_days, iso_week, later, micros, part, wall};
use super::signature::{SignatureRow, TypePattern::*, row};
use crate::SqlError;
use crate::SqlType;
use crate::temporal::{self, DAY, SECOND, date_of, days_of, weekday};
use crate::{Datum, Zone, number};
use bigdecimal::Signed;

pub(super) const FUNCTIONS: &[SignatureRow] = &[
    row("to_char", &[Timestamp, Text], Text, print_moment).postgres(),
    row("to_char", &[Zoned, Text], Text, print_moment).postgres(),
    row("to_char", &[Numeric, Text], Text, print_number).postgres(),
    row("to_char", &[Integer, Text], Text, print_number).postgres(),
    row("to_char", &[Big, Text], Text, print_number).postgres(),
    row("to_char", &[Double, Text], Text, print_number).postgres(),
    row("to_date", &[Text, Text], Date, read_date).postgres(),
    row("to_timestamp", &[Text, Text], Zoned, read_date).postgres(),
    row("to_number", &[Text, Text], Numeric, read_number).postgres(),
    row("date_format", &[Timestamp, Text], Text, date_format).mysql(),
    row("time_format", &[Time, Text], Text, date_format).mysql(),
    row("str_to_date", &[Text, Text], Timestamp, string_to_date).mysql(),
    row("date_add", &[Text, Interval], Text, text_add).mysql(),
    row("date_sub", &[Text, Interval], Text, text_subtract).mysql(),
    row("adddate", &[Text, Interval], Text, text_add).mysql(),
    row("subdate", &[Text, Interval], Text, text_subtract).mysql(),
    row("date_add", &[Date, Interval], Date, date_add).mysql(),
    row("date_add", &[Timestamp, Interval], Timestamp, date_add).mysql(),
    row("adddate", &[Date, Interval], Date, date_add).mysql(),
    row("adddate", &[Timestamp, Interval], Timestamp, date_add).mysql(),
    row("date_sub", &[Date, Interval], Date, date_subtract).mysql(),
    row("date_sub", &[Timestamp, Interval], Timestamp, date_subtract).mysql(),
    row("subdate", &[Date, Interval], Date, date_subtract).mysql(),
    row("subdate", &[Timestamp, Interval], Timestamp, date_subtract).mysql(),
    row("datediff", &[Timestamp, Timestamp], Big, days_between).mysql(),
    row("timestampdiff", &[Text, Timestamp, Timestamp], Big, units_between).mysql(),
    row("unix_timestamp", &[], Big, unix_now).mysql(),
    row("unix_timestamp", &[Timestamp], Big, unix_time).mysql(),
    row("from_unixtime", &[Big], Timestamp, from_unix).mysql(),
    row("year", &[Timestamp], Integer, year).mysql(),
    row("month", &[Timestamp], Integer, month).mysql(),
    row("day", &[Timestamp], Integer, day).mysql(),
    row("dayofmonth", &[Timestamp], Integer, day).mysql(),
    row("quarter", &[Timestamp], Integer, quarter).mysql(),
    row("dayofweek", &[Timestamp], Integer, day_of_week).mysql(),
    row("weekday", &[Timestamp], Integer, week_day).mysql(),
    row("dayofyear", &[Timestamp], Integer, day_of_year).mysql(),
    row("dayname", &[Timestamp], Text, day_name).mysql(),
    row("monthname", &[Timestamp], Text, month_name).mysql(),
    row("last_day", &[Date], Date, last_day).mysql(),
    // A text is a time first: HOUR('10:20') needs no date.
    row("hour", &[Time], Integer, hour).mysql(),
    row("hour", &[Timestamp], Integer, hour).mysql(),
    row("minute", &[Time], Integer, minute).mysql(),
    row("minute", &[Timestamp], Integer, minute).mysql(),
    row("second", &[Time], Integer, second).mysql(),
    row("second", &[Timestamp], Integer, second).mysql(),
    row("microsecond", &[Timestamp], Integer, microsecond).mysql(),
    row("to_days", &[Date], Integer, to_days).mysql(),
    row("makedate", &[Integer, Integer], Date, make_date).mysql(),
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Longest first, so that `MONTH` is not read as `MON` and `TH`.
const PATTERNS: [&str; 36] = [
    "HH24", "HH12", "MONTH", "Month", "month", "YYYY", "IYYY", "SSSSS", "SSSS", "DAY", "Day", "day", "MON", "Mon",
    "mon", "YYY", "DDD", "HH", "MI", "SS", "MS", "US", "AM", "PM", "am", "pm", "YY", "MM", "DD", "DY", "Dy", "dy",
    "ID", "IW", "TZ", "OF",
];

struct CalendarTime {
    days: i64,
    clock: i64,
    year: i64,
    month: i64,
    day: i64,
}

impl CalendarTime {
    fn of(time: i64) -> CalendarTime {
        let (days, clock) = (time.div_euclid(DAY), time.rem_euclid(DAY));
        let (year, month, day) = date_of(days);
        CalendarTime { days, clock, year, month, day }
    }

    fn hour(&self) -> i64 {
        self.clock / (3600 * SECOND)
    }

    fn minute(&self) -> i64 {
        self.clock / (60 * SECOND) % 60
    }

    fn second(&self) -> i64 {
        self.clock / SECOND % 60
    }

    fn month_name(&self) -> &'static str {
        MONTHS[(self.month - 1) as usize % 12]
    }

    fn day_name(&self) -> &'static str {
        DAYS[weekday(self.days) as usize % 7]
    }

    /// One pattern; `None` if it is not known. The flag is FM: no blanks, no leading zeroes.
    fn print(&self, pattern: &str, bare: bool) -> Option<String> {
        let number = |value: i64, width: usize| if bare { value.to_string() } else { format!("{value:0width$}") };
        let name = |text: &str, width: usize| if bare { text.to_owned() } else { format!("{text:<width$}") };
        let half_day = if self.hour() < 12 { "am" } else { "pm" };
        Some(match pattern {
            "YYYY" => number(self.year, 4),
            "YYY" => number(self.year % 1000, 3),
            "YY" => number(self.year % 100, 2),
            "Y" => number(self.year % 10, 1),
            "MM" => number(self.month, 2),
            "DD" => number(self.day, 2),
            "DDD" => number(self.days - days_of(self.year, 1, 1) + 1, 3),
            "D" => (weekday(self.days) + 1).to_string(),
            "ID" => ((weekday(self.days) + 6) % 7 + 1).to_string(),
            "IYYY" => number(iso_week(self.days).0, 4),
            "IW" => number(iso_week(self.days).1, 2),
            "WW" => number((self.days - days_of(self.year, 1, 1)) / 7 + 1, 2),
            "Q" => ((self.month - 1) / 3 + 1).to_string(),
            "HH24" => number(self.hour(), 2),
            "HH" | "HH12" => number((self.hour() + 11) % 12 + 1, 2),
            "MI" => number(self.minute(), 2),
            "SS" => number(self.second(), 2),
            "MS" => number(self.clock % SECOND / 1000, 3),
            "US" => number(self.clock % SECOND, 6),
            "SSSS" | "SSSSS" => (self.clock / SECOND).to_string(),
            "AM" | "PM" => half_day.to_ascii_uppercase(),
            "am" | "pm" => half_day.to_owned(),
            "Month" => name(self.month_name(), 9),
            "MONTH" => name(&self.month_name().to_uppercase(), 9),
            "month" => name(&self.month_name().to_lowercase(), 9),
            "Mon" => self.month_name()[..3].to_owned(),
            "MON" => self.month_name()[..3].to_uppercase(),
            "mon" => self.month_name()[..3].to_lowercase(),
            "Day" => name(self.day_name(), 9),
            "DAY" => name(&self.day_name().to_uppercase(), 9),
            "day" => name(&self.day_name().to_lowercase(), 9),
            "Dy" => self.day_name()[..3].to_owned(),
            "DY" => self.day_name()[..3].to_uppercase(),
            "dy" => self.day_name()[..3].to_lowercase(),
            _ => return None,
        })
    }
}

/// The pattern that a text starts with.
fn pattern_of(text: &str) -> Option<&str> {
    let upper = text.to_ascii_uppercase();
    let exact = PATTERNS.iter().find(|pattern| text.starts_with(**pattern));
    let digits_only = |pattern: &&&str| upper.starts_with(**pattern) && !matches!(pattern.as_bytes()[0], b'A' | b'P');
    match exact.or_else(|| PATTERNS.iter().find(digits_only)) {
        Some(pattern) => Some(pattern),
        None if upper.starts_with("WW") => Some("WW"),
        None => match upper.as_bytes().first() {
            Some(b'Y') => Some("Y"),
            Some(b'D') => Some("D"),
            Some(b'Q') => Some("Q"),
            _ => None,
        },
    }
}

fn print_moment(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let time = micros(arguments, 0)?;
    if temporal::is_infinite(time) {
        return Ok(Datum::Null);
    }
    let moment = CalendarTime::of(wall(arguments, 0, call)?);
    let zone = match arguments.first() {
        Some(Datum::TimestampZoned(_)) => Some(call.environment.zone()),
        _ => None,
    };
    let mut rest = text(arguments, 1)?;
    let mut printed = String::new();
    while let Some(letter) = rest.chars().next() {
        let bare = rest.starts_with("FM");
        let body = if bare { &rest[2..] } else { rest };
        if let Some(quoted) = rest.strip_prefix('"') {
            let end = quoted.find('"').unwrap_or(quoted.len());
            printed.push_str(&quoted[..end]);
            rest = quoted.get(end + 1..).unwrap_or("");
        } else if let Some(pattern) = pattern_of(body) {
            printed.push_str(&match pattern {
                "TZ" | "OF" => print_zone(zone, time, &body[..2])?,
                _ => moment.print(pattern, bare).unwrap_or_default(),
            });
            rest = &body[pattern.len()..];
            if let Some(after) = rest.strip_prefix("th").or_else(|| rest.strip_prefix("TH")) {
                printed.push_str(ordinal(&printed));
                rest = after;
            }
        } else if letter.is_ascii_alphabetic() && letter != 'T' && letter != 'Z' {
            return Err(SqlError::unsupported(format!("the pattern \"{rest}\" of to_char")));
        } else {
            printed.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    answer(printed)
}

/// The letters of a zone at a moment, or its distance from UTC; a timestamp without one has neither letters nor distance.
fn print_zone(zone: Option<Zone>, moment: i64, pattern: &str) -> Result<String, SqlError> {
    let Some(zone) = zone else { return Ok(if pattern == "OF" { "+00".to_owned() } else { String::new() }) };
    if pattern.eq_ignore_ascii_case("of") {
        return Ok(crate::zone::print_offset(zone.east(moment)));
    }
    let unknown =
        || SqlError::unsupported("the pattern \"TZ\" of to_char in a time zone like GMT+1, whose letters are not kept");
    let letters = zone.abbreviation(moment).ok_or_else(unknown)?;
    Ok(if pattern == "tz" { letters.to_lowercase() } else { letters })
}

fn ordinal(printed: &str) -> &'static str {
    let digits: Vec<u8> = printed.bytes().rev().take(2).collect();
    match (digits.first(), digits.get(1)) {
        (_, Some(b'1')) => "th",
        (Some(b'1'), _) => "st",
        (Some(b'2'), _) => "nd",
        (Some(b'3'), _) => "rd",
        _ => "th",
    }
}

/// Numbers by 9, 0, point, comma, FM, S, MI; other patterns are refused.
fn print_number(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let pattern = text(arguments, 1)?.to_ascii_uppercase().replace('D', ".").replace('G', ",");
    let (bare, pattern) = match pattern.strip_prefix("FM") {
        Some(rest) => (true, rest.to_owned()),
        None => (false, pattern),
    };
    if !pattern.chars().all(|letter| matches!(letter, '9' | '0' | '.' | ',')) {
        return Err(SqlError::unsupported(format!("the pattern \"{pattern}\" of to_char for numbers")));
    }
    let (whole_pattern, fraction_pattern) = pattern.split_once('.').unwrap_or((&pattern, ""));
    let value = number::round_decimal(&decimal(arguments, 0)?, fraction_pattern.len() as i64);
    let digits = number::print_decimal(&value.abs());
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let whole = print_whole(whole.trim_start_matches('0'), whole_pattern, fraction_pattern.is_empty());
    let Some(whole) = whole else {
        let overflow: String =
            pattern.chars().map(|letter| if matches!(letter, '9' | '0') { '#' } else { letter }).collect();
        return answer(if bare { overflow } else { format!(" {overflow}") });
    };
    let fraction = if bare { kept_fraction(fraction, fraction_pattern) } else { fraction.to_owned() };
    let point = if pattern.contains('.') { "." } else { "" };
    let sign = if value.is_negative() {
        "-"
    } else if bare {
        ""
    } else {
        " "
    };
    let width = if bare { 0 } else { whole_pattern.len() + 1 };
    answer(format!("{:>width$}{point}{fraction}", format!("{sign}{}", whole.trim_start())))
}

/// The digits before the point in their pattern, blanks in front; nothing if there are too many.
fn print_whole(digits: &str, pattern: &str, is_all: bool) -> Option<String> {
    let mut digits: Vec<char> = digits.chars().collect();
    let mut printed = Vec::new();
    let zeroes_from = pattern.find('0');
    for (place, letter) in pattern.char_indices().rev() {
        let zero_filled = zeroes_from.is_some_and(|from| place >= from);
        match (letter, digits.is_empty()) {
            (',', false) => printed.push(','),
            (',', true) => printed.push(if zero_filled { ',' } else { ' ' }),
            (_, false) => printed.extend(digits.pop()),
            (_, true) if zero_filled || (is_all && printed.is_empty()) => printed.push('0'),
            _ => printed.push(' '),
        }
    }
    digits.is_empty().then(|| printed.into_iter().rev().collect())
}

/// FM drops zeroes at the end, up to the last 0 of the pattern.
fn kept_fraction(fraction: &str, pattern: &str) -> String {
    let least = pattern.rfind('0').map_or(0, |place| place + 1);
    let needed = fraction.trim_end_matches('0').len().max(least);
    fraction[..needed.min(fraction.len())].to_owned()
}

fn read_number(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let digits: String =
        text(arguments, 0)?.chars().filter(|letter| letter.is_ascii_digit() || matches!(letter, '.' | '-')).collect();
    number::parse_decimal(&digits).map(Datum::Decimal)
}

fn read_date(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let (mut rest, mut pattern) = (text(arguments, 0)?.trim_start(), text(arguments, 1)?);
    let mut fields = ParsedFields::default();
    while let Some(letter) = pattern.chars().next() {
        let body = pattern.strip_prefix("FM").unwrap_or(pattern);
        if let Some(found) = pattern_of(body) {
            rest = fields.take(found, rest.trim_start())?;
            pattern = &body[found.len()..];
        } else {
            pattern = &pattern[letter.len_utf8()..];
            rest = rest.strip_prefix(|first: char| first == letter || !first.is_alphanumeric()).unwrap_or(rest);
        }
    }
    match fields.finish(call.result)? {
        Datum::TimestampZoned(local) => call.environment.zone().moment(local).map(Datum::TimestampZoned),
        other => Ok(other),
    }
}

/// What a pattern has read.
struct ParsedFields {
    year: i128,
    month: i128,
    day: i128,
    clock: [i64; 3],
    fraction: i64,
    afternoon: Option<bool>,
}

impl Default for ParsedFields {
    fn default() -> Self {
        ParsedFields { year: 1, month: 1, day: 1, clock: [0; 3], fraction: 0, afternoon: None }
    }
}

impl ParsedFields {
    fn take<'text>(&mut self, pattern: &str, text: &'text str) -> Result<&'text str, SqlError> {
        let widest = match pattern {
            "YYYY" | "IYYY" => 4,
            "MS" | "YYY" | "DDD" => 3,
            "US" => 6,
            _ => 2,
        };
        let end = text.bytes().take(widest).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = text.split_at(end);
        let number =
            || digits.parse::<i64>().map_err(|_| invalid(format!("invalid value for \"{pattern}\": \"{text}\"")));
        match pattern {
            "YYYY" => self.year = number()?.into(),
            "YY" => self.year = i128::from(number()? + if number()? < 70 { 2000 } else { 1900 }),
            "MM" => self.month = number()?.into(),
            "DD" => self.day = number()?.into(),
            "HH24" | "HH" | "HH12" => self.clock[0] = number()?,
            "MI" => self.clock[1] = number()?,
            "SS" => self.clock[2] = number()?,
            "MS" | "US" => self.fraction = format!("{digits:0<6}").parse().unwrap_or(0),
            "AM" | "PM" | "am" | "pm" => {
                self.afternoon = Some(text.to_ascii_lowercase().starts_with('p'));
                return Ok(text.get(2..).unwrap_or(""));
            }
            "Mon" | "MON" | "mon" | "Month" | "MONTH" | "month" => return self.take_month(text, pattern.len() > 3),
            _ => return Err(SqlError::unsupported(format!("reading the pattern \"{pattern}\""))),
        }
        Ok(rest)
    }

    fn take_month<'text>(&mut self, text: &'text str, whole: bool) -> Result<&'text str, SqlError> {
        let lower = text.to_ascii_lowercase();
        for (place, name) in MONTHS.iter().enumerate() {
            let name = if whole { name.to_lowercase() } else { name[..3].to_lowercase() };
            if lower.starts_with(&name) {
                self.month = place as i128 + 1;
                return Ok(&text[name.len()..]);
            }
        }
        Err(invalid(format!("invalid value for a month: \"{text}\"")))
    }

    fn finish(&self, result: &SqlType) -> Evaluated {
        let days = checked_days(self.year, self.month, self.day)?;
        let [hour, minute, second] = self.clock;
        let hour = match self.afternoon {
            Some(true) if hour < 12 => hour + 12,
            Some(false) if hour == 12 => 0,
            _ => hour,
        };
        if hour > 23 || minute > 59 || second > 59 {
            return Err(temporal::out_of_range("time field value"));
        }
        let time = days * DAY + (hour * 3600 + minute * 60 + second) * SECOND + self.fraction;
        Ok(match result {
            SqlType::Date => Datum::Date(temporal::checked_date(days)?),
            SqlType::TimestampZoned(_) => Datum::TimestampZoned(time),
            _ => Datum::Timestamp(time),
        })
    }
}

/// MySQL's patterns as those above.
fn mysql_pattern(letter: char) -> Option<(&'static str, bool)> {
    Some(match letter {
        'Y' => ("YYYY", false),
        'y' => ("YY", false),
        'm' => ("MM", false),
        'c' => ("MM", true),
        'd' => ("DD", false),
        'e' => ("DD", true),
        'H' => ("HH24", false),
        'k' => ("HH24", true),
        'h' | 'I' => ("HH12", false),
        'l' => ("HH12", true),
        'i' => ("MI", false),
        's' | 'S' => ("SS", false),
        'f' => ("US", false),
        'p' => ("AM", false),
        'M' => ("Month", true),
        'b' => ("Mon", true),
        'W' => ("Day", true),
        'a' => ("Dy", true),
        'j' => ("DDD", false),
        _ => return None,
    })
}

fn date_format(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let moment = CalendarTime::of(micros(arguments, 0)?);
    let mut printed = String::new();
    let mut letters = text(arguments, 1)?.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            printed.push(letter);
            continue;
        }
        let Some(letter) = letters.next() else { break };
        match (letter, mysql_pattern(letter)) {
            ('T', _) => printed.push_str(&temporal::print_time(moment.clock / SECOND * SECOND, Some(0))),
            ('w', _) => printed.push_str(&weekday(moment.days).to_string()),
            (_, Some((pattern, bare))) => printed.push_str(&moment.print(pattern, bare).unwrap_or_default()),
            ('u' | 'U' | 'v' | 'V' | 'x' | 'X' | 'r' | 'D', None) => {
                return Err(SqlError::unsupported(format!("the pattern %{letter} of date_format")));
            }
            (other, None) => printed.push(other),
        }
    }
    answer(printed)
}

fn string_to_date(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let mut rest = text(arguments, 0)?.trim_start();
    let mut fields = ParsedFields::default();
    let mut letters = text(arguments, 1)?.chars();
    while let Some(letter) = letters.next() {
        if letter == '%' {
            let pattern = letters.next().and_then(mysql_pattern);
            let (pattern, _) = pattern.ok_or_else(|| SqlError::unsupported("this pattern of str_to_date"))?;
            match fields.take(pattern, rest) {
                Ok(after) => rest = after,
                Err(_) => return Ok(Datum::Null),
            }
        } else {
            rest = rest.strip_prefix(letter).unwrap_or(rest);
        }
    }
    fields.finish(call.result).or(Ok(Datum::Null))
}

fn date_add(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    later(arguments.first().unwrap_or(&Datum::Null), interval(arguments, 1)?, call.result)
}

fn date_subtract(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    later(arguments.first().unwrap_or(&Datum::Null), interval(arguments, 1)?.checked_neg()?, call.result)
}

/// MySQL gives back a date where a date was written, and a date with its time where either has one.
fn text_later(written: &str, span: crate::Interval) -> Evaluated {
    let Ok(parts) = temporal::parse(written, "datetime") else { return Ok(Datum::Null) };
    let Some(days) = parts.date else { return Ok(Datum::Null) };
    let time = span.after(days * DAY + parts.time.unwrap_or(0))?;
    if parts.time.is_none() && span.microseconds == 0 {
        return answer(temporal::print_date(temporal::checked_date(time.div_euclid(DAY))?));
    }
    let digits = if time.rem_euclid(SECOND) == 0 { Some(0) } else { Some(6) };
    answer(temporal::print_timestamp(time, digits, ""))
}

/// A text and an interval, in either order.
pub(super) fn text_add(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (written, span) = if matches!(arguments.first(), Some(Datum::Interval(_))) { (1, 0) } else { (0, 1) };
    text_later(text(arguments, written)?, interval(arguments, span)?)
}

pub(super) fn text_subtract(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    text_later(text(arguments, 0)?, interval(arguments, 1)?.checked_neg()?)
}

fn days_between(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let day = |place| micros(arguments, place).map(|time| i128::from(time.div_euclid(DAY)));
    Ok(Datum::Integer(day(0)? - day(1)?))
}

fn units_between(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (from, to) = (micros(arguments, 1)?, micros(arguments, 2)?);
    let whole = |size: i64| (i128::from(to) - i128::from(from)) / i128::from(size);
    Ok(Datum::Integer(match text(arguments, 0)?.to_ascii_lowercase().as_str() {
        "microsecond" => whole(1),
        "second" => whole(SECOND),
        "minute" => whole(60 * SECOND),
        "hour" => whole(3600 * SECOND),
        "day" => whole(DAY),
        "week" => whole(7 * DAY),
        "month" => months_between(from, to),
        "quarter" => months_between(from, to) / 3,
        "year" => months_between(from, to) / 12,
        other => return Err(invalid(format!("unit {other} is not known"))),
    }))
}

/// Whole months from one moment to the other.
fn months_between(from: i64, to: i64) -> i128 {
    if to < from {
        return -months_between(to, from);
    }
    let (start, end) = (CalendarTime::of(from), CalendarTime::of(to));
    let months = (end.year - start.year) * 12 + end.month - start.month;
    let is_full = (end.day, end.clock) >= (start.day, start.clock);
    i128::from(months - i64::from(!is_full))
}

fn unix_now(_: &[Datum], call: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(call.environment.transaction_time.div_euclid(SECOND).into()))
}

fn unix_time(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(micros(arguments, 0)?.div_euclid(SECOND).max(0).into()))
}

fn from_unix(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Timestamp(temporal::checked_timestamp(integer(arguments, 0)? * i128::from(SECOND))?))
}

/// One part of a date by its name.
fn named(arguments: &[Datum], call: Invocation<'_>, unit: &str) -> Evaluated {
    part(&[Datum::text(unit), arguments.first().cloned().unwrap_or_default()], call)
}

fn year(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    named(arguments, call, "year")
}

fn month(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    named(arguments, call, "month")
}

fn day(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    named(arguments, call, "day")
}

fn quarter(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    named(arguments, call, "quarter")
}

fn hour(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    named(arguments, call, "hour")
}

fn minute(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    named(arguments, call, "minute")
}

fn second(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    named(arguments, call, "second")
}

fn microsecond(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(micros(arguments, 0)?.rem_euclid(SECOND).into()))
}

fn day_of_year(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    named(arguments, call, "doy")
}

fn day_of_week(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(i128::from(weekday(micros(arguments, 0)?.div_euclid(DAY))) + 1))
}

fn week_day(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(i128::from((weekday(micros(arguments, 0)?.div_euclid(DAY)) + 6) % 7)))
}

fn day_name(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    answer(CalendarTime::of(micros(arguments, 0)?).day_name())
}

fn month_name(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    answer(CalendarTime::of(micros(arguments, 0)?).month_name())
}

fn last_day(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let moment = CalendarTime::of(micros(arguments, 0)?);
    let last = days_of(moment.year, moment.month + 1, 1) - 1;
    Ok(Datum::Date(temporal::checked_date(last)?))
}

fn to_days(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    Ok(Datum::Integer(i128::from(micros(arguments, 0)?.div_euclid(DAY)) + 719_528))
}

fn make_date(arguments: &[Datum], _: Invocation<'_>) -> Evaluated {
    let (year, day) = (real(arguments, 0)? as i64, integer(arguments, 1)? as i64);
    if !(1..=9999).contains(&year) || !(1..=4_000_000).contains(&day) {
        return Ok(Datum::Null);
    }
    Ok(Datum::Date(temporal::checked_date(days_of(year, 1, 1) + day - 1)?))
}
