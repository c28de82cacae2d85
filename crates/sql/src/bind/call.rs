//! Calls of functions: forms that do not evaluate all their arguments, functions of sequences, aggregates, plain functions.

use super::expression::{CatalogCall, Expression, Node, SequenceCall, SequenceOperation};
use super::scalar::boolean;
use super::{Binder, Clause, Scope, visit};
use crate::dialect::Dialect;
use crate::error::{SqlError, SqlState};
use crate::function;
use crate::plan::{AggregateCall, AggregateKind, Direction};

use crate::value::CastKind;
use crate::value::types::SqlType;
use crate::virtual_tables;
use crate::virtual_tables::function::CatalogFunction;
use sqlparser::ast::{self, Expr, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments};

/// The arguments of a call as they are written.
pub(super) struct Arguments<'call> {
    /// The arguments; none for `count(*)`.
    pub(super) expressions: Vec<&'call Expr>,
    /// Whether it was called with `*`.
    pub(super) star: bool,
    /// DISTINCT.
    pub(super) distinct: bool,
    /// ORDER BY.
    pub(super) order: &'call [ast::OrderByExpr],
    /// MySQL's SEPARATOR.
    pub(super) separator: Option<&'call ast::ValueWithSpan>,
}

impl Binder<'_> {
    /// A plain function of bound arguments.
    pub(super) fn function(&mut self, name: &str, arguments: Vec<Expression>) -> Result<Expression, SqlError> {
        let types: Vec<SqlType> = arguments.iter().map(|argument| argument.sql_type.clone()).collect();
        let routine = function::scalar(name, &types, self.dialect)?;
        self.call_routine(routine, arguments)
    }

    /// Any call in an expression.
    pub(super) fn call(&mut self, call: &ast::Function, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let name = self.function_name(&call.name)?;
        if let FunctionArguments::Subquery(query) = &call.args {
            return match name.as_str() {
                "array" => self.array_subquery(query, scope),
                _ => Err(SqlError::unsupported(format!("{name} of a query"))),
            };
        }
        let arguments = arguments(&call.args, &name)?;
        if !call.within_group.is_empty() || !matches!(call.parameters, FunctionArguments::None) {
            return Err(SqlError::unsupported("WITHIN GROUP"));
        }
        if matches!(call.null_treatment, Some(ast::NullTreatment::IgnoreNulls)) {
            return Err(SqlError::unsupported("IGNORE NULLS"));
        }
        if let Some(over) = &call.over {
            return self.window_call(&name, &arguments, call.filter.as_deref(), over, scope);
        }
        if function::is_aggregate(&name, self.dialect) {
            return self.aggregate_call(&name, &arguments, call.filter.as_deref(), scope);
        }
        if name == "grouping" {
            return self.grouping(&arguments.expressions, scope);
        }
        if arguments.star || arguments.distinct || !arguments.order.is_empty() || call.filter.is_some() {
            let message = format!("{name} is not an aggregate function");
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        self.plain_call(&name, &arguments.expressions, scope)
    }

    pub(super) fn function_name(&self, name: &ast::ObjectName) -> Result<String, SqlError> {
        match name.0.last().and_then(|part| part.as_ident()) {
            Some(ident) => Ok(self.name(ident).to_lowercase()),
            None => Err(SqlError::unsupported(format!("the function {name}"))),
        }
    }

    fn plain_call(&mut self, name: &str, written: &[&Expr], scope: &Scope<'_>) -> Result<Expression, SqlError> {
        if name == "values" && self.dialect == Dialect::MySql {
            return self.inserted_value(written, scope);
        }
        let arguments: Result<Vec<Expression>, SqlError> =
            written.iter().map(|argument| self.expression(argument, scope)).collect();
        let arguments = arguments?;
        match (name, self.dialect) {
            ("coalesce", _) | ("ifnull", Dialect::MySql) if !arguments.is_empty() => self.coalesce(arguments),
            ("nullif", _) if arguments.len() == 2 => self.null_if(arguments),
            ("greatest" | "least", Dialect::Postgres) if !arguments.is_empty() => self.extreme(name, arguments),
            ("if", Dialect::MySql) if arguments.len() == 3 => self.if_call(arguments),
            ("isnull", Dialect::MySql) if arguments.len() == 1 => {
                let operand = self.unify(arguments)?.remove(0);
                Ok(boolean(Node::IsNull(Box::new(operand))))
            }
            ("nextval", _) => self.sequence(SequenceOperation::Next, arguments, &[SqlType::TEXT]),
            ("currval", _) => self.sequence(SequenceOperation::Current, arguments, &[SqlType::TEXT]),
            ("lastval", _) => self.sequence(SequenceOperation::Last, arguments, &[]),
            ("setval", _) => {
                let parameters = [SqlType::TEXT, SqlType::BIGINT, SqlType::Boolean];
                self.sequence(SequenceOperation::Set, arguments, &parameters)
            }
            _ => match virtual_tables::function::find(name, arguments.len(), self.dialect) {
                Some(function) => self.catalog_call(function, arguments),
                None => self.function(name, arguments),
            },
        }
    }

    /// A function that reads the catalog. Its arguments are names and numbers of things, written in whatever type.
    pub(super) fn catalog_call(
        &mut self,
        function: CatalogFunction,
        arguments: Vec<Expression>,
    ) -> Result<Expression, SqlError> {
        let pairs = arguments.into_iter().zip(&function.parameters);
        let arguments = pairs.map(|(argument, wanted)| self.convert(argument, wanted, CastKind::Explicit));
        let arguments = arguments.collect::<Result<Vec<Expression>, SqlError>>()?;
        let sql_type = function.result.clone();
        Ok(Expression { node: Node::Catalog(Box::new(CatalogCall { function, arguments })), sql_type })
    }

    /// MySQL's VALUES(column) in ON DUPLICATE KEY UPDATE: the column of the row that could not be inserted.
    fn inserted_value(&mut self, written: &[&Expr], scope: &Scope<'_>) -> Result<Expression, SqlError> {
        if let [Expr::Identifier(ident)] = written
            && let Some(column) = scope.find(Some("excluded"), &self.name(ident), self.dialect)?
        {
            return Ok(column.clone());
        }
        Err(SqlError::new(SqlState::SYNTAX_ERROR, "VALUES() is allowed only in ON DUPLICATE KEY UPDATE"))
    }

    fn coalesce(&mut self, arguments: Vec<Expression>) -> Result<Expression, SqlError> {
        let operands = self.unify(arguments)?;
        let sql_type = operands[0].sql_type.clone();
        Ok(Expression { node: Node::Coalesce(operands), sql_type })
    }

    fn null_if(&mut self, mut arguments: Vec<Expression>) -> Result<Expression, SqlError> {
        let comparison = self.operator("=", arguments.clone())?;
        let value = arguments.remove(0);
        let value = self.settled(value)?;
        let sql_type = value.sql_type.clone();
        Ok(Expression { node: Node::NullIf(Box::new(comparison), Box::new(value)), sql_type })
    }

    fn extreme(&mut self, name: &str, arguments: Vec<Expression>) -> Result<Expression, SqlError> {
        let operands = self.unify(arguments)?;
        let sql_type = operands[0].sql_type.clone();
        Ok(Expression { node: Node::Extreme { operands, greatest: name == "greatest" }, sql_type })
    }

    fn if_call(&mut self, mut arguments: Vec<Expression>) -> Result<Expression, SqlError> {
        let results = arguments.split_off(1);
        let condition = self.condition(arguments.remove(0), "IF")?;
        let mut results = self.unify(results)?;
        let (otherwise, result) = (results.remove(1), results.remove(0));
        let sql_type = otherwise.sql_type.clone();
        let node = Node::Case { branches: vec![(condition, result)], otherwise: Box::new(otherwise) };
        Ok(Expression { node, sql_type })
    }

    fn sequence(
        &mut self,
        operation: SequenceOperation,
        arguments: Vec<Expression>,
        parameters: &[SqlType],
    ) -> Result<Expression, SqlError> {
        let optional = usize::from(operation == SequenceOperation::Set);
        if arguments.len() > parameters.len() || arguments.len() + optional < parameters.len() {
            return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, "a function of sequences has other arguments"));
        }
        let arguments: Result<Vec<Expression>, SqlError> = arguments
            .into_iter()
            .zip(parameters)
            .map(|(argument, parameter)| self.coerce(argument, parameter))
            .collect();
        let node = Node::Sequence(Box::new(SequenceCall { operation, arguments: arguments? }));
        Ok(Expression { node, sql_type: SqlType::BIGINT })
    }

    fn aggregate_call(
        &mut self,
        name: &str,
        written: &Arguments<'_>,
        filter: Option<&Expr>,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        if let Clause::Rows(clause) = scope.clause.get() {
            let message = format!("aggregate functions are not allowed in {clause}");
            return Err(SqlError::new(SqlState::GROUPING_ERROR, message));
        }
        let before = scope.clause.replace(Clause::Rows("the arguments of an aggregate"));
        let bound = self.aggregate_parts(name, written, filter, scope);
        scope.clause.set(before);
        let (call, sql_type) = bound?;
        check_level(&call)?;
        let mut aggregates = scope.aggregates.borrow_mut();
        aggregates.push((call, sql_type.clone()));
        Ok(Expression { node: Node::Aggregate(aggregates.len() - 1), sql_type })
    }

    fn aggregate_parts(
        &mut self,
        name: &str,
        written: &Arguments<'_>,
        filter: Option<&Expr>,
        scope: &Scope<'_>,
    ) -> Result<(AggregateCall, SqlType), SqlError> {
        let (function, arguments) = self.aggregate(name, written, scope)?;
        let filter = filter.map(|filter| self.where_condition(filter, scope, "FILTER")).transpose()?;
        let order = self.order_inside(written.order, scope)?;
        let sql_type = function.result.clone();
        Ok((AggregateCall { kind: AggregateKind::Function(function), arguments, filter, order }, sql_type))
    }

    /// The aggregate and its arguments.
    pub(super) fn aggregate(
        &mut self,
        name: &str,
        written: &Arguments<'_>,
        scope: &Scope<'_>,
    ) -> Result<(function::Aggregate, Vec<Expression>), SqlError> {
        let mut arguments = Vec::with_capacity(written.expressions.len() + 1);
        for argument in &written.expressions {
            arguments.push(self.expression(argument, scope)?);
        }
        if let Some(separator) = written.separator {
            arguments.push(self.bind_value(separator)?);
        }
        let types: Vec<SqlType> = arguments.iter().map(|argument| argument.sql_type.clone()).collect();
        let function = function::aggregate(name, &types, written.distinct, self.dialect)?;
        let arguments: Result<Vec<Expression>, SqlError> = arguments
            .into_iter()
            .zip(&function.parameters)
            .map(|(argument, parameter)| self.coerce(argument, parameter))
            .collect();
        Ok((function, arguments?))
    }

    /// ORDER BY inside a call or a window: plain expressions, no ordinals.
    pub(super) fn order_inside(
        &mut self,
        order: &[ast::OrderByExpr],
        scope: &Scope<'_>,
    ) -> Result<Vec<(Expression, Direction)>, SqlError> {
        let mut keys = Vec::with_capacity(order.len());
        for key in order {
            let expression = self.expression(&key.expr, scope)?;
            let expression = self.settled(expression)?;
            has_order(&expression.sql_type)?;
            keys.push((expression, self.direction(&key.options)));
        }
        Ok(keys)
    }

    /// PostgreSQL takes NULL for the greatest value, MySQL for the least.
    pub(crate) fn direction(&self, options: &ast::OrderByOptions) -> Direction {
        let descending = matches!(options.sort, Some(ast::OrderBySort::Desc));
        let default = match self.dialect {
            Dialect::Postgres => descending,
            Dialect::MySql => !descending,
        };
        Direction { descending, nulls_first: options.nulls_first.unwrap_or(default) }
    }

    /// GROUPING(a, b): which of its arguments the row's grouping set leaves out; known once GROUP BY is.
    fn grouping(&mut self, written: &[&Expr], scope: &Scope<'_>) -> Result<Expression, SqlError> {
        if let Clause::Rows(clause) = scope.clause.get() {
            let message = format!("grouping operations are not allowed in {clause}");
            return Err(SqlError::new(SqlState::GROUPING_ERROR, message));
        }
        let arguments: Result<Vec<Expression>, SqlError> =
            written.iter().map(|argument| self.expression(argument, scope)).collect();
        let call = AggregateCall {
            kind: AggregateKind::Grouping(Vec::new()),
            arguments: arguments?,
            filter: None,
            order: Vec::new(),
        };
        let mut aggregates = scope.aggregates.borrow_mut();
        aggregates.push((call, SqlType::INTEGER));
        Ok(Expression { node: Node::Aggregate(aggregates.len() - 1), sql_type: SqlType::INTEGER })
    }
}

