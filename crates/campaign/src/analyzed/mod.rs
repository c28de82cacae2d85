//! What could go wrong, from SQL alone: files in, an answer for each level out, each finding tried and each fix verified.
//!
//! ```text
//!   files ── text: one program ── Transactions ──┬── ask: engines, per level ── Answer ── concrete, confirm: is it so?
//!                                                │                                    └── fix: what helps
//!                                                └── lowest: the level that each procedure needs
//!                                                               │
//!                                       Analyzed ── suppress, baseline ── tell · json · markdown · sarif
//! ```
//!
//! | module | what it knows |
//! |---|---|
//! | `file` | a file: SQL or a log, its size and its bytes |
//! | `text`, `psql` | several files as one program; which line is whose; lines that are for psql |
//! | `logs` | logs among the files, as procedures |
//! | `ask`, `rules` | the questions and who answers them; when an answer must be "unknown" |
//! | `instances` | answers about the papers' levels, and about a user's own |
//! | `concrete`, `confirm` | programs that show a witness; explored, and held against the serial orders |
//! | `course` | the statements of a run as the user wrote them, with what came back |
//! | `fix` | changes that help, verified |
//! | `rehearsal` | confirmed findings and their fixes on a real server |
//! | `suppress` | what the author has accepted: in comments, in a baseline |
//! | `verify` | what a change repairs |
//! | `tell`, `json`, `markdown`, `sarif` | the report |
//! | `brief` | what a long report leaves out |

mod ask;
mod brief;
mod concrete;
mod confirm;
mod course;
mod file;
mod fix;
mod instances;
mod json;
mod logs;
mod markdown;
mod psql;
mod rehearsal;
mod rules;
mod sarif;
mod suppress;
mod tell;
#[cfg(test)]
mod tests;
mod text;
mod verify;

pub use confirm::ConcreteRun;
pub use file::AnalyzedFile;
use fix::FixChange;
pub use rehearsal::{FindingRehearsal, FixEnding};
pub use suppress::Baseline;
pub use text::{AnalyzedText, FileLocation};

use crate::replay_line::quote;
use crate::{Complaint, Conclusion};
use skew_analyze::anode::{BoundedOptions, OtherSolver, Specification};
use skew_analyze::{AnalysisVerdict, Answer, Conflict, Finding, FindingStatus, Level, UnfoldOptions, Unsupported};
use skew_history::{Engine, EngineLevel, IsolationLevel};
use skew_value::Dialect;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// What is asked.
#[derive(Clone, Debug)]
pub struct AnalyzeSettings {
    /// The levels, in order.
    pub levels: Vec<IsolationLevel>,
    /// How statements become operations.
    pub options: UnfoldOptions,
    /// Whether several transactions may be of one session, which runs them one after the other.
    pub sessions: bool,
    /// Whether a finding that no run has shown is a failure, too.
    pub fails_on_potential: bool,
    /// The largest cycles that are looked for at the papers' levels.
    up_to: usize,
    /// A level of the user's own.
    specification: Option<Specification>,
    /// Whether the user can have programs kept.
    keeps_programs: bool,
    /// Whether a long report leaves nothing out.
    tells_all: bool,
    /// Another solver, for a second opinion.
    solver: Option<Rc<dyn OtherSolver>>,
}

impl AnalyzeSettings {
    /// The levels that are asked about when nobody says which.
    pub const USUAL: [IsolationLevel; 3] = [
        IsolationLevel::Engine(EngineLevel::PostgresReadCommitted),
        IsolationLevel::Engine(EngineLevel::PostgresRepeatableRead),
        IsolationLevel::Engine(EngineLevel::PostgresSerializable),
    ];

    /// The same for programs of MySQL: its own, of which only rules speak, and the papers' that its snapshots come near to.
    const USUAL_OF_MYSQL: [IsolationLevel; 4] = [
        IsolationLevel::Engine(EngineLevel::MysqlReadCommitted),
        IsolationLevel::Engine(EngineLevel::MysqlRepeatableRead),
        IsolationLevel::Engine(EngineLevel::MysqlSerializable),
        IsolationLevel::Snapshot,
    ];

    /// The levels that can be asked about.
    pub fn possible_levels() -> impl Iterator<Item = IsolationLevel> {
        AnalyzeSettings::USUAL.into_iter().chain(instances::LEVELS.map(|(level, _)| level))
    }

    /// Some levels and how to look at them; without levels, those that are usual for a program.
    pub fn new(levels: Vec<IsolationLevel>, options: UnfoldOptions, sessions: bool, fails_on_potential: bool) -> Self {
        let up_to = BoundedOptions::default().up_to;
        let (specification, solver, keeps_programs, tells_all) = (None, None, true, false);
        AnalyzeSettings {
            levels,
            options,
            sessions,
            fails_on_potential,
            up_to,
            specification,
            keeps_programs,
            tells_all,
            solver,
        }
    }

    /// The same with cycles of up to so many transactions at the papers' levels, and with a level of the user's own: its file, and the text.
    pub fn looking_at(mut self, up_to: u8, own: Option<(&str, &str)>) -> Result<AnalyzeSettings, Complaint> {
        self.up_to = usize::from(up_to);
        let advice = "each line is a level, or `forall a b: … => …` over vis, ar, ww and procedures";
        let read = own.map(|(file, text)| {
            let read = Specification::parse("specification", text);
            read.map_err(|error| Complaint::new(file, error.to_string(), advice))
        });
        self.specification = read.transpose()?;
        self.refusal().map_or(Ok(self), Err)
    }

