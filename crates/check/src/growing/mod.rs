//! A history that grows one event at a time: which versions may the next read return?
//!
//! The mock database asks this. (The explorer goes from one small history to many others and has sets of bits of its own for it.)
//! Transactions of many sessions are open at once; each reads committed versions only; which of them is up to the caller, as long as
//! the level allows it:
//!
//! ```text
//!   begin(a)  begin(b)  write(a, x)  commit(a)      choices(b, x)  →  [the initial version, a's]
//!                                    read(b, x, initial)  choices(b, x)  →  at read-committed both, from read-atomic up the initial one
//! ```
//!
//! What every answer is checked against is the history `I`: the committed transactions, and the reads of those that their programs rolled
//! back and, so far, of all pending ones, without their writes. A version may be returned when `I` with that read satisfies the levels.
//! One always exists, unless the transaction is doomed. At read-committed to prefix a commit can always come last, so it is not refused
//! where writers hold the locks that locking reads ask for; at psi, snapshot and serializable it may be refused, and so may every read
//! and write before it, as soon as no commit order would allow the transaction with its writes so far.
//!
//! | module | holds |
//! |---|---|
//! | `node` | transactions and keys |
//! | `writes` | the keys that a transaction wrote, and whom it meets by them |
//! | `draft` | what follows from one more read or writer |
//! | `order` | what is known of the commit order, and the search for what is open |
//! | `last` | how it may have ended |
//! | `sealing` | forgetting what lies beyond the horizon |
//! | `pinning` | transactions that stay open while the past is sealed |
//!
//! The cost of a question grows with the transactions that are kept (within the horizon, where there is one), with the versions of the key
//! and with what the transaction itself has read and written, not with the history. The
//! oracle is `spec` on the history `I` itself (`tests/growing.rs`).

mod bits;
mod draft;
mod last;
mod node;
mod order;
mod pinning;
mod sealing;
mod writes;

use crate::levels::{Rule, Sight, row, rule};
use bits::Bits;
use draft::Candidate;
use node::{Node, Nodes, Point, Read, Slot, Source, State};
use order::{Knowledge, Search};
use rustc_hash::FxHashMap;
use skew_history::{IsolationLevel, KeyId, SessionId};
use writes::{Meeting, Writes};

/// A transaction that has begun, in the order of begins. Numbers are never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GrowingId(pub u32);

/// A version of a key: who wrote it. Of several writes of one transaction only the last is ever seen by others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Version {
    /// The initial state.
    Initial,
    /// The version that a transaction wrote, sealed or not.
    Of(GrowingId),
}

/// How writes of one row by several transactions are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Updates {
    /// Writers hold the row's lock until they end: versions of a row are ordered as their writers commit.
    #[default]
    Atomic,
    /// The papers' semantics: nothing but the level orders versions.
    Plain,
}

/// The transaction cannot go on: no commit order would allow it. The caller aborts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused;

/// How a history grows.
#[derive(Clone, Copy, Debug)]
pub struct GrowingOptions {
    /// How writes of one row are ordered.
    pub updates: Updates,
    /// After how many commits, or how many roll-backs by programs, the past is sealed; never, if there is none.
    pub horizon: Option<usize>,
    /// Whether read-committed is the axiom alone: else a session also sees its own commits.
    pub bare: bool,
    /// How many orders are guessed per question before the last valid one answers.
    pub budget: u64,
}

impl Default for GrowingOptions {
    fn default() -> GrowingOptions {
        GrowingOptions { updates: Updates::Atomic, horizon: Some(64), bare: false, budget: 500 }
    }
}

/// How far a transaction was: see [`GrowingHistory::back_to`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    reads: usize,
    writes: usize,
}

