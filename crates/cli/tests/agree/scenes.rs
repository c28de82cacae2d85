//! Interleavings on live servers whose outcomes the explorer did not have once, or that say what a server does, each small enough to be read.
//!
//! ```text
//!   1 0 1 1 0      all have begun; then session 1 says its first statement, 0 says its own, 1 goes on, 1 commits, 0 commits
//! ```

use crate::live::{installed, opening};
use crate::storm::{interleaved, performed, possible, program};
use crate::terrain::Sessions;
use skew_explore::IsolationLevel;
use skew_history::Engine;
use skew_workload::Url;
use skew_workload::screenplay::Cue;
use skew_workload::servers::{MariaDbServer, PostgresServer};

/// Statements of sessions, their order on a server, and what each session is answered then.
struct Scene {
    level: &'static str,
    tables: &'static [&'static str],
    sessions: &'static [&'static [&'static str]],
    /// The sessions in the order of their statements; the last of each is its COMMIT.
    turns: &'static [usize],
    answers: &'static [&'static [&'static str]],
}

const ROWS: [&str; 2] = [
    "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, w INT NOT NULL)",
    "INSERT INTO t VALUES (1, 10, 1), (3, 30, 3)",
];

/// What MariaDB does.
const ON_MARIADB: [Scene; 16] = [
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
];

const JOINED: [&str; 4] = [
    "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL)",
    "INSERT INTO t VALUES (1, 10), (3, 30), (5, 50)",
    "CREATE TABLE c (id INT PRIMARY KEY, t INT NOT NULL)",
    "INSERT INTO c VALUES (1, 1), (2, 3)",
];

const REFERRING: [&str; 4] = [
    "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL)",
    "INSERT INTO t VALUES (1, 10), (2, 20)",
    "CREATE TABLE c (id INT PRIMARY KEY, t INT NOT NULL, FOREIGN KEY (t) REFERENCES t (id))",
    "INSERT INTO c VALUES (1, 1)",
];

const PAIRED: [&str; 4] = [
    "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL)",
    "INSERT INTO t VALUES (1, 10), (3, 30), (5, 50)",
    "CREATE TABLE c (id INT PRIMARY KEY, w INT NOT NULL)",
    "INSERT INTO c VALUES (1, 10), (2, 20)",
];

const UNIQUE: [&str; 2] = [
    "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, w INT NOT NULL, UNIQUE (w))",
    "INSERT INTO t VALUES (1, 10, 1), (3, 30, 3)",
];

/// What PostgreSQL does.
const ON_POSTGRESQL: [Scene; 39] = [
    // The join has no row, so nothing is locked: row 1 of t is free.
    Scene {
        level: "pg:rc",
        tables: &JOINED,
        sessions: &[
            &[
                "SELECT t.id FROM t JOIN c ON c.t = t.id WHERE t.id = 1 AND c.id = 2 FOR UPDATE",
                "SELECT v FROM t WHERE id = 1",
            ],
            &["UPDATE t SET v = 11 WHERE id = 1"],
        ],
        turns: &[0, 1, 1, 0, 0],
        answers: &[&["", "11"], &["1 changed"]],
    },
    // Of a join that has rows those are locked which are in them: row 1 is free, row 3 is not.
    Scene {
        level: "pg:rc",
        tables: &JOINED,
        sessions: &[
            &["SELECT t.id FROM t, c WHERE c.t = t.id AND c.id = 2 FOR UPDATE OF t", "SELECT id, v FROM t ORDER BY id"],
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["UPDATE t SET v = 31 WHERE id = 3"],
        ],
        turns: &[0, 1, 1, 2, 0, 0, 2],
        answers: &[&["3", "1 11, 3 30, 5 50"], &["1 changed"], &["1 changed"]],
    },
    // A row without a partner is kept by the outer join, and locked; its partner need not be there.
    Scene {
        level: "pg:rc",
        tables: &JOINED,
        sessions: &[
            &[
                "SELECT t.id FROM t LEFT JOIN c ON c.t = t.id WHERE t.id = 5 FOR UPDATE OF t",
                "SELECT v FROM t WHERE id = 1",
            ],
            &["UPDATE t SET v = 11 WHERE id = 1"],
        ],
        turns: &[0, 1, 1, 0, 0],
        answers: &[&["5", "11"], &["1 changed"]],
    },
    // A subquery of one table is a part of the join,
    Scene {
        level: "pg:rc",
        tables: &JOINED,
        sessions: &[
            &[
                "SELECT s.id FROM (SELECT id FROM t) s JOIN c ON c.t = s.id WHERE c.id = 2 FOR UPDATE OF s",
                "SELECT v FROM t WHERE id = 1",
            ],
            &["UPDATE t SET v = 11 WHERE id = 1"],
        ],
        turns: &[0, 1, 1, 0, 0],
        answers: &[&["3", "11"], &["1 changed"]],
    },
    // one with a lock of its own is not.
    Scene {
        level: "pg:rc",
        tables: &JOINED,
        sessions: &[
            &[
                "SELECT s.id FROM (SELECT id FROM t FOR UPDATE) s JOIN c ON c.t = s.id WHERE c.id = 2",
                "SELECT v FROM t WHERE id = 1",
            ],
            &["UPDATE t SET v = 11 WHERE id = 1"],
        ],
        turns: &[0, 1, 0, 0, 1],
        answers: &[&["3", "10"], &["1 changed"]],
    },
    // What EXISTS looks at is not locked.
    Scene {
        level: "pg:rc",
        tables: &JOINED,
        sessions: &[
            &[
                "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM c WHERE c.t = t.id AND c.id = 2) FOR UPDATE",
                "SELECT t FROM c WHERE id = 2",
            ],
            &["UPDATE c SET t = 5 WHERE id = 2"],
        ],
        turns: &[0, 1, 1, 0, 0],
        answers: &[&["3", "5"], &["1 changed"]],
    },
    // After a wait a row is asked again with the partner that it had, not with another one.
    Scene {
        level: "pg:rc",
        tables: &JOINED,
        sessions: &[
            &["UPDATE c SET t = 3 WHERE id = 1"],
            &["SELECT t.id, c.id FROM t JOIN c ON c.t = t.id ORDER BY t.id FOR UPDATE OF c"],
        ],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &["3 2"]],
    },
    // What the limit leaves out is not locked, whatever the order,
    Scene {
        level: "pg:rc",
        tables: &JOINED,
        sessions: &[
            &["SELECT id FROM t ORDER BY v DESC LIMIT 1 FOR UPDATE", "SELECT v FROM t WHERE id = 3"],
            &["UPDATE t SET v = 31 WHERE id = 3"],
        ],
        turns: &[0, 1, 1, 0, 0],
        answers: &[&["5", "31"], &["1 changed"]],
    },
    // and what OFFSET passes over is.
    Scene {
        level: "pg:rc",
        tables: &JOINED,
        sessions: &[
            &["SELECT id FROM t ORDER BY v LIMIT 1 OFFSET 1 FOR UPDATE", "SELECT id, v FROM t ORDER BY id"],
            &["UPDATE t SET v = 51 WHERE id = 5"],
            &["UPDATE t SET v = 11 WHERE id = 1"],
        ],
        turns: &[0, 1, 1, 2, 0, 0, 2],
        answers: &[&["3", "1 10, 3 30, 5 51"], &["1 changed"], &["1 changed"]],
    },
    // A row that does not qualify any more after a wait makes room for the next one,
    Scene {
        level: "pg:rc",
        tables: &JOINED,
        sessions: &[
            &["UPDATE t SET v = 1 WHERE id = 5"],
            &["SELECT id, v FROM t WHERE v > 5 ORDER BY v DESC LIMIT 1 FOR UPDATE"],
        ],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &["3 30"]],
    },
    // and rows are not sorted again.
    Scene {
        level: "pg:rc",
        tables: &JOINED,
        sessions: &[
            &["UPDATE t SET v = 6 WHERE id = 5"],
            &["SELECT id, v FROM t WHERE v > 5 ORDER BY v DESC LIMIT 2 FOR UPDATE"],
        ],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &["5 6, 3 30"]],
    },
    // Above read committed it is refused.
    Scene {
        level: "pg:rr",
        tables: &JOINED,
        sessions: &[
            &["UPDATE t SET v = 6 WHERE id = 5"],
            &["SELECT id, v FROM t WHERE v > 5 ORDER BY v DESC LIMIT 2 FOR UPDATE"],
        ],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &["refused 40001"]],
    },
    // Nobody waits for a parent that somebody is about to insert,
    Scene {
        level: "pg:rc",
        tables: &REFERRING,
        sessions: &[
            &["INSERT INTO t VALUES (5, 50)"],
            &["INSERT INTO c VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET t = 5"],
        ],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &["refused 23503"]],
    },
    // but for one that is about to go.
    Scene {
        level: "pg:rc",
        tables: &REFERRING,
        sessions: &[
            &["DELETE FROM t WHERE id = 2"],
            &["INSERT INTO c VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET t = 2"],
        ],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &["refused 23503"]],
    },
    // After a wait nobody looks for another partner: not in FROM,
    Scene {
        level: "pg:rc",
        tables: &PAIRED,
        sessions: &[&["UPDATE t SET v = 20 WHERE id = 1"], &["UPDATE t SET v = v + 100 FROM c WHERE c.w = t.v"]],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &["0 changed"]],
    },
    // not in USING,
    Scene {
        level: "pg:rc",
        tables: &PAIRED,
        sessions: &[&["UPDATE t SET v = 20 WHERE id = 1"], &["DELETE FROM t USING c WHERE c.w = t.v"]],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &["0 changed"]],
    },
    // not in IN,
    Scene {
        level: "pg:rc",
        tables: &PAIRED,
        sessions: &[
            &["UPDATE t SET v = 20 WHERE id = 1"],
            &["UPDATE t SET v = v + 100 WHERE v IN (SELECT c.w FROM c)"],
        ],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &["0 changed"]],
    },
    // not in EXISTS,
    Scene {
        level: "pg:rc",
        tables: &PAIRED,
        sessions: &[
            &["UPDATE t SET v = 20 WHERE id = 1"],
            &["UPDATE t SET v = v + 100 WHERE EXISTS (SELECT 1 FROM c WHERE c.w = t.v)"],
        ],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &["0 changed"]],
    },
    // whatever locks the row;
    Scene {
        level: "pg:rc",
        tables: &PAIRED,
        sessions: &[
            &["UPDATE t SET v = 20 WHERE id = 1"],
            &["SELECT id, v FROM t WHERE EXISTS (SELECT 1 FROM c WHERE c.w = t.v) FOR UPDATE"],
        ],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &[""]],
    },
    // nor for one that must not be there.
    Scene {
        level: "pg:rc",
        tables: &PAIRED,
        sessions: &[
            &["UPDATE t SET v = 20 WHERE id = 1"],
            &[
                "SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.w = t.v AND c.id = 2) ORDER BY id FOR UPDATE",
            ],
        ],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &["1, 3, 5"]],
    },
    // Below OR it is asked as if for the first time,
    Scene {
        level: "pg:rc",
        tables: &PAIRED,
        sessions: &[
            &["UPDATE t SET v = 20 WHERE id = 1"],
            &["UPDATE t SET v = v + 100 WHERE EXISTS (SELECT 1 FROM c WHERE c.w = t.v) OR v = 7"],
        ],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &["1 changed"]],
    },
    // and so is what is set.
    Scene {
        level: "pg:rc",
        tables: &PAIRED,
        sessions: &[
            &["UPDATE t SET v = 20 WHERE id = 1"],
            &["UPDATE t SET v = v + (SELECT c.id FROM c WHERE c.w = t.v) WHERE id = 1", "SELECT v FROM t WHERE id = 1"],
        ],
        turns: &[0, 1, 0, 1, 1],
        answers: &[&["1 changed"], &["1 changed", "22"]],
    },
    // A partner that still fits is kept.
    Scene {
        level: "pg:rc",
        tables: &PAIRED,
        sessions: &[
            &["UPDATE t SET v = 12 WHERE id = 1"],
            &["UPDATE t SET v = v + c.id FROM c WHERE c.w <= t.v", "SELECT v FROM t WHERE id = 1"],
        ],
        turns: &[0, 1, 0, 1, 1],
        answers: &[&["1 changed"], &["3 changed", "13"]],
    },
    // A child that has gone since is not in the way of its parent's end, whatever the snapshot says,
    Scene {
        level: "pg:rr",
        tables: &REFERRING,
        sessions: &[&["SELECT v FROM t WHERE id = 2", "DELETE FROM t WHERE id = 1"], &["DELETE FROM c WHERE id = 1"]],
        turns: &[0, 1, 1, 0, 0],
        answers: &[&["20", "1 changed"], &["1 changed"]],
    },
    // but one that is about to go is waited for,
    Scene {
        level: "pg:rr",
        tables: &REFERRING,
        sessions: &[&["DELETE FROM t WHERE id = 1"], &["DELETE FROM c WHERE id = 1"]],
        turns: &[1, 0, 1, 0],
        answers: &[&["refused 40001"], &["1 changed"]],
    },
    // and one that came since is.
    Scene {
        level: "pg:rr",
        tables: &REFERRING,
        sessions: &[&["SELECT v FROM t WHERE id = 1", "DELETE FROM t WHERE id = 2"], &["INSERT INTO c VALUES (7, 2)"]],
        turns: &[0, 1, 1, 0, 0],
        answers: &[&["10", "refused 23503"], &["1 changed"]],
    },
    // Whoever meets an entry of a unique index waits for who is about to change its row, and is refused where that is not what it sees,
    Scene {
        level: "pg:rr",
        tables: &UNIQUE,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["SELECT v FROM t WHERE id = 3", "INSERT INTO t VALUES (2, 20, 1) ON CONFLICT DO NOTHING"],
        ],
        turns: &[1, 0, 1, 0, 1],
        answers: &[&["1 changed"], &["30", "refused 40001"]],
    },
    // also where there was nobody to wait for,
    Scene {
        level: "pg:rr",
        tables: &UNIQUE,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["SELECT v FROM t WHERE id = 3", "INSERT INTO t VALUES (2, 20, 1) ON CONFLICT DO NOTHING"],
        ],
        turns: &[1, 0, 0, 1, 1],
        answers: &[&["1 changed"], &["30", "refused 40001"]],
    },
    // at serializable, too,
    Scene {
        level: "pg:ser",
        tables: &UNIQUE,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["SELECT v FROM t WHERE id = 3", "INSERT INTO t VALUES (2, 20, 1) ON CONFLICT DO NOTHING"],
        ],
        turns: &[1, 0, 1, 0, 1],
        answers: &[&["1 changed"], &["30", "refused 40001"]],
    },
    // if it would update the row,
    Scene {
        level: "pg:rr",
        tables: &UNIQUE,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &[
                "SELECT v FROM t WHERE id = 3",
                "INSERT INTO t VALUES (2, 20, 1) ON CONFLICT (w) DO UPDATE SET v = t.v + 100",
            ],
        ],
        turns: &[1, 0, 1, 0, 1],
        answers: &[&["1 changed"], &["30", "refused 40001"]],
    },
    // or has met its primary key.
    Scene {
        level: "pg:rr",
        tables: &UNIQUE,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["SELECT v FROM t WHERE id = 3", "INSERT INTO t VALUES (1, 20, 7) ON CONFLICT DO NOTHING"],
        ],
        turns: &[1, 0, 1, 0, 1],
        answers: &[&["1 changed"], &["30", "refused 40001"]],
    },
    // A lock is no change, and nobody waits for it.
    Scene {
        level: "pg:rr",
        tables: &UNIQUE,
        sessions: &[
            &["SELECT v FROM t WHERE id = 1 FOR UPDATE"],
            &["SELECT v FROM t WHERE id = 3", "INSERT INTO t VALUES (2, 20, 1) ON CONFLICT DO NOTHING"],
        ],
        turns: &[1, 0, 1, 1, 0],
        answers: &[&["10"], &["30", "0 changed"]],
    },
    // What has gone is not in the way,
    Scene {
        level: "pg:rr",
        tables: &UNIQUE,
        sessions: &[
            &["DELETE FROM t WHERE id = 1"],
            &["SELECT v FROM t WHERE id = 3", "INSERT INTO t VALUES (2, 20, 1) ON CONFLICT DO NOTHING"],
        ],
        turns: &[1, 0, 1, 0, 1],
        answers: &[&["1 changed"], &["30", "1 changed"]],
    },
    // and a key that decides nothing is a duplicate.
    Scene {
        level: "pg:rr",
        tables: &UNIQUE,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["SELECT v FROM t WHERE id = 3", "INSERT INTO t VALUES (2, 20, 1) ON CONFLICT (id) DO NOTHING"],
        ],
        turns: &[1, 0, 1, 0, 1],
        answers: &[&["1 changed"], &["30", "refused 23505"]],
    },
    // At read committed it waits as well, and goes on.
    Scene {
        level: "pg:rc",
        tables: &UNIQUE,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["INSERT INTO t VALUES (2, 20, 1) ON CONFLICT DO NOTHING", "SELECT v FROM t WHERE id = 1"],
        ],
        turns: &[0, 1, 0, 1, 1],
        answers: &[&["1 changed"], &["0 changed", "11"]],
    },
    // What a subquery gives is locked in its tables, and nothing else is,
    Scene {
        level: "pg:rc",
        tables: &UNIQUE,
        sessions: &[
            &["SELECT s.v FROM (SELECT id, v FROM t WHERE id = 1) s FOR UPDATE", "SELECT v FROM t WHERE id = 3"],
            &["UPDATE t SET v = 31 WHERE id = 3"],
            &["UPDATE t SET v = 11 WHERE id = 1"],
        ],
        turns: &[0, 1, 1, 2, 0, 0, 2],
        answers: &[&["10", "31"], &["1 changed"], &["1 changed"]],
    },
    // as it is after a wait;
    Scene {
        level: "pg:rc",
        tables: &UNIQUE,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["SELECT s.v FROM (SELECT id, v FROM t WHERE id = 1) s FOR UPDATE", "UPDATE t SET v = v + 1 WHERE id = 1"],
        ],
        turns: &[0, 1, 0, 1, 1],
        answers: &[&["1 changed"], &["11", "1 changed"]],
    },
    // one that has an order of its own locks what it gives, whatever is made of it,
    Scene {
        level: "pg:rc",
        tables: &JOINED,
        sessions: &[
            &[
                "SELECT s.id FROM (SELECT id FROM t ORDER BY id DESC) s WHERE s.id < 4 ORDER BY s.id LIMIT 1 FOR UPDATE",
                "SELECT v FROM t WHERE id = 5",
            ],
            &["UPDATE t SET v = 51 WHERE id = 5"],
            &["UPDATE t SET v = 31 WHERE id = 3"],
        ],
        turns: &[0, 1, 1, 2, 0, 0, 2],
        answers: &[&["1", "51"], &["1 changed"], &["1 changed"]],
    },
    // and no more than its limit wants.
    Scene {
        level: "pg:rc",
        tables: &UNIQUE,
        sessions: &[
            &["SELECT s.id FROM (SELECT id FROM t ORDER BY id LIMIT 1) s FOR UPDATE", "SELECT v FROM t WHERE id = 3"],
            &["UPDATE t SET v = 31 WHERE id = 3"],
        ],
        turns: &[0, 1, 1, 0, 0],
        answers: &[&["1", "31"], &["1 changed"]],
    },
];

