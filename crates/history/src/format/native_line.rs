//! A line of the native format in its full generality, from JSON that is already taken apart.
//!
//! ```text
//!   has "skew"                 the header: initial values, what the history is about
//!   has "sealed", no "ops"     a seal: which deletion stands for a key from here on
//!   else                       a transaction: its events, how it ended, its level and times
//! ```
//!
//! `null` is as good as left out, except where it says something: `"v":null` is the absent value, `"from":null` the initial
//! state. Members that the format does not know are kept as they stand in the line. The JSON itself is read by
//! [`super::json`]; the usual lines never get here.

use super::datum::{Datum, Kind, NAMES, OwnedName, Taker};
use super::text::{Lines, excerpt};
use crate::builder::{ClaimedWriter, HistoryBuilder, Refusal, ScanSpec, ScannedKey};
use crate::history::{Action, Event, Outcome, Times};
use crate::level::{IsolationLevel, spellings};
use std::sync::LazyLock;

const LINE: &str =
    "a line is like {\"session\":\"a\",\"id\":\"t1\",\"ops\":[{\"r\":\"x\",\"v\":0},{\"w\":\"x\",\"v\":1}]}";
const EVENT: &str = "an event is one of {\"r\":key,\"v\":value}, {\"w\":key,\"v\":value}, {\"a\":key,\"v\":element} \
                     and {\"scan\":prefix,\"reads\":[…]}";
const HEADER: &str = "the first line may be a header like {\"skew\":1,\"initial\":{\"x\":0},\"about\":\"…\"}";
const SCAN: &str = "a scan is like {\"scan\":\"item/\",\"reads\":[{\"k\":\"item/3\",\"v\":7}]}";

pub(super) struct LineReader<'t> {
    content: &'t str,
    taker: Taker<'t>,
}

