//! Runs as histories: what is written down is what the checker says it is, also after a file.

use crate::random_programs::{Features, Random, program};
use crate::script::Script;
use skew_check::{Budget, spec};
use skew_explore::{IsolationLevel, Options, RunAnswer, Search};
use skew_history::format::{self, Format, Source};
use skew_history::{History, notation};

fn histories(program: &Script, level: IsolationLevel, mut test: impl FnMut(&History, &str)) {
    let mut search = Search::new(program, Options::new(level)).unwrap();
    while let Some(run) = search.next_run().unwrap() {
        if run.answer(Budget::UNLIMITED) == RunAnswer::Holds {
            test(&run.history().unwrap(), &run.pattern());
        }
    }
}

fn through_file(history: &History) -> History {
    let mut bytes = Vec::new();
    format::write(history, Format::Native, &mut bytes).unwrap();
    format::read(&[Source { name: "a run", bytes: &bytes }], Format::Native).unwrap()
}

#[test]
fn runs_satisfy_their_level_as_histories_and_as_files() {
    let mut scans = 0;
    let levels: Vec<IsolationLevel> = IsolationLevel::of_papers().collect();
    for seed in 0..250 {
        let features = Features { scans: seed % 5 != 0, locks: seed % 4 == 0, mixed: false };
        let program = program(&mut Random::new(40_000 + seed), features);
        let level = levels[seed as usize % levels.len()];
        histories(&program, level, |history, pattern| {
            scans += history.scans().len();
            assert!(spec::satisfies(history, level), "{pattern}");
            let again = through_file(history);
            assert!(spec::satisfies(&again, level), "{pattern}");
            assert_eq!(notation::write(&again), notation::write(history));
        });
    }
    assert!(scans > 500, "scans are recorded as scans: {scans}");
}

#[test]
fn a_scan_lists_what_it_saw_and_leaves_out_what_was_never_there() {
    let mut script = Script::parse("scan; w(k/2) | del(k/2)");
    script.initial = vec!["k/1".into()];
    let mut told = Vec::new();
    histories(&script, IsolationLevel::Serializable, |history, _| {
        let mut bytes = Vec::new();
        format::write(history, Format::Native, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let scan = text.lines().find(|line| line.contains("scan")).unwrap();
        told.push(scan[scan.find("{\"scan").unwrap()..scan.find("]").unwrap() + 1].to_owned());
    });
    told.sort();
    // Whether the absence of k/2 is from before everything or a deletion has to be said.
    assert_eq!(
        told,
        [
            r#"{"scan":"","reads":[{"k":"k/1","v":0,"from":null},{"k":"k/2","v":101,"from":"b#0"}]"#,
            r#"{"scan":"","reads":[{"k":"k/1","v":0,"from":null},{"k":"k/2","v":null,"from":"b#1"}]"#,
            r#"{"scan":"","reads":[{"k":"k/1","v":0,"from":null},{"k":"k/2","v":null,"from":null}]"#,
        ]
    );
    let script = Script::parse("scan; w(k/2)");
    let mut scans = Vec::new();
    histories(&script, IsolationLevel::Serializable, |history, _| {
        scans.push((history.scans().len(), history.event_count()))
    });
    assert_eq!(scans, [(1, 2), (1, 2)]);
}
