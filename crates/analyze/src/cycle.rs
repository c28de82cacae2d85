//! The counterexamples through one t1 that is split in one place.
//!
//! ```text
//!   t1 up to b1 ── t2 ── … ── tm ── the rest of t1
//!
//!   t2 = tm          an instance that has a row of b1 and a row of a1: what follows from both is asked at once
//!   a chain          over the graph of instances beside t1: from one that may be second, through those that may be between, to one that may be last
//! ```

use crate::chain::{Chains, numbered};
use crate::closure::Labels;
use crate::effect::{LockStrength, Looking};
use crate::instance::{Follows, InstanceId, Instances, SharedRow};
use crate::split::{FirstTransaction, Level, OtherTransaction, Role, SplitFound, levels_allow};
use crate::steps::Steps;
use crate::template::{EXISTS, OperationAt, RowOperation, Template};
use std::collections::{BTreeMap, VecDeque};

/// One t1, split in one place.
pub(crate) struct SplitSearch<'s> {
    pub(crate) templates: &'s [Template],
    pub(crate) instances: &'s mut Instances,
    pub(crate) first: &'s FirstTransaction<'s>,
    pub(crate) first_number: usize,
    /// The statements in which b1 may be.
    pub(crate) splitting: std::ops::Range<usize>,
    pub(crate) taking: &'s [(usize, Level)],
    /// What t1 may be refined to.
    pub(crate) refined: &'s mut Vec<Labels>,
    pub(crate) steps: &'s Steps,
}

/// An instance that may be the second.
pub(crate) struct Second {
    instance: InstanceId,
    template: usize,
    level: Level,
    /// Every b1 and a2 by which it can be.
    pairs: Vec<(OperationAt, OperationAt)>,
}

/// Two operations that join two transactions, and the rows of them that must be one.
type JoiningPair = (OperationAt, OperationAt, SharedRow);

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

