//! `AT TIME ZONE`: a local time in a zone that the statement names.
//!
//! ```text
//!   'UTC', 'Z'             0
//!   '+02'                  two hours *west*: PostgreSQL reads signs as POSIX does
//!   'America/New_York'     four or five hours west, by the time of the year; names in any case
//! ```
//!
//! What a zone is, and which times it skips or repeats, is in [`Zone`].

use super::Invocation;
use super::arguments::{Evaluated, text, time};
use super::moments::moment;
use crate::SqlType;
use crate::{Datum, Zone};
use crate::{SqlError, SqlState};

/// A local time in a zone as a moment, or a moment as the local time of a zone.
pub(super) fn at_zone(arguments: &[Datum], call: Invocation<'_>) -> Evaluated {
    let time = time(arguments, 1)?;
    let zone = zone_of(text(arguments, 0)?)?;
    let is_local = matches!(call.result, SqlType::TimestampZoned(_));
    Ok(moment(if is_local { zone.moment(time)? } else { zone.local(time) }, call.result))
}

/// The zone of a name.
pub(super) fn zone_of(name: &str) -> Result<Zone, SqlError> {
    let unknown = || SqlError::new(SqlState::INVALID_PARAMETER, format!("time zone \"{name}\" not recognized"));
    match name.trim() {
        "z" | "Z" => Ok(Zone::Utc),
        name => Zone::named(name).map(|(zone, _)| zone).ok_or_else(unknown),
    }
}

/// The zone of a name, or of a difference as timestamps carry it: to the east.
pub(super) fn written_zone(name: &str) -> Result<Zone, SqlError> {
    match name.trim().strip_prefix(['+', '-']) {
        Some(digits) => zone_of(&format!("{}{digits}", if name.trim().starts_with('-') { '+' } else { '-' })),
        None => zone_of(name),
    }
}
