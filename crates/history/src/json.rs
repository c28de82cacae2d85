//! JSON as it is written here: whoever writes a history quotes its texts with this, so that one text has one spelling.

use crate::name::Name;
use crate::value::{Value, ValueView, Values};
use std::io::Write as _;

/// Adds a text with its quotes. Line ends, tabs and the other characters with a short escape have it, other control characters have
/// their number, everything else stands for itself.
pub(crate) fn push_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.push(b'"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate().filter(|&(_, byte)| byte < 0x20 || byte == b'"' || byte == b'\\') {
        bytes.extend_from_slice(&text.as_bytes()[plain..at]);
        match byte {
            b'"' => bytes.extend_from_slice(b"\\\""),
            b'\\' => bytes.extend_from_slice(b"\\\\"),
            b'\n' => bytes.extend_from_slice(b"\\n"),
            b'\t' => bytes.extend_from_slice(b"\\t"),
            b'\r' => bytes.extend_from_slice(b"\\r"),
            0x08 => bytes.extend_from_slice(b"\\b"),
            0x0c => bytes.extend_from_slice(b"\\f"),
            byte => bytes.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        plain = at + 1;
    }
    bytes.extend_from_slice(&text.as_bytes()[plain..]);
    bytes.push(b'"');
}

/// Adds an integer.
#[inline]
pub(crate) fn push_integer(bytes: &mut Vec<u8>, number: impl itoa::Integer) {
    bytes.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Adds a name, integers as such.
#[inline]
pub(crate) fn push_name(bytes: &mut Vec<u8>, name: Name<'_>) {
    match name {
        Name::Integer(number) => push_integer(bytes, number),
        Name::Text(text) => push_text(bytes, text),
    }
}

/// Adds a value of a history.
pub(crate) fn push_value(bytes: &mut Vec<u8>, values: &Values, value: Value) {
    match values.view(value) {
        ValueView::Absent => bytes.extend_from_slice(b"null"),
        // Its member is called `found`.
        ValueView::Found => bytes.extend_from_slice(b"true"),
        ValueView::Integer(number) => push_integer(bytes, number),
        // With an exponent where it is large: an integer of three hundred digits would not read back.
        ValueView::Real(number) => write!(bytes, "{number:?}").expect("memory takes everything"),
        ValueView::Text(text) => push_text(bytes, text),
        ValueView::Boolean(truth) => bytes.extend_from_slice(if truth { b"true" } else { b"false" }),
        ValueView::List(elements) => {
            bytes.push(b'[');
            for (place, &element) in elements.iter().enumerate() {
                if place > 0 {
                    bytes.push(b',');
                }
                push_value(bytes, values, element);
            }
            bytes.push(b']');
        }
    }
}

/// A text with its quotes.
pub fn quoted(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    push_text(&mut bytes, text);
    String::from_utf8(bytes).expect("escapes are text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_as_little_as_json_allows() {
        assert_eq!(quoted("a\"b\\c/é\u{7f}"), "\"a\\\"b\\\\c/é\u{7f}\"");
        assert_eq!(quoted("\n\t\r\u{8}\u{c}\u{1}\u{1f}"), r#""\n\t\r\b\f\u0001\u001f""#);
        assert_eq!(quoted(""), "\"\"");
    }
}
