//! Reads of what others wrote: in which ways each can have come about.
//!
//! Nearly every read has one way: it returned the version of somebody, the latest at some moment. There are more when values repeat; and at
//! PostgreSQL's read committed a statement that looks for rows finds none when there was none as it started, or when the row was deleted while it
//! waited.
//!
//! ```text
//!   latest   C_w → N, and N before who overwrites it      N: the statement, the snapshot, or when the lock is held; FOR KEY SHARE at
//!                                                         read committed: the statement, and i′ before who deletes the row
//!   deleted  i → C_w → i′                                 w deleted the row for which the statement waited
//! ```
//!
//! PostgreSQL's repeatable read has reads that no event shows: after an own INSERT, the snapshot still has no row under the key. And InnoDB's read
//! committed keeps the lock of a row that does not qualify only if it had to wait for it: then there was somebody to wait for.

use super::holders::{Certainty, HolderId, Holders};
use super::looks::{Deed, EngineLook, Looks, Moment};
use crate::resolve::{INITIAL, PackedWriter, ReadFrom, Resolved};
use rustc_hash::{FxHashMap, FxHashSet};
use skew_history::{EngineLevel, KeyId, Outcome, StatementKind, TransactionId};

/// A way in which a read can have come about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReadWay {
    /// This one's version was the latest.
    Latest(PackedWriter),
    /// This one deleted the row that was waited for.
    Deleted(TransactionId),
    /// No read: a lock that was waited for was this one's.
    WaitedFor(HolderId),
}

/// A read of what others wrote.
#[derive(Clone, Debug)]
pub(super) struct EngineRead {
    pub(super) transaction: TransactionId,
    pub(super) key: KeyId,
    /// The look; nothing when no event shows the read.
    pub(super) look: Option<u32>,
    /// When it was of the latest version.
    pub(super) at: Moment,
    /// Whose lock keeps others from overwriting it.
    pub(super) holder: Option<HolderId>,
    ways: (u32, u32),
}

/// All reads of what others wrote.
pub(super) struct Reads {
    pub(super) all: Vec<EngineRead>,
    ways: Vec<ReadWay>,
}

impl Reads {
    pub(super) fn ways(&self, read: &EngineRead) -> &[ReadWay] {
        &self.ways[read.ways.0 as usize..read.ways.1 as usize]
    }
}

/// Which looks read what their own transaction wrote; to be known before anybody's locks are.
pub(super) fn own_reads(resolved: &Resolved<'_>, looks: &Looks) -> Vec<bool> {
    let mut is_own = Vec::with_capacity(looks.all.len());
    for transaction in resolved.transactions() {
        let mut external = resolved.reads(transaction).iter().map(|read| read.event).peekable();
        for look in looks.of(transaction) {
            let is_external = external.next_if_eq(&look.event).is_some();
            let is_gone = resolved.history.gone(look.event).is_some();
            is_own.push(!look.is_change() && !is_external && !is_gone);
        }
    }
    is_own
}

/// Finds the ways of all reads.
pub(super) struct Reader<'a, 'h> {
    pub(super) resolved: &'a Resolved<'h>,
    pub(super) levels: &'a [EngineLevel],
    pub(super) looks: &'a Looks,
    pub(super) holders: &'a Holders,
}

impl Reader<'_, '_> {
    pub(super) fn reads(&self) -> Reads {
        let mut reads = Reads { all: Vec::new(), ways: Vec::new() };
        let replacers = self.replacers();
        let mut number = 0;
        for transaction in self.resolved.transactions() {
            let mut external = self.resolved.reads(transaction).iter().peekable();
            for look in self.looks.of(transaction) {
                let from = external.next_if(|read| read.event == look.event);
                let by = self.resolved.history.gone(look.event);
                if from.is_some() || by.is_some() {
                    let start = reads.ways.len() as u32;
                    match from {
                        Some(read) => self.external(look, read, &replacers, &mut reads.ways),
                        None => reads.ways.extend(by.and_then(|by| self.deleted(look, by))),
                    }
                    let ways = (start, reads.ways.len() as u32);
                    let at = self.moment_of(look);
                    let holder = self.holders.of_look(number);
                    let EngineLook { key, .. } = *look;
                    reads.all.push(EngineRead { transaction, key, look: Some(number as u32), at, holder, ways });
                    self.waits(look, number as u32, holder, &mut reads);
                }
                number += 1;
            }
            self.beside_own_rows(transaction, &mut reads);
        }
        reads
    }

