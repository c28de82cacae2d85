//! The procedures.

use super::{
    BLOCKS, CHANGES, COUNTERS, GROUPS, LOG, PAGES, RESTRICTIONS, REVISIONS, TEXTS, USERS, WATCHES, title, watch,
};
use crate::catalog::shared::{Arithmetic, required};
use crate::table::Table;
use crate::{Failure, Outcome, Session, Transaction};

/// How often an edit whose number is used already is tried.
const TRIES: usize = 20;

/// What a session says when the second half of an edit was given up.
pub(super) const UNFINISHED: &str = "unfinished edit";

/// What a reader sees of a page: its latest revision and the number of its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Article {
    revision: i64,
    text: i64,
}

pub(super) fn add_watch_list(transaction: &mut Transaction<'_>, user: i64, page: i64, now: i64) -> Result<(), Failure> {
    for namespace in [0, 1] {
        let key = watch(user, namespace, page);
        // OLTP-Bench inserts and ignores that there is a row already; a transaction of PostgreSQL does not outlive that.
        if transaction.select(&WATCHES, &key, &[])?.is_none() {
            transaction.insert(&WATCHES, key, (None::<i64>,))?;
        }
    }
    touch(transaction, user, now)
}

pub(super) fn remove_watch_list(
    transaction: &mut Transaction<'_>,
    user: i64,
    page: i64,
    now: i64,
) -> Result<(), Failure> {
    for namespace in [0, 1] {
        transaction.delete(&WATCHES, watch(user, namespace, page))?;
    }
    touch(transaction, user, now)
}

fn touch(transaction: &mut Transaction<'_>, user: i64, now: i64) -> Result<(), Failure> {
    transaction.overwrite(&USERS, user, "user_touched = ?", now).map(|_| ())
}

/// Reads a page as a user, or as somebody whom only an address names.
pub(super) fn get_page(transaction: &mut Transaction<'_>, user: Option<i64>, page: i64) -> Result<Article, Failure> {
    if let Some(user) = user {
        required(transaction.select(&USERS, user, &["user_name", "user_touched", "user_editcount"])?)?;
        transaction.scan(&GROUPS, "ug_user = ?", user, &[])?;
    }
    let found =
        transaction.scan(&PAGES, "page_namespace = ? AND page_title = ?", (0, title(page)), &["page_latest"])?;
    let found = found.into_iter().next().ok_or(Failure::RolledBack)?;
    transaction.scan(&RESTRICTIONS, "pr_page = ?", page, &["pr_level"])?;
    match user {
        Some(user) => transaction.scan(&BLOCKS, "ipb_user = ?", user, &["ipb_address"])?,
        None => transaction.scan(&BLOCKS, "ipb_address = ?", "127.0.0.1", &["ipb_user"])?,
    };
    let revision = found.row.int(0)?;
    let latest = required(transaction.select(&REVISIONS, revision, &["rev_page", "rev_text_id"])?)?;
    if latest.int(0)? != page {
        // The join of page and revision is empty: two edits had the same number.
        return Err(Failure::RolledBack);
    }
    let text = latest.int(1)?;
    required(transaction.select(&TEXTS, text, &["old_text", "old_flags"])?)?;
    Ok(Article { revision, text })
}

/// An edit of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edit {
    pub(super) user: i64,
    pub(super) page: i64,
    /// A number that no other edit has; the rows of this one are called by it.
    pub(super) now: i64,
    pub(super) arithmetic: Arithmetic,
    pub(super) counting: bool,
}

/// The first transaction of an edit, when it has committed.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Change {
    revision: i64,
    /// Who is to be told; nobody, if the edit is done already.
    watchers: Vec<i64>,
}

impl Edit {
    /// One transaction, or three if somebody watches the page.
    pub(super) fn run(&self, session: &mut Session<'_>, article: Article) -> Result<(), Failure> {
        let changed = again(|| session.transact("update-page", |transaction| self.change(transaction, article)))?;
        let Some(change) = changed.committed().filter(|change| !change.watchers.is_empty()) else { return Ok(()) };
        session.transact("notify-watchers", |transaction| self.notify(transaction, &change.watchers))?;
        let logged = again(|| session.transact("log-edit", |transaction| self.log(transaction, &change, article)))?;
        if logged.committed().is_none() {
            session.observe(UNFINISHED, Vec::new());
        }
        Ok(())
    }

    /// Text, revision, page and list of changes; and the rest, if nobody else has to know.
    fn change(&self, transaction: &mut Transaction<'_>, article: Article) -> Result<Change, Failure> {
        let Edit { user, page, now, .. } = *self;
        let words = format!("text of {now}");
        let length = words.len() as i64;
        let text = self.number(transaction, &TEXTS)?;
        transaction.insert(&TEXTS, text, (page, words, "utf-8"))?;
        let revision = self.number(transaction, &REVISIONS)?;
        transaction.insert(&REVISIONS, revision, [page, text, user, now, length, article.revision])?;
        let set = "page_latest = ?, page_touched = ?, page_len = ?";
        transaction.overwrite(&PAGES, page, set, [revision, now, length])?;
        let line = self.number(transaction, &CHANGES)?;
        transaction.insert(&CHANGES, line, [now, page, user, text, article.text])?;
        let condition = "wl_title = ? AND wl_namespace = ? AND wl_user <> ? AND wl_notificationtimestamp IS NULL";
        let watchers = transaction.scan(&WATCHES, condition, (title(page), 0, user), &["wl_user"])?;
        let watchers = watchers.iter().map(|watcher| watcher.row.int(0)).collect::<Result<Vec<i64>, Failure>>()?;
        let change = Change { revision, watchers };
        if change.watchers.is_empty() {
            self.log(transaction, &change, article)?;
        }
        Ok(change)
    }

    /// Tells the others who watch the page.
    fn notify(&self, transaction: &mut Transaction<'_>, watchers: &[i64]) -> Result<(), Failure> {
        for watcher in watchers {
            let key = watch(*watcher, 0, self.page);
            transaction.overwrite(&WATCHES, key, "wl_notificationtimestamp = ?", self.now)?;
        }
        Ok(())
    }

    /// The log, and the user.
    fn log(&self, transaction: &mut Transaction<'_>, change: &Change, article: Article) -> Result<(), Failure> {
        let Edit { user, page, now, .. } = *self;
        for watcher in &change.watchers {
            transaction.select(&USERS, *watcher, &["user_name"])?;
        }
        let parameters = format!("{} {} 1", change.revision, article.revision);
        let line = self.number(transaction, &LOG)?;
        transaction.insert(&LOG, line, ("patrol", now, user, page, parameters))?;
        self.arithmetic.add(transaction, &USERS, &[user.into()], "user_editcount", 1)?;
        touch(transaction, user, now)
    }

    /// The number of a new row.
    fn number(&self, transaction: &mut Transaction<'_>, table: &Table) -> Result<i64, Failure> {
        if !self.counting {
            return Ok(self.now);
        }
        let number = required(transaction.select(&COUNTERS, table.name, &["last_number"])?)?.int(0)? + 1;
        transaction.overwrite(&COUNTERS, table.name, "last_number = ?", number)?;
        Ok(number)
    }
}

/// Again, when a counter gave a number that is used already: another read of it may say more.
fn again<T>(mut transact: impl FnMut() -> Result<Outcome<T>, Failure>) -> Result<Outcome<T>, Failure> {
    for _ in 1..TRIES {
        match transact()? {
            Outcome::Refused("unique violation") => {}
            outcome => return Ok(outcome),
        }
    }
    transact()
}
