//! SQL programs at the levels of the engines: what everybody ought to know about them, as numbers of runs and of refusals.

use crate::refused::is_as_checked;
use skew_check::{Budget, spec};
use skew_explore::{Abort, CallLeft, Options, Place, RunAnswer, Search, SqlOptions, SqlProgram};
use skew_history::{EngineLevel, IsolationLevel};
use skew_program::Program;
use std::cell::Cell;
use std::collections::BTreeMap;

use EngineLevel::*;

pub(crate) const LEVELS: [EngineLevel; 6] = [
    PostgresReadCommitted,
    PostgresRepeatableRead,
    PostgresSerializable,
    MysqlReadCommitted,
    MysqlRepeatableRead,
    MysqlSerializable,
];

/// What was found.
#[derive(Default, Debug)]
pub(crate) struct Found {
    /// Runs in which nobody is refused.
    pub(crate) histories: u64,
    /// In how many runs somebody is refused with which code, duplicates included.
    refused: BTreeMap<String, u64>,
    /// In how many runs which assertion fails.
    pub(crate) violated: BTreeMap<String, u64>,
}

/// All runs with their schedules, as a search finds them that remembers states in so many bytes.
fn in_order(program: &SqlProgram, level: EngineLevel, memory: usize) -> Vec<String> {
    let options = Options { memory, ..Options::new(IsolationLevel::Engine(level)) };
    let mut search = Search::new(program, options).expect("a program");
    let mut found = Vec::new();
    while let Some(run) = search.next_run().expect("it runs") {
        found.push(format!("{} {} {}", run.subtree(), run.is_again(), run.pattern()));
    }
    found
}

pub(crate) fn explore(text: &str, level: EngineLevel) -> Found {
    let dialect = level.engine().name();
    let program = Program::parse(&format!("-- dialect: {dialect}\n{text}")).unwrap_or_else(|error| panic!("{error:?}"));
    let program = SqlProgram::new(program, SqlOptions::default());
    let options = Options::new(IsolationLevel::Engine(level));
    let all = in_order(&program, level, 0);
    for memory in [options.memory, 5_000] {
        assert_eq!(in_order(&program, level, memory), all, "{level}, {memory} bytes for states that were met: {text}");
    }
    let mut search = Search::new(&program, options).expect("a program");
    let mut found = Found::default();
    while let Some(run) = search.next_run().expect("it runs") {
        if run.answer(Budget::steps(1_000_000)) != RunAnswer::Holds || run.is_again() {
            continue;
        }
        let history = run.history().expect("a history");
        is_as_checked(&run);
        let levels = vec![level; history.transaction_count()];
        if history.transaction_count() <= 3 && run.refusals().is_empty() {
            assert!(spec::allows_engine_levels(&history, &levels, false), "{level}: {}", run.pattern());
        }
        let scripts = program.program().scripts().iter().enumerate();
        let places =
            scripts.flat_map(|(session, script)| (0..script.calls.len()).map(move |number| Place { session, number }));
        let left: Vec<(Place, &CallLeft)> = places.map(|place| (place, run.left(place).expect("it ended"))).collect();
        let states = |left: &CallLeft| match &left.abort {
            Some(Abort::Error(error)) if error.state.0 == "23505" => Some("23505"),
            _ => None,
        };
        let mut codes: Vec<&str> = run.refusals().into_iter().map(|(_, code)| code).collect();
        codes.extend(left.iter().filter_map(|(_, left)| states(left)));
        codes.sort_unstable();
        codes.dedup();
        found.histories += u64::from(codes.is_empty());
        codes.into_iter().for_each(|code| *found.refused.entry(code.to_owned()).or_default() += 1);
        for state in run.final_states(1_000, Budget::steps(1_000_000)).expect("final states") {
            for violated in program.violated(left.iter().copied(), state) {
                let name = &program.program().assertions()[violated.assertion].name;
                *found.violated.entry(name.clone()).or_default() += 1;
            }
        }
    }
    found
}

