//! What a minimal violation is called.
//!
//! A minimal history violates its level in one way, so the weakest levels that it violates nearly say the name; where they do not, the
//! shape of the cycle does.
//!
//! | weakest level that fails | name |
//! |---|---|
//! | read-committed, read-atomic | from the read that went wrong: fractured, non-repeatable, session; cycles of reads G1c, of versions G0; where statements are known, a stale or lost update instead of a read that is not repeatable |
//! | causal | causality, or session when the reader's own session knew |
//! | psi | lost update, when two update the same version; stale update, when one read a version and then, under its lock, updated a newer one |
//! | prefix | long fork |
//! | serializable | write skew; read-only anomaly when a reader without writes is part of it |
//! | strong levels only | real-time violation |

use crate::anomaly::{Anomaly, BadRead, Edge, EdgeKind, ProofStep, Refutation};
use crate::counterexample::AnomalyKind;
use crate::explain::overwrite::overwrites;
use crate::levels::rule;
use crate::{Budget, IsolationLevel, LevelReport, Options, check_levels};
use skew_history::format::statement_text;
use skew_history::{Event, EventId, History, KeyId, StatementKind, TransactionId, Writer};

use AnomalyKind::*;

/// The name of the violation of `level` by a minimal history, which is a part of the whole one.
pub(super) fn classify(history: &History, whole: &History, level: IsolationLevel, anomaly: &Anomaly) -> AnomalyKind {
    if let Refutation::Read(bad) = first_refutation(&anomaly.refutation) {
        return of_bad_read(bad);
    }
    let levels: Vec<IsolationLevel> = IsolationLevel::of_papers().collect();
    let reports = check_levels(history, &levels, Options::default(), Budget::UNLIMITED);
    let failing = reports.iter().filter(|report| report.verdict.fails());
    let failing: Vec<IsolationLevel> = failing.map(|report| report.level).collect();
    let fails = |level: IsolationLevel| failing.contains(&level);
    if failing.is_empty() {
        return if level.is_strong() { RealTimeViolation } else { DependencyCycle };
    }
    let is_weak = |report: &&LevelReport| rule(report.level).sight().is_some();
    if let Some(report) = reports.iter().filter(is_weak).find(|report| report.verdict.fails()) {
        let crate::Verdict::Fails(weakest) = &report.verdict else { return DependencyCycle };
        return match of_weak_cycle(history, &cycles(&weakest.refutation)) {
            NonRepeatableRead => of_overtaken_update(history, whole).unwrap_or(NonRepeatableRead),
            kind => kind,
        };
    }
    // With levels declared per transaction the seven may all fail in other ways than the one that was asked.
    if let Some(kind) = of_equal_updates(history, whole).filter(|_| fails(IsolationLevel::ParallelSnapshot)) {
        return kind;
    }
    if fails(IsolationLevel::ParallelSnapshot) && updates_unseen_version(history, whole) {
        return StaleUpdate;
    }
    if fails(IsolationLevel::Prefix) {
        return LongFork;
    }
    if fails(IsolationLevel::ParallelSnapshot) || fails(IsolationLevel::Snapshot) {
        return DependencyCycle;
    }
    if has_reader_only(history) { ReadOnlyAnomaly } else { WriteSkew }
}

fn first_refutation(refutation: &Refutation) -> &Refutation {
    let mut refutation = refutation;
    while let Refutation::Split(cases) = refutation {
        let Some((_, first)) = cases.first() else { break };
        refutation = first;
    }
    refutation
}

fn of_bad_read(bad: &BadRead) -> AnomalyKind {
    match bad {
        BadRead::Internal { .. } => Internal,
        BadRead::Aborted { .. } => AbortedRead,
        BadRead::Intermediate { .. } => IntermediateRead,
        BadRead::ThinAir { .. } => ThinAir,
        BadRead::DuplicateElement { .. } | BadRead::IncompatibleLists { .. } => IncompatibleLists,
    }
}

/// The edges of all cycles.
fn cycles(refutation: &Refutation) -> Vec<&Edge> {
    let mut edges = Vec::new();
    let mut pending = vec![refutation];
    while let Some(refutation) = pending.pop() {
        match refutation {
            Refutation::Read(_) | Refutation::Alone(_) => {}
            Refutation::Proof(proof) => proof.steps.iter().for_each(|step| {
                if let ProofStep::Cycle(cycle) = step {
                    edges.extend(cycle);
                }
            }),
            Refutation::Split(cases) => pending.extend(cases.iter().map(|(_, refutation)| refutation)),
        }
    }
    edges
}

