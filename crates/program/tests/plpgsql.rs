//! Functions in PL/pgSQL: what they do when they run, and what is said of those that cannot be read.

use skew_program::{CallOutcome, Client, Ending, Field, MOST_STEPS, ParameterMode, Program, Step};
use skew_value::Datum;
use std::path::Path;

#[path = "../../../fuzz/src/plpgsql.rs"]
mod fuzz;

const TABLE: &str = "CREATE TABLE product (id INT PRIMARY KEY, stock INT NOT NULL, name TEXT);
INSERT INTO product VALUES (1, 10, 'one'), (2, 20, 'two'), (3, 30, NULL);
";

/// Runs the calls of a session one after another; what each hands out: `result = 5`, or the error.
fn calls(functions: &str, session: &str) -> Vec<String> {
    let text = format!("{TABLE}{functions}\nSESSION s: {session}");
    let program = Program::parse(&text).unwrap_or_else(|error| panic!("line {}: {}\n{text}", error.place.line, error));
    let (mut database, mut storage) = (program.session(), program.initial().1.clone());
    let mut client = Client::new(&program, 0);
    let mut told = Vec::new();
    for (number, call) in program.scripts()[0].calls.iter().enumerate() {
        let mut run = client.start(&program, number, MOST_STEPS).expect("a call");
        let ending = loop {
            match run.step(&mut database, &mut storage) {
                Ok(Step::Continue) => {}
                Ok(Step::Done(Ending::Signal { state, message, .. })) => break Err(format!("{state} {message}")),
                Ok(Step::Done(_)) => break Ok(()),
                Err(stop) => break Err(format!("{stop:?}")),
            }
        };
        let result = client.finish(&program, number, &run, CallOutcome::Committed, ending.is_ok());
        let procedure = &program.procedures()[call.procedure];
        // OUT parameters come first, then what the outermost block declares.
        let handed = procedure.parameters().filter(|(_, mode, ..)| *mode != ParameterMode::In).count();
        let fields = procedure.fields.iter().zip(&result.fields).take(handed);
        let shown: Vec<String> = fields.map(shown).collect();
        told.push(ending.map_or_else(|error| error, |()| shown.join(", ")));
    }
    told
}

fn shown((field, value): (&Field, &Datum)) -> String {
    match value {
        Datum::Integer(number) => format!("{} = {number}", field.name),
        Datum::Text(text) => format!("{} = {text}", field.name),
        other => format!("{} = {other:?}", field.name),
    }
}

#[test]
fn a_value_that_is_returned_is_handed_out() {
    let function = "CREATE FUNCTION taken(item int, amount int DEFAULT 3) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  UPDATE product SET stock = stock - amount WHERE id = item AND stock >= $2;
  IF NOT FOUND THEN RETURN 0; END IF;
  RETURN taken.amount;
END $$;";
    let told = calls(function, "CALL taken(1); CALL taken(1, 9); CALL taken(1, 7, @left);");
    assert_eq!(told, ["result = 3", "result = 0", "result = 7"]);
}

#[test]
fn select_into_makes_variables_null_where_there_is_no_row() {
    let function = "CREATE FUNCTION f(item int, OUT n int, OUT seen int) LANGUAGE plpgsql AS $$
BEGIN
  n := 7;
  SELECT stock INTO n FROM product WHERE id = item;
  seen := CASE WHEN FOUND THEN 1 ELSE 0 END;
END $$;";
    assert_eq!(calls(function, "CALL f(1); CALL f(9);"), ["n = 10, seen = 1", "n = Null, seen = 0"]);
    let strict = function.replace("INTO n", "INTO STRICT n");
    let told = calls(&strict, "CALL f(1); CALL f(9);");
    assert!(told[1].contains("P0002"), "{told:?}");
    let own = function.replace("SELECT stock INTO n", "SELECT n + stock INTO n");
    assert_eq!(calls(&own, "CALL f(1); CALL f(9);"), ["n = 17, seen = 1", "n = Null, seen = 0"]);
    let first = function.replace("WHERE id = item", "WHERE id >= item ORDER BY id");
    assert_eq!(calls(&first, "CALL f(2);"), ["n = 20, seen = 1"]);
}

#[test]
fn rows_are_variables_too() {
    let function = "CREATE FUNCTION f(item int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  p product%ROWTYPE;
  r record;
  v_name product.name%TYPE;
BEGIN
  SELECT * INTO p FROM product WHERE id = item;
  IF p.stock > 10 THEN
    SELECT stock + 1 AS more, name INTO r FROM product WHERE id = item;
    p.stock := r.more;
  END IF;
  v_name := p.name;
  RETURN coalesce(v_name, 'none') || p.stock;
END $$;";
    let told = calls(function, "CALL f(1); CALL f(2); CALL f(3);");
    assert_eq!(told, ["result = one10", "result = two21", "result = none31"]);
}

