//! The extended protocol: statements that are prepared once and run often, step by step.
//!
//! ```text
//!   Parse "s" = text     ── statement s: parameters and columns known, nothing run
//!   Bind  "p" = s(7)     ── portal p
//!   Describe, Execute    ── columns; rows, at most so many, then 's' and the next Execute goes on
//!   Sync                 ── commits what belongs to no transaction; Z
//! ```
//!
//! All that is run up to a Sync is one transaction unless it says otherwise. After an error nothing is done until Sync. A portal is
//! gone when its transaction is.

use super::client::{Trouble, WireClient, protocol_violation};
use super::line::Gone;
use super::message::{Message, PreparedTarget, ValueFormat};
use super::value;
use crate::connection::Status;
use skew_sql::{session::Prepared, session::Rows};
use skew_value::{Datum, SqlError, SqlState, SqlType};
use std::sync::Arc;

/// More prepared statements than these are refused.
const MOST_STATEMENTS: usize = 10_000;
/// More portals than these are refused.
const MOST_PORTALS: usize = 1_000;

/// A prepared statement.
pub(crate) struct PreparedStatement {
    text: String,
    /// Nothing, for a text without any statement.
    prepared: Option<Prepared>,
    /// The types of its parameters as the client knows them.
    types: Vec<u32>,
}

impl PreparedStatement {
    fn check_counts(&self, name: &str, formats: usize, parameters: usize, results: usize) -> Result<(), SqlError> {
        let wanted = self.prepared.as_ref().map_or(0, |prepared| prepared.parameter_types().len());
        let columns = self.prepared.as_ref().and_then(Prepared::columns).map_or(0, |columns| columns.len());
        let message = if wanted != parameters {
            format!(
                "bind message supplies {parameters} parameters, but prepared statement \"{name}\" requires {wanted}"
            )
        } else if formats > 1 && formats != parameters {
            format!("bind message has {formats} parameter formats but {parameters} parameters")
        } else if results > 1 && results != columns {
            format!("bind message has {results} result formats but query has {columns} columns")
        } else {
            return Ok(());
        };
        Err(protocol_violation(&message))
    }
}

/// A statement with its parameters.
pub(crate) struct Portal {
    statement: Arc<PreparedStatement>,
    parameters: Vec<Datum>,
    formats: Vec<ValueFormat>,
    progress: PortalProgress,
}

enum PortalProgress {
    /// Not run yet.
    Ready,
    /// Some rows are still to be sent; the tag of a statement that changed something.
    Rows { rows: Rows, next: usize, tag: String },
    /// Run to its end.
    Done,
}

/// None is text, one is for all, else one for each.
fn format_at(formats: &[ValueFormat], place: usize) -> ValueFormat {
    match formats {
        [all] => *all,
        formats => formats.get(place).copied().unwrap_or(ValueFormat::Text),
    }
}

impl WireClient {
    /// Answers a message of a series.
    pub(crate) async fn extended(&mut self, message: Message) -> Result<(), Gone> {
        let result = match message {
            Message::Sync => return self.sync().await,
            Message::Flush => return self.line.flush().await,
            Message::Parse { name, text, types } => {
                return self.parse(name, &text, types).or_else(|error| self.broken(error.into(), &text));
            }
            Message::Bind { portal, statement, formats, parameters, results } => {
                self.bind(portal, &statement, &formats, &parameters, results).map_err(Trouble::from)
            }
            Message::Describe(target) => self.describe(&target).map_err(Trouble::from),
            Message::Close(target) => {
                self.close(&target);
                self.line.replies.empty(b'3');
                Ok(())
            }
            Message::Execute { portal, most_rows } => return self.execute(&portal, most_rows).await,
            _ => Err(protocol_violation("this message has no place here").into()),
        };
        result.or_else(|trouble| self.broken(trouble, ""))
    }

    /// An error in a series: the rest of the series is skipped.
    fn broken(&mut self, trouble: Trouble, sql: &str) -> Result<(), Gone> {
        match trouble {
            Trouble::Gone => Err(Gone),
            Trouble::Error(error) => {
                self.failed(&error, sql);
                self.skipping = true;
                Ok(())
            }
        }
    }

    async fn sync(&mut self) -> Result<(), Gone> {
        match self.finish().await {
            Err(Trouble::Gone) => return Err(Gone),
            Err(Trouble::Error(error)) => self.failed(&error, ""),
            Ok(()) => {}
        }
        self.skipping = false;
        self.ready();
        Ok(())
    }

