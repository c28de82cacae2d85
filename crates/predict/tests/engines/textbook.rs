//! Bugs of the textbook, recorded one transaction after the other on a server, and what each level of its engine would have made of them.

use skew_history::format::{Format, Source, read};
use skew_history::{Engine, History};
use skew_history::{EngineLevel, IsolationLevel};
use skew_predict::{Outlook, PredictQuestion, Work, predict};

fn history(engine: Engine, lines: &[&str]) -> History {
    let header = format!("{{\"skew\":1,\"engine\":\"{engine}\",\"initial\":{{\"x\":0,\"y\":0}}}}");
    let text = format!("{header}\n{}\n", lines.join("\n"));
    read(&[Source { name: "test", bytes: text.as_bytes() }], Format::Native).expect("a history")
}

fn ask(history: &History, level: EngineLevel) -> &'static str {
    let question = PredictQuestion::new(IsolationLevel::Engine(level));
    match predict(history, &question, &mut Work::rounds(10_000)) {
        Outlook::Found(..) => "found",
        Outlook::Nothing => "none",
        Outlook::Observed(_) => "observed",
        Outlook::Open(_) => "open",
        Outlook::Unknown => "unknown",
    }
}

fn answers(engine: Engine, lines: &[&str]) -> Vec<(&'static str, &'static str)> {
    let history = history(engine, lines);
    engine.levels().map(|level| (level.short(), ask(&history, level))).collect()
}

/// SELECT x, then UPDATE x, in two sessions.
const READ_THEN_UPDATE: [&str; 2] = [
    r#"{"session":"a","id":"t1","ops":[{"r":"x","v":0,"from":null,"s":1},{"r":"x","v":0,"from":null,"s":2,"kind":"update"},{"w":"x","v":1,"s":2,"kind":"update"}]}"#,
    r#"{"session":"b","id":"t2","ops":[{"r":"x","v":1,"from":"t1","s":1},{"r":"x","v":1,"from":"t1","s":2,"kind":"update"},{"w":"x","v":2,"s":2,"kind":"update"}]}"#,
];

/// SELECT x FOR UPDATE, then UPDATE x, in two sessions.
const LOCK_THEN_UPDATE: [&str; 2] = [
    r#"{"session":"a","id":"t1","ops":[{"r":"x","v":0,"from":null,"s":1,"kind":"for-update"},{"r":"x","v":0,"from":null,"s":2,"kind":"update"},{"w":"x","v":1,"s":2,"kind":"update"}]}"#,
    r#"{"session":"b","id":"t2","ops":[{"r":"x","v":1,"from":"t1","s":1,"kind":"for-update"},{"r":"x","v":1,"from":"t1","s":2,"kind":"update"},{"w":"x","v":2,"s":2,"kind":"update"}]}"#,
];

/// SELECT x and y, then UPDATE one of them.
const WRITE_SKEW: [&str; 2] = [
    r#"{"session":"a","id":"t1","ops":[{"r":"x","v":0,"from":null,"s":1},{"r":"y","v":0,"from":null,"s":1},{"r":"x","v":0,"from":null,"s":2,"kind":"update"},{"w":"x","v":1,"s":2,"kind":"update"}]}"#,
    r#"{"session":"b","id":"t2","ops":[{"r":"x","v":1,"from":"t1","s":1},{"r":"y","v":0,"from":null,"s":1},{"r":"y","v":0,"from":null,"s":2,"kind":"update"},{"w":"y","v":2,"s":2,"kind":"update"}]}"#,
];

/// One SELECT of x and y beside an UPDATE of both.
const TWO_ROWS_AT_ONCE: [&str; 2] = [
    r#"{"session":"a","id":"t1","ops":[{"r":"x","v":0,"from":null,"s":1,"kind":"update"},{"w":"x","v":1,"s":1,"kind":"update"},{"r":"y","v":0,"from":null,"s":2,"kind":"update"},{"w":"y","v":1,"s":2,"kind":"update"}]}"#,
    r#"{"session":"b","id":"t2","ops":[{"r":"x","v":1,"from":"t1","s":1},{"r":"y","v":1,"from":"t1","s":1}]}"#,
];

#[test]
fn a_read_that_is_written_back_loses_an_update_where_nobody_is_refused() {
    let postgres = answers(Engine::Postgres, &READ_THEN_UPDATE);
    assert_eq!(postgres, [("pg:rc", "found"), ("pg:rr", "none"), ("pg:ser", "none")]);
    let mysql = answers(Engine::Mysql, &READ_THEN_UPDATE);
    assert_eq!(mysql, [("mysql:rc", "found"), ("mysql:rr", "found"), ("mysql:si", "none"), ("mysql:ser", "none")]);
}

#[test]
fn who_locks_before_reading_loses_nothing_anywhere() {
    for engine in Engine::ALL {
        for (level, answer) in answers(engine, &LOCK_THEN_UPDATE) {
            assert_eq!(answer, "none", "{level}");
        }
    }
}

#[test]
fn write_skew_is_there_below_serializable() {
    let postgres = answers(Engine::Postgres, &WRITE_SKEW);
    assert_eq!(postgres, [("pg:rc", "found"), ("pg:rr", "found"), ("pg:ser", "none")]);
    let mysql = answers(Engine::Mysql, &WRITE_SKEW);
    assert_eq!(mysql, [("mysql:rc", "found"), ("mysql:rr", "found"), ("mysql:si", "found"), ("mysql:ser", "none")]);
}

#[test]
fn one_statement_sees_one_state_however_weak_the_level() {
    for engine in Engine::ALL {
        for (level, answer) in answers(engine, &TWO_ROWS_AT_ONCE) {
            assert_eq!(answer, "none", "{level}");
        }
    }
}

#[test]
fn what_a_statement_waited_for_leaves_it_open() {
    let lines = [
        r#"{"session":"a","id":"t1","ops":[{"r":"x","v":0,"from":null,"s":1,"kind":"update"},{"w":"x","v":1,"s":1,"kind":"update"}]}"#,
        r#"{"session":"b","id":"t2","ops":[{"r":"x","v":1,"from":"t1","s":1,"kind":"update","passed":true,"waited":true}]}"#,
    ];
    let (_, answer) = answers(Engine::Postgres, &lines)[0];
    assert_eq!(answer, "open");
}
