//! Several files as one program, of which every line knows where it comes from.
//!
//! ```text
//!   schema.sql    CREATE TABLE …;                        ──┐
//!   queries.sql   -- name: take_out … (plain SQL)  procedures ├── one text ── Program
//!   shop.sql      CREATE PROCEDURE …; SESSION …;            │      └── line 40 is line 12 of queries.sql
//!   server.csv    a log (`logs`)                          ──┘
//! ```
//!
//! Sessions are no part of what is analysed, which is about all calls; they are kept because their arguments are good examples. What cannot be
//! read because it is not supported becomes blank, and is on the list of what an answer does not cover.

use super::file::AnalyzedFile;
use super::logs::{self, LoggedText};
use super::psql::without_commands;
use crate::Complaint;
use crate::program_file::complaint;
use skew_analyze::Unsupported;
use skew_analyze::log::LoggedLine;
use skew_history::Place as LinePlace;
use skew_program::{MadeLine, PartKind, Program, ProgramError, as_procedures, dialect_of, parts};
use skew_sql::Session;
use skew_value::{Dialect, Place, SqlState};

/// Files as one text.
#[derive(Clone, Debug)]
pub struct AnalyzedText {
    files: Vec<String>,
    /// Files of an application that comments in a log tell of, numbered behind the others.
    code: Vec<String>,
    /// Schema, rows and procedures of all files.
    pub(crate) text: String,
    /// Of each line of the text its file and its line there.
    lines: Vec<(usize, u32)>,
    sessions: String,
    /// What the text means.
    pub(crate) program: Program,
    /// What is not part of the program because it cannot be.
    pub(crate) unsupported: Vec<Unsupported>,
    /// Names of parameters that the files write otherwise.
    parameters: Vec<(String, String)>,
    /// Whether some transactions are no procedures.
    pub(crate) has_plain: bool,
    /// What every answer rests on because of where transactions come from.
    pub(crate) covers: Vec<String>,
    pub(crate) dialect: Dialect,
}

/// Where something stands in the user's files.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FileLocation {
    /// The file, as the user calls it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl AnalyzedText {
    /// Puts texts together: names and texts.
    pub fn new(files: &[(String, String)]) -> Result<AnalyzedText, Complaint> {
        AnalyzedText::of(&files.iter().map(AnalyzedFile::of_text).collect::<Vec<AnalyzedFile>>())
    }

    /// Puts files together.
    pub fn of(files: &[AnalyzedFile]) -> Result<AnalyzedText, Complaint> {
        let of_log = files.iter().find_map(AnalyzedFile::dialect);
        let named = programs(files).find_map(|(_, file)| dialect_of(&file.text)).or(of_log);
        let dialect = named.unwrap_or(Dialect::Postgres);
        let schema = schema_text(files, dialect);
        let session = session_of(&schema, dialect);
        let mut joined = Joined { named: files.len(), ..Joined::default() };
        if let Some(dialect) = named {
            let word = if dialect == Dialect::MySql { "mysql" } else { "postgres" };
            joined.line(&format!("-- dialect: {word}"), (0, 1));
        }
        for (number, AnalyzedFile { name, text, .. }) in programs(files) {
            let (text, named) = without_commands(text);
            let made = as_procedures(&text, name, &session).map_err(|error| complaint(name, &error))?;
            joined.parameters.extend(made.parameters);
            joined.has_plain |= made.has_plain;
            joined.file(number, name, made.lines, dialect)?;
            named.into_iter().for_each(|(line, construct)| joined.name(construct, (number, line)));
        }
        let taken = joined.procedure_names(dialect);
        logs::logged(files, dialect, &schema, &taken)?.into_iter().for_each(|logged| joined.log(logged));
        joined.program(files, dialect)
    }

    /// Another text in place of this one: the same lines, some of them changed or with more on them.
    pub(crate) fn changed(&self, text: String) -> Option<AnalyzedText> {
        let program = Program::parse_in(&text, skew_sql::by_place::EPOCH, self.dialect).ok()?;
        Some(AnalyzedText { text, program, ..self.clone() })
    }

    /// The names of the files.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Where a place of the text is in its file.
    pub(crate) fn location(&self, place: Place) -> FileLocation {
        let index = (place.line.saturating_sub(1) as usize).min(self.lines.len().saturating_sub(1));
        let (file, line) = self.lines.get(index).copied().unwrap_or((0, place.line));
        let name = self.files.iter().chain(&self.code).nth(file);
        FileLocation { file: name.cloned().unwrap_or_default(), line, column: place.column }
    }

    /// The same as people write it.
    pub(crate) fn spot(&self, place: Place) -> String {
        let FileLocation { file, line, .. } = self.location(place);
        format!("{file}:{line}")
    }

    /// A statement in one line, as its file writes it.
    pub(crate) fn shown(&self, statement: &str) -> String {
        let mut text = statement.split_whitespace().collect::<Vec<&str>>().join(" ");
        for (made, written) in &self.parameters {
            let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
            let places: Vec<usize> = text.match_indices(made.as_str()).map(|(at, _)| at).collect();
            for at in places.into_iter().rev() {
                let around = (text[..at].chars().next_back(), text[at + made.len()..].chars().next());
                if !is_part(around.0) && !is_part(around.1) {
                    text.replace_range(at..at + made.len(), written);
                }
            }
        }
        text
    }

    /// The program with the sessions of its files, where these can be read together.
    pub(crate) fn with_sessions(&self) -> Option<Program> {
        let text = format!("{}\n{}", self.text, self.sessions);
        Program::parse_in(&text, skew_sql::by_place::EPOCH, self.dialect).ok()
    }
}

