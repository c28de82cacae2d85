//! The templates of a log as a program: the schema that somebody gives, and a procedure for each template.
//!
//! ```text
//!   CREATE PROCEDURE select_product(IN p1 integer, IN p2 integer)
//!   BEGIN
//!     SELECT stock FROM product WHERE id = p1;                     log line 12
//!     UPDATE product SET stock = p2 WHERE id = p1;                 log line 13
//!   END;
//! ```
//!
//! The types of the parameters are those that their places ask for. A value in a place where no parameter may stand stays as it is, if all
//! instances had the same; a statement that cannot be read even so is left out, by name, and matters to every verdict.

use super::definitions::Defined;
use super::template::{TemplateSeen, is_value, shape};
use super::transactions::{LoggedStatement, text_of, written};
use super::units::UnitSeen;
use super::{LogFormat, LogReading};
use skew_program::{Program, ProgramError};
use skew_sql::touched::Touches;
use skew_sql::{LexemeKind, Session};
use skew_value::{Dialect, Place, SqlError, SqlState, SqlType};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How many templates a log may have; further ones are left out.
const MOST_TEMPLATES: usize = 500;

/// A log as a program.
#[derive(Clone, Debug)]
pub struct LogProgram {
    /// The text of the program: schema and procedures.
    pub text: String,
    /// What kind of log it comes from.
    pub format: LogFormat,
    /// The templates, a procedure each.
    pub templates: Vec<LogTemplate>,
    /// What is not in the program.
    pub left_out: Vec<LeftOut>,
    /// How many transactions were rolled back or did not come to their end: they count for nothing.
    pub rolled_back: usize,
    /// Lines of the program, and the logs and lines that they come from.
    pub(super) lines: BTreeMap<u32, (usize, u32)>,
    /// The first line of the schema.
    pub(super) first_line: u32,
    /// How many lines at its beginning come from somewhere else than the log.
    pub(super) given_lines: usize,
    /// Whether it has tables.
    pub has_tables: bool,
    /// Lines of the program, and the places of the application's code that comments have told.
    code: BTreeMap<u32, (String, u32)>,
    /// How many transactions are parts of others that were rolled back.
    inside: usize,
    /// How many units of several transactions there are.
    units: usize,
    /// Whether some statement is a SELECT.
    reads: bool,
}

/// A template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogTemplate {
    /// The name of its procedure.
    pub name: String,
    /// Its first statement, with `?` for values.
    pub shape: String,
    /// How many transactions were like this.
    pub count: usize,
    /// Which of the logs the first of these transactions stands in, from 0.
    pub log: usize,
    /// The lines of that log that its statements stand on.
    pub lines: Vec<u32>,
}

/// A line of the program that comes from the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoggedLine {
    /// What stands there.
    pub text: String,
    /// Which of the logs, from 0.
    pub log: usize,
    /// The line of that log.
    pub line: u32,
    /// The file of the application that said it, and the line there, where a comment tells.
    pub code: Option<(String, u32)>,
}

/// A statement of the log that is not in the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// Which of the logs, from 0.
    pub log: usize,
    /// Its line in that log.
    pub line: u32,
    /// Its text, in one line.
    pub statement: String,
    /// Why it is left out.
    pub reason: String,
    /// Whether it might change a verdict.
    pub matters: bool,
    /// The table or column that it names and there is not.
    pub(super) unknown: Option<String>,
}

impl LeftOut {
    pub(super) fn new((log, line): (usize, u32), statement: &str, reason: &str) -> LeftOut {
        let words: Vec<&str> = statement.split_whitespace().collect();
        let (statement, reason) = (words.join(" "), reason.to_owned());
        LeftOut { log, line, statement, reason, matters: true, unknown: None }
    }
}

impl LogProgram {
    /// The templates of a log over a schema: the text of a program, of which only tables and first rows count. Where it has no tables they are
    /// those that the log itself makes.
    pub fn of(reading: &LogReading, schema: &str) -> Result<LogProgram, ProgramError> {
        LogProgram::beside(reading, schema, &[])
    }

