//! Runs that PostgreSQL's serializable should refuse, and where it may not notice: each was seen on a live server, or refused there, as it says.

use skew_check::spec::{allows_engine_levels, might_allow_engine_levels};
use skew_check::{Budget, Doubt, IsolationLevel, Verdict, check};
use skew_history::{EngineLevel, History, notation};

const LEVEL: IsolationLevel = IsolationLevel::Engine(EngineLevel::PostgresSerializable);

/// What the checker says, which is what the definition says with all attention and with the least.
fn verdict(text: &str) -> Verdict {
    let history = notation::parse(text).unwrap_or_else(|error| panic!("{error:?}"));
    let verdict = check(&history, LEVEL, Budget::UNLIMITED);
    let levels = vec![EngineLevel::PostgresSerializable; history.transaction_count()];
    assert_eq!(verdict.holds(), allows_engine_levels(&history, &levels, true), "{text}");
    assert_eq!(verdict.fails(), !might_allow_engine_levels(&history, &levels, true), "{text}");
    verdict
}

fn may_go_unnoticed(text: &str) -> bool {
    verdict(text).doubt() == Some(Doubt::MayGoUnnoticed)
}

/// The same with the level that each transaction declares.
fn declared(text: &str) -> (History, Verdict) {
    let history = notation::parse(text).unwrap_or_else(|error| panic!("{error:?}"));
    let verdict = check(&history, IsolationLevel::Declared, Budget::UNLIMITED);
    (history, verdict)
}

#[test]
fn a_key_that_was_freed_after_the_snapshot_may_be_taken_without_notice() {
    // Seen: b deleted the row by another unique index. Refused: b deleted it by its primary key.
    assert!(may_go_unnoticed(
        "init(w,0) init(t/2,2)
         a: r(w,init)@1:select r(t/2,nil)@2:insert w(t/2,9)@2:insert
         b: r(w,init)@1:update w(w,5)@1:update r(t/2,init)@2:delete w(t/2,nil)@2:delete"
    ));
}

#[test]
fn who_deletes_by_the_primary_key_is_noticed_where_the_history_says_so() {
    // Entries of the other index are told, and the DELETE has not read one.
    let text = "init(w,0) init(t/2,2) init(t@name/b,2)
        a: r(w,init)@1:select r(t/2,nil)@2:insert w(t/2,9)@2:insert w(t@name/c,2)@2:insert
        b: r(w,init)@1:update w(w,5)@1:update r(t/2,init)@2:delete w(t/2,nil)@2:delete w(t@name/b,nil)@2:delete";
    assert!(verdict(text).fails());
    let by_name = text.replace("r(t/2,init)@2:delete", "r(t@name/b,init)@2:delete r(t/2,init)@2:delete");
    assert!(may_go_unnoticed(&by_name));
    let looked_before = by_name.replace("@2:delete", "@3:delete").replace("r(t@name", "r(t/2,init)@2:select r(t@name");
    assert!(verdict(&looked_before).fails());
}

#[test]
fn who_has_looked_for_a_key_that_is_not_there_is_noticed() {
    // Two who look, each inserts what the other has not found.
    assert!(
        verdict(
            "a: r(t/1,nil)@1:select r(t/2,nil)@2:insert w(t/2,9)@2:insert
             b: r(t/2,nil)@1:select r(t/1,nil)@2:insert w(t/1,9)@2:insert"
        )
        .fails()
    );
    // The row comes and goes in between: b has looked for it all the same.
    assert!(
        verdict(
            "init(w,0)
             a: r(w,init)@1:select r(t/2,nil)@2:insert w(t/2,9)@2:insert
             b: r(w,init)@1:update w(w,5)@1:update r(t/2,nil)@2:select r(t/2,nil)@3:insert w(t/2,7)@3:insert r(t/2,7)@4:delete w(t/2,nil)@4:delete"
        )
        .fails()
    );
}

#[test]
fn a_cycle_of_three_goes_on_where_nobody_takes_a_freed_key() {
    // Refused: t and c miss each other's changes, and a was the first to commit, whatever t inserts.
    assert!(
        verdict(
            "init(u,0) init(v,0) init(z,0)
             t: r(v,init)@1:select r(z,init)@2:update w(z,1)@2:update
             c: r(u,init)@1:select r(v,init)@2:update w(v,9)@2:update
             a: r(z,init)@1:select r(u,init)@2:update w(u,5)@2:update"
        )
        .fails()
    );
}

#[test]
fn an_insert_that_fails_has_not_read_that_its_key_was_free() {
    // Seen: a's INSERT found its key free and another one taken, in a savepoint; then b took the key.
    assert!(may_go_unnoticed(
        "init(w,0) init(t@name/b,2)
         a: r(t/9,nil)@1:insert r(t@name/b,init)@1:insert r(w,init)@2:update w(w,1)@2:update
         b: r(w,init)@1:select r(t/9,nil)@2:insert w(t/9,9)@2:insert"
    ));
}

#[test]
fn what_somebody_at_another_level_changed_in_between_hides_who_changed_it_later() {
    // Seen with n at repeatable read; with n at serializable r is refused.
    let text = "init(x,0) init(y,0)
        r: r(x,init)@1:select r(y,init)@2:update w(y,7)@2:update @pg:ser
        n: r(x,init)@1:update w(x,1)@1:update @LEVEL
        t: r(x,1)@1:update w(x,2)@1:update r(y,init)@2:select @pg:ser";
    let (history, verdict) = declared(&text.replace("LEVEL", "pg:rr"));
    assert_eq!(verdict.doubt(), Some(Doubt::MayGoUnnoticed), "{}", notation::write(&history));
    assert!(declared(&text.replace("LEVEL", "pg:ser")).1.fails());
}

#[test]
fn write_skew_of_blind_writes_is_found_among_many_transactions() {
    // Hundreds who write x and y one after another, without having read them, and two who each read what the other writes.
    let write = |session: &str, from: usize| {
        let writes: Vec<String> = (from..from + 100).map(|number| format!("w(x,{number}) w(y,{number})")).collect();
        format!("{session}: {}", writes.join(" | "))
    };
    let skew = "b: r(x,99) r(y,99) w(y,1001)\nc: r(x,99) r(y,99) w(x,1002)";
    let history = notation::parse(&format!("{}\n{skew}", write("a", 0))).unwrap_or_else(|error| panic!("{error:?}"));
    let verdict = check(&history, LEVEL, Budget::UNLIMITED);
    assert!(verdict.fails(), "{verdict:?}");
}
