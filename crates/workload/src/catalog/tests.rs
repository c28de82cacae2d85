//! What the tests of workloads share: many draws, and a database that holds what was loaded.

use super::{ALL, Requirements, Store, by_name};
use crate::connection::{Connection, StatementAnswer};
use crate::load::Setup;
use crate::table::Names;
use crate::value::number_or_text;
use crate::workload::{Assertion, FinalState, Observation, Workload};
use crate::{Failure, Random, Row, Value};
use skew_history::IsolationLevel;
use skew_value::Dialect;
use std::collections::{BTreeMap, BTreeSet};

/// What four sessions draw, 500 operations each.
pub(crate) fn calls<T>(seed: u64, draw: impl Fn(&mut Random, usize, u64) -> T) -> Vec<T> {
    let mut all = Vec::new();
    for session in 0..4 {
        for number in 0..500 {
            all.push(draw(&mut Random::of_operation(seed, session, number), session, number));
        }
    }
    all
}

/// Each of these is drawn about that often.
pub(crate) fn assert_shares(names: impl Iterator<Item = &'static str>, shares: &[(&str, f64)]) {
    let names: Vec<&str> = names.collect();
    for (name, share) in shares {
        let found = names.iter().filter(|found| *found == name).count() as f64 / names.len() as f64;
        assert!((share - 0.03..share + 0.03).contains(&found), "{name}: {found} and not {share}");
    }
}

pub(crate) fn observation(session: usize, name: &'static str, values: &[i64]) -> Observation {
    Observation { session, name, values: values.iter().map(|value| Value::Int(*value)).collect() }
}

/// The assertions on what was loaded, when sessions saw this.
pub(crate) fn end_of(workload: &dyn Workload, observations: &[Observation], is_complete: bool) -> Vec<Assertion> {
    end_after(workload, observations, is_complete, &[])
}

/// The same after some rows were added: the table, its columns from the first on, and 0 for `ver`.
pub(crate) fn end_after(
    workload: &dyn Workload,
    observations: &[Observation],
    is_complete: bool,
    more: &[(&str, &[i64])],
) -> Vec<Assertion> {
    let names = Names::default();
    let mut loaded = Loaded::new(&Setup::new(workload, &names, Dialect::Postgres));
    for (table, values) in more {
        let table = loaded.tables.get_mut(&format!("skew_{table}")).expect("a table");
        table.rows.push(values.iter().map(|value| Value::Int(*value)).collect());
    }
    let mut end = FinalState::new(&mut loaded, &names, observations, is_complete);
    workload.assertions(&mut end).expect("assertions can be evaluated")
}

#[derive(Default)]
struct Rows {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// A database that knows `SELECT columns FROM table` only.
struct Loaded {
    tables: BTreeMap<String, Rows>,
}

impl Loaded {
    fn new(setup: &Setup) -> Loaded {
        let mut tables: BTreeMap<String, Rows> = BTreeMap::new();
        for statement in &setup.statements {
            if let Some(created) = statement.strip_prefix("CREATE TABLE ") {
                let (name, rest) = created.split_once(" (").expect("columns");
                let words = rest.split(", ").filter_map(|column| column.split(' ').next());
                let columns = words.take_while(|word| *word != "ver").map(str::to_owned).collect();
                tables.insert(name.to_owned(), Rows { columns, rows: Vec::new() });
            } else if let Some(inserted) = statement.strip_prefix("INSERT INTO ") {
                let (name, rest) = inserted.split_once(" (").expect("columns");
                let (_, rows) = rest.split_once(" VALUES (").expect("rows");
                let rows = rows.trim_end_matches(')').split("), (").map(values_of);
                tables.get_mut(name).expect("created before").rows.extend(rows);
            }
        }
        Loaded { tables }
    }
}

fn values_of(row: &str) -> Vec<Value> {
    let value = |text: &str| match text {
        "NULL" => Value::Null,
        text if text.starts_with('\'') => Value::Text(text.trim_matches('\'').to_owned()),
        text => number_or_text(text),
    };
    row.split(", ").map(value).collect()
}

impl Connection for Loaded {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn returns_deleted(&self) -> bool {
        true
    }

    fn execute(&mut self, sql: &str, _: &[Value]) -> Result<StatementAnswer, Failure> {
        let (columns, table) = sql.trim_start_matches("SELECT ").split_once(" FROM ").expect("a plain question");
        let table = &self.tables[table];
        let place = |name: &str| table.columns.iter().position(|column| column == name).expect(name);
        let places: Vec<usize> = columns.split(", ").map(place).collect();
        let rows = table.rows.iter().map(|row| Row(places.iter().map(|&place| row[place].clone()).collect()));
        Ok(StatementAnswer { rows: rows.collect(), affected: 0 })
    }

    fn type_in(&mut self, _: &str) -> Result<StatementAnswer, crate::Objection> {
        Ok(StatementAnswer::default())
    }

    fn command(&mut self, _: &str) -> Result<(), Failure> {
        Ok(())
    }

    fn begin(&mut self, _: IsolationLevel) -> Result<(), Failure> {
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

#[test]
fn every_workload_is_found_by_its_name_and_keeps_it() {
    let names: BTreeSet<&str> = ALL.iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), ALL.len());
    for entry in ALL {
        let workload = by_name(entry.name).expect("a workload");
        assert_eq!(workload.name(), entry.name);
        assert!(entry.about.len() <= 90 && !entry.about.ends_with('.'), "{}", entry.about);
    }
    assert!(by_name("sbank").is_none());
}

#[test]
fn what_is_loaded_satisfies_every_assertion() {
    let plain = Requirements { store: Store::Plain, ..Requirements::default() };
    let scanned = Requirements { scan: true, limit: Some(1), ..plain };
    let all = [Requirements::default(), plain, scanned];
    for (entry, required) in ALL.iter().flat_map(|entry| all.map(|required| (entry, required))) {
        for assertion in end_of(&*entry.workload_for(&required), &[], true) {
            assert!(assertion.holds, "{} {}: {}", entry.name, assertion.name, assertion.detail);
        }
    }
}
