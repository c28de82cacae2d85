//! What is left to choice: which of the allowed versions a read returns, and what is refused although it could go well.
//!
//! The store has a chooser, and transactions may ask for another one; a replay decides for all of them.

use crate::chance::{Chance, Stream};
use crate::chooser::{Campaign, Chooser, ChooserKind, LockedRead, Reading};
use skew_check::Version;
use std::collections::BTreeMap;

/// Who chooses.
pub(crate) struct Choosers {
    chooser: Box<dyn Chooser>,
    others: BTreeMap<ChooserKind, Box<dyn Chooser>>,
    seed: u64,
    refusals: Chance,
    /// How often chance refuses.
    abort_rate: f64,
}

impl Choosers {
    pub(crate) fn new(chooser: Box<dyn Chooser>, seed: u64, abort_rate: f64) -> Choosers {
        let refusals = Chance::new(seed, Stream::Refusals);
        Choosers { chooser, others: BTreeMap::new(), seed, refusals, abort_rate }
    }

    /// The chooser that a transaction gets which asks for this one; nothing is the store's.
    pub(crate) fn kind_for(&self, asked: Option<ChooserKind>) -> Option<ChooserKind> {
        asked.filter(|_| !self.chooser.decides_all())
    }

    /// One of the versions that are allowed.
    pub(crate) fn choose(&mut self, kind: Option<ChooserKind>, reading: &mut Reading<'_>) -> Option<Version> {
        let chooser = match kind {
            None => &mut self.chooser,
            Some(kind) => self.others.entry(kind).or_insert_with(|| kind.build(self.seed, &Campaign::default())),
        };
        chooser.choose(reading)
    }

    /// `--abort-rate`: whether what could have gone well is refused.
    pub(crate) fn refuses(&mut self, session: &str, what: &str) -> bool {
        let scripted = self.chooser.refuses(session, what);
        scripted.unwrap_or_else(|| self.refusals.happens(self.abort_rate))
    }

    /// A read under a lock got the latest version, which nobody chose.
    pub(crate) fn note_locked(&mut self, read: &LockedRead<'_>) {
        self.chooser.note_locked(read);
    }

    /// The database refused a transaction of a session that had this many before it.
    pub(crate) fn note_refused(&mut self, session: &str, transaction: u32) {
        self.chooser.note_refused(session, transaction);
    }

    /// How often a replay asked for something that its log does not have.
    pub(crate) fn divergences(&self) -> usize {
        self.chooser.divergences()
    }
}
