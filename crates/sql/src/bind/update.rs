//! Binding of UPDATE and DELETE: which rows, found how.
//!
//! The table comes first in a FROM of its own, with whatever FROM, USING or MySQL's joins bring along behind it, and the planner finds
//! the path as for any query. Where the plan is one read whose condition is a function of the row, rows are sought and locked by it; otherwise
//! they are found plainly and locked one by one (`change::rows`).

use super::change::{bind_assignments, bind_returning, target};
use super::{Binder, Scope};
use crate::catalog::Table;
use crate::catalog::name::{identifier, is_same, parts};
use crate::plan::optimise;
use crate::storage::Lock;
use crate::tree::change::{Delete, RowSource, Update};
use crate::tree::expression::Expression;
use crate::tree::plan::{Limit, Plan, SortKey};
use crate::tree::read::Asks;
use crate::tree::visit;
use skew_value::{SqlError, SqlState, SqlType};
use sqlparser::ast::{
    self, AssignmentTarget, Expr, FromTable, ObjectName, OrderByExpr, TableFactor, TableWithJoins, UpdateTableFromKind,
};
use std::sync::Arc;

/// Binds UPDATE.
pub(super) fn bind_update(update: &ast::Update, binder: &mut Binder<'_>) -> Result<Update, SqlError> {
    if update.or.is_some() {
        return Err(SqlError::unsupported("UPDATE OR …"));
    }
    let mut from = vec![update.table.clone()];
    if let Some(UpdateTableFromKind::AfterSet(more) | UpdateTableFromKind::BeforeSet(more)) = &update.from {
        from.extend(more.iter().cloned());
    }
    let wanted = match update.table.joins.is_empty() {
        true => relation_name(&update.table.relation, binder)?,
        false => assigned_relation(update, binder)?,
    };
    let (plan, scope) = bind_from(&from, binder)?;
    let (table, start) = find_relation(&scope, &wanted, binder)?;
    let condition = bind_condition(update.selection.as_ref(), &scope, binder)?;
    let mut assignments = bind_assignments(&update.assignments, &table, &scope, binder)?;
    add_on_update(&table, &mut assignments, binder)?;
    let assigned: Vec<usize> = assignments.iter().map(|assignment| assignment.0).collect();
    binder.lock_changed(&table, Some(&assigned));
    let returning = bind_returning(update.returning.as_deref(), &table, &scope, binder)?;
    let order = (update.order_by.as_slice(), update.limit.as_ref());
    let moves = key_assignments(&table, &assignments);
    let mut source = row_source(table, start, plan, condition, order, &scope, binder)?;
    if let (Plan::Read(read), true) = (&mut source.plan, source.locked) {
        read.moves = moves;
    }
    Ok(Update { source, assignments, returning })
}

/// Binds DELETE.
pub(super) fn bind_delete(delete: &ast::Delete, binder: &mut Binder<'_>) -> Result<Delete, SqlError> {
    let (FromTable::WithFromKeyword(first) | FromTable::WithoutKeyword(first)) = &delete.from;
    let mut from = first.clone();
    let wanted = match delete.tables.as_slice() {
        [] => match from.first() {
            Some(tree) => relation_name(&tree.relation, binder)?,
            None => return Err(SqlError::new(SqlState::SYNTAX_ERROR, "DELETE needs a table")),
        },
        [name] => parts(name, binder.dialect)?.1,
        _ => return Err(SqlError::unsupported("DELETE from several tables")),
    };
    if let Some(using) = &delete.using {
        // MySQL repeats the table behind USING.
        let repeated = |tree: &TableWithJoins| relation_name(&tree.relation, binder).is_ok_and(|name| name == wanted);
        if using.iter().any(repeated) {
            from.clear();
        }
        from.extend(using.iter().cloned());
    }
    let (plan, scope) = bind_from(&from, binder)?;
    let (table, start) = find_relation(&scope, &wanted, binder)?;
    binder.lock_changed(&table, None);
    let condition = bind_condition(delete.selection.as_ref(), &scope, binder)?;
    let returning = bind_returning(delete.returning.as_deref(), &table, &scope, binder)?;
    let order = (delete.order_by.as_slice(), delete.limit.as_ref());
    Ok(Delete { source: row_source(table, start, plan, condition, order, &scope, binder)?, returning })
}

/// FROM, with errors for the things that cannot be changed said before.
fn bind_from(from: &[TableWithJoins], binder: &mut Binder<'_>) -> Result<(Plan, Scope<'static>), SqlError> {
    binder.from(from, None)
}

/// The name or alias under which the first table stands; it must be one whose rows can be changed.
fn relation_name(factor: &TableFactor, binder: &Binder<'_>) -> Result<String, SqlError> {
    let TableFactor::Table { name, alias, .. } = factor else {
        return Err(SqlError::unsupported(format!("changing the rows of {factor}")));
    };
    let table = target(name, binder)?;
    Ok(match alias {
        Some(alias) => identifier(&alias.name, binder.dialect),
        None => table.name.clone(),
    })
}

