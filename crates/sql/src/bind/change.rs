//! Binding of INSERT, UPDATE and DELETE.
//!
//! Values are bound by the [`Binder`] like any other expression, then cast to their column as an assignment does. What a column gets when
//! nothing is said is decided here, once per statement: its default, the next value of its sequence, NULL, or that it must be given.
//!
//! ```text
//!   INSERT INTO item (id, price) VALUES (7, '3') …      source Values [7, 3]   targets [0, 1]   defaults [(2, now())]
//!   … ON CONFLICT (id) DO UPDATE SET price = item.price + excluded.price
//!                                                       over the row there is, then the row that was to come
//! ```

use super::insert::bind_insert;
use super::update::{bind_delete, bind_update};
use super::{Binder, Scope, reads};
use crate::catalog::name::identifier;
use crate::catalog::{Catalog, ColumnDefault, Table};
use crate::tree::change::{Arbiter, Change, Returning};
use crate::tree::expression::{Expression, Node, SequenceCall, SequenceOperation};
use crate::tree::visit;
use skew_value::{Datum, Dialect, SqlError, SqlState};
use sqlparser::ast::{Assignment, AssignmentTarget, Expr, ObjectName, Query, SelectItem, SetExpr, Statement};
use std::sync::Arc;

/// Binds a statement that changes rows.
pub(crate) fn bind_change(statement: &Statement, binder: &mut Binder<'_>) -> Result<Change, SqlError> {
    match statement {
        Statement::Insert(insert) => Ok(Change::Insert(Box::new(bind_insert(insert, binder)?))),
        Statement::Update(update) => Ok(Change::Update(Box::new(bind_update(update, binder)?))),
        Statement::Delete(delete) => Ok(Change::Delete(Box::new(bind_delete(delete, binder)?))),
        _ => Err(SqlError::unsupported("this statement as a change of rows")),
    }
}

/// The table of a name, which must be one whose rows can be changed.
pub(super) fn target(name: &ObjectName, binder: &Binder<'_>) -> Result<Arc<Table>, SqlError> {
    let resolved = match binder.catalog.resolve_existing(name, binder.dialect) {
        Err(error) if error.state == SqlState::UNDEFINED_TABLE => {
            let (namespace, table) = crate::catalog::name::parts(name, binder.dialect)?;
            match crate::virtual_tables::find(namespace.as_deref(), &table, binder.dialect) {
                Some(_) => return Err(read_only(&table)),
                None => return Err(error),
            }
        }
        resolved => resolved?,
    };
    if binder.catalog.views.contains_key(&resolved) {
        return Err(SqlError::unsupported(format!("changing rows through the view \"{resolved}\"")));
    }
    match binder.catalog.tables.get(&resolved) {
        Some(table) => Ok(table.clone()),
        None if crate::virtual_tables::find(None, &resolved, binder.dialect).is_some() => Err(read_only(&resolved)),
        None => binder.catalog.expect_table(&resolved).cloned(),
    }
}

fn read_only(table: &str) -> SqlError {
    SqlError::new(SqlState("42501"), format!("permission denied: \"{table}\" is a system catalog"))
}

/// What a column gets when a statement does not say: an expression over no row.
pub(crate) fn default_of(
    table: &Table,
    place: usize,
    catalog: &Catalog,
    dialect: Dialect,
) -> Result<Expression, SqlError> {
    let column = &table.columns[place];
    match &column.default {
        Some(ColumnDefault::Expression(text)) => {
            super::expression_over_table(text, None, catalog, dialect, Some(&column.sql_type))
        }
        Some(ColumnDefault::Sequence(sequence) | ColumnDefault::Identity(sequence)) => {
            let call = SequenceCall { operation: SequenceOperation::Default(*sequence), arguments: Vec::new() };
            Ok(Expression { node: Node::Sequence(Box::new(call)), sql_type: column.sql_type.clone() })
        }
        // It is computed from the others.
        Some(ColumnDefault::Generated(_)) => Ok(Expression::constant(Datum::Null, column.sql_type.clone())),
        None if dialect == Dialect::MySql && !column.nullable => {
            let message = format!("Field '{}' doesn't have a default value", column.name);
            Err(SqlError::new(SqlState("HY000"), message))
        }
        None => Ok(Expression::constant(Datum::Null, column.sql_type.clone())),
    }
}

/// Whether an expression is the word DEFAULT.
pub(super) fn is_default(expression: &Expr) -> bool {
    matches!(expression, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

/// A value for a column: DEFAULT, or an expression cast to the column's type.
pub(super) fn bind_value(
    expression: &Expr,
    table: &Table,
    place: usize,
    scope: &Scope<'_>,
    binder: &mut Binder<'_>,
) -> Result<Expression, SqlError> {
    if is_default(expression) {
        return default_of(table, place, binder.catalog, binder.dialect);
    }
    refuse_generated(table, place)?;
    let bound = binder.expression(expression, scope)?;
    let column = &table.columns[place];
    binder.assign(bound, &column.sql_type, &column.name)
}

/// A column that is computed takes no value.
pub(super) fn refuse_generated(table: &Table, place: usize) -> Result<(), SqlError> {
    let column = &table.columns[place];
    match &column.default {
        Some(ColumnDefault::Generated(_)) => Err(SqlError::new(
            SqlState::GENERATED_ALWAYS,
            format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name),
        )
        .with_hint(format!("column \"{}\" is a generated column", column.name))),
        Some(ColumnDefault::Identity(_)) => Err(SqlError::new(
            SqlState::GENERATED_ALWAYS,
            format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name),
        )
        .with_hint(format!("column \"{}\" is an identity column defined as GENERATED ALWAYS", column.name))),
        _ => Ok(()),
    }
}

