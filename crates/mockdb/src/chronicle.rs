//! What is told of a run: its history and its log of choices as they happen, its clock, how its transactions ended.
//!
//! ```text
//!   begin ── the clock goes on by a second ── … ── end: a line of the history, a count, and the next moment
//! ```
//!
//! How a line is written is the recorder's business ([`crate::record`]).

use crate::keys::KeyTable;
use crate::log::{self, Choice, LoggedStep};
use crate::options::Options;
use crate::record::{self, EndClock, Record, StoreRecorder, TransactionEnding};
use crate::transaction::OpenTransaction;
use skew_check::GrowingId;
use skew_history::KeyId;
use skew_sql::{Interrupt, Row, by_place};

/// How transactions ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Committed.
    pub committed: u64,
    /// Rolled back by their programs.
    pub rolled_back: u64,
    /// Refused because no commit order would allow them.
    pub refused: u64,
    /// Refused because they waited for themselves.
    pub deadlocks: u64,
}

/// What is told of a run.
pub(crate) struct Chronicle {
    recorder: StoreRecorder,
    moment: EndClock,
    clock: i64,
    counts: Counts,
}

impl Chronicle {
    /// A run whose clock begins here, and of which nothing is written down yet.
    pub(crate) fn new(clock: i64) -> Chronicle {
        Chronicle { recorder: StoreRecorder::default(), moment: EndClock::default(), clock, counts: Counts::default() }
    }

    /// From here on all is written down; the initial state comes first.
    pub(crate) fn start<'a>(
        &mut self,
        record: Record,
        options: &Options,
        keys: &KeyTable,
        initial: impl Iterator<Item = (KeyId, &'a Row)>,
        about: &str,
    ) {
        self.recorder = StoreRecorder::new(record);
        if self.recorder.wants_history() {
            let engine = options.level.of_engine().map(|level| level.engine().name());
            let header = record::header(keys, initial, engine, about);
            self.recorder.history(&header);
        }
        if self.recorder.wants_choices() {
            self.recorder.choice(&log::header(options.seed, options.clock));
        }
    }

    /// How transactions ended so far.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// What went wrong with writing, if anything.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.recorder.failure()
    }

    /// How many seals there are.
    pub(crate) fn seals(&self) -> usize {
        self.recorder.seals()
    }

    /// The clock of the run.
    pub(crate) fn time(&self) -> i64 {
        self.clock
    }

    /// A transaction takes a second.
    pub(crate) fn tick(&mut self) {
        self.clock += by_place::SECOND;
    }

    /// When something begins that begins now; see [`EndClock`].
    pub(crate) fn moment(&self) -> u64 {
        self.moment.begin()
    }

    /// A transaction of a session has ended; its versions cannot be read yet.
    pub(crate) fn end(
        &mut self,
        keys: &KeyTable,
        session: &str,
        transaction: &OpenTransaction,
        ending: TransactionEnding,
    ) {
        let end = self.moment.end();
        if self.recorder.wants_history() && transaction.has_events() {
            let line = record::line(keys, session, transaction, ending, end);
            self.recorder.history(&line);
        }
    }

    /// One more has committed.
    pub(crate) fn count_commit(&mut self) {
        self.counts.committed += 1;
    }

    /// One more was rolled back by its program.
    pub(crate) fn count_rollback(&mut self) {
        self.counts.rolled_back += 1;
    }

    /// One more was refused.
    pub(crate) fn count_refusal(&mut self, why: Interrupt) {
        match why {
            Interrupt::Deadlock => self.counts.deadlocks += 1,
            _ => self.counts.refused += 1,
        }
    }

    /// Deletions are all that is left of their keys.
    pub(crate) fn seal(&mut self, keys: &KeyTable, deletions: &[(KeyId, GrowingId)]) {
        self.recorder.seal(keys, deletions);
    }

    /// Whether choices are written down.
    pub(crate) fn wants_choices(&self) -> bool {
        self.recorder.wants_choices()
    }

    /// Somebody decided about the order.
    pub(crate) fn step(&mut self, step: &LoggedStep) {
        self.recorder.choice(&log::step(step));
    }

    /// A choice was made in a session.
    pub(crate) fn choice(&mut self, session: &str, choice: &Choice) {
        self.recorder.choice(&log::line(session, choice));
    }
}
