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
//! same rule as inside of a transaction. Of a request only templates and values are kept, and of the requests those that spoke last: a log does
//! not say when one is over.

use super::template::TemplateSeen;
use std::collections::BTreeMap;

/// Requests with more transactions are not looked at.
const MOST_CALLS: usize = 100;
/// Connections with more are not: they are no single request.
const MOST_OF_CONNECTION: usize = 8;
/// More units are not looked at.
const MOST_UNITS: usize = 50;
/// So many requests go on at once; who was silent for longest is over.
const MOST_OPEN: usize = 1_000;
/// A longer value is taken for one that is like no other.
const LONGEST_VALUE: usize = 200;

/// What belongs together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum RequestKey {
    /// A connection of a log.
    Connection(usize, String),
    /// A request, by its name in comments.
    Named(String),
}

/// A request that may go on.
#[derive(Clone, Default, Debug)]
struct OpenRequest {
    /// The templates of its transactions, by number.
    calls: Vec<usize>,
    /// All their values, one after the other.
    values: Vec<Option<String>>,
    route: Option<String>,
    /// When it spoke last.
    turn: u64,
}

/// The units of logs, and the requests that may become some.
#[derive(Clone, Default, Debug)]
pub(super) struct UnitsSeen {
    all: Vec<UnitSeen>,
    open: BTreeMap<RequestKey, OpenRequest>,
    /// The requests in the order in which they spoke last.
    turns: BTreeMap<u64, RequestKey>,
    turn: u64,
}

/// Requests that make the same transactions.
#[derive(Clone, Debug)]
pub(super) struct UnitSeen {
    pub(super) name: String,
    /// The templates of its transactions, by number.
    pub(super) calls: Vec<usize>,
    /// All their values, one after the other.
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

impl UnitsSeen {
    /// A request makes a transaction: the number of its template, and its values.
    pub(super) fn add(
        &mut self,
        key: RequestKey,
        (call, values): (usize, Vec<Option<String>>),
        route: Option<String>,
        templates: &[TemplateSeen],
    ) {
        let most = key.most();
        let request = self.open.entry(key.clone()).or_default();
        self.turns.remove(&request.turn);
        self.turn += 1;
        self.turns.insert(self.turn, key);
        request.turn = self.turn;
        request.route = request.route.take().or(route);
        if request.calls.len() <= most {
            request.calls.push(call);
            let is_short = |value: &String| value.len() <= LONGEST_VALUE;
            request.values.extend(values.into_iter().map(|value| value.filter(is_short)));
        }
        if self.open.len() > MOST_OPEN
            && let Some((_, oldest)) = self.turns.pop_first()
            && let Some(request) = self.open.remove(&oldest)
        {
            self.close(&oldest, request, templates);
        }
    }

    /// The units, once nothing more is said.
    pub(super) fn end(mut self, templates: &[TemplateSeen]) -> Vec<UnitSeen> {
        for (key, request) in std::mem::take(&mut self.open) {
            self.close(&key, request, templates);
        }
        self.all
    }

    fn close(&mut self, key: &RequestKey, request: OpenRequest, templates: &[TemplateSeen]) {
        let OpenRequest { calls, values, route, .. } = request;
        if !(2..=key.most()).contains(&calls.len()) {
            return;
        }
        let is_full = self.all.len() >= MOST_UNITS;
        match self.all.iter_mut().find(|unit| unit.calls == calls) {
            Some(unit) => unit.seen.also(&values),
            None if !is_full => {
                let in_turn: Vec<&TemplateSeen> = calls.iter().filter_map(|call| templates.get(*call)).collect();
                let seen = TemplateSeen::in_turn(&in_turn, &values);
                let name = route.unwrap_or_else(|| key.name().to_owned());
                self.all.push(UnitSeen { name, calls, seen });
            }
            None => {}
        }
    }
}

impl RequestKey {
    /// How many transactions it may have.
    fn most(&self) -> usize {
        match self {
            RequestKey::Connection(..) => MOST_OF_CONNECTION,
            RequestKey::Named(_) => MOST_CALLS,
        }
    }

    /// What a unit is called that has no route.
    fn name(&self) -> &'static str {
        match self {
            RequestKey::Connection(..) => "a connection",
            RequestKey::Named(_) => "a request",
        }
    }
}
