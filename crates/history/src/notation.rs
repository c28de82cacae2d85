//! Histories in one line, for tests and docs.
//!
//! ```text
//!   a: r(x,init) w(x,1) | r(x,1)      two transactions of session a
//!   b: r(x,init) w(x,2) !             one of session b, aborted
//! ```
//!
//! A session per line, or `;` between sessions; its name may be left out. `|` between transactions. Events: `r(key,value)`,
//! `w(key,value)`, `append(key,element)`, `lock r(key,value)`, `scan(prefix: key=value …)`, `lock scan(…)`. Values are integers,
//! bare words, `"texts"`, `true`, `false`, `nil` (absent), `init` (read the initial version), `[1 2]` (a list). After a
//! transaction's events: `!` aborted by the database, `!!` by its program, `?` unknown; `@si` its level; `@17..42` its times.

use crate::builder::{ClaimedWriter, HistoryBuilder, Place, Problem, Refusal, ScanSpec, ScannedKey};
use crate::history::{Action, Event, EventId, History, Outcome, SessionId, Times, TransactionId, Writer};
use crate::level::IsolationLevel;
use crate::name::Name;
use crate::value::Value;
use std::fmt::Write as _;

const ADVICE: &str = "write a session per line, like `a: r(x,init) w(x,1) | r(x,1)`";

/// Reads a history in the notation.
pub fn parse(text: &str) -> Result<History, Refusal> {
    take_in(text)?.finish()
}

pub(crate) fn take_in(text: &str) -> Result<HistoryBuilder, Refusal> {
    let mut builder = HistoryBuilder::new();
    for (line, text) in text.lines().enumerate() {
        builder.at(Place::Line(line as u64 + 1));
        for session in text.split(';') {
            parse_session(&mut builder, session.trim())?;
        }
    }
    Ok(builder)
}

fn parse_session(builder: &mut HistoryBuilder, text: &str) -> Result<(), Refusal> {
    if text.is_empty() {
        return Ok(());
    }
    let (name, rest) = split_name(text);
    let session = match name {
        Some(name) => builder.session(name),
        None => fresh_session(builder),
    };
    for transaction in rest.split('|') {
        builder.begin(session, None)?;
        Reader { builder, rest: transaction.trim_start() }.transaction()?;
    }
    Ok(())
}

/// `a: …` has a name; the colon of `scan(p/: …)` comes after a bracket.
fn split_name(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        Some((name, rest)) if !name.contains(['(', ' ', '@']) => (Some(name), rest),
        _ => (None, text),
    }
}

fn fresh_session(builder: &mut HistoryBuilder) -> SessionId {
    let mut number = 1;
    loop {
        let name = format!("s{number}");
        if !builder.has_session(name.as_str()) {
            return builder.session(name.as_str());
        }
        number += 1;
    }
}

struct Reader<'a, 'b> {
    builder: &'a mut HistoryBuilder,
    rest: &'b str,
}

