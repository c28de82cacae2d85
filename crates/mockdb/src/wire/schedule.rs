//! Whose turn it is, where whole transactions run one at a time.
//!
//! ```text
//!   a: BEGIN … COMMIT          enters, leaves
//!   b:    BEGIN ─ ─ ─ ─ …      waits at the turnstile, enters when a leaves
//!   c:      BEGIN ─ ─ ─ ─ ─ ─  waits, enters when b leaves
//! ```
//!
//! A client that holds the turn and says nothing while others wait (a pool's connection with a forgotten transaction, a test that
//! waits for another client) would stop everybody. After some patience the next goes on all the same: the silent one keeps
//! its transaction, only not the turn.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

struct Queue {
    /// Who has the turn, since when it is silent, and whether a statement of it runs.
    holder: Option<(i32, Instant, bool)>,
    waiting: VecDeque<(i32, oneshot::Sender<()>)>,
    /// How often somebody lost the turn by silence.
    passed: u64,
}

/// Lets one client in at a time.
pub(crate) struct Turnstile {
    patience: Duration,
    queue: Mutex<Queue>,
}

impl Turnstile {
    pub(crate) fn new(patience: Duration) -> Turnstile {
        Turnstile { patience, queue: Mutex::new(Queue { holder: None, waiting: VecDeque::new(), passed: 0 }) }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often somebody lost the turn by silence.
    pub(crate) fn passed(&self) -> u64 {
        self.queue().passed
    }

    /// Waits for the turn; who has it already goes on.
    pub(crate) async fn enter(&self, client: i32) {
        let mut ticket = {
            let mut queue = self.queue();
            match &mut queue.holder {
                Some((holder, _, busy)) if *holder == client => {
                    *busy = true;
                    return;
                }
                None => {
                    queue.holder = Some((client, Instant::now(), true));
                    return;
                }
                Some(_) => {
                    let (sender, receiver) = oneshot::channel();
                    queue.waiting.push_back((client, sender));
                    receiver
                }
            }
        };
        loop {
            tokio::select! {
                _ = &mut ticket => return,
                () = tokio::time::sleep(self.patience) => self.pass_the_silent(),
            }
        }
    }

    /// Takes the turn from whoever is silent for too long.
    fn pass_the_silent(&self) {
        let mut queue = self.queue();
        if let Some((client, since, false)) = queue.holder
            && since.elapsed() >= self.patience
        {
            queue.passed += 1;
            tracing::warn!(
                client,
                "the client is silent inside its transaction while others wait: the next goes on, so transactions are not serial"
            );
            hand_on(&mut queue);
        }
    }

    /// A statement is over; with `keeps` the transaction is not.
    pub(crate) fn rest(&self, client: i32, keeps: bool) {
        let mut queue = self.queue();
        match &mut queue.holder {
            Some((holder, since, busy)) if *holder == client => {
                (*since, *busy) = (Instant::now(), false);
                if !keeps {
                    hand_on(&mut queue);
                }
            }
            _ => {}
        }
    }

    /// A client is gone.
    pub(crate) fn leave(&self, client: i32) {
        self.queue().waiting.retain(|waiting| waiting.0 != client);
        self.rest(client, false);
    }
}

fn hand_on(queue: &mut Queue) {
    queue.holder = None;
    while let Some((client, ticket)) = queue.waiting.pop_front() {
        // Who does not wait any more is passed over.
        if ticket.send(()).is_ok() {
            queue.holder = Some((client, Instant::now(), true));
            return;
        }
    }
}
