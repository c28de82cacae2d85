//! A history with its writers chosen, as moments: when each transaction began, what it did when, when it ended.
//!
//! ```text
//!   S ──> 1 ──> 1′ ──> 2 ──> e ──> e ──> 2′ ──> C        S when the first statement starts, before it waits
//!         └ statement 1 └ statement 2                    i when a statement starts, i′ when it has all its locks
//!                                                        e when it looks at one row, where each has a moment of its own
//! ```
//!
//! A transaction that was rolled back or refused has its end at the same place: it held its locks until then, and nobody read from it.

use super::order::{MomentOrder, MomentPair, StoryMoment};
use crate::spec::WantedLock;
use crate::spec::choices::{Choices, ValueSource, may_be_read};
use crate::spec::reading::ends_before;
use rustc_hash::FxHashMap;
use skew_history::{
    Action, Engine, EngineLevel, Event, EventId, History, KeyId, Name, StatementKind, TransactionId, Value, Writer,
};
use std::ops::Range;

/// A history in moments.
pub(super) struct Story<'a> {
    pub(super) history: &'a History,
    /// The transactions that count.
    pub(super) transactions: Vec<StoryTransaction>,
    /// What they did to keys, transaction by transaction.
    pub(super) touches: Vec<Touch>,
    /// Whether real time counts.
    real_time: bool,
    /// The numbers of the events, key by key.
    by_key: Vec<u32>,
    /// Per key where its events begin there, and the end.
    key_starts: Vec<u32>,
    /// Per key the order that lists show.
    pub(super) appenders: Vec<Vec<usize>>,
    /// What refused transactions wanted, as far as it is known.
    pub(super) wanted: &'a [WantedLock],
}

/// A transaction that counts.
pub(super) struct StoryTransaction {
    pub(super) id: TransactionId,
    pub(super) level: EngineLevel,
    pub(super) begin: StoryMoment,
    pub(super) end: StoryMoment,
    /// Whether its changes are for others.
    pub(super) committed: bool,
    /// When its first plain read started.
    pub(super) first_plain_read: Option<StoryMoment>,
}

/// One event.
pub(super) struct Touch {
    pub(super) event: EventId,
    pub(super) transaction: usize,
    pub(super) key: usize,
    pub(super) kind: StatementKind,
    pub(super) deed: Deed,
    /// When the statement started.
    pub(super) start: StoryMoment,
    /// When it looked at this row.
    pub(super) moment: StoryMoment,
    /// When it had all its locks.
    pub(super) held: StoryMoment,
    /// Whether the statement changes the key.
    pub(super) changes_it: bool,
    /// Whether the statement found a row under the key.
    pub(super) found_row: bool,
    /// Whether the statement looks at nothing but this key.
    pub(super) is_alone: bool,
    /// Whether it is the read of another's version after an own change.
    pub(super) beside_own: bool,
}

/// What an event does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Deed {
    Read { from: From, absent: bool, passed: bool, waited: bool },
    Change { absent: bool },
}

/// Where a read comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum From {
    /// The transaction itself.
    Own,
    /// The initial state, or another transaction.
    Version(Option<usize>),
    /// Nowhere: this transaction deleted the row and inserted its key anew.
    Gone(usize),
}

