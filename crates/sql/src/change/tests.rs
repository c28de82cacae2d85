//! After any number of changes, the entries of every index are exactly those of the rows that are there.

use crate::catalog::Catalog;
use crate::constraint::Rules;
use crate::execute::Execution;
use crate::memory::MemoryStorage;
use crate::session::Session;
use crate::stop::Stop;
use crate::storage::{Columns, KeyRange, Row, RowKey, Storage};
use skew_value::Dialect;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Runs statements, each on its own; one that fails leaves nothing behind.
struct Stage {
    session: Session,
    storage: MemoryStorage,
}

impl Stage {
    fn new(dialect: Dialect, setup: &str) -> Stage {
        let session = Session::new(dialect, Arc::new(Catalog::default()));
        let mut stage = Stage { session, storage: MemoryStorage::new() };
        stage.run(setup).unwrap();
        stage
    }

    fn run(&mut self, text: &str) -> Result<(), Stop> {
        for statement in self.session.parse(text)? {
            let prepared = self.session.prepare(&statement, &[])?;
            self.storage.begin();
            if let Err(stop) = self.session.execute(&prepared, &[], &mut self.storage) {
                self.storage.rollback();
                return Err(stop);
            }
            self.storage.commit();
        }
        Ok(())
    }

    fn space(&mut self, space: crate::storage::SpaceId) -> Vec<(RowKey, Row)> {
        self.storage.scan(&KeyRange::of_prefix(space, Vec::new()), &Columns::All).unwrap()
    }

    /// Compares what stands in the indexes of every table with what follows from its rows.
    fn check_entries(&mut self, after: &str) {
        let catalog = self.session.catalog().clone();
        for table in catalog.tables.values() {
            let rows = self.space(table.space);
            let stored: Vec<BTreeMap<RowKey, Row>> =
                table.indexes.iter().map(|index| self.space(index.space).into_iter().collect()).collect();
            let rules = Rules::bind(table, &catalog, self.session.dialect()).unwrap();
            let mut expected = vec![BTreeMap::new(); table.indexes.len()];
            let mut execution =
                Execution::of_definition(catalog.clone(), self.session.dialect(), &mut self.storage, super::carry_out);
            for (key, row) in rows {
                let entries = rules.entries(&key, &table.complete(&row), &mut execution).unwrap();
                for (place, entry) in entries.into_iter().enumerate() {
                    expected[place].extend(entry);
                }
            }
            assert_eq!(stored, expected, "{} after {after}", table.name);
        }
    }
}

/// A row of numbers that is the same in every run.
fn numbers() -> impl FnMut(u64) -> u64 {
    let mut state = 0x5eed_u64;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

const SETUP: &str = "
    CREATE TABLE shop (id int PRIMARY KEY, code text UNIQUE);
    CREATE TABLE item (
        id int, part int, shop int REFERENCES shop ON DELETE SET NULL ON UPDATE CASCADE,
        code text UNIQUE, price int, twice int GENERATED ALWAYS AS (price * 2) STORED, PRIMARY KEY (id, part)
    );
    CREATE INDEX item_shop ON item (shop);
    CREATE INDEX item_twice ON item (twice, code);
    CREATE UNIQUE INDEX item_cheap ON item (price) WHERE price < 3;
    CREATE INDEX item_half ON item ((price / 2));
    CREATE TABLE line (item int, part int, note text, FOREIGN KEY (item, part) REFERENCES item ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE INDEX line_note ON line (note);
    INSERT INTO shop SELECT n, 'shop ' || n FROM generate_series(0, 3) AS g(n);
";

fn statement(number: &mut impl FnMut(u64) -> u64) -> String {
    let (id, part, shop, code, price) = (number(6), number(2), number(6), number(8), number(12));
    match number(9) {
        0 | 1 => {
            format!("INSERT INTO item (id, part, shop, code, price) VALUES ({id}, {part}, {shop}, 'c{code}', {price})")
        }
        2 => format!(
            "INSERT INTO item (id, part, shop, code, price) VALUES ({id}, {part}, NULL, NULL, {price}), ({code}, 0, {shop}, 'c{id}', NULL) \
             ON CONFLICT (id, part) DO UPDATE SET price = excluded.price, code = excluded.code"
        ),
        3 => format!("UPDATE item SET price = {price}, code = 'c{code}' WHERE id = {id} AND part = {part}"),
        4 => format!("UPDATE item SET id = id + {part} + 1, shop = {shop} WHERE price > {price}"),
        5 => format!("DELETE FROM item WHERE shop = {shop} OR code = 'c{code}'"),
        6 => format!("UPDATE shop SET id = {shop}, code = 'shop {code}' WHERE id = {part}"),
        7 => format!("INSERT INTO line VALUES ({id}, {part}, 'n{code}')"),
        _ => format!("DELETE FROM shop WHERE id = {shop}; INSERT INTO shop VALUES ({shop}, 'shop {shop}')"),
    }
}

#[test]
fn index_entries_are_those_of_the_rows_after_every_statement() {
    let mut stage = Stage::new(Dialect::Postgres, SETUP);
    let mut number = numbers();
    let mut carried_out = 0;
    for _ in 0..400 {
        let text = statement(&mut number);
        match stage.run(&text) {
            Ok(()) => carried_out += 1,
            Err(Stop::Error(error)) => {
                assert!(error.state.0.starts_with("23") || error.state.0 == "21000", "{text}: {error}")
            }
            Err(stop) => panic!("{text}: {stop:?}"),
        }
        stage.check_entries(&text);
    }
    assert!(carried_out > 150, "only {carried_out} statements did something");
}

#[test]
fn index_entries_are_those_of_the_rows_after_definitions() {
    let mut stage = Stage::new(Dialect::Postgres, SETUP);
    let mut number = numbers();
    for _ in 0..60 {
        let _ = stage.run(&statement(&mut number));
    }
    for text in [
        "ALTER TABLE item ALTER COLUMN price TYPE numeric(10,2)",
        "ALTER TABLE item ALTER COLUMN code TYPE varchar(5)",
        "ALTER TABLE line ADD COLUMN id serial PRIMARY KEY",
        "ALTER TABLE item RENAME COLUMN price TO cost",
        "ALTER TABLE item DROP COLUMN shop",
        "CREATE INDEX ON line (part, note)",
        "ALTER TABLE line DROP CONSTRAINT line_pkey",
    ] {
        stage.run(text).unwrap();
        stage.check_entries(text);
        for _ in 0..20 {
            let text = statement(&mut number);
            let _ = stage.run(&text);
            stage.check_entries(&text);
        }
    }
}
