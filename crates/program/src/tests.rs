//! Programs read, run on the store in memory, and refused.
//!
//! Calls are run one after another, as a serial database would: what weak isolation makes of them is tested where the store is.

use super::*;
use crate::source::Source;
use crate::syntax::{LoopRow, Statement, StatementKind};
use skew_sql::MemoryStorage;
use skew_value::{Datum, Dialect, Place, SqlError, SqlState};

/// The body of a procedure `p` as text: one word per statement, blocks in parentheses.
fn shape(body: &str) -> Result<String, SqlError> {
    let source = Source::new(&format!("CREATE PROCEDURE p()\n{body}"), Dialect::MySql)?;
    let parsed = file_parser::parse(&source)?;
    Ok(parsed.procedures.iter().map(|procedure| told(&procedure.body, &source)).collect())
}

fn told(statement: &Statement, source: &Source) -> String {
    let all = |statements: &[Statement]| {
        let parts: Vec<String> = statements.iter().map(|statement| told(statement, source)).collect();
        format!("({})", parts.join(" "))
    };
    match &statement.kind {
        StatementKind::Block(_, body) => all(body),
        StatementKind::Declare { names, default, .. } => {
            format!("declare{}{}", names.len(), if default.is_some() { "=" } else { "" })
        }
        StatementKind::Set(assignments) => format!("set{}", assignments.len()),
        StatementKind::SelectInto { query, into, .. } => format!("[{}]>{}", source.text_of(query), into.len()),
        StatementKind::Sql(piece) => format!("[{}]", source.text_of(piece)),
        StatementKind::If { arms, otherwise, .. } => {
            let arms: Vec<String> =
                arms.iter().map(|(piece, body)| format!("{{{}}}{}", source.text_of(piece), all(body))).collect();
            format!(
                "if{}{}",
                arms.concat(),
                otherwise.as_deref().map(|body| format!("else{}", all(body))).unwrap_or_default()
            )
        }
        StatementKind::Case { subject, arms, .. } => format!("case{{{}}}{}", source.text_of(subject), arms.len()),
        StatementKind::While(_, condition, body) => format!("while{{{}}}{}", source.text_of(condition), all(body)),
        StatementKind::Loop(_, body) => format!("loop{}", all(body)),
        StatementKind::Repeat(_, body, until) => format!("repeat{}{{{}}}", all(body), source.text_of(until)),
        StatementKind::For { row, query, body, .. } => {
            let names = match row {
                LoopRow::Row(row) => row.text.clone(),
                LoopRow::Variables(names) => {
                    names.iter().map(|name| name.text.as_str()).collect::<Vec<&str>>().join(",")
                }
            };
            format!("for {names}{{{}}}{}", source.text_of(query), all(body))
        }
        StatementKind::Range { number, bounds, body, .. } => {
            let (from, to) = (source.text_of(&bounds.from), source.text_of(&bounds.to));
            format!("range {}{{{from}, {to}}}{}", number.text, all(body))
        }
        StatementKind::Leave(name) => format!("leave {}", name.text),
        StatementKind::Iterate(name) => format!("iterate {}", name.text),
        StatementKind::Signal { state, .. } => format!("signal {state}"),
        StatementKind::Rollback => "rollback".to_owned(),
        StatementKind::Savepoint(verb, name, _) => format!("{verb:?} {}", name.text),
        StatementKind::RowCount(name) => format!("count {}", name.text),
    }
}

