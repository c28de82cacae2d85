//! Sequences: what `nextval` and its kin ask of the store; so do advisory locks, `pg_sleep` and questions about other connections.

use super::{Execution, Frame, internal};
use crate::catalog::Sequence;
use crate::stop::Stop;
use crate::storage::{AdvisoryRequest, ConnectionRequest};
use crate::tree::expression::{SequenceCall, SequenceOperation, Sleep};
use crate::virtual_tables::function::missing_namespace;
use core::time::Duration;
use skew_value::{Datum, SqlError, SqlState};
use std::sync::Arc;

/// In a second.
const MICROSECONDS: f64 = 1e6;
/// A hundred years, in seconds.
const LONGEST_SLEEP: f64 = 3e9;

/// The error of a sequence that is at its end, with the name that the rule does not know.
fn named(stop: Stop, name: &str) -> Stop {
    match stop {
        Stop::Error(error) if error.state == SqlState("2200H") => {
            let message = error.message.replace("of sequence (", &format!("of sequence \"{name}\" ("));
            Stop::Error(SqlError { message, ..error })
        }
        other => other,
    }
}

impl Execution<'_> {
    pub(super) fn sequence(&mut self, call: &SequenceCall, frame: &Frame<'_>) -> Result<Datum, Stop> {
        if call.operation == SequenceOperation::Settle {
            self.storage.settle()?;
            return Ok(Datum::Boolean(true));
        }
        let arguments = self.evaluate_row(&call.arguments, frame)?;
        if arguments.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        if let SequenceOperation::Advisory(request) = call.operation {
            return self.advisory(request, &arguments);
        }
        if let (SequenceOperation::Connection(request), Some(Datum::Integer(number))) =
            (call.operation, arguments.first())
        {
            return self.connection(request, *number);
        }
        if call.operation == SequenceOperation::Blocked {
            return self.blocked(&arguments);
        }
        if let SequenceOperation::Sleep(sleep) = call.operation {
            return self.sleep(sleep, &arguments);
        }
        let sequence = match (call.operation, arguments.first()) {
            (SequenceOperation::Default(id), _) => {
                let known = self.catalog.sequence_by_id(id).cloned();
                known.ok_or_else(|| internal("a default without its sequence"))?
            }
            (SequenceOperation::Last, _) => return self.last_value(),
            (_, Some(Datum::Text(name))) => self.find_sequence(name)?,
            _ => return Err(internal("a sequence without a name")),
        };
        let value = match call.operation {
            SequenceOperation::Next | SequenceOperation::Default(_) => {
                self.last_sequence = Some(sequence.id);
                self.storage.next_value(sequence.id, &sequence.rule).map_err(|stop| named(stop, &sequence.name))?
            }
            SequenceOperation::Current | SequenceOperation::Last => self.current_value(&sequence)?,
            SequenceOperation::Set => self.set_value(&sequence, &arguments)?,
            SequenceOperation::Settle
            | SequenceOperation::Advisory(_)
            | SequenceOperation::Sleep(_)
            | SequenceOperation::Connection(_)
            | SequenceOperation::Blocked => {
                return Err(internal("a sequence that is none"));
            }
        };
        Ok(Datum::Integer(value.into()))
    }

    /// One number is a key, and so are two; no pair is the same key as a single number.
    fn advisory(&mut self, request: AdvisoryRequest, arguments: &[Datum]) -> Result<Datum, Stop> {
        let key = match arguments {
            [Datum::Integer(key)] => *key,
            [Datum::Integer(first), Datum::Integer(second)] => (1 << 96) + (first << 32) + (second & 0xFFFF_FFFF),
            _ => 0,
        };
        let done = self.storage.advisory(key, request)?;
        Ok(match request {
            AdvisoryRequest::Take { waits: true, .. } | AdvisoryRequest::FreeAll => Datum::text(""),
            _ => Datum::Boolean(done),
        })
    }

    fn connection(&mut self, request: ConnectionRequest, number: i128) -> Result<Datum, Stop> {
        let named = self.storage.connection(i64::try_from(number).unwrap_or(-1), request)?;
        Ok(match request {
            ConnectionRequest::Cancel => Datum::Boolean(!named.is_empty()),
            _ => Datum::Array(named.into_iter().map(|number| Datum::Integer(number.into())).collect()),
        })
    }

    fn blocked(&mut self, arguments: &[Datum]) -> Result<Datum, Stop> {
        let [Datum::Integer(number), Datum::Array(others)] = arguments else {
            return Err(internal("a question about no connection"));
        };
        let number = i64::try_from(*number).unwrap_or(-1);
        let mut blockers = self.storage.connection(number, ConnectionRequest::Blockers)?;
        blockers.extend(self.storage.connection(number, ConnectionRequest::SnapshotBlockers)?);
        let is_among = |blocker: &i64| others.contains(&Datum::Integer((*blocker).into()));
        Ok(Datum::Boolean(blockers.iter().any(is_among)))
    }

    /// What lies in the past is no sleep.
    fn sleep(&mut self, sleep: Sleep, arguments: &[Datum]) -> Result<Datum, Stop> {
        let now = self.storage.now();
        let until = |moment: i64| moment.saturating_sub(now) as f64 / MICROSECONDS;
        let seconds = match (sleep, arguments.first()) {
            (Sleep::Seconds, Some(Datum::Real(seconds))) => *seconds,
            (Sleep::For, Some(Datum::Interval(interval))) => until(interval.after(now)?),
            (Sleep::Until, Some(Datum::TimestampZoned(moment))) => until(*moment),
            _ => return Err(internal("a sleep without an end")),
        };
        self.storage.sleep(Duration::try_from_secs_f64(seconds.clamp(0.0, LONGEST_SLEEP)).unwrap_or_default())?;
        Ok(Datum::text(""))
    }

    /// A sequence by the text of its name, which is written as in SQL.
    fn find_sequence(&self, text: &str) -> Result<Arc<Sequence>, Stop> {
        let name = text.strip_prefix("public.").unwrap_or(text);
        let name = match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
            Some(quoted) => quoted.replace("\"\"", "\""),
            None => name.to_lowercase(),
        };
        if let Some(namespace) = missing_namespace(&self.catalog, text) {
            let message = format!("schema \"{namespace}\" does not exist");
            return Err(SqlError::new(SqlState::INVALID_NAMESPACE, message).into());
        }
        self.catalog.sequences.get(&name).cloned().ok_or_else(|| {
            SqlError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{text}\" does not exist")).into()
        })
    }

    fn current_value(&mut self, sequence: &Sequence) -> Result<i64, Stop> {
        self.storage.current_value(sequence.id).ok_or_else(|| {
            let message = format!("currval of sequence \"{}\" is not yet defined in this session", sequence.name);
            SqlError::new(SqlState::OBJECT_NOT_IN_STATE, message).into()
        })
    }

    fn last_value(&mut self) -> Result<Datum, Stop> {
        // Of a sequence that was dropped nobody knows any more.
        let last = self.last_sequence.filter(|sequence| self.catalog.sequence_by_id(*sequence).is_some());
        let last = last.and_then(|sequence| self.storage.current_value(sequence));
        last.map(|value| Datum::Integer(value.into())).ok_or_else(|| {
            SqlError::new(SqlState::OBJECT_NOT_IN_STATE, "lastval is not yet defined in this session").into()
        })
    }

    fn set_value(&mut self, sequence: &Sequence, arguments: &[Datum]) -> Result<i64, Stop> {
        let value = match arguments.get(1) {
            Some(Datum::Integer(value)) => i64::try_from(*value).ok(),
            _ => None,
        };
        let rule = &sequence.rule;
        let Some(value) = value.filter(|value| (rule.least..=rule.greatest).contains(value)) else {
            let given = match arguments.get(1) {
                Some(Datum::Integer(value)) => value.to_string(),
                _ => String::new(),
            };
            let (least, greatest) = (rule.least, rule.greatest);
            let name = &sequence.name;
            let message =
                format!("setval: value {given} is out of bounds for sequence \"{name}\" ({least}..{greatest})");
            return Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, message).into());
        };
        let called = !matches!(arguments.get(2), Some(Datum::Boolean(false)));
        self.storage.set_value(sequence.id, value, called)?;
        Ok(value)
    }
}
