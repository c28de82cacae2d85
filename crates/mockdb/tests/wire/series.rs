//! Prepared statements and portals.

use crate::Served;
use crate::raw::{bind, describe, execute, message, parse, sync, text};

#[test]
fn a_statement_is_described_before_it_runs() {
    let served = Served::new();
    let mut client = served.with_accounts();
    client.send(
        &[parse("s", "UPDATE account SET balance = $1 WHERE id = $2 RETURNING id", &[]), describe(b'S', "s"), sync()]
            .concat(),
    );
    let heard = client.until_ready();
    assert_eq!(heard.iter().map(|heard| heard.letter).collect::<String>(), "1tTZ");
    assert_eq!(heard[1].body, [&[0, 2][..], &23u32.to_be_bytes(), &23u32.to_be_bytes()].concat());
    assert_eq!(client.query("SELECT sum(balance) FROM account")[0], "D 100");
    let told =
        client.series(&[bind("", "s", 0, &[Some(b"7"), Some(b"1")], 0), describe(b'P', ""), execute("", 0), sync()]);
    assert_eq!(told, ["2", "D 1", "C UPDATE 1", "Z I"]);
    let told =
        client.series(&[parse("", "BEGIN", &[]), describe(b'S', ""), bind("", "", 0, &[], 0), execute("", 0), sync()]);
    assert_eq!(told, ["1", "t", "n", "2", "C BEGIN", "Z T"]);
    served.stop();
}

#[test]
fn all_up_to_sync_is_one_transaction() {
    let served = Served::new();
    let mut client = served.with_accounts();
    let insert = |id: &str| {
        let sql = format!("INSERT INTO account VALUES ({id}, 0)");
        [parse("", &sql, &[]), bind("", "", 0, &[], 0), execute("", 0)].concat()
    };
    let told = client.series(&[insert("3"), insert("1"), insert("4"), sync()]);
    assert_eq!(told, ["1", "2", "C INSERT 0 1", "1", "2", "E 23505", "Z I"]);
    assert_eq!(client.query("SELECT count(*) FROM account")[0], "D 2");
    assert_eq!(client.series(&[insert("3"), insert("4"), sync()]).last().unwrap(), "Z I");
    assert_eq!(client.query("SELECT count(*) FROM account")[0], "D 4");
    served.stop();
}

#[test]
fn after_an_error_all_is_skipped_until_sync() {
    let served = Served::new();
    let mut client = served.with_accounts();
    let told = client.series(&[
        parse("", "SELECT nothing", &[]),
        bind("", "", 0, &[], 0),
        message(b'Q', &text("DELETE FROM account")),
        sync(),
    ]);
    assert_eq!(told, ["E 42703", "Z I"]);
    assert_eq!(client.query("SELECT count(*) FROM account")[0], "D 2");
    client.query("BEGIN");
    assert_eq!(client.series(&[bind("", "none", 0, &[], 0), sync()]), ["E 26000", "Z E"]);
    assert_eq!(client.series(&[execute("none", 0), sync()]), ["E 34000", "Z E"]);
    client.query("ROLLBACK");
    served.stop();
}

#[test]
fn a_portal_goes_on_where_it_stopped() {
    let served = Served::new();
    let mut client = served.connect();
    let told = client.series(&[
        parse("", "SELECT * FROM generate_series(1, 5)", &[]),
        bind("p", "", 0, &[], 0),
        execute("p", 2),
        execute("p", 2),
        execute("p", 2),
        sync(),
    ]);
    assert_eq!(told, ["1", "2", "D 1", "D 2", "s", "D 3", "D 4", "s", "D 5", "C SELECT 1", "Z I"]);
    assert_eq!(client.series(&[execute("p", 0), sync()]), ["E 34000", "Z I"]);
    client.query("BEGIN");
    client.series(&[
        parse("", "SELECT * FROM generate_series(1, 3)", &[]),
        bind("p", "", 0, &[], 0),
        execute("p", 1),
        sync(),
    ]);
    assert_eq!(client.series(&[execute("p", 0), sync()]), ["D 2", "D 3", "C SELECT 2", "Z T"]);
    client.query("COMMIT");
    assert_eq!(client.series(&[execute("p", 0), sync()]), ["E 34000", "Z I"]);
}

#[test]
fn names_are_used_once_and_closed() {
    let served = Served::new();
    let mut client = served.connect();
    assert_eq!(
        client.series(&[parse("s", "SELECT 1", &[]), parse("s", "SELECT 2", &[]), sync()]),
        ["1", "E 42P05", "Z I"]
    );
    let close = |kind: u8, name: &str| message(b'C', &[&[kind][..], &text(name)].concat());
    assert_eq!(client.series(&[close(b'S', "s"), close(b'S', "s"), close(b'P', "x"), sync()]), ["3", "3", "3", "Z I"]);
    assert_eq!(client.series(&[bind("", "s", 0, &[], 0), sync()]), ["E 26000", "Z I"]);
    assert_eq!(client.series(&[parse("", "SELECT 1; SELECT 2", &[]), sync()]), ["E 42601", "Z I"]);
    let told =
        client.series(&[parse("", "", &[]), bind("", "", 0, &[], 0), describe(b'P', ""), execute("", 0), sync()]);
    assert_eq!(told, ["1", "2", "n", "I", "Z I"]);
}

