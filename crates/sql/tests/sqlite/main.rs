//! Two databases, one answer: generated statements run here and in SQLite, and must agree.
//!
//! Schemas, rows, queries and changes are random but typed, in words that mean the same in both. Where the two differ by design, the
//! difference is named in `explained`, counted, and shown; anything else fails. `SKEW_SEED` and `SKEW_STATEMENTS` repeat or extend.

mod expression;
mod generator;
#[path = "../../../check/tests/support/random.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with other tests, which use other parts")]
mod random;
mod schema;

use generator::{Asked, Generator};
use random::Random;
use rusqlite::types::ValueRef;
use schema::Table;
use skew_sql::Stop;
use skew_sql::memory::MemoryStorage;
use skew_sql::session::{Answer, Rows, Session};
use skew_value::{Datum, Dialect, SqlState};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A value that both have.
#[derive(Clone, PartialEq, Debug)]
enum Cell {
    Null,
    Number(f64),
    Text(String),
}

impl Cell {
    /// For sorting rows whose order does not matter.
    fn rank(&self) -> String {
        match self {
            Cell::Null => "0".to_owned(),
            Cell::Number(number) => format!("1{:+025.6}", number + 1e9),
            Cell::Text(text) => format!("2{text}"),
        }
    }

    fn equals(&self, other: &Cell) -> bool {
        match (self, other) {
            (Cell::Number(one), Cell::Number(two)) => (one - two).abs() <= 1e-9 * one.abs().max(two.abs()).max(1.0),
            (one, other) => one == other,
        }
    }
}

type Table2 = Vec<Vec<Cell>>;

/// What a statement did: rows, or nothing to show.
type Outcome = Result<Table2, String>;

struct Mirror {
    sqlite: rusqlite::Connection,
    session: Session,
    storage: MemoryStorage,
}

impl Mirror {
    fn new() -> Mirror {
        let sqlite = rusqlite::Connection::open_in_memory().expect("SQLite opens");
        sqlite.execute_batch("PRAGMA case_sensitive_like = ON").expect("SQLite has the setting");
        let session = Session::new(Dialect::Postgres, Arc::default());
        Mirror { sqlite, session, storage: MemoryStorage::new() }
    }

    fn theirs(&self, sql: &str) -> Outcome {
        let mut statement = self.sqlite.prepare(sql).map_err(|error| error.to_string())?;
        let width = statement.column_count();
        let mut rows = statement.query([]).map_err(|error| error.to_string())?;
        let mut table = Vec::new();
        while let Some(row) = rows.next().map_err(|error| error.to_string())? {
            table.push((0..width).map(|place| their_cell(row.get_ref_unwrap(place))).collect());
        }
        Ok(table)
    }

    fn ours(&mut self, sql: &str) -> Result<Table2, Stop> {
        let statements = self.session.parse(sql)?;
        let prepared = self.session.prepare(&statements[0], &[])?;
        self.storage.begin();
        let answer = self.session.execute(&prepared, &[], &mut self.storage);
        if answer.is_ok() {
            self.storage.commit()
        } else {
            self.storage.rollback()
        }
        Ok(match answer? {
            Answer::Rows(rows) => our_table(&rows),
            Answer::Changed(changed) => changed.returning.as_ref().map(our_table).unwrap_or_default(),
            _ => Vec::new(),
        })
    }
}

fn their_cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Number(number as f64),
        ValueRef::Real(number) => Cell::Number(number),
        ValueRef::Text(text) | ValueRef::Blob(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
    }
}

fn our_table(rows: &Rows) -> Table2 {
    let cell = |datum: &Datum, place: usize| match datum {
        Datum::Null => Cell::Null,
        Datum::Boolean(truth) => Cell::Number(f64::from(u8::from(*truth))),
        Datum::Integer(number) => Cell::Number(*number as f64),
        Datum::Real(number) => Cell::Number(*number),
        Datum::Decimal(_) => {
            let text = skew_value::output(datum, &rows.columns[place].sql_type, Dialect::Postgres);
            Cell::Number(text.parse().expect("a decimal is a number"))
        }
        other => Cell::Text(skew_value::output(other, &rows.columns[place].sql_type, Dialect::Postgres)),
    };
    rows.rows.iter().map(|row| row.iter().enumerate().map(|(place, datum)| cell(datum, place)).collect()).collect()
}

