//! Access paths: from conditions on a table to the keys that have to be looked at.
//!
//! ```text
//!   all columns of the primary key have values     Points         item/7
//!   all columns of a unique index                  UniquePoints   item@name/'bolt', then the row it names
//!   the first columns of a key, then a bound       KeyRange, IndexRange
//!   nothing of the kind                            Scan
//! ```
//!
//! The primary key comes first, then unique indexes, then the key with the longest prefix. Partial indexes and indexes over expressions
//! are never used to read: what they leave out would have to follow from the conditions.
//!
//! Keys are equal where values are equal; they are ordered as values are only for types that say so ([`column_keeps_order`]), so only
//! those have bounds.

use crate::catalog::{Index, IndexColumn, Table};
use crate::key::column_keeps_order;
use crate::storage::Lock;
use crate::tree::expression::{Expression, Node, Subquery, SubqueryKind};
use crate::tree::plan::{Plan, SortKey};
use crate::tree::read::{Access, Asks, Bound, Bounds, Order, Read, Values};
use crate::tree::visit;
use skew_value::{Datum, SqlType};

/// What a condition says about a column.
#[derive(Clone)]
enum Fact {
    /// It has one of these values.
    Equal(usize, Values),
    /// It is not below.
    Low(usize, Bound),
    /// It is not above.
    High(usize, Bound),
}

/// Reads the rows that fulfil some conditions over the table's row, besides those that the read has.
pub(super) fn choose(mut read: Read, conditions: Vec<Expression>) -> Read {
    let mut all = read.condition.take().map(Expression::conjuncts).unwrap_or_default();
    all.extend(conditions);
    let facts: Vec<Vec<Fact>> = all.iter().map(facts_of).collect();
    let known: Vec<Fact> = facts.iter().flatten().cloned().collect();
    let (access, used) = best_access(&read.table, &known, &all);
    read.exact = is_exact(&read.table, &facts, &used, &access);
    read.access = access;
    read.condition = Expression::all(all);
    read.asks = read.condition.as_ref().map_or(Asks::Nothing, asks);
    read
}

/// What a condition reads besides the row that it is about.
fn asks(condition: &Expression) -> Asks {
    let mut asks = Asks::Nothing;
    visit::expression(&mut condition.clone(), 0, &mut |one, level| match &one.node {
        Node::Subquery(subquery) if level == 0 && subquery.query.correlated => asks = Asks::PerRow,
        Node::Subquery(_) if asks == Asks::Nothing => asks = Asks::Once,
        _ => {}
    });
    asks
}

/// Whether the path finds exactly the rows that fulfil the conditions: every condition is one of the facts that it rests on.
fn is_exact(table: &Table, facts: &[Vec<Fact>], used: &[usize], access: &Access) -> bool {
    let bounded = match access {
        Access::Scan(_) => return facts.is_empty(),
        Access::Points(_) | Access::UniquePoints(..) => None,
        Access::KeyRange(bounds) | Access::IndexRange(_, bounds) => Some(bounds),
    };
    let is_plain = |column: usize| {
        let sql_type = &table.columns[column].sql_type;
        matches!(sql_type, SqlType::Integer { .. } | SqlType::Boolean | SqlType::Date | SqlType::Uuid)
    };
    let mut seen = Vec::new();
    facts.iter().all(|facts| match facts.as_slice() {
        [Fact::Equal(column, Values::Each(_))] if used.contains(column) && is_plain(*column) => {
            // Two equalities on one column: the path rests on one of them.
            let first = !seen.contains(column);
            seen.push(*column);
            first
        }
        [Fact::Low(column, _) | Fact::High(column, _)] => {
            let integer = matches!(table.columns[*column].sql_type, SqlType::Integer { .. });
            let low = matches!(facts[0], Fact::Low(..));
            let taken = bounded.is_some_and(|bounds| if low { bounds.low.is_some() } else { bounds.high.is_some() });
            let place = column + if low { 100_000 } else { 200_000 };
            let first = !seen.contains(&place);
            seen.push(place);
            integer && taken && first && used.last() == Some(column)
        }
        _ => false,
    })
}

