//! Whether a small history satisfies prefix, snapshot or serializable: lines its transactions up, by sets.
//!
//! The general engine of `skew-check` is made for histories of a million transactions; an explored one has ten, and there are a million of
//! them. Biswas and Enea (OOPSLA 2019, §5) decide these levels in time that is polynomial for a fixed number of sessions: what may be
//! placed next depends only on *which* transactions are placed, not on their order, so there are as many questions as there are ways to
//! be somewhere in every session.
//!
//! ```text
//!   placed S      t may be next when   whom it needs (so, wr) is in S, and
//!                                      nobody outside S still has to read a version that t overwrites
//! ```
//!
//! - *serializable*: a transaction is placed as a whole.
//! - *prefix*: it begins, which is when it reads, and commits later. To begin as early as possible only helps, so what is placed
//!   are commits, and whoever has all it needs has begun.
//! - *snapshot*: likewise, but of two that write one key the second begins after the first has committed. So beginnings are placed too.
//!
//! Aborted transactions and those that only read end when they begin. psi, mixed levels and locking reads are left to `skew-check`, as is
//! whatever takes too many steps. Debug builds ask it every time and compare.

use crate::base::Placing;
use crate::log::Outcome;
use crate::ordered::Ordered;
use crate::set::{INITIAL, Number, Set};
use rustc_hash::FxHashSet;

/// So many sets of placed transactions are looked at.
const MOST_STEPS: usize = 100_000;

/// What is placed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Placed {
    begun: Set,
    ended: Set,
}

/// What has to be known of each transaction to place it; by number.
struct Lineup {
    order: Vec<Number>,
    all: Set,
    /// Whom it needs.
    needs: Vec<Set>,
    /// Who reads, and from whom, a version that it would overwrite.
    overwritten: Vec<Vec<(Number, Number)>>,
    /// Who writes a key that it writes.
    conflicts: Vec<Set>,
}

/// Whether the transactions of a history without locking reads can be lined up; nothing when this is not the way to find out.
pub(crate) fn fits(history: &Ordered, placing: Placing) -> Option<bool> {
    let lineup = Lineup::new(history);
    match placing {
        Placing::Whole => lineup.search(Lineup::place_whole),
        Placing::Commits => lineup.search(Lineup::place_commit),
        Placing::Halves => lineup.search(Lineup::place_half),
    }
}

impl Lineup {
    fn new(history: &Ordered) -> Lineup {
        let count = history.order.iter().copied().max().unwrap_or(INITIAL) as usize + 1;
        let mut lineup = Lineup {
            order: history.order.clone(),
            all: history.complete,
            needs: vec![Set::EMPTY; count],
            overwritten: vec![Vec::new(); count],
            conflicts: vec![Set::EMPTY; count],
        };
        for &reader in &history.order {
            let log = history.log(reader);
            lineup.needs[reader as usize] = log.session_past;
            for read in log.reads() {
                lineup.needs[reader as usize].insert(read.source);
                for writer in (history.writers(read.key) - Set::only(read.source) - Set::only(reader)).iter() {
                    lineup.overwritten[writer as usize].push((reader, read.source));
                }
            }
            if log.outcome == Outcome::Committed {
                let writers = |write: &(u32, _)| history.writers(write.0);
                let all = log.writes.iter().map(writers).fold(Set::EMPTY, |all, writers| all | writers);
                lineup.conflicts[reader as usize] = all;
            }
        }
        lineup
    }

    /// Whether all can be placed, one after the other; `place` places one, where that is allowed.
    fn search(&self, place: impl Fn(&Lineup, Placed, Number) -> Option<Placed>) -> Option<bool> {
        let mut seen = FxHashSet::default();
        let mut stack = vec![Placed { begun: Set::EMPTY, ended: Set::EMPTY }];
        while let Some(placed) = stack.pop() {
            if placed.ended == self.all {
                return Some(true);
            }
            if !seen.insert(placed) {
                continue;
            }
            if seen.len() > MOST_STEPS {
                return None;
            }
            // The order of the search comes first: where it explains the history, nothing else is tried.
            let next = self.order.iter().rev().filter(|&&number| !placed.ended.contains(number));
            stack.extend(next.filter_map(|&number| place(self, placed, number)));
        }
        Some(false)
    }

    fn has_all_it_needs(&self, number: Number, ended: Set) -> bool {
        (self.needs[number as usize] - ended).is_empty()
    }

    /// Whether nobody who has not begun reads a version that would be overwritten.
    fn may_overwrite(&self, number: Number, ended: Set, has_begun: impl Fn(Number) -> bool) -> bool {
        self.overwritten[number as usize]
            .iter()
            .all(|&(reader, source)| has_begun(reader) || source != INITIAL && !ended.contains(source))
    }

    fn place_whole(&self, placed: Placed, number: Number) -> Option<Placed> {
        let ended = placed.ended;
        let fits =
            self.has_all_it_needs(number, ended) && self.may_overwrite(number, ended, |reader| ended.contains(reader));
        fits.then(|| Placed { ended: ended | Set::only(number), ..placed })
    }

    fn place_commit(&self, placed: Placed, number: Number) -> Option<Placed> {
        let ended = placed.ended;
        let has_begun = |reader| self.has_all_it_needs(reader, ended);
        let fits = has_begun(number) && self.may_overwrite(number, ended, has_begun);
        fits.then(|| Placed { ended: ended | Set::only(number), ..placed })
    }

    fn place_half(&self, Placed { begun, ended }: Placed, number: Number) -> Option<Placed> {
        let one = Set::only(number);
        if begun.contains(number) {
            let fits = self.may_overwrite(number, ended, |reader| begun.contains(reader));
            return fits.then(|| Placed { begun, ended: ended | one });
        }
        let conflicts = self.conflicts[number as usize] & (begun - ended);
        if !self.has_all_it_needs(number, ended) || !conflicts.is_empty() {
            return None;
        }
        let writes = !self.conflicts[number as usize].is_empty();
        Some(Placed { begun: begun | one, ended: if writes { ended } else { ended | one } })
    }
}