impl<'a> Story<'a> {
    /// The story that a choice of writers leaves; `levels` are those of all transactions of the history.
    pub(super) fn new(
        history: &'a History,
        choices: &Choices,
        levels: &[EngineLevel],
        real_time: bool,
        wanted: &'a [WantedLock],
    ) -> Story<'a> {
        let numbers = CountingNumbers::new(&choices.counts);
        let from = |event: EventId, _: Option<EarlierWrites>| {
            Some(match choices.sources[event.index()].expect("every read is explained") {
                ValueSource::Own => From::Own,
                ValueSource::External(Writer::Initial) => From::Version(None),
                ValueSource::External(Writer::Transaction(writer)) => From::Version(numbers.of(writer)),
                ValueSource::Gone(by) => From::Gone(numbers.of(by)?),
            })
        };
        let mut story = Story::told(history, &choices.counts, levels, &from).expect("every read is explained");
        let rows = choices.appenders.iter();
        story.appenders = rows.map(|row| row.iter().filter_map(|&id| numbers.of(id)).collect()).collect();
        Story { real_time, wanted, ..story }
    }

    /// The story of the transactions that count, with real time; nothing when a read is from nowhere.
    pub(super) fn told(
        history: &'a History,
        counts: &[bool],
        levels: &[EngineLevel],
        from: WhereFrom<'_>,
    ) -> Option<Story<'a>> {
        let rows = rows_of_keys(history, levels.first().map(|level| level.engine()));
        let mut telling = Telling {
            history,
            rows,
            from,
            moments: 0,
            touches: Vec::with_capacity(history.event_count()),
            own: FxHashMap::default(),
            met: FxHashMap::default(),
        };
        let counting = history.transactions().filter(|transaction| counts[transaction.index()]);
        let told = counting.enumerate().map(|(number, id)| telling.transaction(number, id, levels[id.index()]));
        let transactions: Vec<StoryTransaction> = told.collect::<Option<_>>()?;
        let touches = telling.touches;
        let (by_key, key_starts) = by_key(&touches, history.key_count());
        let appenders = vec![Vec::new(); history.key_count()];
        Some(Story { history, transactions, touches, real_time: true, by_key, key_starts, appenders, wanted: &[] })
    }

    /// What sessions and times say of the moments; nothing when that goes round.
    pub(super) fn order(&self) -> Option<MomentOrder> {
        let moments = self.moments();
        let begins: Vec<StoryMoment> = self.transactions.iter().map(|one| one.begin).collect();
        let mut edges: Vec<MomentPair> =
            (1..moments).filter(|moment| !begins.contains(moment)).map(|moment| (moment - 1, moment)).collect();
        for (one, other) in pairs(&self.transactions) {
            let in_session = self.history.session_of(one.id) == self.history.session_of(other.id) && one.id < other.id;
            if in_session || self.real_time && ends_before(self.history, one.id, other.id) {
                edges.push((one.end, other.begin));
            }
        }
        MomentOrder::of(moments).with(&edges)
    }

    /// How many moments there are.
    pub(super) fn moments(&self) -> usize {
        self.transactions.last().map_or(0, |last| last.end + 1)
    }

    /// The transactions that were refused when they wanted to lock a key.
    pub(super) fn refused_over(&self, key: usize) -> impl Iterator<Item = usize> {
        let of_key = self.wanted.iter().filter(move |wanted| wanted.key.index() == key);
        of_key.filter_map(|wanted| self.transactions.iter().position(|one| one.id == wanted.transaction))
    }

    /// All keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = usize> + use<> {
        0..self.history.key_count()
    }

    /// The numbers of the events of a key.
    pub(super) fn numbers_of(&self, key: usize) -> &[u32] {
        &self.by_key[self.key_starts[key] as usize..self.key_starts[key + 1] as usize]
    }

    /// The events of a key.
    pub(super) fn touches_of(&self, key: usize) -> impl Iterator<Item = &Touch> + Clone {
        self.numbers_of(key).iter().map(|&number| &self.touches[number as usize])
    }

    /// The events of a key by one transaction.
    pub(super) fn touches_by(&self, key: usize, transaction: usize) -> impl Iterator<Item = &Touch> + Clone {
        let by = |number: u32| self.touches[number as usize].transaction;
        let numbers = self.numbers_of(key);
        let first = numbers.partition_point(|&number| by(number) < transaction);
        let end = first + numbers[first..].partition_point(|&number| by(number) == transaction);
        numbers[first..end].iter().map(|&number| &self.touches[number as usize])
    }

    /// Whether a transaction changes an entry of an index, `table@index/value`.
    pub(super) fn changes_entry(&self, transaction: usize) -> bool {
        let is_entry = |key: KeyId| matches!(self.history.key_name(key), Name::Text(name) if name.contains('@'));
        let events = self.history.events_of(self.transactions[transaction].id);
        events.iter().any(|event| !event.is_read() && is_entry(event.key))
    }

    /// Whether there is no row under a key at first.
    pub(super) fn is_absent_at_first(&self, key: usize) -> bool {
        self.history.initial(KeyId(key as u32)).is_absent()
    }
}

fn pairs(transactions: &[StoryTransaction]) -> impl Iterator<Item = (&StoryTransaction, &StoryTransaction)> {
    transactions.iter().flat_map(move |one| transactions.iter().map(move |other| (one, other)))
}

/// Where a read is from, and what its own transaction had written to the key by then. Nothing when it is from nowhere.
pub(super) type WhereFrom<'a> = &'a dyn Fn(EventId, Option<EarlierWrites>) -> Option<From>;

/// What a transaction has written to a key so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlierWrites {
    /// The last value.
    pub(super) last: Value,
    /// Whether not all of it are appends.
    pub(super) overwrites: bool,
}

/// What a statement does to a key: whether it changes it, and whether it found a row there.
#[derive(Clone, Copy, Default)]
struct KeyMet {
    changes: bool,
    finds: bool,
}

/// A story as it is told.
struct Telling<'a> {
    history: &'a History,
    /// Per key the row that it belongs to; nothing when every key is a row.
    rows: Option<Vec<usize>>,
    from: WhereFrom<'a>,
    moments: usize,
    touches: Vec<Touch>,
    /// What the transaction has written so far.
    own: FxHashMap<KeyId, EarlierWrites>,
    /// What the statement does.
    met: FxHashMap<KeyId, KeyMet>,
}

