//! Refutations in sentences.
//!
//! ```text
//!   t1's write of x came before t2's:
//!      t1 → t2 (ww on x)   t1's write of x (1) came before t2's (2)
//!      t2 → t1 (rw on x)   t2 read x = 0, which t1 overwrote with 1
//! ```
//!
//! A forced edge says "must have seen". Where the rest of its cycle is certain at a glance, the way by which the reader must have seen
//! the other writer and the overwrite make a cycle of their own, which is easier to follow:
//!
//! ```text
//!   t3 read x from t1 and must have seen t2, so t2 → t1, but t1 → t2        told:  t2 ─wr→ t3 ─rw→ t2
//! ```
//!
//! Many formats name everything by numbers. "1's write of 1 (2)" says nothing, so bare numbers get their nouns: "transaction 1's
//! write of key 1 (2)".

use crate::anomaly::{Anomaly, BadRead, Edge, EdgeKind, ProofStep, Refutation};
use crate::counterexample::{Case, DependencyKind, Told};
use crate::resolve::{Assumed, Resolved, resolve};
use skew_history::{Action, EventId, History, KeyId, TransactionId, Writer};

/// The cases of a refutation, those that only state the obvious left out.
pub(super) fn cases(history: &History, anomaly: &Anomaly) -> Vec<Case> {
    let teller = Teller { history, resolved: resolve(history, &Assumed::default()).ok() };
    let mut cases = Vec::new();
    let mut pending = vec![&anomaly.refutation];
    while let Some(refutation) = pending.pop() {
        match refutation {
            Refutation::Read(bad) => cases.push(teller.bad_read(bad)),
            Refutation::Alone(_) => {}
            Refutation::Proof(proof) => {
                let cycles: Vec<&Vec<Edge>> = proof
                    .steps
                    .iter()
                    .filter_map(|step| match step {
                        ProofStep::Cycle(edges) => Some(edges),
                        ProofStep::Clause(_) => None,
                    })
                    .collect();
                let interesting: Vec<&&Vec<Edge>> = cycles.iter().filter(|edges| !is_obvious(edges)).collect();
                let told = if interesting.is_empty() { cycles.iter().collect() } else { interesting };
                let is_open = told.len() > 1;
                cases.extend(told.into_iter().map(|edges| teller.cycle(edges, is_open)));
            }
            Refutation::Split(split) => pending.extend(split.iter().rev().map(|(_, refutation)| refutation)),
        }
    }
    cases.dedup();
    // The two orders of a pair, whichever the proof took first.
    if cases.len() == 2 {
        cases.sort_by(|one, other| one.assumption.cmp(&other.assumption));
    }
    cases
}

/// That a version which is read, or written earlier in the session, is the earlier one, needs no telling.
fn is_obvious(edges: &[Edge]) -> bool {
    let (orders, rest): (Vec<&Edge>, Vec<&Edge>) =
        edges.iter().partition(|edge| matches!(edge.kind, EdgeKind::VersionOrder { .. }));
    let certain = |edge: &&Edge| matches!(edge.kind, EdgeKind::SessionOrder | EdgeKind::ReadsFrom { .. });
    orders.len() == 1 && !rest.is_empty() && rest.iter().all(certain)
}

pub(super) struct Teller<'h> {
    pub(super) history: &'h History,
    /// The reads explained, as far as they can be without assumptions: to know what lists show.
    pub(super) resolved: Option<Resolved<'h>>,
}

