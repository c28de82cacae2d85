//! Binds the pieces of a program: names of variables and fields are found, types checked, before anything runs.
//!
//! An expression is bound as the query `SELECT (…)`, a condition as `SELECT (…) IS TRUE`, so that whatever SQL allows is allowed
//! here, subqueries included, and a condition is never NULL. The type of a variable is what a column of that type would have.

use crate::instruction::{Query, Target};
use crate::source::{FIELD_DOT, Piece, Source, in_file};
use skew_sql::{Catalog, MemoryStorage, Session, Stop};
use skew_value::{CastKind, Datum, Place, SqlError, SqlState, SqlType, can_coerce, cast};
use sqlparser::tokenizer::Token;
use std::ops::Range;
use std::sync::Arc;

/// The variable that holds how many rows the last change touched.
pub(crate) const ROW_COUNT: &str = "row·count";

/// What the author may not have meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// What it is about.
    pub message: String,
    /// Where in the file.
    pub place: Place,
}

/// Binds pieces of one file against one catalog.
pub(crate) struct Binder<'a> {
    pub(crate) source: &'a Source,
    pub(crate) session: Session,
    pub(crate) warnings: Vec<Warning>,
}

/// What is put around a piece.
#[derive(Clone, Copy)]
enum Wrapping {
    Statement,
    Expression,
    Condition,
}