/// The files that are no logs, with their numbers.
fn programs(files: &[AnalyzedFile]) -> impl Iterator<Item = (usize, &AnalyzedFile)> {
    files.iter().enumerate().filter(|(_, file)| file.log.is_none())
}

/// The statements of all files that make tables and views, without those that are not understood.
fn schema_text(files: &[AnalyzedFile], dialect: Dialect) -> String {
    let mut schema: Vec<String> = Vec::new();
    for (_, file) in programs(files) {
        let (text, _) = without_commands(&file.text);
        let mut is_open = false;
        for part in parts(&text, dialect).unwrap_or_default() {
            is_open = (is_open || part.kind == PartKind::Begin) && part.kind != PartKind::Commit;
            if part.kind == PartKind::Schema && !is_open {
                schema.push(format!("{};\n", &text[part.bytes]));
            }
        }
    }
    while let Err(error) = Program::parse_in(&schema.concat(), skew_sql::by_place::EPOCH, dialect) {
        let mut line = 1;
        let is_there = |statement: &String| {
            let first = line;
            line += statement.matches('\n').count() as u32;
            (first..line).contains(&error.place.line)
        };
        let Some(place) = schema.iter().position(is_there).filter(|_| error.construct().is_some()) else { break };
        schema.remove(place);
    }
    schema.concat()
}

/// A session that knows these tables; one that knows nothing where they cannot be made, which is complained about later.
fn session_of(schema: &str, dialect: Dialect) -> Session {
    let program = Program::parse_in(schema, skew_sql::by_place::EPOCH, dialect);
    program.map_or_else(|_| Session::new(dialect, std::sync::Arc::default()), |program| program.session())
}

/// A text that grows.
#[derive(Default)]
struct Joined {
    text: String,
    lines: Vec<(usize, u32)>,
    sessions: String,
    unsupported: Vec<Unsupported>,
    parameters: Vec<(String, String)>,
    has_plain: bool,
    covers: Vec<String>,
    /// How many files were named.
    named: usize,
    /// Files of an application that comments in a log tell of.
    code: Vec<String>,
    /// Whether some statement of the schema was left out.
    lost_tables: bool,
    /// Procedures that files call, and where.
    calls: Vec<(String, Place)>,
}

impl Joined {
    /// The tables and procedures of logs, and what they have besides, on lines that say nothing.
    fn log(&mut self, logged: LoggedText) {
        for LoggedLine { text, log, line, code } in &logged.lines {
            let in_log = (logged.files.get(*log).copied().unwrap_or_default(), *line);
            let from = code.as_ref().map_or(in_log, |(file, line)| (self.code_file(file), *line));
            self.line(text, from);
            if !text.starts_with([' ', '-']) && deferrable_below(text).is_some() {
                let place = Place { line: self.lines.len() as u32, column: 1 };
                self.unsupported.push(Unsupported { place, construct: "DEFERRABLE".to_owned() });
            }
        }
        logged.unsupported.into_iter().for_each(|(construct, line)| self.name(construct, line));
        self.covers.push(logged.covers);
    }

