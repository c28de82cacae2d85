//! Rows in a procedure: loops over them, variables that hold one, and SELECT … INTO.
//!
//! ```text
//!   FOR r IN (q) DO body END FOR;      Open q                      r.name is the variable r·name, in a slot of its own
//!                                   a: Next r, done b
//!                                      body                        FOR i IN 1..n is a loop over the rows of generate_series
//!                                      Jump a
//!                                   b:
//! ```
//!
//! PL/pgSQL's SELECT … INTO makes its variables NULL where it finds no row. The instruction does so when it runs; for whoever reads the steps
//! the variables are cleared before it, and where the query itself asks for them, it goes into variables of its own first.

use crate::compile::Compiler;
use crate::instruction::{Instruction, Query, Target};
use crate::source::{FIELD_DOT, Piece, syntax};
use crate::syntax::*;
use skew_value::{Place, SqlError, SqlState, SqlType};

/// Loops.
impl Compiler<'_, '_> {
    /// A loop after which FOUND tells whether it went round. `round` is the variable that each round has to set.
    pub(crate) fn telling(
        &mut self,
        tells: bool,
        place: Place,
        compile: impl FnOnce(&mut Self, Option<usize>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        if !tells {
            return compile(self, None);
        }
        let name = self.made("round");
        let round = self.slot(name.clone(), SqlType::BIGINT, None, place)?;
        self.set(round, "0", place)?;
        compile(self, Some(round))?;
        self.set(0, &name, place)
    }

    /// A slot becomes a number or what another variable is.
    fn set(&mut self, slot: usize, text: &str, place: Place) -> Result<(), SqlError> {
        let query = self.binder.variable(text, place, &self.variables)?;
        let target = self.binder.target(query.sql_type(), slot, self.variables[slot].1.clone(), place)?;
        self.emit(Instruction::Assign(query, target), place);
        Ok(())
    }

    /// A name with a dot that nobody types.
    fn made(&self, word: &str) -> String {
        format!("{word}{FIELD_DOT}{}", self.variables.len())
    }

    pub(crate) fn for_loop(
        &mut self,
        label: &Option<Name>,
        row: &LoopRow,
        query: &Piece,
        body: &[Statement],
        round: Option<usize>,
    ) -> Result<(), SqlError> {
        let query = self.binder.statement(query, &self.variables)?;
        let place = query.place;
        let columns: Vec<(String, SqlType)> = query.columns();
        if columns.is_empty() {
            return Err(syntax(place, "FOR goes over the rows of a query"));
        }
        let slots = match row {
            LoopRow::Row(row) => columns
                .into_iter()
                .map(|(column, sql_type)| (format!("{}{FIELD_DOT}{}", row.text, column.to_lowercase()), sql_type))
                .collect(),
            LoopRow::Variables(names) if names.len() == columns.len() => {
                names.iter().zip(columns).map(|(name, (_, sql_type))| (name.text.clone(), sql_type)).collect()
            }
            LoopRow::Variables(names) => {
                let message = format!("the query has {} columns, FOR names {} variables", columns.len(), names.len());
                return Err(SqlError::new(SqlState::CARDINALITY, message).at(place));
            }
        };
        self.rounds(label, query, slots, body, round)
    }

    pub(crate) fn range_loop(
        &mut self,
        label: &Option<Name>,
        number: &Name,
        bounds: &RangeBounds,
        body: &[Statement],
        round: Option<usize>,
    ) -> Result<(), SqlError> {
        let query = self.binder.range(bounds, &self.variables)?;
        self.rounds(label, query, vec![(number.text.clone(), SqlType::INTEGER)], body, round)
    }

    /// The body for each row of a query, whose columns are variables.
    fn rounds(
        &mut self,
        label: &Option<Name>,
        query: Query,
        slots: Vec<(String, SqlType)>,
        body: &[Statement],
        round: Option<usize>,
    ) -> Result<(), SqlError> {
        let place = query.place;
        let cursor = self.cursors;
        self.cursors += 1;
        self.emit(Instruction::Open(cursor, query), place);
        self.scopes.push(Vec::new());
        let first = self.variables.len();
        for (name, sql_type) in slots {
            let hides = self.find(&name);
            self.slot(name, sql_type, hides, place)?;
        }
        let again = self.emit(Instruction::Next { cursor, first, done: usize::MAX }, place);
        self.open_label(label, Some(again))?;
        if let Some(round) = round {
            self.set(round, "1", place)?;
        }
        self.statements(body)?;
        self.emit(Instruction::Jump(again), place);
        self.land(&[again]);
        self.close_label();
        self.close_scope();
        Ok(())
    }
}

/// Variables that are rows.
impl Compiler<'_, '_> {
    /// `r RECORD` and `r account%ROWTYPE`; false for anything else.
    pub(crate) fn declares_rows(&mut self, names: &[Name], sql_type: &Piece) -> Result<bool, SqlError> {
        if self.binder.function.is_none() {
            return Ok(false);
        }
        let text = self.binder.source.text_of(sql_type);
        let columns = match self.binder.copied(sql_type) {
            Some((table, word)) if word == "rowtype" => {
                let known = table.last().and_then(|table| self.binder.columns_of(table));
                let message = format!("there is no table {} to take a row from", table.join("."));
                known.ok_or_else(|| {
                    SqlError::new(SqlState::UNDEFINED_TABLE, message).at(self.binder.source.place_of(sql_type))
                })?
            }
            None if text.trim().eq_ignore_ascii_case("record") => Vec::new(),
            _ => return Ok(false),
        };
        let scope = self.scopes.len() - 1;
        for name in names {
            self.binder.function.iter_mut().for_each(|function| function.rows.push(name.text.clone()));
            if columns.is_empty() {
                self.records.push((name.text.clone(), scope));
            }
            for (column, sql_type) in &columns {
                self.field(&name.text, column, sql_type, scope, name.place)?;
            }
        }
        Ok(true)
    }

