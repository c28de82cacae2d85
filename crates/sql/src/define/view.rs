//! Views: a name for the text of a query.
//!
//! A `*` is written out when the view is created, so that a column that is added to a table later does not come in.
//!
//! Nothing records what a view needs. Instead every definition is followed by a look at all views: one that could be bound before and
//! cannot be bound any more refuses the definition, as a database that knows its dependencies would.

use super::Definition;
use crate::answer::ResultColumn;
use crate::bind::{Binder, UNNAMED, Wildcards};
use crate::catalog::name::identifier;
use crate::catalog::name::is_same;
use crate::catalog::{Catalog, View};
use skew_value::{Dialect, SqlError, SqlState};
use sqlparser::ast::{CreateView, Expr, Ident, SelectItem, SetExpr};
use std::sync::Arc;

impl Definition<'_> {
    pub(super) fn create_view(&mut self, create: &CreateView) -> Result<&'static str, SqlError> {
        if create.materialized {
            return Err(SqlError::unsupported("CREATE MATERIALIZED VIEW"));
        }
        let name = self.catalog.resolve(&create.name, self.dialect)?;
        let replaces = create.or_replace && self.catalog.views.contains_key(&name);
        if create.if_not_exists && self.has_relation(&name) {
            return Ok("CREATE VIEW");
        }
        if !replaces {
            self.refuse_duplicate(&name)?;
        }
        let columns: Vec<String> = create.columns.iter().map(|column| identifier(&column.name, self.dialect)).collect();
        let mut binder = Binder::new(self.dialect, &self.catalog, &[]);
        binder.wildcards = Some(Wildcards::new());
        let found = binder.query(&create.query, None)?.columns;
        let mut query = create.query.clone();
        write_out(&mut query.body, &binder.wildcards.unwrap_or_default(), self.dialect);
        if columns.len() > found.len() {
            let message = "CREATE VIEW specifies more column names than columns";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        let further = found.iter().skip(columns.len()).map(|column| &column.name);
        refuse_same_names(columns.iter().chain(further), self.dialect)?;
        let view = View { name: name.clone(), query: query.to_string().into(), columns, shape: None };
        self.catalog.views.insert(name, Arc::new(view));
        Ok("CREATE VIEW")
    }

    /// Views that worked before must work now; with CASCADE those that do not go. Those that stay learn their columns.
    pub(super) fn check_views(&mut self, before: &Catalog, cascade: bool) -> Result<(), SqlError> {
        loop {
            let shapes: Vec<Shape> = self.catalog.views.values().map(|view| self.shape_of(view)).collect();
            let views = self.catalog.views.values().zip(&shapes);
            let broken = views.filter(|(view, shape)| shape.is_none() && worked(view, before)).map(|(view, _)| view);
            let Some(broken) = broken.map(|view| view.name.clone()).next() else {
                self.keep_shapes(shapes);
                return Ok(());
            };
            if !cascade {
                let message = format!("cannot change what view \"{broken}\" depends on");
                return Err(SqlError::new(SqlState::DEPENDENT_OBJECTS, message)
                    .with_hint("drop the view first, and create it again afterwards"));
            }
            self.catalog.views.remove(&broken);
        }
    }

    /// The columns of a view as the catalog stands.
    fn shape_of(&self, view: &View) -> Shape {
        let mut columns = super::rewrite::query_columns(&view.query, &self.catalog, self.dialect).ok()?;
        for (column, name) in columns.iter_mut().zip(&view.columns) {
            column.name.clone_from(name);
        }
        Some(columns)
    }

    fn keep_shapes(&mut self, shapes: Vec<Shape>) {
        for (view, shape) in self.catalog.views.values_mut().zip(shapes) {
            if view.shape != shape {
                Arc::make_mut(view).shape = shape;
            }
        }
    }
}

/// The columns of a view, if it can be bound.
type Shape = Option<Vec<ResultColumn>>;

/// Whether a view was there before and could be bound.
fn worked(view: &View, before: &Catalog) -> bool {
    before.views.get(&view.name).is_some_and(|old| old.query == view.query && old.shape.is_some())
}

/// Writes the columns of every `*` in the select lists that make the query's columns.
fn write_out(body: &mut SetExpr, wildcards: &Wildcards, dialect: Dialect) {
    match body {
        SetExpr::Select(select) => {
            let items = std::mem::take(&mut select.projection);
            select.projection = items.into_iter().flat_map(|item| written_out(item, wildcards, dialect)).collect();
        }
        SetExpr::Query(query) => write_out(&mut query.body, wildcards, dialect),
        SetExpr::SetOperation { left, right, .. } => {
            write_out(left, wildcards, dialect);
            write_out(right, wildcards, dialect);
        }
        _ => {}
    }
}

fn written_out(item: SelectItem, wildcards: &Wildcards, dialect: Dialect) -> Vec<SelectItem> {
    let (SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)) = &item else { return vec![item] };
    let start = options.wildcard_token.0.span.start;
    let Some(names) = wildcards.get(&(start.line, start.column)) else { return vec![item] };
    let quote = if dialect == Dialect::MySql { '`' } else { '"' };
    let quoted = |name: &String| Ident::with_quote(quote, name.as_str());
    let expression = |(qualifier, name): &(Option<String>, String)| match qualifier {
        // What has no name of its own cannot be named.
        Some(qualifier) if !qualifier.starts_with(UNNAMED) => {
            Expr::CompoundIdentifier(vec![quoted(qualifier), quoted(name)])
        }
        _ => Expr::Identifier(quoted(name)),
    };
    names.iter().map(|name| SelectItem::UnnamedExpr(expression(name))).collect()
}

fn refuse_same_names<'names>(names: impl Iterator<Item = &'names String>, dialect: Dialect) -> Result<(), SqlError> {
    let mut seen: Vec<&String> = Vec::new();
    for name in names {
        if seen.iter().any(|known| is_same(known, name, dialect)) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        seen.push(name);
    }
    Ok(())
}
