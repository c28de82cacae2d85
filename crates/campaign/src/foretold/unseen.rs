//! What a database reads and tells nobody of, where it cannot be as it was observed.
//!
//! ```text
//!   observed    a: SELECT x · UPDATE x   then   b: UPDATE x   then   c: UPDATE x   then   b: SELECT x, what c wrote
//!   foretold                                                                             b: SELECT x, what a wrote
//!   unseen      b: UPDATE x read what a wrote       so b has overwritten it and cannot read it at any level that counts as causal
//!   instead     b: UPDATE x read the initial state  and b has never seen what a wrote
//! ```
//!
//! An UPDATE that sets a column reads its row, and an INSERT that there is none. Clients are not told which version that was, so a prediction
//! from what they have recorded says nothing of it. It is as it was observed if that goes; otherwise the checker finds versions with which
//! the run can be. There is a row in these where there was one, because a statement that finds none does something else.

use super::prophecy::{Prophecy, ProphecyTerms, foretell, impossible, places, reads_of};
use crate::Complaint;
use skew_check::{OtherRun, SomeRun};
use skew_history::{Event, EventId, History, KeyId, TransactionId, Writer};
use skew_mockdb::{Foretelling, ForetoldRead, TransactionPlace};
use std::collections::{BTreeMap, BTreeSet};

/// Reads that no client saw: a transaction, and which of its foretold reads.
pub(crate) type UnseenReads = BTreeSet<(TransactionPlace, usize)>;

impl Prophecy {
    /// What is foretold, with other versions for what no client saw. Nothing if the level allows it as it is, or whatever these reads return.
    pub(crate) fn reconciled(
        &self,
        observed: &History,
        unseen: &UnseenReads,
        terms: ProphecyTerms<'_>,
    ) -> Result<Option<Prophecy>, Complaint> {
        let Some(part) = ForetoldPart::new(&self.foretelling, observed, unseen)? else { return Ok(None) };
        if let Some(run) = part.run(false)?
            && !matches!(run.find(terms.level, terms.budget), SomeRun::Nothing)
        {
            return Ok(None);
        }
        let Some(run) = part.run(true)? else { return Ok(None) };
        let changed = part.reads.iter().filter(|read| read.foretold.changed).map(|read| read.event).collect();
        foretell(&part.history, &run, &changed, terms)
    }
}

/// As much of a run as is foretold.
struct ForetoldPart<'a> {
    history: History,
    reads: Vec<PartRead<'a>>,
    places: BTreeMap<TransactionPlace, TransactionId>,
}

/// A read of what others wrote, which event it is, and whether no client saw it.
struct PartRead<'a> {
    event: EventId,
    foretold: &'a ForetoldRead,
    is_unseen: bool,
}

impl<'a> ForetoldPart<'a> {
    /// Nothing if the transactions or the reads that are foretold are not those of the run.
    fn new(
        foretelling: &'a Foretelling,
        observed: &History,
        unseen: &UnseenReads,
    ) -> Result<Option<ForetoldPart<'a>>, Complaint> {
        let external = reads_of(&OtherRun::new(observed), &[])?;
        let (mut kept, mut reads): (Vec<EventId>, Vec<PartRead<'_>>) = (Vec::new(), Vec::new());
        for (transaction, place) in places(observed) {
            let foretold = foretelling.sessions.get(&place.0).and_then(|all| all.get(place.1 as usize));
            let Some(foretold) = foretold else { continue };
            let range = observed.event_range(transaction);
            let mut events = external.range(EventId(range.start)..EventId(range.end)).map(|(event, _)| *event);
            for (number, foretold) in foretold.reads.iter().enumerate() {
                let Some(event) = events.next() else { return Ok(None) };
                reads.push(PartRead { event, foretold, is_unseen: unseen.contains(&(place.clone(), number)) });
            }
            // Of a transaction that is cut nothing behind its last foretold read is known.
            let end = events.next().map_or(range.end, |next| match foretold.reads.is_empty() {
                true => next.0,
                false => reads.last().map_or(range.start, |read| read.event.0 + 1),
            });
            kept.extend((range.start..end).map(EventId));
        }
        let (history, origin) = observed.restrict(&kept);
        for read in &mut reads {
            let Ok(event) = kept.binary_search(&read.event) else { return Ok(None) };
            read.event = EventId(event as u32);
        }
        let (all, here) = (places(observed), places(&history));
        // A transaction without events is not in the part, and those behind it would have other numbers there.
        let is_as_numbered = here.iter().all(|(number, place)| all.get(&origin[number.index()]) == Some(place));
        let places = here.into_iter().map(|(transaction, place)| (place, transaction)).collect();
        Ok(is_as_numbered.then_some(ForetoldPart { history, reads, places }))
    }

