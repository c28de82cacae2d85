//! Grouping: every row is added to its group in every grouping set; groups come in the order in which they were first seen.

use super::operator::compare_values;
use super::{Execution, Flow, Frame, Sink};
use crate::stop::Stop;
use crate::tree::plan::{AggregateCall, AggregateKind, Aggregation};
use rustc_hash::FxHashMap;
use skew_value::function::Accumulator;
use skew_value::{Datum, GroupKey, Zone};
use std::cmp::Ordering;

/// A group.
struct Group {
    /// The number of its grouping set.
    set: usize,
    /// The values of the grouping expressions, NULL for those that the set leaves out.
    values: Vec<Datum>,
    states: Vec<State>,
}

/// What a row adds to an aggregate: its sort keys and its arguments.
type Added = (Vec<Datum>, Vec<Datum>);

/// An aggregate of a group so far.
enum State {
    /// Rows were added as they came.
    Running(Box<dyn Accumulator>),
    /// ORDER BY in the call: rows are kept, sort keys first, and added in the end.
    Kept(Vec<Added>),
    /// GROUPING(…): nothing to add.
    Fixed,
}

/// Groups by grouping set and key.
#[derive(Default)]
struct Groups {
    list: Vec<Group>,
    places: FxHashMap<(usize, Vec<GroupKey>), usize>,
}

impl<'run> Execution<'run> {
    pub(super) fn aggregate(
        &mut self,
        aggregation: &Aggregation,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        let mut groups = Groups::default();
        self.each(&aggregation.input, outer, &mut |execution, row| {
            execution.step()?;
            execution.add_row(aggregation, &mut groups, &Frame { row, outer })?;
            Ok(Flow::More)
        })?;
        for (number, set) in aggregation.sets.iter().enumerate() {
            // The set of no keys has its group even where there are no rows.
            if set.is_empty() && !groups.list.iter().any(|group| group.set == number) {
                let values = vec![Datum::Null; aggregation.groups.len()];
                groups.list.push(Group { set: number, values, states: states(aggregation, self.environment().zone()) });
            }
        }
        for group in &groups.list {
            let mut row = group.values.clone();
            for (call, state) in aggregation.calls.iter().zip(&group.states) {
                row.push(self.finish(call, state, &aggregation.sets[group.set])?);
            }
            if sink(self, &row)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }

    fn add_row(&mut self, aggregation: &Aggregation, groups: &mut Groups, frame: &Frame<'_>) -> Result<(), Stop> {
        let values = self.evaluate_row(&aggregation.groups, frame)?;
        let added = self.added_values(&aggregation.calls, frame)?;
        for (number, set) in aggregation.sets.iter().enumerate() {
            let key = self.group_key(set.iter().map(|&index| &values[index]));
            let next = groups.list.len();
            let place = *groups.places.entry((number, key)).or_insert(next);
            if place == next {
                let kept = |index: usize| if set.contains(&index) { values[index].clone() } else { Datum::Null };
                let values = (0..values.len()).map(kept).collect();
                groups.list.push(Group { set: number, values, states: states(aggregation, self.environment().zone()) });
            }
            for (state, added) in groups.list[place].states.iter_mut().zip(&added) {
                match (state, added) {
                    (State::Running(accumulator), Some((_, arguments))) => accumulator.add(arguments)?,
                    (State::Kept(rows), Some(row)) => rows.push(row.clone()),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// For every aggregate its sort keys and arguments; none if its filter leaves the row out.
    fn added_values(&mut self, calls: &[AggregateCall], frame: &Frame<'_>) -> Result<Vec<Option<Added>>, Stop> {
        let mut added = Vec::with_capacity(calls.len());
        for call in calls {
            if !self.holds(call.filter.as_ref(), frame)? {
                added.push(None);
                continue;
            }
            let mut keys = Vec::with_capacity(call.order.len());
            for (key, _) in &call.order {
                keys.push(self.evaluate(key, frame)?);
            }
            added.push(Some((keys, self.evaluate_row(&call.arguments, frame)?)));
        }
        Ok(added)
    }

    fn finish(&mut self, call: &AggregateCall, state: &State, set: &[usize]) -> Result<Datum, Stop> {
        match (&call.kind, state) {
            (AggregateKind::Grouping(keys), _) => {
                let bits = keys.iter().fold(0, |bits, key| bits * 2 + i128::from(!set.contains(key)));
                Ok(Datum::Integer(bits))
            }
            (_, State::Running(accumulator)) => Ok(accumulator.finish()?),
            (AggregateKind::Function(function), State::Kept(rows)) => {
                let collation = self.collation();
                let mut sorted: Vec<&Added> = rows.iter().collect();
                sorted.sort_by(|left, right| {
                    let pairs = left.0.iter().zip(&right.0).zip(&call.order);
                    pairs
                        .map(|((left, right), (_, direction))| compare_values(left, right, direction, collation))
                        .find(|ordering| *ordering != Ordering::Equal)
                        .unwrap_or(Ordering::Equal)
                });
                let mut accumulator = function.ordered_accumulator(self.environment().zone());
                for (_, arguments) in sorted {
                    accumulator.add(arguments)?;
                }
                Ok(accumulator.finish()?)
            }
            (_, State::Fixed) => Ok(Datum::Null),
        }
    }
}

fn states(aggregation: &Aggregation, zone: Zone) -> Vec<State> {
    let state = |call: &AggregateCall| match &call.kind {
        AggregateKind::Grouping(_) => State::Fixed,
        AggregateKind::Function(_) if !call.order.is_empty() => State::Kept(Vec::new()),
        AggregateKind::Function(function) => State::Running(function.accumulator(zone)),
    };
    aggregation.calls.iter().map(state).collect()
}
