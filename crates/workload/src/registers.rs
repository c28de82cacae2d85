//! Reads and writes of single values: the workload of the checkers' papers.
//!
//! ```text
//!   registers    SELECT … WHERE id = k            r(registers/k, v)
//!                UPDATE … SET value = … WHERE id = k   w(registers/k, v)
//!   lists        SELECT … WHERE id = k            r(lists/k, [1 2 3])
//!                UPDATE … SET elements = elements || '4,'   append(lists/k, 4)
//! ```
//!
//! Every transaction has a fixed number of events on keys drawn by chance. The presets have the mixes of PolySI's benchmark (VLDB 2023);
//! `blind-w` never writes what the same transaction has read.

use crate::load::Loader;
use crate::table::{Table, int, long_text};
use crate::workload::{Operation, Workload};
use crate::{Failure, Random, Transaction};
use skew_chance::{Distribution, KeyChooser, Mix, Preset};
use std::collections::BTreeSet;

const REGISTERS: Table = Table::new("registers", &[int("id")], &[int("value")]);
const LISTS: Table = Table::new("lists", &[int("id")], &[long_text("elements")]);

/// What a workload of registers is like.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameters {
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
    /// Whether keys are lists that grow.
    pub lists: bool,
    /// Whether a transaction reads lists that it has appended to. Where appends see the latest list and reads an older one, as on the mock
    /// database below psi, such a read shows elements that the transaction has not seen, and no history of lists can say why.
    pub own_lists: bool,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            events: 8,
            keys: 100,
            reads: 0.5,
            distribution: Distribution::Uniform,
            blind_writes: false,
            lists: false,
            own_lists: true,
        }
    }
}

impl Parameters {
    /// What generated histories of this name are like: 15 events on 10,000 keys, zipfian.
    pub fn preset(preset: Preset) -> Parameters {
        let Mix { events, keys, reads, distribution, blind_writes } = preset.mix();
        Parameters { events, keys, reads, distribution, blind_writes, ..Parameters::default() }
    }
}

/// The workload.
pub struct Registers {
    parameters: Parameters,
    keys: KeyChooser,
}

/// One event of a transaction, as it was drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Read(i64),
    Write(i64, i64),
}

impl Registers {
    /// A workload with these parameters.
    pub fn new(parameters: Parameters) -> Registers {
        let keys = KeyChooser::new(parameters.distribution, parameters.keys);
        Registers { parameters, keys }
    }

    /// The events of a transaction. Written values are unique: session, operation and place.
    fn steps(&self, random: &mut Random, session: usize, number: u64) -> Vec<Step> {
        let events = u64::from(self.parameters.events.max(1));
        let mut read = BTreeSet::new();
        let mut steps = Vec::new();
        for place in 0..events {
            let key = self.keys.draw(random) as i64;
            let wants_read = random.chance(self.parameters.reads);
            if wants_read || self.parameters.blind_writes && read.contains(&key) {
                read.insert(key);
                steps.push(Step::Read(key));
            } else {
                let value = (session as i64 + 1) * 1_000_000_000 + (number * events + place) as i64 + 1;
                steps.push(Step::Write(key, value));
            }
        }
        steps
    }
}

impl Workload for Registers {
    fn name(&self) -> &'static str {
        if self.parameters.lists { "lists" } else { "registers" }
    }

    fn tables(&self) -> &[Table] {
        if self.parameters.lists { &[LISTS] } else { &[REGISTERS] }
    }

    fn load(&self, loader: &mut Loader) {
        for key in 0..self.parameters.keys.max(1) as i64 {
            if self.parameters.lists {
                loader.insert_list(&LISTS, key);
            } else {
                loader.insert(&REGISTERS, key, 0);
            }
        }
    }

    fn draw(&self, random: &mut Random, session: usize, number: u64) -> Operation {
        let steps = self.steps(random, session, number);
        if self.parameters.lists {
            let own = self.parameters.own_lists;
            return Operation::new("lists", move |transaction| run_on_lists(&steps, own, transaction));
        }
        Operation::new("registers", move |transaction| run_on_registers(&steps, transaction))
    }
}

fn run_on_registers(steps: &[Step], transaction: &mut Transaction<'_>) -> Result<(), Failure> {
    for step in steps {
        match *step {
            Step::Read(key) => drop(transaction.select(&REGISTERS, key, &["value"])?),
            Step::Write(key, value) => drop(transaction.overwrite(&REGISTERS, key, "value = ?", value)?),
        }
    }
    Ok(())
}

fn run_on_lists(steps: &[Step], own: bool, transaction: &mut Transaction<'_>) -> Result<(), Failure> {
    let mut appended = BTreeSet::new();
    for step in steps {
        match *step {
            Step::Read(key) if !own && appended.contains(&key) => {}
            Step::Read(key) => drop(transaction.read_list(&LISTS, key, "elements")?),
            Step::Write(key, _) => {
                appended.insert(key);
                transaction.append(&LISTS, key, "elements")?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(workload: &Registers, seed: u64) -> Vec<Vec<Step>> {
        let of =
            |session: usize, number| workload.steps(&mut Random::of_operation(seed, session, number), session, number);
        (0..4).flat_map(|session| (0..50).map(move |number| of(session, number))).collect()
    }

    #[test]
    fn the_same_seed_draws_the_same_and_another_seed_does_not() {
        let workload = Registers::new(Parameters::default());
        assert_eq!(steps(&workload, 1), steps(&workload, 1));
        assert_ne!(steps(&workload, 1), steps(&workload, 2));
    }

    #[test]
    fn no_value_is_written_twice_and_presets_keep_their_share_of_reads() {
        for preset in Preset::ALL {
            let parameters = Parameters::preset(preset);
            let workload = Registers::new(parameters.clone());
            let all = steps(&workload, 1).concat();
            let writes =
                all.iter().filter_map(|step| if let Step::Write(_, value) = step { Some(value) } else { None });
            let (count, different) = (writes.clone().count(), writes.collect::<BTreeSet<_>>().len());
            assert_eq!(count, different);
            let share = 1.0 - count as f64 / all.len() as f64;
            let more = if parameters.blind_writes { 0.15 } else { 0.03 };
            assert!((parameters.reads - 0.03..parameters.reads + more).contains(&share), "{}: {share}", preset.name());
        }
    }

    #[test]
    fn blind_writes_are_never_of_what_was_read() {
        let parameters = Parameters { keys: 5, blind_writes: true, ..Parameters::default() };
        for transaction in steps(&Registers::new(parameters), 3) {
            let mut read = BTreeSet::new();
            for step in transaction {
                match step {
                    Step::Read(key) => drop(read.insert(key)),
                    Step::Write(key, _) => assert!(!read.contains(&key)),
                }
            }
        }
    }
}
