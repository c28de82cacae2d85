//! What definitions do to rows: they are looked at, given entries, or written anew.
//!
//! A table that is written anew moves: rows and entries get new spaces, so that keys of another shape never meet the old ones, and nothing
//! has to be deleted.
//!
//! ```text
//!   ALTER TABLE item ADD PRIMARY KEY (id)     item: space 3 → space 9     3/1 [7, 'bolt'] ──> 9/7 [7, 'bolt']
//! ```
//!
//! Rows are found by a scan and then read again with a lock, each, so that what is written anew is the latest.

use super::Definition;
use crate::answer::ResultColumn;
use crate::bind::Binder;
use crate::catalog::{Catalog, ColumnDefault, Table};
use crate::change::{self, Writer};
use crate::constraint::{Rules, bind_over_row};
use crate::execute::Execution;
use crate::stop::Stop;
use crate::storage::{Columns, KeyRange, Lock, Row, RowKey, Write, all_rows};
use crate::tree::expression::{Expression, Node};
use crate::tree::visit;
use skew_value::{CastKind, Datum, Dialect, SqlError, SqlState, SqlType, Style, can_coerce, cast};
use sqlparser::ast::Query;
use sqlparser::dialect::{MySqlDialect, PostgreSqlDialect};
use sqlparser::tokenizer::{Token, Tokenizer};
use std::sync::Arc;

