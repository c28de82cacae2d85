//! A value is looked at, then its row is locked, and the value is not looked at again: what was decided may be wrong by then.

use super::protection::{OVERWRITING, protection};
use super::reading::{ProcedureReading, ProgramReading, RowLook, is_change};
use super::{LintRule, RuleFound, listed};
use crate::finding::FixKind;
use skew_sql::touched::TouchKind;
use std::collections::BTreeSet;

pub(super) fn find(program: &ProgramReading<'_>, procedure: &ProcedureReading) -> Vec<RuleFound> {
    let mut found: Vec<RuleFound> = Vec::new();
    let looks = procedure.looks();
    for look in looks.iter().filter(|look| look.is_plain()) {
        let levels = protection(program, procedure, look).leaves(&OVERWRITING);
        for trail in procedure.follow(look) {
            let lock = looks.iter().find(|lock| lock.step == trail.step && lock.touch.kind == TouchKind::Lock);
            let Some(lock) = lock.filter(|lock| look.is_same_row(program, lock.touch, &trail)) else { continue };
            let known = found.iter().any(|one| one.steps.0 == look.step);
            if trail.checked.is_empty() || known || looks_again(procedure, lock, &trail.checked) {
                continue;
            }
            found.push(told(procedure, (look.step, lock.step), &look.touch.table, &trail.checked, levels.clone()));
        }
    }
    found
}

/// Whether something under the lock asks about these columns again: a branch, or the WHERE of a change.
fn looks_again(procedure: &ProcedureReading, lock: &RowLook<'_>, columns: &BTreeSet<String>) -> bool {
    procedure.follow(lock).iter().any(|trail| {
        let asks = procedure.steps[trail.step].touches.tables.iter().any(|touch| {
            let asked = touch.condition.iter().any(|column| columns.contains(column));
            touch.table == lock.touch.table && is_change(touch) && asked && touch.guarded
        });
        asks || trail.checked.iter().any(|column| columns.contains(column))
    })
}

fn told(
    procedure: &ProcedureReading,
    steps: (usize, usize),
    table: &str,
    columns: &BTreeSet<String>,
    levels: Vec<skew_history::EngineLevel>,
) -> RuleFound {
    let columns = listed(columns);
    RuleFound {
        rule: LintRule::LateLock,
        anomaly: "lost-update",
        steps,
        levels,
        sentence: format!(
            "{} decides by {table} ({columns}) before it locks the row, and does not look again under the lock; somebody else may have changed it while it waited",
            procedure.name
        ),
        fixes: vec![
            (FixKind::ForUpdate, steps.0, "lock the row with the first look: add FOR UPDATE".to_owned()),
            (FixKind::Other, steps.1, "check again what the locking SELECT returns".to_owned()),
        ],
    }
}
