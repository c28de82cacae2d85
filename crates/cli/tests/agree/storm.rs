//! Random interleavings on live servers: nothing comes out that the explorer calls impossible at the level.
//!
//! ```text
//!   a seed ──> two or three sessions of statements ──┬──> explored at an engine's level ──> every outcome: who was answered what
//!                                                    └──> forced on the server, shuffled ──> one of them
//! ```
//!
//! The statements ([`crate::terrain`]) depend on nothing that was read, so that every interleaving has the same ones. `SKEW_SEED` says with
//! which program to begin, `SKEW_STORM` how many there are, each at every level, `SKEW_GUSTS` how many interleavings of each.
//!
//! PostgreSQL's serializable may refuse (40001) what it need not: such an outcome is counted and is no disagreement.

use crate::live::{installed, opening};
use crate::number_from;
use crate::terrain::{Sessions, Weather, as_typed, is_savepoint};
use skew_chance::Random;
use skew_check::Budget;
use skew_explore::{IsolationLevel, Options, Place, Run, RunAnswer, Search, SqlOptions, SqlProgram};
use skew_history::Engine;
use skew_program::{Heard, Program, TextRows};
use skew_testing::say;
use skew_workload::connection::{Settings, connect};
use skew_workload::screenplay::{AfterRefusal, Cue, CueEnd, Screenplay, Staging, perform};
use skew_workload::servers::{MariaDbServer, PostgresServer};
use skew_workload::{Url, Value};
use std::collections::BTreeSet;
use std::time::Duration;

/// How many programs without being told, and how many interleavings of each at every level.
const PROGRAMS: u64 = 7;
const INTERLEAVINGS: u64 = 3;

/// Programs of more histories are left out.
const MOST_HISTORIES: u64 = 5_000;

/// What every session was answered, up to its first refusal.
pub(crate) type StormOutcome = Vec<Vec<String>>;

pub(crate) fn program(sessions: &Sessions, engine: Engine, tables: &[String]) -> SqlProgram {
    let dialect = if engine == Engine::Postgres { "postgres" } else { "mysql" };
    let mut text = format!("-- dialect: {dialect}\n{};\n", tables.join(";\n"));
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
pub(crate) fn possible(program: &SqlProgram, level: IsolationLevel, count: usize) -> Option<BTreeSet<StormOutcome>> {
    let mut search = Search::new(program, Options::new(level)).unwrap_or_else(|error| panic!("{error}"));
    let mut found = BTreeSet::new();
    let mut runs = 0;
    while let Some(run) = search.next_run().unwrap_or_else(|error| panic!("{error}")) {
        if run.answer(Budget::steps(1_000_000)) == RunAnswer::Holds {
            found.insert((0..count).map(|session| said(&run, session)).collect());
        }
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
                let code = match (run.engine(), code) {
                    (Some(Engine::Mysql), "23505") => "1062",
                    (Some(Engine::Mysql), "23503") => "foreign key",
                    (_, code) => code,
                };
                answers.push(format!("refused {code}"));
            }
            Heard::Rows(rows) => answers.push(rows_text(rows)),
            Heard::Changed(count, _) => answers.push(changed(&one.text, *count)),
            Heard::Done => answers.push(String::new()),
        }
    }
    answers
}

/// How many rows a statement changed. MariaDB counts the row that an upsert changed twice.
fn changed(sql: &str, count: u64) -> String {
    if sql.contains("ON DUPLICATE") { "done".to_owned() } else { format!("{count} changed") }
}

fn rows_text(rows: &TextRows) -> String {
    let row = |row: &Vec<Option<String>>| {
        row.iter().map(|value| value.clone().unwrap_or_default()).collect::<Vec<String>>().join(" ")
    };
    rows.iter().map(row).collect::<Vec<String>>().join(", ")
}

/// The statements of all sessions, each between its BEGIN and COMMIT, in the order of the sessions whose turn it is.
pub(crate) fn interleaved(
    sessions: &Sessions,
    level: IsolationLevel,
    engine: Engine,
    mut turn: impl FnMut() -> usize,
) -> Screenplay {
    let typed = |one: &Vec<String>| one.iter().map(|sql| as_typed(sql, engine)).collect::<Vec<String>>();
    let mut left: Vec<Vec<String>> =
        sessions.iter().map(|one| [opening(engine, level), typed(one), vec!["COMMIT".to_owned()]].concat()).collect();
    left.iter_mut().for_each(|one| one.reverse());
    let mut cues = Vec::new();
    while left.iter().any(|one| !one.is_empty()) {
        let session = turn();
        cues.extend(left[session].pop().map(|sql| Cue { session, name: None, sql }));
    }
    Screenplay { sessions: (0..sessions.len()).map(|number| format!("s{number}")).collect(), cues }
}