pub(crate) fn codes(found: &Found) -> Vec<&str> {
    found.refused.keys().map(String::as_str).collect()
}

const UPSERT: &str = "
    CREATE TABLE kv (id INT PRIMARY KEY, v INT NOT NULL);
    CREATE PROCEDURE upsert(IN value INT)
    BEGIN
      DECLARE changed INT;
      UPDATE kv SET v = value WHERE id = 1;
      GET DIAGNOSTICS changed = ROW_COUNT;
      IF changed = 0 THEN
        INSERT INTO kv VALUES (1, value);
      END IF;
    END;
    SESSION ann: CALL upsert(1);
    SESSION bob: CALL upsert(2);";

#[test]
fn the_textbook_upsert_is_refused_by_a_duplicate_or_by_a_deadlock() {
    let all: Vec<(EngineLevel, Vec<String>)> = LEVELS
        .into_iter()
        .map(|level| (level, codes(&explore(UPSERT, level)).into_iter().map(str::to_owned).collect()))
        .collect();
    let expected = [
        (PostgresReadCommitted, vec!["23505"]),
        (PostgresRepeatableRead, vec!["23505"]),
        // Somebody is refused before it comes to a duplicate.
        (PostgresSerializable, vec![]),
        (MysqlReadCommitted, vec!["23505"]),
        (MysqlRepeatableRead, vec!["1213"]),
        (MysqlSerializable, vec!["1213"]),
    ];
    for (level, codes) in expected {
        let found = &all.iter().find(|one| one.0 == level).expect("a level").1;
        assert_eq!(*found, codes, "{level}");
    }
}

#[test]
fn at_postgresqls_serializable_a_duplicate_is_told_where_the_other_one_had_not_looked() {
    let blind = UPSERT.replace("CALL upsert(2)", "CALL insert_blindly(2)").replace(
        "SESSION ann",
        "CREATE PROCEDURE insert_blindly(IN value INT) BEGIN INSERT INTO kv VALUES (1, value); END; SESSION ann",
    );
    assert_eq!(codes(&explore(&blind, PostgresSerializable)), ["23505"]);
}

#[test]
fn upserts_of_different_keys_in_one_gap_are_a_deadlock_on_innodb() {
    let other = UPSERT.replace("CALL upsert(2)", "CALL upsert_other(2)").replace(
        "SESSION ann",
        "CREATE PROCEDURE upsert_other(IN value INT)
        BEGIN
          UPDATE kv SET v = value WHERE id = 7;
          INSERT INTO kv VALUES (7, value);
        END;
        SESSION ann",
    );
    for (level, codes_told) in
        [(MysqlReadCommitted, vec![]), (MysqlRepeatableRead, vec!["1213"]), (MysqlSerializable, vec!["1213"])]
    {
        assert_eq!(codes(&explore(&other, level)), codes_told, "{level}");
    }
    // With a row between them they have gaps of their own.
    let apart = other.replace("CREATE PROCEDURE upsert(", "INSERT INTO kv VALUES (5, 0); CREATE PROCEDURE upsert(");
    assert!(codes(&explore(&apart, MysqlRepeatableRead)).is_empty());
}

#[test]
fn who_only_holds_on_to_a_key_sees_what_a_plain_read_sees() {
    let text = "
        CREATE TABLE kv (id INT PRIMARY KEY, v INT NOT NULL);
        INSERT INTO kv VALUES (1, 0);
        CREATE PROCEDURE change() BEGIN UPDATE kv SET v = 1 WHERE id = 1; END;
        CREATE PROCEDURE look() BEGIN SELECT v FROM kv WHERE id = 1 FOR KEY SHARE; END;
        SESSION ann: CALL change();
        SESSION bob: CALL look();";
    for level in [PostgresReadCommitted, PostgresRepeatableRead, PostgresSerializable] {
        let found = explore(text, level);
        assert_eq!((found.histories, codes(&found)), (2, vec![]), "{level}");
    }
}

