//! The levels of the engines, re-checked by the definition itself.
//!
//! That one server can show a history is shown by a schedule: all moments of all transactions in a row, along which the definition walks once, however
//! long it is. That it cannot is shown by a few transactions of which the definition says so, because all their lock orders were tried. For that
//! they have to be *closed*: if the whole history were possible, so would be its closed parts; and *few*: what has more lock orders than can be tried is
//! not believed.
//!
//! ```text
//!   t1: UPDATE x      t2: SELECT x (t1's)      t3: SELECT x (t1's)          {t2} needs t1; {t1, t2} is closed
//! ```

use crate::commit_order::{CommitOrder, Instant};
use crate::levels::on_server;
use crate::spec::{self, Attention};
use rustc_hash::{FxHashMap, FxHashSet};
use skew_history::{
    Action, EngineLevel, Event, EventId, History, IsolationLevel, KeyId, Outcome, StatementKind, TransactionId, Value,
    Writer,
};

/// More transactions than this are too many for the definition.
const MOST: usize = 63;

/// So few transactions can always be tried.
pub(crate) const FEW: usize = 6;

/// So many ways to order locks and to say who wrote what was read the definition tries of more transactions.
const MOST_WAYS: u64 = 50_000;

/// Whether an order of moments shows that one server can show a history.
pub(super) fn justifies(order: &CommitOrder, history: &History, levels: &[EngineLevel]) -> bool {
    let step = |instant: &Instant| match *instant {
        Instant::Step(transaction) => Some(transaction),
        Instant::Begin(_) | Instant::Commit(_) => None,
    };
    let steps: Option<Vec<TransactionId>> = order.instants.iter().map(step).collect();
    steps.is_some_and(|steps| spec::came_about(history, levels, &steps, &order.choices, Attention::Full))
}

/// Whether these transactions, on their own, are more than one server can show.
pub(super) fn refutes(transactions: &[TransactionId], history: &History, level: IsolationLevel) -> bool {
    let exist = transactions.iter().all(|transaction| transaction.index() < history.transaction_count());
    if !exist || transactions.len() > MOST {
        return false;
    }
    let alone: FxHashSet<TransactionId> = transactions.iter().copied().collect();
    let Some(levels) = on_server(history, level) else { return false };
    let needs = Needs::new(history, &levels);
    let is_closed = alone.iter().all(|&transaction| needs.of(transaction).is_subset(&alone));
    is_closed && {
        let (part, origin) = history.restrict(&events_of(history, &alone));
        let levels: Vec<EngineLevel> = origin.iter().map(|transaction| levels[transaction.index()]).collect();
        can_be_tried(&part) && !spec::might_allow_engine_levels(&part, &levels, true)
    }
}

/// Whether the definition can try all there is to try in a history: the orders in which transactions locked each key, and who wrote what was read.
pub(crate) fn can_be_tried(history: &History) -> bool {
    if history.transaction_count() <= FEW || history.transaction_count() > MOST {
        return history.transaction_count() <= FEW;
    }
    let mut touching: FxHashSet<(KeyId, TransactionId)> = FxHashSet::default();
    let mut written: FxHashMap<(KeyId, Value), u64> = FxHashMap::default();
    for transaction in history.transactions() {
        for event in history.events_of(transaction) {
            touching.insert((event.key, transaction));
            if !event.is_read() {
                *written.entry((event.key, event.value)).or_default() += 1;
            }
        }
    }
    let mut ways = 1u64;
    let mut locking: FxHashMap<KeyId, u64> = FxHashMap::default();
    for (key, _) in touching {
        // One more who locks the key stands at one of so many places.
        let places = locking.entry(key).or_default();
        *places += 1;
        ways = ways.saturating_mul(*places);
    }
    let reads =
        history.transactions().flat_map(|transaction| history.events_of(transaction)).filter(|event| event.is_read());
    for read in reads {
        let initially = u64::from(history.may_return(read.value, history.initial(read.key)));
        let writers = match read.value.is_found() {
            true => locking.get(&read.key).copied().unwrap_or(0),
            false => written.get(&(read.key, read.value)).copied().unwrap_or(0),
        };
        ways = ways.saturating_mul((writers + initially).max(1));
    }
    ways <= MOST_WAYS
}

/// The events of some transactions.
pub(crate) fn events_of(history: &History, transactions: &FxHashSet<TransactionId>) -> Vec<EventId> {
    let kept = history.transactions().filter(|transaction| transactions.contains(transaction));
    kept.flat_map(|transaction| history.event_range(transaction)).map(EventId).collect()
}

/// What transactions need, so that they mean the same without the others.
pub(crate) struct Needs<'h> {
    history: &'h History,
    levels: &'h [EngineLevel],
    /// Per key who touches it.
    touching: Vec<Vec<TransactionId>>,
    /// Keys that somebody changes without having read them.
    blind: FxHashSet<KeyId>,
    /// Keys that somebody inserts without having read them.
    inserted: FxHashSet<KeyId>,
    /// Whether not all are at one level.
    mixes: bool,
}