/// A history that grows. A transaction is named by what [`GrowingHistory::begin`] returned, until it has ended.
///
/// # Panics
///
/// All methods that take a transaction panic if it never began or has ended: that is the caller's mistake, never the input's.
#[derive(Clone, Debug, Default)]
pub struct GrowingHistory {
    options: GrowingOptions,
    nodes: Nodes,
    /// What is known of the order of `I`.
    knowledge: Knowledge,
    /// An order that justifies `I`; none while nothing is open, when every order that agrees with what is known does.
    witness: Option<Vec<Point>>,
    /// The last transaction of each session that counts.
    last_of_session: FxHashMap<SessionId, Slot>,
    /// What the transactions of a session must see, because it was committed when the session connected.
    connected: FxHashMap<SessionId, Bits>,
    /// What every transaction that begins from now on must see.
    settled: Bits,
    /// Frozen transactions in their order.
    frozen: Vec<Slot>,
    /// Commits since the last freeze.
    commits: usize,
    /// Roll-backs by programs since the last freeze: their reads count, so they are kept as long.
    rollbacks: usize,
    next_id: u32,
    /// What all transactions are held to, where that rule mixes with no other.
    alone: Option<&'static Rule>,
    dropped: Vec<(KeyId, Version)>,
}

/// A read that was found to be allowed.
struct Accepted {
    /// What is known with it, unless that is what was known before.
    knowledge: Option<Knowledge>,
    edges: Vec<order::Edge>,
    witness: Option<Vec<Point>>,
}

impl GrowingHistory {
    /// An empty one.
    pub fn new(options: GrowingOptions) -> GrowingHistory {
        GrowingHistory { options, ..GrowingHistory::default() }
    }

    /// Begins a transaction, after the last one of its session that counts.
    ///
    /// psi is for all transactions or for none: the first one decides. In a history at psi all are at psi; in any other, psi is snapshot.
    pub fn begin(&mut self, session: SessionId, level: IsolationLevel) -> GrowingId {
        if self.next_id == 0 {
            self.alone = Some(rule(level)).filter(|rule| !rule.mixes());
        }
        let level = row(level).by_way_of.filter(|_| !rule(level).mixes()).unwrap_or(level);
        let rule = self.alone.unwrap_or(rule(level));
        let id = GrowingId(self.next_id);
        self.next_id += 1;
        let mut session_past = self.settled.clone();
        let last = self.last_of_session.get(&session).copied();
        if let Some(last) = last {
            session_past.add(&self.nodes.node(last).session_past);
            session_past.insert(last);
        }
        if let Some(seen) = self.connected.get(&session) {
            session_past.add(seen);
        }
        let granted = if self.options.bare { self.settled.clone() } else { session_past.clone() };
        self.add_node(id, session, rule, session_past, granted);
        id
    }

    fn add_node(&mut self, id: GrowingId, session: SessionId, rule: &'static Rule, past: Bits, granted: Bits) {
        let slot = Slot::new(self.nodes.nodes.len());
        let plain_past = self.nodes.causal_past_of(past.iter());
        let mut node = Node {
            id,
            session,
            rule,
            state: State::Pending,
            reads: Vec::new(),
            late_reads: 0,
            writes: Writes::default(),
            edges: Vec::new(),
            session_past: past,
            granted,
            plain_writers: Bits::default(),
            full_past: plain_past.clone(),
            plain_past,
            exempt: false,
            pinned: None,
            frozen: false,
            doomed: false,
        };
        let start = node.start(slot);
        node.edges.extend(node.own_edge(slot));
        node.edges.extend(node.session_past.iter().map(|earlier| (earlier.commit(), start)));
        node.edges.extend(self.frozen.last().map(|&last| (last.commit(), start)));
        self.knowledge.grow(slot.commit().index() + 1);
        for &edge in &node.edges {
            let fits = self.knowledge.insert(edge);
            debug_assert!(fits, "nothing comes after a transaction that begins");
        }
        if let Some(witness) = &mut self.witness {
            witness.extend([slot.begin(), slot.commit()]);
        }
        self.nodes.slots.insert(id, slot);
        self.nodes.nodes.push(node);
    }

