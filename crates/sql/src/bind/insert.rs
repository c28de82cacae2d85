//! Binding of INSERT and REPLACE: where the values come from, and what happens when a key is taken.

use super::change::{
    arbiters, bind_assignments, bind_returning, bind_value, default_of, looks_at, refuse_generated, target,
};
use super::{Binder, Scope};
use crate::catalog::name::{identifier, is_same};
use crate::catalog::{ColumnDefault, Table};
use crate::plan::optimise;
use crate::tree::change::{Arbiter, Conflict, ConflictUpdate, CopiedRows, Insert};
use crate::tree::expression::Expression;
use crate::tree::plan::Plan;
use skew_value::{Dialect, SqlError, SqlState, SqlType};
use sqlparser::ast::{
    self, ConflictTarget, Expr, ObjectName, OnConflict, OnConflictAction, OnInsert, Query, SetExpr, SqliteOnConflict,
    TableObject,
};
use std::sync::Arc;

/// Binds INSERT and REPLACE.
pub(super) fn bind_insert(insert: &ast::Insert, binder: &mut Binder<'_>) -> Result<Insert, SqlError> {
    let TableObject::TableName(name) = &insert.table else {
        return Err(SqlError::unsupported("INSERT into what is no table"));
    };
    if insert.partitioned.is_some() || insert.overwrite {
        return Err(SqlError::unsupported("INSERT … PARTITION or OVERWRITE"));
    }
    let table = target(name, binder)?;
    binder.lock_inserted(&table);
    let (targets, source) = bind_source(insert, &table, binder)?;
    let defaults = bind_defaults(&table, &targets, binder)?;
    let alias = insert.table_alias.as_ref().map(|alias| identifier(&alias.alias, binder.dialect));
    let scope = Scope::of_table(&table, alias.as_deref());
    let conflict = bind_conflict(insert, &table, alias.as_deref(), binder)?;
    let is_single = matches!(&source, Plan::Values(rows) if rows.len() <= 1);
    if !is_single {
        refuse_looks(&conflict, &table)?;
    }
    Ok(Insert {
        conflict,
        returning: bind_returning(insert.returning.as_deref(), &table, &scope, binder)?,
        table,
        targets,
        source,
        copied: None,
        defaults,
    })
}

/// What a row that is met becomes may not depend on other rows of the table: the statement may have changed them already.
fn refuse_looks(conflict: &Conflict, table: &Table) -> Result<(), SqlError> {
    let Conflict::Update(update) = conflict else { return Ok(()) };
    let assigned = update.assignments.iter().map(|(_, value)| value.clone());
    let expressions: Vec<Expression> = assigned.chain(update.condition.clone()).collect();
    match looks_at(&expressions, table, false) {
        true => Err(SqlError::unsupported(format!(
            "a subquery over \"{}\" in what an INSERT of several rows into it does on conflict",
            table.name
        ))),
        false => Ok(()),
    }
}