fn play(url: &Url, engine: Engine, scene: &Scene) {
    let level: IsolationLevel = scene.level.parse().unwrap_or_else(|error| panic!("{error}"));
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<String>>();
    let sessions: Sessions = scene.sessions.iter().map(|one| owned(one)).collect();
    let tables = owned(scene.tables);
    let possible = possible(&program(&sessions, engine, &tables), level, sessions.len()).expect("few runs");
    let begin = opening(engine, level).len();
    let openings = (0..sessions.len()).flat_map(|session| std::iter::repeat_n(session, begin));
    let mut turns = openings.chain(scene.turns.iter().copied());
    let turn = || turns.next().expect("a turn for every statement");
    let screenplay = interleaved(&sessions, level, engine, turn);
    let outcome = performed(url, &screenplay, &tables).expect("the server came to an end with it");
    let expected: Vec<Vec<String>> = scene.answers.iter().map(|one| owned(one)).collect();
    assert_eq!(outcome, expected, "{} {:?}", scene.level, scene.sessions);
    assert!(possible.contains(&outcome), "{} {:?}: {possible:?}", scene.level, scene.sessions);
}

#[test]
fn what_mariadb_does_while_somebody_waits_the_explorer_has() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    ON_MARIADB.iter().for_each(|scene| play(server.url(), Engine::Mysql, scene));
}

