//! A fresh database: as weak as the arguments say, with the initial state that `--init` makes, recording where it is told.

use super::{Arguments, read_text};
use crate::input::Complaint;
use crate::output::{RecordFile, RecordFiles};
use skew_campaign::initial::load;
use skew_history::IsolationLevel;
use skew_mockdb::{Campaign, ChoiceLog, Chooser, Database, Options, Record, Script, Store};
use skew_sql::Catalog;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// The settings of a store.
pub(super) fn options(arguments: &Arguments, level: IsolationLevel, seed: u64) -> Options {
    let defaults = Options::new(level, seed);
    Options {
        updates: arguments.updates.into(),
        horizon: arguments.horizon.map_or(defaults.horizon, |horizon| (horizon > 0).then_some(horizon)),
        bare: arguments.bare,
        abort_rate: arguments.abort_rate,
        clock: arguments.time_begins().0,
        ..defaults
    }
}

/// What decides which version is read.
pub(super) fn chooser(
    arguments: &Arguments,
    log: Option<&ChoiceLog>,
    seed: u64,
    novelty: &Campaign,
) -> Box<dyn Chooser> {
    match log {
        Some(log) => Box::new(Script::new(log)),
        None => arguments.chooser.build(seed, novelty),
    }
}

/// What a store writes, into these files.
pub(super) fn record(files: &RecordFiles) -> Record {
    let boxed = |file: &RecordFile| Box::new(file.clone()) as Box<dyn Write + Send>;
    Record { history: files.history.as_ref().map(boxed), choices: files.choices.as_ref().map(boxed) }
}

/// The file of `--init` and what is in it, if there is one.
pub(in crate::command) type Initial = Option<(String, String)>;

/// Reads the SQL of `--init`.
pub(in crate::command) fn initial(path: Option<&Path>) -> Result<Initial, Complaint> {
    let read = |path: &Path| Ok((path.to_string_lossy().into_owned(), read_text(path)?));
    path.map(read).transpose()
}

/// A database that is ready for clients. Without `--level` the level is what each client asks for.
pub(super) fn fresh(
    arguments: &Arguments,
    initial: Option<&(String, String)>,
    log: Option<&ChoiceLog>,
    seed: u64,
    novelty: &Campaign,
    record: Record,
) -> Result<Database, Complaint> {
    let level = arguments.level.unwrap_or(IsolationLevel::ReadCommitted);
    let store = Store::new(options(arguments, level, seed), chooser(arguments, log, seed, novelty));
    let mut database = Database::new(store, Arc::new(Catalog::default()));
    database.obeys_levels = arguments.level.is_none();
    if let Some((file, text)) = initial {
        load(&mut database, file, text)?;
    }
    database.store.start(record, "");
    Ok(database)
}
