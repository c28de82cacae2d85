//! Rows as PostgreSQL keeps them: tuples that end by being replaced or deleted, and who may see which.
//!
//! ```text
//!   x:  life 0   tuple by init ──replaced by t1──> tuple by t1 ──deleted by t2
//!       life 1   tuple by t3                        an INSERT begins another life of the row
//! ```
//!
//! Whoever is about to write has its tuples here at once, so that others wait for it; they see them when they are *stamped* with the
//! number of its commit. Who rolls back leaves no trace. A tuple that ended before the oldest snapshot is dropped.

use rustc_hash::FxHashMap;
use skew_check::{GrowingId, Version};
use skew_history::KeyId;
use skew_sql::Row;

/// Who did something to a tuple, and with which commit: none while it is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    pub(super) version: Version,
    commit: Option<u64>,
}

impl Stamp {
    const INITIAL: Stamp = Stamp { version: Version::Initial, commit: Some(0) };

    pub(super) fn open(id: GrowingId) -> Stamp {
        Stamp { version: Version::Of(id), commit: None }
    }

    pub(super) fn is_open(&self) -> bool {
        self.commit.is_none()
    }
}

/// What a transaction sees: commits up to a number, and what it did itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TupleSight {
    pub(super) id: GrowingId,
    pub(super) commits: u64,
}

impl TupleSight {
    fn knows(&self, stamp: &Stamp) -> bool {
        stamp.version == Version::Of(self.id) || stamp.commit.is_some_and(|commit| commit <= self.commits)
    }
}

/// How a tuple ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TupleEnd {
    pub(super) by: Stamp,
    /// Whether it was the last of its life.
    pub(super) deletes: bool,
    /// The key under which it goes on, where an UPDATE gave the row another one.
    pub(super) moved: Option<KeyId>,
    /// The statement that ended it, of whoever did.
    statement: u32,
}

/// A version of a row.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tuple {
    pub(super) life: u32,
    pub(super) by: Stamp,
    pub(super) row: Row,
    pub(super) end: Option<TupleEnd>,
    /// Whether its place is taken, and it is not written yet.
    pub(super) claimed: bool,
    /// The statement that made it, of whoever did.
    made: u32,
}

impl Tuple {
    /// Whether the row was deleted with it, or is about to be.
    pub(super) fn is_deleted(&self) -> bool {
        self.end.is_some_and(|end| end.deletes)
    }
}

/// A commit that changed a key, and whether it left a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct TupleChange {
    by: GrowingId,
    commit: u64,
    left: bool,
}

/// All that there is under a key.
#[derive(Clone, Default, Debug)]
struct Chain {
    tuples: Vec<Tuple>,
    /// In the order of commits; those before the oldest snapshot are dropped, but for the last one.
    changes: Vec<TupleChange>,
    /// The life that the next INSERT begins.
    next_life: u32,
}

/// The tuples of all keys that somebody has written.
#[derive(Default, Debug)]
pub(super) struct TupleTable {
    chains: FxHashMap<KeyId, Chain>,
    /// Keys with something that nobody may see any more, when the oldest snapshot has moved on.
    litter: Vec<KeyId>,
}

impl TupleTable {
    /// A key that nobody has touched has its initial row.
    pub(super) fn meet(&mut self, key: KeyId, initial: Option<&Row>) {
        self.chains.entry(key).or_insert_with(|| {
            let first =
                |row: &Row| Tuple { life: 0, by: Stamp::INITIAL, row: row.clone(), end: None, claimed: false, made: 0 };
            Chain { tuples: initial.map(first).into_iter().collect(), changes: Vec::new(), next_life: 1 }
        });
    }

    pub(super) fn knows(&self, key: KeyId) -> bool {
        self.chains.contains_key(&key)
    }

    pub(super) fn of(&self, key: KeyId) -> &[Tuple] {
        self.chains.get(&key).map_or(&[], |chain| &chain.tuples)
    }