#[test]
fn whether_there_is_a_record_behind_a_range_depends_on_who_inserts_it() {
    let text = "
        CREATE TABLE kv (id INT PRIMARY KEY, v INT NOT NULL);
        INSERT INTO kv VALUES (1, 10), (3, 30);
        CREATE PROCEDURE add_one() BEGIN SELECT v FROM kv WHERE id = 1; INSERT INTO kv VALUES (4, 1); END;
        CREATE PROCEDURE look()
        BEGIN
          SELECT id FROM kv WHERE id BETWEEN 2 AND 3 FOR UPDATE;
          SELECT id FROM kv;
        END;
        SESSION ann: CALL add_one();
        SESSION bob: CALL look();";
    assert_eq!(explore(text, MysqlReadCommitted).histories, 2);
}

/// One looks over all rows and has to wait for the last; meanwhile another one comes before that, which it has passed.
const BEHIND: &str = "
    CREATE TABLE kv (id INT PRIMARY KEY, v INT NOT NULL);
    INSERT INTO kv VALUES (1, 10), (3, 30);
    CREATE PROCEDURE change() BEGIN UPDATE kv SET v = 31 WHERE id = 3; INSERT INTO kv VALUES (2, 20); END;
    CREATE PROCEDURE look(OUT rows_seen INT, OUT last_seen INT)
    BEGIN
      SELECT COUNT(*), MAX(v) INTO rows_seen, last_seen FROM (SELECT v FROM kv FOR UPDATE) AS seen;
    END;
    SESSION ann: CALL change();
    SESSION bob: CALL look(@rows_seen, @last_seen);
    ASSERT 'both or neither': bob[1].rows_seen IS NULL OR (bob[1].rows_seen = 3) = (bob[1].last_seen = 31);";

