//! JSON documents: read, ordered, printed.
//!
//! A document compares as PostgreSQL's jsonb: objects above arrays above booleans above numbers above strings above null; longer
//! arrays and objects above shorter ones. Objects keep one value per key (the last), keys ordered by length, then bytes:
//!
//! ```text
//!   {"bb": 1, "a": 2, "a": [ ]}   prints canonically as   {"a": [], "bb": 1}
//! ```

use crate::{SqlError, SqlState};
use bigdecimal::BigDecimal;
use std::cmp::Ordering;

/// How deep documents may nest: reading and dropping them recurse.
pub(crate) const DEEPEST: usize = 256;

/// A document. The order of the variants is the order of jsonb, inside of a document; [`Document`] has that of whole ones.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Json {
    /// null
    Null,
    /// A string.
    String(String),
    /// A number, with its scale.
    Number(BigDecimal),
    /// true or false
    Boolean(bool),
    /// An array.
    Array(Sized<Json>),
    /// An object: keys ordered by length, then bytes, each once.
    Object(Sized<(Key, Json)>),
}

/// A list that compares by its length first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sized<Item>(pub Vec<Item>);

impl<Item: Ord> Ord for Sized<Item> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.cmp(&other.0))
    }
}

impl<Item: Ord> PartialOrd for Sized<Item> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A key of an object. Objects keep their keys by length first, but compare them as texts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key(pub String);

impl Key {
    /// Where it stands in its object: by length, then bytes.
    fn place(&self, other: &Key) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.cmp(&other.0))
    }
}

/// A whole document. PostgreSQL keeps a scalar as an array of one and compares the lengths: an empty array is below any scalar,
/// which it is above everywhere else.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Document(pub Json);

impl Ord for Document {
    fn cmp(&self, other: &Self) -> Ordering {
        let is_empty = |one: &Json| matches!(one, Json::Array(elements) if elements.0.is_empty());
        match (is_empty(&self.0), is_empty(&other.0)) {
            (true, false) if other.0.is_scalar() => Ordering::Less,
            (false, true) if self.0.is_scalar() => Ordering::Greater,
            _ => self.0.cmp(&other.0),
        }
    }
}

impl PartialOrd for Document {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Json {
    /// Reads a document.
    pub(crate) fn parse(text: &str) -> Result<Json, SqlError> {
        let mut reader = JsonReader { text, place: 0 };
        let document = reader.value(0)?;
        reader.blanks();
        if reader.place < text.len() { Err(invalid()) } else { Ok(document) }
    }

    /// An object of pairs in any order; the last of equal keys stays.
    pub(crate) fn object(pairs: Vec<(String, Json)>) -> Json {
        let mut pairs: Vec<(Key, Json)> = pairs.into_iter().map(|(key, value)| (Key(key), value)).collect();
        pairs.reverse();
        pairs.sort_by(|left, right| left.0.place(&right.0));
        pairs.dedup_by(|later, kept| later.0 == kept.0);
        Json::Object(Sized(pairs))
    }

    /// An array.
    pub(crate) fn array(elements: Vec<Json>) -> Json {
        Json::Array(Sized(elements))
    }

    /// Whether it is neither array nor object.
    pub(crate) fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(pairs) => pairs.0.iter().find(|(name, _)| name.0 == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The canonical text of jsonb.
    pub(crate) fn print(&self) -> String {
        let mut text = String::new();
        self.print_into(&mut text);
        text
    }

    fn print_into(&self, text: &mut String) {
        match self {
            Json::Null => text.push_str("null"),
            Json::Boolean(value) => text.push_str(if *value { "true" } else { "false" }),
            Json::Number(number) => text.push_str(&crate::number::print_decimal(number)),
            Json::String(string) => quote_into(string, text),
            Json::Array(elements) => {
                text.push('[');
                for (place, element) in elements.0.iter().enumerate() {
                    text.push_str(if place > 0 { ", " } else { "" });
                    element.print_into(text);
                }
                text.push(']');
            }
            Json::Object(pairs) => {
                text.push('{');
                for (place, (key, value)) in pairs.0.iter().enumerate() {
                    text.push_str(if place > 0 { ", " } else { "" });
                    quote_into(&key.0, text);
                    text.push_str(": ");
                    value.print_into(text);
                }
                text.push('}');
            }
        }
    }

    /// What `->>` gives: strings without quotes, null as nothing.
    pub(crate) fn as_text(&self) -> Option<String> {
        match self {
            Json::Null => None,
            Json::String(string) => Some(string.clone()),
            other => Some(other.print()),
        }
    }

    /// The name that `jsonb_typeof` gives.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::String(_) => "string",
            Json::Number(_) => "number",
            Json::Boolean(_) => "boolean",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// Whether it contains another document, as `@>` says: objects by some of their pairs, arrays by some of their elements.
    pub(crate) fn contains(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Object(_), Json::Object(pairs)) => {
                pairs.0.iter().all(|(key, value)| self.get(&key.0).is_some_and(|mine| mine.contains(value)))
            }
            (Json::Array(mine), Json::Array(theirs)) => {
                theirs.0.iter().all(|wanted| mine.0.iter().any(|element| element.contains(wanted)))
            }
            _ => self == other,
        }
    }
}

