//! Reading a table: by points, by ranges, by a scan.
//!
//! Whatever the path, the condition is evaluated on the row that was read. Rows that are to be locked are *sought*: the store is told which
//! versions fit, and locks those; what it passes over was read plainly. A condition that asks subqueries about each row is no function of
//! the row alone: there a row is read plainly, then, if it qualifies, again with its lock, and must qualify again.

use super::{Execution, Flow, Frame, Sink};
use crate::catalog::{Index, IndexColumn, Table};
use crate::key::{column_part, entry_target, key_part};
use crate::no_storage::NoStorage;
use crate::plan::{finds_one, links_alone};
use crate::stop::Stop;
use crate::storage::{Columns, Fit, Fits, KeyPart, KeyRange, Lock, Patience, Row, RowKey, SpaceId, Storage};
use crate::tree::expression::Expression;
use crate::tree::plan::row_width;
use crate::tree::read::{Access, Asks, Bound, Bounds, Order, Read, Values};
use bigdecimal::num_bigint::Sign;
use bigdecimal::{RoundingMode, ToPrimitive};
use skew_value::number::integer_of_decimal;
use skew_value::{Datum, SqlError, SqlState, SqlType};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What NOWAIT answers.
const LOCKED: SqlState = SqlState("55P03");

/// Beyond so many combinations of values it is no lookup any more.
const POINT_LIMIT: usize = 100_000;

