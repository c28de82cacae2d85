//! A procedure as a client says it: BEGIN, its statements with the values that it heard, COMMIT.
//!
//! ```text
//!   text()  BEGIN   SAVEPOINT s   INSERT …   (it failed)  ROLLBACK TO s   SELECT …   COMMIT
//!   hear()       ok            ok         23505                      ok        5         ok
//! ```
//!
//! What is to be said stays the same until it was heard, because a statement that waits is said again.

use crate::draft::{Statement, Values};

/// What a failure that is taken back leaves in the variable of its statement.
const FAILED: i64 = -1;

/// What a statement was answered: a value or a count, or the state of an error.
pub(crate) type Heard = Result<Option<i64>, String>;

/// What is to be said next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Begin,
    Save,
    Run,
    Undo,
    Commit,
    Rollback,
    Over,
}

/// A procedure on its way.
#[derive(Clone, Debug)]
pub(crate) struct Talk<'a> {
    procedure: &'a [Statement],
    begin: String,
    next: usize,
    phase: Phase,
    pub(crate) values: Values,
    /// How it ended, as soon as that is known.
    pub(crate) end: Option<String>,
}

impl<'a> Talk<'a> {
    pub(crate) fn new(procedure: &'a [Statement], begin: &str) -> Talk<'a> {
        let begin = begin.to_owned();
        Talk { procedure, begin, next: 0, phase: Phase::Begin, values: Values::default(), end: None }
    }

    /// What to say; nothing when everything is said.
    pub(crate) fn text(&self) -> Option<String> {
        Some(match self.phase {
            Phase::Begin => self.begin.clone(),
            Phase::Save => "SAVEPOINT s".to_owned(),
            Phase::Run => self.procedure[self.next].said(&self.values),
            Phase::Undo => "ROLLBACK TO SAVEPOINT s".to_owned(),
            Phase::Commit => "COMMIT".to_owned(),
            Phase::Rollback => "ROLLBACK".to_owned(),
            Phase::Over => return None,
        })
    }

    pub(crate) fn hear(&mut self, heard: Heard) {
        self.phase = match (self.phase, heard) {
            (Phase::Begin, Ok(_)) => self.go_on(),
            (Phase::Save, Ok(_)) => Phase::Run,
            (Phase::Run, Ok(value)) => {
                let statement = &self.procedure[self.next];
                self.values[statement.number] = value;
                self.next += 1;
                if statement.rolls_back(&self.values) {
                    self.end = Some("rolled back".to_owned());
                    Phase::Rollback
                } else {
                    self.go_on()
                }
            }
            (Phase::Run, Err(_)) if self.procedure[self.next].saved => Phase::Undo,
            (Phase::Undo, Ok(_)) => {
                self.values[self.procedure[self.next].number] = Some(FAILED);
                self.next += 1;
                self.go_on()
            }
            (Phase::Commit, Ok(_)) => {
                self.end = Some("committed".to_owned());
                Phase::Over
            }
            (Phase::Rollback | Phase::Over, _) => Phase::Over,
            (_, Err(state)) => {
                self.end = Some(format!("error {state}"));
                Phase::Rollback
            }
        };
    }

    /// On to the next statement that runs.
    fn go_on(&mut self) -> Phase {
        while let Some(statement) = self.procedure.get(self.next) {
            if statement.runs(&self.values) {
                return if statement.saved { Phase::Save } else { Phase::Run };
            }
            self.next += 1;
        }
        Phase::Commit
    }
}
