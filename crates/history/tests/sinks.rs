//! A history told to a file and read back is the history told straight into a builder.
//!
//! Random tellings, with everything that a line may hold: names that spell numbers, lists, fractions, scans with bounds and keys that they
//! leave out, seals, notes. Parts are given whole, so that a new member of a line cannot be forgotten here.

use skew_history::format::{Format, Source, read, write};
use skew_history::line::{
    Aborter, ClaimedWriter, Closing, Content, Ended, Header, HistorySink, LineWriter, Note, Opening, Operation,
    ScanSpec, ScannedKey,
};
use skew_history::value::Values;
use skew_history::{
    Action, Asked, Event, History, HistoryBuilder, IsolationLevel, Name, Refused, StatementKind, Times,
};
use std::convert::Infallible;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.roll(choices.len())].clone()
    }
}

/// Names of transactions: all of them are there, so that a read may come from any.
const IDS: [Name<'static>; 5] =
    [Name::Integer(1), Name::Text("2"), Name::Text("t \"3\""), Name::Integer(-4), Name::Text("é")];

const KEYS: [Name<'static>; 6] = [
    Name::Integer(7),
    Name::Text("8"),
    Name::Text("x\t\u{1}"),
    Name::Text("item/1"),
    Name::Text("item/2"),
    Name::Text("item/10/b"),
];

const LISTS: [Name<'static>; 2] = [Name::Text("l"), Name::Integer(70)];

const NOTES: [Note<'static>; 4] =
    [Note::Nothing, Note::Nothing, Note::Text("sql", "SELECT \"a\"\n"), Note::Members("\"at\":5,\"pid\":[1, 2]")];

/// One telling, the same for the same seed.
struct Telling {
    dice: Dice,
    pool: Values,
    seals: usize,
    /// The statement of the transaction that was told last.
    statement: u32,
}

impl Telling {
    fn content(&mut self) -> Content<'_> {
        let value = match self.dice.roll(4) {
            0 => self.pool.real(2.5),
            1 => self.pool.real(1e300),
            2 => self.pool.text("a\\b"),
            _ => self.pool.integer(u64::MAX),
        };
        let choices = [
            Content::Absent,
            Content::Integer(-3),
            Content::Integer(i64::MAX),
            Content::Boolean(true),
            Content::Text("".into()),
            Content::Text("é\u{c}\"".into()),
            Content::Pooled(&self.pool, value),
        ];
        self.dice.of(&choices)
    }

    fn list(&mut self) -> Content<'_> {
        let elements = [self.pool.boolean(false), self.pool.text("e"), self.pool.real(0.5)];
        let list = self.pool.list(elements);
        let choices =
            [Content::Integers(&[]), Content::Integers(&[1, -2]), Content::Pooled(&self.pool, list), Content::Absent];
        self.dice.of(&choices)
    }

    fn from(&mut self) -> Option<ClaimedWriter<'static>> {
        match self.dice.roll(3) {
            0 => None,
            1 => Some(ClaimedWriter::Initial),
            _ => Some(ClaimedWriter::Transaction(self.dice.of(&IDS))),
        }
    }

    fn tell<S: HistorySink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        self.header(sink)?;
        for id in IDS {
            self.seal(sink)?;
            let session = self.dice.of(&[Name::Integer(1), Name::Text("1"), Name::Text("a b"), Name::Text("s")]);
            let note = self.dice.of(&[Note::Nothing, Note::Text("name", "deposit")]);
            sink.put_opening(&Opening { session, id: Some(id), note })?;
            self.events(sink)?;
            self.ending(sink)?;
        }
        sink.put_opening(&Opening { session: Name::Text("without an id"), id: None, note: Note::Nothing })?;
        self.events(sink)?;
        self.ending(sink)?;
        self.gone(sink)
    }

    fn header<S: HistorySink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        if self.dice.roll(4) == 0 {
            return sink.put_header(Header::about("generated"));
        }
        let about = self.dice.of(&[None, Some("a\n\"b\"")]);
        let half = self.pool.real(0.5);
        let initial = [
            (KEYS[0], Content::Integer(0)),
            (KEYS[2], Content::Text("\\".into())),
            (LISTS[0], Content::Integers(&[1])),
            (KEYS[3], Content::Pooled(&self.pool, half)),
        ];
        let count = self.dice.roll(5);
        let engine = self.dice.of(&[None, Some("postgres 15.20")]);
        sink.put_header(Header { engine, initial: Some(initial.into_iter().take(count)), about })
    }

    fn seal<S: HistorySink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        if self.dice.roll(3) > 0 {
            return Ok(());
        }
        self.seals += 1;
        let (one, other) = (self.dice.of(&IDS), self.dice.of(&IDS));
        sink.put_seal(&[(KEYS[4], one), (KEYS[0], other)][..1 + self.dice.roll(2)])
    }

    fn events<S: HistorySink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        self.statement = 0;
        for _ in 0..self.dice.roll(5) {
            match self.dice.roll(4) {
                0 => self.scan(sink)?,
                1 => self.list_event(sink)?,
                _ => self.event(sink)?,
            }
        }
        Ok(())
    }

    fn event<S: HistorySink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        let action = self.dice.of(&[Action::Read, Action::Write]);
        let is_read = action == Action::Read;
        let (key, from, note) = (self.dice.of(&KEYS), self.from().filter(|_| is_read), self.dice.of(&NOTES));
        let locking = is_read && self.dice.roll(2) == 0;
        let asked = self.asked(is_read);
        let value = self.content();
        sink.put_operation(&Operation { action, key, value, from, locking, asked, gone: None, note })
    }

    /// What a statement asked for; every third time nothing is said.
    fn asked(&mut self, is_read: bool) -> Asked {
        if self.dice.roll(3) == 0 {
            return Asked::default();
        }
        self.statement += self.dice.roll(2) as u32;
        let (statement, kind) = (self.dice.of(&[0, self.statement]), self.dice.of(&StatementKind::ALL));
        let mut flag = || self.dice.roll(3) == 0;
        Asked { statement, kind, passed: flag(), waited: flag(), found: is_read && flag() }
    }

    /// Somebody deletes a row and inserts its key anew, and a read is told of it.
    fn gone<S: HistorySink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        let by = Name::Text("one who deletes");
        let session = Name::Text("a session");
        sink.put_opening(&Opening { session, id: Some(by), note: Note::Nothing })?;
        for value in [Content::Absent, Content::Integer(9)] {
            sink.put_operation(&Operation::new(Action::Write, KEYS[0], value))?;
        }
        self.ending(sink)?;
        sink.put_opening(&Opening { session, id: None, note: Note::Nothing })?;
        let (value, from, locking) = (Content::Absent, None, self.dice.roll(2) == 0);
        let asked = Asked { found: false, ..self.asked(false) };
        let (action, key, gone, note) = (Action::Read, KEYS[0], Some(by), self.dice.of(&NOTES));
        sink.put_operation(&Operation { action, key, value, from, locking, asked, gone, note })?;
        self.ending(sink)
    }

    fn list_event<S: HistorySink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        let (action, key) = (self.dice.of(&[Action::Read, Action::Append]), self.dice.of(&LISTS));
        let value = if action == Action::Read { self.list() } else { Content::Integer(5) };
        sink.put_operation(&Operation::new(action, key, value))
    }

    fn scan<S: HistorySink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        let bounds = [(None, None), (Some(Name::Integer(0)), Some(Name::Text("10"))), (Some(Name::Text("0")), None)];
        let (low, high) = self.dice.of(&bounds);
        let sealed = self.dice.of(&[None, Some(0), Some(self.seals)]);
        let count = self.dice.roll(3);
        let (locking, note, writer) = (self.dice.roll(2) == 0, self.dice.of(&NOTES), self.from());
        let except: &[&str] = self.dice.of(&[&[][..], &["item/2"]]);
        let asked = Asked { passed: false, found: false, ..self.asked(true) };
        let spec = ScanSpec { prefix: "item/", low, high, sealed, locking, except, asked, note };
        let listed = ScannedKey { key: "item/1", value: self.content(), writer };
        let other = ScannedKey { key: "item/10/b", value: Content::Absent, writer: None };
        let listed = [other, listed];
        sink.put_scan(&spec, &listed[..count])
    }

    fn ending<S: HistorySink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        let outcome = self.dice.of(&[
            Ended::Unsaid,
            Ended::Committed,
            Ended::Unknown,
            Ended::Aborted { by: None, refused: None },
            Ended::Aborted { by: Some(Aborter::Program), refused: None },
            Ended::Aborted {
                by: Some(Aborter::Database),
                refused: Some(Refused { error: "dead \"lock\"", statement: 0 }),
            },
            Ended::Aborted { by: Some(Aborter::Database), refused: Some(Refused { error: "40001", statement: 3 }) },
        ]);
        let level = self.dice.of(&[None, Some(IsolationLevel::Snapshot), Some(IsolationLevel::ReadCommitted)]);
        let times = self.dice.of(&[
            Times { begin: None, end: None },
            Times { begin: Some(-5), end: None },
            Times { begin: Some(3), end: Some(i64::MAX) },
        ]);
        let note = self.dice.of(&[Note::Nothing, Note::Members("\"host\":\"h\"")]);
        sink.put_ending(&Closing { outcome, level, times, note })
    }
}

