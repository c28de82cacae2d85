//! Servers that belong together, by the name of their kind; and what can be done to them in the middle of a run.
//!
//! ```no_run
//! use skew_workload::servers::{Fleet, Kind};
//! let cluster = Fleet::start(Kind::Galera, 3, &[])?;
//! cluster.urls().iter().for_each(|url| println!("{url}"));
//! # Ok::<(), skew_workload::servers::ServerError>(())
//! ```

use super::process::Process;
use super::{GaleraCluster, MariaDbServer, PostgresServer, ServerError};
use crate::Url;
use crate::fault::{Breakable, Fault, Planned};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What can be started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    MariaDb,
    /// MariaDB nodes that replicate to each other.
    Galera,
}

/// Servers that run, and end when they are dropped.
pub struct Fleet {
    kind: Kind,
    urls: Vec<Url>,
    servers: Mutex<Servers>,
}

enum Servers {
    Postgres(PostgresServer),
    MariaDb(MariaDbServer),
    Galera(GaleraCluster),
}

impl Fleet {
    /// Starts servers to which these faults can be done; only a cluster has more than one node.
    pub fn start(kind: Kind, nodes: usize, faults: &[Fault]) -> Result<Fleet, ServerError> {
        let servers = match kind {
            Kind::Postgres => Servers::Postgres(PostgresServer::start()?),
            Kind::MariaDb => Servers::MariaDb(MariaDbServer::start()?),
            Kind::Galera if faults.is_empty() => Servers::Galera(GaleraCluster::start(nodes)?),
            Kind::Galera => Servers::Galera(GaleraCluster::start_with_proxies(nodes)?),
        };
        let urls = match &servers {
            Servers::Postgres(server) => vec![server.url().clone()],
            Servers::MariaDb(server) => vec![server.url().clone()],
            Servers::Galera(cluster) => cluster.urls(),
        };
        Ok(Fleet { kind, urls, servers: Mutex::new(servers) })
    }

    /// What was started.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Where the servers are.
    pub fn urls(&self) -> &[Url] {
        &self.urls
    }

    fn servers(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Servers {
    fn process(&mut self, node: usize) -> Option<&mut Process> {
        match self {
            Servers::Postgres(server) => Some(server.process()),
            Servers::MariaDb(server) => Some(server.process()),
            Servers::Galera(cluster) => cluster.nodes().get_mut(node).map(MariaDbServer::process),
        }
    }

    fn restart(&mut self, node: usize) -> Result<(), ServerError> {
        match self {
            Servers::Postgres(server) => server.restart(),
            Servers::MariaDb(server) => server.restart(),
            Servers::Galera(cluster) => cluster.nodes().get_mut(node).map_or(Ok(()), MariaDbServer::restart),
        }
    }
}

impl Breakable for Fleet {
    fn nodes(&self) -> usize {
        self.urls.len()
    }

    fn inject(&self, planned: &Planned) {
        let mut servers = self.servers();
        match (planned.fault, &*servers) {
            (Fault::Partition, Servers::Galera(cluster)) => cluster.cut(&planned.nodes),
            _ => {
                for process in planned.nodes.iter() {
                    let Some(process) = servers.process(*process) else { continue };
                    match planned.fault {
                        Fault::Kill => process.kill(),
                        _ => process.pause(true),
                    }
                }
            }
        }
    }

    fn heal(&self, planned: &Planned) -> Result<(), ServerError> {
        let mut servers = self.servers();
        match (planned.fault, &*servers) {
            (Fault::Partition, Servers::Galera(cluster)) => cluster.cut(&[]),
            (Fault::Kill, _) => planned.nodes.iter().try_for_each(|node| servers.restart(*node))?,
            _ => {
                for node in &planned.nodes {
                    let _ = servers.process(*node).map(|process| process.pause(false));
                }
            }
        }
        Ok(())
    }

    fn settle(&self) -> Result<(), ServerError> {
        match &mut *self.servers() {
            Servers::Galera(cluster) => cluster.wait_until_whole(),
            _ => Ok(()),
        }
    }
}
