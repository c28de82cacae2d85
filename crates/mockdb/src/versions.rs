//! The values of all versions that somebody may still read.
//!
//! A version is known by its key and its writer ([`Version`]). What it means for a reader to be allowed to see one is the growing
//! history's business; here lies only what was written, until the growing history says that nobody will ask for it again.

use skew_check::{GrowingId, Version};
use skew_history::{KeyId, SessionId};
use skew_sql::Row;

/// A committed version.
#[derive(Clone, Debug)]
struct Committed {
    id: GrowingId,
    value: Option<Row>,
    /// The session of the writer, and how many transactions of it came before.
    writer: (SessionId, u32),
}

#[derive(Clone, Default, Debug)]
struct KeyVersions {
    initial: Option<Row>,
    /// In the order of commits.
    committed: Vec<Committed>,
    /// The deletion that stands for this key's absence in the history file.
    sealed: Option<GrowingId>,
}

/// The versions of all keys.
#[derive(Default, Debug)]
pub(crate) struct VersionTable {
    keys: Vec<KeyVersions>,
}

impl VersionTable {
    fn of(&self, key: KeyId) -> Option<&KeyVersions> {
        self.keys.get(key.index())
    }

    fn of_mut(&mut self, key: KeyId) -> &mut KeyVersions {
        if self.keys.len() <= key.index() {
            self.keys.resize_with(key.index() + 1, KeyVersions::default);
        }
        &mut self.keys[key.index()]
    }

    pub(crate) fn initial(&self, key: KeyId) -> Option<&Row> {
        self.of(key)?.initial.as_ref()
    }

    /// Puts a value into the initial state, and gives back what was there.
    pub(crate) fn set_initial(&mut self, key: KeyId, value: Option<Row>) -> Option<Row> {
        std::mem::replace(&mut self.of_mut(key).initial, value)
    }

    pub(crate) fn value(&self, key: KeyId, version: Version) -> Option<Row> {
        match version {
            Version::Initial => self.initial(key).cloned(),
            Version::Of(id) => self.committed(key, id)?.value.clone(),
        }
    }

    /// Who wrote a version: the session, and how many transactions of it came before; nothing for the initial one.
    pub(crate) fn writer(&self, key: KeyId, version: Version) -> Option<(SessionId, u32)> {
        match version {
            Version::Initial => None,
            Version::Of(id) => Some(self.committed(key, id)?.writer),
        }
    }

    fn committed(&self, key: KeyId, id: GrowingId) -> Option<&Committed> {
        self.of(key)?.committed.iter().rev().find(|version| version.id == id)
    }

    pub(crate) fn has_committed(&self, key: KeyId) -> bool {
        self.of(key).is_some_and(|versions| !versions.committed.is_empty())
    }

    /// Whether the key has a version, initial or committed.
    pub(crate) fn has_any(&self, key: KeyId) -> bool {
        self.initial(key).is_some() || self.has_committed(key)
    }

    /// A transaction commits what it wrote under a key; the writer is its session and how many transactions of it came before.
    pub(crate) fn commit(&mut self, key: KeyId, id: GrowingId, value: Option<Row>, writer: (SessionId, u32)) {
        self.of_mut(key).committed.push(Committed { id, value, writer });
    }

    /// Forgets a version. When all that is left of the key is a deletion, that one is returned: it may be sealed in the file.
    pub(crate) fn forget(&mut self, key: KeyId, version: Version) -> Option<GrowingId> {
        let versions = self.of_mut(key);
        match version {
            Version::Initial => versions.initial = None,
            Version::Of(id) => versions.committed.retain(|committed| committed.id != id),
        }
        match versions.committed.as_slice() {
            [only] if only.value.is_none() && versions.initial.is_none() && versions.sealed != Some(only.id) => {
                versions.sealed = Some(only.id);
                versions.sealed
            }
            _ => None,
        }
    }

    /// Whether the file says by itself that this deletion is what the key's absence comes from.
    pub(crate) fn is_sealed(&self, key: KeyId, version: Version) -> bool {
        self.of(key).and_then(|versions| versions.sealed).is_some_and(|id| version == Version::Of(id))
    }

    /// The keys that exist before everything.
    pub(crate) fn initial_keys(&self) -> impl Iterator<Item = (KeyId, &Row)> {
        let keys = self.keys.iter().enumerate();
        keys.filter_map(|(key, versions)| Some((KeyId(key as u32), versions.initial.as_ref()?)))
    }

    /// How many versions are kept.
    pub(crate) fn count(&self) -> usize {
        self.keys.iter().map(|versions| versions.committed.len() + usize::from(versions.initial.is_some())).sum()
    }
}
