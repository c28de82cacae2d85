//! INSERT and REPLACE: a row comes, unless its place is taken.
//!
//! ```text
//!   source row ── defaults ── generated columns ── NOT NULL, CHECK ── keys looked at, with a lock
//!                                                                       │ all free          put row and entries
//!                                                                       │ taken: refuse     duplicate key …
//!                                                                       │        skip       nothing
//!                                                                       │        update     the row that is there changes
//!                                                                       └        replace    the rows that are there go
//! ```

use super::writer::{Writer, twice};
use crate::catalog::{ColumnDefault, Table};
use crate::constraint::{Entry, Rules};
use crate::stop::Stop;
use crate::storage::{Row, RowKey, SequenceId, SequenceRule, Write};
use crate::tree::change::{Arbiter, Conflict, ConflictUpdate, CopiedRows, Insert, Outcome};
use skew_value::{Datum, Dialect, SqlError, SqlState};
use std::collections::BTreeSet;

/// What became of a row that was to be inserted.
enum Fate {
    Inserted(Row),
    /// The row it met, and what that became.
    Updated(Row, Row),
    /// It took the place of so many.
    Replaced(Row, u64),
    Skipped,
}

impl Writer<'_, '_> {
    /// Carries an INSERT or REPLACE out.
    pub(super) fn carry_out_insert(&mut self, insert: &Insert, outcome: &mut Outcome) -> Result<(), Stop> {
        let rules = self.rules(&insert.table)?;
        let mut touched = BTreeSet::new();
        let rows = match &insert.copied {
            Some(copied) => self.converted(copied)?,
            None => self.execution.run(&insert.source)?,
        };
        self.answer_before(insert.returning.as_ref())?;
        for values in rows {
            let row = self.new_row(insert, &rules, &values, outcome)?;
            let fate = self.place(insert, &rules, row, &mut touched)?;
            self.tell(insert, fate, outcome)?;
        }
        Ok(())
    }

    /// The rows that a client sent, as values of the columns.
    fn converted(&mut self, copied: &CopiedRows) -> Result<Vec<Vec<Datum>>, Stop> {
        copied.rows.iter().map(|row| self.execution.evaluate_all(&copied.conversions, row)).collect()
    }

    /// The whole row of some of its values.
    fn new_row(
        &mut self,
        insert: &Insert,
        rules: &Rules,
        values: &[Datum],
        outcome: &mut Outcome,
    ) -> Result<Row, Stop> {
        let mut row = vec![Datum::Null; insert.table.columns.len()];
        for (place, expression) in &insert.defaults {
            row[*place] = self.execution.evaluate_over(expression, &[])?;
            self.note_insert_id(&insert.table, *place, &row[*place], outcome);
        }
        for (&place, value) in insert.targets.iter().zip(values) {
            row[place] = value.clone();
        }
        if self.dialect() == Dialect::MySql {
            self.count_explicit(insert, &mut row, outcome)?;
        }
        rules.generate(&mut row, self.execution)?;
        rules.check_row(&row, self.execution)?;
        Ok(row.into())
    }

    fn note_insert_id(&self, table: &Table, place: usize, value: &Datum, outcome: &mut Outcome) {
        if let (Some(ColumnDefault::Sequence(_)), Datum::Integer(value)) = (&table.columns[place].default, value)
            && outcome.insert_id.is_none()
        {
            outcome.insert_id = i64::try_from(*value).ok();
        }
    }

