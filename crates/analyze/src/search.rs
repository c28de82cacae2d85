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
use crate::effect::{LockStrength, Looking};
use crate::instance::{Follows, InstanceId, Instances, SharedRow};
use crate::split::{FirstTransaction, Level, OtherTransaction, Role, levels_allow};
use crate::template::{EXISTS, OperationAt, RowOperation, Template};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// How many rows of one transaction may be missing or not.
const MOST_MISSING: usize = 12;

/// How many pairs of instances a search may look at.
const MOST_STEPS: usize = 20_000_000;
/// How many instances of one t1 are remembered.
const MOST_REMEMBERED: usize = 20_000;

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

/// Instances beside a t1, for all searches with it.
type SharedInstances<'a> = Rc<RefCell<Instances<'a>>>;

/// The templates of a program, ready to be searched.
pub(crate) struct Searcher<'a> {
    templates: &'a [Template],
    graphs: &'a [TermGraph],
    /// What is known beside each t1, by its template and its labels.
    known: RefCell<FxHashMap<(usize, Labels), SharedInstances<'a>>>,
}

/// The terms of templates, for [`Searcher::new`].
pub(crate) fn term_graphs(templates: &[Template]) -> Vec<TermGraph> {
    let mut texts = TextNumbers::default();
    templates.iter().map(|template| TermGraph::new(template, &mut texts)).collect()
}

impl<'a> Searcher<'a> {
    pub(crate) fn new(templates: &'a [Template], graphs: &'a [TermGraph]) -> Searcher<'a> {
        Searcher { templates, graphs, known: RefCell::default() }
    }

    /// Looks for a counterexample among the procedures that have a level.
    pub(crate) fn search(&self, levels: &[Option<Level>]) -> SearchOutcome {
        let taking: Vec<(usize, Level)> = (0..self.templates.len())
            .filter_map(|number| Some((number, levels[self.templates[number].procedure]?)))
            .collect();
        let watched =
            |number: usize| self.templates[number].operations().all(|(_, one)| one.watched_reads() == one.reads);
        if taking.iter().all(|(number, level)| *level == Level::Serializable && watched(*number)) {
            return SearchOutcome::Nothing;
        }
        let mut steps = 0;
        for &(first, level) in &taking {
            match self.search_from(first, level, &taking, &mut steps) {
                SearchOutcome::Nothing => {}
                outcome => return outcome,
            }
        }
        SearchOutcome::Nothing
    }

    /// Looks for a counterexample in which one procedure is interrupted, and all others are instances of another one.
    pub(crate) fn search_between(&self, first: usize, other: usize, level: Level) -> SearchOutcome {
        let of = |procedure: usize| {
            (0..self.templates.len()).filter(move |number| self.templates[*number].procedure == procedure)
        };
        let taking: Vec<(usize, Level)> = of(other).map(|number| (number, level)).collect();
        let mut steps = 0;
        for template in of(first) {
            match self.search_from(template, level, &taking, &mut steps) {
                SearchOutcome::Nothing => {}
                outcome => return outcome,
            }
        }
        SearchOutcome::Nothing
    }

    /// Looks for one whose t1 is an instance of a template: as it is, and as others refine it.
    fn search_from(&self, first: usize, level: Level, taking: &[(usize, Level)], steps: &mut usize) -> SearchOutcome {
        let start = Labels::from_iter(0..self.graphs[first].len() as u32);
        let mut closure = Closure::new(&[(&self.graphs[first], &start)]);
        if !closure.close() {
            return SearchOutcome::Nothing;
        }
        let splits = self.splits(first, level);
        let mut refined = vec![closure.labels(0)];
        let mut next = 0;
        while next < refined.len() {
            let labels = refined[next].clone();
            next += 1;
            let instances = self.instances(first, &labels);
            let Some(choices) = self.missing(first, &labels) else { return SearchOutcome::TooLong };
            for (missing, (prefix, numbers)) in choices.iter().flat_map(|one| splits.iter().map(move |two| (one, two)))
            {
                let template = &self.templates[first];
                let transaction = FirstTransaction { template, labels: &labels, level, prefix: *prefix, missing };
                let mut search = SplitSearch {
                    templates: self.templates,
                    instances: &mut instances.borrow_mut(),
                    first: &transaction,
                    first_number: first,
                    splitting: numbers.clone(),
                    taking,
                    refined: &mut refined,
                    steps,
                    nodes: Vec::new(),
                    known: FxHashMap::default(),
                    edges: Vec::new(),
                };
                if let Some(found) = search.run() {
                    return SearchOutcome::Found(found);
                }
                if *steps > MOST_STEPS {
                    return SearchOutcome::TooLong;
                }
            }
        }
        SearchOutcome::Nothing
    }

    fn instances(&self, first: usize, labels: &Labels) -> SharedInstances<'a> {
        let mut known = self.known.borrow_mut();
        let instances = known.entry((first, labels.clone())).or_insert_with(|| {
            Rc::new(RefCell::new(Instances::new(self.templates, self.graphs, first, labels.clone())))
        });
        if instances.borrow().len() > MOST_REMEMBERED {
            *instances.borrow_mut() = Instances::new(self.templates, self.graphs, first, labels.clone());
        }
        Rc::clone(instances)
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
            // After a statement; and while it waits.
            Level::ReadCommitted => {
                (0..count).flat_map(|number| [number + 1, number].map(|prefix| (prefix, number..number + 1))).collect()
            }
            Level::Snapshot | Level::Serializable => vec![(count, 0..count)],
        }
    }
}

