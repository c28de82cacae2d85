//! Random interleavings on live servers: nothing comes out that the explorer calls impossible at the level.
//!
//! ```text
//!   a seed ──> two or three sessions of statements ──┬──> explored at an engine's level ──> every outcome: who was answered what
//!                                                    └──> forced on the server, shuffled ──> one of them
//! ```
//!
//! The statements depend on nothing that was read, so that every interleaving has the same ones. `SKEW_SEED` says with which program to begin,
//! `SKEW_STORM` how many there are, each at every level.

use crate::number_from;
use skew_chance::Random;
use skew_explore::{IsolationLevel, Options, Place, Run, Search, SqlOptions, SqlProgram};
use skew_history::Engine;
use skew_program::{Heard, Program, TextRows};
use skew_testing::{say, skipped};
use skew_workload::connection::{Settings, connect, level_name};
use skew_workload::screenplay::{AfterRefusal, Cue, CueEnd, Screenplay, Staging, perform};
use skew_workload::servers::{MariaDbServer, PostgresServer, ServerError};
use skew_workload::{Url, Value};
use std::collections::BTreeSet;
use std::time::Duration;

/// How many programs without being told, and how many interleavings of each at every level.
const PROGRAMS: u64 = 9;
const INTERLEAVINGS: usize = 4;

/// Programs of more histories are left out.
const MOST_HISTORIES: u64 = 20_000;

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL)";
const ROWS: &str = "INSERT INTO t VALUES (1, 10), (2, 20)";

/// What the statements of a program may touch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Rows that are there. Gaps of InnoDB hold more than one absent key, which the model leaves out.
    Rows,
    /// Rows that come and go.
    Absent,
    /// Rows that refer to them, and what becomes of those when they go.
    Children(&'static str),
}

impl Reach {
    fn tables(self) -> Vec<String> {
        let mut all = vec![TABLE.to_owned(), ROWS.to_owned()];
        if let Reach::Children(action) = self {
            all.push(format!("CREATE TABLE c (id INT PRIMARY KEY, t INT NOT NULL REFERENCES t (id) {action})"));
            all.push("INSERT INTO c VALUES (1, 1)".to_owned());
        }
        all
    }
}

/// The statements of each session, which is one transaction.
type Sessions = Vec<Vec<String>>;

/// What every session was answered, up to its first refusal.
type StormOutcome = Vec<Vec<String>>;

/// One statement.
fn statement(random: &mut Random, number: usize, reach: Reach) -> String {
    let key = 1 + random.below(if reach == Reach::Rows { 2 } else { 3 });
    let value = 100 + number;
    if matches!(reach, Reach::Children(_)) && random.chance(0.5) {
        return match random.below(3) {
            0 => format!("INSERT INTO c VALUES ({value}, {key})"),
            1 => "SELECT id, t FROM c ORDER BY id".to_owned(),
            _ => format!("DELETE FROM t WHERE id = {key}"),
        };
    }
    match random.below(if reach == Reach::Rows { 6 } else { 9 }) {
        0 | 1 => format!("SELECT v FROM t WHERE id = {key}"),
        2 => format!("SELECT v FROM t WHERE id = {key} FOR UPDATE"),
        3 => format!("UPDATE t SET v = {value} WHERE id = {key}"),
        4 => format!("UPDATE t SET v = v + {value} WHERE id = {key}"),
        5 => "SELECT id, v FROM t ORDER BY id".to_owned(),
        6 => format!("DELETE FROM t WHERE id = {key}"),
        _ => format!("INSERT INTO t VALUES ({key}, {value})"),
    }
}

fn sessions(seed: u64, reach: Reach) -> Sessions {
    let mut random = Random::new(seed);
    let (count, mut number) = (2 + random.index(2), 0);
    let most = if count == 2 { 3 } else { 2 };
    let session = |random: &mut Random, number: &mut usize| {
        let length = 1 + random.index(most);
        let statements = (0..length).map(|_| {
            *number += 1;
            statement(random, *number, reach)
        });
        statements.collect()
    };
    (0..count).map(|_| session(&mut random, &mut number)).collect()
}

