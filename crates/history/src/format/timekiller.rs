//! TimeKiller's JSON: an array of committed transactions with the database's own timestamps.
//!
//! ```text
//!   [{"tid":67,"sid":19,"sts":{"p":5,"l":0},"cts":{"p":7,"l":1},"ops":[{"t":"w","k":7,"v":2},{"t":"r","k":8,"v":3}]}]
//! ```
//!
//! The array is not in session order: each session is sorted by start timestamps. Timestamps are pairs, ordered by `p` and then
//! `l`; they become dense ranks. The database promises that a transaction sees what committed *at or before* its start,
//! while here t is before s when end(t) < begin(s). So rank `r` becomes `2r` for a commit and `2r + 1` for a start:
//!
//! ```text
//!   commit at 7  →  2r        start at 7  →  2r + 1        2r < 2r + 1: the commit is seen
//! ```

use super::datum::{Datum, DatumKind, OwnedName, Taker};
use super::json::each_object;
use super::known::{FileStart, FormatReader, KnownFormat, Likeness, has_any};
use super::text::integer;
use crate::builder::{HistoryBuilder, Place, Refusal};
use crate::history::{Action, Times};
use crate::value::Value;

const ADVICE: &str = "a transaction is like {\"tid\":67,\"sid\":19,\"sts\":{\"p\":5,\"l\":0},\"cts\":{\"p\":7,\"l\":0},\
                      \"ops\":[{\"t\":\"w\",\"k\":7,\"v\":2}]}";

type Timestamp = (i128, i128);

struct TimedTransaction<'a> {
    datum: Datum<'a>,
    start: Timestamp,
    commit: Timestamp,
}

pub(super) const KNOWN: KnownFormat = KnownFormat {
    name: "timekiller",
    aliases: &["timekiller-json"],
    description: "TimeKiller, JSON",
    extension: None,
    likeness: |look| {
        let is_list = |names: &[&str]| has_any(names, &["tid", "sid", "sts", "cts", "ops"]);
        let is_listed = matches!(&look.start, FileStart::ListOfObjects(names) if is_list(names));
        Likeness::strong(is_listed || look.object_with(&["tid", "sts"]))
    },
    read: FormatReader::Text(read),
    write: None,
};

fn read(text: &str) -> Result<HistoryBuilder, Refusal> {
    let mut taker = Taker::new(text, 1);
    let mut drafts = Vec::new();
    each_object(text, |datum| {
        let (start, commit) = (timestamp(&taker, &datum, "sts")?, timestamp(&taker, &datum, "cts")?);
        drafts.push(TimedTransaction { datum, start, commit });
        Ok(())
    })?;
    let lists = drafts.iter().any(|draft| has_lists(&draft.datum));
    let initial = if lists { Value::ABSENT } else { taker.builder.values().integer(0) };
    taker.builder.default_initial(initial);
    let mut ranks: Vec<Timestamp> = drafts.iter().flat_map(|draft| [draft.start, draft.commit]).collect();
    ranks.sort_unstable();
    ranks.dedup();
    // Sessions keep the order of the file, transactions that of their starts; the builder puts sessions together.
    for draft in &drafts {
        let session = session(&taker, &draft.datum)?;
        taker.builder.session(session.as_name());
    }
    drafts.sort_by_key(|draft| draft.start);
    for draft in &drafts {
        transaction(&mut taker, draft, &ranks, initial)?;
    }
    Ok(taker.builder)
}

fn timestamp(taker: &Taker<'_>, transaction: &Datum<'_>, name: &str) -> Result<Timestamp, Refusal> {
    let refuse = || taker.refuse(transaction, format!("no timestamp `{name}` with numbers `p` and `l`"), ADVICE);
    let stamp = transaction.member(name).ok_or_else(refuse)?;
    let part = |part: &str| match stamp.member(part).map(|datum| &datum.kind) {
        Some(DatumKind::Integer(number)) => Some(*number),
        Some(DatumKind::Text(digits)) => integer(digits).ok(),
        None if part == "l" => Some(0),
        _ => None,
    };
    Ok((part("p").ok_or_else(refuse)?, part("l").ok_or_else(refuse)?))
}

fn has_lists(transaction: &Datum<'_>) -> bool {
    let ops = transaction.member("ops").and_then(Datum::list).unwrap_or_default();
    ops.iter().any(|op| {
        let is_append =
            op.member("t").and_then(Datum::word).is_some_and(|word| word.to_ascii_lowercase().starts_with('a'));
        is_append || op.member("v").is_some_and(|value| value.list().is_some())
    })
}

fn session<'d>(taker: &Taker<'_>, transaction: &'d Datum<'_>) -> Result<OwnedName<'d>, Refusal> {
    let session = transaction.member("sid").and_then(Datum::name);
    session.ok_or_else(|| taker.refuse(transaction, "a transaction without a session `sid`", ADVICE))
}

