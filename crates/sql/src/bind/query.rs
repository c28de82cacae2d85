//! Queries: WITH, set operations, VALUES, ORDER BY, LIMIT, FOR UPDATE.

use super::{Binder, CommonTable, LockClause, Scope, bind_change};
use crate::answer::ResultColumn;
use crate::catalog::Table;
use crate::plan::optimise;
use crate::storage::{Lock, Patience};
use crate::tree::change::Change;
use crate::tree::expression::{Expression, Node};
use crate::tree::plan::{Definition, Limit, Plan, Query, SetOperation, SetOperator, SortKey, With};
use crate::tree::visit;
use skew_value::{CastKind, SqlError, SqlState, SqlType, common_type};
use sqlparser::ast::{self, Expr, LimitClause, OrderByKind, SetExpr, SetQuantifier};
use std::sync::Arc;

/// How deep queries may stand in one another, views included.
const QUERY_LIMIT: usize = 80;

/// A query on its way: its plan may have more columns than a client sees, for sorting, and types may be unknown.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) plan: Plan,
    pub(super) columns: Vec<ResultColumn>,
    pub(super) keys: Vec<SortKey>,
}

impl Binder<'_> {
    /// Binds a query; `outer` is what its expressions see besides its own tables.
    pub(crate) fn query(&mut self, query: &ast::Query, outer: Option<&Scope<'_>>) -> Result<Query, SqlError> {
        let query = self.open_query(query, outer)?;
        let types: Vec<SqlType> = query
            .columns
            .iter()
            .map(|column| if column.sql_type == SqlType::Unknown { SqlType::TEXT } else { column.sql_type.clone() })
            .collect();
        self.query_of_types(query, &types)
    }

    /// The same, where literals and parameters in the select list may still get a type from where the query stands.
    pub(crate) fn open_query(&mut self, query: &ast::Query, outer: Option<&Scope<'_>>) -> Result<Query, SqlError> {
        if query.for_clause.is_some() || query.settings.is_some() || query.format_clause.is_some() {
            return Err(SqlError::unsupported("FOR XML, SETTINGS or FORMAT"));
        }
        if !query.pipe_operators.is_empty() {
            return Err(SqlError::unsupported("the pipe operator"));
        }
        if self.depth >= QUERY_LIMIT || self.common_count > QUERY_LIMIT {
            let message = "queries stand in one another, or on common table expressions, too deeply";
            return Err(SqlError::new(SqlState::TOO_COMPLEX, message));
        }
        let mark = self.common.len();
        let locks = self.lock_clauses(&query.locks)?;
        let locks = std::mem::replace(&mut self.locks, locks);
        self.depth += 1;
        let bound = self.with_query(query, outer);
        self.depth -= 1;
        self.locks = locks;
        self.common.truncate(mark);
        let (plan, columns) = bound?;
        let found = visit::dependence(&plan);
        Ok(Query { plan, columns, correlated: found.columns.outer, common: found.common })
    }

    fn with_query(
        &mut self,
        query: &ast::Query,
        outer: Option<&Scope<'_>>,
    ) -> Result<(Plan, Vec<ResultColumn>), SqlError> {
        let definitions = match &query.with {
            Some(with) => self.definitions(with, outer)?,
            None => Vec::new(),
        };
        let draft = self.body(&query.body, query.order_by.as_ref(), outer)?;
        let Draft { plan, columns, keys } = self.limit(draft, query, outer)?;
        let _ = keys;
        let plan = if plan.width() > columns.len() { Plan::Cut(Box::new(plan), columns.len()) } else { plan };
        check_changes(&definitions, &plan)?;
        let plan = match definitions.is_empty() {
            true => plan,
            false => Plan::With(Box::new(With::new(definitions, plan))),
        };
        Ok((plan, columns))
    }

    /// FOR UPDATE and FOR SHARE, and what a query around asks of all its tables.
    fn lock_clauses(&mut self, clauses: &[ast::LockClause]) -> Result<Vec<LockClause>, SqlError> {
        let inherited = self.inherited.take();
        let mut locks: Vec<LockClause> =
            inherited.map(|(lock, patience)| LockClause { of: None, lock, patience }).into_iter().collect();
        for clause in clauses {
            let patience = match clause.nonblock {
                Some(ast::NonBlock::Nowait) => Patience::Refuse,
                Some(ast::NonBlock::SkipLocked) => Patience::Skip,
                None => Patience::Wait,
            };
            let lock = match clause.lock_type {
                ast::LockType::Share => Lock::Share,
                ast::LockType::Update => Lock::Update,
            };
            let of = match clause.of.as_ref().map(|name| name.0.as_slice()) {
                None => None,
                Some([name]) => name.as_ident().map(|ident| self.name(ident)),
                Some(_) => {
                    let message = "FOR UPDATE and FOR SHARE must specify unqualified relation names";
                    return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
                }
            };
            locks.push(LockClause { of, lock, patience });
        }
        Ok(locks)
    }

    fn body(
        &mut self,
        body: &SetExpr,
        order: Option<&ast::OrderBy>,
        outer: Option<&Scope<'_>>,
    ) -> Result<Draft, SqlError> {
        match body {
            SetExpr::Select(select) => self.select(select, order, outer),
            other => {
                if !self.locks.is_empty() && !matches!(other, SetExpr::Query(_)) {
                    let message = "FOR UPDATE is not allowed with UNION, INTERSECT, EXCEPT or VALUES";
                    return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                let draft = self.plain_body(other, outer)?;
                self.sort_output(draft, order)
            }
        }
    }

    fn plain_body(&mut self, body: &SetExpr, outer: Option<&Scope<'_>>) -> Result<Draft, SqlError> {
        match body {
            SetExpr::Select(select) => self.select(select, None, outer).map(cut),
            SetExpr::Query(query) => {
                self.inherited = self.lock_of(None);
                let query = self.open_query(query, outer)?;
                Ok(Draft { plan: query.plan, columns: query.columns, keys: Vec::new() })
            }
            SetExpr::Values(values) => self.values(values, outer),
            SetExpr::SetOperation { op, set_quantifier, left, right } => {
                self.set_operation(op, set_quantifier, left, right, outer)
            }
            SetExpr::Table(table) => self.table_body(table, outer),
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                Err(SqlError::unsupported("a statement that changes rows, here"))
            }
        }
    }

    /// TABLE name.
    fn table_body(&mut self, table: &ast::Table, outer: Option<&Scope<'_>>) -> Result<Draft, SqlError> {
        let quoted = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
        let name: Vec<String> = table.schema_name.iter().chain(&table.table_name).map(quoted).collect();
        let query =
            crate::syntax::parse_query(skew_value::Dialect::Postgres, &format!("SELECT * FROM {}", name.join(".")))?;
        self.plain_body(&query.body, outer)
    }

    /// VALUES: every column has the type that holds all its values.
    fn values(&mut self, values: &ast::Values, outer: Option<&Scope<'_>>) -> Result<Draft, SqlError> {
        let scope = Scope::empty(outer);
        scope.clause.set(super::Clause::Rows("VALUES"));
        let mut rows: Vec<Vec<Expression>> = Vec::with_capacity(values.rows.len());
        for row in &values.rows {
            let row = self.expressions(&row.content, &scope)?;
            if rows.first().is_some_and(|first| first.len() != row.len()) {
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, "VALUES lists must all be the same length"));
            }
            rows.push(row);
        }
        let width = rows.first().map_or(0, Vec::len);
        let mut columns = Vec::with_capacity(width);
        for index in 0..width {
            let types: Vec<SqlType> = rows.iter().map(|row| row[index].sql_type.clone()).collect();
            let all_unknown = types.iter().all(|sql_type| *sql_type == SqlType::Unknown);
            let sql_type = if all_unknown { SqlType::Unknown } else { common_type(&types, self.dialect)? };
            for row in &mut rows {
                let value = std::mem::replace(&mut row[index], Expression::boolean(false));
                row[index] = self.coerce(value, &sql_type)?;
            }
            let name = match self.dialect {
                skew_value::Dialect::Postgres => format!("column{}", index + 1),
                skew_value::Dialect::MySql => format!("column_{index}"),
            };
            columns.push(ResultColumn { name, sql_type });
        }
        Ok(Draft { plan: Plan::Values(rows), columns, keys: Vec::new() })
    }

    fn set_operation(
        &mut self,
        operator: &ast::SetOperator,
        quantifier: &SetQuantifier,
        left: &SetExpr,
        right: &SetExpr,
        outer: Option<&Scope<'_>>,
    ) -> Result<Draft, SqlError> {
        let left = self.plain_body(left, outer)?;
        let right = self.plain_body(right, outer)?;
        self.combine_sets(set_operator(operator)?, is_all(quantifier)?, left, right)
    }

    fn combine_sets(&mut self, operator: SetOperator, all: bool, left: Draft, right: Draft) -> Result<Draft, SqlError> {
        if left.columns.len() != right.columns.len() {
            let message = "each side of UNION, EXCEPT or INTERSECT must have the same number of columns";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        let mut types = Vec::with_capacity(left.columns.len());
        for (left, right) in left.columns.iter().zip(&right.columns) {
            let both = [left.sql_type.clone(), right.sql_type.clone()];
            let unknown = both.iter().all(|sql_type| *sql_type == SqlType::Unknown);
            types.push(if unknown { SqlType::TEXT } else { common_type(&both, self.dialect)? });
        }
        let left = self.draft_of_types(left, &types)?;
        let right = self.draft_of_types(right, &types)?;
        let operation = SetOperation { operator, all, left: left.plan, right: right.plan };
        Ok(Draft { plan: Plan::SetOperation(Box::new(operation)), columns: left.columns, keys: Vec::new() })
    }

    /// The query with its columns as values of these types.
    pub(crate) fn query_of_types(&mut self, query: Query, types: &[SqlType]) -> Result<Query, SqlError> {
        let draft = Draft { plan: query.plan, columns: query.columns, keys: Vec::new() };
        let draft = self.draft_of_types(draft, types)?;
        Ok(Query { plan: draft.plan, columns: draft.columns, ..query })
    }

    fn draft_of_types(&mut self, mut draft: Draft, types: &[SqlType]) -> Result<Draft, SqlError> {
        self.type_unknown(&mut draft.plan, types)?;
        let mut casts = Vec::with_capacity(types.len());
        let mut needed = false;
        for (index, (column, sql_type)) in draft.columns.iter_mut().zip(types).enumerate() {
            let from = match column.sql_type {
                SqlType::Unknown => sql_type.clone(),
                _ => column.sql_type.clone(),
            };
            let cast = self.convert(Expression::column(index, from), sql_type, CastKind::Implicit)?;
            needed |= !matches!(cast.node, Node::Column { .. });
            casts.push(cast);
            column.sql_type = sql_type.clone();
        }
        if needed {
            draft.plan = Plan::Project(Box::new(draft.plan), casts);
        }
        Ok(draft)
    }

    /// Gives literals and parameters that are still without a type the type of their column.
    fn type_unknown(&mut self, plan: &mut Plan, types: &[SqlType]) -> Result<(), SqlError> {
        match plan {
            Plan::Cut(input, _) | Plan::Sort(input, _) | Plan::Limit(input, _) | Plan::Distinct(input, _) => {
                self.type_unknown(input, types)
            }
            Plan::With(with) => self.type_unknown(&mut with.body, types),
            Plan::Lock(locking) => self.type_unknown(&mut locking.input, types),
            Plan::Project(_, expressions) => self.type_row(expressions, types),
            Plan::Values(rows) => rows.iter_mut().try_for_each(|row| self.type_row(row, types)),
            _ => Ok(()),
        }
    }

    fn type_row(&mut self, row: &mut [Expression], types: &[SqlType]) -> Result<(), SqlError> {
        for (expression, sql_type) in row.iter_mut().zip(types) {
            if expression.sql_type == SqlType::Unknown {
                let taken = std::mem::replace(expression, Expression::boolean(false));
                *expression = self.coerce(taken, sql_type)?;
            }
        }
        Ok(())
    }

    /// ORDER BY of a set operation: by ordinal or by the name of an output column.
    fn sort_output(&mut self, mut draft: Draft, order: Option<&ast::OrderBy>) -> Result<Draft, SqlError> {
        let Some(order) = order else { return Ok(draft) };
        for key in order_keys(order)? {
            let found = match ordinal(&key.expr) {
                Some(number) => Some(checked_ordinal(number, draft.columns.len(), "ORDER BY")?),
                None => match &key.expr {
                    Expr::Identifier(ident) => {
                        let name = self.name(ident);
                        let mut places =
                            (0..draft.columns.len()).filter(|&place| self.is_same(&draft.columns[place].name, &name));
                        let first = places.next();
                        if places.next().is_some() && self.dialect == skew_value::Dialect::Postgres {
                            return Err(ambiguous_order(&name));
                        }
                        first
                    }
                    _ => None,
                },
            };
            let Some(index) = found else {
                return Err(SqlError::unsupported("ORDER BY of a set operation by something else than its columns"));
            };
            let direction = self.direction(&key.options, &draft.columns[index].sql_type)?;
            draft.keys.push(SortKey { index, direction });
        }
        draft.plan = Plan::Sort(Box::new(draft.plan), draft.keys.clone());
        Ok(draft)
    }

    fn limit(&mut self, mut draft: Draft, query: &ast::Query, outer: Option<&Scope<'_>>) -> Result<Draft, SqlError> {
        let (mut count, offset) = match &query.limit_clause {
            None => (None, None),
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
            Some(_) => return Err(SqlError::unsupported("LIMIT … BY")),
        };
        let mut ties = None;
        let one;
        if let Some(fetch) = &query.fetch {
            if fetch.percent || count.is_some() {
                return Err(SqlError::unsupported("FETCH with PERCENT or beside LIMIT"));
            }
            one = Expr::Value(ast::Value::Number("1".to_owned(), false).into());
            count = Some(fetch.quantity.as_ref().unwrap_or(&one));
            if fetch.with_ties && draft.keys.is_empty() {
                let message = "WITH TIES cannot be specified without ORDER BY clause";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
            ties = fetch.with_ties.then(|| draft.keys.clone());
        }
        let count = count.map(|count| self.row_count(count, outer)).transpose()?;
        let offset = offset.map(|offset| self.row_count(offset, outer)).transpose()?;
        if count.is_some() || offset.is_some() {
            draft.plan = Plan::Limit(Box::new(draft.plan), Box::new(Limit { count, offset, ties }));
        }
        Ok(draft)
    }

    fn row_count(&mut self, count: &Expr, outer: Option<&Scope<'_>>) -> Result<Expression, SqlError> {
        let scope = Scope::empty(outer);
        scope.clause.set(super::Clause::Rows("LIMIT"));
        let count = self.expression(count, &scope)?;
        self.coerce(count, &SqlType::BIGINT)
    }

    /// WITH … INSERT: the common table expressions, and the change that uses them.
    pub(crate) fn change_with(
        &mut self,
        with: Option<&ast::With>,
        statement: &ast::Statement,
    ) -> Result<(Vec<(usize, Definition)>, Change), SqlError> {
        let definitions = match with {
            Some(with) => self.definitions(with, None)?,
            None => Vec::new(),
        };
        let change = bind_change(statement, self)?;
        check_changes(&definitions, &change)?;
        Ok((definitions.into_iter().map(optimised).collect(), change))
    }

    fn definitions(
        &mut self,
        with: &ast::With,
        outer: Option<&Scope<'_>>,
    ) -> Result<Vec<(usize, Definition)>, SqlError> {
        let mut definitions = Vec::with_capacity(with.cte_tables.len());
        for table in &with.cte_tables {
            self.common_count += 1;
            let number = self.common_count;
            let name = self.name(&table.alias.name);
            let (definition, mut columns) = self.definition(table, number, &name, with.recursive, outer)?;
            self.rename_columns(&mut columns, table)?;
            self.common.retain(|known| known.number != number);
            self.common.push(CommonTable { name, number, columns });
            definitions.push((number, definition));
        }
        Ok(definitions)
    }

    fn rename_columns(&self, columns: &mut [ResultColumn], table: &ast::Cte) -> Result<(), SqlError> {
        if table.alias.columns.len() > columns.len() {
            let message = format!("WITH query \"{}\" has fewer columns than names are given", table.alias.name);
            return Err(SqlError::new(SqlState("42P10"), message));
        }
        for (column, name) in columns.iter_mut().zip(&table.alias.columns) {
            column.name = self.name(&name.name);
        }
        Ok(())
    }

    fn definition(
        &mut self,
        table: &ast::Cte,
        number: usize,
        name: &str,
        recursive: bool,
        outer: Option<&Scope<'_>>,
    ) -> Result<(Definition, Vec<ResultColumn>), SqlError> {
        match &*table.query.body {
            SetExpr::Insert(statement) | SetExpr::Update(statement) | SetExpr::Delete(statement) => {
                let change = bind_change(statement, self)?;
                let columns = change.returning_columns().to_vec();
                Ok((Definition::Change(Arc::new(change)), columns))
            }
            SetExpr::SetOperation { op: ast::SetOperator::Union, set_quantifier, left, right }
                if recursive && table.query.order_by.is_none() && table.query.limit_clause.is_none() =>
            {
                self.recursion(table, number, name, is_all(set_quantifier)?, (left, right), outer)
            }
            _ => {
                let query = self.query(&table.query, outer)?;
                Ok((Definition::Query(query.plan), query.columns))
            }
        }
    }

    /// WITH RECURSIVE t AS (base UNION step): the step sees `t`, whose columns are those of the base.
    fn recursion(
        &mut self,
        table: &ast::Cte,
        number: usize,
        name: &str,
        all: bool,
        (left, right): (&SetExpr, &SetExpr),
        outer: Option<&Scope<'_>>,
    ) -> Result<(Definition, Vec<ResultColumn>), SqlError> {
        let base = self.plain_body(left, outer)?;
        let types: Vec<SqlType> = base
            .columns
            .iter()
            .map(|column| if column.sql_type == SqlType::Unknown { SqlType::TEXT } else { column.sql_type.clone() })
            .collect();
        let base = self.draft_of_types(base, &types)?;
        let mut columns = base.columns.clone();
        self.rename_columns(&mut columns, table)?;
        self.common.push(CommonTable { name: name.to_owned(), number, columns });
        let step = self.plain_body(right, outer)?;
        if step.columns.len() != types.len() {
            let message = "each side of a recursive UNION must have the same number of columns";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        if !mentions(&step.plan, number) {
            let draft = self.combine_sets(SetOperator::Union, all, base, step)?;
            return Ok((Definition::Query(draft.plan), draft.columns));
        }
        for (column, sql_type) in step.columns.iter().zip(&types) {
            let common = common_type(&[column.sql_type.clone(), sql_type.clone()], self.dialect)?;
            if std::mem::discriminant(&common) != std::mem::discriminant(sql_type) {
                let message = format!(
                    "recursive query \"{name}\" column has type {sql_type} in non-recursive term but type {} overall",
                    common
                );
                return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message)
                    .with_hint("Cast the output of the non-recursive term to the correct type."));
            }
        }
        let step = self.draft_of_types(step, &types)?;
        Ok((Definition::Recursive { base: base.plan, step: step.plan, all }, base.columns))
    }
}

