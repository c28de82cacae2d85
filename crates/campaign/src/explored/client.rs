//! A client of PostgreSQL's protocol, as small as it gets: simple queries in, texts out.
//!
//! ```text
//!   startup  ──>  … ReadyForQuery
//!   Query    ──>  RowDescription? DataRow* CommandComplete | ErrorResponse … ReadyForQuery
//! ```

use skew_program::{Heard, Speaker, TextRows};
use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Version 3.0 of the protocol.
const PROTOCOL: u32 = 196_608;
/// A message of more bytes is none.
const LONGEST_MESSAGE: usize = 1 << 30;

/// One connection.
pub(super) struct WireClient {
    stream: BufReader<TcpStream>,
}

impl WireClient {
    /// Connects as a session of this name.
    pub(super) fn connect(address: SocketAddr, session: &str) -> io::Result<WireClient> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut client = WireClient { stream: BufReader::new(stream) };
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        for word in ["user", "skew", "application_name", session, ""] {
            body.extend_from_slice(word.as_bytes());
            body.push(0);
        }
        client.send(&[], &body)?;
        match client.answer()? {
            Heard::Failed { message, .. } => Err(io::Error::other(message)),
            _ => Ok(client),
        }
    }

    fn send(&mut self, tag: &[u8], body: &[u8]) -> io::Result<()> {
        let mut message = tag.to_vec();
        let length = u32::try_from(body.len() + 4).map_err(|_| io::Error::other("the statement is too long"))?;
        message.extend_from_slice(&length.to_be_bytes());
        message.extend_from_slice(body);
        self.stream.get_mut().write_all(&message)
    }

    fn message(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let length = length.checked_sub(4).filter(|length| *length <= LONGEST_MESSAGE).ok_or_else(broken)?;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((head[0], body))
    }

    /// All messages up to the one that says that the server waits for the next statement.
    fn answer(&mut self) -> io::Result<Heard> {
        let mut rows: Option<TextRows> = None;
        let mut heard = Heard::Done;
        loop {
            let (tag, body) = self.message()?;
            match tag {
                b'T' => rows = Some(Vec::new()),
                b'D' => rows.get_or_insert_default().push(row(&body)?),
                b'C' => heard = complete(&texts(&body).concat(), rows.take()),
                b'E' => heard = failure(&body),
                b'Z' => return Ok(heard),
                _ => {}
            }
        }
    }
}

impl Speaker for WireClient {
    type Error = io::Error;

    fn say(&mut self, text: &str) -> io::Result<Heard> {
        self.send(b"Q", &[text.as_bytes(), &[0]].concat())?;
        self.answer()
    }
}

impl Drop for WireClient {
    fn drop(&mut self) {
        // Whoever is gone already has left.
        let _ = self.send(b"X", &[]);
    }
}

fn broken() -> io::Error {
    io::Error::other("the server sent what is no message of the protocol")
}

/// The texts of a message, each of which ends with a zero.
fn texts(body: &[u8]) -> Vec<String> {
    body.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

/// The values of a row, each with its length before it; -1 is NULL.
fn row(body: &[u8]) -> io::Result<Vec<Option<String>>> {
    let (count, mut rest) = body.split_first_chunk::<2>().ok_or_else(broken)?;
    let mut values = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(broken)?;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            values.push(None);
            rest = after;
            continue;
        };
        let (value, after) = after.split_at_checked(length).ok_or_else(broken)?;
        values.push(Some(String::from_utf8(value.to_vec()).map_err(|_| broken())?));
        rest = after;
    }
    Ok(values)
}

/// `SELECT 2`, `INSERT 0 1`, `UPDATE 3`, `BEGIN`.
fn complete(words: &str, rows: Option<TextRows>) -> Heard {
    let count = words.rsplit(' ').next().and_then(|word| word.parse::<u64>().ok());
    match (count, rows) {
        (_, Some(rows)) if words.starts_with("SELECT") => Heard::Rows(rows),
        (Some(count), rows) => Heard::Changed(count, rows.unwrap_or_default()),
        (None, Some(rows)) => Heard::Rows(rows),
        (None, None) => Heard::Done,
    }
}

/// The fields of an error: a letter and a text each.
fn failure(body: &[u8]) -> Heard {
    let fields = texts(body);
    let field =
        |letter: char| fields.iter().find_map(|field| field.strip_prefix(letter)).unwrap_or_default().to_owned();
    Heard::Failed { state: field('C'), message: field('M') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_by_their_last_words() {
        let one = || Some(vec![vec![Some("7".to_owned())]]);
        assert_eq!(complete("SELECT 1", one()), Heard::Rows(vec![vec![Some("7".to_owned())]]));
        assert_eq!(complete("INSERT 0 2", None), Heard::Changed(2, Vec::new()));
        assert_eq!(complete("UPDATE 1", one()), Heard::Changed(1, vec![vec![Some("7".to_owned())]]));
        assert_eq!(complete("BEGIN", None), Heard::Done);
    }

    #[test]
    fn a_row_has_values_and_nulls_and_a_broken_one_is_refused() {
        let body = [&[0, 2][..], &[0, 0, 0, 2], b"ab", &[0xff; 4]].concat();
        assert_eq!(row(&body).expect("a row"), [Some("ab".to_owned()), None]);
        assert!(row(&body[..7]).is_err());
        assert!(row(&[0]).is_err());
    }
}
