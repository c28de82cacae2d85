//! All runs of a program that a level allows, as accounts.

use crate::account::{self, Account, CallAccount};
use crate::setting::Setting;
use skew_check::Budget;
use skew_explore::{Abort, CallLeft, Granularity, Options, Place, Run, RunAnswer, Search, SqlProgram};
use skew_program::Program;
use std::collections::{BTreeMap, BTreeSet};

/// Programs with more runs than these are too large to be compared again and again.
const MOST_RUNS: usize = 1_500;

/// So many steps a question about one of them may take.
const STEPS: u64 = 1_000_000;

/// Shows every run to somebody, with its account; false if there are too many.
pub(crate) fn each_run(
    program: &Program,
    setting: Setting,
    left_out: &BTreeSet<Place>,
    mut see: impl FnMut(&SqlProgram, &Run<'_, SqlProgram>, Account) -> Result<(), String>,
) -> Result<bool, String> {
    let explorable = setting.explorable(program).without(left_out.clone());
    let mut search = Search::new(&explorable, Options::new(setting.level)).map_err(|error| error.to_string())?;
    let mut count = 0;
    while let Some(run) = search.next_run().map_err(|error| format!("it cannot be explored: {error}"))? {
        match run.answer(Budget::steps(STEPS)) {
            RunAnswer::Holds => {}
            RunAnswer::Fails => continue,
            RunAnswer::Unknown => return Ok(false),
        }
        count += 1;
        if count > MOST_RUNS {
            return Ok(false);
        }
        let account = account_of(program, setting, &run)?;
        see(&explorable, &run, account)?;
    }
    Ok(true)
}

/// The accounts of all runs; nothing if there are too many.
pub(crate) fn accounts(
    program: &Program,
    setting: Setting,
    left_out: &BTreeSet<Place>,
) -> Result<Option<BTreeSet<Account>>, String> {
    let mut accounts = BTreeSet::new();
    let all = each_run(program, setting, left_out, |_, _, account| {
        accounts.insert(account);
        Ok(())
    })?;
    Ok(all.then_some(accounts))
}

fn account_of(program: &Program, setting: Setting, run: &Run<'_, SqlProgram>) -> Result<Account, String> {
    let history = run.history().map_err(|error| format!("a run of the explorer is no history: {error:?}"))?;
    let mut account = Account::default();
    let mut names = BTreeMap::new();
    for (session, script) in program.scripts().iter().enumerate() {
        for number in 0..script.calls.len() {
            let place = Place { session, number };
            let Some(left) = run.left(place) else { continue };
            account.calls.insert(place, call(left));
            names.insert(format!("{}#{number}", script.name), place);
        }
    }
    account.events = account::events(&history, &names);
    if setting.granularity == Granularity::Row {
        let states = run.final_states(1_000, Budget::steps(STEPS)).ok_or("too many final states")?;
        account.states = states.into_iter().map(account::state).collect();
    }
    Ok(account)
}

/// What came of a call.
pub(crate) fn call(left: &CallLeft) -> CallAccount {
    let end = match &left.abort {
        None => "committed".to_owned(),
        Some(Abort::Error(error)) => format!("error {}", error.state.0),
        Some(_) => "rolled back".to_owned(),
    };
    CallAccount { end, values: account::values(&left.result.fields) }
}
