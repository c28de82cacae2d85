//! A schedule that may be right, before anything is searched for.
//!
//! What is known leaves the moments in some row. Where nobody tells an order, the one in which they happen to stand there is as good as any; where
//! several could have written what was read, it is the last one before. Most histories that were recorded on a server turn out to be explained: then
//! nothing has to be known of reachability, which is most of the work. Nothing rests on it: whoever gets a schedule from here walks along it.

use super::construct::Untold;
use super::holders::HolderId;
use super::narrow::narrowed;
use super::puzzle::{Because, Puzzle, PuzzleEdge};
use super::reads::ReadWay;
use super::told_order::{LockedVersions, ToldOrder};
use crate::graph::Node;
use crate::resolve::PackedWriter;
use skew_history::{KeyId, TransactionId};
use std::borrow::Cow;

/// Which version FOR KEY SHARE returned where the key may have changed since its statement started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KeyShares {
    /// That of the start of the statement.
    AtStart,
    /// That which happens to stand there.
    AsTheyStand,
}

/// The schedule; nothing when the guesses contradict each other.
pub(super) fn schedule(puzzle: &Puzzle<'_, '_>, untold: &[Untold], shares: KeyShares) -> Option<Vec<TransactionId>> {
    let mut guess = Guess { puzzle, places: vec![0; puzzle.nodes.chains.node_count()], edges: Vec::new() };
    let narrowed = narrowed(&puzzle.reads, &puzzle.holders);
    for &(read, writer) in &narrowed {
        puzzle.way_brings(read, ReadWay::Latest(writer), &mut guess.edges);
    }
    let row = guess.row()?;
    row.iter().enumerate().for_each(|(place, node)| guess.places[node.index()] = place as u32);
    let versions = puzzle.locked_versions.with(&puzzle.reads, &narrowed);
    untold.iter().for_each(|untold| guess.order(untold, &versions));
    (0..puzzle.reads.all.len() as u32).for_each(|read| guess.read(read));
    (0..puzzle.reads.all.len() as u32).for_each(|read| guess.key_share(read, shares));
    guess.row().map(|row| puzzle.steps(&row))
}

struct Guess<'a, 'b, 'h> {
    puzzle: &'a Puzzle<'b, 'h>,
    /// Per node its place in the row.
    places: Vec<u32>,
    edges: Vec<PuzzleEdge>,
}

