//! Logs among the files: what an application said to its database, as procedures beside those of the other files.
//!
//! The tables are those of the other files, or those that the logs make where these have none. Several logs are one: a transaction that stands in
//! two of them is one template. What logs have and no procedure can say is not understood, with its line; what every answer rests on is that only
//! these templates were seen.

use super::file::AnalyzedFile;
use crate::Complaint;
use skew_analyze::log::{LogFormat, LogProgram, LogReading, LoggedLine};
use skew_history::Place as LinePlace;
use skew_value::Dialect;

/// A number of a file, and of a line in it.
type FileLine = (usize, u32);

/// Logs as lines of the joined text.
pub(super) struct LoggedText {
    pub(super) lines: Vec<LoggedLine>,
    /// The numbers of the files that are logs.
    pub(super) files: Vec<usize>,
    /// What is not understood.
    pub(super) unsupported: Vec<(String, FileLine)>,
    /// What every answer has to say.
    pub(super) covers: String,
}

/// Which kind of log a file is, if it is one.
pub(super) fn format_of(text: &str) -> Option<LogFormat> {
    LogFormat::detect(text)
}

/// The logs among some files, over the tables of the others. Their procedures get names that are not taken; nothing without a log.
pub(super) fn logged(
    files: &[AnalyzedFile],
    dialect: Dialect,
    schema: &str,
    taken: &[String],
) -> Result<Option<LoggedText>, Complaint> {
    let logs: Vec<(usize, &AnalyzedFile, LogFormat)> =
        files.iter().enumerate().filter_map(|(number, file)| Some((number, file, file.log?))).collect();
    let Some((_, first, format)) = logs.first() else { return Ok(None) };
    if let Some((_, other, _)) = logs.iter().find(|(_, _, format)| format.dialect() != dialect) {
        let advice = "analyse what belongs to one server at a time";
        return Err(Complaint::new(&other.name, "this log is of another server than the rest".to_owned(), advice));
    }
    let wrong = |message: String| {
        let advice = "name the .sql file that makes the tables of the log, too";
        Complaint { place: LinePlace::Whole, ..Complaint::new(&first.name, message, advice) }
    };
    let mut reading = LogReading::new(*format);
    logs.iter().for_each(|(_, file, format)| reading.add(&file.text, *format, file.is_repaired));
    let program = LogProgram::beside(&reading, schema, taken).map_err(|error| wrong(error.message))?;
    if !program.has_tables {
        return Err(wrong("a log needs tables, and this one makes none".to_owned()));
    }
    let file = |(log, line): (usize, u32)| (logs.get(log).map_or(0, |(number, ..)| *number), line);
    let bad = reading.bad.iter().map(|bad| (format!("a line of a log ({})", bad.problem), file((bad.log, bad.line))));
    let left_out = program.left_out.iter().filter(|one| one.matters);
    let left_out =
        left_out.map(|one| (format!("{} ({})", short(&one.statement), one.reason), file((one.log, one.line))));
    let names: Vec<&str> = logs.iter().map(|(_, file, _)| file.name.as_str()).collect();
    Ok(Some(LoggedText {
        lines: program.own_lines(),
        files: logs.iter().map(|(number, ..)| *number).collect(),
        unsupported: bad.chain(left_out).collect(),
        covers: format!("{}: {}", names.join(", "), program.covers()),
    }))
}

fn short(statement: &str) -> String {
    match statement.char_indices().nth(60) {
        Some((end, _)) => format!("{} …", &statement[..end]),
        None => statement.to_owned(),
    }
}
