//! `skew explore`: counterexamples with as few calls as still fail, and programs without some of their calls.

use crate::{Folder, Ran};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const WITHDRAW: &str = include_str!("../../../../examples/withdraw.sql");

/// Two who take the same money, and somebody who has nothing to do with it, before, between and after.
const BYSTANDER: &str = "
CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL);
CREATE TABLE visit (id INT PRIMARY KEY, visits INT NOT NULL);
INSERT INTO account VALUES (1, 100);
INSERT INTO visit VALUES (1, 0);
CREATE PROCEDURE spend(IN amount INT)
BEGIN
  DECLARE bal INT;
  SELECT balance INTO bal FROM account WHERE id = 1;
  IF bal >= amount THEN
    UPDATE account SET balance = balance - amount WHERE id = 1;
  END IF;
END;
CREATE PROCEDURE look() BEGIN UPDATE visit SET visits = visits + 1 WHERE id = 1; END;
SESSION alice: CALL look(); CALL spend(60);
SESSION carol: CALL look(); CALL look();
SESSION bob:   CALL spend(60); CALL look();
ASSERT 'no debt': (SELECT balance >= 0 FROM account WHERE id = 1);
";

/// The assertion cannot be evaluated where both insert.
const TWICE: &str = "
CREATE TABLE leader (id INT PRIMARY KEY);
CREATE PROCEDURE elect(IN me INT)
BEGIN
  DECLARE others INT;
  SELECT COUNT(*) INTO others FROM leader;
  IF others = 0 THEN INSERT INTO leader VALUES (me); END IF;
END;
SESSION alice: CALL elect(1);
SESSION bob:   CALL elect(2);
SESSION carol: CALL elect(1);
ASSERT 'there is one': (SELECT id FROM leader) > 0;
";

pub(crate) fn explore(folder: &Folder, arguments: &[&str]) -> Ran {
    folder.skew(&[&["explore"], arguments].concat())
}

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("withdraw.sql", WITHDRAW);
    folder.write("bystander.sql", BYSTANDER);
    folder.write("twice.sql", TWICE);
    folder
}

