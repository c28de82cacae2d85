//! Keys and values over HTTP with JSON, for programs that are not written in Rust.
//!
//! ```text
//!   POST /begin   {"session":"ann","level":"causal"}                   {"transaction":"t1"}
//!   POST /get     {"session":"ann","key":"x"}                          {"value":1}          null: there is none
//!   POST /put     {"session":"ann","key":"x","value":2}                {}
//!   POST /cas     {"session":"ann","key":"x","expected":1,"value":2}   {"swapped":true}
//!   POST /commit  {"session":"ann"}                                    {}
//! ```
//!
//! and `/delete` and `/abort`. Outside of a transaction each is one by itself. What goes wrong is
//! `{"error":{"code":…,"message":…,"retry":true}}` with a status: 400 the request is wrong, 409 the transaction is over or the session busy,
//! 423 somebody else holds the lock for too long.
//!
//! Nobody blocks others for ever: a wait for a lock has an end, a client that goes away while it waits leaves the queue, and a
//! transaction whose client is silent for too long is rolled back.

use crate::chronicle::Counts;
use crate::kv::{self, KvValue};
use crate::record::Record;
use crate::shared::{Bell, HasStore, Shared, Work as CoreWork};
use crate::store::{Begin, Store};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use serde_json::{Map, Value, json};
use skew_history::{IsolationLevel, SessionId};
use skew_sql::{Interrupt, Lock, Stop};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LARGEST_BODY: usize = 1 << 20;
const MOST_SESSIONS: usize = 10_000;
const LONGEST_NAME: usize = 1000;
const GLANCE: Duration = Duration::from_millis(100);

/// How the server behaves.
#[derive(Clone, Copy, Debug)]
pub struct HttpSettings {
    /// Where it listens; port 0 is any that is free.
    pub address: SocketAddr,
    /// How long a request waits for a lock.
    pub lock_wait: Duration,
    /// After so long a silence a transaction is rolled back.
    pub idle: Duration,
}

/// What a server did.
#[derive(Clone, Debug)]
pub struct HttpSummary {
    /// How transactions ended.
    pub counts: Counts,
    /// What went wrong with recording, if anything.
    pub recording_failure: Option<String>,
    /// How often a replay was asked for something else than its log tells.
    pub divergences: usize,
}

struct Client {
    session: SessionId,
    last_used: Instant,
    busy: bool,
}

struct Core {
    store: Store,
    clients: BTreeMap<String, Client>,
}

impl HasStore for Core {
    fn store(&mut self) -> &mut Store {
        &mut self.store
    }
}

struct Served {
    core: Shared<Core>,
    settings: HttpSettings,
}

/// A server that listens.
pub struct HttpServer {
    runtime: tokio::runtime::Runtime,
    listener: tokio::net::TcpListener,
    address: SocketAddr,
    shared: Arc<Served>,
}

impl HttpServer {
    /// Starts to listen; the store is loaded by nobody else and starts here.
    pub fn bind(store: Store, record: Record, settings: HttpSettings) -> io::Result<HttpServer> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind(settings.address))?;
        let address = listener.local_addr()?;
        let core = Shared::new(Core { store: kv::loaded(store, &[], record), clients: BTreeMap::new() });
        let shared = Arc::new(Served { core, settings });
        Ok(HttpServer { runtime, listener, address, shared })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until it is stopped.
    pub fn run(self, stopped: impl Fn() -> bool) -> io::Result<HttpSummary> {
        let HttpServer { runtime, listener, shared, .. } = self;
        let router = Router::new()
            .route("/{request}", post(answer))
            .fallback(async || failure(&no_such_path()))
            .method_not_allowed_fallback(async || failure(&Failure::wrong(405, "method", "use POST")))
            .layer(DefaultBodyLimit::max(LARGEST_BODY))
            .with_state(Arc::clone(&shared));
        let served = runtime.block_on(async {
            let server = axum::serve(listener, router);
            tokio::select! {
                served = async { server.await } => served,
                () = watch(&shared, stopped) => Ok(()),
            }
        });
        runtime.shutdown_timeout(GLANCE);
        let mut core = shared.core();
        let sessions: Vec<SessionId> = core.clients.values().map(|client| client.session).collect();
        sessions.into_iter().for_each(|session| core.store.disconnect(session));
        let recording_failure = core.store.recording_failure().map(str::to_owned);
        served.map(|()| HttpSummary {
            counts: core.store.counts(),
            recording_failure,
            divergences: core.store.divergences(),
        })
    }
}

