//! The rules of the lint beside the other engines, and logs among the files that are analysed.

use serde_json::Value;
use skew_analyze::UnfoldOptions;
use skew_campaign::Complaint;
use skew_campaign::analyzed::{AnalyzeSettings, Analyzed, AnalyzedText, Baseline};
use skew_history::IsolationLevel;
use std::path::Path;

fn read(path: &str) -> (String, String) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let name = Path::new(path).file_name().expect("a name").to_string_lossy().into_owned();
    (name, std::fs::read_to_string(file).expect("a file of the repository"))
}

fn analyzed(files: &[(String, String)], levels: &[&str]) -> Result<Analyzed, Complaint> {
    let level = |name: &&str| name.parse::<IsolationLevel>().expect("a level");
    let levels = levels.iter().map(level).collect();
    let settings = AnalyzeSettings::new(levels, UnfoldOptions::default(), false, false);
    Analyzed::new(AnalyzedText::new(files)?, settings, &Baseline::default())
}

/// Engine, verdict and the beginnings of the sentences of each answer.
fn told(files: &[(String, String)], levels: &[&str]) -> Vec<(String, String, Vec<String>)> {
    let report: Value = serde_json::from_str(&json(files, levels)).expect("JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rule = |finding: &Value| text(&finding["sentence"]).split(':').next().unwrap_or_default().to_owned();
    let findings = |one: &Value| one["findings"].as_array().into_iter().flatten().map(rule).collect();
    let questions = report["questions"].as_array().expect("questions").iter();
    questions.map(|one| (text(&one["engine"]), text(&one["verdict"]), findings(one))).collect()
}

fn json(files: &[(String, String)], levels: &[&str]) -> String {
    analyzed(files, levels).unwrap_or_else(|complaint| panic!("{}", complaint.message)).json()
}

fn lint(rule: &str) -> (String, String, Vec<String>) {
    ("lint".to_owned(), "anomaly".to_owned(), vec![rule.to_owned()])
}

#[test]
fn what_another_engine_shows_no_rule_repeats() {
    let found = told(&[read("examples/bugs/01-stock-adjustment/buggy.sql")], &["postgres:read-committed"]);
    let engines: Vec<&str> = found.iter().map(|(engine, ..)| engine.as_str()).collect();
    assert_eq!(engines, ["template"]);
}

#[test]
fn what_is_robust_stays_so_and_only_what_no_level_helps_against_is_told_beside_it() {
    let levels = ["postgres:read-committed", "postgres:serializable"];
    let found = told(&[read("examples/bugs/03-voucher-limit/wrong-fix.sql")], &levels);
    let robust = ("template".to_owned(), "robust".to_owned(), Vec::new());
    assert_eq!(found[0], lint("ignored-row-count"));
    assert_eq!(found.iter().filter(|one| **one == robust).count(), 2, "{found:?}");
}

#[test]
fn the_wrong_scope_is_told_where_a_session_hands_a_value_on() {
    let found = told(&[read("examples/bugs/02-overselling/wrong-fix.sql")], &["postgres:serializable"]);
    assert_eq!(found[0], lint("wrong-scope"));
    let found = told(&[read("examples/bugs/02-overselling/fixed.sql")], &["postgres:serializable"]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn rules_know_what_templates_do_not() {
    let found = told(&[read("examples/bugs/10-get-or-create/buggy.sql")], &["mysql:repeatable-read"]);
    assert_eq!(found[0], lint("old-snapshot"));
    assert_eq!(found[1].1, "unknown");
}

#[test]
fn a_log_is_analysed_with_its_lines() {
    let schema = "CREATE TABLE product (id INT PRIMARY KEY, stock INT NOT NULL, sold INT NOT NULL);";
    for log in ["shop.csv", "shop.json"] {
        let files = [("schema.sql".to_owned(), schema.to_owned()), read(&format!("fuzz/corpus/log/{log}"))];
        let report: Value =
            serde_json::from_str(&json(&files, &["postgres:read-committed", "postgres:serializable"])).expect("JSON");
        let [race, safe] = report["questions"].as_array().expect("questions").as_slice() else { panic!("{report}") };
        assert_eq!((race["verdict"].as_str(), safe["verdict"].as_str()), (Some("anomaly"), Some("robust")));
        let covers = format!("{log}: covers the 2 templates seen, equal values joined over ≥ 2 instances");
        for question in [race, safe] {
            assert!(
                question["covers"].as_array().expect("covers").contains(&Value::String(covers.clone())),
                "{report}"
            );
        }
        let finding = &race["findings"][0];
        assert_eq!(
            (finding["anomaly"].as_str(), finding["status"].as_str()),
            (Some("lost-update"), Some("confirmed")),
            "{report}"
        );
        let lines: Vec<&str> = files[1].1.lines().collect();
        let on = |place: &Value| {
            assert_eq!(place["file"].as_str(), Some(log));
            lines[place["line"].as_u64().expect("a line") as usize - 1]
        };
        assert!(on(&finding["locations"][0]).contains("SELECT stock FROM product"), "{report}");
        assert!(on(&finding["locations"][1]).contains("UPDATE product SET stock"), "{report}");
    }
}

#[test]
fn what_a_log_has_besides_is_not_understood_and_nothing_is_called_robust() {
    let schema = "CREATE TABLE product (id INT PRIMARY KEY, stock INT NOT NULL, sold INT NOT NULL);";
    let (name, log) = read("fuzz/corpus/log/shop.csv");
    let odd = log.replace("UPDATE product SET stock = $1", "UPDATE warehouse SET stock = $1");
    let files = [("schema.sql".to_owned(), schema.to_owned()), (name, odd)];
    let found = told(&files, &["postgres:read-committed"]);
    assert_eq!(found.last().map(|one| one.1.as_str()), Some("unknown"), "{found:?}");
    let report = json(&files, &["postgres:read-committed"]);
    assert!(report.contains("warehouse"), "{report}");
}

#[test]
fn a_log_without_tables_is_complained_about() {
    let complaint =
        analyzed(&[read("fuzz/corpus/log/shop.log")], &["mysql:read-committed"]).err().expect("a complaint");
    assert!(complaint.advice.contains("makes the tables"), "{}", complaint.message);
    let schema = "CREATE TABLE product (id INT PRIMARY KEY, stock INT NOT NULL, sold INT NOT NULL);";
    let files = [("schema.sql".to_owned(), schema.to_owned()), read("fuzz/corpus/log/shop.log")];
    let found = told(&files, &["mysql:read-committed"]);
    assert_eq!(found[0], lint("read-modify-write"));
}

#[test]
fn a_program_for_mysql_is_not_told_what_goes_wrong_on_postgresql() {
    let (name, text) = read("examples/bugs/01-stock-adjustment/buggy.sql");
    let files = [(name, format!("-- dialect: mysql\n{text}"))];
    let engines = |level: &str| told(&files, &[level]).into_iter().map(|one| one.0).collect::<Vec<String>>();
    assert!(!engines("postgres:read-committed").contains(&"lint".to_owned()));
    assert!(engines("mysql:repeatable-read").contains(&"lint".to_owned()));
}
