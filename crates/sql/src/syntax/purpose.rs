//! What a statement is for, in the few words that locks depend on.
//!
//! ```text
//!   SELECT … FOR SHARE                            ReadForShare
//!   INSERT … ON CONFLICT DO NOTHING               Insert { or_nothing: true }
//!   INSERT … ON DUPLICATE KEY UPDATE              InsertOrUpdate
//! ```

use super::Statement;
use sqlparser::ast::{self, LockType, OnConflictAction, OnInsert};

/// What a statement is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// It reads, and locks nothing.
    Read,
    /// SELECT … FOR UPDATE.
    ReadForUpdate,
    /// SELECT … FOR NO KEY UPDATE.
    ReadForNoKeyUpdate,
    /// SELECT … FOR SHARE.
    ReadForShare,
    /// SELECT … FOR KEY SHARE.
    ReadForKeyShare,
    /// INSERT.
    Insert {
        /// A row that is there is left as it is.
        or_nothing: bool,
    },
    /// INSERT that updates a row that is there.
    InsertOrUpdate,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
}

impl Statement {
    /// What it is for; statements that neither read nor write rows read nothing.
    pub fn purpose(&self) -> Purpose {
        match &*self.ast {
            ast::Statement::Insert(insert) => of_insert(insert),
            ast::Statement::Update { .. } => Purpose::Update,
            ast::Statement::Delete(_) => Purpose::Delete,
            ast::Statement::Query(query) => {
                inside(query).locks.first().map_or(Purpose::Read, |clause| match clause.lock_type {
                    LockType::Update if self.says("for no key update") => Purpose::ReadForNoKeyUpdate,
                    LockType::Update => Purpose::ReadForUpdate,
                    LockType::Share if self.says("for key share") => Purpose::ReadForKeyShare,
                    LockType::Share => Purpose::ReadForShare,
                })
            }
            _ => Purpose::Read,
        }
    }

    /// Whether it seeks rows of one table, in one range or under one key, and looks at nothing else: no list, alternative, join or subquery.
    pub fn seeks_in_one_place(&self) -> bool {
        *self.one_place.get_or_init(|| self.has_one_place())
    }

    fn has_one_place(&self) -> bool {
        const MORE: [&str; 12] =
            ["in", "or", "any", "some", "all", "join", "using", "exists", "with", "union", "array", "case"];
        let text = self.text().to_ascii_lowercase();
        let words = || text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let count = |wanted: &str| words().filter(|word| *word == wanted).count();
        let (selects, sources) = match self.purpose() {
            Purpose::Update => (0, 0),
            Purpose::Delete => (0, 1),
            Purpose::ReadForUpdate | Purpose::ReadForNoKeyUpdate | Purpose::ReadForShare | Purpose::ReadForKeyShare => {
                (1, 1)
            }
            Purpose::Read | Purpose::Insert { .. } | Purpose::InsertOrUpdate => return false,
        };
        let one_table = match self.purpose() {
            Purpose::Update => text.split(" set ").next().is_some_and(|tables| !tables.contains(',')),
            _ => text.rsplit(" from ").next().is_some_and(|rest| !rest.contains(',')),
        };
        one_table && count("select") <= selects && count("from") <= sources && !MORE.iter().any(|word| count(word) > 0)
    }

    /// Whether these words stand in its text. The parser does not know all strengths of locks.
    fn says(&self, words: &str) -> bool {
        let text = without_comments(self.text());
        let text: Vec<String> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
        text.join(" ").contains(words)
    }
}

/// The query inside of brackets.
fn inside(query: &ast::Query) -> &ast::Query {
    match &*query.body {
        ast::SetExpr::Query(inner) if query.locks.is_empty() => inside(inner),
        _ => query,
    }
}

/// The text with a blank for each comment. A quoted text that looks like one is lost, which makes no lock stronger.
fn without_comments(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("--")).min() {
        out.push_str(&rest[..at]);
        out.push(' ');
        let is_line = rest[at..].starts_with("--");
        let end = rest[at..]
            .find(if is_line { "\n" } else { "*/" })
            .map_or(rest.len(), |end| at + end + if is_line { 1 } else { 2 });
        rest = &rest[end..];
    }
    out + rest
}

fn of_insert(insert: &ast::Insert) -> Purpose {
    match &insert.on {
        Some(OnInsert::OnConflict(conflict)) => match conflict.action {
            OnConflictAction::DoNothing => Purpose::Insert { or_nothing: true },
            OnConflictAction::DoUpdate(_) => Purpose::InsertOrUpdate,
        },
        Some(_) => Purpose::InsertOrUpdate,
        None if insert.replace_into => Purpose::InsertOrUpdate,
        None => Purpose::Insert { or_nothing: insert.ignore },
    }
}