#[test]
fn a_scan_of_innodb_that_has_waited_goes_on_from_where_it_stands() {
    let found = LEVELS.map(|level| explore(BEHIND, level));
    let seen = found.each_ref().map(|one| (one.histories, codes(one), one.violated.values().sum::<u64>()));
    let expected = [
        // The snapshot has no row 2, and the row that is waited for is looked at again.
        (3, vec![], 1),
        (2, vec!["40001"], 0),
        (2, vec!["40001"], 0),
        // The row that came while it waited lies behind it.
        (3, vec![], 1),
        // Who waits for a row has asked for the gap before it.
        (2, vec!["1213"], 0),
        (2, vec!["1213"], 0),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_scan_of_innodb_comes_to_what_is_inserted_before_it_gets_there() {
    let ahead = BEHIND.replace("VALUES (2, 20)", "VALUES (4, 20)");
    let found = explore(&ahead, MysqlReadCommitted);
    assert_eq!((found.histories, found.violated.len()), (2, 0), "{found:?}");
    let downwards = BEHIND.replace("FROM kv FOR UPDATE", "FROM kv ORDER BY id DESC LIMIT 9 FOR UPDATE");
    let found = explore(&downwards, MysqlReadCommitted);
    assert_eq!((found.histories, found.violated.len()), (2, 0), "{found:?}");
}

/// One changes row 3, and another one comes along later, as the third shows, and before it has committed.
const GLANCE: &str = "
    CREATE TABLE kv (id INT PRIMARY KEY, v INT NOT NULL, w INT NOT NULL);
    INSERT INTO kv VALUES (1, 10, 0), (3, 30, 0);
    CREATE PROCEDURE change(OUT before INT)
    BEGIN UPDATE kv SET v = 10 WHERE id = 3; SELECT v INTO before FROM kv WHERE id = 1; END;
    CREATE PROCEDURE come_between() BEGIN UPDATE kv SET v = 11 WHERE id = 1; END;
    CREATE PROCEDURE come_along(OUT since INT, OUT changed INT)
    BEGIN
      SELECT v INTO since FROM kv WHERE id = 1;
      UPDATE kv SET w = w + 1 WHERE v = 10;
      SET changed = ROW_COUNT();
    END;
    SESSION ann: CALL change(@before);
    SESSION bob: CALL come_between();
    SESSION cid: CALL come_along(@since, @changed);
    ASSERT 'row 3 is waited for': ann[1].before IS NULL OR cid[1].changed IS NULL
      OR ann[1].before <> 10 OR cid[1].since <> 11 OR cid[1].changed > 0;";

#[test]
fn an_update_of_innodb_passes_over_what_does_not_qualify_while_somebody_changes_it() {
    let fails = |text: &str, level| !explore(text, level).violated.is_empty();
    assert!(fails(GLANCE, MysqlReadCommitted) && !fails(GLANCE, MysqlRepeatableRead));
    let inserting = GLANCE.replace("UPDATE kv SET v = 10 WHERE id = 3", "INSERT INTO kv VALUES (2, 10, 0)");
    assert!(fails(&inserting, MysqlReadCommitted));
    // Whoever seeks by key waits, and so does a DELETE.
    let by_key = GLANCE.replace("WHERE v = 10", "WHERE id = 3 AND v = 10");
    let deleting = GLANCE.replace("UPDATE kv SET w = w + 1 WHERE", "DELETE FROM kv WHERE");
    assert!(!fails(&by_key, MysqlReadCommitted) && !fails(&deleting, MysqlReadCommitted));
}

#[test]
fn what_a_scan_has_seen_is_not_what_its_transaction_inserts_later() {
    let text = "
        CREATE TABLE kv (id INT PRIMARY KEY, v INT NOT NULL);
        INSERT INTO kv VALUES (1, 10), (3, 30);
        CREATE PROCEDURE add_one(OUT seen INT)
        BEGIN
          SELECT COUNT(*) INTO seen FROM kv;
          INSERT INTO kv VALUES (5, 50);
          UPDATE kv SET v = 51 WHERE id = 5;
        END;
        SESSION ann: CALL add_one(@seen);
        ASSERT 'two': ann[1].seen = 2;";
    for level in LEVELS {
        let found = explore(text, level);
        assert_eq!((found.histories, found.violated.len()), (1, 0), "{level}: {found:?}");
    }
}

/// The next invoice has the highest number plus one, and that row is locked while it is read.
const NUMBERED: &str = include_str!("../../../../examples/bugs/07-invoice-number/wrong-fix.sql");

#[test]
fn locking_the_highest_row_of_innodb_makes_others_wait_and_nothing_else() {
    // The scan begins at the row that is there, and comes to the end of the table when it has that.
    for level in [MysqlReadCommitted, MysqlRepeatableRead, MysqlSerializable] {
        let found = explore(NUMBERED, level);
        assert_eq!((found.histories, found.violated.len(), codes(&found)), (2, 0, vec![]), "{level}");
    }
    // Before the row there is the gap that who waits for it has asked for.
    let below = NUMBERED.replace("make_invoice(11)", "make_invoice(9)");
    assert_eq!(codes(&explore(&below, MysqlRepeatableRead)), ["1213"]);
    assert!(codes(&explore(&below, MysqlReadCommitted)).is_empty());
}

#[test]
fn locking_the_highest_row_by_an_index_of_innodb_is_a_deadlock_above_read_committed() {
    let indexed = NUMBERED.replace("number INT NOT NULL)", "number INT NOT NULL, KEY (number))");
    for level in [MysqlRepeatableRead, MysqlSerializable] {
        let found = explore(&indexed, level);
        assert!(found.violated.is_empty(), "{level}: {found:?}");
        assert_eq!(codes(&found), ["1213"], "{level}");
    }
    let found = explore(&indexed, MysqlReadCommitted);
    assert!(codes(&found).is_empty() && found.violated.len() == 1, "{found:?}");
}

const INCREMENT: &str = "
    CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL);
    INSERT INTO account VALUES (1, 0);
    CREATE PROCEDURE pay()
    BEGIN
      DECLARE so_far INT;
      SELECT balance INTO so_far FROM account WHERE id = 1;
      UPDATE account SET balance = so_far + 1 WHERE id = 1;
    END;
    SESSION ann: CALL pay();
    SESSION bob: CALL pay();
    ASSERT 'nothing is lost unless somebody was told':
      (SELECT balance FROM account WHERE id = 1)
        = (CASE WHEN ann[1].outcome = 'committed' THEN 1 ELSE 0 END) + (CASE WHEN bob[1].outcome = 'committed' THEN 1 ELSE 0 END);";

#[test]
fn read_then_update_loses_an_update_or_is_refused() {
    let numbers = LEVELS.map(|level| {
        let found = explore(INCREMENT, level);
        (found.histories, found.refused.values().sum::<u64>(), found.violated.values().sum::<u64>())
    });
    assert_eq!(numbers, [(4, 0, 2), (2, 2, 0), (2, 2, 0), (4, 0, 2), (4, 0, 2), (2, 2, 0)]);
}

const CHILDREN: &str = "
    CREATE TABLE parent (id INT PRIMARY KEY, v INT NOT NULL);
    CREATE TABLE child (id INT PRIMARY KEY, parent INT NOT NULL);
    INSERT INTO parent VALUES (1, 0);
    CREATE PROCEDURE add_only_child(IN number INT)
    BEGIN
      DECLARE found, children INT;
      SELECT v INTO found FROM parent WHERE id = 1 FOR UPDATE;
      SELECT COUNT(*) INTO children FROM child WHERE parent = 1;
      IF children = 0 THEN
        INSERT INTO child VALUES (number, 1);
      END IF;
    END;
    SESSION ann: CALL add_only_child(1);
    SESSION bob: CALL add_only_child(2);
    ASSERT 'one child': (SELECT COUNT(*) FROM child) = 1;";

#[test]
fn lock_the_parent_then_count_is_wrong_at_postgres_repeatable_read_only() {
    for level in LEVELS {
        let found = explore(CHILDREN, level);
        let fails = found.violated.contains_key("one child");
        assert_eq!(fails, level == PostgresRepeatableRead, "{level}: {found:?}");
    }
}

const REPLACED: &str = "
    CREATE TABLE kv (id INT PRIMARY KEY, v INT NOT NULL);
    INSERT INTO kv VALUES (1, 0);
    CREATE PROCEDURE save() BEGIN DELETE FROM kv WHERE id = 1; INSERT INTO kv VALUES (1, 5); END;
    CREATE PROCEDURE change() BEGIN UPDATE kv SET v = v + 100 WHERE id = 1; END;
    SESSION ann: CALL save();
    SESSION bob: CALL change();";

#[test]
fn delete_and_insert_again_makes_a_waiting_update_find_nothing_at_postgres_read_committed() {
    let histories = LEVELS.map(|level| explore(REPLACED, level).histories);
    assert_eq!(histories, [3, 2, 2, 2, 2, 2]);
}

const SCANS: &str = "
    CREATE TABLE kv (id INT PRIMARY KEY, v INT NOT NULL);
    INSERT INTO kv VALUES (1, 0), (2, 0);
    CREATE PROCEDURE grow() BEGIN INSERT INTO kv VALUES (3, 1); UPDATE kv SET v = 7 WHERE id = 1; END;
    CREATE PROCEDURE look(OUT one INT, OUT two INT)
    BEGIN
      SELECT SUM(v) INTO one FROM kv;
      SELECT COUNT(*) INTO two FROM kv;
    END;
    SESSION ann: CALL grow();
    SESSION bob: CALL look(@one, @two);";

/// Two sessions that take what a query gives, read a row, and write what they computed from it.
fn counting(lock: &str) -> String {
    format!(
        "
    CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL);
    CREATE TABLE c (id INT PRIMARY KEY, t INT NOT NULL);
    INSERT INTO t VALUES (1, 10), (3, 30);
    INSERT INTO c VALUES (1, 3);
    CREATE PROCEDURE count_up()
    BEGIN
      DECLARE found, old INT;
      SELECT t.id INTO found FROM t {lock} FOR UPDATE;
      SELECT v INTO old FROM t WHERE id = 1;
      UPDATE t SET v = old + 1 WHERE id = 1;
    END;
    SESSION ann: CALL count_up();
    SESSION bob: CALL count_up();
    ASSERT 'both counted': (SELECT v FROM t WHERE id = 1) = 12;"
    )
}

