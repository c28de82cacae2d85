//! Statements lock their tables, and wait for them.
//!
//! ```text
//!   a  LOCK TABLE item IN SHARE MODE        b  INSERT INTO item …  ROW EXCLUSIVE: waits for a, before it looks at any row
//! ```
//!
//! Only a server has such locks: at the levels of the papers tables are nothing that anybody waits for. They are outside of histories, in which
//! they only make some impossible. Who closes a cycle of waits is refused, unless it goes through somebody who only stands behind others in a
//! queue and could be let before them: then that is what happens.

use crate::lock::waits_for_itself;
use crate::store::Store;
use skew_history::SessionId;
use skew_sql::{Interrupt, LockedThing, Patience, Stop, TableLock};
use skew_value::{SqlError, SqlState};

/// A lock: whose, of what, how, and whether it is held.
pub(crate) type StoreLock = (SessionId, LockedThing, &'static str, bool);

impl Store {
    /// All locks, as a server tells them. Whoever has written holds its own transaction, and whoever waits for a row waits for one.
    pub(crate) fn all_locks(&self) -> Vec<StoreLock> {
        let tables = self.waits().tables().all();
        let mut all: Vec<StoreLock> = tables
            .map(|(table, session, mode, held)| (session, LockedThing::Table(table.into()), mode.name(), held))
            .collect();
        all.extend(self.waits().advisory_locks().all().map(|(key, session, shared, held)| {
            (session, LockedThing::Advisory(key), if shared { "ShareLock" } else { "ExclusiveLock" }, held)
        }));
        let Some(engine) = self.engine() else { return all };
        for (session, transaction) in engine.writers() {
            all.push((session, LockedThing::Transaction(transaction.0), "ExclusiveLock", true));
        }
        for session in engine.waiting() {
            let holder = engine.waits_for(session).into_iter().find_map(|holder| engine.transaction_of(holder));
            all.extend(holder.map(|id| (session, LockedThing::Transaction(id.0), "ShareLock", false)));
        }
        all
    }

    /// What a session waits for, in the words of `pg_stat_activity`.
    pub(crate) fn kind_of_wait(&self, session: SessionId) -> Option<&'static str> {
        if self.engine().is_some_and(|engine| engine.is_waiting(session)) {
            return Some("transactionid");
        }
        let waits = self.waits();
        if waits.tables().awaited(session).is_some() {
            return Some("relation");
        }
        waits.advisory_locks().is_waiting(session).then_some("advisory")
    }

    /// Locks tables for the statement of a session, one after the other.
    pub(crate) fn lock_tables(
        &mut self,
        session: SessionId,
        locks: &[TableLock],
        patience: Patience,
    ) -> Result<(), Stop> {
        if self.engine().is_none() || self.transaction(session)?.is_loading() {
            return Ok(());
        }
        for lock in locks {
            if patience == Patience::Refuse && !self.waits().is_table_free(session, lock) {
                let message = format!("could not obtain lock on relation \"{}\"", lock.table);
                return Err(SqlError::new(SqlState("55P03"), message).into());
            }
            while !self.waits_mut().lock_table(session, lock) {
                self.wait_for_table(session)?;
            }
        }
        Ok(())
    }

    /// A session waits for a table; it may have it after all when somebody in a cycle is let before others.
    fn wait_for_table(&mut self, session: SessionId) -> Result<(), Stop> {
        if self.is_deadlock(session) {
            return Err(self.refuse_deadlock(session));
        }
        let is_given = self.waits().tables().awaited(session).is_none();
        if is_given { Ok(()) } else { Err(Interrupt::Wait.into()) }
    }

    /// Whether a session that waits now waits, in the end, for itself, and nobody can be let before others so that it does not.
    pub(crate) fn is_deadlock(&mut self, session: SessionId) -> bool {
        waits_for_itself(session, |other| self.waits_for(other)) && !self.untangle(session)
    }

    /// Lets somebody in a cycle of waits before others in its queue, so that nobody waits for itself any more; whether that can be.
    fn untangle(&mut self, session: SessionId) -> bool {
        let mut members = vec![session];
        let mut place = 0;
        while let Some(&member) = members.get(place) {
            for other in self.waits_for(member) {
                if !members.contains(&other) {
                    members.push(other);
                }
            }
            place += 1;
        }
        members.retain(|member| *member == session || waits_for_itself(*member, |other| self.waits_for(other)));
        // PostgreSQL begins where the cycle comes back.
        members.iter().rev().any(|&member| self.let_before(session, &members, member))
    }

    fn let_before(&mut self, session: SessionId, members: &[SessionId], member: SessionId) -> bool {
        let before = self.waits().tables().clone();
        let mut tables = before.clone();
        let Some(table) = tables.overtake(member) else { return false };
        self.waits_mut().set_tables(tables);
        let is_tangled = |one: &SessionId| waits_for_itself(*one, |other| self.waits_for(other));
        if members.iter().chain([&session]).any(is_tangled) {
            self.waits_mut().set_tables(before);
            return false;
        }
        self.waits_mut().wake_for_table(&table);
        true
    }
}
