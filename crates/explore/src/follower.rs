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

use crate::explorable::Explorable;
use crate::keys::reads_down;
use crate::log::{Event, Log, Manner, Outcome, ReadKind};
use crate::outline::Place;
use crate::requests::whole_part;
use crate::run::Run;
use crate::sql::view::own_in;
use skew_sql::rows::{Found, Looked, Memory, Reader, Scanned};
use skew_sql::{Fits, KeyRange, Row, RowKey};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What one request of the run was, and was answered.
#[derive(Clone, Debug)]
enum Followed {
    Read {
        key: RowKey,
        locking: bool,
        row: Option<Row>,
    },
    /// With whether it was locked.
    Sought {
        key: RowKey,
        row: Option<Row>,
        locked: bool,
    },
    Scan {
        range: Arc<KeyRange>,
        locking: bool,
        rows: Vec<(RowKey, Row)>,
        read: Option<KeyRange>,
    },
    SoughtIn {
        range: Arc<KeyRange>,
        found: Vec<(RowKey, Option<Row>, bool)>,
        read: Option<KeyRange>,
    },
    Write {
        key: RowKey,
        value: Option<Row>,
    },
}

/// A transaction of the run.
#[derive(Clone, Debug)]
struct FollowedTransaction {
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
    waiting: VecDeque<FollowedTransaction>,
    current: Option<FollowedTransaction>,
    own: BTreeMap<RowKey, Option<Row>>,
    memory: Memory,
    difference: Option<Difference>,
}

/// Where something else was asked for than in the run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Difference(String);

impl<P: Explorable + ?Sized> Run<'_, P> {
    /// What follows this run. `ordinal` is a number for each transaction, from which sequences and clocks follow.
    pub fn follower(&self, ordinal: impl Fn(Place) -> u32) -> Follower {
        let (history, outline) = (&self.node.history, &self.runner.outline);
        let transaction = |&number: &crate::set::Number| {
            let place = outline.places[number as usize];
            let log = history.log(number);
            FollowedTransaction {
                name: outline.transaction_name(number),
                session: outline.session_names[place.session].clone(),
                ordinal: ordinal(place),
                requests: self.requests(log),
                commits: log.outcome == Outcome::Committed,
            }
        };
        let waiting: VecDeque<FollowedTransaction> =
            history.order.iter().map(transaction).filter(|transaction| !transaction.requests.is_empty()).collect();
        let keys = waiting.iter().flat_map(|transaction| &transaction.requests).flat_map(Followed::keys);
        let names = keys.map(|key| (key.clone(), self.runner.program.key_name(key))).collect();
        let initial = self.runner.program.initial().into_iter().collect();
        Follower {
            initial,
            names,
            waiting,
            current: None,
            own: BTreeMap::new(),
            memory: Memory::default(),
            difference: None,
        }
    }

    fn requests(&self, log: &Log) -> VecDeque<Followed> {
        let keys = &self.runner.keys;
        let mut requests = VecDeque::new();
        let mut place = 0;
        while let Some(event) = log.events.get(place) {
            place += 1;
            match event {
                Event::Read(read) => {
                    let (key, locked) = (keys.key(read.key).clone(), read.kind() == ReadKind::Locking);
                    let row = self.node.history.value(keys, read.key, read.source).cloned();
                    requests.push_back(match read.manner {
                        Manner::Sought(_) => Followed::Sought { key, row, locked },
                        _ => Followed::Read { key, row, locking: locked },
                    });
                }
                // What it wrote itself it does not ask for.
                Event::Own { .. } => {}
                Event::Write { key, value } => {
                    requests.push_back(Followed::Write { key: keys.key(*key).clone(), value: value.clone() });
                }
                Event::Scan { range, manner, end } => {
                    let count = log.events[place..].iter().take_while(|event| event.is_scanned()).count();
                    let (places, read) = (place..place + count, whole_part(range, end));
                    let range = Arc::clone(range);
                    requests.push_back(match manner {
                        Manner::Sought(_) => Followed::SoughtIn { found: self.sought(log, places), range, read },
                        _ => {
                            let (rows, locking) = (self.scanned(log, &range, places), *manner == Manner::Locking);
                            Followed::Scan { range, locking, rows, read }
                        }
                    });
                    place += count;
                }
            }
        }
        requests
    }

    /// What a scan that sought rows to lock found, without own writes, and whether it was locked.
    fn sought(&self, log: &Log, events: std::ops::Range<usize>) -> Vec<(RowKey, Option<Row>, bool)> {
        let keys = &self.runner.keys;
        let found = |event: &Event| match event {
            Event::Read(read) => {
                let row = self.node.history.value(keys, read.key, read.source).cloned();
                Some((keys.key(read.key).clone(), row, read.kind() == ReadKind::Locking))
            }
            _ => None,
        };
        log.events[events].iter().filter_map(found).collect()
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
        rows
    }
}