#[test]
fn bodies_are_read_as_they_are_meant() {
    for (body, expected) in [
        ("BEGIN END", "()"),
        (
            "BEGIN SAVEPOINT a; RELEASE SAVEPOINT A; ROLLBACK WORK TO b; ROLLBACK; END",
            "(Set a Release a BackTo b rollback)",
        ),
        ("BEGIN DECLARE a, b INT DEFAULT 1; SET a = 1, b := (2, 3); END", "(declare2= set2)"),
        ("BEGIN SELECT REPLACE(x, y, z) INTO a FROM t; END", "([SELECT REPLACE(x, y, z)        FROM t]>1)"),
        ("BEGIN SELECT x INTO a FROM t; SELECT y FROM t; END", "([SELECT x        FROM t]>1 [SELECT y FROM t])"),
        ("BEGIN SELECT x, y FROM t INTO a, b FOR UPDATE; END", "([SELECT x, y FROM t           FOR UPDATE]>2)"),
        (
            "BEGIN IF CASE WHEN a THEN b ELSE c END THEN SET x = 1; ELSEIF (b) THEN ROLLBACK; ELSE INSERT INTO t VALUES (1); END IF; END",
            "(if{CASE WHEN a THEN b ELSE c END}(set1){(b)}(rollback)else([INSERT INTO t VALUES (1)]))",
        ),
        ("BEGIN CASE x WHEN 1 THEN SET a = 1; WHEN 2 THEN SET a = 2; END CASE; END", "(case{x}2)"),
        ("l: LOOP LEAVE l; ITERATE l; END LOOP l", "loop(leave l iterate l)"),
        ("BEGIN WHILE a < 3 DO SET a = a + 1; END WHILE; END", "(while{a < 3}(set1))"),
        ("BEGIN REPEAT SET a = 1; UNTIL a > 3 END REPEAT; END", "(repeat(set1){a > 3})"),
        (
            "BEGIN FOR r IN (SELECT a FROM t) DO UPDATE t SET a = r.a; END FOR; END",
            "(for r{(SELECT a FROM t)}([UPDATE t SET a = r.a]))",
        ),
        ("BEGIN START TRANSACTION; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; COMMIT; END", "(signal 45000)"),
        ("main: BEGIN GET DIAGNOSTICS n = ROW_COUNT; LEAVE main; END main", "(count n leave main)"),
    ] {
        assert_eq!(shape(body).unwrap(), expected, "{body}");
    }
}

#[test]
fn what_is_no_body_is_refused_with_its_place() {
    for (body, message, column) in [
        ("BEGIN SET a = 1 END", "expected ;", 20),
        ("BEGIN IF a THEN SET a = 1; END; END", "expected if", 31),
        ("BEGIN DECLARE EXIT HANDLER FOR NOT FOUND ROLLBACK; END", "HANDLER is not supported", 15),
        ("BEGIN DECLARE c CURSOR FOR SELECT 1; END", "a cursor is not supported", 17),
        ("BEGIN SET a = 1; DECLARE b INT; END", "DECLARE comes before", 18),
        ("BEGIN COMMIT; SET a = 1; END", "ending a transaction", 7),
        ("BEGIN SET a = 1) FROM t WHERE (1; END", "expected ;", 16),
        ("BEGIN SIGNAL SQLSTATE '4500'; END", "is no SQLSTATE", 23),
        ("BEGIN l: SET a = 1; END", "after the label", 10),
        ("BEGIN CALL q(); END", "CALL inside a procedure", 7),
        ("BEGIN VACUUM; END", "VACUUM in a procedure", 7),
        ("AS $$ BEGIN END $$", "PL/pgSQL", 1),
        ("BEGIN SET a = 'open", "unterminated", 15),
    ] {
        let error = shape(body).unwrap_err();
        assert!(error.message.contains(message), "{body}: {}", error.message);
        assert_eq!(error.place, Some(Place { line: 2, column }), "{body}: {}", error.message);
    }
}

#[test]
fn nesting_has_an_end() {
    let deep = format!("{}{}", "BEGIN ".repeat(10_000), "END; ".repeat(10_000));
    assert_eq!(shape(&deep).unwrap_err().state, SqlState::TOO_COMPLEX);
}

#[test]
fn the_parts_of_a_file_come_in_order() {
    let parse =
        |text: &str| file_parser::parse(&Source::new(text, Dialect::MySql)?).map(|program| program.schema.len());
    assert_eq!(parse("CREATE TABLE t (a INT); ; INSERT INTO t VALUES (1)"), Ok(2));
    for (text, message) in [
        ("CALL p();", "CALL belongs to a session"),
        ("SESSION a: CALL p(); CREATE TABLE t (a INT);", "expected SESSION, ASSERT or the end"),
        ("SESSION a: SELECT 1;", "expected CALL"),
        ("SESSION a: CALL p() AT once;", "there is no isolation level once"),
        ("ASSERT x: 1;", "expected the name of the assertion in quotes"),
        ("ASSERT 'x' 1;", "expected :"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.message.contains(message), "{text}: {}", error.message);
    }
}

