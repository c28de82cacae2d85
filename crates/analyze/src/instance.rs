//! Instances beside one t1, by number, and what follows when rows of theirs are one: remembered, because every level and every place where t1
//! can be split asks the same again.

use crate::closure::{Closure, Labels, TermGraph};
use crate::steps::Steps;
use crate::template::{Template, TermId};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A number of an instance beside its t1.
pub(crate) type InstanceId = usize;

/// A row of one and a row of another that are one row; nothing where rows are not told by keys.
pub(crate) type SharedRow = Option<(TermId, TermId)>;

/// What follows for `T`.
#[derive(Clone, Debug)]
pub(crate) enum Follows<T> {
    /// It cannot be.
    Impossible,
    /// Terms of t1 itself are equal that were not: these are its labels then.
    Refines(Labels),
    /// This.
    To(T),
}

/// The instances beside one t1.
pub(crate) struct Instances {
    templates: Rc<[Template]>,
    graphs: Rc<[TermGraph]>,
    steps: Rc<Steps>,
    first: usize,
    first_labels: Labels,
    all: Vec<(usize, Rc<Labels>)>,
    numbers: FxHashMap<(usize, Rc<Labels>), InstanceId>,
    forced: FxHashMap<(InstanceId, SharedRow), Follows<InstanceId>>,
    linked: FxHashMap<(InstanceId, InstanceId, SharedRow), Follows<(InstanceId, InstanceId)>>,
}

impl Instances {
    pub(crate) fn new(
        templates: Rc<[Template]>,
        graphs: Rc<[TermGraph]>,
        steps: Rc<Steps>,
        (first, first_labels): (usize, Labels),
    ) -> Instances {
        let (numbers, forced, linked) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        Instances { templates, graphs, steps, first, first_labels, all: Vec::new(), numbers, forced, linked }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The template and the labels of an instance.
    pub(crate) fn get(&self, instance: InstanceId) -> (usize, Rc<Labels>) {
        let (template, labels) = &self.all[instance];
        (*template, Rc::clone(labels))
    }

    fn number(&mut self, template: usize, labels: Labels) -> InstanceId {
        let labels = Rc::new(labels);
        let next = self.all.len();
        let number = *self.numbers.entry((template, Rc::clone(&labels))).or_insert(next);
        if number == next {
            self.all.push((template, labels));
        }
        number
    }

    /// An instance of which nothing is known.
    pub(crate) fn unbound(&mut self, template: usize) -> InstanceId {
        let start = self.graphs[self.first].len() as u32;
        let labels = (0..self.graphs[template].len() as u32).map(|term| start + term).collect();
        self.number(template, labels)
    }

    /// What an instance becomes when a row of t1 is a row of it.
    pub(crate) fn forced(&mut self, instance: InstanceId, rows: SharedRow) -> Follows<InstanceId> {
        if let Some(known) = self.forced.get(&(instance, rows)) {
            return known.clone();
        }
        let (template, labels) = self.get(instance);
        let graphs = Rc::clone(&self.graphs);
        let mut closure = Closure::new(&[(&graphs[self.first], &self.first_labels), (&graphs[template], &labels)]);
        if let Some((mine, theirs)) = rows {
            let (mine, theirs) = (closure.at(0, mine), closure.at(1, theirs));
            closure.unite(mine, theirs);
        }
        self.steps.take(closure.cost());
        let follows = match closure.close().then(|| closure.labels(0)) {
            None => Follows::Impossible,
            Some(labels) if labels != self.first_labels => Follows::Refines(labels),
            Some(_) => Follows::To(self.number(template, closure.labels(1))),
        };
        self.forced.insert((instance, rows), follows.clone());
        follows
    }

    /// What two instances become when a row of the one is a row of the other.
    pub(crate) fn linked(
        &mut self,
        one: InstanceId,
        two: InstanceId,
        rows: SharedRow,
    ) -> Follows<(InstanceId, InstanceId)> {
        if let Some(known) = self.linked.get(&(one, two, rows)) {
            return known.clone();
        }
        let ((left, left_labels), (right, right_labels)) = (self.get(one), self.get(two));
        let graphs = Rc::clone(&self.graphs);
        let mut closure = Closure::new(&[
            (&graphs[self.first], &self.first_labels),
            (&graphs[left], &left_labels),
            (&graphs[right], &right_labels),
        ]);
        if let Some((mine, theirs)) = rows {
            let (mine, theirs) = (closure.at(1, mine), closure.at(2, theirs));
            closure.unite(mine, theirs);
        }
        self.steps.take(closure.cost());
        let possible = closure.close() && !self.inserts_twice(&closure, left, right);
        let follows = match possible.then(|| closure.labels(0)) {
            None => Follows::Impossible,
            Some(labels) if labels != self.first_labels => Follows::Refines(labels),
            Some(_) => Follows::To((self.number(left, closure.labels(1)), self.number(right, closure.labels(2)))),
        };
        self.linked.insert((one, two, rows), follows.clone());
        follows
    }

    /// Two that both bring the same row into being cannot both commit.
    fn inserts_twice(&self, closure: &Closure<'_>, left: usize, right: usize) -> bool {
        let inserted = |template: usize| {
            let operations = self.templates[template].operations().map(|(_, operation)| operation);
            operations.filter(|operation| operation.inserts_once).filter_map(|operation| operation.row)
        };
        inserted(left).any(|row| {
            let row = closure.find(closure.at(1, row));
            inserted(right).any(|other| closure.find(closure.at(2, other)) == row)
        })
    }
}
