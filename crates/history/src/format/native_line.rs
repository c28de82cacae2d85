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

use super::datum::{Datum, DatumKind, NAMES, OwnedName, Taker};
use super::text::{Lines, excerpt};
use crate::builder::{HistoryBuilder, Refusal};
use crate::history::{Action, Times};
use crate::level::{IsolationLevel, spellings};
use crate::line::{
    Aborter, ClaimedWriter, Closing, Ended, HistorySink, Note, Opening, Operation, ScanSpec, ScannedKey,
};
use crate::name::Name;
use crate::statement::{Asked, KINDS, Refused, StatementKind};
use crate::value::Value;
use std::sync::LazyLock;

const LINE: &str =
    "a line is like {\"session\":\"a\",\"id\":\"t1\",\"ops\":[{\"r\":\"x\",\"v\":0},{\"w\":\"x\",\"v\":1}]}";
const EVENT: &str = "an event is one of {\"r\":key,\"v\":value}, {\"w\":key,\"v\":value}, {\"a\":key,\"v\":element} \
                     and {\"scan\":prefix,\"reads\":[…]}";
const HEADER: &str = "the first line may be a header like {\"skew\":1,\"initial\":{\"x\":0},\"about\":\"…\"}";
const ENGINE: &str = "the engine is a text like \"postgres 15.20\", \"mysql 8.0\" or \"mariadb 10.11\"";
const SCAN: &str = "a scan is like {\"scan\":\"item/\",\"reads\":[{\"k\":\"item/3\",\"v\":7}]}";

