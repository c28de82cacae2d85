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
//! On a server at an engine's levels nothing is chosen but the order: each statement that touches rows, and each end of a transaction, is a line,
//!
//! ```text
//!   {"client":2,"transaction":5,"since":4,"after":9,"asks":"UPDATE t SET n = 1","by":"time"}      "by" where a clock had a say: another run may decide otherwise
//! ```
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

/// A step of a run in which somebody decided about the order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoggedStep {
    /// The number of the client.
    pub client: u32,
    /// The number of its transaction, of all in the run.
    pub transaction: u32,
    /// How many steps had been taken when its client connected, or ended its transaction before.
    pub since: u32,
    /// How many steps had been taken when it was asked for.
    pub after: u32,
    /// The statement with its parameters.
    pub asks: String,
    /// Whether a clock had a say.
    pub by_time: bool,
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
    /// Who took which step, in their order.
    pub steps: Vec<LoggedStep>,
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

/// A line of the order.
pub(crate) fn step(step: &LoggedStep) -> String {
    let LoggedStep { client, transaction, since, after, asks, by_time } = step;
    let by = if *by_time { ",\"by\":\"time\"" } else { "" };
    let asks = quoted(asks);
    let who = format!("\"client\":{client},\"transaction\":{transaction},\"since\":{since},\"after\":{after}");
    format!("{{{who},\"asks\":{asks}{by}}}\n")
}

fn parse_step(value: &Value, asks: &str) -> Option<LoggedStep> {
    let number = |name: &str| value[name].as_u64().and_then(|number| u32::try_from(number).ok());
    let (client, transaction) = (number("client")?, number("transaction")?);
    let (since, after) = (number("since")?, number("after")?);
    Some(LoggedStep { client, transaction, since, after, asks: asks.to_owned(), by_time: value["by"] == "time" })
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
            if let Some(asks) = value["asks"].as_str() {
                log.steps
                    .push(parse_step(&value, asks).ok_or_else(|| wrong("no client, transaction, since or after"))?);
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
    fn steps_read_back_as_they_were_written() {
        let step = |client, by_time| LoggedStep {
            client,
            transaction: 9,
            since: 2,
            after: 3,
            asks: "SELECT '\"'".to_owned(),
            by_time,
        };
        let steps = [step(1, false), step(2, true)];
        let text = steps.iter().fold(header(7, 0), |text, one| text + &super::step(one));
        assert_eq!(ChoiceLog::parse(&text).unwrap().steps, steps);
        let error = ChoiceLog::parse("{\"choices\":1,\"seed\":1}\n{\"asks\":\"x\"}").unwrap_err().to_string();
        assert!(error.starts_with("line 2: no client"), "{error}");
    }

    #[test]
    fn a_line_that_is_no_choice_is_named() {
        let error = |text: &str| ChoiceLog::parse(text).unwrap_err().to_string();
        assert!(error("{}").starts_with("line 1: not the first line of a log"));
        assert!(error("{\"choices\":1,\"seed\":1}\n{\"session\":\"a\"}").starts_with("line 2: neither a read"));
        assert!(error("{\"choices\":1,\"seed\":1}\nx").starts_with("line 2: "));
    }
}
