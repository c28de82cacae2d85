//! `skew play`: programs on a database as weak as its level allows.

use crate::{Folder, Ran};

const WITHDRAW: &str = include_str!("../../../../examples/withdraw.sql");
const COUPON: &str = include_str!("../../../../examples/coupon.sql");

/// Two counters, each added to by two sessions.
const COUNTER: &str = "
CREATE TABLE counter (id INT PRIMARY KEY, n INT NOT NULL);
INSERT INTO counter VALUES (1, 0);
CREATE PROCEDURE add() BEGIN UPDATE counter SET n = n + 1 WHERE id = 1; END;
SESSION a: CALL add(); SESSION b: CALL add(); SESSION c: CALL add();
ASSERT 'nothing is lost': (SELECT n FROM counter WHERE id = 1) = 3;
";

/// Each session counts and then inserts: at most one row may be there.
const PHANTOM: &str = "
CREATE TABLE booking (id INT PRIMARY KEY, room INT NOT NULL);
CREATE PROCEDURE book(IN number INT)
BEGIN
  IF (SELECT COUNT(*) FROM booking WHERE room = 1) = 0 THEN
    INSERT INTO booking VALUES (number, 1);
  END IF;
END;
SESSION a: CALL book(1); SESSION b: CALL book(2);
ASSERT 'booked once': (SELECT COUNT(*) FROM booking) = 1;
";

fn play(test: &str, program: &str, arguments: &[&str]) -> Ran {
    let folder = Folder::new(test);
    folder.write("p.sql", program);
    folder.skew(&[&["play", "p.sql"], arguments].concat())
}

/// How often the first assertion failed.
fn violations(ran: &Ran) -> u64 {
    ran.json()["assertions"][0]["violations"].as_u64().unwrap()
}

#[test]
fn the_first_example_loses_money_below_psi_and_keeps_it_from_there_on() {
    for (level, code) in [("rc", 1), ("ra", 1), ("cc", 1), ("pc", 1), ("psi", 0), ("si", 0), ("ser", 0)] {
        let ran = play("play-levels", WITHDRAW, &["--level", level, "--format", "json"]).expect(code);
        assert_eq!(violations(&ran) > 0, code == 1, "{level}");
        let json = ran.json();
        assert_eq!(json["anomalies"].as_array().unwrap().is_empty(), code == 0, "{level}: {json}");
    }
}

#[test]
fn what_failed_is_replayed_by_the_command_that_is_printed() {
    let folder = Folder::new("play-replay");
    folder.write("withdraw.sql", WITHDRAW);
    let ran = folder.skew(&["play", "withdraw.sql", "--level", "causal"]).expect(1);
    assert!(ran.out.contains("fails  money adds up: in "), "{}", ran.out);
    assert!(ran.out.contains("stale update"), "{}", ran.out);
    let command = ran.out.lines().last().unwrap();
    assert!(command.starts_with("skew play withdraw.sql --level causal --seed "), "{command}");
    let again = folder.shell(command).expect(1);
    assert!(again.out.contains("money adds up: in 1 run,"), "{}", again.out);
    assert!(again.out.contains("alice[1] withdraw: committed, paid = 60"), "{}", again.out);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = |seed: &str| play("play-seed", COUPON, &["--seed", seed, "--runs", "30", "--format", "json"]).accepted();
    let [first, second, other] = [run("5"), run("5"), run("6")];
    assert_eq!(first.out, second.out);
    assert_ne!(first.out, other.out);
}

#[test]
fn an_atomic_increment_is_never_lost_and_a_plain_one_is() {
    for level in ["read-committed", "causal", "snapshot"] {
        play("play-atomic", COUNTER, &["--level", level]).expect(0);
    }
    let ran = play("play-plain", COUNTER, &["--level", "causal", "--updates", "plain", "--format", "json"]).expect(1);
    assert!(violations(&ran) > 0);
    play("play-plain-si", COUNTER, &["--level", "snapshot", "--updates", "plain"]).expect(0);
}

#[test]
fn counting_and_then_inserting_fails_at_snapshot_and_not_at_serializable() {
    play("play-phantom", PHANTOM, &["--level", "snapshot"]).expect(1);
    play("play-no-phantom", PHANTOM, &["--level", "serializable"]).expect(0);
}

