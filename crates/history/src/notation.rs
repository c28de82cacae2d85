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
//!
//! Keys are absent at first. Those that are not stand in front of all sessions, on a line without a name; `init` is what stands there. A
//! read of a value that several wrote may say whose it is, by session and place: `a#0` is the first transaction of session a.
//!
//! ```text
//!   init(x,100) init(l,[1 2])
//!   a: r(x,init) w(x,7)
//!   b: w(x,7)
//!   c: r(x,7)<-a#0
//! ```

use crate::builder::{ClaimedWriter, HistoryBuilder, Place, Problem, Refusal, ScanSpec, ScannedKey};
use crate::history::{Action, Event, EventId, History, Outcome, SessionId, Times, TransactionId, Writer};
use crate::level::IsolationLevel;
use crate::name::Name;
use crate::value::Value;
use std::fmt::Write as _;

/// What an initial value begins with, and a claim.
pub(crate) const INITIAL: &str = "init(";
pub(crate) const CLAIM: &str = "<-";

const ADVICE: &str = "write a session per line, like `a: r(x,init) w(x,1) | r(x,1)`";

/// Reads a history in the notation.
pub fn parse(text: &str) -> Result<History, Refusal> {
    take_in(text)?.finish()
}

pub(crate) fn take_in(text: &str) -> Result<HistoryBuilder, Refusal> {
    let mut builder = HistoryBuilder::new();
    // Transactions have names only where reads speak of them.
    let named = text.contains(CLAIM);
    for (line, text) in text.lines().enumerate() {
        builder.at(Place::Line(line as u64 + 1));
        for session in text.split(';') {
            parse_session(&mut builder, session.trim(), named)?;
        }
    }
    Ok(builder)
}

