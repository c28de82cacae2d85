//! Named mixes of reads and writes: those of the benchmarks of the literature.
//!
//! The talk on PolySI (VLDB 2023) gives the parameters of its tables: 20 sessions × 100 transactions × 15 events, 10,000 keys,
//! zipfian. What concerns one transaction is a [`Mix`] here; sessions and their number are for those who run it. Its general
//! workloads draw every event by itself, so a key may come twice in a transaction.

use crate::distribution::Distribution;
use std::str::FromStr;

/// A mix with a name.
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

    /// What its transactions are like.
    pub fn mix(self) -> Mix {
        let reads = match self {
            Preset::GeneralRh => 0.95,
            Preset::GeneralRw | Preset::BlindW => 0.5,
            Preset::GeneralWh => 0.3,
        };
        Mix {
            events: 15,
            keys: 10_000,
            reads,
            distribution: Distribution::Zipfian { theta: 0.99 },
            blind_writes: self == Preset::BlindW,
        }
    }
}

/// What the transactions of a workload are like.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mix {
    /// Events per transaction.
    pub events: u32,
    /// How many keys there are.
    pub keys: u64,
    /// Which share of the events are reads.
    pub reads: f64,
    /// How keys are drawn.
    pub distribution: Distribution,
    /// Whether a transaction never writes a key that it has read.
    pub blind_writes: bool,
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
    fn every_preset_is_found_by_its_name() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse(), Ok(preset));
        }
        assert_eq!("general".parse::<Preset>(), Err(UnknownPreset("general".to_owned())));
    }
}