#[test]
fn transactions_one_at_a_time_are_weak_all_the_same() {
    play("play-serial", WITHDRAW, &["--level", "causal", "--schedule", "serial"]).expect(1);
    play("play-serial-ser", WITHDRAW, &["--level", "serializable", "--schedule", "serial"]).expect(0);
    play("play-latest", WITHDRAW, &["--level", "causal", "--schedule", "serial", "--chooser", "latest"]).expect(0);
}

#[test]
fn a_blind_write_leaves_it_open_who_was_last() {
    let program = "-- dialect: mysql
        CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL);
        INSERT INTO t VALUES (1, 0);
        CREATE PROCEDURE put(IN x INT) BEGIN REPLACE INTO t VALUES (1, x); END;
        SESSION a: CALL put(1); SESSION b: CALL put(2);
        ASSERT 'two was last': (SELECT n FROM t WHERE id = 1) = 2;";
    let arguments = ["--level", "serializable", "--updates", "plain", "--runs", "10", "--format", "json"];
    let ran = play("play-blind", program, &arguments).expect(1);
    assert_eq!(violations(&ran), 10, "every run may have ended with either");
}

#[test]
fn histories_and_counterexamples_are_kept() {
    let folder = Folder::new("play-keep");
    folder.write("p.sql", WITHDRAW);
    let line = ["play", "p.sql", "--level", "causal", "--runs", "20", "--record", "runs", "--save", "found", "-q"];
    folder.skew(&line).expect(1);
    let checked = folder.skew(&["check", "runs", "--level", "causal"]).expect(0);
    assert_eq!(checked.out.matches("causal").count() % 20, 0, "{}", checked.out);
    let saved: Vec<_> = std::fs::read_dir(folder.path().join("found")).unwrap().collect();
    assert!(!saved.is_empty());
    let name = saved[0].as_ref().unwrap().file_name().into_string().unwrap();
    folder.skew(&["view", &format!("found/{name}")]).expect(0);
}

#[test]
fn mistakes_are_shown_with_their_line() {
    let wrong = WITHDRAW.replace("SET balance = bal", "SET balanse = bal");
    let ran = play("play-wrong", &wrong, &[]).expect(2);
    assert!(ran.err.contains("p.sql: line 14, column "), "{}", ran.err);
    assert!(ran.err.contains("14 |     UPDATE account SET balanse = bal"), "{}", ran.err);
    let ran = play("play-empty", "CREATE TABLE t (a INT);", &[]).expect(2);
    assert!(ran.err.contains("no SESSION"), "{}", ran.err);
}

#[test]
fn a_loop_without_end_is_inconclusive() {
    let program = "CREATE PROCEDURE p() BEGIN DECLARE x INT DEFAULT 0; WHILE x = 0 DO SET x = 0; END WHILE; END; SESSION a: CALL p();";
    let ran = play("play-endless", program, &["--max-steps", "100", "--runs", "1"]).expect(3);
    assert!(ran.out.contains("more than 100 steps"), "{}", ran.out);
}

#[test]
fn a_call_may_have_a_level_of_its_own() {
    let stronger = WITHDRAW
        .replace("@a);", "@a) AT serializable;")
        .replace("@b);", "@b) AT serializable;")
        .replace("@c);", "@c) AT serializable;");
    play("play-at", &stronger, &["--level", "read-committed"]).expect(0);
}

#[test]
fn runs_can_be_compared_with_another_level() {
    let program = PHANTOM.replace("ASSERT 'booked once': (SELECT COUNT(*) FROM booking) = 1;", "");
    play("play-against-none", &program, &["--level", "snapshot"]).expect(0);
    let ran = play("play-against", &program, &["--level", "snapshot", "--against", "serializable", "--stop-at-first"])
        .expect(1);
    assert!(ran.out.contains("write skew"), "{}", ran.out);
    play("play-against-weaker", &program, &["--level", "snapshot", "--against", "causal"]).expect(0);
}

#[test]
fn a_scan_that_lists_an_own_row_still_notices_phantoms() {
    let program = "
        CREATE TABLE a (id INT PRIMARY KEY, n INT NOT NULL);
        CREATE TABLE b (id INT PRIMARY KEY);
        INSERT INTO b VALUES (1);
        CREATE PROCEDURE p(IN k INT, OUT n INT)
        BEGIN INSERT INTO a VALUES (k, 1); SELECT COUNT(*) INTO n FROM a, b; END;
        SESSION s: CALL p(1, @x); SESSION t: CALL p(2, @y);
        ASSERT 'one of them counts both': s[1].n + t[1].n = 3;";
    play("play-own-phantom", program, &["--level", "serializable", "--runs", "200"]).expect(0);
    play("play-own-phantom-si", program, &["--level", "snapshot", "--runs", "200"]).expect(1);
}