#[test]
fn postgresql_locks_the_rows_that_a_query_gives_and_no_others() {
    let frees = ["JOIN c ON c.t = t.id WHERE t.id = 1", ", c WHERE c.t = t.id AND t.id < 3", "WHERE id = 1 AND v = 30"];
    for lock in frees {
        let found = explore(&counting(lock), PostgresReadCommitted);
        assert!(found.violated.contains_key("both counted"), "{lock}: {found:?}");
    }
    let holds = [
        "JOIN c ON c.t = t.id WHERE t.id = 3",
        "LEFT JOIN c ON c.t = t.id WHERE t.id = 1",
        "WHERE t.id IN (SELECT t FROM c)",
        "ORDER BY v DESC LIMIT 1",
        "ORDER BY v DESC, id LIMIT 1 OFFSET 0",
    ];
    for lock in holds {
        let of = if lock.starts_with("LEFT") {
            counting(lock).replace("FOR UPDATE", "FOR UPDATE OF t")
        } else {
            counting(lock)
        };
        let found = explore(&of, PostgresReadCommitted);
        assert!(found.violated.is_empty(), "{lock}: {found:?}");
    }
}

#[test]
fn a_row_that_a_limit_leaves_out_is_free_for_who_takes_it_by_its_key() {
    let by_key = "CREATE PROCEDURE by_key()
        BEGIN
          DECLARE old INT;
          SELECT v INTO old FROM t WHERE id = 1 FOR UPDATE;
          UPDATE t SET v = old + 1 WHERE id = 1;
        END;
        SESSION ";
    let program = |limit: &str| {
        let text = counting(limit).replace("SESSION bob: CALL count_up();", "SESSION bob: CALL by_key();");
        text.replacen("SESSION ", by_key, 1)
    };
    let lost = |limit: &str| explore(&program(limit), PostgresReadCommitted).violated.contains_key("both counted");
    assert!(lost("ORDER BY v DESC LIMIT 1"));
    assert!(!lost("ORDER BY v LIMIT 1"));
    assert!(!lost("ORDER BY v LIMIT 1 OFFSET 1"), "what is passed over is locked");
}