    /// MySQL's AUTO_INCREMENT: NULL and 0 ask for the next value; any other moves the counter behind itself.
    fn count_explicit(&mut self, insert: &Insert, row: &mut [Datum], outcome: &mut Outcome) -> Result<(), Stop> {
        for &place in &insert.targets {
            let Some(ColumnDefault::Sequence(sequence)) = insert.table.columns[place].default else { continue };
            let rule = self.sequence_rule(sequence)?;
            match row[place] {
                Datum::Null | Datum::Integer(0) => {
                    row[place] = Datum::Integer(self.execution.storage().next_value(sequence, &rule)?.into());
                    self.note_insert_id(&insert.table, place, &row[place], outcome);
                }
                Datum::Integer(value) => {
                    // No sequence counts further than this, so one that was passed is at its end.
                    let value = i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX });
                    self.execution.storage().pass_value(sequence, &rule, value)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn sequence_rule(&self, sequence: SequenceId) -> Result<SequenceRule, SqlError> {
        match self.catalog.sequence_by_id(sequence) {
            Some(known) => Ok(known.rule),
            None => Err(SqlError::new(SqlState::INTERNAL, "the sequence of a column is gone")),
        }
    }

    /// Puts a row at its place, or does what the statement says if that is taken.
    fn place(
        &mut self,
        insert: &Insert,
        rules: &Rules,
        row: Row,
        touched: &mut BTreeSet<RowKey>,
    ) -> Result<Fate, Stop> {
        let key = self.new_key(&insert.table, &row)?;
        if matches!(insert.conflict, Conflict::Replace) && self.is_plain(&insert.table) {
            self.execution.storage().put(&key, Write::Row(row.clone()))?;
            return Ok(Fate::Replaced(row, 0));
        }
        let entries = rules.entries(&key, &row, self.execution)?;
        let is_postgres = self.dialect() == Dialect::Postgres;
        // PostgreSQL looks at no further key once it knows that the row is not inserted.
        let settles = |arbiter: Arbiter| {
            is_postgres && (matches!(insert.conflict, Conflict::Refuse) || insert.conflict.is_settled_by(arbiter))
        };
        let decides = |arbiter: Arbiter| insert.conflict.is_settled_by(arbiter);
        let taken = self.conflicts(rules, &key, &entries, (&settles, &decides))?;
        if taken.is_empty() {
            self.put_new(rules, &key, &row, entries)?;
            touched.insert(key);
            return Ok(Fate::Inserted(row));
        }
        match &insert.conflict {
            Conflict::Refuse => Err(self.duplicate(rules, taken[0].0, &row)),
            Conflict::Skip(arbiters) => match first_that_counts(&taken, arbiters.as_deref()) {
                Ok(_) => Ok(Fate::Skipped),
                Err(other) => Err(self.duplicate(rules, other, &row)),
            },
            Conflict::Update(update) => match first_that_counts(&taken, update.arbiters.as_deref()) {
                Ok(met) => match self.lock(&insert.table, &met)? {
                    Some(old) => self.update_instead(rules, update, (&met, old), &row, touched),
                    // Where reads do not lock, an index entry may be seen whose row is not: then the row is a new one.
                    None => self.put_new(rules, &key, &row, entries).map(|()| Fate::Inserted(row)),
                },
                Err(other) => Err(self.duplicate(rules, other, &row)),
            },
            Conflict::Replace => self.replace(rules, &key, row, entries, taken),
        }
    }

    /// Whether a row of the table can be written without looking: nothing else is unique, indexed or points anywhere.
    fn is_plain(&self, table: &Table) -> bool {
        table.primary_key.is_some()
            && table.indexes.is_empty()
            && table.foreign_keys.is_empty()
            && table.key_entries.is_none()
            && table.exclusions.is_empty()
            && self.catalog.references_to(&table.name).next().is_none()
    }

    fn update_instead(
        &mut self,
        rules: &Rules,
        update: &ConflictUpdate,
        (met, old): (&RowKey, Row),
        proposed: &Row,
        touched: &mut BTreeSet<RowKey>,
    ) -> Result<Fate, Stop> {
        if self.dialect() == Dialect::Postgres && !touched.insert(met.clone()) {
            return Err(twice().into());
        }
        // Where a table has no primary key, a row is followed by the place of its key.
        let gap = rules.table.primary_key.is_none().then_some(Datum::Null);
        let both: Vec<Datum> = old.iter().cloned().chain(gap).chain(proposed.iter().cloned()).collect();
        if let Some(condition) = &update.condition
            && self.execution.evaluate_over(condition, &both)? != Datum::Boolean(true)
        {
            return Ok(Fate::Skipped);
        }
        let assigned: Vec<usize> = update.assignments.iter().map(|(place, _)| *place).collect();
        let new = self.assigned(&update.assignments, &both, old.len())?;
        let new = self.update(rules, met, &old, new, &assigned)?;
        Ok(Fate::Updated(old, new))
    }

    /// REPLACE: all rows that are in the way go.
    fn replace(
        &mut self,
        rules: &Rules,
        key: &RowKey,
        row: Row,
        entries: Vec<Option<Entry>>,
        taken: Vec<(Arbiter, RowKey)>,
    ) -> Result<Fate, Stop> {
        let in_the_way: BTreeSet<RowKey> = taken.into_iter().map(|(_, key)| key).collect();
        let mut gone = 0;
        for other in in_the_way {
            if let Some(old) = self.lock(&rules.table, &other)? {
                self.delete(rules, &other, &old)?;
                gone += 1;
            }
        }
        self.put_new(rules, key, &row, entries)?;
        Ok(Fate::Replaced(row, gone))
    }

    /// Counts a row and remembers what RETURNING says of it.
    fn tell(&mut self, insert: &Insert, fate: Fate, outcome: &mut Outcome) -> Result<(), Stop> {
        let mysql = self.dialect() == Dialect::MySql;
        let shown = match fate {
            Fate::Skipped => return Ok(()),
            Fate::Inserted(row) => {
                outcome.count += 1;
                row
            }
            Fate::Updated(old, new) => {
                // MySQL counts an upserted row twice, and one that stayed as it was not at all.
                outcome.count += if !mysql {
                    1
                } else if old == new {
                    0
                } else {
                    2
                };
                new
            }
            Fate::Replaced(row, gone) => {
                outcome.count += 1 + gone;
                row
            }
        };
        outcome.found += 1;
        if let Some(returning) = &insert.returning {
            let row = self.execution.evaluate_all(&returning.expressions, &shown)?;
            outcome.returned.push(row);
        }
        Ok(())
    }

    /// The first columns of a row with some of them assigned.
    pub(super) fn assigned(
        &mut self,
        assignments: &[(usize, crate::tree::expression::Expression)],
        row: &[Datum],
        width: usize,
    ) -> Result<Vec<Datum>, Stop> {
        let mut new = row[..width].to_vec();
        if self.dialect() == Dialect::MySql {
            // MySQL assigns from left to right: what is assigned later sees what was assigned before.
            let mut seen = row.to_vec();
            for (place, expression) in assignments {
                seen[*place] = self.execution.evaluate_over(expression, &seen)?;
                new[*place] = seen[*place].clone();
            }
            return Ok(new);
        }
        for (place, expression) in assignments {
            new[*place] = self.execution.evaluate_over(expression, row)?;
        }
        Ok(new)
    }
}

/// The row met by the first key that counts; otherwise the key that was met and does not count.
fn first_that_counts(taken: &[(Arbiter, RowKey)], arbiters: Option<&[Arbiter]>) -> Result<RowKey, Arbiter> {
    let counts = |arbiter: &Arbiter| arbiters.is_none_or(|arbiters| arbiters.contains(arbiter));
    match taken.iter().find(|(arbiter, _)| counts(arbiter)) {
        Some((_, key)) => Ok(key.clone()),
        None => Err(taken[0].0),
    }
}
