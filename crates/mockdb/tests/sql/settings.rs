//! What clients set: levels, read-only, choosers, names; and what transactions become by it.

use super::{ACCOUNTS, Test, state};
use skew_mockdb::{ChooserKind, Connection, Level, Options, Status};
use skew_sql::session::DeclaredLevel;
use skew_sql::{Interrupt, Stop};
use skew_value::{Datum, Dialect};

/// How the history says the last transaction was.
fn last_level(test: &Test) -> String {
    let text = test.text();
    let line: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    line["level"].as_str().unwrap().to_owned()
}

const READ: &str = "SELECT balance FROM account WHERE id = 1";

#[test]
fn a_level_is_asked_for_in_many_ways() {
    let mut test = Test::new(Options::new(Level::Causal, 1), ChooserKind::Latest, &ACCOUNTS);
    let mut a = test.connect("a");
    let session = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ";
    for (asked, level) in [
        (&["BEGIN"][..], "causal"),
        (&["BEGIN ISOLATION LEVEL SERIALIZABLE"], "serializable"),
        (&["BEGIN", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"], "snapshot"),
        (&["BEGIN", "SET transaction_isolation TO 'read committed'"], "read-committed"),
        (&["SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "BEGIN"], "causal"),
        (&[session, "BEGIN"], "snapshot"),
        (&["BEGIN ISOLATION LEVEL READ UNCOMMITTED"], "read-committed"),
        (&["SET default_transaction_isolation = 'serializable'", "BEGIN"], "serializable"),
        (&["SET skew.level = 'prefix'", "BEGIN"], "prefix"),
        (&["RESET skew.level", "BEGIN"], "serializable"),
        (&["RESET default_transaction_isolation", "BEGIN"], "causal"),
    ] {
        asked.iter().for_each(|sql| assert!(test.run(&mut a, sql).is_ok(), "{sql}"));
        test.value(&mut a, READ);
        test.run(&mut a, "COMMIT").unwrap();
        assert_eq!(last_level(&test), level, "{asked:?}");
    }
    test.run(&mut a, "BEGIN").unwrap();
    test.value(&mut a, READ);
    assert_eq!(state(test.run(&mut a, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")), "25001");
    assert_eq!(a.status(), Status::Failed);
}

#[test]
fn read_only_stays_when_the_level_is_set_and_a_chain_goes_on_as_it_began() {
    let mut test = Test::new(Options::new(Level::Causal, 1), ChooserKind::Latest, &ACCOUNTS);
    let mut a = test.connect("a");
    let write = "UPDATE account SET balance = 1 WHERE id = 1";
    for begin in [
        &["BEGIN READ ONLY", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"][..],
        &["BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", "COMMIT AND CHAIN"],
        &["BEGIN READ ONLY", "ROLLBACK AND CHAIN"],
        &["SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "BEGIN"],
    ] {
        begin.iter().for_each(|sql| assert!(test.run(&mut a, sql).is_ok(), "{sql}"));
        assert_eq!(test.value(&mut a, "SHOW transaction_read_only"), Datum::text("on"));
        assert_eq!(state(test.run(&mut a, write)), "25006", "{begin:?}");
        test.run(&mut a, "ROLLBACK").unwrap();
    }
    assert_eq!(state(test.run(&mut a, write)), "25006");
    test.run(&mut a, "BEGIN READ WRITE").unwrap();
    test.run(&mut a, write).unwrap();
    test.run(&mut a, "COMMIT").unwrap();
}

#[test]
fn in_mysql_the_level_is_set_for_the_next_transaction() {
    let mut test = Test::new(Options::new(Level::Causal, 1), ChooserKind::Latest, &ACCOUNTS);
    let mut a = Connection::open(&mut test.database, "a", Dialect::MySql);
    for (asked, level) in [
        (&["SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "START TRANSACTION"][..], "serializable"),
        (&["START TRANSACTION"], "causal"),
        (&["SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION"], "snapshot"),
        (&["SET TRANSACTION ISOLATION LEVEL READ COMMITTED"], "read-committed"),
        (&["SET autocommit = 0"], "snapshot"),
    ] {
        asked.iter().for_each(|sql| assert!(test.run(&mut a, sql).is_ok(), "{sql}"));
        test.value(&mut a, READ);
        test.run(&mut a, "COMMIT").unwrap();
        assert_eq!(last_level(&test), level, "{asked:?}");
    }
    test.run(&mut a, "SET TRANSACTION READ ONLY").unwrap();
    test.run(&mut a, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE").unwrap();
    let write = "UPDATE account SET balance = 1 WHERE id = 1";
    assert_eq!(state(test.run(&mut a, write)), "25006");
    assert_eq!(state(test.run(&mut a, "SET TRANSACTION READ ONLY")), "25001");
    test.run(&mut a, "ROLLBACK").unwrap();
    test.run(&mut a, write).unwrap();
    assert_eq!(a.status(), Status::Open, "nothing commits by itself");
    test.run(&mut a, "SET autocommit = 1").unwrap();
    assert_eq!(test.database.store.counts().committed, 6);
}

#[test]
fn a_level_that_is_not_obeyed_is_acknowledged_shown_and_told_once() {
    let mut test = Test::new(Options::new(Level::Causal, 1), ChooserKind::Latest, &ACCOUNTS);
    test.database.obeys_levels = false;
    let mut a = test.connect("a");
    for told in [Some(DeclaredLevel::Serializable), None] {
        test.run(&mut a, "BEGIN ISOLATION LEVEL SERIALIZABLE").unwrap();
        assert_eq!(test.value(&mut a, "SHOW transaction_isolation"), Datum::text("serializable"));
        assert_eq!(test.value(&mut a, "SHOW TRANSACTION ISOLATION LEVEL"), Datum::text("serializable"));
        assert_eq!(test.value(&mut a, "SELECT current_setting('transaction_isolation')"), Datum::text("serializable"));
        test.value(&mut a, READ);
        test.run(&mut a, "COMMIT").unwrap();
        assert_eq!((last_level(&test), a.take_overruled()), ("causal".to_owned(), told));
    }
    assert_eq!(test.value(&mut a, "SHOW transaction_isolation"), Datum::text("read committed"));
    test.run(&mut a, "SET skew.level = 'rc'").unwrap();
    test.value(&mut a, READ);
    assert_eq!(last_level(&test), "read-committed");
}

#[test]
fn the_databases_of_a_campaign_tell_of_a_level_once() {
    let overruled = skew_mockdb::Overruled::default();
    for told in [Some(DeclaredLevel::Serializable), None] {
        let mut test = Test::new(Options::new(Level::Causal, 1), ChooserKind::Latest, &ACCOUNTS);
        (test.database.obeys_levels, test.database.overruled) = (false, overruled.clone());
        let mut a = test.connect("a");
        test.run(&mut a, "BEGIN ISOLATION LEVEL SERIALIZABLE").unwrap();
        assert_eq!(a.take_overruled(), told);
    }
}

#[test]
fn a_function_that_sets_is_looked_at_as_set_is() {
    let mut test = Test::new(Options::new(Level::Causal, 1), ChooserKind::Latest, &ACCOUNTS);
    let mut a = test.connect("a");
    for (name, value, wrong) in [
        ("skew.level", "sser", "22023"),
        ("skew.chooser", "best", "22023"),
        ("server_version", "9.6", "55P02"),
        ("lock_timeout", "soon", "22023"),
        ("DateStyle", "German", "22023"),
        ("TimeZone", "Nowhere/Land", "22023"),
        ("search_path", "shop", "0A000"),
    ] {
        let sql = format!("SELECT set_config('{name}', '{value}', false)");
        assert_eq!(state(test.run(&mut a, &sql)), wrong, "{name}");
        assert_eq!(a.status(), Status::Idle);
    }
    // In a transaction it is the end of that, as any error is.
    test.run(&mut a, "BEGIN").unwrap();
    assert_eq!(state(test.run(&mut a, "SELECT set_config('skew.level', 'sser', false)")), "22023");
    assert_eq!(a.status(), Status::Failed);
    test.run(&mut a, "ROLLBACK").unwrap();
    assert_eq!(a.setting("skew.level"), None);
    test.run(&mut a, "SELECT set_config('skew.level', 'prefix', false)").unwrap();
    test.value(&mut a, READ);
    assert_eq!(last_level(&test), "prefix");
    test.value(&mut a, "SELECT pg_catalog.set_config('search_path', '', false)");
}

#[test]
fn a_function_that_sets_has_the_effects_that_set_has() {
    let mut test = Test::new(Options::new(Level::Causal, 1), ChooserKind::Latest, &ACCOUNTS);
    let mut a = test.connect("a");
    test.run(&mut a, "SELECT set_config('application_name', 'shop', false)").unwrap();
    assert_eq!(test.database.store.session_name(a.id()), "shop");
    test.run(&mut a, "BEGIN").unwrap();
    test.run(&mut a, "SELECT set_config('lock_timeout', '5', true), set_config('client_encoding', 'utf-8', false)")
        .unwrap();
    assert_eq!((a.setting("lock_timeout"), a.setting("client_encoding")), (Some("5"), Some("UTF8")));
    test.run(&mut a, "COMMIT").unwrap();
    assert_eq!((a.setting("lock_timeout"), a.setting("client_encoding")), (None, Some("UTF8")));
    test.run(&mut a, "BEGIN").unwrap();
    let both = "SELECT set_config('work_mem', '8MB', false), current_setting('work_mem')";
    test.run(&mut a, both).unwrap();
    assert_eq!(a.setting("work_mem"), Some("8MB"));
    test.run(&mut a, "ROLLBACK").unwrap();
    assert_eq!(a.setting("work_mem"), None);
    test.run(&mut a, "BEGIN").unwrap();
    test.run(&mut a, "SELECT set_config('transaction_isolation', 'serializable', true)").unwrap();
    test.value(&mut a, READ);
    test.run(&mut a, "COMMIT").unwrap();
    assert_eq!(last_level(&test), "serializable");
}

#[test]
fn wrong_values_of_settings_are_refused_with_the_good_ones() {
    let mut test = Test::new(Options::new(Level::Causal, 1), ChooserKind::Latest, &ACCOUNTS);
    let mut a = test.connect("a");
    for (sql, good) in [
        ("SET skew.chooser = 'best'", "random, latest, stalest, latest-per-session, novel"),
        ("SET skew.level = 'sser'", "read-committed, read-atomic, causal, prefix, psi, snapshot, serializable"),
        ("SET default_transaction_isolation = 'x'", "serializable, repeatable read, read committed, read uncommitted"),
        ("SET default_transaction_read_only = 'x'", "on, off"),
    ] {
        let Err(Stop::Error(error)) = test.run(&mut a, sql) else { panic!("{sql}") };
        assert_eq!((error.state.0, error.hint), ("22023", Some(format!("available values: {good}"))));
    }
    assert_eq!(state(test.run(&mut a, "SET skew.level = 'psi'")), "0A000");
}

#[test]
fn a_connection_may_choose_for_itself_and_settings_follow_the_transaction() {
    let mut test = Test::new(Options::new(Level::Causal, 1), ChooserKind::Stalest, &ACCOUNTS);
    let (mut a, mut b) = (test.connect("a"), test.connect("b"));
    test.run(&mut a, "UPDATE account SET balance = 7 WHERE id = 1").unwrap();
    assert_eq!(test.value(&mut b, READ), Datum::Integer(100));
    test.run(&mut b, "BEGIN").unwrap();
    test.run(&mut b, "SET skew.chooser = 'latest'").unwrap();
    test.run(&mut b, "ROLLBACK").unwrap();
    assert_eq!(test.value(&mut b, "SHOW skew.chooser"), Datum::text("default"));
    assert_eq!(test.value(&mut b, READ), Datum::Integer(100));
    test.run(&mut b, "BEGIN").unwrap();
    test.run(&mut b, "SET LOCAL skew.chooser = 'latest'").unwrap();
    assert_eq!(test.value(&mut b, "SHOW skew.chooser"), Datum::text("latest"));
    test.run(&mut b, "COMMIT").unwrap();
    assert_eq!(test.value(&mut b, READ), Datum::Integer(100));
    test.run(&mut b, "SET skew.chooser = 'latest'").unwrap();
    assert_eq!(test.value(&mut b, READ), Datum::Integer(7));
    test.run(&mut b, "RESET ALL").unwrap();
    assert_eq!(test.value(&mut b, "SHOW skew.chooser"), Datum::text("default"));
    test.assert_level();
}

#[test]
fn connections_see_what_committed_before_them_and_settling_shows_the_rest() {
    let bare = |bare| Options { bare, ..Options::new(Level::ReadCommitted, 1) };
    for (options, first, own) in [(bare(false), 7, 8), (bare(true), 100, 100)] {
        let mut test = Test::new(options, ChooserKind::Stalest, &ACCOUNTS);
        let (mut a, mut b) = (test.connect("a"), test.connect("b"));
        test.run(&mut a, "UPDATE account SET balance = 7 WHERE id = 1").unwrap();
        let mut late = test.connect("late");
        assert_eq!(test.value(&mut late, READ), Datum::Integer(first));
        test.run(&mut late, "UPDATE account SET balance = 8 WHERE id = 1").unwrap();
        assert_eq!(test.value(&mut late, READ), Datum::Integer(own));
        assert_eq!(test.value(&mut b, READ), Datum::Integer(100));
        assert_eq!(test.value(&mut b, "SELECT skew_settle()"), Datum::Boolean(true));
        assert_eq!(test.value(&mut b, READ), Datum::Integer(8));
        test.assert_level();
    }
}

#[test]
fn a_session_gets_its_name_before_its_first_transaction() {
    let mut test = Test::new(Options::new(Level::Causal, 1), ChooserKind::Latest, &ACCOUNTS);
    let mut a = test.connect("1");
    test.run(&mut a, "SET application_name = 'shop'").unwrap();
    test.value(&mut a, READ);
    test.run(&mut a, "SET application_name = 'other'").unwrap();
    test.value(&mut a, READ);
    let mut b = test.connect("2");
    assert!(b.rename(&mut test.database, "shop"));
    test.value(&mut b, READ);
    assert!(!b.rename(&mut test.database, "late"));
    let names: Vec<String> = test.history().sessions().map(|id| test.history().session_name(id).to_string()).collect();
    assert_eq!(names, ["shop", "shop:2"]);
}

#[test]
fn after_a_refusal_the_next_transaction_reads_the_latest() {
    let mut test = Test::new(Options::new(Level::Snapshot, 1), ChooserKind::Stalest, &ACCOUNTS);
    let (mut a, mut b) = (test.connect("a"), test.connect("b"));
    test.run(&mut a, "UPDATE account SET balance = 7 WHERE id = 1").unwrap();
    test.run(&mut b, "BEGIN").unwrap();
    assert_eq!(test.value(&mut b, READ), Datum::Integer(100));
    let refused = test.run(&mut b, "UPDATE account SET balance = 8 WHERE id = 1");
    assert_eq!(refused, Err(Stop::Interrupted(Interrupt::SerializationFailure)));
    test.run(&mut b, "ROLLBACK").unwrap();
    test.value(&mut b, "SELECT 1");
    test.run(&mut b, "BEGIN").unwrap();
    test.run(&mut b, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE").unwrap();
    assert_eq!(test.value(&mut b, READ), Datum::Integer(7));
    test.run(&mut b, "UPDATE account SET balance = 8 WHERE id = 1").unwrap();
    test.run(&mut b, "COMMIT").unwrap();
    test.assert_level();
}

#[test]
fn the_statements_of_a_block_are_one_transaction() {
    let mut test = Test::new(Options::new(Level::Causal, 1), ChooserKind::Latest, &ACCOUNTS);
    let mut a = test.connect("a");
    a.begin_block();
    test.run(&mut a, "UPDATE account SET balance = 7 WHERE id = 1").unwrap();
    assert_eq!(state(test.run(&mut a, "SELECT 1 / 0")), "22012");
    a.end_block(&mut test.database).unwrap();
    assert_eq!((test.value(&mut a, READ), a.status()), (Datum::Integer(100), Status::Idle));
    a.begin_block();
    test.run(&mut a, "UPDATE account SET balance = 7 WHERE id = 1").unwrap();
    test.run(&mut a, "UPDATE account SET balance = 7 WHERE id = 2").unwrap();
    a.end_block(&mut test.database).unwrap();
    assert_eq!(test.database.store.counts().committed, 2);
    a.begin_block();
    test.run(&mut a, "UPDATE account SET balance = 9 WHERE id = 1").unwrap();
    test.run(&mut a, "BEGIN").unwrap();
    a.end_block(&mut test.database).unwrap();
    assert_eq!(a.status(), Status::Open);
    test.run(&mut a, "ROLLBACK").unwrap();
    assert_eq!(test.value(&mut a, READ), Datum::Integer(7));
}
