//! The database with snapshot isolation: reads see the state at begin, and the first committer wins.
//!
//! ```text
//!   a:  begin r(x,init) ············ w(x,1) commit
//!   b:      begin r(x,init) ········ w(x,2) ············ commit refused: x changed since b began
//! ```
//!
//! A multi-version store would keep old versions for the readers of old snapshots. What a transaction reads is settled when it
//! begins, though, so all its reads are done there and one version of every key is enough.
//!
//! *Why it is snapshot:* order the moments begin and commit as they happened. Every transaction reads from the latest commits
//! before its begin, a session's next transaction begins after the last one's commit, and of two writers of one key one
//! committed before the other began, or the later would have been refused. So every `so`, `wr` and `ww` edge goes from a commit to
//! a later begin and every `rw` edge from a begin to a later commit: the graph of `D ; rw?` has no cycle. With times it is
//! strong-snapshot too, for a snapshot holds all that was committed before.

use crate::attempt::Attempt;
use crate::database::{Advance, CommittedValues, Database};
use skew_chance::Random;

/// One version of every key, and the commit that wrote it.
#[derive(Default)]
pub(crate) struct SnapshotStore {
    rows: CommittedValues,
    commits: u64,
}

impl Database for SnapshotStore {
    fn begin(&mut self, attempt: &mut Attempt, _random: &mut Random) {
        attempt.snapshot = self.commits;
        attempt.perform_all(|key| self.rows.content(key));
    }

    fn advance(&mut self, _attempt: &mut Attempt) -> Advance {
        Advance::Done
    }

    fn commit(&mut self, attempt: &Attempt, _random: &mut Random) -> bool {
        if attempt.writes().any(|event| self.rows.commit(event.key) > attempt.snapshot) {
            return false;
        }
        self.commits += 1;
        for event in attempt.writes() {
            self.rows.apply(event, self.commits);
        }
        true
    }

    fn settle(&mut self) {}
}
