//! The fewest calls that still fail.
//!
//! ```text
//!   whole program      alice[1] bob[1] bob[2] carol[1]     fails
//!   without carol[1]   alice[1] bob[1] bob[2]              fails         she stays away
//!   without bob[2]     alice[1] bob[1]                     fails         so does this one
//!   without bob[1]     alice[1]                            holds         is needed
//!   without alice[1]            bob[1]                     holds         is needed: no call can be left out any more
//! ```
//!
//! From the last call to the first each is left out, and the rest is explored; what still fails is kept, until nothing changes. All this
//! is done by one thread and counted in histories and in steps towards them, so that the result is the same for every number of jobs. At the
//! levels of engines a step runs a transaction from its start, which is what all the time goes into.
//!
//! **It has to fail for the same reason.** An assertion like `stock = 12` counts on calls that it does not name: without one of them it
//! is false in every run, and that explains nothing. So where the whole program never fails at the level that runs are compared with,
//! neither may the rest; and where some run of that level passes, one must pass still. A call that the assertion names stays, and an
//! assertion that was false has to be false again: that it cannot be evaluated is something else.

use super::left_out::calls;
use super::tally::{LevelTally, SmallestRun};
use super::{ExploredProgram, Terms};
use skew_check::Counterexample;
use skew_explore::{Options, Place, Search};
use std::cell::Cell;
use std::collections::BTreeSet;

/// So many histories of a program without some calls are looked at,
const HISTORIES: u64 = 20_000;
/// and so many for one counterexample in all.
const ALL_HISTORIES: u64 = 10 * HISTORIES;
/// So many steps are taken for them: between two histories there may be any number that lead to none.
const STEPS: u64 = 10 * HISTORIES;

/// A counterexample with few calls.
pub(super) struct Minimal {
    pub(super) left_out: BTreeSet<Place>,
    pub(super) smallest: SmallestRun,
    /// Whether it is known that no call can be left out any more.
    pub(super) is_certain: bool,
}

/// Something that failed at a level.
pub(super) struct Reduction<'a> {
    pub(super) subject: &'a ExploredProgram<'a>,
    pub(super) options: Options,
    /// What the whole program has shown.
    pub(super) whole: &'a LevelTally,
    /// The assertion; nothing for a run that only violates what runs are compared with.
    pub(super) assertion: Option<usize>,
    /// The smallest run of the whole program.
    pub(super) smallest: &'a SmallestRun,
    pub(super) spent: Cell<u64>,
}

/// How much of a program is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Until one run shows it.
    First,
    /// All of it.
    End,
}

/// What a look has shown.
enum Look {
    /// It still fails: in this run, the smallest that was seen.
    Fails(SmallestRun),
    /// It does not; that is certain if everything was seen.
    Passes { is_certain: bool },
}

