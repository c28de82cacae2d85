//! Intervals: reading, printing, and adding them to dates.
//!
//! An interval is months, days and microseconds, which do not convert into one another: a month later is the same day of the next
//! month (or its last), whatever its length.
//!
//! ```text
//!   '1 year 2 mons -3 days 04:05:06.5'  =  'P1Y2M-3DT4H5M6.5S'  =  14 months, -3 days, 14706500000 microseconds
//!   2024-01-31 + '1 mon'                =  2024-02-29
//! ```

use crate::temporal::{self, DAY, SECOND, date_of, days_of, days_of_month};
use crate::{SqlError, SqlState};

/// A span of time, in the three units that do not convert into one another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Interval {
    /// Months; a year is twelve.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub microseconds: i64,
}

impl Interval {
    /// PostgreSQL's text.
    pub(crate) fn print(&self) -> String {
        let mut text = String::new();
        let mut negative = false;
        let parts = [(self.months / 12, "year"), (self.months % 12, "mon"), (self.days, "day")];
        for (amount, unit) in parts.into_iter().filter(|(amount, _)| *amount != 0) {
            let blank = if text.is_empty() { "" } else { " " };
            let sign = if negative && amount > 0 { "+" } else { "" };
            let plural = if amount == 1 { "" } else { "s" };
            text.push_str(&format!("{blank}{sign}{amount} {unit}{plural}"));
            negative = amount < 0;
        }
        if self.microseconds != 0 || text.is_empty() {
            let blank = if text.is_empty() { "" } else { " " };
            let sign = if negative && self.microseconds >= 0 { "+" } else { "" };
            text.push_str(&format!("{blank}{sign}{}", temporal::print_time(self.microseconds, None)));
        }
        text
    }

    /// Reads PostgreSQL's and ISO 8601's texts.
    pub(crate) fn parse(text: &str) -> Result<Interval, SqlError> {
        let invalid =
            || SqlError::new(SqlState::INVALID_DATETIME, format!("invalid input syntax for type interval: \"{text}\""));
        let trimmed = text.trim().to_ascii_lowercase();
        let mut sum = Sum::default();
        let read = match trimmed.strip_prefix('p') {
            Some(iso) => sum.take_iso(iso),
            None => sum.take_words(trimmed.strip_prefix('@').unwrap_or(&trimmed)),
        };
        read.filter(|_| sum.any).ok_or_else(invalid)?;
        sum.interval().ok_or_else(|| temporal::out_of_range("interval"))
    }

    /// An amount of a unit (`day`, `months`, …); fractions spill into smaller units.
    pub(crate) fn of_unit(amount: f64, unit: &str) -> Option<Interval> {
        let mut sum = Sum::default();
        sum.add(amount, unit)?;
        sum.interval()
    }

    /// The sum, unless it is out of range.
    pub(crate) fn checked_add(self, other: Interval) -> Result<Interval, SqlError> {
        let sum = || {
            Some(Interval {
                months: self.months.checked_add(other.months)?,
                days: self.days.checked_add(other.days)?,
                microseconds: self.microseconds.checked_add(other.microseconds)?,
            })
        };
        sum().ok_or_else(|| temporal::out_of_range("interval"))
    }

    /// The same backwards.
    pub(crate) fn checked_neg(self) -> Result<Interval, SqlError> {
        let negative = || {
            Some(Interval {
                months: self.months.checked_neg()?,
                days: self.days.checked_neg()?,
                microseconds: self.microseconds.checked_neg()?,
            })
        };
        negative().ok_or_else(|| temporal::out_of_range("interval"))
    }

    /// So many times as long; fractions of months become days of a 30-day month, fractions of days become time.
    pub(crate) fn scale(self, factor: f64) -> Result<Interval, SqlError> {
        let range = || temporal::out_of_range("interval");
        if !factor.is_finite() {
            return Err(range());
        }
        let months = f64::from(self.months) * factor;
        let days = f64::from(self.days) * factor;
        // Rounding to microseconds removes what binary fractions add: 0.1 month is 3 days, not 2 days 23:59:59.999999.
        let exact = |value: f64| (value * 1e6).round() / 1e6;
        let month_days = exact((months - months.trunc()) * 30.0);
        let seconds = exact((days - days.trunc() + month_days - month_days.trunc()) * 86_400.0);
        let micros = (self.microseconds as f64 * factor + seconds * 1e6).round_ties_even();
        let whole_days = days.trunc() + month_days.trunc();
        if months.abs() > 2e9 || whole_days.abs() > 2e9 || micros.abs() > 9e18 {
            return Err(range());
        }
        Ok(Interval { months: months.trunc() as i32, days: whole_days as i32, microseconds: micros as i64 })
    }

    /// A timestamp this much later.
    pub fn after(self, time: i64) -> Result<i64, SqlError> {
        if temporal::is_infinite(time) {
            return Ok(time);
        }
        let (days, clock) = (time.div_euclid(DAY), time.rem_euclid(DAY));
        let days = months_later(days, self.months) + i64::from(self.days);
        temporal::checked_timestamp(
            i128::from(days) * i128::from(DAY) + i128::from(clock) + i128::from(self.microseconds),
        )
    }
}

/// The day this many months later: the same day of that month, or its last.
pub(crate) fn months_later(days: i64, months: i32) -> i64 {
    if months == 0 {
        return days;
    }
    let (year, month, day) = date_of(days);
    let total = month - 1 + i64::from(months);
    let (year, month) = (year + total.div_euclid(12), total.rem_euclid(12) + 1);
    days_of(year, month, day.min(days_of_month(year, month)))
}

