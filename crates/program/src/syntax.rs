//! A program as it is written, before names are looked up.
//!
//! ```text
//!   schema and rows      pieces of SQL, in order
//!   procedures           parameters and a tree of statements
//!   sessions             calls with their arguments
//!   assertions           a name and a condition
//! ```
//!
//! Expressions and queries stay pieces of the file; who knows the catalog reads them.

use crate::source::Piece;
use skew_history::IsolationLevel;
use skew_value::Place;

/// A name where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) place: Place,
}

/// A whole file.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramText {
    pub(crate) schema: Vec<Piece>,
    pub(crate) procedures: Vec<ProcedureText>,
    pub(crate) sessions: Vec<SessionText>,
    pub(crate) assertions: Vec<AssertionText>,
}

impl ProgramText {
    /// One more procedure. A function of PostgreSQL may have the name of another one with other parameters, and gets a number then; with OR
    /// REPLACE and the same parameters it stands in the place of the other.
    pub(crate) fn add(&mut self, mut procedure: ProcedureText) {
        let Language::Postgres { replaces, .. } = procedure.language else { return self.procedures.push(procedure) };
        let name = procedure.name.text.clone();
        let same = |known: &&mut ProcedureText| known.name.text == name && known.language == procedure.language;
        if let Some(known) = self.procedures.iter_mut().find(same).filter(|_| replaces) {
            *known = procedure;
            return;
        }
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let is_taken = |name: &String| self.procedures.iter().any(|known| known.name.text == *name);
        procedure.name.text = [name.clone()].into_iter().chain(numbered).find(|name| !is_taken(name)).unwrap_or(name);
        self.procedures.push(procedure);
    }
}

/// CREATE PROCEDURE.
#[derive(Clone, Debug)]
pub(crate) struct ProcedureText {
    pub(crate) name: Name,
    pub(crate) parameters: Vec<ParameterText>,
    pub(crate) body: Statement,
    pub(crate) language: Language,
}

/// What a procedure is written in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    /// SQL/PSM, as MariaDB has it.
    Psm,
    /// PostgreSQL's functions: PL/pgSQL and SQL. `replaces` is OR REPLACE; equal signatures have parameters of the same types.
    Postgres { replaces: bool, signature: String },
}

/// Which way a parameter goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ParameterMode {
    /// The caller gives a value.
    In,
    /// The caller gets a value.
    Out,
    /// Both.
    InOut,
}

/// A parameter.
#[derive(Clone, Debug)]
pub(crate) struct ParameterText {
    pub(crate) mode: ParameterMode,
    pub(crate) name: Name,
    pub(crate) sql_type: Piece,
    pub(crate) default: Option<Piece>,
}

/// A statement and where it begins.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) place: Place,
    pub(crate) kind: StatementKind,
}

/// What a statement does.
#[derive(Clone, Debug)]
pub(crate) enum StatementKind {
    /// BEGIN … END, with its label.
    Block(Option<Name>, Vec<Statement>),
    /// DECLARE names type DEFAULT value.
    Declare { names: Vec<Name>, sql_type: Piece, default: Option<Piece> },
    /// SET name = value.
    Set(Vec<(Name, Piece)>),
    /// SELECT … INTO; PERFORM goes into nothing.
    SelectInto { query: Piece, into: Vec<Name>, rows: IntoRows },
    /// INSERT, UPDATE, DELETE, or a query whose rows nobody looks at.
    Sql(Piece),
    /// IF and the CASE without a subject.
    If { arms: Vec<(Piece, Vec<Statement>)>, otherwise: Option<Vec<Statement>>, must_match: bool },
    /// CASE subject WHEN.
    Case { subject: Piece, arms: Vec<(Piece, Vec<Statement>)>, otherwise: Option<Vec<Statement>> },
    /// WHILE condition DO.
    While(Option<Name>, Piece, Vec<Statement>),
    /// LOOP.
    Loop(Option<Name>, Vec<Statement>),
    /// REPEAT … UNTIL condition.
    Repeat(Option<Name>, Vec<Statement>, Piece),
    /// FOR row IN (query) DO; PL/pgSQL also has FOR a, b IN query.
    For { label: Option<Name>, row: LoopRow, query: Piece, body: Vec<Statement>, tells: bool },
    /// FOR number IN a..b.
    Range { label: Option<Name>, number: Name, bounds: RangeBounds, body: Vec<Statement>, tells: bool },
    /// LEAVE label.
    Leave(Name),
    /// ITERATE label.
    Iterate(Name),
    /// SIGNAL SQLSTATE state SET MESSAGE_TEXT = message.
    Signal { state: String, message: Option<Piece> },
    /// ROLLBACK.
    Rollback,
    /// SAVEPOINT, RELEASE or ROLLBACK TO, with the name and the whole statement.
    Savepoint(SavepointVerb, Name, Piece),
    /// GET DIAGNOSTICS name = ROW_COUNT.
    RowCount(Name),
}

/// What SELECT … INTO does where there is not one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IntoRows {
    /// MariaDB: without a row variables stay as they are, several are an error.
    Keep,
    /// PL/pgSQL: without a row they become NULL, of several the first is taken.
    First,
    /// PL/pgSQL after a change: without a row they become NULL, several are an error.
    One,
    /// STRICT: there has to be exactly one.
    Strict,
}

/// What a loop over rows gives its values to.
#[derive(Clone, Debug)]
pub(crate) enum LoopRow {
    /// A row, whose columns are its fields.
    Row(Name),
    /// A variable for each column, which nobody uses outside of the loop.
    Variables(Vec<Name>),
}

/// The numbers that a loop goes through.
#[derive(Clone, Debug)]
pub(crate) struct RangeBounds {
    pub(crate) from: Piece,
    pub(crate) to: Piece,
    pub(crate) by: Option<Piece>,
    pub(crate) reverse: bool,
}

/// What is done with a savepoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SavepointVerb {
    /// SAVEPOINT.
    Set,
    /// RELEASE SAVEPOINT.
    Release,
    /// ROLLBACK TO SAVEPOINT.
    BackTo,
}

/// SESSION name: calls.
#[derive(Clone, Debug)]
pub(crate) struct SessionText {
    pub(crate) name: Name,
    pub(crate) calls: Vec<CallText>,
}

/// CALL procedure(arguments) AT level.
#[derive(Clone, Debug)]
pub(crate) struct CallText {
    pub(crate) procedure: Name,
    pub(crate) arguments: Vec<ArgumentText>,
    pub(crate) level: Option<IsolationLevel>,
}

/// What is given to a parameter.
#[derive(Clone, Debug)]
pub(crate) enum ArgumentText {
    /// `@name`.
    Variable(Name),
    /// Anything else.
    Constant(Piece),
}

/// ASSERT 'name': condition.
#[derive(Clone, Debug)]
pub(crate) struct AssertionText {
    pub(crate) name: String,
    pub(crate) condition: Piece,
}
