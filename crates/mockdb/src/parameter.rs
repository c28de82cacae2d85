//! What settings may be, and what they mean.
//!
//! ```text
//!   default_transaction_isolation = 'repeatable read'     a level in the words of the standard
//!   skew.level = 'causal', skew.chooser = 'latest'        words of our own
//!   lock_timeout = '5s'                                   a time
//! ```
//!
//! Settings that mean nothing to a store in memory may be anything; those that say how values are written may not, because who believes to
//! have chosen would read other values than are meant.

use crate::chooser::ChooserKind;
use crate::store::Store;
use skew_history::{EngineLevel, IsolationLevel};
use skew_sql::session::{DeclaredLevel, Modes};
use skew_value::{SqlError, SqlState};

pub(crate) const CHOOSER: &str = "skew.chooser";
pub(crate) const LEVEL: &str = "skew.level";
pub(crate) const DEFAULT_ISOLATION: &str = "default_transaction_isolation";
pub(crate) const DEFAULT_READ_ONLY: &str = "default_transaction_read_only";
/// Settings that are times.
const LIMITS: [&str; 3] = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"];
pub(crate) const ENCODING: &str = "client_encoding";
pub(crate) const ISOLATION: &str = "transaction_isolation";
pub(crate) const READ_ONLY: &str = "transaction_read_only";

/// Refuses a wrong value of a setting that means something here; a level may also be one that the store has not.
pub(crate) fn check_setting(store: &Store, name: &str, value: &str) -> Result<(), SqlError> {
    match name {
        CHOOSER => parse_chooser(value).map(|_| ()),
        LEVEL => store.refuse_level(parse_level(value)?),
        ISOLATION | DEFAULT_ISOLATION => parse_declared(value).map(|_| ()),
        READ_ONLY | DEFAULT_READ_ONLY => parse_truth(value).map(|_| ()),
        ENCODING => check_encoding(value),
        name if LIMITS.contains(&name) => {
            parse_limit(value).map(|_| ()).map_err(|()| invalid(name, value, "250, 5s, 2min"))
        }
        name => check_style(name, value),
    }
}

/// Texts are UTF-8, here and on the wire.
fn check_encoding(value: &str) -> Result<(), SqlError> {
    let plain: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_ascii_lowercase().as_str() {
        "utf8" | "unicode" => Ok(()),
        _ => Err(invalid(ENCODING, value, "UTF8")),
    }
}

/// How long something may take, in microseconds: `250`, `0.2s`, `2min`; nothing for no limit.
pub(crate) fn parse_limit(value: &str) -> Result<Option<u64>, ()> {
    let value = value.trim();
    let digits = value.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(value.len());
    let number: f64 = value[..digits].parse().map_err(|_| ())?;
    let unit = match value[digits..].trim() {
        "us" => 1.0,
        "" | "ms" => 1e3,
        "s" => 1e6,
        "min" => 60e6,
        "h" => 3600e6,
        "d" => 86_400e6,
        _ => return Err(()),
    };
    let limit = (number * unit).round();
    if limit > 9e15 { Err(()) } else { Ok((limit >= 1.0).then_some(limit as u64)) }
}

/// How values are written is not to be chosen: who believes to have chosen would read other values than are meant.
fn check_style(name: &str, value: &str) -> Result<(), SqlError> {
    let value = value.to_ascii_lowercase();
    let plain = value.trim_matches(|letter: char| letter == '\'' || letter.is_ascii_whitespace());
    let (good, known) = match name {
        "timezone" => ("UTC", is_universal_time(plain)),
        "datestyle" => ("ISO, MDY", matches!(plain, "iso" | "iso, mdy" | "iso,mdy" | "mdy, iso" | "default")),
        "intervalstyle" => ("postgres", plain == "postgres"),
        "bytea_output" => ("hex", plain == "hex"),
        "standard_conforming_strings" => ("on", parse_truth(plain) == Ok(true)),
        _ => return Ok(()),
    };
    if known { Ok(()) } else { Err(invalid(name, &value, good)) }
}

