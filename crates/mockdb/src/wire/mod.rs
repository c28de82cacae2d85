//! The PostgreSQL protocol in front of the database, for applications that connect to it unchanged.
//!
//! ```text
//!   socket ── line ── message ──> client ── Connection ──> Database (one, behind a mutex that nobody holds while waiting)
//!                <── reply ────────┘  │
//!                                     ├── startup    TLS? no · who are you? · password
//!                                     ├── extended   statements, portals
//!                                     ├── copy       COPY FROM STDIN, TO STDOUT
//!                                     ├── settings   SET, SHOW, what clients are told of
//!                                     ├── value      values as text and as bytes
//!                                     ├── schedule   whose turn it is; order: where that is prescribed
//!                                     ├── gate       where somebody else decides that; attendance: who takes part
//!                                     ├── adversary  whose request is held back, on a server at an engine's levels
//!                                     ├── walk       where somebody else says whose request is next
//!                                     ├── desk       where a statement works: short ones at once, long ones aside
//!                                     └── running    the statements that run, and whether they should stop
//! ```
//!
//! One thread serves all clients, each by a task of its own; another one stands at the door and hears first messages, so that a statement
//! can be cancelled however busy the first is. A task works on the database for as long as a short statement takes; a long one gets a
//! thread of its own and shares the database with the others (`desk`); one that has to wait lets go and is woken (`shared`). A
//! client that is gone, in whatever way, is rolled back when its task ends, and its statement ends soon after it went.
//!
//! The protocol is version 3.0 as PostgreSQL 15 speaks it, without TLS, replication and function calls by number. Messages are decoded here and
//! not by `pgwire` 0.42: that panics on truncated Parse, Bind, Execute and password messages, reads a text without its zero byte on into
//! the next message (`DELETE` and a Query behind it become the query `DELETEQ`), and replaces bytes that are no UTF-8.

mod adversary;
mod attendance;
mod client;
mod copy;
mod desk;
mod extended;
mod gate;
mod hall;
mod line;
pub mod message;
mod order;
mod reply;
mod running;
mod schedule;
mod scram;
mod settings;
mod startup;
mod statements;
mod value;
mod walk;

pub use adversary::{AdversarySettings, Contention, HeldRequests, Learned, Overlap, Strategy};
pub use attendance::{Attendance, Roll};
pub use order::PrescribedTurn;
pub use walk::{Guide, Touched, WalkSettings};

use crate::chronicle::Counts;
use crate::database::Database;
use crate::log::LoggedStep;
use hall::Hall;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct WireSettings {
    /// Where it listens; port 0 is any that is free.
    pub address: SocketAddr,
    /// What clients have to know, if anything. ASCII only.
    pub password: Option<String>,
    /// Whose turn it is.
    pub schedule: Schedule,
    /// Before every statement comes a pause of chance, at most so long.
    pub delay: Option<Duration>,
}

/// Whose turn it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// Statements run as they arrive.
    Interleaved,
    /// Statements are held back so that those of others get in between, on a server at an engine's levels.
    Adversary(AdversarySettings),
    /// Statements run in the order of a log, on a server at an engine's levels.
    Repeated {
        /// The order.
        steps: Arc<[LoggedStep]>,
        /// How long nobody may say anything while others wait for whoever is next.
        wait: Duration,
    },
    /// One step is taken at a time, and somebody says whose, on a server at an engine's levels.
    Walked(WalkSettings),
    /// Whole transactions run one at a time.
    Serial {
        /// How long a client may be silent inside a transaction before the next goes on.
        patience: Duration,
    },
    /// Whole transactions run one at a time, in this order as far as clients keep to it, and then as they come.
    Prescribed {
        /// How long a client may be silent inside a transaction before the next goes on.
        patience: Duration,
        /// The order.
        turns: Arc<[PrescribedTurn]>,
        /// How long nothing may happen while others wait for whoever is next.
        wait: Duration,
    },
    /// Whole transactions run one at a time, in the order that whoever steers the store says.
    Steered {
        /// How long the client whose turn it is may be silent before the run is given up.
        patience: Duration,
        /// Who takes part, as far as it is known.
        roll: Arc<Roll>,
    },
}

/// What goes on in a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireActivity {
    /// How many clients are connected.
    pub clients: usize,
    /// How many there ever were.
    pub connections: u64,
    /// How many statements have been at work for so long that they are on threads of their own, or sleep.
    pub working: usize,
    /// How transactions ended.
    pub counts: Counts,
}

/// What a server did.
#[derive(Clone, Debug)]
pub struct WireSummary {
    /// How many clients there were, and how their transactions ended.
    pub activity: WireActivity,
    /// What went wrong with recording, if anything.
    pub recording_failure: Option<String>,
    /// How often a replay asked for something that its log does not have.
    pub divergences: usize,
    /// How often a client lost its turn because it was silent.
    pub passed: u64,
    /// The turns of a prescribed order that were waited for in vain: a session, and how many of its transactions came before.
    pub passed_over: Vec<(String, u32)>,
    /// Who took part, where somebody steered.
    pub attendance: Attendance,
    /// Who overlapped and what was held, on a server at an engine's levels.
    pub contention: Option<Contention>,
    /// What clients asked for that is not supported, as they were told, and how often.
    pub unsupported: BTreeMap<String, u64>,
}

