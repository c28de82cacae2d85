//! The report in words and in JSON.
//!
//! ```text
//!   withdraw.sql: 2 sessions, 2 transactions
//!     read-committed  3 histories, 1 not serializable
//!       fails  money adds up: in 1 of them
//!     serializable    2 histories
//!       holds  money adds up
//! ```

use super::again::cannot;
use super::left_out::{calls, names};
use super::shown::Shown;
use super::tally::LevelTally;
use super::unfinished::{Parts, Unfinished, UnfinishedLevel};
use super::{ExploredProgram, histories_of, told_run};
use crate::confirmed::Confirmation;
use crate::counted;
use serde_json::{Value, json};
use skew_explore::{SqlProgram, Subtree};
use skew_view::{Palette, words};
use std::fmt::Write;

impl ExploredProgram<'_> {
    /// The report for people.
    pub fn human(&self, explored: &Unfinished, shown: &[Shown], palette: Palette) -> String {
        let Palette { heading, end, .. } = palette;
        let scripts = self.program().scripts();
        let mut text = format!(
            "{heading}{}{end}: {}, {}",
            words::clean(&self.file.name),
            counted(scripts.len() as u64, "session"),
            counted((calls(self.program()).count() - self.left_out.len()) as u64, "transaction")
        );
        if !self.left_out.is_empty() {
            let _ = write!(text, ", without {}", names(self.program(), &self.left_out).join(", "));
        }
        text.push('\n');
        if let Some(Parts { of, which }) = &explored.parts
            && which.len() < *of
        {
            let list: Vec<String> = which.iter().map(usize::to_string).collect();
            let _ = writeln!(text, "  only part {} of {of}", list.join(", "));
        }
        let program = self.explorable(self.left_out.clone());
        let width = explored.levels.iter().map(|level| level.level.len()).max().unwrap_or(0);
        for level in &explored.levels {
            self.tell_level(&program, level, width, palette, &mut text);
        }
        if let Some((first, others)) = shown.split_first() {
            let told = match &first.said {
                Some(Ok(_)) if first.exhibit.found.is_none() => String::new(),
                _ => told_run(&first.history, first.exhibit.found.as_ref(), palette),
            };
            let _ = write!(text, "\n{told}");
            if let Some(Ok(said)) = &first.said {
                let gap = if told.is_empty() { "" } else { "\n" };
                let _ = write!(text, "{gap}{}", said.typed.shown(palette));
            }
            text.push('\n');
            tell_calls(first, palette, &mut text);
            self.tell_others(first, others, &mut text);
        }
        text
    }

    fn tell_level(
        &self,
        program: &SqlProgram,
        level: &UnfinishedLevel,
        width: usize,
        palette: Palette,
        text: &mut String,
    ) {
        let Palette { good, bad, doubtful, end, .. } = palette;
        let LevelTally { explored, histories, refused_histories, violating, .. } = &level.tally;
        let _ = write!(text, "  {:width$}  {}", level.level, histories_of(*histories));
        if *explored != histories + refused_histories {
            let _ = write!(text, " of {explored} explored");
        }
        if *refused_histories > 0 {
            let codes: Vec<String> =
                level.tally.refused.iter().map(|(code, runs)| format!("{code} in {runs}")).collect();
            let _ = write!(text, " and {refused_histories} with a refusal ({})", codes.join(", "));
        }
        if violating.runs > 0 {
            let _ = write!(text, ", {} not {}", violating.runs, self.terms.against);
        }
        text.push('\n');
        for (number, (assertion, found)) in self.program().assertions().iter().zip(&level.tally.assertions).enumerate()
        {
            let name = words::clean(&assertion.name);
            let missing = program.missing(number);
            let error = found.smallest.as_ref().and_then(|smallest| smallest.error.as_deref());
            let _ = match found.runs {
                _ if !missing.is_empty() => {
                    writeln!(text, "    {doubtful}inconclusive{end}  {name}{}", self.unasked(&missing))
                }
                0 if !level.left.is_empty() || level.tally.open > 0 || level.tally.unknown > 0 => {
                    writeln!(text, "    {doubtful}inconclusive{end}  {name}: fails in none that was seen")
                }
                0 if self.is_coarse(level) => {
                    let why = "a server lets writers pass whose rows do not exclude each other, which is not tried";
                    writeln!(text, "    {doubtful}inconclusive{end}  {name}: fails in none that was seen; {why}")
                }
                0 => writeln!(text, "    {good}holds{end}  {name}"),
                runs => {
                    let why = error.map(|error| cannot(error, 11)).unwrap_or_default();
                    writeln!(text, "    {bad}fails{end}  {name}: in {}{why}", histories_of(runs))
                }
            };
        }
        for (cause, runs) in &level.tally.aborts {
            let _ = writeln!(text, "    aborted in {}: {}", histories_of(*runs), words::clean(cause));
        }
        tell_open(level, text);
        for pattern in &level.tally.listed {
            let _ = writeln!(text, "    {}", words::clean(pattern));
        }
    }

    /// The report for programs.
    pub fn json(&self, explored: &Unfinished, shown: &[Shown]) -> Value {
        let levels = explored.levels.iter().enumerate();
        let levels: Vec<Value> = levels.map(|(number, level)| self.level_json(number, level, shown)).collect();
        let parts = explored.parts.as_ref().map(|parts| json!({"of": parts.of, "which": parts.which}));
        let without = names(self.program(), &self.left_out);
        json!({"skew": 1, "file": self.file.name, "without": without, "parts": parts, "levels": levels})
    }

    fn level_json(&self, number: usize, level: &UnfinishedLevel, shown: &[Shown]) -> Value {
        let of_this =
            |assertion: Option<usize>| shown.iter().find(|shown| shown.level == number && shown.assertion == assertion);
        let assertions = self.program().assertions().iter().zip(&level.tally.assertions).enumerate();
        let assertions: Vec<Value> = assertions
            .map(|(place, (assertion, found))| {
                let shown = of_this(Some(place));
                json!({
                    "name": assertion.name,
                    "violations": found.runs,
                    "counterexample": shown.and_then(|shown| shown.exhibit.saved.clone()),
                    "error": shown.and_then(|shown| shown.error.clone()),
                    "without": shown.map(|shown| shown.without.clone()),
                    "minimal": shown.map(|shown| shown.is_minimal),
                    "replay": shown.map(|shown| shown.exhibit.replay.clone()),
                    "confirmed": shown.and_then(|shown| shown.confirmed.as_ref()).map(Confirmation::json),
                })
            })
            .collect();
        let tally = &level.tally;
        let mut told = json!({
            "level": level.level,
            "base": self.isolation(level).map_or("causal", |level| self.terms.base_name(level)),
            "updates": self.terms.updates_name(),
            "granularity": self.terms.granularity_name(),
            "histories": tally.histories,
            "explored": tally.explored,
            "against": self.terms.against.name(),
            "violating": tally.violating.runs,
            "complete": level.left.is_empty() && !tally.is_open() && !self.is_coarse(level),
            "undecided": {"level": tally.unknown, "final_states": tally.open, "against": tally.undecided},
            "aborts": tally.aborts,
            "assertions": assertions,
            "list": if self.terms.list { Some(&tally.listed) } else { None },
        });
        let is_of_engine = self.isolation(level).is_ok_and(|level| level.of_engine().is_some());
        if let Some(members) = told.as_object_mut().filter(|_| is_of_engine) {
            members.insert("refused".to_owned(), json!(tally.refused));
        }
        told
    }

    /// Of every other assertion the first counterexample, unless it is the same run.
    fn tell_others(&self, first: &Shown, others: &[Shown], text: &mut String) {
        let mut told = vec![first];
        for one in others {
            let is_told =
                |other: &&Shown| other.assertion == one.assertion || other.exhibit.replay == one.exhibit.replay;
            let assertion = one.assertion.and_then(|number| self.program().assertions().get(number));
            let Some(assertion) = assertion.filter(|_| !told.iter().any(is_told)) else { continue };
            let _ = writeln!(text, "\n{}:", words::clean(&assertion.name));
            tell_calls(one, Palette::PLAIN, text);
            told.push(one);
        }
    }
}

/// How to see a counterexample again.
fn tell_calls(shown: &Shown, palette: Palette, text: &mut String) {
    if let Some(confirmed) = &shown.confirmed {
        let _ = writeln!(text, "{}", confirmed.told(shown.assertion.is_some(), palette));
    }
    if let Some(enough) = &shown.enough {
        let _ = writeln!(text, "these calls are enough: {}\n", words::clean(&enough.join(", ")));
    }
    let _ = writeln!(text, "{}", shown.exhibit.replay);
}

fn tell_open(level: &UnfinishedLevel, text: &mut String) {
    if !level.left.is_empty() {
        let done = 1.0 - level.left.iter().map(Subtree::share).sum::<f64>();
        let _ = writeln!(text, "    not everything was explored: about {:.1} % of the tree", 100.0 * done.max(0.0));
    }
    for (count, what) in [
        (level.tally.unknown, "inconclusive whether the level allows"),
        (level.tally.open, "not all final states looked at of"),
        (level.tally.undecided, "inconclusive what kind of run is"),
    ] {
        if count > 0 {
            let _ = writeln!(text, "    {what}: {}", histories_of(count));
        }
    }
}
