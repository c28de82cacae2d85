//! `skew serve` by itself: PostgreSQL's protocol until Ctrl-C, a line of what goes on, and what went on.

use super::{Arguments, tell_divergences, tell_recording_failure};
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::{RecordFiles, RecordKeeper};
use skew_campaign::recording::RunRecord;
use skew_campaign::served::database::listen;
use skew_campaign::served::tell_contention;
use skew_history::IsolationLevel;
use skew_mockdb::Campaign;
use skew_mockdb::wire::{Contention, RunningServer, WireActivity, WireSummary};
use std::io::Write;
use std::time::Duration;

/// How often somebody looks whether to stop, and at what goes on.
const GLANCE: Duration = Duration::from_millis(100);

pub(super) fn serve(arguments: &Arguments, console: &mut Console) -> Result<Exit, Complaint> {
    let log = arguments.log()?;
    let seed = arguments.first_seed(log.as_ref());
    let wire = arguments.wire(log.as_ref());
    let settings = arguments.database(log)?;
    let keeper = arguments.keeper();
    let files = keeper.claim(arguments.record.as_deref(), arguments.choices.as_deref())?;
    let database = settings.fresh(seed, &Campaign::default(), files.writers())?;
    allow_many_clients();
    let server = listen(database, wire)?;
    files.publish()?;
    // Before the address is told: whoever reads it may interrupt at once, and that is a good end.
    clock::something_to_keep();
    console.note(&format!("seed {seed}"));
    console.result(&greeting(arguments, &server));
    // Whoever started this reads the address before anything else happens.
    let _ = console.flush();
    watch(&server, &files, console);
    Ok(tell(&server.stop(), &keeper, console))
}

/// Every client is an open file. Shells commonly allow a thousand, the system many more to whoever asks.
#[cfg(unix)]
fn allow_many_clients() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // Where that is refused, the limit stays as it is.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

#[cfg(not(unix))]
fn allow_many_clients() {}

fn greeting(arguments: &Arguments, server: &RunningServer) -> String {
    let asked = "the level that each client asks for".to_owned();
    let level = arguments.level.filter(|level| *level != IsolationLevel::Declared);
    let level = level.map_or(asked, |level| level.to_string());
    let address = server.address();
    format!(
        "serving {level} over PostgreSQL's protocol at postgresql://skew@{address}/skew\n\
         host {}, port {}, any user and database\n",
        address.ip(),
        address.port()
    )
}

/// Until Ctrl-C, or until it cannot be recorded; on a terminal a line says what goes on.
fn watch(server: &RunningServer, files: &RecordFiles, console: &mut Console) {
    let mut shown = None;
    while !clock::is_interrupted() && !files.ends_run() {
        std::thread::sleep(GLANCE);
        let activity = console.shows_progress().then(|| server.activity()).flatten();
        if let Some(activity) = activity.filter(|activity| shown != Some(*activity)) {
            console.progress(&format!("{}, {}", clients(activity.clients as u64), told(&activity)));
            shown = Some(activity);
        }
    }
    console.progress("");
}

fn clients(count: u64) -> String {
    if count == 1 { "1 client".to_owned() } else { format!("{count} clients") }
}

fn told(activity: &WireActivity) -> String {
    let counts = activity.counts;
    format!(
        "{} committed, {} rolled back, {} refused, {} deadlocks",
        counts.committed, counts.rolled_back, counts.refused, counts.deadlocks
    )
}

fn tell(summary: &WireSummary, keeper: &RecordKeeper, console: &mut Console) -> Exit {
    console.say(&format!("{}, {}\n", clients(summary.activity.connections), told(&summary.activity)));
    if let Some(Contention { overlap, held, .. }) = &summary.contention
        && overlap.transactions > 0
    {
        let mut text = String::new();
        tell_contention(*overlap, *held, &mut text);
        console.say(&text);
    }
    tell_divergences(summary.divergences, console);
    if summary.passed > 0 {
        console
            .note(&format!("{} times a silent client lost its turn to the next: not all was serial", summary.passed));
    }
    tell_recording_failure(keeper, summary.recording_failure.as_deref(), console)
}