/// All parts of a statement see the rows as they were before it, but a change in WITH is carried out first: a statement that reads (or
/// changes again) the table of such a change would see its rows, so it is refused.
fn check_changes(definitions: &[(usize, Definition)], body: &impl std::fmt::Debug) -> Result<(), SqlError> {
    for (place, (_, definition)) in definitions.iter().enumerate() {
        let Definition::Change(change) = definition else { continue };
        let table = match &**change {
            Change::Insert(insert) => &insert.table,
            Change::Update(update) => &update.source.table,
            Change::Delete(delete) => &delete.source.table,
        };
        if reads(&(&definitions[place + 1..], body), table) {
            return Err(SqlError::unsupported(format!(
                "a statement that uses \"{}\" besides changing it in WITH",
                table.name
            )));
        }
    }
    Ok(())
}

/// Whether a plan, or something that holds plans, reads a table.
pub(crate) fn reads(plan: &impl std::fmt::Debug, table: &Table) -> bool {
    format!("{plan:?}").contains(&format!("Table {{ name: {:?}, space: {:?}", table.name, table.space))
}

fn optimised((number, definition): (usize, Definition)) -> (usize, Definition) {
    let definition = match definition {
        Definition::Query(plan) => Definition::Query(optimise(plan)),
        Definition::Recursive { base, step, all } => {
            Definition::Recursive { base: optimise(base), step: optimise(step), all }
        }
        other => other,
    };
    (number, definition)
}

