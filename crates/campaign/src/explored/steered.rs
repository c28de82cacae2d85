//! Databases that follow a run, behind PostgreSQL's protocol or not.
//!
//! ```text
//!   store ── what does this read return? ──> Following: a run of a program that was explored
//!                                       ──> Pilot: the path of a command's run
//! ```

use super::Terms;
use crate::Complaint;
use skew_explore::{Difference, Follower, Run, SqlProgram};
use skew_history::IsolationLevel;
use skew_mockdb::chooser::Latest;
use skew_mockdb::wire::{RunningServer, Schedule, WireServer, WireSettings};
use skew_mockdb::{Database, Options, Steering, Store};
use skew_sql::{Catalog, Fits, KeyRange, Row, RowKey, SpaceId};
use skew_value::{SqlError, SqlState};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A database in which somebody else will decide what is read, as soon as its first rows are there. All is at one level.
pub(super) fn steered(
    terms: &Terms<'_>,
    level: IsolationLevel,
    clock: i64,
    catalog: Arc<Catalog>,
    steering: impl Steering + 'static,
) -> Database {
    let options = Options { updates: terms.updates, clock, ..Options::new(level, 0) };
    let mut database = Database::new(Store::new(options, Box::new(Latest)), catalog);
    database.obeys_levels = false;
    database.store.prepare_steering(Box::new(steering));
    database
}

/// Serves a database on this machine, at a port that is free.
pub(super) fn listen(database: Database, schedule: Schedule) -> Result<RunningServer, Complaint> {
    let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let settings = WireSettings { address, password: None, schedule, delay: None };
    let server = WireServer::bind(database, settings).and_then(WireServer::start);
    server.map_err(|error| Complaint::new("skew explore", format!("cannot listen: {error}"), "try again"))
}

/// A run of a program that steers a store once more: what each read returns, and whether what is asked for is what the run asked for.
#[derive(Clone)]
pub struct Following(Arc<Mutex<Follower>>);

impl Following {
    /// Follows a run from its beginning.
    pub fn new(program: &SqlProgram, run: &Run<'_, SqlProgram>) -> Following {
        Following(Arc::new(Mutex::new(run.follower(|place| program.ordinal(place) as u32))))
    }

    /// The first difference, if there is one.
    pub fn difference(&self) -> Option<Difference> {
        self.follower().difference().cloned()
    }

    /// Whether all transactions of the run came.
    pub fn is_over(&self) -> bool {
        self.follower().is_over()
    }

    fn follower(&self) -> MutexGuard<'_, Follower> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask<T>(&self, request: impl FnOnce(&mut Follower) -> Result<T, Difference>) -> Result<T, SqlError> {
        request(&mut self.follower()).map_err(|other| SqlError::new(SqlState::INTERNAL, other.to_string()))
    }
}

impl Steering for Following {
    // The run knows its columns.
    fn describe(&mut self, _: SpaceId, _: Vec<(String, bool)>) {}

    fn initial(&mut self, rows: Vec<(RowKey, String, Row)>) -> Result<(), SqlError> {
        self.ask(|follower| follower.initial(rows.into_iter().map(|(key, _, row)| (key, row))))
    }

    fn begin(&mut self, session: &str, _: IsolationLevel) -> Result<u32, SqlError> {
        self.ask(|follower| follower.begin(session))
    }

    fn begin_statement(&mut self) {
        self.follower().begin_statement();
    }

    fn read(&mut self, key: &RowKey, name: &str, locking: bool) -> Result<Option<Row>, SqlError> {
        self.ask(|follower| follower.read(key, name, locking))
    }

    fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Vec<(RowKey, Row)>, SqlError> {
        self.ask(|follower| follower.scan(range, locking))
    }

    fn seek(&mut self, key: &RowKey, name: &str, fits: &mut Fits<'_>) -> Result<Option<Row>, SqlError> {
        self.ask(|follower| follower.seek(key, name, fits))
    }

    fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, SqlError> {
        self.ask(|follower| follower.look_over(range, fits))
    }

    fn enter(&mut self, scope: usize) -> usize {
        self.follower().enter(scope)
    }

    fn write(&mut self, key: &RowKey, name: &str, value: Option<Row>) -> Result<(), SqlError> {
        self.ask(|follower| follower.write(key, name, value))
    }

    fn end(&mut self, commits: bool) -> Result<(), SqlError> {
        self.ask(|follower| follower.end(commits))
    }

    // One thread says everything, so nobody has to wait for anybody.
    fn next(&self) -> Option<String> {
        None
    }

    fn skip(&mut self) {}

    fn finish(&mut self) -> Result<BTreeMap<RowKey, Row>, SqlError> {
        Err(SqlError::unsupported("the end of a run that is replayed"))
    }
}
