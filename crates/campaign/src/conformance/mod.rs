//! What a server's levels really prevent: a handful of interleavings, forced at each level.
//!
//! ```text
//!   Case ── at a level ──> Screenplay ── performed on the server ──> Transcript ──> CaseResult: happens, or prevented and how
//!                                                                                       │
//!        what is known of this engine ── kept? ── strongest level that fits ◄── check ◄─┘ the histories of those that happened
//! ```
//!
//! A case is one anomaly: if the server answers in a certain way, it happened. If not, something prevented it, and the transcript says what: a
//! statement had to wait (*blocked*), or the server refused one (*refused*), or neither, and then reads saw an older state (*snapshot*).
//!
//! | module | holds |
//! |---|---|
//! | `cases` | the anomalies: statements, answers that show them, small histories |
//! | `engine` | who a server is, its levels, and what is known of them |
//! | `stage` | a table of its own, fresh before every case and gone at the end |
//! | `report` | the tables for people, the interleaving as they would type it, and JSON |
//!
//! A level is *kept* when nothing happens that its engine is known to prevent. One that prevents more is kept, too, and that is told.

mod cases;
mod engine;
mod report;
mod stage;

pub use cases::{CASES, Case};
pub use engine::{Engine, EngineKind, LEVELS, ServerLevel};

use crate::{Complaint, Conclusion, StopFlags};
use skew_check::{Budget, Verdict, check};
use skew_history::{IsolationLevel, notation};
use skew_workload::Url;
use skew_workload::screenplay::{CueEnd, Transcript};
use stage::TableStage;
use std::time::Duration;

/// What is asked of a server.
#[derive(Clone, Debug)]
pub struct ConformanceSettings {
    /// The names of the cases; all, if there are none.
    pub cases: Vec<String>,
    /// The names of the levels; all that the server has, if there are none.
    pub levels: Vec<String>,
    /// How long an answer may take.
    pub patience: Duration,
}

/// What a server's levels prevent.
#[derive(Debug)]
pub struct Conformance {
    /// Where it is, without a password.
    pub url: String,
    /// Who it is.
    pub engine: Engine,
    /// The statements that make the table and its rows.
    pub preparation: Vec<String>,
    /// Level by level, the weakest first.
    pub levels: Vec<LevelResult>,
    /// Whether all that was asked was tried.
    pub is_complete: bool,
}

/// What one level prevents.
#[derive(Debug)]
pub struct LevelResult {
    /// The level.
    pub level: ServerLevel,
    /// Case by case.
    pub cases: Vec<CaseResult>,
}

/// What came of a case.
#[derive(Debug)]
pub struct CaseResult {
    /// The case.
    pub case: &'static Case,
    /// What it comes to.
    pub verdict: CaseVerdict,
    /// Whether it is known to happen at this level; nothing where nothing is known.
    pub known: Option<bool>,
    /// What was said, by whom, and what came back.
    pub transcript: Transcript,
}

/// What a case comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CaseVerdict {
    /// The anomaly was seen.
    Happens,
    /// It was not, because of this.
    Prevented {
        /// Somebody had to wait.
        blocked: bool,
        /// The codes with which statements were refused.
        refused: Vec<String>,
    },
    /// Nobody knows, and why.
    Inconclusive(String),
}

/// Whether a level is what its engine is known for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// Nothing happened that it prevents.
    Kept,
    /// Something did.
    Broken,
    /// Nothing is known of it, or something is open.
    Unknown,
}

/// Tries every case at every level. Each finished case is handed to `progress`, with how many there are.
pub fn try_server(
    url: &Url,
    settings: &ConformanceSettings,
    flags: StopFlags<'_>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Conformance, Complaint> {
    let cases = chosen_cases(&settings.cases)?;
    let mut stage = TableStage::open(url, settings.patience)?;
    let levels = chosen_levels(&stage.engine, &settings.levels)?;
    let all = cases.len() * levels.len();
    let mut result = Conformance {
        url: url.to_string(),
        engine: stage.engine.clone(),
        preparation: stage.preparation(),
        levels: Vec::new(),
        is_complete: true,
    };
    for level in levels {
        let mut tried = LevelResult { level, cases: Vec::new() };
        for &case in &cases {
            if flags.is_stopped() {
                result.is_complete = false;
                break;
            }
            let transcript = stage.perform(case, &tried.level)?;
            let verdict = judge(case, &transcript);
            let known = tried.level.is_known_to_happen(case);
            tried.cases.push(CaseResult { case, verdict, known, transcript });
            progress(result.levels.iter().map(|level| level.cases.len()).sum::<usize>() + tried.cases.len(), all);
        }
        // Nothing is said of a level at which nothing was tried.
        result.levels.extend((!tried.cases.is_empty()).then_some(tried));
    }
    Ok(result)
}

