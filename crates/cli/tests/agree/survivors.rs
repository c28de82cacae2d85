//! The fixed versions of `examples/bugs` on live servers: whatever the interleaving, their assertions hold.
//!
//! ```text
//!   fixed.sql ──> every run at a level of the engine ──> some of them by chance, forced on the server ──> the same answers, and no assertion false
//! ```
//!
//! `SKEW_SURVIVE` says how many runs of each program, dealt out over the levels of its engines.

use crate::live::installed;
use crate::number_from;
use skew_campaign::confirmed::{ConfirmOn, LiveServers};
use skew_campaign::explored::{ExploredProgram, Terms};
use skew_campaign::{Moment, ProgramFile, StopFlags};
use skew_chance::Random;
use skew_check::{Budget, Updates};
use skew_explore::{IsolationLevel, Options, RunAnswer, Search, SqlOptions, SqlProgram, Subtree};
use skew_history::{Engine, EngineLevel};
use skew_sql::Granularity;
use skew_testing::say;
use skew_workload::Url;
use skew_workload::servers::{MariaDbServer, PostgresServer};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// How many runs of each program without being told: one at each level.
const RUNS: u64 = 3;

const PG_SERIALIZABLE: IsolationLevel = IsolationLevel::Engine(EngineLevel::PostgresSerializable);

/// Of a program with more runs these are enough to choose from.
const MOST_HISTORIES: usize = 2_000;

fn fixed() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bugs");
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = entries.map(|path| path.join("fixed.sql")).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// The program in the words of an engine; nothing where it names the other one.
fn read(path: &Path, engine: Engine) -> Option<ProgramFile> {
    let text = std::fs::read_to_string(path).expect("a program");
    let folder = path.parent().and_then(Path::file_name).expect("a folder").to_string_lossy().into_owned();
    let text = match text.starts_with("-- dialect: ") {
        true if !text.starts_with(&format!("-- dialect: {}\n", engine.name())) => return None,
        true => text,
        false => format!("-- dialect: {}\n{text}", engine.name()),
    };
    Some(ProgramFile::parse(folder, text, Moment::USUAL, &[]).unwrap_or_else(|complaint| panic!("{complaint:?}")))
}

/// The runs that a level allows, without those that come to a deadlock: whom the server refuses then is for it to choose.
fn runs(file: &ProgramFile, level: IsolationLevel) -> Vec<Subtree> {
    let program = SqlProgram::new(file.program.clone(), SqlOptions::default());
    let mut search = Search::new(&program, Options::new(level)).unwrap_or_else(|error| panic!("{error}"));
    let mut found = Vec::new();
    while let Some(run) = search.next_run().unwrap_or_else(|error| panic!("{error}")) {
        let is_deadlock = |code: &str| ["1213", "40P01"].contains(&code);
        let has_deadlock = run.refusals().into_iter().any(|(_, code)| is_deadlock(code));
        if run.answer(Budget::steps(1_000_000)) == RunAnswer::Holds && !has_deadlock {
            found.push(run.subtree());
        }
        if found.len() == MOST_HISTORIES {
            break;
        }
    }
    found
}

/// Makes so many runs of a program on a server, and says what was wrong with them. Nothing where a statement has no text, so that it cannot be
/// sent.
fn survive(file: &ProgramFile, levels: &[&str], servers: &mut LiveServers, count: u64) -> Option<Vec<String>> {
    let never = AtomicBool::new(false);
    let terms = Terms {
        base: None,
        updates: Updates::Atomic,
        granularity: Granularity::Row,
        against: IsolationLevel::Serializable,
        fails_against: false,
        list: false,
        stop: StopFlags { stop: &never, interrupted: &never },
    };
    let left_out = Default::default();
    let subject = ExploredProgram { file, clock: Moment::USUAL, most_steps: 1_000_000, left_out, terms };
    let mut wrong = Vec::new();
    for (place, name) in (0u64..).zip(levels) {
        let level: IsolationLevel = name.parse().unwrap_or_else(|error| panic!("{error}"));
        let all = runs(file, level);
        let mut random = Random::of_operation(1, place as usize, 0);
        for _ in 0..count.div_ceil(levels.len() as u64) {
            let run = &all[random.index(all.len())];
            let found = subject.rehearse(level, run, servers).unwrap_or_else(|complaint| panic!("{complaint:?}"));
            let found = found?;
            // PostgreSQL's serializable refuses more than it must, and then nothing else is to be compared.
            if level == PG_SERIALIZABLE && found.iter().any(|what| what.contains("40001")) {
                continue;
            }
            wrong.extend(found.into_iter().map(|what| format!("{} at {name}, {run}: {what}", file.name)));
        }
    }
    Some(wrong)
}

fn all_survive(url: &Url, engine: Engine, levels: &[&str]) {
    let count = number_from("SKEW_SURVIVE", RUNS);
    let asked: Vec<IsolationLevel> = levels.iter().map(|name| name.parse().expect("a level")).collect();
    let mut servers = LiveServers::new(&ConfirmOn::Server(url.clone()), "fixed.sql", &asked)
        .unwrap_or_else(|complaint| panic!("{complaint:?}"));
    let mut wrong = Vec::new();
    for file in fixed().iter().filter_map(|path| read(path, engine)) {
        let Some(found) = survive(&file, levels, &mut servers, count) else {
            say(&format!("{} on {}: left out, because a statement of it has no text", file.name, engine.name()));
            continue;
        };
        say(&format!("{} on {}: {count} live runs, {} not as they should be", file.name, engine.name(), found.len()));
        wrong.extend(found);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_fixes_survive_on_postgresql() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    all_survive(server.url(), Engine::Postgres, &["pg:rc", "pg:rr", "pg:ser"]);
}

#[test]
fn the_fixes_survive_on_mariadb() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    all_survive(server.url(), Engine::Mysql, &["mysql:rc", "mysql:rr", "mysql:ser"]);
}
