//! How much work a search may be: steps, not seconds, so that every machine gives the same answer.
//!
//! ```text
//!   all questions about a program   ████████████████████░░░░░░░░░░░░░░░░
//!     this question                 ███░░░░░░░                              over: given up, and the answer says so
//! ```

use std::cell::Cell;

/// How many steps one question may take: what follows from a row in common, what an instance may be, where a chain may go on. A second or two.
const MOST_STEPS: usize = 10_000_000;
/// How many all questions about a program may take together.
pub(crate) const MOST_STEPS_IN_ALL: usize = 40_000_000;

/// What is left of the steps that may be taken.
#[derive(Debug)]
pub(crate) struct Steps {
    most: usize,
    of_question: Cell<usize>,
    in_all: Cell<usize>,
}

impl Steps {
    pub(crate) fn new(most: usize) -> Steps {
        Steps { most, of_question: Cell::new(0), in_all: Cell::new(most) }
    }

    pub(crate) fn begin_question(&self) {
        self.of_question.set(MOST_STEPS.min(self.in_all.get()));
    }

    pub(crate) fn take(&self, count: usize) {
        self.of_question.set(self.of_question.get().saturating_sub(count));
        self.in_all.set(self.in_all.get().saturating_sub(count));
    }

    /// Whether the question is given up.
    pub(crate) fn is_over(&self) -> bool {
        self.of_question.get() == 0
    }

    /// How many were taken.
    pub(crate) fn taken(&self) -> usize {
        self.most - self.in_all.get()
    }
}