impl<'b> Reader<'_, 'b> {
    fn transaction(&mut self) -> Result<(), Refusal> {
        while !self.rest.is_empty() {
            if self.skip("!!") {
                self.builder.outcome(Outcome::AbortedByProgram);
            } else if self.skip("!") {
                self.builder.outcome(Outcome::AbortedByDatabase);
            } else if self.skip("?") {
                self.builder.outcome(Outcome::Unknown);
            } else if self.skip("@") {
                self.attribute()?;
            } else {
                self.event()?;
            }
            self.rest = self.rest.trim_start();
        }
        Ok(())
    }

    fn attribute(&mut self) -> Result<(), Refusal> {
        let end = self.rest.find([' ', '|', '!', '?', '@']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if let Some((begin, end)) = word.split_once("..") {
            let times = Times { begin: self.time(begin)?, end: self.time(end)? };
            return self.builder.times(times);
        }
        let level = word.parse().ok().filter(|&level| level != IsolationLevel::Declared);
        let level =
            level.ok_or_else(|| self.refuse(format!("`@{word}` is neither a level nor times like `@17..42`")))?;
        self.builder.level(level);
        Ok(())
    }

    fn time(&self, text: &str) -> Result<Option<i64>, Refusal> {
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| self.refuse(format!("`{text}` is not a time")))
    }

    fn event(&mut self) -> Result<(), Refusal> {
        let locking = self.skip("lock ");
        self.rest = self.rest.trim_start();
        if self.skip("scan(") {
            return self.scan(locking);
        }
        let action = if self.skip("r(") {
            Action::Read
        } else if self.skip("w(") {
            Action::Write
        } else if self.skip("append(") {
            Action::Append
        } else {
            return Err(self.refuse(format!("expected an event at `{}`", shorten(self.rest))));
        };
        let inside = self.until(')')?;
        let (key, value) = inside.split_once(',').ok_or_else(|| self.refuse(format!("`({inside})` has no comma")))?;
        let (value, initial) = self.value(value)?;
        if action != Action::Read && (initial || locking || value.is_list()) {
            return Err(self.refuse(format!("`({inside})` is something that only a read can have")));
        }
        if action == Action::Append && value.is_absent() {
            return Err(self.refuse(format!("`({inside})` appends nothing")));
        }
        let key = self.builder.key(key.trim());
        self.builder.event(Event { locking, ..Event::new(action, key, value) });
        if initial {
            self.builder.claim(ClaimedWriter::Initial);
        }
        Ok(())
    }

    fn scan(&mut self, locking: bool) -> Result<(), Refusal> {
        let inside = self.until(')')?;
        let (prefix, listed) = inside
            .split_once(':')
            .ok_or_else(|| self.refuse(format!("`scan({inside})` has no colon after its prefix")))?;
        let mut reads = Vec::new();
        let (listed, except) = listed.split_once(" except ").unwrap_or((listed, ""));
        let except: Vec<&str> = except.split_whitespace().collect();
        for item in listed.split_whitespace() {
            let (key, value) =
                item.split_once('=').ok_or_else(|| self.refuse(format!("`{item}` is not like `key=value`")))?;
            let (value, initial) = self.value(value)?;
            let writer = initial.then_some(ClaimedWriter::Initial);
            reads.push(ScannedKey { key, value, writer });
        }
        self.builder.scan(ScanSpec { prefix: prefix.trim(), locking, except: &except, ..ScanSpec::default() }, &reads)
    }

    /// The value, and whether it is the initial version.
    fn value(&mut self, text: &str) -> Result<(Value, bool), Refusal> {
        let text = text.trim();
        if let Some(list) = text.strip_prefix('[') {
            let Some(list) = list.strip_suffix(']') else {
                return Err(self.refuse(format!("`{text}` does not end with a bracket")));
            };
            let elements =
                list.split_whitespace().map(|element| self.element(element)).collect::<Result<Vec<_>, _>>()?;
            // A list without elements is one that nobody appended to.
            let value = if elements.is_empty() { Value::ABSENT } else { self.builder.values().list(elements) };
            return Ok((value, false));
        }
        Ok((self.scalar(text)?, text == "init"))
    }

    fn element(&mut self, text: &str) -> Result<Value, Refusal> {
        match self.scalar(text)? {
            element if element.is_absent() => Err(self.refuse(format!("`{text}` cannot be an element of a list"))),
            element => Ok(element),
        }
    }

    fn scalar(&mut self, text: &str) -> Result<Value, Refusal> {
        let values = self.builder.values();
        Ok(match text {
            "init" | "nil" => Value::ABSENT,
            "true" | "false" => values.boolean(text == "true"),
            "" => return Err(self.refuse("a value is missing".to_owned())),
            _ => match text.parse::<i64>() {
                Ok(number) => values.integer(number),
                Err(_) => values.text(text.trim_matches('"')),
            },
        })
    }

    fn skip(&mut self, word: &str) -> bool {
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn until(&mut self, end: char) -> Result<&'b str, Refusal> {
        let (inside, rest) =
            self.rest.split_once(end).ok_or_else(|| self.refuse(format!("`{}` has no `{end}`", shorten(self.rest))))?;
        self.rest = rest;
        Ok(inside)
    }

    fn refuse(&self, what: String) -> Refusal {
        self.builder.refuse(Problem::malformed(what, ADVICE))
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(20).collect()
}

