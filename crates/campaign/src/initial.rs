//! The initial state of a database, as SQL.

use crate::Complaint;
use skew_mockdb::connection::error_of;
use skew_mockdb::{Connection, Database};
use skew_sql::Stop;
use skew_value::{Dialect, SqlError};

/// Runs the SQL of a file. Nobody else is there yet, so what is committed here is the initial state.
pub fn load(database: &mut Database, file: &str, text: &str) -> Result<(), Complaint> {
    run_all(database, text).map_err(|error| complaint(file, &error))
}

fn run_all(database: &mut Database, text: &str) -> Result<(), SqlError> {
    let mut loader = Connection::open(database, "skew/init", Dialect::Postgres);
    let statements = loader.session().parse(text)?;
    for statement in &statements {
        let prepared = loader.prepare(database, statement, &[]).map_err(|error| error.at(statement.place()))?;
        loader.execute(database, &prepared, &[]).map_err(|stop| match stop {
            Stop::Error(error) => error.at(statement.place()),
            Stop::Interrupted(interrupt) => error_of(interrupt).at(statement.place()),
        })?;
    }
    loader.close(database);
    Ok(())
}

fn complaint(file: &str, error: &SqlError) -> Complaint {
    let place = error.place.map_or_else(String::new, |place| format!("line {}, column {}: ", place.line, place.column));
    Complaint::new(
        file,
        format!("{place}{}", error.message),
        error.hint.as_deref().or(error.detail.as_deref()).unwrap_or_default(),
    )
}
