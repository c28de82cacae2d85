//! The mock as a third server: what a live PostgreSQL does in a forced interleaving, the mock does too, at each of its levels.
//!
//! ```text
//!   a seed ──> sessions of statements, shuffled ──┬──> forced on PostgreSQL ──> rows, counts, codes, who waited for whom, what is left
//!                                                 └──> forced on the mock   ──> the same
//! ```
//!
//! The mock speaks over its wire, and is watched as the server is. What it recorded has to be a history that its levels allow. PostgreSQL's
//! serializable may refuse (40001) what it need not: such runs are counted, and the other way round is a disagreement. `SKEW_SEED` says with
//! which program to begin, `SKEW_MOCKED` how many there are at every level, `SKEW_GUSTS` how many interleavings of each.

use crate::live::installed;
use crate::number_from;
use crate::storm::interleaved;
use crate::terrain::Weather;
use skew_chance::Random;
use skew_check::{Budget, Verdict, check};
use skew_history::{Engine, EngineLevel, IsolationLevel};
use skew_mockdb::wire::{RunningServer, Schedule, WireServer, WireSettings};
use skew_mockdb::{Campaign, ChooserKind, Database, Options, Record, Store, Tape};
use skew_sql::Catalog;
use skew_testing::say;
use skew_workload::Url;
use skew_workload::connection::{Settings, connect};
use skew_workload::screenplay::{AfterRefusal, Cue, CueEnd, Screenplay, Staging, Transcript, perform};
use skew_workload::servers::PostgresServer;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// How often a run that differs is forced on the live server again. When several wait for one transaction its end wakes them all at once, and
/// the server does not say who goes first.
const TRIES: u64 = 6;

/// The server looks for a deadlock when a wait has lasted so long: less than it takes until the next statement is sent, so that whoever closes a
/// cycle is the one who finds it.
pub(crate) const ALERT: &str = "SET deadlock_timeout = '1ms'";

/// How many programs at every level without being told, and how many interleavings of each.
const PROGRAMS: u64 = 150;
const INTERLEAVINGS: u64 = 1;

/// A mock server at PostgreSQL's levels, and what it records.
pub(crate) struct MockServer {
    server: RunningServer,
    pub(crate) url: Url,
    tape: Tape,
}

impl MockServer {
    pub(crate) fn start() -> MockServer {
        let level = IsolationLevel::Engine(EngineLevel::PostgresReadCommitted);
        let chooser = ChooserKind::Latest.build(1, &Campaign::default());
        let mut database = Database::new(Store::new(Options::new(level, 1), chooser), Arc::new(Catalog::default()));
        let tape = Tape::default();
        database.store.start(Record { history: Some(Box::new(tape.clone())), choices: None }, "");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let settings = WireSettings { address, password: None, schedule: Schedule::Interleaved, delay: None };
        let server = WireServer::bind(database, settings).and_then(WireServer::start).expect("a server");
        let url = format!("postgres://skew@{}/skew", server.address()).parse().expect("a URL");
        MockServer { server, url, tape }
    }

    /// Ends the server: why what it recorded is not what its levels allow, if it is not.
    pub(crate) fn judge(self) -> Option<String> {
        self.server.stop();
        let history = match self.tape.history() {
            Ok(history) => history,
            Err(error) => return Some(format!("no history: {error}\n{}", self.tape.text())),
        };
        match check(&history, IsolationLevel::Declared, Budget::steps(1_000_000)) {
            Verdict::Fails(anomaly) => Some(format!("not its level: {anomaly:?}\n{}", self.tape.text())),
            _ => None,
        }
    }
}

/// What matters of a performance, and what it left.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Staged {
    /// How every statement ended, and for whom it waited.
    pub(crate) cues: Vec<(String, Option<Vec<usize>>)>,
    pub(crate) left: Vec<String>,
}

impl Staged {
    fn has(&self, code: &str) -> bool {
        self.cues.iter().any(|(end, _)| end == code)
    }
}

fn told(end: &CueEnd, sql: &str) -> String {
    match end {
        CueEnd::Refused { code, .. } => code.clone(),
        CueEnd::Answered(answer) if sql.starts_with("SELECT") => {
            let row = |row: &skew_workload::Row| row.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            format!("[{}]", answer.rows.iter().map(row).collect::<Vec<_>>().join(", "))
        }
        CueEnd::Answered(answer) => format!("{} changed", answer.affected),
        CueEnd::NotSent => "not sent".to_owned(),
        CueEnd::Lost(why) => format!("lost: {why}"),
        CueEnd::StillWaiting => "still waiting".to_owned(),
    }
}

/// Performs a screenplay on fresh tables; nothing where it is in doubt what happened.
pub(crate) fn staged(url: &Url, screenplay: &Screenplay, tables: &[String]) -> Result<Staged, Vec<String>> {
    let settings = Settings { name: "storm".to_owned(), timeout: Duration::from_secs(30) };
    let mut connection = connect(url, &settings).unwrap_or_else(|failure| panic!("{failure}"));
    let dropped = ["c", "t"].map(|table| format!("DROP TABLE IF EXISTS {table}"));
    for sql in dropped.iter().chain(tables) {
        connection.command(sql).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    }
    let staging = Staging { patience: Duration::from_secs(20), after_refusal: AfterRefusal::RollBack };
    let transcript = perform(url, screenplay, staging).unwrap_or_else(|failure| panic!("{failure}"));
    if !transcript.doubts.is_empty() {
        return Err(transcript.doubts);
    }
    let mut left = Vec::new();
    for table in tables.iter().filter_map(|sql| sql.strip_prefix("CREATE TABLE ")?.split(' ').next()) {
        let answer = connection.execute(&format!("SELECT * FROM {table} ORDER BY id"), &[]);
        let rows = answer.unwrap_or_else(|failure| panic!("{failure}")).rows;
        left.extend(rows.iter().map(|row| format!("{table}: {:?}", row.0)));
    }
    Ok(Staged { cues: cues(&transcript), left })
}

