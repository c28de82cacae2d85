//! Statements of a log, grouped by session into transactions.
//!
//! ```text
//!   BEGIN, START TRANSACTION            a transaction begins        with SET autocommit = 0 every statement that is not in one begins one
//!   COMMIT, END                         it is whole
//!   ROLLBACK, ABORT, an error, the end of the session      it has done nothing
//!   anything outside                    a transaction of its own
//! ```
//!
//! What says nothing about rows (SET, SHOW, …) is passed over; what changes the schema or cannot be told here is put down as left out. A
//! ROLLBACK TO SAVEPOINT takes back what came since, and is put down, too: somebody may have read it in between.

use super::template::TemplatesSeen;
use super::{LeftOut, LogEvent, LogEventKind, MOST_REMEMBERED};
use skew_sql::{Lexeme, LexemeKind, lexemes};
use skew_value::Dialect;
use std::collections::BTreeMap;

/// A statement of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LoggedStatement {
    /// Which of the logs.
    pub(super) log: usize,
    pub(super) line: u32,
    /// Its lexemes, without comments.
    pub(super) lexemes: Vec<Lexeme>,
    /// The values of `$1`, `$2`, …
    pub(super) parameters: Vec<Option<String>>,
}

/// What the sessions of a log did.
#[derive(Clone, Default, Debug)]
pub(super) struct Grouped {
    /// The templates of the transactions that ended well, in the order of the first ends.
    pub(super) templates: TemplatesSeen,
    /// How many were rolled back, failed or did not come to their end.
    pub(super) rolled_back: usize,
    pub(super) left_out: Vec<LeftOut>,
}

/// A session on its way.
#[derive(Default)]
struct OpenSession {
    open: Option<Vec<LoggedStatement>>,
    savepoints: Vec<(String, usize)>,
    failed: bool,
    keeps_open: bool,
    /// Statements outside of a transaction, which may turn out to have failed: one, or several of one message, which PostgreSQL runs as one.
    alone: Vec<LoggedStatement>,
    /// The text that was said last.
    last: String,
}

impl Grouped {
    /// Something that is no part of any template; of many the first are remembered.
    pub(super) fn leave_out(&mut self, one: LeftOut) {
        let known = self.left_out.iter().filter(|known| known.matters == one.matters).count();
        self.left_out.extend((known < MOST_REMEMBERED).then_some(one));
    }
}

/// Groups the statements of a log, event by event.
pub(super) struct Grouping<'g> {
    log: usize,
    dialect: Dialect,
    sessions: BTreeMap<String, OpenSession>,
    grouped: &'g mut Grouped,
}

impl Grouping<'_> {
    pub(super) fn new(log: usize, dialect: Dialect, grouped: &mut Grouped) -> Grouping<'_> {
        Grouping { log, dialect, sessions: BTreeMap::new(), grouped }
    }

    pub(super) fn take(&mut self, event: LogEvent) {
        let (log, line, grouped) = (self.log, event.line, &mut *self.grouped);
        let session = self.sessions.entry(event.session).or_default();
        let is_done = matches!(event.kind, LogEventKind::Done(..));
        match event.kind {
            LogEventKind::Said(text, parameters) | LogEventKind::Done(text, parameters) => {
                session.settle(grouped);
                match lexemes(self.dialect, &text) {
                    Ok(found) => {
                        for lexemes in statements(found) {
                            let one = LoggedStatement { log, line, lexemes, parameters: parameters.clone() };
                            session.say(one, self.dialect, grouped);
                        }
                    }
                    Err(error) => grouped.leave_out(LeftOut::new((log, line), &text, &error.message)),
                }
                session.last = text;
                if is_done {
                    session.settle(grouped);
                }
            }
            LogEventKind::Failed(text) => session.fail(&text, grouped),
            LogEventKind::Left => {
                session.settle(grouped);
                session.end(false, grouped);
                *session = OpenSession::default();
            }
        }
    }

    /// The log is over.
    pub(super) fn end(self) {
        for mut session in self.sessions.into_values() {
            session.settle(self.grouped);
            session.end(false, self.grouped);
        }
    }
}

/// The statements of a text, without comments and empty ones.
fn statements(lexemes: Vec<Lexeme>) -> Vec<Vec<Lexeme>> {
    let mut statements = vec![Vec::new()];
    for lexeme in lexemes.into_iter().filter(|lexeme| !lexeme.is_comment()) {
        match (lexeme.is_symbol(";"), statements.last_mut()) {
            (true, _) => statements.push(Vec::new()),
            (false, Some(last)) => last.push(lexeme),
            (false, None) => {}
        }
    }
    statements.retain(|statement| !statement.is_empty());
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
            ("rollback" | "abort", _) => {
                self.end(false, grouped);
                self.chain(&statement);
            }
            ("savepoint", _) => {
                let place = self.open.as_ref().map_or(0, Vec::len);
                self.savepoints.push((second, place));
            }
            ("release", _) => {}
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
            (defines, _) if DEFINING.contains(&defines) => {
                let text = text_of(&statement.lexemes);
                let reason = "the schema is the one that was given";
                let place = (statement.log, statement.line);
                grouped.leave_out(LeftOut { matters: false, ..LeftOut::new(place, &text, reason) });
            }
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
        grouped.leave_out(LeftOut::new((statement.log, statement.line), &text_of(&statement.lexemes), reason));
    }

    /// A statement of its own went well: the session says something else.
    fn settle(&mut self, grouped: &mut Grouped) {
        let alone = std::mem::take(&mut self.alone);
        if !alone.is_empty() {
            grouped.templates.add(alone);
        }
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

    fn end(&mut self, well: bool, grouped: &mut Grouped) {
        let (failed, open) = (std::mem::take(&mut self.failed), self.open.take());
        self.savepoints.clear();
        let Some(open) = open.filter(|open| !open.is_empty()) else { return };
        match well && !failed {
            true => grouped.templates.add(open),
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
        self.failed = false;
        if let Some(open) = self.open.as_mut().filter(|open| open.len() > kept) {
            open.truncate(kept);
            self.leave_out(statement, "what was rolled back to a savepoint is not told", grouped);
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
