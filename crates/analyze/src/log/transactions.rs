//! Statements of a log, grouped by session into transactions.
//!
//! ```text
//!   BEGIN, START TRANSACTION            a transaction begins        with SET autocommit = 0 every statement that is not in one begins one
//!   COMMIT, END                         it is whole
//!   ROLLBACK, ABORT, an error, the end of the session      it has done nothing
//!   anything outside                    a transaction of its own
//! ```
//!
//! What says nothing about rows (SET, SHOW, …) is passed over; what changes the schema stays in its transaction, for whoever wants to know the
//! schema. A ROLLBACK TO SAVEPOINT takes back what came since, and is put down as left out: somebody may have read it in between.

use super::comment::StatementOrigin;
use super::{LeftOut, LogEventKind, LogReading};
use skew_sql::{Lexeme, LexemeKind, lexemes};
use skew_value::Dialect;
use std::collections::BTreeMap;
use std::ops::Range;

/// A statement of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LoggedStatement {
    pub(super) line: u32,
    /// Its lexemes, without comments.
    pub(super) lexemes: Vec<Lexeme>,
    /// The values of `$1`, `$2`, …
    pub(super) parameters: Vec<Option<String>>,
    /// Who said it.
    pub(super) session: String,
    /// What its comments tell.
    pub(super) origin: StatementOrigin,
}

impl LoggedStatement {
    /// Whether it changes the schema or rights.
    pub(super) fn defines(&self) -> bool {
        self.lexemes.first().is_some_and(|first| DEFINING.iter().any(|word| first.is_word(word)))
    }
}

/// What the sessions of a log did.
#[derive(Default, Debug)]
pub(super) struct Grouped {
    /// The transactions that ended well, in the order of their ends.
    pub(super) transactions: Vec<Vec<LoggedStatement>>,
    /// How many were rolled back, failed or did not come to their end.
    pub(super) rolled_back: usize,
    /// How many transactions are parts of those: savepoints of a test that takes everything back in the end.
    pub(super) inside: usize,
    pub(super) left_out: Vec<LeftOut>,
}

/// A session on its way.
#[derive(Default)]
struct OpenSession {
    open: Option<Vec<LoggedStatement>>,
    savepoints: Vec<(String, usize)>,
    /// Savepoints that were released, by their statements; those inside of others are not among them.
    released: Vec<Range<usize>>,
    /// What was rolled back to a savepoint: it matters if the transaction ends well.
    taken_back: Vec<LeftOut>,
    /// Whether tests are listened to, which run transactions inside of one that they roll back.
    tests: bool,
    failed: bool,
    keeps_open: bool,
    /// Statements outside of a transaction, which may turn out to have failed: one, or several of one message, which PostgreSQL runs as one.
    alone: Vec<LoggedStatement>,
    /// The text that was said last.
    last: String,
}

/// Groups the statements of a log.
pub(super) fn group(reading: &LogReading) -> Grouped {
    let dialect = reading.format.dialect();
    let mut grouped = Grouped::default();
    let mut sessions: BTreeMap<&str, OpenSession> = BTreeMap::new();
    for event in &reading.events {
        let session = sessions.entry(&event.session).or_default();
        session.tests = reading.by_connection;
        match &event.kind {
            LogEventKind::Said(text, parameters) | LogEventKind::Done(text, parameters) => {
                session.settle(&mut grouped);
                session.last.clone_from(text);
                match lexemes(dialect, text) {
                    Ok(found) => {
                        for (lexemes, comments) in statements(found) {
                            let (line, parameters) = (event.line, parameters.clone());
                            let origin = StatementOrigin::of(comments.iter().map(String::as_str));
                            let session_name = event.session.clone();
                            let one = LoggedStatement { line, lexemes, parameters, session: session_name, origin };
                            session.say(one, dialect, &mut grouped);
                        }
                    }
                    Err(error) => grouped.left_out.push(LeftOut::new(event.line, text, &error.message)),
                }
                if matches!(event.kind, LogEventKind::Done(..)) {
                    session.settle(&mut grouped);
                }
            }
            LogEventKind::Failed(text) => session.fail(text, &mut grouped),
            LogEventKind::Left => {
                session.settle(&mut grouped);
                session.end(false, &mut grouped);
                *session = OpenSession::default();
            }
        }
    }
    for mut session in sessions.into_values() {
        session.settle(&mut grouped);
        session.end(false, &mut grouped);
    }
    grouped
}

