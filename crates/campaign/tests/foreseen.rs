//! What is foreseen of a program that is no command: one that ends the time, or is interrupted, while it runs again.

use skew_campaign::command::CommandEnd;
use skew_campaign::foreseen::{ForesightReport, ForesightSettings, Rerun, SearchLimit, foresee};
use skew_campaign::foretold::{ForetoldRun, RecordedRun};
use skew_campaign::{Complaint, Conclusion, StopFlags};
use skew_check::Updates;
use skew_history::IsolationLevel;
use skew_mockdb::Foretelling;
use skew_predict::Strategy;
use skew_view::Palette;
use std::sync::atomic::{AtomicBool, Ordering};

/// Two deposits, one after the other.
const DEPOSITS: &str = r#"{"skew":1,"initial":{"x":0}}
{"session":"a","id":"t1","ops":[{"r":"x","v":0},{"w":"x","v":1}]}
{"session":"b","id":"t2","ops":[{"r":"x","v":1},{"w":"x","v":2}]}
"#;

/// A program that always passes. Meanwhile flags are raised.
#[derive(Default)]
struct Deposits {
    stop: AtomicBool,
    interrupted: AtomicBool,
    raises_stop: bool,
    is_interrupted: bool,
}

impl Rerun for Deposits {
    fn name(&self) -> String {
        "deposits".to_owned()
    }

    fn sets_up(&self) -> bool {
        false
    }

    fn is_bare(&self) -> bool {
        false
    }

    fn record(&self, _: StopFlags<'_>) -> Result<RecordedRun, Complaint> {
        Ok(RecordedRun { history: DEPOSITS.to_owned(), ended: CommandEnd::Well, output: String::new() })
    }

    fn replay(&self, _: &Foretelling, _: &[String], _: StopFlags<'_>) -> Result<ForetoldRun, Complaint> {
        self.stop.store(self.raises_stop, Ordering::Relaxed);
        self.interrupted.store(self.is_interrupted, Ordering::Relaxed);
        let ended = if self.is_interrupted { CommandEnd::Interrupted } else { CommandEnd::Well };
        let (history, output) = (DEPOSITS.to_owned(), String::new());
        Ok(ForetoldRun { history, ended, output, divergence: None, passed_over: Vec::new() })
    }
}

/// How many runs count, what ended it, what is told of it.
fn told(program: &Deposits) -> (usize, Option<SearchLimit>, Conclusion, String, serde_json::Value) {
    let settings = ForesightSettings {
        program,
        budget: 1_000_000,
        strategy: Strategy::Exact,
        stones: 2,
        level: IsolationLevel::Causal,
        against: IsolationLevel::Serializable,
        updates: Updates::Atomic,
        replays: 50,
    };
    let stop = StopFlags { stop: &program.stop, interrupted: &program.interrupted };
    let foresight = foresee(settings, stop, &mut |_, _| {}).unwrap();
    let report = ForesightReport { settings, foresight: &foresight, repeat: &|_| None };
    let json = serde_json::from_str(&report.json()).unwrap();
    (foresight.runs.len(), foresight.limit, report.conclusion(), report.human(Palette::PLAIN), json)
}

#[test]
fn what_passes_to_the_end_is_an_answer() {
    let (runs, limit, conclusion, human, json) = told(&Deposits::default());
    assert_eq!((runs, limit, conclusion), (1, None, Conclusion::Holds));
    assert!(human.contains("\n  none: the command passes"), "{human}");
    assert_eq!((&json["verdict"], &json["complete"]), (&"found".into(), &true.into()));
}

#[test]
fn who_was_stopped_has_not_passed() {
    let (runs, limit, conclusion, human, json) = told(&Deposits { raises_stop: true, ..Deposits::default() });
    assert_eq!((runs, limit, conclusion), (0, Some(SearchLimit::Time), Conclusion::Inconclusive));
    assert!(human.ends_with("  inconclusive: the time was over after 0 runs; raise --timeout\n"), "{human}");
    assert_eq!((&json["verdict"], &json["complete"]), (&"unknown".into(), &false.into()));
}

#[test]
fn who_was_interrupted_has_not_passed() {
    let program = Deposits { raises_stop: true, is_interrupted: true, ..Deposits::default() };
    let (runs, _, conclusion, human, json) = told(&program);
    assert_eq!((runs, conclusion), (0, Conclusion::Inconclusive));
    assert!(human.ends_with("\n  interrupted\n"), "{human}");
    assert_eq!((&json["verdict"], &json["complete"]), (&"unknown".into(), &false.into()));
}