    /// The number of a file of the application, which nobody has named.
    fn code_file(&mut self, name: &String) -> usize {
        let number = self.code.iter().position(|known| known == name).unwrap_or(self.code.len());
        if number == self.code.len() {
            self.code.push(name.clone());
        }
        self.named + number
    }

    /// Something that is not understood, on a line that says nothing.
    fn name(&mut self, construct: String, line: (usize, u32)) {
        self.line("--", line);
        let place = Place { line: self.lines.len() as u32, column: 1 };
        self.unsupported.push(Unsupported { place, construct });
    }

    /// The names of all procedures so far.
    fn procedure_names(&self, dialect: Dialect) -> Vec<String> {
        let name = |kind: PartKind| match kind {
            PartKind::Procedure(name) => Some(name),
            _ => None,
        };
        parts(&self.text, dialect).unwrap_or_default().into_iter().filter_map(|part| name(part.kind)).collect()
    }

    fn line(&mut self, text: &str, from: (usize, u32)) {
        self.text.push_str(text);
        self.text.push('\n');
        self.lines.push(from);
    }

    fn file(&mut self, number: usize, name: &str, made: Vec<MadeLine>, dialect: Dialect) -> Result<(), Complaint> {
        let mut text: String = made.iter().map(|line| format!("{}\n", line.text)).collect();
        let before = self.lines.len() as u32;
        let at = |error: &ProgramError| complaint(name, error);
        for part in parts(&text, dialect).map_err(|error| at(&error))?.into_iter().rev() {
            let place = Place { line: part.place.line + before, ..part.place };
            let construct = match (&part.kind, &part.error) {
                (PartKind::Sessions, _) => {
                    self.sessions.push_str(&text[part.bytes.clone()]);
                    self.sessions.push('\n');
                    None
                }
                (PartKind::Code(what), _) => Some((*what).to_owned()),
                (PartKind::Silent, _) => None,
                (PartKind::Statement, _) if called(&text[part.bytes.clone()]).is_some() => {
                    self.calls.extend(called(&text[part.bytes.clone()]).map(|name| (name, place)));
                    None
                }
                (PartKind::Procedure(name), Some(error)) if error.construct().is_some() => {
                    let construct = format!("{} in {name}", error.construct().unwrap_or_default());
                    let place = Place { line: error.place.line + before, ..error.place };
                    self.unsupported.push(Unsupported { place, construct });
                    None
                }
                (PartKind::Schema, _) => {
                    let below = deferrable_below(&text[part.bytes.clone()]);
                    let place = |below: u32| Place { line: place.line + below, column: 1 };
                    let named = |below| Unsupported { place: place(below), construct: "DEFERRABLE".to_owned() };
                    self.unsupported.extend(below.map(named));
                    continue;
                }
                _ => continue,
            };
            self.unsupported.extend(construct.map(|construct| Unsupported { place, construct }));
            text.replace_range(part.bytes.clone(), &blank(&text[part.bytes]));
        }
        for (text, made) in text.lines().zip(&made) {
            self.line(text, (number, made.line));
        }
        Ok(())
    }

    fn program(mut self, files: &[AnalyzedFile], dialect: Dialect) -> Result<AnalyzedText, Complaint> {
        let program = loop {
            match Program::parse_in(&self.text, skew_sql::by_place::EPOCH, dialect) {
                Ok(program) => break program,
                Err(error) => self.leave_out(&error, files, dialect)?,
            }
        };
        let is_here = |name: &String| program.procedures().iter().any(|known| known.name == *name);
        for (name, place) in self.calls.iter().filter(|(name, _)| !is_here(name)) {
            self.unsupported.push(Unsupported { place: *place, construct: format!("CALL {name}, which is not here,") });
        }
        if program.procedures().is_empty() && self.unsupported.is_empty() {
            return Err(AnalyzedFile::nothing_in(files));
        }
        self.unsupported.sort_by_key(|one| (one.place.line, one.place.column));
        let files = files.iter().map(|file| file.name.clone()).collect();
        let Joined { text, lines, sessions, unsupported, parameters, has_plain, covers, code, .. } = self;
        Ok(AnalyzedText {
            files,
            code,
            text,
            lines,
            sessions,
            program,
            unsupported,
            parameters,
            has_plain,
            covers,
            dialect,
        })
    }

