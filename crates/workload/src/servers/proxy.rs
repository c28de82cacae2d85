//! Wires between the nodes of a cluster that can be cut: proxies of our own on this machine.
//!
//! ```text
//!   node 1                      proxy of node 2                     node 2
//!   127.10.0.1:G1  ──dials──>   127.10.1.2:G2   ──dials──>          127.10.0.2:G2
//!                               as 127.10.1.1, which is how node 2 knows node 1
//! ```
//!
//! A node tells others its port, and they take its address from where its connection comes from. So a proxy dials from the address
//! that the *proxy* of the sender has, and every node knows every other one by its proxy only. Who dials is told by the address too,
//! because nodes dial from the address at which they listen.
//!
//! A cut wire loses nothing and tells nobody: bytes, new connections and ends of connections wait until it is whole again, as on a network
//! that drops packets.

use super::{ServerError, system};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{oneshot, watch};

/// How many bytes are taken at once.
const CHUNK: usize = 1 << 16;

/// Where a node itself listens; nodes are counted from 0.
pub(super) fn node_address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 10, 0, node as u8 + 1)
}

/// Where its proxy listens.
pub(super) fn proxy_address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 10, 1, node as u8 + 1)
}

/// For every node, on which side of the cut it is.
type Sides = Vec<bool>;

/// The proxies of all nodes.
pub(super) struct Proxies {
    sides: watch::Sender<Sides>,
    // Both are taken when it ends.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxies {
    /// A proxy for each of these ports, one per node.
    pub(super) fn start(ports: &[u16]) -> Result<Proxies, ServerError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(system("a runtime for proxies"))?;
        let sides = watch::Sender::new(vec![false; ports.len()]);
        let ports: Arc<[u16]> = ports.into();
        for node in 0..ports.len() {
            let address = SocketAddrV4::new(proxy_address(node), ports[node]);
            let listener = runtime.block_on(TcpListener::bind(address)).map_err(system(address.to_string()))?;
            runtime.spawn(serve(listener, node, Arc::clone(&ports), sides.subscribe()));
        }
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || run(runtime, stopped));
        Ok(Proxies { sides, stop: Some(stop), thread: Some(thread) })
    }

    /// Cuts these nodes off from the others.
    pub(super) fn cut(&self, nodes: &[usize]) {
        self.sides.send_modify(|sides| {
            for (node, side) in sides.iter_mut().enumerate() {
                *side = nodes.contains(&node);
            }
        });
    }

    /// Everybody hears everybody again.
    pub(super) fn mend(&self) {
        self.cut(&[]);
    }
}

impl Drop for Proxies {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A thread that fell over forwards nothing either.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Forwards until somebody says stop, or is gone.
fn run(runtime: Runtime, stopped: oneshot::Receiver<()>) {
    let _ = runtime.block_on(stopped);
}

/// Takes what dials to one node.
async fn serve(listener: TcpListener, to: usize, ports: Arc<[u16]>, sides: watch::Receiver<Sides>) {
    while let Ok((stream, peer)) = listener.accept().await {
        let sender = (0..ports.len()).find(|node| peer.ip() == node_address(*node));
        // Nobody else has any business here.
        if let Some(from) = sender {
            let (port, sides) = (ports[to], sides.clone());
            tokio::spawn(async move {
                // How a connection ended is seen by those at its ends.
                let _ = forward(stream, (from, to), port, sides).await;
            });
        }
    }
}

async fn forward(
    near: TcpStream,
    wire: (usize, usize),
    port: u16,
    mut sides: watch::Receiver<Sides>,
) -> io::Result<()> {
    whole(&mut sides, wire).await?;
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((proxy_address(wire.0), 0)))?;
    let far = socket.connect(SocketAddr::from((node_address(wire.1), port))).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let ((near_out, near_in), (far_out, far_in)) = (near.into_split(), far.into_split());
    tokio::select! {
        ended = pump(near_out, far_in, wire, sides.clone()) => ended,
        ended = pump(far_out, near_in, wire, sides) => ended,
    }
}

/// Takes bytes from one end to the other for as long as there are any.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    wire: (usize, usize),
    mut sides: watch::Receiver<Sides>,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = from.read(&mut chunk).await;
        // The end of a connection does not come through a cut wire either.
        whole(&mut sides, wire).await?;
        match count? {
            0 => return Ok(()),
            count => to.write_all(&chunk[..count]).await?,
        }
    }
}

/// Waits until a wire is not cut.
async fn whole(sides: &mut watch::Receiver<Sides>, (from, to): (usize, usize)) -> io::Result<()> {
    let waited = sides.wait_for(|sides| sides.get(from) == sides.get(to)).await;
    waited.map(|_| ()).map_err(io::Error::other)
}