#[test]
fn the_histories_of_rows_that_are_locked_after_a_wait_are_allowed() {
    let query = |text: &str| {
        format!(
            "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL);
            CREATE TABLE c (id INT PRIMARY KEY, t INT NOT NULL);
            INSERT INTO t VALUES (1, 10), (3, 30), (5, 50);
            INSERT INTO c VALUES (1, 1), (2, 3);
            CREATE PROCEDURE take() BEGIN {text}; SELECT id, v FROM t ORDER BY id; END;
            CREATE PROCEDURE change()
            BEGIN
              UPDATE t SET v = 1 WHERE id = 5;
              DELETE FROM t WHERE id = 3;
              UPDATE c SET t = 5 WHERE id = 1;
            END;
            SESSION ann: CALL take();
            SESSION bob: CALL change();"
        )
    };
    let texts = [
        "SELECT t.id, t.v, c.id FROM t JOIN c ON c.t = t.id ORDER BY t.v DESC FOR UPDATE",
        "SELECT t.id, t.v, c.id FROM t JOIN c ON c.t = t.id WHERE t.v > 5 ORDER BY c.id FOR SHARE OF c",
        "SELECT id, v FROM t WHERE v > 5 ORDER BY v DESC LIMIT 1 FOR UPDATE",
        "SELECT id, v FROM t ORDER BY v LIMIT 1 OFFSET 1 FOR UPDATE",
    ];
    for text in texts {
        for level in [PostgresReadCommitted, PostgresRepeatableRead, PostgresSerializable] {
            let found = explore(&query(text), level);
            assert!(found.histories > 1, "{text}, {level}: {found:?}");
        }
    }
}

