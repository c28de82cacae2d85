//! COPY: the protocol around it. What rows look like is [`skew_sql::copy`]'s business.
//!
//! ```text
//!   FROM STDIN   G ── d d d … c ── all rows in one INSERT ── C "COPY 3"       f: the client has changed its mind
//!   TO STDOUT    the query ── H ── d d d … c ── C "COPY 3"
//! ```
//!
//! The rows of a client are collected and inserted at once, so that they are checked, wait and are refused as one statement.

use super::client::{Client, Trouble, protocol_violation};
use super::line::Gone;
use super::message::{self, Format, Message};
use super::value;
use crate::connection::Status;
use skew_sql::{copy::Copy, copy::CopyDirection, copy::CopyKind, copy::Fields};
use skew_sql::{session::Answer, session::Prepared, session::Rows};
use skew_value::{Datum, SqlError, SqlState};

/// One COPY brings at most so many bytes.
const MOST_COPIED: usize = 1 << 30;

impl Client {
    /// Carries out a COPY; its tag.
    pub(crate) async fn copy(&mut self, prepared: &Prepared, copy: &Copy) -> Result<String, Trouble> {
        match copy.direction {
            CopyDirection::In => self.copy_in(prepared, copy).await,
            CopyDirection::Out => self.copy_out(prepared, copy).await,
        }
    }

    async fn copy_in(&mut self, prepared: &Prepared, copy: &Copy) -> Result<String, Trouble> {
        if self.connection.status() == Status::Failed {
            // It will say that nothing is listened to, before the client sends anything.
            self.run(prepared, &[]).await?;
        }
        self.line.replies.copy(b'G', format_of(copy), copy.columns.len());
        let fields = self.collect(copy).await?;
        let filled = match copy.format.kind {
            CopyKind::Binary => prepared.with_rows(decoded(fields, copy)?),
            CopyKind::Text | CopyKind::Csv => prepared.with_text_rows(fields)?,
        };
        match self.run(&filled, &[]).await? {
            Answer::Changed(changed) => Ok(format!("COPY {}", changed.count)),
            _ => Err(SqlError::new(SqlState::INTERNAL, "COPY did not insert").into()),
        }
    }

    /// All rows that the client sends.
    async fn collect(&mut self, copy: &Copy) -> Result<Vec<Fields>, Trouble> {
        let mut reader = copy.reader();
        let (mut rows, mut size) = (Vec::new(), 0);
        loop {
            let bytes = self.line.receive_message().await?.map_err(|_| Gone)?;
            match message::decode(bytes[0], &bytes[5..]) {
                Ok(Message::CopyChunk(chunk)) => {
                    size += chunk.len();
                    if size > MOST_COPIED {
                        let message = format!("a COPY may bring {MOST_COPIED} bytes");
                        return Err(SqlError::new(SqlState::LIMIT_EXCEEDED, message).with_hint("use several").into());
                    }
                    rows.extend(reader.feed(&chunk)?);
                }
                Ok(Message::CopyDone) => {
                    rows.extend(reader.finish()?);
                    return Ok(rows);
                }
                Ok(Message::CopyFail(why)) => {
                    let message = format!("COPY from stdin failed: {why}");
                    return Err(SqlError::new(SqlState("57014"), message).into());
                }
                Ok(Message::Flush | Message::Sync) => {}
                Ok(Message::Terminate) => return Err(Trouble::Gone),
                _ => return Err(protocol_violation("unexpected message during COPY from stdin").into()),
            }
        }
    }

    async fn copy_out(&mut self, prepared: &Prepared, copy: &Copy) -> Result<String, Trouble> {
        let Answer::Rows(rows) = self.run(prepared, &[]).await? else {
            return Err(SqlError::new(SqlState::INTERNAL, "COPY did not answer rows").into());
        };
        self.line.replies.copy(b'H', format_of(copy), copy.columns.len());
        let writer = copy.writer();
        let mut before = writer.header().unwrap_or_default();
        if copy.format.kind != CopyKind::Binary && !before.is_empty() {
            self.chunk(&std::mem::take(&mut before), &[]);
        }
        for row in &rows.rows {
            let fields = self.fields_of(row, &rows, format_of(copy))?;
            let fields: Vec<Option<&[u8]>> = fields.iter().map(Option::as_deref).collect();
            // Clients rely on it: a message is a row, and the signature of the binary format is part of the first.
            self.chunk(&std::mem::take(&mut before), &writer.row(&fields));
            self.line.flush_much().await?;
        }
        if let Some(trailer) = writer.trailer() {
            self.chunk(&before, &trailer);
        }
        self.line.replies.empty(b'c');
        Ok(format!("COPY {}", rows.rows.len()))
    }

    fn chunk(&mut self, before: &[u8], bytes: &[u8]) {
        self.line.replies.message(b'd', |body| {
            body.extend_from_slice(before);
            body.extend_from_slice(bytes);
        });
    }

    fn fields_of(&self, row: &[Datum], rows: &Rows, format: Format) -> Result<Fields, SqlError> {
        let field = |(datum, column): (&Datum, &skew_sql::session::ResultColumn)| {
            if datum.is_null() {
                return Ok(None);
            }
            let mut bytes = Vec::new();
            value::write(datum, &column.sql_type, format, self.connection.session(), &mut bytes)?;
            Ok(Some(bytes))
        };
        row.iter().zip(rows.columns.iter()).map(field).collect()
    }
}

fn format_of(copy: &Copy) -> Format {
    if copy.format.kind == CopyKind::Binary { Format::Binary } else { Format::Text }
}

fn decoded(rows: Vec<Fields>, copy: &Copy) -> Result<Vec<Vec<Datum>>, SqlError> {
    let field = |(field, column): (Option<Vec<u8>>, &skew_sql::session::ResultColumn)| match field {
        None => Ok(Datum::Null),
        Some(bytes) => value::decode_binary(&bytes, &column.sql_type),
    };
    let row = |row: Fields| row.into_iter().zip(copy.columns.iter()).map(field).collect();
    rows.into_iter().map(row).collect()
}
