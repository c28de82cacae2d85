//! PostgreSQL, and whatever speaks like it.
//!
//! The driver is asynchronous; every connection has a small runtime of its own, on the thread that uses it, which also keeps the
//! time: a call that is not answered in time gives up the connection. Locks are not waited for longer than half of that, so that the
//! server refuses before.

use super::{Connection, Settings, StatementAnswer, level_name};
use crate::failure::Objection;
use crate::{Failure, Row, Url, Value};
use skew_history::IsolationLevel;
use skew_value::Dialect;
use std::collections::HashMap;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Error, NoTls, SimpleQueryMessage, SimpleQueryRow, Statement};

pub(super) struct Postgres {
    client: Client,
    runtime: Runtime,
    timeout: Duration,
    /// By text, and by the types of the arguments: NULL has none.
    statements: HashMap<(String, Vec<Type>), Statement>,
}

impl Postgres {
    pub(super) fn connect(url: &Url, settings: &Settings) -> Result<Postgres, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::Other(format!("no runtime: {error}")))?;
        let mut config = Config::new();
        config.host(&url.host).port(url.port).user(&url.user).dbname(&url.database);
        config.application_name(&settings.name).connect_timeout(settings.timeout);
        if let Some(password) = &url.password {
            config.password(password);
        }
        let connecting =
            runtime.block_on(async { tokio::time::timeout(settings.timeout, config.connect(NoTls)).await });
        let (client, connection) = match connecting {
            Ok(Ok(connected)) => connected,
            Ok(Err(error)) => return Err(failure(&error, "connect")),
            Err(_) => return Err(Failure::Lost("no answer to the request to connect".to_owned())),
        };
        // It works whenever a call is waited for. How it ends is seen by the call that it fails.
        runtime.spawn(async move {
            let _ = connection.await;
        });
        let mut connection = Postgres { client, runtime, timeout: settings.timeout, statements: HashMap::new() };
        connection.command(&format!("SET lock_timeout = {}", settings.timeout.as_millis() / 2))?;
        Ok(connection)
    }

    fn statement(&mut self, sql: &str, arguments: &[Value]) -> Result<Statement, Failure> {
        let types: Vec<Type> = arguments.iter().map(type_of).collect();
        let entry = (sql.to_owned(), types);
        if let Some(statement) = self.statements.get(&entry) {
            return Ok(statement.clone());
        }
        let text = numbered(sql);
        let preparing = self.client.prepare_typed(&text, &entry.1);
        let statement = wait(&self.runtime, self.timeout, sql, preparing)?;
        self.statements.insert(entry, statement.clone());
        Ok(statement)
    }
}

/// Waits for an answer, but not forever.
fn wait<T>(
    runtime: &Runtime,
    timeout: Duration,
    sql: &str,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, Failure> {
    match runtime.block_on(async { tokio::time::timeout(timeout, answer).await }) {
        Ok(answer) => answer.map_err(|error| failure(&error, sql)),
        Err(_) => Err(Failure::Lost(format!("no answer within {} s to: {sql}", timeout.as_secs_f64()))),
    }
}

impl Connection for Postgres {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn returns_deleted(&self) -> bool {
        true
    }

    fn execute(&mut self, sql: &str, arguments: &[Value]) -> Result<StatementAnswer, Failure> {
        let statement = self.statement(sql, arguments)?;
        let arguments: Vec<&(dyn ToSql + Sync)> =
            arguments.iter().map(|argument| argument as &(dyn ToSql + Sync)).collect();
        if statement.columns().is_empty() {
            let executing = self.client.execute(&statement, &arguments);
            let affected = wait(&self.runtime, self.timeout, sql, executing)?;
            return Ok(StatementAnswer { rows: Vec::new(), affected });
        }
        let found = wait(&self.runtime, self.timeout, sql, self.client.query(&statement, &arguments))?;
        let row = |row: &tokio_postgres::Row| {
            let values = (0..row.len()).map(|place| row.try_get(place));
            values.collect::<Result<_, _>>().map(Row).map_err(|error| failure(&error, sql))
        };
        let rows = found.iter().map(row).collect::<Result<Vec<Row>, Failure>>()?;
        Ok(StatementAnswer { affected: rows.len() as u64, rows })
    }

    fn type_in(&mut self, sql: &str) -> Result<StatementAnswer, Objection> {
        let typing = self.client.simple_query(sql);
        let said = match self.runtime.block_on(async { tokio::time::timeout(self.timeout, typing).await }) {
            Ok(said) => said.map_err(|error| objection(&error))?,
            Err(_) => return Err(Objection::Lost(format!("no answer within {} s", self.timeout.as_secs_f64()))),
        };
        let mut answer = StatementAnswer::default();
        for message in said {
            match message {
                SimpleQueryMessage::Row(row) => answer.rows.push(typed(&row)),
                SimpleQueryMessage::CommandComplete(count) => answer.affected = count,
                _ => {}
            }
        }
        Ok(answer)
    }

    fn command(&mut self, sql: &str) -> Result<(), Failure> {
        wait(&self.runtime, self.timeout, sql, self.client.batch_execute(sql))
    }

    fn begin(&mut self, level: IsolationLevel) -> Result<(), Failure> {
        match level_name(level) {
            Some(name) => self.command(&format!("BEGIN ISOLATION LEVEL {name}")),
            None => self.command("BEGIN"),
        }
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.command("COMMIT")
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.command("ROLLBACK")
    }
}

/// NULL fits every type, so the server decides.
fn type_of(value: &Value) -> Type {
    match value {
        Value::Null => Type::UNKNOWN,
        Value::Int(_) => Type::INT8,
        Value::Text(_) => Type::TEXT,
    }
}

/// `$1`, `$2`, … in place of the question marks that are not inside quotes.
fn numbered(sql: &str) -> String {
    let (mut text, mut count, mut quoted) = (String::with_capacity(sql.len() + 8), 0, false);
    for letter in sql.chars() {
        quoted ^= letter == '\'';
        if letter == '?' && !quoted {
            count += 1;
            text.push('$');
            text.push_str(&count.to_string());
        } else {
            text.push(letter);
        }
    }
    text
}

/// A row of a statement that was not prepared: text already.
fn typed(row: &SimpleQueryRow) -> Row {
    Row((0..row.len()).map(|place| Value::from(row.get(place))).collect())
}

fn objection(error: &Error) -> Objection {
    let Some(refusal) = error.as_db_error() else { return Objection::Lost(error.to_string()) };
    let (code, message) = (refusal.code().code().to_owned(), refusal.message().to_owned());
    match Failure::of_postgres(&code, message.clone()) {
        Failure::Lost(why) => Objection::Lost(why),
        _ => Objection::Refused { code, message },
    }
}

fn failure(error: &Error, sql: &str) -> Failure {
    if let Some(refusal) = error.as_db_error() {
        let message = format!("{}: {sql}", refusal.message());
        return Failure::of_postgres_constraint(refusal.code().code(), refusal.constraint(), message);
    }
    let mut message = error.to_string();
    if let Some(cause) = std::error::Error::source(error) {
        message = format!("{message}: {cause}");
    }
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
    if error.is_closed() || cause.is_some() {
        return Failure::Lost(message);
    }
    Failure::Other(format!("{message}: {sql}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_marks_are_numbered_unless_they_are_text() {
        assert_eq!(numbered("a = ? AND b = '?' AND c IN (?, ?)"), "a = $1 AND b = '?' AND c IN ($2, $3)");
    }
}
