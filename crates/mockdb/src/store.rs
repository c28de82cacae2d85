//! The store: sessions, their transactions, and how these begin and end.
//!
//! ```text
//!   new ── loading: what is written is the initial state ── start ── begin … get, scan, put … commit | abort
//!                                                                                  │
//!                                        Interrupt::Wait: the lock or the turn is another's; ask again when woken
//!                                        SerializationFailure, Deadlock: the transaction is over
//! ```
//!
//! One thread at a time works on a store, and nothing in it sleeps: who has to wait is told so, and [`Store::take_woken`] says whose wait
//! is over. Statements are in [`crate::statement`], reads and writes in [`crate::rows`], ranges in [`crate::scan`].

use crate::advisory::AdvisoryTable;
use crate::chance::{Chance, Stream};
use crate::chooser::{Campaign, Chooser, ChooserKind, Latest};
use crate::keys::KeyTable;
use crate::lock::LockTable;
use crate::log::{self, Choice};
use crate::options::{Options, refuses};
use crate::record::{self, Ending, Moment, Record, Recorder};
use crate::scan::LiveScans;
use crate::steering::Wheel;
use crate::transaction::Transaction;
use crate::versions::{Committed, VersionTable};
use rustc_hash::FxHashMap;
use skew_check::{GrowingHistory, GrowingId, GrowingOptions};
use skew_history::{IsolationLevel, KeyId, SessionId};
use skew_sql::rows::SpaceShape;
use skew_sql::{Interrupt, SequenceId, SpaceId, Stop, by_place};
use skew_value::{SqlError, SqlState};
use std::collections::BTreeMap;

/// How a transaction begins.
#[derive(Clone, Copy, Default, Debug)]
pub struct Begin {
    /// Its level; without, the store's.
    pub level: Option<IsolationLevel>,
    /// Whether it may not write.
    pub read_only: bool,
    /// Its chooser; without, the store's.
    pub chooser: Option<ChooserKind>,
}

/// How transactions ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Committed.
    pub committed: u64,
    /// Rolled back by their programs.
    pub rolled_back: u64,
    /// Refused because no commit order would allow them.
    pub refused: u64,
    /// Refused because they waited for themselves.
    pub deadlocks: u64,
}

/// A client.
#[derive(Default)]
pub(crate) struct SessionState {
    pub(crate) name: String,
    pub(crate) open: bool,
    pub(crate) transaction: Option<Transaction>,
    /// How many transactions it has begun.
    pub(crate) begun: u32,
    /// Its last transaction was refused: the next one reads the latest, else it might be refused for ever.
    pub(crate) after_refusal: bool,
    pub(crate) current_values: BTreeMap<SequenceId, i64>,
    /// How many events it may do before it waits for its turn.
    pub(crate) grants: u64,
    pub(crate) wants_turn: bool,
    /// When the request came that begins its next transaction, if that had to wait.
    arrival: Option<u64>,
}

/// A database as weak as its level allows.
pub struct Store {
    pub(crate) options: Options,
    pub(crate) growing: GrowingHistory,
    pub(crate) keys: KeyTable,
    pub(crate) versions: VersionTable,
    pub(crate) locks: LockTable,
    pub(crate) live_scans: LiveScans,
    pub(crate) sessions: Vec<SessionState>,
    session_numbers: FxHashMap<String, SessionId>,
    pending: FxHashMap<GrowingId, SessionId>,
    chooser: Box<dyn Chooser>,
    other_choosers: BTreeMap<ChooserKind, Box<dyn Chooser>>,
    refusals: Chance,
    pub(crate) numbers: Chance,
    pub(crate) sequences: BTreeMap<SequenceId, (i64, bool)>,
    pub(crate) fresh_keys: BTreeMap<SpaceId, i128>,
    pub(crate) recorder: Recorder,
    pub(crate) loading: bool,
    /// After somebody steered: whether anything was written since.
    pub(crate) written_after: Option<bool>,
    clock: i64,
    moment: Moment,
    pub(crate) woken: Vec<SessionId>,
    pub(crate) advisory: AdvisoryTable,
    counts: Counts,
    /// Who decides instead of the level, if anybody.
    pub(crate) wheel: Option<Wheel>,
    /// Says whether the statement that runs should stop; whoever runs statements knows that.
    pub(crate) brake: Option<Brake>,
}

