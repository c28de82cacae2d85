//! Interleavings on live servers whose outcomes the explorer did not have once, or that say what a server does, each small enough to be read.
//!
//! ```text
//!   1 0 1 1 0      all have begun; then session 1 says its first statement, 0 says its own, 1 goes on, 1 commits, 0 commits
//! ```

mod mariadb;
mod postgresql;

use crate::live::{installed, opening};
use crate::storm::{interleaved, performed, possible, program};
use crate::terrain::Sessions;
use mariadb::ON_MARIADB;
use postgresql::ON_POSTGRESQL;
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
