//! The moments that matter, as nodes of a graph.
//!
//! A cycle enters a transaction at one moment and leaves it at a later one. So neighbours are one node unless something leaves at the earlier and
//! something else enters at the later of them:
//!
//! ```text
//!   SELECT x; UPDATE y; UPDATE z       S   1 in, out   2 in   3 in   C in, out          ──>   S · 1 · (2 3 C)
//! ```
//!
//! That is what keeps the graph as small as that of the papers' levels: at repeatable read a transaction has two nodes, or three.
//!
//! Behind the nodes of moments stand the instants of real time, a chain of their own, and, where PostgreSQL's serializable is asked, one node per
//! transaction and the same instants once more: a second graph beside the first.

use super::looks::{Looks, Moment};
use crate::clock::Clocks;
use crate::graph::{Chains, Graph, Node};
use crate::resolve::Resolved;
use skew_history::{Outcome, TransactionId};

const ENTERED: u8 = 1;
const LEFT: u8 = 2;

/// What can happen at moments.
pub(super) struct Marks(Vec<u8>);

impl Marks {
    pub(super) fn new(moments: usize) -> Marks {
        Marks(vec![0; moments])
    }

    /// An edge may end here.
    pub(super) fn enter(&mut self, moment: Moment) {
        self.0[moment.index()] |= ENTERED;
    }

    /// An edge may start here.
    pub(super) fn leave(&mut self, moment: Moment) {
        self.0[moment.index()] |= LEFT;
    }
}

/// Who reaches whom, in both graphs: no edge leads from one to the other.
pub(super) struct ServerReach {
    first_serial: Node,
    moments: Clocks,
    serial: Clocks,
}

impl ServerReach {
    /// Whether there is a path, of at least one edge.
    pub(super) fn reaches(&self, chains: &Chains, from: Node, to: Node) -> bool {
        match (from < self.first_serial, to < self.first_serial) {
            (true, true) => self.moments.reaches(chains, from, to),
            (false, false) => self.serial.reaches(chains, from, to),
            _ => false,
        }
    }
}

/// Where everything stands.
pub(super) struct Nodes {
    of_moment: Vec<Node>,
    /// The first moment of each node.
    first_moments: Vec<Moment>,
    /// The distinct begins, ascending.
    instants: Vec<i64>,
    /// The first node of the second graph: a transaction each.
    first_serial: Option<usize>,
    pub(super) chains: Chains,
}

impl Nodes {
    pub(super) fn new(resolved: &Resolved<'_>, looks: &Looks, marks: &Marks, serial: bool) -> Nodes {
        let history = resolved.history;
        let mut of_moment = Vec::with_capacity(looks.moment_count());
        let mut first_moments = Vec::new();
        let mut starts = vec![Node::FIRST];
        for session in history.sessions() {
            for transaction in history.transactions_of(session) {
                number(looks, marks, transaction, &mut of_moment, &mut first_moments);
            }
            starts.push(Node::new(first_moments.len()));
        }
        let instants = instants(resolved);
        let last = |starts: &[Node]| starts[starts.len() - 1].index();
        if !instants.is_empty() {
            starts.push(Node::new(last(&starts) + instants.len()));
        }
        let first_serial = serial.then_some(last(&starts));
        if let Some(first) = first_serial {
            for session in history.sessions() {
                let end = history.transactions_of(session).next_back().map(|last| first + last.index() + 1);
                starts.push(end.map_or(starts[starts.len() - 1], Node::new));
            }
            if !instants.is_empty() {
                starts.push(Node::new(last(&starts) + instants.len()));
            }
        }
        Nodes { of_moment, first_moments, instants, first_serial, chains: Chains::new(starts) }
    }

    /// The node of a moment.
    pub(super) fn of(&self, moment: Moment) -> Node {
        self.of_moment[moment.index()]
    }

    /// The node of a transaction in the second graph.
    pub(super) fn serial(&self, transaction: TransactionId) -> Option<Node> {
        self.first_serial.map(|first| Node::new(first + transaction.index()))
    }

    /// The transaction of a node of the second graph.
    pub(super) fn serial_at(&self, node: Node, transactions: usize) -> Option<TransactionId> {
        let number = node.index().checked_sub(self.first_serial?)?;
        (number < transactions).then_some(TransactionId(number as u32))
    }

    /// Who reaches whom in a graph of these nodes, which is given in topological order.
    pub(super) fn reach(&self, graph: &Graph, order: &[Node]) -> ServerReach {
        let (nodes, chains) = (self.chains.node_count(), self.chains.chain_count());
        let first_serial = self.first_serial.unwrap_or(nodes);
        let first_chain = if first_serial < nodes { self.chains.chain_of(Node::new(first_serial)) } else { chains };
        let moments = Clocks::of_part(graph, order, 0..first_serial, 0, first_chain);
        let serial = Clocks::of_part(graph, order, first_serial..nodes, first_chain, chains - first_chain);
        ServerReach { first_serial: Node::new(first_serial), moments, serial }
    }

    /// The moments of a node; none when it stands for something else.
    pub(super) fn moments(&self, node: Node) -> std::ops::Range<usize> {
        match self.first_moments.get(node.index()) {
            None => 0..0,
            Some(first) => {
                let next = self.first_moments.get(node.index() + 1).map_or(self.of_moment.len(), |next| next.index());
                first.index()..next
            }
        }
    }

    /// Adds what real time says.
    pub(super) fn add_real_time(&self, resolved: &Resolved<'_>, looks: &Looks, graph: &mut Graph) {
        let history = resolved.history;
        let first = self.first_moments.len();
        let again = self.first_serial.map(|serial| serial + history.transaction_count());
        for transaction in history.transactions().filter(|&one| resolved.counts(one) && !self.instants.is_empty()) {
            let (begin, end) = (self.of(looks.begin(transaction)), self.of(looks.end(transaction)));
            let serial = self.serial(transaction);
            let times = history.times(transaction);
            if let Some(moment) = times.begin {
                let at = self.instants.partition_point(|&instant| instant <= moment) - 1;
                graph.add(Node::new(first + at), begin);
                again.zip(serial).into_iter().for_each(|(again, serial)| graph.add(Node::new(again + at), serial));
            }
            // An unknown outcome ends at infinity.
            if let Some(moment) = times.end.filter(|_| history.outcome(transaction) != Outcome::Unknown) {
                let after = self.instants.partition_point(|&instant| instant <= moment);
                if after < self.instants.len() {
                    graph.add(end, Node::new(first + after));
                    again
                        .zip(serial)
                        .into_iter()
                        .for_each(|(again, serial)| graph.add(serial, Node::new(again + after)));
                }
            }
        }
    }
}

fn instants(resolved: &Resolved<'_>) -> Vec<i64> {
    let history = resolved.history;
    let counting = history.transactions().filter(|&transaction| resolved.counts(transaction));
    let mut instants: Vec<i64> = counting.filter_map(|transaction| history.times(transaction).begin).collect();
    instants.sort_unstable();
    instants.dedup();
    instants
}

/// Numbers the nodes of a transaction.
fn number(
    looks: &Looks,
    marks: &Marks,
    transaction: TransactionId,
    of_moment: &mut Vec<Node>,
    first_moments: &mut Vec<Moment>,
) {
    let moments = looks.moments_of(transaction);
    let mut is_left = true;
    for moment in moments.clone() {
        let mark = marks.0[moment];
        if moment == moments.start || is_left && mark & ENTERED != 0 {
            first_moments.push(Moment::new(moment));
            is_left = false;
        }
        is_left |= mark & LEFT != 0;
        of_moment.push(Node::new(first_moments.len() - 1));
    }
}
