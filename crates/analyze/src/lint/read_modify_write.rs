//! A value is read without a lock, and what is made of it is written back: whoever writes in between is overwritten.
//!
//! An UPDATE that asks whether the value is still the one that was read (`WHERE … AND version = old`) overwrites nobody; whether it looks at
//! its row count is another rule's question.
//!
//! Where the result of a SELECT goes to a client, as in a script or a log, a value that appears first in the UPDATE of the same column of the
//! same row is taken for one that was made of it.

use super::protection::{OVERWRITING, protection};
use super::reading::{ProcedureReading, ProgramReading, variables_of};
use super::{LintRule, RuleFound};
use crate::finding::FixKind;
use skew_sql::touched::TouchKind;

pub(super) fn find(program: &ProgramReading<'_>, procedure: &ProcedureReading) -> Vec<RuleFound> {
    let mut found = Vec::new();
    for look in procedure.all_looks().filter(|look| look.is_plain()) {
        let levels = protection(program, procedure, &look).leaves(&OVERWRITING);
        for trail in procedure.follow(&look) {
            for touch in &procedure.steps[trail.step].touches.tables {
                let TouchKind::Update(assigned) = &touch.kind else { continue };
                let overwritten = assigned
                    .iter()
                    .find(|(column, value)| trail.held_by(variables_of(value).into_iter()).contains(column));
                let asks = program.guards(touch).iter().any(|column| look.touch.reads.contains(column));
                let Some((column, _)) = overwritten.filter(|_| look.is_same_row(program, touch, &trail) && !asks)
                else {
                    continue;
                };
                found.push(told(procedure, (look.step, trail.step), &touch.table, column, levels.clone()));
            }
        }
    }
    found
}

fn told(
    procedure: &ProcedureReading,
    steps: (usize, usize),
    table: &str,
    column: &str,
    levels: Vec<skew_history::EngineLevel>,
) -> RuleFound {
    RuleFound {
        rule: LintRule::ReadModifyWrite,
        anomaly: "lost-update",
        steps,
        levels,
        sentence: format!(
            "{} reads {table}.{column} without a lock, computes with it and writes the result back; what somebody else writes in between is lost",
            procedure.name
        ),
        fixes: vec![
            (FixKind::AtomicUpdate, steps.1, format!("let the UPDATE compute: SET {column} = {column} …")),
            (FixKind::ForUpdate, steps.0, "lock the row when it is read: add FOR UPDATE".to_owned()),
        ],
    }
}
