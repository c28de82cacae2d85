//! `skew predict`: from a run that went well one that did not, as text, JSON, drawing and files; and what cannot be predicted from.

use crate::{Folder, LOST_UPDATE, Ran, schema};
use serde_json::{Value, json};
use skew_testing::skipped;
use std::path::PathBuf;

/// Two deposits, one after the other.
const DEPOSITS: &str = "a: r(x,init) w(x,1)\nb: r(x,1) w(x,2)\n";
/// The same with locks, as it should be.
const FIXED: &str = "a: lock r(x,init) w(x,1)\nb: lock r(x,1) w(x,2)\n";
/// A session that reads its own cart twice: it can be cut off behind either read.
const CART: &str = "a: r(cart,init) w(cart,1) | r(cart,2) | r(cart,2)\nb: r(cart,1) w(cart,2)\n";

fn verdicts(ran: &Ran) -> Vec<String> {
    let json = ran.json();
    let all = json["predictions"].as_array().unwrap();
    all.iter().map(|level| level["verdict"].as_str().unwrap_or("error").to_owned()).collect()
}

#[test]
fn a_lost_update_is_predicted_from_two_deposits() {
    let folder = Folder::new("predict_deposits");
    folder.write("deposits.txt", DEPOSITS);
    let ran = folder.skew(&["predict", "deposits.txt"]).expect(1);
    assert_eq!(
        ran.out,
        "deposits.txt: 2 sessions, 2 transactions, 4 events\n  \
           causal          found: a run that could have been is not serializable (prediction 1)\n  \
           read-committed  found: a run that could have been is not serializable (prediction 1)\n\
         \n\
         prediction 1, at causal (relaxed):\n  \
           b#0 read x from a#0; in this run it reads the initial value\n  \
           b#0 goes on as it did, although it read something else: replay it to see\n\
         \n       \
                observed                  predicted\n  \
           session a\n  \
           a#0  read x = nil (initial)    read x = nil (initial)\n       \
                write x = 1               write x = 1\n  \
           session b\n  \
           b#0  read x = 1                read x = nil (initial)    ◀ changed\n       \
                write x = 2               write x = 2\n\
         \n\
         lost update (G-single): two transactions updated the same version of a key, and one of the updates is lost\n\
         \n  \
           initially: x = nil\n\
         \n  \
           session a                     session b\n  \
           ┌─ a#0 ──────────────────┐    ┌─ b#0 ──────────────────┐\n  \
           │ read x = nil (initial) │    │ read x = nil (initial) │\n  \
           │ write x = 1            │    │ write x = 2            │\n  \
           └────────────────────────┘    └────────────────────────┘\n\
         \n  \
           a cycle:\n    \
             a#0 → b#0 (rw on x): a#0 read x = nil, which b#0 overwrote with 2\n    \
             b#0 → a#0 (rw on x): b#0 read x = nil, which a#0 overwrote with 1\n\
         \n  \
           serializable forbids this, and so does strict-serializable\n\
         \n\
         to keep this run, add --save DIR; then skew check --level causal,serializable DIR/1-lost-update.jsonl confirms it\n"
    );
    assert_eq!(folder.skew(&["-q", "predict", "deposits.txt"]).expect(1).out, "");
}

#[test]
fn a_strict_prediction_says_where_sessions_end() {
    let folder = Folder::new("predict_strict");
    folder.write("cart.txt", CART);
    let text = folder.skew(&["predict", "cart.txt", "--level", "read-committed"]).expect(1).out;
    assert!(text.contains("prediction 1, at read-committed (strict):"), "{text}");
    assert!(text.contains("in this run it reads") && text.contains("◀ changed"), "{text}");
    assert!(!text.contains("goes on as it did"), "{text}");
    assert!(text.contains("session a ends with a#1\n") && text.contains('✂'), "{text}");
}

