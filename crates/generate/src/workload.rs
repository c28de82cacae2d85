//! What the clients want: draws the steps of transactions, the values they write, and how they end.
//!
//! Every written value is new, unless duplicates are asked for: those are 1, 2 or 3, over and over, on any key. An element of a
//! list is always new.
//!
//! Lists would grow for ever, and so would every read of them. So a place among the keys whose list is full gets a new key, as
//! Elle's workloads do it:
//!
//! ```text
//!   place 5    key 5: [1 4 9 …] full, never used again    key 1016: [70 …]    …
//! ```

use crate::attempt::{Attempt, Step};
use crate::parameters::Parameters;
use skew_chance::{KeyChooser, Random};
use skew_history::{Action, Outcome};
use std::collections::BTreeMap;

/// Values that are written over and over.
const REPEATED_VALUES: u64 = 3;

/// Keys and values that an anomaly may use for itself.
pub(crate) const RESERVED: u64 = 16;

/// The source of all that is drawn.
pub(crate) struct Workload {
    parameters: Parameters,
    chooser: KeyChooser,
    pub(crate) random: Random,
    next_value: i64,
    /// The next key for a place whose list is full.
    next_key: u64,
    /// Per place with a list: its key now, and how many appends were drawn for it.
    lists: BTreeMap<u64, (u64, u32)>,
    /// The places that the transaction being drawn has used, with whether it read there.
    used: Vec<(u64, bool)>,
}

/// How a transaction ends, and whether its writes reach the database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fate {
    pub(crate) outcome: Outcome,
    pub(crate) installed: bool,
}

impl Workload {
    pub(crate) fn new(parameters: &Parameters) -> Workload {
        Workload {
            chooser: KeyChooser::new(parameters.distribution, parameters.keys),
            random: Random::new(parameters.seed),
            next_value: REPEATED_VALUES as i64 + 1,
            next_key: parameters.keys + RESERVED,
            lists: BTreeMap::new(),
            used: Vec::new(),
            parameters: parameters.clone(),
        }
    }

    /// How many clients there are.
    pub(crate) fn sessions(&self) -> u32 {
        self.parameters.sessions
    }

    /// Draws the next transaction of a session into `attempt`, whose vectors are used again.
    pub(crate) fn draw(&mut self, session: u32, attempt: &mut Attempt) {
        attempt.session = session;
        attempt.events.clear();
        attempt.steps.clear();
        self.used.clear();
        while (attempt.steps.len() as u32) < self.parameters.events {
            let room = self.parameters.events - attempt.steps.len() as u32;
            self.draw_event(room, &mut attempt.steps);
        }
    }

    fn draw_event(&mut self, room: u32, steps: &mut Vec<Step>) {
        let read = self.random.chance(self.parameters.reads);
        let place = self.draw_place(read);
        let reads_first = !read && room > 1 && self.random.chance(self.parameters.read_modify_write);
        self.used.push((place, read || reads_first));
        if read || reads_first {
            steps.push(Step { key: self.key_at(place), action: Action::Read, value: 0 });
        }
        if !read {
            steps.push(self.draw_write(place));
        }
    }

    /// A place that the transaction may use. After a refused draw the next free neighbour does, so that few keys or a steep
    /// distribution cannot keep us drawing.
    fn draw_place(&mut self, read: bool) -> u64 {
        let drawn = self.chooser.draw(&mut self.random);
        if !self.parameters.distinct_keys && !self.parameters.blind_writes {
            return drawn;
        }
        let keys = self.chooser.keys();
        (0..keys).map(|distance| (drawn + distance) % keys).find(|&place| self.allows(place, read)).unwrap_or(drawn)
    }

    fn allows(&self, place: u64, read: bool) -> bool {
        let forbidden = |was_read: bool| self.parameters.distinct_keys || (!read && was_read);
        !self.used.iter().any(|&(used, was_read)| used == place && forbidden(was_read))
    }

    fn draw_write(&mut self, place: u64) -> Step {
        if !self.holds_list(place) {
            return Step { key: place, action: Action::Write, value: self.draw_value() };
        }
        let (next_key, full) = (self.next_key, self.parameters.list_length);
        let (key, appends) = self.lists.entry(place).or_insert((place, 0));
        let step = Step { key: *key, action: Action::Append, value: self.next_value };
        *appends += 1;
        if *appends >= full {
            (*key, *appends) = (next_key, 0);
            self.next_key += 1;
        }
        self.next_value += 1;
        step
    }

    fn draw_value(&mut self) -> i64 {
        if self.random.chance(self.parameters.duplicates) {
            return 1 + self.random.below(REPEATED_VALUES) as i64;
        }
        self.reserve_values(1)
    }

    /// The first of this many values that nobody else uses.
    pub(crate) fn reserve_values(&mut self, count: u64) -> i64 {
        let first = self.next_value;
        self.next_value += count as i64;
        first
    }

