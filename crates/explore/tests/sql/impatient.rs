//! SKIP LOCKED and NOWAIT at the levels of the engines: queues of jobs.

use crate::engines::{LEVELS, codes, explore};
use skew_history::EngineLevel;

/// Two workers of two sessions, and how they look for their next job.
fn jobs(search: &str) -> String {
    format!(
        "CREATE TABLE job (id INT PRIMARY KEY, state VARCHAR(9) NOT NULL, prio INT NOT NULL, runs INT NOT NULL);
         INSERT INTO job VALUES (1, 'new', 2, 0), (2, 'new', 1, 0);
         CREATE PROCEDURE work()
         BEGIN
           DECLARE j INT;
           SELECT id INTO j FROM job WHERE state = 'new' {search};
           UPDATE job SET state = 'done', runs = runs + 1 WHERE id = j;
         END;
         SESSION a: CALL work();
         SESSION b: CALL work();
         ASSERT 'once': (SELECT MAX(runs) FROM job) <= 1;
         ASSERT 'both': (SELECT SUM(runs) FROM job) = 2 OR a[1].outcome <> 'committed' OR b[1].outcome <> 'committed';"
    )
}

#[test]
fn no_job_is_done_twice_where_its_row_is_locked() {
    for level in LEVELS {
        let plain = explore(&jobs("ORDER BY id LIMIT 1"), level);
        let is_wrong = plain.violated.contains_key("once");
        let reads_stale = matches!(level, EngineLevel::PostgresReadCommitted | EngineLevel::MysqlReadCommitted);
        assert!(is_wrong == (reads_stale || level == EngineLevel::MysqlRepeatableRead), "{level}: {plain:?}");
        for search in ["ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED", "ORDER BY prio LIMIT 1 FOR UPDATE NOWAIT"] {
            let found = explore(&jobs(search), level);
            assert!(!found.violated.contains_key("once"), "{level}, {search}: {found:?}");
        }
    }
}

#[test]
fn each_worker_of_postgresql_finds_a_job_where_locked_ones_are_left_out() {
    let skip = "ORDER BY prio LIMIT 1 FOR UPDATE SKIP LOCKED";
    let found = explore(&jobs(skip), EngineLevel::PostgresReadCommitted);
    assert!(found.violated.is_empty() && codes(&found).is_empty(), "{found:?}");
    let found = explore(&jobs(skip), EngineLevel::PostgresRepeatableRead);
    assert!(found.violated.is_empty() && codes(&found) == ["40001"], "{found:?}");
    // InnoDB has no index for this order: who looks for the first job locks both.
    let found = explore(&jobs(skip), EngineLevel::MysqlRepeatableRead);
    assert!(found.violated.contains_key("both") && codes(&found).is_empty(), "{found:?}");
}

#[test]
fn who_does_not_wait_is_refused() {
    let nowait = |level| {
        let found = explore(&jobs("ORDER BY id LIMIT 1 FOR UPDATE NOWAIT"), level);
        codes(&found).into_iter().map(str::to_owned).collect::<Vec<String>>()
    };
    assert_eq!(nowait(EngineLevel::PostgresReadCommitted), ["55P03"]);
    assert_eq!(nowait(EngineLevel::PostgresRepeatableRead), ["40001", "55P03"]);
    assert_eq!(nowait(EngineLevel::MysqlRepeatableRead), ["1205"]);
}
