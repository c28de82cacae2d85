//! What the user sees of some counterexamples, letter by letter.
//!
//! The expected files stand in `tests/golden`. Run with `SKEW_BLESS=1` to write them anew, then look at the difference.

use skew_check::{
    Anomaly, AnomalyKind, BadRead, Budget, Case, Counterexample, DependencyKind, Proof, Refutation, Told, Verdict,
    check, explain,
};
use skew_history::format::{self, Format, Source};
use skew_history::{EventId, History, IsolationLevel, TransactionId, Writer, notation};
use skew_view::finding::FoundIn;
use skew_view::{Beside, Finding, Palette, Picture, beside, dot, human, svg};
use std::path::Path;

fn told(history: &History, edge: &str, because: &str) -> Told {
    let words: Vec<&str> = edge.split(' ').collect();
    let end = |name: &str| match name {
        "init" => Writer::Initial,
        name => Writer::Transaction(history.find_transaction(name).expect("a transaction of the history")),
    };
    let kinds = [
        DependencyKind::Session,
        DependencyKind::ReadsFrom,
        DependencyKind::VersionOrder,
        DependencyKind::Overwrites,
        DependencyKind::RealTime,
    ];
    Told {
        from: end(words[0]),
        to: end(words[1]),
        kind: *kinds.iter().find(|kind| kind.letters() == words[2]).expect("a kind"),
        key: words.get(3).map(|key| history.find_key(key).expect("a key of the history")),
        because: because.to_owned(),
    }
}

fn case(history: &History, assumption: Option<&str>, edges: &[(&str, &str)]) -> Case {
    let edges = edges.iter().map(|(edge, because)| told(history, edge, because)).collect();
    Case { assumption: assumption.map(str::to_owned), edges }
}

fn found(
    level: IsolationLevel,
    kind: AnomalyKind,
    history: History,
    refutation: Refutation,
    cases: Vec<Case>,
) -> Counterexample {
    Counterexample { level, kind, history, anomaly: Anomaly { level, refutation }, cases }
}

fn lost_update() -> Counterexample {
    let history = notation::parse("a: r(x,init) w(x,1); b: r(x,init) w(x,2)").unwrap();
    let cases = vec![
        case(
            &history,
            Some("a#0's write of x came before b#0's"),
            &[
                ("a#0 b#0 ww x", "a#0 wrote x = 1 before b#0 wrote x = 2"),
                ("b#0 a#0 rw x", "b#0 read x = nil, which a#0 overwrote with 1"),
            ],
        ),
        case(
            &history,
            Some("b#0's write of x came before a#0's"),
            &[
                ("b#0 a#0 ww x", "b#0 wrote x = 2 before a#0 wrote x = 1"),
                ("a#0 b#0 rw x", "a#0 read x = nil, which b#0 overwrote with 2"),
            ],
        ),
    ];
    let proof = Refutation::Proof(Proof::default());
    found(IsolationLevel::ParallelSnapshot, AnomalyKind::LostUpdate, history, proof, cases)
}

fn write_skew() -> Counterexample {
    let history =
        notation::parse("alice: r(x,10) r(y,20) w(x,-30); bob: r(x,10) r(y,20) w(y,-40); setup: w(x,10) w(y,20)");
    let history = history.unwrap();
    let cases = vec![case(
        &history,
        None,
        &[
            ("alice#0 bob#0 rw y", "alice#0 read y = 20, which bob#0 overwrote with -40"),
            ("bob#0 alice#0 rw x", "bob#0 read x = 10, which alice#0 overwrote with -30"),
        ],
    )];
    let proof = Refutation::Proof(Proof::default());
    found(IsolationLevel::Serializable, AnomalyKind::WriteSkew, history, proof, cases)
}

fn long_fork() -> Counterexample {
    let history = notation::parse("a: w(x,1); b: w(y,1); c: r(x,1) r(y,init); d: r(y,1) r(x,init)").unwrap();
    let cases = vec![case(
        &history,
        None,
        &[
            ("a#0 c#0 wr x", "c#0 read x = 1, which a#0 wrote"),
            ("c#0 b#0 rw y", "c#0 read y = nil, which b#0 overwrote with 1"),
            ("b#0 d#0 wr y", "d#0 read y = 1, which b#0 wrote"),
            ("d#0 a#0 rw x", "d#0 read x = nil, which a#0 overwrote with 1"),
        ],
    )];
    let proof = Refutation::Proof(Proof::default());
    found(IsolationLevel::Prefix, AnomalyKind::LongFork, history, proof, cases)
}

