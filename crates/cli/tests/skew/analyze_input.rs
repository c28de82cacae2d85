//! What `skew analyze` reads: functions in PL/pgSQL beside their twins in SQL/PSM, views, logs with faults, and the names of what it does not understand.

use crate::{Folder, Ran};
use serde_json::Value;
use std::path::Path;

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}\n{}", ran.out, ran.err))
}

/// A bug of the examples, and its transactions as PL/pgSQL has them.
const TWINS: [(&str, &str); 9] = [
    (
        "01-stock-adjustment/buggy",
        "CREATE OR REPLACE FUNCTION adjust(item int, difference int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  quantity product.stock%TYPE;
BEGIN
  SELECT stock INTO STRICT quantity FROM product WHERE id = item;
  UPDATE product SET stock = quantity + difference WHERE id = item;
END $$;",
    ),
    (
        "01-stock-adjustment/fixed",
        "CREATE FUNCTION adjust(item int, difference int) RETURNS void AS $body$
BEGIN
  UPDATE product SET stock = stock + adjust.difference WHERE id = $1;
END;
$body$ LANGUAGE plpgsql;",
    ),
    (
        "03-voucher-limit/buggy",
        "CREATE PROCEDURE checkout(number int, code int) LANGUAGE plpgsql AS $$
DECLARE
  v voucher%ROWTYPE;
BEGIN
  SELECT * INTO v FROM voucher WHERE id = code;
  IF v.used >= v.most THEN
    RAISE EXCEPTION 'the voucher % is used up', code USING ERRCODE = '45000';
  END IF;
  UPDATE voucher SET used = used + 1 WHERE id = code;
  INSERT INTO purchase VALUES (number, code);
END $$;",
    ),
    (
        "03-voucher-limit/fixed",
        "CREATE FUNCTION checkout(number int, code int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE voucher SET used = used + 1 WHERE id = code AND used < most;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the voucher is used up';
  END IF;
  INSERT INTO purchase VALUES (number, code);
EXCEPTION WHEN others THEN
  RAISE NOTICE 'no voucher for %', number;
  RAISE;
END $$;",
    ),
    (
        "03-voucher-limit/wrong-fix",
        "CREATE FUNCTION checkout(number int, code int) RETURNS void LANGUAGE sql AS $$
  UPDATE voucher SET used = used + 1 WHERE id = code AND used < most;
  INSERT INTO purchase VALUES (number, code);
$$;",
    ),
    (
        "05-double-booking/buggy",
        "CREATE FUNCTION book(number int, begin_hour int, end_hour int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  overlapping int;
BEGIN
  SELECT INTO overlapping COUNT(*) FROM booking WHERE starts < end_hour AND begin_hour < ends;
  CASE
    WHEN overlapping > 0 THEN RAISE EXCEPTION 'not available';
    ELSE NULL;
  END CASE;
  INSERT INTO booking VALUES (number, begin_hour, end_hour);
END $$;",
    ),
    (
        "07-invoice-number/buggy",
        "CREATE FUNCTION make_invoice(bought int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  highest int;
BEGIN
  highest := (SELECT MAX(number) FROM invoice);
  INSERT INTO invoice VALUES (bought, highest + 1);
END $$;",
    ),
    (
        "08-counter-cache/fixed",
        "CREATE FUNCTION destroy(wanted int) RETURNS void LANGUAGE plpgsql AS $$
<<deleting>>
DECLARE
  parent int;
  n int := 0;
BEGIN
  SELECT post INTO parent FROM comment WHERE id = wanted;
  IF parent IS NULL THEN
    RETURN;
  END IF;
  DELETE FROM comment WHERE id = wanted;
  GET DIAGNOSTICS n = ROW_COUNT;
  IF n > 0 THEN
    UPDATE post SET comments = comments - 1 WHERE id = parent;
  END IF;
END deleting $$;",
    ),
    (
        "11-coupon-and-credit/buggy",
        "CREATE PROCEDURE place_order(number int, code int, person int, amount int DEFAULT 10) LANGUAGE plpgsql AS $$
DECLARE
  gone boolean;
  money credit.balance%TYPE;
BEGIN
  SELECT used INTO gone FROM coupon WHERE id = code;
  SELECT balance INTO money FROM credit WHERE customer = person;
  ASSERT NOT (gone OR money < amount), 'the coupon or the credit is used up';
  UPDATE coupon SET used = TRUE WHERE id = code;
  UPDATE credit SET balance = balance - amount WHERE customer = person;
  INSERT INTO purchase VALUES (number, code);
END $$;",
    ),
];

