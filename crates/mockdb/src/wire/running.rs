//! The statements that run, and whether they should stop.
//!
//! ```text
//!   a statement          rows … pause … rows … pause ── Cancelled
//!   thread at the door            CancelRequest ── the member is marked ──┘
//!   whoever stops the server      close ───────────────────────────────────┘
//! ```
//!
//! Nobody can stop a statement that works but itself. It asks every so many rows ([`super::desk`]): was it cancelled, is its time over, is
//! its client gone, is the server about to end?

use crate::connection::error_of;
use skew_sql::Interrupt;
use skew_value::{SqlError, SqlState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Why a statement should stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StopReason {
    /// Somebody asked for it.
    Cancelled,
    /// Its time is over.
    Late,
    /// The server ends.
    Closing,
    /// Its client is not there any more.
    Gone,
}

impl StopReason {
    /// What its client is told.
    pub(crate) fn error(self) -> SqlError {
        match self {
            StopReason::Cancelled => error_of(Interrupt::Cancelled),
            StopReason::Late => SqlError::new(SqlState("57014"), "canceling statement due to statement timeout"),
            StopReason::Closing => {
                SqlError::new(SqlState("57P01"), "terminating connection due to administrator command")
            }
            StopReason::Gone => SqlError::new(SqlState("08006"), "connection to client lost"),
        }
    }
}

/// All statements of a server.
#[derive(Default, Debug)]
pub(crate) struct Running {
    aside: AtomicUsize,
    closing: AtomicBool,
}

impl Running {
    /// How many statements work on threads of their own.
    pub(crate) fn working(&self) -> usize {
        self.aside.load(Ordering::Relaxed)
    }

    /// A statement works on a thread of its own from now on.
    pub(crate) fn step_aside(self: &Arc<Running>) -> Aside {
        self.aside.fetch_add(1, Ordering::Relaxed);
        Aside(Arc::clone(self))
    }

    /// From now on every statement should stop.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    /// Whether every statement should stop.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }
}

/// A statement that works on a thread of its own, until this is dropped.
pub(crate) struct Aside(Arc<Running>);

impl Drop for Aside {
    fn drop(&mut self) {
        self.0.aside.fetch_sub(1, Ordering::Relaxed);
    }
}