/// An instance in the graph.
#[derive(Clone)]
struct ChainNode {
    instance: InstanceId,
    template: usize,
    level: Level,
    /// Every b1 and a2 by which it can be the second.
    second: Vec<(OperationAt, OperationAt)>,
    /// Every bm and a1 by which it can be the last.
    last: Vec<(OperationAt, OperationAt)>,
    /// Whether it can stand in between.
    between: bool,
}

/// One t1, split in one place.
struct SplitSearch<'s, 'a> {
    templates: &'a [Template],
    instances: &'s mut Instances<'a>,
    first: &'s FirstTransaction<'s>,
    first_number: usize,
    /// The statements in which b1 may be.
    splitting: std::ops::Range<usize>,
    taking: &'s [(usize, Level)],
    /// What t1 may be refined to.
    refined: &'s mut Vec<Labels>,
    steps: &'s mut usize,
    nodes: Vec<ChainNode>,
    known: FxHashMap<InstanceId, Vec<usize>>,
    edges: Vec<Vec<(usize, OperationAt, OperationAt)>>,
}

/// Two operations that join two transactions, and the rows of them that must be one.
type JoiningPair = (OperationAt, OperationAt, SharedRow);

/// The operations of a template with their places.
fn numbered(template: &Template) -> impl Iterator<Item = (OperationAt, &RowOperation)> {
    let chunks = template.chunks.iter().enumerate();
    chunks.flat_map(|(number, chunk)| {
        chunk.operations.iter().enumerate().map(move |(place, operation)| ((number, place), operation))
    })
}

/// Deletes of rows of a table, each with an insert after it.
fn anew(template: &Template, table: usize) -> Vec<(OperationAt, OperationAt)> {
    let comes_or_goes = |(_, one): &(OperationAt, &RowOperation)| one.table == table && one.writes & EXISTS != 0;
    let changes: Vec<(OperationAt, &RowOperation)> = numbered(template).filter(comes_or_goes).collect();
    let (deletes, inserts): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|(_, one)| one.looking != Looking::Inserting);
    let after = |(delete, _): &(OperationAt, &RowOperation)| {
        let delete = *delete;
        let later = inserts.iter().filter(move |(insert, _)| insert.0 >= delete.0);
        later.map(move |(insert, _)| (delete, *insert)).collect::<Vec<_>>()
    };
    deletes.iter().flat_map(after).collect()
}

