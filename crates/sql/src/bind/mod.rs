//! The binder: from syntax to expressions with places and types.
//!
//! ```text
//!   SELECT i.price * 2 FROM item i WHERE i.id = $1
//!          └ Column{0,1} × Constant 2 : integer          └ Column{0,0} = Parameter(0) : integer, because id is
//! ```
//!
//! Literals without a type and parameters start as [`SqlType::Unknown`]; whoever needs a type calls [`Binder::coerce`], which
//! gives a literal its value, a parameter its type, and puts a cast around anything else. What nobody needed becomes text.
//!
//! | module | binds |
//! |---|---|
//! | `scope` | names |
//! | `scalar`, `operator`, `call`, `literal`, `subquery` | expressions |
//! | `from`, `select`, `group`, `window`, `set_returning`, `query` | queries |
//! | `change`, `insert`, `update` | statements that change rows |

mod call;
mod change;
mod enumeration;
mod from;
mod group;
mod insert;
mod literal;
mod operator;
mod query;
mod scalar;
mod scope;
mod select;
mod set_returning;
mod subquery;
mod update;
mod window;

pub(crate) use change::{bind_change, default_of};
pub(crate) use from::UNNAMED;
pub(crate) use insert::bind_copy;
pub(crate) use query::reads;
pub(crate) use scope::{Clause, Scope};

use crate::answer::ResultColumn;
use crate::catalog::name::{identifier, is_same};
use crate::catalog::{Catalog, ReferentialAction, Table};
use crate::storage::{Lock, Patience};
use crate::table_lock::{TableLock, TableMode};
use crate::tree::expression::{Cast, Expression, Node};
use crate::virtual_tables::function::CatalogFunction;
use crate::virtual_tables::registered;
use skew_value::{CastKind, Datum, Dialect, SqlError, SqlState, SqlType, Style, Zone, can_coerce, cast, input};
use sqlparser::ast::Ident;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How deep views may stand on views.
const VIEW_LIMIT: usize = 24;

/// Binds one statement.
#[derive(Debug)]
pub(crate) struct Binder<'bind> {
    /// Which SQL.
    pub(crate) dialect: Dialect,
    /// The zone of literals that name none. What stands in the catalog is read in UTC, whoever uses it.
    zone: Zone,
    /// What exists.
    pub(crate) catalog: &'bind Catalog,
    variables: &'bind [(String, SqlType)],
    /// Where variables stand in the text, as line and column, and which they are.
    variable_places: Vec<((u64, u64), usize)>,
    user_variables: Option<&'bind BTreeMap<String, (Datum, SqlType)>>,
    /// Where `?` stand in the text, so that they are counted as they are written, not as they are bound.
    placeholders: &'bind [(u64, u64)],
    parameters: Vec<SqlType>,
    warnings: Vec<String>,
    /// The tables that the statement locks, in the order in which it names them.
    table_locks: Vec<TableLock>,
    subqueries: usize,
    /// Common table expressions in scope, the innermost last.
    common: Vec<CommonTable>,
    common_count: usize,
    views: usize,
    /// How many queries stand around the one that is being bound.
    depth: usize,
    /// What each `*` of the statement stands for, by its place in the text, if somebody wants to know: qualifiers and names.
    pub(crate) wildcards: Option<Wildcards>,
    /// FOR UPDATE and FOR SHARE of the query that is being bound.
    locks: Vec<LockClause>,
    /// What the query around asks of all tables of the next query.
    inherited: Option<(Lock, Patience)>,
    /// How many expressions may still be bound.
    expressions_left: usize,
}

/// Expressions of a short statement, views and defaults included.
const FEWEST_EXPRESSIONS: usize = 200_000;
/// Expressions per character of a longer one. Some are bound twice (the operand of BETWEEN, of CASE), so a tower of these would double
/// with every floor.
const EXPRESSIONS_PER_CHARACTER: usize = 4;

/// What each `*` of a statement stands for, by its line and column: qualifiers and names.
pub(crate) type Wildcards = BTreeMap<(u64, u64), Vec<(Option<String>, String)>>;

/// FOR UPDATE or FOR SHARE.
#[derive(Clone, Debug)]
struct LockClause {
    /// Of which table; otherwise of all.
    of: Option<String>,
    lock: Lock,
    patience: Patience,
}

/// A common table expression in scope.
#[derive(Clone, Debug)]
struct CommonTable {
    name: String,
    number: usize,
    columns: Vec<ResultColumn>,
}

