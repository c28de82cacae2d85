//! Random small programs: what is explored is what every order and every writer give, judged by the definitions.
//!
//! Statements look up, count ranges, update by key and by scan, insert (also what is there already, which aborts), delete, and decide
//! by what they found. Two sessions, one of which may have a second call, keep brute force possible. `SKEW_SEED` and `SKEW_PROGRAMS`
//! repeat or extend.

use crate::explored::equals_brute_force;
use skew_check::Updates;
use skew_explore::{Granularity, SqlOptions};
use skew_history::IsolationLevel;

/// A seeded row of numbers (SplitMix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn pick(&mut self, words: &[&str]) -> String {
        let place = self.below(words.len() as u64) as usize;
        words[place].to_owned()
    }
}

fn statement(numbers: &mut Numbers, value: u64) -> String {
    let pattern = numbers.pick(&[
        "SELECT v INTO found FROM t WHERE id = $k;",
        "SELECT v INTO found FROM t WHERE id = $k FOR UPDATE;",
        "SELECT COUNT(*) INTO found FROM t WHERE id BETWEEN $k AND 3;",
        "SELECT id INTO found FROM t ORDER BY id DESC LIMIT 1;",
        "SELECT COUNT(*) INTO found FROM t a JOIN t b ON b.id = a.v;",
        "UPDATE t SET v = v + 1 WHERE id = $k;",
        "UPDATE t SET v = COALESCE(found, 0) WHERE id = $k;",
        "UPDATE t SET v = $n WHERE v < 1;",
        "INSERT INTO t VALUES ($k, $n);",
        "REPLACE INTO t VALUES ($k, $n);",
        "DELETE FROM t WHERE id = $k;",
    ]);
    let key = numbers.below(3) + 1;
    let statement = pattern.replace("$k", &key.to_string()).replace("$n", &value.to_string());
    match numbers.below(5) {
        0 => format!("IF found IS NULL OR found > 0 THEN {statement} END IF;"),
        1 => format!("{statement} IF found = 0 THEN ROLLBACK; END IF;"),
        _ => statement,
    }
}

fn program(seed: u64) -> String {
    let mut numbers = Numbers(seed);
    let mut text = String::from("CREATE TABLE t (id INT PRIMARY KEY, v INT);\nINSERT INTO t VALUES (1, 0), (2, 1);\n");
    let mut sessions = String::new();
    for session in 0..2 {
        sessions.push_str(&format!("SESSION s{session}:"));
        let calls = if session == 0 { 1 + numbers.below(2) } else { 1 };
        for call in 0..calls {
            let name = format!("p{session}_{call}");
            text.push_str(&format!("CREATE PROCEDURE {name}()\nBEGIN\n  DECLARE found INT;\n"));
            for number in 0..1 + numbers.below(3) {
                let value = 100 * session + 10 * call + number + 2;
                text.push_str(&format!("  {}\n", statement(&mut numbers, value)));
            }
            text.push_str("END;\n");
            sessions.push_str(&format!(" CALL {name}();"));
        }
        sessions.push('\n');
    }
    text + &sessions
}

#[test]
fn random_programs_are_explored_as_by_brute_force() {
    let count = std::env::var("SKEW_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    let seed: u64 = std::env::var("SKEW_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for seed in seed..seed + count {
        let text = program(seed);
        for level in IsolationLevel::of_papers() {
            for updates in [Updates::Atomic, Updates::Plain] {
                let granularity = if seed % 4 == 0 { Granularity::Cell } else { Granularity::Row };
                equals_brute_force(&text, level, SqlOptions { updates, granularity, ..SqlOptions::default() });
            }
        }
    }
}