    /// The same with other names for procedures than these.
    pub fn beside(reading: &LogReading, schema: &str, taken: &[String]) -> Result<LogProgram, ProgramError> {
        let dialect = reading.format.dialect();
        let mut grouped = reading.grouped.clone();
        let defined = Defined::of(&mut grouped, schema, dialect)?;
        let given = &defined.given;
        let mut seen = std::mem::take(&mut grouped.templates).all;
        let mut units = std::mem::take(&mut grouped.units).end(&seen);
        for template in seen.drain(MOST_TEMPLATES.min(seen.len())..) {
            let first = &template.statements[0];
            let reason = format!("more than {MOST_TEMPLATES} templates are not looked at");
            grouped.leave_out(first.left_out(&reason));
        }
        units.retain(|unit| unit.calls.iter().all(|call| *call < seen.len()));
        let mut writer = ProgramWriter::new(given, dialect, seen, taken);
        writer.units = units;
        let mut program = writer.program(&reading.format)?;
        defined.tell(&mut program);
        program.left_out.splice(0..0, grouped.left_out);
        program.left_out.sort_by_key(|one| (one.log, one.line));
        (program.rolled_back, program.inside) = (grouped.rolled_back, grouped.inside);
        Ok(program)
    }

    /// The line of the log that a place of the program comes from.
    pub fn log_line(&self, place: Place) -> Option<u32> {
        self.line_of(place.line).map(|(_, line)| line)
    }

    fn line_of(&self, line: u32) -> Option<(usize, u32)> {
        self.lines.range(..=line).next_back().map(|(_, line)| *line)
    }

    /// The lines that come from logs, their procedures and the tables that they make themselves, each with the log and the line there that it
    /// comes from.
    pub fn own_lines(&self) -> Vec<LoggedLine> {
        let first = self.lines.values().next().copied().unwrap_or((0, 1));
        let numbered = self.text.lines().enumerate().skip(self.given_lines);
        let line = |(number, text): (usize, &str)| {
            let before = self.lines.range(..=u32::try_from(number + 1).unwrap_or(u32::MAX)).next_back();
            let code = before.and_then(|(line, _)| self.code.get(line).cloned());
            let (log, line) = before.map_or(first, |(_, line)| *line);
            LoggedLine { text: text.to_owned(), log, line, code }
        };
        numbered.map(line).collect()
    }

    /// What every verdict about it has to say: `covers the 14 templates seen, equal values joined over ≥ 2 instances`.
    pub fn covers(&self) -> String {
        let count = self.templates.len();
        let noun = if count == 1 { "template" } else { "templates" };
        // With `log_statement = 'mod'` a log looks whole, and has no reads.
        let blind = if self.reads { "" } else { "; the log has no SELECT, so that reads may be missing" };
        let units = match self.units {
            0 => String::new(),
            1 => "; 1 unit of several transactions".to_owned(),
            units => format!("; {units} units of several transactions"),
        };
        let inside = match self.inside {
            0 => String::new(),
            inside => format!("; {inside} transactions are parts of tests that were rolled back"),
        };
        format!("covers the {count} {noun} seen, equal values joined over ≥ 2 instances{units}{inside}{blind}")
    }
}

/// How a statement is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Wording {
    /// All values are parameters.
    General,
    /// Only those that differ between instances.
    Constant,
    /// Not at all: it touches no rows.
    Silent,
    /// Not at all, because it cannot be read.
    Unread,
}

struct ProgramWriter<'a> {
    given: &'a Program,
    session: Session,
    dialect: Dialect,
    seen: Vec<TemplateSeen>,
    /// For each template how its statements are written, and the types of its parameters by position.
    wordings: Vec<Vec<Wording>>,
    types: Vec<Vec<Option<SqlType>>>,
    /// Why statements cannot be read, and which name is not known, if it is because of that.
    refusals: BTreeMap<(usize, usize), (String, Option<String>)>,
    tables: Vec<Vec<Option<String>>>,
    prefix: &'static str,
    taken: &'a [String],
    units: Vec<UnitSeen>,
}

