//! Whether what is called a lost update is one: two transactions wrote a key after reading one version of it, and neither read the other's.

use skew_check::counterexample::AnomalyKind;
use skew_check::{Budget, Verdict, check, explain};
use skew_history::{History, IsolationLevel, KeyId, TransactionId, Writer};
use std::collections::BTreeSet;

/// Who wrote the versions of a key that a transaction read, and whether it wrote the key.
fn about(history: &History, transaction: TransactionId, key: KeyId) -> (BTreeSet<Option<TransactionId>>, bool) {
    let events = || history.numbered_events_of(transaction).filter(|(_, event)| event.key == key);
    let from = |number| match history.claim(number) {
        Some(Writer::Transaction(writer)) => Some(writer),
        _ => None,
    };
    let reads = events().filter(|(_, event)| event.is_read()).map(|(number, _)| from(number)).collect();
    (reads, events().any(|(_, event)| !event.is_read()))
}

/// Whether one of two transactions lost an update of the other.
fn loses(history: &History, one: TransactionId, other: TransactionId) -> bool {
    history.keys().any(|key| {
        let ((read, writes), (read_there, writes_there)) = (about(history, one, key), about(history, other, key));
        let both = writes && writes_there && !read.is_disjoint(&read_there);
        both && !read.contains(&Some(other)) && !read_there.contains(&Some(one))
    })
}

/// An error tells of a lost update that is none.
pub(crate) fn is_right(history: &History) -> Result<(), String> {
    let level = IsolationLevel::Serializable;
    let Verdict::Fails(anomaly) = check(history, level, Budget::steps(1_000_000)) else { return Ok(()) };
    let found = explain(history, level, &anomaly, Budget::steps(1_000_000));
    if found.kind != AnomalyKind::LostUpdate {
        return Ok(());
    }
    let names: BTreeSet<String> =
        found.history.transactions().map(|one| found.history.transaction_name(one).to_string()).collect();
    let named: Vec<TransactionId> =
        history.transactions().filter(|&one| names.contains(&history.transaction_name(one).to_string())).collect();
    let pairs = named.iter().flat_map(|&one| named.iter().map(move |&other| (one, other)));
    match pairs.filter(|(one, other)| one < other).any(|(one, other)| loses(history, one, other)) {
        true => Ok(()),
        false => {
            Err("what is called a lost update is none: whoever wrote last had read the other's version".to_owned())
        }
    }
}
