//! From a witness, which speaks of any values, to programs that can be run: rows, and a session per instance with a call that has arguments.
//!
//! ```text
//!   t1 balance(n = v1)   t2 write_check(n = v1, v = v2)        SESSION t1: CALL balance('ann', @t1_1);
//!                                                              SESSION t2: CALL write_check('ann', 10);
//! ```
//!
//! Nobody can say in general which values make a procedure take the path that matters, so several programs are made, one after the other: with
//! the arguments that the author gave in sessions; with keys of rows that are there; with rows that are made up where tables are empty.

use super::text::AnalyzedText;
use skew_analyze::effect::EffectTarget;
use skew_analyze::{Transactions, Witness, WitnessInstance};
use skew_program::{ParameterMode, Procedure, Program};
use skew_sql::touched::ValueOrigin;
use skew_sql::{Answer, Catalog, MemoryStorage};
use skew_value::{Datum, Dialect, SqlType, output};
use std::collections::{BTreeMap, BTreeSet};

/// How many values of a column are looked at.
const MOST_VALUES: usize = 4;

/// So many calls of the author are run together.
const MOST_CALLS: usize = 4;

/// In how many ways values are given to what is no key.
const SHIFTS: usize = 4;

/// In how many more of them all that look for one kind of row get one row.
const MEETINGS: usize = 2;

/// A program that may show what a witness says.
pub(crate) struct ConcreteProgram {
    /// All of it.
    pub(crate) text: String,
    /// The same, understood.
    pub(crate) program: Program,
    /// The call of each instance: `balance('ann')`.
    pub(crate) calls: Vec<String>,
    /// Whether an application runs the statements, so that it is told how many rows each of them changes.
    pub(crate) tells_counts: bool,
}

/// Which rows are made up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MadeRows {
    /// None.
    None,
    /// None, but all amounts are middling ones: of nothing nobody can take anything away.
    Filled,
    /// In empty tables into which nobody inserts.
    InStable,
    /// In all empty tables.
    InAll,
}

/// What a parameter is used for.
#[derive(Clone, Default)]
struct Usage {
    /// Tables and columns in whose rows it is looked for.
    keys: BTreeSet<(String, String)>,
    /// Whether a row with it comes into being.
    is_new: bool,
    /// Values that the author gives to it.
    given: Vec<String>,
    sql_type: Option<SqlType>,
}

/// An instance of a procedure; parameters of one number have one value.
pub(crate) struct CalledInstance {
    pub(crate) name: String,
    pub(crate) parameters: Vec<(String, usize)>,
}

/// The programs for a witness, those first that are more likely to show it.
pub(crate) fn concrete_programs(text: &AnalyzedText, witness: &Witness) -> Vec<ConcreteProgram> {
    let called = |one: &WitnessInstance| CalledInstance { name: one.name.clone(), parameters: one.parameters.clone() };
    programs_of(text, &witness.instances.iter().map(called).collect::<Vec<CalledInstance>>())
}

/// The programs for some instances.
pub(crate) fn programs_of(text: &AnalyzedText, instances: &[CalledInstance]) -> Vec<ConcreteProgram> {
    let transactions = Transactions::of(&text.program);
    let with_sessions = text.with_sessions();
    let mut programs: Vec<ConcreteProgram> = Vec::new();
    if let Some(authored) = with_sessions.as_ref().and_then(|program| authored_calls(program, instances)) {
        programs.extend(program_of(text, "", authored));
    }
    if let Some(authored) = with_sessions.as_ref().and_then(|program| all_calls(program, instances)) {
        programs.extend(program_of(text, "", authored));
    }
    for rows in [MadeRows::None, MadeRows::Filled, MadeRows::InStable, MadeRows::InAll] {
        let inserts = made_rows(&text.program, &transactions, rows);
        if rows != MadeRows::None && inserts.is_empty() {
            continue;
        }
        let setting = format!("{}\n{inserts}", text.text);
        let Ok(filled) = Program::parse_in(&setting, skew_sql::by_place::EPOCH, text.dialect) else { continue };
        let values = ArgumentValues { program: &filled, transactions: &transactions, sessions: with_sessions.as_ref() };
        for shift in 0..SHIFTS + MEETINGS {
            programs.extend(program_of(text, &inserts, values.calls(instances, shift)));
        }
    }
    let mut known = BTreeSet::new();
    programs.retain(|program| known.insert(program.text.clone()));
    programs
}