fn cues(transcript: &Transcript) -> Vec<(String, Option<Vec<usize>>)> {
    let cues = transcript.screenplay.cues.iter().zip(&transcript.ends).enumerate();
    let cues = cues.filter(|(_, (cue, _))| cue.sql != ALERT);
    let cue = |(place, (cue, end)): (usize, (&Cue, &CueEnd))| {
        // The one who is refused for a deadlock waits on a server until that is noticed.
        let waited = if end.is_deadlock() { None } else { transcript.waited_for(place) };
        (told(end, &cue.sql), waited)
    };
    cues.map(cue).collect()
}

/// What came of the programs at one level.
#[derive(Default)]
struct Agreement {
    interleavings: u64,
    doubtful: u64,
    waits: u64,
    refused: u64,
    /// Refusals of PostgreSQL's serializable that the mock does not have.
    needless: u64,
    /// Runs that the live server made otherwise at first, and then as the mock did.
    again: u64,
    disagreements: Vec<String>,
}

fn compare(url: &Url, name: &str, seed: u64, agreement: &mut Agreement) {
    let level: IsolationLevel = name.parse().unwrap_or_else(|error| panic!("{error}"));
    let weather = Weather::of(Engine::Postgres, seed);
    let (sessions, tables) = (weather.sessions(seed), weather.tables());
    let mut random = Random::of_operation(seed, 0, 3);
    for _ in 0..number_from("SKEW_GUSTS", INTERLEAVINGS) {
        let screenplay = interleaved(&sessions, level, Engine::Postgres, || random.index(sessions.len()));
        let mock = MockServer::start();
        let alert = screenplay.clone().opened_with(&[ALERT.to_owned()]);
        let (mut live, mocked) = (staged(url, &alert, &tables), staged(&mock.url, &screenplay, &tables));
        let misjudged = mock.judge();
        for again in 0..TRIES {
            if live == mocked || name == "pg:ser" && live.as_ref().is_ok_and(|live| live.has("40001")) {
                if again > 0 {
                    agreement.again += 1;
                    say(&format!(
                        "seed {seed}, {name}: the live server did otherwise at first, and as the mock at try {}",
                        again + 1
                    ));
                }
                break;
            }
            live = staged(url, &alert, &tables);
        }
        let (Ok(live), Ok(mocked)) = (&live, &mocked) else {
            agreement.doubtful += 1;
            if let Err(doubts) = &mocked {
                say(&format!("seed {seed}, {name}: the mock is in doubt: {doubts:?}"));
            }
            continue;
        };
        agreement.interleavings += 1;
        agreement.waits += u64::from(live.cues.iter().any(|cue| cue.1.is_some()));
        agreement.refused += u64::from(live.has("40001") || live.has("40P01") || live.has("23505"));
        let is_needless = name == "pg:ser" && live.has("40001");
        if live != mocked && is_needless {
            agreement.needless += 1;
        }
        let differs = live != mocked && !is_needless;
        if differs || misjudged.is_some() {
            let line = |(place, cue): (usize, &Cue)| {
                let (live, mocked) = (&live.cues[place], &mocked.cues[place]);
                let mark = if live == mocked { ' ' } else { '!' };
                format!("{mark} s{}: {}\n      {live:?}\n      {mocked:?}", cue.session, cue.sql)
            };
            let lines: Vec<String> = screenplay.cues.iter().enumerate().map(line).collect();
            let told = format!("seed {seed}, {name}, {:?}", weather.terrain);
            say(&format!("{told}: {}", if differs { "differs" } else { "misjudged" }));
            let left =
                if live.left == mocked.left { String::new() } else { format!("\n{:?}\n{:?}", live.left, mocked.left) };
            let misjudged = misjudged.unwrap_or_default();
            agreement.disagreements.push(format!("{told}\n{}{left}\n{misjudged}", lines.join("\n")));
        }
    }
}

/// What a live server does at a level the mock does.
fn agrees_at(name: &str) {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let (first, count) = (number_from("SKEW_SEED", 1), number_from("SKEW_MOCKED", PROGRAMS));
    let mut agreement = Agreement::default();
    for seed in first..first + count {
        compare(server.url(), name, seed, &mut agreement);
    }
    assert!(agreement.interleavings > 0, "{name}");
    say(&format!(
        "the mock beside PostgreSQL at {name}: {count} programs, {} interleavings, {} in doubt, {} with waits, {} with refusals, \
         {} made again, {} refused that need not be, {} disagreements",
        agreement.interleavings,
        agreement.doubtful,
        agreement.waits,
        agreement.refused,
        agreement.again,
        agreement.needless,
        agreement.disagreements.len()
    ));
    assert!(agreement.disagreements.is_empty(), "\n{}", agreement.disagreements.join("\n"));
}

#[test]
fn what_postgresql_does_at_read_committed_the_mock_does() {
    agrees_at("pg:rc");
}

#[test]
fn what_postgresql_does_at_repeatable_read_the_mock_does() {
    agrees_at("pg:rr");
}

#[test]
fn what_postgresql_does_at_serializable_the_mock_does() {
    agrees_at("pg:ser");
}