/// The many names of one time zone; as an interval it is a difference of nothing.
fn is_universal_time(zone: &str) -> bool {
    let names =
        ["utc", "gmt", "uct", "z", "zulu", "universal", "greenwich", "gmt0", "gmt+0", "gmt-0", "local", "default"];
    let zone = zone.strip_prefix("etc/").unwrap_or(zone);
    let offset = zone.strip_prefix("interval").unwrap_or(zone).replace("hour to minute", "");
    let is_nothing = |text: &str| text.contains('0') && text.chars().all(|letter| "+-0: '".contains(letter));
    names.contains(&zone) || is_nothing(offset.trim())
}

/// Names longer than 63 bytes are cut, as PostgreSQL does, between two letters.
pub(crate) fn cut(name: &str) -> &str {
    const LONGEST: usize = 63;
    let end = (0..=LONGEST.min(name.len())).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    &name[..end]
}

fn invalid(name: &str, value: &str, good: &str) -> SqlError {
    let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
    SqlError::new(SqlState("22023"), message).with_hint(format!("available values: {good}"))
}

pub(crate) fn parse_chooser(text: &str) -> Result<ChooserKind, SqlError> {
    let names = || ChooserKind::ALL.map(ChooserKind::name).join(", ");
    text.parse().map_err(|_| invalid(CHOOSER, text, &names()))
}

pub(crate) fn parse_level(text: &str) -> Result<IsolationLevel, SqlError> {
    let names = || IsolationLevel::of_papers().map(IsolationLevel::name).collect::<Vec<_>>().join(", ");
    let is_level = |level: &IsolationLevel| level.is_of_papers() || level.of_engine().is_some();
    text.parse().ok().filter(is_level).ok_or_else(|| invalid(LEVEL, text, &names()))
}

/// A level in the words of the standard; MySQL joins them with hyphens.
pub(crate) fn parse_declared(text: &str) -> Result<DeclaredLevel, SqlError> {
    let words = text.to_lowercase().replace('-', " ");
    let found = DECLARED.into_iter().find(|level| words_of(*level) == words);
    found.ok_or_else(|| invalid(ISOLATION, text, &DECLARED.map(words_of).join(", ")))
}

/// `on` or `off`, in all spellings.
pub(crate) fn parse_truth(text: &str) -> Result<bool, SqlError> {
    match text.to_lowercase().as_str() {
        "on" | "true" | "1" | "yes" => Ok(true),
        "off" | "false" | "0" | "no" => Ok(false),
        _ => Err(invalid(READ_ONLY, text, "on, off")),
    }
}

const DECLARED: [DeclaredLevel; 4] = [
    DeclaredLevel::Serializable,
    DeclaredLevel::RepeatableRead,
    DeclaredLevel::ReadCommitted,
    DeclaredLevel::ReadUncommitted,
];

/// A level in the words of the standard.
pub(crate) fn words_of(level: DeclaredLevel) -> &'static str {
    match level {
        DeclaredLevel::ReadUncommitted => "read uncommitted",
        DeclaredLevel::ReadCommitted => "read committed",
        DeclaredLevel::RepeatableRead | DeclaredLevel::Snapshot => "repeatable read",
        DeclaredLevel::Serializable => "serializable",
    }
}

/// What PostgreSQL means by the words of the standard: its own levels, where the store is one of its servers. MySQL's repeatable read is not a
/// level of the axioms, and comes closest to this.
pub(crate) fn level_of(store: &Store, level: DeclaredLevel) -> IsolationLevel {
    if store.engine().is_some() {
        return IsolationLevel::Engine(match level {
            DeclaredLevel::ReadUncommitted | DeclaredLevel::ReadCommitted => EngineLevel::PostgresReadCommitted,
            DeclaredLevel::RepeatableRead | DeclaredLevel::Snapshot => EngineLevel::PostgresRepeatableRead,
            DeclaredLevel::Serializable => EngineLevel::PostgresSerializable,
        });
    }
    match level {
        DeclaredLevel::ReadUncommitted | DeclaredLevel::ReadCommitted => IsolationLevel::ReadCommitted,
        DeclaredLevel::RepeatableRead | DeclaredLevel::Snapshot => IsolationLevel::Snapshot,
        DeclaredLevel::Serializable => IsolationLevel::Serializable,
    }
}

/// What the first asks for, and for the rest what the second does.
pub(crate) fn together(first: Modes, second: Modes) -> Modes {
    Modes { level: first.level.or(second.level), read_only: first.read_only.or(second.read_only) }
}
