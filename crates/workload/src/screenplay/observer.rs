//! Who waits for whom: the server is asked, over a connection of its own.
//!
//! ```text
//!   PostgreSQL     pg_blocking_pids(…)                                          as it is now
//!   MySQL          performance_schema.data_lock_waits                           as it is now
//!   MariaDB        information_schema.innodb_lock_waits, innodb_trx             as it was when nobody had looked for 0.1 s
//!   anything else  nothing: whoever is silent for a second may wait, or be slow
//! ```
//!
//! These are the lock tables themselves, not what a session last said of itself. Whoever releases a lock takes the waits for it out of them
//! before it is answered, so after the answer to a COMMIT nobody is seen waiting who has just been let go.

use crate::connection::{Connection, Settings, connect};
use crate::{Failure, Objection, Url};
use skew_value::Dialect;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// MariaDB fills these tables anew only when nobody has read them for a tenth of a second.
const CACHED: Duration = Duration::from_millis(110);

/// Who waits for whom on MySQL: live, but not on MariaDB.
const DATA_LOCK_WAITS: &str = "SELECT r.processlist_id, b.processlist_id FROM performance_schema.data_lock_waits w \
    JOIN performance_schema.threads r ON r.thread_id = w.requesting_thread_id \
    JOIN performance_schema.threads b ON b.thread_id = w.blocking_thread_id";

/// The same on MariaDB, and on old versions of MySQL.
const INNODB_LOCK_WAITS: &str = "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id \
    FROM information_schema.innodb_lock_waits w \
    JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id \
    JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id";

/// Locks of tables and those that sessions take by name; the server does not say who has them.
const OTHER_WAITS: &str =
    "SELECT id, 0 FROM information_schema.processlist WHERE state LIKE 'Waiting for % lock' OR state = 'User lock'";

/// Somebody who looks on.
pub(super) struct Observer {
    connection: Box<dyn Connection>,
    sight: Sight,
    looked: Instant,
}

/// How waits are seen.
enum Sight {
    /// By PostgreSQL's function.
    Postgres,
    /// By one of the tables of InnoDB, which may be cached.
    InnoDb { sql: &'static str, is_cached: bool },
    /// Not at all, and why.
    Blind(String),
}

/// Connections that wait, each with those for which it waits; 0 is somebody unknown.
pub(super) type Waiting = BTreeMap<i64, Vec<i64>>;

impl Observer {
    pub(super) fn new(url: &Url, settings: &Settings) -> Result<Observer, Failure> {
        let mut connection = connect(url, settings)?;
        let sight = match url.dialect {
            Dialect::Postgres => sight_of_postgres(&mut *connection),
            Dialect::MySql => sight_of_mysql(&mut *connection),
        };
        Ok(Observer { connection, sight: sight.map_err(failure)?, looked: Instant::now() })
    }

    /// Why waits cannot be seen here, if they cannot.
    pub(super) fn blindness(&self) -> Option<&str> {
        if let Sight::Blind(why) = &self.sight { Some(why) } else { None }
    }

    /// Who of these waits, now.
    pub(super) fn look(&mut self, ids: &[i64]) -> Result<Waiting, Failure> {
        let sql = match &self.sight {
            Sight::Blind(_) => return Ok(Waiting::new()),
            Sight::Postgres => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                of_postgres(&ids.join(", "))
            }
            Sight::InnoDb { sql, is_cached } => {
                if *is_cached {
                    thread::sleep(CACHED.saturating_sub(self.looked.elapsed()));
                }
                format!("{sql} UNION ALL {OTHER_WAITS}")
            }
        };
        let answer = self.connection.execute(&sql, &[])?;
        self.looked = Instant::now();
        let mut waiting = Waiting::new();
        for row in &answer.rows {
            let (waits, holds) = (row.int(0)?, row.int(1)?);
            if ids.contains(&waits) {
                waiting.entry(waits).or_default().push(holds);
            }
        }
        Ok(waiting)
    }

    /// Whether a cycle of waits can be seen. PostgreSQL looks for cycles only now and then, so one lasts for a while. InnoDB breaks it at once;
    /// what looks like a cycle in its tables is none, because they also list requests that nobody has to wait for.
    pub(super) fn sees_cycles(&self) -> bool {
        matches!(self.sight, Sight::Postgres)
    }

    /// Asks the server to give up what a connection waits for. Whether that works is seen by its answer.
    pub(super) fn interrupt(&mut self, id: i64) {
        let _ = match self.connection.dialect() {
            Dialect::Postgres => self.connection.command(&format!("SELECT pg_cancel_backend({id})")),
            Dialect::MySql => self.connection.command(&format!("KILL QUERY {id}")),
        };
    }
}

fn of_postgres(ids: &str) -> String {
    format!(
        "SELECT waits::bigint, holds::bigint FROM unnest(ARRAY[{ids}]::int[]) AS waits, \
         LATERAL unnest(pg_blocking_pids(waits) || pg_safe_snapshot_blocking_pids(waits)) AS holds"
    )
}

fn sight_of_postgres(connection: &mut dyn Connection) -> Result<Sight, Objection> {
    match connection.type_in(&of_postgres("0")) {
        Ok(_) => Ok(Sight::Postgres),
        Err(Objection::Refused { message, .. }) => Ok(Sight::Blind(format!("pg_blocking_pids: {message}"))),
        Err(lost) => Err(lost),
    }
}

fn sight_of_mysql(connection: &mut dyn Connection) -> Result<Sight, Objection> {
    let mut why = String::new();
    for (sql, is_cached) in [(DATA_LOCK_WAITS, false), (INNODB_LOCK_WAITS, true)] {
        match connection.type_in(sql) {
            Ok(_) => return Ok(Sight::InnoDb { sql, is_cached }),
            Err(Objection::Refused { message, .. }) => why = message,
            Err(lost) => return Err(lost),
        }
    }
    Ok(Sight::Blind(format!("{why}; whoever has the privilege PROCESS can see them")))
}

fn failure(objection: Objection) -> Failure {
    match objection {
        Objection::Lost(why) => Failure::Lost(why),
        refused => Failure::Other(refused.to_string()),
    }
}
