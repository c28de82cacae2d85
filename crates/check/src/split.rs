//! Several levels at once, and the questions that a history leaves open.
//!
//! A level that fails settles all stronger ones, one that holds all weaker ones, each with the same certificate: so the strongest
//! level is asked first when all is likely to be well, and nothing is asked twice.
//!
//! Two questions have no variable in the search, because answers to them change which transactions there are: whether a transaction of
//! unknown outcome committed that only ambiguous reads may have read from, and which of several appends of an equal element is which.
//! Both are rare; all answers are tried.

use crate::anomaly::{Anomaly, Assumption, Refutation};
use crate::budget::{Budget, Phase, Statistics};
use crate::decide::decide;
use crate::engine::{self as server, ServerQuestion};
use crate::levels::{asking_order, on_server, row};
use crate::resolve::{Assumed, Resolved, Unexplained, resolve};
use crate::verdict::{Doubt, Verdict};
use crate::{LevelReport, Options};
use skew_history::{EventId, History, IsolationLevel};
use std::cell::OnceCell;

/// So many questions are answered one inside the other before giving up.
const DEEPEST: usize = 24;

/// Decides the levels, in the order that asks least; reports them in the order in which they were asked.
pub(crate) fn check_levels(
    history: &History,
    levels: &[IsolationLevel],
    options: Options,
    mut budget: Budget<'_>,
) -> Vec<LevelReport> {
    budget.enter(Phase::Resolve, history.transaction_count());
    // The levels of the engines look for writers on their own.
    let resolved = OnceCell::new();
    let mut reports: Vec<LevelReport> = Vec::new();
    for level in asking_order(levels) {
        let report = known(&reports, level).unwrap_or_else(|| {
            let mut statistics = Statistics::default();
            if let Some(levels) = on_server(history, level) {
                let asked = ServerQuestion { history, level, levels: &levels };
                let verdict = server::check(&asked, &mut budget, &mut statistics);
                return LevelReport { level, verdict, statistics };
            }
            let verdict = match resolved.get_or_init(|| resolve(history, &Assumed::default())) {
                Ok(resolved) => stronger(resolved, &reports, level, options, &mut budget, &mut statistics)
                    .unwrap_or_else(|| decide(resolved, level, options, &mut budget, &mut statistics)),
                Err(failure) => {
                    let mut split = Split { history, level, options, statistics: &mut statistics };
                    split.failed(failure.clone(), &mut Assumed::default(), 0, &mut budget)
                }
            };
            LevelReport { level, verdict, statistics }
        });
        debug_assert!(
            is_certified(history, &report),
            "a certificate at {level} does not check: {:?} of\n{}",
            report.verdict,
            skew_history::notation::write(history)
        );
        reports.push(report);
    }
    let place = |report: &LevelReport| levels.iter().position(|&level| level == report.level);
    reports.sort_by_key(place);
    reports
}

/// What an earlier report says about a level: with the same certificate.
fn known(reports: &[LevelReport], level: IsolationLevel) -> Option<LevelReport> {
    let settles = |report: &&LevelReport| match &report.verdict {
        Verdict::Holds(_) => report.level.implies(level),
        Verdict::Fails(_) => level.implies(report.level),
        Verdict::Unknown(_) => false,
    };
    let report = reports.iter().find(settles)?;
    Some(LevelReport { level, verdict: report.verdict.clone(), statistics: Statistics::default() })
}

/// A level by way of a stronger one whose search is better guided, unless that one was asked anyway.
fn stronger(
    resolved: &Resolved<'_>,
    reports: &[LevelReport],
    level: IsolationLevel,
    options: Options,
    budget: &mut Budget<'_>,
    statistics: &mut Statistics,
) -> Option<Verdict> {
    let stronger = row(level).by_way_of.filter(|_| options.prune)?;
    if reports.iter().any(|report| report.level == stronger) {
        return None;
    }
    let mut attempt = Statistics::default();
    let verdict = decide(resolved, stronger, options, budget, &mut attempt);
    verdict.holds().then(|| {
        *statistics = attempt;
        verdict
    })
}

fn is_certified(history: &History, report: &LevelReport) -> bool {
    match &report.verdict {
        Verdict::Holds(order) => order.justifies(history, report.level),
        Verdict::Fails(anomaly) => anomaly.refutes(history, report.level),
        Verdict::Unknown(_) => true,
    }
}

