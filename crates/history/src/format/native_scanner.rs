//! The quick way through a line of the native format: a scanner of fixed shape.
//!
//! It knows the members that nearly all lines have, in any order, with integers, plain texts and lists of those. It gives up at
//! the first thing it does not expect, be it a mistake or only unusual (an escape in a text, a fraction, a scan): then general
//! JSON reads the line from its start. Giving up must leave nothing behind that matters, so events wait in a scratch vector
//! until the line is complete, and so do the names of their keys; values that were interned on the way are interned again by
//! the other reader.

use crate::builder::{ClaimedWriter, HistoryBuilder, Refusal};
use crate::history::{Action, Event, KeyId, Outcome, Times};
use crate::level::IsolationLevel;
use crate::name::Name;
use crate::statement::{Asked, StatementKind};
use crate::value::Value;

/// The key of an event whose key has only a name yet.
const UNNAMED: KeyId = KeyId(u32::MAX);

pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    events: Vec<Event>,
    /// The name of each event's key, which the event itself lacks until the line is complete.
    keys: Vec<Name<'a>>,
    claims: Vec<(usize, ClaimedWriter<'a>)>,
    /// What the statements of events asked for, where a line says it.
    asked: Vec<(usize, Asked)>,
    gone: Vec<(usize, Name<'a>)>,
}

/// What a line said besides its events.
#[derive(Default)]
struct LineMembers<'a> {
    session: Option<Name<'a>>,
    id: Option<Name<'a>>,
    has_events: bool,
    outcome: Option<Outcome>,
    level: Option<IsolationLevel>,
    begin: Option<i64>,
    end: Option<i64>,
}