impl<'h> Needs<'h> {
    pub(crate) fn new(history: &'h History, levels: &'h [EngineLevel]) -> Needs<'h> {
        let mut touching: Vec<Vec<TransactionId>> = vec![Vec::new(); history.key_count()];
        let (mut blind, mut inserted) = (FxHashSet::default(), FxHashSet::default());
        for transaction in history.transactions() {
            let mut known: FxHashSet<KeyId> = FxHashSet::default();
            for (number, event) in history.numbered_events_of(transaction) {
                if known.insert(event.key) {
                    touching[event.key.index()].push(transaction);
                    if !event.is_read() {
                        blind.insert(event.key);
                        inserted.extend(inserts(history, number).then_some(event.key));
                    }
                }
            }
        }
        let mixes = levels.iter().any(|level| *level != levels[0]);
        Needs { history, levels, touching, blind, inserted, mixes }
    }

    /// Whoever touches a key that some of these touch.
    pub(crate) fn neighbours(&self, transactions: &FxHashSet<TransactionId>) -> Vec<TransactionId> {
        let events = transactions.iter().flat_map(|&one| self.history.events_of(one));
        let keys: FxHashSet<KeyId> = events.map(|event| event.key).collect();
        keys.into_iter().flat_map(|key| self.touching[key.index()].iter().copied()).collect()
    }

    /// A transaction with everybody that it needs.
    pub(crate) fn of(&self, transaction: TransactionId) -> FxHashSet<TransactionId> {
        self.of_at_most(transaction, usize::MAX).unwrap_or_default()
    }

    /// A transaction with everybody that it needs, if they are no more than so many.
    pub(crate) fn of_at_most(&self, transaction: TransactionId, most: usize) -> Option<FxHashSet<TransactionId>> {
        let mut needed: FxHashSet<TransactionId> = FxHashSet::default();
        let mut pending = vec![transaction];
        while let Some(next) = pending.pop() {
            if needed.insert(next) {
                if needed.len() > most {
                    return None;
                }
                for (number, event) in self.history.numbered_events_of(next) {
                    pending.extend(self.of_event(next, number, event).into_iter().filter(|one| !needed.contains(one)));
                }
            }
        }
        Some(needed)
    }

    fn of_event(&self, transaction: TransactionId, number: EventId, event: &Event) -> Vec<TransactionId> {
        let asked = self.history.asked(number);
        let level = self.levels[transaction.index()];
        let looks_for_rows =
            !matches!(asked.kind, StatementKind::Select | StatementKind::Insert | StatementKind::Upsert);
        let is_search = event.is_read() && looks_for_rows;
        // Which row it was depends on everybody who came before, and whom it waited for on everybody.
        let all = level == EngineLevel::PostgresReadCommitted && is_search && self.blind.contains(&event.key)
            || level == EngineLevel::MysqlReadCommitted && asked.waited;
        // Who changed next what it read, as far as that is noticed.
        let may_be_hidden = level == EngineLevel::PostgresSerializable
            && event.is_read()
            && (self.mixes || self.inserted.contains(&event.key));
        let others = self.touching[event.key.index()].iter().copied().filter(|&other| other != transaction);
        let matters = |other: TransactionId| all || may_be_hidden && self.hides(other, event.key);
        others.filter(|&other| matters(other) || self.matters(level, number, event, other)).collect()
    }

    /// Whether PostgreSQL's serializable may not notice who changes a key after this one did.
    fn hides(&self, other: TransactionId, key: KeyId) -> bool {
        let mut changes =
            self.history.numbered_events_of(other).filter(|(_, event)| event.key == key && !event.is_read());
        let is_other_level = self.levels[other.index()] != EngineLevel::PostgresSerializable;
        changes.next().is_some_and(|(number, _)| is_other_level || inserts(self.history, number))
    }

    /// Whether an event may be about what another transaction wrote to the key.
    fn matters(&self, level: EngineLevel, number: EventId, event: &Event, other: TransactionId) -> bool {
        let mut writes =
            self.history.events_of(other).iter().filter(|write| write.key == event.key && !write.is_read());
        let may_be_read = matches!(self.history.outcome(other), Outcome::Committed | Outcome::Unknown);
        if !may_be_read {
            return false;
        }
        let is_snapshot = matches!(level, EngineLevel::PostgresRepeatableRead | EngineLevel::PostgresSerializable);
        if !event.is_read() {
            // After an own INSERT the snapshot still has no row.
            return is_snapshot && writes.next_back().is_some_and(|last| last.value.is_absent());
        }
        let is_claimed = match self.history.claim(number) {
            None => true,
            Some(Writer::Initial) => event.value.is_list(),
            Some(Writer::Transaction(writer)) => writer == other || event.value.is_list(),
        };
        let is_gone = self.history.gone(number);
        let returns = |write: &Event| match write.action {
            Action::Append => self.history.elements(event.value).contains(&write.value),
            _ => self.history.may_return(event.value, write.value),
        };
        match is_gone {
            Some(by) => by == other,
            None => is_claimed && writes.any(returns),
        }
    }
}

/// Whether an event is of a statement that inserts.
fn inserts(history: &History, event: EventId) -> bool {
    matches!(history.asked(event).kind, StatementKind::Insert | StatementKind::Upsert)
}
