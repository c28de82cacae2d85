//! A run that is made again elsewhere: whoever serves the transactions asks here what each read returns.
//!
//! ```text
//!   explored run      alice#0: r(account/1 = 100) w(account/1 = 40)      bob#0: r(account/1 = 100) …
//!                        │
//!   Follower          begin(alice) ── read(account/1)? 100 ── write(account/1, 40) ✓ ── end(commits) ✓ ── begin(bob) ── …
//! ```
//!
//! Transactions come one at a time, in the order of the run; one that touches no row is not expected. Whatever is asked for has to be what
//! the run asked for: the first difference is kept, and there are no answers after it.

use crate::explorable::{Explorable, Place};
use crate::keys::reads_down;
use crate::log::{Event, Log, Outcome};
use crate::run::Run;
use crate::sql::reads::Reads;
use skew_sql::{KeyRange, Row, RowKey};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What one request of the run was, and was answered.
#[derive(Clone, Debug)]
enum Followed {
    Read { key: RowKey, locking: bool, row: Option<Row> },
    Scan { range: Arc<KeyRange>, locking: bool, rows: Vec<(RowKey, Row)> },
    Write { key: RowKey, value: Option<Row> },
}

/// A transaction of the run.
#[derive(Clone, Debug)]
struct Transaction {
    name: String,
    session: String,
    ordinal: u32,
    requests: VecDeque<Followed>,
    commits: bool,
}

/// A run on its way once more.
#[derive(Debug)]
pub struct Follower {
    initial: BTreeMap<RowKey, Row>,
    names: BTreeMap<RowKey, String>,
    waiting: VecDeque<Transaction>,
    current: Option<Transaction>,
    reads: Reads,
    difference: Option<Difference>,
}

/// Where something else was asked for than in the run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Difference(String);

impl<P: Explorable + ?Sized> Run<'_, P> {
    /// What follows this run. `ordinal` is a number for each transaction, from which sequences and clocks follow.
    pub fn follower(&self, ordinal: impl Fn(Place) -> u32) -> Follower {
        let (history, shape) = (&self.node.history, &self.runner.shape);
        let transaction = |&number: &crate::set::Number| {
            let place = shape.places[number as usize];
            let log = history.log(number);
            Transaction {
                name: shape.transaction_name(number),
                session: shape.session_names[place.session].clone(),
                ordinal: ordinal(place),
                requests: self.requests(log),
                commits: log.outcome == Outcome::Committed,
            }
        };
        let waiting: VecDeque<Transaction> =
            history.order.iter().map(transaction).filter(|transaction| !transaction.requests.is_empty()).collect();
        let keys = waiting.iter().flat_map(|transaction| &transaction.requests).flat_map(Followed::keys);
        let names = keys.map(|key| (key.clone(), self.runner.program.key_name(key))).collect();
        let initial = self.runner.program.initial().into_iter().collect();
        Follower { initial, names, waiting, current: None, reads: Reads::default(), difference: None }
    }

    fn requests(&self, log: &Log) -> VecDeque<Followed> {
        let keys = &self.runner.keys;
        let mut requests = VecDeque::new();
        let mut place = 0;
        while let Some(event) = log.events.get(place) {
            place += 1;
            match event {
                Event::Read(read) => requests.push_back(Followed::Read {
                    key: keys.key(read.key).clone(),
                    locking: read.locking,
                    row: self.node.history.value(keys, read.key, read.source).cloned(),
                }),
                // What it wrote itself it does not ask for.
                Event::Own { .. } => {}
                Event::Write { key, value } => {
                    requests.push_back(Followed::Write { key: keys.key(*key).clone(), value: value.clone() });
                }
                Event::Scan { range, locking, .. } => {
                    let count = log.events[place..].iter().take_while(|event| event.is_scanned()).count();
                    let rows = self.scanned(log, range, place..place + count);
                    requests.push_back(Followed::Scan { range: Arc::clone(range), locking: *locking, rows });
                    place += count;
                }
            }
        }
        requests
    }

    /// The rows that a scan found.
    fn scanned(&self, log: &Log, range: &KeyRange, events: std::ops::Range<usize>) -> Vec<(RowKey, Row)> {
        let keys = &self.runner.keys;
        let row = |place: usize| {
            let event = &log.events[place];
            let key = event.read_key()?;
            let row = match event {
                Event::Read(read) => self.node.history.value(keys, key, read.source).cloned(),
                _ => log.events[..place].iter().rev().find_map(|event| match event {
                    Event::Write { key: written, value } if *written == key => Some(value.clone()),
                    _ => None,
                })?,
            };
            Some((keys.key(key).clone(), row?))
        };
        let mut rows: Vec<(RowKey, Row)> = events.filter_map(row).collect();
        if range.descending && !reads_down(range) {
            rows.reverse();
        }
        rows.truncate(range.limit.unwrap_or(usize::MAX));
        rows
    }
}

