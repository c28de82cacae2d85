//! Locks that the storm does not draw: of tables, of keys, of what applications name. Each scene is forced on a live PostgreSQL and on the mock,
//! and has to come out the same: who waits for whom, what is answered, what is refused.
//!
//! ```text
//!   a: LOCK TABLE t IN SHARE MODE
//!   b: INSERT INTO t VALUES (5, 50)      waits for a on both
//!   a: COMMIT                            and then goes on
//! ```

use crate::live::installed;
use crate::mocked::{ALERT, MockServer, staged};
use skew_workload::screenplay::{Cue, Screenplay};
use skew_workload::servers::PostgresServer;

const TABLES: [&str; 4] = [
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, u INT UNIQUE)",
    "INSERT INTO t VALUES (1, 10, 100), (2, 20, 200)",
    "CREATE TABLE c (id INT PRIMARY KEY, t INT REFERENCES t)",
    "INSERT INTO c VALUES (7, 2)",
];

const MODES: [&str; 8] = [
    "ACCESS SHARE",
    "ROW SHARE",
    "ROW EXCLUSIVE",
    "SHARE UPDATE EXCLUSIVE",
    "SHARE",
    "SHARE ROW EXCLUSIVE",
    "EXCLUSIVE",
    "ACCESS EXCLUSIVE",
];

/// Lines `session: statement` as a screenplay.
fn screenplay(text: &str) -> Screenplay {
    let lines = text.lines().filter_map(|line| line.trim().split_once(": "));
    let mut sessions: Vec<String> = Vec::new();
    let mut cues = Vec::new();
    for (name, sql) in lines {
        let session = sessions.iter().position(|known| known == name).unwrap_or_else(|| {
            sessions.push(name.to_owned());
            sessions.len() - 1
        });
        cues.push(Cue { session, name: None, sql: sql.to_owned() });
    }
    Screenplay { sessions, cues }
}

/// Plays scenes on both servers.
fn agree(scenes: impl IntoIterator<Item = String>) {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let tables = TABLES.map(str::to_owned);
    let mut differ = Vec::new();
    for scene in scenes {
        let screenplay = screenplay(&scene);
        let alert = screenplay.clone().opened_with(&[ALERT.to_owned()]);
        let mock = MockServer::start();
        let live = staged(server.url(), &alert, &tables).unwrap_or_else(|doubts| panic!("{scene}\n{doubts:?}"));
        let mocked = staged(&mock.url, &screenplay, &tables);
        let mocked = mocked.unwrap_or_else(|doubts| panic!("{scene}\n{doubts:?}"));
        if mocked != live {
            let line = |(place, line): (usize, &str)| {
                let (live, mocked) = (&live.cues[place], &mocked.cues[place]);
                let told = if live == mocked { String::new() } else { format!("\n      {live:?}\n      {mocked:?}") };
                format!("{}{told}", line.trim())
            };
            let lines = scene.lines().filter(|line| line.contains(": ")).enumerate().map(line);
            differ.push(format!("{}\n{:?}\n{:?}", lines.collect::<Vec<_>>().join("\n"), live.left, mocked.left));
        }
        differ.extend(mock.judge());
    }
    assert!(differ.is_empty(), "{}", differ.join("\n\n"));
}

#[test]
fn modes_of_tables_conflict_as_on_postgresql() {
    let pairs = MODES.iter().flat_map(|held| MODES.iter().map(move |wanted| (held, wanted)));
    let scene = |(held, wanted)| {
        format!(
            "a: BEGIN\n b: BEGIN\n a: LOCK TABLE t IN {held} MODE\n b: LOCK t IN {wanted} MODE\n a: COMMIT\n b: COMMIT"
        )
    };
    agree(pairs.map(scene));
}

#[test]
fn statements_lock_tables_as_on_postgresql() {
    let statements = [
        "SELECT count(*) FROM t",
        "SELECT id FROM t WHERE id = 1 FOR UPDATE",
        "SELECT id FROM t WHERE id = 1 FOR KEY SHARE",
        "INSERT INTO t VALUES (3, 30, 300)",
        "INSERT INTO c VALUES (1, 1)",
        "UPDATE t SET v = 11 WHERE id = 1",
        "UPDATE c SET t = 1 WHERE id = 7",
        "DELETE FROM t WHERE id = 1",
        "DELETE FROM c WHERE id = 7",
        "CREATE INDEX by_v ON t (v)",
        "ALTER TABLE t ADD COLUMN w INT",
        "TRUNCATE c",
        "DROP TABLE c",
    ];
    let scene = |statement: &str| {
        let mut scene = format!("a: BEGIN\n a: {statement}\n");
        for table in ["t", "c"].into_iter().filter(|table| !statement.ends_with("c") || *table == "t") {
            for (number, mode) in MODES.iter().enumerate() {
                let other = format!("{table}{number}");
                scene.push_str(&format!(
                    "{other}: BEGIN\n {other}: LOCK TABLE {table} IN {mode} MODE NOWAIT\n {other}: ROLLBACK\n"
                ));
            }
        }
        scene + "a: ROLLBACK"
    };
    agree(statements.into_iter().map(scene));
}

