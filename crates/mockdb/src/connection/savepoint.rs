//! Savepoints of a connection: what comes back besides rows.
//!
//! The store takes rows back; the catalog of a transaction that changes the schema, and in PostgreSQL what was set, come back here.

use super::{Connection, Status};
use crate::database::Database;
use crate::undo::no_savepoint;
use skew_sql::session::{Answer, Control};
use skew_sql::{Catalog, Stop};
use skew_value::{Dialect, SqlError, SqlState};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What comes back with ROLLBACK TO SAVEPOINT, besides rows.
pub(super) struct Savepoint {
    name: String,
    catalog: Arc<Catalog>,
    /// Whether that catalog was the transaction's own.
    defines: bool,
    settings: BTreeMap<String, String>,
    /// What of them comes back at the end of the transaction.
    local: BTreeMap<String, Option<String>>,
}

impl Connection {
    /// SAVEPOINT, RELEASE, ROLLBACK TO.
    pub(super) fn savepoint(&mut self, database: &mut Database, control: Control) -> Result<Answer, Stop> {
        let (store, id) = (&mut database.store, self.id);
        if self.status != Status::Open {
            return match (self.session.dialect(), &control) {
                // A savepoint of a statement by itself ends with it.
                (Dialect::MySql, Control::Savepoint(_)) => Ok(Answer::Done("SAVEPOINT".to_owned())),
                (Dialect::MySql, Control::Release(name) | Control::RollbackTo(name)) => Err(no_savepoint(name)),
                _ => {
                    let message = "a savepoint can only be used in a transaction";
                    Err(SqlError::new(SqlState("25P01"), message).with_hint("BEGIN one first").into())
                }
            };
        }
        let (result, words) = match &control {
            Control::Savepoint(name) => (store.savepoint(id, name), "SAVEPOINT"),
            Control::Release(name) => (store.release_savepoint(id, name), "RELEASE"),
            Control::RollbackTo(name) => (store.rollback_to_savepoint(id, name), "ROLLBACK"),
            _ => (Ok(()), "SET"),
        };
        result?;
        self.move_savepoints(&control);
        Ok(Answer::Done(words.to_owned()))
    }

    /// The catalog and the settings follow the savepoints.
    pub(super) fn move_savepoints(&mut self, control: &Control) {
        let place = |savepoints: &[Savepoint], name: &str| {
            savepoints.iter().rposition(|savepoint| savepoint.name == name).unwrap_or(savepoints.len())
        };
        match control {
            Control::Savepoint(name) => self.savepoints.push(Savepoint {
                name: name.clone(),
                catalog: Arc::clone(self.session.catalog()),
                defines: self.defines,
                settings: BTreeMap::clone(self.session.settings()),
                local: self.settings.local().clone(),
            }),
            Control::Release(name) => self.savepoints.truncate(place(&self.savepoints, name)),
            Control::RollbackTo(name) => {
                self.savepoints.truncate(place(&self.savepoints, name) + 1);
                if let Some(savepoint) = self.savepoints.last() {
                    self.defines = savepoint.defines;
                    self.session.set_catalog(Arc::clone(&savepoint.catalog));
                    if self.session.dialect() == Dialect::Postgres {
                        self.session.settings_mut().clone_from(&savepoint.settings);
                        self.settings.restore_local(&savepoint.local);
                    }
                }
            }
            _ => {}
        }
    }
}
