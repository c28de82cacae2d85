//! Statements of a log, grouped by session into transactions.
//!
//! ```text
//!   BEGIN, START TRANSACTION            a transaction begins        with SET autocommit = 0 every statement that is not in one begins one
//!   COMMIT, END                         it is whole
//!   ROLLBACK, ABORT, an error, the end of the session      it has done nothing
//!   anything outside                    a transaction of its own
//! ```
//!
//! What says nothing about rows (SET, SHOW, …) is passed over; what changes the schema is kept apart, for whoever wants to know the schema. A
//! ROLLBACK TO SAVEPOINT takes back what came since, and is put down as left out: somebody may have read it in between.

use super::comment::StatementOrigin;
use super::template::{TemplatesSeen, values};
use super::units::{RequestKey, UnitsSeen};
use super::{LeftOut, LogEvent, LogEventKind, MOST_REMEMBERED};
use skew_sql::{Lexeme, LexemeKind, lexemes};
use skew_value::Dialect;
use std::collections::BTreeMap;
use std::ops::Range;

/// So many definitions are remembered; a log with more does not tell its tables.
const MOST_DEFINITIONS: usize = 20_000;

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
    /// What its comments tell.
    pub(super) origin: StatementOrigin,
}

impl LoggedStatement {
    /// Whether it changes the schema or rights.
    pub(super) fn defines(&self) -> bool {
        self.lexemes.first().is_some_and(|first| DEFINING.iter().any(|word| first.is_word(word)))
    }

    /// Whether its transaction runs alone, as migrations do: it changes a schema that lasts. Rights, comments and tables of a session are made at
    /// any time.
    fn sets_up(&self) -> bool {
        let is = |place: usize, words: &[&str]| {
            self.lexemes.get(place).is_some_and(|lexeme| words.iter().any(|word| lexeme.is_word(word)))
        };
        let passes = ["temp", "temporary", "local", "global"];
        is(0, &["create", "alter", "drop", "rename"]) && !is(1, &passes)
    }

    /// Something that is no part of any template.
    pub(super) fn left_out(&self, reason: &str) -> LeftOut {
        LeftOut::new((self.log, self.line), &text_of(&self.lexemes), reason)
    }
}

/// What the sessions of a log did.
#[derive(Clone, Default, Debug)]
pub(super) struct Grouped {
    /// The templates of the transactions that ended well, in the order of the first ends.
    pub(super) templates: TemplatesSeen,
    /// What changes the schema, in order.
    pub(super) definitions: Vec<LoggedStatement>,
    /// What else the transactions do that change the schema.
    pub(super) set_up: TemplatesSeen,
    /// Transactions that belong together.
    pub(super) units: UnitsSeen,
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
    /// Where tests are listened to, the connection: they run transactions inside of one that they roll back, and what one connection does belongs
    /// together.
    tests: Option<RequestKey>,
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

    /// A transaction that ended well. One that changes lasting tables is set-up.
    fn add(&mut self, transaction: Vec<LoggedStatement>, connection: Option<&RequestKey>) {
        let is_set_up = transaction.iter().any(LoggedStatement::sets_up);
        let (definitions, others): (Vec<_>, Vec<_>) = transaction.into_iter().partition(LoggedStatement::defines);
        // One more than are looked at tells that there are more.
        let free = (MOST_DEFINITIONS + 1).saturating_sub(self.definitions.len());
        self.definitions.extend(definitions.into_iter().take(free));
        match others.is_empty() {
            true => {}
            false if is_set_up => {
                self.set_up.add(others);
            }
            false => self.count(others, connection),
        }
    }

    fn count(&mut self, transaction: Vec<LoggedStatement>, connection: Option<&RequestKey>) {
        let request = transaction.iter().find_map(|statement| statement.origin.request.clone());
        let Some(key) = request.map(RequestKey::Named).or(connection.cloned()) else {
            self.templates.add(transaction);
            return;
        };
        let route = transaction.iter().find_map(|statement| statement.origin.route.clone());
        let values = values(&transaction);
        let number = self.templates.add(transaction);
        self.units.add(key, (number, values), route, &self.templates.all);
    }

    /// The definition that is one too many.
    pub(super) fn too_many_definitions(&mut self) -> Option<LeftOut> {
        let one = self.definitions.drain(MOST_DEFINITIONS.min(self.definitions.len())..).next()?;
        Some(one.left_out(&format!("more than {MOST_DEFINITIONS} definitions are not looked at")))
    }
}

/// Groups the statements of a log, event by event.
pub(super) struct Grouping<'g> {
    log: usize,
    dialect: Dialect,
    /// Whether what a connection says belongs together: so it is where `skew serve` has listened to tests.
    by_connection: bool,
    sessions: BTreeMap<String, OpenSession>,
    grouped: &'g mut Grouped,
}

impl Grouping<'_> {
    pub(super) fn new(log: usize, dialect: Dialect, by_connection: bool, grouped: &mut Grouped) -> Grouping<'_> {
        Grouping { log, dialect, by_connection, sessions: BTreeMap::new(), grouped }
    }

    pub(super) fn take(&mut self, event: LogEvent) {
        let (log, line, grouped) = (self.log, event.line, &mut *self.grouped);
        let tests = self.by_connection.then(|| RequestKey::Connection(log, event.session.clone()));
        let session = self.sessions.entry(event.session).or_default();
        session.tests = tests;
        let is_done = matches!(event.kind, LogEventKind::Done(..));
        match event.kind {
            LogEventKind::Said(text, parameters) | LogEventKind::Done(text, parameters) => {
                session.settle(grouped);
                match lexemes(self.dialect, &text) {
                    Ok(found) => {
                        for (lexemes, comments) in statements(found) {
                            let origin = StatementOrigin::of(comments.iter().map(String::as_str));
                            let one = LoggedStatement { log, line, lexemes, parameters: parameters.clone(), origin };
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
                grouped.leave_out(statement.left_out("two-phase commit is not told"));
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

    /// A statement of its own went well: the session says something else.
    fn settle(&mut self, grouped: &mut Grouped) {
        let alone = std::mem::take(&mut self.alone);
        if !alone.is_empty() {
            grouped.add(alone, self.tests.as_ref());
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
        let Some(tests) = self.tests.as_ref().filter(|_| !inner.is_empty() && !self.failed) else { return };
        let Some(open) = &self.open else { return };
        let mut add = |transaction: &[LoggedStatement]| {
            grouped.inside += 1;
            grouped.add(transaction.to_vec(), Some(tests));
        };
        let mut next = from;
        for block in inner {
            open[next.min(block.start)..block.start].chunks(1).for_each(&mut add);
            add(&open[block.clone()]);
            next = block.end;
        }
        open[next..].chunks(1).for_each(add);
    }

    fn end(&mut self, well: bool, grouped: &mut Grouped) {
        if !well {
            self.take_back(0, grouped);
        }
        self.released.clear();
        let taken_back = std::mem::take(&mut self.taken_back);
        let (failed, open) = (std::mem::take(&mut self.failed), self.open.take());
        taken_back.into_iter().filter(|_| well && !failed).for_each(|one| grouped.leave_out(one));
        self.savepoints.clear();
        let Some(open) = open.filter(|open| !open.is_empty()) else { return };
        match well && !failed {
            true => grouped.add(open, self.tests.as_ref()),
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
            self.taken_back.push(statement.left_out("what was rolled back to a savepoint is not told"));
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
