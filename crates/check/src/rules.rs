//! One acyclicity test for many levels: where a dependency starts and ends.
//!
//! A transaction is one or two nodes: begin and commit, with begin → commit. The level of each transaction says which of the two a
//! dependency touches, and a set of dependencies is allowed exactly when no cycle results:
//!
//! | level of… | so, wr into it | ww into it | rw out of it |
//! |---|---|---|---|
//! | serializable (one node) | t → t | t → t | t → t |
//! | snapshot | C → S | C → S | S → C |
//! | prefix | C → S | C → C | S → C |
//! | read-committed, read-atomic, causal (one node) | t → t | t → t | none: forced edges instead |
//!
//! An rw edge ends in a commit, so two of them never compose at snapshot, and a dependency followed by an rw does, through the
//! begin. A locking read is as at serializable whatever the level: rw C → C, and its wr ends in C below snapshot. psi has one node
//! and a rule of its own: no cycle with at most one rw ([`Rules::is_psi`]). Real time is a chain of instants:
//! C(t) → the first instant after t's end; the last instant not after s's begin → S(s).

use crate::graph::{Chains, Graph};
use crate::resolve::{ReadFrom, Resolved};
use skew_history::{IsolationLevel, Outcome, TransactionId};

#[derive(Clone, Debug)]
enum Levels {
    Uniform(IsolationLevel),
    Each(Vec<IsolationLevel>),
}

/// The levels of the transactions of a history, as nodes and edges.
pub(crate) struct Rules<'a, 'h> {
    pub(crate) resolved: &'a Resolved<'h>,
    asked: IsolationLevel,
    levels: Levels,
    /// Per transaction its first node, and the end.
    first_node: Vec<u32>,
    /// The distinct begins, ascending, when real time counts.
    instants: Vec<i64>,
}

use IsolationLevel::*;

impl<'a, 'h> Rules<'a, 'h> {
    pub(crate) fn new(resolved: &'a Resolved<'h>, level: IsolationLevel) -> Rules<'a, 'h> {
        let history = resolved.history;
        let levels = match level {
            StrongSnapshot => Levels::Uniform(Snapshot),
            StrictSerializable => Levels::Uniform(Serializable),
            Declared => Levels::declared(resolved),
            level => Levels::Uniform(level),
        };
        let mut rules = Rules { resolved, asked: level, levels, first_node: Vec::new(), instants: Vec::new() };
        let mut node = 0;
        for transaction in 0..resolved.transaction_count() as u32 {
            rules.first_node.push(node);
            node += if rules.is_split(transaction) { 2 } else { 1 };
        }
        rules.first_node.push(node);
        if level.is_strong() {
            let begins = history.transactions().filter(|transaction| resolved.counts[transaction.index()]);
            rules.instants = begins.filter_map(|transaction| history.times(transaction).begin).collect();
            rules.instants.sort_unstable();
            rules.instants.dedup();
        }
        rules
    }

    /// The level that was asked.
    pub(crate) fn asked(&self) -> IsolationLevel {
        self.asked
    }

    /// The level of a transaction.
    pub(crate) fn level(&self, transaction: u32) -> IsolationLevel {
        match &self.levels {
            Levels::Uniform(level) => *level,
            Levels::Each(levels) => levels[transaction as usize],
        }
    }

    /// Which of the polynomial levels occur.
    pub(crate) fn weak_levels(&self) -> Vec<IsolationLevel> {
        let occurs = |weak: IsolationLevel| match &self.levels {
            Levels::Uniform(level) => *level == weak,
            Levels::Each(levels) => levels.contains(&weak),
        };
        [ReadCommitted, ReadAtomic, Causal].into_iter().filter(|&level| occurs(level)).collect()
    }

    /// Whether the level is psi, which forbids cycles with at most one rw.
    pub(crate) fn is_psi(&self) -> bool {
        matches!(self.levels, Levels::Uniform(ParallelSnapshot))
    }

    fn is_split(&self, transaction: u32) -> bool {
        matches!(self.level(transaction), Prefix | Snapshot)
    }

    pub(crate) fn begin(&self, transaction: u32) -> u32 {
        self.first_node[transaction as usize]
    }

    pub(crate) fn commit(&self, transaction: u32) -> u32 {
        self.first_node[transaction as usize + 1] - 1
    }

    /// The transaction of a node; none when it is an instant.
    pub(crate) fn transaction(&self, node: u32) -> Option<u32> {
        let transactions = self.resolved.transaction_count() as u32;
        if node >= self.first_node[transactions as usize] {
            return None;
        }
        match &self.levels {
            Levels::Uniform(Prefix | Snapshot) => Some(node / 2),
            Levels::Uniform(_) => Some(node),
            Levels::Each(_) => Some(self.first_node.partition_point(|&first| first <= node) as u32 - 1),
        }
    }

