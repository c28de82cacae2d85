//! Before the first operation: room is made, tables are made and filled, and every node of a cluster has them.
//!
//! ```text
//!   a table with our name is there   asked to drop   it has all our columns   ⇒
//!            no                                                               made
//!            yes                          no                                  refused
//!            yes                          yes              no                 refused: it is somebody else's
//!            yes                          yes              yes                dropped and made
//! ```
//!
//! Two runs with the same tables at once would take each other's rows for their own: the first one holds a lock of the server by name.

use crate::connection::{Connection, Settings, connect};
use crate::driver::{Options, Prepare, RunError};
use crate::load::Setup;
use crate::table::Table;
use crate::{Failure, Url, Workload};
use skew_value::Dialect;
use std::time::{Duration, Instant};

/// A connection for what comes before and after the sessions.
pub(crate) fn open(options: &Options, url: &Url, name: &str) -> Result<Box<dyn Connection>, Failure> {
    let settings = Settings { name: name.to_owned(), timeout: options.timeout };
    let mut connection = connect(url, &settings)?;
    // On a cluster: see what other nodes have committed. Servers that are no cluster do not know the setting, and need it not.
    let _ = (url.dialect == Dialect::MySql).then(|| connection.command("SET SESSION wsrep_sync_wait = 7"));
    Ok(connection)
}

fn connection(options: &Options, url: &Url, name: &str) -> Result<Box<dyn Connection>, RunError> {
    open(options, url, name).map_err(|failure| server(url, failure))
}

fn server(url: &Url, failure: Failure) -> RunError {
    RunError::Server { url: url.to_string(), failure }
}

/// Makes and fills the tables on the first server, and waits until the others have them. As long as the connection that comes back
/// lives, no other run has these tables.
pub(crate) fn prepare(
    workload: &dyn Workload,
    setup: &Setup,
    options: &Options,
) -> Result<Option<Box<dyn Connection>>, RunError> {
    if options.prepare == Prepare::Nothing {
        return Ok(None);
    }
    let url = &options.urls[0];
    let mut first = connection(options, url, "load")?;
    reserve(&mut *first, options)?;
    // A table refers to those before it.
    for table in workload.tables().iter().rev() {
        clear(&mut *first, table, options)?;
    }
    for statement in &setup.statements {
        first.command(statement).map_err(|failure| server(url, failure))?;
    }
    for url in &options.urls[1..] {
        let mut node = connection(options, url, "load")?;
        for table in workload.tables() {
            let name = options.names.table(table);
            let loaded = rows(&mut *first, &name).map_err(|failure| server(&options.urls[0], failure))?;
            replicated(&mut *node, &name, loaded, options, url)?;
        }
    }
    Ok(Some(first))
}

/// What the first server calls itself: `postgres 15.20`, `mariadb 10.11.19`.
pub(crate) fn engine(options: &Options) -> Result<String, RunError> {
    let url = &options.urls[0];
    let sql = match url.dialect {
        Dialect::Postgres => "SHOW server_version",
        Dialect::MySql => "SELECT VERSION()",
    };
    let answer = connection(options, url, "version")?.execute(sql, &[]).map_err(|failure| server(url, failure))?;
    let words = answer.rows.first().and_then(|row| row.text(0).ok()).unwrap_or_default();
    Ok(engine_in(url.dialect, words))
}

/// The name of a server and its version, without what its packager added: `10.11.19-MariaDB-0+deb12u1` is `mariadb 10.11.19`.
fn engine_in(dialect: Dialect, words: &str) -> String {
    let name = match dialect {
        Dialect::Postgres => "postgres",
        Dialect::MySql if words.contains("Maria") => "mariadb",
        Dialect::MySql => "mysql",
    };
    let version: String = words.chars().take_while(|letter| letter.is_ascii_digit() || *letter == '.').collect();
    format!("{name} {version}").trim_end().to_owned()
}

/// How often somebody looks again.
const GLANCE: Duration = Duration::from_millis(50);

