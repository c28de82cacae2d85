//! From questions to answers: search for a cycle, and where there is none up to some size, try to prove that there is none at all.
//!
//! ```text
//!   cycles of 2, 3, … k ──┬── one: anomaly
//!                         └── none up to k ──┬── no triple: robust, inductive
//!                                            ├── no path of k: robust, by shortest path
//!                                            └── none-up-to-k
//! ```

use super::question::{BoundedAnalysis, BoundedQuestion, FoundEdge, FoundInstances, QuestionOutcome};
use crate::finding::{AnalysisEngine, AnalysisVerdict, Answer, Finding, FindingStatus};
use crate::witness::{DependencyKind, WitnessStatement};
use skew_check::Budget;

/// How far a program is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BoundedOptions {
    /// The largest number of instances in a cycle.
    pub up_to: usize,
    /// Steps of the solver for one question.
    pub steps: u64,
}

impl Default for BoundedOptions {
    fn default() -> BoundedOptions {
        BoundedOptions { up_to: 4, steps: 20_000_000 }
    }
}

const SAME: &str = "all statements of a transaction see the same transactions";

/// With more procedures than this one cycle of two is told, not one for each pair.
const MOST_FOR_PAIRS: usize = 20;

/// So many cycles of two are told.
const MOST_TOLD: usize = 20;

/// What looking for cycles came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SmallestCycle {
    /// This one, of so many instances.
    Found(FoundInstances, usize),
    /// There is none of up to so many instances; why no more were looked at.
    None(usize, Option<String>),
    /// Two solvers do not agree.
    Disputed(String),
}

/// A proof by taking procedures away.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InductiveProof {
    /// The procedures that no cycle can pass, then those that no cycle of the others can pass, and so on.
    pub stages: Vec<Vec<usize>>,
    /// The procedures that are left; what is not there for all of them together is not there for these.
    pub rest: Vec<usize>,
}

impl BoundedAnalysis {
    /// The smallest cycle of up to so many instances, if one is found.
    pub fn smallest_cycle(&self, options: BoundedOptions) -> SmallestCycle {
        let mut looked_at = 1;
        for size in 2..=options.up_to {
            match self.ask(&BoundedQuestion::Cycle(vec![self.everything(); size]), Budget::steps(options.steps)) {
                QuestionOutcome::Found(found) => return SmallestCycle::Found(found, size),
                QuestionOutcome::None => looked_at = size,
                QuestionOutcome::Unknown(reason) => return SmallestCycle::None(looked_at, Some(reason)),
                QuestionOutcome::Disputed(reason) => return SmallestCycle::Disputed(reason),
            }
        }
        SmallestCycle::None(looked_at, None)
    }

    /// A proof that there is no cycle at all, by induction along ar.
    pub fn inductive(&self, steps: u64) -> Option<InductiveProof> {
        let all = self.everything();
        let is_none = |question: BoundedQuestion| self.ask(&question, Budget::steps(steps)) == QuestionOutcome::None;
        let (pair, triple) = (BoundedQuestion::Cycle(vec![all.clone(); 2]), BoundedQuestion::Triple(all.clone()));
        if !is_none(pair) || !is_none(triple) {
            return None;
        }
        let mut proof = InductiveProof { stages: Vec::new(), rest: all };
        while !proof.rest.is_empty() {
            let forward = |one: &usize| is_none(BoundedQuestion::Against(vec![*one], proof.rest.clone()));
            let (stage, rest): (Vec<usize>, Vec<usize>) = proof.rest.iter().copied().partition(forward);
            if stage.is_empty() {
                break;
            }
            proof.stages.push(stage);
            proof.rest = rest;
        }
        Some(proof)
    }

    /// The smallest k up to a limit such that no path of k dependencies is without chords; cycles of up to k are another question.
    pub fn shortest_path(&self, options: BoundedOptions) -> Option<usize> {
        (2..=options.up_to).find(|length| {
            let question = BoundedQuestion::Path(*length, self.everything());
            self.ask(&question, Budget::steps(options.steps)) == QuestionOutcome::None
        })
    }