    /// The slot of a field of a row, which belongs to the scope of the row.
    fn field(
        &mut self,
        row: &str,
        column: &str,
        sql_type: &SqlType,
        scope: usize,
        place: Place,
    ) -> Result<usize, SqlError> {
        let name = format!("{row}{FIELD_DOT}{}", column.to_lowercase());
        let hides = self.find(&name);
        if let Some(slot) = hides.filter(|slot| self.variables[*slot].1 == *sql_type) {
            return Ok(slot);
        }
        let open = self.scopes.split_off(scope + 1);
        let slot = self.slot(name, sql_type.clone(), hides, place);
        self.scopes.extend(open);
        slot
    }

    /// What the columns of a query go into where one variable is named, and it is a row.
    fn row_targets(
        &mut self,
        row: &Name,
        columns: &[(String, SqlType)],
    ) -> Result<Option<Vec<(usize, SqlType)>>, SqlError> {
        if self.find(&row.text).is_some() {
            return Ok(None);
        }
        let record = self.records.iter().rev().find(|(name, scope)| *name == row.text && *scope < self.scopes.len());
        if let Some((_, scope)) = record.cloned() {
            let place = row.place;
            let slot = |(name, sql_type): &(String, SqlType)| {
                self.field(&row.text, name, sql_type, scope, place).map(|slot| (slot, sql_type.clone()))
            };
            return columns.iter().map(slot).collect::<Result<Vec<(usize, SqlType)>, SqlError>>().map(Some);
        }
        let prefix = format!("{}{FIELD_DOT}", row.text);
        let of_row = |slot: &usize| self.variables[*slot].0.starts_with(&prefix);
        let slots: Vec<usize> = (0..self.variables.len()).filter(of_row).collect();
        if slots.is_empty() {
            return Ok(None);
        }
        if slots.len() != columns.len() {
            let message = format!("the query has {} columns, the row {} has {}", columns.len(), row.text, slots.len());
            return Err(SqlError::new(SqlState::CARDINALITY, message).at(row.place));
        }
        Ok(Some(slots.into_iter().zip(columns).map(|(slot, (_, sql_type))| (slot, sql_type.clone())).collect()))
    }
}

/// SELECT … INTO.
impl Compiler<'_, '_> {
    pub(crate) fn select_into(&mut self, piece: &Piece, into: &[Name], rows: IntoRows) -> Result<(), SqlError> {
        let query = self.binder.statement(piece, &self.variables)?;
        let targets = self.targets(&query, into)?;
        let place = query.place;
        if rows == IntoRows::Keep || rows == IntoRows::Strict || into.is_empty() {
            self.emit(Instruction::SelectInto(query, targets, rows), place);
            return Ok(());
        }
        if !self.asks_for(piece, into) {
            for target in &targets {
                self.emit(Instruction::Clear(target.slot), place);
            }
            self.emit(Instruction::SelectInto(query, targets, rows), place);
            return Ok(());
        }
        let mut own = Vec::new();
        for target in &targets {
            let name = self.made("into");
            let slot = self.slot(name.clone(), target.from.clone(), None, place)?;
            self.emit(Instruction::Clear(slot), place);
            own.push((name, Target { slot, from: target.from.clone(), to: target.from.clone() }));
        }
        let kept = own.iter().map(|(_, target)| target.clone()).collect();
        self.emit(Instruction::SelectInto(query, kept, rows), place);
        own.iter().zip(targets).try_for_each(|((name, _), target)| self.set(target.slot, name, place))
    }

    fn targets(&mut self, query: &Query, into: &[Name]) -> Result<Vec<Target>, SqlError> {
        let columns = query.columns();
        if let [row] = into
            && let Some(slots) = self.row_targets(row, &columns)?
        {
            let target = |(slot, from): (usize, SqlType)| {
                self.binder.target(from, slot, self.variables[slot].1.clone(), row.place)
            };
            return slots.into_iter().map(target).collect();
        }
        if columns.len() != into.len() && !into.is_empty() {
            let message = format!("the query has {} columns, INTO names {} variables", columns.len(), into.len());
            return Err(SqlError::new(SqlState::CARDINALITY, message).at(into[0].place));
        }
        into.iter().zip(columns).map(|(name, (_, from))| self.target(name, from)).collect()
    }

    /// Whether a query names one of the variables that it goes into.
    fn asks_for(&self, piece: &Piece, into: &[Name]) -> bool {
        let is_left_out = |number: usize| piece.instead.iter().any(|(spots, _)| spots.contains(&number));
        let base = |name: &Name| name.text.split(FIELD_DOT).next().unwrap_or_default().to_owned();
        let names: Vec<String> = into.iter().map(base).collect();
        let mut spots = piece.spots.clone().filter(|number| !is_left_out(*number));
        spots.any(|number| self.binder.source.spots[number].name().is_some_and(|name| names.contains(&name)))
    }
}
