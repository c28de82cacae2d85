//! Window functions: each partition is sorted, then every row looks at the rows around it.
//!
//! ```text
//!   sum(x) OVER (PARTITION BY a ORDER BY b)      default frame: from the partition's start to the last peer of the row
//!   a b x
//!   1 1 5    5
//!   1 2 7   20    rows with equal b are peers
//!   1 2 8   20
//! ```

use super::operator::compare_values;
use super::{Execution, Flow, Frame, Sink, internal};
use crate::stop::Stop;
use crate::tree::expression::Expression;
use crate::tree::plan::{Direction, FrameBound, Plan, WindowCall, WindowKind};
use rustc_hash::FxHashMap;
use skew_value::function::Aggregate;
use skew_value::{Datum, GroupKey, SqlError, SqlState};
use std::cmp::Ordering;
use std::ops::Range;

/// A row of a partition.
struct Member {
    /// Its place in the input.
    number: usize,
    order: Vec<Datum>,
    arguments: Vec<Datum>,
    /// Whether the filter of the call takes it.
    counted: bool,
}

impl<'run> Execution<'run> {
    pub(super) fn windows(
        &mut self,
        input: &Plan,
        calls: &[WindowCall],
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        let mut rows = self.collect(input, outer)?;
        let width = rows.first().map_or(0, Vec::len);
        for call in calls {
            let values = self.window(call, &rows, width, outer)?;
            rows.iter_mut().zip(values).for_each(|(row, value)| row.push(value));
        }
        for row in &rows {
            self.step()?;
            if sink(self, row)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }

    /// The value of one window function for every row; it sees the first `width` columns.
    fn window(
        &mut self,
        call: &WindowCall,
        rows: &[Vec<Datum>],
        width: usize,
        outer: Option<&Frame<'_>>,
    ) -> Result<Vec<Datum>, Stop> {
        let mut partitions: Vec<Vec<Member>> = Vec::new();
        let mut places: FxHashMap<Vec<GroupKey>, usize> = FxHashMap::default();
        for (number, row) in rows.iter().enumerate() {
            self.step()?;
            let frame = Frame { row: &row[..width], outer };
            let partition = self.evaluate_row(&call.partition, &frame)?;
            let next = partitions.len();
            let place = *places.entry(self.group_key(&partition)).or_insert(next);
            if place == next {
                partitions.push(Vec::new());
            }
            let mut order = Vec::with_capacity(call.order.len());
            for (key, _) in &call.order {
                order.push(self.evaluate(key, &frame)?);
            }
            let arguments = self.evaluate_row(&call.arguments, &frame)?;
            let counted = self.holds(call.filter.as_ref(), &frame)?;
            partitions[place].push(Member { number, order, arguments, counted });
        }
        let mut values = vec![Datum::Null; rows.len()];
        for mut members in partitions {
            let collation = self.collation();
            members.sort_by(|left, right| {
                let pairs = left.order.iter().zip(&right.order).zip(&call.order);
                pairs
                    .map(|((left, right), (_, direction))| compare_values(left, right, direction, collation))
                    .find(|ordering| *ordering != Ordering::Equal)
                    .unwrap_or(Ordering::Equal)
            });
            let found = self.partition(call, &members, outer)?;
            members.iter().zip(found).for_each(|(member, value)| values[member.number] = value);
        }
        Ok(values)
    }

    fn partition(
        &mut self,
        call: &WindowCall,
        members: &[Member],
        outer: Option<&Frame<'_>>,
    ) -> Result<Vec<Datum>, Stop> {
        let peers = self.peers(members);
        match &call.kind {
            WindowKind::Aggregate(aggregate) => self.framed(call, aggregate, members, &peers, outer),
            WindowKind::Routine(routine) => match routine.name {
                "lag" | "lead" => (0..members.len()).map(|at| shifted(routine.name, members, at)).collect(),
                "first_value" | "last_value" | "nth_value" => {
                    let frames = self.frames(call, members, &peers, outer)?;
                    (0..members.len()).map(|at| picked(routine.name, members, at, frames[at].clone())).collect()
                }
                name => ranked(name, members, &peers),
            },
        }
    }

    /// For every member the rows that are equal to it in the order.
    fn peers(&self, members: &[Member]) -> Vec<Range<usize>> {
        let keys: Vec<Vec<GroupKey>> = members.iter().map(|member| self.group_key(&member.order)).collect();
        let mut peers: Vec<Range<usize>> = Vec::with_capacity(members.len());
        let mut start = 0;
        while start < keys.len() {
            let end = (start..keys.len()).find(|&at| keys[at] != keys[start]).unwrap_or(keys.len());
            peers.extend((start..end).map(|_| start..end));
            start = end;
        }
        peers
    }

    fn framed(
        &mut self,
        call: &WindowCall,
        aggregate: &Aggregate,
        members: &[Member],
        peers: &[Range<usize>],
        outer: Option<&Frame<'_>>,
    ) -> Result<Vec<Datum>, Stop> {
        let frames = self.frames(call, members, peers, outer)?;
        let mut values = Vec::with_capacity(members.len());
        let zone = self.environment().zone();
        let mut running = aggregate.accumulator(zone);
        let mut reached = 0..0;
        for frame in frames {
            // A frame that only grows at its end goes on from the last one; any other starts anew.
            if frame.start != reached.start || frame.end < reached.end {
                running = aggregate.accumulator(zone);
                reached = frame.start..frame.start;
            }
            for member in &members[reached.end..frame.end.max(reached.end)] {
                self.step()?;
                if member.counted {
                    running.add(&member.arguments)?;
                }
            }
            reached = frame.start..frame.end.max(reached.end);
            values.push(running.finish()?);
        }
        Ok(values)
    }

    /// The frame of every member.
    fn frames(
        &mut self,
        call: &WindowCall,
        members: &[Member],
        peers: &[Range<usize>],
        outer: Option<&Frame<'_>>,
    ) -> Result<Vec<Range<usize>>, Stop> {
        let start = self.offset(&call.frame.start, outer)?;
        let end = self.offset(&call.frame.end, outer)?;
        let direction = call.order.first().map(|(_, direction)| direction);
        let mut frames = Vec::with_capacity(members.len());
        for at in 0..members.len() {
            let found = match call.frame.rows {
                true => rows_frame(at, members.len(), &start, &end),
                false => range_frame(at, members, peers, (&start, &end), direction)?,
            };
            frames.push(found.start.min(found.end)..found.end.max(found.start.min(found.end)));
        }
        Ok(frames)
    }

    fn offset(&mut self, bound: &FrameBound, outer: Option<&Frame<'_>>) -> Result<Offset, Stop> {
        let mut value = |expression: &Expression| -> Result<Datum, Stop> {
            let value = self.evaluate(expression, &Frame { row: &[], outer })?;
            let negative = match &value {
                Datum::Null => true,
                Datum::Integer(value) => *value < 0,
                Datum::Real(value) => *value < 0.0,
                Datum::Decimal(value) => value.sign() == bigdecimal::num_bigint::Sign::Minus,
                _ => false,
            };
            match negative {
                true => Err(SqlError::new(SqlState("22013"), "frame offset must not be null or negative").into()),
                false => Ok(value),
            }
        };
        Ok(match bound {
            FrameBound::Unbounded => Offset::Unbounded,
            FrameBound::Current => Offset::Current,
            FrameBound::Preceding(expression) => Offset::Preceding(value(expression)?),
            FrameBound::Following(expression) => Offset::Following(value(expression)?),
        })
    }
}

/// An end of a frame with its value.
enum Offset {
    Unbounded,
    Current,
    Preceding(Datum),
    Following(Datum),
}

fn count(value: &Datum) -> usize {
    match value {
        Datum::Integer(value) => usize::try_from(*value).unwrap_or(usize::MAX),
        _ => 0,
    }
}

fn rows_frame(at: usize, length: usize, start: &Offset, end: &Offset) -> Range<usize> {
    let first = match start {
        Offset::Unbounded => 0,
        Offset::Current => at,
        Offset::Preceding(value) => at.saturating_sub(count(value)),
        Offset::Following(value) => at.saturating_add(count(value)).min(length),
    };
    let last = match end {
        Offset::Unbounded => length,
        Offset::Current => at + 1,
        Offset::Preceding(value) => (at + 1).saturating_sub(count(value)),
        Offset::Following(value) => at.saturating_add(count(value)).saturating_add(1).min(length),
    };
    first..last
}

fn range_frame(
    at: usize,
    members: &[Member],
    peers: &[Range<usize>],
    (start, end): (&Offset, &Offset),
    direction: Option<&Direction>,
) -> Result<Range<usize>, Stop> {
    let first = match start {
        Offset::Unbounded => 0,
        Offset::Current => peers[at].start,
        Offset::Preceding(value) => distance(at, members, peers, value, true, direction)?.start,
        Offset::Following(value) => distance(at, members, peers, value, false, direction)?.start,
    };
    let last = match end {
        Offset::Unbounded => members.len(),
        Offset::Current => peers[at].end,
        Offset::Preceding(value) => distance(at, members, peers, value, true, direction)?.end,
        Offset::Following(value) => distance(at, members, peers, value, false, direction)?.end,
    };
    Ok(first..last)
}

/// Where the value that lies so far before or after the member's stands: from the first row not before it to behind the last not
/// after it. NULL lies nowhere but among its peers.
fn distance(
    at: usize,
    members: &[Member],
    peers: &[Range<usize>],
    offset: &Datum,
    before: bool,
    direction: Option<&Direction>,
) -> Result<Range<usize>, Stop> {
    let own = members[at].order.first().ok_or_else(|| internal("a range without an order"))?;
    if own.is_null() {
        return Ok(peers[at].clone());
    }
    let descending = direction.is_some_and(|direction| direction.descending);
    let target = moved(own, offset, before != descending)?;
    let ordering = |member: &Member| -> Result<Option<Ordering>, Stop> {
        match member.order.first() {
            Some(Datum::Null) | None => Ok(None),
            Some(value) => {
                let ordering = number(value)?.cmp(&target);
                Ok(Some(if descending { ordering.reverse() } else { ordering }))
            }
        }
    };
    let mut range = members.len()..0;
    for (place, member) in members.iter().enumerate() {
        match ordering(member)? {
            Some(found) if found != Ordering::Less => range.start = range.start.min(place),
            _ => {}
        }
        match ordering(member)? {
            Some(found) if found != Ordering::Greater => range.end = place + 1,
            _ => {}
        }
    }
    Ok(range)
}

fn number(value: &Datum) -> Result<bigdecimal::BigDecimal, Stop> {
    match value {
        Datum::Integer(value) => Ok(bigdecimal::BigDecimal::from(*value)),
        Datum::Decimal(value) => Ok(value.clone()),
        _ => Err(SqlError::unsupported("a RANGE frame with an offset over a type that is no exact number").into()),
    }
}

fn moved(value: &Datum, offset: &Datum, down: bool) -> Result<bigdecimal::BigDecimal, Stop> {
    let (value, offset) = (number(value)?, number(offset)?);
    Ok(if down { value - offset } else { value + offset })
}

/// `lag` and `lead`: the value so many rows away, else the third argument.
fn shifted(name: &str, members: &[Member], at: usize) -> Result<Datum, Stop> {
    let arguments = &members[at].arguments;
    let distance = match arguments.get(1) {
        None => 1,
        Some(Datum::Integer(distance)) => i64::try_from(*distance).unwrap_or(i64::MAX),
        Some(_) => return Ok(Datum::Null),
    };
    let distance = if name == "lag" { distance.saturating_neg() } else { distance };
    let place =
        i64::try_from(at).ok().and_then(|at| at.checked_add(distance)).and_then(|place| usize::try_from(place).ok());
    match place.and_then(|place| members.get(place)) {
        Some(member) => Ok(member.arguments.first().cloned().unwrap_or(Datum::Null)),
        None => Ok(arguments.get(2).cloned().unwrap_or(Datum::Null)),
    }
}

fn picked(name: &str, members: &[Member], at: usize, frame: Range<usize>) -> Result<Datum, Stop> {
    let framed = members.get(frame).unwrap_or(&[]);
    let member = match name {
        "first_value" => framed.first(),
        "last_value" => framed.last(),
        _ => match members[at].arguments.get(1) {
            Some(Datum::Integer(number)) if *number > 0 => {
                usize::try_from(*number - 1).ok().and_then(|place| framed.get(place))
            }
            Some(Datum::Null) => None,
            _ => {
                let message = "argument of nth_value must be greater than zero";
                return Err(SqlError::new(SqlState("22016"), message).into());
            }
        },
    };
    Ok(member.and_then(|member| member.arguments.first()).cloned().unwrap_or(Datum::Null))
}

/// Functions of the place alone.
fn ranked(name: &str, members: &[Member], peers: &[Range<usize>]) -> Result<Vec<Datum>, Stop> {
    let total = members.len();
    let mut dense = 0i128;
    let mut values = Vec::with_capacity(total);
    for (at, member) in members.iter().enumerate() {
        if peers[at].start == at {
            dense += 1;
        }
        let rank = peers[at].start as i128 + 1;
        values.push(match name {
            "row_number" => Datum::Integer(at as i128 + 1),
            "rank" => Datum::Integer(rank),
            "dense_rank" => Datum::Integer(dense),
            "percent_rank" if total <= 1 => Datum::Real(0.0),
            "percent_rank" => Datum::Real((rank - 1) as f64 / (total - 1) as f64),
            "cume_dist" => Datum::Real(peers[at].end as f64 / total as f64),
            "ntile" => bucket(at, total, member.arguments.first())?,
            other => return Err(SqlError::unsupported(format!("the window function {other}")).into()),
        });
    }
    Ok(values)
}

/// `ntile(n)`: buckets whose sizes differ by at most one, the larger first.
fn bucket(at: usize, total: usize, buckets: Option<&Datum>) -> Result<Datum, Stop> {
    let buckets = match buckets {
        Some(Datum::Integer(buckets)) if *buckets > 0 => usize::try_from(*buckets).unwrap_or(usize::MAX),
        Some(Datum::Null) | None => return Ok(Datum::Null),
        Some(_) => return Err(SqlError::new(SqlState("22014"), "argument of ntile must be greater than zero").into()),
    };
    let (size, larger) = (total / buckets, total % buckets);
    let place = match at < larger * (size + 1) {
        true => at / (size + 1),
        false => larger + (at - larger * (size + 1)) / size.max(1),
    };
    Ok(Datum::Integer(place as i128 + 1))
}
