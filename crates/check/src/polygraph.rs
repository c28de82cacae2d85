//! What is certain, and what is open: the graph of known dependencies, and the pairs of writers whose order nobody knows yet.
//!
//! ```text
//!   t1: w(x,1)      t2: w(x,2)      t3: r(x,1)
//!
//!   either t1 before t2:   t1 ─ww→ t2,  t3 ─rw→ t2           or t2 before t1:   t2 ─ww→ t1
//! ```
//!
//! Not all pairs are open. Per key and session the writers are a chain, so of a session's writers those known to be before a given
//! writer are a prefix, those known to be after it a suffix, and only the window between is open. Of the known later writers only
//! the first ones need an rw edge from the readers; the others follow.

use crate::budget::Statistics;
use crate::clock::Clocks;
use crate::graph::{Cycle, Graph, Node};
use crate::readers::Readers;
use crate::resolve::ReadFrom;
use crate::rules::Rules;
use crate::saturate::{Forced, wrote};
use rustc_hash::FxHashMap;
use skew_history::{KeyId, TransactionId};
use std::ops::Range;

/// An edge that an order of two writers brings.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Consequence {
    /// The version order itself: `first`'s commit to `second`.
    Order { from: Node, to: Node },
    /// A reader of `first`'s version read what `second` overwrote.
    Overwrite { from: Node, to: Node, read: ReadFrom },
}

/// Why there is no order.
#[derive(Clone, Debug)]
pub(crate) enum Contradiction {
    /// A cycle of certain edges, as nodes.
    Cycle(Cycle),
    /// At psi: a certain overwrite (reader, later writer) that closes a cycle with dependencies.
    Overwrite(Node, Node),
    /// Both orders of a pair are impossible by what was certain when this stage began.
    Pair { first: TransactionId, second: TransactionId, stage: usize },
}

/// Certain dependencies and open pairs.
pub(crate) struct Polygraph<'a, 'h> {
    pub(crate) rules: Rules<'a, 'h>,
    /// All certain edges; at psi without the overwrites.
    pub(crate) graph: Graph,
    /// At psi the certain overwrites, in the same stages.
    pub(crate) overwrites: Graph,
    /// The graph in topological order, as of the last round.
    pub(crate) order: Vec<Node>,
    pub(crate) readers: Readers,
    ordered_keys: Vec<bool>,
    /// Open pairs, the smaller number first, sorted.
    pub(crate) open: Vec<(TransactionId, TransactionId)>,
    /// Orders that pruning found, with the stage in which they became certain.
    pub(crate) found: FxHashMap<(TransactionId, TransactionId), usize>,
    /// The edges that the polynomial levels force.
    pub(crate) forced: Vec<Forced>,
}

/// Reachability among the nodes, as of one stage.
pub(crate) struct Reach {
    clocks: Clocks,
    /// At psi: by dependencies and at most one overwrite.
    through_overwrite: Option<Clocks>,
}

impl<'a, 'h> Polygraph<'a, 'h> {
    /// The certain part. `forced` are the edges of the polynomial levels, none into the initial state.
    pub(crate) fn new(rules: Rules<'a, 'h>, forced: Vec<Forced>) -> Polygraph<'a, 'h> {
        let mut graph = Graph::new(rules.chains());
        rules.add_certain(&mut graph);
        for (from, to) in forced.iter().filter_map(Forced::ends) {
            graph.add(rules.commit(from), rules.commit(to));
        }
        let ordered_keys = rules.ordered_keys();
        let readers = if ordered_keys.contains(&true) { Readers::new(rules.resolved) } else { Readers::none() };
        let overwrites = Graph::new(graph.chains.clone());
        let open = Vec::new();
        Polygraph {
            rules,
            graph,
            overwrites,
            order: Vec::new(),
            readers,
            ordered_keys,
            open,
            found: FxHashMap::default(),
            forced,
        }
    }

    /// Whether the order of the versions of a key matters to anybody.
    fn is_ordered(&self, key: KeyId) -> bool {
        self.ordered_keys[key.index()]
    }

    /// Whether the order of versions matters at all.
    pub(crate) fn orders_anything(&self) -> bool {
        self.ordered_keys.contains(&true)
    }

    /// Whether an edge is certain.
    pub(crate) fn has_edge(&self, from: Node, to: Node) -> bool {
        self.graph.chains.next(from) == Some(to) || self.graph.predecessors(to).contains(&from)
    }