/// The members of an object or array at its top, each in the text it was written in; elements of an array have no key. A scalar has
/// no members.
pub(crate) fn members(text: &str) -> Result<Vec<(Option<String>, &str)>, SqlError> {
    let mut reader = JsonReader { text, place: 0 };
    let mut members = Vec::new();
    reader.blanks();
    let closing = match reader.peek() {
        Some(b'{') => b'}',
        Some(b'[') => b']',
        _ => return Ok(members),
    };
    reader.place += 1;
    if reader.take(closing) {
        return Ok(members);
    }
    loop {
        reader.blanks();
        let key = if closing == b'}' { Some(reader.string()?) } else { None };
        if key.is_some() {
            reader.expect(b':')?;
        }
        reader.blanks();
        let start = reader.place;
        reader.value(1)?;
        members.push((key, &text[start..reader.place]));
        if reader.take(closing) {
            return Ok(members);
        }
        reader.expect(b',')?;
    }
}

/// A string in quotes.
pub(crate) fn quote(string: &str) -> String {
    let mut text = String::with_capacity(string.len() + 2);
    quote_into(string, &mut text);
    text
}

fn quote_into(string: &str, text: &mut String) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            control if (control as u32) < 0x20 => text.push_str(&format!("\\u{:04x}", control as u32)),
            other => text.push(other),
        }
    }
    text.push('"');
}

fn invalid() -> SqlError {
    SqlError::new(SqlState::INVALID_TEXT, "invalid input syntax for type json")
}

struct JsonReader<'text> {
    text: &'text str,
    place: usize,
}

impl JsonReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.place).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.place += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.blanks();
        let found = self.peek() == Some(byte);
        self.place += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), SqlError> {
        if self.take(byte) { Ok(()) } else { Err(invalid()) }
    }

    fn value(&mut self, depth: usize) -> Result<Json, SqlError> {
        if depth > DEEPEST {
            return Err(SqlError::new(SqlState::TOO_COMPLEX, format!("json nests deeper than {DEEPEST}")));
        }
        self.blanks();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Json, SqlError> {
        for (word, value) in [("null", Json::Null), ("true", Json::Boolean(true)), ("false", Json::Boolean(false))] {
            if self.text[self.place..].starts_with(word) {
                self.place += word.len();
                let ends = !self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                return if ends { Ok(value) } else { Err(invalid()) };
            }
        }
        Err(invalid())
    }

    fn array(&mut self, depth: usize) -> Result<Json, SqlError> {
        self.expect(b'[')?;
        let mut elements = Vec::new();
        if self.take(b']') {
            return Ok(Json::array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            if self.take(b']') {
                return Ok(Json::array(elements));
            }
            self.expect(b',')?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, SqlError> {
        self.expect(b'{')?;
        let mut pairs = Vec::new();
        if self.take(b'}') {
            return Ok(Json::object(pairs));
        }
        loop {
            self.blanks();
            let key = self.string()?;
            self.expect(b':')?;
            pairs.push((key, self.value(depth + 1)?));
            if self.take(b'}') {
                return Ok(Json::object(pairs));
            }
            self.expect(b',')?;
        }
    }

    fn number(&mut self) -> Result<Json, SqlError> {
        let start = self.place;
        self.place += usize::from(self.peek() == Some(b'-'));
        let whole = self.digits()?;
        if whole.len() > 1 && whole.starts_with('0') {
            return Err(invalid());
        }
        if self.peek() == Some(b'.') {
            self.place += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.place += 1;
            self.place += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        crate::number::parse_decimal(&self.text[start..self.place]).map(Json::Number)
    }

    fn digits(&mut self) -> Result<&str, SqlError> {
        let start = self.place;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.place += 1;
        }
        if self.place == start { Err(invalid()) } else { Ok(&self.text[start..self.place]) }
    }

    fn string(&mut self) -> Result<String, SqlError> {
        if self.peek() != Some(b'"') {
            return Err(invalid());
        }
        self.place += 1;
        let mut string = String::new();
        loop {
            let rest = &self.text[self.place..];
            let Some(character) = rest.chars().next() else { return Err(invalid()) };
            self.place += character.len_utf8();
            match character {
                '"' => return Ok(string),
                '\\' => string.push(self.escape()?),
                control if (control as u32) < 0x20 => return Err(invalid()),
                other => string.push(other),
            }
        }
    }

    fn escape(&mut self) -> Result<char, SqlError> {
        let byte = self.peek().ok_or_else(invalid)?;
        self.place += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => byte as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(invalid()),
        })
    }

    fn unicode(&mut self) -> Result<char, SqlError> {
        let high = self.four_digits()?;
        if !(0xD800..0xDC00).contains(&high) {
            return char::from_u32(high).filter(|character| *character != '\0').ok_or_else(invalid);
        }
        if !self.text[self.place..].starts_with("\\u") {
            return Err(invalid());
        }
        self.place += 2;
        let low = self.four_digits()?;
        if !(0xDC00..0xE000).contains(&low) {
            return Err(invalid());
        }
        char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)).ok_or_else(invalid)
    }

    fn four_digits(&mut self) -> Result<u32, SqlError> {
        let digits = self.text.get(self.place..self.place + 4).ok_or_else(invalid)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(invalid());
        }
        self.place += 4;
        u32::from_str_radix(digits, 16).map_err(|_| invalid())
    }
}
