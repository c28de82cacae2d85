//! The order in which generated transactions end satisfies the axioms of their level.
//!
//! The axioms are spelt out once more here, as the page on isolation levels of the book has them, with the order of ids for the commit order: a
//! history has to satisfy them for *some* order, and the databases of this crate promise that it is this one. (Whether the
//! checker agrees is tested where both are at hand.)

use skew_generate::{Content, GeneratedEvent, Parameters, generate};
use skew_history::{Action, IsolationLevel, Outcome};
use std::collections::{BTreeMap, BTreeSet};

/// Transactions are numbered by commit, from 1; 0 is the initial state.
struct Run {
    transactions: Vec<Vec<GeneratedEvent>>,
    sessions: Vec<u32>,
    /// Who wrote a value to a key.
    writer: BTreeMap<(u64, i64), usize>,
}

fn run(parameters: &Parameters) -> Run {
    let mut run = Run { transactions: vec![vec![]], sessions: vec![0], writer: BTreeMap::new() };
    generate(parameters, &mut |transaction| {
        if transaction.outcome == Outcome::Committed {
            run.transactions.push(transaction.events.to_vec());
            run.sessions.push(transaction.session);
        }
        Ok(())
    })
    .unwrap();
    for (number, events) in run.transactions.iter().enumerate() {
        for event in events.iter().filter(|event| event.action != Action::Read) {
            let Content::Integer(value) = event.content else { panic!("a list was written") };
            run.writer.insert((event.key, value), number);
        }
    }
    run
}

impl Run {
    fn numbers(&self) -> std::ops::Range<usize> {
        0..self.transactions.len()
    }

    fn writes(&self, number: usize, key: u64) -> bool {
        number == 0 || self.transactions[number].iter().any(|event| event.key == key && event.action != Action::Read)
    }

    /// External reads in program order: key and writer.
    fn reads(&self, number: usize) -> Vec<(u64, usize)> {
        let mut own = BTreeSet::new();
        let mut reads = Vec::new();
        for event in &self.transactions[number] {
            if event.action != Action::Read {
                own.insert(event.key);
            } else if !own.contains(&event.key) {
                reads.push((event.key, self.writer_of(event)));
            }
        }
        reads
    }

    fn writer_of(&self, event: &GeneratedEvent) -> usize {
        let value = match &event.content {
            Content::Absent => return 0,
            Content::Integer(value) => *value,
            Content::List(elements) => *elements.last().expect("a list that was read has an element"),
        };
        self.writer[&(event.key, value)]
    }

    /// `so ∪ wr`, as a table.
    fn sees(&self) -> Vec<Vec<bool>> {
        let count = self.transactions.len();
        let mut sees = vec![vec![false; count]; count];
        for (earlier, row) in sees.iter_mut().enumerate() {
            for (later, seen) in row.iter_mut().enumerate().skip(earlier + 1) {
                *seen = earlier == 0 || self.sessions[earlier] == self.sessions[later];
            }
        }
        for reader in self.numbers() {
            for (_, writer) in self.reads(reader) {
                sees[writer][reader] |= writer != reader;
            }
        }
        sees
    }

    /// `must_see` of the level, by the order of numbers.
    fn must_see(&self, level: IsolationLevel) -> Vec<Vec<bool>> {
        let mut sees = self.sees();
        match level {
            IsolationLevel::Causal => close(&mut sees),
            IsolationLevel::Prefix => self.add_prefixes(&mut sees),
            IsolationLevel::Snapshot => {
                self.add_prefixes(&mut sees);
                self.add_conflicts(&mut sees);
            }
            IsolationLevel::Serializable => {
                self.numbers().for_each(|later| (0..later).for_each(|earlier| sees[earlier][later] = true));
            }
            _ => {}
        }
        sees
    }

    fn add_prefixes(&self, sees: &mut [Vec<bool>]) {
        for later in self.numbers() {
            let newest = self.numbers().rev().find(|&earlier| sees[earlier][later]).unwrap_or(0);
            (0..newest).for_each(|earlier| sees[earlier][later] = later != 0);
        }
    }

    fn add_conflicts(&self, sees: &mut [Vec<bool>]) {
        for later in self.numbers() {
            let written = self.transactions[later].iter().filter(|event| event.action != Action::Read);
            let keys: Vec<u64> = written.map(|event| event.key).collect();
            let conflicts = |earlier: usize| keys.iter().any(|&key| self.writes(earlier, key));
            if let Some(newest) = (0..later).rev().find(|&earlier| conflicts(earlier)) {
                (0..=newest).for_each(|earlier| sees[earlier][later] = true);
            }
        }
    }

