//! A database that is steered, behind PostgreSQL's protocol: for the runs of a command, and for one run of a program over the wire.

use super::Arguments;
use crate::input::Complaint;
use skew_history::IsolationLevel;
use skew_mockdb::chooser::Latest;
use skew_mockdb::wire::{RunningServer, Schedule, WireServer, WireSettings};
use skew_mockdb::{Database, Steering, Store};
use skew_sql::Catalog;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

impl Arguments {
    /// A database in which somebody else will decide what is read, as soon as its first rows are there. All is at one level.
    pub(super) fn steered(
        &self,
        level: IsolationLevel,
        catalog: Arc<Catalog>,
        steering: impl Steering + 'static,
    ) -> Database {
        let mut options = skew_mockdb::Options::new(level, 0);
        options.updates = self.updates.into();
        options.clock = self.clock.0;
        let mut database = Database::new(Store::new(options, Box::new(Latest)), catalog);
        database.obeys_levels = false;
        database.store.prepare_steering(Box::new(steering));
        database
    }
}

/// Serves a database on this machine, at a port that is free.
pub(super) fn listen(database: Database, schedule: Schedule) -> Result<RunningServer, Complaint> {
    let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let settings = WireSettings { address, password: None, schedule, delay: None };
    let server = WireServer::bind(database, settings).and_then(WireServer::start);
    server.map_err(|error| Complaint::new("skew explore", format!("cannot listen: {error}"), "try again"))
}