/// Binds COPY … FROM: an INSERT whose rows the client sends. Without a list all columns are meant that are not computed.
pub(crate) fn bind_copy(
    name: &ObjectName,
    columns: &[ast::Ident],
    binder: &mut Binder<'_>,
) -> Result<Insert, SqlError> {
    let table = target(name, binder)?;
    binder.lock_inserted(&table);
    let is_computed = |place: usize| matches!(table.columns[place].default, Some(ColumnDefault::Generated(_)));
    let mut targets = Vec::new();
    for column in columns {
        let column = identifier(column, binder.dialect);
        let place = table.expect_column(&column, binder.dialect)?;
        if targets.contains(&place) {
            let message = format!("column \"{column}\" specified more than once");
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        if is_computed(place) {
            let message = format!("column \"{column}\" is a generated column");
            return Err(
                SqlError::new(SqlState("42P10"), message).with_hint("Generated columns cannot be used in COPY.")
            );
        }
        targets.push(place);
    }
    if columns.is_empty() {
        targets = table.live_columns().map(|(place, _)| place).filter(|place| !is_computed(*place)).collect();
    }
    let defaults = bind_defaults(&table, &targets, binder)?;
    Ok(Insert {
        source: Plan::Values(Vec::new()),
        copied: Some(CopiedRows::default()),
        conflict: Conflict::Refuse,
        returning: None,
        table,
        targets,
        defaults,
    })
}

fn bind_defaults(table: &Table, targets: &[usize], binder: &Binder<'_>) -> Result<Vec<(usize, Expression)>, SqlError> {
    let others = table.live_columns().map(|(place, _)| place).filter(|place| !targets.contains(place));
    others.map(|place| Ok((place, default_of(table, place, binder.catalog, binder.dialect)?))).collect()
}

fn bind_source(
    insert: &ast::Insert,
    table: &Arc<Table>,
    binder: &mut Binder<'_>,
) -> Result<(Vec<usize>, Plan), SqlError> {
    if !insert.assignments.is_empty() {
        let scope = Scope::empty(None);
        let assignments = bind_assignments(&insert.assignments, table, &scope, binder)?;
        let (targets, values) = assignments.into_iter().unzip();
        return Ok((targets, Plan::Values(vec![values])));
    }
    let targets = bind_targets(&insert.columns, table, binder)?;
    let Some(query) = &insert.source else {
        // DEFAULT VALUES: one row, of which nothing is given.
        return Ok((Vec::new(), Plan::Values(vec![Vec::new()])));
    };
    let is_listed = !insert.columns.is_empty();
    match plain_values(query) {
        Some(rows) => {
            // MySQL's `INSERT INTO t () VALUES ()`.
            if rows.iter().all(|row| row.is_empty()) && !rows.is_empty() {
                return Ok((Vec::new(), Plan::Values(vec![Vec::new(); rows.len()])));
            }
            bind_values(&rows, targets, is_listed, table, binder)
        }
        None => bind_query(query, targets, is_listed, table, binder),
    }
}

/// The columns that the statement lists; without a list all of them.
fn bind_targets(columns: &[ObjectName], table: &Table, binder: &Binder<'_>) -> Result<Vec<usize>, SqlError> {
    if columns.is_empty() {
        return Ok(table.live_columns().map(|(place, _)| place).collect());
    }
    let mut places = Vec::with_capacity(columns.len());
    for column in columns {
        let name = column.0.last().and_then(|part| part.as_ident()).map(|ident| identifier(ident, binder.dialect));
        let name = name.ok_or_else(|| SqlError::new(SqlState::SYNTAX_ERROR, format!("{column} is no column")))?;
        let place = table.expect_column(&name, binder.dialect)?;
        if places.contains(&place) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        places.push(place);
    }
    Ok(places)
}

/// The rows of a source that is nothing but VALUES.
fn plain_values(query: &Query) -> Option<Vec<&Vec<Expr>>> {
    match query.body.as_ref() {
        SetExpr::Values(values)
            if query.with.is_none()
                && query.order_by.is_none()
                && query.limit_clause.is_none()
                && query.fetch.is_none() =>
        {
            Some(values.rows.iter().map(|row| &row.content).collect())
        }
        _ => None,
    }
}

fn bind_values(
    rows: &[&Vec<Expr>],
    mut targets: Vec<usize>,
    is_listed: bool,
    table: &Table,
    binder: &mut Binder<'_>,
) -> Result<(Vec<usize>, Plan), SqlError> {
    let width = rows.first().map_or(0, |row| row.len());
    if rows.iter().any(|row| row.len() != width) {
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, "VALUES lists must all be the same length"));
    }
    fit(&mut targets, width, is_listed, binder.dialect)?;
    let scope = Scope::empty(None);
    let mut bound = Vec::with_capacity(rows.len());
    for row in rows {
        let values =
            targets.iter().zip(row.iter()).map(|(&place, value)| bind_value(value, table, place, &scope, binder));
        bound.push(values.collect::<Result<Vec<Expression>, SqlError>>()?);
    }
    Ok((targets, Plan::Values(bound)))
}

fn bind_query(
    query: &Query,
    mut targets: Vec<usize>,
    is_listed: bool,
    table: &Table,
    binder: &mut Binder<'_>,
) -> Result<(Vec<usize>, Plan), SqlError> {
    let bound = binder.open_query(query, None)?;
    fit(&mut targets, bound.columns.len(), is_listed, binder.dialect)?;
    // A literal, parameter or NULL that has no type of its own is one of the column's.
    let types: Vec<SqlType> = targets
        .iter()
        .zip(&bound.columns)
        .map(|(&place, output)| match output.sql_type {
            // Without its length, which the assignment looks at.
            SqlType::Unknown => match &table.columns[place].sql_type {
                SqlType::Character(_) => SqlType::TEXT,
                known => known.unbounded(),
            },
            _ => output.sql_type.clone(),
        })
        .collect();
    let bound = binder.query_of_types(bound, &types)?;
    let mut values = Vec::with_capacity(targets.len());
    for (&place, (index, output)) in targets.iter().zip(bound.columns.iter().enumerate()) {
        refuse_generated(table, place)?;
        let column = &table.columns[place];
        let value = Expression::column(index, output.sql_type.clone());
        values.push(binder.assign(value, &column.sql_type, &column.name)?);
    }
    Ok((targets, optimise(Plan::Project(Box::new(bound.plan), values))))
}

