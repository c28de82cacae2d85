//! FOR UPDATE in a search that decides about an INSERT into the same table: what is not there cannot be locked. InnoDB locks the gap at
//! repeatable read, which is why it seems to work for some.

use super::check_then_insert::first_insert;
use super::protection::protection;
use super::reading::{ProcedureReading, ProgramReading};
use super::{LintRule, RuleFound, listed, serializable};
use crate::finding::FixKind;
use skew_history::EngineLevel;
use skew_sql::touched::TouchKind;

const LEVELS: [EngineLevel; 3] =
    [EngineLevel::PostgresReadCommitted, EngineLevel::PostgresRepeatableRead, EngineLevel::MysqlReadCommitted];

pub(super) fn find(program: &ProgramReading<'_>, procedure: &ProcedureReading) -> Vec<RuleFound> {
    let mut found = Vec::new();
    for look in procedure.looks().into_iter().filter(|look| look.is_search() && look.touch.kind == TouchKind::Lock) {
        let table = &look.touch.table;
        let Some(act) = first_insert(procedure, &look, &procedure.follow(&look)) else { continue };
        if program.has_other_constraints(table) {
            continue;
        }
        let columns = listed(&look.touch.condition);
        found.push(RuleFound {
            rule: LintRule::LockOfNothing,
            anomaly: "write-skew",
            steps: (look.step, act),
            levels: protection(program, procedure, &look).leaves(&LEVELS),
            sentence: format!(
                "{} locks the rows of {table} that it finds by {columns}, and inserts one if there is none; where none is there, nothing is locked",
                procedure.name
            ),
            fixes: vec![
                (FixKind::Constraint, act, format!("let the database refuse the second row: a UNIQUE or exclusion constraint by {columns}")),
                serializable(procedure, look.step),
            ],
        });
    }
    found
}
