//! The text of Plume, PolySI and IsoVista: an operation per line.
//!
//! ```text
//!   w(0,4,1,2)        write key 0 := 4    in session 1, transaction 2
//!   r(0,4,1,3)        read  key 0  = 4    in session 1, transaction 3
//!   w(0,9,1,-1)       an aborted write
//! ```
//!
//! Session order is the order in which transactions first appear. Nearly always the operations of a transaction stand together
//! and one pass is enough; when a transaction comes back after another one began, the text is read again and grouped. Value 0
//! is the initial value, except of a key to which somebody writes 0: IsoVista's files begin with a transaction that does so for
//! all keys, and it is like any other.

use super::known::{FormatReader, FormatWriter, KnownFormat, Likeness};
use super::native_scanner::digits;
use super::plume_write;
use super::text::{BEYOND, excerpt, integer, lines, refuse};
use crate::builder::{HistoryBuilder, Place, Problem, Refusal};
use crate::history::{Action, Event, KeyId, Outcome, SessionId};
use crate::name::Name;
use crate::value::Value;
use rustc_hash::FxHashMap;

const ADVICE: &str = "a line is like r(0,4,1,3): r or w, then key, value, session and transaction";

/// The transaction number of aborted operations.
const ABORTED: Number<'static> = Number::Small(-1);

pub(super) const KNOWN: KnownFormat = KnownFormat {
    name: "plume",
    aliases: &["plume-text", "polysi", "isovista"],
    description: "Plume and PolySI text",
    extension: None,
    likeness: |look| Likeness::strong(look.first_line(is_plausible)),
    read: FormatReader::Text(read),
    write: Some(FormatWriter { place: 2, write: plume_write::write_plume }),
};

fn read(text: &str) -> Result<HistoryBuilder, Refusal> {
    let mut stream = Stream::new();
    match stream.run(text) {
        Ok(()) => stream.finish(),
        Err(StreamStop::Refused(refusal)) => Err(refusal),
        Err(StreamStop::Interleaved) => read_interleaved(text),
    }
}

/// An integer of 64 bits; those that few files have keep their spelling.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Number<'a> {
    Small(i64),
    Large(&'a str),
}

impl<'a> Number<'a> {
    fn name(self) -> Name<'a> {
        match self {
            Number::Small(number) => Name::Integer(number),
            Number::Large(digits) => Name::Text(digits),
        }
    }

    fn value(self, builder: &mut HistoryBuilder) -> Value {
        match self {
            Number::Small(number) => builder.values().integer(number),
            Number::Large(digits) => builder.values().integer(digits.parse::<i128>().unwrap_or_default()),
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct PlumeOperation<'a> {
    action: Action,
    key: Number<'a>,
    value: Number<'a>,
    session: Number<'a>,
    transaction: Number<'a>,
}

enum StreamStop {
    Refused(Refusal),
    /// A transaction came back after another one began.
    Interleaved,
}

struct Stream<'a> {
    builder: HistoryBuilder,
    /// Session and transaction of the last operation.
    current: Option<(Number<'a>, Number<'a>)>,
    events: Vec<Event>,
    keys: Vec<Name<'a>>,
    zero: Value,
    /// Keys to which somebody writes the value 0.
    zeroed: Vec<KeyId>,
}

