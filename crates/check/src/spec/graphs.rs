//! The levels by dependency graphs (Cerone & Gotsman, JACM 2018).
//!
//! Choose for every key a total order `ww_x` of its writers that starts with t0; then a reader of an older version is before
//! whoever wrote a newer one:
//!
//! ```text
//!        t1 ──ww_x──> s
//!         │          ▲            rw_x(t, s): t read a version of x that s overwrote, s ≠ t
//!        wr_x       rw_x
//!         ▼        ╱
//!         t ──────╯               D = so ∪ wr ∪ ww
//! ```
//!
//! | level | condition for some choice of `ww` | with locking reads |
//! |---|---|---|
//! | prefix | `((so ∪ wr) ; rw?) ∪ ww` is acyclic | `((so ∪ wr_plain) ; rw_plain?) ∪ wr_lock ∪ ww ∪ rw_lock` is acyclic |
//! | psi | `D+ ; rw?` is irreflexive | and `D ∪ rw_lock` is acyclic |
//! | snapshot | `D ; rw?` is acyclic | `(D ; rw_plain?) ∪ rw_lock` is acyclic |
//! | serializable | `D ∪ rw` is acyclic | the same |
//!
//! Without locking reads the third column says what the second says. It comes from giving each transaction a begin and a commit:
//! a locking read happens at the commit, a plain one at the begin.
//!
//! Every condition contains that `D` is acyclic. So every choice of `ww` that has a chance is how some total order that contains
//! `so ∪ wr` and the order of the lists sorts the writers, and it is enough to run over those total orders.

use super::reading::{Reading, SpecRead};
use super::relation::{Relation, some_total_order};
use skew_history::IsolationLevel::{self, *};

/// Whether some choice of version orders satisfies the level.
pub(super) fn satisfied(reading: &Reading, level: IsolationLevel) -> bool {
    let so = &reading.session_order;
    let wr_lock = reading.reads_from(|read| read.locking);
    let wr_plain = reading.reads_from(|read| !read.locking);
    let so_wr = so.union(&wr_plain).union(&wr_lock);
    some_total_order(&reading.required_order(), &mut |order| {
        let ww = version_order(reading, order);
        let dependencies = so_wr.union(&ww);
        let rw_lock = overwrites(reading, order, |read| read.locking);
        let rw_plain = overwrites(reading, order, |read| !read.locking);
        match level {
            Prefix => {
                let begins = so.union(&wr_plain).then(&rw_plain.or_none());
                begins.union(&wr_lock).union(&ww).union(&rw_lock).is_acyclic()
            }
            ParallelSnapshot => {
                let rw = rw_plain.union(&rw_lock);
                dependencies.one_or_more().then(&rw.or_none()).is_irreflexive()
                    && dependencies.union(&rw_lock).is_acyclic()
            }
            Snapshot => dependencies.then(&rw_plain.or_none()).union(&rw_lock).is_acyclic(),
            Serializable => dependencies.union(&rw_plain).union(&rw_lock).is_acyclic(),
            ReadCommitted | ReadAtomic | Causal | StrongSnapshot | StrictSerializable | Declared | Engine(_) => {
                unreachable!("{level} has no graph of its own")
            }
        }
    })
}

/// `ww`: for every key its writers, sorted as `order` has them.
fn version_order(reading: &Reading, order: &[usize]) -> Relation {
    let mut ww = Relation::empty(reading.size());
    for (place, &later) in order.iter().enumerate() {
        for &earlier in &order[..place] {
            if reading.writers.iter().any(|writers| writers.contains(&earlier) && writers.contains(&later)) {
                ww.insert(earlier, later);
            }
        }
    }
    ww
}

/// `rw`: for every read that is asked for, the transactions that wrote the key later than the one that was read from.
fn overwrites(reading: &Reading, order: &[usize], which: impl Fn(&SpecRead) -> bool) -> Relation {
    let mut rw = Relation::empty(reading.size());
    for read in reading.reads.iter().filter(|read| which(read)) {
        let later = order.iter().skip_while(|&&transaction| transaction != read.writer).skip(1);
        let writers = &reading.writers[read.key.index()];
        for &writer in later.filter(|&writer| *writer != read.reader && writers.contains(writer)) {
            rw.insert(read.reader, writer);
        }
    }
    rw
}