#[test]
fn what_postgresql_locks_of_joins_and_limits_the_explorer_has() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    ON_POSTGRESQL.iter().for_each(|scene| play(server.url(), Engine::Postgres, scene));
}

/// Who waits for a row keeps those behind it that come later, whoever has the row. So session 0 is in a cycle of which it holds nothing; where it is
/// refused, because its patience ends first, the other two are in another one, and one of them is refused, too.
#[test]
fn a_queue_for_a_row_is_a_part_of_a_deadlock_on_postgresql() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<String>>();
    let sessions: Sessions = vec![
        owned(&["SELECT v FROM t WHERE id = 3 FOR NO KEY UPDATE"]),
        owned(&["UPDATE t SET v = 102 WHERE id >= 3", "SELECT id FROM t WHERE v = 10 FOR UPDATE"]),
        owned(&["UPDATE t SET w = w + 104 WHERE v = 10", "UPDATE t SET v = 105 WHERE id >= 1"]),
    ];
    let (tables, level) = (owned(&ROWS), "pg:rc".parse().expect("a level"));
    let mut turns = [0, 1, 2, 1, 0, 2, 1, 2, 0, 1, 2].into_iter();
    let turn = || turns.next().expect("a turn for every statement");
    let mut screenplay = interleaved(&sessions, level, Engine::Postgres, turn);
    for (session, patience) in ["2s", "4s", "6s"].into_iter().enumerate() {
        let sql = format!("SET deadlock_timeout = '{patience}'");
        screenplay.cues.insert(session, Cue { session, name: None, sql });
    }
    let outcome = performed(server.url(), &screenplay, &tables).expect("the server came to an end with it");
    let expected = [&["refused 40P01"][..], &["1 changed", "refused 40P01"], &["1 changed", "2 changed"]];
    assert_eq!(outcome, expected.map(owned));
    let possible = possible(&program(&sessions, Engine::Postgres, &tables), level, sessions.len()).expect("few runs");
    assert!(possible.contains(&outcome), "{possible:?}");
}
