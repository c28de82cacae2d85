//! A program that is ready to run: from its text, by way of its schema, to procedures, scripts and assertions that are bound.

use crate::assertion::{self, Assertion};
use crate::bind::{Binder, Warning};
use crate::call::{self, Script};
use crate::error::ProgramError;
use crate::instruction::Procedure;
use crate::source::{Source, named_dialect};
use crate::{compile, file_parser, initial};
use skew_sql::{Catalog, MemoryStorage, Session, by_place};
use skew_value::{Dialect, Place, SqlError, SqlState};
use std::sync::Arc;

/// A program that is ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    source: Source,
    schema: Vec<String>,
    catalog: Arc<Catalog>,
    rows: MemoryStorage,
    procedures: Vec<Arc<Procedure>>,
    scripts: Vec<Script>,
    assertions: Vec<Assertion>,
    warnings: Vec<Warning>,
    clock: i64,
}

impl Program {
    /// Reads a program, runs its schema, and binds everything else.
    pub fn parse(text: &str) -> Result<Program, ProgramError> {
        Program::parse_at(text, by_place::EPOCH)
    }

    /// The same where time begins at a moment, in microseconds since 1970.
    pub fn parse_at(text: &str, clock: i64) -> Result<Program, ProgramError> {
        Program::parse_in(text, clock, Dialect::Postgres)
    }

    /// The same in a dialect, unless its first line names another one.
    pub fn parse_in(text: &str, clock: i64, unnamed: Dialect) -> Result<Program, ProgramError> {
        let start = Place { line: 1, column: 1 };
        Program::load(text, clock, unnamed).map_err(|error| ProgramError::new(error, start, text))
    }

    /// One that names no dialect, and would be right in the other one, is told which line it lacks.
    fn load(text: &str, clock: i64, unnamed: Dialect) -> Result<Program, SqlError> {
        if let Some(dialect) = named_dialect(text)? {
            return Program::load_in(dialect, text, clock);
        }
        let (other, advice) = match unnamed {
            Dialect::Postgres => (
                Dialect::MySql,
                "MySQL understands it: if it is meant for MySQL or MariaDB, let the first line be `-- dialect: mysql`",
            ),
            Dialect::MySql => (
                Dialect::Postgres,
                "PostgreSQL understands it: if it is meant for that, let the first line be `-- dialect: postgres`",
            ),
        };
        Program::load_in(unnamed, text, clock).map_err(|error| match Program::load_in(other, text, clock) {
            Ok(_) => {
                let hint = error.hint.as_ref().map_or_else(|| advice.to_owned(), |hint| format!("{hint}; {advice}"));
                error.with_hint(hint)
            }
            Err(_) => error,
        })
    }

    fn load_in(dialect: Dialect, text: &str, clock: i64) -> Result<Program, SqlError> {
        let source = Source::new(text, dialect)?;
        let parsed = file_parser::parse(&source)?;
        let (catalog, rows) = initial::run(&source, &parsed.schema, clock)?;
        let mut binder = Binder::new(&source, Arc::clone(&catalog));
        let mut procedures: Vec<Arc<Procedure>> = Vec::new();
        for procedure in &parsed.procedures {
            let name = &procedure.name;
            if procedures.iter().any(|other| other.name == name.text) {
                let message = format!("the procedure {} is created twice", name.text);
                return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message).at(name.place));
            }
            procedures.push(Arc::new(compile::compile(&mut binder, procedure)?));
        }
        let scripts = call::scripts(&mut binder, &parsed.sessions, &procedures)?;
        let assertions = assertion::assertions(&mut binder, &parsed.assertions, &scripts, &procedures)?;
        let mut warnings = std::mem::take(&mut binder.warnings);
        warnings.dedup();
        let schema = parsed.schema.iter().map(|piece| source.text_of(piece)).collect();
        Ok(Program { schema, catalog, rows, procedures, scripts, assertions, warnings, source, clock })
    }

    /// When its time begins, in microseconds since 1970.
    pub fn clock(&self) -> i64 {
        self.clock
    }

    /// The dialect that its first line names; where it names none, the one that it was read in, which is PostgreSQL's unless somebody said otherwise.
    pub fn dialect(&self) -> Dialect {
        self.source.dialect
    }

    /// The statements that make its tables and first rows, as the file has them.
    pub fn schema(&self) -> &[String] {
        &self.schema
    }

    /// What exists, and the rows that are there before the first call.
    pub fn initial(&self) -> (&Arc<Catalog>, &MemoryStorage) {
        (&self.catalog, &self.rows)
    }

    /// A session that its statements run in.
    pub fn session(&self) -> Session {
        Session::new(self.source.dialect, Arc::clone(&self.catalog))
    }

    /// The procedures in the order of the file.
    pub fn procedures(&self) -> &[Arc<Procedure>] {
        &self.procedures
    }

    /// The sessions in the order of the file, each with its calls.
    pub fn scripts(&self) -> &[Script] {
        &self.scripts
    }

    /// The assertions in the order of the file.
    pub fn assertions(&self) -> &[Assertion] {
        &self.assertions
    }

    /// What the author may not have meant.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// An error of a run with its line of the file.
    pub fn error(&self, error: SqlError) -> ProgramError {
        ProgramError::new(error, Place { line: 1, column: 1 }, &self.source.text)
    }
}
