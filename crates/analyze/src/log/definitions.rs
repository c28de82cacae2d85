//! The tables that a log itself makes: what an application has sent to create and change them, one after the other.
//!
//! ```text
//!   CREATE TABLE, ALTER TABLE, CREATE INDEX …       run in memory, in the order of the log
//!   the same once more                              nothing: a test suite makes its tables for every test
//!   DROP TABLE                                      waits until another table takes the name: what was said to the table is still there to be read
//!   what cannot be run                              left out by name; it matters where rows depend on it
//! ```

use super::transactions::{Grouped, LoggedStatement, written};
use super::{LeftOut, LogProgram, MOST_REMEMBERED};
use skew_program::{Program, ProgramError};
use skew_sql::{Catalog, MemoryStorage, Session, Stop, by_place::EPOCH};
use skew_value::{Dialect, SqlError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The tables of a log: those that somebody gives, or those that it makes itself.
pub(super) struct Defined {
    pub(super) given: Program,
    /// Nothing where the tables were given.
    made: Option<LogSchema>,
    left_out: Vec<LeftOut>,
}

impl Defined {
    /// The tables that definitions are about. Where some are given, these count, and what shares a transaction with definitions is like anything
    /// else; where not, it is set-up, which runs alone.
    pub(super) fn of(grouped: &mut Grouped, schema: &str, dialect: Dialect) -> Result<Defined, ProgramError> {
        let given = Program::parse_in(schema, 0, dialect)?;
        let (set_up, too_many) = (std::mem::take(&mut grouped.set_up), grouped.too_many_definitions());
        if !given.initial().0.tables.is_empty() {
            grouped.templates.join(set_up);
            let reason = "the schema is the one that was given";
            let left_out = |one: &LoggedStatement| LeftOut { matters: false, ..one.left_out(reason) };
            let left_out = grouped.definitions.iter().take(MOST_REMEMBERED).map(left_out).collect();
            return Ok(Defined { given, made: None, left_out });
        }
        let mut made = LogSchema::of(&grouped.definitions, dialect);
        let given = Program::parse_in(&format!("{schema}\n{}", made.text()), 0, dialect)?;
        let left_out = std::mem::take(&mut made.left_out).into_iter().chain(too_many).collect();
        Ok(Defined { given, made: Some(made), left_out })
    }

    /// Adds to a program what is to be said of its schema, whose lines are the first ones, from one on.
    pub(super) fn tell(self, program: &mut LogProgram) {
        program.left_out.extend(self.left_out);
        let Some(made) = self.made else { return };
        let others = self.given.schema().len().saturating_sub(made.statements.len());
        let first = program.first_line.saturating_add(u32::try_from(others).unwrap_or(u32::MAX));
        for (number, (_, line)) in (first..).zip(&made.statements) {
            program.lines.insert(number, *line);
        }
        program.given_lines = first.saturating_sub(1) as usize;
        for one in program.left_out.iter_mut().filter(|one| made.is_older(one)) {
            one.matters = false;
        }
    }
}

/// What a log has defined.
pub(super) struct LogSchema {
    /// The statements that came to something, each in one line, with its log and its line there.
    statements: Vec<(String, (usize, u32))>,
    left_out: Vec<LeftOut>,
    /// Where the last of them stands.
    last: (usize, u32),
}

/// Where definitions run.
struct Defining {
    session: Session,
    storage: MemoryStorage,
    /// Tables that were dropped, and are still there.
    gone: BTreeSet<String>,
    /// The statement that made each table.
    made: BTreeMap<String, String>,
    schema: LogSchema,
}

impl LogSchema {
    /// The tables after some definitions, in order.
    pub(super) fn of(definitions: &[LoggedStatement], dialect: Dialect) -> LogSchema {
        let session = Session::new(dialect, Arc::new(Catalog::default()));
        let schema = LogSchema { statements: Vec::new(), left_out: Vec::new(), last: (0, 0) };
        let storage = MemoryStorage::at_time(EPOCH);
        let mut defining = Defining { session, storage, gone: BTreeSet::new(), made: BTreeMap::new(), schema };
        definitions.iter().for_each(|definition| defining.define(definition));
        defining.schema
    }

    /// The statements as a text, a line each.
    pub(super) fn text(&self) -> String {
        self.statements.iter().map(|(text, _)| format!("{text};\n")).collect()
    }

    /// Whether something was said to tables as they were once, which is about a schema that is no more: it came before the last definition in
    /// the same log, and the name that is not known stands in some definition. Other tables that are not known were made before the log began.
    fn is_older(&self, one: &LeftOut) -> bool {
        let Some(name) = &one.unknown else { return false };
        let names = |text: &str| {
            text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                .any(|word| word.eq_ignore_ascii_case(name))
        };
        one.log == self.last.0 && one.line < self.last.1 && self.statements.iter().any(|(text, _)| names(text))
    }
}

impl Defining {
    fn define(&mut self, definition: &LoggedStatement) {
        let words: Vec<String> = definition.lexemes.iter().map(|lexeme| lexeme.text.to_lowercase()).collect();
        let first: Vec<&str> = words.iter().map(String::as_str).take(4).collect();
        if first.starts_with(&["drop", "table"]) {
            self.gone.extend(dropped(&words));
            return;
        }
        let place = (definition.log, definition.line);
        let text = written(&definition.lexemes, |lexeme| lexeme.text.replace(['\n', '\r'], " "));
        if let Some(name) = created(&words) {
            let was_gone = self.gone.remove(&name);
            if self.made.get(&name) == Some(&text) {
                return;
            }
            if was_gone {
                self.run(format!("DROP TABLE IF EXISTS \"{name}\" CASCADE"), place);
            }
            self.made.insert(name, text.clone());
        }
        let is_known = self.schema.statements.iter().any(|(known, _)| *known == text);
        if let Some(error) = self.run(text, place).filter(|_| !is_known) {
            let reason = format!("it is no part of the schema here: {}", error.message);
            let one = LeftOut { matters: matters(&first), ..definition.left_out(&reason) };
            self.schema.left_out.extend((self.schema.left_out.len() < MOST_REMEMBERED).then_some(one));
        }
    }

    /// Runs a statement, which then belongs to the schema; or says why not.
    fn run(&mut self, text: String, place: (usize, u32)) -> Option<SqlError> {
        let error = match self.execute(&text) {
            Ok(()) => {
                self.schema.last = self.schema.last.max(place);
                self.schema.statements.push((text, place));
                return None;
            }
            Err(Stop::Error(error)) => error,
            Err(Stop::Interrupted(_)) => SqlError::unsupported("a definition that waits"),
        };
        Some(error)
    }

    fn execute(&mut self, text: &str) -> Result<(), Stop> {
        for statement in self.session.parse(text)? {
            let prepared = self.session.prepare(&statement, &[])?;
            self.session.execute(&prepared, &[], &mut self.storage)?;
        }
        Ok(())
    }
}

/// Whether what rows do may depend on a definition: indexes that are not unique, rights, databases and comments do not matter.
fn matters(first: &[&str]) -> bool {
    const HARMLESS: [&str; 9] =
        ["index", "database", "extension", "schema", "role", "user", "sequence", "statistics", "collation"];
    match first {
        ["grant" | "revoke" | "comment" | "reindex" | "refresh", ..] => false,
        [_, what, ..] => !HARMLESS.contains(what),
        _ => true,
    }
}

/// The table that a statement creates.
fn created(words: &[String]) -> Option<String> {
    let place = words.iter().position(|word| word == "table").filter(|_| words[0] == "create")?;
    let name = words[place + 1..].iter().find(|word| !["if", "not", "exists"].contains(&word.as_str()))?;
    Some(plain(name))
}

/// The tables that a statement drops.
fn dropped(words: &[String]) -> impl Iterator<Item = String> {
    let names =
        words[2..].iter().filter(|word| !["if", "exists", "cascade", "restrict", ",", "."].contains(&word.as_str()));
    names.map(|name| plain(name))
}

fn plain(name: &str) -> String {
    name.trim_matches(['"', '`']).to_owned()
}