/// A program with these calls, an instance each.
fn program_of(text: &AnalyzedText, inserts: &str, calls: Vec<(String, Vec<String>)>) -> Option<ConcreteProgram> {
    let mut whole = format!("{}\n{inserts}\n", text.text.trim_end());
    let mut shown = Vec::new();
    for (number, (procedure, arguments)) in calls.iter().enumerate() {
        let session = number + 1;
        let given = |(place, value): (usize, &String)| match value.as_str() {
            "" => format!("@t{session}_{}", place + 1),
            value => value.to_owned(),
        };
        let arguments_given: Vec<String> = arguments.iter().enumerate().map(given).collect();
        whole.push_str(&format!("SESSION t{session}: CALL {procedure}({});\n", arguments_given.join(", ")));
        let values: Vec<&str> = arguments.iter().map(String::as_str).filter(|value| !value.is_empty()).collect();
        shown.push(format!("{procedure}({})", values.join(", ")));
    }
    let program = Program::parse_in(&whole, skew_sql::by_place::EPOCH, text.dialect).ok()?;
    Some(ConcreteProgram { text: whole, program, calls: shown, tells_counts: text.has_plain })
}

/// A value as a constant of SQL.
fn literal(value: &Datum, sql_type: &SqlType, dialect: Dialect) -> String {
    let text = output(value, sql_type, dialect);
    match value {
        Datum::Null => "NULL".to_owned(),
        Datum::Integer(_) | Datum::Decimal(_) => text,
        _ => format!("'{}'", text.replace('\'', "''")),
    }
}

/// The arguments of a call that is in the file: what is handed out is an empty text.
fn arguments_of(program: &Program, call: &skew_program::Call) -> Option<Vec<String>> {
    let procedure = &program.procedures()[call.procedure];
    let argument = |(number, (_, mode, sql_type, _)): (usize, (&str, ParameterMode, &SqlType, usize))| match mode {
        ParameterMode::In => call.constant(number).map(|value| literal(value, sql_type, program.dialect())),
        ParameterMode::Out | ParameterMode::InOut => Some(String::new()),
    };
    procedure.parameters().enumerate().map(argument).collect()
}

/// The calls of the file for the procedures of a witness, each call once as far as there are enough; nothing if some procedure is never called.
fn authored_calls(program: &Program, instances: &[CalledInstance]) -> Option<Vec<(String, Vec<String>)>> {
    let calls = || program.scripts().iter().flat_map(|script| &script.calls);
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    let mut chosen = Vec::new();
    for instance in instances {
        let is_own = |call: &&skew_program::Call| program.procedures()[call.procedure].name == instance.name;
        let own: Vec<Vec<String>> = calls().filter(is_own).filter_map(|call| arguments_of(program, call)).collect();
        let number = used.entry(&instance.name).or_default();
        chosen.push((instance.name.clone(), own.get(*number % own.len().max(1))?.clone()));
        *number += 1;
    }
    Some(chosen)
}

/// All calls of the file to the procedures of a witness, an instance each: some limits are met only by more of them than a cycle has. Nothing if
/// there are too many, or no more.
fn all_calls(program: &Program, instances: &[CalledInstance]) -> Option<Vec<(String, Vec<String>)>> {
    let name = |call: &skew_program::Call| program.procedures()[call.procedure].name.clone();
    let takes_part = |name: &String| instances.iter().any(|instance| instance.name == *name);
    let calls = program.scripts().iter().flat_map(|script| &script.calls).filter(|call| takes_part(&name(call)));
    let all: Vec<(String, Vec<String>)> =
        calls.map(|call| Some((name(call), arguments_of(program, call)?))).collect::<Option<_>>()?;
    let is_called = |instance: &CalledInstance| all.iter().any(|(name, _)| *name == instance.name);
    let is_more = all.len() > instances.len() && all.len() <= MOST_CALLS;
    (is_more && instances.iter().all(is_called)).then_some(all)
}

