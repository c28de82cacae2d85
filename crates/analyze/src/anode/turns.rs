//! PostgreSQL's levels said of instances: points are made where statements begin and rows are taken, and of every two that take one row one waits.

use super::access::{AccessTarget, RecordNumber, RowAccess};
use super::claims::{Claim, ClaimNode};
use super::conflict::Numbered;
use super::encoding::Encoding;
use super::ground::Ground;
use super::moment::{AccessMoment, PointNumber, StatementSpan, Timing, Viewer};
use super::shape::{EXISTS, Existence};
use super::solve::ClaimModel;
use super::walk::Walk;
use crate::effect::{LockStrength, Looking, RowEffect};

/// In which mode a row is taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum TakenMode {
    KeyShare,
    Share,
    Change,
    Exist,
}

impl TakenMode {
    /// The weakest mode that it can be; nothing where no row is taken.
    fn of(access: &RowAccess) -> Option<TakenMode> {
        match (access.writes, access.lock) {
            (writes, _) if writes & EXISTS != 0 => Some(TakenMode::Exist),
            (1.., _) | (_, LockStrength::Update) => Some(TakenMode::Change),
            (_, LockStrength::Share) => Some(TakenMode::Share),
            (_, LockStrength::KeyShare) => Some(TakenMode::KeyShare),
            (_, LockStrength::None) => None,
        }
    }

    fn excludes(self, other: TakenMode) -> bool {
        match self.max(other) {
            TakenMode::Exist => true,
            TakenMode::Change => self.min(other) >= TakenMode::Share,
            TakenMode::Share | TakenMode::KeyShare => false,
        }
    }
}

impl RowAccess {
    /// When it is told to happen, where that is a matter of time: when it takes its row, else when its statement begins.
    pub(crate) fn shown_at(&self) -> Option<PointNumber> {
        self.moment.and_then(|moment| moment.point).or(self.begins)
    }
}

/// Points.
impl Ground<'_> {
    /// A new point of an instance.
    fn point(&mut self, instance: usize) -> PointNumber {
        self.points.push(instance);
        self.points.len() - 1
    }

    fn comes_before(&mut self, first: PointNumber, second: PointNumber) {
        let before = self.claims.before(first, second);
        self.claims.require([before]);
    }

    /// The snapshot of an instance, where it has one.
    fn snapshot(&mut self, instance: usize) -> PointNumber {
        if let Some(known) = self.snapshots.get(&instance) {
            return *known;
        }
        let snapshot = self.point(instance);
        self.comes_before(snapshot, instance);
        self.snapshots.insert(instance, snapshot);
        snapshot
    }

    /// Places of all points, commits included, in an order that a model leaves open at most.
    pub(crate) fn order(&self, model: &ClaimModel) -> Vec<usize> {
        let mut earlier = vec![0; self.points.len()];
        let mut later: Vec<Vec<PointNumber>> = vec![Vec::new(); self.points.len()];
        for (node, what) in self.claims.nodes.iter().enumerate() {
            let ClaimNode::Arbitrated(first, second) = *what else { continue };
            let is_first = model.is_true(Claim { node, negated: false });
            let (first, second) = if is_first { (first, second) } else { (second, first) };
            later[first].push(second);
            earlier[second] += 1;
        }
        let mut places = vec![0; self.points.len()];
        let mut open: Vec<PointNumber> = (0..self.points.len()).rev().filter(|point| earlier[*point] == 0).collect();
        let mut count = 0;
        while let Some(point) = open.pop() {
            places[point] = count;
            count += 1;
            for &next in &later[point] {
                earlier[next] -= 1;
                if earlier[next] == 0 {
                    open.push(next);
                }
            }
        }
        places
    }

    /// Whose a viewer is.
    pub(crate) fn owner(&self, viewer: Viewer) -> usize {
        self.points.get(viewer).copied().unwrap_or(viewer)
    }

    /// A viewer sees what an instance did.
    pub(crate) fn seen(&mut self, instance: usize, by: Viewer) -> Claim {
        match self.timing {
            None => self.claims.sees(instance, by),
            Some(_) => self.claims.before(instance, by),
        }
    }

    /// When an access takes a record.
    pub(crate) fn moment(&mut self, one: Numbered<'_>, record: RecordNumber) -> Option<PointNumber> {
        let moment = one.access.moment?;
        if let Some(point) = moment.point {
            return Some(point);
        }
        let key = (one.access.instance, one.number, record);
        if let Some(point) = self.moments.get(&key) {
            return Some(*point);
        }
        let point = self.point(one.access.instance);
        self.comes_before(moment.begin, point);
        self.comes_before(point, moment.end);
        self.moments.insert(key, point);
        Some(point)
    }

    /// Who looks at a record on behalf of an access.
    pub(crate) fn view(&mut self, one: Numbered<'_>, record: RecordNumber) -> Viewer {
        let taken = one.access.moment.filter(|moment| moment.reads).and_then(|_| self.moment(one, record));
        taken.unwrap_or(one.access.viewer)
    }

    /// An access takes a record.
    fn takes(&mut self, one: Numbered<'_>, record: RecordNumber) -> Claim {
        if one.access.writes != 0 {
            return self.writes(one, record);
        }
        let (found, present) = (self.finds(one, record), self.present(one, record));
        self.claims.all([one.access.reached, found, present])
    }
}

