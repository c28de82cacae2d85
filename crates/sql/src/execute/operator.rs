//! Operators with one input, and those with none.

use super::{Execution, Flow, Frame, Sink};
use crate::stop::Stop;
use crate::storage::Row;
use crate::tree::plan::{Direction, FunctionRead, Limit, Plan, SetOperation, SetOperator, SortKey};
use crate::virtual_tables::{VirtualTable, system};
use rustc_hash::{FxHashMap, FxHashSet};
use skew_value::{Collation, Datum, GroupKey, compare_in};
use std::cmp::Ordering;

impl<'run> Execution<'run> {
    /// Gives all rows of a plan to a sink, until it has enough.
    pub(crate) fn each(
        &mut self,
        plan: &Plan,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        if let Some(row) = self.stand_in(plan) {
            return self.give_stand_in(plan, row, outer, sink);
        }
        match plan {
            Plan::OneRow => sink(self, &[]),
            Plan::Read(read) => self.read(read, outer, sink),
            Plan::Filter(input, condition) => self.each(input, outer, &mut |execution, row| match execution
                .holds(Some(condition), &Frame { row, outer })?
            {
                true => sink(execution, row),
                false => Ok(Flow::More),
            }),
            Plan::Project(input, expressions) => self.each(input, outer, &mut |execution, row| {
                let projected = execution.evaluate_row(expressions, &Frame { row, outer })?;
                sink(execution, &projected)
            }),
            Plan::Cut(input, width) => {
                self.each(input, outer, &mut |execution, row| sink(execution, row.get(..*width).unwrap_or(row)))
            }
            Plan::Join(join) => self.join(join, outer, sink),
            Plan::Aggregate(aggregation) => self.aggregate(aggregation, outer, sink),
            Plan::Window(input, calls) => self.windows(input, calls, outer, sink),
            Plan::Distinct(input, keys) => self.distinct(input, keys, outer, sink),
            Plan::Sort(input, keys) => self.sort(input, keys, outer, sink),
            Plan::Limit(input, limit) => self.limit(input, limit, outer, sink),
            Plan::Lock(locking) => self.lock_rows(locking, outer, sink),
            _ => self.each_source(plan, outer, sink),
        }
    }

    /// The rows of a catalog: two are told by the server, if there is one.
    fn catalog_rows(&mut self, table: &VirtualTable) -> Result<Vec<Row>, Stop> {
        let (catalog, environment) = (&self.catalog, &self.environment);
        Ok(match table.name {
            "pg_stat_activity" => match self.storage.client_facts()? {
                Some(clients) => system::activity_of(&clients, environment),
                None => (table.rows)(catalog, environment),
            },
            "pg_locks" => system::locks_of(&self.storage.lock_facts()?.unwrap_or_default(), catalog, environment),
            _ => (table.rows)(catalog, environment),
        })
    }

    fn each_source(&mut self, plan: &Plan, outer: Option<&Frame<'_>>, sink: &mut Sink<'_, 'run>) -> Result<Flow, Stop> {
        match plan {
            Plan::Virtual(table) => {
                let rows = self.catalog_rows(table)?;
                self.give(rows.iter().map(|row| &**row), sink)
            }
            Plan::Values(rows) => {
                for row in rows {
                    self.step()?;
                    let values = self.evaluate_row(row, &Frame { row: &[], outer })?;
                    if sink(self, &values)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                }
                Ok(Flow::More)
            }
            Plan::Function(function) => self.table_function(function, outer, sink),
            Plan::SetOperation(operation) => self.set_operation(operation, outer, sink),
            Plan::Common(reference) => {
                let rows = self.common.get(&reference.number).cloned();
                let rows = rows.ok_or_else(|| super::internal("a common table expression that was not evaluated"))?;
                self.give(rows.iter().map(Vec::as_slice), sink)
            }
            Plan::With(with) => self.with(with, outer, sink),
            Plan::Kept(kept) => self.each_kept(kept, outer, sink),
            _ => Err(super::internal("an operator without rows")),
        }
    }

