//! Cobra's logs: a folder, a binary file `T<n>.log` per session, records without a header.
//!
//! ```text
//!   S transaction                       start
//!   W write key value                   a write; its id is unique and serves as the value
//!   R writer write key value            a read of that write by that transaction
//!   C transaction                       commit; A: abort
//! ```
//!
//! A record is a letter and big-endian numbers of 64 bits. Reads of the initial state name `INIT` or `NULL` as the writer or the
//! write. A read is matched by its write id; only where ids repeat for a key the writer that the log names is asked too, since
//! remembering it for every read would cost more memory than the reads themselves. A transaction that is open where its log
//! ends has an unknown outcome.

use super::known::{FormatReader, KnownFormat, Likeness};
use super::{ReadError, Source};
use crate::builder::{ClaimedWriter, HistoryBuilder, Place, Problem, Refusal};
use crate::history::{Action, Event, KeyId, Outcome, SessionId};
use crate::name::Name;
use crate::value::Value;
use rustc_hash::FxHashSet;

const INIT: i64 = 0xbebe_ebee;
const NULL: i64 = 0xdead_beef;

const ADVICE: &str = "check that the log is complete and is Cobra's";

pub(super) const KNOWN: KnownFormat = KnownFormat {
    name: "cobra",
    aliases: &["cobra-log"],
    description: "Cobra, a folder of binary logs",
    extension: None,
    // A log begins with the start of a transaction.
    likeness: |look| {
        Likeness::strong(look.is_binary && look.first_line(|line| line.starts_with('S')) && look.bytes.len() >= 9)
    },
    read: FormatReader::Folder { has: |name| log_number(name).is_some(), read },
    write: None,
};