    fn slot(&self, transaction: GrowingId) -> Slot {
        let slot = self.nodes.slots.get(&transaction);
        let slot = *slot.unwrap_or_else(|| panic!("transaction {} has ended", transaction.0));
        assert!(self.nodes.node(slot).state == State::Pending, "transaction {} has ended", transaction.0);
        slot
    }

    /// A client connects: what is committed now is seen by the transactions of its session that begin from now on.
    pub fn connect(&mut self, session: SessionId) {
        let committed = self.committed();
        self.connected.entry(session).or_default().add(&committed);
    }

    /// Everything that is committed now is seen by all that begins from now on; at read-committed by all later reads too.
    pub fn settle(&mut self) {
        self.settled = self.committed();
        for node in &mut self.nodes.nodes {
            if node.state == State::Pending && node.rule.sight() == Some(Sight::EarlierReads) {
                node.granted.add(&self.settled);
            }
        }
    }

    fn committed(&self) -> Bits {
        let nodes = self.nodes.nodes.iter().enumerate();
        nodes.filter(|(_, node)| node.state == State::Committed).map(|(slot, _)| Slot::new(slot)).collect()
    }

    /// The versions of a key that a transaction might read before its level is asked, oldest first.
    pub fn versions(&self, transaction: GrowingId, key: KeyId) -> Vec<Version> {
        let slot = self.slot(transaction);
        self.sources(slot, key).into_iter().map(|source| self.version_for(slot, key, source)).collect()
    }

    fn sources(&self, slot: Slot, key: KeyId) -> Vec<Source> {
        if let Some(pinned) = self.pinned_source(slot, key) {
            return vec![pinned];
        }
        let Some(row) = self.nodes.rows.get(&key) else { return vec![Source::Base] };
        let exempt = self.nodes.node(slot).exempt;
        let visible = |&&writer: &&Slot| exempt || !self.nodes.node(writer).frozen || row.floor == Some(writer);
        let base = (exempt || row.floor.is_none()).then_some(Source::Base);
        base.into_iter().chain(row.writers.iter().filter(visible).map(|&writer| Source::Node(writer))).collect()
    }

    /// The version of a key that was committed last.
    pub fn latest(&self, key: KeyId) -> Version {
        let last = self.nodes.writers(key).last();
        self.nodes.version(key, last.map_or(Source::Base, |&last| Source::Node(last)))
    }

    /// The versions that the next read of a key may return, oldest first; never empty. A locking read returns the latest.
    pub fn choices(&mut self, transaction: GrowingId, key: KeyId, locking: bool) -> Vec<Version> {
        if locking {
            return vec![self.latest(key)];
        }
        let slot = self.slot(transaction);
        self.nodes.collect_meetings(slot);
        let sources = self.sources(slot, key);
        for with_writes in [true, false] {
            let allowed = |source: &&Source| {
                let candidate = Candidate { reader: slot, key, source: **source, locking };
                self.accept(candidate, with_writes, None).is_some()
            };
            let allowed: Vec<Source> = sources.iter().filter(allowed).copied().collect();
            if !allowed.is_empty() {
                return allowed.into_iter().map(|source| self.version_for(slot, key, source)).collect();
            }
        }
        debug_assert!(
            self.nodes.node(slot).doomed,
            "the order that justifies what there is lets every transaction go on"
        );
        self.versions(transaction, key)
    }

    /// Whether the next read of a key may return a version.
    pub fn allows(&mut self, transaction: GrowingId, key: KeyId, version: Version, locking: bool) -> bool {
        self.allowed(transaction, key, version, locking, None)
    }

    /// The same for a transaction that is about to write the key as well.
    pub fn allows_update(&mut self, transaction: GrowingId, key: KeyId, version: Version, locking: bool) -> bool {
        self.allowed(transaction, key, version, locking, Some(key))
    }