impl Definition<'_> {
    /// What expressions are evaluated in, with the catalog as it is so far.
    fn execution(&mut self) -> Execution<'_> {
        Execution::of_definition(Arc::new(self.catalog.clone()), self.style(), self.storage, change::carry_out)
    }

    /// How the rows that are there are read and changed.
    pub(super) fn style(&self) -> Style {
        Style { dialect: self.dialect, zone: self.zone }
    }

    /// Binds an expression over a table's row.
    pub(super) fn formula(&self, table: &Table, text: &str, wanted: Option<&SqlType>) -> Result<Expression, SqlError> {
        bind_over_row(text, &Arc::new(table.clone()), &self.catalog, self.dialect, wanted)
    }

    /// The value of a bound expression over a row.
    pub(super) fn evaluate(&mut self, formula: &Expression, row: &[Datum]) -> Result<Datum, Stop> {
        self.execution().evaluate_over(formula, row)
    }

    /// Refuses a condition that cannot be bound over a table's row.
    pub(super) fn check_condition(&self, table: &Table, text: &str) -> Result<(), SqlError> {
        refuse_subquery(&mut self.formula(table, text, Some(&SqlType::Boolean))?, "a condition of a table")
    }

    /// Refuses an expression that cannot be bound over a table's row.
    pub(super) fn check_expression(&self, table: &Table, text: &str) -> Result<(), SqlError> {
        let mut formula = self.formula(table, text, None)?;
        refuse_subquery(&mut formula, "an index")?;
        if is_volatile(&mut formula) || self.depends_on_zone(&mut formula) {
            let message = "functions in index expression must be marked IMMUTABLE";
            return Err(SqlError::new(SqlState("42P17"), message));
        }
        Ok(())
    }

    /// Refuses a condition of an index that a row may meet in one time zone and not in another.
    pub(super) fn check_predicate(&self, table: &Table, text: &str) -> Result<(), SqlError> {
        self.check_condition(table, text)?;
        if self.depends_on_zone(&mut self.formula(table, text, Some(&SqlType::Boolean))?) {
            let message = "functions in index predicate must be marked IMMUTABLE";
            return Err(SqlError::new(SqlState("42P17"), message));
        }
        Ok(())
    }

    /// Refuses a default that is no value of its column.
    pub(super) fn check_default(&self, table: &Table, place: usize, text: &str) -> Result<(), SqlError> {
        let sql_type = &table.columns[place].sql_type;
        crate::bind::expression_over_table(text, None, &self.catalog, self.dialect, Some(sql_type)).map(|_| ())
    }

    /// Refuses a generated column that depends on another one, or on itself.
    pub(super) fn check_generated(&self, table: &Table, place: usize, text: &str) -> Result<(), SqlError> {
        let mut formula = self.formula(table, text, Some(&table.columns[place].sql_type))?;
        refuse_subquery(&mut formula, "a generated column")?;
        if self.depends_on_zone(&mut formula) {
            let message = "generation expression is not immutable";
            return Err(SqlError::new(SqlState("42P17"), message));
        }
        for word in identifiers(text, self.dialect) {
            if let Some((_, column)) = table.find_column(&word, self.dialect)
                && matches!(column.default, Some(ColumnDefault::Generated(_)))
            {
                let message = format!("cannot use generated column \"{word}\" in column generation expression");
                return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
            }
        }
        Ok(())
    }

    /// The value of a default that is the same for every row; none if it is not.
    pub(super) fn constant_default(&mut self, table: &Table, place: usize, text: &str) -> Result<Option<Datum>, Stop> {
        let sql_type = &table.columns[place].sql_type;
        let mut bound = crate::bind::expression_over_table(text, None, &self.catalog, self.dialect, Some(sql_type))?;
        if is_volatile(&mut bound) {
            return Ok(None);
        }
        self.execution().evaluate_over(&bound, &[]).map(Some)
    }

    /// The rows of a table, complete, each locked.
    pub(super) fn rows(&mut self, table: &Table) -> Result<Vec<(RowKey, Row)>, Stop> {
        let range = KeyRange::of_prefix(table.space, Vec::new());
        let mut rows = Vec::new();
        for (key, _) in all_rows(self.storage, &range)? {
            if let Some(row) = self.storage.get(&key, &Columns::All, Lock::Update)? {
                rows.push((key, table.complete(&row)));
            }
        }
        Ok(rows)
    }

    /// Gives every row its entries in the indexes from a place on.
    pub(super) fn fill_indexes(&mut self, table: &Table, first: usize) -> Result<(), Stop> {
        if first >= table.indexes.len() {
            return Ok(());
        }
        let rows = self.rows(table)?;
        let rules = Rules::bind(&Arc::new(table.clone()), &self.catalog, self.dialect)?;
        let catalog = Arc::new(self.catalog.clone());
        let mut execution = self.execution();
        let mut writer = Writer::new(&mut execution, catalog);
        for (key, row) in rows {
            for place in first..table.indexes.len() {
                writer.put_entry(&rules, place, &key, &row)?;
            }
        }
        Ok(())
    }

    /// A foreign key points to the primary key of a table: from now on its rows have entries.
    pub(super) fn give_key_entries(&mut self, parent: &str, table: &mut Table) -> Result<(), Stop> {
        if parent == table.name {
            if table.key_entries.is_none() {
                table.key_entries = Some(self.fresh_space());
                self.fill_key_entries(&table.clone())?;
            }
            return Ok(());
        }
        let mut parent = self.catalog.expect_table(parent)?.as_ref().clone();
        if parent.key_entries.is_none() {
            parent.key_entries = Some(self.fresh_space());
            self.fill_key_entries(&parent)?;
            self.keep(parent);
        }
        Ok(())
    }

    fn fill_key_entries(&mut self, table: &Table) -> Result<(), Stop> {
        if !self.catalog.tables.contains_key(&table.name) {
            return Ok(());
        }
        let rows = self.rows(table)?;
        let catalog = Arc::new(self.catalog.clone());
        let mut execution = self.execution();
        let mut writer = Writer::new(&mut execution, catalog);
        rows.iter().try_for_each(|(key, _)| writer.put_key_entry(table, key))
    }

    /// Looks at every row with the constraints that a table has now and had not before.
    pub(super) fn check_rows(&mut self, before: &Table, after: &Table) -> Result<(), Stop> {
        let mut added = after.clone();
        added.checks.retain(|check| !before.checks.iter().any(|known| known.name == check.name));
        added.exclusions.retain(|rule| !before.exclusions.iter().any(|known| known.name == rule.name));
        added.foreign_keys.retain(|key| !before.foreign_keys.iter().any(|known| known.name == key.name));
        if added.checks.is_empty() && added.exclusions.is_empty() && added.foreign_keys.is_empty() {
            return Ok(());
        }
        let rows = self.rows(after)?;
        let mut catalog = self.catalog.clone();
        catalog.tables.insert(after.name.clone(), Arc::new(after.clone()));
        let rules = Rules::bind(&Arc::new(added), &catalog, self.dialect)?;
        let mut execution = self.execution();
        let mut writer = Writer::new(&mut execution, Arc::new(catalog));
        for (key, row) in rows {
            rules.check_row(&row, writer.execution).map_err(|stop| of_rows(stop, after))?;
            writer.check_standing(&rules, &key, &row)?;
        }
        writer.settle().map(|_| ())
    }

    /// Moves a table to new spaces, each row changed by a function.
    pub(super) fn rewrite(
        &mut self,
        before: &Table,
        after: &mut Table,
        change: impl Fn(&mut Self, Vec<Datum>) -> Result<Vec<Datum>, Stop>,
    ) -> Result<(), Stop> {
        let mut rows = Vec::new();
        for (_, row) in self.rows(before)? {
            let mut row = row.to_vec();
            row.resize(after.columns.len(), Datum::Null);
            rows.push(change(self, row)?);
        }
        after.space = self.fresh_space();
        after.key_entries = after.key_entries.map(|_| self.fresh_space());
        for place in 0..after.indexes.len() {
            after.indexes[place].space = self.fresh_space();
        }
        // The rows are whole, so nothing is missing in them.
        let table = Arc::new(after.clone());
        let rules = Rules::bind(&table, &self.catalog, self.dialect)?;
        let catalog = Arc::new(self.catalog.clone());
        let mut execution = self.execution();
        let mut writer = Writer::new(&mut execution, catalog);
        for mut row in rows {
            rules.generate(&mut row, writer.execution)?;
            rules.check_row(&row, writer.execution)?;
            writer.move_row(&rules, row.into())?;
        }
        Ok(())
    }

    /// Writes a new column into every row, each with its own value.
    pub(super) fn fill_column(&mut self, before: &Table, after: &mut Table, place: usize) -> Result<(), Stop> {
        let value = crate::bind::default_of(after, place, &self.catalog, self.dialect)?;
        self.rewrite(before, after, |definition, mut row| {
            row[place] = definition.evaluate(&value, &[])?;
            Ok(row)
        })
    }

    /// CREATE TABLE … AS: columns after the query's, then its rows.
    pub(super) fn fill_from_query(&mut self, mut table: Table, query: &Query) -> Result<&'static str, Stop> {
        let mut binder = Binder::new(self.dialect, &self.catalog, &[]).with_zone(self.zone);
        let bound = binder.query(query, None)?;
        if table.columns.is_empty() {
            for column in &bound.columns {
                let sql_type =
                    if column.sql_type == SqlType::Unknown { SqlType::TEXT } else { column.sql_type.clone() };
                let column = self.plain_column(column.name.clone(), sql_type);
                table.columns.push(column);
            }
        }
        let style = self.style();
        let places = places_of(&bound.columns, &table, style.dialect)?;
        let plan = crate::plan::optimise(bound.plan);
        let table = Arc::new(table);
        self.catalog.tables.insert(table.name.clone(), table.clone());
        let catalog = Arc::new(self.catalog.clone());
        let rules = Rules::bind(&table, &catalog, self.dialect)?;
        let mut execution = self.execution();
        let rows = execution.run(&plan)?;
        let mut writer = Writer::new(&mut execution, catalog);
        for values in rows {
            let mut row = vec![Datum::Null; table.columns.len()];
            for ((value, column), &place) in values.iter().zip(&bound.columns).zip(&places) {
                let wanted = &table.columns[place].sql_type;
                row[place] = cast(value, &column.sql_type, wanted, CastKind::Assignment, style)?;
            }
            rules.generate(&mut row, writer.execution)?;
            rules.check_row(&row, writer.execution)?;
            writer.insert(&rules, row.into())?;
        }
        writer.settle()?;
        Ok("SELECT")
    }
}

