//! Random small histories on which every level both holds and fails often.
//!
//! Reads drawn at random nearly always violate everything. So a run is made up first: transactions get a commit order and each
//! *sees* some of those before it, in a style that some level allows; a read returns the last version among the seen ones. Then, in
//! most histories, a few reads are told wrong.
//!
//! ```text
//!   style       what a transaction sees                                        typically holds up to
//!   serial      all before it                                                  serializable
//!   snapshot    all before its begin (careful: and all that write its keys)     prefix, careful: snapshot
//!   causal      some before it and all that those see (careful: likewise)       causal, careful: psi
//!   atomic      some before it                                                 read-atomic
//!   committed   some before it, anew for every read                            read-committed
//! ```

use super::random::Random;
use skew_history::{History, IsolationLevel, Outcome};

/// How large a history may be, and what may be in it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// At most this many sessions.
    pub sessions: usize,
    /// At most this many transactions.
    pub transactions: usize,
    /// At most this many keys.
    pub keys: usize,
    /// At most this many events per transaction; a range read counts as one.
    pub events: usize,
    /// Values that several transactions write.
    pub duplicates: bool,
    /// Locking reads.
    pub locking: bool,
    /// A level on every transaction.
    pub declared: bool,
    /// Aborted transactions and unknown outcomes.
    pub outcomes: bool,
    /// Deletes and range reads.
    pub ranges: bool,
    /// Lists that transactions append to.
    pub lists: bool,
    /// Times.
    pub times: bool,
    /// Reads that name their writer.
    pub claims: bool,
    /// What statements asked for: rows that were only found, rows that were gone, refusals.
    pub statements: bool,
}

impl Shape {
    /// Reads and writes of unique values by committed transactions.
    pub const PLAIN: Shape = Shape {
        sessions: 4,
        transactions: 6,
        keys: 3,
        events: 5,
        duplicates: false,
        locking: false,
        declared: false,
        outcomes: false,
        ranges: false,
        lists: false,
        times: false,
        claims: false,
        statements: false,
    };

    /// Any mix of features, each in about a third of the shapes.
    pub fn any(random: &mut Random) -> Shape {
        let mut some = || random.chance(35);
        Shape {
            duplicates: some(),
            locking: some(),
            declared: some(),
            outcomes: some(),
            ranges: some(),
            lists: some(),
            times: some(),
            claims: some(),
            statements: some(),
            ..Shape::PLAIN
        }
    }
}

/// A history with at most the size and the features of `shape`.
pub fn random_history(random: &mut Random, shape: &Shape) -> History {
    loop {
        let history = Run::new(random, shape).tell(random);
        // Brute force tries every way to match repeated values: what has too many is drawn again.
        if super::ambiguity(&history) <= 256 {
            return history;
        }
    }
}

