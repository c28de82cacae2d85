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
//!
//! For the levels of engines, an event may say right behind its bracket what its statement asked for: `@2:update` is the second
//! statement of the transaction, an UPDATE; `@2:update,waited` and `@2:update,passed` say more, `@2` less. A read of `found` saw a row
//! whose version is not known, a read of `gone` found nothing because of somebody. Behind the `!` of a refused transaction may stand its
//! error and the statement. The server stands in front, with the initial values.
//!
//! ```text
//!   engine(postgres 15.20) init(x,5)
//!   a: w(x,nil)@1:delete w(x,7)@2:insert | r(x,found)@1:insert
//!   b: r(x,gone)@1:update,waited<-a#0 !40001@2
//! ```

mod asked;

use crate::builder::{ClaimedWriter, HistoryBuilder, Place, Problem, Refusal, ScanSpec, ScannedKey};
use crate::history::{Action, Event, EventId, History, Outcome, SessionId, Times, TransactionId, Writer};
use crate::level::IsolationLevel;
use crate::name::Name;
use crate::statement::Asked;
use crate::value::Value;
use std::fmt::Write as _;

/// What an initial value begins with, and a claim.
pub(crate) const INITIAL: &str = "init(";
pub(crate) const CLAIM: &str = "<-";
/// What the server's name begins with.
pub(crate) const ENGINE: &str = "engine(";

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
    if text.starts_with(INITIAL) || text.starts_with(ENGINE) {
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
                self.aborted(Outcome::AbortedByProgram)?;
            } else if self.skip("!") {
                self.aborted(Outcome::AbortedByDatabase)?;
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
        if self.skip(ENGINE) {
            let engine = self.until(')')?;
            self.builder.engine(engine);
            self.rest = self.rest.trim_start();
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
        let word = value.trim();
        let (found, gone) = (word == "found", word == "gone");
        let (mut value, initial) = if found || gone { (Value::ABSENT, false) } else { self.value(value)? };
        if action != Action::Read && (initial || locking || found || gone || value.is_list()) {
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
        let asked = Asked { found, ..self.asked()? };
        self.builder.asked(asked)?;
        if initial {
            self.builder.claim(ClaimedWriter::Initial);
        }
        match self.claim() {
            None if gone => Err(self.refuse(format!("`({inside})` does not say by whom, as in `r(x,gone)<-a#0`"))),
            None => Ok(()),
            Some(writer) if action != Action::Read || initial || writer.is_empty() => {
                Err(self.refuse(format!("`{CLAIM}{writer}` does not stand behind a read")))
            }
            Some(by) if gone => self.builder.gone(by.into()),
            Some("init") => {
                self.builder.claim(ClaimedWriter::Initial);
                Ok(())
            }
            Some(writer) => {
                self.builder.claim(ClaimedWriter::Transaction(writer.into()));
                Ok(())
            }
        }
    }

    /// Who wrote what was read, if that is said.
    fn claim(&mut self) -> Option<&'b str> {
        if !self.skip(CLAIM) {
            return None;
        }
        let end = self.rest.find([' ', '|']).unwrap_or(self.rest.len());
        let (writer, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(writer)
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
        let asked = self.asked()?;
        let spec = ScanSpec { prefix: prefix.trim(), locking, except: &except, asked, ..ScanSpec::default() };
        self.builder.scan(spec, &reads)
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
    if let Some(refused) = history.refusal(transaction) {
        out.push_str(&asked::show_refused(refused));
    }
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
    let value =
        if initial && !event.value.is_found() { "init".to_owned() } else { history.show(event.value).to_string() };
    let shown = show_value(history, number, event, &value);
    match history.gone(number) {
        Some(by) => {
            let session = history.session_name(history.session_of(by));
            format!("{shown}{CLAIM}{session}#{}", history.position_in_session(by))
        }
        None => shown,
    }
}

/// An event of a value that is given as text, and what its statement asked for.
pub(crate) fn show_value(history: &History, number: EventId, event: &Event, value: &str) -> String {
    let Event { value: _, key, action, locking, scanned: _ } = *event;
    let value = if history.gone(number).is_some() { "gone" } else { value };
    let action = match (action, locking) {
        (Action::Read, false) => "r",
        (Action::Read, true) => "lock r",
        (Action::Write, _) => "w",
        (Action::Append, _) => "append",
    };
    format!("{action}({},{value}){}", history.key_name(key), asked::show(history.asked(number)))
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
    fn statements_refusals_and_the_server_read_back() {
        let text = concat!(
            "a: w(x,nil)@1:delete w(x,7)@2:insert w(y,1)@:update | r(x,found)@1:insert r(y,init)@1,passed @snapshot\n",
            "b: r(x,gone)@1:update,waited<-a#0 r(y,1)@3 !40001@2 @1..2 | lock r(x,7)@7:for-key-share,passed,waited !!\"a b\" | !1213\n",
        );
        let history = parse(&format!("engine(postgres 15.20) init(x,5)\n{text}")).unwrap();
        assert_eq!(write(&history), text);
        assert_eq!(history.engine(), Some("postgres 15.20"));
        assert_eq!(history.gone(EventId(5)), Some(TransactionId(0)));
        assert!(history.event(EventId(3)).value.is_found());
        let refused: Vec<_> = history.transactions().map(|transaction| history.refusal(transaction)).collect();
        let refused: Vec<_> = refused.into_iter().flatten().map(|refused| (refused.error, refused.statement)).collect();
        assert_eq!(refused, [("40001", 2), ("a b", 0), ("1213", 0)]);
    }

    #[test]
    fn a_scan_says_what_its_statement_asked_for_of_every_key() {
        let text = "a: scan(p/: p/2=5)@1:for-update ; b: w(p/10,1) w(p/2,5)";
        assert_eq!(round(text).lines().next(), Some("a: r(p/2,5)@1:for-update r(p/10,nil)@1:for-update"));
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        for (text, expected) in [
            ("r(x,1)@0", "statements are numbered from 1"),
            ("r(x,1)@2:look", "`look` is no kind of statement"),
            ("r(x,1)@2:update,slow", "`,slow` is neither"),
            ("r(x,1)@2 r(x,1)@1", "statement 1 stands behind statement 2"),
            ("r(x,1)@2 scan(y/:)@1", "statement 1 stands behind statement 2"),
            ("r(x,gone)@1:update", "does not say by whom"),
            ("r(x,gone)@1:update<-b#0 ; b: w(x,1)", "which does not delete it"),
            ("w(x,found)", "something that only a read can have"),
            ("w(x,1) !\"40001", "does not end with a quote"),
            ("w(x,1) !40001@0", "statements are numbered from 1"),
            ("w(x,1) @2:update", "neither a level nor times"),
        ] {
            let refusal = parse(text).unwrap_err();
            assert!(refusal.to_string().starts_with("line 1: ") && refusal.to_string().contains(expected), "{refusal}");
        }
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
