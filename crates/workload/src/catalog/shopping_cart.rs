//! A shopping cart: an item that was deleted stays deleted.
//!
//! One user, one item, one of it in the cart. `add` puts in one more, `delete` removes all of them, `change` sets how many there are if
//! there are any, `get` looks (MonkeyDB, Fig. 1). Each operation shows the cart as it leaves it.
//!
//! ```text
//!   initially 1     s1: add        s2: delete      s3: get → 0, get → 2          two, after none, and only one was added
//! ```
//!
//! What no serial run can show: a session sees the item gone, and later more of it than can have come in between. Between the two
//! there can be all additions of other sessions, and those that the session itself made in between. Without an addition nothing comes
//! back, because a change needs something to change; with some, at most so many as there are additions, or the largest
//! changed number and these. The state at the end comes later than everything.

use super::shared::required;
use crate::load::Loader;
use crate::table::{Table, int};
use crate::workload::{Assertion, FinalState, Operation, Workload};
use crate::{Failure, Observation, Random, Transaction, Value};

const CART: Table = Table::new("cart", &[int("user_id"), int("item")], &[int("quantity")]);
/// The user and the item.
const KEY: [i64; 2] = [1, 1];

/// The workload.
#[derive(Clone, Debug)]
pub struct ShoppingCart {
    /// How many of the item are in the cart at the start.
    pub quantity: i64,
    /// To which number a quantity is changed at most.
    pub most: i64,
}

impl Default for ShoppingCart {
    fn default() -> ShoppingCart {
        ShoppingCart { quantity: 1, most: 3 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CartCall {
    Add,
    Delete,
    Change(i64),
    Get,
}

impl CartCall {
    fn name(self) -> &'static str {
        match self {
            CartCall::Add => "add",
            CartCall::Delete => "delete",
            CartCall::Change(_) => "change",
            CartCall::Get => "get",
        }
    }
}

impl ShoppingCart {
    fn call(&self, random: &mut Random) -> CartCall {
        match random.below(4) {
            0 => CartCall::Add,
            1 => CartCall::Delete,
            2 => CartCall::Change(random.between(1, self.most)),
            _ => CartCall::Get,
        }
    }
}

/// Runs an operation; how many there are after it.
fn serve(transaction: &mut Transaction<'_>, call: CartCall) -> Result<i64, Failure> {
    let before = required(transaction.select(&CART, KEY, &["quantity"])?)?.int(0)?;
    let after = match call {
        CartCall::Add => before + 1,
        CartCall::Delete => 0,
        CartCall::Change(quantity) if before > 0 => quantity,
        CartCall::Change(_) | CartCall::Get => return Ok(before),
    };
    transaction.overwrite(&CART, KEY, "quantity = ?", after)?;
    Ok(after)
}

/// What a session did and saw.
struct CartVisit {
    name: &'static str,
    changed: i64,
    shown: i64,
}

fn step(observation: &Observation) -> CartVisit {
    let value = |place| if let Some(Value::Int(value)) = observation.values.get(place) { *value } else { 0 };
    CartVisit { name: observation.name, changed: value(0), shown: value(1) }
}

/// The most that there can be, after there was nothing, when these operations happen in some order.
fn most<'a>(steps: impl Iterator<Item = &'a CartVisit>) -> i64 {
    let (mut added, mut changed) = (0, 0);
    for step in steps {
        match step.name {
            "add" => added += 1,
            "change" => changed = changed.max(step.changed),
            _ => {}
        }
    }
    // The first addition is what a change needs; a change to the number that is there anyway changes nothing.
    if added == 0 { 0 } else { added.max(changed + added - 1) }
}

/// What is seen too much after it was gone: the session, how many, and how many there can be.
fn reappeared(sessions: &[Vec<CartVisit>], at_end: i64) -> Option<(usize, i64, i64)> {
    for (session, steps) in sessions.iter().enumerate() {
        let possible = |between: &[CartVisit]| {
            let others = sessions.iter().enumerate().filter(|other| other.0 != session).flat_map(|other| other.1);
            most(others.chain(between))
        };
        for gone in (0..steps.len()).filter(|&place| steps[place].shown == 0) {
            let later = &steps[gone + 1..];
            let seen = later.iter().enumerate().map(|(place, step)| (step.shown, &later[..=place]));
            for (shown, between) in seen.chain([(at_end, later)]) {
                if shown > possible(between) {
                    return Some((session, shown, possible(between)));
                }
            }
        }
    }
    None
}

impl Workload for ShoppingCart {
    fn name(&self) -> &'static str {
        "shopping-cart"
    }

    fn tables(&self) -> &[Table] {
        &[CART]
    }

    fn load(&self, loader: &mut Loader) {
        loader.insert(&CART, KEY, self.quantity);
    }

    fn draw(&self, random: &mut Random, _session: usize, _number: u64) -> Operation {
        let call = self.call(random);
        let changed = if let CartCall::Change(quantity) = call { quantity } else { 0 };
        Operation::observed(call.name(), move |transaction| Ok(vec![changed.into(), serve(transaction, call)?.into()]))
    }

    fn assertions(&self, end: &mut FinalState<'_>) -> Result<Vec<Assertion>, Failure> {
        if !end.is_complete() {
            return Ok(Vec::new());
        }
        let at_end = end.number("SELECT quantity FROM {cart}", ())?;
        let mut sessions: Vec<Vec<CartVisit>> = Vec::new();
        for observation in end.observations() {
            sessions.resize_with(sessions.len().max(observation.session + 1), Vec::new);
            sessions[observation.session].push(step(observation));
        }
        let found = reappeared(&sessions, at_end);
        let detail = match found {
            Some((session, shown, possible)) => {
                format!("s{} saw none, and {shown} later; at most {possible} were added", session + 1)
            }
            None => format!("{at_end} in the cart at the end"),
        };
        Ok(vec![Assertion::new("deleted item stays deleted", found.is_none(), detail)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::{assert_shares, calls, end_of, observation};

    #[test]
    fn draws_depend_on_the_seed_and_have_their_shares() {
        let cart = ShoppingCart::default();
        let draw = |random: &mut Random, _, _| cart.call(random);
        assert_eq!(calls(1, draw), calls(1, draw));
        assert_ne!(calls(1, draw), calls(2, draw));
        assert_shares(
            calls(1, draw).iter().map(|call| call.name()),
            &[("add", 0.25), ("delete", 0.25), ("change", 0.25), ("get", 0.25)],
        );
    }

    #[test]
    fn what_comes_back_must_have_been_added() {
        let holds = |seen: &[Observation]| end_of(&ShoppingCart::default(), seen, true)[0].holds;
        let gone = observation(0, "delete", &[0, 0]);
        // One is loaded, and stays: that alone is too much after a deletion.
        assert!(!holds(std::slice::from_ref(&gone)));
        assert!(holds(&[gone.clone(), observation(1, "add", &[0, 1])]));
        let again = observation(0, "get", &[0, 2]);
        assert!(!holds(&[gone.clone(), again.clone(), observation(1, "add", &[0, 1])]));
        assert!(holds(&[gone, again, observation(1, "add", &[0, 1]), observation(1, "change", &[2, 2])]));
    }
}