/// An aggregate over columns of outer queries only would belong to the outer query.
fn check_level(call: &AggregateCall) -> Result<(), SqlError> {
    let uses: Vec<visit::ColumnUse> = call.arguments.iter().map(visit::columns).collect();
    let own = uses.iter().any(|found| !found.own.is_empty());
    match !own && uses.iter().any(|found| found.outer) {
        true => Err(SqlError::unsupported("an aggregate over columns of an outer query")),
        false => Ok(()),
    }
}

/// The arguments of a call, taken apart.
pub(super) fn arguments<'call>(arguments: &'call FunctionArguments, name: &str) -> Result<Arguments<'call>, SqlError> {
    let mut taken = Arguments { expressions: Vec::new(), star: false, distinct: false, order: &[], separator: None };
    let FunctionArguments::List(list) = arguments else { return Ok(taken) };
    taken.distinct = matches!(list.duplicate_treatment, Some(ast::DuplicateTreatment::Distinct));
    for argument in &list.args {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => taken.expressions.push(expression),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => taken.star = true,
            other => return Err(SqlError::unsupported(format!("the argument {other} of {name}"))),
        }
    }
    if taken.star && (name != "count" || !taken.expressions.is_empty()) {
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, format!("{name}(*) specified, but {name} takes arguments")));
    }
    for clause in &list.clauses {
        match clause {
            FunctionArgumentClause::OrderBy(order) => taken.order = order,
            FunctionArgumentClause::Separator(separator) => taken.separator = Some(separator),
            FunctionArgumentClause::IgnoreOrRespectNulls(ast::NullTreatment::RespectNulls) => {}
            other => return Err(SqlError::unsupported(format!("{other} in a call of {name}"))),
        }
    }
    Ok(taken)
}

/// Refuses to sort by an enumeration: its labels are stored as texts, and their order is that of their declaration.
pub(super) fn has_order(sql_type: &SqlType) -> Result<(), SqlError> {
    match sql_type {
        SqlType::Enumeration(_) => Err(SqlError::unsupported("ORDER BY an enumeration")
            .with_hint("cast it to text, or order by a CASE that numbers its labels")),
        _ => Ok(()),
    }
}