/// What an event said of its statement.
#[derive(Default)]
struct StatementMembers<'a> {
    statement: Option<u32>,
    kind: Option<StatementKind>,
    passed: Option<()>,
    waited: Option<()>,
    found: Option<()>,
    gone: Option<Name<'a>>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Scanner<'a> {
        Scanner {
            text,
            at: 0,
            events: Vec::new(),
            keys: Vec::new(),
            claims: Vec::new(),
            asked: Vec::new(),
            gone: Vec::new(),
        }
    }

    pub(super) fn at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// How many bytes lie behind.
    pub(super) fn position(&self) -> usize {
        self.at.min(self.text.len())
    }

    /// The line here, without its end, and stands behind it.
    pub(super) fn take_line(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let line = rest.split('\n').next().unwrap_or(rest);
        self.at += line.len() + 1;
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// Takes the line here if it is a transaction of the usual shape; otherwise stays where it is.
    pub(super) fn line(&mut self, builder: &mut HistoryBuilder) -> Result<bool, Refusal> {
        let start = self.at;
        let Some(line) = self.transaction(builder) else {
            self.at = start;
            return Ok(false);
        };
        let Some(session) = line.session else { return Ok(false) };
        let session = builder.session(session);
        builder.begin(session, line.id)?;
        self.take_events(builder)?;
        if let Some(outcome) = line.outcome {
            builder.outcome(outcome);
        }
        if let Some(level) = line.level {
            builder.level(level);
        }
        if line.begin.is_some() || line.end.is_some() {
            builder.times(Times { begin: line.begin, end: line.end })?;
        }
        Ok(true)
    }

    fn take_events(&mut self, builder: &mut HistoryBuilder) -> Result<(), Refusal> {
        builder.name_keys(&mut self.events, &self.keys);
        if !self.asked.is_empty() || !self.gone.is_empty() {
            return self.take_statements(builder);
        }
        if self.claims.is_empty() {
            builder.events(&self.events);
            return Ok(());
        }
        let mut claims = self.claims.iter().peekable();
        for (place, &event) in self.events.iter().enumerate() {
            builder.event(event);
            if let Some(&(_, writer)) = claims.next_if(|claim| claim.0 == place) {
                builder.claim(writer);
            }
        }
        Ok(())
    }

    /// Takes events of which the line says what their statements asked for.
    #[inline(never)]
    fn take_statements(&mut self, builder: &mut HistoryBuilder) -> Result<(), Refusal> {
        let mut claims = self.claims.iter().peekable();
        let mut asked = self.asked.iter().peekable();
        let mut gone = self.gone.iter().peekable();
        for (place, &event) in self.events.iter().enumerate() {
            builder.event(event);
            if let Some(&(_, asked)) = asked.next_if(|asked| asked.0 == place) {
                builder.asked(asked)?;
            }
            if let Some(&(_, by)) = gone.next_if(|gone| gone.0 == place) {
                builder.gone(by)?;
            }
            if let Some(&(_, writer)) = claims.next_if(|claim| claim.0 == place) {
                builder.claim(writer);
            }
        }
        Ok(())
    }

    fn transaction(&mut self, builder: &mut HistoryBuilder) -> Option<LineMembers<'a>> {
        self.events.clear();
        self.keys.clear();
        self.claims.clear();
        self.asked.clear();
        self.gone.clear();
        let mut line = LineMembers::default();
        self.expect(b'{')?;
        loop {
            self.blanks();
            let member = self.string()?;
            self.blanks();
            self.expect(b':')?;
            self.blanks();
            self.member(member, &mut line, builder)?;
            self.blanks();
            match self.next()? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        self.blanks();
        self.line_end()?;
        (line.session.is_some() && line.has_events).then_some(line)
    }

    fn member(&mut self, member: &str, line: &mut LineMembers<'a>, builder: &mut HistoryBuilder) -> Option<()> {
        match member {
            "session" => set(&mut line.session, self.name()?),
            "id" => set(&mut line.id, self.name()?),
            "ops" if !line.has_events => {
                line.has_events = true;
                self.ops(builder)
            }
            "outcome" => {
                let outcome = match self.string()? {
                    "committed" => Outcome::Committed,
                    "aborted" => Outcome::AbortedByDatabase,
                    "unknown" => Outcome::Unknown,
                    _ => return None,
                };
                set(&mut line.outcome, outcome)
            }
            "level" => {
                let level = self.string()?.parse().ok().filter(|&level| level != IsolationLevel::Declared);
                set(&mut line.level, level?)
            }
            "begin" => set(&mut line.begin, self.integer()?),
            "end" => set(&mut line.end, self.integer()?),
            _ => None,
        }
    }

    fn ops(&mut self, builder: &mut HistoryBuilder) -> Option<()> {
        self.expect(b'[')?;
        self.blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Some(());
        }
        loop {
            if self.usual_op().is_none() {
                self.blanks();
                self.op(builder)?;
                self.blanks();
            }
            match self.next()? {
                b',' => {}
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// An event spelt exactly like `{"r":"x","v":0}`, as nearly all are; otherwise stays where it is.
    fn usual_op(&mut self) -> Option<()> {
        let start = self.at;
        let op = &self.text.as_bytes()[start..];
        let action = match op.first_chunk::<6>()? {
            b"{\"r\":\"" => Action::Read,
            b"{\"w\":\"" => Action::Write,
            _ => return None,
        };
        let length = op[6..].iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20)?;
        if !op[6 + length..].starts_with(b"\",\"v\":") {
            return None;
        }
        let key = Name::from(&self.text[start + 6..start + 6 + length]);
        self.at = start + 6 + length + 6;
        let value = self.integer().filter(|_| self.peek() == Some(b'}')).and_then(Value::small_integer);
        let Some(value) = value else {
            self.at = start;
            return None;
        };
        self.at += 1;
        self.keys.push(key);
        self.events.push(Event::new(action, UNNAMED, value));
        Some(())
    }

    fn op(&mut self, builder: &mut HistoryBuilder) -> Option<()> {
        let mut subject: Option<(Action, Name<'a>)> = None;
        let mut value = None;
        let mut claim = None;
        let mut locking = None;
        let mut statement: Option<StatementMembers<'a>> = None;
        self.expect(b'{')?;
        loop {
            self.blanks();
            let member = self.string()?;
            self.blanks();
            self.expect(b':')?;
            self.blanks();
            match member.as_bytes() {
                b"r" => set(&mut subject, (Action::Read, self.name()?))?,
                b"w" => set(&mut subject, (Action::Write, self.name()?))?,
                b"a" => set(&mut subject, (Action::Append, self.name()?))?,
                b"v" => set(&mut value, self.value(builder)?)?,
                b"from" => set(&mut claim, self.writer()?)?,
                b"lock" if self.word(b"true") => set(&mut locking, ())?,
                _ => self.statement_member(member, statement.get_or_insert_default())?,
            }
            self.blanks();
            match self.next()? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        let (action, key) = subject?;
        if let Some(statement) = statement {
            value = Some(self.statement(statement, action, value, claim.is_some())?);
        }
        let value = value?;
        let is_read = action == Action::Read;
        let only_for_reads = claim.is_some() || locking.is_some() || value.is_list();
        if !is_read && only_for_reads || action == Action::Append && value.is_absent() {
            return None;
        }
        if let Some(writer) = claim {
            self.claims.push((self.events.len(), writer));
        }
        self.keys.push(key);
        self.events.push(Event { locking: locking.is_some(), ..Event::new(action, UNNAMED, value) });
        Some(())
    }

    /// A member that says what the statement of an event asked for. Most events have none, so it stands apart.
    #[inline(never)]
    fn statement_member(&mut self, member: &str, members: &mut StatementMembers<'a>) -> Option<()> {
        match member {
            "s" => {
                let statement = u32::try_from(self.integer()?).ok().filter(|&statement| statement > 0);
                set(&mut members.statement, statement?)
            }
            "kind" => set(&mut members.kind, self.string()?.parse().ok()?),
            "gone" => set(&mut members.gone, self.name()?),
            "found" if self.word(b"true") => set(&mut members.found, ()),
            "passed" if self.word(b"true") => set(&mut members.passed, ()),
            "waited" if self.word(b"true") => set(&mut members.waited, ()),
            _ => None,
        }
    }

    /// Notes what the statement of the next event asked for, and returns the value of the event.
    #[inline(never)]
    fn statement(
        &mut self,
        members: StatementMembers<'a>,
        action: Action,
        value: Option<Value>,
        is_claimed: bool,
    ) -> Option<Value> {
        let StatementMembers { statement, kind, passed, waited, found, gone } = members;
        let value = match (found, value) {
            (Some(()), None) if action == Action::Read => Value::FOUND,
            (None, Some(value)) => value,
            _ => return None,
        };
        if let Some(by) = gone {
            if action != Action::Read || is_claimed || !value.is_absent() {
                return None;
            }
            self.gone.push((self.events.len(), by));
        }
        let (statement, kind) = (statement.unwrap_or_default(), kind.unwrap_or_default());
        let (passed, waited, found) = (passed.is_some(), waited.is_some(), found.is_some());
        self.asked.push((self.events.len(), Asked { statement, kind, passed, waited, found }));
        Some(value)
    }

    fn value(&mut self, builder: &mut HistoryBuilder) -> Option<Value> {
        if self.peek()? != b'[' {
            return self.scalar(builder);
        }
        self.at += 1;
        self.blanks();
        let mut elements = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Some(Value::ABSENT);
        }
        loop {
            self.blanks();
            elements.push(self.scalar(builder).filter(|element| !element.is_absent())?);
            self.blanks();
            match self.next()? {
                b',' => {}
                b']' => return Some(builder.values().list(elements)),
                _ => return None,
            }
        }
    }

    fn scalar(&mut self, builder: &mut HistoryBuilder) -> Option<Value> {
        match self.peek()? {
            b'"' => {
                let text = self.string()?;
                Some(builder.values().text(text))
            }
            b'n' if self.word(b"null") => Some(Value::ABSENT),
            b't' if self.word(b"true") => Some(builder.values().boolean(true)),
            b'f' if self.word(b"false") => Some(builder.values().boolean(false)),
            _ => {
                let number = self.integer()?;
                Some(builder.values().integer(number))
            }
        }
    }

    fn writer(&mut self) -> Option<ClaimedWriter<'a>> {
        if self.word(b"null") {
            return Some(ClaimedWriter::Initial);
        }
        self.name().map(ClaimedWriter::Transaction)
    }

    fn name(&mut self) -> Option<Name<'a>> {
        if self.peek()? == b'"' { Some(Name::from(self.string()?)) } else { Some(Name::Integer(self.integer()?)) }
    }

    /// A text without escapes.
    fn string(&mut self) -> Option<&'a str> {
        self.expect(b'"')?;
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20)?;
        if rest[length] != b'"' {
            return None;
        }
        let string = &self.text[self.at..self.at + length];
        self.at += length + 1;
        Some(string)
    }

    /// An integer of 64 bits with sign, spelt as JSON spells it; larger ones are for the other reader.
    fn integer(&mut self) -> Option<i64> {
        let bytes = self.text.as_bytes();
        let negative = bytes.get(self.at) == Some(&b'-');
        let start = self.at + usize::from(negative);
        let (number, end) = digits(bytes, start)?;
        if matches!(bytes.get(end), Some(b'.' | b'e' | b'E' | b'+' | b'-')) {
            return None;
        }
        self.at = end;
        Some(if negative { -number } else { number })
    }

    fn word(&mut self, word: &[u8]) -> bool {
        let found = self.text.as_bytes()[self.at..].starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn line_end(&mut self) -> Option<()> {
        match self.peek() {
            None => Some(()),
            Some(b'\n') => {
                self.at += 1;
                Some(())
            }
            _ => None,
        }
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// The natural number whose digits begin here, and where they end; nothing if it has none, a leading zero or more than 63 bits.
pub(super) fn digits(bytes: &[u8], start: usize) -> Option<(i64, usize)> {
    const LONGEST: usize = 19;
    let mut at = start;
    // Nineteen digits always fit here.
    let mut number = 0u64;
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        if at - start == LONGEST {
            return None;
        }
        number = number * 10 + u64::from(digit);
        at += 1;
    }
    if at == start || bytes[start] == b'0' && at - start > 1 {
        return None;
    }
    Some((i64::try_from(number).ok()?, at))
}

/// Sets what is not set; a member that comes twice is not of the usual shape.
fn set<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    if slot.is_some() {
        return None;
    }
    *slot = Some(value);
    Some(())
}
