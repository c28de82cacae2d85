//! What MariaDB does.

use super::{REFERRING, ROWS, Scene};

/// What MariaDB does.
pub(super) const ON_MARIADB: [Scene; 20] = [
    // A scan that waits for row 3 has come past row 2, which is inserted meanwhile.
    Scene {
        level: "mysql:rc",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 31 WHERE id = 3", "INSERT INTO t VALUES (2, 20, 2)"],
            &["SELECT id, v FROM t ORDER BY id FOR UPDATE"],
        ],
        turns: &[0, 1, 0, 0, 1],
        answers: &[&["1 changed", "1 changed"], &["1 10, 3 31"]],
    },
    // Row 4 lies before it.
    Scene {
        level: "mysql:rc",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 31 WHERE id = 3", "INSERT INTO t VALUES (4, 40, 4)"],
            &["SELECT id, v FROM t ORDER BY id FOR UPDATE"],
        ],
        turns: &[0, 1, 0, 0, 1],
        answers: &[&["1 changed", "1 changed"], &["1 10, 3 31, 4 40"]],
    },
    // It has come past row 1, which did not qualify and does now.
    Scene {
        level: "mysql:rc",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 31 WHERE id = 3", "UPDATE t SET w = 3 WHERE id = 1"],
            &["UPDATE t SET v = v + 100 WHERE w = 3"],
        ],
        turns: &[0, 1, 0, 0, 1],
        answers: &[&["1 changed", "1 changed"], &["1 changed"]],
    },
    // Downwards row 4 lies behind a scan that waits for row 3, and row 2 before it.
    Scene {
        level: "mysql:rc",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 31 WHERE id = 3", "INSERT INTO t VALUES (4, 40, 4)", "INSERT INTO t VALUES (2, 20, 2)"],
            &["SELECT id, v FROM t ORDER BY id DESC LIMIT 9 FOR UPDATE"],
        ],
        turns: &[0, 1, 0, 0, 0, 1],
        answers: &[&["1 changed", "1 changed", "1 changed"], &["3 31, 2 20, 1 10"]],
    },
    // Row 3 does not qualify in its last committed version, and is passed over while somebody changes it, also where that has begun long ago.
    Scene {
        level: "mysql:rc",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 10 WHERE id = 3", "SELECT v FROM t WHERE id = 1"],
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["SELECT v FROM t WHERE id = 1", "UPDATE t SET w = w + 1 WHERE v = 10"],
        ],
        turns: &[0, 0, 1, 1, 2, 2, 2, 0],
        answers: &[&["1 changed", "10"], &["1 changed"], &["11", "0 changed"]],
    },
    // So is a row that somebody is about to insert.
    Scene {
        level: "mysql:rc",
        tables: &ROWS,
        sessions: &[
            &["INSERT INTO t VALUES (2, 20, 2)", "SELECT v FROM t WHERE id = 1"],
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["SELECT v FROM t WHERE id = 1", "UPDATE t SET w = w + 1 WHERE id >= 2"],
        ],
        turns: &[0, 0, 1, 1, 2, 2, 2, 0],
        answers: &[&["1 changed", "10"], &["1 changed"], &["11", "1 changed"]],
    },
    // A DELETE waits for it,
    Scene {
        level: "mysql:rc",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 10 WHERE id = 3", "SELECT v FROM t WHERE id = 1"],
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["SELECT v FROM t WHERE id = 1", "DELETE FROM t WHERE v = 10"],
        ],
        turns: &[0, 0, 1, 1, 2, 2, 2, 0],
        answers: &[&["1 changed", "10"], &["1 changed"], &["11", "1 changed"]],
    },
    // and so does who seeks rows by their keys.
    Scene {
        level: "mysql:rc",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 10 WHERE id = 3", "SELECT v FROM t WHERE id = 1"],
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["SELECT v FROM t WHERE id = 1", "UPDATE t SET w = w + 1 WHERE id IN (1, 3) AND v = 10"],
        ],
        turns: &[0, 0, 1, 1, 2, 2, 2, 0],
        answers: &[&["1 changed", "10"], &["1 changed"], &["11", "1 changed"]],
    },
    // Above read committed who waits for a row has the gap before it.
    Scene {
        level: "mysql:rr",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 31 WHERE id = 3", "INSERT INTO t VALUES (2, 20, 2)"],
            &["SELECT id, v FROM t ORDER BY id FOR UPDATE"],
        ],
        turns: &[0, 1, 0, 0, 1],
        answers: &[&["1 changed", "1 changed"], &["refused 1213"]],
    },
    // A locking SELECT that goes along the rows lets go of one that does not qualify,
    Scene {
        level: "mysql:rc",
        tables: &ROWS,
        sessions: &[
            &["SELECT id FROM t WHERE v = 40 FOR UPDATE", "SELECT w FROM t WHERE id = 1"],
            &["UPDATE t SET w = 7 WHERE id = 1"],
        ],
        turns: &[0, 1, 1, 0, 0],
        answers: &[&["", "7"], &["1 changed"]],
    },
    // also where it seeks several by their keys,
    Scene {
        level: "mysql:rc",
        tables: &ROWS,
        sessions: &[
            &["SELECT id FROM t WHERE id IN (1, 3) AND v = 40 FOR SHARE", "SELECT w FROM t WHERE id = 1"],
            &["UPDATE t SET w = 7 WHERE id = 1"],
        ],
        turns: &[0, 1, 1, 0, 0],
        answers: &[&["", "7"], &["1 changed"]],
    },
    // and keeps it where it had to wait for it,
    Scene {
        level: "mysql:rc",
        tables: &ROWS,
        sessions: &[
            &["SELECT id FROM t WHERE v = 40 FOR UPDATE", "SELECT w FROM t WHERE id = 1"],
            &["UPDATE t SET w = 9 WHERE id = 1"],
            &["UPDATE t SET w = 7 WHERE id = 1"],
        ],
        turns: &[1, 0, 1, 2, 0, 0, 2],
        answers: &[&["", "9"], &["1 changed"], &["1 changed"]],
    },
    // or sought it alone.
    Scene {
        level: "mysql:rc",
        tables: &ROWS,
        sessions: &[
            &["SELECT id FROM t WHERE id = 1 AND v = 40 FOR UPDATE", "SELECT w FROM t WHERE id = 1"],
            &["UPDATE t SET w = 7 WHERE id = 1"],
        ],
        turns: &[0, 1, 0, 0, 1],
        answers: &[&["", "1"], &["1 changed"]],
    },
    // The check of a foreign key locks the parent's row, whatever of it is changed: here it waits for row 1,
    Scene {
        level: "mysql:rc",
        tables: &REFERRING,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1", "UPDATE c SET t = 2 WHERE id = 1"],
            &["UPDATE c SET t = 1 WHERE id = 1"],
        ],
        turns: &[0, 1, 1, 0, 0],
        answers: &[&["1 changed", "1 changed"], &["0 changed"]],
    },
    // here it does so with a row of its own that others wait for,
    Scene {
        level: "mysql:ser",
        tables: &REFERRING,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1", "SELECT id, t FROM c WHERE id = 7"],
            &["INSERT INTO c VALUES (7, 1)"],
        ],
        turns: &[0, 1, 0, 0, 1],
        answers: &[&["1 changed", "refused 1213"], &["1 changed"]],
    },
    // and here it is one of three in a cycle.
    Scene {
        level: "mysql:ser",
        tables: &REFERRING,
        sessions: &[
            &["UPDATE t SET v = v + 1 WHERE v = 40"],
            &["INSERT INTO c VALUES (7, 1)"],
            &["INSERT INTO t VALUES (5, 50)", "SELECT id, t FROM c ORDER BY id"],
        ],
        turns: &[2, 0, 1, 2, 0, 1, 2],
        answers: &[&["refused 1213"], &["1 changed"], &["1 changed", "1 1, 7 1"]],
    },
    // Who does not wait leaves out what somebody else has,
    Scene {
        level: "mysql:rc",
        tables: &ROWS,
        sessions: &[&["UPDATE t SET v = 11 WHERE id = 1"], &["SELECT id, v FROM t ORDER BY id FOR UPDATE SKIP LOCKED"]],
        turns: &[0, 1, 1, 0],
        answers: &[&["1 changed"], &["3 30"]],
    },
    // and takes the next one,
    Scene {
        level: "mysql:rr",
        tables: &ROWS,
        sessions: &[
            &["SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED", "UPDATE t SET w = 7 WHERE id = 1"],
            &["SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED", "UPDATE t SET w = 8 WHERE id = 3"],
        ],
        turns: &[0, 1, 1, 0, 0, 1],
        answers: &[&["1", "1 changed"], &["3", "1 changed"]],
    },
    // or is refused.
    Scene {
        level: "mysql:ser",
        tables: &ROWS,
        sessions: &[&["UPDATE t SET v = 11 WHERE id = 1"], &["SELECT id FROM t WHERE id = 1 FOR UPDATE NOWAIT"]],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &["refused 1205"]],
    },
    // It has the gaps before what it takes.
    Scene {
        level: "mysql:rr",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1", "INSERT INTO t VALUES (2, 20, 2)"],
            &["SELECT id FROM t WHERE id >= 1 FOR UPDATE SKIP LOCKED", "SELECT v FROM t WHERE id = 1"],
        ],
        turns: &[0, 1, 0, 1, 1, 0],
        answers: &[&["1 changed", "1 changed"], &["3", "10"]],
    },
];
