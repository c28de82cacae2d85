//! The clients of a store: their names, their open transactions, and whose turn it is.
//!
//! ```text
//!   connect "a"    a       connect "a" while it is connected    a:2       the numbers stay: a name that comes back is the same session
//! ```
//!
//! Where events wait for turns ([`Options::turns`](crate::Options::turns)) a session does as many as it was granted, and then says that it
//! wants another one.

use crate::transaction::OpenTransaction;
use rustc_hash::{FxHashMap, FxHashSet};
use skew_history::{KeyId, SessionId};
use skew_sql::{Interrupt, Stop};
use skew_value::{SqlError, SqlState};

/// A client.
#[derive(Default)]
struct SessionState {
    name: String,
    connected: bool,
    transaction: Option<OpenTransaction>,
    /// How many transactions it has begun that are part of the history.
    begun: u32,
    /// How many of them the database refused.
    refused: u32,
    /// Its last transaction was refused: the next one reads the latest, else it might be refused for ever.
    after_refusal: bool,
    /// How many events it may do before it waits for its turn.
    grants: u64,
    wants_turn: bool,
    /// When the request came that begins its next transaction, if that had to wait.
    arrival: Option<u64>,
}

/// All clients that there ever were.
pub(crate) struct Sessions {
    states: Vec<SessionState>,
    numbers: FxHashMap<String, SessionId>,
    /// Those with an open transaction that is part of the history.
    at_work: FxHashSet<SessionId>,
    /// Whether events wait for turns.
    turns: bool,
}

impl Sessions {
    pub(crate) fn new(turns: bool) -> Sessions {
        Sessions { states: Vec::new(), numbers: FxHashMap::default(), at_work: FxHashSet::default(), turns }
    }

    fn of(&self, session: SessionId) -> &SessionState {
        &self.states[session.index()]
    }

    fn of_mut(&mut self, session: SessionId) -> &mut SessionState {
        &mut self.states[session.index()]
    }

    /// A client comes. A name that is in use by another one gets a number behind it.
    pub(crate) fn connect(&mut self, name: &str) -> SessionId {
        let mut full = name.to_owned();
        for again in 2.. {
            if !self.is_connected(&full) {
                break;
            }
            full = format!("{name}:{again}");
        }
        let next = SessionId(self.states.len() as u32);
        let session = *self.numbers.entry(full.clone()).or_insert(next);
        if session == next {
            self.states.push(SessionState { name: full, ..SessionState::default() });
        }
        let state = self.of_mut(session);
        (state.connected, state.after_refusal) = (true, false);
        session
    }

    /// A client is gone; its transaction is over already.
    pub(crate) fn disconnect(&mut self, session: SessionId) {
        let state = self.of_mut(session);
        (state.connected, state.grants, state.wants_turn) = (false, 0, false);
    }

    /// Whether a client may go on under this name: it has another one, and nothing of it is part of the history under that.
    pub(crate) fn may_rename(&self, session: SessionId, name: &str) -> bool {
        let state = self.of(session);
        state.begun == 0 && state.transaction.is_none() && state.name != name
    }

    /// Whether a session of this name is connected.
    pub(crate) fn is_connected(&self, name: &str) -> bool {
        self.numbers.get(name).is_some_and(|session| self.of(*session).connected)
    }

    pub(crate) fn name(&self, session: SessionId) -> &str {
        &self.of(session).name
    }

    /// A request is here and has to wait before it is looked at: a transaction that begins with it began at this moment.
    pub(crate) fn arrive(&mut self, session: SessionId, moment: u64) {
        self.of_mut(session).arrival = Some(moment);
    }

    /// When the request came that begins a transaction, if it had to wait.
    pub(crate) fn take_arrival(&mut self, session: SessionId) -> Option<u64> {
        self.of_mut(session).arrival.take()
    }