impl<'a> ProgramWriter<'a> {
    fn new(given: &'a Program, dialect: Dialect, seen: Vec<TemplateSeen>, taken: &'a [String]) -> ProgramWriter<'a> {
        let prefix = prefix(given, &seen);
        let session = given.session();
        let mut writer = ProgramWriter {
            given,
            session,
            dialect,
            seen: Vec::new(),
            wordings: Vec::new(),
            types: Vec::new(),
            refusals: BTreeMap::new(),
            tables: Vec::new(),
            prefix,
            taken,
            units: Vec::new(),
        };
        for template in seen {
            writer.add(template);
        }
        writer
    }

    fn add(&mut self, template: TemplateSeen) {
        let number = self.seen.len();
        self.types.push(vec![None; template.positions.len()]);
        self.tables.push(vec![None; template.statements.len()]);
        self.wordings.push(vec![Wording::General; template.statements.len()]);
        self.seen.push(template);
        for statement in 0..self.seen[number].statements.len() {
            self.bind(number, statement);
        }
    }

    /// Finds the most general wording in which a statement can be bound, from its present one on.
    fn bind(&mut self, template: usize, statement: usize) {
        while [Wording::General, Wording::Constant].contains(&self.wordings[template][statement]) {
            match self.bound(template, statement) {
                Ok(touches) if is_silent(&touches) => self.wordings[template][statement] = Wording::Silent,
                Ok(touches) => {
                    self.tables[template][statement] = touches.tables.last().map(|touch| touch.table.clone());
                    return;
                }
                Err(_) if asks_the_server(&self.seen[template].statements[statement]) => {
                    self.wordings[template][statement] = Wording::Silent;
                }
                Err(error) => self.refuse(template, statement, &error.message, unknown_name(&error)),
            }
        }
    }

    fn refuse(&mut self, template: usize, statement: usize, message: &str, unknown: Option<String>) {
        let wording = &mut self.wordings[template][statement];
        *wording = if *wording == Wording::General { Wording::Constant } else { Wording::Unread };
        if *wording == Wording::Unread {
            self.refusals.insert((template, statement), (message.to_owned(), unknown));
        }
    }

    /// Binds a statement with placeholders, and keeps the types that they get.
    fn bound(&mut self, template: usize, statement: usize) -> Result<Touches, SqlError> {
        let mut placed: Vec<usize> = Vec::new();
        let dialect = self.dialect;
        let text = self.worded(template, statement, |position| {
            placed.push(position);
            if dialect == Dialect::MySql { "?".to_owned() } else { format!("${}", placed.len()) }
        });
        let parsed = self.session.parse(&text)?;
        let [one] = parsed.as_slice() else {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "expected one statement"));
        };
        if self.seen[template].statements[statement].lexemes.first().is_some_and(|first| first.is_word("set")) {
            return Err(SqlError::unsupported("SET CONSTRAINTS"));
        }
        let prepared = self.session.prepare(one, &[])?;
        for (position, sql_type) in placed.iter().zip(prepared.parameter_types()) {
            self.types[template][*position] = Some(sql_type.clone());
        }
        Ok(prepared.touches())
    }

    /// Whether a value stays as it is.
    fn is_constant(&self, template: usize, position: usize) -> bool {
        let one = &self.seen[template].positions[position];
        let as_it_is = one.counts || self.wordings[template][one.statement] == Wording::Constant;
        as_it_is && !one.varies
    }

    /// A statement in its present wording; parameters as somebody writes them, by position.
    fn worded(&self, template: usize, statement: usize, mut parameter: impl FnMut(usize) -> String) -> String {
        let seen = &self.seen[template];
        let own = seen.positions.iter().enumerate().filter(|(_, position)| position.statement == statement);
        let mut positions = own.map(|(number, _)| number);
        written(&seen.statements[statement].lexemes, |lexeme| {
            let position = if is_value(lexeme) { positions.next() } else { None };
            let Some(number) = position else { return lexeme.text.clone() };
            let constant = self.is_constant(template, number);
            match (&lexeme.kind, constant) {
                (_, false) => parameter(number),
                (LexemeKind::Literal(_), true) => lexeme.text.clone(),
                (_, true) => match &seen.positions[number].first {
                    Some(value) => format!("'{}'", value.replace('\'', "''")),
                    None => "NULL".to_owned(),
                },
            }
        })
    }
}