/// Where values come from.
struct ArgumentValues<'a> {
    program: &'a Program,
    transactions: &'a Transactions,
    sessions: Option<&'a Program>,
}

impl ArgumentValues<'_> {
    fn procedure(&self, name: &str) -> Option<&Procedure> {
        self.program.procedures().iter().find(|procedure| procedure.name == name).map(|one| &**one)
    }

    /// A call for each instance: parameters of one number have one value.
    fn calls(&self, instances: &[CalledInstance], shift: usize) -> Vec<(String, Vec<String>)> {
        let mut usages: BTreeMap<usize, Usage> = BTreeMap::new();
        for instance in instances {
            for (name, number) in &instance.parameters {
                self.note(&instance.name, name, usages.entry(*number).or_default());
            }
        }
        let values = self.values(&usages, shift);
        let call = |instance: &CalledInstance| {
            let number = |name: &str| instance.parameters.iter().find(|(known, _)| known == name).map(|(_, one)| one);
            let parameters = self.procedure(&instance.name).map(|one| one.parameters().collect::<Vec<_>>());
            let argument = |(name, mode, ..): (&str, ParameterMode, &SqlType, usize)| match mode {
                ParameterMode::In => number(name).and_then(|one| values.get(one)).cloned().unwrap_or("NULL".to_owned()),
                ParameterMode::Out | ParameterMode::InOut => String::new(),
            };
            (instance.name.clone(), parameters.unwrap_or_default().into_iter().map(argument).collect())
        };
        instances.iter().map(call).collect()
    }

    /// What a parameter of a procedure is used for.
    fn note(&self, procedure: &str, parameter: &str, usage: &mut Usage) {
        let Some(bound) = self.procedure(procedure) else { return };
        let Some((place, (.., sql_type, slot))) = bound.parameters().enumerate().find(|(_, one)| one.0 == parameter)
        else {
            return;
        };
        usage.sql_type = Some(sql_type.clone());
        let flow = self.transactions.procedures.iter().find(|flow| flow.name == procedure);
        let effects = flow.into_iter().flat_map(|flow| &flow.steps).flat_map(|step| step.ways.iter().flatten());
        for effect in effects {
            let EffectTarget::Key(index, values) = &effect.target else { continue };
            let columns = self.columns(&effect.table, index.as_deref());
            for (value, column) in values.iter().zip(columns) {
                if *value == ValueOrigin::Variable(slot) {
                    usage.is_new |= effect.inserts;
                    usage.keys.extend((!effect.inserts).then(|| (effect.table.clone(), column)));
                }
            }
        }
        let Some(sessions) = self.sessions else { return };
        let calls = sessions.scripts().iter().flat_map(|script| &script.calls);
        for call in calls.filter(|call| sessions.procedures()[call.procedure].name == procedure) {
            let given = call.constant(place).map(|value| literal(value, sql_type, sessions.dialect()));
            usage.given.extend(given);
        }
    }

    /// The columns of a key of a table; entries of an index stand under `table@index`.
    fn columns(&self, table: &str, index: Option<&str>) -> Vec<String> {
        let (table, index) = table.split_once('@').map_or((table, index), |(table, index)| (table, Some(index)));
        let Some(table) = self.program.initial().0.tables.get(table) else { return Vec::new() };
        match index {
            None => table.key_columns(),
            Some(index) => {
                let found = table.unique_keys().into_iter().find(|(name, _)| name == index);
                found.map(|(_, columns)| columns).unwrap_or_default()
            }
        }
    }

    /// A value for every number. Different numbers that look for one kind of row get different rows as far as there are some.
    fn values(&self, usages: &BTreeMap<usize, Usage>, shift: usize) -> BTreeMap<usize, String> {
        let mut ranks: BTreeMap<Option<(String, String)>, usize> = BTreeMap::new();
        let mut values = BTreeMap::new();
        for (number, usage) in usages {
            let key = usage.keys.iter().next().cloned();
            let rank = ranks.entry(key.clone()).or_default();
            let candidates = match &key {
                Some((table, column)) => column_values(self.program, table, column),
                None => Vec::new(),
            };
            let others = self.others(usage, *rank);
            // A search meets rows that nothing says are the same: they are tried as one, too.
            let place = match (key.is_some(), shift.checked_sub(SHIFTS)) {
                (true, None) => *rank,
                (true, Some(_)) => 0,
                (false, shifted) => shifted.unwrap_or(shift),
            };
            let chosen = match candidates.is_empty() {
                false => candidates[place % candidates.len()].clone(),
                true => others[place % others.len()].clone(),
            };
            *rank += 1;
            values.insert(*number, chosen);
        }
        values
    }

    /// Values of what is the key of no row that is there.
    fn others(&self, usage: &Usage, rank: usize) -> Vec<String> {
        let number = 1 + rank;
        let made: Vec<String> = match usage.sql_type.as_ref().unwrap_or(&SqlType::TEXT) {
            SqlType::Integer { .. } if usage.is_new => vec![(100 + number).to_string()],
            SqlType::Integer { .. } | SqlType::Decimal(_) | SqlType::Single | SqlType::Double => {
                ["1", "5", "60", "100"].map(str::to_owned).to_vec()
            }
            SqlType::Boolean => vec!["true".to_owned(), "false".to_owned()],
            SqlType::Text(_) | SqlType::Character(_) => vec![format!("'a{number}'"), "'a'".to_owned()],
            other => vec![made_value(other, number, false)],
        };
        // What the author gives is likely to be meant, but a new row needs a key of its own.
        match usage.is_new {
            true => usage.given.get(rank).cloned().map_or(made, |given| vec![given]),
            false => usage.given.iter().cloned().chain(made).collect(),
        }
    }
}