fn chosen_cases(names: &[String]) -> Result<Vec<&'static Case>, Complaint> {
    let is_chosen = |case: &&Case| names.is_empty() || names.iter().any(|name| name.eq_ignore_ascii_case(case.name));
    let is_unknown = |name: &&String| !CASES.iter().any(|case| case.name.eq_ignore_ascii_case(name));
    if let Some(name) = names.iter().find(is_unknown) {
        let all: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        let advice = format!("the cases are {}", all.join(", "));
        return Err(Complaint::new("--case", format!("there is no case `{name}`"), &advice));
    }
    Ok(CASES.iter().filter(is_chosen).collect())
}

fn chosen_levels(engine: &Engine, names: &[String]) -> Result<Vec<ServerLevel>, Complaint> {
    let all = engine.levels();
    if let Some(name) = names.iter().find(|name| !all.iter().any(|level| level.name == name.as_str())) {
        let has: Vec<&str> = all.iter().map(|level| level.name).collect();
        let advice = format!("its levels are {}", has.join(", "));
        return Err(Complaint::new("--level", format!("{} has no level `{name}`", engine.words), &advice));
    }
    let is_chosen = |level: &ServerLevel| names.is_empty() || names.iter().any(|name| name == level.name);
    Ok(all.into_iter().filter(is_chosen).collect())
}

/// What a transcript says about a case. An anomaly that was seen happened, whatever else is in doubt; that it was not seen says something only about the
/// interleaving that was meant.
fn judge(case: &Case, transcript: &Transcript) -> CaseVerdict {
    if let Some(why) = obstacle(transcript) {
        return CaseVerdict::Inconclusive(why);
    }
    if (case.happened)(transcript) {
        return CaseVerdict::Happens;
    }
    if let Some(doubt) = transcript.doubts.first() {
        return CaseVerdict::Inconclusive(doubt.clone());
    }
    let mut refused: Vec<String> = transcript.refusals().map(|(_, code)| code.to_owned()).collect();
    refused.sort();
    refused.dedup();
    CaseVerdict::Prevented { blocked: transcript.has_waits(), refused }
}

/// Why a performance did not come to its end, if it did not.
fn obstacle(transcript: &Transcript) -> Option<String> {
    let doubt = transcript.doubts.first();
    transcript.ends.iter().find_map(|end| match end {
        CueEnd::Lost(why) => Some(format!("a connection was lost: {why}")),
        CueEnd::StillWaiting => Some(doubt.map_or("a statement was never answered".to_owned(), Clone::clone)),
        CueEnd::Refused { code, message } if !is_about_others(code) => {
            Some(format!("a statement was refused for another reason: {message} ({code})"))
        }
        _ => None,
    })
}

/// Whether a server refuses with this code because of what other transactions do: serialization failures, deadlocks, lock timeouts,
/// records that changed, write conflicts.
fn is_about_others(code: &str) -> bool {
    ["40001", "40P01", "55P03", "1213", "1205", "1020", "9007"].contains(&code)
}

impl LevelResult {
    /// The strongest of the papers' levels that allow all that happened; none where even the weakest forbids something. Nothing where not all
    /// cases were tried, or one is open: then more might have happened.
    pub fn fits(&self) -> Option<Vec<IsolationLevel>> {
        let is_open = |result: &CaseResult| matches!(result.verdict, CaseVerdict::Inconclusive(_));
        if self.cases.len() < CASES.len() || self.cases.iter().any(is_open) {
            return None;
        }
        let happened: Vec<&Case> = self.happened().map(|result| result.case).collect();
        let fitting: Vec<IsolationLevel> =
            IsolationLevel::of_papers().filter(|level| happened.iter().all(|case| case.is_allowed(*level))).collect();
        let is_strongest =
            |level: &&IsolationLevel| !fitting.iter().any(|other| other != *level && other.implies(**level));
        Some(fitting.iter().filter(is_strongest).copied().collect())
    }

    fn happened(&self) -> impl Iterator<Item = &CaseResult> {
        self.cases.iter().filter(|result| result.verdict == CaseVerdict::Happens)
    }

    /// Cases that happened although they are known to be prevented.
    pub fn broken(&self) -> Vec<&'static str> {
        self.happened().filter(|result| result.known == Some(false)).map(|result| result.case.name).collect()
    }

    /// Cases that were prevented although they are known to happen.
    pub fn stronger(&self) -> Vec<&'static str> {
        let is_prevented = |result: &&CaseResult| matches!(result.verdict, CaseVerdict::Prevented { .. });
        let known = self.cases.iter().filter(|result| result.known == Some(true));
        known.filter(is_prevented).map(|result| result.case.name).collect()
    }

    /// Whether the level is what its engine is known for.
    pub fn promise(&self) -> Promise {
        let is_open =
            |result: &CaseResult| result.known.is_none() || matches!(result.verdict, CaseVerdict::Inconclusive(_));
        match self.broken().is_empty() {
            false => Promise::Broken,
            true if self.cases.is_empty() || self.cases.iter().any(is_open) => Promise::Unknown,
            true => Promise::Kept,
        }
    }
}

