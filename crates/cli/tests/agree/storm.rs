//! Random interleavings on live servers: nothing comes out that the explorer calls impossible at the level.
//!
//! ```text
//!   a seed ──> two or three sessions of statements ──> forced on the server, shuffled ──> an outcome: who was answered what
//!                     └──> explored at an engine's level, back from every run in which somebody hears something else ──> it is there, or not
//! ```
//!
//! The statements ([`crate::terrain`]) depend on nothing that was read, so that every interleaving has the same ones. `SKEW_SEED` says with
//! which program to begin, `SKEW_STORM` how many there are, each at every level, `SKEW_GUSTS` how many interleavings of each, and `SKEW_WHOLE`
//! of how many every outcome is found, which has to come to the same.
//!
//! PostgreSQL's serializable may refuse (40001) what it need not: what the others heard then has to be possible with those as far as they came.

use crate::live::{installed, opening};
use crate::number_from;
use crate::terrain::{Sessions, Weather, as_typed, is_savepoint};
use skew_chance::Random;
use skew_check::Budget;
use skew_explore::{IsolationLevel, Options, Place, Run, RunAnswer, Search, SqlOptions, SqlProgram};
use skew_history::Engine;
use skew_program::{Heard, Program, Spoken, TextRows};
use skew_testing::say;
use skew_workload::connection::{Settings, connect};
use skew_workload::screenplay::{AfterRefusal, Cue, CueEnd, Screenplay, Staging, perform};
use skew_workload::servers::{MariaDbServer, PostgresServer};
use skew_workload::{Url, Value};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

/// How many programs at every level without being told, how many interleavings of each, and how many of them are explored to their end.
const PROGRAMS: u64 = 150;
const INTERLEAVINGS: u64 = 1;
const WHOLE: u64 = 7;

/// Programs of more histories are not explored to their end.
const MOST_HISTORIES: u64 = 5_000;

/// A search for all outcomes ends after so many steps, and one for a single outcome.
const MOST_STEPS_OF_ALL: u64 = 100_000;
const MOST_STEPS: u64 = 2_000_000;

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
    let (mut runs, steps) = (0, Cell::new(0));
    let is_stopped = || {
        steps.set(steps.get() + 1);
        steps.get() > MOST_STEPS_OF_ALL
    };
    while let Some(run) = search.next_run_unless(&is_stopped).unwrap_or_else(|error| panic!("{error}")) {
        if run.answer(Budget::steps(1_000_000)) == RunAnswer::Holds {
            found.insert(outcome(&run, count));
        }
        runs += 1;
        if runs > MOST_HISTORIES {
            return None;
        }
    }
    (steps.get() <= MOST_STEPS_OF_ALL).then_some(found)
}

/// What all sessions of a run were answered.
pub(crate) fn outcome(run: &Run<'_, SqlProgram>, count: usize) -> StormOutcome {
    (0..count).map(|session| said(run, session)).collect()
}

/// Whether the explorer has one outcome: it turns back from every run in which somebody hears something else. Nothing where that takes too long.
pub(crate) fn is_possible(program: SqlProgram, level: IsolationLevel, wanted: &StormOutcome) -> Option<bool> {
    let expected = wanted.clone();
    let program = program.hearing_only(move |place, spoken| {
        let answers = &expected[place.session];
        spoken.len() <= answers.len() && spoken.iter().zip(answers).all(|(one, answer)| fits(one, answer))
    });
    let mut search = Search::new(&program, Options::new(level)).unwrap_or_else(|error| panic!("{error}"));
    let steps = Cell::new(0);
    let is_stopped = || {
        steps.set(steps.get() + 1);
        steps.get() > MOST_STEPS
    };
    while let Some(run) = search.next_run_unless(&is_stopped).unwrap_or_else(|error| panic!("{error}")) {
        if run.answer(Budget::steps(1_000_000)) == RunAnswer::Holds && outcome(&run, wanted.len()) == *wanted {
            return Some(true);
        }
    }
    if steps.get() > MOST_STEPS { None } else { Some(false) }
}

/// Whether a statement may have been answered so. With which code somebody is refused is known when the run is over.
fn fits(one: &Spoken, answer: &str) -> bool {
    match &one.heard {
        Heard::Failed { .. } => answer.starts_with("refused"),
        Heard::Rows(rows) => rows_text(rows) == answer,
        Heard::Changed(count, _) => changed(&one.text, *count) == answer,
        Heard::Done => answer.is_empty(),
    }
}

/// The same program for those whom PostgreSQL's serializable has refused: they come as far as they came, and roll back. It refuses more than
/// it must, and the explorer does not say when; what all others heard has to be possible all the same. Nothing where nobody was refused so.
fn without_refused(sessions: &Sessions, wanted: &StormOutcome) -> Option<(Sessions, StormOutcome)> {
    let is_refused = |answers: &Vec<String>| answers.last().is_some_and(|last| last == "refused 40001");
    let cut = |(statements, answers): (&Vec<String>, &Vec<String>)| match is_refused(answers) {
        true => {
            let heard = answers.len() - 1;
            let kept = statements[..heard].iter().cloned().chain(["ROLLBACK".to_owned()]).collect();
            (kept, answers[..heard].to_vec())
        }
        false => (statements.clone(), answers.clone()),
    };
    wanted.iter().any(is_refused).then(|| sessions.iter().zip(wanted).map(cut).unzip())
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
    interleavings: u64,
    /// Interleavings that the server did not come to an end with, or that were too much for the explorer.
    open: u64,
    /// Refusals of PostgreSQL's serializable; what the others heard is possible.
    refused: u64,
    /// Programs of which every outcome was found, too.
    whole: u64,
    outcomes: BTreeSet<(u64, StormOutcome)>,
    impossible: Vec<String>,
}

