//! What real clients sent to PostgreSQL is sent to Skew: statement by statement, in the order they came, with their parameters.
//!
//! The recordings are not part of the project. They are looked for under `SKEW_SHARED`, or under `../shared` beside the project, in the
//! folder `clients`; without them the test says so. A statement counts as answered if no occurrence of it is refused. Where `SKEW_ORACLE`
//! says how to reach a PostgreSQL (`host=… port=… user=…`), the recordings are replayed there too, through `psql`, and an answer that
//! differs counts as none:
//!
//! ```text
//!   recording ──┬── Session over a store in memory ──> columns and rows as text ──┐
//!               └── psql on a database of its own  ──> the same ──────────────────┴── equal · different · refused
//! ```

mod oracle;
mod recording;
mod stage;

use recording::Recording;
use stage::{Stage, Told};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The share of distinct statements that must be answered.
const LEAST_SHARE: f64 = 0.95;

/// What became of a statement.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fate {
    Answered,
    Different(String),
    Refused(String),
}

fn shared() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    std::env::var_os("SKEW_SHARED").map_or_else(beside, PathBuf::from).join("clients")
}

/// The recordings of a folder; those of one client that build on one another are one.
fn recordings(folder: &Path) -> Vec<Recording> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "log"));
    files.retain(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("my_")));
    files.sort();
    let mut found: BTreeMap<String, Recording> = BTreeMap::new();
    for file in files {
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let client =
            ["pgbench", "sqlalchemy"].into_iter().find(|known| name.contains(known)).unwrap_or(&name).to_owned();
        let text = std::fs::read_to_string(&file).expect("a recording is text");
        found.entry(client.clone()).or_insert_with(|| Recording::new(&client)).extend(&text);
    }
    found.into_values().collect()
}

/// Plays a recording on both, and tells what became of each statement.
fn judge(recording: &Recording) -> Vec<(String, Fate)> {
    let expected = oracle::answers(recording);
    let mut stage = Stage::new(&oracle::database(recording));
    let mut fates = Vec::new();
    for (place, sent) in recording.sent.iter().enumerate() {
        let told = stage.play(sent);
        let expected = expected.as_ref().and_then(|answers| answers.get(place));
        fates.push((sent.text.clone(), fate(&told, expected, recording)));
    }
    fates
}

fn fate(told: &Told, expected: Option<&Told>, recording: &Recording) -> Fate {
    match (told, expected) {
        (Told::Refused(state, message), Some(Told::Refused(wanted, _))) if state == wanted || wanted.is_empty() => {
            let _ = message;
            Fate::Answered
        }
        (Told::Refused(state, message), _) => Fate::Refused(format!("{state} {message}")),
        (_, None) => Fate::Answered,
        (told, Some(expected)) => match (told.comparable(recording), expected.comparable(recording)) {
            (ours, theirs) if ours == theirs => Fate::Answered,
            (ours, theirs) => Fate::Different(format!("\n--- ours\n{ours}\n--- PostgreSQL\n{theirs}\n")),
        },
    }
}

#[test]
fn statements_of_real_clients_are_answered() {
    let folders = std::env::var_os("SKEW_RECORDINGS").map_or_else(|| vec![shared()], |more| vec![PathBuf::from(more)]);
    let recordings: Vec<Recording> = folders.iter().flat_map(|folder| recordings(folder)).collect();
    if recordings.is_empty() {
        skew_testing::skipped(&format!("no recordings of clients under {}", folders[0].display()));
        return;
    }
    let mut fates: BTreeMap<String, (String, Fate)> = BTreeMap::new();
    for recording in &recordings {
        for (text, fate) in judge(recording) {
            let worst = fates.entry(text).or_insert((recording.client.clone(), Fate::Answered));
            if fate > worst.1 {
                *worst = (recording.client.clone(), fate);
            }
        }
    }
    report(&fates);
}

#[allow(clippy::print_stdout, reason = "the share, and what is refused or different, is what is looked at")]
fn report(fates: &BTreeMap<String, (String, Fate)>) {
    let answered = fates.values().filter(|(_, fate)| *fate == Fate::Answered).count();
    for (text, (client, fate)) in fates {
        match fate {
            Fate::Answered => {}
            Fate::Different(how) => println!("DIFFERENT [{client}] {text}{how}"),
            Fate::Refused(why) => println!("REFUSED [{client}] {text}\n  {why}\n"),
        }
    }
    let share = answered as f64 / fates.len() as f64;
    let how = if oracle::is_there() { "as PostgreSQL answers them" } else { "without comparing" };
    println!("{answered} of {} distinct statements answered ({:.1} %), {how}", fates.len(), 100.0 * share);
    assert!(share >= LEAST_SHARE, "only {answered} of {} statements are answered", fates.len());
}
