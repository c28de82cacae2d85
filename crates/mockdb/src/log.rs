//! The log of choices: what chance decided, line by line, so that a run can be had again without its chooser.
//!
//! ```text
//!   {"choices":1,"seed":7,"clock":1704067200000000}
//!   {"session":"a","read":"x","from":"b[1]"}        a read returned what the first transaction of session b wrote
//!   {"session":"b","read":"x","from":null}          … the initial version
//!   {"session":"b","refused":"commit"}              --abort-rate refused what could have gone well
//! ```
//!
//! A writer is named by its place in its session, not by its id in the history: ids are given in the order in which transactions of all
//! sessions begin, which a replay may not repeat.
//!
//! The seed is there for what is not a choice of the store, such as SQL's `random()`; the clock, in microseconds since 1970, for `now()`.

use serde_json::Value;
use skew_check::{GrowingId, Version};
use skew_history::json::quoted;

/// A choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// A read of a key returned a version.
    Read {
        /// The name of the key.
        key: String,
        /// The transaction that wrote it, as `writer_name` says; nothing for the initial state.
        from: Option<String>,
    },
    /// A commit or a wait was refused without need.
    Refused {
        /// `commit` or `wait`.
        what: String,
    },
}

/// The choices of a run, in the order in which they were made.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ChoiceLog {
    /// The seed of the run.
    pub seed: u64,
    /// When its time began, in microseconds since 1970; a log may leave that open.
    pub clock: Option<i64>,
    /// Sessions and their choices.
    pub choices: Vec<(String, Choice)>,
}

/// A line that is no part of a log.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "line {line}: {what}; a log starts with {{\"choices\":1,\"seed\":7}}, and its lines are like {{\"session\":\"a\",\"read\":\"x\",\"from\":\"b[1]\"}}"
)]
pub struct LogError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// A transaction by its place in its session, of which this many were before it.
pub(crate) fn writer_name(session: &str, before: u32) -> String {
    format!("{session}[{}]", u64::from(before) + 1)
}

/// Who wrote a version, as the history tells it.
pub(crate) fn version_name(version: Version) -> Option<String> {
    match version {
        Version::Initial => None,
        Version::Of(id) => Some(transaction_name(id)),
    }
}

/// The initial state is `t0` in every text about isolation: transactions are counted from 1.
pub(crate) fn transaction_name(id: GrowingId) -> String {
    format!("t{}", u64::from(id.0) + 1)
}

/// The first line of a log.
pub(crate) fn header(seed: u64, clock: i64) -> String {
    format!("{{\"choices\":1,\"seed\":{seed},\"clock\":{clock}}}\n")
}

/// A line of a log.
pub(crate) fn line(session: &str, choice: &Choice) -> String {
    match choice {
        Choice::Read { key, from } => {
            let from = from.as_deref().map_or_else(|| "null".to_owned(), quoted);
            format!("{{\"session\":{},\"read\":{},\"from\":{from}}}\n", quoted(session), quoted(key))
        }
        Choice::Refused { what } => format!("{{\"session\":{},\"refused\":{}}}\n", quoted(session), quoted(what)),
    }
}

impl ChoiceLog {
    /// Reads a log.
    pub fn parse(text: &str) -> Result<ChoiceLog, LogError> {
        let mut log = ChoiceLog::default();
        for (number, content) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |what: &str| LogError { line: number + 1, what: what.to_owned() };
            let value: Value = serde_json::from_str(content).map_err(|error| wrong(&error.to_string()))?;
            if number == 0 {
                if value["choices"] != 1 {
                    return Err(wrong("not the first line of a log of choices"));
                }
                log.seed = value["seed"].as_u64().ok_or_else(|| wrong("no seed"))?;
                log.clock = value["clock"].as_i64();
                continue;
            }
            let session = value["session"].as_str().ok_or_else(|| wrong("no session"))?;
            let choice = match (value["read"].as_str(), value["refused"].as_str()) {
                (Some(key), None) => Choice::Read { key: key.into(), from: value["from"].as_str().map(str::to_owned) },
                (None, Some(what)) => Choice::Refused { what: what.to_owned() },
                _ => return Err(wrong("neither a read nor a refusal")),
            };
            log.choices.push((session.to_owned(), choice));
        }
        Ok(log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_reads_back_as_it_was_written() {
        let read = |key: &str, from: Option<&str>| Choice::Read { key: key.into(), from: from.map(str::to_owned) };
        let choices = [read("x", Some("b[1]")), read("a\"b", None), Choice::Refused { what: "commit".into() }];
        let text = choices.iter().fold(header(7, 5_000_000), |text, choice| text + &line("a", choice));
        let log = ChoiceLog::parse(&text).unwrap();
        assert_eq!((log.seed, log.clock), (7, Some(5_000_000)));
        assert_eq!(log.choices.into_iter().map(|choice| choice.1).collect::<Vec<_>>(), choices);
    }

    #[test]
    fn a_line_that_is_no_choice_is_named() {
        let error = |text: &str| ChoiceLog::parse(text).unwrap_err().to_string();
        assert!(error("{}").starts_with("line 1: not the first line of a log"));
        assert!(error("{\"choices\":1,\"seed\":1}\n{\"session\":\"a\"}").starts_with("line 2: neither a read"));
        assert!(error("{\"choices\":1,\"seed\":1}\nx").starts_with("line 2: "));
    }
}
