//! The keys of a store: rows, index entries and cells, each with a number and a name for the history.
//!
//! ```text
//!   RowKey { space of "account", parts: [7] }     ──>  KeyId(3)   "account/7"
//!   … its physical column 1, "balance"            ──>  KeyId(9)   "account/7#balance"     (granularity cell)
//!   RowKey { space of "account@owner", [ann, 7] } ──>  KeyId(4)   "account@owner/ann/7"
//! ```
//!
//! Which keys a row is and what they are called is the business of [`Layout`]; here names are also made different. A key is *born* when it is first written: scans before
//! that saw its absence without knowing it. A space keeps its born keys sorted, which is what scans walk over.

use rustc_hash::{FxHashMap, FxHashSet};
use skew_history::KeyId;
use skew_sql::{Catalog, Granularity, KeyPart, RowKey, SpaceId};
use skew_sql::{rows::Layout, rows::SpaceShape};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

#[derive(Debug)]
struct KeyEntry {
    name: Arc<str>,
    row: RowKey,
    born: bool,
}

#[derive(Default, Debug)]
struct Space {
    numbers: FxHashMap<Arc<[KeyPart]>, KeyId>,
    /// Those that scans look at.
    born: BTreeMap<Arc<[KeyPart]>, KeyId>,
}

/// All keys of a store.
#[derive(Debug)]
pub(crate) struct KeyTable {
    /// Which keys a row is, and what they are called.
    layout: Layout,
    entries: Vec<KeyEntry>,
    spaces: BTreeMap<SpaceId, Space>,
    names: FxHashSet<Arc<str>>,
}

impl KeyTable {
    pub(crate) fn new(granularity: Granularity) -> KeyTable {
        KeyTable {
            layout: Layout::new(granularity),
            entries: Vec::new(),
            spaces: BTreeMap::new(),
            names: FxHashSet::default(),
        }
    }

    /// Which keys a row is, and what they are called.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Says what a space is called and what its rows are.
    pub(crate) fn describe(&mut self, space: SpaceId, shape: SpaceShape) {
        self.layout.describe(space, shape);
    }

    /// The same for all tables and indexes.
    pub(crate) fn describe_catalog(&mut self, catalog: &Catalog) {
        self.layout.describe_catalog(catalog);
    }

    /// The number of a row, an entry or a cell.
    pub(crate) fn number(&mut self, row: &RowKey) -> KeyId {
        if let Some(key) = self.known(row) {
            return key;
        }
        let key = self.add(self.layout.name(row), row.clone());
        self.spaces.entry(row.space).or_default().numbers.insert(Arc::clone(&row.parts), key);
        key
    }

    /// The same, if it ever had one.
    pub(crate) fn known(&self, row: &RowKey) -> Option<KeyId> {
        self.spaces.get(&row.space)?.numbers.get(&row.parts).copied()
    }

    /// Two keys may look alike as text, such as the number 3 and the text `3`: names must not.
    fn add(&mut self, wanted: String, row: RowKey) -> KeyId {
        let mut name: Arc<str> = wanted.as_str().into();
        for again in 2.. {
            if self.names.insert(Arc::clone(&name)) {
                break;
            }
            name = format!("{wanted}~{again}").into();
        }
        self.entries.push(KeyEntry { name, row, born: false });
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

    /// Whether a key is a cell of a row rather than a row or an entry.
    pub(crate) fn is_cell(&self, key: KeyId) -> bool {
        self.layout.of_cell(self.row_of(key)).is_some()
    }

    /// Says that a key is written from now on; whether that is new.
    pub(crate) fn bear(&mut self, key: KeyId) -> bool {
        let entry = &mut self.entries[key.index()];
        if std::mem::replace(&mut entry.born, true) {
            return false;
        }
        self.spaces.entry(entry.row.space).or_default().born.insert(Arc::clone(&entry.row.parts), key);
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
        if let Some(space) = self.spaces.get_mut(&entry.row.space) {
            space.born.remove(&entry.row.parts);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(space: u32, parts: &[KeyPart]) -> RowKey {
        RowKey { space: SpaceId(space), parts: parts.into() }
    }

    #[test]
    fn keys_that_look_alike_have_different_names() {
        let mut keys = KeyTable::new(Granularity::Row);
        let seven = keys.number(&row(1, &[KeyPart::Number(7)]));
        let text = keys.number(&row(1, &[KeyPart::Text("7".into())]));
        assert_eq!((&**keys.name(seven), &**keys.name(text)), ("space1/7", "space1/7~2"));
        assert_eq!(keys.number(&row(1, &[KeyPart::Number(7)])), seven);
        let cell = keys.layout().cell(&row(1, &[KeyPart::Number(7)]), 1);
        let cell = keys.number(&cell);
        assert!(keys.is_cell(cell) && !keys.is_cell(seven));
    }

    #[test]
    fn a_space_is_walked_in_the_order_of_its_keys() {
        let mut keys = KeyTable::new(Granularity::Row);
        for number in [10, 9, 2, 30] {
            let key = keys.number(&row(1, &[KeyPart::Number(1), KeyPart::Number(number)]));
            assert!(keys.bear(key) && !keys.bear(key));
        }
        let other = keys.number(&row(1, &[KeyPart::Number(2), KeyPart::Number(5)]));
        keys.bear(other);
        let buried = keys.number(&row(1, &[KeyPart::Number(1), KeyPart::Number(20)]));
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
