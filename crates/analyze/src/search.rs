//! Looks for transactions that make a counterexample of the form of [`split`](crate::split).
//!
//! ```text
//!   t1 and the statement of b1 are chosen
//!     t2   every template that overwrites what b1 read, with the equalities that this forces
//!     tm   every template that closes the cycle, likewise
//!     one of them is both: found
//!     else templates in between, each linked to the next by a row they have in common, until t2 and tm are joined
//! ```
//!
//! Equalities that nobody forces only make more conflicts, and conflicts only forbid: so each step takes the least ones (`closure`), and an
//! instance in the chain is fully described by which of its terms are terms of t1. There are finitely many such descriptions, so chains of any
//! length are found by walking over a finite graph. A link may force more upon the instances that it joins, or upon t1 itself; then these refined
//! instances are put into the graph as well (a refined t1 starts a graph of its own).

use crate::closure::{Closure, Labels, TermGraph, TextNumbers};
use crate::split::{FirstTransaction, Level, OtherTransaction, levels_allow};
use crate::template::{RowOperation, Template};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// An operation of a template: its statement, and its place in it.
pub(crate) type OperationAt = (usize, usize);

/// How many rows of one transaction may be missing or not.
const MOST_MISSING: usize = 12;

/// How many closures a search may make.
const MOST_CLOSURES: usize = 4_000_000;

/// A counterexample: t1, t2, …, tm, and what joins them.
#[derive(Clone, Debug)]
pub(crate) struct SplitFound {
    /// The templates, t1 first.
    pub(crate) templates: Vec<usize>,
    /// How many statements of t1 come before the others.
    pub(crate) prefix: usize,
    /// b1 and a2, the links from each to the next, bm and a1.
    pub(crate) links: Vec<(OperationAt, OperationAt)>,
    /// Rows of t1 that are not there.
    pub(crate) missing: Vec<usize>,
}

/// What a search came to.
#[derive(Clone, Debug)]
pub(crate) enum SearchOutcome {
    Found(SplitFound),
    Nothing,
    /// It was given up.
    TooLong,
}

/// The templates of a program, ready to be searched.
pub(crate) struct Searcher<'a> {
    templates: &'a [Template],
    graphs: Vec<TermGraph>,
}

