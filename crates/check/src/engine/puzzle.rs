//! What is certain about the moments of a history, and which orders are open.
//!
//! ```text
//!   SELECT x; UPDATE x twice, both SELECTs from the initial state, at PostgreSQL's repeatable read
//!
//!   S1 → C2, S2 → C1          each snapshot is before the other's change
//!   t1 before t2: C1 → S2     who changes what changed since its snapshot is refused: a cycle with S2 → C1
//!   t2 before t1: C2 → S1     a cycle with S1 → C2
//! ```
//!
//! Two transactions that lock a key against each other hold their locks one after the other, on all keys in the same order, because each keeps
//! them to its end: so one variable per pair is enough. Not all pairs need one: who reads a version under a lock it keeps stands right behind the
//! writer of that version.
//!
//! All that is said here is necessary, so what it contradicts is impossible. What depends on more than pairs (blind writes of rows that come and go;
//! whom a statement of InnoDB had waited for) is left out, and looked at when an order is found.

use super::holders::{Certainty, HeldLock, HolderId, Holders, LockHolder};
use super::looks::{Deed, EngineLook, Looks, Moment};
use super::nodes::{Marks, Nodes, ServerReach};
use super::noticed::Noticed;
use super::reads::{EngineRead, ReadWay, Reader, Reads, own_reads};
use super::told_order::{LockedVersions, is_minded_by_changes};
use crate::graph::{Cycle, Graph, Node};
use crate::resolve::{PackedWriter, Resolved};
use crate::spec::Attention;
use rustc_hash::FxHashMap;
use skew_history::{EngineLevel, KeyId, Name, Outcome, StatementKind, TransactionId};
use std::cell::RefCell;

/// Two who lock something against each other, in no known order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Pair {
    /// Two transactions, the smaller number first.
    Kept(TransactionId, TransactionId),
    /// A lock that is let go at once, and one that is kept.
    Glance(HolderId, HolderId),
}

/// An edge.
pub(super) type NodePair = (Node, Node);

/// An edge, and why it is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PuzzleEdge {
    pub(super) from: Node,
    pub(super) to: Node,
    pub(super) because: Because,
}

/// Why one moment comes before another. Reads are given by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Because {
    /// Somebody had committed what was read.
    ReadsFrom { read: u32, writer: TransactionId },
    /// Somebody overwrote what was read.
    Overwrites { read: u32, writer: PackedWriter, later: TransactionId },
    /// One locked a key before the other, who had to wait for it or, after a change, is refused.
    Locks { key: KeyId, first: TransactionId, second: TransactionId },
    /// The row that was locked had been inserted before the statement began.
    WasThere { read: u32, inserter: TransactionId },
    /// The row was there when the statement began, and gone or changed when it had waited.
    Waited { read: u32, by: TransactionId },
    /// The versions of one are before those of the other.
    Versions { first: TransactionId, second: TransactionId },
}

impl PuzzleEdge {
    pub(super) fn ends(&self) -> NodePair {
        (self.from, self.to)
    }
}

/// A history at levels of an engine, as a graph with open pairs.
pub(super) struct Puzzle<'a, 'h> {
    pub(super) resolved: &'a Resolved<'h>,
    levels: &'a [EngineLevel],
    /// What is certain to be noticed; nothing when everything is taken to be.
    pub(super) noticed: Option<Noticed<'h>>,
    /// Per key whether all who change it follow each other in a way that is noticed: then who overwrites follows who overwrites first. Empty when
    /// everything is taken to be.
    all_noticed: Vec<bool>,
    pub(super) looks: Looks,
    pub(super) holders: Holders,
    pub(super) reads: Reads,
    pub(super) nodes: Nodes,
    pub(super) graph: Graph,
    /// The graph in topological order, as of the last sort.
    pub(super) order: Vec<Node>,
    /// Per holder the reads of its version, by their numbers, as far as they are certain.
    pub(super) readers: Readers,
    pub(super) locked_versions: LockedVersions,
    pub(super) open: Vec<Pair>,
    /// The orders of pairs that were open: as they stand, or not.
    pub(super) found: FxHashMap<Pair, bool>,
    /// Per key whether there ever may be no row.
    may_be_absent: Vec<bool>,
    /// Per key whether PostgreSQL may take some change of its row for a change of the key.
    may_be_rekeyed: Vec<bool>,
    /// Who inserted the rows of versions, as far as it was asked.
    inserters: RefCell<FxHashMap<(KeyId, TransactionId), Option<TransactionId>>>,
}