/// A history told without mistakes, and a level that it satisfies because of how it was made. Needs no oracle, so it may be
/// larger than brute force can bear: up to 60 transactions.
pub fn truthful_history(random: &mut Random, shape: &Shape) -> (History, IsolationLevel) {
    loop {
        let run = Run { noise: 0, ..Run::new(random, shape) };
        if let Some(level) = run.level() {
            return (run.tell(random), level);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Serial,
    Snapshot,
    Causal,
    Atomic,
    Committed,
}

impl Style {
    /// Each as often as makes the verdicts vary most.
    const AS_OFTEN_AS_USEFUL: [Style; 11] = [
        Style::Serial,
        Style::Snapshot,
        Style::Snapshot,
        Style::Snapshot,
        Style::Causal,
        Style::Causal,
        Style::Causal,
        Style::Causal,
        Style::Atomic,
        Style::Atomic,
        Style::Committed,
    ];
}

/// A transaction of the run; its number is its place in the commit order.
pub(super) struct Planned {
    pub(super) session: usize,
    pub(super) outcome: Outcome,
    /// Whether others see its writes.
    pub(super) applied: bool,
    /// All before this number are seen.
    pub(super) begin: usize,
    /// The numbers of the transactions that it sees, as bits.
    pub(super) sees: u64,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Copy)]
pub(super) enum Step {
    Read {
        key: usize,
        locking: bool,
    },
    Scan {
        locking: bool,
    },
    /// Of nothing: a delete.
    Write {
        key: usize,
        value: Option<i64>,
    },
    Append {
        key: usize,
        element: i64,
    },
}

pub(super) struct Run {
    pub(super) shape: Shape,
    pub(super) style: Style,
    /// How many reads in a hundred are told wrong.
    pub(super) noise: usize,
    /// How many events in a hundred are writes.
    writes: usize,
    /// Whether some write and then others read, all in different sessions: what it takes for a long fork.
    roles: bool,
    /// Whether whoever writes a key sees all that wrote it before.
    careful: bool,
    pub(super) keys: usize,
    /// The last key is a list.
    pub(super) has_list: bool,
    pub(super) initial: Vec<Option<i64>>,
    pub(super) initial_list: Vec<i64>,
    pub(super) planned: Vec<Planned>,
}

impl Run {
    fn new(random: &mut Random, shape: &Shape) -> Run {
        let roles = random.chance(15);
        let keys = if roles { shape.keys.min(2) } else { random.mostly(shape.keys) };
        let mut run = Run {
            shape: *shape,
            style: if roles { Style::Causal } else { random.pick(&Style::AS_OFTEN_AS_USEFUL) },
            noise: random.pick(&[0, 0, 0, 4, 10, 25]),
            writes: random.pick(&[30, 40, 50]),
            roles,
            careful: random.chance(40),
            keys,
            has_list: shape.lists && random.chance(80),
            initial: (0..keys).map(|_| random.chance(30).then(|| random.below(2) as i64)).collect(),
            initial_list: if random.chance(15) { vec![-1, -2][..random.up_to(2)].to_vec() } else { Vec::new() },
            planned: Vec::new(),
        };
        let sessions = random.mostly(shape.sessions);
        for _ in 0..random.mostly(shape.transactions) {
            run.plan(random, sessions);
        }
        run
    }

    fn plan(&mut self, random: &mut Random, sessions: usize) {
        let session = if self.roles { self.planned.len() % sessions } else { random.below(sessions) };
        let outcome = match self.shape.outcomes && random.chance(35) {
            true => random.pick(&[
                Outcome::Unknown,
                Outcome::Unknown,
                Outcome::AbortedByProgram,
                Outcome::AbortedByDatabase,
            ]),
            false => Outcome::Committed,
        };
        let applied = outcome == Outcome::Committed || outcome == Outcome::Unknown && random.chance(60);
        let writes = match self.roles {
            true if self.planned.len() < 2 => 100,
            true => 0,
            false => self.writes,
        };
        // More writes would order the writers.
        let events = if writes == 100 { 1 } else { random.mostly(self.shape.events) };
        let steps = (0..events).map(|place| self.step(random, place, writes)).collect();
        self.planned.push(Planned { session, outcome, applied, begin: 0, sees: 0, steps });
        self.open_eyes(random);
    }

    fn step(&self, random: &mut Random, place: usize, writes: usize) -> Step {
        let locking = self.shape.locking && random.chance(35);
        // Unique: the transaction's number, then the event's.
        let unique = (self.planned.len() as i64 + 1) * 100 + place as i64;
        let value = if self.shape.duplicates && random.chance(40) { random.below(3) as i64 } else { unique };
        let writes = random.chance(writes);
        if self.has_list && random.chance(if self.roles { 20 } else { 50 }) {
            return if writes {
                Step::Append { key: self.keys, element: value }
            } else {
                Step::Read { key: self.keys, locking }
            };
        }
        let key = if self.roles && writes { self.planned.len() % self.keys } else { random.below(self.keys) };
        match writes {
            true => {
                let deletes = (self.shape.ranges || self.shape.statements) && random.chance(30);
                Step::Write { key, value: (!deletes).then_some(value) }
            }
            false if self.shape.ranges && random.chance(30) => Step::Scan { locking },
            false => Step::Read { key, locking },
        }
    }

    /// Decides what the last transaction sees.
    fn open_eyes(&mut self, random: &mut Random) {
        let number = self.planned.len() - 1;
        let session = self.planned[number].session;
        let all_before = |number: usize| (1u64 << number) - 1;
        let mut must: Vec<usize> = (0..number).filter(|&other| self.planned[other].session == session).collect();
        if self.careful {
            must.extend((0..number).filter(|&other| self.conflict(other, number)));
        }
        let least = must.iter().max().map_or(0, |last| last + 1);
        let begin = least + random.below(number + 1 - least);
        let closed = |seen: u64, other: usize| seen | 1 << other | self.planned[other].sees;
        let sees = match self.style {
            Style::Serial => all_before(number),
            Style::Snapshot => all_before(begin),
            Style::Causal => {
                let more = (0..number).filter(|_| random.chance(if self.roles { 40 } else { 20 }));
                must.iter().copied().chain(more).fold(0, closed)
            }
            Style::Atomic | Style::Committed => {
                must.iter().fold(random.next() & all_before(number), |seen, other| seen | 1 << other)
            }
        };
        let planned = &mut self.planned[number];
        planned.sees = sees;
        planned.begin = if self.style == Style::Serial { begin } else { sees.trailing_ones() as usize };
    }

    /// The level that the style keeps, where it keeps one. A locking read sees more than its transaction does: whoever reads from
    /// that transaction would have to see as much.
    fn level(&self) -> Option<IsolationLevel> {
        let locking = self.shape.locking;
        match (self.style, self.careful) {
            (Style::Serial, _) => Some(IsolationLevel::Serializable),
            (Style::Snapshot, true) if !locking => Some(IsolationLevel::Snapshot),
            (Style::Snapshot, _) => Some(IsolationLevel::Prefix),
            (Style::Causal, true) if !locking => Some(IsolationLevel::ParallelSnapshot),
            (Style::Causal, _) if !locking => Some(IsolationLevel::Causal),
            (Style::Causal | Style::Atomic, _) => Some(IsolationLevel::ReadAtomic),
            (Style::Committed, _) => None,
        }
    }

    fn conflict(&self, one: usize, other: usize) -> bool {
        let keys = |number: usize| self.planned[number].steps.iter().filter_map(|step| step.written_key());
        keys(one).any(|key| keys(other).any(|other| other == key))
    }
}

impl Step {
    fn written_key(&self) -> Option<usize> {
        match *self {
            Step::Write { key, .. } | Step::Append { key, .. } => Some(key),
            Step::Read { .. } | Step::Scan { .. } => None,
        }
    }
}