impl SplitSearch<'_, '_> {
    fn run(&mut self) -> Option<SplitFound> {
        if self.first.level == Level::ReadCommitted && self.first.prefix == self.splitting.start {
            return self.inserted_anew();
        }
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

    /// A statement of t1 waits for another one that has deleted its row, finds nothing, and does not see that the other one inserts it anew before it
    /// commits: it is in the middle of the other one, which no split is.
    fn inserted_anew(&mut self) -> Option<SplitFound> {
        let (first, templates) = (self.first, self.templates);
        let waits = |mine: &RowOperation| {
            let locks = mine.writes != 0 || mine.lock != LockStrength::None;
            locks && mine.looking == Looking::Statement && first.has_own(mine)
        };
        let splitting = numbered(first.template).filter(|((number, _), _)| self.splitting.contains(number));
        let waiting: Vec<(OperationAt, &RowOperation)> = splitting.filter(|(_, mine)| waits(mine)).collect();
        for (a1, mine) in waiting {
            for &(template, level) in self.taking {
                for (bm, a2) in anew(&templates[template], mine.table) {
                    let row = |at: OperationAt| mine.row.zip(templates[template].at(at).row);
                    let unbound = self.instances.unbound(template);
                    let Some(instance) = self.forced(unbound, row(bm)) else { continue };
                    let Some(instance) = self.forced(instance, row(a2)) else { continue };
                    if self.is_allowed(instance, level, Role::Second { read_by: a1 }) {
                        return Some(self.found(vec![self.first_number, template], vec![(a1, a2), (bm, a1)]));
                    }
                }
            }
        }
        None
    }

    /// What an instance becomes when a row of t1 is a row of it; nothing if that is impossible, or if t1 itself is refined by it.
    fn forced(&mut self, instance: InstanceId, rows: SharedRow) -> Option<InstanceId> {
        *self.steps += 1;
        match self.instances.forced(instance, rows) {
            Follows::Impossible => None,
            Follows::Refines(labels) => self.refine_first(labels),
            Follows::To(instance) => Some(instance),
        }
    }

    /// Another t1 for later.
    fn refine_first<T>(&mut self, labels: Labels) -> Option<T> {
        if !self.refined.contains(&labels) {
            self.refined.push(labels);
        }
        None
    }

    /// What an instance may be, at its level.
    fn is_allowed(&self, instance: InstanceId, level: Level, role: Role) -> bool {
        let (template, labels) = self.instances.get(instance);
        self.first.allows(role, &OtherTransaction { template: &self.templates[template], labels: &labels, level })
    }

    /// Whether the row of an operation of an instance is there.
    fn has(&self, instance: InstanceId, at: OperationAt) -> bool {
        let (template, labels) = self.instances.get(instance);
        let template = &self.templates[template];
        self.first.missing.is_empty() || self.first.has(template, &labels, template.at(at))
    }

    fn found(&self, templates: Vec<usize>, links: Vec<(OperationAt, OperationAt)>) -> SplitFound {
        // A snapshot is taken before the first statement, and nothing of it has to be done before the others.
        let prefix = match self.first.level {
            Level::ReadCommitted => links.first().map_or(0, |(b1, _)| b1.0 + 1),
            Level::Snapshot | Level::Serializable => 0,
        };
        let is_missing = |row: &usize| self.first.missing.contains(&self.first.labels[*row]);
        let missing = (0..self.first.labels.len()).filter(is_missing).collect();
        SplitFound { templates, prefix, links, missing }
    }

    fn seconds(&mut self) -> Vec<ChainNode> {
        let mut nodes: Vec<ChainNode> = Vec::new();
        for &(template, level) in self.taking {
            let mut pairs = Vec::new();
            let splitting = numbered(self.first.template).filter(|((number, _), _)| self.splitting.contains(number));
            // Nobody gives a parent children while it is being deleted, so who looks for them is not overwritten.
            let is_overwritten = |mine: &RowOperation| mine.writes != 0 || mine.latest_reads() == 0;
            for (b1, mine) in splitting.filter(|(_, mine)| self.first.has_own(mine) && is_overwritten(mine)) {
                for (a2, theirs) in numbered(&self.templates[template]) {
                    if mine.table == theirs.table && mine.reads & theirs.writes != 0 {
                        pairs.push((b1, a2, mine.row.zip(theirs.row)));
                    }
                }
            }
            for (same, instance) in self.by_rows(template, pairs) {
                let is_second = |(b1, a2): &(OperationAt, OperationAt)| {
                    self.has(instance, *a2) && self.is_allowed(instance, level, Role::Second { read_by: *b1 })
                };
                let second: Vec<_> = same.into_iter().filter(is_second).collect();
                if !second.is_empty() {
                    nodes.push(ChainNode { instance, template, level, second, last: Vec::new(), between: false });
                }
            }
        }
        nodes
    }

    /// Pairs of operations of t1 and a template, in whatever order, by the instance that they make of it.
    fn by_rows(
        &mut self,
        template: usize,
        mut pairs: Vec<JoiningPair>,
    ) -> Vec<(Vec<(OperationAt, OperationAt)>, InstanceId)> {
        pairs.sort_by_key(|(_, _, rows)| *rows);
        let mut found = Vec::new();
        for same in pairs.chunk_by(|one, other| one.2 == other.2) {
            let unbound = self.instances.unbound(template);
            if let Some(instance) = self.forced(unbound, same[0].2) {
                found.push((same.iter().map(|(from, to, _)| (*from, *to)).collect(), instance));
            }
        }
        found
    }

    /// Pairs of operations that close the cycle: bm, a1, and their rows.
    fn closing(&self, template: usize) -> Vec<JoiningPair> {
        let mut pairs = Vec::new();
        for (bm, theirs) in numbered(&self.templates[template]) {
            for (a1, mine) in numbered(self.first.template).filter(|(_, mine)| self.first.has_own(mine)) {
                if self.first.closes(theirs, a1.0, mine) {
                    pairs.push((bm, a1, mine.row.zip(theirs.row)));
                }
            }
        }
        pairs
    }

    /// Whether an instance can be the last, by a pair that closes the cycle.
    fn is_last(&self, instance: InstanceId, level: Level, (by, onto): (OperationAt, OperationAt)) -> bool {
        self.has(instance, by) && self.is_allowed(instance, level, Role::Last { by, onto })
    }

    fn lasts(&mut self) -> Vec<ChainNode> {
        let mut nodes = Vec::new();
        for &(template, level) in self.taking {
            let closing = self.closing(template);
            for (same, instance) in self.by_rows(template, closing) {
                let last = same.into_iter().filter(|pair| self.is_last(instance, level, *pair)).collect();
                nodes.push(ChainNode { instance, template, level, second: Vec::new(), last, between: false });
            }
        }
        nodes
    }

    fn between(&mut self) -> Vec<ChainNode> {
        let mut nodes = Vec::new();
        for &(template, level) in self.taking {
            let unbound = self.instances.unbound(template);
            let Some(instance) = self.forced(unbound, None) else { continue };
            if self.is_allowed(instance, level, Role::Between) {
                nodes.push(ChainNode {
                    instance,
                    template,
                    level,
                    second: Vec::new(),
                    last: Vec::new(),
                    between: true,
                });
            }
        }
        nodes
    }

    /// The second is the last.
    fn both_at_once(&mut self, seconds: &[ChainNode]) -> Option<SplitFound> {
        for node in seconds {
            for (bm, a1, rows) in self.closing(node.template) {
                let Some(instance) = self.forced(node.instance, rows) else { continue };
                let can_second = |(b1, a2): &(OperationAt, OperationAt)| {
                    self.has(instance, *a2)
                        && self.levels_allow(node, *b1, node, (bm, a1))
                        && self.is_allowed(instance, node.level, Role::Second { read_by: *b1 })
                };
                if let Some(&second) = node.second.iter().find(|pair| can_second(pair))
                    && self.is_last(instance, node.level, (bm, a1))
                {
                    let templates = vec![self.first_number, node.template];
                    return Some(self.found(templates, vec![second, (bm, a1)]));
                }
            }
        }
        None
    }
}

/// What nobody watches at a node: a pair that a cycle can begin with, and one that it can end with.
type UnwatchedEnds = (Option<(OperationAt, OperationAt)>, Option<(OperationAt, OperationAt)>);

/// The graph of instances.
impl SplitSearch<'_, '_> {
    /// Whether the levels of the first, a second and a last leave room for a cycle, or PostgreSQL does not know of what it begins or ends with.
    fn levels_allow(
        &self,
        second: &ChainNode,
        b1: OperationAt,
        last: &ChainNode,
        (bm, a1): (OperationAt, OperationAt),
    ) -> bool {
        levels_allow(self.first.level, second.level, last.level)
            || !self.first.watches(b1)
            || !self.first.is_watched(&self.templates[last.template], bm, a1)
    }

