//! What a client says: bytes become messages, or are refused.
//!
//! ```text
//!   first of all   length:4 ─ code:4 ─ …              SSLRequest, GSSENCRequest, CancelRequest, StartupMessage
//!   from then on   letter:1 ─ length:4 ─ body         'Q' text\0 · 'P' name\0 text\0 n:2 oid:4 … · 'B' … · 'S' …
//!                             └─ counts itself
//! ```
//!
//! Every read of a body has an end that is checked, and nothing may be left over, so the bytes of one message are never taken for those
//! of the next. Memory is asked for as bytes arrive and never for what a length or a count promises.
//!
//! What messages mean is left to `client`.

/// The longest message of a client that is connected.
pub(crate) const LONGEST_MESSAGE: usize = 256 << 20;
/// The longest message of one who is not connected yet, as PostgreSQL has it.
pub(crate) const LONGEST_STARTUP: usize = 10_000;

/// Bytes that are no message: what is wrong with them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed(pub &'static str);

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueFormat {
    /// As people write it.
    Text,
    /// As machines do.
    Binary,
}

/// A prepared statement or a portal, by name; the empty name is the unnamed one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PreparedTarget {
    /// A prepared statement.
    Statement(String),
    /// A portal: a statement with its parameters.
    Portal(String),
}

/// The first message of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Startup {
    /// Asks for TLS.
    Tls,
    /// Asks for encryption by GSSAPI.
    Gss,
    /// Asks that another connection's statement be stopped.
    Cancel {
        /// The number of that connection.
        process: i32,
        /// What only that connection's client knows.
        secret: i32,
    },
    /// Asks to be connected.
    Connect {
        /// The minor version of the protocol; its major version is 3.
        minor: u16,
        /// `user`, `database`, `application_name` and settings.
        parameters: Vec<(String, String)>,
    },
}

/// A later message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// Statements as text, with everything that is needed to answer them.
    Query(String),
    /// A statement to prepare.
    Parse {
        /// Its name.
        name: String,
        /// Its text.
        text: String,
        /// The types of its parameters; 0 is unspecified.
        types: Vec<u32>,
    },
    /// Parameters for a prepared statement.
    Bind {
        /// The portal that comes of it.
        portal: String,
        /// The prepared statement.
        statement: String,
        /// How parameters are written: all alike, or one by one; none is text.
        formats: Vec<ValueFormat>,
        /// The parameters.
        parameters: Vec<Option<Vec<u8>>>,
        /// How the columns of the answer are to be written.
        results: Vec<ValueFormat>,
    },
    /// What parameters and columns does it have?
    Describe(PreparedTarget),
    /// It is not needed any more.
    Close(PreparedTarget),
    /// Run a portal.
    Execute {
        /// Which.
        portal: String,
        /// After this many rows wait for the next Execute; 0 is never.
        most_rows: u32,
    },
    /// Send what there is.
    Flush,
    /// The end of a series of messages.
    Sync,
    /// A password, or a step of its exchange.
    Password(Vec<u8>),
    /// Some of the bytes of COPY.
    CopyChunk(Vec<u8>),
    /// All of them were sent.
    CopyDone,
    /// No more of them will be sent, and why.
    CopyFail(String),
    /// A call of a function by its number, which no client of this century sends.
    FunctionCall,
    /// Goodbye.
    Terminate,
}

/// What is still to be read of a body.
struct MessageBody<'a>(&'a [u8]);

const TRUNCATED: Malformed = Malformed("insufficient data left in message");

