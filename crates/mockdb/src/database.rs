//! A store with a catalog: what SQL connections share.
//!
//! The catalog is outside the weak choice: everybody sees the latest one. A transaction that changes it works on a catalog of its own, and
//! publishes that when it commits; two that change it at the same time would lose one of the changes, so the second is refused.

use crate::keys::SpaceShape;
use crate::store::Store;
use skew_sql::Catalog;
use std::sync::Arc;

/// A store and what is in it.
pub struct Database {
    /// The store.
    pub store: Store,
    /// What exists, as the last commit left it. Its version and its numbers are ahead of every catalog that a transaction has for
    /// itself, so that a number is never used twice even when what it was used for is rolled back.
    pub(crate) catalog: Arc<Catalog>,
    /// How often a transaction published another catalog.
    pub(crate) generation: u64,
    /// Whether levels that clients ask for count; else all transactions run at the store's.
    pub obeys_levels: bool,
}

impl Database {
    /// A database over a store that may still be loading.
    pub fn new(mut store: Store, catalog: Arc<Catalog>) -> Database {
        store.describe_catalog(&catalog);
        Database { store, catalog, generation: 0, obeys_levels: true }
    }

    /// What exists.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
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

    /// A transaction's own catalog becomes everybody's.
    pub(crate) fn publish(&mut self, own: &Catalog) {
        let version = own.version.max(self.catalog.version) + 1;
        let next_number = own.next_number.max(self.catalog.next_number);
        self.catalog = Arc::new(Catalog { version, next_number, ..own.clone() });
        self.generation += 1;
    }
}

impl Store {
    /// Says how the keys and rows of all tables and indexes are told in the history.
    pub fn describe_catalog(&mut self, catalog: &Catalog) {
        for table in catalog.tables.values() {
            let key = table.primary_key.as_ref().map_or(&[][..], |key| &key.columns);
            let columns = table.columns.iter().enumerate();
            let columns = columns.map(|(place, column)| (column.name.clone(), key.contains(&place))).collect();
            self.describe(table.space, SpaceShape { name: table.name.clone(), columns, index: false });
            for index in &table.indexes {
                let name = format!("{}@{}", table.name, index.name);
                self.describe(index.space, SpaceShape { name, columns: Vec::new(), index: true });
            }
        }
    }
}
