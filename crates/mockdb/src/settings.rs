//! What a client sets, and what its transactions become by it.
//!
//! ```text
//!   BEGIN ISOLATION LEVEL SERIALIZABLE          this one
//!   SET TRANSACTION …                           this one, as long as it has read nothing; in MySQL the next one
//!   SET SESSION CHARACTERISTICS …               default_transaction_isolation, default_transaction_read_only
//!   SET skew.level = 'causal'                   the connection's transactions, whatever else is asked for
//!   SET skew.chooser = 'latest'                 which versions they read
//! ```
//!
//! Settings live in the SQL session, where functions find them, and are read when a transaction begins. As in PostgreSQL a rollback takes
//! back what was set since the beginning, and SET LOCAL lasts until the end. Where the database does not obey its clients' levels
//! ([`Database::obeys_levels`]) they are acknowledged and shown as they were asked for, and [`Connection::take_overruled`] tells of it once.

use crate::chooser::ChooserKind;
use crate::connection::Connection;
use crate::database::Database;
use crate::store::Begin;
use skew_history::IsolationLevel;
use skew_sql::Stop;
use skew_sql::{session::Answer, session::DeclaredLevel, session::Modes, session::ResultColumn, session::Rows};
use skew_value::function::unknown_zone;
use skew_value::{Datum, Dialect, SqlError, SqlState, SqlType, Zone};
use std::collections::BTreeMap;
use std::sync::Arc;

const CHOOSER: &str = "skew.chooser";
const LEVEL: &str = "skew.level";
const DEFAULT_ISOLATION: &str = "default_transaction_isolation";
const DEFAULT_READ_ONLY: &str = "default_transaction_read_only";
/// Settings that are times.
const LIMITS: [&str; 3] = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"];
/// Settings that tell what the server is.
const FIXED: [&str; 8] = [
    "in_hot_standby",
    "integer_datetimes",
    "is_superuser",
    "max_identifier_length",
    "max_index_keys",
    "server_encoding",
    "server_version",
    "server_version_num",
];
const ENCODING: &str = "client_encoding";
const ISOLATION: &str = "transaction_isolation";
const READ_ONLY: &str = "transaction_read_only";

/// What is remembered besides the settings themselves.
#[derive(Default)]
pub(crate) struct Settings {
    /// What RESET comes back to.
    first: BTreeMap<String, String>,
    /// As they were before the open transaction set any.
    before: Option<BTreeMap<String, String>>,
    /// What comes back after SET LOCAL.
    pub(crate) local: BTreeMap<String, Option<String>>,
    /// MySQL's SET TRANSACTION: what the next transaction begins with.
    next: Modes,
    /// Another application_name came while a transaction was open.
    renames: bool,
    /// A level that was asked for and is not obeyed.
    overruled: Option<DeclaredLevel>,
}

/// Transactions: how they begin.
impl Connection {
    pub(crate) fn begin(&mut self, database: &mut Database, modes: Modes) -> Result<(), Stop> {
        let next = self.settings.next;
        let asked = together(modes, together(next, self.default_modes()));
        let begin = Begin {
            level: self.level_for(database, asked.level)?,
            read_only: asked.read_only.unwrap_or(false),
            chooser: self.parsed(CHOOSER, parse_chooser)?,
        };
        database.store.begin(self.id, begin)?;
        self.settings.next = Modes::default();
        self.show_modes(asked);
        Ok(())
    }

    /// The level of a transaction whose client asked for this one; nothing is the store's.
    fn level_for(
        &mut self,
        database: &mut Database,
        asked: Option<DeclaredLevel>,
    ) -> Result<Option<IsolationLevel>, SqlError> {
        self.note_level(database, asked);
        let own = self.parsed(LEVEL, parse_level)?;
        Ok(own.or_else(|| asked.filter(|_| database.obeys_levels).map(level_of)))
    }

    /// What functions and SHOW tell of the transaction. (In MySQL these names stand for the session's defaults.)
    fn show_modes(&mut self, asked: Modes) {
        self.modes = asked;
        if self.session.dialect() == Dialect::MySql {
            return;
        }
        let level = words_of(asked.level.unwrap_or(DeclaredLevel::ReadCommitted));
        let read_only = if asked.read_only == Some(true) { "on" } else { "off" };
        for (name, value) in [(ISOLATION, level), (READ_ONLY, read_only)] {
            if self.setting(name) != Some(value) {
                self.session.settings_mut().insert(name.to_owned(), value.to_owned());
            }
        }
    }

    fn default_modes(&self) -> Modes {
        let [isolation, read_only] = self.names_of_defaults();
        Modes {
            level: self.setting(isolation).and_then(|text| parse_declared(text).ok()),
            read_only: self.setting(read_only).and_then(|text| parse_truth(text).ok()),
        }
    }