impl<'a> Searcher<'a> {
    pub(crate) fn new(templates: &'a [Template]) -> Searcher<'a> {
        let mut texts = TextNumbers::default();
        let graphs = templates.iter().map(|template| TermGraph::new(template, &mut texts)).collect();
        Searcher { templates, graphs }
    }

    /// Looks for a counterexample among the procedures that have a level.
    pub(crate) fn search(&self, levels: &[Option<Level>]) -> SearchOutcome {
        let taking: Vec<(usize, Level)> = (0..self.templates.len())
            .filter_map(|number| Some((number, levels[self.templates[number].procedure]?)))
            .collect();
        let mut steps = 0;
        if taking.iter().all(|(_, level)| *level == Level::Serializable) {
            return SearchOutcome::Nothing;
        }
        for &(first, level) in &taking {
            let start = Labels::from_iter(0..self.graphs[first].len() as u32);
            let mut closure = Closure::new(&[(&self.graphs[first], &start)]);
            if !closure.close() {
                continue;
            }
            let mut known = vec![closure.labels(0)];
            let mut next = 0;
            while next < known.len() {
                let labels = known[next].clone();
                next += 1;
                let Some(choices) = self.missing(first, &labels) else { return SearchOutcome::TooLong };
                let splits = self.splits(first, level);
                for (missing, (prefix, numbers)) in
                    choices.iter().flat_map(|one| splits.iter().map(move |two| (one, two)))
                {
                    let template = &self.templates[first];
                    let first = FirstTransaction { template, labels: &labels, level, prefix: *prefix, missing };
                    let numbers = numbers.clone();
                    let mut search = SplitSearch::new(self, &first, numbers, &taking, &mut known, &mut steps);
                    if let Some(found) = search.run() {
                        return SearchOutcome::Found(found);
                    }
                    if steps > MOST_CLOSURES {
                        return SearchOutcome::TooLong;
                    }
                }
            }
        }
        SearchOutcome::Nothing
    }

    /// Which of the rows of t1 may be missing: all choices, as labels. Nothing if there are too many.
    fn missing(&self, first: usize, labels: &Labels) -> Option<Vec<Vec<u32>>> {
        let mut optional: Vec<u32> = self.templates[first].optional.iter().map(|row| labels[*row]).collect();
        optional.sort_unstable();
        optional.dedup();
        if optional.len() > MOST_MISSING {
            return None;
        }
        let chosen = |set: u32| {
            let numbered = optional.iter().enumerate().filter(move |(place, _)| set >> place & 1 == 1);
            numbered.map(|(_, label)| *label).collect()
        };
        Some((0..1_u32 << optional.len()).map(chosen).collect())
    }

    /// Where t1 can be split: how many statements come first, and in which of them b1 may be. A snapshot is split anywhere in the same way.
    fn splits(&self, first: usize, level: Level) -> Vec<(usize, std::ops::Range<usize>)> {
        let count = self.templates[first].chunks.len();
        match level {
            Level::ReadCommitted => (0..count).map(|number| (number + 1, number..number + 1)).collect(),
            Level::Snapshot | Level::Serializable => vec![(count, 0..count)],
        }
    }
}

/// An instance in the graph.
#[derive(Clone)]
struct ChainNode {
    template: usize,
    level: Level,
    labels: Labels,
    /// b1 and a2, where it can be the second.
    second: Option<(OperationAt, OperationAt)>,
    /// bm and a1, where it can be the last.
    last: Option<(OperationAt, OperationAt)>,
    /// Whether it can stand in between.
    between: bool,
}

/// One t1, split in one place.
struct SplitSearch<'s, 'a> {
    searcher: &'s Searcher<'a>,
    graph: &'s TermGraph,
    first: &'s FirstTransaction<'s>,
    first_number: usize,
    /// The statements in which b1 may be.
    splitting: std::ops::Range<usize>,
    taking: &'s [(usize, Level)],
    /// What t1 may be refined to.
    refined: &'s mut Vec<Labels>,
    steps: &'s mut usize,
    nodes: Vec<ChainNode>,
    known: FxHashMap<(usize, Labels), Vec<usize>>,
    edges: Vec<Vec<(usize, OperationAt, OperationAt)>>,
}

/// The operations of a template with their places.
fn numbered(template: &Template) -> impl Iterator<Item = (OperationAt, &RowOperation)> {
    let chunks = template.chunks.iter().enumerate();
    chunks.flat_map(|(number, chunk)| {
        chunk.operations.iter().enumerate().map(move |(place, operation)| ((number, place), operation))
    })
}

impl<'s, 'a> SplitSearch<'s, 'a> {
    fn new(
        searcher: &'s Searcher<'a>,
        first: &'s FirstTransaction<'s>,
        splitting: std::ops::Range<usize>,
        taking: &'s [(usize, Level)],
        refined: &'s mut Vec<Labels>,
        steps: &'s mut usize,
    ) -> SplitSearch<'s, 'a> {
        let is_first = |template: &Template| std::ptr::eq(template, first.template);
        let first_number = searcher.templates.iter().position(is_first).unwrap_or_default();
        SplitSearch {
            searcher,
            graph: &searcher.graphs[first_number],
            first,
            first_number,
            splitting,
            taking,
            refined,
            steps,
            nodes: Vec::new(),
            known: FxHashMap::default(),
            edges: Vec::new(),
        }
    }

    fn run(&mut self) -> Option<SplitFound> {
        let seconds = self.seconds();
        if seconds.is_empty() {
            return None;
        }
        if let Some(found) = self.both_at_once(&seconds) {
            return Some(found);
        }
        let lasts = self.lasts();
        if lasts.is_empty() {
            return None;
        }
        for node in seconds.into_iter().chain(lasts).chain(self.between()) {
            self.add(node);
        }
        self.join()?;
        self.walk()
    }

