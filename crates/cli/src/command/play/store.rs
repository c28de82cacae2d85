//! A fresh store for a run: described, loaded with the program's first rows, recording into memory.
//!
//! The store is asked for the axioms alone: sessions of a program are connected from the beginning, so none of them has to have seen
//! anything when it starts.

use skew_mockdb::{Begin, Campaign, ChooserKind, Granularity, Options, Record, Store, Tape, Updates};
use skew_sql::program::Program;
use skew_sql::{SqlError, Stop, Storage, Write};

/// How weak the store is.
#[derive(Clone, Copy)]
pub(super) struct Weakness {
    pub(super) level: skew_history::IsolationLevel,
    pub(super) updates: Updates,
    pub(super) granularity: Granularity,
    pub(super) chooser: ChooserKind,
    /// Whether sessions take turns after every event.
    pub(super) turns: bool,
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

/// Puts the first rows where no transaction wrote them.
fn load(store: &mut Store, program: &Program) -> Result<(), SqlError> {
    let loader = store.connect("skew/load");
    store.begin(loader, Begin::default())?;
    let copied = copy(program, &mut store.view(loader));
    copied.map_err(|stop| match stop {
        Stop::Error(error) => error,
        Stop::Interrupted(_) => SqlError::unsupported("a store that interrupts its loading"),
    })?;
    // Nobody else is there, so nothing can stand in the way.
    let _ = store.commit(loader);
    store.disconnect(loader);
    Ok(())
}

fn copy(program: &Program, storage: &mut dyn Storage) -> Result<(), Stop> {
    let (_, rows) = program.initial();
    for (key, row) in rows.rows() {
        storage.put(key, Write::Row(row.clone()))?;
    }
    for (sequence, value, called) in rows.sequences() {
        storage.set_value(sequence, value, called)?;
    }
    for (space, count) in rows.fresh_keys() {
        for _ in 0..count {
            storage.fresh_key(space)?;
        }
    }
    Ok(())
}
