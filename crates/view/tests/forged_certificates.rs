//! No certificate, however forged, makes the checkers of certificates fall over, and none proves what is not so.
//!
//! Certificates of small histories are written, some of their numbers are replaced by others that exist in the history, the result is
//! read back and checked. It may be refused or not; what it may not do is panic, or show that a level holds that fails. Then the same with
//! the structure: parts are dropped, doubled, exchanged, renamed, cut off.

use serde_json::Value;
use skew_check::{Budget, IsolationLevel, Options, Verdict, check_levels, levels_to_ask};
use skew_history::format::Format;
use skew_history::{History, notation};
use skew_view::certificate::{self, Subject};
use skew_view::finding::FoundIn;
use skew_view::{Finding, Palette, dot, human, svg};

const HISTORIES: [&str; 11] = [
    "a: r(x,init) w(x,1); b: r(x,init) w(x,2)",
    "a: w(x,1); b: w(y,1); c: r(x,1) r(y,init); d: r(y,1) r(x,init)",
    "a: r(x,init) w(y,1); b: r(y,init) w(x,1)",
    "a: w(x,1) | w(x,2) w(y,3); b: r(y,3) r(x,1)",
    "a: w(x,1) !; b: r(x,1)",
    "a: w(x,1); b: w(x,1) w(y,2); c: r(x,1) r(y,init) | r(y,2); d: w(y,2) r(x,1) ?",
    "a: append(l,1); b: append(l,2) r(l,[1 2]); c: r(l,[2]); d: append(l,3)",
    "a: w(x,1) @1..2; b: r(x,init) @3..4",
    "a: append(l,1) !; b: append(l,1); c: r(l,[1])",
    "a: r(x,99) append(l,1) ?; b: append(l,1); c: r(l,[1]) r(y,7)",
    "a: r(l,[1]) | append(l,1); b: append(l,1) w(x,1); c: r(l,[1 1]) r(x,init)",
];

/// A small generator of numbers: the same ones in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

fn certificates(history: &History) -> Vec<(IsolationLevel, bool, String)> {
    let reports = check_levels(history, &levels_to_ask(history), Options::default(), Budget::UNLIMITED);
    let line = |report: &skew_check::LevelReport| {
        let subject =
            Subject { file: String::new(), history_sha256: String::new(), format: Format::Native, level: report.level };
        let mut out = Vec::new();
        certificate::write(&subject, &report.verdict, history, &mut out).unwrap();
        (report.level, report.verdict.holds(), String::from_utf8(out).unwrap())
    };
    reports.iter().map(line).collect()
}

/// Replaces some of the numbers behind `"verdict"`.
fn forge(text: &str, dice: &mut Dice) -> String {
    let start = text.find("\"verdict\"").unwrap();
    let mut out = text[..start].to_owned();
    for letter in text[start..].chars() {
        match letter.is_ascii_digit() && dice.below(6) == 0 {
            true => out.push_str(&dice.below(10).to_string()),
            false => out.push(letter),
        }
    }
    out
}

#[test]
fn certificates_are_valid_as_they_were_written() {
    for text in HISTORIES {
        let history = notation::parse(text).unwrap();
        for (level, _, line) in certificates(&history) {
            let certificate = certificate::read(line.as_bytes()).unwrap().within(&history).unwrap();
            assert_eq!(certificate.is_valid(&history), Some(true), "{text} at {level}: {line}");
        }
    }
}

#[test]
fn no_forged_certificate_panics_or_proves_what_is_not_so() {
    let mut dice = Dice(20_261_115);
    for text in HISTORIES {
        let history = notation::parse(text).unwrap();
        for (level, holds, line) in certificates(&history) {
            for _ in 0..300 {
                let forged = forge(&line, &mut dice);
                let Ok(unchecked) = certificate::read(forged.as_bytes()) else { continue };
                let Ok(certificate) = unchecked.within(&history) else { continue };
                if certificate.is_valid(&history) == Some(true) {
                    let claims = matches!(certificate.verdict, Verdict::Holds(_));
                    assert_eq!(claims, holds, "{text} at {level}: {forged}");
                }
            }
        }
    }
}

#[test]
fn a_certificate_of_one_history_does_not_make_the_checker_of_another_panic() {
    for text in HISTORIES {
        let history = notation::parse(text).unwrap();
        for other in HISTORIES {
            let other = notation::parse(other).unwrap();
            for (level, _, line) in certificates(&other) {
                let Ok(certificate) = certificate::read(line.as_bytes()).unwrap().within(&history) else { continue };
                // A proof for one history may well be one for another; it only has to be the truth.
                if level.is_strong() || certificate.is_valid(&history) != Some(true) {
                    continue;
                }
                let truth = check_levels(&history, &[level], Options::default(), Budget::UNLIMITED);
                assert_eq!(truth[0].verdict.word(), certificate.verdict.word(), "{text} at {level}: {line}");
            }
        }
    }
}

