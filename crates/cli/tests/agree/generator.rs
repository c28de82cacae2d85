//! Random small programs, by seed: two tables, indexes, and statements of every kind that reads, locks, changes or fails.
//!
//! ```text
//!   kv (k, v, w)      k 1 … 4, of which some are there; v small, so that conditions on it are true now and then; w maybe unique
//!   note (id, k)      rows that point to rows of kv, for joins and subqueries
//! ```
//!
//! A program for a real server has no duplicate keys and inserts no key that was deleted: what happens there depends on more than the
//! level.

use crate::draft::{Draft, Guard, MOST_STATEMENTS, Procedure, Statement};
use skew_value::Dialect;

/// For whom a program is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Audience {
    /// The mock database and the explorer.
    Tools,
    /// A client of the mock database, which can take failures back.
    Client,
    /// A real PostgreSQL too.
    Server,
}

/// A seeded row of numbers (SplitMix64).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

/// Conditions on a row of kv.
const CONDITIONS: [&str; 16] = [
    "k = $k",
    "k = $k",
    "k = $k AND v = $s",
    "k IN ($k, $k)",
    "k BETWEEN $k AND 3",
    "k > $k",
    "v = $s",
    "v = $s",
    "v >= $s",
    "v < $s",
    "w = 10 * $k",
    "v = (SELECT MAX(o.v) FROM kv o)",
    "k IN (SELECT o.k FROM kv o WHERE o.v = $s)",
    "k IN (SELECT n.k FROM note n)",
    "EXISTS (SELECT 1 FROM note n WHERE n.k = kv.k)",
    "NOT EXISTS (SELECT 1 FROM note n WHERE n.k = kv.k AND n.id > 1)",
];

/// What a column v is set to; the last ones fail, always or now and then.
const EXPRESSIONS: [&str; 11] = [
    "v + 1",
    "v + 1",
    "v + $s",
    "$n",
    "COALESCE($r, 0) + 1",
    "(SELECT MAX(o.v) FROM kv o) + 1",
    "v + (SELECT COUNT(*) FROM note n WHERE n.k = kv.k)",
    "(SELECT COUNT(*) FROM kv o WHERE o.v = $s)",
    "6 / v",
    "v + 45",
    "NULL",
];

/// Queries, each with one value.
const QUERIES: [&str; 24] = [
    "SELECT v @into FROM kv WHERE k = $k",
    "SELECT v @into FROM kv WHERE k = $k",
    "SELECT v @into FROM kv WHERE k = $k FOR UPDATE",
    "SELECT v @into FROM kv WHERE k = $k FOR SHARE",
    "SELECT k @into FROM kv WHERE $c ORDER BY k LIMIT 1",
    "SELECT k @into FROM kv WHERE $c ORDER BY k DESC LIMIT 1",
    "SELECT k @into FROM kv WHERE $c ORDER BY k LIMIT 1 FOR UPDATE",
    "SELECT k @into FROM kv WHERE v = $s ORDER BY k LIMIT 1",
    "SELECT k @into FROM kv WHERE v = $s ORDER BY k DESC LIMIT 1",
    "SELECT k @into FROM kv ORDER BY v DESC, k DESC LIMIT 1",
    "SELECT k @into FROM kv WHERE v >= $s ORDER BY v, k LIMIT 1",
    "SELECT k @into FROM kv WHERE v >= $s AND w = 10 * $k ORDER BY v, k LIMIT 1",
    "SELECT k @into FROM kv WHERE $c ORDER BY v, k LIMIT 1 FOR UPDATE",
    "SELECT k @into FROM kv ORDER BY w DESC, k DESC LIMIT 1",
    "SELECT id @into FROM note ORDER BY k, id LIMIT 1 FOR UPDATE",
    "SELECT id @into FROM note ORDER BY k DESC, id DESC LIMIT 1",
    "SELECT id @into FROM note WHERE k = $k ORDER BY id LIMIT 1 FOR UPDATE",
    "SELECT COUNT(*) @into FROM kv WHERE $c",
    "SELECT SUM(v) @into FROM kv WHERE $c",
    "SELECT MAX(v) @into FROM kv",
    "SELECT COUNT(*) @into FROM kv a JOIN note b ON b.k = a.k WHERE a.v < $s + 1",
    "SELECT SUM(a.v) @into FROM note b LEFT JOIN kv a ON a.k = b.k",
    "SELECT (SELECT o.v FROM kv o WHERE o.k = n.k) @into FROM note n WHERE n.id = 1",
    "SELECT 6 / v @into FROM kv WHERE k = $k",
];

/// Changes of what is there.
const CHANGES: [&str; 9] = [
    "UPDATE kv SET v = v + 1 WHERE k = $k",
    "UPDATE kv SET v = v + 1 WHERE $c",
    "UPDATE kv SET v = $e WHERE k = $k",
    "UPDATE kv SET v = $e WHERE $c",
    "UPDATE kv SET v = v + 1 WHERE k = COALESCE($r, 1)",
    "UPDATE kv SET w = NULL WHERE $c",
    "UPDATE note SET k = $k WHERE id = 1",
    "DELETE FROM kv WHERE $c",
    "DELETE FROM note WHERE k = $k",
];

