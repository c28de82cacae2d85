//! The databases of psi, causal and read-atomic: copies, called sites, that hear of each other's commits late.
//!
//! ```text
//!   site 1   t1 ─────────── t3 ──╮            each session talks to one site,
//!              ╰──────╮          ╰──╮         a transaction runs at its site in one moment,
//!   site 2   ── t2 ── t1 ───────── t3         its writes arrive at the others later, all together
//! ```
//!
//! Every commit has a timestamp from one global counter; a site keeps of each key the version with the greatest timestamp that has
//! arrived. In the order of timestamps, a reader's version of x is then not older than that of any writer of x that had
//! arrived at its site. What differs is what has arrived:
//!
//! * **read-atomic**: commits arrive in any order, but whole. If the reader read anything from t2, or t2 is earlier in its session,
//!   t2 is there with all its writes. That is the axiom.
//! * **causal**: a commit arrives after all that its site had when it was made (each commit carries how many of every site's commits
//!   those were). So the whole causal past of the reader is there.
//! * **psi**: as causal, and a site refuses to write a key of which it has not got the newest version. Take that as version
//!   order: each `so`, `wr` and `ww` edge leads from a commit to one made at a site where it had arrived. If `rw(t, s)`, s had not
//!   arrived where t ran; if also `D+(s, t)`, it had. So `D+ ; rw?` is irreflexive.
//!
//! Lists cannot be merged, so appends follow psi's rule at all three.

use crate::attempt::{Attempt, Content};
use crate::database::{Advance, CommittedValues, Database};
use crate::parameters::Parameters;
use skew_chance::Random;
use skew_history::Action;
use std::rc::Rc;

/// How much the copies promise.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promise {
    /// A transaction's writes arrive together.
    Atomic,
    /// And after what they depend on.
    Causal,
    /// And no update is lost.
    NoLostUpdate,
}

/// A commit on its way to other sites.
struct Commit {
    timestamp: u64,
    origin: usize,
    /// Of every site, how many commits the origin had, this one included.
    known: Vec<u64>,
    written: Vec<(u64, Content)>,
}

#[derive(Default)]
struct Site {
    rows: CommittedValues,
    /// Of every site, how many commits have arrived.
    known: Vec<u64>,
    /// Commits that have not arrived.
    under_way: Vec<Rc<Commit>>,
}

/// Copies of one database.
pub(crate) struct Sites {
    promise: Promise,
    sites: Vec<Site>,
    timestamp: u64,
    /// Per key the timestamp of its newest version anywhere.
    newest: Vec<u64>,
    lag: usize,
}

impl Sites {
    pub(crate) fn new(parameters: &Parameters, promise: Promise) -> Sites {
        let count = parameters.sites.min(parameters.sessions) as usize;
        let site = || Site { known: vec![0; count], ..Site::default() };
        let sites = (0..count).map(|_| site()).collect();
        Sites { promise, sites, timestamp: 0, newest: Vec::new(), lag: parameters.lag as usize }
    }

    fn site_of(&self, attempt: &Attempt) -> usize {
        attempt.session as usize % self.sites.len()
    }

    /// Whether the transaction writes a key whose newest version has not arrived at its site.
    fn is_behind(&self, origin: usize, attempt: &Attempt) -> bool {
        let careful = |action| action == Action::Append || self.promise == Promise::NoLostUpdate;
        let newest = |key: u64| self.newest.get(key as usize).copied().unwrap_or(0);
        let rows = &self.sites[origin].rows;
        attempt.writes().any(|event| careful(event.action) && newest(event.key) > rows.commit(event.key))
    }

    /// Installs the writes at their own site and says what has to travel.
    fn install(&mut self, origin: usize, attempt: &Attempt) -> Commit {
        self.timestamp += 1;
        let site = &mut self.sites[origin];
        let mut written: Vec<(u64, Content)> = Vec::new();
        for event in attempt.writes() {
            site.rows.apply(event, self.timestamp);
            let content = site.rows.content(event.key);
            match written.iter_mut().find(|(key, _)| *key == event.key) {
                Some(again) => again.1 = content,
                None => written.push((event.key, content)),
            }
            if event.key as usize >= self.newest.len() {
                self.newest.resize(event.key as usize + 1, 0);
            }
            self.newest[event.key as usize] = self.timestamp;
        }
        site.known[origin] += 1;
        Commit { timestamp: self.timestamp, origin, known: site.known.clone(), written }
    }

    fn send(&mut self, commit: Commit, random: &mut Random) {
        let (origin, commit) = (commit.origin, Rc::new(commit));
        let (promise, lag) = (self.promise, self.lag);
        for site in self.sites.iter_mut().enumerate().filter(|(place, _)| *place != origin).map(|(_, site)| site) {
            site.under_way.push(Rc::clone(&commit));
            // One arrival per departure on average, so that the distance wanders between nothing and the limit.
            for _ in 0..random.below(3) {
                site.receive_some(promise, random);
            }
            while site.under_way.len() > lag {
                site.receive_oldest();
            }
        }
    }
}

impl Site {
    fn receive_some(&mut self, promise: Promise, random: &mut Random) {
        let place = random.index(self.under_way.len());
        let Some(commit) = self.under_way.get(place) else { return };
        if promise == Promise::Atomic || self.has_causes_of(commit) {
            self.receive(place);
        } else {
            self.receive_oldest();
        }
    }

    /// The oldest commit under way: all its causes are older still, so they are here.
    fn receive_oldest(&mut self) {
        let oldest = (0..self.under_way.len()).min_by_key(|&place| self.under_way[place].timestamp);
        oldest.into_iter().for_each(|place| self.receive(place));
    }

    fn has_causes_of(&self, commit: &Commit) -> bool {
        let causes = commit.known.iter().enumerate();
        causes.zip(&self.known).all(|((site, &needed), &known)| known >= needed - u64::from(site == commit.origin))
    }

    fn receive(&mut self, place: usize) {
        let commit = self.under_way.swap_remove(place);
        self.known[commit.origin] += 1;
        for (key, content) in &commit.written {
            let row = self.rows.row(*key);
            if row.commit < commit.timestamp {
                (row.content, row.commit) = (content.clone(), commit.timestamp);
            }
        }
    }

    fn receive_all(&mut self) {
        while !self.under_way.is_empty() {
            self.receive_oldest();
        }
    }
}

impl Database for Sites {
    fn begin(&mut self, attempt: &mut Attempt, _random: &mut Random) {
        let rows = &self.sites[self.site_of(attempt)].rows;
        attempt.perform_all(|key| rows.content(key));
    }

    fn advance(&mut self, _attempt: &mut Attempt) -> Advance {
        Advance::Done
    }

    fn commit(&mut self, attempt: &Attempt, random: &mut Random) -> bool {
        let origin = self.site_of(attempt);
        if self.is_behind(origin, attempt) {
            // The next try would fail as well: the site catches up first.
            self.sites[origin].receive_all();
            return false;
        }
        if attempt.writes().next().is_some() {
            let commit = self.install(origin, attempt);
            self.send(commit, random);
        }
        true
    }

    fn settle(&mut self) {
        self.sites.iter_mut().for_each(Site::receive_all);
    }
}
