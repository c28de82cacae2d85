//! The other way round: every outcome that the explorer has of a small program, on live servers.
//!
//! ```text
//!   a seed ──> every run at an engine's level ──> its statements, sent as the run has them ──> the same outcome, another one, or a refusal
//! ```
//!
//! An outcome counts as seen when the server showed it, in whatever run. What is left has a reason, or is a wrong answer of the explorer: who
//! is refused in a deadlock is for the server to choose, PostgreSQL's serializable refuses more than it must, and who does not wait may have to
//! come at a moment that is too brief. `SKEW_SEED` says with
//! which program to begin and `SKEW_SMALL` how many there are at every level; those with more outcomes than [`MOST_OUTCOMES`] are left out.

use crate::live::{installed, opening};
use crate::number_from;
use crate::storm::{StormOutcome, interleaved, outcome, performed, program};
use crate::terrain::{Sessions, Weather};
use skew_chance::Random;
use skew_check::Budget;
use skew_explore::{BeatKind, IsolationLevel, Options, RunAnswer, Search, SqlProgram, Subtree};
use skew_history::Engine;
use skew_testing::say;
use skew_workload::Url;
use skew_workload::screenplay::Screenplay;
use skew_workload::servers::{MariaDbServer, PostgresServer};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// How many programs at every level without being told.
const PROGRAMS: u64 = 7;

/// A program of more steps, of more runs, or of more outcomes is not small.
const MOST_STEPS: u64 = 50_000;
const MOST_RUNS: u64 = 1_000;
const MOST_OUTCOMES: usize = 40;

/// So many runs of an outcome are tried on the server, then so many interleavings by chance.
const TRIES: usize = 4;
const GUSTS: usize = 40;

/// What came of the outcomes at one level.
#[derive(Default)]
struct Tally {
    programs: u64,
    too_large: u64,
    outcomes: usize,
    seen: usize,
    /// Not seen because the server refused another one to end a deadlock.
    chosen: usize,
    /// Not seen because PostgreSQL's serializable refused somebody.
    refused: usize,
    /// Not seen because somebody who does not wait has to come at a moment that nobody can wait for: within a statement, or between a refusal and
    /// the ROLLBACK that follows it here at once.
    brief: usize,
    /// What the server showed and the explorer does not have; what it did not show, and why is not known.
    impossible: Vec<String>,
    unseen: Vec<String>,
}

/// A small program at one level on a server.
struct Small<'a> {
    url: &'a Url,
    engine: Engine,
    name: &'static str,
    level: IsolationLevel,
    seed: u64,
    sessions: Sessions,
    tables: Vec<String>,
}

