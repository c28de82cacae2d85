//! The questions, and who answers them.
//!
//! An answer is "robust" only if nothing that is not understood could matter. What is not supported may read, write or lock anything, so one
//! such place makes "robust" into "unknown" and says so; an anomaly that was found stays one, because the statements that show it are
//! understood. With every transaction at PostgreSQL's serializable less can matter: the database itself refuses what would not be serializable. But
//! it does not watch everything. Who skips locked rows, tries an advisory lock or asks a sequence sees what no transaction has committed; and unique
//! keys, foreign keys and ON CONFLICT look at the latest state, which nobody remembers.

use super::concrete::concrete_programs;
use super::confirm::{ConcreteRun, Confirmed, confirm};
use super::fix::Fixing;
use super::instances::specification;
use super::rules::RuleAnswers;
use super::text::AnalyzedText;
use super::{AnalyzeSettings, Analyzed, AnsweredQuestion, KnownFinding, suppress, template_level};
use skew_analyze::{
    AnalysisEngine, AnalysisVerdict, Answer, DependencyKind, Finding, FindingStatus, Level, Robustness, RobustnessAnalysis,
    Transactions, Unsupported, Witness,
};
use skew_history::{Engine, EngineLevel, IsolationLevel};
use skew_value::{Dialect, Place};
use std::sync::Arc;

const INDEPENDENT: &str =
    "transactions are independent: nothing is known of which ones a session runs one after the other";
const IN_SESSIONS: &str = "sessions may run several transactions one after the other: every row that is read and changed is locked by who reads it, so that the \
    order of commits is a serial one";
const PLAIN: &str = "what stands between BEGIN and COMMIT, behind a name or alone in a file is one transaction, and runs all its statements";
const SERVER: &str =
    "PostgreSQL refuses what would not be serializable (40001): whoever is refused runs the transaction again";

const MYSQL: &str = "templates do not model MySQL, whose repeatable read is not snapshot isolation; explore the program at its levels with \
    `skew explore`";

const NUMBERED: &str = "numbers of sequences are only names: which transaction gets the lower one, and which are left out, counts for nothing";

/// What may be unsupported and yet cannot matter at serializable: it reads, writes and locks as other statements do.
const WATCHED: [&str; 6] = [
    "a lock in a subquery, over a join or with LIMIT",
    "a change inside WITH",
    "a variable of the session",
    "NOWAIT",
    "ON CONFLICT DO UPDATE … WHERE",
    "ROLLBACK TO a savepoint",
];

/// So many pairs of procedures are tried where one of them alone is not confirmed.
const MOST_PAIRS: usize = 30;

/// What all questions are about.
pub(super) struct Asking<'a> {
    pub(super) text: &'a AnalyzedText,
    pub(super) settings: &'a AnalyzeSettings,
    unsupported: &'a [Unsupported],
    /// Templates; or why there are none.
    analysis: Result<RobustnessAnalysis, String>,
    /// Whether somebody sees numbers of sequences.
    is_numbered: bool,
    /// Whether something looks at what PostgreSQL does not watch at serializable.
    forgets: bool,
}

/// All answers about a text.
pub(crate) fn everything(text: AnalyzedText, settings: AnalyzeSettings) -> Analyzed {
    let transactions = Transactions::of(&text.program);
    let mut unsupported = [text.unsupported.clone(), transactions.unsupported.clone()].concat();
    unsupported.sort_by_key(|one| (one.place.line, one.place.column));
    unsupported.dedup();
    let procedures = transactions.procedures.iter().map(|one| one.name.clone()).collect();
    let steps = transactions.procedures.iter().flat_map(|one| &one.steps);
    let statements = steps.map(|step| ((step.place.line, step.place.column), Arc::clone(&step.text))).collect();
    let (is_numbered, forgets) = (transactions.numbered, transactions.forgets);
    let analysis = RobustnessAnalysis::new(transactions, settings.options).map_err(|many| many.0);
    let asking = Asking { text: &text, settings: &settings, unsupported: &unsupported, analysis, is_numbered, forgets };
    let rules = RuleAnswers::of(&text);
    let mut questions = Vec::new();
    for level in &settings.levels {
        let question = asking.question(*level);
        questions.extend(rules.beside(*level, &question));
        questions.push(question);
    }
    questions.extend(settings.specification.iter().map(|one| asking.by_instances(one.clone())));
    let lowest = asking.lowest(&questions);
    let known = asking.analysis.as_ref().ok();
    let conflicts = known.map(RobustnessAnalysis::conflicts).unwrap_or_default();
    Analyzed { text, settings, questions, lowest, unsupported, conflicts, procedures, statements }
}

