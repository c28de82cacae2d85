//! The store: sessions, their transactions, and how these begin and end.
//!
//! ```text
//!   new ── loading: what is written is the initial state ── start ── begin … read, write … commit | abort
//!                                                                                  │
//!                                        Interrupt::Wait: the lock or the turn is another's; ask again when woken
//!                                        SerializationFailure, Deadlock: the transaction is over
//! ```
//!
//! One thread at a time works on a store, and nothing in it sleeps: who has to wait is told so, and [`Store::take_woken`] says whose wait
//! is over. It is made of parts that know nothing of each other; here is what concerns several of them. Statements and savepoints are in
//! [`crate::undo`], rows in [`crate::rows`], ranges in [`crate::scan`], what SQL sees of it all in [`crate::view`].

use crate::chooser::{Chooser, ChooserKind, LockedRead, VersionReader};
use crate::choosers::Choosers;
use crate::chronicle::{Chronicle, Counts};
use crate::engine::{Footprint, ServerEngine};
use crate::life::Life;
use crate::lock::{LockAnswer, LockMode};
use crate::log::{self, Choice};
use crate::options::{Options, refuses};
use crate::past::Past;
use crate::record::{Record, TransactionEnding};
use crate::sequences::Sequences;
use crate::sessions::{Sessions, no_transaction};
use crate::steering::{Steering, Wheel, broken};
use crate::transaction::{Beginning, OpenTransaction};
use crate::waits::{Awaited, Waits};
use skew_check::{GrowingId, Version};
use skew_history::level::{IsolationLevel, listed};
use skew_history::{Asked, KeyId, SessionId};
use skew_sql::rows::SpaceShape;
use skew_sql::{AdvisoryRequest, Catalog, Fits, Granularity, Interrupt, Row, RowKey, SpaceId, Stop};
use skew_value::{SqlError, SqlState};
use std::sync::Arc;

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

/// How a key is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadMode {
    /// Any version that the level allows.
    Plain,
    /// The read of an update that does not lock: no version that its write would make impossible.
    Update,
    /// Under the row's lock: the latest version, whatever the level.
    Locked,
}

/// Whether the statement that runs should stop.
pub(crate) type Brake = Box<dyn Fn() -> bool + Send>;

/// A database as weak as its level allows.
pub struct Store {
    options: Options,
    sessions: Sessions,
    past: Past,
    /// What decides about rows, where the level is one of a server's.
    engine: Option<ServerEngine>,
    waits: Waits,
    choosers: Choosers,
    sequences: Sequences,
    chronicle: Chronicle,
    life: Life,
    /// Says whether the statement that runs should stop; whoever runs statements knows that.
    brake: Option<Brake>,
}

impl Store {
    /// A store that is being loaded: what is committed before [`Store::start`] is the initial state.
    pub fn new(options: Options, chooser: Box<dyn Chooser>) -> Store {
        Store {
            sessions: Sessions::new(options.turns),
            past: Past::new(&options),
            engine: options.level.of_engine().map(|_| ServerEngine::default()),
            waits: Waits::default(),
            choosers: Choosers::new(chooser, options.seed, options.abort_rate),
            sequences: Sequences::new(options.seed),
            chronicle: Chronicle::new(options.clock),
            life: Life::Loading(None),
            brake: None,
            options,
        }
    }

    /// Ends the loading: what was committed so far is the initial state, everything from here on is history.
    pub fn start(&mut self, record: Record, about: &str) {
        self.life.start();
        self.chronicle.start(record, &self.options, self.past.keys(), self.past.initial_rows(), about);
    }

    /// The settings.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// How transactions ended so far.
    pub fn counts(&self) -> Counts {
        self.chronicle.counts()
    }

    /// How many versions are kept.
    pub fn version_count(&self) -> usize {
        self.past.version_count() + self.engine.as_ref().map_or(0, ServerEngine::tuple_count)
    }

    /// How many transactions matter to those that go on: what is open, and what has ended and is not yet sealed.
    pub fn transaction_count(&self) -> usize {
        self.past.transaction_count() + self.engine.as_ref().map_or(0, ServerEngine::transaction_count)
    }

    /// How many rows and index entries scans look at: those that somebody wrote and nobody has made as if they had never been.
    pub fn scanned_key_count(&self) -> usize {
        self.past.keys().born_count()
    }