/// Binds the text of an expression over the row of a table (or over no row): defaults, checks, indexes. With a type the value is
/// assigned to it.
pub(crate) fn expression_over_table(
    text: &str,
    table: Option<&Arc<Table>>,
    catalog: &Catalog,
    style: impl Into<Style>,
    wanted: Option<&SqlType>,
) -> Result<Expression, SqlError> {
    let style = style.into();
    let parsed = crate::syntax::parse_expression(style.dialect, text)?;
    let mut binder = Binder::new(style.dialect, catalog, &[]).with_zone(style.zone);
    let scope = match table {
        Some(table) => Scope::of_table(table, None),
        None => Scope::empty(None),
    };
    scope.clause.set(Clause::Rows("an expression of a table"));
    let bound = binder.expression(&parsed, &scope)?;
    match wanted {
        Some(sql_type) => binder.assign(bound, sql_type, "?"),
        None => binder.settled(bound),
    }
}

impl<'bind> Binder<'bind> {
    /// A binder that knows the types of some parameters.
    pub(crate) fn new(dialect: Dialect, catalog: &'bind Catalog, parameters: &[SqlType]) -> Binder<'bind> {
        Binder {
            dialect,
            zone: Zone::Utc,
            catalog,
            variables: &[],
            variable_places: Vec::new(),
            user_variables: None,
            placeholders: &[],
            parameters: parameters.to_vec(),
            warnings: Vec::new(),
            table_locks: Vec::new(),
            subqueries: 0,
            common: Vec::new(),
            common_count: 0,
            views: 0,
            depth: 0,
            wildcards: None,
            locks: Vec::new(),
            inherited: None,
            expressions_left: FEWEST_EXPRESSIONS,
        }
    }

    /// The same for a statement of this many characters.
    pub(crate) fn with_length(self, length: usize) -> Binder<'bind> {
        Binder { expressions_left: FEWEST_EXPRESSIONS + EXPRESSIONS_PER_CHARACTER * length, ..self }
    }

