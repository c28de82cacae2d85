//! The statement that runs, and whether it should stop.
//!
//! ```text
//!   thread that serves   begin ── rows … rows … should_stop? … rows … should_stop? ── Cancelled ── end
//!   thread at the door            CancelRequest ── the member is marked ──┘
//!   whoever stops the server      close ───────────────────────────────────┘
//! ```
//!
//! One thread runs all statements, so one of them that works for long keeps everybody waiting and nobody on that thread can stop it.
//! It asks for itself, every so many rows: was it cancelled, is its time over, is the server about to end?

use super::hall::Member;
use crate::connection::error_of;
use skew_sql::{Interrupt, SqlError, SqlState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Why a statement should stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// Somebody asked for it.
    Cancelled,
    /// Its time is over.
    Late,
    /// The server ends.
    Closing,
}

impl Reason {
    /// What its client is told.
    pub(crate) fn error(self) -> SqlError {
        match self {
            Reason::Cancelled => error_of(Interrupt::Cancelled),
            Reason::Late => SqlError::new(SqlState("57014"), "canceling statement due to statement timeout"),
            Reason::Closing => SqlError::new(SqlState("57P01"), "terminating connection due to administrator command"),
        }
    }
}

/// The statement that runs, if any.
#[derive(Default, Debug)]
pub(crate) struct Running {
    current: Mutex<Option<(Arc<Member>, Option<Instant>)>>,
    closing: AtomicBool,
}

impl Running {
    fn current(&self) -> MutexGuard<'_, Option<(Arc<Member>, Option<Instant>)>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A statement of a client begins, or begins again; it may run until then.
    pub(crate) fn begin(&self, member: &Arc<Member>, deadline: Option<Instant>) {
        *self.current() = Some((Arc::clone(member), deadline));
    }

    /// The statement is over; why it should have stopped, if it should.
    pub(crate) fn end(&self) -> Option<Reason> {
        let reason = self.should_stop();
        *self.current() = None;
        reason
    }

    /// Why the statement that runs should stop, if it should.
    pub(crate) fn should_stop(&self) -> Option<Reason> {
        if self.closing.load(Ordering::Relaxed) {
            return Some(Reason::Closing);
        }
        let current = self.current();
        let (member, deadline) = current.as_ref()?;
        if member.is_cancelled() {
            return Some(Reason::Cancelled);
        }
        deadline.is_some_and(|deadline| Instant::now() >= deadline).then_some(Reason::Late)
    }

    /// From now on every statement should stop.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }
}