#[test]
fn what_is_fixed_is_not_accused_and_none_says_what_it_means() {
    let folder = Folder::new("predict_fixed");
    folder.write("fixed.txt", FIXED);
    let ran = folder.skew(&["predict", "fixed.txt"]).expect(0);
    assert!(ran.out.contains("causal          none: no such run within what this one did\n"), "{}", ran.out);
    assert!(
        ran.out.contains("none: whatever the level lets") && ran.out.contains("skew serve --predict"),
        "{}",
        ran.out
    );
    folder.skew(&["predict", "fixed.txt", "--updates", "plain"]).expect(1);
    let strict = folder.skew(&["predict", "fixed.txt", "--strategy", "exact-strict"]).expect(0).out;
    assert!(strict.contains("--strategy exact tries more"), "{strict}");
    let approximate = folder.skew(&["predict", "fixed.txt", "--strategy", "approx-relaxed"]).expect(0).out;
    assert!(approximate.contains("the approximation sees"), "{approximate}");
}

#[test]
fn the_json_has_the_documented_shape() {
    let folder = Folder::new("predict_json");
    folder.write("h.txt", DEPOSITS);
    let ran = folder.skew(&["predict", "h.txt", "--level", "cc,snapshot,cc", "--format", "json"]).expect(1);
    assert!(ran.out.starts_with("{\"skew\":1,\"predictions\":[\n{\"file\":\"h.txt\",\"level\":\"causal\","));
    let json = ran.json();
    let [causal, snapshot] = json["predictions"].as_array().unwrap().as_slice() else { panic!("{json}") };
    assert_eq!([&causal["strategy"], &causal["against"], &causal["verdict"]], ["exact", "serializable", "found"]);
    assert_eq!([&snapshot["verdict"], &snapshot["runs"]], [&json!("none"), &json!([])]);
    let run = &causal["runs"][0];
    assert_eq!([&run["boundary"], &run["by"], &run["anomaly"]], ["relaxed", "prediction", "lost-update"]);
    assert_eq!(run["changed"], json!([{"transaction": "b#0", "event": 0, "key": "x", "from": null, "was": "a#0"}]));
    assert_eq!([&run["transactions"], &run["history"]], [&json!(["a#0", "b#0"]), &Value::Null]);
    assert!(run["cut"].is_object() && run.get("validated").is_none() && run.get("same_as").is_none());
    for edge in run["edges"].as_array().unwrap() {
        assert!(["so", "wr", "ww", "rw"].contains(&edge["kind"].as_str().unwrap()), "{edge}");
        assert!(edge["from"].is_string() && edge["to"].is_string() && edge["because"].is_string());
    }
    folder.write("cart.txt", CART);
    let json = folder.skew(&["predict", "cart.txt", "--level", "rc", "--format", "json"]).expect(1).json();
    let run = &json["predictions"][0]["runs"][0];
    assert_eq!(run["boundary"], "strict");
    let (_, cut) = run["cut"].as_object().unwrap().iter().next().unwrap();
    assert!(cut["transaction"].is_string() && cut["event"].is_u64(), "{run}");
}

