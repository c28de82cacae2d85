//! Logs of real servers: transactions through ordinary drivers, with logging on, and the race is found with its lines of the log.

use skew_analyze::log::{LogFormat, LogProgram, LogReading, read_log};
use skew_analyze::{Level, Robustness, RobustnessAnalysis, Transactions, UnfoldOptions};
use skew_history::IsolationLevel;
use skew_program::Program;
use skew_workload::connection::{Connection, Settings, connect};
use skew_workload::servers::{MariaDbServer, PostgresServer, ServerError};
use skew_workload::{Url, Value};
use std::path::Path;
use std::time::Duration;

#[path = "live/functions.rs"]
mod functions;

const SCHEMA: &str = "CREATE TABLE product (id INT PRIMARY KEY, stock INT NOT NULL, sold INT NOT NULL);";
const LAST: &str = "SELECT 'this is the last line'";

/// A server, or nothing when it is not installed here.
fn installed<T>(started: Result<T, ServerError>) -> Option<T> {
    let was_set_up = std::env::var_os("SKEW_CLIENTS").is_some_and(|folder| folder != "no");
    match started {
        Ok(server) => Some(server),
        Err(error @ ServerError::Missing { .. }) if !was_set_up => {
            skew_testing::skipped(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn client(url: &Url, name: &str) -> Box<dyn Connection> {
    let settings = Settings { name: name.to_owned(), timeout: Duration::from_secs(60) };
    connect(url, &settings).unwrap_or_else(|failure| panic!("{failure}"))
}

/// One value that a server tells.
fn asked(connection: &mut dyn Connection, sql: &str) -> String {
    let answer = connection.type_in(sql).unwrap_or_else(|objection| panic!("{sql}: {objection:?}"));
    answer.rows[0].text(0).unwrap_or_else(|failure| panic!("{sql}: {failure}")).to_owned()
}

/// An adjustment of the stock that reads, computes and writes; a sale that the database counts; one that is taken back; one that fails.
fn work(url: &Url) {
    let (mut ann, mut ben) = (client(url, "ann"), client(url, "ben"));
    let run = |connection: &mut dyn Connection, sql: &str, arguments: &[i64]| {
        let arguments: Vec<Value> = arguments.iter().copied().map(Value::from).collect();
        connection.execute(sql, &arguments).map_err(|failure| failure.to_string())
    };
    for (item, stock) in [(1, 7), (2, 15)] {
        ann.begin(IsolationLevel::ReadCommitted).expect("a transaction");
        run(&mut *ann, "SELECT stock FROM product WHERE id = ?", &[item]).expect("a read");
        run(&mut *ann, "UPDATE product SET stock = ? WHERE id = ?", &[stock, item]).expect("a write");
        ann.commit().expect("a commit");
        run(&mut *ben, "UPDATE product SET sold = sold + ? WHERE id = ?", &[1, item]).expect("a sale");
    }
    ben.begin(IsolationLevel::ReadCommitted).expect("a transaction");
    run(&mut *ben, "DELETE FROM product WHERE id = ?", &[1]).expect("a deletion");
    ben.rollback().expect("a rollback");
    run(&mut *ann, "INSERT INTO product VALUES (?, 0, 0)", &[1]).expect_err("the key is taken");
    ben.type_in(LAST).expect("the end");
}

fn prepare(url: &Url) {
    let mut connection = client(url, "setup");
    connection.command(SCHEMA).expect("a table");
    connection.command("INSERT INTO product VALUES (1, 10, 0), (2, 10, 0)").expect("rows");
}

/// A file as soon as its last line is in it: servers write logs on the side.
fn complete(file: &Path) -> String {
    for _ in 0..2400 {
        let text = std::fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        if text.contains("this is the last line") && text.ends_with('\n') {
            return text;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{} has no last line", file.display());
}

fn reading(text: &str, format: LogFormat) -> LogReading {
    assert_eq!(LogFormat::detect(text), Some(format));
    let reading = read_log(text, format);
    assert_eq!(reading.bad, [], "{text}");
    reading
}

/// The race of the adjustment: its read and its write, by what stands on their lines of the log.
fn assert_race(text: &str, program: &LogProgram) {
    let names: Vec<(&str, usize)> = program.templates.iter().map(|one| (one.name.as_str(), one.count)).collect();
    assert!(names.contains(&("select_product", 2)) && names.contains(&("update_product", 2)), "{names:?}");
    let kept: Vec<&str> = program.left_out.iter().filter(|one| one.matters).map(|one| one.statement.as_str()).collect();
    assert_eq!(kept, [""; 0]);
    let transactions = Transactions::of(&Program::parse(&program.text).expect("a program"));
    let analysis = RobustnessAnalysis::new(transactions, UnfoldOptions::default()).expect("templates");
    let number = analysis.transactions().procedures.iter().position(|one| one.name == "select_product");
    let mut levels = vec![None; analysis.transactions().procedures.len()];
    levels[number.expect("the template")] = Some(Level::ReadCommitted);
    let Robustness::NotRobust(witness) = analysis.ask(&levels) else { panic!("a lost update is possible") };
    let lines: Vec<&str> = text.lines().collect();
    let told = |place| lines[program.log_line(place).expect("a line of the log") as usize - 1];
    assert!(told(witness.dependencies[0].from.1).contains("SELECT stock FROM product"), "{}", program.text);
    assert!(told(witness.dependencies[0].to.1).contains("UPDATE product SET stock"), "{}", program.text);
    levels.fill(Some(Level::Serializable));
    assert!(analysis.ask(&levels).is_robust());
}

fn assert_logs_of_postgres(settings: &[&str]) {
    let collected = ["logging_collector=on", "log_destination=csvlog,jsonlog"];
    let settings: Vec<&str> = collected.iter().chain(settings).copied().collect();
    let Some(server) = installed(PostgresServer::start_with(&settings)) else { return };
    prepare(server.url());
    work(server.url());
    let mut connection = client(server.url(), "reader");
    let folder = asked(&mut *connection, "SHOW data_directory");
    for (kind, format) in [("csvlog", LogFormat::PostgresCsv), ("jsonlog", LogFormat::PostgresJson)] {
        let file = asked(&mut *connection, &format!("SELECT pg_current_logfile('{kind}')"));
        let text = complete(&Path::new(&folder).join(file));
        let program = LogProgram::of(&reading(&text, format), SCHEMA).expect("a program");
        // The deletion that was taken back, and the INSERT that failed.
        assert_eq!(program.rolled_back, 2, "{}", program.text);
        assert!(program.text.contains("UPDATE product SET stock = p2 WHERE id = p1"), "{}", program.text);
        assert_race(&text, &program);
    }
}

#[test]
fn the_race_is_found_in_logs_of_all_statements() {
    assert_logs_of_postgres(&["log_statement=all"]);
}

#[test]
fn the_race_is_found_in_logs_of_durations() {
    assert_logs_of_postgres(&["log_min_duration_statement=0"]);
}

#[test]
fn the_race_is_found_in_the_general_log_of_mariadb() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    prepare(server.url());
    let mut connection = client(server.url(), "reader");
    connection.command("SET GLOBAL log_output = 'FILE'").expect("a setting");
    connection.command("SET GLOBAL general_log_file = 'general.log'").expect("a setting");
    connection.command("SET GLOBAL general_log = ON").expect("a setting");
    work(server.url());
    let folder = asked(&mut *connection, "SELECT @@datadir");
    let text = complete(&Path::new(&folder).join("general.log"));
    let program = LogProgram::of(&reading(&text, LogFormat::MysqlGeneral), SCHEMA).expect("a program");
    // What failed is not in this log: the INSERT whose key was taken counts as one that went well.
    assert_eq!(program.rolled_back, 1, "{}", program.text);
    assert_race(&text, &program);
}
