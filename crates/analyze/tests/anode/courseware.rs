//! Courses and students: the second case of the paper, level by level as its authors raised them.

use crate::{STEPS, analysis, cycle, cycle_of, example, is_found};
use skew_analyze::anode::{BoundedAnalysis, BoundedQuestion};
use skew_check::Budget;

const RAISED: &str = "serializable(add_course, add_course)
serializable(add_student, add_student)
serializable(enroll, rem_course)
serializable(enroll, rem_student)
";

fn courses(specification: &str) -> BoundedAnalysis {
    analysis(&example("courseware-anode.sql"), specification)
}

#[test]
fn pairs_go_wrong_under_eventual_consistency() {
    let analysis = courses("eventual");
    let pairs = [
        ["enroll", "enroll"],
        ["add_course", "add_course"],
        ["add_student", "add_student"],
        ["enroll", "rem_course"],
        ["enroll", "rem_student"],
    ];
    for pair in pairs {
        assert!(is_found(&cycle_of(&analysis, &pair)), "{pair:?}");
    }
}

/// The levels that the authors chose next. Two of four see one of the new student and the new course each: harmless, both enrolments fail.
#[test]
fn a_long_fork_is_left_when_enroll_is_at_psi() {
    let analysis = courses(&format!("causal\npsi(enroll)\n{RAISED}"));
    assert!(!is_found(&cycle(&analysis, 2)) && !is_found(&cycle(&analysis, 3)));
    assert!(is_found(&cycle_of(&analysis, &["add_student", "enroll", "add_course", "enroll"])));
    // Without causality three are enough: who sees an enrolment need not see the student.
    let analysis = courses(&format!("psi(enroll)\n{RAISED}"));
    assert!(!is_found(&cycle(&analysis, 2)));
    assert!(is_found(&cycle_of(&analysis, &["add_student", "enroll", "enroll"])));
}

#[test]
fn nothing_is_left_when_enroll_is_at_snapshot() {
    let analysis = courses(&format!("snapshot(enroll)\n{RAISED}"));
    for size in 2..=8 {
        assert!(!is_found(&cycle(&analysis, size)), "{size}");
    }
    assert!(analysis.inductive(STEPS).is_some());
}

/// The paper reports that no path of eight is without chords. One is, in a serial run even: a student is removed whom an enrolment had seen,
/// the next enrolment misses them and sees its course, which is removed, and so on. What the paper took for certain, that two
/// statements with a condition on other columns than the key always meet, is not.
#[test]
fn a_serial_run_has_a_path_of_eight_without_chords() {
    let analysis = courses("serializable");
    assert!(is_found(&analysis.ask(&BoundedQuestion::Path(8, analysis.everything()), Budget::steps(STEPS))));
    assert!(!is_found(&cycle(&analysis, 4)));
}
