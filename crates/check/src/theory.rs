//! Acyclicity while edges come and go.
//!
//! The nodes stand in a row that agrees with all edges (Pearce & Kelly 2006). A new edge that agrees with the row costs nothing; one
//! that does not makes the nodes between its ends change places, or shows a cycle. Taking edges away leaves the row as it is: it
//! still agrees with the rest, and it is a good guess for what to decide next.
//!
//! ```text
//!   row:  … v … w … u …     new edge u → v:    v reaches u?  a cycle.   else  move what reaches u before what v reaches
//! ```
//!
//! psi forbids less: dependencies must be acyclic, and no dependency path may lead from an overwriter back to the reader. Its overwrites
//! are watched, not inserted.

use crate::graph::{Chains, Graph, Node};
use crate::ids::dense_id;

dense_id!(
    /// A variable of the search.
    Variable
);

dense_id!(
    /// A literal of the search: variable times two, plus one when negated.
    Lit
);

dense_id!(
    /// One of the conditional edges.
    ConditionalId
);

/// No literal.
pub(crate) const NO_LIT: Lit = Lit(u32::MAX);

impl Variable {
    /// That it is true.
    pub(crate) fn positive(self) -> Lit {
        Lit::new(self.index() << 1)
    }
}

impl Lit {
    pub(crate) fn variable(self) -> Variable {
        Variable(self.0 >> 1)
    }

    /// The value that makes it true.
    pub(crate) fn is_positive(self) -> bool {
        self.0 & 1 == 0
    }

    /// The opposite.
    pub(crate) fn negated(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

/// An edge that holds while up to two literals do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Conditional {
    pub(crate) from: Node,
    pub(crate) to: Node,
    /// The literals; none of them, one or both may be [`NO_LIT`].
    pub(crate) literals: [Lit; 2],
    pub(crate) role: Role,
}

/// What an edge is to the theory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// It stands in the graph.
    Dependency,
    /// At psi, the overwrite of a locking read: it stands in the graph, but is no dependency to come back by.
    LockingOverwrite,
    /// At psi, an overwrite: no dependencies may lead back from its end to its start.
    Watched,
}

/// One edge of a cycle that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hop {
    /// Certain: a chain or an edge of the known graph.
    Known { from: Node, to: Node },
    /// At psi: a certain overwrite.
    KnownOverwrite { from: Node, to: Node },
    /// One of the conditional edges.
    Conditional(ConditionalId),
}

const NONE: u32 = u32::MAX;

struct Inserted {
    edge: ConditionalId,
    next_out: u32,
    next_in: u32,
}

/// The row of nodes, the known graph and the edges that hold now.
pub(crate) struct Theory<'g> {
    chains: &'g Chains,
    known: &'g Graph,
    successor_starts: Vec<u32>,
    successors: Vec<Node>,
    pub(crate) conditionals: Vec<Conditional>,
    /// Certain overwrites at psi.
    watched_known: Vec<(Node, Node)>,
    row: Vec<u32>,
    inserted: Vec<Inserted>,
    first_out: Vec<u32>,
    first_in: Vec<u32>,
    watched: Vec<ConditionalId>,
    marks: Vec<u32>,
    mark: u32,
    /// Nodes walked over, for the budget.
    pub(crate) steps: u64,
}

