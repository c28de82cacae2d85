//! A violation for people: as small as it gets, with a name, told edge by edge.

use crate::anomaly::Anomaly;
use skew_history::{History, IsolationLevel, KeyId, Writer};

/// What engineers call it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AnomalyKind {
    /// A transaction reads something else than it wrote itself.
    Internal,
    /// Nobody wrote what was read.
    ThinAir,
    /// G1a: read from an aborted transaction.
    AbortedRead,
    /// G1b: read a version that its own transaction overwrote.
    IntermediateRead,
    /// G1c: transactions that read from each other in a cycle.
    CircularInformationFlow,
    /// G0: the versions themselves are ordered in a cycle.
    DirtyWrite,
    /// Two reads returned lists that cannot come from one order of appends.
    IncompatibleLists,
    /// Two reads of one key in one transaction differ.
    NonRepeatableRead,
    /// Some of a transaction's writes are seen, some are not.
    FracturedRead,
    /// A session does not see what it saw or wrote before.
    SessionViolation,
    /// An effect is seen without its cause.
    CausalityViolation,
    /// Two transactions update what both read; one update is gone.
    LostUpdate,
    /// One updates a version that it met only under its lock, after it had read an older one.
    StaleUpdate,
    /// Two readers see two writes in opposite orders.
    LongFork,
    /// Two transactions each overwrite what the other relied on.
    WriteSkew,
    /// The writers alone are fine; a reader saw a state that no serial order has.
    ReadOnlyAnomaly,
    /// Only the clock is violated.
    RealTimeViolation,
    /// A lock did not keep another transaction out.
    BrokenLock,
    /// Any other cycle.
    DependencyCycle,
}

impl AnomalyKind {
    /// The name of the JSON output.
    pub fn name(self) -> &'static str {
        use AnomalyKind::*;
        match self {
            Internal => "internal",
            ThinAir => "thin-air-read",
            AbortedRead => "aborted-read",
            IntermediateRead => "intermediate-read",
            CircularInformationFlow => "circular-information-flow",
            DirtyWrite => "dirty-write",
            IncompatibleLists => "incompatible-lists",
            NonRepeatableRead => "non-repeatable-read",
            FracturedRead => "fractured-read",
            SessionViolation => "session-violation",
            CausalityViolation => "causality-violation",
            LostUpdate => "lost-update",
            StaleUpdate => "stale-update",
            LongFork => "long-fork",
            WriteSkew => "write-skew",
            ReadOnlyAnomaly => "read-only-anomaly",
            RealTimeViolation => "real-time-violation",
            BrokenLock => "broken-lock",
            DependencyCycle => "dependency-cycle",
        }
    }

    /// What Adya's school calls it, where it has a name for it.
    pub fn adya(self) -> Option<&'static str> {
        use AnomalyKind::*;
        match self {
            AbortedRead => Some("G1a"),
            IntermediateRead => Some("G1b"),
            CircularInformationFlow => Some("G1c"),
            DirtyWrite => Some("G0"),
            WriteSkew | ReadOnlyAnomaly => Some("G2"),
            LostUpdate => Some("G-single"),
            _ => None,
        }
    }

    /// Whether a single read is wrong whatever the level: no isolation level allows it.
    pub fn is_bad_read(self) -> bool {
        use AnomalyKind::*;
        matches!(self, Internal | ThinAir | AbortedRead | IntermediateRead | IncompatibleLists)
    }

    /// One sentence for somebody who does not know the name.
    pub fn in_words(self) -> &'static str {
        use AnomalyKind::*;
        match self {
            Internal => "a transaction did not see its own write",
            ThinAir => "a transaction read a value that nobody wrote",
            AbortedRead => "a transaction read what an aborted transaction had written",
            IntermediateRead => "a transaction read a version that its writer overwrote before it committed",
            CircularInformationFlow => "transactions read from each other in a cycle",
            DirtyWrite => "two transactions overwrote each other's writes in opposite orders",
            IncompatibleLists => "two reads returned lists that cannot come from one order of appends",
            NonRepeatableRead => "two reads of one key in one transaction returned different versions",
            FracturedRead => "a transaction saw some writes of another transaction and missed others",
            SessionViolation => "a session did not see what it had itself seen or written before",
            CausalityViolation => "a transaction saw an effect without its cause",
            LostUpdate => "two transactions updated the same version of a key, and one of the updates is lost",
            StaleUpdate => {
                "a transaction read a key and then updated a newer version; if it wrote what followed from the old one, an update is lost"
            }
            LongFork => "two transactions saw two writes in opposite orders",
            WriteSkew => "transactions overwrote what the others had read, each without seeing the others",
            ReadOnlyAnomaly => "a reader saw a state that no serial order of the writers passes through",
            RealTimeViolation => "a transaction missed what had ended before it began",
            BrokenLock => "two transactions had locks on a row that exclude each other",
            DependencyCycle => "transactions depend on each other in a cycle",
        }
    }
}

/// The kinds of the JSON output.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DependencyKind {
    /// `so`: session order.
    Session,
    /// `wr`: read from.
    ReadsFrom,
    /// `ww`: version order.
    VersionOrder,
    /// `rw`: read a version that was then overwritten.
    Overwrites,
    /// `rt`: real time.
    RealTime,
    /// `lock`: the other had to wait for a lock.
    Lock,
    /// `snapshot`: the other locked what this one changed, which it may only if its snapshot has that change.
    Snapshot,
    /// `gone`: a row was looked at again after a wait, or was not there any more.
    Gone,
}

impl DependencyKind {
    /// The two letters of papers and of the JSON output.
    pub fn letters(self) -> &'static str {
        match self {
            DependencyKind::Session => "so",
            DependencyKind::ReadsFrom => "wr",
            DependencyKind::VersionOrder => "ww",
            DependencyKind::Overwrites => "rw",
            DependencyKind::RealTime => "rt",
            DependencyKind::Lock => "lock",
            DependencyKind::Snapshot => "snapshot",
            DependencyKind::Gone => "gone",
        }
    }
}

/// One edge of the story.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// The earlier one.
    pub from: Writer,
    /// The later one.
    pub to: Writer,
    /// What joins them.
    pub kind: DependencyKind,
    /// On which key.
    pub key: Option<KeyId>,
    /// One sentence, without the final stop: `t1 read x = 0, which t2 overwrote with 2`.
    pub because: String,
}

/// One way the transactions could be ordered, and the cycle it leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// What is assumed, in words; nothing when the cycle is certain: `t1's write of x came before t2's`.
    pub assumption: Option<String>,
    /// The edges, each beginning where the one before ends, back to the start.
    pub edges: Vec<Told>,
}

/// A minimal violation.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The level that is violated.
    pub level: IsolationLevel,
    /// What it is called.
    pub kind: AnomalyKind,
    /// The part of the input that violates the level by itself, with the names of the input.
    pub history: History,
    /// Its refutation, on `history`.
    pub anomaly: Anomaly,
    /// All cases; a bad read has one case, whose only sentence is about the read.
    pub cases: Vec<Case>,
}
