//! A store with a catalog: what SQL connections share.
//!
//! The catalog is outside the weak choice: everybody sees the latest one. A transaction that changes it works on a catalog of its own, and
//! publishes that when it commits; two that change it at the same time would lose one of the changes, so the second is refused.
//!
//! A change of a table and a change of its rows at the same time are two such changes too: the new table does not have the row, or
//! the row does not have what the new table asks of it. There is no lock on tables, which histories would have to tell; instead
//! whoever commits second is refused:
//!
//! ```text
//!   a  INSERT INTO item …                              COMMIT    refused: item changed since it wrote
//!   b                      ALTER TABLE item … COMMIT
//!
//!   a                      INSERT INTO item … COMMIT
//!   b  ALTER TABLE item …                              COMMIT    refused: item's rows changed since it looked
//! ```
//!
//! Whoever only reads goes on with the table as it was when its transaction began, unless the level shows each statement the latest.

use crate::store::Store;
use crate::tape::Tape;
use skew_history::{IsolationLevel, SessionId};
use skew_sql::session::DeclaredLevel;
use skew_sql::{Catalog, SpaceId};
use skew_value::Dialect;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// A store and what is in it.
pub struct Database {
    /// The store.
    pub store: Store,
    /// What exists, as the last commit left it. Its version and its numbers are ahead of every catalog that a transaction has for
    /// itself, so that a number is never used twice even when what it was used for is rolled back.
    catalog: Arc<Catalog>,
    /// How many transactions have committed.
    commits: u64,
    /// Which of them last published another catalog, wrote into a space, changed the table of a space.
    published_at: u64,
    written_at: BTreeMap<SpaceId, u64>,
    altered_at: BTreeMap<SpaceId, u64>,
    /// The SQL of clients that connect over the wire.
    pub dialect: Dialect,
    /// Whether levels that clients ask for count; else all transactions run at the store's.
    pub obeys_levels: bool,
    /// Levels that were asked for, were not obeyed, and were told of.
    pub overruled: Overruled,
    /// What clients say over the wire, as lines of a log of PostgreSQL's, where somebody wants to know.
    pub statements: Option<Tape>,
}

/// Levels that clients asked for and did not get, as far as somebody was told of them. Clones share it, so that the databases of many
/// runs tell of each level once.
#[derive(Clone, Default, Debug)]
pub struct Overruled(Arc<Mutex<BTreeSet<DeclaredLevel>>>);

impl Overruled {
    /// Whether nobody was told of this level yet; now somebody is.
    pub(crate) fn is_news(&self, level: DeclaredLevel) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(level)
    }
}

impl Database {
    /// A database over a store that may still be loading.
    pub fn new(mut store: Store, catalog: Arc<Catalog>) -> Database {
        store.describe_catalog(&catalog);
        Database {
            store,
            catalog,
            commits: 0,
            published_at: 0,
            written_at: BTreeMap::new(),
            altered_at: BTreeMap::new(),
            dialect: Dialect::Postgres,
            obeys_levels: true,
            overruled: Overruled::default(),
            statements: None,
        }
    }

    /// What exists.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// How many transactions have committed.
    pub(crate) fn commits(&self) -> u64 {
        self.commits
    }

    /// Whether another catalog was published since this many commits.
    pub(crate) fn published_since(&self, commits: u64) -> bool {
        self.published_at > commits
    }

    /// Numbers that a transaction's own catalog has used are used.
    pub(crate) fn reserve_numbers(&mut self, own: &Catalog) {
        if own.next_number > self.catalog.next_number {
            Arc::make_mut(&mut self.catalog).next_number = own.next_number;
        }
    }

    /// A transaction's own catalog is gone: statements that were prepared against it must be prepared again.
    pub(crate) fn forget_catalog(&mut self, own: &Catalog) {
        self.reserve_numbers(own);
        let version = own.version.max(self.catalog.version) + 1;
        Arc::make_mut(&mut self.catalog).version = version;
    }

    /// The tables that a transaction's own catalog has otherwise, or no longer.
    fn altered_spaces<'a>(&'a self, own: &'a Catalog) -> impl Iterator<Item = SpaceId> + 'a {
        let kept = |name: &str, table| own.tables.get(name).is_some_and(|known| Arc::ptr_eq(known, table));
        self.catalog.tables.iter().filter(move |(name, table)| !kept(name, table)).map(|(_, table)| table.space)
    }

    /// Whether a table was changed that a transaction wrote into, which it first did after this many commits.
    pub(crate) fn altered_since(&self, wrote_at: u64, written: &BTreeSet<SpaceId>) -> bool {
        written.iter().any(|space| self.altered_at.get(space).is_some_and(|&altered| altered > wrote_at))
    }

    /// Whether rows were changed of a table that a transaction changes, which it first did after this many commits.
    pub(crate) fn written_since(&self, defined_at: u64, own: &Catalog) -> bool {
        self.altered_spaces(own).any(|space| self.written_at.get(&space).is_some_and(|&written| written > defined_at))
    }

    /// A transaction that wrote into these spaces has committed.
    pub(crate) fn note_commit(&mut self, written: BTreeSet<SpaceId>) {
        self.commits += 1;
        self.written_at.extend(written.into_iter().map(|space| (space, self.commits)));
    }

    /// The latest catalog, but tables whose rows moved meanwhile as they are in another one; nothing if there are no such tables.
    pub(crate) fn catalog_with_tables_of(&self, own: &Catalog) -> Option<Catalog> {
        let moved = |table: &&Arc<skew_sql::catalog::Table>| {
            self.catalog.tables.get(&table.name).is_some_and(|latest| latest.space != table.space)
        };
        let kept: Vec<_> = own.tables.values().filter(moved).cloned().collect();
        if kept.is_empty() {
            return None;
        }
        let mut catalog = Catalog::clone(&self.catalog);
        catalog.version = own.version.max(catalog.version) + 1;
        catalog.tables.extend(kept.into_iter().map(|table| (table.name.clone(), table)));
        Some(catalog)
    }

    /// A transaction's own catalog becomes everybody's.
    pub(crate) fn publish(&mut self, own: &Catalog) {
        let altered: Vec<SpaceId> = self.altered_spaces(own).collect();
        self.altered_at.extend(altered.into_iter().map(|space| (space, self.commits)));
        let version = own.version.max(self.catalog.version) + 1;
        let next_number = own.next_number.max(self.catalog.next_number);
        self.catalog = Arc::new(Catalog { version, next_number, ..own.clone() });
        self.published_at = self.commits;
    }
}

impl Store {
    /// The spaces that the open transaction of a session has written into.
    pub(crate) fn written_spaces(&self, session: SessionId) -> BTreeSet<SpaceId> {
        let writes = self.transaction(session).ok().map(|transaction| transaction.writes().keys());
        writes.into_iter().flatten().map(|&key| self.past().keys().row_of(key).space).collect()
    }

    /// Whether the open transaction of a session has written anything.
    pub(crate) fn has_written(&self, session: SessionId) -> bool {
        self.transaction(session).is_ok_and(|transaction| !transaction.writes().is_empty())
    }

    /// Whether the open transaction of a session sees one state of the database rather than a newer one with each statement.
    pub(crate) fn sees_one_state(&self, session: SessionId) -> bool {
        if let Some(engine) = self.engine() {
            return engine.is_repeatable(session);
        }
        self.transaction(session).is_ok_and(|transaction| transaction.level().implies(IsolationLevel::ReadAtomic))
    }
}
