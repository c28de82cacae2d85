//! What was observed is understood as the checker understands it: unknown outcomes, lists, equal values, reads that nothing explains.

use crate::{LEVELS, ask, history, word};
use skew_chance::Random;
use skew_predict::{PredictQuestion, Strategy};
use std::fmt::Write;

/// The answers of all levels with both boundaries.
fn answers(text: &str, even_if_bad: bool) -> Vec<&'static str> {
    let observed = history(text);
    let mut answers = Vec::new();
    for strategy in [Strategy::ExactStrict, Strategy::ExactRelaxed] {
        for level in LEVELS {
            let question = PredictQuestion { strategy, even_if_bad, ..PredictQuestion::new(level) };
            answers.push(word(&ask(&observed, &question)));
        }
    }
    answers
}

#[test]
fn who_must_have_committed_is_as_good_as_who_did() {
    // Only the checker knows that b read from a: what c wrote comes later, and has the same value.
    let unknown = answers("a: w(x,1) ?; b: r(x,1) w(y,1); c: r(y,1) w(x,1)", false);
    assert_eq!(unknown, answers("a: w(x,1); b: r(x,1) w(y,1); c: r(y,1) w(x,1)", false));
    assert!(unknown.contains(&"found"), "{unknown:?}");
    let bad = "a: r(x,init) w(x,1) ?; b: r(x,1) w(x,2); c: r(x,1) w(x,3)";
    assert_eq!(answers(bad, true), answers(&bad.replace(" ?", ""), true));
}

#[test]
fn equal_elements_of_a_list_hide_nothing() {
    let lost = "a: r(x,init) w(x,1); b: r(x,1) w(x,2)";
    let listed = "a: append(l,1) r(x,init) w(x,1); b: append(l,1) r(x,1) w(x,2); c: r(l,[1 1])";
    let relaxed = |text| answers(text, false).split_off(LEVELS.len());
    // Both append, so the levels that let nobody overwrite what it has not seen are those that have nothing either way.
    assert_eq!(relaxed(lost)[..4], ["found"; 4]);
    assert_eq!(relaxed(listed)[..2], ["found"; 2]);
}

#[test]
fn a_read_that_nothing_explains_is_said_and_not_predicted_from() {
    let lost = "a: r(x,init) w(x,1); b: r(x,1) w(x,2)";
    for bad in ["c: r(z,99)", "c: w(z,99) !; d: r(z,99)", "c: w(z,1) w(z,2); d: r(z,1)"] {
        assert_eq!(answers(&format!("{lost}; {bad}"), true), ["observed"; 12], "{bad}");
    }
}

/// A serial run on a list and a register, and the same with a register in place of the list: who appends has read what is there, under a
/// lock, and writes it back. The last one reads the list, so that it is known who appended after whom.
fn twofold_run(random: &mut Random) -> (String, String) {
    let sessions = 2 + random.index(2);
    let mut texts = vec![(String::new(), String::new()); sessions];
    let (mut list, mut register, mut version) = (Vec::<u32>::new(), "init".to_owned(), 0);
    for _ in 0..3 + random.index(3) {
        let (listed, plain) = &mut texts[random.index(sessions)];
        let apart = if listed.is_empty() { "" } else { " | " };
        listed.push_str(apart);
        plain.push_str(apart);
        let mut appends = false;
        for _ in 0..1 + random.index(3) {
            version += 1;
            let last = list.last().map_or_else(|| "init".to_owned(), u32::to_string);
            let (of_list, of_register) = match random.index(4) {
                0 => {
                    let read = if appends { String::new() } else { format!("lock r(l,{last}) ") };
                    (list, appends) = ([list, vec![version]].concat(), true);
                    (format!("append(l,{version}) "), format!("{read}w(l,{version}) "))
                }
                1 => (format!("r(l,{}) ", shown(&list)), format!("r(l,{last}) ")),
                2 => (format!("r(x,{register}) "), format!("r(x,{register}) ")),
                _ => {
                    register = version.to_string();
                    (format!("w(x,{version}) "), format!("w(x,{version}) "))
                }
            };
            listed.push_str(&of_list);
            plain.push_str(&of_register);
        }
    }
    let (mut lists, mut registers) = (String::new(), String::new());
    for (number, (listed, plain)) in texts.iter().enumerate().filter(|(_, (listed, _))| !listed.is_empty()) {
        writeln!(lists, "s{number}: {listed}").expect("a text");
        writeln!(registers, "s{number}: {plain}").expect("a text");
    }
    let last = list.last().map_or_else(|| "init".to_owned(), u32::to_string);
    (format!("{lists}z: r(l,{})\n", shown(&list)), format!("{registers}z: r(l,{last})\n"))
}

fn shown(list: &[u32]) -> String {
    format!("[{}]", list.iter().map(u32::to_string).collect::<Vec<String>>().join(" "))
}

#[test]
fn lists_are_predicted_as_registers_that_are_read_and_written_back() {
    let mut found = 0;
    for seed in 0..300 {
        let (lists, registers) = twofold_run(&mut Random::new(seed));
        let of_lists = answers(&lists, false);
        assert_eq!(of_lists, answers(&registers, false), "seed {seed}:\n{lists}and\n{registers}");
        found += of_lists.iter().filter(|&&word| word == "found").count();
    }
    assert!(found > 100, "{found}");
}
