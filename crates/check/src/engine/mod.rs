//! The levels of the engines, fast: what one PostgreSQL or one InnoDB can show.
//!
//! A transaction is a chain of moments, one or more per statement, and a history is allowed when locks, snapshots and reads leave them without a
//! cycle for some order in which the transactions had their locks. That is the question of the papers' levels with finer nodes, and it is answered
//! in the same way: certain edges, open pairs, pruning, search. [`crate::spec`] has the definition, by brute force and on its own.
//!
//! ```text
//!   Resolved ── looks: moments ── holders: locks ── reads: ways ── nodes ── puzzle: certain edges, open pairs
//!                                                                             │
//!                                             guess: a row that may be right ──> solve: prune, search ──> an order of all moments
//! ```
//!
//! PostgreSQL's serializable is asked twice where it says no: what the level promises, and what no PostgreSQL can miss (`noticed`).

mod cases;
mod construct;
mod core;
mod guess;
mod holders;
mod locks;
mod looks;
mod narrow;
mod nodes;
mod noticed;
mod puzzle;
mod reads;
mod solve;
mod told_order;

pub(crate) use cases::{ServerEdge, ServerReason, cases};

use crate::anomaly::{Anomaly, Refutation};
use crate::budget::{Budget, Statistics};
use crate::certify::can_be_tried;
use crate::commit_order::{CommitOrder, Instant};
use crate::resolve::{Assumed, Resolved, Unexplained, resolve};
use crate::spec::{self, Attention};
use crate::split::Permutations;
use crate::verdict::{Doubt, Verdict};
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
    /// Neither is certain.
    Unknown(Doubt),
}

/// Decides whether one server can show a history.
pub(crate) fn check(asked: &ServerQuestion<'_>, budget: &mut Budget<'_>, statistics: &mut Statistics) -> Verdict {
    match asked.answer(Attention::Full, budget, statistics) {
        ServerAnswer::Yes(steps, choices) => {
            let instants = steps.into_iter().map(Instant::Step).collect();
            Verdict::Holds(CommitOrder { instants, choices })
        }
        ServerAnswer::No(hint) => asked.refuted(hint, budget),
        ServerAnswer::Unknown(doubt) => Verdict::Unknown(doubt),
    }
}

/// So many questions that a history leaves open are answered one inside the other before giving up.
const DEEPEST: usize = 24;

impl ServerQuestion<'_> {
    /// The answer, by the definition itself where searching finds none and there is little to try.
    fn answer(&self, attention: Attention, budget: &mut Budget<'_>, statistics: &mut Statistics) -> ServerAnswer {
        match self.shown(attention, budget, statistics) {
            ServerAnswer::Unknown(_)
                if can_be_tried(self.history) && budget.spend(self.history.event_count() as u64) =>
            {
                match spec::some_schedule(self.history, self.levels, attention) {
                    Some(steps) => ServerAnswer::Yes(steps, Vec::new()),
                    None => ServerAnswer::No(self.history.transactions().collect()),
                }
            }
            answer => answer,
        }
    }

    /// The verdict on a history that the definition excludes, with some who take part in a contradiction.
    fn refuted(&self, hint: Vec<TransactionId>, budget: &mut Budget<'_>) -> Verdict {
        let hint = match self.levels.contains(&EngineLevel::PostgresSerializable) {
            false => hint,
            // What the level promises, and what no PostgreSQL misses, is not the same.
            true => match self.answer(Attention::Least, budget, &mut Statistics::default()) {
                ServerAnswer::No(hint) => hint,
                ServerAnswer::Yes(..) => return Verdict::Unknown(Doubt::MayGoUnnoticed),
                ServerAnswer::Unknown(doubt) => return Verdict::Unknown(doubt),
            },
        };
        let anomaly = Anomaly { level: self.level, refutation: Refutation::Alone(core::core(self, &hint, budget)) };
        // What the definition does not confirm is not certain.
        match anomaly.refutes(self.history, self.level) {
            true => Verdict::Fails(anomaly),
            false => Verdict::Unknown(Doubt::TooLargeToConfirm),
        }
    }

    /// The answer of the search.
    fn shown(&self, attention: Attention, budget: &mut Budget<'_>, statistics: &mut Statistics) -> ServerAnswer {
        let mut search = ServerSearch { asked: self, attention, budget, statistics };
        search.under(Assumed { on_server: true, ..Assumed::default() }, 0)
    }
}

/// A question on its way to an answer.
struct ServerSearch<'a, 'h, 'b> {
    asked: &'a ServerQuestion<'h>,
    attention: Attention,
    budget: &'a mut Budget<'b>,
    statistics: &'a mut Statistics,
}

impl ServerSearch<'_, '_, '_> {
    /// The answer under assumptions about what the history leaves open.
    fn under(&mut self, assumed: Assumed, depth: usize) -> ServerAnswer {
        match resolve(self.asked.history, &assumed) {
            Ok(resolved) => self.decide(&resolved),
            Err(Unexplained::Bad(bad)) => ServerAnswer::No(vec![self.asked.history.transaction_of(bad.read())]),
            Err(Unexplained::Undecided(transaction)) => {
                let settle = |committed: bool| {
                    let mut assumed = assumed.clone();
                    assumed.committed.insert(transaction, committed);
                    assumed
                };
                self.any([false, true].map(settle).into_iter(), depth)
            }
            Err(Unexplained::UndecidedElements(key, element, events)) => {
                let settle = |appends: Vec<_>| {
                    let mut assumed = assumed.clone();
                    assumed.elements.insert((key, element), appends);
                    assumed
                };
                self.any(Permutations::new(events).map(settle), depth)
            }
        }
    }

    /// It can be shown when it can under some assumptions.
    fn any(&mut self, assumptions: impl Iterator<Item = Assumed>, depth: usize) -> ServerAnswer {
        let (mut unknown, mut involved) = (None, Vec::new());
        for assumed in assumptions {
            if depth == DEEPEST {
                return ServerAnswer::Unknown(Doubt::TooManyQuestions);
            }
            if !self.budget.spend(self.asked.history.event_count() as u64) {
                return ServerAnswer::Unknown(self.budget.doubt());
            }
            match self.under(assumed, depth + 1) {
                ServerAnswer::Yes(steps, choices) => return ServerAnswer::Yes(steps, choices),
                ServerAnswer::No(hint) => involved.extend(hint),
                ServerAnswer::Unknown(doubt) => unknown = Some(doubt),
            }
        }
        unknown.map_or(ServerAnswer::No(involved), ServerAnswer::Unknown)
    }

    fn decide(&mut self, resolved: &Resolved<'_>) -> ServerAnswer {
        let (history, levels, attention) = (self.asked.history, self.asked.levels, self.attention);
        let mut puzzle = match Puzzle::new(resolved, levels, attention) {
            Ok(puzzle) => puzzle,
            Err(NoWay(reader)) => return ServerAnswer::No(vec![reader]),
        };
        // A walk along the schedule, which knows nothing of how it was found.
        let mut accept = |steps: &[TransactionId], choices: &[(EventId, Writer)]| {
            spec::came_about(history, levels, steps, choices, attention)
        };
        match solve(&mut puzzle, self.budget, self.statistics, &mut accept) {
            Solved::Order(steps, choices) => ServerAnswer::Yes(steps, choices),
            Solved::Impossible(involved) => ServerAnswer::No(involved),
            Solved::Unknown(doubt) => ServerAnswer::Unknown(doubt),
        }
    }
}
