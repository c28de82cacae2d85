//! EXCLUDE: between no two rows may all operators hold.
//!
//! ```text
//!   EXCLUDE (room WITH =, span WITH &&)     no two bookings of one room overlap
//! ```
//!
//! There is no index that could answer this, so a row that comes is compared with every other row of its table: such a constraint
//! reads the whole table, and conflicts with every other change of it.

use crate::catalog::{Exclusion, Table};
use crate::execute::Execution;
use crate::stop::Stop;
use crate::storage::{Columns, KeyPart, KeyRange, Lock, RowKey, all_rows};
use crate::tree::expression::Expression;
use crate::violation;
use skew_value::function::{self, Routine};
use skew_value::{Datum, Dialect, SqlError, SqlType};

/// An exclusion constraint, bound.
#[derive(Clone, Debug)]
pub(crate) struct ExclusionRule {
    name: String,
    elements: Vec<(Expression, Routine)>,
    predicate: Option<Expression>,
}

impl ExclusionRule {
    /// Binds a constraint; `bind` binds a text over the table's row.
    pub(crate) fn bind(
        exclusion: &Exclusion,
        bind: impl Fn(&str, Option<&SqlType>) -> Result<Expression, SqlError>,
        dialect: Dialect,
    ) -> Result<ExclusionRule, SqlError> {
        let elements = exclusion.elements.iter().map(|(text, operator)| {
            let expression = bind(text, None)?;
            let types = [expression.sql_type.clone(), expression.sql_type.clone()];
            Ok((expression, function::operator(operator, &types, dialect)?))
        });
        Ok(ExclusionRule {
            name: exclusion.name.clone(),
            elements: elements.collect::<Result<_, SqlError>>()?,
            predicate: exclusion.predicate.as_deref().map(|text| bind(text, Some(&SqlType::Boolean))).transpose()?,
        })
    }

    /// Refuses a row that conflicts with another one of its table.
    pub(crate) fn check(
        &self,
        table: &Table,
        own_key: &RowKey,
        row: &[Datum],
        execution: &mut Execution<'_>,
    ) -> Result<(), Stop> {
        let Some(values) = self.values(row, execution)? else { return Ok(()) };
        execution.storage().exclude()?;
        // One writer at a time: the key of no row is the lock of the constraint.
        let guard = RowKey { space: table.space, parts: [KeyPart::Null].into() };
        execution.storage().get(&guard, &Columns::Some(Vec::new()), Lock::Update)?;
        let range = KeyRange::of_prefix(table.space, Vec::new());
        for (key, other) in all_rows(execution.storage(), &range)? {
            if key != *own_key
                && self.conflicts(&values, &table.complete(&other), execution)?
                && let Some(other) = execution.storage().get(&key, &Columns::All, Lock::Share)?
                && self.conflicts(&values, &table.complete(&other), execution)?
            {
                return Err(violation::conflicting(&self.name).into());
            }
        }
        Ok(())
    }

    fn conflicts(&self, values: &[Datum], other: &[Datum], execution: &mut Execution<'_>) -> Result<bool, Stop> {
        match self.values(other, execution)? {
            Some(others) => self.conflict(values, &others, execution),
            None => Ok(false),
        }
    }

    /// The values of a row that the operators compare; none if the row does not count.
    fn values(&self, row: &[Datum], execution: &mut Execution<'_>) -> Result<Option<Vec<Datum>>, Stop> {
        if let Some(predicate) = &self.predicate
            && execution.evaluate_over(predicate, row)? != Datum::Boolean(true)
        {
            return Ok(None);
        }
        let values = self.elements.iter().map(|(expression, _)| execution.evaluate_over(expression, row));
        Ok(Some(values.collect::<Result<_, Stop>>()?))
    }

    fn conflict(&self, left: &[Datum], right: &[Datum], execution: &Execution<'_>) -> Result<bool, Stop> {
        for (place, (_, operator)) in self.elements.iter().enumerate() {
            let pair = [left[place].clone(), right[place].clone()];
            if operator.call(&pair, execution.environment())? != Datum::Boolean(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
