//! PostgreSQL's structured logs. Both kinds have the same fields; what a client said stands in the message:
//!
//! ```text
//!   statement: UPDATE product SET stock = 7 WHERE id = 1                                        simple protocol, log_statement = 'all'
//!   execute s1: UPDATE product SET stock = $1 WHERE id = $2                                     extended protocol,
//!     parameters: $1 = '7', $2 = '1'                                                              its values in the detail
//!   duration: 0.071 ms  statement: …      duration: 0.071 ms  execute <unnamed>: …              log_min_duration_statement = 0
//!   duration: 0.071 ms                    duration: 0.071 ms  parse s1: …                       tells nothing new
//! ```
//!
//! An ERROR ends the transaction of its session. Whatever else a server writes into its log is passed over.

use super::csv::records;
use super::{LogEvent, LogEventKind, ToldLine};
use serde_json::Value;

/// The fields of a csvlog that count, by their place.
const SESSION: usize = 5;
const SEVERITY: usize = 11;
const MESSAGE: usize = 13;
const DETAIL: usize = 14;
const QUERY: usize = 19;
/// Version 9.0 has this many, later ones more.
const FEWEST_FIELDS: usize = 23;

const SEVERITIES: [&str; 12] =
    ["DEBUG1", "DEBUG2", "DEBUG3", "DEBUG4", "DEBUG5", "LOG", "INFO", "NOTICE", "WARNING", "ERROR", "FATAL", "PANIC"];

/// Whether a text begins with a record of a csvlog.
pub(super) fn is_csv(text: &str) -> bool {
    let first = records(text).next();
    first.is_some_and(|record| {
        record.fields.len() >= FEWEST_FIELDS && SEVERITIES.contains(&record.fields[SEVERITY].as_str())
    })
}

/// Whether a text begins with a line of a jsonlog.
pub(super) fn is_json(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let object: Option<Value> = serde_json::from_str(first).ok();
    object.is_some_and(|object| object.get("error_severity").is_some() && object.get("session_id").is_some())
}

/// Whether a jsonlog is one of `skew serve`, which says so first.
pub(super) fn is_of_serve(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.contains("\"message\":\"starting skew serve"))
}

pub(super) fn read_csv(text: &str, tell: &mut dyn FnMut(ToldLine)) {
    for record in records(text) {
        let line = record.line;
        let problem = match record.fields.len() {
            _ if record.open => Some("a quote is not closed".to_owned()),
            count if count < FEWEST_FIELDS => Some(format!("{count} fields, and a csvlog has {FEWEST_FIELDS} or more")),
            _ => None,
        };
        if let Some(problem) = problem {
            tell(Err((line, problem)));
            continue;
        }
        let field = |place: usize| record.fields[place].as_str();
        let record = PostgresRecord {
            session: field(SESSION),
            severity: field(SEVERITY),
            message: field(MESSAGE),
            detail: field(DETAIL),
            query: field(QUERY),
        };
        happened(line, &record).into_iter().for_each(&mut *tell);
    }
}

pub(super) fn read_json(text: &str, tell: &mut dyn FnMut(ToldLine)) {
    for (number, written) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line = u32::try_from(number + 1).unwrap_or(u32::MAX);
        let object: Value = match serde_json::from_str(written) {
            Ok(object) => object,
            Err(error) => {
                tell(Err((line, format!("no JSON: {error}"))));
                continue;
            }
        };
        let field = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        if field("error_severity").is_empty() {
            tell(Err((line, "no error_severity, which every line of a jsonlog has".to_owned())));
            continue;
        }
        let record = PostgresRecord {
            session: field("session_id"),
            severity: field("error_severity"),
            message: field("message"),
            detail: field("detail"),
            query: field("statement"),
        };
        happened(line, &record).into_iter().for_each(&mut *tell);
    }
}

/// What counts of a record, whichever kind of log it is from.
struct PostgresRecord<'a> {
    session: &'a str,
    severity: &'a str,
    message: &'a str,
    detail: &'a str,
    query: &'a str,
}

