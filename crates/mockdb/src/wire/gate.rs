//! Whose transaction it is, where somebody else decides about the order.
//!
//! ```text
//!   set-up      the first connection alone, until it is closed, another one asks for something, or skew_settle() is called
//!   explored    one transaction at a time: the prescribed session's, else, when all are here, the first by name
//!   over        what is left of the command looks at the end, one transaction after the other
//! ```
//!
//! The set-up is there only while nothing was loaded. Where others are connected meanwhile, who sets up may as well be at work already: it
//! has to wait a little whether they ask, too, and when they do not, the set-up is told to be unclear unless `skew_settle()` ends it. So is
//! one that goes on inside a transaction when somebody else comes: a pool gives the connection of the set-up to the first request, and the
//! second request makes it open another one. Had that come a moment later, the whole first request would have passed for
//! set-up; therefore it is always told who set up, and who took part.
//!
//! The explored part is over with `skew_settle()`, or when somebody who took no part asks for something and all who took part are
//! gone: that is how a test looks at the end. Who that may be, and who is waited for before the first transaction, is known from
//! other runs ([`Roll`]).
//!
//! A session that is connected and silent may still have a transaction that comes before the others by name, so it is waited for. After
//! some patience it is taken to have nothing to do. When it is its own turn and it is silent, or it is silent inside its transaction while
//! others wait, then the application itself imposes another order, and this run is given up.

use super::attendance::{Attendance, Roll};
use super::hall::Hall;
use crate::database::Database;
use skew_sql::session::DeclaredLevel;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How often those who wait look whether something is over.
const GLANCE: Duration = Duration::from_millis(10);
/// In a first run nobody knows who will connect: after so long without anybody new, all are here. A suspect is waited for as long before
/// every transaction but the first.
const ARRIVALS: Duration = Duration::from_millis(250);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    SetUp,
    Explored,
    Over,
}

struct Guest {
    name: String,
    silent: bool,
}

/// Who is here, who waits, and whose turn it is.
struct Crowd {
    phase: Phase,
    /// Who has the turn, and whether a statement of it runs.
    holder: Option<(i32, bool)>,
    /// Who had the turn last.
    last: Option<i32>,
    waiting: BTreeMap<(String, i32), oneshot::Sender<()>>,
    guests: BTreeMap<i32, Guest>,
    /// The connection that sets up.
    setter: Option<i32>,
    /// Whether it has made anything that others could work on.
    is_made: bool,
    took_part: BTreeSet<String>,
    has_begun: bool,
    changed: Instant,
    /// Since when everybody is held back for a suspect.
    held: Option<Instant>,
    attendance: Attendance,
}

/// Lets one client in at a time.
pub(crate) struct Gate {
    patience: Duration,
    roll: Arc<Roll>,
    crowd: Mutex<Crowd>,
}

impl Gate {
    pub(crate) fn new(patience: Duration, roll: Arc<Roll>) -> Gate {
        let crowd = Crowd {
            phase: Phase::SetUp,
            holder: None,
            last: None,
            waiting: BTreeMap::new(),
            guests: BTreeMap::new(),
            setter: None,
            is_made: false,
            took_part: BTreeSet::new(),
            has_begun: false,
            changed: Instant::now(),
            held: None,
            attendance: Attendance::default(),
        };
        Gate { patience, roll, crowd: Mutex::new(crowd) }
    }

    fn crowd(&self) -> MutexGuard<'_, Crowd> {
        self.crowd.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the run showed, but for what was written after it.
    pub(crate) fn attendance(&self) -> Attendance {
        self.crowd().attendance.clone()
    }

    /// A client is here.
    pub(crate) fn arrive(&self, client: i32, name: &str) {
        let mut crowd = self.crowd();
        crowd.guests.insert(client, Guest { name: name.to_owned(), silent: false });
        crowd.changed = Instant::now();
    }

    /// Waits for the turn; who has it already goes on.
    pub(crate) async fn enter(&self, hall: &Hall, client: i32, name: &str) {
        let Some(mut ticket) = self.queue(client, name) else { return };
        loop {
            self.decide(hall);
            tokio::select! {
                _ = &mut ticket => return,
                () = tokio::time::sleep(GLANCE) => self.lose_patience(hall),
            }
        }
    }