    fn parse(&mut self, name: String, text: &str, types: Vec<u32>) -> Result<(), SqlError> {
        if !name.is_empty()
            && (self.statements.contains_key(&name) || self.connection.session().statement(&name).is_some())
        {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(SqlState("42P05"), message));
        }
        if self.statements.len() >= MOST_STATEMENTS {
            let message = format!("there are {MOST_STATEMENTS} prepared statements already");
            return Err(SqlError::new(SqlState::LIMIT_EXCEEDED, message).with_hint("close some"));
        }
        let parsed = self.connection.session().parse(text)?;
        if parsed.len() > 1 {
            let message = "cannot insert multiple commands into a prepared statement";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        let given = types.iter().map(|oid| self.type_of(*oid)).collect::<Result<Vec<_>, _>>()?;
        let prepared = match parsed.first() {
            Some(statement) => Some(self.connection.prepare(&self.hall.database.work(), statement, &given)?),
            None => None,
        };
        let found = prepared.as_ref().map_or(&[][..], Prepared::parameter_types);
        let types = found.iter().enumerate().map(|(place, found)| match types.get(place) {
            None | Some(0) => value::description(found).0,
            Some(given) => *given,
        });
        let statement = PreparedStatement { text: text.to_owned(), types: types.collect(), prepared };
        if let Some(prepared) = statement.prepared.as_ref().filter(|_| !name.is_empty()) {
            // EXECUTE finds it, too.
            self.connection.session_mut().keep_statement(&name, prepared);
        }
        self.statements.insert(name, Arc::new(statement));
        self.line.replies.empty(b'1');
        Ok(())
    }

    fn close(&mut self, target: &PreparedTarget) {
        match target {
            PreparedTarget::Statement(name) => {
                self.statements.remove(name);
                self.connection.session_mut().forget_statement(name);
            }
            PreparedTarget::Portal(name) => {
                self.portals.remove(name);
            }
        }
    }

    /// A statement by its name, prepared through the protocol or by PREPARE.
    fn statement(&self, name: &str) -> Result<Arc<PreparedStatement>, SqlError> {
        if let Some(statement) = self.statements.get(name) {
            return Ok(Arc::clone(statement));
        }
        let prepared = self.connection.session().statement(name).ok_or_else(|| no_statement(name))?.clone();
        let types = prepared.parameter_types().iter().map(|found| value::description(found).0).collect();
        let text = prepared.statement().text().to_owned();
        Ok(Arc::new(PreparedStatement { text, types, prepared: Some(prepared) }))
    }

    fn type_of(&self, oid: u32) -> Result<SqlType, SqlError> {
        self.connection.session().catalog().type_of_oid(oid).ok_or_else(|| {
            SqlError::new(SqlState::UNDEFINED_OBJECT, format!("type with OID {oid} is not supported for a parameter"))
        })
    }

    fn bind(
        &mut self,
        portal: String,
        name: &str,
        formats: &[ValueFormat],
        parameters: &[Option<Vec<u8>>],
        results: Vec<ValueFormat>,
    ) -> Result<(), SqlError> {
        if !portal.is_empty() && self.portals.contains_key(&portal) {
            return Err(SqlError::new(SqlState("42P03"), format!("cursor \"{portal}\" already exists")));
        }
        if self.portals.len() >= MOST_PORTALS {
            let message = format!("there are {MOST_PORTALS} portals already");
            return Err(SqlError::new(SqlState::LIMIT_EXCEEDED, message).with_hint("close some"));
        }
        let statement = self.statement(name)?;
        statement.check_counts(name, formats.len(), parameters.len(), results.len())?;
        let wanted = statement.prepared.as_ref().map_or(&[][..], Prepared::parameter_types);
        let style = self.connection.session().style();
        let mut values = Vec::with_capacity(parameters.len());
        for (place, (bytes, wanted)) in parameters.iter().zip(wanted).enumerate() {
            values.push(match bytes {
                None => Datum::Null,
                Some(bytes) => value::decode(bytes, wanted, format_at(formats, place), style)?,
            });
            value::check_labels(&values[place], wanted, self.connection.session().catalog())?;
        }
        self.portals.insert(
            portal,
            Portal { statement, parameters: values, formats: results, progress: PortalProgress::Ready },
        );
        self.line.replies.empty(b'2');
        Ok(())
    }

