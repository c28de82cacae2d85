//! Every type as text and as bytes, both ways.

use crate::Served;
use crate::raw::{bind, execute, parse, sync};

/// A type, a value as text, and its bytes in hexadecimal, as PostgreSQL writes them.
const VALUES: &[(&str, &str, &str)] = &[
    ("bool", "t", "01"),
    ("bool", "f", "00"),
    ("int2", "-2", "fffe"),
    ("int4", "305419896", "12345678"),
    ("int8", "-9223372036854775808", "8000000000000000"),
    ("oid", "4294967295", "ffffffff"),
    ("float4", "1.5", "3fc00000"),
    ("float8", "-0.1", "bfb999999999999a"),
    ("float8", "Infinity", "7ff0000000000000"),
    ("float8", "NaN", "7ff8000000000000"),
    ("numeric", "0", "0000000000000000"),
    ("numeric", "0.00", "0000000000000002"),
    ("numeric", "-12345.678", "000300014000000300010929" /* 1, 2345, 6780 */),
    ("numeric", "0.0001", "0001ffff000000040001"),
    ("numeric", "10000", "00010001000000000001"),
    ("numeric", "1.10", "00020000000000020001" /* 1, 1000 */),
    ("text", "aé", "61c3a9"),
    ("text", "", ""),
    ("varchar(5)", "abc", "616263"),
    ("char(3)", "a  ", "612020"),
    ("name", "pg_class", "70675f636c617373"),
    ("bytea", "\\x00ff", "00ff"),
    ("date", "2000-01-02", "00000001"),
    ("date", "1999-12-31", "ffffffff"),
    ("date", "infinity", "7fffffff"),
    ("time", "00:00:01", "00000000000f4240"),
    ("timestamp", "2000-01-01 00:00:01.5", "000000000016e360"),
    ("timestamp", "-infinity", "8000000000000000"),
    ("timestamptz", "2000-01-01 00:00:00+00", "0000000000000000"),
    ("interval", "1 year 2 mons 3 days 00:00:04", "00000000003d09000000000300000 00e"),
    ("uuid", "00112233-4455-6677-8899-aabbccddeeff", "00112233445566778899aabbccddeeff"),
    ("json", "{\"a\": 1}", "7b2261223a20317d"),
    ("jsonb", "{\"a\": 1}", "017b2261223a20317d"),
    ("int4[]", "{1,NULL}", "000000010000000100000017000000020000000100000004 00000001ffffffff"),
    ("int4[]", "{}", "000000000000000000000017"),
    ("text[]", "{a,\"b c\"}", "000000010000000000000019000000020000000100000001610000000362 2063"),
    ("mood", "happy", "6861707079"),
    ("mood[]", "{sad}", "-"),
];

