//! What a step touches: what another one could notice of it, or change for it.
//!
//! ```text
//!   SELECT x           looks at the data of x              COMMIT    changes the data of all that the transaction wrote,
//!   UPDATE x           looks at it, changes its lock                 and the locks of all that it locked
//!   a first snapshot   looks at the order of commits       a wait    changes who waits for whom: the last one closes a cycle
//! ```
//!
//! A write that is not committed shows to nobody, so an UPDATE and a SELECT of one row come to the same in either order; the COMMIT and the SELECT
//! do not. What is not known exactly is taken for more than it is: a range is its whole table, a ROLLBACK a COMMIT. That makes more runs, and
//! leaves none out.

use super::walking::Isolation;
use rustc_hash::FxHasher;
use skew_sql::{RowKey, SequenceId, SpaceId};
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

/// What a step looked at and changed, by numbers that are the same in all runs.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Touched {
    /// What it depends on.
    pub looked_at: BTreeSet<u64>,
    /// What depends on it.
    pub changed: BTreeSet<u64>,
}

impl Touched {
    fn add(&mut self, other: Touched) {
        self.looked_at.extend(other.looked_at);
        self.changed.extend(other.changed);
    }
}

/// Something that steps touch.
#[derive(Hash)]
enum Thing<'a> {
    /// A row or an entry, as those see it who come after a commit.
    Data(&'a RowKey),
    /// All rows of a table.
    AllData(SpaceId),
    /// Who may change a row, and who waits for that.
    Lock(&'a RowKey),
    Sequence(SequenceId),
    /// The keys of a table without a primary key.
    Fresh(SpaceId),
    Advisory(i128),
    /// In which order transactions commit.
    Commits,
    /// In which order those at serializable commit: the last one closes a cycle.
    Serials,
    /// Who waits for whom.
    Waits,
    Chance,
    Schema,
}

fn number(thing: &Thing<'_>) -> u64 {
    let mut hasher = FxHasher::default();
    thing.hash(&mut hasher);
    hasher.finish()
}

/// What a client's step touches, and what its transaction will when it ends.
#[derive(Default, Debug)]
pub(crate) struct Touches {
    step: Touched,
    /// What is seen of the transaction once it has committed, and who else may go on then.
    at_end: BTreeSet<u64>,
    /// What it has read: at serializable that decides about its commit.
    read: BTreeSet<u64>,
    has_snapshot: bool,
    is_serializable: bool,
}

impl Touches {
    fn look(&mut self, thing: &Thing<'_>) {
        let thing = number(thing);
        self.step.looked_at.insert(thing);
        self.read.insert(thing);
    }

    fn change(&mut self, thing: &Thing<'_>) {
        self.step.changed.insert(number(thing));
    }

    /// A plain read of a row.
    pub(crate) fn read(&mut self, key: &RowKey) {
        self.look(&Thing::Data(key));
    }

    /// A read of a range.
    pub(crate) fn read_all(&mut self, space: SpaceId) {
        self.look(&Thing::AllData(space));
    }

    /// A read of a row that locks it, if it is there, or waits for whoever is about to change it.
    pub(crate) fn lock(&mut self, key: &RowKey) {
        self.read(key);
        self.change(&Thing::Lock(key));
        self.at_end.insert(number(&Thing::Lock(key)));
    }

    /// A write, which nobody sees before the commit.
    pub(crate) fn write(&mut self, key: &RowKey) {
        self.change(&Thing::Lock(key));
        self.at_end
            .extend([Thing::Lock(key), Thing::Data(key), Thing::AllData(key.space), Thing::Commits].iter().map(number));
    }

    /// A number that nobody else gets.
    pub(crate) fn draw(&mut self, sequence: SequenceId) {
        self.change(&Thing::Sequence(sequence));
    }

    /// A key that nobody else gets.
    pub(crate) fn draw_key(&mut self, space: SpaceId) {
        self.change(&Thing::Fresh(space));
    }

    /// A lock that the application has named.
    pub(crate) fn lock_name(&mut self, name: i128) {
        self.change(&Thing::Advisory(name));
        self.at_end.insert(number(&Thing::Advisory(name)));
    }

    /// A random number.
    pub(crate) fn chance(&mut self) {
        self.change(&Thing::Chance);
    }

    /// It waits for somebody, or was refused because all would wait for each other.
    pub(crate) fn wait(&mut self) {
        self.change(&Thing::Waits);
    }

    /// It changes tables.
    pub(crate) fn define(&mut self) {
        self.change(&Thing::Schema);
    }

    /// A statement of a transaction at this level touches something.
    pub(crate) fn begin(&mut self, isolation: Isolation) {
        self.look(&Thing::Schema);
        self.is_serializable = isolation.is_serializable;
        if isolation.keeps_snapshot && !std::mem::replace(&mut self.has_snapshot, true) {
            self.look(&Thing::Commits);
        }
    }

    /// The transaction ends; at serializable all that it read decides whether it may.
    pub(crate) fn end(&mut self) {
        self.step.changed.extend(std::mem::take(&mut self.at_end));
        let read = std::mem::take(&mut self.read);
        if std::mem::take(&mut self.is_serializable) {
            self.step.looked_at.extend(read);
            self.change(&Thing::Serials);
        }
        self.has_snapshot = false;
    }

    /// What was touched since this was last asked.
    pub(crate) fn take(&mut self) -> Touched {
        std::mem::take(&mut self.step)
    }
}

/// Puts what the parts of a step touched together.
pub(crate) fn add(sum: &mut Touched, part: Touched) {
    sum.add(part);
}