    /// The same in a session with a time zone.
    pub(crate) fn with_zone(self, zone: Zone) -> Binder<'bind> {
        Binder { zone, ..self }
    }

    /// One expression more.
    fn count_expression(&mut self) -> Result<(), SqlError> {
        let message = "the statement repeats its expressions too often";
        let error = || SqlError::new(SqlState::TOO_COMPLEX, message).with_hint("nest BETWEEN and CASE less deeply");
        self.expressions_left = self.expressions_left.checked_sub(1).ok_or_else(error)?;
        Ok(())
    }

    /// The same within a program.
    pub(crate) fn with_variables(self, variables: &'bind [(String, SqlType)]) -> Binder<'bind> {
        Binder { variables, ..self }
    }

    /// The same in a session that has user variables.
    pub(crate) fn with_user_variables(self, values: &'bind BTreeMap<String, (Datum, SqlType)>) -> Binder<'bind> {
        Binder { user_variables: Some(values), ..self }
    }

    /// The same with the places of `?`.
    pub(crate) fn with_placeholders(self, placeholders: &'bind [(u64, u64)]) -> Binder<'bind> {
        Binder { placeholders, ..self }
    }

    /// Where variables were found so far.
    pub(crate) fn take_variable_places(&mut self) -> Vec<((u64, u64), usize)> {
        std::mem::take(&mut self.variable_places)
    }

    /// The statement locks a table.
    pub(crate) fn lock_table(&mut self, name: &str, mode: TableMode) {
        let same = |lock: &TableLock| &*lock.table == name && lock.mode == mode;
        if !self.table_locks.iter().any(same) {
            self.table_locks.push(TableLock { table: name.into(), mode });
        }
    }

    /// The statement inserts rows into a table, and looks for their parents.
    pub(crate) fn lock_inserted(&mut self, table: &Table) {
        self.lock_table(&table.name, TableMode::RowExclusive);
        table.foreign_keys.iter().for_each(|key| self.lock_table(&key.parent, TableMode::RowShare));
    }

    /// The statement changes these columns of rows, and looks after the foreign keys that start or end there; without columns the rows go, and
    /// only their children are looked for.
    pub(crate) fn lock_changed(&mut self, table: &Table, columns: Option<&[usize]>) {
        let catalog = self.catalog;
        let found = |lock: &&mut TableLock| *lock.table == *table.name && lock.mode == TableMode::AccessShare;
        match self.table_locks.iter_mut().find(found) {
            Some(lock) => lock.mode = TableMode::RowExclusive,
            None => self.lock_table(&table.name, TableMode::RowExclusive),
        }
        let changes = |key: &[usize]| columns.is_none_or(|columns| columns.iter().any(|column| key.contains(column)));
        for key in table.foreign_keys.iter().filter(|key| columns.is_some() && changes(&key.columns)) {
            self.lock_table(&key.parent, TableMode::RowShare);
        }
        for (child, key) in catalog.references_to(&table.name).filter(|(_, key)| changes(&key.parent_columns)) {
            let refuses = [key.on_delete, key.on_update].iter().all(|action| *action == ReferentialAction::Refuse);
            self.lock_table(&child.name, if refuses { TableMode::RowShare } else { TableMode::RowExclusive });
        }
    }

    /// The tables that it locks.
    pub(crate) fn take_table_locks(&mut self) -> Vec<TableLock> {
        std::mem::take(&mut self.table_locks)
    }

    /// The types of the parameters, and what was worth a warning. What is still unknown is text.
    pub(crate) fn finish(self) -> (Vec<SqlType>, Vec<String>) {
        let known = |sql_type| if sql_type == SqlType::Unknown { SqlType::TEXT } else { sql_type };
        (self.parameters.into_iter().map(known).collect(), self.warnings)
    }

    /// The name an identifier means.
    pub(crate) fn name(&self, ident: &Ident) -> String {
        identifier(ident, self.dialect)
    }

    fn is_same(&self, left: &str, right: &str) -> bool {
        is_same(left, right, self.dialect)
    }

    fn next_subquery(&mut self) -> usize {
        self.subqueries += 1;
        self.subqueries
    }

    /// An expression as a value of another type, as operators and functions want their arguments.
    pub(crate) fn coerce(&mut self, expression: Expression, to: &SqlType) -> Result<Expression, SqlError> {
        self.convert(expression, to, CastKind::Implicit)
    }

    /// An expression as a value of a column.
    pub(crate) fn assign(
        &mut self,
        expression: Expression,
        to: &SqlType,
        column: &str,
    ) -> Result<Expression, SqlError> {
        let from = expression.sql_type.clone();
        if from != SqlType::Unknown && from != *to && !can_coerce(&from, to, CastKind::Assignment, self.dialect) {
            let message = format!("column \"{column}\" is of type {to} but expression is of type {from}");
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message)
                .with_hint("You will need to rewrite or cast the expression."));
        }
        self.convert(expression, to, CastKind::Assignment)
    }

    /// An expression as a value of another type.
    pub(crate) fn convert(
        &mut self,
        expression: Expression,
        to: &SqlType,
        kind: CastKind,
    ) -> Result<Expression, SqlError> {
        if expression.sql_type == *to || *to == SqlType::Unknown {
            return Ok(expression);
        }
        if let Some(function) = registered_cast(&expression.sql_type, to) {
            let called = self.catalog_call(function, vec![expression])?;
            return self.convert(called, to, kind);
        }
        match (&expression.node, &expression.sql_type) {
            (Node::Parameter(index), SqlType::Unknown) => return Ok(self.type_parameter(*index, to, kind)),
            (Node::Constant(Datum::Null), _) => return Ok(Expression::constant(Datum::Null, to.clone())),
            (Node::Constant(Datum::Text(text)), SqlType::Unknown) => return self.literal_of(text, to, kind),
            // The type of a cast is its target: relabelled, `1.239::numeric(5,2) * 2` would forget to round.
            (node, from) if is_relabelled(from, to) && !matches!(node, Node::Cast(_)) => {
                return Ok(Expression { sql_type: to.clone(), ..expression });
            }
            (_, SqlType::Enumeration(_)) if self.dialect == Dialect::MySql && *to == SqlType::TEXT => {
                return Ok(Expression { sql_type: SqlType::TEXT, ..expression });
            }
            _ => {}
        }
        if !can_coerce(&expression.sql_type, to, kind, self.dialect) {
            let message = format!("cannot cast type {} to {to}", expression.sql_type);
            return Err(SqlError::new(SqlState::CANNOT_COERCE, message));
        }
        Ok(Expression { node: Node::Cast(Box::new(Cast { operand: expression, kind })), sql_type: to.clone() })
    }

    /// A quoted literal of a type: read now, except that lengths are checked by a cast, as for any other value. A CAST that is
    /// written forgives in MySQL, whatever the text comes from.
    fn literal_of(&mut self, text: &str, to: &SqlType, kind: CastKind) -> Result<Expression, SqlError> {
        if self.dialect == Dialect::MySql && kind == CastKind::Explicit {
            let value = cast(&Datum::text(text), &SqlType::TEXT, to, kind, self.dialect)?;
            return Ok(Expression::constant(value, to.clone()));
        }
        let (read_as, bounded) = match to {
            SqlType::Text(Some(_)) | SqlType::Character(_) => (SqlType::TEXT, true),
            SqlType::Name | SqlType::Letter => (to.clone(), false),
            SqlType::Enumeration(id) => {
                self.check_label(text, *id)?;
                (SqlType::TEXT, true)
            }
            SqlType::Decimal(Some(_)) => (SqlType::NUMERIC, true),
            SqlType::Time(Some(_)) => (SqlType::TIME, true),
            SqlType::Timestamp(Some(_)) => (SqlType::TIMESTAMP, true),
            SqlType::TimestampZoned(Some(_)) => (SqlType::TIMESTAMPTZ, true),
            other => (other.clone(), false),
        };
        let value = input(text, &read_as, Style { dialect: self.dialect, zone: self.zone })?;
        if let (Datum::Array(elements), SqlType::Array(element)) = (&value, &read_as)
            && let SqlType::Enumeration(id) = **element
        {
            for element in elements.iter() {
                if let Datum::Text(label) = element {
                    self.check_label(label, id)?;
                }
            }
        }
        let constant = Expression::constant(value, read_as);
        match bounded {
            false => Ok(constant),
            true => {
                Ok(Expression { node: Node::Cast(Box::new(Cast { operand: constant, kind })), sql_type: to.clone() })
            }
        }
    }

    /// A parameter gets its type from the first place that asks for one.
    fn type_parameter(&mut self, index: usize, to: &SqlType, kind: CastKind) -> Expression {
        let known = &mut self.parameters[index];
        if *known == SqlType::Unknown {
            *known = without_length(to);
        }
        let parameter = Expression { node: Node::Parameter(index), sql_type: known.clone() };
        // The label of an enumeration is looked at when it comes.
        let checked = matches!(to, SqlType::Enumeration(_));
        if !checked && parameter.sql_type == *to || is_relabelled(&parameter.sql_type, to) {
            return Expression { sql_type: to.clone(), ..parameter };
        }
        Expression { node: Node::Cast(Box::new(Cast { operand: parameter, kind })), sql_type: to.clone() }
    }

    /// A condition: true, false or NULL. MySQL takes numbers for conditions, and zero is false.
    pub(crate) fn condition(&mut self, expression: Expression, clause: &str) -> Result<Expression, SqlError> {
        match (&expression.sql_type, self.dialect) {
            (SqlType::Unknown, Dialect::MySql) if matches!(expression.node, Node::Constant(Datum::Text(_))) => {
                let text = Expression { sql_type: SqlType::TEXT, ..expression };
                self.condition(text, clause)
            }
            (SqlType::Boolean | SqlType::Unknown, _) => self.coerce(expression, &SqlType::Boolean),
            (_, Dialect::MySql) => {
                let zero = Expression::constant(Datum::Integer(0), SqlType::INTEGER);
                self.operator("<>", vec![expression, zero])
            }
            (other, Dialect::Postgres) => {
                let message = format!("argument of {clause} must be type boolean, not type {other}");
                Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message))
            }
        }
    }

    /// An expression whose type is known: what nothing told is text.
    pub(crate) fn settled(&mut self, expression: Expression) -> Result<Expression, SqlError> {
        match expression.sql_type {
            SqlType::Unknown => self.coerce(expression, &SqlType::TEXT),
            _ => Ok(expression),
        }
    }
}

