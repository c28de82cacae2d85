//! How weak the database is on which a program runs, and the program as both tools know it.

use crate::draft::Draft;
use skew_check::Updates;
use skew_explore::{SqlOptions, SqlProgram};
use skew_history::IsolationLevel;
use skew_mockdb::{Begin, Chooser, Granularity, Options, Record, Store, Tape};
use skew_program::Program;
use skew_sql::Write;
use std::fmt;

/// How weak the database is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Setting {
    pub(crate) level: IsolationLevel,
    pub(crate) updates: Updates,
    pub(crate) granularity: Granularity,
}

impl fmt::Display for Setting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "--level {}", self.level)?;
        if self.updates == Updates::Plain {
            out.write_str(" --updates plain")?;
        }
        if self.granularity == Granularity::Cell {
            out.write_str(" --granularity cell")?;
        }
        Ok(())
    }
}

impl Setting {
    /// All levels with both kinds of updates.
    pub(crate) fn all(granularity: Granularity) -> impl Iterator<Item = Setting> {
        let both = [Updates::Atomic, Updates::Plain];
        let levels = IsolationLevel::of_papers();
        levels.flat_map(move |level| both.map(|updates| Setting { level, updates, granularity }))
    }

    pub(crate) fn explorable(self, program: &Program) -> SqlProgram {
        let options = SqlOptions { updates: self.updates, granularity: self.granularity, ..SqlOptions::default() };
        SqlProgram::new(program.clone(), options)
    }

    /// A store with the program's first rows, which records what happens from here on, and every choice.
    pub(crate) fn store(
        self,
        program: &Program,
        seed: u64,
        turns: bool,
        bare: bool,
        chooser: Box<dyn Chooser>,
    ) -> Stored {
        let (updates, granularity) = (self.updates, self.granularity);
        let options = Options { updates, granularity, turns, bare, ..Options::new(self.level, seed) };
        let mut store = Store::new(options, chooser);
        store.describe_catalog(program.initial().0);
        load(&mut store, program);
        let (history, choices) = (Tape::default(), Tape::default());
        let record = Record { history: Some(Box::new(history.clone())), choices: Some(Box::new(choices.clone())) };
        store.start(record, "a test");
        Stored { store, history, choices }
    }
}

/// A store and what it writes.
pub(crate) struct Stored {
    pub(crate) store: Store,
    pub(crate) history: Tape,
    pub(crate) choices: Tape,
}

/// Puts the program's first rows into a store.
pub(crate) fn load(store: &mut Store, program: &Program) {
    let loader = store.connect("loader");
    store.begin(loader, Begin::default()).expect("a transaction");
    for (key, row) in program.initial().1.rows() {
        store.view(loader).put(key, Write::Row(row.clone())).expect("a row");
    }
    store.commit(loader).expect("nobody else is there");
    store.disconnect(loader);
}

/// The program of a draft. What cannot be bound is no program, which happens when a draft is made smaller.
pub(crate) fn parse(draft: &Draft) -> Result<Program, String> {
    Program::parse(&draft.written()).map_err(|error| format!("no program: {error} at {:?}", error.place))
}
