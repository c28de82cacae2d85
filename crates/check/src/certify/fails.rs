//! Checks every step of a refutation.
//!
//! An edge goes from one moment of a transaction to one of another; which ones is the table of `holds` read backwards: a dependency goes from a commit to a begin, an overwrite of a snapshot from a begin to a commit. A row of edges is a
//! cycle when each begins where the one before ends, or later in the same transaction.

use super::ledger::Ledger;
use super::propagation::Propagation;
use super::server;
use crate::anomaly::{Anomaly, Assumption, BadRead, Edge, EdgeKind, Literal, Proof, ProofStep, Refutation};
use crate::levels::on_server;
use rustc_hash::FxHashSet;
use skew_history::{EventId, History, IsolationLevel, KeyId, Outcome, TransactionId, Writer};

use IsolationLevel::*;

/// Splits inside splits beyond this are not believed.
const DEEPEST: usize = 64;

impl Anomaly {
    /// Whether this shows that `history` violates `level`. Shares no code with the search.
    pub fn refutes(&self, history: &History, level: IsolationLevel) -> bool {
        let speaks_about =
            level == self.level || level != Declared && self.level != Declared && level.implies(self.level);
        let is_on_server = on_server(history, self.level).is_some();
        let is_alone = matches!(self.refutation, Refutation::Alone(_));
        speaks_about
            && is_on_server == is_alone
            && Refuter { history, level: self.level }.refutes(&self.refutation, &mut Vec::new())
    }
}

struct Refuter<'h> {
    history: &'h History,
    level: IsolationLevel,
}

impl Refuter<'_> {
    fn refutes(&self, refutation: &Refutation, assumed: &mut Vec<Assumption>) -> bool {
        let ledger = Ledger::new(self.history, assumed.clone());
        match refutation {
            Refutation::Read(bad) => is_bad(&ledger, bad),
            Refutation::Proof(proof) => ProofFollower { ledger: &ledger, level: self.level }.follows(proof),
            Refutation::Alone(transactions) => server::refutes(transactions, self.history, self.level),
            Refutation::Split(cases) => {
                assumed.len() < DEEPEST
                    && is_exhaustive(&ledger, cases)
                    && cases.iter().all(|(assumption, refutation)| {
                        assumed.push(assumption.clone());
                        let refuted = self.refutes(refutation, assumed);
                        assumed.pop();
                        refuted
                    })
            }
        }
    }
}

/// Whether the answers are all that there are to one question.
fn is_exhaustive(ledger: &Ledger<'_>, cases: &[(Assumption, Refutation)]) -> bool {
    let has = |wanted: &Assumption| cases.iter().any(|(assumption, _)| assumption == wanted);
    match cases.first().map(|case| &case.0) {
        Some(Assumption::Committed(transaction) | Assumption::NotCommitted(transaction)) => {
            let exists = transaction.index() < ledger.history.transaction_count();
            exists && has(&Assumption::Committed(*transaction)) && has(&Assumption::NotCommitted(*transaction))
        }
        Some(Assumption::Appends { key, element, .. }) => {
            // Different orders of the same appends, as many as there are.
            let all = ledger.appends_of(*key, *element);
            let orders = cases.iter().filter_map(|(assumption, _)| match assumption {
                Assumption::Appends { key: of, element: equal, appends } if of == key && equal == element => {
                    is_order_of(appends, all).then_some(appends)
                }
                _ => None,
            });
            let orders: FxHashSet<&Vec<EventId>> = orders.collect();
            let possible = (1..=all.len()).try_fold(1usize, |product, number| product.checked_mul(number));
            possible == Some(orders.len())
        }
        None => false,
    }
}

fn is_order_of(appends: &[EventId], all: &[EventId]) -> bool {
    let (mut one, mut other) = (appends.to_vec(), all.to_vec());
    one.sort_unstable();
    other.sort_unstable();
    one == other
}

fn is_bad(ledger: &Ledger<'_>, bad: &BadRead) -> bool {
    let read = bad.read();
    let history = ledger.history;
    if !is_read(history, read) || !ledger.counts(history.transaction_of(read)) || !events_exist(history, bad) {
        return false;
    }
    let event = history.event(read);
    if ledger.is_list(event.key) {
        return ledger.is_bad_list(bad);
    }
    let own = ledger.own_write(read);
    if let BadRead::Internal { own: claimed, .. } = *bad {
        let itself = Writer::Transaction(history.transaction_of(read));
        let agrees = history.claim(read).is_none_or(|claim| claim == itself) && history.gone(read).is_none();
        return own == Some(claimed) && !(agrees && history.may_return(event.value, history.event(claimed).value));
    }
    let wrote_it = |write: EventId| {
        let other = history.event(write);
        let is_meant = history.gone(read).is_none_or(|by| by == history.transaction_of(write));
        !other.is_read() && other.key == event.key && history.may_return(event.value, other.value) && is_meant
    };
    own.is_none()
        && ledger.candidates(read).is_empty()
        && match *bad {
            BadRead::Aborted { write, .. } | BadRead::Intermediate { write, .. } => wrote_it(write),
            BadRead::ThinAir { .. } => true,
            _ => false,
        }
}

