//! Scenes that were seen on PostgreSQL 15.

use super::play;
use skew_history::EngineLevel::{
    PostgresReadCommitted as RC, PostgresRepeatableRead as RR, PostgresSerializable as SER,
};

#[test]
fn a_statement_at_read_committed_sees_what_is_committed_and_acts_on_the_latest() {
    play(
        RC,
        "a: BEGIN -> done
        b: BEGIN -> done
        a: UPDATE t SET v = 11 WHERE id = 1 -> 1
        b: SELECT v FROM t WHERE id = 1 -> [10]
        b: UPDATE t SET v = v + 1 WHERE id = 1 -> waits for a
        a: COMMIT -> done, b: 1
        b: SELECT v FROM t WHERE id = 1 -> [12]
        b: COMMIT -> done
        a: SELECT id, v FROM t ORDER BY id -> [1 12, 2 20]",
    );
}

#[test]
fn the_first_updater_wins_above_read_committed() {
    for level in [RR, SER] {
        play(
            level,
            "a: BEGIN -> done
            b: BEGIN -> done
            b: SELECT v FROM t WHERE id = 2 -> [20]
            a: UPDATE t SET v = 11 WHERE id = 1 -> 1
            b: UPDATE t SET v = v + 1 WHERE id = 1 -> waits for a
            a: COMMIT -> done, b: 40001
            b: SELECT 1 -> 25P02
            b: ROLLBACK -> done
            b: UPDATE t SET v = v + 1 WHERE id = 1 -> 1",
        );
    }
}

#[test]
fn a_snapshot_is_kept_above_read_committed() {
    play(
        RR,
        "b: BEGIN -> done
        b: SELECT v FROM t WHERE id = 1 -> [10]
        a: UPDATE t SET v = 11 WHERE id = 1 -> 1
        a: INSERT INTO t VALUES (3, 30, 3) -> 1
        a: DELETE FROM t WHERE id = 2 -> 1
        b: SELECT id, v FROM t ORDER BY id -> [1 10, 2 20]
        b: COMMIT -> done
        b: SELECT id, v FROM t ORDER BY id -> [1 11, 3 30]",
    );
}

#[test]
fn only_the_row_that_was_waited_for_is_asked_again() {
    play(
        RC,
        "a: BEGIN -> done
        a: UPDATE t SET v = 20 WHERE id = 1 -> 1
        a: INSERT INTO t VALUES (3, 20, 3) -> 1
        b: UPDATE t SET w = NULL WHERE v = 20 -> 1
        c: UPDATE t SET v = 99 WHERE v = 10 -> waits for a
        a: COMMIT -> done, c: 0
        c: SELECT id, v FROM t ORDER BY id -> [1 20, 2 20, 3 20]",
    );
}

#[test]
fn who_closes_a_circle_of_waits_is_refused() {
    play(
        RC,
        "a: BEGIN -> done
        b: BEGIN -> done
        a: UPDATE t SET v = 1 WHERE id = 1 -> 1
        b: UPDATE t SET v = 2 WHERE id = 2 -> 1
        a: UPDATE t SET v = 1 WHERE id = 2 -> waits for b
        b: UPDATE t SET v = 2 WHERE id = 1 -> 40P01, a: 1
        b: ROLLBACK -> done
        a: COMMIT -> done",
    );
}

#[test]
fn waiters_of_one_row_come_one_after_the_other() {
    play(
        RC,
        "a: BEGIN -> done
        a: UPDATE t SET v = v + 1 WHERE id = 1 -> 1
        b: BEGIN -> done
        b: UPDATE t SET v = v + 1 WHERE id = 1 -> waits for a
        c: UPDATE t SET v = v + 1 WHERE id = 1 -> waits for b
        a: COMMIT -> done, b: 1
        b: COMMIT -> done, c: 1
        c: SELECT v FROM t WHERE id = 1 -> [13]",
    );
}

#[test]
fn who_shares_a_row_overtakes_who_waits_for_it() {
    play(
        RC,
        "a: BEGIN -> done
        a: SELECT v FROM t WHERE id = 1 FOR SHARE -> [10]
        b: UPDATE t SET v = 11 WHERE id = 1 -> waits for a
        c: SELECT v FROM t WHERE id = 1 FOR SHARE -> [10]
        a: COMMIT -> done, b: 1",
    );
}

#[test]
fn an_insert_waits_for_another_one_of_its_key() {
    play(
        RC,
        "a: BEGIN -> done
        a: INSERT INTO t VALUES (3, 30, 3) -> 1
        b: INSERT INTO t VALUES (3, 31, 31) -> waits for a
        c: INSERT INTO t VALUES (4, 40, 3) -> waits for a
        a: ROLLBACK -> done, b: 1, c: 1
        b: SELECT id, v FROM t ORDER BY id -> [1 10, 2 20, 3 31, 4 40]",
    );
    play(
        RC,
        "a: BEGIN -> done
        a: INSERT INTO t VALUES (3, 30, 3) -> 1
        b: INSERT INTO t VALUES (3, 31, 31) -> waits for a
        c: INSERT INTO t VALUES (3, 31, 32) ON CONFLICT (id) DO UPDATE SET v = t.v + 1 -> waits for a
        a: COMMIT -> done, b: 23505, c: 1
        c: SELECT v FROM t WHERE id = 3 -> [31]",
    );
}