/// The statements of a text without empty ones, each with its comments, which may also stand behind the last semicolon.
fn statements(lexemes: Vec<Lexeme>) -> Vec<(Vec<Lexeme>, Vec<String>)> {
    let mut statements: Vec<(Vec<Lexeme>, Vec<String>)> = vec![Default::default()];
    for lexeme in lexemes {
        let Some(last) = statements.last_mut() else { continue };
        match lexeme.kind {
            _ if lexeme.is_symbol(";") => statements.push(Default::default()),
            LexemeKind::Comment(text) => last.1.push(text),
            _ => last.0.push(lexeme),
        }
    }
    if let Some((_, behind)) = statements.pop_if(|(lexemes, _)| lexemes.is_empty())
        && let Some((_, comments)) = statements.last_mut()
    {
        comments.extend(behind);
    }
    statements.retain(|(lexemes, _)| !lexemes.is_empty());
    statements
}

/// Words that say nothing about rows.
const SILENT: [&str; 14] = [
    "set",
    "show",
    "reset",
    "discard",
    "deallocate",
    "listen",
    "unlisten",
    "notify",
    "analyze",
    "vacuum",
    "explain",
    "use",
    "describe",
    "checkpoint",
];
/// Words that change the schema or rights.
const DEFINING: [&str; 9] = ["create", "alter", "drop", "grant", "revoke", "comment", "rename", "reindex", "refresh"];

impl OpenSession {
    fn say(&mut self, statement: LoggedStatement, dialect: Dialect, grouped: &mut Grouped) {
        let word = |place: usize| statement.lexemes.get(place).map(|one| one.text.to_lowercase()).unwrap_or_default();
        let (first, second) = (word(0), word(1));
        match (first.as_str(), second.as_str()) {
            ("begin", _) | ("start", "transaction") => {
                if self.open.is_none() || dialect == Dialect::MySql {
                    self.end(true, grouped);
                    self.open = Some(Vec::new());
                }
            }
            ("commit" | "end", "prepared") | ("rollback", "prepared") | ("prepare", "transaction") => {
                self.leave_out(&statement, "two-phase commit is not told", grouped);
            }
            ("commit" | "end", _) => {
                self.end(true, grouped);
                self.chain(&statement);
            }
            ("rollback", "to") | ("rollback", "work" | "transaction") if first_name(&statement).is_some() => {
                self.back_to(&statement, grouped);
            }
            ("set", "constraints") => self.touch(statement, dialect, grouped),
            ("rollback" | "abort", _) => {
                self.end(false, grouped);
                self.chain(&statement);
            }
            ("savepoint", _) => {
                let place = self.open.as_ref().map_or(0, Vec::len);
                self.savepoints.push((second, place));
            }
            ("release", _) => self.release(&statement),
            ("set", _) if statement.lexemes.iter().any(|one| one.is_word("autocommit")) => {
                self.keeps_open = statement
                    .lexemes
                    .last()
                    .is_some_and(|last| ["0", "off"].contains(&last.text.to_lowercase().as_str()));
                if !self.keeps_open {
                    self.end(true, grouped);
                }
            }
            (silent, _) if SILENT.contains(&silent) => {}
            _ => self.touch(statement, dialect, grouped),
        }
    }

    fn touch(&mut self, statement: LoggedStatement, dialect: Dialect, grouped: &mut Grouped) {
        match &mut self.open {
            Some(open) => open.push(statement),
            None if self.keeps_open => self.open = Some(vec![statement]),
            None => {
                if dialect == Dialect::MySql {
                    self.settle(grouped);
                }
                self.alone.push(statement);
            }
        }
    }

    fn leave_out(&self, statement: &LoggedStatement, reason: &str, grouped: &mut Grouped) {
        grouped.left_out.push(LeftOut::new(statement.line, &text_of(&statement.lexemes), reason));
    }

    /// A statement of its own went well: the session says something else.
    fn settle(&mut self, grouped: &mut Grouped) {
        let alone = std::mem::take(&mut self.alone);
        grouped.transactions.extend((!alone.is_empty()).then_some(alone));
    }

    fn fail(&mut self, text: &str, grouped: &mut Grouped) {
        if self.open.is_some() {
            self.failed = true;
            return;
        }
        // What failed may be something that never came to be logged, and not what was said last.
        if text.is_empty() || text == self.last {
            self.alone.clear();
        }
        self.settle(grouped);
        grouped.rolled_back += 1;
    }

