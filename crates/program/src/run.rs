//! Runs a procedure, one instruction at a time.
//!
//! ```text
//!   Run = the next instruction + the variables + the rows of open FOR loops
//!
//!   step ──┬── Ok(Continue)         go on
//!          ├── Ok(Done(ending))     commit, or abort
//!          ├── Err(Interrupted)     the store wants something; after Wait the same step is run again
//!          └── Err(Error)           the statement failed: the transaction is aborted, nothing catches errors
//! ```
//!
//! A step that does not come to its end changes nothing in the run, so it can be run again; a run can be cloned, and each clone goes
//! its own way. Together with the store's contract this makes a procedure a function of what it read.

use crate::instruction::{Instruction, Procedure, Query, Target};
use crate::savepoint::Savepoints;
use crate::source::in_file;
use crate::spoken::{Heard, Spoken};
use crate::syntax::IntoRows;
use skew_sql::{Answer, Purpose, Session, Stop, Storage};
use skew_value::{Datum, Place, SqlError, SqlState, SqlType};
use std::sync::Arc;

/// How many steps a call may take unless told otherwise.
pub const MOST_STEPS: u64 = 100_000;

/// PL/pgSQL's no_data_found and too_many_rows.
const NO_DATA_FOUND: SqlState = SqlState("P0002");
const TOO_MANY_ROWS: SqlState = SqlState("P0003");

/// A procedure on its way.
#[derive(Clone, Debug)]
pub struct Run {
    procedure: Arc<Procedure>,
    next: usize,
    values: Vec<Datum>,
    cursors: Vec<Cursor>,
    savepoints: Savepoints,
    steps: u64,
    most_steps: u64,
    /// What it said and heard, if it is to be remembered; or why something cannot be said.
    spoken: Option<Result<Vec<Spoken>, SqlError>>,
}

/// The rows of a FOR loop that are still to come.
#[derive(Clone, Debug, Default)]
struct Cursor {
    rows: Arc<[Vec<Datum>]>,
    next: usize,
}

/// What became of a step.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// There is more to do.
    Continue,
    /// The procedure is over.
    Done(Ending),
}

/// How a procedure ended.
#[derive(Clone, PartialEq, Debug)]
pub enum Ending {
    /// It came to its end: the transaction commits.
    Commit,
    /// ROLLBACK: the transaction is aborted.
    Rollback,
    /// SIGNAL: the transaction is aborted, and the caller is told why.
    Signal {
        /// The SQLSTATE.
        state: String,
        /// MESSAGE_TEXT.
        message: String,
        /// Where in the file.
        place: Place,
    },
}

impl Run {
    /// A run of a procedure with the values of its parameters, already of their types; OUT parameters begin as NULL.
    pub(crate) fn new(procedure: Arc<Procedure>, arguments: Vec<Datum>, most_steps: u64) -> Run {
        let mut values = vec![Datum::Null; procedure.slots];
        values[0] = Datum::Integer(0);
        for (parameter, argument) in procedure.parameters.iter().zip(arguments) {
            values[parameter.slot] = argument;
        }
        let cursors = vec![Cursor::default(); procedure.cursors];
        let savepoints = Savepoints::default();
        Run { procedure, next: 0, values, cursors, savepoints, steps: 0, most_steps, spoken: None }
    }

    /// From here on what is said to the database, as text, and what is heard is remembered.
    pub fn remember(&mut self) {
        self.spoken = Some(Ok(Vec::new()));
    }

    /// How many statements it has said that are answered, of those that it remembers.
    pub fn said(&self) -> usize {
        self.spoken.as_ref().and_then(|spoken| spoken.as_ref().ok()).map_or(0, Vec::len)
    }

    /// What was said and heard so far, of what it remembers.
    pub fn spoken(&self) -> &[Spoken] {
        self.spoken.as_ref().and_then(|spoken| spoken.as_deref().ok()).unwrap_or_default()
    }

    /// What was said and heard; an error where something cannot be said as text.
    pub fn take_spoken(&mut self) -> Result<Vec<Spoken>, SqlError> {
        self.spoken.take().unwrap_or(Ok(Vec::new()))
    }

    /// Asks the database, or whoever stands for it.
    fn ask(&mut self, query: &Query, session: &mut Session, storage: &mut dyn Storage) -> Result<Answer, Stop> {
        let answer = query.run(session, &self.values, storage);
        if let Some(Ok(known)) = &mut self.spoken {
            match query.spoken(&self.values, &answer, session.dialect()) {
                Ok(spoken) => known.extend(spoken),
                Err(error) => self.spoken = Some(Err(error)),
            }
        }
        answer
    }

    /// What was said about a savepoint, unless it is said again later.
    fn remember_savepoint(&mut self, text: &Arc<str>, done: &Result<(), Stop>) {
        let heard = match done {
            Ok(()) => Heard::Done,
            Err(Stop::Error(error)) => Heard::failed(error),
            Err(Stop::Interrupted(_)) => return,
        };
        let place = self.place();
        if let Some(Ok(known)) = &mut self.spoken {
            known.push(Spoken { text: text.to_string(), place, heard });
        }
    }

