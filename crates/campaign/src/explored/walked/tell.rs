//! The report about a command on a server, in words and in JSON.
//!
//! ```text
//!   pytest -q
//!     postgres  9 runs, 5 histories, 2 not serializable
//!       fails   in 2 runs
//!       4 of 5 transactions overlapped with another in some run
//! ```

use super::tally::WalkTally;
use super::{WalkedApplication, WalkedLevel};
use crate::counted;
use crate::explored::{Exhibit, histories_of, told_run};
use crate::served::PAGE;
use serde_json::{Value, json};
use skew_view::finding::FoundIn;
use skew_view::{Palette, words};
use std::fmt::Write;

/// What a command is asked, as an assertion.
const ASSERTION: &str = "exit code 0";

impl WalkedApplication<'_> {
    /// The command and what it begins with.
    pub fn found_in(&self) -> FoundIn {
        super::super::application::found_in(self.line.words, self.initial.as_ref())
    }

    /// The report for people.
    pub fn human(&self, levels: &[WalkedLevel], palette: Palette) -> String {
        let Palette { heading, end, .. } = palette;
        let mut text = format!("{heading}{}{end}\n", words::clean(&self.line.words.join(" ")));
        let width = levels.iter().map(|level| level.name().len()).max().unwrap_or(0);
        for level in levels {
            let _ = write!(text, "  {:width$}  ", level.name());
            self.tell_level(&level.tally, palette, &mut text);
        }
        let first = levels.iter().find_map(|level| Some((level.tally.shown()?, level.exhibit.as_ref()?)));
        let Some((kept, Exhibit { found, replay, .. })) = first else { return text };
        text.push('\n');
        if let Some(how) = &kept.failure {
            let behind = kept.behind.as_ref().map_or_else(String::new, |behind| format!(" ({behind})"));
            let _ = writeln!(text, "{how}{behind}, and it said:");
            kept.output.lines().for_each(|line| {
                let _ = writeln!(text, "  {}", words::clean(line));
            });
            text.push('\n');
        }
        if let Some(history) = &kept.history {
            let _ = writeln!(text, "{}", told_run(history, found.as_ref(), palette));
        }
        let _ = writeln!(text, "{replay}");
        text
    }

    fn tell_level(&self, found: &WalkTally, palette: Palette, text: &mut String) {
        let Palette { good, bad, doubtful, end, .. } = palette;
        let _ = write!(text, "{}, {}", counted(found.runs, "run"), histories_of(found.histories));
        if found.violating > 0 {
            let _ = write!(text, ", {} not {}", counted(found.violating, "run"), self.terms.against);
        }
        text.push('\n');
        let _ = match found.failed {
            0 if !found.could_race() => {
                writeln!(text, "    {doubtful}inconclusive{end}  nothing could race; {PAGE}")
            }
            0 if found.is_open() => writeln!(text, "    {doubtful}inconclusive{end}  fails in none that was seen"),
            0 => writeln!(text, "    {good}passes{end}  in every order of its requests"),
            failed => writeln!(text, "    {bad}fails{end}   in {}", counted(failed, "run")),
        };
        let overlap = found.overlap;
        let all = counted(overlap.transactions, "transaction");
        let _ = writeln!(text, "    {} of {all} of all runs overlapped with another", overlap.overlapped);
        for (why, times) in &found.open {
            let _ = writeln!(text, "    {}: {}", counted(*times, "run"), words::clean(why));
        }
        for (what, times) in &found.unsupported {
            let _ = writeln!(text, "    not supported, {}: {}", counted(*times, "time"), words::clean(what));
        }
        if found.undecided > 0 {
            let _ = writeln!(text, "    inconclusive what kind of run it is: {}", counted(found.undecided, "run"));
        }
        if found.unfinished {
            text.push_str("    not everything was explored\n");
        }
    }

    /// The report for programs.
    pub fn json(&self, levels: &[WalkedLevel]) -> Value {
        let levels: Vec<Value> = levels.iter().map(|level| self.level_json(level)).collect();
        json!({"skew": 1, "command": self.line.words, "levels": levels})
    }

    fn level_json(&self, level: &WalkedLevel) -> Value {
        let WalkedLevel { tally, exhibit, .. } = level;
        let exhibit = exhibit.as_ref().filter(|_| tally.failed > 0);
        json!({
            "level": level.name(),
            "base": super::OWN_LEVELS,
            "updates": "atomic",
            "granularity": "row",
            "histories": tally.histories,
            "explored": tally.runs - tally.redundant,
            "runs": tally.runs,
            "against": self.terms.against.name(),
            "violating": tally.violating,
            "complete": !tally.is_open(),
            "undecided": {"level": 0, "final_states": 0, "against": tally.undecided},
            "contention": {"transactions": tally.overlap.transactions, "overlapped": tally.overlap.overlapped, "could_overlap": tally.overlap.could},
            "unsupported": tally.unsupported.iter().map(|(what, times)| json!({"what": what, "times": times})).collect::<Vec<_>>(),
            "open": tally.open,
            "assertions": [{
                "name": ASSERTION,
                "violations": tally.failed,
                "counterexample": exhibit.and_then(|exhibit| exhibit.saved.as_ref()),
                "replay": exhibit.map(|exhibit| &exhibit.replay),
            }],
        })
    }
}