fn aborted_read() -> Counterexample {
    let history = notation::parse("a: w(<k&\"q\">,1) !; b: r(<k&\"q\">,1)").unwrap();
    let cases = vec![case(
        &history,
        None,
        &[("a#0 b#0 wr <k&\"q\">", "b#0 read <k&\"q\"> = 1, which a#0 wrote and then aborted")],
    )];
    let read = Refutation::Read(BadRead::Aborted { read: EventId(1), write: EventId(0) });
    found(IsolationLevel::ReadCommitted, AnomalyKind::AbortedRead, history, read, cases)
}

/// The edges join only the first two writers; the story is about the reader too.
fn causality_violation() -> Counterexample {
    let history = notation::parse("a: w(x,1); b: w(x,2); c: r(x,2) w(y,3); d: r(y,3) r(x,1)").unwrap();
    let because = "d#0 read x = 1 and must have seen b#0, which wrote x = 2 (c#0 read x = 2, which b#0 wrote; \
                   d#0 read y = 3, which c#0 wrote); so b#0's write of x came before a#0's";
    let edges = [("b#0 a#0 ww x", because), ("a#0 b#0 so", "made up, to have a cycle")];
    let cases = vec![case(&history, None, &edges)];
    let proof = Refutation::Proof(Proof::default());
    found(IsolationLevel::Causal, AnomalyKind::CausalityViolation, history, proof, cases)
}

/// Everything is a number, as in the files of most tools.
fn numbers() -> Counterexample {
    let text = b"w(1,4,1,2)\nr(1,4,1,3)\nw(1,5,1,3)\nr(1,4,2,8)\nw(1,10,2,8)\n";
    let history = format::read(&[Source { name: "a", bytes: text }], Format::Plume).unwrap();
    let Verdict::Fails(anomaly) = check(&history, IsolationLevel::ParallelSnapshot, Budget::UNLIMITED) else {
        panic!("a lost update")
    };
    explain(&history, IsolationLevel::ParallelSnapshot, &anomaly, Budget::UNLIMITED)
}

/// Six transactions in three sessions: what a larger one looks like.
fn big_cycle() -> Counterexample {
    let text = "a: w(x,1) | r(z,init) w(u,5) | r(w,3); b: r(x,1) w(y,2) | w(w,3); c: r(y,2) w(z,4) r(q,init)";
    let history = notation::parse(text).unwrap();
    let cases = vec![case(
        &history,
        None,
        &[
            ("a#0 b#0 wr x", "b#0 read x = 1, which a#0 wrote"),
            ("b#0 c#0 wr y", "c#0 read y = 2, which b#0 wrote"),
            ("c#0 a#0 so", "made up, to have an arrow all the way back"),
            ("b#1 a#2 wr w", "a#2 read w = 3, which b#1 wrote"),
            ("a#1 c#0 rw z", "a#1 read z = nil, which c#0 overwrote with 4"),
            ("a#0 a#2 so", "a#0 is before a#2 in session a"),
        ],
    )];
    let proof = Refutation::Proof(Proof::default());
    found(IsolationLevel::Causal, AnomalyKind::DependencyCycle, history, proof, cases)
}

fn compare(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("SKEW_BLESS").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == actual, "{name} is not as expected; SKEW_BLESS=1 writes it anew. It is now:\n{actual}");
}

fn compare_all(name: &str, found: &Counterexample) {
    let picture = Picture::from(found);
    compare(&format!("{name}.txt"), &human::counterexample(picture, Palette::PLAIN));
    compare(&format!("{name}.dot"), &dot::counterexample(picture));
    compare(&format!("{name}.svg"), &svg::counterexamples(&[picture]));
}

#[test]
fn a_lost_update_looks_as_it_did() {
    compare_all("lost-update", &lost_update());
}

#[test]
fn a_write_skew_looks_as_it_did() {
    compare_all("write-skew", &write_skew());
}

#[test]
fn a_long_fork_looks_as_it_did() {
    compare_all("long-fork", &long_fork());
}

#[test]
fn an_aborted_read_looks_as_it_did() {
    compare_all("aborted-read", &aborted_read());
}

#[test]
fn a_causality_violation_looks_as_it_did() {
    compare_all("causality-violation", &causality_violation());
}

#[test]
fn bare_numbers_are_told_with_their_nouns() {
    compare_all("numbers", &numbers());
}