    /// Where a dependency "this one's version is overwritten by `later`" ends.
    pub(crate) fn order_target(&self, later: u32) -> u32 {
        if self.level(later) == Snapshot { self.begin(later) } else { self.commit(later) }
    }

    /// Where "read what a later one overwrote" starts; nowhere for the plain reads of the polynomial levels.
    pub(crate) fn overwrite_source(&self, reader: u32, read: &ReadFrom) -> Option<u32> {
        if self.resolved.is_locking(read) {
            return Some(self.commit(reader));
        }
        match self.level(reader) {
            ReadCommitted | ReadAtomic | Causal => None,
            Prefix | Snapshot => Some(self.begin(reader)),
            _ => Some(self.commit(reader)),
        }
    }

    /// Where "read from" ends.
    pub(crate) fn read_target(&self, reader: u32, read: &ReadFrom) -> u32 {
        let binds_only_itself = matches!(self.level(reader), ReadCommitted | ReadAtomic | Causal | Prefix);
        if binds_only_itself && self.resolved.is_locking(read) { self.commit(reader) } else { self.begin(reader) }
    }

    /// Per key, whether the order of its versions matters to anybody.
    pub(crate) fn ordered_keys(&self) -> Vec<bool> {
        let mut ordered = vec![false; self.resolved.history.key_count()];
        for transaction in 0..self.resolved.transaction_count() as u32 {
            if matches!(self.level(transaction), Snapshot | ParallelSnapshot) {
                self.resolved.writes(transaction).iter().for_each(|&key| ordered[key as usize] = true);
            }
            for read in self.resolved.reads(transaction) {
                if self.overwrite_source(transaction, read).is_some() {
                    ordered[read.key as usize] = true;
                }
            }
        }
        ordered
    }

    /// The chains: sessions, and the instants when real time counts.
    pub(crate) fn chains(&self) -> Chains {
        let history = self.resolved.history;
        let mut starts = vec![0];
        for session in history.sessions() {
            let end = history.transactions_of(session).next_back().map(|last| self.first_node[last.index() + 1]);
            starts.push(end.unwrap_or(starts[starts.len() - 1]));
        }
        if !self.instants.is_empty() {
            starts.push(starts[starts.len() - 1] + self.instants.len() as u32);
        }
        Chains::new(starts)
    }

    /// Adds what is certain from the start: certain reads and real time. List orders are [`Rules::add_list_orders`].
    pub(crate) fn add_certain(&self, graph: &mut Graph) {
        for reader in 0..self.resolved.transaction_count() as u32 {
            for read in self.resolved.reads(reader) {
                if let Some(writer) = read.transaction() {
                    graph.add(self.commit(writer), self.read_target(reader, read));
                }
            }
        }
        self.add_list_orders(graph);
        self.add_real_time(graph);
    }

    fn add_list_orders(&self, graph: &mut Graph) {
        for (_, order, unread) in self.resolved.lists.orders() {
            order.windows(2).for_each(|pair| graph.add(self.commit(pair[0]), self.order_target(pair[1])));
            if let Some(&last) = order.last() {
                unread.iter().for_each(|&later| graph.add(self.commit(last), self.order_target(later)));
            }
        }
    }

    fn add_real_time(&self, graph: &mut Graph) {
        if self.instants.is_empty() {
            return;
        }
        let history = self.resolved.history;
        let first_instant = self.first_node[self.resolved.transaction_count()];
        for transaction in history.transactions().filter(|transaction| self.resolved.counts[transaction.index()]) {
            let times = history.times(transaction);
            if let Some(begin) = times.begin {
                let at = self.instants.partition_point(|&instant| instant <= begin) as u32 - 1;
                graph.add(first_instant + at, self.begin(transaction.0));
            }
            if let Some(end) = self.end(transaction) {
                let after = self.instants.partition_point(|&instant| instant <= end);
                if after < self.instants.len() {
                    graph.add(self.commit(transaction.0), first_instant + after as u32);
                }
            }
        }
    }

    /// An unknown outcome ends at infinity: it may take effect at any time.
    fn end(&self, transaction: TransactionId) -> Option<i64> {
        let history = self.resolved.history;
        history.times(transaction).end.filter(|_| history.outcome(transaction) != Outcome::Unknown)
    }
}

impl Levels {
    fn declared(resolved: &Resolved<'_>) -> Levels {
        let history = resolved.history;
        let level = |transaction| history.declared_level(transaction).unwrap_or(Serializable);
        let counting = history.transactions().filter(|transaction| resolved.counts[transaction.index()]);
        let mut all_psi = counting.map(level).peekable();
        if all_psi.peek().is_some() && all_psi.all(|level| level == ParallelSnapshot) {
            return Levels::Uniform(ParallelSnapshot);
        }
        Levels::Each(history.transactions().map(level).collect())
    }
}

/// Whether "must have seen" at this level does not mention the commit order.
pub(crate) fn is_weak(level: IsolationLevel) -> bool {
    matches!(level, ReadCommitted | ReadAtomic | Causal)
}
