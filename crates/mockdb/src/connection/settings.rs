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

use super::Connection;
use crate::database::Database;
use crate::parameter::{
    CHOOSER, DEFAULT_ISOLATION, DEFAULT_READ_ONLY, ENCODING, ISOLATION, LEVEL, READ_ONLY, check_setting, cut, level_of,
    parse_chooser, parse_declared, parse_level, parse_truth, together, words_of,
};
use crate::store::Begin;
use skew_history::IsolationLevel;
use skew_sql::Stop;
use skew_sql::session::{Answer, DeclaredLevel, Modes, ResultColumn, Rows};
use skew_value::function::unknown_zone;
use skew_value::{Datum, Dialect, SqlError, SqlState, SqlType, Zone};
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// What is remembered besides the settings themselves.
#[derive(Default)]
pub(super) struct SessionSettings {
    /// What RESET comes back to.
    first: BTreeMap<String, String>,
    /// As they were before the open transaction set any.
    before: Option<BTreeMap<String, String>>,
    /// What comes back after SET LOCAL.
    local: BTreeMap<String, Option<String>>,
    /// MySQL's SET TRANSACTION: what the next transaction begins with.
    next: Modes,
    /// Another application_name came while a transaction was open.
    renames: bool,
    /// A level that was asked for and is not obeyed.
    overruled: Option<DeclaredLevel>,
}

impl SessionSettings {
    /// What comes back after SET LOCAL, for a savepoint.
    pub(super) fn local(&self) -> &BTreeMap<String, Option<String>> {
        &self.local
    }

    /// The savepoint comes back.
    pub(super) fn restore_local(&mut self, local: &BTreeMap<String, Option<String>>) {
        self.local.clone_from(local);
    }
}

/// Transactions: how they begin.
impl Connection {
    pub(super) fn begin(&mut self, database: &mut Database, modes: Modes) -> Result<(), Stop> {
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
        let obeyed = asked.filter(|_| database.obeys_levels);
        Ok(own.or_else(|| obeyed.map(|level| level_of(&database.store, level))))
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
    pub(super) fn set_transaction(&mut self, database: &mut Database, modes: Modes) -> Result<(), Stop> {
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
    pub(super) fn change_transaction(&mut self, database: &mut Database, modes: Modes) -> Result<(), Stop> {
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
    pub(super) fn set_session_modes(&mut self, database: &mut Database, modes: Modes) {
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
        let store = &database.store;
        let overruled =
            |level: &DeclaredLevel| !database.obeys_levels && level_of(store, *level) != store.options().level;
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
    pub(super) fn set_or_show(&mut self, database: &mut Database, answer: Answer) -> Result<Answer, Stop> {
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
    pub(super) fn set_by_functions(
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
    pub(super) fn rename_late(&mut self, database: &mut Database) {
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
    pub(super) fn end_settings(&mut self, committed: bool) {
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
    pub(super) fn commits_by_itself(&self) -> bool {
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
            name => check_setting(&database.store, name, value),
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
