//! `skew serve --http`: keys and values over HTTP, until Ctrl-C.

use super::{Arguments, tell_divergences, tell_recording_failure};
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::RecordKeeper;
use skew_campaign::recording::RunRecord;
use skew_campaign::served::database::cannot_listen;
use skew_history::IsolationLevel;
use skew_mockdb::http::{HttpServer, HttpSettings, HttpSummary};
use skew_mockdb::{Campaign, Store};
use std::io::Write;

pub(super) fn serve(arguments: &Arguments, console: &mut Console) -> Result<Exit, Complaint> {
    let log = arguments.log()?;
    let seed = arguments.first_seed(log.as_ref());
    let database = arguments.database(log)?;
    let level = arguments.level.unwrap_or(IsolationLevel::Causal);
    let store = Store::new(database.options(level, seed), database.chooser(seed, &Campaign::default()));
    let keeper = arguments.keeper();
    let files = keeper.claim(arguments.record.as_deref(), arguments.choices.as_deref())?;
    let address = arguments.address();
    let settings = HttpSettings { address, lock_wait: arguments.lock_wait, idle: arguments.idle };
    let server = HttpServer::bind(store, files.writers(), settings).map_err(|error| cannot_listen(address, &error))?;
    files.publish()?;
    // Before the address is told: whoever reads it may interrupt at once, and that is a good end.
    clock::something_to_keep();
    console.note(&format!("seed {seed}"));
    console.result(&format!("serving {level} over HTTP at http://{}\n", server.address()));
    // Whoever started this reads the address before anything else happens.
    let _ = console.flush();
    let served = server.run(|| clock::is_interrupted() || files.ends_run());
    let summary =
        served.map_err(|error| Complaint::new("skew serve", format!("cannot go on: {error}"), "start it again"))?;
    Ok(tell(&summary, &keeper, console))
}

fn tell(summary: &HttpSummary, keeper: &RecordKeeper, console: &mut Console) -> Exit {
    let counts = summary.counts;
    console.say(&format!(
        "{} committed, {} rolled back, {} refused, {} deadlocks\n",
        counts.committed, counts.rolled_back, counts.refused, counts.deadlocks
    ));
    tell_divergences(summary.divergences, console);
    tell_recording_failure(keeper, summary.recording_failure.as_deref(), console)
}