#[test]
fn two_runs_beside_each_other_look_as_they_did() {
    let observed = notation::parse("a: r(x,init) w(x,1); b: r(x,1) r(z,init) w(x,2) | r(x,2)").unwrap();
    let found = lost_update();
    let both = Beside {
        observed: &observed,
        predicted: &found.history,
        transactions: observed.transactions().collect(),
        keys: observed.find_key("x").into_iter().collect(),
        changed: vec![EventId(2)],
        cut: observed.sessions().skip(1).collect(),
    };
    compare("beside.txt", &both.text(Palette::PLAIN));
    let title = "from <a> & b at causal".to_owned();
    compare("beside.svg", &beside::drawings(&[(title, both, Picture::from(&found))]));
}

#[test]
fn a_larger_cycle_looks_as_it_did() {
    compare_all("dependency-cycle", &big_cycle());
}

#[test]
fn two_counterexamples_share_one_drawing() {
    let (one, two) = (lost_update(), long_fork());
    let drawn = svg::counterexamples(&[Picture::from(&one), Picture::from(&two)]);
    assert_eq!(drawn.matches("<svg").count(), 1);
    assert!(drawn.contains("lost update") && drawn.contains("long fork"));
}

#[test]
fn a_counterexample_that_was_not_made_small_is_cut() {
    let text: Vec<String> = (0..500).map(|n| format!("s{n}: w(x,{n})")).collect();
    let history = notation::parse(&text.join("\n")).unwrap();
    let cases = vec![case(&history, None, &[("s499#0 s3#0 ww x", "made up")])];
    let proof = Refutation::Proof(Proof::default());
    let found = found(IsolationLevel::Prefix, AnomalyKind::DirtyWrite, history, proof, cases);
    let many = Counterexample { cases: vec![found.cases[0].clone(); 50], ..found.clone() };
    assert!(human::counterexample(Picture::from(&many), Palette::PLAIN).contains("(and 30 more cases)"));
    let text = human::counterexample(Picture::from(&found), Palette::PLAIN);
    assert!(text.contains("(440 more transactions are not shown)") && text.contains("─ s499#0"), "{text}");
    assert!(svg::counterexamples(&[Picture::from(&found)]).len() < 100_000);
}

#[test]
fn a_saved_finding_reads_back_as_it_was() {
    for found in [lost_update(), write_skew(), long_fork()] {
        let found_in = FoundIn { file: "a.jsonl".to_owned(), format: "native".to_owned(), sha256: "00".to_owned() };
        let finding = Finding::new(&found, found_in, "skew check a.jsonl".to_owned());
        let text = finding.to_json().unwrap();
        let back = Finding::from_json("1.json", text.as_bytes()).unwrap();
        assert_eq!(back.to_json().unwrap(), text);
        let shown = |picture| human::counterexample(picture, Palette::PLAIN);
        assert_eq!(shown(back.picture()), shown(Picture::from(&found)));
    }
}

#[test]
fn a_forged_finding_is_refused_with_a_reason() {
    let found_in = FoundIn { file: "a".to_owned(), format: "native".to_owned(), sha256: "00".to_owned() };
    let good = Finding::new(&lost_update(), found_in, String::new()).to_json().unwrap();
    for end in 0..good.trim_end().len() {
        assert!(good.is_char_boundary(end) && Finding::from_json("f", &good.as_bytes()[..end]).is_err());
    }
    let forgeries = [
        ("lost-update", "lost-weekend", "`lost-weekend` is not an anomaly"),
        ("\"psi\"", "\"chaos\"", "`chaos` is not a level"),
        ("\"from\":\"a#0\"", "\"from\":\"z\"", "the history has no transaction `z`"),
        ("\"key\":\"x\"", "\"key\":\"z\"", "no event of the history has key `z`"),
        ("\"ww\"", "\"xx\"", "`xx` is not a kind of edge"),
        ("\"edges\":[0,1]", "\"edges\":[0,9]", "there is no edge number 9"),
        ("\"skew\":1", "\"skew\":7", "version 7"),
    ];
    for (from, to, message) in forgeries {
        let error = Finding::from_json("f", good.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn a_writer_that_no_sentence_is_about_does_not_take_part() {
    assert_eq!(Picture::from(&write_skew()).taking_part(), [TransactionId(0), TransactionId(1)]);
    assert_eq!(Picture::from(&causality_violation()).taking_part().len(), 4);
    // Transaction 2 is not named by a sentence that speaks of a value 2.
    assert_eq!(Picture::from(&numbers()).taking_part(), [TransactionId(1), TransactionId(2)]);
}
