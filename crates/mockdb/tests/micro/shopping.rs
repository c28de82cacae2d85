//! A shopping cart: an item that was deleted stays deleted.
//!
//! One user, one item, one of it in the cart. `add` appends one more, `delete` removes all of them, `change` sets how many there are if
//! there are any, `get` looks (MonkeyDB, Fig. 1). Each operation shows the cart as it leaves it.
//!
//! ```text
//!   initially 1     s0: add        s1: delete      s2: get → 0, get → 2          two, after none, and only one was added
//! ```
//!
//! What no serial execution can show: a session sees the item gone, and later more of it than can have come in between. Between the two
//! there can be all additions of other sessions, and those that the session itself made in between. Without an addition nothing comes
//! back, because a change needs something to change; with some, at most so many as there are additions, or the largest
//! changed number and these. The state at the end comes later than everything.

use crate::harness::{Application, Assertion, Dice, Operation, Run, Status, Step, in_transaction};
use skew_mockdb::kv::{KvSession, KvTransaction};
use skew_mockdb::{KvError, KvValue};

const CART: &str = "cart/user";

pub(crate) struct Shopping;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShoppingOperation {
    Add,
    Delete,
    Change(i64),
    Get,
}

fn quantity_of(transaction: &mut KvTransaction<'_>) -> Result<i64, KvError> {
    Ok(transaction.get(CART)?.and_then(|quantity| quantity.integer()).unwrap_or(0))
}

impl Operation for ShoppingOperation {
    /// How many there are after it.
    type Observed = i64;

    fn transaction(&mut self, session: &KvSession) -> Result<Status<i64>, KvError> {
        let operation = *self;
        let shown = in_transaction(session, |transaction| {
            let before = quantity_of(transaction)?;
            let after = match operation {
                ShoppingOperation::Add => before + 1,
                ShoppingOperation::Delete => 0,
                ShoppingOperation::Change(quantity) if before > 0 => quantity,
                ShoppingOperation::Change(_) | ShoppingOperation::Get => return Ok(before),
            };
            transaction.put(CART, after)?;
            Ok(after)
        })?;
        Ok(Status::Done(shown))
    }
}

/// The most that there can be, after there was nothing, when these operations happen in some order.
fn most(operations: impl Iterator<Item = ShoppingOperation>) -> i64 {
    let (mut added, mut changed) = (0, 0);
    for operation in operations {
        match operation {
            ShoppingOperation::Add => added += 1,
            ShoppingOperation::Change(quantity) => changed = changed.max(quantity),
            ShoppingOperation::Delete | ShoppingOperation::Get => {}
        }
    }
    // The first addition is what a change needs; a change to the number that is there anyway changes nothing.
    if added == 0 { 0 } else { added.max(changed + added - 1) }
}

/// Whether what a session saw at the end of `between`, after it saw nothing, is more than there can be.
fn reappears(run: &Run<Shopping>, session: usize, between: &[Step<Shopping>], seen: i64) -> bool {
    let others = run.sessions.iter().enumerate().filter(|other| other.0 != session).flat_map(|other| other.1);
    seen > most(others.chain(between).map(|step| step.asked))
}

impl Application for Shopping {
    type Operation = ShoppingOperation;
    type Ending = i64;

    const NAME: &'static str = "shopping";
    const ASSERTIONS: &'static [Assertion] = &[Assertion::of_paper("item reappears after deletion", 20.2)];

    fn initial() -> Vec<(&'static str, KvValue)> {
        vec![(CART, 1.into())]
    }

    fn draw(dice: &mut Dice, _number: i64) -> ShoppingOperation {
        match dice.below(4) {
            0 => ShoppingOperation::Add,
            1 => ShoppingOperation::Delete,
            2 => ShoppingOperation::Change(1 + dice.below(3) as i64),
            _ => ShoppingOperation::Get,
        }
    }

    fn ending(transaction: &mut KvTransaction<'_>) -> Result<i64, KvError> {
        quantity_of(transaction)
    }

    fn failures(run: &Run<Shopping>) -> Vec<bool> {
        let mut failed = false;
        for (session, steps) in run.sessions.iter().enumerate() {
            for gone in (0..steps.len()).filter(|&step| steps[step].observed == 0) {
                let mut later = gone + 1..steps.len();
                failed |= later.any(|step| reappears(run, session, &steps[gone + 1..=step], steps[step].observed));
                failed |= run.ending.is_some_and(|seen| reappears(run, session, &steps[gone + 1..], seen));
            }
        }
        vec![failed]
    }
}
