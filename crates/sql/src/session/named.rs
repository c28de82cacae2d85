//! What a session keeps by name: prepared statements and cursors.
//!
//! ```text
//!   PREPARE cheap (numeric) AS SELECT … $1     kept, bound; EXECUTE cheap (5) runs it
//!   DECLARE steps CURSOR FOR SELECT …          run at once: the rows are those of this moment, whatever happens later
//!   FETCH 2 FROM steps                         the next two of them
//! ```
//!
//! Statements that are prepared through a protocol are kept here as well; DEALLOCATE of one that is not here is no error.

use super::action::{self, Action};
use super::{Prepared, Session};
use crate::answer::{Answer, Control, ResultColumn, Rows};
use crate::bind::{Binder, Scope};
use crate::catalog::name::identifier;
use crate::change;
use crate::execute::Execution;
use crate::stop::Stop;
use crate::storage::{AdvisoryRequest, Storage};
use crate::syntax::Statement;
use crate::tree::expression::Expression;
use crate::tree::plan::Plan;
use skew_value::{Datum, SqlError, SqlState, SqlType};
use sqlparser::ast::{self, CloseCursor, DiscardObject, Expr, FetchDirection, Ident};
use std::rc::Rc;
use std::sync::Arc;

/// What is done with what is kept.
#[derive(Clone, Debug)]
pub(super) enum Named {
    Prepare(String, Box<Prepared>),
    Execute(Box<Prepared>, Vec<Expression>),
    Deallocate(Option<String>),
    Declare {
        name: String,
        columns: Arc<[ResultColumn]>,
        plan: Box<Plan>,
        hold: bool,
        statement: Arc<str>,
    },
    Fetch {
        name: String,
        step: Step,
        columns: Arc<[ResultColumn]>,
    },
    Close(Option<String>),
    /// DISCARD ALL.
    Forget,
}

/// Which rows of a cursor are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// So many further on, or back.
    By(i64),
    /// All further on.
    ToEnd,
    /// All back.
    ToStart,
    /// The one at a place, counted from 1; from the end if negative.
    To(i64),
    /// The one so many further on.
    Skip(i64),
}

/// The rows of a cursor.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    columns: Arc<[ResultColumn]>,
    rows: Arc<Vec<Vec<Datum>>>,
    /// Behind which row it stands; one more than there are when it has passed them all.
    place: usize,
    hold: bool,
    /// The statement that declared it.
    statement: Arc<str>,
}

impl Session {
    /// Binds a statement about what is kept by name; nothing for others.
    pub(super) fn bind_named(&self, statement: &Statement, binder: &mut Binder<'_>) -> Result<Option<Named>, SqlError> {
        let named = |ident: &Ident| identifier(ident, self.dialect);
        Ok(Some(match &*statement.ast {
            ast::Statement::Prepare { name, data_types, .. } => {
                let Some(inner) = statement.prepared() else { return Ok(None) };
                let types = data_types.iter().map(|one| self.catalog.sql_type(one, self.dialect));
                let types = types.collect::<Result<Vec<SqlType>, SqlError>>()?;
                let prepared = self.prepare(&inner, &types)?;
                Named::Prepare(named(name), Box::new(prepared))
            }
            ast::Statement::Execute { name: Some(name), parameters, .. } => {
                let name = name.0.last().and_then(|part| part.as_ident()).map(named).unwrap_or_default();
                self.bind_execute(&name, parameters, binder)?
            }
            ast::Statement::Deallocate { name, .. } => {
                let all = name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all");
                Named::Deallocate((!all).then(|| named(name)))
            }
            ast::Statement::Discard { object_type: DiscardObject::ALL } => Named::Forget,
            ast::Statement::Declare { stmts } => match stmts.as_slice() {
                [declared] => self.bind_declare(declared, statement.text(), binder)?,
                _ => return Ok(None),
            },
            ast::Statement::Fetch { name, direction, into: None, .. } => {
                let name = named(name);
                let columns = Arc::clone(&self.cursor(&name)?.columns);
                Named::Fetch { name, step: step_of(direction)?, columns }
            }
            ast::Statement::Close { cursor: CloseCursor::All } => Named::Close(None),
            ast::Statement::Close { cursor: CloseCursor::Specific { name } } => Named::Close(Some(named(name))),
            _ => return Ok(None),
        }))
    }