/// The name of a cycle at read-committed, read-atomic or causal.
fn of_weak_cycle(history: &History, edges: &[&Edge]) -> AnomalyKind {
    let must_see = edges.iter().find_map(|edge| match &edge.kind {
        EdgeKind::MustSee { read, path } => Some((*read, path)),
        _ => None,
    });
    let Some((read, path)) = must_see else {
        let is_order = |edge: &&&Edge| matches!(edge.kind, EdgeKind::VersionOrder { .. });
        let reads = edges.iter().any(|edge| matches!(edge.kind, EdgeKind::ReadsFrom { .. }));
        let ordered = edges.iter().any(|edge| is_order(&edge));
        return match (reads, ordered) {
            (false, true) => DirtyWrite,
            (true, _) => CircularInformationFlow,
            _ => DependencyCycle,
        };
    };
    let key = history.event(read).key;
    match &path[..] {
        [Edge { kind: EdgeKind::ReadsFrom { read: other }, .. }] => {
            if history.event(*other).key == key {
                NonRepeatableRead
            } else {
                FracturedRead
            }
        }
        [Edge { kind: EdgeKind::SessionOrder, .. }] => SessionViolation,
        // What an earlier transaction of the reader's own session read.
        [Edge { kind: EdgeKind::ReadsFrom { .. }, .. }, Edge { kind: EdgeKind::SessionOrder, .. }] => SessionViolation,
        _ => CausalityViolation,
    }
}

/// Two transactions read the same version of a key and both write it: an update is lost, if neither met the other's version before it wrote.
///
/// Whoever did meet it may have built on it: `UPDATE kv SET v = v + 10 WHERE k IN (SELECT k FROM kv WHERE v = 0)` adds to what it locked, and
/// nothing is lost. That read is no part of the smallest cycle, so it is looked for in the whole history.
fn of_equal_updates(history: &History, whole: &History) -> Option<AnomalyKind> {
    let updates = |transaction: TransactionId| {
        let events = history.events_of(transaction);
        let wrote = |key: KeyId| events.iter().any(|event| !event.is_read() && event.key == key);
        let reads = history.numbered_events_of(transaction).filter(|(_, event)| event.is_read() && wrote(event.key));
        reads.map(|(read, event)| (transaction, read, *event)).collect::<Vec<(TransactionId, EventId, Event)>>()
    };
    let all: Vec<Vec<(TransactionId, EventId, Event)>> = history.transactions().map(updates).collect();
    let mut pairs = all.iter().enumerate().flat_map(|(place, mine)| {
        let others = all[..place].iter().flatten();
        others
            .flat_map(move |other| mine.iter().map(move |update| [other, update]))
            .filter(|[other, update]| update.2.key == other.2.key && is_one_version(history, update.1, other.1))
    });
    let is_lost = |pair: &[&(TransactionId, EventId, Event); 2]| {
        pair.iter().all(|(transaction, read, event)| !meets_another(history, *transaction, *read, event, whole))
    };
    let first = pairs.next()?;
    Some(if is_lost(&first) || pairs.any(|pair| is_lost(&pair)) { LostUpdate } else { StaleUpdate })
}

/// Whether two reads of a key returned one version, as far as the history says. Of what was only found, its writer says it.
pub(super) fn is_one_version(history: &History, one: EventId, other: EventId) -> bool {
    let value = |read: EventId| history.event(read).value;
    let claims = (history.claim(one), history.claim(other));
    if value(one).is_found() || value(other).is_found() {
        return claims.0.is_some() && claims.0 == claims.1;
    }
    claims.0 == claims.1 && history.same(value(one), value(other))
}