/// Where the columns of a query go in a table that is made from it: by their names in MySQL, by their order in PostgreSQL.
fn places_of(columns: &[ResultColumn], table: &Table, dialect: Dialect) -> Result<Vec<usize>, SqlError> {
    let place = |(number, column): (usize, &ResultColumn)| match dialect {
        Dialect::Postgres => Some(number),
        Dialect::MySql => table.find_column(&column.name, dialect).map(|(place, _)| place),
    };
    let places: Option<Vec<usize>> = columns.iter().enumerate().map(place).collect();
    let places = places.filter(|places| places.len() == table.columns.len());
    let Some(places) = places.filter(|places| (0..table.columns.len()).all(|place| places.contains(&place))) else {
        return Err(SqlError::unsupported("CREATE TABLE … AS with other columns than the query's"));
    };
    for (column, &place) in columns.iter().zip(&places) {
        let wanted = &table.columns[place].sql_type;
        if !can_coerce(&column.sql_type, wanted, CastKind::Assignment, dialect) {
            let message =
                format!("column \"{}\" is of type {wanted} but expression is of type {}", column.name, column.sql_type);
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        }
    }
    Ok(places)
}

impl Writer<'_, '_> {
    /// Puts the entry of a row that is there into an index that is new.
    fn put_entry(&mut self, rules: &Rules, place: usize, key: &RowKey, row: &Row) -> Result<(), Stop> {
        let Some((entry_key, entry)) = rules.entry(place, key, row, self.execution)? else { return Ok(()) };
        let index = &rules.table.indexes[place];
        if crate::key::stands_alone(index, &entry_key)
            && self.execution.storage().get(&entry_key, &Columns::All, Lock::Update)?.is_some()
        {
            let message = format!("could not create unique index \"{}\"", index.name);
            return Err(SqlError::new(SqlState::UNIQUE, message).of_constraint(index.name.as_str()).into());
        }
        self.execution.storage().put(&entry_key, Write::Row(entry))
    }

