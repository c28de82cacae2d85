//! What the rules of the lint say, beside the other engines: only what these have not shown already, and nothing that they have disproved.
//!
//! | the other engines say | told of the rules |
//! |---|---|
//! | robust | what goes wrong whatever the level: a row count that nobody looks at, the wrong scope |
//! | anomaly | what is about other statements than their findings |
//! | unknown | everything |

use super::text::AnalyzedText;
use super::{AnsweredQuestion, KnownFinding, suppress};
use skew_analyze::lint::{LintFinding, LintRule, lint};
use skew_analyze::{AnalysisEngine, AnalysisVerdict, Answer, Finding};
use skew_history::{Engine, IsolationLevel};
use skew_value::Dialect;

const COVERS: &str = "the rules of the lint know patterns; where they are silent, nothing is proved";

/// What the rules find in a text.
pub(super) struct RuleAnswers {
    found: Vec<LintFinding>,
    /// The server that a text names, if it does: the others' levels are nothing to it.
    engine: Option<Engine>,
}

impl RuleAnswers {
    pub(super) fn of(text: &AnalyzedText) -> RuleAnswers {
        let program = text.with_sessions().unwrap_or_else(|| text.program.clone());
        let engine = (text.dialect == Dialect::MySql).then_some(Engine::Mysql);
        let mut found = lint(&program, &text.text);
        found.iter_mut().filter(|one| one.rule == LintRule::WrongScope).for_each(|one| name_lines(one, text));
        RuleAnswers { found, engine }
    }

    /// What they say to a question, beside an answer.
    pub(super) fn beside(&self, level: IsolationLevel, other: &AnsweredQuestion) -> Option<AnsweredQuestion> {
        let level = level.of_engine().filter(|level| self.engine.is_none_or(|engine| engine == level.engine()))?;
        let here = self.found.iter().filter(|one| one.levels.contains(&level) && is_left(one, &other.answer));
        let findings: Vec<Finding> = here.map(|one| one.finding.clone()).collect();
        if findings.is_empty() {
            return None;
        }
        let known = findings.iter().map(known).collect();
        let covers = vec![COVERS.to_owned()];
        let (verdict, engine) = (AnalysisVerdict::Anomaly, AnalysisEngine::Lint);
        let answer = Answer { level: level.name().to_owned(), verdict, engine, k: None, findings, covers };
        Some(AnsweredQuestion { answer, known })
    }
}

/// Lines of the user's files in place of those of the joined text.
fn name_lines(found: &mut LintFinding, text: &AnalyzedText) {
    let [first, last] = found.finding.locations[..] else { return };
    let (written, named) = (format!("lines {} and {}", first.line, last.line), (text.spot(first), text.spot(last)));
    for fix in &mut found.finding.fixes {
        fix.sentence = fix.sentence.replace(&written, &format!("{} and {}", named.0, named.1));
    }
}

/// Whether another answer leaves something to say.
fn is_left(found: &LintFinding, other: &Answer) -> bool {
    let is_shown = |finding: &Finding| found.finding.locations.iter().all(|place| finding.locations.contains(place));
    match other.verdict {
        AnalysisVerdict::Robust | AnalysisVerdict::NoneUpToK => found.is_about_every_level(),
        AnalysisVerdict::Anomaly => !other.findings.iter().any(is_shown),
        AnalysisVerdict::Unknown(_) => true,
    }
}

fn known(finding: &Finding) -> KnownFinding {
    let call = |(number, name): (usize, &String)| format!("t{} {name}", number + 1);
    KnownFinding {
        run: None,
        changes: Vec::new(),
        kept: None,
        calls: finding.transactions.iter().enumerate().map(call).collect(),
        safe_at: Vec::new(),
        fingerprint: suppress::fingerprint(finding),
        accepted: None,
    }
}
