//! A second solver: z3, where the clients' folder has it, is asked what the solver of this project was asked.

use crate::withdraw::WITHDRAW;
use crate::{STEPS, analysis, example, is_found};
use skew_analyze::anode::{BoundedAnalysis, BoundedQuestion, SmtAnswer};
use skew_check::Budget;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Reads a question from its input and answers as the program `z3` does.
const SCRIPT: &str = "import sys, z3
solver = z3.Solver()
solver.set('timeout', 60000)
solver.from_string(sys.stdin.read())
print(solver.check())";

/// The interpreter that has z3, where the clients were installed.
fn python() -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/clients");
    let clients = std::env::var_os("SKEW_CLIENTS").map_or_else(beside, PathBuf::from);
    let python = clients.join("python/bin/python");
    let has_z3 = Command::new(&python).args(["-c", "import z3"]).stderr(Stdio::null()).status();
    has_z3.is_ok_and(|status| status.success()).then_some(python)
}

fn z3(python: &PathBuf, text: &str) -> SmtAnswer {
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("z3 starts");
    child.stdin.take().expect("an input").write_all(text.as_bytes()).expect("z3 listens");
    let output = child.wait_with_output().expect("z3 ends");
    let printed = String::from_utf8_lossy(&output.stdout);
    SmtAnswer::read(&printed).unwrap_or_else(|| panic!("z3 said {printed:?}"))
}

fn questions(analysis: &BoundedAnalysis) -> Vec<BoundedQuestion> {
    let all = analysis.everything();
    let mut questions: Vec<BoundedQuestion> =
        (2..=4).map(|size| BoundedQuestion::Cycle(vec![all.clone(); size])).collect();
    questions.push(BoundedQuestion::Path(3, all.clone()));
    questions.push(BoundedQuestion::Triple(all.clone()));
    questions.extend(all.iter().map(|one| BoundedQuestion::Against(vec![*one], all.clone())));
    questions
}

#[test]
fn z3_says_the_same() {
    let Some(python) = python() else {
        skew_testing::skipped("z3's opinion on bounded questions: there is no interpreter with z3 (SKEW_CLIENTS)");
        return;
    };
    let raised = "snapshot(enroll)\nserializable(add_course, add_course)\nserializable(add_student, add_student)
serializable(enroll, rem_course)\nserializable(enroll, rem_student)";
    let mut suite = Vec::new();
    for level in ["eventual", "causal", "psi", "snapshot"] {
        suite.push((WITHDRAW.to_owned(), level));
        suite.push((example("courseware-anode.sql"), level));
    }
    suite.push((example("courseware-anode.sql"), raised));
    suite.push((example("tpcc-full.sql"), "snapshot"));
    let mut count = 0;
    for (text, level) in suite {
        let analysis = analysis(&text, level);
        for question in questions(&analysis) {
            let ours = is_found(&analysis.ask(&question, Budget::steps(STEPS)));
            let theirs = z3(&python, &analysis.text(&question));
            let same = theirs == SmtAnswer::Unknown || (theirs == SmtAnswer::Satisfiable) == ours;
            assert!(same, "{level}: {question:?}: {ours} here, {theirs:?} there");
            count += usize::from(theirs != SmtAnswer::Unknown);
        }
    }
    skew_testing::say(&format!("z3 agrees on {count} questions"));
    assert!(count > 50, "z3 decided only {count}");
}

#[test]
fn what_a_solver_prints_is_read() {
    assert_eq!(SmtAnswer::read("; a comment\nunsat\n"), Some(SmtAnswer::Unsatisfiable));
    assert_eq!(SmtAnswer::read("sat\n(model)"), Some(SmtAnswer::Satisfiable));
    assert_eq!(SmtAnswer::read("unknown"), Some(SmtAnswer::Unknown));
    assert_eq!(SmtAnswer::read("(error \"line 1\")"), None);
}
