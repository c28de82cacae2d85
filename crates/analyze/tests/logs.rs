//! Logs: what is read, how statements become transactions and templates, and that no text is too odd.

#[path = "../../../fuzz/src/log.rs"]
#[allow(unreachable_pub, reason = "shared with the fuzz target")]
mod fuzz;

use skew_analyze::lint::lint;
use skew_analyze::log::{LogFormat, LogProgram, read_log};
use skew_program::Program;
use std::path::{Path, PathBuf};

const SCHEMA: &str = "CREATE TABLE product (id INT PRIMARY KEY, stock INT NOT NULL, sold INT NOT NULL);";

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/log")
}

fn kept(name: &str) -> String {
    std::fs::read_to_string(corpus().join(name)).expect("a log")
}

fn program(text: &str) -> LogProgram {
    let format = LogFormat::detect(text).expect("a log");
    let reading = read_log(text, format);
    assert_eq!(reading.bad, []);
    LogProgram::of(&reading, SCHEMA).expect("a program")
}

/// A line of a jsonlog.
fn line(session: &str, message: &str, detail: &str) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let detail = if detail.is_empty() { String::new() } else { format!(",\"detail\":\"{}\"", quoted(detail)) };
    format!(
        "{{\"timestamp\":\"2026-11-18 09:00:00.000 UTC\",\"session_id\":\"{session}\",\"error_severity\":\"LOG\",\"message\":\"{}\"{detail}}}\n",
        quoted(message)
    )
}

/// A jsonlog of statements, each with the session that says it; `!` is an error.
fn said(statements: &[(&str, &str)]) -> String {
    let one = |(session, statement): &(&str, &str)| match statement.strip_prefix('!') {
        Some(statement) => format!(
            "{{\"timestamp\":\"2026-11-18 09:00:00.000 UTC\",\"session_id\":\"{session}\",\"error_severity\":\"ERROR\",\"message\":\"no\",\"statement\":\"{statement}\"}}\n"
        ),
        None => line(session, &format!("statement: {statement}"), ""),
    };
    statements.iter().map(one).collect()
}

/// The procedures of a log, without the schema, blanks joined.
fn procedures(text: &str) -> Vec<String> {
    let program = program(text);
    let (_, procedures) = program.text.split_once(";\n").expect("a schema");
    let one = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join(" ");
    procedures
        .split("\n\n")
        .map(one)
        .filter(|text| !text.is_empty())
        .map(|text| text.trim_start_matches("CREATE PROCEDURE ").trim_end_matches(" END;").to_owned())
        .collect()
}

#[test]
fn logs_are_told_by_how_they_begin() {
    assert_eq!(LogFormat::detect(&kept("shop.csv")), Some(LogFormat::PostgresCsv));
    assert_eq!(LogFormat::detect(&kept("shop.json")), Some(LogFormat::PostgresJson));
    assert_eq!(LogFormat::detect(&kept("shop.log")), Some(LogFormat::MysqlGeneral));
    for other in ["", "\n", SCHEMA, "{\"skew\":1}\n", "a,b\n", "{\"session\":\"a\",\"ops\":[]}"] {
        assert_eq!(LogFormat::detect(other), None, "{other}");
    }
}

#[test]
fn recorded_logs_have_the_same_templates() {
    let both = [
        "select_product(IN p1 bigint, IN p2 bigint) BEGIN SELECT stock FROM product WHERE id = p1; UPDATE product SET stock = p2 WHERE id = p1;",
        "update_product(IN p1 bigint, IN p2 bigint) BEGIN UPDATE product SET sold = sold + p1 WHERE id = p2;",
    ];
    let failed =
        "insert_product(IN p1 bigint, IN p2 bigint, IN p3 bigint) BEGIN INSERT INTO product VALUES (p1, p2, p3);";
    assert_eq!(procedures(&kept("shop.csv")), both);
    assert_eq!(procedures(&kept("shop.json")), both);
    // A general query log does not tell what failed.
    assert_eq!(procedures(&kept("shop.log")), [both[0], both[1], failed]);
}