/// Runs all calls of a program one after another, session by session, and returns the results and the final state.
fn serially(program: &Program, most_steps: u64) -> Result<(Results, MemoryStorage, Vec<String>), SqlError> {
    let mut storage = program.initial().1.clone();
    let mut results = Results::new(program.scripts());
    let mut told = Vec::new();
    for (session, script) in program.scripts().iter().enumerate() {
        let mut client = Client::new(program, session);
        let mut sql = program.session();
        for call in 0..script.calls.len() {
            let mut run = client.start(program, call, most_steps)?;
            storage.begin();
            let ending = loop {
                match run.step(&mut sql, &mut storage).map_err(bind::error_of)? {
                    Step::Continue => {}
                    Step::Done(ending) => break ending,
                }
            };
            let (outcome, hands_out) = match &ending {
                Ending::Commit => (CallOutcome::Committed, true),
                Ending::Rollback => (CallOutcome::Aborted, true),
                Ending::Signal { state, message, .. } => {
                    told.push(format!("{state} {message}"));
                    (CallOutcome::Aborted, false)
                }
            };
            if outcome == CallOutcome::Committed {
                storage.commit()
            } else {
                storage.rollback()
            }
            results.set(session, call, client.finish(program, call, &run, outcome, hands_out));
        }
    }
    Ok((results, storage, told))
}

/// The fields of the only call of a procedure whose body is given, as text.
fn fields_in(dialect: &str, body: &str) -> String {
    let text = format!(
        "-- dialect: {dialect}\nCREATE TABLE t (id INT PRIMARY KEY, n INT, s VARCHAR(20));
         INSERT INTO t VALUES (1, 10, 'one'), (2, 20, 'two'), (3, 30, 'three');
         CREATE PROCEDURE p(IN a INT, INOUT b INT, OUT c INT)\n{body};
         SESSION x: CALL p(7, @b, @c);"
    );
    let program = Program::parse(&text).unwrap_or_else(|error| panic!("{body}: {error} {:?}", error.place));
    let (results, _, told) = serially(&program, 1_000).unwrap_or_else(|error| panic!("{body}: {error}"));
    let procedure = &program.procedures()[0];
    let result = results.get(0, 0).unwrap();
    let show = |(field, value): (&Field, &Datum)| {
        let value =
            if value.is_null() { "NULL".into() } else { skew_value::output(value, &field.sql_type, program.dialect()) };
        format!("{}={value}", field.name)
    };
    let mut shown: Vec<String> = procedure.fields.iter().zip(&result.fields).map(show).collect();
    shown.extend(told);
    format!("{} {}", result.outcome.word(), shown.join(" "))
}

