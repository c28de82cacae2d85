//! What registers are like: `--keys 10 --reads 0.9 --distribution zipfian`.

use skew_campaign::driven::RegistersChoice;
use skew_chance::{Distribution, Preset};

/// The arguments of the workloads `registers` and `lists`.
#[derive(clap::Args, Debug)]
pub(super) struct RegistersArguments {
    /// Of registers: a mix of the checkers' papers: general-rh, general-rw, general-wh or blind-w
    #[arg(long, value_name = "NAME")]
    preset: Option<Preset>,
    /// Of registers: reads and writes per transaction [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    events: Option<u32>,
    /// Of registers: how many keys there are [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    keys: Option<u64>,
    /// Of registers: the share of reads, from 0 to 1 [default: 0.5]
    #[arg(long, value_name = "SHARE")]
    reads: Option<f64>,
    /// Of registers: how keys are drawn: uniform, zipfian, zipfian:THETA or hotspot [default: uniform]
    #[arg(long, value_name = "NAME")]
    distribution: Option<Distribution>,
}

impl RegistersArguments {
    pub(super) fn choice(&self) -> RegistersChoice {
        let RegistersArguments { preset, events, keys, reads, distribution } = *self;
        RegistersChoice { preset, events, keys, reads, distribution }
    }
}
