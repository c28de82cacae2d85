//! Runs whose outcome depends on the verdict: exit codes 0 and 1, counterexamples, saved findings, certificates.

use crate::{Folder, LOST_UPDATE, SERIAL};
use serde_json::{Value, json};

#[test]
fn a_lost_update_fails_from_psi_up_and_holds_below() {
    let folder = Folder::new("lost_update");
    folder.write("lost.txt", LOST_UPDATE);
    folder.skew(&["check", "lost.txt", "--level", "rc,ra,cc,pc"]).expect(0);
    for level in ["psi", "si", "ser"] {
        folder.skew(&["check", "lost.txt", "--level", level]).expect(1);
    }
    let ran = folder.skew(&["check", "lost.txt"]).expect(1);
    assert!(ran.out.contains("strongest that holds: prefix\n"), "{}", ran.out);
    assert!(ran.out.contains("lost update") && ran.out.contains("psi forbids this"), "{}", ran.out);
    assert!(ran.out.contains("a#0 → b#0 (") && ran.out.contains("b#0 → a#0 ("), "{}", ran.out);
    let json = folder.skew(&["check", "lost.txt", "--format", "json"]).expect(1).json();
    let verdicts = json["histories"][0]["verdicts"].as_array().unwrap();
    let words: Vec<&Value> = verdicts.iter().map(|verdict| &verdict["verdict"]).collect();
    assert_eq!(words, ["holds", "holds", "holds", "holds", "fails", "fails", "fails"]);
    let psi = &verdicts[4];
    assert_eq!([&psi["anomaly"], &psi["transactions"]], [&json!("lost-update"), &json!(["a#0", "b#0"])]);
    for edge in psi["edges"].as_array().unwrap() {
        assert!(["so", "wr", "ww", "rw", "rt"].contains(&edge["kind"].as_str().unwrap()));
        assert!(edge["from"].is_string() && edge["to"].is_string() && edge["because"].is_string());
    }
    // The stronger levels fail for the same reason.
    assert_eq!([&verdicts[6]["anomaly"], &verdicts[6]["shown_at"]], [&json!("lost-update"), &json!("psi")]);
}

#[test]
fn what_holds_is_zero_and_a_violation_beats_what_holds() {
    let folder = Folder::new("holds");
    folder.write("good.txt", SERIAL);
    folder.write("bad.txt", LOST_UPDATE);
    let ran = folder.skew(&["check", "good.txt"]).expect(0);
    assert!(ran.out.contains("strongest that holds: serializable\n"), "{}", ran.out);
    folder.skew(&["check", "good.txt", "bad.txt"]).expect(1);
    folder.skew(&["check", "good.txt", "bad.txt", "missing.txt"]).expect(2);
    folder.skew(&["check", "bad.txt", "good.txt", "--level", "causal"]).expect(0);
}

#[test]
fn both_weakest_levels_are_explained_when_psi_and_prefix_fail() {
    let folder = Folder::new("both_weakest");
    let long_fork = "c: w(y,1)\nd: w(z,1)\ne: r(y,1) r(z,init)\nf: r(z,1) r(y,init)\n";
    folder.write("both.txt", format!("{LOST_UPDATE}{long_fork}"));
    let ran = folder.skew(&["check", "both.txt", "--save", "found"]).expect(1);
    assert!(ran.out.contains("prefix forbids this") && ran.out.contains("psi forbids this"), "{}", ran.out);
    assert!(
        ran.out.ends_with("\nskew view found/1-long-fork.json\nskew view found/2-lost-update.json\n"),
        "{}",
        ran.out
    );
}

#[test]
fn what_is_saved_can_be_viewed() {
    let folder = Folder::new("save_and_view");
    folder.write("lost.txt", LOST_UPDATE);
    let ran = folder.skew(&["check", "lost.txt", "--save", "my findings"]).expect(1);
    assert!(ran.out.ends_with("\nskew view 'my findings/1-lost-update.json'\n"), "{}", ran.out);
    let file = "my findings/1-lost-update.json";
    let text = folder.skew(&["view", file]).expect(0).out;
    // The explanation is the one that check gave.
    assert!(ran.out.contains(text.split("\n\n  found in").next().unwrap()), "{text}");
    assert!(text.contains("skew check --level psi lost.txt"), "{text}");
    let saved = folder.read(file);
    assert_eq!(folder.skew(&["view", file, "--format", "json"]).expect(0).out, saved);
    let json: Value = serde_json::from_str(&saved).unwrap();
    assert_eq!([&json["level"], &json["verdict"]], [&json!("psi"), &json!("fails")]);
    assert_eq!(json["found_in"]["sha256"].as_str().unwrap().len(), 64);
    let svg = folder.skew(&["view", file, "--format", "svg"]).expect(0).out;
    assert_eq!(svg, folder.skew(&["check", "lost.txt", "--format", "svg"]).expect(1).out);
    assert!(folder.skew(&["view", file, "--format", "dot"]).expect(0).out.starts_with("digraph"));
    folder.write("cut.json", &saved[..saved.len() / 2]);
    folder.skew(&["view", "cut.json"]).expect(2);
    let again = folder.shell(json["replay"].as_str().unwrap()).expect(1);
    assert!(again.out.contains("lost update"), "{}", again.out);
}

