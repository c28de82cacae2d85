//! Answers about programs by chance, held against the explorer, which makes all their runs at the same level with one call per session.
//!
//! ```text
//!   program ── skew analyze ──┬── robust, none-up-to-k    no run with drawn arguments may end as no serial order does
//!                             ├── confirmed               its run is made again, and is not serializable
//!                             └── potential               do drawn arguments show it, or is it refuted as far as was looked?
//! ```
//!
//! | module | what it knows |
//! |---|---|
//! | `draw` | the programs |
//! | `oracle` | what the explorer has of them |
//!
//! `SKEW_PROGRAMS` says how many programs, `SKEW_SEED` with which to begin; a contradiction is told with its program. `benchmarks/soundness.py` asks
//! about many.

mod draw;
mod oracle;

use draw::{Wealth, calls, program};
use oracle::{explored, replayed};
use serde_json::Value;
use skew_analyze::UnfoldOptions;
use skew_campaign::analyzed::{AnalyzeSettings, Analyzed, AnalyzedText, Baseline};
use skew_chance::Random;
use skew_history::IsolationLevel;
use skew_testing::say;
use std::collections::BTreeMap;

/// How many programs without being told.
const PROGRAMS: u64 = 30;

/// Calls that are drawn for each answer.
const TRIES: usize = 3;

const POSTGRES: [&str; 3] = ["postgres:read-committed", "postgres:repeatable-read", "postgres:serializable"];
const PAPERS: [&str; 5] = ["read-atomic", "causal", "prefix", "psi", "snapshot"];

/// What all answers add up to.
#[derive(Default)]
struct Account {
    counts: BTreeMap<&'static str, usize>,
    contradictions: Vec<String>,
}

impl Account {
    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn of(&self, what: &str) -> usize {
        self.counts.get(what).copied().unwrap_or_default()
    }
}

fn from_environment(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// The answers about a program; nothing where it cannot be read.
fn answers(text: &str, levels: &[&str], cells: bool) -> Option<Vec<Value>> {
    let levels = levels.iter().map(|level| level.parse().expect("a level")).collect();
    let options = UnfoldOptions { cells, ..UnfoldOptions::default() };
    let settings = AnalyzeSettings::new(levels, options, false, false);
    let text = AnalyzedText::new(&[("drawn.sql".to_owned(), text.to_owned())]).ok()?;
    let analyzed = Analyzed::new(text, settings, &Baseline::default()).ok()?;
    let report: Value = serde_json::from_str(&analyzed.json()).expect("JSON");
    let questions = report["questions"].as_array().expect("questions").iter();
    Some(questions.filter(|one| one["engine"] != "lint").cloned().collect())
}

/// A program and what is asked about it.
struct Subject<'a> {
    seed: u64,
    text: &'a str,
    procedures: usize,
    /// Whether conflicts are about columns: then only what runs end with counts, because histories are of rows.
    cells: bool,
}

