//! Refutations in sentences.
//!
//! ```text
//!   t1's write of x came before t2's:
//!      t1 → t2 (ww on x)   t1's write of x (1) came before t2's (2)
//!      t2 → t1 (rw on x)   t2 read x = 0, which t1 overwrote with 1
//! ```

use crate::anomaly::{Anomaly, BadRead, Edge, EdgeKind, Refutation, Step};
use crate::counterexample::{Case, DependencyKind, Told};
use crate::resolve::{Assumed, Resolved, resolve};
use skew_history::{EventId, History, KeyId, TransactionId, Writer};

/// The cases of a refutation, those that only state the obvious left out.
pub(super) fn cases(history: &History, anomaly: &Anomaly) -> Vec<Case> {
    let teller = Teller { history, resolved: resolve(history, &Assumed::default()).ok() };
    let mut cases = Vec::new();
    let mut pending = vec![&anomaly.refutation];
    while let Some(refutation) = pending.pop() {
        match refutation {
            Refutation::Read(bad) => cases.push(teller.bad_read(bad)),
            Refutation::Proof(proof) => {
                let cycles: Vec<&Vec<Edge>> = proof
                    .steps
                    .iter()
                    .filter_map(|step| match step {
                        Step::Cycle(edges) => Some(edges),
                        Step::Clause(_) => None,
                    })
                    .collect();
                let interesting: Vec<&&Vec<Edge>> = cycles.iter().filter(|edges| !is_obvious(edges)).collect();
                let told = if interesting.is_empty() { cycles.iter().collect() } else { interesting };
                cases.extend(told.into_iter().map(|edges| teller.cycle(edges)));
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

struct Teller<'h> {
    history: &'h History,
    /// The reads explained, as far as they can be without assumptions: to know what lists show.
    resolved: Option<Resolved<'h>>,
}

impl Teller<'_> {
    fn name(&self, writer: Writer) -> String {
        match writer {
            Writer::Initial => "the initial state".to_owned(),
            Writer::Transaction(transaction) => self.history.transaction_name(transaction).to_string(),
        }
    }

    fn key(&self, key: KeyId) -> String {
        self.history.key_name(key).to_string()
    }

    /// What a transaction wrote last to a key.
    fn written(&self, writer: Writer, key: KeyId) -> String {
        let value = match writer {
            Writer::Initial => self.history.initial(key),
            Writer::Transaction(transaction) => {
                let events = self.history.events_of(transaction).iter();
                let mut latest_first = events.rev().filter(|event| !event.is_read() && event.key == key);
                latest_first.next().map_or(self.history.initial(key), |event| event.value)
            }
        };
        self.history.show(value).to_string()
    }

    /// `x = 1`, as a read returned it.
    fn read(&self, read: EventId) -> String {
        let event = self.history.event(read);
        format!("{} = {}", self.key(event.key), self.history.show(event.value))
    }

    fn reader(&self, read: EventId) -> String {
        self.name(Writer::Transaction(self.history.transaction_of(read)))
    }

    fn cycle(&self, edges: &[Edge]) -> Case {
        let assumed = edges.iter().filter_map(|edge| match edge.kind {
            EdgeKind::VersionOrder { key } if !self.lists_show(edge, key) => Some(format!(
                "{}'s write of {} came before {}'s",
                self.name(edge.from),
                self.key(key),
                self.name(edge.to)
            )),
            _ => None,
        });
        let assumed: Vec<String> = assumed.collect();
        let assumption = (!assumed.is_empty()).then(|| assumed.join(" and "));
        Case { assumption, edges: edges.iter().map(|edge| self.edge(edge)).collect() }
    }

    /// Whether the order of two writers needs no assumption, because lists that were read show it.
    fn lists_show(&self, edge: &Edge, key: KeyId) -> bool {
        match (edge.from, edge.to, &self.resolved) {
            (Writer::Transaction(from), Writer::Transaction(to), Some(resolved)) => {
                resolved.lists.shows_order(key.0, from.0, to.0)
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
                let because = format!("{to} read {}, which {from} wrote", self.read(*read));
                (DependencyKind::ReadsFrom, Some(self.history.event(*read).key), because)
            }
            EdgeKind::VersionOrder { key } => {
                let (first, second) = (self.written(edge.from, *key), self.written(edge.to, *key));
                let shown = if self.lists_show(edge, *key) { ", as the lists that were read show" } else { "" };
                let because =
                    format!("{from}'s write of {} ({first}) came before {to}'s ({second}){shown}", self.key(*key));
                (DependencyKind::VersionOrder, Some(*key), because)
            }
            EdgeKind::Overwrites { read, .. } => {
                let key = self.history.event(*read).key;
                let written = self.written(edge.to, key);
                (
                    DependencyKind::Overwrites,
                    Some(key),
                    format!("{from} read {}, which {to} overwrote with {written}", self.read(*read)),
                )
            }
            EdgeKind::MustSee { read, path } => {
                let key = self.history.event(*read).key;
                (DependencyKind::VersionOrder, Some(key), self.must_see(edge, *read, path))
            }
        };
        Told { from: edge.from, to: edge.to, kind, key, because }
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

    /// `t3 read x = 1 and must have seen t2, which wrote x = 2 (t3 read y = 4, which t2 wrote); so t2's write came before t1's`.
    fn must_see(&self, edge: &Edge, read: EventId, path: &[Edge]) -> String {
        let key = self.history.event(read).key;
        let (from, reader) = (self.name(edge.from), self.reader(read));
        let way: Vec<String> = path.iter().map(|step| self.edge(step).because).collect();
        let conclusion = match edge.to {
            Writer::Initial => "the initial version was no longer the latest that it could return".to_owned(),
            to => format!("{from}'s write of {} came before {}'s", self.key(key), self.name(to)),
        };
        format!(
            "{reader} read {} and must have seen {from}, which wrote {} = {} ({}); so {conclusion}",
            self.read(read),
            self.key(key),
            self.written(edge.from, key),
            way.join(", ")
        )
    }

    fn bad_read(&self, bad: &BadRead) -> Case {
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
        match *bad {
            BadRead::Internal { own, .. } => {
                let own = self.history.show(self.history.event(own).value);
                (itself, format!("{name} read {read} after it had itself written {own}"))
            }
            BadRead::Aborted { write, .. } => (
                writer(write),
                format!(
                    "{name} read {read}, which {} wrote, but {} aborted",
                    self.name(writer(write)),
                    self.name(writer(write))
                ),
            ),
            BadRead::Intermediate { write, .. } => {
                let writer = writer(write);
                (
                    writer,
                    format!(
                        "{name} read {read}, which {} wrote and then replaced before it committed",
                        self.name(writer)
                    ),
                )
            }
            BadRead::ThinAir { .. } => (Writer::Initial, format!("{name} read {read}, which nobody wrote")),
            BadRead::DuplicateElement { read: of } => {
                let key = self.key(self.history.event(of).key);
                (
                    Writer::Initial,
                    format!("{name} read {read}, which holds an element more often than it was appended to {key}"),
                )
            }
            BadRead::IncompatibleLists { read: one, other } if one == other => (
                Writer::Initial,
                format!("{name} read {read}, in which the elements of one transaction do not stand together in order"),
            ),
            BadRead::IncompatibleLists { other, .. } => {
                let second = self.reader(other);
                (
                    writer(other),
                    format!(
                        "{name} read {read}, but {second} read {}: neither list begins with the other",
                        self.read(other)
                    ),
                )
            }
        }
    }
}
