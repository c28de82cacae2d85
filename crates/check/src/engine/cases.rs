//! Why a small history is impossible, as cycles: one for each way to settle what is open.
//!
//! ```text
//!   t1 locks x before t2:   t1 ─lock→ t2 ─rw→ t1
//!   t2 locks x before t1:   t2 ─lock→ t1 ─rw→ t2
//! ```
//!
//! Branch by branch, with all edges looked through for the shortest cycle: for the few transactions that are left of a history when it is told.

use super::ServerQuestion;
use super::puzzle::{Because, Pair, Puzzle, PuzzleEdge};
use super::reads::ReadWay;
use crate::graph::Node;
use crate::resolve::{Assumed, resolve};
use crate::spec::Attention;
use skew_history::{EventId, KeyId, TransactionId};
use std::collections::VecDeque;

/// More cycles than this are not told.
const MOST: usize = 8;

/// A cycle.
pub(crate) struct ServerCase {
    /// Who is taken to have locked a key before whom.
    pub(crate) assumed: Vec<(TransactionId, TransactionId, KeyId)>,
    pub(crate) edges: Vec<ServerEdge>,
}

/// One comes before the other.
pub(crate) struct ServerEdge {
    pub(crate) from: TransactionId,
    pub(crate) to: TransactionId,
    pub(crate) reason: ServerReason,
}

/// Why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ServerReason {
    /// Earlier in the same session.
    Session,
    /// It ended before the other began.
    RealTime,
    /// It had committed what the other read.
    ReadsFrom(EventId),
    /// It read what the other overwrote.
    Overwrites(EventId),
    /// It had inserted the row that the other found and locked.
    WasThere(EventId),
    /// The other read a row again for which it had waited, or did not find it any more; or this one is the other that waited.
    Waited(EventId),
    /// It had a lock on the key that the other wanted.
    Lock(KeyId),
    /// It changed the key, which the other then locked: that has to be in the other's snapshot.
    Snapshot(KeyId),
    /// The other's snapshot has no row under the key, since its own INSERT went well.
    NoRow(KeyId),
    /// The other changed the key later than it.
    Versions,
}

/// The cycles of an impossible history; nothing when they cannot be told.
pub(crate) fn cases(asked: &ServerQuestion<'_>) -> Option<Vec<ServerCase>> {
    let assumed = Assumed { on_server: true, ..Assumed::default() };
    let resolved = resolve(asked.history, &assumed).ok()?;
    let mut puzzle = Puzzle::new(&resolved, asked.levels, Attention::Least).ok()?;
    let mut edges = puzzle.certain();
    let untold = puzzle.told(&mut edges);
    if puzzle.sort().is_ok() {
        puzzle.open = puzzle.constructed(&untold, &mut edges);
    }
    let several = (0..puzzle.reads.all.len() as u32).filter(|&read| puzzle.reads.ways(puzzle.read(read)).len() > 1);
    let questions =
        puzzle.open.iter().copied().map(OpenQuestion::Pair).chain(several.map(OpenQuestion::Read)).collect();
    let mut telling = CaseTelling { puzzle: &puzzle, questions, cases: Vec::new() };
    telling.follow(0, &mut edges, &mut Vec::new()).then_some(telling.cases)
}

/// What is open.
#[derive(Clone, Copy)]
enum OpenQuestion {
    Pair(Pair),
    Read(u32),
}

struct CaseTelling<'a, 'b, 'h> {
    puzzle: &'a Puzzle<'b, 'h>,
    questions: Vec<OpenQuestion>,
    cases: Vec<ServerCase>,
}

