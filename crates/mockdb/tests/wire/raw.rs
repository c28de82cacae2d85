//! A client that says exactly what it is told to, and tells what it hears.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A message of the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Heard {
    pub(crate) letter: char,
    pub(crate) body: Vec<u8>,
}

pub(crate) struct Raw {
    pub(crate) stream: TcpStream,
    /// The number and the secret of the connection.
    pub(crate) key: (i32, i32),
    pub(crate) address: SocketAddr,
}

/// A text and its zero byte.
pub(crate) fn text(value: &str) -> Vec<u8> {
    [value.as_bytes(), b"\0"].concat()
}

pub(crate) fn message(letter: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[letter][..], &length, body].concat()
}

pub(crate) fn startup(code: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 8).to_be_bytes();
    [&length[..], &code.to_be_bytes(), body].concat()
}

pub(crate) fn parse(name: &str, sql: &str, types: &[u32]) -> Vec<u8> {
    let types: Vec<u8> = types.iter().flat_map(|oid| oid.to_be_bytes()).collect();
    let count = ((types.len() / 4) as u16).to_be_bytes();
    message(b'P', &[&text(name)[..], &text(sql), &count, &types].concat())
}

/// Formats: 0 is text, 1 is binary, for all.
pub(crate) fn bind(portal: &str, statement: &str, format: u16, parameters: &[Option<&[u8]>], result: u16) -> Vec<u8> {
    let mut body = [text(portal), text(statement)].concat();
    body.extend_from_slice(&[0, 1]);
    body.extend_from_slice(&format.to_be_bytes());
    body.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
    for parameter in parameters {
        match parameter {
            None => body.extend_from_slice(&(-1i32).to_be_bytes()),
            Some(bytes) => {
                body.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
                body.extend_from_slice(bytes);
            }
        }
    }
    body.extend_from_slice(&[0, 1]);
    body.extend_from_slice(&result.to_be_bytes());
    message(b'B', &body)
}

pub(crate) fn execute(portal: &str, most_rows: u32) -> Vec<u8> {
    message(b'E', &[&text(portal)[..], &most_rows.to_be_bytes()].concat())
}

pub(crate) fn describe(kind: u8, name: &str) -> Vec<u8> {
    message(b'D', &[&[kind][..], &text(name)].concat())
}

pub(crate) fn sync() -> Vec<u8> {
    message(b'S', b"")
}

impl Heard {
    /// The fields of a row, as text.
    pub(crate) fn fields(&self) -> Vec<Option<Vec<u8>>> {
        assert_eq!(self.letter, 'D', "{self:?}");
        let mut rest = &self.body[2..];
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let length = i32::from_be_bytes(rest[..4].try_into().unwrap());
            rest = &rest[4..];
            fields.push(usize::try_from(length).ok().map(|length| {
                let field = rest[..length].to_vec();
                rest = &rest[length..];
                field
            }));
        }
        fields
    }

    /// A field of an error.
    pub(crate) fn field(&self, letter: u8) -> Option<String> {
        let fields = self.body.split(|byte| *byte == 0);
        let found = fields.filter(|field| field.first() == Some(&letter)).map(|field| &field[1..]);
        found.map(|field| String::from_utf8(field.to_vec()).unwrap()).next()
    }

    fn told(&self) -> String {
        match self.letter {
            'E' => format!("E {}", self.field(b'C').unwrap_or_default()),
            'C' => format!("C {}", String::from_utf8_lossy(&self.body[..self.body.len() - 1])),
            'Z' => format!("Z {}", self.body[0] as char),
            'D' => {
                let field = |field: Option<Vec<u8>>| {
                    field.map_or("NULL".to_owned(), |field| String::from_utf8_lossy(&field).into_owned())
                };
                format!("D {}", self.fields().into_iter().map(field).collect::<Vec<_>>().join("|"))
            }
            'd' => format!("d {}", String::from_utf8_lossy(&self.body).trim_end()),
            letter => letter.to_string(),
        }
    }
}

impl Raw {
    pub(crate) fn open(address: SocketAddr) -> Raw {
        let stream = TcpStream::connect(address).unwrap();
        // A test that would wait for ever fails instead.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Raw { stream, key: (0, 0), address }
    }

    pub(crate) fn connect(address: SocketAddr, parameters: &[(&str, &str)]) -> Raw {
        let mut raw = Raw::open(address);
        let body: Vec<u8> = parameters.iter().flat_map(|(name, value)| [text(name), text(value)].concat()).collect();
        raw.send(&startup(3 << 16, &[&body[..], b"\0"].concat()));
        for heard in raw.until_ready() {
            if heard.letter == 'K' {
                let number = |from: usize| i32::from_be_bytes(heard.body[from..from + 4].try_into().unwrap());
                raw.key = (number(0), number(4));
            }
        }
        raw
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The next message; nothing when the server has closed the connection.
    pub(crate) fn hear(&mut self) -> Option<Heard> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body).ok()?;
        Some(Heard { letter: head[0] as char, body })
    }

    pub(crate) fn until_ready(&mut self) -> Vec<Heard> {
        let mut all = Vec::new();
        loop {
            let heard = self.hear().unwrap_or_else(|| panic!("closed after {all:?}"));
            all.push(heard.clone());
            if heard.letter == 'Z' {
                return all;
            }
        }
    }

    /// What was heard up to the end, in short words; descriptions of columns and settings are left out.
    pub(crate) fn told(&mut self) -> Vec<String> {
        let heard = self.until_ready();
        heard.iter().filter(|heard| !"TSN".contains(heard.letter)).map(Heard::told).collect()
    }

    /// A query of the simple protocol and what was heard, in short words.
    pub(crate) fn query(&mut self, sql: &str) -> Vec<String> {
        self.send(&message(b'Q', &text(sql)));
        self.told()
    }

    /// A series of messages and what was heard, in short words.
    pub(crate) fn series(&mut self, messages: &[Vec<u8>]) -> Vec<String> {
        self.send(&messages.concat());
        self.told()
    }
}
