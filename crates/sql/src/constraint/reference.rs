//! Foreign keys: does a child have its parent, which children has a parent.
//!
//! ```text
//!   child  item(shop 3)     get shop@pkey/3 for share                  the parent cannot go while the child's transaction is open,
//!                                                                       but its other columns may change
//!   parent shop/3           item@shop/3/…  or, without an index,       each child found is read again with a lock before anything
//!                           scan item/                                  happens to it
//! ```

use crate::catalog::{Catalog, ForeignKey, Index, Table};
use crate::execute::Execution;
use crate::key;
use crate::stop::Stop;
use crate::storage::{Columns, KeyPart, KeyRange, Lock, Row, RowKey, all_rows};
use skew_value::{CastKind, Datum, SqlError, cast, compare};
use std::sync::Arc;

/// The values of some columns of a row; none if one of them is NULL, which points nowhere.
pub(crate) fn values_of(columns: &[usize], row: &[Datum]) -> Option<Vec<Datum>> {
    columns.iter().map(|&place| Some(row[place].clone()).filter(|value| !value.is_null())).collect()
}

/// Whether the parent of a child's values is there. The read locks it, so that it stays.
pub(crate) fn parent_exists(
    child: &Table,
    key: &ForeignKey,
    values: &[Datum],
    catalog: &Catalog,
    execution: &mut Execution<'_>,
) -> Result<bool, Stop> {
    let parent = catalog.expect_table(&key.parent)?.clone();
    let Some(values) = converted(child, &key.columns, values, &parent, &key.parent_columns, execution) else {
        return Ok(false);
    };
    let wanted = parent_place(&parent, key, &values)?;
    Ok(execution.storage().get(&wanted, &Columns::Some(Vec::new()), Lock::Share)?.is_some())
}

/// Values of one table's columns as those of another's; none if they cannot be, so that nothing can be equal to them.
fn converted(
    from: &Table,
    from_columns: &[usize],
    values: &[Datum],
    to: &Table,
    to_columns: &[usize],
    execution: &Execution<'_>,
) -> Option<Vec<Datum>> {
    let places = from_columns.iter().zip(to_columns);
    places
        .zip(values)
        .map(|((&source, &target), value)| {
            let (source, target) = (&from.columns[source].sql_type, &to.columns[target].sql_type);
            if source == target {
                return Some(value.clone());
            }
            let converted = cast(value, source, target, CastKind::Assignment, execution.style()).ok()?;
            let back = cast(&converted, target, source, CastKind::Assignment, execution.style()).ok()?;
            (compare(&back, value) == std::cmp::Ordering::Equal).then_some(converted)
        })
        .collect()
}

/// The key under which a parent with these values stands: the entry of its primary key, or that in a unique index.
fn parent_place(parent: &Table, key: &ForeignKey, values: &[Datum]) -> Result<RowKey, SqlError> {
    let parts = |columns: &[usize]| -> Result<Option<Arc<[KeyPart]>>, SqlError> {
        if columns.len() != values.len() {
            return Ok(None);
        }
        let part = |column: &usize| {
            let place = key.parent_columns.iter().position(|referred| referred == column)?;
            Some(key::column_part(parent, *column, &values[place]))
        };
        columns
            .iter()
            .map(part)
            .collect::<Option<Result<Vec<KeyPart>, SqlError>>>()
            .transpose()
            .map(|parts| parts.map(Arc::from))
    };
    if let Some(primary_key) = &parent.primary_key
        && let Some(parts) = parts(&primary_key.columns)?
    {
        return Ok(RowKey { space: parent.key_entries.unwrap_or(parent.space), parts });
    }
    for index in parent.indexes.iter().filter(|index| index.is_plain_unique()) {
        if let Some(parts) = parts(&index.plain_columns())? {
            return Ok(RowKey { space: index.space, parts });
        }
    }
    Err(SqlError::unsupported(format!("a foreign key to columns of \"{}\" that are not unique", parent.name)))
}

/// The children of a parent's values, each with its key and locked: none may be missed, and the parent's own lock keeps new ones out.
pub(crate) fn children(
    child: &Table,
    key: &ForeignKey,
    parent: &Table,
    values: &[Datum],
    lock: Lock,
    execution: &mut Execution<'_>,
) -> Result<Vec<(RowKey, Row)>, Stop> {
    let Some(values) = converted(parent, &key.parent_columns, values, child, &key.columns, execution) else {
        return Ok(Vec::new());
    };
    let candidates = child_keys(child, key, &values, execution)?;
    let mut found = Vec::new();
    for candidate in candidates {
        let Some(row) = execution.storage().get_child(&candidate, lock)? else { continue };
        let row = child.complete(&row);
        if is_child(child, key, &row, &values)? {
            found.push((candidate, row));
        }
    }
    Ok(found)
}

fn is_child(child: &Table, key: &ForeignKey, row: &[Datum], values: &[Datum]) -> Result<bool, SqlError> {
    for (&column, value) in key.columns.iter().zip(values) {
        if key::column_part(child, column, &row[column])? != key::column_part(child, column, value)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The keys of rows that may be children: through the primary key, through an index, else by a scan.
fn child_keys(
    child: &Table,
    key: &ForeignKey,
    values: &[Datum],
    execution: &mut Execution<'_>,
) -> Result<Vec<RowKey>, Stop> {
    let by_columns = |columns: &[usize]| prefix(child, key, values, columns);
    if let Some(primary_key) = &child.primary_key
        && let Some(prefix) = by_columns(&primary_key.columns)?
    {
        let range = KeyRange::of_prefix(child.space, prefix);
        let rows = all_rows(execution.storage(), &range)?;
        return Ok(rows.into_iter().map(|(key, _)| key).collect());
    }
    for index in child.indexes.iter().filter(|index| index.predicate.is_none()) {
        if let Some(prefix) = by_columns(&index.plain_columns())? {
            return entry_targets(child, index, prefix, execution);
        }
    }
    let whole = KeyRange::of_prefix(child.space, Vec::new());
    let rows = all_rows(execution.storage(), &whole)?;
    let mut keys = Vec::new();
    for (row_key, row) in rows {
        if is_child(child, key, &child.complete(&row), values)? {
            keys.push(row_key);
        }
    }
    Ok(keys)
}

fn entry_targets(
    child: &Table,
    index: &Index,
    prefix: Vec<KeyPart>,
    execution: &mut Execution<'_>,
) -> Result<Vec<RowKey>, Stop> {
    let range = KeyRange::of_prefix(index.space, prefix);
    let entries = all_rows(execution.storage(), &range)?;
    entries.iter().map(|(entry_key, entry)| Ok(key::entry_target(child, index, entry_key, entry)?)).collect()
}

/// The values as the first parts of a key, if the key starts with the foreign key's columns in some order.
fn prefix(
    child: &Table,
    key: &ForeignKey,
    values: &[Datum],
    columns: &[usize],
) -> Result<Option<Vec<KeyPart>>, SqlError> {
    let Some(first) = columns.get(..key.columns.len()) else { return Ok(None) };
    let place_of = |column: &usize| key.columns.iter().position(|known| known == column);
    let Some(places) = first.iter().map(place_of).collect::<Option<Vec<usize>>>() else { return Ok(None) };
    let parts = places.iter().map(|&place| key::column_part(child, key.columns[place], &values[place]));
    parts.collect::<Result<Vec<KeyPart>, SqlError>>().map(Some)
}
