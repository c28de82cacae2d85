//! What a campaign found: counted, and told in words or as JSON.
//!
//! ```text
//!   withdraw.sql: 100 runs at causal (seeds 1 to 100), 14 different histories
//!     money adds up  fails in 37 runs, first with seed 2
//!   37 runs are not serializable: lost update (37)
//! ```

use super::super::program::UpdatesArgument;
use super::Arguments;
use super::stage::{Abort, Played};
use crate::clock;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::{unwritable, write_whole};
use serde_json::{Value, json};
use skew_campaign::ProgramFile;
use skew_campaign::anomalies::{Anomalies, SeenAnomaly, counted};
use skew_campaign::judge::{Behind, Judgement};
use skew_campaign::program_file::shown;
use skew_check::{AnomalyKind, Counterexample};
use skew_history::IsolationLevel;
use skew_program::{Program, ProgramError};
use skew_sql::Granularity;
use skew_view::finding::FoundIn;
use skew_view::{Finding, Palette, Picture, human, words};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Why an assertion is not known to be true.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// It is false or NULL in a possible final state.
    False,
    /// It cannot be evaluated there.
    Error(ProgramError),
    /// There are more final states than were looked at.
    Unknown,
}

/// What is counted of one assertion.
struct AssertionTally {
    name: String,
    violations: u64,
    unknown: u64,
    first: Option<FirstFailure>,
}

struct FirstFailure {
    seed: u64,
    error: Option<ProgramError>,
    /// What the run violated, if anything.
    found: Option<Counterexample>,
    /// What stands behind it where the run is what it is compared with, in words.
    behind: Option<String>,
}

/// All runs together.
pub(super) struct Tally {
    pub(super) distinct: usize,
    runs: u64,
    /// Runs whose assertions were asked.
    judged: u64,
    assertions: Vec<AssertionTally>,
    anomalies: Anomalies,
    /// What the run that is being counted violates.
    current: Option<Counterexample>,
    refusals: u64,
    given_up_runs: u64,
    rollbacks: u64,
    signals: BTreeMap<String, u64>,
    errors: BTreeMap<String, (u64, ProgramError)>,
    endless: Option<(u64, ProgramError)>,
    last: Option<Played>,
}

impl Tally {
    pub(super) fn new(program: &Program, against: IsolationLevel) -> Tally {
        let assertion = |name: &str| AssertionTally { name: name.to_owned(), violations: 0, unknown: 0, first: None };
        Tally {
            distinct: 0,
            runs: 0,
            judged: 0,
            assertions: program.assertions().iter().map(|found| assertion(&found.name)).collect(),
            anomalies: Anomalies::new(against),
            current: None,
            refusals: 0,
            given_up_runs: 0,
            rollbacks: 0,
            signals: BTreeMap::new(),
            errors: BTreeMap::new(),
            endless: None,
            last: None,
        }
    }

    /// Counts what the checker said about a run.
    pub(super) fn verdict(&mut self, seed: u64, own_level: &Judgement, against: &Judgement) {
        self.anomalies.count(seed, against);
        // A run is open when either question is.
        let only_own = matches!(own_level, Judgement::Unknown) && !matches!(against, Judgement::Unknown);
        self.anomalies.undecided += u64::from(only_own);
        self.current = match against {
            Judgement::Fails(found) => Some(found.as_ref().clone()),
            Judgement::Holds | Judgement::Unknown => None,
        };
    }

    /// Whether one of these failures is the first of its assertion.
    pub(super) fn is_first(&self, failures: &[(usize, Failure)]) -> bool {
        failures
            .iter()
            .any(|(number, failure)| !matches!(failure, Failure::Unknown) && self.assertions[*number].first.is_none())
    }

    /// Counts a run; without failures its assertions were not asked.
    pub(super) fn run(&mut self, played: Played, failures: Option<Vec<(usize, Failure)>>, behind: Option<Behind>) {
        let told = behind.as_ref().map(|behind| behind.in_words(self.anomalies.against()));
        let found = self.current.take().or_else(|| behind.and_then(Behind::found));
        self.runs += 1;
        self.judged += u64::from(failures.is_some());
        self.refusals += played.refusals;
        self.given_up_runs += u64::from(played.given_up > 0);
        for abort in &played.aborts {
            match abort {
                Abort::Rollback => self.rollbacks += 1,
                Abort::Signal(message) => *self.signals.entry(message.clone()).or_default() += 1,
                Abort::Error(error) => {
                    self.errors.entry(error.message.clone()).or_insert_with(|| (0, error.clone())).0 += 1;
                }
            }
        }
        for (number, failure) in failures.into_iter().flatten() {
            let error = match failure {
                Failure::Unknown => {
                    self.assertions[number].unknown += 1;
                    continue;
                }
                Failure::False => None,
                Failure::Error(error) => Some(error),
            };
            let assertion = &mut self.assertions[number];
            assertion.violations += 1;
            let first = || FirstFailure { seed: played.seed, error, found: found.clone(), behind: told.clone() };
            assertion.first.get_or_insert_with(first);
        }
        if let (None, Some(error)) = (&self.endless, &played.endless) {
            self.endless = Some((played.seed, error.clone()));
        }
        self.last = Some(played);
    }