    /// The procedure.
    pub(crate) fn procedure(&self) -> &Arc<Procedure> {
        &self.procedure
    }

    /// The value of one of [`Procedure::fields`] now.
    pub(crate) fn field(&self, number: usize) -> &Datum {
        self.procedure.fields.get(number).map_or(&Datum::Null, |field| &self.values[field.slot])
    }

    /// The value of a parameter now.
    pub(crate) fn parameter(&self, number: usize) -> &Datum {
        self.procedure.parameters.get(number).map_or(&Datum::Null, |parameter| &self.values[parameter.slot])
    }

    /// The statement or expression that the next step runs, as the file has it.
    pub fn statement(&self) -> Option<&Arc<str>> {
        match &self.procedure.instructions[self.next] {
            Instruction::Savepoint(_, _, text) => Some(text),
            _ => self.query().map(|query| &query.text),
        }
    }

    /// What the statement of the next step is for.
    pub fn purpose(&self) -> Purpose {
        self.query().map_or(Purpose::Read, |query| query.prepared.statement().purpose())
    }

    /// Whether the statement of the next step seeks rows in one place and looks at nothing else.
    pub fn seeks_in_one_place(&self) -> bool {
        self.query().is_some_and(|query| query.prepared.statement().seeks_in_one_place())
    }

    /// Where the next step stands in the file.
    pub fn place(&self) -> Place {
        self.procedure.places[self.next]
    }

    /// Whether everything but the commit is done.
    pub fn is_at_end(&self) -> bool {
        matches!(self.procedure.instructions[self.next], Instruction::End)
    }

    fn query(&self) -> Option<&Query> {
        match &self.procedure.instructions[self.next] {
            Instruction::Execute(query)
            | Instruction::SelectInto(query, ..)
            | Instruction::Assign(query, _)
            | Instruction::Branch(query, _)
            | Instruction::Open(_, query)
            | Instruction::Signal(_, Some(query)) => Some(query),
            _ => None,
        }
    }

    /// Runs one instruction.
    pub fn step(&mut self, session: &mut Session, storage: &mut dyn Storage) -> Result<Step, Stop> {
        if self.steps >= self.most_steps {
            let message = format!("the call takes more than {} steps", self.most_steps);
            let error = SqlError::new(SqlState::LIMIT_EXCEEDED, message).at(self.place());
            return Err(error.with_hint("is there a loop without end? else raise --max-steps").into());
        }
        let procedure = Arc::clone(&self.procedure);
        let step = self.instruction(&procedure.instructions[self.next], session, storage)?;
        self.steps += 1;
        Ok(step)
    }

    /// Changes nothing unless it succeeds.
    fn instruction(
        &mut self,
        instruction: &Instruction,
        session: &mut Session,
        storage: &mut dyn Storage,
    ) -> Result<Step, Stop> {
        let dialect = session.dialect();
        let mut next = self.next + 1;
        match instruction {
            Instruction::Execute(query) => {
                if let Answer::Changed(changed) = self.ask(query, session, storage)? {
                    self.values[0] = Datum::Integer(i128::from(changed.count));
                }
            }
            Instruction::SelectInto(query, targets, rows) => {
                self.select_into(query, (targets, *rows), session, storage)?
            }
            Instruction::Assign(query, target) => {
                let value = value_of(self.ask(query, session, storage)?);
                self.values[target.slot] = target.convert(&value, dialect).map_err(|error| error.at(query.place))?;
            }
            Instruction::Clear(slot) => self.values[*slot] = Datum::Null,
            Instruction::CountInto(target) => {
                let place = self.place();
                let count = target.convert(&self.values[0], dialect).map_err(|error| error.at(place))?;
                self.values[target.slot] = count;
            }
            Instruction::Branch(query, otherwise) => {
                if !is_true(&value_of(self.ask(query, session, storage)?)) {
                    next = *otherwise;
                }
            }
            Instruction::Jump(to) => next = *to,
            Instruction::Open(cursor, query) => {
                let rows = rows_of(self.ask(query, session, storage)?);
                self.cursors[*cursor] = Cursor { rows: rows.into(), next: 0 };
            }
            Instruction::Next { cursor, first, done } => {
                if !self.take_row(*cursor, *first) {
                    next = *done;
                }
            }
            Instruction::Signal(state, message) => {
                return self.signal(state, message.as_ref(), session, storage).map(Step::Done);
            }
            Instruction::Rollback => return Ok(Step::Done(Ending::Rollback)),
            Instruction::Savepoint(verb, name, text) => {
                let done = self.savepoints.run(*verb, name, dialect, storage);
                self.remember_savepoint(text, &done);
                done.map_err(|stop| at(stop, self.place()))?;
            }
            Instruction::End => return Ok(Step::Done(Ending::Commit)),
        }
        self.next = next;
        Ok(Step::Continue)
    }