/// Some values of a column in the first rows of a program.
fn column_values(program: &Program, table: &str, column: &str) -> Vec<String> {
    let table = table.split('@').next().unwrap_or(table);
    let query = format!("SELECT DISTINCT \"{column}\" FROM \"{table}\" WHERE \"{column}\" IS NOT NULL ORDER BY 1");
    let mut storage = program.initial().1.clone();
    let Some((columns, rows)) = rows_of(program, &query, &mut storage) else { return Vec::new() };
    let first = |row: &Vec<Datum>| Some(literal(row.first()?, &columns.first()?.1, program.dialect()));
    rows.iter().take(MOST_VALUES).filter_map(first).collect()
}

/// The columns of a result, with their types, and its rows.
pub(crate) type AskedRows = (Vec<(String, SqlType)>, Vec<Vec<Datum>>);

/// What a query answers.
pub(crate) fn rows_of(program: &Program, query: &str, storage: &mut MemoryStorage) -> Option<AskedRows> {
    let mut session = program.session();
    let query = if program.dialect() == Dialect::MySql { query.replace('"', "`") } else { query.to_owned() };
    let statement = session.parse(&query).ok()?.into_iter().next()?;
    let prepared = session.prepare(&statement, &[]).ok()?;
    match session.execute(&prepared, &[], storage) {
        Ok(Answer::Rows(rows)) => {
            let columns = rows.columns.iter().map(|column| (column.name.clone(), column.sql_type.clone())).collect();
            Some((columns, rows.rows))
        }
        _ => None,
    }
}

/// Rows for empty tables, as INSERTs: two each, that find each other by equal numbers.
fn made_rows(program: &Program, transactions: &Transactions, made: MadeRows) -> String {
    let catalog = program.initial().0;
    if made == MadeRows::Filled {
        return filled_rows(program);
    }
    let inserted = |table: &str| {
        let steps = transactions.procedures.iter().flat_map(|procedure| &procedure.steps);
        steps.flat_map(|step| step.ways.iter().flatten()).any(|effect| effect.inserts && effect.table == table)
    };
    let mut text = String::new();
    for table in parents_first(catalog) {
        let is_wanted = match made {
            MadeRows::None | MadeRows::Filled => false,
            MadeRows::InStable => !inserted(&table),
            MadeRows::InAll => true,
        };
        let all = rows_of(program, &format!("SELECT * FROM \"{table}\""), &mut program.initial().1.clone());
        let Some((mut columns, _)) = all.filter(|(_, rows)| is_wanted && rows.is_empty()) else { continue };
        // A number that is given by hand here would be given out once more by its sequence.
        let numbered = catalog.tables.get(&table).map(|table| table.numbered_columns()).unwrap_or_default();
        columns.retain(|(name, _)| !numbered.contains(name));
        for number in 1..=2 {
            text.push_str(&made_row(catalog, &table, &columns, number));
        }
    }
    match program.dialect() {
        Dialect::MySql => text.replace('"', "`"),
        Dialect::Postgres => text,
    }
}

