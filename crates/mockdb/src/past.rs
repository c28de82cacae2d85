//! What was written, and what of it the level lets a transaction see.
//!
//! ```text
//!   keys       account/1 …                 their numbers, names, and which of them scans walk over
//!   versions   account/1: init, t3, t4     what was written, until nobody will read it again
//!   growing    may t5 read t3's?           the history as the level sees it
//!   scans      t2 covered account/1..9     who saw the absence of what comes into being later
//! ```
//!
//! The four change together: a key is born with its first write, which those who scanned there before did not see; a version that the
//! growing history drops is forgotten; a key of which nothing is left is buried.

use crate::chooser::{Reading, VersionReader};
use crate::keys::KeyTable;
use crate::live_scans::LiveScans;
use crate::operation::{Covered, ReadOrigin};
use crate::options::Options;
use crate::versions::VersionTable;
use skew_check::{GrowingHistory, GrowingId, GrowingOptions, Mark, Refused, Version};
use skew_history::{IsolationLevel, KeyId, SessionId};
use skew_sql::{Row, RowKey, SpaceId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Keys and their versions, under a level.
pub(crate) struct Past {
    keys: KeyTable,
    versions: VersionTable,
    growing: GrowingHistory,
    scans: LiveScans,
}

impl Past {
    pub(crate) fn new(options: &Options) -> Past {
        let growing = GrowingHistory::new(GrowingOptions {
            updates: options.updates,
            horizon: options.horizon,
            bare: options.bare,
            budget: options.budget,
        });
        Past {
            keys: KeyTable::new(options.granularity),
            versions: VersionTable::default(),
            growing,
            scans: LiveScans::default(),
        }
    }

    pub(crate) fn keys(&self) -> &KeyTable {
        &self.keys
    }

    pub(crate) fn keys_mut(&mut self) -> &mut KeyTable {
        &mut self.keys
    }

    /// Whether the rows of a space are told cell by cell.
    pub(crate) fn has_cells(&self, space: SpaceId) -> bool {
        self.keys.layout().has_cells(space)
    }

    /// How many versions are kept.
    pub(crate) fn version_count(&self) -> usize {
        self.versions.count()
    }

    /// How many transactions matter to those that go on.
    pub(crate) fn transaction_count(&self) -> usize {
        self.growing.kept()
    }

    /// The version that committed last.
    pub(crate) fn latest(&self, key: KeyId) -> Version {
        self.growing.latest(key)
    }

    pub(crate) fn value(&self, key: KeyId, version: Version) -> Option<Row> {
        self.versions.value(key, version)
    }

    /// Who wrote a version: the session, and how many transactions of it came before; nothing for the initial one.
    pub(crate) fn writer(&self, key: KeyId, version: Version) -> Option<(SessionId, u32)> {
        self.versions.writer(key, version)
    }

    /// The last versions under every commit order that the level allows; nothing when there are more than `limit` of these.
    pub(crate) fn last_versions(&self, limit: usize) -> Option<Vec<Vec<(KeyId, Version)>>> {
        self.growing.last_versions(limit)
    }
}

/// The initial state.
impl Past {
    /// What there is under a key before everything.
    pub(crate) fn initial(&self, key: KeyId) -> Option<&Row> {
        self.versions.initial(key)
    }

    /// All that there is before everything.
    pub(crate) fn initial_rows(&self) -> impl Iterator<Item = (KeyId, &Row)> {
        self.versions.initial_keys()
    }

    /// Puts a value into the initial state, and gives back what was there.
    pub(crate) fn load(&mut self, key: KeyId, value: Option<Row>) -> Option<Row> {
        self.keys.bear(key);
        self.versions.set_initial(key, value)
    }

    /// Takes that back.
    pub(crate) fn unload(&mut self, before: Vec<(KeyId, Option<Row>)>) {
        for (key, value) in before {
            self.versions.set_initial(key, value);
        }
    }

    /// These rows are the initial state, and no others.
    pub(crate) fn replace_initial(&mut self, mut rows: BTreeMap<RowKey, Row>) {
        let keys: Vec<_> = self.versions.initial_keys().map(|(key, _)| key).collect();
        for key in keys {
            let row = rows.remove(self.keys.row_of(key));
            self.versions.set_initial(key, row);
        }
        for (key, row) in rows {
            let key = self.keys.number(&key);
            self.load(key, Some(row));
        }
    }
}

/// Transactions, as the level sees them.
impl Past {
    /// A session connects: it has seen all that committed before.
    pub(crate) fn connect(&mut self, session: SessionId) {
        self.growing.connect(session);
    }

    /// Everything committed so far is seen by all that begins from now on.
    pub(crate) fn settle(&mut self) {
        self.growing.settle();
    }

    pub(crate) fn begin(&mut self, session: SessionId, level: IsolationLevel) -> GrowingId {
        self.growing.begin(session, level)
    }

    /// Whether a transaction cannot commit any more.
    pub(crate) fn is_doomed(&self, id: GrowingId) -> bool {
        self.growing.is_doomed(id)
    }

    /// Where a transaction is, to take back what it writes from here on.
    pub(crate) fn mark(&self, id: GrowingId) -> Mark {
        self.growing.mark(id)
    }

    pub(crate) fn take_back_writes(&mut self, id: GrowingId, mark: Mark) {
        self.growing.take_back_writes(id, mark);
    }

    /// A read that wants a version of a key. A statement that will lock the row if it fits says what fits.
    pub(crate) fn reading<'a>(
        &'a mut self,
        reader: VersionReader<'a>,
        key: KeyId,
        fits: Option<&'a mut dyn FnMut(Option<Row>) -> bool>,
    ) -> Reading<'a> {
        Reading::new(&mut self.growing, &self.versions, reader, (key, self.keys.name(key)), fits)
    }

    /// A transaction reads a version: its value. Nothing if the level does not allow that.
    pub(crate) fn read(&mut self, id: GrowingId, key: KeyId, version: Version, locking: bool) -> Option<Option<Row>> {
        self.growing.read(id, key, version, locking).ok()?;
        Some(self.versions.value(key, version))
    }

    /// A transaction has scanned a range, with this many reads before; see [`LiveScans::add`].
    pub(crate) fn scanned(
        &mut self,
        id: GrowingId,
        covered: Covered,
        start: usize,
        reads: Vec<(Arc<str>, ReadOrigin)>,
    ) {
        self.scans.add(id, covered, start, reads);
    }

    /// Whether a scan lists what it read of a key. The file need not list what was never there, nor a deletion that a line of its own
    /// stands for.
    pub(crate) fn is_listed(&self, key: KeyId, source: ReadOrigin, absent: bool) -> bool {
        let ReadOrigin::Version(version) = source else { return true };
        let never = version == Version::Initial && !self.versions.has_committed(key);
        !absent || !(never || self.versions.is_sealed(key, version))
    }

    /// A transaction writes a key; whether that has no version yet.
    pub(crate) fn write(&mut self, id: GrowingId, key: KeyId) -> Result<bool, Refused> {
        if self.keys.bear(key) {
            for (reader, place) in self.scans.notice(key, self.keys.name(key)) {
                self.growing.read_absence(reader, key, place);
            }
        }
        self.growing.write(id, key)?;
        Ok(!self.versions.has_any(key))
    }

    /// A transaction commits, if the level allows that; nothing that it wrote can be read yet.
    pub(crate) fn commit(&mut self, id: GrowingId) -> Result<(), Refused> {
        self.growing.commit(id)
    }

    /// What a transaction wrote that has committed can be read from now on; see [`VersionTable::commit`].
    pub(crate) fn publish(&mut self, id: GrowingId, writer: (SessionId, u32), writes: Vec<(KeyId, Option<Row>)>) {
        for (key, value) in writes {
            self.versions.commit(key, id, value, writer);
        }
    }

    /// A transaction is over without a commit. What it read had to be right nevertheless if its program ended it.
    pub(crate) fn abort(&mut self, id: GrowingId, by_program: bool) {
        self.growing.abort(id, by_program);
        if !by_program {
            self.scans.remove(id);
        }
    }

    /// Keys whose writes are gone and that have no version are as if nobody had ever written them: scans need not look at them.
    pub(crate) fn bury_unborn(&mut self, keys: &[KeyId], is_written: impl Fn(KeyId) -> bool) {
        for &key in keys {
            if !self.versions.has_any(key) && !is_written(key) {
                self.keys.bury(key);
            }
        }
    }

    /// Scans need not look at these keys any more.
    pub(crate) fn bury(&mut self, keys: impl Iterator<Item = KeyId>) {
        keys.for_each(|key| self.keys.bury(key));
    }

    /// Forgets what nobody will read again: the deletions that are all that is left of their keys, and are to be sealed.
    pub(crate) fn forget(&mut self, is_written: impl Fn(KeyId) -> bool) -> Vec<(KeyId, GrowingId)> {
        let growing = &self.growing;
        self.scans.retain(|id| growing.keeps(id));
        let mut left: Vec<(KeyId, GrowingId)> = Vec::new();
        for (key, version) in self.growing.take_dropped() {
            if let Some(deletion) = self.versions.forget(key, version) {
                left.retain(|other| other.0 != key);
                left.push((key, deletion));
            }
        }
        left.sort_unstable_by_key(|deletion| deletion.0);
        for &(key, _) in left.iter().filter(|(key, _)| !is_written(*key)) {
            self.keys.bury(key);
        }
        left
    }
}