impl Small<'_> {
    fn program(&self) -> SqlProgram {
        program(&self.sessions, self.engine, &self.tables)
    }

    /// A few runs of every outcome; nothing where there are too many.
    fn runs(&self) -> Option<BTreeMap<StormOutcome, Vec<Subtree>>> {
        let program = self.program();
        let mut search = Search::new(&program, Options::new(self.level)).unwrap_or_else(|error| panic!("{error}"));
        let (mut found, mut count): (BTreeMap<StormOutcome, Vec<Subtree>>, u64) = Default::default();
        let steps = Cell::new(0);
        let is_stopped = || {
            steps.set(steps.get() + 1);
            steps.get() > MOST_STEPS
        };
        while let Some(run) = search.next_run_unless(&is_stopped).unwrap_or_else(|error| panic!("{error}")) {
            if run.answer(Budget::steps(1_000_000)) == RunAnswer::Holds {
                let runs = found.entry(outcome(&run, self.sessions.len())).or_default();
                if runs.len() < TRIES {
                    runs.push(run.subtree());
                }
            }
            count += 1;
            if count > MOST_RUNS || found.len() > MOST_OUTCOMES {
                return None;
            }
        }
        (steps.get() <= MOST_STEPS).then_some(found)
    }

    /// The statements of a run in the order in which they are sent; what it does not come to is sent at the end.
    fn screenplay(&self, run: &Subtree) -> Screenplay {
        let program = self.program();
        let mut search = Search::nothing(&program, Options::new(self.level)).unwrap_or_else(|error| panic!("{error}"));
        let beats = search.beats(run).unwrap_or_else(|error| panic!("{error}"));
        let begin = opening(self.engine, self.level).len();
        let openings = (0..self.sessions.len()).flat_map(|session| std::iter::repeat_n(session, begin));
        let sent = beats.into_iter().filter(|beat| beat.kind == BeatKind::Sent).map(|beat| beat.place.session);
        let mut turns = openings.chain(sent).chain((0..self.sessions.len()).cycle());
        interleaved(&self.sessions, self.level, self.engine, || turns.next().unwrap_or_default())
    }

    fn look(&self, tally: &mut Tally) {
        let Some(runs) = self.runs() else {
            tally.too_large += 1;
            return;
        };
        tally.programs += 1;
        tally.outcomes += runs.len();
        let mut seen = BTreeSet::new();
        let mut instead: BTreeMap<&StormOutcome, BTreeSet<StormOutcome>> = BTreeMap::new();
        for (outcome, subtrees) in &runs {
            for run in subtrees {
                if seen.contains(outcome) {
                    break;
                }
                self.perform(&self.screenplay(run), &runs, &mut seen, instead.entry(outcome).or_default(), tally);
            }
        }
        let mut random = Random::of_operation(self.seed, 0, 3);
        for _ in 0..GUSTS {
            if seen.len() == runs.len() {
                break;
            }
            let turn = || random.index(self.sessions.len());
            let screenplay = interleaved(&self.sessions, self.level, self.engine, turn);
            self.perform(&screenplay, &runs, &mut seen, &mut BTreeSet::new(), tally);
        }
        tally.seen += seen.len();
        for outcome in runs.keys().filter(|outcome| !seen.contains(*outcome)) {
            let shown = instead.get(outcome).cloned().unwrap_or_default();
            self.miss(outcome, &shown, tally);
        }
    }

    /// Makes one interleaving on the server, and keeps what it shows.
    fn perform(
        &self,
        screenplay: &Screenplay,
        runs: &BTreeMap<StormOutcome, Vec<Subtree>>,
        seen: &mut BTreeSet<StormOutcome>,
        shown: &mut BTreeSet<StormOutcome>,
        tally: &mut Tally,
    ) {
        let Some(live) = performed(self.url, screenplay, &self.tables) else { return };
        shown.insert(live.clone());
        if runs.contains_key(&live) {
            seen.insert(live);
        } else if !self.is_refused(&live) {
            let cues = screenplay.cues.iter().map(|cue| format!("  s{}: {}", cue.session, cue.sql));
            let told = format!("seed {}, {}: impossible: {live:?}", self.seed, self.name);
            tally.impossible.push([told].into_iter().chain(cues).collect::<Vec<String>>().join("\n"));
        }
    }

    /// Whether PostgreSQL's serializable has refused somebody.
    fn is_refused(&self, live: &StormOutcome) -> bool {
        self.name == "pg:ser" && live.iter().flatten().any(|answer| answer == "refused 40001")
    }

    /// An outcome that the server did not show, though its runs were tried.
    fn miss(&self, outcome: &StormOutcome, shown: &BTreeSet<StormOutcome>, tally: &mut Tally) {
        if is_deadlock(outcome) && shown.iter().any(is_deadlock) {
            tally.chosen += 1;
        } else if shown.iter().any(|live| self.is_refused(live)) {
            tally.refused += 1;
        } else if self.sessions.iter().flatten().any(|sql| sql.ends_with(" NOWAIT") || sql.ends_with(" SKIP LOCKED")) {
            tally.brief += 1;
        } else {
            let sessions = self.sessions.iter().map(|statements| format!("  {}", statements.join("; ")));
            let runs = self.runs().unwrap_or_default();
            let sent = runs.get(outcome).and_then(|runs| runs.first()).map(|run| self.screenplay(run));
            let cues = sent.into_iter().flat_map(|screenplay| screenplay.cues);
            let cues = cues.map(|cue| format!("    s{}: {}", cue.session, cue.sql));
            let told = format!("seed {}, {}: not seen: {outcome:?}", self.seed, self.name);
            let live = shown.iter().map(|live| format!("  live: {live:?}"));
            let lines: Vec<String> = [told].into_iter().chain(sessions).chain(cues).chain(live).collect();
            say(&lines.join("\n"));
            tally.unseen.push(lines.join("\n"));
        }
    }
}

fn is_deadlock(outcome: &StormOutcome) -> bool {
    outcome.iter().flatten().any(|answer| ["refused 40P01", "refused 1213"].contains(&answer.as_str()))
}

/// Draws programs, and wants every outcome of the explorer on the server, or a reason.
fn look(url: &Url, engine: Engine, levels: &[&'static str]) {
    let (first, count) = (number_from("SKEW_SEED", 1), number_from("SKEW_SMALL", PROGRAMS));
    let mut wrong = Vec::new();
    for &name in levels {
        let level: IsolationLevel = name.parse().unwrap_or_else(|error| panic!("{error}"));
        let mut tally = Tally::default();
        for seed in first..first + count {
            let weather = Weather::of(engine, seed);
            let (sessions, tables) = (weather.sessions(seed), weather.tables());
            Small { url, engine, name, level, seed, sessions, tables }.look(&mut tally);
        }
        let Tally { programs, too_large, outcomes, seen, chosen, refused, brief, impossible, unseen } = tally;
        say(&format!(
            "outcomes at {name}: {programs} small programs and {too_large} too large, {outcomes} outcomes, {seen} seen, {chosen} where \
             another one was refused in a deadlock, {refused} that were refused for serializability, {brief} of a moment that is too brief, {} not seen, {} impossible ones shown",
            unseen.len(),
            impossible.len()
        ));
        wrong.extend(impossible.into_iter().chain(unseen));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn what_the_explorer_has_of_small_programs_postgresql_shows() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    look(server.url(), Engine::Postgres, &["pg:rc", "pg:rr", "pg:ser"]);
}

#[test]
fn what_the_explorer_has_of_small_programs_mariadb_shows() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    look(server.url(), Engine::Mysql, &["mysql:rc", "mysql:rr", "mysql:ser"]);
}
