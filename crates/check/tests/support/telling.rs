//! From a made-up run to the history that it leaves, mistakes included.
//!
//! ```text
//!   what t4 sees: t1 and t3          x was written by t1, t2, t3      r(x) returns t3's
//!   a mistake                        it sees others for once          r(x) returns t1's
//!   a wild mistake                   any version, or none at all      r(x) returns 99, or what t5 will write
//! ```
//!
//! Lists have one order, the commit order: a read returns all appends up to the last one that it sees.

use super::generator::{Run, Step, Style};
use super::random::Random;
use skew_history::builder::{ClaimedWriter, ScanSpec, ScannedKey};
use skew_history::{
    Action, Asked, Event, History, HistoryBuilder, IsolationLevel, Outcome, StatementKind, Times, Value,
};

/// What a read returned.
#[derive(Clone)]
enum Returned {
    Register(Option<i64>),
    List(Vec<i64>),
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
                .next_back()
                .or_else(|| seen.filter_map(|other| whole(other).next_back()).next())
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
    /// The history that the run leaves.
    pub(super) fn tell(&self, random: &mut Random) -> History {
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
        if self.shape.statements && matches!(planned.outcome, Outcome::AbortedByDatabase) {
            builder.refused("40001", planned.steps.len() as u32);
        }
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
                self.ask(random, builder, place, false);
            }
            Step::Append { key, element } => {
                let key = builder.key(self.name(key).as_str());
                let element = builder.values().integer(element);
                builder.append(key, element);
            }
            Step::Read { key, locking } => {
                if let Some(by) = self.gone(random, number, key) {
                    return self.tell_gone(random, builder, key, place, by);
                }
                let (returned, writer) = self.returned(random, number, place, key, locking);
                let claim = self.claim(random, &returned, writer);
                let key = builder.key(self.name(key).as_str());
                let value = self.value(builder, &returned);
                builder.event(Event { locking, ..Event::new(Action::Read, key, value) });
                // A mistake finds what is not there.
                let is_there = matches!(returned, Returned::Register(Some(_)));
                let finds = !value.is_list() && (is_there && random.chance(40) || random.chance(self.noise / 2));
                let is_list = matches!(returned, Returned::List(_));
                self.ask(random, builder, place, finds && !is_list);
                if let Some(claim) = claim {
                    builder.claim(claim.as_claim());
                }
            }
            Step::Scan { locking } => self.tell_scan(random, builder, number, place, locking),
        }
    }

    /// Says of the last event what its statement asked for.
    fn ask(&self, random: &mut Random, builder: &mut HistoryBuilder, place: usize, found: bool) {
        if !self.shape.statements {
            return;
        }
        let statement = if random.chance(70) { place as u32 + 1 } else { 0 };
        let kind = random.pick(&StatementKind::ALL);
        let (passed, waited) = (random.chance(10), random.chance(10));
        let asked = Asked { statement, kind, passed, waited, found };
        builder.asked(asked).expect("statements are numbered as they come");
    }

    /// Somebody else because of whom a read of the key may find nothing, where that is told.
    fn gone(&self, random: &mut Random, number: usize, key: usize) -> Option<usize> {
        if !self.shape.statements || !random.chance(4 * self.noise) {
            return None;
        }
        let replaces = |other: &usize| {
            let mut written = self.planned[*other].steps.iter().filter_map(|step| match *step {
                Step::Write { key: written, value } if written == key => Some(value),
                _ => None,
            });
            written.any(|value| value.is_none()) && written.any(|value| value.is_some())
        };
        (0..self.planned.len()).filter(|&other| other != number).find(replaces)
    }

    fn tell_gone(&self, random: &mut Random, builder: &mut HistoryBuilder, key: usize, place: usize, by: usize) {
        let key = builder.key(self.name(key).as_str());
        builder.read(key, Value::ABSENT);
        self.ask(random, builder, place, false);
        builder.gone(transaction_name(by).as_str().into()).expect("a read of nothing");
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
