//! The values of expressions, with the logic of three values.

use super::{Execution, Frame, internal};
use crate::stop::Stop;
use crate::tree::expression::{Expression, InList, Node, Quantified};
use skew_value::{Datum, Dialect, SqlError, SqlState, SqlType, cast, compare_in};
use std::cmp::Ordering;

impl Execution<'_> {
    /// A text becomes a label of an enumeration only if it is one; so do the elements of an array.
    fn check_label(&self, value: &Datum, to: &SqlType) -> Result<(), Stop> {
        if let (Datum::Array(elements), SqlType::Array(element)) = (value, to)
            && matches!(**element, SqlType::Enumeration(_))
        {
            return elements.iter().try_for_each(|one| self.check_label(one, element));
        }
        let (SqlType::Enumeration(id), Datum::Text(text), Dialect::Postgres) = (to, value, self.dialect()) else {
            return Ok(());
        };
        let found = self.catalog.enumerations.values().find(|enumeration| enumeration.id == *id);
        match found.filter(|enumeration| !enumeration.labels.iter().any(|label| label.as_str() == &**text)) {
            None => Ok(()),
            Some(enumeration) => {
                let message = format!("invalid input value for enum {}: \"{text}\"", enumeration.name);
                Err(SqlError::new(SqlState::INVALID_TEXT, message).into())
            }
        }
    }

    /// The value of an expression over some rows.
    pub(super) fn evaluate(&mut self, expression: &Expression, frame: &Frame<'_>) -> Result<Datum, Stop> {
        match &expression.node {
            Node::Constant(value) => Ok(value.clone()),
            Node::Column { depth, index } => column(frame, *depth, *index),
            Node::Call(call) => {
                let arguments = self.evaluate_row(&call.arguments, frame)?;
                Ok(call.routine.call(&arguments, &self.environment)?)
            }
            Node::Cast(conversion) => {
                let value = self.evaluate(&conversion.operand, frame)?;
                let (from, to) = (&conversion.operand.sql_type, &expression.sql_type);
                let value = cast(&value, from, to, conversion.kind, self.style())?;
                self.check_label(&value, to)?;
                Ok(value)
            }
            Node::And(operands) => self.junction(operands, false, frame),
            Node::Or(operands) => self.junction(operands, true, frame),
            Node::Not(operand) => Ok(match self.evaluate(operand, frame)? {
                Datum::Boolean(value) => Datum::Boolean(!value),
                other => other,
            }),
            Node::IsNull(operand) => Ok(Datum::Boolean(self.evaluate(operand, frame)?.is_null())),
            Node::Is(operand, value) => Ok(Datum::Boolean(self.evaluate(operand, frame)? == Datum::Boolean(*value))),
            Node::InList(list) => self.in_list(list, frame),
            _ => self.evaluate_rarer(expression, frame),
        }
    }

    fn evaluate_rarer(&mut self, expression: &Expression, frame: &Frame<'_>) -> Result<Datum, Stop> {
        match &expression.node {
            Node::Parameter(index) => self.given(self.parameters, *index, "parameter"),
            Node::Variable(index) => self.given(self.variables, *index, "variable"),
            Node::UserVariable(name) => {
                let value = self.user_variables.and_then(|variables| variables.get(&**name));
                Ok(value.map_or(Datum::Null, |(value, _)| value.clone()))
            }
            Node::Same(left, right) => {
                let (left, right) = (self.evaluate(left, frame)?, self.evaluate(right, frame)?);
                Ok(Datum::Boolean(self.is_same(&left, &right)))
            }
            Node::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    if self.evaluate(condition, frame)? == Datum::Boolean(true) {
                        return self.evaluate(result, frame);
                    }
                }
                self.evaluate(otherwise, frame)
            }
            Node::Coalesce(operands) => {
                for operand in operands {
                    let value = self.evaluate(operand, frame)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Datum::Null)
            }
            Node::NullIf(comparison, value) => match self.evaluate(comparison, frame)? {
                Datum::Boolean(true) => Ok(Datum::Null),
                _ => self.evaluate(value, frame),
            },
            Node::Extreme { operands, greatest } => self.extreme(operands, *greatest, frame),
            Node::Array(elements) => Ok(Datum::Array(self.evaluate_row(elements, frame)?.into())),
            Node::Subscript(array, index) => self.subscript(array, index, frame),
            Node::Quantified(quantified) => self.quantified(quantified, frame),
            Node::Sequence(call) => self.sequence(call, frame),
            Node::Catalog(call) => {
                let arguments = self.evaluate_row(&call.arguments, frame)?;
                Ok(call.function.call(&arguments, &self.catalog, &self.environment)?)
            }
            Node::Subquery(subquery) => self.subquery(subquery, frame),
            _ => Err(internal("an expression that belongs to no plan")),
        }
    }

    fn given(&self, values: &[Datum], index: usize, kind: &str) -> Result<Datum, Stop> {
        values.get(index).cloned().ok_or_else(|| {
            let message = format!("there is no value for {kind} {}", index + 1);
            SqlError::new(SqlState("08P01"), message).into()
        })
    }

    /// AND (`absorbing` is false) and OR (true): the absorbing value decides at once, else NULL, else the other.
    fn junction(&mut self, operands: &[Expression], absorbing: bool, frame: &Frame<'_>) -> Result<Datum, Stop> {
        let mut unknown = false;
        for operand in operands {
            match self.evaluate(operand, frame)? {
                Datum::Boolean(value) if value == absorbing => return Ok(Datum::Boolean(absorbing)),
                Datum::Null => unknown = true,
                _ => {}
            }
        }
        Ok(if unknown { Datum::Null } else { Datum::Boolean(!absorbing) })
    }

    fn is_same(&self, left: &Datum, right: &Datum) -> bool {
        match (left.is_null(), right.is_null()) {
            (true, true) => true,
            (false, false) => compare_in(left, right, self.collation()) == Ordering::Equal,
            _ => false,
        }
    }

    fn in_list(&mut self, list: &InList, frame: &Frame<'_>) -> Result<Datum, Stop> {
        let operand = self.evaluate(&list.operand, frame)?;
        if operand.is_null() && !list.list.is_empty() {
            return Ok(Datum::Null);
        }
        if let Some(found) = self.in_constants(list, &operand, frame)? {
            return Ok(found);
        }
        let mut pair = [operand, Datum::Null];
        let mut unknown = false;
        for element in &list.list {
            pair[1] = self.evaluate(element, frame)?;
            match list.equality.call(&pair, &self.environment)? {
                Datum::Boolean(true) => return Ok(Datum::Boolean(true)),
                Datum::Null => unknown = true,
                _ => {}
            }
        }
        Ok(if unknown { Datum::Null } else { Datum::Boolean(false) })
    }

    fn extreme(&mut self, operands: &[Expression], greatest: bool, frame: &Frame<'_>) -> Result<Datum, Stop> {
        let mut best = Datum::Null;
        let wanted = if greatest { Ordering::Greater } else { Ordering::Less };
        for operand in operands {
            let value = self.evaluate(operand, frame)?;
            let better = best.is_null() || compare_in(&value, &best, self.collation()) == wanted;
            if !value.is_null() && better {
                best = value;
            }
        }
        Ok(best)
    }

    /// Arrays are counted from 1; what is outside is NULL.
    fn subscript(&mut self, array: &Expression, index: &Expression, frame: &Frame<'_>) -> Result<Datum, Stop> {
        let (array, index) = (self.evaluate(array, frame)?, self.evaluate(index, frame)?);
        let (Datum::Array(elements), Datum::Integer(index)) = (array, index) else { return Ok(Datum::Null) };
        let place = usize::try_from(index).ok().and_then(|index| index.checked_sub(1));
        Ok(place.and_then(|place| elements.get(place)).cloned().unwrap_or(Datum::Null))
    }

    fn quantified(&mut self, quantified: &Quantified, frame: &Frame<'_>) -> Result<Datum, Stop> {
        let operand = self.evaluate(&quantified.operand, frame)?;
        if let Some(found) = self.in_array(quantified, &operand, frame)? {
            return Ok(found);
        }
        let Datum::Array(elements) = self.evaluate(&quantified.array, frame)? else { return Ok(Datum::Null) };
        let mut pair = [operand, Datum::Null];
        let mut unknown = false;
        for element in elements.iter() {
            pair[1] = element.clone();
            match quantified.comparison.call(&pair, &self.environment)? {
                Datum::Boolean(value) if value != quantified.all => return Ok(Datum::Boolean(value)),
                Datum::Null => unknown = true,
                _ => {}
            }
        }
        Ok(if unknown { Datum::Null } else { Datum::Boolean(quantified.all) })
    }
}

/// A column of the row so many queries further out.
fn column(frame: &Frame<'_>, depth: usize, index: usize) -> Result<Datum, Stop> {
    let mut here = frame;
    for _ in 0..depth {
        here = here.outer.ok_or_else(|| internal("a column of a row that is not there"))?;
    }
    here.row.get(index).cloned().ok_or_else(|| internal("a column that is not there"))
}
