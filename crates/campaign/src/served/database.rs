//! A fresh database: a server of PostgreSQL's or as weak as it is told to be, with the initial state that SQL makes, recording where it is told.

use crate::{Complaint, Moment};
use skew_history::{EngineLevel, IsolationLevel};
use skew_mockdb::connection::error_of;
use skew_mockdb::wire::{RunningServer, WireServer, WireSettings};
use skew_mockdb::{
    Campaign, ChoiceLog, Chooser, ChooserKind, Connection, Database, Options, Record, Script, Store, Updates,
};
use skew_sql::{Catalog, Stop};
use skew_value::{Dialect, SqlError};
use std::net::SocketAddr;
use std::sync::Arc;

/// How the databases of all runs are.
#[derive(Clone, Debug)]
pub struct DatabaseSettings {
    /// How weak they are; nothing is a PostgreSQL server, at the levels that its clients ask for, and `declared` the levels of the papers that
    /// come closest to these.
    pub level: Option<IsolationLevel>,
    /// Whether updates lock.
    pub updates: Updates,
    /// After so many commits the past is sealed, 0 is never; nothing is the usual.
    pub horizon: Option<usize>,
    /// Whether they keep to the axioms alone.
    pub bare: bool,
    /// How often a commit that could go well is refused.
    pub abort_rate: f64,
    /// When their time begins.
    pub clock: Moment,
    /// Which version is read of those that may be.
    pub chooser: ChooserKind,
    /// What was chosen before, to be chosen again.
    pub log: Option<ChoiceLog>,
    /// SQL that makes the first rows.
    pub initial: Initial,
}

/// A file of SQL by its name, and what is in it, if there is one.
pub type Initial = Option<(String, String)>;

impl DatabaseSettings {
    /// The settings of a store.
    pub fn options(&self, level: IsolationLevel, seed: u64) -> Options {
        let defaults = Options::new(level, seed);
        Options {
            updates: self.updates,
            horizon: self.horizon.map_or(defaults.horizon, |horizon| (horizon > 0).then_some(horizon)),
            bare: self.bare,
            abort_rate: self.abort_rate,
            clock: self.clock.0,
            ..defaults
        }
    }

    /// What decides which version is read.
    pub fn chooser(&self, seed: u64, novelty: &Campaign) -> Box<dyn Chooser> {
        match &self.log {
            Some(log) => Box::new(Script::new(log)),
            None => self.chooser.build(seed, novelty),
        }
    }

    /// A database that is ready for clients.
    pub fn fresh(&self, seed: u64, novelty: &Campaign, record: Record) -> Result<Database, Complaint> {
        self.fresh_with(seed, self.chooser(seed, novelty), record)
    }

    /// The same where somebody else decides which version is read.
    pub fn fresh_with(&self, seed: u64, chooser: Box<dyn Chooser>, record: Record) -> Result<Database, Complaint> {
        let level = match self.level {
            None => IsolationLevel::Engine(EngineLevel::PostgresReadCommitted),
            Some(IsolationLevel::Declared) => IsolationLevel::ReadCommitted,
            Some(level) => level,
        };
        let store = Store::new(self.options(level, seed), chooser);
        let mut database = Database::new(store, Arc::new(Catalog::default()));
        database.obeys_levels = self.level.is_none_or(|level| level == IsolationLevel::Declared);
        if let Some((file, text)) = &self.initial {
            load(&mut database, file, text)?;
        }
        database.store.start(record, "");
        Ok(database)
    }
}

/// Serves a database over PostgreSQL's protocol.
pub fn listen(database: Database, settings: WireSettings) -> Result<RunningServer, Complaint> {
    let address = settings.address;
    let server = WireServer::bind(database, settings).and_then(WireServer::start);
    server.map_err(|error| cannot_listen(address, &error))
}

/// Why nobody can connect.
pub fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Complaint {
    let what = format!("cannot listen at {address}: {error}");
    Complaint::new("skew serve", what, "give another --listen or --port")
}

/// Runs SQL from a file. Nobody else is there yet, so what is committed here is the initial state.
pub fn load(database: &mut Database, file: &str, text: &str) -> Result<(), Complaint> {
    run_all(database, text).map_err(|error| complaint(file, &error))
}

fn run_all(database: &mut Database, text: &str) -> Result<(), SqlError> {
    let mut loader = Connection::open(database, "skew/init", Dialect::Postgres);
    let statements = loader.session().parse(text)?;
    for statement in &statements {
        let prepared = loader.prepare(database, statement, &[]).map_err(|error| error.at(statement.place()))?;
        loader.execute(database, &prepared, &[]).map_err(|stop| match stop {
            Stop::Error(error) => error.at(statement.place()),
            Stop::Interrupted(interrupt) => error_of(interrupt).at(statement.place()),
        })?;
    }
    loader.close(database);
    Ok(())
}

fn complaint(file: &str, error: &SqlError) -> Complaint {
    let place = error.place.map_or_else(String::new, |place| format!("line {}, column {}: ", place.line, place.column));
    Complaint::new(
        file,
        format!("{place}{}", error.message),
        error.hint.as_deref().or(error.detail.as_deref()).unwrap_or_default(),
    )
}
