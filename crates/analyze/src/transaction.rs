//! Procedures as steps with effects: what the engines of this crate are given of a program.
//!
//! ```text
//!   CREATE PROCEDURE balance(IN n …, OUT total …)             step   text                        effects
//!   BEGIN DECLARE c, s, k INT;                                0      SELECT custid INTO c …      account/n: reads custid
//!     SELECT custid INTO c FROM account WHERE name = n;       1      SELECT balance INTO s …     savings/c: reads balance
//!     SELECT balance INTO s FROM savings WHERE custid = c;
//! ```
//!
//! Each step keeps its place and its text, so that whatever is found can be shown where it stands. What is not supported has a place, too.

use crate::effect::{Effects, Looking, Ways};
use skew_program::{FlowAction, Procedure, Program};
use skew_sql::catalog::Table;
use skew_sql::touched::{Extremum, ParentKey, TestedVariables, ValueOrigin};
use skew_sql::{Catalog, Row, RowKey};
use skew_value::{Datum, Place};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All procedures of a program.
#[derive(Clone, Debug)]
pub struct Transactions {
    /// The procedures in the order of the file.
    pub procedures: Vec<TransactionFlow>,
    /// What is not supported, with its place.
    pub unsupported: Vec<Unsupported>,
    /// Whether somebody sees numbers that sequences gave to rows.
    pub numbered: bool,
    /// Whether a key or ON CONFLICT looks at what PostgreSQL does not watch at serializable.
    pub forgets: bool,
    /// The columns of each table by name.
    pub(crate) columns: BTreeMap<String, Vec<String>>,
    /// The columns of each table's primary key.
    pub(crate) keys: BTreeMap<String, Vec<String>>,
    /// Tables whose key has the key of a parent in it: the parent, and which parts of the child's key are the parent's.
    pub(crate) parents: BTreeMap<String, Vec<(String, Vec<usize>)>>,
    /// The rows that the text begins with: table, and values of the primary key.
    pub(crate) given_rows: BTreeSet<(String, Vec<String>)>,
}

/// A procedure: one transaction.
#[derive(Clone, Debug)]
pub struct TransactionFlow {
    /// Its name.
    pub name: String,
    /// Its steps; jumps are numbers of steps.
    pub steps: Vec<TransactionStep>,
    /// The slots of its parameters, with their names.
    pub(crate) given: Vec<(usize, String)>,
}

/// A step.
#[derive(Clone, Debug)]
pub struct TransactionStep {
    /// Where it stands in the file.
    pub place: Place,
    /// Its text.
    pub text: Arc<str>,
    /// What it does to rows: the ways it can go.
    pub ways: Ways,
    /// Where the values of its result come from.
    pub(crate) outputs: Vec<ValueOrigin>,
    /// The rows that its result is made of: table and key.
    pub(crate) result_table: Option<String>,
    /// The least or the greatest value of a column, where that is all it asks for.
    pub(crate) extremum: Option<Extremum>,
    /// Whether its result has exactly one row, whatever the tables hold.
    pub(crate) one_row: bool,
    /// Whether its only result is how many rows it finds.
    pub(crate) counts_rows: bool,
    /// What follows for variables where its condition is true.
    pub(crate) tested: TestedVariables,
    /// What comes next.
    pub(crate) action: FlowAction,
}

/// Something that is not supported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// Where it stands in the file.
    pub place: Place,
    /// What it is.
    pub construct: String,
}

