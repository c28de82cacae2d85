//! Some other run: the same history, but for reads that returned other versions.
//!
//! [`check`](crate::check()) asks whether what was observed is allowed. A tool that looks for what *could* have been observed asks which other
//! writers its reads may have had, and this is where it asks:
//!
//! ```text
//!   observed, one after the other        a: r(x,init) r(y,init) w(x,1)        b: r(x,1) r(y,init) w(y,2)
//!
//!   b may read x from a or init; causal?      yes: from a       ── is that serializable?  yes: exclude it, ask again
//!                                             yes: from init    ── is that serializable?  no: a write skew, from a run that was well
//! ```
//!
//! A read that is freed has a variable for every writer that it may have, in the same search, with the same rules, that decides
//! about equal values: so all levels can be asked, and a search with many freed reads costs what one with so many ambiguous values
//! costs. What a run leaves out (a session that is cut) the caller takes out of the history, with [`History::restrict`]. Which cuts
//! and changes to try is for the caller to say; [`crate::Formula`] solves what it says about that.
//!
//! An answer has no certificate that `certify` could look at, because it is about values that nobody read. Whoever shows such a run
//! writes it down as a history with the values that go with it, and checks that.

use crate::anomaly::BadRead;
use crate::budget::Budget;
use crate::commit_order::{CommitOrder, Instant};
use crate::resolve::{Assumed, INITIAL, PackedWriter, Unexplained, resolve};
use crate::split::decide_assuming;
use crate::verdict::Verdict;
use skew_history::{Action, EventId, History, IsolationLevel, KeyId, Outcome, TransactionId, Value, Writer};
use std::collections::BTreeMap;
use std::fmt;

/// A history some of whose reads may have returned something else.
#[derive(Clone, Debug)]
pub struct OtherRun<'h> {
    history: &'h History,
    assumed: Assumed,
}

/// What was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SomeRun {
    /// Such a run: an order that the level allows, and in its choices who wrote what the freed reads returned. Reads that may have one
    /// writer only are not among them.
    Found(CommitOrder),
    /// There is none.
    Nothing,
    /// The budget ended first.
    Unknown,
}

/// A read cannot have returned the version of this writer: it is not a read of a register that others wrote, or the writer left no
/// version of its key for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoVersion {
    /// The event.
    pub read: EventId,
    /// The writer.
    pub writer: Writer,
}

impl fmt::Display for NoVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoVersion { read, writer } = self;
        write!(out, "event {} cannot have read from {writer:?}; see `OtherRun::writers`", read.0)
    }
}

impl std::error::Error for NoVersion {}

/// An external read, and who may have written what it returned: several where values are equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalRead {
    /// The event.
    pub read: EventId,
    /// The writers.
    pub writers: Vec<Writer>,
}

