//! The other half of PostgreSQL's serializable: with the same versions, its transactions could have run one after another.
//!
//! The graph of Cerone & Gotsman, `so ∪ wr ∪ ww ∪ rw`, over the committed transactions at that level. PostgreSQL takes no notice of what
//! INSERT looks at:
//!
//! - ON CONFLICT DO NOTHING that found a row has read nothing;
//! - neither has a duplicate that is survived, with one exception: before PostgreSQL says so it looks whether the other one had read the
//!   key, and then refuses with 40001 as if it had.

use super::order::{MomentOrder, MomentPair};
use super::story::{Deed, From, Story, Touch};
use skew_history::{EngineLevel, StatementKind};

/// Whether the transactions at serializable have an order. `versions` has per key who changes it, in order.
pub(super) fn is_serializable(story: &Story, versions: &[Vec<usize>]) -> bool {
    let is_asked = |one: usize| {
        let teller = &story.transactions[one];
        teller.committed && teller.level == EngineLevel::PostgresSerializable
    };
    let numbers = 0..story.transactions.len();
    let pairs = numbers.clone().flat_map(|one| numbers.clone().map(move |other| (one, other)));
    let Some(order) = story.order() else { return false };
    let in_order =
        |&(one, other): &MomentPair| order.has((story.transactions[one].end, story.transactions[other].begin));
    let mut edges: Vec<MomentPair> = pairs.filter(in_order).collect();
    for (key, versions) in versions.iter().enumerate() {
        let asked: Vec<usize> = versions.iter().copied().filter(|&one| is_asked(one)).collect();
        edges.extend(asked.windows(2).map(|pair| (pair[0], pair[1])));
        edges.extend(story.touches_of(key).flat_map(|touch| of_read(story, touch, versions)));
    }
    let order = MomentOrder::of(story.transactions.len());
    order
        .with(&edges.into_iter().filter(|&(one, other)| is_asked(one) && is_asked(other)).collect::<Vec<_>>())
        .is_some()
}

/// The reader comes after who wrote what it read, and before all who wrote later.
fn of_read(story: &Story, touch: &Touch, versions: &[usize]) -> Vec<MomentPair> {
    let Deed::Read { from: From::Version(writer), .. } = touch.deed else { return Vec::new() };
    if !is_noted(story, touch, writer) {
        return Vec::new();
    }
    let place = writer.map_or(0, |writer| versions.iter().take_while(|&&one| one != writer).count() + 1);
    let later = versions[place..].iter().filter(|&&other| other != touch.transaction);
    writer
        .map(|writer| (writer, touch.transaction))
        .into_iter()
        .chain(later.map(|&other| (touch.transaction, other)))
        .collect()
}

/// Whether PostgreSQL takes notice of a read.
fn is_noted(story: &Story, touch: &Touch, writer: Option<usize>) -> bool {
    let Deed::Read { absent, .. } = touch.deed else { return false };
    let does_nothing = touch.kind == StatementKind::Upsert && !touch.changes_it;
    let is_duplicate = touch.kind == StatementKind::Insert && !absent;
    let is_insert = |kind| matches!(kind, StatementKind::Insert | StatementKind::Upsert);
    let mut of_writer = story.touches_of(touch.key).filter(|other| Some(other.transaction) == writer);
    match does_nothing && !absent {
        true => false,
        false if is_duplicate => {
            of_writer.any(|other| matches!(other.deed, Deed::Read { .. }) && !is_insert(other.kind))
        }
        false => true,
    }
}
