//! Literals: numbers, texts, typed texts, intervals, parameters.

use super::Binder;
use crate::tree::expression::{Expression, Node};
use skew_value::{CastKind, Datum, Dialect, IntegerWidth, SqlError, SqlState, SqlType, input};
use sqlparser::ast::{self, Value};
use std::sync::Arc;

/// So many parameters can the protocols count.
const PARAMETER_LIMIT: usize = 65_535;

impl Binder<'_> {
    /// A literal or parameter.
    pub(super) fn bind_value(&mut self, value: &ast::ValueWithSpan) -> Result<Expression, SqlError> {
        match &value.value {
            Value::Number(digits, _) => self.number(digits),
            Value::SingleQuotedString(text)
            | Value::NationalStringLiteral(text)
            | Value::EscapedStringLiteral(text)
            | Value::UnicodeStringLiteral(text)
            | Value::DoubleQuotedString(text) => Ok(self.text(text)),
            Value::DollarQuotedString(text) => Ok(self.text(&text.value)),
            Value::Boolean(value) => Ok(Expression::boolean(*value)),
            Value::Null => Ok(Expression::constant(Datum::Null, SqlType::Unknown)),
            Value::HexStringLiteral(digits) => bytes_of_hexadecimal(digits),
            Value::Placeholder(name) => self.placeholder(name, value.span.start),
            other => Err(SqlError::unsupported(format!("the literal {other}"))),
        }
    }

    /// In PostgreSQL a quoted literal takes the type of its place; in MySQL it is a text, and compares as one.
    fn text(&self, text: &str) -> Expression {
        Expression::constant(Datum::text(text), SqlType::Unknown)
    }

    /// A number: the smallest of integer and bigint that holds it, else numeric; with an exponent MySQL has a double.
    pub(super) fn number(&self, digits: &str) -> Result<Expression, SqlError> {
        let whole = digits.bytes().all(|byte| byte.is_ascii_digit());
        if whole && let Ok(value) = digits.parse::<i128>() {
            let sql_type = match value {
                _ if i32::try_from(value).is_ok() => Some(SqlType::INTEGER),
                _ if i64::try_from(value).is_ok() => Some(SqlType::BIGINT),
                _ if u64::try_from(value).is_ok() && self.dialect == Dialect::MySql => {
                    Some(SqlType::Integer { width: IntegerWidth::Big, unsigned: true })
                }
                _ => None,
            };
            if let Some(sql_type) = sql_type {
                return Ok(Expression::constant(Datum::Integer(value), sql_type));
            }
        }
        let exponent = digits.contains(['e', 'E']);
        let sql_type = match self.dialect {
            Dialect::MySql if exponent => SqlType::Double,
            _ => SqlType::NUMERIC,
        };
        Ok(Expression::constant(input(digits, &sql_type, self.dialect)?, sql_type))
    }

    /// `$1` is the first parameter; the n-th `?` is the n-th; `@name` is MySQL's user variable.
    fn placeholder(&mut self, name: &str, place: sqlparser::tokenizer::Location) -> Result<Expression, SqlError> {
        if let Some(variable) = name.strip_prefix('@') {
            return self.user_variable(variable);
        }
        let number = match name {
            "?" => {
                self.placeholders.iter().position(|&known| known == (place.line, place.column)).map(|index| index + 1)
            }
            _ => name.strip_prefix('$').and_then(|digits| digits.parse().ok()),
        };
        let Some(number) = number.filter(|number| (1..=PARAMETER_LIMIT).contains(number)) else {
            return Err(SqlError::new(SqlState("42P02"), format!("there is no parameter {name}")));
        };
        if self.parameters.len() < number {
            self.parameters.resize(number, SqlType::Unknown);
        }
        let sql_type = self.parameters[number - 1].clone();
        Ok(Expression { node: Node::Parameter(number - 1), sql_type })
    }

    /// A variable of the session has the type of the value it holds now; NULL if it was never set.
    pub(super) fn user_variable(&mut self, name: &str) -> Result<Expression, SqlError> {
        let name = name.to_lowercase();
        let known = self.user_variables.and_then(|variables| variables.get(&name));
        let sql_type = known.map_or(SqlType::TEXT, |(_, sql_type)| sql_type.clone());
        Ok(Expression { node: Node::UserVariable(Arc::from(name)), sql_type })
    }

    /// DATE '2024-02-29'.
    pub(super) fn typed_string(&mut self, typed: &ast::TypedString) -> Result<Expression, SqlError> {
        let sql_type = self.catalog.sql_type(&typed.data_type, self.dialect)?;
        let literal = self.bind_value(&typed.value)?;
        // MySQL forgives CAST('x' AS DATE), but not DATE 'x'.
        let kind = if self.dialect == Dialect::MySql { CastKind::Assignment } else { CastKind::Explicit };
        self.convert(literal, &sql_type, kind)
    }

    /// INTERVAL '1' DAY, INTERVAL '1 day 2 hours', MySQL's INTERVAL 1 DAY.
    pub(super) fn interval(
        &mut self,
        interval: &ast::Interval,
        scope: &super::Scope<'_>,
    ) -> Result<Expression, SqlError> {
        if interval.last_field.is_some() || interval.leading_precision.is_some() {
            return Err(SqlError::unsupported("an interval with several fields or a precision"));
        }
        let unit = interval.leading_field.as_ref().map(|field| field.to_string().to_lowercase());
        let value = self.expression(&interval.value, scope)?;
        match (&value.node, unit) {
            (Node::Constant(Datum::Text(text)), unit) if value.sql_type == SqlType::Unknown => {
                let text = unit.map_or(text.to_string(), |unit| format!("{text} {unit}"));
                let value = input(&text, &SqlType::Interval, self.dialect)?;
                Ok(Expression::constant(value, SqlType::Interval))
            }
            (_, Some(unit)) => self.units(&unit, value),
            (_, None) => Err(SqlError::new(SqlState::SYNTAX_ERROR, "an interval needs a unit")),
        }
    }

    /// So many times one unit.
    pub(super) fn units(&mut self, unit: &str, count: Expression) -> Result<Expression, SqlError> {
        let one = input(&format!("1 {unit}"), &SqlType::Interval, Dialect::Postgres)?;
        let one = Expression::constant(one, SqlType::Interval);
        let count = self.convert(count, &SqlType::Double, CastKind::Explicit)?;
        self.operator("*", vec![one, count])
    }
}

fn bytes_of_hexadecimal(digits: &str) -> Result<Expression, SqlError> {
    let invalid = || SqlError::new(SqlState::SYNTAX_ERROR, format!("X'{digits}' is no valid hexadecimal literal"));
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return Err(invalid());
    }
    let bytes: Result<Vec<u8>, _> =
        (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16)).collect();
    let bytes = bytes.map_err(|_| invalid())?;
    Ok(Expression::constant(Datum::Bytes(bytes.into()), SqlType::Bytes))
}
