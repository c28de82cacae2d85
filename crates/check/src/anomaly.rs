//! The certificate of a level that fails: a refutation that needs no search to believe.
//!
//! Either a single read is impossible at every level, or every order of the transactions leads round a cycle. The second kind is
//! a [`Proof`]: a row of steps, each of which anybody can check.
//!
//! ```text
//!   lost update       t1: r(x,init) w(x,1)       t2: r(x,init) w(x,2)            at snapshot
//!
//!   step 1   t1 ─ww→ t2 ─rw→ t1 is a cycle         so not "t1 before t2"
//!   step 2   t2 ─ww→ t1 ─rw→ t2 is a cycle         so not "t2 before t1"            a contradiction
//! ```
//!
//! The edges of a cycle hold either for certain or under an assumption, a [`Literal`]; the cycle proves that not all its
//! assumptions are true. Steps that follow from earlier ones by unit propagation are [`ProofStep::Clause`]. The proof is complete when
//! unit propagation over all steps finds a contradiction.

use skew_history::{EventId, IsolationLevel, KeyId, TransactionId, Value, Writer};

/// Why a history violates a level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Anomaly {
    /// The level that the refutation speaks about: the one that was asked, or a weaker one that it implies.
    pub level: IsolationLevel,
    /// What is impossible.
    pub refutation: Refutation,
}

/// The two ways to be impossible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refutation {
    /// A read that no level allows.
    Read(BadRead),
    /// No order of the transactions works.
    Proof(Proof),
    /// At the levels of the engines: these transactions, on their own, are more than one server can show.
    Alone(Vec<TransactionId>),
    /// Every way to settle a question that the history leaves open is impossible.
    Split(Vec<(Assumption, Refutation)>),
}

/// An answer to a question that a history leaves open and that no literal is for. The answers of one split are all there are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Assumption {
    /// The transaction, whose outcome is unknown, committed.
    Committed(TransactionId),
    /// It did not, or nobody read from it.
    NotCommitted(TransactionId),
    /// Of the appends of an equal element, the occurrences in the list are these, first to last.
    Appends {
        /// The list.
        key: KeyId,
        /// The element.
        element: Value,
        /// The appends in the order of their occurrences.
        appends: Vec<EventId>,
    },
}

/// A read that violates every level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadRead {
    /// The transaction had written the key itself and then read something else.
    Internal {
        /// The read.
        read: EventId,
        /// The transaction's own last write before it.
        own: EventId,
    },
    /// The version was written by an aborted transaction (G1a).
    Aborted {
        /// The read.
        read: EventId,
        /// The aborted write.
        write: EventId,
    },
    /// The version was overwritten by its own transaction (G1b).
    Intermediate {
        /// The read.
        read: EventId,
        /// The overwritten write.
        write: EventId,
    },
    /// Nobody wrote the value, or the element of the list.
    ThinAir {
        /// The read.
        read: EventId,
    },
    /// A list holds an element more often than it was appended.
    DuplicateElement {
        /// The read.
        read: EventId,
    },
    /// Two reads of one key returned lists of which neither begins with the other, or one transaction's elements out of order.
    IncompatibleLists {
        /// A read.
        read: EventId,
        /// Another, or the same when its own elements are out of order.
        other: EventId,
    },
}

impl BadRead {
    /// The read in question.
    pub fn read(&self) -> EventId {
        match *self {
            BadRead::Internal { read, .. }
            | BadRead::Aborted { read, .. }
            | BadRead::Intermediate { read, .. }
            | BadRead::ThinAir { read }
            | BadRead::DuplicateElement { read }
            | BadRead::IncompatibleLists { read, .. } => read,
        }
    }
}

/// Steps to a contradiction.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Proof {
    /// In order; later steps may use earlier ones.
    pub steps: Vec<ProofStep>,
}

/// One step of a proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProofStep {
    /// These edges form a cycle that the level forbids, so their assumptions are not all true.
    Cycle(Vec<Edge>),
    /// At least one of these is true: it follows from the steps before by unit propagation.
    Clause(Vec<Literal>),
}

/// An assumption that a proof may make.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Literal {
    /// The versions of the first are before those of the second, on every key that both write. Its opposite is the same the
    /// other way round.
    Before(TransactionId, TransactionId),
    /// The read, which several writers could explain, returned this one's version.
    ReadsFrom(EventId, Writer),
    /// The opposite.
    NotReadsFrom(EventId, Writer),
}

impl Literal {
    /// The opposite.
    pub fn negated(self) -> Literal {
        match self {
            Literal::Before(first, second) => Literal::Before(second, first),
            Literal::ReadsFrom(read, writer) => Literal::NotReadsFrom(read, writer),
            Literal::NotReadsFrom(read, writer) => Literal::ReadsFrom(read, writer),
        }
    }
}

/// One must come before the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The earlier one; the initial state may take part.
    pub from: Writer,
    /// The later one.
    pub to: Writer,
    /// Why.
    pub kind: EdgeKind,
}

/// Why one comes before the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EdgeKind {
    /// Earlier in the same session, or the initial state before everything.
    SessionOrder,
    /// Ended before the other began.
    RealTime,
    /// `to` read what `from` wrote. Assumes [`Literal::ReadsFrom`] when the read is ambiguous.
    ReadsFrom {
        /// The read.
        read: EventId,
    },
    /// `from`'s version is before `to`'s. Assumes [`Literal::Before`], unless lists that were read show the order.
    VersionOrder {
        /// A key that both write.
        key: KeyId,
    },
    /// `from` read a version that `to` overwrote. Assumes that the writer of the version is before `to` (the initial state is
    /// for certain), and [`Literal::ReadsFrom`] when the read is ambiguous.
    Overwrites {
        /// The read.
        read: EventId,
        /// Who wrote the version that was read.
        writer: Writer,
    },
    /// The axiom: a transaction that read a key from `to` must have seen `from`, which also wrote the key; so `from` is before.
    MustSee {
        /// The read from `to`.
        read: EventId,
        /// How the reader's transaction must have seen `from`: session order and reads, from `from` to the reader.
        path: Vec<Edge>,
    },
}