impl<'a> MessageBody<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    fn short(&mut self) -> Result<u16, Malformed> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn long(&mut self) -> Result<u32, Malformed> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A text up to its zero byte.
    fn text(&mut self) -> Result<String, Malformed> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(Malformed("invalid string in message"))?;
        let bytes = self.take(end)?;
        self.take(1)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| Malformed("invalid byte sequence for encoding \"UTF8\""))
    }

    fn formats(&mut self) -> Result<Vec<ValueFormat>, Malformed> {
        let count = self.short()?;
        (0..count)
            .map(|_| match self.short()? {
                0 => Ok(ValueFormat::Text),
                1 => Ok(ValueFormat::Binary),
                _ => Err(Malformed("unsupported format code")),
            })
            .collect()
    }

    fn target(&mut self) -> Result<PreparedTarget, Malformed> {
        match self.byte()? {
            b'S' => Ok(PreparedTarget::Statement(self.text()?)),
            b'P' => Ok(PreparedTarget::Portal(self.text()?)),
            _ => Err(Malformed("neither a statement nor a portal")),
        }
    }

    fn value(&mut self) -> Result<Option<Vec<u8>>, Malformed> {
        match self.long()? as i32 {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| TRUNCATED)?;
                Ok(Some(self.take(length)?.to_vec()))
            }
        }
    }
}

/// How long the message is whose first bytes these are, its letter and length included; nothing while that cannot be told.
pub(crate) fn length_of(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let Some(length) = bytes.get(1..5) else { return Ok(None) };
    let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
    if !(4..=LONGEST_MESSAGE).contains(&length) {
        return Err(Malformed("invalid message length"));
    }
    Ok(Some(1 + length))
}

/// The same for the first message, which has no letter.
pub(crate) fn length_of_startup(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let Some(length) = bytes.get(..4) else { return Ok(None) };
    let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
    if !(8..=LONGEST_STARTUP).contains(&length) {
        return Err(Malformed("invalid length of startup packet"));
    }
    Ok(Some(length))
}

/// Whether clients send messages of this letter at all.
pub(crate) fn is_known(letter: u8) -> bool {
    b"QPBDCEHSpdcfFX".contains(&letter)
}

/// Reads the first message, its length included.
pub fn decode_startup(bytes: &[u8]) -> Result<Startup, Malformed> {
    let mut body = MessageBody(bytes);
    body.take(4)?;
    let code = body.long()?;
    match (code >> 16, code & 0xffff) {
        (1234, 5679) => Ok(Startup::Tls),
        (1234, 5680) => Ok(Startup::Gss),
        (1234, 5678) => Ok(Startup::Cancel { process: body.long()? as i32, secret: body.long()? as i32 }),
        (3, minor) => {
            let mut parameters = Vec::new();
            loop {
                let name = body.text()?;
                if name.is_empty() {
                    break;
                }
                parameters.push((name, body.text()?));
            }
            Ok(Startup::Connect { minor: minor as u16, parameters })
        }
        _ => Err(Malformed("unsupported frontend protocol: server supports 3.0")),
    }
}

/// Reads a message of a letter, of which this is the body.
pub fn decode(letter: u8, body: &[u8]) -> Result<Message, Malformed> {
    let mut body = MessageBody(body);
    let message = match letter {
        b'Q' => Message::Query(body.text()?),
        b'P' => {
            let (name, text, count) = (body.text()?, body.text()?, body.short()?);
            let types = (0..count).map(|_| body.long()).collect::<Result<_, _>>()?;
            Message::Parse { name, text, types }
        }
        b'B' => decode_bind(&mut body)?,
        b'D' => Message::Describe(body.target()?),
        b'C' => Message::Close(body.target()?),
        b'E' => {
            let portal = body.text()?;
            // A negative number is as good as none.
            let most_rows = u32::try_from(body.long()? as i32).unwrap_or(0);
            Message::Execute { portal, most_rows }
        }
        b'H' => Message::Flush,
        b'S' => Message::Sync,
        b'X' => Message::Terminate,
        b'p' => Message::Password(rest(&mut body)),
        b'd' => Message::CopyChunk(rest(&mut body)),
        b'c' => Message::CopyDone,
        b'f' => Message::CopyFail(body.text()?),
        b'F' => {
            rest(&mut body);
            Message::FunctionCall
        }
        _ => return Err(Malformed("invalid frontend message type")),
    };
    if body.0.is_empty() { Ok(message) } else { Err(Malformed("invalid message format")) }
}

fn rest(body: &mut MessageBody<'_>) -> Vec<u8> {
    std::mem::take(&mut body.0).to_vec()
}