    /// The places of the tuples that a snapshot shows: at most one of others, and one of its own.
    pub(super) fn visible(&self, sight: TupleSight, key: KeyId) -> Vec<usize> {
        let there = |tuple: &Tuple| {
            !tuple.claimed && sight.knows(&tuple.by) && !tuple.end.is_some_and(|end| sight.knows(&end.by))
        };
        let numbered = self.of(key).iter().enumerate();
        numbered.filter(|(_, tuple)| there(tuple)).map(|(place, _)| place).collect()
    }

    /// Whose version it is that a snapshot shows no row.
    pub(super) fn absence(&self, sight: TupleSight, key: KeyId) -> Version {
        let known = |change: &&TupleChange| change.commit <= sight.commits;
        let changes = self.chains.get(&key).map_or(&[][..], |chain| &chain.changes);
        changes.iter().rev().find(known).map_or(Version::Initial, |change| Version::Of(change.by))
    }

    /// Whether who deleted a row has left another one under its key.
    pub(super) fn left_another(&self, key: KeyId, by: Version) -> bool {
        let changes = self.chains.get(&key).map_or(&[][..], |chain| &chain.changes);
        changes.iter().rev().find(|change| Version::Of(change.by) == by).is_some_and(|change| change.left)
    }

    /// The row as it stands, committed.
    pub(super) fn latest(&self, key: KeyId) -> Option<&Tuple> {
        let over = |end: &TupleEnd| !end.by.is_open();
        self.of(key)
            .iter()
            .rfind(|tuple| !tuple.claimed && !tuple.by.is_open() && !tuple.end.as_ref().is_some_and(over))
    }

    /// The last tuple, if the row is there or about to be.
    pub(super) fn standing(&self, key: KeyId) -> Option<&Tuple> {
        self.of(key).last().filter(|tuple| !tuple.is_deleted())
    }

    /// The last tuple of a life.
    pub(super) fn last_of(&self, key: KeyId, life: u32) -> Option<usize> {
        self.of(key).iter().rposition(|tuple| tuple.life == life)
    }

    /// Those who are about to change what is there.
    pub(super) fn pending(&self, key: KeyId) -> impl Iterator<Item = GrowingId> {
        let last = self.of(key).last();
        let stamps = last.into_iter().flat_map(|last| [Some(last.by), last.end.map(|end| end.by)]).flatten();
        stamps.filter(Stamp::is_open).filter_map(|stamp| match stamp.version {
            Version::Of(id) => Some(id),
            Version::Initial => None,
        })
    }
}

/// Writes.
impl TupleTable {
    /// A row is about to be inserted: the life that it will have.
    pub(super) fn claim(&mut self, key: KeyId, id: GrowingId, statement: u32) -> u32 {
        let chain = self.chains.entry(key).or_default();
        let life = chain.next_life;
        chain.next_life += 1;
        let (by, row) = (Stamp::open(id), Row::from([]));
        chain.tuples.push(Tuple { life, by, row, end: None, claimed: true, made: statement });
        life
    }

    /// A row that was to be inserted is not: another of its keys is taken. The keys that are free again, and the lives that they had.
    pub(super) fn give_up_claims(&mut self, keys: &[KeyId], id: GrowingId, statement: u32) -> Vec<(KeyId, u32)> {
        let is_own = |tuple: &Tuple| tuple.claimed && tuple.by == Stamp::open(id) && tuple.made == statement;
        let mut given_up = Vec::new();
        for &key in keys {
            let Some(chain) = self.chains.get_mut(&key) else { continue };
            given_up.extend(chain.tuples.extract_if(.., |tuple| is_own(tuple)).map(|tuple| (key, tuple.life)));
        }
        given_up
    }

    /// Writes under a key: where a place is taken, the row comes there; else what is there ends.
    pub(super) fn write(&mut self, key: KeyId, id: GrowingId, statement: u32, value: Option<Row>) {
        let chain = self.chains.entry(key).or_default();
        let last = chain.tuples.len().checked_sub(1).filter(|&last| !chain.tuples[last].is_deleted());
        match (last, value) {
            (Some(last), Some(row)) if chain.tuples[last].claimed => {
                (chain.tuples[last].row, chain.tuples[last].claimed) = (row, false);
            }
            (Some(last), value) => {
                let old = &mut chain.tuples[last];
                let deletes = value.is_none();
                old.end = Some(TupleEnd { by: Stamp::open(id), deletes, moved: None, statement });
                let life = old.life;
                let new = |row| Tuple { life, by: Stamp::open(id), row, end: None, claimed: false, made: statement };
                chain.tuples.extend(value.map(new));
            }
            (None, Some(row)) => {
                self.claim(key, id, statement);
                self.write(key, id, statement, Some(row));
            }
            (None, None) => {}
        }
    }

