//! The paper's approximation: an order that every commit order contains, and whether it goes round.
//!
//! ```text
//!   t read x from w, c wrote x too        c before t  ⇒  c before w          w before c  ⇒  t before c
//! ```
//!
//! Session order, reads, and what these two rules add, until nothing is added: a least fixpoint. If it has a cycle, no order serializes
//! the run. If it has none, there may still be no order: `tests/fixpoint.rs` has a history of twelve transactions that shows it.

use crate::candidate::CandidateRun;
use crate::recording::Recording;
use skew_history::KeyId;
use std::collections::BTreeMap;

/// Whether the forced order of a candidate has a cycle.
pub(crate) fn is_cyclic(recording: &Recording, candidate: &CandidateRun) -> bool {
    let mut forced = ForcedPairs::new(recording.transactions.len());
    let mut writers: BTreeMap<KeyId, Vec<usize>> = BTreeMap::new();
    for (&key, all) in &recording.writers {
        let there = |&&writer: &&usize| {
            let place = recording.place_of_write(writer, key).unwrap_or(usize::MAX);
            place < candidate.lengths[recording.transactions[writer].session]
        };
        writers.insert(key, all.iter().filter(there).copied().collect());
    }
    for (number, later) in recording.transactions.iter().enumerate() {
        if later.first >= candidate.lengths[later.session] {
            continue;
        }
        (0..number).filter(|&earlier| recording.transactions[earlier].session == later.session).for_each(|earlier| {
            forced.add(earlier, number);
        });
    }
    let reads: Vec<usize> = (0..recording.reads.len()).filter(|&read| candidate.has_read(recording, read)).collect();
    for &read in &reads {
        if let Some(writer) = candidate.source(recording, read) {
            forced.add(writer, recording.reads[read].transaction);
        }
    }
    loop {
        let mut grew = false;
        for &read in &reads {
            let (reader, source) = (recording.reads[read].transaction, candidate.source(recording, read));
            for &other in writers.get(&recording.reads[read].key).into_iter().flatten() {
                if other == reader || Some(other) == source {
                    continue;
                }
                grew |= match source {
                    // The initial state is before everybody.
                    None => forced.add(reader, other),
                    Some(writer) => {
                        (forced.has(other, reader) && forced.add(other, writer))
                            | (forced.has(writer, other) && forced.add(reader, other))
                    }
                };
            }
        }
        if forced.goes_round() {
            return true;
        }
        if !grew {
            return false;
        }
    }
}

/// A transitive relation, as rows of bits.
struct ForcedPairs {
    words: usize,
    rows: Vec<u64>,
}

impl ForcedPairs {
    fn new(transactions: usize) -> ForcedPairs {
        let words = transactions.div_ceil(64);
        ForcedPairs { words, rows: vec![0; words * transactions] }
    }

    fn has(&self, from: usize, to: usize) -> bool {
        self.rows[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }

    /// Adds a pair and all that follows from it; whether it was new.
    fn add(&mut self, from: usize, to: usize) -> bool {
        if self.has(from, to) {
            return false;
        }
        let mut behind: Vec<u64> = self.rows[to * self.words..(to + 1) * self.words].to_vec();
        behind[to / 64] |= 1 << (to % 64);
        for before in 0..self.rows.len() / self.words {
            if before == from || self.has(before, from) {
                let row = &mut self.rows[before * self.words..(before + 1) * self.words];
                row.iter_mut().zip(&behind).for_each(|(row, behind)| *row |= behind);
            }
        }
        true
    }

    fn goes_round(&self) -> bool {
        (0..self.rows.len() / self.words.max(1)).any(|one| self.has(one, one))
    }
}
