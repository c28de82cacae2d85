//! Runs schema and first rows, once, on the store in memory.
//!
//! What a program inserts before its sessions start is the initial state of every run: no transaction wrote it.

use crate::bind::error_of;
use crate::source::{Piece, Source, in_file};
use skew_sql::session::Control;
use skew_sql::{Answer, Catalog, MemoryStorage, Session};
use skew_value::SqlError;
use std::sync::Arc;

/// The catalog and the rows after these statements, which all ran at one moment.
pub(crate) fn run(source: &Source, schema: &[Piece], clock: i64) -> Result<(Arc<Catalog>, MemoryStorage), SqlError> {
    let mut session = Session::new(source.dialect, Arc::new(Catalog::default()));
    let mut storage = MemoryStorage::at_time(clock);
    for piece in schema {
        let place = source.place_of(piece);
        statement(&mut session, &mut storage, &source.text_of(piece)).map_err(|error| in_file(error, place, 0))?;
    }
    Ok((session.catalog().clone(), storage))
}

fn statement(session: &mut Session, storage: &mut MemoryStorage, text: &str) -> Result<(), SqlError> {
    for statement in session.parse(text)? {
        let prepared = session.prepare(&statement, &[])?;
        match session.execute(&prepared, &[], storage).map_err(error_of)? {
            // Nobody else is there: where a transaction begins or ends makes no difference.
            Answer::Transaction(Control::Begin(_) | Control::Commit { .. }) => {}
            Answer::Transaction(_) => {
                return Err(SqlError::unsupported("this transaction statement before the sessions"));
            }
            // The character set is always UTF-8.
            Answer::Set { name, .. } if name != "names" => {
                return Err(SqlError::unsupported(format!("SET {name} in a program")));
            }
            _ => {}
        }
    }
    Ok(())
}