#[derive(Default)]
struct Sum {
    months: f64,
    days: f64,
    micros: f64,
    any: bool,
}

impl Sum {
    fn interval(&self) -> Option<Interval> {
        let fits = self.months.abs() < 2147483648.0 && self.days.abs() < 2147483648.0 && self.micros.abs() < 9.2e18;
        let interval = Interval {
            months: self.months as i32,
            days: self.days as i32,
            microseconds: self.micros.round_ties_even() as i64,
        };
        fits.then_some(interval)
    }

    /// Adds an amount of a unit; what is no whole month or day goes into the smaller units.
    fn add(&mut self, amount: f64, unit: &str) -> Option<()> {
        self.any = true;
        let unit = if unit.len() > 2 { unit.strip_suffix('s').unwrap_or(unit) } else { unit };
        match unit {
            "microsecond" | "usec" | "us" | "usecond" => self.micros += amount,
            "millisecond" | "msec" | "ms" | "msecond" => self.micros += amount * 1e3,
            "second" | "sec" | "s" => self.micros += amount * 1e6,
            "minute" | "min" | "m" => self.micros += amount * 6e7,
            "hour" | "hr" | "h" => self.micros += amount * 3.6e9,
            "day" | "d" => self.add_days(amount),
            "week" | "w" => self.add_days(amount * 7.0),
            "month" | "mon" => self.add_months(amount),
            "quarter" => self.add_months(amount * 3.0),
            "year" | "yr" | "y" => self.months += (amount * 12.0).round(),
            "decade" | "dec" => self.months += (amount * 120.0).round(),
            "century" | "centurie" | "c" => self.months += (amount * 1200.0).round(),
            "millennium" | "mil" => self.months += (amount * 12000.0).round(),
            _ => return None,
        }
        Some(())
    }

    fn add_days(&mut self, amount: f64) {
        self.days += amount.trunc();
        self.micros += (amount.fract() * DAY as f64).round();
    }

    fn add_months(&mut self, amount: f64) {
        self.months += amount.trunc();
        self.add_days((amount.fract() * 30.0 * 1e9).round() / 1e9);
    }

    fn take_words(&mut self, text: &str) -> Option<()> {
        let mut words = split(text).into_iter().peekable();
        while let Some(word) = words.next() {
            if word == "ago" {
                (self.months, self.days, self.micros) = (-self.months, -self.days, -self.micros);
            } else if word.contains(':') {
                self.take_clock(&word)?;
            } else if let Some((years, months)) = word.get(1..).and_then(|rest| rest.split_once('-')) {
                let sign = if word.starts_with('-') { -1.0 } else { 1.0 };
                let years = format!("{}{years}", &word[..1].trim_start_matches(['-', '+']));
                self.add(sign * years.parse::<f64>().ok()?, "year")?;
                self.add(sign * months.parse::<f64>().ok()?, "month")?;
            } else {
                let amount: f64 = word.parse().ok()?;
                match words.next_if(|next| next.starts_with(|first: char| first.is_ascii_alphabetic()) && next != "ago")
                {
                    Some(unit) => self.add(amount, &unit)?,
                    // A number before a clock is days, a number alone is seconds.
                    None if words.peek().is_some_and(|next| next.contains(':')) => self.add(amount, "day")?,
                    None => self.add(amount, "second")?,
                }
            }
        }
        Some(())
    }

    fn take_clock(&mut self, word: &str) -> Option<()> {
        let (sign, clock) = match word.strip_prefix('-') {
            Some(clock) => (-1.0, clock),
            None => (1.0, word.strip_prefix('+').unwrap_or(word)),
        };
        let mut fields = clock.splitn(3, ':');
        let hours: f64 = fields.next()?.parse().ok()?;
        let minutes: f64 = fields.next()?.parse().ok()?;
        let micros = fields.next().map_or(Some(0), temporal::parse_seconds)?;
        self.any = true;
        self.micros += sign * ((hours * 3600.0 + minutes * 60.0) * SECOND as f64 + micros as f64);
        (minutes < 60.0 && micros <= 60 * SECOND).then_some(())
    }

    fn take_iso(&mut self, text: &str) -> Option<()> {
        let mut in_time = false;
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('t') {
                (in_time, rest) = (true, after);
                continue;
            }
            let end = rest.find(|letter: char| letter.is_ascii_alphabetic())?;
            let amount: f64 = rest[..end].parse().ok()?;
            match (&rest[end..=end], in_time) {
                ("y", false) => self.add(amount, "year")?,
                ("m", false) => self.add(amount, "month")?,
                ("w", false) => self.add(amount, "week")?,
                ("d", false) => self.add(amount, "day")?,
                ("h", true) => self.add(amount, "hour")?,
                ("m", true) => self.add(amount, "minute")?,
                ("s", true) => self.add(amount, "second")?,
                _ => return None,
            }
            rest = &rest[end + 1..];
        }
        Some(())
    }
}

/// Words, with the unit cut from its number where they are written together: `1day`.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in text.split_ascii_whitespace() {
        let is_number = word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.'));
        match word.find(|letter: char| letter.is_ascii_alphabetic()) {
            Some(place) if place > 0 && is_number => words.extend([word[..place].to_owned(), word[place..].to_owned()]),
            _ => words.push(word.to_owned()),
        }
    }
    words
}
