//! What a transaction sends and writes down, against a server that answers what it is told to.

use super::*;
use crate::connection::StatementAnswer;
use crate::record::Events;
use crate::table::{int, long_text};
use skew_history::IsolationLevel;
use std::collections::VecDeque;

const ACCOUNTS: Table = Table::new("accounts", &[int("id")], &[int("balance")]);
const LISTS: Table = Table::new("lists", &[int("id")], &[long_text("elements")]);

/// Knows the answers beforehand and keeps the statements.
struct Scripted {
    dialect: Dialect,
    returns_deleted: bool,
    answers: VecDeque<Result<StatementAnswer, Failure>>,
    statements: Vec<String>,
}

impl Connection for Scripted {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn returns_deleted(&self) -> bool {
        self.returns_deleted
    }

    fn execute(&mut self, sql: &str, arguments: &[Value]) -> Result<StatementAnswer, Failure> {
        let arguments: Vec<String> = arguments.iter().map(Value::to_string).collect();
        self.statements.push(format!("{sql} [{}]", arguments.join(" ")));
        self.answers.pop_front().unwrap_or_else(|| Err(Failure::Other("nothing more is known".to_owned())))
    }

    fn type_in(&mut self, _: &str) -> Result<StatementAnswer, crate::Objection> {
        Ok(StatementAnswer::default())
    }

    fn command(&mut self, _: &str) -> Result<(), Failure> {
        Ok(())
    }

