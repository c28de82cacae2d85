//! Whose transaction it is, where somebody else decides about the order.
//!
//! ```text
//!   set-up      the first session alone, until another one asks for something or skew_settle() is called
//!   explored    one transaction at a time: the prescribed session's, else, when all are here, the first by name
//!   over        what is left of the command looks at the end, one statement after the other
//! ```
//!
//! The set-up is there only while nothing was loaded. The explored part is over with `skew_settle()`, or when somebody who took no part
//! asks for something and all who took part are gone: that is how a test looks at the end.
//!
//! A session that is connected and silent may still have a transaction that comes before the others by name, so it is waited for. After
//! some patience it is taken to have nothing to do. When it is its own turn and it is silent, or it is silent inside its transaction while
//! others wait, then the application itself imposes another order, and this run is given up.

use super::hall::Hall;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How often those who wait look whether something is over.
const GLANCE: Duration = Duration::from_millis(10);
/// In a first run nobody knows who will connect: after so long without anybody new, all are here.
const ARRIVALS: Duration = Duration::from_millis(250);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    SetUp,
    Explored,
    Over,
}

struct Guest {
    name: String,
    took_part: bool,
    silent: bool,
}

struct State {
    phase: Phase,
    /// Who has the turn, and whether a statement of it runs.
    holder: Option<(i32, bool)>,
    waiting: BTreeMap<(String, i32), oneshot::Sender<()>>,
    guests: BTreeMap<i32, Guest>,
    /// The session that sets up.
    first: Option<String>,
    has_begun: bool,
    changed: Instant,
}

/// Lets one client in at a time.
pub(crate) struct Gate {
    patience: Duration,
    state: Mutex<State>,
}