/// The best path, and the columns it rests on, the bounded one last.
fn best_access(table: &Table, known: &[Fact], conditions: &[Expression]) -> (Access, Vec<usize>) {
    let primary: Option<&[usize]> = table.primary_key.as_ref().map(|key| key.columns.as_slice());
    if let Some(columns) = primary
        && let Some(alternatives) = alternatives(columns, known, conditions)
    {
        return (Access::Points(alternatives), columns.to_vec());
    }
    let indexes: Vec<(usize, Vec<usize>)> =
        table.indexes.iter().enumerate().filter_map(|(place, index)| Some((place, plain_columns(index)?))).collect();
    for (place, columns) in indexes.iter().filter(|(place, _)| table.indexes[*place].unique) {
        if let Some(alternatives) = alternatives(columns, known, conditions) {
            return (Access::UniquePoints(*place, alternatives), columns.clone());
        }
    }
    let mut best: Option<(usize, Option<usize>, Bounds, Vec<usize>)> = None;
    let keys = primary.map(|columns| (None, columns)).into_iter();
    for (place, columns) in keys.chain(indexes.iter().map(|(place, columns)| (Some(*place), columns.as_slice()))) {
        let (score, bounds, used) = range(table, columns, known);
        if score > best.as_ref().map_or(0, |(best, ..)| *best) {
            best = Some((score, place, bounds, used));
        }
    }
    match best {
        Some((_, Some(place), bounds, used)) => (Access::IndexRange(place, bounds), used),
        Some((_, None, bounds, used)) => (Access::KeyRange(bounds), used),
        None => (Access::Scan(Order::default()), Vec::new()),
    }
}

/// The columns of an index that can be read by: all rows have an entry, and entries are made of columns.
fn plain_columns(index: &Index) -> Option<Vec<usize>> {
    if index.predicate.is_some() {
        return None;
    }
    let column = |column: &IndexColumn| match column {
        IndexColumn::Column(place) => Some(*place),
        IndexColumn::Expression(_) => None,
    };
    index.columns.iter().map(column).collect()
}

/// The values of all columns of a key: from the conditions as a whole, or from each branch of an OR.
fn alternatives(columns: &[usize], known: &[Fact], conditions: &[Expression]) -> Option<Vec<Vec<Values>>> {
    if let Some(values) = all_values(columns, known) {
        return Some(vec![values]);
    }
    conditions.iter().find_map(|condition| {
        let Node::Or(branches) = &condition.node else { return None };
        branches
            .iter()
            .map(|branch| {
                let mut facts: Vec<Fact> = branch.clone().conjuncts().iter().flat_map(facts_of).collect();
                facts.extend(known.iter().cloned());
                all_values(columns, &facts)
            })
            .collect()
    })
}

fn all_values(columns: &[usize], facts: &[Fact]) -> Option<Vec<Values>> {
    columns.iter().map(|&column| values_of(column, facts)).collect()
}

/// What a column is equal to; a single value is better than a list.
fn values_of(column: usize, facts: &[Fact]) -> Option<Values> {
    let equal = facts.iter().filter_map(|fact| match fact {
        Fact::Equal(known, values) if *known == column => Some(values),
        _ => None,
    });
    let size = |values: &&Values| match values {
        Values::Each(values) => values.len(),
        Values::Elements(_) => usize::MAX,
    };
    equal.min_by_key(size).cloned()
}

/// The range of a key that the facts allow, and how much it rests on: twice the equal columns, and one for a bounded one.
fn range(table: &Table, columns: &[usize], facts: &[Fact]) -> (usize, Bounds, Vec<usize>) {
    let mut bounds = Bounds::default();
    let mut used = Vec::new();
    for &column in columns {
        match values_of(column, facts) {
            Some(values) => bounds.prefix.push(values),
            None => break,
        }
        used.push(column);
    }
    if let Some(&next) = columns.get(bounds.prefix.len())
        && column_keeps_order(table, next)
    {
        let low = facts.iter().find_map(|fact| match fact {
            Fact::Low(column, bound) if *column == next => Some(bound.clone()),
            _ => None,
        });
        let high = facts.iter().find_map(|fact| match fact {
            Fact::High(column, bound) if *column == next => Some(bound.clone()),
            _ => None,
        });
        (bounds.low, bounds.high) = (low, high);
        if bounds.low.is_some() || bounds.high.is_some() {
            used.push(next);
        }
    }
    let bounded = usize::from(bounds.low.is_some() || bounds.high.is_some());
    (2 * bounds.prefix.len() + bounded, bounds, used)
}

/// Whether an expression can be evaluated before the table is read.
fn is_ready(expression: &Expression) -> bool {
    let found = visit::columns(expression);
    found.own.is_empty() && !found.volatile
}

pub(super) fn own_column(expression: &Expression) -> Option<usize> {
    match expression.node {
        Node::Column { depth: 0, index } => Some(index),
        _ => None,
    }
}