    /// A place among those who wait; nothing for who has the turn.
    fn queue(&self, client: i32, name: &str) -> Option<oneshot::Receiver<()>> {
        let mut crowd = self.crowd();
        crowd.changed = Instant::now();
        if let Some((holder, busy)) = &mut crowd.holder
            && *holder == client
        {
            *busy = true;
            if crowd.is_unclear() {
                crowd.attendance.unclear.get_or_insert(name.to_owned());
            }
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        if let Some(guest) = crowd.guests.get_mut(&client) {
            (guest.silent, guest.name) = (false, name.to_owned());
        }
        crowd.waiting.insert((name.to_owned(), client), sender);
        Some(receiver)
    }

    /// A statement is over; with `keeps` the transaction is not.
    pub(crate) fn rest(&self, hall: &Hall, client: i32, keeps: bool) {
        {
            let mut crowd = self.crowd();
            match &mut crowd.holder {
                Some((holder, busy)) if *holder == client => *busy = false,
                _ => return,
            }
            crowd.changed = Instant::now();
            if !keeps {
                crowd.holder = None;
            }
        }
        self.decide(hall);
    }

    /// A client is gone.
    pub(crate) fn leave(&self, hall: &Hall, client: i32) {
        {
            let mut crowd = self.crowd();
            crowd.guests.remove(&client);
            crowd.waiting.retain(|waiting, _| waiting.1 != client);
            crowd.changed = Instant::now();
            if crowd.holder.is_some_and(|holder| holder.0 == client) {
                crowd.holder = None;
            }
        }
        self.decide(hall);
    }

    /// A client was refused what cannot be explored. In the set-up and after the end that is between it and the database.
    pub(crate) fn refuse(&self, client: i32, what: &str) {
        let mut crowd = self.crowd();
        if let Some(name) = crowd.explored_name(client) {
            crowd.attendance.refused.get_or_insert((name, what.to_owned()));
        }
    }

    /// A client changed the schema.
    pub(crate) fn define(&self, client: i32, what: &str) {
        let mut crowd = self.crowd();
        if let Some(name) = crowd.explored_name(client) {
            crowd.attendance.defined.get_or_insert((name, what.to_owned()));
        }
    }

    /// A client asked for a level that it does not get.
    pub(crate) fn overrule(&self, level: DeclaredLevel) {
        let words = match level {
            DeclaredLevel::ReadUncommitted => "READ UNCOMMITTED",
            DeclaredLevel::ReadCommitted => "READ COMMITTED",
            DeclaredLevel::RepeatableRead => "REPEATABLE READ",
            DeclaredLevel::Snapshot => "SNAPSHOT",
            DeclaredLevel::Serializable => "SERIALIZABLE",
        };
        self.crowd().attendance.overruled.insert(words.to_owned());
    }

    /// Gives the turn to whoever is next, if nobody has it.
    fn decide(&self, hall: &Hall) {
        let mut crowd = self.crowd();
        if crowd.holder.is_some() || crowd.waiting.is_empty() {
            return;
        }
        let mut database = hall.database.work();
        crowd.notice(&mut database, &self.roll);
        let Some(next) = crowd.next(&mut database, &self.roll, self.patience) else { return };
        let Some(ticket) = crowd.waiting.remove(&next) else { return };
        (crowd.changed, crowd.held) = (Instant::now(), None);
        // Who does not wait any more has no use for a turn.
        if ticket.send(()).is_ok() {
            crowd.attend(&next);
            (crowd.holder, crowd.last) = (Some((next.1, true)), Some(next.1));
        }
    }

    /// Nothing has happened for too long: who is silent has nothing to do, or it is the application that has another order in mind.
    fn lose_patience(&self, hall: &Hall) {
        let mut crowd = self.crowd();
        let is_busy = crowd.holder.is_some_and(|holder| holder.1);
        if crowd.changed.elapsed() < self.patience || is_busy || crowd.held.is_some() {
            return;
        }
        crowd.changed = Instant::now();
        let store = &mut hall.database.work();
        let Some(steering) = store.store.steering() else {
            crowd.holder = None;
            return;
        };
        if crowd.holder.take().is_some() || crowd.has_begun && steering.next().is_some() {
            steering.skip();
            crowd.phase = Phase::Over;
            return;
        }
        crowd.begin_without_silent(&self.roll);
    }
}

impl Crowd {
    /// The name of a client, while what it does is explored.
    fn explored_name(&self, client: i32) -> Option<String> {
        let guest = self.guests.get(&client).filter(|_| self.phase == Phase::Explored)?;
        Some(guest.name.clone())
    }

    fn waits(&self, name: &str) -> bool {
        self.waiting.keys().any(|waiting| waiting.0 == name)
    }

    /// Which part of the run it is.
    fn notice(&mut self, database: &mut Database, roll: &Roll) {
        self.is_made = !database.catalog().tables.is_empty();
        if self.phase == Phase::SetUp && !self.is_set_up(database) {
            return;
        }
        let store = &mut database.store;
        if self.phase == Phase::SetUp {
            if !store.life().is_setting_up() {
                // Somebody said where it ends.
                self.attendance.unclear = None;
            }
            // What is wrong with it is known to whoever steers.
            let _ = store.begin_steering();
            self.phase = Phase::Explored;
        }
        if self.phase != Phase::Explored {
            return;
        }
        // Who was there before the first transaction takes part, whether its turn has come or not.
        let takes_part =
            |name: &str| self.took_part.contains(name) || self.attendance.awaited.contains(name) || roll.has(name);
        let is_over = store.life().is_touched()
            && !self.guests.values().any(|guest| takes_part(&guest.name))
            && !self.waiting.keys().any(|waiting| takes_part(&waiting.0))
            && store.steering().is_some_and(|steering| steering.next().is_none());
        if is_over {
            let _ = store.end_steering(None);
            self.last = None;
        }
        if store.steering().is_none() {
            self.phase = Phase::Over;
        }
    }

