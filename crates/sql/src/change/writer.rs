//! Rows and what hangs on them: index entries, exclusions, foreign keys.
//!
//! Whatever statement a row changes by, it changes here, so that entries and references never part from rows:
//!
//! ```text
//!   insert   put row            put every entry                          ask for the row's parents, at the end of the statement
//!   update   put row [columns]  delete and put the entries that differ   the same, and children of the old key follow
//!   delete   delete row         delete every entry                       children of the old key follow
//! ```
//!
//! An UPDATE that changes the primary key is the old row's end and the new row's beginning. Unique entries are looked at with a lock before
//! they are put; others are put blindly. Foreign keys wait until all rows of the statement are written ([`settle`](super::settle)).

use crate::catalog::{Catalog, Index, Table};
use crate::constraint::{Entry, Rules};
use crate::execute::Execution;
use crate::key;
use crate::stop::Stop;
use crate::storage::{Columns, Lock, Row, RowKey, SpaceId, Write};
use crate::tree::change::{Arbiter, ChildCheck};
use crate::violation;
use skew_value::{Datum, Dialect, SqlError, SqlState};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The rows that one statement changes.
pub(crate) struct Writer<'run, 'storage> {
    pub(crate) execution: &'run mut Execution<'storage>,
    pub(crate) catalog: Arc<Catalog>,
    rules: BTreeMap<SpaceId, Arc<Rules>>,
    /// Rows whose key went, and what became of them: their children follow.
    pub(super) parents: VecDeque<ParentChange>,
    /// Rows that need a parent.
    pub(super) children: Vec<ChildCheck>,
    /// What waits for the commit.
    pub(super) deferred: Vec<ChildCheck>,
}

/// A row that foreign keys may point to changed.
#[derive(Clone, Debug)]
pub(super) struct ParentChange {
    pub(super) table: Arc<Table>,
    pub(super) old: Row,
    /// What it became; none: it went.
    pub(super) new: Option<Row>,
}

impl<'run, 'storage> Writer<'run, 'storage> {
    /// A writer for one statement.
    pub(crate) fn new(execution: &'run mut Execution<'storage>, catalog: Arc<Catalog>) -> Writer<'run, 'storage> {
        Writer {
            execution,
            catalog,
            rules: BTreeMap::new(),
            parents: VecDeque::new(),
            children: Vec::new(),
            deferred: Vec::new(),
        }
    }

    /// The dialect.
    pub(crate) fn dialect(&self) -> Dialect {
        self.execution.dialect()
    }

    /// The rules of a table, bound when first asked for.
    pub(crate) fn rules(&mut self, table: &Arc<Table>) -> Result<Arc<Rules>, SqlError> {
        if let Some(rules) = self.rules.get(&table.space) {
            return Ok(rules.clone());
        }
        let rules = Arc::new(Rules::bind(table, &self.catalog, self.execution.dialect())?);
        self.rules.insert(table.space, rules.clone());
        Ok(rules)
    }

    /// A row as it is now, with a lock.
    pub(crate) fn lock(&mut self, table: &Table, key: &RowKey) -> Result<Option<Row>, Stop> {
        let row = self.execution.storage().get(key, &Columns::All, Lock::Update)?;
        Ok(row.map(|row| table.complete(&row)))
    }

    /// The key of a new row: from its values, or one that no other row has.
    pub(crate) fn new_key(&mut self, table: &Table, row: &[Datum]) -> Result<RowKey, Stop> {
        match key::row_key(table, row)? {
            Some(key) => Ok(key),
            None => {
                let part = self.execution.storage().fresh_key(table.space)?;
                Ok(RowKey { space: table.space, parts: Arc::from([part]) })
            }
        }
    }

    /// The rows that stand where a new row should: by each key that is taken, primary key first. Keys are looked at with a lock, until
    /// one that is taken settles it. With ON CONFLICT some of them decide what becomes of the row.
    pub(crate) fn conflicts(
        &mut self,
        rules: &Rules,
        key: &RowKey,
        entries: &[Option<Entry>],
        (settles, decides): (&dyn Fn(Arbiter) -> bool, &dyn Fn(Arbiter) -> bool),
    ) -> Result<Vec<(Arbiter, RowKey)>, Stop> {
        let table = &rules.table;
        let mut found = Vec::new();
        if table.primary_key.is_some() && self.execution.storage().get_taken(key, decides(Arbiter::Primary))?.is_some()
        {
            found.push((Arbiter::Primary, key.clone()));
        }
        for (place, entry) in entries.iter().enumerate() {
            if found.iter().any(|(arbiter, _)| settles(*arbiter)) {
                break;
            }
            let arbiter = Arbiter::Index(place);
            if let Some(target) = self.taken(table, &table.indexes[place], entry.as_ref(), decides(arbiter))? {
                found.push((arbiter, target));
            }
        }
        Ok(found)
    }