impl<'a> Guess<'a, '_, '_> {
    /// The row that the guesses so far leave, if they agree.
    fn row(&self) -> Option<Cow<'a, [Node]>> {
        if self.edges.is_empty() {
            return Some(Cow::Borrowed(&self.puzzle.order));
        }
        let mut graph = self.puzzle.graph.clone();
        self.edges.iter().for_each(|edge| graph.add(edge.from, edge.to));
        graph.index();
        graph.topological_order().ok().map(Cow::Owned)
    }

    fn place(&self, node: Node) -> u32 {
        self.places[node.index()]
    }

    /// Where a transaction ends.
    fn end(&self, transaction: TransactionId) -> u32 {
        self.place(self.puzzle.end(transaction))
    }

    /// Holders one after the other: as their reads tell it if all locks are taken for such that changes mind, and else as their releases stand.
    fn order(&mut self, untold: &Untold, versions: &LockedVersions) {
        let holders = &self.puzzle.holders;
        match untold {
            Untold::Lockers(lockers) => self.as_they_stand(lockers.clone()),
            Untold::Key(key) => {
                let (kept, mut order) = (holders.kept_on(*key), ToldOrder::default());
                if !order.follow_reads(kept, holders, versions) {
                    return self.as_they_stand(kept.to_vec());
                }
                self.puzzle.told_versions(*key, &order.changers, &mut self.edges);
                for lockers in order.lockers.chunk_by(|one, other| one.0 == other.0) {
                    self.as_they_stand(lockers.iter().map(|&(_, holder)| holder).collect());
                }
            }
        }
    }

    fn as_they_stand(&mut self, mut row: Vec<HolderId>) {
        let holders = &self.puzzle.holders;
        row.sort_by_key(|&holder| self.place(self.puzzle.nodes.of(holders.get(holder).release)));
        for pair in row.windows(2) {
            self.edges.extend(self.puzzle.order_brings(holders.get(pair[0]), holders.get(pair[1])));
        }
    }

    /// A read with several ways was of the last version before it.
    fn read(&mut self, number: u32) {
        let (puzzle, read) = (self.puzzle, self.puzzle.read(number));
        let ways = puzzle.reads.ways(read);
        if ways.len() < 2 {
            return;
        }
        let at = self.place(puzzle.nodes.of(read.at));
        let since = |writer: PackedWriter| writer.transaction().map(|writer| self.end(writer));
        let writers =
            ways.iter().filter_map(|way| if let ReadWay::Latest(writer) = way { Some(*writer) } else { None });
        let earlier = writers.filter(|&writer| since(writer).is_none_or(|since| since < at));
        let Some(writer) = earlier.max_by_key(|&writer| since(writer)) else { return };
        let changers = puzzle.holders.kept_on(read.key).iter().map(|&holder| puzzle.holders.get(holder));
        let later = changers.filter(|one| one.changes.is_some() && Some(self.end(one.transaction)) > since(writer));
        let next = later.min_by_key(|one| self.end(one.transaction));
        puzzle.way_brings(number, ReadWay::Latest(writer), &mut self.edges);
        next.into_iter().for_each(|next| puzzle.overwrite_brings(number, writer, next, &mut self.edges));
    }

    /// FOR KEY SHARE that may have looked again returned the version of the start of its statement, or the latest one when it locked the row.
    fn key_share(&mut self, number: u32, shares: KeyShares) {
        let (puzzle, read) = (self.puzzle, self.puzzle.read(number));
        let &[ReadWay::Latest(writer)] = puzzle.reads.ways(read) else { return };
        let Some(again) = puzzle.may_look_again(read) else { return };
        read.holder.into_iter().for_each(|holder| self.among_changers(holder));
        let Some(by) = writer.transaction() else { return };
        let (start, end, because) =
            (puzzle.nodes.of(read.at), puzzle.end(by), Because::ReadsFrom { read: number, writer: by });
        let changers = puzzle.holders.kept_on(read.key).iter().map(|&holder| puzzle.holders.get(holder));
        let others = changers.filter(|one| one.changes.is_some() && one.transaction != read.transaction);
        let later = others.map(|one| puzzle.end(one.transaction)).filter(|&later| self.place(later) > self.place(end));
        let next = later.min_by_key(|&later| self.place(later));
        let is_passed = next.is_some_and(|next| Some(self.place(next)) <= self.last_seen(read.transaction, read.key));
        if shares == KeyShares::AtStart || is_passed || self.place(end) < self.place(start) {
            self.edges.push(PuzzleEdge { from: end, to: start, because });
            return;
        }
        self.edges.push(PuzzleEdge { from: start, to: end, because });
        let to_next = next.map(|to| PuzzleEdge { from: puzzle.nodes.of(again), to, because });
        self.edges.extend(to_next);
    }

    /// Who holds on to a key, between those who change it and whom it keeps off: behind all that it has seen.
    fn among_changers(&mut self, number: HolderId) {
        let (puzzle, holders) = (self.puzzle, &self.puzzle.holders);
        let holder = holders.get(number);
        let seen = self.last_seen(holder.transaction, holder.key);
        let others = holders.kept_on(holder.key).iter().map(|&other| holders.get(other));
        let others = others.filter(|one| one.changes.is_some() && one.transaction != holder.transaction);
        let conflicting = others.filter(|one| one.first_conflict(holder).is_some());
        let (before, after): (Vec<_>, Vec<_>) = conflicting.partition(|one| Some(self.end(one.transaction)) <= seen);
        let before = before.into_iter().max_by_key(|one| self.end(one.transaction));
        let after = after.into_iter().min_by_key(|one| self.end(one.transaction));
        self.edges.extend(before.and_then(|before| puzzle.order_brings(before, holder)));
        self.edges.extend(after.and_then(|after| puzzle.order_brings(holder, after)));
    }

    /// Where the last version of a key ends that a transaction has certainly read.
    fn last_seen(&self, transaction: TransactionId, key: KeyId) -> Option<u32> {
        let all = &self.puzzle.reads.all;
        let first = all.partition_point(|read| read.transaction < transaction);
        let mine = all[first..].iter().take_while(|read| read.transaction == transaction);
        let of_key = mine.filter(|read| read.key == key);
        let writers = of_key.filter_map(|read| match *self.puzzle.reads.ways(read) {
            [ReadWay::Latest(writer)] => writer.transaction(),
            _ => None,
        });
        writers.map(|writer| self.end(writer)).max()
    }
}