    /// What went wrong with writing the history or the log, if anything.
    pub fn recording_failure(&self) -> Option<&str> {
        self.chronicle.failure()
    }

    /// What is told of a run.
    pub(crate) fn chronicle_mut(&mut self) -> &mut Chronicle {
        &mut self.chronicle
    }

    /// How often a replay asked for something that its log does not have.
    pub fn divergences(&self) -> usize {
        self.choosers.divergences()
    }

    /// Says what a space is called and what its rows are; see [`SpaceShape`].
    pub fn describe(&mut self, space: SpaceId, shape: SpaceShape) {
        self.past.keys_mut().describe(space, shape);
    }

    /// Says how the keys and rows of all tables and indexes are told in the history.
    pub fn describe_catalog(&mut self, catalog: &Catalog) {
        self.past.keys_mut().describe_catalog(catalog);
    }

    /// Who says whether the statement that runs should stop.
    pub(crate) fn set_brake(&mut self, brake: Brake) {
        self.brake = Some(brake);
    }

    /// Whether the statement that runs should stop.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.brake.as_ref().is_some_and(|brake| brake())
    }

    /// Everything committed so far is seen by all that begins from now on.
    pub fn settle(&mut self) {
        if !self.life.is_loading() {
            self.past.settle();
        }
    }
}

/// Sessions.
impl Store {
    /// A connection of this name. A name that is in use by another connection gets a number behind it.
    pub fn connect(&mut self, name: &str) -> SessionId {
        let session = self.sessions.connect(name);
        self.sequences.forget(session);
        if !self.life.is_loading() && !self.options.bare {
            self.past.connect(session);
        }
        session
    }

    /// The connection gets another name; nothing if a transaction of it is part of the history under the old one.
    pub(crate) fn rename(&mut self, session: SessionId, name: &str) -> Option<SessionId> {
        if !self.sessions.may_rename(session, name) {
            return None;
        }
        self.disconnect(session);
        let renamed = self.connect(name);
        self.sequences.rename(session, renamed);
        Some(renamed)
    }

    /// The connection is gone; what it left open is rolled back.
    pub fn disconnect(&mut self, session: SessionId) {
        self.abort(session);
        self.waits.leave(session);
        self.sessions.disconnect(session);
    }

    /// Whether a session of this name is connected.
    pub(crate) fn is_connected(&self, name: &str) -> bool {
        self.sessions.is_connected(name)
    }

    /// How many transactions of the session of this name are over and part of the history, without those that the database refused.
    pub(crate) fn settled(&self, name: &str) -> u32 {
        self.sessions.settled(name)
    }

    /// The name of a session.
    pub fn session_name(&self, session: SessionId) -> &str {
        self.sessions.name(session)
    }

    /// Whether a transaction of the session is open.
    pub fn in_transaction(&self, session: SessionId) -> bool {
        self.sessions.in_transaction(session)
    }

    /// The id that the session's open transaction will have in the history.
    pub fn transaction_name(&self, session: SessionId) -> Option<String> {
        self.transaction(session).ok().map(|transaction| log::transaction_name(transaction.id()))
    }

    /// A request of a session is here and has to wait before it is looked at. A transaction that begins with it began now: what ends
    /// meanwhile did not end before its client asked.
    pub(crate) fn arrive(&mut self, session: SessionId) {
        self.sessions.arrive(session, self.chronicle.moment());
    }

    /// Lets a session do one more event; see [`Options::turns`].
    pub fn grant(&mut self, session: SessionId) {
        self.sessions.grant(session);
    }

    /// Whether a session waits for its turn.
    pub fn wants_turn(&self, session: SessionId) -> bool {
        self.sessions.wants_turn(session)
    }

    /// The sessions whose wait for a lock is over since this was last asked.
    pub fn take_woken(&mut self) -> Vec<SessionId> {
        let mut woken = self.waits.take_woken();
        woken.extend(self.engine.as_mut().map(ServerEngine::take_woken).unwrap_or_default());
        woken
    }

    /// Whether a session's transaction waits for a lock.
    pub fn is_waiting(&self, session: SessionId) -> bool {
        self.waits.is_waiting(session) || self.engine.as_ref().is_some_and(|engine| engine.is_waiting(session))
    }