impl Asking<'_> {
    fn question(&self, level: IsolationLevel) -> AnsweredQuestion {
        let mut question = self.asked(level);
        for reason in self.not_covered(Some(level)) {
            if question.answer.verdict == AnalysisVerdict::Robust {
                question.answer.verdict = AnalysisVerdict::Unknown(reason);
            }
        }
        question
    }

    /// Why "robust" would be too much, all reasons.
    pub(super) fn not_covered(&self, level: Option<IsolationLevel>) -> Vec<String> {
        let serializable = level.and_then(IsolationLevel::of_engine) == Some(EngineLevel::PostgresSerializable);
        let matters = |one: &&Unsupported| !serializable || !WATCHED.contains(&one.construct.as_str());
        let unsupported: Vec<&Unsupported> = self.unsupported.iter().filter(matters).collect();
        let mut reasons = Vec::new();
        if let Some(first) = unsupported.first() {
            let more = match unsupported.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let place = self.text.spot(first.place);
            reasons.push(format!("{} at {place}{more} is not understood, and could matter", first.construct));
        }
        if serializable {
            return reasons;
        }
        let meets = self.analysis.as_ref().is_ok_and(|analysis| !analysis.conflicts().is_empty());
        // The papers' levels know no locks.
        let keeps_order = level.is_some_and(|level| level.of_engine().is_some()) && self.follows_commits();
        if self.settings.sessions && meets && !keeps_order {
            let what = "two transactions of one session keep their order, which these conflicts might break";
            reasons.push(format!("{what}; without --sessions, when they are independent, the answer is robust"));
        }
        reasons
    }

    fn follows_commits(&self) -> bool {
        self.analysis.as_ref().is_ok_and(RobustnessAnalysis::follows_commits)
    }

    /// What the engines say. Where templates do not know, a few instances may; and these may disprove what no run has shown.
    fn asked(&self, level: IsolationLevel) -> AnsweredQuestion {
        let engine = level.of_engine().map(EngineLevel::engine);
        if engine == Some(Engine::Mysql) || (engine.is_some() && self.text.dialect == Dialect::MySql) {
            return self.unknown(level, MYSQL.to_owned());
        }
        let known = level.of_engine().and_then(template_level);
        // A write that is taken back is neither a conflict nor a lock: a counterexample might rest on it.
        let taken_back = self.unsupported.iter().find(|one| one.construct == "ROLLBACK TO a savepoint");
        if let Some(one) = taken_back.filter(|_| known != Some(Level::Serializable)) {
            let place = self.text.spot(one.place);
            return self.unknown(level, format!("{} at {place} is not understood, and could matter", one.construct));
        }
        match known {
            Some(Level::Serializable) => {
                let covers = [SERVER.to_owned()].into_iter().chain(self.text.covers.iter().cloned());
                let covers = covers.chain(self.numbered()).collect();
                self.answer(level, self.at_serializable(), covers, Vec::new())
            }
            Some(known) => self.by_templates(level, known),
            None => match specification(level) {
                Some(specification) => self.by_instances(specification),
                None => self.unknown(level, format!("{level} is no level that can be analysed")),
            },
        }
    }

    /// Whether all that matters is watched by the database.
    fn at_serializable(&self) -> AnalysisVerdict {
        let unwatched =
            "PostgreSQL does not watch at serializable what unique keys, foreign keys and ON CONFLICT look at";
        let analysis = match &self.analysis {
            Ok(analysis) => analysis,
            Err(_) if !self.forgets => return AnalysisVerdict::Robust,
            Err(reason) => return AnalysisVerdict::Unknown(format!("{unwatched}, and {reason}")),
        };
        let all = vec![Some(Level::Serializable); analysis.transactions().procedures.len()];
        match analysis.ask(&all) {
            Robustness::Robust => AnalysisVerdict::Robust,
            Robustness::Unknown(reason) => AnalysisVerdict::Unknown(format!("{unwatched}, and {reason}")),
            Robustness::NotRobust(witness) => {
                let mut places: Vec<Place> =
                    witness.dependencies.iter().flat_map(|one| [one.from.1, one.to.1]).collect();
                places.sort_by_key(|place| (place.line, place.column));
                places.dedup();
                let places: Vec<String> = places.into_iter().map(|place| self.text.spot(place)).collect();
                AnalysisVerdict::Unknown(format!("{unwatched}: it may let {} go together", places.join(", ")))
            }
        }
    }

    fn numbered(&self) -> Option<String> {
        self.is_numbered.then(|| NUMBERED.to_owned())
    }

    fn by_templates(&self, level: IsolationLevel, known: Level) -> AnsweredQuestion {
        let analysis = match &self.analysis {
            Ok(analysis) => analysis,
            Err(reason) => return self.in_place_of_templates(known.of_engine(), reason.clone()),
        };
        match analysis.counterexamples(known) {
            Err(reason) => self.in_place_of_templates(known.of_engine(), reason),
            Ok(witnesses) if witnesses.is_empty() => {
                self.answer(level, AnalysisVerdict::Robust, self.covers(analysis), Vec::new())
            }
            Ok(witnesses) => {
                let mut found: Vec<(Finding, KnownFinding)> =
                    witnesses.iter().map(|witness| self.finding(analysis, known, witness)).collect();
                found.extend(self.confirmed_pairs(analysis, known, &found));
                let is_shown = |(finding, _): &(Finding, KnownFinding)| finding.status != FindingStatus::Potential;
                let largest = witnesses.iter().map(|witness| witness.instances.len()).max().unwrap_or(0);
                if !found.iter().any(is_shown)
                    && let Some(question) = self.disproved(known.of_engine(), largest)
                {
                    return question;
                }
                self.answer(level, AnalysisVerdict::Anomaly, self.covers(analysis), found)
            }
        }
    }

    /// Where a procedure alone may go wrong and no run shows it, runs with another one may: those that do are told as well.
    fn confirmed_pairs(
        &self,
        analysis: &RobustnessAnalysis,
        level: Level,
        found: &[(Finding, KnownFinding)],
    ) -> Vec<(Finding, KnownFinding)> {
        let procedures = &analysis.transactions().procedures;
        let members = |finding: &Finding| {
            let name = |one: &usize| finding.transactions.contains(&procedures[*one].name);
            (0..procedures.len()).filter(name).collect::<Vec<usize>>()
        };
        let told: Vec<Vec<usize>> = found.iter().map(|(finding, _)| members(finding)).collect();
        let is_alone = |place: usize| told[place].len() == 1 && found[place].0.status != FindingStatus::Confirmed;
        let mut pairs: Vec<Vec<usize>> = Vec::new();
        for one in (0..found.len()).filter(|place| is_alone(*place)).map(|place| told[place][0]) {
            for other in (0..procedures.len()).filter(|other| *other != one) {
                let pair = vec![one.min(other), one.max(other)];
                let is_known = told.iter().any(|set| *set == pair || *set == [other]) && !pairs.contains(&pair);
                let is_doubtful = (0..found.len()).any(|place| told[place] == [other] && is_alone(place));
                pairs.extend((!pairs.contains(&pair) && (!is_known || is_doubtful)).then_some(pair));
            }
        }
        let witness = |pair: &Vec<usize>| analysis.counterexample_between(pair[0], pair[1], level);
        let tried = pairs.iter().take(MOST_PAIRS).filter_map(witness).map(|one| self.finding(analysis, level, &one));
        tried.filter(|(finding, _)| finding.status == FindingStatus::Confirmed).collect()
    }

    pub(super) fn unknown(&self, level: IsolationLevel, reason: String) -> AnsweredQuestion {
        self.answer(level, AnalysisVerdict::Unknown(reason), Vec::new(), Vec::new())
    }

    fn answer(
        &self,
        level: IsolationLevel,
        verdict: AnalysisVerdict,
        covers: Vec<String>,
        found: Vec<(Finding, KnownFinding)>,
    ) -> AnsweredQuestion {
        let (findings, known) = found.into_iter().unzip();
        let (level, engine) = (level.to_string(), AnalysisEngine::Template);
        AnsweredQuestion { answer: Answer { level, verdict, engine, k: None, findings, covers }, known }
    }

    /// What every answer rests on.
    pub(super) fn covered(&self) -> Vec<String> {
        let plain = self.text.has_plain.then(|| PLAIN.to_owned());
        plain.into_iter().chain(self.text.covers.iter().cloned()).chain(self.numbered()).collect()
    }

    /// What an answer of templates rests on.
    fn covers(&self, analysis: &RobustnessAnalysis) -> Vec<String> {
        let keeps_order = self.settings.sessions && analysis.follows_commits();
        let mut covers = vec![if keeps_order { IN_SESSIONS } else { INDEPENDENT }.to_owned()];
        covers.extend(self.covered());
        let given =
            |table: &String| format!("the rows of {table} that the text inserts are there: no procedure deletes them");
        covers.extend(analysis.given().iter().map(given));
        if self.settings.options.functional {
            covers.extend(
                analysis.functions().iter().map(|column| format!("{column} never changes: no procedure writes it")),
            );
        }
        covers
    }

    /// A witness, tried and with what helps.
    fn finding(&self, analysis: &RobustnessAnalysis, level: Level, witness: &Witness) -> (Finding, KnownFinding) {
        let asked = IsolationLevel::Engine(level.of_engine());
        let Confirmed { status, shown, reason } = confirm(concrete_programs(self.text, witness), asked);
        let named = shown.as_ref().and_then(|run| run.anomaly).unwrap_or_else(|| witness.anomaly());
        let fixing = Fixing { text: self.text, analysis, options: self.settings.options, level, witness };
        let mut locations: Vec<Place> = witness.dependencies.iter().flat_map(|one| [one.from.1, one.to.1]).collect();
        locations.dedup();
        let mut each_once: Vec<Place> = Vec::new();
        locations.into_iter().for_each(|place| each_once.extend((!each_once.contains(&place)).then_some(place)));
        let (fixes, changes) = fixing.fixes().into_iter().map(|made| (made.fix, made.change)).unzip();
        let finding = Finding {
            anomaly: named.to_owned(),
            status,
            transactions: witness.instances.iter().map(|instance| instance.name.clone()).collect(),
            locations: each_once,
            interleaving: witness.statements.clone(),
            fixes,
            sentence: sentence(witness, shown.as_ref(), reason),
        };
        let known = KnownFinding {
            calls: calls(self.text, witness, shown.as_ref().map(|run| &run.calls[..])),
            run: shown,
            changes,
            kept: None,
            safe_at: self.safe_at(analysis, level, witness),
            fingerprint: suppress::fingerprint(&finding),
            accepted: None,
        };
        (finding, known)
    }

    /// The higher levels at which the procedures of a witness are safe.
    fn safe_at(&self, analysis: &RobustnessAnalysis, level: Level, witness: &Witness) -> Vec<EngineLevel> {
        let takes_part = |name: &str| witness.instances.iter().any(|one| one.name == name);
        let safe = |higher: &Level| {
            let of = |name: &str| takes_part(name).then_some(*higher);
            let levels: Vec<Option<Level>> =
                analysis.transactions().procedures.iter().map(|one| of(&one.name)).collect();
            analysis.ask(&levels).is_robust()
        };
        let higher = Level::ALL.into_iter().filter(|other| *other > level);
        higher.filter(safe).map(Level::of_engine).collect()
    }

    /// The lowest level at which a few instances prove what templates do not.
    fn proved_by_instances(&self, questions: &[AnsweredQuestion]) -> Option<Level> {
        let is_proved = |level: &Level| {
            questions.iter().map(|question| &question.answer).any(|answer| {
                answer.engine != AnalysisEngine::Template
                    && answer.verdict == AnalysisVerdict::Robust
                    && answer.level == level.of_engine().name()
            })
        };
        Level::ALL.into_iter().find(is_proved)
    }

    /// The lowest level of each procedure, where levels of PostgreSQL are asked about. Where something is not understood, or too much, serializable for
    /// all is all that is certain, if anything is.
    fn lowest(&self, questions: &[AnsweredQuestion]) -> Option<Vec<(String, EngineLevel)>> {
        let is_postgres = |level: &IsolationLevel| level.of_engine().map(EngineLevel::engine) == Some(Engine::Postgres);
        if self.text.dialect == Dialect::MySql || !self.settings.levels.iter().any(is_postgres) {
            return None;
        }
        let all: Vec<String> = self.text.program.procedures().iter().map(|one| one.name.clone()).collect();
        let is_understood = self.unsupported.is_empty() && (!self.settings.sessions || self.follows_commits());
        let found = self.analysis.as_ref().ok().filter(|_| is_understood).and_then(RobustnessAnalysis::lowest);
        let serializable = IsolationLevel::Engine(EngineLevel::PostgresSerializable);
        let is_certain =
            || self.not_covered(Some(serializable)).is_empty() && self.at_serializable() == AnalysisVerdict::Robust;
        let proved = self.proved_by_instances(questions);
        let is_no_lower = |levels: &Vec<Level>| proved.is_none_or(|proved| levels.iter().all(|level| *level <= proved));
        let found = found.filter(is_no_lower).or_else(|| proved.map(|level| vec![level; all.len()]));
        let levels = found.or_else(|| is_certain().then(|| vec![Level::Serializable; all.len()]))?;
        Some(all.into_iter().zip(levels.into_iter().map(Level::of_engine)).collect())
    }
}