#[test]
fn an_upsert_of_what_the_snapshot_does_not_have_is_refused_above_read_committed() {
    play(
        RR,
        "b: BEGIN -> done
        b: SELECT v FROM t WHERE id = 1 -> [10]
        a: INSERT INTO t VALUES (3, 30, 3) -> 1
        b: INSERT INTO t VALUES (3, 31, 31) ON CONFLICT DO NOTHING -> 40001
        b: ROLLBACK -> done
        b: BEGIN -> done
        b: SELECT v FROM t WHERE id = 1 -> [10]
        a: INSERT INTO t VALUES (4, 40, 4) -> 1
        b: INSERT INTO t VALUES (4, 41, 41) -> 23505",
    );
}

#[test]
fn locks_are_let_go_with_a_savepoint_and_with_an_error() {
    play(
        RC,
        "a: BEGIN -> done
        a: SAVEPOINT s -> done
        a: UPDATE t SET v = 11 WHERE id = 1 -> 1
        b: UPDATE t SET v = 12 WHERE id = 1 -> waits for a
        a: ROLLBACK TO SAVEPOINT s -> done, b: 1
        a: UPDATE t SET v = 21 WHERE id = 2 -> 1
        b: UPDATE t SET v = 22 WHERE id = 2 -> waits for a
        a: SELECT 1 / 0 -> 22012, b: 1
        a: ROLLBACK -> done",
    );
}

#[test]
fn a_reference_holds_on_to_the_key_of_its_row_only() {
    play(
        RC,
        "a: BEGIN -> done
        a: INSERT INTO c VALUES (2, 2) -> 1
        b: UPDATE t SET v = 21 WHERE id = 2 -> 1
        b: DELETE FROM t WHERE id = 2 -> waits for a
        a: COMMIT -> done, b: 1
        b: SELECT id FROM c ORDER BY id -> [1]",
    );
    play(
        RC,
        "a: BEGIN -> done
        a: DELETE FROM t WHERE id = 2 -> 1
        b: INSERT INTO c VALUES (2, 2) -> waits for a
        a: COMMIT -> done, b: 23503",
    );
}

#[test]
fn who_does_not_wait_is_refused_or_leaves_rows_out() {
    play(
        RC,
        "a: BEGIN -> done
        a: UPDATE t SET v = 11 WHERE id = 1 -> 1
        b: SELECT id FROM t ORDER BY id FOR UPDATE SKIP LOCKED -> [2]
        b: SELECT id FROM t WHERE id = 1 FOR UPDATE NOWAIT -> 55P03
        b: SELECT id FROM t WHERE id = 1 FOR KEY SHARE NOWAIT -> [1]
        a: COMMIT -> done",
    );
}

#[test]
fn a_row_that_was_deleted_and_inserted_again_is_gone_for_who_waited() {
    play(
        RC,
        "a: BEGIN -> done
        a: DELETE FROM t WHERE id = 1 -> 1
        a: INSERT INTO t VALUES (1, 11, 1) -> 1
        b: UPDATE t SET v = v + 1 WHERE id = 1 -> waits for a
        a: COMMIT -> done, b: 0
        b: SELECT v FROM t WHERE id = 1 -> [11]",
    );
}

#[test]
fn write_skew_is_for_who_asks_for_less_than_serializable() {
    let skew = |level, second: &str| {
        let text = format!(
            "a: BEGIN -> done
            b: BEGIN -> done
            a: SELECT SUM(v) FROM t -> [30]
            b: SELECT SUM(v) FROM t -> [30]
            a: UPDATE t SET v = 0 WHERE id = 1 -> 1
            b: UPDATE t SET v = 0 WHERE id = 2 -> 1
            a: COMMIT -> done
            b: COMMIT -> {second}"
        );
        play(level, &text);
    };
    skew(RC, "done");
    skew(RR, "done");
    skew(SER, "40001");
}

#[test]
fn advisory_locks_and_rows_wait_for_each_other() {
    play(
        RC,
        "a: BEGIN -> done
        b: BEGIN -> done
        a: SELECT pg_advisory_xact_lock(7) -> []
        b: UPDATE t SET v = 1 WHERE id = 1 -> 1
        b: SELECT pg_advisory_xact_lock(7) -> waits for a
        a: UPDATE t SET v = 1 WHERE id = 1 -> 40P01, b: []
        b: COMMIT -> done",
    );
}
