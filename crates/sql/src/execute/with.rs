//! Common table expressions, recursive ones, and changes among them.

use super::kept::Dependent;
use super::{Execution, Flow, Frame, Sink};
use crate::stop::Stop;
use crate::tree::plan::{Definition, Plan, With};
use rustc_hash::FxHashSet;
use skew_value::{Datum, GroupKey, SqlError, SqlState};
use std::sync::Arc;

/// So often may a recursive query go on.
const ROUND_LIMIT: usize = 1_000_000;

impl<'run> Execution<'run> {
    pub(super) fn with(
        &mut self,
        with: &With,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        for ((number, definition), needs) in with.definitions.iter().zip(&with.needs) {
            if needs.outer || !self.common.contains_key(number) {
                self.define_one(*number, definition, outer)?;
                self.kept.note(&needs.common, Dependent::Common(*number));
            }
        }
        self.each(&with.body, outer, sink)
    }

    /// Evaluates common table expressions in their order, so that each sees those before it.
    pub(crate) fn define(
        &mut self,
        definitions: &[(usize, Definition)],
        outer: Option<&Frame<'_>>,
    ) -> Result<(), Stop> {
        definitions.iter().try_for_each(|(number, definition)| self.define_one(*number, definition, outer))
    }

    fn define_one(&mut self, number: usize, definition: &Definition, outer: Option<&Frame<'_>>) -> Result<(), Stop> {
        let rows = match definition {
            Definition::Query(plan) => self.collect(plan, outer)?,
            Definition::Recursive { base, step, all } => self.recurse(number, base, step, *all, outer)?,
            Definition::Change(change) => {
                let outcome = (self.carry_out)(change, self)?;
                self.deferred.extend(outcome.deferred);
                outcome.returned
            }
        };
        self.set_common(number, rows);
        Ok(())
    }

    /// Gives a common table expression its rows; what was found with other rows is forgotten.
    fn set_common(&mut self, number: usize, rows: Vec<Vec<Datum>>) {
        self.forget_dependents(number);
        self.common.insert(number, Arc::new(rows));
    }

    /// The base, then what follows from the last rows, until nothing new does.
    fn recurse(
        &mut self,
        number: usize,
        base: &Plan,
        step: &Plan,
        all: bool,
        outer: Option<&Frame<'_>>,
    ) -> Result<Vec<Vec<Datum>>, Stop> {
        let mut seen: FxHashSet<Vec<GroupKey>> = FxHashSet::default();
        let mut fresh = self.collect(base, outer)?;
        let mut rows = Vec::new();
        for _ in 0..ROUND_LIMIT {
            if !all {
                fresh.retain(|row| seen.insert(self.group_key(row)));
            }
            if fresh.is_empty() {
                return Ok(rows);
            }
            for _ in &fresh {
                self.step()?;
            }
            rows.extend(fresh.iter().cloned());
            self.set_common(number, fresh);
            fresh = self.collect(step, outer)?;
        }
        let message = format!("a recursive query went on for more than {ROUND_LIMIT} rounds");
        Err(SqlError::new(SqlState::LIMIT_EXCEEDED, message).into())
    }
}