/// As many targets as values; PostgreSQL lets a statement without a list give only the first columns.
fn fit(targets: &mut Vec<usize>, width: usize, is_listed: bool, dialect: Dialect) -> Result<(), SqlError> {
    let error = |message: &str| Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
    match (width.cmp(&targets.len()), dialect) {
        (std::cmp::Ordering::Equal, _) => Ok(()),
        (_, Dialect::MySql) => Err(SqlError::new(SqlState("21S01"), "Column count doesn't match value count at row 1")),
        (std::cmp::Ordering::Greater, _) => error("INSERT has more expressions than target columns"),
        (std::cmp::Ordering::Less, _) if is_listed => error("INSERT has more target columns than expressions"),
        (std::cmp::Ordering::Less, _) => {
            targets.truncate(width);
            Ok(())
        }
    }
}

fn bind_conflict(
    insert: &ast::Insert,
    table: &Arc<Table>,
    alias: Option<&str>,
    binder: &mut Binder<'_>,
) -> Result<Conflict, SqlError> {
    match &insert.on {
        Some(OnInsert::OnConflict(conflict)) => return bind_on_conflict(conflict, table, alias, binder),
        Some(OnInsert::DuplicateKeyUpdate(assignments)) => {
            let new = insert.insert_alias.as_ref().map(|alias| alias.row_alias.to_string());
            let scope = conflict_scope(table, alias, new.as_deref());
            let assignments = bind_assignments(assignments, table, &scope, binder)?;
            return Ok(Conflict::Update(Box::new(ConflictUpdate { arbiters: None, assignments, condition: None })));
        }
        None => {}
        Some(_) => return Err(SqlError::unsupported("this ON clause of INSERT")),
    }
    Ok(match &insert.or {
        _ if insert.replace_into => Conflict::Replace,
        _ if insert.ignore => Conflict::Skip(None),
        Some(SqliteOnConflict::Ignore) => Conflict::Skip(None),
        Some(SqliteOnConflict::Replace) => Conflict::Replace,
        None => Conflict::Refuse,
        Some(other) => return Err(SqlError::unsupported(format!("INSERT {other}"))),
    })
}

/// The row that is there by its table's name, the row that was to come as `excluded` (and MySQL's alias), which must be named.
fn conflict_scope(table: &Arc<Table>, alias: Option<&str>, new: Option<&str>) -> Scope<'static> {
    let mut scope = Scope::of_table(table, alias);
    let first = scope.names.len();
    scope.add_table(table, "excluded".to_owned());
    scope.names[first..].iter_mut().for_each(|name| name.plain = false);
    if let Some(new) = new {
        let mut renamed = scope.names[first..].to_vec();
        renamed.iter_mut().for_each(|name| name.qualifier = Some(new.to_owned()));
        scope.names.extend(renamed);
    }
    scope
}

fn bind_on_conflict(
    conflict: &OnConflict,
    table: &Arc<Table>,
    alias: Option<&str>,
    binder: &mut Binder<'_>,
) -> Result<Conflict, SqlError> {
    let arbiters = conflict.conflict_target.as_ref().map(|target| bind_arbiters(target, table, binder)).transpose()?;
    let OnConflictAction::DoUpdate(update) = &conflict.action else {
        return Ok(Conflict::Skip(arbiters));
    };
    if arbiters.is_none() {
        let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message).with_hint("for example, ON CONFLICT (column_name)"));
    }
    let mut scope = conflict_scope(table, alias, None);
    // PostgreSQL takes a column for that of either row, so it has to be told which.
    scope.names.iter_mut().for_each(|name| name.plain = true);
    let assignments = bind_assignments(&update.assignments, table, &scope, binder)?;
    let condition = update.selection.as_ref().map(|condition| binder.where_condition(condition, &scope, "WHERE"));
    Ok(Conflict::Update(Box::new(ConflictUpdate { arbiters, assignments, condition: condition.transpose()? })))
}

fn bind_arbiters(target: &ConflictTarget, table: &Table, binder: &Binder<'_>) -> Result<Vec<Arbiter>, SqlError> {
    match target {
        ConflictTarget::Columns(columns) => {
            let places: Result<Vec<usize>, SqlError> = columns
                .iter()
                .map(|column| table.expect_column(&identifier(column, binder.dialect), binder.dialect))
                .collect();
            match arbiters(table, &places?) {
                found if found.is_empty() => {
                    let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
                    Err(SqlError::new(SqlState("42P10"), message))
                }
                found => Ok(found),
            }
        }
        ConflictTarget::OnConstraint(name) => {
            let (_, name) = crate::catalog::name::parts(name, binder.dialect)?;
            let same = |known: &str| is_same(known, &name, binder.dialect);
            if table.primary_key.as_ref().is_some_and(|key| same(&key.name)) {
                return Ok(vec![Arbiter::Primary]);
            }
            let index = table.indexes.iter().position(|index| index.unique && same(&index.name));
            index.map(|place| vec![Arbiter::Index(place)]).ok_or_else(|| {
                let message = format!("constraint \"{name}\" for table \"{}\" does not exist", table.name);
                SqlError::new(SqlState::UNDEFINED_OBJECT, message)
            })
        }
    }
}