#[test]
fn whoever_waits_for_a_table_waits_as_on_postgresql() {
    agree(SCENES_OF_TABLES.map(str::to_owned));
}

const SCENES_OF_TABLES: [&str; 11] = [
    // Nobody overtakes in the queue.
    "a: BEGIN
    a: INSERT INTO t VALUES (3, 30, 300)
    b: BEGIN
    b: LOCK TABLE t IN SHARE MODE
    c: INSERT INTO t VALUES (4, 40, 400)
    d: SELECT count(*) FROM t
    a: COMMIT
    b: COMMIT",
    // Who reads, and wants to be alone with the table, as does another one.
    "a: BEGIN
    b: BEGIN
    a: SELECT count(*) FROM t
    b: SELECT count(*) FROM t
    a: LOCK TABLE t IN ACCESS EXCLUSIVE MODE
    b: LOCK TABLE t IN ACCESS EXCLUSIVE MODE
    a: COMMIT
    b: COMMIT",
    // A snapshot is older than the wait above read committed.
    "a: BEGIN
    a: LOCK TABLE t
    b: BEGIN ISOLATION LEVEL REPEATABLE READ
    b: SELECT count(*) FROM t
    c: SELECT count(*) FROM t
    a: INSERT INTO t VALUES (3, 30, 300)
    a: COMMIT
    b: COMMIT",
    // LOCK TABLE is no look.
    "a: BEGIN
    a: INSERT INTO t VALUES (3, 30, 300)
    b: BEGIN ISOLATION LEVEL REPEATABLE READ
    b: LOCK TABLE t IN SHARE MODE
    a: COMMIT
    b: SELECT count(*) FROM t
    b: COMMIT",
    // A savepoint gives back what came after it.
    "a: BEGIN
    a: SELECT count(*) FROM t
    a: SAVEPOINT s
    a: LOCK TABLE t
    b: SELECT count(*) FROM t
    a: ROLLBACK TO s
    c: BEGIN
    c: LOCK TABLE t NOWAIT
    a: COMMIT",
    // What is told of it.
    "a: BEGIN
    a: LOCK TABLE t IN SHARE MODE
    b: BEGIN
    b: INSERT INTO t VALUES (3, 30, 300)
    c: SELECT mode, granted FROM pg_locks WHERE relation = 't'::regclass ORDER BY mode
    c: SELECT state, wait_event_type, wait_event FROM pg_stat_activity WHERE query LIKE 'INSERT INTO t VALUES (3%'
    a: COMMIT
    c: SELECT state, wait_event_type FROM pg_stat_activity WHERE query LIKE 'INSERT INTO t VALUES (3%'
    b: COMMIT",
    // A table of another shape when the wait is over.
    "a: BEGIN
    a: ALTER TABLE t ADD COLUMN w INT DEFAULT 5
    b: SELECT * FROM t WHERE id = 1
    a: COMMIT",
    "a: CREATE TABLE d (id INT)
    a: BEGIN
    a: DROP TABLE d
    b: SELECT * FROM d
    a: COMMIT",
    "a: BEGIN
    a: TRUNCATE c
    b: INSERT INTO c VALUES (8, 1)
    a: COMMIT
    b: SELECT id FROM c ORDER BY id",
    // Two definitions.
    "a: BEGIN
    b: BEGIN
    a: CREATE INDEX one ON t (v)
    b: CREATE INDEX two ON t (v)
    a: COMMIT
    b: ROLLBACK",
    "a: LOCK TABLE t
    a: BEGIN
    a: LOCK TABLE nobody
    a: ROLLBACK",
];

#[test]
fn rows_whose_key_matters_are_locked_as_on_postgresql() {
    agree(SCENES_OF_KEYS.map(str::to_owned));
}