#[test]
fn the_json_is_what_the_schema_of_the_book_says() {
    let folder = Folder::new("predict_schema");
    folder.write("a.txt", DEPOSITS);
    folder.write("b.txt", CART);
    folder.write("c.txt", LOST_UPDATE);
    folder.write("d.txt", "a: w(x,1)\n");
    let arguments = ["predict", "a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "--level", "rc,ra,cc,pc,psi,si", "--all"];
    let ran = folder.skew(&[&arguments, &["--save", "found", "--format", "json"][..]].concat()).expect(2);
    let schema = schema::of_the_book("skew predict");
    assert_eq!(schema::mistakes(&schema, &schema, &ran.json(), ""), Vec::<String>::new());
    let found = verdicts(&ran);
    for word in ["found", "none", "observed", "error"] {
        assert!(found.iter().any(|verdict| verdict == word), "{word}: {found:?}");
    }
}

#[test]
fn the_same_input_gives_the_same_bytes_in_every_form() {
    let folder = Folder::new("predict_same_bytes");
    folder.write("a.txt", DEPOSITS);
    folder.write("b.txt", CART);
    for format in ["human", "json", "svg", "dot"] {
        let arguments = ["predict", "a.txt", "b.txt", "--all", "--format", format];
        let ran = folder.skew(&arguments).expect(1);
        assert_eq!(ran.out, folder.skew(&arguments).out);
        assert!(!ran.out.is_empty());
    }
}

#[test]
fn a_drawing_shows_both_runs_and_escapes_names() {
    let folder = Folder::new("predict_svg");
    let text = "{\"session\":\"<a>\",\"ops\":[{\"r\":\"x&y\",\"v\":null},{\"w\":\"x&y\",\"v\":1}]}\n\
                {\"session\":\"b\",\"ops\":[{\"r\":\"x&y\",\"v\":1},{\"w\":\"x&y\",\"v\":2}]}\n";
    folder.write("h.jsonl", text);
    let svg = folder.skew(&["predict", "h.jsonl", "--format", "svg"]).expect(1).out;
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    assert!(svg.contains(">observed<") && svg.contains(">predicted<") && svg.contains(">session &lt;a&gt;<"), "{svg}");
    assert!(svg.contains("read x&amp;y = nil (initial)") && !svg.contains("x&y"), "{svg}");
}

#[test]
fn what_is_saved_is_confirmed_by_the_checker_and_shown() {
    let folder = Folder::new("predict_save");
    folder.write("a.txt", DEPOSITS);
    let ran = folder.skew(&["predict", "a.txt", "--save", "found"]).expect(1);
    let last = ran.out.lines().last().unwrap();
    assert_eq!(last, "skew check --level causal,serializable found/1-lost-update.jsonl");
    folder.shell(last).expect(1);
    folder.skew(&["check", "found/1-lost-update.jsonl", "--level", "causal"]).expect(0);
    folder.skew(&["check", "found/1-lost-update.jsonl", "--level", "serializable"]).expect(1);
    let shown = folder.skew(&["view", "found/1-lost-update.json"]).expect(0).out;
    assert!(shown.contains("found in found/1-lost-update.jsonl at serializable\n") && shown.contains(last), "{shown}");
    let json = folder.skew(&["predict", "a.txt", "--save", "again", "--format", "json"]).expect(1).json();
    for level in [0, 1] {
        assert_eq!(json["predictions"][level]["runs"][0]["history"], "again/1-lost-update.jsonl");
    }
    assert_eq!(folder.read("again/1-lost-update.jsonl"), folder.read("found/1-lost-update.jsonl"));
    folder.write("taken", "a file");
    folder.skew(&["predict", "a.txt", "--save", "taken"]).expect(2);
}

#[test]
fn equal_predictions_of_several_files_are_one() {
    let folder = Folder::new("predict_joined");
    let row = |number: u8| DEPOSITS.replace("(x,", &format!("(account/{number},"));
    folder.write("a.txt", row(1));
    folder.write("b.txt", row(2));
    folder.write("c.txt", FIXED);
    let ran = folder.skew(&["predict", "a.txt", "b.txt", "c.txt", "--save", "found"]).expect(1);
    assert_eq!(ran.out.matches("lost update (G-single)").count(), 1, "{}", ran.out);
    assert!(ran.out.contains("is not serializable (prediction 1 of a.txt)\n"), "{}", ran.out);
    assert_eq!(std::fs::read_dir(folder.path().join("found")).unwrap().count(), 2);
    let json = folder.skew(&["predict", "a.txt", "b.txt", "--level", "cc", "--format", "json"]).expect(1).json();
    assert_eq!(json["predictions"][1]["runs"][0]["same_as"], json!({"file": "a.txt", "level": "causal"}));
    assert_eq!(json["predictions"][1]["runs"][0]["number"], 1);
}

#[test]
fn what_a_level_is_told_of_is_a_run_of_that_level() {
    let folder = Folder::new("predict_levels");
    // At read-committed the same anomaly on the same table comes by a run that read-atomic does not allow.
    folder.write("h.txt", "a: w(k/0,7) w(k/1,9) | r(k/1,11)\nb: r(k/1,9) | w(k/1,11) r(k/0,7)\n");
    folder.write("deposits.txt", DEPOSITS);
    let levels = "read-committed,read-atomic,causal,prefix,psi,snapshot";
    let files = ["predict", "h.txt", "deposits.txt", "--level", levels, "--save", "found", "--format", "json"];
    let json = folder.skew(&files).expect(1).json();
    let mut runs = 0;
    for level in json["predictions"].as_array().unwrap() {
        for run in level["runs"].as_array().unwrap() {
            let asked = format!("{},serializable", level["level"].as_str().unwrap());
            let path = run["history"].as_str().unwrap();
            let checked = folder.skew(&["check", "--level", &asked, path, "--format", "json"]).expect(1).json();
            let verdicts = checked["histories"][0]["verdicts"].as_array().unwrap();
            assert_eq!([&verdicts[0]["verdict"], &verdicts[1]["verdict"]], ["holds", "fails"], "{asked}: {path}");
            runs += 1;
        }
    }
    assert!(runs > 4, "{json}");
    // One and the same run of several levels is one prediction, in whichever order they are asked.
    let both = folder.skew(&["predict", "deposits.txt", "--level", "rc,cc"]).expect(1);
    assert_eq!(both.out.matches("(prediction 1)").count(), 2, "{}", both.out);
}

#[test]
fn all_finds_those_that_differ_and_max_stops_it() {
    let folder = Folder::new("predict_all");
    let two = "a: r(x,init) w(x,1) r(y,init) w(y,1)\nb: r(x,1) w(x,2)\nc: r(y,1) w(y,2)\n";
    folder.write("two.txt", two);
    let runs = |arguments: &[&str]| {
        let ran = folder.skew(&[&["predict", "two.txt", "--level", "cc", "--format", "json"], arguments].concat());
        ran.expect(1).json()["predictions"][0]["runs"].as_array().unwrap().len()
    };
    assert_eq!((runs(&[]), runs(&["--all", "--max", "1"]), runs(&["--max", "2"])), (1, 1, 2));
    assert!(runs(&["--all"]) >= 2);
}

#[test]
fn a_run_that_is_bad_itself_is_said_and_not_predicted_from() {
    let folder = Folder::new("predict_observed");
    folder.write("lost.txt", LOST_UPDATE);
    let ran = folder.skew(&["predict", "lost.txt", "--level", "causal,snapshot"]).expect(1);
    assert!(ran.out.contains("causal    observed: the run itself is not serializable: lost update\n"), "{}", ran.out);
    assert!(ran.out.contains("snapshot  observed: the run itself breaks snapshot: lost update\n"), "{}", ran.out);
    assert!(ran.out.contains("unless --even-if-bad"), "{}", ran.out);
    let json = folder.skew(&["predict", "lost.txt", "--level", "si", "--format", "json"]).expect(1).json();
    let level = &json["predictions"][0];
    assert_eq!([&level["verdict"], &level["broken"], &level["anomaly"]], ["observed", "snapshot", "lost-update"]);
    assert!(!level["edges"].as_array().unwrap().is_empty() && level["runs"] == json!([]));
    let even = folder.skew(&["predict", "lost.txt", "--level", "cc", "--even-if-bad", "--format", "json"]).expect(1);
    assert_eq!(verdicts(&even), ["found"]);
}

#[test]
fn little_history_gets_a_clear_answer() {
    let folder = Folder::new("predict_little");
    for (text, why) in [
        ("a: r(x,init) w(x,1) | r(x,1)\n", "none: one session only: nothing can interleave"),
        ("a: w(x,1)\nb: w(x,2)\n", "none: no transaction read a key that another one wrote: no read can change"),
    ] {
        let ran = folder.skew_on(text, &["predict", "-", "--level", "snapshot"]).expect(0);
        assert!(ran.out.contains(why), "{}", ran.out);
        assert!(!ran.out.contains("skew serve --predict"), "{}", ran.out);
    }
    // Everything was refused.
    let ran = folder.skew_on("a: r(x,init) w(x,1) !\nb: r(x,init) w(x,2) !\n", &["predict", "-", "--format", "json"]);
    let ran = ran.expect(0);
    assert_eq!(verdicts(&ran), ["none", "none"]);
    assert_eq!(ran.json()["predictions"][0]["reason"], "no transaction took part: nothing happened");
}

#[test]
fn bad_input_is_two_and_says_what_to_do() {
    let folder = Folder::new("predict_bad");
    folder.write("h.txt", DEPOSITS);
    folder.write("nothing.txt", "");
    folder.write("empty.jsonl", "{\"skew\":1}\n");
    folder.write("wrong.txt", "a: w(x,1)\nb: q(x,1)\n");
    for (arguments, says) in [
        (&["h.txt", "--only-session", "carol"][..], "it has no session `carol`"),
        (&["h.txt", "--level", "serializable"], "because no run keeps serializable and breaks it"),
        (&["h.txt", "--level", "strict-serializable"], "nothing could be predicted"),
        (&["h.txt", "--level", "si", "--against", "psi"], "what keeps snapshot keeps psi"),
        (&["h.txt", "--level", "cc", "--against", "cc"], "choose among read-committed, read-atomic\n"),
        (&["h.txt", "--level", "cc", "--against", "rc"], "choose a stronger level for --against"),
        (&["h.txt", "--against", "strong-si"], "neither times nor levels"),
        (&["h.txt", "--level", "declared"], "neither times nor levels"),
        (&["h.txt", "--strategy", "guess"], "is not a strategy; use exact"),
        (&["h.txt", "--max", "0"], "--max"),
        (&["missing.txt"], "missing.txt: cannot read it"),
        (&["nothing.txt"], "nothing.txt"),
        (&["empty.jsonl"], "empty.jsonl: the input holds no transaction"),
        (&["wrong.txt", "--from", "notation"], "wrong.txt: line 2"),
    ] {
        let ran = folder.skew(&[&["predict"], arguments].concat()).expect(2);
        assert!(ran.err.contains(says) && ran.out.is_empty(), "{arguments:?}: {}", ran.err);
    }
    let ran = folder.skew(&["predict", "h.txt", "--only-session", "carol"]).expect(2);
    assert!(ran.err.contains("its sessions are a, b"), "{}", ran.err);
    // Whoever fixes the input first loses nothing of what was found.
    let ran = folder.skew(&["predict", "missing.txt", "h.txt", "--format", "json"]).expect(2);
    assert_eq!(verdicts(&ran), ["error", "found", "found"]);
}

#[test]
fn only_reads_of_the_session_that_is_named_change() {
    let folder = Folder::new("predict_only");
    folder.write("h.txt", DEPOSITS);
    folder.skew(&["predict", "h.txt", "--only-session", "b"]).expect(1);
    let ran = folder.skew(&["predict", "h.txt", "--only-session", "a"]).expect(0);
    assert!(ran.out.contains("only reads of session a were changed"), "{}", ran.out);
}

#[test]
fn another_level_may_be_the_one_that_is_broken() {
    let folder = Folder::new("predict_against");
    folder.write("h.txt", DEPOSITS);
    let ran = folder.skew(&["predict", "h.txt", "--level", "cc", "--against", "psi"]).expect(1);
    assert!(ran.out.contains("found: a run that could have been breaks psi (prediction 1)"), "{}", ran.out);
    assert!(ran.out.contains("skew check --level causal,psi DIR/1-lost-update.jsonl"), "{}", ran.out);
}

#[test]
fn a_budget_or_a_time_that_ends_is_three() {
    let folder = Folder::new("predict_budget");
    folder.write("h.txt", DEPOSITS);
    let ran = folder.skew(&["predict", "h.txt", "--level", "cc", "--budget", "0"]).expect(3);
    assert!(ran.out.contains("causal  unknown: the budget ended after 0 candidates\n"), "{}", ran.out);
    let ran = folder.skew(&["predict", "h.txt", "--timeout", "0s"]).expect(3);
    assert!(ran.err.contains("h.txt: not looked at: the time was over"), "{}", ran.err);
    folder.write("fixed.txt", FIXED);
    folder.skew(&["predict", "fixed.txt", "missing.txt", "--budget", "0"]).expect(2);
    folder.skew(&["predict", "fixed.txt", "h.txt", "--budget", "0"]).expect(3);
}

#[cfg(unix)]
#[test]
fn an_interrupt_is_three() {
    use std::io::Write;
    let folder = Folder::new("predict_interrupt");
    let mut child = folder.start(&["predict", "-"]);
    let mut input = child.stdin.take().unwrap();
    // More than a pipe holds: once it is written, the program is reading and its handler stands.
    input.write_all(" ".repeat(1 << 20).as_bytes()).unwrap();
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    Ran::new(child.wait_with_output().unwrap()).expect(3);
    drop(input);
}

/// The small traces of the paper's tool, and the answers at causal and read-committed.
const TRACES: [(&str, [&str; 2], [&str; 2]); 6] = [
    ("always_serial_2s4t", ["none", "found"], ["none", "found"]),
    ("always_serial_3s3t", ["none", "none"], ["none", "none"]),
    ("not_readcommitted", ["observed", "observed"], ["none", "none"]),
    ("simple_causal_2s3t", ["observed", "observed"], ["found", "found"]),
    ("simple_causal_2s4t", ["observed", "observed"], ["found", "found"]),
    ("simple_serial_2s3t", ["found", "found"], ["found", "found"]),
];

#[test]
fn the_papers_small_traces_have_the_papers_answers() {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let traces = std::env::var_os("SKEW_SHARED").map_or_else(beside, PathBuf::from).join("corpus/isopredict-micro");
    if !traces.is_dir() {
        return skipped("predictions from the paper's traces by command (no ../shared/corpus/isopredict-micro)");
    }
    let folder = Folder::new("predict_traces");
    for (name, usual, even_if_bad) in TRACES {
        let path = traces.join(format!("{name}.txt"));
        let path = path.to_string_lossy();
        let ask = |more: &[&str]| {
            let arguments = ["predict", &path, "--strategy", "exact-strict", "--format", "json"];
            verdicts(&folder.skew(&[&arguments, more].concat()).accepted())
        };
        assert_eq!(ask(&[]), usual, "{name}");
        assert_eq!(ask(&["--even-if-bad"]), even_if_bad, "{name}, even if bad");
    }
}

/// Two deposits that read and then update, recorded on PostgreSQL.
const ON_POSTGRES: &str = r#"{"skew":1,"engine":"postgres 15.20","initial":{"x":0}}
{"session":"a","id":"t1","ops":[{"r":"x","v":0,"from":null,"s":1},{"r":"x","v":0,"from":null,"s":2,"kind":"update"},{"w":"x","v":1,"s":2,"kind":"update"}]}
{"session":"b","id":"t2","ops":[{"r":"x","v":1,"from":"t1","s":1},{"r":"x","v":1,"from":"t1","s":2,"kind":"update"},{"w":"x","v":2,"s":2,"kind":"update"}]}
"#;

#[test]
fn without_a_level_those_of_the_histories_engine_are_asked_and_what_is_found_is_confirmed() {
    let folder = Folder::new("predict-engine");
    folder.write("h.jsonl", ON_POSTGRES);
    let ran = folder.skew(&["predict", "h.jsonl", "--save", "found", "--format", "json"]).expect(1);
    let answers: Vec<(String, String)> = ran.json()["predictions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["level"].as_str().unwrap().to_owned(), one["verdict"].as_str().unwrap().to_owned()))
        .collect();
    let expected =
        [("postgres:read-committed", "found"), ("postgres:repeatable-read", "none"), ("postgres:serializable", "none")];
    assert_eq!(answers, expected.map(|(level, verdict)| (level.to_owned(), verdict.to_owned())));
    let path = ran.json()["predictions"][0]["runs"][0]["history"].as_str().unwrap().to_owned();
    folder.skew(&["check", &path, "--level", "postgres:read-committed"]).expect(0);
    folder.skew(&["check", &path, "--level", "serializable"]).expect(1);
    let refused = folder.skew(&["predict", "h.jsonl", "--level", "pg:rc", "--replay", "true"]).expect(2);
    assert!(refused.err.contains("the mock database has the levels of the papers"), "{}", refused.err);
}

#[test]
fn what_was_waited_for_leaves_it_open_and_says_so() {
    let folder = Folder::new("predict-open");
    let waited = r#"{"skew":1,"engine":"postgres 15.20","initial":{"x":0}}
{"session":"a","id":"t1","ops":[{"r":"x","v":0,"from":null,"s":1,"kind":"update"},{"w":"x","v":1,"s":1,"kind":"update"}]}
{"session":"b","id":"t2","ops":[{"r":"x","v":1,"from":"t1","s":1,"kind":"update","passed":true,"waited":true}]}
"#;
    folder.write("h.jsonl", waited);
    let ran = folder.skew(&["predict", "h.jsonl", "--level", "pg:rc"]).expect(3);
    assert!(ran.out.contains("unknown: no such run was found; statements waited for rows"), "{}", ran.out);
}
