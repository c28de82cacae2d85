//! `skew explore --replay … --wire`: a run that was explored, made once more over PostgreSQL's protocol.

use crate::Folder;
use crate::explore_minimal::{explore, json, words, wrong};

const WITHDRAW: &str = include_str!("../../../../examples/withdraw.sql");

/// The replay lines of a file, with the assertion that fails.
fn replays(folder: &Folder, file: &str) -> Vec<(String, String)> {
    let report = json(folder, &[file, "--level", "rc,si"]);
    let levels = report["levels"].as_array().unwrap();
    let found = levels.iter().flat_map(|level| level["assertions"].as_array().unwrap());
    let failed = found.filter(|found| found["violations"] != 0);
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    failed.map(|found| (text(&found["name"]), text(&found["replay"]))).collect()
}

#[test]
fn every_counterexample_of_the_bugs_is_the_same_over_the_wire() {
    let folder = Folder::new("explore-wire-bugs");
    let mut checked = 0;
    for path in wrong() {
        for (name, replay) in replays(&folder, path.to_str().unwrap()) {
            let arguments = &words(&replay)[1..];
            let there = folder.skew(&[arguments, &["--wire"]].concat()).expect(1).out;
            assert!(there.contains(&format!("  fails  {name}\n")), "{replay}: {there}");
            let here = folder.skew(arguments).expect(1).out;
            let (said, rest) = there.split_once("\n\n").unwrap();
            assert_eq!(rest, here, "{replay}");
            let count = |word: &str| said.lines().filter(|line| line.split_whitespace().nth(1) == Some(word)).count();
            let calls = here.lines().take_while(|line| line.contains("]")).count();
            assert_eq!((count("BEGIN"), count("COMMIT") + count("ROLLBACK")), (calls, calls), "{replay}: {there}");
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn what_is_said_is_shown_with_its_answers() {
    let folder = Folder::new("explore-wire-said");
    folder.write("withdraw.sql", WITHDRAW);
    let (_, replay) = replays(&folder, "withdraw.sql").remove(0);
    let ran = folder.skew(&[&words(&replay)[1..], &["--wire"]].concat()).expect(1);
    let said = "  bob    BEGIN\n  bob    SELECT balance FROM account WHERE id = 1            100\n  \
                bob    UPDATE account SET balance = 100 - 60 WHERE id = 1  1 row\n  bob    COMMIT\n";
    assert!(ran.out.starts_with(said), "{}", ran.out);
}

/// One session that does something.
fn program(body: &str) -> String {
    format!(
        "CREATE TABLE t (id INT PRIMARY KEY, n INT);\nINSERT INTO t VALUES (1, 0);\nCREATE PROCEDURE p()\nBEGIN\n{body}\nEND;\n\
         SESSION a: CALL p();\nASSERT 'all is well': (SELECT n FROM t WHERE id = 1) = 0;\n"
    )
}

#[test]
fn calls_that_are_aborted_are_aborted_over_the_wire_too() {
    let folder = Folder::new("explore-wire-aborted");
    for (body, schedule, said) in [
        ("UPDATE t SET n = 1 WHERE id = 1;\nROLLBACK;", "1:0", "ROLLBACK"),
        ("UPDATE t SET n = 1 WHERE id = 1;\nSIGNAL SQLSTATE '45000';", "1:0", "ROLLBACK"),
        ("INSERT INTO t VALUES (1, 2);", "1:0", "(23505)\n  a  ROLLBACK"),
    ] {
        folder.write("aborted.sql", program(body));
        let ran = explore(&folder, &["aborted.sql", "--level", "rc", "--replay", schedule, "--wire"]).expect(0);
        assert!(ran.out.contains(said) && ran.out.contains("a[1] p: aborted"), "{}", ran.out);
    }
}

#[test]
fn a_run_that_is_another_one_over_the_wire_is_told_with_its_place() {
    let folder = Folder::new("explore-wire-other");
    // The random numbers of a second transaction are others there.
    let text = program("UPDATE t SET n = FLOOR(RAND() * 1000000) WHERE id = 1;");
    let text = text.replace("CALL p();", "CALL p(); CALL p();");
    folder.write("random.sql", format!("-- dialect: mysql\n{text}"));
    let arguments = ["random.sql", "--level", "rc", "--replay", "1:0 2:1", "--wire"];
    let ran = explore(&folder, &arguments).expect(3);
    assert!(ran.out.contains("over the wire this is another run: line 6, column 1: "), "{}", ran.out);
}

#[test]
fn what_cannot_be_said_is_refused() {
    let folder = Folder::new("explore-wire-refused");
    let text = program("DECLARE b VARBINARY(4);\nSET b = X'00FF';\nUPDATE t SET n = 2 WHERE id = 1 AND b <> X'00';");
    folder.write("bytes.sql", format!("-- dialect: mysql\n{text}"));
    let ran = explore(&folder, &["bytes.sql", "--level", "rc", "--replay", "1:0", "--wire"]).expect(2);
    assert!(ran.err.contains("line 8"), "{}", ran.err);
    folder.write("withdraw.sql", WITHDRAW);
    explore(&folder, &["withdraw.sql", "--wire"]).expect(2);
    let cells =
        ["withdraw.sql", "--level", "rc", "--granularity", "cell", "--replay", "2:0.0.0 1:0.2 3:0.0.0", "--wire"];
    explore(&folder, &cells).expect(2);
}