impl<'a> Binder<'a> {
    pub(crate) fn new(source: &'a Source, catalog: Arc<Catalog>) -> Binder<'a> {
        Binder { source, session: Session::new(source.dialect, catalog), warnings: Vec::new() }
    }

    /// The text of a piece, in which nothing is bound.
    pub(crate) fn text_of(&self, piece: &Piece) -> Arc<str> {
        Arc::from(self.source.text_of(piece))
    }

    /// A statement; `fields` are names that the piece writes as several tokens.
    pub(crate) fn statement(&mut self, piece: &Piece, variables: &[(String, SqlType)]) -> Result<Query, SqlError> {
        self.prepare(piece, Wrapping::Statement, variables)
    }

    /// An expression.
    pub(crate) fn expression(&mut self, piece: &Piece, variables: &[(String, SqlType)]) -> Result<Query, SqlError> {
        self.prepare(piece, Wrapping::Expression, variables)
    }

    /// A condition: true or false.
    pub(crate) fn condition(&mut self, piece: &Piece, variables: &[(String, SqlType)]) -> Result<Query, SqlError> {
        self.prepare(piece, Wrapping::Condition, variables)
    }

    fn prepare(
        &mut self,
        piece: &Piece,
        wrapping: Wrapping,
        variables: &[(String, SqlType)],
    ) -> Result<Query, SqlError> {
        let place = self.source.place_of(piece);
        let text = self.source.rewritten(piece, &self.fields_in(piece, variables));
        let (before, after) = match wrapping {
            Wrapping::Statement => ("", ""),
            Wrapping::Expression => ("SELECT (", ")"),
            Wrapping::Condition => ("SELECT (", ") IS TRUE"),
        };
        let prefix = before.len() as u32;
        let bound = self.prepare_text(&format!("{before}{text}{after}"), variables);
        let prepared = bound.map_err(|error| in_file(error, place, prefix))?;
        for message in prepared.warnings() {
            self.warnings.push(Warning { message: crate::source::readable(message), place });
        }
        let text = Arc::from(self.source.text_of(&Piece { without: None, ..piece.clone() }));
        Ok(Query { prepared: Arc::new(prepared), slots: variables.len(), place, prefix, text })
    }

    /// Binds a text that is one statement.
    fn prepare_text(&self, text: &str, variables: &[(String, SqlType)]) -> Result<skew_sql::Prepared, SqlError> {
        let statements = self.session.parse(text)?;
        match statements.as_slice() {
            [statement] => self.session.prepare_in(statement, &[], variables),
            _ => Err(SqlError::new(SqlState::SYNTAX_ERROR, "expected one statement")),
        }
    }

    /// Binds `SELECT variable = (piece) IS TRUE`, for CASE with a subject.
    pub(crate) fn comparison(
        &mut self,
        variable: &str,
        piece: &Piece,
        variables: &[(String, SqlType)],
    ) -> Result<Query, SqlError> {
        let place = self.source.place_of(piece);
        let text = self.source.rewritten(piece, &self.fields_in(piece, variables));
        let before = format!("SELECT ({variable} = (");
        let prefix = before.chars().count() as u32;
        let bound = self.prepare_text(&format!("{before}{text})) IS TRUE"), variables);
        let prepared = bound.map_err(|error| in_file(error, place, prefix))?;
        Ok(Query { prepared: Arc::new(prepared), slots: variables.len(), place, prefix, text: Arc::from(text) })
    }

    /// The tokens of a piece that name a field (`line.price`, `alice[1].paid`) or ROW_COUNT(), and the variables they are.
    fn fields_in(&self, piece: &Piece, variables: &[(String, SqlType)]) -> Vec<(Range<usize>, String)> {
        let mut fields = Vec::new();
        let mut number = piece.spots.start;
        while number < piece.spots.end {
            let known = |(_, name): &(usize, String)| variables.iter().any(|(variable, _)| variable == name);
            let after_dot = number > 0 && self.source.spots[number - 1].token == Token::Period;
            match self.field_at(number, piece.spots.end).filter(known).filter(|_| !after_dot) {
                Some((end, name)) => {
                    fields.push((number..end, name));
                    number = end;
                }
                None => number += 1,
            }
        }
        fields
    }

    /// A field that starts at a token: where it ends and what its variable is called.
    pub(crate) fn field_at(&self, number: usize, end: usize) -> Option<(usize, String)> {
        let spot = |offset: usize| self.source.spots.get(number + offset).filter(|_| number + offset < end);
        let name = |offset: usize| spot(offset).and_then(|spot| spot.name());
        let is = |offset: usize, token: &Token| spot(offset).is_some_and(|spot| spot.token == *token);
        let first = name(0)?;
        if first == "row_count" && is(1, &Token::LParen) && is(2, &Token::RParen) {
            return Some((number + 3, ROW_COUNT.to_owned()));
        }
        if is(1, &Token::Period) {
            return name(2).map(|field| (number + 3, format!("{first}{FIELD_DOT}{field}")));
        }
        let call = match spot(2).map(|spot| &spot.token) {
            Some(Token::Number(call, _)) if is(1, &Token::LBracket) && is(3, &Token::RBracket) => call,
            _ => return None,
        };
        let field = if is(4, &Token::Period) { name(5)? } else { return None };
        let first = first.to_lowercase();
        Some((number + 6, format!("{first}{FIELD_DOT}{call}{FIELD_DOT}{FIELD_DOT}{field}")))
    }

    /// The type that a piece names.
    pub(crate) fn sql_type(&self, piece: &Piece) -> Result<SqlType, SqlError> {
        const BEFORE: &str = "CREATE TABLE skew_type (x ";
        let text = format!("{BEFORE}{})", self.source.text_of(piece));
        let place = self.source.place_of(piece);
        let catalog = self.created(&text).map_err(|error| in_file(error, place, BEFORE.len() as u32))?;
        let columns = catalog.tables.get("skew_type").map(|table| &table.columns);
        let column = columns.and_then(|columns| columns.first().filter(|_| columns.len() == 1));
        let sql_type = column.map(|column| column.sql_type.clone());
        let sql_type = sql_type.ok_or_else(|| crate::source::syntax(place, "expected a type"))?;
        // MySQL's ENUM('a', 'b') belongs to its column alone.
        let known = |id| self.session.catalog().enumerations.values().any(|enumeration| enumeration.id == id);
        Ok(match sql_type {
            SqlType::Enumeration(id) if !known(id) => SqlType::TEXT,
            other => other,
        })
    }

    /// A catalog in which a table was created that nobody else sees.
    fn created(&self, text: &str) -> Result<Arc<Catalog>, SqlError> {
        let mut session = self.session.clone();
        for statement in session.parse(text)? {
            let prepared = session.prepare(&statement, &[])?;
            session.execute(&prepared, &[], &mut MemoryStorage::new()).map_err(error_of)?;
        }
        Ok(session.catalog().clone())
    }

    /// The value of an expression that reads nothing.
    pub(crate) fn constant(&mut self, piece: &Piece) -> Result<(Datum, SqlType), SqlError> {
        let query = self.expression(piece, &[])?;
        let mut storage = MemoryStorage::new();
        storage.record();
        let value = query.value(&mut self.session.clone(), &[], &mut storage).map_err(error_of)?;
        if !storage.take_accesses().is_empty() {
            let error = SqlError::unsupported("an argument that reads a table");
            return Err(error.with_hint("arguments are constants and @variables").at(query.place));
        }
        Ok((value, query.sql_type()))
    }

    /// Where a value of a query goes; an error if it can never become that type.
    pub(crate) fn target(&self, from: SqlType, slot: usize, to: SqlType, place: Place) -> Result<Target, SqlError> {
        let dialect = self.source.dialect;
        let kind = kind_of(&from, &to, dialect);
        if from != to && from != SqlType::Unknown && !can_coerce(&from, &to, kind, dialect) {
            let message = format!("a value of type {from} cannot be assigned to a variable of type {to}");
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message).at(place));
        }
        Ok(Target { slot, from, to })
    }
}

/// Texts are read as whatever is wanted, as PL/pgSQL does; everything else is assigned.
fn kind_of(from: &SqlType, to: &SqlType, dialect: skew_value::Dialect) -> CastKind {
    let is_text = matches!(from, SqlType::Text(_) | SqlType::Character(_) | SqlType::Unknown);
    match is_text && !can_coerce(from, to, CastKind::Assignment, dialect) {
        true => CastKind::Explicit,
        false => CastKind::Assignment,
    }
}

impl Target {
    /// The value as the variable's type.
    pub(crate) fn convert(&self, value: &Datum, dialect: skew_value::Dialect) -> Result<Datum, SqlError> {
        if value.is_null() {
            return Ok(Datum::Null);
        }
        cast(value, &self.from, &self.to, kind_of(&self.from, &self.to, dialect), dialect)
    }
}

/// An error where no store interrupts.
pub(crate) fn error_of(stop: Stop) -> SqlError {
    match stop {
        Stop::Error(error) => error,
        Stop::Interrupted(interrupt) => {
            SqlError::new(SqlState::INTERNAL, format!("a store in memory interrupted: {interrupt:?}"))
        }
    }
}
