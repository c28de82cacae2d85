//! Wikipedia: pages, their revisions, watch lists, and users who edit.
//!
//! | procedure | share | what |
//! |---|---|---|
//! | `add-watch-list` | 10 | a user watches a page and its talk page |
//! | `remove-watch-list` | 10 | and does so no longer |
//! | `get-page-anonymous` | 20 | reads page, restrictions, blocks of the address, revision and text |
//! | `get-page-authenticated` | 20 | the same for a user, with the groups |
//! | `update-page` | 40 | reads the page, then writes text, revision, page, recent changes, watch lists, log and user |
//!
//! ```text
//!   update-page    useracct.user_editcount + 1      revision: one row more      logging: one row more
//!                               └────────── A15 ──────────┘                            │
//!                               └────────── A16 ───────────────────────────────────────┘      A17: revision and logging
//! ```
//!
//! The procedures are those of OLTP-Bench, where almost all calls read; here edits are what most calls do, since they are what the
//! assertions are about. As there, everybody watches some page at the start, and an edit of a page that others watch is three
//! transactions: the page and its history; the watch lists; the log and the user. If the last one is refused for good, nothing is asserted.
//! Its tables `page_backup` and `value_backup`, which no procedure uses, are left out.
//!
//! OLTP-Bench lets the server number new rows. No server gives a number twice, whatever the level, so here rows have numbers that
//! nobody else draws, and A17 holds. A store that has nothing but reads and writes counts with these, as
//! MonkeyDB's does: the next number is the last one and one. Two edits that read the same last number write one row; and since an edit
//! is several transactions, one edit may hide another in the log and not in the history. [`Wikipedia::counting`] does this in the table `counters`:
//!
//! ```text
//!   edit of user 1    counters.logging 2 → 3    logging/3: user 1  ┐
//!   edit of user 2    counters.logging 2 → 3    logging/3: user 2  ┘ two versions of one row
//! ```
//!
//! OLTP-Bench writes `user_editcount = user_editcount + 1`, which real servers do right; [`Arithmetic::Client`] reads and writes instead.

mod edit;

use super::shared::{Arithmetic, Sums, all_rows, differences, fresh, nothing_against, pick};
use super::{Requirements, Store};
use crate::load::Loader;
use crate::table::{Table, int, long_text, text};
use crate::workload::{Assertion, FinalState, Operation, Workload};
use crate::{Failure, Random, Value};
use edit::{Edit, UNFINISHED, add_watch_list, get_page, remove_watch_list};

const USERS: Table =
    Table::new("useracct", &[int("user_id")], &[text("user_name"), int("user_touched"), int("user_editcount")]);
const GROUPS: Table = Table::new("user_groups", &[int("ug_user"), text("ug_group")], &[]);
const BLOCKS: Table = Table::new("ipblocks", &[int("ipb_id")], &[text("ipb_address"), int("ipb_user")])
    .with_indexes(&["ipb_address", "ipb_user"]);
const PAGES: Table = Table::new(
    "page",
    &[int("page_id")],
    &[int("page_namespace"), text("page_title"), int("page_latest"), int("page_touched"), int("page_len")],
)
.with_indexes(&["page_namespace, page_title"]);
const RESTRICTIONS: Table = Table::new("page_restrictions", &[int("pr_page"), text("pr_type")], &[text("pr_level")]);
const TEXTS: Table = Table::new("text", &[int("old_id")], &[int("old_page"), long_text("old_text"), text("old_flags")]);
const REVISIONS: Table = Table::new(
    "revision",
    &[int("rev_id")],
    &[int("rev_page"), int("rev_text_id"), int("rev_user"), int("rev_timestamp"), int("rev_len"), int("rev_parent_id")],
)
.with_indexes(&["rev_page, rev_id", "rev_user"]);
const CHANGES: Table = Table::new(
    "recentchanges",
    &[int("rc_id")],
    &[int("rc_timestamp"), int("rc_cur_id"), int("rc_user"), int("rc_this_oldid"), int("rc_last_oldid")],
);
const LOG: Table = Table::new(
    "logging",
    &[int("log_id")],
    &[text("log_type"), int("log_timestamp"), int("log_user"), int("log_page"), text("log_params")],
);
const WATCHES: Table = Table::new(
    "watchlist",
    &[int("wl_user"), int("wl_namespace"), text("wl_title")],
    &[int("wl_notificationtimestamp")],
)
.with_indexes(&["wl_namespace, wl_title"]);
/// The last number of each table.
const COUNTERS: Table = Table::new("counters", &[text("counted")], &[int("last_number")]);

const ALL: [Table; 11] =
    [USERS, GROUPS, BLOCKS, PAGES, RESTRICTIONS, TEXTS, REVISIONS, CHANGES, LOG, WATCHES, COUNTERS];