/// What a record tells, if it is about what a client does.
fn happened(line: u32, record: &PostgresRecord<'_>) -> Option<ToldLine> {
    if record.session.is_empty() {
        return None;
    }
    let kind = match record.severity {
        "ERROR" => LogEventKind::Failed(record.query.to_owned()),
        "FATAL" | "PANIC" => LogEventKind::Left,
        _ if record.message.starts_with("disconnection:") => LogEventKind::Left,
        _ => {
            let (text, is_done) = said(record.message)?;
            match parameters(record.detail) {
                Ok(values) if is_done => LogEventKind::Done(text.to_owned(), values),
                Ok(values) => LogEventKind::Said(text.to_owned(), values),
                Err(problem) => return Some(Err((line, problem))),
            }
        }
    };
    Some(Ok(LogEvent { line, session: record.session.to_owned(), kind }))
}

/// What a client said, if the message is about that, and whether it is done.
fn said(message: &str) -> Option<(&str, bool)> {
    let (message, is_done) = match message.strip_prefix("duration: ") {
        Some(rest) => (rest.split_once(" ms")?.1.trim_start(), true),
        None => (message, false),
    };
    if let Some(text) = message.strip_prefix("statement: ") {
        return Some((text, is_done));
    }
    let named = message.strip_prefix("execute ")?;
    // The rows of a portal that was executed before are fetched further: nothing new is asked for.
    match named.starts_with("fetch from ") {
        true => None,
        false => named.split_once(": ").map(|(_, text)| (text, is_done)),
    }
}

/// `parameters: $1 = 'a', $2 = NULL`
fn parameters(detail: &str) -> Result<Vec<Option<String>>, String> {
    let listed = detail.strip_prefix("parameters: ").or_else(|| detail.strip_prefix("Parameters: "));
    let Some(mut rest) = listed else { return Ok(Vec::new()) };
    let mut values = Vec::new();
    loop {
        let number = format!("${} = ", values.len() + 1);
        rest = rest.strip_prefix(number.as_str()).ok_or_else(|| format!("expected {number}in the parameters"))?;
        let (value, after) = match rest.strip_prefix('\'') {
            Some(text) => quoted(text).ok_or_else(|| format!("the value of ${} is not closed", values.len() + 1))?,
            None => match rest.strip_prefix("NULL") {
                Some(after) => (None, after),
                None => return Err(format!("${} has neither a quoted value nor NULL", values.len() + 1)),
            },
        };
        values.push(value);
        match after.strip_prefix(", ") {
            Some(more) => rest = more,
            None if after.is_empty() => return Ok(values),
            None => return Err(format!("something follows the value of ${}", values.len())),
        }
    }
}

/// A text up to its closing quote, and what comes after.
fn quoted(text: &str) -> Option<(Option<String>, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices().peekable();
    while let Some((place, letter)) = letters.next() {
        match (letter, letters.peek()) {
            ('\'', Some((_, '\''))) => {
                letters.next();
                value.push('\'');
            }
            ('\'', _) => return Some((Some(value), &text[place + 1..])),
            _ => value.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_tell_what_was_said() {
        assert_eq!(said("statement: SELECT 1"), Some(("SELECT 1", false)));
        assert_eq!(said("execute <unnamed>: SELECT $1"), Some(("SELECT $1", false)));
        assert_eq!(said("duration: 0.071 ms  execute s1/p: SELECT 'a: b'"), Some(("SELECT 'a: b'", true)));
        assert_eq!(said("duration: 0.071 ms  parse s1: SELECT 1"), None);
        assert_eq!(said("duration: 0.071 ms"), None);
        assert_eq!(said("execute fetch from s1: SELECT 1"), None);
        assert_eq!(said("checkpoint starting: time"), None);
    }

    #[test]
    fn details_tell_values() {
        let told = |detail: &str| parameters(detail);
        assert_eq!(told(""), Ok(Vec::new()));
        let values = vec![Some("it's, $2 = 'x'".to_owned()), None, Some(String::new())];
        assert_eq!(told("parameters: $1 = 'it''s, $2 = ''x''', $2 = NULL, $3 = ''"), Ok(values.clone()));
        assert_eq!(told("Parameters: $1 = 'it''s, $2 = ''x''', $2 = NULL, $3 = ''"), Ok(values));
        for wrong in ["parameters: $2 = 'a'", "parameters: $1 = 'a", "parameters: $1 = 7", "parameters: $1 = '7' x"] {
            assert!(told(wrong).is_err(), "{wrong}");
        }
    }
}