    /// The sessions that hold what a session waits for.
    pub fn waits_for(&self, session: SessionId) -> Vec<SessionId> {
        let mut holders = self.waits.waits_for(session);
        holders.extend(self.engine.iter().flat_map(|engine| engine.waits_for(session)));
        holders
    }

    /// What a session waits for: who is woken and waits for the same goes on with the same wait.
    pub(crate) fn awaited(&self, session: SessionId) -> Awaited {
        self.waits.awaited(session, self.engine.as_ref().and_then(|engine| engine.awaited(session)))
    }

    /// A session waits no longer, for whatever it was.
    pub(crate) fn stop_for_good(&mut self, session: SessionId) {
        self.waits.stop_waiting(session);
        if let Some(engine) = &mut self.engine {
            engine.stop_waiting(session);
        }
    }
}

/// How transactions begin and end.
impl Store {
    /// Begins a transaction. Levels of real time and a mixture with psi are refused.
    pub fn begin(&mut self, session: SessionId, begin: Begin) -> Result<(), SqlError> {
        if self.in_transaction(session) {
            return Err(SqlError::new(SqlState("25001"), "there is already a transaction in progress"));
        }
        let level = begin.level.unwrap_or(self.options.level);
        self.refuse_level(level)?;
        if self.life.wheel().is_none() {
            self.chronicle.tick();
        }
        let loading = self.life.is_loading();
        let retrying = self.sessions.take_refusal(session);
        let chooser = if retrying { Some(ChooserKind::Latest) } else { begin.chooser };
        let transaction = OpenTransaction::new(Beginning {
            id: match (&mut self.engine, level.of_engine()) {
                _ if loading => GrowingId(u32::MAX),
                (Some(engine), Some(level)) => engine.begin(session, level),
                _ => self.past.begin(session, level),
            },
            loading,
            level,
            read_only: begin.read_only,
            chooser: self.choosers.kind_for(chooser),
            retrying,
            ordinal: self.sessions.begun(session),
            time: self.chronicle.time(),
            moment: self.sessions.take_arrival(session).unwrap_or(self.chronicle.moment()),
        });
        self.sessions.begin(session, transaction);
        Ok(())
    }

