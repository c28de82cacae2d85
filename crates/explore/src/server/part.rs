//! What a state of a server consists of, as far as anything that comes later can depend on it.
//!
//! ```text
//!   database      row 3: tuples, locks, changes   row 7: …   snapshots of those who are not over
//!   parts                 12                         4         t2: statement 1, t1 had committed
//! ```
//!
//! A row that nobody has touched is no part. In which order different rows were changed or locked is not told, for nobody can see that; in
//! which order one was, is. Snapshots of those who are over serve nobody, and a snapshot need not tell of those who have changed nothing.

use super::innodb::InnodbPart;
use super::postgres::PostgresPart;
use crate::set::{Number, Set};
use std::hash::Hasher;

/// What a state consists of.
pub(crate) struct StateParts {
    /// Of those who are not over and have one: for which statement it was taken, and who had committed and changed something by then.
    pub(crate) snapshots: Vec<(Number, u32, Set)>,
    pub(crate) parts: Vec<StatePart>,
}

/// One part.
#[derive(PartialEq, Debug)]
pub(crate) enum StatePart {
    Postgres(PostgresPart),
    Innodb(InnodbPart),
}

impl StatePart {
    /// Much of what tells it from others.
    pub(crate) fn hash_roughly(&self, hasher: &mut impl Hasher) {
        match self {
            StatePart::Postgres(part) => part.hash_roughly(hasher),
            StatePart::Innodb(part) => part.hash_roughly(hasher),
        }
    }

    /// About how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        size_of::<StatePart>()
            + match self {
                StatePart::Postgres(part) => part.size(),
                StatePart::Innodb(part) => part.size(),
            }
    }
}

/// The snapshots by number of those who are not over, as far as they tell of anybody.
pub(crate) fn open_snapshots(
    snapshots: impl Iterator<Item = Option<(u32, Set)>>,
    over: Set,
    changers: Set,
) -> Vec<(Number, u32, Set)> {
    let numbered = (0..).zip(snapshots).filter(|(number, _)| !over.contains(*number));
    numbered.filter_map(|(number, snapshot)| snapshot.map(|(taken, seen)| (number, taken, seen & changers))).collect()
}
