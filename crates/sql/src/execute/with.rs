//! Common table expressions, recursive ones, and changes among them.

use super::{Execution, Flow, Frame, Sink};
use crate::error::{SqlError, SqlState, Stop};
use crate::plan::{Definition, Plan, With};
use crate::value::{Datum, GroupKey};
use rustc_hash::FxHashSet;
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
        self.define(&with.definitions, outer)?;
        self.each(&with.body, outer, sink)
    }

    /// Evaluates common table expressions in their order, so that each sees those before it.
    pub(crate) fn define(
        &mut self,
        definitions: &[(usize, Definition)],
        outer: Option<&Frame<'_>>,
    ) -> Result<(), Stop> {
        for (number, definition) in definitions {
            let rows = match definition {
                Definition::Query(plan) => self.collect(plan, outer)?,
                Definition::Recursive { base, step, all } => self.recurse(*number, base, step, *all, outer)?,
                Definition::Change(change) => {
                    let catalog = self.catalog.clone();
                    let outcome = change.carry_out(&catalog, self)?;
                    self.deferred.extend(outcome.deferred);
                    outcome.returned
                }
            };
            self.common.insert(*number, Arc::new(rows));
        }
        Ok(())
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
            self.common.insert(number, Arc::new(fresh));
            // A subquery of the step that was answered once sees other rows now.
            self.answers.clear();
            self.lookups.clear();
            fresh = self.collect(step, outer)?;
        }
        let message = format!("a recursive query went on for more than {ROUND_LIMIT} rounds");
        Err(SqlError::new(SqlState::LIMIT_EXCEEDED, message).into())
    }
}