    pub(crate) fn refuse_level(&self, level: IsolationLevel) -> Result<(), SqlError> {
        if self.engine.is_some() {
            let levels = || ServerEngine::levels().map(IsolationLevel::Engine);
            return match levels().any(|known| known == level) {
                true => Ok(()),
                false => {
                    let hint = format!("use {}", listed(levels().map(IsolationLevel::name), "or"));
                    Err(SqlError::unsupported(format!("the level {level} on a server of PostgreSQL's")).with_hint(hint))
                }
            };
        }
        if !level.is_of_papers() {
            let hint = format!("use {}", listed(IsolationLevel::of_papers().map(IsolationLevel::name), "or"));
            return Err(SqlError::unsupported(format!("the level {level} on the mock database")).with_hint(hint));
        }
        if !skew_check::may_be_mixed(level, self.options.level) {
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
        let read_only = read_only.unwrap_or(transaction.is_read_only());
        transaction.set_read_only(read_only);
        let Some(level) = level.filter(|level| *level != transaction.level()) else { return Ok(()) };
        if transaction.is_loading() {
            transaction.set_level(level);
            return Ok(());
        }
        if transaction.has_events() {
            let message = "the isolation level must be set before any query of the transaction";
            return Err(SqlError::new(SqlState("25001"), message));
        }
        let (chooser, began) = (transaction.chooser(), transaction.moment());
        self.refuse_level(level)?;
        self.discard(session);
        // Its client has been in it since BEGIN.
        self.sessions.arrive(session, began);
        self.begin(session, Begin { level: Some(level), read_only, chooser })
    }

    /// Whether the open transaction has read or written anything.
    pub fn has_events(&self, session: SessionId) -> bool {
        self.transaction(session).is_ok_and(OpenTransaction::has_events)
    }

    /// Commits, or says why not: refused, or (where events wait for turns) not yet.
    pub fn commit(&mut self, session: SessionId) -> Result<(), Interrupt> {
        let Ok(transaction) = self.transaction(session) else { return Ok(()) };
        if transaction.is_loading() {
            self.sessions.end(session);
            return Ok(());
        }
        if !transaction.has_events() {
            let ended = self.end_steered(session, true);
            self.discard(session);
            return ended;
        }
        if self.engine.is_some() {
            return self.commit_on_server(session);
        }
        let (id, may_refuse) = (transaction.id(), refuses(transaction.level()) && !transaction.writes().is_empty());
        self.take_turn(session)?;
        if may_refuse && self.refuses_for_fun(session, "commit") || self.past.commit(id).is_err() {
            return Err(self.abort_by_database(session, Interrupt::SerializationFailure));
        }
        let Some(transaction) = self.sessions.end(session) else { return Ok(()) };
        self.chronicle.end(self.past.keys(), self.sessions.name(session), &transaction, TransactionEnding::Committed);
        self.past.publish(id, (session, transaction.ordinal()), transaction.into_writes());
        self.chronicle.count_commit();
        self.waits.release(session);
        self.forget();
        Ok(())
    }

    /// The program rolls back: its writes are gone, what it read had to be right nevertheless.
    pub fn abort(&mut self, session: SessionId) {
        let Ok(transaction) = self.transaction(session) else { return };
        if !transaction.has_events() && !transaction.is_loading() {
            // What cannot go on is known to whoever steers.
            let _ = self.end_steered(session, false);
            return self.discard(session);
        }
        let Some(mut transaction) = self.sessions.end(session) else { return };
        if transaction.is_loading() {
            return self.past.unload(transaction.take_back_loaded());
        }
        if self.engine.is_none() {
            self.past.abort(transaction.id(), true);
        }
        let ending = transaction.refused().map_or(TransactionEnding::ByProgram, TransactionEnding::Refused);
        self.chronicle.end(self.past.keys(), self.sessions.name(session), &transaction, ending);
        match transaction.refused() {
            Some(("40P01", _)) => self.chronicle.count_refusal(Interrupt::Deadlock),
            Some(_) => self.chronicle.count_refusal(Interrupt::SerializationFailure),
            None => self.chronicle.count_rollback(),
        }
        self.clear_away(session, &transaction);
    }

    /// The transaction is over; the interrupt says why.
    pub(crate) fn abort_by_database(&mut self, session: SessionId, why: Interrupt) -> Interrupt {
        let Some(transaction) = self.sessions.end(session) else { return why };
        self.sessions.note_refusal(session);
        self.choosers.note_refused(self.sessions.name(session), transaction.ordinal());
        if self.engine.is_none() {
            self.past.abort(transaction.id(), false);
        }
        self.chronicle.end(self.past.keys(), self.sessions.name(session), &transaction, TransactionEnding::ByDatabase);
        self.chronicle.count_refusal(why);
        self.clear_away(session, &transaction);
        why
    }

    /// A transaction that did nothing is as if it had never begun.
    fn discard(&mut self, session: SessionId) {
        let Some(transaction) = self.sessions.end(session) else { return };
        self.sessions.forget(session, &transaction);
        match &mut self.engine {
            Some(engine) => engine.forget(session),
            None => self.past.abort(transaction.id(), false),
        }
        self.waits.release(session);
    }

    /// Commits on a server: at serializable it is refused if what committed could not have run one after the other.
    fn commit_on_server(&mut self, session: SessionId) -> Result<(), Interrupt> {
        let (Some(engine), Ok(transaction)) = (&mut self.engine, self.sessions.transaction(session)) else {
            return Ok(());
        };
        let keys = self.past.keys();
        let footprint = || {
            let written = transaction.writes().keys().map(|&key| (key, Arc::clone(keys.name(key))));
            Footprint::new(transaction.operations(), written.collect())
        };
        if !engine.may_commit(session, footprint) {
            let statement = engine.statement(session) + 1;
            if let Ok(transaction) = self.sessions.transaction_mut(session) {
                transaction.refuse("40001", statement);
            }
            self.abort(session);
            return Err(Interrupt::SerializationFailure);
        }
        let Some(transaction) = self.sessions.end(session) else { return Ok(()) };
        self.chronicle.end(keys, self.sessions.name(session), &transaction, TransactionEnding::Committed);
        engine.commit(session);
        self.chronicle.count_commit();
        self.waits.release(session);
        self.clean();
        Ok(())
    }

    /// Drops what nobody sees any more, and seals the deletions that are left.
    fn clean(&mut self) {
        let Some(engine) = &mut self.engine else { return };
        let (left, unborn) = (engine.clean(), engine.take_unborn());
        self.past.bury(left.iter().map(|deletion| deletion.0).chain(unborn));
        self.chronicle.seal(self.past.keys(), &left);
    }

    /// What is left of a transaction whose writes are gone.
    fn clear_away(&mut self, session: SessionId, transaction: &OpenTransaction) {
        self.waits.release(session);
        if let Some(engine) = &mut self.engine {
            engine.forget(session);
            return self.clean();
        }
        self.bury_unborn(transaction.born());
        self.forget();
    }

    /// Scans need not look at keys whose writes are gone.
    pub(crate) fn bury_unborn(&mut self, keys: &[KeyId]) {
        if self.engine.is_some() {
            return self.clean();
        }
        let Store { past, sessions, .. } = self;
        past.bury_unborn(keys, |key| sessions.is_written(key));
    }

    /// Forgets what nobody will read again, and seals the deletions that are left.
    fn forget(&mut self) {
        let Store { past, sessions, chronicle, .. } = self;
        let left = past.forget(|key| sessions.is_written(key));
        chronicle.seal(past.keys(), &left);
    }
}

/// What an open transaction does, for those who know what it should do.
impl Store {
    pub(crate) fn transaction(&self, session: SessionId) -> Result<&OpenTransaction, Stop> {
        self.sessions.transaction(session)
    }

