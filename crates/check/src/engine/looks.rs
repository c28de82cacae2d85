//! A history as moments: when each transaction began, what it did when, when it ended.
//!
//! ```text
//!   S ──> 1 ──> e ──> 1′ ──> 2 ──> e ──> e ──> 2′ ──> C        S when the first statement starts, before it waits
//!         └ statement 1      └ statement 2                     i when a statement starts, i′ when it has all its locks (PostgreSQL)
//!                                                              e when it looks at one row
//! ```
//!
//! Moments of one transaction are neighbours, so that "the end" is the one before the next transaction's begin. A *look* is an event with its
//! moments. Most moments do not matter; [`super::nodes`] drops them.

use crate::ids::dense_id;
use crate::resolve::Resolved;
use rustc_hash::FxHashMap;
use skew_history::{Action, Engine, EngineLevel, Event, EventId, History, KeyId, Name, StatementKind, TransactionId};
use std::ops::Range;

dense_id!(
    /// A moment of a transaction.
    Moment
);

impl Moment {
    /// The one before, of the same transaction.
    pub(super) fn previous(self) -> Moment {
        Moment::new(self.index() - 1)
    }

    fn following(self) -> Moment {
        Moment::new(self.index() + 1)
    }
}

/// What an event does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Deed {
    Read { absent: bool, passed: bool, waited: bool },
    Change { absent: bool },
}

/// One event of a transaction that counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct EngineLook {
    pub(super) event: EventId,
    pub(super) transaction: TransactionId,
    pub(super) key: KeyId,
    pub(super) kind: StatementKind,
    pub(super) deed: Deed,
    /// When the statement started.
    pub(super) start: Moment,
    /// When it looked at this row.
    pub(super) moment: Moment,
    /// When it had all its locks.
    pub(super) held: Moment,
    /// Whether the statement changes the key.
    pub(super) changes_it: bool,
    /// Whether the statement found a row under the key.
    pub(super) found_row: bool,
    /// Whether the statement looks at nothing but this key.
    pub(super) is_alone: bool,
}

impl EngineLook {
    pub(super) fn is_change(&self) -> bool {
        matches!(self.deed, Deed::Change { .. })
    }

    /// Whether it looks for rows to lock, as UPDATE does and INSERT does not.
    pub(super) fn is_search(&self) -> bool {
        !matches!(self.kind, StatementKind::Select | StatementKind::Insert | StatementKind::Upsert)
    }

    /// Whether FOR KEY SHARE has found a row. PostgreSQL's read committed returns that as it was when the statement started, however long it waited:
    /// a change that leaves the key alone is none to it.
    pub(super) fn is_key_share_of_row(&self) -> bool {
        let finds = matches!(self.deed, Deed::Read { absent: false, passed: false, .. });
        finds && self.kind == StatementKind::ForKeyShare
    }
}

/// All looks, and the moments of all transactions.
pub(super) struct Looks {
    /// Transaction by transaction, in program order.
    pub(super) all: Vec<EngineLook>,
    /// Per transaction its first look, and the end.
    first_look: Vec<u32>,
    /// Per transaction its first moment, and the end; those that do not count have none.
    first_moment: Vec<Moment>,
    /// Per transaction the start of its first plain read.
    first_plain_read: Vec<Option<Moment>>,
}

impl Looks {
    pub(super) fn new(resolved: &Resolved<'_>, levels: &[EngineLevel]) -> Looks {
        let history = resolved.history;
        let is_postgres = levels.first().is_some_and(|level| level.engine() == Engine::Postgres);
        let rows = is_postgres.then(|| rows_of_keys(history)).flatten();
        let mut telling = MomentTelling {
            history,
            rows,
            next: Moment::new(0),
            looks: Vec::with_capacity(history.event_count()),
            met: FxHashMap::default(),
        };
        let (mut first_look, mut first_moment, mut first_plain_read) = (vec![0], vec![Moment::new(0)], Vec::new());
        for transaction in history.transactions() {
            let counts = resolved.counts(transaction);
            first_plain_read
                .push(counts.then(|| telling.transaction(transaction, levels[transaction.index()])).flatten());
            first_look.push(telling.looks.len() as u32);
            first_moment.push(telling.next);
        }
        Looks { all: telling.looks, first_look, first_moment, first_plain_read }
    }

    pub(super) fn of(&self, transaction: TransactionId) -> &[EngineLook] {
        let at = transaction.index();
        &self.all[self.first_look[at] as usize..self.first_look[at + 1] as usize]
    }

    pub(super) fn moment_count(&self) -> usize {
        self.first_moment[self.first_moment.len() - 1].index()
    }

    /// How many moments a transaction has.
    pub(super) fn moments_of(&self, transaction: TransactionId) -> std::ops::Range<usize> {
        self.begin(transaction).index()..self.first_moment[transaction.index() + 1].index()
    }

    /// The transaction of a moment.
    pub(super) fn transaction_at(&self, moment: Moment) -> TransactionId {
        TransactionId(self.first_moment.partition_point(|&first| first <= moment) as u32 - 1)
    }

    pub(super) fn begin(&self, transaction: TransactionId) -> Moment {
        self.first_moment[transaction.index()]
    }

    pub(super) fn end(&self, transaction: TransactionId) -> Moment {
        Moment::new(self.first_moment[transaction.index() + 1].index() - 1)
    }