    /// The same where no programs can be kept, so that nobody is told how.
    pub fn keeping_nothing(self) -> AnalyzeSettings {
        AnalyzeSettings { keeps_programs: false, ..self }
    }

    /// The same with nothing left out of a long report, if that is wanted.
    pub fn telling_all(self, tells_all: bool) -> AnalyzeSettings {
        AnalyzeSettings { tells_all, ..self }
    }

    /// The same with a second opinion on what is asked of instances.
    pub fn with_solver(self, solver: Rc<dyn OtherSolver>) -> AnalyzeSettings {
        AnalyzeSettings { solver: Some(solver), ..self }
    }

    /// What is wrong with these settings, if anything is.
    fn refusal(&self) -> Option<Complaint> {
        let is_known = |level: &&IsolationLevel| match level.of_engine() {
            Some(level) => level.engine() == Engine::Mysql || template_level(level).is_some(),
            None => instances::specification(**level).is_some(),
        };
        let unknown = self.levels.iter().find(|level| !is_known(level))?;
        let message = format!("{unknown} is no level that can be analysed");
        let advice =
            "ask about a level of PostgreSQL, or about read-atomic, causal, prefix, psi, snapshot or serializable";
        Some(Complaint::new("--level", message, advice))
    }
}

/// The level as templates know it.
pub(crate) fn template_level(level: EngineLevel) -> Option<Level> {
    Level::ALL.into_iter().find(|known| known.of_engine() == level)
}

/// All answers about some files.
pub struct Analyzed {
    text: AnalyzedText,
    settings: AnalyzeSettings,
    questions: Vec<AnsweredQuestion>,
    /// The level that each procedure needs; nothing if that is not known.
    lowest: Option<Vec<(String, EngineLevel)>>,
    unsupported: Vec<Unsupported>,
    conflicts: Vec<Conflict>,
    procedures: Vec<String>,
    /// The statements as they stand in the text, by line and column.
    statements: BTreeMap<(u32, u32), Arc<str>>,
}

/// A question with its answer.
pub(crate) struct AnsweredQuestion {
    pub(crate) answer: Answer,
    /// What is known of each finding of the answer, in its order.
    pub(crate) known: Vec<KnownFinding>,
}

/// What is known of a finding beyond what an engine said.
pub(crate) struct KnownFinding {
    /// A run that shows it.
    pub(crate) run: Option<ConcreteRun>,
    /// What each of its fixes changes.
    pub(crate) changes: Vec<FixChange>,
    /// The file that its program was kept in.
    pub(crate) kept: Option<String>,
    /// The values of parameters, where no run has some: `t1 balance(n = v1)`.
    pub(crate) calls: Vec<String>,
    /// The levels at which the same procedures are safe.
    pub(crate) safe_at: Vec<EngineLevel>,
    /// From the cycle: the same as long as its statements are.
    pub(crate) fingerprint: String,
    /// Why it does not count: the reason in a comment, or the baseline.
    pub(crate) accepted: Option<String>,
}

impl KnownFinding {
    /// The line that shows its run, where its program has a file; else that of its program on standard input.
    pub(crate) fn replay(&self) -> Option<String> {
        let run = self.run.as_ref()?;
        let file = self.kept.as_deref().map_or("-".to_owned(), quote);
        Some(format!("skew explore {file} {} --replay '{}'", run.options, run.schedule))
    }
}

impl Analyzed {
    /// Asks everything. Comments that accept findings without a reason are complained about.
    pub fn new(text: AnalyzedText, mut settings: AnalyzeSettings, baseline: &Baseline) -> Result<Analyzed, Complaint> {
        if settings.levels.is_empty() {
            settings.levels = match text.dialect {
                Dialect::MySql => AnalyzeSettings::USUAL_OF_MYSQL.to_vec(),
                Dialect::Postgres => AnalyzeSettings::USUAL.to_vec(),
            };
        }
        let mut analyzed = ask::everything(text, settings);
        let suppressions = suppress::suppressions(&analyzed.text)?;
        analyzed.accept(&suppressions, baseline);
        Ok(analyzed)
    }

    fn findings(&self) -> impl Iterator<Item = (&AnsweredQuestion, &Finding, &KnownFinding)> {
        self.questions.iter().flat_map(|question| {
            let told = question.answer.findings.iter().zip(&question.known);
            told.map(move |(finding, known)| (question, finding, known))
        })
    }

    /// The programs of runs that were found, each with a name for its file; `keep` says where it was put.
    pub fn keep<E>(&mut self, mut keep: impl FnMut(&str, &str) -> Result<String, E>) -> Result<(), E> {
        let mut number = 0;
        for question in &mut self.questions {
            for (finding, known) in question.answer.findings.iter().zip(&mut question.known) {
                let Some(run) = &known.run else { continue };
                number += 1;
                known.kept = Some(keep(&format!("{number}-{}.sql", finding.anomaly), &run.text)?);
            }
        }
        Ok(())
    }

    /// How it ended: found, if a finding counts that is certain enough; inconclusive, if some answer is unknown.
    pub fn conclusion(&self) -> Conclusion {
        let counts = |finding: &Finding| match finding.status {
            FindingStatus::Confirmed => true,
            FindingStatus::Potential => self.settings.fails_on_potential,
            FindingStatus::Harmless => false,
        };
        if self.findings().any(|(_, finding, known)| known.accepted.is_none() && counts(finding)) {
            return Conclusion::Found;
        }
        let is_unknown = |question: &AnsweredQuestion| matches!(question.answer.verdict, AnalysisVerdict::Unknown(_));
        if self.questions.iter().any(is_unknown) { Conclusion::Inconclusive } else { Conclusion::Holds }
    }
}