    pub(crate) fn transaction_mut(&mut self, session: SessionId) -> Result<&mut OpenTransaction, Stop> {
        self.sessions.transaction_mut(session)
    }

    /// What decides about rows, where the level is one of a server's.
    pub(crate) fn engine(&self) -> Option<&ServerEngine> {
        self.engine.as_ref()
    }

    pub(crate) fn engine_mut(&mut self) -> Option<&mut ServerEngine> {
        self.engine.as_mut()
    }

    /// Scans look at a key from now on.
    pub(crate) fn bear(&mut self, key: KeyId) {
        self.past.keys_mut().bear(key);
    }

    pub(crate) fn past(&self) -> &Past {
        &self.past
    }

    pub(crate) fn past_mut(&mut self) -> &mut Past {
        &mut self.past
    }

    pub(crate) fn sequences_mut(&mut self) -> &mut Sequences {
        &mut self.sequences
    }

    pub(crate) fn waits(&self) -> &Waits {
        &self.waits
    }

    pub(crate) fn waits_mut(&mut self) -> &mut Waits {
        &mut self.waits
    }

    /// How many seals the history has.
    pub(crate) fn seals(&self) -> usize {
        self.chronicle.seals()
    }

    /// When the open transaction of a session began.
    pub(crate) fn time_of(&self, session: SessionId) -> i64 {
        match (self.transaction(session), &self.life) {
            (Ok(transaction), Life::Steered(wheel)) if !transaction.is_loading() => {
                wheel.time(session, self.options.clock)
            }
            (transaction, _) => transaction.map_or(self.chronicle.time(), OpenTransaction::time),
        }
    }

    /// Whether an event of this session may happen now; else it waits for its turn.
    pub(crate) fn has_turn(&mut self, session: SessionId) -> Result<(), Interrupt> {
        self.sessions.has_turn(session)
    }

    /// An event of this session happens now.
    pub(crate) fn take_turn(&mut self, session: SessionId) -> Result<(), Interrupt> {
        self.sessions.take_turn(session)
    }

    /// `--abort-rate`: refuses what could have gone well.
    fn refuses_for_fun(&mut self, session: SessionId, what: &str) -> bool {
        let name = self.sessions.name(session);
        let refused = self.choosers.refuses(name, what);
        if refused && self.chronicle.wants_choices() {
            self.chronicle.choice(name, &Choice::Refused { what: what.to_owned() });
        }
        refused
    }

    /// Takes a lock, waits for it, or gives up the transaction because the wait would have no end.
    pub(crate) fn lock(&mut self, session: SessionId, key: KeyId, mode: LockMode) -> Result<(), Stop> {
        let waited = self.waits.waits_for_row(session);
        match self.waits.lock(session, key, mode) {
            LockAnswer::Granted => Ok(()),
            LockAnswer::Waits if waited || !self.refuses_for_fun(session, "wait") => Err(Interrupt::Wait.into()),
            LockAnswer::Waits | LockAnswer::Deadlock => {
                Err(self.abort_by_database(session, Interrupt::Deadlock).into())
            }
        }
    }

