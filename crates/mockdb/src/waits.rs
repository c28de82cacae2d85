//! Who holds what others want: the locks of rows, of tables, those that applications name, and whose wait is over.
//!
//! ```text
//!   a  holds account/1, waits for 7         a wait may go from one kind of lock to the other:
//!   b  holds 7, waits for account/1         b closed the cycle, so b is refused
//! ```
//!
//! A session has at most one transaction, so locks are held by sessions: those of rows, and of the advisory ones some, until the
//! transaction ends ([`Waits::release`]).

use crate::advisory::AdvisoryTable;
use crate::lock::{LockAnswer, LockMode, LockTable, waits_for_itself};
use crate::table_lock::TableLocks;
use skew_history::{KeyId, SessionId};
use skew_sql::{AdvisoryRequest, Interrupt, TableLock};
use std::sync::Arc;

/// What a session waits for; if it is no lock, it is its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Awaited {
    row: Option<KeyId>,
    advisory: Option<i128>,
    table: Option<u64>,
}

/// Which locks a transaction has at a savepoint: how many of tables, and how many that applications name, had been given.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct LocksGiven {
    tables: u64,
    advisory: u64,
}

/// All locks of a store, and who waits for them.
#[derive(Default, Debug)]
pub(crate) struct Waits {
    rows: LockTable,
    advisory: AdvisoryTable,
    tables: TableLocks,
    /// Those whose wait is over and who were not told yet.
    woken: Vec<SessionId>,
}

impl Waits {
    /// Asks for the lock of a row; who has to wait asks again when woken.
    pub(crate) fn lock(&mut self, session: SessionId, key: KeyId, mode: LockMode) -> LockAnswer {
        self.rows.acquire(session, key, mode)
    }

    /// Whether a session that asked for a row would have to wait.
    pub(crate) fn would_wait(&self, session: SessionId, key: KeyId, mode: LockMode) -> bool {
        self.rows.would_wait(session, key, mode)
    }

    /// Whether a session has the lock of a row.
    pub(crate) fn holds(&self, session: SessionId, key: KeyId, mode: LockMode) -> bool {
        self.rows.holds(session, key, mode)
    }

    /// Whether a session waits for a row.
    pub(crate) fn waits_for_row(&self, session: SessionId) -> bool {
        self.rows.is_waiting(session)
    }

    /// Whether a session waits for any lock.
    pub(crate) fn is_waiting(&self, session: SessionId) -> bool {
        self.rows.is_waiting(session) || self.advisory.is_waiting(session) || self.tables.awaited(session).is_some()
    }

    /// The sessions that hold what a session waits for.
    pub(crate) fn waits_for(&self, session: SessionId) -> Vec<SessionId> {
        let mut holders = self.advisory.waits_for(session);
        holders.extend(self.rows.waits_for(session));
        holders.extend(self.tables.waits_for(session));
        holders
    }

    /// What a session waits for, which may be a row on a server: who is woken and waits for the same goes on with the same wait.
    pub(crate) fn awaited(&self, session: SessionId, on_server: Option<KeyId>) -> Awaited {
        Awaited {
            row: on_server.or(self.rows.awaited(session)),
            advisory: self.advisory.awaited(session),
            table: self.tables.awaited(session),
        }
    }

    /// A session waits no longer.
    pub(crate) fn stop_waiting(&mut self, session: SessionId) {
        self.advisory.stop_waiting(session);
        self.woken.extend(self.rows.stop_waiting(session));
        self.woken.extend(self.tables.stop_waiting(session));
    }

    /// The transaction of a session is over, and with it what it held.
    pub(crate) fn release(&mut self, session: SessionId) {
        self.advisory.free_transaction(session);
        self.wake_ready();
        self.woken.extend(self.rows.release(session));
        self.woken.extend(self.tables.release(session));
    }

    /// Which locks were given so far, for a savepoint.
    pub(crate) fn given(&self) -> LocksGiven {
        LocksGiven { tables: self.tables.given(), advisory: self.advisory.given() }
    }

    /// The locks of tables, and those that applications name, which the transaction of a session got since then are given back.
    pub(crate) fn back_to(&mut self, session: SessionId, given: LocksGiven) {
        self.advisory.back_to(session, given.advisory);
        self.wake_ready();
        self.woken.extend(self.tables.back_to(session, given.tables));
    }

    /// Locks a table, or waits for it from now on; whether it is locked.
    pub(crate) fn lock_table(&mut self, session: SessionId, lock: &TableLock) -> bool {
        self.tables.acquire(session, lock)
    }

    /// Whether a table could be locked at once.
    pub(crate) fn is_table_free(&self, session: SessionId, lock: &TableLock) -> bool {
        self.tables.is_free(session, lock)
    }

    /// All locks of tables.
    pub(crate) fn tables(&self) -> &TableLocks {
        &self.tables
    }

    /// All locks that applications name.
    pub(crate) fn advisory_locks(&self) -> &AdvisoryTable {
        &self.advisory
    }

    /// The same locks of tables, but for the order of those who wait.
    pub(crate) fn set_tables(&mut self, tables: TableLocks) {
        self.tables = tables;
    }

    /// Gives a table to those in its queue who can have it now.
    pub(crate) fn wake_for_table(&mut self, table: &Arc<str>) {
        let woken = self.tables.promote(table);
        self.woken.extend(woken);
    }

    /// A session is gone; its transaction is over already.
    pub(crate) fn leave(&mut self, session: SessionId) {
        self.advisory.free_session(session);
        self.wake_ready();
    }

    /// Does what a function of advisory locks asks; whether it could.
    pub(crate) fn advisory(
        &mut self,
        session: SessionId,
        key: i128,
        request: AdvisoryRequest,
    ) -> Result<bool, Interrupt> {
        let done = match request {
            AdvisoryRequest::Take { shared, waits, transaction } => {
                if self.advisory.take(session, key, shared, transaction) {
                    return Ok(true);
                }
                if waits {
                    return Err(self.wait_for_advisory(session, key, shared));
                }
                false
            }
            AdvisoryRequest::Free { shared } => self.advisory.free(session, key, shared),
            AdvisoryRequest::FreeAll => {
                self.advisory.free_all(session);
                true
            }
        };
        self.wake_ready();
        Ok(done)
    }

    fn wait_for_advisory(&mut self, session: SessionId, key: i128, shared: bool) -> Interrupt {
        self.advisory.wait(session, key, shared);
        if waits_for_itself(session, |other| self.waits_for(other)) {
            self.advisory.stop_waiting(session);
            return Interrupt::Deadlock;
        }
        Interrupt::Wait
    }

    /// Wakes those that could have their advisory locks, each once until somebody asks.
    fn wake_ready(&mut self) {
        for session in self.advisory.ready() {
            if !self.woken.contains(&session) {
                self.woken.push(session);
            }
        }
    }

    /// The sessions whose wait is over since this was last asked.
    pub(crate) fn take_woken(&mut self) -> Vec<SessionId> {
        std::mem::take(&mut self.woken)
    }
}
