//! Ticket machines: whoever draws a number locks the machine first, and nobody draws a number that somebody else has.
//!
//! ```text
//!   draw m      SELECT … FROM machines WHERE id = m FOR UPDATE        nobody else is at this machine now
//!               SELECT next_number FROM rolls WHERE machine = m       so this is the latest
//!               UPDATE rolls SET next_number = … WHERE machine = m    and may be computed by the client
//!   look m      SELECT next_number FROM rolls WHERE machine = m
//! ```
//!
//! The machine is locked and never changed: a mutex, as applications use `FOR UPDATE` of a parent row. On one server that is enough at every
//! level. PostgreSQL's read committed and all levels of InnoDB read the roll after the lock was waited for; PostgreSQL's higher levels read what was
//! there before, and refuse the UPDATE. A cluster is another matter: there a lock that changes nothing stays on its node.

use super::shared::{all_rows, differences, nothing_against, required};
use crate::load::Loader;
use crate::table::{Table, int, text};
use crate::workload::{Assertion, FinalState, Operation, Workload};
use crate::{Failure, Random, Transaction, Value};
use std::collections::BTreeMap;

const MACHINES: Table = Table::new("machines", &[int("id")], &[text("place")]);
const ROLLS: Table = Table::new("rolls", &[int("machine")], &[int("next_number")]);

/// One in so many operations only looks.
const LOOKS: u64 = 5;

/// The workload.
#[derive(Clone, Debug)]
pub struct Tickets {
    /// How many machines there are.
    pub machines: i64,
}

impl Default for Tickets {
    fn default() -> Tickets {
        Tickets { machines: 2 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TicketCall {
    Draw(i64),
    Look(i64),
}

impl Tickets {
    fn call(&self, random: &mut Random) -> TicketCall {
        let (looks, machine) = (random.below(LOOKS) == 0, random.between(1, self.machines.max(1)));
        if looks { TicketCall::Look(machine) } else { TicketCall::Draw(machine) }
    }
}

fn number_at(transaction: &mut Transaction<'_>, machine: i64) -> Result<i64, Failure> {
    required(transaction.select(&ROLLS, machine, &["next_number"])?)?.int(0)
}

/// Draws a number; the machine and the number.
fn draw(transaction: &mut Transaction<'_>, machine: i64) -> Result<Vec<Value>, Failure> {
    required(transaction.select_for_update(&MACHINES, machine, &[])?)?;
    let number = number_at(transaction, machine)?;
    transaction.overwrite(&ROLLS, machine, "next_number = ?", number + 1)?;
    Ok(vec![machine.into(), number.into()])
}

/// How often each number of a machine was drawn.
type Drawn = BTreeMap<(i64, i64), i64>;

fn drawn(end: &FinalState<'_>) -> Drawn {
    let mut drawn = Drawn::new();
    for observation in end.observations() {
        if let ("draw", [Value::Int(machine), Value::Int(number)]) = (observation.name, observation.values.as_slice()) {
            *drawn.entry((*machine, *number)).or_default() += 1;
        }
    }
    drawn
}

impl Workload for Tickets {
    fn name(&self) -> &'static str {
        "tickets"
    }

    fn tables(&self) -> &[Table] {
        &[MACHINES, ROLLS]
    }

    fn load(&self, loader: &mut Loader) {
        let machines = 1..=self.machines.max(1);
        machines.clone().for_each(|machine| loader.insert(&MACHINES, machine, format!("hall {machine}")));
        machines.for_each(|machine| loader.insert(&ROLLS, machine, 0));
    }

    fn draw(&self, random: &mut Random, _session: usize, _number: u64) -> Operation {
        match self.call(random) {
            TicketCall::Draw(machine) => Operation::observed("draw", move |transaction| draw(transaction, machine)),
            TicketCall::Look(machine) => {
                Operation::new("look", move |transaction| number_at(transaction, machine).map(|_| ()))
            }
        }
    }

    fn assertions(&self, end: &mut FinalState<'_>) -> Result<Vec<Assertion>, Failure> {
        let drawn = drawn(end);
        let twice = drawn.iter().filter(|(_, count)| **count > 1);
        let twice: Vec<String> = twice
            .map(|((machine, number), count)| format!("number {number} of machine {machine} was drawn {count} times"))
            .collect();
        let numbers = format!("{} numbers drawn", drawn.len());
        let mut assertions = vec![nothing_against("no number twice", &twice, &numbers)];
        // Numbers whose commit was not answered are missing among those that were drawn.
        if end.is_complete() {
            let mut draws = BTreeMap::new();
            drawn.iter().for_each(|((machine, _), count)| *draws.entry(*machine).or_default() += count);
            let mut rolls = BTreeMap::new();
            for row in all_rows(end, &ROLLS, &["machine", "next_number"])? {
                rolls.insert(row.int(0)?, row.int(1)?);
            }
            let say = |machine: &i64, drawn: i64, number: i64| {
                format!("{drawn} were drawn at machine {machine}, and it is at {number}")
            };
            let wrong = differences(&draws, &rolls, say);
            assertions.push(nothing_against("rolls moved on", &wrong, "every draw moved its roll"));
        }
        Ok(assertions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::{assert_shares, calls, end_after, end_of, observation};

    #[test]
    fn draws_depend_on_the_seed_and_have_their_shares() {
        let tickets = Tickets::default();
        let draw = |random: &mut Random, _, _| tickets.call(random);
        assert_eq!(calls(1, draw), calls(1, draw));
        assert_ne!(calls(1, draw), calls(2, draw));
        let name = |call: &TicketCall| if matches!(call, TicketCall::Draw(_)) { "draw" } else { "look" };
        assert_shares(calls(1, draw).iter().map(name), &[("draw", 0.8), ("look", 0.2)]);
    }

    #[test]
    fn a_number_is_drawn_once() {
        let one = Tickets { machines: 1 };
        let (first, same, other) =
            (observation(0, "draw", &[1, 0]), observation(1, "draw", &[1, 0]), observation(1, "draw", &[2, 0]));
        let holds = |seen: &[_]| end_of(&one, seen, false)[0].holds;
        assert!(holds(&[first.clone(), other]));
        assert!(!holds(&[first.clone(), same.clone()]));
        let moved = end_after(&one, std::slice::from_ref(&first), true, &[("rolls", &[1, 1])]);
        assert!(moved.iter().all(|assertion| assertion.holds), "{moved:?}");
        let stuck = end_after(&one, &[first, same], true, &[("rolls", &[1, 1])]);
        assert_eq!(stuck[1].detail, "2 were drawn at machine 1, and it is at 1");
    }
}
