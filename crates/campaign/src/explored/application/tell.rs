//! The report about a command, in words and in JSON.
//!
//! ```text
//!   python withdraw.py
//!     read-committed  3 histories of 4 explored, 4 runs, 1 not serializable
//!       fails   in 1 history
//!       set up by client (3 transactions); took part: alice (1 transaction), bob (1 transaction)
//!     serializable    2 histories of 4 explored
//!       passes  in every run
//! ```

use super::tally::{CommandTally, FewestAndMost};
use super::{Application, ExploredLevel};
use crate::counted;
use crate::explored::{Exhibit, histories_of, told_run};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use skew_view::finding::FoundIn;
use skew_view::{Palette, words};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a command is asked, as an assertion.
const ASSERTION: &str = "exit code 0";

/// A command and the tables and rows that it begins with.
pub(in crate::explored) fn found_in(words: &[String], initial: Option<&(String, String)>) -> FoundIn {
    let mut hash = Sha256::new();
    for part in words.iter().map(String::as_str).chain(initial.map(|it| it.1.as_str())) {
        // Lengths first, or `a` + `bc` would be `ab` + `c`.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    FoundIn { file: words.join(" "), format: "command".to_owned(), sha256 }
}

impl Application<'_> {
    /// The command and what it begins with.
    pub fn found_in(&self) -> FoundIn {
        found_in(self.line.words, self.initial)
    }

    /// The report for people.
    pub fn human(&self, levels: &[ExploredLevel], palette: Palette) -> String {
        let Palette { heading, end, .. } = palette;
        let mut text = format!("{heading}{}{end}\n", words::clean(&self.line.words.join(" ")));
        let width = levels.iter().map(|level| level.level.name().len()).max().unwrap_or(0);
        for level in levels {
            self.tell_level(level, width, palette, &mut text);
        }
        let first = levels.iter().find_map(|level| Some((level.tally.shown()?, level.exhibit.as_ref()?)));
        let Some((smallest, Exhibit { found, replay, .. })) = first else { return text };
        text.push('\n');
        if let Some(how) = &smallest.failure {
            let _ = writeln!(text, "{how}, and it said:");
            for line in smallest.output.lines() {
                let _ = writeln!(text, "  {}", words::clean(line));
            }
            text.push('\n');
        }
        if let Some(history) = &smallest.history {
            let _ = writeln!(text, "{}", told_run(history, found.as_ref(), palette));
        }
        let _ = writeln!(text, "{replay}");
        text
    }

    fn tell_level(&self, explored: &ExploredLevel, width: usize, palette: Palette, text: &mut String) {
        let ExploredLevel { level, tally: found, .. } = explored;
        let Palette { good, bad, doubtful, end, .. } = palette;
        let _ = write!(text, "  {:width$}  {}", level.name(), histories_of(found.histories));
        if found.explored != found.histories {
            let _ = write!(text, " of {} explored", found.explored);
        }
        if found.runs != found.histories {
            let _ = write!(text, ", {}", counted(found.runs, "run"));
        }
        if found.violating > 0 {
            let _ = write!(text, ", {} not {}", found.violating, self.terms.against);
        }
        text.push('\n');
        let _ = match found.failed() {
            0 if found.is_open() => writeln!(text, "    {doubtful}inconclusive{end}  fails in none that was seen"),
            0 => writeln!(text, "    {good}passes{end}  in every run"),
            failed => writeln!(text, "    {bad}fails{end}   in {}", histories_of(failed)),
        };
        tell_sessions(found, text);
        for (why, runs) in &found.open {
            let _ = writeln!(text, "    {}: {}", counted(*runs, "run"), words::clean(why));
        }
        for (count, what) in [
            (found.unknown, "inconclusive whether the level allows"),
            (found.undecided, "inconclusive what kind of run is"),
        ] {
            if count > 0 {
                let _ = writeln!(text, "    {what}: {}", histories_of(count));
            }
        }
        if !found.afterwards.is_empty() {
            let names: Vec<String> = found.afterwards.iter().map(|name| words::clean(name)).collect();
            let _ = writeln!(text, "    at the end, not explored: {}", names.join(", "));
        }
        for asked in &found.overruled {
            let _ = writeln!(text, "    a session asked for {asked}; all transactions are explored at {level}");
        }
        if found.unfinished {
            text.push_str("    not everything was explored\n");
        }
        for pattern in &found.listed {
            let _ = writeln!(text, "    {}", words::clean(pattern));
        }
    }

    /// The report for programs.
    pub fn json(&self, levels: &[ExploredLevel]) -> Value {
        let levels: Vec<Value> = levels.iter().map(|level| self.level_json(level)).collect();
        json!({"skew": 1, "command": self.line.words, "levels": levels})
    }

    fn level_json(&self, ExploredLevel { level, tally, exhibit }: &ExploredLevel) -> Value {
        let exhibit = exhibit.as_ref().filter(|_| tally.failed() > 0);
        json!({
            "level": level.name(),
            "base": self.terms.base_name(*level),
            "updates": self.terms.updates_name(),
            "granularity": self.terms.granularity_name(),
            "histories": tally.histories,
            "explored": tally.explored,
            "runs": tally.runs,
            "against": self.terms.against.name(),
            "violating": tally.violating,
            "complete": !tally.is_open(),
            "undecided": {"level": tally.unknown, "final_states": 0, "against": tally.undecided},
            "set_up": counts_json(&tally.set_up),
            "took_part": counts_json(&tally.took_part),
            "open": tally.open,
            "afterwards": tally.afterwards,
            "overruled": tally.overruled,
            "assertions": [{
                "name": ASSERTION,
                "violations": tally.failed(),
                "counterexample": exhibit.and_then(|exhibit| exhibit.saved.as_ref()),
                "replay": exhibit.map(|exhibit| &exhibit.replay),
            }],
            "list": if self.terms.list { Some(&tally.listed) } else { None },
        })
    }
}

/// Who set up and who took part: whoever expected somebody else sees it here.
fn tell_sessions(found: &CommandTally, text: &mut String) {
    let list = |counts: &BTreeMap<String, FewestAndMost>| {
        let told = counts.iter().map(|(name, counts)| format!("{} ({})", words::clean(name), counts.told()));
        told.collect::<Vec<String>>().join(", ")
    };
    let mut parts = Vec::new();
    if !found.set_up.is_empty() {
        parts.push(format!("set up by {}", list(&found.set_up)));
    }
    if found.runs > 0 {
        let nobody = found.took_part.is_empty();
        parts.push(format!("took part: {}", if nobody { "nobody".to_owned() } else { list(&found.took_part) }));
    }
    if !parts.is_empty() {
        let _ = writeln!(text, "    {}", parts.join("; "));
    }
}

fn counts_json(counts: &BTreeMap<String, FewestAndMost>) -> Value {
    let one = |(name, counts): (&String, &FewestAndMost)| json!({"session": name, "transactions": {"fewest": counts.fewest, "most": counts.most}});
    counts.iter().map(one).collect()
}
