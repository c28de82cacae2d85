//! Treiber's stack on a key-value store: no element is popped twice.
//!
//! ```text
//!   head ──> node/2 = "2 1" ──> node/1 = "1 0" ──> 0        a node holds its value and the next node; 0 is the end
//!
//!   push v   top := read head;  write node/v = "v top";          cas head: top → v, or again
//!   pop      top := read head;  read node/top = "value next";    cas head: top → next, or again
//! ```
//!
//! Every read, write and compare-and-swap is a transaction of its own (MonkeyDB §7.1). Nodes are named after their values, which are
//! all different, so that a head that was seen before is still the same head. Under serializability the steps are atomic, and the
//! algorithm is right; under causal consistency two swaps may both start from one head.

use crate::harness::{Application, Assertion, Dice, Operation, Run, Status, in_transaction};
use skew_mockdb::kv::{KvSession, KvTransaction};
use skew_mockdb::{KvError, KvValue};
use std::collections::BTreeSet;

/// How often an operation tries to swap before it gives up.
const ATTEMPTS: usize = 4;
/// Pushed values start here, above those that are there at the start.
const FIRST_VALUE: i64 = 10;

pub(crate) struct Stack;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Returned {
    Pushed,
    Popped(i64),
    Empty,
    GaveUp,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Head,
    Node { top: i64 },
    Swap { top: i64, new: i64, value: i64 },
}

/// A push of a value, or a pop.
#[derive(Clone, Debug)]
pub(crate) struct StackOperation {
    push: Option<i64>,
    place: Place,
    attempts: usize,
}

fn node_key(node: i64) -> String {
    format!("node/{node}")
}

/// The value and the next node; nothing where the node is not to be seen yet.
fn parse_node(found: Option<KvValue>) -> Option<(i64, i64)> {
    let Some(KvValue::Text(text)) = found else { return None };
    let (value, next) = text.split_once(' ')?;
    Some((value.parse().ok()?, next.parse().ok()?))
}

fn head_of(transaction: &mut KvTransaction<'_>) -> Result<i64, KvError> {
    Ok(transaction.get("head")?.and_then(|head| head.integer()).unwrap_or(0))
}

impl StackOperation {
    /// Goes back to the start, or gives up.
    fn again(&mut self) -> Status<Returned> {
        self.attempts += 1;
        self.place = Place::Head;
        if self.attempts < ATTEMPTS { Status::More } else { Status::Done(Returned::GaveUp) }
    }

    fn go(&mut self, place: Place) -> Status<Returned> {
        self.place = place;
        Status::More
    }
}

impl Operation for StackOperation {
    type Observed = Returned;

    fn transaction(&mut self, session: &KvSession) -> Result<Status<Returned>, KvError> {
        match (self.place, self.push) {
            (Place::Head, _) => {
                let top = in_transaction(session, head_of)?;
                let empty = top == 0 && self.push.is_none();
                Ok(if empty { Status::Done(Returned::Empty) } else { self.go(Place::Node { top }) })
            }
            (Place::Node { top }, Some(value)) => {
                session.put(&node_key(value), format!("{value} {top}"))?;
                Ok(self.go(Place::Swap { top, new: value, value }))
            }
            (Place::Node { top }, None) => match parse_node(session.get(&node_key(top))?) {
                Some((value, next)) => Ok(self.go(Place::Swap { top, new: next, value })),
                None => Ok(self.again()),
            },
            (Place::Swap { top, new, value }, _) => {
                let swapped = session.cas("head", Some(top.into()), new)?;
                let returned = if self.push.is_some() { Returned::Pushed } else { Returned::Popped(value) };
                Ok(if swapped { Status::Done(returned) } else { self.again() })
            }
        }
    }
}

impl Application for Stack {
    type Operation = StackOperation;
    type Ending = ();

    const NAME: &'static str = "stack";
    const ASSERTIONS: &'static [Assertion] = &[Assertion::of_paper("element popped more than once", 3.7)];

    fn initial() -> Vec<(&'static str, KvValue)> {
        vec![("head", 2.into()), ("node/2", "2 1".into()), ("node/1", "1 0".into())]
    }

    fn draw(dice: &mut Dice, number: i64) -> StackOperation {
        let push = (dice.below(2) == 0).then_some(FIRST_VALUE + number);
        StackOperation { push, place: Place::Head, attempts: 0 }
    }

    /// What lies on the stack at the end says nothing more about what was popped.
    fn ending(transaction: &mut KvTransaction<'_>) -> Result<(), KvError> {
        head_of(transaction).map(|_| ())
    }

    fn failures(run: &Run<Stack>) -> Vec<bool> {
        let mut popped = BTreeSet::new();
        let twice = |observed: &Returned| matches!(observed, Returned::Popped(value) if !popped.insert(*value));
        vec![run.steps().map(|step| &step.observed).any(twice)]
    }
}