#[test]
fn certificates_of_all_levels_are_valid_and_tampered_ones_are_not() {
    let folder = Folder::new("valid_certificates");
    folder.write("lost.txt", LOST_UPDATE);
    folder.skew(&["check", "lost.txt", "--certificate", "c.jsonl"]).expect(1);
    let text = folder.read("c.jsonl");
    assert_eq!(text.lines().count(), 7);
    let ran = folder.skew(&["check", "--verify", "c.jsonl", "lost.txt"]).expect(0);
    assert_eq!(ran.out.matches(": valid: it ").count(), 7, "{}", ran.out);
    for line in text.lines() {
        let good: Value = serde_json::from_str(line).unwrap();
        let mut forged = good.clone();
        match good["verdict"].as_str().unwrap() {
            "holds" => forged["order"] = json!([1]),
            _ => forged["steps"] = json!([]),
        }
        folder.write("forged.jsonl", forged.to_string());
        folder.skew(&["check", "--verify", "forged.jsonl", "lost.txt"]).expect(1);
    }
    // A proof of one level does not prove another.
    let psi = text.lines().find(|line| line.contains("\"psi\"")).unwrap();
    folder.write("forged.jsonl", psi.replace("\"psi\"", "\"causal\""));
    folder.skew(&["check", "--verify", "forged.jsonl", "lost.txt"]).expect(1);
}

#[test]
fn a_strong_level_without_times_cannot_be_asked() {
    let folder = Folder::new("no_times");
    folder.write("h.txt", SERIAL);
    let ran = folder.skew(&["check", "h.txt", "--level", "sser,rc"]).expect(2);
    assert!(ran.err.contains("strict-serializable cannot be checked"), "{}", ran.err);
    assert!(ran.out.contains("read-committed  holds"), "{}", ran.out);
}

#[test]
fn the_example_of_view_works() {
    let folder = Folder::new("view_example");
    let help = folder.skew(&["view", "--help"]).expect(0).out;
    let is_example = |line: &&str| line.starts_with("printf ") || line.starts_with("skew ");
    let lines: Vec<&str> = help.lines().map(str::trim).filter(is_example).collect();
    assert_eq!(lines.len(), 2, "{help}");
    folder.shell(lines[0]).expect(1);
    assert!(folder.shell(lines[1]).expect(0).out.contains("lost update"));
}

#[test]
fn nothing_inferred_is_said() {
    let folder = Folder::new("nothing_inferred");
    let ran = folder.skew_on("a: w(x,1)\nb: w(x,2)\n", &["check", "-"]).expect(0);
    assert!(ran.out.contains("nothing could be inferred"), "{}", ran.out);
    let json = folder.skew_on("a: w(x,1)\nb: w(x,2)\n", &["check", "-", "--format", "json"]).expect(0).json();
    assert_eq!(json["histories"][0]["inferred"], false);
}

#[test]
fn native_histories_keep_their_names() {
    let folder = Folder::new("native_names");
    let native = "{\"skew\":1,\"initial\":{\"x\":0}}\n\
        {\"session\":\"a\",\"id\":\"t1\",\"ops\":[{\"r\":\"x\",\"v\":0},{\"w\":\"x\",\"v\":1}]}\n\
        {\"session\":\"b\",\"id\":\"t2\",\"ops\":[{\"r\":\"x\",\"v\":0},{\"w\":\"x\",\"v\":2}]}\n";
    folder.write("a.jsonl", native);
    let ran = folder.skew(&["check", "a.jsonl", "--save", "found"]).expect(1);
    assert!(ran.out.contains("initially: x = 0") && ran.out.contains("t1 → t2 (rw on x): "), "{}", ran.out);
    let shown = folder.skew(&["view", "found/1-lost-update.json"]).expect(0).out;
    assert!(shown.contains("initially: x = 0") && shown.contains("─ t2 ─"), "{shown}");
}

#[test]
fn a_cobra_folder_is_checked_as_one_history() {
    let folder = Folder::new("cobra_verdict");
    let record = |tag: u8, numbers: &[i64]| {
        let mut bytes = vec![tag];
        bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        bytes
    };
    folder.write("logs/T0.log", [record(b'S', &[1]), record(b'W', &[7, 5, 9]), record(b'C', &[1])].concat());
    folder.write("logs/T1.log", [record(b'S', &[2]), record(b'R', &[1, 7, 5, 9]), record(b'C', &[2])].concat());
    let ran = folder.skew(&["check", "logs", "--format", "json"]).expect(0);
    assert_eq!(ran.json()["histories"][0]["sessions"], 2);
}
