//! The keys of a store: rows, index entries and cells, each with a number and a name for the history.
//!
//! ```text
//!   RowKey { space of "account", parts: [7] }     ──>  KeyId(3)   "account/7"
//!   … its physical column 1, "balance"            ──>  KeyId(9)   "account/7#balance"     (granularity cell)
//!   RowKey { space of "account@owner", [ann, 7] } ──>  KeyId(4)   "account@owner/ann/7"
//! ```
//!
//! Names never change and never come twice: a table that is created again gets a suffix (`account~2`), a table that is renamed keeps the
//! name under which its keys first appeared. A key is *born* when it is first written: scans before
//! that saw its absence without knowing it. A space keeps its born keys sorted, which is what scans walk over.

use rustc_hash::{FxHashMap, FxHashSet};
use skew_history::KeyId;
use skew_sql::{KeyPart, RowKey, SpaceId};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// What a space is to the reader of a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpaceShape {
    /// What its keys' names start with: `account`, `account@owner`; empty: keys have no first part.
    pub name: String,
    /// The names of the physical columns of a table's rows, and which of them the key repeats; nothing for an index.
    pub columns: Vec<(String, bool)>,
    /// Whether its entries are an index's: they have no columns and no cells.
    pub index: bool,
}

/// What a key is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyKind {
    /// A row, or at the granularity of cells whether it exists.
    Row,
    /// A physical column of a row.
    Cell(u32),
}

#[derive(Debug)]
struct KeyEntry {
    name: Arc<str>,
    row: RowKey,
    kind: KeyKind,
    born: bool,
}

#[derive(Debug)]
struct Space {
    name: String,
    shape: SpaceShape,
    numbers: FxHashMap<Arc<[KeyPart]>, KeyId>,
    /// Those that scans look at.
    born: BTreeMap<Arc<[KeyPart]>, KeyId>,
}

/// All keys of a store.
#[derive(Default, Debug)]
pub(crate) struct KeyTable {
    entries: Vec<KeyEntry>,
    cells: FxHashMap<(KeyId, u32), KeyId>,
    spaces: BTreeMap<SpaceId, Space>,
    space_names: FxHashSet<String>,
    names: FxHashSet<Arc<str>>,
}

impl KeyTable {
    /// Says what a space is. Its name and those of its columns are final, because a version is told in one way by whoever wrote it and by
    /// all who read it; columns may be added.
    pub(crate) fn describe(&mut self, id: SpaceId, shape: SpaceShape) {
        if let Some(space) = self.spaces.get_mut(&id) {
            let known = space.shape.columns.len();
            space.shape.columns.extend(shape.columns.into_iter().skip(known));
            return;
        }
        let wanted = KeyPart::Text(shape.name.as_str().into()).to_string();
        let mut name = wanted.clone();
        for again in 2.. {
            if self.space_names.insert(name.clone()) {
                break;
            }
            name = format!("{wanted}~{again}");
        }
        self.spaces.insert(id, Space { name, shape, numbers: FxHashMap::default(), born: BTreeMap::new() });
    }

    pub(crate) fn shape(&self, id: SpaceId) -> Option<&SpaceShape> {
        self.spaces.get(&id).map(|space| &space.shape)
    }

    fn space(&mut self, id: SpaceId) -> &mut Space {
        if !self.spaces.contains_key(&id) {
            let name = format!("space{}", id.0);
            self.describe(id, SpaceShape { name, columns: Vec::new(), index: false });
        }
        self.spaces.get_mut(&id).expect("a space that was just described")
    }

    /// The number of a row.
    pub(crate) fn row(&mut self, row: &RowKey) -> KeyId {
        let space = self.space(row.space);
        if let Some(&key) = space.numbers.get(&row.parts) {
            return key;
        }
        let name = joined(&space.name, &row.parts);
        let key = self.add(name, row.clone(), KeyKind::Row);
        self.space(row.space).numbers.insert(Arc::clone(&row.parts), key);
        key
    }

    /// The number of a cell of a row.
    pub(crate) fn cell(&mut self, row: KeyId, column: u32) -> KeyId {
        if let Some(&cell) = self.cells.get(&(row, column)) {
            return cell;
        }
        let entry = &self.entries[row.index()];
        let columns = self.spaces.get(&entry.row.space).map_or(&[][..], |space| &space.shape.columns);
        let column_name = match columns.get(column as usize) {
            Some((name, _)) => KeyPart::Text(name.as_str().into()).to_string(),
            None => column.to_string(),
        };
        let (name, row_key) = (format!("{}#{column_name}", entry.name), entry.row.clone());
        let cell = self.add(name, row_key, KeyKind::Cell(column));
        self.cells.insert((row, column), cell);
        cell
    }

    /// The number of a cell, if it ever had one.
    pub(crate) fn known_cell(&self, row: KeyId, column: u32) -> Option<KeyId> {
        self.cells.get(&(row, column)).copied()
    }