    pub(super) fn first_plain_read(&self, transaction: TransactionId) -> Option<Moment> {
        self.first_plain_read[transaction.index()]
    }
}

struct MomentTelling<'h> {
    history: &'h History,
    /// Per key the row that it belongs to; nothing when every key is a row.
    rows: Option<Vec<u32>>,
    next: Moment,
    looks: Vec<EngineLook>,
    /// What a statement does to each key.
    met: FxHashMap<KeyId, Met>,
}

impl MomentTelling<'_> {
    fn moment(&mut self) -> Moment {
        let moment = self.next;
        self.next = moment.following();
        moment
    }

    /// Tells a transaction; when its first plain read started.
    fn transaction(&mut self, transaction: TransactionId, level: EngineLevel) -> Option<Moment> {
        self.moment();
        let history = self.history;
        let is_plain =
            |event: EventId| history.event(event).is_read() && history.asked(event).kind == StatementKind::Select;
        let mut first_plain_read = None;
        let mut rest = history.event_range(transaction);
        while !rest.is_empty() {
            let statement = rest.start..self.end_of_statement(rest.clone());
            rest.start = statement.end;
            let start = self.moment();
            if first_plain_read.is_none() && statement.clone().map(EventId).any(is_plain) {
                first_plain_read = Some(start);
            }
            self.statement(transaction, level.engine(), statement, start);
        }
        self.moment();
        first_plain_read
    }

    /// Where the first statement of these events ends.
    fn end_of_statement(&self, events: Range<u32>) -> u32 {
        let statement = |event: u32| self.history.asked(EventId(event)).statement;
        let first = statement(events.start);
        let mut later = events.start + 1..events.end;
        later.find(|&event| first == 0 || statement(event) != first).unwrap_or(events.end)
    }

    fn statement(&mut self, transaction: TransactionId, engine: Engine, statement: Range<u32>, start: Moment) {
        let first = self.looks.len();
        let alone = (statement.len() == 1).then(|| Met::of(self.history, EventId(statement.start)));
        if alone.is_none() {
            self.meet(statement.clone());
        }
        let is_alone = alone.is_some() || self.met.len() == 1;
        let mut row = None;
        let mut moment = start;
        for event in statement.map(EventId) {
            let key = self.history.event(event).key;
            let its_row = Some(self.rows.as_ref().map_or(key.0, |rows| rows[key.index()]));
            if row != its_row {
                moment = self.moment();
            }
            row = its_row;
            let met = alone.unwrap_or_else(|| self.met[&key]);
            self.looks.push(self.look(transaction, event, (start, moment), met, is_alone));
        }
        let held = if engine == Engine::Postgres { self.moment() } else { moment };
        self.looks[first..].iter_mut().for_each(|look| look.held = held);
    }

    /// Notes what a statement does to each key.
    fn meet(&mut self, statement: Range<u32>) {
        self.met.clear();
        for number in statement.map(EventId) {
            let of_event = Met::of(self.history, number);
            let of_key = self.met.entry(self.history.event(number).key).or_default();
            of_key.changes |= of_event.changes;
            of_key.finds |= of_event.finds;
        }
    }

    fn look(
        &self,
        transaction: TransactionId,
        number: EventId,
        (start, moment): (Moment, Moment),
        met: Met,
        is_alone: bool,
    ) -> EngineLook {
        let event = self.history.event(number);
        let asked = self.history.asked(number);
        let deed = match event.action {
            Action::Read => Deed::Read {
                absent: event.value.is_absent() && !asked.found,
                passed: asked.passed,
                waited: asked.waited,
            },
            Action::Write | Action::Append => Deed::Change { absent: event.value.is_absent() },
        };
        let Event { key, .. } = *event;
        let Met { changes, finds } = met;
        let kind = asked.kind;
        EngineLook {
            event: number,
            transaction,
            key,
            kind,
            deed,
            start,
            moment,
            held: moment,
            changes_it: changes,
            found_row: finds,
            is_alone,
        }
    }
}

/// What a statement does to a key: whether it changes it, and whether it found a row there.
#[derive(Clone, Copy, Default)]
struct Met {
    changes: bool,
    finds: bool,
}

impl Met {
    fn of(history: &History, number: EventId) -> Met {
        let event = history.event(number);
        let finds = event.is_read() && (!event.value.is_absent() || history.asked(number).found);
        Met { changes: !event.is_read(), finds }
    }
}

/// PostgreSQL locks a row and its key (`shop/3`, `shop@pkey/3`) at once: keys of one row have one number.
fn rows_of_keys(history: &History) -> Option<Vec<u32>> {
    let has_entry = |key: KeyId| matches!(history.key_name(key), Name::Text(name) if name.contains('@'));
    if !history.keys().any(has_entry) {
        return None;
    }
    let names = history.keys().map(|key| history.key_name(key).to_string());
    let mut numbers: FxHashMap<String, u32> = FxHashMap::default();
    let mut number = |row: String| {
        let next = numbers.len() as u32;
        *numbers.entry(row).or_insert(next)
    };
    let rows = names.map(|name| match name.split_once('@') {
        None => number(name),
        Some((table, entry)) => number(format!("{table}{}", entry.find('/').map_or("", |slash| &entry[slash..]))),
    });
    Some(rows.collect())
}