/// Rolls back what is silent for too long, until the server is stopped.
async fn watch(shared: &Served, stopped: impl Fn() -> bool) {
    while !stopped() {
        tokio::time::sleep(GLANCE).await;
        shared.roll_back_idle();
    }
}

impl Served {
    fn core(&self) -> CoreWork<'_, Core> {
        self.core.work()
    }

    fn roll_back_idle(&self) {
        let mut core = self.core();
        let Core { store, clients } = &mut *core;
        let idle = clients.values().filter(|client| !client.busy && client.last_used.elapsed() >= self.settings.idle);
        for client in idle.filter(|client| store.in_transaction(client.session)).collect::<Vec<_>>() {
            store.abort(client.session);
        }
    }
}

/// What went wrong, as the client is told.
struct Failure {
    status: u16,
    code: &'static str,
    message: String,
    /// Whether the same transaction may go well when it is begun again.
    retry: bool,
}

impl Failure {
    fn wrong(status: u16, code: &'static str, message: impl Into<String>) -> Failure {
        Failure { status, code, message: message.into(), retry: false }
    }

    fn bad(message: impl Into<String>) -> Failure {
        Failure::wrong(400, "bad_request", message)
    }

    fn again(status: u16, code: &'static str, message: &str) -> Failure {
        Failure { retry: true, ..Failure::wrong(status, code, message) }
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Failure {
        match stop {
            Stop::Error(error) if error.state.0.starts_with("25") => {
                Failure::wrong(409, "transaction_state", error.message)
            }
            Stop::Error(error) => Failure::bad(error.message),
            Stop::Interrupted(Interrupt::Deadlock) => {
                Failure::again(409, "deadlock", "the transaction waited for itself and is rolled back; begin it again")
            }
            Stop::Interrupted(Interrupt::Wait) => {
                Failure::again(423, "locked", "another transaction holds the lock; try again later")
            }
            Stop::Interrupted(_) => {
                let message = "the transaction could not be serialized and is rolled back; begin it again";
                Failure::again(409, "serialization_failure", message)
            }
        }
    }
}

/// What is in no history is not acknowledged: as after a crash, the client does not learn whether it happened.
fn refuse_unrecorded(store: &Store) -> Result<(), Failure> {
    match store.recording_failure() {
        Some(_) => Err(Failure::wrong(503, "recording", "the history cannot be written any more; this server ends")),
        None => Ok(()),
    }
}

fn no_such_path() -> Failure {
    let paths = "/begin, /get, /put, /delete, /cas, /commit and /abort";
    Failure::wrong(404, "not_found", format!("there is nothing here; the paths are {paths}"))
}

fn respond(status: StatusCode, body: &Value) -> Response {
    let response = Response::builder().status(status).header(header::CONTENT_TYPE, "application/json");
    response.body(Body::from(format!("{body}\n"))).unwrap_or_default()
}

fn failure(failure: &Failure) -> Response {
    let Failure { status, code, message, retry } = failure;
    let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_REQUEST);
    respond(status, &json!({"error": {"code": code, "message": message, "retry": retry}}))
}

async fn answer(
    State(shared): State<Arc<Served>>,
    Path(path): Path<String>,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(rejection) => {
            let message = format!("the body cannot be read: {}", rejection.body_text());
            return failure(&Failure::wrong(rejection.status().as_u16(), "body", message));
        }
    };
    let result = match Request::parse(&path, &body) {
        Ok(request) => request.run(&shared).await,
        Err(failure) => Err(failure),
    };
    match result {
        Ok(body) => respond(StatusCode::OK, &body),
        Err(found) => failure(&found),
    }
}