    /// The part with its foretold reads; those that no client saw may be free. Nothing if somebody who is read from is not in it.
    fn run(&self, frees_unseen: bool) -> Result<Option<OtherRun<'_>>, Complaint> {
        let mut run = OtherRun::new(&self.history);
        let all = self.history.transactions().flat_map(|transaction| self.history.events_of(transaction));
        let written: BTreeSet<KeyId> = all.filter(|event| !event.is_read()).map(|event| event.key).collect();
        for read in self.reads.iter().filter(|read| written.contains(&self.history.event(read.event).key)) {
            let foretold = self.writer(read.foretold);
            let mut writers = run.writers(read.event);
            writers.retain(|writer| match frees_unseen && read.is_unseen {
                true => self.is_alike(*writer, read.event),
                // Whoever is cut before the write leaves nothing to read.
                false => foretold == Some(*writer),
            });
            if writers.is_empty() {
                return Ok(None);
            }
            run.may_read(read.event, &writers).map_err(|error| impossible(error.to_string()))?;
        }
        Ok(Some(run))
    }

    fn writer(&self, foretold: &ForetoldRead) -> Option<Writer> {
        match &foretold.from {
            None => Some(Writer::Initial),
            Some(place) => self.places.get(place).copied().map(Writer::Transaction),
        }
    }

    /// Whether there is a row where there was one, and none where there was none.
    fn is_alike(&self, writer: Writer, read: EventId) -> bool {
        let Event { key, value, .. } = *self.history.event(read);
        self.is_absent(writer, key) == value.is_absent()
    }

    fn is_absent(&self, writer: Writer, key: KeyId) -> bool {
        let Writer::Transaction(writer) = writer else { return self.history.initial(key).is_absent() };
        let last = self.history.events_of(writer).iter().rfind(|event| event.key == key && !event.is_read());
        last.is_none_or(|event| event.value.is_absent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_check::{Budget, Updates};
    use skew_history::{IsolationLevel, notation};

    /// Session b updates what a wrote, and c what b wrote; b reads that, and is now to read what a wrote.
    const OBSERVED: &str = "a: r(x,init) w(x,1) @0..1\nb: r(x,1) w(x,2) @2..3 | r(x,3) @6..7\nc: r(x,2) w(x,3) @4..5";

    fn reconciled(observed: &str, unseen: &[(&str, u32)]) -> Option<Prophecy> {
        let observed = notation::parse(observed).unwrap();
        let terms = ProphecyTerms { level: IsolationLevel::Causal, updates: Updates::Plain, budget: Budget::UNLIMITED };
        let mut prophecy = Prophecy::of(&observed, &BTreeSet::new(), terms).unwrap().unwrap();
        let sessions = &mut prophecy.foretelling.sessions;
        sessions.remove("c");
        let read = ForetoldRead { key: "x".to_owned(), from: Some(("a".to_owned(), 0)), changed: true };
        sessions.get_mut("b").unwrap()[1].reads = vec![read];
        let unseen = unseen.iter().map(|(session, number)| (((*session).to_owned(), *number), 0)).collect();
        prophecy.reconciled(&observed, &unseen, terms).unwrap()
    }

    #[test]
    fn what_no_client_saw_is_read_so_that_the_rest_can_be_as_foretold() {
        let there = format!("init(x,0)\n{OBSERVED}");
        let prophecy = reconciled(&there, &[("b", 0)]).unwrap();
        let all = &prophecy.foretelling.sessions["b"];
        assert_eq!(all[0].reads[0].from, None);
        assert_eq!((all[1].reads[0].from.clone(), all[1].reads[0].changed), (Some(("a".to_owned(), 0)), true));
        assert_eq!(reconciled(&there, &[]), None, "what a client saw stays as it was");
        assert_eq!(reconciled(OBSERVED, &[("b", 0)]), None, "an UPDATE that finds no row writes none");
    }
}
