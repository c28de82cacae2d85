//! A transaction on its way: what it means to do, and what it has seen and done so far.
//!
//! ```text
//!   steps    read 4 │ write 7 := 12 │ read 7        drawn before it begins
//!   events   r(4,3) │ w(7,12)       │ ·             one by one, as the database lets it
//! ```
//!
//! A read of a key that the transaction wrote itself returns its own write, at every level; that is settled here, so that no
//! database has to think of it. When the database refuses the commit, the attempt starts over with new values.

use skew_history::{Action, Asked};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a key holds.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Content {
    /// Nothing yet: the initial state.
    #[default]
    Absent,
    /// A written value, or an appended element.
    Integer(i64),
    /// The appended elements, first to last.
    List(Rc<Vec<i64>>),
}

/// One event of a generated transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GeneratedEvent {
    /// Read, write or append.
    pub action: Action,
    /// The key.
    pub key: u64,
    /// What was read, written or appended.
    pub content: Content,
    /// The statement behind it, at a level of an engine.
    pub asked: Asked,
}

impl Content {
    /// What the key holds after the event.
    pub(crate) fn apply(&mut self, event: &GeneratedEvent) {
        match (event.action, &event.content) {
            (Action::Read, _) => {}
            (Action::Append, &Content::Integer(element)) => self.append(element),
            _ => *self = event.content.clone(),
        }
    }

    fn append(&mut self, element: i64) {
        if let Content::List(elements) = self {
            Rc::make_mut(elements).push(element);
        } else {
            *self = Content::List(Rc::new(vec![element]));
        }
    }
}

/// What a transaction means to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PlannedEvent {
    pub(crate) key: u64,
    pub(crate) action: Action,
    /// What to write or append.
    pub(crate) value: i64,
}

/// A transaction on its way.
#[derive(Default)]
pub(crate) struct Attempt {
    pub(crate) session: u32,
    pub(crate) steps: Vec<PlannedEvent>,
    pub(crate) events: Vec<GeneratedEvent>,
    /// When it began.
    pub(crate) begin: i64,
    /// Up to which commit it sees; for the database that lets it.
    pub(crate) snapshot: u64,
    /// How many of its steps it has taken; for the server.
    pub(crate) taken: usize,
    /// The state that it reads, where that is taken once; for the server.
    pub(crate) state: Option<BTreeMap<u64, Content>>,
}

impl Attempt {
    /// Does the next step, with what the database holds for its key.
    pub(crate) fn perform(&mut self, stored: impl FnOnce(u64) -> Content) {
        let step = self.steps[self.events.len()];
        let content = match step.action {
            Action::Read => self.with_own_writes(step.key, stored(step.key)),
            Action::Write | Action::Append => Content::Integer(step.value),
        };
        let asked = Asked::default();
        self.events.push(GeneratedEvent { action: step.action, key: step.key, content, asked });
    }

    /// Does all steps, with what the database holds now.
    pub(crate) fn perform_all(&mut self, stored: impl Fn(u64) -> Content) {
        while self.events.len() < self.steps.len() {
            self.perform(&stored);
        }
    }

    pub(crate) fn with_own_writes(&self, key: u64, mut content: Content) -> Content {
        self.events.iter().filter(|event| event.key == key).for_each(|event| content.apply(event));
        content
    }

    /// The writes and appends so far.
    pub(crate) fn writes(&self) -> impl Iterator<Item = &GeneratedEvent> {
        self.events.iter().filter(|event| event.action != Action::Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_reads_its_own_writes_and_appends() {
        let step = |action, key, value| PlannedEvent { key, action, value };
        let steps = vec![
            step(Action::Write, 1, 10),
            step(Action::Read, 1, 0),
            step(Action::Append, 2, 20),
            step(Action::Read, 2, 0),
            step(Action::Read, 3, 0),
        ];
        let mut attempt = Attempt { steps, ..Attempt::default() };
        attempt.perform_all(|key| if key == 2 { Content::List(Rc::new(vec![5])) } else { Content::Absent });
        let seen: Vec<Content> = attempt.events.iter().map(|event| event.content.clone()).collect();
        assert_eq!(seen[1], Content::Integer(10));
        assert_eq!(seen[3], Content::List(Rc::new(vec![5, 20])));
        assert_eq!(seen[4], Content::Absent);
        assert_eq!(attempt.writes().count(), 2);
    }
}
