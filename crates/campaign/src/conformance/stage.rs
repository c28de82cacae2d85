//! A table of one's own on somebody's server: made under a name that nobody has, filled before every case, dropped at the end.

use super::cases::ROWS;
use super::{Case, Engine, ServerLevel};
use crate::Complaint;
use skew_value::Dialect;
use skew_workload::connection::{Connection, Settings, connect};
use skew_workload::screenplay::{AfterRefusal, Screenplay, Staging, Transcript, perform};
use skew_workload::{Failure, Objection, Url};
use std::time::Duration;

/// How many names are tried for the table.
const NAMES: usize = 100;

/// A server with a table for the cases.
pub(super) struct TableStage {
    url: Url,
    pub(super) engine: Engine,
    connection: Box<dyn Connection>,
    table: String,
    patience: Duration,
}

impl TableStage {
    pub(super) fn open(url: &Url, patience: Duration) -> Result<TableStage, Complaint> {
        let settings = Settings { name: "skew conformance".to_owned(), timeout: patience * 4 };
        let mut connection = connect(url, &settings).map_err(|failure| unreachable_server(url, &failure))?;
        let engine = Engine::ask(&mut *connection).map_err(|failure| unreachable_server(url, &failure))?;
        let table = create(&mut *connection, url)?;
        Ok(TableStage { url: url.clone(), engine, connection, table, patience })
    }

    /// What was there before every case.
    pub(super) fn preparation(&self) -> Vec<String> {
        vec![creation(&self.table, self.url.dialect), insertion(&self.table)]
    }

    /// Performs a case at a level, with fresh rows.
    pub(super) fn perform(&mut self, case: &Case, level: &ServerLevel) -> Result<Transcript, Complaint> {
        let text = case.text.replace("{table}", &self.table);
        let screenplay: Screenplay =
            text.parse().map_err(|error: skew_workload::screenplay::BadScreenplay| bug(case, &error.to_string()))?;
        let screenplay = screenplay.opened_with(&level.opening);
        let refill = [format!("DELETE FROM {}", self.table), insertion(&self.table)];
        let refilled = refill.iter().try_for_each(|sql| self.connection.command(sql));
        let staging = Staging { patience: self.patience, after_refusal: AfterRefusal::RollBack };
        refilled.and_then(|()| perform(&self.url, &screenplay, staging)).map_err(|failure| {
            let what = format!("{}: {failure}", case.name);
            Complaint::new(&self.url.to_string(), what, "check that the server is still there, then try again")
        })
    }
}

impl Drop for TableStage {
    fn drop(&mut self) {
        // Whoever cannot be reached any more keeps the table.
        let _ = self.connection.command(&format!("DROP TABLE {}", self.table));
    }
}

fn creation(table: &str, dialect: Dialect) -> String {
    let engine = if dialect == Dialect::MySql { " ENGINE = InnoDB" } else { "" };
    format!("CREATE TABLE {table} (id INT PRIMARY KEY, value INT NOT NULL){engine}")
}

fn insertion(table: &str) -> String {
    format!("INSERT INTO {table} VALUES {ROWS}")
}

/// Makes the table. A name that somebody has is left to them.
fn create(connection: &mut dyn Connection, url: &Url) -> Result<String, Complaint> {
    for number in 1..=NAMES {
        let table = format!("skew_case_{number}");
        match connection.type_in(&creation(&table, url.dialect)) {
            Ok(_) => return Ok(table),
            Err(Objection::Refused { code, .. }) if ["42P07", "23505", "1050"].contains(&code.as_str()) => {}
            Err(objection) => return Err(refused_table(url, &objection)),
        }
    }
    let what = format!("there are {NAMES} tables skew_case_… already");
    Err(Complaint::new(&url.to_string(), what, "drop those that nobody needs, or name another database"))
}

fn refused_table(url: &Url, objection: &Objection) -> Complaint {
    let advice = match objection {
        Objection::Refused { code, .. } if code == "42501" => {
            format!(
                "let {} make tables: GRANT CREATE ON SCHEMA public TO {0}; or name another user or database",
                url.user
            )
        }
        Objection::Refused { code, .. } if ["1142", "1044"].contains(&code.as_str()) => {
            format!(
                "let {} make tables: GRANT ALL ON {}.* TO {0}; or name another user or database",
                url.user, url.database
            )
        }
        _ => "the cases need a table of their own, which is dropped afterwards".to_owned(),
    };
    Complaint::new(&url.to_string(), format!("no table can be made: {objection}"), &advice)
}

fn unreachable_server(url: &Url, failure: &Failure) -> Complaint {
    let advice = "check that the server runs, and user, password, database and rights; or start one: --up postgres, --up mariadb";
    Complaint::new(&url.to_string(), failure.to_string(), advice)
}

fn bug(case: &Case, why: &str) -> Complaint {
    Complaint::new(case.name, why.to_owned(), "this is a mistake of skew's own: please report it")
}
