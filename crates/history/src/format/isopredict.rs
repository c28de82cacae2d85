//! IsoPredict's traces, as its MonkeyDB writes them.
//!
//! ```text
//!   WRITE KEY[x] Txn(1, 0)                               session 1, its transaction 0
//!   READ KEY[x] Txn(2, 0) From(1, 0)
//!   INSERT[row] to Set[table] Txn(1, 1)
//!   CONTAINS[row] in Set[table] From(1, 1) Txn(2, 1)     here From comes first
//!   DELETE[row] from Set[table] Txn(2, 2)
//! ```
//!
//! A trace has no values: a write's value is its transaction. Lines are in program order inside a transaction; session order
//! is by the transaction's number. `(0, 0)` is the initial state and no transaction. An element of a set is the key
//! `table/row`, which an insert makes true and a delete makes absent; since all inserts write the same, a `CONTAINS` also says
//! whom it read from. A `From` that names somebody who did not write the key is a read out of thin air, for the verdict.

use super::isopredict_write;
use super::known::{FormatReader, FormatWriter, KnownFormat, Likeness};
use super::text::{excerpt, lines, refuse};
use crate::builder::{ClaimedWriter, HistoryBuilder, Place, Refusal};
use crate::history::{Action, Event};
use crate::name::Name;
use crate::value::Value;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

const ADVICE: &str = "a line is like `READ KEY[x] Txn(2, 0) From(1, 0)` or `WRITE KEY[x] Txn(1, 0)`; \
                      or INSERT, CONTAINS, DELETE on a Set";

/// A session and a number in it, as spelt.
type TransactionLabel<'a> = (&'a str, &'a str);

const INITIAL: TransactionLabel<'static> = ("0", "0");

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Read,
    Write,
    Insert,
    Contains,
    Delete,
}

struct TraceLine<'a> {
    verb: Verb,
    key: String,
    transaction: TransactionLabel<'a>,
    from: Option<TransactionLabel<'a>>,
    line: u64,
}

pub(super) const KNOWN: KnownFormat = KnownFormat {
    name: "isopredict",
    aliases: &["monkeydb"],
    description: "IsoPredict traces",
    extension: None,
    likeness: |look| Likeness::strong(look.first_line(is_plausible)),
    read: FormatReader::Text(read),
    write: Some(FormatWriter { place: 4, write: isopredict_write::write }),
};

fn read(text: &str) -> Result<HistoryBuilder, Refusal> {
    let mut trace = Vec::new();
    for (line, content) in lines(text) {
        let content = content.trim();
        if !content.is_empty() {
            let shape = || refuse(line, format!("`{}` is not an event of a trace", excerpt(content)), ADVICE);
            trace.push(parse(content, line).ok_or_else(shape)?);
        }
    }
    Trace::new(trace).build()
}

/// Whether a line looks like one of this format.
fn is_plausible(line: &str) -> bool {
    parse(line.trim(), 0).is_some() || line.contains(" KEY[") || line.contains(" Set[")
}

fn parse(content: &str, line: u64) -> Option<TraceLine<'_>> {
    let (verb, rest) = [
        ("READ KEY[", Verb::Read),
        ("WRITE KEY[", Verb::Write),
        ("INSERT[", Verb::Insert),
        ("CONTAINS[", Verb::Contains),
        ("DELETE[", Verb::Delete),
    ]
    .into_iter()
    .find_map(|(word, verb)| Some((verb, content.strip_prefix(word)?)))?;
    let (name, rest) = rest.split_once(']')?;
    let (key, rest) = match verb {
        Verb::Read | Verb::Write => (name.to_owned(), rest),
        Verb::Insert | Verb::Contains | Verb::Delete => {
            let word = match verb {
                Verb::Insert => " to Set[",
                Verb::Contains => " in Set[",
                _ => " from Set[",
            };
            let (table, rest) = rest.strip_prefix(word)?.split_once(']')?;
            (format!("{table}/{name}"), rest)
        }
    };
    let (transaction, from, rest) = match verb {
        Verb::Read => {
            let (transaction, rest) = pair(rest, " Txn(")?;
            let (from, rest) = pair(rest, " From(")?;
            (transaction, Some(from), rest)
        }
        Verb::Contains => {
            let (from, rest) = pair(rest, " From(")?;
            let (transaction, rest) = pair(rest, " Txn(")?;
            (transaction, Some(from), rest)
        }
        Verb::Write | Verb::Insert | Verb::Delete => {
            let (transaction, rest) = pair(rest, " Txn(")?;
            (transaction, None, rest)
        }
    };
    rest.is_empty().then_some(TraceLine { verb, key, transaction, from, line })
}

fn pair<'a>(text: &'a str, word: &str) -> Option<(TransactionLabel<'a>, &'a str)> {
    let (inside, rest) = text.strip_prefix(word)?.split_once(')')?;
    let (session, number) = inside.split_once(',')?;
    Some(((session.trim(), number.trim()), rest))
}

struct Trace<'a> {
    lines: Vec<TraceLine<'a>>,
    /// Per transaction and key: whether its last write leaves it there.
    leaves: FxHashMap<(TransactionLabel<'a>, String), Verb>,
}