/// The example, and the same with other text for its transactions.
fn twins(bug: &str, transactions: &str) -> (String, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bugs").join(format!("{bug}.sql"));
    let text = std::fs::read_to_string(path).expect("an example");
    let (from, to) = (text.find("CREATE PROCEDURE"), text.find("SESSION"));
    let (from, to) = (from.expect("a procedure"), to.expect("a session"));
    let twin = format!("{}{transactions}\n\n{}", &text[..from], &text[to..]);
    (text, twin)
}

/// The answers of the proving engines without places: level, verdict, what is found, and how certain it is.
fn answers(report: &Value) -> Vec<String> {
    let finding = |one: &Value| format!("{} {} {}", one["anomaly"], one["status"], one["transactions"]);
    let told = |one: &Value| {
        let found: Vec<String> = one["findings"].as_array().into_iter().flatten().map(finding).collect();
        format!("{} {} {} {}", one["level"], one["engine"], one["verdict"], found.join(", "))
    };
    let proving = |one: &&Value| one["engine"] != "lint";
    report["questions"].as_array().into_iter().flatten().filter(proving).map(told).collect()
}

#[test]
fn a_bug_in_plpgsql_is_answered_as_its_twin_is() {
    let folder = Folder::new("analyze-twins");
    for (bug, transactions) in TWINS {
        let (psm, plpgsql) = twins(bug, transactions);
        folder.write("psm.sql", psm);
        folder.write("plpgsql.sql", plpgsql);
        let report = |file: &str| json(&folder.skew(&["analyze", file, "--format", "json"]));
        let (one, other) = (report("psm.sql"), report("plpgsql.sql"));
        assert_eq!(answers(&one), answers(&other), "{bug}");
        assert_eq!(one["lowest"], other["lowest"], "{bug}");
        assert_eq!(other["unsupported"], serde_json::json!([]), "{bug}");
    }
}

#[test]
fn a_bug_in_plpgsql_has_the_runs_that_its_twin_has() {
    let folder = Folder::new("explore-twins");
    for (bug, transactions) in TWINS {
        let (psm, plpgsql) = twins(bug, transactions);
        folder.write("psm.sql", psm);
        folder.write("plpgsql.sql", plpgsql);
        for level in ["postgres:read-committed", "postgres:repeatable-read"] {
            let runs = |file: &str| {
                let ran = folder.skew(&["explore", file, "--level", level]);
                let line = ran.out.lines().find(|line| line.starts_with("  postgres:")).map(str::to_owned);
                (ran.code, line.unwrap_or_else(|| panic!("{bug} at {level}: {}{}", ran.out, ran.err)))
            };
            assert_eq!(runs("psm.sql"), runs("plpgsql.sql"), "{bug} at {level}");
        }
    }
}

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL);
CREATE PROCEDURE safe(IN i INT) BEGIN UPDATE t SET v = v + 1 WHERE id = i; END;
";