    fn release(&mut self, statement: &LoggedStatement) {
        let name = statement.lexemes.last().map(|name| name.text.to_lowercase()).unwrap_or_default();
        let Some(place) = self.savepoints.iter().rposition(|(known, _)| *known == name) else { return };
        let (start, end) = (self.savepoints[place].1, self.open.as_ref().map_or(0, Vec::len));
        self.savepoints.truncate(place);
        self.released.retain(|block| block.start < start || block.is_empty());
        self.released.extend((start < end).then_some(start..end));
    }

    /// What is taken back from here on. Where tests are listened to, and something in it was released, that is what the application calls
    /// transactions, and each other statement is one of its own.
    fn take_back(&mut self, from: usize, grouped: &mut Grouped) {
        let (inner, outer): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.released).into_iter().partition(|block| block.start >= from);
        self.released = outer;
        let Some(open) = self.open.as_ref().filter(|_| self.tests && !inner.is_empty() && !self.failed) else { return };
        let mut next = from;
        for block in inner {
            let alone = open[next.min(block.start)..block.start].iter().map(|one| vec![one.clone()]);
            let transactions: Vec<Vec<LoggedStatement>> = alone.chain([open[block.clone()].to_vec()]).collect();
            grouped.inside += transactions.len();
            grouped.transactions.extend(transactions);
            next = block.end;
        }
        let rest = open[next..].iter().map(|one| vec![one.clone()]);
        grouped.inside += rest.len();
        grouped.transactions.extend(rest);
    }

    fn end(&mut self, well: bool, grouped: &mut Grouped) {
        if !well {
            self.take_back(0, grouped);
        }
        self.released.clear();
        let taken_back = std::mem::take(&mut self.taken_back);
        let (failed, open) = (std::mem::take(&mut self.failed), self.open.take());
        grouped.left_out.extend(taken_back.into_iter().filter(|_| well && !failed));
        self.savepoints.clear();
        let Some(open) = open.filter(|open| !open.is_empty()) else { return };
        match well && !failed {
            true => grouped.transactions.push(open),
            false => grouped.rolled_back += 1,
        }
    }

    /// COMMIT AND CHAIN.
    fn chain(&mut self, statement: &LoggedStatement) {
        let words = &statement.lexemes;
        let chains = words.windows(2).any(|pair| pair[0].is_word("and") && pair[1].is_word("chain"));
        if chains {
            self.open = Some(Vec::new());
        }
    }

    fn back_to(&mut self, statement: &LoggedStatement, grouped: &mut Grouped) {
        let name = first_name(statement).unwrap_or_default();
        let place = self.savepoints.iter().rposition(|(known, _)| *known == name);
        let kept = place.map_or(0, |place| self.savepoints[place].1);
        self.savepoints.truncate(place.map_or(0, |place| place + 1));
        self.take_back(kept, grouped);
        self.failed = false;
        if let Some(open) = self.open.as_mut().filter(|open| open.len() > kept) {
            open.truncate(kept);
            let reason = "what was rolled back to a savepoint is not told";
            self.taken_back.push(LeftOut::new(statement.line, &text_of(&statement.lexemes), reason));
        }
    }
}

/// The savepoint that ROLLBACK TO names.
fn first_name(statement: &LoggedStatement) -> Option<String> {
    let to = statement.lexemes.iter().position(|lexeme| lexeme.is_word("to"))?;
    let names = statement.lexemes[to + 1..].iter().filter(|lexeme| !lexeme.is_word("savepoint"));
    names.map(|lexeme| lexeme.text.to_lowercase()).next()
}

/// Lexemes as a text in one line.
pub(super) fn text_of(lexemes: &[Lexeme]) -> String {
    written(lexemes, |lexeme| match &lexeme.kind {
        LexemeKind::Placeholder(number) if *number > 0 => format!("${number}"),
        _ => lexeme.text.split_whitespace().collect::<Vec<&str>>().join(" "),
    })
}

/// Lexemes in one line, each as somebody wants it.
pub(super) fn written(lexemes: &[Lexeme], mut word: impl FnMut(&Lexeme) -> String) -> String {
    let mut text = String::new();
    for lexeme in lexemes {
        if lexeme.apart && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&word(lexeme));
    }
    text
}
