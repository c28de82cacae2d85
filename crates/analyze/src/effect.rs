//! What a statement does to single rows: the form that all engines of this crate start from.
//!
//! A touch of a table, as `sql` tells it, says what stands in the statement. An effect says what that comes to, constraints included:
//!
//! ```text
//!   INSERT INTO item VALUES (i, s, 'bolt')       item/i          comes into being: its existence is read, all of it is written
//!                                                item@name/'bolt'  its entry of a unique index, likewise
//!                                                shop/s          the parent: its existence and key are read under KEY SHARE
//!   SELECT n FROM item WHERE name = 'bolt'       item@name/'bolt'  the entry is read
//!                                                item, by name   existence, name and n are read
//!   DELETE FROM shop WHERE id = s                shop/s          goes
//!                                                item            is searched for children
//! ```
//!
//! A foreign key that is deferred does so when the transaction commits.
//!
//! Whether a row exists is a column like any other, [`EXISTENCE`]: INSERT and DELETE write it, whoever looks for the row reads it. An effect on
//! rows that no key tells is a *search*: it may meet any row, and no argument may rest on its meeting a certain one.

use skew_sql::Catalog;
use skew_sql::Purpose;
use skew_sql::catalog::Table;
use skew_sql::touched::{KnownOfRows, ParentKey, RowsTouched, TableTouch, TouchKind, ValueOrigin, WhenTaken};
use std::collections::BTreeSet;

/// The column of whether a row is there.
pub const EXISTENCE: &str = "(exists)";

/// How a row is locked beyond what its writes lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LockStrength {
    /// Not at all.
    None,
    /// FOR KEY SHARE, and what a foreign key does to its parent: nobody may delete the row or change its key.
    KeyShare,
    /// FOR SHARE: nobody may change the row.
    Share,
    /// FOR UPDATE and FOR NO KEY UPDATE: nobody may change or lock it.
    Update,
}

/// Which rows an effect is on.
#[derive(Clone, PartialEq, Debug)]
pub enum EffectTarget {
    /// The row with these values in the columns of a key: the primary key, or a unique index by name.
    Key(Option<String>, Vec<ValueOrigin>),
    /// Any rows.
    Search,
}

/// When the writes and locks of an effect happen; its reads happen anyway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happens {
    /// Always.
    Always,
    /// If the row is there.
    IfThere,
    /// If the row is there and fulfils what else the statement asks of it.
    IfFits,
}

/// Who looks at rows, and so at which state, and whether PostgreSQL remembers it at serializable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Looking {
    /// The statement, at what its level lets it see.
    Statement,
    /// ON CONFLICT, at the same; but nobody remembers that it has looked.
    Forgotten,
    /// A unique or foreign key, at what is there now, at every level; nobody remembers that either.
    Latest,
    /// The same for a row that comes into being.
    Inserting,
}

/// What a statement does to one row, or to some rows of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct RowEffect {
    /// The table; entries of a unique index stand under `table@index`.
    pub table: String,
    /// Which rows.
    pub target: EffectTarget,
    /// The columns whose values matter.
    pub reads: BTreeSet<String>,
    /// The columns that get values.
    pub writes: BTreeSet<String>,
    /// The lock.
    pub lock: LockStrength,
    /// When.
    pub happens: Happens,
    /// Whether the row comes into being, so that it was not there before.
    pub inserts: bool,
    /// Whether what is read besides existence and key decides about something: a blind write by key reads nothing of its row.
    pub looks: bool,
    /// Whether it happens when the transaction commits: a foreign key that is DEFERRABLE INITIALLY DEFERRED.
    pub at_commit: bool,
    /// Who looks: the statement, or a constraint.
    pub(crate) looking: Looking,
    /// What else is known of the rows: of those that are found, what the condition says; of those that come into being, all values.
    pub known: KnownOfRows,
}

/// The ways that a statement can go, the usual one first: `ON CONFLICT` has two.
pub type Ways = Vec<Vec<RowEffect>>;

/// Tells effects, with what the catalog says of constraints.
pub(crate) struct Effects<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) unsupported: Vec<String>,
}

fn set<'a>(names: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
    names.into_iter().cloned().collect()
}

