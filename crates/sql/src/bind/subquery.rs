//! Queries inside expressions.

use super::scalar::{boolean, negate};
use super::{Binder, Scope};
use crate::plan::{optimise, optimise_repeated};
use crate::tree::expression::{Expression, Node, Subquery, SubqueryKind};
use crate::tree::plan::Query;
use crate::tree::visit;
use skew_value::{SqlError, SqlState, SqlType, common_type};
use sqlparser::ast::{self, Expr};
use std::sync::Arc;

impl Binder<'_> {
    fn subquery(&mut self, query: Query, kind: SubqueryKind, sql_type: SqlType) -> Expression {
        let number = self.next_subquery();
        let plan = if query.correlated { optimise_repeated(query.plan) } else { optimise(query.plan) };
        let query = Query { plan, ..query };
        Expression { node: Node::Subquery(Box::new(Subquery { query: Arc::new(query), number, kind })), sql_type }
    }

    /// The type of a subquery's only column.
    fn only_column(query: &Query) -> Result<SqlType, SqlError> {
        match query.columns.as_slice() {
            [column] => Ok(column.sql_type.clone()),
            _ => Err(SqlError::new(SqlState::SYNTAX_ERROR, "subquery must return only one column")),
        }
    }

    pub(super) fn scalar_subquery(&mut self, query: &ast::Query, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let query = self.query(query, Some(scope))?;
        let sql_type = Binder::only_column(&query)?;
        Ok(self.subquery(query, SubqueryKind::Scalar, sql_type))
    }

    /// ARRAY(SELECT …).
    pub(super) fn array_subquery(&mut self, query: &ast::Query, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let query = self.query(query, Some(scope))?;
        let element = Binder::only_column(&query)?;
        if matches!(element, SqlType::Array(_) | SqlType::Vector(_)) {
            return Err(SqlError::unsupported("an array of more than one dimension"));
        }
        let sql_type = SqlType::Array(Box::new(element));
        Ok(self.subquery(query, SubqueryKind::Array, sql_type))
    }

    pub(super) fn exists(
        &mut self,
        query: &ast::Query,
        negated: bool,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        let query = self.query(query, Some(scope))?;
        let exists = self.subquery(query, SubqueryKind::Exists, SqlType::Boolean);
        Ok(negate(exists, negated))
    }

    /// `x IN (SELECT …)` with both sides as values of their common type, so that values can be looked up by hash.
    pub(super) fn in_subquery(
        &mut self,
        operand: &Expr,
        query: &ast::Query,
        negated: bool,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        let operands = self.parts(operand, scope)?;
        let query = self.query(query, Some(scope))?;
        if operands.len() != query.columns.len() {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "subquery has a different number of columns"));
        }
        let mut types = Vec::with_capacity(operands.len());
        for (operand, column) in operands.iter().zip(&query.columns) {
            let common = common_type(&[operand.sql_type.clone(), column.sql_type.clone()], self.dialect)?;
            // The comparison must exist: two documents, say, cannot be compared.
            types.push(
                skew_value::function::operator("=", &[common.clone(), common], self.dialect)?.parameters[0].clone(),
            );
        }
        let operands: Result<Vec<Expression>, SqlError> =
            operands.into_iter().zip(&types).map(|(operand, sql_type)| self.coerce(operand, sql_type)).collect();
        let query = self.query_of_types(query, &types)?;
        let found = self.subquery(query, SubqueryKind::In(operands?), SqlType::Boolean);
        Ok(negate(found, negated))
    }

    /// `x < ALL (SELECT …)`: the comparison stands one row further in than the operand, over the subquery's row.
    pub(super) fn quantified_subquery(
        &mut self,
        operand: &Expr,
        symbol: &str,
        query: &ast::Query,
        all: bool,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        let mut operands = self.parts(operand, scope)?;
        let query = self.query(query, Some(scope))?;
        if operands.len() != query.columns.len() {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "subquery has a different number of columns"));
        }
        for operand in &mut operands {
            // The operand's own columns are outer columns for the comparison.
            visit::expression(operand, 0, &mut |one, level| {
                if let Node::Column { depth, .. } = &mut one.node
                    && *depth >= level
                {
                    *depth += 1;
                }
            });
        }
        let columns: Vec<Expression> = query
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| Expression::column(index, column.sql_type.clone()))
            .collect();
        let comparison = match operands.len() {
            1 => {
                let both = operands.into_iter().chain(columns).collect();
                self.operator(symbol, both)?
            }
            _ => self.compare_rows(symbol, operands, columns)?,
        };
        let sql_type = boolean(Node::Constant(skew_value::Datum::Null)).sql_type;
        Ok(self.subquery(query, SubqueryKind::Quantified { comparison, all }, sql_type))
    }
}
