//! The levels whose "must have seen" does not mention the commit order: read-committed, read-atomic, causal.
//!
//! Session order and reads alone say what a transaction must have seen, so every instance of the axiom is an edge that is
//! *forced*, and the level holds exactly when no cycle results:
//!
//! ```text
//!   t2: w(x,2)     t1: w(x,1)     t3: … r(x,1)           t3 must have seen t2, which also wrote x:   t2 → t1
//! ```
//!
//! Not every instance is written down: of several that follow from one another, one is. read-committed and read-atomic take
//! O(n^1.5) steps as in AWDIT (Møldrup & Pavlogiannis 2025), causal O(n · sessions). The initial state is no session here; it is
//! before everything, and an edge into it is a contradiction at once.

use crate::clock::Clocks;
use crate::graph::{Chains, Cycle, Graph, Node};
use crate::levels::Sight;
use crate::resolve::{PackedWriter, ReadFrom, Resolved};
use skew_history::{EventId, KeyId, TransactionId};

/// `from` is before `to` (or the initial state, which is impossible), because of a read from `to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Forced {
    pub(crate) from: TransactionId,
    pub(crate) to: PackedWriter,
    pub(crate) read: EventId,
}

impl Forced {
    /// Both ends, where neither is the initial state.
    pub(crate) fn ends(&self) -> Option<(TransactionId, TransactionId)> {
        Some((self.from, self.to.transaction()?))
    }
}

/// A writer for every ambiguous read; empty when nothing is chosen, and then ambiguous reads are left out.
pub(crate) type Choices = Vec<PackedWriter>;

/// The reads of a transaction with their writers chosen.
pub(crate) fn chosen_reads<'a>(
    resolved: &'a Resolved<'_>,
    choices: &'a Choices,
    transaction: TransactionId,
) -> impl DoubleEndedIterator<Item = (ReadFrom, PackedWriter)> + Clone + 'a {
    resolved.reads(transaction).iter().filter_map(move |read| match read.ambiguous() {
        None => Some((*read, read.writer()?)),
        Some(number) => choices.get(number).map(|&writer| (read.chosen(writer), writer)),
    })
}

/// The graph of session order and reads, one node per transaction.
fn causal_graph(resolved: &Resolved<'_>, choices: &Choices) -> Graph {
    let mut graph = Graph::new(session_chains(resolved));
    for transaction in resolved.transactions() {
        for writer in chosen_reads(resolved, choices, transaction).filter_map(|(_, writer)| writer.transaction()) {
            graph.add(node(writer), node(transaction));
        }
    }
    graph.index();
    graph
}

/// The node of a transaction in the graph of session order and reads.
fn node(transaction: TransactionId) -> Node {
    Node::new(transaction.index())
}

fn session_chains(resolved: &Resolved<'_>) -> Chains {
    let history = resolved.history;
    let ends = history
        .sessions()
        .map(|session| history.transactions_of(session).next_back().map(|last| node(last).following()));
    let mut starts = vec![Node::FIRST];
    for end in ends {
        starts.push(end.unwrap_or(starts[starts.len() - 1]));
    }
    Chains::new(starts)
}

/// Collects forced edges for the plain reads of transactions at the polynomial levels.
pub(crate) struct Saturation<'a, 'h> {
    pub(crate) resolved: &'a Resolved<'h>,
    pub(crate) choices: &'a Choices,
    pub(crate) forced: Vec<Forced>,
}

impl<'a, 'h> Saturation<'a, 'h> {
    pub(crate) fn new(resolved: &'a Resolved<'h>, choices: &'a Choices) -> Saturation<'a, 'h> {
        Saturation { resolved, choices, forced: Vec::new() }
    }

    fn plain_reads(&self, transaction: TransactionId, into: &mut Vec<(ReadFrom, PackedWriter)>) {
        into.clear();
        let reads = chosen_reads(self.resolved, self.choices, transaction);
        into.extend(reads.filter(|(read, _)| !self.resolved.is_locking(read)));
    }

