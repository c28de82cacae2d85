//! COPY as a statement: what is bound, and how the rows that a client sent come into it.
//!
//! COPY … TO is the query that it names; COPY … FROM an INSERT that waits for its rows, which
//! [`Prepared::with_text_rows`] and [`Prepared::with_rows`] bring.

use super::Prepared;
use super::action::{self, Action};
use crate::answer::ResultColumn;
use crate::bind::{Binder, bind_copy};
use crate::catalog::Table;
use crate::copy::{Copy, CopyDirection, CopyFormat, Fields};
use crate::syntax;
use crate::tree::change::{CopiedRows, Insert};
use crate::tree::expression::{Cast, Expression, Node};
use skew_value::{CastKind, Datum, SqlError, SqlState, SqlType};
use sqlparser::ast::{CopyOption, CopySource, CopyTarget};
use std::sync::Arc;

/// Binds COPY.
pub(super) fn bind(
    source: &CopySource,
    target: &CopyTarget,
    options: &[CopyOption],
    to: bool,
    binder: &mut Binder<'_>,
) -> Result<Action, SqlError> {
    if !matches!(target, CopyTarget::Stdin | CopyTarget::Stdout) {
        return Err(SqlError::unsupported("COPY with a file or program of the server")
            .with_hint("use COPY … FROM STDIN or TO STDOUT, or \\copy of psql"));
    }
    if let CopySource::Table { table_name, .. } = source {
        // Unlike other statements on rows COPY says that it is the namespace that is missing.
        let (namespace, name) = crate::catalog::name::parts(table_name, binder.dialect)?;
        if crate::virtual_tables::find(namespace.as_deref(), &name, binder.dialect).is_none() {
            binder.catalog.resolve(table_name, binder.dialect)?;
        }
    }
    match source {
        CopySource::Table { table_name, columns } if !to => {
            let insert = bind_copy(table_name, columns, binder)?;
            let columns = insert.targets.iter().map(|&place| column_of(&insert.table, place)).collect();
            let copy = described(CopyDirection::In, options, columns)?;
            Ok(Action::CopyIn(copy, Box::new(insert)))
        }
        CopySource::Table { table_name, columns } => {
            let names: Vec<String> = columns.iter().map(ToString::to_string).collect();
            let list = if names.is_empty() { "*".to_owned() } else { names.join(", ") };
            let text = format!("SELECT {list} FROM {table_name}");
            bind_out(&syntax::parse_query(binder.dialect, &text)?, options, binder)
        }
        CopySource::Query(query) => bind_out(query, options, binder),
    }
}

fn bind_out(
    query: &sqlparser::ast::Query,
    options: &[CopyOption],
    binder: &mut Binder<'_>,
) -> Result<Action, SqlError> {
    match action::bind_query(query, binder)? {
        Action::Query(plan, columns) => Ok(Action::CopyOut(described(CopyDirection::Out, options, columns)?, plan)),
        _ => Err(SqlError::unsupported("COPY of a statement that changes rows")),
    }
}

fn described(direction: CopyDirection, options: &[CopyOption], columns: Vec<ResultColumn>) -> Result<Copy, SqlError> {
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let format = CopyFormat::of(options, &names, direction)?;
    Ok(Copy { direction, format, columns: columns.into() })
}

fn column_of(table: &Table, place: usize) -> ResultColumn {
    let column = &table.columns[place];
    ResultColumn { name: column.name.clone(), sql_type: column.sql_type.clone() }
}

/// The INSERT with the rows that the client sent.
pub(super) fn with_rows(insert: &Insert, copied: &Copied) -> Insert {
    let conversion = |(index, place): (usize, &usize)| {
        let sql_type = insert.table.columns[*place].sql_type.clone();
        let from = if copied.texts { SqlType::TEXT } else { sql_type.unbounded() };
        let operand = Expression { node: Node::Column { depth: 0, index }, sql_type: from };
        Expression { node: Node::Cast(Box::new(Cast { operand, kind: CastKind::Assignment })), sql_type }
    };
    let conversions = insert.targets.iter().enumerate().map(conversion).collect();
    Insert { copied: Some(CopiedRows { rows: Arc::clone(&copied.rows), conversions }), ..insert.clone() }
}

/// The rows that a client sent.
#[derive(Clone, Debug)]
pub(super) struct Copied {
    rows: Arc<Vec<Vec<Datum>>>,
    texts: bool,
}

impl Prepared {
    /// What a COPY wants of whoever talks to the client; nothing for other statements.
    pub fn copy(&self) -> Option<&Copy> {
        match &*self.action {
            Action::CopyIn(copy, _) | Action::CopyOut(copy, _) => Some(copy),
            _ => None,
        }
    }

    /// A COPY … FROM with rows of texts, as a [`CopyReader`](crate::copy::CopyReader) reads them: executing it inserts them.
    pub fn with_text_rows(&self, rows: Vec<Fields>) -> Result<Prepared, SqlError> {
        let field = |field: Option<Vec<u8>>| match field.map(String::from_utf8) {
            None => Ok(Datum::Null),
            Some(Ok(text)) if !text.contains('\0') => Ok(Datum::text(text)),
            Some(_) => Err(SqlError::new(SqlState("22021"), "invalid byte sequence for encoding \"UTF8\"")),
        };
        let row = |row: Fields| row.into_iter().map(field).collect::<Result<Vec<Datum>, SqlError>>();
        let rows = rows.into_iter().map(row).collect::<Result<Vec<_>, SqlError>>()?;
        Ok(Prepared { copied: Some(Copied { rows: Arc::new(rows), texts: true }), ..self.clone() })
    }

    /// A COPY … FROM with rows of values, each of its column's type.
    pub fn with_rows(&self, rows: Vec<Vec<Datum>>) -> Prepared {
        Prepared { copied: Some(Copied { rows: Arc::new(rows), texts: false }), ..self.clone() }
    }
}
