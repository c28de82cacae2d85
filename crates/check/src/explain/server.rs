//! What is impossible on a server, made small and told in its words: locks, snapshots, waits.
//!
//! ```text
//!   t1 had its lock on x before t2:
//!      t1 → t2 (lock on x)   t2 could lock x only after t1 had ended
//!      t2 → t1 (rw on x)     t2 read x = 0, which t1 overwrote with 1
//! ```
//!
//! Transactions are whole here: which statement comes first, and what it locks, depends on all of them. Only what a SELECT of PostgreSQL returned
//! can be left out one by one.

use super::classify::{classify, is_one_version};
use super::tell::Teller;
use crate::anomaly::{Anomaly, Refutation};
use crate::budget::Budget;
use crate::counterexample::{AnomalyKind, Case, Counterexample, DependencyKind, Told};
use crate::engine::{ServerEdge, ServerQuestion, ServerReason, cases};
use crate::levels::on_server;
use crate::resolve::{Assumed, Unexplained, resolve};
use crate::verdict::Verdict;
use skew_history::{
    Engine, EngineLevel, EventId, History, IsolationLevel, KeyId, Outcome, StatementKind, TransactionId, Writer,
};

/// Makes small and tells what these transactions show on their own.
pub(super) fn explain(
    history: &History,
    level: IsolationLevel,
    alone: &[TransactionId],
    budget: Budget<'_>,
) -> Counterexample {
    let kept = history.transactions().filter(|transaction| alone.contains(transaction));
    let events: Vec<EventId> = kept.flat_map(|transaction| history.event_range(transaction)).map(EventId).collect();
    let small = without_reads(history.restrict(&events).0, level, budget);
    let levels = on_server(&small, level).unwrap_or_default();
    let cases = told(&small, level, &levels);
    let refutation = Refutation::Alone(small.transactions().collect());
    let anomaly = Anomaly { level, refutation };
    let kind = named(&small, history, level, &anomaly, &cases);
    Counterexample { level, kind, history: small, anomaly, cases }
}

/// Leaves out what SELECTs returned, as long as the rest is impossible. InnoDB takes its snapshot with the first of them, so there they stay.
fn without_reads(mut history: History, level: IsolationLevel, budget: Budget<'_>) -> History {
    let is_postgres = |history: &History| {
        on_server(history, level).is_some_and(|levels| levels.iter().all(|level| level.engine() == Engine::Postgres))
    };
    let mut number = 0;
    while is_postgres(&history) && number < history.event_count() && !budget.is_stopped() {
        let event = EventId(number as u32);
        let is_plain = history.event(event).is_read() && history.asked(event).kind == StatementKind::Select;
        let kept: Vec<EventId> = (0..history.event_count() as u32).map(EventId).filter(|one| *one != event).collect();
        let part = (is_plain && !kept.is_empty()).then(|| history.restrict(&kept).0);
        match part.filter(|part| part.transaction_count() == history.transaction_count() && fails(part, level, budget))
        {
            Some(part) => history = part,
            None => number += 1,
        }
    }
    history
}

fn fails(history: &History, level: IsolationLevel, budget: Budget<'_>) -> bool {
    matches!(crate::check(history, level, Budget { progress: None, ..budget }), Verdict::Fails(_))
}

/// The name that the papers' levels give it; one of its own where they see nothing wrong.
fn named(small: &History, whole: &History, level: IsolationLevel, anomaly: &Anomaly, cases: &[Case]) -> AnomalyKind {
    let kinds = || cases.iter().flat_map(|case| &case.edges).map(|edge| edge.kind);
    if loses_update(small) {
        return AnomalyKind::LostUpdate;
    }
    match classify(small, whole, level, anomaly) {
        AnomalyKind::DependencyCycle if kinds().any(|kind| kind == DependencyKind::RealTime) => {
            AnomalyKind::RealTimeViolation
        }
        AnomalyKind::DependencyCycle if kinds().any(|kind| kind == DependencyKind::Lock) => AnomalyKind::BrokenLock,
        kind => kind,
    }
}