    /// Puts an instance into the graph, if it can be anything there.
    fn add(&mut self, node: ChainNode) {
        if node.second.is_empty() && node.last.is_empty() && !node.between {
            return;
        }
        let same = self.known.entry(node.instance).or_default();
        let is_like = |number: &usize| {
            let known = &self.nodes[*number];
            known.level == node.level
                && node.second.iter().all(|pair| known.second.contains(pair))
                && node.last.iter().all(|pair| known.last.contains(pair))
                && known.between >= node.between
        };
        if same.iter().any(is_like) {
            return;
        }
        same.push(self.nodes.len());
        self.nodes.push(node);
        self.edges.push(Vec::new());
    }

    /// Joins all instances by the rows that they can share, until nothing new comes of it. Nothing if that takes too long.
    fn join(&mut self) -> Option<()> {
        let mut next = 0;
        while next < self.nodes.len() {
            for other in 0..=next {
                if *self.steps > MOST_STEPS {
                    return None;
                }
                self.link(next, other);
            }
            next += 1;
        }
        Some(())
    }

    fn link(&mut self, one: usize, two: usize) {
        let templates = self.templates;
        let (left, right) = (&templates[self.nodes[one].template], &templates[self.nodes[two].template]);
        let mut tried: Vec<(Option<usize>, Option<usize>)> = Vec::new();
        for (at, operation) in numbered(left) {
            for (other_at, other) in numbered(right).filter(|(_, other)| operation.conflicts(other)) {
                let rows = (operation.row, other.row);
                if !tried.contains(&rows) {
                    tried.push(rows);
                    self.link_by(one, two, rows.0.zip(rows.1), (at, other_at));
                }
            }
        }
    }

