//! A Galera cluster of one's own: MariaDB nodes that certify each other's transactions.
//!
//! ```text
//!   node 1   gcomm://              begins the cluster
//!   node 2   gcomm://1,2,3         joins: gets all tables by rsync from one that is there
//!   node 3   gcomm://1,2,3         joins when node 2 is ready
//! ```
//!
//! A node has four ports: for clients, for the group, for whole states and for the rest of a state. In a cluster that is to be cut in
//! two, what nodes say to the group goes through proxies (`proxy`), and they notice sooner that somebody is silent.

use super::mariadb::{MariaDbServer, install, server};
use super::proxy::{Proxies, node_address, proxy_address};
use super::{Folder, PATIENCE, ServerError, free_ports, program};
use crate::Url;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// How soon a node that is silent is left out, where wires are cut: in seconds, not in half a minute.
const SOON: &str = "evs.keepalive_period=PT0.5S; evs.inactive_check_period=PT0.3S; evs.suspect_timeout=PT2S; \
                    evs.inactive_timeout=PT4S; evs.install_timeout=PT4S; gmcast.time_wait=PT1S";

/// Nodes that hold the same tables.
pub struct GaleraCluster {
    nodes: Vec<MariaDbServer>,
    proxies: Option<Proxies>,
}

/// The ports of a node.
#[derive(Clone, Copy)]
struct Ports {
    client: u16,
    group: u16,
    state: u16,
    increment: u16,
}

impl GaleraCluster {
    /// Starts so many nodes, one after the other, and waits until all are ready.
    pub fn start(nodes: usize) -> Result<GaleraCluster, ServerError> {
        GaleraCluster::with(nodes, false)
    }

    /// The same with wires that can be cut.
    pub fn start_with_proxies(nodes: usize) -> Result<GaleraCluster, ServerError> {
        GaleraCluster::with(nodes, true)
    }

    fn with(nodes: usize, proxies: bool) -> Result<GaleraCluster, ServerError> {
        program("rsync", "rsync", &[])?;
        // The scripts that transfer states look at sockets with it.
        program("ss", "iproute2", &[])?;
        let ports = free_ports(4 * nodes)?;
        let ports: Vec<Ports> = ports
            .chunks_exact(4)
            .map(|four| Ports { client: four[0], group: four[1], state: four[2], increment: four[3] })
            .collect();
        let groups: Vec<u16> = ports.iter().map(|ports| ports.group).collect();
        let proxies = if proxies { Some(Proxies::start(&groups)?) } else { None };
        let mut cluster = GaleraCluster { nodes: Vec::new(), proxies };
        for number in 0..nodes {
            let node = cluster.node(number, &ports)?;
            cluster.nodes.push(node);
        }
        Ok(cluster)
    }

    fn node(&self, number: usize, ports: &[Ports]) -> Result<MariaDbServer, ServerError> {
        let folder = Folder::new("galera", "mysql")?;
        install(&folder)?;
        let own = ports[number];
        let (own_address, extra) = match self.proxies {
            Some(_) => (node_address(number), SOON),
            None => (Ipv4Addr::LOCALHOST, ""),
        };
        let group = own.group;
        let mut server = server(&folder, own.client)?;
        server.args(["--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON"]);
        server.args(["--wsrep-cluster-name=skew", "--wsrep-sst-method=rsync"]);
        server.arg(format!("--wsrep-provider={}", provider()?.display()));
        let everybody = self.everybody(ports);
        server.arg(if number == 0 { "--wsrep-cluster-address=gcomm://" } else { &everybody });
        server.arg(format!("--wsrep-node-name=node{}", number + 1));
        server.arg(format!("--wsrep-node-address={own_address}:{group}"));
        server.arg(format!("--wsrep-sst-receive-address=127.0.0.1:{}", own.state));
        server.arg(format!(
            "--wsrep-provider-options=base_port={group}; base_host={own_address}; \
             gmcast.listen_addr=tcp://{own_address}:{group}; ist.recv_addr=127.0.0.1:{}; gcache.size=32M; {extra}",
            own.increment
        ));
        let mut node = MariaDbServer::spawn(server, folder, own.client)?;
        wait_until_ready(&mut node, number + 1)?;
        if number == 0 {
            node.make_database()?;
            // When it comes back, the cluster is there already.
            node.process().next_time(everybody);
        } else {
            node.use_database();
        }
        Ok(node)
    }

    /// The list of all nodes, as an argument: where others find them.
    fn everybody(&self, ports: &[Ports]) -> String {
        let place = |(node, ports): (usize, &Ports)| {
            let address = if self.proxies.is_some() { proxy_address(node) } else { Ipv4Addr::LOCALHOST };
            format!("{address}:{}", ports.group)
        };
        let places: Vec<String> = ports.iter().enumerate().map(place).collect();
        format!("--wsrep-cluster-address=gcomm://{}", places.join(","))
    }

    /// Where the nodes are.
    pub fn urls(&self) -> Vec<Url> {
        self.nodes.iter().map(|node| node.url().clone()).collect()
    }

    pub(super) fn nodes(&mut self) -> &mut [MariaDbServer] {
        &mut self.nodes
    }

    /// Cuts these nodes off from the others; with nobody to cut off, all wires are whole again. Nothing happens to a cluster that
    /// was started without proxies.
    pub(super) fn cut(&self, nodes: &[usize]) {
        match &self.proxies {
            Some(proxies) if nodes.is_empty() => proxies.mend(),
            Some(proxies) => proxies.cut(nodes),
            None => {}
        }
    }

    /// Waits until all nodes are one cluster and take statements.
    pub(super) fn wait_until_whole(&mut self) -> Result<(), ServerError> {
        let size = self.nodes.len();
        self.nodes.iter_mut().try_for_each(|node| wait_until_ready(node, size))
    }
}

impl Drop for GaleraCluster {
    fn drop(&mut self) {
        self.cut(&[]);
        // The last one that came goes first, so that those who stay have a majority for as long as possible.
        while self.nodes.pop().is_some() {}
    }
}

/// The library of the galera-4 package.
fn provider() -> Result<PathBuf, ServerError> {
    let places =
        ["/usr/lib/galera/libgalera_smm.so", "/usr/lib/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so"];
    let found = places.into_iter().map(PathBuf::from).find(|place| place.exists());
    found.ok_or(ServerError::Missing { program: "libgalera_smm.so", package: "galera-4" })
}

/// A node that answers may still be catching up, or be alone.
fn wait_until_ready(node: &mut MariaDbServer, size: usize) -> Result<(), ServerError> {
    let (start, url) = (Instant::now(), node.url().clone());
    let wanted = [("wsrep_ready", "ON".to_owned()), ("wsrep_cluster_size", size.to_string())];
    let mut seen = Vec::new();
    while start.elapsed() < PATIENCE {
        let mut connection = node.process().wait(&url)?;
        seen = wanted.iter().map(|(name, _)| status(&mut *connection, name)).collect();
        if wanted.iter().map(|(_, value)| value).eq(&seen) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(100));
    }
    let words: Vec<String> =
        wanted.iter().zip(&seen).map(|((name, _), value)| format!("{name} is `{value}`")).collect();
    Err(node.process().silent(format!("is not ready: {}", words.join(", "))))
}

/// What a node says of itself; nothing when it does not say.
fn status(connection: &mut dyn crate::connection::Connection, name: &str) -> String {
    let answer = connection.execute(&format!("SHOW STATUS LIKE '{name}'"), &[]);
    answer.ok().and_then(|it| it.rows.first()?.text(1).ok().map(str::to_owned)).unwrap_or_default()
}
