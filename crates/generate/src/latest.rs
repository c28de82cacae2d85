//! The database without any isolation but that of the commit: a read sees the latest committed version.
//!
//! Run **one transaction at a time** it is serializable: the commit order is the order of execution, and every read sees the
//! latest version in it.
//!
//! Run **interleaved, event by event**, it is read-committed: take the order of commits. When a read event returned t2's version
//! of something, t2 was committed; a later event of the same transaction that reads x finds a version at least as new as t2's, if
//! t2 wrote x at all. So the writer it read from did not commit before t2, which is the axiom. Two reads of one key may differ:
//!
//! ```text
//!   a:  r(x,init) ─────────────── r(x,1)
//!   b:            w(x,1) commit
//! ```
//!
//! An append takes effect on the list as it stands at the commit, so the lists of one key are prefixes of one another.

use crate::attempt::Attempt;
use crate::database::{Advance, CommittedValues, Database};
use skew_chance::Random;

/// One version of every key.
#[derive(Default)]
pub(crate) struct Latest {
    rows: CommittedValues,
    commits: u64,
}

impl Database for Latest {
    fn begin(&mut self, _attempt: &mut Attempt, _random: &mut Random) {}

    fn advance(&mut self, attempt: &mut Attempt) -> Advance {
        attempt.perform(|key| self.rows.content(key));
        Advance::Done
    }

    fn commit(&mut self, attempt: &Attempt, _random: &mut Random) -> bool {
        self.commits += 1;
        for event in attempt.writes() {
            self.rows.apply(event, self.commits);
        }
        true
    }

    fn settle(&mut self) {}
}