fn decode_bind(body: &mut MessageBody<'_>) -> Result<Message, Malformed> {
    let (portal, statement, formats, count) = (body.text()?, body.text()?, body.formats()?, body.short()?);
    let parameters = (0..count).map(|_| body.value()).collect::<Result<_, _>>()?;
    Ok(Message::Bind { portal, statement, formats, parameters, results: body.formats()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::{Chance, Stream};

    #[test]
    fn a_message_is_read_to_its_end_and_not_beyond() {
        assert_eq!(decode(b'Q', b"SELECT 1\0"), Ok(Message::Query("SELECT 1".to_owned())));
        assert_eq!(decode(b'Q', b"SELECT 1"), Err(Malformed("invalid string in message")));
        assert_eq!(decode(b'Q', b"SELECT 1\0x"), Err(Malformed("invalid message format")));
        assert_eq!(decode(b'P', b"\0SELECT 1\0\0\x02\0\0\0\x17"), Err(TRUNCATED));
        assert_eq!(decode(b'E', b"p\0\xff\xff\xff\xff"), Ok(Message::Execute { portal: "p".into(), most_rows: 0 }));
    }

    #[test]
    fn parameters_are_null_or_as_long_as_they_say() {
        let bind = b"\0s\0\0\x01\0\x01\0\x02\xff\xff\xff\xff\0\0\0\x01a\0\0";
        let expected = Message::Bind {
            portal: String::new(),
            statement: "s".into(),
            formats: vec![ValueFormat::Binary],
            parameters: vec![None, Some(b"a".to_vec())],
            results: Vec::new(),
        };
        assert_eq!(decode(b'B', bind), Ok(expected));
        assert_eq!(decode(b'B', b"\0s\0\0\0\0\x01\x80\0\0\0\0\0"), Err(TRUNCATED));
        assert_eq!(decode(b'B', b"\0s\0\0\x01\0\x02\0\0\0\0"), Err(Malformed("unsupported format code")));
    }

    #[test]
    fn the_first_message_says_what_is_wanted() {
        assert_eq!(decode_startup(b"\0\0\0\x08\x04\xd2\x16\x2f"), Ok(Startup::Tls));
        let connect = decode_startup(b"\0\0\0\x12\0\x03\0\0user\0ann\0\0");
        let parameters = vec![("user".to_owned(), "ann".to_owned())];
        assert_eq!(connect, Ok(Startup::Connect { minor: 0, parameters }));
        assert!(decode_startup(b"\0\0\0\x08\0\x02\0\0").is_err());
        assert!(decode_startup(b"\0\0\0\x0c\0\x03\0\0user").is_err());
    }

    #[test]
    fn any_bytes_are_a_message_or_are_refused() {
        let mut chance = Chance::new(1, Stream::Numbers);
        let valid: [(u8, &[u8]); 4] = [
            (b'P', b"s\0SELECT $1\0\0\x01\0\0\0\x17"),
            (b'B', b"\0s\0\0\x01\0\x01\0\x01\0\0\0\x01a\0\x01\0\0"),
            (b'E', b"p\0\0\0\0\x05"),
            (b'C', b"Ss\0"),
        ];
        for round in 0..20_000 {
            let (letter, body) = valid[round % valid.len()];
            let mut bytes = body[..chance.below(body.len() + 1)].to_vec();
            for _ in 0..chance.below(4).min(bytes.len()) {
                let place = chance.below(bytes.len());
                bytes[place] = chance.number() as u8;
            }
            // What is cut off has no meaning; what is only changed may have another one.
            let shorter = bytes.len() < body.len();
            let read = decode(letter, &bytes);
            assert!(!shorter || read.is_err() || bytes.iter().zip(body).any(|(one, other)| one != other), "{bytes:?}");
            let _ = (decode(chance.number() as u8, &bytes), decode_startup(&bytes));
        }
    }

    #[test]
    fn lengths_that_no_message_has_are_refused_at_once() {
        assert_eq!(length_of(b"Q\0\0"), Ok(None));
        assert_eq!(length_of(b"Q\0\0\0\x04"), Ok(Some(5)));
        assert!(length_of(b"Q\0\0\0\x03").is_err());
        assert!(length_of(b"Q\xff\xff\xff\xff").is_err());
        assert!(length_of_startup(b"\0\x01\0\0").is_err());
    }
}
