//! Between the database of a command and the path of its run: what the one asks, the other answers.

use skew_explore::{Path, PathError};
use skew_history::IsolationLevel;
use skew_mockdb::Steering;
use skew_sql::{KeyRange, Row, RowKey, SqlError, SqlState};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a run shares with its database.
pub(super) struct Cockpit {
    /// The path; nothing after the run.
    pub(super) path: Option<Path>,
    /// The sessions that are there before the first transaction.
    pub(super) awaited: Option<Vec<String>>,
    /// Whether a session was waited for in vain.
    pub(super) late: bool,
}

/// Steers a database along a path.
#[derive(Clone)]
pub(super) struct Pilot(Arc<Mutex<Cockpit>>);

impl Pilot {
    pub(super) fn new(path: Path, awaited: Option<Vec<String>>) -> Pilot {
        Pilot(Arc::new(Mutex::new(Cockpit { path: Some(path), awaited, late: false })))
    }

    pub(super) fn cockpit(&self) -> MutexGuard<'_, Cockpit> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the path has no more answers.
    pub(super) fn is_stopped(&self) -> bool {
        self.cockpit().path.as_ref().is_some_and(|path| path.error().is_some())
    }

    fn ask<T>(&self, request: impl FnOnce(&mut Path) -> Result<T, PathError>) -> Result<T, SqlError> {
        let wrong = |message: String| SqlError::new(SqlState::INTERNAL, message);
        let mut cockpit = self.cockpit();
        let path = cockpit.path.as_mut().ok_or_else(|| wrong("the run is over".to_owned()))?;
        request(path).map_err(|error| wrong(error.to_string()))
    }
}

impl Steering for Pilot {
    fn initial(&mut self, rows: Vec<(RowKey, String, Row)>) -> Result<(), SqlError> {
        self.ask(|path| path.initial(rows))
    }

    fn begin(&mut self, session: &str, _: IsolationLevel) -> Result<u32, SqlError> {
        // All transactions are at the level that is explored.
        self.ask(|path| path.begin(session, None).map(|()| path.ordinal().unwrap_or_default() as u32))
    }

    fn begin_statement(&mut self) {
        // After the end of the run there are no statements that matter.
        let _ = self.ask(|path| {
            path.begin_statement();
            Ok(())
        });
    }

    fn read(&mut self, key: &RowKey, name: &str, locking: bool) -> Result<Option<Row>, SqlError> {
        self.ask(|path| path.read(key, name, locking))
    }

    fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Vec<(RowKey, Row)>, SqlError> {
        self.ask(|path| path.scan(range, locking))
    }

    fn write(&mut self, key: &RowKey, name: &str, value: Option<Row>) -> Result<(), SqlError> {
        self.ask(|path| path.write(key, name, value))
    }

    fn end(&mut self, commits: bool) -> Result<(), SqlError> {
        self.ask(|path| path.end(commits))
    }

    fn next(&self) -> Option<String> {
        self.cockpit().path.as_ref().and_then(|path| path.next_session().map(str::to_owned))
    }

    fn awaited(&self) -> Option<Vec<String>> {
        self.cockpit().awaited.clone()
    }

    fn all_here(&mut self, sessions: Vec<String>) {
        self.cockpit().awaited.get_or_insert(sessions);
    }

    fn skip(&mut self) {
        if let Some(path) = &mut self.cockpit().path {
            path.skip();
        }
    }

    fn late(&mut self) {
        self.cockpit().late = true;
    }

    fn finish(&mut self) -> Result<BTreeMap<RowKey, Row>, SqlError> {
        self.ask(Path::finish)
    }
}
