//! Views: a name for the text of a query.
//!
//! Nothing records what a view needs. Instead every definition is followed by a look at all views: one that could be bound before and
//! cannot be bound any more refuses the definition, as a database that knows its dependencies would.

use super::Definition;
use crate::catalog::name::identifier;
use crate::catalog::{Catalog, View};
use crate::error::{SqlError, SqlState};
use sqlparser::ast::CreateView;
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
        let view = View { name: name.clone(), query: create.query.to_string().into(), columns };
        let width = super::rewrite::query_columns(&view.query, &self.catalog, self.dialect)?.len();
        if view.columns.len() > width {
            let message = "CREATE VIEW specifies more column names than columns";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        self.catalog.views.insert(name, Arc::new(view));
        Ok("CREATE VIEW")
    }

    /// Views that worked before must work now; with CASCADE those that do not go.
    pub(super) fn check_views(&mut self, before: &Catalog, cascade: bool) -> Result<(), SqlError> {
        while let Some(view) = self.broken_view(before) {
            if cascade {
                self.catalog.views.remove(&view);
            } else {
                let message = format!("cannot change what view \"{view}\" depends on");
                return Err(SqlError::new(SqlState::DEPENDENT_OBJECTS, message)
                    .with_hint("drop the view first, and create it again afterwards"));
            }
        }
        Ok(())
    }

    /// A view that could be bound before the definition, and cannot be any more.
    fn broken_view(&self, before: &Catalog) -> Option<String> {
        let broken = |view: &&Arc<View>| {
            let works = |catalog: &Catalog| super::rewrite::query_columns(&view.query, catalog, self.dialect).is_ok();
            let was_there = before.views.get(&view.name).is_some_and(|old| old.query == view.query);
            was_there && works(before) && !works(&self.catalog)
        };
        self.catalog.views.values().find(broken).map(|view| view.name.clone())
    }
}
