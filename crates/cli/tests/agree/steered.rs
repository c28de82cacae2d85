//! A run of the explorer, followed by a store that it steers: every request is one of the run, and every answer is that of the run.

use crate::account::{self, CallAccount};
use crate::explored;
use crate::setting::{Setting, load};
use skew_campaign::explored::Following;
use skew_explore::{Run as Explored, SqlProgram};
use skew_mockdb::{Begin, Campaign, ChooserKind, Options, Store};
use skew_program::{CallOutcome, Client, Ending, MOST_STEPS, Program, Step};
use skew_sql::{Session, Stop};

/// Runs the calls of a run in its order on a store that the run steers.
pub(crate) fn follow(
    program: &Program,
    setting: Setting,
    explorable: &SqlProgram,
    run: &Explored<'_, SqlProgram>,
) -> Result<(), String> {
    let following = Following::new(explorable, run);
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
        if let Some(difference) = following.difference() {
            return Err(format!("{place:?}: {difference}, in {}", run.pattern()));
        }
        if expected.as_ref() != Some(&call) {
            return Err(format!("{place:?} ends as {call:?}, and did as {expected:?} in {}", run.pattern()));
        }
    }
    if following.is_over() { Ok(()) } else { Err(format!("not all of {} was asked for", run.pattern())) }
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
        match store.run_statement(session, text.as_deref(), |store| run.step(sql, &mut *store.view(session))) {
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
