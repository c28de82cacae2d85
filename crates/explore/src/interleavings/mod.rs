//! Every order of the steps of something that runs only as a whole, of those orders that come to the same one.
//!
//! ```text
//!   run 1   a1 a2 │ b1 b2        a1 and b1 touch the same: other orders of them matter
//!   run 2   a1 b1 │ a2 b2        before the bar as it is prescribed, behind it as it comes
//!   run 3   b1 │ …               a1 is asleep at first: what begins with it was seen. b1 wakes it, because it conflicts with b1
//! ```
//!
//! A run of an application on a server is a sequence of *steps*: requests that somebody let through, one after the other. Which steps could be
//! taken next (the *candidates*) is only known once a run is there. So the tree of all runs is walked depth first, a whole run at a time: the
//! last decision that leaves another choice is decided otherwise, and what comes behind it is new.
//!
//! Most orders come to the same. Sleep sets (Godefroid 1996) leave them out: once all runs that begin with step `t` are made, `t` sleeps in
//! those that begin with another step, for as long as nothing is done that conflicts with it. A run in which all candidates sleep was made
//! before. Every order is equal to one that is made, up to exchanging neighbours that do not conflict; that is all that is claimed, and it needs
//! nothing but that a step's [`Footprint`] is complete. (Source sets would make fewer runs that turn out to be in vain; they need to know which
//! step caused which, and an application does not say so.)
//!
//! What could not come to pass as prescribed is a *divergence*: the application did something else than before. And a step that was no
//! candidate in one run and is one in another with the same beginning was late: it is taken into account, and told.

mod footprint;
mod route;

pub use footprint::Footprint;
pub use route::Route;

use route::Decision;

/// The walk over all runs.
#[derive(Debug, Default)]
pub struct Interleavings {
    stack: Vec<Decision>,
    begun: bool,
    runs: u64,
    redundant: u64,
    diverged: u64,
    late: u64,
    unsteady: u64,
}

impl Interleavings {
    /// The next run, until there is no other one.
    pub fn next_route(&mut self) -> Option<Route> {
        if !std::mem::replace(&mut self.begun, true) {
            return Some(Route::new(Vec::new(), Default::default()));
        }
        loop {
            let last = self.stack.last_mut()?;
            last.asleep.insert(last.taken.clone(), last.touched.clone());
            let awake = last.candidates.iter().find(|step| !last.asleep.contains_key(*step)).cloned();
            let Some(step) = awake else {
                self.stack.pop();
                continue;
            };
            let asleep = last.asleep.clone();
            let before = &self.stack[..self.stack.len() - 1];
            let prescribed = before.iter().map(|decision| decision.taken.clone()).chain([step]).collect();
            return Some(Route::new(prescribed, asleep));
        }
    }

    /// What a run was like.
    pub fn made(&mut self, route: Route) {
        self.runs += 1;
        self.redundant += u64::from(route.is_redundant());
        if let Some((at, missing)) = route.diverged().map(|(at, step)| (at, step.to_owned())) {
            self.give_up(at, &missing);
            return;
        }
        let known = self.stack.len().saturating_sub(1);
        let decisions = route.into_decisions();
        if decisions.len() < self.stack.len() {
            // It ended before it came to where it should branch off.
            let missing = self.stack[decisions.len()].taken.clone();
            self.give_up(decisions.len(), &missing);
            return;
        }
        let (mut decisions, mut unsteady) = (decisions.into_iter(), false);
        for (before, now) in self.stack.iter_mut().zip(decisions.by_ref().take(known)) {
            self.late += u64::from(!now.candidates.is_subset(&before.candidates));
            unsteady |= now.touched != before.touched;
            before.candidates.extend(now.candidates);
        }
        self.unsteady += u64::from(unsteady);
        // Where it branched off, what is new takes the place of what was done there before.
        if let Some(before) = self.stack.pop()
            && let Some(mut now) = decisions.next()
        {
            self.late += u64::from(!now.candidates.is_subset(&before.candidates));
            now.candidates.extend(before.candidates);
            self.stack.push(now);
        }
        self.stack.extend(decisions);
    }

    /// A run that did not come to pass: what was wanted is not tried again.
    fn give_up(&mut self, at: usize, missing: &str) {
        self.diverged += 1;
        // Where even its beginning was otherwise, what branches off behind that cannot be had again.
        self.stack.truncate(at + 1);
        if let Some(last) = self.stack.last_mut() {
            last.candidates.remove(missing);
        }
    }

    /// How many runs were made, and how many of them in vain.
    pub fn runs(&self) -> (u64, u64) {
        (self.runs, self.redundant)
    }

    /// How many runs could not be as prescribed: not all may have been seen.
    pub fn diverged(&self) -> u64 {
        self.diverged
    }

    /// In how many runs a step touched something else than in another run that was the same so far: it is another client's, perhaps.
    pub fn unsteady(&self) -> u64 {
        self.unsteady
    }

    /// How often a step came late in an earlier run: it is taken into account.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// The share of all runs that is done, if the tree is as regular as it looks.
    pub fn share_done(&self) -> f64 {
        let mut width = 1.0;
        let mut done = 0.0;
        for decision in &self.stack {
            let all = decision.candidates.len().max(1) as f64;
            let tried = decision.asleep.keys().filter(|step| decision.candidates.contains(*step)).count() as f64;
            done += width * tried / all;
            width /= all;
        }
        done
    }
}

#[cfg(test)]
mod tests;