/// Writes a history in the notation, a session per line. Transaction ids, notes and claims other than `init` are left out.
pub fn write(history: &History) -> String {
    let mut out = String::new();
    for session in history.sessions() {
        write!(out, "{}:", history.session_name(session)).expect("writing to a string");
        for (place, transaction) in history.transactions_of(session).enumerate() {
            out.push_str(if place > 0 { " |" } else { "" });
            write_transaction(history, transaction, &mut out);
        }
        out.push('\n');
    }
    out
}

fn write_transaction(history: &History, transaction: TransactionId, out: &mut String) {
    for (number, event) in history.numbered_events_of(transaction) {
        write!(out, " {}", show_event(history, number, event)).expect("writing to a string");
    }
    out.push_str(match history.outcome(transaction) {
        Outcome::Committed => "",
        Outcome::AbortedByDatabase => " !",
        Outcome::AbortedByProgram => " !!",
        Outcome::Unknown => " ?",
    });
    if let Some(level) = history.declared_level(transaction) {
        write!(out, " @{level}").expect("writing to a string");
    }
    let Times { begin, end } = history.times(transaction);
    if begin.is_some() || end.is_some() {
        let show = |time: Option<i64>| time.map_or(String::new(), |time| time.to_string());
        write!(out, " @{}..{}", show(begin), show(end)).expect("writing to a string");
    }
}

/// An event as the notation writes it.
pub fn show_event(history: &History, number: EventId, event: &Event) -> String {
    let action = match (event.action, event.locking) {
        (Action::Read, false) => "r",
        (Action::Read, true) => "lock r",
        (Action::Write, _) => "w",
        (Action::Append, _) => "append",
    };
    let initial = event.is_read() && history.claim(number) == Some(Writer::Initial);
    let value = if initial { "init".to_owned() } else { history.show(event.value).to_string() };
    format!("{action}({},{value})", Name::to_string(&history.key_name(event.key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(text: &str) -> String {
        write(&parse(text).unwrap())
    }

    #[test]
    fn what_is_written_reads_back() {
        let text = "a: r(x,init) w(x,1) | r(x,1) @snapshot\nb: lock r(x,nil) w(y,\"z\") ! | append(l,1) ?\nc: r(l,[1 2]) !! @3..9\n";
        assert_eq!(round(text), text);
    }

    #[test]
    fn sessions_may_be_nameless_and_empty_transactions_stay() {
        assert_eq!(round("w(x,1); r(x,1) |"), "s1: w(x,1)\ns2: r(x,1) |\n");
    }

    #[test]
    fn an_empty_list_is_absent() {
        assert_eq!(round("a: r(x,[])"), "a: r(x,nil)\n");
    }

    #[test]
    fn a_scan_reads_every_key_of_its_range_in_order() {
        let text = "a: scan(p/: p/2=5) ; b: w(p/10,1) w(p/2,5) w(q,1) w(p/2#c,4)";
        assert_eq!(round(text).lines().next(), Some("a: r(p/2,5) r(p/10,nil)"));
        let left_out = "a: scan(p/: p/2=5 except p/10 p/11) ; b: w(p/10,1) w(p/2,5) w(p/3,1)";
        assert_eq!(round(left_out).lines().next(), Some("a: r(p/2,5) r(p/3,nil)"));
        assert!(parse("a: scan(p/: p/2=5 except p/2) ; b: w(p/2,5)").is_err());
    }

    #[test]
    fn mistakes_name_their_line() {
        let refusal = parse("a: w(x,1)\nb: q(x,1)").unwrap_err();
        assert_eq!(refusal.to_string(), "line 2: expected an event at `q(x,1)`");
        assert_eq!(parse("").unwrap_err().problem, Problem::Empty);
        for text in ["append(x,nil)", "r(x,[1 nil])", "w(x,1) @declared", "w(x,[1])", "lock w(x,1)"] {
            assert!(parse(text).unwrap_err().to_string().starts_with("line 1: "), "{text}");
        }
        let refusal = parse("a: scan(p/: q/1=3)").unwrap_err();
        assert!(refusal.to_string().contains("not in its range"));
    }
}