/// What goes wrong, in a sentence: in the run that shows it, if there is one; else why it is not known whether it does.
fn sentence(witness: &Witness, run: Option<&ConcreteRun>, reason: Option<String>) -> String {
    let names: Vec<&str> = match run.filter(|run| !run.cycle.is_empty()) {
        Some(run) => run.calls.iter().map(|call| call.split('(').next().unwrap_or_default()).collect(),
        None => witness.instances.iter().map(|one| one.name.as_str()).collect(),
    };
    let name = |instance: usize| {
        let numbered = format!("t{}", instance + 1);
        names.get(instance).map_or(numbered.clone(), |name| format!("{numbered} ({name})"))
    };
    let told = |from: usize, to: usize, kind: DependencyKind, table: &str| {
        let (from, to) = (name(from), name(to));
        let table = table.split('@').next().unwrap_or_default();
        match kind {
            DependencyKind::Overwrites => format!("{from} reads {table} before {to} changes it"),
            DependencyKind::ReadsFrom => format!("{to} sees what {from} wrote to {table}"),
            DependencyKind::Replaces => format!("{to} overwrites what {from} wrote to {table}"),
        }
    };
    let parts: Vec<String> = match run.filter(|run| !run.cycle.is_empty()) {
        Some(run) => run.cycle.iter().map(|one| told(one.from, one.to, one.kind, &one.table)).collect(),
        None => witness.dependencies.iter().map(|one| told(one.from.0, one.to.0, one.kind, &one.table)).collect(),
    };
    let doubt = reason.map(|reason| format!("; runs could not be tried to their end: {reason}"));
    format!("{}: no serial order has all of that{}", parts.join("; "), doubt.unwrap_or_default())
}

/// The calls with values; without a run, with names for values that have to be equal.
fn calls(text: &AnalyzedText, witness: &Witness, concrete: Option<&[String]>) -> Vec<String> {
    // A run may need more instances than the cycle has.
    if let Some(calls) = concrete.filter(|calls| calls.len() == witness.instances.len()) {
        return calls.iter().enumerate().map(|(number, call)| format!("t{} {call}", number + 1)).collect();
    }
    let call = |(number, instance): (usize, &skew_analyze::WitnessInstance)| {
        let parameters: Vec<String> =
            instance.parameters.iter().map(|(name, value)| format!("{} = v{value}", text.shown(name))).collect();
        format!("t{} {}({})", number + 1, instance.name, parameters.join(", "))
    };
    witness.instances.iter().enumerate().map(call).collect()
}
