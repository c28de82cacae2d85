//! A statement of an instance as accesses: which rows it is on, when, and what it tells about the variables that it sets.

use super::access::{AccessTarget, ExtremumRead, Record, RowAccess, SearchTarget};
use super::claims::{Claim, ValueNumber};
use super::conflict::Numbered;
use super::moment::StatementSpan;
use super::shape::{Existence, existence};
use super::walk::{Held, Variables, Walk};
use crate::effect::{EffectTarget, Happens, LockStrength, Looking, RowEffect};
use skew_sql::touched::ValueOrigin;

/// The row that a statement found.
pub(super) struct FoundRow {
    /// The statement touches no table.
    pub(super) reads_nothing: bool,
    /// There was one; nothing where there is always one.
    pub(super) row: Option<Claim>,
    /// Columns whose value is known.
    pub(super) equal: Vec<(String, Held)>,
    /// The least or greatest value or the number of rows that was asked for.
    pub(super) aggregate: Option<Held>,
}

/// Statements.
impl Walk<'_, '_> {
    pub(super) fn statement(
        &mut self,
        at: usize,
        reached: Claim,
        variables: &Variables,
        round: Option<usize>,
    ) -> FoundRow {
        let flow = self.flow;
        let step = &flow.steps[at];
        let reads_nothing = step.ways.iter().all(Vec::is_empty);
        let row = (!reads_nothing && !step.one_row).then(|| self.ground.claims.free());
        let span = self.span(at, round);
        let mut found = FoundRow { reads_nothing, row, equal: Vec::new(), aggregate: None };
        let mut left = reached;
        for (number, way) in step.ways.iter().enumerate() {
            let mut taken = left;
            if number + 1 < step.ways.len() {
                let this = self.ground.claims.free();
                taken = self.ground.claims.all([left, this]);
                left = self.ground.claims.all([left, !this]);
            }
            for effect in way {
                self.effect((at, span), effect, taken, variables, round, &mut found);
            }
        }
        found
    }

    fn effect(
        &mut self,
        (at, span): (usize, Option<StatementSpan>),
        effect: &RowEffect,
        reached: Claim,
        variables: &Variables,
        round: Option<usize>,
        found: &mut FoundRow,
    ) {
        let shape = self.ground.shape;
        let table = shape.table(&effect.table);
        let mut reached = reached;
        let target = match &effect.target {
            EffectTarget::Key(None, values) => {
                let key = self.key(effect, values, variables, &mut reached);
                AccessTarget::Key(self.ground.records.number(Record { table, key }))
            }
            _ => AccessTarget::Search(self.search(at, effect, table, variables, &mut reached, found)),
        };
        let (reads, writes) = (shape.bits(table, &effect.reads), shape.bits(table, &effect.writes));
        let existence = existence(effect);
        let values = effect.known.equal.iter().filter(|_| existence == Existence::Comes);
        let values: Vec<(String, ValueNumber)> =
            values.map(|(name, origin)| (name.clone(), self.held(origin, variables).value)).collect();
        let (own_rows, own_columns) = self.own(at, table, reads);
        let is_blind = existence == Existence::Goes && !shape.counts[self.procedure];
        let (viewer, moment) = self.timed(effect, &target, span);
        let access = RowAccess {
            instance: self.instance,
            step: at,
            round,
            reached,
            table,
            target,
            reads,
            writes,
            existence,
            guarded: effect.happens == Happens::IfFits,
            values,
            own_rows,
            own_columns,
            is_blind,
            lock: effect.lock,
            is_latest: matches!(effect.looking, Looking::Latest | Looking::Inserting),
            viewer,
            moment,
            begins: span.map(|span| span.begin),
        };
        self.found(&access, effect, variables, found);
        self.accesses.push(access);
    }

    fn key(
        &mut self,
        effect: &RowEffect,
        values: &[ValueOrigin],
        variables: &Variables,
        reached: &mut Claim,
    ) -> Vec<ValueNumber> {
        let held: Vec<Held> = values.iter().map(|value| self.held(value, variables)).collect();
        let is_given = effect.inserts && !effect.table.contains('@');
        if !is_given {
            let all: Vec<Claim> = held.iter().map(|held| !held.null).chain([*reached]).collect();
            *reached = self.ground.claims.all(all);
        }
        held.iter().map(|held| held.value).collect()
    }