    /// Whether the set-up is over.
    fn is_set_up(&mut self, database: &Database) -> bool {
        if !database.store.life().is_setting_up() {
            return true;
        }
        let is_gone = |setter: &i32| !self.guests.contains_key(setter);
        if self.setter.as_ref().is_some_and(is_gone) && !self.is_made {
            // It made nothing: somebody else will.
            self.setter = None;
        }
        let first = self.waiting.keys().next().map(|waiting| waiting.1);
        self.setter = self.setter.or(first);
        let others = self.waiting.keys().any(|waiting| Some(waiting.1) != self.setter);
        !self.waiting.keys().any(|waiting| Some(waiting.1) == self.setter) || self.is_made && others
    }

    /// Whether the one who sets up may as well take part by now: something is made, and others are connected.
    fn is_unclear(&self) -> bool {
        self.phase == Phase::SetUp && self.guests.len() > 1 && self.is_made
    }

    /// Whose turn it is, if that is clear.
    fn next(&mut self, database: &mut Database, roll: &Roll, patience: Duration) -> Option<(String, i32)> {
        if self.is_unclear() && self.changed.elapsed() < ARRIVALS {
            return None;
        }
        let Some(steering) = database.store.steering().filter(|_| self.phase == Phase::Explored) else {
            let sets_up = |client: i32| self.phase != Phase::SetUp || Some(client) == self.setter;
            return self.waiting.keys().find(|waiting| sets_up(waiting.1)).cloned();
        };
        let prescribed = steering.next();
        if !self.has_begun && !self.all_here(roll) {
            return None;
        }
        if prescribed.is_none() && !self.all_wait() || self.is_held(roll, patience) {
            return None;
        }
        if !self.has_begun {
            self.begin();
        }
        match prescribed {
            Some(name) => self.waiting.keys().find(|waiting| waiting.0 == name).cloned(),
            None => self.waiting.keys().next().cloned(),
        }
    }

    /// The first transaction may begin.
    fn begin(&mut self) {
        self.attendance.awaited = self.waiting.keys().map(|waiting| waiting.0.clone()).collect();
        self.has_begun = true;
    }

    /// Whether all are here that are waited for before the first transaction.
    fn all_here(&self, roll: &Roll) -> bool {
        let here = match &roll.awaited {
            None => self.changed.elapsed() >= ARRIVALS,
            Some(awaited) => awaited.iter().all(|name| self.waits(name)),
        };
        here && self.all_wait()
    }

    /// Whether somebody may come who is not here, and was not waited for long enough.
    fn is_held(&mut self, roll: &Roll, patience: Duration) -> bool {
        let comes = |name: &String| self.took_part.contains(name) || self.waits(name);
        if roll.suspects.iter().all(comes) {
            return false;
        }
        let limit = if self.has_begun { ARRIVALS } else { patience };
        self.held.get_or_insert_with(Instant::now).elapsed() < limit
    }

    /// Whether everybody who may have something to do waits; who sets up and is silent has done it.
    fn all_wait(&self) -> bool {
        self.guests.iter().all(|(client, guest)| {
            let sets_up = Some(*client) == self.setter && !self.took_part.contains(&guest.name);
            guest.silent || sets_up || self.waiting.keys().any(|waiting| waiting.1 == *client)
        })
    }

    /// Who is silent is not waited for any longer; it may come in another order than by name.
    fn begin_without_silent(&mut self, roll: &Roll) {
        let (waiting, setter) = (&self.waiting, self.setter);
        let mut silent = None;
        for (client, guest) in &mut self.guests {
            let waits = waiting.keys().any(|other| other.1 == *client);
            guest.silent |= !waits;
            silent = silent.or((guest.silent && Some(*client) != setter).then(|| guest.name.clone()));
        }
        let awaited = roll.awaited.iter().flatten().filter(|_| !self.has_begun);
        let missing = awaited.into_iter().find(|name| !self.waits(name)).cloned();
        let silent = silent.or(missing);
        self.attendance.silent = self.attendance.silent.take().or(silent);
        if !self.has_begun {
            self.begin();
        }
    }

    /// Somebody has the turn.
    fn attend(&mut self, (name, client): &(String, i32)) {
        if self.is_unclear() {
            self.attendance.unclear.get_or_insert(name.clone());
        }
        let (settled, seen) = (self.last == Some(*client), &mut self.attendance);
        match self.phase {
            Phase::SetUp => *seen.set_up.entry(name.clone()).or_default() += 1,
            Phase::Explored => {
                self.took_part.insert(name.clone());
                if !seen.awaited.contains(name) {
                    seen.latecomers.insert(name.clone());
                }
            }
            Phase::Over => {
                let takes_part = self.took_part.contains(name) || seen.awaited.contains(name);
                if takes_part && !settled {
                    seen.went_on.get_or_insert(name.clone());
                }
                seen.afterwards.insert(name.clone());
            }
        }
    }
}
