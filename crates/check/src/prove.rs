//! From what the search did to a refutation that anybody can check.
//!
//! The graph of certain edges does not say why an edge is certain, only since which stage. So a proof is made backwards: the cycle
//! that ends everything is told edge by edge; an edge that rests on an order of two writers needs a step of its own, which shows
//! that the other order leads round a cycle of edges of *earlier* stages; and so on down to session order and reads.

use crate::anomaly::{Anomaly, Edge, EdgeKind, Literal, Proof, Refutation, Step};
use crate::graph::{Cycle, Node};
use crate::levels::Sight;
use crate::polygraph::{Consequence, Contradiction, Polygraph};
use crate::resolve::{PackedWriter, Resolved};
use crate::saturate::{Choices, Forced, chosen_reads, wrote};
use crate::search::Question;
use crate::solver::{ClauseId, Origin, Solver};
use crate::theory::Hop;
use rustc_hash::{FxHashMap, FxHashSet};
use skew_history::{EventId, IsolationLevel, KeyId, TransactionId, Writer};
use std::collections::BTreeMap;

/// Orders that reachability by session order and reads shows are used from this stage on.
const KNOWN_FROM_START: usize = 1;

/// Tells refutations of a polygraph.
pub(crate) struct Prover<'p, 'a, 'h> {
    polygraph: &'p Polygraph<'a, 'h>,
    level: IsolationLevel,
    successors: BySource,
    overwrite_successors: BySource,
    /// The steps that show single orders, by stage.
    lemmas: BTreeMap<(usize, TransactionId, TransactionId), Step>,
    pending: Vec<(TransactionId, TransactionId, usize)>,
}

