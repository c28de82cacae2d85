//! Which workload is meant, and what registers are like: `--keys 10 --reads 0.9 --distribution zipfian`.

use super::Arguments;
use crate::command::program::UpdatesArgument;
use crate::input::Complaint;
use skew_chance::{Distribution, Preset};
use skew_history::IsolationLevel;
use skew_workload::catalog::{self, Harness, Store};
use skew_workload::registers::Parameters;
use skew_workload::{Registers, Workload};

/// What a run does when nobody says more.
const USUAL: Harness = Harness { sessions: 3, operations: 100 };

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
    fn is_empty(&self) -> bool {
        self.words().is_empty()
    }

    /// The arguments as the command line has them.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        words.extend(self.preset.map(|preset| format!("--preset {}", preset.name())));
        words.extend(self.events.map(|events| format!("--events {events}")));
        words.extend(self.keys.map(|keys| format!("--keys {keys}")));
        words.extend(self.reads.map(|reads| format!("--reads {reads}")));
        words.extend(self.distribution.map(|distribution| format!("--distribution {distribution}")));
        words
    }

    fn parameters(&self) -> Result<Parameters, Complaint> {
        let refuse = |what: String, advice: &str| Complaint::new("skew run", what, advice);
        let mut parameters = self.preset.map_or_else(Parameters::default, Parameters::preset);
        if let Some(reads) = self.reads.filter(|reads| !(0.0..=1.0).contains(reads)) {
            return Err(refuse(format!("--reads {reads} is not a share"), "use a number from 0 to 1"));
        }
        parameters.events = self.events.unwrap_or(parameters.events);
        parameters.keys = self.keys.unwrap_or(parameters.keys);
        parameters.reads = self.reads.unwrap_or(parameters.reads);
        parameters.distribution = self.distribution.unwrap_or(parameters.distribution);
        Ok(parameters)
    }
}

/// The workload that is asked for, and how large it is.
pub(super) fn workload(arguments: &Arguments) -> Result<(Box<dyn Workload>, Harness), Complaint> {
    let name = arguments.workload.as_deref().unwrap_or_default();
    let Some(entry) = catalog::ALL.iter().find(|entry| entry.name == name) else {
        let names: Vec<&str> = catalog::ALL.iter().map(|entry| entry.name).collect();
        let advice = format!("use one of {}", names.join(", "));
        return Err(Complaint::new("skew run", format!("there is no workload `{name}`"), &advice));
    };
    let is_registers = ["registers", "lists"].contains(&name);
    if !is_registers && !arguments.registers.is_empty() {
        let what = format!("{} is for registers, not for {name}", arguments.registers.words().join(" "));
        return Err(Complaint::new("skew run", what, "leave it away"));
    }
    let usual = entry.harness.unwrap_or(USUAL);
    let sessions = arguments.sessions.and_then(|sessions| usize::try_from(sessions).ok());
    let harness = Harness {
        sessions: sessions.unwrap_or(usual.sessions),
        operations: arguments.transactions.unwrap_or(usual.operations),
    };
    if !is_registers {
        let is_plain = arguments.is_mock() && arguments.updates == UpdatesArgument::Plain;
        let store = if is_plain { Store::Plain } else { Store::Database };
        return Ok((entry.workload_on(store), harness));
    }
    let mut parameters = arguments.registers.parameters()?;
    parameters.lists = name == "lists";
    // There an append sees the latest list, whatever the level.
    parameters.own_lists = !is_weak_mock(arguments);
    if parameters.lists && is_weak_mock(arguments) && arguments.updates == UpdatesArgument::Plain {
        let what = format!(
            "plain updates lose appends at {}, and a list no longer tells who came before whom",
            arguments.level
        );
        return Err(Complaint::new("skew run", what, "leave --updates plain away, or use registers"));
    }
    Ok((Box::new(Registers::new(parameters)), harness))
}

/// Whether the mock database lets reads see older versions than updates do.
fn is_weak_mock(arguments: &Arguments) -> bool {
    arguments.is_mock() && !arguments.level.implies(IsolationLevel::ParallelSnapshot)
}
