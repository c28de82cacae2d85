//! When the time of a database begins: `2026-01-31T12:00:00Z`.

use skew_sql::by_place::{EPOCH, SECOND};
use skew_value::{Datum, Dialect, SqlType};
use std::fmt;
use std::str::FromStr;

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