/// Statements in time.
impl Walk<'_, '_> {
    /// The span of a statement, behind those that come before it.
    pub(super) fn span(&mut self, at: usize, round: Option<usize>) -> Option<StatementSpan> {
        let timing = self.ground.timing?;
        if self.flow.steps[at].ways.iter().all(Vec::is_empty) {
            return None;
        }
        let (begin, end) = (self.ground.point(self.instance), self.ground.point(self.instance));
        self.ground.comes_before(begin, end);
        self.ground.comes_before(end, self.instance);
        if timing == Timing::RepeatableRead {
            let snapshot = self.ground.snapshot(self.instance);
            self.ground.comes_before(snapshot, begin);
        }
        // Of each kind of rounds the last one is enough: those before it come before it.
        let classes = self.passed.iter().map(|span| span.round).collect::<std::collections::BTreeSet<_>>();
        for class in classes {
            let is_earlier = |span: &&StatementSpan| {
                let is_ordered = class.is_none() || round.is_none() || class == round;
                span.round == class && span.at < at && (is_ordered || !self.share_loop(span.at, at))
            };
            if let Some(span) = self.passed.iter().filter(is_earlier).max_by_key(|span| span.at).copied() {
                self.ground.comes_before(span.end, begin);
            }
        }
        let span = StatementSpan { at, round, begin, end };
        self.passed.push(span);
        Some(span)
    }

    /// Whether two steps are in one loop.
    fn share_loop(&self, one: usize, other: usize) -> bool {
        let (low, high) = (one.min(other), one.max(other));
        (0..=low).any(|head| self.loop_end(head).is_some_and(|last| last >= high))
    }

    /// Who looks for what an access reads, and when it takes its rows.
    pub(super) fn timed(
        &mut self,
        effect: &RowEffect,
        target: &AccessTarget,
        span: Option<StatementSpan>,
    ) -> (Viewer, Option<AccessMoment>) {
        let (Some(timing), Some(span)) = (self.ground.timing, span) else { return (self.instance, None) };
        let is_plain = effect.writes.is_empty() && effect.lock == LockStrength::None;
        let is_latest = matches!(effect.looking, Looking::Latest | Looking::Inserting);
        let viewer = match timing {
            Timing::ReadCommitted => span.begin,
            Timing::RepeatableRead => self.ground.snapshot(self.instance),
        };
        let is_late = effect.at_commit || effect.looking == Looking::Forgotten;
        if is_plain && !is_latest && !is_late {
            return (viewer, None);
        }
        // What a commit does comes after all statements.
        let end = if effect.at_commit { self.instance } else { span.end };
        let point = matches!(target, AccessTarget::Key(_)).then(|| {
            let point = self.ground.point(self.instance);
            self.ground.comes_before(span.begin, point);
            self.ground.comes_before(point, end);
            point
        });
        let reads = is_latest || timing == Timing::ReadCommitted;
        (viewer, Some(AccessMoment { begin: span.begin, end, point, reads }))
    }
}

/// Rules.
impl Encoding<'_> {
    /// Says of every two instances what locks and snapshots leave to them. Edges come before it, because their records do.
    pub(super) fn take_turns(&mut self, timing: Timing) {
        for first in 0..self.size() {
            for second in first + 1..self.size() {
                let (from, to) = (self.numbered(first), self.numbered(second));
                for (number, access) in &from {
                    let one = Numbered { number: *number, access };
                    for (number, access) in &to {
                        let two = Numbered { number: *number, access };
                        self.exclude(timing, one, two);
                    }
                }
            }
        }
    }

    fn exclude(&mut self, timing: Timing, one: Numbered<'_>, two: Numbered<'_>) {
        let (Some(mode), Some(other)) = (TakenMode::of(one.access), TakenMode::of(two.access)) else { return };
        if one.access.table != two.access.table || !mode.excludes(other) {
            return;
        }
        for record in self.common(one.access, two.access) {
            let both = [self.ground.takes(one, record), self.ground.takes(two, record)];
            let (Some(taken), Some(taken_too)) = (self.ground.moment(one, record), self.ground.moment(two, record))
            else {
                continue;
            };
            let (first, second) = (one.access.instance, two.access.instance);
            let claims = &mut self.ground.claims;
            let turns = [claims.before(first, taken_too), claims.before(second, taken)];
            claims.require([!both[0], !both[1], turns[0], turns[1]]);
            if timing == Timing::RepeatableRead {
                self.is_not_too_old(both, one.access, two.access);
                self.is_not_too_old(both, two.access, one.access);
            }
        }
    }

    /// Who takes a row that another one writes knows of it, or commits first.
    fn is_not_too_old(&mut self, both: [Claim; 2], taker: &RowAccess, writer: &RowAccess) {
        if taker.existence == Existence::Comes || taker.is_latest || writer.writes == 0 {
            return;
        }
        let snapshot = self.ground.snapshot(taker.instance);
        let claims = &mut self.ground.claims;
        let orders = [claims.before(writer.instance, snapshot), claims.before(taker.instance, writer.instance)];
        claims.require([!both[0], !both[1], orders[0], orders[1]]);
    }
}
