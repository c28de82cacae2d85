//! What PostgreSQL's serializable cannot miss: the edges of a key at the least attention.
//!
//! | edge | why it is not missed |
//! |---|---|
//! | a wrote what b read, or an earlier version | it is in b's snapshot |
//! | a changed the key before b, whose first change of it is no INSERT | it is in b's snapshot, or b is refused |
//! | a read what b changed next | a has marked the row |
//! | a read the key, or changed it, before b inserted it | a search of a has marked the place of the key in its index, if it went by that |
//!
//! "Next" because a mark is on one version of a row: when somebody at another level changes it in between, b changes a version that a has
//! not marked. What the unique check of an INSERT saw is a mark for nobody; what it wrote orders it.

use super::order::MomentPair;
use super::serial::is_asked;
use super::story::{Deed, From, Story, Touch};
use rustc_hash::FxHashSet;
use skew_history::{KeyId, StatementKind};

/// A history, and which of its keys are entries of indexes.
pub(super) struct LeastAttention<'a, 'h> {
    story: &'a Story<'h>,
    /// The tables of whose other indexes the history has entries.
    with_entries: FxHashSet<&'h str>,
}

impl<'a, 'h> LeastAttention<'a, 'h> {
    pub(super) fn new(story: &'a Story<'h>) -> Self {
        let tables = story.history.keys().filter_map(|key| other_index(story, key));
        LeastAttention { story, with_entries: tables.collect() }
    }

    /// The edges that a key with these writers, in order, brings for certain.
    pub(super) fn edges(&self, key: usize, versions: &[usize]) -> Vec<MomentPair> {
        let mut edges = Vec::new();
        for (place, &later) in versions.iter().enumerate().filter(|&(_, &later)| is_asked(self.story, later)) {
            let takes_free_key = self.inserts(key, later);
            let earlier = versions[..place].iter().filter(|&&one| !takes_free_key || self.marks(key, one));
            edges.extend(earlier.map(|&one| (one, later)));
        }
        edges.extend(self.story.touches_of(key).flat_map(|touch| self.of_read(touch, versions)));
        edges.retain(|&(one, other)| is_asked(self.story, one) && is_asked(self.story, other));
        edges
    }

    /// What a read brings for certain.
    fn of_read(&self, touch: &Touch, versions: &[usize]) -> Vec<MomentPair> {
        let Deed::Read { from: From::Version(writer), absent, .. } = touch.deed else { return Vec::new() };
        let (reader, key) = (touch.transaction, touch.key);
        let place = writer.map_or(0, |writer| versions.iter().take_while(|&&one| one != writer).count() + 1);
        let (earlier, later) = versions.split_at(place.min(versions.len()));
        let seen = earlier.iter().map(|&one| (one, reader));
        if is_insert(touch.kind) {
            // A row that is in the way counts if who wrote it has marked the key; what ON CONFLICT changes is in the snapshot.
            let is_duplicate = touch.kind == StatementKind::Insert && !absent;
            let is_changed = touch.kind == StatementKind::Upsert && !absent && touch.changes_it;
            let is_noticed = |writer: usize| is_changed || is_duplicate && self.marks(key, writer);
            return seen.filter(|&(one, _)| writer == Some(one) && is_noticed(one)).collect();
        }
        let is_noticed = |&(place, &one): &(usize, &usize)| match self.inserts(key, one) {
            true => self.marks(key, reader),
            false => place == 0,
        };
        let overwriting = later.iter().enumerate().filter(is_noticed).filter(|&(_, &one)| one != reader);
        seen.chain(overwriting.map(|(_, &one)| (reader, one))).collect()
    }

    /// Whether the first change of a key by a transaction is an INSERT that found it free.
    fn inserts(&self, key: usize, transaction: usize) -> bool {
        let mut own = self.story.touches_by(key, transaction);
        let first = own.find(|touch| matches!(touch.deed, Deed::Change { .. }));
        first.is_some_and(|first| is_insert(first.kind) && !first.found_row)
    }

    /// Whether a search of a transaction is known to have marked the place of a key in its index.
    fn marks(&self, key: usize, transaction: usize) -> bool {
        self.story.touches_by(key, transaction).any(|touch| match touch.deed {
            Deed::Read { absent, .. } if !is_insert(touch.kind) => absent || self.goes_by_key(touch),
            Deed::Read { .. } | Deed::Change { .. } => false,
        })
    }

    /// Whether it is known that a row was found by its own key: a history that has entries of an index has them where a statement went by that
    /// index. (That there is no row under a key is known only to who has looked for that key.)
    fn goes_by_key(&self, touch: &Touch) -> bool {
        let (history, key) = (self.story.history, KeyId(touch.key as u32));
        let Some((table, index)) = history.table_and_index(key) else { return false };
        let touches = &self.story.touches;
        let first = touches.partition_point(|other| other.start < touch.start);
        let mut statement = touches[first..].iter().take_while(|other| other.start == touch.start);
        let is_told = history.asked(touch.event).statement != 0 && self.with_entries.contains(table);
        let is_entry_read = |other: &Touch| {
            let is_read = matches!(other.deed, Deed::Read { .. });
            is_read && other_index(self.story, KeyId(other.key as u32)) == Some(table)
        };
        index.is_some() || is_told && !statement.any(is_entry_read)
    }
}

/// The table of a key that is an entry of another index than the primary key's.
fn other_index<'h>(story: &Story<'h>, key: KeyId) -> Option<&'h str> {
    let (table, index) = story.history.table_and_index(key)?;
    index.filter(|&index| index != "pkey").map(|_| table)
}

fn is_insert(kind: StatementKind) -> bool {
    matches!(kind, StatementKind::Insert | StatementKind::Upsert)
}
