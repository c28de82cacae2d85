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

use super::logs::{self, LoggedText};
use crate::Complaint;
use crate::program_file::complaint;
use skew_analyze::Unsupported;
use skew_analyze::log::{LogFormat, LoggedLine};
use skew_history::Place as LinePlace;
use skew_program::{MadeLine, PartKind, Program, ProgramError, as_procedures, dialect_of, parts};
use skew_sql::Session;
use skew_value::{Dialect, Place};

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
    /// Puts files together: names and texts.
    pub fn new(files: &[(String, String)]) -> Result<AnalyzedText, Complaint> {
        let logs = files.iter().filter_map(|(_, text)| logs::format_of(text));
        let named = files.iter().find_map(|(_, text)| dialect_of(text)).or(logs.map(LogFormat::dialect).next());
        let dialect = named.unwrap_or(Dialect::Postgres);
        let mut schema = schema_text(files, dialect);
        let session = session_of(&schema, dialect);
        let mut joined = Joined { named: files.len(), ..Joined::default() };
        if let Some(dialect) = named {
            let word = if dialect == Dialect::MySql { "mysql" } else { "postgres" };
            joined.line(&format!("-- dialect: {word}"), (0, 1));
        }
        let is_log = |text: &str| logs::format_of(text).is_some();
        for (number, (name, text)) in files.iter().enumerate().filter(|(_, (_, text))| !is_log(text)) {
            let made = as_procedures(text, name, &session).map_err(|error| complaint(name, &error))?;
            joined.parameters.extend(made.parameters);
            joined.has_plain |= made.has_plain;
            joined.file(number, name, made.lines, dialect)?;
        }
        for (number, (name, text)) in files.iter().enumerate().filter(|(_, (_, text))| is_log(text)) {
            let logged = logs::logged(name, text, &schema, &joined.procedure_names(dialect))?;
            schema.push_str(&logged.schema);
            joined.log(number, logged);
        }
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

/// The statements of all files that make tables and first rows.
fn schema_text(files: &[(String, String)], dialect: Dialect) -> String {
    let mut schema = String::new();
    for (_, text) in files.iter().filter(|(_, text)| logs::format_of(text).is_none()) {
        let parts = parts(text, dialect).unwrap_or_default();
        for part in parts.iter().filter(|part| part.kind == PartKind::Schema) {
            schema.push_str(&text[part.bytes.clone()]);
            schema.push_str(";\n");
        }
    }
    schema
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
}

impl Joined {
    /// The procedures of a log, and what it has besides, on lines that say nothing.
    fn log(&mut self, number: usize, logged: LoggedText) {
        for LoggedLine { text, line, code } in &logged.lines {
            let from = code.as_ref().map_or((number, *line), |(file, line)| (self.code_file(file), *line));
            self.line(text, from);
            if !text.starts_with([' ', '-']) && is_deferrable(text) {
                let place = Place { line: self.lines.len() as u32, column: 1 };
                self.unsupported.push(Unsupported { place, construct: "DEFERRABLE".to_owned() });
            }
        }
        for (construct, line) in logged.unsupported {
            self.line("--", (number, line));
            let place = Place { line: self.lines.len() as u32, column: 1 };
            self.unsupported.push(Unsupported { place, construct });
        }
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
                (PartKind::Procedure(name), Some(error)) if error.is_unsupported() => {
                    Some(format!("{}, in {name}", error.message))
                }
                (PartKind::Schema, _) if is_deferrable(&text[part.bytes.clone()]) => {
                    let construct = "DEFERRABLE".to_owned();
                    self.unsupported.push(Unsupported { place, construct });
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

    fn program(mut self, files: &[(String, String)], dialect: Dialect) -> Result<AnalyzedText, Complaint> {
        let program = loop {
            match Program::parse_in(&self.text, skew_sql::by_place::EPOCH, dialect) {
                Ok(program) => break program,
                Err(error) => self.leave_out(&error, files, dialect)?,
            }
        };
        if program.procedures().is_empty() && self.unsupported.is_empty() {
            let advice = "write CREATE PROCEDURE, or plain statements between BEGIN and COMMIT or behind `-- name: …`";
            let name = files.first().map_or("", |(name, _)| name);
            return Err(Complaint::new(name, "there is no transaction in it".to_owned(), advice));
        }
        self.unsupported.sort_by_key(|one| (one.place.line, one.place.column));
        let files = files.iter().map(|(name, _)| name.clone()).collect();
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

    /// A procedure that holds something unsupported becomes blank; whatever else is wrong is wrong.
    fn leave_out(
        &mut self,
        error: &ProgramError,
        files: &[(String, String)],
        dialect: Dialect,
    ) -> Result<(), Complaint> {
        let (file, line) = self.lines.get(error.place.line.saturating_sub(1) as usize).copied().unwrap_or((0, 1));
        let name = files.get(file).map_or("", |(name, _)| name);
        let in_file = ProgramError { place: Place { line, ..error.place }, ..error.clone() };
        let complain = || Complaint { place: LinePlace::Whole, ..complaint(name, &in_file) };
        if !error.is_unsupported() {
            return Err(complain());
        }
        let parts = parts(&self.text, dialect).map_err(|_| complain())?;
        let holds = |bytes: &std::ops::Range<usize>| {
            let first = 1 + self.text[..bytes.start].matches('\n').count() as u32;
            let last = first + self.text[bytes.clone()].matches('\n').count() as u32;
            (first..=last).contains(&error.place.line)
        };
        let part = parts.into_iter().find(|part| matches!(part.kind, PartKind::Procedure(_)) && holds(&part.bytes));
        let part = part.ok_or_else(complain)?;
        let blank = blank(&self.text[part.bytes.clone()]);
        self.text.replace_range(part.bytes, &blank);
        self.unsupported.push(Unsupported { place: error.place, construct: error.message.clone() });
        Ok(())
    }
}

/// Whether a constraint may wait for the commit: then it is not where its statement stands. Foreign keys that always wait are understood.
fn is_deferrable(text: &str) -> bool {
    let words = text.to_ascii_lowercase().split_whitespace().collect::<Vec<&str>>().join(" ");
    let words = words.replace("not deferrable", "");
    let constraints = words.split(',').filter(|part| part.contains("deferrable"));
    let mut is_waiting = constraints.map(|part| part.contains("references") && part.contains("initially deferred"));
    is_waiting.any(|is_understood| !is_understood)
}

/// Nothing, in as many lines.
fn blank(text: &str) -> String {
    text.chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }).collect()
}
