//! What a storm blows over: tables, and random statements on them that depend on nothing that was read.
//!
//! ```text
//!   t (id, v, w)     ids 1 … 5, of which 1 and 3 are there at first, so that there are gaps before, between and behind them
//!   c (id, t)        rows that refer to t, and what becomes of them when theirs goes
//! ```
//!
//! | terrain | statements |
//! |---|---|
//! | `Rows` | on rows that are there, by key, by range and by a condition that no index leads to |
//! | `Absent` | and on rows that are not; they come and go |
//! | `Index` | the same, where a condition is looked up in an index |
//! | `Unique` | the same with a second unique key |
//! | `Children` | rows that refer to others |
//! | `Joined` | locks of what a join, an order or a limit gives |
//!
//! Every other pair of seeds has savepoints, on any terrain: what came behind one is taken back, kept, or taken back and done again. Every
//! third four have sessions that do not wait for locks.

use skew_chance::Random;
use skew_history::Engine;

/// What the statements of a program may touch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Terrain {
    Rows,
    Absent,
    Index,
    Unique,
    /// And what becomes of them when a row goes.
    Children(&'static str),
    Joined,
}

/// What the program of a seed is about, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    pub(crate) engine: Engine,
    pub(crate) terrain: Terrain,
}

/// The statements of each session, which is one transaction.
pub(crate) type Sessions = Vec<Vec<String>>;

impl Weather {
    /// That of a seed.
    pub(crate) fn of(engine: Engine, seed: u64) -> Weather {
        let terrain = match seed % 7 {
            0 => Terrain::Rows,
            1 => Terrain::Absent,
            2 => Terrain::Index,
            3 => Terrain::Unique,
            4 => Terrain::Children("ON DELETE CASCADE"),
            5 => Terrain::Children(""),
            _ => Terrain::Joined,
        };
        Weather { engine, terrain }
    }

    /// The statements that make tables and first rows.
    pub(crate) fn tables(self) -> Vec<String> {
        let unique = if self.terrain == Terrain::Unique { ", UNIQUE (w)" } else { "" };
        let mut all = vec![
            format!("CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, w INT NOT NULL{unique})"),
            "INSERT INTO t VALUES (1, 10, 1), (3, 30, 3)".to_owned(),
        ];
        match self.terrain {
            Terrain::Index => all.insert(1, "CREATE INDEX t_v ON t (v)".to_owned()),
            Terrain::Children(action) => {
                all.push(format!(
                    "CREATE TABLE c (id INT PRIMARY KEY, t INT NOT NULL, FOREIGN KEY (t) REFERENCES t (id) {action})"
                ));
                all.push("INSERT INTO c VALUES (1, 1)".to_owned());
            }
            Terrain::Joined => {
                all.push("CREATE TABLE c (id INT PRIMARY KEY, t INT NOT NULL)".to_owned());
                all.push("INSERT INTO c VALUES (1, 1), (2, 3)".to_owned());
            }
            Terrain::Rows | Terrain::Absent | Terrain::Unique => {}
        }
        all
    }

    /// The sessions of a seed.
    pub(crate) fn sessions(self, seed: u64) -> Sessions {
        let mut random = Random::new(seed);
        let (count, mut number) = (2 + random.index(2), 0);
        let most = if count == 2 { 3 } else { 2 };
        let session = |random: &mut Random, number: &mut usize| {
            let length = 1 + random.index(most);
            let statements = (0..length).map(|_| {
                *number += 1;
                self.statement(random, *number)
            });
            statements.collect()
        };
        let sessions: Sessions = (0..count).map(|_| session(&mut random, &mut number)).collect();
        let sessions = if Weather::has_impatience(seed) { impatient(sessions, seed) } else { sessions };
        if (seed / 2).is_multiple_of(2) {
            sessions
        } else {
            with_savepoints(sessions, &mut Random::of_operation(seed, 0, 2))
        }
    }

    /// Whether some do not wait for locks.
    fn has_impatience(seed: u64) -> bool {
        (seed / 4).is_multiple_of(3)
    }

    /// One statement; values are new ones, but for those that a condition is about.
    fn statement(self, random: &mut Random, number: usize) -> String {
        let has_all = self.terrain == Terrain::Rows;
        let key = if has_all { 1 + 2 * random.below(2) } else { 1 + random.below(5) };
        let value = 100 + number;
        if matches!(self.terrain, Terrain::Children(_)) && random.chance(0.5) {
            return match random.below(3) {
                0 => format!("INSERT INTO c VALUES ({value}, {key})"),
                1 => "SELECT id, t FROM c ORDER BY id".to_owned(),
                _ => format!("DELETE FROM t WHERE id = {key}"),
            };
        }
        if self.terrain == Terrain::Joined && random.chance(0.6) {
            return self.joined(random, key, value);
        }
        match random.below(if has_all { 10 } else { 14 }) {
            0 | 1 => format!("SELECT v FROM t WHERE id = {key}"),
            2 => format!("SELECT v FROM t WHERE id = {key} {}", self.lock(random)),
            // Now and then a value that is looked for.
            3 if number.is_multiple_of(3) => format!("UPDATE t SET v = {} WHERE id = {key}", 10 * (number / 3)),
            3 => format!("UPDATE t SET v = {value} WHERE id = {key}"),
            4 => format!("UPDATE t SET v = v + {value} WHERE id = {key}"),
            5 => "SELECT id, v FROM t ORDER BY id".to_owned(),
            6 => format!("SELECT id, v FROM t WHERE id BETWEEN {key} AND {} ORDER BY id FOR UPDATE", key + 1),
            7 => format!("UPDATE t SET v = {value} WHERE id >= {key}"),
            8 => format!("UPDATE t SET w = w + {value} WHERE v = {}", [10, 30, 40][random.index(3)]),
            9 => format!("SELECT id FROM t WHERE v = {} FOR UPDATE", [10, 30, 40][random.index(3)]),
            10 => format!("DELETE FROM t WHERE id = {key}"),
            11 => self.upsert(random, key, value),
            12 if self.terrain == Terrain::Unique => format!("UPDATE t SET w = {} WHERE id = {key}", random.below(6)),
            _ => format!("INSERT INTO t VALUES ({key}, {value}, {})", self.unique(random, key)),
        }
    }