impl<'a> Stream<'a> {
    fn new() -> Stream<'a> {
        let mut builder = HistoryBuilder::new();
        let zero = builder.values().integer(0);
        builder.default_initial(zero);
        Stream { builder, current: None, events: Vec::new(), keys: Vec::new(), zero, zeroed: Vec::new() }
    }

    fn run(&mut self, text: &'a str) -> Result<(), StreamStop> {
        const BATCH: usize = 64;
        // So many lines tell how many transactions the others will have.
        const SAMPLE: u64 = 64 * BATCH as u64;
        let mut batch: Vec<(u64, PlumeOperation<'a>)> = Vec::with_capacity(BATCH);
        let (mut at, mut line) = (0, 0);
        while at < text.len() {
            line += 1;
            let operation = match scan(text, &mut at) {
                Some(operation) => Some(operation),
                None => match parse_line(text, &mut at, line) {
                    Ok(operation) => operation,
                    Err(refusal) => {
                        self.take(&batch)?;
                        return Err(StreamStop::Refused(refusal));
                    }
                },
            };
            batch.extend(operation.map(|operation| (line, operation)));
            if batch.len() == BATCH {
                self.take(&batch)?;
                batch.clear();
                if line == SAMPLE {
                    self.builder.expect_more(at, text.len());
                }
            }
        }
        self.take(&batch)
    }

    fn take(&mut self, batch: &[(u64, PlumeOperation<'a>)]) -> Result<(), StreamStop> {
        self.events.clear();
        self.keys.clear();
        for (_, operation) in batch {
            let value = operation.value.value(&mut self.builder);
            self.events.push(Event::new(operation.action, KeyId(0), value));
            self.keys.push(operation.key.name());
        }
        self.builder.name_keys(&mut self.events, &self.keys);
        for (place, (line, operation)) in batch.iter().enumerate() {
            let transaction = Some((operation.session, operation.transaction));
            if self.current != transaction {
                self.builder.at(Place::Line(*line));
                self.begin(*operation)?;
                self.current = transaction;
            }
            let event = self.events[place];
            if event.action == Action::Write && event.value == self.zero && operation.transaction != ABORTED {
                self.zeroed.push(event.key);
            }
            self.builder.event(event);
        }
        Ok(())
    }

    fn begin(&mut self, operation: PlumeOperation<'_>) -> Result<(), StreamStop> {
        let session = self.builder.session(operation.session.name());
        if operation.transaction == ABORTED {
            return self.begin_aborted(session).map_err(StreamStop::Refused);
        }
        let begun = self.builder.begin(session, Some(operation.transaction.name()));
        begun.map_err(|refusal| match &refusal.problem {
            Problem::DuplicateTransaction { first, second, .. } if first == second => StreamStop::Interleaved,
            _ => StreamStop::Refused(refusal),
        })
    }

    fn begin_aborted(&mut self, session: SessionId) -> Result<(), Refusal> {
        self.builder.begin(session, None)?;
        self.builder.outcome(Outcome::AbortedByDatabase);
        Ok(())
    }

    fn finish(mut self) -> Result<HistoryBuilder, Refusal> {
        for key in self.zeroed {
            self.builder.initial(key, Value::ABSENT);
        }
        Ok(self.builder)
    }
}

/// Groups the operations by transaction, in order of first appearance.
fn read_interleaved(text: &str) -> Result<HistoryBuilder, Refusal> {
    let mut groups: Vec<Vec<(u64, PlumeOperation<'_>)>> = Vec::new();
    let mut group_of: FxHashMap<(Number<'_>, Option<Number<'_>>), usize> = FxHashMap::default();
    let (mut at, mut line) = (0, 0);
    while at < text.len() {
        line += 1;
        let Some(operation) = parse_line(text, &mut at, line)? else { continue };
        // Aborted operations have no transaction to tell them apart: those of a session are one.
        let session = (operation.transaction == ABORTED).then_some(operation.session);
        let group = *group_of.entry((operation.transaction, session)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        let group = &mut groups[group];
        if let Some((_, first)) = group.first().filter(|(_, first)| first.session != operation.session) {
            let problem = Problem::DuplicateTransaction {
                id: operation.transaction.name().to_string(),
                first: first.session.name().to_string(),
                second: operation.session.name().to_string(),
            };
            return Err(Refusal { place: Place::Line(line), problem });
        }
        group.push((line, operation));
    }
    let mut stream = Stream::new();
    for group in groups {
        stream.take(&group).map_err(|stop| match stop {
            StreamStop::Refused(refusal) => refusal,
            StreamStop::Interleaved => unreachable!("every transaction is one group"),
        })?;
    }
    stream.finish()
}

/// The operation of the line at `at`, when it is spelt exactly as all tools spell it; moves behind its line.
fn scan<'a>(text: &'a str, at: &mut usize) -> Option<PlumeOperation<'a>> {
    let bytes = text.as_bytes();
    let action = match bytes.get(*at)? {
        b'r' => Action::Read,
        b'w' => Action::Write,
        _ => return None,
    };
    let mut next = *at + 1;
    let [mut key, mut value, mut session, mut transaction] = [0; 4];
    for (number, before) in [(&mut key, b'('), (&mut value, b','), (&mut session, b','), (&mut transaction, b',')] {
        if bytes.get(next) != Some(&before) {
            return None;
        }
        next += 1;
        *number = scan_integer(bytes, &mut next)?;
    }
    if bytes.get(next) != Some(&b')') || !matches!(bytes.get(next + 1), None | Some(b'\n')) {
        return None;
    }
    *at = next + 2;
    let [key, value, session, transaction] = [key, value, session, transaction].map(Number::Small);
    Some(PlumeOperation { action, key, value, session, transaction })
}

/// An integer of 64 bits with sign, spelt canonically.
fn scan_integer(bytes: &[u8], next: &mut usize) -> Option<i64> {
    let negative = bytes.get(*next) == Some(&b'-');
    let (number, end) = digits(bytes, *next + usize::from(negative))?;
    *next = end;
    Some(if negative { -number } else { number })
}

/// The operation of the line at `at`, with blanks where they do no harm; nothing for an empty line; moves behind the line.
fn parse_line<'a>(text: &'a str, at: &mut usize, number: u64) -> Result<Option<PlumeOperation<'a>>, Refusal> {
    let (_, content) = lines(&text[*at..]).next().unwrap_or_default();
    let rest = &text[*at..];
    *at += rest.find('\n').map_or(rest.len(), |newline| newline + 1);
    let content = content.trim();
    if content.is_empty() {
        return Ok(None);
    }
    parse(content, number).map(Some)
}

