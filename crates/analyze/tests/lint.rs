//! The rules over all examples: what they find, where, and that they name exactly the levels at which the examples are known to go wrong.

use skew_analyze::lint::{LintFinding, lint};
use skew_history::EngineLevel;
use skew_program::Program;
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn findings(text: &str) -> Vec<LintFinding> {
    lint(&Program::parse(text).unwrap_or_else(|error| panic!("{error:?}\n{text}")), text)
}

/// `rule procedure:line,line`
fn told(found: &LintFinding) -> String {
    let lines: Vec<String> = found.finding.locations.iter().map(|place| place.line.to_string()).collect();
    format!("{} {}:{}", found.rule.name(), found.finding.transactions[0], lines.join(","))
}

/// The same with the levels: `rule procedure:line,line (pg:rc pg:rr)`
fn told_with_levels(found: &LintFinding) -> String {
    let levels: Vec<&str> = found.levels.iter().map(|level| level.short()).collect();
    format!("{} ({})", told(found), levels.join(" "))
}

/// Every file of a folder of the examples, with what is found in it.
fn table(folder: &str) -> Vec<String> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut open = vec![examples().join(folder)];
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(path).expect("a folder of examples") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                // Plain queries are no program by themselves.
                true if path.ends_with("analyze/shop") => {}
                true => open.push(path),
                false if path.extension().is_some_and(|extension| extension == "sql") => files.push(path),
                false => {}
            }
        }
    }
    files.sort();
    let line = |file: &PathBuf| {
        let found = findings(&std::fs::read_to_string(file).expect("an example"));
        let found: Vec<String> = found.iter().map(told_with_levels).collect();
        let name = file.strip_prefix(examples().join(folder)).expect("inside the folder").display().to_string();
        let found = if found.is_empty() { "silent".to_owned() } else { found.join("; ") };
        format!("{}: {found}", name.replace('\\', "/"))
    };
    files.iter().map(line).collect()
}

fn assert_table(folder: &str, expected: &str) {
    let found = table(folder);
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(found, expected, "\n{}", found.join("\n"));
}

