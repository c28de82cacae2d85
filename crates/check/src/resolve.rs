//! Who wrote what was read, and which transactions count.
//!
//! ```text
//!   t1: w(x,1)      t2: r(x,1) w(x,2) r(x,2)      t3: w(x,3) !
//!          └────wr────┘        └─internal: agrees with t2's own write
//! ```
//!
//! The result, [`Resolved`], is what every algorithm of this crate works on: per transaction its external reads with their
//! writers and the keys it wrote last; per key its writers. A read that several writers could explain is kept as *ambiguous*, with
//! its candidates. What no choice can explain is a [`BadRead`], which violates every level.
//!
//! Matching a value to its writer needs no hash table: write events are sorted by key with a counting sort, and the few versions
//! of one key are searched by value.

use crate::anomaly::BadRead;
use crate::lists::ListKeys;
use skew_history::{Action, Event, EventId, History, KeyId, Outcome, TransactionId, Value, Writer};
use std::collections::BTreeMap;
use std::ops::Range;

/// The writer of an initial version, among transaction numbers.
pub(crate) const INITIAL: u32 = u32::MAX;
/// Writers from here on (below [`INITIAL`]) are numbers of ambiguous reads.
const AMBIGUOUS: u32 = 1 << 31;

/// The writer as the certificates name it.
pub(crate) fn writer_of(number: u32) -> Writer {
    if number == INITIAL { Writer::Initial } else { Writer::Transaction(TransactionId(number)) }
}

/// An external read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReadFrom {
    pub(crate) key: u32,
    /// A transaction, [`INITIAL`], or a marker of an ambiguous read.
    writer: u32,
    pub(crate) event: EventId,
}

impl ReadFrom {
    /// A read of the first key's initial version: a value to fill vectors with.
    pub(crate) const INITIAL: ReadFrom = ReadFrom { key: 0, writer: INITIAL, event: EventId(0) };

    /// The transaction that wrote what was read, or [`INITIAL`]; nothing when the read is ambiguous.
    pub(crate) fn writer(&self) -> Option<u32> {
        (self.writer < AMBIGUOUS || self.writer == INITIAL).then_some(self.writer)
    }

    /// The transaction that wrote what was read, when it is certain and not the initial state.
    pub(crate) fn transaction(&self) -> Option<u32> {
        (self.writer < AMBIGUOUS).then_some(self.writer)
    }

    /// The number of the ambiguous read.
    pub(crate) fn ambiguous(&self) -> Option<usize> {
        (self.writer >= AMBIGUOUS && self.writer != INITIAL).then(|| (self.writer - AMBIGUOUS) as usize)
    }

    /// The same read with its writer chosen.
    pub(crate) fn chosen(self, writer: u32) -> ReadFrom {
        ReadFrom { writer, ..self }
    }
}

/// A read that several writers could explain.
#[derive(Clone, Debug)]
pub(crate) struct Ambiguous {
    pub(crate) event: EventId,
    pub(crate) reader: u32,
    pub(crate) key: u32,
    /// Transactions or [`INITIAL`], ascending.
    pub(crate) candidates: Vec<u32>,
}

/// A history with its reads explained.
pub(crate) struct Resolved<'h> {
    pub(crate) history: &'h History,
    /// Per transaction whether it counts: committed, aborted by its own program (reads only), or unknown but read from.
    pub(crate) counts: Vec<bool>,
    read_starts: Vec<u32>,
    reads: Vec<ReadFrom>,
    write_starts: Vec<u32>,
    writes: Vec<u32>,
    writer_starts: Vec<u32>,
    writers: Vec<u32>,
    pub(crate) ambiguous: Vec<Ambiguous>,
    pub(crate) has_locking: bool,
    pub(crate) lists: ListKeys,
}

impl Resolved<'_> {
    pub(crate) fn transaction_count(&self) -> usize {
        self.counts.len()
    }

    /// The external reads of a transaction, in program order.
    pub(crate) fn reads(&self, transaction: u32) -> &[ReadFrom] {
        let at = transaction as usize;
        &self.reads[self.read_starts[at] as usize..self.read_starts[at + 1] as usize]
    }

    /// The keys that a transaction wrote, in order of its first write of each.
    pub(crate) fn writes(&self, transaction: u32) -> &[u32] {
        &self.writes[self.versions(transaction)]
    }

    /// The numbers of the versions that a transaction wrote; parallel to [`Resolved::writes`].
    pub(crate) fn versions(&self, transaction: u32) -> Range<usize> {
        let at = transaction as usize;
        self.write_starts[at] as usize..self.write_starts[at + 1] as usize
    }

    pub(crate) fn version_count(&self) -> usize {
        self.writes.len()
    }

    /// The version of a key by a transaction that wrote it.
    pub(crate) fn version(&self, transaction: u32, key: u32) -> Option<usize> {
        self.versions(transaction).find(|&version| self.writes[version] == key)
    }

    /// The transactions that wrote a key, ascending: session by session, in session order.
    pub(crate) fn writers(&self, key: u32) -> &[u32] {
        &self.writers[self.writer_starts[key as usize] as usize..self.writer_starts[key as usize + 1] as usize]
    }

    pub(crate) fn is_locking(&self, read: &ReadFrom) -> bool {
        self.has_locking && self.history.event(read.event).locking
    }

    /// The session of a transaction, as a number.
    pub(crate) fn session(&self, transaction: u32) -> u32 {
        self.history.session_of(TransactionId(transaction)).0
    }

    /// The transaction before this one in its session.
    pub(crate) fn session_predecessor(&self, transaction: u32) -> Option<u32> {
        (self.history.position_in_session(TransactionId(transaction)) > 0).then(|| transaction - 1)
    }
}

