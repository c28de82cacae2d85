//! Functions in PL/pgSQL do here what they do on PostgreSQL: each call is made there and as a program, and returns the same, or the same error.

use crate::{client, installed};
use skew_program::{CallOutcome, Client, Ending, MOST_STEPS, Program, Step};
use skew_sql::Stop;
use skew_value::{Dialect, output};
use skew_workload::connection::Connection;
use skew_workload::servers::PostgresServer;

const TABLE: &str = "CREATE TABLE item (id INT PRIMARY KEY, stock INT NOT NULL, name TEXT);
INSERT INTO item VALUES (1, 10, 'one'), (2, 20, 'two'), (3, 30, NULL);
";

/// Functions, and the calls of them in order.
const FUNCTIONS: [(&str, &[&str]); 8] = [
    (
        "CREATE FUNCTION taken(thing int, amount int DEFAULT 3) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  UPDATE item SET stock = stock - amount WHERE id = thing AND stock >= $2;
  IF NOT FOUND THEN RETURN 0; END IF;
  RETURN taken.amount;
END $$;",
        &["taken(1)", "taken(1, 9)", "taken(1, 7)", "taken(7)"],
    ),
    (
        "CREATE FUNCTION sought(thing int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE n int := 7; told text;
BEGIN
  SELECT n + stock INTO n FROM item WHERE id >= thing ORDER BY id;
  told := CASE WHEN FOUND THEN 'found' ELSE 'not' END;
  RETURN coalesce(n::text, 'nothing') || told;
END $$;",
        &["sought(1)", "sought(3)", "sought(4)", "sought(NULL)"],
    ),
    (
        "CREATE FUNCTION strictly(thing int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  SELECT stock INTO STRICT n FROM item WHERE id >= thing;
  RETURN n;
END $$;",
        &["strictly(3)", "strictly(4)", "strictly(1)"],
    ),
    (
        "CREATE FUNCTION rows_of(thing int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  p item%ROWTYPE;
  r record;
  v_name item.name%TYPE DEFAULT 'none';
BEGIN
  SELECT * INTO p FROM item WHERE id = thing;
  IF p IS NULL THEN
    RETURN 'no row';
  ELSIF p.stock > 10 THEN
    SELECT stock + 1 AS more, name INTO r FROM item WHERE id = thing;
    p.stock := r.more;
  END IF;
  v_name := coalesce(p.name, v_name) || CASE WHEN p IS NOT NULL THEN 'whole' ELSE '' END;
  RETURN v_name || coalesce(p.stock, 0);
END $$;",
        &["rows_of(1)", "rows_of(2)", "rows_of(3)", "rows_of(9)"],
    ),
    (
        "CREATE FUNCTION rounds(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; told text := ''; v_id int; v_stock int; k int := n;
BEGIN
  FOR i IN REVERSE n..1 BY 2 LOOP
    CONTINUE WHEN i = 3;
    told := told || i;
  END LOOP;
  IF FOUND THEN told := told || '?'; END IF;
  <<all_of_it>>
  FOR r IN SELECT id FROM item WHERE id < k ORDER BY id LOOP
    FOR j IN 1..r.id LOOP
      EXIT all_of_it WHEN r.id = 3;
      told := told || '.';
    END LOOP;
  END LOOP;
  IF NOT FOUND THEN told := told || '!'; END IF;
  FOR v_id, v_stock IN SELECT id, stock FROM item ORDER BY id DESC LOOP
    told := told || v_id || ':' || v_stock || ' ';
  END LOOP;
  LOOP
    k := k - 1;
    EXIT WHEN k <= 0;
  END LOOP;
  WHILE k < 2 LOOP k = k + 1; END LOOP;
  CASE k WHEN 1, 2 THEN told := told || k; END CASE;
  RETURN told;
END $$;",
        &["rounds(7)", "rounds(0)", "rounds(1)"],
    ),
    (
        "CREATE FUNCTION raised(n int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  ASSERT n > 0, 'not so few';
  CASE n
    WHEN 1 THEN RAISE NOTICE 'one: %', n;
    WHEN 2 THEN RAISE EXCEPTION 'two' USING ERRCODE = '45000';
    WHEN 4 THEN RAISE 'four';
  END CASE;
  RETURN n;
EXCEPTION WHEN others THEN RAISE;
END $$;",
        &["raised(1)", "raised(0)", "raised(2)", "raised(3)", "raised(4)"],
    ),
    (
        "CREATE FUNCTION counted(thing int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE n int; rest int := 5;
BEGIN
  PERFORM 1 FROM item WHERE id >= thing;
  GET DIAGNOSTICS n = ROW_COUNT;
  UPDATE item SET stock = stock - 1 WHERE id = thing RETURNING stock INTO rest;
  BEGIN
    DECLARE n int := n + 100;
    BEGIN
      thing := n;
    END;
  END;
  RETURN n || ' ' || coalesce(rest, -1) || ' ' || thing;
END $$;",
        &["counted(2)", "counted(4)"],
    ),
    (
        "CREATE FUNCTION several() RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  DELETE FROM item WHERE id > 1 RETURNING id INTO n;
  RETURN n;
END $$;",
        &["several()"],
    ),
];