/// Whether two have locked the same version of a key and changed it: what no server lets happen, and the papers' levels call by other names when one
/// of them has read the key before.
fn loses_update(history: &History) -> bool {
    let committed = |transaction: &TransactionId| history.outcome(*transaction) == Outcome::Committed;
    let mut replaced: Vec<(TransactionId, EventId)> = Vec::new();
    for transaction in history.transactions().filter(committed) {
        let changes =
            |key: KeyId| history.events_of(transaction).iter().any(|event| !event.is_read() && event.key == key);
        for (number, event) in history.numbered_events_of(transaction) {
            let is_row = event.is_read() && !event.value.is_absent();
            let locks = is_row && history.asked(number).kind != StatementKind::Select;
            if locks && !history.asked(number).passed && changes(event.key) {
                replaced.push((transaction, number));
            }
        }
    }
    let key = |read: EventId| history.event(read).key;
    replaced.iter().any(|&(one, read)| {
        let mut others = replaced.iter().filter(|&&(other, again)| other > one && key(again) == key(read));
        others.any(|&(_, again)| is_one_version(history, read, again))
    })
}

fn told(history: &History, level: IsolationLevel, levels: &[EngineLevel]) -> Vec<Case> {
    let teller = Teller { history, resolved: None };
    let assumed = Assumed { on_server: true, ..Assumed::default() };
    if let Err(Unexplained::Bad(bad)) = resolve(history, &assumed) {
        return vec![teller.bad_read(&bad)];
    }
    let asked = ServerQuestion { history, level, levels };
    let words = ServerWords { history, teller };
    let cases = cases(&asked).unwrap_or_default();
    let is_open = cases.len() > 1;
    let mut told: Vec<Case> = cases
        .into_iter()
        .map(|case| Case {
            assumption: is_open.then(|| words.assumption(&case.assumed)).flatten(),
            edges: case.edges.iter().map(|edge| words.edge(edge)).collect(),
        })
        .collect();
    told.dedup();
    told
}

struct ServerWords<'h> {
    history: &'h History,
    teller: Teller<'h>,
}

impl ServerWords<'_> {
    fn assumption(&self, assumed: &[(TransactionId, TransactionId, KeyId)]) -> Option<String> {
        let one = |&(first, second, key): &(TransactionId, TransactionId, KeyId)| {
            let key = self.history.key_in_words(key);
            format!("{} had its lock on {key} before {}", self.name(first), self.name(second))
        };
        let words: Vec<String> = assumed.iter().map(one).collect();
        (!words.is_empty()).then(|| words.join(" and "))
    }

    fn name(&self, transaction: TransactionId) -> String {
        self.history.transaction_in_words(transaction)
    }

    fn edge(&self, edge: &ServerEdge) -> Told {
        let (from, to) = (self.name(edge.from), self.name(edge.to));
        let key_of = |read: EventId| self.history.event(read).key;
        let words = |key: KeyId| self.history.key_in_words(key);
        let read = |read: EventId| self.teller.read(read);
        let (kind, key, because) = match edge.reason {
            ServerReason::Session => {
                let session = self.history.session_name(self.history.session_of(edge.from));
                (DependencyKind::Session, None, format!("{from} came before {to} in session {session}"))
            }
            ServerReason::RealTime => (DependencyKind::RealTime, None, format!("{from} ended before {to} began")),
            ServerReason::ReadsFrom(event) => {
                (DependencyKind::ReadsFrom, Some(key_of(event)), format!("{to} {}, which {from} wrote", read(event)))
            }
            ServerReason::Overwrites(event) => {
                let key = key_of(event);
                let written = self.teller.written(Writer::Transaction(edge.to), key);
                let because = format!("{from} {}, which {to} overwrote with {written}", read(event));
                (DependencyKind::Overwrites, Some(key), because)
            }
            ServerReason::WasThere(event) => {
                let because =
                    format!("{to} {}, a row that {from} had inserted before the statement began", read(event));
                (DependencyKind::ReadsFrom, Some(key_of(event)), because)
            }
            ServerReason::Waited(event) => {
                let because =
                    format!("a statement began, waited and {}, between which {from} or {to} ended", read(event));
                (DependencyKind::Gone, Some(key_of(event)), because)
            }
            ServerReason::Lock(key) => {
                (DependencyKind::Lock, Some(key), format!("{to} could lock {} only after {from} had ended", words(key)))
            }
            ServerReason::Snapshot(key) => {
                let key_name = words(key);
                let because =
                    format!("{from} changed {key_name} before {to} locked it, so {to}'s snapshot has that change");
                (DependencyKind::Snapshot, Some(key), because)
            }
            ServerReason::NoRow(key) => {
                let because = format!(
                    "after its own INSERT of {}, the snapshot of one of the two has no other row there",
                    words(key)
                );
                (DependencyKind::Snapshot, Some(key), because)
            }
            ServerReason::Versions => {
                (DependencyKind::VersionOrder, None, format!("{from} changed a key before {to} did"))
            }
        };
        let (from, to) = (Writer::Transaction(edge.from), Writer::Transaction(edge.to));
        Told { from, to, kind, key, because }
    }
}