#[test]
fn procedures_do_what_mariadb_does() {
    for (body, expected) in [
        ("BEGIN SET c = a + 1, b = c * 2; END", "committed b=16 c=8"),
        ("BEGIN DECLARE x, y INT DEFAULT a; DECLARE z INT; SET c = x + y; END", "committed b=NULL c=14 x=7 y=7 z=NULL"),
        ("BEGIN SELECT n, id INTO b, c FROM t WHERE id = 2; END", "committed b=20 c=2"),
        ("BEGIN SET c = 5; SELECT n INTO c FROM t WHERE id = 9; END", "committed b=NULL c=5"),
        (
            "BEGIN IF a > 7 THEN SET c = 1; ELSEIF a = 7 THEN SET c = 2; ELSE SET c = 3; END IF; END",
            "committed b=NULL c=2",
        ),
        ("BEGIN IF b > 7 THEN SET c = 1; ELSE SET c = 3; END IF; END", "committed b=NULL c=3"),
        ("BEGIN CASE a WHEN 1 THEN SET c = 1; WHEN 3 + 4 THEN SET c = 2; END CASE; END", "committed b=NULL c=2"),
        ("BEGIN CASE WHEN a < 7 THEN SET c = 1; ELSE SET c = 9; END CASE; END", "committed b=NULL c=9"),
        (
            "BEGIN CASE a WHEN 1 THEN SET c = 1; END CASE; END",
            "aborted b=NULL c=NULL 20000 no WHEN of the CASE matches",
        ),
        ("BEGIN SET c = 0; WHILE c < 5 DO SET c = c + 1; END WHILE; END", "committed b=NULL c=5"),
        ("BEGIN SET c = 0; REPEAT SET c = c + 1; UNTIL c >= 3 END REPEAT; END", "committed b=NULL c=3"),
        (
            "BEGIN SET c = 0, b = 0; l: LOOP SET c = c + 1; IF c > 9 THEN LEAVE l; END IF; IF c % 2 = 0 THEN ITERATE l; END IF; SET b = b + c; END LOOP l; END",
            "committed b=25 c=10",
        ),
        (
            "BEGIN SET c = 0; FOR r IN (SELECT n, id FROM t ORDER BY id) DO SET c = c * 10 + r.n / 10 + r.id; END FOR; END",
            "committed b=NULL c=246",
        ),
        ("BEGIN SET c = 1; BEGIN DECLARE c INT DEFAULT c + 1; SET b = c; END; END", "committed b=2 c=1"),
        (
            "BEGIN UPDATE t SET n = 0 WHERE id < 3; SET c = ROW_COUNT(); DELETE FROM t; GET DIAGNOSTICS b = ROW_COUNT; END",
            "committed b=3 c=2",
        ),
        ("BEGIN SET c = 1; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END", "aborted b=NULL c=1 45000 no"),
        ("BEGIN SET c = 1; ROLLBACK; SET c = 2; END", "aborted b=NULL c=1"),
        ("main: BEGIN SET c = 1; LEAVE main; SET c = 2; END", "committed b=NULL c=1"),
        ("BEGIN INSERT INTO t VALUES (a, a, 'x'); SELECT COUNT(*) INTO c FROM t; END", "committed b=NULL c=4"),
        ("BEGIN SET c = (SELECT SUM(n) FROM t WHERE id <> a); END", "committed b=NULL c=60"),
    ] {
        for dialect in ["mysql", "postgres"] {
            assert_eq!(fields_in(dialect, body), expected, "{dialect}: {body}");
        }
    }
}

#[test]
fn the_first_example_runs_and_its_assertion_holds_one_after_another() {
    let program = Program::parse(include_str!("../../../examples/withdraw.sql")).unwrap();
    let (results, mut storage, _) = serially(&program, MOST_STEPS).unwrap();
    assert_eq!(results.get(0, 0).unwrap().fields, [60, 100].map(Datum::Integer));
    assert_eq!(results.get(1, 0).unwrap().fields, [0, 40].map(Datum::Integer));
    let holds = |results: &Results, storage: &mut MemoryStorage| {
        program.assertions()[0].holds(&mut program.session(), results, storage).unwrap()
    };
    assert!(holds(&results, &mut storage));
    assert!(!holds(&results, &mut program.initial().1.clone()), "nothing was withdrawn");
    assert!(!holds(&Results::new(program.scripts()), &mut storage), "NULL fails");
}

#[test]
fn what_a_call_hands_out_another_takes() {
    let text = "CREATE PROCEDURE p(IN a INT, OUT b INT) BEGIN SET b = a * 2; END;
        SESSION s: CALL p(1 + 2, @x); CALL p(@x, @x); CALL p(@x, @y) AT read-committed;
        ASSERT 'doubled': s[3].b = 24 AND s[1].outcome = 'committed';";
    let program = Program::parse(text).unwrap();
    assert_eq!(program.scripts()[0].calls[2].level, Some(skew_history::IsolationLevel::ReadCommitted));
    let (results, mut storage, _) = serially(&program, MOST_STEPS).unwrap();
    assert!(program.assertions()[0].holds(&mut program.session(), &results, &mut storage).unwrap());
}

