//! What a server's levels prevent: for people a table per level and the interleavings, for programs JSON.
//!
//! ```text
//!   PostgreSQL 15.20 on postgresql://postgres@127.0.0.1:5432/postgres
//!
//!   repeatable-read
//!     P4        prevented: blocked, refused 40001   an update is lost
//!     G2-item   happens                             write skew: two transactions read …
//!     fits snapshot; kept: what happens is what PostgreSQL is known for
//! ```

use super::{CaseResult, CaseVerdict, Conformance, LevelResult, Promise};
use serde_json::{Value, json};
use skew_view::Palette;
use skew_view::terminals::{TerminalLine, TerminalText, terminals};
use skew_view::words::{clean, enumeration};
use skew_workload::screenplay::{CueEnd, Happening, Transcript};
use std::fmt::Write as _;

impl Conformance {
    /// A table per level; with the interleaving of every case, if that is wanted.
    pub fn told(&self, with_interleavings: bool, palette: Palette) -> String {
        let Palette { heading, doubtful, end, .. } = palette;
        let mut text = format!("{heading}{}{end} on {}\n", clean(&self.engine.words), self.url);
        if with_interleavings {
            let _ = writeln!(text, "\nbefore every case:");
            self.preparation.iter().for_each(|sql| text.push_str(&format!("  {sql};\n")));
        }
        let results = || self.levels.iter().flat_map(|level| &level.cases);
        let names = results().map(|result| result.case.name.len()).max().unwrap_or(0);
        let verdicts = results().map(|result| result.verdict.words().chars().count()).max().unwrap_or(0);
        for level in &self.levels {
            let is_default = if level.level.is_default { ", the default" } else { "" };
            let _ = writeln!(text, "\n{heading}{}{end}{is_default}", level.level.name);
            for result in &level.cases {
                result.tell(names, verdicts, palette, &mut text);
                if with_interleavings {
                    let _ = writeln!(text, "\n{}", interleaving(&result.transcript, palette));
                }
            }
            let _ = writeln!(text, "  {}", self.summary(level, palette));
        }
        if !self.is_complete {
            let _ = writeln!(text, "\n{doubtful}stopped{end}: not all cases were tried");
        }
        text
    }

    /// What the cases of a level come to.
    fn summary(&self, level: &LevelResult, palette: Palette) -> String {
        let Palette { good, bad, doubtful, end, .. } = palette;
        let fits = level.fits().map(|levels| {
            let names: Vec<&str> = levels.iter().map(|level| level.name()).collect();
            if names.is_empty() {
                "fits none of the levels; ".to_owned()
            } else {
                format!("fits {}; ", enumeration(&names))
            }
        });
        let (who, broken, stronger) = (self.engine.kind.title(), level.broken(), level.stronger());
        let promise = match level.promise() {
            Promise::Kept if stronger.is_empty() => format!("{good}kept{end}: what happens is what {who} is known for"),
            Promise::Kept => format!("{good}kept{end}: {who} is known to let happen even {}", enumeration(&stronger)),
            Promise::Broken => format!("{bad}broken{end}: {who} is known to prevent {}", enumeration(&broken)),
            Promise::Unknown if level.cases.iter().any(CaseResult::is_open) => format!("{doubtful}open{end}"),
            Promise::Unknown => format!("nothing is known of {who}"),
        };
        format!("{}{promise}", fits.unwrap_or_default())
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        json!({
            "skew": 1,
            "server": {"url": self.url, "engine": self.engine.kind.name(), "version": self.engine.words},
            "complete": self.is_complete,
            "preparation": self.preparation,
            "levels": self.levels.iter().map(LevelResult::json).collect::<Vec<Value>>(),
        })
    }
}

impl LevelResult {
    fn json(&self) -> Value {
        let promise = match self.promise() {
            Promise::Kept => "kept",
            Promise::Broken => "broken",
            Promise::Unknown => "unknown",
        };
        let fits = self.fits().map(|levels| levels.iter().map(|level| level.name()).collect::<Vec<&str>>());
        json!({
            "level": self.level.name,
            "default": self.level.is_default,
            "promise": promise,
            "broken": self.broken(),
            "stronger": self.stronger(),
            "fits": fits,
            "cases": self.cases.iter().map(CaseResult::json).collect::<Vec<Value>>(),
        })
    }
}

impl CaseResult {
    fn is_open(&self) -> bool {
        matches!(self.verdict, CaseVerdict::Inconclusive(_))
    }

    fn tell(&self, names: usize, verdicts: usize, palette: Palette, text: &mut String) {
        let Palette { good, bad, doubtful, end, .. } = palette;
        let colour = match self.verdict {
            CaseVerdict::Prevented { .. } => good,
            CaseVerdict::Happens => bad,
            CaseVerdict::Inconclusive(_) => doubtful,
        };
        let words = clean(&self.verdict.words());
        let _ = writeln!(text, "  {:names$}   {colour}{words:verdicts$}{end}   {}", self.case.name, self.case.title);
        if let CaseVerdict::Inconclusive(why) = &self.verdict {
            let _ = writeln!(text, "  {:names$}     {}", "", clean(why));
        }
    }