/// What is named with its line, which is the third of the file unless another one is given, and makes the answer unknown.
const NAMED: [(&str, &str, u64); 36] = [
    ("CREATE MATERIALIZED VIEW m AS SELECT v FROM t;", "MATERIALIZED VIEW", 3),
    ("CREATE TRIGGER u AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();", "CREATE TRIGGER", 3),
    ("CREATE RULE r AS ON UPDATE TO t DO INSTEAD NOTHING;", "CREATE RULE", 3),
    ("CREATE POLICY only_mine ON t USING (v > 0);", "CREATE POLICY", 3),
    ("CREATE TABLE c (id INT PRIMARY KEY,\n  t INT REFERENCES t (id) DEFERRABLE);", "DEFERRABLE", 4),
    ("CREATE PROCEDURE q() BEGIN UPDATE t SET v = grown(v) WHERE id = 1; END;", "grown", 3),
    (
        "CREATE PROCEDURE q() BEGIN SELECT pg_advisory_xact_lock(1); UPDATE t SET v = 0 WHERE id = 1; END;",
        "advisory",
        3,
    ),
    (
        "CREATE PROCEDURE q() BEGIN DECLARE a INT; SELECT v INTO a FROM t WHERE id = 1 FOR UPDATE NOWAIT; END;",
        "NOWAIT",
        3,
    ),
    (
        "CREATE PROCEDURE q() BEGIN DECLARE a INT; SELECT v INTO a FROM t WHERE id = 1 FOR UPDATE SKIP LOCKED; END;",
        "SKIP LOCKED",
        3,
    ),
    ("BEGIN;\nSAVEPOINT a;\nUPDATE t SET v = 0 WHERE id = 1;\nROLLBACK TO a;\nCOMMIT;", "ROLLBACK TO a savepoint", 6),
    ("BEGIN;\nLOCK TABLE t;\nUPDATE t SET v = 0 WHERE id = 1;\nCOMMIT;", "LOCK", 4),
    ("BEGIN;\nSET TRANSACTION ISOLATION LEVEL SERIALIZABLE;\nUPDATE t SET v = 0 WHERE id = 1;\nCOMMIT;", "setting", 4),
    ("CREATE PROCEDURE q()\nBEGIN\n  DECLARE EXIT HANDLER FOR NOT FOUND ROLLBACK;\nEND;", "HANDLER in q", 5),
    ("CREATE PROCEDURE q() BEGIN DECLARE c CURSOR FOR SELECT v FROM t; END;", "cursor", 3),
    ("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;", "for a trigger in f", 3),
    ("CREATE FUNCTION f() RETURNS int LANGUAGE plpython3u AS $$ return 1 $$;", "LANGUAGE plpython3u", 3),
    ("CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';", "single quotes", 3),
    (
        "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$\nBEGIN\n  EXECUTE 'DELETE FROM t';\nEND $$;",
        "dynamic SQL (EXECUTE) in f",
        5,
    ),
    (
        "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$\nBEGIN\n  FOR i IN EXECUTE 'SELECT 1' LOOP NULL; END LOOP;\nEND $$;",
        "dynamic SQL",
        5,
    ),
    (
        "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$\nBEGIN\n  INSERT INTO t VALUES (1, 1);\nEXCEPTION\n  WHEN unique_violation THEN UPDATE t SET v = 1 WHERE id = 1;\nEND $$;",
        "a handler that goes on",
        6,
    ),
    (
        "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$\nDECLARE\n  c CURSOR FOR SELECT v FROM t;\nBEGIN\nEND $$;",
        "a cursor in f",
        5,
    ),
    ("CREATE PROCEDURE f() LANGUAGE plpgsql AS $$\nBEGIN\n  COMMIT;\nEND $$;", "ending a transaction", 5),
    ("CREATE PROCEDURE f() LANGUAGE plpgsql AS $$\nBEGIN\n  CALL safe(1);\nEND $$;", "CALL inside", 5),
    ("CREATE PROCEDURE f() LANGUAGE plpgsql AS $$\nBEGIN\n  TRUNCATE t;\nEND $$;", "changing the schema", 5),
    ("CREATE PROCEDURE f() LANGUAGE plpgsql AS $$\nBEGIN\n  LOCK TABLE t;\nEND $$;", "LOCK in a function", 5),
    ("CREATE PROCEDURE f(a int[]) LANGUAGE plpgsql AS $$\nBEGIN\n  a[1] := 2;\nEND $$;", "element of an array", 5),
    ("CREATE PROCEDURE f(VARIADIC a int[]) LANGUAGE plpgsql AS $$ BEGIN NULL; END $$;", "VARIADIC", 3),
    ("CREATE PROCEDURE f(a int) LANGUAGE plpgsql AS $$\nDECLARE b ALIAS FOR $1;\nBEGIN NULL; END $$;", "ALIAS", 4),
    (
        "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$\nBEGIN\n  FOREACH x IN ARRAY a LOOP NULL; END LOOP;\nEND $$;",
        "FOREACH",
        5,
    ),
    ("DO $$\nBEGIN\n  PERFORM pg_advisory_lock(1);\nEND $$;", "advisory", 5),
    ("CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION f();", "TRIGGER", 3),
    ("CALL safe(1);\nCALL other(1);", "CALL other", 4),
    ("\\set x 1\n\\ir more.sql", "\\ir more.sql", 4),
    ("COPY t FROM stdin;\n1\t'\n\\.", "COPY", 3),
    ("DO $$\nDECLARE r t%ROWTYPE;\nBEGIN\n  INSERT INTO t VALUES (r.*);\nEND $$;", "the row r as a whole", 6),
    ("CREATE FUNCTION f(v int) RETURNS int LANGUAGE sql AS $$ SELECT id FROM t WHERE v = v $$;", "two meanings", 3),
];

