//! What a statement keeps of what it found, for when it is asked for again.
//!
//! ```text
//!   rows once      the rows of a part of the plan, and by which values they are found
//!   joins          the right side of a join that is carried out for each of the rows outside
//!   lists          IN (1, 2, 3) as a set
//! ```
//!
//! What was found with the rows of a common table expression holds until that gets other rows; what was read holds until the statement
//! changes or locks a row.

use super::join::Side;
use super::{Execution, Flow, Frame, Sink};
use crate::plan::have_equal_keys;
use crate::stop::Stop;
use crate::tree::expression::{Expression, InList, Node, Quantified};
use crate::tree::plan::{Identity, Kept};
use rustc_hash::{FxHashMap, FxHashSet};
use skew_value::{Datum, GroupKey, SqlType};
use std::rc::Rc;

/// Shorter lists are compared one by one.
const SHORTEST_SET: usize = 8;

/// Something that was found with the rows of a common table expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dependent {
    /// The answer of a subquery, by its number.
    Answer(usize),
    /// Another common table expression, by its number.
    Common(usize),
    /// A part of a plan, by the number of its identity.
    Part(usize),
}

/// Rows that were read once.
struct KeptRows {
    rows: Vec<Vec<Datum>>,
    /// Their places by the values that they are found by.
    by_key: Option<FxHashMap<Vec<GroupKey>, Vec<usize>>>,
    /// The places of rows with a NULL among those values.
    open: Vec<usize>,
}

impl KeptRows {
    /// The places of the rows that have a key, in order; with those that leave it open if these are asked, too.
    fn places(&self, key: Option<Vec<GroupKey>>, ask_open: bool) -> Vec<usize> {
        let equal = match (&self.by_key, &key) {
            (Some(map), Some(key)) => map.get(key).map(Vec::as_slice).unwrap_or_default(),
            _ => &[],
        };
        match (ask_open, key) {
            (false, _) => equal.to_vec(),
            (true, None) => (0..self.rows.len()).collect(),
            (true, Some(_)) => {
                let mut places = [equal, &self.open].concat();
                places.sort_unstable();
                places
            }
        }
    }
}

/// What is kept of parts of a plan. With each stands its identity, so that no other part can get the same number.
#[derive(Default)]
pub(super) struct KeptParts {
    rows: FxHashMap<usize, (Identity, Rc<KeptRows>)>,
    sides: FxHashMap<usize, (Identity, Rc<Side>)>,
    dependents: FxHashMap<usize, Vec<Dependent>>,
}

impl KeptParts {
    /// Forgets what was read.
    pub(super) fn forget_reads(&mut self) {
        self.rows.clear();
        self.sides.clear();
    }

    /// Notes that something holds only as long as some common table expressions stay as they are.
    pub(super) fn note(&mut self, common: &[usize], dependent: Dependent) {
        for number in common {
            let known = self.dependents.entry(*number).or_default();
            if !known.contains(&dependent) {
                known.push(dependent);
            }
        }
    }

    pub(super) fn side(&self, identity: &Identity) -> Option<Rc<Side>> {
        self.sides.get(&identity.number()).map(|(_, side)| Rc::clone(side))
    }

    pub(super) fn keep_side(&mut self, identity: &Identity, common: &[usize], side: &Rc<Side>) {
        let number = identity.number();
        if self.sides.insert(number, (identity.clone(), Rc::clone(side))).is_none() {
            self.note(common, Dependent::Part(number));
        }
    }
}

impl<'run> Execution<'run> {
    /// A common table expression gets other rows: what was found with the old ones goes, and what was found with that.
    pub(super) fn forget_dependents(&mut self, number: usize) {
        let mut changed = vec![number];
        while let Some(number) = changed.pop() {
            for dependent in self.kept.dependents.remove(&number).unwrap_or_default() {
                match dependent {
                    Dependent::Answer(number) => {
                        self.answers.remove(&number);
                        self.lookups.remove(&number);
                    }
                    Dependent::Part(number) => {
                        self.kept.rows.remove(&number);
                        self.kept.sides.remove(&number);
                    }
                    Dependent::Common(number) => {
                        self.common.remove(&number);
                        changed.push(number);
                    }
                }
            }
        }
    }

    /// The rows that are kept and fulfil the condition.
    pub(super) fn each_kept(
        &mut self,
        kept: &Kept,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        let found = self.kept_rows(kept, outer)?;
        let key = match &found.by_key {
            // Where there are no rows nobody asks for the values outside.
            Some(_) if !found.rows.is_empty() => {
                self.hash_key(kept.equalities.iter().map(|one| &one.outer), &Frame { row: &[], outer })?
            }
            _ => None,
        };
        match found.by_key {
            None => self.give_kept(kept, found.rows.iter(), outer, sink),
            Some(_) => {
                let places = found.places(key, kept.asks_about_null);
                self.give_kept(kept, places.into_iter().map(|place| &found.rows[place]), outer, sink)
            }
        }
    }