/// Words that mean something in a certificate.
const WORDS: [&str; 22] = [
    "holds",
    "fails",
    "unknown",
    "read-committed",
    "read-atomic",
    "causal",
    "prefix",
    "psi",
    "snapshot",
    "serializable",
    "strong-snapshot",
    "strict-serializable",
    "declared",
    "so",
    "wr",
    "ww",
    "rw",
    "rt",
    "initial",
    "native",
    "dbcop",
    "",
];

/// All places of a JSON value, as pointers.
fn places(value: &Value) -> Vec<String> {
    let mut places = vec![String::new()];
    let mut at = 0;
    while at < places.len() {
        let here = places[at].clone();
        match value.pointer(&here) {
            Some(Value::Array(elements)) => places.extend((0..elements.len()).map(|place| format!("{here}/{place}"))),
            Some(Value::Object(members)) => places.extend(members.keys().map(|name| format!("{here}/{name}"))),
            _ => {}
        }
        at += 1;
    }
    places
}

/// Changes one thing somewhere.
fn mutate(value: &mut Value, dice: &mut Dice) {
    let places = places(value);
    let copied = value.pointer(&places[dice.below(places.len())]).cloned().unwrap_or_default();
    let Some(target) = value.pointer_mut(&places[dice.below(places.len())]) else { return };
    match (dice.below(8), target) {
        (0..=3, Value::Array(elements)) if !elements.is_empty() => {
            let (one, other) = (dice.below(elements.len()), dice.below(elements.len()));
            match dice.below(4) {
                0 => drop(elements.remove(one)),
                1 => elements.swap(one, other),
                2 => elements.insert(one, elements[other].clone()),
                _ => elements.truncate(one),
            }
        }
        (0, Value::Object(members)) => {
            let names: Vec<String> = members.keys().cloned().collect();
            names.get(dice.below(names.len().max(1))).map(|name| members.remove(name));
        }
        (0..=4, Value::String(word)) => *word = WORDS[dice.below(WORDS.len())].to_owned(),
        (0..=3, Value::Number(number)) => {
            let numbers = [0, 1, 2, 3, 7, -1, i64::MAX, i64::from(u32::MAX), 1 << 32];
            *number = numbers[dice.below(numbers.len())].into();
        }
        (7, target) => *target = [Value::Null, Value::Bool(true), copied][dice.below(3)].clone(),
        (_, target) => *target = copied,
    }
}

#[test]
fn no_certificate_of_another_shape_panics_or_proves_what_is_not_so() {
    let mut dice = Dice(7);
    let mut valid = 0;
    for text in HISTORIES {
        let history = notation::parse(text).unwrap();
        let truth: Vec<(IsolationLevel, bool, String)> = certificates(&history);
        for (_, _, line) in &truth {
            let original: Value = serde_json::from_str(line).unwrap();
            for _ in 0..400 {
                let mut forged = original.clone();
                for _ in 0..=dice.below(3) {
                    mutate(&mut forged, &mut dice);
                }
                let mut forged = forged.to_string();
                if dice.below(10) == 0 {
                    forged.truncate(dice.below(forged.len()));
                }
                let Ok(unchecked) = certificate::read(forged.as_bytes()) else { continue };
                let level = unchecked.subject.level;
                let Ok(certificate) = unchecked.within(&history) else { continue };
                if certificate.is_valid(&history) != Some(true) {
                    continue;
                }
                valid += 1;
                let claims = matches!(certificate.verdict, Verdict::Holds(_));
                let holds = truth.iter().find(|known| known.0 == level).map(|known| known.1);
                // A level that cannot be asked of the history at all is no level to prove anything about.
                assert_eq!(Some(claims), holds, "{text} at {level}: {forged}");
            }
        }
    }
    assert!(valid > 100, "some changes change nothing: {valid}");
}

fn findings(history: &History) -> Vec<String> {
    let reports = check_levels(history, &levels_to_ask(history), Options::default(), Budget::UNLIMITED);
    let kept = |report: &skew_check::LevelReport| {
        let Verdict::Fails(anomaly) = &report.verdict else { return None };
        let found = skew_check::explain(history, report.level, anomaly, Budget::UNLIMITED);
        let found_in = FoundIn { file: "a".to_owned(), format: "native".to_owned(), sha256: String::new() };
        Finding::new(&found, found_in, String::new()).to_json().ok()
    };
    reports.iter().filter_map(kept).collect()
}

#[test]
fn no_counterexample_file_however_changed_makes_the_drawing_panic() {
    let mut dice = Dice(99);
    let mut drawn = 0;
    for text in HISTORIES {
        for file in findings(&notation::parse(text).unwrap()) {
            let original: Value = serde_json::from_str(&file).unwrap();
            for _ in 0..200 {
                let mut changed = original.clone();
                for _ in 0..=dice.below(4) {
                    mutate(&mut changed, &mut dice);
                }
                let Ok(finding) = Finding::from_json("a", changed.to_string().as_bytes()) else { continue };
                drawn += 1;
                let _ = human::counterexample(finding.picture(), Palette::PLAIN);
                let _ = dot::counterexample(finding.picture());
                let _ = svg::counterexamples(&[finding.picture()]);
                assert!(finding.to_json().is_ok(), "{changed}");
            }
        }
    }
    assert!(drawn > 500, "some changes leave a counterexample: {drawn}");
}
