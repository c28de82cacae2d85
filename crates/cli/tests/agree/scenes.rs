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
use skew_workload::servers::MariaDbServer;

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
const ON_MARIADB: [Scene; 9] = [
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
];

fn play(url: &Url, scene: &Scene) {
    let level: IsolationLevel = scene.level.parse().unwrap_or_else(|error| panic!("{error}"));
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<String>>();
    let sessions: Sessions = scene.sessions.iter().map(|one| owned(one)).collect();
    let tables = owned(scene.tables);
    let possible = possible(&program(&sessions, Engine::Mysql, &tables), level, sessions.len()).expect("few runs");
    let begin = opening(Engine::Mysql, level).len();
    let openings = (0..sessions.len()).flat_map(|session| std::iter::repeat_n(session, begin));
    let mut turns = openings.chain(scene.turns.iter().copied());
    let turn = || turns.next().expect("a turn for every statement");
    let screenplay = interleaved(&sessions, level, Engine::Mysql, turn);
    let outcome = performed(url, &screenplay, &tables).expect("the server came to an end with it");
    let expected: Vec<Vec<String>> = scene.answers.iter().map(|one| owned(one)).collect();
    assert_eq!(outcome, expected, "{} {:?}", scene.level, scene.sessions);
    assert!(possible.contains(&outcome), "{} {:?}: {possible:?}", scene.level, scene.sessions);
}

#[test]
fn what_mariadb_does_while_somebody_waits_the_explorer_has() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    ON_MARIADB.iter().for_each(|scene| play(server.url(), scene));
}
