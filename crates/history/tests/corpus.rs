//! Walks the manifest of real histories: every file is recognised, and has as many sessions, transactions and events as it says.
//!
//! The histories are not part of the project. They are looked for under `SKEW_SHARED`, or under `../shared` beside the
//! workspace; without them the test says so and passes.

use skew_history::format::{Format, Source, detect, read};
use skew_history::{History, Outcome};
use skew_testing::{say, skipped};
use std::fs;
use std::path::{Path, PathBuf};

fn shared() -> PathBuf {
    match std::env::var_os("SKEW_SHARED") {
        Some(path) => path.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    }
}

struct Row<'a> {
    file: &'a str,
    format: &'a str,
    sessions: usize,
    transactions: usize,
    committed: usize,
    events: usize,
    notes: &'a str,
}

fn row(line: &str) -> Row<'_> {
    let column: Vec<&str> = line.split('\t').collect();
    let number = |index: usize| column[index].parse().unwrap_or_else(|_| panic!("column {index} of {line}"));
    Row {
        file: column[0],
        format: column[1],
        sessions: number(4),
        transactions: number(5),
        committed: number(6),
        events: number(7),
        notes: column[13],
    }
}

fn expected_format(name: &str) -> Format {
    match name {
        "awdit-test" => Format::Awdit,
        "cobra-log" => Format::Cobra,
        "dbcop-bincode" => Format::DbcopBincode,
        "isopredict" => Format::IsoPredict,
        "list-append-edn" | "rw-register-edn" => Format::ElleEdn,
        "list-append-json" | "rw-register-json" => Format::ElleJson,
        "plume-text" => Format::Plume,
        "timekiller-kv-json" => Format::TimeKiller,
        _ => panic!("the manifest has a format {name} that this test does not know"),
    }
}

fn load(path: &Path) -> Vec<(String, Vec<u8>)> {
    let paths = if path.is_dir() {
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
    } else {
        vec![path.to_owned()]
    };
    paths.into_iter().map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect()
}

/// The name without its extension: then the content has to be enough.
fn anonymous<'a>(files: &[Source<'a>]) -> Vec<Source<'a>> {
    files.iter().map(|file| Source { name: "history", ..*file }).collect()
}

fn compare(row: &Row<'_>, format: Format, history: &History, nemesis: usize) {
    let file = row.file;
    let committed = history.transactions().filter(|&t| history.outcome(t) == Outcome::Committed).count();
    let (mut sessions, mut transactions, mut events) = (row.sessions, row.transactions, row.events);
    let has_failed_writes = history.sessions().any(|s| history.session_name(s).to_string() == "failed writes");
    if has_failed_writes {
        (sessions, transactions) = (sessions + 1, transactions + 1);
    }
    let mut fewer_events_allowed = row.notes.contains("failed-events");
    match format {
        // The manifest counts the initial transaction where the trace lists its writes.
        Format::IsoPredict if history.transaction_count() < row.transactions => {
            (sessions, transactions) = (sessions - 1, transactions - 1);
            fewer_events_allowed = true;
        }
        // What an operation that is not ok read is not known; and the manifest counts the nemesis as a session of transactions.
        Format::ElleEdn | Format::ElleJson => {
            fewer_events_allowed |= row.committed < row.transactions;
            (sessions, transactions) = (sessions - usize::from(nemesis > 0), transactions - nemesis);
        }
        _ => {}
    }
    if file.ends_with("paper-example.edn") {
        // No processes: every operation is a session of its own, where the manifest counts one.
        sessions = transactions;
    }
    events = if fewer_events_allowed { events.min(history.event_count()) } else { events };
    assert_eq!(history.session_count(), sessions, "sessions of {file}");
    assert_eq!(history.transaction_count(), transactions, "transactions of {file}");
    assert_eq!(history.event_count(), events, "events of {file}");
    let listed_initial = usize::from(format == Format::IsoPredict && transactions < row.transactions);
    assert_eq!(committed + listed_initial, row.committed, "committed transactions of {file}");
}

#[test]
fn every_file_of_the_manifest_is_recognised_and_has_what_it_says() {
    let corpus = shared().join("corpus");
    let Ok(manifest) = fs::read_to_string(corpus.join("MANIFEST.tsv")) else {
        return skipped(&format!("no corpus under {}", corpus.display()));
    };
    let mut files_read = 0;
    for row in manifest.lines().skip(1).map(row).filter(|row| !row.file.ends_with(".tar.xz")) {
        let files = load(&corpus.join(row.file));
        let sources: Vec<Source<'_>> = files.iter().map(|(name, bytes)| Source { name, bytes }).collect();
        let format = detect(&sources).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(format, expected_format(row.format), "{}", row.file);
        if sources.len() == 1 {
            assert_eq!(detect(&anonymous(&sources)), Ok(format), "{} by its content alone", row.file);
        }
        let history = read(&sources, format).unwrap_or_else(|error| panic!("{error}"));
        let nemesis = sources[0].bytes.windows(8).filter(|window| window == b":nemesis").count();
        compare(&row, format, &history, nemesis);
        files_read += 1;
    }
    assert!(files_read > 0, "the manifest is there, and none of its files is");
    say(&format!("{files_read} files read"));
}