    fn names_of_defaults(&self) -> [&'static str; 2] {
        match self.session.dialect() {
            Dialect::Postgres => [DEFAULT_ISOLATION, DEFAULT_READ_ONLY],
            Dialect::MySql => [ISOLATION, READ_ONLY],
        }
    }

    /// SET TRANSACTION.
    pub(crate) fn set_transaction(&mut self, database: &mut Database, modes: Modes) -> Result<(), Stop> {
        match (self.session.dialect(), database.store.in_transaction(self.id)) {
            (Dialect::MySql, true) => {
                let message = "transaction characteristics cannot be changed while a transaction is in progress";
                Err(SqlError::new(SqlState("25001"), message).into())
            }
            (Dialect::MySql, false) => {
                self.settings.next = together(modes, self.settings.next);
                self.note_level(database, modes.level);
                Ok(())
            }
            (Dialect::Postgres, true) => self.change_transaction(database, modes),
            // PostgreSQL warns that there is no transaction that it could be about.
            (Dialect::Postgres, false) => Ok(()),
        }
    }

    /// An open transaction is asked to be another one. What a database with one level for all would refuse is refused here, too.
    pub(crate) fn change_transaction(&mut self, database: &mut Database, modes: Modes) -> Result<(), Stop> {
        let level = |modes: Modes| modes.level.unwrap_or(DeclaredLevel::ReadCommitted);
        let changed = together(modes, self.modes);
        let loosens = modes.read_only == Some(false) && self.modes.read_only == Some(true);
        if database.store.has_events(self.id) && (level(changed) != level(self.modes) || loosens) {
            let what = if loosens { "read-write mode" } else { "isolation level" };
            let message = format!("the {what} of a transaction must be set before any query");
            return Err(SqlError::new(SqlState("25001"), message).into());
        }
        let level = match modes.level {
            Some(_) => self.level_for(database, modes.level)?,
            None => None,
        };
        database.store.begin_anew(self.id, level, modes.read_only)?;
        self.show_modes(changed);
        Ok(())
    }

    /// SET SESSION CHARACTERISTICS.
    pub(crate) fn set_session_modes(&mut self, database: &mut Database, modes: Modes) {
        let [isolation, read_only] = self.names_of_defaults();
        if let Some(level) = modes.level {
            self.note_level(database, modes.level);
            self.put_setting(isolation, Some(words_of(level).to_owned()), false);
        }
        if let Some(truth) = modes.read_only {
            self.put_setting(read_only, Some(if truth { "on" } else { "off" }.to_owned()), false);
        }
    }

    fn note_level(&mut self, database: &mut Database, asked: Option<DeclaredLevel>) {
        let overruled =
            |level: &DeclaredLevel| !database.obeys_levels && level_of(*level) != database.store.options().level;
        if let Some(level) = asked.filter(overruled)
            && database.overruled.is_news(level)
        {
            self.settings.overruled = Some(level);
        }
    }

    /// A level that a client asked for and that is not obeyed: told once per level, to be logged; see [`Overruled`](crate::Overruled).
    pub fn take_overruled(&mut self) -> Option<DeclaredLevel> {
        self.settings.overruled.take()
    }
}