    /// The row that has an entry's place in a unique index already.
    fn taken(
        &mut self,
        table: &Table,
        index: &Index,
        entry: Option<&Entry>,
        decides: bool,
    ) -> Result<Option<RowKey>, Stop> {
        let Some((key, _)) = entry.filter(|(key, _)| key::stands_alone(index, key)) else { return Ok(None) };
        if let Some(standing) = self.execution.storage().standing_entry(key)? {
            let row = key::entry_target(table, index, key, &standing)?;
            self.execution.storage().await_row(&row)?;
        }
        let Some(other) = self.execution.storage().get_taken(key, decides)? else { return Ok(None) };
        let target = key::entry_target(table, index, key, &other)?;
        if decides {
            self.execution.storage().decide_by(&target)?;
        }
        Ok(Some(target))
    }

    /// The refusal of a row whose key is taken.
    pub(crate) fn duplicate(&self, rules: &Rules, arbiter: Arbiter, row: &[Datum]) -> Stop {
        let table = &rules.table;
        let (name, columns, values) = match (arbiter, &table.primary_key) {
            (Arbiter::Index(place), _) => {
                let index = &table.indexes[place];
                let (columns, values) = rules.described_key(index, row);
                (index.name.clone(), columns, values)
            }
            (Arbiter::Primary, Some(primary_key)) => {
                let columns = primary_key.columns.iter().map(|&place| table.columns[place].name.clone()).collect();
                let values = primary_key.columns.iter().map(|&place| row[place].clone()).collect();
                (primary_key.name.clone(), columns, values)
            }
            (Arbiter::Primary, None) => (String::new(), Vec::new(), Vec::new()),
        };
        violation::duplicate(table, &name, &columns, &values, self.execution.style()).into()
    }

    /// Writes a row that has no conflict.
    pub(crate) fn put_new(
        &mut self,
        rules: &Rules,
        key: &RowKey,
        row: &Row,
        entries: Vec<Option<Entry>>,
    ) -> Result<(), Stop> {
        self.execution.storage().put(key, Write::Row(row.clone()))?;
        self.put_key_entry(&rules.table, key)?;
        for (entry_key, entry) in entries.into_iter().flatten() {
            self.execution.storage().put(&entry_key, Write::Row(entry))?;
        }
        self.check_exclusions(rules, key, row)?;
        self.expect_parents(rules, key, row, None);
        Ok(())
    }

    /// The entry of a row's primary key, where foreign keys point to it.
    pub(crate) fn put_key_entry(&mut self, table: &Table, key: &RowKey) -> Result<(), Stop> {
        match table.key_entry(key) {
            Some(entry) => self.execution.storage().put(&entry, Write::Row(Row::from([]))),
            None => Ok(()),
        }
    }

    fn delete_key_entry(&mut self, table: &Table, key: &RowKey) -> Result<(), Stop> {
        match table.key_entry(key) {
            Some(entry) => self.execution.storage().put(&entry, Write::Delete),
            None => Ok(()),
        }
    }

    /// Inserts a row that is checked: an error if a key is taken.
    pub(crate) fn insert(&mut self, rules: &Rules, row: Row) -> Result<(), Stop> {
        let key = self.new_key(&rules.table, &row)?;
        let entries = rules.entries(&key, &row, self.execution)?;
        if let Some((arbiter, _)) = self.conflicts(rules, &key, &entries, (&|_| false, &|_| false))?.first() {
            return Err(self.duplicate(rules, *arbiter, &row));
        }
        self.put_new(rules, &key, &row, entries)
    }

