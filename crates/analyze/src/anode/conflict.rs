//! When two accesses of one record make one instance depend on another.
//!
//! ```text
//!   WR  what the first wrote, the second reads, and it sees the first                       first ──> second
//!   WW  both write, and the first comes first                                              first ──> second
//!   RW  what the first read, the second writes; the first does not see the second,
//!       nor anything that comes after the second                                           first ──> second
//! ```
//!
//! Whether a row exists is read by everybody who looks for it, and written by INSERT and DELETE. Such a write matters only to who
//! saw the opposite: where a row was missing it is the INSERT, where it was there the DELETE. MIN and MAX depend on fewer rows: on those
//! up to what was found.
//!
//! The reader depends on *all* writers that it sees, not on the last one alone. That adds nothing that was not a path already: earlier
//! writers come before the last one. It makes the dependency certain wherever both accesses are.

use super::access::{AccessTarget, ExtremumRead, RecordNumber, RowAccess};
use super::claims::Claim;
use super::ground::{About, Ground};
use super::shape::{EXISTS, Existence};
use crate::witness::DependencyKind;

/// An access with its number among those of its instance.
#[derive(Clone, Copy)]
pub(crate) struct Numbered<'x> {
    pub(crate) number: usize,
    pub(crate) access: &'x RowAccess,
}

impl Numbered<'_> {
    fn name(&self) -> (usize, usize) {
        (self.access.instance, self.number)
    }
}

/// Whether two accesses can be in conflict at all.
pub(crate) fn may_conflict(first: &RowAccess, second: &RowAccess, kind: DependencyKind) -> bool {
    if first.table != second.table || first.instance == second.instance {
        return false;
    }
    match kind {
        DependencyKind::ReadsFrom => matters(second, first),
        DependencyKind::Replaces => first.writes & second.writes != 0,
        DependencyKind::Overwrites => matters(first, second),
    }
}

/// Whether a read can be about a write.
fn matters(reader: &RowAccess, writer: &RowAccess) -> bool {
    match writer.existence {
        Existence::Stays => reader.reads & writer.writes & !EXISTS != 0,
        _ => reader.reads & EXISTS != 0,
    }
}

