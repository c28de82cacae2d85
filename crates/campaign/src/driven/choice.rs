//! Which workload is meant, how large it is, and what registers are like.

use crate::Complaint;
use skew_chance::{Distribution, Preset};
use skew_history::{EngineLevel, IsolationLevel};
use skew_mockdb::Updates;
use skew_workload::catalog::{self, Harness, Requirements, Store};
use skew_workload::registers::Parameters;
use skew_workload::{Registers, Workload};

/// What a run does when nobody says more.
const USUAL: Harness = Harness { sessions: 3, operations: 100 };

/// What somebody said about the workload.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadChoice<'a> {
    /// Its name.
    pub name: &'a str,
    /// How many clients.
    pub sessions: Option<u64>,
    /// How many transactions each of them does.
    pub transactions: Option<u64>,
    /// What registers are like.
    pub registers: RegistersChoice,
    /// The level that transactions ask for.
    pub level: IsolationLevel,
    /// On the mock database: whether updates lock.
    pub mock: Option<Updates>,
    /// Whether every lookup reads its whole table; see [`DriveSettings::scan`](super::DriveSettings::scan).
    pub scan: bool,
    /// How many votes a telephone has.
    pub limit: Option<u64>,
}

/// What somebody said about the workloads `registers` and `lists`.
#[derive(Clone, Copy, Default, Debug)]
pub struct RegistersChoice {
    /// A mix of the checkers' papers.
    pub preset: Option<Preset>,
    /// Reads and writes per transaction.
    pub events: Option<u32>,
    /// How many keys there are.
    pub keys: Option<u64>,
    /// The share of reads.
    pub reads: Option<f64>,
    /// How keys are drawn.
    pub distribution: Option<Distribution>,
}

impl RegistersChoice {
    fn is_empty(&self) -> bool {
        self.words().is_empty()
    }

    /// The arguments as the command line has them.
    fn words(&self) -> Vec<String> {
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

impl WorkloadChoice<'_> {
    /// The workload that is meant, and how large it is.
    pub fn workload(&self) -> Result<(Box<dyn Workload>, Harness), Complaint> {
        let name = self.name;
        let Some(entry) = catalog::ALL.iter().find(|entry| entry.name == name) else {
            let names: Vec<&str> = catalog::ALL.iter().map(|entry| entry.name).collect();
            let advice = format!("use one of {}", names.join(", "));
            return Err(Complaint::new("skew run", format!("there is no workload `{name}`"), &advice));
        };
        let is_registers = ["registers", "lists"].contains(&name);
        if !is_registers && !self.registers.is_empty() {
            let what = format!("{} is for registers, not for {name}", self.registers.words().join(" "));
            return Err(Complaint::new("skew run", what, "leave it away"));
        }
        self.refuse_misplaced()?;
        let usual = entry.harness.unwrap_or(USUAL);
        let sessions = self.sessions.and_then(|sessions| usize::try_from(sessions).ok());
        let harness = Harness {
            sessions: sessions.unwrap_or(usual.sessions),
            operations: self.transactions.unwrap_or(usual.operations),
        };
        if is_registers {
            return Ok((self.registers()?, harness));
        }
        let store = if self.mock == Some(Updates::Plain) { Store::Plain } else { Store::Database };
        let limit = self.limit.and_then(|limit| i64::try_from(limit).ok());
        Ok((entry.workload_for(&Requirements { store, scan: self.scan, limit }), harness))
    }

    /// What another workload could do with.
    fn refuse_misplaced(&self) -> Result<(), Complaint> {
        let refuse = |what: String| Err(Complaint::new("skew run", what, "leave it away"));
        match self.limit {
            Some(limit) if self.name != "voter" => {
                refuse(format!("--limit {limit} is for voter, not for {}", self.name))
            }
            _ if self.scan && self.name == "lists" => {
                refuse("--scan is for rows, and lists are read as a whole".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn registers(&self) -> Result<Box<dyn Workload>, Complaint> {
        let mut parameters = self.registers.parameters()?;
        parameters.lists = self.name == "lists";
        // There an append sees the latest list, and a read that of the snapshot.
        let repeats = self.level == IsolationLevel::Engine(EngineLevel::MysqlRepeatableRead);
        parameters.own_lists = !self.is_weak_mock() && !repeats;
        if parameters.lists && self.is_weak_mock() && self.mock == Some(Updates::Plain) {
            let what = format!(
                "plain updates lose appends at {}, and a list no longer tells who came before whom",
                self.level
            );
            return Err(Complaint::new("skew run", what, "leave --updates plain away, or use registers"));
        }
        Ok(Box::new(Registers::new(parameters)))
    }

    /// Whether the mock database lets reads see older versions than updates do.
    fn is_weak_mock(&self) -> bool {
        self.mock.is_some() && !self.level.implies(IsolationLevel::ParallelSnapshot)
    }
}