/// From what was found under a key to the row that it leads to, if it leads to one that has not come yet.
type Lead<'lead, 'run, T> = dyn FnMut(&mut Execution<'run>, RowKey, T) -> Result<Option<(RowKey, Row)>, Stop> + 'lead;

/// Asks the store what is found in a range.
type Ask<'ask, 'run, T> = dyn FnMut(&mut Execution<'run>, &KeyRange) -> Result<Vec<(RowKey, T)>, Stop> + 'ask;

impl<'run> Execution<'run> {
    pub(super) fn read(
        &mut self,
        read: &Read,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        if read.seeks()
            && read.asks == Asks::Once
            && let Some(condition) = &read.condition
        {
            self.answer_subqueries(std::slice::from_ref(condition))?;
        }
        if read.seeks() {
            self.storage.seeks_one(finds_one(read));
            self.storage.locks_with(read.patience);
        }
        match &read.access {
            Access::Scan(order) => {
                let range = KeyRange::of_prefix(read.table.space, Vec::new());
                let range = self.ordered(range, order, outer)?;
                self.read_range(read, &range, outer, sink)
            }
            Access::Points(alternatives) => {
                let columns = read.table.primary_key.as_ref().map(|key| key.columns.clone()).unwrap_or_default();
                self.read_points(read, read.table.space, &columns, alternatives, None, outer, sink)
            }
            Access::UniquePoints(place, alternatives) => {
                let index = &read.table.indexes[*place];
                let columns = index_columns(index);
                self.read_points(read, index.space, &columns, alternatives, Some(index), outer, sink)
            }
            Access::KeyRange(bounds) => {
                let columns = read.table.primary_key.as_ref().map(|key| key.columns.clone()).unwrap_or_default();
                for range in self.ranges(read, read.table.space, &columns, bounds, outer)? {
                    if self.read_range(read, &range, outer, sink)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                }
                Ok(Flow::More)
            }
            Access::IndexRange(place, bounds) => {
                let index = &read.table.indexes[*place];
                let mut seen = BTreeSet::new();
                for range in self.ranges(read, index.space, &index_columns(index), bounds, outer)? {
                    if self.read_entries(read, index, &range, &mut seen, outer, sink)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                }
                Ok(Flow::More)
            }
        }
    }

    fn read_range(
        &mut self,
        read: &Read,
        range: &KeyRange,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        let primary = read.table.primary_key.as_ref().map(|key| key.columns.as_slice()).unwrap_or_default();
        let supply = Supply::new(read, range, primary);
        if !read.seeks() || supply.is_read_whole() {
            return self.read_supply(
                read,
                false,
                supply,
                outer,
                sink,
                &mut |execution, range| execution.storage.scan(range, &read.columns),
                &mut |_, key, row| Ok(Some((key, row))),
            );
        }
        // Each is locked when its turn comes: whoever has enough rows locks no further ones.
        self.read_supply(
            read,
            true,
            supply,
            outer,
            sink,
            &mut |execution, range| {
                let look =
                    |storage: &mut dyn Storage, fits: &mut Fits<'_>| storage.look_over(range, &read.columns, fits);
                Ok(execution.seek(read, outer, look)?.into_iter().map(|key| (key, ())).collect())
            },
            &mut |execution, key, ()| {
                let row = execution.target(read, &key, outer)?;
                Ok(row.map(|row| (key, row)))
            },
        )
    }

    /// Asks the store for rows to lock; meanwhile the condition is evaluated without a store, for it needs none.
    fn seek<T>(
        &mut self,
        read: &Read,
        outer: Option<&Frame<'_>>,
        ask: impl FnOnce(&mut dyn Storage, &mut Fits<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        // It has no size, so nothing is allocated that could leak.
        let nothing: &'run mut dyn Storage = Box::leak(Box::new(NoStorage(|| false)));
        let storage = std::mem::replace(&mut self.storage, nothing);
        let is_certain = read.exact && matches!(read.access, Access::Points(_));
        // A row that fitted and is asked about again has changed while its lock was waited for.
        let keeps = storage.keeps_partners() && read.asks != Asks::Nothing;
        let mut fitted: BTreeMap<RowKey, Arc<[Datum]>> = BTreeMap::new();
        let answer = ask(storage, &mut |key, row| {
            if is_certain && read.moves.is_empty() {
                return Fit::Yes;
            }
            let values = whole_row(read, key, row);
            let frame = Frame { row: &values, outer };
            if is_certain {
                return self.moved(read, &frame);
            }
            let holds = match fitted.get(key) {
                Some(old) if *old != values => {
                    self.holds_again(read.condition.as_ref(), &Frame { row: old, outer }, &frame)
                }
                _ => self.holds(read.condition.as_ref(), &frame),
            };
            match holds {
                Ok(true) => {
                    let fit = self.moved(read, &frame);
                    if keeps {
                        fitted.entry(key.clone()).or_insert(values);
                    }
                    fit
                }
                Ok(false) => Fit::No,
                Err(_) => Fit::Fails,
            }
        });
        self.storage = storage;
        answer.map_err(|stop| match stop {
            Stop::Error(error) if error.state == LOCKED => locked(&read.table).into(),
            stop => stop,
        })
    }

    /// How a row is taken that fits. What fails when it is evaluated without a store is seen when the row is written.
    fn moved(&mut self, read: &Read, frame: &Frame<'_>) -> Fit {
        let differs = |execution: &mut Self, (place, value): &(usize, Expression)| {
            execution.evaluate(value, frame).is_ok_and(|value| value != frame.row[*place])
        };
        if read.moves.iter().any(|assigned| differs(self, assigned)) { Fit::Moves } else { Fit::Yes }
    }

    /// Entries, then the rows they point to. A store may show an old entry beside a new one: a row comes once.
    fn read_entries(
        &mut self,
        read: &Read,
        index: &Index,
        range: &KeyRange,
        seen: &mut BTreeSet<RowKey>,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        let primary = read.table.primary_key.as_ref().map(|key| key.columns.clone()).unwrap_or_default();
        let columns = [index_columns(index), primary].concat();
        self.read_supply(
            read,
            read.seeks(),
            Supply::new(read, range, &columns),
            outer,
            sink,
            &mut |execution, range| match read.seeks() {
                true => execution.storage.seek_entries(range),
                false => execution.storage.scan(range, &Columns::All),
            },
            &mut |execution, key, entry| {
                let target = entry_target(&read.table, index, &key, &entry)?;
                if !seen.insert(target.clone()) {
                    return Ok(None);
                }
                let row = execution.target(read, &target, outer)?;
                Ok(row.map(|row| (target, row)))
            },
        )
    }

    /// The entry of an index under a key: sought, if it leads to a row that is to be locked.
    fn entry(&mut self, read: &Read, key: &RowKey) -> Result<Option<Row>, Stop> {
        match read.seeks() {
            true => self.storage.seek_entry(key),
            false => self.storage.get(key, &Columns::All, Lock::None),
        }
    }

    /// The row that an entry or a key leads to: sought, if it is to be locked, else read.
    fn target(&mut self, read: &Read, key: &RowKey, outer: Option<&Frame<'_>>) -> Result<Option<Row>, Stop> {
        match read.seeks() {
            true => {
                self.seek(read, outer, |storage, fits| storage.seek(key, &read.columns, read.lock, read.patience, fits))
            }
            false => self.storage.get(key, &read.columns, Lock::None),
        }
    }

    /// Delivers the rows that a range leads to, and asks for more of it as long as they are taken. `locked`: with their locks.
    #[allow(clippy::too_many_arguments)]
    fn read_supply<T>(
        &mut self,
        read: &Read,
        locked: bool,
        mut supply: Supply,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
        ask: &mut Ask<'_, 'run, T>,
        lead: &mut Lead<'_, 'run, T>,
    ) -> Result<Flow, Stop> {
        loop {
            let found = ask(self, &supply.range)?;
            supply.found(found.len());
            for (key, found) in found {
                if supply.is_old(&key) {
                    continue;
                }
                let Some((key, row)) = lead(self, key, found)? else {
                    // It may be one of many that others have locked.
                    self.step()?;
                    continue;
                };
                let flow = self.deliver(read, &key, &row, locked, outer, &mut |execution, row| {
                    supply.taken += 1;
                    sink(execution, row)
                })?;
                if flow == Flow::Enough {
                    return Ok(Flow::Enough);
                }
            }
            if !supply.asks_again() {
                return Ok(Flow::More);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn read_points(
        &mut self,
        read: &Read,
        space: SpaceId,
        columns: &[usize],
        alternatives: &[Vec<Values>],
        index: Option<&Index>,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        let mut keys: Vec<Vec<KeyPart>> = Vec::new();
        for alternative in alternatives {
            match self.combinations(read, columns, alternative, outer)? {
                Some(found) => keys.extend(found),
                None => {
                    let everything = KeyRange::of_prefix(read.table.space, Vec::new());
                    return self.read_range(read, &everything, outer, sink);
                }
            }
        }
        let mut seen = BTreeSet::new();
        for parts in keys {
            if !seen.insert(parts.clone()) {
                continue;
            }
            let key = RowKey { space, parts: parts.into() };
            let target = match index {
                None => Some(key),
                Some(index) => match self.entry(read, &key)? {
                    Some(entry) => Some(entry_target(&read.table, index, &key, &entry)?),
                    None => None,
                },
            };
            let Some(target) = target else { continue };
            if let Some(row) = self.target(read, &target, outer)?
                && self.deliver(read, &target, &row, read.seeks(), outer, sink)? == Flow::Enough
            {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }

    /// Gives a row on if it qualifies, with its lock if one is wanted.
    fn deliver(
        &mut self,
        read: &Read,
        key: &RowKey,
        row: &Row,
        locked: bool,
        outer: Option<&Frame<'_>>,
        sink: &mut Sink<'_, 'run>,
    ) -> Result<Flow, Stop> {
        self.step()?;
        let values = whole_row(read, key, row);
        if !self.holds(read.condition.as_ref(), &Frame { row: &values, outer })? {
            return Ok(Flow::More);
        }
        if read.lock_here() == Lock::None {
            return sink(self, &values);
        }
        if locked {
            return if self.takes_key(read, key)? { sink(self, &values) } else { Ok(Flow::More) };
        }
        let taken = self.taken(read, key, &read.columns)?.map(|row| whole_row(read, key, &row));
        self.settle_look(read, &links_alone(read), key, &values, taken.as_deref())?;
        let (old, Some(values)) = (values, taken) else { return Ok(Flow::More) };
        let (before, frame) = (Frame { row: &old, outer }, Frame { row: &values, outer });
        let holds = match self.storage.keeps_partners() {
            true => old == values || self.holds_again(read.condition.as_ref(), &before, &frame)?,
            false => self.holds(read.condition.as_ref(), &frame)?,
        };
        match holds && self.takes_key(read, key)? {
            true => sink(self, &values),
            false => Ok(Flow::More),
        }
    }

    /// Takes the key of a row that is locked, where others refer to it; whether it got it.
    pub(super) fn takes_key(&mut self, read: &Read, key: &RowKey) -> Result<bool, Stop> {
        let Some(entry) = read.table.key_entry(key).filter(|_| read.takes_keys) else { return Ok(true) };
        if self.is_left_out(read, &entry)? {
            return Ok(false);
        }
        let found = self.storage.get(&entry, &Columns::All, read.lock)?;
        Ok(read.patience == Patience::Wait || found.is_some())
    }

    /// A row with the lock that the read wants; none also if somebody else has it and the read leaves such rows out.
    fn taken(&mut self, read: &Read, key: &RowKey, columns: &Columns) -> Result<Option<Row>, Stop> {
        if self.is_left_out(read, key)? { Ok(None) } else { self.storage.get(key, columns, read.lock) }
    }

    /// Whether somebody else has what the read would lock, and it does not wait: it leaves that out, or fails.
    pub(super) fn is_left_out(&mut self, read: &Read, key: &RowKey) -> Result<bool, Stop> {
        self.storage.locks_with(read.patience);
        if read.patience == Patience::Wait || !self.storage.would_wait(key, read.lock)? {
            return Ok(false);
        }
        if read.patience == Patience::Refuse { Err(locked(&read.table).into()) } else { Ok(true) }
    }

    /// All keys of an alternative; `None` if there are too many to be looked up.
    fn combinations(
        &mut self,
        read: &Read,
        columns: &[usize],
        values: &[Values],
        outer: Option<&Frame<'_>>,
    ) -> Result<Option<Vec<Vec<KeyPart>>>, Stop> {
        let mut keys: Vec<Vec<KeyPart>> = vec![Vec::new()];
        for (&column, values) in columns.iter().zip(values) {
            let mut parts = Vec::new();
            for value in self.values(values, outer)? {
                if !value.is_null() {
                    parts.push(column_part(&read.table, column, &value)?);
                }
            }
            if keys.len().saturating_mul(parts.len()) > POINT_LIMIT {
                return Ok(None);
            }
            keys = keys
                .iter()
                .flat_map(|key| parts.iter().map(move |part| key.iter().chain([part]).cloned().collect()))
                .collect();
        }
        Ok(Some(keys))
    }

    fn values(&mut self, values: &Values, outer: Option<&Frame<'_>>) -> Result<Vec<Datum>, Stop> {
        let frame = Frame { row: &[], outer };
        match values {
            Values::Each(expressions) => self.evaluate_row(expressions, &frame),
            Values::Elements(array) => match self.evaluate(array, &frame)? {
                Datum::Array(elements) => Ok(elements.to_vec()),
                _ => Ok(Vec::new()),
            },
        }
    }

    fn ranges(
        &mut self,
        read: &Read,
        space: SpaceId,
        columns: &[usize],
        bounds: &Bounds,
        outer: Option<&Frame<'_>>,
    ) -> Result<Vec<KeyRange>, Stop> {
        let Some(prefixes) = self.combinations(read, columns, &bounds.prefix, outer)? else {
            return Ok(vec![KeyRange::of_prefix(space, Vec::new())]);
        };
        let next = columns.get(bounds.prefix.len()).copied();
        let low = self.bound(read, next, bounds.low.as_ref(), 1, outer)?;
        let high = self.bound(read, next, bounds.high.as_ref(), -1, outer)?;
        // A bound that is NULL holds for no row.
        let (Some(low), Some(mut high)) = (low, high) else { return Ok(Vec::new()) };
        let nullable_integer = next
            .map(|next| &read.table.columns[next])
            .is_some_and(|column| column.nullable && matches!(column.sql_type, SqlType::Integer { .. }));
        if high.is_none() && low.is_some() && nullable_integer && bounds.order.limit.is_some() {
            // NULL comes last in an index and is above no bound: it must not use the limit up.
            high = Some(KeyPart::Number(i128::MAX));
        }
        let mut seen = BTreeSet::new();
        let mut ranges = Vec::new();
        for prefix in prefixes {
            if seen.insert(prefix.clone()) {
                let range = KeyRange { low: low.clone(), high: high.clone(), ..KeyRange::of_prefix(space, prefix) };
                ranges.push(self.ordered(range, &bounds.order, outer)?);
            }
        }
        Ok(ranges)
    }

    /// An end of a range: the outer option is none if it is NULL, the inner if there is none. Integers that are outside move inside.
    fn bound(
        &mut self,
        read: &Read,
        column: Option<usize>,
        bound: Option<&Bound>,
        inwards: i128,
        outer: Option<&Frame<'_>>,
    ) -> Result<Option<Option<KeyPart>>, Stop> {
        let (Some(bound), Some(column)) = (bound, column) else { return Ok(Some(None)) };
        let value = self.evaluate(&bound.value, &Frame { row: &[], outer })?;
        if value.is_null() {
            return Ok(None);
        }
        Ok(Some(Some(bound_part(&read.table, column, &value, bound.inclusive, inwards)?)))
    }

    fn ordered(&mut self, range: KeyRange, order: &Order, outer: Option<&Frame<'_>>) -> Result<KeyRange, Stop> {
        let limit = self.row_count(order.limit.as_ref(), outer)?;
        Ok(KeyRange { descending: order.descending, limit, ..range })
    }

    /// The value of LIMIT or OFFSET; NULL is none.
    pub(super) fn row_count(
        &mut self,
        count: Option<&Expression>,
        outer: Option<&Frame<'_>>,
    ) -> Result<Option<usize>, Stop> {
        let Some(count) = count else { return Ok(None) };
        match self.evaluate(count, &Frame { row: &[], outer })? {
            Datum::Integer(count) if count < 0 => {
                Err(SqlError::new(SqlState("2201W"), "LIMIT and OFFSET must not be negative").into())
            }
            Datum::Integer(count) => Ok(Some(usize::try_from(count).unwrap_or(usize::MAX))),
            _ => Ok(None),
        }
    }
}

/// What a range with a limit still has to give. Rows that no longer qualify once they are locked, and entries whose row is gone, make
/// room for the ones behind them: the range is asked again for as many more.
struct Supply {
    range: KeyRange,
    /// Whether nearly all rows of the range qualify.
    exact: bool,
    /// How many rows are wanted.
    wanted: Option<usize>,
    /// How many rows qualified.
    taken: usize,
    /// Whether the range may hold more than it gave.
    cut: bool,
    old: BTreeSet<RowKey>,
}

impl Supply {
    fn new(read: &Read, range: &KeyRange, columns: &[usize]) -> Supply {
        let limit = range.limit.filter(|_| !range.descending || counts_down(&read.table, columns, range));
        let exact = (read.exact || read.seeks()) && read.patience != Patience::Skip;
        let (wanted, range) = (range.limit, KeyRange { limit, ..range.clone() });
        Supply { range, exact, wanted, taken: 0, cut: false, old: BTreeSet::new() }
    }

    /// Whether rows are wanted up to a number, and all of the range is read nevertheless.
    fn is_read_whole(&self) -> bool {
        self.wanted.is_some() && self.range.limit.is_none()
    }

    /// So many rows were found.
    fn found(&mut self, count: usize) {
        self.cut = self.range.limit.is_some_and(|limit| count >= limit);
    }

    /// Whether a row was looked at before, or is not wanted any more.
    fn is_old(&mut self, key: &RowKey) -> bool {
        self.wanted.is_some_and(|wanted| self.taken >= wanted || !self.old.insert(key.clone()))
    }

    /// Whether the range has to be asked again, for more.
    fn asks_again(&mut self) -> bool {
        let Some(wanted) = self.wanted.filter(|wanted| self.cut && self.taken < *wanted) else { return false };
        let missing = wanted - self.taken;
        // Where most rows may not qualify, twice as many at a time, so that the asking has an end.
        let more = |limit: usize| if self.exact { missing } else { missing.max(limit) };
        self.range.limit = self.range.limit.map(|limit| limit.saturating_add(more(limit)));
        true
    }
}

/// Whether the next part of a range's keys is a number, which has one below it: what is read downwards can stop and go on.
fn counts_down(table: &Table, columns: &[usize], range: &KeyRange) -> bool {
    let next = columns.get(range.prefix.len()).map(|&column| &table.columns[column]);
    next.is_none_or(|column| !column.nullable && matches!(column.sql_type, SqlType::Integer { .. }))
}

/// The key at the end of a range. What lies between two integers moves inwards to the next, and so does an integer that is outside.
fn bound_part(
    table: &Table,
    column: usize,
    value: &Datum,
    inclusive: bool,
    inwards: i128,
) -> Result<KeyPart, SqlError> {
    let sql_type = &table.columns[column].sql_type;
    if matches!(sql_type, SqlType::Integer { .. } | SqlType::ObjectId | SqlType::Registered(_))
        && let Datum::Decimal(value) = value
        && (!value.is_integer() || integer_of_decimal(value).is_none())
    {
        let mode = if inwards > 0 { RoundingMode::Ceiling } else { RoundingMode::Floor };
        let outermost = if value.sign() == Sign::Minus { i128::MIN } else { i128::MAX };
        return Ok(KeyPart::Number(value.with_scale_round(0, mode).to_i128().unwrap_or(outermost)));
    }
    match column_part(table, column, value)? {
        KeyPart::Number(number) if matches!(sql_type, SqlType::Integer { .. }) && !inclusive => {
            Ok(KeyPart::Number(number.saturating_add(inwards)))
        }
        // Beside a text the blanks at the end count: `c < 'a '` holds for what comes between 'a' and 'a '.
        KeyPart::Text(_) if inwards < 0 && matches!(sql_type, SqlType::Character(_)) => key_part(value, &SqlType::TEXT),
        part => Ok(part),
    }
}

/// NOWAIT, and somebody else has the row.
fn locked(table: &Table) -> SqlError {
    SqlError::new(LOCKED, format!("could not obtain lock on row in relation \"{}\"", table.name))
}

fn index_columns(index: &Index) -> Vec<usize> {
    let plain = |column: &IndexColumn| match column {
        IndexColumn::Column(place) => Some(*place),
        IndexColumn::Expression(_) => None,
    };
    index.columns.iter().filter_map(plain).collect()
}

/// The row with all its columns and, without a primary key, its key behind them.
pub(super) fn whole_row(read: &Read, key: &RowKey, row: &Row) -> Arc<[Datum]> {
    let table = &read.table;
    if table.primary_key.is_some() && row.len() == table.columns.len() {
        return row.clone();
    }
    let mut values: Vec<Datum> = Vec::with_capacity(row_width(table));
    values.extend((0..table.columns.len()).map(|column| table.value(row, column).clone()));
    if table.primary_key.is_none() {
        values.push(match key.parts.first() {
            Some(KeyPart::Number(number)) => Datum::Integer(*number),
            Some(KeyPart::Text(text)) => Datum::Text(text.clone()),
            _ => Datum::Null,
        });
    }
    values.into()
}
