//! A real PostgreSQL for one test: a fresh cluster in a folder of its own, on a free port of this machine, gone at the end.
//!
//! ```text
//!   initdb ── postgres -p PORT ── CREATE DATABASE per program ── kill, wait, remove the folder
//! ```
//!
//! PostgreSQL refuses to be run by root, so root runs it as the user that its package made.

use crate::program::{Outcome, Program, outcome};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A running server.
pub(crate) struct Postgres {
    folder: PathBuf,
    process: Child,
    port: String,
    databases: AtomicUsize,
}

impl Postgres {
    pub(crate) fn start() -> Postgres {
        let folder = std::env::temp_dir().join(format!("skew-postgres-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the cluster");
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(&folder));
        }
        let cluster = folder.join("cluster");
        let settings = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-D"];
        run(binary("initdb", &folder).args(settings).arg(&cluster).stdout(Stdio::null()));
        let port = free_port().to_string();
        let mut command = binary("postgres", &folder);
        command.arg("-D").arg(&cluster).args(["-p", &port, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]);
        command.arg("-c").arg(format!("unix_socket_directories={}", folder.display()));
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("PostgreSQL starts");
        let server = Postgres { folder, process, port, databases: AtomicUsize::new(0) };
        server.wait();
        server
    }

    /// Asks until there is an answer, for so many times.
    fn wait(&self) {
        for _ in 0..200 {
            if self.statement("SELECT 1").is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("PostgreSQL does not answer: {}", self.statement("SELECT 1").expect_err("it did not answer"));
    }

    fn statement(&self, statement: &str) -> Outcome {
        let mut command = Command::new("psql");
        command.args(["--no-psqlrc", "--quiet", "--command", statement]);
        self.name_to(&mut command, "postgres");
        outcome(command)
    }

    /// Runs a program on a database of its own.
    pub(crate) fn run(&self, program: &Program, clients: &Path) -> Outcome {
        self.run_with(program, clients, &[])
    }

    /// The same in this environment.
    pub(crate) fn run_with(&self, program: &Program, clients: &Path, environment: &[(&str, &str)]) -> Outcome {
        let database = format!("program_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.statement(&format!("CREATE DATABASE {database}"))?;
        let mut command = Command::new("timeout");
        command.arg("600").args(program.words(clients)).envs(environment.iter().copied());
        program.prepare(&mut command, clients);
        self.name_to(&mut command, &database);
        outcome(command)
    }

    fn name_to(&self, command: &mut Command, database: &str) {
        let port = &self.port;
        command.env("PGHOST", "127.0.0.1").env("PGPORT", port).env("PGUSER", "postgres").env("PGDATABASE", database);
        command.env("PGSSLMODE", "disable");
        command.env("DATABASE_URL", format!("postgresql://postgres@127.0.0.1:{port}/{database}"));
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // An interrupt ends the server at once and in order. What cannot be ended or removed now is left to the machine.
        let main = std::fs::read_to_string(self.folder.join("cluster/postmaster.pid")).unwrap_or_default();
        if let Some(number) = main.lines().next() {
            let _ = Command::new("kill").args(["-INT", number]).status();
        }
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn is_root() -> bool {
    let user = Command::new("id").arg("-u").output().expect("id runs");
    user.stdout.trim_ascii() == b"0"
}

/// A port that nobody listens at now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// A program of the server, which Debian keeps out of the path, run by somebody who is not root.
fn binary(name: &str, folder: &Path) -> Command {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.map(|version| version.path().join("bin").join(name)).filter(|path| path.exists()).max();
    let path = newest.unwrap_or_else(|| PathBuf::from(name));
    let mut command = if is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(path);
        command
    } else {
        Command::new(path)
    };
    command.current_dir(folder);
    command
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}
