//! `skew analyze` on the demo applications: what explorers of weak isolation find in them is found and confirmed, with a fix that is verified, and of their
//! other transactions nothing is said that no run shows, unless it is called potential or harmless.

use crate::{Folder, Ran};
use serde_json::Value;
use std::path::Path;

/// What is found in an application at the level, by the engines and not by rules: the anomaly, how certain it is, and who takes part.
const APPLICATIONS: [(&str, &str, &str); 8] = [
    (
        "shopping-cart",
        "postgres:read-committed",
        "stale-update confirmed add_item add_item; lost-update harmless change_quantity change_quantity",
    ),
    ("shopping-cart", "postgres:repeatable-read", "lost-update potential add_item add_item"),
    (
        "courseware",
        "postgres:read-committed",
        "write-skew confirmed enroll enroll; write-skew potential delete_course delete_course",
    ),
    (
        "courseware",
        "postgres:repeatable-read",
        "write-skew confirmed enroll enroll; write-skew potential delete_course delete_course",
    ),
    ("twitter", "postgres:read-committed", "lost-update confirmed publish publish"),
    ("twitter", "postgres:repeatable-read", "robust"),
    (
        "tpcc",
        "postgres:read-committed",
        "lost-update confirmed new_order new_order; non-repeatable-read confirmed delivery delivery",
    ),
    ("tpcc", "postgres:repeatable-read", "robust"),
];

fn analyzed(folder: &Folder, name: &str, words: &[&str]) -> (Ran, Value) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/applications/{name}.sql"));
    let file = file.to_string_lossy();
    let words = [&["analyze", &file, "--format", "json"], words].concat();
    let ran = folder.skew(&words);
    let answer = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{name}: {error}: {}", ran.err));
    (ran, answer)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn in_short(question: &Value) -> String {
    let one = |finding: &Value| {
        let who: Vec<&str> = finding["transactions"].as_array().unwrap().iter().map(text).collect();
        format!("{} {} {}", text(&finding["anomaly"]), text(&finding["status"]), who.join(" "))
    };
    match text(&question["verdict"]) {
        "anomaly" => question["findings"].as_array().unwrap().iter().map(one).collect::<Vec<String>>().join("; "),
        verdict => verdict.to_owned(),
    }
}

#[test]
fn what_goes_wrong_in_the_applications_is_confirmed_with_a_verified_fix_and_nothing_else_is() {
    let folder = Folder::new("analyze-applications");
    for (name, level, expected) in APPLICATIONS {
        let (ran, answer) = analyzed(&folder, name, &["--level", level]);
        let question = answer["questions"].as_array().unwrap().iter().find(|one| one["engine"] != "lint").unwrap();
        assert_eq!(in_short(question), expected, "{name} at {level}");
        ran.expect(i32::from(expected.contains(" confirmed ")));
        for finding in question["findings"].as_array().unwrap().iter().filter(|one| one["status"] == "confirmed") {
            let fixes = finding["fixes"].as_array().unwrap();
            assert!(fixes.iter().any(|fix| fix["verified"] == true), "{name}: {finding}");
        }
    }
}

#[test]
fn an_application_of_mysql_is_sent_to_explore() {
    let (ran, answer) = analyzed(&Folder::new("analyze-wikipedia"), "wikipedia", &[]);
    ran.expect(3);
    let questions = answer["questions"].as_array().unwrap();
    let mysql: Vec<&Value> = questions.iter().filter(|one| text(&one["level"]).starts_with("mysql:")).collect();
    assert!(mysql.iter().any(|one| text(&one["reason"]).contains("skew explore FILE --level mysql:")), "{mysql:?}");
}

#[test]
fn all_applications_are_asked_about() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/applications");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let programs: Vec<String> = names.filter_map(|name| name.strip_suffix(".sql").map(str::to_owned)).collect();
    assert!(programs.len() >= 5);
    for name in programs {
        assert!(name == "wikipedia" || APPLICATIONS.iter().any(|(known, ..)| *known == name), "{name}");
    }
}
