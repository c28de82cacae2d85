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
use rustc_hash::{FxHashMap, FxHashSet};
use skew_history::{Action, Event, EventId, History, KeyId, Outcome, SessionId, TransactionId, Value, Writer};
use std::collections::BTreeMap;
use std::ops::Range;

/// A [`Writer`] in four bytes: there is one for every read. Transactions ascending, then the initial state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct PackedWriter(u32);

/// The writer of the initial versions.
pub(crate) const INITIAL: PackedWriter = PackedWriter(u32::MAX);
/// Writers from here on (below [`INITIAL`]) are numbers of ambiguous reads.
const AMBIGUOUS: u32 = 1 << 31;

impl PackedWriter {
    /// The transaction, unless it is the initial state.
    pub(crate) fn transaction(self) -> Option<TransactionId> {
        (self.0 < AMBIGUOUS).then_some(TransactionId(self.0))
    }
}

impl From<TransactionId> for PackedWriter {
    fn from(transaction: TransactionId) -> PackedWriter {
        PackedWriter(transaction.0)
    }
}

impl From<PackedWriter> for Writer {
    fn from(writer: PackedWriter) -> Writer {
        writer.transaction().map_or(Writer::Initial, Writer::Transaction)
    }
}

/// An external read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReadFrom {
    pub(crate) key: KeyId,
    /// Or a marker of an ambiguous read.
    writer: PackedWriter,
    pub(crate) event: EventId,
}

impl ReadFrom {
    /// A read of the first key's initial version: a value to fill vectors with.
    pub(crate) const INITIAL: ReadFrom = ReadFrom { key: KeyId(0), writer: INITIAL, event: EventId(0) };

    /// Who wrote what was read; nothing when the read is ambiguous.
    pub(crate) fn writer(&self) -> Option<PackedWriter> {
        (self.writer.0 < AMBIGUOUS || self.writer == INITIAL).then_some(self.writer)
    }

    /// The transaction that wrote what was read, when it is certain and not the initial state.
    pub(crate) fn transaction(&self) -> Option<TransactionId> {
        self.writer.transaction()
    }

    /// The number of the ambiguous read.
    pub(crate) fn ambiguous(&self) -> Option<usize> {
        (self.writer.0 >= AMBIGUOUS && self.writer != INITIAL).then(|| (self.writer.0 - AMBIGUOUS) as usize)
    }

    /// The same read with its writer chosen.
    pub(crate) fn chosen(self, writer: PackedWriter) -> ReadFrom {
        ReadFrom { writer, ..self }
    }
}

/// A read that several writers could explain.
#[derive(Clone, Debug)]
pub(crate) struct Ambiguous {
    pub(crate) event: EventId,
    pub(crate) reader: TransactionId,
    pub(crate) key: KeyId,
    /// Ascending.
    pub(crate) candidates: Vec<PackedWriter>,
}

/// Whether a reader may be in conflict with the axiom of read-committed or read-atomic. Most transactions are beyond suspicion,
/// which saves looking at the writes of everybody they read from.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Suspicion {
    /// A key that it read was also written by another transaction that it read from.
    pub(crate) by_read: bool,
    /// A key that it read was also written by an earlier transaction of its session.
    pub(crate) by_session: bool,
}

/// A history with its reads explained.
pub(crate) struct Resolved<'h> {
    pub(crate) history: &'h History,
    /// Per transaction whether it counts: committed, aborted by its own program (reads only), or unknown but read from.
    counts: Vec<bool>,
    read_starts: Vec<u32>,
    reads: Vec<ReadFrom>,
    write_starts: Vec<u32>,
    writes: Vec<KeyId>,
    writer_starts: Vec<u32>,
    writers: Vec<TransactionId>,
    pub(crate) ambiguous: Vec<Ambiguous>,
    /// Per transaction what read-committed and read-atomic need to look at.
    pub(crate) suspicions: Vec<Suspicion>,
    pub(crate) has_locking: bool,
    pub(crate) lists: ListKeys,
    /// Reads and their writers that are not to be had together.
    pub(crate) excluded: Vec<Vec<(EventId, PackedWriter)>>,
}

