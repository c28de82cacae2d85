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
//! A procedure is one transaction. The language is MariaDB's SQL/PSM in both dialects; the dialect (PostgreSQL's, unless the first line
//! says `-- dialect: mysql`) decides about types, expressions and statements. Functions as PostgreSQL has them, in PL/pgSQL and SQL, are
//! read into the same tree. Where the language departs from MariaDB it says so:
//!
//! - an error aborts the transaction, because there are no handlers; SIGNAL and ROLLBACK abort it too, and end the procedure;
//! - `ROW_COUNT()` and `GET DIAGNOSTICS n = ROW_COUNT` tell of the last INSERT, UPDATE or DELETE, whatever SELECT and SET came after;
//! - SAVEPOINT, ROLLBACK TO and RELEASE are those of the dialect; an error aborts the transaction whatever savepoints there are;
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
mod client;
mod compile;
mod dollars;
mod error;
mod file_parser;
mod flow;
mod initial;
mod instruction;
mod parts;
mod plain;
mod plpgsql;
mod program;
mod rows;
mod run;
mod savepoint;
mod source;
mod spoken;
mod syntax;
#[cfg(test)]
mod tests;

pub use assertion::Assertion;
pub use bind::Warning;
pub use call::{Call, CallOutcome, CallResult, Results, Script};
pub use client::Client;
pub use error::ProgramError;
pub use flow::{FlowAction, FlowStep};
pub use instruction::{Field, Parameter, Procedure};
pub use parts::{FilePart, PartKind, dialect_of, parts};
pub use plain::{MadeLine, MadeText, as_procedures};
pub use program::Program;
pub use run::{Ending, MOST_STEPS, Run, Step};
pub use spoken::{Heard, Speaker, Spoken, TextRows};
pub use syntax::ParameterMode;
