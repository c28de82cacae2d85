//! Scopes: which names mean which columns.
//!
//! ```text
//!   FROM a JOIN b USING (id)        names, in the order of `*`      qualifier   what it means
//!                                   id                              —           a.id (b.id in a RIGHT JOIN, the first not NULL in a FULL one)
//!                                   id    (not in `*`)              a           a.id
//!                                   price                           a           a.price
//!                                   id    (not in `*`)              b           b.id
//! ```
//!
//! A scope knows the scope around it, whose columns are one depth further out. A SELECT's aggregates and window functions are
//! collected in its scope while its expressions are bound.

use crate::catalog::Table;
use crate::catalog::name::is_same;
use crate::tree::expression::Expression;
use crate::tree::plan::{AggregateCall, WindowCall, row_width};
use skew_value::{Dialect, SqlError, SqlState, SqlType};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// A name that can be used in expressions.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    /// The table's name or alias.
    pub(crate) qualifier: Option<String>,
    /// The column's name.
    pub(crate) name: String,
    /// What it means, over the row of its scope.
    pub(crate) meaning: Expression,
    /// Whether it can be used without qualifier, and is in `*`: not if a USING merged it.
    pub(crate) plain: bool,
}

/// A table in FROM.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// Its name or alias.
    pub(crate) qualifier: String,
    /// The stored table, if it is one.
    pub(crate) table: Option<Arc<Table>>,
    /// Where its columns start in the row.
    pub(crate) start: usize,
}

/// Which clause is being bound: not all may hold aggregates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clause {
    /// Neither aggregates nor window functions: WHERE, ON, VALUES; the word is for messages.
    Rows(&'static str),
    /// Aggregates only: HAVING.
    Having,
    /// Both: the select list and ORDER BY.
    Output,
}

/// What can be named at a place.
#[derive(Debug)]
pub(crate) struct Scope<'outer> {
    /// The names, in the order of `*`.
    pub(crate) names: Vec<Name>,
    /// The tables.
    pub(crate) relations: Vec<Relation>,
    /// How wide the row is.
    pub(crate) width: usize,
    /// The query around.
    pub(crate) outer: Option<&'outer Scope<'outer>>,
    /// Aliases of the select list, where the dialect lets expressions use them.
    pub(crate) aliases: RefCell<Vec<(String, Expression)>>,
    /// The clause.
    pub(crate) clause: Cell<Clause>,
    /// Aggregates found so far.
    pub(crate) aggregates: RefCell<Vec<(AggregateCall, SqlType)>>,
    /// Window functions found so far.
    pub(crate) windows: RefCell<Vec<(WindowCall, SqlType)>>,
    /// WINDOW name AS (…).
    pub(crate) named_windows: RefCell<Vec<(String, sqlparser::ast::WindowSpec)>>,
}

impl<'outer> Scope<'outer> {
    /// A scope without names.
    pub(crate) fn empty(outer: Option<&'outer Scope<'outer>>) -> Scope<'outer> {
        Scope {
            names: Vec::new(),
            relations: Vec::new(),
            width: 0,
            outer,
            aliases: RefCell::default(),
            clause: Cell::new(Clause::Rows("this place")),
            aggregates: RefCell::default(),
            windows: RefCell::default(),
            named_windows: RefCell::default(),
        }
    }

    /// A scope with one table, whose row is the stored row.
    pub(crate) fn of_table(table: &Arc<Table>, alias: Option<&str>) -> Scope<'static> {
        let mut scope = Scope::empty(None);
        scope.add_table(table, alias.unwrap_or(&table.name).to_owned());
        scope
    }

    /// Another table behind those there are.
    pub(crate) fn add_table(&mut self, table: &Arc<Table>, qualifier: String) {
        let start = self.width;
        for (place, column) in table.live_columns() {
            self.names.push(Name {
                qualifier: Some(qualifier.clone()),
                name: column.name.clone(),
                meaning: Expression::column(start + place, column.sql_type.clone()),
                plain: true,
            });
        }
        self.relations.push(Relation { qualifier, table: Some(table.clone()), start });
        self.width += row_width(table);
    }

    /// Columns that are no stored table.
    pub(crate) fn add_columns<'columns>(
        &mut self,
        qualifier: &str,
        columns: impl Iterator<Item = (&'columns str, &'columns SqlType)>,
    ) {
        let start = self.width;
        for (name, sql_type) in columns {
            self.names.push(Name {
                qualifier: Some(qualifier.to_owned()),
                name: name.to_owned(),
                meaning: Expression::column(self.width, sql_type.clone()),
                plain: true,
            });
            self.width += 1;
        }
        self.relations.push(Relation { qualifier: qualifier.to_owned(), table: None, start });
    }

    /// The meaning of a name in this scope alone.
    pub(crate) fn find(
        &self,
        qualifier: Option<&str>,
        name: &str,
        dialect: Dialect,
    ) -> Result<Option<&Expression>, SqlError> {
        let mut found = self.names.iter().filter(|candidate| {
            is_same(&candidate.name, name, dialect)
                && match (qualifier, &candidate.qualifier) {
                    (None, _) => candidate.plain,
                    (Some(wanted), Some(has)) => is_same(has, wanted, dialect),
                    (Some(_), None) => false,
                }
        });
        let first = found.next();
        if found.next().is_some() {
            let message = format!("column reference \"{name}\" is ambiguous");
            return Err(SqlError::new(SqlState::AMBIGUOUS_COLUMN, message));
        }
        Ok(first.map(|name| &name.meaning))
    }

    /// Whether there is a table of this name.
    pub(crate) fn has_relation(&self, qualifier: &str, dialect: Dialect) -> bool {
        self.relations.iter().any(|relation| is_same(&relation.qualifier, qualifier, dialect))
    }

    /// An alias of the select list.
    pub(crate) fn alias(&self, name: &str, dialect: Dialect) -> Option<Expression> {
        self.aliases
            .borrow()
            .iter()
            .find(|(alias, _)| is_same(alias, name, dialect))
            .map(|(_, meaning)| meaning.clone())
    }
}