impl<'h> OtherRun<'h> {
    /// The run that was observed.
    pub fn new(history: &'h History) -> OtherRun<'h> {
        OtherRun { history, assumed: Assumed::default() }
    }

    /// The run that was observed, as an order explains it: which transactions of unknown outcome have committed, and which append an element
    /// is that was appended several times.
    pub fn explained(history: &'h History, order: &CommitOrder) -> OtherRun<'h> {
        let mut places: Vec<Option<usize>> = vec![None; history.transaction_count()];
        for (place, instant) in order.instants.iter().enumerate() {
            if let Instant::Commit(transaction) = *instant {
                places[transaction.index()] = Some(place);
            }
        }
        let unknown = history.transactions().filter(|&other| history.outcome(other) == Outcome::Unknown);
        let committed = unknown.map(|other| (other, places[other.index()].is_some())).collect();
        let mut elements: BTreeMap<(KeyId, Value), Vec<EventId>> = BTreeMap::new();
        for transaction in history.transactions().filter(|other| places[other.index()].is_some()) {
            let appends = history.numbered_events_of(transaction).filter(|(_, event)| event.action == Action::Append);
            appends.for_each(|(number, event)| elements.entry((event.key, event.value)).or_default().push(number));
        }
        let place = |append: &EventId| (places[history.transaction_of(*append).index()], *append);
        elements.values_mut().for_each(|appends| appends.sort_by_key(place));
        OtherRun { history, assumed: Assumed { committed, elements, ..Assumed::default() } }
    }

    /// The reads that are not of own writes, with their writers, in the order of events; a read that violates every level instead, if
    /// there is one. Where it is open which transactions count (`None`), so is whose reads these are.
    pub fn reads(&self) -> Result<Option<Vec<ExternalRead>>, BadRead> {
        let resolved = match resolve(self.history, &self.assumed) {
            Ok(resolved) => resolved,
            Err(Unexplained::Bad(bad)) => return Err(bad),
            Err(Unexplained::Undecided(_) | Unexplained::UndecidedElements(..)) => return Ok(None),
        };
        let all = resolved.transactions().flat_map(|transaction| resolved.reads(transaction));
        let external = all.map(|read| {
            let several = || read.ambiguous().map_or(&[][..], |number| &resolved.ambiguous[number].candidates);
            let writers = read.writer().map_or_else(|| several().to_vec(), |writer| vec![writer]);
            ExternalRead { read: read.event, writers: writers.into_iter().map(Writer::from).collect() }
        });
        Ok(Some(external.collect()))
    }

    /// Everybody whose version a read could have returned: the initial state, and whoever else committed, or may have, a version of
    /// its key. Nobody, if it is a read of an own write or of a list.
    pub fn writers(&self, read: EventId) -> Vec<Writer> {
        let is_read = read.index() < self.history.event_count() && self.history.event(read).is_read();
        let reader = is_read.then(|| self.history.transaction_of(read));
        let Some(reader) = reader.filter(|&reader| self.is_of_others(reader, read)) else { return Vec::new() };
        let others = self.history.transactions().filter(|&other| other != reader && self.leaves_version(other, read));
        std::iter::once(Writer::Initial).chain(others.map(Writer::Transaction)).collect()
    }

    /// Whether a read is of a register that its own transaction had not written.
    fn is_of_others(&self, reader: TransactionId, read: EventId) -> bool {
        let key = self.history.event(read).key;
        let all = self.history.transactions().flat_map(|transaction| self.history.events_of(transaction));
        let mut before = self.history.numbered_events_of(reader).take_while(|(number, _)| *number < read);
        let is_list = self.history.event(read).value.is_list() || self.history.initial(key).is_list();
        let appended = || all.filter(|event| event.key == key).any(|event| event.action == Action::Append);
        !is_list && !appended() && !before.any(|(_, event)| event.key == key && !event.is_read())
    }

    fn leaves_version(&self, writer: TransactionId, read: EventId) -> bool {
        let key = self.history.event(read).key;
        let may_commit = matches!(self.history.outcome(writer), Outcome::Committed | Outcome::Unknown);
        may_commit && self.history.events_of(writer).iter().any(|event| event.key == key && !event.is_read())
    }

    /// Lets a read have one of these writers, whatever it returned; a single one: it has this one.
    pub fn may_read(&mut self, read: EventId, writers: &[Writer]) -> Result<(), NoVersion> {
        let possible = self.writers(read);
        let first = writers.first().copied().unwrap_or(Writer::Initial);
        let strangers = writers.iter().copied().filter(|writer| !possible.contains(writer));
        if let Some(writer) = strangers.chain(writers.is_empty().then_some(first)).next() {
            return Err(NoVersion { read, writer });
        }
        let mut packed: Vec<PackedWriter> = writers.iter().map(|&writer| pack(writer)).collect();
        packed.sort_unstable();
        packed.dedup();
        self.assumed.writers.insert(read, packed);
        Ok(())
    }

    /// Excludes the runs in which all of these reads have these writers.
    pub fn exclude(&mut self, together: &[(EventId, Writer)]) {
        self.assumed.excluded.push(together.iter().map(|&(read, writer)| (read, pack(writer))).collect());
    }

    /// A run that `level` allows, doing at most `budget` work.
    pub fn find(&self, level: IsolationLevel, budget: Budget<'_>) -> SomeRun {
        match decide_assuming(self.history, level, self.assumed.clone(), budget) {
            Verdict::Holds(order) => SomeRun::Found(order),
            Verdict::Fails(_) => SomeRun::Nothing,
            Verdict::Unknown(_) => SomeRun::Unknown,
        }
    }
}

fn pack(writer: Writer) -> PackedWriter {
    match writer {
        Writer::Initial => INITIAL,
        Writer::Transaction(transaction) => transaction.into(),
    }
}