    /// Two procedures that the level never lets run in one execution: then its rules contradict each other, and would prove anything.
    fn excluded_pair(&self, steps: u64) -> Option<[usize; 2]> {
        let all = self.everything();
        // Where all are at a level with a name, any two can run: what is asked then is only whether that was written down rightly.
        if all.len() > MOST_FOR_PAIRS && (self.specification.same_as().is_some() || self.specification.timing.is_some())
        {
            return None;
        }
        let pairs =
            all.iter().flat_map(|&one| all.iter().map(move |&other| [one, other])).filter(|[one, other]| one <= other);
        let is_excluded = |pair: &[usize; 2]| {
            let question = BoundedQuestion::Together(pair.to_vec());
            self.ask(&question, Budget::steps(steps)) == QuestionOutcome::None
        };
        pairs.into_iter().find(is_excluded)
    }

    /// Everything that can be said, the cycle or its absence first.
    pub fn answers(&self, options: BoundedOptions) -> Vec<Answer> {
        self.told_answers(options).0
    }

    /// The same, and the instances of each finding of the first one.
    pub fn told_answers(&self, options: BoundedOptions) -> (Vec<Answer>, Vec<FoundInstances>) {
        let (mut answers, mut found) = match self.smallest_cycle(options) {
            SmallestCycle::Found(found, size) => {
                let found = if size == 2 { self.pairs(found, options) } else { vec![found] };
                let findings = found.iter().map(|one| self.finding(one)).collect();
                let verdict = AnalysisVerdict::Anomaly;
                (vec![self.answer(AnalysisEngine::Bounded, verdict, Some(size), findings)], found)
            }
            SmallestCycle::Disputed(reason) => (vec![self.unknown(reason)], Vec::new()),
            SmallestCycle::None(looked_at, ended) => (self.without_cycle(looked_at, ended, options), Vec::new()),
        };
        if let Some(reason) = self.second.as_ref().and_then(|second| second.contradiction()) {
            (answers, found) = (vec![self.unknown(reason)], Vec::new());
        }
        let told = self.second.as_ref().map(|second| second.told(&self.specification.name));
        answers.iter_mut().for_each(|answer| answer.covers.extend(told.clone()));
        (answers, found)
    }

    /// The cycles of two, one for each pair of procedures that has one.
    fn pairs(&self, first: FoundInstances, options: BoundedOptions) -> Vec<FoundInstances> {
        let all = self.everything();
        if all.len() > MOST_FOR_PAIRS {
            return vec![first];
        }
        let pairs = all.iter().flat_map(|&one| all.iter().map(move |&other| [one, other]));
        let cycle = |[one, other]: [usize; 2]| {
            let question = BoundedQuestion::Cycle(vec![vec![one], vec![other]]);
            match self.ask(&question, Budget::steps(options.steps)) {
                QuestionOutcome::Found(found) => Some(found),
                _ => None,
            }
        };
        let found: Vec<FoundInstances> =
            pairs.filter(|[one, other]| one <= other).filter_map(cycle).take(MOST_TOLD).collect();
        if found.is_empty() { vec![first] } else { found }
    }

    /// What can be said where no cycle of so many instances is found.
    fn without_cycle(&self, looked_at: usize, ended: Option<String>, options: BoundedOptions) -> Vec<Answer> {
        if looked_at < 2 {
            return vec![self.unknown(ended.unwrap_or_else(|| "no two transactions were looked at".to_owned()))];
        }
        let mut none = self.answer(AnalysisEngine::Bounded, AnalysisVerdict::NoneUpToK, Some(looked_at), Vec::new());
        none.covers.extend(ended.map(|reason| format!("of more than {looked_at} transactions: {reason}")));
        let mut answers = vec![none];
        if let Some(pair) = self.excluded_pair(options.steps) {
            let reason = format!("its rules let no two transactions {} run at all", self.names(&pair));
            return vec![self.unknown(reason)];
        }
        if let Some(proof) = self.inductive(options.steps) {
            let mut answer = self.answer(AnalysisEngine::Inductive, AnalysisVerdict::Robust, None, Vec::new());
            answer.covers.push(self.told_proof(&proof));
            answers.push(answer);
        } else if let Some(length) = self.shortest_path(BoundedOptions { up_to: looked_at, ..options }) {
            let mut answer =
                self.answer(AnalysisEngine::ShortestPath, AnalysisVerdict::Robust, Some(length), Vec::new());
            answer.covers.push(format!("no path of {length} dependencies is without a shorter one"));
            answers.push(answer);
        }
        answers
    }

    fn unknown(&self, reason: String) -> Answer {
        self.answer(AnalysisEngine::Bounded, AnalysisVerdict::Unknown(reason), None, Vec::new())
    }

