//! `skew explore -- command`: applications over the wire have the runs that the same programs in SQL have, and what is not explored is said.
//!
//! The command is this test binary, told by `SKEW_TEST_APPLICATION` which application to be:
//!
//! ```text
//!   skew explore -- this-binary --exact explore_command::application      SKEW_TEST_APPLICATION=lost-update
//! ```

// Not all that a client can say is said here.
#[allow(dead_code)]
#[path = "../../../mockdb/tests/wire/raw.rs"]
pub(crate) mod raw;

use crate::{Folder, Ran};
use raw::Raw;
use std::net::SocketAddr;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

const VARIABLE: &str = "SKEW_TEST_APPLICATION";
const SCHEMA: &str = "CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL);
INSERT INTO account VALUES (1, 100), (2, 100);
";
const LEVELS: &str = "rc,ra,cc,pc,psi,si,ser";

fn connect(name: &str) -> Raw {
    let variable = |name: &str| std::env::var(name).unwrap();
    let address: SocketAddr = format!("{}:{}", variable("PGHOST"), variable("PGPORT")).parse().unwrap();
    Raw::connect(address, &[("user", "skew"), ("application_name", name)])
}

fn balance(client: &mut Raw, id: i64) -> i64 {
    let told = client.query(&format!("SELECT balance FROM account WHERE id = {id}"));
    told[0].strip_prefix("D ").unwrap_or_else(|| panic!("{told:?}")).parse().unwrap()
}

fn set(client: &mut Raw, id: i64, balance: i64) {
    client.query(&format!("UPDATE account SET balance = {balance} WHERE id = {id}"));
}

/// A session of its own that does this in one transaction.
fn session(name: &'static str, does: impl FnOnce(&mut Raw) + Send + 'static) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut client = connect(name);
        client.query("BEGIN");
        does(&mut client);
        client.query("COMMIT");
    })
}

fn withdraw(client: &mut Raw) {
    let left = balance(client, 1);
    set(client, 1, left - 60);
}

fn withdraw_if_enough(client: &mut Raw) {
    let left = balance(client, 1);
    set(client, 1, left - 60);
    if left < 60 {
        client.query("ROLLBACK");
    }
}

fn withdraw_from_both(client: &mut Raw, id: i64) {
    if balance(client, 1) + balance(client, 2) >= 150 {
        let left = balance(client, id);
        set(client, id, left - 100);
    }
}

fn join(sessions: impl IntoIterator<Item = thread::JoinHandle<()>>) {
    sessions.into_iter().for_each(|session| session.join().unwrap());
}

/// The application fails.
fn expect(holds: bool) {
    if !holds {
        std::process::exit(1);
    }
}

/// A pool of connections: the one that sets up is free again when the first request comes. The second request needs another one, and comes
/// in the middle of the first, or behind it.
fn pooled(in_the_middle: bool) {
    let mut first = connect("pool");
    SCHEMA.split_inclusive(";\n").for_each(|statement| drop(first.query(statement)));
    first.query("BEGIN");
    let left = balance(&mut first, 1);
    let early = in_the_middle.then(|| connect("pool:second"));
    set(&mut first, 1, left - 60);
    first.query("COMMIT");
    let mut second = early.unwrap_or_else(|| connect("pool:second"));
    second.query("BEGIN");
    withdraw(&mut second);
    second.query("COMMIT");
}

/// What the command does. By itself it is no test.
#[test]
fn application() {
    let Ok(name) = std::env::var(VARIABLE) else { return };
    match name.as_str() {
        "lost-update" => join([session("a", withdraw), session("b", withdraw)]),
        "audited" => {
            join([session("a", withdraw), session("b", withdraw)]);
            expect(balance(&mut connect("audit"), 1) == -20);
        }
        "write-skew" => {
            join([session("a", |it| withdraw_from_both(it, 1)), session("b", |it| withdraw_from_both(it, 2))]);
        }
        "branch" => join([session("a", withdraw_if_enough), session("b", withdraw_if_enough)]),
        "late" => {
            let late = thread::spawn(|| {
                thread::sleep(Duration::from_millis(700));
                join([session("a", withdraw)]);
            });
            join([session("b", withdraw), late]);
        }
        "two-waves" => {
            join([session("a", withdraw), session("b", |client| withdraw_from_both(client, 2))]);
            join([session("c", withdraw), session("d", withdraw)]);
        }
        "schema" => {
            let define = |client: &mut Raw| drop(client.query("CREATE TABLE other (id INT PRIMARY KEY)"));
            join([session("a", define), session("b", withdraw)]);
        }
        "refused" => {
            let locked = |client: &mut Raw| {
                expect(client.query("SELECT pg_advisory_xact_lock(1)")[0].starts_with('D'));
            };
            join([session("a", locked), session("b", withdraw)]);
        }
        "chance" => {
            let chance = |client: &mut Raw| {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
                set(client, 1, (now.as_nanos() % 1_000_000_007) as i64);
            };
            join([session("a", chance), session("b", withdraw)]);
        }
        "pooled" => pooled(true),
        "pooled-in-turn" => pooled(false),
        other => panic!("there is no application {other}"),
    }
}

