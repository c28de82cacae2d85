//! The mock database in this process: loaded before its first client, as weak as it is told to be, reached as any server is.
//!
//! ```text
//!   Setup::script ── initial state ── PostgreSQL's protocol on a free port ◄── sessions of the workload
//! ```

use crate::served::database;
use crate::{Complaint, Moment};
use skew_history::IsolationLevel;
use skew_mockdb::wire::{RunningServer, Schedule, WireServer, WireSettings};
use skew_mockdb::{Campaign, Chooser, ChooserKind, Database, Granularity, Options, Record, Store, Updates};
use skew_sql::Catalog;
use skew_value::Dialect;
use skew_workload::{Names, Prepare, Setup, Url, Workload};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// What is said before the assertions are asked. Where updates lock, the order of all versions of a row is known, and the last one is
/// what is there at the end; so it is where transactions came one by one and every read returned the latest. Else there is no such order:
/// any last version of some session, and no older one, as in MonkeyDB's paper (§8).
fn asking(settings: &MockSettings, is_serial: bool) -> &'static str {
    let is_ordinary = is_serial && settings.chooser == ChooserKind::Latest;
    if settings.updates == Updates::Atomic || is_ordinary {
        "SET skew.chooser = 'latest'"
    } else {
        "SET skew.chooser = 'latest-per-session'"
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
        let record = Record { history: None, choices: None };
        Mock::start_with(settings, level, workload, seed, settings.chooser.build(seed, novelty), record)
    }

    /// The same with a chooser of somebody's own, and with what the database itself tells of the run.
    pub(super) fn start_with(
        settings: &MockSettings,
        level: IsolationLevel,
        workload: &dyn Workload,
        seed: u64,
        chooser: Box<dyn Chooser>,
        record: Record,
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
        let store = Store::new(options, chooser);
        let mut database = Database::new(store, Arc::new(Catalog::default()));
        database.obeys_levels = false;
        let setup = Setup::new(workload, &Names::bare(), Dialect::Postgres);
        database::load(&mut database, workload.name(), &setup.script())?;
        database.store.start(record, "");
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
        // So that it calls a row as the history does.
        options.names = Names::bare();
        options.asking = Some(asking(settings, options.order.is_serial()).to_owned());
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

#[cfg(test)]
mod tests {
    use super::*;
    use skew_sql::KeyPart;
    use skew_workload::table::{Table, int, text};

    const NOTES: Table = Table::new("notes", &[text("owner"), int("number")], &[]);

    #[test]
    fn a_row_is_called_alike_by_the_history_and_by_the_database() {
        assert_eq!(Names::bare().table(&NOTES), NOTES.name);
        let name = |owner: &str| NOTES.key_name(&[owner.into(), (-3).into()]);
        for owner in ["ann", "it's", "#1", "5 %", "%2f", "é"] {
            let parts = [KeyPart::Text(owner.into()), KeyPart::Number(-3)].map(|part| part.to_string());
            assert_eq!(name(owner), format!("notes/{}", parts.join("/")));
        }
        // But for this one.
        assert_eq!((name("a/b"), KeyPart::Text("a/b".into()).to_string()), ("notes/a%2Fb/-3".into(), "a%2fb".into()));
    }
}