/// Rows of keys that nobody else inserts.
const FRESH_ROWS: [&str; 3] = [
    "INSERT INTO kv VALUES ($f, $s, NULL)",
    "INSERT INTO note VALUES ($f, $k)",
    "INSERT INTO note SELECT $f + k, k FROM kv WHERE $c",
];

/// Rows that may be there already, in any dialect.
const ROWS: [&str; 5] = [
    "INSERT INTO kv VALUES ($k, $s, NULL)",
    "INSERT INTO kv VALUES ($k, $n, NULL)",
    "INSERT INTO kv VALUES ($f, $s, 10 * $k)",
    "UPDATE kv SET w = 10 * $k WHERE k = $k",
    "INSERT INTO note VALUES ($k, $k)",
];

const POSTGRES_UPSERTS: [&str; 4] = [
    "INSERT INTO kv VALUES ($k, $s, NULL) ON CONFLICT DO NOTHING",
    "INSERT INTO kv VALUES ($k, $n, NULL) ON CONFLICT (k) DO UPDATE SET v = kv.v + 1",
    "INSERT INTO kv VALUES ($k, $n, NULL) ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v WHERE kv.v = $s",
    "INSERT INTO note VALUES ($k, $k) ON CONFLICT DO NOTHING",
];

const MYSQL_UPSERTS: [&str; 4] = [
    "INSERT INTO kv VALUES ($k, $n, NULL) ON DUPLICATE KEY UPDATE v = v + 1",
    "INSERT IGNORE INTO kv VALUES ($k, $s, NULL)",
    "REPLACE INTO kv VALUES ($k, $n, NULL)",
    "INSERT INTO note VALUES ($k, $k) ON DUPLICATE KEY UPDATE k = $k",
];

/// What applications do: statements that belong together, about one key. A `?` before one says that it is run when the one before it
/// found nothing.
const IDIOMS: [[&str; 2]; 5] = [
    ["UPDATE kv SET v = v + 1 WHERE k = $k AND v = $s", "SELECT v @into FROM kv WHERE k = $k"],
    ["UPDATE kv SET v = (SELECT MAX(o.v) FROM kv o) + 1 WHERE k = $k", "SELECT v @into FROM kv WHERE k = $k"],
    [
        "UPDATE kv SET v = v + 10 WHERE k IN (SELECT o.k FROM kv o WHERE o.v = $s)",
        "SELECT v @into FROM kv WHERE k = $k",
    ],
    ["SELECT k @into FROM kv WHERE w = 10 * $k FOR UPDATE", "UPDATE kv SET v = v + 1 WHERE k = $k"],
    ["SELECT v @into FROM kv WHERE k = $k", "UPDATE kv SET v = COALESCE($r, 0) + 1 WHERE k = $k"],
];

/// The same with keys that may be there already, or are inserted again.
const INSERTING_IDIOMS: [[&str; 2]; 4] = [
    ["UPDATE kv SET v = v + 1 WHERE k = $k", "?INSERT INTO kv VALUES ($k, $s, NULL)"],
    ["SELECT v @into FROM kv WHERE k = $k FOR UPDATE", "?INSERT INTO kv VALUES ($k, $s, NULL)"],
    ["DELETE FROM kv WHERE k = $k", "INSERT INTO kv VALUES ($k, $n, NULL)"],
    ["INSERT INTO kv VALUES ($k, $n, NULL)", "SELECT v @into FROM kv WHERE k = $k"],
];

/// Draws one program.
struct Drawer {
    numbers: Numbers,
    audience: Audience,
    dialect: Dialect,
    /// Keys and values that no other statement has.
    fresh: usize,
    /// The key that was drawn last: statements often speak of the same one.
    key: usize,
}

/// The program of a seed.
pub(crate) fn draw(seed: u64, audience: Audience) -> Draft {
    let mut numbers = Numbers::new(seed);
    let mysql = audience == Audience::Tools && numbers.once_in(2);
    let dialect = if mysql { Dialect::MySql } else { Dialect::Postgres };
    let mut drawer = Drawer { numbers, audience, dialect, fresh: 1, key: 1 };
    let (schema, rows) = (drawer.schema(), drawer.rows());
    let sessions = if drawer.numbers.once_in(4) { 3 } else { 2 };
    let mut left = 4;
    let mut procedures = Vec::new();
    for session in 0..sessions {
        let second = left > sessions - session && drawer.numbers.once_in(4);
        let calls = if second { 2 } else { 1 };
        left -= calls;
        procedures.push((0..calls).map(|_| drawer.procedure(sessions)).collect());
    }
    Draft { dialect, schema, rows, sessions: procedures }
}

