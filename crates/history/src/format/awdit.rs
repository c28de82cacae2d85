//! The text of AWDIT's tests.
//!
//! ```text
//!   w 0 0
//!   =====          another session
//!   r 0 0
//!   -----          another transaction of the session
//!   w 0 1
//! ```
//!
//! There are no implicit initial values: whatever is read should be written somewhere, usually by a first session.

use super::known::{FormatReader, KnownFormat, Likeness};
use super::text::{NotAnInteger, excerpt, integer, lines, refuse};
use crate::builder::{HistoryBuilder, Place, Refusal};
use crate::history::{Action, Event};

const ADVICE: &str = "a line is `r key value` or `w key value`; `-----` separates transactions and `=====` sessions";

pub(super) const KNOWN: KnownFormat = KnownFormat {
    name: "awdit",
    aliases: &["awdit-test"],
    description: "AWDIT's tests, text",
    extension: None,
    likeness: |look| Likeness::strong(look.first_line(is_plausible)),
    read: FormatReader::Text(read),
    write: None,
};

fn read(text: &str) -> Result<HistoryBuilder, Refusal> {
    let mut builder = HistoryBuilder::new();
    let mut session = 0;
    let (mut session_is_new, mut transaction_is_new) = (true, true);
    for (line, content) in lines(text) {
        let content = content.trim();
        match separator(content) {
            _ if content.is_empty() => {}
            Some('=') => (session_is_new, transaction_is_new) = (true, true),
            Some(_) => transaction_is_new = true,
            None => {
                builder.at(Place::Line(line));
                if transaction_is_new {
                    session += i64::from(session_is_new);
                    let session = builder.session(session);
                    builder.begin(session, None)?;
                    (session_is_new, transaction_is_new) = (false, false);
                }
                event(&mut builder, content, line)?;
            }
        }
    }
    Ok(builder)
}

fn separator(content: &str) -> Option<char> {
    let first = content.chars().next().filter(|first| ['=', '-'].contains(first))?;
    content.chars().all(|letter| letter == first).then_some(first)
}

fn event(builder: &mut HistoryBuilder, content: &str, line: u64) -> Result<(), Refusal> {
    let mut words = content.split_ascii_whitespace();
    let (Some(action @ ("r" | "w")), Some(key), Some(value), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(refuse(line, format!("`{}` is not an event", excerpt(content)), ADVICE));
    };
    let action = if action == "r" { Action::Read } else { Action::Write };
    let key = builder.key(key);
    let value = match integer(value) {
        Ok(number) => builder.values().integer(number),
        Err(NotAnInteger::Shape) => builder.values().text(value),
        Err(size) => return Err(size.at(line, value)),
    };
    builder.event(Event::new(action, key, value));
    Ok(())
}

/// Whether a line looks like one of this format.
fn is_plausible(line: &str) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_rule = separator(line.trim()).is_some() && line.trim().len() >= 3;
    is_rule || matches!(words[..], ["r" | "w", _, _])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::notation;

    fn read(text: &str) -> Result<History, Refusal> {
        super::read(text)?.finish()
    }

    #[test]
    fn rules_separate_transactions_and_sessions() {
        let text = "w 0 0\n=====\nr 0 0\r\n-----\nw x 1\n\n=====\n=====\nr 0 abc\n-----\n";
        assert_eq!(notation::write(&read(text).unwrap()), "1: w(0,0)\n2: r(0,0) | w(x,1)\n3: r(0,\"abc\")\n");
    }

    #[test]
    fn mistakes_name_their_line() {
        assert_eq!(read("w 0 0\nw 0").unwrap_err().to_string(), "line 2: `w 0` is not an event");
        let refusal = read("w 0 99999999999999999999").unwrap_err();
        assert!(refusal.to_string().starts_with("line 1: the number"), "{refusal}");
        assert!(read("=====").unwrap_err().to_string().contains("no transaction"));
    }
}
