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
//! Every text is read to its end: a line that cannot be understood is named with its number, and the others count.

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

/// What a log tells, line by line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogReading {
    /// What kind of log it is.
    pub format: LogFormat,
    /// What happened, in the order of the log.
    pub(crate) events: Vec<LogEvent>,
    /// What could not be understood.
    pub bad: Vec<BadLine>,
    /// Whether what a connection says belongs together: so it is where `skew serve` has listened to tests.
    pub(crate) by_connection: bool,
}

/// A line that could not be understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: u32,
    /// What is wrong with it.
    pub problem: String,
}

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

/// Reads a log.
pub fn read_log(text: &str, format: LogFormat) -> LogReading {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (events, bad) = match format {
        LogFormat::PostgresCsv => postgres::read_csv(text),
        LogFormat::PostgresJson => postgres::read_json(text),
        LogFormat::MysqlGeneral => general::read(text),
    };
    let by_connection = format == LogFormat::PostgresJson && postgres::is_of_serve(text);
    LogReading { format, events, bad, by_connection }
}

impl LogReading {
    /// How many statements it has, those that begin and end transactions included.
    pub fn statement_count(&self) -> usize {
        self.events.iter().filter(|event| matches!(event.kind, LogEventKind::Said(..) | LogEventKind::Done(..))).count()
    }
}
