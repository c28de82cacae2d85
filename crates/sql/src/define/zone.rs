//! What a definition may not leave to the time zone of a session.
//!
//! ```text
//!   CREATE INDEX ON visit ((at::date))            refused: the day of a moment is another one elsewhere, and entries are found no more
//!   day date DEFAULT current_date                 well: evaluated by whoever inserts
//!   at timestamptz DEFAULT '2024-01-01'           well in UTC, refused in Berlin
//! ```
//!
//! Expressions and views are kept as texts, and their literals are read in UTC whoever uses them. PostgreSQL reads them once, in the zone
//! of whoever defines; so where that is another one and makes a difference, the definition is refused.

use super::Definition;
use crate::bind::{Binder, expression_over_table};
use crate::catalog::{Catalog, ColumnDefault, IndexColumn, Table};
use crate::tree::expression::{Expression, Node};
use crate::tree::visit;
use skew_value::{Dialect, SqlError, SqlType, Zone};
use std::sync::Arc;

/// What is the same in every zone, though it takes or gives moments.
const EVERYWHERE: [&str; 14] = [
    "=",
    "<>",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "is distinct from",
    "is not distinct from",
    "timezone",
    "cardinality",
    "array_length",
    "array_position",
    "isfinite",
];
/// What depends on the zone, though it takes and gives no moments.
const HERE: [&str; 4] = ["current_date", "current_time", "localtime", "localtimestamp"];

impl Definition<'_> {
    /// Whether an expression may have another value in another zone.
    pub(super) fn depends_on_zone(&self, expression: &mut Expression) -> bool {
        let mut found = false;
        visit::expression(expression, 0, &mut |one, _| {
            found |= match &one.node {
                Node::Cast(cast) => has_moment(&cast.operand.sql_type) != has_moment(&one.sql_type),
                Node::Call(call) => {
                    let routine = &call.routine;
                    let takes = routine.parameters.iter().filter(|one| has_moment(one)).count();
                    let is_difference = routine.name == "-" && takes == 2;
                    let is_count = routine.name == "to_timestamp" && routine.parameters == [SqlType::Double];
                    let is_about_moments = takes > 0 || has_moment(&routine.result);
                    let is_same = EVERYWHERE.contains(&routine.name) || is_difference || is_count;
                    is_about_moments && !is_same || HERE.contains(&routine.name)
                }
                _ => false,
            };
        });
        found && self.dialect == Dialect::Postgres
    }

    /// Refuses what this definition adds to a catalog if it would be read otherwise in UTC.
    pub(super) fn check_zone(&self, before: &Catalog) -> Result<(), SqlError> {
        if self.zone == Zone::Utc {
            return Ok(());
        }
        for table in self.catalog.tables.values() {
            let old =
                before.tables.get(&table.name).or_else(|| before.tables.values().find(|old| old.space == table.space));
            let known = old.map(|old| texts(old)).unwrap_or_default();
            for (text, wanted) in texts(table).iter().filter(|added| !known.contains(added)) {
                self.refuse_local(text, |zone| self.bound_in(zone, text, table, wanted.as_ref()))?;
            }
        }
        for view in self.catalog.views.values() {
            if before.views.get(&view.name).is_none_or(|old| old.query != view.query) {
                let query = crate::syntax::parse_query(self.dialect, &view.query)?;
                self.refuse_local(&view.query, |zone| {
                    let mut binder = Binder::new(self.dialect, &self.catalog, &[]).with_zone(zone);
                    binder.query(&query, None).map(|bound| format!("{:?}", bound.plan))
                })?;
            }
        }
        Ok(())
    }

    fn bound_in(
        &self,
        zone: Zone,
        text: &str,
        table: &Arc<Table>,
        wanted: Option<&SqlType>,
    ) -> Result<String, SqlError> {
        let style = skew_value::Style { dialect: self.dialect, zone };
        let bound = expression_over_table(text, Some(table), &self.catalog, style, wanted)?;
        Ok(format!("{bound:?}"))
    }

    /// Bound in two zones, a text without local times looks the same.
    fn refuse_local(&self, text: &str, bound: impl Fn(Zone) -> Result<String, SqlError>) -> Result<(), SqlError> {
        match bound(Zone::Utc)? == bound(self.zone)? {
            true => Ok(()),
            false => {
                let message = format!("the definition {text}, whose timestamps depend on the TimeZone of the session");
                Err(SqlError::unsupported(message).with_hint("write the offset: '2024-01-31 10:20:30+00'"))
            }
        }
    }
}

/// The texts of a table's expressions, with the type that is wanted of them.
fn texts(table: &Table) -> Vec<(Arc<str>, Option<SqlType>)> {
    let mut texts = Vec::new();
    for (_, column) in table.live_columns() {
        if let Some(ColumnDefault::Expression(text) | ColumnDefault::Generated(text)) = &column.default {
            texts.push((Arc::clone(text), Some(column.sql_type.clone())));
        }
    }
    let conditions = table.checks.iter().map(|check| &check.condition);
    let conditions = conditions.chain(table.indexes.iter().filter_map(|index| index.predicate.as_ref()));
    let conditions = conditions.chain(table.exclusions.iter().filter_map(|exclusion| exclusion.predicate.as_ref()));
    texts.extend(conditions.map(|text| (Arc::clone(text), Some(SqlType::Boolean))));
    let keys = table.indexes.iter().flat_map(|index| &index.columns).filter_map(|column| match column {
        IndexColumn::Expression(text) => Some(text),
        IndexColumn::Column(_) => None,
    });
    let keys = keys.chain(table.exclusions.iter().flat_map(|one| &one.elements).map(|(text, _)| text));
    texts.extend(keys.map(|text| (Arc::clone(text), None)));
    texts
}

/// Whether moments stand in the values of a type.
fn has_moment(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::TimestampZoned(_) => true,
        SqlType::Array(element) | SqlType::Vector(element) => has_moment(element),
        SqlType::Record(fields) => fields.iter().any(|(_, field)| has_moment(field)),
        _ => false,
    }
}
