//! Clients that go, wait, cancel, never read, or make no sense: others go on.

use crate::raw::{Raw, message, startup, text};
use crate::{Served, settings};
use skew_mockdb::wire::Schedule;
use skew_mockdb::{ChooserKind, Level};
use std::io::Write;
use std::time::Duration;

const LOCK: &str = "BEGIN; UPDATE account SET balance = balance + 1 WHERE id = 1";
const WAIT: &str = "UPDATE account SET balance = balance + 10 WHERE id = 1";

#[test]
fn a_statement_waits_for_the_row_and_goes_on() {
    let served = Served::new();
    let (mut holder, mut waiter) = (served.with_accounts(), served.connect());
    holder.query(LOCK);
    waiter.send(&message(b'Q', &text(WAIT)));
    assert_eq!(holder.query("COMMIT"), ["C COMMIT", "Z I"]);
    assert_eq!(waiter.told(), ["C UPDATE 1", "Z I"]);
    assert_eq!(holder.query("SELECT balance FROM account WHERE id = 1")[0], "D 111");
    served.stop();
}

#[test]
fn who_goes_inside_a_transaction_is_rolled_back() {
    let served = Served::new();
    let (mut holder, mut waiter, mut other) = (served.with_accounts(), served.connect(), served.connect());
    holder.query(LOCK);
    waiter.send(&message(b'Q', &text(WAIT)));
    drop(holder);
    assert_eq!(waiter.told(), ["C UPDATE 1", "Z I"]);
    assert_eq!(other.query("SELECT balance FROM account WHERE id = 1")[0], "D 110");
    served.stop();
}

#[test]
fn who_goes_while_waiting_leaves_the_queue() {
    let served = Served::new();
    let (mut holder, mut waiter) = (served.with_accounts(), served.connect());
    holder.query(LOCK);
    waiter.send(&message(b'Q', &text("BEGIN; UPDATE account SET balance = 7 WHERE id = 2")));
    waiter.told();
    waiter.send(&message(b'Q', &text(WAIT)));
    drop(waiter);
    // The row that the waiting one had locked is free again.
    assert_eq!(holder.query("UPDATE account SET balance = 8 WHERE id = 2"), ["C UPDATE 1", "Z T"]);
    assert_eq!(holder.query("COMMIT"), ["C COMMIT", "Z I"]);
    assert_eq!(holder.query("SELECT sum(balance) FROM account")[0], "D 109");
    served.stop();
}

#[test]
fn a_deadlock_is_found() {
    let served = Served::new();
    let (mut one, mut other) = (served.with_accounts(), served.connect());
    one.query(LOCK);
    other.query("BEGIN; UPDATE account SET balance = 1 WHERE id = 2");
    one.send(&message(b'Q', &text("UPDATE account SET balance = 2 WHERE id = 2")));
    let told = other.query("UPDATE account SET balance = 2 WHERE id = 1");
    assert_eq!(told, ["E 40P01", "Z E"]);
    assert_eq!(one.told(), ["C UPDATE 1", "Z T"]);
    served.stop();
}

pub(crate) fn cancel(client: &Raw, secret: i32) {
    let mut other = Raw::open(client.address);
    other.send(&startup(80_877_102, &[client.key.0.to_be_bytes(), secret.to_be_bytes()].concat()));
    assert!(other.hear().is_none());
}

#[test]
fn a_waiting_statement_is_cancelled_by_who_knows_the_secret() {
    let served = Served::new();
    let (mut holder, mut waiter) = (served.with_accounts(), served.connect());
    holder.query(LOCK);
    waiter.query("BEGIN");
    waiter.send(&message(b'Q', &text(WAIT)));
    cancel(&waiter, waiter.key.1.wrapping_add(1));
    // Cancelling may come before the statement does: then it is cancelled again.
    waiter.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let heard = loop {
        cancel(&waiter, waiter.key.1);
        if let Some(heard) = waiter.hear() {
            break heard;
        }
    };
    assert_eq!(heard.field(b'C').as_deref(), Some("57014"));
    assert_eq!(waiter.told(), ["Z E"]);
    assert_eq!(waiter.query("ROLLBACK"), ["C ROLLBACK", "Z I"]);
    assert_eq!(holder.query("COMMIT"), ["C COMMIT", "Z I"]);
    served.stop();
}

#[test]
fn a_wait_has_an_end_if_the_client_says_so() {
    let served = Served::new();
    let (mut holder, mut waiter) = (served.with_accounts(), served.connect());
    holder.query(LOCK);
    waiter.query("SET lock_timeout = 10");
    assert_eq!(waiter.query(WAIT), ["E 55P03", "Z I"]);
    waiter.query("SET lock_timeout = 0; SET statement_timeout = '10ms'");
    assert_eq!(waiter.query(WAIT), ["E 57014", "Z I"]);
    assert_eq!(holder.query("COMMIT"), ["C COMMIT", "Z I"]);
    served.stop();
}

