//! What logs bring beside statements: their own tables, places in the application's code, requests of several transactions, and tests that
//! take everything back.

use skew_analyze::lint::{LintRule, lint};
use skew_analyze::log::{LogFormat, LogProgram, LogReading, read_log};
use skew_analyze::{Level, Robustness, RobustnessAnalysis, Transactions, UnfoldOptions};
use skew_program::Program;

/// A jsonlog of statements, each with the session that says it.
fn said(statements: &[(&str, &str)]) -> String {
    let line = |(session, statement): &(&str, &str)| {
        let quoted = statement.replace('\\', "\\\\").replace('"', "\\\"");
        format!("{{\"session_id\":\"{session}\",\"error_severity\":\"LOG\",\"message\":\"statement: {quoted}\"}}\n")
    };
    statements.iter().map(line).collect()
}

/// The same as `skew serve` writes it.
fn served(statements: &[(&str, &str)]) -> String {
    let start = "{\"session_id\":\"0\",\"error_severity\":\"LOG\",\"message\":\"starting skew serve\"}\n";
    format!("{start}{}", said(statements))
}

fn program(text: &str) -> LogProgram {
    let format = LogFormat::detect(text).expect("a log");
    let program = LogProgram::of(&read_log(text, format), "").expect("a program");
    Program::parse(&program.text).unwrap_or_else(|error| panic!("{error:?}\n{}", program.text));
    program
}

fn names(program: &LogProgram) -> Vec<(&str, usize)> {
    program.templates.iter().map(|one| (one.name.as_str(), one.count)).collect()
}

const TABLE: (&str, &str) = ("a", "CREATE TABLE \"product\" (\"id\" bigint PRIMARY KEY, \"stock\" integer NOT NULL)");

#[test]
fn the_tables_of_a_log_are_those_that_it_makes() {
    let text = said(&[
        ("a", "BEGIN"),
        TABLE,
        ("a", "INSERT INTO product VALUES (1, 1)"),
        ("a", "COMMIT"),
        ("a", "ALTER TABLE product ADD COLUMN name text"),
        ("a", "CREATE INDEX by_name ON product (name)"),
        ("a", "SELECT stock FROM product WHERE id = 1"),
        ("a", "SELECT name FROM product WHERE id = 1"),
    ]);
    let program = program(&text);
    // What shares a transaction with CREATE TABLE is set-up.
    assert_eq!(names(&program), [("select_product", 1), ("select_product_2", 1)], "{}", program.text);
    assert!(program.has_tables && program.left_out.is_empty(), "{:?}", program.left_out);
    let lines: Vec<(bool, u32)> =
        program.own_lines().iter().map(|one| (one.text.starts_with("ALTER"), one.line)).collect();
    assert!(lines.contains(&(true, 5)), "{lines:?}");
}

#[test]
fn a_transaction_with_a_table_of_its_session_is_no_set_up() {
    let program = |statement: &str| {
        let update = ("a", "UPDATE product SET stock = 7 WHERE id = 1");
        program(&said(&[TABLE, ("a", "BEGIN"), ("a", statement), update, ("a", "COMMIT")]))
    };
    for statement in ["CREATE TEMP TABLE t (id integer)", "GRANT SELECT ON product TO ann"] {
        let told = program(statement);
        assert_eq!(names(&told), [("update_product", 1)], "{}", told.text);
    }
    assert_eq!(names(&program("CREATE TABLE t (id integer)")), []);
}

#[test]
fn a_table_that_every_test_makes_anew_is_there_once() {
    let select = ("a", "SELECT stock FROM product WHERE id = 1");
    let again = ("a", "CREATE TABLE product (id bigint PRIMARY KEY, stock integer, sold integer)");
    let drop = ("a", "DROP TABLE product");
    let program = program(&said(&[TABLE, select, drop, TABLE, select, drop, again, select, drop]));
    assert_eq!(names(&program), [("select_product", 3)], "{}", program.text);
    assert!(program.left_out.iter().all(|one| !one.matters), "{:?}", program.left_out);
}

#[test]
fn what_was_said_to_a_table_as_it_was_once_does_not_matter() {
    let old = ("a", "SELECT name FROM product WHERE id = 1");
    let matters = |statements: &[(&str, &str)]| -> Vec<bool> {
        program(&said(statements)).left_out.iter().map(|one| one.matters).collect()
    };
    let (added, dropped) = ("ALTER TABLE product ADD COLUMN name text", "ALTER TABLE product DROP COLUMN name");
    assert_eq!(matters(&[TABLE, ("a", added), old, ("a", dropped)]), [false]);
    assert_eq!(matters(&[TABLE, ("a", added), ("a", dropped), old]), [true]);
    assert_eq!(matters(&[TABLE, old]), [true]);
}

