//! Lint: patterns inside single transactions that are known to go wrong, found in milliseconds.
//!
//! ```text
//!   rule                  in short                                                              goes wrong at
//!   read-modify-write     SELECT v … UPDATE … SET v = f(v)                                      rc; InnoDB's rr
//!   check-then-update     SELECT v … IF v … UPDATE … SET v; or search, then UPDATE another row   rc; InnoDB's rr; the latter all but serializable
//!   late-lock             SELECT v … IF v … SELECT … FOR UPDATE, and no second look             rc; InnoDB's rr
//!   check-then-insert     SELECT COUNT(*) … IF … INSERT, and no unique index                    all but serializable
//!   next-number           SELECT MAX(n) … INSERT n + 1                                          all but serializable
//!   lock-of-nothing       SELECT … FOR UPDATE finds no row … INSERT                             rc; PostgreSQL's rr
//!   dangling-row          SELECT parent … IF … INSERT child, and no foreign key                 all but serializable
//!   ignored-row-count     UPDATE … WHERE v < most, and nobody asks whether it did anything      everywhere
//!   old-snapshot          look, INSERT IGNORE, look again; or look in a loop                    rr
//!   wrong-scope           look in one transaction, act on it in the next                        everywhere
//! ```
//!
//! A rule speaks only where it is all but certain that the author has overlooked something, so that people keep reading; that no rule speaks
//! proves nothing. What is found is *potential*: other engines prove or confirm it. Each finding knows the levels at which it goes wrong, and a
//! test compares that with what the examples are known to do at every level of both engines.

mod check_then_insert;
mod check_then_update;
mod dangling_row;
mod ignored_row_count;
mod late_lock;
mod lock_of_nothing;
mod next_number;
mod old_snapshot;
mod protection;
mod read_modify_write;
mod reading;
mod unit;
mod wrong_scope;

use crate::finding::{AnalysisEngine, AnalysisVerdict, Answer, Finding, FindingStatus, Fix, FixKind};
use crate::witness::WitnessStatement;
use reading::{ProcedureReading, ProgramReading};
use skew_history::EngineLevel;
use skew_program::Program;
use skew_value::Place;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A pattern.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LintRule {
    /// A value is read, and what is made of it is written back.
    ReadModifyWrite,
    /// A value is looked at, and then changed.
    CheckThenUpdate,
    /// A value is looked at before its row is locked, and not again.
    LateLock,
    /// A search decides about an INSERT that would have changed its result.
    CheckThenInsert,
    /// A number is made of those that are there.
    NextNumber,
    /// FOR UPDATE where no row may be there to lock.
    LockOfNothing,
    /// A child is inserted because its parent was there.
    DanglingRow,
    /// A change that may have done nothing, and what follows from it is done.
    IgnoredRowCount,
    /// A second look at the state of the first one.
    OldSnapshot,
    /// A look in one transaction, and what follows from it in the next.
    WrongScope,
}

impl LintRule {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            LintRule::ReadModifyWrite => "read-modify-write",
            LintRule::CheckThenUpdate => "check-then-update",
            LintRule::LateLock => "late-lock",
            LintRule::CheckThenInsert => "check-then-insert",
            LintRule::NextNumber => "next-number",
            LintRule::LockOfNothing => "lock-of-nothing",
            LintRule::DanglingRow => "dangling-row",
            LintRule::IgnoredRowCount => "ignored-row-count",
            LintRule::OldSnapshot => "old-snapshot",
            LintRule::WrongScope => "wrong-scope",
        }
    }
}

/// Something that a rule has found.
#[derive(Clone, Debug)]
pub struct LintFinding {
    /// Which rule.
    pub rule: LintRule,
    /// The levels at which it goes wrong.
    pub levels: Vec<EngineLevel>,
    /// What all engines tell of a finding.
    pub finding: Finding,
}

/// What a rule hands over.
struct RuleFound {
    rule: LintRule,
    anomaly: &'static str,
    /// The statement that looks, and the one that acts on it.
    steps: (usize, usize),
    levels: Vec<EngineLevel>,
    sentence: String,
    fixes: Vec<(FixKind, usize, String)>,
}

