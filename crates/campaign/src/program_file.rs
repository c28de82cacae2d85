//! A program with its text, as `play` and `explore` need it: parsed, complained about, loaded into a store.

use crate::{Complaint, Moment};
use sha2::{Digest, Sha256};
use skew_history::{Engine, IsolationLevel};
use skew_mockdb::{Begin, Store};
use skew_program::{Program, ProgramError};
use skew_sql::{Stop, Storage, Write};
use skew_value::{Dialect, SqlError};

/// What a program with EXCLUDE is told, since a server lets writers pass whose rows do not exclude each other.
const EXCLUDING: &str = "warning: a table has EXCLUDE: at the levels of engines whoever writes to it is taken to wait for all others who do, so that what \
they do beside that is not tried in every order";

/// The levels of the papers that are asked when nobody says which.
pub const LEVELS_OF_PAPERS: [IsolationLevel; 3] =
    [IsolationLevel::ReadCommitted, IsolationLevel::Snapshot, IsolationLevel::Serializable];

/// A program and the text that it was made from.
pub struct ProgramFile {
    /// As the user calls it.
    pub name: String,
    /// What is in it.
    pub text: String,
    /// What that means.
    pub program: Program,
    /// Whether levels of both engines are asked of a text that is nobody's: then PostgreSQL computes for both.
    is_for_both: bool,
}

const FOR_BOTH: &str = "warning: the levels are those of two engines, and the program names no dialect: what its expressions come to is computed as \
PostgreSQL does, at all levels; ask for the levels of one engine at a time where the two compute differently";

impl ProgramFile {
    /// Understands a text, in which time begins at a moment, and which is asked at these levels: one that names no dialect is PostgreSQL's, unless
    /// all that is asked of it is MySQL's. A program whose sessions call nothing is refused.
    pub fn parse(
        name: String,
        text: String,
        clock: Moment,
        levels: &[IsolationLevel],
    ) -> Result<ProgramFile, Complaint> {
        // Some editors begin files with a mark.
        let text = text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned);
        let asks =
            |engine: Engine| levels.iter().filter_map(|level| level.of_engine()).any(|one| one.engine() == engine);
        let is_for_both = asks(Engine::Mysql) && asks(Engine::Postgres) && skew_program::dialect_of(&text).is_none();
        let is_mysql = asks(Engine::Mysql) && !asks(Engine::Postgres);
        let unnamed = if is_mysql { Dialect::MySql } else { Dialect::Postgres };
        let program = Program::parse_in(&text, clock.0, unnamed).map_err(|error| complaint(&name, &error))?;
        if program.scripts().is_empty() {
            let advice = "add lines like `SESSION alice: CALL withdraw(1, 60, @a);`";
            return Err(Complaint::new(&name, "no SESSION calls anything".to_owned(), advice));
        }
        Ok(ProgramFile { name, text, program, is_for_both })
    }

    /// What its parser warns of, a line each.
    pub fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        let told = |place: skew_value::Place, message: &str| {
            format!("warning: line {}, column {}: {message}", place.line, place.column)
        };
        let of_text = self.program.warnings().iter().map(move |warning| told(warning.place, &warning.message));
        let excludes = self.program.initial().0.tables.values().any(|table| table.excludes());
        let of_file = [(self.is_for_both, FOR_BOTH), (excludes, EXCLUDING)];
        of_text.chain(of_file.into_iter().filter(|(is_so, _)| *is_so).map(|(_, told)| told.to_owned()))
    }

    /// The levels of the engine that it is written for: those that are asked when nobody says which.
    pub fn engine_levels(&self) -> Vec<IsolationLevel> {
        let engine = match self.program.dialect() {
            Dialect::Postgres => Engine::Postgres,
            Dialect::MySql => Engine::Mysql,
        };
        engine.usual_levels().map(IsolationLevel::Engine).collect()
    }

    /// The levels that are asked when nobody says which: those of its engine, or of the level that calls have by `AT`. Levels of the papers
    /// and of engines do not go together.
    pub fn usual_levels(&self) -> Vec<IsolationLevel> {
        let declared = self.program.scripts().iter().flat_map(|script| &script.calls).find_map(|call| call.level);
        match declared.map(IsolationLevel::of_engine) {
            None => self.engine_levels(),
            Some(Some(level)) => level.engine().usual_levels().map(IsolationLevel::Engine).collect(),
            Some(None) => LEVELS_OF_PAPERS.to_vec(),
        }
    }

    /// The hash that binds findings and unfinished explorations to it.
    pub fn sha256(&self) -> String {
        Sha256::digest(&self.text).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// An error of a program with its line and a caret under the place.
pub fn complaint(file: &str, error: &ProgramError) -> Complaint {
    let place = error.place;
    let message = format!("line {}, column {}: {}", place.line, place.column, error.message);
    let mut complaint = Complaint::new(file, message, error.hint.as_deref().unwrap_or_default());
    let number = format!("{} | ", place.line);
    let blanks = " ".repeat(number.len());
    // A line of a megabyte helps nobody.
    if error.line.chars().count() <= 200 {
        complaint.excerpt = Some(format!("{number}{}\n  {blanks}{}", error.line, error.caret()));
    }
    complaint
}

/// A value that a call handed out, as text.
pub fn shown(value: &skew_value::Datum, field: &skew_program::Field, program: &Program) -> String {
    match value.is_null() {
        true => "NULL".to_owned(),
        false => skew_value::output(value, &field.sql_type, program.dialect()),
    }
}

/// Puts the first rows where no transaction wrote them.
pub fn load(store: &mut Store, program: &Program) -> Result<(), SqlError> {
    let loader = store.connect("skew/load");
    store.begin(loader, Begin::default())?;
    let copied = copy(program, &mut *store.view(loader));
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
