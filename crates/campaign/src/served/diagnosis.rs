//! Whether anything could race: how many transactions of all runs overlapped, how much was held back, and what clients were refused.
//!
//! ```text
//!   41 of 310 transactions overlapped with another, 58 could have
//!   23 requests were held back, 0.41 s together
//!   not supported: LISTEN is not supported (3)
//! ```
//!
//! On a server at an engine's levels a test in which nothing could race passes whatever the isolation level is. So its passing is no answer, and
//! is never told as one. A failure in a run in which something was refused that no passing run was refused may be the database's, not the
//! application's; it is told as such, and is no answer either.

use crate::anomalies::counted;
use serde_json::{Value, json};
use skew_mockdb::wire::{HeldRequests, Overlap, WireSummary};
use skew_view::words;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

/// The page of the book that helps where nothing could race.
pub(crate) const PAGE: &str = "see \"Writing a test that can race\" in the book (docs/src/racing.md)";
/// So many kinds of what was refused are listed.
const MOST_LISTED: usize = 10;

/// All runs together.
#[derive(Default)]
pub struct Diagnosis {
    /// Runs on a server at an engine's levels.
    runs: u64,
    overlap: Overlap,
    held: HeldRequests,
    unsupported: BTreeMap<String, u64>,
    /// What runs were refused that passed all the same.
    harmless: BTreeSet<String>,
    /// How often runs were not as the log that they follow, and where first.
    divergences: u64,
    diverged: Option<String>,
}

impl Diagnosis {
    /// Counts a run.
    pub(super) fn count(&mut self, summary: &WireSummary, passed: bool) {
        if let Some(contention) = &summary.contention {
            self.runs += 1;
            self.overlap = self.overlap.and(contention.overlap);
            self.divergences += contention.divergences;
            self.diverged = self.diverged.take().or_else(|| contention.diverged.clone());
            let HeldRequests { holds, time, by_time } = contention.held;
            let sum = &mut self.held;
            (sum.holds, sum.time, sum.by_time) = (sum.holds + holds, sum.time + time, sum.by_time + by_time);
        }
        for (what, times) in &summary.unsupported {
            *self.unsupported.entry(what.clone()).or_default() += times;
            if passed {
                self.harmless.insert(what.clone());
            }
        }
    }

    /// Whether there were runs on a server at an engine's levels in none of which two transactions could overlap.
    pub fn nothing_could_race(&self) -> bool {
        self.runs > 0 && self.overlap.could == 0
    }

    /// Whether two transactions overlapped in any run on such a server.
    pub(super) fn something_overlapped(&self) -> bool {
        self.overlap.overlapped > 0
    }

    /// Whether a run was refused something that no passing run was refused.
    pub(super) fn explains<'a>(&self, refused: impl IntoIterator<Item = &'a String>) -> bool {
        refused.into_iter().any(|what| !self.harmless.contains(what))
    }

    /// The lines of a report.
    pub fn tell(&self, text: &mut String) {
        if self.runs > 0 {
            tell_contention(self.overlap, self.held, text);
        }
        if let Some(first) = &self.diverged {
            let times = counted(self.divergences, "difference");
            let _ = writeln!(
                text,
                "  the run is not the one in the log, with {times}; the first at {}",
                words::clean(first)
            );
        }
        let refused: u64 = self.unsupported.values().sum();
        if refused > 0 {
            let statements = counted(refused, "statement");
            let _ = writeln!(text, "  {statements} refused, because the mock database does not support them:");
        }
        for (what, times) in self.unsupported.iter().take(MOST_LISTED) {
            let times = if *times == 1 { String::new() } else { format!(" ({times})") };
            let _ = writeln!(text, "    {}{times}", words::clean(what));
        }
        if self.unsupported.len() > MOST_LISTED {
            let _ = writeln!(text, "    … and {} more", self.unsupported.len() - MOST_LISTED);
        }
    }

    /// The same as JSON; nothing of races on a weak database.
    pub(super) fn json(&self) -> Value {
        let Overlap { transactions, overlapped, could } = self.overlap;
        let HeldRequests { holds, time, by_time } = self.held;
        let contention = json!({
            "transactions": transactions, "overlapped": overlapped, "could_overlap": could,
            "holds": holds, "held_seconds": time.as_secs_f64(), "decided_by_time": by_time,
        });
        json!({
            "diverged": self.diverged,
            "contention": if self.runs > 0 { contention } else { Value::Null },
            "unsupported": self.unsupported.iter().map(|(what, times)| json!({"what": what, "times": times})).collect::<Vec<_>>(),
        })
    }
}

/// Who overlapped, and what was held.
pub fn tell_contention(overlap: Overlap, held: HeldRequests, text: &mut String) {
    let Overlap { transactions, overlapped, could } = overlap;
    let all = counted(transactions, "transaction");
    let _ = match could {
        0 => writeln!(text, "  nothing could race: none of {all} could overlap with another; {PAGE}"),
        could => writeln!(text, "  {overlapped} of {all} overlapped with another, {could} could have"),
    };
    if held.holds > 0 {
        let _ = writeln!(text, "  {} held back, {} s together", held_requests(held.holds), seconds(held.time));
    }
}

fn held_requests(holds: u64) -> String {
    if holds == 1 { "1 request was".to_owned() } else { format!("{holds} requests were") }
}

fn seconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(transactions: u64, overlapped: u64, could: u64, holds: u64) -> String {
        let mut text = String::new();
        let held = HeldRequests { holds, time: Duration::from_millis(410), by_time: 0 };
        tell_contention(Overlap { transactions, overlapped, could }, held, &mut text);
        text
    }

    #[test]
    fn where_nothing_could_race_that_is_said() {
        assert!(
            told(3, 0, 0, 0).starts_with("  nothing could race: none of 3 transactions could overlap with another")
        );
        let races = "  2 of 3 transactions overlapped with another, 3 could have\n  4 requests were held back, 0.41 s together\n";
        assert_eq!(told(3, 2, 3, 4), races);
    }

    #[test]
    fn what_a_passing_run_was_refused_explains_no_failure() {
        let mut diagnosis = Diagnosis::default();
        diagnosis.harmless.insert("LISTEN".to_owned());
        assert!(!diagnosis.explains(&["LISTEN".to_owned()]));
        assert!(diagnosis.explains(&["LISTEN".to_owned(), "NOTIFY".to_owned()]));
        assert!(!diagnosis.explains(&[]));
    }
}