#[test]
fn bugs_are_found_where_a_rule_is_about_them_and_their_fixes_are_silent() {
    assert_table(
        "bugs",
        "
        01-stock-adjustment/buggy.sql: read-modify-write adjust:13,14 (pg:rc mysql:rc mysql:rr)
        01-stock-adjustment/fixed.sql: silent
        01-stock-adjustment/wrong-fix.sql: read-modify-write adjust:15,17 (pg:rc mysql:rc mysql:rr)
        02-overselling/buggy.sql: read-modify-write allocate:19,20 (pg:rc mysql:rc mysql:rr); wrong-scope check_availability:12,20 (pg:rc pg:rr pg:ser mysql:rc mysql:rr mysql:si mysql:ser)
        02-overselling/fixed.sql: silent
        02-overselling/wrong-fix.sql: wrong-scope check_availability:12,18 (pg:rc pg:rr pg:ser mysql:rc mysql:rr mysql:si mysql:ser)
        03-voucher-limit/buggy.sql: check-then-update checkout:14,18 (pg:rc mysql:rc mysql:rr)
        03-voucher-limit/fixed.sql: silent
        03-voucher-limit/wrong-fix.sql: ignored-row-count checkout:14,15 (pg:rc pg:rr pg:ser mysql:rc mysql:rr mysql:si mysql:ser)
        04-voucher-once/buggy.sql: check-then-insert apply_voucher:12,16 (pg:rc pg:rr mysql:rc mysql:rr mysql:si)
        04-voucher-once/fixed.sql: silent
        04-voucher-once/wrong-fix.sql: lock-of-nothing apply_voucher:11,14 (pg:rc pg:rr mysql:rc)
        05-double-booking/buggy.sql: check-then-insert book:12,16 (pg:rc pg:rr mysql:rc mysql:rr mysql:si)
        05-double-booking/fixed.sql: silent
        05-double-booking/wrong-fix.sql: lock-of-nothing book:11,14 (pg:rc pg:rr mysql:rc)
        06-dangling-row/buggy.sql: dangling-row enable_rule:14,18 (pg:rc pg:rr mysql:rc mysql:rr mysql:si)
        06-dangling-row/fixed.sql: silent
        07-invoice-number/buggy.sql: next-number make_invoice:13,14 (pg:rc pg:rr mysql:rc mysql:rr mysql:si)
        07-invoice-number/fixed.sql: silent
        07-invoice-number/wrong-fix.sql: next-number make_invoice:13,14 (pg:rc pg:rr)
        08-counter-cache/buggy.sql: ignored-row-count destroy:17,18 (pg:rc mysql:rc mysql:rr)
        08-counter-cache/fixed.sql: silent
        09-late-lock/buggy.sql: late-lock order_ticket:14,19 (pg:rc mysql:rc mysql:rr)
        09-late-lock/fixed.sql: silent
        09-late-lock/wrong-fix.sql: late-lock order_ticket:14,18 (pg:rc mysql:rc mysql:rr)
        10-get-or-create/buggy.sql: old-snapshot get_or_create:13,14 (mysql:rr)
        10-get-or-create/fixed.sql: silent
        10-get-or-create/wrong-fix.sql: old-snapshot get_or_create:14,12 (mysql:rr)
        11-coupon-and-credit/buggy.sql: check-then-update place_order:17,22 (pg:rc mysql:rc mysql:rr); check-then-update place_order:18,23 (pg:rc mysql:rc mysql:rr)
        11-coupon-and-credit/fixed.sql: silent
        11-coupon-and-credit/wrong-fix.sql: late-lock place_order:17,22 (pg:rc mysql:rc mysql:rr); late-lock place_order:18,24 (pg:rc mysql:rc mysql:rr)
        12-paid-twice/buggy.sql: check-then-update complete:14,16 (pg:rc mysql:rc mysql:rr)
        12-paid-twice/fixed.sql: silent
        13-vote-limit/buggy.sql: check-then-insert cast_vote:12,16 (pg:rc pg:rr mysql:rc mysql:rr mysql:si)
        13-vote-limit/fixed.sql: silent
        13-vote-limit/wrong-fix.sql: check-then-insert cast_vote:14,13 (pg:rc pg:rr mysql:rc mysql:rr mysql:si)
        14-nobody-on-call/buggy.sql: silent
        14-nobody-on-call/fixed.sql: silent
        14-nobody-on-call/wrong-fix.sql: silent
    ",
    );
}

#[test]
fn applications_have_no_findings_but_these() {
    assert_table(
        "applications",
        "
        courseware.sql: check-then-insert enroll:16,18 (pg:rc pg:rr mysql:rc mysql:rr mysql:si); dangling-row enroll:14,18 (pg:rc pg:rr mysql:rc mysql:rr mysql:si)
        shopping-cart.sql: check-then-update add_item:12,19 (pg:rc mysql:rc mysql:rr)
        tpcc.sql: read-modify-write new_order:27,28 (pg:rc mysql:rc mysql:rr); read-modify-write new_order:31,32 (pg:rc mysql:rc mysql:rr); read-modify-write payment:42,43 (pg:rc mysql:rc mysql:rr); ignored-row-count delivery:62,66 (pg:rc mysql:rc mysql:rr)
        twitter.sql: read-modify-write publish:24,26 (pg:rc mysql:rc mysql:rr)
        wikipedia.sql: silent
    ",
    );
}

#[test]
fn texts_of_the_literature_have_no_findings_but_these() {
    assert_table(
        "analyze",
        "
        courseware-anode.sql: read-modify-write enroll:33,35 (pg:rc mysql:rc mysql:rr); dangling-row enroll:32,36 (pg:rc pg:rr mysql:rc mysql:rr mysql:si); dangling-row enroll:33,36 (pg:rc mysql:rc mysql:rr)
        tpcc-full.sql: read-modify-write new_order:39,40 (pg:rc mysql:rc mysql:rr); read-modify-write new_order:48,54 (pg:rc mysql:rc mysql:rr); read-modify-write payment:66,67 (pg:rc mysql:rc mysql:rr); ignored-row-count delivery:86,91 (pg:rc mysql:rc mysql:rr)
        tpcc-kv.sql: silent
    ",
    );
}

