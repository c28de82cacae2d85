//! Joins. The left side streams; the right side is read for each left row (`lateral`), or once, when the first left row comes.

use super::{Execution, Flow, Frame, Sink};
use crate::stop::Stop;
use crate::tree::expression::Expression;
use crate::tree::plan::{Join, JoinKind};
use rustc_hash::FxHashMap;
use skew_value::{Datum, GroupKey};
use std::rc::Rc;

/// The right side of a join that is read once.
pub(super) struct Side {
    rows: Vec<Vec<Datum>>,
    /// By the values of the hashed expressions; rows with a NULL among them have no partner.
    by_key: Option<FxHashMap<Vec<GroupKey>, Vec<usize>>>,
}

/// A side as one execution of the join sees it.
struct Partners {
    side: Rc<Side>,
    /// Which rows have found a partner; nothing where nobody asks.
    matched: Vec<bool>,
}

impl Side {
    /// The places of the rows that may be partners of a left row with this key.
    fn candidates(&self, key: Option<Vec<GroupKey>>) -> Box<dyn Iterator<Item = usize> + '_> {
        match (&self.by_key, key) {
            (None, _) => Box::new(0..self.rows.len()),
            (Some(map), Some(key)) => Box::new(map.get(&key).into_iter().flatten().copied()),
            (Some(_), None) => Box::new(std::iter::empty()),
        }
    }
}

impl<'run> Execution<'run> {
    pub(super) fn join(
        &mut self,
        join: &Join,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        if join.lateral {
            return self.lateral(join, outer, sink);
        }
        let right_width = join.right.width();
        let mut side: Option<Partners> = None;
        let flow = self.each(&join.left, outer, &mut |execution, left| {
            if side.is_none() {
                side = Some(execution.partners_of(join, outer)?);
            }
            match &mut side {
                Some(side) => execution.partners(join, left, side, right_width, outer, sink),
                None => Ok(Flow::More),
            }
        })?;
        if flow == Flow::Enough || !matches!(join.kind, JoinKind::Right | JoinKind::Full) {
            return Ok(flow);
        }
        let side = match side {
            Some(side) => side,
            None => self.partners_of(join, outer)?,
        };
        self.unmatched(join, &side, sink)
    }

    fn partners_of(&mut self, join: &Join, outer: Option<&Frame<'_>>) -> Result<Partners, Stop> {
        // What stands in for a side is no side that was read.
        let kept = join.kept.as_ref().filter(|_| self.stand_ins.is_empty());
        let known = kept.and_then(|kept| self.kept.side(&kept.identity));
        let side = match known {
            Some(side) => side,
            None => Rc::new(self.side(join, outer)?),
        };
        if let Some(kept) = kept {
            self.kept.keep_side(&kept.identity, &kept.common, &side);
        }
        let asked = matches!(join.kind, JoinKind::Right | JoinKind::Full);
        let matched = if asked { vec![false; side.rows.len()] } else { Vec::new() };
        Ok(Partners { side, matched })
    }

    fn side(&mut self, join: &Join, outer: Option<&Frame<'_>>) -> Result<Side, Stop> {
        let rows = self.collect(&join.right, outer)?;
        let mut by_key = None;
        if !join.hashed.is_empty() {
            let mut map: FxHashMap<Vec<GroupKey>, Vec<usize>> = FxHashMap::default();
            for (number, row) in rows.iter().enumerate() {
                let keys = join.hashed.iter().map(|(_, right)| right);
                if let Some(key) = self.hash_key(keys, &Frame { row, outer })? {
                    map.entry(key).or_default().push(number);
                }
            }
            by_key = Some(map);
        }
        Ok(Side { rows, by_key })
    }

    pub(super) fn hash_key<'expressions>(
        &mut self,
        expressions: impl Iterator<Item = &'expressions Expression>,
        frame: &Frame<'_>,
    ) -> Result<Option<Vec<GroupKey>>, Stop> {
        let collation = self.collation();
        let mut key = Vec::new();
        for expression in expressions {
            match self.evaluate(expression, frame)? {
                Datum::Null => return Ok(None),
                value => key.push(GroupKey::new(&value, collation)),
            }
        }
        Ok(Some(key))
    }

    /// All pairs of one left row.
    fn partners(
        &mut self,
        join: &Join,
        left: &[Datum],
        partners: &mut Partners,
        right_width: usize,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        let mut pair = left.to_vec();
        let side = Rc::clone(&partners.side);
        let key = match &side.by_key {
            None => None,
            Some(_) => self.hash_key(join.hashed.iter().map(|(left, _)| left), &Frame { row: left, outer })?,
        };
        let mut found = false;
        for number in side.candidates(key) {
            self.step()?;
            pair.truncate(left.len());
            pair.extend_from_slice(&side.rows[number]);
            if !self.holds(join.condition.as_ref(), &Frame { row: &pair, outer })? {
                continue;
            }
            found = true;
            if let Some(matched) = partners.matched.get_mut(number) {
                *matched = true;
            }
            if sink(self, &pair)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        match found || !matches!(join.kind, JoinKind::Left | JoinKind::Full) {
            true => Ok(Flow::More),
            false => {
                pair.truncate(left.len());
                pair.resize(left.len() + right_width, Datum::Null);
                sink(self, &pair)
            }
        }
    }

    /// Right rows without a partner.
    fn unmatched(&mut self, join: &Join, partners: &Partners, sink: &mut Sink<'_, 'run>) -> Result<Flow, Stop> {
        let left_width = join.left.width();
        for (row, _) in partners.side.rows.iter().zip(&partners.matched).filter(|(_, matched)| !**matched) {
            let mut pair = vec![Datum::Null; left_width];
            pair.extend_from_slice(row);
            if sink(self, &pair)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }

    fn lateral(&mut self, join: &Join, outer: Option<&Frame<'_>>, sink: &mut Sink<'_, 'run>) -> Result<Flow, Stop> {
        let right_width = join.right.width();
        self.each(&join.left, outer, &mut |execution, left| {
            let frame = Frame { row: left, outer };
            let mut pair = left.to_vec();
            let mut found = false;
            let flow = execution.each(&join.right, Some(&frame), &mut |execution, right| {
                pair.truncate(left.len());
                pair.extend_from_slice(right);
                if !execution.holds(join.condition.as_ref(), &Frame { row: &pair, outer })? {
                    return Ok(Flow::More);
                }
                found = true;
                sink(execution, &pair)
            })?;
            if flow == Flow::Enough || found || join.kind != JoinKind::Left {
                return Ok(flow);
            }
            pair.truncate(left.len());
            pair.resize(left.len() + right_width, Datum::Null);
            sink(execution, &pair)
        })
    }
}