/// What one condition says.
fn facts_of(condition: &Expression) -> Vec<Fact> {
    let fact = match &condition.node {
        Node::Call(call) => match call.arguments.as_slice() {
            [left, right] => return facts_of_comparison(call.routine.name, left, right),
            _ => None,
        },
        Node::InList(list) => own_column(&list.operand)
            .filter(|_| list.list.iter().all(is_ready))
            .map(|column| Fact::Equal(column, Values::Each(list.list.clone()))),
        Node::Quantified(quantified) if !quantified.all && quantified.comparison.name == "=" => {
            own_column(&quantified.operand)
                .filter(|_| is_ready(&quantified.array))
                .map(|column| Fact::Equal(column, Values::Elements(quantified.array.clone())))
        }
        Node::Subquery(subquery) => fact_of_subquery(subquery),
        Node::Or(branches) => fact_of_branches(branches),
        _ => None,
    };
    fact.into_iter().collect()
}

/// `id = 1 OR id = 2` is `id IN (1, 2)`.
fn fact_of_branches(branches: &[Expression]) -> Option<Fact> {
    let mut column = None;
    let mut values = Vec::new();
    for branch in branches {
        let facts = facts_of(branch);
        let [Fact::Equal(own, Values::Each(list))] = facts.as_slice() else { return None };
        if column.is_some_and(|column| column != *own) {
            return None;
        }
        column = Some(*own);
        values.extend(list.iter().cloned());
    }
    column.map(|column| Fact::Equal(column, Values::Each(values)))
}

/// `id IN (SELECT …)` where the subquery does not look at this row: its rows are read first, then the points they name.
fn fact_of_subquery(subquery: &Subquery) -> Option<Fact> {
    let SubqueryKind::In(operands) = &subquery.kind else { return None };
    let [operand] = operands.as_slice() else { return None };
    let column = own_column(operand)?;
    let found = visit::plan_columns(&subquery.query.plan);
    if found.next || found.volatile {
        return None;
    }
    let sql_type = SqlType::Array(Box::new(operand.sql_type.clone()));
    let array = Subquery { kind: SubqueryKind::Array, ..subquery.clone() };
    Some(Fact::Equal(column, Values::Elements(Expression { node: Node::Subquery(Box::new(array)), sql_type })))
}

fn facts_of_comparison(symbol: &str, left: &Expression, right: &Expression) -> Vec<Fact> {
    let (column, value, symbol) = match (own_column(left), own_column(right)) {
        (Some(column), _) if is_ready(right) => (column, right, symbol),
        (_, Some(column)) if is_ready(left) => (column, left, mirrored(symbol)),
        _ => return Vec::new(),
    };
    let bound = |inclusive| Bound { value: value.clone(), inclusive };
    match symbol {
        "=" => vec![Fact::Equal(column, Values::Each(vec![value.clone()]))],
        "<" => vec![Fact::High(column, bound(false))],
        "<=" => vec![Fact::High(column, bound(true))],
        ">" => vec![Fact::Low(column, bound(false))],
        ">=" => vec![Fact::Low(column, bound(true))],
        "~~" | "like" if own_column(left).is_some() => like_facts(column, value),
        _ => Vec::new(),
    }
}

fn mirrored(symbol: &str) -> &str {
    match symbol {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        "=" => "=",
        _ => "",
    }
}

/// `LIKE 'abc%'`: from 'abc' to 'abd', of which the condition itself takes the right ones.
fn like_facts(column: usize, pattern: &Expression) -> Vec<Fact> {
    let Node::Constant(Datum::Text(pattern)) = &pattern.node else { return Vec::new() };
    let prefix: String = pattern.chars().take_while(|character| !matches!(character, '%' | '_' | '\\')).collect();
    let Some(last) = prefix.chars().last() else { return Vec::new() };
    let text = |text: String| Bound { value: Expression::constant(Datum::text(text), SqlType::TEXT), inclusive: true };
    let mut facts = vec![Fact::Low(column, text(prefix.clone()))];
    let next = (last as u32 + 1..=0x10_ffff).find_map(char::from_u32);
    if let Some(next) = next {
        let mut end = prefix;
        end.pop();
        end.push(next);
        facts.push(Fact::High(column, text(end)));
    }
    facts
}

