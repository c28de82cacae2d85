//! A child is inserted because its parent was there, and somebody deletes parents: without a foreign key or a lock of the parent, the parent
//! goes in between.

use super::protection::{MISSING, OVERWRITING, protection};
use super::reading::{ProcedureReading, ProgramReading, RowLook, Trail, is_change};
use super::{LintRule, RuleFound, listed, serializable};
use crate::finding::FixKind;
use skew_sql::touched::{RowsTouched, TouchKind, ValueOrigin};

pub(super) fn find(program: &ProgramReading<'_>, procedure: &ProcedureReading) -> Vec<RuleFound> {
    let mut found: Vec<RuleFound> = Vec::new();
    for look in procedure.looks().into_iter().filter(|look| look.is_plain() && goes(program, &look.touch.table)) {
        let protection = protection(program, procedure, &look);
        for trail in procedure.follow(&look).iter().filter(|trail| trail.check.is_some()) {
            let Some((child, columns)) = child(program, procedure, &look, trail) else { continue };
            let levels = match takes_parent(program, procedure, &look, trail) {
                true => protection.leaves(&OVERWRITING),
                false => protection.leaves(&MISSING),
            };
            if found.iter().all(|one| one.steps != (look.step, trail.step)) {
                let one = told(procedure, (look.step, trail.step), &look.touch.table, &child, &columns);
                found.push(RuleFound { levels, ..one });
            }
        }
    }
    found
}

/// Whether some procedure deletes rows of a table.
fn goes(program: &ProgramReading<'_>, table: &str) -> bool {
    let deletes = |procedure: &ProcedureReading| {
        procedure.touches().any(|(_, touch)| touch.table == table && touch.kind == TouchKind::Delete)
    };
    program.procedures.iter().any(deletes)
}

/// The table and the columns in which an inserted row has the key of the parent, if no foreign key says so.
fn child(
    program: &ProgramReading<'_>,
    procedure: &ProcedureReading,
    look: &RowLook<'_>,
    trail: &Trail,
) -> Option<(String, Vec<String>)> {
    let RowsTouched::Keys { keys, .. } = &look.touch.rows else { return None };
    let [key] = keys.as_slice() else { return None };
    for touch in procedure.steps[trail.step].touches.tables.iter().filter(|touch| touch.table != look.touch.table) {
        let TouchKind::Insert(Some(rows), _) = &touch.kind else { continue };
        let column = |part: &ValueOrigin| {
            let has = |(_, value): &&(String, ValueOrigin)| value == part && matches!(part, ValueOrigin::Variable(_));
            rows.iter().flatten().find(has).map(|(column, _)| column.clone())
        };
        let columns: Option<Vec<String>> = key.iter().map(column).collect();
        let table = program.catalog.tables.get(&touch.table)?;
        let kept = program.catalog.parents_of(table).iter().any(|parent| parent.parent == look.touch.table);
        if let Some(columns) = columns.filter(|_| !kept) {
            return Some((touch.table.clone(), columns));
        }
    }
    None
}

/// Whether the parent itself is changed or locked on the way: a snapshot then refuses whoever comes second.
fn takes_parent(program: &ProgramReading<'_>, procedure: &ProcedureReading, look: &RowLook<'_>, trail: &Trail) -> bool {
    let takes = procedure.touches().filter(|(_, touch)| touch.kind == TouchKind::Lock || is_change(touch));
    let same = |touch: &skew_sql::touched::TableTouch| look.is_same_row(program, touch, trail);
    takes.into_iter().any(|(step, touch)| procedure.follows(look.step, step) && same(touch))
}

fn told(
    procedure: &ProcedureReading,
    steps: (usize, usize),
    parent: &str,
    child: &str,
    columns: &[String],
) -> RuleFound {
    let columns = listed(columns);
    RuleFound {
        rule: LintRule::DanglingRow,
        anomaly: "write-skew",
        steps,
        levels: Vec::new(),
        sentence: format!(
            "{} inserts into {child} because a row of {parent} was there; that row may be deleted before it commits",
            procedure.name
        ),
        fixes: vec![
            (FixKind::Constraint, steps.1, format!("a foreign key from {child} ({columns}) to {parent}")),
            (FixKind::Other, steps.0, "lock the parent when it is read: add FOR SHARE".to_owned()),
            serializable(procedure, steps.0),
        ],
    }
}
