//! A PostgreSQL of one's own.

use super::{Folder, Process, ServerError, command, free_port, program, run};
use crate::Url;
use skew_value::Dialect;
use std::fs;
use std::path::PathBuf;

/// A running PostgreSQL.
pub struct PostgresServer {
    url: Url,
    // Dropped in this order: the process ends before its folder goes.
    process: Process,
    _folder: Folder,
}

impl PostgresServer {
    /// Starts one and waits until it answers.
    pub fn start() -> Result<PostgresServer, ServerError> {
        PostgresServer::start_with(&[])
    }

    /// The same with more settings, each as `name=value`.
    pub fn start_with(more: &[&str]) -> Result<PostgresServer, ServerError> {
        let folders = folders();
        let initdb = program("initdb", "postgresql", &folders)?;
        let postgres = program("postgres", "postgresql", &folders)?;
        let folder = Folder::new("postgres", "postgres")?;
        let cluster = folder.path.join("cluster");
        let settings = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-D"];
        run(command(&initdb, "postgres", &folder).args(settings).arg(&cluster), "initdb", &folder.log())?;
        let port = free_port()?;
        let mut server = command(&postgres, "postgres", &folder);
        server.arg("-D").arg(&cluster).args(["-p", &port.to_string()]);
        let sockets = format!("unix_socket_directories={}", folder.path.display());
        let settings =
            ["listen_addresses=127.0.0.1", "fsync=off", "deadlock_timeout=50ms", "max_connections=300", &sockets];
        server.args(settings.iter().chain(more).flat_map(|setting| ["-c", setting]));
        // An interrupt is PostgreSQL's fast shutdown: clients are sent away.
        let mut process = Process::spawn(server, "postgres", &folder, "-INT")?;
        let url = Url {
            dialect: Dialect::Postgres,
            user: "postgres".to_owned(),
            password: None,
            host: "127.0.0.1".to_owned(),
            port,
            database: "postgres".to_owned(),
        };
        process.wait(&url)?;
        Ok(PostgresServer { url, process, _folder: folder })
    }

    /// Where it is.
    pub fn url(&self) -> &Url {
        &self.url
    }

    pub(super) fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Starts it again after it was killed, and waits until it answers.
    pub(super) fn restart(&mut self) -> Result<(), ServerError> {
        self.process.restart(&self.url)
    }
}

/// Where Debian keeps the programs of the server, the newest first.
fn folders() -> Vec<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    let number = |folder: &PathBuf| {
        let version =
            folder.parent().and_then(|version| version.file_name()).map(|name| name.to_string_lossy().into_owned());
        version.and_then(|name| name.parse::<u32>().ok())
    };
    folders.sort_by_key(|folder| std::cmp::Reverse(number(folder)));
    folders
}
