//! No certificate, however forged, makes the checkers of certificates fall over, and none proves what is not so.
//!
//! Certificates of small histories are written, some of their numbers are replaced by others that exist in the history, the result is
//! read back and checked. It may be refused or not; what it may not do is panic, or show that a level holds that fails.

use skew_check::{Budget, IsolationLevel, Options, Verdict, check_levels};
use skew_history::format::Format;
use skew_history::{History, notation};
use skew_view::certificate::{self, Subject};

const HISTORIES: [&str; 8] = [
    "a: r(x,init) w(x,1); b: r(x,init) w(x,2)",
    "a: w(x,1); b: w(y,1); c: r(x,1) r(y,init); d: r(y,1) r(x,init)",
    "a: r(x,init) w(y,1); b: r(y,init) w(x,1)",
    "a: w(x,1) | w(x,2) w(y,3); b: r(y,3) r(x,1)",
    "a: w(x,1) !; b: r(x,1)",
    "a: w(x,1); b: w(x,1) w(y,2); c: r(x,1) r(y,init) | r(y,2); d: w(y,2) r(x,1) ?",
    "a: append(l,1); b: append(l,2) r(l,[1 2]); c: r(l,[2]); d: append(l,3)",
    "a: w(x,1) @1..2; b: r(x,init) @3..4",
];

/// A small generator of numbers: the same ones in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

fn levels(history: &History) -> Vec<IsolationLevel> {
    let strong = IsolationLevel::STRONG.into_iter().filter(|_| history.has_times());
    IsolationLevel::SEVEN.into_iter().chain(strong).collect()
}

fn certificates(history: &History) -> Vec<(IsolationLevel, bool, String)> {
    let reports = check_levels(history, &levels(history), Options::default(), Budget::UNLIMITED);
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