    /// Whether any run came to its end.
    pub(super) fn has_runs(&self) -> bool {
        self.runs > 0
    }

    /// Whether something failed that the exit code tells of.
    pub(super) fn has_failed(&self, against_was_asked: bool) -> bool {
        self.assertions.iter().any(|assertion| assertion.violations > 0)
            || (against_was_asked && !self.anomalies.is_empty())
    }

    pub(super) fn exit(&self, against_was_asked: bool) -> Exit {
        let open = self.anomalies.undecided > 0
            || self.endless.is_some()
            || self.assertions.iter().any(|assertion| assertion.unknown > 0)
            || (self.judged == 0 && !self.assertions.is_empty())
            || clock::is_stopped();
        match (self.has_failed(against_was_asked), open) {
            (true, _) => Exit::Found,
            (false, true) => Exit::Inconclusive,
            (false, false) => Exit::Holds,
        }
    }

    /// The counterexample that is shown: of the first failed assertion, else the first that there is.
    fn shown(&self) -> Option<&Counterexample> {
        let failed = self.assertions.iter().filter_map(|assertion| assertion.first.as_ref()?.found.as_ref()).next();
        failed.or_else(|| self.anomalies.first().map(|anomaly| &anomaly.found))
    }

    /// Writes the counterexamples: of each failed assertion, and one of each anomaly.
    pub(super) fn save(&self, arguments: &Arguments, folder: &Path, file: &ProgramFile) -> Result<(), Complaint> {
        let failed = self.assertions.iter().filter_map(|assertion| assertion.first.as_ref());
        let failed = failed.filter_map(|first| Some((first.seed, first.found.as_ref()?)));
        let anomalies = self.anomalies.iter().map(|(_, anomaly)| (anomaly.seed, &anomaly.found));
        let sha256 = file.sha256();
        let mut saved: Vec<(u64, AnomalyKind)> = Vec::new();
        for (seed, found) in failed.chain(anomalies) {
            if saved.contains(&(seed, found.kind)) {
                continue;
            }
            saved.push((seed, found.kind));
            let found_in = FoundIn { file: arguments.name(), format: "program".to_owned(), sha256: sha256.clone() };
            let path = folder.join(format!("{}-{}.json", saved.len(), found.kind.name()));
            let finding = Finding::new(found, found_in, arguments.replay(seed)).to_json();
            let text = finding.map_err(|error| unwritable(&path, &std::io::Error::other(error.to_string())))?;
            write_whole(&path, text).map_err(|error| unwritable(&path, &error))?;
        }
        Ok(())
    }
}

/// Words.
impl Tally {
    pub(super) fn human(&self, arguments: &Arguments, program: &Program, palette: Palette) -> String {
        let Palette { heading, end, .. } = palette;
        let name = words::clean(&arguments.name());
        let runs = counted(self.runs, "run");
        let histories = match self.distinct {
            1 => "1 history".to_owned(),
            count => format!("{count} different histories"),
        };
        let mut text =
            format!("{heading}{name}{end}: {runs} at {} from seed {}, {histories}\n", arguments.level, arguments.seed);
        self.tell_assertions(palette, &mut text);
        self.tell_counts(&mut text);
        if let Some((seed, error)) = &self.endless {
            let place = error.place;
            let _ = writeln!(text, "  line {}, column {}: {} (seed {seed})", place.line, place.column, error.message);
            let _ = writeln!(text, "    {}", error.line.trim());
        }
        if self.runs == 1 {
            self.tell_calls(program, &mut text);
        }
        if let Some(found) = self.shown() {
            let _ = write!(text, "\n{}", human::counterexample(Picture::from(found), palette));
        }
        self.tell_replay(arguments, &mut text);
        text
    }

    fn tell_assertions(&self, palette: Palette, text: &mut String) {
        let Palette { good, bad, doubtful, end, .. } = palette;
        for assertion in &self.assertions {
            let name = words::clean(&assertion.name);
            let _ = match &assertion.first {
                Some(first) => {
                    let runs = counted(assertion.violations, "run");
                    let behind = first.behind.as_ref().map(|behind| format!("; {behind}")).unwrap_or_default();
                    let seed = first.seed;
                    let _ = writeln!(text, "  {bad}fails{end}  {name}: in {runs}, first with seed {seed}{behind}");
                    match &first.error {
                        Some(error) => {
                            writeln!(text, "         because it cannot be evaluated: {}", words::clean(&error.message))
                        }
                        None => Ok(()),
                    }
                }
                None if assertion.unknown > 0 => {
                    let runs = counted(assertion.unknown, "run");
                    writeln!(
                        text,
                        "  {doubtful}inconclusive{end}  {name}: {runs} may have left other final states than were looked at"
                    )
                }
                None if self.judged == 0 => writeln!(text, "  {doubtful}inconclusive{end}  {name}: no run was judged"),
                None => writeln!(text, "  {good}holds{end}  {name}"),
            };
        }
    }