fn parse(content: &str, line: u64) -> Result<PlumeOperation<'_>, Refusal> {
    let shape = || refuse(line, format!("`{}` is not an operation", excerpt(content)), ADVICE);
    let (action, rest) = match content.split_at_checked(1) {
        Some(("r", rest)) => (Action::Read, rest),
        Some(("w", rest)) => (Action::Write, rest),
        _ => return Err(shape()),
    };
    let inside = rest.trim_start().strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).ok_or_else(shape)?;
    let mut numbers = [Number::Small(0); 4];
    let mut parts = inside.split(',');
    for number in &mut numbers {
        let digits = parts.next().ok_or_else(shape)?.trim();
        *number = match integer(digits) {
            Ok(found) => i64::try_from(found).map_or(Number::Large(digits), Number::Small),
            Err(super::text::NotAnInteger::Size) => {
                return Err(refuse(line, format!("the number {} has more than 64 bits", excerpt(digits)), BEYOND));
            }
            Err(super::text::NotAnInteger::Shape) => return Err(shape()),
        };
    }
    if parts.next().is_some() {
        return Err(shape());
    }
    let [key, value, session, transaction] = numbers;
    Ok(PlumeOperation { action, key, value, session, transaction })
}

/// Whether a line looks like an operation.
fn is_plausible(line: &str) -> bool {
    parse(line.trim(), 0).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::notation;

    fn read(text: &str) -> Result<History, Refusal> {
        super::read(text)?.finish()
    }

    fn shown(text: &str) -> String {
        notation::write(&read(text).unwrap())
    }

    #[test]
    fn operations_of_a_transaction_stand_together() {
        let history = read("w(0,4,1,2)\nr(0,4,1,3)\r\nw( 0, 5, 2, 4 )\n\nr(1,18446744073709551615,2,5)").unwrap();
        assert_eq!(notation::write(&history), "1: w(0,4) | r(0,4)\n2: w(0,5) | r(1,18446744073709551615)\n");
        assert_eq!(history.transaction_name(crate::TransactionId(3)).to_string(), "5");
    }

    #[test]
    fn interleaved_transactions_are_put_together_in_order_of_first_appearance() {
        assert_eq!(shown("w(0,1,1,1)\nw(0,2,2,2)\nw(0,3,1,3)\nr(0,1,1,1)"), "1: w(0,1) r(0,1) | w(0,3)\n2: w(0,2)\n");
    }

    #[test]
    fn operations_of_transaction_minus_one_are_aborted() {
        assert_eq!(
            shown("w(0,1,1,1)\nw(0,2,1,-1)\nw(0,3,2,-1)\nr(0,1,1,2)"),
            "1: w(0,1) | w(0,2) ! | r(0,1)\n2: w(0,3) !\n"
        );
        assert_eq!(shown("w(0,1,1,1)\nw(0,2,1,-1)\nw(0,3,1,1)\nw(0,4,1,-1)"), "1: w(0,1) w(0,3) | w(0,2) w(0,4) !\n");
    }

    #[test]
    fn zero_is_initial_unless_it_is_written() {
        let history = read("w(1,0,0,0)\nr(1,0,1,1)\nr(2,0,1,1)\nw(3,0,1,-1)").unwrap();
        let initial = |key| history.show(history.initial(history.find_key(key).unwrap())).to_string();
        assert_eq!([initial("1"), initial("2"), initial("3")], ["nil", "0", "0"]);
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, expected) in [
            ("w(0,1,1,1)\nw(0,1,1)", "line 2: `w(0,1,1)` is not an operation"),
            ("w(0,1,1,1,1)", "line 1: `w(0,1,1,1,1)` is not an operation"),
            ("q(0,1,1,1)", "line 1: `q(0,1,1,1)` is not an operation"),
            ("w(0,99999999999999999999,1,1)", "line 1: the number 99999999999999999999 has more than 64 bits"),
            ("w(0,1,1,1)\nw(0,1,2,1)", "line 2: transaction 1 appears twice, in session 1 and in session 2"),
            (
                "w(0,1,1,1)\nw(0,1,1,2)\nw(0,1,1,1)\nw(0,1,2,2)",
                "line 4: transaction 2 appears twice, in session 1 and in session 2",
            ),
            ("w(0,\u{0},1,1)", "line 1: `w(0,\\0,1,1)` is not an operation"),
            ("é", "line 1: `é` is not an operation"),
            ("", "the input holds no transaction"),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), expected);
        }
    }
}
