//! The program language: schema and rows, transactions as procedures, the sessions that call them, assertions.
//!
//! ```sql
//! CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL);
//! INSERT INTO account VALUES (1, 100);
//!
//! CREATE PROCEDURE withdraw(IN acct INT, IN amount INT, OUT paid INT)
//! BEGIN
//!   DECLARE bal INT;
//!   SET paid = 0;
//!   SELECT balance INTO bal FROM account WHERE id = acct;
//!   IF bal >= amount THEN
//!     UPDATE account SET balance = bal - amount WHERE id = acct;
//!     SET paid = amount;
//!   END IF;
//! END;
//!
//! SESSION alice: CALL withdraw(1, 60, @a);
//! SESSION bob:   CALL withdraw(1, 60, @b); CALL withdraw(1, 10, @c) AT snapshot;
//!
//! ASSERT 'money adds up':
//!   (SELECT balance FROM account WHERE id = 1) = 100 - alice[1].paid - bob[1].paid - bob[2].paid;
//! ```
//!
//! A procedure is one transaction. The language is MariaDB's SQL/PSM in both dialects; the dialect (MySQL, unless the first line says
//! `-- dialect: postgres`) decides about types, expressions and statements. Where it departs from MariaDB it says so:
//!
//! - an error aborts the transaction, because there are no handlers; SIGNAL and ROLLBACK abort it too, and end the procedure;
//! - `ROW_COUNT()` and `GET DIAGNOSTICS n = ROW_COUNT` tell of the last INSERT, UPDATE or DELETE, whatever SELECT and SET came after;
//! - `START TRANSACTION` as the first and `COMMIT` as the last statement are allowed and change nothing.
//!
//! ```text
//!   text ── source ──> tokens, pieces ── file_parser, body_parser ──> ProgramText
//!                                                                        │ schema runs in memory: Catalog, first rows
//!                                                     bind, compile ─────┘
//!                                                        │
//!                       Program: Procedure (instructions) · Script (calls) · Assertion
//!                                   │                        │                 │
//!                                  Run: step by step       Client            holds on a final state
//!                                   └── Spoken: its statements as text, and their answers
//! ```
//!
//! Everything is bound when the program is read: a column that does not exist is an error with line and column before any run. Who
//! runs the sessions, in which order and on which store, decides what happens: the mock database and the explorer.

mod assertion;
mod bind;
mod body_parser;
mod call;
mod compile;
mod error;
mod file_parser;
mod initial;
mod instruction;
mod run;
mod source;
mod spoken;
mod syntax;
#[cfg(test)]
mod tests;

pub use assertion::Assertion;
pub use bind::Warning;
pub use call::{Call, CallOutcome, CallResult, Client, Results, Script};
pub use error::ProgramError;
pub use instruction::{Field, Parameter, Procedure};
pub use run::{Ending, MOST_STEPS, Run, Step};
pub use spoken::{Heard, Speaker, Spoken, TextRows};
pub use syntax::ParameterMode;

use crate::by_place;
use crate::catalog::Catalog;
use crate::dialect::Dialect;
use crate::error::{Place, SqlError, SqlState};
use crate::memory::MemoryStorage;
use crate::session::Session;
use bind::Binder;
use source::Source;
use std::sync::Arc;

/// A program that is ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    source: Source,
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
        let start = Place { line: 1, column: 1 };
        Program::load(text, clock).map_err(|error| ProgramError::new(error, start, text))
    }

    fn load(text: &str, clock: i64) -> Result<Program, SqlError> {
        let source = Source::new(text)?;
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
        Ok(Program { catalog, rows, procedures, scripts, assertions, warnings, source, clock })
    }

    /// When its time begins, in microseconds since 1970.
    pub fn clock(&self) -> i64 {
        self.clock
    }

    /// The dialect of its first line.
    pub fn dialect(&self) -> Dialect {
        self.source.dialect
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
