//! Named sets of parameters: the benchmark histories of the literature and our own.
//!
//! The talk on PolySI (VLDB 2023) gives the parameters of its tables: 20 sessions × 100 transactions × 15 events, 10,000 keys,
//! zipfian, on a database at snapshot isolation. Its general workloads draw every event by itself, so a key may come twice in a
//! transaction.

use crate::parameters::{Distribution, Parameters};
use skew_history::IsolationLevel;
use std::str::FromStr;

/// A set of parameters with a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    /// 95 % reads.
    GeneralRh,
    /// 50 % reads.
    GeneralRw,
    /// 30 % reads.
    GeneralWh,
    /// 50 % reads, and no transaction writes what it read before.
    BlindW,
}

impl Preset {
    /// All of them.
    pub const ALL: [Preset; 4] = [Preset::GeneralRh, Preset::GeneralRw, Preset::GeneralWh, Preset::BlindW];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Preset::GeneralRh => "general-rh",
            Preset::GeneralRw => "general-rw",
            Preset::GeneralWh => "general-wh",
            Preset::BlindW => "blind-w",
        }
    }

    /// The parameters.
    pub fn parameters(self) -> Parameters {
        let reads = match self {
            Preset::GeneralRh => 0.95,
            Preset::GeneralRw | Preset::BlindW => 0.5,
            Preset::GeneralWh => 0.3,
        };
        Parameters {
            sessions: 20,
            transactions: 2000,
            events: 15,
            keys: 10_000,
            reads,
            distribution: Distribution::Zipfian { theta: 0.99 },
            distinct_keys: false,
            blind_writes: self == Preset::BlindW,
            level: IsolationLevel::Snapshot,
            ..Parameters::default()
        }
    }
}

impl Parameters {
    /// The history of the speed benchmarks: eight events on distinct keys, half of them reads, as many keys as transactions, and
    /// 20 sessions, or 50 above 10,000 transactions. `Serializable` is its serial mode, `Snapshot` its concurrent one.
    pub fn speed(level: IsolationLevel, transactions: u64) -> Parameters {
        let sessions = if transactions > 10_000 { 50 } else { 20 };
        Parameters { sessions, transactions, keys: transactions.max(8), level, ..Parameters::default() }
    }
}

/// A preset's name that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not a preset; use general-rh, general-rw, general-wh or blind-w")]
pub struct UnknownPreset(pub String);

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(text: &str) -> Result<Self, UnknownPreset> {
        Preset::ALL.into_iter().find(|preset| preset.name() == text).ok_or_else(|| UnknownPreset(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_found_by_its_name_and_can_be_generated() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse(), Ok(preset));
            assert_eq!(preset.parameters().validate(), Ok(()));
        }
        assert_eq!(Parameters::speed(IsolationLevel::Snapshot, 10_001).sessions, 50);
    }
}
