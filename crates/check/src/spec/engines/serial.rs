//! The other half of PostgreSQL's serializable: with the same versions, its transactions could have run one after another.
//!
//! The graph of Cerone & Gotsman, `so ∪ wr ∪ ww ∪ rw`, over the committed transactions at that level. PostgreSQL takes no notice of what
//! INSERT looks at:
//!
//! - ON CONFLICT DO NOTHING that found a row has read nothing;
//! - neither has a duplicate that is survived, with one exception: before PostgreSQL says so it looks whether the other one had read the
//!   key, and then refuses with 40001 as if it had.
//!
//! A run without such an order is refused, if PostgreSQL notices. It looks at pairs of transactions in which one changed what the other had
//! read, and trusts that everything else a transaction sees had been committed before it began. An INSERT is not like that: it takes a key that
//! was free *now*. Whoever freed it after the snapshot comes before, and PostgreSQL knows this only of those whose search had marked the place
//! of the key in its index:
//!
//! ```text
//!   a   SELECT w                                        INSERT row 2            before b by w, after b by row 2
//!   b            UPDATE w; DELETE row 2; COMMIT                                 by the primary key: a is refused; by another index: nobody
//! ```
//!
//! A history need not say by which index a row was found, so there are two questions, [`Attention::Full`] and [`Attention::Least`]. What
//! even the least attention excludes cannot be; what full attention allows can; what is between depends on more than is known.

use super::least::LeastAttention;
use super::order::{MomentOrder, MomentPair};
use super::schedule::WalkedSchedule;
use super::story::{Deed, From, Story, Touch};
use crate::spec::Attention;
use skew_history::{EngineLevel, Outcome, StatementKind};

/// Whether the transactions at serializable have an order. `versions` has per key who changes it, in order.
pub(super) fn is_serializable(story: &Story, versions: &[Vec<usize>], attention: Attention) -> bool {
    let is_asked = |one: usize| is_asked(story, one);
    let numbers = 0..story.transactions.len();
    let pairs = numbers.clone().flat_map(|one| numbers.clone().map(move |other| (one, other)));
    let Some(order) = story.order() else { return false };
    let in_order =
        |&(one, other): &MomentPair| order.has((story.transactions[one].end, story.transactions[other].begin));
    let mut edges: Vec<MomentPair> = pairs.filter(in_order).collect();
    let least = (attention == Attention::Least).then(|| LeastAttention::new(story));
    for (key, versions) in versions.iter().enumerate() {
        if let Some(least) = &least {
            edges.extend(least.edges(key, versions));
            continue;
        }
        let asked: Vec<usize> = versions.iter().copied().filter(|&one| is_asked(one)).collect();
        edges.extend(asked.windows(2).map(|pair| (pair[0], pair[1])));
        edges.extend(story.touches_of(key).flat_map(|touch| of_read(story, touch, versions)));
    }
    let order = MomentOrder::of(story.transactions.len());
    order
        .with(&edges.into_iter().filter(|&(one, other)| is_asked(one) && is_asked(other)).collect::<Vec<_>>())
        .is_some()
}

/// Whether a transaction is asked to be serializable.
pub(super) fn is_asked(story: &Story, one: usize) -> bool {
    let teller = &story.transactions[one];
    teller.committed && teller.level == EngineLevel::PostgresSerializable
}

/// The same along a schedule, in one pass: of all who wrote later the next one is enough, because the others follow it.
pub(super) fn is_serializable_in(schedule: &WalkedSchedule<'_>, attention: Attention) -> bool {
    let story = &schedule.story;
    if !story.transactions.iter().any(|one| one.level == EngineLevel::PostgresSerializable) {
        return true;
    }
    let (nodes, mut edges) = in_order(story);
    let least = (attention == Attention::Least).then(|| LeastAttention::new(story));
    for key in story.keys() {
        let versions: Vec<usize> = schedule.versions[key].writers().collect();
        if let Some(least) = &least {
            edges.extend(least.edges(key, &versions));
            continue;
        }
        let asked: Vec<usize> = (0..versions.len()).filter(|&place| is_asked(story, versions[place])).collect();
        edges.extend(asked.windows(2).map(|pair| (versions[pair[0]], versions[pair[1]])));
        for touch in story.touches_of(key).filter(|touch| is_asked(story, touch.transaction)) {
            let Deed::Read { from: From::Version(writer), .. } = touch.deed else { continue };
            let Some(place) = schedule.versions[key].of(schedule, writer) else { return false };
            if is_noted(story, touch, writer) {
                let later = asked[asked.partition_point(|&one| one < place)..].iter().map(|&one| versions[one]);
                edges.extend(writer.filter(|&one| is_asked(story, one)).map(|one| (one, touch.transaction)));
                edges.extend(later.filter(|&one| one != touch.transaction).take(1).map(|one| (touch.transaction, one)));
            }
        }
    }
    has_no_cycle(nodes, &edges)
}

/// What sessions and times say of transactions, as edges. Behind the transactions stand the instants at which some of them begin, in a row.
fn in_order(story: &Story) -> (usize, Vec<MomentPair>) {
    let history = story.history;
    let transactions = &story.transactions;
    let session = |number: usize| history.session_of(transactions[number].id);
    let neighbours = (1..transactions.len()).map(|number| (number - 1, number));
    let mut edges: Vec<MomentPair> = neighbours.filter(|&(one, other)| session(one) == session(other)).collect();
    let mut instants: Vec<i64> = transactions.iter().filter_map(|one| history.times(one.id).begin).collect();
    instants.sort_unstable();
    instants.dedup();
    let first = transactions.len();
    edges.extend((1..instants.len()).map(|at| (first + at - 1, first + at)));
    for (number, one) in transactions.iter().enumerate() {
        let times = history.times(one.id);
        edges.extend(times.begin.map(|time| (first + instants.partition_point(|&instant| instant < time), number)));
        let end = times.end.filter(|_| history.outcome(one.id) != Outcome::Unknown);
        let after = end.map(|time| instants.partition_point(|&instant| instant <= time));
        edges.extend(after.filter(|&after| after < instants.len()).map(|after| (number, first + after)));
    }
    (first + instants.len(), edges)
}

/// Whether edges between so many nodes go round nowhere: nodes that nothing leads to are taken away, again and again.
fn has_no_cycle(nodes: usize, edges: &[MomentPair]) -> bool {
    let mut incoming = vec![0usize; nodes];
    let mut starts = vec![0usize; nodes + 1];
    for &(from, to) in edges {
        incoming[to] += 1;
        starts[from + 1] += 1;
    }
    (0..nodes).for_each(|node| starts[node + 1] += starts[node]);
    let (mut next, mut targets) = (starts.clone(), vec![0; edges.len()]);
    for &(from, to) in edges {
        targets[next[from]] = to;
        next[from] += 1;
    }
    let mut free: Vec<usize> = (0..nodes).filter(|&node| incoming[node] == 0).collect();
    let mut taken = 0;
    while let Some(node) = free.pop() {
        taken += 1;
        for &to in &targets[starts[node]..starts[node + 1]] {
            incoming[to] -= 1;
            free.extend((incoming[to] == 0).then_some(to));
        }
    }
    taken == nodes
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
    let mut of_writer = writer.into_iter().flat_map(|writer| story.touches_by(touch.key, writer));
    match does_nothing && !absent {
        true => false,
        false if is_duplicate => {
            of_writer.any(|other| matches!(other.deed, Deed::Read { .. }) && !is_insert(other.kind))
        }
        false => true,
    }
}
