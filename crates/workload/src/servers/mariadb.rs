//! A MariaDB of one's own.

use super::{Folder, Process, ServerError, command, free_port, program, run};
use crate::Url;
use skew_value::Dialect;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A running MariaDB.
pub struct MariaDbServer {
    url: Url,
    // Dropped in this order: the process ends before its folder goes.
    process: Process,
    _folder: Folder,
}

impl MariaDbServer {
    /// Starts one and waits until it answers.
    pub fn start() -> Result<MariaDbServer, ServerError> {
        let folder = Folder::new("mariadb", "mysql")?;
        install(&folder)?;
        let port = free_port()?;
        let server = server(&folder, port)?;
        let mut started = MariaDbServer::spawn(server, folder, port)?;
        started.make_database()?;
        Ok(started)
    }

    /// Starts a prepared command and waits until it answers.
    pub(super) fn spawn(server: Command, folder: Folder, port: u16) -> Result<MariaDbServer, ServerError> {
        let process = Process::spawn(server, "mariadbd", &folder, "-TERM")?;
        let url = Url {
            dialect: Dialect::MySql,
            user: "root".to_owned(),
            password: None,
            host: "127.0.0.1".to_owned(),
            port,
            database: "mysql".to_owned(),
        };
        let mut started = MariaDbServer { url, process, _folder: folder };
        started.process.wait(&started.url)?;
        Ok(started)
    }

    /// Makes the database that runs use, and names it from now on.
    pub(super) fn make_database(&mut self) -> Result<(), ServerError> {
        let mut connection = self.process.wait(&self.url)?;
        let made = connection.command("CREATE DATABASE IF NOT EXISTS skew");
        made.map_err(|failure| self.process.silent(failure.to_string()))?;
        self.url.database = "skew".to_owned();
        Ok(())
    }

    /// Names a database that is there already.
    pub(super) fn use_database(&mut self) {
        self.url.database = "skew".to_owned();
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

/// Where Debian keeps servers.
fn folders() -> [PathBuf; 1] {
    [PathBuf::from("/usr/sbin")]
}

/// The folder of the tables.
pub(super) fn tables(folder: &Folder) -> PathBuf {
    folder.path.join("tables")
}

/// Makes the tables that the server itself needs.
pub(super) fn install(folder: &Folder) -> Result<(), ServerError> {
    let install = program("mariadb-install-db", "mariadb-server", &[])?;
    let mut install = command(&install, "mysql", folder);
    // No file of settings of this machine may meddle: it has to be said first.
    install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-log-bin"]);
    install.arg(datadir(&tables(folder))).arg(temporary(folder));
    run(&mut install, "mariadb-install-db", &folder.log())
}

/// A server that starts removes what it takes for the remains of another one, wherever temporary tables are.
fn temporary(folder: &Folder) -> String {
    format!("--tmpdir={}", folder.path.display())
}

fn datadir(path: &Path) -> String {
    format!("--datadir={}", path.display())
}

/// The command of a server that is not started yet.
pub(super) fn server(folder: &Folder, port: u16) -> Result<Command, ServerError> {
    let mut server = command(&program("mariadbd", "mariadb-server", &folders())?, "mysql", folder);
    server.args(["--no-defaults", "--bind-address=127.0.0.1", "--max-connections=300"]);
    // What is committed is handed to the system, so that it survives the end of the process.
    server.args(["--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M"]);
    server.arg(datadir(&tables(folder))).arg(temporary(folder)).arg(format!("--port={port}"));
    server.arg(format!("--socket={}", folder.path.join("socket").display()));
    server.arg(format!("--pid-file={}", folder.path.join("pid").display()));
    Ok(server)
}
