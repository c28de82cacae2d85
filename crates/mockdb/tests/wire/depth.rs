//! Probabilistic concurrency testing keeps its bound: ten bugs of known depth, each found at least as often as promised.
//!
//! A bug of depth d needs d orderings of steps. With n clients that take k steps together, priorities of chance and d − 1 changes find it with
//! probability 1/(n·k^(d−1)) at least. All clients are there and have begun before the first step, so that each could move; they say what they say without
//! thinking, and leave when they have done it.
//!
//! `SKEW_PCT` is how often each is tried; `benchmarks/pct.py` asks for more, and keeps the table.

use crate::racing::{connect, number, served};
use crate::raw::Raw;
use skew_mockdb::wire::{AdversarySettings, Learned, Schedule, Strategy};
use std::io::Write;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

/// A bug: what its clients do after BEGIN, each line a statement, and what is told at the end when it has happened.
struct Bug {
    name: &'static str,
    depth: u32,
    /// What a `KEEP` line answers is kept; `$` in later ones is that and one more.
    clients: &'static [&'static [&'static str]],
    /// A question, and what is not answered when the bug has happened.
    right: (&'static str, &'static [&'static str]),
}

const READ: &str = "KEEP SELECT balance FROM account WHERE id = 1";
const WRITE: &str = "UPDATE account SET balance = $ WHERE id = 1";
const NOTE: &str = "INSERT INTO seen VALUES (DEFAULT, (SELECT balance FROM account WHERE id = 1))";
const RAISE: &str = "UPDATE account SET balance = balance + 1 WHERE id = 1";
const ADD_UP: &str = "SELECT balance FROM account WHERE id = 1";
const SEEN: &str = "SELECT coalesce(string_agg(balance::text, ' ' ORDER BY id), '') FROM seen";

const BUGS: [Bug; 10] = [
    Bug {
        name: "seen before it is there",
        depth: 1,
        clients: &[
            &["INSERT INTO account VALUES (3, 7)"],
            &["INSERT INTO seen SELECT 1, balance FROM account WHERE id = 3"],
        ],
        right: (SEEN, &["7"]),
    },
    Bug {
        name: "deleted before it is there",
        depth: 1,
        clients: &[&["INSERT INTO account VALUES (3, 7)"], &["DELETE FROM account WHERE id = 3"]],
        right: ("SELECT count(*) FROM account", &["2"]),
    },
    Bug {
        name: "the last one wins",
        depth: 1,
        clients: &[&["UPDATE account SET balance = 1 WHERE id = 1"], &["UPDATE account SET balance = 2 WHERE id = 1"]],
        right: (ADD_UP, &["2"]),
    },
    Bug { name: "lost update", depth: 2, clients: &[&[READ, WRITE], &[READ, WRITE]], right: (ADD_UP, &["102"]) },
    Bug {
        name: "one of three updates lost",
        depth: 2,
        clients: &[&[READ, WRITE], &[READ, WRITE], &[READ, WRITE]],
        right: (ADD_UP, &["103"]),
    },
    Bug {
        name: "two reads differ",
        depth: 2,
        clients: &[&[NOTE, NOTE], &[RAISE]],
        right: (SEEN, &["100 100", "101 101"]),
    },
    Bug {
        name: "taken twice",
        depth: 2,
        clients: &[
            &["KEEP SELECT count(*) FROM seen", "INSERT INTO seen VALUES (DEFAULT, $)"],
            &["KEEP SELECT count(*) FROM seen", "INSERT INTO seen VALUES (DEFAULT, $)"],
        ],
        right: (SEEN, &["1 2"]),
    },
    Bug {
        name: "deadlock",
        depth: 2,
        clients: &[
            &[RAISE, "UPDATE account SET balance = 1 WHERE id = 2"],
            &["UPDATE account SET balance = 2 WHERE id = 2", RAISE],
        ],
        right: (ADD_UP, &["102"]),
    },
    Bug {
        name: "seen in between",
        depth: 3,
        clients: &[&[NOTE, NOTE], &[RAISE, "COMMIT AND CHAIN", RAISE]],
        right: (SEEN, &["100 100", "101 101", "102 102", "100 102", "101 102"]),
    },
    Bug {
        name: "every step seen",
        depth: 4,
        clients: &[&[NOTE, NOTE, NOTE], &[RAISE, "COMMIT AND CHAIN", RAISE]],
        right: (
            SEEN,
            &[
                "100 100 100",
                "101 101 101",
                "102 102 102",
                "100 100 101",
                "100 100 102",
                "100 101 101",
                "100 102 102",
                "101 101 102",
                "101 102 102",
            ],
        ),
    },
];

/// Says all lines of a client.
fn play(client: &mut Raw, lines: &[&str]) {
    let mut kept = 0;
    for line in lines {
        match line.strip_prefix("KEEP ") {
            Some(question) => kept = number(&client.query(question)),
            None => drop(client.query(&line.replace('$', &(kept + 1).to_string()))),
        }
    }
    client.query("COMMIT");
}

impl Bug {
    /// How many steps there are.
    fn steps(&self) -> u32 {
        let lines = |client: &&[&str]| client.len() as u32 + 1;
        self.clients.iter().map(lines).sum()
    }

    fn bound(&self) -> f64 {
        1.0 / (self.clients.len() as f64 * f64::from(self.steps()).powi(self.depth as i32 - 1))
    }

    /// Whether it happens in the run of a seed.
    fn happens(&self, seed: u64) -> bool {
        let learned = Learned { steps: Some(self.steps()), thinking: Some(12_500), races: false };
        let (strategy, depth, hold) = (Strategy::Pct, Some(self.depth), Duration::from_secs(10));
        let served = served(seed, Schedule::Adversary(AdversarySettings { strategy, depth, hold, learned }));
        let mut first = served.with_accounts();
        first.query("CREATE TABLE seen (id SERIAL PRIMARY KEY, balance INT)");
        let (address, barrier) = (served.address, Arc::new(Barrier::new(self.clients.len())));
        let begin = |lines: &'static [&'static str]| {
            let barrier = Arc::clone(&barrier);
            thread::spawn(move || {
                let mut client = connect(address);
                client.query("BEGIN");
                barrier.wait();
                play(&mut client, lines);
            })
        };
        let threads: Vec<_> = self.clients.iter().map(|lines| begin(lines)).collect();
        threads.into_iter().for_each(|one| one.join().unwrap());
        let told = first.query(self.right.0)[0].trim_start_matches("D ").to_owned();
        drop(first);
        served.stop();
        !self.right.1.contains(&told.as_str())
    }
}

#[test]
fn bugs_of_known_depth_are_found_as_often_as_promised() {
    let runs: u32 = std::env::var("SKEW_PCT").ok().and_then(|runs| runs.parse().ok()).unwrap_or(30);
    let mut late = Vec::new();
    for bug in &BUGS {
        let found = (0..runs).filter(|seed| bug.happens(u64::from(*seed))).count();
        let (rate, bound) = (found as f64 / f64::from(runs), bug.bound());
        let (name, depth, clients, steps) = (bug.name, bug.depth, bug.clients.len(), bug.steps());
        let line = format!(
            "pct: {name:28} d {depth} n {clients} k {steps:2}  found {found:4} of {runs}  {rate:.3}  bound {bound:.4}\n"
        );
        // To be kept by the benchmark.
        let _ = std::io::stdout().write_all(line.as_bytes());
        let chance = (bound * (1.0 - bound) / f64::from(runs)).sqrt();
        if rate < bound - 3.0 * chance {
            late.push(line);
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}