    /// The forced edges of the transactions that `concerns` says must have seen so much; a cycle where session order and reads have one.
    pub(crate) fn saturate(&mut self, sight: Sight, concerns: impl Fn(TransactionId) -> bool) -> Result<(), Cycle> {
        match sight {
            Sight::EarlierReads => self.read_committed(concerns),
            Sight::SessionAndReads => self.read_atomic(concerns),
            Sight::CausalPast => {
                let graph = causal_graph(self.resolved, self.choices);
                let order = graph.topological_order()?;
                self.causal(&CausalOrder { graph: &graph, order: &order }, concerns);
            }
        }
        Ok(())
    }

    /// An earlier read event from `t2` makes every later one see `t2`.
    fn read_committed(&mut self, concerns: impl Fn(TransactionId) -> bool) {
        let mut reads = Vec::new();
        let mut common = CommonKeys::default();
        let suspicious = |reader: &TransactionId| self.resolved.suspicions[reader.index()].by_read && concerns(*reader);
        for reader in self.resolved.transactions().filter(suspicious) {
            self.plain_reads(reader, &mut reads);
            common.index(&reads);
            for (place, &(_, seen)) in reads.iter().enumerate() {
                let again = reads[..place].iter().rev().take(SMALL).any(|&(_, writer)| writer == seen);
                let Some(from) = seen.transaction().filter(|&seen| seen != reader && !again) else { continue };
                common.for_each(self.resolved, from, &reads, |at, read, writer| {
                    if at > place && writer != seen {
                        self.forced.push(Forced { from, to: writer, read: read.event });
                    }
                });
            }
        }
    }

    /// Session order and reads make `t3` see `t2`.
    fn read_atomic(&mut self, concerns: impl Fn(TransactionId) -> bool) {
        let resolved = self.resolved;
        let mut reads = Vec::new();
        let mut common = CommonKeys::default();
        for reader in resolved.transactions().filter(|&reader| concerns(reader)) {
            let suspicion = resolved.suspicions[reader.index()];
            if !suspicion.by_read && !suspicion.by_session {
                continue;
            }
            self.plain_reads(reader, &mut reads);
            if suspicion.by_session {
                self.read_atomic_session(reader, &reads);
            }
            if suspicion.by_read {
                common.index(&reads);
                self.read_atomic_reads(reader, &reads, &common);
            }
        }
    }

    /// The last write of a key in the reader's own session is seen.
    fn read_atomic_session(&mut self, reader: TransactionId, reads: &[(ReadFrom, PackedWriter)]) {
        let session = self.resolved.session(reader);
        for &(read, writer) in reads {
            let writers = self.resolved.writers(read.key);
            let before = writers.partition_point(|&other| other < reader);
            let last = before.checked_sub(1).map(|last| writers[last]);
            let last = last.filter(|&last| writer != last.into() && self.resolved.session(last) == session);
            self.forced.extend(last.map(|last| Forced { from: last, to: writer, read: read.event }));
        }
    }

    fn read_atomic_reads(&mut self, reader: TransactionId, reads: &[(ReadFrom, PackedWriter)], common: &CommonKeys) {
        for (place, &(_, seen)) in reads.iter().enumerate() {
            let again = reads[..place].iter().rev().take(SMALL).any(|&(_, writer)| writer == seen);
            let Some(from) = seen.transaction().filter(|&seen| seen != reader && !again) else { continue };
            common.for_each(self.resolved, from, reads, |_, read, writer| {
                if writer != seen {
                    self.forced.push(Forced { from, to: writer, read: read.event });
                }
            });
        }
    }

    /// Everything in the causal past is seen; per session the last writer of the key is enough.
    fn causal(&mut self, order: &CausalOrder<'_>, concerns: impl Fn(TransactionId) -> bool) {
        let chains = &order.graph.chains;
        for block in order.blocks() {
            let clocks = Clocks::of_chains(order.graph, order.order, block.start, block.len());
            let mut row = vec![Node::FIRST; block.len()];
            for reader in self.resolved.transactions().filter(|&reader| concerns(reader)) {
                let past = self.visible_past(reader, &clocks, chains, &mut row);
                for (read, writer) in chosen_reads(self.resolved, self.choices, reader) {
                    if self.resolved.is_locking(&read) {
                        continue;
                    }
                    last_seen_writers(self.resolved.writers(read.key), chains, &block, past, |seen| {
                        let is_known = |writer| seen == writer || clocks.reaches(chains, node(seen), node(writer));
                        if !writer.transaction().is_some_and(is_known) {
                            self.forced.push(Forced { from: seen, to: writer, read: read.event });
                        }
                    });
                }
            }
        }
    }