/// What a call returns on the server: a text, or the code of an error.
fn there(connection: &mut dyn Connection, call: &str) -> String {
    match connection.type_in(&format!("SELECT coalesce(({call})::text, 'NULL')")) {
        Ok(answer) => answer.rows[0].text(0).unwrap_or_else(|failure| panic!("{call}: {failure}")).to_owned(),
        Err(objection) => format!("{objection:?}"),
    }
}

/// What each call returns here.
fn here(function: &str, calls: &[&str]) -> Vec<String> {
    let session: String = calls.iter().map(|call| format!(" CALL {call};")).collect();
    let program = Program::parse(&format!("{TABLE}{function}\nSESSION s:{session}"));
    let program = program.unwrap_or_else(|error| panic!("{}: {error}\n{function}", error.place.line));
    let (mut session, mut storage) = (program.session(), program.initial().1.clone());
    let mut client = Client::new(&program, 0);
    let mut told = Vec::new();
    for (number, call) in program.scripts()[0].calls.iter().enumerate() {
        let mut run = client.start(&program, number, MOST_STEPS).expect("a call");
        let before = storage.clone();
        let failed = loop {
            match run.step(&mut session, &mut storage) {
                Ok(Step::Continue) => {}
                Ok(Step::Done(Ending::Signal { state, .. })) => break Some(state),
                Ok(Step::Done(_)) => break None,
                Err(Stop::Error(error)) => break Some(error.state.0.to_owned()),
                Err(interrupted) => panic!("{interrupted:?}"),
            }
        };
        let result = client.finish(&program, number, &run, CallOutcome::Committed, true);
        let field = &program.procedures()[call.procedure].fields[0];
        let shown = match result.fields[0].is_null() {
            true => "NULL".to_owned(),
            false => output(&result.fields[0], &field.sql_type, Dialect::Postgres),
        };
        // What a call that failed has done is undone.
        storage = if failed.is_some() { before } else { storage };
        told.push(failed.unwrap_or(shown));
    }
    told
}

#[test]
fn functions_return_what_they_return_on_postgresql() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let mut connection = client(server.url(), "caller");
    for (function, calls) in FUNCTIONS {
        connection.command("DROP TABLE IF EXISTS item CASCADE").expect("no table");
        TABLE.lines().for_each(|statement| connection.command(statement).expect("a table"));
        connection.command(function).unwrap_or_else(|failure| panic!("{function}: {failure}"));
        for (call, own) in calls.iter().zip(here(function, calls)) {
            let told = there(&mut *connection, call);
            // An objection names its code among other things.
            assert!(told == own || (told.contains(&own) && own.len() == 5), "{call}: {told} there, {own} here");
        }
    }
}