fn is_read(history: &History, event: EventId) -> bool {
    event.index() < history.event_count() && history.event(event).is_read()
}

fn events_exist(history: &History, bad: &BadRead) -> bool {
    let other = match *bad {
        BadRead::Internal { own, .. } => own,
        BadRead::Aborted { write, .. } | BadRead::Intermediate { write, .. } => write,
        BadRead::IncompatibleLists { other, .. } => other,
        BadRead::ThinAir { read } | BadRead::DuplicateElement { read } => read,
    };
    other.index() < history.event_count()
}

/// A boundary of a transaction: where an edge leaves it, or arrives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Boundary {
    Begin,
    Commit,
}

/// An edge, checked.
struct Checked {
    leaves: Boundary,
    arrives: Boundary,
    assumes: Vec<Literal>,
    overwrite: Option<Overwrite>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Overwrite {
    Plain,
    Locking,
}

/// Follows a proof.
struct ProofFollower<'l, 'h> {
    ledger: &'l Ledger<'h>,
    level: IsolationLevel,
}

impl ProofFollower<'_, '_> {
    fn follows(&self, proof: &Proof) -> bool {
        let mut propagation = Propagation::default();
        for read in self.mentioned_reads(proof) {
            self.exactly_one_writer(read, &mut propagation);
        }
        for step in &proof.steps {
            match step {
                ProofStep::Cycle(edges) => match self.cycle(edges) {
                    Some(assumes) => propagation.add(assumes.into_iter().map(Literal::negated).collect()),
                    None => return false,
                },
                ProofStep::Clause(clause) => {
                    // Before itself is neither true nor false: it would be its own opposite, and anything would follow.
                    let is_sound = |literal: &Literal| literal.negated() != *literal;
                    if !clause.iter().all(is_sound) || !propagation.refutes(clause) {
                        return false;
                    }
                    propagation.add(clause.clone());
                }
            }
        }
        propagation.is_contradiction()
    }

    /// The ambiguous reads that a proof speaks about.
    fn mentioned_reads(&self, proof: &Proof) -> Vec<EventId> {
        let mut reads = Vec::new();
        let mut edges: Vec<&Edge> = Vec::new();
        for step in &proof.steps {
            match step {
                ProofStep::Cycle(cycle) => edges.extend(cycle),
                ProofStep::Clause(clause) => reads.extend(clause.iter().filter_map(|literal| match literal {
                    Literal::ReadsFrom(read, _) | Literal::NotReadsFrom(read, _) => Some(*read),
                    Literal::Before(..) => None,
                })),
            }
        }
        while let Some(edge) = edges.pop() {
            match &edge.kind {
                EdgeKind::ReadsFrom { read } | EdgeKind::Overwrites { read, .. } => reads.push(*read),
                EdgeKind::MustSee { read, path } => {
                    reads.push(*read);
                    edges.extend(path);
                }
                EdgeKind::SessionOrder | EdgeKind::RealTime | EdgeKind::VersionOrder { .. } => {}
            }
        }
        reads.sort_unstable();
        reads.dedup();
        reads.retain(|&read| is_read(self.ledger.history, read) && self.is_external(read));
        reads
    }

    /// Whether a read of a register by a transaction that counts is not of its own write.
    fn is_external(&self, read: EventId) -> bool {
        let history = self.ledger.history;
        self.ledger.counts(history.transaction_of(read))
            && !self.ledger.is_list(history.event(read).key)
            && self.ledger.own_write(read).is_none()
    }

    fn exactly_one_writer(&self, read: EventId, propagation: &mut Propagation) {
        let candidates = self.ledger.candidates(read);
        if candidates.len() < 2 {
            return;
        }
        for (place, &one) in candidates.iter().enumerate() {
            for &other in &candidates[..place] {
                propagation.add(vec![Literal::NotReadsFrom(read, one), Literal::NotReadsFrom(read, other)]);
            }
        }
        propagation.add(candidates.into_iter().map(|writer| Literal::ReadsFrom(read, writer)).collect());
    }