    /// The ways of a read of versions.
    fn external(
        &self,
        look: &EngineLook,
        read: &ReadFrom,
        replacers: &FxHashMap<KeyId, Vec<TransactionId>>,
        ways: &mut Vec<ReadWay>,
    ) {
        let only = read.writer();
        let candidates: &[PackedWriter] = match read.ambiguous() {
            Some(number) => &self.resolved.ambiguous[number].candidates,
            None => only.as_slice(),
        };
        let is_beside_own = self.is_after_own_change(look);
        if is_beside_own && !self.has_rows_beside(look.transaction, look.key) {
            return;
        }
        let Deed::Read { absent, passed, waited } = look.deed else { return };
        let at_read_committed = self.level(look) == EngineLevel::PostgresReadCommitted;
        let was_asked_again = at_read_committed && look.is_search() && passed && waited && !absent;
        ways.extend(
            candidates.iter().filter(|&&writer| !was_asked_again || writer != INITIAL).copied().map(ReadWay::Latest),
        );
        if absent && at_read_committed && look.is_search() {
            ways.extend(candidates.iter().filter_map(|writer| self.deleted(look, writer.transaction()?)));
            if self.resolved.history.claim(read.event).is_none() {
                let others = replacers.get(&look.key).map_or(&[][..], Vec::as_slice).iter();
                ways.extend(
                    others.filter(|&&other| other != look.transaction).filter_map(|&by| self.deleted(look, by)),
                );
            }
        }
    }

    /// A row that somebody deleted while it was waited for, if that can have been.
    fn deleted(&self, look: &EngineLook, by: TransactionId) -> Option<ReadWay> {
        let changes = self.holders.find(by, look.key)?.changes?;
        let can_wait = look.is_search() && self.level(look) == EngineLevel::PostgresReadCommitted;
        let can_be = can_wait && changes.deletes != Certainty::No;
        can_be.then_some(ReadWay::Deleted(by))
    }

    fn level(&self, look: &EngineLook) -> EngineLevel {
        self.levels[look.transaction.index()]
    }

    /// The transactions that delete a row and insert its key anew, per key.
    fn replacers(&self) -> FxHashMap<KeyId, Vec<TransactionId>> {
        let mut replacers: FxHashMap<KeyId, Vec<TransactionId>> = FxHashMap::default();
        let history = self.resolved.history;
        let may_be_read = |&one: &TransactionId| matches!(history.outcome(one), Outcome::Committed | Outcome::Unknown);
        for transaction in history.transactions().filter(may_be_read).filter(|&one| self.resolved.counts(one)) {
            let mut deleted: FxHashSet<KeyId> = FxHashSet::default();
            for event in history.events_of(transaction).iter().filter(|event| !event.is_read()) {
                if event.value.is_absent() {
                    deleted.insert(event.key);
                } else if deleted.remove(&event.key) {
                    replacers.entry(event.key).or_default().push(transaction);
                }
            }
        }
        replacers.values_mut().for_each(|them| them.dedup());
        replacers
    }

    /// When a read was of the latest version.
    fn moment_of(&self, look: &EngineLook) -> Moment {
        let Deed::Read { absent, passed, waited } = look.deed else { return look.moment };
        let is_plain = look.kind == StatementKind::Select;
        match self.level(look) {
            EngineLevel::PostgresReadCommitted => match look.is_search() {
                true if absent || passed && !waited || look.is_key_share_of_row() => look.start,
                true => look.held,
                false if is_plain => look.start,
                false => look.moment,
            },
            EngineLevel::PostgresRepeatableRead | EngineLevel::PostgresSerializable => {
                let finds_none = look.is_search() && (absent || passed);
                let is_key_share = matches!(look.kind, StatementKind::ForKeyShare | StatementKind::ForeignKey);
                let is_of_snapshot = is_plain || finds_none || is_key_share;
                if is_of_snapshot { self.looks.begin(look.transaction) } else { look.moment }
            }
            EngineLevel::MysqlReadCommitted if is_plain => look.start,
            EngineLevel::MysqlRepeatableRead | EngineLevel::MysqlSnapshotIsolation if is_plain => {
                self.looks.first_plain_read(look.transaction).unwrap_or(look.start)
            }
            EngineLevel::MysqlReadCommitted
            | EngineLevel::MysqlRepeatableRead
            | EngineLevel::MysqlSnapshotIsolation
            | EngineLevel::MysqlSerializable => look.moment,
        }
    }