/// Whether the statement that runs should stop.
pub(crate) type Brake = Box<dyn Fn() -> bool + Send>;

impl Store {
    /// A store that is being loaded: what is committed before [`Store::start`] is the initial state.
    pub fn new(options: Options, chooser: Box<dyn Chooser>) -> Store {
        let growing = GrowingHistory::new(GrowingOptions {
            updates: options.updates,
            horizon: options.horizon,
            bare: options.bare,
            budget: options.budget,
        });
        Store {
            growing,
            keys: KeyTable::new(options.granularity),
            versions: VersionTable::default(),
            locks: LockTable::default(),
            live_scans: LiveScans::default(),
            sessions: Vec::new(),
            session_numbers: FxHashMap::default(),
            pending: FxHashMap::default(),
            chooser,
            other_choosers: BTreeMap::new(),
            refusals: Chance::new(options.seed, Stream::Refusals),
            numbers: Chance::new(options.seed, Stream::Numbers),
            sequences: BTreeMap::new(),
            fresh_keys: BTreeMap::new(),
            recorder: Recorder::default(),
            loading: true,
            written_after: None,
            clock: options.clock,
            moment: Moment::default(),
            woken: Vec::new(),
            advisory: AdvisoryTable::default(),
            counts: Counts::default(),
            wheel: None,
            brake: None,
            options,
        }
    }