impl Teller<'_> {
    fn name(&self, writer: Writer) -> String {
        match writer {
            Writer::Initial => "the initial state".to_owned(),
            Writer::Transaction(transaction) => self.history.transaction_in_words(transaction),
        }
    }

    fn key(&self, key: KeyId) -> String {
        self.history.key_in_words(key)
    }

    /// What a transaction wrote last to a key.
    pub(super) fn written(&self, writer: Writer, key: KeyId) -> String {
        let value = match writer {
            Writer::Initial => self.history.initial(key),
            Writer::Transaction(transaction) => {
                let events = self.history.events_of(transaction).iter();
                let mut writes = events.filter(|event| !event.is_read() && event.key == key);
                writes.next_back().map_or(self.history.initial(key), |event| event.value)
            }
        };
        self.history.show(value).to_string()
    }

    /// `read x = 1`, `found x`, `found x gone`.
    pub(super) fn read(&self, read: EventId) -> String {
        let event = self.history.event(read);
        let key = self.key(event.key);
        match (event.value.is_found(), self.history.gone(read)) {
            (true, _) => format!("found {key}"),
            (false, Some(_)) => format!("found {key} gone"),
            (false, None) => format!("read {key} = {}", self.history.show(event.value)),
        }
    }

    fn reader(&self, read: EventId) -> String {
        self.name(Writer::Transaction(self.history.transaction_of(read)))
    }

    /// Whether a writer appended to a key instead of writing it.
    fn appended(&self, writer: Writer, key: KeyId) -> bool {
        let Writer::Transaction(transaction) = writer else { return false };
        let events = self.history.events_of(transaction).iter();
        events.filter(|event| event.key == key).any(|event| event.action == Action::Append)
    }

    /// A cycle, with what it assumes; `is_open` if it is one of several.
    fn cycle(&self, edges: &[Edge], is_open: bool) -> Case {
        let plain = self.without_must_see(edges);
        let edges = plain.as_deref().unwrap_or(edges);
        let orders = edges.iter().filter_map(|edge| match edge.kind {
            EdgeKind::VersionOrder { key } => self.assumed_order(edge.from, edge.to, key),
            _ => None,
        });
        let mut assumed: Vec<String> = orders.collect();
        if assumed.is_empty() && is_open {
            // Who overwrote a version wrote after its writer.
            assumed.extend(edges.iter().filter_map(|edge| match edge.kind {
                EdgeKind::Overwrites { read, writer } => {
                    self.assumed_order(writer, edge.to, self.history.event(read).key)
                }
                _ => None,
            }));
        }
        let assumption = (!assumed.is_empty()).then(|| assumed.join(" and "));
        Case { assumption, edges: edges.iter().map(|edge| self.edge(edge)).collect() }
    }

    /// That one write of a key came before another, if that is not certain at a glance.
    fn assumed_order(&self, from: Writer, to: Writer, key: KeyId) -> Option<String> {
        if from == Writer::Initial || self.lists_show(from, to, key) {
            return None;
        }
        let what = if self.appended(from, key) { "append to" } else { "write of" };
        Some(format!("{}'s {what} {} came before {}'s", self.name(from), self.key(key), self.name(to)))
    }

    /// The cycle through the reader, when the rest of the cycle is one edge that needs no telling: the initial state before everything,
    /// session order, a read, or lists that show it.
    fn without_must_see(&self, edges: &[Edge]) -> Option<Vec<Edge>> {
        let (forced, rest) = match edges {
            [forced, rest] if matches!(forced.kind, EdgeKind::MustSee { .. }) => (forced, rest),
            [rest, forced] => (forced, rest),
            _ => return None,
        };
        let EdgeKind::MustSee { read, path } = &forced.kind else { return None };
        let certain = match rest.kind {
            EdgeKind::SessionOrder | EdgeKind::ReadsFrom { .. } => true,
            EdgeKind::VersionOrder { key } => self.lists_show(rest.from, rest.to, key),
            _ => false,
        };
        let reader = Writer::Transaction(self.history.transaction_of(*read));
        let kind = EdgeKind::Overwrites { read: *read, writer: forced.to };
        let overwrite = Edge { from: reader, to: forced.from, kind };
        certain.then(|| path.iter().cloned().chain([overwrite]).collect())
    }

    /// Whether the order of two writers needs no assumption, because lists that were read show it.
    fn lists_show(&self, from: Writer, to: Writer, key: KeyId) -> bool {
        match (from, to, &self.resolved) {
            (Writer::Transaction(from), Writer::Transaction(to), Some(resolved)) => {
                resolved.lists.shows_order(key, from, to)
            }
            _ => false,
        }
    }

    fn edge(&self, edge: &Edge) -> Told {
        let (from, to) = (self.name(edge.from), self.name(edge.to));
        let (kind, key, because) = match &edge.kind {
            EdgeKind::SessionOrder => (DependencyKind::Session, None, self.session_order(edge)),
            EdgeKind::RealTime => (DependencyKind::RealTime, None, self.real_time(edge)),
            EdgeKind::ReadsFrom { read } => {
                let key = self.history.event(*read).key;
                let wrote = if self.appended(edge.from, key) {
                    format!("whose last element is {from}'s")
                } else {
                    format!("which {from} wrote")
                };
                (DependencyKind::ReadsFrom, Some(key), format!("{to} {}, {wrote}", self.read(*read)))
            }
            EdgeKind::VersionOrder { key } => {
                (DependencyKind::VersionOrder, Some(*key), self.version_order(edge, *key))
            }
            EdgeKind::Overwrites { read, .. } => {
                let key = self.history.event(*read).key;
                let written = self.written(edge.to, key);
                let overwrote = if self.appended(edge.to, key) {
                    format!("to which {to} appended {written}")
                } else {
                    format!("which {to} overwrote with {written}")
                };
                (DependencyKind::Overwrites, Some(key), format!("{from} {}, {overwrote}", self.read(*read)))
            }
            EdgeKind::MustSee { read, path } => {
                let key = self.history.event(*read).key;
                (DependencyKind::VersionOrder, Some(key), self.must_see(edge, *read, path))
            }
        };
        Told { from: edge.from, to: edge.to, kind, key, because }
    }

    fn version_order(&self, edge: &Edge, key: KeyId) -> String {
        let (from, to, name) = (self.name(edge.from), self.name(edge.to), self.key(key));
        let (first, second) = (self.written(edge.from, key), self.written(edge.to, key));
        let shown = if self.lists_show(edge.from, edge.to, key) { ", as the lists that were read show" } else { "" };
        match self.appended(edge.from, key) {
            true => format!("{from}'s append of {first} to {name} came before {to}'s of {second}{shown}"),
            false => format!("{from}'s write of {name} ({first}) came before {to}'s ({second}){shown}"),
        }
    }

    fn session_order(&self, edge: &Edge) -> String {
        match (edge.from, edge.to) {
            (Writer::Transaction(from), _) => {
                let session = self.history.session_name(self.history.session_of(from));
                format!("{} came before {} in session {session}", self.name(edge.from), self.name(edge.to))
            }
            _ => "the initial state comes before everything".to_owned(),
        }
    }

    fn real_time(&self, edge: &Edge) -> String {
        let time = |writer: Writer, end: bool| {
            let Writer::Transaction(transaction) = writer else { return String::new() };
            let times = self.history.times(transaction);
            let time = if end { times.end } else { times.begin };
            time.map_or(String::new(), |time| format!(" at {time}"))
        };
        let (end, begin) = (time(edge.from, true), time(edge.to, false));
        format!("{} ended{end}, before {} began{begin}", self.name(edge.from), self.name(edge.to))
    }

    /// `t3 read x = 1 and must have seen t2, which wrote x = 2 (t3 read y = 4, which t2 wrote); so t2's write of x came before t1's`.
    fn must_see(&self, edge: &Edge, read: EventId, path: &[Edge]) -> String {
        let key = self.history.event(read).key;
        let (from, reader) = (self.name(edge.from), self.reader(read));
        let way: Vec<String> = path.iter().map(|step| self.edge(step).because).collect();
        let (name, written) = (self.key(key), self.written(edge.from, key));
        let (wrote, what) = match self.appended(edge.from, key) {
            true => (format!("appended {written} to {name}"), "append to"),
            false => (format!("wrote {name} = {written}"), "write of"),
        };
        let conclusion = match edge.to {
            Writer::Initial => "the initial version was no longer the latest that it could return".to_owned(),
            to => format!("{from}'s {what} {name} came before {}'s", self.name(to)),
        };
        let (read, way) = (self.read(read), way.join("; "));
        format!("{reader} {read} and must have seen {from}, which {wrote} ({way}); so {conclusion}")
    }

    pub(super) fn bad_read(&self, bad: &BadRead) -> Case {
        let read = bad.read();
        let event = self.history.event(read);
        let reader = self.history.transaction_of(read);
        let (from, because) = self.bad_read_words(bad, reader);
        let told = Told {
            from,
            to: Writer::Transaction(reader),
            kind: DependencyKind::ReadsFrom,
            key: Some(event.key),
            because,
        };
        Case { assumption: None, edges: vec![told] }
    }

    fn bad_read_words(&self, bad: &BadRead, reader: TransactionId) -> (Writer, String) {
        let itself = Writer::Transaction(reader);
        let (name, read) = (self.name(itself), self.read(bad.read()));
        let writer = |write: EventId| Writer::Transaction(self.history.transaction_of(write));
        let is_gone = self.history.gone(bad.read()).is_some();
        match *bad {
            BadRead::Internal { own, .. } => {
                let own = self.history.show(self.history.event(own).value);
                (itself, format!("{name} {read} after it had itself written {own}"))
            }
            BadRead::Aborted { write, .. } => {
                let (writer, name_of) = (writer(write), self.name(writer(write)));
                let because = match self.element(write) {
                    Some(element) => format!("{name} {read}; {name_of}, which aborted, had appended {element}"),
                    None if is_gone => format!("{name} {read}: {name_of} had deleted it before it aborted"),
                    None => format!("{name} {read}, which {name_of} wrote before it aborted"),
                };
                (writer, because)
            }
            BadRead::Intermediate { write, .. } => {
                let (writer, name_of) = (writer(write), self.name(writer(write)));
                let because = match self.element(write) {
                    _ if is_gone => {
                        format!("{name} {read}: {name_of} had deleted it, and inserted it anew before it committed")
                    }
                    Some(_) => format!("{name} {read}, which ends between the appends of {name_of}"),
                    None => format!("{name} {read}, which {name_of} wrote and then replaced before it committed"),
                };
                (writer, because)
            }
            BadRead::ThinAir { .. } => (itself, format!("{name} {read}, which nobody wrote")),
            BadRead::DuplicateElement { .. } => {
                (itself, format!("{name} {read}, which holds an element more often than it was appended"))
            }
            BadRead::IncompatibleLists { read: one, other } if one == other => {
                let why = "in which the elements of one transaction do not stand together in order";
                (itself, format!("{name} {read}, {why}"))
            }
            BadRead::IncompatibleLists { other, .. } => {
                let (second, theirs) = (self.reader(other), self.read(other));
                let why = "neither list begins with the other";
                (writer(other), format!("{name} {read}, but {second} {theirs}: {why}"))
            }
        }
    }

    /// What an append appended; nothing for a write.
    fn element(&self, write: EventId) -> Option<String> {
        let event = self.history.event(write);
        (event.action == Action::Append).then(|| self.history.show(event.value).to_string())
    }
}
