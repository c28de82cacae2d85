//! What the rows of a table must fulfil, bound and ready to be asked.
//!
//! The catalog keeps expressions as text; [`Rules`] are the same expressions bound over the table's row, made once per statement:
//!
//! ```text
//!   CHECK (price > 0)                    checks      Column 1 > 0
//!   total … AS (price * amount) STORED   generated   column 3 := Column 1 × Column 2
//!   INDEX (lower(name)) WHERE live       indexes     terms [lower(Column 4)], predicate Column 5
//! ```
//!
//! From them follow the entries that a row has in the indexes ([`Rules::entries`]), and whether a row may stand in the table at all
//! ([`Rules::check_row`]). Keys that rows of other tables share are in [`reference`], rules between two rows of one table in
//! [`exclusion`], the words of refusals in [`violation`].

pub(crate) mod exclusion;
pub(crate) mod reference;

use crate::catalog::{Catalog, ColumnDefault, Enumeration, Index, IndexColumn, Table};
use crate::execute::Execution;
use crate::key;
use crate::stop::Stop;
use crate::storage::{KeyPart, Row, RowKey};
use crate::tree::expression::Expression;
use crate::violation;
use skew_value::{Datum, Dialect, SqlError, SqlType};
use std::sync::Arc;

/// The rules of a table, bound.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// Whose they are.
    pub(crate) table: Arc<Table>,
    checks: Vec<(String, Expression)>,
    generated: Vec<(usize, Expression)>,
    indexes: Vec<IndexRule>,
    exclusions: Vec<exclusion::ExclusionRule>,
    enumerations: Vec<(usize, Arc<Enumeration>)>,
}

/// How a row's entry in an index comes about.
#[derive(Clone, Debug)]
struct IndexRule {
    terms: Vec<Term>,
    predicate: Option<Expression>,
}

/// What an index orders by.
#[derive(Clone, Debug)]
enum Term {
    Column(usize),
    Expression(Expression),
}

/// The entry of a row in an index: its key, and what stands under it.
pub(crate) type Entry = (RowKey, Row);

impl Rules {
    /// Binds the rules of a table.
    pub(crate) fn bind(table: &Arc<Table>, catalog: &Catalog, dialect: Dialect) -> Result<Rules, SqlError> {
        let condition = |text: &str| bind_over_row(text, table, catalog, dialect, Some(&SqlType::Boolean));
        let checks = table.checks.iter().map(|check| Ok((check.name.clone(), condition(&check.condition)?)));
        let indexes = table.indexes.iter().map(|index| {
            let terms = index.columns.iter().map(|column| match column {
                IndexColumn::Column(place) => Ok(Term::Column(*place)),
                IndexColumn::Expression(text) => {
                    Ok(Term::Expression(bind_over_row(text, table, catalog, dialect, None)?))
                }
            });
            let predicate = index.predicate.as_deref().map(condition).transpose()?;
            Ok(IndexRule { terms: terms.collect::<Result<_, SqlError>>()?, predicate })
        });
        let exclusions = table.exclusions.iter().map(|rule| {
            exclusion::ExclusionRule::bind(
                rule,
                |text, wanted| bind_over_row(text, table, catalog, dialect, wanted),
                dialect,
            )
        });
        Ok(Rules {
            table: table.clone(),
            checks: checks.collect::<Result<_, SqlError>>()?,
            generated: bind_generated(table, catalog, dialect)?,
            indexes: indexes.collect::<Result<_, SqlError>>()?,
            exclusions: exclusions.collect::<Result<_, SqlError>>()?,
            enumerations: enumerations(table, catalog)?,
        })
    }

    /// Computes the generated columns of a row; tells which of them changed.
    pub(crate) fn generate(&self, row: &mut [Datum], execution: &mut Execution<'_>) -> Result<Vec<usize>, Stop> {
        let mut changed = Vec::new();
        for (place, expression) in &self.generated {
            let value = execution.evaluate_over(expression, row)?;
            if row[*place] != value {
                row[*place] = value;
                changed.push(*place);
            }
        }
        Ok(changed)
    }

