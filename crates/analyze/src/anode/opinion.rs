//! A second opinion: another solver is asked what the solver of this project was asked, and only what both say is said.
//!
//! ```text
//!   ours      theirs            said
//!   none      unsat             none
//!   found     sat               found
//!   none      nothing in time   it is not known
//!   found     nothing in time   disputed
//!   none      sat               disputed: one of the two is wrong
//!   found     unsat             disputed
//! ```
//!
//! It is asked where something rests on the answer: on every "none", and on a cycle that was found. That a path or a triple exists proves nothing.

use super::question::{BoundedQuestion, QuestionOutcome};
use super::smtlib::SmtAnswer;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// Another solver, which understands SMT-LIB.
pub trait OtherSolver: fmt::Debug {
    /// What it is called: `z3 4.8.12`.
    fn name(&self) -> &str;

    /// Answers a question; or says why there is no answer.
    fn answer(&self, question: &str) -> Result<SmtAnswer, String>;
}

/// Another solver, and what came of asking it.
#[derive(Clone, Debug)]
pub(crate) struct SecondOpinion {
    solver: Rc<dyn OtherSolver>,
    asked: RefCell<AskedSoFar>,
}

#[derive(Clone, Debug, Default)]
struct AskedSoFar {
    /// So many questions had the same answer.
    agreed: usize,
    /// Why it is asked no more: it does not work.
    broken: Option<String>,
    /// The first question about which the two say the opposite.
    contradiction: Option<String>,
}

impl SecondOpinion {
    pub(crate) fn of(solver: Rc<dyn OtherSolver>) -> SecondOpinion {
        SecondOpinion { solver, asked: RefCell::default() }
    }

    /// What is said in the end to a question that was answered here.
    pub(crate) fn weigh(
        &self,
        question: &BoundedQuestion,
        ours: QuestionOutcome,
        text: impl FnOnce() -> String,
    ) -> QuestionOutcome {
        let rests = match &ours {
            QuestionOutcome::None => true,
            QuestionOutcome::Found(_) => matches!(question, BoundedQuestion::Cycle(_)),
            QuestionOutcome::Unknown(_) | QuestionOutcome::Disputed(_) => false,
        };
        if !rests {
            return ours;
        }
        let name = self.solver.name();
        let reason = match (self.answer(text), &ours) {
            (Ok(SmtAnswer::Unsatisfiable), QuestionOutcome::None)
            | (Ok(SmtAnswer::Satisfiable), QuestionOutcome::Found(_)) => {
                self.asked.borrow_mut().agreed += 1;
                return ours;
            }
            (Ok(SmtAnswer::Unknown), _) => format!("{name} finds no answer in the time that it has"),
            (Ok(theirs), _) => {
                let said = if theirs == SmtAnswer::Satisfiable { "there is" } else { "there is not" };
                let reason = format!(
                    "{name} says that {said} {question}, the built-in solver the opposite: one of them is wrong"
                );
                self.asked.borrow_mut().contradiction.get_or_insert_with(|| reason.clone());
                return QuestionOutcome::Disputed(reason);
            }
            (Err(reason), _) => reason,
        };
        match ours {
            QuestionOutcome::Found(_) => {
                QuestionOutcome::Disputed(format!("the built-in solver finds {question}, but {reason}"))
            }
            _ => QuestionOutcome::Unknown(format!("the built-in solver finds no {}, but {reason}", question.thing())),
        }
    }

    /// Asks, unless it is known not to work.
    fn answer(&self, text: impl FnOnce() -> String) -> Result<SmtAnswer, String> {
        if let Some(reason) = &self.asked.borrow().broken {
            return Err(reason.clone());
        }
        let answer = self.solver.answer(&text());
        if let Err(reason) = &answer {
            self.asked.borrow_mut().broken = Some(reason.clone());
        }
        answer
    }

    /// What is to be said with every answer.
    pub(crate) fn told(&self, level: &str) -> String {
        let asked = self.asked.borrow();
        let questions = if asked.agreed == 1 { "question" } else { "questions" };
        format!("{} gives the same answer to {} {questions} at {level}", self.solver.name(), asked.agreed)
    }

    /// The first contradiction.
    pub(crate) fn contradiction(&self) -> Option<String> {
        self.asked.borrow().contradiction.clone()
    }
}
