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
use crate::spec::choices::{Choices, ValueSource, may_be_read, own_writes_before};
use crate::spec::reading::ends_before;
use skew_history::{Action, Engine, EngineLevel, EventId, History, KeyId, StatementKind, TransactionId, Writer};

/// A history in moments.
pub(super) struct Story<'a> {
    pub(super) history: &'a History,
    /// The transactions that count.
    pub(super) transactions: Vec<StoryTransaction>,
    /// What they did to keys, transaction by transaction.
    pub(super) touches: Vec<Touch>,
    /// Moments of one transaction, of one session, and of real time.
    pub(super) edges: Vec<MomentPair>,
    /// Per key its events, by number.
    by_key: Vec<Vec<usize>>,
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
        let counting: Vec<TransactionId> =
            history.transactions().filter(|transaction| choices.counts[transaction.index()]).collect();
        let number = |id: TransactionId| counting.iter().position(|&one| one == id).expect("what was read counts");
        let mut telling =
            Telling { history, choices, number: &number, moments: 0, edges: Vec::new(), touches: Vec::new() };
        let transactions: Vec<StoryTransaction> =
            counting.iter().map(|&id| telling.transaction(id, levels[id.index()])).collect();
        for (one, other) in pairs(&transactions) {
            let in_session = history.session_of(one.id) == history.session_of(other.id) && one.id < other.id;
            if in_session || real_time && ends_before(history, one.id, other.id) {
                telling.edges.push((one.end, other.begin));
            }
        }
        let Telling { edges, touches, .. } = telling;
        let mut by_key = vec![Vec::new(); history.key_count()];
        touches.iter().enumerate().for_each(|(number, touch)| by_key[touch.key].push(number));
        let rows = choices.appenders.iter();
        let appenders = rows.map(|row| row.iter().map(|&id| number(id)).collect()).collect();
        Story { history, transactions, touches, edges, by_key, appenders, wanted }
    }

    /// What sessions and times say of the moments; nothing when that goes round.
    pub(super) fn order(&self) -> Option<MomentOrder> {
        let moments = self.transactions.last().map_or(0, |last| last.end + 1);
        MomentOrder::of(moments).with(&self.edges)
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

    /// The events of a key.
    pub(super) fn touches_of(&self, key: usize) -> impl Iterator<Item = &Touch> + Clone {
        self.by_key[key].iter().map(|&number| &self.touches[number])
    }

    /// Whether there is no row under a key at first.
    pub(super) fn is_absent_at_first(&self, key: usize) -> bool {
        self.history.initial(KeyId(key as u32)).is_absent()
    }
}

fn pairs(transactions: &[StoryTransaction]) -> impl Iterator<Item = (&StoryTransaction, &StoryTransaction)> {
    transactions.iter().flat_map(move |one| transactions.iter().map(move |other| (one, other)))
}

/// A story as it is told.
struct Telling<'a> {
    history: &'a History,
    choices: &'a Choices,
    number: &'a dyn Fn(TransactionId) -> usize,
    moments: usize,
    edges: Vec<MomentPair>,
    touches: Vec<Touch>,
}

impl Telling<'_> {
    /// A moment after another.
    fn after(&mut self, earlier: StoryMoment) -> StoryMoment {
        self.moments += 1;
        self.edges.push((earlier, self.moments - 1));
        self.moments - 1
    }

    fn transaction(&mut self, id: TransactionId, level: EngineLevel) -> StoryTransaction {
        let begin = self.moments;
        self.moments += 1;
        let (mut last, mut first_plain_read) = (begin, None);
        for statement in statements(self.history, id) {
            let start = self.after(last);
            let is_plain = |&event: &EventId| {
                self.history.event(event).is_read() && self.history.asked(event).kind == StatementKind::Select
            };
            if statement.iter().any(is_plain) {
                first_plain_read.get_or_insert(start);
            }
            last = self.statement(id, level, &statement, start);
        }
        let end = self.after(last);
        StoryTransaction { id, level, begin, end, committed: may_be_read(self.history, id), first_plain_read }
    }

    /// The moments of a statement after its start; the last of them.
    fn statement(
        &mut self,
        id: TransactionId,
        level: EngineLevel,
        events: &[EventId],
        start: StoryMoment,
    ) -> StoryMoment {
        let (mut last, mut row) = (start, None);
        let first = self.touches.len();
        for &event in events {
            let its_row = Some(self.row_of(event, level.engine()));
            if its_row != row {
                last = self.after(last);
            }
            row = its_row;
            let touch = self.touch(id, events, event, (start, last));
            self.touches.push(touch);
        }
        if level.engine() == Engine::Postgres {
            last = self.after(last);
        }
        self.touches[first..].iter_mut().for_each(|touch| touch.held = last);
        last
    }

    /// The row that an event is about. PostgreSQL locks a row and its key, `shop/3` and `shop@pkey/3`, at once.
    fn row_of(&self, event: EventId, engine: Engine) -> String {
        let name = self.history.key_name(self.history.event(event).key).to_string();
        let Some((table, entry)) = name.split_once('@').filter(|_| engine == Engine::Postgres) else { return name };
        let of_row = entry.find('/').map_or("", |slash| &entry[slash..]);
        format!("{table}{of_row}")
    }

    fn touch(&self, id: TransactionId, statement: &[EventId], number: EventId, when: MomentPair) -> Touch {
        let event = self.history.event(number);
        let asked = self.history.asked(number);
        let of_key = || statement.iter().filter(|&&other| self.history.event(other).key == event.key);
        let deed = match event.action {
            Action::Write | Action::Append => Deed::Change { absent: event.value.is_absent() },
            Action::Read => Deed::Read {
                from: self.from(number),
                absent: event.value.is_absent() && !asked.found,
                passed: asked.passed,
                waited: asked.waited,
            },
        };
        let finds = |&other: &EventId| {
            let read = self.history.event(other);
            read.is_read() && (!read.value.is_absent() || self.history.asked(other).found)
        };
        let own_writes = own_writes_before(self.history, number);
        let is_external = matches!(deed, Deed::Read { from: From::Version(_), .. });
        Touch {
            transaction: (self.number)(id),
            key: event.key.index(),
            kind: asked.kind,
            deed,
            start: when.0,
            moment: when.1,
            held: when.1,
            changes_it: of_key().any(|&other| !self.history.event(other).is_read()),
            found_row: of_key().any(finds),
            beside_own: is_external && own_writes.iter().any(|write| write.action == Action::Write),
        }
    }

    fn from(&self, event: EventId) -> From {
        match self.choices.sources[event.index()].expect("every read is explained") {
            ValueSource::Own => From::Own,
            ValueSource::External(Writer::Initial) => From::Version(None),
            ValueSource::External(Writer::Transaction(writer)) => From::Version(Some((self.number)(writer))),
            ValueSource::Gone(by) => From::Gone((self.number)(by)),
        }
    }
}

/// The events of a transaction, statement by statement. An event of which nothing is said is a statement of its own.
fn statements(history: &History, transaction: TransactionId) -> Vec<Vec<EventId>> {
    let mut statements: Vec<Vec<EventId>> = Vec::new();
    for (event, _) in history.numbered_events_of(transaction) {
        let statement = history.asked(event).statement;
        match statements.last_mut().filter(|last| statement != 0 && history.asked(last[0]).statement == statement) {
            Some(last) => last.push(event),
            None => statements.push(vec![event]),
        }
    }
    statements
}
