//! A history that is written in another format and read back has the verdicts that it had, or is not written.
//!
//! What a format has no place for may be left out only when a sentence says so: where such a sentence says that reads are left out or
//! changed, verdicts may differ, and nothing is compared.

#![allow(clippy::print_stderr)]

mod support;

use skew_check::{Budget, IsolationLevel, Options, cannot_ask, check_levels, levels_to_ask};
use skew_history::format::{Format, Source, read, write};
use skew_history::{History, notation};
use std::collections::BTreeMap;
use support::{Random, Shape, describe, random_history};

const WRITTEN: [Format; 7] = [
    Format::Native,
    Format::Notation,
    Format::Plume,
    Format::DbcopBincode,
    Format::IsoPredict,
    Format::ElleEdn,
    Format::ElleJson,
];

/// Sentences that say that reads are not what they were.
const ABOUT_READS: [&str; 3] = ["Locking reads", "Who aborted a transaction", "Reads of the initial state"];

fn verdicts(history: &History, levels: &[IsolationLevel]) -> Vec<&'static str> {
    let reports = check_levels(history, levels, Options::default(), Budget::UNLIMITED);
    reports.iter().map(|report| report.verdict.word()).collect()
}

/// The levels that can be asked before and after: other formats have no declared levels, and other times. The levels of the engines are asked
/// elsewhere: an empty list is written as no row at all, which is something else for a lock.
fn levels(history: &History, format: Format) -> Vec<IsolationLevel> {
    let same = matches!(format, Format::Native | Format::Notation);
    let levels = IsolationLevel::all().filter(|level| same && level.of_engine().is_none() || level.is_of_papers());
    levels.filter(|&level| cannot_ask(history, level).is_none()).collect()
}

fn converted(history: &History, format: Format) -> Option<(History, Vec<String>)> {
    let mut bytes = Vec::new();
    let losses = match write(history, format, &mut bytes) {
        Ok(losses) => losses,
        Err(error) => {
            assert!(!error.advice().is_empty() && error.to_string().contains(format.name()), "{error}");
            return None;
        }
    };
    let again = read(&[Source { name: "written", bytes: &bytes }], format);
    let told = || format!("{format} of\n{}\nis\n{}", describe(history), String::from_utf8_lossy(&bytes));
    let again = again.unwrap_or_else(|error| panic!("{error}: {}", told()));
    Some((again, losses))
}

#[test]
fn a_converted_history_has_the_same_verdicts_or_is_refused() {
    let variable = |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (seed, count): (u64, u64) = (variable("SKEW_SEED", 11), variable("SKEW_HISTORIES", 4_000));
    eprintln!("conversions: {count} histories from seed {seed}");
    let mut compared: BTreeMap<Format, u64> = BTreeMap::new();
    for number in 0..count {
        let random = &mut Random::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let shape = if number % 4 == 0 { Shape::PLAIN } else { Shape::any(random) };
        let history = random_history(random, &shape);
        for format in WRITTEN {
            let Some((again, losses)) = converted(&history, format) else { continue };
            if losses.iter().any(|loss| ABOUT_READS.iter().any(|about| loss.starts_with(about))) {
                continue;
            }
            let levels = levels(&history, format);
            let told = || format!("{format} of\n{}\nis\n{}\n{losses:?}", describe(&history), describe(&again));
            assert_eq!(verdicts(&history, &levels), verdicts(&again, &levels), "{}", told());
            *compared.entry(format).or_default() += 1;
        }
    }
    for format in WRITTEN {
        let compared = compared.get(&format).copied().unwrap_or(0);
        assert!(compared > count / 20, "{format} was compared only {compared} times: this says little about it");
    }
}

#[test]
fn initial_values_are_carried_by_the_notation() {
    let text = "{\"skew\":1,\"initial\":{\"x\":100}}\n{\"session\":\"a\",\"ops\":[{\"r\":\"x\",\"v\":100}]}\n";
    let history = read(&[Source { name: "a", bytes: text.as_bytes() }], Format::Native).unwrap();
    let mut out = Vec::new();
    write(&history, Format::Notation, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "init(x,100)\na: r(x,100)\n");
    assert!(verdicts(&converted(&history, Format::Notation).unwrap().0, &levels_to_ask(&history)).contains(&"holds"));
}

#[test]
fn a_file_in_which_nothing_would_stand_is_refused() {
    for text in ["a: w(x,1) !", "a: ; b:"] {
        let history = notation::parse(text).unwrap();
        let error = write(&history, Format::IsoPredict, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("nothing would be written"), "{error}");
    }
    let nothing = notation::parse("a: | ; b:").unwrap();
    assert!(write(&nothing, Format::Plume, &mut Vec::new()).is_err());
}