    fn tell_counts(&self, text: &mut String) {
        self.anomalies.tell(self.runs, text);
        if self.refusals > 0 {
            let _ = writeln!(text, "  refused by the database: {}", counted(self.refusals, "transaction"));
        }
        if self.given_up_runs > 0 {
            let runs = counted(self.given_up_runs, "run");
            let _ = writeln!(text, "  not judged: {runs} with a call that was refused for good; raise --retry");
        }
        if self.rollbacks > 0 {
            let _ = writeln!(text, "  rolled back by their program: {}", counted(self.rollbacks, "call"));
        }
        for (message, count) in &self.signals {
            let _ = writeln!(text, "  aborted by SIGNAL: {}: {}", counted(*count, "call"), words::clean(message));
        }
        for (count, error) in self.errors.values() {
            let (calls, place) = (counted(*count, "call"), error.place);
            let message = words::clean(&error.message);
            let _ = writeln!(
                text,
                "  aborted by an error: {calls}: line {}, column {}: {message}",
                place.line, place.column
            );
        }
    }

    /// Who called what, and what came back.
    fn tell_calls(&self, program: &Program, text: &mut String) {
        let Some(played) = &self.last else { return };
        for (session, script) in program.scripts().iter().enumerate() {
            for (number, call) in script.calls.iter().enumerate() {
                let procedure = &program.procedures()[call.procedure];
                let _ = write!(text, "  {}[{}] {}: ", script.name, number + 1, procedure.name);
                let Some(result) = played.results.get(session, number) else {
                    let _ = writeln!(text, "did not end");
                    continue;
                };
                let _ = write!(text, "{}", result.outcome.word());
                for (field, value) in procedure.fields.iter().zip(&result.fields) {
                    let _ = write!(text, ", {} = {}", field.name, words::clean(&shown(value, field, program)));
                }
                let _ = writeln!(text);
            }
        }
    }

    /// The command that shows the first failure again.
    fn tell_replay(&self, arguments: &Arguments, text: &mut String) {
        let failed =
            self.assertions.iter().filter_map(|assertion| assertion.first.as_ref()).map(|first| first.seed).min();
        let anomaly = self.anomalies.first().map(|anomaly| anomaly.seed);
        if let Some(seed) = failed.or(anomaly).filter(|_| self.runs > 1) {
            let _ = writeln!(text, "\n{}", arguments.replay(seed));
        }
    }
}

/// JSON.
impl Tally {
    pub(super) fn json(&self, arguments: &Arguments) -> String {
        let assertions: Vec<Value> = self.assertions.iter().map(|assertion| assertion.json(arguments)).collect();
        let anomalies: Vec<Value> =
            self.anomalies.iter().map(|(kind, anomaly)| anomaly_json(kind, anomaly, arguments)).collect();
        let errors: Vec<Value> = self.errors.values().map(|(count, error)| error_json(error, *count)).collect();
        let signals: Vec<Value> =
            self.signals.iter().map(|(message, count)| json!({"message": message, "calls": count})).collect();
        let object = json!({
            "skew": 1,
            "file": arguments.name(),
            "level": arguments.level.name(),
            "updates": if arguments.updates == UpdatesArgument::Atomic { "atomic" } else { "plain" },
            "granularity": if Granularity::from(arguments.granularity) == Granularity::Row { "row" } else { "cell" },
            "chooser": arguments.chooser.name(),
            "seed": arguments.seed,
            "runs": self.runs,
            "judged": self.judged,
            "histories": self.distinct,
            "assertions": assertions,
            "against": self.anomalies.against().name(),
            "violating": self.anomalies.runs(),
            "anomalies": anomalies,
            "undecided": self.anomalies.undecided,
            "refused": {"transactions": self.refusals, "runs_not_judged": self.given_up_runs},
            "aborted": {"rollback": self.rollbacks, "signals": signals, "errors": errors},
            "endless": self.endless.as_ref().map(|(_, error)| error_json(error, 1)),
        });
        object.to_string()
    }
}

impl AssertionTally {
    fn json(&self, arguments: &Arguments) -> Value {
        let first = self.first.as_ref();
        json!({
            "name": self.name,
            "violations": self.violations,
            "open": self.unknown,
            "seed": first.map(|first| first.seed),
            "error": first.and_then(|first| first.error.as_ref()).map(|error| error.message.clone()),
            "behind": first.and_then(|first| first.behind.as_deref()),
            "replay": first.map(|first| arguments.replay(first.seed)),
        })
    }
}

fn anomaly_json(kind: AnomalyKind, anomaly: &SeenAnomaly, arguments: &Arguments) -> Value {
    let found = skew_view::report::found_json(Picture::from(&anomaly.found));
    json!({
        "anomaly": kind.name(),
        "runs": anomaly.runs,
        "seed": anomaly.seed,
        "replay": arguments.replay(anomaly.seed),
        "transactions": found["transactions"],
        "edges": found["edges"],
    })
}

fn error_json(error: &ProgramError, count: u64) -> Value {
    let place = error.place;
    json!({"message": error.message, "state": error.state.0, "line": place.line, "column": place.column, "calls": count})
}
