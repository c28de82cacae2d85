//! Something that should go wrong, once: the names, and the small histories that they stand for.
//!
//! Each anomaly is a small history in the notation of `skew-history`; `inject` puts it into the stream.

use std::fmt;
use std::str::FromStr;

/// What may go wrong, by the names of `skew check`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum InjectedAnomaly {
    /// Two transactions update what both read. Fails psi, snapshot and serializable.
    LostUpdate,
    /// Two transactions each overwrite what the other read. Fails serializable.
    WriteSkew,
    /// Two readers see two writes in opposite orders. Fails prefix, snapshot and serializable.
    LongFork,
    /// An effect is seen without its cause. Fails causal and up.
    CausalityViolation,
    /// Some of a transaction's writes are seen, some are not. Fails read-atomic and up.
    FracturedRead,
    /// Two reads of one key differ. Fails read-atomic and up.
    NonRepeatableRead,
    /// A reader sees a state that no serial order of the writers passes through. Fails serializable.
    ReadOnlyAnomaly,
    /// Two transactions append to two lists in opposite orders. Fails every level.
    DirtyWrite,
    /// A read from an aborted transaction. Fails every level.
    AbortedRead,
    /// A read of a version that its own transaction overwrote. Fails every level.
    IntermediateRead,
    /// Two transactions read from each other. Fails every level.
    CircularInformationFlow,
    /// A transaction does not see its own write. Fails every level.
    Internal,
    /// A read of what nobody wrote. Fails every level.
    ThinAirRead,
    /// A session does not see its own earlier write. Fails read-atomic and up.
    SessionViolation,
    /// A read misses what ended before it began. Fails the strong levels only.
    RealTimeViolation,
}

impl InjectedAnomaly {
    /// All of them.
    pub const ALL: [InjectedAnomaly; 15] = [
        InjectedAnomaly::LostUpdate,
        InjectedAnomaly::WriteSkew,
        InjectedAnomaly::LongFork,
        InjectedAnomaly::CausalityViolation,
        InjectedAnomaly::FracturedRead,
        InjectedAnomaly::NonRepeatableRead,
        InjectedAnomaly::ReadOnlyAnomaly,
        InjectedAnomaly::DirtyWrite,
        InjectedAnomaly::AbortedRead,
        InjectedAnomaly::IntermediateRead,
        InjectedAnomaly::CircularInformationFlow,
        InjectedAnomaly::Internal,
        InjectedAnomaly::ThinAirRead,
        InjectedAnomaly::SessionViolation,
        InjectedAnomaly::RealTimeViolation,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The small history that goes wrong.
    pub fn notation(self) -> &'static str {
        self.row().1
    }

    fn row(self) -> (&'static str, &'static str) {
        match self {
            InjectedAnomaly::LostUpdate => ("lost-update", "a: r(x,init) w(x,1); b: r(x,init) w(x,2)"),
            InjectedAnomaly::WriteSkew => {
                ("write-skew", "a: r(x,init) r(y,init) w(x,1); b: r(x,init) r(y,init) w(y,2)")
            }
            InjectedAnomaly::LongFork => {
                ("long-fork", "a: w(x,1); b: w(y,2); c: r(x,1) r(y,init); d: r(x,init) r(y,2)")
            }
            InjectedAnomaly::CausalityViolation => {
                ("causality-violation", "a: w(x,1); b: r(x,1) w(y,2); c: r(y,2) r(x,init)")
            }
            InjectedAnomaly::FracturedRead => ("fractured-read", "a: w(x,1) w(y,2); b: r(x,init) r(y,2)"),
            InjectedAnomaly::NonRepeatableRead => ("non-repeatable-read", "a: w(x,1); b: r(x,init) r(x,1)"),
            InjectedAnomaly::ReadOnlyAnomaly => {
                ("read-only-anomaly", "a: r(x,init) r(y,init) w(x,1); b: r(y,init) w(y,2); c: r(x,init) r(y,2)")
            }
            InjectedAnomaly::DirtyWrite => {
                ("dirty-write", "a: append(x,1) append(y,2); b: append(x,3) append(y,4); c: r(x,[1 3]) r(y,[4 2])")
            }
            InjectedAnomaly::AbortedRead => ("aborted-read", "a: w(x,1) !; b: r(x,1)"),
            InjectedAnomaly::IntermediateRead => ("intermediate-read", "a: w(x,1) w(x,2); b: r(x,1)"),
            InjectedAnomaly::CircularInformationFlow => {
                ("circular-information-flow", "a: r(x,1) w(y,2); b: r(y,2) w(x,1)")
            }
            InjectedAnomaly::Internal => ("internal", "a: w(x,1) r(x,init)"),
            InjectedAnomaly::ThinAirRead => ("thin-air-read", "a: r(x,1)"),
            InjectedAnomaly::SessionViolation => ("session-violation", "a: w(x,1) | r(x,init)"),
            InjectedAnomaly::RealTimeViolation => ("real-time-violation", "a: w(x,1) @0..1; b: r(x,init) @2..3"),
        }
    }

    /// How many sessions take part.
    pub fn sessions(self) -> u32 {
        self.notation().split(';').count() as u32
    }
}

impl fmt::Display for InjectedAnomaly {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// An anomaly's name that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not an anomaly that can be injected; use {list}", list = names())]
pub struct UnknownAnomaly(pub String);

fn names() -> String {
    InjectedAnomaly::ALL.map(InjectedAnomaly::name).join(", ")
}

impl FromStr for InjectedAnomaly {
    type Err = UnknownAnomaly;

    fn from_str(text: &str) -> Result<Self, UnknownAnomaly> {
        InjectedAnomaly::ALL
            .into_iter()
            .find(|anomaly| anomaly.name() == text)
            .ok_or_else(|| UnknownAnomaly(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::RESERVED;
    use skew_history::notation;

    #[test]
    fn every_anomaly_is_found_by_its_name_and_fits_what_is_reserved() {
        for anomaly in InjectedAnomaly::ALL {
            assert_eq!(anomaly.name().parse(), Ok(anomaly));
            let history = notation::parse(anomaly.notation()).unwrap();
            assert_eq!(history.session_count() as u32, anomaly.sessions());
            assert!(history.key_count() as u64 <= RESERVED);
        }
        let unknown = "lost-updates".parse::<InjectedAnomaly>().unwrap_err().to_string();
        assert!(unknown.contains("`lost-updates`") && unknown.contains("long-fork"));
    }
}
