//! Constraints of a table, and the names they get when the statement gives none.
//!
//! ```text
//!              PostgreSQL               MySQL
//!   PRIMARY    item_pkey                PRIMARY
//!   UNIQUE     item_name_key            name, name_2, …
//!   CHECK      item_price_check         item_chk_1
//!   FOREIGN    item_shop_fkey           item_ibfk_1     and an index on the columns, if there is none
//!   EXCLUDE    item_room_span_excl      (none)
//! ```
//!
//! Clients match on these names in errors, so they are made exactly as the databases make them.

use super::Definition;
use crate::catalog::name::{identifier, is_same};
use crate::catalog::{Check, Exclusion, ForeignKey, Index, IndexColumn, PrimaryKey, ReferentialAction, Table};
use crate::stop::Stop;
use skew_value::{Dialect, SqlError, SqlState};
use sqlparser::ast::{
    self, CheckConstraint, ConstraintCharacteristics, ConstraintReferenceMatchKind, DeferrableInitial,
    ExcludeConstraint, ExcludeConstraintOperator, Expr, ForeignKeyConstraint, Ident, NullsDistinctOption,
    TableConstraint,
};
use std::sync::Arc;

impl Definition<'_> {
    /// Adds a constraint to a table; its rows are not looked at.
    pub(super) fn add_constraint(&mut self, table: &mut Table, constraint: &TableConstraint) -> Result<(), Stop> {
        if let TableConstraint::ForeignKey(key) = constraint {
            return self.add_foreign_key(table, key);
        }
        Ok(self.add_own_constraint(table, constraint)?)
    }

    /// The same for one that looks at no other table.
    fn add_own_constraint(&mut self, table: &mut Table, constraint: &TableConstraint) -> Result<(), SqlError> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                refuse_deferred(key.characteristics.as_ref(), "PRIMARY KEY")?;
                self.add_primary_key(table, key.name.as_ref(), &key.columns)
            }
            TableConstraint::Unique(unique) => {
                refuse_deferred(unique.characteristics.as_ref(), "UNIQUE")?;
                let name = unique.name.as_ref().or(unique.index_name.as_ref());
                let together = unique.nulls_distinct == NullsDistinctOption::NotDistinct;
                self.add_unique(table, name, &unique.columns, together)
            }
            TableConstraint::ForeignKey(_) => Ok(()),
            TableConstraint::Check(check) => self.add_check(table, check),
            TableConstraint::Index(index) => {
                let columns = self.index_columns(table, &index.columns)?;
                let name = match &index.name {
                    Some(name) => identifier(name, self.dialect),
                    None => self.index_name(table, &columns, "idx"),
                };
                self.add_index(table, name, columns, false)
            }
            TableConstraint::Exclude(exclude) => self.add_exclusion(table, exclude),
            TableConstraint::FulltextOrSpatial(_) => Err(SqlError::unsupported("a FULLTEXT or SPATIAL index")),
            TableConstraint::PrimaryKeyUsingIndex(_) | TableConstraint::UniqueUsingIndex(_) => {
                Err(SqlError::unsupported("a constraint USING INDEX"))
            }
        }
    }

    fn add_primary_key(
        &mut self,
        table: &mut Table,
        name: Option<&Ident>,
        columns: &[ast::IndexColumn],
    ) -> Result<(), SqlError> {
        if table.primary_key.is_some() {
            let message = format!("multiple primary keys for table \"{}\" are not allowed", table.name);
            return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        let columns = self.plain_columns(table, columns)?;
        for &column in &columns {
            table.columns[column].nullable = false;
        }
        let name = match (self.dialect, name) {
            (Dialect::MySql, _) => "PRIMARY".to_owned(),
            (Dialect::Postgres, Some(name)) => identifier(name, self.dialect),
            (Dialect::Postgres, None) => self.free_name(table, &format!("{}_pkey", base_name(&table.name))),
        };
        table.primary_key = Some(PrimaryKey { name, columns });
        Ok(())
    }

    fn add_unique(
        &mut self,
        table: &mut Table,
        name: Option<&Ident>,
        columns: &[ast::IndexColumn],
        nulls_not_distinct: bool,
    ) -> Result<(), SqlError> {
        let columns = match self.dialect {
            Dialect::Postgres => self.plain_columns(table, columns)?.into_iter().map(IndexColumn::Column).collect(),
            Dialect::MySql => self.index_columns(table, columns)?,
        };
        let name = match name {
            Some(name) => identifier(name, self.dialect),
            None => self.index_name(table, &columns, "key"),
        };
        self.add_index(table, name, columns, true)?;
        if let Some(index) = table.indexes.last_mut() {
            index.constraint = true;
            index.nulls_not_distinct = nulls_not_distinct;
        }
        Ok(())
    }

    /// Adds an index without predicate.
    pub(super) fn add_index(
        &mut self,
        table: &mut Table,
        name: String,
        columns: Vec<IndexColumn>,
        unique: bool,
    ) -> Result<(), SqlError> {
        let taken = match self.dialect {
            Dialect::Postgres => self.has_relation(&name) || has_constraint(table, &name, self.dialect),
            Dialect::MySql => table.indexes.iter().any(|index| is_same(&index.name, &name, self.dialect)),
        };
        if taken {
            return Err(SqlError::new(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists")));
        }
        let space = self.fresh_space();
        table.indexes.push(Index {
            name,
            space,
            columns,
            unique,
            nulls_not_distinct: false,
            constraint: false,
            predicate: None,
        });
        Ok(())
    }

    pub(super) fn add_check(&mut self, table: &mut Table, check: &CheckConstraint) -> Result<(), SqlError> {
        if check.enforced == Some(false) {
            return Ok(());
        }
        let name = match (&check.name, self.dialect) {
            (Some(name), _) => identifier(name, self.dialect),
            (None, Dialect::Postgres) => {
                let column = self.only_column(table, &check.expr).map(|name| format!("_{name}")).unwrap_or_default();
                self.free_name(table, &format!("{}{column}_check", base_name(&table.name)))
            }
            (None, Dialect::MySql) => numbered(&format!("{}_chk", base_name(&table.name)), &table.checks, |c| &c.name),
        };
        self.refuse_duplicate_constraint(table, &name)?;
        let condition: Arc<str> = check.expr.to_string().into();
        self.check_condition(table, &condition)?;
        table.checks.push(Check { name, condition });
        Ok(())
    }

    pub(super) fn refuse_duplicate_constraint(&self, table: &Table, name: &str) -> Result<(), SqlError> {
        if has_constraint(table, name, self.dialect) {
            let message = format!("constraint \"{name}\" for relation \"{}\" already exists", table.name);
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message));
        }
        Ok(())
    }

    fn add_foreign_key(&mut self, table: &mut Table, key: &ForeignKeyConstraint) -> Result<(), Stop> {
        if key.match_kind == Some(ConstraintReferenceMatchKind::Full) && key.columns.len() > 1 {
            return Err(SqlError::unsupported("MATCH FULL").into());
        }
        let parent_name = self.catalog.resolve(&key.foreign_table, self.dialect)?;
        let columns = self.named_columns(table, &key.columns)?;
        let parent = match parent_name == table.name {
            true => table.clone(),
            false => self.catalog.expect_table(&parent_name)?.as_ref().clone(),
        };
        let parent_columns = self.parent_columns(&parent, &key.referred_columns)?;
        if columns.len() != parent_columns.len() {
            let message = "number of referencing and referenced columns for foreign key disagree";
            return Err(SqlError::new(SqlState::INVALID_FOREIGN_KEY, message).into());
        }
        let name = self.foreign_key_name(table, key, &columns);
        self.refuse_duplicate_constraint(table, &name)?;
        if self.dialect == Dialect::MySql {
            self.index_foreign_key(table, &name, &columns)?;
        }
        let is_key = parent.primary_key.as_ref().is_some_and(|primary_key| {
            let (mut key, mut referred) = (primary_key.columns.clone(), parent_columns.clone());
            key.sort_unstable();
            referred.sort_unstable();
            key == referred
        });
        if is_key {
            self.give_key_entries(&parent_name, table)?;
        }
        table.foreign_keys.push(ForeignKey {
            name,
            columns,
            parent: parent_name,
            parent_columns,
            on_delete: action(key.on_delete.as_ref()),
            on_update: action(key.on_update.as_ref()),
            deferred: is_deferred(key.characteristics.as_ref()),
        });
        Ok(())
    }

    fn foreign_key_name(&self, table: &Table, key: &ForeignKeyConstraint, columns: &[usize]) -> String {
        let base = base_name(&table.name);
        match (&key.name, self.dialect) {
            (Some(name), _) => identifier(name, self.dialect),
            (None, Dialect::Postgres) => {
                self.free_name(table, &format!("{base}_{}_fkey", column_names(table, columns).join("_")))
            }
            (None, Dialect::MySql) => numbered(&format!("{base}_ibfk"), &table.foreign_keys, |key| &key.name),
        }
    }

    /// MySQL looks children up through an index, and makes one if there is none.
    fn index_foreign_key(&mut self, table: &mut Table, name: &str, columns: &[usize]) -> Result<(), SqlError> {
        let is_start = |key: &[usize]| key.starts_with(columns);
        let plain: Vec<Vec<usize>> = table.indexes.iter().map(Index::plain_columns).collect();
        let covered = table.primary_key.as_ref().is_some_and(|key| is_start(&key.columns))
            || plain.iter().any(|index| is_start(index));
        if covered {
            return Ok(());
        }
        self.add_index(
            table,
            name.to_owned(),
            columns.iter().map(|&column| IndexColumn::Column(column)).collect(),
            false,
        )
    }

    fn parent_columns(&self, parent: &Table, named: &[Ident]) -> Result<Vec<usize>, SqlError> {
        if named.is_empty() {
            return parent.primary_key.as_ref().map(|key| key.columns.clone()).ok_or_else(|| {
                let message = format!("there is no primary key for referenced table \"{}\"", parent.name);
                SqlError::new(SqlState::UNDEFINED_OBJECT, message)
            });
        }
        let columns = self.named_columns(parent, named)?;
        let is_key = |key: &[usize]| key.len() == columns.len() && columns.iter().all(|column| key.contains(column));
        let unique = parent.primary_key.as_ref().is_some_and(|key| is_key(&key.columns))
            || parent.indexes.iter().any(|index| index.is_plain_unique() && is_key(&index.plain_columns()));
        match unique {
            true => Ok(columns),
            false => {
                let message = format!(
                    "there is no unique constraint matching given keys for referenced table \"{}\"",
                    parent.name
                );
                Err(SqlError::new(SqlState::INVALID_FOREIGN_KEY, message))
            }
        }
    }

    fn add_exclusion(&mut self, table: &mut Table, exclude: &ExcludeConstraint) -> Result<(), SqlError> {
        let elements: Vec<(Arc<str>, String)> = exclude
            .elements
            .iter()
            .map(|element| {
                let operator = match &element.operator {
                    ExcludeConstraintOperator::Token(operator) => operator.clone(),
                    ExcludeConstraintOperator::PGOperator(parts) => parts.last().cloned().unwrap_or_default(),
                };
                (Arc::from(element.column.column.expr.to_string()), operator)
            })
            .collect();
        let columns: Vec<&str> = elements.iter().map(|(expression, _)| expression.as_ref()).collect();
        let name = match &exclude.name {
            Some(name) => identifier(name, self.dialect),
            None => self.free_name(table, &format!("{}_{}_excl", base_name(&table.name), columns.join("_"))),
        };
        self.refuse_duplicate_constraint(table, &name)?;
        for (expression, operator) in &elements {
            self.check_condition(table, &format!("({expression}) {operator} ({expression})"))?;
        }
        let predicate = exclude.where_clause.as_ref().map(|condition| Arc::from(condition.to_string()));
        if let Some(condition) = &predicate {
            self.check_condition(table, condition)?;
        }
        table.exclusions.push(Exclusion { name, elements, predicate });
        Ok(())
    }

    /// The places of columns that are named.
    pub(super) fn named_columns(&self, table: &Table, names: &[Ident]) -> Result<Vec<usize>, SqlError> {
        names.iter().map(|name| table.expect_column(&identifier(name, self.dialect), self.dialect)).collect()
    }

    /// The places of the columns of a key, which may not be expressions.
    fn plain_columns(&self, table: &Table, columns: &[ast::IndexColumn]) -> Result<Vec<usize>, SqlError> {
        columns
            .iter()
            .map(|column| match key_column(&column.column.expr) {
                Some(name) => table.expect_column(&identifier(name, self.dialect), self.dialect),
                None => Err(SqlError::unsupported(format!("the expression {} in a key", column.column.expr))),
            })
            .collect()
    }

    /// The columns and expressions of an index.
    pub(super) fn index_columns(
        &mut self,
        table: &Table,
        columns: &[ast::IndexColumn],
    ) -> Result<Vec<IndexColumn>, SqlError> {
        let mut found = Vec::with_capacity(columns.len());
        for column in columns {
            found.push(match key_column(&column.column.expr) {
                Some(name) => IndexColumn::Column(table.expect_column(&identifier(name, self.dialect), self.dialect)?),
                None => {
                    let text: Arc<str> = column.column.expr.to_string().into();
                    self.check_expression(table, &text)?;
                    IndexColumn::Expression(text)
                }
            });
        }
        Ok(found)
    }

    /// The name of an index that was given none: PostgreSQL's after all columns, MySQL's after the first.
    pub(super) fn index_name(&self, table: &Table, columns: &[IndexColumn], ending: &str) -> String {
        let names: Vec<&str> = columns
            .iter()
            .map(|column| match column {
                IndexColumn::Column(place) => table.columns[*place].name.as_str(),
                IndexColumn::Expression(text) => function_name(text),
            })
            .collect();
        match self.dialect {
            Dialect::Postgres => {
                self.free_name(table, &format!("{}_{}_{ending}", base_name(&table.name), names.join("_")))
            }
            Dialect::MySql => {
                let first = names.first().copied().unwrap_or("index");
                let taken = |name: &str| table.indexes.iter().any(|index| is_same(&index.name, name, self.dialect));
                let numbered = (2..).map(|number| format!("{first}_{number}"));
                std::iter::once(first.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
            }
        }
    }

    /// The name itself, or with the first number that makes it free.
    pub(super) fn free_name(&self, table: &Table, name: &str) -> String {
        let taken = |name: &str| self.has_relation(name) || has_constraint(table, name, self.dialect);
        let numbered = (1..).map(|number| format!("{name}{number}"));
        std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
    }

    /// The only column that an expression mentions, for its constraint's name.
    fn only_column(&self, table: &Table, expression: &Expr) -> Option<String> {
        let mut words: Vec<String> = super::rewrite::identifiers(&expression.to_string(), self.dialect)
            .into_iter()
            .filter(|word| table.find_column(word, self.dialect).is_some())
            .collect();
        words.sort();
        words.dedup();
        if words.len() == 1 { words.pop() } else { None }
    }
}

/// The identifier of an index column that is nothing but a column.
fn key_column(expression: &Expr) -> Option<&Ident> {
    match expression {
        Expr::Identifier(name) => Some(name),
        Expr::Nested(inner) => key_column(inner),
        // MySQL's prefix length, `name(10)`, looks like a call. The whole column is indexed instead, which finds the same rows.
        Expr::Function(function) if is_prefix_length(function) => {
            function.name.0.first().and_then(|part| part.as_ident())
        }
        _ => None,
    }
}

fn is_prefix_length(function: &ast::Function) -> bool {
    let arguments = function.args.to_string();
    let inside = arguments.trim_start_matches('(').trim_end_matches(')');
    function.name.0.len() == 1 && !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit())
}