#[test]
fn a_table_that_was_there_before_the_log_matters() {
    let other = ("a", "SELECT name FROM customer WHERE id = 1");
    let program = program(&said(&[TABLE, other, ("a", "ALTER TABLE product ADD COLUMN sold integer")]));
    assert_eq!(program.left_out.iter().map(|one| (one.line, one.matters)).collect::<Vec<_>>(), [(2, true)]);
}

#[test]
fn one_log_may_make_the_tables_of_the_next() {
    let select = ("a", "SELECT stock FROM product WHERE id = 1");
    let mut reading = LogReading::new(LogFormat::PostgresJson);
    for statements in [vec![TABLE, select], vec![("a", "SELECT 1"), select]] {
        reading.add(&said(&statements), LogFormat::PostgresJson, false);
    }
    let program = LogProgram::of(&reading, "").expect("a program");
    assert_eq!(names(&program), [("select_product", 2)], "{}", program.text);
    assert_eq!((program.templates[0].log, &program.templates[0].lines), (0, &vec![2]));
}

#[test]
fn where_tables_are_given_what_shares_a_transaction_with_definitions_counts() {
    let text = said(&[
        ("a", "SELECT stock FROM product WHERE id = 1"),
        ("a", "BEGIN"),
        ("a", "CREATE INDEX by_stock ON product (stock)"),
        ("a", "SELECT stock FROM product WHERE id = 2"),
        ("a", "COMMIT"),
    ]);
    let reading = read_log(&text, LogFormat::PostgresJson);
    let given = LogProgram::of(&reading, &format!("{};", TABLE.1)).expect("a program");
    assert_eq!(names(&given), [("select_product", 2)], "{}", given.text);
    assert_eq!(given.left_out.iter().map(|one| (one.line, one.matters)).collect::<Vec<_>>(), [(3, false)]);
}

#[test]
fn triggers_that_a_log_makes_matter() {
    let trigger = ("a", "CREATE TRIGGER t BEFORE INSERT ON product FOR EACH ROW EXECUTE FUNCTION f()");
    let program = program(&said(&[TABLE, trigger, ("a", "SELECT stock FROM product WHERE id = 1")]));
    assert_eq!(program.left_out.iter().map(|one| (one.line, one.matters)).collect::<Vec<_>>(), [(2, true)]);
}

#[test]
fn comments_tell_lines_of_the_application() {
    let program =
        program(&said(&[TABLE, ("a", "SELECT stock FROM product WHERE id = 1; /*file='shop%2Fviews.py',line='12'*/")]));
    let lines = program.own_lines();
    let select = lines.iter().find(|one| one.text.contains("SELECT")).expect("the statement");
    assert_eq!((select.line, select.code.clone()), (2, Some(("shop/views.py".to_owned(), 12))));
    assert!(!select.text.contains("views"), "{}", select.text);
}

/// A look and a change in transactions of their own, for one request after the other.
fn requests(comment: impl Fn(usize) -> String) -> Vec<(&'static str, String)> {
    let mut all = vec![(TABLE.0, TABLE.1.to_owned())];
    for number in 1..4 {
        all.push(("a", format!("SELECT stock FROM product WHERE id = {number}{}", comment(number))));
        all.push(("a", format!("UPDATE product SET stock = 7{number} WHERE id = {number}{}", comment(number))));
    }
    all
}

fn wrong_scopes(text: &str) -> usize {
    let program = program(text);
    let found = lint(&Program::parse(&program.text).expect("a program"), &program.text);
    found.iter().filter(|one| one.rule == LintRule::WrongScope).count()
}

#[test]
fn transactions_of_one_request_are_a_unit() {
    let traced = requests(|number| format!(" /*route='/buy',traceparent='00-trace{number}-1-01'*/"));
    let traced: Vec<(&str, &str)> = traced.iter().map(|(session, text)| (*session, text.as_str())).collect();
    let text = said(&traced);
    let told = program(&text);
    assert!(told.text.contains("-- unit: /buy = select_product(v0), update_product(v1, v0)"), "{}", told.text);
    assert!(told.covers().contains("1 unit of several transactions"), "{}", told.covers());
    assert_eq!(wrong_scopes(&text), 1);
    // Without a request nobody knows what belongs together.
    let plain = requests(|_| String::new());
    let plain: Vec<(&str, &str)> = plain.iter().map(|(session, text)| (*session, text.as_str())).collect();
    assert_eq!(wrong_scopes(&said(&plain)), 0);
}

#[test]
fn of_many_requests_those_that_spoke_last_are_remembered() {
    let mut all = vec![(TABLE.0, TABLE.1.to_owned())];
    for number in 0..2_500 {
        let trace = format!("/*route='/buy',traceparent='00-trace{number}-1-01'*/");
        all.push(("a", format!("SELECT stock FROM product WHERE id = {number} {trace}")));
        all.push(("a", format!("UPDATE product SET stock = 9{number} WHERE id = {number} {trace}")));
    }
    let all: Vec<(&str, &str)> = all.iter().map(|(session, text)| (*session, text.as_str())).collect();
    let told = program(&said(&all));
    assert!(told.text.contains("-- unit: /buy = select_product(v0), update_product(v1, v0)"), "{}", told.text);
    assert!(told.covers().contains("1 unit of several transactions"), "{}", told.covers());
}

