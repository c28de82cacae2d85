//! Names and events in words.
//!
//! ```text
//!   r(x,init)   read x = 0 (initial)          w(x,1)        write x = 1
//!   r(x,[1 2])  read x = [1 2]                append(x,3)   append 3 to x
//! ```
//!
//! Names and values come from a file that anybody may have written: control characters, which could move the cursor of a
//! terminal or break a drawing, are shown by their code.

use rustc_hash::FxHashMap;
use skew_check::{AnomalyKind, Told};
use skew_history::{Action, EventId, History, KeyId, Outcome, Refused, TransactionId, Value, Writer};
use std::fmt::Write as _;

/// The longest value that is shown whole.
const LONGEST_VALUE: usize = 48;

/// The text without control characters.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            // The second range turns the direction of writing, so that a line reads as something else than it says.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => push_code(&mut out, letter),
            letter if letter.is_control() => push_code(&mut out, letter),
            letter => out.push(letter),
        }
    }
    out
}

fn push_code(out: &mut String, letter: char) {
    write!(out, "{}", letter.escape_unicode()).expect("writing to a string");
}

/// The name of a transaction, as the input has it; where only a transaction can stand.
fn bare_transaction(history: &History, transaction: TransactionId) -> String {
    clean(&history.transaction_name(transaction).to_string())
}

/// The name of a transaction; one that is a bare number with its noun, `transaction 4`.
pub fn transaction(history: &History, transaction: TransactionId) -> String {
    clean(&history.transaction_in_words(transaction))
}

/// The name of a writer at the end of an arrow; the initial state has one too.
pub fn writer(history: &History, writer: Writer) -> String {
    match writer {
        Writer::Initial => "the initial state".to_owned(),
        Writer::Transaction(id) => bare_transaction(history, id),
    }
}

/// The name of a key; one that is a bare number with its noun, `key 1`.
pub fn key(history: &History, key: KeyId) -> String {
    clean(&history.key_in_words(key))
}

/// A value; a long one without its middle.
pub fn value(history: &History, value: Value) -> String {
    without_middle(clean(&history.show(value).to_string()))
}

/// The extra fields of a line of the input, such as `sql: "SELECT 1"`; long ones without their middle.
pub fn note(members: &str) -> String {
    let shown = match members.strip_prefix('"').and_then(|rest| rest.split_once("\":")) {
        Some((name, rest)) => format!("{name}: {rest}"),
        None => members.to_owned(),
    };
    without_middle(clean(&shown))
}

fn without_middle(shown: String) -> String {
    let length = shown.chars().count();
    if length <= LONGEST_VALUE {
        return shown;
    }
    let start: String = shown.chars().take(LONGEST_VALUE / 2).collect();
    let end: String = shown.chars().skip(length - LONGEST_VALUE / 2).collect();
    format!("{start}…{end}")
}

/// What an event did. `initial` says that it read the initial version.
pub fn event(history: &History, number: EventId, initial: bool) -> String {
    let event = history.event(number);
    let (key, shown) = (key(history, event.key), value(history, event.value));
    let lock = if event.locking { "lock and " } else { "" };
    let scan = if event.scanned { " (scan)" } else { "" };
    let initially = if initial { " (initial)" } else { "" };
    match event.action {
        Action::Read => match history.gone(number) {
            Some(by) => format!("{lock}read {key}: gone by {}", transaction(history, by)),
            None if event.value.is_found() => format!("{lock}read {key}: found{initially}"),
            None => format!("{lock}read {key} = {shown}{initially}{scan}"),
        },
        Action::Write if event.value.is_absent() => format!("delete {key}"),
        Action::Write => format!("write {key} = {shown}"),
        Action::Append => format!("append {shown} to {key}"),
    }
}

/// What an anomaly is called in a sentence: `lost update`, but `read-only anomaly`.
pub fn anomaly(kind: AnomalyKind) -> String {
    match kind {
        AnomalyKind::ReadOnlyAnomaly => "read-only anomaly".to_owned(),
        AnomalyKind::NonRepeatableRead => "non-repeatable read".to_owned(),
        AnomalyKind::ThinAir => "thin-air read".to_owned(),
        AnomalyKind::RealTimeViolation => "real-time violation".to_owned(),
        kind => kind.name().replace('-', " "),
    }
}

/// Lines of at most so many letters, broken at spaces; a longer word stays whole.
pub fn wrap(text: &str, letters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= letters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// How a transaction ended, where that is worth a word.
pub fn outcome(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Committed => None,
        Outcome::AbortedByDatabase => Some("aborted"),
        Outcome::AbortedByProgram => Some("rolled back"),
        Outcome::Unknown => Some("outcome unknown"),
    }
}

/// How the database refused a transaction, where the input says so: `refused with 40001 at statement 2`.
pub fn refusal(history: &History, transaction: TransactionId) -> Option<String> {
    let Refused { error, statement } = history.refusal(transaction)?;
    let place = if statement > 0 { format!(" at statement {statement}") } else { String::new() };
    Some(without_middle(clean(&format!("refused with {error}{place}"))))
}

