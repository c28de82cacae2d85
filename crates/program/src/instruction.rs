//! A procedure as a list of instructions with jumps, so that a run can stop between any two and go on later.
//!
//! ```text
//!   IF bal >= amount THEN            0  Branch  bal >= amount, else 3
//!     UPDATE account …;              1  Execute UPDATE account …
//!     SET paid = amount;             2  Assign  paid = amount
//!   END IF;                          3  End
//! ```
//!
//! Every variable has a slot; blocks that are not nested into each other do not share slots, so nothing has to be cleaned up.

use crate::source::Piece;
use crate::syntax::{IntoRows, ParameterMode, SavepointVerb};
use skew_sql::Prepared;
use skew_value::{Place, SqlType};
use std::sync::Arc;

/// What is done next.
#[derive(Clone, Debug)]
pub(crate) enum Instruction {
    /// Runs a statement.
    Execute(Query),
    /// Runs a query and keeps a row of it.
    SelectInto(Query, Vec<Target>, IntoRows),
    /// Evaluates an expression and keeps it.
    Assign(Query, Target),
    /// Makes a variable NULL: its declaration was reached again.
    Clear(usize),
    /// How many rows the last change touched.
    CountInto(Target),
    /// Goes on if the condition is true, else elsewhere.
    Branch(Query, usize),
    /// Goes on elsewhere.
    Jump(usize),
    /// Reads the rows of a FOR loop.
    Open(usize, Query),
    /// Takes the next row of a FOR loop into the slots from here on, or goes elsewhere when there is none.
    Next { cursor: usize, first: usize, done: usize },
    /// Aborts with an error of the program's own.
    Signal(Arc<str>, Option<Query>),
    /// Aborts.
    Rollback,
    /// Sets a savepoint, forgets it, or goes back to it: its name, and the statement as the file has it.
    Savepoint(SavepointVerb, Arc<str>, Arc<str>),
    /// The procedure is over; its transaction commits.
    End,
}

/// A statement or expression that is ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) prepared: Arc<Prepared>,
    /// It knows the slots before this one.
    pub(crate) slots: usize,
    /// Where it stands in the file.
    pub(crate) place: Place,
    /// How many characters were put before its text.
    pub(crate) prefix: u32,
    /// Its text as the file has it.
    pub(crate) text: Arc<str>,
}

/// A variable that gets a value, and what the value is before it is converted.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) slot: usize,
    pub(crate) from: SqlType,
    pub(crate) to: SqlType,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub(crate) name: String,
    /// Which way it goes.
    pub(crate) mode: ParameterMode,
    /// Its type.
    pub(crate) sql_type: SqlType,
    pub(crate) slot: usize,
    /// What it is where a call does not say.
    pub(crate) default: Option<Piece>,
}

/// A variable whose value at the end can be asked for: OUT parameters and what the outermost block declares.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    pub(crate) slot: usize,
}

/// A procedure that is ready to run.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// Its name.
    pub name: String,
    /// Its parameters in order.
    pub(crate) parameters: Vec<Parameter>,
    /// What can be asked for at its end.
    pub fields: Vec<Field>,
    pub(crate) instructions: Vec<Instruction>,
    /// Where each instruction comes from.
    pub(crate) places: Vec<Place>,
    pub(crate) slots: usize,
    pub(crate) cursors: usize,
    /// Whether a call may leave out what it gets nothing for: OUT parameters of functions.
    pub(crate) is_function: bool,
}
