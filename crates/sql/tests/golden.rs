//! Golden scripts: SQL and what it answers, side by side.
//!
//! A script is a list of blocks, separated by blank lines: SQL, a line `----`, and the answer. The first line of a file may be
//! `-- dialect: mysql`. A block whose first line is `-- reads` shows what was asked of the store instead of the rows; `-- reads once` shows
//! a read that comes again but once, because a store answers it as the first time and records nothing. Parameters of a statement stand in a
//! line `-- parameters: 7 abc`. `SKEW_BLESS=1` writes the answers anew: read the difference before committing it.

use skew_sql::memory::Access;
use skew_sql::{Answer, Catalog, MemoryStorage, Session, Stop};
use skew_value::{Datum, Dialect, SqlError, SqlType, Style, input, output};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A session with its store.
struct Server {
    session: Session,
    storage: MemoryStorage,
}

impl Server {
    fn run(&mut self, block: &str) -> String {
        let reads = block.starts_with("-- reads");
        let given: Vec<&str> = block
            .lines()
            .find_map(|line| line.strip_prefix("-- parameters:"))
            .map(|line| line.split_whitespace().collect())
            .unwrap_or_default();
        let statements = match self.session.parse(block) {
            Ok(statements) => statements,
            Err(error) => return told_error(&error),
        };
        let mut told = String::new();
        for statement in &statements {
            let _ = self.storage.take_accesses();
            let answer = self.answer(statement, &given);
            match answer {
                Err(Stop::Error(error)) => told += &told_error(&error),
                Err(Stop::Interrupted(interrupt)) => writeln!(told, "{interrupt:?}").unwrap(),
                Ok(answer) if reads => {
                    let _ = answer;
                    let once = block.starts_with("-- reads once");
                    told += &told_accesses(&self.storage.take_accesses(), once);
                }
                Ok(answer) => told += &self.told(&answer),
            }
        }
        told
    }

    fn answer(&mut self, statement: &skew_sql::Statement, given: &[&str]) -> Result<Answer, Stop> {
        let prepared = self.session.prepare(statement, &[])?;
        let types: Vec<SqlType> = prepared.parameter_types().to_vec();
        let style = self.session.style();
        let values: Result<Vec<Datum>, SqlError> = given
            .iter()
            .zip(&types)
            .map(|(text, sql_type)| if *text == "NULL" { Ok(Datum::Null) } else { input(text, sql_type, style) })
            .collect();
        self.storage.begin();
        let answer = self.session.execute(&prepared, &values?, &mut self.storage);
        match &answer {
            Ok(_) => self.storage.commit(),
            Err(_) => self.storage.rollback(),
        }
        answer
    }

    fn told(&self, answer: &Answer) -> String {
        match answer {
            Answer::Rows(rows) => told_rows(rows, self.session.style()),
            Answer::Changed(changed) => {
                let rows = changed.returning.as_ref().map(|rows| told_rows(rows, self.session.style()));
                format!("{}{} {}\n", rows.unwrap_or_default(), changed.command, changed.count)
            }
            Answer::Done(words) | Answer::Defined(words) => format!("{words}\n"),
            other => format!("{other:?}\n"),
        }
    }
}

fn told_accesses(accesses: &[Access], once: bool) -> String {
    let lines = accesses.iter().map(|access| format!("{access}\n"));
    let mut seen = BTreeSet::new();
    lines.filter(|line| !once || seen.insert(line.clone())).collect()
}

fn told_rows(rows: &skew_sql::session::Rows, style: Style) -> String {
    let names: Vec<&str> = rows.columns.iter().map(|column| column.name.as_str()).collect();
    let mut told = format!("{}\n", names.join("|"));
    for row in &rows.rows {
        let values: Vec<String> = row
            .iter()
            .zip(rows.columns.iter())
            .map(|(value, column)| match value {
                Datum::Null => "NULL".to_owned(),
                value => output(value, &column.sql_type, style),
            })
            .collect();
        writeln!(told, "{}", values.join("|")).unwrap();
    }
    told
}

fn told_error(error: &SqlError) -> String {
    let place = error.place.map(|place| format!(" at {}:{}", place.line, place.column)).unwrap_or_default();
    format!("ERROR {}: {}{place}\n", error.state.0, error.message)
}

fn check(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let dialect = if text.starts_with("-- dialect: mysql") { Dialect::MySql } else { Dialect::Postgres };
    let mut storage = MemoryStorage::new();
    storage.record();
    let mut server = Server { session: Session::new(dialect, Arc::new(Catalog::default())), storage };
    let mut written = String::new();
    for block in text.split("\n\n").map(str::trim_end).filter(|block| !block.trim().is_empty()) {
        let (sql, _) = block.split_once("\n----").unwrap_or((block, ""));
        let sql = sql.trim_start_matches('\n');
        let answer = server.run(sql);
        if !written.is_empty() {
            written.push('\n');
        }
        write!(written, "{sql}\n----\n{answer}").unwrap();
    }
    if std::env::var_os("SKEW_BLESS").is_some() {
        std::fs::write(path, &written).unwrap();
        return;
    }
    for (line, (wanted, got)) in text.lines().zip(written.lines()).enumerate() {
        assert_eq!(wanted, got, "{}:{}", path.display(), line + 1);
    }
    assert_eq!(text.trim_end(), written.trim_end(), "{}", path.display());
}

#[test]
fn scripts_answer_what_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are no scripts");
    paths.iter().for_each(|path| check(path));
}
