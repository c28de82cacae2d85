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

use super::super::shown::told_run;
use super::super::tell::histories_of;
use super::super::{Arguments, numbered};
use super::Initial;
use super::found::{Counts, Found, Smallest};
use crate::input::Complaint;
use crate::output::{unwritable, write_whole};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use skew_campaign::counted;
use skew_check::Counterexample;
use skew_history::IsolationLevel;
use skew_view::finding::FoundIn;
use skew_view::{Finding, Palette, words};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

/// What a command is asked, as an assertion.
const ASSERTION: &str = "exit code 0";

/// What is shown of a level.
#[derive(Default)]
pub(super) struct Shown {
    /// Why the smallest run that fails, or else violates what runs are compared with, is not what it is compared with, if it is not.
    found: Option<Counterexample>,
    replay: Option<String>,
    saved: Option<String>,
}

impl Arguments {
    /// One for each level: what is wrong with the smallest run there, and where it was kept.
    pub(super) fn keep_shown(
        &self,
        levels: &[(IsolationLevel, Found)],
        initial: &Initial,
    ) -> Result<Vec<Shown>, Complaint> {
        if let Some(folder) = &self.save {
            fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        }
        let mut number = 0;
        let mut shown = Vec::with_capacity(levels.len());
        for (level, found) in levels {
            let Some(smallest) = smallest(found) else {
                shown.push(Shown::default());
                continue;
            };
            let found = smallest.history.as_ref().and_then(|history| self.explained(history));
            let replay = self.replay_line(level.name(), &[], &smallest.schedule.to_string());
            let mut one = Shown { found, replay: Some(replay.clone()), saved: None };
            if let (Some(folder), Some(found)) = (&self.save, &one.found) {
                number += 1;
                let path = numbered(folder, number, found.kind.name());
                let found_in = self.found_in(initial);
                let text = Finding::new(found, found_in, replay).to_json();
                let text = text.map_err(|error| unwritable(&path, &std::io::Error::other(error.to_string())))?;
                write_whole(&path, text).map_err(|error| unwritable(&path, &error))?;
                one.saved = Some(path.to_string_lossy().into_owned());
            }
            shown.push(one);
        }
        Ok(shown)
    }

    /// The command and what it begins with.
    fn found_in(&self, initial: &Initial) -> FoundIn {
        let mut hash = Sha256::new();
        let parts = self.command.iter().map(String::as_str).chain(initial.iter().map(|it| it.1.as_str()));
        for part in parts {
            // Lengths first, or `a` + `bc` would be `ab` + `c`.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        FoundIn { file: self.command.join(" "), format: "command".to_owned(), sha256 }
    }

    pub(super) fn human_command(
        &self,
        levels: &[(IsolationLevel, Found)],
        shown: &[Shown],
        palette: Palette,
    ) -> String {
        let Palette { heading, end, .. } = palette;
        let mut text = format!("{heading}{}{end}\n", words::clean(&self.command.join(" ")));
        let width = levels.iter().map(|it| it.0.name().len()).max().unwrap_or(0);
        for (level, found) in levels {
            self.tell_command(*level, found, width, palette, &mut text);
        }
        let first = levels.iter().zip(shown).find_map(|(level, shown)| Some((smallest(&level.1)?, shown)));
        let Some((smallest, Shown { found, replay: Some(replay), .. })) = first else { return text };
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

    fn tell_command(&self, level: IsolationLevel, found: &Found, width: usize, palette: Palette, text: &mut String) {
        let Palette { good, bad, doubtful, end, .. } = palette;
        let _ = write!(text, "  {:width$}  {}", level.name(), histories_of(found.histories));
        if found.explored != found.histories {
            let _ = write!(text, " of {} explored", found.explored);
        }
        if found.runs != found.histories {
            let _ = write!(text, ", {}", counted(found.runs, "run"));
        }
        if found.violating > 0 {
            let _ = write!(text, ", {} not {}", found.violating, self.against());
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

    pub(super) fn json_command(&self, levels: &[(IsolationLevel, Found)], shown: &[Shown]) -> Value {
        let level = |((level, found), shown): (&(IsolationLevel, Found), &Shown)| {
            let failed = found.failed() > 0;
            json!({
                "level": level.name(),
                "base": self.base_name(level.name()),
                "updates": self.updates_name(),
                "granularity": self.granularity_name(),
                "histories": found.histories,
                "explored": found.explored,
                "runs": found.runs,
                "against": self.against().name(),
                "violating": found.violating,
                "complete": !found.is_open(),
                "undecided": {"level": found.unknown, "final_states": 0, "against": found.undecided},
                "set_up": counts_json(&found.set_up),
                "took_part": counts_json(&found.took_part),
                "open": found.open,
                "afterwards": found.afterwards,
                "overruled": found.overruled,
                "assertions": [{
                    "name": ASSERTION,
                    "violations": found.failed(),
                    "counterexample": shown.saved.as_ref().filter(|_| failed),
                    "replay": shown.replay.as_ref().filter(|_| failed),
                }],
                "list": if self.list { Some(&found.listed) } else { None },
            })
        };
        let levels: Vec<Value> = levels.iter().zip(shown).map(level).collect();
        json!({"skew": 1, "command": self.command, "levels": levels})
    }
}

/// Who set up and who took part: whoever expected somebody else sees it here.
fn tell_sessions(found: &Found, text: &mut String) {
    let list = |counts: &BTreeMap<String, Counts>| {
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

fn counts_json(counts: &BTreeMap<String, Counts>) -> Value {
    let one = |(name, counts): (&String, &Counts)| json!({"session": name, "transactions": {"fewest": counts.fewest, "most": counts.most}});
    counts.iter().map(one).collect()
}

/// The run of a level that is shown.
fn smallest(found: &Found) -> Option<&Smallest> {
    found.failure.as_ref().or(found.violation.as_ref())
}
