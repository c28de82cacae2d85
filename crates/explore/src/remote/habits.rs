//! What sessions asked for, in all runs: one that was told the same has to ask for the same.
//!
//! ```text
//!   state of a session = hash of (its name, everything it asked for and was told)
//!   habits             : state ──> what it asked for next
//! ```
//!
//! What is prescribed is compared event by event with the run that it comes from. That does not suffice: a session that does something
//! else where nothing is prescribed would make another program of it, of which neither is explored whole. Two sessions that get each other's
//! names in another run are found out so, too.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// What a session asked for and was told so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SessionState(u64);

impl SessionState {
    pub(super) fn new(session: &str) -> SessionState {
        SessionState(hash(0, session))
    }

    pub(super) fn add(&mut self, what: &dyn Debug) {
        self.0 = hash(self.0, &format!("{what:?}"));
    }
}

/// The same in every run of this program: nothing of it is by chance.
fn hash(before: u64, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (before, text).hash(&mut hasher);
    hasher.finish()
}

/// What sessions asked for, by what they had been told.
#[derive(Clone, Default, Debug)]
pub(super) struct Habits(BTreeMap<u64, (u64, String)>);

impl Habits {
    /// A session asks for something, in these words; if it was something else before, the words for that.
    pub(super) fn ask(&mut self, state: &mut SessionState, words: &str, request: &dyn Debug) -> Result<(), String> {
        let asked = hash(0, &format!("{words} {request:?}"));
        let (before, recorded) = self.0.entry(state.0).or_insert_with(|| (asked, words.to_owned()));
        if *before != asked {
            return Err(recorded.clone());
        }
        state.add(&asked);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_told_the_same_asks_for_the_same() {
        let mut habits = Habits::default();
        let mut one = SessionState::new("a");
        assert_eq!(habits.ask(&mut one, "a read of x", &1), Ok(()));
        one.add(&10);
        assert_eq!(habits.ask(&mut one, "a read of y", &2), Ok(()));
        let mut same = SessionState::new("a");
        assert_eq!(habits.ask(&mut same, "a read of x", &1), Ok(()));
        same.add(&10);
        assert_eq!(habits.ask(&mut same, "a write of x", &1), Err("a read of y".to_owned()));
        let mut told_otherwise = SessionState::new("a");
        assert_eq!(habits.ask(&mut told_otherwise, "a read of x", &1), Ok(()));
        told_otherwise.add(&11);
        assert_eq!(habits.ask(&mut told_otherwise, "a write of x", &1), Ok(()));
        assert_eq!(habits.ask(&mut SessionState::new("b"), "a write of x", &1), Ok(()));
    }
}