/// The whole text.
impl ProgramWriter<'_> {
    /// Writes the program, and writes it again with what it was refused for in other words.
    fn program(&mut self, format: &LogFormat) -> Result<LogProgram, ProgramError> {
        loop {
            let (program, places) = self.write(*format);
            let error = match Program::parse_in(&program.text, 0, self.dialect) {
                Ok(_) => return Ok(program),
                Err(error) => error,
            };
            let Some(&(template, statement)) = places.get(&error.place.line) else { return Err(error) };
            self.refuse(template, statement, &error.message, None);
            self.bind(template, statement);
        }
    }

    fn write(&self, format: LogFormat) -> (LogProgram, BTreeMap<u32, (usize, usize)>) {
        let mut text = String::new();
        if self.dialect == Dialect::MySql {
            text.push_str("-- dialect: mysql\n");
        }
        self.given.schema().iter().for_each(|statement| text.push_str(&format!("{statement};\n")));
        let first_line = if self.dialect == Dialect::MySql { 2 } else { 1 };
        let given_lines = text.lines().count();
        let mut program = LogProgram {
            text,
            first_line,
            given_lines,
            has_tables: !self.given.initial().0.tables.is_empty(),
            code: BTreeMap::new(),
            inside: 0,
            units: 0,
            reads: false,
            format,
            templates: Vec::new(),
            left_out: Vec::new(),
            rolled_back: 0,
            lines: BTreeMap::new(),
        };
        let mut places = BTreeMap::new();
        let mut names: BTreeSet<String> = self.taken.iter().cloned().collect();
        let write = |number: usize| self.procedure(number, &mut names, &mut program, &mut places);
        let procedures: Vec<Option<(String, ProcedureParameters)>> = (0..self.seen.len()).map(write).collect();
        self.units.iter().for_each(|unit| self.unit(unit, &procedures, &mut program));
        for ((template, statement), reason) in &self.refusals {
            let one = &self.seen[*template].statements[*statement];
            program.left_out.push(LeftOut { unknown: reason.1.clone(), ..one.left_out(&reason.0) });
        }
        (program, places)
    }

    fn procedure(
        &self,
        number: usize,
        names: &mut BTreeSet<String>,
        program: &mut LogProgram,
        places: &mut BTreeMap<u32, (usize, usize)>,
    ) -> Option<(String, ProcedureParameters)> {
        let seen = &self.seen[number];
        let is_kept = |statement: &usize| self.wordings[number][*statement] <= Wording::Constant;
        let kept: Vec<usize> = (0..seen.statements.len()).filter(is_kept).collect();
        let &first = kept.first()?;
        let name = self.name(number, first, names);
        let parameters = self.parameters(number, &kept);
        let declared: Vec<String> = parameters.declared.iter().map(|one| format!("IN {one}")).collect();
        let mut line = u32::try_from(program.text.lines().count()).unwrap_or(u32::MAX).saturating_add(1);
        let _ = write!(program.text, "\nCREATE PROCEDURE {name}({})\nBEGIN\n", declared.join(", "));
        line = line.saturating_add(3);
        for statement in &kept {
            let text = self.worded(number, *statement, |position| parameters.names[&position].clone());
            program.lines.insert(line, (seen.statements[*statement].log, seen.statements[*statement].line));
            program.code.extend(seen.statements[*statement].origin.place.clone().map(|place| (line, place)));
            let first = seen.statements[*statement].lexemes.first();
            program.reads |= first.is_some_and(|first| first.is_word("select") || first.is_word("with"));
            let height = u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX);
            for inner in line..=line.saturating_add(height) {
                places.insert(inner, (number, *statement));
            }
            line = line.saturating_add(height).saturating_add(1);
            let _ = writeln!(program.text, "  {text};");
        }
        program.text.push_str("END;\n");
        let lines = kept.iter().map(|statement| seen.statements[*statement].line).collect();
        let (log, shape) = (seen.statements[first].log, shape(&seen.statements[first]));
        program.templates.push(LogTemplate { name: name.clone(), shape, count: seen.count, log, lines });
        Some((name, parameters))
    }

    /// A comment for the lint: `-- unit: name = procedure(value, …), …`, where values of one name are one.
    fn unit(&self, unit: &UnitSeen, procedures: &[Option<(String, ProcedureParameters)>], program: &mut LogProgram) {
        let mut calls: Vec<String> = Vec::new();
        for (template, values) in unit.calls.iter().zip(unit.values(&self.seen)) {
            let Some((name, parameters)) = procedures.get(*template).and_then(Option::as_ref) else { continue };
            let value = |declared: &String| {
                let position =
                    parameters.names.iter().find(|(_, name)| declared.split(' ').next() == Some(name.as_str()))?.0;
                values.get(*position).map(|value| format!("v{value}"))
            };
            let values: Vec<String> = parameters.declared.iter().filter_map(value).collect();
            calls.push(format!("{name}({})", values.join(", ")));
        }
        if calls.len() > 1 {
            let name = unit.name.replace(['=', '\n', '\r'], " ");
            let _ = writeln!(program.text, "-- unit: {name} = {}", calls.join(", "));
            program.units += 1;
        }
    }

    /// The first word of the first statement, and its table: `update_product`, `update_product_2`.
    fn name(&self, template: usize, statement: usize, names: &mut BTreeSet<String>) -> String {
        let word = shape(&self.seen[template].statements[statement]);
        let word = word.split(|letter: char| !letter.is_alphanumeric()).find(|word| !word.is_empty());
        let table = self.tables[template][statement].as_deref().unwrap_or("rows");
        let plain = |text: &str| -> String {
            text.chars()
                .map(|letter| if letter.is_alphanumeric() { letter.to_ascii_lowercase() } else { '_' })
                .collect()
        };
        let name = format!("{}_{}", plain(word.unwrap_or("run")), plain(table));
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let free = [name.clone()].into_iter().chain(numbered).find(|name| !names.contains(name)).unwrap_or(name);
        names.insert(free.clone());
        free
    }

    /// The parameters of a procedure: positions that are one and have one type.
    fn parameters(&self, template: usize, kept: &[usize]) -> ProcedureParameters {
        let seen = &self.seen[template];
        let joined = seen.parameters();
        let mut known: BTreeMap<(usize, String), String> = BTreeMap::new();
        let mut parameters = ProcedureParameters::default();
        for (number, position) in seen.positions.iter().enumerate() {
            if self.is_constant(template, number) || !kept.contains(&position.statement) {
                continue;
            }
            let sql_type = type_name(self.types[template][number].as_ref(), self.dialect);
            let next = known.len() + 1;
            let name = known.entry((joined[number], sql_type.clone())).or_insert_with(|| {
                let name = format!("{}{next}", self.prefix);
                parameters.declared.push(format!("{name} {sql_type}"));
                name
            });
            parameters.names.insert(number, name.clone());
        }
        parameters
    }
}

