//! The ground that all parts of a question stand on: claims, records, and who sees which row.
//!
//! Whether a row is there for an instance when it begins is one claim per instance and record, and where levels are a matter of time, one per
//! point and record; in a table whose rows neither come nor go, one claim per record. Two records that are one row are there together, which [`Ground::finish`] says of all of them in the end.

use super::access::{AccessTarget, RecordNumber, Records, RowAccess};
use super::claims::{Claim, Claims};
use super::conflict::Numbered;
use super::moment::{PointNumber, Timing, Viewer};
use super::shape::ProgramShape;
use rustc_hash::FxHashMap;

/// Everybody, where a row is there for all or for nobody.
const EVERYBODY: usize = usize::MAX;

/// What all parts of a question stand on.
pub(crate) struct Ground<'a> {
    pub(crate) claims: Claims,
    pub(crate) records: Records,
    pub(crate) shape: &'a ProgramShape,
    /// Where levels are a matter of time: which one.
    pub(crate) timing: Option<Timing>,
    /// Whose each point in time is; those of the first numbers are commits.
    pub(crate) points: Vec<usize>,
    /// The snapshot of each instance that has one.
    pub(crate) snapshots: FxHashMap<usize, PointNumber>,
    /// When an access takes one of several records: instance, number of the access, record.
    pub(crate) moments: FxHashMap<(usize, usize, RecordNumber), PointNumber>,
    alive: FxHashMap<(Viewer, RecordNumber), Claim>,
    /// Claims of which nothing is known, by what they are about.
    about: FxHashMap<About, Claim>,
}

/// What a free claim is about; accesses are told by instance and number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum About {
    /// A record fulfils what else an access asks.
    Fits(usize, usize, RecordNumber),
    /// A record is there for an access after what its own transaction did.
    There(usize, usize, RecordNumber),
    /// What an access reads of a record was not written by its own transaction.
    FromOthers(usize, usize, RecordNumber),
    /// The row that the second access makes or takes away fulfils what else the first asks.
    Matches((usize, usize), (usize, usize)),
    /// An access changes this record.
    Changes(usize, usize, RecordNumber),
}

impl<'a> Ground<'a> {
    pub(crate) fn new(shape: &'a ProgramShape, timing: Option<Timing>, instances: usize) -> Ground<'a> {
        let (claims, records) = (Claims::new(), Records::default());
        let (alive, about) = (FxHashMap::default(), FxHashMap::default());
        let (points, snapshots, moments) = ((0..instances).collect(), FxHashMap::default(), FxHashMap::default());
        Ground { claims, records, shape, timing, points, snapshots, moments, alive, about }
    }

    /// A record is there for who looks, but for what its own transaction did.
    pub(crate) fn alive(&mut self, viewer: Viewer, record: RecordNumber) -> Claim {
        let table = &self.shape.tables[self.records.all[record].table];
        let who = if table.is_stable { EVERYBODY } else { viewer };
        if let Some(claim) = self.alive.get(&(who, record)) {
            return *claim;
        }
        let claim = self.claims.free();
        self.alive.insert((who, record), claim);
        claim
    }

    pub(crate) fn about(&mut self, what: About) -> Claim {
        if let Some(claim) = self.about.get(&what) {
            return *claim;
        }
        let claim = self.claims.free();
        self.about.insert(what, claim);
        claim
    }

    /// Who may see which records of a table, with the claims that it does.
    pub(crate) fn lives(&self, table: usize) -> Vec<((Viewer, RecordNumber), Claim)> {
        let own = self.alive.iter().filter(|((_, record), _)| self.records.all[*record].table == table);
        let mut lives: Vec<((usize, RecordNumber), Claim)> = own.map(|(key, claim)| (*key, *claim)).collect();
        lives.sort_unstable();
        lives
    }

    /// Says what follows for who is there from which records are one row, and from which inserts are seen.
    pub(crate) fn finish(&mut self, accesses: &[Vec<RowAccess>]) {
        let mut lives: Vec<((usize, RecordNumber), Claim)> =
            self.alive.iter().map(|(key, claim)| (*key, *claim)).collect();
        lives.sort_unstable();
        for (place, ((who, record), claim)) in lives.iter().enumerate() {
            for ((other, twin), same) in &lives[place + 1..] {
                if who == other && self.records.all[*record].table == self.records.all[*twin].table {
                    let one = self.records.same(&mut self.claims, *record, *twin);
                    self.claims.imply([one, *claim], *same);
                    self.claims.imply([one, *same], *claim);
                }
            }
            self.stays(*who, *record, *claim, accesses);
        }
        for all in accesses {
            for (number, access) in all.iter().enumerate() {
                self.counted(Numbered { number, access });
            }
        }
    }

    /// Where rows are counted and a row is there, there is not none.
    fn counted(&mut self, one: Numbered<'_>) {
        let AccessTarget::Search(search) = &one.access.target else { return };
        let is_seen = !one.access.own_rows && one.access.moment.is_none();
        let Some(empty) = search.empty.filter(|_| is_seen) else { return };
        for ((who, record), alive) in self.lives(one.access.table) {
            if who == one.access.viewer || who == EVERYBODY {
                let found = self.finds(one, record);
                self.claims.imply([one.access.reached, alive, found], !empty);
            }
        }
    }

    /// Where rows never go, whoever sees an INSERT sees its row.
    fn stays(&mut self, who: Viewer, record: RecordNumber, alive: Claim, accesses: &[Vec<RowAccess>]) {
        let table = self.records.all[record].table;
        if who == EVERYBODY || !self.shape.tables[table].keeps_rows {
            return;
        }
        let owner = self.owner(who);
        let inserts = accesses.iter().flatten().filter(|access| {
            access.table == table && access.existence == super::shape::Existence::Comes && access.instance != owner
        });
        for insert in inserts {
            let AccessTarget::Key(inserted) = insert.target else { continue };
            let one = self.records.same(&mut self.claims, inserted, record);
            let seen = self.seen(insert.instance, who);
            self.claims.imply([one, seen, insert.reached], alive);
        }
    }
}