    /// Locks of what a join, an order or a limit gives, and what they meet.
    fn joined(self, random: &mut Random, key: u64, value: usize) -> String {
        let lock = self.lock(random);
        let near = 1 + random.below(3);
        match random.below(9) {
            0 => format!("SELECT t.id, t.v, c.id FROM t JOIN c ON c.t = t.id WHERE c.id = {near} ORDER BY t.id {lock}"),
            1 => format!(
                "SELECT t.id, t.v, c.id FROM t, c WHERE c.t = t.id AND t.v >= {} ORDER BY c.id {lock}",
                10 * near
            ),
            2 => format!("SELECT t.id, c.id FROM t JOIN c ON c.t = t.id WHERE t.id = {key} ORDER BY c.id FOR UPDATE"),
            3 => format!("SELECT id, v FROM t ORDER BY v DESC, id LIMIT {near} {lock}"),
            4 => format!("SELECT id, v FROM t WHERE v > {} ORDER BY w DESC, id LIMIT 1 FOR UPDATE", 10 * near),
            5 => format!("SELECT id, v FROM t ORDER BY v, id LIMIT 1 OFFSET 1 {lock}"),
            6 => format!("UPDATE c SET t = {key} WHERE id = {near}"),
            7 => format!("UPDATE t SET v = {} WHERE id = {key}", 10 * near),
            _ => format!("INSERT INTO c VALUES ({value}, {key})"),
        }
    }

    /// What goes into the second column that may be unique: now and then what another row has.
    fn unique(self, random: &mut Random, key: u64) -> u64 {
        if self.terrain == Terrain::Unique { random.below(6) } else { key }
    }

    fn lock(self, random: &mut Random) -> &'static str {
        match self.engine {
            Engine::Postgres => ["FOR UPDATE", "FOR NO KEY UPDATE", "FOR SHARE", "FOR KEY SHARE"][random.index(4)],
            Engine::Mysql => ["FOR UPDATE", "FOR SHARE"][random.index(2)],
        }
    }

    fn upsert(self, random: &mut Random, key: u64, value: usize) -> String {
        let row = format!("({key}, {value}, {})", self.unique(random, key));
        match (self.engine, random.chance(0.5)) {
            (Engine::Postgres, true) => {
                format!("INSERT INTO t VALUES {row} ON CONFLICT (id) DO UPDATE SET v = t.v + {value}")
            }
            (Engine::Postgres, false) => format!("INSERT INTO t VALUES {row} ON CONFLICT DO NOTHING"),
            (Engine::Mysql, true) => format!("INSERT INTO t VALUES {row} ON DUPLICATE KEY UPDATE v = v + {value}"),
            (Engine::Mysql, false) => format!("INSERT IGNORE INTO t VALUES {row}"),
        }
    }
}

/// The same where some leave out what others have locked, or are refused there.
fn impatient(mut sessions: Sessions, seed: u64) -> Sessions {
    let mut random = Random::of_operation(seed, 0, 3);
    let locks = |sql: &&mut String| sql.starts_with("SELECT") && sql.contains(" FOR ");
    for sql in sessions.iter_mut().flatten().filter(locks) {
        sql.push_str(["", " SKIP LOCKED", " SKIP LOCKED", " NOWAIT"][random.index(4)]);
    }
    sessions
}

/// The same with savepoints around some of the statements of some sessions.
fn with_savepoints(sessions: Sessions, random: &mut Random) -> Sessions {
    let around = |statements: Vec<String>, random: &mut Random| {
        let first = random.index(statements.len());
        let last = first + 1 + random.index(statements.len() - first);
        let (before, rest) = statements.split_at(first);
        let (inside, after) = rest.split_at(last - first);
        let end: &[&str] = match random.below(6) {
            0 => &["RELEASE SAVEPOINT a"],
            1 => &["SAVEPOINT b", "ROLLBACK TO a"],
            2 => &["ROLLBACK TO SAVEPOINT a", "RELEASE SAVEPOINT a"],
            _ => &["ROLLBACK TO SAVEPOINT a"],
        };
        let again = if random.chance(0.3) { inside } else { &[] };
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        [before, &owned(&["SAVEPOINT a"]), inside, &owned(end), again, after].concat()
    };
    sessions.into_iter().map(|one| if random.chance(0.7) { around(one, random) } else { one }).collect()
}

/// Whether a statement is about a savepoint.
pub(crate) fn is_savepoint(sql: &str) -> bool {
    ["SAVEPOINT", "RELEASE", "ROLLBACK TO"].iter().any(|word| sql.starts_with(word))
}

/// A statement as the server of an engine understands it: MariaDB has no `FOR SHARE`.
pub(crate) fn as_typed(sql: &str, engine: Engine) -> String {
    match engine {
        Engine::Postgres => sql.to_owned(),
        Engine::Mysql => sql.replace("FOR SHARE", "LOCK IN SHARE MODE"),
    }
}