/// An edge as a sentence: `t1 → t2 (rw on x): t1 read x = 0, which t2 overwrote with 2`.
pub fn edge(history: &History, told: &Told) -> String {
    let because = clean(&told.because);
    if told.from == told.to {
        return because;
    }
    let (from, to) = (writer(history, told.from), writer(history, told.to));
    match told.key {
        Some(id) => format!("{from} → {to} ({} on {}): {because}", told.kind.letters(), key(history, id)),
        None => format!("{from} → {to} ({}): {because}", told.kind.letters()),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn enumeration(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Who wrote what, to find the writer of what was read.
pub struct Versions {
    writer_of: FxHashMap<(KeyId, Value), Option<Writer>>,
}

impl Versions {
    /// All versions of a history.
    pub fn new(history: &History) -> Versions {
        let mut writer_of = FxHashMap::default();
        for transaction in history.transactions() {
            for event in history.events_of(transaction).iter().filter(|event| !event.is_read()) {
                let writer = Writer::Transaction(transaction);
                let known = writer_of.entry((event.key, event.value)).or_insert(Some(writer));
                // Two writers of one value: the value alone does not say which was read.
                *known = known.filter(|&known| known == writer);
            }
        }
        Versions { writer_of }
    }

    /// Who wrote what this event read, where that is certain.
    pub fn writer_of(&self, history: &History, number: EventId) -> Option<Writer> {
        let event = history.event(number);
        if !event.is_read() {
            return None;
        }
        let claim = history.claim(number).or(history.gone(number).map(Writer::Transaction));
        if claim.is_some() {
            return claim;
        }
        let version = match history.elements(event.value).last() {
            Some(&last) => last,
            None if event.value.is_list() => Value::ABSENT,
            None => event.value,
        };
        let is_initial = version == history.initial(event.key);
        match self.writer_of.get(&(event.key, version)) {
            None => is_initial.then_some(Writer::Initial),
            Some(writer) => writer.filter(|_| !is_initial),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skew_history::notation;

    #[test]
    fn control_characters_are_shown_by_their_code() {
        assert_eq!(clean("a\u{1b}[31m\nb"), "a\\u{1b}[31m\\u{a}b");
        assert_eq!(clean("é→"), "é→");
    }

    #[test]
    fn long_sentences_go_on_in_the_next_line() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    }

    #[test]
    fn events_are_words() {
        let told = |text: &str, count| -> Vec<String> {
            let history = notation::parse(text).unwrap();
            (0..count).map(|number| event(&history, EventId(number), false)).collect()
        };
        let words = told("a: r(x,init) lock r(y,2) w(x,nil) append(l,3)", 4);
        assert_eq!(words, ["read x = nil", "lock and read y = 2", "delete x", "append 3 to l"]);
        let words = told("a: r(x,found)@1:insert lock r(x,gone)@2:update<-b#0; b: w(x,nil) w(x,1)", 2);
        assert_eq!(words, ["read x: found", "lock and read x: gone by b#0"]);
    }

    #[test]
    fn a_refusal_has_its_error_and_its_statement() {
        let history = notation::parse("a: w(x,1) !40001@2 | w(x,2) !1213 | w(x,3) !").unwrap();
        let words: Vec<_> = history.transactions().map(|transaction| refusal(&history, transaction)).collect();
        let first = words[0].as_deref();
        assert_eq!(
            (first, words[1].as_deref()),
            (Some("refused with 40001 at statement 2"), Some("refused with 1213"))
        );
        assert_eq!(words[2], None);
    }

    #[test]
    fn extra_fields_are_shown_as_the_input_has_them() {
        assert_eq!(note("\"sql\":\"SELECT 1\""), "sql: \"SELECT 1\"");
        assert_eq!(note("\"at\":7,\"by\":\"me\""), "at: 7,\"by\":\"me\"");
    }

    #[test]
    fn a_long_value_loses_its_middle() {
        let text = format!("a: r(l,[{}])", (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join(" "));
        let history = notation::parse(&text).unwrap();
        let shown = value(&history, history.event(EventId(0)).value);
        assert!(shown.starts_with("[0 1 2") && shown.ends_with("98 99]") && shown.contains('…'), "{shown}");
    }

    #[test]
    fn a_read_finds_its_writer_unless_two_could_be_meant() {
        let history = notation::parse("a: w(x,1) w(y,1); b: w(y,1); c: r(x,1) r(y,1) r(z,nil) r(x,7)").unwrap();
        let versions = Versions::new(&history);
        let found: Vec<_> = (3..7).map(|event| versions.writer_of(&history, EventId(event))).collect();
        assert_eq!(found, [Some(Writer::Transaction(TransactionId(0))), None, Some(Writer::Initial), None]);
    }
}