/// What is asked.
enum Work {
    Begin(Begin),
    Get(String),
    Put(String, KvValue),
    Delete(String),
    Cas(String, Option<KvValue>, KvValue),
    Commit,
    Abort,
}

struct Request {
    session: String,
    work: Work,
}

impl Request {
    fn parse(path: &str, body: &[u8]) -> Result<Request, Failure> {
        let members: Map<String, Value> = serde_json::from_slice(body)
            .map_err(|error| Failure::bad(format!("the body is not a JSON object: {error}")))?;
        let text = |name: &str| match members.get(name) {
            Some(Value::String(text)) if text.len() <= LONGEST_NAME => Ok(text.clone()),
            Some(Value::String(_)) => Err(Failure::bad(format!("`{name}` is longer than {LONGEST_NAME} bytes"))),
            Some(_) => Err(Failure::bad(format!("`{name}` is not a text"))),
            None => Err(Failure::bad(format!("`{name}` is missing"))),
        };
        let value = |name: &str| match members.get(name) {
            Some(given) => value_of(given, name),
            None => Err(Failure::bad(format!("`{name}` is missing"))),
        };
        let given = |name: &str| value(name)?.ok_or_else(|| Failure::bad(format!("`{name}` is null; use /delete")));
        let work = match path {
            "begin" => Work::Begin(begin_of(&members)?),
            "get" => Work::Get(text("key")?),
            "put" => Work::Put(text("key")?, given("value")?),
            "delete" => Work::Delete(text("key")?),
            "cas" => Work::Cas(text("key")?, value("expected")?, given("value")?),
            "commit" => Work::Commit,
            "abort" => Work::Abort,
            _ => return Err(no_such_path()),
        };
        Ok(Request { session: text("session")?, work })
    }

    async fn run(self, shared: &Arc<Served>) -> Result<Value, Failure> {
        let turn = Turn::take(shared, &self.session)?;
        match self.work {
            Work::Begin(begin) => {
                let mut core = shared.core();
                core.store.begin(turn.session, begin).map_err(Stop::from)?;
                refuse_unrecorded(&core.store)?;
                Ok(json!({"transaction": core.store.transaction_name(turn.session)}))
            }
            Work::Commit => turn.end(Store::commit),
            Work::Abort => turn.end(|store, session| {
                store.abort(session);
                Ok(())
            }),
            work => turn.statement(&work).await,
        }
    }
}

fn value_of(value: &Value, name: &str) -> Result<Option<KvValue>, Failure> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(KvValue::Text(text.clone()))),
        Value::Number(number) if number.is_i64() => Ok(number.as_i64().map(KvValue::Integer)),
        _ => Err(Failure::bad(format!("`{name}` is neither an integer of 64 bits nor a text"))),
    }
}

fn begin_of(members: &Map<String, Value>) -> Result<Begin, Failure> {
    let level = match members.get("level") {
        None | Some(Value::Null) => None,
        Some(Value::String(level)) => {
            let parsed: Result<IsolationLevel, _> = level.parse();
            Some(parsed.map_err(|_| Failure::bad(format!("`{level}` is not an isolation level")))?)
        }
        Some(_) => return Err(Failure::bad("`level` is not a text")),
    };
    let read_only = match members.get("read_only") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(read_only)) => *read_only,
        Some(_) => return Err(Failure::bad("`read_only` is neither true nor false")),
    };
    Ok(Begin { level, read_only, chooser: None })
}

/// A session while it answers a request: nobody else uses it, and whatever happens it is given back.
struct Turn {
    shared: Arc<Served>,
    name: String,
    session: SessionId,
    bell: Arc<Bell>,
    /// The statement waits: whoever goes away now must leave the queue.
    waits: bool,
    /// The transaction is of this statement alone: whoever goes away now takes it along.
    alone: bool,
}