const SCENES_OF_KEYS: [&str; 9] = [
    // The parent of a new child may change while somebody else waits to delete it.
    "a: BEGIN
    b: BEGIN
    a: INSERT INTO c VALUES (1, 1)
    b: DELETE FROM t WHERE id = 1
    a: UPDATE t SET v = v + 1 WHERE id = 1
    a: COMMIT
    b: ROLLBACK",
    "a: BEGIN
    b: BEGIN
    b: DELETE FROM t WHERE id = 1
    a: INSERT INTO c VALUES (1, 1)
    b: COMMIT
    a: COMMIT",
    // A key is taken away, and the rest of the row is not.
    "a: BEGIN
    a: SELECT id FROM t WHERE id = 1 FOR KEY SHARE
    b: UPDATE t SET v = 11 WHERE id = 1
    b: UPDATE t SET u = 101 WHERE id = 1
    a: COMMIT",
    "a: BEGIN
    a: SELECT id FROM t WHERE id = 1 FOR KEY SHARE
    b: UPDATE t SET u = 100, v = 12 WHERE id = 1
    b: UPDATE t SET id = 5 WHERE id = 1
    a: COMMIT",
    "a: BEGIN
    a: UPDATE t SET v = 11 WHERE id = 1
    a: UPDATE t SET u = 101 WHERE id = 1
    b: SELECT id FROM t WHERE id = 1 FOR KEY SHARE
    a: COMMIT",
    "a: BEGIN
    a: UPDATE t SET v = 11 WHERE id = 1
    b: BEGIN
    b: SELECT v FROM t WHERE id = 1 FOR KEY SHARE
    a: DELETE FROM t WHERE id = 1
    b: COMMIT
    a: COMMIT",
    "a: BEGIN
    a: UPDATE t SET v = 11 WHERE id = 1
    a: DELETE FROM t WHERE id = 1
    b: SELECT v FROM t WHERE id = 1 FOR KEY SHARE
    a: ROLLBACK",
    // Who holds the row and wants more of it does not stand behind who wants it, too.
    "a: BEGIN
    b: BEGIN
    c: BEGIN
    a: SELECT id FROM t WHERE id = 1 FOR SHARE
    b: SELECT id FROM t WHERE id = 1 FOR UPDATE
    c: SELECT id FROM t WHERE id = 1 FOR SHARE
    c: SELECT id FROM t WHERE id = 1 FOR UPDATE
    a: ROLLBACK
    c: ROLLBACK
    b: ROLLBACK",
    // What is prepared locks as if it had been said.
    "a: PREPARE p AS SELECT id FROM t WHERE id = 1 FOR UPDATE NOWAIT
    b: BEGIN
    b: UPDATE t SET v = 11 WHERE id = 1
    a: EXECUTE p
    b: COMMIT",
];

#[test]
fn what_applications_name_is_locked_as_on_postgresql() {
    agree(SCENES_OF_NAMES.map(str::to_owned));
}

const SCENES_OF_NAMES: [&str; 4] = [
    "a: BEGIN
    a: SELECT pg_advisory_xact_lock(7)
    a: SAVEPOINT s
    a: SELECT pg_advisory_xact_lock(8)
    b: SELECT pg_try_advisory_lock(7), pg_try_advisory_lock(8)
    a: ROLLBACK TO s
    b: SELECT pg_try_advisory_lock(7), pg_try_advisory_lock(8)
    c: SELECT pg_advisory_lock_shared(8)
    b: SELECT pg_advisory_unlock(8)
    d: SELECT pg_try_advisory_lock_shared(8), pg_try_advisory_lock(8)
    a: COMMIT",
    "a: SELECT pg_advisory_lock(3, 4)
    b: SELECT pg_advisory_lock(3, 4)
    c: SELECT classid, objid, objsubid, mode, granted FROM pg_locks WHERE locktype = 'advisory' ORDER BY granted
    a: SELECT pg_advisory_unlock(3, 4)
    a: SELECT pg_advisory_unlock(3, 4)",
    // One cycle of three kinds of locks.
    "a: BEGIN
    b: BEGIN
    c: BEGIN
    a: SELECT pg_advisory_xact_lock(7)
    b: LOCK TABLE c
    c: UPDATE t SET v = 11 WHERE id = 1
    a: UPDATE t SET v = 12 WHERE id = 1
    b: SELECT pg_advisory_xact_lock(7)
    c: SELECT count(*) FROM c
    a: COMMIT
    b: COMMIT",
    "a: BEGIN
    b: BEGIN
    b: SET LOCAL lock_timeout = '50ms'
    a: LOCK TABLE t
    b: SELECT count(*) FROM t
    a: COMMIT",
];