impl Gate {
    pub(crate) fn new(patience: Duration) -> Gate {
        let state = State {
            phase: Phase::SetUp,
            holder: None,
            waiting: BTreeMap::new(),
            guests: BTreeMap::new(),
            first: None,
            has_begun: false,
            changed: Instant::now(),
        };
        Gate { patience, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client is here.
    pub(crate) fn arrive(&self, client: i32, name: &str) {
        let mut state = self.state();
        state.guests.insert(client, Guest { name: name.to_owned(), took_part: false, silent: false });
        state.changed = Instant::now();
    }

    /// Waits for the turn; who has it already goes on.
    pub(crate) async fn enter(&self, hall: &Hall, client: i32, name: &str) {
        let mut ticket = {
            let mut state = self.state();
            state.changed = Instant::now();
            if let Some((holder, busy)) = &mut state.holder
                && *holder == client
            {
                *busy = true;
                return;
            }
            let (sender, receiver) = oneshot::channel();
            if let Some(guest) = state.guests.get_mut(&client) {
                (guest.silent, guest.name) = (false, name.to_owned());
            }
            state.waiting.insert((name.to_owned(), client), sender);
            receiver
        };
        loop {
            self.decide(hall);
            tokio::select! {
                _ = &mut ticket => return,
                () = tokio::time::sleep(GLANCE) => self.lose_patience(hall),
            }
        }
    }

    /// A statement is over; with `keeps` the transaction is not.
    pub(crate) fn rest(&self, hall: &Hall, client: i32, keeps: bool) {
        {
            let mut state = self.state();
            match &mut state.holder {
                Some((holder, busy)) if *holder == client => *busy = false,
                _ => return,
            }
            state.changed = Instant::now();
            if !keeps {
                state.holder = None;
            }
        }
        self.decide(hall);
    }

    /// A client is gone.
    pub(crate) fn leave(&self, hall: &Hall, client: i32) {
        {
            let mut state = self.state();
            state.guests.remove(&client);
            state.waiting.retain(|waiting, _| waiting.1 != client);
            state.changed = Instant::now();
            if state.holder.is_some_and(|holder| holder.0 == client) {
                state.holder = None;
            }
        }
        self.decide(hall);
    }

    /// Gives the turn to whoever is next, if nobody has it.
    fn decide(&self, hall: &Hall) {
        let mut state = self.state();
        if state.holder.is_some() || state.waiting.is_empty() {
            return;
        }
        let store = &mut hall.database.work();
        let store = &mut store.store;
        state.notice(store);
        let Some(next) = state.next(store) else { return };
        let Some(ticket) = state.waiting.remove(&next) else { return };
        let phase = state.phase;
        if let Some(guest) = state.guests.get_mut(&next.1) {
            guest.took_part |= phase == Phase::Explored;
        }
        state.changed = Instant::now();
        // Who does not wait any more has no use for a turn.
        if ticket.send(()).is_ok() {
            state.holder = Some((next.1, true));
        }
    }

    /// Nothing has happened for too long: who is silent has nothing to do, or it is the application that has another order in mind.
    fn lose_patience(&self, hall: &Hall) {
        let mut state = self.state();
        if state.changed.elapsed() < self.patience || state.holder.is_some_and(|holder| holder.1) {
            return;
        }
        state.changed = Instant::now();
        let store = &mut hall.database.work();
        let Some(steering) = store.store.steering() else {
            state.holder = None;
            return;
        };
        if state.holder.take().is_some() || steering.next().is_some() {
            steering.skip();
            state.phase = Phase::Over;
            return;
        }
        let State { guests, waiting, .. } = &mut *state;
        for (client, guest) in guests.iter_mut() {
            guest.silent |= !waiting.keys().any(|other| other.1 == *client);
        }
        // Who is here before the first transaction takes part, silent or not; who is silent may come in another order than by name.
        let set_up = |guest: &&Guest| guest.silent && Some(&guest.name) == state.first.as_ref();
        let here: Vec<&Guest> = state.guests.values().filter(|guest| !set_up(guest)).collect();
        if here.iter().any(|guest| guest.silent) {
            steering.late();
        }
        if !state.has_begun {
            steering.all_here(here.iter().map(|guest| guest.name.clone()).collect());
        }
        state.has_begun = true;
    }
}

impl State {
    /// Which part of the run it is.
    fn notice(&mut self, store: &mut crate::store::Store) {
        if self.phase == Phase::SetUp {
            let first = self.waiting.keys().next().map(|waiting| waiting.0.clone());
            self.first = self.first.take().or(first);
            let alone = self.waiting.keys().any(|waiting| Some(&waiting.0) == self.first.as_ref());
            if store.is_setting_up() && alone {
                return;
            }
            // What is wrong with it is known to whoever steers.
            let _ = store.begin_steering();
            self.phase = Phase::Explored;
        }
        if self.phase != Phase::Explored {
            return;
        }
        // Who was there before the first transaction takes part, whether its turn has come or not.
        let awaited = store.steering().and_then(|steering| steering.awaited()).unwrap_or_default();
        let takes_part = |guest: &Guest| guest.took_part || awaited.contains(&guest.name);
        let strangers = || self.waiting.keys().all(|it| self.guests.get(&it.1).is_none_or(|guest| !takes_part(guest)));
        let is_over = store.is_touched()
            && !self.guests.values().any(takes_part)
            && strangers()
            && store.steering().is_some_and(|steering| steering.next().is_none());
        if is_over {
            let _ = store.end_steering(None);
        }
        if store.steering().is_none() {
            self.phase = Phase::Over;
        }
    }

    /// Whose turn it is, if that is clear.
    fn next(&mut self, store: &mut crate::store::Store) -> Option<(String, i32)> {
        let Some(steering) = store.steering().filter(|_| self.phase == Phase::Explored) else {
            let first = self.waiting.keys().find(|it| self.phase != Phase::SetUp || Some(&it.0) == self.first.as_ref());
            return first.cloned();
        };
        if let Some(name) = steering.next() {
            return self.waiting.keys().find(|waiting| waiting.0 == name).cloned();
        }
        if !self.has_begun {
            let names: Vec<String> = self.waiting.keys().map(|waiting| waiting.0.clone()).collect();
            let here = match steering.awaited() {
                None => self.changed.elapsed() >= ARRIVALS,
                Some(awaited) => awaited.iter().all(|name| names.contains(name)),
            };
            if !here || !self.all_wait() {
                return None;
            }
            steering.all_here(names);
            self.has_begun = true;
        }
        if self.all_wait() { self.waiting.keys().next().cloned() } else { None }
    }

    /// Whether everybody who may have something to do waits; who sets up and is silent has done it.
    fn all_wait(&self) -> bool {
        self.guests.iter().all(|(client, guest)| {
            let sets_up = !guest.took_part && Some(&guest.name) == self.first.as_ref();
            guest.silent || sets_up || self.waiting.keys().any(|waiting| waiting.1 == *client)
        })
    }
}
