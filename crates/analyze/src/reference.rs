//! The definition by brute force, for tests: instances with values, all schedules of their statements, each tried against the rules of the levels.
//!
//! ```text
//!   a statement at read committed reads what was committed when it begins; at the other levels when its transaction began
//!   nobody writes or locks what somebody who is still running has written or locked, as far as the two exclude each other
//!   on a snapshot nobody changes or locks for changing what was changed by somebody who committed since
//!   among serializable transactions there is no a ─rw→ b ─rw→ c, each concurrent with the next, where c commits first
//! ```
//!
//! A schedule is not serializable if dependencies (reads from, overwrites, is overwritten by) form a cycle.

use crate::split::{Level, blocks};
use crate::template::{RowOperation, Template, TermNode};

/// A template with values for its terms.
#[derive(Clone, Debug)]
pub(crate) struct Concrete<'a> {
    pub(crate) template: &'a Template,
    pub(crate) level: Level,
    /// By term; rows with equal values are one row.
    pub(crate) values: Vec<usize>,
    /// Values of rows that are not there, for nobody.
    pub(crate) missing: Vec<usize>,
}

impl<'a> Concrete<'a> {
    /// Gives values to free terms, in their order, and follows what they mean for the others; looked-up values are those of the key.
    pub(crate) fn new(template: &'a Template, level: Level, free: &[usize]) -> Concrete<'a> {
        let mut free = free.iter();
        let mut values: Vec<usize> = Vec::new();
        for term in &template.terms {
            let value = match term {
                TermNode::Free(_) => free.next().copied().unwrap_or(1),
                TermNode::Constant(text) => 1 + text.bytes().map(usize::from).sum::<usize>() % 2,
                TermNode::Row(table, key, parts) => {
                    parts.iter().fold(1_000 * (table + 1) + 100 * key, |row, part| row * 7 + values[*part])
                }
                TermNode::Lookup(_, row) => values[*row] % 2 + 1,
                TermNode::Computed(_, parts) => parts.iter().map(|part| values[*part]).sum::<usize>() % 2 + 1,
            };
            values.push(value);
        }
        Concrete { template, level, values, missing: Vec::new() }
    }

    fn row(&self, operation: &RowOperation) -> Option<(usize, usize)> {
        let there = |row: &usize| !self.missing.contains(&self.values[*row]);
        operation.row.filter(there).map(|row| (operation.table, self.values[row]))
    }

    /// How many pairs of operations are in conflict.
    pub(crate) fn conflicts(&self, other: &Concrete<'_>) -> usize {
        let theirs = || other.template.operations().map(|(_, theirs)| theirs);
        let mine = self.template.operations().map(|(_, mine)| mine);
        mine.map(|mine| theirs().filter(|theirs| mine.conflicts(theirs) && self.meets(mine, other, theirs)).count())
            .sum()
    }

    fn meets(&self, mine: &RowOperation, other: &Concrete<'_>, theirs: &RowOperation) -> bool {
        self.row(mine).is_some() && self.row(mine) == other.row(theirs)
    }
}

/// A schedule on its way.
#[derive(Clone)]
pub(crate) struct Course<'i, 'a> {
    instances: &'i [Concrete<'a>],
    /// How many statements each has done; its commit counts as one more.
    done: Vec<usize>,
    began: Vec<Option<usize>>,
    /// When each committed.
    ended: Vec<Option<usize>>,
    now: usize,
    /// Per statement: instance, statement, when.
    statements: Vec<(usize, usize, usize)>,
}