    /// What a cycle assumes; nothing when it is none that the level forbids.
    fn cycle(&self, edges: &[Edge]) -> Option<Vec<Literal>> {
        let checked: Vec<Checked> = edges.iter().map(|edge| self.edge(edge)).collect::<Option<_>>()?;
        for (place, edge) in edges.iter().enumerate() {
            let next = (place + 1) % edges.len();
            // From a begin the commit of the same transaction follows, never the other way round.
            let goes_on = checked[place].arrives == Boundary::Begin || checked[next].leaves == Boundary::Commit;
            if edge.to != edges[next].from || !goes_on {
                return None;
            }
        }
        if self.is_psi() {
            let overwrites: Vec<Overwrite> = checked.iter().filter_map(|edge| edge.overwrite).collect();
            let locking_only = overwrites.iter().all(|&overwrite| overwrite == Overwrite::Locking);
            if overwrites.len() > 1 && !locking_only {
                return None;
            }
        }
        (!edges.is_empty()).then(|| checked.into_iter().flat_map(|edge| edge.assumes).collect())
    }

    fn is_psi(&self) -> bool {
        match self.level {
            ParallelSnapshot => true,
            Declared => {
                let mut counting = self.ledger.history.transactions().filter(|&t| self.ledger.counts(t));
                counting.all(|transaction| self.ledger.history.declared_level(transaction) == Some(ParallelSnapshot))
            }
            ReadCommitted | ReadAtomic | Causal | Prefix | Snapshot | Serializable => false,
            StrongSnapshot | StrictSerializable | Engine(_) => false,
        }
    }

    fn level_of(&self, transaction: TransactionId) -> Option<IsolationLevel> {
        match self.level {
            Declared => self.ledger.history.declared_level(transaction),
            StrongSnapshot => Some(Snapshot),
            StrictSerializable => Some(Serializable),
            ReadCommitted | ReadAtomic | Causal | Prefix | ParallelSnapshot | Snapshot | Serializable | Engine(_) => {
                Some(self.level)
            }
        }
    }

    fn edge(&self, edge: &Edge) -> Option<Checked> {
        let exists = |writer: Writer| transaction(writer).is_none_or(|id| self.ledger.counts(id));
        if !exists(edge.from) || !exists(edge.to) {
            return None;
        }
        match &edge.kind {
            EdgeKind::SessionOrder => self.session_order(edge),
            EdgeKind::RealTime => self.real_time(edge),
            EdgeKind::ReadsFrom { read } => self.reads_from(edge, *read),
            EdgeKind::VersionOrder { key } => self.version_order(edge, *key),
            EdgeKind::Overwrites { read, writer } => self.overwrites(edge, *read, *writer),
            EdgeKind::MustSee { read, path } => self.must_see(edge, *read, path),
        }
    }

    fn session_order(&self, edge: &Edge) -> Option<Checked> {
        let history = self.ledger.history;
        let ordered = match (edge.from, edge.to) {
            (Writer::Initial, to) => to != Writer::Initial,
            (Writer::Transaction(from), Writer::Transaction(to)) => {
                history.session_of(from) == history.session_of(to) && from < to
            }
            _ => false,
        };
        ordered.then(|| plain(Boundary::Commit, Boundary::Begin, Vec::new()))
    }

    fn real_time(&self, edge: &Edge) -> Option<Checked> {
        let history = self.ledger.history;
        let (from, to) = (transaction(edge.from)?, transaction(edge.to)?);
        let (end, begin) = (history.times(from).end?, history.times(to).begin?);
        let ordered = self.level.is_strong() && end < begin && history.outcome(from) != Outcome::Unknown;
        ordered.then(|| plain(Boundary::Commit, Boundary::Begin, Vec::new()))
    }

    /// The assumption that a read returned this writer's version: none when there is no other.
    fn read_assumption(&self, read: EventId, writer: Writer) -> Option<Vec<Literal>> {
        let history = self.ledger.history;
        if !is_read(history, read) {
            return None;
        }
        if self.ledger.is_list(history.event(read).key) {
            return (self.ledger.list_writer(read) == Some(writer)).then(Vec::new);
        }
        let candidates = self.ledger.candidates(read);
        let possible = self.is_external(read) && candidates.contains(&writer);
        possible.then(|| if candidates.len() > 1 { vec![Literal::ReadsFrom(read, writer)] } else { Vec::new() })
    }

    fn reads_from(&self, edge: &Edge, read: EventId) -> Option<Checked> {
        let assumes = self.read_assumption(read, edge.from)?;
        let reader = transaction(edge.to)?;
        let history = self.ledger.history;
        if history.transaction_of(read) != reader {
            return None;
        }
        // Below snapshot, what a locking read saw binds only itself.
        let only_itself = match self.level_of(reader)? {
            ReadCommitted | ReadAtomic | Causal | Prefix => true,
            ParallelSnapshot | Snapshot | Serializable | StrongSnapshot | StrictSerializable | Declared | Engine(_) => {
                false
            }
        };
        let arrives = if only_itself && history.event(read).locking { Boundary::Commit } else { Boundary::Begin };
        Some(plain(Boundary::Commit, arrives, assumes))
    }

