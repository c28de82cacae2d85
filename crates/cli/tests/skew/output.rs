//! What is printed where: JSON, colours, closed pipes, help, time limits.

use crate::{Folder, LOST_UPDATE, Ran, SERIAL};
use std::io::Write;

#[test]
fn json_has_the_documented_shape() {
    let folder = Folder::new("json");
    folder.write("h.txt", LOST_UPDATE);
    let ran = folder.skew(&["check", "h.txt", "--format", "json", "--stats"]).accepted();
    let json = ran.json();
    assert_eq!(json["skew"], 1);
    let history = &json["histories"][0];
    assert_eq!(history["file"], "h.txt");
    assert_eq!([&history["sessions"], &history["transactions"], &history["events"]], [2, 2, 4]);
    let verdicts = history["verdicts"].as_array().unwrap();
    let levels: Vec<&str> = verdicts.iter().map(|verdict| verdict["level"].as_str().unwrap()).collect();
    let seven = ["read-committed", "read-atomic", "causal", "prefix", "psi", "snapshot", "serializable"];
    assert_eq!(levels, seven);
    for verdict in verdicts {
        assert!(["holds", "fails", "unknown"].contains(&verdict["verdict"].as_str().unwrap()));
        assert!(verdict["statistics"]["constraints_before"].is_u64());
    }
    assert!(history["statistics"]["seconds"].is_f64());
    assert_eq!(history["statistics"]["phases"][0]["phase"], "read");
    assert!(ran.out.starts_with("{\"skew\":1,\"histories\":["));
}

#[test]
fn the_levels_are_those_asked_for_and_the_strong_ones_need_times() {
    let folder = Folder::new("levels");
    let levels = |ran: Ran| -> Vec<String> {
        let json = ran.json();
        let verdicts = json["histories"][0]["verdicts"].as_array().unwrap();
        verdicts.iter().map(|verdict| verdict["level"].as_str().unwrap().to_owned()).collect()
    };
    let ran = folder.skew_on(SERIAL, &["check", "-", "--format", "json", "--level", "ser,rc,ser", "--level", "si"]);
    assert_eq!(levels(ran.accepted()), ["serializable", "read-committed", "snapshot"]);
    let timed = "a: w(x,1) @1..2\nb: r(x,1) @3..4\n";
    let found = levels(folder.skew_on(timed, &["check", "-", "--format", "json"]).accepted());
    assert_eq!(found[7..], ["strong-snapshot", "strict-serializable"]);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let folder = Folder::new("same_bytes");
    folder.write("a.txt", LOST_UPDATE);
    folder.write("b.txt", SERIAL);
    for format in ["human", "json", "dot", "svg"] {
        let arguments = ["check", "a.txt", "b.txt", "--format", format];
        assert_eq!(folder.skew(&arguments).out, folder.skew(&arguments).out);
    }
}

#[test]
fn colours_are_for_terminals_and_no_color_is_honoured() {
    let folder = Folder::new("colours");
    folder.write("a.txt", SERIAL);
    assert!(!folder.skew(&["check", "a.txt"]).accepted().out.contains('\u{1b}'));
    assert!(folder.skew(&["check", "a.txt", "--color", "always"]).accepted().out.contains('\u{1b}'));
    // `script` makes a terminal; where it is missing there is nothing to see.
    let on_terminal = |environment: &str| {
        folder.shell(&format!("{environment} TERM=xterm script -qec 'skew check a.txt' /dev/null </dev/null"))
    };
    let ran = on_terminal("env -u NO_COLOR");
    if ran.err.contains("not found") {
        return skew_testing::skipped("there is no `script` here");
    }
    assert!(ran.out.contains("\u{1b}[1m"), "{}", ran.out);
    assert!(!on_terminal("NO_COLOR=1").out.contains("\u{1b}[1m"));
}

#[test]
fn quiet_says_nothing_but_the_exit_code() {
    let folder = Folder::new("quiet");
    folder.write("a.txt", SERIAL);
    let loud = folder.skew(&["check", "a.txt"]).accepted();
    let quiet = folder.skew(&["-q", "check", "a.txt"]);
    assert_eq!((quiet.code, quiet.out.as_str(), quiet.err.as_str()), (loud.code, "", ""));
    let ran = folder.skew(&["check", "-q", "missing"]).expect(2);
    assert!(ran.err.contains("missing"));
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let folder = Folder::new("closed_pipe");
    for arguments in
        [&["check", "-"][..], &["check", "-", "--format", "json"], &["-q", "convert", "-", "--to", "notation"]]
    {
        let mut child = folder.start(arguments);
        drop(child.stdout.take());
        child.stdin.take().unwrap().write_all(SERIAL.as_bytes()).unwrap();
        let ran = Ran::new(child.wait_with_output().unwrap()).accepted();
        assert_eq!(ran.err, "", "{arguments:?}");
    }
}