    /// Gives rows that are kept.
    fn give<'rows>(
        &mut self,
        rows: impl Iterator<Item = &'rows [Datum]>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        for row in rows {
            self.step()?;
            if sink(self, row)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }

    fn table_function(
        &mut self,
        function: &FunctionRead,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        let mut rows: Vec<Vec<Datum>> = Vec::new();
        let mut width = 0;
        for call in &function.calls {
            let arguments = self.evaluate_row(&call.arguments, &Frame { row: &[], outer })?;
            let own = call.routine.call(&arguments, &self.environment)?;
            if own.len() > rows.len() {
                rows.resize(own.len(), vec![Datum::Null; width]);
            }
            width += call.routine.columns.len();
            for (row, more) in rows.iter_mut().zip(own) {
                row.extend(more);
            }
            rows.iter_mut().for_each(|row| row.resize(width, Datum::Null));
        }
        if function.ordinality {
            for (number, row) in rows.iter_mut().enumerate() {
                row.push(Datum::Integer(number as i128 + 1));
            }
        }
        self.give(rows.iter().map(Vec::as_slice), sink)
    }

    fn distinct(
        &mut self,
        input: &Plan,
        keys: &[usize],
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        let mut seen: FxHashSet<Vec<GroupKey>> = FxHashSet::default();
        self.each(input, outer, &mut |execution, row| {
            let key = execution.group_key(keys.iter().filter_map(|&key| row.get(key)));
            if seen.insert(key) { sink(execution, row) } else { Ok(Flow::More) }
        })
    }

    fn sort(
        &mut self,
        input: &Plan,
        keys: &[SortKey],
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        let rows = self.collect(input, outer)?;
        let collation = self.collation();
        let rows = self.sorted(rows, |left, right| compare_rows(left, right, keys, collation))?;
        self.give(rows.iter().map(Vec::as_slice), sink)
    }

    fn limit(
        &mut self,
        input: &Plan,
        limit: &Limit,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        let count = self.row_count(limit.count.as_ref(), outer)?.unwrap_or(usize::MAX);
        let mut skip = self.row_count(limit.offset.as_ref(), outer)?.unwrap_or(0);
        if count == 0 {
            return Ok(Flow::More);
        }
        let collation = self.collation();
        let mut taken = 0usize;
        let mut last: Option<Vec<Datum>> = None;
        let mut stopped = false;
        self.each(input, outer, &mut |execution, row| {
            if skip > 0 {
                skip -= 1;
                return Ok(Flow::More);
            }
            if taken >= count {
                let ties = limit.ties.as_ref().zip(last.as_ref());
                let tied = ties.is_some_and(|(keys, last)| compare_rows(last, row, keys, collation) == Ordering::Equal);
                if !tied {
                    return Ok(Flow::Enough);
                }
            }
            taken = taken.saturating_add(1);
            if limit.ties.is_some() {
                last = Some(row.to_vec());
            }
            if sink(execution, row)? == Flow::Enough {
                stopped = true;
                return Ok(Flow::Enough);
            }
            let full = taken >= count && limit.ties.is_none();
            Ok(if full { Flow::Enough } else { Flow::More })
        })?;
        Ok(if stopped { Flow::Enough } else { Flow::More })
    }

    fn set_operation(
        &mut self,
        operation: &SetOperation,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        match (operation.operator, operation.all) {
            (SetOperator::Union, true) => match self.each(&operation.left, outer, sink)? {
                Flow::Enough => Ok(Flow::Enough),
                Flow::More => self.each(&operation.right, outer, sink),
            },
            (SetOperator::Union, false) => {
                let mut seen: FxHashSet<Vec<GroupKey>> = FxHashSet::default();
                let mut unique = |execution: &mut Execution<'run>, row: &[Datum]| {
                    if seen.insert(execution.group_key(row)) { sink(execution, row) } else { Ok(Flow::More) }
                };
                match self.each(&operation.left, outer, &mut unique)? {
                    Flow::Enough => Ok(Flow::Enough),
                    Flow::More => self.each(&operation.right, outer, &mut unique),
                }
            }
            (operator, all) => self.counted_operation(operation, operator == SetOperator::Intersect, all, outer, sink),
        }
    }

    /// EXCEPT and INTERSECT: the right rows are counted; with ALL each of them cancels or confirms one left row.
    fn counted_operation(
        &mut self,
        operation: &SetOperation,
        intersect: bool,
        all: bool,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        let left = self.collect(&operation.left, outer)?;
        let mut counts: FxHashMap<Vec<GroupKey>, usize> = FxHashMap::default();
        self.each(&operation.right, outer, &mut |execution, row| {
            *counts.entry(execution.group_key(row)).or_default() += 1;
            Ok(Flow::More)
        })?;
        let mut seen: FxHashSet<Vec<GroupKey>> = FxHashSet::default();
        for row in &left {
            self.step()?;
            let key = self.group_key(row);
            let count = counts.get_mut(&key).filter(|count| **count > 0);
            let found = count.is_some();
            if let (true, Some(count)) = (all, count) {
                *count -= 1;
            }
            let wanted = found == intersect && (all || seen.insert(key));
            if wanted && sink(self, row)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }
}

/// The order of two rows.
pub(super) fn compare_rows(left: &[Datum], right: &[Datum], keys: &[SortKey], collation: Collation) -> Ordering {
    keys.iter()
        .map(|key| match (left.get(key.index), right.get(key.index)) {
            (Some(left), Some(right)) => compare_values(left, right, &key.direction, collation),
            _ => Ordering::Equal,
        })
        .find(|ordering| *ordering != Ordering::Equal)
        .unwrap_or(Ordering::Equal)
}

/// The order of two values: NULLs where they are wanted, whatever the direction.
pub(super) fn compare_values(left: &Datum, right: &Datum, direction: &Direction, collation: Collation) -> Ordering {
    let nulls = if direction.nulls_first { Ordering::Less } else { Ordering::Greater };
    match (left.is_null(), right.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => nulls,
        (false, true) => nulls.reverse(),
        (false, false) => {
            let ordering = match &direction.labels {
                Some(labels) => place_of(left, labels).cmp(&place_of(right, labels)),
                None => compare_in(left, right, collation),
            };
            if direction.descending { ordering.reverse() } else { ordering }
        }
    }
}

fn place_of(value: &Datum, labels: &[String]) -> Option<usize> {
    match value {
        Datum::Text(label) => labels.iter().position(|known| **known == **label),
        _ => None,
    }
}