fn program(sessions: &Sessions, engine: Engine, reach: Reach) -> SqlProgram {
    let dialect = if engine == Engine::Postgres { "postgres" } else { "mysql" };
    let mut text = format!("-- dialect: {dialect}\n{};\n", reach.tables().join(";\n"));
    for (number, statements) in sessions.iter().enumerate() {
        let body: String = statements.iter().map(|sql| format!("  {sql};\n")).collect();
        text.push_str(&format!("CREATE PROCEDURE p{number}()\nBEGIN\n{body}END;\n"));
    }
    for number in 0..sessions.len() {
        text.push_str(&format!("SESSION s{number}: CALL p{number}();\n"));
    }
    let program = Program::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    SqlProgram::new(program, SqlOptions::default()).remembering()
}

/// Every outcome that the explorer has; nothing where there are too many.
fn possible(program: &SqlProgram, level: IsolationLevel, count: usize) -> Option<BTreeSet<StormOutcome>> {
    let mut search = Search::new(program, Options::new(level)).unwrap_or_else(|error| panic!("{error}"));
    let mut found = BTreeSet::new();
    let mut runs = 0;
    while let Some(run) = search.next_run().unwrap_or_else(|error| panic!("{error}")) {
        found.insert((0..count).map(|session| said(&run, session)).collect());
        runs += 1;
        if runs > MOST_HISTORIES {
            return None;
        }
    }
    Some(found)
}

/// What a session of a run was answered.
fn said(run: &Run<'_, SqlProgram>, session: usize) -> Vec<String> {
    let place = Place { session, number: 0 };
    let refused = run.refusals().into_iter().find(|(other, _)| *other == place).map(|(_, code)| code);
    let spoken = run.left(place).map(|left| left.spoken.as_deref().unwrap_or_default()).unwrap_or_default();
    let mut answers = Vec::new();
    for one in spoken.get(1..spoken.len().saturating_sub(1)).unwrap_or_default() {
        match &one.heard {
            Heard::Failed { state, .. } => {
                let code = refused.unwrap_or(state);
                // What a duplicate is called by the other server.
                let code = if run.engine() == Some(Engine::Mysql) && code == "23505" { "1062" } else { code };
                answers.push(format!("refused {code}"));
            }
            Heard::Rows(rows) => answers.push(rows_text(rows)),
            Heard::Changed(count, _) => answers.push(format!("{count} changed")),
            Heard::Done => answers.push(String::new()),
        }
    }
    answers
}

fn rows_text(rows: &TextRows) -> String {
    let row = |row: &Vec<Option<String>>| {
        row.iter().map(|value| value.clone().unwrap_or_default()).collect::<Vec<String>>().join(" ")
    };
    rows.iter().map(row).collect::<Vec<String>>().join(", ")
}

/// The statements of all sessions in some order, each between its BEGIN and COMMIT.
fn shuffled(sessions: &Sessions, level: IsolationLevel, url: &Url, random: &mut Random) -> Screenplay {
    let name = level_name(level).unwrap_or_default();
    let opening = match url.dialect {
        skew_value::Dialect::Postgres => vec![format!("BEGIN ISOLATION LEVEL {name}")],
        skew_value::Dialect::MySql => vec![format!("SET TRANSACTION ISOLATION LEVEL {name}"), "BEGIN".to_owned()],
    };
    let mut left: Vec<Vec<String>> =
        sessions.iter().map(|one| [&opening[..], one, &["COMMIT".to_owned()]].concat()).collect();
    left.iter_mut().for_each(|one| one.reverse());
    let mut cues = Vec::new();
    while left.iter().any(|one| !one.is_empty()) {
        let session = random.index(left.len());
        cues.extend(left[session].pop().map(|sql| Cue { session, name: None, sql }));
    }
    Screenplay { sessions: (0..sessions.len()).map(|number| format!("s{number}")).collect(), cues }
}