/// One program at one level.
struct Storm<'a> {
    url: &'a Url,
    weather: Weather,
    name: &'static str,
    level: IsolationLevel,
    seed: u64,
    sessions: Sessions,
    tables: Vec<String>,
}

impl Storm<'_> {
    fn program(&self, sessions: &Sessions) -> SqlProgram {
        program(sessions, self.weather.engine, &self.tables)
    }

    /// Blows a few times. Of the first programs all outcomes are found, to see that those who look for one of them find it.
    fn blow(&self, is_whole: bool, damage: &mut Damage) {
        damage.programs += 1;
        let whole = match is_whole {
            true => possible(&self.program(&self.sessions), self.level, self.sessions.len()),
            false => None,
        };
        damage.whole += u64::from(whole.is_some());
        let mut random = Random::of_operation(self.seed, 0, 1);
        for _ in 0..number_from("SKEW_GUSTS", INTERLEAVINGS) {
            let turn = || random.index(self.sessions.len());
            let screenplay = interleaved(&self.sessions, self.level, self.weather.engine, turn);
            let Some(outcome) = performed(self.url, &screenplay, &self.tables) else {
                damage.open += 1;
                continue;
            };
            damage.interleavings += 1;
            let answer = is_possible(self.program(&self.sessions), self.level, &outcome);
            if let (Some(whole), Some(answer)) = (&whole, answer) {
                assert_eq!(whole.contains(&outcome), answer, "seed {}, {}: {outcome:?}", self.seed, self.name);
            }
            self.judge(answer, outcome, &screenplay, damage);
        }
    }

    fn judge(&self, answer: Option<bool>, outcome: StormOutcome, screenplay: &Screenplay, damage: &mut Damage) {
        let is_serializable = self.name == "pg:ser";
        let cut = without_refused(&self.sessions, &outcome).filter(|_| is_serializable && answer == Some(false));
        let of_others = cut.and_then(|(kept, heard)| is_possible(self.program(&kept), self.level, &heard));
        match (answer, of_others) {
            (None, _) => damage.open += 1,
            (Some(true), _) => drop(damage.outcomes.insert((self.seed, outcome))),
            (Some(false), Some(true)) => damage.refused += 1,
            (Some(false), _) => {
                let Storm { seed, name, weather, .. } = self;
                let told = format!("storm, seed {seed}, {name}, {:?}: impossible: {outcome:?}", weather.terrain);
                say(&told);
                let cues = screenplay.cues.iter().map(|cue| format!("  s{}: {}", cue.session, cue.sql));
                let known = possible(&self.program(&self.sessions), self.level, self.sessions.len());
                let known = known.unwrap_or_default().into_iter().take(12).map(|one| format!("  possible: {one:?}"));
                let all: Vec<String> = [told].into_iter().chain(cues).chain(known).collect();
                damage.impossible.push(all.join("\n"));
            }
        }
    }
}

/// Draws programs, and wants every outcome on the server among those of the explorer.
fn weather(url: &Url, engine: Engine, name: &'static str) {
    let (first, count) = (number_from("SKEW_SEED", 1), number_from("SKEW_STORM", PROGRAMS));
    let level: IsolationLevel = name.parse().unwrap_or_else(|error| panic!("{error}"));
    let mut damage = Damage::default();
    for seed in first..first + count {
        let weather = Weather::of(engine, seed);
        let (sessions, tables) = (weather.sessions(seed), weather.tables());
        let is_whole = seed - first < number_from("SKEW_WHOLE", WHOLE);
        Storm { url, weather, name, level, seed, sessions, tables }.blow(is_whole, &mut damage);
    }
    let Damage { programs, interleavings, open, refused, whole, outcomes, impossible } = damage;
    assert!(interleavings > 0, "{name}");
    say(&format!(
        "storm at {name}: {programs} programs, {whole} of them explored to their end, {interleavings} interleavings, {} outcomes that the \
         explorer has, {refused} refused for serializability, {open} without an end, {} impossible",
        outcomes.len(),
        impossible.len()
    ));
    assert!(impossible.is_empty(), "\n{}", impossible.join("\n"));
}

fn on_postgresql(name: &'static str) {
    let Some(server) = installed(PostgresServer::start()) else { return };
    weather(server.url(), Engine::Postgres, name);
}

fn on_mariadb(name: &'static str) {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    weather(server.url(), Engine::Mysql, name);
}

#[test]
fn whatever_postgresql_does_at_read_committed_the_explorer_has() {
    on_postgresql("pg:rc");
}

#[test]
fn whatever_postgresql_does_at_repeatable_read_the_explorer_has() {
    on_postgresql("pg:rr");
}

#[test]
fn whatever_postgresql_does_at_serializable_the_explorer_has() {
    on_postgresql("pg:ser");
}

#[test]
fn whatever_mariadb_does_at_read_committed_the_explorer_has() {
    on_mariadb("mysql:rc");
}

#[test]
fn whatever_mariadb_does_at_repeatable_read_the_explorer_has() {
    on_mariadb("mysql:rr");
}

#[test]
fn whatever_mariadb_does_at_serializable_the_explorer_has() {
    on_mariadb("mysql:ser");
}