/// What comes out of one interleaving on the server; nothing where the server did not come to an end with it.
pub(crate) fn performed(url: &Url, screenplay: &Screenplay, tables: &[String]) -> Option<StormOutcome> {
    let settings = Settings { name: "storm".to_owned(), timeout: Duration::from_secs(30) };
    let mut connection = connect(url, &settings).unwrap_or_else(|failure| panic!("{failure}"));
    let dropped = ["c", "t"].map(|table| format!("DROP TABLE IF EXISTS {table}"));
    for sql in dropped.iter().chain(tables) {
        connection.command(sql).unwrap_or_else(|failure| panic!("{failure}"));
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
            // One code says that a row is needed, the other that it needs one.
            CueEnd::Refused { code, .. } if ["1451", "1452"].contains(&code.as_str()) => {
                answers.push("refused foreign key".to_owned());
            }
            CueEnd::Refused { code, .. } => answers.push(format!("refused {code}")),
            CueEnd::Answered(_) if ["BEGIN", "SET", "COMMIT"].iter().any(|word| cue.sql.starts_with(word)) => {}
            CueEnd::Answered(_) if is_savepoint(&cue.sql) => answers.push(String::new()),
            CueEnd::Answered(answer) if cue.sql.starts_with("SELECT") => {
                let text = |value: &Value| Some(value.to_string());
                answers.push(rows_text(&answer.rows.iter().map(|row| row.0.iter().map(text).collect()).collect()));
            }
            CueEnd::Answered(answer) => answers.push(changed(&cue.sql, answer.affected)),
            CueEnd::NotSent => {}
            CueEnd::Lost(_) | CueEnd::StillWaiting => return None,
        }
    }
    Some(outcome)
}

/// What came of the programs at one level.
#[derive(Default)]
struct Damage {
    programs: u64,
    too_large: u64,
    interleavings: u64,
    /// Refusals of PostgreSQL's serializable that the explorer does not have.
    refused: u64,
    outcomes: BTreeSet<(u64, StormOutcome)>,
    impossible: Vec<String>,
}

/// One program at one level.
fn storm(url: &Url, weather: Weather, name: &str, seed: u64, damage: &mut Damage) {
    let level: IsolationLevel = name.parse().unwrap_or_else(|error| panic!("{error}"));
    let (sessions, tables) = (weather.sessions(seed), weather.tables());
    let program = program(&sessions, weather.engine, &tables);
    let Some(possible) = possible(&program, level, sessions.len()) else {
        damage.too_large += 1;
        return;
    };
    damage.programs += 1;
    let mut random = Random::of_operation(seed, 0, 1);
    for _ in 0..number_from("SKEW_GUSTS", INTERLEAVINGS) {
        let screenplay = interleaved(&sessions, level, weather.engine, || random.index(sessions.len()));
        let Some(outcome) = performed(url, &screenplay, &tables) else { continue };
        damage.interleavings += 1;
        if possible.contains(&outcome) {
            damage.outcomes.insert((seed, outcome));
        } else if name == "pg:ser" && outcome.iter().flatten().any(|answer| answer == "refused 40001") {
            damage.refused += 1;
        } else {
            let order: Vec<String> =
                screenplay.cues.iter().map(|cue| format!("  s{}: {}", cue.session, cue.sql)).collect();
            let known: Vec<String> = possible.iter().take(12).map(|one| format!("  possible: {one:?}")).collect();
            let told = format!("storm, seed {seed}, {name}, {:?}: impossible: {outcome:?}", weather.terrain);
            say(&told);
            damage.impossible.push([&[told], &order[..], &known[..]].concat().join("\n"));
        }
    }
}

/// Draws programs, and wants every outcome on the server among those of the explorer.
fn weather(url: &Url, engine: Engine, levels: &[&str]) {
    let (first, count) = (number_from("SKEW_SEED", 1), number_from("SKEW_STORM", PROGRAMS));
    let mut impossible = Vec::new();
    for name in levels {
        let mut damage = Damage::default();
        for seed in first..first + count {
            storm(url, Weather::of(engine, seed), name, seed, &mut damage);
        }
        assert!(damage.interleavings > 0, "{name}");
        say(&format!(
            "storm at {name}: {} programs and {} too large, {} interleavings, {} outcomes, {} refused that need not be, {} impossible",
            damage.programs,
            damage.too_large,
            damage.interleavings,
            damage.outcomes.len(),
            damage.refused,
            damage.impossible.len()
        ));
        impossible.append(&mut damage.impossible);
    }
    assert!(impossible.is_empty(), "\n{}", impossible.join("\n"));
}

#[test]
fn whatever_postgresql_does_at_its_levels_the_explorer_has() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    weather(server.url(), Engine::Postgres, &["pg:rc", "pg:rr", "pg:ser"]);
}

#[test]
fn whatever_mariadb_does_at_its_levels_the_explorer_has() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    weather(server.url(), Engine::Mysql, &["mysql:rc", "mysql:rr", "mysql:ser"]);
}
