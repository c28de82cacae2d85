//! The levels of the engines, fast: what one PostgreSQL or one InnoDB can show.
//!
//! A transaction is a chain of moments, one or more per statement, and a history is allowed when locks, snapshots and reads leave them without a
//! cycle for some order in which the transactions had their locks. That is the question of the papers' levels with finer nodes, and it is answered
//! in the same way: certain edges, open pairs, pruning, search. [`crate::spec`] has the definition, by brute force and on its own.
//!
//! ```text
//!   Resolved ── looks: moments ── holders: locks ── reads: ways ── nodes ── puzzle: certain edges, open pairs
//!                                                                             │
//!                                                                           solve: prune, search ──> an order of all moments
//! ```

mod cases;
mod core;
mod holders;
mod locks;
mod looks;
mod nodes;
mod puzzle;
mod reads;
mod solve;

pub(crate) use cases::{ServerEdge, ServerReason, cases};

use crate::anomaly::{Anomaly, Refutation};
use crate::budget::{Budget, Statistics};
use crate::certify::can_be_tried;
use crate::commit_order::{CommitOrder, Instant};
use crate::resolve::{Assumed, Resolved, Unexplained, resolve};
use crate::spec;
use crate::split::Permutations;
use crate::verdict::Verdict;
use puzzle::{NoWay, Puzzle};
use skew_history::{EngineLevel, EventId, History, IsolationLevel, TransactionId, Writer};
use solve::{Solved, solve};

/// What is asked.
pub(crate) struct ServerQuestion<'h> {
    pub(crate) history: &'h History,
    /// As it was asked.
    pub(crate) level: IsolationLevel,
    /// That of each transaction.
    pub(crate) levels: &'h [EngineLevel],
}

/// What an engine has to say about a history.
enum ServerAnswer {
    /// It can show it: all moments in a row, each by its transaction; and whom reads are from that several could explain.
    Yes(Vec<TransactionId>, Vec<(EventId, Writer)>),
    /// It cannot; these take part in the contradiction that was found.
    No(Vec<TransactionId>),
    /// The budget ran out.
    Unknown,
}

/// Decides whether one server can show a history.
pub(crate) fn check(asked: &ServerQuestion<'_>, budget: &mut Budget<'_>, statistics: &mut Statistics) -> Verdict {
    let mut answer = asked.shown(budget, statistics);
    if let ServerAnswer::Unknown = answer
        && can_be_tried(asked.history)
        && budget.spend(asked.history.event_count() as u64)
    {
        answer = asked.by_definition();
    }
    match answer {
        ServerAnswer::Yes(steps, choices) => {
            let instants = steps.into_iter().map(Instant::Step).collect();
            Verdict::Holds(CommitOrder { instants, choices })
        }
        ServerAnswer::No(hint) => {
            let anomaly =
                Anomaly { level: asked.level, refutation: Refutation::Alone(core::core(asked, &hint, budget)) };
            // What the definition does not confirm is not certain.
            match anomaly.refutes(asked.history, asked.level) {
                true => Verdict::Fails(anomaly),
                false => Verdict::Unknown,
            }
        }
        ServerAnswer::Unknown => Verdict::Unknown,
    }
}

/// So many questions that a history leaves open are answered one inside the other before giving up.
const DEEPEST: usize = 24;

impl ServerQuestion<'_> {
    /// What the definition says, for the few histories in which more than pairs matters.
    fn by_definition(&self) -> ServerAnswer {
        match spec::some_schedule(self.history, self.levels) {
            Some(steps) => ServerAnswer::Yes(steps, Vec::new()),
            None => ServerAnswer::No(self.history.transactions().collect()),
        }
    }

    fn shown(&self, budget: &mut Budget<'_>, statistics: &mut Statistics) -> ServerAnswer {
        self.under(Assumed { on_server: true, ..Assumed::default() }, 0, budget, statistics)
    }

    /// The answer under assumptions about what the history leaves open.
    fn under(
        &self,
        assumed: Assumed,
        depth: usize,
        budget: &mut Budget<'_>,
        statistics: &mut Statistics,
    ) -> ServerAnswer {
        match resolve(self.history, &assumed) {
            Ok(resolved) => self.decide(&resolved, budget, statistics),
            Err(Unexplained::Bad(bad)) => ServerAnswer::No(vec![self.history.transaction_of(bad.read())]),
            Err(Unexplained::Undecided(transaction)) => {
                let settle = |committed: bool| {
                    let mut assumed = assumed.clone();
                    assumed.committed.insert(transaction, committed);
                    assumed
                };
                self.any([false, true].map(settle).into_iter(), depth, budget, statistics)
            }
            Err(Unexplained::UndecidedElements(key, element, events)) => {
                let settle = |appends: Vec<_>| {
                    let mut assumed = assumed.clone();
                    assumed.elements.insert((key, element), appends);
                    assumed
                };
                self.any(Permutations::new(events).map(settle), depth, budget, statistics)
            }
        }
    }

    /// It can be shown when it can under some assumptions.
    fn any(
        &self,
        assumptions: impl Iterator<Item = Assumed>,
        depth: usize,
        budget: &mut Budget<'_>,
        statistics: &mut Statistics,
    ) -> ServerAnswer {
        let (mut is_unknown, mut involved) = (false, Vec::new());
        for assumed in assumptions {
            if depth == DEEPEST || !budget.spend(self.history.event_count() as u64) {
                return ServerAnswer::Unknown;
            }
            match self.under(assumed, depth + 1, budget, statistics) {
                ServerAnswer::Yes(steps, choices) => return ServerAnswer::Yes(steps, choices),
                ServerAnswer::No(hint) => involved.extend(hint),
                ServerAnswer::Unknown => is_unknown = true,
            }
        }
        if is_unknown { ServerAnswer::Unknown } else { ServerAnswer::No(involved) }
    }

    fn decide(&self, resolved: &Resolved<'_>, budget: &mut Budget<'_>, statistics: &mut Statistics) -> ServerAnswer {
        let mut puzzle = match Puzzle::new(resolved, self.levels, true) {
            Ok(puzzle) => puzzle,
            Err(NoWay(reader)) => return ServerAnswer::No(vec![reader]),
        };
        // A walk along the schedule, which knows nothing of how it was found.
        let mut accept = |steps: &[TransactionId], choices: &[(EventId, Writer)]| {
            spec::came_about(self.history, self.levels, steps, choices)
        };
        match solve(&mut puzzle, budget, statistics, &mut accept) {
            Solved::Order(steps, choices) => ServerAnswer::Yes(steps, choices),
            Solved::Impossible(involved) => ServerAnswer::No(involved),
            Solved::Unknown => ServerAnswer::Unknown,
        }
    }
}