fn bytes_of(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u32> = hexadecimal.chars().filter_map(|letter| letter.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

#[test]
fn values_are_the_same_as_text_and_as_bytes() {
    let served = Served::new();
    let mut client = served.connect();
    client.query("CREATE TYPE mood AS ENUM ('sad', 'happy')");
    for (sql_type, text, hexadecimal) in VALUES {
        client.series(&[parse("s", &format!("SELECT $1::{sql_type}"), &[]), sync()]);
        let mut ask = |format: u16, parameter: &[u8], result: u16| {
            client.send(&[bind("", "s", format, &[Some(parameter)], result), execute("", 0), sync()].concat());
            let heard = client.until_ready();
            assert_eq!(heard[1].letter, 'D', "{sql_type} {text}: {:?}", heard[1].field(b'M'));
            heard[1].fields().remove(0).unwrap()
        };
        let expected = numeric_tail(hexadecimal, text);
        let binary = ask(0, text.as_bytes(), 1);
        if *hexadecimal != "-" {
            assert_eq!(binary, expected, "{sql_type} {text} as bytes");
        }
        assert_eq!(String::from_utf8(ask(1, &binary, 0)).unwrap(), *text, "{sql_type} as text");
        assert_eq!(ask(1, &binary, 1), binary, "{sql_type} {text} from bytes to bytes");
        client.series(&[crate::raw::message(b'C', b"Ss\0"), sync()]);
    }
}

/// Digits to the base of 10,000 are easier to read in decimal.
fn numeric_tail(hexadecimal: &str, text: &str) -> Vec<u8> {
    let mut bytes = bytes_of(hexadecimal);
    match text {
        "-12345.678" => bytes.extend_from_slice(&6780u16.to_be_bytes()),
        "1.10" => bytes.extend_from_slice(&1000u16.to_be_bytes()),
        _ => {}
    }
    bytes
}

#[test]
fn bytes_that_are_no_value_are_refused() {
    let served = Served::new();
    let mut client = served.connect();
    client.query("CREATE TYPE mood AS ENUM ('sad', 'happy')");
    for (sql_type, bytes, state) in [
        ("int4", &b"\0\0\0"[..], "22P03"),
        ("int4", b"\0\0\0\0\0", "22P03"),
        ("numeric", b"\0\x01\0\0\0\0\0\0", "22P03"),
        ("numeric", b"\0\0\0\0\xc0\0\0\0", "0A000"),
        ("numeric", b"\0\x01\0\0\0\0\0\0\xff\xff", "22P03"),
        ("text", b"\xff", "22021"),
        ("text", b"a\0b", "22021"),
        ("jsonb", b"\x02{}", "22P03"),
        ("jsonb", b"\x01{", "22P02"),
        ("int4[]", b"\0\0\0\x02\0\0\0\0\0\0\0\x17", "0A000"),
        ("int4[]", b"\0\0\0\x01\0\0\0\0\0\0\0\x17\xff\xff\xff\xff\0\0\0\x01", "22P03"),
        ("int4[]", b"\0\0\0\x01\0\0\0\0\0\0\0\x19\0\0\0\x01\0\0\0\x01\0\0\0\x01a", "42804"),
        ("timestamp", b"\x7f\xff\xff\xff\xff\xff\xff\xfe", "22008"),
        ("timestamptz", b"\x80\0\0\0\0\0\0\x01", "22008"),
        ("date", b"\x7f\xff\xff\xfe", "22008"),
        ("time", b"\x7f\xff\xff\xff\xff\xff\xff\xff", "22008"),
    ] {
        client.send(
            &[
                parse("", &format!("SELECT $1::{sql_type}"), &[]),
                bind("", "", 1, &[Some(bytes)], 0),
                execute("", 0),
                sync(),
            ]
            .concat(),
        );
        let told = client.told();
        assert!(told.contains(&format!("E {state}")), "{sql_type} {bytes:?}: {told:?}");
    }
    client.query("CREATE TABLE m (id INT PRIMARY KEY, feels mood)");
    let insert = parse("", "INSERT INTO m VALUES (1, $1)", &[]);
    let told = client.series(&[insert, bind("", "", 1, &[Some(b"angry")], 0), execute("", 0), sync()]);
    assert!(told.contains(&"E 22P02".to_owned()), "{told:?}");
}

#[test]
fn another_client_gets_what_it_sent() {
    let served = Served::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let settings = format!("host=127.0.0.1 port={} user=ann", served.address.port());
        let (mut client, connection) = tokio_postgres::connect(&settings, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client
            .batch_execute("CREATE TABLE t (id BIGINT PRIMARY KEY, a TEXT, b BYTEA, c FLOAT8, d INT[], e BOOL)")
            .await
            .unwrap();
        let insert = client.prepare("INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6)").await.unwrap();
        let transaction = client.transaction().await.unwrap();
        let numbers = vec![Some(1), None];
        transaction.execute(&insert, &[&1i64, &"é", &vec![0u8, 255], &0.1f64, &numbers, &None::<bool>]).await.unwrap();
        transaction.commit().await.unwrap();
        let row = client.query_one("SELECT * FROM t WHERE id = $1", &[&1i64]).await.unwrap();
        assert_eq!(
            (row.get::<_, i64>(0), row.get::<_, String>(1), row.get::<_, Vec<u8>>(2)),
            (1, "é".into(), vec![0, 255])
        );
        assert_eq!(
            (row.get::<_, f64>(3), row.get::<_, Vec<Option<i32>>>(4), row.get::<_, Option<bool>>(5)),
            (0.1, numbers, None)
        );
        let error =
            client.execute(&insert, &[&1i64, &"", &vec![0u8], &0f64, &vec![Some(1)], &None::<bool>]).await.unwrap_err();
        assert_eq!(error.code().map(|code| code.code()), Some("23505"));
    });
    served.stop();
}

#[test]
fn a_row_tells_the_types_of_its_fields() {
    let served = Served::new();
    let mut client = served.connect();
    client
        .send(&[parse("", "SELECT ROW(1, 'a'::text)", &[]), bind("", "", 0, &[], 1), execute("", 0), sync()].concat());
    let heard = client.until_ready();
    let expected = bytes_of("00000002 00000017 00000004 00000001 00000019 00000001 61");
    assert_eq!(heard[2].fields().remove(0).unwrap(), expected);
}
