//! How many transactions overlapped with another, and how many could have.
//!
//! ```text
//!   a:  BEGIN  SELECT x ──────────── UPDATE x  COMMIT      overlapped
//!   b:            BEGIN  SELECT x ── COMMIT                overlapped
//!   b:                                          SELECT x   alone: nothing could have come between
//! ```
//!
//! A transaction is there from its first request that touches rows until the client may go on outside of one, as clients see it: a request that is
//! held is there already. It *could* have overlapped when, at a request of it that touches rows, somebody else was about to move. A test in
//! which no transaction could passes whatever the isolation level is, so that its passing says nothing.

use std::collections::BTreeMap;

/// How many transactions there were, as far as they touched rows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Overlap {
    /// All of them.
    pub transactions: u64,
    /// Those that were there at the same time as another.
    pub overlapped: u64,
    /// Those that were, or at one of whose requests somebody else was about to move.
    pub could: u64,
}

impl Overlap {
    /// Those of two servers together.
    pub fn and(self, other: Overlap) -> Overlap {
        Overlap {
            transactions: self.transactions + other.transactions,
            overlapped: self.overlapped + other.overlapped,
            could: self.could + other.could,
        }
    }
}

#[derive(Default, Debug)]
struct Stay {
    touched: bool,
    overlapped: bool,
    could: bool,
}

/// Counts them.
#[derive(Default, Debug)]
pub(crate) struct Overlaps {
    open: BTreeMap<i32, Stay>,
    sum: Overlap,
}

impl Overlaps {
    /// A client asks for something; with `touches` for rows, while somebody else could move, perhaps.
    pub(crate) fn ask(&mut self, client: i32, touches: bool, others: bool) {
        let stay = self.open.entry(client).or_default();
        if !touches {
            return;
        }
        let begins = !std::mem::replace(&mut stay.touched, true);
        stay.could |= others;
        if self.open.len() == 1 {
            return;
        }
        let company = self.open.iter().any(|(other, stay)| *other != client && stay.touched);
        // Only who begins is new to the others.
        for (number, stay) in &mut self.open {
            stay.overlapped |= company && stay.touched && (begins || *number == client);
        }
    }

    /// Whether anybody else is there.
    pub(crate) fn has_others(&self, client: i32) -> bool {
        self.open.keys().any(|other| *other != client)
    }

    /// Its transaction is over, if it had one.
    pub(crate) fn end(&mut self, client: i32) {
        let Some(stay) = self.open.remove(&client).filter(|stay| stay.touched) else { return };
        self.sum.transactions += 1;
        self.sum.overlapped += u64::from(stay.overlapped);
        self.sum.could += u64::from(stay.overlapped || stay.could);
    }

    /// What there was; who is still there counts, too.
    pub(crate) fn sum(&self) -> Overlap {
        let mut all = self.sum;
        for stay in self.open.values().filter(|stay| stay.touched) {
            all.transactions += 1;
            all.overlapped += u64::from(stay.overlapped);
            all.could += u64::from(stay.overlapped || stay.could);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(events: &[(i32, &str)]) -> (u64, u64, u64) {
        let mut overlaps = Overlaps::default();
        for (client, what) in events {
            match *what {
                "end" => overlaps.end(*client),
                what => overlaps.ask(*client, what.starts_with("rows"), what.ends_with('+')),
            }
        }
        let Overlap { transactions, overlapped, could } = overlaps.sum();
        (transactions, overlapped, could)
    }

    #[test]
    fn one_after_the_other_is_no_overlap() {
        assert_eq!(sum(&[(1, "rows"), (1, "end"), (2, "rows"), (2, "end"), (1, "rows"), (1, "end")]), (3, 0, 0));
        assert_eq!(sum(&[(1, "begin"), (1, "rows"), (2, "begin"), (1, "end"), (2, "rows"), (2, "end")]), (2, 0, 0));
    }

    #[test]
    fn both_of_an_overlap_are_counted_once() {
        assert_eq!(sum(&[(1, "rows"), (2, "rows"), (1, "rows"), (1, "end"), (2, "end")]), (2, 2, 2));
        assert_eq!(sum(&[(1, "rows"), (2, "rows"), (2, "end"), (3, "rows"), (3, "end"), (1, "end")]), (3, 3, 3));
    }

    #[test]
    fn who_met_somebody_about_to_move_could_have() {
        assert_eq!(sum(&[(1, "rows+"), (1, "end"), (2, "rows"), (2, "end")]), (2, 0, 1));
    }

    #[test]
    fn what_touches_nothing_is_no_transaction() {
        assert_eq!(sum(&[(1, "begin"), (2, "rows"), (1, "end"), (2, "end")]), (1, 0, 0));
    }
}