    fn give_kept<'rows>(
        &mut self,
        kept: &Kept,
        rows: impl Iterator<Item = &'rows Vec<Datum>>,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        for row in rows {
            self.step()?;
            let holds = self.holds(kept.condition.as_ref(), &Frame { row, outer })?;
            if holds && sink(self, row)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }

    fn kept_rows(&mut self, kept: &Kept, outer: Option<&Frame<'_>>) -> Result<Rc<KeptRows>, Stop> {
        let number = kept.identity.number();
        if let Some((_, found)) = self.kept.rows.get(&number) {
            return Ok(Rc::clone(found));
        }
        let rows = self.collect(&kept.input, outer)?;
        let (mut by_key, mut open) = (None, Vec::new());
        if !kept.equalities.is_empty() {
            let map: &mut FxHashMap<Vec<GroupKey>, Vec<usize>> = by_key.get_or_insert_default();
            for (place, row) in rows.iter().enumerate() {
                let inner = kept.equalities.iter().map(|one| &one.inner);
                match self.hash_key(inner, &Frame { row, outer })? {
                    Some(key) => map.entry(key).or_default().push(place),
                    None => open.push(place),
                }
            }
        }
        let found = Rc::new(KeptRows { rows, by_key, open });
        self.kept.rows.insert(number, (kept.identity.clone(), Rc::clone(&found)));
        self.kept.note(&kept.common, Dependent::Part(number));
        Ok(found)
    }
}

/// A list of values as a set.
struct Set {
    keys: FxHashSet<GroupKey>,
    /// With a NULL among them, a value that is not found may still be equal.
    null: bool,
}

/// The lists of a statement as sets, by the number of their identity; nothing for one that has to be compared one by one.
#[derive(Default)]
pub(super) struct Lists {
    sets: FxHashMap<usize, (Identity, Option<Rc<Set>>)>,
}

impl Execution<'_> {
    /// Whether a value is in a list of constants; nothing if that has to be found out one by one.
    pub(super) fn in_constants(
        &mut self,
        list: &InList,
        operand: &Datum,
        frame: &Frame<'_>,
    ) -> Result<Option<Datum>, Stop> {
        if list.list.len() < SHORTEST_SET {
            return Ok(None);
        }
        let set = match self.lists.sets.get(&list.identity.number()) {
            Some((_, set)) => set.clone(),
            None => {
                let fits = |one: &Expression| is_given(one) && have_equal_keys(&list.operand.sql_type, &one.sql_type);
                let values = match list.list.iter().all(fits) {
                    true => Some(self.evaluate_row(&list.list, frame)?),
                    false => None,
                };
                self.keep_set(&list.identity, values.as_deref())
            }
        };
        Ok(set.map(|set| self.member(&set, operand)))
    }

    /// Whether a value is equal to any (or, for ALL, different from every) element of an array that does not change.
    pub(super) fn in_array(
        &mut self,
        quantified: &Quantified,
        operand: &Datum,
        frame: &Frame<'_>,
    ) -> Result<Option<Datum>, Stop> {
        let symbol = if quantified.all { "<>" } else { "=" };
        if quantified.comparison.name != symbol || !is_given(&quantified.array) {
            return Ok(None);
        }
        let set = match self.lists.sets.get(&quantified.identity.number()) {
            Some((_, set)) => set.clone(),
            None => {
                let fits = match &quantified.array.sql_type {
                    SqlType::Array(element) => have_equal_keys(&quantified.operand.sql_type, element),
                    _ => false,
                };
                let array = self.evaluate(&quantified.array, frame)?;
                let values = match &array {
                    Datum::Array(values) if fits && values.len() >= SHORTEST_SET => Some(&values[..]),
                    _ => None,
                };
                self.keep_set(&quantified.identity, values)
            }
        };
        Ok(set.map(|set| match self.member(&set, operand) {
            Datum::Boolean(found) => Datum::Boolean(found != quantified.all),
            other => other,
        }))
    }

    fn keep_set(&mut self, identity: &Identity, values: Option<&[Datum]>) -> Option<Rc<Set>> {
        let collation = self.collation();
        let set = values.map(|values| {
            let known = values.iter().filter(|value| !value.is_null());
            let keys = known.map(|value| GroupKey::new(value, collation)).collect();
            Rc::new(Set { keys, null: values.iter().any(Datum::is_null) })
        });
        self.lists.sets.insert(identity.number(), (identity.clone(), set.clone()));
        set
    }

    fn member(&self, set: &Set, operand: &Datum) -> Datum {
        let found = !operand.is_null() && set.keys.contains(&GroupKey::new(operand, self.collation()));
        match found {
            true => Datum::Boolean(true),
            false if set.null || operand.is_null() => Datum::Null,
            false => Datum::Boolean(false),
        }
    }
}

/// Whether an expression has the same value throughout the statement and costs nothing to evaluate.
fn is_given(expression: &Expression) -> bool {
    match &expression.node {
        Node::Constant(_) | Node::Parameter(_) | Node::Variable(_) => true,
        Node::Cast(cast) => is_given(&cast.operand),
        _ => false,
    }
}