#[test]
fn small_programs_for_servers_have_no_findings_but_these() {
    assert_table(
        "engines",
        "
        count-then-insert.sql: silent
        delete-and-insert.sql: silent
        lock-the-parent-too-late.sql: check-then-insert redeem:10,12 (pg:rr mysql:rr mysql:si)
        lock-the-parent.sql: check-then-insert redeem:9,11 (pg:rr)
        lost-update-locked.sql: silent
        lost-update.sql: read-modify-write deposit:7,8 (pg:rc mysql:rc mysql:rr)
        read-skew-one-statement.sql: silent
        read-skew.sql: silent
        upsert.sql: silent
        write-skew.sql: check-then-update go_home:7,9 (pg:rc pg:rr mysql:rc mysql:rr mysql:si)
        write-then-read.sql: silent
    ",
    );
}

/// What the header of an example says of every level: `-- postgres: read-committed fails, …`.
fn known(text: &str) -> Vec<(EngineLevel, bool)> {
    let mut known = Vec::new();
    for line in text.lines() {
        for engine in ["postgres", "mysql"] {
            let Some(words) = line.strip_prefix(&format!("-- {engine}: ")) else { continue };
            for one in words.split(", ") {
                let (level, outcome) = one.split_once(' ').expect("a level and what happens there");
                let level = format!("{engine}:{level}");
                let level = EngineLevel::ALL.into_iter().find(|known| known.name() == level).expect("a level");
                known.push((level, outcome == "fails"));
            }
        }
    }
    known
}

/// Of one bug no rule knows: an UPDATE that passes over a row.
fn is_beyond_rules(name: &str) -> bool {
    name.starts_with("14-nobody-on-call")
}

#[test]
fn rules_name_exactly_the_levels_at_which_a_bug_happens() {
    let mut compared = 0;
    for line in table("bugs") {
        let name = line.split(": ").next().expect("a name");
        let text = std::fs::read_to_string(examples().join("bugs").join(name)).expect("an example");
        let found = findings(&text);
        for (level, fails) in known(&text).into_iter().filter(|_| !is_beyond_rules(name)) {
            let named = found.iter().any(|one| one.levels.contains(&level));
            assert_eq!(named, fails, "{name} at {}", level.name());
            compared += 1;
        }
    }
    assert!(compared > 200, "{compared} levels of examples were compared");
}

/// The rules that speak of the body of one procedure, on a small schema.
fn spoken(body: &str) -> Vec<String> {
    let schema = "CREATE TABLE job (id INT PRIMARY KEY, state TEXT NOT NULL, version INT NOT NULL, tries INT NOT NULL);
        CREATE TABLE bill (id INT PRIMARY KEY, number INT NOT NULL, year INT NOT NULL);";
    let text = format!("{schema}\nCREATE PROCEDURE p(IN x INT, IN y INT)\nBEGIN\n{body}\nEND;");
    findings(&text).iter().map(|one| one.rule.name().to_owned()).collect()
}

#[test]
fn an_update_that_compares_the_version_overwrites_nobody() {
    let body = |check: &str| {
        format!(
            "DECLARE v, t INT; SELECT version, tries INTO v, t FROM job WHERE id = x;
             UPDATE job SET tries = t + 1, version = v + 1 WHERE id = x AND version = v; {check} INSERT INTO bill VALUES (x, y, 1);"
        )
    };
    assert_eq!(spoken(&body("IF ROW_COUNT() = 0 THEN ROLLBACK; END IF;")), [""; 0]);
    assert_eq!(spoken(&body("")), ["ignored-row-count"]);
}

#[test]
fn the_oldest_job_is_taken_twice() {
    let take = |lock: &str| {
        format!(
            "DECLARE j INT; SELECT id INTO j FROM job WHERE state = 'new' ORDER BY id LIMIT 1 {lock};
             IF j IS NOT NULL THEN UPDATE job SET state = 'taken' WHERE id = j; END IF;"
        )
    };
    assert_eq!(spoken(&take("")), ["check-then-update"]);
    assert_eq!(spoken(&take("FOR UPDATE")), [""; 0]);
}