impl<'a> Trace<'a> {
    fn new(lines: Vec<TraceLine<'a>>) -> Trace<'a> {
        let mut leaves = FxHashMap::default();
        for line in lines.iter().filter(|line| !matches!(line.verb, Verb::Read | Verb::Contains)) {
            leaves.insert((line.transaction, line.key.clone()), line.verb);
        }
        Trace { lines, leaves }
    }

    fn build(self) -> Result<HistoryBuilder, Refusal> {
        let mut builder = HistoryBuilder::new();
        // Sessions in order of first appearance, the transactions of each by number.
        let mut sessions: Vec<&str> = Vec::new();
        let mut transactions: FxHashMap<&str, BTreeMap<(Name<'_>, &str), Vec<&TraceLine<'_>>>> = FxHashMap::default();
        for line in self.lines.iter().filter(|line| line.transaction != INITIAL) {
            let (session, number) = line.transaction;
            let of_session = transactions.entry(session).or_insert_with(|| {
                sessions.push(session);
                BTreeMap::new()
            });
            of_session.entry((Name::from(number), number)).or_default().push(line);
        }
        self.set_initial(&mut builder);
        for name in sessions {
            let session = builder.session(name);
            for ((_, number), lines) in transactions.remove(name).unwrap_or_default() {
                builder.at(Place::Line(lines[0].line));
                builder.begin(session, Some(Name::from(id((name, number)).as_str())))?;
                lines.into_iter().for_each(|line| self.event(&mut builder, line));
            }
        }
        Ok(builder)
    }

    /// Elements that the initial state already holds.
    fn set_initial(&self, builder: &mut HistoryBuilder) {
        for line in self.lines.iter().filter(|line| line.transaction == INITIAL && line.verb == Verb::Insert) {
            if self.leaves.get(&(INITIAL, line.key.clone())) == Some(&Verb::Insert) {
                let key = builder.key(line.key.as_str());
                let present = builder.values().boolean(true);
                builder.initial(key, present);
            }
        }
    }

    fn event(&self, builder: &mut HistoryBuilder, line: &TraceLine<'_>) {
        builder.at(Place::Line(line.line));
        let key = builder.key(line.key.as_str());
        let (action, value) = match line.verb {
            Verb::Write => (Action::Write, builder.values().text(&value(line.transaction))),
            Verb::Insert => (Action::Write, builder.values().boolean(true)),
            Verb::Delete => (Action::Write, Value::ABSENT),
            Verb::Read | Verb::Contains => return self.read(builder, line),
        };
        builder.event(Event::new(action, key, value));
    }

    fn read(&self, builder: &mut HistoryBuilder, line: &TraceLine<'_>) {
        let from = line.from.unwrap_or(INITIAL);
        let key = builder.key(line.key.as_str());
        let left = self.leaves.get(&(from, line.key.clone()));
        let found = match left {
            Some(Verb::Insert) => builder.values().boolean(true),
            Some(Verb::Delete) => Value::ABSENT,
            None if from == INITIAL => Value::ABSENT,
            Some(_) if from == INITIAL => Value::ABSENT,
            _ => builder.values().text(&value(from)),
        };
        builder.read(key, found);
        if from == INITIAL {
            builder.claim(ClaimedWriter::Initial);
        } else if left.is_some() {
            builder.claim(ClaimedWriter::Transaction(Name::from(id(from).as_str())));
        }
    }
}

/// The id of a transaction, as the trace spells it.
fn id((session, number): TransactionLabel<'_>) -> String {
    format!("Txn({session}, {number})")
}

/// The value that a transaction writes.
fn value((session, number): TransactionLabel<'_>) -> String {
    format!("{session}, {number}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::history::{EventId, TransactionId, Writer};
    use crate::notation;

    fn read(text: &str) -> Result<History, Refusal> {
        super::read(text)?.finish()
    }

    #[test]
    fn values_are_writers_and_the_initial_transaction_is_none() {
        let text = "WRITE KEY[x] Txn(0, 0)\nREAD KEY[x] Txn(1, 10) From(0, 0)\nWRITE KEY[x] Txn(1, 2)\r\n\nREAD KEY[x] Txn(2, 0) From(1, 2)\nREAD KEY[y] Txn(2, 0) From(7, 7)";
        let history = read(text).unwrap();
        assert_eq!(notation::write(&history), "1: w(x,\"1, 2\") | r(x,init)\n2: r(x,\"1, 2\") r(y,\"7, 7\")\n");
        assert_eq!(history.transaction_name(TransactionId(1)).to_string(), "Txn(1, 10)");
        assert_eq!(history.claim(EventId(2)), Some(Writer::Transaction(TransactionId(0))));
        assert_eq!(history.claim(EventId(3)), None);
    }

    #[test]
    fn set_operations_are_reads_and_writes_of_elements() {
        let text = "INSERT[1] to Set[t] Txn(0, 0)\nINSERT[2] to Set[t] Txn(1, 0)\nCONTAINS[2] in Set[t] From(1, 0) Txn(2, 0)\n\
                    DELETE[2] from Set[t] Txn(2, 1)\nCONTAINS[2] in Set[t] From(2, 1) Txn(1, 1)\nCONTAINS[1] in Set[t] From(0, 0) Txn(1, 1)";
        let history = read(text).unwrap();
        assert_eq!(notation::write(&history), "1: w(t/2,true) | r(t/2,nil) r(t/1,init)\n2: r(t/2,true) | w(t/2,nil)\n");
        assert_eq!(history.claim(EventId(1)), Some(Writer::Transaction(TransactionId(3))));
        assert_eq!(history.show(history.event(EventId(2)).value).to_string(), "true");
    }

    #[test]
    fn mistakes_name_their_line() {
        for text in
            ["WRITE KEY[x] Txn(1, 0)\nREAD KEY[x] Txn(1, 0)", "\nWRITE KEY[x Txn(1, 0)", "\nWRITE KEY[x] Txn(1, 0) x"]
        {
            let refusal = read(text).unwrap_err().to_string();
            assert!(refusal.starts_with("line 2: `") && refusal.ends_with("is not an event of a trace"), "{refusal}");
        }
        assert!(read("WRITE KEY[x] Txn(0, 0)").unwrap_err().to_string().contains("no transaction"));
    }
}