impl Telling<'_> {
    fn moment(&mut self) -> StoryMoment {
        self.moments += 1;
        self.moments - 1
    }

    fn transaction(&mut self, number: usize, id: TransactionId, level: EngineLevel) -> Option<StoryTransaction> {
        let begin = self.moment();
        let mut first_plain_read = None;
        self.own.clear();
        let mut events = self.history.event_range(id);
        while !events.is_empty() {
            let statement = first_statement(self.history, events.clone());
            events.start = statement.end;
            let start = self.moment();
            let is_plain = |event: EventId| {
                self.history.event(event).is_read() && self.history.asked(event).kind == StatementKind::Select
            };
            if statement.clone().map(EventId).any(is_plain) {
                first_plain_read.get_or_insert(start);
            }
            self.statement(number, level, statement, start)?;
        }
        let end = self.moment();
        Some(StoryTransaction { id, level, begin, end, committed: may_be_read(self.history, id), first_plain_read })
    }

    /// The moments of a statement after its start.
    fn statement(&mut self, number: usize, level: EngineLevel, events: Range<u32>, start: StoryMoment) -> Option<()> {
        let (mut last, mut row) = (start, None);
        let first = self.touches.len();
        self.meet(events.clone());
        for event in events.map(EventId) {
            let key = self.history.event(event).key.index();
            let its_row = Some(self.rows.as_ref().map_or(key, |rows| rows[key]));
            if its_row != row {
                last = self.moment();
            }
            row = its_row;
            let touch = self.touch(number, event, (start, last))?;
            self.touches.push(touch);
        }
        if level.engine() == Engine::Postgres {
            last = self.moment();
        }
        self.touches[first..].iter_mut().for_each(|touch| touch.held = last);
        Some(())
    }

    /// Notes what a statement does to each key.
    fn meet(&mut self, events: Range<u32>) {
        self.met.clear();
        for number in events.map(EventId) {
            let event = self.history.event(number);
            let met = self.met.entry(event.key).or_default();
            met.changes |= !event.is_read();
            met.finds |= event.is_read() && (!event.value.is_absent() || self.history.asked(number).found);
        }
    }

    fn touch(&mut self, transaction: usize, number: EventId, (start, moment): MomentPair) -> Option<Touch> {
        let &Event { key, value, action, .. } = self.history.event(number);
        let asked = self.history.asked(number);
        let own = self.own.get(&key).copied();
        let deed = match action {
            Action::Write | Action::Append => {
                let overwrites = action == Action::Write || own.is_some_and(|own| own.overwrites);
                self.own.insert(key, EarlierWrites { last: value, overwrites });
                Deed::Change { absent: value.is_absent() }
            }
            Action::Read => Deed::Read {
                from: (self.from)(number, own)?,
                absent: value.is_absent() && !asked.found,
                passed: asked.passed,
                waited: asked.waited,
            },
        };
        let is_external = matches!(deed, Deed::Read { from: From::Version(_), .. });
        let KeyMet { changes, finds } = self.met.get(&key).copied().unwrap_or_default();
        Some(Touch {
            event: number,
            transaction,
            key: key.index(),
            kind: asked.kind,
            deed,
            start,
            moment,
            held: moment,
            changes_it: changes,
            found_row: finds,
            is_alone: self.met.len() == 1,
            beside_own: is_external && own.is_some_and(|own| own.overwrites),
        })
    }
}

/// The numbers of the transactions that count.
pub(super) struct CountingNumbers(Vec<Option<usize>>);

impl CountingNumbers {
    pub(super) fn new(counts: &[bool]) -> CountingNumbers {
        let mut counting = 0..;
        CountingNumbers(counts.iter().map(|&counts| counts.then(|| counting.next()).flatten()).collect())
    }

    pub(super) fn of(&self, transaction: TransactionId) -> Option<usize> {
        self.0[transaction.index()]
    }
}

/// The row that each key is about. PostgreSQL locks a row and its key, `shop/3` and `shop@pkey/3`, at once.
fn rows_of_keys(history: &History, engine: Option<Engine>) -> Option<Vec<usize>> {
    let has_entry = |key: KeyId| matches!(history.key_name(key), Name::Text(name) if name.contains('@'));
    if engine != Some(Engine::Postgres) || !history.keys().any(has_entry) {
        return None;
    }
    let names = history.keys().map(|key| history.key_name(key).to_string());
    let mut rows: FxHashMap<String, usize> = FxHashMap::default();
    let row = |name: String| match name.split_once('@') {
        None => name,
        Some((table, entry)) => format!("{table}{}", entry.find('/').map_or("", |slash| &entry[slash..])),
    };
    let numbered = names.map(|name| {
        let next = rows.len();
        *rows.entry(row(name)).or_insert(next)
    });
    Some(numbered.collect())
}

/// The events of the first statement of these. An event of which nothing is said is a statement of its own.
fn first_statement(history: &History, events: Range<u32>) -> Range<u32> {
    let statement = |event: u32| history.asked(EventId(event)).statement;
    let (first, mut end) = (statement(events.start), events.start + 1);
    while first != 0 && end < events.end && statement(end) == first {
        end += 1;
    }
    events.start..end
}

/// The numbers of the events, key by key, and per key where its events begin, with the end behind.
fn by_key(touches: &[Touch], keys: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; keys + 1];
    touches.iter().for_each(|touch| starts[touch.key + 1] += 1);
    (0..keys).for_each(|key| starts[key + 1] += starts[key]);
    let (mut next, mut numbers) = (starts.clone(), vec![0; touches.len()]);
    for (number, touch) in touches.iter().enumerate() {
        let place = &mut next[touch.key];
        numbers[*place as usize] = number as u32;
        *place += 1;
    }
    (numbers, starts)
}
