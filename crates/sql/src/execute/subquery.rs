//! Subqueries in expressions.
//!
//! One that does not look at outer rows is evaluated once per statement; `IN` over it looks its values up in a set.

use super::kept::Dependent;
use super::{Execution, Flow, Frame, Rows};
use crate::plan::have_equal_keys;
use crate::stop::Stop;
use crate::tree::expression::{Expression, Node, Subquery, SubqueryKind};
use crate::tree::plan::Plan;
use crate::tree::visit;
use rustc_hash::FxHashSet;
use skew_value::{Datum, GroupKey, SqlError, SqlState};
use std::rc::Rc;
use std::sync::Arc;

/// The rows of a subquery as a set.
pub(super) struct Lookup {
    keys: FxHashSet<Vec<GroupKey>>,
    /// Rows that have a NULL: with them a value that is not found may still be equal.
    partial: Vec<Vec<Datum>>,
    empty: bool,
}

impl Execution<'_> {
    pub(super) fn subquery(&mut self, subquery: &Subquery, frame: &Frame<'_>) -> Result<Datum, Stop> {
        match &subquery.kind {
            SubqueryKind::Scalar => self.scalar(subquery, frame),
            SubqueryKind::Exists => self.exists(subquery, frame),
            SubqueryKind::Array => {
                let rows = self.subquery_rows(subquery, frame)?;
                Ok(Datum::Array(rows.iter().filter_map(|row| row.first().cloned()).collect()))
            }
            SubqueryKind::In(operands) => self.is_in(subquery, operands, frame),
            SubqueryKind::Quantified { comparison, all } => self.compare_all(subquery, comparison, *all, frame),
        }
    }

    /// All rows of a subquery.
    fn subquery_rows(&mut self, subquery: &Subquery, frame: &Frame<'_>) -> Result<Rows, Stop> {
        if subquery.query.correlated {
            return Ok(Arc::new(self.by_itself(subquery, |execution, plan| execution.collect(plan, Some(frame)))?));
        }
        if let Some(rows) = self.answers.get(&subquery.number) {
            return Ok(rows.clone());
        }
        let rows = Arc::new(self.by_itself(subquery, |execution, plan| execution.collect(plan, Some(frame)))?);
        self.keep_answer(subquery, rows.clone());
        Ok(rows)
    }

    /// Runs the plan of a subquery, which reads for itself: not what the statement around it has locked.
    fn by_itself<T>(
        &mut self,
        subquery: &Subquery,
        run: impl FnOnce(&mut Self, &Plan) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let around = self.storage.enter(subquery.number + 1);
        let answer = run(self, &subquery.query.plan);
        self.storage.enter(around);
        answer
    }

    /// Keeps what a subquery answered, as long as the common table expressions that it reads stay as they are.
    fn keep_answer(&mut self, subquery: &Subquery, rows: Rows) {
        self.answers.insert(subquery.number, rows);
        self.kept.note(&subquery.query.common, Dependent::Answer(subquery.number));
    }

    /// Answers the subqueries of some expressions now, as far as they depend on no row.
    pub(crate) fn answer_subqueries(&mut self, expressions: &[Expression]) -> Result<(), Stop> {
        let mut found: Vec<Subquery> = Vec::new();
        for expression in expressions {
            visit::expression(&mut expression.clone(), 0, &mut |one, level| {
                if let Node::Subquery(subquery) = &one.node
                    && level == 0
                    && !subquery.query.correlated
                {
                    found.push((**subquery).clone());
                }
            });
        }
        for subquery in found {
            self.subquery_rows(&subquery, &Frame { row: &[], outer: None })?;
        }
        Ok(())
    }

    fn scalar(&mut self, subquery: &Subquery, frame: &Frame<'_>) -> Result<Datum, Stop> {
        let rows = self.subquery_rows(subquery, frame)?;
        match rows.as_slice() {
            [] => Ok(Datum::Null),
            [row] => Ok(row.first().cloned().unwrap_or(Datum::Null)),
            _ => {
                let message = "more than one row returned by a subquery used as an expression";
                Err(SqlError::new(SqlState::CARDINALITY, message).into())
            }
        }
    }

    fn exists(&mut self, subquery: &Subquery, frame: &Frame<'_>) -> Result<Datum, Stop> {
        if let Some(rows) = self.answers.get(&subquery.number) {
            return Ok(Datum::Boolean(!rows.is_empty()));
        }
        let mut first = None;
        self.by_itself(subquery, |execution, plan| {
            execution.each(plan, Some(frame), &mut |_, row| {
                first = Some(row.to_vec());
                Ok(Flow::Enough)
            })
        })?;
        let found = first.is_some();
        if !subquery.query.correlated {
            self.keep_answer(subquery, Arc::new(first.into_iter().collect()));
        }
        Ok(Datum::Boolean(found))
    }

    fn is_in(&mut self, subquery: &Subquery, operands: &[Expression], frame: &Frame<'_>) -> Result<Datum, Stop> {
        let lookup = self.lookup_of(subquery, frame)?;
        if lookup.empty {
            return Ok(Datum::Boolean(false));
        }
        let values = self.evaluate_row(operands, frame)?;
        self.find(&lookup, &values)
    }

    /// The rows of a subquery as a set.
    fn lookup_of(&mut self, subquery: &Subquery, frame: &Frame<'_>) -> Result<Rc<Lookup>, Stop> {
        if let Some(lookup) = self.lookups.get(&subquery.number) {
            return Ok(lookup.clone());
        }
        let rows = self.subquery_rows(subquery, frame)?;
        let lookup = Rc::new(self.lookup(&rows));
        if !subquery.query.correlated {
            self.lookups.insert(subquery.number, lookup.clone());
        }
        Ok(lookup)
    }

    /// Whether values are among the rows of a set.
    fn find(&self, lookup: &Lookup, values: &[Datum]) -> Result<Datum, Stop> {
        if !values.iter().any(Datum::is_null) && lookup.keys.contains(&self.group_key(values)) {
            return Ok(Datum::Boolean(true));
        }
        Ok(if self.may_be_in(lookup, values) { Datum::Null } else { Datum::Boolean(false) })
    }

    fn lookup(&self, rows: &[Vec<Datum>]) -> Lookup {
        let (partial, whole): (Vec<&Vec<Datum>>, Vec<&Vec<Datum>>) =
            rows.iter().partition(|row| row.iter().any(Datum::is_null));
        Lookup {
            keys: whole.into_iter().map(|row| self.group_key(row)).collect(),
            partial: partial.into_iter().cloned().collect(),
            empty: rows.is_empty(),
        }
    }

    /// Whether NULLs on either side leave it open if the values are among the rows.
    fn may_be_in(&self, lookup: &Lookup, values: &[Datum]) -> bool {
        let collation = self.collation();
        let key: Vec<GroupKey> = self.group_key(values);
        let open = |row: &[GroupKey]| {
            row.iter().zip(&key).all(|(one, other)| one == other || *one == GroupKey::Null || *other == GroupKey::Null)
        };
        let keys_of =
            |row: &Vec<Datum>| row.iter().map(|value| GroupKey::new(value, collation)).collect::<Vec<GroupKey>>();
        let partial = lookup.partial.iter().any(|row| open(&keys_of(row)));
        partial || (values.iter().any(Datum::is_null) && lookup.keys.iter().any(|row| open(row)))
    }

    fn compare_all(
        &mut self,
        subquery: &Subquery,
        comparison: &Expression,
        all: bool,
        frame: &Frame<'_>,
    ) -> Result<Datum, Stop> {
        if let Some(operand) = looked_up(comparison, all).filter(|_| !subquery.query.correlated) {
            return self.compare_equal(subquery, operand, all, frame);
        }
        let rows = self.subquery_rows(subquery, frame)?;
        let mut unknown = false;
        for row in rows.iter() {
            self.step()?;
            match self.evaluate(comparison, &Frame { row, outer: Some(frame) })? {
                Datum::Boolean(value) if value != all => return Ok(Datum::Boolean(value)),
                Datum::Null => unknown = true,
                _ => {}
            }
        }
        Ok(if unknown { Datum::Null } else { Datum::Boolean(all) })
    }
    /// `operand = ANY` and `operand <> ALL` of rows that do not depend on the operand: by hash.
    fn compare_equal(
        &mut self,
        subquery: &Subquery,
        operand: &Expression,
        all: bool,
        frame: &Frame<'_>,
    ) -> Result<Datum, Stop> {
        let lookup = self.lookup_of(subquery, frame)?;
        if lookup.empty {
            return Ok(Datum::Boolean(all));
        }
        let value = self.evaluate(operand, &Frame { row: &[], outer: Some(frame) })?;
        Ok(match self.find(&lookup, &[value])? {
            Datum::Boolean(found) => Datum::Boolean(found != all),
            other => other,
        })
    }
}

/// The operand of a comparison with the only column of a subquery's row, if the set of these columns decides it.
pub(super) fn looked_up(comparison: &Expression, all: bool) -> Option<&Expression> {
    let Node::Call(call) = &comparison.node else { return None };
    let [operand, column] = call.arguments.as_slice() else { return None };
    let symbol = if all { "<>" } else { "=" };
    let plain = matches!(column.node, Node::Column { depth: 0, index: 0 });
    (call.routine.name == symbol && plain && have_equal_keys(&operand.sql_type, &column.sql_type)).then_some(operand)
}