impl CaseTelling<'_, '_, '_> {
    /// Tells the cycles of all branches from a question on; false when some branch has none.
    fn follow(
        &mut self,
        question: usize,
        edges: &mut Vec<PuzzleEdge>,
        assumed: &mut Vec<(TransactionId, TransactionId, KeyId)>,
    ) -> bool {
        if let Some(edges) = self.shortest_cycle(edges) {
            self.cases.push(ServerCase { assumed: assumed.clone(), edges });
            return self.cases.len() <= MOST;
        }
        let Some(&open) = self.questions.get(question) else { return false };
        let before = edges.len();
        match open {
            OpenQuestion::Pair(pair) => [true, false].into_iter().all(|as_it_stands| {
                self.puzzle.pair_brings(pair, as_it_stands, edges);
                let locks = edges[before..].iter().find_map(|edge| match edge.because {
                    Because::Locks { key, first, second } => Some((first, second, key)),
                    _ => None,
                });
                assumed.extend(locks);
                let is_told = self.follow(question + 1, edges, assumed);
                edges.truncate(before);
                assumed.truncate(assumed.len() - usize::from(locks.is_some()));
                is_told
            }),
            OpenQuestion::Read(read) => {
                let ways = self.puzzle.reads.ways(self.puzzle.read(read)).to_vec();
                ways.into_iter().all(|way| {
                    self.puzzle.way_brings(read, way, edges);
                    self.overwrites(read, way, edges);
                    let is_told = self.follow(question + 1, edges, assumed);
                    edges.truncate(before);
                    is_told
                })
            }
        }
    }

    /// Who overwrites what a read returned in one of its ways, as far as the edges say who was later.
    fn overwrites(&self, read: u32, way: ReadWay, edges: &mut Vec<PuzzleEdge>) {
        let ReadWay::Latest(writer) = way else { return };
        let key = self.puzzle.read(read).key;
        for &later in self.puzzle.holders.kept_on(key) {
            let later = self.puzzle.holders.get(later);
            let is_later = match writer.transaction() {
                None => true,
                Some(writer) => {
                    writer != later.transaction
                        && self.path(self.puzzle.end(writer), self.puzzle.end(later.transaction), edges).is_some()
                }
            };
            if is_later && later.changes.is_some() {
                self.puzzle.overwrite_brings(read, writer, later, edges);
            }
        }
    }

    /// The shortest cycle, told.
    fn shortest_cycle(&self, edges: &[PuzzleEdge]) -> Option<Vec<ServerEdge>> {
        let ends = edges.iter().map(PuzzleEdge::ends).chain(self.puzzle.graph_edges());
        let back = |(from, to): (Node, Node)| {
            let mut path = self.path(to, from, edges)?;
            path.push(to);
            Some(path)
        };
        let cycle = ends.filter_map(back).min_by_key(Vec::len)?;
        let hops = cycle.windows(2).map(|pair| (pair[0], pair[1]));
        let told: Vec<ServerEdge> = hops.filter_map(|(from, to)| self.told(from, to, edges)).collect();
        Some(without_instants(told, &cycle, self.puzzle))
    }

    /// The nodes of a shortest way, both ends included.
    fn path(&self, from: Node, to: Node, edges: &[PuzzleEdge]) -> Option<Vec<Node>> {
        let mut came_from: Vec<Option<Node>> = vec![None; self.puzzle.nodes.chains.node_count()];
        let mut queue = VecDeque::from([from]);
        came_from[from.index()] = Some(from);
        while let Some(node) = queue.pop_front() {
            if node == to {
                let mut path = vec![node];
                while path[path.len() - 1] != from {
                    path.push(came_from[path[path.len() - 1].index()]?);
                }
                path.reverse();
                return Some(path);
            }
            let explicit = edges.iter().map(PuzzleEdge::ends).chain(self.puzzle.graph_edges());
            let next = explicit.filter(|edge| edge.0 == node).map(|edge| edge.1);
            for next in next.chain(self.puzzle.nodes.chains.next(node)) {
                if came_from[next.index()].is_none() {
                    came_from[next.index()] = Some(node);
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// What joins two nodes that follow each other; nothing within a transaction, and where real time takes part.
    fn told(&self, from: Node, to: Node, edges: &[PuzzleEdge]) -> Option<ServerEdge> {
        let one = *self.puzzle.transactions_of([from]).first()?;
        let other = *self.puzzle.transactions_of([to]).first()?;
        let edge = |reason| ServerEdge { from: one, to: other, reason };
        let explicit = edges.iter().find(|edge| edge.ends() == (from, to));
        match explicit {
            Some(found) => Some(edge(self.reason(found))),
            None if one == other => None,
            None => Some(edge(ServerReason::Session)),
        }
    }

    fn reason(&self, edge: &PuzzleEdge) -> ServerReason {
        let event = |read: u32| {
            let read = self.puzzle.read(read);
            read.look.map(|look| self.puzzle.looks.all[look as usize].event).ok_or(read.key)
        };
        let of_read = |read: u32, reason: fn(EventId) -> ServerReason| match event(read) {
            Ok(event) => reason(event),
            Err(key) => ServerReason::NoRow(key),
        };
        match edge.because {
            Because::ReadsFrom { read, .. } => of_read(read, ServerReason::ReadsFrom),
            Because::Overwrites { read, .. } => of_read(read, ServerReason::Overwrites),
            Because::WasThere { read, .. } => of_read(read, ServerReason::WasThere),
            Because::Waited { read, .. } => of_read(read, ServerReason::Waited),
            Because::Locks { key, second, .. } => match self.puzzle.is_snapshot(edge.to, second, key) {
                true => ServerReason::Snapshot(key),
                false => ServerReason::Lock(key),
            },
            Because::Versions { .. } => ServerReason::Versions,
        }
    }
}

/// Ways through the instants of real time, which no edge tells, as edges from who ended to who began.
fn without_instants(told: Vec<ServerEdge>, cycle: &[Node], puzzle: &Puzzle<'_, '_>) -> Vec<ServerEdge> {
    let named: Vec<Option<TransactionId>> =
        cycle.iter().map(|&node| puzzle.transactions_of([node]).first().copied()).collect();
    let mut edges = told;
    for (place, pair) in named.windows(2).enumerate() {
        if let [Some(ended), None] = pair
            && let Some(began) = named.iter().cycle().skip(place + 1).take(named.len()).find_map(|one| *one)
        {
            edges.push(ServerEdge { from: ended.to_owned(), to: began, reason: ServerReason::RealTime });
        }
    }
    in_a_row(edges)
}

/// The same edges, each beginning where the one before ends.
fn in_a_row(mut edges: Vec<ServerEdge>) -> Vec<ServerEdge> {
    for place in 1..edges.len() {
        let end = edges[place - 1].to;
        if let Some(next) = (place..edges.len()).find(|&next| edges[next].from == end) {
            edges.swap(place, next);
        }
    }
    edges
}
