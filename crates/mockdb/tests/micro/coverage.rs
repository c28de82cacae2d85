//! How many different things clients can see, and how soon a chooser shows them (MonkeyDB, Fig. 13).
//!
//! A client-observable state is the vector of what all operations returned. The maximum is enumerated: all orders of arrival and all
//! versions, depth first. An odometer knows which choice was taken at each question so far and how many there were; the next run takes
//! the same choices up to the last one that can still be advanced.
//!
//! ```text
//!   who comes?  s0  s1      run 1:  0/2 0/1 0/3        run 4:  1/2 …
//!   which version?  …       run 2:  0/2 0/1 1/3        no wheel can be advanced: all was seen
//!                           run 3:  0/2 0/1 2/3
//! ```
//!
//! Many orders of arrival lead to the same history: the same transactions, each with the same versions read. Whatever can follow on it was
//! or will be seen from where it was met first, so the run ends there. A refused transaction leaves the history as it was; that
//! ends the run as well, and what its repetition might read is what it might have read at once.

use crate::harness::{Application, Arrival, Harness, ObservedOf, Setting};
use skew_check::Version;
use skew_mockdb::chooser::{Chooser, Reading, VersionWriter};
use skew_mockdb::{Campaign, KvError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A set of client-observable states.
pub(crate) type States<A> = BTreeSet<Vec<ObservedOf<A>>>;

/// Whose version each read returned: by session, number of the transaction in it, and number of the read in that.
type ReadFrom = BTreeMap<(String, u32, usize), VersionWriter>;

#[derive(Default)]
struct Wheels {
    /// The choice taken at each question, and how many there are.
    choices: Vec<(usize, usize)>,
    asked: usize,
    read_from: ReadFrom,
    /// The histories that were met, and in them how many transactions of each session are committed.
    met: BTreeSet<(Vec<u32>, ReadFrom)>,
}

impl Wheels {
    fn choose(&mut self, count: usize) -> usize {
        let asked = self.asked;
        self.asked += 1;
        if asked == self.choices.len() {
            self.choices.push((0, count));
        }
        assert_eq!(self.choices[asked].1, count, "the same choices lead to the same questions");
        self.choices[asked].0
    }

    /// Whether the run is on new ground, in a history that was never met.
    fn goes_on(&mut self, committed: &[u32]) -> bool {
        let place = |name: &str| name.trim_start_matches('s').parse().unwrap_or(usize::MAX);
        // What a refused transaction read is not there.
        self.read_from.retain(|read, _| committed.get(place(&read.0)).is_some_and(|&count| read.1 < count));
        self.asked < self.choices.len() || self.met.insert((committed.to_vec(), self.read_from.clone()))
    }

    /// Goes to the next path; false after the last one.
    fn advance(&mut self) -> bool {
        self.asked = 0;
        self.read_from.clear();
        while let Some((choice, count)) = self.choices.pop() {
            if choice + 1 < count {
                self.choices.push((choice + 1, count));
                return true;
            }
        }
        false
    }
}

/// Takes one path after the other through a tree that it learns on the way.
#[derive(Clone, Default)]
struct Odometer(Arc<Mutex<Wheels>>);

impl Odometer {
    fn wheels(&self) -> MutexGuard<'_, Wheels> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Chooser for Odometer {
    fn choose(&mut self, reading: &mut Reading<'_>) -> Option<Version> {
        let allowed: Vec<usize> = (0..reading.versions().len()).filter(|&place| reading.allows(place)).collect();
        if allowed.is_empty() {
            return None;
        }
        let mut wheels = self.wheels();
        let place = allowed[wheels.choose(allowed.len())];
        let read = (reading.session().to_owned(), reading.transaction(), reading.number());
        wheels.read_from.insert(read, reading.writers()[place]);
        Some(reading.versions()[place])
    }
}

/// All states of a harness, or nothing if there are more runs than that.
pub(crate) fn all_states<A: Application>(
    harness: &Harness<A>,
    setting: &Setting,
    most_runs: usize,
) -> Result<Option<States<A>>, KvError> {
    let odometer = Odometer::default();
    let mut states = States::<A>::new();
    for _ in 0..most_runs {
        let mut next = |count: usize, committed: &[u32]| {
            let mut wheels = odometer.wheels();
            wheels.goes_on(committed).then(|| wheels.choose(count))
        };
        let mut arrival = Arrival::Given(&mut next);
        let run = harness.observe(setting, 0, Box::new(odometer.clone()), &mut arrival)?;
        states.extend(run.map(|run| run.state()));
        if !odometer.wheels().advance() {
            return Ok(Some(states));
        }
    }
    Ok(None)
}

/// How many states were seen after so many iterations, and at the end which.
pub(crate) fn seen_states<A: Application>(
    harness: &Harness<A>,
    setting: &Setting,
    seed: u64,
    iterations: &[usize],
) -> Result<(Vec<usize>, States<A>), KvError> {
    let (campaign, mut states, mut counts) = (Campaign::default(), States::<A>::new(), Vec::new());
    for iteration in 1..=iterations.last().copied().unwrap_or(0) {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(iteration as u64);
        let (chooser, mut arrival) = setting.chance(seed, &campaign);
        states.extend(harness.observe(setting, seed, chooser, &mut arrival)?.map(|run| run.state()));
        if iterations.contains(&iteration) {
            counts.push(states.len());
        }
    }
    Ok((counts, states))
}