impl Resolved<'_> {
    pub(crate) fn transaction_count(&self) -> usize {
        self.counts.len()
    }

    /// All transactions, whether they count or not.
    pub(crate) fn transactions(&self) -> impl Iterator<Item = TransactionId> + Clone + use<> {
        self.history.transactions()
    }

    /// Whether a transaction counts.
    pub(crate) fn counts(&self, transaction: TransactionId) -> bool {
        self.counts[transaction.index()]
    }

    /// The external reads of a transaction, in program order.
    pub(crate) fn reads(&self, transaction: TransactionId) -> &[ReadFrom] {
        let at = transaction.index();
        &self.reads[self.read_starts[at] as usize..self.read_starts[at + 1] as usize]
    }

    /// The keys that a transaction wrote, in order of its first write of each.
    pub(crate) fn writes(&self, transaction: TransactionId) -> &[KeyId] {
        &self.writes[self.versions(transaction)]
    }

    /// The numbers of the versions that a transaction wrote; parallel to [`Resolved::writes`].
    pub(crate) fn versions(&self, transaction: TransactionId) -> Range<usize> {
        let at = transaction.index();
        self.write_starts[at] as usize..self.write_starts[at + 1] as usize
    }

    pub(crate) fn version_count(&self) -> usize {
        self.writes.len()
    }

    /// The version of a key by a transaction that wrote it.
    pub(crate) fn version(&self, transaction: TransactionId, key: KeyId) -> Option<usize> {
        let mut versions = self.versions(transaction);
        if versions.len() > SHORT {
            return self.writes[versions.clone()].binary_search(&key).ok().map(|place| versions.start + place);
        }
        versions.find(|&version| self.writes[version] == key)
    }

    /// The transactions that wrote a key, ascending: session by session, in session order.
    pub(crate) fn writers(&self, key: KeyId) -> &[TransactionId] {
        let at = key.index();
        &self.writers[self.writer_starts[at] as usize..self.writer_starts[at + 1] as usize]
    }

    pub(crate) fn is_locking(&self, read: &ReadFrom) -> bool {
        self.has_locking && self.history.event(read.event).locking
    }

    /// The session of a transaction.
    pub(crate) fn session(&self, transaction: TransactionId) -> SessionId {
        self.history.session_of(transaction)
    }

    /// The transaction before this one in its session.
    pub(crate) fn session_predecessor(&self, transaction: TransactionId) -> Option<TransactionId> {
        self.history.before_in_session(transaction).next_back()
    }
}

/// Why reads could not be explained.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unexplained {
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
    /// Whom external reads of registers have read from, whatever they returned: one of these, ascending.
    pub(crate) writers: BTreeMap<EventId, Vec<PackedWriter>>,
    /// Reads and their writers that are not to be had together.
    pub(crate) excluded: Vec<Vec<(EventId, PackedWriter)>>,
    /// Whether the question is what one server can show: who was refused held locks and read all the same, and there are reads that no paper knows.
    pub(crate) on_server: bool,
}

/// Explains the reads of `history`.
pub(crate) fn resolve<'h>(history: &'h History, assumed: &Assumed) -> Result<Resolved<'h>, Unexplained> {
    Resolver::new(history, assumed).run()
}

/// One write event of one key.
#[derive(Clone, Copy)]
struct WriteEvent {
    value: Value,
    transaction: TransactionId,
    /// The transaction wrote the key again later.
    overwritten: bool,
    /// The transaction committed, or may have.
    may_have_committed: bool,
}

/// An external read on its way to its writer.
#[derive(Clone, Copy)]
struct Lookup {
    transaction: TransactionId,
    read: EventId,
    event: Event,
    versions: (u32, u32),
}

/// Who wrote what was read, as far as the values say.
enum PossibleWriters {
    One(PackedWriter),
    Several(Vec<PackedWriter>),
}

/// So many reads are looked up together, so that the memory behind them is waited for once, not one by one.
const BATCH: usize = 512;
/// Transactions of at most this many events are searched one by one for their own writes.
const SHORT: usize = 32;