    /// A row that a transaction has just ended under one key goes on under another.
    pub(super) fn note_move(&mut self, from: KeyId, to: KeyId, id: GrowingId) {
        let tuples = self.chains.get_mut(&from).into_iter().flat_map(|chain| &mut chain.tuples);
        if let Some(end) = tuples.rev().find_map(|tuple| tuple.end.as_mut().filter(|end| end.by == Stamp::open(id))) {
            end.moved = Some(to);
        }
    }

    /// The transaction has committed: what it did to these keys is there for all who look later.
    pub(super) fn stamp(&mut self, keys: &[KeyId], id: GrowingId, commit: u64) {
        let stamped = |stamp: &mut Stamp| {
            if *stamp == Stamp::open(id) {
                stamp.commit = Some(commit);
            }
        };
        for &key in keys {
            let Some(chain) = self.chains.get_mut(&key) else { continue };
            chain.tuples.retain(|tuple| !(tuple.claimed && tuple.by == Stamp::open(id)));
            let mut has_changed = false;
            for tuple in &mut chain.tuples {
                has_changed |= tuple.by == Stamp::open(id) || tuple.end.is_some_and(|end| end.by == Stamp::open(id));
                stamped(&mut tuple.by);
                if let Some(end) = &mut tuple.end {
                    stamped(&mut end.by);
                }
            }
            if has_changed {
                let left = chain.tuples.last().is_some_and(|tuple| tuple.end.is_none());
                chain.changes.push(TupleChange { by: id, commit, left });
                self.litter.push(key);
            }
        }
    }

    /// As if what a transaction did to these keys behind a statement had never been: those of which nothing is left.
    pub(super) fn take_back(&mut self, keys: &[KeyId], id: GrowingId, since: u32) -> Vec<KeyId> {
        let mut empty = Vec::new();
        for &key in keys {
            let Some(chain) = self.chains.get_mut(&key) else { continue };
            chain.tuples.retain(|tuple| tuple.by != Stamp::open(id) || tuple.made <= since);
            for tuple in &mut chain.tuples {
                tuple.end = tuple.end.filter(|end| end.by != Stamp::open(id) || end.statement <= since);
            }
            if chain.tuples.is_empty() {
                empty.push(key);
            }
        }
        empty
    }

    /// Drops what nobody sees any more, where the oldest snapshot has this many commits. Keys of which nothing is left but a deletion are
    /// told, with who deleted them.
    pub(super) fn clean(&mut self, oldest: u64) -> Vec<(KeyId, GrowingId)> {
        let (mut left, mut gone) = (Vec::new(), Vec::new());
        let mut litter = std::mem::take(&mut self.litter);
        litter.sort_unstable();
        litter.dedup();
        for key in litter {
            let Some(chain) = self.chains.get_mut(&key) else { continue };
            let is_old = |commit: Option<u64>| commit.is_some_and(|commit| commit <= oldest);
            chain.tuples.retain(|tuple| !tuple.end.is_some_and(|end| is_old(end.by.commit)));
            let kept = chain.changes.iter().rposition(|change| change.commit <= oldest).unwrap_or(0);
            chain.changes.drain(..kept);
            match (&chain.tuples[..], &chain.changes[..]) {
                ([], [TupleChange { by, commit, left: false }]) if *commit <= oldest => {
                    gone.push((key, *by));
                }
                ([one], [change]) if one.end.is_none() && change.commit <= oldest => {}
                _ => left.push(key),
            }
        }
        self.litter = left;
        gone
    }

    /// How many tuples there are.
    pub(super) fn count(&self) -> usize {
        self.chains.values().map(|chain| chain.tuples.len()).sum()
    }
}