impl<'p, 'a, 'h> Prover<'p, 'a, 'h> {
    pub(crate) fn new(polygraph: &'p Polygraph<'a, 'h>, level: IsolationLevel) -> Prover<'p, 'a, 'h> {
        Prover {
            polygraph,
            level,
            successors: BySource::new(polygraph.graph.edges(), polygraph.graph.chains.node_count()),
            overwrite_successors: BySource::new(polygraph.overwrites.edges(), polygraph.graph.chains.node_count()),
            lemmas: BTreeMap::new(),
            pending: Vec::new(),
        }
    }

    /// The refutation of what pruning found contradictory.
    pub(crate) fn contradiction(mut self, contradiction: &Contradiction) -> Anomaly {
        let last = self.polygraph.graph.stage() + 1;
        let mut end = Vec::new();
        match contradiction {
            Contradiction::Cycle(Cycle(nodes)) => {
                let nodes = self.shorten(nodes);
                let hop = |at: usize| Way::known(nodes[at], nodes[(at + 1) % nodes.len()]);
                let hops: Vec<Way> = (0..nodes.len()).map(hop).collect();
                let edges = self.edges(&hops, last);
                end.push(Step::Cycle(edges));
            }
            Contradiction::Overwrite(reader, later) => {
                let mut hops = vec![Way { from: *reader, to: *later, overwrite: true }];
                hops.extend(self.path(*later, *reader, last, false).expect("dependencies lead back"));
                let edges = self.edges(&hops, last);
                end.push(Step::Cycle(edges));
            }
            Contradiction::Pair { first, second, stage } => {
                self.pending.push((*first, *second, *stage));
                self.pending.push((*second, *first, *stage));
            }
        }
        self.finish(end)
    }

    /// The refutation that a search found: the clauses it rests on, and the steps behind the caller's own lemmas.
    pub(crate) fn search(
        mut self,
        question: &Question,
        solver: &Solver<'_>,
        clauses: &[ClauseId],
        lemmas: &[Vec<Edge>],
    ) -> Anomaly {
        let mut steps = Vec::new();
        for &number in clauses {
            let clause = solver.clause(number);
            match &clause.origin {
                Origin::Given => {}
                Origin::Cycle(hops) => {
                    let edges = self.search_cycle(question, hops);
                    steps.push(Step::Cycle(edges));
                }
                Origin::Lemma(lemma) => {
                    let edges = lemmas[*lemma].clone();
                    self.require_all(&edges, Some(question));
                    steps.push(Step::Cycle(edges));
                }
                Origin::Learnt { .. } => {
                    let literals = clause.literals.iter().map(|&literal| question.literal(literal));
                    steps.push(Step::Clause(literals.collect()));
                }
            }
        }
        self.finish(steps)
    }

    /// The edges of a cycle that the theory found.
    pub(crate) fn search_cycle(&mut self, question: &Question, hops: &[Hop]) -> Vec<Edge> {
        let last = self.polygraph.graph.stage() + 1;
        let mut edges = Vec::new();
        // Known hops are told in runs, so that a way through real time stays together.
        let mut known: Vec<Way> = Vec::new();
        let start = hops.iter().position(|hop| matches!(hop, Hop::Conditional(_))).unwrap_or(0);
        for at in 0..hops.len() {
            match hops[(start + at) % hops.len()] {
                Hop::Known { from, to } => known.push(Way::known(from, to)),
                Hop::KnownOverwrite { from, to } => known.push(Way { from, to, overwrite: true }),
                Hop::Conditional(number) => {
                    edges.extend(self.edges(&std::mem::take(&mut known), last));
                    edges.push(question.told(number));
                }
            }
        }
        edges.extend(self.edges(&known, last));
        self.require_all(&edges, Some(question));
        merge_sessions(edges)
    }

    fn require_all(&mut self, edges: &[Edge], question: Option<&Question>) {
        for literal in edges.iter().flat_map(|edge| assumptions(self.polygraph.rules.resolved, edge)) {
            let open = question.is_some_and(|question| question.find(literal).is_some());
            if let (Literal::Before(first, second), false) = (literal, open) {
                self.require(first, second);
            }
        }
    }

    fn finish(mut self, end: Vec<Step>) -> Anomaly {
        let mut proven: FxHashSet<(TransactionId, TransactionId)> = FxHashSet::default();
        while let Some((first, second, stage)) = self.pending.pop() {
            if proven.insert((first, second)) {
                let step = self.lemma(first, second, stage);
                self.lemmas.insert((stage, first, second), step);
            }
        }
        let steps = self.lemmas.into_values().chain(end).collect();
        Anomaly { level: self.level, refutation: Refutation::Proof(Proof { steps }) }
    }

    /// Notes that "`first` before `second`" must be shown: by what was certain when pruning found it, or at the very start.
    fn require(&mut self, first: TransactionId, second: TransactionId) {
        let stage = self.polygraph.found.get(&(first, second)).copied().unwrap_or(KNOWN_FROM_START);
        self.pending.push((first, second, stage));
    }

    /// The cycle that shows `first` before `second`: the other order with edges from before `stage`.
    fn lemma(&mut self, first: TransactionId, second: TransactionId, stage: usize) -> Step {
        let mut consequences = Vec::new();
        self.polygraph.consequences(second, first, |consequence| {
            consequences.push(consequence);
            true
        });
        let mut best: Option<(Edge, Vec<Way>)> = None;
        for consequence in consequences {
            let (from, to, is_order) = match consequence {
                Consequence::Order { from, to } => (from, to, true),
                Consequence::Overwrite { from, to, .. } => (from, to, false),
            };
            let Some(path) = self.path(to, from, stage, is_order && self.polygraph.rules.watches_overwrites()) else {
                continue;
            };
            if best.as_ref().is_none_or(|(_, shortest)| path.len() < shortest.len()) {
                best = Some((self.told(consequence, second, first), path));
            }
        }
        let (edge, path) = best.expect("what pruning decided has a cycle");
        let mut edges = vec![edge];
        edges.extend(self.edges(&path, stage));
        Step::Cycle(merge_sessions(edges))
    }

    fn told(&self, consequence: Consequence, first: TransactionId, second: TransactionId) -> Edge {
        match consequence {
            Consequence::Order { .. } => {
                let key = self.polygraph.common_keys(first, second).next().expect("a pair has a key in common");
                edge(first, second, EdgeKind::VersionOrder { key })
            }
            Consequence::Overwrite { from, read, .. } => {
                let reader = self.polygraph.rules.transaction(from).expect("a reader");
                edge(reader, second, EdgeKind::Overwrites { read: read.event, writer: Writer::Transaction(first) })
            }
        }
    }

    /// A shortest way by certain edges from before `stage`; at psi it may use one overwrite.
    fn path(&self, from: Node, to: Node, stage: usize, one_overwrite: bool) -> Option<Vec<Way>> {
        let graph = &self.polygraph.graph;
        let known = graph.edges_before(stage).len();
        let overwrites = if one_overwrite { self.polygraph.overwrites.edges_before(stage).len() } else { 0 };
        let mut came: FxHashMap<(Node, bool), (Node, bool)> = FxHashMap::default();
        let mut queue = vec![(from, false)];
        let mut next = 0;
        if from == to {
            return Some(Vec::new());
        }
        while next < queue.len() {
            let (node, used) = queue[next];
            next += 1;
            let plain = self.successors.of(node).iter().filter(|&&edge| (edge as usize) < known);
            let plain = plain
                .map(|&edge| (graph.edges()[edge as usize].1, used))
                .chain(graph.chains.next(node).map(|to| (to, used)));
            let once = self.overwrite_successors.of(node).iter().filter(|&&edge| !used && (edge as usize) < overwrites);
            let once = once.map(|&edge| (self.polygraph.overwrites.edges()[edge as usize].1, true));
            for state in plain.chain(once) {
                if state != (from, false) && !came.contains_key(&state) {
                    came.insert(state, (node, used));
                    queue.push(state);
                    if state.0 == to {
                        return Some(hops_back(&came, (from, false), state));
                    }
                }
            }
        }
        None
    }

    /// A short cycle among the nodes of a given one.
    fn shorten(&self, nodes: &[Node]) -> Vec<Node> {
        let mut best = nodes.to_vec();
        let stage = self.polygraph.graph.stage() + 1;
        for &node in nodes.iter().take(64) {
            let graph = &self.polygraph.graph;
            let out = self.successors.of(node).iter().map(|&edge| graph.edges()[edge as usize].1);
            for successor in out.chain(graph.chains.next(node)) {
                if let Some(path) = self.path(successor, node, stage, false)
                    && path.len() + 1 < best.len()
                {
                    best = std::iter::once(node).chain(path.iter().map(|hop| hop.from)).collect();
                }
            }
        }
        best
    }

    /// Tells a way through the graph, or round it, whose edges are all from before `stage`.
    fn edges(&mut self, hops: &[Way], stage: usize) -> Vec<Edge> {
        let rules = &self.polygraph.rules;
        let mut told = Vec::new();
        // Begin at a transaction, not in the middle of a way through instants.
        let start = hops.iter().position(|hop| rules.transaction(hop.from).is_some()).unwrap_or(0);
        let mut before_instants = None;
        for at in 0..hops.len() {
            let hop = hops[(start + at) % hops.len()];
            let Way { from, to, .. } = hop;
            match (rules.transaction(from), rules.transaction(to)) {
                (Some(from), None) => before_instants = Some(from),
                (None, None) => {}
                (None, Some(to)) => told.extend(before_instants.take().map(|from| edge(from, to, EdgeKind::RealTime))),
                (Some(a), Some(b)) if a == b && self.polygraph.graph.chains.next(from) == Some(to) => {}
                (Some(a), Some(b)) => told.push(self.known_edge(a, b, hop, stage)),
            }
        }
        merge_sessions(told)
    }

    /// Tells one certain edge.
    pub(crate) fn known_edges(&mut self, from: Node, to: Node) -> Vec<Edge> {
        let stage = self.polygraph.graph.stage() + 1;
        self.edges(&[Way::known(from, to)], stage)
    }

    /// Why a certain edge between the nodes of two transactions is certain, by what was there before `stage`.
    fn known_edge(&mut self, a: TransactionId, b: TransactionId, hop: Way, stage: usize) -> Edge {
        let Way { from, to, overwrite } = hop;
        if self.polygraph.graph.chains.next(from) == Some(to) && !overwrite {
            return edge(a, b, EdgeKind::SessionOrder);
        }
        let since = self.stage_of(hop, stage);
        if !overwrite {
            let certain = self.read_edge(a, b, from, to).or_else(|| self.list_edge(a, b, from, to));
            if let Some(certain) = certain.or_else(|| self.forced_edge(a, b, from, to)) {
                return certain;
            }
            if let Some(found) = self.found_order_edge(a, b, from, to, since) {
                self.require(a, b);
                return found;
            }
        }
        self.known_overwrite(a, b, from, to, since)
    }

    /// The overwrite behind an edge: of the initial version, in lists, of an order that pruning found by then, or known from the start.
    fn known_overwrite(&mut self, a: TransactionId, b: TransactionId, from: Node, to: Node, since: usize) -> Edge {
        let polygraph = self.polygraph;
        let resolved = polygraph.rules.resolved;
        let certain = |writer: PackedWriter, key: KeyId| {
            writer.transaction().is_none_or(|writer| resolved.lists.shows_order(key, writer, b))
        };
        if let Some(certain) = self.overwrite_edge(a, b, from, to, certain) {
            return certain;
        }
        let found = |writer: PackedWriter, _| {
            let stage = writer.transaction().and_then(|writer| polygraph.found.get(&(writer, b)));
            stage.is_some_and(|&found| found <= since)
        };
        let overwrite = self.overwrite_edge(a, b, from, to, found).or_else(|| {
            let target = polygraph.rules.order_target(b);
            self.overwrite_edge(a, b, from, to, |writer, _| {
                let path = |writer| self.path(polygraph.rules.commit(writer), target, KNOWN_FROM_START, false);
                writer.transaction().and_then(path).is_some()
            })
        });
        let overwrite = overwrite.expect("every certain edge has a reason");
        if let EdgeKind::Overwrites { writer: Writer::Transaction(writer), .. } = overwrite.kind {
            self.require(writer, b);
        }
        overwrite
    }

    /// The first stage that has an edge, among those before `limit`.
    fn stage_of(&self, hop: Way, limit: usize) -> usize {
        let (graph, successors) = match hop.overwrite {
            true => (&self.polygraph.overwrites, &self.overwrite_successors),
            false => (&self.polygraph.graph, &self.successors),
        };
        let first = successors.of(hop.from).iter().find(|&&edge| graph.edges()[edge as usize].1 == hop.to);
        first.map_or(limit, |&edge| graph.stage_of(edge as usize))
    }

    fn read_edge(&self, a: TransactionId, b: TransactionId, from: Node, to: Node) -> Option<Edge> {
        let rules = &self.polygraph.rules;
        let fits = |read: &&crate::resolve::ReadFrom| read.transaction() == Some(a) && rules.read_target(b, read) == to;
        let read = rules.resolved.reads(b).iter().find(fits).filter(|_| rules.commit(a) == from)?;
        Some(edge(a, b, EdgeKind::ReadsFrom { read: read.event }))
    }

    fn list_edge(&self, a: TransactionId, b: TransactionId, from: Node, to: Node) -> Option<Edge> {
        let rules = &self.polygraph.rules;
        if rules.commit(a) != from || rules.order_target(b) != to {
            return None;
        }
        let key = rules.resolved.writes(a).iter().find(|&&key| rules.resolved.lists.shows_order(key, a, b))?;
        Some(edge(a, b, EdgeKind::VersionOrder { key: *key }))
    }

    fn found_order_edge(&self, a: TransactionId, b: TransactionId, from: Node, to: Node, stage: usize) -> Option<Edge> {
        let rules = &self.polygraph.rules;
        let fits = rules.commit(a) == from && rules.order_target(b) == to;
        let found = self.polygraph.found.get(&(a, b)).is_some_and(|&found| found <= stage);
        let key = (fits && found).then(|| self.polygraph.common_keys(a, b).next())??;
        Some(edge(a, b, EdgeKind::VersionOrder { key }))
    }

    fn forced_edge(&self, a: TransactionId, b: TransactionId, from: Node, to: Node) -> Option<Edge> {
        let rules = &self.polygraph.rules;
        let forced = self.polygraph.forced.iter().find(|forced| forced.ends() == Some((a, b)));
        let forced = forced.filter(|_| rules.commit(a) == from && rules.commit(b) == to)?;
        Some(must_see(rules.resolved, &Vec::new(), forced, |reader| rules.sight(reader)))
    }

    fn overwrite_edge(
        &self,
        a: TransactionId,
        b: TransactionId,
        from: Node,
        to: Node,
        known: impl Fn(PackedWriter, KeyId) -> bool,
    ) -> Option<Edge> {
        let rules = &self.polygraph.rules;
        if rules.commit(b) != to {
            return None;
        }
        let read = rules.resolved.reads(a).iter().find(|read| {
            rules.overwrite_source(a, read) == Some(from)
                && wrote(rules.resolved, b, read.key)
                && read.writer().is_some_and(|writer| writer != b.into() && known(writer, read.key))
        })?;
        let writer = read.writer()?.into();
        Some(edge(a, b, EdgeKind::Overwrites { read: read.event, writer }))
    }
}

fn edge(from: TransactionId, to: TransactionId, kind: EdgeKind) -> Edge {
    Edge { from: Writer::Transaction(from), to: Writer::Transaction(to), kind }
}

/// A certain edge between nodes; at psi perhaps an overwrite.
#[derive(Clone, Copy)]
struct Way {
    from: Node,
    to: Node,
    overwrite: bool,
}

impl Way {
    fn known(from: Node, to: Node) -> Way {
        Way { from, to, overwrite: false }
    }
}

/// The edges by their source, as numbers.
struct BySource {
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl BySource {
    fn new(edges: &[(Node, Node)], nodes: usize) -> BySource {
        let mut starts = vec![0u32; nodes + 1];
        edges.iter().for_each(|&(from, _)| starts[from.index() + 1] += 1);
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0; edges.len()];
        for (number, &(from, _)) in edges.iter().enumerate() {
            sorted[next[from.index()] as usize] = number as u32;
            next[from.index()] += 1;
        }
        BySource { starts, edges: sorted }
    }