#[test]
fn a_program_that_names_no_dialect_is_postgresqls_and_one_in_mysqls_is_told_which_line_it_lacks() {
    let program = "CREATE TABLE t (id INT PRIMARY KEY); SESSION s: CALL p();";
    let with =
        |body: &str| Program::parse(&program.replace(" SESSION", &format!("CREATE PROCEDURE p() {body}; SESSION")));
    assert_eq!(with("BEGIN END").unwrap().dialect(), Dialect::Postgres);
    let only_mysql = "BEGIN INSERT INTO `t` VALUES (1) ON DUPLICATE KEY UPDATE id = id; END";
    let hint = with(only_mysql).unwrap_err().hint.unwrap_or_default();
    assert!(hint.contains("`-- dialect: mysql`"), "{hint}");
    assert!(with("BEGIN UPDATE nowhere SET n = 1; END").unwrap_err().hint.is_none(), "wrong in both");
}

#[test]
fn a_loop_without_end_is_stopped_at_its_place() {
    let text = "CREATE PROCEDURE p()\nBEGIN\n  WHILE 1 = 1 DO BEGIN END; END WHILE;\nEND; SESSION s: CALL p();";
    let program = Program::parse(text).unwrap();
    let error = serially(&program, 100).unwrap_err();
    assert_eq!((error.state, error.place.map(|place| place.line)), (SqlState::LIMIT_EXCEEDED, Some(3)));
}

#[test]
fn programs_that_cannot_run_are_refused_before_they_run() {
    let schema = "CREATE TABLE t (id INT PRIMARY KEY, n INT);\n";
    for (rest, message, line, column) in [
        ("CREATE PROCEDURE p()\nBEGIN UPDATE t SET m = 1; END;", "m", 3, 0),
        ("CREATE PROCEDURE p()\nBEGIN\n SELECT n\n INTO x\n FROM t; END;", "there is no variable x", 5, 7),
        ("CREATE PROCEDURE p() BEGIN DECLARE x INT; SELECT id, n INTO x FROM t; END;", "2 columns", 2, 61),
        ("CREATE PROCEDURE p() BEGIN DECLARE x INT; DECLARE x INT; END;", "declared twice", 2, 51),
        ("CREATE PROCEDURE p() BEGIN LEAVE l; END;", "no block or loop", 2, 34),
        ("CREATE PROCEDURE p() BEGIN END; CREATE PROCEDURE p() BEGIN END;", "created twice", 2, 50),
        ("CREATE PROCEDURE p() BEGIN END; SESSION s: CALL q();", "there is no procedure q", 2, 49),
        ("CREATE PROCEDURE p() BEGIN END; SESSION s: CALL p(1);", "has 0 parameters, the call gives 1", 2, 49),
        ("CREATE PROCEDURE p(IN a INT) BEGIN END; SESSION s: CALL p(@x);", "no earlier call", 2, 59),
        ("CREATE PROCEDURE p(OUT a INT) BEGIN END; SESSION s: CALL p(1);", "OUT parameter", 2, 60),
        ("CREATE PROCEDURE p(IN a INT) BEGIN END; SESSION s: CALL p((SELECT 1 FROM t));", "reads a table", 2, 59),
        ("CREATE PROCEDURE p() BEGIN END; SESSION s: CALL p(); SESSION S: CALL p();", "two sessions", 2, 62),
        ("CREATE PROCEDURE p() BEGIN END; SESSION s: CALL p(); ASSERT 'a': s[2].outcome = 'x';", "no call 2", 2, 66),
        ("CREATE PROCEDURE p() BEGIN END; SESSION s: CALL p(); ASSERT 'a': s[1].y = 1;", "hands out no y", 2, 66),
        ("CREATE PROCEDURE p() BEGIN END; SESSION s: CALL p(); ASSERT 'a': r[1].y = 1;", "no session r", 2, 66),
        ("ASSERT 'a': (SELECT m FROM t) = 1;", "m", 2, 0),
        ("INSERT INTO t VALUES (1, 1), (1, 2);", "", 2, 0),
    ] {
        let error = Program::parse(&format!("{schema}{rest}")).err().unwrap_or_else(|| panic!("accepted: {rest}"));
        assert!(error.message.contains(message), "{rest}: {}", error.message);
        // Where SQL itself is wrong, the column is that of the statement or of the name.
        let found = if column == 0 { 0 } else { error.place.column };
        assert_eq!((error.place.line, found), (line, column), "{rest}: {}", error.message);
        assert!(!error.line.is_empty(), "{rest}");
    }
}