fn existence() -> BTreeSet<String> {
    BTreeSet::from([EXISTENCE.to_owned()])
}

impl RowEffect {
    fn read(table: String, target: EffectTarget, reads: BTreeSet<String>) -> RowEffect {
        let (writes, lock, happens) = (BTreeSet::new(), LockStrength::None, Happens::Always);
        // Who searches on behalf of a constraint means certain rows, only not which.
        let known = KnownOfRows { more: target == EffectTarget::Search, ..KnownOfRows::default() };
        let (inserts, looks, at_commit, looking) = (false, true, false, Looking::Statement);
        RowEffect { table, target, reads, writes, lock, happens, inserts, looks, at_commit, looking, known }
    }

    /// An entry of a unique index that goes or comes, whichever it is.
    fn some_entry(table: &Table, index: &str, happens: Happens) -> RowEffect {
        let entry = RowEffect::read(entries(&table.name, index), EffectTarget::Search, existence());
        RowEffect { happens, looking: Looking::Latest, ..entry.writing(existence()) }
    }

    /// Whether this is what a statement is told the count of: rows that it changes, not those of indexes, parents and children.
    pub(crate) fn changes_rows(&self) -> bool {
        let is_own = matches!(self.looking, Looking::Statement | Looking::Inserting) && !self.at_commit;
        is_own && !self.writes.is_empty() && !self.table.contains('@')
    }

    /// Whether it is a look of the statement at other rows than those that it changes. A foreign key looks, too, and an error is all that it does.
    pub(crate) fn decides(&self) -> bool {
        let is_key = self.table.contains('@') || self.lock == LockStrength::KeyShare || self.at_commit;
        self.looking == Looking::Statement && self.writes.is_empty() && !is_key
    }

    /// Whether it is a look that ON CONFLICT takes.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.looking == Looking::Forgotten && self.writes.is_empty()
    }

    fn writing(self, writes: BTreeSet<String>) -> RowEffect {
        RowEffect { writes, ..self }
    }
}

