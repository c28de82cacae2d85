//! Histories that random ones were made small to: statements whose kinds make no sense on their events, where fast algorithm and definition had
//! differed, or the fast one had not known.
//!
//! | what | decided |
//! |---|---|
//! | an INSERT, an upsert or a plain SELECT that is `gone` by somebody | cannot be: only who looks for rows to lock waits for one and then does not find it |
//! | rows that are written blindly, by statements that could not | the definition looks at what pairs of locks leave open |

use skew_check::spec::satisfies;
use skew_check::{AnomalyKind, Budget, IsolationLevel, Verdict, check, explain};
use skew_history::format::{Format, Source, read};
use skew_history::{EngineLevel, History};

fn history(lines: &[&str]) -> History {
    let text = lines.join("\n");
    read(&[Source { name: "odd.jsonl", bytes: text.as_bytes() }], Format::Native).unwrap()
}

/// The levels at which one server can show a history, by both, with certificates that hold.
fn shown_at(history: &History) -> Vec<EngineLevel> {
    let is_shown = |&level: &EngineLevel| {
        let level = IsolationLevel::Engine(level);
        let verdict = check(history, level, Budget::UNLIMITED);
        let is_certified = match &verdict {
            Verdict::Holds(order) => order.justifies(history, level),
            Verdict::Fails(anomaly) => anomaly.refutes(history, level),
            Verdict::Unknown(_) => false,
        };
        assert!(is_certified, "{level}: {verdict:?}");
        assert_eq!(verdict.holds(), satisfies(history, level), "{level}");
        verdict.holds()
    };
    EngineLevel::ALL.into_iter().filter(is_shown).collect()
}

