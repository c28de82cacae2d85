//! What is wrong with a program, and where in its file.
//!
//! ```text
//!   line 7, column 3: no column named balanse
//!     UPDATE account SET balanse = 1
//!     ^
//! ```

use crate::source::readable;
use skew_value::{Place, SqlError, SqlState};

/// A program that cannot be run: found before any run, except where a schema statement fails.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ProgramError {
    /// What kind, for programs.
    pub state: SqlState,
    /// What is wrong: lower-case, one line.
    pub message: String,
    /// What to do about it, where that is known.
    pub hint: Option<String>,
    /// Where in the file.
    pub place: Place,
    /// The line of the file, for whoever draws it.
    pub line: String,
}

impl ProgramError {
    /// The error of a statement, seen from the file that holds it.
    pub(crate) fn new(error: SqlError, place: Place, text: &str) -> ProgramError {
        let place = error.place.unwrap_or(place);
        let line = text.lines().nth(place.line.saturating_sub(1) as usize).unwrap_or_default();
        ProgramError {
            state: error.state,
            message: readable(&error.message),
            hint: error.hint.or(error.detail.map(String::from)).map(|hint| readable(&hint)),
            place,
            line: line.to_owned(),
        }
    }

    /// The column of the place under the line, as a caret after as many blanks as needed.
    pub fn caret(&self) -> String {
        let before = self.line.chars().take(self.place.column.saturating_sub(1) as usize);
        // A tab stays one, or the caret would stand elsewhere.
        let mut blanks: String = before.map(|character| if character == '\t' { '\t' } else { ' ' }).collect();
        blanks.push('^');
        blanks
    }
}
