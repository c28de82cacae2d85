//! What the checker says about the history of one run: whether its server kept what its level promises, and what else was asked.

use super::{DriveCampaign, DrivenRun, LevelPromise};
use crate::{Checked, Complaint, Conclusion};
use skew_check::Budget;
use skew_history::format::{self, Format, Source};
use skew_history::{History, IsolationLevel};
use skew_view::report::Report;

/// The answers about a run.
pub struct RunAnswers {
    history: History,
    /// Whether the server kept what its level promises.
    pub promise: Option<LevelPromise>,
    /// What was asked for besides.
    checked: Option<Checked>,
}

impl RunAnswers {
    /// Holds a run to what was promised, and asks for these levels of its history, if for any.
    pub fn new(
        campaign: &DriveCampaign<'_>,
        ran: &DrivenRun,
        levels: impl FnOnce(&History) -> Vec<IsolationLevel>,
        budget: Budget<'_>,
    ) -> Result<RunAnswers, Complaint> {
        let source = Source { name: "the recorded run", bytes: ran.history.as_bytes() };
        let history = format::read(&[source], Format::Native).map_err(|error| Complaint::of_file(&error))?;
        let promise = campaign.promised().map(|level| LevelPromise::new(&history, level, budget));
        let levels = levels(&history);
        let checked = if levels.is_empty() { None } else { Some(check(&history, &levels, budget)?) };
        Ok(RunAnswers { history, promise, checked })
    }

    /// What they say together, as far as levels count.
    pub fn conclusion(&self, counts: impl Fn(IsolationLevel) -> bool) -> Conclusion {
        let promise = self.promise.as_ref().map(LevelPromise::conclusion);
        let all = [promise, self.checked.as_ref().map(|checked| checked.conclusion_about(counts))];
        let has = |wanted| all.contains(&Some(wanted));
        Conclusion::judged(has(Conclusion::Found), has(Conclusion::Inconclusive))
    }

    /// The report on what was asked for, about a history that the user knows by this name.
    pub fn report<'a>(&'a self, name: &'a str) -> Option<Report<'a>> {
        Some(self.checked.as_ref()?.report(name, &self.history))
    }
}

fn check(history: &History, levels: &[IsolationLevel], budget: Budget<'_>) -> Result<Checked, Complaint> {
    let refused = levels.iter().find_map(|level| Some((level, skew_check::cannot_ask(history, *level)?)));
    if let Some((level, why)) = refused {
        let what = format!("{level} cannot be checked: {why}");
        return Err(Complaint::new("--check", what, "ask for another level"));
    }
    Ok(Checked::new(history, levels, skew_check::Options::default(), budget, true))
}