/// LIMIT over an ordered read: the range itself stops. The sort above stays; it has little to do.
pub(super) fn push_limit(plan: &mut Plan, count: &Expression) {
    match plan {
        Plan::Cut(input, _) => push_limit(input, count),
        Plan::Sort(input, keys) => {
            let Plan::Project(below, expressions) = &mut **input else { return };
            let columns: Option<Vec<(usize, SortKey)>> =
                keys.iter().map(|key| Some((own_column(&expressions[key.index])?, key.clone()))).collect();
            if let (Plan::Read(read), Some(columns)) = (&mut **below, columns) {
                limit_read(read, &columns, count);
            }
        }
        Plan::Project(input, _) => {
            if let Plan::Read(read) = &mut **input {
                limit_read(read, &[], count);
            }
        }
        _ => {}
    }
}

fn limit_read(read: &mut Read, keys: &[(usize, SortKey)], count: &Expression) {
    // A read that locks stops by itself at the rows that qualify, and must: a row behind them stays free for others.
    if (!read.exact && read.lock_here() == Lock::None) || !is_ready(count) {
        return;
    }
    if matches!(read.access, Access::Scan(_)) && !keys.is_empty() {
        // Nothing was asked but the order: any key that has it will do.
        let primary = read.table.primary_key.as_ref().map(|key| (None, key.columns.clone()));
        let indexes = read.table.indexes.iter().enumerate();
        let indexes = indexes.filter_map(|(place, index)| Some((Some(place), plain_columns(index)?)));
        let fitting =
            primary.into_iter().chain(indexes).find(|(_, columns)| direction(&read.table, columns, 0, keys).is_some());
        match fitting {
            Some((Some(place), _)) => read.access = Access::IndexRange(place, Bounds::default()),
            Some((None, _)) => {}
            None => return,
        }
    }
    let primary = read.table.primary_key.as_ref().map(|key| key.columns.clone()).unwrap_or_default();
    let (columns, bounds) = match &read.access {
        Access::Scan(_) => (primary, None),
        Access::KeyRange(bounds) => (primary, Some(bounds)),
        Access::IndexRange(place, bounds) => match plain_columns(&read.table.indexes[*place]) {
            // Behind equal values stands the row's key.
            Some(columns) if !read.table.indexes[*place].unique => ([columns, primary].concat(), Some(bounds)),
            Some(columns) => (columns, Some(bounds)),
            None => return,
        },
        Access::Points(_) | Access::UniquePoints(..) => return,
    };
    if bounds.is_some_and(|bounds| !bounds.prefix.iter().all(is_single)) {
        return;
    }
    let fixed = bounds.map_or(0, |bounds| bounds.prefix.len());
    let Some(descending) = direction(&read.table, &columns, fixed, keys) else { return };
    let order = Order { descending, limit: Some(count.clone()) };
    match &mut read.access {
        Access::Scan(own) => *own = order,
        Access::KeyRange(bounds) | Access::IndexRange(_, bounds) => bounds.order = order,
        Access::Points(_) | Access::UniquePoints(..) => {}
    }
}

/// Whether a read goes along the primary key of its table in the order of the sort keys (backwards if true).
pub(super) fn key_order(read: &Read, keys: &[(usize, SortKey)]) -> Option<bool> {
    let fixed = match &read.access {
        Access::Scan(_) => 0,
        Access::KeyRange(bounds) if bounds.prefix.iter().all(is_single) => bounds.prefix.len(),
        _ => return None,
    };
    direction(&read.table, &read.table.primary_key.as_ref()?.columns, fixed, keys)
}

/// Whether a column of a key has one value.
pub(super) fn is_single(values: &Values) -> bool {
    matches!(values, Values::Each(values) if values.len() == 1)
}

/// Whether walking a key (backwards if true) gives the order of the sort keys; the first columns of the key are fixed.
fn direction(table: &Table, columns: &[usize], fixed: usize, keys: &[(usize, SortKey)]) -> Option<bool> {
    let free: Vec<&(usize, SortKey)> = keys.iter().filter(|(column, _)| !columns[..fixed].contains(column)).collect();
    let descending = free.first().is_some_and(|(_, key)| key.direction.descending);
    let walked = columns[fixed..].iter();
    let fits = free.len() <= columns.len() - fixed
        && free.iter().zip(walked).all(|((column, key), &walked)| {
            // Keys have NULL last, and first when walked backwards.
            let nulls = !table.columns[*column].nullable || key.direction.nulls_first == descending;
            *column == walked && key.direction.descending == descending && nulls && column_keeps_order(table, *column)
        });
    fits.then_some(descending)
}
