//! Units of a log: transactions that one request makes, one after the other, or that one connection of `skew serve` does.
//!
//! ```text
//!   SELECT stock … WHERE id = 1 /*route='/buy',traceparent='00-a-…'*/          a request with two transactions
//!   UPDATE product … WHERE id = 1 /*route='/buy',traceparent='00-a-…'*/
//!   the same with id = 2, trace b                                              another one: equal values are one over all of them
//!
//!   -- unit: /buy = select_product(v0), update_product(v0)                     what the lint reads
//! ```
//!
//! Requests with the same templates in the same order are one unit. Its transactions are read as one long one, so that values are joined by the
//! same rule as inside of a transaction.

use super::template::TemplateSeen;
use super::transactions::LoggedStatement;
use std::collections::BTreeMap;

/// Requests with more transactions are not looked at.
const MOST_CALLS: usize = 100;
/// Connections with more are not: they are no single request.
const MOST_OF_CONNECTION: usize = 8;
/// More units are not looked at.
const MOST_UNITS: usize = 50;

/// Requests that make the same transactions.
pub(super) struct UnitSeen {
    pub(super) name: String,
    /// The templates of its transactions, by number.
    pub(super) calls: Vec<usize>,
    /// All their statements, one after the other.
    seen: TemplateSeen,
}

impl UnitSeen {
    /// For each call the numbers of its values in the unit, by position in its template. Equal numbers are one value.
    pub(super) fn values(&self, templates: &[TemplateSeen]) -> Vec<Vec<usize>> {
        let mut all = self.seen.parameters().into_iter();
        let of = |call: &usize| all.by_ref().take(templates[*call].positions.len()).collect();
        self.calls.iter().map(of).collect()
    }
}

/// The units of transactions, whose templates are known by number. Without a name of a request the connection counts, if somebody says so.
pub(super) fn units(transactions: &[Vec<LoggedStatement>], templates: &[usize], by_connection: bool) -> Vec<UnitSeen> {
    let mut requests: BTreeMap<(bool, &str), Vec<usize>> = BTreeMap::new();
    for (number, transaction) in transactions.iter().enumerate() {
        let Some(first) = transaction.first() else { continue };
        let request = transaction.iter().find_map(|statement| statement.origin.request.as_deref());
        let key = request.map(|request| (true, request));
        let Some(key) = key.or(by_connection.then_some((false, first.session.as_str()))) else { continue };
        requests.entry(key).or_default().push(number);
    }
    let mut units: Vec<UnitSeen> = Vec::new();
    for ((is_request, _), members) in requests {
        let most = if is_request { MOST_CALLS } else { MOST_OF_CONNECTION };
        if !(2..=most).contains(&members.len()) {
            continue;
        }
        let calls: Vec<usize> = members.iter().map(|number| templates[*number]).collect();
        let statements: Vec<LoggedStatement> =
            members.iter().flat_map(|number| transactions[*number].clone()).collect();
        let is_full = units.len() >= MOST_UNITS;
        match units.iter_mut().find(|unit| unit.calls == calls) {
            Some(unit) => unit.seen.also(&statements),
            None if !is_full => {
                let route = statements.iter().find_map(|statement| statement.origin.route.clone());
                let name = route.unwrap_or_else(|| if is_request { "a request" } else { "a connection" }.to_owned());
                units.push(UnitSeen { name, calls, seen: TemplateSeen::first(statements) });
            }
            None => {}
        }
    }
    units
}
