//! What all instances of all procedures have in common: tables, their columns as bits, whether rows come and go.
//!
//! ```text
//!   district    nobody inserts or deletes     a row is there for everybody or for nobody
//!   orders      rows come and stay            whoever sees the INSERT sees the row
//!   new_order   rows come and go              anything
//! ```

use crate::effect::{EXISTENCE, Happens, RowEffect};
use crate::transaction::{TransactionFlow, Transactions};
use skew_program::FlowAction;
use skew_sql::touched::ValueOrigin;
use std::collections::{BTreeMap, BTreeSet};

/// Columns of one table; the first bit is whether the row exists.
pub(crate) type ColumnBits = u128;

/// The bit of whether a row exists.
pub(crate) const EXISTS: ColumnBits = 1;

/// How many columns a table may have.
const MOST_COLUMNS: usize = 120;

/// What a write does to the existence of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Existence {
    /// Nothing.
    Stays,
    /// It comes into being.
    Comes,
    /// It goes.
    Goes,
    /// One of the two.
    Changes,
}

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct TableShape {
    pub(crate) name: String,
    columns: Vec<String>,
    /// The columns of the primary key.
    pub(crate) key: Vec<String>,
    /// How many values a key has.
    pub(crate) width: usize,
    /// Nobody inserts or deletes.
    pub(crate) is_stable: bool,
    /// Rows never go.
    pub(crate) keeps_rows: bool,
}

/// The tables of a program, and which procedures look at how many rows they changed.
#[derive(Clone, Debug)]
pub(crate) struct ProgramShape {
    pub(crate) tables: Vec<TableShape>,
    pub(crate) counts: Vec<bool>,
}

impl ProgramShape {
    /// What the procedures have in common; or why they cannot be looked at.
    pub(crate) fn of(transactions: &Transactions) -> Result<ProgramShape, String> {
        let mut writers: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut widths: BTreeMap<String, usize> = BTreeMap::new();
        for effect in effects(transactions) {
            let kinds = writers.entry(effect.table.clone()).or_default();
            match existence(effect) {
                Existence::Stays => {}
                Existence::Comes => drop(kinds.insert("comes")),
                Existence::Goes | Existence::Changes => drop(kinds.insert("goes")),
            }
            if let crate::effect::EffectTarget::Key(None, values) = &effect.target {
                widths.insert(effect.table.clone(), values.len());
            }
        }
        let mut tables = Vec::new();
        for (name, kinds) in writers {
            let columns = transactions.columns.get(&name).cloned().unwrap_or_default();
            if columns.len() > MOST_COLUMNS {
                return Err(format!("the table {name} has more than {MOST_COLUMNS} columns"));
            }
            let key = transactions.keys.get(&name).cloned().unwrap_or_default();
            let width = widths.get(&name).copied().unwrap_or_default().max(key.len()).max(1);
            let (is_stable, keeps_rows) = (kinds.is_empty(), !kinds.contains("goes"));
            tables.push(TableShape { name, columns, key, width, is_stable, keeps_rows });
        }
        Ok(ProgramShape { tables, counts: transactions.procedures.iter().map(looks_at_counts).collect() })
    }

    pub(crate) fn table(&self, name: &str) -> usize {
        self.tables.iter().position(|table| table.name == name).unwrap_or_default()
    }

    pub(crate) fn bits(&self, table: usize, columns: &BTreeSet<String>) -> ColumnBits {
        let shape = &self.tables[table];
        let bit = |column: &String| match column.as_str() {
            EXISTENCE => EXISTS,
            name => shape.columns.iter().position(|known| known == name).map_or(0, |place| 2 << place),
        };
        columns.iter().map(bit).fold(0, |all, bit| all | bit)
    }
}

fn effects(transactions: &Transactions) -> impl Iterator<Item = &RowEffect> {
    let steps = transactions.procedures.iter().flat_map(|procedure| &procedure.steps);
    steps.flat_map(|step| step.ways.iter().flatten())
}

/// What an effect does to the existence of its rows.
pub(crate) fn existence(effect: &RowEffect) -> Existence {
    match effect.writes.contains(EXISTENCE) {
        false => Existence::Stays,
        true if effect.inserts => Existence::Comes,
        true if effect.happens == Happens::Always || effect.table.contains('@') => Existence::Changes,
        true => Existence::Goes,
    }
}

/// Whether what a procedure does may depend on how many rows a change touched.
fn looks_at_counts(procedure: &TransactionFlow) -> bool {
    procedure.steps.iter().any(|step| {
        let text = step.text.to_lowercase();
        let named = ["row_count", "found", "returning"].iter().any(|word| text.contains(word));
        named || matches!(step.action, FlowAction::Count(_)) || step.outputs.contains(&ValueOrigin::Variable(0))
    })
}