impl Ground<'_> {
    /// The record is one of those that an access is on.
    fn meets(&mut self, access: &RowAccess, record: RecordNumber) -> Claim {
        match &access.target {
            AccessTarget::Key(own) => self.records.same(&mut self.claims, *own, record),
            AccessTarget::Search(search) => {
                let key = self.records.all[record].key.clone();
                let parts = search.key.iter().zip(&key).filter_map(|(asked, part)| asked.map(|asked| (asked, *part)));
                let parts: Vec<Claim> = parts.map(|(asked, part)| self.claims.equal(asked, part)).collect();
                self.claims.all(parts)
            }
        }
    }

    /// The record under the name that an access has for it, where it has one.
    fn named(access: &RowAccess, record: RecordNumber) -> RecordNumber {
        match access.target {
            AccessTarget::Key(own) => own,
            AccessTarget::Search(_) => record,
        }
    }

    /// The record is there for an access.
    pub(crate) fn present(&mut self, one: Numbered<'_>, record: RecordNumber) -> Claim {
        let record = Ground::named(one.access, record);
        match one.access.own_rows {
            true => self.about(About::There(one.access.instance, one.number, record)),
            false => {
                let viewer = self.view(one, record);
                self.alive(viewer, record)
            }
        }
    }

    /// The record fulfils what an access asks beyond its key.
    fn fits(&mut self, one: Numbered<'_>, record: RecordNumber) -> Claim {
        let asks = match &one.access.target {
            AccessTarget::Key(_) => one.access.guarded,
            AccessTarget::Search(search) => search.more || !search.others.is_empty(),
        };
        let record = Ground::named(one.access, record);
        match asks {
            true => self.about(About::Fits(one.access.instance, one.number, record)),
            false => self.claims.yes(),
        }
    }

    /// A record that is there is among those that an access finds.
    pub(crate) fn finds(&mut self, one: Numbered<'_>, record: RecordNumber) -> Claim {
        let (meets, fits) = (self.meets(one.access, record), self.fits(one, record));
        self.claims.all([meets, fits])
    }

    /// An access writes a record.
    pub(crate) fn writes(&mut self, one: Numbered<'_>, record: RecordNumber) -> Claim {
        let meets = self.meets(one.access, record);
        if meets == self.claims.no() {
            return meets;
        }
        let happens = match one.access.existence {
            Existence::Comes => self.claims.yes(),
            Existence::Changes => self.about(About::Changes(one.access.instance, one.number, record)),
            Existence::Stays | Existence::Goes => {
                let (present, fits) = (self.present(one, record), self.fits(one, record));
                self.claims.all([present, fits])
            }
        };
        self.claims.all([one.access.reached, meets, happens])
    }

    /// What a reader reads of a record was written by others.
    fn is_of_others(&mut self, one: Numbered<'_>, record: RecordNumber) -> Claim {
        let record = Ground::named(one.access, record);
        match one.access.own_columns {
            true => self.about(About::FromOthers(one.access.instance, one.number, record)),
            false => self.claims.yes(),
        }
    }

    /// A reader reads of a record what a writer writes; `over` where it does not see the writer.
    fn reads(&mut self, reader: Numbered<'_>, writer: Numbered<'_>, record: RecordNumber, over: bool) -> Claim {
        let meets = self.meets(reader.access, record);
        if meets == self.claims.no() {
            return meets;
        }
        let what = match writer.access.existence {
            Existence::Stays => match &reader.access.target {
                AccessTarget::Key(_) => self.present(reader, record),
                // Who searches depends on all columns of its condition, also of rows that it does not find.
                AccessTarget::Search(search) => match search.asked & writer.access.writes & !EXISTS {
                    0 => {
                        let (present, fits) = (self.present(reader, record), self.fits(reader, record));
                        self.claims.all([present, fits])
                    }
                    _ => self.claims.yes(),
                },
            },
            _ => self.reads_existence(reader, writer, record, over),
        };
        let others = self.is_of_others(reader, record);
        self.claims.all([reader.access.reached, meets, what, others])
    }

    fn reads_existence(
        &mut self,
        reader: Numbered<'_>,
        writer: Numbered<'_>,
        record: RecordNumber,
        over: bool,
    ) -> Claim {
        let matches = self.matches(reader, writer);
        let (present, fits) = (self.present(reader, record), self.fits(reader, record));
        let (met, extremum) = match &reader.access.target {
            AccessTarget::Key(_) => (present, None),
            AccessTarget::Search(search) => (self.claims.all([present, fits]), search.extremum),
        };
        let needs = match (over, writer.access.existence) {
            (true, Existence::Comes) => !met,
            (true, Existence::Goes) if reader.access.is_blind => self.claims.no(),
            (true, Existence::Goes) => met,
            _ => self.claims.yes(),
        };
        let within = extremum.map_or(self.claims.yes(), |extremum| {
            let comes = if over { writer.access.existence } else { Existence::Stays };
            self.within(extremum, record, comes)
        });
        self.claims.all([matches, needs, within])
    }

    /// MIN and MAX depend on a record: on what was found, and on what would have been found instead.
    fn within(&mut self, extremum: ExtremumRead, record: RecordNumber, comes: Existence) -> Claim {
        let part = self.records.all[record].key[extremum.part];
        let (low, high) = if extremum.greatest { (extremum.found, part) } else { (part, extremum.found) };
        let (better, is_found) = (self.claims.less(low, high), self.claims.equal(part, extremum.found));
        match comes {
            Existence::Comes => self.claims.any([extremum.none, better]),
            Existence::Goes => self.claims.all([!extremum.none, is_found]),
            Existence::Stays | Existence::Changes => self.claims.any([extremum.none, better, is_found]),
        }
    }

    /// The row that a writer makes or takes away fulfils what a reader asks beyond the key.
    fn matches(&mut self, reader: Numbered<'_>, writer: Numbered<'_>) -> Claim {
        let AccessTarget::Search(search) = &reader.access.target else { return self.claims.yes() };
        let mut parts = Vec::new();
        let mut unknown = search.more;
        for (column, asked) in &search.others {
            match writer.access.values.iter().find(|(name, _)| name == column) {
                Some((_, value)) => parts.push(self.claims.equal(*asked, *value)),
                None => unknown = true,
            }
        }
        if unknown {
            parts.push(self.about(About::Matches(reader.name(), writer.name())));
        }
        self.claims.all(parts)
    }

    /// Everything that makes the second instance depend on the first by these accesses and this record, but for what comes between.
    pub(crate) fn dependency(
        &mut self,
        first: Numbered<'_>,
        second: Numbered<'_>,
        kind: DependencyKind,
        record: RecordNumber,
    ) -> Claim {
        let (one, two) = (first.access.instance, second.access.instance);
        let parts = match kind {
            DependencyKind::ReadsFrom => {
                let (writes, reads) = (self.writes(first, record), self.reads(second, first, record, false));
                let viewer = self.view(second, record);
                [writes, reads, self.seen(one, viewer)]
            }
            DependencyKind::Replaces => {
                let (writes, over) = (self.writes(first, record), self.writes(second, record));
                [writes, over, self.claims.before(one, two)]
            }
            DependencyKind::Overwrites => {
                let (reads, writes) = (self.reads(first, second, record, true), self.writes(second, record));
                let viewer = self.view(first, record);
                [reads, writes, !self.seen(two, viewer)]
            }
        };
        self.claims.all(parts)
    }

    /// The records by which two accesses can meet: the key of one of them, where one has a key.
    pub(crate) fn meeting(&self, first: &RowAccess, second: &RowAccess) -> Option<RecordNumber> {
        match (&first.target, &second.target) {
            (AccessTarget::Key(record), _) | (_, AccessTarget::Key(record)) => Some(*record),
            _ => None,
        }
    }
}
