//! What one transaction has looked at, a later one of the same request acts on: no level helps against what happens in between.
//!
//! The rules that know what a look and an act are read the unit as if it were one transaction; what they find across a commit is found here.
//! The fix is to make it one transaction, which then has the other rules' findings, or to look again under a lock.
//!
//! A unit that was seen in a log does not tell what the application decided by. There a look at a column is enough, if a later transaction
//! changes that column, in the same row as far as anybody can say, and does not look at the table again under a lock.

use super::reading::ProgramReading;
use super::unit::{JoinedUnit, Unit, joined};
use super::{
    LintFinding, LintRule, Rule, RuleFound, check_then_insert, check_then_update, finding_of, late_lock, next_number,
    read_modify_write,
};
use crate::finding::FixKind;
use skew_history::EngineLevel;
use skew_program::Program;
use skew_sql::touched::{RowsTouched, TableTouch, TouchKind};

const RULES: [Rule; 5] =
    [next_number::find, check_then_insert::find, late_lock::find, read_modify_write::find, check_then_update::find];

pub(super) fn find(program: &Program, reading: &ProgramReading<'_>, unit: &Unit) -> Vec<LintFinding> {
    let joined = joined(program, unit);
    let mut told: Vec<(usize, usize)> = Vec::new();
    let mut findings = Vec::new();
    let by_rules = RULES.iter().flat_map(|rule| rule(reading, &joined.reading));
    let by_sight = if unit.is_seen { changed_later(&joined) } else { Vec::new() };
    for found in by_rules.chain(by_sight) {
        let calls = (joined.call_of(found.steps.0), joined.call_of(found.steps.1));
        let is_told = |steps: &(usize, usize)| *steps == found.steps || unit.is_seen && steps.1 == found.steps.1;
        if calls.0 == calls.1 || told.iter().any(is_told) {
            continue;
        }
        told.push(found.steps);
        let name = |call: usize| reading.procedures[unit.calls[call].procedure].name.clone();
        let (look, act) = (name(calls.0), name(calls.1));
        let place = |step: usize| joined.reading.steps[step].place.line;
        let (first, last) = (place(found.steps.0), place(found.steps.1));
        let sentence = format!(
            "{look} looks at what {act} then changes, in a transaction of its own; what happens between the two no level sees"
        );
        let fixes = vec![
            (
                FixKind::Other,
                found.steps.0,
                format!("wrong scope: lines {first} and {last} belong into one transaction"),
            ),
            (FixKind::Other, found.steps.1, format!("look again in {act}, with FOR UPDATE")),
        ];
        let found =
            RuleFound { rule: LintRule::WrongScope, levels: EngineLevel::ALL.to_vec(), sentence, fixes, ..found };
        findings.push(finding_of(&joined.reading, found, &[look, act]));
    }
    findings
}

/// The first look at what a later transaction changes.
fn changed_later(joined: &JoinedUnit) -> Vec<RuleFound> {
    let steps = &joined.reading.steps;
    let touches = |step: usize| steps[step].touches.tables.iter();
    let mut found = Vec::new();
    for act in 0..steps.len() {
        let call = joined.call_of(act);
        for touch in touches(act) {
            let TouchKind::Update(assigned) = &touch.kind else { continue };
            let is_locked = |one: &TableTouch| one.table == touch.table && one.kind == TouchKind::Lock;
            if (0..act).any(|step| joined.call_of(step) == call && touches(step).any(is_locked)) {
                continue;
            }
            let reads = |one: &TableTouch| {
                let is_look = matches!(one.kind, TouchKind::Read | TouchKind::Share | TouchKind::Lock);
                let is_read = assigned.iter().any(|(column, _)| one.reads.contains(column));
                is_look && is_read && one.table == touch.table && may_be_one(one, touch)
            };
            let look = (0..act).find(|step| joined.call_of(*step) < call && touches(*step).any(reads));
            found.extend(look.map(|look| RuleFound {
                rule: LintRule::WrongScope,
                anomaly: "lost-update",
                steps: (look, act),
                levels: Vec::new(),
                sentence: String::new(),
                fixes: Vec::new(),
            }));
        }
    }
    found
}

/// Whether nothing says that two statements are about different rows: equal keys are one row, different ones are not told, and a search may
/// meet any.
fn may_be_one(one: &TableTouch, other: &TableTouch) -> bool {
    match (&one.rows, &other.rows) {
        (RowsTouched::Keys { index, keys }, RowsTouched::Keys { index: other_index, keys: others }) => {
            index != other_index || keys.iter().any(|key| others.contains(key))
        }
        _ => true,
    }
}