/// How many edits there are, by user, and by user and page.
type Edits = (Sums<i64>, Sums<(i64, i64)>);

const SHARES: [u64; 5] = [10, 10, 20, 20, 40];

/// How many pages there are where every lookup reads all of them.
const SCANNED_PAGES: i64 = 5;

/// The workload.
#[derive(Clone, Debug)]
pub struct Wikipedia {
    /// How many pages there are.
    pub pages: i64,
    /// How many users there are.
    pub users: i64,
    /// Who counts the edits of a user.
    pub arithmetic: Arithmetic,
    /// Whether new rows take the next number of a counter, which the transaction reads and writes, instead of one that nobody else has.
    pub counting: bool,
}

impl Default for Wikipedia {
    fn default() -> Wikipedia {
        Wikipedia { pages: 2, users: 2, arithmetic: Arithmetic::Server, counting: false }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WikipediaCall {
    AddWatchList(i64, i64),
    RemoveWatchList(i64, i64),
    GetPageAnonymous(i64),
    GetPageAuthenticated(i64, i64),
    UpdatePage(i64, i64),
}

impl WikipediaCall {
    fn name(self) -> &'static str {
        match self {
            WikipediaCall::AddWatchList(..) => "add-watch-list",
            WikipediaCall::RemoveWatchList(..) => "remove-watch-list",
            WikipediaCall::GetPageAnonymous(_) => "get-page-anonymous",
            WikipediaCall::GetPageAuthenticated(..) => "get-page-authenticated",
            WikipediaCall::UpdatePage(..) => "update-page",
        }
    }
}

fn title(page: i64) -> String {
    format!("page {page}")
}

impl Wikipedia {
    /// The workload that is asked for.
    pub(super) fn required(required: &Requirements) -> Wikipedia {
        let usual = Wikipedia::default();
        let pages = if required.scan { SCANNED_PAGES } else { usual.pages };
        Wikipedia { pages, counting: required.store == Store::Plain, ..usual }
    }

    fn call(&self, random: &mut Random) -> WikipediaCall {
        let procedure = pick(random, &SHARES);
        let (user, page) = (random.between(1, self.users.max(1)), random.between(1, self.pages.max(1)));
        match procedure {
            0 => WikipediaCall::AddWatchList(user, page),
            1 => WikipediaCall::RemoveWatchList(user, page),
            2 => WikipediaCall::GetPageAnonymous(page),
            3 => WikipediaCall::GetPageAuthenticated(user, page),
            _ => WikipediaCall::UpdatePage(user, page),
        }
    }

    /// Who made the first revision of a page.
    fn first_author(&self, page: i64) -> i64 {
        1 + page % self.users.max(1)
    }
}

impl Workload for Wikipedia {
    fn name(&self) -> &'static str {
        "wikipedia"
    }

    fn tables(&self) -> &[Table] {
        // The counters are the last.
        if self.counting { &ALL } else { &ALL[..10] }
    }

    fn load(&self, loader: &mut Loader) {
        let pages = 1..=self.pages.max(1);
        for user in 1..=self.users.max(1) {
            let edits = pages.clone().filter(|page| self.first_author(*page) == user).count() as i64;
            loader.insert(&USERS, user, (format!("user {user}"), 0, edits));
        }
        (1..=self.users.max(1)).for_each(|user| loader.insert(&GROUPS, (user, "editor"), ()));
        pages.clone().for_each(|page| loader.insert(&PAGES, page, (0, title(page), page, 0, 4)));
        pages.clone().for_each(|page| loader.insert(&RESTRICTIONS, (page, "edit"), "user"));
        pages.clone().for_each(|page| loader.insert(&TEXTS, page, (page, "text", "utf-8")));
        pages.clone().for_each(|page| loader.insert(&REVISIONS, page, [page, page, self.first_author(page), 0, 4, 0]));
        for page in pages {
            loader.insert(&LOG, page, ("patrol", 0, self.first_author(page), page, format!("{page} 0 1")));
        }
        for user in 1..=self.users.max(1) {
            (1..=self.pages.max(1)).for_each(|page| loader.insert(&WATCHES, watch(user, 0, page), (None::<i64>,)));
        }
        if self.counting {
            let counted =
                [(TEXTS, self.pages.max(1)), (REVISIONS, self.pages.max(1)), (CHANGES, 0), (LOG, self.pages.max(1))];
            counted.iter().for_each(|(table, last)| loader.insert(&COUNTERS, table.name, *last));
        }
    }