/// PostgreSQL names an expression in an index by its function, or `expr`.
fn function_name(text: &str) -> &str {
    match text.split_once('(') {
        Some((name, _))
            if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') =>
        {
            name
        }
        _ => "expr",
    }
}

/// A name without its namespace.
pub(super) fn base_name(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, base)| base)
}

/// The names of columns at places.
pub(super) fn column_names<'table>(table: &'table Table, places: &[usize]) -> Vec<&'table str> {
    places.iter().map(|&place| table.columns[place].name.as_str()).collect()
}

fn numbered<T>(stem: &str, taken: &[T], name: impl Fn(&T) -> &String) -> String {
    let is_free = |candidate: &String| !taken.iter().any(|thing| name(thing).eq_ignore_ascii_case(candidate));
    (1..).map(|number| format!("{stem}_{number}")).find(is_free).unwrap_or_default()
}

/// Whether a table has a constraint (or index) of this name.
pub(super) fn has_constraint(table: &Table, name: &str, dialect: Dialect) -> bool {
    let same = |other: &String| is_same(other, name, dialect);
    table.primary_key.iter().map(|key| &key.name).any(same)
        || table.indexes.iter().map(|index| &index.name).any(same)
        || table.checks.iter().map(|check| &check.name).any(same)
        || table.foreign_keys.iter().map(|key| &key.name).any(same)
        || table.exclusions.iter().map(|exclusion| &exclusion.name).any(same)
}

fn action(action: Option<&ast::ReferentialAction>) -> ReferentialAction {
    match action {
        None | Some(ast::ReferentialAction::Restrict | ast::ReferentialAction::NoAction) => ReferentialAction::Refuse,
        Some(ast::ReferentialAction::Cascade) => ReferentialAction::Cascade,
        Some(ast::ReferentialAction::SetNull) => ReferentialAction::SetNull,
        Some(ast::ReferentialAction::SetDefault) => ReferentialAction::SetDefault,
    }
}

fn is_deferred(characteristics: Option<&ConstraintCharacteristics>) -> bool {
    characteristics.is_some_and(|characteristics| characteristics.initially == Some(DeferrableInitial::Deferred))
}

/// Keys are looked up row by row, so they cannot be violated for a while.
fn refuse_deferred(characteristics: Option<&ConstraintCharacteristics>, kind: &str) -> Result<(), SqlError> {
    match characteristics {
        Some(characteristics) if characteristics.deferrable == Some(true) => {
            Err(SqlError::unsupported(format!("a DEFERRABLE {kind} constraint")))
        }
        _ => Ok(()),
    }
}
