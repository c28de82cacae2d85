//! Logs of servers: what an application said to its database, read as transactions and generalised to templates.
//!
//! ```text
//!   csvlog, jsonlog, general log ── read_log ── events by session ── transactions ── templates ── LogProgram
//!                                      │                                                  │
//!                                   bad lines, by number                      literals are parameters; those that are
//!                                                                             equal in all instances are one
//! ```
//!
//! | log | written with |
//! |---|---|
//! | PostgreSQL's csvlog and jsonlog | `log_statement = 'all'`, or `log_min_duration_statement = 0` |
//! | MySQL's and MariaDB's general query log | `general_log = ON` |
//! | what `skew serve` has heard | `skew serve --analyze --statements FILE`; it is a jsonlog |
//!
//! The tables are those that somebody gives, or else those that the log makes (`definitions`). Comments tell where statements stand in the
//! application and which request they belong to (`comment`, `units`).
//!
//! A log does not say what a statement returned. So a value that the application took out of an earlier answer is a parameter of its own, and a
//! log shows neither branches nor loops: each way through the code that was taken is a template. What follows from a log is therefore about
//! the templates that were seen, which [`LogProgram::covers`] says and every verdict has to repeat.
//!
//! Every text is read to its end, and only templates are kept of it, definitions, and the requests that spoke last. A line that cannot be
//! understood is named with its number, and the others count. Several logs are read one after the other, and transactions that are alike are one
//! template, whichever log they stand in.

mod comment;
mod csv;
mod definitions;
mod general;
mod postgres;
mod program;
mod template;
mod transactions;
mod units;

pub use program::{LeftOut, LogProgram, LogTemplate, LoggedLine};

use skew_value::Dialect;
use transactions::{Grouped, Grouping};

/// A kind of log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LogFormat {
    /// PostgreSQL's `log_destination = 'csvlog'`.
    PostgresCsv,
    /// PostgreSQL's `log_destination = 'jsonlog'`.
    PostgresJson,
    /// MySQL's and MariaDB's general query log.
    MysqlGeneral,
}

impl LogFormat {
    /// Which kind of log a text is, by what it begins with; nothing if it is none.
    pub fn detect(text: &str) -> Option<LogFormat> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if postgres::is_json(text) {
            return Some(LogFormat::PostgresJson);
        }
        if general::is_general(text) {
            return Some(LogFormat::MysqlGeneral);
        }
        postgres::is_csv(text).then_some(LogFormat::PostgresCsv)
    }

    /// What its statements are written in.
    pub fn dialect(self) -> Dialect {
        match self {
            LogFormat::PostgresCsv | LogFormat::PostgresJson => Dialect::Postgres,
            LogFormat::MysqlGeneral => Dialect::MySql,
        }
    }

    /// How people call it.
    pub fn name(self) -> &'static str {
        match self {
            LogFormat::PostgresCsv => "PostgreSQL csvlog",
            LogFormat::PostgresJson => "PostgreSQL jsonlog",
            LogFormat::MysqlGeneral => "MySQL general query log",
        }
    }
}

/// What logs tell: the templates of their transactions.
#[derive(Clone, Debug)]
pub struct LogReading {
    /// What kind of log the first one is.
    pub format: LogFormat,
    /// What could not be understood.
    pub bad: Vec<BadLine>,
    grouped: Grouped,
    /// How many logs were read.
    logs: usize,
    statements: usize,
}

/// A line that could not be understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadLine {
    /// Which of the logs, from 0.
    pub log: usize,
    /// Its number, from 1.
    pub line: u32,
    /// What is wrong with it.
    pub problem: String,
}

/// So many lines that could not be understood, or are left out, are remembered: one is enough to make nothing certain.
const MOST_REMEMBERED: usize = 1_000;

/// Something that happened in a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LogEvent {
    pub(crate) line: u32,
    pub(crate) session: String,
    pub(crate) kind: LogEventKind,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LogEventKind {
    /// The client sent this, with values for `$1`, `$2`, …; a text may hold several statements.
    Said(String, Vec<Option<String>>),
    /// The same, and it went well: the log tells how long it took.
    Done(String, Vec<Option<String>>),
    /// This text failed; empty where the log does not say which.
    Failed(String),
    /// The client is gone.
    Left,
}

/// What a line of a log tells: something that happened, or its number and what is wrong with it.
type ToldLine = Result<LogEvent, (u32, String)>;

/// Reads a log.
pub fn read_log(text: &str, format: LogFormat) -> LogReading {
    let mut reading = LogReading::new(format);
    reading.add(text, format, false);
    reading
}

impl LogReading {
    /// Nothing was read yet.
    pub fn new(format: LogFormat) -> LogReading {
        LogReading { format, bad: Vec::new(), grouped: Grouped::default(), logs: 0, statements: 0 }
    }

    /// Reads one more log in the same dialect, line by line: only templates are kept of it. Where bytes of it were no UTF-8 and stand as U+FFFD in the
    /// text, what they stand in is not understood.
    pub fn add(&mut self, text: &str, format: LogFormat, is_repaired: bool) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (log, bad, statements) = (self.logs, &mut self.bad, &mut self.statements);
        let by_connection = format == LogFormat::PostgresJson && postgres::is_of_serve(text);
        let mut grouping = Grouping::new(log, format.dialect(), by_connection, &mut self.grouped);
        let mut note = |told: ToldLine| {
            let told = told.and_then(|event| if is_repaired { repaired(event) } else { Ok(event) });
            match told {
                Ok(event) => {
                    *statements += usize::from(event.text().is_some());
                    grouping.take(event);
                }
                Err((line, problem)) if bad.len() < MOST_REMEMBERED => bad.push(BadLine { log, line, problem }),
                Err(_) => {}
            }
        };
        match format {
            LogFormat::PostgresCsv => postgres::read_csv(text, &mut note),
            LogFormat::PostgresJson => postgres::read_json(text, &mut note),
            LogFormat::MysqlGeneral => general::read(text, &mut note),
        }
        grouping.end();
        self.logs += 1;
    }

    /// How many statements there were, those that begin and end transactions included.
    pub fn statement_count(&self) -> usize {
        self.statements
    }
}

impl LogEvent {
    /// What the client said, if it did.
    fn text(&self) -> Option<&str> {
        match &self.kind {
            LogEventKind::Said(text, _) | LogEventKind::Done(text, _) => Some(text),
            LogEventKind::Failed(_) | LogEventKind::Left => None,
        }
    }
}

/// An event of a text in which some bytes were no UTF-8: whether they are in what the client said.
fn repaired(event: LogEvent) -> ToldLine {
    let values = match &event.kind {
        LogEventKind::Said(_, values) | LogEventKind::Done(_, values) => values.as_slice(),
        _ => &[],
    };
    let is_broken = |text: &str| text.contains(char::REPLACEMENT_CHARACTER);
    let broken = event.text().filter(|text| is_broken(text));
    let line = broken.and_then(|text| text.split(char::REPLACEMENT_CHARACTER).next());
    let further = line.map_or(0, |before| before.matches('\n').count());
    match broken.is_some() || values.iter().flatten().any(|value| is_broken(value)) {
        true => Err((event.line.saturating_add(further as u32), "bytes that are not UTF-8".to_owned())),
        false => Ok(event),
    }
}
