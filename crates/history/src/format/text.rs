//! What the text formats share: lines, places, numbers.
//!
//! A text is checked for UTF-8 once, as a whole, which costs almost nothing and lets every scanner cut names out of it. A byte
//! order mark at the start and `\r` before `\n` are not part of any format and are dropped.

use crate::builder::{Place, Problem, Refusal};
use std::cell::Cell;

/// The text, or the line of the first byte that is none.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, Refusal> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let line = 1 + count_newlines(&bytes[..at]);
        let what = format!("the byte 0x{:02x} is not UTF-8 text", bytes[at]);
        let advice = "convert the file to UTF-8, or name its format with `--from` if it is a binary one";
        Refusal { place: Place::Line(line), problem: Problem::malformed(what, advice) }
    })?;
    refuse_long_line(text, LONGEST_LINE)?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// No line of a history is that long, and what would be made of it has no room in memory.
const LONGEST_LINE: usize = 1 << 30;

/// Refuses a text with a line of more bytes than this.
pub(super) fn refuse_long_line(text: &str, longest: usize) -> Result<(), Refusal> {
    // Nearly all files end here.
    if text.len() <= longest {
        return Ok(());
    }
    match lines(text).find(|(_, content)| content.len() > longest) {
        Some((line, _)) => {
            let what = format!("a line of more than {longest} bytes");
            Err(refuse(line, what, "check that the file is whole; put every transaction on a line of its own"))
        }
        None => Ok(()),
    }
}

pub(super) fn count_newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// The lines with their numbers, without their ends.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)))
}

/// A refusal at a line.
pub(super) fn refuse(line: u64, what: impl Into<String>, advice: &'static str) -> Refusal {
    Refusal { place: Place::Line(line), problem: Problem::malformed(what, advice) }
}

/// At most so much of the input as fits a message, with control characters made visible.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

/// The integer of at most 64 bits, signed or unsigned, that is written here.
pub(super) fn integer(text: &str) -> Result<i128, NotAnInteger> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NotAnInteger::Shape);
    }
    let number: i128 = text.parse().map_err(|_| NotAnInteger::Size)?;
    if fits_64_bits(number) { Ok(number) } else { Err(NotAnInteger::Size) }
}

/// Whether a number is one of 64 bits, signed or unsigned.
pub(super) fn fits_64_bits(number: i128) -> bool {
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&number)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NotAnInteger {
    /// Something else than digits.
    Shape,
    /// Too large.
    Size,
}

impl NotAnInteger {
    pub(super) fn at(self, line: u64, text: &str) -> Refusal {
        match self {
            NotAnInteger::Shape => refuse(line, format!("`{}` is not an integer", excerpt(text)), "write an integer"),
            NotAnInteger::Size => refuse(line, format!("the number {} has more than 64 bits", excerpt(text)), BEYOND),
        }
    }
}

pub(super) const BEYOND: &str = "use numbers of at most 64 bits, or texts";

/// Lines of places that are mostly asked for in ascending order.
pub(super) struct Lines<'a> {
    text: &'a str,
    first_line: u64,
    /// Up to where newlines were counted, and how many there were.
    counted: Cell<(usize, u64)>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str, first_line: u64) -> Lines<'a> {
        Lines { text, first_line, counted: Cell::new((0, 0)) }
    }

    pub(super) fn place(&self, at: usize) -> Place {
        let (mut from, mut newlines) = self.counted.get();
        if at < from {
            (from, newlines) = (0, 0);
        }
        let at = at.min(self.text.len());
        newlines += count_newlines(&self.text.as_bytes()[from..at]);
        self.counted.set((at, newlines));
        Place::Line(self.first_line + newlines)
    }

    pub(super) fn refuse(&self, at: usize, what: impl Into<String>, advice: &'static str) -> Refusal {
        Refusal { place: self.place(at), problem: Problem::malformed(what, advice) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_refused_with_its_number() {
        assert_eq!(refuse_long_line("ab\ncd\r\nef", 2), Ok(()));
        assert_eq!(refuse_long_line("ab\ncde", 2).unwrap_err().to_string(), "line 2: a line of more than 2 bytes");
    }

    #[test]
    fn a_byte_that_is_not_text_is_named_with_its_line() {
        let refusal = utf8(b"a\nb\nc\xff").unwrap_err();
        assert_eq!(refusal.to_string(), "line 3: the byte 0xff is not UTF-8 text");
        assert_eq!(utf8(b"\xef\xbb\xbfa").unwrap(), "a");
    }

    #[test]
    fn integers_end_at_64_bits() {
        assert_eq!(integer("18446744073709551615"), Ok(u64::MAX.into()));
        assert_eq!(integer("-9223372036854775808"), Ok(i64::MIN.into()));
        assert_eq!(integer("18446744073709551616"), Err(NotAnInteger::Size));
        assert_eq!(integer(&"9".repeat(100)), Err(NotAnInteger::Size));
        assert_eq!(integer("1x"), Err(NotAnInteger::Shape));
        assert_eq!(integer("-"), Err(NotAnInteger::Shape));
    }

    #[test]
    fn places_are_found_forwards_and_backwards() {
        let lines = Lines::new("a\nb\nc", 10);
        assert_eq!(lines.place(4), Place::Line(12));
        assert_eq!(lines.place(0), Place::Line(10));
    }
}