impl Followed {
    fn keys(&self) -> Vec<&RowKey> {
        match self {
            Followed::Read { key, .. } | Followed::Write { key, .. } => vec![key],
            Followed::Scan { rows, .. } => rows.iter().map(|(key, _)| key).collect(),
        }
    }
}

impl Follower {
    /// The first difference, if there is one.
    pub fn difference(&self) -> Option<&Difference> {
        self.difference.as_ref()
    }

    /// Whether all transactions of the run came.
    pub fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.current.is_none()
    }

    /// The rows that are there before everything.
    pub fn initial(&mut self, rows: impl IntoIterator<Item = (RowKey, Row)>) -> Result<(), Difference> {
        match rows.into_iter().collect::<BTreeMap<_, _>>() == self.initial {
            true => Ok(()),
            false => self.differs("the rows before the first transaction are others"),
        }
    }

    /// A transaction of a session begins; its ordinal.
    pub fn begin(&mut self, session: &str) -> Result<u32, Difference> {
        self.go_on()?;
        self.reads = Reads::default();
        match self.waiting.pop_front() {
            Some(next) if next.session == session => {
                let ordinal = next.ordinal;
                self.current = Some(next);
                Ok(ordinal)
            }
            Some(next) => self.differs(format!("{session} begins where the run has {}", next.name)),
            None => self.differs(format!("{session} begins a transaction after the end of the run")),
        }
    }

    /// A statement begins.
    pub fn begin_statement(&mut self) {
        self.reads.begin_statement();
    }

    /// What a read returned in the run.
    pub fn read(&mut self, key: &RowKey, name: &str, locking: bool) -> Result<Option<Row>, Difference> {
        self.go_on()?;
        let mut reads = std::mem::take(&mut self.reads);
        let row = reads.read(key, locking, || match self.next() {
            Some(Followed::Read { key: run, locking: locked, row }) if run == *key && locked == locking => Ok(row),
            other => self.asked(format!("a read of {name}"), other),
        });
        self.reads = reads;
        row
    }

    /// What a scan returned in the run.
    pub fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Vec<(RowKey, Row)>, Difference> {
        self.go_on()?;
        let mut reads = std::mem::take(&mut self.reads);
        let rows = reads.range(range, locking, |part| match self.next() {
            Some(Followed::Scan { range, locking: locked, rows }) if *range == *part && locked == locking => Ok(rows),
            other => self.asked("a scan".to_owned(), other),
        });
        self.reads = reads;
        rows
    }

    /// A write has to be that of the run.
    pub fn write(&mut self, key: &RowKey, name: &str, value: Option<Row>) -> Result<(), Difference> {
        self.go_on()?;
        match self.next() {
            Some(Followed::Write { key: run, value: written }) if run == *key && written == value => {
                self.reads.write(run, value);
                Ok(())
            }
            other => self.asked(format!("a write of {name}"), other),
        }
    }

    /// The transaction ends, as it did in the run.
    pub fn end(&mut self, commits: bool) -> Result<(), Difference> {
        self.go_on()?;
        match self.current.take() {
            Some(transaction) if transaction.requests.is_empty() && transaction.commits == commits => Ok(()),
            Some(transaction) => {
                let end = if commits { "commits" } else { "does not commit" };
                self.differs(format!("{} {end}, which it did not do there in the run", transaction.name))
            }
            None => self.differs("a transaction ends that has not begun"),
        }
    }

    fn next(&mut self) -> Option<Followed> {
        self.current.as_mut()?.requests.pop_front()
    }

    fn go_on(&self) -> Result<(), Difference> {
        self.difference.clone().map_or(Ok(()), Err)
    }

    fn asked<T>(&mut self, asked: String, run: Option<Followed>) -> Result<T, Difference> {
        let name = |key: &RowKey| self.names.get(key).cloned().unwrap_or_default();
        let recorded = match &run {
            None => "its end".to_owned(),
            Some(Followed::Read { key, .. }) => format!("a read of {}", name(key)),
            Some(Followed::Write { key, .. }) => format!("a write of {}", name(key)),
            Some(Followed::Scan { .. }) => "a scan".to_owned(),
        };
        let other = if asked == recorded { " with something else in it" } else { "" };
        let who = self.current.as_ref().map_or("nobody", |current| &current.name).to_owned();
        self.differs(format!("{who} asks for {asked}{other} where the run has {recorded}"))
    }

    fn differs<T>(&mut self, message: impl Into<String>) -> Result<T, Difference> {
        Err(self.difference.get_or_insert(Difference(message.into())).clone())
    }
}