    /// Refuses a row that may not stand in the table, whatever else stands there.
    pub(crate) fn check_row(&self, row: &[Datum], execution: &mut Execution<'_>) -> Result<(), Stop> {
        let dialect = execution.dialect();
        for (place, column) in self.table.live_columns() {
            if !column.nullable && row[place].is_null() {
                return Err(violation::null(&self.table, &column.name, dialect).into());
            }
        }
        for (place, enumeration) in &self.enumerations {
            if let Datum::Text(label) = &row[*place]
                && !enumeration.labels.iter().any(|known| **known == **label)
            {
                return Err(violation::label(enumeration, label, &self.table.columns[*place].name, dialect).into());
            }
        }
        for (name, condition) in &self.checks {
            if execution.evaluate_over(condition, row)? == Datum::Boolean(false) {
                return Err(violation::check(&self.table, name, dialect).into());
            }
        }
        Ok(())
    }

    /// The entries of a row, one per index; none where the index's predicate is not true of the row.
    pub(crate) fn entries(
        &self,
        row_key: &RowKey,
        row: &[Datum],
        execution: &mut Execution<'_>,
    ) -> Result<Vec<Option<Entry>>, Stop> {
        (0..self.indexes.len()).map(|place| self.entry(place, row_key, row, execution)).collect()
    }

    /// The entry of a row in one index.
    pub(crate) fn entry(
        &self,
        place: usize,
        row_key: &RowKey,
        row: &[Datum],
        execution: &mut Execution<'_>,
    ) -> Result<Option<Entry>, Stop> {
        let (rule, index) = (&self.indexes[place], &self.table.indexes[place]);
        if let Some(predicate) = &rule.predicate
            && execution.evaluate_over(predicate, row)? != Datum::Boolean(true)
        {
            return Ok(None);
        }
        let parts = self.entry_parts(rule, row, execution)?;
        let values = key::row_key_values(&self.table, row_key, row);
        Ok(Some(key::index_entry(index, parts, row_key, values)))
    }

    fn entry_parts(
        &self,
        rule: &IndexRule,
        row: &[Datum],
        execution: &mut Execution<'_>,
    ) -> Result<Vec<KeyPart>, Stop> {
        let mut parts = Vec::with_capacity(rule.terms.len());
        for term in &rule.terms {
            parts.push(match term {
                Term::Column(place) => key::column_part(&self.table, *place, &row[*place])?,
                Term::Expression(expression) => {
                    let value = execution.evaluate_over(expression, row)?;
                    key::key_part(&value, &expression.sql_type)?
                }
            });
        }
        Ok(parts)
    }

    /// The rules between two rows.
    pub(crate) fn exclusions(&self) -> &[exclusion::ExclusionRule] {
        &self.exclusions
    }

    /// What a key of an index is called and holds, for a refusal.
    pub(crate) fn described_key(&self, index: &Index, row: &[Datum]) -> (Vec<String>, Vec<Datum>) {
        let names = index.columns.iter().map(|column| match column {
            IndexColumn::Column(place) => self.table.columns[*place].name.clone(),
            IndexColumn::Expression(text) => text.to_string(),
        });
        (names.collect(), index.plain_columns().iter().map(|&place| row[place].clone()).collect())
    }
}

fn bind_generated(
    table: &Arc<Table>,
    catalog: &Catalog,
    dialect: Dialect,
) -> Result<Vec<(usize, Expression)>, SqlError> {
    let generated = table.live_columns().filter_map(|(place, column)| match &column.default {
        Some(ColumnDefault::Generated(text)) => Some((place, text, &column.sql_type)),
        _ => None,
    });
    generated
        .map(|(place, text, sql_type)| Ok((place, bind_over_row(text, table, catalog, dialect, Some(sql_type))?)))
        .collect()
}

fn enumerations(table: &Table, catalog: &Catalog) -> Result<Vec<(usize, Arc<Enumeration>)>, SqlError> {
    let columns = table.live_columns().filter_map(|(place, column)| match column.sql_type {
        SqlType::Enumeration(id) => Some((place, id)),
        _ => None,
    });
    columns.map(|(place, id)| Ok((place, catalog.expect_enumeration(id)?.clone()))).collect()
}

/// Binds the text of an expression over the row of a table, cast to a type if one is wanted.
pub(crate) fn bind_over_row(
    text: &str,
    table: &Arc<Table>,
    catalog: &Catalog,
    dialect: Dialect,
    wanted: Option<&SqlType>,
) -> Result<Expression, SqlError> {
    crate::bind::expression_over_table(text, Some(table), catalog, dialect, wanted)
}