    fn allowed(
        &mut self,
        transaction: GrowingId,
        key: KeyId,
        version: Version,
        locking: bool,
        also: Option<KeyId>,
    ) -> bool {
        let slot = self.slot(transaction);
        self.nodes.collect_meetings(slot);
        let source = self.source_for(slot, key, version, locking);
        let Some(source) = source.filter(|source| self.sources(slot, key).contains(source)) else { return false };
        self.accept(Candidate { reader: slot, key, source, locking }, true, also).is_some()
    }

    /// Whether `I` with a read satisfies the levels; where commits may be refused, with the transaction's own writes too.
    fn accept(&self, candidate: Candidate, with_writes: bool, also: Option<KeyId>) -> Option<Accepted> {
        let node = self.nodes.node(candidate.reader);
        if node.doomed {
            return None;
        }
        let edges = self.nodes.edges_of_read(candidate)?;
        if self.knows(candidate, &edges) {
            return Some(Accepted { knowledge: None, edges, witness: None });
        }
        let mut knowledge = self.knowledge.clone();
        if !edges.iter().all(|&edge| knowledge.insert(edge)) {
            return None;
        }
        self.nodes.questions_of_read(candidate, &mut knowledge);
        let reader = candidate.reader;
        let writes = with_writes && node.rule.may_be_refused;
        let also = also.filter(|_| writes).into_iter().flat_map(|key| self.nodes.meetings(reader, key));
        let met = if writes { node.writes.met() } else { &[] };
        let witness = self.justify(&mut knowledge, reader, met.iter().copied().chain(also))?;
        Some(Accepted { knowledge: Some(knowledge), edges, witness })
    }

    /// Whether a read asks nothing and tells nothing new of the commit order, so that nothing has to be worked out.
    fn knows(&self, candidate: Candidate, edges: &[order::Edge]) -> bool {
        self.knowledge.is_settled()
            && !self.nodes.is_watched(candidate.reader, candidate.locking)
            && edges.iter().all(|&(one, other)| self.knowledge.before(one, other))
    }

    /// Looks for an order of what is known and, with it, of versions that a transaction may write. The knowledge stays without them.
    fn justify(
        &self,
        knowledge: &mut Knowledge,
        writer: Slot,
        met: impl Iterator<Item = Meeting>,
    ) -> Option<Option<Vec<Point>>> {
        if !knowledge.propagate() {
            return None;
        }
        let mut met = met.peekable();
        if met.peek().is_none() {
            return self.search(knowledge, writer);
        }
        let mut with_writes = knowledge.clone();
        let added = met.all(|meeting| self.add_meeting(&mut with_writes, writer, meeting));
        if !added || !with_writes.propagate() {
            return None;
        }
        // What its versions settle may be open without them: then the order is needed.
        let order = self.search(&with_writes, writer)?;
        Some(order.or_else(|| (!knowledge.is_settled()).then(|| with_writes.linear(&[]))))
    }

    /// The first guess is the order that justifies what there was, so a version that it justifies is always found.
    fn search(&self, knowledge: &Knowledge, slot: Slot) -> Option<Option<Vec<Point>>> {
        if knowledge.is_settled() {
            return Some(None);
        }
        let mut guide = self.witness.clone().unwrap_or_else(|| self.knowledge.linear(&[]));
        if !self.nodes.node(slot).rule.may_be_refused {
            // Nothing depends on the commit of what is pending: it may be last.
            guide.retain(|&point| point != slot.commit());
            guide.push(slot.commit());
        }
        match knowledge.search(&guide, self.options.budget.max(1)) {
            Search::Found(order) => Some(Some(order)),
            Search::Impossible | Search::Unknown => None,
        }
    }

