//! What is wrong with an input, and what stands at that place.
//!
//! ```text
//!   error: a.jsonl: line 3: expected an event at `q(x,1)`
//!     3 | b: q(x,1)
//! ```

use super::{Input, NamedBytes};
use crate::Complaint;
use skew_history::Place;
use skew_history::format::ReadError;
use skew_view::words::clean;

/// How much of a line is shown.
const LONGEST_EXCERPT: usize = 100;

/// A reader's error, with what stands at its place.
pub(super) fn complaint(input: &Input, error: &ReadError) -> Complaint {
    let at_fault = input.files.iter().find(|file| file.name == error.file);
    let is_log = super::archive::is_cobra_log(&error.file);
    Complaint {
        // A packed file has lost its ending in the reader's eyes; the user knows it by the whole name.
        file: if input.files.len() == 1 && !is_log { input.name.clone() } else { error.file.clone() },
        excerpt: at_fault.or(input.files.first()).and_then(|file| excerpt(file, error.place)),
        ..Complaint::of_file(error)
    }
}

fn excerpt(file: &NamedBytes, place: Place) -> Option<String> {
    match place {
        Place::Whole => None,
        Place::Line(number) => {
            let index = usize::try_from(number.checked_sub(1)?).ok()?;
            let line = file.bytes.split(|&byte| byte == b'\n').nth(index)?;
            // The first bytes are enough: a line may be of 2 GB.
            let start = &line[..line.len().min(4 * LONGEST_EXCERPT)];
            let text = clean(String::from_utf8_lossy(start).trim_end());
            let mut shown: String = text.chars().take(LONGEST_EXCERPT).collect();
            if shown.len() < text.len() || start.len() < line.len() {
                shown.push('…');
            }
            Some(format!("{number} | {shown}"))
        }
        Place::Byte(number) => {
            let start = usize::try_from(number).ok()?;
            let bytes = file.bytes.get(start..start.saturating_add(16).min(file.bytes.len()))?;
            let shown: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            (!shown.is_empty()).then(|| format!("{number} | {}", shown.join(" ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_shows_the_line_or_the_bytes_and_never_too_much() {
        let file = |bytes: &[u8]| NamedBytes { name: String::new(), bytes: bytes.to_vec() };
        assert_eq!(excerpt(&file(b"a\nb\x1b\nc"), Place::Line(2)).as_deref(), Some("2 | b\\u{1b}"));
        assert_eq!(excerpt(&file(b"abc"), Place::Byte(1)).as_deref(), Some("1 | 62 63"));
        assert_eq!(excerpt(&file(b"abc"), Place::Byte(3)), None);
        assert_eq!(excerpt(&file(b"abc"), Place::Line(0)), None);
        assert_eq!(excerpt(&file(b"abc"), Place::Byte(u64::MAX)), None);
        let long = excerpt(&file(&[b'x'; 100_000]), Place::Line(1)).unwrap();
        assert!(long.chars().count() < 120 && long.ends_with('…'));
    }
}
