//! The mock database in this process: loaded before its first client, as weak as it is told to be, reached as any server is.
//!
//! ```text
//!   Setup::script ── initial state ── PostgreSQL's protocol on a free port ◄── sessions of the workload
//! ```

use crate::served::database;
use crate::{Complaint, Moment};
use skew_history::IsolationLevel;
use skew_mockdb::wire::{RunningServer, Schedule, WireServer, WireSettings};
use skew_mockdb::{Campaign, ChooserKind, Database, Granularity, Options, Record, Store, Updates};
use skew_sql::Catalog;
use skew_value::Dialect;
use skew_workload::{Names, Prepare, Setup, Url, Workload};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// What is said before the assertions are asked. Where updates lock, the order of all versions of a row is known, and the last one is
/// what is there at the end. Where they do not, there is no such order: any last version of some session, and no older one, as in
/// MonkeyDB's paper (§8).
fn asking(updates: Updates) -> &'static str {
    match updates {
        Updates::Atomic => "SET skew.chooser = 'latest'",
        Updates::Plain => "SET skew.chooser = 'latest-per-session'",
    }
}

/// What the mock database of every run is like, beside its level.
#[derive(Clone, Copy, Debug)]
pub struct MockSettings {
    /// Whether updates lock.
    pub updates: Updates,
    /// What is one key.
    pub granularity: Granularity,
    /// Which version is read of those that may be.
    pub chooser: ChooserKind,
    /// Whether it keeps to the axioms alone.
    pub bare: bool,
    /// When its time begins.
    pub clock: Moment,
}

/// A mock database that serves.
pub(super) struct Mock {
    server: RunningServer,
}

impl Mock {
    /// Starts one that holds the tables of a workload.
    pub(super) fn start(
        settings: &MockSettings,
        level: IsolationLevel,
        workload: &dyn Workload,
        seed: u64,
        novelty: &Campaign,
    ) -> Result<Mock, Complaint> {
        // The paper's read committed is its axioms, and a session that sees what committed before is nothing that these ask for. At causal
        // and above they do.
        let is_papers = settings.updates == Updates::Plain && level == IsolationLevel::ReadCommitted;
        let options = Options {
            updates: settings.updates,
            granularity: settings.granularity,
            bare: settings.bare || is_papers,
            clock: settings.clock.0,
            ..Options::new(level, seed)
        };
        let store = Store::new(options, settings.chooser.build(seed, novelty));
        let mut database = Database::new(store, Arc::new(Catalog::default()));
        database.obeys_levels = false;
        let setup = Setup::new(workload, &Names::default(), Dialect::Postgres);
        database::load(&mut database, workload.name(), &setup.script())?;
        database.store.start(Record { history: None, choices: None }, "");
        let wire = WireSettings {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            password: None,
            schedule: Schedule::Interleaved,
            delay: None,
        };
        let server = WireServer::bind(database, wire).and_then(WireServer::start);
        let complain = |error: std::io::Error| {
            let what = format!("cannot listen on this machine: {error}");
            Complaint::new("the mock database", what, "allow connections to 127.0.0.1")
        };
        Ok(Mock { server: server.map_err(complain)? })
    }

    /// Makes a run go here.
    pub(super) fn adapt(&self, settings: &MockSettings, options: &mut skew_workload::Options) {
        options.urls = vec![self.url()];
        options.prepare = Prepare::Nothing;
        options.names = Names::default();
        options.asking = Some(asking(settings.updates).to_owned());
        options.locks = settings.updates == Updates::Atomic;
        options.rows = settings.granularity == Granularity::Row;
    }

    fn url(&self) -> Url {
        Url {
            dialect: Dialect::Postgres,
            user: "skew".to_owned(),
            password: None,
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: self.server.address().port(),
            database: "skew".to_owned(),
        }
    }

    /// All clients are gone.
    pub(super) fn stop(self) {
        self.server.stop();
    }
}