    /// What follows from some equalities of rows of t1 and an instance; nothing if it is impossible, or if t1 itself is refined by it.
    fn forced(&mut self, template: usize, labels: &Labels, rows: &[(usize, usize)]) -> Option<Labels> {
        *self.steps += 1;
        let mut closure = Closure::new(&[(self.graph, self.first.labels), (&self.searcher.graphs[template], labels)]);
        for (mine, theirs) in rows {
            let (mine, theirs) = (closure.at(0, *mine), closure.at(1, *theirs));
            closure.unite(mine, theirs);
        }
        let possible = closure.close();
        let is_same = possible && self.keeps_first(closure.labels(0));
        is_same.then(|| closure.labels(1))
    }

    /// Whether t1 is as it was; if not, it is remembered as refined.
    fn keeps_first(&mut self, labels: Labels) -> bool {
        let is_same = labels == *self.first.labels;
        if !is_same && !self.refined.contains(&labels) {
            self.refined.push(labels);
        }
        is_same
    }

    fn unbound(&self, template: usize) -> Labels {
        let start = self.graph.len() as u32;
        (0..self.searcher.graphs[template].len() as u32).map(|term| start + term).collect()
    }

    fn other<'b>(&self, template: usize, level: Level, labels: &'b Labels) -> OtherTransaction<'b>
    where
        'a: 'b,
    {
        OtherTransaction { template: &self.searcher.templates[template], labels, level }
    }

    /// Whether the row of an operation of an instance is there.
    fn has(&self, template: usize, labels: &Labels, at: OperationAt) -> bool {
        let template = &self.searcher.templates[template];
        self.first.missing.is_empty() || self.first.has(template, labels, &template.chunks[at.0].operations[at.1])
    }

    fn found(&self, templates: Vec<usize>, links: Vec<(OperationAt, OperationAt)>) -> SplitFound {
        // A snapshot is taken before the first statement, and nothing of it has to be done before the others.
        let prefix = match self.first.level {
            Level::ReadCommitted => links.first().map_or(0, |(b1, _)| b1.0 + 1),
            Level::Snapshot | Level::Serializable => 0,
        };
        let is_missing = |row: &usize| self.first.missing.contains(&self.first.labels[*row]);
        let missing = (0..self.graph.len()).filter(is_missing).collect();
        SplitFound { templates, prefix, links, missing }
    }

    fn seconds(&mut self) -> Vec<ChainNode> {
        let mut nodes: Vec<ChainNode> = Vec::new();
        for &(template, level) in self.taking {
            let mut pairs = Vec::new();
            let splitting = numbered(self.first.template).filter(|((number, _), _)| self.splitting.contains(number));
            for (b1, mine) in splitting.filter(|(_, mine)| self.first.has_own(mine)) {
                for (a2, theirs) in numbered(&self.searcher.templates[template]) {
                    if mine.table == theirs.table && mine.reads & theirs.writes != 0 {
                        pairs.push((b1, a2, mine.row.zip(theirs.row)));
                    }
                }
            }
            for (b1, a2, rows) in pairs {
                let unbound = self.unbound(template);
                let Some(labels) = self.forced(template, &unbound, rows.as_slice()) else { continue };
                let second = Some((b1, a2)).filter(|_| self.has(template, &labels, a2));
                if second.is_some() && self.first.can_second(&self.other(template, level, &labels)) {
                    nodes.push(ChainNode { template, level, labels, second, last: None, between: false });
                }
            }
        }
        nodes
    }

    /// Pairs of operations that close the cycle: bm, a1, and their rows.
    fn closing(&self, template: usize) -> Vec<(OperationAt, OperationAt, Option<(usize, usize)>)> {
        let mut pairs = Vec::new();
        for (bm, theirs) in numbered(&self.searcher.templates[template]) {
            for (a1, mine) in numbered(self.first.template).filter(|(_, mine)| self.first.has_own(mine)) {
                if self.first.closes(theirs, a1.0, mine) {
                    pairs.push((bm, a1, mine.row.zip(theirs.row)));
                }
            }
        }
        pairs
    }