impl<'g> Theory<'g> {
    /// The known graph, its order, and the edges that may come.
    pub(crate) fn new(
        known: &'g Graph,
        order: &[Node],
        watched_known: Vec<(Node, Node)>,
        conditionals: Vec<Conditional>,
    ) -> Theory<'g> {
        let nodes = order.len();
        let mut row = vec![0; nodes];
        for (place, &node) in order.iter().enumerate() {
            row[node.index()] = place as u32;
        }
        let (successor_starts, successors) = by_source(known, nodes);
        Theory {
            chains: &known.chains,
            known,
            successor_starts,
            successors,
            conditionals,
            watched_known,
            row,
            inserted: Vec::new(),
            first_out: vec![NONE; nodes],
            first_in: vec![NONE; nodes],
            watched: Vec::new(),
            marks: vec![0; nodes],
            mark: 0,
            steps: 0,
        }
    }

    /// Where a node stands now.
    pub(crate) fn place(&self, node: Node) -> u32 {
        self.row[node.index()]
    }

    /// How many edges hold, and how many are watched: to go back to.
    pub(crate) fn level(&self) -> (usize, usize) {
        (self.inserted.len(), self.watched.len())
    }

    /// Takes away the edges since then.
    pub(crate) fn back_to(&mut self, (inserted, watched): (usize, usize)) {
        while self.inserted.len() > inserted {
            let last = self.inserted.pop().expect("longer than the target");
            let edge = self.conditionals[last.edge.index()];
            self.first_out[edge.from.index()] = last.next_out;
            self.first_in[edge.to.index()] = last.next_in;
        }
        self.watched.truncate(watched);
    }

    /// The conditional edges in the graph now, with their ends.
    pub(crate) fn holding(&self) -> Vec<(ConditionalId, Node, Node)> {
        let edges = self.inserted.iter().map(|inserted| inserted.edge);
        edges.map(|edge| (edge, self.conditionals[edge.index()].from, self.conditionals[edge.index()].to)).collect()
    }

    /// Makes a conditional edge hold, or returns the cycle that it closes.
    pub(crate) fn insert(&mut self, number: ConditionalId) -> Result<(), Vec<Hop>> {
        let edge = self.conditionals[number.index()];
        if edge.role == Role::Watched {
            if let Some(path) = self.path(edge.to, edge.from, Role::Dependency) {
                return Err(closed(number, path));
            }
            self.watched.push(number);
            return Ok(());
        }
        if edge.from == edge.to {
            return Err(vec![Hop::Conditional(number)]);
        }
        if self.place(edge.from) > self.place(edge.to) && !self.reorder(edge.from, edge.to) {
            let path = self.path(edge.to, edge.from, Role::LockingOverwrite).expect("the walk found a path");
            return Err(closed(number, path));
        }
        let next_out = std::mem::replace(&mut self.first_out[edge.from.index()], self.inserted.len() as u32);
        let next_in = std::mem::replace(&mut self.first_in[edge.to.index()], self.inserted.len() as u32);
        self.inserted.push(Inserted { edge: number, next_out, next_in });
        Ok(())
    }

    /// At psi: whether some overwrite is violated by the dependencies that hold now.
    pub(crate) fn violated_overwrite(&mut self) -> Option<Vec<Hop>> {
        for place in 0..self.watched.len() {
            let number = self.watched[place];
            let edge = self.conditionals[number.index()];
            if let Some(path) = self.path(edge.to, edge.from, Role::Dependency) {
                return Some(closed(number, path));
            }
        }
        for place in 0..self.watched_known.len() {
            let (from, to) = self.watched_known[place];
            if let Some(mut path) = self.path(to, from, Role::Dependency) {
                path.insert(0, Hop::KnownOverwrite { from, to });
                return Some(path);
            }
        }
        None
    }

    /// Moves nodes so that `from` stands before `to`; false when `to` reaches `from`.
    fn reorder(&mut self, from: Node, to: Node) -> bool {
        let (low, high) = (self.place(to), self.place(from));
        let Some(mut after) = self.forward(to, high) else { return false };
        let mut before = self.backward(from, low);
        self.steps += (after.len() + before.len()) as u64;
        after.sort_unstable_by_key(|&node| self.place(node));
        before.sort_unstable_by_key(|&node| self.place(node));
        let mut places: Vec<u32> = before.iter().chain(&after).map(|&node| self.place(node)).collect();
        places.sort_unstable();
        for (&node, &place) in before.iter().chain(&after).zip(&places) {
            self.row[node.index()] = place;
        }
        true
    }

    /// What `start` reaches up to a place; nothing when that includes the node at the place itself.
    fn forward(&mut self, start: Node, high: u32) -> Option<Vec<Node>> {
        let mut marks = self.fresh_marks();
        let mark = self.mark;
        marks[start.index()] = mark;
        let mut found = vec![start];
        let (mut next, mut hit) = (0, false);
        while next < found.len() && !hit {
            let node = found[next];
            next += 1;
            self.for_each_successor(node, |successor, _| {
                let place = self.place(successor);
                hit |= place == high;
                if place < high && marks[successor.index()] != mark {
                    marks[successor.index()] = mark;
                    found.push(successor);
                }
            });
        }
        self.marks = marks;
        (!hit).then_some(found)
    }

    /// What reaches `start` from a place on.
    fn backward(&mut self, start: Node, low: u32) -> Vec<Node> {
        let mut marks = self.fresh_marks();
        let mark = self.mark;
        marks[start.index()] = mark;
        let mut found = vec![start];
        let mut next = 0;
        while next < found.len() {
            let node = found[next];
            next += 1;
            self.for_each_predecessor(node, |predecessor| {
                if self.place(predecessor) > low && marks[predecessor.index()] != mark {
                    marks[predecessor.index()] = mark;
                    found.push(predecessor);
                }
            });
        }
        self.marks = marks;
        found
    }

    /// The marks, taken out for a walk that sets them while it reads everything else, and a new mark.
    fn fresh_marks(&mut self) -> Vec<u32> {
        self.mark += 1;
        std::mem::take(&mut self.marks)
    }

    fn for_each_successor(&self, node: Node, mut visit: impl FnMut(Node, Option<ConditionalId>)) {
        if let Some(next) = self.chains.next(node) {
            visit(next, None);
        }
        let at = node.index();
        for &successor in &self.successors[self.successor_starts[at] as usize..self.successor_starts[at + 1] as usize] {
            visit(successor, None);
        }
        let mut out = self.first_out[at];
        while out != NONE {
            let inserted = &self.inserted[out as usize];
            visit(self.conditionals[inserted.edge.index()].to, Some(inserted.edge));
            out = inserted.next_out;
        }
    }

    fn for_each_predecessor(&self, node: Node, mut visit: impl FnMut(Node)) {
        if let Some(previous) = self.chains.previous(node) {
            visit(previous);
        }
        self.known.predecessors(node).iter().for_each(|&predecessor| visit(predecessor));
        let mut inward = self.first_in[node.index()];
        while inward != NONE {
            let inserted = &self.inserted[inward as usize];
            visit(self.conditionals[inserted.edge.index()].from);
            inward = inserted.next_in;
        }
    }

    /// A path with as few conditional edges as possible: known edges are free, so what a conflict blames is short. With
    /// [`Role::Dependency`] it uses dependencies only, with [`Role::LockingOverwrite`] those too.
    fn path(&mut self, from: Node, to: Node, up_to: Role) -> Option<Vec<Hop>> {
        let high = self.place(to);
        if self.place(from) > high {
            return None;
        }
        let mut marks = self.fresh_marks();
        let mark = self.mark;
        let mut came: CameFrom = CameFrom::default();
        let mut layer = vec![from];
        let mut steps = 0;
        let mut found = None;
        while found.is_none() && !layer.is_empty() {
            let mut next_layer = Vec::new();
            let mut place = 0;
            while place < layer.len() {
                let node = layer[place];
                place += 1;
                if std::mem::replace(&mut marks[node.index()], mark) == mark {
                    continue;
                }
                steps += 1;
                if node == to {
                    found = Some(walk_back(&came, from, to));
                    break;
                }
                self.for_each_successor(node, |successor, edge| {
                    let allowed = edge.is_none_or(|edge| {
                        let role = self.conditionals[edge.index()].role;
                        role == Role::Dependency || role == up_to
                    });
                    if !allowed || self.place(successor) > high || marks[successor.index()] == mark {
                        return;
                    }
                    let known = came.get(&successor).is_some_and(|&(_, by)| by.is_none() || edge.is_some());
                    if !known {
                        came.insert(successor, (node, edge));
                    }
                    if edge.is_some() { next_layer.push(successor) } else { layer.push(successor) }
                });
            }
            layer = next_layer;
        }
        self.marks = marks;
        self.steps += steps;
        found
    }
}