/// What a scan may have.
const SCAN_MEMBERS: [&str; 12] =
    ["scan", "reads", "lo", "hi", "sealed", "lock", "except", "s", "kind", "waited", "passed", "found"];

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
        if !matches!(version.kind, DatumKind::Integer(1)) {
            let shown = excerpt(&self.content[version.at..version.end]);
            let what = format!("the header says version {shown} of the format, and this reads version 1");
            return Err(self.taker.refuse(version, what, "use the Skew that wrote the file"));
        }
        if let Some(engine) = line.member("engine") {
            let text = engine.word().ok_or_else(|| self.taker.refuse(engine, "`engine` that is not a text", ENGINE))?;
            self.taker.builder.engine(text);
        }
        if let Some(about) = line.member("about") {
            let text = about.word().ok_or_else(|| self.taker.refuse(about, "`about` that is not a text", HEADER))?;
            self.taker.builder.about(text);
        }
        let Some(initial) = line.member("initial") else { return Ok(()) };
        let DatumKind::Map(members) = &initial.kind else {
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
        let DatumKind::Map(members) = &sealed.kind else {
            return Err(self.taker.refuse(sealed, "`sealed` that is not an object of keys and transactions", ADVICE));
        };
        let mut deletions = Vec::with_capacity(members.len());
        for (key, id) in members {
            let id = id.name().ok_or_else(|| self.taker.refuse(id, "a seal without a transaction", ADVICE))?;
            deletions.push((Name::from(key.word().unwrap_or_default()), id));
        }
        let deletions: Vec<_> = deletions.iter().map(|(key, id)| (*key, id.as_name())).collect();
        self.taker.builder.seal(&deletions);
        Ok(())
    }

    fn transaction(&mut self, line: &Datum<'_>) -> Result<(), Refusal> {
        let DatumKind::Map(members) = &line.kind else { return Ok(()) };
        let session = line.member("session").ok_or_else(|| self.missing(line, "a transaction", "session", LINE))?;
        let session = self.name(session)?;
        let id = line.member("id").map(|id| self.name(id)).transpose()?;
        let ops = line.member("ops").ok_or_else(|| self.missing(line, "a transaction", "ops", LINE))?;
        let Some(ops) = ops.list() else { return Err(self.taker.refuse(ops, "`ops` that is not a list", LINE)) };
        let (session, id) = (session.as_name(), id.as_ref().map(OwnedName::as_name));
        self.taker.builder.put_opening(&Opening { session, id, note: Note::Nothing })?;
        for op in ops {
            self.event(op)?;
        }
        let known = ["session", "id", "ops", "outcome", "by", "error", "s", "level", "begin", "end"];
        let extra = self.extra(members, &known);
        let error = line.member("error").map(|error| self.name(error)).transpose()?;
        let error = error.as_ref().map(|error| error.as_name().to_string());
        let ending = Closing {
            outcome: self.ended(line, error.as_deref())?,
            level: self.level(line)?,
            times: self.times(line)?,
            note: note(&extra),
        };
        self.taker.builder.put_ending(&ending)
    }

    fn level(&self, line: &Datum<'_>) -> Result<Option<IsolationLevel>, Refusal> {
        static ADVICE: LazyLock<String> =
            LazyLock::new(|| format!("use {}", spellings(IsolationLevel::of_transactions())));
        let Some(level) = line.member("level") else { return Ok(None) };
        let word = level.word().unwrap_or_default();
        let parsed = word.parse().ok().filter(|&level| level != IsolationLevel::Declared);
        parsed.map(Some).ok_or_else(|| self.taker.unknown_word(level, "an isolation level", &ADVICE))
    }

    fn times(&self, line: &Datum<'_>) -> Result<Times, Refusal> {
        let begin = line.member("begin").map(|time| self.taker.signed(time, "`begin`")).transpose()?;
        let end = line.member("end").map(|time| self.taker.signed(time, "`end`")).transpose()?;
        Ok(Times { begin, end })
    }

    /// How the transaction ended.
    fn ended<'e>(&self, line: &Datum<'_>, error: Option<&'e str>) -> Result<Ended<'e>, Refusal> {
        const ADVICE: &str = "use committed, aborted (with \"by\":\"program\" or \"database\") or unknown";
        let outcome = line.member("outcome");
        let ended = match outcome.map(|outcome| (outcome, outcome.word())) {
            None => Ended::Unsaid,
            Some((_, Some("committed"))) => Ended::Committed,
            Some((_, Some("unknown"))) => Ended::Unknown,
            Some((_, Some("aborted"))) => {
                Ended::Aborted { by: self.aborter(line)?, refused: self.refused(line, error)? }
            }
            Some((outcome, _)) => return Err(self.taker.unknown_word(outcome, "an outcome", ADVICE)),
        };
        let only_aborted = ["by", "error", "s"].into_iter().find_map(|name| Some((name, line.member(name)?)));
        match (ended, only_aborted) {
            (Ended::Aborted { .. }, _) | (_, None) => Ok(ended),
            (_, Some((name, member))) => {
                let what = format!("`{name}` on a transaction that is not aborted");
                Err(self.taker.refuse(member, what, ADVICE))
            }
        }
    }

    fn aborter(&self, line: &Datum<'_>) -> Result<Option<Aborter>, Refusal> {
        match line.member("by").map(|by| (by, by.word())) {
            None => Ok(None),
            Some((_, Some("program"))) => Ok(Some(Aborter::Program)),
            Some((_, Some("database"))) => Ok(Some(Aborter::Database)),
            Some((by, _)) => Err(self.taker.unknown_word(by, "somebody who aborts", "use program or database")),
        }
    }

    /// How the database refused it, and at which statement.
    fn refused<'e>(&self, line: &Datum<'_>, error: Option<&'e str>) -> Result<Option<Refused<'e>>, Refusal> {
        let statement = self.statement(line)?;
        match (error, line.member("s")) {
            (None, Some(member)) => {
                let what = "`s` on a transaction without `error`";
                Err(self.taker.refuse(
                    member,
                    what,
                    "say which error refused the statement, as in \"error\":\"40001\",\"s\":2",
                ))
            }
            _ => Ok(error.map(|error| Refused { error, statement })),
        }
    }

    fn event(&mut self, op: &Datum<'_>) -> Result<(), Refusal> {
        let DatumKind::Map(members) = &op.kind else {
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
        let asked = self.asked(op)?;
        let value = self.value(op, members, action, asked.found)?;
        let locking = self.flag(op, "lock")?;
        let from = self.writer(members)?;
        let gone = op.member("gone").map(|gone| self.name(gone)).transpose()?;
        let has = [("lock", locking), ("from", from.is_some()), ("found", asked.found), ("gone", gone.is_some())];
        if let Some((name, _)) = has.into_iter().find(|(_, has)| action != Action::Read && *has) {
            let what = format!("`{name}` on a write");
            return Err(self.taker.refuse(op, what, "only reads lock, come from somebody, or found something"));
        }
        self.refuse_gone(op, value, &has)?;
        let known = ["r", "w", "a", "v", "from", "lock", "s", "kind", "passed", "waited", "found", "gone"];
        let extra = self.extra(members, &known);
        let (from, gone) = (from.as_ref().map(claimed), gone.as_ref().map(OwnedName::as_name));
        self.taker.builder.operation(Operation { action, key, value, from, locking, asked, gone, note: note(&extra) })
    }

    /// What was read or written; a read that only found something has no value.
    fn value(
        &mut self,
        op: &Datum<'_>,
        members: &[(Datum<'_>, Datum<'_>)],
        action: Action,
        found: bool,
    ) -> Result<Value, Refusal> {
        let value = match given(members, "v") {
            Some(_) if found => {
                let advice = "`found` says that a row was there and its version is not known; drop one of the two";
                return Err(self.taker.refuse(op, "an event with both `found` and `v`", advice));
            }
            None if found => return Ok(Value::ABSENT),
            None => return Err(self.missing(op, "an event", "v", EVENT)),
            Some(value) => value,
        };
        match action {
            Action::Read => self.taker.read_value(value),
            Action::Write => self.taker.scalar(value),
            Action::Append => self.taker.element(value),
        }
    }

    /// A read that found nothing because of somebody read nothing, and so from nobody.
    fn refuse_gone(&self, op: &Datum<'_>, value: Value, has: &[(&str, bool)]) -> Result<(), Refusal> {
        const ADVICE: &str = "`gone` says why a read found nothing, as in {\"r\":\"x\",\"v\":null,\"gone\":\"t1\"}";
        let is_there = |name: &str| has.iter().any(|(other, has)| *has && *other == name);
        let beside = ["from", "found"].into_iter().find(|name| is_there(name));
        match (is_there("gone"), beside) {
            (true, Some(beside)) => {
                Err(self.taker.refuse(op, format!("an event with both `gone` and `{beside}`"), ADVICE))
            }
            (true, None) if !value.is_absent() => {
                Err(self.taker.refuse(op, "`gone` beside a value that is not null", ADVICE))
            }
            _ => Ok(()),
        }
    }

    /// What the statement behind an event asked for.
    fn asked(&self, op: &Datum<'_>) -> Result<Asked, Refusal> {
        let kind = match op.member("kind").map(|kind| (kind, kind.word())) {
            None => StatementKind::default(),
            Some((kind, word)) => {
                let parsed = word.and_then(|word| word.parse().ok());
                parsed.ok_or_else(|| self.taker.unknown_word(kind, "a kind of statement", &KINDS))?
            }
        };
        Ok(Asked {
            statement: self.statement(op)?,
            kind,
            passed: self.flag(op, "passed")?,
            waited: self.flag(op, "waited")?,
            found: self.flag(op, "found")?,
        })
    }

    /// The number of a statement; 0 where none is given.
    fn statement(&self, datum: &Datum<'_>) -> Result<u32, Refusal> {
        let Some(statement) = datum.member("s") else { return Ok(0) };
        let number = match statement.kind {
            DatumKind::Integer(number) => u32::try_from(number).ok().filter(|&number| number > 0),
            _ => None,
        };
        number.ok_or_else(|| {
            let shown = excerpt(&self.content[statement.at..statement.end]);
            let what = format!("`s` is {shown}, which is not the number of a statement");
            self.taker.refuse(statement, what, "number the statements of a transaction from 1")
        })
    }

    /// Who wrote what was read: a name, or nothing for the initial state.
    fn writer<'d>(&self, members: &'d [(Datum<'_>, Datum<'_>)]) -> Result<Option<Option<OwnedName<'d>>>, Refusal> {
        match given(members, "from") {
            None => Ok(None),
            Some(from) if from.is_nil() => Ok(Some(None)),
            Some(from) => Ok(Some(Some(self.name(from)?))),
        }
    }

    fn flag(&self, op: &Datum<'_>, name: &str) -> Result<bool, Refusal> {
        match op.member(name).map(|flag| (flag, &flag.kind)) {
            None => Ok(false),
            Some((_, DatumKind::Boolean(flag))) => Ok(*flag),
            Some((flag, _)) => Err(self.taker.refuse(flag, format!("`{name}` that is neither true nor false"), EVENT)),
        }
    }

    fn scan(&mut self, op: &Datum<'_>, members: &[(Datum<'_>, Datum<'_>)], prefix: &Datum<'_>) -> Result<(), Refusal> {
        let DatumKind::Text(prefix) = &prefix.kind else {
            return Err(self.taker.refuse(prefix, "`scan` that is not a text", SCAN));
        };
        let bound = |name| op.member(name).map(|bound| self.name(bound)).transpose();
        let (low, high) = (bound("lo")?, bound("hi")?);
        let sealed = match op.member("sealed").map(|sealed| (sealed, &sealed.kind)) {
            None => None,
            Some((sealed, DatumKind::Integer(count))) => Some(usize::try_from(*count).map_err(|_| {
                self.taker.refuse(sealed, "`sealed` that is not a number of lines", "it counts the seals in force")
            })?),
            Some((sealed, _)) => return Err(self.taker.refuse(sealed, "`sealed` that is not an integer", SCAN)),
        };
        let extra = self.extra(members, &SCAN_MEMBERS);
        let except = op.member("except").map(|except| self.left_out(except)).transpose()?.unwrap_or_default();
        let except: Vec<&str> = except.iter().map(String::as_str).collect();
        let spec = ScanSpec {
            prefix,
            low: low.as_ref().map(OwnedName::as_name),
            high: high.as_ref().map(OwnedName::as_name),
            sealed,
            locking: self.flag(op, "lock")?,
            except: &except,
            asked: self.scan_asked(op)?,
            note: note(&extra),
        };
        let listed = op.member("reads").map(|reads| self.listed(reads)).transpose()?.unwrap_or_default();
        let listed: Vec<ScannedKey<'_>> = listed.iter().map(ListedKey::as_scanned).collect();
        self.taker.builder.scan(spec, &listed)
    }

    /// What a scan's statement asked for. What was passed over, found or waited for are single rows.
    fn scan_asked(&self, op: &Datum<'_>) -> Result<Asked, Refusal> {
        match ["passed", "found", "gone"].into_iter().find_map(|name| Some((name, op.member(name)?))) {
            Some((name, member)) => {
                Err(self.taker.refuse(member, format!("`{name}` on a scan"), "say it of a read of a single key"))
            }
            None => self.asked(op),
        }
    }

    /// The keys that a scan left out.
    fn left_out(&self, except: &Datum<'_>) -> Result<Vec<String>, Refusal> {
        let Some(keys) = except.list() else {
            return Err(self.taker.refuse(except, "`except` that is not a list", SCAN));
        };
        keys.iter().map(|key| Ok(self.name(key)?.as_name().to_string())).collect()
    }

    fn listed<'d>(&mut self, reads: &'d Datum<'_>) -> Result<Vec<ListedKey<'d>>, Refusal> {
        let Some(reads) = reads.list() else {
            return Err(self.taker.refuse(reads, "`reads` that is not a list", SCAN));
        };
        let mut listed = Vec::with_capacity(reads.len());
        for read in reads {
            let DatumKind::Map(members) = &read.kind else {
                return Err(self.taker.refuse(read, format!("{} in `reads`", read.noun()), SCAN));
            };
            let key = read.member("k").ok_or_else(|| self.missing(read, "a scanned key", "k", SCAN))?;
            let key = self.name(key)?;
            let value = given(members, "v").ok_or_else(|| self.missing(read, "a scanned key", "v", SCAN))?;
            let value = self.taker.read_value(value)?;
            let writer = self.writer(members)?;
            listed.push(ListedKey { key: key.as_name().to_string(), value, writer });
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
struct ListedKey<'d> {
    key: String,
    value: crate::value::Value,
    /// Nothing said; the initial state; a transaction.
    writer: Option<Option<OwnedName<'d>>>,
}

impl ListedKey<'_> {
    fn as_scanned(&self) -> ScannedKey<'_> {
        ScannedKey { key: &self.key, value: self.value, writer: self.writer.as_ref().map(claimed) }
    }
}

fn claimed<'d>(writer: &'d Option<OwnedName<'_>>) -> ClaimedWriter<'d> {
    match writer {
        None => ClaimedWriter::Initial,
        Some(id) => ClaimedWriter::Transaction(id.as_name()),
    }
}

fn note(members: &str) -> Note<'_> {
    if members.is_empty() { Note::Nothing } else { Note::Members(members) }
}

/// A member that is there, be it null: `"v":null` is the absent value and `"from":null` the initial state.
fn given<'d, 'a>(members: &'d [(Datum<'a>, Datum<'a>)], name: &str) -> Option<&'d Datum<'a>> {
    members.iter().find(|(member, _)| member.word() == Some(name)).map(|(_, value)| value)
}
