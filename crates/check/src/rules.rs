//! One acyclicity test for many levels: where a dependency starts and ends.
//!
//! A transaction is one or two nodes: begin and commit, with begin → commit. The rule of each transaction ([`crate::levels`]) says which of
//! the two a dependency touches, and a set of dependencies is allowed exactly when no cycle results:
//!
//! ```text
//!   t1: w(x,1)     t2: r(x,init) w(y,2)          t2 ─rw→ t1      at snapshot   S(t2) ──> C(t1)      at serializable   t2 ──> t1
//! ```
//!
//! An rw edge ends in a commit, so two of them never compose at snapshot, and a dependency followed by an rw does, through the
//! begin. A locking read is as at serializable whatever the level: rw C → C, and its wr ends in C below snapshot. psi has one node
//! and watches its overwrites: no cycle with at most one rw ([`Rules::watches_overwrites`]). Real time is a chain of instants:
//! C(t) → the first instant after t's end; the last instant not after s's begin → S(s).

use crate::graph::{Chains, Graph, Node};
use crate::levels::{self, Holds, Reads, Rule, Sight, TransactionNode};
use crate::resolve::{ReadFrom, Resolved};
use skew_history::{IsolationLevel, Outcome, TransactionId};

/// What the transactions are held to.
enum Held {
    Alike(&'static Rule),
    Each(Vec<&'static Rule>),
}

/// The levels of the transactions of a history, as nodes and edges.
pub(crate) struct Rules<'a, 'h> {
    pub(crate) resolved: &'a Resolved<'h>,
    asked: IsolationLevel,
    held: Held,
    /// Per transaction its first node, and the end.
    first_node: Vec<Node>,
    /// The distinct begins, ascending, when real time counts.
    instants: Vec<i64>,
}

impl<'a, 'h> Rules<'a, 'h> {
    pub(crate) fn new(resolved: &'a Resolved<'h>, level: IsolationLevel) -> Rules<'a, 'h> {
        let history = resolved.history;
        let (held, in_real_time) = match &levels::row(level).holds {
            Holds::All(rule) => (Held::Alike(rule), false),
            Holds::InRealTime(level) => (Held::Alike(levels::rule(*level)), true),
            Holds::AsDeclared => (Held::as_declared(resolved), false),
            Holds::OnServer(_) => unreachable!("a level of an engine is decided by statements"),
        };
        let mut rules = Rules { resolved, asked: level, held, first_node: Vec::new(), instants: Vec::new() };
        let mut node = Node::FIRST;
        for transaction in resolved.transactions() {
            rules.first_node.push(node);
            node = if rules.rule(transaction).is_split { node.following().following() } else { node.following() };
        }
        rules.first_node.push(node);
        if in_real_time {
            let begins = history.transactions().filter(|&transaction| resolved.counts(transaction));
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

    /// What a transaction is held to.
    fn rule(&self, transaction: TransactionId) -> &'static Rule {
        match &self.held {
            Held::Alike(rule) => rule,
            Held::Each(rules) => rules[transaction.index()],
        }
    }

    /// What a transaction must have seen, where that does not depend on the commit order.
    pub(crate) fn sight(&self, transaction: TransactionId) -> Option<Sight> {
        self.rule(transaction).sight()
    }

    /// The kinds of sight that occur.
    pub(crate) fn sights(&self) -> Vec<Sight> {
        let occurs = |sight: Sight| match &self.held {
            Held::Alike(rule) => rule.sight() == Some(sight),
            Held::Each(rules) => rules.iter().any(|rule| rule.sight() == Some(sight)),
        };
        Sight::ALL.into_iter().filter(|&sight| occurs(sight)).collect()
    }

    /// Whether overwrites are no edges (psi): cycles with at most one rw are forbidden.
    pub(crate) fn watches_overwrites(&self) -> bool {
        matches!(self.held, Held::Alike(rule) if rule.watches_overwrites())
    }

    fn at(&self, transaction: TransactionId, which: TransactionNode) -> Node {
        match which {
            TransactionNode::Begin => self.begin(transaction),
            TransactionNode::Commit => self.commit(transaction),
        }
    }

    pub(crate) fn begin(&self, transaction: TransactionId) -> Node {
        self.first_node[transaction.index()]
    }

    pub(crate) fn commit(&self, transaction: TransactionId) -> Node {
        Node::new(self.first_node[transaction.index() + 1].index() - 1)
    }

    /// The transaction of a node; none when it is an instant.
    pub(crate) fn transaction(&self, node: Node) -> Option<TransactionId> {
        if node >= self.first_instant() {
            return None;
        }
        let number = match &self.held {
            Held::Alike(rule) if rule.is_split => node.index() / 2,
            Held::Alike(_) => node.index(),
            Held::Each(_) => self.first_node.partition_point(|&first| first <= node) - 1,
        };
        Some(TransactionId(number as u32))
    }

    /// The node of the first instant of real time, behind those of the transactions.
    fn first_instant(&self) -> Node {
        self.first_node[self.resolved.transaction_count()]
    }

    /// Where a dependency "this one's version is overwritten by `later`" ends.
    pub(crate) fn order_target(&self, later: TransactionId) -> Node {
        self.at(later, self.rule(later).version_order_ends)
    }

    /// Where "read what a later one overwrote" starts; nowhere for the plain reads of the polynomial levels.
    pub(crate) fn overwrite_source(&self, reader: TransactionId, read: &ReadFrom) -> Option<Node> {
        if self.resolved.is_locking(read) {
            return Some(self.commit(reader));
        }
        match self.rule(reader).reads {
            Reads::Seen(_) => None,
            Reads::LatestAt(which) => Some(self.at(reader, which)),
        }
    }

    /// Where "read from" ends.
    pub(crate) fn read_target(&self, reader: TransactionId, read: &ReadFrom) -> Node {
        let locking = self.resolved.is_locking(read);
        self.at(reader, if locking { self.rule(reader).locking_read_ends } else { TransactionNode::Begin })
    }

    /// Per key, whether the order of its versions matters to anybody.
    pub(crate) fn ordered_keys(&self) -> Vec<bool> {
        let mut ordered = vec![false; self.resolved.history.key_count()];
        for transaction in self.resolved.transactions() {
            if self.rule(transaction).writes_conflict {
                self.resolved.writes(transaction).iter().for_each(|key| ordered[key.index()] = true);
            }
            for read in self.resolved.reads(transaction) {
                if self.overwrite_source(transaction, read).is_some() {
                    ordered[read.key.index()] = true;
                }
            }
        }
        ordered
    }

    /// The chains: sessions, and the instants when real time counts.
    pub(crate) fn chains(&self) -> Chains {
        let history = self.resolved.history;
        let mut starts = vec![Node::FIRST];
        for session in history.sessions() {
            let end = history.transactions_of(session).next_back().map(|last| self.first_node[last.index() + 1]);
            starts.push(end.unwrap_or(starts[starts.len() - 1]));
        }
        if !self.instants.is_empty() {
            starts.push(Node::new(starts[starts.len() - 1].index() + self.instants.len()));
        }
        Chains::new(starts)
    }

    /// Adds what is certain from the start: certain reads and real time. List orders are [`Rules::add_list_orders`].
    pub(crate) fn add_certain(&self, graph: &mut Graph) {
        for reader in self.resolved.transactions() {
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
        let instant = |number: usize| Node::new(self.first_instant().index() + number);
        for transaction in history.transactions().filter(|&transaction| self.resolved.counts(transaction)) {
            let times = history.times(transaction);
            if let Some(begin) = times.begin {
                let at = self.instants.partition_point(|&instant| instant <= begin) - 1;
                graph.add(instant(at), self.begin(transaction));
            }
            if let Some(end) = self.end(transaction) {
                let after = self.instants.partition_point(|&instant| instant <= end);
                if after < self.instants.len() {
                    graph.add(self.commit(transaction), instant(after));
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

impl Held {
    fn as_declared(resolved: &Resolved<'_>) -> Held {
        let history = resolved.history;
        let declared = |transaction| history.declared_level(transaction).filter(|level| level.is_of_transactions());
        let rule = |transaction| levels::rule(declared(transaction).unwrap_or(IsolationLevel::Serializable));
        let mut counting = history.transactions().filter(|&transaction| resolved.counts(transaction)).map(rule);
        match counting.next().filter(|first| !first.mixes()) {
            Some(first) if counting.all(|rule| rule == first) => Held::Alike(first),
            _ => Held::Each(history.transactions().map(rule).collect()),
        }
    }
}