fn telling(seed: u64) -> Telling {
    Telling { dice: Dice(seed), pool: Values::default(), seals: 0, statement: 0 }
}

fn lines(seed: u64) -> LineWriter {
    let mut lines = LineWriter::new();
    let told: Result<(), Infallible> = telling(seed).tell(&mut lines);
    let Ok(()) = told;
    lines
}

fn built(seed: u64) -> History {
    let mut builder = HistoryBuilder::new();
    telling(seed).tell(&mut builder).and_then(|()| builder.finish()).unwrap_or_else(|refusal| {
        panic!("{refusal}\n{}", String::from_utf8_lossy(lines(seed).bytes()));
    })
}

/// All that there is to know of a history: its own file, and what that may leave out, in numbers.
fn told(history: &History) -> (String, Vec<String>, String) {
    let mut bytes = Vec::new();
    write(history, Format::Native, &mut bytes).expect("native holds everything");
    let keys = history.keys().map(|key| history.key_name(key).to_string()).collect();
    let numbers = (history.claims(), history.scans(), history.features());
    let events: Vec<&[Event]> = history.transactions().map(|transaction| history.events_of(transaction)).collect();
    let scanned: Vec<Vec<bool>> =
        events.into_iter().map(|events| events.iter().map(|event| event.scanned).collect()).collect();
    (String::from_utf8(bytes).expect("JSON is text"), keys, format!("{numbers:?} {scanned:?}"))
}

#[test]
fn what_is_told_to_a_file_reads_back_as_what_is_told_to_a_builder() {
    for seed in 0..3000 {
        let lines = lines(seed);
        let source = Source { name: "told", bytes: lines.bytes() };
        let text = String::from_utf8_lossy(lines.bytes());
        let again = read(&[source], Format::Native).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(told(&built(seed)), told(&again), "seed {seed}\n{text}");
    }
}