    fn lasts(&mut self) -> Vec<ChainNode> {
        let mut nodes = Vec::new();
        for &(template, level) in self.taking {
            for (bm, a1, rows) in self.closing(template) {
                let unbound = self.unbound(template);
                let Some(labels) = self.forced(template, &unbound, rows.as_slice()) else { continue };
                let last = Some((bm, a1)).filter(|_| self.has(template, &labels, bm));
                if last.is_some() && self.first.can_last(&self.other(template, level, &labels)) {
                    nodes.push(ChainNode { template, level, labels, second: None, last, between: false });
                }
            }
        }
        nodes
    }

    fn between(&mut self) -> Vec<ChainNode> {
        let mut nodes = Vec::new();
        for &(template, level) in self.taking {
            let unbound = self.unbound(template);
            let Some(labels) = self.forced(template, &unbound, &[]) else { continue };
            if self.first.can_between(&self.other(template, level, &labels)) {
                nodes.push(ChainNode { template, level, labels, second: None, last: None, between: true });
            }
        }
        nodes
    }

    /// The second is the last.
    fn both_at_once(&mut self, seconds: &[ChainNode]) -> Option<SplitFound> {
        for node in seconds.iter().filter(|node| levels_allow(self.first.level, node.level, node.level)) {
            for (bm, a1, rows) in self.closing(node.template) {
                let Some(labels) = self.forced(node.template, &node.labels, rows.as_slice()) else { continue };
                let other = self.other(node.template, node.level, &labels);
                if let Some(second) = node.second
                    && self.has(node.template, &labels, second.1)
                    && self.has(node.template, &labels, bm)
                    && self.first.can_second(&other)
                    && self.first.can_last(&other)
                {
                    let templates = vec![self.first_number, node.template];
                    return Some(self.found(templates, vec![second, (bm, a1)]));
                }
            }
        }
        None
    }
}

/// The graph of instances.
impl SplitSearch<'_, '_> {
    /// Puts an instance into the graph, if it can be anything there.
    fn add(&mut self, node: ChainNode) -> Option<usize> {
        if node.second.is_none() && node.last.is_none() && !node.between {
            return None;
        }
        let same = self.known.entry((node.template, node.labels.clone())).or_default();
        let is_like = |number: &&usize| {
            let known = &self.nodes[**number];
            known.level == node.level
                && known.second.is_some() >= node.second.is_some()
                && known.last.is_some() >= node.last.is_some()
                && known.between >= node.between
        };
        if let Some(&number) = same.iter().find(is_like) {
            return Some(number);
        }
        same.push(self.nodes.len());
        self.nodes.push(node);
        self.edges.push(Vec::new());
        Some(self.nodes.len() - 1)
    }

    /// Joins all instances by the rows that they can share, until nothing new comes of it. Nothing if that takes too long.
    fn join(&mut self) -> Option<()> {
        let mut next = 0;
        while next < self.nodes.len() {
            for other in 0..=next {
                if *self.steps > MOST_CLOSURES {
                    return None;
                }
                self.link(next, other);
            }
            next += 1;
        }
        Some(())
    }

    fn link(&mut self, one: usize, two: usize) {
        let templates = self.searcher.templates;
        let (left, right) = (&templates[self.nodes[one].template], &templates[self.nodes[two].template]);
        let mut tried: Vec<Option<(usize, usize)>> = Vec::new();
        for (at, operation) in numbered(left) {
            for (other_at, other) in numbered(right).filter(|(_, other)| operation.conflicts(other)) {
                let rows = operation.row.zip(other.row);
                if !tried.contains(&rows) {
                    tried.push(rows);
                    self.link_by(one, two, rows, (at, other_at));
                }
            }
        }
    }