    /// The clock of what plain reads of a transaction see: its own clock, less what only its locking reads brought.
    fn visible_past<'r>(
        &self,
        reader: TransactionId,
        clocks: &'r Clocks,
        chains: &Chains,
        row: &'r mut [Node],
    ) -> &'r [Node] {
        if !self.resolved.has_locking {
            return clocks.row(node(reader));
        }
        row.fill(Node::FIRST);
        if let Some(previous) = chains.previous(node(reader)) {
            clocks.join(row, previous, chains);
        }
        for (read, writer) in chosen_reads(self.resolved, self.choices, reader) {
            if let Some(writer) = writer.transaction().filter(|_| !self.resolved.is_locking(&read)) {
                clocks.join(row, node(writer), chains);
            }
        }
        row
    }
}

/// Calls `found` with the last writer in each session of the block that the past includes.
fn last_seen_writers(
    writers: &[TransactionId],
    chains: &Chains,
    block: &std::ops::Range<usize>,
    past: &[Node],
    mut found: impl FnMut(TransactionId),
) {
    if writers.len() <= 4 * block.len() {
        let mut done = usize::MAX;
        for &writer in writers.iter().rev() {
            let chain = chains.chain_of(node(writer));
            if chain != done && block.contains(&chain) && past[chain - block.start] > node(writer) {
                found(writer);
                done = chain;
            }
        }
        return;
    }
    for (chain, &end) in block.clone().zip(past) {
        let before = writers.partition_point(|&writer| node(writer) < end);
        if let Some(&writer) = before.checked_sub(1).map(|last| &writers[last])
            && chains.chain_of(node(writer)) == chain
        {
            found(writer);
        }
    }
}

/// The causal graph and its topological order.
struct CausalOrder<'g> {
    graph: &'g Graph,
    order: &'g [Node],
}

/// Clocks of at most this many entries at once: 1 GiB.
const CLOCK_ENTRIES: usize = 1 << 28;

impl CausalOrder<'_> {
    fn blocks(&self) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let chains = self.graph.chains.chain_count();
        let width = (CLOCK_ENTRIES / self.order.len().max(1)).clamp(1, chains.max(1));
        (0..chains).step_by(width).map(move |start| start..(start + width).min(chains))
    }
}

/// Transactions of at most this many reads are searched one by one.
const SMALL: usize = 12;

/// The reads of one transaction, by key: to walk over those whose key another transaction wrote.
#[derive(Default)]
struct CommonKeys {
    by_key: Vec<(KeyId, u32)>,
}

impl CommonKeys {
    fn index(&mut self, reads: &[(ReadFrom, PackedWriter)]) {
        self.by_key.clear();
        if reads.len() > SMALL {
            self.by_key.extend(reads.iter().enumerate().map(|(place, (read, _))| (read.key, place as u32)));
            self.by_key.sort_unstable();
        }
    }

    /// Calls `found` with every read of a key that `writer` wrote. Walks over the smaller of the two sets.
    fn for_each(
        &self,
        resolved: &Resolved<'_>,
        writer: TransactionId,
        reads: &[(ReadFrom, PackedWriter)],
        mut found: impl FnMut(usize, &ReadFrom, PackedWriter),
    ) {
        let writes = resolved.writes(writer);
        if reads.len() <= SMALL || reads.len() < writes.len() {
            for (place, (read, from)) in reads.iter().enumerate() {
                if wrote(resolved, writer, read.key) {
                    found(place, read, *from);
                }
            }
            return;
        }
        for &key in writes {
            let start = self.by_key.partition_point(|&(known, _)| known < key);
            for &(_, place) in self.by_key[start..].iter().take_while(|&&(known, _)| known == key) {
                let (read, from) = &reads[place as usize];
                found(place as usize, read, *from);
            }
        }
    }
}

/// Whether a transaction wrote a key.
pub(crate) fn wrote(resolved: &Resolved<'_>, transaction: TransactionId, key: KeyId) -> bool {
    let writes = resolved.writes(transaction);
    if writes.len() <= 16 { writes.contains(&key) } else { resolved.writers(key).binary_search(&transaction).is_ok() }
}