#[test]
fn parameters_have_to_fit() {
    let served = Served::new();
    let mut client = served.connect();
    client.series(&[parse("s", "SELECT $1::int + $2", &[]), sync()]);
    assert_eq!(client.series(&[bind("", "s", 0, &[Some(b"1")], 0), sync()]), ["E 08P01", "Z I"]);
    assert_eq!(client.series(&[bind("", "s", 0, &[Some(b"1"), Some(b"x")], 0), sync()]), ["E 22P02", "Z I"]);
    assert_eq!(client.series(&[bind("", "s", 1, &[Some(b"1"), None], 0), sync()]), ["E 22P03", "Z I"]);
    let told = client.series(&[bind("", "s", 0, &[Some(b"1"), None], 0), execute("", 0), sync()]);
    assert_eq!(told, ["2", "D NULL", "C SELECT 1", "Z I"]);
    assert_eq!(client.series(&[parse("", "SELECT $1", &[600]), sync()]), ["E 42704", "Z I"]);
}

#[test]
fn a_prepared_statement_learns_of_a_new_schema() {
    let served = Served::new();
    let mut client = served.with_accounts();
    let run = [bind("", "s", 0, &[], 0), execute("", 0), sync()];
    client.series(&[parse("s", "SELECT * FROM account WHERE id = 1", &[]), sync()]);
    assert_eq!(client.series(&run), ["2", "D 1|100", "C SELECT 1", "Z I"]);
    client.query("CREATE TABLE other (id INT)");
    assert_eq!(client.series(&run), ["2", "D 1|100", "C SELECT 1", "Z I"]);
    client.query("ALTER TABLE account ADD COLUMN owner TEXT");
    assert_eq!(client.series(&run), ["2", "E 0A000", "Z I"]);
    served.stop();
}

#[test]
fn sql_forgets_what_the_protocol_prepared() {
    let served = Served::new();
    let mut client = served.connect();
    for (name, sql) in
        [("s", "DEALLOCATE s"), ("S-1", "DEALLOCATE \"S-1\""), ("t", "DEALLOCATE ALL"), ("u", "DISCARD ALL")]
    {
        client.series(&[parse(name, "SELECT 1", &[]), sync()]);
        assert_eq!(client.series(&[bind("", name, 0, &[], 0), sync()]), ["2", "Z I"]);
        assert_eq!(client.query(sql).last().unwrap(), "Z I");
        assert_eq!(client.series(&[bind("", name, 0, &[], 0), sync()]), ["E 26000", "Z I"], "{sql}");
    }
}

#[test]
fn a_cursor_of_sql_is_described_as_a_portal() {
    let served = Served::new();
    let mut client = served.with_accounts();
    client.query("BEGIN; DECLARE steps CURSOR FOR SELECT id FROM account ORDER BY id");
    client.send(&[describe(b'P', "steps"), sync()].concat());
    assert_eq!(client.until_ready().iter().map(|heard| heard.letter).collect::<String>(), "TZ");
    assert_eq!(client.query("FETCH 1 FROM steps"), ["D 1", "C FETCH 1", "Z T"]);
    served.stop();
}

#[test]
fn a_query_commits_what_a_series_left_open() {
    let served = Served::new();
    let (mut client, mut witness) = (served.with_accounts(), served.connect());
    let insert = |id: u32| {
        let sql = format!("INSERT INTO account VALUES ({id}, 0)");
        [parse("", &sql, &[]), bind("", "", 0, &[], 0), execute("", 0)].concat()
    };
    client.send(&insert(3));
    assert_eq!(client.query("SELECT 1").last().unwrap(), "Z I");
    assert_eq!(witness.query("SELECT count(*) FROM account")[0], "D 3");
    client.send(&insert(4));
    assert_eq!(client.query("").last().unwrap(), "Z I");
    assert_eq!(witness.query("SELECT count(*) FROM account")[0], "D 4");
    served.stop();
}

#[test]
fn statements_are_one_world_however_they_were_prepared() {
    let served = Served::new();
    let mut client = served.connect();
    client.query("PREPARE one AS SELECT $1::int + 1");
    client.series(&[parse("two", "SELECT $1::int + 2", &[]), sync()]);
    let told = client.series(&[bind("", "one", 0, &[Some(b"1")], 0), execute("", 0), sync()]);
    assert_eq!(told, ["2", "D 2", "C SELECT 1", "Z I"]);
    assert_eq!(client.query("EXECUTE two(1)"), ["D 3", "C SELECT 1", "Z I"]);
    assert_eq!(client.series(&[parse("one", "SELECT 1", &[]), sync()]), ["E 42P05", "Z I"]);
    assert_eq!(client.query("PREPARE two AS SELECT 1"), ["E 42P05", "Z I"]);
    client.series(&[message(b'C', &[&b"S"[..], &text("one")].concat()), sync()]);
    assert_eq!(client.query("EXECUTE one(1)"), ["E 26000", "Z I"]);
}
