//! `skew analyze`: what it reads, what it answers, what it refuses, and that what it shows can be seen.

use crate::schema::{mistakes, of_the_book};
use crate::{Folder, Ran};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Two adjustments of one stock: the second overwrites the first.
const STOCK: &str = "CREATE TABLE product (id INT PRIMARY KEY, stock INT NOT NULL);
CREATE PROCEDURE adjust(IN item INT, IN difference INT)
BEGIN
  DECLARE quantity INT;
  SELECT stock INTO quantity FROM product WHERE id = item;
  UPDATE product SET stock = quantity + difference WHERE id = item;
END;
";

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}\n{}", ran.out, ran.err))
}

/// The findings at read committed and at repeatable read, in short: `lost-update confirmed / robust`.
fn in_short(answer: &Value) -> String {
    let told = |question: &Value| match question["verdict"].as_str().unwrap() {
        "anomaly" => {
            let one = |finding: &Value| format!("{} {}", text(&finding["anomaly"]), text(&finding["status"]));
            question["findings"].as_array().unwrap().iter().map(one).collect::<Vec<String>>().join(" + ")
        }
        verdict => verdict.to_owned(),
    };
    let questions: Vec<&Value> = answer["questions"].as_array().unwrap().iter().filter(|one| !is_lint(one)).collect();
    questions[..2].iter().map(|one| told(one)).collect::<Vec<String>>().join(" / ")
}