fn parse_session(builder: &mut HistoryBuilder, text: &str, named: bool) -> Result<(), Refusal> {
    if text.is_empty() {
        return Ok(());
    }
    if text.starts_with(INITIAL) {
        return NotationReader { builder, rest: text }.initial();
    }
    let (name, rest) = split_name(text);
    let (session, name) = match name {
        Some(name) => (builder.session(name), name.to_owned()),
        None => fresh_session(builder),
    };
    for transaction in rest.split('|') {
        let id = named.then(|| format!("{name}#{}", builder.transactions_in(session)));
        builder.begin(session, id.as_deref().map(Name::from))?;
        NotationReader { builder, rest: transaction.trim_start() }.transaction()?;
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

fn fresh_session(builder: &mut HistoryBuilder) -> (SessionId, String) {
    let mut number = 1;
    loop {
        let name = format!("s{number}");
        if !builder.has_session(name.as_str()) {
            return (builder.session(name.as_str()), name);
        }
        number += 1;
    }
}

struct NotationReader<'a, 'b> {
    builder: &'a mut HistoryBuilder,
    rest: &'b str,
}

impl<'b> NotationReader<'_, 'b> {
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

    /// Values that keys have at first.
    fn initial(&mut self) -> Result<(), Refusal> {
        if self.builder.has_transactions() {
            return Err(self.refuse("initial values stand in front of all transactions".to_owned()));
        }
        while self.skip(INITIAL) {
            let inside = self.until(')')?;
            let (key, value) = self.key_and_value(inside)?;
            let (value, initial) = self.value(value)?;
            if initial {
                return Err(self.refuse(format!("`({inside})` is no value")));
            }
            let key = self.builder.key(key);
            self.builder.initial(key, value);
            self.rest = self.rest.trim_start();
        }
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(self.refuse(format!("expected an initial value at `{}`", shorten(self.rest)))),
        }
    }

    fn key_and_value(&self, inside: &'b str) -> Result<(&'b str, &'b str), Refusal> {
        let (key, value) = inside.split_once(',').ok_or_else(|| self.refuse(format!("`({inside})` has no comma")))?;
        Ok((key.trim(), value))
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
        let (key, value) = self.key_and_value(inside)?;
        let (mut value, initial) = self.value(value)?;
        if action != Action::Read && (initial || locking || value.is_list()) {
            return Err(self.refuse(format!("`({inside})` is something that only a read can have")));
        }
        if action == Action::Append && value.is_absent() {
            return Err(self.refuse(format!("`({inside})` appends nothing")));
        }
        let key = self.builder.key(key);
        if initial {
            value = self.builder.given_initial(key);
        }
        self.builder.event(Event { locking, ..Event::new(action, key, value) });
        if initial {
            self.builder.claim(ClaimedWriter::Initial);
        }
        self.claim(action == Action::Read && !initial)
    }

    /// Who wrote what was read, if that is said.
    fn claim(&mut self, may_be: bool) -> Result<(), Refusal> {
        if !self.skip(CLAIM) {
            return Ok(());
        }
        let end = self.rest.find([' ', '|']).unwrap_or(self.rest.len());
        let (writer, rest) = self.rest.split_at(end);
        if !may_be || writer.is_empty() {
            return Err(self.refuse(format!("`{CLAIM}{writer}` does not stand behind a read")));
        }
        self.rest = rest;
        self.builder.claim(match writer {
            "init" => ClaimedWriter::Initial,
            writer => ClaimedWriter::Transaction(Name::from(writer)),
        });
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
            let (mut value, initial) = self.value(value)?;
            if initial {
                let key = self.builder.key(key);
                value = self.builder.given_initial(key);
            }
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
                Err(_) => values.text(&unquoted(text)),
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

/// A text without its quotes, with the escapes in it undone; a bare word as it is.
fn unquoted(text: &str) -> String {
    let Some(inside) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else {
        return text.trim_matches('"').to_owned();
    };
    let mut out = String::with_capacity(inside.len());
    let mut letters = inside.chars();
    while let Some(letter) = letters.next() {
        let escaped = if letter == '\\' { letters.next() } else { None };
        match escaped {
            None => out.push(letter),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('0') => out.push('\0'),
            Some('u') => {
                let digits: String = letters.by_ref().skip(1).take_while(|&letter| letter != '}').collect();
                out.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
            }
            Some(other) => out.push(other),
        }
    }
    out
}

fn shorten(text: &str) -> String {
    text.chars().take(20).collect()
}

/// Writes a history for people, a session per line. Transaction ids, notes, initial values and claims other than `init` are left out; a
/// file that is read back comes from [`crate::format::write`].
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
    write_ending(history, transaction, out);
}

/// How a transaction ended, its level and its times.
pub(crate) fn write_ending(history: &History, transaction: TransactionId, out: &mut String) {
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
    let initial = event.is_read() && history.claim(number) == Some(Writer::Initial);
    let value = if initial { "init".to_owned() } else { history.show(event.value).to_string() };
    show_value(history, event, &value)
}

/// An event of a value that is given as text.
pub(crate) fn show_value(history: &History, event: &Event, value: &str) -> String {
    let Event { value: _, key, action, locking, scanned: _ } = *event;
    let action = match (action, locking) {
        (Action::Read, false) => "r",
        (Action::Read, true) => "lock r",
        (Action::Write, _) => "w",
        (Action::Append, _) => "append",
    };
    format!("{action}({},{value})", history.key_name(key))
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
    fn initial_values_stand_in_front_and_are_what_init_means() {
        let history = parse("init(x,100) init(l,[1 2])\na: r(x,init) r(l,[1 2]); b: r(y,init)").unwrap();
        let events: Vec<&Event> =
            history.transactions().flat_map(|transaction| history.events_of(transaction)).collect();
        let initial = |event: &Event| history.same(event.value, history.initial(event.key));
        assert!(events.iter().all(|event| initial(event)) && !events[0].value.is_absent());
        for text in ["a: w(x,1)\ninit(x,1)", "init(x,init)", "init(x,1) r(x,1)", "init(x)"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_read_may_say_whose_version_it_is() {
        let history = parse("a: w(x,1); b: w(x,1); r(x,1)<-b#0 r(y,3)<-init | r(x,1)").unwrap();
        let (_, writer) = history.claims()[0];
        assert_eq!(writer, Writer::Transaction(TransactionId(1)));
        assert_eq!(history.claims()[1].1, Writer::Initial);
        for text in ["a: w(x,1)<-a#0", "a: r(x,1)<-", "a: r(x,init)<-init", "a: r(x,1)<-b#7"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn texts_keep_their_quotes_and_line_ends() {
        let history = parse(r#"w(x,"a\n\"\\\u{7}") w(x,b)"#).unwrap();
        let shown: Vec<String> =
            history.events_of(TransactionId(0)).iter().map(|event| history.show(event.value).to_string()).collect();
        assert_eq!(shown, [r#""a\n\"\\\u{7}""#, r#""b""#]);
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