    /// Reads a version. It is refused when the level does not allow it, or not together with the transaction's own writes.
    pub fn read(&mut self, transaction: GrowingId, key: KeyId, version: Version, locking: bool) -> Result<(), Refused> {
        let slot = self.slot(transaction);
        let source = self.source_for(slot, key, version, locking).ok_or(Refused)?;
        let candidate = Candidate { reader: slot, key, source, locking };
        self.nodes.collect_meetings(slot);
        let accepted = self.accept(candidate, true, None).ok_or(Refused)?;
        if let Some(knowledge) = accepted.knowledge {
            self.knowledge = knowledge;
        }
        self.witness = accepted.witness;
        self.note_read(candidate, accepted.edges);
        Ok(())
    }

    fn note_read(&mut self, candidate: Candidate, edges: Vec<order::Edge>) {
        let Candidate { reader, key, source, locking } = candidate;
        if let Source::Node(writer) = source {
            let past = self.nodes.causal_past_of(std::iter::once(writer));
            let node = self.nodes.node_mut(reader);
            node.full_past.add(&past);
            if !locking {
                node.plain_past.add(&past);
                node.plain_writers.insert(writer);
            }
        }
        if self.nodes.is_watched(reader, locking) {
            self.nodes.rows.entry(key).or_default().readers.push((reader, source, locking));
            self.nodes.pass_moment(Some(reader));
        }
        self.nodes.node_mut(reader).reads.push(Read { key, source, locking, late: false, edges });
    }

    /// A key that nobody has committed yet lies in a range that the transaction read before its `place`-th read: it read its absence.
    /// It may have ended since.
    pub fn read_absence(&mut self, transaction: GrowingId, key: KeyId, place: usize) {
        debug_assert!(self.nodes.writers(key).is_empty(), "the key comes into being only now");
        let Some(&slot) = self.nodes.slots.get(&transaction) else { return };
        if self.nodes.is_watched(slot, false) {
            self.nodes.rows.entry(key).or_default().readers.push((slot, Source::Base, false));
            self.nodes.pass_moment(None);
        }
        let node = self.nodes.node_mut(slot);
        let place = node.place_of_read(place);
        let read = Read { key, source: Source::Base, locking: false, late: true, edges: Vec::new() };
        node.reads.insert(place, read);
        node.late_reads += 1;
    }

    /// Writes a key. It is refused when the transaction could not commit with it.
    pub fn write(&mut self, transaction: GrowingId, key: KeyId) -> Result<(), Refused> {
        let slot = self.slot(transaction);
        if self.nodes.node(slot).doomed {
            return Err(Refused);
        }
        self.nodes.note_write(slot, key);
        if !self.nodes.node(slot).rule.may_be_refused {
            return Ok(());
        }
        self.nodes.collect_meetings(slot);
        let mut knowledge = self.knowledge.clone();
        let met = self.nodes.node(slot).writes.met().iter().copied();
        self.witness = self.justify(&mut knowledge, slot, met).ok_or(Refused)?;
        self.knowledge = knowledge;
        Ok(())
    }

    /// Whether the transaction can only be aborted.
    pub fn is_doomed(&self, transaction: GrowingId) -> bool {
        self.nodes.node(self.slot(transaction)).doomed
    }

    /// Commits: from now on others may read what it wrote. A refused transaction stays pending until it is aborted.
    pub fn commit(&mut self, transaction: GrowingId) -> Result<(), Refused> {
        let slot = self.slot(transaction);
        if self.nodes.node(slot).doomed {
            return Err(Refused);
        }
        self.nodes.collect_meetings(slot);
        let mut knowledge = self.knowledge.clone();
        let mut met = self.nodes.node(slot).writes.met().iter();
        if !met.all(|&meeting| self.add_meeting(&mut knowledge, slot, meeting)) || !knowledge.propagate() {
            return Err(Refused);
        }
        self.witness = self.search(&knowledge, slot).ok_or(Refused)?;
        self.knowledge = knowledge;
        for &key in self.nodes.nodes[slot.index()].writes.keys() {
            self.nodes.rows.entry(key).or_default().writers.push(slot);
        }
        self.nodes.pass_moment(None);
        self.nodes.node_mut(slot).state = State::Committed;
        self.end(slot);
        self.commits += 1;
        self.freeze_if_due();
        Ok(())
    }