/// Whether an answer is that of a rule.
fn is_lint(question: &Value) -> bool {
    question["engine"] == "lint"
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The bugs of the examples: what is found at read committed and at repeatable read.
///
/// Two wrong fixes are for the rules: 02 checks in one transaction what it does in another, which is serializable and still wrong; 03 ignores a
/// row count, which goes wrong in a serial order, too. 05's right fix is a constraint that is not understood. Findings that
/// remain in right fixes (04, 06, 09, 11, 14) are about rows that no key tells: they are called potential, because no run shows them.
const BUGS: [(&str, &str); 39] = [
    ("01-stock-adjustment/buggy", "lost-update confirmed / robust"),
    ("01-stock-adjustment/fixed", "robust / robust"),
    ("01-stock-adjustment/wrong-fix", "lost-update confirmed / robust"),
    ("02-overselling/buggy", "lost-update confirmed / robust"),
    ("02-overselling/fixed", "robust / robust"),
    ("02-overselling/wrong-fix", "robust / robust"),
    ("03-voucher-limit/buggy", "stale-update confirmed / robust"),
    ("03-voucher-limit/fixed", "robust / robust"),
    ("03-voucher-limit/wrong-fix", "robust / robust"),
    ("04-voucher-once/buggy", "write-skew confirmed / write-skew confirmed"),
    ("04-voucher-once/fixed", "write-skew potential / write-skew potential"),
    ("04-voucher-once/wrong-fix", "write-skew confirmed / write-skew confirmed"),
    ("05-double-booking/buggy", "write-skew confirmed / write-skew confirmed"),
    ("05-double-booking/fixed", "unknown / unknown"),
    ("05-double-booking/wrong-fix", "write-skew confirmed / write-skew confirmed"),
    (
        "06-dangling-row/buggy",
        "write-skew potential + write-skew confirmed / lost-update potential + write-skew potential + write-skew confirmed",
    ),
    ("06-dangling-row/fixed", "unknown / unknown"),
    ("07-invoice-number/buggy", "write-skew confirmed / write-skew confirmed"),
    ("07-invoice-number/fixed", "robust / robust"),
    ("07-invoice-number/wrong-fix", "write-skew confirmed / write-skew confirmed"),
    ("08-counter-cache/buggy", "non-repeatable-read confirmed / robust"),
    ("08-counter-cache/fixed", "non-repeatable-read harmless / robust"),
    ("09-late-lock/buggy", "lost-update confirmed / robust"),
    ("09-late-lock/fixed", "lost-update potential / robust"),
    ("09-late-lock/wrong-fix", "lost-update confirmed / robust"),
    ("10-get-or-create/buggy", "unknown / unknown"),
    ("10-get-or-create/fixed", "unknown / unknown"),
    ("10-get-or-create/wrong-fix", "unknown / unknown"),
    ("11-coupon-and-credit/buggy", "lost-update confirmed / robust"),
    ("11-coupon-and-credit/fixed", "write-skew potential / write-skew potential"),
    ("11-coupon-and-credit/wrong-fix", "lost-update confirmed / robust"),
    ("12-paid-twice/buggy", "lost-update confirmed / robust"),
    ("12-paid-twice/fixed", "robust / robust"),
    ("13-vote-limit/buggy", "write-skew confirmed / write-skew confirmed"),
    ("13-vote-limit/fixed", "robust / robust"),
    ("13-vote-limit/wrong-fix", "write-skew confirmed / write-skew confirmed"),
    ("14-nobody-on-call/buggy", "write-skew potential + write-skew potential + fractured-read confirmed / robust"),
    ("14-nobody-on-call/fixed", "robust / robust"),
    ("14-nobody-on-call/wrong-fix", "write-skew potential + fractured-read confirmed / robust"),
];

#[test]
fn the_bugs_of_the_examples_are_found_and_their_fixes_are_not_confirmed() {
    let folder = Folder::new("analyze-bugs");
    let mut wrong = Vec::new();
    for (bug, expected) in BUGS {
        let file = examples().join("bugs").join(format!("{bug}.sql"));
        let ran = folder.skew(&["analyze", &file.to_string_lossy(), "--format", "json"]);
        let found = in_short(&json(&ran));
        if found != expected {
            wrong.push(format!("{bug}: {found}"));
        }
        let code = match expected {
            _ if expected.contains(" confirmed") => 1,
            _ if expected.contains("unknown") => 3,
            _ => 0,
        };
        ran.expect(code);
        let is_right = bug.ends_with("/fixed");
        assert!(!(is_right && expected.contains(" confirmed")), "{bug}: a right fix is called wrong");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_confirmed_finding_of_a_bug_has_a_verified_fix_and_can_be_seen_again() {
    let folder = Folder::new("analyze-replay");
    let mut seen = 0;
    for (bug, _) in BUGS.iter().filter(|(bug, expected)| bug.ends_with("/buggy") && expected.contains(" confirmed")) {
        let file = examples().join("bugs").join(format!("{bug}.sql"));
        let kept = bug.replace('/', "-");
        let ran = folder.skew(&["analyze", &file.to_string_lossy(), "--keep", &kept, "--format", "json"]).expect(1);
        for question in json(&ran)["questions"].as_array().unwrap() {
            for finding in question["findings"].as_array().unwrap().iter().filter(|one| one["status"] == "confirmed") {
                let fixes = finding["fixes"].as_array().unwrap();
                assert!(fixes.iter().any(|fix| fix["verified"] == true), "{bug}: {finding}");
                let again = folder.shell(text(&finding["replay"]));
                assert!([Some(0), Some(1)].contains(&again.code), "{bug}: {}{}", again.out, again.err);
                seen += 1;
            }
        }
    }
    assert!(seen >= 13, "{seen}");
}

#[test]
fn json_is_as_the_book_says() {
    let schema = of_the_book("skew analyze");
    let folder = Folder::new("analyze-json");
    folder.write("stock.sql", STOCK);
    folder.write(
        "locked.sql",
        "CREATE TABLE t (id INT PRIMARY KEY);\nBEGIN;\nSELECT pg_advisory_xact_lock(1);\nDELETE FROM t;\nCOMMIT;\n",
    );
    let tpcc = examples().join("analyze/tpcc-kv.sql");
    for file in ["stock.sql", "locked.sql", &tpcc.to_string_lossy()] {
        let answer = json(&folder.skew(&["analyze", file, "--format", "json"]));
        let found = mistakes(&schema, &schema, &answer, "");
        assert!(found.is_empty(), "{file}: {found:#?}");
    }
}

#[test]
fn transactions_with_markers_in_several_files_are_told_by_their_own_lines() {
    let folder = Folder::new("analyze-plain");
    let shop = examples().join("analyze/shop");
    let ran = folder.skew(&["analyze", &shop.to_string_lossy(), "--format", "json"]).expect(1);
    let answer = json(&ran);
    assert_eq!(in_short(&answer), "lost-update confirmed / robust");
    let finding = &answer["questions"][0]["findings"][0];
    let lines: Vec<u64> =
        finding["locations"].as_array().unwrap().iter().map(|at| at["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [3, 6]);
    assert!(text(&finding["locations"][0]["file"]).ends_with("shop/queries.sql"), "{finding}");
    assert_eq!(finding["interleaving"][0]["sql"], "SELECT stock FROM product WHERE id = :product");
    assert_eq!(answer["lowest"]["buy"], "postgres:repeatable-read");
    assert_eq!(answer["lowest"]["rename_product"], "postgres:read-committed");
}

#[test]
fn parameters_are_understood_as_drivers_write_them() {
    let folder = Folder::new("analyze-parameters");
    folder.write("schema.sql", "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, word TEXT);");
    for parameter in [":id", "@id", "$1", "%(id)s", "%s", "?"] {
        let script = format!(
            "BEGIN;\nSELECT v FROM t WHERE id = {parameter};\nUPDATE t SET v = 0 WHERE id = {parameter};\nCOMMIT;"
        );
        folder.write("script.sql", script);
        let ran = folder.skew(&["analyze", "schema.sql", "script.sql", "--format", "json"]);
        let found = in_short(&json(&ran));
        // Without a name the two parameters are two, which may be equal; and drivers number anew in each statement.
        assert!(
            found.starts_with("lost-update ") || found.starts_with("write-skew "),
            "{parameter}: {found} {}",
            ran.err
        );
        let is_named = !["$1", "%s", "?"].contains(&parameter);
        assert!(!is_named || found.ends_with("/ robust"), "{parameter}: {found}");
    }
}

#[test]
fn what_is_not_understood_makes_robust_unknown_and_has_a_place() {
    let table = "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL);\n";
    let safe = "CREATE PROCEDURE p(IN i INT) BEGIN UPDATE t SET v = v + 1 WHERE id = i; END;\n";
    let cases = [
        ("CREATE PROCEDURE q() BEGIN DECLARE c CURSOR FOR SELECT v FROM t; END;\n", "cursor"),
        (
            "CREATE PROCEDURE q() BEGIN SELECT pg_advisory_xact_lock(1); UPDATE t SET v = 0 WHERE id = 1; END;\n",
            "advisory",
        ),
        (
            "CREATE PROCEDURE q(IN i INT) BEGIN DECLARE a INT; SELECT v INTO a FROM t WHERE id = i FOR UPDATE SKIP LOCKED; END;\n",
            "SKIP LOCKED",
        ),
    ];
    let folder = Folder::new("analyze-unsupported");
    for (text_of_it, construct) in cases {
        folder.write("p.sql", format!("{table}{safe}{text_of_it}"));
        let ran = folder.skew(&["analyze", "p.sql", "--format", "json"]).expect(3);
        let answer = json(&ran);
        assert_eq!(in_short(&answer), "unknown / unknown", "{construct}");
        assert_eq!(
            answer["questions"][2]["verdict"], "unknown",
            "{construct}: the database does not see to everything"
        );
        let named = &answer["unsupported"][0];
        assert!(text(&named["construct"]).contains(construct) && named["line"] == 3, "{named}");
        assert!(answer["lowest"].is_null(), "{construct}: no level is known to be enough");
    }
}

#[test]
fn a_parent_that_is_locked_is_enough_where_it_is_certain_to_be_there() {
    let folder = Folder::new("analyze-parent");
    let file = examples().join("engines/lock-the-parent.sql");
    let ran = folder.skew(&["analyze", &file.to_string_lossy(), "--format", "json"]).expect(1);
    assert_eq!(
        in_short(&json(&ran)),
        "robust / write-skew confirmed",
        "the snapshot is older than the wait for the lock"
    );
    let text_of_it = std::fs::read_to_string(file).unwrap();
    let with = |other: &str| {
        let more = format!("CREATE PROCEDURE other(IN v INT)\nBEGIN\n  {other};\nEND;\n\nSESSION ann");
        folder.write("other.sql", text_of_it.replacen("SESSION ann", &more, 1));
        in_short(&json(&folder.skew(&["analyze", "other.sql", "--format", "json"])))
    };
    // Who finds no voucher inserts nothing; who has one that comes and goes may have a lock on nothing.
    assert!(with("DELETE FROM voucher WHERE id = v").starts_with("robust"));
    assert!(with("UPDATE voucher SET id = v + 1 WHERE id = v").starts_with("write-skew"));
}

#[test]
fn what_goes_wrong_one_after_the_other_is_found_by_rules() {
    let folder = Folder::new("analyze-rules");
    for bug in ["02-overselling", "03-voucher-limit"] {
        let file = examples().join("bugs").join(bug).join("wrong-fix.sql");
        let ran = folder.skew(&["analyze", &file.to_string_lossy(), "--format", "json"]).expect(0);
        assert!(json(&ran)["questions"].as_array().unwrap().iter().any(is_lint), "{bug}");
    }
}

#[test]
fn bad_input_is_refused_with_its_place() {
    let folder = Folder::new("analyze-bad");
    folder.write("schema.sql", "CREATE TABLE t (id INT PRIMARY KEY);");
    folder.write("empty.sql", "");
    folder.write("broken.sql", "CREATE PROCEDURE p() BEGIN SELECT; SELECT FROM WHERE; END");
    folder.write("script.sql", "BEGIN;\nUPDATE t SET id = 1;\nUPDATE nowhere SET v = 1;\nCOMMIT;\n");
    for (files, expected) in [
        (&["schema.sql"][..], "there is no transaction"),
        (&["empty.sql"], "the file is empty"),
        (&["missing.sql"], "cannot read"),
        (&["schema.sql", "broken.sql"], "line 1"),
        (&["schema.sql", "script.sql"], "script.sql: line 3"),
    ] {
        let ran = folder.skew(&[&["analyze"], files].concat()).expect(2);
        assert!(ran.err.contains(expected), "{files:?}: {}", ran.err);
    }
    let ran = folder.skew(&["analyze", "script.sql", "--level", "strong-snapshot"]).expect(2);
    assert!(ran.err.contains("no level that can be analysed"), "{}", ran.err);
    folder.skew_on("\u{0}\u{1}'\"$$--", &["analyze", "-"]).expect(2);
}

#[test]
fn programs_for_mysql_are_not_answered_with_postgresql_in_mind() {
    let folder = Folder::new("analyze-mysql");
    folder.write("stock.sql", format!("-- dialect: mysql\n{STOCK}"));
    let ran = folder.skew(&["analyze", "stock.sql"]).expect(3);
    assert!(ran.out.contains("templates do not model MySQL"), "{}", ran.out);
    folder.write("neutral.sql", STOCK);
    folder.skew(&["analyze", "neutral.sql", "--level", "mysql:repeatable-read"]).expect(3);
    folder.skew(&["analyze", "neutral.sql", "--level", "postgres:repeatable-read"]).expect(0);
}

#[test]
fn a_finding_is_accepted_with_a_reason_or_by_a_baseline() {
    let folder = Folder::new("analyze-accepted");
    folder.write("stock.sql", STOCK);
    folder.skew(&["analyze", "stock.sql", "--write-baseline", "known"]).expect(1);
    let ran = folder.skew(&["analyze", "stock.sql", "--baseline", "known"]).expect(0);
    assert!(ran.out.contains("accepted: in the baseline"), "{}", ran.out);
    let moved = STOCK.replace("CREATE PROCEDURE", "\n\nCREATE PROCEDURE");
    folder.write("stock.sql", moved);
    folder.skew(&["analyze", "stock.sql", "--baseline", "known"]).expect(0);
    folder.write("known", "what");
    folder.skew(&["analyze", "stock.sql", "--baseline", "known"]).expect(2);

    let with = |comment: &str, line: &str| STOCK.replace(line, &format!("{comment}\n{line}"));
    folder.write("stock.sql", with("-- skew: ignore(lost-update) one clerk only", "CREATE PROCEDURE"));
    let ran = folder.skew(&["analyze", "stock.sql"]).expect(0);
    assert!(ran.out.contains("accepted: one clerk only"), "{}", ran.out);
    folder.write("stock.sql", with("-- skew: ignore(lost-update) one clerk only", "  SELECT stock"));
    folder.skew(&["analyze", "stock.sql"]).expect(0);
    folder.write("stock.sql", with("-- skew: ignore(write-skew) something else", "CREATE PROCEDURE"));
    folder.skew(&["analyze", "stock.sql"]).expect(1);
    for wrong in ["-- skew: ignore(lost-update)", "-- skew: ignroe(lost-update) typo"] {
        folder.write("stock.sql", with(wrong, "CREATE PROCEDURE"));
        let ran = folder.skew(&["analyze", "stock.sql"]).expect(2);
        assert!(ran.err.contains("line 2"), "{}", ran.err);
    }
}

#[test]
fn sarif_and_markdown_name_the_lines() {
    let folder = Folder::new("analyze-formats");
    folder.write("stock.sql", STOCK);
    let sarif = json(&folder.skew(&["analyze", "stock.sql", "--format", "sarif"]).expect(1));
    assert_eq!(sarif["version"], "2.1.0");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "lost-update");
    assert_eq!(sarif["runs"][0]["tool"]["driver"]["rules"][0]["id"], "lost-update");
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 5);
    assert!(text(&result["partialFingerprints"]["skewCycle/v1"]).len() == 16, "{result}");
    let markdown = folder.skew(&["analyze", "stock.sql", "--format", "markdown"]).expect(1).out;
    assert!(markdown.contains("### lost-update at `postgres:read-committed`: confirmed"), "{markdown}");
    assert!(markdown.contains("(stock.sql:5)"), "{markdown}");
}

#[test]
fn a_change_is_held_against_what_was_there_before() {
    let folder = Folder::new("analyze-verify");
    folder.write("before.sql", STOCK);
    folder.write("after.sql", STOCK.replace("id = item;\n  UPDATE", "id = item FOR UPDATE;\n  UPDATE"));
    let ran = folder.skew(&["analyze", "--verify-fix", "before.sql", "after.sql"]).expect(0);
    assert!(ran.out.contains("gone  lost-update at postgres:read-committed: adjust, adjust"), "{}", ran.out);
    let ran = folder.skew(&["analyze", "--verify-fix", "before.sql", "before.sql"]).expect(1);
    assert!(ran.out.contains("left  lost-update"), "{}", ran.out);
    // Whether a lock with LIMIT is taken is not modelled, so nothing is known to be gone.
    folder.write("limit.sql", STOCK.replace("id = item;\n  UPDATE", "id = item LIMIT 0 FOR UPDATE;\n  UPDATE"));
    let ran = folder.skew(&["analyze", "--verify-fix", "before.sql", "limit.sql", "--level", "pg:rc"]).expect(3);
    assert!(!ran.out.contains("gone") && ran.out.contains("unknown"), "{}", ran.out);
}

#[test]
fn no_fix_drops_what_a_procedure_hands_out() {
    let folder = Folder::new("analyze-handed-out");
    let text = "CREATE TABLE a (id INT PRIMARY KEY, v INT NOT NULL);\nINSERT INTO a VALUES (1, 0);
CREATE PROCEDURE p(OUT x INT)\nBEGIN
  SELECT v INTO x FROM a WHERE id = 1;\n  UPDATE a SET v = x + 1 WHERE id = 1;\nEND;\n";
    folder.write("out.sql", text);
    let dropped = "drop the SELECT";
    let told = |name: &str| folder.skew(&["analyze", name, "--level", "pg:rc"]).expect(1).out;
    assert!(!told("out.sql").contains(dropped), "{}", told("out.sql"));
    folder.write("own.sql", text.replace("p(OUT x INT)\nBEGIN", "p()\nBEGIN\n  DECLARE x INT;"));
    assert!(told("own.sql").contains(dropped), "{}", told("own.sql"));
}

/// Texts beside the project; nothing where they are not.
fn shared(name: &str) -> Option<String> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("SKEW_SHARED").map_or_else(beside, PathBuf::from);
    let text = std::fs::read_to_string(folder.join("analyze").join(name)).ok();
    if text.is_none() {
        skew_testing::skipped(&format!("analyses of {name}: it is not there"));
    }
    text
}

#[test]
fn sessions_may_break_what_independent_transactions_do_not() {
    let Some(sessions) = shared("sessions.sql") else { return };
    let folder = Folder::new("analyze-sessions");
    folder.write("sessions.sql", sessions);
    let snapshot = ["analyze", "sessions.sql", "--level", "postgres:repeatable-read"];
    let ran = folder.skew(&snapshot).expect(0);
    assert!(ran.out.contains("robust") && ran.out.contains("transactions are independent"), "{}", ran.out);
    let ran = folder.skew(&[&snapshot[..], &["--sessions"]].concat()).expect(3);
    assert!(ran.out.contains("two transactions of one session keep their order"), "{}", ran.out);
    folder.write(
        "locked.sql",
        "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL); INSERT INTO t VALUES (1, 0), (2, 0);
         CREATE PROCEDURE raise(IN k INT) BEGIN UPDATE t SET v = v + 1 WHERE id = k; END;
         CREATE PROCEDURE take(IN k INT, OUT o INT) BEGIN SELECT v INTO o FROM t WHERE id = k FOR UPDATE; END;",
    );
    let ran = folder.skew(&["analyze", "locked.sql", "--level", "postgres:read-committed", "--sessions"]).expect(0);
    let told = ran.out.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(told.contains("robust") && told.contains("the order of commits is a serial one"), "{told}");
}

#[test]
fn a_guard_that_may_match_nothing_proves_nothing() {
    let Some(guarded) = shared("guarded.sql") else { return };
    let folder = Folder::new("analyze-guarded");
    folder.write("guarded.sql", guarded);
    let ran =
        folder.skew(&["analyze", "guarded.sql", "--level", "postgres:repeatable-read", "--format", "json"]).expect(1);
    assert_eq!(json(&ran)["questions"][0]["findings"][0]["anomaly"], "write-skew");
}

#[test]
fn published_levels_of_smallbank_come_out_of_the_command() {
    let Some(bank) = shared("smallbank.sql") else { return };
    let folder = Folder::new("analyze-smallbank");
    folder.write("bank.sql", bank);
    let arguments = [
        "analyze",
        "bank.sql",
        "--assume",
        "independent-keys",
        "--format",
        "json",
        "--level",
        "postgres:repeatable-read",
    ];
    let answer = json(&folder.skew(&arguments).expect(1));
    let lowest = |name: &str| text(&answer["lowest"][name]).trim_start_matches("postgres:").to_owned();
    assert_eq!(lowest("deposit_checking"), "read-committed");
    for name in ["balance", "transact_savings", "amalgamate", "write_check"] {
        assert_eq!(lowest(name), "serializable", "{name}");
    }
    let finding = &answer["questions"][0]["findings"][0];
    assert_eq!(finding["status"], "confirmed", "{finding}");
}

#[test]
fn the_example_of_the_help_works() {
    let folder = Folder::new("analyze-help");
    let help = folder.skew(&["analyze", "--help"]).expect(0).out;
    assert!(help.contains("skew analyze examples/withdraw.sql"), "{help}");
    let file = examples().join("withdraw.sql");
    folder.skew(&["analyze", &file.to_string_lossy()]).expect(1);
    folder.skew(&["analyze", &file.to_string_lossy(), "--quiet"]).expect(1);
}