/// Between text and `regclass` and its kin stands the catalog.
fn registered_cast(from: &SqlType, to: &SqlType) -> Option<CatalogFunction> {
    match (from, to) {
        (from, SqlType::Registered(registry)) if from.is_text() || *from == SqlType::Unknown => {
            Some(registered::reader(*registry))
        }
        (SqlType::Registered(registry), to) if to.is_text() => Some(registered::writer(*registry)),
        _ => None,
    }
}

/// Whether all values of a type are values of the other as they are, so that no cast is needed and the planner still sees the column.
fn is_relabelled(from: &SqlType, to: &SqlType) -> bool {
    match (from, to) {
        (SqlType::Name | SqlType::Letter, SqlType::Text(None)) => true,
        (SqlType::Registered(_), SqlType::ObjectId) | (SqlType::ObjectId, SqlType::Registered(_)) => true,
        (SqlType::Vector(from), SqlType::Array(to)) => from == to,
        (SqlType::Text(_), SqlType::Text(None)) | (SqlType::Decimal(_), SqlType::Decimal(None)) => true,
        (SqlType::Timestamp(_), SqlType::Timestamp(None))
        | (SqlType::TimestampZoned(_), SqlType::TimestampZoned(None))
        | (SqlType::Time(_), SqlType::Time(None)) => true,
        (
            SqlType::Integer { width: from, unsigned: from_unsigned },
            SqlType::Integer { width: to, unsigned: to_unsigned },
        ) => from <= to && (from_unsigned == to_unsigned || (*from_unsigned && from < to)),
        _ => false,
    }
}

/// Parameters have no length: a client is told `text`, and the column checks.
fn without_length(sql_type: &SqlType) -> SqlType {
    match sql_type {
        SqlType::Text(_) => SqlType::TEXT,
        SqlType::Decimal(_) => SqlType::NUMERIC,
        other => other.clone(),
    }
}