impl Effects<'_> {
    /// What a statement does, by what it touches and what it is for.
    pub(crate) fn of(&mut self, touches: &[TableTouch], purpose: Option<Purpose>) -> Ways {
        let mut ways: Ways = vec![Vec::new()];
        for touch in touches {
            let next = self.touch(touch, purpose);
            let joined = |way: &Vec<RowEffect>| -> Ways {
                next.iter().map(|more| way.iter().chain(more).cloned().collect()).collect()
            };
            ways = ways.iter().flat_map(joined).collect();
        }
        ways
    }

    fn touch(&mut self, touch: &TableTouch, purpose: Option<Purpose>) -> Ways {
        let Some(table) = self.catalog.tables.get(&touch.table).cloned() else {
            self.unsupported.push(format!("the table {}", touch.table));
            return vec![Vec::new()];
        };
        match &touch.kind {
            TouchKind::Read => vec![self.read(touch, &table)],
            TouchKind::Share if purpose == Some(Purpose::ReadForKeyShare) => vec![self.key_share(touch, &table)],
            TouchKind::Share | TouchKind::Lock => {
                let lock = if touch.kind == TouchKind::Share { LockStrength::Share } else { LockStrength::Update };
                let happens = if touch.guarded { Happens::IfFits } else { Happens::IfThere };
                let locked = |effect: RowEffect| match effect.table == touch.table {
                    true => RowEffect { lock, happens, ..effect },
                    false => effect,
                };
                vec![self.found(touch, &table).into_iter().map(locked).collect()]
            }
            TouchKind::Update(assigned) => vec![self.update(touch, &table, assigned)],
            TouchKind::Delete => vec![self.delete(touch, &table)],
            TouchKind::Insert(rows, taken) => self.insert(&table, rows.as_deref(), taken),
        }
    }

    /// FOR KEY SHARE holds on to the key alone. Of several rows one may be looked at before the statement waits for another, and one after that.
    fn key_share(&self, touch: &TableTouch, table: &Table) -> Vec<RowEffect> {
        let happens = if touch.guarded { Happens::IfFits } else { Happens::IfThere };
        let locked = |effect: RowEffect| match effect.table == touch.table {
            true => RowEffect { lock: LockStrength::KeyShare, happens, ..effect },
            false => effect,
        };
        let found = self.found(touch, table);
        let several = found.iter().filter(|effect| effect.table == touch.table).count() > 1;
        let first = if several { found.clone() } else { Vec::new() };
        first.into_iter().chain(found.into_iter().map(locked)).collect()
    }

    /// The same where it only looks. Of a row that is found by a unique index, its entry tells whether it is there and what stands in the
    /// columns of the index: whoever changes that changes the entry.
    fn read(&self, touch: &TableTouch, table: &Table) -> Vec<RowEffect> {
        let mut effects = self.found(touch, table);
        if let RowsTouched::Keys { index: Some(index), .. } = &touch.rows {
            let columns = columns_of(table, index);
            for effect in effects.iter_mut().filter(|effect| effect.table == touch.table) {
                effect.reads.retain(|column| column != EXISTENCE && !columns.contains(column));
            }
            effects.retain(|effect| !effect.reads.is_empty());
        }
        effects
    }

    /// The rows that a statement looks for, as reads; rows of the table itself come last.
    fn found(&self, touch: &TableTouch, table: &Table) -> Vec<RowEffect> {
        let mut reads = set(&touch.reads);
        reads.insert(EXISTENCE.to_owned());
        let RowsTouched::Keys { index, keys } = &touch.rows else {
            let effect = RowEffect::read(touch.table.clone(), EffectTarget::Search, reads);
            return vec![RowEffect { known: touch.known.clone(), ..effect }];
        };
        let columns = match index {
            None => table.key_columns(),
            Some(name) => columns_of(table, name),
        };
        let looks = touch.reads.iter().any(|column| !columns.contains(column));
        let mut effects = Vec::new();
        for key in keys {
            if let Some(index) = index {
                let target = EffectTarget::Key(None, key.clone());
                effects.push(RowEffect::read(entries(&touch.table, index), target, existence()));
            }
            let target = EffectTarget::Key(index.clone(), key.clone());
            let effect = RowEffect::read(touch.table.clone(), target, reads.clone());
            effects.push(RowEffect { looks, known: touch.known.clone(), ..effect });
        }
        effects
    }

    fn update(&mut self, touch: &TableTouch, table: &Table, assigned: &[(String, ValueOrigin)]) -> Vec<RowEffect> {
        let mut written = set(assigned.iter().map(|(column, _)| column));
        written.extend(table.computed_columns());
        let changes = |columns: &[String]| columns.iter().any(|column| written.contains(column));
        if table.has_exclusions() {
            self.unsupported.push("an EXCLUDE constraint".to_owned());
        }
        if changes(&table.key_columns()) {
            self.unsupported.push("an UPDATE of a primary key".to_owned());
        }
        let happens = if touch.guarded { Happens::IfFits } else { Happens::IfThere };
        let mut effects: Vec<RowEffect> = self.found(touch, table);
        let checked = self.checked(table, &written);
        for effect in effects.iter_mut().filter(|effect| effect.table == touch.table) {
            (effect.writes, effect.happens) = (written.clone(), happens);
            effect.looks |= !checked.is_empty();
            effect.reads.extend(checked.iter().cloned());
        }
        for (index, columns) in table.unique_keys() {
            if columns.is_empty() || changes(&columns) {
                // The entry that was there is not known; neither is the new one where a part of its key stays.
                effects.push(RowEffect::some_entry(table, &index, happens));
            }
        }
        for parent in self.catalog.parents_of(table).iter().filter(|parent| changes(&parent.columns)) {
            effects.extend(self.parent(parent, assigned).map(|effect| RowEffect { happens, ..effect }));
        }
        effects.extend(self.children(table, |columns| changes(columns)));
        effects
    }

    /// The other columns that constraints look at where these are written: those of CHECK and of foreign keys.
    fn checked(&self, table: &Table, written: &BTreeSet<String>) -> BTreeSet<String> {
        let foreign = self.catalog.parents_of(table).into_iter().map(|parent| parent.columns);
        let together = table.checked_columns().into_iter().chain(foreign);
        let concerned = together.filter(|columns| columns.iter().any(|column| written.contains(column)));
        concerned.flatten().filter(|column| !written.contains(column)).collect()
    }

    fn delete(&mut self, touch: &TableTouch, table: &Table) -> Vec<RowEffect> {
        let mut all = set(&table.column_names());
        all.insert(EXISTENCE.to_owned());
        let happens = if touch.guarded { Happens::IfFits } else { Happens::IfThere };
        let mut effects = self.found(touch, table);
        for effect in effects.iter_mut().filter(|effect| effect.table == touch.table) {
            (effect.writes, effect.happens) = (all.clone(), happens);
        }
        for (index, _) in table.unique_keys() {
            effects.push(RowEffect::some_entry(table, &index, happens));
        }
        let by_key = matches!(&touch.rows, RowsTouched::Keys { index: None, .. });
        if !by_key && table.has_indexes() {
            // Who comes along another index makes room for a primary key, and nobody sees that at serializable.
            let room = RowEffect::read(touch.table.clone(), EffectTarget::Search, existence());
            effects.push(RowEffect { happens, looking: Looking::Latest, ..room.writing(existence()) });
        }
        effects.extend(self.children(table, |_| true));
        effects
    }

    fn insert(&mut self, table: &Table, rows: Option<&[Vec<(String, ValueOrigin)>]>, taken: &WhenTaken) -> Ways {
        if table.has_exclusions() {
            self.unsupported.push("an EXCLUDE constraint".to_owned());
        }
        self.name_conflicts(table, rows, taken);
        let mut ways = vec![self.inserted(table, rows)];
        let arbiters: Vec<RowEffect> = ways[0].iter().filter(|effect| effect.inserts).cloned().collect();
        let looked = |effect: &RowEffect| RowEffect {
            looking: Looking::Forgotten,
            ..RowEffect::read(effect.table.clone(), effect.target.clone(), existence())
        };
        match taken {
            WhenTaken::Fails => {}
            WhenTaken::Skips => ways.push(arbiters.iter().map(looked).collect()),
            WhenTaken::Updates { reads, writes } => {
                let mut way: Vec<RowEffect> = arbiters.iter().map(looked).collect();
                let known = table.unique_keys().is_empty();
                let mut met = arbiters.iter().filter(|effect| effect.table == table.name);
                let target = met.next().filter(|_| known).map_or(EffectTarget::Search, |effect| effect.target.clone());
                let written = set(writes.iter().map(|(column, _)| column));
                let mut columns = set(reads);
                columns.extend(self.checked(table, &written));
                columns.insert(EXISTENCE.to_owned());
                way.push(RowEffect::read(table.name.clone(), target, columns).writing(written));
                ways.push(way);
            }
        }
        ways
    }

    /// Names what of ON CONFLICT is not understood: rows that each decide for themselves, and changes of what others refer to.
    fn name_conflicts(&mut self, table: &Table, rows: Option<&[Vec<(String, ValueOrigin)>]>, taken: &WhenTaken) {
        if *taken != WhenTaken::Fails && rows.is_none_or(|rows| rows.len() != 1) {
            self.unsupported.push("ON CONFLICT of several rows".to_owned());
        }
        let WhenTaken::Updates { writes, .. } = taken else { return };
        let is_written = |column: &String| writes.iter().any(|(name, _)| name == column);
        let parents = self.catalog.parents_of(table).into_iter().flat_map(|parent| parent.columns);
        let unique = table.unique_keys().into_iter().flat_map(|(_, columns)| columns);
        if table.key_columns().iter().cloned().chain(unique).chain(parents).any(|column| is_written(&column)) {
            self.unsupported.push("ON CONFLICT DO UPDATE of a key".to_owned());
        }
        if !table.computed_columns().is_empty() {
            self.unsupported.push("ON CONFLICT DO UPDATE of a table with computed columns".to_owned());
        }
    }

    fn inserted(&mut self, table: &Table, rows: Option<&[Vec<(String, ValueOrigin)>]>) -> Vec<RowEffect> {
        let mut all = set(&table.column_names());
        all.insert(EXISTENCE.to_owned());
        let new = |name: String, target: EffectTarget, writes: BTreeSet<String>| {
            let inserts = target != EffectTarget::Search;
            let (looks, looking) = (false, Looking::Inserting);
            RowEffect { inserts, looks, looking, ..RowEffect::read(name, target, existence()).writing(writes) }
        };
        let Some(rows) = rows else {
            let indexes = table.unique_keys().into_iter().map(|(index, _)| entries(&table.name, &index));
            let entries = indexes.map(|name| new(name, EffectTarget::Search, existence()));
            let parents = self.catalog.parents_of(table);
            let parents = parents.iter().map(|key| parent_read(key, EffectTarget::Search));
            return [new(table.name.clone(), EffectTarget::Search, all)]
                .into_iter()
                .chain(entries)
                .chain(parents)
                .collect();
        };
        let mut effects = Vec::new();
        for row in rows {
            let keys = table.key_columns();
            // Without a primary key the row gets one of its own.
            let key = if keys.is_empty() { vec![ValueOrigin::Unknown] } else { values(row, &keys) };
            let known = KnownOfRows { equal: row.clone(), ..KnownOfRows::default() };
            effects.push(RowEffect { known, ..new(table.name.clone(), EffectTarget::Key(None, key), all.clone()) });
            for (index, columns) in table.unique_keys() {
                // An entry with NULL is equal to no other, as a rule.
                let target = match columns.is_empty() || table.may_be_null(&columns) {
                    true => EffectTarget::Search,
                    false => EffectTarget::Key(None, values(row, &columns)),
                };
                effects.push(new(entries(&table.name, &index), target, existence()));
            }
            let parents = self.catalog.parents_of(table);
            effects.extend(parents.iter().filter_map(|parent| self.parent(parent, row)));
        }
        effects
    }

    /// What a new or changed child does to its parent.
    fn parent(&self, parent: &ParentKey, row: &[(String, ValueOrigin)]) -> Option<RowEffect> {
        let table = self.catalog.tables.get(&parent.parent)?;
        let known = parent.columns.iter().all(|column| row.iter().any(|(name, _)| name == column));
        let target = match known && table.key_columns() == parent.parent_columns {
            true => EffectTarget::Key(None, values(row, &parent.columns)),
            false => EffectTarget::Search,
        };
        Some(parent_read(parent, target))
    }

    /// The searches for children of rows that go, or whose key changes.
    fn children(&mut self, table: &Table, concerned: impl Fn(&[String]) -> bool) -> Vec<RowEffect> {
        let mut effects = Vec::new();
        for child in self.catalog.tables.values() {
            let keys = self.catalog.parents_of(child);
            for key in keys.iter().filter(|key| key.parent == table.name && concerned(&key.parent_columns)) {
                if key.cascades {
                    self.unsupported.push("a foreign key that changes children with their parent".to_owned());
                }
                let mut reads = set(&key.columns);
                reads.insert(EXISTENCE.to_owned());
                let search = RowEffect::read(child.name.clone(), EffectTarget::Search, reads);
                effects.push(RowEffect { at_commit: key.deferred, looking: Looking::Latest, ..search });
            }
        }
        effects
    }
}

fn parent_read(parent: &ParentKey, target: EffectTarget) -> RowEffect {
    let mut reads = set(&parent.parent_columns);
    reads.insert(EXISTENCE.to_owned());
    let read = RowEffect::read(parent.parent.clone(), target, reads);
    RowEffect { lock: LockStrength::KeyShare, at_commit: parent.deferred, ..read }
}

fn entries(table: &str, index: &str) -> String {
    format!("{table}@{index}")
}

fn columns_of(table: &Table, index: &str) -> Vec<String> {
    table.unique_keys().into_iter().find(|(name, _)| name == index).map(|(_, columns)| columns).unwrap_or_default()
}

fn values(row: &[(String, ValueOrigin)], columns: &[String]) -> Vec<ValueOrigin> {
    let value = |column: &String| row.iter().find(|(name, _)| name == column).map(|(_, value)| value.clone());
    columns.iter().map(|column| value(column).unwrap_or(ValueOrigin::Unknown)).collect()
}
