//! One history, asked for several levels.

use crate::Conclusion;
use skew_check::{Budget, Counterexample, LevelReport, Verdict};
use skew_history::{History, IsolationLevel};
use skew_view::report::{self, Report};

/// These levels in their order, each once.
pub fn each_once(levels: impl IntoIterator<Item = IsolationLevel>) -> Vec<IsolationLevel> {
    let mut each = Vec::new();
    for level in levels {
        if !each.contains(&level) {
            each.push(level);
        }
    }
    each
}

/// What became of one history.
pub struct Checked {
    /// The verdicts.
    pub levels: Vec<LevelReport>,
    /// Why the weakest levels that fail do.
    pub counterexamples: Vec<Counterexample>,
}

impl Checked {
    /// Asks all levels of a history and explains the weakest that fail, if anybody wants to know.
    pub fn new(
        history: &History,
        levels: &[IsolationLevel],
        options: skew_check::Options,
        budget: Budget<'_>,
        explains: bool,
    ) -> Checked {
        let levels = skew_check::check_levels(history, levels, options, budget);
        let weakest = if explains { report::weakest_failing(&levels) } else { Vec::new() };
        let explain = |report: &LevelReport| match &report.verdict {
            Verdict::Fails(anomaly) if weakest.contains(&report.level) => {
                Some(skew_check::explain(history, report.level, anomaly, budget))
            }
            _ => None,
        };
        let counterexamples = levels.iter().filter_map(explain).collect();
        Checked { levels, counterexamples }
    }

    /// What the answers say together.
    pub fn conclusion(&self) -> Conclusion {
        self.conclusion_about(|_| true)
    }

    /// What the answers say together about the levels that count.
    pub fn conclusion_about(&self, counts: impl Fn(IsolationLevel) -> bool) -> Conclusion {
        let levels = || self.levels.iter().filter(|report| counts(report.level));
        let has = |wanted: fn(&Verdict) -> bool| levels().any(|report| wanted(&report.verdict));
        Conclusion::judged(has(|it| matches!(it, Verdict::Fails(_))), has(|it| matches!(it, Verdict::Unknown(_))))
    }

    /// The report on the history, which the user knows by this name.
    pub fn report<'a>(&'a self, file: &'a str, history: &'a History) -> Report<'a> {
        let all_hold = self.levels.iter().all(|report| report.verdict.holds());
        Report {
            file,
            history,
            levels: &self.levels,
            counterexamples: &self.counterexamples,
            nothing_inferred: all_hold && report::infers_nothing(history),
        }
    }
}