struct Resolver<'h, 'a> {
    history: &'h History,
    assumed: &'a Assumed,
    /// Per key where its versions begin, and the end.
    starts: Vec<u32>,
    /// The initial value, when all keys have the same: one look less for every read.
    initial: Option<Value>,
    /// All write events by key; of keys with many, sorted by value.
    written: Vec<WriteEvent>,
    lists: ListKeys,
    /// Some read found nothing because of somebody.
    has_gone: bool,
    counts: Vec<bool>,
    lookups: Vec<Lookup>,
    reads: Vec<ReadFrom>,
    suspicions: Vec<Suspicion>,
    ambiguous: Vec<Ambiguous>,
}

impl<'h, 'a> Resolver<'h, 'a> {
    fn new(history: &'h History, assumed: &'a Assumed) -> Self {
        let counts = history.transactions().map(|transaction| match history.outcome(transaction) {
            Outcome::Committed | Outcome::AbortedByProgram => true,
            Outcome::AbortedByDatabase => assumed.on_server,
            Outcome::Unknown => assumed.committed.get(&transaction) == Some(&true),
        });
        let counts = counts.collect();
        let (starts, written) = written_by_key(history, assumed);
        let mut initials = history.keys().map(|key| history.initial(key));
        let first = initials.next();
        let initial = first.filter(|&first| initials.all(|initial| initial == first));
        Resolver {
            history,
            assumed,
            starts,
            initial,
            written,
            lists: ListKeys::new(history),
            has_gone: !history.all_gone().is_empty(),
            counts,
            lookups: Vec::with_capacity(BATCH),
            reads: Vec::new(),
            suspicions: vec![Suspicion::default(); history.transaction_count()],
            ambiguous: Vec::new(),
        }
    }