#[test]
fn no_time_left_is_inconclusive() {
    let folder = Folder::new("no_time");
    folder.write("a.txt", SERIAL);
    let ran = folder.skew(&["check", "a.txt", "--timeout", "0s"]).expect(3);
    assert!(ran.err.contains("a.txt: not checked"), "{}", ran.err);
    folder.skew(&["check", "a.txt", "missing.txt", "--timeout", "0s"]).expect(2);
    folder.skew(&["check", "a.txt", "--budget", "1"]).accepted();
    folder.skew(&["check", "a.txt", "--no-prune", "--stats", "--timeout", "1h"]).accepted();
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_cleanly_with_three() {
    let folder = Folder::new("interrupt");
    let mut child = folder.start(&["check", "-"]);
    let mut input = child.stdin.take().unwrap();
    // More than a pipe holds: once it is written, the program is reading and its handler stands.
    input.write_all(" ".repeat(1 << 20).as_bytes()).unwrap();
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    std::thread::sleep(std::time::Duration::from_millis(200));
    drop(input);
    Ran::new(child.wait_with_output().unwrap()).expect(3);
}

#[test]
fn a_history_without_reads_says_that_nothing_was_inferred() {
    let folder = Folder::new("no_reads");
    let ran = folder.skew_on("a: w(x,1)\nb: w(x,2)\n", &["check", "-"]).accepted();
    let all_hold = ran.code == Some(0);
    assert_eq!(ran.out.contains("nothing could be inferred"), all_hold, "{}", ran.out);
    let ran = folder.skew_on(SERIAL, &["check", "-"]).accepted();
    assert!(!ran.out.contains("nothing could be inferred"));
}

#[test]
fn every_help_shows_examples_that_work() {
    let folder = Folder::new("help");
    for command in [&[][..], &["check"], &["convert"], &["predict"], &["view"]] {
        let help = folder.skew(&[command, &["--help"]].concat()).expect(0).out;
        let examples: Vec<&str> = help.lines().map(str::trim).filter(|line| line.starts_with("printf ")).collect();
        assert!(!examples.is_empty(), "{help}");
        for example in examples {
            let ran = folder.shell(example).accepted();
            assert!(ran.err.is_empty(), "{example}: {}", ran.err);
        }
    }
    assert!(folder.skew(&["--version"]).expect(0).out.starts_with("skew 0."));
}

#[test]
fn a_verdict_without_its_counterexample_is_still_a_verdict() {
    let folder = Folder::new("no_explain");
    let ran =
        folder.skew_on(LOST_UPDATE, &["check", "-", "--no-explain", "--level", "psi", "--format", "json"]).expect(1);
    let verdict = &ran.json()["histories"][0]["verdicts"][0];
    assert_eq!(verdict["verdict"], "fails");
    assert!(verdict.get("anomaly").is_none() && verdict.get("edges").is_none());
    let text = folder.skew_on(LOST_UPDATE, &["check", "-", "--no-explain", "--level", "psi"]).expect(1).out;
    assert!(text.contains("psi  fails") && !text.contains("lost update"), "{text}");
    folder.skew_on(LOST_UPDATE, &["check", "-", "--no-explain", "--save", "found"]).expect(2);
}

#[test]
fn drawings_are_complete_documents() {
    let folder = Folder::new("drawings");
    let svg = folder.skew_on(LOST_UPDATE, &["check", "-", "--format", "svg"]).accepted().out;
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
}

#[test]
fn a_file_that_is_no_counterexample_is_not_shown() {
    let folder = Folder::new("no_counterexample");
    folder.write("a.json", "{\"skew\":1,\n\"counterexample\":7}");
    let ran = folder.skew(&["view", "a.json"]).expect(2);
    assert!(ran.err.contains("a.json: line 2: not a counterexample file") && ran.err.contains("--save"), "{}", ran.err);
    folder.skew(&["view", "missing.json"]).expect(2);
    folder.skew(&["view", "."]).expect(2);
}