impl Subject<'_> {
    /// Whether the explorer shows that something goes wrong with calls of some procedures, and whether it looked at everything.
    fn goes_wrong(
        &self,
        level: IsolationLevel,
        procedures: &[usize],
        random: &mut Random,
    ) -> Option<(String, bool, bool)> {
        let (mut shown, mut is_whole) = (None, true);
        for _ in 0..TRIES {
            let whole = format!("{}{}", self.text, calls(random, procedures));
            let Ok(seen) = explored(&whole, level) else {
                is_whole = false;
                continue;
            };
            is_whole &= seen.is_whole;
            if seen.differs || (seen.is_broken && !self.cells) {
                shown = Some(whole);
                break;
            }
        }
        Some((shown.clone().unwrap_or_default(), shown.is_some(), is_whole))
    }

    fn look_at(&self, question: &Value, random: &mut Random, account: &mut Account) {
        let name = question["level"].as_str().expect("a level");
        let level: IsolationLevel = name.parse().expect("a level");
        let all: Vec<usize> = (0..self.procedures).collect();
        let at = format!("seed {} at {name}, cells {}", self.seed, self.cells);
        match question["verdict"].as_str().expect("a verdict") {
            "unknown" => account.count("unknown"),
            verdict @ ("robust" | "none-up-to-k") => {
                account.count(if verdict == "robust" { "robust" } else { "none-up-to-k" });
                let Some((whole, is_shown, is_whole)) = self.goes_wrong(level, &all, random) else { return };
                account.count(if is_whole { "explored to the end" } else { "explored in part" });
                if is_shown {
                    account.contradictions.push(format!("{at}: {verdict}, and the explorer has a run\n{whole}"));
                }
            }
            _ => {
                for finding in question["findings"].as_array().expect("findings") {
                    self.look_at_finding(finding, (level, &at), random, account);
                }
            }
        }
    }

    fn look_at_finding(
        &self,
        finding: &Value,
        (level, at): (IsolationLevel, &str),
        random: &mut Random,
        account: &mut Account,
    ) {
        match finding["status"].as_str().expect("a status") {
            "confirmed" => {
                account.count("confirmed");
                let replay = finding["replay"].as_str().expect("a line");
                let schedule = replay.split('\'').nth(1).expect("a run");
                let program = finding["program"].as_str().expect("a program");
                match replayed(program, level, schedule) {
                    Ok(true) => account.count("confirmed and replayed"),
                    Ok(false) => {
                        account
                            .contradictions
                            .push(format!("{at}: confirmed by {schedule}, which is serializable\n{program}"));
                    }
                    Err(why) => account.contradictions.push(format!("{at}: confirmed by {schedule}: {why}\n{program}")),
                }
            }
            "harmless" => account.count("harmless"),
            _ => {
                account.count("potential");
                let name = |one: &Value| one.as_str().and_then(|name| name[1..].parse::<usize>().ok());
                let mut members: Vec<usize> =
                    finding["transactions"].as_array().expect("transactions").iter().filter_map(name).collect();
                members.sort_unstable();
                members.dedup();
                match self.goes_wrong(level, &members, random) {
                    Some((_, true, _)) => account.count("potential and shown by drawn calls"),
                    Some((_, false, true)) => account.count("potential and refuted by drawn calls"),
                    _ => account.count("potential and not settled"),
                }
            }
        }
    }
}

fn compare(name: &str, levels: &[&str], programs: u64, wealth: impl Fn(u64) -> Wealth) -> Account {
    let first = from_environment("SKEW_SEED", 1);
    let mut account = Account::default();
    for seed in (first..).take(usize::try_from(programs).unwrap_or_default()) {
        let mut random = Random::new(seed);
        let drawn = program(&mut random, wealth(seed));
        // The papers' levels are asked about columns only.
        let cells = levels == PAPERS || seed % 3 != 0;
        let Some(questions) = answers(&drawn.text, levels, cells) else {
            account.count("not read");
            continue;
        };
        account.count("programs");
        let subject = Subject { seed, text: &drawn.text, procedures: drawn.procedures, cells };
        questions.iter().for_each(|question| subject.look_at(question, &mut random, &mut account));
    }
    let told: Vec<String> = account.counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
    say(&format!("{name}: {}; {} contradictions", told.join(", "), account.contradictions.len()));
    account.contradictions.iter().for_each(|one| say(one));
    account
}

#[test]
fn answers_about_postgresql_are_not_contradicted() {
    let wealth = |seed: u64| if seed.is_multiple_of(2) { Wealth::Rich } else { Wealth::Common };
    let account = compare("PostgreSQL's levels", &POSTGRES, from_environment("SKEW_PROGRAMS", PROGRAMS), wealth);
    assert!(account.contradictions.is_empty(), "{}", account.contradictions[0]);
    let is_enough = account.of("robust") > 10 && account.of("confirmed and replayed") > 0;
    assert!(account.of("programs") < 15 || is_enough, "{:?}", account.counts);
}

#[test]
fn answers_about_the_levels_of_papers_are_not_contradicted() {
    let programs = from_environment("SKEW_PROGRAMS", PROGRAMS);
    let account = compare("the papers' levels", &PAPERS, programs, |_| Wealth::Common);
    assert!(account.contradictions.is_empty(), "{}", account.contradictions[0]);
    let is_enough = account.of("robust") + account.of("none-up-to-k") > 5;
    assert!(account.of("programs") < 15 || is_enough, "{:?}", account.counts);
}