    fn of(&self, node: Node) -> &[u32] {
        &self.edges[self.starts[node.index()] as usize..self.starts[node.index() + 1] as usize]
    }
}

fn hops_back(came: &FxHashMap<(Node, bool), (Node, bool)>, start: (Node, bool), end: (Node, bool)) -> Vec<Way> {
    let mut hops = Vec::new();
    let mut state = end;
    while state != start {
        let previous = came[&state];
        hops.push(Way { from: previous.0, to: state.0, overwrite: state.1 && !previous.1 });
        state = previous;
    }
    hops.reverse();
    hops
}

/// Session order is transitive: a row of it is one edge.
pub(crate) fn merge_sessions(edges: Vec<Edge>) -> Vec<Edge> {
    let mut merged: Vec<Edge> = Vec::new();
    for edge in edges {
        match merged.last_mut() {
            Some(last)
                if last.kind == EdgeKind::SessionOrder
                    && edge.kind == EdgeKind::SessionOrder
                    && last.to == edge.from =>
            {
                last.to = edge.to;
            }
            _ => merged.push(edge),
        }
    }
    merged
}

/// What an edge assumes.
pub(crate) fn assumptions(resolved: &Resolved<'_>, edge: &Edge) -> Vec<Literal> {
    let reads_from = |read: EventId, writer: Writer| {
        let ambiguous = resolved.ambiguous.iter().any(|ambiguous| ambiguous.event == read);
        ambiguous.then_some(Literal::ReadsFrom(read, writer))
    };
    let before = |first: Writer, second: Writer, key: KeyId| match (first, second) {
        (Writer::Transaction(first), Writer::Transaction(second)) => {
            (!resolved.lists.shows_order(key, first, second)).then_some(Literal::Before(first, second))
        }
        _ => None,
    };
    match &edge.kind {
        EdgeKind::SessionOrder | EdgeKind::RealTime => Vec::new(),
        EdgeKind::ReadsFrom { read } => Vec::from_iter(reads_from(*read, edge.from)),
        EdgeKind::VersionOrder { key } => Vec::from_iter(before(edge.from, edge.to, *key)),
        EdgeKind::Overwrites { read, writer } => {
            let key = resolved.history.event(*read).key;
            before(*writer, edge.to, key).into_iter().chain(reads_from(*read, *writer)).collect()
        }
        EdgeKind::MustSee { read, path } => {
            let path = path.iter().flat_map(|edge| assumptions(resolved, edge));
            path.chain(reads_from(*read, edge.to)).collect()
        }
    }
}

/// A forced edge with the way by which the reader must have seen it.
pub(crate) fn must_see(
    resolved: &Resolved<'_>,
    choices: &Choices,
    forced: &Forced,
    sight: impl Fn(TransactionId) -> Option<Sight>,
) -> Edge {
    let reader = resolved.history.transaction_of(forced.read);
    let path = match sight(reader) {
        Some(Sight::EarlierReads) => seen_by_read(resolved, choices, forced.from, reader, Some(forced.read)),
        Some(Sight::SessionAndReads) => seen_directly(resolved, choices, forced.from, reader),
        Some(Sight::CausalPast) => seen_causally(resolved, choices, forced.from, reader),
        None => Vec::new(),
    };
    Edge {
        from: Writer::Transaction(forced.from),
        to: forced.to.into(),
        kind: EdgeKind::MustSee { read: forced.read, path },
    }
}

fn seen_by_read(
    resolved: &Resolved<'_>,
    choices: &Choices,
    seen: TransactionId,
    reader: TransactionId,
    before: Option<EventId>,
) -> Vec<Edge> {
    let mut reads = chosen_reads(resolved, choices, reader).filter(|(read, _)| !resolved.is_locking(read));
    let read = reads.find(|(read, writer)| *writer == seen.into() && before.is_none_or(|before| read.event < before));
    read.map(|(read, _)| edge(seen, reader, EdgeKind::ReadsFrom { read: read.event })).into_iter().collect()
}

fn seen_directly(resolved: &Resolved<'_>, choices: &Choices, seen: TransactionId, reader: TransactionId) -> Vec<Edge> {
    if seen < reader && resolved.session(seen) == resolved.session(reader) {
        return vec![edge(seen, reader, EdgeKind::SessionOrder)];
    }
    seen_by_read(resolved, choices, seen, reader, None)
}

/// A shortest way back from the reader; its last step is session order or a plain read.
fn seen_causally(resolved: &Resolved<'_>, choices: &Choices, seen: TransactionId, reader: TransactionId) -> Vec<Edge> {
    let mut came: FxHashMap<TransactionId, Edge> = FxHashMap::default();
    let mut queue = vec![reader];
    let mut next = 0;
    while next < queue.len() && !came.contains_key(&seen) {
        let node = queue[next];
        next += 1;
        let reads = chosen_reads(resolved, choices, node);
        let reads = reads.filter(|(read, _)| node != reader || !resolved.is_locking(read));
        let reads = reads.filter_map(|(read, writer)| {
            Some(edge(writer.transaction()?, node, EdgeKind::ReadsFrom { read: read.event }))
        });
        let session = resolved.session_predecessor(node).map(|before| edge(before, node, EdgeKind::SessionOrder));
        for step in reads.chain(session) {
            let Writer::Transaction(before) = step.from else { continue };
            if before != reader && !came.contains_key(&before) {
                came.insert(before, step);
                queue.push(before);
            }
        }
    }
    let mut path = Vec::new();
    let mut node = seen;
    while node != reader {
        let Some(step) = came.remove(&node) else { break };
        let Writer::Transaction(after) = step.to else { break };
        path.push(step);
        node = after;
    }
    merge_sessions(path)
}
