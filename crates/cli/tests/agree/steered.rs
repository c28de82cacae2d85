//! A run of the explorer, followed by a store that it steers: every request is one of the run, and every answer is that of the run.

use crate::account::{self, CallAccount};
use crate::explored;
use crate::setting::{Setting, load};
use skew_explore::{Difference, Follower, Run as Explored, SqlProgram};
use skew_history::IsolationLevel;
use skew_mockdb::{Begin, Campaign, ChooserKind, Options, Steering, Store};
use skew_program::{CallOutcome, Client, Ending, MOST_STEPS, Program, Step};
use skew_sql::{Fits, KeyRange, Row, RowKey, Session, SpaceId, Stop};
use skew_value::{SqlError, SqlState};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A follower that the store and the test share.
#[derive(Clone)]
struct Following(Arc<Mutex<Follower>>);

impl Following {
    fn follower(&self) -> MutexGuard<'_, Follower> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask<T>(&self, request: impl FnOnce(&mut Follower) -> Result<T, Difference>) -> Result<T, SqlError> {
        request(&mut self.follower()).map_err(|other| SqlError::new(SqlState::INTERNAL, other.to_string()))
    }
}

impl Steering for Following {
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

    fn next(&self) -> Option<String> {
        None
    }

    fn skip(&mut self) {}

    fn finish(&mut self) -> Result<BTreeMap<RowKey, Row>, SqlError> {
        Err(SqlError::unsupported("the end of a run that is followed"))
    }
}

/// Runs the calls of a run in its order on a store that the run steers.
pub(crate) fn follow(
    program: &Program,
    setting: Setting,
    explorable: &SqlProgram,
    run: &Explored<'_, SqlProgram>,
) -> Result<(), String> {
    let following = Following(Arc::new(Mutex::new(run.follower(|place| explorable.ordinal(place) as u32))));
    let options = Options { updates: setting.updates, ..Options::new(setting.level, 1) };
    let mut store = Store::new(options, ChooserKind::Latest.build(1, &Campaign::default()));
    store.describe_catalog(program.initial().0);
    store.prepare_steering(Box::new(following.clone()));
    load(&mut store, program);
    store.begin_steering().map_err(|error| error.message.to_string())?;
    let mut seats: Vec<_> = (0..program.scripts().len())
        .map(|number| (store.connect(&program.scripts()[number].name), program.session(), Client::new(program, number)))
        .collect();
    for place in run.order() {
        let (session, sql, client) = &mut seats[place.session];
        let call = one_call(program, &mut store, *session, sql, client, place.number)?;
        let expected = run.left(place).map(explored::call);
        if let Some(difference) = following.follower().difference() {
            return Err(format!("{place:?}: {difference}, in {}", run.pattern()));
        }
        if expected.as_ref() != Some(&call) {
            return Err(format!("{place:?} ends as {call:?}, and did as {expected:?} in {}", run.pattern()));
        }
    }
    if following.follower().is_over() { Ok(()) } else { Err(format!("not all of {} was asked for", run.pattern())) }
}

fn one_call(
    program: &Program,
    store: &mut Store,
    session: skew_history::SessionId,
    sql: &mut Session,
    client: &mut Client,
    number: usize,
) -> Result<CallAccount, String> {
    store.begin(session, Begin::default()).map_err(|error| error.message.to_string())?;
    let mut run = client.start(program, number, MOST_STEPS).map_err(|error| error.message.to_string())?;
    let step = loop {
        let text = run.statement().cloned();
        match store.run_statement(session, text.as_deref(), |store| run.step(sql, &mut store.view(session))) {
            Ok(Step::Continue) => {}
            other => break other,
        }
    };
    let end = match step {
        Ok(Step::Done(Ending::Commit)) => {
            store.commit(session).map_err(|interrupt| format!("a commit is answered {interrupt:?}"))?;
            "committed".to_owned()
        }
        Ok(_) => "rolled back".to_owned(),
        Err(Stop::Error(error)) => format!("error {}", error.state.0),
        Err(Stop::Interrupted(interrupt)) => return Err(format!("a statement is answered {interrupt:?}")),
    };
    store.abort(session);
    let result = client.finish(program, number, &run, CallOutcome::Committed, true);
    Ok(CallAccount { end, values: account::values(&result.fields) })
}