    /// Does what a function of advisory locks asks; whether it could.
    pub(crate) fn advisory(&mut self, session: SessionId, key: i128, request: AdvisoryRequest) -> Result<bool, Stop> {
        match self.waits.advisory(session, key, request) {
            Err(interrupt @ (Interrupt::Deadlock | Interrupt::Wait)) if self.engine.is_some() => {
                let is_closed = interrupt == Interrupt::Deadlock || self.is_deadlock(session);
                Err(if is_closed { self.refuse_deadlock(session) } else { Interrupt::Wait.into() })
            }
            Err(Interrupt::Deadlock) => Err(self.abort_by_database(session, Interrupt::Deadlock).into()),
            answer => Ok(answer?),
        }
    }

    /// One of the versions that a read may return, which may be the read of an update; nothing if there is none. A statement that will
    /// lock the row if it fits says what fits.
    fn choose(
        &mut self,
        session: SessionId,
        key: KeyId,
        updating: bool,
        fits: Option<&mut dyn FnMut(Option<Row>) -> bool>,
    ) -> Result<Option<Version>, Stop> {
        let transaction = self.sessions.transaction(session)?;
        let (name, names) = (self.sessions.name(session), |session| self.sessions.name(session));
        let reader = VersionReader {
            transaction: transaction.id(),
            place: (name, transaction.ordinal(), transaction.read_count()),
            updating: updating && refuses(transaction.level()),
            names: &names,
        };
        let fits = fits.map(|fits| fits as &mut dyn FnMut(Option<Row>) -> bool);
        let mut reading = self.past.reading(reader, key, fits);
        let chosen = self.choosers.choose(transaction.chooser(), &mut reading);
        if self.chronicle.wants_choices()
            && let Some(place) = reading.versions().iter().position(|&version| Some(version) == chosen)
        {
            let choice = Choice::Read { key: reading.key_name().to_owned(), from: reading.writer_name(place) };
            self.chronicle.choice(name, &choice);
        }
        Ok(chosen)
    }

    /// Reads a version, if the level allows it; else the transaction is over.
    pub(crate) fn read(
        &mut self,
        session: SessionId,
        key: KeyId,
        chosen: Option<Version>,
        locking: bool,
    ) -> Result<(Version, Option<Row>), Stop> {
        let transaction = self.sessions.transaction_mut(session)?;
        let read = |version| Some((version, self.past.read(transaction.id(), key, version, locking)?));
        match chosen.and_then(read) {
            Some(found) => {
                transaction.count_read();
                Ok(found)
            }
            None => Err(self.abort_by_database(session, Interrupt::SerializationFailure).into()),
        }
    }

    /// A read that nothing has answered yet: chooses a version.
    pub(crate) fn read_new(
        &mut self,
        session: SessionId,
        key: KeyId,
        mode: ReadMode,
    ) -> Result<(Version, Option<Row>), Stop> {
        let chosen = match mode {
            ReadMode::Locked => Some(self.read_latest(session, key)?),
            ReadMode::Plain | ReadMode::Update => self.choose(session, key, mode == ReadMode::Update, None)?,
        };
        self.read(session, key, chosen, mode == ReadMode::Locked)
    }

    /// The version that a lock shows. Nobody chooses it; who follows a run hears of it.
    fn read_latest(&mut self, session: SessionId, key: KeyId) -> Result<Version, Stop> {
        let latest = self.past.latest(key);
        let writer = self.past.writer(key, latest);
        self.choosers.note_locked(&LockedRead {
            session: self.sessions.name(session),
            transaction: self.sessions.transaction(session)?.ordinal(),
            key: self.past.keys().name(key),
            writer: writer.map(|(session, before)| (self.sessions.name(session), before)),
        });
        Ok(latest)
    }

    /// The version in which a statement that seeks rows looks at a key, and whether it wants the row.
    pub(crate) fn look_at(
        &mut self,
        session: SessionId,
        key: KeyId,
        fits: &mut Fits<'_>,
    ) -> Result<(Option<Version>, bool), Stop> {
        let row = self.past.keys().row_of(key).clone();
        let mut fit = |value: Option<Row>| value.is_some_and(|value| fits(&row, &value).is_sought());
        let chosen = self.choose(session, key, false, Some(&mut fit))?;
        let wanted = chosen.is_some_and(|version| fit(self.past.value(key, version)));
        Ok((chosen, wanted))
    }