impl Transactions {
    /// The procedures of a program.
    pub fn of(program: &Program) -> Transactions {
        let (catalog, rows) = program.initial();
        let mut unsupported = Vec::new();
        let mut procedures = Vec::new();
        for procedure in program.procedures() {
            let mut effects = Effects { catalog, unsupported: Vec::new() };
            let steps = steps(procedure, &mut effects, &mut unsupported);
            let name = |slot: usize| procedure.parameter_name(slot).unwrap_or_default().to_owned();
            let given = procedure.given_slots().into_iter().map(|slot| (slot, name(slot))).collect();
            procedures.push(TransactionFlow { name: procedure.name.clone(), steps, given });
        }
        let columns = catalog.tables.iter().map(|(name, table)| (name.clone(), table.column_names())).collect();
        let parents = catalog.tables.iter().map(|(name, table)| (name.clone(), parents(catalog, table))).collect();
        let keys = catalog.tables.iter().map(|(name, table)| (name.clone(), table.key_columns())).collect();
        let numbered = program.procedures().iter().flat_map(|one| one.flow()).any(|step| step.touches.numbered);
        let steps = procedures.iter().flat_map(|procedure: &TransactionFlow| &procedure.steps);
        let mut effects = steps.flat_map(|step| step.ways.iter().flatten());
        let forgets = effects.any(|effect| effect.looking != Looking::Statement);
        let given_rows = rows.rows().filter_map(|(key, row)| given_row(catalog, key, row)).collect();
        Transactions { procedures, unsupported, numbered, forgets, columns, keys, parents, given_rows }
    }
}

/// The text of a value, as keys are compared by.
pub(crate) fn constant(value: &Datum) -> String {
    format!("{value:?}")
}

/// Whether equal values of a constant's type are written alike: 1 and 1.0 are not.
pub(crate) fn is_plain(value: &Datum) -> bool {
    matches!(value, Datum::Integer(_) | Datum::Text(_) | Datum::Boolean(_))
}

/// A row that is there from the beginning, if it is one of a table with a primary key.
fn given_row(catalog: &Catalog, key: &RowKey, row: &Row) -> Option<(String, Vec<String>)> {
    let table = catalog.tables.values().find(|table| table.space == key.space)?;
    let names = table.column_names();
    // Values stand at their places only while no column was dropped.
    let value = |column: &String| {
        let place = names.iter().position(|known| known == column).filter(|_| names.len() == table.columns.len())?;
        row.get(place).map(constant)
    };
    let values: Vec<String> = table.key_columns().iter().map(value).collect::<Option<_>>()?;
    (!values.is_empty()).then(|| (table.name.clone(), values))
}

fn parents(catalog: &Catalog, table: &Table) -> Vec<(String, Vec<usize>)> {
    let own = table.key_columns();
    let place = |column: &String| own.iter().position(|known| known == column);
    let by_key = |parent: ParentKey| {
        let is_key = catalog.tables.get(&parent.parent)?.key_columns() == parent.parent_columns;
        let places: Option<Vec<usize>> = parent.columns.iter().map(place).collect();
        Some((parent.parent, places?)).filter(|_| is_key)
    };
    catalog.parents_of(table).into_iter().filter_map(by_key).collect()
}

/// Whether a query has found something is anything here, and no variable that it goes into.
fn without_count(action: FlowAction) -> FlowAction {
    match action {
        FlowAction::Into(slots) => match slots.into_iter().filter(|slot| *slot > 0).collect::<Vec<usize>>() {
            none if none.is_empty() => FlowAction::Run,
            slots => FlowAction::Into(slots),
        },
        other => other,
    }
}

fn steps(procedure: &Procedure, effects: &mut Effects<'_>, unsupported: &mut Vec<Unsupported>) -> Vec<TransactionStep> {
    let mut steps = Vec::new();
    for step in procedure.flow() {
        let ways = effects.of(&step.touches.tables, step.purpose);
        let named = step.touches.unsupported.into_iter().chain(effects.unsupported.drain(..));
        unsupported.extend(named.map(|construct| Unsupported { place: step.place, construct }));
        steps.push(TransactionStep {
            place: step.place,
            text: step.text,
            ways,
            outputs: step.touches.outputs,
            extremum: step.touches.extremum,
            one_row: step.touches.one_row,
            counts_rows: step.touches.counts_rows,
            tested: step.touches.tested,
            result_table: step.touches.tables.first().map(|touch| touch.table.clone()),
            action: without_count(step.action),
        });
    }
    steps
}