    fn link_by(&mut self, one: usize, two: usize, rows: Option<(usize, usize)>, by: (OperationAt, OperationAt)) {
        *self.steps += 1;
        let (left, right) = (&self.nodes[one], &self.nodes[two]);
        let graphs = &self.searcher.graphs;
        let mut closure = Closure::new(&[
            (self.graph, self.first.labels),
            (&graphs[left.template], &left.labels),
            (&graphs[right.template], &right.labels),
        ]);
        if let Some((mine, theirs)) = rows {
            let (mine, theirs) = (closure.at(1, mine), closure.at(2, theirs));
            closure.unite(mine, theirs);
        }
        if !closure.close() || self.inserts_twice(&closure, one, two) {
            return;
        }
        let labels = [closure.labels(1), closure.labels(2)];
        if !self.keeps_first(closure.labels(0)) {
            return;
        }
        let same = [labels[0] == self.nodes[one].labels, labels[1] == self.nodes[two].labels];
        let [first, second] = labels;
        let one = if same[0] { Some(one) } else { self.refine(one, first) };
        let two = if same[1] { Some(two) } else { self.refine(two, second) };
        if let (Some(one), Some(two)) = (one, two)
            && same == [true, true]
            && self.has(self.nodes[one].template, &self.nodes[one].labels, by.0)
            && self.has(self.nodes[two].template, &self.nodes[two].labels, by.1)
        {
            self.edges[one].push((two, by.0, by.1));
            self.edges[two].push((one, by.1, by.0));
        }
    }

    /// Two that both bring the same row into being cannot both commit.
    fn inserts_twice(&self, closure: &Closure<'_>, one: usize, two: usize) -> bool {
        let inserted = |number: usize| {
            let template = &self.searcher.templates[self.nodes[number].template];
            template.operations().filter(|(_, operation)| operation.inserts_once).filter_map(|(_, one)| one.row)
        };
        inserted(one).any(|row| {
            let row = closure.find(closure.at(1, row));
            inserted(two).any(|other| closure.find(closure.at(2, other)) == row)
        })
    }

    /// An instance of which more is known.
    fn refine(&mut self, number: usize, labels: Labels) -> Option<usize> {
        let node = self.nodes[number].clone();
        let other = self.other(node.template, node.level, &labels);
        let second = node.second.filter(|by| self.has(node.template, &labels, by.1) && self.first.can_second(&other));
        let last = node.last.filter(|by| self.has(node.template, &labels, by.0) && self.first.can_last(&other));
        let between = node.between && self.first.can_between(&other);
        self.add(ChainNode { labels, second, last, between, ..node })
    }

    /// The shortest way from a second to a last.
    fn walk(&self) -> Option<SplitFound> {
        let starts: Vec<usize> = (0..self.nodes.len()).filter(|&number| self.nodes[number].second.is_some()).collect();
        starts.into_iter().find_map(|start| self.walk_from(start))
    }

    fn walk_from(&self, start: usize) -> Option<SplitFound> {
        let mut before: Vec<Option<(usize, OperationAt, OperationAt)>> = vec![None; self.nodes.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(number) = queue.pop_front() {
            for &(next, from, to) in &self.edges[number] {
                let node = &self.nodes[next];
                let ends = node.last.filter(|_| levels_allow(self.first.level, self.nodes[start].level, node.level));
                if let Some(last) = ends {
                    return Some(self.told(start, number, (next, from, to), last, &before));
                }
                if node.between && next != start && before[next].is_none() {
                    before[next] = Some((number, from, to));
                    queue.push_back(next);
                }
            }
        }
        None
    }

    fn told(
        &self,
        start: usize,
        number: usize,
        end: (usize, OperationAt, OperationAt),
        last: (OperationAt, OperationAt),
        before: &[Option<(usize, OperationAt, OperationAt)>],
    ) -> SplitFound {
        let mut templates = vec![self.nodes[end.0].template];
        let mut links = vec![last, (end.1, end.2)];
        let mut at = number;
        while at != start {
            templates.push(self.nodes[at].template);
            let Some((previous, from, to)) = before[at] else { break };
            links.push((from, to));
            at = previous;
        }
        templates.push(self.nodes[start].template);
        templates.push(self.first_number);
        let second = self.nodes[start].second.unwrap_or_default();
        links.push(second);
        templates.reverse();
        links.reverse();
        self.found(templates, links)
    }
}
