//! The time zone of a connection: told at once, obeyed in texts both ways, and the same moment as bytes.

use crate::Served;
use crate::raw::{Raw, bind, execute, message, parse, sync, text};

/// What a client is told of its settings on the way to an answer.
fn statuses(client: &mut Raw, sql: &str) -> Vec<String> {
    client.send(&message(b'Q', &text(sql)));
    let told = client.until_ready().into_iter().filter(|heard| heard.letter == 'S');
    told.map(|heard| String::from_utf8(heard.body).unwrap().replace('\0', " ")).collect()
}

fn value(client: &mut Raw, sql: &str) -> String {
    client.query(sql)[0].clone()
}

#[test]
fn a_client_comes_with_its_zone() {
    let served = Served::new();
    let mut client = Raw::connect(served.address, &[("user", "ann"), ("TimeZone", "europe/berlin")]);
    assert_eq!(value(&mut client, "SHOW TimeZone"), "D Europe/Berlin");
    assert_eq!(value(&mut client, "SELECT '2024-07-01 12:00'::timestamptz"), "D 2024-07-01 12:00:00+02");
    assert_eq!(value(&mut client, "SELECT '2024-07-01 12:00+00'::timestamptz::timestamp"), "D 2024-07-01 14:00:00");
    assert_eq!(statuses(&mut client, "SET TIME ZONE 'UTC'"), ["TimeZone UTC "]);
    assert_eq!(statuses(&mut client, "SET TIME ZONE LOCAL"), ["TimeZone Europe/Berlin "]);
    client.query("SET TimeZone = 'Asia/Tokyo'");
    assert_eq!(statuses(&mut client, "DISCARD ALL"), ["TimeZone Europe/Berlin "]);
    // The zone of one is not that of another.
    assert_eq!(value(&mut served.connect(), "SELECT '2024-07-01 12:00'::timestamptz"), "D 2024-07-01 12:00:00+00");
}

#[test]
fn a_zone_is_set_in_many_ways_and_comes_back() {
    let served = Served::new();
    let mut client = served.connect();
    for (set, shown, noon) in [
        ("SET TIME ZONE 'Europe/Berlin'", "Europe/Berlin", "12:00:00+02"),
        ("SET TIME ZONE INTERVAL '+01:00' HOUR TO MINUTE", "<+01>-01", "12:00:00+01"),
        ("SET TIME ZONE -7", "<-07>+07", "12:00:00-07"),
        ("SET TimeZone TO 'GMT-01:00'", "GMT-01:00", "12:00:00+01"),
        ("SET timezone = 'asia/kolkata'", "Asia/Kolkata", "12:00:00+05:30"),
        ("SELECT set_config('TimeZone', 'america/new_york', false)", "America/New_York", "12:00:00-04"),
        ("RESET TimeZone", "UTC", "12:00:00+00"),
        ("SET TIME ZONE 5.5", "<+05:30>-05:30", "12:00:00+05:30"),
        ("SET TIME ZONE DEFAULT", "UTC", "12:00:00+00"),
    ] {
        assert_eq!(statuses(&mut client, set), [format!("TimeZone {shown} ")], "{set}");
        assert_eq!(value(&mut client, "SHOW TIME ZONE"), format!("D {shown}"), "{set}");
        assert_eq!(
            value(&mut client, "SELECT timestamptz '2024-07-01 12:00'"),
            format!("D 2024-07-01 {noon}"),
            "{set}"
        );
    }
    client.query("BEGIN; SET LOCAL TimeZone = 'Asia/Tokyo'");
    assert_eq!(value(&mut client, "SELECT timestamptz '2024-07-01 12:00'"), "D 2024-07-01 12:00:00+09");
    assert_eq!(statuses(&mut client, "COMMIT"), ["TimeZone UTC "]);
    client.query("BEGIN; SET TimeZone = 'Asia/Tokyo'");
    assert_eq!(statuses(&mut client, "ROLLBACK"), ["TimeZone UTC "]);
    client.query("BEGIN; SET LOCAL TimeZone = 'Asia/Tokyo'; SAVEPOINT a; SET TimeZone = 'Asia/Seoul'");
    assert_eq!(statuses(&mut client, "ROLLBACK TO a"), ["TimeZone Asia/Tokyo "]);
    assert_eq!(statuses(&mut client, "COMMIT"), ["TimeZone UTC "]);
    for wrong in ["SET TIME ZONE 'CEST'", "SET TimeZone = 'FOO4BAR'", "SELECT set_config('timezone', 'x', false)"] {
        assert_eq!(client.query(wrong), ["E 22023", "Z I"], "{wrong}");
    }
    assert_eq!(value(&mut client, "SHOW TimeZone"), "D UTC");
}

#[test]
fn parameters_and_answers_are_of_the_zone_as_texts_and_moments_as_bytes() {
    let served = Served::new();
    let mut client = served.connect();
    client.query("SET TimeZone = 'Europe/Berlin'");
    client.series(&[parse("s", "SELECT $1::timestamptz, $1::timestamptz::date", &[]), sync()]);
    let mut ask = |zone: &str, format: u16, parameter: &[u8], result: u16| {
        client.query(&format!("SET TimeZone = '{zone}'"));
        let told = client.series(&[bind("", "s", format, &[Some(parameter)], result), execute("", 0), sync()]);
        told.into_iter().find(|line| line.starts_with('D')).unwrap()
    };
    let local = b"2000-01-01 00:30";
    assert_eq!(ask("Europe/Berlin", 0, local, 0), "D 2000-01-01 00:30:00+01|2000-01-01");
    // What was prepared in one zone is executed in another.
    assert_eq!(ask("Asia/Tokyo", 0, local, 0), "D 2000-01-01 00:30:00+09|2000-01-01");
    // The beginning of 2000 in UTC is where the protocol counts from.
    assert_eq!(ask("America/New_York", 1, &[0; 8], 0), "D 1999-12-31 19:00:00-05|1999-12-31");
}

#[test]
fn rows_are_copied_in_the_zone() {
    let served = Served::new();
    let mut client = served.connect();
    client.query("CREATE TABLE beat (at timestamptz)");
    client.query("SET TimeZone = 'Europe/Berlin'");
    client.send(&message(b'Q', &text("COPY beat FROM STDIN")));
    client.send(&message(b'd', b"2024-07-01 12:00\n2024-07-01 12:00+00\n"));
    client.send(&message(b'c', b""));
    client.until_ready();
    client.query("SET TimeZone = 'Asia/Tokyo'");
    client.send(&message(b'Q', &text("COPY beat TO STDOUT")));
    let copied: Vec<u8> =
        client.until_ready().into_iter().filter(|heard| heard.letter == 'd').flat_map(|heard| heard.body).collect();
    assert_eq!(String::from_utf8(copied).unwrap(), "2024-07-01 19:00:00+09\n2024-07-01 21:00:00+09\n");
    served.stop();
}