#[test]
fn templates_have_counts_and_lines() {
    let text = kept("shop.csv");
    let program = program(&text);
    let [adjust, sell] = program.templates.as_slice() else { panic!("{:?}", program.templates) };
    assert_eq!((adjust.count, adjust.shape.as_str()), (2, "select stock from product where id = ?"));
    assert_eq!((sell.count, program.rolled_back), (2, 2));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[adjust.lines[0] as usize - 1].contains("SELECT stock FROM product"));
    assert!(lines[adjust.lines[1] as usize - 1].contains("UPDATE product SET stock"));
    assert_eq!(program.covers(), "covers the 2 templates seen, equal values joined over ≥ 2 instances");
    let parsed = Program::parse(&program.text).expect("a program");
    let steps: Vec<Option<u32>> =
        parsed.procedures()[0].flow().iter().map(|step| program.log_line(step.place)).take(2).collect();
    assert_eq!(steps, [Some(adjust.lines[0]), Some(adjust.lines[1])]);
    let [found] = lint(&parsed, &program.text).try_into().unwrap_or_else(|all| panic!("{all:?}"));
    let lines: Vec<u32> = found.finding.locations.iter().filter_map(|place| program.log_line(*place)).collect();
    assert_eq!((found.rule.name(), lines), ("read-modify-write", adjust.lines.clone()));
}

#[test]
fn values_are_one_parameter_if_they_are_equal_in_all_instances_and_not_always_the_same() {
    let both = |first: &str, second: &str| {
        let update = |id: &str, n: &str| format!("UPDATE product SET stock = {n}, sold = 0 WHERE id = {id}");
        let (one, two) = (first.split_once(' ').unwrap(), second.split_once(' ').unwrap());
        said(&[("a", &update(one.0, one.1)), ("b", &update(two.0, two.1))])
    };
    let joined =
        "update_product(IN p1 bigint, IN p2 bigint) BEGIN UPDATE product SET stock = p1, sold = p2 WHERE id = p1;";
    let apart = "update_product(IN p1 bigint, IN p2 bigint, IN p3 bigint) BEGIN UPDATE product SET stock = p1, sold = p2 WHERE id = p3;";
    assert_eq!(procedures(&both("1 1", "2 2")), [joined]);
    assert_eq!(procedures(&both("1 1", "1 1")), [apart], "one value may be chance");
    assert_eq!(procedures(&both("1 1", "2 3")), [apart], "not equal in all instances");
    assert_eq!(procedures(&both("0 -5", "1 -6")), [apart], "a sign belongs to its number");
}

#[test]
fn a_parameter_that_is_used_twice_is_one() {
    let text = line("a", "execute <unnamed>: UPDATE product SET stock = $1 WHERE id = $1", "parameters: $1 = '7'");
    assert_eq!(procedures(&text), ["update_product(IN p1 bigint) BEGIN UPDATE product SET stock = p1 WHERE id = p1;"]);
}

#[test]
fn sessions_are_apart_and_transactions_end_as_they_do() {
    let text = said(&[
        ("a", "BEGIN"),
        ("b", "BEGIN; SELECT stock FROM product WHERE id = 1"),
        ("a", "UPDATE product SET stock = 1 WHERE id = 1"),
        ("b", "DELETE FROM product WHERE id = 3; COMMIT"),
        ("a", "!UPDATE product SET stock = 1 WHERE id = 1"),
        ("a", "COMMIT"),
        ("a", "UPDATE product SET sold = 1 WHERE id = 1"),
        ("a", "!SELECT nonsense"),
        ("b", "DELETE FROM product WHERE id = 4"),
        ("b", "!DELETE FROM product WHERE id = 4"),
        ("c", "BEGIN"),
        ("c", "DELETE FROM product"),
    ]);
    let found = program(&text);
    // The failed transaction, the two statements that failed, and the one without an end.
    assert_eq!(found.rolled_back, 4);
    assert_eq!(
        procedures(&text),
        [
            "select_product(IN p1 bigint, IN p2 bigint) BEGIN SELECT stock FROM product WHERE id = p1; DELETE FROM product WHERE id = p2;",
            "update_product(IN p1 bigint, IN p2 bigint) BEGIN UPDATE product SET sold = p1 WHERE id = p2;",
        ]
    );
}

