//! Voter: votes for contestants of a show, by telephone, and a limit for every telephone.
//!
//! ```text
//!   vote(number, contestant)    is there such a contestant?
//!                               how many votes has this number?       at the limit: refused
//!                               which state is the area code of?
//!                               INSERT INTO votes …
//! ```
//!
//! This is the procedure of OLTP-Bench, where it came from VoltDB; the votes are counted by the program instead of by `COUNT`, and the key of a
//! vote begins with its telephone, so that the history knows which votes were not there when somebody counted. A refused call
//! commits without a vote. There, as here, a telephone has two votes. Two calls that count at the same time can both find one vote free, unless the database is
//! serializable: neither changes what the other has read.
//!
//! A14: nobody has more votes than the limit.

use super::Requirements;
use super::shared::{Sums, all_rows, fresh, nothing_against, required};
use crate::load::Loader;
use crate::table::{Table, int, text};
use crate::workload::{Assertion, FinalState, Operation, Workload};
use crate::{Failure, Random, Transaction};

const CONTESTANTS: Table = Table::new("contestants", &[int("contestant_number")], &[text("contestant_name")]);
const AREA_CODES: Table = Table::new("area_code_state", &[int("area_code")], &[text("state")]);
const VOTES: Table = Table::new(
    "votes",
    &[int("phone_number"), int("vote_id")],
    &[text("state"), int("contestant_number"), int("created")],
);

/// A telephone number is the area code and seven digits.
const SUBSCRIBERS: i64 = 10_000_000;
const AREAS: [(i64, &str); 3] = [(212, "NY"), (312, "IL"), (415, "CA")];
/// Other area codes begin here.
const MORE_AREAS: i64 = 500;
/// How many OLTP-Bench has.
const ALL_AREAS: i64 = 304;

/// The workload.
#[derive(Clone, Debug)]
pub struct Voter {
    /// How many contestants there are.
    pub contestants: i64,
    /// How many telephones there are.
    pub callers: i64,
    /// How many votes a telephone has.
    pub limit: i64,
    /// How many area codes there are, at least those of the telephones.
    pub areas: i64,
}

impl Default for Voter {
    fn default() -> Voter {
        Voter { contestants: 6, callers: 1, limit: 2, areas: AREAS.len() as i64 }
    }
}

/// A call: number of the telephone and of the contestant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PhoneCall {
    vote: i64,
    phone: i64,
    contestant: i64,
}

impl Voter {
    /// The workload that is asked for.
    pub(super) fn required(required: &Requirements) -> Voter {
        let usual = Voter::default();
        let areas = if required.scan { ALL_AREAS } else { usual.areas };
        Voter { limit: required.limit.unwrap_or(usual.limit), areas, ..usual }
    }

    fn call(&self, random: &mut Random, session: usize, number: u64) -> PhoneCall {
        let caller = random.between(1, self.callers.max(1));
        let (area, _) = AREAS[caller as usize % AREAS.len()];
        let phone = area * SUBSCRIBERS + caller;
        PhoneCall { vote: fresh(session, number), phone, contestant: random.between(1, self.contestants.max(1)) }
    }
}

fn vote(transaction: &mut Transaction<'_>, call: PhoneCall, limit: i64) -> Result<(), Failure> {
    required(transaction.select(&CONTESTANTS, call.contestant, &["contestant_name"])?)?;
    let votes = transaction.scan_prefix(&VOTES, call.phone, &[])?;
    if votes.len() as i64 >= limit {
        return Ok(());
    }
    let state = transaction.select(&AREA_CODES, call.phone / SUBSCRIBERS, &["state"])?;
    let state = state.map_or(Ok("XX".to_owned()), |row| row.text(0).map(str::to_owned))?;
    transaction.insert(&VOTES, [call.phone, call.vote], (state, call.contestant, call.vote))
}

impl Workload for Voter {
    fn name(&self) -> &'static str {
        "voter"
    }

    fn tables(&self) -> &[Table] {
        &[CONTESTANTS, AREA_CODES, VOTES]
    }

    fn load(&self, loader: &mut Loader) {
        for contestant in 1..=self.contestants.max(1) {
            loader.insert(&CONTESTANTS, contestant, format!("contestant {contestant}"));
        }
        AREAS.iter().for_each(|(area, state)| loader.insert(&AREA_CODES, *area, *state));
        (AREAS.len() as i64..self.areas).for_each(|area| loader.insert(&AREA_CODES, MORE_AREAS + area, "XX"));
    }

    fn draw(&self, random: &mut Random, session: usize, number: u64) -> Operation {
        let (call, limit) = (self.call(random, session, number), self.limit);
        Operation::new("vote", move |transaction| vote(transaction, call, limit))
    }

    fn assertions(&self, end: &mut FinalState<'_>) -> Result<Vec<Assertion>, Failure> {
        let mut votes = Sums::new();
        for row in all_rows(end, &VOTES, &["phone_number"])? {
            *votes.entry(row.int(0)?).or_default() += 1;
        }
        let over = votes.iter().filter(|(_, count)| **count > self.limit);
        let over: Vec<String> = over.map(|(phone, count)| format!("{phone} has {count} of {}", self.limit)).collect();
        let most = votes.values().max().copied().unwrap_or(0);
        let otherwise = format!("at most {most} of {} votes", self.limit);
        Ok(vec![nothing_against("A14 votes per caller", &over, &otherwise)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::{calls, end_of};

    #[test]
    fn draws_depend_on_the_seed_and_votes_are_unique() {
        let voter = Voter { callers: 4, ..Voter::default() };
        let draw = |random: &mut Random, session, number| voter.call(random, session, number);
        assert_eq!(calls(1, draw), calls(1, draw));
        assert_ne!(calls(1, draw), calls(2, draw));
        let votes: std::collections::BTreeSet<i64> = calls(1, draw).iter().map(|call| call.vote).collect();
        assert_eq!(votes.len(), calls(1, draw).len());
    }

    #[test]
    fn nobody_has_voted_at_the_start() {
        let start = end_of(&Voter::default(), &[], true);
        assert_eq!((start[0].holds, start[0].detail.as_str()), (true, "at most 0 of 2 votes"));
    }
}