fn transaction(
    taker: &mut Taker<'_>,
    draft: &TimedTransaction<'_>,
    ranks: &[Timestamp],
    initial: Value,
) -> Result<(), Refusal> {
    let place: Place = taker.place(&draft.datum);
    taker.builder.at(place);
    let session = session(taker, &draft.datum)?;
    let session = taker.builder.session(session.as_name());
    let id = draft.datum.member("tid").and_then(Datum::name);
    taker.builder.begin(session, id.as_ref().map(OwnedName::as_name))?;
    let rank = |stamp| ranks.partition_point(|&other| other < stamp) as i64;
    let begin = 2 * rank(draft.start) + 1;
    // A transaction that commits at its start, as readers do, ends there: before that it would end before it begins.
    let end = if draft.start == draft.commit { begin } else { 2 * rank(draft.commit) };
    taker.builder.times(Times { begin: Some(begin), end: Some(end) })?;
    let ops = draft.datum.member("ops").and_then(Datum::list);
    let ops = ops.ok_or_else(|| taker.refuse(&draft.datum, "a transaction without a list `ops`", ADVICE))?;
    ops.iter().try_for_each(|op| event(taker, op, initial))
}

fn event(taker: &mut Taker<'_>, op: &Datum<'_>, initial: Value) -> Result<(), Refusal> {
    let kind = op.member("t").and_then(Datum::word).map(str::to_ascii_lowercase);
    let key = op.member("k").ok_or_else(|| taker.refuse(op, "an operation without a key `k`", ADVICE))?;
    let key = taker.key(key)?;
    let value = op.member("v");
    let written = |taker: &Taker<'_>| taker.refuse(op, "a write without a value `v`", ADVICE);
    match kind.as_deref() {
        Some("r" | "read") => {
            let value = value.map(|value| taker.read_value(value)).transpose()?;
            let value = value.filter(|&value| !value.is_absent() && Some(value) != Value::small_integer(0));
            taker.builder.read(key, value.unwrap_or(initial));
        }
        Some("w" | "write") => {
            let value = value.ok_or_else(|| written(taker))?;
            let value = taker.scalar(value)?;
            taker.builder.write(key, value);
        }
        Some("a" | "append") => {
            let value = value.ok_or_else(|| written(taker))?;
            let value = taker.element(value)?;
            taker.builder.event(crate::history::Event::new(Action::Append, key, value));
        }
        _ => return Err(taker.refuse(op, "an operation whose `t` is not w, r or a", ADVICE)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::notation;

    fn read(text: &str) -> Result<History, Refusal> {
        super::read(text)?.finish()
    }

    fn line(tid: u32, sid: &str, times: [&str; 2], ops: &str) -> String {
        format!("{{\"tid\":{tid},\"sid\":{sid},\"sts\":{{{}}},\"cts\":{{{}}},\"ops\":[{ops}]}}", times[0], times[1])
    }

    #[test]
    fn sessions_are_sorted_by_start_and_an_equal_commit_is_before() {
        let text = format!(
            "[{},{},{}]",
            line(2, "\"s\"", ["\"p\":\"10\",\"l\":1", "\"p\":20"], "{\"t\":\"R\",\"k\":1}"),
            line(
                1,
                "\"s\"",
                ["\"p\":9,\"l\":5", "\"p\":10,\"l\":1"],
                "{\"t\":\"write\",\"k\":1,\"v\":7},{\"t\":\"r\",\"k\":2,\"v\":0}"
            ),
            line(3, "4", ["\"p\":20,\"l\":0", "\"p\":20,\"l\":0"], ""),
        );
        let expected = "s: w(1,7) r(2,0) @1..2 | r(1,0) @3..4\n4: @5..5\n";
        assert_eq!(notation::write(&read(&text).unwrap()), expected);
    }

    #[test]
    fn lists_begin_empty() {
        let text = line(
            1,
            "1",
            ["\"p\":1", "\"p\":2"],
            "{\"t\":\"a\",\"k\":1,\"v\":7},{\"t\":\"r\",\"k\":1,\"v\":[7]},{\"t\":\"r\",\"k\":2,\"v\":[]}",
        );
        let history = read(&text).unwrap();
        assert_eq!(notation::write(&history), "1: append(1,7) r(1,[7]) r(2,nil) @1..2\n");
        assert!(history.initial(crate::KeyId(0)).is_absent());
    }

    #[test]
    fn mistakes_name_their_line() {
        let good = line(1, "1", ["\"p\":1", "\"p\":2"], "");
        for (bad, expected) in [
            (
                line(1, "1", ["\"p\":3", "\"p\":4"], ""),
                "line 2: transaction 1 appears twice, in session 1 and in session 1",
            ),
            (line(2, "1", ["\"p\":9", "\"p\":4"], ""), "line 2: transaction 2 ends at"),
            (line(2, "1", ["\"q\":9", "\"p\":4"], ""), "line 2: no timestamp `sts`"),
            (line(2, "[]", ["\"p\":1", "\"p\":4"], ""), "line 2: a transaction without a session `sid`"),
            (line(2, "1", ["\"p\":1", "\"p\":4"], "{\"t\":\"z\",\"k\":1}"), "line 2: an operation whose `t`"),
        ] {
            let refusal = read(&format!("[{good},\n{bad}]")).unwrap_err().to_string();
            assert!(refusal.starts_with(expected), "{refusal}");
        }
    }
}
