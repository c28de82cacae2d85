//! What clients have recorded, completed by what the mock database reads for them.
//!
//! ```text
//!   foretold by clients      s3[2]: page/1 from s1[4]                                        changed
//!   read by the database     s3[2]: page@title/main/1 from the initial state · page/1 from s3[1] · watchlist/7 from the initial state
//!   completed                s3[2]: page@title/main/1 from the initial state · page/1 from s1[4] ✂
//! ```
//!
//! A client sees the rows that it asked for, and not the entries of indexes by which they were found, nor what an UPDATE looked at. A run that
//! is to be had again needs all of it. So the workload is run once with ordinary reads, which gives the run that was recorded, transaction by
//! transaction, and what was foretold takes the place of what was read there. Entries of an index go with their row.

use crate::foretold::{Prophecy, UnseenReads};
use skew_mockdb::{Foretelling, ForetoldRead, ForetoldTransaction, TransactionPlace};
use std::collections::{BTreeMap, BTreeSet};

/// What is foretold, with all reads of the run with ordinary reads that are not changed by it; and which of them no client saw.
pub(super) fn completed(foretold: &Prophecy, ordinary: &Prophecy) -> (Prophecy, UnseenReads) {
    let mut run = CompletedRun { sessions: BTreeMap::new(), ordinary: &ordinary.foretelling, order: Vec::new() };
    let mut unseen = UnseenReads::new();
    for (session, transactions) in &foretold.foretelling.sessions {
        let mut pair = |(number, transaction): (usize, &ForetoldTransaction)| {
            let company = transaction.company.clone();
            let Some(seen) = run.observed(session, number) else { return transaction.clone() };
            let reads = merged(transaction, &seen.reads, number + 1 == transactions.len());
            let others = reads.iter().enumerate().filter(|(_, (_, is_told))| !is_told);
            unseen.extend(others.map(|(read, _)| ((session.clone(), number as u32), read)));
            ForetoldTransaction { reads: reads.into_iter().map(|(read, _)| read).collect(), company }
        };
        let all = transactions.iter().enumerate().map(&mut pair).collect();
        run.sessions.insert(session.clone(), all);
    }
    let mut counts: BTreeMap<&String, u32> = BTreeMap::new();
    for session in &foretold.order {
        let count = counts.entry(session).or_default();
        run.line_up((session.clone(), *count), &mut BTreeSet::new());
        *count += 1;
    }
    let order = run.order.into_iter().map(|place| place.0).collect();
    (Prophecy { foretelling: Foretelling { sessions: run.sessions }, order }, unseen)
}

/// A run that is put together.
struct CompletedRun<'a> {
    sessions: BTreeMap<String, Vec<ForetoldTransaction>>,
    ordinary: &'a Foretelling,
    order: Vec<TransactionPlace>,
}

impl<'a> CompletedRun<'a> {
    fn observed(&self, session: &str, number: usize) -> Option<&'a ForetoldTransaction> {
        self.ordinary.sessions.get(session)?.get(number)
    }

    /// Puts a transaction in the row, behind those of its session and whoever it reads from. What clients thought that nobody needs may be
    /// among these: then it is as it was observed, unless its session is cut before.
    fn line_up(&mut self, place: TransactionPlace, on_the_way: &mut BTreeSet<TransactionPlace>) {
        if self.order.contains(&place) || !on_the_way.insert(place.clone()) {
            return;
        }
        let (session, number) = place.clone();
        if let Some(before) = number.checked_sub(1) {
            self.line_up((session.clone(), before), on_the_way);
        }
        let Some(transaction) = self.transaction(&session, number as usize) else { return };
        let sources: Vec<TransactionPlace> = transaction.reads.iter().filter_map(|read| read.from.clone()).collect();
        for source in sources {
            self.line_up(source, on_the_way);
        }
        self.order.push(place);
    }

    fn transaction(&mut self, session: &str, number: usize) -> Option<&ForetoldTransaction> {
        let observed = self.observed(session, number).cloned();
        let all = self.sessions.entry(session.to_owned()).or_default();
        let is_cut = all.last().is_some_and(|last| last.reads.iter().any(|read| read.changed));
        if number == all.len() && !is_cut {
            all.extend(observed);
        }
        all.get(number)
    }
}

/// The reads of a transaction, each with whether a client saw it; of one that may be cut those up to the last that is foretold.
fn merged(foretold: &ForetoldTransaction, seen: &[ForetoldRead], may_be_cut: bool) -> Vec<(ForetoldRead, bool)> {
    let nth = |read: &ForetoldRead| {
        let all = seen.iter().filter(|other| other.key == read.key);
        all.take_while(|other| !std::ptr::eq(*other, read)).count()
    };
    let pair = |read| match told(foretold, read, nth(read)) {
        Some(told) => (told.clone(), true),
        None => (untold(foretold, read), false),
    };
    let mut reads: Vec<(ForetoldRead, bool)> = seen.iter().map(pair).collect();
    if may_be_cut && let Some(last) = reads.iter().rposition(|(_, is_told)| *is_told) {
        reads.truncate(last + 1);
    }
    reads
}

/// A read of the database as a client recorded it. `before` counts the reads of the same key that precede it.
fn told<'a>(foretold: &'a ForetoldTransaction, read: &ForetoldRead, before: usize) -> Option<&'a ForetoldRead> {
    foretold.reads.iter().filter(|told| told.key == read.key).nth(before)
}

/// A read of the database that no client saw, as it was.
fn untold(foretold: &ForetoldTransaction, read: &ForetoldRead) -> ForetoldRead {
    let row = foretold.reads.iter().find(|told| told.changed && is_entry_of(&read.key, &told.key));
    let from: Option<TransactionPlace> = match row {
        // Whoever does not see the row does not see its entry.
        Some(told) if told.from.is_none() => None,
        _ => read.from.clone(),
    };
    ForetoldRead { from, ..read.clone() }
}

/// Whether a key is an entry of an index that leads to this row.
fn is_entry_of(entry: &str, row: &str) -> bool {
    let Some((table, place)) = entry.split_once('@') else { return false };
    row.strip_prefix(table).is_some_and(|key| key.starts_with('/') && place.ends_with(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(key: &str, from: Option<(&str, u32)>, changed: bool) -> ForetoldRead {
        ForetoldRead { key: key.to_owned(), from: from.map(|(name, number)| (name.to_owned(), number)), changed }
    }

    #[test]
    fn what_no_client_sees_is_read_as_it_was() {
        let seen = [
            read("page@title/main/1", Some(("b", 0)), false),
            read("page/1", Some(("b", 0)), false),
            read("watchlist/7", None, false),
        ];
        let foretold = |reads: Vec<ForetoldRead>| ForetoldTransaction { reads, ..ForetoldTransaction::default() };
        let newer = merged(&foretold(vec![read("page/1", Some(("c", 1)), true)]), &seen, false);
        let changed = (read("page/1", Some(("c", 1)), true), true);
        assert_eq!(newer, [(seen[0].clone(), false), changed, (seen[2].clone(), false)]);
        let missing = merged(&foretold(vec![read("page/1", None, true)]), &seen, true);
        assert_eq!(missing, [(read("page@title/main/1", None, false), false), (read("page/1", None, true), true)]);
        assert!(!is_entry_of("page@title/main/11", "page/1") && !is_entry_of("pages@title/1", "page/1"));
    }
}