#[derive(Default)]
struct ProcedureParameters {
    /// Names and types, in order.
    declared: Vec<String>,
    /// The name for each position.
    names: BTreeMap<usize, String>,
}

/// The table or column that there is not, as an error names it.
fn unknown_name(error: &SqlError) -> Option<String> {
    if ![SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_COLUMN].contains(&error.state) {
        return None;
    }
    let quoted = error.message.split(['"', '\'']).nth(1);
    let name = quoted.or_else(|| error.message.split_whitespace().find(|word| word.contains('.')))?;
    name.rsplit('.').next().map(str::to_owned)
}

/// Whether a statement is about no rows of tables.
fn is_silent(touches: &Touches) -> bool {
    let about_catalog = |construct: &String| construct == "a table of the system's catalog";
    touches.tables.is_empty() && touches.unsupported.iter().all(about_catalog)
}

/// Whether a SELECT asks about the server and about no rows: settings, the functions and the catalogs of the system.
fn asks_the_server(statement: &LoggedStatement) -> bool {
    let lexemes = &statement.lexemes;
    let belongs = |name: &str| {
        let name = name.trim_matches(['"', '`']).to_lowercase();
        (name.starts_with("pg_") && !name.contains("advisory")) || name == "information_schema"
    };
    let next = |place: usize| lexemes.get(place + 1).map(|lexeme| lexeme.text.as_str()).unwrap_or_default();
    let is_own = |(place, lexeme): (usize, &skew_sql::Lexeme)| match lexeme.text.to_lowercase().as_str() {
        "from" | "join" => next(place) == "(" || belongs(next(place)),
        "update" | "into" | "using" => false,
        _ => lexeme.kind != LexemeKind::Word || next(place) != "(" || belongs(&lexeme.text) || is_keyword(&lexeme.text),
    };
    lexemes.first().is_some_and(|first| first.is_word("select")) && lexemes.iter().enumerate().all(is_own)
}