    /// Changes a row that is locked: generates, checks, writes the row and the entries that differ. The row it became.
    pub(crate) fn update(
        &mut self,
        rules: &Rules,
        key: &RowKey,
        old: &Row,
        mut new: Vec<Datum>,
        assigned: &[usize],
    ) -> Result<Row, Stop> {
        let mut columns = assigned.to_vec();
        columns.extend(rules.generate(&mut new, self.execution)?);
        columns.sort_unstable();
        columns.dedup();
        rules.check_row(&new, self.execution)?;
        let new: Row = new.into();
        let new_key = key::row_key(&rules.table, &new)?.unwrap_or_else(|| key.clone());
        let old_entries = rules.entries(key, old, self.execution)?;
        let new_entries = rules.entries(&new_key, &new, self.execution)?;
        if new_key == *key {
            self.execution.storage().put(key, Write::Columns(new.clone(), columns))?;
        } else {
            self.execution.storage().put(key, Write::Delete)?;
            self.delete_key_entry(&rules.table, key)?;
            if self.execution.storage().get(&new_key, &Columns::All, Lock::Update)?.is_some() {
                return Err(self.duplicate(rules, Arbiter::Primary, &new));
            }
            self.execution.storage().put(&new_key, Write::Row(new.clone()))?;
            self.put_key_entry(&rules.table, &new_key)?;
        }
        self.move_entries(rules, &new, old_entries, new_entries)?;
        self.check_exclusions(rules, &new_key, &new)?;
        self.expect_parents(rules, &new_key, &new, Some(old));
        self.parents.push_back(ParentChange { table: rules.table.clone(), old: old.clone(), new: Some(new.clone()) });
        Ok(new)
    }

    fn move_entries(
        &mut self,
        rules: &Rules,
        row: &[Datum],
        old: Vec<Option<Entry>>,
        new: Vec<Option<Entry>>,
    ) -> Result<(), Stop> {
        for (place, (old, new)) in old.into_iter().zip(new).enumerate() {
            if old == new {
                continue;
            }
            let same_place = matches!((&old, &new), (Some((old, _)), Some((new, _))) if old == new);
            if let Some((key, _)) = old.filter(|_| !same_place) {
                self.execution.storage().put(&key, Write::Delete)?;
            }
            let index = &rules.table.indexes[place];
            if !same_place && self.taken(&rules.table, index, new.as_ref(), false)?.is_some() {
                return Err(self.duplicate(rules, Arbiter::Index(place), row));
            }
            if let Some((key, entry)) = new {
                self.execution.storage().put(&key, Write::Row(entry))?;
            }
        }
        Ok(())
    }

    /// Deletes a row that is locked.
    pub(crate) fn delete(&mut self, rules: &Rules, key: &RowKey, old: &Row) -> Result<(), Stop> {
        let entries = rules.entries(key, old, self.execution)?;
        self.execution.storage().put(key, Write::Delete)?;
        self.delete_key_entry(&rules.table, key)?;
        for (entry_key, _) in entries.into_iter().flatten() {
            self.execution.storage().put(&entry_key, Write::Delete)?;
        }
        self.parents.push_back(ParentChange { table: rules.table.clone(), old: old.clone(), new: None });
        Ok(())
    }

    /// Looks at a row that stands already, for constraints that are new.
    pub(crate) fn check_standing(&mut self, rules: &Rules, key: &RowKey, row: &[Datum]) -> Result<(), Stop> {
        self.check_exclusions(rules, key, row)?;
        self.expect_parents(rules, key, row, None);
        Ok(())
    }

    fn check_exclusions(&mut self, rules: &Rules, key: &RowKey, row: &[Datum]) -> Result<(), Stop> {
        rules.exclusions().iter().try_for_each(|exclusion| exclusion.check(&rules.table, key, row, self.execution))
    }

    /// Notes that a row needs its parents, where it did not need the same ones before.
    fn expect_parents(&mut self, rules: &Rules, key: &RowKey, row: &[Datum], old: Option<&[Datum]>) {
        for foreign_key in &rules.table.foreign_keys {
            let unchanged = |old: &[Datum]| foreign_key.columns.iter().all(|&place| old[place] == row[place]);
            if old.is_some_and(unchanged) || foreign_key.columns.iter().any(|&place| row[place].is_null()) {
                continue;
            }
            let check = ChildCheck { table: rules.table.name.clone(), key: foreign_key.name.clone(), row: key.clone() };
            if foreign_key.deferred { self.deferred.push(check) } else { self.children.push(check) }
        }
    }
}

/// A second change of one row by one upsert.
pub(crate) fn twice() -> SqlError {
    SqlError::new(SqlState::CARDINALITY, "ON CONFLICT DO UPDATE command cannot affect row a second time").with_hint(
        "ensure that no rows proposed for insertion within the same command have duplicate constrained values",
    )
}