#[test]
fn loops_go_round_as_they_say() {
    let function = "CREATE FUNCTION f(n int, OUT told text) LANGUAGE plpgsql AS $$
BEGIN
  told := '';
  FOR i IN REVERSE n..1 BY 2 LOOP
    CONTINUE WHEN i = 3;
    told := told || i;
  END LOOP;
  <<all_of_it>>
  FOR r IN SELECT id, stock FROM product ORDER BY id LOOP
    FOR j IN 1..r.id LOOP
      EXIT all_of_it WHEN r.id = 3;
      told := told || '.';
    END LOOP;
  END LOOP;
  IF FOUND THEN told := told || '!'; END IF;
  LOOP
    n := n - 1;
    EXIT WHEN n <= 0;
  END LOOP;
  WHILE n < 2 LOOP n = n + 1; END LOOP;
  told := told || n;
  CASE n WHEN 1, 2 THEN told := told || 'c'; END CASE;
END $$;";
    assert_eq!(calls(function, "CALL f(7);"), ["told = 751...!2c"]);
}

#[test]
fn errors_end_the_transaction() {
    let function = "CREATE PROCEDURE f(n int) LANGUAGE plpgsql AS $$
BEGIN
  ASSERT n > 0, 'not so few';
  CASE n WHEN 1 THEN RAISE NOTICE 'one: %', n; WHEN 2 THEN RAISE EXCEPTION 'two' USING ERRCODE = '45000'; END CASE;
EXCEPTION WHEN others THEN RAISE;
END $$;";
    assert_eq!(calls(function, "CALL f(1); CALL f(0); CALL f(2);"), ["", "P0004 not so few", "45000 two"]);
    assert!(calls(function, "CALL f(3);")[0].contains("20000"));
}

#[test]
fn what_perform_finds_is_counted_and_returning_is_kept() {
    let function = "CREATE FUNCTION f(item int, OUT n int, OUT rest int) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM product WHERE id >= item;
  GET DIAGNOSTICS n = ROW_COUNT;
  UPDATE product SET stock = stock - 1 WHERE id = item RETURNING stock INTO rest;
END $$;";
    assert_eq!(calls(function, "CALL f(2); CALL f(4);"), ["n = 2, rest = 19", "n = 0, rest = Null"]);
}

#[test]
fn functions_of_one_name_with_other_parameters_are_two() {
    let functions = "CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS $$ SELECT a $$;
CREATE FUNCTION f(a text) RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;
CREATE OR REPLACE FUNCTION g(b int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN b + 1; END $$;
CREATE OR REPLACE FUNCTION g(b int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN b + 2; END $$;
DO $$ BEGIN DELETE FROM product; END $$;";
    let program = Program::parse(&format!("{TABLE}{functions}")).expect("a program");
    let names: Vec<&str> = program.procedures().iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["f", "f_2", "g", "do_1"]);
    assert_eq!(calls(functions, "CALL g(1);"), ["result = 3"]);
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    for (body, expected, line) in [
        ("BEGIN\n  x := 1;\nEND", "there is no variable x", 4),
        ("BEGIN\n  SELECT stock FROM product;\nEND", "go nowhere", 4),
        ("BEGIN\n  IF TRUE THEN\n    NULL;\nEND", "expected if", 6),
        ("BEGIN\n  NULL\nEND", "expected ;", 5),
        ("BEGIN\n  EXIT;\nEND", "no loop around", 4),
        ("DECLARE\n  a nowhere.b%TYPE;\nBEGIN NULL; END", "there is no nowhere.b", 4),
        ("BEGIN\n  UPDATE product SET stok = 1;\nEND", "stok", 4),
        ("BEGIN\n  n := 'open;\nEND", "unterminated", 4),
        ("BEGIN NULL; END; more", "expected the end of the body", 3),
        ("BEGIN\n  EXECUTE 'x';\nEND", "dynamic SQL", 4),
        ("BEGIN\n  RETURN 1;\nEND", "RETURN with a value", 4),
    ] {
        let text = format!("{TABLE}CREATE FUNCTION f(n int) RETURNS void LANGUAGE plpgsql AS $$ {body} $$;");
        let error = Program::parse(&text).expect_err(body);
        assert!(error.message.to_lowercase().contains(&expected.to_lowercase()), "{body}: {}", error.message);
        assert_eq!(error.place.line, line, "{body}: {}", error.message);
    }
}

/// What is kept for the fuzz target.
fn kept() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/plpgsql");
    let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    files.iter().map(|file| std::fs::read_to_string(file).expect("a text")).collect()
}

#[test]
fn kept_inputs_of_the_fuzz_target_are_read_or_refused() {
    kept().iter().for_each(|text| fuzz::fuzz_plpgsql(text));
}

#[test]
fn broken_bodies_are_refused_and_nothing_panics() {
    for text in kept() {
        let words: Vec<&str> = text.split_inclusive([' ', '\n', ';', '(', ',']).collect();
        for place in 0..words.len() {
            let without = [&words[..place], &words[place + 1..]].concat().concat();
            let twice = [&words[..=place], &words[place..]].concat().concat();
            let cut = words[..place].concat();
            [without, twice, cut].iter().for_each(|text| fuzz::fuzz_plpgsql(text));
        }
    }
}
