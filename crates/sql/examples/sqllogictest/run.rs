//! Asks a record and compares.

use crate::record::{Record, Sort, Wanted};
use skew_sql::Stop;
use skew_sql::memory::MemoryStorage;
use skew_sql::session::{Answer, Rows, Session};
use skew_value::{Datum, Dialect, SqlType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What went wrong.
pub(crate) struct Failure {
    pub(crate) line: usize,
    pub(crate) cause: String,
    pub(crate) sql: String,
}

/// Counts.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) right: usize,
    pub(crate) other: usize,
    pub(crate) failures: Vec<Failure>,
    pub(crate) causes: BTreeMap<String, usize>,
}

impl Tally {
    pub(crate) fn failed(&self) -> usize {
        self.causes.values().sum()
    }

    pub(crate) fn applicable(&self) -> usize {
        self.right + self.failed()
    }

    pub(crate) fn add(&mut self, other: Tally) {
        self.right += other.right;
        self.other += other.other;
        self.failures.extend(other.failures);
        self.failures.truncate(1000);
        for (cause, count) in other.causes {
            *self.causes.entry(cause).or_default() += count;
        }
    }
}

/// A database for one file.
pub(crate) struct Runner {
    dialect: Dialect,
    session: Session,
    storage: MemoryStorage,
    pub(crate) tally: Tally,
}

impl Runner {
    pub(crate) fn new(dialect: Dialect) -> Runner {
        let session = Session::new(dialect, Arc::default());
        Runner { dialect, session, storage: MemoryStorage::new(), tally: Tally::default() }
    }

    pub(crate) fn run(&mut self, records: &[Record<'_>], over: &dyn Fn() -> bool) {
        for record in records.iter().take_while(|_| !over()) {
            if !self.applies(record) {
                self.tally.other += 1;
                continue;
            }
            match self.ask(record) {
                Ok(()) => self.tally.right += 1,
                Err(cause) => self.note(record, cause),
            }
        }
    }

    fn note(&mut self, record: &Record<'_>, cause: String) {
        *self.tally.causes.entry(general(&cause)).or_default() += 1;
        self.tally.failures.push(Failure { line: record.line, cause, sql: record.sql.clone() });
    }

    fn applies(&self, record: &Record<'_>) -> bool {
        let us = match self.dialect {
            Dialect::Postgres => "postgresql",
            Dialect::MySql => "mysql",
        };
        !record.skip.contains(&us) && record.only.iter().all(|only| *only == us)
    }

    fn ask(&mut self, record: &Record<'_>) -> Result<(), String> {
        let answer = self.execute(&record.sql);
        match &record.wanted {
            Wanted::Statement { succeeds: true } => answer.map(drop),
            Wanted::Statement { succeeds: false } => match answer {
                Ok(_) => Err("a statement that should fail succeeds".to_owned()),
                Err(_) => Ok(()),
            },
            Wanted::Query { types, sort, lines } => match answer? {
                Answer::Rows(rows) => self.compare(&rows, types, *sort, lines),
                _ => Err("a query answers no rows".to_owned()),
            },
        }
    }

    fn execute(&mut self, sql: &str) -> Result<Answer, String> {
        let shown = |stop: Stop| match stop {
            Stop::Error(error) => format!("{} {}", error.state.0, error.message),
            Stop::Interrupted(interrupt) => format!("{interrupt:?}"),
        };
        let statements = self.session.parse(sql).map_err(|error| shown(error.into()))?;
        let [statement] = &statements[..] else { return Err("not one statement".to_owned()) };
        let prepared = self.session.prepare(statement, &[]).map_err(|error| shown(error.into()))?;
        let catalog = self.session.catalog().clone();
        self.storage.begin();
        let answer = self.session.execute(&prepared, &[], &mut self.storage);
        match &answer {
            Ok(_) => self.storage.commit(),
            Err(_) => {
                self.storage.rollback();
                self.session.set_catalog(catalog);
            }
        }
        answer.map_err(shown)
    }

    fn compare(&mut self, rows: &Rows, types: &str, sort: Sort, wanted: &[&str]) -> Result<(), String> {
        if rows.columns.len() != types.len() {
            return Err(format!("{} columns instead of {}", rows.columns.len(), types.len()));
        }
        let show = |row: &Vec<Datum>| -> Vec<String> {
            let cells = row.iter().zip(rows.columns.iter()).zip(types.chars());
            cells.map(|((datum, column), wanted)| shown(datum, &column.sql_type, wanted, self.dialect)).collect()
        };
        let mut shown: Vec<Vec<String>> = rows.rows.iter().map(show).collect();
        if sort == Sort::Rows {
            shown.sort();
        }
        let mut values: Vec<String> = shown.into_iter().flatten().collect();
        if sort == Sort::Values {
            values.sort();
        }
        if let [line] = wanted
            && let Some((count, hash)) = line.split_once(" values hashing to ")
        {
            let same = count.parse() == Ok(values.len()) && self.hash(&values)? == hash;
            return if same {
                Ok(())
            } else {
                Err(format!("other values: {} instead of {count}, or another hash", values.len()))
            };
        }
        if values == wanted { Ok(()) } else { Err(format!("other values: {values:?} instead of {wanted:?}")) }
    }

    /// MD5 of the values, each with a line's end.
    fn hash(&mut self, values: &[String]) -> Result<String, String> {
        let text: String = values.iter().flat_map(|value| [value.as_str(), "\n"]).collect();
        let sql = format!("SELECT md5('{}')", text.replace('\'', "''"));
        match self.execute(&sql)? {
            Answer::Rows(rows) => match &rows.rows[0][0] {
                Datum::Text(hash) => Ok(hash.to_string()),
                other => Err(format!("md5 is {other:?}")),
            },
            _ => Err("md5 answers no rows".to_owned()),
        }
    }
}

/// A value as the corpus writes it: whole numbers, three decimals, or text.
fn shown(datum: &Datum, sql_type: &SqlType, wanted: char, dialect: Dialect) -> String {
    let number = match datum {
        Datum::Null => return "NULL".to_owned(),
        Datum::Integer(number) => Some(*number as f64),
        Datum::Real(number) => Some(*number),
        Datum::Boolean(truth) => Some(f64::from(u8::from(*truth))),
        Datum::Decimal(_) => skew_value::output(datum, sql_type, dialect).parse().ok(),
        _ => None,
    };
    match (wanted, number) {
        ('I', Some(number)) => format!("{}", number.trunc() as i128),
        ('R', Some(number)) => format!("{number:.3}"),
        _ => {
            let text = skew_value::output(datum, sql_type, dialect);
            let shown = text.chars().map(|character| if (' '..='~').contains(&character) { character } else { '@' });
            if text.is_empty() { "(empty)".to_owned() } else { shown.collect() }
        }
    }
}

/// A cause without what is particular to one record.
fn general(cause: &str) -> String {
    if cause.starts_with("other values") {
        return "other values".to_owned();
    }
    let mut kept = String::new();
    let mut quoted = false;
    for character in cause.chars() {
        quoted ^= character == '"';
        if !quoted && !character.is_ascii_digit() {
            kept.push(character);
        }
    }
    kept
}
