//! What a foretold run is worth.
//!
//! ```text
//!   within its level?   what it is compared with?     as foretold?
//!   yes                 no                            whatever         Validated
//!   otherwise                                         no               Diverged, and where
//!   otherwise                                         yes              NotValidated
//! ```
//!
//! A run that went another way and still shows what its level allows and no serial run does is as good as the one that was foretold.

use super::ForetoldRun;
use super::prophecy::places;
use crate::Complaint;
use skew_check::{Budget, Verdict, check};
use skew_history::format::{self, Format, Source};
use skew_history::{History, IsolationLevel, Value};
use skew_mockdb::{Divergence, Foretold, HowDiverged};

/// What a foretold run is worth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Validation {
    /// Its level allows it, and what it is compared with does not.
    Validated,
    /// Not so, and it was not as foretold.
    Diverged(Divergence),
    /// Not so, although all was as foretold.
    NotValidated,
    /// The budget ended before the checker could tell.
    Inconclusive,
}

/// Looks at a foretold run: at its own level, and at the one that it is compared with. Both are levels of transactions: times play no part.
pub fn validate(
    run: &ForetoldRun,
    level: IsolationLevel,
    against: IsolationLevel,
    budget: Budget<'_>,
) -> Result<Validation, Complaint> {
    let Some(history) = read(&run.history)? else { return Ok(otherwise(run)) };
    Ok(match (check(&history, level, budget), check(&history, against, budget)) {
        (Verdict::Holds(_), Verdict::Fails(_)) => Validation::Validated,
        (Verdict::Fails(_), _) | (_, Verdict::Holds(_)) => otherwise(run),
        (Verdict::Unknown(_), _) | (_, Verdict::Unknown(_)) => Validation::Inconclusive,
    })
}

fn otherwise(run: &ForetoldRun) -> Validation {
    run.divergence.clone().map_or(Validation::NotValidated, Validation::Diverged)
}

/// What was recorded; nothing where nobody read or wrote anything.
fn read(history: &str) -> Result<Option<History>, Complaint> {
    if history.lines().nth(1).is_none() {
        return Ok(None);
    }
    let source = Source { name: "the recorded run", bytes: history.as_bytes() };
    format::read(&[source], Format::Native).map(Some).map_err(|error| Complaint::of_file(&error))
}

/// Where a run that is over was first not as foretold.
pub(crate) fn first_divergence(chooser: &Foretold, history: &str) -> Result<Option<Divergence>, Complaint> {
    if let Some(first) = chooser.found().into_iter().next() {
        return Ok(Some(first));
    }
    let unread = chooser.unread();
    let history = if unread.is_empty() { None } else { read(history)? };
    Ok(unread.into_iter().find(|one| !history.as_ref().is_some_and(|history| is_seen_absent(history, one))))
}

/// Whether a scan saw that there is nothing, as was foretold: nobody is asked about what nobody has written yet.
fn is_seen_absent(history: &History, foretold: &Divergence) -> bool {
    if foretold.how != (HowDiverged::NotAskedFor { foretold: None }) {
        return false;
    }
    let place = (foretold.session.clone(), foretold.transaction);
    let transaction = places(history).into_iter().find(|(_, other)| *other == place);
    let is_it = |event: &skew_history::Event| {
        event.is_read() && event.value == Value::ABSENT && history.key_name(event.key).to_string() == foretold.key
    };
    transaction.is_some_and(|(transaction, _)| history.events_of(transaction).iter().any(is_it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_mockdb::{Foretelling, ForetoldRead, ForetoldTransaction, TransactionPlace};

    const SCANNED: &str = r#"{"skew":1,"initial":{}}
{"session":"a","id":"t1","ops":[{"scan":"item/","reads":[],"sealed":0}]}
{"session":"b","id":"t2","ops":[{"w":"item/5","v":1}]}
"#;

    fn divergence(from: Option<TransactionPlace>) -> Option<Divergence> {
        let read = ForetoldRead { key: "item/5".to_owned(), from, changed: true };
        let transaction = ForetoldTransaction { reads: vec![read], ..ForetoldTransaction::default() };
        let sessions = [("a".to_owned(), vec![transaction])].into();
        first_divergence(&Foretold::new(Foretelling { sessions }), SCANNED).unwrap()
    }

    #[test]
    fn a_scan_sees_the_absence_of_what_comes_later_without_asking() {
        assert_eq!(divergence(None), None);
        let told = divergence(Some(("b".to_owned(), 0))).map(|found| found.to_string());
        let expected = "a's transaction 1 was to read item/5 from b's transaction 1, and did not ask for it";
        assert_eq!(told.as_deref(), Some(expected));
    }
}
