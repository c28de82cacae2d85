//! Binds the pieces of a program: names of variables and fields are found, types checked, before anything runs.
//!
//! An expression is bound as the query `SELECT (…)`, a condition as `SELECT (…) IS TRUE`, so that whatever SQL allows is allowed
//! here, subqueries included, and a condition is never NULL. The type of a variable is what a column of that type would have.

use crate::instruction::{Query, Target};
use crate::source::{FIELD_DOT, Piece, Source, Spot, in_file};
use crate::syntax::RangeBounds;
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
    /// The function whose body is bound, where it is one of PostgreSQL's.
    pub(crate) function: Option<FunctionNames>,
}

/// What a body of PostgreSQL's may call its parameters by: `f.amount`, `$2`.
#[derive(Clone, Debug)]
pub(crate) struct FunctionNames {
    pub(crate) name: String,
    pub(crate) parameters: Vec<String>,
    /// Variables that are rows.
    pub(crate) rows: Vec<String>,
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
        Binder { source, session: Session::new(source.dialect, catalog), warnings: Vec::new(), function: None }
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
        let prepared = bound.map_err(|error| self.whole_row(piece).unwrap_or_else(|| in_file(error, place, prefix)))?;
        // Its functions take the one or the other, or refuse it.
        if let Some(warning) = prepared.warnings().first().filter(|_| self.function.is_some()) {
            let construct = format!("a name with two meanings ({})", crate::source::readable(warning));
            return Err(SqlError::unsupported(construct).with_hint("write `table.column`, or rename it").at(place));
        }
        for message in prepared.warnings() {
            self.warnings.push(Warning { message: crate::source::readable(message), place });
        }
        let text = Arc::from(self.source.text_of(&Piece::plain(piece.spots.clone())));
        Ok(Query { prepared: Arc::new(prepared), slots: variables.len(), place, prefix, text })
    }

    /// What a piece that cannot be bound may lack: a row is known by its fields only.
    fn whole_row(&self, piece: &Piece) -> Option<SqlError> {
        let rows = &self.function.as_ref()?.rows;
        let spots = self.source.spots[piece.spots.clone()].iter();
        let (spot, name) = spots.filter_map(|spot| Some((spot, spot.name()?))).find(|(_, name)| rows.contains(name))?;
        Some(
            SqlError::unsupported(format!("the row {name} as a whole, or a field that it may not have")).at(spot.place),
        )
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
        let is_list =
            self.function.is_some() && piece.spots.clone().any(|at| self.source.spots[at].token == Token::Comma);
        let before = format!("SELECT ({variable} {} (", if is_list { "IN" } else { "=" });
        self.made((&before, &text, ")) IS TRUE"), place, variables)
    }

    /// Binds a statement that is made of a text of the file, with something before it and after it.
    fn made(
        &self,
        (before, text, after): (&str, &str, &str),
        place: Place,
        variables: &[(String, SqlType)],
    ) -> Result<Query, SqlError> {
        let prefix = before.chars().count() as u32;
        let bound = self.prepare_text(&format!("{before}{text}{after}"), variables);
        let prepared = bound.map_err(|error| in_file(error, place, prefix))?;
        Ok(Query { prepared: Arc::new(prepared), slots: variables.len(), place, prefix, text: Arc::from(text) })
    }

    /// Binds a variable, or a number, as an expression.
    pub(crate) fn variable(
        &self,
        name: &str,
        place: Place,
        variables: &[(String, SqlType)],
    ) -> Result<Query, SqlError> {
        self.made(("SELECT (", name, ")"), place, variables)
    }

    /// Binds the numbers of a loop as rows.
    pub(crate) fn range(&self, bounds: &RangeBounds, variables: &[(String, SqlType)]) -> Result<Query, SqlError> {
        let text = |piece: &Piece| self.source.rewritten(piece, &self.fields_in(piece, variables));
        let (from, to) = (text(&bounds.from), text(&bounds.to));
        let by = bounds.by.as_ref().map_or("1".to_owned(), text);
        let sign = if bounds.reverse { "-" } else { "" };
        let after = format!(")::int, ({to})::int, {sign}({by})::int)");
        let place = self.source.place_of(&bounds.from);
        self.made(("SELECT * FROM generate_series((", &from, &after), place, variables)
    }

    /// The tokens of a piece that name a field (`line.price`, `alice[1].paid`), ROW_COUNT() or FOUND, and the variables they are.
    pub(crate) fn fields_in(&self, piece: &Piece, variables: &[(String, SqlType)]) -> Vec<(Range<usize>, String)> {
        let mut fields = Vec::new();
        let mut number = piece.spots.start;
        while number < piece.spots.end {
            let known = |(_, name): &(usize, String)| variables.iter().any(|(variable, _)| variable == name);
            let after_dot = number > 0 && self.source.spots[number - 1].token == Token::Period;
            if let Some((end, test)) = self.row_test(number, piece.spots.end, variables) {
                fields.push((number..end, test));
                number = end;
                continue;
            }
            let own = self.own_name(number, piece.spots.end);
            let field = own.into_iter().chain(self.field_at(number, piece.spots.end)).find(known);
            match field.or_else(|| self.found_at(number, variables)).filter(|_| !after_dot) {
                Some((end, name)) => {
                    fields.push((number..end, name));
                    number = end;
                }
                None => number += 1,
            }
        }
        fields
    }

    /// A parameter or variable of a function by its number, or with the name of the function before it.
    fn own_name(&self, number: usize, end: usize) -> Option<(usize, String)> {
        let function = self.function.as_ref()?;
        let spots = &self.source.spots[number..end];
        match (&spots.first()?.token, spots.get(1).map(|spot| &spot.token)) {
            (Token::Placeholder(text), _) => {
                let place = text.get(1..)?.parse::<usize>().ok()?.checked_sub(1)?;
                function.parameters.get(place).map(|name| (number + 1, name.clone()))
            }
            (_, Some(Token::Period)) if spots[0].name().as_ref() == Some(&function.name) => {
                spots.get(2)?.name().map(|name| (number + 3, name))
            }
            _ => None,
        }
    }

    /// `r IS NULL`, of a variable that is a row: all its fields are. `r IS NOT NULL`: none of them is.
    fn row_test(&self, number: usize, end: usize, variables: &[(String, SqlType)]) -> Option<(usize, String)> {
        let spots = &self.source.spots[number..end];
        let name =
            spots.first()?.name().filter(|name| self.function.as_ref().is_some_and(|one| one.rows.contains(name)))?;
        let is = |place: usize, word: &str| spots.get(place).is_some_and(|spot| spot.is_word(word));
        let (count, test) = match (is(1, "is"), is(2, "null"), is(2, "not") && is(3, "null")) {
            (true, true, _) => (3, "IS NULL"),
            (true, _, true) => (4, "IS NOT NULL"),
            _ => return None,
        };
        let prefix = format!("{name}{FIELD_DOT}");
        let fields = variables.iter().filter(|(variable, _)| variable.starts_with(&prefix));
        let tests: Vec<String> = fields.map(|(field, _)| format!("{field} {test}")).collect();
        (!tests.is_empty()).then(|| (number + count, format!("({})", tests.join(" AND "))))
    }

    /// FOUND, where no variable is called so.
    fn found_at(&self, number: usize, variables: &[(String, SqlType)]) -> Option<(usize, String)> {
        let is_declared = variables.iter().any(|(variable, _)| variable == "found");
        let is_found = self.function.is_some() && self.source.spots[number].is_word("found") && !is_declared;
        is_found.then(|| (number + 1, format!("({ROW_COUNT} > 0)")))
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

    /// The type that a piece names, or that of a column or variable: `account.balance%TYPE`.
    pub(crate) fn sql_type(&self, piece: &Piece, variables: &[(String, SqlType)]) -> Result<SqlType, SqlError> {
        let Some((names, word)) = self.copied(piece) else { return self.named_type(piece) };
        let found = match names.as_slice() {
            _ if word != "type" => None,
            [variable] => type_in(variables, variable),
            [.., table, column] => {
                let columns = self.columns_of(table).unwrap_or_default();
                type_in(&columns, column).or_else(|| type_in(variables, &format!("{table}{FIELD_DOT}{column}")))
            }
            [] => None,
        };
        let message = format!("there is no {} to take a type from", names.join("."));
        let undefined = SqlError::new(SqlState::UNDEFINED_OBJECT, message);
        found.ok_or_else(|| undefined.at(self.source.place_of(piece)))
    }

    /// `a.b%TYPE`: the names before the sign, and the word behind it.
    pub(crate) fn copied(&self, piece: &Piece) -> Option<(Vec<String>, String)> {
        let spots = &self.source.spots[piece.spots.clone()];
        let [names @ .., sign, word] = spots else { return None };
        (sign.token == Token::Mod)
            .then(|| (names.iter().filter_map(Spot::name).collect(), word.name().unwrap_or_default()))
    }

    /// The columns of a table.
    pub(crate) fn columns_of(&self, table: &str) -> Option<Vec<(String, SqlType)>> {
        self.session.catalog().tables.get(table).map(|table| table.column_types())
    }

    fn named_type(&self, piece: &Piece) -> Result<SqlType, SqlError> {
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

/// The type of what has a name.
fn type_in(named: &[(String, SqlType)], name: &str) -> Option<SqlType> {
    named.iter().rev().find(|(known, _)| known == name).map(|(_, found)| found.clone())
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