    fn json(&self) -> Value {
        let (verdict, refused, why) = match &self.verdict {
            CaseVerdict::Happens => ("happens", &[][..], None),
            CaseVerdict::Prevented { refused, .. } => ("prevented", refused.as_slice(), None),
            CaseVerdict::Inconclusive(why) => ("inconclusive", &[][..], Some(why)),
        };
        let known = self.known.map(|happens| if happens { "happens" } else { "prevented" });
        let mut object = json!({
            "case": self.case.name,
            "title": self.case.title,
            "verdict": verdict,
            "by": self.verdict.reasons(),
            "codes": refused,
            "known": known,
            "statements": statements(&self.transcript),
        });
        if let Some(why) = why {
            object["why"] = json!(why);
        }
        object
    }
}

impl CaseVerdict {
    /// What prevented it: `blocked`, `refused`, both, or `snapshot`.
    fn reasons(&self) -> Vec<&'static str> {
        let CaseVerdict::Prevented { blocked, refused } = self else { return Vec::new() };
        let reasons = [(*blocked, "blocked"), (!refused.is_empty(), "refused")];
        let reasons: Vec<&str> = reasons.iter().filter(|(is_one, _)| *is_one).map(|(_, word)| *word).collect();
        if reasons.is_empty() { vec!["snapshot"] } else { reasons }
    }

    /// `prevented: blocked, refused 40001`.
    fn words(&self) -> String {
        match self {
            CaseVerdict::Happens => "happens".to_owned(),
            CaseVerdict::Inconclusive(_) => "inconclusive".to_owned(),
            CaseVerdict::Prevented { refused, .. } => {
                let codes: String = refused.iter().map(|code| format!(" {code}")).collect();
                format!("prevented: {}{codes}", self.reasons().join(", "))
            }
        }
    }
}

/// Every statement with its end, for programs.
fn statements(transcript: &Transcript) -> Vec<Value> {
    let sessions = &transcript.screenplay.sessions;
    let statement = |(number, cue): (usize, &skew_workload::screenplay::Cue)| {
        let waited = transcript.waited_for(number);
        let waited = waited.map(|them| them.iter().map(|it| sessions[*it].as_str()).collect::<Vec<&str>>());
        let mut object = json!({"session": sessions[cue.session], "sql": cue.sql, "waited_for": waited});
        let (end, more) = match &transcript.ends[number] {
            CueEnd::Answered(answer) => {
                let rows = answer.rows.iter().map(|row| row.0.iter().map(text).collect::<Vec<Value>>());
                object["rows"] = json!(rows.collect::<Vec<_>>());
                object["affected"] = json!(answer.affected);
                ("answered", None)
            }
            CueEnd::Refused { code, message } => {
                object["code"] = json!(code);
                ("refused", Some(message))
            }
            CueEnd::Lost(why) => ("lost", Some(why)),
            CueEnd::StillWaiting => ("waiting", None),
            CueEnd::NotSent => ("not-sent", None),
        };
        object["end"] = json!(end);
        if let Some(message) = more {
            object["message"] = json!(message);
        }
        object
    };
    transcript.screenplay.cues.iter().enumerate().map(statement).collect()
}

fn text(value: &skew_workload::Value) -> Value {
    match value {
        skew_workload::Value::Null => Value::Null,
        other => json!(other.to_string()),
    }
}

/// The interleaving as people would type it.
fn interleaving(transcript: &Transcript, palette: Palette) -> String {
    let screenplay = &transcript.screenplay;
    let mut lines = Vec::new();
    let mut waiting = vec![false; screenplay.cues.len()];
    for happening in &transcript.happenings {
        let (column, text) = match happening {
            Happening::Sent(cue) => {
                (screenplay.cues[*cue].session, TerminalText::Typed(screenplay.cues[*cue].sql.clone()))
            }
            Happening::Waits(cue, holders) => {
                waiting[*cue] = true;
                let names: Vec<&str> = holders.iter().map(|it| screenplay.sessions[*it].as_str()).collect();
                let whom = if names.is_empty() { "somebody".to_owned() } else { enumeration(&names) };
                (screenplay.cues[*cue].session, TerminalText::Remark(format!("waits for {whom}")))
            }
            Happening::Ended(cue) => {
                let Some(words) = ending(&transcript.ends[*cue], waiting[*cue], &screenplay.cues[*cue].sql) else {
                    continue;
                };
                (screenplay.cues[*cue].session, TerminalText::Remark(words))
            }
            Happening::RolledBack(session) => (*session, TerminalText::Typed("ROLLBACK".to_owned())),
        };
        lines.push(TerminalLine { column, text });
    }
    terminals(&screenplay.sessions, &lines, palette)
}

/// What came back, where that is worth a line.
fn ending(end: &CueEnd, has_waited: bool, sql: &str) -> Option<String> {
    let goes_on = if has_waited { "goes on: " } else { "" };
    match end {
        CueEnd::Answered(answer) if sql.starts_with("SELECT") => {
            let row = |row: &skew_workload::Row| row.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            let rows: Vec<String> = answer.rows.iter().map(row).collect();
            Some(format!("{goes_on}{}", if rows.is_empty() { "no row".to_owned() } else { rows.join(", ") }))
        }
        CueEnd::Answered(answer) if ["UPDATE", "DELETE", "INSERT"].iter().any(|word| sql.starts_with(word)) => {
            let rows = match answer.affected {
                0 => "no row".to_owned(),
                1 => "1 row".to_owned(),
                more => format!("{more} rows"),
            };
            Some(format!("{goes_on}{rows}"))
        }
        CueEnd::Answered(_) => has_waited.then(|| "goes on".to_owned()),
        CueEnd::Refused { code, message } => Some(format!("refused: {message} ({code})")),
        CueEnd::Lost(why) => Some(format!("lost: {why}")),
        CueEnd::StillWaiting | CueEnd::NotSent => None,
    }
}
