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

/// CREATE PROCEDURE.
#[derive(Clone, Debug)]
pub(crate) struct ProcedureText {
    pub(crate) name: Name,
    pub(crate) parameters: Vec<ParameterText>,
    pub(crate) body: Statement,
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
    /// SELECT … INTO.
    SelectInto { query: Piece, into: Vec<Name> },
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
    /// FOR row IN (query) DO.
    For { label: Option<Name>, row: Name, query: Piece, body: Vec<Statement> },
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
