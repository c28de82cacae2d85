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
use skew_history::builder::{ClaimedWriter, ScanSpec, ScannedKey};
use skew_history::{Action, Event, History, HistoryBuilder, IsolationLevel, Outcome, Times, Value};

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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
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
struct Planned {
    session: usize,
    outcome: Outcome,
    /// Whether others see its writes.
    applied: bool,
    /// All before this number are seen.
    begin: usize,
    /// The numbers of the transactions that it sees, as bits.
    sees: u64,
    steps: Vec<Step>,
}

#[derive(Clone, Copy)]
enum Step {
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

/// What a read returned, and from which transaction.
#[derive(Clone)]
enum Returned {
    Register(Option<i64>),
    List(Vec<i64>),
}

struct Run {
    shape: Shape,
    style: Style,
    /// How many reads in a hundred are told wrong.
    noise: usize,
    /// How many events in a hundred are writes.
    writes: usize,
    /// Whether some write and then others read, all in different sessions: what it takes for a long fork.
    roles: bool,
    keys: usize,
    /// The last key is a list.
    has_list: bool,
    initial: Vec<Option<i64>>,
    initial_list: Vec<i64>,
    planned: Vec<Planned>,
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
            keys,
            has_list: shape.lists && random.chance(80),
            initial: (0..keys).map(|_| random.chance(30).then(|| random.below(2) as i64)).collect(),
            initial_list: if random.chance(15) { vec![-1, -2][..random.up_to(2)].to_vec() } else { Vec::new() },
            planned: Vec::new(),
        };
        let sessions = random.mostly(shape.sessions);
        let careful = random.chance(40);
        for _ in 0..random.mostly(shape.transactions) {
            run.plan(random, sessions, careful);
        }
        run
    }

    fn plan(&mut self, random: &mut Random, sessions: usize, careful: bool) {
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
        self.open_eyes(random, careful);
    }

    fn step(&self, random: &mut Random, place: usize, writes: usize) -> Step {
        let locking = self.shape.locking && random.chance(35);
        // Unique: the transaction's number, then the event's.
        let unique = (self.planned.len() as i64 + 1) * 10 + place as i64;
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
            true => Step::Write { key, value: (!(self.shape.ranges && random.chance(30))).then_some(value) },
            false if self.shape.ranges && random.chance(30) => Step::Scan { locking },
            false => Step::Read { key, locking },
        }
    }

    /// Decides what the last transaction sees.
    fn open_eyes(&mut self, random: &mut Random, careful: bool) {
        let number = self.planned.len() - 1;
        let session = self.planned[number].session;
        let all_before = |number: usize| (1u64 << number) - 1;
        let previous = (0..number).rev().find(|&other| self.planned[other].session == session);
        let mut must: Vec<usize> = previous.into_iter().collect();
        if careful {
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

/// Reading in the run.
impl Run {
    /// What the read at `place` of a transaction returns, and who wrote it; nobody is the initial state.
    fn returned(
        &self,
        random: &mut Random,
        number: usize,
        place: usize,
        key: usize,
        locking: bool,
    ) -> (Returned, Option<usize>) {
        let mut sees = match self.style {
            _ if locking => (1 << number) - 1,
            Style::Committed => random.next() & ((1 << number) - 1),
            _ => self.planned[number].sees,
        };
        let mistake = random.chance(self.noise);
        if mistake {
            sees = random.next() & ((1 << number) - 1);
        }
        let wild = mistake && random.chance(25);
        if key == self.keys {
            self.list(random, number, place, sees, wild)
        } else {
            self.register(random, number, place, key, sees, wild)
        }
    }

    fn register(
        &self,
        random: &mut Random,
        number: usize,
        place: usize,
        key: usize,
        sees: u64,
        wild: bool,
    ) -> (Returned, Option<usize>) {
        let writes = |number: usize, steps: usize| {
            let steps = self.planned[number].steps[..steps].iter();
            steps.filter_map(move |step| match *step {
                Step::Write { key: written, value } if written == key => Some((value, Some(number))),
                _ => None,
            })
        };
        let whole = |number: usize| writes(number, self.planned[number].steps.len());
        let initial = (self.initial[key], None);
        let (value, writer) = if wild {
            // Any version at all: aborted, intermediate, of the future; or one that nobody wrote.
            let mut versions: Vec<(Option<i64>, Option<usize>)> = (0..self.planned.len()).flat_map(whole).collect();
            versions.extend([initial, (Some(99), None)]);
            random.pick(&versions)
        } else {
            let seen = (0..number).rev().filter(|&other| sees & 1 << other != 0 && self.planned[other].applied);
            writes(number, place)
                .last()
                .or_else(|| seen.filter_map(|other| whole(other).last()).next())
                .unwrap_or(initial)
        };
        (Returned::Register(value), writer)
    }

    fn list(
        &self,
        random: &mut Random,
        number: usize,
        place: usize,
        sees: u64,
        wild: bool,
    ) -> (Returned, Option<usize>) {
        let appends = |number: usize, steps: usize| {
            let steps = self.planned[number].steps[..steps].iter();
            steps.filter_map(|step| if let Step::Append { element, .. } = *step { Some(element) } else { None })
        };
        let whole = |number: usize| appends(number, self.planned[number].steps.len());
        let appender = |other: &usize| self.planned[*other].applied && whole(*other).next().is_some();
        let mut last = (0..number).rev().filter(appender).find(|&other| sees & 1 << other != 0);
        let upto = last.map_or(0, |last| last + 1);
        let mut elements = self.initial_list.clone();
        elements.extend((0..upto).filter(appender).flat_map(whole));
        elements.extend(appends(number, place));
        if appends(number, place).next().is_some() {
            last = Some(number);
        }
        if wild {
            self.spoil(random, &mut elements);
        }
        (Returned::List(elements), last)
    }

    fn spoil(&self, random: &mut Random, elements: &mut Vec<i64>) {
        let place = random.below(elements.len() + 1);
        match random.below(5) {
            0 => elements.truncate(place),
            1 => elements.insert(place, 99),
            2 => elements.reverse(),
            3 if place < elements.len() => drop(elements.remove(place)),
            _ => elements.extend(elements.first().copied()),
        }
    }
}

/// From the run to the history.
impl Run {
    fn tell(&self, random: &mut Random) -> History {
        let mut builder = HistoryBuilder::new();
        for (key, initial) in self.initial.iter().enumerate() {
            let key = builder.key(key_name(key).as_str());
            let initial = self.value(&mut builder, &Returned::Register(*initial));
            builder.initial(key, initial);
        }
        if self.has_list && !self.initial_list.is_empty() {
            let key = builder.key("list");
            let initial = self.value(&mut builder, &Returned::List(self.initial_list.clone()));
            builder.initial(key, initial);
        }
        let parallel = random.chance(15);
        for number in 0..self.planned.len() {
            self.tell_transaction(random, &mut builder, number, parallel);
        }
        builder.finish().expect("a well-formed history")
    }

    fn tell_transaction(&self, random: &mut Random, builder: &mut HistoryBuilder, number: usize, parallel: bool) {
        use IsolationLevel::*;
        let planned = &self.planned[number];
        let session = builder.session(format!("s{}", planned.session).as_str());
        builder.begin(session, Some(transaction_name(number).as_str().into())).expect("names are unique");
        builder.outcome(planned.outcome);
        if self.shape.declared {
            let level = random.pick(&[ReadCommitted, ReadAtomic, Causal, Prefix, Snapshot, Serializable]);
            builder.level(if parallel { ParallelSnapshot } else { level });
        }
        if self.shape.times {
            builder.times(self.times(random, number)).expect("times are in order");
        }
        for place in 0..planned.steps.len() {
            self.tell_step(random, builder, number, place);
        }
    }

    fn tell_step(&self, random: &mut Random, builder: &mut HistoryBuilder, number: usize, place: usize) {
        match self.planned[number].steps[place] {
            Step::Write { key, value } => {
                let key = builder.key(self.name(key).as_str());
                let value = self.value(builder, &Returned::Register(value));
                builder.write(key, value);
            }
            Step::Append { key, element } => {
                let key = builder.key(self.name(key).as_str());
                let element = builder.values().integer(element);
                builder.append(key, element);
            }
            Step::Read { key, locking } => {
                let (returned, writer) = self.returned(random, number, place, key, locking);
                let claim = self.claim(random, &returned, writer);
                let key = builder.key(self.name(key).as_str());
                let value = self.value(builder, &returned);
                builder.event(Event { locking, ..Event::new(Action::Read, key, value) });
                if let Some(claim) = claim {
                    builder.claim(claim.as_claim());
                }
            }
            Step::Scan { locking } => self.tell_scan(random, builder, number, place, locking),
        }
    }

    fn tell_scan(&self, random: &mut Random, builder: &mut HistoryBuilder, number: usize, place: usize, locking: bool) {
        let mut listed = Vec::new();
        for key in 0..self.keys {
            let (returned, writer) = self.returned(random, number, place, key, locking);
            let claim = self.claim(random, &returned, writer);
            let value = self.value(builder, &returned);
            if !value.is_absent() || claim.is_some() {
                listed.push((key_name(key), value, claim));
            }
        }
        let listed: Vec<ScannedKey<'_>> = listed
            .iter()
            .map(|(key, value, claim)| ScannedKey { key, value: *value, writer: claim.as_ref().map(Claim::as_claim) })
            .collect();
        builder
            .scan(ScanSpec { prefix: "k/", locking, ..ScanSpec::default() }, &listed)
            .expect("all keys are in the range");
    }

    fn claim(&self, random: &mut Random, returned: &Returned, writer: Option<usize>) -> Option<Claim> {
        let is_thin_air = matches!(returned, Returned::Register(Some(99)));
        if !self.shape.claims || is_thin_air || !random.chance(40) {
            return None;
        }
        let wrong = random.chance(self.noise / 4);
        let writer = if wrong { Some(random.below(self.planned.len())) } else { writer };
        Some(Claim(writer.map(transaction_name)))
    }

    fn name(&self, key: usize) -> String {
        if key == self.keys { "list".to_owned() } else { key_name(key) }
    }

    fn value(&self, builder: &mut HistoryBuilder, returned: &Returned) -> Value {
        match returned {
            Returned::Register(None) => Value::ABSENT,
            Returned::Register(Some(value)) => builder.values().integer(*value),
            Returned::List(elements) => {
                let elements: Vec<Value> = elements.iter().map(|&element| builder.values().integer(element)).collect();
                builder.values().list(elements)
            }
        }
    }

    /// Transaction n commits just before 10 · (n + 1); it began after the last of those that it sees without a gap.
    fn times(&self, random: &mut Random, number: usize) -> Times {
        let (mut begin, mut end) = (10 * self.planned[number].begin as i64 + 5, 10 * number as i64 + 10);
        if random.chance(20) {
            begin = (begin + random.below(20) as i64).min(end);
            end += random.below(20) as i64 - 10;
        }
        let known = |random: &mut Random, time: i64| random.chance(90).then_some(time);
        Times { begin: known(random, begin.min(end)), end: known(random, end) }
    }
}

/// A claim that owns its name; without one it is the initial state.
struct Claim(Option<String>);

impl Claim {
    fn as_claim(&self) -> ClaimedWriter<'_> {
        self.0.as_deref().map_or(ClaimedWriter::Initial, |name| ClaimedWriter::Transaction(name.into()))
    }
}

fn key_name(key: usize) -> String {
    format!("k/{key}")
}

fn transaction_name(number: usize) -> String {
    format!("t{}", number + 1)
}
