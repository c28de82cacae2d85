//! Programs that were answered wrongly once, each small enough to be read.

use crate::draft::{Draft, Guard, Statement};
use crate::property::{self, Looked};
use crate::setting::Setting;
use skew_check::Updates;
use skew_history::IsolationLevel;
use skew_mockdb::Granularity;
use skew_value::Dialect;

/// So many runs show what happens in a fraction of them.
const RUNS: u64 = 120;

fn at(level: IsolationLevel) -> Setting {
    Setting { level, updates: Updates::Atomic, granularity: Granularity::Row }
}

/// Statements of one procedure; `?` before one: it is run when the first found nothing; `!`: its failure is taken back.
fn procedure(texts: &[&str]) -> Vec<Statement> {
    let statement = |(number, text): (usize, &&str)| Statement {
        number,
        guard: text.starts_with('?').then_some(Guard::Nothing(0)),
        text: text.trim_start_matches(['?', '!']).to_owned(),
        saved: text.starts_with('!'),
        or_rollback: false,
    };
    texts.iter().enumerate().map(statement).collect()
}

/// One call per session on a table of keys and values.
fn draft(index: Option<&str>, rows: &[&str], sessions: &[&[&str]]) -> Draft {
    let table = "CREATE TABLE kv (k INT PRIMARY KEY, v INT)";
    Draft {
        dialect: Dialect::Postgres,
        schema: std::iter::once(table).chain(index).map(str::to_owned).collect(),
        rows: rows.iter().map(|row| format!("INSERT INTO kv VALUES {row}")).collect(),
        sessions: sessions.iter().map(|texts| vec![procedure(texts)]).collect(),
    }
}

/// The tools agree about it, both ways, at every level.
fn agree(draft: &Draft) {
    for granularity in [Granularity::Row, Granularity::Cell] {
        for setting in Setting::all(granularity) {
            let mut looked = Looked::default();
            let shown = property::shown_is_explored(draft, setting, RUNS, &mut looked);
            let played = property::explored_is_played(draft, setting, &mut looked);
            for found in [shown, played] {
                assert_eq!(found, Ok(()), "{setting}\n{}", draft.written());
            }
        }
    }
}

#[test]
fn get_or_create_finds_what_its_insert_ran_into() {
    let get_or_create = ["!INSERT INTO kv VALUES (3, 5)", "SELECT v @into FROM kv WHERE k = 3"];
    let draft = draft(None, &["(1, 0)"], &[&get_or_create, &get_or_create]);
    for setting in Setting::all(Granularity::Row) {
        let found = property::saved_is_serial(&draft, setting, RUNS, &mut Looked::default());
        assert_eq!(found, Ok(()), "{setting}\n{}", draft.written());
    }
}

#[test]
fn an_insert_that_fails_is_told_alike() {
    let insert = ["INSERT INTO kv VALUES (3, 5)"];
    agree(&draft(None, &["(1, 0)"], &[&insert, &insert]));
}

#[test]
fn an_index_read_downwards_while_a_row_moves_comes_to_an_end() {
    let index = Some("CREATE INDEX by_v ON kv (v)");
    let reader = ["SELECT k @into FROM kv WHERE v = 0 ORDER BY k DESC LIMIT 1"];
    agree(&draft(index, &["(1, 0)", "(2, 0)"], &[&reader, &["UPDATE kv SET v = v + 1 WHERE k = 2"]]));
}

#[test]
fn an_update_by_a_subquery_over_an_index_loses_no_write() {
    let index = Some("CREATE INDEX by_v ON kv (v)");
    let update = "UPDATE kv SET v = v + 10 WHERE k IN (SELECT o.k FROM kv o WHERE o.v = 0)";
    let first = [update, "SELECT v @into FROM kv WHERE k = 1"];
    agree(&draft(index, &["(1, 0)"], &[&first, &["UPDATE kv SET v = v + 1 WHERE k = 1"]]));
}

#[test]
fn a_search_under_a_lock_is_no_lost_update() {
    let update = "UPDATE kv SET v = v + 1 WHERE v < 100";
    let sought = ["SELECT k @into FROM kv WHERE v < 100 FOR UPDATE", update];
    agree(&draft(None, &["(1, 0)"], &[&sought, &sought]));
    agree(&draft(None, &["(1, 0)"], &[&[update], &[update]]));
}

#[test]
fn two_who_insert_what_neither_found_run_into_each_other() {
    for first in ["UPDATE kv SET v = v + 1 WHERE k = 5", "SELECT v @into FROM kv WHERE k = 5 FOR UPDATE"] {
        let both = [first, "?INSERT INTO kv VALUES (5, 1)"];
        let draft = draft(None, &[], &[&both, &both]);
        agree(&draft);
        let failing = property::ends(&draft, at(IsolationLevel::ReadCommitted)).expect("a program that is explored");
        assert!(failing.contains("error 23505"), "{failing:?} of\n{}", draft.written());
    }
}
