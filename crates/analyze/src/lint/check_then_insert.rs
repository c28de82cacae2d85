//! A search decides about an INSERT into the same table: two at the same time do not see each other's row, and a row that is not there yet
//! cannot be locked. A unique index or an exclusion constraint is what the database has for this.
//!
//! The same the other way round, insert, count and roll back, is no better: the other row is not committed yet when it is looked for.

use super::protection::{MISSING, protection};
use super::reading::{ProcedureReading, ProgramReading, RowLook, Trail};
use super::{LintRule, RuleFound, listed, serializable};
use crate::finding::FixKind;
use skew_program::FlowAction;
use skew_sql::touched::{RowsTouched, TouchKind, WhenTaken};

pub(super) fn find(program: &ProgramReading<'_>, procedure: &ProcedureReading) -> Vec<RuleFound> {
    let mut found = in_one_statement(program, procedure);
    for look in procedure.looks().into_iter().filter(|look| look.is_plain() && look.is_search()) {
        if program.has_other_constraints(&look.touch.table) {
            continue;
        }
        let levels = protection(program, procedure, &look).leaves(&MISSING);
        let trails = procedure.follow(&look);
        let act = first_insert(procedure, &look, &trails).or_else(|| insert_before(procedure, &look, &trails));
        found.extend(act.map(|act| RuleFound { levels: levels.clone(), ..told(procedure, &look, act) }));
    }
    found
}

/// The first INSERT into the table that happens because of what was found.
pub(super) fn first_insert(procedure: &ProcedureReading, look: &RowLook<'_>, trails: &[Trail]) -> Option<usize> {
    let inserts = |trail: &&Trail| trail.check.is_some() && inserts_into(procedure, trail.step, &look.touch.table);
    trails.iter().filter(inserts).map(|trail| trail.step).min()
}

/// An INSERT before the look, which is taken back because of what was found.
fn insert_before(procedure: &ProcedureReading, look: &RowLook<'_>, trails: &[Trail]) -> Option<usize> {
    let takes_back = |trail: &Trail| {
        let checked = trail.check.is_some_and(|check| check != look.step);
        checked && procedure.steps[trail.step].action == FlowAction::Abort
    };
    let earlier = procedure.before(look.step).find(|step| inserts_into(procedure, *step, &look.touch.table));
    earlier.filter(|_| trails.iter().any(takes_back))
}

fn inserts_into(procedure: &ProcedureReading, step: usize, table: &str) -> bool {
    let inserts = |kind: &TouchKind| matches!(kind, TouchKind::Insert(_, WhenTaken::Fails));
    procedure.steps[step].touches.tables.iter().any(|touch| touch.table == table && inserts(&touch.kind))
}

/// `INSERT … SELECT … WHERE NOT EXISTS (…)`: one statement looks and inserts, and is no less blind.
fn in_one_statement(program: &ProgramReading<'_>, procedure: &ProcedureReading) -> Vec<RuleFound> {
    let mut found = Vec::new();
    for (step, touch) in procedure.touches() {
        let TouchKind::Insert(None, WhenTaken::Fails) = touch.kind else { continue };
        let others = &procedure.steps[step].touches.tables;
        let look = others
            .iter()
            .find(|one| one.table == touch.table && one.kind == TouchKind::Read && one.rows == RowsTouched::Search);
        let words = procedure.steps[step].text.to_lowercase();
        let asks = words.split_whitespace().collect::<Vec<&str>>().join(" ").contains("not exists");
        if look.is_some() && asks && !program.has_other_constraints(&touch.table) {
            let columns = look.map(|look| listed(&look.condition)).unwrap_or_default();
            found.push(RuleFound {
                levels: MISSING.to_vec(),
                ..sentence(procedure, (step, step), &touch.table, &columns)
            });
        }
    }
    found
}

fn told(procedure: &ProcedureReading, look: &RowLook<'_>, act: usize) -> RuleFound {
    sentence(procedure, (look.step, act), &look.touch.table, &listed(&look.touch.condition))
}

fn sentence(procedure: &ProcedureReading, steps: (usize, usize), table: &str, columns: &str) -> RuleFound {
    let by = if columns.is_empty() { String::new() } else { format!(" by {columns}") };
    RuleFound {
        rule: LintRule::CheckThenInsert,
        anomaly: "write-skew",
        steps,
        levels: Vec::new(),
        sentence: format!(
            "{} searches {table}{by} to decide about a row that it inserts there; two at the same time do not see each other's row",
            procedure.name
        ),
        fixes: vec![
            (
                FixKind::Constraint,
                steps.1,
                format!(
                    "let the database refuse the second row: a UNIQUE or exclusion constraint{by}, or a row that counts"
                ),
            ),
            serializable(procedure, steps.0),
        ],
    }
}