    /// Two keys may look alike as text, such as the number 3 and the text `3`: names must not.
    fn add(&mut self, wanted: String, row: RowKey, kind: KeyKind) -> KeyId {
        let mut name: Arc<str> = wanted.as_str().into();
        for again in 2.. {
            if self.names.insert(Arc::clone(&name)) {
                break;
            }
            name = format!("{wanted}~{again}").into();
        }
        self.entries.push(KeyEntry { name, row, kind, born: false });
        KeyId(self.entries.len() as u32 - 1)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn name(&self, key: KeyId) -> &Arc<str> {
        &self.entries[key.index()].name
    }

    pub(crate) fn row_of(&self, key: KeyId) -> &RowKey {
        &self.entries[key.index()].row
    }

    pub(crate) fn kind(&self, key: KeyId) -> KeyKind {
        self.entries[key.index()].kind
    }

    /// Says that a key is written from now on; whether that is new.
    pub(crate) fn bear(&mut self, key: KeyId) -> bool {
        let entry = &mut self.entries[key.index()];
        if std::mem::replace(&mut entry.born, true) {
            return false;
        }
        if entry.kind == KeyKind::Row
            && let Some(space) = self.spaces.get_mut(&entry.row.space)
        {
            space.born.insert(Arc::clone(&entry.row.parts), key);
        }
        true
    }

    /// How many keys scans may look at.
    pub(crate) fn born_count(&self) -> usize {
        self.spaces.values().map(|space| space.born.len()).sum()
    }

    /// A key of which nothing is left but its deletion, as good as if it had never been: until it is written again.
    pub(crate) fn bury(&mut self, key: KeyId) {
        let entry = &mut self.entries[key.index()];
        entry.born = false;
        if let Some(space) = self.spaces.get_mut(&entry.row.space).filter(|_| entry.kind == KeyKind::Row) {
            space.born.remove(&entry.row.parts);
        }
    }

    /// What the names of all keys of a space with this prefix start with.
    pub(crate) fn prefix_name(&mut self, id: SpaceId, prefix: &[KeyPart]) -> String {
        let mut name = joined(&self.space(id).name, prefix);
        if !name.is_empty() {
            name.push('/');
        }
        name
    }

    /// The born keys of a space that start with a prefix and whose next part is at least `low`, in the order of their parts.
    pub(crate) fn from<'a>(
        &'a self,
        id: SpaceId,
        prefix: &'a [KeyPart],
        low: Option<&KeyPart>,
    ) -> impl Iterator<Item = (&'a Arc<[KeyPart]>, KeyId)> + 'a {
        let start: Vec<KeyPart> = prefix.iter().chain(low).cloned().collect();
        let start: Arc<[KeyPart]> = start.into();
        let keys = self.spaces.get(&id).map(|space| space.born.range((Bound::Included(start), Bound::Unbounded)));
        let keys = keys.into_iter().flatten();
        keys.take_while(move |(parts, _)| parts.starts_with(prefix)).map(|(parts, key)| (parts, *key))
    }
}

fn joined(space: &str, parts: &[KeyPart]) -> String {
    let mut name = space.to_owned();
    for (place, part) in parts.iter().enumerate() {
        if place > 0 || !space.is_empty() {
            name.push('/');
        }
        name.push_str(&part.to_string());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(name: &str) -> SpaceShape {
        SpaceShape { name: name.to_owned(), columns: vec![("id".into(), true), ("a/b".into(), false)], index: false }
    }

    fn row(space: u32, parts: &[KeyPart]) -> RowKey {
        RowKey { space: SpaceId(space), parts: parts.into() }
    }

    #[test]
    fn keys_have_readable_names_that_never_come_twice() {
        let mut keys = KeyTable::default();
        keys.describe(SpaceId(1), shape("item"));
        keys.describe(SpaceId(2), shape("item"));
        keys.describe(SpaceId(3), shape(""));
        let seven = keys.row(&row(1, &[KeyPart::Number(7)]));
        assert_eq!(&**keys.name(seven), "item/7");
        let text = keys.row(&row(1, &[KeyPart::Text("7".into())]));
        assert_eq!(&**keys.name(text), "item/7~2");
        let other = keys.row(&row(2, &[KeyPart::Number(7), KeyPart::Text("a#b/c".into())]));
        assert_eq!(&**keys.name(other), "item~2/7/a%23b%2fc");
        let plain = keys.row(&row(3, &[KeyPart::Text("x".into()), KeyPart::Number(-3)]));
        assert_eq!(&**keys.name(plain), "x/-3");
        let cell = keys.cell(seven, 1);
        assert_eq!(&**keys.name(cell), "item/7#a%2fb");
        assert_eq!((keys.cell(seven, 1), keys.row(&row(1, &[KeyPart::Number(7)]))), (cell, seven));
    }

    #[test]
    fn a_space_is_walked_in_the_order_of_its_keys() {
        let mut keys = KeyTable::default();
        for number in [10, 9, 2, 30] {
            let key = keys.row(&row(1, &[KeyPart::Number(1), KeyPart::Number(number)]));
            assert!(keys.bear(key) && !keys.bear(key));
        }
        let other = keys.row(&row(1, &[KeyPart::Number(2), KeyPart::Number(5)]));
        keys.bear(other);
        let buried = keys.row(&row(1, &[KeyPart::Number(1), KeyPart::Number(20)]));
        keys.bear(buried);
        keys.bury(buried);
        let prefix = [KeyPart::Number(1)];
        let found: Vec<String> = keys
            .from(SpaceId(1), &prefix, Some(&KeyPart::Number(3)))
            .map(|(_, key)| keys.name(key).to_string())
            .collect();
        assert_eq!(found, ["space1/1/9", "space1/1/10", "space1/1/30"]);
    }
}