#[test]
fn what_is_not_understood_is_named_with_its_line_and_makes_the_answer_unknown() {
    let folder = Folder::new("analyze-named");
    for (statement, construct, line) in NAMED {
        folder.write("p.sql", format!("{TABLE}{statement}\n"));
        let ran = folder.skew(&["analyze", "p.sql", "--format", "json"]);
        assert_eq!(ran.code, Some(3), "{statement}: {}{}", ran.out, ran.err);
        let report = json(&ran);
        let named = &report["unsupported"][0];
        let is_named = named["construct"].as_str().unwrap_or_default().contains(construct) && named["line"] == line;
        assert!(is_named, "{statement}: {named}");
        let unknown = &report["questions"][0];
        assert_eq!(unknown["verdict"], "unknown", "{statement}");
        let reason = unknown["reason"].as_str().unwrap_or_default();
        let is_sentence = reason.ends_with("is not understood, and could matter") && !reason.contains("not supported");
        assert!(is_sentence && reason.contains(&format!("p.sql:{line}")), "{statement}: {reason}");
    }
}

/// What is understood, and what is said of it at read committed.
const UNDERSTOOD: [(&str, &str); 10] = [
    (
        "CREATE VIEW rich AS SELECT id, v FROM t WHERE v > 100;
CREATE FUNCTION tax(i int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  SELECT v INTO n FROM rich WHERE id = i;
  UPDATE t SET v = n - 10 WHERE id = i;
END $$;",
        "anomaly",
    ),
    ("CREATE VIEW rich AS SELECT id, v FROM t;\n-- name: show\nSELECT v FROM rich WHERE id = :i;", "robust"),
    ("CREATE SEQUENCE s;\nCREATE PROCEDURE q() BEGIN INSERT INTO t VALUES (nextval('s'), 0); END;", "robust"),
    ("DO $$\nBEGIN\n  UPDATE t SET v = v + 1 WHERE id = 7;\nEND $$;", "robust"),
    (
        "DROP FUNCTION IF EXISTS f(int);\nGRANT ALL ON t TO PUBLIC;\nALTER PROCEDURE safe(int) OWNER TO me;\nCALL safe(1);",
        "robust",
    ),
    (
        "CREATE FUNCTION f(n int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN REVERSE n..1 BY 2 LOOP
    CONTINUE WHEN i = 3;
    UPDATE t SET v = v + 1 WHERE id = i;
    EXIT WHEN NOT FOUND;
  END LOOP;
  RETURN 1;
END $$;",
        "robust",
    ),
    (
        "CREATE FUNCTION f() RETURNS SETOF int LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR r IN SELECT id, v FROM t LOOP
    UPDATE t SET v = r.v + 1 WHERE id = r.id;
  END LOOP;
  RETURN QUERY SELECT v FROM t;
END $$;",
        "anomaly",
    ),
    (
        "CREATE FUNCTION taken(i int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE rest int;
BEGIN
  UPDATE t SET v = v - 1 WHERE id = i AND v > 0 RETURNING v INTO rest;
  RETURN rest;
END $$;",
        "robust",
    ),
    ("CREATE FUNCTION got(i int) RETURNS int BEGIN ATOMIC SELECT v FROM t WHERE id = i; END;", "robust"),
    (
        "CREATE FUNCTION sure(i int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM t WHERE id = i;
  IF NOT FOUND THEN
    INSERT INTO t VALUES (i, 0);
  END IF;
END $$;",
        "robust",
    ),
];

#[test]
fn what_is_understood_is_answered() {
    let folder = Folder::new("analyze-understood");
    for (statement, verdict) in UNDERSTOOD {
        folder.write("p.sql", format!("{TABLE}{statement}\n"));
        let ran = folder.skew(&["analyze", "p.sql", "--level", "postgres:read-committed", "--format", "json"]);
        let report = json(&ran);
        assert_eq!(report["unsupported"], serde_json::json!([]), "{statement}");
        let proving = report["questions"].as_array().into_iter().flatten().find(|one| one["engine"] != "lint");
        assert_eq!(proving.map(|one| &one["verdict"]), Some(&Value::from(verdict)), "{statement}: {report}");
    }
}

const CSV: &str = "2024-11-18 09:00:01.000 UTC,\"shop\",\"shop\",1,\"[local]\",S,1,\"idle\",2024-11-18 09:00:00 UTC,3/1,0,LOG,00000,\"statement: STATEMENT\",,,,,,,,,\"app\"\n";

fn logged(session: &str, statements: &[&str]) -> String {
    statements.iter().map(|one| CSV.replace("STATEMENT", one).replace(",S,", &format!(",{session},"))).collect()
}

const SHOP: &str = "CREATE TABLE product (id INT PRIMARY KEY, stock INT NOT NULL, name TEXT);\n";

#[test]
fn one_byte_that_is_no_utf8_costs_one_statement_of_a_log() {
    let folder = Folder::new("analyze-log-bytes");
    folder.write("schema.sql", SHOP);
    let race =
        ["BEGIN", "SELECT stock FROM product WHERE id = 1", "UPDATE product SET stock = 7 WHERE id = 1", "COMMIT"];
    let mut log = logged("a.1", &race).into_bytes();
    let odd = logged("a.2", &["UPDATE product SET name = 'caf\u{1}' WHERE id = 2"]).into_bytes();
    log.extend(odd.into_iter().map(|byte| if byte == 1 { 0xe9 } else { byte }));
    std::fs::write(folder.path().join("shop.csv"), log).expect("a log");
    let arguments = ["analyze", "schema.sql", "shop.csv", "--level", "postgres:read-committed", "--format", "json"];
    let report = json(&folder.skew(&arguments).expect(1));
    let named = &report["unsupported"][0];
    assert_eq!((&named["file"], &named["line"]), (&Value::from("shop.csv"), &Value::from(5)), "{named}");
    assert!(named["construct"].as_str().unwrap_or_default().contains("not UTF-8"), "{named}");
}

#[test]
fn a_transaction_that_stands_in_two_logs_is_one_template() {
    let folder = Folder::new("analyze-two-logs");
    folder.write("schema.sql", SHOP);
    let race = |rest: &str| {
        let update = format!("UPDATE product SET stock = {rest} WHERE id = {rest}");
        logged("a.1", &["BEGIN", &format!("SELECT stock FROM product WHERE id = {rest}"), &update, "COMMIT"])
    };
    folder.write("monday.csv", race("1"));
    folder.write("tuesday.csv", race("2"));
    let ran = folder.skew(&["analyze", "schema.sql", "monday.csv", "tuesday.csv"]).expect(1);
    assert!(ran.out.contains("3 files") || ran.out.contains("1 transaction"), "{}", ran.out);
    assert!(ran.out.contains("monday.csv, tuesday.csv: covers the 1 template seen"), "{}", ran.out);
}

#[test]
fn an_empty_log_and_a_log_without_statements_are_named() {
    let folder = Folder::new("analyze-empty-log");
    folder.write("schema.sql", SHOP);
    folder.write("empty.csv", "");
    folder.write("quiet.csv", CSV.replace("statement: STATEMENT", "checkpoint starting: time"));
    for (file, expected) in [("empty.csv", "the file is empty"), ("quiet.csv", "the log has no transaction")] {
        let ran = folder.skew(&["analyze", "schema.sql", file]).expect(2);
        assert!(ran.err.contains(&format!("{file}: {expected}")), "{}", ran.err);
    }
}

#[test]
fn messages_name_what_they_are_about() {
    let folder = Folder::new("analyze-messages");
    folder.write("p.sql", TABLE);
    folder.write("own.level", "casual\n");
    let ran = folder.skew(&["analyze", "p.sql", "--specification", "own.level"]).expect(2);
    assert!(ran.err.contains("own.level"), "{}", ran.err);
    std::fs::create_dir(folder.path().join("nothing")).expect("a folder");
    let ran = folder.skew(&["analyze", "nothing"]).expect(2);
    assert!(ran.err.contains(".sql files") && !ran.err.contains("history"), "{}", ran.err);
    for (comment, expected) in [
        ("-- skew: ignore() why not", "line 2: this comment does not say what is ignored"),
        ("-- skew: ignore(lost-updates) one clerk", "line 2: there is no finding that is called lost-updates"),
    ] {
        folder.write("ignored.sql", TABLE.replacen("CREATE PROCEDURE", &format!("{comment}\nCREATE PROCEDURE"), 1));
        let ran = folder.skew(&["analyze", "ignored.sql"]).expect(2);
        assert!(ran.err.contains(expected), "{}", ran.err);
    }
}

#[test]
fn lowest_levels_are_told_where_postgresql_is_asked_about() {
    let folder = Folder::new("analyze-lowest");
    folder.write("p.sql", TABLE);
    for (levels, is_told) in [("mysql:repeatable-read", false), ("snapshot", false), ("postgres:read-committed", true)]
    {
        let ran = folder.skew(&["analyze", "p.sql", "--level", levels]);
        assert_eq!(ran.out.contains("lowest safe levels"), is_told, "{levels}: {}", ran.out);
    }
    folder.write("m.sql", format!("-- dialect: mysql\n{TABLE}"));
    let ran = folder.skew(&["analyze", "m.sql"]).expect(3);
    assert!(ran.out.contains("templates do not model MySQL") && ran.out.contains("snapshot "), "{}", ran.out);
    assert!(!ran.out.contains("postgres:"), "{}", ran.out);
}

/// Two transactions that each read what the other writes, once a change of a row of their own has touched it.
const COUNTED: &str = "CREATE TABLE own (id INT PRIMARY KEY, v INT NOT NULL);
CREATE TABLE u (id INT PRIMARY KEY, v INT NOT NULL);
CREATE TABLE w (id INT PRIMARY KEY, v INT NOT NULL);
CREATE PROCEDURE p(IN me INT) BEGIN
  DECLARE a INT;
  UPDATE own SET v = 1 WHERE id = me;
  IF ROW_COUNT() = 1 THEN
    SELECT v INTO a FROM u WHERE id = 1;
    UPDATE w SET v = a + 1 WHERE id = 1;
  END IF;
END;
CREATE FUNCTION q(me int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE a int;
BEGIN
  UPDATE own SET v = 2 WHERE id = me;
  IF FOUND THEN
    SELECT v INTO a FROM w WHERE id = 1;
    UPDATE u SET v = a + 1 WHERE id = 1;
  END IF;
END $$;
";

#[test]
fn what_stands_behind_a_test_of_the_row_count_is_reached() {
    let folder = Folder::new("analyze-counted");
    folder.write("p.sql", COUNTED);
    for level in ["snapshot", "postgres:repeatable-read"] {
        let report = json(&folder.skew(&["analyze", "p.sql", "--level", level, "--format", "json"]));
        assert_eq!(report["questions"][0]["verdict"], "anomaly", "{level}: {report}");
    }
}