    /// The assumption that one version is before another: none when lists show it.
    fn order_assumption(&self, first: Writer, second: TransactionId, key: KeyId) -> Option<Vec<Literal>> {
        if key.index() >= self.ledger.history.key_count() || !self.ledger.wrote(second, key) {
            return None;
        }
        match first {
            Writer::Initial => Some(Vec::new()),
            Writer::Transaction(first) if first == second || !self.ledger.wrote(first, key) => None,
            Writer::Transaction(first) if self.ledger.lists_show(key, first, second) => Some(Vec::new()),
            Writer::Transaction(first) => Some(vec![Literal::Before(first, second)]),
        }
    }

    fn version_order(&self, edge: &Edge, key: KeyId) -> Option<Checked> {
        let later = transaction(edge.to)?;
        let assumes = self.order_assumption(edge.from, later, key)?;
        let arrives = match self.level_of(later)? {
            Snapshot => Boundary::Begin,
            ReadCommitted | ReadAtomic | Causal | Prefix | ParallelSnapshot | Serializable => Boundary::Commit,
            StrongSnapshot | StrictSerializable | Declared | Engine(_) => Boundary::Commit,
        };
        Some(plain(Boundary::Commit, arrives, assumes))
    }

    fn overwrites(&self, edge: &Edge, read: EventId, writer: Writer) -> Option<Checked> {
        let (reader, later) = (transaction(edge.from)?, transaction(edge.to)?);
        let history = self.ledger.history;
        let mut assumes = self.read_assumption(read, writer)?;
        if history.transaction_of(read) != reader || reader == later {
            return None;
        }
        let event = history.event(read);
        assumes.extend(self.order_assumption(writer, later, event.key)?);
        let leaves = match self.level_of(reader)? {
            _ if event.locking => Boundary::Commit,
            ReadCommitted | ReadAtomic | Causal => return None,
            Prefix | Snapshot => Boundary::Begin,
            ParallelSnapshot | Serializable | StrongSnapshot | StrictSerializable | Declared | Engine(_) => {
                Boundary::Commit
            }
        };
        let overwrite = Some(if event.locking { Overwrite::Locking } else { Overwrite::Plain });
        Some(Checked { leaves, arrives: Boundary::Commit, assumes, overwrite })
    }

    fn must_see(&self, edge: &Edge, read: EventId, path: &[Edge]) -> Option<Checked> {
        let seen = transaction(edge.from)?;
        let history = self.ledger.history;
        let mut assumes = self.read_assumption(read, edge.to)?;
        let reader = history.transaction_of(read);
        let event = history.event(read);
        let applies = !event.locking && edge.from != edge.to && seen != reader && self.ledger.wrote(seen, event.key);
        if !applies || !self.is_seen(seen, reader, read, path)? {
            return None;
        }
        for step in path {
            assumes.extend(self.edge(step)?.assumes);
        }
        Some(plain(Boundary::Commit, Boundary::Commit, assumes))
    }

    /// Whether a path of session order and reads makes a reader see a transaction, at the reader's level.
    fn is_seen(&self, seen: TransactionId, reader: TransactionId, read: EventId, path: &[Edge]) -> Option<bool> {
        let level = self.level_of(reader)?;
        let connected = path.first()?.from == Writer::Transaction(seen)
            && path.last()?.to == Writer::Transaction(reader)
            && path.windows(2).all(|pair| pair[0].to == pair[1].from);
        let steps = path.iter().all(|edge| matches!(edge.kind, EdgeKind::SessionOrder | EdgeKind::ReadsFrom { .. }));
        let last_is_plain = match path.last()?.kind {
            EdgeKind::ReadsFrom { read } => {
                is_read(self.ledger.history, read) && !self.ledger.history.event(read).locking
            }
            _ => true,
        };
        let by_earlier_read =
            matches!(path, [Edge { kind: EdgeKind::ReadsFrom { read: earlier }, .. }] if *earlier < read);
        let far_enough = match level {
            ReadCommitted => by_earlier_read,
            ReadAtomic => path.len() == 1,
            Causal | Prefix | ParallelSnapshot | Snapshot | Serializable => true,
            StrongSnapshot | StrictSerializable | Declared | Engine(_) => true,
        };
        Some(connected && steps && last_is_plain && far_enough)
    }
}

fn plain(leaves: Boundary, arrives: Boundary, assumes: Vec<Literal>) -> Checked {
    Checked { leaves, arrives, assumes, overwrite: None }
}

fn transaction(writer: Writer) -> Option<TransactionId> {
    match writer {
        Writer::Initial => None,
        Writer::Transaction(transaction) => Some(transaction),
    }
}
