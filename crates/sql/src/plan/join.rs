//! Joins: in which order, and how partners are found.
//!
//! ```text
//!   FROM item, shop WHERE item.shop = shop.id AND shop.name = 'A'
//!
//!   start with what a key finds, else with the first;        shop (by its name, if that is unique)
//!   go on with what the rows so far find by key, then by     item by the range item@shop/<shop.id>
//!   range, then with what an equality connects, then with the next
//! ```
//!
//! Only inner joins are reordered. Where the right side is a table whose key the left row binds, it is read for each left row
//! (`lateral`); else it is read once, and partners are found by hash where there is an equality.

use super::access;
use super::optimise::{filter, push};
use crate::tree::expression::{Expression, Node};
use crate::tree::plan::{Join, JoinKind, Plan};
use crate::tree::read::{Access, Read};
use crate::tree::visit;
use skew_value::SqlType;

/// A join whose rows must also fulfil some conditions.
pub(super) fn push_join(join: Join, conditions: Vec<Expression>) -> Plan {
    let (conditions, volatile): (Vec<Expression>, Vec<Expression>) =
        conditions.into_iter().partition(|condition| !visit::columns(condition).volatile);
    let plan = match (join.kind, join.lateral) {
        (JoinKind::Inner, false) => inner_chain(join, conditions),
        (JoinKind::Inner, true) => lateral_join(join, conditions),
        (JoinKind::Left, _) => left_join(join, conditions),
        (JoinKind::Right, _) => right_join(join, conditions),
        (JoinKind::Full, _) => full_join(join, conditions),
    };
    filter(plan, volatile)
}

/// Something that is joined, and where its columns stand in the row as it is written.
struct Part {
    plan: Plan,
    start: usize,
    width: usize,
}

/// A condition and the parts it is about.
struct Link {
    condition: Expression,
    parts: Vec<usize>,
}

fn flatten(plan: Plan, parts: &mut Vec<Plan>, conditions: &mut Vec<Expression>, start: usize) {
    match plan {
        Plan::Join(join) if join.kind == JoinKind::Inner && !join.lateral => {
            let width = join.left.width();
            flatten(join.left, parts, conditions, start);
            flatten(join.right, parts, conditions, start + width);
            let own = join.condition.map(Expression::conjuncts).unwrap_or_default();
            conditions.extend(own.into_iter().map(|mut condition| {
                visit::renumber(&mut condition, &|index| index + start);
                condition
            }));
        }
        Plan::Filter(input, condition) if matches!(*input, Plan::Join(_)) && is_still(&condition) => {
            flatten(*input, parts, conditions, start);
            conditions.extend(condition.conjuncts().into_iter().map(|mut condition| {
                visit::renumber(&mut condition, &|index| index + start);
                condition
            }));
        }
        other => parts.push(other),
    }
}

fn is_still(condition: &Expression) -> bool {
    !visit::columns(condition).volatile
}

fn inner_chain(join: Join, outside: Vec<Expression>) -> Plan {
    let mut plans = Vec::new();
    let mut conditions = Vec::new();
    flatten(Plan::Join(Box::new(join)), &mut plans, &mut conditions, 0);
    conditions.extend(outside);
    let mut start = 0;
    let mut parts: Vec<Part> = Vec::with_capacity(plans.len());
    for plan in plans {
        let width = plan.width();
        parts.push(Part { plan, start, width });
        start += width;
    }
    let mut links: Vec<Link> = conditions.into_iter().map(|condition| link(condition, &parts)).collect();
    for (number, part) in parts.iter_mut().enumerate() {
        let (own, others): (Vec<Link>, Vec<Link>) =
            links.into_iter().partition(|link| link.parts == [number] || (number == 0 && link.parts.is_empty()));
        links = others;
        let own = own.into_iter().map(|mut link| {
            visit::renumber(&mut link.condition, &|index| index - part.start);
            link.condition
        });
        let plan = std::mem::replace(&mut part.plan, Plan::OneRow);
        part.plan = push(plan, own.collect());
    }
    Chain::start(parts, links).finish()
}

fn link(condition: Expression, parts: &[Part]) -> Link {
    let own = visit::columns(&condition).own;
    let inside = |part: &Part| own.iter().any(|&index| (part.start..part.start + part.width).contains(&index));
    let parts = parts.iter().enumerate().filter(|(_, part)| inside(part)).map(|(number, _)| number).collect();
    Link { condition, parts }
}