    fn describe(&mut self, target: &PreparedTarget) -> Result<(), SqlError> {
        match target {
            PreparedTarget::Statement(name) => {
                let statement = self.statement(name)?;
                let replies = &mut self.line.replies;
                replies.parameter_types(&statement.types);
                match statement.prepared.as_ref().and_then(Prepared::columns) {
                    Some(columns) => replies.columns(columns, |_| ValueFormat::Text),
                    None => replies.empty(b'n'),
                }
            }
            PreparedTarget::Portal(name) => {
                let replies = &mut self.line.replies;
                let Some(portal) = self.portals.get(name) else {
                    // To clients that describe them, cursors of SQL are portals.
                    let columns = self.connection.session().cursor_columns(name).ok_or_else(|| no_portal(name))?;
                    replies.columns(columns, |_| ValueFormat::Text);
                    return Ok(());
                };
                match portal.statement.prepared.as_ref().and_then(Prepared::columns) {
                    Some(columns) => replies.columns(columns, |place| format_at(&portal.formats, place)),
                    None => replies.empty(b'n'),
                }
            }
        }
        Ok(())
    }

    async fn execute(&mut self, name: &str, most_rows: u32) -> Result<(), Gone> {
        // Taken out while it runs: running needs all of the client.
        let Some(mut portal) = self.portals.remove(name) else {
            return self.broken(no_portal(name).into(), "");
        };
        let before = self.connection.status();
        match self.execute_portal(&mut portal, most_rows).await {
            Ok(()) => {
                // COMMIT and ROLLBACK end what was open in their transaction.
                if before != Status::Idle && self.connection.status() == Status::Idle {
                    self.portals.clear();
                }
                self.portals.insert(name.to_owned(), portal);
                Ok(())
            }
            Err(trouble) => self.broken(trouble, &portal.statement.text),
        }
    }

    async fn execute_portal(&mut self, portal: &mut Portal, most_rows: u32) -> Result<(), Trouble> {
        let statement = Arc::clone(&portal.statement);
        let Some(prepared) = &statement.prepared else {
            self.line.replies.empty(b'I');
            return Ok(());
        };
        if matches!(portal.progress, PortalProgress::Ready) {
            self.connection.begin_block();
            self.hall.statements.executed(self.process, &statement.text, prepared, &portal.parameters);
            if let Some(copy) = prepared.copy() {
                let tag = self.copy(prepared, copy).await?;
                portal.progress = PortalProgress::Done;
                self.line.replies.complete(&tag);
                return Ok(());
            }
            let answer = self.run(prepared, &portal.parameters).await?;
            let (tag, rows) = self.take_answer(answer, prepared)?;
            let Some(rows) = rows else {
                portal.progress = PortalProgress::Done;
                self.line.replies.complete(&tag);
                return Ok(());
            };
            portal.progress = PortalProgress::Rows { rows, next: 0, tag };
        }
        self.send_some(portal, most_rows).await
    }

    async fn send_some(&mut self, portal: &mut Portal, most_rows: u32) -> Result<(), Trouble> {
        let formats = &portal.formats;
        let format = |place: usize| format_at(formats, place);
        let PortalProgress::Rows { rows, next, tag } = &mut portal.progress else {
            let message = "portal cannot be run anymore";
            return Err(SqlError::new(SqlState::OBJECT_NOT_IN_STATE, message).into());
        };
        let most = if most_rows == 0 { usize::MAX } else { most_rows as usize };
        let end = rows.rows.len().min(next.saturating_add(most));
        let first = *next;
        for row in &rows.rows[first..end] {
            self.send_row(row, rows, format).await?;
        }
        *next = end;
        if end - first == most {
            // Whether there is another row is told when it is asked for, as PostgreSQL does.
            self.line.replies.empty(b's');
        } else {
            let tag = if tag.starts_with("SELECT ") { format!("SELECT {}", end - first) } else { tag.clone() };
            self.line.replies.complete(&tag);
        }
        Ok(())
    }
}

fn no_statement(name: &str) -> SqlError {
    let message = match name {
        "" => "unnamed prepared statement does not exist".to_owned(),
        name => format!("prepared statement \"{name}\" does not exist"),
    };
    SqlError::new(SqlState("26000"), message)
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new(SqlState("34000"), format!("portal \"{name}\" does not exist"))
}