/// The certain reads of every version.
pub(super) struct Readers {
    starts: Vec<u32>,
    reads: Vec<u32>,
    initial_starts: Vec<u32>,
    initial: Vec<u32>,
}

/// Somebody with a read that nothing explains.
pub(super) struct NoWay(pub(super) TransactionId);

impl<'a, 'h> Puzzle<'a, 'h> {
    /// The certain part; a read that nothing explains is an error.
    pub(super) fn new(
        resolved: &'a Resolved<'h>,
        levels: &'a [EngineLevel],
        attention: Attention,
    ) -> Result<Puzzle<'a, 'h>, NoWay> {
        let looks = Looks::new(resolved, levels);
        let holders = Holders::new(resolved, &looks, levels, &own_reads(resolved, &looks));
        let reads = Reader { resolved, levels, looks: &looks, holders: &holders }.reads();
        if let Some(read) = reads.all.iter().find(|read| reads.ways(read).is_empty()) {
            return Err(NoWay(read.transaction));
        }
        let marks = marks(resolved, levels, &looks, &holders, &reads);
        let is_serial = levels.contains(&EngineLevel::PostgresSerializable);
        let nodes = Nodes::new(resolved, &looks, &marks, is_serial);
        let readers = Readers::new(resolved, &holders, &reads);
        let locked_versions = LockedVersions::new(&holders, &reads);
        let graph = Graph::new(nodes.chains.clone());
        let may_be_absent = keys_that_may_be_absent(resolved, &holders);
        let may_be_rekeyed = keys_that_may_change(resolved, &looks, &holders);
        let mut puzzle = Puzzle {
            resolved,
            levels,
            all_noticed: Vec::new(),
            noticed: (attention == Attention::Least).then(|| Noticed::new(resolved.history)),
            looks,
            holders,
            reads,
            nodes,
            graph,
            order: Vec::new(),
            readers,
            locked_versions,
            open: Vec::new(),
            found: FxHashMap::default(),
            may_be_absent,
            may_be_rekeyed,
            inserters: RefCell::default(),
        };
        puzzle.find_all_noticed();
        puzzle.add_certain();
        Ok(puzzle)
    }

    fn find_all_noticed(&mut self) {
        let Some(noticed) = &self.noticed else { return };
        let mut all_noticed = vec![true; self.resolved.history.key_count()];
        for holder in self.holders.all.iter().filter(|holder| holder.changes.is_some()) {
            let takes_free_key = noticed.inserts(self.looks.of(holder.transaction), holder.key);
            all_noticed[holder.key.index()] &= !takes_free_key && self.is_serial(holder.transaction);
        }
        self.all_noticed = all_noticed;
    }

    /// The transactions of nodes, each once.
    pub(super) fn transactions_of(&self, nodes: impl IntoIterator<Item = Node>) -> Vec<TransactionId> {
        let of_node = |node: Node| {
            let moment = self.nodes.moments(node).next();
            let at_moment = moment.map(|moment| self.looks.transaction_at(Moment::new(moment)));
            at_moment.or_else(|| self.nodes.serial_at(node, self.resolved.transaction_count()))
        };
        let mut transactions: Vec<TransactionId> = nodes.into_iter().filter_map(of_node).collect();
        transactions.sort_unstable();
        transactions.dedup();
        transactions
    }

