//! What can be explored: the smallest contract.
//!
//! A program is sessions of transactions. The explorer asks for one thing only: *run this transaction from its start, with these
//! answers to its requests*. It does so again and again, and each time the answers go a little further:
//!
//! ```text
//!   run(a#0)   read x?                     not known yet: the explorer stops the run and looks who may have written x
//!   run(a#0)   read x = 1, write y = 2, end
//!   run(a#0)   read x = 7, read z?         another branch: x came from somebody else
//! ```
//!
//! So a transaction has to be a function of what it read and of what the transaction before it in its session left. One that asks for
//! something else than it asked before with the same answers is reported by name. What would depend on the order of runs (sequences,
//! clocks, random numbers) must come from the transaction's [`Place`].

use crate::outline::Place;
use crate::requests::{Interrupt, Requests};
use skew_history::IsolationLevel;
use skew_sql::{Row, RowKey, SpaceId};
use skew_value::Datum;

/// How a transaction ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransactionEnd<L> {
    /// Whether it commits; else its own program aborts it: its reads count, its writes are nobody's.
    pub commits: bool,
    /// What it leaves to the transactions after it in its session, and to assertions.
    pub left: L,
}

/// A program of sessions of transactions over keys and rows.
///
/// Keys and rows are those of SQL, so that one executor serves; a program of keys and values has one space and rows of one column.
pub trait Explorable {
    /// What a transaction leaves: variables of its session, results.
    type Left;

    /// How many sessions there are.
    fn session_count(&self) -> usize;

    /// The name of a session; each has its own.
    fn session_name(&self, session: usize) -> String;

    /// How many transactions a session has.
    fn transaction_count(&self, session: usize) -> usize;

    /// Whether a transaction is left out: it does not run, and all others keep their places and names.
    fn is_left_out(&self, place: Place) -> bool {
        let _ = place;
        false
    }

    /// The level of one transaction, where it is not that of the exploration.
    fn level(&self, place: Place) -> Option<IsolationLevel> {
        let _ = place;
        None
    }

    /// The rows that are there before everything.
    fn initial(&self) -> Vec<(RowKey, Row)>;

    /// The spaces that hold the entries of indexes, where a server keeps keys in order, so that one can lock what lies between two of them;
    /// nothing where keys have no order.
    fn indexes(&self) -> Option<Vec<SpaceId>> {
        None
    }

    /// Runs a transaction from its start. `before` is what the transaction that ran before it in its session left.
    fn run(
        &self,
        place: Place,
        before: Option<&Self::Left>,
        requests: &mut Requests<'_>,
    ) -> Result<TransactionEnd<Self::Left>, Interrupt>;

    /// The name of a key in histories; distinct keys have distinct names.
    fn key_name(&self, key: &RowKey) -> String;

    /// How a row is shown in histories: a row of one column as its value, any other as text.
    fn shown(&self, key: &RowKey, row: &Row) -> Datum {
        let _ = key;
        match &**row {
            [only] => only.clone(),
            several => {
                let texts: Vec<String> = several.iter().map(skew_sql::rows::text).collect();
                Datum::text(texts.join(" "))
            }
        }
    }
}