#[test]
fn a_flow_tells_conditions_from_values_and_tests_for_null_from_uses() {
    let text = "CREATE TABLE t (id INT PRIMARY KEY, n INT, most INT);
        CREATE PROCEDURE p(IN x INT)
        BEGIN
          DECLARE a, b INT;
          SELECT MAX(n), MIN(n) INTO a, b FROM t WHERE most > x;
          UPDATE t SET n = n + a WHERE id = x AND n < most;
          IF a IS NULL OR b > 3 THEN SIGNAL SQLSTATE '45000'; END IF;
        END;";
    let program = Program::parse(text).unwrap();
    let flow = program.procedures()[0].flow();
    let told = |statement: &str| flow.iter().find(|step| step.text.starts_with(statement)).expect("a step");
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names.join(" ")
    };
    let (select, update) = (&told("SELECT").touches, &told("UPDATE").touches);
    assert!(select.aggregates && !update.aggregates);
    assert_eq!(sorted(select.tables[0].condition.clone()), "most");
    assert_eq!(sorted(update.tables[0].condition.clone()), "id most n");
    let uses = |step: &FlowStep| -> Vec<(usize, bool)> {
        let mut uses: Vec<_> = step.touches.variables.iter().map(|one| (one.slot, one.by_value())).collect();
        uses.sort_unstable();
        uses
    };
    // Slot 0 is the row count, then come x, a and b.
    assert_eq!(uses(told("UPDATE")), [(1, true), (2, true)]);
    assert_eq!(uses(told("a IS NULL")), [(2, false), (3, true)]);
}

#[test]
fn savepoints_take_back_what_came_behind_them() {
    for (body, expected) in [
        ("SAVEPOINT a; UPDATE t SET n = 0; ROLLBACK TO a; SELECT SUM(n) INTO c FROM t;", "c=60"),
        ("SAVEPOINT a; UPDATE t SET n = 0; RELEASE SAVEPOINT a; SELECT SUM(n) INTO c FROM t;", "c=0"),
        (
            "UPDATE t SET n = 1; SAVEPOINT a; DELETE FROM t; ROLLBACK WORK TO SAVEPOINT a; SELECT SUM(n) INTO c FROM t;",
            "c=3",
        ),
        // It stays, and those behind it go.
        (
            "SAVEPOINT a; SAVEPOINT b; DELETE FROM t; ROLLBACK TO a; UPDATE t SET n = 5; ROLLBACK TO a; SELECT SUM(n) INTO c FROM t;",
            "c=60",
        ),
    ] {
        for dialect in ["mysql", "postgres"] {
            let fields = fields_in(dialect, &format!("BEGIN {body} END"));
            assert_eq!(fields, format!("committed b=NULL {expected}"), "{dialect}: {body}");
        }
    }
}

#[test]
fn a_savepoint_that_is_not_there_is_an_error_with_its_place() {
    let again = "SAVEPOINT a; SAVEPOINT a; RELEASE SAVEPOINT a; ROLLBACK TO a;";
    assert!(fields_in("postgres", &format!("BEGIN {again} END")).starts_with("committed"));
    for (dialect, body, state) in [
        ("postgres", "SAVEPOINT a; RELEASE a; ROLLBACK TO a;", "3B001"),
        ("postgres", "SAVEPOINT a; SAVEPOINT b; ROLLBACK TO a; ROLLBACK TO b;", "3B001"),
        ("mysql", again, "42000"),
    ] {
        let text = format!("-- dialect: {dialect}\nCREATE PROCEDURE p()\nBEGIN {body}\nEND;\nSESSION x: CALL p();");
        let program = Program::parse(&text).unwrap_or_else(|error| panic!("{body}: {error}"));
        let error = serially(&program, 1_000).expect_err("there is none");
        assert_eq!((error.state.0, error.place.map(|place| place.line)), (state, Some(3)), "{body}");
    }
}