    fn satisfies(&self, level: IsolationLevel) -> bool {
        match level {
            IsolationLevel::ReadCommitted => self.numbers().all(|reader| self.reads_are_monotonic(reader)),
            IsolationLevel::ParallelSnapshot => self.has_no_bad_cycle(),
            _ => self.satisfies_axiom(&self.must_see(level)),
        }
    }

    fn satisfies_axiom(&self, must_see: &[Vec<bool>]) -> bool {
        let order_kept = |reader: usize, key, writer: usize| {
            let others = self.numbers().filter(|&other| other != writer && other != reader);
            writer < reader
                && others
                    .filter(|&other| must_see[other][reader] && self.writes(other, key))
                    .all(|other| other < writer)
        };
        self.numbers().all(|reader| self.reads(reader).iter().all(|&(key, writer)| order_kept(reader, key, writer)))
    }

    fn reads_are_monotonic(&self, reader: usize) -> bool {
        let reads = self.reads(reader);
        (0..reads.len()).all(|later| {
            let (key, writer) = reads[later];
            reads[..later].iter().all(|&(_, seen)| !self.writes(seen, key) || seen <= writer)
        })
    }

    /// psi: `D+ ; rw?` is irreflexive, with the order of numbers as version order.
    fn has_no_bad_cycle(&self) -> bool {
        let mut depends = self.sees();
        for later in self.numbers() {
            for event in self.transactions[later].iter().filter(|event| event.action != Action::Read) {
                (0..later)
                    .filter(|&earlier| self.writes(earlier, event.key))
                    .for_each(|earlier| depends[earlier][later] = true);
            }
        }
        close(&mut depends);
        self.numbers().all(|reader| {
            !depends[reader][reader]
                && self.reads(reader).iter().all(|&(key, writer)| {
                    let mut overwriters =
                        (writer + 1..self.transactions.len()).filter(|&next| next != reader && self.writes(next, key));
                    overwriters.all(|next| !depends[next][reader])
                })
        })
    }
}

fn close(relation: &mut [Vec<bool>]) {
    for middle in 0..relation.len() {
        let onward = relation[middle].clone();
        for row in relation.iter_mut().filter(|row| row[middle]) {
            row.iter_mut().zip(&onward).for_each(|(known, &new)| *known |= new);
        }
    }
}

fn small(level: IsolationLevel, seed: u64) -> Parameters {
    Parameters {
        sessions: 5,
        transactions: 60,
        events: 4,
        keys: 8,
        sites: 3,
        lag: 6,
        distinct_keys: seed.is_multiple_of(2),
        read_modify_write: if seed.is_multiple_of(3) { 0.5 } else { 0.0 },
        lists: if seed.is_multiple_of(4) { 0.5 } else { 0.0 },
        list_length: 6,
        aborted: if seed.is_multiple_of(5) { 0.1 } else { 0.0 },
        level,
        seed,
        ..Parameters::default()
    }
}

#[test]
fn the_order_of_ends_satisfies_the_level_and_all_weaker_ones() {
    for level in IsolationLevel::of_papers() {
        for seed in 0..40 {
            let run = run(&small(level, seed));
            for weaker in IsolationLevel::of_papers().filter(|&weaker| level.implies(weaker)) {
                assert!(run.satisfies(weaker), "made at {level} with seed {seed}, is not {weaker}");
            }
        }
    }
}

#[test]
fn every_level_shows_that_it_is_no_stronger_one() {
    for level in IsolationLevel::of_papers() {
        for stronger in IsolationLevel::of_papers().filter(|&stronger| !level.implies(stronger)) {
            let violated = (0..40).any(|seed| !run(&small(level, seed)).satisfies(stronger));
            assert!(violated, "forty histories made at {level} all look {stronger} by the order of their ends");
        }
    }
}

/// Two transactions that read the same version of a key and both wrote the key, whatever the order.
fn lost_updates(run: &Run) -> usize {
    let mut updates: BTreeMap<(u64, usize), usize> = BTreeMap::new();
    for number in run.numbers() {
        let updated: BTreeSet<(u64, usize)> =
            run.reads(number).into_iter().filter(|&(key, _)| run.writes(number, key)).collect();
        updated.into_iter().for_each(|version| *updates.entry(version).or_default() += 1);
    }
    updates.values().filter(|&&count| count > 1).count()
}

#[test]
fn updates_are_lost_below_psi_and_never_from_there_on() {
    for level in IsolationLevel::of_papers() {
        let lost: usize = (0..10)
            .map(|seed| Parameters { lists: 0.0, read_modify_write: 1.0, reads: 0.2, ..small(level, seed) })
            .map(|parameters| lost_updates(&run(&parameters)))
            .sum();
        let may_lose = !level.implies(IsolationLevel::ParallelSnapshot);
        assert_eq!(lost > 0, may_lose, "{lost} lost updates at {level}");
    }
}