    /// Without a row, and with several, the two languages differ.
    fn select_into(
        &mut self,
        query: &Query,
        (targets, wanted): (&[Target], IntoRows),
        session: &mut Session,
        storage: &mut dyn Storage,
    ) -> Result<(), Stop> {
        let rows = rows_of(self.ask(query, session, storage)?);
        if rows.len() > 1 && wanted != IntoRows::First {
            let error = match wanted {
                IntoRows::Keep => SqlError::new(SqlState::CARDINALITY, "SELECT … INTO found more than one row"),
                _ => SqlError::new(TOO_MANY_ROWS, "query returned more than one row"),
            };
            return Err(error.with_hint("add LIMIT 1, or a condition").at(query.place).into());
        }
        if rows.is_empty() && wanted == IntoRows::Strict {
            return Err(SqlError::new(NO_DATA_FOUND, "query returned no rows").at(query.place).into());
        }
        let convert = |(target, value): (&Target, &Datum)| target.convert(value, session.dialect());
        let values: Result<Vec<Datum>, SqlError> = match rows.first() {
            Some(row) => targets.iter().zip(row).map(convert).collect(),
            None if wanted == IntoRows::Keep => return Ok(()),
            None => Ok(vec![Datum::Null; targets.len()]),
        };
        let values = values.map_err(|error| error.at(query.place))?;
        targets.iter().zip(values).for_each(|(target, value)| self.values[target.slot] = value);
        if wanted != IntoRows::Keep {
            let found = if targets.is_empty() { rows.len() } else { rows.len().min(1) };
            self.values[0] = Datum::Integer(found as i128);
        }
        Ok(())
    }

    /// Puts the next row of a loop into its variables; false when there is none.
    fn take_row(&mut self, cursor: usize, first: usize) -> bool {
        let cursor = &mut self.cursors[cursor];
        let Some(row) = cursor.rows.get(cursor.next) else { return false };
        self.values[first..first + row.len()].clone_from_slice(row);
        cursor.next += 1;
        true
    }

    fn signal(
        &mut self,
        state: &str,
        message: Option<&Query>,
        session: &mut Session,
        storage: &mut dyn Storage,
    ) -> Result<Ending, Stop> {
        let message = match message {
            Some(query) => {
                let value = value_of(self.ask(query, session, storage)?);
                skew_value::output(&value, &query.sql_type(), session.dialect())
            }
            None if state == "20000" => "no WHEN of the CASE matches".to_owned(),
            None => "unhandled user-defined exception condition".to_owned(),
        };
        Ok(Ending::Signal { state: state.to_owned(), message, place: self.place() })
    }
}

impl Query {
    /// The types of its columns.
    pub(crate) fn column_types(&self) -> Vec<SqlType> {
        self.columns().into_iter().map(|(_, sql_type)| sql_type).collect()
    }

    /// The names and types of its columns; none if it is no query.
    pub(crate) fn columns(&self) -> Vec<(String, SqlType)> {
        let columns = self.prepared.columns().map(|columns| columns.iter()).into_iter().flatten();
        columns.map(|column| (column.name.clone(), column.sql_type.clone())).collect()
    }

    /// The type of the expression that it is.
    pub(crate) fn sql_type(&self) -> SqlType {
        self.column_types().into_iter().next().unwrap_or(SqlType::Unknown)
    }

    /// Runs the statement; an error is placed in the file.
    pub(crate) fn run(
        &self,
        session: &mut Session,
        values: &[Datum],
        storage: &mut dyn Storage,
    ) -> Result<Answer, Stop> {
        let answer = session.execute_in(&self.prepared, &[], &values[..self.slots], storage);
        answer.map_err(|stop| match stop {
            Stop::Error(error) => Stop::Error(in_file(error, self.place, self.prefix)),
            interrupted => interrupted,
        })
    }

    /// The value of an expression.
    pub(crate) fn value(
        &self,
        session: &mut Session,
        values: &[Datum],
        storage: &mut dyn Storage,
    ) -> Result<Datum, Stop> {
        Ok(value_of(self.run(session, values, storage)?))
    }

    /// Whether a condition is true.
    pub(crate) fn holds(
        &self,
        session: &mut Session,
        values: &[Datum],
        storage: &mut dyn Storage,
    ) -> Result<bool, Stop> {
        Ok(is_true(&self.value(session, values, storage)?))
    }
}

/// A stop, with its place if it is an error.
fn at(stop: Stop, place: Place) -> Stop {
    match stop {
        Stop::Error(error) => Stop::Error(error.at(place)),
        interrupted => interrupted,
    }
}

/// The rows of a query, or of RETURNING.
fn rows_of(answer: Answer) -> Vec<Vec<Datum>> {
    match answer {
        Answer::Rows(rows) => rows.rows,
        Answer::Changed(changed) => changed.returning.map(|rows| rows.rows).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// The value of an expression.
fn value_of(answer: Answer) -> Datum {
    rows_of(answer).into_iter().next().and_then(|row| row.into_iter().next()).unwrap_or_default()
}

fn is_true(value: &Datum) -> bool {
    match value {
        Datum::Boolean(value) => *value,
        // MySQL's conditions are numbers.
        Datum::Integer(value) => *value != 0,
        _ => false,
    }
}
