//! What one transaction has looked at, a later one of the same request acts on: no level helps against what happens in between.
//!
//! The rules that know what a look and an act are read the unit as if it were one transaction; what they find across a commit is found here.
//! The fix is to make it one transaction, which then has the other rules' findings, or to look again under a lock.

use super::reading::ProgramReading;
use super::unit::{Unit, joined};
use super::{
    LintFinding, LintRule, Rule, RuleFound, check_then_insert, check_then_update, finding_of, late_lock, next_number,
    read_modify_write,
};
use crate::finding::FixKind;
use skew_history::EngineLevel;
use skew_program::Program;

const RULES: [Rule; 5] =
    [next_number::find, check_then_insert::find, late_lock::find, read_modify_write::find, check_then_update::find];

pub(super) fn find(program: &Program, reading: &ProgramReading<'_>, unit: &Unit) -> Vec<LintFinding> {
    let joined = joined(program, unit);
    let mut told: Vec<(usize, usize)> = Vec::new();
    let mut findings = Vec::new();
    for found in RULES.iter().flat_map(|rule| rule(reading, &joined.reading)) {
        let calls = (joined.call_of(found.steps.0), joined.call_of(found.steps.1));
        if calls.0 == calls.1 || told.contains(&found.steps) {
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