/// SET, RESET and SHOW.
impl Connection {
    /// The value of a setting.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.session.settings().get(name).map(String::as_str)
    }

    /// A setting of the client's first message: RESET comes back to it.
    pub fn set_first(&mut self, database: &mut Database, name: &str, value: &str) -> Result<(), SqlError> {
        let name = name.to_lowercase();
        self.check_setting(database, &name, value)?;
        let value = self.kept_value(&name, value);
        self.settings.first.insert(name.clone(), value.clone());
        self.session.settings_mut().insert(name, value);
        Ok(())
    }

    /// Keeps what was set, and answers what is asked for. What is not known here is left to the caller.
    pub(crate) fn set_or_show(&mut self, database: &mut Database, answer: Answer) -> Result<Answer, Stop> {
        match &answer {
            Answer::Set { name, value, local } => self.set(database, name, value.as_deref(), *local)?,
            Answer::SetSeveral(settings) => {
                for (name, value) in settings {
                    self.set(database, name, value.as_deref(), false)?;
                }
            }
            Answer::Show(name) => {
                let name = self.full_name(name);
                if let Some(value) = self.shown(database, &name) {
                    let columns = [ResultColumn { name, sql_type: SqlType::TEXT }].into();
                    return Ok(Answer::Rows(Rows { columns, rows: vec![vec![Datum::text(value)]] }));
                }
            }
            _ => {}
        }
        Ok(answer)
    }

    /// The name that was meant by the words of SHOW, between which a point is not kept.
    fn full_name(&self, words: &str) -> String {
        let own = [CHOOSER, LEVEL].into_iter();
        let mut dotted =
            own.chain(self.session.settings().keys().map(String::as_str)).filter(|name| name.contains('.'));
        match words {
            "transaction_isolation_level" => ISOLATION.to_owned(),
            words => dotted.find(|name| name.replace('.', "_") == words).unwrap_or(words).to_owned(),
        }
    }

    fn shown(&self, database: &Database, name: &str) -> Option<String> {
        // Outside of a transaction they tell what the next one would be.
        let outside = self.session.dialect() == Dialect::Postgres && !database.store.in_transaction(self.id);
        let name = match name {
            ISOLATION if outside => DEFAULT_ISOLATION,
            READ_ONLY if outside => DEFAULT_READ_ONLY,
            name => name,
        };
        if let Some(value) = self.setting(name) {
            return Some(value.to_owned());
        }
        match name {
            ISOLATION | DEFAULT_ISOLATION => Some(words_of(DeclaredLevel::ReadCommitted).to_owned()),
            READ_ONLY | DEFAULT_READ_ONLY => Some("off".to_owned()),
            LEVEL => Some(database.store.options().level.name().to_owned()),
            CHOOSER => Some("default".to_owned()),
            _ => None,
        }
    }

    /// What `set_config` set is set as SET would: looked at, kept as it is shown, and taken back with the transaction.
    pub(crate) fn set_by_functions(
        &mut self,
        database: &mut Database,
        before: Arc<BTreeMap<String, String>>,
    ) -> Result<(), Stop> {
        let set = self.session.take_set_by_functions();
        if set.is_empty() {
            return Ok(());
        }
        self.session.set_settings(before);
        set.iter().try_for_each(|one| self.set(database, &one.name, Some(&one.value), one.local))
    }

    /// A session cannot get another name while its transaction is open; if that was nothing, it can afterwards.
    pub(crate) fn rename_late(&mut self, database: &mut Database) {
        let wanted = std::mem::take(&mut self.settings.renames);
        let name = self.setting("application_name").filter(|name| wanted && !name.is_empty()).map(str::to_owned);
        if let Some(name) = name {
            self.rename(database, &name);
        }
    }

    fn set(&mut self, database: &mut Database, name: &str, value: Option<&str>, local: bool) -> Result<(), Stop> {
        let postgres = self.session.dialect() == Dialect::Postgres;
        let name = if name == "names" && postgres { ENCODING } else { name };
        if FIXED.contains(&name) && postgres {
            let message = format!("parameter \"{name}\" cannot be changed");
            return Err(SqlError::new(SqlState("55P02"), message).into());
        }
        if let Some(value) = value {
            self.check_setting(database, name, value)?;
        }
        let value = value.map(|value| self.kept_value(name, value));
        let value = value.as_deref();
        match (name, value) {
            (ISOLATION, Some(value)) if postgres => {
                let level = Some(parse_declared(value)?);
                return self.set_transaction(database, Modes { level, read_only: None });
            }
            (READ_ONLY, Some(value)) if postgres => {
                let read_only = Some(parse_truth(value)?);
                return self.set_transaction(database, Modes { level: None, read_only });
            }
            (DEFAULT_ISOLATION, Some(value)) => self.note_level(database, parse_declared(value).ok()),
            ("autocommit", Some(value)) if !self.commits_by_itself() && parse_truth(value)? => self.commit(database)?,
            ("all", None) => {
                self.remember_settings();
                let first = self.settings.first.clone();
                *self.session.settings_mut() = first;
                return Ok(());
            }
            _ => {}
        }
        self.put_setting(name, value.map(str::to_owned), local);
        if let ("application_name", Some(name)) = (name, value)
            && !name.is_empty()
            && !local
        {
            self.settings.renames = !self.rename(database, name) && database.store.in_transaction(self.id);
        }
        Ok(())
    }

    fn put_setting(&mut self, name: &str, value: Option<String>, local: bool) {
        if local && !self.is_in_block() {
            // PostgreSQL warns that there is no transaction that it could be about.
            return;
        }
        self.remember_settings();
        let value = value.or_else(|| self.settings.first.get(name).cloned());
        let settings = self.session.settings_mut();
        let before = match value {
            Some(value) => settings.insert(name.to_owned(), value),
            None => settings.remove(name),
        };
        if local {
            self.settings.local.entry(name.to_owned()).or_insert(before);
        } else {
            self.settings.local.remove(name);
        }
    }

    fn remember_settings(&mut self) {
        if self.is_in_block() && self.session.dialect() == Dialect::Postgres && self.settings.before.is_none() {
            self.settings.before = Some(BTreeMap::clone(self.session.settings()));
        }
    }

    /// The transaction is over: what was set for it alone goes, and after a rollback all that was set in it.
    pub(crate) fn end_settings(&mut self, committed: bool) {
        let local = std::mem::take(&mut self.settings.local);
        let before = self.settings.before.take();
        let settings = self.session.settings_mut();
        match before {
            Some(before) if !committed => *settings = before,
            _ => {
                for (name, value) in local {
                    match value {
                        Some(value) => settings.insert(name, value),
                        None => settings.remove(&name),
                    };
                }
            }
        }
    }

    /// Whether a statement outside of a transaction is one by itself: not after MySQL's SET autocommit = 0.
    pub(crate) fn commits_by_itself(&self) -> bool {
        let off = |text: &str| parse_truth(text) == Ok(false);
        self.session.dialect() == Dialect::Postgres || !self.setting("autocommit").is_some_and(off)
    }

    fn parsed<T>(&self, name: &str, parse: impl Fn(&str) -> Result<T, SqlError>) -> Result<Option<T>, SqlError> {
        self.setting(name).map(parse).transpose()
    }
}

