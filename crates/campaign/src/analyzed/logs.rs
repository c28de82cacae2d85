//! Logs among the files: what an application said to its database, as procedures beside those of the other files.
//!
//! The tables are those of the other files, or those that the log makes where these have none. What the log has and no procedure can say is not understood, with its line of the log; what every
//! answer rests on is that only these templates were seen.

use crate::Complaint;
use skew_analyze::log::{LogFormat, LogProgram, LogReading, LoggedLine, read_log};
use skew_history::Place as LinePlace;

/// A log as lines of the joined text, each with its line of the log.
pub(super) struct LoggedText {
    pub(super) lines: Vec<LoggedLine>,
    /// What is not understood, with its line of the log.
    pub(super) unsupported: Vec<(String, u32)>,
    /// What every answer has to say.
    pub(super) covers: String,
    /// The tables that it makes.
    pub(super) schema: String,
}

/// Which kind of log a file is, if it is one.
pub(super) fn format_of(text: &str) -> Option<LogFormat> {
    LogFormat::detect(text)
}

/// A log over the tables of the other files. Its procedures get names that are not taken.
pub(super) fn logged(name: &str, text: &str, schema: &str, taken: &[String]) -> Result<LoggedText, Complaint> {
    let Some(format) = LogFormat::detect(text) else {
        return Err(Complaint::new(
            name,
            "this is no log".to_owned(),
            "name a csvlog, a jsonlog or a general query log",
        ));
    };
    let wrong = |message: String| {
        let advice = "name the .sql file that makes the tables of the log, too";
        Complaint { place: LinePlace::Whole, ..Complaint::new(name, message, advice) }
    };
    let reading: LogReading = read_log(text, format);
    let program = LogProgram::beside(&reading, schema, taken).map_err(|error| wrong(error.message))?;
    if !program.has_tables {
        return Err(wrong("a log needs tables, and this one makes none".to_owned()));
    }
    let bad = reading.bad.iter().map(|bad| (format!("a line of a log ({})", bad.problem), bad.line));
    let left_out = program.left_out.iter().filter(|one| one.matters);
    let left_out = left_out.map(|one| (format!("{} ({})", short(&one.statement), one.reason), one.line));
    Ok(LoggedText {
        lines: program.own_lines(),
        unsupported: bad.chain(left_out).collect(),
        covers: format!("{name}: {}", program.covers()),
        schema: program.schema,
    })
}

fn short(statement: &str) -> String {
    match statement.char_indices().nth(60) {
        Some((end, _)) => format!("{} …", &statement[..end]),
        None => statement.to_owned(),
    }
}