/// Why reads could not be explained.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// A read that violates every level.
    Bad(BadRead),
    /// The verdict depends on whether this transaction of unknown outcome committed.
    Undecided(TransactionId),
    /// The verdict depends on which of these appends an element is, first occurrence first.
    UndecidedElements(KeyId, Value, Vec<EventId>),
}

/// What is assumed where several things are possible and the search has no variable for it.
#[derive(Clone, Default, Debug)]
pub(crate) struct Assumed {
    /// Whether transactions of unknown outcome that only ambiguous reads may have read from have committed.
    pub(crate) committed: BTreeMap<TransactionId, bool>,
    /// Which appends the occurrences of an element are that was appended several times.
    pub(crate) elements: BTreeMap<(KeyId, Value), Vec<EventId>>,
}

/// Explains the reads of `history`.
pub(crate) fn resolve<'h>(history: &'h History, assumed: &Assumed) -> Result<Resolved<'h>, Failure> {
    Resolver::new(history, assumed).run()
}

/// One write event of one key.
#[derive(Clone, Copy)]
struct Written {
    value: Value,
    transaction: u32,
    /// Whether the transaction wrote the key again later.
    overwritten: bool,
}

struct Resolver<'h, 'a> {
    history: &'h History,
    assumed: &'a Assumed,
    /// All write events by key, each key's sorted by value.
    written_starts: Vec<u32>,
    written: Vec<Written>,
    lists: ListKeys,
    counts: Vec<bool>,
    /// Per key the last transaction that touched it and the event that last wrote it there.
    own: Vec<(u32, u32)>,
    reads: Vec<ReadFrom>,
    ambiguous: Vec<Ambiguous>,
}

const NOBODY: u32 = u32::MAX;

impl<'h, 'a> Resolver<'h, 'a> {
    fn new(history: &'h History, assumed: &'a Assumed) -> Self {
        let counts = history.transactions().map(|transaction| match history.outcome(transaction) {
            Outcome::Committed | Outcome::AbortedByProgram => true,
            Outcome::AbortedByDatabase => false,
            Outcome::Unknown => assumed.committed.get(&transaction) == Some(&true),
        });
        let counts = counts.collect();
        let (written_starts, written) = written_by_key(history);
        Resolver {
            history,
            assumed,
            written_starts,
            written,
            lists: ListKeys::new(history),
            counts,
            own: vec![(NOBODY, 0); history.key_count()],
            reads: Vec::new(),
            ambiguous: Vec::new(),
        }
    }