impl Turn {
    fn take(shared: &Arc<Served>, name: &str) -> Result<Turn, Failure> {
        let mut core = shared.core();
        if !core.clients.contains_key(name) {
            if core.clients.len() >= MOST_SESSIONS {
                return Err(Failure::wrong(503, "sessions", format!("there are {MOST_SESSIONS} sessions already")));
            }
            let session = core.store.connect(name);
            core.clients.insert(name.to_owned(), Client { session, last_used: Instant::now(), busy: false });
        }
        let client = core.clients.get_mut(name).ok_or_else(no_such_path)?;
        if std::mem::replace(&mut client.busy, true) {
            return Err(Failure::wrong(409, "busy", "another request of this session is still being answered"));
        }
        let session = client.session;
        drop(core);
        let bell = Arc::new(Bell::default());
        shared.core.hang(session, &bell);
        Ok(Turn { shared: Arc::clone(shared), name: name.to_owned(), session, bell, waits: false, alone: false })
    }

    fn end(&self, end: impl FnOnce(&mut Store, SessionId) -> Result<(), Interrupt>) -> Result<Value, Failure> {
        let mut core = self.shared.core();
        if !core.store.in_transaction(self.session) {
            return Err(Failure::wrong(409, "transaction_state", "there is no transaction in progress"));
        }
        let ended = end(&mut core.store, self.session);
        ended.map_err(Stop::from)?;
        refuse_unrecorded(&core.store)?;
        Ok(json!({}))
    }

    /// A read or a write, in the open transaction or one by itself.
    async fn statement(mut self, work: &Work) -> Result<Value, Failure> {
        let deadline = tokio::time::Instant::now() + self.shared.settings.lock_wait;
        self.begin_alone()?;
        loop {
            let result = self.attempt(work);
            if !self.waits || tokio::time::timeout_at(deadline, self.bell.rung()).await.is_err() {
                return result;
            }
        }
    }

    /// Where no transaction is open the statement gets one of its own.
    fn begin_alone(&mut self) -> Result<(), Failure> {
        let mut core = self.shared.core();
        if !core.store.in_transaction(self.session) {
            core.store.begin(self.session, Begin::default()).map_err(Stop::from)?;
            self.alone = true;
        }
        Ok(())
    }

    fn attempt(&mut self, work: &Work) -> Result<Value, Failure> {
        let mut core = self.shared.core();
        let (store, session) = (&mut core.store, self.session);
        let result = store.run_statement(session, None, |store| perform(store, session, work));
        self.waits = matches!(result, Err(Stop::Interrupted(Interrupt::Wait)));
        if self.alone && result.is_ok() {
            store.commit(session).map_err(Stop::from)?;
        }
        let answer = result?;
        refuse_unrecorded(store)?;
        Ok(answer)
    }
}

impl Drop for Turn {
    /// Answered, out of patience, or left by its client: nothing of the request stays behind but what it did in a transaction that goes on.
    fn drop(&mut self) {
        self.shared.core.take_down(self.session);
        let mut core = self.shared.core();
        if self.waits {
            core.store.stop_waiting(self.session);
        }
        if self.alone {
            // What has committed is no longer there to be rolled back.
            core.store.abort(self.session);
        }
        if let Some(client) = core.clients.get_mut(&self.name) {
            (client.busy, client.last_used) = (false, Instant::now());
        }
    }
}

fn perform(store: &mut Store, session: SessionId, work: &Work) -> Result<Value, Stop> {
    match work {
        Work::Get(key) => {
            let found = store.get_value(session, key, Lock::None)?;
            Ok(json!({"value": found.as_ref().map(json_of)}))
        }
        Work::Put(key, value) => store.put_value(session, key, Some(value)).map(|()| json!({})),
        Work::Delete(key) => store.put_value(session, key, None).map(|()| json!({})),
        Work::Cas(key, expected, value) => {
            let swapped = store.swap_value(session, key, expected.as_ref(), value)?;
            Ok(json!({"swapped": swapped}))
        }
        Work::Begin(_) | Work::Commit | Work::Abort => Ok(json!({})),
    }
}

fn json_of(value: &KvValue) -> Value {
    match value {
        KvValue::Integer(number) => Value::from(*number),
        KvValue::Text(text) => Value::from(text.as_str()),
    }
}