/// Per node the one before it on the way, and the conditional edge between, if it is one.
type CameFrom = rustc_hash::FxHashMap<Node, (Node, Option<ConditionalId>)>;

fn walk_back(came: &CameFrom, from: Node, to: Node) -> Vec<Hop> {
    let mut hops = Vec::new();
    let mut node = to;
    while node != from {
        let (previous, edge) = came[&node];
        hops.push(edge.map_or(Hop::Known { from: previous, to: node }, Hop::Conditional));
        node = previous;
    }
    hops.reverse();
    hops
}

fn closed(number: ConditionalId, mut path: Vec<Hop>) -> Vec<Hop> {
    path.insert(0, Hop::Conditional(number));
    path
}

fn by_source(known: &Graph, nodes: usize) -> (Vec<u32>, Vec<Node>) {
    let mut starts = vec![0u32; nodes + 1];
    for &(from, _) in known.edges() {
        starts[from.index() + 1] += 1;
    }
    for node in 0..nodes {
        starts[node + 1] += starts[node];
    }
    let mut successors = vec![Node::FIRST; known.edges().len()];
    let mut next = starts.clone();
    for &(from, to) in known.edges() {
        successors[next[from.index()] as usize] = to;
        next[from.index()] += 1;
    }
    (starts, successors)
}
