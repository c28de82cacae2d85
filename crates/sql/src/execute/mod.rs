//! Execution: rows stream from the reads at the bottom of a plan to whoever asked.
//!
//! ```text
//!   each(plan, outer rows, sink)        every operator calls its input with a sink of its own:
//!     Filter ── each(input, …, |row| if condition(row) { sink(row) })
//! ```
//!
//! A sink may say that it has [`Flow::Enough`]; then nothing further is read. What must see all rows first (sorting, grouping) keeps them.
//! Work is counted in rows, and a statement that goes on forever ends in an error.

mod aggregate;
mod evaluate;
mod join;
mod kept;
mod lock;
mod operator;
mod partner;
mod read;
mod sequence;
mod sort;
mod subquery;
mod window;
mod with;

use crate::catalog::Catalog;
use crate::stop::Stop;
use crate::storage::{SequenceId, Storage};
use crate::tree::change::{Change, ChildCheck, Outcome};
use crate::tree::expression::Expression;
use crate::tree::plan::Plan;
use rustc_hash::FxHashMap;
use skew_value::function::Environment;
use skew_value::{Collation, Datum, Dialect, GroupKey, SqlError, SqlState, SqlType, Style};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// So many rows may a statement handle.
const STEP_LIMIT: u64 = 50_000_000;
/// After so many rows a statement pauses: soon enough for whoever waits, too seldom to cost anything.
const STEPS_BETWEEN_PAUSES: u64 = 64;

/// Rows that are kept.
pub(crate) type Rows = Arc<Vec<Vec<Datum>>>;

/// Whether more rows are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    /// Go on.
    More,
    /// Stop: nothing that comes later matters.
    Enough,
}

/// Takes the rows of an operator.
pub(crate) type Sink<'sink, 'run> = dyn FnMut(&mut Execution<'run>, &[Datum]) -> Result<Flow, Stop> + 'sink;

/// Carries out a change that stands in WITH. Changes are made of queries, so they know the executor; whoever begins a statement tells it of them.
pub(crate) type CarryOut = fn(&Change, &mut Execution<'_>) -> Result<Outcome, Stop>;

/// The rows that an expression sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'rows> {
    /// The row of the query it stands in.
    pub(crate) row: &'rows [Datum],
    /// The rows of the queries around.
    pub(crate) outer: Option<&'rows Frame<'rows>>,
}

/// A statement that is being carried out.
pub(crate) struct Execution<'run> {
    storage: &'run mut dyn Storage,
    catalog: Arc<Catalog>,
    environment: Rc<Environment>,
    carry_out: CarryOut,
    parameters: &'run [Datum],
    variables: &'run [Datum],
    user_variables: Option<&'run BTreeMap<String, (Datum, SqlType)>>,
    steps: u64,
    /// Rows of subqueries that do not depend on outer rows, by number.
    answers: FxHashMap<usize, Rows>,
    /// The same as sets, for IN.
    lookups: FxHashMap<usize, Rc<subquery::Lookup>>,
    /// Rows of common table expressions, by number.
    common: FxHashMap<usize, Rows>,
    /// What is kept of what was read, for when it is asked for again.
    kept: kept::KeptParts,
    /// Lists of constants as sets.
    lists: kept::Lists,
    /// Rows that a query is asked again about, instead of what it reads.
    stand_ins: lock::StandIns,
    /// Foreign keys that changes inside of queries leave to the commit.
    pub(crate) deferred: Vec<ChildCheck>,
    /// The sequence that gave the last value, for `lastval`.
    pub(crate) last_sequence: Option<SequenceId>,
}

