//! A session over a store in memory, with just enough of a server around it: transactions, savepoints and settings.

use crate::recording::{Recording, Sent};
use skew_sql::memory::MemoryStorage;
use skew_sql::session::{Answer, Control, Rows, Session};
use skew_sql::{Catalog, Stop};
use skew_value::{Datum, Dialect, SqlError, SqlType, input};
use std::sync::Arc;

/// What a database told a client.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    /// Names of columns, and rows of texts; which columns hold numbers of things or times, if that is known.
    Rows(Vec<String>, Vec<Vec<Option<String>>>),
    /// No rows.
    Done,
    /// SQLSTATE and message.
    Refused(String, String),
}

impl Told {
    /// The rows in one order, without what every server makes up anew: numbers of things that were made since it was started, times
    /// that no client sent, versions.
    pub(crate) fn comparable(&self, recording: &Recording) -> String {
        match self {
            Told::Done => "done".to_owned(),
            Told::Refused(state, message) => format!("refused {state} {message}"),
            Told::Rows(names, rows) => {
                let cell = |cell: &Option<String>| match cell {
                    None => "NULL".to_owned(),
                    Some(text) => without_chance(text, recording),
                };
                // The other databases of this test's server.
                let foreign = |row: &&Vec<Option<String>>| {
                    row.first()
                        .and_then(Option::as_deref)
                        .is_some_and(|first| first.starts_with("skew_") && first != crate::oracle::database(recording))
                };
                let mut lines: Vec<String> = rows
                    .iter()
                    .filter(|row| !foreign(row))
                    .map(|row| row.iter().map(cell).collect::<Vec<_>>().join(" | "))
                    .collect();
                lines.sort();
                format!("{}\n{}", names.join(" | "), lines.join("\n"))
            }
        }
    }
}

fn without_chance(text: &str, recording: &Recording) -> String {
    if text.starts_with("PostgreSQL 15") {
        return "(version)".to_owned();
    }
    // Numbers of things are from 16384 on; other numbers of this size were sent by the client.
    let sent = text != "16385" && recording.text.contains(text);
    if text.parse::<u64>().is_ok_and(|number| number >= 16_384) && !sent {
        return "(number of a thing)".to_owned();
    }
    let is_time = text.len() >= 19 && text.as_bytes()[4] == b'-' && text.as_bytes()[10] == b' ';
    if is_time && !recording.text.contains(text.trim_end_matches("+00")) {
        return "(time)".to_owned();
    }
    // Who runs the server and where is not the client's doing.
    match text {
        "skew" | "postgres" | "root" => "(owner)".to_owned(),
        other => other.to_owned(),
    }
}

