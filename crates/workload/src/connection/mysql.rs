//! MySQL and MariaDB, and clusters of them.
//!
//! The level belongs to the session and is set when it changes. Locks are not waited for longer than half of the timeout, so that the
//! server refuses before we give up the connection.

use super::{Connection, Settings, StatementAnswer, level_name};
use crate::failure::Objection;
use crate::value::number_or_text;
use crate::{Failure, Row, Url, Value};
use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Conn, DriverError, Error, OptsBuilder, Params};
use skew_history::{EngineLevel, IsolationLevel};
use skew_value::Dialect;

/// How many prepared statements a connection keeps.
const STATEMENTS: usize = 512;

pub(super) struct MySql {
    connection: Conn,
    level: Option<IsolationLevel>,
    is_mariadb: bool,
}

impl MySql {
    pub(super) fn connect(url: &Url, settings: &Settings) -> Result<MySql, Failure> {
        let timeout = Some(settings.timeout);
        let options = OptsBuilder::new()
            .ip_or_hostname(Some(&url.host))
            .tcp_port(url.port)
            .user(Some(&url.user))
            .pass(url.password.as_deref())
            .db_name(Some(&url.database))
            .tcp_connect_timeout(timeout)
            .read_timeout(timeout)
            .write_timeout(timeout)
            // A socket file would go round the port that the URL names.
            .prefer_socket(false)
            .stmt_cache_size(STATEMENTS);
        let connection = Conn::new(options).map_err(|error| failure(error, "connect"))?;
        let mut connection = MySql { connection, level: None, is_mariadb: false };
        let version = connection.execute("SELECT VERSION()", &[])?;
        connection.is_mariadb =
            version.rows.first().is_some_and(|row| row.text(0).is_ok_and(|it| it.contains("Maria")));
        let patience = (settings.timeout.as_secs() / 2).max(1);
        // Rows, and tables that are dropped or changed.
        connection.command(&format!("SET SESSION innodb_lock_wait_timeout = {patience}"))?;
        connection.command(&format!("SET SESSION lock_wait_timeout = {patience}"))?;
        Ok(connection)
    }
}

impl Connection for MySql {
    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }

    fn returns_deleted(&self) -> bool {
        self.is_mariadb
    }

    fn execute(&mut self, sql: &str, arguments: &[Value]) -> Result<StatementAnswer, Failure> {
        let arguments: Vec<mysql::Value> = arguments.iter().map(argument).collect();
        let parameters = if arguments.is_empty() { Params::Empty } else { Params::Positional(arguments) };
        let mut result = self.connection.exec_iter(sql, parameters).map_err(|error| failure(error, sql))?;
        // Before the rows are taken: after the last one the result knows nothing any more.
        let affected = result.affected_rows();
        let mut rows = Vec::new();
        for row in result.by_ref() {
            let row = row.map_err(|error| failure(error, sql))?;
            let kinds: Vec<ColumnType> = row.columns_ref().iter().map(|column| column.column_type()).collect();
            rows.push(Row(row
                .unwrap_raw()
                .into_iter()
                .zip(kinds)
                .map(|(value, kind)| answered(value, kind))
                .collect()));
        }
        Ok(StatementAnswer { affected: affected.max(rows.len() as u64), rows })
    }

    fn type_in(&mut self, sql: &str) -> Result<StatementAnswer, Objection> {
        let mut result = self.connection.query_iter(sql).map_err(objection)?;
        let affected = result.affected_rows();
        let mut rows = Vec::new();
        for row in result.by_ref() {
            rows.push(Row(row.map_err(objection)?.unwrap_raw().into_iter().map(typed).collect()));
        }
        Ok(StatementAnswer { affected: affected.max(rows.len() as u64), rows })
    }

    fn command(&mut self, sql: &str) -> Result<(), Failure> {
        self.connection.query_drop(sql).map_err(|error| failure(error, sql))
    }

    fn begin(&mut self, level: IsolationLevel) -> Result<(), Failure> {
        if let Some(name) = level_name(level).filter(|_| self.level != Some(level)) {
            self.command(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {name}"))?;
            if level == IsolationLevel::Engine(EngineLevel::MysqlSnapshotIsolation) {
                self.command("SET SESSION innodb_snapshot_isolation = ON")?;
            }
            self.level = Some(level);
        }
        self.command("START TRANSACTION")
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.command("COMMIT")
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.command("ROLLBACK")
    }
}

fn argument(value: &Value) -> mysql::Value {
    match value {
        Value::Null => mysql::Value::NULL,
        Value::Int(number) => mysql::Value::Int(*number),
        Value::Text(text) => mysql::Value::Bytes(text.clone().into_bytes()),
    }
}

fn answered(value: Option<mysql::Value>, kind: ColumnType) -> Value {
    match value.unwrap_or(mysql::Value::NULL) {
        mysql::Value::NULL => Value::Null,
        mysql::Value::Int(number) => Value::Int(number),
        mysql::Value::UInt(number) => {
            i64::try_from(number).map_or_else(|_| Value::Text(number.to_string()), Value::Int)
        }
        mysql::Value::Float(number) => number_or_text(&number.to_string()),
        mysql::Value::Double(number) => number_or_text(&number.to_string()),
        mysql::Value::Bytes(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            let decimal = matches!(kind, ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL);
            if decimal { number_or_text(&text) } else { Value::Text(text.into_owned()) }
        }
        other => Value::Text(other.as_sql(true)),
    }
}

/// A value of a statement that was not prepared: text already.
fn typed(value: Option<mysql::Value>) -> Value {
    match value.unwrap_or(mysql::Value::NULL) {
        mysql::Value::NULL => Value::Null,
        mysql::Value::Bytes(bytes) => Value::Text(String::from_utf8_lossy(&bytes).into_owned()),
        other => Value::Text(other.as_sql(true)),
    }
}

fn objection(error: Error) -> Objection {
    let Error::MySqlError(refusal) = error else { return Objection::Lost(error.to_string()) };
    match Failure::of_mysql(refusal.code, &refusal.state, refusal.message.clone()) {
        Failure::Lost(why) => Objection::Lost(why),
        _ => Objection::Refused { code: refusal.code.to_string(), message: refusal.message },
    }
}

fn failure(error: Error, sql: &str) -> Failure {
    match error {
        Error::MySqlError(refusal) => {
            Failure::of_mysql(refusal.code, &refusal.state, format!("{}: {sql}", refusal.message))
        }
        Error::DriverError(DriverError::MismatchedStmtParams(wanted, given)) => {
            Failure::Other(format!("{wanted} arguments are wanted and {given} given: {sql}"))
        }
        error if error.is_connectivity_error() => Failure::Lost(error.to_string()),
        error => Failure::Other(format!("{error}: {sql}")),
    }
}