    fn answer(
        &self,
        engine: AnalysisEngine,
        verdict: AnalysisVerdict,
        k: Option<usize>,
        findings: Vec<Finding>,
    ) -> Answer {
        let mut covers = vec!["transactions are independent: sessions say nothing about their order".to_owned()];
        covers.extend(self.specification.timing.is_none().then(|| SAME.to_owned()));
        covers.extend(self.counters.iter().map(|counter| counter.assumption(&self.shape)));
        Answer { level: self.specification.name.clone(), verdict, engine, k, findings, covers }
    }

    fn names(&self, procedures: &[usize]) -> String {
        let names: Vec<&str> = procedures.iter().map(|one| self.transactions.procedures[*one].name.as_str()).collect();
        names.join(", ")
    }

    fn told_proof(&self, proof: &InductiveProof) -> String {
        let mut stages: Vec<String> = proof.stages.iter().map(|stage| self.names(stage)).collect();
        if !proof.rest.is_empty() {
            stages.push(self.names(&proof.rest));
        }
        format!("no cycle can pass {}", stages.join("; then none of the others "))
    }
}

/// Findings.
impl BoundedAnalysis {
    fn finding(&self, found: &FoundInstances) -> Finding {
        let name = |one: &usize| self.transactions.procedures[*one].name.clone();
        let step =
            |(instance, step): (usize, usize)| &self.transactions.procedures[found.procedures[instance]].steps[step];
        let mut locations = Vec::new();
        let mut statements: Vec<(usize, (usize, usize), WitnessStatement)> = Vec::new();
        for edge in &found.edges {
            for (end, when) in [(edge.from, edge.when.0), (edge.to, edge.when.1)] {
                let step = step(end);
                if !locations.contains(&step.place) {
                    locations.push(step.place);
                }
                match statements.iter_mut().find(|(_, known, _)| *known == end) {
                    Some((known, ..)) => *known = (*known).min(when),
                    None => {
                        let text = std::sync::Arc::clone(&step.text);
                        statements.push((when, end, WitnessStatement { instance: end.0, place: step.place, text }));
                    }
                }
            }
        }
        statements.sort_by_key(|(when, end, _)| (*when, *end));
        Finding {
            anomaly: anomaly(found).to_owned(),
            status: FindingStatus::Potential,
            transactions: found.procedures.iter().map(name).collect(),
            locations,
            interleaving: statements.into_iter().map(|(.., statement)| statement).collect(),
            fixes: Vec::new(),
            sentence: self.sentence(found),
        }
    }

    /// The dependencies in a row: who does not see what of whom.
    fn sentence(&self, found: &FoundInstances) -> String {
        let name = |instance: usize| {
            format!("t{} {}", instance + 1, self.transactions.procedures[found.procedures[instance]].name)
        };
        let told = |edge: &FoundEdge| {
            let (from, to) = (name(edge.from.0), name(edge.to.0));
            match edge.kind {
                DependencyKind::ReadsFrom => format!("{to} sees what {from} writes in {}", edge.table),
                DependencyKind::Replaces => format!("{to} writes over {from} in {}", edge.table),
                DependencyKind::Overwrites => format!("{from} does not see what {to} writes in {}", edge.table),
            }
        };
        found.edges.iter().map(told).collect::<Vec<String>>().join("; ")
    }
}

/// The name of a cycle by its form.
fn anomaly(found: &FoundInstances) -> &'static str {
    use DependencyKind::{Overwrites, ReadsFrom, Replaces};
    let kinds: Vec<DependencyKind> = found.edges.iter().map(|edge| edge.kind).collect();
    let is_split = |kinds: &[DependencyKind]| kinds.chunks(2).all(|pair| *pair == [ReadsFrom, Overwrites]);
    let turned: Vec<DependencyKind> = kinds.iter().cycle().skip(1).take(kinds.len()).copied().collect();
    match kinds.as_slice() {
        [Overwrites, Replaces] | [Replaces, Overwrites] => "lost-update",
        [Overwrites, Overwrites] if found.meets_twice => "lost-update",
        [Overwrites, Overwrites] => "write-skew",
        [_, _, _, _] if is_split(&kinds) || is_split(&turned) => "long-fork",
        _ if kinds.iter().filter(|kind| **kind == Overwrites).count() == 1 => "causality-violation",
        _ => "dependency-cycle",
    }
}