/// What comes out of one interleaving on the server; nothing where the server did not come to an end with it.
fn performed(url: &Url, screenplay: &Screenplay, reach: Reach) -> Option<StormOutcome> {
    let settings = Settings { name: "storm".to_owned(), timeout: Duration::from_secs(30) };
    let mut connection = connect(url, &settings).unwrap_or_else(|failure| panic!("{failure}"));
    let tables = ["c", "t"].map(|table| format!("DROP TABLE IF EXISTS {table}")).into_iter().chain(reach.tables());
    for sql in tables {
        connection.command(&sql).unwrap_or_else(|failure| panic!("{failure}"));
    }
    let staging = Staging { patience: Duration::from_secs(20), after_refusal: AfterRefusal::RollBack };
    let transcript = perform(url, screenplay, staging).unwrap_or_else(|failure| panic!("{failure}"));
    if !transcript.doubts.is_empty() {
        return None;
    }
    let mut outcome = vec![Vec::new(); screenplay.sessions.len()];
    for (cue, end) in screenplay.cues.iter().zip(&transcript.ends) {
        let answers = &mut outcome[cue.session];
        match end {
            CueEnd::Refused { code, .. } => answers.push(format!("refused {code}")),
            CueEnd::Answered(_) if ["BEGIN", "SET", "COMMIT"].iter().any(|word| cue.sql.starts_with(word)) => {}
            CueEnd::Answered(answer) if cue.sql.starts_with("SELECT") => {
                let text = |value: &Value| Some(value.to_string());
                answers.push(rows_text(&answer.rows.iter().map(|row| row.0.iter().map(text).collect()).collect()));
            }
            CueEnd::Answered(answer) => answers.push(format!("{} changed", answer.affected)),
            CueEnd::NotSent => {}
            CueEnd::Lost(_) | CueEnd::StillWaiting => return None,
        }
    }
    Some(outcome)
}

/// Draws programs, and wants every outcome on the server among those of the explorer.
fn weather(url: &Url, engine: Engine, levels: &[&str]) {
    let (first, count) = (number_from("SKEW_SEED", 1), number_from("SKEW_STORM", PROGRAMS));
    let (mut performances, mut met) = (0, BTreeSet::new());
    for seed in first..first + count {
        for name in levels {
            let level: IsolationLevel = name.parse().unwrap_or_else(|error| panic!("{error}"));
            let reach = match (engine, seed % 3) {
                (Engine::Mysql, _) if !name.ends_with(":rc") => Reach::Rows,
                (Engine::Mysql, _) | (_, 0) => Reach::Absent,
                (_, 1) => Reach::Children("ON DELETE CASCADE"),
                _ => Reach::Children(""),
            };
            let sessions = sessions(seed, reach);
            let program = program(&sessions, engine, reach);
            let Some(possible) = possible(&program, level, sessions.len()) else { continue };
            let mut random = Random::of_operation(seed, 0, 1);
            for _ in 0..INTERLEAVINGS {
                let screenplay = shuffled(&sessions, level, url, &mut random);
                let Some(outcome) = performed(url, &screenplay, reach) else { continue };
                performances += 1;
                let order: Vec<String> =
                    screenplay.cues.iter().map(|cue| format!("s{}: {}", cue.session, cue.sql)).collect();
                assert!(
                    possible.contains(&outcome),
                    "seed {seed}, {name}: impossible: {outcome:?}\n{}\npossible: {possible:#?}",
                    order.join("\n")
                );
                met.insert((seed, *name, outcome));
            }
        }
    }
    assert!(performances > 0);
    say(&format!("storm on {}: {performances} interleavings, {} outcomes, all possible", engine.name(), met.len()));
}

fn installed<T>(started: Result<T, ServerError>) -> Option<T> {
    let was_set_up = std::env::var_os("SKEW_CLIENTS").is_some_and(|folder| folder != "no");
    match started {
        Ok(server) => Some(server),
        Err(error @ ServerError::Missing { .. }) if !was_set_up => {
            skipped(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn whatever_postgresql_does_at_its_levels_the_explorer_has() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    weather(server.url(), Engine::Postgres, &["pg:rc", "pg:rr"]);
}

#[test]
fn whatever_mariadb_does_at_its_levels_the_explorer_has() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    weather(server.url(), Engine::Mysql, &["mysql:rc", "mysql:rr", "mysql:ser"]);
}
