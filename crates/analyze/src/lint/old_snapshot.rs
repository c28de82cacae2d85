//! A second look at the state of the first one: at repeatable read a transaction never sees what others did since it began to read.
//!
//! ```text
//!   SELECT … WHERE student = p;             nothing                                  the state of now is kept
//!   INSERT IGNORE INTO enrolment …;         the row of somebody else is in the way
//!   SELECT … WHERE student = p;             still nothing, however often
//! ```
//!
//! Two forms: the look after an INSERT that skips what is there (PostgreSQL refuses such an INSERT at repeatable read, InnoDB does not); and a
//! loop that looks again and again for a change that it can never see.

use super::reading::{ProcedureReading, ProgramReading, RowLook, variables_of};
use super::{LintRule, RuleFound};
use crate::finding::FixKind;
use skew_history::EngineLevel;
use skew_program::FlowAction;
use skew_sql::touched::{RowsTouched, TouchKind, WhenTaken};

const IN_A_LOOP: [EngineLevel; 3] =
    [EngineLevel::PostgresRepeatableRead, EngineLevel::MysqlRepeatableRead, EngineLevel::MysqlSnapshotIsolation];

pub(super) fn find(_: &ProgramReading<'_>, procedure: &ProcedureReading) -> Vec<RuleFound> {
    let mut found = Vec::new();
    let by_key = |look: &RowLook<'_>| look.is_plain() && !look.is_search();
    for look in procedure.looks().into_iter().filter(by_key) {
        let table = &look.touch.table;
        if let Some(insert) = skipping_insert(procedure, &look) {
            let sentence = format!(
                "{} looks for a row of {table} again after an INSERT that may have met one; at repeatable read it sees the state from before, without that row",
                procedure.name
            );
            found.push(told(sentence, (insert, look.step), vec![EngineLevel::MysqlRepeatableRead]));
        } else if waits(procedure, &look) {
            let sentence = format!(
                "{} looks at the same row of {table} in a loop; at repeatable read it sees the same state every time",
                procedure.name
            );
            found.push(told(sentence, (look.step, look.step), IN_A_LOOP.to_vec()));
        }
    }
    found
}

/// An INSERT into the table that leaves a row alone which is there, between a plain look at anything and this one.
fn skipping_insert(procedure: &ProcedureReading, look: &RowLook<'_>) -> Option<usize> {
    let skips = |step: usize| {
        procedure.steps[step].touches.tables.iter().any(|touch| {
            touch.table == look.touch.table && matches!(touch.kind, TouchKind::Insert(_, WhenTaken::Skips))
        })
    };
    let looked = |step: usize| {
        let reads =
            |earlier: usize| procedure.steps[earlier].touches.tables.iter().any(|touch| touch.kind == TouchKind::Read);
        procedure.before(step).any(reads)
    };
    procedure.before(look.step).find(|step| skips(*step) && looked(*step))
}

/// Whether the look is in a loop that goes on by what it finds, always with the same key, and nobody in the loop changes the table.
fn waits(procedure: &ProcedureReading, look: &RowLook<'_>) -> bool {
    let in_loop = |step: usize| procedure.follows(look.step, step) && procedure.follows(step, look.step);
    if !in_loop(look.step) {
        return false;
    }
    let RowsTouched::Keys { keys, .. } = &look.touch.rows else { return false };
    let parts: Vec<usize> = keys.iter().flatten().flat_map(variables_of).collect();
    let mut steps = (0..procedure.steps.len()).filter(|step| in_loop(*step));
    let stays = steps.all(|step| {
        let sets = match &procedure.steps[step].action {
            FlowAction::Into(slots) => slots.iter().any(|slot| parts.contains(slot)),
            FlowAction::Next(slots, _) => parts.iter().any(|part| slots.contains(part)),
            FlowAction::Clear(slot) | FlowAction::Count(slot) => parts.contains(slot),
            _ => false,
        };
        let writes = procedure.steps[step]
            .touches
            .tables
            .iter()
            .any(|touch| touch.table == look.touch.table && !matches!(touch.kind, TouchKind::Read));
        !sets && !writes
    });
    stays && procedure.follow(look).iter().any(|trail| trail.check.is_some_and(in_loop))
}

fn told(sentence: String, steps: (usize, usize), levels: Vec<EngineLevel>) -> RuleFound {
    RuleFound {
        rule: LintRule::OldSnapshot,
        anomaly: "stale-update",
        steps,
        levels,
        sentence,
        fixes: vec![
            (
                FixKind::ForUpdate,
                steps.1,
                "look again with FOR UPDATE, which sees the latest state on InnoDB".to_owned(),
            ),
            (FixKind::Other, steps.1, "commit, and look again in a new transaction".to_owned()),
        ],
    }
}