/// Without the columns that are there for sorting only.
fn cut(draft: Draft) -> Draft {
    match draft.plan.width() > draft.columns.len() {
        true => Draft { plan: Plan::Cut(Box::new(draft.plan), draft.columns.len()), ..draft },
        false => draft,
    }
}

fn set_operator(operator: &ast::SetOperator) -> Result<SetOperator, SqlError> {
    Ok(match operator {
        ast::SetOperator::Union => SetOperator::Union,
        ast::SetOperator::Except | ast::SetOperator::Minus => SetOperator::Except,
        ast::SetOperator::Intersect => SetOperator::Intersect,
    })
}

fn is_all(quantifier: &SetQuantifier) -> Result<bool, SqlError> {
    match quantifier {
        SetQuantifier::All => Ok(true),
        SetQuantifier::Distinct | SetQuantifier::None => Ok(false),
        other => Err(SqlError::unsupported(format!("{other} in a set operation"))),
    }
}

/// Whether a plan reads a common table expression.
fn mentions(plan: &Plan, number: usize) -> bool {
    format!("{plan:?}").contains(&format!("CommonReference {{ number: {number},"))
}

/// The keys of ORDER BY.
pub(super) fn order_keys(order: &ast::OrderBy) -> Result<&[ast::OrderByExpr], SqlError> {
    match &order.kind {
        OrderByKind::Expressions(keys) if order.interpolate.is_none() => Ok(keys),
        _ => Err(SqlError::unsupported("ORDER BY ALL")),
    }
}

/// ORDER BY a name that several outputs have.
pub(super) fn ambiguous_order(name: &str) -> SqlError {
    SqlError::new(SqlState::AMBIGUOUS_COLUMN, format!("ORDER BY \"{name}\" is ambiguous"))
}

/// A number that stands for a column of the select list.
pub(super) fn ordinal(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Value(ast::ValueWithSpan { value: ast::Value::Number(digits, _), .. }) => Some(digits),
        _ => None,
    }
}

/// The place that an ordinal means.
pub(super) fn checked_ordinal(number: &str, width: usize, clause: &str) -> Result<usize, SqlError> {
    match number.parse::<usize>() {
        Ok(place) if (1..=width).contains(&place) => Ok(place - 1),
        _ => Err(SqlError::new(SqlState("42P10"), format!("{clause} position {number} is not in select list"))),
    }
}