    /// Puts a row of a table that moves into its new space.
    fn move_row(&mut self, rules: &Rules, row: Row) -> Result<(), Stop> {
        let key = self.new_key(&rules.table, &row)?;
        let entries = rules.entries(&key, &row, self.execution)?;
        if let Some((arbiter, _)) = self.conflicts(rules, &key, &entries, (&|_| false, &|_| false))?.first() {
            return Err(self.duplicate(rules, *arbiter, &row));
        }
        self.execution.storage().put(&key, Write::Row(row))?;
        self.put_key_entry(&rules.table, &key)?;
        for (entry_key, entry) in entries.into_iter().flatten() {
            self.execution.storage().put(&entry_key, Write::Row(entry))?;
        }
        Ok(())
    }
}

/// A refusal because of a row that is there already.
fn of_rows(stop: Stop, table: &Table) -> Stop {
    match stop {
        Stop::Error(error) if error.state == SqlState::CHECK => {
            let name = error.constraint.clone().unwrap_or_default();
            let message = format!("check constraint \"{name}\" of relation \"{}\" is violated by some row", table.name);
            Stop::Error(SqlError { message, ..error })
        }
        other => other,
    }
}

/// Whether an expression may have another value for every row.
fn is_volatile(expression: &mut Expression) -> bool {
    let mut found = false;
    visit::expression(expression, 0, &mut |one, _| {
        found |= match &one.node {
            Node::Call(call) => call.routine.volatile,
            Node::Sequence(_) | Node::Subquery(_) => true,
            _ => false,
        };
    });
    found
}

/// What a row must be or is computed from is its own values, not those of others.
fn refuse_subquery(expression: &mut Expression, place: &str) -> Result<(), SqlError> {
    let mut found = false;
    visit::expression(expression, 0, &mut |one, _| found |= matches!(one.node, Node::Subquery(_)));
    if found { Err(SqlError::unsupported(format!("a subquery in {place}"))) } else { Ok(()) }
}

/// What MySQL puts into rows that are older than a NOT NULL column without default.
pub(super) fn implicit_default(sql_type: &SqlType) -> Datum {
    match sql_type {
        SqlType::Integer { .. } | SqlType::ObjectId => Datum::Integer(0),
        SqlType::Boolean => Datum::Boolean(false),
        SqlType::Single | SqlType::Double => Datum::Real(0.0),
        SqlType::Decimal(_) => Datum::Decimal(0.into()),
        SqlType::Text(_) | SqlType::Character(_) => Datum::text(""),
        SqlType::Bytes => Datum::Bytes(Arc::from([])),
        _ => Datum::Null,
    }
}

/// The columns of a query's answer.
pub(super) fn query_columns(text: &str, catalog: &Catalog, dialect: Dialect) -> Result<Vec<ResultColumn>, SqlError> {
    let query = crate::syntax::parse_query(dialect, text)?;
    Ok(Binder::new(dialect, catalog, &[]).query(&query, None)?.columns)
}

fn tokens(text: &str, dialect: Dialect) -> Vec<Token> {
    let tokens = match dialect {
        Dialect::Postgres => Tokenizer::new(&PostgreSqlDialect {}, text).tokenize(),
        Dialect::MySql => Tokenizer::new(&MySqlDialect {}, text).tokenize(),
    };
    tokens.unwrap_or_default()
}

/// The words of an expression that may be columns: not those that are called.
pub(super) fn identifiers(text: &str, dialect: Dialect) -> Vec<String> {
    let tokens = tokens(text, dialect);
    let words = tokens.iter().enumerate().filter_map(|(place, token)| match token {
        Token::Word(word) if tokens.get(place + 1) != Some(&Token::LParen) => Some(word),
        _ => None,
    });
    words
        .map(|word| match (dialect, word.quote_style) {
            (Dialect::Postgres, None) => word.value.to_lowercase(),
            _ => word.value.clone(),
        })
        .collect()
}

/// Whether an expression names a column.
pub(super) fn mentions(text: &str, column: &str, dialect: Dialect) -> bool {
    identifiers(text, dialect).iter().any(|word| crate::catalog::name::is_same(word, column, dialect))
}

/// The text of an expression in which a column has another name.
pub(super) fn rename_identifier(text: &str, old: &str, new: &str, dialect: Dialect) -> String {
    let tokens = tokens(text, dialect);
    let quoted = match dialect {
        Dialect::Postgres => format!("\"{}\"", new.replace('"', "\"\"")),
        Dialect::MySql => format!("`{}`", new.replace('`', "``")),
    };
    let renamed = |place: usize, token: &Token| match token {
        Token::Word(word) if tokens.get(place + 1) != Some(&Token::LParen) => {
            let name = match (dialect, word.quote_style) {
                (Dialect::Postgres, None) => word.value.to_lowercase(),
                _ => word.value.clone(),
            };
            if crate::catalog::name::is_same(&name, old, dialect) { quoted.clone() } else { token.to_string() }
        }
        token => token.to_string(),
    };
    tokens.iter().enumerate().map(|(place, token)| renamed(place, token)).collect()
}