    /// The first of the keys that are kept for an anomaly.
    pub(crate) fn reserved_keys(&self) -> u64 {
        self.parameters.keys
    }

    fn key_at(&self, place: u64) -> u64 {
        self.lists.get(&place).map_or(place, |list| list.0)
    }

    /// Fibonacci hashing spreads the lists over hot and cold keys alike.
    fn holds_list(&self, place: u64) -> bool {
        let spread = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
        (spread as f64 / (1u64 << 53) as f64) < self.parameters.lists
    }

    /// New values for an attempt that starts over: the refused one may have been recorded with the old ones.
    pub(crate) fn renew(&mut self, attempt: &mut Attempt) {
        attempt.events.clear();
        for place in 0..attempt.steps.len() {
            match attempt.steps[place].action {
                Action::Read => {}
                Action::Write => attempt.steps[place].value = self.draw_value(),
                Action::Append => attempt.steps[place].value = self.reserve_values(1),
            }
        }
    }

    /// How the next transaction ends.
    pub(crate) fn fate(&mut self) -> Fate {
        let (aborted, unknown) = (self.parameters.aborted, self.parameters.unknown);
        if aborted + unknown == 0.0 {
            return Fate { outcome: Outcome::Committed, installed: true };
        }
        let (drawn, heads) = (self.random.unit(), self.random.chance(0.5));
        if drawn < aborted {
            let outcome = if heads { Outcome::AbortedByProgram } else { Outcome::AbortedByDatabase };
            Fate { outcome, installed: false }
        } else if drawn < aborted + unknown {
            Fate { outcome: Outcome::Unknown, installed: heads }
        } else {
            Fate { outcome: Outcome::Committed, installed: true }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn drawn(parameters: &Parameters, count: usize) -> Vec<Vec<Step>> {
        let mut workload = Workload::new(parameters);
        let mut attempt = Attempt::default();
        let mut draw = |_| {
            workload.draw(0, &mut attempt);
            attempt.steps.clone()
        };
        (0..count).map(&mut draw).collect()
    }

    #[test]
    fn keys_of_a_transaction_are_distinct_even_when_few_are_left() {
        for steps in drawn(&Parameters { keys: 9, ..Parameters::default() }, 100) {
            let keys: BTreeSet<u64> = steps.iter().map(|step| step.key).collect();
            assert_eq!(keys.len(), 8);
        }
    }

    #[test]
    fn a_read_modify_write_reads_the_key_that_it_writes_next() {
        let parameters = Parameters { reads: 0.0, read_modify_write: 1.0, ..Parameters::default() };
        for steps in drawn(&parameters, 100) {
            assert!(steps.chunks(2).all(|pair| pair[0].action == Action::Read && pair[0].key == pair[1].key));
            assert!(steps.chunks(2).all(|pair| pair[1].action == Action::Write));
        }
    }

    #[test]
    fn blind_writers_have_not_read_what_they_write() {
        let parameters = Parameters { keys: 12, distinct_keys: false, blind_writes: true, ..Parameters::default() };
        for steps in drawn(&parameters, 200) {
            for (place, write) in steps.iter().enumerate().filter(|(_, step)| step.action == Action::Write) {
                assert!(!steps[..place].iter().any(|step| step.action == Action::Read && step.key == write.key));
            }
        }
    }

    #[test]
    fn a_full_list_gives_way_to_a_new_key_and_no_key_is_both() {
        let parameters = Parameters { keys: 8, lists: 0.5, list_length: 3, ..Parameters::default() };
        let steps: Vec<Step> = drawn(&parameters, 100).concat();
        let keys_of = |action| -> BTreeSet<u64> {
            steps.iter().filter(|step| step.action == action).map(|step| step.key).collect()
        };
        let (written, appended) = (keys_of(Action::Write), keys_of(Action::Append));
        assert!(written.is_disjoint(&appended) && !written.is_empty());
        assert!(appended.len() > 20, "{appended:?}");
        for key in appended {
            let appends = steps.iter().filter(|step| step.key == key && step.action == Action::Append);
            assert!(appends.count() <= 3);
        }
    }

    #[test]
    fn values_are_new_unless_duplicates_are_asked_for() {
        let values = |duplicates| -> (usize, BTreeSet<i64>) {
            let steps = drawn(&Parameters { duplicates, ..Parameters::default() }, 200).concat();
            let values: Vec<i64> =
                steps.iter().filter(|step| step.action == Action::Write).map(|step| step.value).collect();
            (values.len(), values.into_iter().collect())
        };
        let (count, distinct) = values(0.0);
        assert_eq!(distinct.len(), count);
        assert_eq!(values(1.0).1, BTreeSet::from([1, 2, 3]));
    }
}