/// A chain of inner joins as it grows.
struct Chain {
    parts: Vec<Option<Part>>,
    links: Vec<Link>,
    plan: Plan,
    /// For every column as it is written its place in the row so far.
    places: Vec<Option<usize>>,
    width: usize,
    joined: Vec<usize>,
}

/// How well the rows so far find those of a part: the less the better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Point,
    Range,
    Hash,
    Linked,
    Apart,
}

fn rank_of(access: &Access) -> Option<Rank> {
    match access {
        Access::Points(_) | Access::UniquePoints(..) => Some(Rank::Point),
        Access::KeyRange(_) | Access::IndexRange(..) => Some(Rank::Range),
        Access::Scan(_) => None,
    }
}

impl Chain {
    fn start(parts: Vec<Part>, links: Vec<Link>) -> Chain {
        let own = |part: &Part| match &part.plan {
            Plan::Read(read) => rank_of(&read.access).unwrap_or(Rank::Apart),
            _ => Rank::Apart,
        };
        let first = (0..parts.len()).min_by_key(|&number| (own(&parts[number]), number)).unwrap_or(0);
        let total = parts.iter().map(|part| part.width).sum();
        let mut chain = Chain {
            parts: parts.into_iter().map(Some).collect(),
            links,
            plan: Plan::OneRow,
            places: vec![None; total],
            width: 0,
            joined: Vec::new(),
        };
        if let Some(part) = chain.parts.get_mut(first).and_then(Option::take) {
            chain.note(first, &part);
            chain.plan = part.plan;
        }
        chain
    }

    fn note(&mut self, number: usize, part: &Part) {
        for column in 0..part.width {
            self.places[part.start + column] = Some(self.width + column);
        }
        self.width += part.width;
        self.joined.push(number);
    }

    fn finish(mut self) -> Plan {
        while self.joined.len() < self.parts.len() {
            let open = (0..self.parts.len()).filter(|number| !self.joined.contains(number));
            let Some(next) = open.min_by_key(|&number| (self.rank(number), number)) else { break };
            self.add(next);
        }
        let in_place = self.places.iter().enumerate().all(|(index, place)| *place == Some(index));
        if in_place {
            return self.plan;
        }
        let columns = self.places.iter().flatten().map(|&place| Expression::column(place, SqlType::Unknown)).collect();
        Plan::Project(Box::new(self.plan), columns)
    }

    /// The links that a part would make complete, over the row so far and, behind it, the part's row.
    fn complete_links(&self, number: usize) -> Vec<Expression> {
        let Some(part) = &self.parts[number] else { return Vec::new() };
        let known = |other: &usize| *other == number || self.joined.contains(other);
        let place = |index: usize| match index.checked_sub(part.start) {
            Some(column) if column < part.width => self.width + column,
            _ => self.places[index].unwrap_or(index),
        };
        self.links
            .iter()
            .filter(|link| link.parts.contains(&number) && link.parts.iter().all(known))
            .map(|link| {
                let mut condition = link.condition.clone();
                visit::renumber(&mut condition, &place);
                condition
            })
            .collect()
    }

    fn rank(&self, number: usize) -> Rank {
        let conditions = self.complete_links(number);
        if conditions.is_empty() {
            return Rank::Apart;
        }
        let Some(part) = &self.parts[number] else { return Rank::Apart };
        if let Some(read) = looked_up(&part.plan, &conditions, self.width)
            && let Some(rank) = rank_of(&read.access)
        {
            return rank;
        }
        if hashed(&conditions, self.width).is_empty() { Rank::Linked } else { Rank::Hash }
    }

    fn add(&mut self, number: usize) {
        let conditions = self.complete_links(number);
        let Some(part) = self.parts[number].take() else { return };
        let joined = &self.joined;
        self.links.retain(|link| {
            !(link.parts.contains(&number) && link.parts.iter().all(|other| *other == number || joined.contains(other)))
        });
        let left_width = self.width;
        self.note(number, &part);
        let left = std::mem::replace(&mut self.plan, Plan::OneRow);
        self.plan = connect(JoinKind::Inner, left, part.plan, conditions, left_width);
    }
}

