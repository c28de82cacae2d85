//! What tests on live servers share.

use skew_explore::IsolationLevel;
use skew_history::Engine;
use skew_testing::skipped;
use skew_workload::connection::level_name;
use skew_workload::servers::ServerError;

/// A server that was started; nothing, visibly, where none is installed and none has to be.
pub(crate) fn installed<T>(started: Result<T, ServerError>) -> Option<T> {
    let was_set_up = std::env::var_os("SKEW_CLIENTS").is_some_and(|folder| folder != "no");
    match started {
        Ok(server) => Some(server),
        Err(error @ ServerError::Missing { .. }) if !was_set_up => {
            skipped(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// What begins a transaction.
pub(crate) fn opening(engine: Engine, level: IsolationLevel) -> Vec<String> {
    let name = level_name(level).unwrap_or_default();
    match engine {
        Engine::Postgres => vec![format!("BEGIN ISOLATION LEVEL {name}")],
        Engine::Mysql => vec![format!("SET TRANSACTION ISOLATION LEVEL {name}"), "BEGIN".to_owned()],
    }
}