#[test]
fn one_statement_that_looks_and_inserts_is_no_better_than_two() {
    assert_eq!(
        spoken("INSERT INTO bill VALUES (x, (SELECT MAX(number) + 1 FROM bill WHERE year = y), y);"),
        ["next-number"]
    );
    assert_eq!(
        spoken("INSERT INTO bill SELECT x, 1, y WHERE NOT EXISTS (SELECT 1 FROM bill WHERE year = y);"),
        ["check-then-insert"]
    );
    assert_eq!(spoken("INSERT INTO bill SELECT id, version, y FROM job;"), [""; 0]);
}

#[test]
fn a_loop_that_waits_for_others_waits_in_vain() {
    let wait =
        "DECLARE s TEXT; WHILE s IS NULL OR s <> 'done' DO SELECT state INTO s FROM job WHERE id = x; END WHILE;";
    assert_eq!(spoken(wait), ["old-snapshot"]);
    let all = "DECLARE s TEXT; DECLARE n INT DEFAULT 0;
        WHILE n < 3 DO SELECT state INTO s FROM job WHERE id = n; IF s = 'new' THEN SET n = n + 1; END IF; SET n = n + 1; END WHILE;";
    assert_eq!(spoken(all), [""; 0]);
}

#[test]
fn whether_a_row_is_there_is_no_value_that_somebody_overwrites() {
    let body = "DECLARE t INT; SELECT tries INTO t FROM job WHERE id = x;
        IF t IS NULL THEN ROLLBACK; END IF; UPDATE job SET tries = y WHERE id = x;";
    assert_eq!(spoken(body), [""; 0]);
}

#[test]
fn an_if_that_asks_the_database_itself_is_a_check() {
    let body = "IF NOT EXISTS (SELECT 1 FROM bill WHERE year = y) THEN INSERT INTO bill VALUES (x, 1, y); END IF;";
    assert_eq!(spoken(body), ["check-then-insert"]);
}

#[test]
fn findings_are_answers_for_the_levels_that_are_asked() {
    let file = examples().join("bugs/01-stock-adjustment/buggy.sql");
    let text = std::fs::read_to_string(file).expect("an example");
    let program = Program::parse(&text).expect("a program");
    let levels = [EngineLevel::PostgresReadCommitted, EngineLevel::PostgresRepeatableRead];
    let answers = skew_analyze::lint::lint_answers(&program, &text, &levels);
    let [answer] = answers.as_slice() else { panic!("{answers:?}") };
    let finding = &answer.findings[0];
    assert_eq!((answer.level.as_str(), answer.engine.name()), ("postgres:read-committed", "lint"));
    assert_eq!((finding.anomaly.as_str(), finding.status.name()), ("lost-update", "potential"));
    assert_eq!(finding.interleaving.len(), 4);
    assert!(finding.sentence.contains("reads product.stock without a lock"), "{}", finding.sentence);
    assert_eq!(finding.fixes[1].place.line, 13, "FOR UPDATE belongs to the SELECT");
}

#[test]
fn a_unit_that_looks_in_one_transaction_and_acts_in_the_next_has_the_wrong_scope() {
    let shop = |marker: &str, again: &str| {
        format!(
            "CREATE TABLE job (id INT PRIMARY KEY, state TEXT NOT NULL);
{marker}
CREATE PROCEDURE look(IN x INT, OUT found TEXT) BEGIN SELECT state INTO found FROM job WHERE id = x; END;
CREATE PROCEDURE take(IN x INT, IN found TEXT) BEGIN DECLARE s TEXT; SET s = found; {again}
IF s = 'new' THEN UPDATE job SET state = 'taken' WHERE id = x; END IF; END;
-- end unit"
        )
    };
    let found = findings(&shop("-- unit: worker", ""));
    let [one] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(told(one), "wrong-scope look:3,5");
    assert_eq!(one.finding.transactions, ["look", "take", "look", "take"]);
    assert!(one.is_about_every_level() && one.finding.fixes[0].sentence.contains("lines 3 and 5"));
    assert!(findings(&shop("", "")).is_empty(), "nobody says that they belong together");
    let again = "SELECT state INTO s FROM job WHERE id = x FOR UPDATE;";
    assert!(findings(&shop("-- unit: worker", again)).is_empty(), "it looks again");
}