/// A join by the best way there is, with conditions over both rows.
fn connect(kind: JoinKind, left: Plan, right: Plan, conditions: Vec<Expression>, left_width: usize) -> Plan {
    if let Some(read) = looked_up(&right, &conditions, left_width) {
        let right = Plan::Read(Box::new(read));
        let join = Join { left, right, ..empty(kind, true) };
        return Plan::Join(Box::new(join));
    }
    let hashed = hashed(&conditions, left_width);
    let condition = Expression::all(conditions);
    Plan::Join(Box::new(Join { left, right, hashed, condition, ..empty(kind, false) }))
}

/// The read of a table for one left row, if that row binds a key of it better than the conditions that it has by itself.
fn looked_up(right: &Plan, conditions: &[Expression], left_width: usize) -> Option<Read> {
    let Plan::Read(read) = right else { return None };
    let alone = rank_of(&read.access);
    let mut inner = Plan::Read(read.clone());
    visit::shift_plan(&mut inner, 1);
    let Plan::Read(inner) = inner else { return None };
    let conditions = conditions.iter().cloned().map(|condition| seen_from_right(condition, left_width)).collect();
    let chosen = access::choose(*inner, conditions);
    let rank = rank_of(&chosen.access)?;
    // What constants find at least as well is read once, for all left rows.
    match alone {
        Some(alone) if alone <= rank => None,
        _ => Some(chosen),
    }
}

/// A condition over both rows as the right side sees it when it is evaluated for each left row.
fn seen_from_right(mut condition: Expression, left_width: usize) -> Expression {
    visit::expression(&mut condition, 0, &mut |one, level| {
        if let Node::Column { depth, index } = &mut one.node {
            if *depth > level || (*depth == level && *index < left_width) {
                *depth += 1;
            } else if *depth == level {
                *index -= left_width;
            }
        }
    });
    condition
}

/// The equalities between the two sides.
fn hashed(conditions: &[Expression], left_width: usize) -> Vec<(Expression, Expression)> {
    conditions.iter().filter_map(|condition| hashed_pair(condition, left_width)).collect()
}

fn hashed_pair(condition: &Expression, left_width: usize) -> Option<(Expression, Expression)> {
    let Node::Call(call) = &condition.node else { return None };
    let [first, second] = call.arguments.as_slice() else { return None };
    if call.routine.name != "=" || !have_equal_keys(&first.sql_type, &second.sql_type) {
        return None;
    }
    let side = |expression: &Expression| {
        let found = visit::columns(expression);
        let left = found.own.iter().all(|&index| index < left_width);
        let right = found.own.iter().all(|&index| index >= left_width);
        (!found.own.is_empty() && !found.subquery && !found.volatile).then_some((left, right))
    };
    let (left, mut right) = match (side(first)?, side(second)?) {
        ((true, _), (_, true)) => (first.clone(), second.clone()),
        ((_, true), (true, _)) => (second.clone(), first.clone()),
        _ => return None,
    };
    visit::renumber(&mut right, &|index| index - left_width);
    Some((left, right))
}

/// Whether values of two types are equal just where their keys are. Where the types differ a comparison may convert by more than the values
/// (a TIMESTAMP becomes a TIMESTAMP WITH TIME ZONE by the zone of the session), except among exact numbers and among texts.
pub(crate) fn have_equal_keys(one: &SqlType, other: &SqlType) -> bool {
    let is_exact = |sql_type: &SqlType| matches!(sql_type, SqlType::Integer { .. } | SqlType::Decimal(_));
    let is_text = |sql_type: &SqlType| matches!(sql_type, SqlType::Text(_) | SqlType::Name);
    let alike = std::mem::discriminant(one) == std::mem::discriminant(other)
        || (is_exact(one) && is_exact(other))
        || (is_text(one) && is_text(other));
    alike && is_hashable(one) && is_hashable(other)
}

/// Types whose equal values have equal keys; CHAR(n) compares without the blanks at its end.
fn is_hashable(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Boolean
            | SqlType::Integer { .. }
            | SqlType::Decimal(_)
            | SqlType::Double
            | SqlType::Text(_)
            | SqlType::Date
            | SqlType::Timestamp(_)
            | SqlType::TimestampZoned(_)
            | SqlType::Uuid
            | SqlType::ObjectId
            | SqlType::Registered(_)
            | SqlType::Name
            | SqlType::Letter
    )
}