    fn run(mut self) -> Result<Resolved<'h>, Failure> {
        self.count_unknown_outcomes()?;
        self.lists.settle(self.history, self.assumed, &self.counts)?;
        let transactions = self.history.transaction_count();
        let mut read_starts = Vec::with_capacity(transactions + 1);
        read_starts.push(0);
        for transaction in self.history.transactions() {
            if self.counts[transaction.index()] {
                self.reads_of(transaction)?;
            }
            read_starts.push(self.reads.len() as u32);
        }
        drop((self.written, self.written_starts));
        let (write_starts, writes) = visible_writes(self.history, &self.counts, &mut self.own);
        drop(self.own);
        let (writer_starts, writers) = writers_by_key(self.history, &write_starts, &writes);
        let has_locking = self.history.transactions().any(|t| self.history.events_of(t).iter().any(|e| e.locking));
        Ok(Resolved {
            history: self.history,
            counts: self.counts,
            read_starts,
            reads: self.reads,
            write_starts,
            writes,
            writer_starts,
            writers,
            ambiguous: self.ambiguous,
            has_locking,
            lists: self.lists,
        })
    }

    /// The least fixpoint: a transaction of unknown outcome counts when one that counts read from it.
    fn count_unknown_outcomes(&mut self) -> Result<(), Failure> {
        if !self.history.transactions().any(|transaction| self.history.outcome(transaction) == Outcome::Unknown) {
            return Ok(());
        }
        let mut pending: Vec<TransactionId> =
            self.history.transactions().filter(|transaction| self.counts[transaction.index()]).collect();
        while let Some(transaction) = pending.pop() {
            self.reads_of(transaction)?;
            for read in std::mem::take(&mut self.reads) {
                let found = if self.lists.is_list(KeyId(read.key)) {
                    self.lists.appenders(self.history, self.assumed, transaction, read.event)?
                } else {
                    Vec::from_iter(read.transaction())
                };
                for writer in found {
                    if !std::mem::replace(&mut self.counts[writer as usize], true) {
                        pending.push(TransactionId(writer));
                    }
                }
            }
        }
        // Candidates of ambiguous reads that still do not count make two cases; the caller tries both.
        for ambiguous in std::mem::take(&mut self.ambiguous) {
            for &candidate in ambiguous.candidates.iter().filter(|&&candidate| candidate != INITIAL) {
                let transaction = TransactionId(candidate);
                if !self.counts[candidate as usize] && !self.assumed.committed.contains_key(&transaction) {
                    return Err(Failure::Undecided(transaction));
                }
            }
        }
        Ok(())
    }

    fn reads_of(&mut self, transaction: TransactionId) -> Result<(), Failure> {
        for (number, event) in self.history.numbered_events_of(transaction) {
            let own = self.own[event.key.index()];
            let own = (own.0 == transaction.0).then_some(EventId(own.1));
            match event.action {
                Action::Write | Action::Append => self.own[event.key.index()] = (transaction.0, number.0),
                Action::Read if self.lists.is_list(event.key) => self.list_read(transaction, number, event.key)?,
                Action::Read => match own {
                    Some(own) => self.internal_read(transaction, number, event, own)?,
                    None => self.external_read(transaction, number, event)?,
                },
            }
        }
        // The next transaction may not take these for its own; numbers differ, but a second pass over this one may come.
        for event in self.history.events_of(transaction).iter().filter(|event| !event.is_read()) {
            self.own[event.key.index()].0 = NOBODY;
        }
        Ok(())
    }

    fn internal_read(
        &self,
        transaction: TransactionId,
        read: EventId,
        event: &Event,
        own: EventId,
    ) -> Result<(), Failure> {
        let claim = self.history.claim(read);
        let agrees = claim.is_none_or(|claim| claim == Writer::Transaction(transaction));
        if agrees && self.history.event(own).value == event.value {
            return Ok(());
        }
        Err(Failure::Bad(BadRead::Internal { read, own }))
    }

    /// A list shows nothing of others when it holds the reader's own elements only; then it read the initial list.
    fn list_read(&mut self, transaction: TransactionId, read: EventId, key: KeyId) -> Result<(), Failure> {
        let writer = self.lists.writer(self.history, self.assumed, transaction, read)?;
        self.reads.push(ReadFrom { key: key.0, writer: writer.unwrap_or(INITIAL), event: read });
        Ok(())
    }

    fn external_read(&mut self, transaction: TransactionId, read: EventId, event: &Event) -> Result<(), Failure> {
        let claim = self.history.claim(read);
        let initial = self.history.same(self.history.initial(event.key), event.value)
            && claim.is_none_or(|claim| claim == Writer::Initial);
        let versions = self.versions_with(event.key, event.value);
        let claimed = |version: &&Written| match claim {
            None => true,
            Some(Writer::Initial) => false,
            Some(Writer::Transaction(writer)) => version.transaction == writer.0,
        };
        let mut good = versions.iter().filter(claimed).filter(|version| self.may_be_read(version));
        let writer = match (initial, good.next(), good.next()) {
            (true, None, _) => INITIAL,
            (false, Some(only), None) => only.transaction,
            (false, None, _) => return Err(Failure::Bad(self.explain_bad(read, versions.iter().filter(claimed)))),
            _ => {
                let good = versions.iter().filter(claimed).filter(|version| self.may_be_read(version));
                let mut candidates: Vec<u32> = good.map(|version| version.transaction).collect();
                candidates.extend(initial.then_some(INITIAL));
                candidates.sort_unstable();
                candidates.dedup();
                // Reading one's own later write is a circle of one; any other candidate is better.
                candidates.retain(|&candidate| candidate != transaction.0);
                match candidates[..] {
                    [only] => only,
                    _ => self.remember_ambiguous(transaction, read, event.key, candidates),
                }
            }
        };
        self.reads.push(ReadFrom { key: event.key.0, writer, event: read });
        Ok(())
    }

    fn remember_ambiguous(&mut self, reader: TransactionId, event: EventId, key: KeyId, candidates: Vec<u32>) -> u32 {
        self.ambiguous.push(Ambiguous { event, reader: reader.0, key: key.0, candidates });
        AMBIGUOUS + self.ambiguous.len() as u32 - 1
    }

    fn versions_with(&self, key: KeyId, value: Value) -> &[Written] {
        let range = self.written_starts[key.index()] as usize..self.written_starts[key.index() + 1] as usize;
        let versions = &self.written[range];
        if versions.len() <= 8 {
            let Some(from) = versions.iter().position(|version| version.value == value) else { return &[] };
            let length = versions[from..].iter().take_while(|version| version.value == value).count();
            return &versions[from..from + length];
        }
        let from = versions.partition_point(|version| version.value < value);
        let to = from + versions[from..].iter().take_while(|version| version.value == value).count();
        &versions[from..to]
    }

    fn may_be_read(&self, version: &Written) -> bool {
        let transaction = TransactionId(version.transaction);
        !version.overwritten
            && match self.history.outcome(transaction) {
                Outcome::Committed => true,
                Outcome::Unknown => self.assumed.committed.get(&transaction) != Some(&false),
                Outcome::AbortedByProgram | Outcome::AbortedByDatabase => false,
            }
    }

    fn explain_bad<'v>(&self, read: EventId, mut versions: impl Iterator<Item = &'v Written>) -> BadRead {
        let Some(version) = versions.next() else { return BadRead::ThinAir { read } };
        let transaction = TransactionId(version.transaction);
        let key = self.history.event(read).key;
        let same = |event: &Event| !event.is_read() && event.key == key && event.value == version.value;
        let mut writes = self.history.numbered_events_of(transaction);
        let write = writes.find(|(_, event)| same(event)).map_or(read, |(number, _)| number);
        match self.history.outcome(transaction) {
            Outcome::Committed | Outcome::Unknown if version.overwritten => BadRead::Intermediate { read, write },
            _ => BadRead::Aborted { read, write },
        }
    }
}