/// Whether a transaction that read a version met another one of the same key before it wrote, in the whole history.
fn meets_another(history: &History, transaction: TransactionId, read: EventId, event: &Event, whole: &History) -> bool {
    let writer = |history: &History, claim: Option<Writer>| match claim {
        Some(Writer::Transaction(writer)) => history.transaction_name(writer).to_string(),
        _ => String::new(),
    };
    let version = (history.show(event.value).to_string(), writer(history, history.claim(read)));
    let (name, key) = (history.transaction_name(transaction).to_string(), history.key_name(event.key).to_string());
    let same = |other: &TransactionId| whole.transaction_name(*other).to_string() == name;
    let Some(found) = whole.transactions().find(same) else { return false };
    let of_key = |(_, event): &(EventId, &Event)| whole.key_name(event.key).to_string() == key;
    let events = whole.numbered_events_of(found).filter(of_key);
    let mut reads = events.take_while(|(_, event)| event.is_read());
    reads.any(|(read, event)| (whole.show(event.value).to_string(), writer(whole, whole.claim(read))) != version)
}

/// A transaction read a key, found under its lock that somebody had written it meanwhile, and wrote it nevertheless: SELECT, compute,
/// UPDATE to the result. What was written meanwhile is lost as if nobody had locked.
///
/// The write is no part of the smallest cycle, so it is looked for in the whole history.
fn updates_unseen_version(history: &History, whole: &History) -> bool {
    history.transactions().any(|transaction| {
        let events: Vec<(EventId, &Event)> = history.numbered_events_of(transaction).collect();
        let found_other = |(locked, event): &&(EventId, &Event)| {
            event.is_read()
                && event.locking
                && events.iter().any(|(read, other)| {
                    let is_other = !is_one_version(history, *read, *locked);
                    other.key == event.key && other.is_read() && !other.locking && is_other
                })
        };
        events.iter().find(found_other).is_some_and(|(_, event)| writes(history, transaction, event.key, whole))
    })
}

/// The same on a server, where an UPDATE always finds the latest version: to whom has read an older one by a SELECT that is no second read, but
/// an update that came too late. What it found there is lost, if the text of the statement says that it put something else in its place.
fn of_overtaken_update(history: &History, whole: &History) -> Option<AnomalyKind> {
    let is_select = |read: EventId| history.asked(read).kind == StatementKind::Select;
    for transaction in history.transactions() {
        let reads: Vec<(EventId, &Event)> =
            history.numbered_events_of(transaction).filter(|(_, event)| event.is_read()).collect();
        let is_overtaken = |(read, event): &&(EventId, &Event)| {
            let mut later = reads.iter().filter(|(other, found)| other > read && found.key == event.key);
            is_select(*read) && later.any(|(other, _)| !is_select(*other) && !is_one_version(history, *read, *other))
        };
        let Some((_, event)) = reads.iter().find(is_overtaken) else { continue };
        if writes(history, transaction, event.key, whole) {
            let is_lost = statements(history, transaction, event.key, whole).iter().any(|sql| overwrites(sql));
            return Some(if is_lost { LostUpdate } else { StaleUpdate });
        }
    }
    None
}

/// The texts with which the transaction of this name writes the key of this name in the whole history, as far as they are known.
fn statements(history: &History, transaction: TransactionId, key: KeyId, whole: &History) -> Vec<String> {
    let (name, key) = (history.transaction_name(transaction).to_string(), history.key_name(key).to_string());
    let mut candidates = whole.transactions().filter(|other| whole.transaction_name(*other).to_string() == name);
    let Some(found) = candidates.next() else { return Vec::new() };
    let is_write = |event: &Event| !event.is_read() && whole.key_name(event.key).to_string() == key;
    let writes = whole.numbered_events_of(found).filter(|(_, event)| is_write(event));
    writes.filter_map(|(write, _)| statement_text(whole, write)).collect()
}

/// Whether the transaction of this name writes the key of this name in the whole history.
fn writes(history: &History, transaction: TransactionId, key: KeyId, whole: &History) -> bool {
    let (name, key) = (history.transaction_name(transaction).to_string(), history.key_name(key).to_string());
    let mut candidates = whole.transactions().filter(|other| whole.transaction_name(*other).to_string() == name);
    let is_write = |event: &Event| !event.is_read() && whole.key_name(event.key).to_string() == key;
    candidates.any(|other| whole.events_of(other).iter().any(is_write))
}

fn has_reader_only(history: &History) -> bool {
    history.transactions().any(|transaction| history.events_of(transaction).iter().all(Event::is_read))
}
