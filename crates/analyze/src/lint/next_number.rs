//! A number is made of those that are there, `MAX(n) + 1` or `COUNT(*) + 1`, and nothing keeps two from making the same. Where the number is
//! part of a key the second INSERT is refused, and this rule is silent.

use super::protection::{MISSING, protection};
use super::reading::{ProcedureReading, ProgramReading, RowLook, Trail, variables_of};
use super::{LintRule, RuleFound, serializable};
use crate::finding::FixKind;
use skew_history::EngineLevel;
use skew_sql::touched::{RowsTouched, TouchKind, ValueOrigin, WhenTaken};

/// Where a lock of the row with the highest number does not help: on InnoDB the search under a lock comes to the new row, too.
const LOCKED: [EngineLevel; 2] = [EngineLevel::PostgresReadCommitted, EngineLevel::PostgresRepeatableRead];

pub(super) fn find(program: &ProgramReading<'_>, procedure: &ProcedureReading) -> Vec<RuleFound> {
    let mut found = in_one_statement(program, procedure);
    for look in procedure.looks().into_iter().filter(RowLook::is_search) {
        let levels = protection(program, procedure, &look).leaves(if look.is_plain() { &MISSING } else { &LOCKED });
        for trail in procedure.follow(&look) {
            let Some(column) = numbered(program, procedure, &look, &trail) else { continue };
            let one = told(procedure, (look.step, trail.step), &look.touch.table, &column);
            found.push(RuleFound { levels: levels.clone(), ..one });
        }
    }
    found
}

/// The column of an inserted row that is computed from what was found, and that may be there twice.
fn numbered(
    program: &ProgramReading<'_>,
    procedure: &ProcedureReading,
    look: &RowLook<'_>,
    trail: &Trail,
) -> Option<String> {
    let aggregates = procedure.steps[look.step].touches.aggregates;
    let made = |value: &ValueOrigin| {
        let is_new = matches!(value, ValueOrigin::Computed(..)) || aggregates;
        is_new && variables_of(value).iter().any(|slot| trail.values.contains_key(slot))
    };
    let tables = procedure.steps[trail.step].touches.tables.iter().filter(|touch| touch.table == look.touch.table);
    let rows = tables.filter_map(|touch| match &touch.kind {
        TouchKind::Insert(Some(rows), WhenTaken::Fails) => Some(rows),
        _ => None,
    });
    let values = rows.flatten().flatten();
    let numbers = values.filter(|(column, value)| made(value) && !program.is_unique(&look.touch.table, column));
    numbers.map(|(column, _)| column.clone()).next()
}

/// `INSERT … VALUES ((SELECT MAX(n) + 1 FROM …))`.
fn in_one_statement(program: &ProgramReading<'_>, procedure: &ProcedureReading) -> Vec<RuleFound> {
    let mut found = Vec::new();
    for (step, touch) in procedure.touches() {
        let TouchKind::Insert(Some(rows), WhenTaken::Fails) = &touch.kind else { continue };
        let touches = &procedure.steps[step].touches;
        let looks = touches
            .tables
            .iter()
            .any(|one| one.table == touch.table && one.kind == TouchKind::Read && one.rows == RowsTouched::Search);
        let unknown = rows
            .iter()
            .flatten()
            .find(|(column, value)| *value == ValueOrigin::Unknown && !program.is_unique(&touch.table, column));
        if let Some((column, _)) = unknown.filter(|_| looks && touches.aggregates) {
            found.push(RuleFound { levels: MISSING.to_vec(), ..told(procedure, (step, step), &touch.table, column) });
        }
    }
    found
}

fn told(procedure: &ProcedureReading, steps: (usize, usize), table: &str, column: &str) -> RuleFound {
    RuleFound {
        rule: LintRule::NextNumber,
        anomaly: "write-skew",
        steps,
        levels: Vec::new(),
        sentence: format!(
            "{} makes {table}.{column} of the rows that are there; two at the same time make the same",
            procedure.name
        ),
        fixes: vec![
            (
                FixKind::Other,
                steps.0,
                "let one row count, with UPDATE … SET n = n + 1 before its value is read, or use a sequence".to_owned(),
            ),
            (FixKind::Constraint, steps.1, format!("let the database refuse the second one: UNIQUE ({column})")),
            serializable(procedure, steps.0),
        ],
    }
}
