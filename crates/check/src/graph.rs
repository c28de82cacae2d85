//! A graph whose nodes stand in chains, and its topological order.
//!
//! Every session is a chain: its nodes are neighbours and each precedes the next, so these edges need no storage. Everything
//! else is an explicit edge. Edges are only ever added, in *stages*: what was concluded from the edges of a stage belongs to the
//! next one, so that a conclusion can later be explained by earlier edges alone.
//!
//! ```text
//!   chain 0    0 ── 1 ── 2 ── 3
//!                    \        ^
//!   chain 1    4 ── 5 ─ ─ ─ ─ ┘         5→3 an explicit edge
//! ```

use crate::ids::dense_id;

dense_id!(
    /// A node of a graph. What it stands for is for whoever made the graph to say.
    Node
);

impl Node {
    /// The first node there is.
    pub(crate) const FIRST: Node = Node(0);

    /// The node with the number after this one's.
    pub(crate) fn following(self) -> Node {
        Node(self.0 + 1)
    }
}

/// The chains of a graph: node numbers of a chain are neighbours.
#[derive(Clone, Debug)]
pub(crate) struct Chains {
    /// The first node of each chain, and the end.
    starts: Vec<Node>,
    /// Per node its chain.
    chain_of: Vec<u32>,
}

impl Chains {
    /// Chains that begin at these nodes; the last entry is the number of nodes.
    pub(crate) fn new(starts: Vec<Node>) -> Chains {
        let mut chain_of = Vec::with_capacity(starts.last().map_or(0, |end| end.index()));
        for (chain, ends) in starts.windows(2).enumerate() {
            chain_of.resize(ends[1].index(), chain as u32);
        }
        Chains { starts, chain_of }
    }

    pub(crate) fn chain_count(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn node_count(&self) -> usize {
        self.chain_of.len()
    }

    pub(crate) fn chain_of(&self, node: Node) -> usize {
        self.chain_of[node.index()] as usize
    }

    /// The node before this one in its chain.
    pub(crate) fn previous(&self, node: Node) -> Option<Node> {
        (node > self.starts[self.chain_of(node)]).then(|| Node(node.0 - 1))
    }

    /// The node after this one in its chain.
    pub(crate) fn next(&self, node: Node) -> Option<Node> {
        Some(node.following()).filter(|&next| next < self.starts[self.chain_of(node) + 1])
    }
}

/// A cycle: nodes, each with an edge to the next, the last one to the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cycle(pub(crate) Vec<Node>);

/// Chains and edges.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) chains: Chains,
    edges: Vec<(Node, Node)>,
    /// The number of edges when each stage but the first began.
    stages: Vec<u32>,
    /// Edges by target, as `(source, edge)`; valid for the edges that were there at the last `index`.
    predecessor_starts: Vec<u32>,
    predecessors: Vec<Node>,
}