    fn run(mut self) -> Result<Resolved<'h>, Unexplained> {
        self.count_unknown_outcomes()?;
        self.lists.settle(self.history, self.assumed, &self.counts)?;
        let transactions = self.history.transaction_count();
        let mut read_starts = Vec::with_capacity(transactions + 1);
        read_starts.push(0);
        for transaction in self.history.transactions() {
            if self.counts[transaction.index()] {
                self.collect(transaction)?;
            }
            read_starts.push((self.reads.len() + self.lookups.len()) as u32);
            if self.lookups.len() >= BATCH {
                self.look_up()?;
            }
        }
        self.look_up()?;
        let (writer_starts, writers) = self.writers_by_key();
        drop((self.written, self.starts));
        let (write_starts, writes) = visible_writes(self.history, &self.counts);
        let has_locking = self.history.features().locking_reads;
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
            suspicions: self.suspicions,
            has_locking,
            lists: self.lists,
            excluded: self.assumed.excluded.clone(),
        })
    }

    /// The least fixpoint: a transaction of unknown outcome counts when one that counts read from it.
    fn count_unknown_outcomes(&mut self) -> Result<(), Unexplained> {
        if !self.history.transactions().any(|transaction| self.history.outcome(transaction) == Outcome::Unknown) {
            return Ok(());
        }
        let mut pending: Vec<TransactionId> =
            self.history.transactions().filter(|transaction| self.counts[transaction.index()]).collect();
        while let Some(transaction) = pending.pop() {
            self.collect(transaction)?;
            self.look_up()?;
            for read in std::mem::take(&mut self.reads) {
                let found = if self.lists.is_list(read.key) {
                    self.lists.appenders(self.history, self.assumed, transaction, read.event)?
                } else {
                    Vec::from_iter(read.transaction())
                };
                for writer in found {
                    if !std::mem::replace(&mut self.counts[writer.index()], true) {
                        pending.push(writer);
                    }
                }
            }
        }
        // Candidates of ambiguous reads that still do not count make two cases; the caller tries both.
        for ambiguous in std::mem::take(&mut self.ambiguous) {
            for transaction in ambiguous.candidates.iter().filter_map(|candidate| candidate.transaction()) {
                if !self.counts[transaction.index()] && !self.assumed.committed.contains_key(&transaction) {
                    return Err(Unexplained::Undecided(transaction));
                }
            }
        }
        Ok(())
    }

    /// Notes the external reads of a transaction, and compares its internal ones with its own writes.
    fn collect(&mut self, transaction: TransactionId) -> Result<(), Unexplained> {
        let events = self.history.events_of(transaction);
        let first = self.history.event_range(transaction).start;
        let mut own_of_long: FxHashMap<KeyId, EventId> = FxHashMap::default();
        let is_long = events.len() > SHORT;
        for (place, event) in events.iter().enumerate() {
            let number = EventId(first + place as u32);
            if !event.is_read() {
                if is_long {
                    own_of_long.insert(event.key, number);
                }
                continue;
            }
            if self.assumed.on_server && self.history.gone(number).is_some() {
                continue;
            }
            let own = if is_long { own_of_long.get(&event.key).copied() } else { last_write(events, place, first) };
            match own.filter(|_| !self.is_beside_own(transaction, number)) {
                Some(own) if !self.lists.is_list(event.key) => self.internal_read(transaction, number, event, own)?,
                _ => {
                    let key = event.key.index();
                    let versions = (self.starts[key], self.starts[key + 1]);
                    self.lookups.push(Lookup { transaction, read: number, event: *event, versions });
                }
            }
        }
        Ok(())
    }

    /// Whether a read after an own write says that it is from somebody else: on a server the snapshot's row may be returned beside an own one.
    fn is_beside_own(&self, transaction: TransactionId, read: EventId) -> bool {
        let other = |claim: Writer| claim != Writer::Transaction(transaction);
        self.assumed.on_server && self.history.claim(read).is_some_and(other)
    }

    fn look_up(&mut self) -> Result<(), Unexplained> {
        let mut lookups = std::mem::take(&mut self.lookups);
        // Touching all versions first lets the processor wait for many of them at once: half the time on large histories.
        let ends = lookups.iter().flat_map(|lookup| [lookup.versions.0, lookup.versions.1.saturating_sub(1)]);
        let touched = ends.filter_map(|place| self.written.get(place as usize));
        std::hint::black_box(touched.fold(0, |sum, version| sum ^ version.transaction.0));
        for reads in lookups.chunk_by(|one, other| one.transaction == other.transaction) {
            let first = self.reads.len();
            for lookup in reads {
                if self.lists.is_list(lookup.event.key) {
                    self.list_read(lookup.transaction, lookup.read, lookup.event.key)?;
                } else {
                    self.external_read(lookup)?;
                }
            }
            let reader = reads[0].transaction;
            self.suspicions[reader.index()] = self.suspicion(reader, reads, first);
        }
        lookups.clear();
        self.lookups = lookups;
        Ok(())
    }

    /// Looks, while the versions of its keys are at hand, whether the weak levels could have anything to say about a reader.
    fn suspicion(&self, reader: TransactionId, lookups: &[Lookup], first: usize) -> Suspicion {
        let session = TransactionId(reader.0 - self.history.position_in_session(reader))..reader;
        let sources = Sources::of(&self.reads[first..]);
        let mut suspicion = Suspicion::default();
        for (lookup, read) in lookups.iter().zip(&self.reads[first..]) {
            let versions = &self.written[lookup.versions.0 as usize..lookup.versions.1 as usize];
            if versions.len() > FEW || read.ambiguous().is_some() || self.lists.is_list(lookup.event.key) {
                return Suspicion { by_read: true, by_session: true };
            }
            for other in versions.iter().map(|version| version.transaction).filter(|&other| read.writer != other.into())
            {
                suspicion.by_session |= session.contains(&other);
                suspicion.by_read |= sources.include(other.into());
            }
        }
        suspicion
    }

    /// Per key the transactions that count and wrote or appended to it, ascending.
    fn writers_by_key(&self) -> (Vec<u32>, Vec<TransactionId>) {
        let all_count = self.history.transactions().all(|transaction| self.writes_count(transaction));
        let mut starts = Vec::with_capacity(self.starts.len());
        let mut writers: Vec<TransactionId> = Vec::with_capacity(self.written.len());
        starts.push(0);
        for key in self.history.keys() {
            let mine = writers.len();
            let versions = &self.written[self.starts[key.index()] as usize..self.starts[key.index() + 1] as usize];
            let written = versions.iter().filter(|version| !version.overwritten).map(|version| version.transaction);
            let counts = |transaction: &TransactionId| all_count || self.writes_count(*transaction);
            writers.extend(written.filter(counts));
            if self.lists.is_list(key) {
                writers.extend(self.lists.appending(key).into_iter().filter(counts));
            }
            if versions.len() > FEW {
                writers[mine..].sort_unstable();
            }
            starts.push(writers.len() as u32);
        }
        (starts, writers)
    }

    /// Whether a transaction's writes are there for others.
    fn writes_count(&self, transaction: TransactionId) -> bool {
        writes_count(self.history, &self.counts, transaction)
    }

    fn internal_read(
        &self,
        transaction: TransactionId,
        read: EventId,
        event: &Event,
        own: EventId,
    ) -> Result<(), Unexplained> {
        let claim = self.history.claim(read);
        let agrees = claim.is_none_or(|claim| claim == Writer::Transaction(transaction));
        let own_value = self.history.event(own).value;
        let returns_it = own_value == event.value || event.value.is_found() && !own_value.is_absent();
        if agrees && returns_it && self.history.gone(read).is_none() {
            return Ok(());
        }
        Err(Unexplained::Bad(BadRead::Internal { read, own }))
    }

    /// A list shows nothing of others when it holds the reader's own elements only; then it read the initial list.
    fn list_read(&mut self, transaction: TransactionId, read: EventId, key: KeyId) -> Result<(), Unexplained> {
        let writer = self.lists.writer(self.history, self.assumed, transaction, read)?;
        self.reads.push(ReadFrom { key, writer: writer.map_or(INITIAL, PackedWriter::from), event: read });
        Ok(())
    }

    fn external_read(&mut self, lookup: &Lookup) -> Result<(), Unexplained> {
        let writer = match self.found(lookup)? {
            PossibleWriters::One(writer) => writer,
            PossibleWriters::Several(candidates) => self.remember_ambiguous(lookup, candidates),
        };
        self.reads.push(ReadFrom { key: lookup.event.key, writer, event: lookup.read });
        Ok(())
    }

    /// Whoever may have written what was read.
    fn found(&self, lookup: &Lookup) -> Result<PossibleWriters, Unexplained> {
        if let Some(assumed) = self.assumed.writers.get(&lookup.read) {
            return Ok(if let [only] = assumed[..] {
                PossibleWriters::One(only)
            } else {
                PossibleWriters::Several(assumed.clone())
            });
        }
        let value = lookup.event.value;
        let claim = self.history.claim(lookup.read);
        let initial = self.initial.unwrap_or_else(|| self.history.initial(lookup.event.key));
        let initial = self.history.may_return(value, initial) && claim.is_none_or(|claim| claim == Writer::Initial);
        let is_claimed = |version: &&WriteEvent| match claim {
            None => true,
            Some(Writer::Initial) => false,
            Some(Writer::Transaction(writer)) => version.transaction == writer,
        };
        if value.is_found() {
            return self.among(lookup, initial, self.versions_present(lookup.versions).filter(is_claimed));
        }
        if self.has_gone
            && let Some(by) = self.history.gone(lookup.read)
        {
            return Err(Unexplained::Bad(self.explain_gone(lookup, by)));
        }
        self.among(lookup, initial, self.versions_with(lookup.versions, value).filter(is_claimed))
    }

    /// Whoever may have written what was read, among versions that hold it.
    fn among<'v>(
        &self,
        lookup: &Lookup,
        initial: bool,
        versions: impl Iterator<Item = &'v WriteEvent> + Clone,
    ) -> Result<PossibleWriters, Unexplained> {
        let good = versions.clone().filter(|version| !version.overwritten && version.may_have_committed);
        let mut good = good.map(|version| PackedWriter::from(version.transaction));
        match (initial, good.next(), good.next()) {
            (true, None, _) => Ok(PossibleWriters::One(INITIAL)),
            (false, Some(only), None) => Ok(PossibleWriters::One(only)),
            (false, None, _) => Err(Unexplained::Bad(self.explain_bad(lookup.read, versions))),
            (_, first, second) => {
                let mut candidates: Vec<PackedWriter> = first.into_iter().chain(second).chain(good).collect();
                candidates.extend(initial.then_some(INITIAL));
                candidates.sort_unstable();
                candidates.dedup();
                // Reading one's own later write is a cycle of one; any other candidate is better.
                candidates.retain(|&candidate| candidate != lookup.transaction.into());
                Ok(if let [only] = candidates[..] {
                    PossibleWriters::One(only)
                } else {
                    PossibleWriters::Several(candidates)
                })
            }
        }
    }

    fn remember_ambiguous(&mut self, lookup: &Lookup, candidates: Vec<PackedWriter>) -> PackedWriter {
        let (reader, key) = (lookup.transaction, lookup.event.key);
        self.ambiguous.push(Ambiguous { event: lookup.read, reader, key, candidates });
        PackedWriter(AMBIGUOUS + self.ambiguous.len() as u32 - 1)
    }

    /// The versions of a key with a value: by looking at all when they are few, by bisection when they are sorted.
    fn versions_with(&self, (start, end): (u32, u32), value: Value) -> impl Iterator<Item = &WriteEvent> + Clone {
        let mut versions = &self.written[start as usize..end as usize];
        if versions.len() > FEW {
            let from = versions.partition_point(|version| version.value < value);
            let length = versions[from..].partition_point(|version| version.value == value);
            versions = &versions[from..from + length];
        }
        versions.iter().filter(move |version| version.value == value)
    }

    /// The versions of a key that are there, for whoever only found one.
    fn versions_present(&self, (start, end): (u32, u32)) -> impl Iterator<Item = &WriteEvent> + Clone {
        self.written[start as usize..end as usize].iter().filter(|version| !version.value.is_absent())
    }

    /// Whoever found nothing because a row was deleted and its key inserted anew saw what the other replaced itself.
    fn explain_gone(&self, lookup: &Lookup, by: TransactionId) -> BadRead {
        let (read, key) = (lookup.read, lookup.event.key);
        let is_deletion = |event: &Event| !event.is_read() && event.key == key && event.value.is_absent();
        let mut writes = self.history.numbered_events_of(by);
        let write = writes.find(|(_, event)| is_deletion(event)).map_or(read, |(number, _)| number);
        match self.history.outcome(by) {
            Outcome::Committed | Outcome::Unknown => BadRead::Intermediate { read, write },
            Outcome::AbortedByProgram | Outcome::AbortedByDatabase => BadRead::Aborted { read, write },
        }
    }

    fn explain_bad<'v>(&self, read: EventId, mut versions: impl Iterator<Item = &'v WriteEvent>) -> BadRead {
        let Some(version) = versions.next() else { return BadRead::ThinAir { read } };
        let transaction = version.transaction;
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

/// Keys with at most this many write events, and transactions with so many reads, are looked through unsorted.
const FEW: usize = 16;

/// Whom the reads of one transaction read from.
enum Sources<'r> {
    /// Looked through as they are: most transactions have a handful.
    Few(&'r [ReadFrom]),
    /// In order: a transaction that read a whole table would else look through all its reads for each of them.
    Many(Vec<PackedWriter>),
}

impl Sources<'_> {
    fn of(reads: &[ReadFrom]) -> Sources<'_> {
        if reads.len() <= FEW {
            return Sources::Few(reads);
        }
        let mut writers: Vec<PackedWriter> = reads.iter().map(|read| read.writer).collect();
        writers.sort_unstable();
        writers.dedup();
        Sources::Many(writers)
    }

    fn include(&self, writer: PackedWriter) -> bool {
        match self {
            Sources::Few(reads) => reads.iter().any(|read| read.writer == writer),
            Sources::Many(writers) => writers.binary_search(&writer).is_ok(),
        }
    }
}