    fn search(
        &mut self,
        at: usize,
        effect: &RowEffect,
        table: usize,
        variables: &Variables,
        reached: &mut Claim,
        found: &mut FoundRow,
    ) -> SearchTarget {
        let shape = &self.ground.shape.tables[table];
        let key = vec![None; shape.width];
        let named = effect.known.equal.iter().map(|(column, _)| column.clone()).collect();
        let asked = self.ground.shape.bits(table, if effect.known.more { &effect.reads } else { &named });
        let (others, more) = (Vec::new(), effect.known.more);
        let mut target = SearchTarget { key, others, more, asked, extremum: None, empty: None };
        for (column, origin) in &effect.known.equal {
            let held = self.held(origin, variables);
            *reached = self.ground.claims.all([*reached, !held.null]);
            match shape.key.iter().position(|known| known == column) {
                Some(part) => target.key[part] = Some(held.value),
                None => target.others.push((column.clone(), held.value)),
            }
        }
        let step = &self.flow.steps[at];
        let part = step.extremum.as_ref().and_then(|asked| shape.key.iter().position(|known| *known == asked.column));
        if let (Some(asked), Some(part)) = (&step.extremum, part)
            && step.ways.iter().flatten().count() == 1
        {
            let held = self.anything();
            target.extremum = Some(ExtremumRead { greatest: asked.greatest, part, found: held.value, none: held.null });
            found.aggregate = Some(held);
        }
        if step.counts_rows && step.ways.iter().flatten().count() == 1 {
            let (value, empty) = (self.fresh(), self.ground.claims.free());
            target.empty = Some(empty);
            found.aggregate = Some(Held { value, null: self.ground.claims.no(), zero: Some(empty) });
        }
        target
    }

    /// Whether the procedure may have changed rows of a table before, and the columns that are read.
    fn own(&self, at: usize, table: usize, reads: u128) -> (bool, bool) {
        let shape = self.ground.shape;
        let together = |one: usize| {
            let (low, high) = (one.min(at), one.max(at));
            (0..=low).any(|head| self.loop_end(head).is_some_and(|last| last >= high))
        };
        let (mut rows, mut columns) = (false, false);
        for (number, step) in self.flow.steps.iter().enumerate() {
            if number >= at && !together(number) {
                continue;
            }
            for effect in step.ways.iter().flatten().filter(|effect| shape.table(&effect.table) == table) {
                rows |= existence(effect) != Existence::Stays;
                columns |= shape.bits(table, &effect.writes) & reads != 0;
            }
        }
        (rows, columns || rows)
    }

    /// What a read tells about the row that it is on.
    fn found(&mut self, access: &RowAccess, effect: &RowEffect, variables: &Variables, found: &mut FoundRow) {
        let ground = &mut *self.ground;
        match &access.target {
            AccessTarget::Key(record) if !effect.table.contains('@') => {
                let record = *record;
                let viewer = ground.view(Numbered { number: 0, access }, record);
                // Only of a row that is found by its key alone is it known that its values are its own.
                let outputs = &self.flow.steps[access.step].outputs;
                let is_only = |way: &Vec<RowEffect>| way.iter().filter(|one| !one.table.contains('@')).count() == 1;
                let is_row = outputs.iter().any(|output| matches!(output, ValueOrigin::Column(..)))
                    && self.flow.steps[access.step].ways.iter().all(is_only);
                if let Some(row) = found.row.filter(|_| is_row && !access.own_rows) {
                    let alive = ground.alive(viewer, record);
                    ground.claims.imply([access.reached, row], alive);
                    let key = &ground.shape.tables[access.table].key;
                    let equal = &effect.known.equal;
                    let names_others = equal.iter().any(|(name, _)| !key.contains(name));
                    let asks_more = effect.known.more || names_others || equal.len() != key.len();
                    if !asks_more {
                        ground.claims.imply([access.reached, alive], row);
                    }
                }
                // Who makes a child and commits has found its parent.
                let is_parent = effect.lock == LockStrength::KeyShare && effect.happens == Happens::Always;
                if is_parent && !access.own_rows {
                    let alive = ground.alive(viewer, record);
                    ground.claims.imply([access.reached], alive);
                }
                if access.existence == Existence::Comes && !access.own_rows {
                    let alive = ground.alive(viewer, record);
                    ground.claims.imply([access.reached], !alive);
                }
            }
            AccessTarget::Search(search) => {
                let is_seen = !access.own_rows && access.moment.is_none();
                let Some(extremum) = search.extremum.filter(|_| is_seen) else { return };
                let mut key = search.key.clone();
                key[extremum.part] = Some(extremum.found);
                if let Some(key) = key.into_iter().collect::<Option<Vec<ValueNumber>>>() {
                    let record = ground.records.number(Record { table: access.table, key });
                    let alive = ground.alive(access.viewer, record);
                    ground.claims.imply([access.reached, !extremum.none], alive);
                }
            }
            AccessTarget::Key(_) => {}
        }
        for (column, origin) in &effect.known.equal {
            let held = self.held(origin, variables);
            found.equal.push((column.clone(), held));
        }
    }
}
