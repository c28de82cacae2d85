//! A run of the program: a complete history, and what the transactions left.

use crate::consistency::Known;
use crate::explorable::{Explorable, Place};
use crate::layout;
use crate::log::Outcome;
use crate::record::Recorder;
use crate::runner::{Node, Runner};
use crate::set::INITIAL;
use crate::shape::base_of;
use crate::subtree::Subtree;
use skew_check::{Budget, Verdict};
use skew_history::builder::Refusal;
use skew_history::{History, IsolationLevel};
use std::fmt::Write;

/// Whether a run is one of a level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Answer {
    /// It is.
    Holds,
    /// It is not.
    Fails,
    /// The budget ended before that was clear.
    Unknown,
}

/// One run of a program.
pub struct Run<'a, P: Explorable + ?Sized> {
    pub(crate) runner: &'a Runner<'a, P>,
    pub(crate) node: Node<P::Left>,
}

impl<'a, P: Explorable + ?Sized> Run<'a, P> {
    pub(crate) fn new(runner: &'a Runner<'a, P>, node: Node<P::Left>) -> Run<'a, P> {
        Run { runner, node }
    }

    /// Its history, as the checker knows histories; every transaction declares its level. Refused when the program gives two keys one name,
    /// or two sessions.
    pub fn history(&self) -> Result<History, Refusal> {
        let Runner { program, shape, keys, .. } = self.runner;
        Recorder::new(*program, shape, keys, &self.node.history).record()
    }

    /// Whether it satisfies the levels that were asked for, and not only their bases.
    pub fn answer(&self, budget: Budget<'_>) -> Answer {
        let shape = &self.runner.shape;
        if shape.is_exact() && !self.locks() { Answer::Holds } else { self.answer_at(shape.level(), budget) }
    }

    /// Whether its history satisfies a level, or, at the declared level, each transaction its own.
    pub fn answer_at(&self, level: IsolationLevel, budget: Budget<'_>) -> Answer {
        if let Some(holds) = self.quick_answer(level) {
            let answer = if holds { Answer::Holds } else { Answer::Fails };
            debug_assert!(
                [answer, Answer::Unknown].contains(&self.checked(level, Budget::steps(1_000_000))),
                "the quick way says {answer:?} at {level} of {}",
                self.pattern()
            );
            return answer;
        }
        self.checked(level, budget)
    }

    /// The answer without the checker, where there is one.
    fn quick_answer(&self, level: IsolationLevel) -> Option<bool> {
        let history = &self.node.history;
        if self.locks() {
            return None;
        }
        match level {
            IsolationLevel::ReadCommitted | IsolationLevel::ReadAtomic | IsolationLevel::Causal => {
                let bases = vec![base_of(level); self.runner.shape.bases.len()];
                Some(Known::of(history, history.complete, &bases).is_some())
            }
            level => layout::satisfies(history, level),
        }
    }

    /// The answer of the checker.
    fn checked(&self, level: IsolationLevel, budget: Budget<'_>) -> Answer {
        let Ok(history) = self.history() else { return Answer::Unknown };
        match skew_check::check(&history, level, budget) {
            Verdict::Holds(_) => Answer::Holds,
            Verdict::Fails(_) => Answer::Fails,
            Verdict::Unknown => Answer::Unknown,
        }
    }

    /// Whether any of its reads locks.
    pub fn locks(&self) -> bool {
        let history = &self.node.history;
        history.order.iter().any(|&number| history.log(number).reads().any(|read| read.locking))
    }

    /// The places of its transactions, in an order in which they can run one after the other.
    pub fn order(&self) -> Vec<Place> {
        self.node.history.order.iter().map(|&number| self.runner.shape.places[number as usize]).collect()
    }

    /// What a transaction left.
    pub fn left(&self, place: Place) -> Option<&P::Left> {
        self.node.left[self.runner.shape.number(place)? as usize].as_deref()
    }

    /// The run written down: a search to which this is added finds this run and no other.
    pub fn subtree(&self) -> Subtree {
        Subtree::of(&self.node, &self.runner.keys)
    }

    /// How large it is: transactions that committed, events, and its pattern, so that no two runs are equal.
    pub fn size(&self) -> (usize, usize, String) {
        let history = &self.node.history;
        let logs = || history.order.iter().map(|&number| history.log(number));
        let committed = logs().filter(|log| log.outcome == Outcome::Committed).count();
        (committed, logs().map(|log| log.events.len()).sum(), self.pattern())
    }

    /// The history in one line: who read what from whom, transaction by transaction in the order of the program. Two runs are one when
    /// their patterns are.
    pub fn pattern(&self) -> String {
        let mut pattern = String::new();
        let shape = &self.runner.shape;
        let mut numbers: Vec<_> = shape.numbers().filter(|&number| self.node.history.has(number)).collect();
        numbers.sort_unstable();
        for number in numbers {
            let log = self.node.history.log(number);
            let _ = write!(pattern, "{}:", shape.transaction_name(number));
            for event in &log.events {
                let name = |key| self.runner.program.key_name(self.runner.keys.key(key));
                let _ = match event {
                    crate::log::Event::Read(read) => {
                        let lock = if read.locking { "lock " } else { "" };
                        let from = match read.source {
                            INITIAL => "init".to_owned(),
                            source => shape.transaction_name(source),
                        };
                        write!(pattern, " {lock}r({} from {from})", name(read.key))
                    }
                    crate::log::Event::Own { key, .. } => write!(pattern, " r({} own)", name(*key)),
                    crate::log::Event::Write { key, .. } => write!(pattern, " w({})", name(*key)),
                    crate::log::Event::Scan { .. } => write!(pattern, " scan"),
                };
            }
            pattern.push_str(if log.outcome == Outcome::Committed { "; " } else { " !; " });
        }
        pattern
    }
}
