//! A change that may have changed nothing, and what follows from it is done all the same.
//!
//! ```text
//!   UPDATE voucher SET used = used + 1 WHERE id = v AND used < most;      no use left: no row is changed, and that is no error
//!   INSERT INTO purchase …;                                               the discount is given anyway
//! ```
//!
//! Two forms: an UPDATE by key that asks about a column which it sets, which is wrong at every level; and a DELETE of a row that was found
//! before without a lock, which somebody else may have deleted meanwhile. What follows has to be something that must not happen twice: an
//! INSERT, or an UPDATE that counts on.

use super::protection::{OVERWRITING, protection};
use super::reading::{ProcedureReading, ProgramReading, updated};
use super::{LintRule, RuleFound, listed};
use crate::finding::FixKind;
use skew_history::EngineLevel;
use skew_program::FlowAction;
use skew_sql::touched::{RowsTouched, TableTouch, TouchKind};
use std::collections::BTreeSet;

pub(super) fn find(program: &ProgramReading<'_>, procedure: &ProcedureReading) -> Vec<RuleFound> {
    let mut found = guarded_updates(program, procedure);
    found.extend(deletions(program, procedure));
    found
}

fn guarded_updates(program: &ProgramReading<'_>, procedure: &ProcedureReading) -> Vec<RuleFound> {
    let mut found = Vec::new();
    for (step, touch) in procedure.touches() {
        let columns: Vec<String> = updated(touch).intersection(&program.guards(touch)).cloned().collect();
        if columns.is_empty() || !matches!(touch.rows, RowsTouched::Keys { .. }) {
            continue;
        }
        let Some(act) = done_anyway(procedure, step) else { continue };
        let (table, columns) = (&touch.table, listed(&columns));
        let sentence = format!(
            "{} changes {table} only if {columns} allows it, and never looks at the row count: what comes next happens even if no row was changed",
            procedure.name
        );
        found.push(told(sentence, "ignored-row-count", (step, act), EngineLevel::ALL.to_vec()));
    }
    found
}

fn deletions(program: &ProgramReading<'_>, procedure: &ProcedureReading) -> Vec<RuleFound> {
    let mut found: Vec<RuleFound> = Vec::new();
    for look in procedure.looks().into_iter().filter(|look| look.is_plain()) {
        let levels = protection(program, procedure, &look).leaves(&OVERWRITING);
        for trail in procedure.follow(&look).iter().filter(|trail| trail.check.is_some()) {
            let deletes =
                |touch: &&TableTouch| touch.kind == TouchKind::Delete && look.is_same_row(program, touch, trail);
            let Some(touch) = procedure.steps[trail.step].touches.tables.iter().find(deletes) else { continue };
            let Some(act) = done_anyway(procedure, trail.step) else { continue };
            let sentence = format!(
                "{} deletes a row of {} that it has found before, and never looks at the row count: two at the same time both go on as if they had deleted it",
                procedure.name, touch.table
            );
            if found.iter().all(|one| one.steps != (trail.step, act)) {
                found.push(told(sentence, "lost-update", (trail.step, act), levels.clone()));
            }
        }
    }
    found
}

/// The first thing after a change that must not happen twice, on a path where nobody asks how many rows were changed.
fn done_anyway(procedure: &ProcedureReading, change: usize) -> Option<usize> {
    if matches!(procedure.steps[change].action, FlowAction::Into(_)) {
        return None;
    }
    let mut open = procedure.next(change);
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    let mut acts: BTreeSet<usize> = BTreeSet::new();
    while let Some(step) = open.pop() {
        if procedure.reads_row_count(step) || step == change || !seen.insert(step) {
            continue;
        }
        acts.extend(procedure.steps[step].touches.tables.iter().any(counts_on).then_some(step));
        open.extend(procedure.next(step));
    }
    acts.first().copied()
}

fn counts_on(touch: &TableTouch) -> bool {
    match &touch.kind {
        TouchKind::Insert(..) => true,
        TouchKind::Update(assigned) => assigned.iter().any(|(column, _)| touch.reads.contains(column)),
        _ => false,
    }
}

fn told(sentence: String, anomaly: &'static str, steps: (usize, usize), levels: Vec<EngineLevel>) -> RuleFound {
    let fix = "look at the row count, and stop if it is 0";
    RuleFound {
        rule: LintRule::IgnoredRowCount,
        anomaly,
        steps,
        levels,
        sentence,
        fixes: vec![(FixKind::Other, steps.0, fix.to_owned())],
    }
}