/// Words that stand before a parenthesis and call nothing.
fn is_keyword(word: &str) -> bool {
    const WORDS: [&str; 12] = ["in", "and", "or", "not", "any", "all", "exists", "select", "where", "on", "as", "then"];
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// A type as the parameter of a procedure has it. Widths do not matter to what is equal to what.
fn type_name(sql_type: Option<&SqlType>, dialect: Dialect) -> String {
    match sql_type {
        None | Some(SqlType::Unknown | SqlType::Text(_) | SqlType::Character(_) | SqlType::Enumeration(_)) => {
            "text".to_owned()
        }
        Some(SqlType::Integer { .. }) => "bigint".to_owned(),
        Some(SqlType::Decimal(_)) if dialect == Dialect::MySql => "decimal(65,30)".to_owned(),
        Some(SqlType::Decimal(_)) => "numeric".to_owned(),
        Some(SqlType::Timestamp(_) | SqlType::TimestampZoned(_)) if dialect == Dialect::MySql => "datetime".to_owned(),
        Some(SqlType::Double) if dialect == Dialect::MySql => "double".to_owned(),
        Some(other) => other.to_string(),
    }
}

/// A beginning for the names of parameters that no name of the schema or the log has.
fn prefix(given: &Program, seen: &[TemplateSeen]) -> &'static str {
    let logged = |statement: &LoggedStatement| text_of(&statement.lexemes).to_lowercase();
    let statements = seen.iter().flat_map(|template| &template.statements).map(logged);
    let texts: Vec<String> = given.schema().iter().map(|text| text.to_lowercase()).chain(statements).collect();
    let is_used = |prefix: &&str| {
        let followed = |text: &String| {
            let mut found = text.match_indices(*prefix);
            found.any(|(at, _)| text[at + prefix.len()..].starts_with(|letter: char| letter.is_ascii_digit()))
        };
        texts.iter().any(followed)
    };
    ["p", "value_", "given_", "parameter_of_log_"]
        .into_iter()
        .find(|prefix| !is_used(prefix))
        .unwrap_or("skew_log_value_")
}