#[test]
fn a_look_in_one_transaction_and_a_change_in_the_next_are_told_whatever_decides() {
    let counted = |lock: &str| {
        let mut all = vec![(TABLE.0, TABLE.1.to_owned())];
        for number in 1..4 {
            let trace = format!(" /*route='/buy',traceparent='00-trace{number}-1-01'*/");
            all.push(("a", format!("SELECT stock FROM product WHERE id = {number}{trace}")));
            all.push(("a", "BEGIN".to_owned()));
            all.extend(
                (!lock.is_empty())
                    .then(|| ("a", format!("SELECT stock FROM product WHERE id = {number}{lock}{trace}"))),
            );
            all.push(("a", format!("UPDATE product SET stock = stock - 5{number} WHERE id = {number}{trace}")));
            all.push(("a", "COMMIT".to_owned()));
        }
        let all: Vec<(&str, &str)> = all.iter().map(|(session, text)| (*session, text.as_str())).collect();
        wrong_scopes(&said(&all))
    };
    assert_eq!((counted(""), counted(" FOR UPDATE")), (1, 0));
}

#[test]
fn what_a_served_connection_does_is_a_unit() {
    let look = "SELECT stock FROM product WHERE id = 1";
    let act = "UPDATE product SET stock = 7 WHERE id = 1";
    let (other_look, other_act) = (look.replace('1', "2"), act.replace(['1', '7'], "2"));
    let statements = [TABLE, ("b", look), ("b", act), ("c", &other_look), ("c", &other_act)];
    assert_eq!((wrong_scopes(&served(&statements)), wrong_scopes(&said(&statements))), (1, 0));
}

#[test]
fn savepoints_of_tests_that_roll_back_are_the_transactions_of_the_application() {
    let test = [
        TABLE,
        ("a", "BEGIN"),
        ("a", "SAVEPOINT test"),
        ("a", "INSERT INTO product VALUES (1, 10)"),
        ("a", "SAVEPOINT one"),
        ("a", "SELECT stock FROM product WHERE id = 1"),
        ("a", "SAVEPOINT two"),
        ("a", "UPDATE product SET stock = 7 WHERE id = 1"),
        ("a", "RELEASE SAVEPOINT two"),
        ("a", "RELEASE SAVEPOINT one"),
        ("a", "ROLLBACK TO SAVEPOINT test"),
        ("a", "ROLLBACK"),
    ];
    let heard = program(&served(&test));
    assert_eq!(names(&heard), [("insert_product", 1), ("select_product", 1)], "{}", heard.text);
    assert!(heard.text.contains("SELECT") && heard.text.contains("UPDATE") && heard.left_out.is_empty());
    assert!(heard.covers().contains("2 transactions are parts of tests that were rolled back"), "{}", heard.covers());
    // In the log of a server, what was rolled back has done nothing.
    let logged = program(&said(&test));
    assert_eq!((names(&logged), logged.rolled_back), (vec![], 0), "{}", logged.text);
}

/// Whether a program is robust at read committed.
fn is_robust(text: &str) -> bool {
    let transactions = Transactions::of(&Program::parse(text).expect("a program"));
    let analysis = RobustnessAnalysis::new(transactions, UnfoldOptions::default()).expect("templates");
    let levels = vec![Some(Level::ReadCommitted); analysis.transactions().procedures.len()];
    !matches!(analysis.ask(&levels), Robustness::NotRobust(_))
}

#[test]
fn a_deferred_foreign_key_looks_at_the_parent_when_all_else_is_done() {
    let program = |when: &str| {
        format!(
            "CREATE TABLE item (id INT PRIMARY KEY, v INT NOT NULL);
             CREATE TABLE parent (id INT PRIMARY KEY);
             CREATE TABLE child (id INT PRIMARY KEY, parent INT NOT NULL REFERENCES parent (id) {when});
             CREATE PROCEDURE add_child(IN c INT, IN p INT, IN i INT, OUT o INT)
             BEGIN INSERT INTO child VALUES (c, p); SELECT v INTO o FROM item WHERE id = i; END;
             CREATE PROCEDURE add_parent(IN p INT, IN i INT)
             BEGIN INSERT INTO parent VALUES (p); UPDATE item SET v = v + 1 WHERE id = i; END;"
        )
    };
    // The parent has to be there before the look, and so is the change.
    assert!(is_robust(&program("")));
    // The look comes before parent and change, the commit behind them.
    assert!(!is_robust(&program("DEFERRABLE INITIALLY DEFERRED")));
}