/// Decides one level under assumptions of the caller's. Where it fails, the refutation rests on them.
pub(crate) fn decide_assuming(
    history: &History,
    level: IsolationLevel,
    mut assumed: Assumed,
    mut budget: Budget<'_>,
) -> Verdict {
    let mut split = Split { history, level, options: Options::default(), statistics: &mut Statistics::default() };
    match resolve(history, &assumed) {
        Ok(resolved) => split.decide(&resolved, &mut budget),
        Err(failure) => split.failed(failure, &mut assumed, 0, &mut budget),
    }
}

struct Split<'s, 'h> {
    history: &'h History,
    level: IsolationLevel,
    options: Options,
    statistics: &'s mut Statistics,
}

impl Split<'_, '_> {
    fn failed(
        &mut self,
        failure: Unexplained,
        assumed: &mut Assumed,
        depth: usize,
        budget: &mut Budget<'_>,
    ) -> Verdict {
        match failure {
            Unexplained::Bad(bad) => self.fails(Refutation::Read(bad)),
            Unexplained::Undecided(transaction) => {
                // Not having committed is never worse for the others, so it comes first.
                let answers = [Assumption::NotCommitted(transaction), Assumption::Committed(transaction)];
                self.all(answers.into_iter(), assumed, depth, budget)
            }
            Unexplained::UndecidedElements(key, element, events) => {
                let orders = Permutations::new(events);
                let answers = orders.map(|appends| Assumption::Appends { key, element, appends });
                self.all(answers, assumed, depth, budget)
            }
        }
    }

    fn fails(&self, refutation: Refutation) -> Verdict {
        Verdict::Fails(Anomaly { level: self.level, refutation })
    }

    /// Holds when it holds under some answer.
    fn all(
        &mut self,
        answers: impl Iterator<Item = Assumption>,
        assumed: &mut Assumed,
        depth: usize,
        budget: &mut Budget<'_>,
    ) -> Verdict {
        if depth == DEEPEST {
            return Verdict::Unknown(Doubt::TooManyQuestions);
        }
        let mut refuted = Vec::new();
        let mut unknown = None;
        for answer in answers {
            if !budget.spend(self.history.event_count() as u64) {
                return Verdict::Unknown(budget.doubt());
            }
            assume(assumed, &answer);
            let verdict = match resolve(self.history, assumed) {
                Ok(resolved) => self.decide(&resolved, budget),
                Err(failure) => self.failed(failure, assumed, depth + 1, budget),
            };
            forget(assumed, &answer);
            match verdict {
                Verdict::Holds(order) => return Verdict::Holds(order),
                Verdict::Fails(anomaly) => refuted.push((answer, anomaly.refutation)),
                Verdict::Unknown(doubt) => unknown = Some(doubt),
            }
        }
        unknown.map_or_else(|| self.fails(Refutation::Split(refuted)), Verdict::Unknown)
    }

    fn decide(&mut self, resolved: &Resolved<'_>, budget: &mut Budget<'_>) -> Verdict {
        decide(resolved, self.level, self.options, budget, self.statistics)
    }
}

pub(crate) fn assume(assumed: &mut Assumed, answer: &Assumption) {
    match answer {
        Assumption::Committed(transaction) => _ = assumed.committed.insert(*transaction, true),
        Assumption::NotCommitted(transaction) => _ = assumed.committed.insert(*transaction, false),
        Assumption::Appends { key, element, appends } => {
            assumed.elements.insert((*key, *element), appends.clone());
        }
    }
}

fn forget(assumed: &mut Assumed, answer: &Assumption) {
    match answer {
        Assumption::Committed(transaction) | Assumption::NotCommitted(transaction) => {
            assumed.committed.remove(transaction);
        }
        Assumption::Appends { key, element, .. } => {
            assumed.elements.remove(&(*key, *element));
        }
    }
}

/// All orders of some events, in lexicographic order.
pub(crate) struct Permutations {
    next: Option<Vec<EventId>>,
}

impl Permutations {
    pub(crate) fn new(mut events: Vec<EventId>) -> Permutations {
        events.sort_unstable();
        Permutations { next: Some(events) }
    }
}

impl Iterator for Permutations {
    type Item = Vec<EventId>;

    fn next(&mut self) -> Option<Vec<EventId>> {
        let current = self.next.take()?;
        let mut next = current.clone();
        if let Some(turn) = next.windows(2).rposition(|pair| pair[0] < pair[1]) {
            let larger = next.iter().rposition(|event| *event > next[turn]).expect("the one after it is larger");
            next.swap(turn, larger);
            next[turn + 1..].reverse();
            self.next = Some(next);
        }
        Some(current)
    }
}