/// How long the lock of a run that has just ended may still be there.
const LEAVING: Duration = Duration::from_secs(3);

/// Takes the lock of these tables. Servers that have no such locks, as most clusters, go without.
fn reserve(connection: &mut dyn Connection, options: &Options) -> Result<(), RunError> {
    let (prefix, url) = (options.names.prefix(), &options.urls[0]);
    let sql = match url.dialect {
        Dialect::Postgres => format!("SELECT CASE WHEN pg_try_advisory_lock(hashtext('{prefix}')) THEN 1 ELSE 0 END"),
        Dialect::MySql => format!("SELECT GET_LOCK('{prefix}', 0)"),
    };
    let began = Instant::now();
    loop {
        match connection.execute(&sql, &[]) {
            Ok(answer) if answer.rows.first().is_some_and(|row| row.int(0) == Ok(0)) => {}
            Ok(_) | Err(Failure::Other(_)) => return Ok(()),
            Err(failure) => return Err(server(url, failure)),
        }
        if began.elapsed() > LEAVING {
            return Err(RunError::InUse { prefix: prefix.to_owned(), url: url.to_string() });
        }
        std::thread::sleep(GLANCE);
    }
}

fn rows(connection: &mut dyn Connection, name: &str) -> Result<i64, Failure> {
    let answer = connection.execute(&format!("SELECT COUNT(*) FROM {name}"), &[])?;
    answer.rows.first().map_or(Ok(0), |row| row.int(0))
}

/// Waits until a node has all rows of a table.
fn replicated(
    node: &mut dyn Connection,
    name: &str,
    loaded: i64,
    options: &Options,
    url: &Url,
) -> Result<(), RunError> {
    let began = Instant::now();
    loop {
        let found = rows(node, name);
        match &found {
            Ok(found) if *found == loaded => return Ok(()),
            // It may be made a moment later.
            Ok(_) | Err(Failure::NoTable(_)) if began.elapsed() < options.timeout => std::thread::sleep(GLANCE),
            Ok(_) | Err(Failure::NoTable(_)) => {
                return Err(RunError::NotReplicated { table: name.to_owned(), url: url.to_string() });
            }
            Err(failure) => return Err(server(url, failure.clone())),
        }
    }
}

/// Makes room for a table, if there is anything in the way and it is ours.
fn clear(connection: &mut dyn Connection, table: &Table, options: &Options) -> Result<(), RunError> {
    let (name, url) = (options.names.table(table), &options.urls[0]);
    let exists = |connection: &mut dyn Connection, columns: &str| match connection
        .execute(&format!("SELECT {columns} FROM {name} WHERE 1 = 0"), &[])
    {
        Ok(_) => Ok(true),
        Err(Failure::NoTable(_)) => Ok(false),
        Err(failure) => Err(failure),
    };
    if !exists(connection, "1").map_err(|failure| server(url, failure))? {
        return Ok(());
    }
    if options.prepare == Prepare::Create {
        return Err(RunError::TableExists { table: name, url: url.to_string() });
    }
    let columns: Vec<&str> = table.key.iter().chain(table.columns).map(|column| column.name).collect();
    let is_ours = exists(connection, &format!("{}, ver, prev", columns.join(", ")));
    if !is_ours.is_ok_and(|is_ours| is_ours) {
        return Err(RunError::NotOurs { table: name, url: url.to_string() });
    }
    connection.command(&format!("DROP TABLE {name}")).map_err(|failure| server(url, failure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_name_and_version() {
        let postgres = ["15.20 (Debian 15.20-0+deb12u1)", "17beta1"].map(|words| engine_in(Dialect::Postgres, words));
        assert_eq!(postgres, ["postgres 15.20", "postgres 17"]);
        let mysql = ["10.11.19-MariaDB-0+deb12u1", "8.0.36", ""].map(|words| engine_in(Dialect::MySql, words));
        assert_eq!(mysql, ["mariadb 10.11.19", "mysql 8.0.36", "mysql"]);
    }
}
