//! What all clients of a server share: the database, who is connected, and whose turn it is.

use super::adversary::Adversary;
use super::gate::Gate;
use super::running::Running;
use super::schedule::Turnstile;
use super::statements::StatementLog;
use super::walk::Walking;
use super::{Schedule, WireSettings};
use crate::chance::{Chance, Stream};
use crate::connection::Status;
use crate::database::Database;
use crate::shared::{Bell, HasStore, Shared};
use crate::store::Store;
use rustc_hash::FxHashMap;
use skew_history::SessionId;
use skew_sql::ClientFact;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

impl HasStore for Database {
    fn store(&mut self) -> &mut Store {
        &mut self.store
    }
}

/// What others are told of a client.
#[derive(Clone, Default, Debug)]
struct MemberActivity {
    user: String,
    database: String,
    application: String,
    state: &'static str,
    query: String,
}

/// Somebody who is connected, as others see it.
#[derive(Debug)]
pub(crate) struct Member {
    secret: i32,
    cancelled: AtomicBool,
    gone: AtomicBool,
    bell: Arc<Bell>,
    /// The number of its session, which another name may change.
    session: AtomicU32,
    activity: Mutex<MemberActivity>,
}

impl Member {
    fn activity(&self) -> MutexGuard<'_, MemberActivity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who it is.
    pub(crate) fn introduce(&self, user: &str, database: &str) {
        let mut activity = self.activity();
        (activity.user, activity.database, activity.state) = (user.to_owned(), database.to_owned(), "idle");
    }

    /// It works on a statement.
    pub(crate) fn works(&self, query: &str) {
        let mut activity = self.activity();
        activity.state = "active";
        query.clone_into(&mut activity.query);
    }

    /// It waits for what its client says next, who calls itself so.
    pub(crate) fn rests(&self, status: Status, application: &str) {
        let mut activity = self.activity();
        activity.state = match status {
            Status::Idle => "idle",
            Status::Open => "idle in transaction",
            Status::Failed => "idle in transaction (aborted)",
        };
        if activity.application != application {
            application.clone_into(&mut activity.application);
        }
    }

    /// Whether somebody asked to stop its statement.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Its session is this one.
    pub(crate) fn follow(&self, session: SessionId) {
        self.session.store(session.0, Ordering::Relaxed);
    }

    fn session(&self) -> SessionId {
        SessionId(self.session.load(Ordering::Relaxed))
    }

    /// Whether it is not there any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// It has gone while a statement of it was at work.
    pub(crate) fn go(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked to stop its statement since this was last asked.
    pub(crate) fn take_cancelled(&self) -> bool {
        self.cancelled.swap(false, Ordering::Relaxed)
    }
}

/// The hall.
pub(crate) struct Hall {
    pub(crate) database: Shared<Database>,
    pub(crate) settings: WireSettings,
    /// Whether the database is a server at its own levels.
    pub(crate) is_server: bool,
    pub(crate) turnstile: Option<Turnstile>,
    pub(crate) gate: Option<Gate>,
    /// Who holds requests back, or counts, where the database is a server.
    pub(crate) adversary: Option<Arc<Adversary>>,
    /// Who says whose request is next, where somebody does.
    pub(crate) walking: Option<Walking>,
    /// The statements that run.
    pub(crate) running: Arc<Running>,
    /// Whoever changes the schema has this.
    pub(crate) defining: Mutex<()>,
    members: Mutex<FxHashMap<i32, Arc<Member>>>,
    last_process: AtomicI32,
    delays: Mutex<Chance>,
    /// How many clients there ever were.
    pub(crate) connections: AtomicU64,
    /// What they say.
    pub(crate) statements: StatementLog,
    unsupported: Mutex<BTreeMap<String, u64>>,
}

/// So many kinds of what is not supported are remembered.
const MOST_UNSUPPORTED: usize = 100;

impl Hall {
    pub(crate) fn new(mut database: Database, settings: WireSettings) -> Hall {
        let turnstile = match &settings.schedule {
            Schedule::Interleaved | Schedule::Adversary(_) => None,
            Schedule::Repeated { .. } | Schedule::Walked(_) | Schedule::Steered { .. } => None,
            Schedule::Serial { patience } => Some(Turnstile::new(*patience)),
            Schedule::Prescribed { patience, turns, wait } => Some(Turnstile::prescribed(*patience, turns, *wait)),
        };
        let gate = match &settings.schedule {
            Schedule::Steered { patience, roll } => Some(Gate::new(*patience, Arc::clone(roll))),
            _ => None,
        };
        let (seed, is_server) = (database.store.options().seed, database.store.engine().is_some());
        let records = database.store.chronicle_mut().wants_choices();
        let adversary = is_server.then(|| Arc::new(Adversary::new(seed, &settings.schedule, records)));
        let walking = match &settings.schedule {
            Schedule::Walked(settings) => Walking::begin(settings),
            _ => None,
        };
        let running = Arc::new(Running::default());
        let asked = Arc::clone(&running);
        database.store.set_brake(Box::new(move || asked.is_closing()));
        let statements = StatementLog::begin(database.statements.take());
        Hall {
            database: Shared::new(database),
            settings,
            is_server,
            turnstile,
            gate,
            adversary,
            walking,
            running,
            defining: Mutex::default(),
            members: Mutex::default(),
            last_process: AtomicI32::new(0),
            delays: Mutex::new(Chance::new(seed, Stream::Delays)),
            connections: AtomicU64::new(0),
            statements,
            unsupported: Mutex::default(),
        }
    }

