//! A program file as `play` and `explore` read it, and the choices of semantics that both offer.

use crate::clock::Moment;
use crate::input::{Complaint, cannot};
use crate::output::note_input;
use sha2::{Digest, Sha256};
use skew_mockdb::{Begin, Store, Updates};
use skew_sql::program::{Program, ProgramError};
use skew_sql::{Granularity, SqlError, Stop, Storage, Write};
use std::fs;
use std::io::Read;
use std::path::Path;

/// The largest program that is read.
const LARGEST_PROGRAM: u64 = 16 << 20;

/// A program and the text that it was made from.
pub(super) struct ProgramFile {
    /// As the user calls it.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) program: Program,
}

impl ProgramFile {
    /// Reads a file, whose time begins at a moment; `-` is standard input. A program whose sessions call nothing is refused.
    pub(super) fn read(path: &Path, clock: Moment) -> Result<ProgramFile, Complaint> {
        let name = path.to_string_lossy().into_owned();
        let text = text_of(path, &name)?;
        let program = Program::parse_at(&text, clock.0).map_err(|error| complaint(&name, &error))?;
        if program.scripts().is_empty() {
            let advice = "add lines like `SESSION alice: CALL withdraw(1, 60, @a);`";
            return Err(Complaint::new(&name, "no SESSION calls anything".to_owned(), advice));
        }
        Ok(ProgramFile { name, text, program })
    }

    /// What its parser warns of, a line each.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        let told = |place: skew_sql::Place, message: &str| {
            format!("warning: line {}, column {}: {message}", place.line, place.column)
        };
        self.program.warnings().iter().map(move |warning| told(warning.place, &warning.message))
    }

    /// The hash that binds findings and unfinished explorations to it.
    pub(super) fn sha256(&self) -> String {
        Sha256::digest(&self.text).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn text_of(path: &Path, name: &str) -> Result<String, Complaint> {
    let advice = "check the name; `-` is standard input";
    let complain = |error: std::io::Error| Complaint::new(name, cannot("read", &error), advice);
    note_input(path);
    let mut bytes = Vec::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin().lock().take(LARGEST_PROGRAM + 1).read_to_end(&mut bytes),
        false => fs::File::open(path).and_then(|file| file.take(LARGEST_PROGRAM + 1).read_to_end(&mut bytes)),
    };
    read.map_err(complain)?;
    if bytes.len() as u64 > LARGEST_PROGRAM {
        let message = "the program has more than 16 MiB".to_owned();
        return Err(Complaint::new(name, message, "is it the right file?"));
    }
    String::from_utf8(bytes)
        .map_err(|_| Complaint::new(name, "the program is not UTF-8".to_owned(), "convert it to UTF-8"))
}

/// An error of a program with its line and a caret under the place.
pub(super) fn complaint(file: &str, error: &ProgramError) -> Complaint {
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
pub(super) fn shown(value: &skew_sql::Datum, field: &skew_sql::program::Field, program: &Program) -> String {
    match value.is_null() {
        true => "NULL".to_owned(),
        false => skew_sql::value::output(value, &field.sql_type, program.dialect()),
    }
}

/// Puts the first rows where no transaction wrote them.
pub(super) fn load(store: &mut Store, program: &Program) -> Result<(), SqlError> {
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

/// Whether updates lock.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
pub(super) enum UpdatesArgument {
    /// Every write and locking read takes the row's lock and reads its latest version
    Atomic,
    /// Ordinary reads and writes, as in the papers
    Plain,
}

impl From<UpdatesArgument> for Updates {
    fn from(argument: UpdatesArgument) -> Updates {
        match argument {
            UpdatesArgument::Atomic => Updates::Atomic,
            UpdatesArgument::Plain => Updates::Plain,
        }
    }
}

/// What is one key.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
pub(super) enum GranularityArgument {
    /// A row
    Row,
    /// A column of a row
    Cell,
}

impl From<GranularityArgument> for Granularity {
    fn from(argument: GranularityArgument) -> Granularity {
        match argument {
            GranularityArgument::Row => Granularity::Row,
            GranularityArgument::Cell => Granularity::Cell,
        }
    }
}

/// Text or JSON.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
pub(super) enum Format {
    /// Text for people
    Human,
    /// JSON for programs
    Json,
}
