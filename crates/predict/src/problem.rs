//! The question as a formula: what candidates there are, and what is known of those that were looked at.
//!
//! ```text
//!   reach[s][p]     session s goes on to its stop p, or further; behind the last stop: it is not cut
//!   reads[r][w]     read r is there and returns the version of w
//! ```
//!
//! A read that its session goes beyond keeps its source. One at which the session stops may have another. Whoever is read from is there as
//! a whole, and its session goes on behind it. These are all candidates; the search adds what it learns:
//!
//! - *this cannot be*: a proof of the checker uses some reads and writes, and no candidate that has them all is within the level;
//! - *this order explains it*: a candidate that some order serializes tells something about all others. The order is completed with those
//!   who were cut off, at its end, and from then on some read has to disagree with it: it returns a version that comes later, or one
//!   that somebody who is there has overwritten before. Without the completion the clause would not exclude the candidate itself.
//! - *more than this*: some session goes further, or some read has another source; right whatever was asked, and weak.

use crate::candidate::{CandidateHistory, CandidateRun, Part};
use crate::recording::{ReadSource, Recording};
use crate::stops::{Stop, Stops};
use skew_check::{Anomaly, Budget, Edge, EdgeKind, Formula, Model, ProofStep, Refutation, Solution, Term};
use skew_history::{KeyId, Writer};
use std::collections::{BTreeMap, BTreeSet};

/// Up to so many sources of a read exclude each other from the beginning; where there are more, those do that a model has together.
const FEW_SOURCES: usize = 8;

pub(crate) struct Problem<'a> {
    recording: &'a Recording,
    stops: &'a Stops,
    formula: Formula,
    /// By session and stop from the second on, and one for "not cut".
    reach: Vec<Vec<Term>>,
    reads: Vec<BTreeMap<ReadSource, Term>>,
    /// By session: whether any of its reads changes.
    changed: Vec<Term>,
}

/// What a clause asks to be there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Needed {
    Read(usize, ReadSource),
    Write(usize, KeyId),
}