impl<'i, 'a> Course<'i, 'a> {
    pub(crate) fn new(instances: &'i [Concrete<'a>]) -> Course<'i, 'a> {
        let count = instances.len();
        Course {
            instances,
            done: vec![0; count],
            began: vec![None; count],
            ended: vec![None; count],
            now: 0,
            statements: Vec::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.ended.iter().all(Option::is_some)
    }

    /// The next statement of an instance, or its commit; false if it has to wait, or is refused.
    pub(crate) fn advance(&mut self, who: usize) -> bool {
        self.now += 1;
        if self.began[who].is_none() && self.instances[who].level != Level::ReadCommitted {
            // The snapshot is taken before the first statement waits for anything.
            self.began[who] = Some(self.now);
            return true;
        }
        let number = self.done[who];
        self.done[who] += 1;
        let Some(chunk) = self.instances[who].template.chunks.get(number) else {
            self.ended[who] = Some(self.now);
            return true;
        };
        let began = *self.began[who].get_or_insert(self.now);
        let goes = chunk.operations.iter().all(|operation| self.may(who, began, operation));
        self.statements.push((who, number, self.now));
        goes
    }

    fn may(&self, who: usize, began: usize, operation: &RowOperation) -> bool {
        let me = &self.instances[who];
        (0..self.instances.len()).filter(|other| *other != who).all(|other| {
            let them = &self.instances[other];
            let done = them.template.operations().filter(|(number, _)| *number < self.done[other]);
            let mut met = done.filter(|(_, theirs)| me.meets(operation, them, theirs));
            match self.ended[other] {
                None => met.all(|(_, theirs)| !blocks(theirs, operation, true)),
                Some(ended) if ended > began && me.level != Level::ReadCommitted => {
                    met.all(|(_, theirs)| !blocks(operation, theirs, false))
                }
                Some(_) => true,
            }
        })
    }

    fn concurrent(&self, one: usize, two: usize) -> bool {
        let before = |one: usize, two: usize| self.ended[one] < self.began[two];
        one != two && !before(one, two) && !before(two, one)
    }

    /// Dependencies: whether one is before another, and whether that is because it was overwritten.
    fn dependencies(&self) -> Vec<(usize, usize, bool)> {
        let mut found = Vec::new();
        for (one, left) in self.instances.iter().enumerate() {
            for (two, right) in self.instances.iter().enumerate().filter(|(two, _)| *two != one) {
                for &(_, number, when) in self.statements.iter().filter(|(who, ..)| *who == one) {
                    for mine in &left.template.chunks[number].operations {
                        for (_, theirs) in
                            right.template.operations().filter(|(_, theirs)| left.meets(mine, right, theirs))
                        {
                            self.depend((one, mine, when, number), (two, theirs), &mut found);
                        }
                    }
                }
            }
        }
        found
    }

    fn depend(
        &self,
        (one, mine, when, number): (usize, &RowOperation, usize, usize),
        (two, theirs): (usize, &RowOperation),
        found: &mut Vec<(usize, usize, bool)>,
    ) {
        if mine.writes & theirs.writes != 0 && self.ended[one] < self.ended[two] {
            found.push((one, two, false));
        }
        let me = &self.instances[one];
        let own = me.template.operations().filter(|(earlier, _)| *earlier < number);
        let own =
            own.filter(|(_, earlier)| me.meets(mine, me, earlier)).fold(0, |all, (_, earlier)| all | earlier.writes);
        if mine.reads & theirs.writes & !own != 0 {
            let seen = match me.level {
                Level::Snapshot | Level::Serializable if mine.latest_reads() == 0 => self.began[one],
                _ => Some(when),
            };
            match self.ended[two] < seen {
                true => found.push((two, one, false)),
                false => found.push((one, two, mine.watched_reads() != 0)),
            }
        }
    }

    /// Whether the whole is allowed at the levels and not serializable.
    pub(crate) fn is_counterexample(&self) -> bool {
        let found = self.dependencies();
        let serializable = |who: usize| self.instances[who].level == Level::Serializable;
        let overwritten: Vec<(usize, usize)> = found
            .iter()
            .filter(|(one, two, rw)| *rw && serializable(*one) && serializable(*two) && self.concurrent(*one, *two))
            .map(|(one, two, _)| (*one, *two))
            .collect();
        let dangerous = overwritten.iter().any(|(one, pivot)| {
            overwritten.iter().any(|(from, last)| {
                from == pivot && self.ended[*last] <= self.ended[*one] && self.ended[*last] < self.ended[*pivot]
            })
        });
        !dangerous && is_cyclic(self.instances.len(), &found)
    }
}

fn is_cyclic(count: usize, edges: &[(usize, usize, bool)]) -> bool {
    let mut left: Vec<usize> = (0..count).collect();
    loop {
        let before = left.len();
        let is_source = |node: &usize| !edges.iter().any(|(from, to, _)| to == node && left.contains(from));
        let sources: Vec<usize> = left.iter().copied().filter(is_source).collect();
        left.retain(|node| !sources.contains(node));
        if left.is_empty() {
            return false;
        }
        if left.len() == before {
            return true;
        }
    }
}

/// Whether some schedule of these instances is allowed and not serializable.
pub(crate) fn has_counterexample(instances: &[Concrete<'_>]) -> bool {
    let mut open = vec![Course::new(instances)];
    while let Some(course) = open.pop() {
        if course.is_over() {
            if course.is_counterexample() {
                return true;
            }
            continue;
        }
        for who in 0..instances.len() {
            if course.ended[who].is_none() {
                let mut next = course.clone();
                if next.advance(who) {
                    open.push(next);
                }
            }
        }
    }
    false
}

/// Whether one schedule is allowed and not serializable.
pub(crate) fn is_counterexample(instances: &[Concrete<'_>], schedule: &[usize]) -> bool {
    let mut course = Course::new(instances);
    schedule.iter().all(|who| course.advance(*who)) && course.is_over() && course.is_counterexample()
}