/// The last write of the key of the read at `place`, before it.
fn last_write(events: &[Event], place: usize, first: u32) -> Option<EventId> {
    let key = events[place].key;
    let own = events[..place].iter().rposition(|event| event.key == key && !event.is_read())?;
    Some(EventId(first + own as u32))
}

/// All write events by key, in the order of transactions; of keys with many, by value.
fn written_by_key(history: &History, assumed: &Assumed) -> (Vec<u32>, Vec<WriteEvent>) {
    let mut starts = vec![0u32; history.key_count() + 1];
    for_each_write(history, |_, event| starts[event.key.index() + 1] += 1);
    for key in 1..starts.len() {
        starts[key] += starts[key - 1];
    }
    let first = TransactionId(0);
    let nothing =
        WriteEvent { value: Value::ABSENT, transaction: first, overwritten: false, may_have_committed: false };
    let mut written = vec![nothing; starts[starts.len() - 1] as usize];
    let (mut current, mut committed) = (None, false);
    // While filling, a key's start points behind what is filled; afterwards everything is shifted back by one.
    for_each_write(history, |transaction, event| {
        if current != Some(transaction) {
            (current, committed) = (Some(transaction), may_have_committed(history, assumed, transaction));
        }
        let at = &mut starts[event.key.index()];
        let version = WriteEvent { value: event.value, transaction, overwritten: false, may_have_committed: committed };
        written[*at as usize] = version;
        *at += 1;
    });
    for key in (1..starts.len()).rev() {
        starts[key] = starts[key - 1];
    }
    starts[0] = 0;
    for key in 0..history.key_count() {
        let versions = &mut written[starts[key] as usize..starts[key + 1] as usize];
        mark_overwritten(versions);
        if versions.len() > FEW {
            versions.sort_by_key(|version| (version.value, version.transaction));
        }
    }
    (starts, written)
}

