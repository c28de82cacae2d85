//! Scripts: statements and what they answer, letter by letter.
//!
//! ```text
//!   # a comment                       # dialect: mysql    on a line of its own chooses the dialect
//!   > SELECT 1 AS one;                a statement, up to the semicolon at the end of a line
//!   one                               its answer: columns, rows, or the words of the command and how many rows it was
//!   1
//!   ! DELETE FROM item WHERE id = 7;  the same, and then every call of the store, spaces by the names of tables and indexes
//!   DELETE 1
//!   . get item/7 for update
//!   . delete item/7
//! ```
//!
//! A statement that fails is rolled back, and its session lives on. `SKEW_BLESS=1` writes the answers anew; read the difference before
//! committing it.

use skew_sql::memory::MemoryStorage;
use skew_sql::session::{Answer, Control, Rows, Session};
use skew_sql::{Catalog, Stop};
use skew_value::Dialect;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A session over a store, and the transaction that is open, if one is.
struct Stage {
    session: Session,
    storage: MemoryStorage,
    /// The catalog at BEGIN.
    begun: Option<Arc<Catalog>>,
}

impl Stage {
    fn new(dialect: Dialect) -> Stage {
        let session = Session::new(dialect, Arc::new(Catalog::default()));
        Stage { session, storage: MemoryStorage::at_time(1_700_000_000_000_000), begun: None }
    }

    /// The answer to a text, as the script has it.
    fn play(&mut self, text: &str, with_accesses: bool) -> String {
        if with_accesses {
            self.storage.record();
            self.storage.take_accesses();
        }
        let mut told = String::new();
        match self.run(text) {
            Ok(answers) => answers.iter().for_each(|answer| told.push_str(&self.show(answer))),
            Err(Stop::Error(error)) => {
                let _ = writeln!(told, "ERROR {}: {}", error.state.0, error.message);
                if let Some(detail) = error.detail {
                    let _ = writeln!(told, "  detail: {detail}");
                }
                if let Some(hint) = error.hint {
                    let _ = writeln!(told, "  hint: {hint}");
                }
            }
            Err(Stop::Interrupted(interrupt)) => {
                let _ = writeln!(told, "INTERRUPTED {interrupt:?}");
            }
        }
        if with_accesses {
            let names = self.space_names();
            for access in self.storage.take_accesses() {
                let _ = writeln!(told, ". {}", named(&access.to_string(), &names));
            }
        }
        told
    }

    fn run(&mut self, text: &str) -> Result<Vec<Answer>, Stop> {
        let mut answers = Vec::new();
        for statement in self.session.parse(text)? {
            self.storage.begin();
            let before = self.session.catalog().clone();
            let prepared = self.session.prepare(&statement, &[]);
            let answer = prepared
                .map_err(Stop::from)
                .and_then(|prepared| self.session.execute(&prepared, &[], &mut self.storage));
            let answer = answer.and_then(|answer| self.end(answer));
            match answer {
                Ok(answer) => answers.push(answer),
                Err(stop) => {
                    self.storage.rollback();
                    self.session.set_catalog(before);
                    return Err(stop);
                }
            }
        }
        Ok(answers)
    }

    /// The statement comes to its end; so do transactions.
    fn end(&mut self, answer: Answer) -> Result<Answer, Stop> {
        match &answer {
            Answer::Transaction(Control::Begin(_)) => self.begun = Some(self.session.catalog().clone()),
            Answer::Transaction(Control::Commit { .. }) => {
                self.session.check_deferred(&mut self.storage)?;
                self.storage.commit();
                self.storage.commit();
                self.begun = None;
                return Ok(answer);
            }
            Answer::Transaction(Control::Rollback { .. }) => {
                self.storage.rollback();
                self.storage.rollback();
                self.session.forget_deferred();
                if let Some(catalog) = self.begun.take() {
                    self.session.set_catalog(catalog);
                }
                return Ok(answer);
            }
            _ => {
                if self.begun.is_none() {
                    self.session.check_deferred(&mut self.storage)?;
                }
                self.storage.commit();
            }
        }
        Ok(answer)
    }

    fn show(&self, answer: &Answer) -> String {
        match answer {
            Answer::Rows(rows) => self.show_rows(rows),
            Answer::Changed(changed) => {
                let rows = changed.returning.as_ref().map(|rows| self.show_rows(rows)).unwrap_or_default();
                format!("{rows}{} {}\n", changed.command, changed.count)
            }
            Answer::Done(words) | Answer::Defined(words) => format!("{words}\n"),
            other => format!("{other:?}\n"),
        }
    }

    fn show_rows(&self, rows: &Rows) -> String {
        let names: Vec<&str> = rows.columns.iter().map(|column| column.name.as_str()).collect();
        let mut told = format!("{}\n", names.join(" | "));
        for row in &rows.rows {
            let cells: Vec<String> = row
                .iter()
                .zip(rows.columns.iter())
                .map(|(datum, column)| match datum.is_null() {
                    true => "NULL".to_owned(),
                    false => self.session.text_of(datum, &column.sql_type),
                })
                .collect();
            let _ = writeln!(told, "{}", cells.join(" | "));
        }
        told
    }

    /// The names of spaces, for the calls of the store.
    fn space_names(&self) -> BTreeMap<u32, String> {
        let mut names = BTreeMap::new();
        for table in self.session.catalog().tables.values() {
            names.insert(table.space.0, table.name.clone());
            for index in &table.indexes {
                names.insert(index.space.0, format!("{}@{}", table.name, index.name));
            }
        }
        names
    }
}

/// The space of an access by its name: the second word starts with its number.
fn named(access: &str, names: &BTreeMap<u32, String>) -> String {
    let Some((verb, rest)) = access.split_once(' ') else { return access.to_owned() };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, behind) = rest.split_at(digits);
    let name = number.parse().ok().and_then(|number| names.get(&number).cloned());
    format!("{verb} {}{behind}", name.unwrap_or_else(|| format!("({number})")))
}

/// Plays a script: its text with the answers as they are.
fn replay(script: &str) -> String {
    let dialect = if script.contains("# dialect: mysql") { Dialect::MySql } else { Dialect::Postgres };
    let mut stage = Stage::new(dialect);
    let mut told = String::new();
    let mut statement: Option<(bool, String)> = None;
    for line in script.lines() {
        if let Some((_, text)) = &mut statement {
            text.push('\n');
            text.push_str(line);
        } else if let Some(text) = line.strip_prefix("> ").or_else(|| line.strip_prefix("! ")) {
            statement = Some((line.starts_with('!'), text.to_owned()));
        } else if line.starts_with('#') || line.is_empty() {
            let _ = writeln!(told, "{line}");
            continue;
        } else {
            // An answer: it is told anew.
            continue;
        }
        let _ = writeln!(told, "{line}");
        if let Some((with_accesses, text)) = statement.take_if(|(_, text)| text.trim_end().ends_with(';')) {
            told.push_str(&stage.play(&text, with_accesses));
        }
    }
    told
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of scripts is there")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "script"))
        .collect();
    files.sort();
    files
}

#[test]
fn scripts_answer_what_they_say() {
    let files = scripts();
    assert!(!files.is_empty(), "no script is there");
    for file in files {
        let script = std::fs::read_to_string(&file).expect("a text");
        let told = replay(&script);
        if std::env::var_os("SKEW_BLESS").is_some() {
            std::fs::write(&file, told).expect("the script can be written");
            continue;
        }
        assert_eq!(script, told, "{} differs; SKEW_BLESS=1 writes it anew", file.display());
    }
}