    fn begin(&mut self, _: IsolationLevel) -> Result<(), Failure> {
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

fn rows(rows: &[&[i64]]) -> Result<StatementAnswer, Failure> {
    let rows: Vec<Row> = rows.iter().map(|row| Row(row.iter().map(|value| Value::Int(*value)).collect())).collect();
    Ok(StatementAnswer { affected: rows.len() as u64, rows })
}

fn affected(affected: u64) -> Result<StatementAnswer, Failure> {
    Ok(StatementAnswer { rows: Vec::new(), affected })
}

/// What was sent and what was recorded.
fn sent<T>(
    server: Scripted,
    answers: Vec<Result<StatementAnswer, Failure>>,
    code: impl FnOnce(&mut Transaction<'_>) -> Result<T, Failure>,
) -> (Result<T, Failure>, Vec<String>, String, Notes) {
    sent_with(Lookups::default(), server, answers, code)
}

/// The same with lookups of another kind.
fn sent_with<T>(
    lookups: Lookups,
    mut server: Scripted,
    answers: Vec<Result<StatementAnswer, Failure>>,
    code: impl FnOnce(&mut Transaction<'_>) -> Result<T, Failure>,
) -> (Result<T, Failure>, Vec<String>, String, Notes) {
    let (names, mut versions, mut notes) = (Names::default(), VersionNumbers::of_session(2), Notes::default());
    server.answers = answers.into();
    let mut transaction = Transaction::new(&mut server, &names, &mut versions, &mut notes, Events::default());
    transaction.lookups = lookups;
    let result = code(&mut transaction);
    let (events, _) = transaction.end();
    (result, server.statements, events.shown().to_owned(), notes)
}

fn postgres() -> Scripted {
    Scripted { dialect: Dialect::Postgres, returns_deleted: true, answers: VecDeque::new(), statements: Vec::new() }
}

/// MySQL, not MariaDB: it has no RETURNING at all.
fn mysql() -> Scripted {
    Scripted { dialect: Dialect::MySql, returns_deleted: false, ..postgres() }
}

const BOTH: &str = r#"{"r":"accounts/7","v":5,"lock":true,"s":1,"kind":"update"},{"w":"accounts/7","v":3000000001,"s":1,"kind":"update"}"#;

/// Events of the first statement as those of another.
fn at(statement: u32, events: &str) -> String {
    events.replace(r#""s":1"#, &format!(r#""s":{statement}"#))
}

#[test]
fn an_update_says_what_it_replaced() {
    let update = |transaction: &mut Transaction<'_>| transaction.update(&ACCOUNTS, 7, "balance = balance + ?", 10);
    let (result, statements, events, _) = sent(postgres(), vec![rows(&[&[5]])], update);
    assert_eq!((result, events.as_str()), (Ok(true), BOTH));
    let sql = "UPDATE skew_accounts SET balance = balance + ?, prev = ver, ver = ? WHERE id = ?";
    assert_eq!(statements, [format!("{sql} RETURNING prev [10 3000000001 7]")]);

    let (result, statements, events, _) = sent(mysql(), vec![affected(1), rows(&[&[5]])], update);
    assert_eq!((result, events.as_str()), (Ok(true), BOTH));
    let own = "SELECT prev FROM skew_accounts WHERE id = ? FOR UPDATE [7]".to_owned();
    assert_eq!(statements, [format!("{sql} [10 3000000001 7]"), own]);

    let absence = r#"{"r":"accounts/7","v":null,"s":1,"kind":"update"}"#;
    let (result, _, events, notes) = sent(mysql(), vec![affected(0)], update);
    assert_eq!((result, events.as_str(), notes), (Ok(false), absence, Notes::default()));
    let overwrite = |transaction: &mut Transaction<'_>| transaction.overwrite(&ACCOUNTS, 7, "balance = ?", 10);
    let (result, _, events, _) = sent(postgres(), vec![affected(0)], overwrite);
    assert_eq!((result, events.as_str()), (Ok(false), absence));
    let (result, _, events, _) = sent(postgres(), vec![affected(1)], overwrite);
    assert_eq!((result, events.as_str()), (Ok(true), r#"{"w":"accounts/7","v":3000000001,"s":1,"kind":"update"}"#));
}

#[test]
fn an_insert_looks_whether_its_key_is_there() {
    let insert = |transaction: &mut Transaction<'_>| transaction.insert(&ACCOUNTS, 7, 100);
    let (result, _, events, _) = sent(postgres(), vec![affected(1)], insert);
    let absence = r#"{"r":"accounts/7","v":null,"lock":true,"s":1,"kind":"insert"}"#;
    let write = r#"{"w":"accounts/7","v":3000000001,"s":1,"kind":"insert"}"#;
    assert_eq!((result, events), (Ok(()), format!("{absence},{write}")));
    let (result, _, events, _) = sent(mysql(), vec![Err(Failure::Duplicate)], insert);
    let found = r#"{"r":"accounts/7","found":true,"s":1,"kind":"insert"}"#;
    assert_eq!((result, events.as_str()), (Err(Failure::Duplicate), found));
    // Of another unique key nobody knows who has it.
    let (_, _, events, _) = sent(mysql(), vec![Err(Failure::Constraint("unique violation"))], insert);
    assert_eq!(events, "");
}

#[test]
fn a_locking_read_says_so_unless_there_is_nothing_to_lock() {
    let lock = |transaction: &mut Transaction<'_>| {
        transaction.select_for_update(&ACCOUNTS, 7, &[])?;
        transaction.select_for_update(&ACCOUNTS, 8, &[])?;
        transaction.scan_for_update(&ACCOUNTS, "balance > 0", (), &[])
    };
    let answers = vec![rows(&[&[5]]), rows(&[]), rows(&[&[5, 7], &[6, 9]])];
    let (_, statements, events, _) = sent(postgres(), answers, lock);
    assert!(statements.iter().all(|sql| sql.contains(" FOR UPDATE [")), "{statements:?}");
    let expected = [
        r#"{"r":"accounts/7","v":5,"lock":true,"s":1,"kind":"for-update"}"#,
        r#"{"r":"accounts/8","v":null,"s":2,"kind":"for-update"}"#,
        r#"{"r":"accounts/7","v":5,"lock":true,"s":3,"kind":"for-update"}"#,
        r#"{"r":"accounts/9","v":6,"lock":true,"s":3,"kind":"for-update"}"#,
    ];
    assert_eq!(events, expected.join(","));
}

#[test]
fn a_select_of_nothing_is_told_where_the_first_one_decides_what_all_others_see() {
    let looks = |transaction: &mut Transaction<'_>| {
        transaction.scan(&ACCOUNTS, "balance = 3", (), &[])?;
        transaction.query("SELECT 1", ())
    };
    let (_, _, events, _) = sent(mysql(), vec![rows(&[]), rows(&[&[1]])], looks);
    assert_eq!(events, r#"{"r":"accounts?","v":null,"s":1},{"r":"?","v":null,"s":2}"#);
    let (_, _, events, _) = sent(postgres(), vec![rows(&[]), rows(&[&[1]])], looks);
    assert_eq!(events, "");
}

#[test]
fn many_rows_are_locked_first_where_an_update_does_not_name_them() {
    let update = |transaction: &mut Transaction<'_>| {
        transaction.update_where(&ACCOUNTS, ("balance > ?", 3), ("balance = 0", ()))
    };
    let answers = vec![rows(&[&[5, 7]]), affected(1), rows(&[&[5]])];
    let (result, statements, events, notes) = sent(mysql(), answers, update);
    assert_eq!(result, Ok(vec![vec![Value::Int(7)]]));
    assert_eq!(statements[0], "SELECT ver, id FROM skew_accounts WHERE balance > ? FOR UPDATE [3]");
    let locked = r#"{"r":"accounts/7","v":5,"lock":true,"s":1,"kind":"for-update"}"#;
    assert_eq!(events, format!("{locked},{}", at(2, BOTH)));
    assert_eq!(notes.scans, 1);
    let (result, statements, events, _) = sent(postgres(), vec![rows(&[&[5, 7]])], update);
    assert_eq!((result.map(|keys| keys.len()), events.as_str()), (Ok(1), BOTH));
    let sql = "UPDATE skew_accounts SET balance = 0, prev = ver, ver = ? WHERE balance > ? RETURNING prev, id";
    assert_eq!(statements, [format!("{sql} [3000000001 3]")]);
}

#[test]
fn a_deletion_is_a_locking_read_and_a_write_of_absence() {
    let delete = |transaction: &mut Transaction<'_>| transaction.delete(&ACCOUNTS, 7);
    let expected = r#"{"r":"accounts/7","v":5,"lock":true,"s":1,"kind":"delete"},{"w":"accounts/7","v":null,"s":1,"kind":"delete"}"#;
    let (result, statements, events, notes) = sent(postgres(), vec![rows(&[&[5, 7]])], delete);
    assert_eq!((result, events.as_str(), statements.len(), notes.deletions), (Ok(true), expected, 1, 1));
    let (result, statements, events, notes) = sent(mysql(), vec![rows(&[&[5, 7]]), affected(1)], delete);
    let locked = r#"{"r":"accounts/7","v":5,"lock":true,"s":1,"kind":"for-update"}"#;
    let expected = format!("{locked},{}", at(2, expected));
    assert_eq!((result, events, statements.len(), notes.deletions), (Ok(true), expected, 2, 1));
    for (server, kind) in [(postgres(), "delete"), (mysql(), "for-update")] {
        let (result, statements, events, notes) = sent(server, vec![rows(&[])], delete);
        assert_eq!((result, statements.len(), notes.deletions), (Ok(false), 1, 0));
        assert_eq!(events, format!(r#"{{"r":"accounts/7","v":null,"s":1,"kind":"{kind}"}}"#));
    }
}

#[test]
fn lists_are_read_whole_and_appended_to() {
    let code = |transaction: &mut Transaction<'_>| {
        assert_eq!(transaction.append(&LISTS, 1, "elements")?, Some(3_000_000_001));
        transaction.read_list(&LISTS, 1, "elements")
    };
    let list = StatementAnswer { rows: vec![Row(vec!["7,3000000001,".into()])], affected: 1 };
    let (result, statements, events, _) = sent(mysql(), vec![affected(1), Ok(list)], code);
    assert_eq!(result, Ok(vec![7, 3_000_000_001]));
    assert!(statements[0].contains("CONCAT(elements, ?)") && statements[0].contains("[3000000001, 3000000001 1]"));
    let append = r#"{"a":"lists/1","v":3000000001,"s":1,"kind":"update"}"#;
    assert_eq!(events, format!(r#"{append},{{"r":"lists/1","v":[7,3000000001],"s":2}}"#));
}

#[test]
fn a_scan_by_the_beginning_of_the_key_knows_what_was_not_there() {
    const LINES: Table = Table::new("lines", &[int("order_id"), int("number")], &[int("amount")]);
    let code = |transaction: &mut Transaction<'_>| transaction.scan_prefix(&LINES, 4, &["amount"]);
    let (result, statements, events, notes) = sent(mysql(), vec![rows(&[&[5, 4, 1, 70], &[6, 4, 2, 80]])], code);
    let amounts: Vec<i64> = result.expect("two rows").iter().map(|found| found.row.int(0).unwrap_or(0)).collect();
    assert_eq!((amounts, notes), (vec![70, 80], Notes::default()));
    let sql = "SELECT ver, order_id, number, amount FROM skew_lines WHERE order_id = ? ORDER BY order_id, number [4]";
    assert_eq!(statements, [sql]);
    assert_eq!(events, r#"{"scan":"lines/4/","reads":[{"k":"lines/4/1","v":5},{"k":"lines/4/2","v":6}],"s":1}"#);
    let (whole, statements, events, _) = sent(postgres(), vec![rows(&[])], |it| it.scan_prefix(&LINES, (), &[]));
    assert_eq!((whole, events.as_str()), (Ok(Vec::new()), r#"{"scan":"lines/","reads":[],"s":1}"#));
    assert!(!statements[0].contains("WHERE"));
    assert!(sent(postgres(), vec![], |it| it.scan_prefix(&LINES, (1, 2), &[])).0.is_err());
}

#[test]
fn of_a_key_that_comes_back_twice_nothing_is_told() {
    let looks = |transaction: &mut Transaction<'_>| {
        transaction.select(&ACCOUNTS, 7, &[])?;
        transaction.scan(&ACCOUNTS, "", (), &[])?;
        transaction.scan_prefix(&ACCOUNTS, (), &[])
    };
    let both = || rows(&[&[3_000_000_001, 7], &[5, 7], &[6, 8]]);
    let (_, _, events, notes) = sent(postgres(), vec![rows(&[&[3_000_000_001], &[5]]), both(), both()], looks);
    let scan = r#"{"scan":"accounts/","reads":[{"k":"accounts/8","v":6}],"except":["accounts/7"],"s":3}"#;
    assert_eq!(events, format!(r#"{{"r":"accounts/8","v":6,"s":2}},{scan}"#));
    assert_eq!(notes.unrecorded, 3);
}

const WHOLE: Lookups = Lookups { whole: true, sorted: false };
const LOOK: [&str; 2] =
    ["SELECT ver, id FROM skew_accounts ORDER BY id []", "SELECT ver, id, balance FROM skew_accounts ORDER BY id []"];
const LOOKED: &str = r#"{"scan":"accounts/","reads":[{"k":"accounts/7","v":5},{"k":"accounts/8","v":6}],"s":1},{"r":"accounts/7","v":5,"s":2},{"r":"accounts/8","v":6,"s":2}"#;

#[test]
fn a_lookup_that_reads_the_whole_table_picks_its_row() {
    let select = |key: i64| move |transaction: &mut Transaction<'_>| transaction.select(&ACCOUNTS, key, &["balance"]);
    let answers = || vec![rows(&[&[5, 7], &[6, 8]]), rows(&[&[5, 7, 70], &[6, 8, 80]])];
    let (result, statements, events, notes) = sent_with(WHOLE, mysql(), answers(), select(8));
    assert_eq!(result, Ok(Some(Row(vec![Value::Int(80)]))));
    assert_eq!((statements.as_slice(), events.as_str()), (LOOK.map(str::to_owned).as_slice(), LOOKED));
    assert_eq!(notes, Notes::default());
    let (absent, _, events, _) = sent_with(WHOLE, postgres(), answers(), select(9));
    assert_eq!((absent, events.as_str()), (Ok(None), LOOKED));
}

#[test]
fn a_change_comes_after_a_look_at_the_whole_table() {
    let look = || vec![rows(&[&[5, 7], &[6, 8]]), rows(&[&[5, 7], &[6, 8]])];
    let mut answers = look();
    answers.push(rows(&[&[5]]));
    let update = |transaction: &mut Transaction<'_>| transaction.update(&ACCOUNTS, 7, "balance = balance + ?", 10);
    let (result, statements, events, _) = sent_with(WHOLE, postgres(), answers, update);
    assert_eq!((result, statements.len(), events), (Ok(true), 3, format!("{LOOKED},{}", at(3, BOTH))));
    let mut answers = look();
    answers.push(rows(&[&[6, 8]]));
    let scan = |transaction: &mut Transaction<'_>| transaction.scan(&ACCOUNTS, "balance = ?", 80, &[]);
    let (_, _, events, _) = sent_with(WHOLE, postgres(), answers, scan);
    assert_eq!(events, format!(r#"{LOOKED},{{"r":"accounts/8","v":6,"s":3}}"#));
}

#[test]
fn rows_that_nobody_put_in_order_come_in_that_of_their_keys_where_that_matters() {
    let keys = |sorted: bool, condition: &'static str| {
        let code = move |transaction: &mut Transaction<'_>| transaction.scan(&ACCOUNTS, condition, (), &[]);
        let answers = vec![rows(&[&[6, 8], &[5, 7]])];
        let found = sent_with(Lookups { whole: false, sorted }, mysql(), answers, code).0.expect("two rows");
        found.into_iter().map(|found| found.key[0].clone()).collect::<Vec<Value>>()
    };
    let (seven, eight) = (Value::Int(7), Value::Int(8));
    assert_eq!(keys(true, ""), [seven.clone(), eight.clone()]);
    assert_eq!(keys(false, ""), [eight.clone(), seven.clone()]);
    assert_eq!(keys(true, "1 = 1 ORDER BY balance"), [eight, seven]);
}

#[test]
fn after_a_failure_nothing_is_sent_any_more() {
    let code = |transaction: &mut Transaction<'_>| {
        let first = transaction.insert(&ACCOUNTS, 7, 100);
        assert_eq!(first, Err(Failure::Constraint("unique violation")));
        transaction.select(&ACCOUNTS, 7, &[])
    };
    let answers = vec![Err(Failure::Constraint("unique violation")), rows(&[&[5]])];
    let (result, statements, events, _) = sent(postgres(), answers, code);
    assert_eq!(result, Err(Failure::Constraint("unique violation")));
    assert_eq!((statements.len(), events.as_str()), (1, ""));
}

#[test]
fn a_key_of_the_wrong_length_is_told_in_words() {
    let (result, statements, ..) = sent(postgres(), vec![], |it| it.select(&ACCOUNTS, (1, 2), &[]));
    assert_eq!(result, Err(Failure::Other("the key of accounts has 1 columns, not 2".to_owned())));
    assert!(statements.is_empty());
}