fn made_row(catalog: &Catalog, table: &str, columns: &[(String, SqlType)], number: usize) -> String {
    let value = |(name, sql_type): &(String, SqlType)| made_value(sql_type, number, names_rows(catalog, table, name));
    let names: Vec<String> = columns.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let values: Vec<String> = columns.iter().map(value).collect();
    match columns.is_empty() {
        true => format!("INSERT INTO \"{table}\" DEFAULT VALUES;\n"),
        false => format!("INSERT INTO \"{table}\" ({}) VALUES ({});\n", names.join(", "), values.join(", ")),
    }
}

/// All amounts in rows that are there become the same one, so that what is taken twice is too much and what is taken once is not.
fn filled_rows(program: &Program) -> String {
    let catalog = program.initial().0;
    let mut text = String::new();
    for table in parents_first(catalog) {
        let all = rows_of(program, &format!("SELECT * FROM \"{table}\""), &mut program.initial().1.clone());
        let Some((columns, _)) = all.filter(|(_, rows)| !rows.is_empty()) else { continue };
        let is_amount = |(name, sql_type): &&(String, SqlType)| {
            let is_number =
                matches!(sql_type, SqlType::Integer { .. } | SqlType::Decimal(_) | SqlType::Single | SqlType::Double);
            is_number && !names_rows(catalog, &table, name)
        };
        let set: Vec<String> = columns.iter().filter(is_amount).map(|(name, _)| format!("{name} = 50")).collect();
        if !set.is_empty() {
            text.push_str(&format!("UPDATE {table} SET {};\n", set.join(", ")));
        }
    }
    text
}

/// Whether a column tells rows apart: a part of a key, or of another table's key by its name.
fn names_rows(catalog: &Catalog, table: &str, column: &str) -> bool {
    let is_key = catalog.tables.values().any(|table| table.key_columns().iter().any(|key| key == column));
    let unique = catalog.tables.get(table).map(|table| table.unique_keys()).unwrap_or_default();
    let points = catalog.tables.get(table).map(|table| catalog.parents_of(table)).unwrap_or_default();
    is_key
        || column.ends_with("id")
        || unique.iter().any(|(_, columns)| columns.iter().any(|name| name == column))
        || points.iter().any(|parent| parent.columns.iter().any(|name| name == column))
}

fn made_value(sql_type: &SqlType, number: usize, names: bool) -> String {
    match sql_type {
        SqlType::Integer { .. } | SqlType::Decimal(_) | SqlType::Single | SqlType::Double if names => {
            number.to_string()
        }
        SqlType::Integer { .. } | SqlType::Decimal(_) | SqlType::Single | SqlType::Double => "100".to_owned(),
        SqlType::Boolean => "true".to_owned(),
        SqlType::Text(_) | SqlType::Character(_) if names => format!("'a{number}'"),
        SqlType::Text(_) | SqlType::Character(_) => "'a'".to_owned(),
        SqlType::Date => "'2026-01-01'".to_owned(),
        SqlType::Timestamp(_) | SqlType::TimestampZoned(_) => "'2026-01-01 00:00:00'".to_owned(),
        SqlType::Uuid => format!("'00000000-0000-0000-0000-{number:012}'"),
        SqlType::Json | SqlType::JsonBinary => "'{}'".to_owned(),
        _ => "NULL".to_owned(),
    }
}

/// The tables, those first to which others point.
fn parents_first(catalog: &Catalog) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    for _ in 0..=catalog.tables.len() {
        for (name, table) in &catalog.tables {
            let parents = catalog.parents_of(table);
            let is_ready = parents.iter().all(|parent| parent.parent == *name || order.contains(&parent.parent));
            if is_ready && !order.contains(name) {
                order.push(name.clone());
            }
        }
    }
    order
}