impl Reduction<'_> {
    fn is_stopped(&self) -> bool {
        self.subject.terms.stop.is_stopped()
    }

    /// Leaves calls out as long as it still fails. A violation shows the calls that it consists of, which is where to begin.
    pub(super) fn minimal(&self, found: Option<&Counterexample>) -> Minimal {
        let start = self.subject.left_out.clone();
        let reduced = [Until::First, Until::End].into_iter().find_map(|until| self.reduced(&start, found, until));
        reduced.unwrap_or_else(|| Minimal { left_out: start, smallest: self.smallest.clone(), is_certain: false })
    }

    /// Nothing if a closer look at what is left shows that it fails for another reason.
    fn reduced(&self, start: &BTreeSet<Place>, found: Option<&Counterexample>, until: Until) -> Option<Minimal> {
        let mut best = Minimal { left_out: start.clone(), smallest: self.smallest.clone(), is_certain: true };
        let guess = self.aside(start, found);
        if guess.len() > start.len() {
            self.try_without(&mut best, guess, until);
        }
        loop {
            let before = best.left_out.len();
            best.is_certain = true;
            for place in calls(self.subject.program()).rev().filter(|&place| self.is_free(place)) {
                if !best.left_out.contains(&place) {
                    let candidate = best.left_out.iter().copied().chain([place]).collect();
                    self.try_without(&mut best, candidate, until);
                }
            }
            if best.left_out.len() == before || self.is_stopped() {
                break;
            }
        }
        if best.left_out == *start || self.is_stopped() {
            return Some(best);
        }
        match self.look(&best.left_out, Until::End, HISTORIES) {
            Look::Fails(smallest) => Some(Minimal { smallest, ..best }),
            Look::Passes { .. } => self.is_stopped().then_some(best),
        }
    }

    /// The calls that have no part in a violation, and what was left out before.
    fn aside(&self, start: &BTreeSet<Place>, found: Option<&Counterexample>) -> BTreeSet<Place> {
        let Some(found) = found else { return start.clone() };
        let scripts = self.subject.program().scripts();
        let takes_part = |place: &Place| {
            let name = format!("{}#{}", scripts[place.session].name, place.number);
            found.history.find_transaction(&name).is_some()
        };
        let others = calls(self.subject.program()).filter(|place| self.is_free(*place) && !takes_part(place));
        others.chain(start.iter().copied()).collect()
    }

    /// Whether the assertion does not speak of a call.
    fn is_free(&self, place: Place) -> bool {
        let assertion = self.assertion.and_then(|number| self.subject.program().assertions().get(number));
        assertion.is_none_or(|assertion| assertion.calls().all(|call| call != (place.session, place.number)))
    }

    /// Keeps a program with fewer calls if it still fails.
    fn try_without(&self, best: &mut Minimal, left_out: BTreeSet<Place>, until: Until) {
        let budget = HISTORIES.min(ALL_HISTORIES.saturating_sub(self.spent.get()));
        match self.look(&left_out, until, budget) {
            Look::Fails(smallest) => (best.left_out, best.smallest) = (left_out, smallest),
            Look::Passes { is_certain } => best.is_certain &= is_certain,
        }
    }

    /// Explores the program without some calls.
    fn look(&self, left_out: &BTreeSet<Place>, until: Until, budget: u64) -> Look {
        const OPEN: Look = Look::Passes { is_certain: false };
        if calls(self.subject.program()).all(|place| left_out.contains(&place)) {
            return Look::Passes { is_certain: true };
        }
        let program = self.subject.explorable(left_out.clone());
        let Ok(mut search) = Search::new(&program, self.options) else { return OPEN };
        let terms = Terms { list: false, ..self.subject.terms };
        let mut tally = LevelTally::new(self.subject.program().assertions().len());
        let (mut is_complete, steps) = (false, Cell::new(0));
        let is_enough = || {
            steps.set(steps.get() + 1);
            steps.get() > STEPS || self.is_stopped()
        };
        while tally.explored < budget && !self.is_stopped() {
            match search.next_run_unless(&is_enough) {
                Ok(Some(run)) => tally.count(&program, &run, &terms),
                Ok(None) => {
                    is_complete = steps.get() <= STEPS && !self.is_stopped();
                    break;
                }
                // It cannot be run without these calls.
                Err(_) => return Look::Passes { is_certain: true },
            };
            if self.is_another_reason(&tally) || until == Until::First && self.fails(&tally).is_some() {
                break;
            }
        }
        self.spent.set(self.spent.get() + tally.explored.max(steps.get() / 10));
        let is_certain = is_complete && !tally.is_open() || self.is_another_reason(&tally);
        match self.fails(&tally) {
            _ if self.is_stopped() => OPEN,
            Some(smallest) => Look::Fails(smallest.clone()),
            None => Look::Passes { is_certain },
        }
    }

    /// Whether there is a run that is allowed by what all are compared with, and yet fails, which the whole program does not have.
    fn is_another_reason(&self, tally: &LevelTally) -> bool {
        let allowed = |tally: &LevelTally| self.assertion.map_or(0, |number| tally.assertions[number].allowed);
        allowed(self.whole) == 0 && allowed(tally) > 0
    }

    /// The run that shows it, if what was seen does so for the same reason as the whole program.
    fn fails<'tally>(&self, tally: &'tally LevelTally) -> Option<&'tally SmallestRun> {
        let Some(number) = self.assertion else { return tally.violating.smallest.as_ref() };
        let passes = tally.allowed_and_passing(number) > 0 || self.whole.allowed_and_passing(number) == 0;
        let smallest = tally.assertions[number].smallest.as_ref();
        smallest.filter(|smallest| passes && !self.is_another_reason(tally) && smallest.error == self.smallest.error)
    }
}