/// The number of a session's log, `T<n>.log`.
fn log_number(name: &str) -> Option<u64> {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let digits = file.strip_prefix('T')?.strip_suffix(".log")?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

fn read(files: &[Source<'_>]) -> Result<HistoryBuilder, ReadError> {
    let mut logs: Vec<(u64, &Source<'_>)> =
        files.iter().filter_map(|file| Some((log_number(file.name)?, file))).collect();
    logs.sort_by_key(|log| log.0);
    // A single file that somebody says is a log is one, whatever it is called.
    if let ([], [file]) = (&logs[..], files) {
        logs.push((0, file));
    }
    let folder = files.first().map_or("", |file| file.name);
    if logs.is_empty() {
        let problem =
            Problem::malformed("no log of a session", "a Cobra history is a folder of files T0.log, T1.log, …");
        return Err(ReadError::new(folder, Refusal { place: Place::Whole, problem }));
    }
    let (builder, repeated) = read_logs(&logs, None)?;
    if !repeated {
        return Ok(builder);
    }
    let (builder, _) = read_logs(&logs, Some(&logged_transactions(&logs)))?;
    Ok(builder)
}

/// Reads all logs, with the writers that reads name if these are given; and whether write ids repeat.
fn read_logs(
    logs: &[(u64, &Source<'_>)],
    writers: Option<&FxHashSet<i64>>,
) -> Result<(HistoryBuilder, bool), ReadError> {
    let mut builder = HistoryBuilder::new();
    let mut writes = Vec::new();
    for (number, file) in logs {
        let mut log = Log {
            bytes: file.bytes,
            at: 0,
            builder: &mut builder,
            writers,
            writes: &mut writes,
            open: None,
            events: Vec::new(),
            keys: Vec::new(),
            claims: Vec::new(),
        };
        log.session(*number).map_err(|refusal| ReadError::new(file.name, refusal))?;
    }
    writes.sort_unstable();
    let repeated = writes.windows(2).any(|pair| pair[0] == pair[1]);
    Ok((builder, repeated))
}

fn logged_transactions(logs: &[(u64, &Source<'_>)]) -> FxHashSet<i64> {
    let mut transactions = FxHashSet::default();
    for (_, file) in logs {
        let mut at = 0;
        // The logs were read once: they are made of whole records.
        while let Some(length) = file.bytes.get(at).and_then(|&letter| record_length(letter)) {
            if file.bytes[at] == b'S' {
                transactions.insert(number_at(file.bytes, at + 1));
            }
            at += length;
        }
    }
    transactions
}

fn record_length(letter: u8) -> Option<usize> {
    match letter {
        b'S' | b'C' | b'A' => Some(9),
        b'W' => Some(25),
        b'R' => Some(33),
        _ => None,
    }
}

fn number_at(bytes: &[u8], at: usize) -> i64 {
    i64::from_be_bytes(std::array::from_fn(|index| bytes[at + index]))
}

struct Log<'a> {
    bytes: &'a [u8],
    at: usize,
    builder: &'a mut HistoryBuilder,
    /// The transactions that a read may name as its writer.
    writers: Option<&'a FxHashSet<i64>>,
    /// A fingerprint of every write's key and id.
    writes: &'a mut Vec<u64>,
    open: Option<i64>,
    /// The events of the open transaction, which get their keys all at once.
    events: Vec<Event>,
    keys: Vec<Name<'static>>,
    /// Places among the events, and the writers that those name.
    claims: Vec<(usize, i64)>,
}

impl Log<'_> {
    fn session(&mut self, number: u64) -> Result<(), Refusal> {
        let session = self.builder.session(Name::Text(&format!("T{number}")));
        while let Some(&letter) = self.bytes.get(self.at) {
            let Some(length) = record_length(letter) else {
                let shown = char::from(letter).escape_default();
                return Err(self.refuse(format!("the tag `{shown}`, where S, W, R, C or A should be")));
            };
            if self.bytes.len() - self.at < length {
                return Err(self.refuse(format!("the log ends inside a record `{}`", char::from(letter))));
            }
            self.builder.at(Place::Byte(self.at as u64));
            match letter {
                b'S' => self.start(session)?,
                b'W' => self.write()?,
                b'R' => self.read()?,
                _ => self.end(letter)?,
            }
            self.at += length;
        }
        if self.open.is_some() {
            self.take_events();
            self.builder.outcome(Outcome::Unknown);
        }
        Ok(())
    }

    fn take_events(&mut self) {
        self.builder.name_keys(&mut self.events, &self.keys);
        let mut claims = self.claims.drain(..).peekable();
        for (place, &event) in self.events.iter().enumerate() {
            self.builder.event(event);
            if let Some((_, writer)) = claims.next_if(|claim| claim.0 == place) {
                self.builder.claim(ClaimedWriter::Transaction(Name::Integer(writer)));
            }
        }
        drop(claims);
        self.events.clear();
        self.keys.clear();
    }

    fn event(&mut self, action: Action, key: i64, value: Value) {
        self.keys.push(Name::Integer(key));
        self.events.push(Event::new(action, KeyId(u32::MAX), value));
    }

    fn start(&mut self, session: SessionId) -> Result<(), Refusal> {
        let transaction = self.number(0);
        if let Some(open) = self.open {
            return Err(self.refuse(format!("transaction {transaction} starts while {open} is still open")));
        }
        self.open = Some(transaction);
        self.builder.begin(session, Some(Name::Integer(transaction)))
    }

    fn end(&mut self, letter: u8) -> Result<(), Refusal> {
        let transaction = self.number(0);
        match self.open.take() {
            Some(open) if open == transaction => {}
            Some(open) => {
                return Err(self.refuse(format!("transaction {transaction} ends while {open} is the open one")));
            }
            None => return Err(self.refuse(format!("transaction {transaction} ends, which has not started"))),
        }
        self.take_events();
        if letter == b'A' {
            self.builder.outcome(Outcome::AbortedByDatabase);
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), Refusal> {
        self.refuse_outside("write")?;
        let (write, key) = (self.number(0), self.number(1));
        self.writes.push(fingerprint(write, key));
        let value = self.builder.values().integer(write);
        self.event(Action::Write, key, value);
        Ok(())
    }

    fn read(&mut self) -> Result<(), Refusal> {
        self.refuse_outside("read")?;
        let (writer, write, key) = (self.number(0), self.number(1), self.number(2));
        if [writer, write].iter().any(|id| [INIT, NULL].contains(id)) {
            self.event(Action::Read, key, Value::ABSENT);
            return Ok(());
        }
        let value = self.builder.values().integer(write);
        if self.writers.is_some_and(|writers| writers.contains(&writer)) {
            self.claims.push((self.events.len(), writer));
        }
        self.event(Action::Read, key, value);
        Ok(())
    }

    fn refuse_outside(&self, what: &str) -> Result<(), Refusal> {
        if self.open.is_some() { Ok(()) } else { Err(self.refuse(format!("a {what} outside of a transaction"))) }
    }

    /// The `position`th number of the record here.
    fn number(&self, position: usize) -> i64 {
        number_at(self.bytes, self.at + 1 + 8 * position)
    }

    fn refuse(&self, what: String) -> Refusal {
        Refusal { place: Place::Byte(self.at as u64), problem: Problem::malformed(what, ADVICE) }
    }
}

/// Mixes a write's key and id, so that equal fingerprints of different writes are as rare as accidents of 64 bits are; even
/// then nothing worse happens than that writers are asked without need.
fn fingerprint(write: i64, key: i64) -> u64 {
    let mixed = (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ write as u64;
    mixed.wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::history::{EventId, TransactionId, Writer};
    use crate::notation;

    fn log(records: &[(u8, &[i64])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (letter, numbers) in records {
            bytes.push(*letter);
            numbers.iter().for_each(|number| bytes.extend(number.to_be_bytes()));
        }
        bytes
    }

    fn read_named(files: &[(&str, Vec<u8>)]) -> Result<History, ReadError> {
        let sources: Vec<Source<'_>> = files.iter().map(|(name, bytes)| Source { name, bytes }).collect();
        let folder = files.first().map_or("", |file| file.0);
        read(&sources)?.finish().map_err(|refusal| ReadError::new(folder, refusal))
    }

    #[test]
    fn sessions_are_files_sorted_by_number() {
        let history = read_named(&[
            ("d/T10.log", log(&[(b'S', &[7]), (b'R', &[5, 1, -3, 9]), (b'R', &[INIT, 4, 8, 1]), (b'A', &[7])])),
            ("d/T2.log", log(&[(b'S', &[5]), (b'W', &[1, -3, 9]), (b'C', &[5]), (b'S', &[6])])),
            ("d/T2.log.debug", b"text".to_vec()),
            ("d/x.error", b"text".to_vec()),
        ]);
        assert_eq!(notation::write(&history.unwrap()), "T2: w(-3,1) | ?\nT10: r(-3,1) r(8,nil) !\n");
    }

    #[test]
    fn a_read_of_an_unlogged_writer_is_no_mistake_of_the_input() {
        let history = read_named(&[("T0.log", log(&[(b'S', &[7]), (b'R', &[99, 1, 3, 9]), (b'C', &[7])]))]).unwrap();
        assert_eq!(history.claims(), []);
    }

    #[test]
    fn repeated_write_ids_make_the_named_writers_count() {
        let history = read_named(&[
            (
                "T0.log",
                log(&[(b'S', &[1]), (b'W', &[4, 3, 0]), (b'C', &[1]), (b'S', &[2]), (b'W', &[4, 3, 0]), (b'C', &[2])]),
            ),
            ("T1.log", log(&[(b'S', &[3]), (b'R', &[2, 4, 3, 0]), (b'R', &[77, 4, 3, 0]), (b'C', &[3])])),
        ]);
        assert_eq!(history.unwrap().claims(), [(EventId(2), Writer::Transaction(TransactionId(1)))]);
    }

    #[test]
    fn mistakes_name_their_file_and_byte() {
        let good = log(&[(b'S', &[1]), (b'C', &[1])]);
        for (bad, expected) in [
            (log(&[(b'S', &[4]), (b'X', &[1])]), "d/T1.log:byte 9: the tag `X`, where"),
            (log(&[(b'S', &[4]), (b'C', &[2])]), "d/T1.log:byte 9: transaction 2 ends while 4 is the open one"),
            (log(&[(b'S', &[2]), (b'S', &[3])]), "d/T1.log:byte 9: transaction 3 starts while 2 is still open"),
            (log(&[(b'S', &[2]), (b'W', &[3])]), "d/T1.log:byte 9: the log ends inside a record `W`"),
            (log(&[(b'W', &[3, 3, 3])]), "d/T1.log:byte 0: a write outside of a transaction"),
            (log(&[(b'C', &[3])]), "d/T1.log:byte 0: transaction 3 ends, which has not started"),
            (log(&[(b'S', &[1])]), "d/T1.log:byte 0: transaction 1 appears twice, in session T0 and in session T1"),
        ] {
            let error = read_named(&[("d/T0.log", good.clone()), ("d/T1.log", bad)]).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_folder_without_logs_is_refused() {
        let error = read_named(&[("d/a.txt", vec![]), ("d/T.log", vec![])]).unwrap_err();
        assert_eq!(error.to_string(), "d/a.txt: no log of a session");
        assert!(read_named(&[]).is_err());
        assert_eq!(read_named(&[("T0.log", vec![])]).unwrap_err().problem, Problem::Empty);
    }
}