#[test]
fn who_is_woken_in_vain_does_not_begin_to_wait_anew() {
    let served = Served::new();
    let (mut holder, mut waiter) = (served.connect(), served.connect());
    holder.query("SELECT pg_advisory_lock(7)");
    waiter.query("SET lock_timeout = '300ms'");
    waiter.send(&message(b'Q', &text("SELECT pg_advisory_lock(7)")));
    waiter.stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    // The lock is free for a moment that nobody sees, more often than the waiter's patience lasts.
    let heard = (0..200).find_map(|_| {
        holder.query("SELECT pg_advisory_unlock(7), pg_advisory_lock(7)");
        waiter.hear()
    });
    assert_eq!(heard.and_then(|heard| heard.field(b'C')).as_deref(), Some("55P03"));
    assert_eq!(waiter.told(), ["Z I"]);
}

/// It would go on until the limit of steps, without ever touching the store.
const BUSY: &str = "SELECT count(*) FROM generate_series(1, 30000) a, generate_series(1, 30000) b WHERE a + b = 7";
/// The same over a table.
const BUSY_ROWS: &str = "SELECT count(*) FROM account, generate_series(1, 30000) a, generate_series(1, 30000) b";

#[test]
fn a_busy_statement_is_cancelled_by_who_knows_the_secret() {
    let served = Served::new();
    let mut client = served.with_accounts();
    for busy in [BUSY, BUSY_ROWS] {
        client.query("BEGIN");
        client.send(&message(b'Q', &text(busy)));
        // Cancelling may come before the statement does: then it is cancelled again.
        client.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let heard = loop {
            cancel(&client, client.key.1);
            if let Some(heard) = client.hear() {
                break heard;
            }
        };
        assert_eq!(heard.field(b'C').as_deref(), Some("57014"));
        assert_eq!(heard.field(b'M').as_deref(), Some("canceling statement due to user request"));
        assert_eq!(client.told(), ["Z E"]);
        client.stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        assert_eq!(client.query("ROLLBACK"), ["C ROLLBACK", "Z I"]);
    }
    served.stop();
}

#[test]
fn a_busy_statement_has_an_end_if_the_client_says_so() {
    let served = Served::new();
    let mut client = served.with_accounts();
    client.query("SET statement_timeout = '20ms'");
    for busy in [BUSY, BUSY_ROWS] {
        client.send(&message(b'Q', &text(busy)));
        let heard = client.hear().unwrap();
        assert_eq!(heard.field(b'M').as_deref(), Some("canceling statement due to statement timeout"));
        assert_eq!(client.told(), ["Z I"]);
    }
    assert_eq!(client.query("SELECT count(*) FROM account")[0], "D 2");
    served.stop();
}

#[test]
fn a_busy_statement_does_not_keep_the_server_from_stopping() {
    let served = Served::new();
    let mut client = served.with_accounts();
    client.send(&message(b'Q', &text(&format!("{BUSY}; INSERT INTO account VALUES (3, 0)"))));
    // Usually it is at work by then; if not, it never begins.
    std::thread::sleep(Duration::from_millis(50));
    let summary = served.stop();
    assert_eq!(summary.recording_failure, None);
    assert_eq!(summary.activity.counts.committed, 1);
}

#[test]
fn bytes_that_are_no_message_are_refused_and_others_go_on() {
    let served = Served::new();
    let mut witness = served.with_accounts();
    let broken: [&[u8]; 8] = [
        b"B\0\0\0\x05\0",
        b"P\0\0\0\x06\0\0",
        b"E\0\0\0\x04",
        b"D\0\0\0\x06X\0",
        b"B\0\0\0\x0c\0\0\0\0\0\0\xff\xff",
        b"C\0\0\0\x05S",
        b"Q\0\0\0\x05x",
        b"Q\0\0\0\x06\xff\0",
    ];
    for bytes in broken {
        let mut client = served.connect();
        client.send(&[bytes, &crate::raw::sync()].concat());
        let heard = client.hear().unwrap();
        assert_eq!(heard.field(b'C').as_deref(), Some("08P01"), "{bytes:?}");
        client.until_ready();
        if bytes[0] == b'Q' {
            client.until_ready();
        }
        assert_eq!(client.query("SELECT 1"), ["D 1", "C SELECT 1", "Z I"], "{bytes:?}");
    }
    for bytes in [&b"Z\0\0\0\x04"[..], b"Q\0\0\0\x03", b"Q\xff\xff\xff\xff"] {
        let mut client = served.connect();
        client.send(bytes);
        assert_eq!(client.hear().unwrap().field(b'S').as_deref(), Some("FATAL"), "{bytes:?}");
        assert!(client.hear().is_none());
    }
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\0\0\0\x08\0\x02\0\0", b"\0\0\0\x09\0\x03\0\0\0", b"\0\0\0\0"] {
        let mut client = Raw::open(served.address);
        client.send(bytes);
        assert_eq!(client.hear().unwrap().field(b'S').as_deref(), Some("FATAL"), "{bytes:?}");
    }
    assert_eq!(witness.query("SELECT count(*) FROM account")[0], "D 2");
    served.stop();
}