/// Runs `skew explore` with these arguments on an application whose tables are there.
fn explore(folder: &Folder, application: &str, arguments: &[&str]) -> Ran {
    folder.write("schema.sql", SCHEMA);
    explore_alone(folder, application, &[arguments, &["--init", "schema.sql"]].concat())
}

/// Runs `skew explore` with these arguments on an application that finds nothing.
fn explore_alone(folder: &Folder, application: &str, arguments: &[&str]) -> Ran {
    let this = std::env::current_exe().unwrap();
    let command = ["--", this.to_str().unwrap(), "--exact", "explore_command::application"];
    let words = [&["explore"], arguments, &command].concat();
    let mut command = folder.command(&words);
    let mut output = command.env(VARIABLE, application).stdin(Stdio::null()).output().unwrap();
    // An application that is given up in the middle of its run may panic as it likes.
    output.stderr = String::from_utf8_lossy(&output.stderr).replace("panicked", "gave up").into_bytes();
    Ran::new(output)
}

/// Histories, and histories that were explored, by level.
fn counts(json: &str) -> Vec<(u64, u64)> {
    let report: serde_json::Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let levels = report["levels"].as_array().unwrap();
    levels.iter().map(|it| (it["histories"].as_u64().unwrap(), it["explored"].as_u64().unwrap())).collect()
}

#[test]
fn an_application_has_as_many_runs_as_the_same_program_in_sql() {
    let withdraw = "CREATE PROCEDURE withdraw()
BEGIN
  DECLARE bal INT;
  SELECT balance INTO bal FROM account WHERE id = 1;
  UPDATE account SET balance = bal - 60 WHERE id = 1;
END;
SESSION a: CALL withdraw();
SESSION b: CALL withdraw();
";
    let skew = "CREATE PROCEDURE take(IN acct INT)
BEGIN
  DECLARE one INT;
  DECLARE other INT;
  DECLARE bal INT;
  SELECT balance INTO one FROM account WHERE id = 1;
  SELECT balance INTO other FROM account WHERE id = 2;
  IF one + other >= 150 THEN
    SELECT balance INTO bal FROM account WHERE id = acct;
    UPDATE account SET balance = bal - 100 WHERE id = acct;
  END IF;
END;
SESSION a: CALL take(1);
SESSION b: CALL take(2);
";
    let branch = withdraw.replace("END;\n", "  IF bal < 60 THEN\n    ROLLBACK;\n  END IF;\nEND;\n");
    let folder = Folder::new("explore-command-counts");
    for (name, program) in [("lost-update", withdraw), ("write-skew", skew), ("branch", &branch)] {
        folder.write("program.sql", format!("{SCHEMA}{program}"));
        for updates in ["plain", "atomic"] {
            let options = ["--level", LEVELS, "--updates", updates, "--format", "json"];
            let expected = folder.skew(&[&["explore", "program.sql"], &options[..]].concat()).expect(0);
            let found = explore(&folder, name, &options).expect(0);
            assert_eq!(counts(&found.out), counts(&expected.out), "{name}, {updates}\n{}", found.out);
        }
    }
    // Two `r(x) r(x) w(x)`: the lost update, and at read-committed a second read from whoever wrote in between.
    let found = explore(&folder, "lost-update", &["--level", LEVELS, "--updates", "plain", "--format", "json"]);
    let histories: Vec<u64> = counts(&found.out).iter().map(|count| count.0).collect();
    assert_eq!(histories, [5, 3, 3, 3, 2, 2, 2]);
}

#[test]
fn the_smallest_failure_is_shown_and_its_last_line_makes_it_again() {
    let folder = Folder::new("explore-command-replay");
    let ran = explore(&folder, "audited", &["--level", "rc,ser", "--save", "found"]).expect(1);
    assert!(ran.out.contains("read-committed  4 histories of 5 explored, 2 not serializable"), "{}", ran.out);
    assert!(
        ran.out.contains(
            "serializable    2 histories of 5 explored\n    passes  in every run\n    took part: a (1 transaction), \
             b (1 transaction)\n    at the end, not explored: audit"
        ),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("stale update") && ran.out.contains("account/1 = 100"), "{}", ran.out);
    let saved = folder.read("found/1-stale-update.json");
    assert!(saved.contains("--replay") && saved.contains("\"command\""), "{saved}");
    folder.skew(&["view", "found/1-stale-update.json"]).expect(0);
    let line = ran.out.lines().last().unwrap();
    let (schedule, behind) = line.split_once("--replay '").unwrap().1.split_once('\'').unwrap();
    assert!(schedule.starts_with("a,b ") && behind.contains("explore_command::application"), "{line}");
    let again = explore(&folder, "audited", &["--level", "rc", "--replay", schedule]).expect(1);
    assert!(again.out.contains("exit code 1") && again.out.contains("stale update"), "{}", again.out);
    // Alone, one after the other.
    let serial = explore(&folder, "audited", &["--level", "rc", "--replay", "a,b 1:0.0 2:1.1"]).expect(0);
    assert!(serial.out.contains("exit code 0"), "{}", serial.out);
    for wrong in ["a,b 1:0.0 2:1.1.1", "a,b 1:0.0", "a,b,c 1:0.0 2:1.1 3:0", "2:0 1:0"] {
        let ran = explore(&folder, "audited", &["--level", "rc", "--stall", "500ms", "--replay", wrong]);
        assert!(matches!(ran.code, Some(2 | 3)), "{wrong}: {:?} {}{}", ran.code, ran.out, ran.err);
    }
}