impl Graph {
    pub(crate) fn new(chains: Chains) -> Graph {
        Graph {
            chains,
            edges: Vec::new(),
            stages: Vec::new(),
            predecessor_starts: Vec::new(),
            predecessors: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, from: Node, to: Node) {
        self.edges.push((from, to));
    }

    /// What is added from now on was concluded from what is there.
    pub(crate) fn begin_stage(&mut self) {
        self.stages.push(self.edges.len() as u32);
    }

    /// The number of the stage that is being added to.
    pub(crate) fn stage(&self) -> usize {
        self.stages.len()
    }

    pub(crate) fn edges(&self) -> &[(Node, Node)] {
        &self.edges
    }

    /// The edges of the stages before this one.
    pub(crate) fn edges_before(&self, stage: usize) -> &[(Node, Node)] {
        // Stage `s` begins at `stages[s - 1]`; before it are the stages `0..s`.
        let end = match stage.checked_sub(1) {
            None => 0,
            Some(begin) => self.stages.get(begin).map_or(self.edges.len(), |&begin| begin as usize),
        };
        &self.edges[..end]
    }

    /// The stage that an edge belongs to.
    pub(crate) fn stage_of(&self, edge: usize) -> usize {
        self.stages.partition_point(|&start| start as usize <= edge)
    }

    /// Sorts the edges by target, for [`Graph::predecessors`].
    pub(crate) fn index(&mut self) {
        let nodes = self.chains.node_count();
        let starts = &mut self.predecessor_starts;
        starts.clear();
        starts.resize(nodes + 1, 0);
        for &(_, to) in &self.edges {
            starts[to.index() + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        self.predecessors.clear();
        self.predecessors.resize(self.edges.len(), Node::FIRST);
        let mut next = starts.clone();
        for &(from, to) in &self.edges {
            self.predecessors[next[to.index()] as usize] = from;
            next[to.index()] += 1;
        }
    }

    /// The sources of the explicit edges into a node.
    pub(crate) fn predecessors(&self, node: Node) -> &[Node] {
        let at = node.index();
        &self.predecessors[self.predecessor_starts[at] as usize..self.predecessor_starts[at + 1] as usize]
    }

    /// The nodes in an order that agrees with all edges, or a cycle. Chains advance in turns, so the order resembles the one in
    /// which sessions that ran side by side took their steps.
    pub(crate) fn topological_order(&self) -> Result<Vec<Node>, Cycle> {
        Sorter::new(self).run()
    }
}

const NONE: u32 = u32::MAX;

/// Chains wait for single nodes: each waits in the list of the first predecessor of its head that is not placed yet.
struct Sorter<'g> {
    graph: &'g Graph,
    order: Vec<Node>,
    /// Per chain the next node to place.
    head: Vec<Node>,
    /// Per chain how many predecessors of its head are known to be placed.
    checked: Vec<u32>,
    /// Per node the first chain that waits for it; per chain the next in that list.
    first_waiting: Vec<u32>,
    next_waiting: Vec<u32>,
    ready: std::collections::VecDeque<u32>,
}

impl<'g> Sorter<'g> {
    fn new(graph: &'g Graph) -> Sorter<'g> {
        let chains = graph.chains.chain_count();
        Sorter {
            graph,
            order: Vec::with_capacity(graph.chains.node_count()),
            head: graph.chains.starts[..chains].to_vec(),
            checked: vec![0; chains],
            first_waiting: vec![NONE; graph.chains.node_count()],
            next_waiting: vec![NONE; chains],
            ready: (0..chains as u32).collect(),
        }
    }

    fn run(mut self) -> Result<Vec<Node>, Cycle> {
        while let Some(chain) = self.ready.pop_front() {
            self.advance(chain as usize);
        }
        if self.order.len() == self.graph.chains.node_count() { Ok(self.order) } else { Err(self.cycle()) }
    }

    fn is_placed(&self, node: Node) -> bool {
        node < self.head[self.graph.chains.chain_of(node)]
    }

    /// Places the next node of a chain, then lets the next chain have its turn.
    fn advance(&mut self, chain: usize) {
        let node = self.head[chain];
        if node == self.graph.chains.starts[chain + 1] {
            return;
        }
        if let Some(blocker) = self.blocker(chain) {
            self.next_waiting[chain] = std::mem::replace(&mut self.first_waiting[blocker.index()], chain as u32);
            return;
        }
        self.order.push(node);
        self.head[chain] = node.following();
        self.checked[chain] = 0;
        self.wake(node);
        self.ready.push_back(chain as u32);
    }

    fn blocker(&mut self, chain: usize) -> Option<Node> {
        let predecessors = self.graph.predecessors(self.head[chain]);
        while let Some(&predecessor) = predecessors.get(self.checked[chain] as usize) {
            if !self.is_placed(predecessor) {
                return Some(predecessor);
            }
            self.checked[chain] += 1;
        }
        None
    }

    fn wake(&mut self, node: Node) {
        let mut waiting = std::mem::replace(&mut self.first_waiting[node.index()], NONE);
        while waiting != NONE {
            self.ready.push_back(waiting);
            waiting = std::mem::replace(&mut self.next_waiting[waiting as usize], NONE);
        }
    }

    /// Every unfinished chain waits for a node of another unfinished chain (or of its own): following that goes round.
    fn cycle(mut self) -> Cycle {
        let chains = &self.graph.chains;
        let stuck = (0..chains.chain_count()).find(|&chain| self.head[chain] < chains.starts[chain + 1]);
        let mut chain = stuck.expect("an order that is not complete leaves a chain behind");
        let mut visited: Vec<usize> = Vec::new();
        while !visited.contains(&chain) {
            visited.push(chain);
            let blocker = self.blocker(chain).expect("a stuck chain waits for somebody");
            chain = self.graph.chains.chain_of(blocker);
        }
        let round = visited.iter().position(|&seen| seen == chain).expect("the loop ended at a visited chain");
        // Backwards: the head of a chain, its blocker, down the blocker's chain to that chain's head, and so on.
        let mut backwards = Vec::new();
        for &chain in &visited[round..] {
            let blocker = self.blocker(chain).expect("a stuck chain waits for somebody");
            let head = self.head[self.graph.chains.chain_of(blocker)];
            backwards.extend((head.0..=blocker.0).rev().map(Node));
        }
        backwards.reverse();
        Cycle(backwards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(starts: &[u32], edges: &[(u32, u32)]) -> Graph {
        let mut graph = Graph::new(Chains::new(starts.iter().copied().map(Node).collect()));
        edges.iter().for_each(|&(from, to)| graph.add(Node(from), Node(to)));
        graph.index();
        graph
    }

    fn has_edge(graph: &Graph, from: Node, to: Node) -> bool {
        graph.chains.next(from) == Some(to) || graph.edges().contains(&(from, to))
    }

    #[test]
    fn an_order_agrees_with_chains_and_edges() {
        let graph = graph(&[0, 3, 6], &[(4, 1), (2, 5)]);
        let order = graph.topological_order().unwrap();
        let place = |node| order.iter().position(|&other| other == Node(node)).unwrap();
        assert_eq!(order.len(), 6);
        assert!(place(4) < place(1) && place(2) < place(5) && place(0) < place(1));
    }

    #[test]
    fn a_cycle_is_one() {
        for edges in
            [vec![(2, 3), (5, 0)], vec![(1, 1)], vec![(1, 4), (5, 0)], vec![(0, 3), (3, 6), (8, 2), (7, 1), (8, 3)]]
        {
            let graph = graph(&[0, 3, 6, 9], &edges);
            let Err(Cycle(nodes)) = graph.topological_order() else { panic!("{edges:?} has a cycle") };
            for (place, &node) in nodes.iter().enumerate() {
                assert!(has_edge(&graph, node, nodes[(place + 1) % nodes.len()]), "{nodes:?} in {edges:?}");
            }
        }
    }

    #[test]
    fn stages_remember_what_was_there() {
        let mut graph = graph(&[0, 3, 6], &[(4, 1)]);
        graph.begin_stage();
        graph.add(Node(2), Node(5));
        assert_eq!(graph.edges_before(0), []);
        assert_eq!(graph.edges_before(1), [(Node(4), Node(1))]);
        assert_eq!(graph.edges_before(2), [(Node(4), Node(1)), (Node(2), Node(5))]);
        assert_eq!((graph.stage_of(0), graph.stage_of(1)), (0, 1));
    }
}
