//! What a snapshot that serves a whole transaction will show: found by letting the transaction run ahead, alone, to its end.
//!
//! ```text
//!   t: snapshot · reads x · updates y · end        u: commit of z        may be exchanged: t never looks at z
//!                                                  u: commit of x        may not
//! ```
//!
//! Above PostgreSQL's read committed a transaction sees one state. When it takes its snapshot nobody knows yet what it will look at, and
//! whoever takes that for everything tries the snapshot before and after every commit, though few of them matter.
//!
//! **Why running ahead is enough.** What the transaction asks for follows from what it heard, and that from its snapshot, as long as it is not
//! refused: a row that changed since is no answer there, it is a refusal (40001), which only cuts the run short. So whatever others do, it
//! asks for a part of what it asks for alone. If a commit changes none of that, the snapshot before it and the snapshot after it show the
//! transaction the same, all the way.
//!
//! The exception is what is looked at as it stands: whether a key is free, whether a parent is there, rows that refer to one. A key that is
//! free leads to the same as ever, or to an error that ends the transaction; one that is taken may be free in another run, which then goes
//! further. So a run ahead in which such a look finds what ends or turns it says nothing, and everything counts as looked at.

use super::{ServerNode, execute};
use crate::explorable::Explorable;
use crate::runner::Runner;
use crate::server::access::StepAccess;
use crate::server::told::{ToldDeed, ToldEvent};
use crate::server::turn::Permit;
use crate::set::Number;
use skew_history::StatementKind;

/// What a transaction that has just taken its snapshot has looked at, and will look at; nothing if that cannot be told.
pub(super) fn seen_ahead<P: Explorable + ?Sized>(
    runner: &mut Runner<'_, P>,
    node: &ServerNode<P::Left>,
    number: Number,
) -> Option<StepAccess> {
    let mut alone = node.clone();
    for other in runner.outline.numbers().filter(|&other| other != number && !node.over.contains(other)) {
        alone.database.forget(other, &runner.keys);
    }
    let (end, access) = execute(runner, alone, number, Permit::Through).ok()?;
    let commits = end.endings[number as usize].as_ref().is_some_and(|ending| ending.0);
    let told = &end.dialogues[number as usize].told;
    let follows_from_snapshot = commits && !access.looks_at_present && !told.events.iter().any(is_in_the_way);
    follows_from_snapshot.then_some(access)
}

/// Whether a key was not free, or a parent not there.
fn is_in_the_way(event: &ToldEvent) -> bool {
    use StatementKind::{ForeignKey, Insert, Upsert};
    match (&event.deed, event.kind) {
        (ToldDeed::Read(_, row), Insert | Upsert) => row.is_some(),
        (ToldDeed::Read(_, row), ForeignKey) => row.is_none(),
        _ => false,
    }
}