    fn freeze_if_due(&mut self) {
        if self.options.horizon.is_some_and(|horizon| self.commits.max(self.rollbacks) >= horizon) {
            self.freeze();
        }
    }

    /// The transaction is no longer pending, and counts.
    fn end(&mut self, slot: Slot) {
        let session = self.nodes.node(slot).session;
        self.last_of_session.insert(session, slot);
        self.nodes.node_mut(slot).exempt = false;
        self.unpin(slot);
        if !self.frozen.is_empty() {
            self.ensure_witness();
            self.drop_frozen();
        }
    }

    /// Ends a transaction without its writes: by its own program its reads stay, by the database they go.
    pub fn abort(&mut self, transaction: GrowingId, by_program: bool) {
        let slot = self.slot(transaction);
        self.nodes.node_mut(slot).writes.truncate(0);
        if by_program && !self.nodes.node(slot).doomed {
            self.nodes.node_mut(slot).state = State::Aborted;
            self.end(slot);
            self.rollbacks += 1;
            return self.freeze_if_due();
        }
        self.ensure_witness();
        self.unpin(slot);
        self.nodes.node_mut(slot).state = State::Gone;
        self.nodes.slots.remove(&transaction);
        self.forget_reads(slot, 0);
        self.nodes.node_mut(slot).exempt = false;
        if !self.drop_frozen() {
            self.rebuild();
        }
    }

    /// How far a transaction is.
    pub fn mark(&self, transaction: GrowingId) -> Mark {
        let node = self.nodes.node(self.slot(transaction));
        Mark { reads: node.made_reads(), writes: node.writes.keys().len() }
    }

    /// Takes back what a transaction did since: the reads and first writes of a statement that failed are no events.
    pub fn back_to(&mut self, transaction: GrowingId, mark: Mark) {
        let slot = self.slot(transaction);
        self.nodes.node_mut(slot).writes.truncate(mark.writes);
        let kept = self.nodes.node(slot).place_of_read(mark.reads);
        if self.nodes.node(slot).reads.len() > kept {
            self.ensure_witness();
            self.forget_reads(slot, kept);
            self.rebuild();
        }
    }

    /// Takes back what a transaction wrote since; what it read it has seen.
    pub fn take_back_writes(&mut self, transaction: GrowingId, mark: Mark) {
        let slot = self.slot(transaction);
        self.nodes.node_mut(slot).writes.truncate(mark.writes);
    }

    fn forget_reads(&mut self, slot: Slot, from: usize) {
        let node = self.nodes.node_mut(slot);
        let kept = from.min(node.reads.len());
        let gone = node.reads.split_off(kept);
        node.late_reads -= gone.iter().filter(|read| read.late).count();
        for read in gone {
            let Some(row) = self.nodes.rows.get_mut(&read.key) else { continue };
            let found = row.readers.iter().rposition(|&reader| reader == (slot, read.source, read.locking));
            found.map(|place| row.readers.remove(place));
        }
        self.nodes.pass_moment(Some(slot));
        self.nodes.see_again(slot);
    }

    /// The versions that nobody will read again, since the last time this was asked.
    pub fn take_dropped(&mut self) -> Vec<(KeyId, Version)> {
        std::mem::take(&mut self.dropped)
    }

    /// How many transactions are kept: those that are pending, and those that ended and are not yet sealed.
    pub fn kept(&self) -> usize {
        self.nodes.nodes.len()
    }

    /// Whether a transaction still matters: it is pending, or was not yet sealed or dropped.
    pub fn keeps(&self, transaction: GrowingId) -> bool {
        self.nodes.slots.contains_key(&transaction)
    }
}
