//! What a log says: a run again, as it was.
//!
//! The log's choices are followed session by session, so that a replay may ask in another order as long as each session asks the
//! same. Where the log has no such choice, or the level does not allow it here, the latest version is taken and the divergence counted.

use super::{Chooser, Latest, Reading};
use crate::log::{Choice, ChoiceLog};
use skew_check::Version;
use std::collections::{BTreeMap, VecDeque};

/// The strategy.
pub struct Script {
    open: BTreeMap<String, VecDeque<Choice>>,
    divergences: usize,
}

impl Script {
    /// Follows a log.
    pub fn new(log: &ChoiceLog) -> Script {
        let mut open: BTreeMap<String, VecDeque<Choice>> = BTreeMap::new();
        for (session, choice) in &log.choices {
            open.entry(session.clone()).or_default().push_back(choice.clone());
        }
        Script { open, divergences: 0 }
    }

    /// The place of the version that the log asks for.
    fn asked(&mut self, reading: &mut Reading<'_>) -> Option<usize> {
        let choices = self.open.get_mut(reading.session())?;
        let Some(Choice::Read { key, from }) = choices.pop_front() else { return None };
        if key != reading.key_name() {
            return None;
        }
        let place = (0..reading.versions().len()).find(|&place| reading.writer_name(place) == from)?;
        reading.allows(place).then_some(place)
    }
}

impl Chooser for Script {
    fn choose(&mut self, reading: &mut Reading<'_>) -> Option<Version> {
        if let Some(place) = self.asked(reading) {
            return Some(reading.versions()[place]);
        }
        self.divergences += 1;
        Latest.choose(reading)
    }

    fn refuses(&mut self, session: &str, what: &str) -> Option<bool> {
        let refused = |choices: &mut VecDeque<Choice>| {
            let asked = matches!(choices.front(), Some(Choice::Refused { what: logged }) if logged == what);
            if asked {
                choices.pop_front();
            }
            asked
        };
        Some(self.open.get_mut(session).is_some_and(refused))
    }

    fn decides_all(&self) -> bool {
        true
    }

    fn divergences(&self) -> usize {
        self.divergences
    }
}