    /// Sorts the graph anew.
    pub(super) fn sort(&mut self) -> Result<(), Cycle> {
        self.graph.index();
        self.order = self.graph.topological_order()?;
        Ok(())
    }

    pub(super) fn clocks(&self) -> ServerReach {
        self.nodes.reach(&self.graph, &self.order)
    }

    /// The edges of real time, which are there without a reason to tell.
    pub(super) fn graph_edges(&self) -> impl Iterator<Item = NodePair> + '_ {
        let is_instant = |node: Node| self.transactions_of([node]).is_empty();
        self.graph.edges().iter().copied().filter(move |&(from, to)| is_instant(from) || is_instant(to))
    }

    /// Whether a node is the snapshot of a transaction that has to have every earlier change of a key.
    pub(super) fn is_snapshot(&self, node: Node, transaction: TransactionId, key: KeyId) -> bool {
        let mut of_key = self.holders.all.iter().filter(|one| one.transaction == transaction && one.key == key);
        of_key.any(|holder| self.not_changed_since(holder).is_some_and(|moment| self.nodes.of(moment) == node))
    }

    fn add_certain(&mut self) {
        let edges = self.certain();
        edges.into_iter().for_each(|edge| self.graph.add(edge.from, edge.to));
        self.nodes.add_real_time(self.resolved, &self.looks, &mut self.graph);
    }

    /// What certain reads and lists say.
    pub(super) fn certain(&self) -> Vec<PuzzleEdge> {
        let mut edges = Vec::new();
        for number in 0..self.reads.all.len() as u32 {
            if let [only] = *self.reads.ways(self.read(number)) {
                self.way_brings(number, only, &mut edges);
            }
        }
        self.list_orders(&mut edges);
        edges
    }

    fn list_orders(&self, edges: &mut Vec<PuzzleEdge>) {
        for (key, order, unread) in self.resolved.lists.orders() {
            let mut add = |first: TransactionId, second: TransactionId| {
                if let (Some(one), Some(other)) = (self.holders.find(first, key), self.holders.find(second, key)) {
                    edges.extend(self.order_brings(one, other));
                    self.serial_versions(one, other, edges);
                }
            };
            order.windows(2).for_each(|pair| add(pair[0], pair[1]));
            if let Some(&last) = order.last() {
                unread.iter().for_each(|&later| add(last, later));
            }
        }
    }

    fn level(&self, transaction: TransactionId) -> EngineLevel {
        self.levels[transaction.index()]
    }

    pub(super) fn end(&self, transaction: TransactionId) -> Node {
        self.nodes.of(self.looks.end(transaction))
    }

    /// A read by its number.
    pub(super) fn read(&self, number: u32) -> &EngineRead {
        &self.reads.all[number as usize]
    }

    /// What a way to read brings, whoever else changes the key.
    pub(super) fn way_brings(&self, number: u32, way: ReadWay, edges: &mut Vec<PuzzleEdge>) {
        let read = self.read(number);
        let look = read.look.map(|look| &self.looks.all[look as usize]);
        match (way, look) {
            (ReadWay::Latest(writer), look) => {
                self.latest_brings(number, writer, edges);
                if let Some(look) = look.filter(|look| self.searches_at_read_committed(look)) {
                    self.search_brings(number, writer, look, edges);
                }
            }
            (ReadWay::Deleted(by), Some(look)) => {
                let (end, because) = (self.end(by), Because::Waited { read: number, by });
                edges.push(PuzzleEdge { from: self.nodes.of(look.start), to: end, because });
                edges.push(PuzzleEdge { from: end, to: self.nodes.of(look.held), because });
                if let Some(before) = self.read_before_change(by, read.key) {
                    self.was_there(number, before, look.start, edges);
                }
            }
            (ReadWay::Deleted(_), None) => {}
            (ReadWay::WaitedFor(holder), _) => {
                let holder = self.holders.get(holder);
                let end = self.nodes.of(holder.release);
                let waiting = self.holders.find(read.transaction, read.key);
                let conflict = waiting.and_then(|waiting| waiting.first_conflict(holder)).unwrap_or(read.at);
                let because = Because::Waited { read: number, by: holder.transaction };
                edges.push(PuzzleEdge { from: end, to: self.nodes.of(conflict), because });
                edges.push(PuzzleEdge { from: self.nodes.of(read.at.previous()), to: end, because });
            }
        }
    }

    /// Who wrote the latest version had committed by then.
    fn latest_brings(&self, number: u32, writer: PackedWriter, edges: &mut Vec<PuzzleEdge>) {
        let read = self.read(number);
        let Some(writer) = writer.transaction() else { return };
        let because = Because::ReadsFrom { read: number, writer };
        let at = self.nodes.of(read.at);
        let holder = read.holder.map(|holder| self.holders.get(holder));
        let early = holder.and_then(|holder| self.not_changed_since(holder));
        let to = early.map_or(at, |early| self.nodes.of(early).min(at));
        let again = self.may_look_again(read);
        let to = again.map_or(to, |again| self.nodes.of(again));
        edges.push(PuzzleEdge { from: self.end(writer), to, because });
        if self.is_noted(read, writer.into()) {
            self.serial_edge(writer, read.transaction, because, edges);
        }
    }

    /// What PostgreSQL's read committed locks was there when the statement began; what it looked at again had changed since.
    fn search_brings(&self, number: u32, writer: PackedWriter, look: &EngineLook, edges: &mut Vec<PuzzleEdge>) {
        let Deed::Read { absent: false, passed, waited } = look.deed else { return };
        if passed && !waited {
            return;
        }
        self.was_there(number, writer, look.start, edges);
        if let (true, Some(by)) = (passed, writer.transaction()) {
            let because = Because::Waited { read: number, by };
            edges.push(PuzzleEdge { from: self.nodes.of(look.start), to: self.end(by), because });
        }
    }

    fn searches_at_read_committed(&self, look: &EngineLook) -> bool {
        look.is_search() && self.level(look.transaction) == EngineLevel::PostgresReadCommitted
    }

    /// Before which moment of its transaction all changes must be that are before a holder: else it is refused.
    fn not_changed_since(&self, holder: &LockHolder) -> Option<Moment> {
        match self.level(holder.transaction) {
            EngineLevel::PostgresRepeatableRead | EngineLevel::PostgresSerializable => {
                let updates =
                    !holder.begins_with_insertion() && (holder.is_kept || holder.kind == StatementKind::Upsert);
                updates.then(|| self.looks.begin(holder.transaction))
            }
            EngineLevel::MysqlSnapshotIsolation => {
                let plain = self.looks.first_plain_read(holder.transaction)?;
                holder.locks.iter().any(|lock| lock.moment > plain).then_some(plain)
            }
            _ => None,
        }
    }

    /// Whom a transaction read from under its lock just before it changed a key, where that is certain.
    fn read_before_change(&self, transaction: TransactionId, key: KeyId) -> Option<PackedWriter> {
        let mine = self.reads.all.partition_point(|read| read.transaction < transaction);
        let mine = self.reads.all[mine..].iter().take_while(|read| read.transaction == transaction);
        let is_change = |look: &&EngineLook| look.is_change() && look.key == key;
        let change = self.looks.of(transaction).iter().find(is_change)?.event;
        let is_before = |read: &EngineRead| read.look.is_some_and(|look| self.looks.all[look as usize].event < change);
        let is_kept = |read: &EngineRead| read.holder.is_some_and(|holder| self.holders.get(holder).is_kept);
        let is_meant = |read: &&EngineRead| read.key == key && is_before(read) && is_kept(read);
        match self.reads.ways(mine.filter(is_meant).last()?) {
            [ReadWay::Latest(writer)] => Some(*writer),
            _ => None,
        }
    }

    /// The row that a version belongs to was inserted before a moment, as far as it is certain which insertion that was.
    fn was_there(&self, read: u32, writer: PackedWriter, moment: Moment, edges: &mut Vec<PuzzleEdge>) {
        if let Some(inserter) = self.inserter(self.read(read).key, writer) {
            let because = Because::WasThere { read, inserter };
            edges.push(PuzzleEdge { from: self.end(inserter), to: self.nodes.of(moment), because });
        }
    }

    /// Who inserted the row that a version belongs to, where that is certain. What was found is kept: on a key that many change the way back is long.
    fn inserter(&self, key: KeyId, writer: PackedWriter) -> Option<TransactionId> {
        let mut way = Vec::new();
        let mut version = writer;
        let mut known = self.inserters.borrow_mut();
        let found = loop {
            let Some(transaction) = version.transaction() else { break None };
            if let Some(&found) = known.get(&(key, transaction)) {
                break found;
            }
            // Who read and changed it before whom never goes round, or there is a cycle anyway.
            known.insert((key, transaction), None);
            way.push(transaction);
            let changes = self.holders.find(transaction, key).and_then(|holder| holder.changes);
            match changes.map(|changes| changes.begins_a_row) {
                Some(Certainty::Yes) => break Some(transaction),
                Some(Certainty::No) if self.may_be_absent[key.index()] => {
                    match self.read_before_change(transaction, key) {
                        Some(before) => version = before,
                        None => break None,
                    }
                }
                Some(Certainty::No | Certainty::Perhaps) | None => break None,
            }
        };
        way.into_iter().for_each(|transaction| _ = known.insert((key, transaction), found));
        found
    }

    /// What it brings that somebody overwrites what a read returned.
    pub(super) fn overwrite_brings(
        &self,
        number: u32,
        writer: PackedWriter,
        later: &LockHolder,
        edges: &mut Vec<PuzzleEdge>,
    ) {
        let read = self.read(number);
        if later.transaction == read.transaction {
            return;
        }
        let because = Because::Overwrites { read: number, writer, later: later.transaction };
        let holder = read.holder.map(|holder| self.holders.get(holder));
        let at = self.last_looked(read, later);
        let kept_off = holder.filter(|holder| Puzzle::keeps_off(at, holder, later));
        let kept_off = kept_off.and_then(|holder| Some((holder.release, later.first_conflict(holder)?)));
        let (from, to) = kept_off.unwrap_or((at, self.looks.end(later.transaction)));
        edges.push(PuzzleEdge { from: self.nodes.of(from), to: self.nodes.of(to), because });
        if self.is_noted(read, writer) && self.is_overwriting_noticed(read, writer, later) {
            self.serial_edge(read.transaction, later.transaction, because, edges);
        }
    }

    /// When FOR KEY SHARE at PostgreSQL's read committed read at the latest, if not when the statement started: where somebody may have changed the
    /// key it may have looked again, for what was the latest by then. Which of the two it was is for the definition to say.
    pub(super) fn may_look_again(&self, read: &EngineRead) -> Option<Moment> {
        let look = self.key_share_at_read_committed(read)?;
        self.may_be_rekeyed[read.key.index()].then_some(look.moment)
    }

    /// Whether some FOR KEY SHARE may have looked again.
    pub(super) fn has_open_key_shares(&self) -> bool {
        self.reads.all.iter().any(|read| self.may_look_again(read).is_some())
    }

    fn key_share_at_read_committed(&self, read: &EngineRead) -> Option<&EngineLook> {
        let look = &self.looks.all[read.look? as usize];
        (look.is_key_share_of_row() && self.searches_at_read_committed(look)).then_some(look)
    }

    /// Until when a read had what nobody had overwritten: FOR KEY SHARE at PostgreSQL's read committed reads when the statement starts, and finds
    /// the row there, if changed, when it has its locks.
    fn last_looked(&self, read: &EngineRead, later: &LockHolder) -> Moment {
        let look = self.key_share_at_read_committed(read);
        let deletes = later.changes.is_some_and(|changes| changes.deletes != Certainty::No);
        look.filter(|_| deletes).map_or(read.at, |look| look.held)
    }

    /// Whether the holder of a read had a lock by then that keeps somebody off. One that it got later says nothing: the row may have changed before.
    fn keeps_off(at: Moment, holder: &LockHolder, later: &LockHolder) -> bool {
        holder.first_conflict(later).is_some_and(|conflict| conflict <= at)
    }

    /// Whether PostgreSQL's serializable is certain to notice that somebody changed what was read, if only that counts.
    fn is_overwriting_noticed(&self, read: &EngineRead, writer: PackedWriter, later: &LockHolder) -> bool {
        let Some(noticed) = &self.noticed else { return true };
        match noticed.inserts(self.looks.of(later.transaction), read.key) {
            true => noticed.marks(self.looks.of(read.transaction), read.key),
            false => {
                self.all_noticed[read.key.index()]
                    || self.read_before_change(later.transaction, read.key) == Some(writer)
            }
        }
    }

    /// One transaction changed a key before another, as PostgreSQL's serializable sees it.
    pub(super) fn serial_versions(&self, one: &LockHolder, other: &LockHolder, edges: &mut Vec<PuzzleEdge>) {
        let (first, second) = (one.transaction, other.transaction);
        let is_noticed = self.noticed.as_ref().is_none_or(|noticed| {
            !noticed.inserts(self.looks.of(second), one.key) || noticed.marks(self.looks.of(first), one.key)
        });
        if is_noticed {
            self.serial_edge(first, second, Because::Versions { first, second }, edges);
        }
    }

    /// What it means for the moments that one holder of a key is before another.
    pub(super) fn order_brings(&self, one: &LockHolder, other: &LockHolder) -> Option<PuzzleEdge> {
        let conflict = other.first_conflict(one)?;
        let noticed = |lock: &HeldLock| lock.strength.changes && other.conflicts(lock.strength);
        let is_refused = match self.level(other.transaction) {
            EngineLevel::MysqlSnapshotIsolation => one.changes.is_some(),
            _ => one.changes.is_some() && one.locks.iter().any(noticed),
        };
        let early = self.not_changed_since(other).filter(|_| is_refused);
        let to = early.map_or(conflict, |early| early.min(conflict));
        let because = Because::Locks { key: one.key, first: one.transaction, second: other.transaction };
        Some(PuzzleEdge { from: self.nodes.of(one.release), to: self.nodes.of(to), because })
    }

    /// The earliest moment at which a holder may have to have waited for others.
    pub(super) fn earliest(&self, holder: &LockHolder) -> Node {
        let first = holder.locks[0].moment;
        self.nodes.of(self.not_changed_since(holder).map_or(first, |early| early.min(first)))
    }

    /// Whether PostgreSQL's serializable is asked of a transaction.
    pub(super) fn is_serial(&self, transaction: TransactionId) -> bool {
        let outcome = self.resolved.history.outcome(transaction);
        self.level(transaction) == EngineLevel::PostgresSerializable
            && matches!(outcome, Outcome::Committed | Outcome::Unknown)
    }

    fn serial_edge(&self, one: TransactionId, other: TransactionId, because: Because, edges: &mut Vec<PuzzleEdge>) {
        if let (Some(from), Some(to)) = (self.nodes.serial(one), self.nodes.serial(other))
            && self.is_serial(one)
            && self.is_serial(other)
        {
            edges.push(PuzzleEdge { from, to, because });
        }
    }

    /// Whether PostgreSQL's serializable takes notice of a read: not of a row that is in the way of an INSERT, unless who wrote it had
    /// itself looked for it.
    fn is_noted(&self, read: &EngineRead, writer: PackedWriter) -> bool {
        let Some(look) = read.look.map(|look| &self.looks.all[look as usize]) else { return false };
        let Deed::Read { absent, .. } = look.deed else { return false };
        if let Some(noticed) = &self.noticed {
            let of_writer = writer.transaction().map(|writer| self.looks.of(writer));
            return noticed.counts(look, of_writer);
        }
        match look.kind {
            StatementKind::Upsert => absent || look.changes_it,
            StatementKind::Insert if !absent => writer.transaction().is_some_and(|writer| {
                let looked = |other: &EngineLook| {
                    let inserts = matches!(other.kind, StatementKind::Insert | StatementKind::Upsert);
                    other.key == look.key && !other.is_change() && !inserts
                };
                self.looks.of(writer).iter().any(looked)
            }),
            _ => true,
        }
    }

    /// Everything that the order of a pair brings: as it stands, or the other way round.
    pub(super) fn pair_brings(&self, pair: Pair, as_it_stands: bool, edges: &mut Vec<PuzzleEdge>) {
        match pair {
            Pair::Kept(one, other) if as_it_stands => self.kept_brings(one, other, edges),
            Pair::Kept(one, other) => self.kept_brings(other, one, edges),
            Pair::Glance(one, other) => {
                let (glance, holder) = (self.holders.get(one), self.holders.get(other));
                let conflict = holder.first_conflict(glance).unwrap_or(holder.release);
                let (looked, locked) = (self.nodes.of(glance.release), self.nodes.of(conflict));
                let (key, mut pair) = (glance.key, [glance.transaction, holder.transaction]);
                let (from, to) = if as_it_stands { (looked, locked) } else { (self.nodes.of(holder.release), looked) };
                if !as_it_stands {
                    pair.reverse();
                }
                let because = Because::Locks { key, first: pair[0], second: pair[1] };
                edges.push(PuzzleEdge { from, to, because });
            }
        }
    }

    fn kept_brings(&self, first: TransactionId, second: TransactionId, edges: &mut Vec<PuzzleEdge>) {
        let (one, other) = (self.holders.kept_by(first), self.holders.kept_by(second));
        let (fewer, many) = if one.len() <= other.len() { (one, second) } else { (other, first) };
        for holder in fewer {
            let Some(counterpart) = self.holders.find(many, holder.key) else { continue };
            let (one, other) = if many == second { (holder, counterpart) } else { (counterpart, holder) };
            edges.extend(self.order_brings(one, other));
            if one.changes.is_some() && other.changes.is_some() {
                self.serial_versions(one, other, edges);
                for &read in self.readers.of_transaction(&self.holders, first, holder.key) {
                    self.overwrite_brings(read, first.into(), other, edges);
                }
            }
        }
    }
}