    /// A part that holds something that is not understood becomes blank, and so does what needs a table that was lost so; whatever else is wrong is
    /// wrong.
    fn leave_out(&mut self, error: &ProgramError, files: &[AnalyzedFile], dialect: Dialect) -> Result<(), Complaint> {
        let (file, line) = self.lines.get(error.place.line.saturating_sub(1) as usize).copied().unwrap_or((0, 1));
        let name = files.get(file).map_or("", |file| file.name.as_str());
        let in_file = ProgramError { place: Place { line, ..error.place }, ..error.clone() };
        let complain = || Complaint { place: LinePlace::Whole, ..complaint(name, &in_file) };
        let lost = self.lost_tables && [SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_OBJECT].contains(&error.state);
        let construct = error.construct().or(lost.then(|| error.message.clone())).ok_or_else(complain)?;
        let parts = parts(&self.text, dialect).map_err(|_| complain())?;
        let holds = |bytes: &std::ops::Range<usize>| {
            let first = 1 + self.text[..bytes.start].matches('\n').count() as u32;
            let last = first + self.text[bytes.clone()].matches('\n').count() as u32;
            (first..=last).contains(&error.place.line)
        };
        let part = parts.into_iter().find(|part| part.kind != PartKind::Sessions && holds(&part.bytes));
        let part = part.ok_or_else(complain)?;
        self.lost_tables |= part.kind == PartKind::Schema;
        let blank = blank(&self.text[part.bytes.clone()]);
        self.text.replace_range(part.bytes, &blank);
        self.unsupported.push(Unsupported { place: error.place, construct });
        Ok(())
    }
}

/// The procedure that a statement calls, if that is what it does.
fn called(statement: &str) -> Option<String> {
    let (word, rest) = statement.trim().split_once(char::is_whitespace)?;
    let name = rest.split(['(', ';']).next()?.rsplit('.').next()?.trim();
    word.eq_ignore_ascii_case("call").then(|| name.trim_matches('"').to_lowercase())
}

/// How many lines below its first a statement has a constraint that may wait for the commit: then it is not checked where changes are made. Foreign
/// keys that always wait are understood.
fn deferrable_below(text: &str) -> Option<u32> {
    let lower = text.to_ascii_lowercase();
    let words = |at: usize| lower[at..].split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let waits = |at: usize| words(at).skip_while(|word| *word == "deferrable").take(2).eq(["initially", "deferred"]);
    let is_meant = |at: usize| match lower[at..].starts_with("initially") {
        true => waits(at),
        false => !lower[..at].trim_end().ends_with("not"),
    };
    let is_understood = |at: usize| {
        let other = |between: &str| ["unique", "primary", "exclude", "check"].iter().any(|word| between.contains(word));
        waits(at) && lower[..at].rfind("references").is_some_and(|key| !other(&lower[key..at]))
    };
    let mut places: Vec<usize> =
        ["deferrable", "initially"].iter().flat_map(|word| lower.match_indices(word)).map(|(at, _)| at).collect();
    places.sort_unstable();
    let at = places.into_iter().find(|at| is_meant(*at) && !is_understood(*at))?;
    Some(lower[..at].matches('\n').count() as u32)
}

/// Nothing, in as many lines.
fn blank(text: &str) -> String {
    text.chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }).collect()
}

#[cfg(test)]
mod tests {
    use super::deferrable_below;

    #[test]
    fn of_constraints_that_may_wait_only_foreign_keys_that_always_do_are_understood() {
        let understood = [
            "a INT REFERENCES p (id)",
            "a INT REFERENCES p (id) NOT DEFERRABLE INITIALLY IMMEDIATE",
            "a INT REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED, b INT",
            "a INT REFERENCES p (id) INITIALLY DEFERRED",
            "FOREIGN KEY (a, b) REFERENCES p (c, d) DEFERRABLE\n INITIALLY DEFERRED",
        ];
        for constraint in understood {
            assert_eq!(deferrable_below(constraint), None, "{constraint}");
        }
        let others = [
            ("a INT REFERENCES p (id) DEFERRABLE", 0),
            ("a INT REFERENCES p (id)\n DEFERRABLE INITIALLY IMMEDIATE", 1),
            ("a INT UNIQUE DEFERRABLE INITIALLY DEFERRED REFERENCES p (id)", 0),
            ("a INT REFERENCES p (id),\n UNIQUE (b) INITIALLY DEFERRED", 1),
            ("ALTER CONSTRAINT c DEFERRABLE INITIALLY DEFERRED", 0),
        ];
        for (constraint, below) in others {
            assert_eq!(deferrable_below(constraint), Some(below), "{constraint}");
        }
    }
}
