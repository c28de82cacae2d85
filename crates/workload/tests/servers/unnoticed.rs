//! The hole in PostgreSQL's serializable, on a live server: a run that no order of its transactions explains, and that nobody is refused for.
//!
//! ```text
//!   a   SELECT w                                               INSERT row 2, of another name
//!   b            UPDATE w; DELETE row 2 by its name; COMMIT
//! ```
//!
//! a has not seen b's change of w, so it came before b; it found the key of row 2 free, so it came after b.

use crate::{command, history, installed};
use skew_check::{Budget, Doubt, check};
use skew_history::{EngineLevel, IsolationLevel};
use skew_workload::Url;
use skew_workload::screenplay::{AfterRefusal, Screenplay, Staging, Transcript, perform};
use skew_workload::servers::PostgresServer;
use std::time::Duration;

/// The index has only the rows that are in use: what a inserts has no place there, where it might meet a mark.
fn prepare(url: &Url) {
    command(url, "CREATE TABLE t (id INT PRIMARY KEY, name TEXT NOT NULL, used BOOLEAN NOT NULL)");
    command(url, "CREATE UNIQUE INDEX t_name ON t (name) WHERE used");
    command(url, "CREATE TABLE u (id INT PRIMARY KEY, w INT NOT NULL)");
}

/// Performs the run, with one way to find the row that is deleted.
fn performed(url: &Url, found_by: &str) -> Transcript {
    for statement in
        ["DELETE FROM t", "DELETE FROM u", "INSERT INTO t VALUES (2, 'b', TRUE)", "INSERT INTO u VALUES (1, 0)"]
    {
        command(url, statement);
    }
    let text = format!(
        "b: SET enable_seqscan = off
        b: SET enable_bitmapscan = off
        a: BEGIN ISOLATION LEVEL SERIALIZABLE
        a seen: SELECT w FROM u WHERE id = 1
        b: BEGIN ISOLATION LEVEL SERIALIZABLE
        b: UPDATE u SET w = 5 WHERE id = 1
        b: DELETE FROM t WHERE {found_by}
        b: COMMIT
        a: INSERT INTO t VALUES (2, 'c', FALSE)
        a: COMMIT
        c end: SELECT id, name FROM t"
    );
    let screenplay: Screenplay = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let staging = Staging { patience: Duration::from_secs(20), after_refusal: AfterRefusal::GoOn };
    perform(url, &screenplay, staging).unwrap_or_else(|failure| panic!("{failure}"))
}

/// What clients have seen of it.
const RECORDED: &str = r#"{"skew":1,"engine":"postgres","initial":{"u/1":0,"t/2":"b"}}
{"session":"a","ops":[{"r":"u/1","v":0,"s":1},{"r":"t/2","v":null,"s":2,"kind":"insert"},{"w":"t/2","v":"c","s":2,"kind":"insert"}]}
{"session":"b","ops":[{"r":"u/1","v":0,"s":1,"kind":"update"},{"w":"u/1","v":5,"s":1,"kind":"update"},{"r":"t/2","v":"b","s":2,"kind":"delete"},{"w":"t/2","v":null,"s":2,"kind":"delete"}]}
"#;

#[test]
fn what_postgresql_does_not_notice_is_not_called_impossible() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    prepare(server.url());
    let unnoticed = performed(server.url(), "name = 'b' AND used");
    assert_eq!(unnoticed.refusals().count(), 0, "{unnoticed:?}");
    assert_eq!(unnoticed.rows("seen").as_deref(), Some("0"));
    assert_eq!(unnoticed.rows("end").as_deref(), Some("2 c"));
    let verdict = |level| check(&history(RECORDED.as_bytes()), IsolationLevel::Engine(level), Budget::UNLIMITED);
    assert_eq!(verdict(EngineLevel::PostgresSerializable).doubt(), Some(Doubt::MayGoUnnoticed));
    assert!(verdict(EngineLevel::PostgresRepeatableRead).holds());
    let noticed = performed(server.url(), "id = 2");
    let codes: Vec<&str> = noticed.refusals().map(|(_, code)| code).collect();
    assert_eq!(codes, ["40001"], "{noticed:?}");
}