impl<'a> Problem<'a> {
    /// All candidates; only reads of sessions that `may_change` change. Nothing if somebody wants it to stop before it is done.
    pub(crate) fn new(
        recording: &'a Recording,
        stops: &'a Stops,
        may_change: &dyn Fn(usize) -> bool,
        budget: Budget<'_>,
    ) -> Option<Problem<'a>> {
        let mut formula = Formula::new();
        // Variables are false by default: what is there is what something asks for.
        let reach: Vec<Vec<Term>> =
            stops.0.iter().map(|stops| stops.iter().map(|_| formula.variable()).collect()).collect();
        let changed = stops.0.iter().map(|_| formula.variable()).collect();
        let mut problem = Problem { recording, stops, formula, reach, reads: Vec::new(), changed };
        problem.name_reads(may_change, budget)?;
        for session in 0..stops.0.len() {
            problem.stop_somewhere(session, budget)?;
        }
        problem.keep_others();
        Some(problem)
    }

    /// Reads at which no session stops are there with what they returned, or not at all.
    fn keep_others(&mut self) {
        let free: BTreeSet<usize> = self.stops.0.iter().flatten().flat_map(|stop| &stop.free).copied().collect();
        for number in (0..self.recording.reads.len()).filter(|read| !free.contains(read)) {
            let read = self.recording.reads[number];
            let session = self.recording.transactions[read.transaction].session;
            let stop = self.stops.0[session].partition_point(|stop| stop.length <= read.place);
            let (there, term) = (self.reached(session, stop), self.reads[number][&read.source]);
            self.implies(there, Some(term));
            self.implies(Some(term), there);
            self.reads[number].retain(|&source, _| source == read.source);
            if let Some(writer) = read.source {
                let other = self.recording.transactions[writer].session;
                let whole = self.reached(other, self.stops.behind(self.recording, writer));
                self.implies(Some(term), whole);
            }
        }
    }

    fn name_reads(&mut self, may_change: &dyn Fn(usize) -> bool, budget: Budget<'_>) -> Option<()> {
        for read in &self.recording.reads {
            if budget.is_stopped() {
                return None;
            }
            let session = self.recording.transactions[read.transaction].session;
            let mut sources = self.recording.candidates(read);
            // A bad history may have a read that nothing explains: it keeps what it has.
            if !sources.contains(&read.source) {
                sources.push(read.source);
            }
            sources.retain(|&source| source == read.source || may_change(session));
            let named = sources.into_iter().map(|source| (source, self.formula.variable())).collect();
            self.reads.push(named);
        }
        Some(())
    }

    /// The session goes on to this stop or further; nothing where it always does.
    fn reached(&self, session: usize, stop: usize) -> Option<Term> {
        stop.checked_sub(1).map(|stop| self.reach[session][stop])
    }

    /// If this, then that; nothing is what is always true.
    fn implies(&mut self, this: Option<Term>, that: Option<Term>) {
        let Some(that) = that else { return };
        self.formula.require(this.map(|this| !this).into_iter().chain([that]));
    }

    fn stop_somewhere(&mut self, session: usize, budget: Budget<'_>) -> Option<()> {
        let stops = self.stops;
        for (number, stop) in stops.0[session].iter().enumerate() {
            if budget.is_stopped() {
                return None;
            }
            let (here, beyond) = (self.reached(session, number), self.reached(session, number + 1));
            self.implies(beyond, here);
            for &read in &stop.free {
                self.free_read(session, read, here, beyond);
            }
        }
        Some(())
    }

    fn free_read(&mut self, session: usize, read: usize, here: Option<Term>, beyond: Option<Term>) {
        let observed = self.recording.reads[read].source;
        let named: Vec<(ReadSource, Term)> = self.reads[read].iter().map(|(&source, &term)| (source, term)).collect();
        let some = named.iter().map(|&(_, term)| term);
        self.formula.require(here.map(|here| !here).into_iter().chain(some));
        for (place, &(source, term)) in named.iter().enumerate() {
            self.implies(Some(term), here);
            for &(_, other) in named[..place].iter().filter(|_| named.len() <= FEW_SOURCES) {
                self.formula.require([!term, !other]);
            }
            if source == observed {
                self.implies(beyond, Some(term));
            } else {
                self.formula.require([Some(!term), beyond.map(|beyond| !beyond)].into_iter().flatten());
                self.formula.require([!term, self.changed[session]]);
            }
            if let Some(writer) = source {
                let session = self.recording.transactions[writer].session;
                let whole = self.reached(session, self.stops.behind(self.recording, writer));
                self.implies(Some(term), whole);
            }
        }
    }

    /// Goes through candidates until one is taken; `look` says of the others what has to be different.
    pub(crate) fn search(
        &mut self,
        budget: Budget<'_>,
        look: &mut dyn FnMut(&Problem<'a>, &CandidateRun) -> Looked,
    ) -> Option<Option<CandidateRun>> {
        let mut formula = std::mem::take(&mut self.formula);
        let mut is_given_up = false;
        let solution = formula.search(budget, &mut |model| {
            if let Some(together) = self.two_sources(model) {
                return Some(together.map(|term| !term).to_vec());
            }
            match look(self, &self.candidate(model)) {
                Looked::Taken => None,
                Looked::GivenUp => {
                    is_given_up = true;
                    None
                }
                Looked::Different(terms) => Some(terms),
            }
        });
        self.formula = formula;
        match solution {
            _ if is_given_up => None,
            Solution::Model(model) => Some(Some(self.candidate(&model))),
            Solution::Impossible => Some(None),
            Solution::Unknown => None,
        }
    }

    /// Excludes what was taken, and all that contains the same.
    pub(crate) fn require(&mut self, terms: Vec<Term>) {
        self.formula.require(terms);
    }

    /// Where each session is cut, of those that are.
    fn cuts<'m>(&'m self, model: &'m Model) -> impl Iterator<Item = (usize, &'m Stop)> {
        self.stops.0.iter().enumerate().filter_map(|(session, stops)| {
            let reached = self.reach[session].iter().take_while(|&&term| model.is_true(term)).count();
            Some((session, stops.get(reached)?))
        })
    }

    /// Two sources that a read has together. Reads before a cut have the observed one, and those behind it none.
    fn two_sources(&self, model: &Model) -> Option<[Term; 2]> {
        self.cuts(model).flat_map(|(_, stop)| &stop.free).find_map(|&read| {
            let mut true_ones = self.reads[read].values().copied().filter(|&term| model.is_true(term));
            Some([true_ones.next()?, true_ones.next()?])
        })
    }

    fn candidate(&self, model: &Model) -> CandidateRun {
        let mut candidate = CandidateRun::observed(self.recording);
        for (session, stop) in self.cuts(model) {
            candidate.lengths[session] = stop.length;
            for &read in &stop.free {
                let source = self.reads[read].iter().find(|&(_, &term)| model.is_true(term)).map(|(&source, _)| source);
                if let Some(source) = source.filter(|&source| source != self.recording.reads[read].source) {
                    candidate.changed.insert(read, source);
                }
            }
        }
        candidate
    }

    /// At most so many sessions have reads that change: a counter that goes from session to session (Sinz, *Towards an optimal CNF encoding of
    /// boolean cardinality constraints*, CP 2005), because of thirty sessions there are too many choices of ten.
    pub(crate) fn change_at_most(&mut self, most: usize) {
        // By number, from 1: of the sessions so far at least so many change.
        let mut counted: Vec<Term> = Vec::new();
        for session in 0..self.changed.len() {
            let changes = self.changed[session];
            if counted.len() == most {
                self.formula.require(counted.last().map(|&all| !all).into_iter().chain([!changes]));
            }
            let next: Vec<Term> = (0..most.min(counted.len() + 1)).map(|_| self.formula.variable()).collect();
            for (place, &more) in next.iter().enumerate() {
                if let Some(&already) = counted.get(place) {
                    self.formula.require([!already, more]);
                }
                let before = place.checked_sub(1).map(|before| !counted[before]);
                self.formula.require(before.into_iter().chain([!changes, more]));
            }
            counted = next;
        }
    }

    /// Excludes all candidates that have what a refutation needs.
    pub(crate) fn exclude(&self, anomaly: &Anomaly, seen: &CandidateHistory, candidate: &CandidateRun) -> Vec<Term> {
        let mut needed = BTreeSet::new();
        let is_known = gather(&anomaly.refutation, seen, self.recording, candidate, &mut needed);
        if !is_known {
            needed = self.all_of(candidate);
        }
        let terms: Vec<Option<Term>> = needed.into_iter().map(|one| self.term(one)).collect();
        // What is always there excludes nothing.
        terms.into_iter().flatten().map(|term| !term).collect()
    }

    /// Excludes all candidates that contain this one, or whatever part of a candidate it is: sessions that go as far, reads with the same
    /// sources.
    pub(crate) fn exclude_part(&self, part: &CandidateRun) -> Vec<Term> {
        let reads = (0..self.recording.reads.len()).filter(|&read| part.has_read(self.recording, read));
        let reads = reads.map(|read| self.reads[read][&part.source(self.recording, read)]);
        let reached = (0..self.stops.0.len()).filter_map(|session| {
            let stop = self.stops.0[session].partition_point(|stop| stop.length < part.lengths[session]);
            self.reached(session, stop)
        });
        reads.chain(reached).map(|term| !term).collect()
    }

    /// The same, if another candidate has all of that, too.
    pub(crate) fn exclude_within(
        &self,
        anomaly: &Anomaly,
        seen: &CandidateHistory,
        candidate: &CandidateRun,
        other: &CandidateRun,
    ) -> Option<Vec<Term>> {
        let changed = |read: &usize| candidate.source(self.recording, *read) != other.source(self.recording, *read);
        let changed: Vec<usize> = (0..self.recording.reads.len()).filter(changed).collect();
        let mut needed = BTreeSet::new();
        let is_known = gather(&anomaly.refutation, seen, self.recording, candidate, &mut needed);
        let is_other = |one: &Needed| matches!(one, Needed::Read(read, _) if changed.contains(read));
        (is_known && !needed.iter().any(is_other)).then(|| self.exclude(anomaly, seen, candidate))
    }

    fn term(&self, needed: Needed) -> Option<Term> {
        match needed {
            Needed::Read(read, source) => Some(self.reads[read][&source]),
            Needed::Write(transaction, key) => self.is_written(transaction, key),
        }
    }

    /// The write of a key is there; nothing where it always is.
    fn is_written(&self, transaction: usize, key: KeyId) -> Option<Term> {
        let stop = self.stops.including(self.recording, transaction, key);
        self.reached(self.recording.transactions[transaction].session, stop)
    }

    fn all_of(&self, candidate: &CandidateRun) -> BTreeSet<Needed> {
        let reads = (0..self.recording.reads.len()).filter(|&read| candidate.has_read(self.recording, read));
        let reads = reads.map(|read| Needed::Read(read, candidate.source(self.recording, read)));
        let writes = self.recording.writers.iter().flat_map(|(&key, all)| all.iter().map(move |&writer| (writer, key)));
        let there = |&(writer, key): &(usize, KeyId)| {
            let session = self.recording.transactions[writer].session;
            let place = self.recording.place_of_write(writer, key).unwrap_or(usize::MAX);
            place < candidate.lengths[session]
        };
        reads.chain(writes.filter(there).map(|(writer, key)| Needed::Write(writer, key))).collect()
    }

    /// Some session goes further than this candidate, or some read has another source.
    pub(crate) fn exceed(&self, candidate: &CandidateRun) -> Vec<Term> {
        let mut terms = Vec::new();
        for (session, stops) in self.stops.0.iter().enumerate() {
            let length = candidate.lengths[session];
            let here = stops.iter().take_while(|stop| stop.length < length).count();
            // Behind the last step there is nothing further.
            if here < stops.len() && length < self.recording.sessions[session].steps.len() {
                terms.push(self.reach[session][here]);
            }
            for &read in stops[..stops.len().min(here + 1)].iter().flat_map(|stop| &stop.free) {
                let has = candidate.source(self.recording, read);
                terms.extend(self.reads[read].iter().filter(|&(&source, _)| source != has).map(|(_, &term)| term));
            }
        }
        terms
    }

    /// Some read disagrees with an order of all transactions, given by the place of each, and which explains this candidate.
    ///
    /// A read disagrees where it is there and its version is overwritten by somebody who is there. Of the two conditions one is false in the
    /// candidate, and that one is named: so no variables are needed for pairs.
    pub(crate) fn disagree(&self, places: &[usize], candidate: &CandidateRun) -> Vec<Term> {
        let mut terms = Vec::new();
        for (number, read) in self.recording.reads.iter().enumerate() {
            let reader = places[read.transaction];
            let has = candidate.has_read(self.recording, number).then(|| candidate.source(self.recording, number));
            for (&source, &term) in &self.reads[number] {
                let from = source.map_or(0, |writer| places[writer] + 1);
                let is_later = source.is_some() && from > reader;
                if has == Some(source) {
                    terms.extend(self.overwritten(read.key, from, reader, places));
                } else if is_later || self.may_be_overwritten(read.key, from, reader, places) {
                    terms.push(term);
                }
            }
        }
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    fn may_be_overwritten(&self, key: KeyId, from: usize, reader: usize, places: &[usize]) -> bool {
        let mut writers = self.recording.writers.get(&key).into_iter().flatten();
        writers.any(|&writer| (from..reader).contains(&places[writer]))
    }

    /// By session, that somebody between two places has written a key.
    fn overwritten(&self, key: KeyId, from: usize, reader: usize, places: &[usize]) -> Vec<Term> {
        let mut first: BTreeMap<usize, usize> = BTreeMap::new();
        for &writer in self.recording.writers.get(&key).into_iter().flatten() {
            if (from..reader).contains(&places[writer]) {
                let session = self.recording.transactions[writer].session;
                let stop = self.stops.including(self.recording, writer, key);
                first.entry(session).and_modify(|known| *known = stop.min(*known)).or_insert(stop);
            }
        }
        first.into_iter().filter_map(|(session, stop)| self.reached(session, stop)).collect()
    }
}