    fn is_after_own_change(&self, look: &EngineLook) -> bool {
        let mine = self.looks.of(look.transaction);
        let is_list = self.resolved.lists.is_list(look.key);
        !is_list
            && mine.iter().take_while(|one| one.event < look.event).any(|one| one.is_change() && one.key == look.key)
    }

    /// Whether a transaction may have a row of its own beside that of its snapshot: its first change of the key is an INSERT.
    fn has_rows_beside(&self, transaction: TransactionId, key: KeyId) -> bool {
        let level = self.levels[transaction.index()];
        let is_repeatable = matches!(level, EngineLevel::PostgresRepeatableRead | EngineLevel::PostgresSerializable);
        let first = self.looks.of(transaction).iter().find(|look| look.is_change() && look.key == key);
        is_repeatable && first.is_some_and(|first| is_insert(first.kind) && !first.found_row)
    }

    /// After an own INSERT, PostgreSQL's repeatable read still looks at the snapshot: it has no row, unless it was returned, too.
    fn beside_own_rows(&self, transaction: TransactionId, reads: &mut Reads) {
        let level = self.levels[transaction.index()];
        if !matches!(level, EngineLevel::PostgresRepeatableRead | EngineLevel::PostgresSerializable) {
            return;
        }
        let mine = self.looks.of(transaction);
        let mut done: FxHashSet<KeyId> = FxHashSet::default();
        for (place, first) in mine.iter().enumerate().filter(|(_, look)| look.is_change()) {
            if !done.insert(first.key) || !is_insert(first.kind) || first.found_row {
                continue;
            }
            let later: Vec<&EngineLook> =
                mine[place..].iter().filter(|look| look.key == first.key && !is_insert(look.kind)).collect();
            let is_beside =
                |look: &&EngineLook| !look.is_change() && self.is_external(look) && self.is_after_own_change(look);
            let shown: Vec<Moment> = later.iter().copied().filter(is_beside).map(|look| look.start).collect();
            if later.iter().any(|look| !shown.contains(&look.start)) {
                let start = reads.ways.len() as u32;
                reads.ways.extend(self.absences(first.key, transaction));
                let (at, ways) = (self.looks.begin(transaction), (start, reads.ways.len() as u32));
                reads.all.push(EngineRead { transaction, key: first.key, look: None, at, holder: None, ways });
            }
        }
    }

    /// For whom InnoDB's read committed can have waited, if it says that it did.
    fn waits(&self, look: &EngineLook, number: u32, holder: Option<HolderId>, reads: &mut Reads) {
        let is_meant = matches!(look.deed, Deed::Read { passed: true, waited: true, .. })
            && self.level(look) == EngineLevel::MysqlReadCommitted;
        let Some(holder) = holder.filter(|_| is_meant) else { return };
        let start = reads.ways.len() as u32;
        let waiting = self.holders.get(holder);
        let others = self.holders.kept_on(look.key).iter().copied().filter(|&other| {
            let other = self.holders.get(other);
            other.transaction != look.transaction && waiting.first_conflict(other).is_some()
        });
        reads.ways.extend(others.map(ReadWay::WaitedFor));
        let ways = (start, reads.ways.len() as u32);
        let EngineLook { transaction, key, moment, .. } = *look;
        reads.all.push(EngineRead { transaction, key, look: Some(number), at: moment, holder: None, ways });
    }

    fn is_external(&self, look: &EngineLook) -> bool {
        let reads = self.resolved.reads(look.transaction);
        reads.binary_search_by_key(&look.event, |read| read.event).is_ok()
    }

    /// The versions of a key that are no row, but for those of one transaction.
    fn absences(&self, key: KeyId, but_for: TransactionId) -> Vec<ReadWay> {
        let initial = self.resolved.history.initial(key).is_absent().then_some(ReadWay::Latest(INITIAL));
        let holders = self.holders.kept_on(key).iter().map(|&holder| self.holders.get(holder));
        let leaving = holders
            .filter(|one| one.transaction != but_for && one.changes.is_some_and(|changes| changes.leaves_nothing));
        initial.into_iter().chain(leaving.map(|one| ReadWay::Latest(one.transaction.into()))).collect()
    }
}

fn is_insert(kind: StatementKind) -> bool {
    matches!(kind, StatementKind::Insert | StatementKind::Upsert)
}