/// All write events, by key and then by value; ties by transaction.
fn written_by_key(history: &History) -> (Vec<u32>, Vec<Written>) {
    let mut starts = vec![0u32; history.key_count() + 1];
    for_each_write(history, |_, event| starts[event.key.index() + 1] += 1);
    for key in 1..starts.len() {
        starts[key] += starts[key - 1];
    }
    let absent = Written { value: Value::ABSENT, transaction: NOBODY, overwritten: false };
    let mut written = vec![absent; starts.last().copied().unwrap_or(0) as usize];
    let mut next = starts.clone();
    for_each_write(history, |transaction, event| {
        let at = &mut next[event.key.index()];
        // Transactions come in ascending order, so an earlier write of the same one is right before.
        if *at > starts[event.key.index()] && written[*at as usize - 1].transaction == transaction {
            written[*at as usize - 1].overwritten = true;
        }
        written[*at as usize] = Written { value: event.value, transaction, overwritten: false };
        *at += 1;
    });
    for key in 0..history.key_count() {
        let versions = &mut written[starts[key] as usize..starts[key + 1] as usize];
        if !versions.is_sorted_by_key(|version| version.value) {
            versions.sort_by_key(|version| (version.value, version.transaction));
        }
    }
    (starts, written)
}

fn for_each_write(history: &History, mut visit: impl FnMut(u32, &Event)) {
    for transaction in history.transactions() {
        for event in history.events_of(transaction).iter().filter(|event| event.action == Action::Write) {
            visit(transaction.0, event);
        }
    }
}

/// Per transaction that counts and may be read from, the keys it wrote.
fn visible_writes(history: &History, counts: &[bool], own: &mut [(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
    own.fill((NOBODY, 0));
    let mut starts = Vec::with_capacity(counts.len() + 1);
    let mut writes = Vec::new();
    starts.push(0);
    for transaction in history.transactions() {
        if counts[transaction.index()] && history.outcome(transaction) != Outcome::AbortedByProgram {
            for event in history.events_of(transaction).iter().filter(|event| !event.is_read()) {
                let seen = &mut own[event.key.index()].0;
                if *seen != transaction.0 {
                    *seen = transaction.0;
                    writes.push(event.key.0);
                }
            }
        }
        starts.push(writes.len() as u32);
    }
    (starts, writes)
}

fn writers_by_key(history: &History, write_starts: &[u32], writes: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; history.key_count() + 1];
    for &key in writes {
        starts[key as usize + 1] += 1;
    }
    for key in 1..starts.len() {
        starts[key] += starts[key - 1];
    }
    let mut writers = vec![0; writes.len()];
    let mut next = starts.clone();
    for transaction in 0..write_starts.len() - 1 {
        for &key in &writes[write_starts[transaction] as usize..write_starts[transaction + 1] as usize] {
            writers[next[key as usize] as usize] = transaction as u32;
            next[key as usize] += 1;
        }
    }
    (starts, writers)
}