    fn link_by(&mut self, one: usize, two: usize, rows: SharedRow, by: (OperationAt, OperationAt)) {
        *self.steps += 1;
        let (left, right) = (self.nodes[one].instance, self.nodes[two].instance);
        let (first, second) = match self.instances.linked(left, right, rows) {
            Follows::Impossible => return,
            Follows::Refines(labels) => return self.refine_first::<()>(labels).unwrap_or_default(),
            Follows::To(both) => both,
        };
        if (first, second) != (left, right) {
            self.refine(one, first);
            self.refine(two, second);
        } else if self.has(left, by.0) && self.has(right, by.1) {
            self.edges[one].push((two, by.0, by.1));
            self.edges[two].push((one, by.1, by.0));
        }
    }

    /// Puts an instance into the graph of which more is known.
    fn refine(&mut self, number: usize, instance: InstanceId) {
        let node = self.nodes[number].clone();
        if instance == node.instance {
            return;
        }
        let allows = |role: Role| self.is_allowed(instance, node.level, role);
        let can_second =
            |(b1, a2): &(OperationAt, OperationAt)| self.has(instance, *a2) && allows(Role::Second { read_by: *b1 });
        let second = node.second.iter().copied().filter(can_second).collect();
        let last = node.last.iter().copied().filter(|pair| self.is_last(instance, node.level, *pair)).collect();
        let between = node.between && allows(Role::Between);
        self.add(ChainNode { instance, second, last, between, ..node });
    }

    /// The shortest way from a second to a last.
    fn walk(&self) -> Option<SplitFound> {
        let unwatched: Vec<UnwatchedEnds> = self.nodes.iter().map(|node| self.unwatched(node)).collect();
        let starts: Vec<usize> =
            (0..self.nodes.len()).filter(|&number| !self.nodes[number].second.is_empty()).collect();
        starts.into_iter().find_map(|start| self.walk_from(start, &unwatched))
    }

    /// What PostgreSQL does not watch among that which a cycle can begin and end with at a node.
    fn unwatched(&self, node: &ChainNode) -> UnwatchedEnds {
        let second = node.second.iter().find(|(b1, _)| !self.first.watches(*b1)).copied();
        let is_watched = |(bm, a1): &(OperationAt, OperationAt)| {
            self.first.is_watched(&self.templates[node.template], *bm, *a1)
        };
        (second, node.last.iter().find(|pair| !is_watched(pair)).copied())
    }

    fn walk_from(&self, start: usize, unwatched: &[UnwatchedEnds]) -> Option<SplitFound> {
        let mut before: Vec<Option<(usize, OperationAt, OperationAt)>> = vec![None; self.nodes.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(number) = queue.pop_front() {
            for &(next, from, to) in &self.edges[number] {
                let node = &self.nodes[next];
                if let Some(ends) = self.ends(start, next, unwatched) {
                    return Some(self.told(start, number, (next, from, to), ends, &before));
                }
                if node.between && next != start && before[next].is_none() {
                    before[next] = Some((number, from, to));
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// What a cycle from a second to a last can begin and end with: anything where their levels leave room, else what nobody watches.
    fn ends(
        &self,
        start: usize,
        end: usize,
        unwatched: &[UnwatchedEnds],
    ) -> Option<[(OperationAt, OperationAt); 2]> {
        let (second, last) = (self.nodes[start].second.first()?, self.nodes[end].last.first()?);
        if levels_allow(self.first.level, self.nodes[start].level, self.nodes[end].level) {
            return Some([*second, *last]);
        }
        match (unwatched[start].0, unwatched[end].1) {
            (Some(second), _) => Some([second, *last]),
            (None, Some(last)) => Some([*second, last]),
            (None, None) => None,
        }
    }

    fn told(
        &self,
        start: usize,
        number: usize,
        end: (usize, OperationAt, OperationAt),
        [second, last]: [(OperationAt, OperationAt); 2],
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
        links.push(second);
        templates.reverse();
        links.reverse();
        self.found(templates, links)
    }
}
