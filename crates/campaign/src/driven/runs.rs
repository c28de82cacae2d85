//! The workload, run after run, each with a seed and fresh tables of its own.
//!
//! What is told depends on seeds, never on which run ended first.

use super::{DriveCampaign, DriveTally, DrivenRun, Tables, has_failed};
use crate::Complaint;
use crate::judge::{Behind, Judge, Judged};
use crate::seeds::{RunProgress, Wanted, run_all};
use crate::served::mistake;
use skew_history::IsolationLevel;
use skew_workload::{End, Report};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

/// A run with the verdicts on it.
pub(super) struct JudgedReport {
    pub(super) report: Report,
    pub(super) judged: Rc<Judged>,
    /// What stands behind its failure, if an assertion failed and the verdicts do not tell.
    pub(super) behind: Option<Behind>,
}

/// Runs that came to their ends, by number.
type Kept = BTreeMap<u64, JudgedReport>;

impl DriveCampaign<'_> {
    /// The level that runs are compared with.
    pub(super) fn against(&self) -> IsolationLevel {
        self.settings.against.unwrap_or(IsolationLevel::Serializable)
    }

    /// Runs the workload until all is done, something cannot go on, or somebody wants to stop. What was found before that was found all
    /// the same.
    pub fn drive(&self, progress: &mut dyn FnMut(RunProgress)) -> (DriveTally, Result<(), Complaint>) {
        let began = Instant::now();
        let (kept, looked) = self.run_all(progress);
        let mut tally = DriveTally::new(self.settings.runs, self.against(), began.elapsed());
        for (number, judged) in kept {
            tally.count(self.settings.seed.wrapping_add(number), &judged);
        }
        (tally, looked)
    }

    fn run_all(&self, progress: &mut dyn FnMut(RunProgress)) -> (Kept, Result<(), Complaint>) {
        let settings = &self.settings;
        let wanted = Wanted::new(settings.runs);
        let mut judge = Judge::new(settings.level, self.against(), settings.budget, self.stop.stop);
        let (mut kept, mut trouble, mut failed) = (Kept::new(), None, 0u64);
        let job = |job: u64| self.job(job);
        run_all(settings.jobs.min(settings.runs), &wanted, self.stop, job, |number, ran| {
            // Told at once already; here it is what the campaign ends with, when all runs are done or this was the last.
            if let Some(complaint) = ran.as_ref().ok().and_then(DrivenRun::recording_complaint) {
                trouble.get_or_insert(complaint);
            }
            match ran.and_then(|ran| self.judged(&mut judge, ran)) {
                Ok(Some(judged)) => {
                    failed += u64::from(has_failed(&judged.report));
                    kept.insert(number, judged);
                }
                Ok(None) => {}
                Err(complaint) => {
                    wanted.only_before(0);
                    trouble.get_or_insert(complaint);
                }
            }
            progress(RunProgress { done: kept.len() as u64, runs: settings.runs, failed });
        });
        (kept, trouble.map_or(Ok(()), Err))
    }

    /// Makes runs one after the other, by their numbers, on tables of its own.
    fn job(&self, job: u64) -> impl FnMut(u64) -> Result<DrivenRun, Complaint> {
        let mut has_tables = false;
        move |number| {
            let seed = self.settings.seed.wrapping_add(number);
            let ran = self.run(seed, Tables::OfJob(job, has_tables), true, None);
            has_tables |= ran.is_ok();
            ran
        }
    }

    /// The verdicts on a run; nothing if it was stopped before its end.
    fn judged(&self, judge: &mut Judge<'_>, ran: DrivenRun) -> Result<Option<JudgedReport>, Complaint> {
        match &ran.report.end {
            End::Finished => {}
            End::Stopped => return Ok(None),
            End::Failed(why) => {
                let advice = "run it again";
                return Err(Complaint::new(&format!("{}, seed {}", self.place(), ran.seed), why.clone(), advice));
            }
        }
        let judged = judge.judge(&ran.history).map_err(|what| mistake(ran.seed, what))?;
        let behind = if has_failed(&ran.report) { judge.behind(&ran.history, &judged) } else { None };
        Ok(Some(JudgedReport { report: ran.report, judged, behind }))
    }
}
