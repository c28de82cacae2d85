//! PostgreSQL's levels on the mock database, statement by statement: who waits, who is refused, who sees what.
//!
//! A scene is a text. Each line is a statement of a session and what came of it, and of those who were let go by it:
//!
//! ```text
//!   a: UPDATE t SET v = 11 WHERE id = 1       -> 1
//!   b: UPDATE t SET v = v + 1 WHERE id = 1    -> waits for a
//!   a: COMMIT                                 -> done, b: 1
//! ```
//!
//! Whatever a scene does, its history is one that the engine's levels allow.

mod scenes;

use skew_check::{Budget, check};
use skew_history::{EngineLevel, IsolationLevel};
use skew_mockdb::{Campaign, ChooserKind, Connection, Database, Options, Record, Store, Tape};
use skew_sql::{Answer, Catalog, Interrupt, Prepared, Stop};
use skew_value::{Datum, Dialect};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A server with two rows, and its clients.
struct Scene {
    database: Database,
    tape: Tape,
    clients: BTreeMap<String, Connection>,
    waiting: BTreeMap<String, Prepared>,
}

const TABLES: &str = "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, w INT UNIQUE);
    CREATE TABLE c (id INT PRIMARY KEY, t INT NOT NULL REFERENCES t (id) ON DELETE CASCADE);
    INSERT INTO t VALUES (1, 10, 1), (2, 20, 2); INSERT INTO c VALUES (1, 1)";

impl Scene {
    fn new(level: EngineLevel) -> Scene {
        let options = Options::new(IsolationLevel::Engine(level), 1);
        let store = Store::new(options, ChooserKind::Latest.build(1, &Campaign::default()));
        let mut database = Database::new(store, Arc::new(Catalog::default()));
        let mut loader = Connection::open(&mut database, "loader", Dialect::Postgres);
        for statement in loader.session().parse(TABLES).unwrap() {
            let prepared = loader.prepare(&database, &statement, &[]).unwrap();
            loader.execute(&mut database, &prepared, &[]).unwrap();
        }
        loader.close(&mut database);
        let tape = Tape::default();
        database.store.start(Record { history: Some(Box::new(tape.clone())), choices: None }, "");
        Scene { database, tape, clients: BTreeMap::new(), waiting: BTreeMap::new() }
    }

    fn say(&mut self, name: &str, sql: &str) -> String {
        assert!(!self.waiting.contains_key(name), "{name} waits");
        let database = &mut self.database;
        let client =
            self.clients.entry(name.to_owned()).or_insert_with(|| Connection::open(database, name, Dialect::Postgres));
        let statements = client.session().parse(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        match client.prepare(database, &statements[0], &[]) {
            Ok(prepared) => self.go_on(name, prepared),
            Err(error) => error.state.0.to_owned(),
        }
    }

    fn go_on(&mut self, name: &str, prepared: Prepared) -> String {
        let client = self.clients.get_mut(name).unwrap();
        let answer = client.execute(&mut self.database, &prepared, &[]);
        match answer {
            Err(Stop::Interrupted(Interrupt::Wait)) => {
                let holders = self.database.store.waits_for(client.id());
                let names: Vec<&str> = holders.iter().map(|holder| self.database.store.session_name(*holder)).collect();
                self.waiting.insert(name.to_owned(), prepared);
                format!("waits for {}", names.join(" "))
            }
            Err(Stop::Error(error)) => error.state.0.to_owned(),
            Err(Stop::Interrupted(interrupt)) => format!("{interrupt:?}"),
            Ok(Answer::Rows(rows)) => {
                let row = |row: &Vec<Datum>| row.iter().map(shown).collect::<Vec<_>>().join(" ");
                format!("[{}]", rows.rows.iter().map(row).collect::<Vec<_>>().join(", "))
            }
            Ok(Answer::Changed(changed)) => changed.count.to_string(),
            Ok(_) => "done".to_owned(),
        }
    }

    /// A statement, and what it lets go.
    fn step(&mut self, name: &str, sql: &str) -> String {
        let mut told = self.say(name, sql);
        loop {
            let woken = self.database.store.take_woken();
            if woken.is_empty() {
                return told;
            }
            for session in woken {
                let name = self.database.store.session_name(session).to_owned();
                if let Some(prepared) = self.waiting.remove(&name) {
                    let answer = self.go_on(&name, prepared);
                    if !answer.starts_with("waits") {
                        told.push_str(&format!(", {name}: {answer}"));
                    }
                }
            }
        }
    }

    fn end(mut self) {
        for client in self.clients.values_mut() {
            let _ = client;
        }
        for (_, client) in std::mem::take(&mut self.clients) {
            client.close(&mut self.database);
        }
        if self.tape.text().lines().count() > 1 {
            let history = self.tape.history().unwrap_or_else(|error| panic!("{error}\n{}", self.tape.text()));
            let verdict = check(&history, IsolationLevel::Declared, Budget::UNLIMITED);
            assert!(verdict.holds(), "{verdict:?}\n{}", self.tape.text());
        }
    }
}

fn shown(datum: &Datum) -> String {
    match datum {
        Datum::Integer(number) => number.to_string(),
        Datum::Null => "null".to_owned(),
        Datum::Text(text) => text.to_string(),
        other => format!("{other:?}"),
    }
}

/// Plays a scene, and wants every answer to be as written.
fn play(level: EngineLevel, text: &str) {
    let mut scene = Scene::new(level);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (said, expected) = line.split_once("->").unwrap_or_else(|| panic!("{line}"));
        let (name, sql) = said.split_once(':').unwrap_or_else(|| panic!("{line}"));
        let told = scene.step(name, sql.trim());
        assert_eq!(told, expected.trim(), "{level}\n{line}\n{}", scene.tape.text());
    }
    scene.end();
}