type Rule = fn(&ProgramReading<'_>, &ProcedureReading) -> Vec<RuleFound>;

/// The more a rule has to see before it speaks, the earlier it is asked: of several that speak of the same two statements the first is heard.
const RULES: [Rule; 9] = [
    next_number::find,
    lock_of_nothing::find,
    check_then_insert::find,
    late_lock::find,
    read_modify_write::find,
    check_then_update::find,
    dangling_row::find,
    ignored_row_count::find,
    old_snapshot::find,
];

/// All that the rules find in a program, procedure by procedure, then in units of several. The text is that of the program, for its markers.
pub fn lint(program: &Program, text: &str) -> Vec<LintFinding> {
    let reading = ProgramReading::of(program);
    let mut findings = Vec::new();
    for procedure in &reading.procedures {
        let mut told: BTreeSet<(usize, usize)> = BTreeSet::new();
        let all = RULES.iter().flat_map(|rule| rule(&reading, procedure));
        let heard: Vec<RuleFound> = all.filter(|found| !found.levels.is_empty() && told.insert(found.steps)).collect();
        findings
            .extend(heard.into_iter().map(|found| finding_of(procedure, found, std::slice::from_ref(&procedure.name))));
    }
    for unit in unit::units(program, text) {
        let known = |one: &LintFinding| findings.iter().any(|other: &LintFinding| other.is_like(one));
        let new: Vec<LintFinding> =
            wrong_scope::find(program, &reading, &unit).into_iter().filter(|one| !known(one)).collect();
        findings.extend(new);
    }
    findings
}

impl LintFinding {
    /// Whether it goes wrong whatever the level: a proof that every execution is serializable says nothing against it.
    pub fn is_about_every_level(&self) -> bool {
        self.levels.len() == EngineLevel::ALL.len()
    }

    fn is_like(&self, other: &LintFinding) -> bool {
        (self.rule, &self.finding.locations) == (other.rule, &other.finding.locations)
    }
}

/// What the rules say to each of some levels; nothing about a level at which no rule speaks.
pub fn lint_answers(program: &Program, text: &str, levels: &[EngineLevel]) -> Vec<Answer> {
    let found = lint(program, text);
    let answer = |level: &EngineLevel| {
        let here = found.iter().filter(|one| one.levels.contains(level)).map(|one| one.finding.clone());
        Answer {
            level: level.name().to_owned(),
            verdict: AnalysisVerdict::Anomaly,
            engine: AnalysisEngine::Lint,
            k: None,
            findings: here.collect(),
            covers: vec!["patterns inside single transactions; where no rule speaks, nothing is proved".to_owned()],
        }
    };
    levels.iter().map(answer).filter(|answer| !answer.findings.is_empty()).collect()
}

/// A finding about the transactions of one request: one procedure, or the one that looks and the one that acts.
fn finding_of(procedure: &ProcedureReading, found: RuleFound, names: &[String]) -> LintFinding {
    let place = |step: usize| procedure.steps[step].place;
    let (look, act) = found.steps;
    let fix =
        |(kind, step, sentence): (FixKind, usize, String)| Fix { kind, place: place(step), verified: false, sentence };
    let mut locations: Vec<Place> = vec![place(look), place(act)];
    locations.dedup();
    let finding = Finding {
        anomaly: found.anomaly.to_owned(),
        status: FindingStatus::Potential,
        transactions: [names, names].concat(),
        locations,
        interleaving: interleaving(procedure, look, act, names.len()),
        fixes: found.fixes.into_iter().map(fix).collect(),
        sentence: format!("{}: {}", found.rule.name(), found.sentence),
    };
    LintFinding { rule: found.rule, levels: found.levels, finding }
}

/// Both look, then both act; each is so many transactions.
fn interleaving(procedure: &ProcedureReading, look: usize, act: usize, each: usize) -> Vec<WitnessStatement> {
    let looks = [(0, look), (each, look)].into_iter().filter(|_| look != act);
    let acts = [(each - 1, act), (2 * each - 1, act)];
    let told = |(instance, step): (usize, usize)| {
        let step = &procedure.steps[step];
        WitnessStatement { instance, place: step.place, text: Arc::clone(&step.text) }
    };
    looks.chain(acts).map(told).collect()
}

/// The fix that helps wherever transactions are the problem.
fn serializable(procedure: &ProcedureReading, step: usize) -> (FixKind, usize, String) {
    let sentence = format!("run {} at serializable, and again when it is refused", procedure.name);
    (FixKind::HigherLevel, step, sentence)
}

/// Names for a sentence: `a, b`.
fn listed<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().map(String::as_str).collect::<Vec<&str>>().join(", ")
}
