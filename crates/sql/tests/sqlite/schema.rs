//! Random tables, in words that both databases understand.

use crate::random::Random;

/// The types that the two databases treat alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Integer,
    Real,
    Text,
}

#[derive(Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    constraint: &'static str,
}

pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    /// How many columns, from the first on, are the primary key.
    pub(crate) key: usize,
    pub(crate) next_id: i64,
    statements: Vec<String>,
}

impl Table {
    pub(crate) fn random(number: usize, random: &mut Random) -> Table {
        let key = random.pick(&[0, 1, 1, 1, 2]);
        let mut columns: Vec<Column> =
            (0..key.max(1)).map(|place| Column::new(place, Kind::Integer, "NOT NULL")).collect();
        for place in columns.len()..columns.len() + 2 + random.below(3) {
            let kind = random.pick(&[Kind::Integer, Kind::Integer, Kind::Text, Kind::Real]);
            let constraint = random.pick(&["", "", "", "NOT NULL DEFAULT", "DEFAULT"]);
            columns.push(Column::new(place, kind, constraint));
        }
        let mut table = Table { name: format!("t{number}"), columns, key, next_id: 1, statements: Vec::new() };
        table.statements = table.definition(random);
        table
    }

    fn definition(&self, random: &mut Random) -> Vec<String> {
        let mut parts: Vec<String> = self.columns.iter().map(Column::definition).collect();
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        if self.key > 0 {
            parts.push(format!("PRIMARY KEY ({})", names[..self.key].join(", ")));
        }
        if random.chance(20) {
            parts.push(format!("UNIQUE ({}, {})", names[0], names[names.len() - 1]));
        }
        if random.chance(20) {
            parts.push(format!("CHECK ({} > -1000)", names[0]));
        }
        let mut statements = vec![format!("CREATE TABLE {} ({})", self.name, parts.join(", "))];
        if random.chance(50) {
            let indexed = random.pick(&names);
            statements.push(format!("CREATE INDEX {}_{indexed} ON {} ({indexed})", self.name, self.name));
        }
        if random.chance(25) {
            let last = names[names.len() - 1];
            statements.push(format!("CREATE INDEX {}_two ON {} ({last}, {})", self.name, self.name, names[0]));
        }
        statements
    }

    /// The statements that make the table.
    pub(crate) fn statements(&self) -> &[String] {
        &self.statements
    }
}

impl Column {
    fn new(place: usize, kind: Kind, constraint: &'static str) -> Column {
        Column { name: format!("c{place}"), kind, constraint }
    }

    fn definition(&self) -> String {
        let (name, default) = match self.kind {
            Kind::Integer => ("INTEGER", "7"),
            Kind::Real => ("DOUBLE PRECISION", "0.5"),
            Kind::Text => ("TEXT", "'none'"),
        };
        let default = if self.constraint.ends_with("DEFAULT") { default } else { "" };
        format!("{} {name} {} {default}", self.name, self.constraint)
    }
}
