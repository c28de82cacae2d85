//! Calls of functions: forms that do not evaluate all their arguments, functions of sequences, aggregates, plain functions.

use super::enumeration::enumeration_of;
use super::scalar::boolean;
use super::{Binder, Clause, Scope};
use crate::tree::expression::{CatalogCall, Expression, Node, SequenceCall, SequenceOperation, Sleep};
use crate::tree::plan::{AggregateCall, AggregateKind, Direction};
use crate::tree::visit;
use skew_value::{CastKind, Datum, Dialect, EnumerationId, Registry, SqlError, SqlState, SqlType, function};

use crate::storage::{AdvisoryRequest, ConnectionRequest};
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
        let arguments = self.literals_as_text(arguments);
        let arguments = self.dates_with_clock(arguments)?;
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
        if let Some(call) = self.unit_call(name, written, scope)? {
            return Ok(call);
        }
        if name == "row" && self.dialect == Dialect::Postgres {
            return self.row_value(written.to_vec(), scope);
        }
        let arguments: Result<Vec<Expression>, SqlError> =
            written.iter().map(|argument| self.expression(argument, scope)).collect();
        let arguments = arguments?;
        if let (Some(request), Dialect::Postgres) = (advisory_request(name), self.dialect) {
            return self.advisory(name, request, arguments);
        }
        if let ("pg_typeof", [value], Dialect::Postgres) = (name, arguments.as_slice(), self.dialect) {
            let number = Datum::Integer(value.sql_type.oid().into());
            return Ok(Expression::constant(number, SqlType::Registered(Registry::Type)));
        }
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
            ("skew_settle", _) if arguments.is_empty() => {
                let call = SequenceCall { operation: SequenceOperation::Settle, arguments };
                Ok(boolean(Node::Sequence(Box::new(call))))
            }
            ("pg_sleep", Dialect::Postgres) => self.sleep(Sleep::Seconds, name, arguments, &SqlType::Double),
            ("pg_sleep_for", Dialect::Postgres) => self.sleep(Sleep::For, name, arguments, &SqlType::Interval),
            ("pg_sleep_until", Dialect::Postgres) => {
                self.sleep(Sleep::Until, name, arguments, &SqlType::TimestampZoned(None))
            }
            ("pg_blocking_pids", Dialect::Postgres) => self.connection(ConnectionRequest::Blockers, name, arguments),
            ("pg_safe_snapshot_blocking_pids", Dialect::Postgres) => {
                self.connection(ConnectionRequest::SnapshotBlockers, name, arguments)
            }
            ("pg_isolation_test_session_is_blocked", Dialect::Postgres) => self.blocked(name, arguments),
            ("pg_cancel_backend", Dialect::Postgres) => self.connection(ConnectionRequest::Cancel, name, arguments),
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

    /// TIMESTAMPDIFF(MONTH, from, to) and TIMESTAMPADD(MONTH, count, to): the unit is a bare word, and no column.
    fn unit_call(&mut self, name: &str, written: &[&Expr], scope: &Scope<'_>) -> Result<Option<Expression>, SqlError> {
        let [Expr::Identifier(unit), second, third] = written else { return Ok(None) };
        if self.dialect != Dialect::MySql || !matches!(name, "timestampdiff" | "timestampadd") {
            return Ok(None);
        }
        let unit = unit.value.to_lowercase();
        let unit = unit.strip_prefix("sql_tsi_").unwrap_or(&unit);
        let (second, third) = (self.expression(second, scope)?, self.expression(third, scope)?);
        if name == "timestampadd" {
            let span = self.units(unit, second)?;
            return self.function("date_add", vec![third, span]).map(Some);
        }
        let unit = Expression::constant(Datum::text(unit), SqlType::TEXT);
        self.function(name, vec![unit, second, third]).map(Some)
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
        let operands = self.literals_as_text(arguments);
        let operands = self.unify(operands)?;
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
        let enumeration = enumeration_of(&operands[0].sql_type);
        let operands = self.in_order(operands)?;
        let sql_type = operands[0].sql_type.clone();
        let extreme = Expression { node: Node::Extreme { operands, greatest: name == "greatest" }, sql_type };
        match enumeration {
            Some(id) if self.dialect == Dialect::Postgres => self.label_at(extreme, id),
            _ => Ok(extreme),
        }
    }

    fn if_call(&mut self, mut arguments: Vec<Expression>) -> Result<Expression, SqlError> {
        let results = arguments.split_off(1);
        let condition = self.condition(arguments.remove(0), "IF")?;
        let results = self.literals_as_text(results);
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

    /// `pg_advisory_lock(key)`, `pg_advisory_lock(class, key)` and their kin.
    fn advisory(
        &mut self,
        name: &str,
        request: AdvisoryRequest,
        arguments: Vec<Expression>,
    ) -> Result<Expression, SqlError> {
        let parameters = match (request, arguments.len()) {
            (AdvisoryRequest::FreeAll, 0) => Vec::new(),
            (AdvisoryRequest::Take { .. } | AdvisoryRequest::Free { .. }, 1) => vec![SqlType::BIGINT],
            (AdvisoryRequest::Take { .. } | AdvisoryRequest::Free { .. }, 2) => vec![SqlType::INTEGER; 2],
            _ => {
                let message = format!("function {name} with {} arguments does not exist", arguments.len());
                return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, message));
            }
        };
        let pairs = arguments.into_iter().zip(&parameters);
        let arguments = pairs.map(|(argument, parameter)| self.coerce(argument, parameter));
        let arguments = arguments.collect::<Result<Vec<Expression>, SqlError>>()?;
        let sql_type = match request {
            AdvisoryRequest::Take { waits: true, .. } | AdvisoryRequest::FreeAll => SqlType::Void,
            _ => SqlType::Boolean,
        };
        let call = SequenceCall { operation: SequenceOperation::Advisory(request), arguments };
        Ok(Expression { node: Node::Sequence(Box::new(call)), sql_type })
    }

    fn sleep(
        &mut self,
        sleep: Sleep,
        name: &str,
        mut arguments: Vec<Expression>,
        parameter: &SqlType,
    ) -> Result<Expression, SqlError> {
        if arguments.len() != 1 {
            let message = format!("function {name} with {} arguments does not exist", arguments.len());
            return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, message));
        }
        let arguments = vec![self.coerce(arguments.remove(0), parameter)?];
        let call = SequenceCall { operation: SequenceOperation::Sleep(sleep), arguments };
        Ok(Expression { node: Node::Sequence(Box::new(call)), sql_type: SqlType::Void })
    }

    /// `pg_blocking_pids(number)` and its kin.
    fn connection(
        &mut self,
        request: ConnectionRequest,
        name: &str,
        mut arguments: Vec<Expression>,
    ) -> Result<Expression, SqlError> {
        if arguments.len() != 1 {
            let message = format!("function {name} with {} arguments does not exist", arguments.len());
            return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, message));
        }
        let arguments = vec![self.coerce(arguments.remove(0), &SqlType::INTEGER)?];
        let sql_type = match request {
            ConnectionRequest::Cancel => SqlType::Boolean,
            _ => SqlType::Array(Box::new(SqlType::INTEGER)),
        };
        let call = SequenceCall { operation: SequenceOperation::Connection(request), arguments };
        Ok(Expression { node: Node::Sequence(Box::new(call)), sql_type })
    }

    /// `pg_isolation_test_session_is_blocked(number, others)`.
    fn blocked(&mut self, name: &str, arguments: Vec<Expression>) -> Result<Expression, SqlError> {
        let parameters = [SqlType::INTEGER, SqlType::Array(Box::new(SqlType::INTEGER))];
        if arguments.len() != parameters.len() {
            let message = format!("function {name} with {} arguments does not exist", arguments.len());
            return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, message));
        }
        let pairs = arguments.into_iter().zip(&parameters);
        let arguments = pairs.map(|(argument, parameter)| self.coerce(argument, parameter));
        let arguments = arguments.collect::<Result<Vec<Expression>, SqlError>>()?;
        let call = SequenceCall { operation: SequenceOperation::Blocked, arguments };
        Ok(Expression { node: Node::Sequence(Box::new(call)), sql_type: SqlType::Boolean })
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
        let (call, sql_type, enumeration) = bound?;
        check_level(&call)?;
        let mut aggregates = scope.aggregates.borrow_mut();
        aggregates.push((call, sql_type.clone()));
        let aggregate = Expression { node: Node::Aggregate(aggregates.len() - 1), sql_type };
        drop(aggregates);
        enumeration.map_or(Ok(aggregate.clone()), |id| self.label_at(aggregate, id))
    }

    fn aggregate_parts(
        &mut self,
        name: &str,
        written: &Arguments<'_>,
        filter: Option<&Expr>,
        scope: &Scope<'_>,
    ) -> Result<(AggregateCall, SqlType, Option<EnumerationId>), SqlError> {
        let (function, arguments, enumeration) = self.aggregate(name, written, scope)?;
        let filter = filter.map(|filter| self.where_condition(filter, scope, "FILTER")).transpose()?;
        let order = self.order_inside(written.order, scope)?;
        let sql_type = function.result.clone();
        let call = AggregateCall { kind: AggregateKind::Function(function), arguments, filter, order };
        Ok((call, sql_type, enumeration))
    }

    /// The aggregate and its arguments; and the enumeration of which its answer is the place of a label, if it is.
    pub(super) fn aggregate(
        &mut self,
        name: &str,
        written: &Arguments<'_>,
        scope: &Scope<'_>,
    ) -> Result<(function::Aggregate, Vec<Expression>, Option<EnumerationId>), SqlError> {
        let mut arguments = Vec::with_capacity(written.expressions.len() + 1);
        for argument in &written.expressions {
            arguments.push(self.expression(argument, scope)?);
        }
        if let Some(separator) = written.separator {
            arguments.push(self.bind_value(separator)?);
        }
        let mut enumeration = None;
        if matches!(name, "min" | "max") && self.dialect == Dialect::Postgres {
            enumeration = arguments.first().and_then(|argument| enumeration_of(&argument.sql_type));
            arguments = self.in_order(arguments)?;
        }
        let types: Vec<SqlType> = arguments.iter().map(|argument| argument.sql_type.clone()).collect();
        let function = function::aggregate(name, &types, written.distinct, self.dialect)?;
        let arguments: Result<Vec<Expression>, SqlError> = arguments
            .into_iter()
            .zip(&function.parameters)
            .map(|(argument, parameter)| self.coerce(argument, parameter))
            .collect();
        Ok((function, arguments?, enumeration))
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
            let direction = self.direction(&key.options, &expression.sql_type)?;
            keys.push((expression, direction));
        }
        Ok(keys)
    }

    /// How values of a type sort. PostgreSQL takes NULL for the greatest value, MySQL for the least.
    pub(crate) fn direction(&self, options: &ast::OrderByOptions, sql_type: &SqlType) -> Result<Direction, SqlError> {
        let descending = match &options.sort {
            Some(ast::OrderBySort::Desc) => true,
            Some(ast::OrderBySort::Asc) | None => false,
            Some(ast::OrderBySort::Using(operator)) => is_descending(operator, sql_type)?,
        };
        let default = match self.dialect {
            Dialect::Postgres => descending,
            Dialect::MySql => !descending,
        };
        let nulls_first = options.nulls_first.unwrap_or(default);
        Ok(Direction { descending, nulls_first, labels: self.labels(sql_type)? })
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

/// What a function of advisory locks asks for, by its name.
fn advisory_request(name: &str) -> Option<AdvisoryRequest> {
    let take = |waits, transaction, shared| Some(AdvisoryRequest::Take { shared, waits, transaction });
    match name {
        "pg_advisory_lock" => take(true, false, false),
        "pg_advisory_lock_shared" => take(true, false, true),
        "pg_advisory_xact_lock" => take(true, true, false),
        "pg_advisory_xact_lock_shared" => take(true, true, true),
        "pg_try_advisory_lock" => take(false, false, false),
        "pg_try_advisory_lock_shared" => take(false, false, true),
        "pg_try_advisory_xact_lock" => take(false, true, false),
        "pg_try_advisory_xact_lock_shared" => take(false, true, true),
        "pg_advisory_unlock" => Some(AdvisoryRequest::Free { shared: false }),
        "pg_advisory_unlock_shared" => Some(AdvisoryRequest::Free { shared: true }),
        "pg_advisory_unlock_all" => Some(AdvisoryRequest::FreeAll),
        _ => None,
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

/// Whether an operator of ORDER BY … USING sorts the greatest first; only `<`, `>` and their kin for text sort at all.
fn is_descending(operator: &ast::ObjectName, sql_type: &SqlType) -> Result<bool, SqlError> {
    let parts: Vec<&str> = operator.0.iter().filter_map(|part| Some(part.as_ident()?.value.as_str())).collect();
    let symbol = match parts.as_slice() {
        [symbol] => *symbol,
        [schema, symbol] if schema.eq_ignore_ascii_case("pg_catalog") => *symbol,
        [schema, ..] => {
            return Err(SqlError::new(SqlState("3F000"), format!("schema \"{schema}\" does not exist")));
        }
        [] => return Err(SqlError::unsupported("this operator of ORDER BY")),
    };
    let is_text = matches!(sql_type, SqlType::Text(_) | SqlType::Character(_) | SqlType::Name | SqlType::Unknown);
    match symbol {
        "<" => Ok(false),
        ">" => Ok(true),
        "~<~" if is_text => Ok(false),
        "~>~" if is_text => Ok(true),
        _ => {
            function::operator(symbol, &[sql_type.clone(), sql_type.clone()], Dialect::Postgres)?;
            let message = format!("operator {symbol} is not a valid ordering operator");
            Err(SqlError::new(SqlState("42809"), message)
                .with_hint("Ordering operators must be \"<\" or \">\" members of btree operator families."))
        }
    }
}