#[test]
fn blind_writes_take_turns_so_that_they_can_wait_for_each_other() {
    let program = "-- dialect: mysql
        CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL);
        CREATE PROCEDURE put(IN a INT, IN b INT) BEGIN REPLACE INTO t VALUES (a, 1); REPLACE INTO t VALUES (b, 2); END;
        SESSION s: CALL put(1, 2); SESSION t: CALL put(2, 1);";
    let ran = play("play-blind-turns", program, &["--level", "read-committed", "--format", "json"]).expect(0);
    assert!(ran.json()["refused"]["transactions"].as_u64().unwrap() > 0, "{}", ran.out);
}

#[test]
fn assertions_that_no_run_could_be_asked_stay_open() {
    let never =
        PHANTOM.replace("INSERT INTO booking", "WHILE 1 = 1 DO SET number = number; END WHILE; INSERT INTO booking");
    let ran = play("play-open", &never, &["--max-steps", "50", "--runs", "3"]).expect(3);
    assert!(ran.out.contains("inconclusive  booked once: no run was judged"), "{}", ran.out);
    // Without another try most runs have a call that is refused for good; with one run there may be nothing left to judge.
    let opposite = "
        CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL);
        INSERT INTO t VALUES (1, 0), (2, 0);
        CREATE PROCEDURE skew(IN a INT, IN b INT)
        BEGIN DECLARE x INT; SELECT n INTO x FROM t WHERE id = a; UPDATE t SET n = x + 1 WHERE id = b; END;
        SESSION s: CALL skew(1, 2); SESSION t: CALL skew(2, 1);
        ASSERT 'never asked': 1 = 1;";
    let refused = (1..100).find_map(|seed| {
        let seed = seed.to_string();
        let ran = play("play-unjudged", opposite, &["--level", "ser", "--retry", "0", "--runs", "1", "--seed", &seed]);
        ran.out.contains("not judged: 1 run").then_some(ran)
    });
    assert!(refused.unwrap().expect(3).out.contains("inconclusive  never asked: no run was judged"));
    play("play-no-runs", PHANTOM, &["--runs", "0"]).expect(2);
}

#[test]
fn a_call_whose_argument_does_not_fit_is_aborted() {
    let program = "
        CREATE PROCEDURE far(OUT x BIGINT) BEGIN SET x = 5000000000; END;
        CREATE PROCEDURE near(IN y INT) BEGIN SET y = 1; END;
        SESSION s: CALL far(@a); CALL near(@a); CALL far(@a);
        ASSERT 'it is told': s[2].outcome = 'aborted' AND s[3].outcome = 'committed';";
    let ran = play("play-inconvertible", program, &["--runs", "1"]).expect(0);
    assert!(ran.out.contains("s[2] near: aborted"), "{}", ran.out);
}

#[test]
fn the_replay_says_everything_that_decided_the_run() {
    let arguments = ["--level", "causal", "--max-steps", "5000", "--budget", "77777", "--retry", "3"];
    let ran = play("play-replay-all", WITHDRAW, &arguments).expect(1);
    let command = ran.out.lines().last().unwrap();
    assert!(command.contains(" --retry 3 --max-steps 5000 --budget 77777 --seed "), "{command}");
}