impl<'run> Execution<'run> {
    /// A statement over a store.
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        environment: Rc<Environment>,
        storage: &'run mut dyn Storage,
        carry_out: CarryOut,
    ) -> Execution<'run> {
        Execution {
            storage,
            catalog,
            environment,
            carry_out,
            parameters: &[],
            variables: &[],
            user_variables: None,
            steps: 0,
            answers: FxHashMap::default(),
            lookups: FxHashMap::default(),
            common: FxHashMap::default(),
            kept: kept::KeptParts::default(),
            lists: kept::Lists::default(),
            stand_ins: Vec::new(),
            deferred: Vec::new(),
            last_sequence: None,
        }
    }

    /// A statement that changes the schema.
    pub(crate) fn of_definition(
        catalog: Arc<Catalog>,
        style: impl Into<Style>,
        storage: &'run mut dyn Storage,
        carry_out: CarryOut,
    ) -> Execution<'run> {
        let style = style.into();
        let environment = Environment::new(style.dialect, storage.now(), 0).with_zone(style.zone);
        Execution::new(catalog, Rc::new(environment), storage, carry_out)
    }

    /// The same with values of parameters and variables.
    pub(crate) fn with_values(self, parameters: &'run [Datum], variables: &'run [Datum]) -> Execution<'run> {
        Execution { parameters, variables, ..self }
    }

    /// The same with the variables of a session.
    pub(crate) fn with_user_variables(self, values: &'run BTreeMap<String, (Datum, SqlType)>) -> Execution<'run> {
        Execution { user_variables: Some(values), ..self }
    }

    /// What exists.
    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The dialect.
    pub(crate) fn dialect(&self) -> Dialect {
        self.environment.dialect
    }

    /// How values are read and printed.
    pub(crate) fn style(&self) -> Style {
        self.environment.style()
    }

    /// What calls may know.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The store, for whoever changes or locks rows: what was read before may be answered otherwise after that.
    pub(crate) fn storage(&mut self) -> &mut dyn Storage {
        self.kept.forget_reads();
        self.storage
    }

    /// All rows of a plan.
    pub(crate) fn run(&mut self, plan: &Plan) -> Result<Vec<Vec<Datum>>, Stop> {
        self.collect(plan, None)
    }

    /// The value of an expression over one row.
    pub(crate) fn evaluate_over(&mut self, expression: &Expression, row: &[Datum]) -> Result<Datum, Stop> {
        self.evaluate(expression, &Frame { row, outer: None })
    }

    /// The values of several.
    pub(crate) fn evaluate_all(&mut self, expressions: &[Expression], row: &[Datum]) -> Result<Vec<Datum>, Stop> {
        self.evaluate_row(expressions, &Frame { row, outer: None })
    }

    fn evaluate_row(&mut self, expressions: &[Expression], frame: &Frame<'_>) -> Result<Vec<Datum>, Stop> {
        expressions.iter().map(|expression| self.evaluate(expression, frame)).collect()
    }

    /// All rows of a plan, with outer rows.
    fn collect(&mut self, plan: &Plan, outer: Option<&Frame<'_>>) -> Result<Vec<Vec<Datum>>, Stop> {
        let mut rows = Vec::new();
        self.each(plan, outer, &mut |_, row| {
            rows.push(row.to_vec());
            Ok(Flow::More)
        })?;
        Ok(rows)
    }

    /// Whether a condition is true of a row; no condition is.
    fn holds(&mut self, condition: Option<&Expression>, frame: &Frame<'_>) -> Result<bool, Stop> {
        match condition {
            None => Ok(true),
            Some(condition) => Ok(self.evaluate(condition, frame)? == Datum::Boolean(true)),
        }
    }

    /// Counts a row.
    fn step(&mut self) -> Result<(), Stop> {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_BETWEEN_PAUSES) {
            self.storage.pause()?;
        }
        match self.steps > STEP_LIMIT {
            true => {
                let message = format!("the statement handles more than {STEP_LIMIT} rows");
                Err(SqlError::new(SqlState::LIMIT_EXCEEDED, message).into())
            }
            false => Ok(()),
        }
    }

    fn collation(&self) -> Collation {
        Collation::of(self.dialect())
    }

    /// Values as a key of groups.
    fn group_key<'values>(&self, values: impl IntoIterator<Item = &'values Datum>) -> Vec<GroupKey> {
        let collation = self.collation();
        values.into_iter().map(|value| GroupKey::new(value, collation)).collect()
    }
}

/// A mistake of ours.
fn internal(message: &str) -> Stop {
    SqlError::new(SqlState::INTERNAL, message).into()
}