impl Drawer {
    fn schema(&mut self) -> Vec<String> {
        let check = if self.numbers.once_in(2) { ", CHECK (v < 40)" } else { "" };
        let mut schema = vec![
            format!("CREATE TABLE kv (k INT PRIMARY KEY, v INT NOT NULL, w INT{check})"),
            format!("CREATE TABLE note (id INT, k INT, PRIMARY KEY ({}))", self.numbers.pick(&["id", "k, id"])),
        ];
        if self.numbers.once_in(2) {
            schema.push("CREATE INDEX by_v ON kv (v)".to_owned());
        }
        if self.audience != Audience::Server && self.numbers.once_in(3) {
            schema.push("CREATE UNIQUE INDEX by_w ON kv (w)".to_owned());
        } else if self.numbers.once_in(3) {
            schema.push("CREATE INDEX by_w ON kv (w)".to_owned());
        }
        if self.numbers.once_in(3) {
            schema.push("CREATE INDEX of_note ON note (k)".to_owned());
        }
        schema
    }

    fn rows(&mut self) -> Vec<String> {
        let mut rows = Vec::new();
        // A client finds out what is there, so little is.
        let most = if self.audience == Audience::Client { 1 } else { 3 };
        for key in 1..=1 + self.numbers.below(most) {
            let value = self.numbers.below(2);
            rows.push(format!("INSERT INTO kv VALUES ({key}, {value}, {key}0)"));
        }
        for id in 1..=self.numbers.below(3) {
            rows.push(format!("INSERT INTO note VALUES ({id}, {})", 1 + self.numbers.below(3)));
        }
        rows
    }

    fn procedure(&mut self, sessions: usize) -> Procedure {
        let most = if sessions == 3 { 2 } else { MOST_STATEMENTS - 1 };
        let often = self.audience == Audience::Client && !self.numbers.once_in(4);
        let mut procedure = if often || self.numbers.once_in(2) { self.idiom() } else { Vec::new() };
        let count = procedure.len().max(1 + self.numbers.below(most) + usize::from(self.numbers.once_in(8)));
        while procedure.len() < count.min(MOST_STATEMENTS) {
            procedure.push(self.statement(procedure.len()));
        }
        procedure
    }

    /// Two statements about one key.
    fn idiom(&mut self) -> Procedure {
        let inserting = match self.audience {
            Audience::Server => false,
            Audience::Tools => self.numbers.once_in(2),
            Audience::Client => !self.numbers.once_in(4),
        };
        let idioms = if inserting { &INSERTING_IDIOMS[..] } else { &IDIOMS[..] };
        let idiom = idioms[self.numbers.below(idioms.len())];
        let key = self.key().to_string();
        let statement = |(number, pattern): (usize, &&str)| {
            let guard = pattern.starts_with('?').then_some(Guard::Nothing(0));
            let pattern = pattern.trim_start_matches('?').replace("$k", &key);
            let saved = self.audience == Audience::Client && pattern.starts_with("INSERT");
            Statement { number, guard, text: self.filled(&pattern, number), saved, or_rollback: false }
        };
        idiom.iter().enumerate().map(statement).collect()
    }

    fn statement(&mut self, number: usize) -> Statement {
        let kind = self.numbers.below(10);
        let pattern = match kind {
            0..4 => self.numbers.pick(&QUERIES),
            4..7 => self.numbers.pick(&CHANGES),
            _ if self.audience == Audience::Server => self.numbers.pick(&FRESH_ROWS),
            7 => self.numbers.pick(&FRESH_ROWS),
            8 => self.numbers.pick(&ROWS),
            _ if self.dialect == Dialect::MySql => self.numbers.pick(&MYSQL_UPSERTS),
            _ => self.numbers.pick(&POSTGRES_UPSERTS),
        };
        let guard = match self.numbers.below(6) {
            0 if number > 0 => Some(Guard::Nothing(self.numbers.below(number))),
            1 if number > 0 => Some(Guard::Something(self.numbers.below(number))),
            _ => None,
        };
        let saved = self.audience == Audience::Client && self.numbers.once_in(2);
        let or_rollback = self.numbers.once_in(12);
        Statement { number, guard, text: self.filled(pattern, number), saved, or_rollback }
    }

    fn key(&mut self) -> usize {
        if !self.numbers.once_in(2) {
            self.key = 1 + self.numbers.below(4);
        }
        self.key
    }

    /// The pattern with a value in each of its places.
    fn filled(&mut self, pattern: &str, number: usize) -> String {
        let mut text = pattern.to_owned();
        while let Some(place) = text.find('$') {
            let letter = text[place + 1..].chars().next();
            let value = match letter {
                Some('c') => self.numbers.pick(&CONDITIONS).to_owned(),
                Some('e') => self.numbers.pick(&EXPRESSIONS).to_owned(),
                Some('k') => self.key().to_string(),
                Some('s') => self.numbers.below(3).to_string(),
                Some('r') if number > 0 => format!("r{}", self.numbers.below(number)),
                Some('r') => "NULL".to_owned(),
                _ => {
                    self.fresh += 1;
                    if letter == Some('f') { (100 * self.fresh).to_string() } else { self.fresh.to_string() }
                }
            };
            text.replace_range(place..place + 2, &value);
        }
        text
    }
}