/// The objects of several levels, a line each.
fn objects(ran: &Ran) -> Vec<serde_json::Value> {
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn without_a_level_the_levels_of_the_programs_engine_are_played() {
    // PostgreSQL's, where the program names none.
    let ran = play("play-postgres", COUNTER, &["--format", "json", "--runs", "20"]).expect(0);
    let levels: Vec<String> = objects(&ran).iter().map(|one| one["level"].as_str().unwrap().to_owned()).collect();
    assert_eq!(levels, ["postgres:read-committed", "postgres:repeatable-read", "postgres:serializable"]);
    let refused: Vec<bool> =
        objects(&ran).iter().map(|one| one["refused"]["codes"]["40001"].as_u64().is_some()).collect();
    assert_eq!(refused, [false, true, true], "who changes what changed since is refused above read committed");
    let mysql = format!("-- dialect: mysql\n{WITHDRAW}");
    let ran = play("play-mysql", &mysql, &["--runs", "40"]).expect(1);
    for level in ["mysql:read-committed", "mysql:repeatable-read", "mysql:serializable"] {
        assert!(ran.out.contains(&format!("40 runs at {level} from seed 1")), "{}", ran.out);
    }
    // A level of the papers of a call says that no server is meant.
    let own = WITHDRAW.replace("@a);", "@a) AT serializable;");
    let ran = play("play-own-level", &own, &["--runs", "3"]).accepted();
    assert!(ran.out.contains("3 runs at causal"), "{}", ran.out);
}

#[test]
fn a_program_that_only_mysql_understands_is_told_which_line_it_lacks() {
    let program = WITHDRAW.replace("INSERT INTO", "INSERT IGNORE INTO");
    let ran = play("play-no-dialect", &program, &["--runs", "1"]).expect(2);
    assert!(ran.err.contains("`-- dialect: mysql`"), "{}", ran.err);
    play("play-dialect", &format!("-- dialect: mysql\n{program}"), &["--runs", "5", "--level", "mysql:ser"]).expect(0);
}

#[test]
fn what_a_server_shows_is_replayed_recorded_and_checked() {
    let folder = Folder::new("play-server");
    folder.write("p.sql", format!("-- dialect: postgres\n{WITHDRAW}"));
    let ran = folder.skew(&["play", "p.sql", "--runs", "30", "--record", "runs", "--save", "found"]).expect(1);
    let command = ran.out.lines().find(|line| line.starts_with("skew play")).unwrap();
    assert!(command.starts_with("skew play p.sql --level postgres:read-committed --seed "), "{command}");
    let again = folder.shell(command).expect(1);
    assert!(again.out.contains("money adds up: in 1 run,"), "{}", again.out);
    folder.skew(&["check", "runs/postgres-read-committed", "--level", "pg:rc"]).expect(0);
    folder.skew(&["check", "runs/postgres-serializable", "--level", "pg:ser"]).expect(0);
    let first = folder.read("runs/postgres-read-committed/1.jsonl");
    assert!(first.contains("\"engine\":\"postgres\"") && first.contains("\"kind\":\"update\""), "{first}");
    // Nobody gets his money twice where the second to change a row is refused and tries again.
    let ran = folder.skew(&["play", "p.sql", "--runs", "30", "--level", "pg:rr,pg:ser"]).expect(0);
    assert!(ran.out.contains("refused by the database: ") && ran.out.contains("40001"), "{}", ran.out);
}

#[test]
fn a_refusal_that_nobody_answers_is_an_outcome_that_assertions_see() {
    let program = COUNTER.replace(
        "ASSERT 'nothing is lost': (SELECT n FROM counter WHERE id = 1) = 3;",
        "ASSERT 'who is refused is told': (SELECT n FROM counter WHERE id = 1) = 3
           OR a[1].outcome = 'aborted' OR b[1].outcome = 'aborted' OR c[1].outcome = 'aborted';",
    );
    let arguments = ["--level", "postgres:repeatable-read", "--retry", "0", "--format", "json"];
    let ran = play("play-refused", &format!("-- dialect: postgres\n{program}"), &arguments).expect(0);
    let json = ran.json();
    assert_eq!((json["judged"].as_u64(), json["refused"]["runs_not_judged"].as_u64()), (Some(100), Some(0)), "{json}");
    assert!(json["refused"]["calls"].as_u64().unwrap() > 0, "{json}");
}

#[test]
fn what_is_for_other_databases_is_refused_at_a_level_of_an_engine() {
    let level = ["--level", "postgres:read-committed"];
    for (arguments, what) in [
        (["--chooser", "stalest"], "--chooser says which versions"),
        (["--updates", "plain"], "leave --granularity and --updates out"),
        (["--granularity", "cell"], "leave --granularity and --updates out"),
    ] {
        let ran = play("play-elsewhere", COUNTER, &[&level[..], &arguments[..]].concat()).expect(2);
        assert!(ran.err.contains(what), "{}", ran.err);
    }
    let many: String = (0..128).map(|number| format!("SESSION more{number}: CALL add();\n")).collect();
    let ran = play("play-many", &COUNTER.replacen("SESSION", &format!("{many}SESSION"), 1), &level).expect(2);
    assert!(ran.err.contains("131 calls") && ran.err.contains("split its sessions over several files"), "{}", ran.err);
    let mixed = play("play-mixed", COUNTER, &["--level", "causal,postgres:read-committed", "--runs", "5"]).expect(0);
    assert!(mixed.out.contains("5 runs at causal") && mixed.out.contains("5 runs at postgres:read-committed"));
}