/// A server that listens and does not serve yet.
pub struct WireServer {
    door: Runtime,
    inside: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    hall: Arc<Hall>,
}

/// A server that serves.
pub struct RunningServer {
    address: SocketAddr,
    hall: Arc<Hall>,
    stop: watch::Sender<bool>,
    /// Every thread has the other end, and lets go of it when it ends.
    ended: Option<mpsc::Receiver<()>>,
}

/// How long tasks have to end when the server does.
const LAST_MOMENT: Duration = Duration::from_millis(500);
/// How long somebody waits for the server to end.
const LONGEST_END: Duration = Duration::from_secs(5);
/// So many threads there may be for statements that work for long; clients there are fewer.
const MOST_ASIDE: usize = 10_000;
/// The pause after a failure to accept a connection: usually there are too many.
const BREATH: Duration = Duration::from_millis(50);

impl WireServer {
    /// Starts to listen.
    pub fn bind(database: Database, settings: WireSettings) -> io::Result<WireServer> {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().max_blocking_threads(MOST_ASIDE);
        let (door, inside) = (runtime.build()?, runtime.build()?);
        let listener = door.block_on(TcpListener::bind(settings.address))?;
        let address = listener.local_addr()?;
        Ok(WireServer { door, inside, listener, address, hall: Arc::new(Hall::new(database, settings)) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves, on threads of its own, until it is stopped.
    pub fn start(self) -> io::Result<RunningServer> {
        let WireServer { door, inside, listener, address, hall } = self;
        let (stop, stopped) = watch::channel(false);
        let (ending, ended) = mpsc::channel();
        let accepting = accept(Arc::clone(&hall), listener, inside.handle().clone());
        run_thread("door", door, accepting, stopped.clone(), ending.clone())?;
        run_thread("wire", inside, std::future::pending(), stopped, ending)?;
        Ok(RunningServer { address, hall, stop, ended: Some(ended) })
    }
}

/// A thread for the tasks of a runtime, until it is told to stop.
fn run_thread(
    name: &str,
    runtime: Runtime,
    work: impl Future<Output = ()> + Send + 'static,
    mut stopped: watch::Receiver<bool>,
    ending: mpsc::Sender<()>,
) -> io::Result<()> {
    let run = move || {
        runtime.block_on(async {
            tokio::select! {
                () = work => {}
                _ = stopped.wait_for(|stopped| *stopped) => {}
            }
        });
        runtime.shutdown_timeout(LAST_MOMENT);
        drop(ending);
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map(|_| ())
}

async fn accept(hall: Arc<Hall>, listener: TcpListener, inside: Handle) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(startup::receive(Arc::clone(&hall), stream, inside.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

impl RunningServer {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What goes on, unless a statement is at work just now.
    pub fn activity(&self) -> Option<WireActivity> {
        self.hall.database.try_work().map(|database| self.activity_of(database.store.counts()))
    }

    fn activity_of(&self, counts: Counts) -> WireActivity {
        let connections = self.hall.connections.load(Ordering::Relaxed);
        let working = self.hall.running.working();
        WireActivity { clients: self.hall.population(), connections, working, counts }
    }

    /// Stops; connections are closed and what they left open is rolled back.
    pub fn stop(mut self) -> WireSummary {
        self.end();
        let passed_over = self.hall.turnstile.as_ref().map_or_else(Vec::new, schedule::Turnstile::passed_over);
        let attendance = self.hall.gate.as_ref().map(gate::Gate::attendance).unwrap_or_default();
        let contention = self.hall.adversary.as_ref().map(|adversary| adversary.contention());
        let unsupported = self.hall.unsupported();
        let Some(database) = self.hall.database.try_work() else {
            return WireSummary {
                activity: self.activity_of(Counts::default()),
                recording_failure: Some("a statement did not stop when the server did".to_owned()),
                divergences: 0,
                passed: 0,
                passed_over,
                attendance,
                contention,
                unsupported,
            };
        };
        WireSummary {
            activity: self.activity_of(database.store.counts()),
            recording_failure: database.store.recording_failure().map(str::to_owned),
            divergences: database.store.divergences(),
            passed: self.hall.turnstile.as_ref().map_or(0, schedule::Turnstile::passed),
            passed_over,
            attendance: Attendance { written_after: database.store.life().is_written_after(), ..attendance },
            contention,
            unsupported,
        }
    }

    fn end(&mut self) {
        let Some(ended) = self.ended.take() else { return };
        self.hall.running.close();
        // Threads that have ended hear nothing, and need not.
        let _ = self.stop.send(true);
        // Nobody ever sends: this ends when all threads have, even those that panicked, or when it has taken too long.
        let _ = ended.recv_timeout(LONGEST_END);
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.end();
    }
}
