//! The database with prefix consistency: a primary, and a follower that replays its commits late.
//!
//! ```text
//!   commits    1  2  3  4  5  6  7  8  9
//!   primary    ────────────────────────●      writes go here, without a look at conflicts
//!   follower   ──────────────●                reads may go here
//! ```
//!
//! A transaction reads, at its begin, from the primary or from the follower; from the follower only if that is not behind
//! anything the session has seen or done.
//!
//! *Why it is prefix:* take the order of commits. Each transaction reads the state after the first n commits for some n, and all
//! commits of its session's past are among them. So when it must see t2, because t2 is not after something that it read from or
//! that its session did, t2 is among the n, and the version read is not older than t2's. Updates can be lost: two transactions
//! may read one version and both write the key.

use crate::attempt::{Attempt, GeneratedEvent};
use crate::database::{Advance, CommittedValues, Database};
use crate::parameters::Parameters;
use skew_chance::Random;
use std::collections::VecDeque;

/// A primary and its follower.
pub(crate) struct Follower {
    primary: CommittedValues,
    follower: CommittedValues,
    /// How many commits each has.
    committed: u64,
    replayed: u64,
    /// The writes of the commits that the follower has not replayed.
    log: VecDeque<Vec<GeneratedEvent>>,
    lag: usize,
    /// Per session: how many commits it has seen.
    seen: Vec<u64>,
}

impl Follower {
    pub(crate) fn new(parameters: &Parameters) -> Follower {
        Follower {
            primary: CommittedValues::default(),
            follower: CommittedValues::default(),
            committed: 0,
            replayed: 0,
            log: VecDeque::new(),
            lag: parameters.lag as usize,
            seen: vec![0; parameters.sessions as usize],
        }
    }

    fn replay(&mut self) {
        let Some(writes) = self.log.pop_front() else { return };
        self.replayed += 1;
        for event in &writes {
            self.follower.apply(event, self.replayed);
        }
    }
}

impl Database for Follower {
    fn begin(&mut self, attempt: &mut Attempt, random: &mut Random) {
        let seen = &mut self.seen[attempt.session as usize];
        let late = self.replayed >= *seen && random.chance(0.5);
        let (rows, commits) = if late { (&self.follower, self.replayed) } else { (&self.primary, self.committed) };
        *seen = commits;
        attempt.snapshot = commits;
        attempt.perform_all(|key| rows.content(key));
    }

    fn advance(&mut self, _attempt: &mut Attempt) -> Advance {
        Advance::Done
    }

    fn commit(&mut self, attempt: &Attempt, random: &mut Random) -> bool {
        self.committed += 1;
        self.seen[attempt.session as usize] = self.committed;
        for event in attempt.writes() {
            self.primary.apply(event, self.committed);
        }
        self.log.push_back(attempt.writes().cloned().collect());
        // One replay per commit on average, so that the distance wanders between nothing and the limit.
        (0..random.below(3)).for_each(|_| self.replay());
        while self.log.len() > self.lag {
            self.replay();
        }
        true
    }

    fn settle(&mut self) {
        while !self.log.is_empty() {
            self.replay();
        }
    }
}