/// A transaction's writes of one key are neighbours; all but the last are overwritten.
fn mark_overwritten(versions: &mut [WriteEvent]) {
    for place in 1..versions.len() {
        versions[place - 1].overwritten = versions[place - 1].transaction == versions[place].transaction;
    }
}

fn may_have_committed(history: &History, assumed: &Assumed, transaction: TransactionId) -> bool {
    match history.outcome(transaction) {
        Outcome::Committed => true,
        Outcome::Unknown => assumed.committed.get(&transaction) != Some(&false),
        Outcome::AbortedByProgram | Outcome::AbortedByDatabase => false,
    }
}

fn for_each_write(history: &History, mut visit: impl FnMut(TransactionId, &Event)) {
    for transaction in history.transactions() {
        for event in history.events_of(transaction).iter().filter(|event| event.action == Action::Write) {
            visit(transaction, event);
        }
    }
}

/// Whether a transaction's writes are there for others.
fn writes_count(history: &History, counts: &[bool], transaction: TransactionId) -> bool {
    counts[transaction.index()] && matches!(history.outcome(transaction), Outcome::Committed | Outcome::Unknown)
}

/// Per transaction that counts and may be read from, the keys it wrote.
fn visible_writes(history: &History, counts: &[bool]) -> (Vec<u32>, Vec<KeyId>) {
    let mut starts = Vec::with_capacity(counts.len() + 1);
    let mut writes: Vec<KeyId> = Vec::new();
    let mut seen: FxHashSet<KeyId> = FxHashSet::default();
    starts.push(0);
    for transaction in history.transactions() {
        let mine = writes.len();
        if writes_count(history, counts, transaction) {
            let events = history.events_of(transaction);
            seen.clear();
            for event in events.iter().filter(|event| !event.is_read()) {
                let new =
                    if events.len() > SHORT { seen.insert(event.key) } else { !writes[mine..].contains(&event.key) };
                writes.extend(new.then_some(event.key));
            }
        }
        // So that one of many is found quickly.
        if writes.len() - mine > SHORT {
            writes[mine..].sort_unstable();
        }
        starts.push(writes.len() as u32);
    }
    (starts, writes)
}