#[test]
fn the_report_is_the_same_twice_and_json_says_the_same() {
    let folder = Folder::new("explore-command-json");
    let options = ["--level", "cc", "--list", "--against", "si", "--format", "json"];
    let one = explore(&folder, "lost-update", &options).expect(1).out;
    assert_eq!(explore(&folder, "lost-update", &options).expect(1).out, one);
    let report: serde_json::Value = serde_json::from_str(&one).unwrap();
    let level = &report["levels"][0];
    assert_eq!((level["complete"].as_bool(), level["list"].as_array().unwrap().len()), (Some(true), 4), "{one}");
    assert_eq!((level["violating"].as_u64(), level["against"].as_str()), (Some(2), Some("snapshot")), "{one}");
    let based = explore(&folder, "lost-update", &["--level", "cc", "--base", "rc", "--format", "json"]).expect(0).out;
    assert_eq!(counts(&based)[0].0, counts(&one)[0].0);
    explore(&folder, "lost-update", &["--jobs", "2"]).expect(2);
    explore(&folder, "lost-update", &["--granularity", "cell"]).expect(2);
}

#[test]
fn a_session_that_is_slow_to_connect_takes_part() {
    let folder = Folder::new("explore-command-late");
    let ran = explore(&folder, "late", &["--level", "rc"]).expect(0);
    assert!(ran.out.contains("4 histories of 5 explored"), "{}", ran.out);
}

#[test]
fn what_is_not_explored_is_said() {
    let folder = Folder::new("explore-command-open");
    let ran = explore(&folder, "two-waves", &["--level", "rc", "--stall", "600ms"]).expect(3);
    assert!(ran.out.contains("sessions c, d came when all others had left, and wrote"), "{}", ran.out);
    let ran = explore(&folder, "schema", &["--level", "rc"]).expect(3);
    assert!(ran.out.contains("session a said CREATE TABLE among what is explored"), "{}", ran.out);
    let ran = explore(&folder, "refused", &["--level", "rc"]).expect(3);
    assert!(ran.out.contains("session a asked for what cannot be explored: an advisory lock"), "{}", ran.out);
    let ran = explore(&folder, "chance", &["--level", "rc"]).expect(2);
    assert!(ran.err.contains("a#0 is not deterministic"), "{}", ran.err);
}

#[test]
fn a_request_on_the_connection_of_the_set_up_does_not_pass_for_set_up() {
    let folder = Folder::new("explore-command-pool");
    let ran = explore_alone(&folder, "pooled", &["--level", "rc"]).expect(3);
    assert!(ran.out.contains("session pool set up while others were connected"), "{}", ran.out);
    assert!(ran.out.contains("set up by pool (3 transactions); took part: pool:second (1 transaction)"), "{}", ran.out);
    assert!(!ran.out.contains("passes"), "{}", ran.out);
}

#[test]
fn one_session_alone_is_inconclusive_in_words_and_in_json() {
    let folder = Folder::new("explore-command-lonely");
    let ran = explore_alone(&folder, "pooled-in-turn", &["--level", "rc"]).expect(3);
    assert!(ran.out.contains("only session pool:second took part, so that nothing ran beside"), "{}", ran.out);
    assert!(ran.out.contains("skew_settle()") && ran.out.contains("skew serve"), "{}", ran.out);
    let json = explore_alone(&folder, "pooled-in-turn", &["--level", "rc", "--format", "json"]).expect(3).out;
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let level = &report["levels"][0];
    assert_eq!(level["complete"].as_bool(), Some(false), "{json}");
    assert_eq!(level["took_part"][0]["session"].as_str(), Some("pool:second"), "{json}");
    assert_eq!(level["set_up"][0]["transactions"]["most"].as_u64(), Some(3), "{json}");
}

#[test]
fn who_took_part_is_told_also_when_all_is_well() {
    let folder = Folder::new("explore-command-who");
    let ran = explore(&folder, "lost-update", &["--level", "ser"]).expect(0);
    assert!(ran.out.contains("    took part: a (1 transaction), b (1 transaction)\n"), "{}", ran.out);
}

#[test]
fn runs_without_times_are_not_compared_with_a_level_of_real_time() {
    let folder = Folder::new("explore-command-real-time");
    let ran = explore(&folder, "lost-update", &["--against", "strict-serializable"]).expect(2);
    assert!(ran.err.contains("runs that are explored have no times"), "{}", ran.err);
}