#[test]
fn statements_of_read_committed_see_one_state_each() {
    let histories = LEVELS.map(|level| explore(SCANS, level).histories);
    assert_eq!(histories, [3, 2, 2, 3, 2, 2]);
}

#[test]
fn a_search_that_is_stopped_between_two_runs_goes_on_where_it_was() {
    let program = Program::parse(SCANS).expect("a program");
    let program = SqlProgram::new(program, SqlOptions::default());
    for level in [IsolationLevel::Engine(PostgresReadCommitted), IsolationLevel::Causal] {
        let mut search = Search::new(&program, Options::new(level)).expect("a search");
        let mut all = 0;
        while search.next_run().expect("a run").is_some() {
            all += 1;
        }
        let (mut stopped, asked) = (Search::new(&program, Options::new(level)).expect("a search"), Cell::new(0));
        let every_other = || {
            asked.set(asked.get() + 1);
            asked.get() % 2 == 0
        };
        let mut found = 0;
        while !stopped.frontier().is_empty() {
            found += usize::from(stopped.next_run_unless(&every_other).expect("no trouble").is_some());
        }
        assert_eq!(found, all, "{level}");
    }
}

#[test]
fn levels_of_two_kinds_are_refused_together() {
    let text = SCANS.replace("CALL grow();", "CALL grow() AT serializable;");
    let Ok(program) = Program::parse(&text) else { return };
    let program = SqlProgram::new(program, SqlOptions::default());
    let refusal = Search::new(&program, Options::new(IsolationLevel::Engine(PostgresReadCommitted))).err();
    let told = refusal.map(|error| error.to_string()).unwrap_or_default();
    assert!(told.contains("cannot be explored together"), "{told}");
}

/// One adds a child, the other deletes its parent.
fn family(action: &str) -> String {
    format!(
        "CREATE TABLE parent (id INT PRIMARY KEY);
CREATE TABLE child (id INT PRIMARY KEY, parent INT NOT NULL, FOREIGN KEY (parent) REFERENCES parent (id) {action});
INSERT INTO parent VALUES (1);
CREATE PROCEDURE born() BEGIN INSERT INTO child VALUES (1, 1); END;
CREATE PROCEDURE gone() BEGIN DELETE FROM parent WHERE id = 1; END;
SESSION a: CALL born();
SESSION b: CALL gone();
ASSERT 'nobody is an orphan': NOT EXISTS (SELECT 1 FROM child WHERE parent NOT IN (SELECT id FROM parent));"
    )
}

#[test]
fn a_child_that_was_committed_since_is_seen_by_who_deletes_its_parent() {
    for level in LEVELS {
        for action in ["ON DELETE CASCADE", ""] {
            let found = explore(&family(action), level);
            assert!(found.violated.is_empty(), "{level} {action}: {found:?}");
            assert!(found.histories >= 2, "{level} {action}: {found:?}");
        }
    }
    // The snapshot of the one that deletes has no such child, so that it cannot be deleted with its parent; seen live.
    let cascading = explore(&family("ON DELETE CASCADE"), PostgresRepeatableRead);
    assert!(cascading.refused.contains_key("40001"), "{cascading:?}");
}