/// Per key whether there ever may be no row.
fn keys_that_may_be_absent(resolved: &Resolved<'_>, holders: &Holders) -> Vec<bool> {
    let history = resolved.history;
    let mut may_be: Vec<bool> = history.keys().map(|key| history.initial(key).is_absent()).collect();
    for holder in &holders.all {
        may_be[holder.key.index()] |= holder.changes.is_some_and(|changes| changes.deletes != Certainty::No);
    }
    may_be
}

/// Per key whether somebody changes its row who had it FOR UPDATE before, or who changes an entry of an index.
fn keys_that_may_change(resolved: &Resolved<'_>, looks: &Looks, holders: &Holders) -> Vec<bool> {
    let history = resolved.history;
    let is_entry = |key: KeyId| matches!(history.key_name(key), Name::Text(name) if name.contains('@'));
    let is_entry: Vec<bool> = history.keys().map(is_entry).collect();
    let has_entries = is_entry.contains(&true);
    let changes_entry = |one| looks.of(one).iter().any(|look| look.is_change() && is_entry[look.key.index()]);
    let mut may_change = vec![false; history.key_count()];
    for holder in holders.all.iter().filter(|holder| holder.changes.is_some()) {
        may_change[holder.key.index()] |= holder.locks_strongly() || has_entries && changes_entry(holder.transaction);
    }
    may_change
}