    /// How many pairs of writers there are, and how many edges they could bring, before anything is known.
    pub(crate) fn count_all_pairs(&self, statistics: &mut Statistics) {
        let resolved = self.rules.resolved;
        let mut twice = 0;
        for transaction in resolved.transactions() {
            for (&key, version) in resolved.writes(transaction).iter().zip(resolved.versions(transaction)) {
                if self.is_ordered(key) {
                    let others = resolved.writers(key).len() as u64 - 1;
                    twice += others;
                    statistics.unknown_dependencies_before +=
                        others * (1 + self.readers.of_version(version).len() as u64);
                }
            }
        }
        statistics.constraints_before = twice / 2;
    }

    /// Sorts the graph anew.
    pub(crate) fn sort(&mut self) -> Result<(), Contradiction> {
        self.graph.index();
        self.order = self.graph.topological_order().map_err(Contradiction::Cycle)?;
        Ok(())
    }

    /// Reachability by the edges that the last sort saw.
    pub(crate) fn reach(&mut self) -> Reach {
        let clocks = Clocks::new(&self.graph, &self.order);
        let through_overwrite = self.rules.watches_overwrites().then(|| {
            self.overwrites.index();
            clocks.through(&self.graph, &self.overwrites, &self.order)
        });
        Reach { clocks, through_overwrite }
    }

    pub(crate) fn begin_stage(&mut self) -> usize {
        self.graph.begin_stage();
        self.overwrites.begin_stage();
        self.graph.stage()
    }

    /// Finds the open pairs, and adds the overwrites of what is known already.
    pub(crate) fn construct(&mut self, reach: &Reach) {
        self.begin_stage();
        let position = self.positions();
        for key in self.rules.resolved.history.keys() {
            if self.is_ordered(key) && !self.rules.resolved.lists.is_list(key) {
                let writers = self.rules.resolved.writers(key);
                self.construct_key(key, writers, true, reach, &position);
            }
        }
        self.construct_lists(reach, &position);
        self.open.sort_unstable();
        self.open.dedup();
    }

    fn positions(&self) -> Vec<u32> {
        let mut position = vec![0; self.order.len()];
        for (place, &node) in self.order.iter().enumerate() {
            position[node.index()] = place as u32;
        }
        position
    }

    /// The open pairs among `writers`, and the overwrites of their versions; `initial`: of the initial version too.
    fn construct_key(&mut self, key: KeyId, writers: &[TransactionId], initial: bool, reach: &Reach, position: &[u32]) {
        let runs = self.runs(writers);
        let mut later = Vec::new();
        for (place, &writer) in writers.iter().enumerate() {
            later.clear();
            for run in &runs {
                if run.contains(&place) {
                    later.extend(writers[place + 1..run.end].first());
                    continue;
                }
                let run = &writers[run.clone()];
                let before = reach.known_before(self, run, writer);
                let after = before + run[before..].partition_point(|&other| !reach.knows(self, writer, other));
                later.extend(run.get(after));
                self.open
                    .extend(run[before..after].iter().filter(|&&other| writer < other).map(|&other| (writer, other)));
            }
            let version = self.rules.resolved.version(writer, key).expect("a writer of the key");
            if !self.readers.of_version(version).is_empty() {
                self.keep_first(&mut later, reach, position);
                self.add_known_overwrites(version, &later, reach);
            }
        }
        if initial && !self.readers.of_initial(key).is_empty() {
            later.clear();
            later.extend(runs.iter().map(|run| writers[run.start]));
            self.keep_first(&mut later, reach, position);
            self.add_known_overwrites(self.rules.resolved.version_count() + key.index(), &later, reach);
        }
    }