    /// Whether the statement that runs should stop.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.brake.as_ref().is_some_and(|brake| brake())
    }

    /// Ends the loading: what was committed so far is the initial state, everything from here on is history.
    pub fn start(&mut self, record: Record, about: &str) {
        self.recorder = Recorder::new(record);
        self.loading = false;
        if self.recorder.wants_history() {
            let header = record::header(&self.keys, self.versions.initial_keys(), about);
            self.recorder.history(&header);
        }
        if self.recorder.wants_choices() {
            self.recorder.choice(&log::header(self.options.seed, self.options.clock));
        }
    }

    /// The settings.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// How transactions ended so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How many versions are kept.
    pub fn version_count(&self) -> usize {
        self.versions.count()
    }

    /// How many transactions matter to those that go on: what is open, and what has ended and is not yet sealed.
    pub fn transaction_count(&self) -> usize {
        self.growing.kept()
    }

    /// How many rows and index entries scans look at: those that somebody wrote and nobody has made as if they had never been.
    pub fn scanned_key_count(&self) -> usize {
        self.keys.born_count()
    }

    /// What went wrong with writing the history or the log, if anything.
    pub fn recording_failure(&self) -> Option<&str> {
        self.recorder.failure.as_deref()
    }

    /// How often a replay asked for something that its log does not have.
    pub fn divergences(&self) -> usize {
        self.chooser.divergences()
    }

    /// Says what a space is called and what its rows are; see [`SpaceShape`].
    pub fn describe(&mut self, space: SpaceId, shape: SpaceShape) {
        self.keys.layout.describe(space, shape);
    }

    /// A connection of this name. A name that is in use by another connection gets a number behind it.
    pub fn connect(&mut self, name: &str) -> SessionId {
        let mut full = name.to_owned();
        for again in 2.. {
            match self.session_numbers.get(&full) {
                Some(session) if self.sessions[session.index()].open => full = format!("{name}:{again}"),
                _ => break,
            }
        }
        let next = SessionId(self.sessions.len() as u32);
        let session = *self.session_numbers.entry(full.clone()).or_insert(next);
        if session == next {
            self.sessions.push(SessionState { name: full, ..SessionState::default() });
        }
        let state = &mut self.sessions[session.index()];
        (state.open, state.after_refusal) = (true, false);
        state.current_values.clear();
        if !self.loading && !self.options.bare {
            self.growing.connect(session);
        }
        session
    }

    /// The connection gets another name; nothing if a transaction of it is part of the history under the old one.
    pub(crate) fn rename(&mut self, session: SessionId, name: &str) -> Option<SessionId> {
        let state = &self.sessions[session.index()];
        if state.begun > 0 || state.transaction.is_some() || state.name == name {
            return None;
        }
        let current_values = std::mem::take(&mut self.sessions[session.index()].current_values);
        self.disconnect(session);
        let renamed = self.connect(name);
        self.sessions[renamed.index()].current_values = current_values;
        Some(renamed)
    }

    /// The connection is gone; what it left open is rolled back.
    pub fn disconnect(&mut self, session: SessionId) {
        self.abort(session);
        self.free_advisory(session, true);
        let state = &mut self.sessions[session.index()];
        (state.open, state.grants, state.wants_turn) = (false, 0, false);
    }

    /// Whether a session of this name is connected.
    pub(crate) fn is_connected(&self, name: &str) -> bool {
        self.session_numbers.get(name).is_some_and(|session| self.sessions[session.index()].open)
    }

    /// The name of a session.
    pub fn session_name(&self, session: SessionId) -> &str {
        &self.sessions[session.index()].name
    }

    /// Whether a transaction of the session is open.
    pub fn in_transaction(&self, session: SessionId) -> bool {
        self.sessions[session.index()].transaction.is_some()
    }

    /// The id that the session's open transaction will have in the history.
    pub fn transaction_name(&self, session: SessionId) -> Option<String> {
        self.transaction(session).ok().map(|transaction| log::transaction_name(transaction.id))
    }

    /// A request of a session is here and has to wait before it is looked at. A transaction that begins with it began now: what ends
    /// meanwhile did not end before its client asked.
    pub(crate) fn arrive(&mut self, session: SessionId) {
        self.sessions[session.index()].arrival = Some(self.moment.begin());
    }

    /// Begins a transaction. Levels of real time and a mixture with psi are refused.
    pub fn begin(&mut self, session: SessionId, begin: Begin) -> Result<(), SqlError> {
        if self.in_transaction(session) {
            return Err(SqlError::new(SqlState("25001"), "there is already a transaction in progress"));
        }
        let level = begin.level.unwrap_or(self.options.level);
        self.refuse_level(level)?;
        if self.wheel.is_none() {
            self.clock += by_place::SECOND;
        }
        let began_at = self.clock;
        let now = self.moment.begin();
        let state = &mut self.sessions[session.index()];
        let id = if self.loading { GrowingId(u32::MAX) } else { self.growing.begin(session, level) };
        let retrying = std::mem::take(&mut state.after_refusal);
        let chooser = if retrying { Some(ChooserKind::Latest) } else { begin.chooser };
        let chooser = chooser.filter(|_| !self.chooser.decides_all());
        state.transaction = Some(Transaction {
            id,
            loading: self.loading,
            level,
            read_only: begin.read_only,
            chooser,
            retrying,
            ordinal: state.begun,
            began_at,
            begin: state.arrival.take().unwrap_or(now),
            operations: Vec::new(),
            writes: FxHashMap::default(),
            born: Vec::new(),
            undo: Vec::new(),
            read_count: 0,
            savepoints: Vec::new(),
            statement: None,
        });
        if !self.loading {
            state.begun += 1;
            self.pending.insert(id, session);
        }
        Ok(())
    }

    pub(crate) fn refuse_level(&self, level: IsolationLevel) -> Result<(), SqlError> {
        let psi = |level| level == IsolationLevel::ParallelSnapshot;
        if !IsolationLevel::SEVEN.contains(&level) {
            let hint = "use read-committed, read-atomic, causal, prefix, psi, snapshot or serializable";
            return Err(SqlError::unsupported(format!("the level {level} on the mock database")).with_hint(hint));
        }
        if psi(level) != psi(self.options.level) {
            let message = format!("psi is not mixed with other levels, and the store is at {}", self.options.level);
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(())
    }

    /// SET TRANSACTION: as long as nothing was read or written, the transaction begins anew at another level.
    pub fn begin_anew(
        &mut self,
        session: SessionId,
        level: Option<IsolationLevel>,
        read_only: Option<bool>,
    ) -> Result<(), SqlError> {
        let transaction = self.transaction_mut(session).map_err(|_| no_transaction())?;
        transaction.read_only = read_only.unwrap_or(transaction.read_only);
        let Some(level) = level.filter(|level| *level != transaction.level) else { return Ok(()) };
        if transaction.loading {
            transaction.level = level;
            return Ok(());
        }
        if !transaction.operations.is_empty() {
            let message = "the isolation level must be set before any query of the transaction";
            return Err(SqlError::new(SqlState("25001"), message));
        }
        let (read_only, chooser, began) = (transaction.read_only, transaction.chooser, transaction.begin);
        self.refuse_level(level)?;
        self.discard(session);
        // Its client has been in it since BEGIN.
        self.sessions[session.index()].arrival = Some(began);
        self.begin(session, Begin { level: Some(level), read_only, chooser })
    }

    /// Whether the open transaction has read or written anything.
    pub fn has_events(&self, session: SessionId) -> bool {
        self.transaction(session).is_ok_and(|transaction| !transaction.operations.is_empty())
    }

    /// Commits, or says why not: refused, or (where events wait for turns) not yet.
    pub fn commit(&mut self, session: SessionId) -> Result<(), Interrupt> {
        let Ok(transaction) = self.transaction(session) else { return Ok(()) };
        if transaction.loading {
            self.sessions[session.index()].transaction = None;
            return Ok(());
        }
        if transaction.operations.is_empty() {
            let ended = self.steered_end(session, true);
            self.discard(session);
            return ended;
        }
        let (id, level, writes) = (transaction.id, transaction.level, !transaction.writes.is_empty());
        self.take_turn(session)?;
        if writes && refuses(level) && self.refuses_for_fun(session, "commit") || self.growing.commit(id).is_err() {
            return Err(self.abort_by_database(session, Interrupt::SerializationFailure));
        }
        let Some(transaction) = self.sessions[session.index()].transaction.take() else { return Ok(()) };
        self.write_line(session, &transaction, Ending::Committed);
        let writer = (session, transaction.ordinal);
        let mut writes: Vec<_> = transaction.writes.into_iter().collect();
        writes.sort_unstable_by_key(|write| write.0);
        for (key, value) in writes {
            self.versions.commit(key, Committed { id, value, writer });
        }
        self.counts.committed += 1;
        self.finish(session, id);
        self.forget();
        Ok(())
    }

    /// The program rolls back: its writes are gone, what it read had to be right nevertheless.
    pub fn abort(&mut self, session: SessionId) {
        if self.transaction(session).is_ok_and(|transaction| transaction.operations.is_empty() && !transaction.loading)
        {
            // What cannot go on is known to whoever steers.
            let _ = self.steered_end(session, false);
            return self.discard(session);
        }
        let Some(mut transaction) = self.sessions[session.index()].transaction.take() else { return };
        if transaction.loading {
            self.undo_loading(&mut transaction, 0);
            return;
        }
        self.growing.abort(transaction.id, true);
        self.write_line(session, &transaction, Ending::ByProgram);
        self.counts.rolled_back += 1;
        self.finish(session, transaction.id);
        self.bury_unborn(&transaction.born);
        self.forget();
    }

    /// A transaction that did nothing is as if it had never begun.
    fn discard(&mut self, session: SessionId) {
        let state = &mut self.sessions[session.index()];
        let Some(transaction) = state.transaction.take().filter(|transaction| !transaction.loading) else { return };
        state.begun -= 1;
        state.after_refusal |= transaction.retrying;
        self.growing.abort(transaction.id, false);
        self.live_scans.remove(transaction.id);
        self.finish(session, transaction.id);
    }

    /// The transaction is over; the interrupt says why.
    pub(crate) fn abort_by_database(&mut self, session: SessionId, why: Interrupt) -> Interrupt {
        let state = &mut self.sessions[session.index()];
        let Some(transaction) = state.transaction.take() else { return why };
        state.after_refusal = true;
        self.growing.abort(transaction.id, false);
        self.live_scans.remove(transaction.id);
        self.write_line(session, &transaction, Ending::ByDatabase);
        match why {
            Interrupt::Deadlock => self.counts.deadlocks += 1,
            _ => self.counts.refused += 1,
        }
        self.finish(session, transaction.id);
        self.bury_unborn(&transaction.born);
        self.forget();
        why
    }

    /// Keys whose writes are gone and that have no version are as if nobody had ever written them: scans need not look at them.
    fn bury_unborn(&mut self, keys: &[KeyId]) {
        for &key in keys {
            if !self.versions.has_any(key) && !self.is_written(key) {
                self.keys.bury(key);
            }
        }
    }

    /// The same within a transaction, after some of its writes were taken back.
    pub(crate) fn bury_taken_back(&mut self, session: SessionId) {
        let Ok(transaction) = self.transaction_mut(session) else { return };
        let (born, gone) = transaction.born.iter().partition(|key| transaction.writes.contains_key(key));
        transaction.born = born;
        self.bury_unborn(&gone);
    }

    /// Whether a transaction that is open has written a key.
    fn is_written(&self, key: KeyId) -> bool {
        let open = self.pending.values().filter_map(|session| self.sessions[session.index()].transaction.as_ref());
        open.into_iter().any(|transaction| transaction.writes.contains_key(&key))
    }

    /// The session waits no longer for a lock: its statement did nothing, its transaction goes on.
    pub fn stop_waiting(&mut self, session: SessionId) {
        self.advisory.stop_waiting(session);
        let Ok(transaction) = self.transaction(session) else { return };
        for woken in self.locks.stop_waiting(transaction.id) {
            self.woken.extend(self.pending.get(&woken));
        }
        self.end_statement(session, crate::statement::Ending::Failed);
    }

    /// Everything committed so far is seen by all that begins from now on.
    pub fn settle(&mut self) {
        if !self.loading {
            self.growing.settle();
        }
    }

    fn write_line(&mut self, session: SessionId, transaction: &Transaction, ending: Ending) {
        let end = self.moment.end();
        if self.recorder.wants_history() && !transaction.operations.is_empty() {
            let line = record::line(&self.keys, &self.sessions[session.index()].name, transaction, ending, end);
            self.recorder.history(&line);
        }
    }

    fn finish(&mut self, session: SessionId, id: GrowingId) {
        self.pending.remove(&id);
        self.sessions[session.index()].wants_turn = false;
        self.free_advisory(session, false);
        for woken in self.locks.release(id) {
            self.woken.extend(self.pending.get(&woken));
        }
    }

    /// Forgets what nobody will read again, and seals the deletions that are left.
    fn forget(&mut self) {
        let growing = &self.growing;
        self.live_scans.retain(|id| growing.keeps(id));
        let dropped = self.growing.take_dropped();
        if dropped.is_empty() {
            return;
        }
        let mut left: Vec<(KeyId, GrowingId)> = Vec::new();
        for (key, version) in dropped {
            if let Some(deletion) = self.versions.forget(key, version) {
                left.retain(|other| other.0 != key);
                left.push((key, deletion));
            }
        }
        left.sort_unstable_by_key(|deletion| deletion.0);
        self.recorder.seal(&self.keys, &left);
        for (key, _) in left {
            if !self.is_written(key) {
                self.keys.bury(key);
            }
        }
    }

    pub(crate) fn undo_loading(&mut self, transaction: &mut Transaction, left: usize) {
        while transaction.undo.len() > left {
            let Some((key, before)) = transaction.undo.pop() else { break };
            self.versions.set_initial(key, before.flatten());
        }
    }

    pub(crate) fn transaction(&self, session: SessionId) -> Result<&Transaction, Stop> {
        self.sessions[session.index()].transaction.as_ref().ok_or_else(|| no_transaction().into())
    }

    pub(crate) fn transaction_mut(&mut self, session: SessionId) -> Result<&mut Transaction, Stop> {
        self.sessions[session.index()].transaction.as_mut().ok_or_else(|| no_transaction().into())
    }

    /// The sessions whose wait for a lock is over since this was last asked.
    pub fn take_woken(&mut self) -> Vec<SessionId> {
        std::mem::take(&mut self.woken)
    }

    /// Whether a session's transaction waits for a lock.
    pub fn is_waiting(&self, session: SessionId) -> bool {
        let row = self.transaction(session).is_ok_and(|transaction| self.locks.is_waiting(transaction.id));
        row || self.advisory.is_waiting(session)
    }

    /// The sessions that hold what a session waits for.
    pub fn waits_for(&self, session: SessionId) -> Vec<SessionId> {
        let mut holders = self.advisory.waits_for(session);
        if let Ok(transaction) = self.transaction(session) {
            let of_rows = self.locks.waits_for(transaction.id);
            holders.extend(of_rows.iter().filter_map(|id| self.pending.get(id).copied()));
        }
        holders
    }

    /// What a session waits for: who is woken and waits for the same goes on with the same wait.
    pub(crate) fn awaited(&self, session: SessionId) -> Awaited {
        let row = self.transaction(session).ok().and_then(|transaction| self.locks.awaited(transaction.id));
        Awaited { row, advisory: self.advisory.awaited(session) }
    }

    /// Lets a session do one more event; see [`Options::turns`].
    pub fn grant(&mut self, session: SessionId) {
        self.sessions[session.index()].grants += 1;
    }

    /// Whether a session waits for its turn.
    pub fn wants_turn(&self, session: SessionId) -> bool {
        self.sessions[session.index()].wants_turn
    }

    /// Whether an event of this session may happen now; else it waits for its turn.
    pub(crate) fn has_turn(&mut self, session: SessionId) -> Result<(), Interrupt> {
        let state = &mut self.sessions[session.index()];
        state.wants_turn = self.options.turns && state.grants == 0;
        if state.wants_turn { Err(Interrupt::Wait) } else { Ok(()) }
    }

    pub(crate) fn take_turn(&mut self, session: SessionId) -> Result<(), Interrupt> {
        self.has_turn(session)?;
        if self.options.turns {
            self.sessions[session.index()].grants -= 1;
        }
        Ok(())
    }

    /// `--abort-rate`: refuses what could have gone well.
    pub(crate) fn refuses_for_fun(&mut self, session: SessionId, what: &str) -> bool {
        let name = &self.sessions[session.index()].name;
        let scripted = self.chooser.refuses(name, what);
        let refused = scripted.unwrap_or_else(|| self.refusals.happens(self.options.abort_rate));
        if refused && self.recorder.wants_choices() {
            self.recorder.choice(&log::line(name, &Choice::Refused { what: what.to_owned() }));
        }
        refused
    }

    /// The chooser of a transaction, taken out while it is asked: it and the growing history are both parts of the store.
    pub(crate) fn take_chooser(&mut self, kind: Option<ChooserKind>) -> Box<dyn Chooser> {
        match kind {
            None => std::mem::replace(&mut self.chooser, Box::new(Latest)),
            Some(kind) => {
                let seed = self.options.seed;
                self.other_choosers.remove(&kind).unwrap_or_else(|| kind.build(seed, &Campaign::default()))
            }
        }
    }

    pub(crate) fn put_chooser(&mut self, kind: Option<ChooserKind>, chooser: Box<dyn Chooser>) {
        match kind {
            None => self.chooser = chooser,
            Some(kind) => {
                self.other_choosers.insert(kind, chooser);
            }
        }
    }

    /// A transaction for which somebody else decided is over.
    pub(crate) fn count_steered(&mut self, commits: bool) {
        self.counts.committed += u64::from(commits);
        self.counts.rolled_back += u64::from(!commits);
    }

    /// The clock of a run: a second per transaction.
    pub(crate) fn time(&self) -> i64 {
        self.clock
    }
}

/// What a session waits for; if it is neither a row nor an advisory lock, it is its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Awaited {
    row: Option<KeyId>,
    advisory: Option<i128>,
}

pub(crate) fn no_transaction() -> SqlError {
    SqlError::new(SqlState("25P01"), "there is no transaction in progress")
}
