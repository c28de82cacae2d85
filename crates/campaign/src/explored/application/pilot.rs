//! Between the database of a command and the path of its run: what the one asks, the other answers.

use skew_explore::{Path, PathError};
use skew_history::IsolationLevel;
use skew_mockdb::Steering;
use skew_sql::{Fits, KeyRange, Row, RowKey, SpaceId};
use skew_value::{SqlError, SqlState};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Steers a database along a path; there is none after the run.
#[derive(Clone)]
pub(super) struct Pilot(Arc<Mutex<Option<Path>>>);

impl Pilot {
    pub(super) fn new(path: Path) -> Pilot {
        Pilot(Arc::new(Mutex::new(Some(path))))
    }

    fn path(&self) -> MutexGuard<'_, Option<Path>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run is over.
    pub(super) fn land(&self) -> Option<Path> {
        self.path().take()
    }

    /// The run does not come to its end.
    pub(super) fn give_up(&self) {
        if let Some(path) = &mut *self.path() {
            path.skip();
        }
    }

    /// Whether the path has no more answers.
    pub(super) fn is_stopped(&self) -> bool {
        self.path().as_ref().is_some_and(|path| path.error().is_some())
    }

    fn ask<T>(&self, request: impl FnOnce(&mut Path) -> Result<T, PathError>) -> Result<T, SqlError> {
        let wrong = |message: String| SqlError::new(SqlState::INTERNAL, message);
        let mut path = self.path();
        let path = path.as_mut().ok_or_else(|| wrong("the run is over".to_owned()))?;
        request(path).map_err(|error| wrong(error.to_string()))
    }
}

impl Steering for Pilot {
    fn describe(&mut self, space: SpaceId, columns: Vec<(String, bool)>) {
        if let Some(path) = &mut *self.path() {
            path.describe(space, columns);
        }
    }

    fn initial(&mut self, rows: Vec<(RowKey, String, Row)>) -> Result<(), SqlError> {
        self.ask(|path| path.initial(rows))
    }

    fn begin(&mut self, session: &str, _: IsolationLevel) -> Result<u32, SqlError> {
        // All transactions are at the level that is explored.
        self.ask(|path| path.begin(session, None).map(|()| path.ordinal().unwrap_or_default() as u32))
    }

    fn begin_statement(&mut self) {
        // After the end of the run there are no statements that matter.
        if let Some(path) = &mut *self.path() {
            path.begin_statement();
        }
    }

    fn read(&mut self, key: &RowKey, name: &str, locking: bool) -> Result<Option<Row>, SqlError> {
        self.ask(|path| path.read(key, name, locking))
    }

    fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Vec<(RowKey, Row)>, SqlError> {
        self.ask(|path| path.scan(range, locking))
    }

    fn seek(&mut self, key: &RowKey, name: &str, fits: &mut Fits<'_>) -> Result<Option<Row>, SqlError> {
        self.ask(|path| path.seek(key, name, fits))
    }

    fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, SqlError> {
        self.ask(|path| path.look_over(range, fits))
    }

    fn enter(&mut self, scope: usize) -> usize {
        self.path().as_mut().map_or(0, |path| path.enter(scope))
    }

    fn write(&mut self, key: &RowKey, name: &str, value: Option<Row>) -> Result<(), SqlError> {
        self.ask(|path| path.write(key, name, value))
    }

    fn end(&mut self, commits: bool) -> Result<(), SqlError> {
        self.ask(|path| path.end(commits))
    }

    fn next(&self) -> Option<String> {
        self.path().as_ref().and_then(|path| path.next_session().map(str::to_owned))
    }

    fn skip(&mut self) {
        self.give_up();
    }

    fn finish(&mut self) -> Result<BTreeMap<RowKey, Row>, SqlError> {
        self.ask(Path::finish)
    }
}
