//! Who passed where, as a table, and all that the others printed.
//!
//! ```text
//!   random           read-committed  causal
//!   psql             ok              ok
//!   Django           ok              fails
//! ```

use crate::program::Outcome;
use std::fmt;

/// Rows of programs, columns of levels.
pub(crate) struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<Outcome>)>,
}

impl Table {
    pub(crate) fn new(title: &str, columns: &[&str]) -> Table {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Table { title: title.to_owned(), columns, rows: Vec::new() }
    }

    pub(crate) fn add(&mut self, name: &str, outcomes: Vec<Outcome>) {
        self.rows.push((name.to_owned(), outcomes));
    }

    /// Fails with what was printed by those that did not pass.
    pub(crate) fn expect_passed(&self) {
        let mut complaints = Vec::new();
        for (name, outcomes) in &self.rows {
            for (column, outcome) in self.columns.iter().zip(outcomes) {
                complaints.extend(outcome.as_ref().err().map(|error| format!("{name}, {column}: {error}")));
            }
        }
        assert!(complaints.is_empty(), "{}\n\n{}", self.title, complaints.join("\n\n"));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = vec![format!("{:<24}{}", self.title, padded(&self.columns))];
        for (name, outcomes) in &self.rows {
            let cells: Vec<String> =
                outcomes.iter().map(|outcome| if outcome.is_ok() { "ok" } else { "fails" }.to_owned()).collect();
            lines.push(format!("{name:<24}{}", padded(&cells)));
        }
        let trimmed: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        write!(formatter, "\n{}", trimmed.join("\n"))
    }
}

fn padded(cells: &[String]) -> String {
    cells.iter().map(|cell| format!("{cell:<16}")).collect()
}

#[test]
fn a_table_names_those_that_failed() {
    let mut table = Table::new("random", &["causal", "psi"]);
    table.add("psql", vec![Ok(()), Err("no".to_owned())]);
    let lines: Vec<String> = table.to_string().lines().map(str::to_owned).collect();
    assert_eq!(
        lines,
        ["", "random                  causal          psi", "psql                    ok              fails"]
    );
}
