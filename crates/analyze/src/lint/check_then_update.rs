//! A value is looked at without a lock, and then changed because of it: two of them both see the value from before.
//!
//! Two forms: the row that was looked at is changed, which a condition in the UPDATE or a lock repairs; or a search decides and *another*
//! row of the same table is changed in a column that the search looks at, so that the two write different rows and no level below
//! serializable notices (write skew). A lock between look and change belongs to the rule about late locks.

use super::protection::{MISSING, OVERWRITING, protection};
use super::reading::{ProcedureReading, ProgramReading, RowLook, Trail, updated};
use super::{LintRule, RuleFound, listed, serializable};
use crate::finding::FixKind;
use skew_sql::touched::{TableTouch, TouchKind};
use std::collections::BTreeSet;

pub(super) fn find(program: &ProgramReading<'_>, procedure: &ProcedureReading) -> Vec<RuleFound> {
    let mut found: Vec<RuleFound> = Vec::new();
    for look in procedure.looks().into_iter().filter(|look| look.is_plain()) {
        let protection = protection(program, procedure, &look);
        for trail in procedure.follow(&look) {
            let changes = procedure.steps[trail.step].touches.tables.iter();
            for touch in changes.filter(|touch| touch.table == look.touch.table) {
                let one = match look.is_same_row(program, touch, &trail) {
                    true => same_row(program, procedure, &look, &trail, touch)
                        .map(|one| RuleFound { levels: protection.leaves(&OVERWRITING), ..one }),
                    false => other_row(procedure, &look, &trail, touch)
                        .map(|one| RuleFound { levels: protection.leaves(&MISSING), ..one }),
                };
                // One finding for a look: branches that end in different changes are one mistake.
                found.extend(one.filter(|one| found.iter().all(|known| known.steps.0 != one.steps.0)));
            }
        }
    }
    found
}

fn same_row(
    program: &ProgramReading<'_>,
    procedure: &ProcedureReading,
    look: &RowLook<'_>,
    trail: &Trail,
    touch: &TableTouch,
) -> Option<RuleFound> {
    let guards = program.guards(look.touch);
    let decided: BTreeSet<String> = trail.checked.union(&guards).cloned().collect();
    let asked = program.guards(touch);
    let changed: Vec<String> =
        updated(touch).into_iter().filter(|column| decided.contains(column) && !asked.contains(column)).collect();
    let locked = |step: usize| {
        let touches = &procedure.steps[step].touches.tables;
        let locks = touches.iter().any(|one| one.kind == TouchKind::Lock && look.is_same_row(program, one, trail));
        locks && procedure.follows(look.step, step)
    };
    // A row that is asked about anything that was looked at is asked again under the lock of the UPDATE.
    if changed.is_empty() || asked.iter().any(|column| decided.contains(column)) {
        return None;
    }
    if procedure.before(trail.step).any(locked) {
        return None;
    }
    let (table, columns) = (&touch.table, listed(&changed));
    Some(RuleFound {
        rule: LintRule::CheckThenUpdate,
        anomaly: "lost-update",
        steps: (look.step, trail.step),
        levels: Vec::new(),
        sentence: format!(
            "{} decides by {table}.{columns}, read without a lock, and changes it afterwards; two at the same time both decide by the old value",
            procedure.name
        ),
        fixes: vec![
            (
                FixKind::Other,
                trail.step,
                "put the condition into WHERE of the UPDATE, and look at its row count".to_owned(),
            ),
            (FixKind::ForUpdate, look.step, "lock the row when it is read: add FOR UPDATE".to_owned()),
        ],
    })
}

fn other_row(procedure: &ProcedureReading, look: &RowLook<'_>, trail: &Trail, touch: &TableTouch) -> Option<RuleFound> {
    let changed: Vec<String> =
        updated(touch).into_iter().filter(|column| look.touch.condition.contains(column)).collect();
    if !look.is_search() || trail.check.is_none() || changed.is_empty() {
        return None;
    }
    let (table, columns) = (&touch.table, listed(&changed));
    Some(RuleFound {
        rule: LintRule::CheckThenUpdate,
        anomaly: "write-skew",
        steps: (look.step, trail.step),
        levels: Vec::new(),
        sentence: format!(
            "{} searches {table} by {columns}, and changes {columns} of a row because of what it found; two that change different rows do not see each other",
            procedure.name
        ),
        fixes: vec![
            serializable(procedure, look.step),
            (FixKind::Other, look.step, "lock one row first that everybody locks who does this".to_owned()),
        ],
    })
}