    /// Writes down what was decided about the order since this was last done.
    pub(crate) fn write_steps(&self) {
        let steps = self.adversary.as_ref().map(|adversary| adversary.take_steps()).unwrap_or_default();
        if !steps.is_empty() {
            let mut database = self.database.work();
            steps.iter().for_each(|step| database.store.chronicle_mut().step(step));
        }
    }

    /// A client was told that what it asked for is not supported.
    pub(crate) fn note_unsupported(&self, what: &str) {
        let mut known = self.unsupported.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MOST_UNSUPPORTED || known.contains_key(what) {
            *known.entry(what.to_owned()).or_default() += 1;
        }
    }

    /// What is not supported and was asked for.
    pub(crate) fn unsupported(&self) -> BTreeMap<String, u64> {
        self.unsupported.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn members(&self) -> MutexGuard<'_, FxHashMap<i32, Arc<Member>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many clients are connected.
    pub(crate) fn population(&self) -> usize {
        self.members().len()
    }

    /// A number for a new client.
    pub(crate) fn next_process(&self) -> i32 {
        self.connections.fetch_add(1, Ordering::Relaxed);
        // Numbers begin again rather than become negative.
        self.last_process.fetch_add(1, Ordering::Relaxed).rem_euclid(i32::MAX - 1) + 1
    }

    /// A client comes in; the secret is for whoever wants to cancel its statement.
    pub(crate) fn enter(&self, process: i32, secret: i32, session: SessionId, bell: Arc<Bell>) -> Arc<Member> {
        let (cancelled, gone) = (AtomicBool::new(false), AtomicBool::new(false));
        let (session, activity) = (AtomicU32::new(session.0), Mutex::default());
        let member = Arc::new(Member { secret, cancelled, gone, bell, session, activity });
        self.members().insert(process, Arc::clone(&member));
        member
    }

    /// A client leaves.
    pub(crate) fn leave(&self, process: i32) {
        self.members().remove(&process);
    }

    /// Stops the statement of a client, whether it runs or waits, if the secret is right.
    pub(crate) fn cancel(&self, process: i32, secret: i32) {
        if let Some(member) = self.members().get(&process).filter(|member| member.secret == secret) {
            member.cancelled.store(true, Ordering::Relaxed);
            member.bell.ring();
        }
    }

    /// The same by whoever may: the client that was asked to stop, if there is one.
    pub(crate) fn cancel_by_number(&self, process: i64) -> Option<i64> {
        let process = i32::try_from(process).ok()?;
        let secret = self.members().get(&process)?.secret;
        self.cancel(process, secret);
        Some(process.into())
    }

    /// The session of a client.
    pub(crate) fn session_of(&self, process: i64) -> Option<SessionId> {
        let process = i32::try_from(process).ok()?;
        self.members().get(&process).map(|member| member.session())
    }

    /// All clients, each with its session, in order.
    pub(crate) fn clients(&self) -> Vec<(SessionId, ClientFact)> {
        let members = self.members();
        let fact = |(&process, member): (&i32, &Arc<Member>)| {
            let MemberActivity { user, database, application, state, query } = member.activity().clone();
            let fact = ClientFact { process: process.into(), user, database, application, state, waits: None, query };
            (member.session(), fact)
        };
        let mut clients: Vec<(SessionId, ClientFact)> = members.iter().map(fact).collect();
        clients.sort_unstable_by_key(|client| client.1.process);
        clients
    }

    /// The clients that have these sessions, in order.
    pub(crate) fn processes_of(&self, sessions: &[SessionId]) -> Vec<i64> {
        let members = self.members();
        let has_session = |member: &Member| sessions.contains(&member.session());
        let mut found: Vec<i64> =
            members.iter().filter(|(_, member)| has_session(member)).map(|(process, _)| i64::from(*process)).collect();
        found.sort_unstable();
        found
    }

    /// A pause of chance, at most this long.
    pub(crate) fn delay(&self, longest: Duration) -> Duration {
        let most = usize::try_from(longest.as_micros()).unwrap_or(usize::MAX - 1);
        let chosen = self.delays.lock().unwrap_or_else(PoisonError::into_inner).below(most + 1);
        Duration::from_micros(chosen as u64)
    }
}