    fn bind_execute(&self, name: &str, written: &[Expr], binder: &mut Binder<'_>) -> Result<Named, SqlError> {
        let Some(prepared) = self.statements.get(name) else {
            return Err(SqlError::new(SqlState("26000"), format!("prepared statement \"{name}\" does not exist")));
        };
        let types = prepared.parameter_types();
        if types.len() != written.len() {
            let message = format!(
                "wrong number of parameters for prepared statement \"{name}\": expected {} but got {}",
                types.len(),
                written.len()
            );
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        let mut arguments = Vec::with_capacity(written.len());
        for (expression, sql_type) in written.iter().zip(types) {
            let value = binder.expression(expression, &Scope::empty(None))?;
            arguments.push(binder.assign(value, sql_type, name)?);
        }
        Ok(Named::Execute(Box::new(prepared.clone()), arguments))
    }

    fn bind_declare(&self, declared: &ast::Declare, text: &str, binder: &mut Binder<'_>) -> Result<Named, SqlError> {
        let ([name], Some(query)) = (declared.names.as_slice(), &declared.for_query) else {
            return Err(SqlError::unsupported("DECLARE of what is no cursor"));
        };
        if declared.binary == Some(true) {
            return Err(SqlError::unsupported("a BINARY cursor"));
        }
        let Action::Query(plan, columns) = action::bind_query(query, binder)? else {
            return Err(SqlError::unsupported("a cursor over a statement that changes rows"));
        };
        let hold = declared.hold == Some(true);
        Ok(Named::Declare {
            name: identifier(name, self.dialect),
            columns: columns.into(),
            plan: Box::new(plan),
            hold,
            statement: text.into(),
        })
    }

    /// A statement that PREPARE or the protocol keeps by name.
    pub fn statement(&self, name: &str) -> Option<&Prepared> {
        self.statements.get(name)
    }

    /// The protocol keeps a statement by name, for EXECUTE to find.
    pub fn keep_statement(&mut self, name: &str, prepared: &Prepared) {
        self.statements.insert(name.to_owned(), prepared.clone());
    }

    /// The protocol keeps it no longer.
    pub fn forget_statement(&mut self, name: &str) {
        self.statements.remove(name);
    }

    /// The columns of an open cursor, which is a portal to clients that describe it.
    pub fn cursor_columns(&self, name: &str) -> Option<&Arc<[ResultColumn]>> {
        self.cursors.get(name).map(|cursor| &cursor.columns)
    }

    /// The open cursors, as `pg_cursors` tells them.
    pub(super) fn listed_cursors(&self) -> Vec<(String, String, bool)> {
        let told = |(name, cursor): (&String, &Cursor)| (name.clone(), cursor.statement.to_string(), cursor.hold);
        self.cursors.iter().map(told).collect()
    }

    fn cursor(&self, name: &str) -> Result<&Cursor, SqlError> {
        let missing = || SqlError::new(SqlState("34000"), format!("cursor \"{name}\" does not exist"));
        self.cursors.get(name).ok_or_else(missing)
    }

    /// Does it.
    pub(super) fn run_named(
        &mut self,
        named: &Named,
        parameters: &[Datum],
        storage: &mut dyn Storage,
    ) -> Result<Answer, Stop> {
        let done = |words: &str| Ok(Answer::Done(words.to_owned()));
        match named {
            Named::Prepare(name, prepared) => {
                if self.statements.contains_key(name) {
                    let message = format!("prepared statement \"{name}\" already exists");
                    return Err(SqlError::new(SqlState("42P05"), message).into());
                }
                self.statements.insert(name.clone(), (**prepared).clone());
                done("PREPARE")
            }
            Named::Execute(prepared, arguments) => {
                let values = self.within(parameters, storage, |execution| execution.evaluate_all(arguments, &[]))?;
                self.execute(prepared, &values, storage)
            }
            Named::Deallocate(Some(name)) => {
                self.statements.remove(name);
                done("DEALLOCATE")
            }
            Named::Deallocate(None) => {
                self.statements.clear();
                done("DEALLOCATE ALL")
            }
            Named::Declare { name, columns, plan, hold, statement } => {
                let rows = Arc::new(self.within(parameters, storage, |execution| execution.run(plan))?);
                if self.cursors.contains_key(name) {
                    return Err(SqlError::new(SqlState("42P03"), format!("cursor \"{name}\" already exists")).into());
                }
                let cursor = Cursor {
                    columns: Arc::clone(columns),
                    rows,
                    place: 0,
                    hold: *hold,
                    statement: Arc::clone(statement),
                };
                self.cursors.insert(name.clone(), cursor);
                done("DECLARE CURSOR")
            }
            Named::Fetch { name, step, columns } => {
                self.cursor(name)?;
                let fetched = self.cursors.get_mut(name).map(|cursor| cursor.fetch(*step)).unwrap_or_default();
                Ok(Answer::Rows(Rows { columns: Arc::clone(columns), rows: fetched }))
            }
            Named::Close(Some(name)) => {
                self.cursor(name)?;
                self.cursors.remove(name);
                done("CLOSE CURSOR")
            }
            Named::Close(None) => {
                self.cursors.clear();
                done("CLOSE CURSOR ALL")
            }
            Named::Forget => {
                // A store without advisory locks has none to give back.
                let _ = storage.advisory(0, AdvisoryRequest::FreeAll);
                self.statements.clear();
                self.cursors.clear();
                done("DISCARD ALL")
            }
        }
    }

    /// What comes of an execution; what functions set in it is set.
    fn within<T>(
        &mut self,
        parameters: &[Datum],
        storage: &mut dyn Storage,
        work: impl FnOnce(&mut Execution<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let environment = Rc::new(self.environment(storage));
        let catalog = self.catalog.clone();
        let mut execution =
            Execution::new(catalog, environment.clone(), storage, change::carry_out).with_values(parameters, &[]);
        let done = work(&mut execution)?;
        drop(execution);
        self.keep_settings(&environment);
        Ok(done)
    }

    /// The transaction ends: cursors that are not held end with it.
    pub(super) fn end_cursors(&mut self, control: &Control) {
        if matches!(control, Control::Commit { .. } | Control::Rollback { .. }) {
            self.cursors.retain(|_, cursor| cursor.hold);
        }
    }
}

impl Named {
    /// The columns of the answer, if there are rows.
    pub(super) fn columns(&self) -> Option<Arc<[ResultColumn]>> {
        match self {
            Named::Execute(prepared, _) => prepared.columns().cloned(),
            Named::Fetch { columns, .. } => Some(Arc::clone(columns)),
            _ => None,
        }
    }
}

impl Cursor {
    fn fetch(&mut self, step: Step) -> Vec<Vec<Datum>> {
        let (count, last) = (self.rows.len(), self.rows.len() + 1);
        let clamp = |place: i128| usize::try_from(place.max(0)).unwrap_or(last).min(last);
        let here = self.place as i128;
        let (from, to) = match step {
            Step::By(0) => (self.place, self.place),
            Step::By(steps) if steps > 0 => (self.place + 1, clamp(here + i128::from(steps))),
            Step::By(steps) => (clamp(here + i128::from(steps)), self.place.saturating_sub(1)),
            Step::ToEnd => (self.place + 1, last),
            Step::ToStart => (0, self.place.saturating_sub(1)),
            Step::To(place) if place < 0 => {
                (clamp(last as i128 + i128::from(place)), clamp(last as i128 + i128::from(place)))
            }
            Step::To(place) => (clamp(place.into()), clamp(place.into())),
            Step::Skip(steps) => (clamp(here + i128::from(steps)), clamp(here + i128::from(steps))),
        };
        let backwards = matches!(step, Step::ToStart) || matches!(step, Step::By(steps) if steps < 0);
        self.place = if backwards { from } else { to };
        let mut rows: Vec<Vec<Datum>> =
            (from.max(1)..=to.min(count)).map(|place| self.rows[place - 1].clone()).collect();
        if backwards {
            rows.reverse();
        }
        rows
    }
}

fn step_of(direction: &FetchDirection) -> Result<Step, SqlError> {
    let number = |limit: &ast::ValueWithSpan| {
        let text = limit.to_string();
        text.parse::<i64>().map_err(|_| SqlError::new(SqlState::SYNTAX_ERROR, format!("{text} is no count of rows")))
    };
    Ok(match direction {
        FetchDirection::Count { limit } => Step::By(number(limit)?),
        FetchDirection::Next => Step::By(1),
        FetchDirection::Prior => Step::By(-1),
        FetchDirection::First => Step::To(1),
        FetchDirection::Last => Step::To(-1),
        FetchDirection::Absolute { limit } => Step::To(number(limit)?),
        FetchDirection::Relative { limit } => Step::Skip(number(limit)?),
        FetchDirection::All | FetchDirection::ForwardAll => Step::ToEnd,
        FetchDirection::Forward { limit } => Step::By(limit.as_ref().map_or(Ok(1), number)?),
        FetchDirection::Backward { limit } => Step::By(-limit.as_ref().map_or(Ok(1), number)?),
        FetchDirection::BackwardAll => Step::ToStart,
    })
}