impl Followed {
    fn keys(&self) -> Vec<&RowKey> {
        match self {
            Followed::Read { key, .. } | Followed::Sought { key, .. } | Followed::Write { key, .. } => vec![key],
            Followed::Scan { rows, .. } => rows.iter().map(|(key, _)| key).collect(),
            Followed::SoughtIn { found, .. } => found.iter().map(|(key, ..)| key).collect(),
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
        self.own.clear();
        self.memory = Memory::default();
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
        self.memory = Memory::default();
    }

    /// A subquery begins or ends; see [`Memory::enter`].
    pub fn enter(&mut self, scope: usize) -> usize {
        self.memory.enter(scope)
    }

    /// What a read returned in the run.
    pub fn read(&mut self, key: &RowKey, name: &str, locking: bool) -> Result<Option<Row>, Difference> {
        self.note(key, name);
        self.remembering(|memory, follower| memory.read(key, locking, follower))
    }

    /// What a scan returned in the run.
    pub fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Vec<(RowKey, Row)>, Difference> {
        self.remembering(|memory, follower| memory.range(range, locking, follower))
    }

    /// The row under a key that a statement sought to lock in the run; nothing if it passed it over.
    pub fn seek(&mut self, key: &RowKey, name: &str, fits: &mut Fits<'_>) -> Result<Option<Row>, Difference> {
        self.note(key, name);
        self.remembering(|memory, follower| memory.seek(key, fits, follower))
    }

    /// The rows of a range that a statement sought to lock in the run.
    pub fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, Difference> {
        self.remembering(|memory, follower| memory.look_over(range, fits, follower))
    }

    /// What a key is called, should it be one that the run does not have.
    fn note(&mut self, key: &RowKey, name: &str) {
        if !self.names.contains_key(key) {
            self.names.insert(key.clone(), name.to_owned());
        }
    }

    /// Asks the memory of the statement, which asks the run for what it does not know.
    fn remembering<T>(&mut self, work: impl FnOnce(&mut Memory, &mut Follower) -> T) -> T {
        let mut memory = std::mem::take(&mut self.memory);
        let answer = work(&mut memory, self);
        self.memory = memory;
        answer
    }

    /// A write has to be that of the run.
    pub fn write(&mut self, key: &RowKey, name: &str, value: Option<Row>) -> Result<(), Difference> {
        self.go_on()?;
        match self.next() {
            Some(Followed::Write { key: run, value: written }) if run == *key && written == value => {
                self.own.insert(run, value);
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
            Some(Followed::Read { key, .. } | Followed::Sought { key, .. }) => format!("a read of {}", name(key)),
            Some(Followed::Write { key, .. }) => format!("a write of {}", name(key)),
            Some(Followed::Scan { .. } | Followed::SoughtIn { .. }) => "a scan".to_owned(),
        };
        let other = if asked == recorded { " with something else in it" } else { "" };
        let who = self.current.as_ref().map_or("nobody", |current| &current.name).to_owned();
        self.differs(format!("{who} asks for {asked}{other} where the run has {recorded}"))
    }

    fn differs<T>(&mut self, message: impl Into<String>) -> Result<T, Difference> {
        Err(self.difference.get_or_insert(Difference(message.into())).clone())
    }
}

/// What the run answers that no memory knows.
impl Reader for Follower {
    type Stop = Difference;

    fn own(&self, key: &RowKey) -> Option<Option<Row>> {
        self.own.get(key).cloned()
    }

    fn own_in(&self, range: &KeyRange) -> Vec<(RowKey, Option<Row>)> {
        own_in(&self.own, range)
    }

    fn read(&mut self, key: &RowKey, locking: bool) -> Result<Option<Row>, Difference> {
        self.go_on()?;
        match self.next() {
            Some(Followed::Read { key: run, locking: locked, row }) if run == *key && locked == locking => Ok(row),
            other => self.asked(self.read_of(key), other),
        }
    }

    fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Scanned, Difference> {
        self.go_on()?;
        match self.next() {
            Some(Followed::Scan { range: run, locking: locked, rows, read }) if *run == *range && locked == locking => {
                Ok(Scanned { rows, read })
            }
            other => self.asked("a scan".to_owned(), other),
        }
    }

    fn look(&mut self, key: &RowKey, _: &mut Fits<'_>) -> Result<Found, Difference> {
        self.go_on()?;
        match self.next() {
            Some(Followed::Sought { key: run, row, locked }) if run == *key => Ok(found(row, locked)),
            other => self.asked(self.read_of(key), other),
        }
    }

    fn look_over(&mut self, range: &KeyRange, _: &mut Fits<'_>) -> Result<Looked, Difference> {
        self.go_on()?;
        match self.next() {
            Some(Followed::SoughtIn { range: run, found: all, read }) if *run == *range => {
                let found = all.into_iter().map(|(key, row, locked)| (key, found(row, locked))).collect();
                Ok(Looked { found, read })
            }
            other => self.asked("a scan".to_owned(), other),
        }
    }

    fn claim(&mut self, key: &RowKey, _: &mut Fits<'_>) -> Result<Option<Option<Row>>, Difference> {
        Reader::read(self, key, true).map(Some)
    }
}

impl Follower {
    fn read_of(&self, key: &RowKey) -> String {
        format!("a read of {}", self.names.get(key).cloned().unwrap_or_default())
    }
}

fn found(row: Option<Row>, locked: bool) -> Found {
    match row {
        Some(row) if locked => Found::Locked(row),
        row => Found::Passed(row),
    }
}