/// SET column = value, …: physical columns and values over the scope's row.
pub(super) fn bind_assignments(
    assignments: &[Assignment],
    table: &Table,
    scope: &Scope<'_>,
    binder: &mut Binder<'_>,
) -> Result<Vec<(usize, Expression)>, SqlError> {
    let mut bound: Vec<(usize, Expression)> = Vec::new();
    for assignment in assignments {
        for (name, value) in single_assignments(assignment)? {
            let place = assigned_column(name, table, binder)?;
            if bound.iter().any(|(other, _)| *other == place) && binder.dialect == Dialect::Postgres {
                let message = format!("multiple assignments to same column \"{}\"", table.columns[place].name);
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
            bound.push((place, bind_value(&value, table, place, scope, binder)?));
        }
    }
    Ok(bound)
}

fn assigned_column(name: &ObjectName, table: &Table, binder: &Binder<'_>) -> Result<usize, SqlError> {
    let column = name.0.last().and_then(|part| part.as_ident()).map(|ident| identifier(ident, binder.dialect));
    let column = column.ok_or_else(|| SqlError::new(SqlState::SYNTAX_ERROR, format!("{name} is no column")))?;
    table.expect_column(&column, binder.dialect)
}

/// Takes `(a, b) = (1, 2)` and `(a, b) = (SELECT …)` apart.
fn single_assignments(assignment: &Assignment) -> Result<Vec<(&ObjectName, Expr)>, SqlError> {
    let names = match &assignment.target {
        AssignmentTarget::ColumnName(name) => return Ok(vec![(name, assignment.value.clone())]),
        AssignmentTarget::Tuple(names) => names,
    };
    let values: Vec<Expr> = match &assignment.value {
        Expr::Tuple(values) => values.clone(),
        Expr::Subquery(query) => {
            (0..names.len()).map(|place| column_of(query, place)).collect::<Result<_, SqlError>>()?
        }
        Expr::Nested(value) if names.len() == 1 => vec![value.as_ref().clone()],
        other => return Err(SqlError::unsupported(format!("the assignment of {other} to several columns"))),
    };
    if values.len() != names.len() {
        let message = "number of columns does not match number of values";
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
    }
    Ok(names.iter().zip(values).collect())
}

/// The query of one of the columns of a query. Rows that are read again are no second event.
fn column_of(query: &Query, place: usize) -> Result<Expr, SqlError> {
    let mut single = query.clone();
    let SetExpr::Select(select) = single.body.as_mut() else {
        return Err(SqlError::unsupported("the assignment of this query to several columns"));
    };
    let wildcard = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    if select.distinct.is_some() || select.projection.iter().any(wildcard) {
        return Err(SqlError::unsupported("the assignment of this query to several columns"));
    }
    if place >= select.projection.len() {
        let message = "number of columns does not match number of values";
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
    }
    select.projection = vec![select.projection.swap_remove(place)];
    Ok(Expr::Subquery(Box::new(single)))
}

/// RETURNING over the scope's row.
pub(super) fn bind_returning(
    items: Option<&[SelectItem]>,
    table: &Table,
    scope: &Scope<'_>,
    binder: &mut Binder<'_>,
) -> Result<Option<Returning>, SqlError> {
    let Some(items) = items else { return Ok(None) };
    let (columns, expressions) = binder.outputs(items, scope)?;
    if looks_at(&expressions, table, true) {
        // It is answered row by row, when other rows have changed already.
        let construct = format!("a subquery in RETURNING that reads \"{}\" for every row", table.name);
        return Err(SqlError::unsupported(construct));
    }
    Ok(Some(Returning { columns, expressions }))
}

/// Whether expressions hold a subquery that reads a table; perhaps only one that does so for each row anew.
pub(super) fn looks_at(expressions: &[Expression], table: &Table, correlated: bool) -> bool {
    let mut found = false;
    for expression in expressions {
        visit::expression(&mut expression.clone(), 0, &mut |one, level| {
            if let Node::Subquery(subquery) = &one.node
                && level == 0
                && (subquery.query.correlated || !correlated)
            {
                found |= reads(&subquery.query.plan, table);
            }
        });
    }
    found
}

/// The keys of a table that have exactly these columns, in whatever order.
pub(super) fn arbiters(table: &Table, columns: &[usize]) -> Vec<Arbiter> {
    let same = |key: &[usize]| key.len() == columns.len() && columns.iter().all(|column| key.contains(column));
    let primary = table.primary_key.iter().filter(|key| same(&key.columns)).map(|_| Arbiter::Primary);
    let unique = |index: &crate::catalog::Index| index.is_plain_unique() && same(&index.plain_columns());
    let indexes = table.indexes.iter().enumerate().filter(|(_, index)| unique(index));
    primary.chain(indexes.map(|(place, _)| Arbiter::Index(place))).collect()
}