impl Case {
    /// Whether a level of the papers allows what clients see in this case.
    pub fn is_allowed(&self, level: IsolationLevel) -> bool {
        let history = notation::parse(self.history);
        history.is_ok_and(|history| matches!(check(&history, level, Budget::UNLIMITED), Verdict::Holds(_)))
    }
}

impl Conformance {
    /// Found: a level that is not what its engine is known for. Inconclusive: a case that is open, or was not tried.
    pub fn conclusion(&self) -> Conclusion {
        let results = || self.levels.iter().flat_map(|level| &level.cases);
        let is_open = results().any(|result| matches!(result.verdict, CaseVerdict::Inconclusive(_)));
        let is_broken = self.levels.iter().any(|level| level.promise() == Promise::Broken);
        Conclusion::judged(is_broken, is_open || !self.is_complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_workload::screenplay::Screenplay;

    #[test]
    fn every_case_has_statements_and_the_levels_that_forbid_its_history() {
        let weakest = |case: &Case| IsolationLevel::of_papers().find(|level| !case.is_allowed(*level));
        let weakest: Vec<(&str, Option<&str>)> =
            CASES.iter().map(|case| (case.name, weakest(case).map(IsolationLevel::name))).collect();
        let expected = [
            ("G0", "read-committed"),
            ("G1a", "read-committed"),
            ("G1b", "read-committed"),
            ("G1c", "read-committed"),
            ("OTV", "read-committed"),
            ("PMP", "read-atomic"),
            ("PMP-write", "psi"),
            ("P4", "psi"),
            ("G-single", "read-atomic"),
            ("G-single-predicate", "read-atomic"),
            ("G-single-write", "psi"),
            ("G2-item", "serializable"),
            ("G2", "serializable"),
            ("G2-two-edges", "serializable"),
        ];
        assert_eq!(weakest, expected.map(|(name, level)| (name, Some(level))));
        for case in &CASES {
            let screenplay: Screenplay = case.text.parse().unwrap_or_else(|error| panic!("{}: {error}", case.name));
            assert!((2..=3).contains(&screenplay.sessions.len()), "{}", case.name);
        }
    }

    /// A case at a level of which something is known, with these ends.
    fn result(known: Option<bool>, ends: Vec<CueEnd>) -> CaseResult {
        let case = CASES.iter().find(|case| case.name == "G1a").expect("it is there");
        let screenplay: Screenplay = case.text.parse().expect("a screenplay");
        let ends = screenplay.cues.iter().enumerate().map(|(place, _)| ends[place % ends.len()].clone()).collect();
        let transcript = Transcript { screenplay, ends, happenings: Vec::new(), doubts: Vec::new() };
        CaseResult { case, verdict: judge(case, &transcript), known, transcript }
    }

    fn answered(value: &str) -> CueEnd {
        let rows = vec![skew_workload::Row(vec![value.into()])];
        CueEnd::Answered(skew_workload::connection::StatementAnswer { rows, affected: 1 })
    }

    fn refused(code: &str) -> CueEnd {
        CueEnd::Refused { code: code.to_owned(), message: "no".to_owned() }
    }

    /// What a level with this one result comes to.
    fn promise(result: CaseResult) -> (Promise, usize) {
        let level = ServerLevel::unknown("read-committed");
        let level = LevelResult { level, cases: vec![result] };
        (level.promise(), level.stronger().len())
    }

    #[test]
    fn a_level_is_broken_when_something_happens_that_is_known_to_be_prevented() {
        assert_eq!(promise(result(Some(false), vec![answered("101")])), (Promise::Broken, 0));
        assert_eq!(promise(result(Some(true), vec![answered("101")])), (Promise::Kept, 0));
        assert_eq!(promise(result(Some(true), vec![answered("10")])), (Promise::Kept, 1));
        assert_eq!(promise(result(None, vec![answered("101")])), (Promise::Unknown, 0));
    }

    #[test]
    fn what_is_lost_or_refused_for_another_reason_proves_nothing() {
        for end in [refused("42501"), CueEnd::Lost("gone".to_owned()), CueEnd::StillWaiting] {
            let result = result(Some(false), vec![end, answered("101")]);
            assert!(matches!(result.verdict, CaseVerdict::Inconclusive(_)), "{:?}", result.verdict);
            assert_eq!(promise(result), (Promise::Unknown, 0));
        }
        let prevented = result(Some(false), vec![refused("40001"), answered("10")]).verdict;
        assert_eq!(prevented, CaseVerdict::Prevented { blocked: false, refused: vec!["40001".to_owned()] });
    }
}
