//! Certificates that are forged, cut off or about something else.

use crate::{Folder, SERIAL};
use serde_json::{Value, json};

/// A folder with a history, and a certificate of it whose verdict is replaced by `body`.
fn forge(test: &str, body: &Value) -> (Folder, Value) {
    let folder = Folder::new(test);
    folder.write("h.txt", SERIAL);
    folder.skew(&["check", "h.txt", "--level", "ser", "--certificate", "good.jsonl"]).accepted();
    let good: Value = serde_json::from_str(&folder.read("good.jsonl")).unwrap();
    assert_eq!([&good["skew"], &good["level"]], [&json!(1), &json!("serializable")]);
    let mut forged = good.clone();
    for member in ["order", "choices", "read", "steps"] {
        forged.as_object_mut().unwrap().remove(member);
    }
    for (name, value) in body.as_object().unwrap() {
        forged[name] = value.clone();
    }
    folder.write("forged.jsonl", format!("{forged}\n"));
    (folder, forged)
}

#[test]
fn numbers_beyond_the_history_are_bad_input_with_their_line() {
    let bodies = [
        json!({"certificate":"commit-order","verdict":"holds","order":[1, 3]}),
        json!({"certificate":"commit-order","verdict":"holds","order":[0]}),
        json!({"certificate":"commit-order","verdict":"holds","order":[1, 2],"choices":[[9, 0]]}),
        json!({"certificate":"bad-read","verdict":"fails","read":{"kind":"thin-air","read":4}}),
        json!({"certificate":"proof","verdict":"fails","steps":[{"cycle":[{"from":1,"to":2,"kind":"ww","key":2}]}]}),
        json!({"certificate":"proof","verdict":"fails","steps":[{"clause":[{"before":[1, 7]}]}]}),
        json!({"certificate":"proof","verdict":"holds","steps":[]}),
        json!({"certificate":"commit-order","verdict":"holds"}),
        json!({"certificate":"magic","verdict":"holds"}),
        json!({"format":"parchment"}),
        json!({"level":"chaos"}),
        json!({"more":1}),
    ];
    for body in bodies {
        let (folder, _) = forge("forged_numbers", &body);
        let ran = folder.skew(&["check", "--verify", "forged.jsonl", "h.txt"]).expect(2);
        assert!(ran.err.contains("forged.jsonl: line 1: "), "{body}: {}", ran.err);
    }
}

#[test]
fn a_certificate_about_another_history_is_not_valid() {
    let (folder, _) = forge("other_history", &json!({"history_sha256":"00ff"}));
    let ran = folder.skew(&["check", "--verify", "forged.jsonl", "h.txt"]).expect(1);
    assert!(ran.out.contains("not valid: it is about another history"), "{}", ran.out);
    folder.write("other.txt", "a: w(x,1)\n");
    folder.skew(&["check", "--verify", "good.jsonl", "other.txt"]).expect(1);
    let json = folder.skew(&["check", "--verify", "good.jsonl", "other.txt", "--format", "json"]).expect(1).json();
    assert_eq!(json["certificates"][0]["valid"], false);
}

#[test]
fn a_cut_off_or_empty_certificate_is_bad_input() {
    let (folder, forged) = forge("cut_off", &json!({"certificate":"commit-order","verdict":"holds","order":[1, 2]}));
    let whole = forged.to_string();
    for end in [1, whole.len() / 2, whole.len() - 1] {
        folder.write("cut.jsonl", &whole[..end]);
        let ran = folder.skew(&["check", "--verify", "cut.jsonl", "h.txt"]).expect(2);
        assert!(ran.err.contains("cut.jsonl: line 1: not a certificate"), "{}", ran.err);
    }
    folder.write("empty.jsonl", "\n\n");
    folder.skew(&["check", "--verify", "empty.jsonl", "h.txt"]).expect(2);
    folder.skew(&["check", "--verify", "missing.jsonl", "h.txt"]).expect(2);
    folder.skew(&["check", "--verify", "good.jsonl", "missing.txt"]).expect(2);
    folder.skew(&["check", "--verify", "good.jsonl"]).expect(2);
}

#[test]
fn a_packed_history_has_the_same_hash() {
    let (folder, forged) = forge("packed_hash", &json!({}));
    let packed =
        folder.shell("gzip -c h.txt > packed.gz && skew check packed.gz --from notation --certificate packed.jsonl");
    packed.accepted();
    let first = folder.read("packed.jsonl").lines().next().unwrap().to_owned();
    let certificate: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(certificate["history_sha256"], forged["history_sha256"]);
}

#[test]
fn a_place_that_cannot_be_written_is_bad_input() {
    let folder = Folder::new("unwritable");
    folder.write("h.txt", SERIAL);
    let ran = folder.skew(&["check", "h.txt", "--certificate", "no/such/folder/c.jsonl"]).expect(2);
    let said = "no/such/folder/c.jsonl: cannot write it: No such file or directory";
    assert!(ran.err.contains(said) && ran.err.contains("check that the folder is there"), "{}", ran.err);
    let ran = folder.skew(&["check", "h.txt", "--save", "h.txt"]).expect(2);
    assert!(ran.err.contains("h.txt: cannot write it") && ran.err.contains("a file is in the way"), "{}", ran.err);
}
