//! Small programs, and all their histories by brute force.
//!
//! A program is what `explore.md`'s counts are about: sessions of transactions of reads and writes. A history of it is who every read
//! read from; brute force tries every writer for every read and keeps what the definition allows.

use skew_check::spec;
use skew_history::builder::ClaimedWriter;
use skew_history::{Action, Event, History, HistoryBuilder, IsolationLevel, Name, Value};
use std::collections::BTreeSet;

/// An event of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Read(char),
    /// A locking read: FOR UPDATE.
    Lock(char),
    Write(char),
}

/// Sessions of transactions of steps.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) sessions: Vec<Vec<Vec<Step>>>,
}

/// Per read, in the order of sessions, transactions and steps: the transaction it read from, if not the initial state.
pub(crate) type Sources = Vec<Option<usize>>;

impl Program {
    /// From `r(x) w(x) | r(x) ; lock(x) w(x)`: sessions between semicolons, transactions between bars.
    pub(crate) fn parse(name: &'static str, text: &str) -> Program {
        let step = |word: &str| {
            let key = word.chars().rev().nth(1).expect("a key stands before the bracket");
            match word.chars().next() {
                Some('r') => Step::Read(key),
                Some('l') => Step::Lock(key),
                _ => Step::Write(key),
            }
        };
        let transaction = |text: &str| text.split_whitespace().map(step).collect();
        let session = |text: &str| text.split('|').map(transaction).collect();
        Program { name, sessions: text.split(';').map(session).collect() }
    }

    /// All transactions with their sessions, in the order of sessions.
    pub(crate) fn transactions(&self) -> Vec<(usize, &[Step])> {
        let sessions = self.sessions.iter().enumerate();
        sessions.flat_map(|(session, rows)| rows.iter().map(move |row| (session, row.as_slice()))).collect()
    }

    /// All histories that a level allows; with `plain`, locking reads are plain ones.
    pub(crate) fn histories(&self, level: IsolationLevel, plain: bool) -> BTreeSet<Sources> {
        let mut found = BTreeSet::new();
        let mut sources = Vec::new();
        self.assign(&mut sources, &mut |sources| {
            if spec::satisfies(&self.history(sources, plain), level) {
                found.insert(sources.clone());
            }
        });
        found
    }

    /// The keys of the reads that are not of own writes.
    fn reads(&self) -> Vec<(usize, char)> {
        let mut reads = Vec::new();
        for (number, (_, steps)) in self.transactions().into_iter().enumerate() {
            for (place, step) in steps.iter().enumerate() {
                match *step {
                    Step::Read(key) | Step::Lock(key) if !steps[..place].contains(&Step::Write(key)) => {
                        reads.push((number, key));
                    }
                    _ => {}
                }
            }
        }
        reads
    }

    fn assign(&self, sources: &mut Sources, found: &mut dyn FnMut(&Sources)) {
        let reads = self.reads();
        let Some(&(reader, key)) = reads.get(sources.len()) else { return found(sources) };
        let writers = self.transactions().into_iter().enumerate();
        let writers = writers.filter(|(number, (_, steps))| *number != reader && steps.contains(&Step::Write(key)));
        let writers: Vec<usize> = writers.map(|(number, _)| number).collect();
        for source in std::iter::once(None).chain(writers.into_iter().map(Some)) {
            sources.push(source);
            self.assign(sources, found);
            sources.pop();
        }
    }

    /// The history in which every read read from whom it is said to.
    fn history(&self, sources: &Sources, plain: bool) -> History {
        let mut builder = HistoryBuilder::new();
        let mut sources = sources.iter();
        for (number, (session, steps)) in self.transactions().into_iter().enumerate() {
            let session = builder.session(session.to_string().as_str());
            builder.begin(session, Some(Name::from(format!("t{number}").as_str()))).expect("names are unique");
            for (place, step) in steps.iter().enumerate() {
                match *step {
                    Step::Write(key) => {
                        let key = builder.key(key.to_string().as_str());
                        let value = builder.values().integer(number as i64);
                        builder.write(key, value);
                    }
                    Step::Read(key) | Step::Lock(key) if !steps[..place].contains(&Step::Write(key)) => {
                        let locking = !plain && matches!(step, Step::Lock(_));
                        let source = *sources.next().expect("a source for every read");
                        read(&mut builder, key, source, locking);
                    }
                    _ => {}
                }
            }
        }
        builder.finish().expect("a history")
    }
}

fn read(builder: &mut HistoryBuilder, key: char, source: Option<usize>, locking: bool) {
    let key = builder.key(key.to_string().as_str());
    let value = match source {
        None => Value::ABSENT,
        Some(writer) => builder.values().integer(writer as i64),
    };
    builder.event(Event { locking, ..Event::new(Action::Read, key, value) });
    let name = source.map(|writer| format!("t{writer}"));
    builder.claim(match &name {
        None => ClaimedWriter::Initial,
        Some(name) => ClaimedWriter::Transaction(Name::from(name.as_str())),
    });
}