/// Conditions by the side they are about: left alone (or no row at all), right alone, both.
fn sides(conditions: Vec<Expression>, left_width: usize) -> [Vec<Expression>; 3] {
    let mut parts = [Vec::new(), Vec::new(), Vec::new()];
    for condition in conditions {
        let own = visit::columns(&condition).own;
        let part = match (own.iter().all(|&index| index < left_width), own.iter().all(|&index| index >= left_width)) {
            (true, _) => 0,
            (_, true) => 1,
            _ => 2,
        };
        parts[part].push(condition);
    }
    parts[1].iter_mut().for_each(|condition| visit::renumber(condition, &|index| index - left_width));
    parts
}

/// The right side is evaluated for each left row; what is about it alone goes into it, one row further in.
fn lateral_join(join: Join, outside: Vec<Expression>) -> Plan {
    let left_width = join.left.width();
    let mut conditions = join.condition.map(Expression::conjuncts).unwrap_or_default();
    conditions.extend(outside);
    let [left, mut right, both] = sides(conditions, left_width);
    right.iter_mut().for_each(|condition| visit::shift_expression(condition, 1));
    let condition = Expression::all(both);
    let (left, right) = (push(join.left, left), push(join.right, right));
    Plan::Join(Box::new(Join { left, right, condition, ..empty(JoinKind::Inner, true) }))
}

fn empty(kind: JoinKind, lateral: bool) -> Join {
    let (left, right) = (Plan::OneRow, Plan::OneRow);
    Join { kind, left, right, lateral, hashed: Vec::new(), condition: None, kept: None }
}

/// Left rows stay whatever the partner: a condition outside that is about the left side goes down; one inside that is about the right
/// side alone goes down there.
fn left_join(join: Join, outside: Vec<Expression>) -> Plan {
    let left_width = join.left.width();
    let [left, right, both] = sides(outside, left_width);
    let mut above = both;
    above.extend(right.into_iter().map(|mut condition| {
        visit::renumber(&mut condition, &|index| index + left_width);
        condition
    }));
    let left = push(join.left, left);
    let on = join.condition.map(Expression::conjuncts).unwrap_or_default();
    let (still, volatile): (Vec<Expression>, Vec<Expression>) = on.into_iter().partition(is_still);
    let [on_left, mut on_right, on_both] = sides(still, left_width);
    let mut remaining: Vec<Expression> = on_left.into_iter().chain(on_both).collect();
    remaining.extend(volatile);
    let plan = if join.lateral {
        on_right.iter_mut().for_each(|condition| visit::shift_expression(condition, 1));
        let right = push(join.right, on_right);
        let condition = Expression::all(remaining);
        Plan::Join(Box::new(Join { left, right, condition, ..empty(JoinKind::Left, true) }))
    } else {
        connect(JoinKind::Left, left, push(join.right, on_right), remaining, left_width)
    };
    filter(plan, above)
}

/// A right join is a left join seen from the other side.
fn right_join(join: Join, outside: Vec<Expression>) -> Plan {
    let (left_width, right_width) = (join.left.width(), join.right.width());
    let swapped = move |index: usize| if index < left_width { index + right_width } else { index - left_width };
    let swap = |mut condition: Expression| {
        visit::renumber(&mut condition, &swapped);
        condition
    };
    let condition = join.condition.map(swap);
    let mirrored = Join { left: join.right, right: join.left, condition, ..empty(JoinKind::Left, false) };
    let plan = left_join(mirrored, outside.into_iter().map(swap).collect());
    let columns =
        (0..left_width + right_width).map(|index| Expression::column(swapped(index), SqlType::Unknown)).collect();
    Plan::Project(Box::new(plan), columns)
}

fn full_join(join: Join, outside: Vec<Expression>) -> Plan {
    let left_width = join.left.width();
    let conditions = join.condition.map(Expression::conjuncts).unwrap_or_default();
    let hashed = hashed(&conditions, left_width);
    let (left, right) = (push(join.left, Vec::new()), push(join.right, Vec::new()));
    let condition = Expression::all(conditions);
    filter(Plan::Join(Box::new(Join { left, right, hashed, condition, ..empty(JoinKind::Full, false) })), outside)
}
