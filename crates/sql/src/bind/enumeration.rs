//! The order of enumerations: that of their declaration, which only the catalog knows.
//!
//! Labels are stored as texts. Where an order is asked for, the place among the labels stands in for the label:
//!
//! ```text
//!   CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')
//!   ORDER BY mood       the sort carries the labels along
//!   mood < 'happy'      array_position(labels, mood) < 3
//!   max(mood)           labels[max(array_position(labels, mood))]
//! ```
//!
//! MySQL sorts by the place too, but compares, and finds the least and the greatest, by the text: there only the sort is meant.
//! Equality is that of texts everywhere, and so are the keys of indexes: an index finds a label, but is no order.

use super::Binder;
use crate::tree::expression::{Call, Expression, Node};
use skew_value::{Datum, Dialect, EnumerationId, SqlError, SqlState, SqlType, function};
use std::sync::Arc;

impl Binder<'_> {
    /// The labels by which values of a type sort, if it is an enumeration.
    pub(super) fn labels(&self, sql_type: &SqlType) -> Result<Option<Arc<[String]>>, SqlError> {
        match sql_type {
            SqlType::Enumeration(id) => Ok(Some(self.catalog.expect_enumeration(*id)?.labels.clone().into())),
            _ => Ok(None),
        }
    }

    /// The operands of an order that is an enumeration's, as places among its labels; others as they are.
    pub(super) fn in_order(&mut self, operands: Vec<Expression>) -> Result<Vec<Expression>, SqlError> {
        if self.dialect == Dialect::MySql {
            return Ok(operands);
        }
        let found = operands.iter().find_map(|operand| enumeration_of(&operand.sql_type));
        let Some(id) = found else { return Ok(operands) };
        operands.into_iter().map(|operand| self.place_of_label(operand, id)).collect()
    }

    fn place_of_label(&mut self, operand: Expression, id: EnumerationId) -> Result<Expression, SqlError> {
        let wanted = SqlType::Enumeration(id);
        if !matches!(&operand.sql_type, SqlType::Unknown) && operand.sql_type != wanted {
            let message = format!("operator does not exist: {wanted} < {}", operand.sql_type);
            return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, message));
        }
        let operand = self.coerce(operand, &wanted)?;
        let types = [SqlType::Array(Box::new(SqlType::TEXT)), SqlType::TEXT];
        let routine = function::scalar("array_position", &types, Dialect::Postgres)?;
        let sql_type = routine.result.clone();
        let arguments = vec![self.label_array(id)?, Expression { sql_type: SqlType::TEXT, ..operand }];
        Ok(Expression { node: Node::Call(Box::new(Call { routine, arguments })), sql_type })
    }

    /// The label at a place.
    pub(super) fn label_at(&self, place: Expression, id: EnumerationId) -> Result<Expression, SqlError> {
        let node = Node::Subscript(Box::new(self.label_array(id)?), Box::new(place));
        Ok(Expression { node, sql_type: SqlType::Enumeration(id) })
    }

    fn label_array(&self, id: EnumerationId) -> Result<Expression, SqlError> {
        let labels = self.catalog.expect_enumeration(id)?.labels.iter().map(|label| Datum::text(label.as_str()));
        Ok(Expression::constant(Datum::Array(labels.collect()), SqlType::Array(Box::new(SqlType::TEXT))))
    }

    /// Refuses a literal that is no label of the enumeration it is meant for. MySQL compares it as any other text.
    pub(super) fn check_label(&self, text: &str, id: EnumerationId) -> Result<(), SqlError> {
        let enumeration = self.catalog.expect_enumeration(id)?;
        match self.dialect == Dialect::Postgres && !enumeration.labels.iter().any(|label| label == text) {
            true => Err(crate::violation::label(enumeration, text, "", self.dialect)),
            false => Ok(()),
        }
    }
}

/// The enumeration that a type is.
pub(super) fn enumeration_of(sql_type: &SqlType) -> Option<EnumerationId> {
    match sql_type {
        SqlType::Enumeration(id) => Some(*id),
        _ => None,
    }
}