/// What is said of a candidate.
pub(crate) enum Looked {
    /// It is what was looked for.
    Taken,
    /// The work is over.
    GivenUp,
    /// One of these has to be true, and none is.
    Different(Vec<Term>),
}

/// The reads and writes that a refutation uses; false if it uses something else.
fn gather(
    refutation: &Refutation,
    seen: &CandidateHistory,
    recording: &Recording,
    candidate: &CandidateRun,
    needed: &mut BTreeSet<Needed>,
) -> bool {
    let Refutation::Proof(proof) = refutation else { return false };
    let mut gatherer = Gatherer { seen, recording, candidate, needed };
    for step in &proof.steps {
        if let ProofStep::Cycle(edges) = step {
            edges.iter().for_each(|edge| gatherer.edge(edge));
        }
    }
    true
}

struct Gatherer<'a> {
    seen: &'a CandidateHistory,
    recording: &'a Recording,
    candidate: &'a CandidateRun,
    needed: &'a mut BTreeSet<Needed>,
}

impl Gatherer<'_> {
    fn edge(&mut self, edge: &Edge) {
        match &edge.kind {
            EdgeKind::SessionOrder | EdgeKind::RealTime => {}
            EdgeKind::ReadsFrom { read } => drop(self.read(*read)),
            EdgeKind::VersionOrder { key } => {
                let key = self.seen.keys[key.index()];
                self.write(edge.from, key);
                self.write(edge.to, key);
            }
            EdgeKind::Overwrites { read, .. } => {
                if let Some(key) = self.read(*read) {
                    self.write(edge.to, key);
                }
            }
            EdgeKind::MustSee { read, path } => {
                if let Some(key) = self.read(*read) {
                    self.write(edge.from, key);
                }
                path.iter().for_each(|edge| self.edge(edge));
            }
        }
    }

    fn read(&mut self, event: skew_history::EventId) -> Option<KeyId> {
        let Part::Read(read) = self.seen.part(event) else { return None };
        self.needed.insert(Needed::Read(read, self.candidate.source(self.recording, read)));
        Some(self.recording.reads[read].key)
    }

    fn write(&mut self, writer: Writer, key: KeyId) {
        if let Writer::Transaction(transaction) = writer {
            self.needed.insert(Needed::Write(self.seen.transactions[transaction.index()], key));
        }
    }
}
