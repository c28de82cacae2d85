//! How connections begin.

use crate::raw::{Raw, startup, text};
use crate::{Served, settings};
use skew_mockdb::{ChooserKind, Level};
use std::io::Read;

#[test]
fn encryption_is_politely_declined() {
    let served = Served::new();
    let mut client = Raw::open(served.address);
    for code in [80_877_103, 80_877_104] {
        client.send(&startup(code, b""));
        let mut answer = [0];
        client.stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"N");
    }
    client.send(&startup(3 << 16, &[&text("user")[..], &text("ann"), b"\0"].concat()));
    assert_eq!(client.told(), ["R", "K", "Z I"]);
}

#[test]
fn a_client_is_told_who_it_is_and_with_whom_it_speaks() {
    let served = Served::new();
    let parameters = [("user", "ann"), ("database", "shop"), ("application_name", "till"), ("options", "-c geqo=off")];
    let mut client = Raw::open(served.address);
    let body: Vec<u8> = parameters.iter().flat_map(|(name, value)| [text(name), text(value)].concat()).collect();
    client.send(&startup((3 << 16) + 2, &[&body[..], b"\0"].concat()));
    let heard = client.until_ready();
    // Of the newer protocol we speak the older part.
    assert_eq!((heard[0].letter, &heard[0].body[..]), ('v', &[0, 3, 0, 0, 0, 0, 0, 0][..]));
    let told: Vec<String> = heard
        .iter()
        .filter(|heard| heard.letter == 'S')
        .map(|heard| String::from_utf8(heard.body.clone()).unwrap())
        .collect();
    for expected in [
        "client_encoding\0UTF8\0",
        "application_name\0till\0",
        "standard_conforming_strings\0on\0",
        "integer_datetimes\0on\0",
        "DateStyle\0ISO, MDY\0",
        "TimeZone\0UTC\0",
    ] {
        assert!(told.iter().any(|told| told == expected), "{told:?}");
    }
    assert!(told.iter().any(|told| told.starts_with("server_version\x0015.")), "{told:?}");
    assert_eq!(client.query("SELECT current_user, current_database()")[0], "D ann|shop");
    assert_eq!(client.query("SHOW geqo")[0], "D off");
    client.query("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)");
    served.stop();
}

#[test]
fn sessions_are_named_by_their_application() {
    let served = Served::new();
    let mut one = Raw::connect(served.address, &[("user", "ann"), ("application_name", "till")]);
    let mut other = Raw::connect(served.address, &[("user", "ann"), ("application_name", "till")]);
    let mut nameless = served.connect();
    one.query("CREATE TABLE t (id INT PRIMARY KEY)");
    one.query("INSERT INTO t VALUES (1)");
    other.query("INSERT INTO t VALUES (2)");
    nameless.query("INSERT INTO t VALUES (3)");
    let history = served.tape.text();
    for name in ["till", "till:2", "client"] {
        assert!(history.contains(&format!("{{\"session\":\"{name}\"")), "{history}");
    }
    served.stop();
}

#[test]
fn without_a_user_nobody_comes_in() {
    let served = Served::new();
    let mut client = Raw::open(served.address);
    client.send(&startup(3 << 16, b"\0"));
    assert_eq!(client.hear().unwrap().field(b'S').as_deref(), Some("FATAL"));
    let mut client = Raw::open(served.address);
    let encoding = [&text("user")[..], &text("ann"), &text("client_encoding"), &text("LATIN1"), b"\0"].concat();
    client.send(&startup(3 << 16, &encoding));
    let heard = std::iter::from_fn(|| client.hear()).find(|heard| heard.letter == 'E').unwrap();
    assert_eq!(heard.field(b'S').as_deref(), Some("FATAL"));
}

#[test]
fn who_knows_the_password_comes_in() {
    let password = Some("open sesame".to_owned());
    let served = Served::with(Level::Causal, ChooserKind::Latest, crate::WireSettings { password, ..settings() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let connect = async |password: &str| {
            let mut settings = tokio_postgres::Config::new();
            settings.host("127.0.0.1").port(served.address.port()).user("ann").password(password);
            settings.connect(tokio_postgres::NoTls).await
        };
        let (client, connection) = connect("open sesame").await.unwrap();
        tokio::spawn(connection);
        assert_eq!(client.query_one("SELECT 1", &[]).await.unwrap().get::<_, i32>(0), 1);
        let Err(refused) = connect("open").await else { panic!("the wrong password is no password") };
        assert_eq!(refused.code().map(|code| code.code()), Some("28P01"));
    });
    let mut client = Raw::open(served.address);
    client.send(&startup(3 << 16, &[&text("user")[..], &text("ann"), b"\0"].concat()));
    assert_eq!(client.hear().unwrap().body, [&10u32.to_be_bytes()[..], b"SCRAM-SHA-256\0\0"].concat());
    client.send(&crate::raw::message(b'Q', &text("SELECT 1")));
    assert_eq!(client.hear().unwrap().field(b'S').as_deref(), Some("FATAL"));
}
