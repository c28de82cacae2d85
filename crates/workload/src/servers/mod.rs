//! Servers of one's own: a fresh one in a throw-away folder, on a free port of this machine, gone when nobody holds it any more.
//!
//! ```text
//!   PostgresServer::start()    initdb ── postgres ── answers
//!   MariaDbServer::start()     mariadb-install-db ── mariadbd ── answers ── CREATE DATABASE skew
//!   GaleraCluster::start(3)    one node, then one after the other joins it
//! ```
//!
//! ```no_run
//! let server = skew_workload::servers::PostgresServer::start()?;
//! println!("{}", server.url());
//! # Ok::<(), skew_workload::servers::ServerError>(())
//! ```
//!
//! Nothing is kept on the disk for long, so nothing is waited for there: these servers are quick. What they have committed survives the end
//! of their process, but no power cut. Servers refuse to be run by root, so root runs them as the user that their package
//! made. They are stopped by the number of their own process, in order, and their folder is removed; also when whoever
//! started them is killed (`process`).

mod fleet;
mod galera;
mod mariadb;
mod postgres;
mod process;
mod proxy;

pub use fleet::{Fleet, Kind};
pub use galera::GaleraCluster;
pub use mariadb::MariaDbServer;
pub use postgres::PostgresServer;

use process::Process;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(120);

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Its program is not installed.
    #[error("{program} is not installed; on Debian and Ubuntu: apt-get install {package}")]
    Missing {
        /// The program.
        program: &'static str,
        /// What has it.
        package: &'static str,
    },
    /// A program could not be started, or a folder not be made.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        error: io::Error,
    },
    /// A program ended where it should not have, or did not answer in time.
    #[error("{name} {what}; the end of its log:\n{log}")]
    Silent {
        /// The server.
        name: &'static str,
        /// What happened.
        what: String,
        /// The last lines of its log.
        log: String,
    },
}

fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> ServerError {
    let what = what.into();
    |error| ServerError::System { what, error }
}

/// A folder of a server, removed when the server is gone.
struct Folder {
    path: PathBuf,
}

/// So that two servers of one process have two folders.
static FOLDERS: AtomicUsize = AtomicUsize::new(0);

impl Folder {
    /// A new folder that `user` may write to.
    fn new(name: &str, user: &str) -> Result<Folder, ServerError> {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("skew-{name}-{}-{number}", std::process::id()));
        fs::create_dir(&path).map_err(system(path.display().to_string()))?;
        let folder = Folder { path };
        if is_root() {
            run(Command::new("chown").arg(user).arg(&folder.path), "chown", &folder.log())?;
        }
        Ok(folder)
    }

    fn log(&self) -> PathBuf {
        self.path.join("log")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed now is left to the machine.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The last lines of a log.
fn tail(path: &Path) -> String {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

/// Runs a program to its end, which has to be a good one.
fn run(command: &mut Command, name: &'static str, log: &Path) -> Result<(), ServerError> {
    let output = command.stdin(Stdio::null()).output().map_err(system(name))?;
    if output.status.success() {
        return Ok(());
    }
    let words = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(ServerError::Silent {
        name,
        what: format!("ended with {}", output.status),
        log: format!("{words}{}", tail(log)),
    })
}

fn is_root() -> bool {
    let user = Command::new("id").arg("-u").output();
    user.is_ok_and(|user| user.stdout.trim_ascii() == b"0")
}

/// A program in one of these folders, or in the path.
fn program(name: &'static str, package: &'static str, folders: &[PathBuf]) -> Result<PathBuf, ServerError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let everywhere = folders.iter().cloned().chain(std::env::split_paths(&path));
    let mut places = everywhere.map(|folder| folder.join(name));
    places.find(|place| place.is_file()).ok_or(ServerError::Missing { program: name, package })
}

/// A command of somebody who is not root. The program takes the place of the one that changes the user: its number is the
/// server's.
fn command(program: &Path, user: &str, folder: &Folder) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={user}"), &format!("--regid={user}"), "--init-groups", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir(&folder.path);
    command
}

/// Ports that nobody listens at now, at no address of this machine, all different.
fn free_ports(count: usize) -> Result<Vec<u16>, ServerError> {
    let listeners: io::Result<Vec<TcpListener>> = (0..count).map(|_| TcpListener::bind("0.0.0.0:0")).collect();
    let listeners = listeners.map_err(system("a free port"))?;
    let ports: io::Result<Vec<u16>> = listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect();
    ports.map_err(system("a free port"))
}

fn free_port() -> Result<u16, ServerError> {
    Ok(free_ports(1)?.into_iter().next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_comes_with_what_to_do() {
        let missing = program("mariadbd-that-nobody-has", "mariadb-server", &[]).expect_err("nobody has it");
        assert_eq!(
            missing.to_string(),
            "mariadbd-that-nobody-has is not installed; on Debian and Ubuntu: apt-get install mariadb-server"
        );
    }

    #[test]
    fn ports_are_different() {
        let ports = free_ports(8).expect("there are ports");
        let different: std::collections::BTreeSet<u16> = ports.iter().copied().collect();
        assert_eq!(different.len(), 8);
    }
}
