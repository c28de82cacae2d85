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
    mut server: Scripted,
    answers: Vec<Result<StatementAnswer, Failure>>,
    code: impl FnOnce(&mut Transaction<'_>) -> Result<T, Failure>,
) -> (Result<T, Failure>, Vec<String>, String, Notes) {
    let (names, mut versions, mut notes) = (Names::default(), VersionNumbers::of_session(2), Notes::default());
    server.answers = answers.into();
    let mut transaction = Transaction::new(&mut server, &names, &mut versions, &mut notes, Events::default());
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

const BOTH: &str = r#"{"r":"accounts/7","v":5,"lock":true},{"w":"accounts/7","v":3000000001}"#;

#[test]
fn an_update_says_what_it_replaced() {
    let update = |transaction: &mut Transaction<'_>| transaction.update(&ACCOUNTS, 7, "balance = balance + ?", 10);
    let (result, statements, events, _) = sent(postgres(), vec![rows(&[&[5]])], update);
    assert_eq!((result, events.as_str()), (Ok(true), BOTH));
    let sql = "UPDATE skew_accounts SET balance = balance + ?, prev = ver, ver = ? WHERE id = ?";
    assert_eq!(statements, [format!("{sql} RETURNING prev [10 3000000001 7]")]);

    let (result, statements, events, _) = sent(mysql(), vec![affected(1), rows(&[&[5]])], update);
    assert_eq!((result, events.as_str()), (Ok(true), BOTH));
    let own = "SELECT prev FROM skew_accounts WHERE id = ? [7]".to_owned();
    assert_eq!(statements, [format!("{sql} [10 3000000001 7]"), own]);

    let (result, _, events, _) = sent(mysql(), vec![affected(0)], update);
    assert_eq!((result, events.as_str()), (Ok(false), ""));
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
    assert_eq!(events, format!(r#"{{"r":"accounts/7","v":5,"lock":true}},{BOTH}"#));
    assert_eq!(notes.scans, 1);
    let (result, statements, events, _) = sent(postgres(), vec![rows(&[&[5, 7]])], update);
    assert_eq!((result.map(|keys| keys.len()), events.as_str()), (Ok(1), BOTH));
    let sql = "UPDATE skew_accounts SET balance = 0, prev = ver, ver = ? WHERE balance > ? RETURNING prev, id";
    assert_eq!(statements, [format!("{sql} [3000000001 3]")]);
}

#[test]
fn a_deletion_is_a_locking_read_and_a_write_of_absence() {
    let delete = |transaction: &mut Transaction<'_>| transaction.delete(&ACCOUNTS, 7);
    let expected = r#"{"r":"accounts/7","v":5,"lock":true},{"w":"accounts/7","v":null}"#;
    for (server, answers, statements) in
        [(postgres(), vec![rows(&[&[5, 7]])], 1), (mysql(), vec![rows(&[&[5, 7]]), affected(1)], 2)]
    {
        let (result, sent, events, notes) = sent(server, answers, delete);
        assert_eq!((result, events.as_str(), sent.len()), (Ok(true), expected, statements));
        assert_eq!(notes.deletions, 1);
    }
    let (result, sent, events, notes) = sent(mysql(), vec![rows(&[])], delete);
    assert_eq!((result, events.as_str(), sent.len()), (Ok(false), "", 1));
    assert_eq!(notes.deletions, 0);
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
    assert_eq!(events, r#"{"a":"lists/1","v":3000000001},{"r":"lists/1","v":[7,3000000001]}"#);
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
    assert_eq!(events, r#"{"scan":"lines/4/","reads":[{"k":"lines/4/1","v":5},{"k":"lines/4/2","v":6}]}"#);
    let (whole, statements, events, _) = sent(postgres(), vec![rows(&[])], |it| it.scan_prefix(&LINES, (), &[]));
    assert_eq!((whole, events.as_str()), (Ok(Vec::new()), r#"{"scan":"lines/","reads":[]}"#));
    assert!(!statements[0].contains("WHERE"));
    assert!(sent(postgres(), vec![], |it| it.scan_prefix(&LINES, (1, 2), &[])).0.is_err());
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