    /// Writes a key, if the level allows it; else the transaction is over.
    pub(crate) fn write(&mut self, session: SessionId, key: KeyId, value: Option<Row>) -> Result<(), Stop> {
        let transaction = self.sessions.transaction_mut(session)?;
        if transaction.is_loading() {
            self.life.note_write();
            transaction.loaded(key, self.past.load(key, value));
            return Ok(());
        }
        match self.past.write(transaction.id(), key) {
            Ok(is_new) => {
                transaction.write(key, value, is_new, Asked::default());
                Ok(())
            }
            Err(_) => Err(self.abort_by_database(session, Interrupt::SerializationFailure).into()),
        }
    }
}

/// Somebody else decides.
impl Store {
    /// Somebody else will decide, as soon as the set-up is over.
    pub fn prepare_steering(&mut self, steering: Box<dyn Steering>) {
        self.life.prepare(steering);
    }

    /// Ends the set-up: what was committed so far is the initial state, from here on somebody else decides.
    pub fn begin_steering(&mut self) -> Result<(), SqlError> {
        if !self.life.is_setting_up() {
            return Ok(());
        }
        if self.options.granularity != Granularity::Row {
            return Err(SqlError::unsupported("cells in a database that is steered"));
        }
        self.life.start();
        let keys = self.past.keys();
        let named = |(key, row)| (keys.row_of(key).clone(), keys.name(key).to_string(), Row::clone(row));
        let rows = self.past.initial_rows().map(named).collect();
        self.life.wheel_mut().map_or(Ok(()), |wheel| wheel.begin(keys, rows))
    }

    /// All transactions are over: what they left is there, and nobody steers any more. With a session this happens in its transaction.
    pub(crate) fn end_steering(&mut self, session: Option<SessionId>) -> Result<(), SqlError> {
        if self.life.wheel().is_some_and(Wheel::is_busy) {
            return Err(SqlError::unsupported("skew_settle while a transaction has read or written"));
        }
        let Some(wheel) = self.life.take_wheel() else { return Ok(()) };
        self.past.replace_initial(wheel.finish()?);
        self.life = Life::Over { written: false };
        if let Some(transaction) = session.and_then(|session| self.transaction_mut(session).ok()) {
            transaction.start_loading();
        }
        Ok(())
    }

    /// Who steers, if anybody.
    pub(crate) fn steering(&mut self) -> Option<&mut dyn Steering> {
        self.life.wheel_mut().map(Wheel::steering)
    }

    /// Which part of its life it is.
    pub(crate) fn life(&self) -> &Life {
        &self.life
    }

    /// Who steers, or will.
    pub(crate) fn wheel_mut(&mut self) -> Option<&mut Wheel> {
        self.life.wheel_mut()
    }

    /// The wheel, in the hands of a transaction that touches something.
    pub(crate) fn steer(&mut self, session: SessionId) -> Result<&mut Wheel, Stop> {
        let level = self.sessions.transaction(session)?.level();
        let wheel = self.life.wheel_mut().ok_or_else(|| broken("nobody who steers it"))?;
        wheel.touch(session, self.sessions.name(session), level)?;
        Ok(wheel)
    }

    /// The name of a key, which whoever steers can make sense of.
    pub(crate) fn steered_name(&mut self, key: &RowKey) -> Result<String, Stop> {
        let wheel = self.life.wheel_mut().ok_or_else(|| broken("nobody who steers it"))?;
        Ok(wheel.name_of(self.past.keys_mut(), key))
    }

    /// The next random number of a session in a run that is steered.
    pub(crate) fn steered_random(&mut self, session: SessionId) -> u64 {
        let name = self.sessions.name(session);
        self.life.wheel_mut().map_or(0, |wheel| wheel.random(session, name))
    }

    /// The transaction of a session ends for whoever steers. The store knows of nothing that it did.
    fn end_steered(&mut self, session: SessionId, commits: bool) -> Result<(), Interrupt> {
        match self.life.wheel_mut().and_then(|wheel| wheel.end(session, commits)) {
            None => return Ok(()),
            Some(Err(_)) => return Err(Interrupt::SerializationFailure),
            Some(Ok(())) if commits => self.chronicle.count_commit(),
            Some(Ok(())) => self.chronicle.count_rollback(),
        }
        Ok(())
    }
}
