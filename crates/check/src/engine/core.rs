//! A few transactions that are impossible on their own.
//!
//! Whoever takes part in the contradiction that was found comes first, with everybody that they need; where that is not enough, those who touch the
//! same keys come in, and so on. Then transactions are dropped in halves, quarters, … and one by one, as long as the rest is impossible.
//!
//! Where each transaction read what the one before it wrote, whoever comes late needs everybody, and the definition cannot try them all. The same
//! mistake was often made before, among the first who touch those keys and need few others: these are looked at first then.

use super::{ServerAnswer, ServerQuestion};
use crate::budget::{Budget, Statistics};
use crate::certify::{FEW, Needs, events_of};
use crate::spec::Attention;
use rustc_hash::{FxHashMap, FxHashSet};
use skew_history::{EngineLevel, TransactionId};

/// So many steps every check of a part may take, however little was left for the whole.
const STEPS_FOR_A_PART: u64 = 1_000_000;

/// Parts of more transactions than this are not made smaller one by one.
const MOST: usize = 2_000;

/// So many of the first who touch the keys of a contradiction are looked at for a smaller one.
const FIRST: usize = 300;

/// Transactions of an impossible history that are impossible on their own and of which none can be left out.
pub(super) fn core(asked: &ServerQuestion<'_>, hint: &[TransactionId], budget: &Budget<'_>) -> Vec<TransactionId> {
    let search = CoreSearch { asked, needs: Needs::new(asked.history, asked.levels), budget: *budget };
    let mut start: FxHashSet<TransactionId> = search.closed(hint.iter().copied());
    if start.len() > FEW
        && let Some(first) = search.among_the_first(hint)
    {
        start = first;
    }
    while start.len() < asked.history.transaction_count() && !search.is_impossible(&start) {
        let more = search.closed(search.needs.neighbours(&start));
        start = if more.len() > start.len().max(1) && more.len() <= MOST {
            more
        } else {
            asked.history.transactions().collect()
        };
    }
    if start.len() > MOST {
        return asked.history.transactions().collect();
    }
    let mut core: Vec<TransactionId> = search.smallest(start).into_iter().collect();
    core.sort_unstable();
    core
}

struct CoreSearch<'a, 'h> {
    asked: &'a ServerQuestion<'h>,
    needs: Needs<'h>,
    budget: Budget<'a>,
}

impl CoreSearch<'_, '_> {
    /// Some transactions with everybody that they need.
    fn closed(&self, transactions: impl IntoIterator<Item = TransactionId>) -> FxHashSet<TransactionId> {
        transactions.into_iter().flat_map(|one| self.needs.of(one)).collect()
    }

    /// The first who touch the same keys as these and need so few others that the definition can always try them, where they are impossible on
    /// their own.
    fn among_the_first(&self, hint: &[TransactionId]) -> Option<FxHashSet<TransactionId>> {
        let mut touching = self.needs.neighbours(&hint.iter().copied().collect());
        touching.sort_unstable();
        touching.dedup();
        let needed = touching.into_iter().take(FIRST).filter_map(|one| self.needs.of_at_most(one, FEW));
        let first: FxHashSet<TransactionId> = needed.flatten().collect();
        self.is_impossible(&first).then_some(first)
    }

    /// Whether a closed part is more than one server can show.
    fn is_impossible(&self, transactions: &FxHashSet<TransactionId>) -> bool {
        let (history, origin) = self.asked.history.restrict(&events_of(self.asked.history, transactions));
        let levels: Vec<EngineLevel> = origin.iter().map(|one| self.asked.levels[one.index()]).collect();
        let part = ServerQuestion { history: &history, level: self.asked.level, levels: &levels };
        let mut budget = Budget { steps: STEPS_FOR_A_PART, progress: None, ..self.budget };
        matches!(part.shown(Attention::Least, &mut budget, &mut Statistics::default()), ServerAnswer::No(_))
    }

    /// Drops what can be dropped.
    fn smallest(&self, mut kept: FxHashSet<TransactionId>) -> FxHashSet<TransactionId> {
        let needs: FxHashMap<TransactionId, FxHashSet<TransactionId>> =
            kept.iter().map(|&one| (one, self.needs.of(one))).collect();
        let mut portion = kept.len().div_ceil(2).max(1);
        loop {
            let mut sorted: Vec<TransactionId> = kept.iter().copied().collect();
            sorted.sort_unstable();
            for gone in sorted.chunks(portion) {
                let gone: FxHashSet<TransactionId> = gone.iter().copied().collect();
                let rest: FxHashSet<TransactionId> =
                    kept.iter().copied().filter(|one| needs[one].is_disjoint(&gone)).collect();
                if rest.len() < kept.len() && !rest.is_empty() && !self.budget.is_stopped() && self.is_impossible(&rest)
                {
                    kept = rest;
                }
            }
            if portion == 1 {
                return kept;
            }
            portion = portion.div_ceil(2);
        }
    }
}