pub(crate) fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let ran = explore(folder, &[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
}

/// The words of a command that a report printed, as a shell would see them.
pub(crate) fn words(command: &str) -> Vec<&str> {
    let quoted = command.split('\'').enumerate();
    quoted
        .flat_map(|(number, part)| if number % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
        .collect()
}

/// All programs that are wrong.
pub(crate) fn wrong() -> Vec<PathBuf> {
    let bugs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bugs");
    let folders = fs::read_dir(bugs).expect("the bugs").map(|entry| entry.expect("a folder").path());
    let files = folders.flat_map(|folder| ["buggy.sql", "wrong-fix.sql"].map(|name| folder.join(name)));
    files.filter(|file| file.exists()).collect()
}

/// How many histories there are of a program without some calls, and in how many of them an assertion fails.
fn violations(folder: &Folder, file: &str, level: &str, without: &str, assertion: &str) -> (u64, u64) {
    let mut arguments = vec![file, "--level", level];
    if !without.is_empty() {
        arguments.extend(["--without", without]);
    }
    let report = json(folder, &arguments);
    let level = &report["levels"][0];
    let found = level["assertions"].as_array().unwrap().iter().find(|found| found["name"] == assertion).unwrap();
    (level["histories"].as_u64().unwrap(), found["violations"].as_u64().unwrap())
}

#[test]
fn every_counterexample_of_the_bugs_is_seen_again_and_needs_all_its_calls() {
    let folder = folder("explore-minimal-bugs");
    let mut checked = 0;
    for path in wrong() {
        let file = path.to_str().unwrap();
        let whole = json(&folder, &[file]);
        for level in whole["levels"].as_array().unwrap() {
            for found in level["assertions"].as_array().unwrap().iter().filter(|found| found["violations"] != 0) {
                check(&folder, file, level["level"].as_str().unwrap(), found);
                checked += 1;
            }
        }
    }
    assert!(checked > 25, "{checked}");
}

fn check(folder: &Folder, file: &str, level: &str, found: &Value) {
    let (name, replay) = (found["name"].as_str().unwrap(), found["replay"].as_str().unwrap());
    let ran = folder.skew(&words(replay)[1..]).expect(1);
    assert!(ran.out.contains(&format!("  fails  {name}\n")), "{replay}: {}", ran.out);
    assert_eq!(found["minimal"], true, "{file} at {level}: {found}");
    let without: Vec<&str> = found["without"].as_array().unwrap().iter().map(|call| call.as_str().unwrap()).collect();
    let calls: Vec<&str> =
        ran.out.lines().filter_map(|line| line.split_whitespace().next()).filter(|word| word.ends_with(']')).collect();
    assert!(calls.len() > 1, "{replay}: {}", ran.out);
    for call in &calls {
        let less = [&without[..], &[call]].concat().join(",");
        let (_, fails) = violations(folder, file, level, &less, name);
        if fails > 0 {
            let (_, whole) = violations(folder, file, "ser", "", name);
            let (histories, reduced) = violations(folder, file, "ser", &less, name);
            let another_reason = if whole == 0 { reduced > 0 } else { reduced == histories };
            assert!(another_reason, "{file} at {level}: {name} does not need {call}: {replay}");
        }
    }
}

#[test]
fn those_who_have_nothing_to_do_with_it_are_not_shown() {
    let folder = folder("explore-minimal-bystander");
    let ran = explore(&folder, &["bystander.sql", "--level", "rc"]).expect(1);
    assert!(ran.out.contains("\nthese calls are enough: alice[2], bob[1]\n"), "{}", ran.out);
    assert!(!ran.out.contains("carol#"), "{}", ran.out);
    let line = ran.out.lines().last().unwrap();
    assert!(line.contains(" --without 'alice[1],carol[1],carol[2],bob[2]' --replay '"), "{line}");
    let again = folder.skew(&words(line)[1..]).expect(1);
    assert!(again.out.starts_with("  alice[2] spend: committed"), "{}", again.out);
    assert!(again.out.contains("alice#1"), "others keep their names: {}", again.out);
}

#[test]
fn the_counterexample_is_the_same_for_every_number_of_jobs() {
    let folder = folder("explore-minimal-jobs");
    for file in ["bystander.sql", "withdraw.sql", "twice.sql"] {
        for format in ["human", "json"] {
            let report = |jobs: &str| explore(&folder, &[file, "--jobs", jobs, "--format", format]).expect(1).out;
            assert_eq!(report("1"), report("3"));
        }
    }
}

#[test]
fn a_run_that_only_violates_a_level_has_few_calls_too() {
    let folder = folder("explore-minimal-against");
    let text = BYSTANDER.split("ASSERT").next().unwrap();
    folder.write("no-assertion.sql", text);
    let ran = explore(&folder, &["no-assertion.sql", "--level", "rc", "--against", "ser"]).expect(1);
    assert!(ran.out.contains("\nthese calls are enough: alice[2], bob[1]\n"), "{}", ran.out);
}

#[test]
fn an_assertion_that_cannot_be_evaluated_fails_and_says_why() {
    let folder = folder("explore-minimal-error");
    let ran = explore(&folder, &["twice.sql", "--level", "si"]).expect(1);
    assert!(ran.out.contains("    fails  there is one: in "), "{}", ran.out);
    assert!(ran.out.contains("\n           because it cannot be evaluated: "), "{}", ran.out);
    let again = folder.skew(&words(ran.out.lines().last().unwrap())[1..]).expect(1);
    assert!(again.out.contains("  fails  there is one\n         because it cannot be evaluated: "), "{}", again.out);
    let report = json(&folder, &["twice.sql", "--level", "si"]);
    let found = &report["levels"][0]["assertions"][0];
    assert!(found["error"].as_str().unwrap().contains("one row"), "{found}");
    assert_eq!(found["without"].as_array().unwrap().len(), 1, "{found}");
}

#[test]
fn a_program_is_explored_without_some_calls() {
    let folder = folder("explore-without");
    let ran = explore(&folder, &["bystander.sql", "--level", "rc", "--without", "alice[1],ALICE[2]"]).expect(0);
    assert!(
        ran.out.starts_with("bystander.sql: 3 sessions, 4 transactions, without alice[1], alice[2]\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("holds  no debt"), "{}", ran.out);
    let all = explore(&folder, &["bystander.sql", "--without", "alice[1],alice[2],carol[1],carol[2],bob[1],bob[2]"]);
    assert!(all.expect(2).err.contains("no transaction to explore"));
}

#[test]
fn an_assertion_about_a_call_that_is_left_out_is_open() {
    let folder = folder("explore-without-open");
    let ran = explore(&folder, &["withdraw.sql", "--level", "ser", "--without", "bob[2]"]).expect(3);
    assert!(ran.out.contains("inconclusive  money adds up: it speaks of bob[2], left out"), "{}", ran.out);
}

#[test]
fn calls_that_do_not_exist_cannot_be_left_out() {
    let folder = folder("explore-without-wrong");
    let ran = explore(&folder, &["withdraw.sql", "--without", "bob[3]"]).expect(2);
    assert!(ran.err.contains("--without names bob[3], and there is no such call"), "{}", ran.err);
    assert!(ran.err.contains("the calls are alice[1], bob[1], bob[2]"), "{}", ran.err);
    let ran = explore(&folder, &["withdraw.sql", "--without", "bob"]).expect(2);
    assert!(ran.err.contains("a call is named like alice[1]"), "{}", ran.err);
}

#[test]
fn what_is_left_out_belongs_to_an_unfinished_exploration() {
    let folder = folder("explore-without-parts");
    let without = ["bystander.sql", "--level", "rc", "--without", "carol[1]"];
    let whole = explore(&folder, &without).expect(1).out;
    explore(&folder, &[&without[..], &["--split", "2"]].concat()).expect(0);
    let parts = ["bystander.sql.part-1.json", "bystander.sql.part-2.json"];
    for part in parts {
        explore(&folder, &[&without[..], &["--part", part]].concat());
        let ran = explore(&folder, &["bystander.sql", "--level", "rc", "--part", part]).expect(2);
        assert!(ran.err.contains("of other options"), "{}", ran.err);
    }
    assert_eq!(explore(&folder, &[&without[..], &["--merge"], &parts].concat()).expect(1).out, whole);
}
