//! A second solver: z3, where it is installed or the clients' folder has it, is asked what the solver of this project was asked.

use crate::withdraw::WITHDRAW;
use crate::{STEPS, analysis, example, is_found, transactions};
use skew_analyze::anode::{BoundedAnalysis, BoundedQuestion, OtherSolver, QuestionOutcome, SmtAnswer, Specification};
use skew_check::Budget;
use skew_history::EngineLevel;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;

/// Reads a question from its input and answers as the program `z3` does.
const SCRIPT: &str = "import sys, z3
solver = z3.Solver()
solver.set('timeout', 60000)
solver.from_string(sys.stdin.read())
print(solver.check())";

/// How z3 is started: as a program, or by an interpreter that has it, where the clients were installed.
fn solvers() -> Vec<Vec<String>> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/clients");
    let clients = std::env::var_os("SKEW_CLIENTS").map_or_else(beside, PathBuf::from);
    let python = clients.join("python/bin/python").to_string_lossy().into_owned();
    let works = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        let status = command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let mut solvers = Vec::new();
    if works(&["z3", "--version"]) {
        solvers.push(owned(&["z3", "-in", "-smt2", "-T:60"]));
    }
    if works(&[&python, "-c", "import z3"]) {
        solvers.push(owned(&[&python, "-c", SCRIPT]));
    }
    solvers
}

fn z3(words: &[String], text: &str) -> SmtAnswer {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
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

/// Everything that the tests of this folder ask about.
fn suite() -> Vec<BoundedAnalysis> {
    let raised = "snapshot(enroll)\nserializable(add_course, add_course)\nserializable(add_student, add_student)
serializable(enroll, rem_course)\nserializable(enroll, rem_student)";
    let (courseware, shop) = (example("courseware-anode.sql"), example("tpcc-full.sql"));
    let mut suite = Vec::new();
    for level in ["eventual", "causal", "psi", "snapshot"] {
        suite.push(analysis(WITHDRAW, level));
        suite.push(analysis(&courseware, level));
    }
    suite.push(analysis(&courseware, raised));
    suite.push(analysis(&shop, "snapshot"));
    for level in [EngineLevel::PostgresReadCommitted, EngineLevel::PostgresRepeatableRead] {
        for text in [WITHDRAW, &courseware] {
            let specification = Specification::of_engine(level).expect("a level of PostgreSQL");
            suite.push(BoundedAnalysis::new(transactions(text), specification).expect("an analysis"));
        }
    }
    suite
}

#[test]
fn z3_says_the_same() {
    let solvers = solvers();
    if solvers.is_empty() {
        skew_testing::skipped(
            "z3's opinion on bounded questions: there is no z3, nor an interpreter with it (SKEW_CLIENTS)",
        );
        return;
    }
    let (mut count, mut all) = (0, 0);
    for (number, analysis) in suite().into_iter().enumerate() {
        // Each question to one of the solvers that are there.
        let words = &solvers[number % solvers.len()];
        for question in questions(&analysis) {
            let ours = is_found(&analysis.ask(&question, Budget::steps(STEPS)));
            let theirs = z3(words, &analysis.text(&question));
            let same = theirs == SmtAnswer::Unknown || (theirs == SmtAnswer::Satisfiable) == ours;
            assert!(same, "{}: {question:?}: {ours} here, {theirs:?} there", analysis.specification().name);
            count += usize::from(theirs != SmtAnswer::Unknown);
            all += 1;
        }
    }
    skew_testing::say(&format!("z3 agrees on {count} of {all} questions, and contradicts none"));
    assert!(count > 100, "z3 decided only {count}");
}

/// A solver that always gives one answer.
#[derive(Debug)]
struct Stubborn(Result<SmtAnswer, String>);

impl OtherSolver for Stubborn {
    fn name(&self) -> &str {
        "another"
    }

    fn answer(&self, _: &str) -> Result<SmtAnswer, String> {
        self.0.clone()
    }
}

#[test]
fn what_two_solvers_do_not_agree_about_is_not_known() {
    let asked = |level: &str, says: Result<SmtAnswer, String>| {
        let analysis = analysis(WITHDRAW, level).with_second(Rc::new(Stubborn(says)));
        let outcome = analysis.ask(&BoundedQuestion::Cycle(vec![vec![0]; 2]), Budget::steps(STEPS));
        let answers = analysis.answers(skew_analyze::anode::BoundedOptions::default());
        (outcome, answers.last().expect("an answer").verdict.name())
    };
    let (outcome, verdict) = asked("psi", Ok(SmtAnswer::Satisfiable));
    assert!(matches!(outcome, QuestionOutcome::Disputed(reason) if reason.contains("one of them is wrong")));
    assert_eq!(verdict, "unknown");
    let (outcome, verdict) = asked("psi", Ok(SmtAnswer::Unknown));
    assert!(matches!(outcome, QuestionOutcome::Unknown(reason) if reason.contains("another finds no answer")));
    assert_eq!(verdict, "unknown");
    let (outcome, verdict) = asked("eventual", Err("another is broken".to_owned()));
    assert!(matches!(outcome, QuestionOutcome::Disputed(reason) if reason.contains("broken")));
    assert_eq!(verdict, "unknown");
    assert_eq!(asked("eventual", Ok(SmtAnswer::Satisfiable)).1, "anomaly");
    assert_eq!(asked("psi", Ok(SmtAnswer::Unsatisfiable)).1, "robust");
}

#[test]
fn what_a_solver_prints_is_read() {
    assert_eq!(SmtAnswer::read("; a comment\nunsat\n"), Some(SmtAnswer::Unsatisfiable));
    assert_eq!(SmtAnswer::read("sat\n(model)"), Some(SmtAnswer::Satisfiable));
    assert_eq!(SmtAnswer::read("unknown"), Some(SmtAnswer::Unknown));
    assert_eq!(SmtAnswer::read("(error \"line 1\")"), None);
}
