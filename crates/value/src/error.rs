//! What is wrong with a statement: an SQLSTATE for programs; words, advice and a place for people.
//!
//! ```text
//!   42703  no column named "balanse"       line 7, column 24
//!    │      │                               │
//!   state  message  (detail, hint)         place
//! ```

use std::fmt;

/// A five-character SQLSTATE, as PostgreSQL defines them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SqlState(pub &'static str);

impl SqlState {
    /// The text is no statement.
    pub const SYNTAX_ERROR: SqlState = SqlState("42601");
    /// The construct exists, but not here.
    pub const FEATURE_NOT_SUPPORTED: SqlState = SqlState("0A000");
    /// No such table or view.
    pub const UNDEFINED_TABLE: SqlState = SqlState("42P01");
    /// No such column.
    pub const UNDEFINED_COLUMN: SqlState = SqlState("42703");
    /// No such function, or not with these arguments.
    pub const UNDEFINED_FUNCTION: SqlState = SqlState("42883");
    /// No such index, sequence, type, constraint, procedure.
    pub const UNDEFINED_OBJECT: SqlState = SqlState("42704");
    /// A table, view, index or sequence of this name exists.
    pub const DUPLICATE_TABLE: SqlState = SqlState("42P07");
    /// A column of this name exists.
    pub const DUPLICATE_COLUMN: SqlState = SqlState("42701");
    /// Another thing of this name exists.
    pub const DUPLICATE_OBJECT: SqlState = SqlState("42710");
    /// A name that fits several columns.
    pub const AMBIGUOUS_COLUMN: SqlState = SqlState("42702");
    /// A column that is neither grouped nor aggregated.
    pub const GROUPING_ERROR: SqlState = SqlState("42803");
    /// Types that do not go together.
    pub const DATATYPE_MISMATCH: SqlState = SqlState("42804");
    /// A value cannot become the other type.
    pub const CANNOT_COERCE: SqlState = SqlState("42846");
    /// The text of a value is not one of its type.
    pub const INVALID_TEXT: SqlState = SqlState("22P02");
    /// The text of a date or time is none.
    pub const INVALID_DATETIME: SqlState = SqlState("22007");
    /// A date or time out of range.
    pub const DATETIME_OVERFLOW: SqlState = SqlState("22008");
    /// A number does not fit its type.
    pub const NUMERIC_OUT_OF_RANGE: SqlState = SqlState("22003");
    /// Division by zero.
    pub const DIVISION_BY_ZERO: SqlState = SqlState("22012");
    /// A text is longer than its column.
    pub(crate) const TEXT_TOO_LONG: SqlState = SqlState("22001");
    /// An argument that a function does not accept.
    pub const INVALID_PARAMETER: SqlState = SqlState("22023");
    /// More than one row where one was wanted.
    pub const CARDINALITY: SqlState = SqlState("21000");
    /// NULL in a NOT NULL column.
    pub const NOT_NULL: SqlState = SqlState("23502");
    /// A foreign key points nowhere, or is still pointed to.
    pub const FOREIGN_KEY: SqlState = SqlState("23503");
    /// A unique key exists.
    pub const UNIQUE: SqlState = SqlState("23505");
    /// A CHECK is false.
    pub const CHECK: SqlState = SqlState("23514");
    /// An exclusion constraint is violated.
    pub const EXCLUSION: SqlState = SqlState("23P01");
    /// No such namespace.
    pub const INVALID_NAMESPACE: SqlState = SqlState("3F000");
    /// Something else still needs it.
    pub const DEPENDENT_OBJECTS: SqlState = SqlState("2BP01");
    /// The definition of a table contradicts itself.
    pub const INVALID_TABLE_DEFINITION: SqlState = SqlState("42P16");
    /// The columns of a foreign key do not fit.
    pub const INVALID_FOREIGN_KEY: SqlState = SqlState("42830");
    /// The thing is of another kind: a view where a table was wanted.
    pub const WRONG_OBJECT_TYPE: SqlState = SqlState("42809");
    /// A generated column or ALWAYS identity was given a value.
    pub const GENERATED_ALWAYS: SqlState = SqlState("428C9");
    /// A sequence has no value in this session yet.
    pub const OBJECT_NOT_IN_STATE: SqlState = SqlState("55000");
    /// Writing in a read-only transaction.
    pub const READ_ONLY: SqlState = SqlState("25006");
    /// Too deep or too large to be handled.
    pub const TOO_COMPLEX: SqlState = SqlState("54001");
    /// A limit of the program was reached.
    pub const LIMIT_EXCEEDED: SqlState = SqlState("54000");
    /// A mistake of ours: never expected.
    pub const INTERNAL: SqlState = SqlState("XX000");
}

/// A place in the text of a statement or program, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

/// A statement that cannot be carried out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct SqlError {
    /// What kind, for programs.
    pub state: SqlState,
    /// What is wrong: lower-case, one line.
    pub message: String,
    /// Which values it is about, for people.
    pub detail: Option<Box<str>>,
    /// What to do about it, where that is known.
    pub hint: Option<String>,
    /// Where in the text.
    pub place: Option<Place>,
    /// The constraint that is violated.
    pub constraint: Option<Box<str>>,
}

impl SqlError {
    /// An error without place or hint.
    pub fn new(state: SqlState, message: impl Into<String>) -> SqlError {
        SqlError { state, message: message.into(), detail: None, hint: None, place: None, constraint: None }
    }

    /// A construct that Skew's SQL does not have.
    pub fn unsupported(construct: impl fmt::Display) -> SqlError {
        SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{construct} is not supported"))
    }

    /// The same with what it is about.
    pub fn with_detail(self, detail: impl Into<Box<str>>) -> SqlError {
        SqlError { detail: Some(detail.into()), ..self }
    }

    /// The same with advice.
    pub fn with_hint(self, hint: impl Into<String>) -> SqlError {
        SqlError { hint: Some(hint.into()), ..self }
    }

    /// The same with a place, unless it has one.
    pub fn at(self, place: Place) -> SqlError {
        SqlError { place: self.place.or(Some(place)), ..self }
    }

    /// The same with the name of the violated constraint.
    pub fn of_constraint(self, name: impl Into<Box<str>>) -> SqlError {
        SqlError { constraint: Some(name.into()), ..self }
    }
}