/// What settings may be.
impl Connection {
    /// Refuses a wrong value of a setting that means something here.
    fn check_setting(&self, database: &Database, name: &str, value: &str) -> Result<(), SqlError> {
        match name {
            "timezone" if self.session.dialect() == Dialect::Postgres => {
                Zone::of_setting(value).map(|_| ()).ok_or_else(|| unknown_zone(value))
            }
            name => check_setting(database, name, value),
        }
    }

    /// A value as PostgreSQL keeps it.
    fn kept_value(&self, name: &str, value: &str) -> String {
        match name {
            ENCODING => "UTF8".to_owned(),
            "datestyle" => "ISO, MDY".to_owned(),
            "application_name" => cut(value).to_owned(),
            "timezone" if self.session.dialect() == Dialect::Postgres => {
                Zone::of_setting(value).map_or_else(|| value.to_owned(), |(_, shown)| shown)
            }
            _ => value.to_owned(),
        }
    }
}

fn check_setting(database: &Database, name: &str, value: &str) -> Result<(), SqlError> {
    match name {
        CHOOSER => parse_chooser(value).map(|_| ()),
        LEVEL => database.store.refuse_level(parse_level(value)?),
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

fn parse_chooser(text: &str) -> Result<ChooserKind, SqlError> {
    let names = || ChooserKind::ALL.map(ChooserKind::name).join(", ");
    text.parse().map_err(|_| invalid(CHOOSER, text, &names()))
}

fn parse_level(text: &str) -> Result<IsolationLevel, SqlError> {
    let names = || IsolationLevel::of_transactions().map(IsolationLevel::name).collect::<Vec<_>>().join(", ");
    let level = text.parse().ok().filter(|level: &IsolationLevel| level.is_of_transactions());
    level.ok_or_else(|| invalid(LEVEL, text, &names()))
}

/// A level in the words of the standard; MySQL joins them with hyphens.
fn parse_declared(text: &str) -> Result<DeclaredLevel, SqlError> {
    let words = text.to_lowercase().replace('-', " ");
    let found = DECLARED.into_iter().find(|level| words_of(*level) == words);
    found.ok_or_else(|| invalid(ISOLATION, text, &DECLARED.map(words_of).join(", ")))
}

fn parse_truth(text: &str) -> Result<bool, SqlError> {
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

fn words_of(level: DeclaredLevel) -> &'static str {
    match level {
        DeclaredLevel::ReadUncommitted => "read uncommitted",
        DeclaredLevel::ReadCommitted => "read committed",
        DeclaredLevel::RepeatableRead | DeclaredLevel::Snapshot => "repeatable read",
        DeclaredLevel::Serializable => "serializable",
    }
}

/// What PostgreSQL means by the words of the standard; MySQL's repeatable read is not a level of the axioms, and comes closest to this.
fn level_of(level: DeclaredLevel) -> IsolationLevel {
    match level {
        DeclaredLevel::ReadUncommitted | DeclaredLevel::ReadCommitted => IsolationLevel::ReadCommitted,
        DeclaredLevel::RepeatableRead | DeclaredLevel::Snapshot => IsolationLevel::Snapshot,
        DeclaredLevel::Serializable => IsolationLevel::Serializable,
    }
}

fn together(first: Modes, second: Modes) -> Modes {
    Modes { level: first.level.or(second.level), read_only: first.read_only.or(second.read_only) }
}
