//! Operators: comparisons, also of rows, arithmetic, AND and OR, ANY and ALL over arrays.

use super::scalar::{boolean, not, row_parts};
use super::{Binder, Scope};
use crate::tree::expression::{Call, Expression, Node, Quantified};
use crate::tree::plan::Identity;
use skew_value::{Datum, Dialect, SqlError, SqlState, SqlType, function};
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

impl Binder<'_> {
    /// A call of an operator whose operands are bound.
    pub(super) fn operator(&mut self, symbol: &str, operands: Vec<Expression>) -> Result<Expression, SqlError> {
        let operands = self.adapt_literals(operands);
        let mut operands = self.dates_with_clock(operands)?;
        if matches!(symbol, "<" | "<=" | ">" | ">=") {
            operands = self.in_order(operands)?;
        }
        let types: Vec<SqlType> = operands.iter().map(|operand| operand.sql_type.clone()).collect();
        let routine = function::operator(symbol, &types, self.dialect)?;
        self.call_routine(routine, operands)
    }

    /// Converts the arguments and makes the call.
    pub(super) fn call_routine(
        &mut self,
        routine: function::Routine,
        arguments: Vec<Expression>,
    ) -> Result<Expression, SqlError> {
        let arguments: Result<Vec<Expression>, SqlError> = arguments
            .into_iter()
            .zip(&routine.parameters)
            .map(|(argument, parameter)| self.coerce(argument, parameter))
            .collect();
        let arguments = arguments?;
        let sql_type = routine.result.clone();
        Ok(Expression { node: Node::Call(Box::new(Call { routine, arguments })), sql_type })
    }

    /// MySQL compares a quoted literal with a number as numbers, and never refuses: `id = '7'` is `id = 7`, and stays a lookup by
    /// key; `id = 'seven'` compares as doubles. Beside a date, time or document the literal is read as such, beside an interval it
    /// stays a text, which is what adding to it gives.
    pub(super) fn adapt_literals(&self, mut operands: Vec<Expression>) -> Vec<Expression> {
        if self.dialect == Dialect::Postgres {
            return operands;
        }
        let numeric = |expression: &Expression| {
            matches!(
                expression.sql_type,
                SqlType::Integer { .. } | SqlType::Decimal(_) | SqlType::Double | SqlType::Single | SqlType::Boolean
            )
        };
        let beside_number = operands.iter().any(numeric);
        let beside_text =
            operands.iter().all(|operand| matches!(operand.sql_type, SqlType::Unknown | SqlType::Text(_)))
                || operands.iter().any(|operand| operand.sql_type == SqlType::Interval);
        for operand in &mut operands {
            let Node::Constant(Datum::Text(text)) = &operand.node else { continue };
            if operand.sql_type != SqlType::Unknown {
                continue;
            }
            match text.parse::<i64>() {
                Ok(number) if beside_number => {
                    *operand = Expression::constant(Datum::Integer(number.into()), SqlType::BIGINT);
                }
                _ if beside_number || beside_text => operand.sql_type = SqlType::TEXT,
                _ => {}
            }
        }
        operands
    }

    /// MySQL takes a quoted literal for text wherever nothing compares it: COALESCE(NULL, 'a', 1) is a text, and YEAR('abc') casts
    /// a text, which gives NULL.
    pub(super) fn literals_as_text(&self, mut operands: Vec<Expression>) -> Vec<Expression> {
        let is_literal = |operand: &Expression| matches!(operand.node, Node::Constant(Datum::Text(_)));
        if self.dialect == Dialect::MySql {
            for operand in &mut operands {
                if operand.sql_type == SqlType::Unknown && is_literal(operand) {
                    operand.sql_type = SqlType::TEXT;
                }
            }
        }
        operands
    }

    /// In MySQL a DATE becomes a DATETIME where hours are added to it, and stays one where days are; the unit tells which.
    pub(super) fn dates_with_clock(&mut self, operands: Vec<Expression>) -> Result<Vec<Expression>, SqlError> {
        if self.dialect == Dialect::Postgres || !operands.iter().any(counts_hours) {
            return Ok(operands);
        }
        let change = |operand: Expression| match operand.sql_type {
            SqlType::Date => self.coerce(operand, &SqlType::TIMESTAMP),
            _ => Ok(operand),
        };
        operands.into_iter().map(change).collect()
    }

    pub(super) fn binary_call(
        &mut self,
        symbol: &str,
        left: &Expr,
        right: &Expr,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        let left = self.expression(left, scope)?;
        let right = self.expression(right, scope)?;
        self.operator(symbol, vec![left, right])
    }

    /// A comparison of values or of rows.
    pub(super) fn comparison(
        &mut self,
        symbol: &str,
        left: &Expr,
        right: &Expr,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        match row_parts(left).is_some() || row_parts(right).is_some() {
            true => self.row_comparison(symbol, left, right, scope),
            false => self.binary_call(symbol, left, right, scope),
        }
    }

    /// `(a, b) < (1, 2)` is `a < 1 OR a = 1 AND b < 2`; equality is that of all parts.
    pub(super) fn row_comparison(
        &mut self,
        symbol: &str,
        left: &Expr,
        right: &Expr,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        if row_parts(left).is_none() || row_parts(right).is_none() {
            return Err(SqlError::unsupported("the comparison of a row value with something else"));
        }
        let left = self.parts(left, scope)?;
        let right = self.parts(right, scope)?;
        if left.len() != right.len() {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "unequal number of entries in row expressions"));
        }
        self.compare_rows(symbol, left, right)
    }

    /// The same of bound parts.
    pub(super) fn compare_rows(
        &mut self,
        symbol: &str,
        left: Vec<Expression>,
        right: Vec<Expression>,
    ) -> Result<Expression, SqlError> {
        let pairs: Vec<(Expression, Expression)> = left.into_iter().zip(right).collect();
        match symbol {
            "=" => {
                let equal: Result<Vec<Expression>, SqlError> =
                    pairs.into_iter().map(|(left, right)| self.operator("=", vec![left, right])).collect();
                Ok(boolean(Node::And(equal?)))
            }
            "<>" => {
                let differ: Result<Vec<Expression>, SqlError> =
                    pairs.into_iter().map(|(left, right)| self.operator("<>", vec![left, right])).collect();
                Ok(boolean(Node::Or(differ?)))
            }
            "<" | ">" | "<=" | ">=" => self.order_rows(symbol, &pairs),
            other => Err(SqlError::unsupported(format!("the operator {other} between row values"))),
        }
    }

    fn order_rows(&mut self, symbol: &str, pairs: &[(Expression, Expression)]) -> Result<Expression, SqlError> {
        let Some(((left, right), rest)) = pairs.split_first() else {
            return Err(SqlError::unsupported("an empty row value"));
        };
        if rest.is_empty() {
            return self.operator(symbol, vec![left.clone(), right.clone()]);
        }
        let strict = if symbol.starts_with('<') { "<" } else { ">" };
        let first = self.operator(strict, vec![left.clone(), right.clone()])?;
        let equal = self.operator("=", vec![left.clone(), right.clone()])?;
        let rest = self.order_rows(symbol, rest)?;
        Ok(boolean(Node::Or(vec![first, boolean(Node::And(vec![equal, rest]))])))
    }

    /// AND and OR as lists, everything else as a call.
    pub(super) fn binary(
        &mut self,
        whole: &Expr,
        left: &Expr,
        operator: &BinaryOperator,
        right: &Expr,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        match operator {
            BinaryOperator::And | BinaryOperator::Or => self.chain(whole, operator, scope),
            BinaryOperator::Xor => {
                let left = self.expression(left, scope)?;
                let left = self.condition(left, "XOR")?;
                let right = self.expression(right, scope)?;
                let right = self.condition(right, "XOR")?;
                self.operator("<>", vec![left, right])
            }
            // In MySQL's default mode `||` is OR.
            BinaryOperator::StringConcat if self.dialect == Dialect::MySql => self.chain(whole, operator, scope),
            BinaryOperator::Spaceship => {
                let operands = vec![self.expression(left, scope)?, self.expression(right, scope)?];
                let operands = self.adapt_literals(operands);
                let mut operands = self.unify(operands)?.into_iter();
                match (operands.next(), operands.next()) {
                    (Some(left), Some(right)) => Ok(boolean(Node::Same(Box::new(left), Box::new(right)))),
                    _ => Err(SqlError::new(SqlState::INTERNAL, "two operands became none")),
                }
            }
            _ => {
                let symbol = self.symbol(operator)?;
                match symbol.as_str() {
                    "=" | "<>" | "<" | "<=" | ">" | ">=" => self.comparison(&symbol, left, right, scope),
                    symbol => self.arithmetic(whole, symbol, scope),
                }
            }
        }
    }

    /// `a + b + c …`: from the innermost left operand outwards, so that a long chain needs no deep stack.
    fn arithmetic(&mut self, whole: &Expr, _symbol: &str, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let mut pending: Vec<(String, &Expr)> = Vec::new();
        let mut here = whole;
        while let Expr::BinaryOp { left, op, right } = here {
            let symbol = match self.symbol(op) {
                Ok(symbol) if !matches!(symbol.as_str(), "=" | "<>" | "<" | "<=" | ">" | ">=") => symbol,
                // Something else than arithmetic: it is an operand of its own, unless it is the whole.
                Ok(_) => break,
                Err(error) if pending.is_empty() => return Err(error),
                Err(_) => break,
            };
            if op == &BinaryOperator::StringConcat && self.dialect == Dialect::MySql {
                break;
            }
            pending.push((symbol, right));
            here = left;
        }
        let mut value = self.expression(here, scope)?;
        while let Some((symbol, right)) = pending.pop() {
            let right = self.expression(right, scope)?;
            value = self.operator(&symbol, vec![value, right])?;
        }
        Ok(value)
    }

    fn chain(&mut self, whole: &Expr, operator: &BinaryOperator, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let mut operands = Vec::new();
        let mut here = whole;
        while let Expr::BinaryOp { left, op, right } = here
            && op == operator
        {
            operands.push(&**right);
            here = left;
        }
        operands.push(here);
        let clause = if *operator == BinaryOperator::And { "AND" } else { "OR" };
        let mut bound = Vec::with_capacity(operands.len());
        for operand in operands.into_iter().rev() {
            let operand = self.expression(operand, scope)?;
            bound.push(self.condition(operand, clause)?);
        }
        Ok(boolean(if *operator == BinaryOperator::And { Node::And(bound) } else { Node::Or(bound) }))
    }

    /// The name under which an operator is looked up.
    fn symbol(&self, operator: &BinaryOperator) -> Result<String, SqlError> {
        Ok(match operator {
            BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor | BinaryOperator::Spaceship => {
                return Err(SqlError::new(SqlState::INTERNAL, format!("{operator} is no plain operator")));
            }
            BinaryOperator::NotEq => "<>".to_owned(),
            BinaryOperator::MyIntegerDivide => "div".to_owned(),
            BinaryOperator::Custom(symbol) => symbol.clone(),
            BinaryOperator::PGCustomBinaryOperator(parts) => match parts.last() {
                Some(last) => last.clone(),
                None => return Err(SqlError::new(SqlState::SYNTAX_ERROR, "an operator without a name")),
            },
            BinaryOperator::Assignment => return Err(SqlError::unsupported("assignment within an expression")),
            other => other.to_string().to_lowercase(),
        })
    }

    /// NOT, signs and the other prefix operators.
    pub(super) fn unary(
        &mut self,
        operator: &UnaryOperator,
        operand: &Expr,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        match operator {
            UnaryOperator::Not | UnaryOperator::BangNot => {
                let operand = self.expression(operand, scope)?;
                Ok(not(self.condition(operand, "NOT")?))
            }
            UnaryOperator::Minus => self.negative(operand, scope),
            other => {
                let operand = self.expression(operand, scope)?;
                self.operator(&other.to_string().to_lowercase(), vec![operand])
            }
        }
    }

    /// A negative literal is a literal: -9223372036854775808 is a bigint although its digits alone are none.
    fn negative(&mut self, operand: &Expr, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let bound = self.expression(operand, scope)?;
        match &bound.node {
            // The smallest type that holds the negative number, which may be smaller than that of its digits.
            Node::Constant(Datum::Integer(value)) if matches!(operand, Expr::Value(_)) => {
                let negated = -value;
                let sql_type = match i32::try_from(negated) {
                    Ok(_) => SqlType::INTEGER,
                    Err(_) if i64::try_from(negated).is_ok() => SqlType::BIGINT,
                    Err(_) => SqlType::NUMERIC,
                };
                if sql_type == SqlType::NUMERIC {
                    return self.operator("-", vec![bound]);
                }
                Ok(Expression::constant(Datum::Integer(negated), sql_type))
            }
            Node::Constant(Datum::Decimal(value)) if matches!(operand, Expr::Value(_)) => {
                let negated = -value.clone();
                let least = bigdecimal::BigDecimal::from(i64::MIN);
                match negated == least {
                    true => Ok(Expression::constant(Datum::Integer(i64::MIN.into()), SqlType::BIGINT)),
                    false => Ok(Expression::constant(Datum::Decimal(negated), bound.sql_type.clone())),
                }
            }
            _ => self.operator("-", vec![bound]),
        }
    }

    /// `x = ANY (…)` over an array or a subquery.
    pub(super) fn quantified(
        &mut self,
        left: &Expr,
        operator: &BinaryOperator,
        right: &Expr,
        all: bool,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        let symbol = self.symbol(operator)?;
        let mut inner = right;
        while let Expr::Nested(nested) = inner {
            inner = nested;
        }
        if let Expr::Subquery(query) = inner {
            return self.quantified_subquery(left, &symbol, query, all, scope);
        }
        let operand = self.expression(left, scope)?;
        let array = self.expression(right, scope)?;
        let array = match &array.sql_type {
            SqlType::Array(_) => array,
            SqlType::Vector(element) => {
                let elements = SqlType::Array(element.clone());
                self.coerce(array, &elements)?
            }
            SqlType::Unknown => {
                let element =
                    if operand.sql_type == SqlType::Unknown { SqlType::TEXT } else { operand.sql_type.clone() };
                self.coerce(array, &SqlType::Array(Box::new(element)))?
            }
            _ => {
                return Err(SqlError::new(
                    SqlState::DATATYPE_MISMATCH,
                    "op ANY/ALL (array) requires array on right side",
                ));
            }
        };
        let SqlType::Array(element) = array.sql_type.clone() else {
            return Err(SqlError::new(SqlState::INTERNAL, "an array became something else"));
        };
        let comparison = function::operator(&symbol, &[operand.sql_type.clone(), *element], self.dialect)?;
        let operand = self.coerce(operand, &comparison.parameters[0])?;
        let array = self.coerce(array, &SqlType::Array(Box::new(comparison.parameters[1].clone())))?;
        Ok(boolean(Node::Quantified(Box::new(Quantified {
            operand,
            array,
            comparison,
            all,
            identity: Identity::default(),
        }))))
    }
}

/// Whether it is an interval of hours or less, or so many times one.
fn counts_hours(expression: &Expression) -> bool {
    match &expression.node {
        Node::Constant(Datum::Interval(span)) => span.microseconds != 0,
        Node::Call(call) if expression.sql_type == SqlType::Interval => call.arguments.iter().any(counts_hours),
        _ => false,
    }
}