/// MySQL's UPDATE over joined tables: the table that the assignments name, which may be one only.
fn assigned_relation(update: &ast::Update, binder: &Binder<'_>) -> Result<String, SqlError> {
    let mut wanted: Option<String> = None;
    for assignment in &update.assignments {
        let AssignmentTarget::ColumnName(ObjectName(name)) = &assignment.target else {
            return Err(SqlError::unsupported("a row assignment in an UPDATE of joined tables"));
        };
        let qualifier = match name.as_slice() {
            [.., table, _] => table.as_ident().map(|ident| identifier(ident, binder.dialect)),
            _ => Some(relation_name(&update.table.relation, binder)?),
        };
        if wanted.is_some() && wanted != qualifier {
            return Err(SqlError::unsupported("an UPDATE of several tables at once"));
        }
        wanted = qualifier;
    }
    wanted.ok_or_else(|| SqlError::new(SqlState::SYNTAX_ERROR, "UPDATE assigns nothing"))
}

fn find_relation(scope: &Scope<'_>, wanted: &str, binder: &Binder<'_>) -> Result<(Arc<Table>, usize), SqlError> {
    let base = wanted.rsplit_once('.').map_or(wanted, |(_, base)| base);
    let is_wanted = |name: &str| is_same(name, wanted, binder.dialect) || is_same(name, base, binder.dialect);
    let found = scope.relations.iter().find(|relation| is_wanted(&relation.qualifier));
    match found.and_then(|relation| relation.table.clone().map(|table| (table, relation.start))) {
        Some(found) => Ok(found),
        None => Err(SqlError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{wanted}\" is not in FROM"))),
    }
}

/// What is assigned to columns of the primary key and of unique indexes, where that follows from the row alone.
fn key_assignments(table: &Table, assignments: &[(usize, Expression)]) -> Arc<[(usize, Expression)]> {
    let keys = table.primary_key.iter().flat_map(|key| key.columns.iter().copied());
    let unique = table.indexes.iter().filter(|index| index.is_plain_unique());
    let keys: Vec<usize> = keys.chain(unique.flat_map(|index| index.plain_columns())).collect();
    let assigned = assignments.iter().filter(|(place, value)| keys.contains(place) && !visit::looks_elsewhere(value));
    assigned.cloned().collect()
}

fn bind_condition(
    condition: Option<&Expr>,
    scope: &Scope<'_>,
    binder: &mut Binder<'_>,
) -> Result<Option<Expression>, SqlError> {
    condition.map(|condition| binder.where_condition(condition, scope, "WHERE")).transpose()
}

/// MySQL's ON UPDATE CURRENT_TIMESTAMP, for columns that are not assigned.
fn add_on_update(
    table: &Arc<Table>,
    assignments: &mut Vec<(usize, Expression)>,
    binder: &Binder<'_>,
) -> Result<(), SqlError> {
    for (place, column) in table.live_columns() {
        if let Some(text) = &column.on_update
            && !assignments.iter().any(|(assigned, _)| *assigned == place)
        {
            let wanted = Some(&column.sql_type);
            let value = super::expression_over_table(text, None, binder.catalog, binder.dialect, wanted)?;
            assignments.push((place, value));
        }
    }
    Ok(())
}

fn row_source(
    table: Arc<Table>,
    start: usize,
    plan: Plan,
    condition: Option<Expression>,
    (order, limit): (&[OrderByExpr], Option<&Expr>),
    scope: &Scope<'_>,
    binder: &mut Binder<'_>,
) -> Result<RowSource, SqlError> {
    let mut plan = match &condition {
        Some(condition) => Plan::Filter(Box::new(plan), condition.clone()),
        None => plan,
    };
    if !order.is_empty() || limit.is_some() {
        plan = ordered(plan, order, limit, scope, binder)?;
    }
    let mut plan = optimise(plan);
    let locked = seek_rows(&mut plan);
    Ok(RowSource { table, plan, start, condition, locked, joined: scope.relations.len() > 1 })
}

/// ORDER BY and LIMIT of MySQL's UPDATE and DELETE: what is ordered by stands behind the row.
fn ordered(
    plan: Plan,
    order: &[OrderByExpr],
    limit: Option<&Expr>,
    scope: &Scope<'_>,
    binder: &mut Binder<'_>,
) -> Result<Plan, SqlError> {
    let width = plan.width();
    let mut columns: Vec<Expression> = (0..width).map(|place| Expression::column(place, SqlType::Unknown)).collect();
    let mut keys = Vec::new();
    for (place, key) in order.iter().enumerate() {
        let bound = binder.expression(&key.expr, scope)?;
        let bound = binder.settled(bound)?;
        let direction = binder.direction(&key.options, &bound.sql_type)?;
        columns.push(bound);
        keys.push(SortKey { index: width + place, direction });
    }
    let mut plan = match order.is_empty() {
        true => plan,
        false => Plan::Sort(Box::new(Plan::Project(Box::new(plan), columns)), keys),
    };
    if let Some(limit) = limit {
        let bound = binder.expression(limit, &Scope::empty(None))?;
        let count = Some(binder.coerce(bound, &SqlType::BIGINT)?);
        plan = Plan::Limit(Box::new(plan), Box::new(Limit { count, offset: None, ties: None }));
    }
    Ok(plan)
}

/// A plan that only reads one table takes its rows as it finds them.
fn seek_rows(plan: &mut Plan) -> bool {
    match plan {
        Plan::Read(read) if read.asks != Asks::PerRow => {
            read.lock = Lock::Update;
            true
        }
        _ => false,
    }
}