#[test]
fn what_is_left_out_is_named_with_its_line() {
    let text = said(&[
        ("a", "SET search_path = public"),
        ("a", "CREATE TABLE other (id INT)"),
        ("a", "SELECT pg_backend_pid()"),
        ("a", "SELECT * FROM pg_catalog.pg_type"),
        ("a", "SELECT nonsense FROM product"),
        ("a", "SELECT stock FROM warehouse"),
        ("a", "CALL anything(1)"),
        ("a", "SELECT anything(1)"),
        ("a", "BEGIN"),
        ("a", "SAVEPOINT s"),
        ("a", "DELETE FROM product WHERE id = 1"),
        ("a", "ROLLBACK TO SAVEPOINT s"),
        ("a", "DELETE FROM product WHERE id = 2"),
        ("a", "COMMIT"),
    ]);
    let program = program(&text);
    let told: Vec<(u32, bool)> = program.left_out.iter().map(|one| (one.line, one.matters)).collect();
    assert_eq!(told, [(2, false), (5, true), (6, true), (7, true), (8, true), (12, true)], "{:?}", program.left_out);
    assert_eq!(program.templates.len(), 1);
}

#[test]
fn a_value_where_no_parameter_may_stand_stays() {
    let text = said(&[
        ("a", "SELECT stock FROM product WHERE id = 1 ORDER BY 1 LIMIT 10"),
        ("a", "SELECT stock FROM product WHERE id = 2 ORDER BY 1 LIMIT 10"),
    ]);
    let [one] = procedures(&text).try_into().unwrap_or_else(|all| panic!("{all:?}"));
    assert!(one.contains("WHERE id = p"), "{one}");
    assert_eq!(program(&text).left_out, []);
}

#[test]
fn bad_lines_are_named_and_the_others_count() {
    let good = kept("shop.csv");
    let text = format!("{good}nonsense\n{good}2026,\"open");
    let reading = read_log(&text, LogFormat::PostgresCsv);
    let lines = good.lines().count() as u32;
    let told: Vec<u32> = reading.bad.iter().map(|bad| bad.line).collect();
    assert_eq!(told, [lines + 1, 2 * lines + 2]);
    assert_eq!(LogProgram::of(&reading, SCHEMA).expect("a program").templates[0].count, 4);
    let wrong = format!("{}{{\"x\":1}}\n{{", line("a", "execute s: SELECT $1", "parameters: $1 = 'open"));
    let told: Vec<u32> = read_log(&wrong, LogFormat::PostgresJson).bad.iter().map(|bad| bad.line).collect();
    assert_eq!(told, [1, 2, 3]);
}

#[test]
fn a_log_without_reads_says_so() {
    let covers = program(&said(&[("a", "UPDATE product SET stock = 3 WHERE id = 4")])).covers();
    assert_eq!(
        covers,
        "covers the 1 template seen, equal values joined over ≥ 2 instances; the log has no SELECT, so that reads may be missing"
    );
}

#[test]
fn names_of_parameters_are_no_names_of_columns() {
    let schema = "CREATE TABLE product (id INT PRIMARY KEY, p1 INT NOT NULL);";
    let text = said(&[("a", "UPDATE product SET p1 = 3 WHERE id = 4")]);
    let reading = read_log(&text, LogFormat::PostgresJson);
    let program = LogProgram::of(&reading, schema).expect("a program");
    assert!(program.text.contains("SET p1 = value_1 WHERE id = value_2"), "{}", program.text);
}

#[test]
fn kept_inputs_and_their_mutations_are_read_to_their_end() {
    let names = ["shop.csv", "shop.json", "shop.log"];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut roll = move |sides: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % sides.max(1)
    };
    for name in names {
        let text = kept(name);
        fuzz::fuzz_log(&text);
        let lines: Vec<&str> = text.lines().collect();
        for _ in 0..150 {
            let mut letters: Vec<char> =
                (0..1 + roll(8)).flat_map(|_| lines[roll(lines.len())].chars().chain(['\n'])).collect();
            for _ in 0..roll(4) {
                let at = roll(letters.len());
                match roll(4) {
                    0 => letters.truncate(at),
                    1 => letters[at] = ['"', '\'', ',', '\n', '\t', '$', ';', '(', 'é', '\0'][roll(10)],
                    2 => drop(letters.drain(at..letters.len().min(at + roll(9)))),
                    _ => letters.insert(at, ['"', '\'', '0', ';', '-', '\\'][roll(6)]),
                }
                letters.extend(letters.is_empty().then_some('x'));
            }
            fuzz::fuzz_log(&letters.into_iter().collect::<String>());
        }
    }
}