    /// Whether the last transaction was refused; the next one is no longer the one after that.
    pub(crate) fn take_refusal(&mut self, session: SessionId) -> bool {
        std::mem::take(&mut self.of_mut(session).after_refusal)
    }

    /// The last transaction was refused.
    pub(crate) fn note_refusal(&mut self, session: SessionId) {
        let state = self.of_mut(session);
        (state.after_refusal, state.refused) = (true, state.refused + 1);
    }

    /// How many transactions of the session of this name are over and part of the history, without those that the database refused: a
    /// program runs these again, or never meant them.
    pub(crate) fn settled(&self, name: &str) -> u32 {
        let Some(session) = self.numbers.get(name) else { return 0 };
        let state = self.of(*session);
        let apart = state.refused + u32::from(self.at_work.contains(session));
        state.begun.saturating_sub(apart)
    }

    /// How many transactions a session has begun that are part of the history.
    pub(crate) fn begun(&self, session: SessionId) -> u32 {
        self.of(session).begun
    }

    /// A transaction begins.
    pub(crate) fn begin(&mut self, session: SessionId, transaction: OpenTransaction) {
        if !transaction.is_loading() {
            self.of_mut(session).begun += 1;
            self.at_work.insert(session);
        }
        self.of_mut(session).transaction = Some(transaction);
    }

    /// A transaction ends; what becomes of it is for the caller to say.
    pub(crate) fn end(&mut self, session: SessionId) -> Option<OpenTransaction> {
        self.at_work.remove(&session);
        let state = self.of_mut(session);
        state.wants_turn = false;
        state.transaction.take()
    }

    /// A transaction that has ended is as if it had never begun.
    pub(crate) fn forget(&mut self, session: SessionId, transaction: &OpenTransaction) {
        let state = self.of_mut(session);
        state.begun -= 1;
        state.after_refusal |= transaction.is_retrying();
    }

    /// Whether a transaction of the session is open.
    pub(crate) fn in_transaction(&self, session: SessionId) -> bool {
        self.of(session).transaction.is_some()
    }

    /// The open transaction of a session.
    pub(crate) fn transaction(&self, session: SessionId) -> Result<&OpenTransaction, Stop> {
        self.of(session).transaction.as_ref().ok_or_else(|| no_transaction().into())
    }

    pub(crate) fn transaction_mut(&mut self, session: SessionId) -> Result<&mut OpenTransaction, Stop> {
        self.of_mut(session).transaction.as_mut().ok_or_else(|| no_transaction().into())
    }

    /// Whether a transaction that is open has written a key.
    pub(crate) fn is_written(&self, key: KeyId) -> bool {
        let open = self.at_work.iter().filter_map(|session| self.of(*session).transaction.as_ref());
        open.into_iter().any(|transaction| transaction.own(key).is_some())
    }

    /// Lets a session do one more event.
    pub(crate) fn grant(&mut self, session: SessionId) {
        self.of_mut(session).grants += 1;
    }

    /// Whether a session waits for its turn.
    pub(crate) fn wants_turn(&self, session: SessionId) -> bool {
        self.of(session).wants_turn
    }

    /// Whether an event of this session may happen now; else it waits for its turn.
    pub(crate) fn has_turn(&mut self, session: SessionId) -> Result<(), Interrupt> {
        let turns = self.turns;
        let state = self.of_mut(session);
        state.wants_turn = turns && state.grants == 0;
        if state.wants_turn { Err(Interrupt::Wait) } else { Ok(()) }
    }

    /// An event of this session happens now.
    pub(crate) fn take_turn(&mut self, session: SessionId) -> Result<(), Interrupt> {
        self.has_turn(session)?;
        if self.turns {
            self.of_mut(session).grants -= 1;
        }
        Ok(())
    }
}

/// What is asked of a transaction when there is none.
pub(crate) fn no_transaction() -> SqlError {
    SqlError::new(SqlState("25P01"), "there is no transaction in progress")
}