impl SplitSearch<'_> {
    /// A statement of t1 waits for another one that has deleted its row, finds nothing, and does not see that the other one inserts it anew before it
    /// commits: it is in the middle of the other one, which no split is.
    pub(crate) fn inserted_anew(&mut self) -> Option<SplitFound> {
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
        self.steps.take(1);
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
        self.steps.take(1);
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

    pub(crate) fn seconds(&mut self) -> Vec<Second> {
        let mut nodes: Vec<Second> = Vec::new();
        for &(template, level) in self.taking {
            let pairs = self.beginning(template);
            for (same, instance) in self.by_rows(template, pairs) {
                let is_second = |(b1, a2): &(OperationAt, OperationAt)| {
                    self.has(instance, *a2) && self.is_allowed(instance, level, Role::Second { read_by: *b1 })
                };
                let pairs: Vec<_> = same.into_iter().filter(is_second).collect();
                if !pairs.is_empty() {
                    nodes.push(Second { instance, template, level, pairs });
                }
            }
        }
        nodes
    }

    /// Pairs of operations that a cycle can begin with: b1, a2, and their rows.
    fn beginning(&self, template: usize) -> Vec<JoiningPair> {
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
        pairs
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

    /// Whether some instance can be the last.
    pub(crate) fn has_lasts(&mut self) -> bool {
        let taking = self.taking;
        taking.iter().any(|&(template, level)| {
            let closing = self.closing(template);
            let by_rows = self.by_rows(template, closing);
            by_rows.into_iter().any(|(same, instance)| same.into_iter().any(|pair| self.is_last(instance, level, pair)))
        })
    }

    /// The second is the last.
    pub(crate) fn both_at_once(&mut self, seconds: &[Second]) -> Option<SplitFound> {
        for node in seconds {
            for (bm, a1, rows) in self.closing(node.template) {
                let Some(instance) = self.forced(node.instance, rows) else { continue };
                let can_second = |(b1, a2): &(OperationAt, OperationAt)| {
                    self.has(instance, *a2)
                        && self.levels_allow((node.level, *b1), (node.template, node.level), (bm, a1))
                        && self.is_allowed(instance, node.level, Role::Second { read_by: *b1 })
                };
                if let Some(&second) = node.pairs.iter().find(|pair| can_second(pair))
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

/// What an instance may be in a chain.
struct Roles {
    template: usize,
    level: Level,
    /// Every b1 and a2 by which it can be the second.
    second: Vec<(OperationAt, OperationAt)>,
    /// Every bm and a1 by which it can be the last.
    last: Vec<(OperationAt, OperationAt)>,
    /// Whether it can stand in between.
    between: bool,
}

/// What nobody watches at an instance: a pair that a cycle can begin with, and one that it can end with.
type UnwatchedEnds = (Option<(OperationAt, OperationAt)>, Option<(OperationAt, OperationAt)>);

/// What a chain begins with and ends with, and how each of its instances was come to.
struct Walked<'w> {
    chains: &'w Chains,
    roles: &'w [Roles],
    starts: Vec<usize>,
    before: Vec<Option<(usize, OperationAt, OperationAt)>>,
}

impl Walked<'_> {
    /// Where the way to a place begins.
    fn start_of(&self, mut place: usize) -> usize {
        while let Some((previous, ..)) = self.before[place] {
            place = previous;
        }
        place
    }
}

/// Chains.
impl SplitSearch<'_> {
    /// Whether the levels of the first, a second and a last leave room for a cycle, or PostgreSQL does not know of what it begins or ends with.
    fn levels_allow(
        &self,
        (second, b1): (Level, OperationAt),
        (last, last_level): (usize, Level),
        (bm, a1): (OperationAt, OperationAt),
    ) -> bool {
        levels_allow(self.first.level, second, last_level)
            || !self.first.watches(b1)
            || !self.first.is_watched(&self.templates[last], bm, a1)
    }

    /// Whether a row of t1 and one of an instance are one row, or could be.
    fn is_same(&self, labels: &Labels, mine: &RowOperation, theirs: &RowOperation) -> bool {
        match (mine.row, theirs.row) {
            (Some(mine), Some(theirs)) => self.first.labels[mine] == labels[theirs],
            _ => true,
        }
    }

    /// What an instance may be.
    fn roles(&self, instance: InstanceId) -> Roles {
        let (template, labels) = self.instances.get(instance);
        let known = self.taking.iter().find(|(taken, _)| *taken == template);
        let level = known.map_or(Level::Serializable, |(_, level)| *level);
        let is_second = |(b1, a2): &(OperationAt, OperationAt)| {
            let (mine, theirs) = (self.first.template.at(*b1), self.templates[template].at(*a2));
            self.is_same(&labels, mine, theirs)
                && self.has(instance, *a2)
                && self.is_allowed(instance, level, Role::Second { read_by: *b1 })
        };
        let is_last = |(bm, a1): &(OperationAt, OperationAt)| {
            let (theirs, mine) = (self.templates[template].at(*bm), self.first.template.at(*a1));
            self.is_same(&labels, mine, theirs) && self.is_last(instance, level, (*bm, *a1))
        };
        let second = self.beginning(template).into_iter().map(|(b1, a2, _)| (b1, a2)).filter(is_second).collect();
        let last = self.closing(template).into_iter().map(|(bm, a1, _)| (bm, a1)).filter(is_last).collect();
        Roles { template, level, second, last, between: self.is_allowed(instance, level, Role::Between) }
    }

    /// The shortest way from a second to a last.
    pub(crate) fn walk(&self, chains: &Chains) -> Option<SplitFound> {
        // What is done while a statement waits was looked at in pairs.
        if self.first.level == Level::ReadCommitted && self.first.prefix == self.splitting.start {
            return None;
        }
        let roles: Vec<Roles> = chains.instances.iter().map(|instance| self.roles(*instance)).collect();
        if roles.iter().all(|one| one.last.is_empty()) {
            return None;
        }
        let unwatched: Vec<UnwatchedEnds> = roles.iter().map(|one| self.unwatched(one)).collect();
        // Starts of one kind go with the same ends, so all ways from them are walked together.
        let mut kinds: BTreeMap<(Level, bool), Vec<usize>> = BTreeMap::new();
        for place in (0..roles.len()).filter(|&place| !roles[place].second.is_empty()) {
            kinds.entry((roles[place].level, unwatched[place].0.is_some())).or_default().push(place);
        }
        kinds.into_values().find_map(|starts| {
            let has_end = (0..roles.len()).any(|end| self.ends(&roles, (starts[0], end), &unwatched).is_some());
            let before = vec![None; roles.len()];
            has_end.then(|| self.walk_from(Walked { chains, roles: &roles, starts, before }, &unwatched)).flatten()
        })
    }

    /// What PostgreSQL does not watch among that which a cycle can begin and end with at an instance.
    fn unwatched(&self, one: &Roles) -> UnwatchedEnds {
        let second = one.second.iter().find(|(b1, _)| !self.first.watches(*b1)).copied();
        let is_watched =
            |(bm, a1): &(OperationAt, OperationAt)| self.first.is_watched(&self.templates[one.template], *bm, *a1);
        (second, one.last.iter().find(|pair| !is_watched(pair)).copied())
    }

    fn walk_from(&self, mut walked: Walked<'_>, unwatched: &[UnwatchedEnds]) -> Option<SplitFound> {
        let (chains, roles) = (walked.chains, walked.roles);
        let mut queue = VecDeque::from(walked.starts.clone());
        let mut is_known = vec![false; roles.len()];
        walked.starts.iter().for_each(|start| is_known[*start] = true);
        while let Some(place) = queue.pop_front() {
            for joint in &chains.joined[place] {
                self.steps.take(1);
                if self.steps.is_over() {
                    return None;
                }
                let (next, from, to) = (joint.to, joint.from_at, joint.to_at);
                let may_go_on = roles[next].between && !is_known[next];
                if (!may_go_on && roles[next].last.is_empty())
                    || !self.has(chains.instances[place], from)
                    || !self.has(chains.instances[next], to)
                {
                    continue;
                }
                let start = walked.start_of(place);
                if let Some(ends) = self.ends(roles, (start, next), unwatched) {
                    return Some(self.told(&walked, place, (next, from, to), ends));
                }
                if may_go_on {
                    is_known[next] = true;
                    walked.before[next] = Some((place, from, to));
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// What a cycle from a second to a last can begin and end with: anything where their levels leave room, else what nobody watches.
    fn ends(
        &self,
        roles: &[Roles],
        (start, end): (usize, usize),
        unwatched: &[UnwatchedEnds],
    ) -> Option<[(OperationAt, OperationAt); 2]> {
        let (second, last) = (roles[start].second.first()?, roles[end].last.first()?);
        if levels_allow(self.first.level, roles[start].level, roles[end].level) {
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
        walked: &Walked<'_>,
        place: usize,
        end: (usize, OperationAt, OperationAt),
        [second, last]: [(OperationAt, OperationAt); 2],
    ) -> SplitFound {
        let mut templates = vec![walked.roles[end.0].template];
        let mut links = vec![last, (end.1, end.2)];
        let mut at = place;
        while let Some((previous, from, to)) = walked.before[at] {
            templates.push(walked.roles[at].template);
            links.push((from, to));
            at = previous;
        }
        templates.push(walked.roles[at].template);
        templates.push(self.first_number);
        links.push(second);
        templates.reverse();
        links.reverse();
        self.found(templates, links)
    }
}
