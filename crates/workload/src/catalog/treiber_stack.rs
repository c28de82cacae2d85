//! Treiber's stack, made of rows: no element is popped twice.
//!
//! ```text
//!   head ──> node 2: value 2, next 1 ──> node 1: value 1, next 0 ──> 0        0 is the end
//!
//!   push v   top := read head;  write node v: value v, next top;     compare and swap head: top → v, or again
//!   pop      top := read head;  read node top;                       compare and swap head: top → next, or again
//! ```
//!
//! Every read, write and compare-and-swap is a transaction of its own (MonkeyDB §7.1). Nodes are named after their values, which are
//! all different, so that a head that was seen before is still the same head. Where transactions are serializable the steps are atomic
//! and the algorithm is right; elsewhere two swaps may both start from one head. With [`Arithmetic::Server`] a swap is one statement,
//! `UPDATE … WHERE head = ?`, which real servers do right at every level.

use super::shared::{Arithmetic, fresh, nothing_against, required};
use crate::load::Loader;
use crate::table::{Table, int};
use crate::workload::{Assertion, FinalState, Operation, Workload};
use crate::{Failure, Random, Session, Transaction, Value};
use std::collections::BTreeMap;

const STACK: Table = Table::new("stack", &[int("id")], &[int("head")]);
const NODES: Table = Table::new("nodes", &[int("id")], &[int("value"), int("next_node")]);

/// How often an operation tries to swap before it gives up.
const ATTEMPTS: usize = 4;

/// The workload.
#[derive(Clone, Debug)]
pub struct TreiberStack {
    /// How many elements are there at the start.
    pub elements: i64,
    /// Who compares when the head is swapped.
    pub arithmetic: Arithmetic,
}

impl Default for TreiberStack {
    fn default() -> TreiberStack {
        TreiberStack { elements: 2, arithmetic: Arithmetic::Client }
    }
}

impl TreiberStack {
    /// The value to push, or nothing for a pop.
    fn call(&self, random: &mut Random, session: usize, number: u64) -> Option<i64> {
        (random.below(2) == 0).then(|| fresh(session, number))
    }
}

fn read_head(transaction: &mut Transaction<'_>) -> Result<i64, Failure> {
    required(transaction.select(&STACK, 0, &["head"])?)?.int(0)
}

fn swap(transaction: &mut Transaction<'_>, arithmetic: Arithmetic, old: i64, new: i64) -> Result<bool, Failure> {
    match arithmetic {
        Arithmetic::Server => transaction.update_if(&STACK, 0, ("head = ?", old), ("head = ?", new)),
        Arithmetic::Client if read_head(transaction)? == old => transaction.overwrite(&STACK, 0, "head = ?", new),
        Arithmetic::Client => Ok(false),
    }
}

/// The next head for what is the head now. Nothing: the operation ends here, or has to begin again.
fn push_node(session: &mut Session<'_>, top: i64, value: i64) -> Result<Option<i64>, Failure> {
    let written = session.transact("write-node", |transaction| {
        // There is one already when the swap of an earlier try failed.
        if !transaction.overwrite(&NODES, value, "next_node = ?", top)? {
            transaction.insert(&NODES, value, [value, top])?;
        }
        Ok(())
    })?;
    Ok(written.committed().map(|()| value))
}

fn pop_node(session: &mut Session<'_>, top: i64) -> Result<Option<(i64, i64)>, Failure> {
    let read = session.transact("read-node", |transaction| {
        let row = transaction.select(&NODES, top, &["value", "next_node"])?;
        row.map(|row| Ok((row.int(0)?, row.int(1)?))).transpose()
    })?;
    // Where the node is not to be seen yet, one tries again.
    Ok(read.committed().flatten())
}

/// A push or a pop. After an answer that was lost nothing more is done: the swap may have happened.
fn serve(session: &mut Session<'_>, push: Option<i64>, arithmetic: Arithmetic) -> Result<(), Failure> {
    for _ in 0..ATTEMPTS {
        let Some(top) = session.transact("read-head", read_head)?.committed() else { return Ok(()) };
        let (new, value) = match push {
            Some(value) => match push_node(session, top, value)? {
                Some(node) => (node, value),
                None => return Ok(()),
            },
            None if top == 0 => return Ok(()),
            None => match pop_node(session, top)? {
                Some((value, next)) => (next, value),
                None => continue,
            },
        };
        match session.transact("swap", |transaction| swap(transaction, arithmetic, top, new))?.committed() {
            Some(true) => {
                session.observe(if push.is_some() { "push" } else { "pop" }, vec![value.into()]);
                return Ok(());
            }
            Some(false) => {}
            None => return Ok(()),
        }
    }
    Ok(())
}

impl Workload for TreiberStack {
    fn name(&self) -> &'static str {
        "treiber-stack"
    }

    fn tables(&self) -> &[Table] {
        &[STACK, NODES]
    }

    fn load(&self, loader: &mut Loader) {
        loader.insert(&STACK, 0, self.elements);
        (1..=self.elements).for_each(|node| loader.insert(&NODES, node, [node, node - 1]));
    }

    fn draw(&self, random: &mut Random, session: usize, number: u64) -> Operation {
        let (push, arithmetic) = (self.call(random, session, number), self.arithmetic);
        let name = if push.is_some() { "push" } else { "pop" };
        Operation::of_session(name, move |session| serve(session, push, arithmetic))
    }

    /// What was popped counts also when the answer to a commit was lost: then there is only less of it.
    fn assertions(&self, end: &mut FinalState<'_>) -> Result<Vec<Assertion>, Failure> {
        let mut popped: BTreeMap<&Value, usize> = BTreeMap::new();
        for observation in end.observations().iter().filter(|observation| observation.name == "pop") {
            observation.values.iter().for_each(|value| *popped.entry(value).or_default() += 1);
        }
        let twice = popped.iter().filter(|(_, count)| **count > 1);
        let twice: Vec<String> = twice.map(|(value, count)| format!("{value} was popped {count} times")).collect();
        Ok(vec![nothing_against("element popped once", &twice, &format!("{} elements popped", popped.len()))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::{assert_shares, calls, end_of, observation};

    #[test]
    fn draws_depend_on_the_seed_and_have_their_shares() {
        let stack = TreiberStack::default();
        let draw = |random: &mut Random, session, number| stack.call(random, session, number);
        assert_eq!(calls(1, draw), calls(1, draw));
        assert_ne!(calls(1, draw), calls(2, draw));
        assert_shares(calls(1, draw).iter().map(|push| if push.is_some() { "push" } else { "pop" }), &[("pop", 0.5)]);
    }

    #[test]
    fn an_element_is_popped_once() {
        let holds = |seen: &[crate::Observation]| end_of(&TreiberStack::default(), seen, false)[0].holds;
        let (push, pop) = (observation(0, "push", &[2]), observation(1, "pop", &[2]));
        assert!(holds(&[push, pop.clone()]));
        assert!(!holds(&[pop.clone(), pop]));
    }
}