/// Where edges may start and end.
fn marks(resolved: &Resolved<'_>, levels: &[EngineLevel], looks: &Looks, holders: &Holders, reads: &Reads) -> Marks {
    let mut marks = Marks::new(looks.moment_count());
    for transaction in resolved.transactions().filter(|&transaction| resolved.counts(transaction)) {
        marks.enter(looks.begin(transaction));
        marks.enter(looks.end(transaction));
        marks.leave(looks.end(transaction));
        if levels[transaction.index()] == EngineLevel::MysqlSnapshotIsolation {
            looks.first_plain_read(transaction).into_iter().for_each(|moment| marks.enter(moment));
        }
    }
    for holder in &holders.all {
        holder.locks.iter().for_each(|lock| marks.enter(lock.moment));
        marks.leave(holder.release);
    }
    for read in &reads.all {
        marks.enter(read.at);
        let is_kept_off = read.holder.is_some_and(|holder| is_minded_by_changes(holders.get(holder)));
        if !is_kept_off {
            marks.leave(read.at);
        }
        if reads.ways(read).iter().any(|way| matches!(way, ReadWay::WaitedFor(_))) {
            marks.leave(read.at.previous());
        }
        if let Some(look) = read.look.map(|look| &looks.all[look as usize])
            && look.is_search()
            && levels[look.transaction.index()] == EngineLevel::PostgresReadCommitted
        {
            marks.enter(look.start);
            if look.is_key_share_of_row() {
                marks.leave(look.start);
                marks.enter(look.moment);
                marks.leave(look.moment);
                marks.leave(look.held);
            }
            let was_asked_again = matches!(look.deed, Deed::Read { passed: true, waited: true, .. });
            if was_asked_again || reads.ways(read).iter().any(|way| matches!(way, ReadWay::Deleted(_))) {
                marks.leave(look.start);
                marks.enter(look.held);
            }
        }
    }
    marks
}

