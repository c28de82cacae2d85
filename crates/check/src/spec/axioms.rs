//! The levels by axioms (Biswas & Enea, OOPSLA 2019).
//!
//! Some strict total order `co ⊇ so ∪ wr` makes every read event obey
//!
//! ```text
//!   wr_x(t1, t3)  ∧  t2 writes x  ∧  t2 ≠ t1, t3  ∧  must_see(t2, t3)   ⇒   co(t2, t1)
//!
//!        t1 ──wr_x──> t3          t3 read x from t1
//!        ▲            ▲           t3 must have seen t2, which also wrote x:
//!        └·· co ·· t2 ┘           so t2's version was overwritten by t1's
//! ```
//!
//! Levels differ only in `must_see`, and it is the level of t3, the reader, that decides. So levels mix: each transaction is
//! held to its own, under one common order.
//!
//! A locking read must see all that is before its transaction, whatever the level. At the four levels without write
//! conflicts it does not bind the plain reads of its own transaction: there the last step into t3 is `so` or a *plain* read.

use super::reading::{Reading, SpecRead};
use super::relation::{Relation, some_total_order};
use skew_history::IsolationLevel::{self, *};

/// Whether some commit order satisfies every transaction's level; `levels` leaves t0 out.
pub(super) fn satisfied(reading: &Reading, levels: &[IsolationLevel]) -> bool {
    let known = FixedRelations::new(reading);
    some_total_order(&reading.required_order(), &mut |order| {
        let mut position = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &transaction)| position[transaction] = place);
        let commit_order = CommitOrder { known: &known, position };
        (0..reading.reads.len()).all(|read| commit_order.explains(read, levels))
    })
}

/// What does not depend on the commit order.
struct FixedRelations<'a> {
    reading: &'a Reading,
    /// `so ∪ wr`.
    visible: Relation,
    /// `so ∪ wr` where the read is plain.
    plainly_visible: Relation,
    /// `(so ∪ wr)* ; (so ∪ wr where the read is plain)`.
    causally_visible: Relation,
    /// The pairs of transactions that write a common key.
    conflicts: Relation,
}

impl FixedRelations<'_> {
    fn new(reading: &Reading) -> FixedRelations<'_> {
        let so = &reading.session_order;
        let visible = so.union(&reading.reads_from(|_| true));
        let plainly_visible = so.union(&reading.reads_from(|read| !read.locking));
        let causally_visible = visible.one_or_more().or_none().then(&plainly_visible);
        let conflicts = Relation::of(reading.size(), |one, other| {
            reading.writers.iter().any(|writers| writers.contains(&one) && writers.contains(&other))
        });
        FixedRelations { reading, visible, plainly_visible, causally_visible, conflicts }
    }
}

/// A strict total order of the transactions.
struct CommitOrder<'a> {
    known: &'a FixedRelations<'a>,
    /// Per transaction.
    position: Vec<usize>,
}

impl CommitOrder<'_> {
    /// `co(one, other)`.
    fn before(&self, one: usize, other: usize) -> bool {
        self.position[one] < self.position[other]
    }

    /// `co*(one, other)`.
    fn before_or_same(&self, one: usize, other: usize) -> bool {
        self.position[one] <= self.position[other]
    }

    /// Whether the axiom holds for a read event.
    fn explains(&self, read: usize, levels: &[IsolationLevel]) -> bool {
        let &SpecRead { reader: t3, key, writer: t1, .. } = &self.known.reading.reads[read];
        let level = levels[t3 - 1];
        let mut others = self.known.reading.writers[key.index()].iter().filter(|&&t2| t2 != t1 && t2 != t3);
        others.all(|&t2| !self.must_see(t2, read, level) || self.before(t2, t1))
    }

    /// Whether a read event of a transaction at `level` must have seen `t2`.
    fn must_see(&self, t2: usize, read: usize, level: IsolationLevel) -> bool {
        let FixedRelations { reading, visible, plainly_visible, causally_visible, conflicts } = self.known;
        let SpecRead { reader: t3, locking, .. } = reading.reads[read];
        let some = |holds: &dyn Fn(usize) -> bool| (0..reading.size()).any(holds);
        if locking {
            return self.before(t2, t3);
        }
        match level {
            ReadCommitted => reading.reads[..read]
                .iter()
                .any(|earlier| earlier.reader == t3 && !earlier.locking && earlier.writer == t2),
            ReadAtomic => plainly_visible.has(t2, t3),
            Causal => causally_visible.has(t2, t3),
            Prefix => some(&|t| self.before_or_same(t2, t) && plainly_visible.has(t, t3)),
            Snapshot => {
                some(&|t| self.before_or_same(t2, t) && visible.has(t, t3))
                    || some(&|t4| conflicts.has(t4, t3) && self.before_or_same(t2, t4) && self.before(t4, t3))
            }
            Serializable => self.before(t2, t3),
            ParallelSnapshot | StrongSnapshot | StrictSerializable | Declared | Engine(_) => {
                unreachable!("{level} has no axiom of its own")
            }
        }
    }
}