    fn draw(&self, random: &mut Random, session: usize, number: u64) -> Operation {
        let (call, now) = (self.call(random), fresh(session, number));
        let name = call.name();
        match call {
            WikipediaCall::AddWatchList(user, page) => {
                Operation::new(name, move |transaction| add_watch_list(transaction, user, page, now))
            }
            WikipediaCall::RemoveWatchList(user, page) => {
                Operation::new(name, move |transaction| remove_watch_list(transaction, user, page, now))
            }
            WikipediaCall::GetPageAnonymous(page) => {
                Operation::new(name, move |transaction| get_page(transaction, None, page).map(|_| ()))
            }
            WikipediaCall::GetPageAuthenticated(user, page) => {
                Operation::new(name, move |transaction| get_page(transaction, Some(user), page).map(|_| ()))
            }
            WikipediaCall::UpdatePage(user, page) => {
                let edit = Edit { user, page, now, arithmetic: self.arithmetic, counting: self.counting };
                Operation::of_session(name, move |session| {
                    // The editor looks at the page in a transaction of its own.
                    let seen = session
                        .transact("get-page-authenticated", |transaction| get_page(transaction, Some(user), page))?;
                    let Some(article) = seen.committed() else { return Ok(()) };
                    edit.run(session, article)
                })
            }
        }
    }

    fn assertions(&self, end: &mut FinalState<'_>) -> Result<Vec<Assertion>, Failure> {
        // Half an edit is in some tables and not in others, at every level.
        if !end.is_complete() || end.observations().iter().any(|seen| seen.name == UNFINISHED) {
            return Ok(Vec::new());
        }
        let mut counted = Sums::new();
        for row in all_rows(end, &USERS, &["user_id", "user_editcount"])? {
            counted.insert(row.int(0)?, row.int(1)?);
        }
        let mut count = |table: &Table, user: &str, page: &str| -> Result<Edits, Failure> {
            let (mut by_user, mut by_both) = (Sums::new(), Sums::new());
            for row in all_rows(end, table, &[user, page])? {
                *by_user.entry(row.int(0)?).or_default() += 1;
                *by_both.entry((row.int(0)?, row.int(1)?)).or_default() += 1;
            }
            Ok((by_user, by_both))
        };
        let (revisions, revisions_of_page) = count(&REVISIONS, "rev_user", "rev_page")?;
        let (lines, lines_of_page) = count(&LOG, "log_user", "log_page")?;
        let edits = format!("{} edits", counted.values().sum::<i64>());
        let history = differences(&counted, &revisions, |user, one, other| {
            format!("user {user}: {one} edits counted, {other} in the history")
        });
        let log = differences(&counted, &lines, |user, one, other| {
            format!("user {user}: {one} edits counted, {other} in the log")
        });
        let both = differences(&revisions_of_page, &lines_of_page, |(user, page), one, other| {
            format!("user {user}, page {page}: {one} edits in the history, {other} in the log")
        });
        Ok(vec![
            nothing_against("A15 edits of users and history", &history, &edits),
            nothing_against("A16 edits of users and log", &log, &edits),
            nothing_against("A17 edits of history and log", &both, &edits),
        ])
    }
}

/// The key of a line in a watch list; a page has one for itself and one for its talk page.
fn watch(user: i64, namespace: i64, page: i64) -> Vec<Value> {
    vec![user.into(), namespace.into(), title(page).into()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::{assert_shares, calls, end_after};

    #[test]
    fn draws_depend_on_the_seed_and_have_their_shares() {
        let wikipedia = Wikipedia::default();
        let draw = |random: &mut Random, _, _| wikipedia.call(random);
        assert_eq!(calls(1, draw), calls(1, draw));
        assert_ne!(calls(1, draw), calls(2, draw));
        assert_shares(
            calls(1, draw).iter().map(|call| call.name()),
            &[("update-page", 0.4), ("add-watch-list", 0.1), ("get-page-anonymous", 0.2)],
        );
    }

    #[test]
    fn an_edit_that_one_table_does_not_know_is_found() {
        let failed = |more: &[(&str, &[i64])]| -> Vec<String> {
            let all = end_after(&Wikipedia { pages: 5, ..Wikipedia::default() }, &[], true, more);
            all.into_iter()
                .filter(|assertion| !assertion.holds)
                .map(|assertion| assertion.name[..3].to_owned())
                .collect()
        };
        assert!(failed(&[]).is_empty());
        let (revision, line): (&[i64], &[i64]) = (&[9, 1, 9, 2, 0, 4, 1], &[9, 0, 0, 2, 1, 0]);
        assert_eq!(failed(&[("revision", revision)]), ["A15", "A17"]);
        assert_eq!(failed(&[("logging", line)]), ["A16", "A17"]);
        assert_eq!(failed(&[("revision", revision), ("logging", line)]), ["A15", "A16"]);
    }
}