impl Readers {
    fn new(resolved: &Resolved<'_>, holders: &Holders, reads: &Reads) -> Readers {
        let mut of_holder: Vec<Vec<u32>> = vec![Vec::new(); holders.all.len()];
        let mut of_key: Vec<Vec<u32>> = vec![Vec::new(); resolved.history.key_count()];
        for (number, read) in reads.all.iter().enumerate() {
            let [ReadWay::Latest(writer)] = reads.ways(read) else { continue };
            match writer.transaction() {
                None => of_key[read.key.index()].push(number as u32),
                Some(writer) => {
                    if let Some(holder) = holders.number(writer, read.key) {
                        of_holder[holder.index()].push(number as u32);
                    }
                }
            }
        }
        let (starts, reads) = flat(of_holder);
        let (initial_starts, initial) = flat(of_key);
        Readers { starts, reads, initial_starts, initial }
    }

    pub(super) fn of_holder(&self, holder: HolderId) -> &[u32] {
        &self.reads[self.starts[holder.index()] as usize..self.starts[holder.index() + 1] as usize]
    }

    fn of_transaction(&self, holders: &Holders, writer: TransactionId, key: KeyId) -> &[u32] {
        holders.number(writer, key).map_or(&[], |holder| self.of_holder(holder))
    }

    pub(super) fn of_initial(&self, key: KeyId) -> &[u32] {
        let at = key.index();
        &self.initial[self.initial_starts[at] as usize..self.initial_starts[at + 1] as usize]
    }
}

fn flat(rows: Vec<Vec<u32>>) -> (Vec<u32>, Vec<u32>) {
    let mut starts = Vec::with_capacity(rows.len() + 1);
    starts.push(0);
    let mut all = Vec::new();
    for row in rows {
        all.extend(row);
        starts.push(all.len() as u32);
    }
    (starts, all)
}
