//! Runs any text as SQL, for the fuzz target and for the test that replays what was kept.

use skew_sql::Stop;
use skew_sql::memory::MemoryStorage;
use skew_sql::session::Session;
use skew_value::Dialect;
use std::sync::Arc;

const SCHEMA: [&str; 4] = [
    "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, price DECIMAL(10,2), made DATE)",
    "INSERT INTO item VALUES (1, 'bolt', 1.50, '2024-01-31'), (2, 'nut', NULL, NULL), (3, 'saw', 20, '2024-02-29')",
    "CREATE TABLE sale (id INTEGER PRIMARY KEY, item INTEGER REFERENCES item (id), amount INTEGER CHECK (amount > 0))",
    "INSERT INTO sale VALUES (10, 1, 5), (11, 1, 2), (12, 3, 1)",
];

/// Runs a text in both dialects; afterwards the session still answers.
pub(crate) fn run_any(text: &str) {
    for dialect in [Dialect::Postgres, Dialect::MySql] {
        let mut session = Session::new(dialect, Arc::default());
        let mut storage = MemoryStorage::new();
        for statement in SCHEMA {
            run(&mut session, &mut storage, statement).expect("the schema is right");
        }
        // Errors are fine; they have words and a place that lies in the text.
        if let Err(Stop::Error(error)) = run(&mut session, &mut storage, text) {
            assert!(!error.message.is_empty());
            assert!(error.state.0 != "XX000", "an internal error: {}", error.message);
        }
        run(&mut session, &mut storage, "SELECT 1").expect("the session lives on");
    }
}

/// Runs the statements of a text.
pub(crate) fn run(session: &mut Session, storage: &mut MemoryStorage, text: &str) -> Result<(), Stop> {
    for statement in session.parse(text)? {
        let prepared = session.prepare(&statement, &[])?;
        let catalog = session.catalog().clone();
        storage.begin();
        let result = session.execute(&prepared, &[], storage);
        if result.is_ok() {
            storage.commit();
        } else {
            storage.rollback();
            session.set_catalog(catalog);
        }
        result?;
    }
    Ok(())
}