impl<'t> LineReader<'t> {
    pub(super) fn new(builder: HistoryBuilder, content: &'t str, line: u64) -> LineReader<'t> {
        LineReader { content, taker: Taker { builder, lines: Lines::new(content, line) } }
    }

    /// Takes the line and gives the builder back.
    pub(super) fn line(mut self, line: &Datum<'_>, first: bool) -> Result<HistoryBuilder, Refusal> {
        if !line.is_map() {
            let what = format!("{} where a JSON object should be", line.noun());
            return Err(self.taker.refuse(line, what, LINE));
        }
        if let Some(version) = line.member("skew") {
            self.header(line, version, first)?;
        } else if let (Some(sealed), None) = (line.member("sealed"), line.member("ops")) {
            self.sealed(sealed)?;
        } else {
            self.transaction(line)?;
        }
        Ok(self.taker.builder)
    }

    fn header(&mut self, line: &Datum<'_>, version: &Datum<'_>, first: bool) -> Result<(), Refusal> {
        if !first {
            return Err(self.taker.refuse(line, "a header that is not the first line", HEADER));
        }
        if !matches!(version.kind, Kind::Integer(1)) {
            let shown = excerpt(&self.content[version.at..version.end]);
            let what = format!("the header says version {shown} of the format, and this reads version 1");
            return Err(self.taker.refuse(version, what, "use the Skew that wrote the file"));
        }
        if let Some(about) = line.member("about") {
            let text = about.word().ok_or_else(|| self.taker.refuse(about, "`about` that is not a text", HEADER))?;
            self.taker.builder.about(text);
        }
        let Some(initial) = line.member("initial") else { return Ok(()) };
        let Kind::Map(members) = &initial.kind else {
            return Err(self.taker.refuse(initial, "`initial` that is not an object of keys and values", HEADER));
        };
        for (key, value) in members {
            let (key, value) = (self.taker.key(key)?, self.taker.read_value(value)?);
            self.taker.builder.initial(key, value);
        }
        Ok(())
    }

    fn sealed(&mut self, sealed: &Datum<'_>) -> Result<(), Refusal> {
        const ADVICE: &str = "a seal is like {\"sealed\":{\"item/3\":\"t7\"}}";
        let Kind::Map(members) = &sealed.kind else {
            return Err(self.taker.refuse(sealed, "`sealed` that is not an object of keys and transactions", ADVICE));
        };
        let mut deletions = Vec::with_capacity(members.len());
        for (key, id) in members {
            let id = id.name().ok_or_else(|| self.taker.refuse(id, "a seal without a transaction", ADVICE))?;
            deletions.push((key.word().unwrap_or_default(), id));
        }
        let deletions: Vec<_> = deletions.iter().map(|(key, id)| (*key, id.as_name())).collect();
        self.taker.builder.seal(&deletions);
        Ok(())
    }

    fn transaction(&mut self, line: &Datum<'_>) -> Result<(), Refusal> {
        let Kind::Map(members) = &line.kind else { return Ok(()) };
        let session = line.member("session").ok_or_else(|| self.missing(line, "a transaction", "session", LINE))?;
        let session = self.name(session)?;
        let id = line.member("id").map(|id| self.name(id)).transpose()?;
        let ops = line.member("ops").ok_or_else(|| self.missing(line, "a transaction", "ops", LINE))?;
        let Some(ops) = ops.list() else { return Err(self.taker.refuse(ops, "`ops` that is not a list", LINE)) };
        let session = self.taker.builder.session(session.as_name());
        self.taker.builder.begin(session, id.as_ref().map(OwnedName::as_name))?;
        for op in ops {
            self.event(op)?;
        }
        self.ending(line)?;
        let known = ["session", "id", "ops", "outcome", "by", "level", "begin", "end"];
        let extra = self.extra(members, &known);
        if !extra.is_empty() {
            self.taker.builder.note_transaction(&extra);
        }
        Ok(())
    }

    fn ending(&mut self, line: &Datum<'_>) -> Result<(), Refusal> {
        let outcome = self.outcome(line)?;
        self.taker.builder.outcome(outcome);
        if let Some(level) = line.member("level") {
            static ADVICE: LazyLock<String> =
                LazyLock::new(|| format!("use {}", spellings(IsolationLevel::of_transactions())));
            let word = level.word().unwrap_or_default();
            let parsed = word.parse().ok().filter(|&level| level != IsolationLevel::Declared);
            let level = parsed.ok_or_else(|| self.taker.unknown_word(level, "an isolation level", &ADVICE))?;
            self.taker.builder.level(level);
        }
        let begin = line.member("begin").map(|time| self.taker.signed(time, "`begin`")).transpose()?;
        let end = line.member("end").map(|time| self.taker.signed(time, "`end`")).transpose()?;
        self.taker.builder.times(Times { begin, end })
    }

    fn outcome(&self, line: &Datum<'_>) -> Result<Outcome, Refusal> {
        const ADVICE: &str = "use committed, aborted (with \"by\":\"program\" or \"database\") or unknown";
        let (outcome, by) = (line.member("outcome"), line.member("by"));
        let outcome = match outcome.map(|outcome| (outcome, outcome.word())) {
            None | Some((_, Some("committed"))) => Outcome::Committed,
            Some((_, Some("unknown"))) => Outcome::Unknown,
            Some((_, Some("aborted"))) => Outcome::AbortedByDatabase,
            Some((outcome, _)) => return Err(self.taker.unknown_word(outcome, "an outcome", ADVICE)),
        };
        match by {
            None => Ok(outcome),
            Some(by) if outcome != Outcome::AbortedByDatabase => {
                Err(self.taker.refuse(by, "`by` on a transaction that is not aborted", ADVICE))
            }
            Some(by) => match by.word() {
                Some("program") => Ok(Outcome::AbortedByProgram),
                Some("database") => Ok(Outcome::AbortedByDatabase),
                _ => Err(self.taker.unknown_word(by, "somebody who aborts", ADVICE)),
            },
        }
    }

    fn event(&mut self, op: &Datum<'_>) -> Result<(), Refusal> {
        let Kind::Map(members) = &op.kind else {
            return Err(self.taker.refuse(op, format!("{} where an event should be", op.noun()), EVENT));
        };
        let mut kinds = members.iter().filter(|(name, _)| matches!(name.word(), Some("r" | "w" | "a" | "scan")));
        let Some((kind, key)) = kinds.next() else {
            return Err(self.taker.refuse(op, "an event without `r`, `w`, `a` or `scan`", EVENT));
        };
        let kind = kind.word().unwrap_or_default();
        if let Some((other, _)) = kinds.next() {
            let what = format!("an event that is both `{kind}` and `{}`", other.word().unwrap_or_default());
            return Err(self.taker.refuse(op, what, EVENT));
        }
        match kind {
            "r" => self.plain_event(op, members, Action::Read, key),
            "w" => self.plain_event(op, members, Action::Write, key),
            "a" => self.plain_event(op, members, Action::Append, key),
            _ => self.scan(op, members, key),
        }
    }

    fn plain_event(
        &mut self,
        op: &Datum<'_>,
        members: &[(Datum<'_>, Datum<'_>)],
        action: Action,
        key: &Datum<'_>,
    ) -> Result<(), Refusal> {
        let key = self.taker.key(key)?;
        let value = given(members, "v").ok_or_else(|| self.missing(op, "an event", "v", EVENT))?;
        let value = match action {
            Action::Read => self.taker.read_value(value)?,
            Action::Write => self.taker.scalar(value)?,
            Action::Append => self.taker.element(value)?,
        };
        let locking = self.locking(op)?;
        let from = given(members, "from");
        if action != Action::Read && (locking || from.is_some()) {
            let what = if locking { "`lock` on a write" } else { "`from` on a write" };
            return Err(self.taker.refuse(op, what, "only reads lock, and only reads come from somebody"));
        }
        self.taker.builder.event(Event { locking, ..Event::new(action, key, value) });
        if let Some(from) = from {
            self.claim(from)?;
        }
        let extra = self.extra(members, &["r", "w", "a", "v", "from", "lock"]);
        if !extra.is_empty() {
            self.taker.builder.note_event(&extra);
        }
        Ok(())
    }

    fn claim(&mut self, from: &Datum<'_>) -> Result<(), Refusal> {
        if from.is_nil() {
            self.taker.builder.claim(ClaimedWriter::Initial);
            return Ok(());
        }
        let name = self.name(from)?;
        self.taker.builder.claim(ClaimedWriter::Transaction(name.as_name()));
        Ok(())
    }

    fn locking(&self, op: &Datum<'_>) -> Result<bool, Refusal> {
        match op.member("lock").map(|lock| (lock, &lock.kind)) {
            None => Ok(false),
            Some((_, Kind::Boolean(locking))) => Ok(*locking),
            Some((lock, _)) => Err(self.taker.refuse(lock, "`lock` that is neither true nor false", EVENT)),
        }
    }

    fn scan(&mut self, op: &Datum<'_>, members: &[(Datum<'_>, Datum<'_>)], prefix: &Datum<'_>) -> Result<(), Refusal> {
        let Kind::Text(prefix) = &prefix.kind else {
            return Err(self.taker.refuse(prefix, "`scan` that is not a text", SCAN));
        };
        let bound = |name| op.member(name).map(|bound| self.name(bound)).transpose();
        let (low, high) = (bound("lo")?, bound("hi")?);
        let sealed = match op.member("sealed").map(|sealed| (sealed, &sealed.kind)) {
            None => None,
            Some((sealed, Kind::Integer(count))) => Some(usize::try_from(*count).map_err(|_| {
                self.taker.refuse(sealed, "`sealed` that is not a number of lines", "it counts the seals in force")
            })?),
            Some((sealed, _)) => return Err(self.taker.refuse(sealed, "`sealed` that is not an integer", SCAN)),
        };
        let extra = self.extra(members, &["scan", "reads", "lo", "hi", "sealed", "lock", "except"]);
        let except = op.member("except").map(|except| self.left_out(except)).transpose()?.unwrap_or_default();
        let except: Vec<&str> = except.iter().map(String::as_str).collect();
        let spec = ScanSpec {
            prefix,
            low: low.as_ref().map(OwnedName::as_name),
            high: high.as_ref().map(OwnedName::as_name),
            sealed,
            locking: self.locking(op)?,
            except: &except,
            note: Some(extra.as_str()).filter(|extra| !extra.is_empty()),
        };
        let listed = op.member("reads").map(|reads| self.listed(reads)).transpose()?.unwrap_or_default();
        let listed: Vec<ScannedKey<'_>> = listed.iter().map(Listed::as_scanned).collect();
        self.taker.builder.scan(spec, &listed)
    }

    /// The keys that a scan left out.
    fn left_out(&self, except: &Datum<'_>) -> Result<Vec<String>, Refusal> {
        let Some(keys) = except.list() else {
            return Err(self.taker.refuse(except, "`except` that is not a list", SCAN));
        };
        keys.iter().map(|key| Ok(self.name(key)?.as_name().to_string())).collect()
    }

    fn listed<'d>(&mut self, reads: &'d Datum<'_>) -> Result<Vec<Listed<'d>>, Refusal> {
        let Some(reads) = reads.list() else {
            return Err(self.taker.refuse(reads, "`reads` that is not a list", SCAN));
        };
        let mut listed = Vec::with_capacity(reads.len());
        for read in reads {
            let Kind::Map(members) = &read.kind else {
                return Err(self.taker.refuse(read, format!("{} in `reads`", read.noun()), SCAN));
            };
            let key = read.member("k").ok_or_else(|| self.missing(read, "a scanned key", "k", SCAN))?;
            let key = self.name(key)?;
            let value = given(members, "v").ok_or_else(|| self.missing(read, "a scanned key", "v", SCAN))?;
            let value = self.taker.read_value(value)?;
            let writer = match given(members, "from") {
                None => None,
                Some(from) if from.is_nil() => Some(None),
                Some(from) => Some(Some(self.name(from)?)),
            };
            listed.push(Listed { key: key.as_name().to_string(), value, writer });
        }
        Ok(listed)
    }

    fn name<'d>(&self, datum: &'d Datum<'_>) -> Result<OwnedName<'d>, Refusal> {
        let what = || format!("{} where a name should be", datum.noun());
        datum.name().ok_or_else(|| self.taker.refuse(datum, what(), NAMES))
    }

    fn missing(&self, datum: &Datum<'_>, thing: &str, member: &str, advice: &'static str) -> Refusal {
        self.taker.refuse(datum, format!("{thing} without `{member}`"), advice)
    }

    /// The members that the format does not know, as they stand in the line.
    fn extra(&self, members: &[(Datum<'_>, Datum<'_>)], known: &[&str]) -> String {
        let mut extra = String::new();
        for (name, value) in members.iter().filter(|(name, _)| !known.contains(&name.word().unwrap_or_default())) {
            if !extra.is_empty() {
                extra.push(',');
            }
            extra.push_str(&self.content[name.at..name.end]);
            extra.push(':');
            extra.push_str(&self.content[value.at..value.end]);
        }
        extra
    }
}

/// A key that a scan lists, before its names are handed on.
struct Listed<'d> {
    key: String,
    value: crate::value::Value,
    /// Nothing said; the initial state; a transaction.
    writer: Option<Option<OwnedName<'d>>>,
}

impl Listed<'_> {
    fn as_scanned(&self) -> ScannedKey<'_> {
        let writer = self.writer.as_ref().map(|writer| match writer {
            None => ClaimedWriter::Initial,
            Some(id) => ClaimedWriter::Transaction(id.as_name()),
        });
        ScannedKey { key: &self.key, value: self.value, writer }
    }
}

/// A member that is there, be it null: `"v":null` is the absent value and `"from":null` the initial state.
fn given<'d, 'a>(members: &'d [(Datum<'a>, Datum<'a>)], name: &str) -> Option<&'d Datum<'a>> {
    members.iter().find(|(member, _)| member.word() == Some(name)).map(|(_, value)| value)
}