fn starts_with(text: &str, word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// A session, and the transaction that is open, if one is.
pub(crate) struct Stage {
    session: Session,
    storage: MemoryStorage,
    /// The catalog at BEGIN and at each savepoint.
    begun: Option<Arc<Catalog>>,
    failed: bool,
    /// The savepoints, and the catalog at each.
    savepoints: Vec<(String, Arc<Catalog>)>,
}

impl Stage {
    pub(crate) fn new(database: &str) -> Stage {
        let mut session = Session::new(Dialect::Postgres, Arc::new(Catalog::default()));
        session.set_identity("postgres", database, 1);
        let settings = [
            ("jit", "on"),
            ("default_table_access_method", "heap"),
            ("max_index_keys", "32"),
            ("timezone", "UTC"),
            ("standard_conforming_strings", "on"),
        ];
        for (name, value) in settings {
            session.settings_mut().insert(name.to_owned(), value.to_owned());
        }
        session.settings_mut().insert("transaction_isolation".to_owned(), "read committed".to_owned());
        Stage {
            session,
            storage: MemoryStorage::at_time(1_700_000_000_000_000),
            begun: None,
            failed: false,
            savepoints: Vec::new(),
        }
    }

    /// What a statement is answered.
    pub(crate) fn play(&mut self, sent: &Sent) -> Told {
        match self.run(sent) {
            Ok(told) => told,
            Err(Stop::Error(error)) => Told::Refused(error.state.0.to_owned(), error.message),
            Err(Stop::Interrupted(interrupt)) => Told::Refused("interrupted".to_owned(), format!("{interrupt:?}")),
        }
    }

    fn run(&mut self, sent: &Sent) -> Result<Told, Stop> {
        let mut told = Told::Done;
        for statement in self.session.parse(&sent.told())? {
            self.storage.begin();
            let before = self.session.catalog().clone();
            if self.failed
                && !["rollback", "commit", "end", "abort"].iter().any(|end| starts_with(statement.text(), end))
            {
                self.storage.rollback();
                let message = "current transaction is aborted, commands ignored until end of transaction block";
                return Err(SqlError::new(skew_value::SqlState("25P02"), message).into());
            }
            let answer = self.answer(&statement, &sent.parameters).and_then(|answer| self.end(answer));
            match answer {
                Ok(answer) => told = self.told(answer)?,
                Err(stop) => {
                    self.storage.rollback();
                    self.session.set_catalog(before);
                    self.failed = self.begun.is_some();
                    return Err(stop);
                }
            }
        }
        Ok(told)
    }

    fn answer(&mut self, statement: &skew_sql::Statement, texts: &[Option<String>]) -> Result<Answer, Stop> {
        let prepared = self.session.prepare(statement, &[])?;
        let values = prepared.parameter_types().iter().zip(texts).map(|(sql_type, text)| match text {
            None => Ok(Datum::Null),
            Some(text) => input(text, sql_type, Dialect::Postgres),
        });
        let values = values.collect::<Result<Vec<Datum>, SqlError>>()?;
        if prepared.copy().is_some() {
            // The rows that were copied are not in the recording.
            let prepared = prepared.with_text_rows(Vec::new())?;
            return self.session.execute(&prepared, &values, &mut self.storage);
        }
        self.session.execute(&prepared, &values, &mut self.storage)
    }

    /// The statement comes to its end; so do transactions.
    fn end(&mut self, answer: Answer) -> Result<Answer, Stop> {
        match &answer {
            Answer::Transaction(Control::Begin(_)) => self.begun = Some(self.session.catalog().clone()),
            Answer::Transaction(Control::Savepoint(name)) => {
                self.savepoints.push((name.clone(), self.session.catalog().clone()));
            }
            Answer::Transaction(Control::Release(name)) => {
                self.storage.commit();
                while let Some((known, _)) = self.savepoints.pop() {
                    self.storage.commit();
                    if known == *name {
                        break;
                    }
                }
            }
            Answer::Transaction(Control::RollbackTo(name)) => {
                self.storage.rollback();
                while let Some((known, catalog)) = self.savepoints.pop() {
                    self.storage.rollback();
                    if known == *name {
                        self.session.set_catalog(catalog.clone());
                        self.savepoints.push((known, catalog));
                        self.storage.begin();
                        break;
                    }
                }
                self.failed = false;
            }
            Answer::Transaction(Control::Commit { .. }) if !self.failed => {
                self.session.check_deferred(&mut self.storage)?;
                for _ in 0..2 + self.savepoints.len() {
                    self.storage.commit();
                }
                self.savepoints.clear();
                self.begun = None;
            }
            Answer::Transaction(Control::Commit { .. } | Control::Rollback { .. }) => {
                for _ in 0..2 + self.savepoints.len() {
                    self.storage.rollback();
                }
                self.savepoints.clear();
                self.session.forget_deferred();
                self.failed = false;
                if let Some(catalog) = self.begun.take() {
                    self.session.set_catalog(catalog);
                }
            }
            _ => {
                if self.begun.is_none() {
                    self.session.check_deferred(&mut self.storage)?;
                }
                self.storage.commit();
            }
        }
        Ok(answer)
    }

    fn told(&mut self, answer: Answer) -> Result<Told, Stop> {
        Ok(match answer {
            Answer::Rows(rows) => self.rows(&rows),
            Answer::Changed(changed) => changed.returning.as_ref().map_or(Told::Done, |rows| self.rows(rows)),
            Answer::Set { name, value, .. } => {
                let settings = self.session.settings_mut();
                value.map(|value| settings.insert(name, value));
                Told::Done
            }
            Answer::Show(name) => {
                let value = self.session.settings_mut().get(&name).cloned();
                let missing = || SqlError::new(skew_value::SqlState::UNDEFINED_OBJECT, format!("no setting {name}"));
                Told::Rows(vec![name.clone()], vec![vec![Some(value.ok_or_else(missing)?)]])
            }
            _ => Told::Done,
        })
    }

    fn rows(&self, rows: &Rows) -> Told {
        let names = rows.columns.iter().map(|column| column.name.clone()).collect();
        let cell = |datum: &Datum, sql_type: &SqlType| match datum {
            Datum::Null => None,
            other => Some(self.session.text_of(other, sql_type)),
        };
        let row = |row: &Vec<Datum>| row.iter().zip(rows.columns.iter()).map(|(d, c)| cell(d, &c.sql_type)).collect();
        Told::Rows(names, rows.rows.iter().map(row).collect())
    }
}
