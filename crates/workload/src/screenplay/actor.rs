//! One session of a performance: a connection, and a thread that waits for its answers.

use crate::connection::{Settings, StatementAnswer, connect};
use crate::{Failure, Objection, Url};
use skew_value::Dialect;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// What came back to a session.
pub(super) struct Said {
    /// Which session it was.
    pub(super) session: usize,
    /// What the server said.
    pub(super) answer: Result<StatementAnswer, Objection>,
}

/// A session; its connection ends with it.
pub(super) struct Actor {
    texts: Sender<String>,
    /// How the server calls its connection.
    pub(super) id: i64,
}

impl Actor {
    /// Connects, and sends to `answers` whatever comes back.
    pub(super) fn enter(
        url: &Url,
        settings: &Settings,
        session: usize,
        answers: Sender<Said>,
    ) -> Result<Actor, Failure> {
        let mut connection = connect(url, settings)?;
        let sql = match url.dialect {
            Dialect::Postgres => "SELECT pg_backend_pid()",
            Dialect::MySql => "SELECT CONNECTION_ID()",
        };
        let id = connection.execute(sql, &[])?.rows.first().map_or(Ok(0), |row| row.int(0))?;
        let (texts, said) = channel::<String>();
        thread::spawn(move || {
            for text in said {
                let answer = connection.type_in(&text);
                if answers.send(Said { session, answer }).is_err() {
                    return;
                }
            }
        });
        Ok(Actor { texts, id })
    }

    /// Sends a statement. A session that is gone says so by an answer, or is found by the patience of whoever waits.
    pub(super) fn say(&self, sql: &str) {
        let _ = self.texts.send(sql.to_owned());
    }
}
