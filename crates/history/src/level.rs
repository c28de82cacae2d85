//! The names of the isolation levels, and which of them is stronger.
//!
//! ```text
//!   read-committed ── read-atomic ── causal ──┬── prefix ──┬── snapshot ── serializable
//!                                             └── psi ─────┘       │             │
//!                                                          strong-snapshot ── strict-serializable
//! ```
//!
//! Weak on the left. `psi` and `prefix` are incomparable: a long fork is allowed by the first only, a lost update by the
//! second only. What each level means is `skew-check`'s business.

use std::fmt;
use std::str::FromStr;

/// A promise about what concurrent transactions may see of each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IsolationLevel {
    /// Reads see committed data, monotonically inside a transaction.
    ReadCommitted,
    /// A transaction's writes are seen all or none.
    ReadAtomic,
    /// Reads see the causal past.
    Causal,
    /// Reads see a prefix of the commit order.
    Prefix,
    /// Causal, and no lost updates.
    ParallelSnapshot,
    /// One snapshot per transaction, and no two concurrent transactions write the same key.
    Snapshot,
    /// As if one after another.
    Serializable,
    /// Snapshot that also respects real time.
    StrongSnapshot,
    /// Serializable that also respects real time.
    StrictSerializable,
    /// Not a level of its own: each transaction at the level its line declares.
    Declared,
}

use IsolationLevel::*;

impl IsolationLevel {
    /// The seven levels that need no clock, weakest first.
    pub const SEVEN: [IsolationLevel; 7] =
        [ReadCommitted, ReadAtomic, Causal, Prefix, ParallelSnapshot, Snapshot, Serializable];

    /// The two levels that also respect real time.
    pub const STRONG: [IsolationLevel; 2] = [StrongSnapshot, StrictSerializable];

    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            ReadCommitted => "read-committed",
            ReadAtomic => "read-atomic",
            Causal => "causal",
            Prefix => "prefix",
            ParallelSnapshot => "psi",
            Snapshot => "snapshot",
            Serializable => "serializable",
            StrongSnapshot => "strong-snapshot",
            StrictSerializable => "strict-serializable",
            Declared => "declared",
        }
    }

    /// The levels directly below this one: when this one holds, so do they.
    pub fn next_weaker(self) -> &'static [IsolationLevel] {
        match self {
            ReadCommitted | Declared => &[],
            ReadAtomic => &[ReadCommitted],
            Causal => &[ReadAtomic],
            Prefix | ParallelSnapshot => &[Causal],
            Snapshot => &[Prefix, ParallelSnapshot],
            Serializable | StrongSnapshot => &[Snapshot],
            StrictSerializable => &[Serializable, StrongSnapshot],
        }
    }

    /// Whether every history that satisfies `self` satisfies `other`. Every level implies itself.
    pub fn implies(self, other: IsolationLevel) -> bool {
        self == other || self.next_weaker().iter().any(|weaker| weaker.implies(other))
    }

    /// Whether the level speaks about real time.
    pub fn is_strong(self) -> bool {
        Self::STRONG.contains(&self)
    }
}

impl fmt::Display for IsolationLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// A level name that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{0}` is not an isolation level; use read-committed (rc), read-atomic (ra), causal (cc), prefix (pc), psi, snapshot (si), \
     serializable (ser), strong-snapshot, strict-serializable (sser) or declared"
)]
pub struct UnknownLevel(pub String);

impl FromStr for IsolationLevel {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        Ok(match text {
            "read-committed" | "rc" | "postgres:read-committed" | "postgres:read-uncommitted" => ReadCommitted,
            "read-atomic" | "ra" => ReadAtomic,
            "causal" | "cc" => Causal,
            "prefix" | "pc" => Prefix,
            "psi" | "parallel-snapshot" => ParallelSnapshot,
            "snapshot" | "si" | "postgres:repeatable-read" => Snapshot,
            "serializable" | "ser" | "postgres:serializable" => Serializable,
            "strong-snapshot" | "strong-si" => StrongSnapshot,
            "strict-serializable" | "sser" => StrictSerializable,
            "declared" => Declared,
            _ => return Err(UnknownLevel(text.to_owned())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_aliases_read_back() {
        for level in IsolationLevel::SEVEN.into_iter().chain(IsolationLevel::STRONG) {
            assert_eq!(level.name().parse(), Ok(level));
        }
        assert_eq!("postgres:repeatable-read".parse(), Ok(Snapshot));
        assert!("repeatable-read".parse::<IsolationLevel>().is_err());
    }

    #[test]
    fn psi_and_prefix_are_incomparable_and_below_snapshot() {
        assert!(!Prefix.implies(ParallelSnapshot) && !ParallelSnapshot.implies(Prefix));
        assert!(StrictSerializable.implies(ReadCommitted) && Snapshot.implies(ParallelSnapshot));
        assert!(!Serializable.implies(StrongSnapshot));
    }
}
