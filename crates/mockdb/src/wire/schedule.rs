//! Whose turn it is, where whole transactions run one at a time.
//!
//! ```text
//!   a: BEGIN … COMMIT          enters, leaves
//!   b:    BEGIN ─ ─ ─ ─ …      waits at the turnstile, enters when a leaves
//!   c:      BEGIN ─ ─ ─ ─ ─ ─  waits, enters when b leaves; before b where the order that was prescribed says so
//! ```
//!
//! A client that holds the turn and says nothing while others wait (a pool's connection with a forgotten transaction, a test that
//! waits for another client) would stop everybody. After some patience the next goes on all the same: the silent one keeps
//! its transaction, only not the turn. So does whoever waits for somebody whom the prescribed order puts before it, and who does not come.

use super::hall::Hall;
use super::order::{PrescribedOrder, PrescribedTurn};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Where an order is prescribed, those who wait look so often whether somebody has come.
const GLANCE: Duration = Duration::from_millis(5);

struct Queue {
    /// Who has the turn, since when it is silent, and whether a statement of it runs.
    holder: Option<(i32, Instant, bool)>,
    /// In the order in which they came, with the names of their sessions.
    waiting: Vec<(i32, String, oneshot::Sender<()>)>,
    /// How often somebody lost the turn by silence.
    passed: u64,
    /// The order that was prescribed, how long somebody is waited for, and since when nothing happens.
    prescribed: Option<(PrescribedOrder, Duration)>,
    changed: Instant,
}

/// Lets one client in at a time.
pub(crate) struct Turnstile {
    patience: Duration,
    /// How often those who wait look.
    glance: Duration,
    queue: Mutex<Queue>,
}

impl Turnstile {
    pub(crate) fn new(patience: Duration) -> Turnstile {
        Turnstile::with(patience, patience, None)
    }

    /// Lets clients in in this order, and waits so long for whoever is next.
    pub(crate) fn prescribed(patience: Duration, turns: &[PrescribedTurn], wait: Duration) -> Turnstile {
        Turnstile::with(patience, GLANCE, Some((PrescribedOrder::new(turns.iter().cloned()), wait)))
    }

    fn with(patience: Duration, glance: Duration, prescribed: Option<(PrescribedOrder, Duration)>) -> Turnstile {
        let queue = Queue { holder: None, waiting: Vec::new(), passed: 0, prescribed, changed: Instant::now() };
        Turnstile { patience, glance, queue: Mutex::new(queue) }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often somebody lost the turn by silence.
    pub(crate) fn passed(&self) -> u64 {
        self.queue().passed
    }

    /// The turns of a prescribed order that were waited for in vain.
    pub(crate) fn passed_over(&self) -> Vec<(String, u32)> {
        self.queue().prescribed.as_ref().map_or_else(Vec::new, |(order, _)| order.passed_over().to_vec())
    }

    /// Whether an order was prescribed: then a statement that touches nothing needs no turn.
    pub(crate) fn is_prescribed(&self) -> bool {
        self.queue().prescribed.is_some()
    }

    /// Waits for the turn; who has it already goes on.
    pub(crate) async fn enter(&self, hall: &Hall, client: i32, session: &str) {
        let Some(mut ticket) = self.line_up(client, session) else { return };
        loop {
            self.queue().hand_on(hall);
            tokio::select! {
                _ = &mut ticket => return,
                () = tokio::time::sleep(self.glance) => self.lose_patience(hall),
            }
        }
    }

    /// A place among those who wait; nothing for who has the turn.
    fn line_up(&self, client: i32, session: &str) -> Option<oneshot::Receiver<()>> {
        let mut queue = self.queue();
        queue.changed = Instant::now();
        if let Some((holder, _, busy)) = &mut queue.holder
            && *holder == client
        {
            *busy = true;
            return None;
        }
        if let Some((order, _)) = &mut queue.prescribed {
            order.come(session);
        }
        let (sender, receiver) = oneshot::channel();
        queue.waiting.push((client, session.to_owned(), sender));
        Some(receiver)
    }

    /// Takes the turn from whoever is silent for too long, and waits no longer for whoever does not come.
    fn lose_patience(&self, hall: &Hall) {
        let mut queue = self.queue();
        match queue.holder {
            Some((client, since, false)) if since.elapsed() >= self.patience => {
                queue.passed += 1;
                tracing::warn!(
                    client,
                    "the client is silent inside its transaction while others wait: the next goes on, so transactions are not serial"
                );
                (queue.holder, queue.changed) = (None, Instant::now());
            }
            None => queue.give_up(hall),
            Some(_) => {}
        }
    }

    /// A statement is over; with `keeps` the transaction is not.
    pub(crate) fn rest(&self, hall: &Hall, client: i32, keeps: bool) {
        let mut queue = self.queue();
        let Some((holder, since, busy)) = &mut queue.holder else { return };
        if *holder != client {
            return;
        }
        (*since, *busy) = (Instant::now(), false);
        if !keeps {
            (queue.holder, queue.changed) = (None, Instant::now());
            queue.hand_on(hall);
        }
    }

    /// A client is gone.
    pub(crate) fn leave(&self, hall: &Hall, client: i32) {
        {
            let mut queue = self.queue();
            queue.waiting.retain(|waiting| waiting.0 != client);
            queue.changed = Instant::now();
        }
        self.rest(hall, client, false);
    }
}

impl Queue {
    /// Gives the turn to whoever is next, if nobody has it.
    fn hand_on(&mut self, hall: &Hall) {
        while self.holder.is_none() {
            let Some(next) = self.next(hall) else { return };
            let (client, _, ticket) = self.waiting.remove(next);
            // Who does not wait any more is passed over.
            if ticket.send(()).is_ok() {
                (self.holder, self.changed) = (Some((client, Instant::now(), true)), Instant::now());
            }
        }
    }

    /// Which of those who wait is next, if that is clear.
    fn next(&mut self, hall: &Hall) -> Option<usize> {
        self.waiting.retain(|waiting| !waiting.2.is_closed());
        let names = self.waiting.iter().map(|waiting| waiting.1.as_str());
        match &mut self.prescribed {
            _ if self.waiting.is_empty() => None,
            None => Some(0),
            Some((order, _)) => {
                let database = hall.database.work();
                order.advance(|name| database.store.settled(name));
                order.next(names, |name| database.store.is_connected(name))
            }
        }
    }

    /// Waits no longer for whoever should be next, if it was waited for long enough.
    fn give_up(&mut self, hall: &Hall) {
        let names = self.waiting.iter().map(|waiting| waiting.1.as_str());
        if let Some((order, wait)) = &mut self.prescribed
            && self.changed.elapsed() >= *wait
        {
            let database = hall.database.work();
            order.give_up(names, |name| database.store.is_connected(name));
            self.changed = Instant::now();
        }
    }
}
