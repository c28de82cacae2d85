//! A history that waits, written down: another thread, process or machine can go on with it.
//!
//! ```text
//!   [(3, [0]), (1, [0, 3])]      transaction 3 ran first and read from t0; then 1, whose reads were from t0 and 3 when it was left off
//!                              pending: 1 is not over, so swaps with it are still to come
//! ```
//!
//! Transactions are named by their place in the oracle order, in the order `<`. A transaction is a function of what it read, so whom it
//! read from is all that has to be told; everything else is found again by running the program. Of a scan the reads are told that it could
//! make when it ran: the absence of what came into being later is found again, too.

use crate::error::ExploreError;
use crate::explorable::Explorable;
use crate::keys::Keys;
use crate::runner::{Node, Runner};
use crate::set::Number;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A part of an exploration.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Subtree {
    /// The transactions that have begun, in order, with whom their external reads read from.
    pub(crate) transactions: Vec<(Number, Vec<Number>)>,
    /// Whether the last of them is not over.
    pub(crate) pending: bool,
    /// Which part of the whole it is, for estimates.
    pub(crate) share: f64,
}

impl Subtree {
    /// The whole.
    pub fn whole() -> Subtree {
        Subtree { transactions: Vec::new(), pending: false, share: 1.0 }
    }

    /// Which part of the whole it is, by Knuth's estimate.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// A schedule on a server: who took how many steps, then who.
    pub(crate) fn of_steps(steps: &[Number], pending: bool, share: f64) -> Subtree {
        let mut transactions: Vec<(Number, Vec<Number>)> = Vec::new();
        for &number in steps {
            match transactions.last_mut() {
                Some((last, count)) if *last == number && count[0] < Number::MAX => count[0] += 1,
                _ => transactions.push((number, vec![1])),
            }
        }
        Subtree { transactions, pending, share }
    }

    /// Who takes each step of a schedule on a server.
    pub(crate) fn steps(&self) -> Vec<Number> {
        let steps =
            |(number, counts): &(Number, Vec<Number>)| vec![*number; counts.first().copied().map_or(0, usize::from)];
        self.transactions.iter().flat_map(steps).collect()
    }

    pub(crate) fn of<L>(node: &Node<L>, keys: &Keys) -> Subtree {
        if let Some(server) = &node.server {
            return Subtree::of_steps(&server.steps, false, node.share);
        }
        Subtree {
            transactions: node.history.schedule(keys),
            pending: node.history.pending().is_some(),
            share: node.share,
        }
    }

    /// The history that it stands for.
    pub(crate) fn follow<P: Explorable + ?Sized>(
        &self,
        runner: &mut Runner<'_, P>,
    ) -> Result<Node<P::Left>, ExploreError> {
        let mut node = runner.root();
        node.share = self.share;
        let last = self.transactions.len().wrapping_sub(1);
        for (place, (number, sources)) in self.transactions.iter().enumerate() {
            runner.follow(&mut node, *number, sources, !self.pending || place != last)?;
        }
        Ok(node)
    }
}

/// The run in a line, as in `3:0 1:0.3`: what people copy from a report.
impl fmt::Display for Subtree {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (number, sources)) in self.transactions.iter().enumerate() {
            let sources: Vec<String> = sources.iter().map(Number::to_string).collect();
            write!(out, "{}{number}:{}", if place == 0 { "" } else { " " }, sources.join("."))?;
        }
        Ok(())
    }
}

/// A line that is no schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "this is no schedule; it is written like `3:0 1:0.3`: the number of a transaction, and of those whom it read from"
)]
pub struct NoSchedule;

/// The line of a complete run. Whether the program has it is found out when it is followed.
impl FromStr for Subtree {
    type Err = NoSchedule;

    fn from_str(line: &str) -> Result<Subtree, NoSchedule> {
        let number = |text: &str| text.parse::<Number>().map_err(|_| NoSchedule);
        let transaction = |word: &str| {
            let (name, sources) = word.split_once(':').ok_or(NoSchedule)?;
            let sources = sources.split('.').filter(|source| !source.is_empty());
            Ok((number(name)?, sources.map(number).collect::<Result<_, _>>()?))
        };
        let transactions = line.split_whitespace().map(transaction).collect::<Result<_, _>>()?;
        Ok(Subtree { transactions, pending: false, share: 1.0 })
    }
}
