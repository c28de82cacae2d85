//! What PostgreSQL does.

use super::{JOINED, PAIRED, REFERRING, ROWS, Scene, UNIQUE};

/// What PostgreSQL does.
pub(super) const ON_POSTGRESQL: [Scene; 57] = [
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
    // Who does not wait leaves out what somebody else has,
    Scene {
        level: "pg:rc",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &[
                "SELECT id, v FROM t ORDER BY id FOR UPDATE SKIP LOCKED",
                "SELECT id FROM t WHERE v < 12 FOR SHARE SKIP LOCKED",
            ],
        ],
        turns: &[0, 1, 1, 1, 0],
        answers: &[&["1 changed"], &["3 30", ""]],
    },
    // and takes the next one,
    Scene {
        level: "pg:rc",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["SELECT id FROM t WHERE v > 5 ORDER BY v LIMIT 1 FOR UPDATE SKIP LOCKED"],
        ],
        turns: &[0, 1, 1, 0],
        answers: &[&["1 changed"], &["3"]],
    },
    // or is refused;
    Scene {
        level: "pg:rc",
        tables: &ROWS,
        sessions: &[&["UPDATE t SET v = 11 WHERE id = 1"], &["SELECT id FROM t WHERE v = 10 FOR UPDATE NOWAIT"]],
        turns: &[0, 1, 0, 1],
        answers: &[&["1 changed"], &["refused 55P03"]],
    },
    // not by who has what may be had beside it.
    Scene {
        level: "pg:rc",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &[
                "SELECT v FROM t WHERE id = 1 FOR KEY SHARE NOWAIT",
                "SELECT v FROM t WHERE id = 1 FOR NO KEY UPDATE SKIP LOCKED",
            ],
        ],
        turns: &[0, 1, 1, 1, 0],
        answers: &[&["1 changed"], &["10", ""]],
    },
    // What has changed since the snapshot is refused all the same,
    Scene {
        level: "pg:rr",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["SELECT v FROM t WHERE id = 3", "SELECT id FROM t ORDER BY id FOR UPDATE SKIP LOCKED"],
        ],
        turns: &[1, 0, 0, 1, 1],
        answers: &[&["1 changed"], &["30", "refused 40001"]],
    },
    // whoever has it now,
    Scene {
        level: "pg:rr",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["SELECT v FROM t WHERE id = 3", "SELECT id FROM t ORDER BY id FOR UPDATE SKIP LOCKED"],
            &["UPDATE t SET v = 12 WHERE id = 1"],
        ],
        turns: &[1, 0, 0, 2, 1, 1, 2],
        answers: &[&["1 changed"], &["30", "refused 40001"], &["1 changed"]],
    },
    // and what is about to change is left out.
    Scene {
        level: "pg:rr",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 11 WHERE id = 1"],
            &["SELECT v FROM t WHERE id = 3", "SELECT id FROM t ORDER BY id FOR UPDATE SKIP LOCKED"],
        ],
        turns: &[1, 0, 1, 1, 0],
        answers: &[&["1 changed"], &["30", "3"]],
    },
    // Who refers to a row has its key.
    Scene {
        level: "pg:rc",
        tables: &REFERRING,
        sessions: &[
            &["INSERT INTO c VALUES (7, 1)"],
            &[
                "SELECT id FROM t WHERE id = 1 FOR UPDATE SKIP LOCKED",
                "SELECT id FROM t WHERE id = 1 FOR NO KEY UPDATE NOWAIT",
            ],
        ],
        turns: &[0, 1, 1, 1, 0],
        answers: &[&["1 changed"], &["", "1"]],
    },
    // Two who take a job each are serializable.
    Scene {
        level: "pg:ser",
        tables: &ROWS,
        sessions: &[
            &["SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED", "UPDATE t SET w = 7 WHERE id = 1"],
            &["SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED", "UPDATE t SET w = 8 WHERE id = 3"],
        ],
        turns: &[0, 1, 0, 1, 0, 1],
        answers: &[&["1", "1 changed"], &["3", "1 changed"]],
    },
    // The key's lock lets an UPDATE pass; what is locked later is what that has left,
    Scene {
        level: "pg:rc",
        tables: &ROWS,
        sessions: &[
            &[
                "SELECT v FROM t WHERE id = 1 FOR KEY SHARE",
                "SELECT v FROM t WHERE id = 1",
                "SELECT v FROM t WHERE id = 1 FOR UPDATE",
            ],
            &["UPDATE t SET v = 20 WHERE id = 1"],
        ],
        turns: &[0, 1, 1, 0, 0, 0],
        answers: &[&["10", "20", "20"], &["1 changed"]],
    },
    // in whatever way,
    Scene {
        level: "pg:rc",
        tables: &ROWS,
        sessions: &[
            &["SELECT v FROM t WHERE id = 1 FOR KEY SHARE", "SELECT v FROM t WHERE id = 1 FOR NO KEY UPDATE"],
            &["UPDATE t SET v = 20 WHERE id = 1"],
        ],
        turns: &[0, 1, 1, 0, 0],
        answers: &[&["10", "20"], &["1 changed"]],
    },
    // and what is changed later.
    Scene {
        level: "pg:rc",
        tables: &ROWS,
        sessions: &[
            &[
                "SELECT v FROM t WHERE id = 1 FOR KEY SHARE",
                "UPDATE t SET v = v + 1 WHERE id = 1",
                "SELECT v FROM t WHERE id = 1 FOR UPDATE",
            ],
            &["UPDATE t SET v = 20 WHERE id = 1"],
        ],
        turns: &[0, 1, 1, 0, 0, 0],
        answers: &[&["10", "1 changed", "21"], &["1 changed"]],
    },
    // A share lets nobody pass: who changes the row is behind what follows it.
    Scene {
        level: "pg:rc",
        tables: &ROWS,
        sessions: &[
            &["SELECT v FROM t WHERE id = 1 FOR SHARE", "UPDATE t SET v = v + 1 WHERE id = 1"],
            &["UPDATE t SET v = v * 2 WHERE id = 1", "SELECT v FROM t WHERE id = 1"],
        ],
        turns: &[0, 1, 0, 0, 1, 1],
        answers: &[&["10", "1 changed"], &["1 changed", "22"]],
    },
    // The stronger lock of what has changed since the snapshot is refused,
    Scene {
        level: "pg:rr",
        tables: &ROWS,
        sessions: &[
            &["SELECT v FROM t WHERE id = 1 FOR KEY SHARE", "SELECT v FROM t WHERE id = 1 FOR UPDATE"],
            &["UPDATE t SET v = 20 WHERE id = 1"],
        ],
        turns: &[0, 1, 1, 0, 0],
        answers: &[&["10", "refused 40001"], &["1 changed"]],
    },
    // also a share,
    Scene {
        level: "pg:rr",
        tables: &ROWS,
        sessions: &[
            &["SELECT v FROM t WHERE id = 1 FOR KEY SHARE", "SELECT v FROM t WHERE id = 1 FOR SHARE"],
            &["UPDATE t SET v = 20 WHERE id = 1"],
        ],
        turns: &[0, 1, 1, 0, 0],
        answers: &[&["10", "refused 40001"], &["1 changed"]],
    },
    // and a change; another lock of the key is not.
    Scene {
        level: "pg:rr",
        tables: &ROWS,
        sessions: &[
            &[
                "SELECT v FROM t WHERE id = 1 FOR KEY SHARE",
                "SELECT v FROM t WHERE id = 1 FOR KEY SHARE",
                "UPDATE t SET v = v + 1 WHERE id = 1",
            ],
            &["UPDATE t SET v = 20 WHERE id = 1"],
        ],
        turns: &[0, 1, 1, 0, 0, 0],
        answers: &[&["10", "10", "refused 40001"], &["1 changed"]],
    },
    // Who waits for one row has the others as they were when the statement began, and not as they have become since.
    Scene {
        level: "pg:rc",
        tables: &ROWS,
        sessions: &[
            &["SELECT id, v FROM t ORDER BY id FOR KEY SHARE"],
            &["UPDATE t SET v = 20 WHERE id = 1"],
            &["SELECT v FROM t WHERE id = 3 FOR UPDATE", "SELECT v FROM t WHERE id = 1"],
        ],
        turns: &[2, 0, 1, 1, 2, 2, 0],
        answers: &[&["1 10, 3 30"], &["1 changed"], &["30", "20"]],
    },
    // The same of one that is waited for: its key has not changed.
    Scene {
        level: "pg:rc",
        tables: &ROWS,
        sessions: &[
            &["UPDATE t SET v = 20 WHERE id = 1", "SELECT v FROM t WHERE id = 1 FOR UPDATE"],
            &["SELECT v FROM t WHERE id = 1 FOR KEY SHARE", "SELECT v FROM t WHERE id = 1"],
        ],
        turns: &[0, 0, 1, 0, 1, 1],
        answers: &[&["1 changed", "20"], &["10", "20"]],
    },
];
