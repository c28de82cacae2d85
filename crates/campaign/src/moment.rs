//! When the time of a database begins, `2026-01-31T12:00:00Z`, and how long something may take, `30s`: as people write it.

use skew_sql::by_place::{EPOCH, SECOND};
use skew_value::{Datum, Dialect, SqlType};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Times from the year 1 to 9999, between which every text is read back as it was written.
const LIFETIME: std::ops::Range<i64> = -62_135_596_800_000_000..253_402_300_800_000_000;

/// A moment at which the time of a database begins, in microseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment(pub i64);

impl Moment {
    /// The usual one.
    pub const USUAL: Moment = Moment(EPOCH);

    /// So many seconds after 1970.
    pub fn at_second(seconds: i64) -> Moment {
        Moment(seconds * SECOND)
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Moment, String> {
        match skew_value::input(text, &SqlType::TimestampZoned(None), Dialect::Postgres) {
            Ok(Datum::TimestampZoned(moment)) if LIFETIME.contains(&moment) => Ok(Moment(moment)),
            _ => Err(format!("`{text}` is not a time; write it like 2026-01-31T12:00:00Z or '2026-01-31 12:00:00+01'")),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = Datum::TimestampZoned(self.0);
        let text = skew_value::output(&value, &SqlType::TimestampZoned(None), Dialect::Postgres);
        write!(formatter, "{}", text.replacen(' ', "T", 1).replacen("+00", "Z", 1))
    }
}

/// Reads `30s`, `500ms`, `2m`, `1h` or a number of seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    let parsed = units.into_iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Duration::try_from_secs_f64(number * seconds).ok()
    });
    parsed.ok_or_else(|| format!("`{text}` is not a time; write it like 30s, 500ms, 2m or 1h"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("2"), Ok(Duration::from_secs(2)));
        for wrong in ["", "s", "-1s", "soon", "1e400h", "nans"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