fn gone_at(kind: &str) -> Vec<EngineLevel> {
    let statement =
        format!(r#"{{"session":"b","id":"t2","ops":[{{"r":"x","v":null,"gone":"t1","s":1,"kind":"{kind}"}}]}}"#);
    let replaces = r#"{"session":"a","id":"t1","ops":[{"r":"x","v":1,"s":1,"kind":"delete"},{"w":"x","v":null,"s":1,"kind":"delete"},{"r":"x","v":null,"s":2,"kind":"insert"},{"w":"x","v":2,"s":2,"kind":"insert"}]}"#;
    shown_at(&history(&[r#"{"skew":1,"initial":{"x":1}}"#, replaces, &statement]))
}

#[test]
fn only_who_looks_for_rows_to_lock_finds_one_gone() {
    for kind in ["update", "delete", "for-update", "for-share"] {
        assert_eq!(gone_at(kind), [EngineLevel::PostgresReadCommitted], "{kind}");
    }
    for kind in ["select", "insert", "upsert"] {
        assert_eq!(gone_at(kind), [], "{kind}");
    }
}

#[test]
fn a_row_that_was_passed_over_after_a_wait_had_been_written_since_by_somebody_even_if_blindly() {
    let history = history(&[
        r#"{"skew":1}"#,
        r#"{"session":"s0","id":"t1","ops":[{"w":"k/0","v":100,"kind":"for-share"}]}"#,
        r#"{"session":"s1","id":"t2","ops":[{"w":"k/1","v":200,"kind":"fk"}]}"#,
        r#"{"session":"s2","id":"t3","ops":[{"r":"k/0","v":null,"s":1,"kind":"for-no-key-update"},{"r":"k/1","found":true,"s":2,"kind":"delete","passed":true,"waited":true},{"r":"k/1","found":true,"s":3,"kind":"fk"},{"r":"k/0","v":null,"kind":"for-update","passed":true}]}"#,
        r#"{"session":"s3","id":"t4","ops":[{"r":"k/1","found":true,"kind":"update"},{"r":"k/1","v":200},{"r":"k/1","found":true,"s":3,"kind":"delete"},{"r":"k/0","v":100,"s":4,"kind":"for-update"}]}"#,
    ]);
    assert!(!shown_at(&history).contains(&EngineLevel::PostgresReadCommitted));
}

#[test]
fn gaps_that_a_write_of_another_kind_does_not_mind_are_read_before_it() {
    let history = history(&[
        r#"{"skew":1}"#,
        r#"{"session":"s0","id":"t1","ops":[{"r":"k/0","v":null,"s":1,"kind":"fk"},{"r":"k/1","v":null,"s":2,"kind":"delete"},{"scan":"k/","reads":[{"k":"k/0","v":null},{"k":"k/1","v":null}]}]}"#,
        r#"{"session":"s1","id":"t2","ops":[{"r":"k/1","v":null,"s":1,"kind":"for-update"},{"w":"k/0","v":201,"kind":"delete"}]}"#,
        r#"{"session":"s3","id":"t3","ops":[{"w":"k/1","v":null,"s":1,"kind":"for-update"},{"r":"k/0","v":201,"s":2,"kind":"insert"},{"w":"k/0","v":302,"s":3,"passed":true},{"r":"k/0","v":302,"kind":"insert"}]}"#,
        r#"{"session":"s3","id":"t4","ops":[{"r":"k/1","v":null,"s":1,"kind":"for-share"},{"r":"k/0","found":true,"s":2,"kind":"upsert"},{"w":"k/0","v":null,"s":3,"kind":"delete"},{"w":"k/0","v":403,"s":4,"kind":"fk"}]}"#,
    ]);
    assert_eq!(shown_at(&history), EngineLevel::ALL);
}

/// Seen on PostgreSQL: FOR KEY SHARE lets an UPDATE of other columns pass, and the next statement sees what that has committed.
#[test]
fn who_holds_on_to_a_key_sees_what_others_change_in_its_row_meanwhile() {
    for kind in ["update", "upsert"] {
        let change = format!(
            r#"{{"session":"a","id":"t1","ops":[{{"r":"x","v":10,"from":null,"s":1,"kind":"{kind}"}},{{"w":"x","v":11,"s":1,"kind":"{kind}"}}]}}"#
        );
        let history = history(&[
            r#"{"skew":1,"initial":{"x":10}}"#,
            &change,
            r#"{"session":"b","id":"t2","ops":[{"r":"x","v":10,"from":null,"s":1,"kind":"for-key-share"},{"r":"x","v":11,"from":"t1","s":2}]}"#,
        ]);
        assert_eq!(shown_at(&history), [EngineLevel::PostgresReadCommitted], "{kind}");
    }
}

/// Whether PostgreSQL's read committed can show what `a` sees of x (10, then 20 from `b`) and z (30): `b` changes x and keeps others off z.
fn waited(changes: &str, by_a: &str) -> bool {
    let history = history(&[
        r#"{"skew":1,"engine":"postgres","initial":{"x":10,"z":30}}"#,
        &format!(
            r#"{{"session":"b","id":"tb","ops":[{{"r":"x","v":10,"from":null,"s":1,"kind":"update"}},{{"w":"x","v":20,"s":1,"kind":"update"}},{changes}]}}"#
        ),
        &format!(r#"{{"session":"a","id":"ta","ops":[{by_a}]}}"#),
    ]);
    shown_at(&history).contains(&EngineLevel::PostgresReadCommitted)
}

/// Seen on PostgreSQL: however long FOR KEY SHARE waits, it returns each row as it was when the statement started.
#[test]
fn for_key_share_returns_rows_as_of_the_start_of_its_statement() {
    let of_x = looks(20, "tb", 2, "for-update");
    let initial = |value: u8, key: &str, statement: u8, kind: &str| {
        looks(value, "", statement, kind).replace(r#""r":"x""#, &format!(r#""r":"{key}""#)).replace(r#""""#, "null")
    };
    let of_z = initial(30, "z", 2, "for-update");
    let sees_old = initial(10, "x", 1, "for-key-share");
    let sees_new = looks(20, "tb", 1, "for-key-share");
    let then = |first: &[&String], next: String| {
        [&first.iter().map(|one| one.as_str()).collect::<Vec<_>>()[..], &[&next]].concat().join(",")
    };
    // It waits for the row itself,
    assert!(waited(&of_x, &then(&[&sees_old], looks(20, "tb", 2, "select"))));
    assert!(waited(&of_x, &then(&[&sees_new], looks(20, "tb", 2, "select"))));
    // or for another one, whichever comes first.
    let other = initial(30, "z", 1, "for-key-share");
    assert!(waited(&of_z, &then(&[&sees_old, &other], looks(20, "tb", 2, "select"))));
    assert!(waited(&of_z, &then(&[&other, &sees_old], looks(20, "tb", 2, "select"))));
    // A stronger lock reads when it is there, and what is seen stays seen.
    for kind in ["for-share", "for-no-key-update", "for-update"] {
        assert!(!waited(&of_x, &then(&[&initial(10, "x", 1, kind)], looks(20, "tb", 2, "select"))), "{kind}");
    }
    let back = initial(10, "x", 2, "for-key-share");
    assert!(!waited(&of_x, &then(&[&looks(20, "tb", 1, "select")], back.clone())));
    assert!(!waited(&of_x, &then(&[&sees_new], back)));
    // Who deletes the row leaves nothing to hold on to.
    let deletes = [looks(20, "tb", 2, "delete"), writes(0, 2, "delete").replace(r#""v":0"#, r#""v":null"#)].join(",");
    assert!(!waited(&deletes, &then(&[&sees_old], looks(0, "tb", 2, "select").replace(r#""v":0"#, r#""v":null"#))));
}

/// Seen on PostgreSQL: who had the row FOR UPDATE before, or changes an entry of a unique index, changes the key for FOR KEY SHARE, which looks again.
#[test]
fn for_key_share_returns_the_new_row_where_its_key_may_have_changed() {
    let entry = r#",{"w":"t@name/ann","v":null,"s":3,"kind":"update"}"#;
    // All of one statement: z is 31 before x is 20, so who has the new x has the old z only if it looked again at x.
    let seen_together = |before: &str, after: &str| {
        let history = history(&[
            r#"{"skew":1,"engine":"postgres","initial":{"x":10,"z":30,"t@name/ann":1}}"#,
            r#"{"session":"c","id":"tc","ops":[{"r":"z","v":30,"s":1,"kind":"update"},{"w":"z","v":31,"s":1,"kind":"update"}]}"#,
            &format!(
                r#"{{"session":"b","id":"tb","ops":[{{"r":"z","v":31,"s":1}},{{"r":"x","v":10,"s":2,"kind":"{before}"}},{{"r":"x","v":10,"s":3,"kind":"update"}},{{"w":"x","v":20,"s":3,"kind":"update"}}{after}]}}"#
            ),
            r#"{"session":"a","id":"ta","ops":[{"r":"x","v":20,"s":1,"kind":"for-key-share"},{"r":"z","v":30,"s":1,"kind":"for-key-share"}]}"#,
        ]);
        shown_at(&history).contains(&EngineLevel::PostgresReadCommitted)
    };
    assert!(seen_together("for-update", ""));
    assert!(seen_together("for-no-key-update", entry));
    assert!(!seen_together("for-no-key-update", ""));
    assert!(!seen_together("for-no-key-update", r#",{"r":"x","v":20,"s":4,"kind":"for-update"}"#));
}

#[test]
fn hundreds_who_hold_on_to_a_key_that_others_lock_and_change_are_decided() {
    let mut lines = vec![r#"{"skew":1,"engine":"postgres","initial":{"x":0}}"#.to_owned()];
    for number in 0..300 {
        let (old, new) = (number, number + 1);
        lines.push(format!(
            r#"{{"session":"b{}","ops":[{{"r":"x","v":{old},"s":1,"kind":"for-update"}},{{"r":"x","v":{old},"s":2,"kind":"update"}},{{"w":"x","v":{new},"s":2,"kind":"update"}}]}}"#,
            number % 7
        ));
        let seen = if number % 2 == 0 { old } else { new };
        lines.push(format!(
            r#"{{"session":"a{}","ops":[{{"r":"x","v":{seen},"s":1,"kind":"for-key-share"}},{{"r":"x","v":{new},"s":2}}]}}"#,
            number % 5
        ));
    }
    let history = history(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let level = IsolationLevel::Engine(EngineLevel::PostgresReadCommitted);
    let Verdict::Holds(order) = check(&history, level, Budget::UNLIMITED) else { panic!("it holds") };
    assert!(order.justifies(&history, level));
}

/// What `a` does to the row of x, which is 1, after it has locked it as `first` says and while `b` sets it to 2.
fn upgraded(first: &str, after: &[String], level: EngineLevel) -> bool {
    let first = format!(r#"{{"r":"x","v":1,"from":null,"s":1,"kind":"{first}"}}"#);
    let events = [&[first], after].concat().join(",");
    let history = history(&[
        r#"{"skew":1,"engine":"postgres","initial":{"x":1}}"#,
        r#"{"session":"b","id":"tb","ops":[{"r":"x","v":1,"from":null,"s":1,"kind":"update"},{"w":"x","v":2,"s":1,"kind":"update"}]}"#,
        &format!(r#"{{"session":"a","id":"ta","ops":[{events}]}}"#),
    ]);
    shown_at(&history).contains(&level)
}

fn looks(value: u8, from: &str, statement: u8, kind: &str) -> String {
    format!(r#"{{"r":"x","v":{value},"from":"{from}","s":{statement},"kind":"{kind}"}}"#)
}

fn writes(value: u8, statement: u8, kind: &str) -> String {
    format!(r#"{{"w":"x","v":{value},"s":{statement},"kind":"{kind}"}}"#)
}

/// Seen on PostgreSQL: FOR KEY SHARE lets an UPDATE of other columns pass, and what is asked for later locks what that has left.
#[test]
fn a_stronger_lock_of_a_row_is_behind_those_whom_the_weaker_one_let_pass() {
    let committed = EngineLevel::PostgresReadCommitted;
    for kind in ["for-share", "for-no-key-update", "for-update", "update", "delete"] {
        let lock = [looks(2, "tb", 3, kind)];
        assert!(upgraded("for-key-share", &lock, committed), "{kind}");
        let seen = [&[looks(2, "tb", 2, "select")], &lock[..]].concat();
        assert!(upgraded("for-key-share", &seen, committed), "{kind} of what was seen");
        // Repeatable read refuses it, and whoever has a share already lets nobody pass.
        assert!(!upgraded("for-key-share", &lock, EngineLevel::PostgresRepeatableRead), "{kind} of what has changed");
        assert!(!upgraded("for-share", &lock, committed), "{kind} after a share");
        // Nobody passes the stronger lock.
        let passed = [looks(1, "", 2, kind).replace(r#""from":"","#, r#""from":null,"#), looks(2, "tb", 3, "select")];
        assert!(!upgraded("for-key-share", &passed, committed), "{kind} before");
    }
}

#[test]
fn a_change_of_one_s_own_is_behind_those_whom_the_lock_of_the_key_let_pass() {
    let change = [looks(2, "tb", 2, "update"), writes(3, 2, "update"), looks(3, "ta", 3, "for-update")];
    assert!(upgraded("for-key-share", &change, EngineLevel::PostgresReadCommitted));
    assert!(!upgraded("for-key-share", &change, EngineLevel::PostgresRepeatableRead));
    assert!(!upgraded("for-share", &change, EngineLevel::PostgresReadCommitted));
    let lost = [looks(1, "", 2, "update").replace(r#""from":"","#, r#""from":null,"#), writes(3, 2, "update")];
    assert!(!upgraded("for-key-share", &lost, EngineLevel::PostgresReadCommitted));
}

fn named(history: &History, level: EngineLevel) -> AnomalyKind {
    let level = IsolationLevel::Engine(level);
    match check(history, level, Budget::UNLIMITED) {
        Verdict::Fails(anomaly) => explain(history, level, &anomaly, Budget::UNLIMITED).kind,
        verdict => panic!("{level}: {verdict:?}"),
    }
}

#[test]
fn two_updates_of_one_version_are_a_lost_update_also_where_somebody_had_looked_before() {
    let history = history(&[
        r#"{"skew":1,"initial":{"x":0}}"#,
        r#"{"session":"a","id":"t1","ops":[{"r":"x","v":0,"s":1,"kind":"update"},{"w":"x","v":1,"s":1,"kind":"update"}]}"#,
        r#"{"session":"b","id":"t2","ops":[{"r":"x","v":1,"s":1,"kind":"select"},{"r":"x","v":0,"s":2,"kind":"update"},{"w":"x","v":2,"s":2,"kind":"update"}]}"#,
    ]);
    for level in EngineLevel::ALL {
        assert_eq!(named(&history, level), AnomalyKind::LostUpdate, "{level}");
    }
}

#[test]
fn a_ring_of_nine_that_only_all_together_close_is_refuted_and_confirmed() {
    let ring = 9;
    let member = |number: usize| {
        let next = (number + 1) % ring;
        format!(
            r#"{{"session":"s{number}","ops":[{{"r":"x{number}","v":0,"s":1,"kind":"select"}},{{"r":"x{next}","v":0,"s":2,"kind":"update"}},{{"w":"x{next}","v":1,"s":2,"kind":"update"}}]}}"#
        )
    };
    let initial: Vec<String> = (0..ring).map(|number| format!(r#""x{number}":0"#)).collect();
    let mut lines = vec![format!(r#"{{"skew":1,"initial":{{{}}}}}"#, initial.join(","))];
    lines.extend((0..ring).map(member));
    let history = history(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let level = IsolationLevel::Engine(EngineLevel::PostgresSerializable);
    let Verdict::Fails(anomaly) = check(&history, level, Budget::UNLIMITED) else { panic!("it is not serializable") };
    assert!(anomaly.refutes(&history, level));
    let level = IsolationLevel::Engine(EngineLevel::PostgresRepeatableRead);
    assert!(check(&history, level, Budget::UNLIMITED).holds());
}

#[test]
fn a_schedule_of_thousands_is_walked_through_and_one_that_runs_backwards_is_not_believed() {
    let updates = |number: usize| {
        let session = number % 10;
        format!(
            r#"{{"session":"s{session}","ops":[{{"r":"x","v":{number},"s":1,"kind":"update"}},{{"w":"x","v":{},"s":1,"kind":"update"}},{{"r":"y","v":7,"s":2}}]}}"#,
            number + 1
        )
    };
    let mut lines = vec![r#"{"skew":1,"initial":{"x":0,"y":7}}"#.to_owned()];
    lines.extend((0..3_000).map(updates));
    let history = history(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    for level in EngineLevel::ALL.map(IsolationLevel::Engine) {
        let Verdict::Holds(mut order) = check(&history, level, Budget::UNLIMITED) else { panic!("{level} holds") };
        assert!(order.justifies(&history, level), "{level}");
        order.instants.reverse();
        assert!(!order.justifies(&history, level), "{level} backwards");
    }
}