#[test]
fn who_never_reads_stops_nobody() {
    let served = Served::new();
    let mut client = served.with_accounts();
    let mut deaf = served.connect();
    let question = message(b'Q', &text("SELECT repeat('x', 100000) FROM generate_series(1, 100)"));
    // Until its answers fill all buffers it is listened to, then not any more.
    deaf.stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut asked = 0;
    while asked < 10_000_000 / question.len() && deaf.stream.write_all(&question).is_ok() {
        asked += 1;
    }
    for _ in 0..100 {
        assert_eq!(client.query("UPDATE account SET balance = balance + 1 WHERE id = 1"), ["C UPDATE 1", "Z I"]);
    }
    drop(deaf);
    served.stop();
}

#[test]
fn a_thousand_waiting_statements_go_one_by_one() {
    let served = Served::new();
    let mut holder = served.with_accounts();
    holder.query(LOCK);
    // Both ends of every connection are in this process, which may have a thousand files.
    let mut waiting: Vec<Raw> = (0..200).map(|_| served.connect()).collect();
    waiting.iter_mut().for_each(|client| client.send(&message(b'Q', &text(WAIT))));
    holder.query("COMMIT");
    for client in &mut waiting {
        assert_eq!(client.told(), ["C UPDATE 1", "Z I"]);
    }
    assert_eq!(holder.query("SELECT balance FROM account WHERE id = 1")[0], "D 2101");
    served.stop();
}

#[test]
fn serial_transactions_come_one_after_the_other() {
    let schedule = Schedule::Serial { patience: Duration::from_secs(60) };
    let served =
        Served::with(Level::ReadCommitted, ChooserKind::Latest, crate::WireSettings { schedule, ..settings() });
    let (mut one, mut other) = (served.with_accounts(), served.connect());
    one.query("BEGIN; SELECT 1");
    other.send(&message(b'Q', &text("UPDATE account SET balance = 5 WHERE id = 2")));
    one.query("UPDATE account SET balance = 6 WHERE id = 2");
    one.query("COMMIT");
    assert_eq!(other.told(), ["C UPDATE 1", "Z I"]);
    assert_eq!(one.query("SELECT balance FROM account WHERE id = 2")[0], "D 5");
    one.query("BEGIN");
    drop(one);
    assert_eq!(other.query("SELECT balance FROM account WHERE id = 2")[0], "D 5");
    assert_eq!(served.stop().passed, 0);
}

#[test]
fn a_silent_client_loses_its_turn() {
    let schedule = Schedule::Serial { patience: Duration::from_millis(20) };
    let served =
        Served::with(Level::ReadCommitted, ChooserKind::Latest, crate::WireSettings { schedule, ..settings() });
    let (mut one, mut other) = (served.with_accounts(), served.connect());
    one.query("BEGIN; SELECT 1");
    assert_eq!(other.query("SELECT balance FROM account WHERE id = 2")[0], "D 0");
    assert_eq!(one.query("COMMIT"), ["C COMMIT", "Z I"]);
    assert_eq!(served.stop().passed, 1);
}

fn serial(patience: Duration) -> Served {
    let schedule = Schedule::Serial { patience };
    Served::with(Level::ReadCommitted, ChooserKind::Latest, crate::WireSettings { schedule, ..settings() })
}

#[test]
fn who_has_the_turn_and_waits_for_a_row_lets_its_holder_go_on() {
    let served = serial(Duration::from_millis(20));
    let (mut silent, mut next) = (served.with_accounts(), served.connect());
    silent.query(LOCK);
    assert_eq!(next.query("BEGIN"), ["C BEGIN", "Z T"]);
    next.send(&message(b'Q', &text(WAIT)));
    assert_eq!(silent.query("COMMIT"), ["C COMMIT", "Z I"]);
    assert_eq!(next.told(), ["C UPDATE 1", "Z T"]);
    assert_eq!(next.query("COMMIT"), ["C COMMIT", "Z I"]);
    served.stop();
}

#[test]
fn a_series_without_its_end_does_not_keep_the_turn() {
    use crate::raw::{bind, execute, parse};
    let served = serial(Duration::from_millis(20));
    let (mut one, mut other) = (served.with_accounts(), served.connect());
    one.send(&[parse("", "SELECT 1", &[]), bind("", "", 0, &[], 0), execute("", 0), message(b'H', b"")].concat());
    assert_eq!(one.hear().unwrap().letter, '1');
    assert_eq!(other.query("SELECT balance FROM account WHERE id = 2")[0], "D 0");
    served.stop();
}

#[test]
fn who_waits_for_its_turn_can_be_cancelled() {
    let served = serial(Duration::from_secs(60));
    let (mut one, mut other) = (served.with_accounts(), served.connect());
    one.query("BEGIN; SELECT 1");
    other.send(&message(b'Q', &text("SELECT 2")));
    other.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let heard = loop {
        cancel(&other, other.key.1);
        if let Some(heard) = other.hear() {
            break heard;
        }
    };
    assert_eq!(heard.field(b'C').as_deref(), Some("57014"));
    one.query("COMMIT");
    assert_eq!(other.told(), ["Z I"]);
    served.stop();
}