    /// The writers of each session, which are neighbours.
    fn runs(&self, writers: &[TransactionId]) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (place, &writer) in writers.iter().enumerate() {
            match runs.last_mut() {
                Some(run) if self.rules.resolved.session(writers[run.start]) == self.rules.resolved.session(writer) => {
                    run.end = place + 1;
                }
                _ => runs.push(place..place + 1),
            }
        }
        runs
    }

    /// Drops the writers that are known to be after another one.
    fn keep_first(&self, later: &mut Vec<TransactionId>, reach: &Reach, position: &[u32]) {
        later.sort_unstable_by_key(|&writer| position[self.rules.commit(writer).index()]);
        let mut kept = 0;
        while kept < later.len() {
            let first = later[kept];
            kept += 1;
            let mut place = 0;
            later.retain(|&other| {
                place += 1;
                place <= kept || !reach.knows(self, first, other)
            });
        }
    }

    fn add_known_overwrites(&mut self, slot: usize, later: &[TransactionId], reach: &Reach) {
        for place in 0..self.readers.of_version(slot).len() {
            let (reader, read) = self.readers.of_version(slot)[place];
            let Some(source) = self.rules.overwrite_source(reader, &read) else { continue };
            for &writer in later.iter().filter(|&&writer| writer != reader) {
                let target = self.rules.commit(writer);
                if self.rules.watches_overwrites() || !reach.reaches(self, source, target) {
                    self.add_overwrite(source, target);
                }
            }
        }
    }

    /// Lists that were read give the order; only appends that nobody read are open among themselves.
    fn construct_lists(&mut self, reach: &Reach, position: &[u32]) {
        let resolved = self.rules.resolved;
        for (key, order, unread) in resolved.lists.orders() {
            if !self.is_ordered(key) {
                continue;
            }
            let firsts: Vec<TransactionId> = self.runs(unread).into_iter().map(|run| unread[run.start]).collect();
            let after = |place: usize| order.get(place..place + 1).unwrap_or(&firsts);
            self.add_known_overwrites(resolved.version_count() + key.index(), after(0), reach);
            for (place, &writer) in order.iter().enumerate() {
                if let Some(version) = resolved.version(writer, key) {
                    self.add_known_overwrites(version, after(place + 1), reach);
                }
            }
            self.construct_key(key, unread, false, reach, position);
        }
    }

    pub(crate) fn add_overwrite(&mut self, from: Node, to: Node) {
        if self.rules.watches_overwrites() {
            self.overwrites.add(from, to);
        } else {
            self.graph.add(from, to);
        }
    }

    /// The keys that both wrote and whose order matters.
    pub(crate) fn common_keys(&self, first: TransactionId, second: TransactionId) -> impl Iterator<Item = KeyId> + '_ {
        let resolved = self.rules.resolved;
        let fewer = if resolved.writes(first).len() <= resolved.writes(second).len() {
            (first, second)
        } else {
            (second, first)
        };
        let keys = resolved.writes(fewer.0).iter().copied();
        keys.filter(move |&key| self.is_ordered(key) && wrote(resolved, fewer.1, key))
    }

    /// Everything that "`first` before `second`" brings, until `visit` says stop.
    pub(crate) fn consequences(
        &self,
        first: TransactionId,
        second: TransactionId,
        mut visit: impl FnMut(Consequence) -> bool,
    ) {
        let (from, to) = (self.rules.commit(first), self.rules.order_target(second));
        if !visit(Consequence::Order { from, to }) {
            return;
        }
        let to = self.rules.commit(second);
        for key in self.common_keys(first, second) {
            let version = self.rules.resolved.version(first, key).expect("a key that it wrote");
            for &(reader, read) in self.readers.of_version(version).iter().filter(|reader| reader.0 != second) {
                let Some(from) = self.rules.overwrite_source(reader, &read) else { continue };
                if !visit(Consequence::Overwrite { from, to, read }) {
                    return;
                }
            }
        }
    }
}

impl Reach {
    /// Whether there is a path.
    pub(crate) fn reaches(&self, polygraph: &Polygraph<'_, '_>, from: Node, to: Node) -> bool {
        self.clocks.reaches(&polygraph.graph.chains, from, to)
    }

    /// Whether `first`'s versions are known to be before `second`'s.
    pub(crate) fn knows(&self, polygraph: &Polygraph<'_, '_>, first: TransactionId, second: TransactionId) -> bool {
        self.reaches(polygraph, polygraph.rules.commit(first), polygraph.rules.order_target(second))
    }

    /// How many of one session's writers are known to be before `writer`.
    fn known_before(&self, polygraph: &Polygraph<'_, '_>, run: &[TransactionId], writer: TransactionId) -> usize {
        let chain = polygraph.graph.chains.chain_of(polygraph.rules.commit(run[0]));
        let end = self.clocks.row(polygraph.rules.order_target(writer))[chain];
        run.partition_point(|&other| polygraph.rules.commit(other) < end)
    }

    /// Whether a consequence would close a cycle with what is certain.
    pub(crate) fn forbids(&self, polygraph: &Polygraph<'_, '_>, consequence: Consequence) -> bool {
        match (consequence, &self.through_overwrite) {
            (Consequence::Order { from, to }, Some(through)) => {
                from == to || through.reaches(&polygraph.graph.chains, to, from)
            }
            (Consequence::Order { from, to } | Consequence::Overwrite { from, to, .. }, _) => {
                from == to || self.reaches(polygraph, to, from)
            }
        }
    }

    /// At psi: a certain overwrite that dependencies lead back from.
    pub(crate) fn violated_overwrite(&self, polygraph: &Polygraph<'_, '_>) -> Option<(Node, Node)> {
        let mut overwrites = polygraph.overwrites.edges().iter().copied();
        overwrites.find(|&(reader, later)| reader == later || self.reaches(polygraph, later, reader))
    }
}
