//! The savepoints of a run: names, and where the store has to go back to.
//!
//! ```text
//!   SAVEPOINT a;  …  SAVEPOINT a;  …  ROLLBACK TO a;  …  RELEASE a;  …  ROLLBACK TO a;
//!   └ 0              └ 1              back to 1          PostgreSQL: 0 is there again, and back to 0
//!                                                       MySQL: the second a replaced the first, so there is none
//! ```
//!
//! ROLLBACK TO keeps its savepoint and forgets those behind it. What goes back is for the store: the writes, and in PostgreSQL the locks.

use crate::syntax::SavepointVerb;
use skew_sql::{SavepointId, Stop, Storage};
use skew_value::{Dialect, SqlError, SqlState};
use std::sync::Arc;

/// Those that are set, the last one last.
#[derive(Clone, Default, Debug)]
pub(crate) struct Savepoints(Vec<(Arc<str>, SavepointId)>);

impl Savepoints {
    /// Sets one, forgets it, or goes back to it. Changes nothing unless it succeeds.
    pub(crate) fn run(
        &mut self,
        verb: SavepointVerb,
        name: &Arc<str>,
        dialect: Dialect,
        storage: &mut dyn Storage,
    ) -> Result<(), Stop> {
        let found = self.0.iter().rposition(|(known, _)| is_same(known, name, dialect));
        match (verb, found) {
            (SavepointVerb::Set, found) => {
                let id = storage.savepoint()?;
                if let Some(hidden) = found.filter(|_| dialect == Dialect::MySql) {
                    self.0.remove(hidden);
                }
                self.0.push((Arc::clone(name), id));
            }
            (_, None) => return Err(missing(name, dialect).into()),
            (SavepointVerb::Release, Some(place)) => self.0.truncate(place),
            (SavepointVerb::BackTo, Some(place)) => {
                storage.back_to(self.0[place].1)?;
                self.0.truncate(place + 1);
            }
        }
        Ok(())
    }
}

fn is_same(one: &str, other: &str, dialect: Dialect) -> bool {
    match dialect {
        Dialect::MySql => one.eq_ignore_ascii_case(other),
        Dialect::Postgres => one == other,
    }
}

fn missing(name: &str, dialect: Dialect) -> SqlError {
    let state = if dialect == Dialect::MySql { SqlState("42000") } else { SqlState("3B001") };
    SqlError::new(state, format!("there is no savepoint {name}"))
}
