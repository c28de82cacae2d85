//! A fresh store for a run: described, loaded with the program's first rows, recording into memory.
//!
//! The store is asked for the axioms alone: sessions of a program are connected from the beginning, so none of them has to have seen
//! anything when it starts.

use crate::program_file::load;
use skew_mockdb::{Campaign, ChooserKind, Granularity, Options, Record, Store, Tape, Updates};
use skew_program::Program;
use skew_value::SqlError;

/// How weak the store is.
#[derive(Clone, Copy, Debug)]
pub struct Weakness {
    /// What reads may return.
    pub level: skew_history::IsolationLevel,
    /// Whether updates lock.
    pub updates: Updates,
    /// What is one key.
    pub granularity: Granularity,
    /// Which version is read of those that may be.
    pub chooser: ChooserKind,
    /// Whether sessions take turns after every event.
    pub turns: bool,
}

/// A store that holds the program's first rows, and what it records.
pub(super) fn fresh(
    program: &Program,
    weakness: Weakness,
    seed: u64,
    campaign: &Campaign,
    about: &str,
) -> Result<(Store, Tape), SqlError> {
    let options = Options {
        updates: weakness.updates,
        granularity: weakness.granularity,
        turns: weakness.turns,
        bare: true,
        clock: program.clock(),
        ..Options::new(weakness.level, seed)
    };
    let mut store = Store::new(options, weakness.chooser.build(seed, campaign));
    store.describe_catalog(program.initial().0);
    load(&mut store, program)?;
    let tape = Tape::default();
    let record = Record { history: Some(Box::new(tape.clone())), choices: None };
    store.start(record, about);
    Ok((store, tape))
}
