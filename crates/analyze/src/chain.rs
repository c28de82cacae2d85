//! What can stand in a chain beside one t1, and which of it can be joined: the same wherever t1 is split.
//!
//! ```text
//!   t1  reads r(p), writes r(q)
//!         beside it        u            any instance of a template
//!                          u[x = p]     one of which a row is a row of t1
//!         joined           u[x = p] ── v[y = p]      they share a row, and nothing more follows from that
//!                          u ── v[y = p]             that makes u the instance u[x = p], which is put beside t1 as well
//! ```
//!
//! Who searches walks over this graph once for every way in which t1 can be split and asks what each instance may be there; what instances
//! are and how they are joined costs most of the time, and is found out once.

use crate::closure::Labels;
use crate::instance::{Follows, InstanceId, Instances, SharedRow};
use crate::steps::Steps;
use crate::template::{OperationAt, RowOperation, Template};
use rustc_hash::FxHashMap;

/// The instances beside a t1 and how they are joined.
pub(crate) struct Chains {
    /// Instances by place.
    pub(crate) instances: Vec<InstanceId>,
    /// For each place what it is joined with.
    pub(crate) joined: Vec<Vec<Joint>>,
    /// What t1 itself may become when two of them are joined.
    pub(crate) refined: Vec<Labels>,
}

/// Two instances share a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joint {
    /// The place of the other one.
    pub(crate) to: usize,
    /// The operation of this one.
    pub(crate) from_at: OperationAt,
    /// The operation of the other one.
    pub(crate) to_at: OperationAt,
}

/// The operations of a template with their places.
pub(crate) fn numbered(template: &Template) -> impl Iterator<Item = (OperationAt, &RowOperation)> {
    let chunks = template.chunks.iter().enumerate();
    chunks.flat_map(|(number, chunk)| {
        chunk.operations.iter().enumerate().map(move |(place, operation)| ((number, place), operation))
    })
}

/// Who finds out.
struct Joining<'j, 'k> {
    templates: &'j [Template],
    instances: &'j mut Instances,
    /// Whether an instance may be anything at all.
    may_be: &'k dyn Fn(usize, &Labels) -> bool,
    steps: &'j Steps,
    /// The place of each instance; nothing for those that can be nothing.
    places: FxHashMap<InstanceId, Option<usize>>,
    /// Pairs of operations of two templates that may meet, each pair of rows once.
    meetings: FxHashMap<(usize, usize), Vec<(OperationAt, OperationAt)>>,
    chains: Chains,
}

impl Chains {
    /// Puts instances of some templates beside t1, as they are and with each row in common that makes a conflict, and joins them until nothing new
    /// comes of it. Nothing if that takes too long.
    pub(crate) fn new(
        templates: &[Template],
        (first, beside): (usize, &[usize]),
        instances: &mut Instances,
        may_be: &dyn Fn(usize, &Labels) -> bool,
        steps: &Steps,
    ) -> Option<Chains> {
        let chains = Chains { instances: Vec::new(), joined: Vec::new(), refined: Vec::new() };
        let (places, meetings) = (FxHashMap::default(), FxHashMap::default());
        let mut joining = Joining { templates, instances, may_be, steps, places, meetings, chains };
        beside.iter().for_each(|template| joining.begin(first, *template));
        joining.join()?;
        Some(joining.chains)
    }
}

impl Joining<'_, '_> {
    /// An instance of a template, and those that share a row with t1.
    fn begin(&mut self, first: usize, template: usize) {
        let mut rows: Vec<SharedRow> = vec![None];
        for (mine_at, theirs_at) in meetings(&self.templates[first], &self.templates[template]) {
            let (mine, theirs) = (self.templates[first].at(mine_at), self.templates[template].at(theirs_at));
            rows.push(mine.row.zip(theirs.row));
        }
        rows.sort_unstable();
        rows.dedup();
        for shared in rows {
            self.steps.take(1);
            let unbound = self.instances.unbound(template);
            match self.instances.forced(unbound, shared) {
                Follows::Impossible => {}
                Follows::Refines(labels) => self.refine_first(labels),
                Follows::To(instance) => self.add(instance),
            }
        }
    }

    fn refine_first(&mut self, labels: Labels) {
        if !self.chains.refined.contains(&labels) {
            self.chains.refined.push(labels);
        }
    }

    fn add(&mut self, instance: InstanceId) {
        if self.places.contains_key(&instance) {
            return;
        }
        self.steps.take(1);
        let (template, labels) = self.instances.get(instance);
        let place = (self.may_be)(template, &labels).then_some(self.chains.instances.len());
        self.places.insert(instance, place);
        if place.is_some() {
            self.chains.instances.push(instance);
            self.chains.joined.push(Vec::new());
        }
    }

    /// Joins all with all, those that come of it included.
    fn join(&mut self) -> Option<()> {
        let mut next = 0;
        while next < self.chains.instances.len() {
            for other in 0..=next {
                self.link(next, other);
                if self.steps.is_over() {
                    return None;
                }
            }
            next += 1;
        }
        Some(())
    }

    fn link(&mut self, one: usize, two: usize) {
        self.steps.take(1);
        let template = |place: usize| self.instances.get(self.chains.instances[place]).0;
        let (left, right) = (template(one), template(two));
        let templates = self.templates;
        let meetings =
            self.meetings.entry((left, right)).or_insert_with(|| meetings(&templates[left], &templates[right])).clone();
        for (from_at, to_at) in meetings {
            self.link_by(one, two, from_at, to_at);
        }
    }

    fn link_by(&mut self, one: usize, two: usize, from_at: OperationAt, to_at: OperationAt) {
        self.steps.take(1);
        let (left, right) = (self.chains.instances[one], self.chains.instances[two]);
        let row = |instance: InstanceId, at: OperationAt| self.templates[self.instances.get(instance).0].at(at).row;
        let rows = row(left, from_at).zip(row(right, to_at));
        match self.instances.linked(left, right, rows) {
            Follows::Impossible => {}
            Follows::Refines(labels) => self.refine_first(labels),
            Follows::To(both) if both == (left, right) => {
                self.chains.joined[one].push(Joint { to: two, from_at, to_at });
                self.chains.joined[two].push(Joint { to: one, from_at: to_at, to_at: from_at });
            }
            Follows::To((left, right)) => {
                self.add(left);
                self.add(right);
            }
        }
    }
}

/// Pairs of operations in conflict, one for each two rows that they may share.
fn meetings(left: &Template, right: &Template) -> Vec<(OperationAt, OperationAt)> {
    let mut tried: Vec<(Option<usize>, Option<usize>)> = Vec::new();
    let mut found = Vec::new();
    for (at, operation) in numbered(left) {
        for (other_at, other) in numbered(right).filter(|(_, other)| operation.conflicts(other)) {
            let rows = (operation.row, other.row);
            if !tried.contains(&rows) {
                tried.push(rows);
                found.push((at, other_at));
            }
        }
    }
    found
}