/// Where the two differ by design.
fn explained(ours: &Result<Table2, Stop>) -> Option<&'static str> {
    match ours {
        Err(Stop::Error(error)) => match error.state {
            // SQLite goes on in 64 bits, and then with floats.
            SqlState::NUMERIC_OUT_OF_RANGE => Some("integers overflow here"),
            // SQLite lets one statement upsert a row twice.
            SqlState::CARDINALITY => Some("a row is upserted twice"),
            _ => None,
        },
        _ => None,
    }
}

fn same(asked: &Asked, ours: &Result<Table2, Stop>, theirs: &Outcome) -> bool {
    match (ours, theirs) {
        (Err(Stop::Error(_)), Err(_)) => true,
        (Ok(ours), Ok(theirs)) => {
            let (mut ours, mut theirs) = (ours.clone(), theirs.clone());
            if !asked.ordered {
                let rank = |row: &Vec<Cell>| row.iter().map(Cell::rank).collect::<Vec<_>>();
                ours.sort_by_cached_key(rank);
                theirs.sort_by_cached_key(rank);
            }
            ours.len() == theirs.len()
                && ours.iter().zip(&theirs).all(|(one, other)| {
                    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.equals(other))
                })
        }
        _ => false,
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[derive(Default)]
struct Tally {
    statements: u64,
    rows: usize,
    refused_by_both: usize,
    explained: BTreeMap<&'static str, usize>,
    differences: Vec<String>,
}

/// One schema and some statements over it.
fn one_schema(random: &mut Random, statements: u64, tally: &mut Tally) {
    let mut mirror = Mirror::new();
    let mut tables: Vec<Table> = (0..1 + random.below(3)).map(|place| Table::random(place, random)).collect();
    for sql in tables.iter().flat_map(Table::statements) {
        mirror.theirs(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        mirror.ours(sql).unwrap_or_else(|stop| panic!("{sql}: {stop:?}"));
    }
    for _ in 0..statements {
        let asked = Generator::new(random, &mut tables).statement();
        compare(&mut mirror, &asked, tally);
        let changes = !asked.sql.starts_with("SELECT") && !asked.sql.starts_with("WITH");
        for table in tables.iter().filter(|_| changes) {
            let whole = Asked { sql: format!("SELECT * FROM {}", table.name), ordered: false };
            if !compare(&mut mirror, &whole, tally) {
                tally.differences.push(format!("after {}", asked.sql));
                return;
            }
        }
    }
}

/// Whether the two answer alike.
fn compare(mirror: &mut Mirror, asked: &Asked, tally: &mut Tally) -> bool {
    let ours = mirror.ours(&asked.sql);
    tally.statements += 1;
    if let Some(why) = explained(&ours) {
        // What the other would have changed must not make the two differ from here on: it is not asked at all.
        *tally.explained.entry(why).or_default() += 1;
        return true;
    }
    let theirs = mirror.theirs(&asked.sql);
    match (&ours, &theirs) {
        (Ok(rows), _) => tally.rows += rows.len(),
        (Err(_), Err(_)) => tally.refused_by_both += 1,
        _ => {}
    }
    let same = same(asked, &ours, &theirs);
    if !same {
        tally.differences.push(format!("{}\n  ours:   {ours:?}\n  theirs: {theirs:?}", asked.sql));
    }
    same
}

#[test]
#[allow(clippy::print_stderr, reason = "how much was compared is worth knowing")]
fn generated_statements_answer_as_in_sqlite() {
    let mut random = Random::new(number("SKEW_SEED", 1));
    let wanted = number("SKEW_STATEMENTS", 20_000);
    let mut tally = Tally::default();
    while tally.statements < wanted && tally.differences.len() < 5 {
        one_schema(&mut random, 60, &mut tally);
    }
    let Tally { statements, rows, refused_by_both, explained, differences } = &tally;
    eprintln!(
        "sqlite: {statements} statements, {rows} rows, {refused_by_both} refused by both, explained: {explained:?}"
    );
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}
