//! COPY both ways.

use crate::Served;
use crate::raw::{bind, execute, message, parse, sync, text};

#[test]
fn rows_come_in_and_go_out() {
    let served = Served::new();
    let mut client = served.with_accounts();
    client.send(&message(b'Q', &text("COPY account FROM STDIN")));
    let begun = client.hear().unwrap();
    assert_eq!((begun.letter, &begun.body[..]), ('G', &[0, 0, 2, 0, 0, 0, 0][..]));
    // The bytes of a row may come in any pieces.
    client.send(&[message(b'd', b"3\t3"), message(b'd', b"0\n4\t40\n"), message(b'c', b"")].concat());
    assert_eq!(client.told(), ["C COPY 2", "Z I"]);
    let told =
        client.query("COPY (SELECT * FROM account WHERE id > 1 ORDER BY id) TO STDOUT WITH (FORMAT csv, HEADER)");
    assert_eq!(told, ["H", "d id,balance", "d 2,0", "d 3,30", "d 4,40", "c", "C COPY 3", "Z I"]);
    served.stop();
}

#[test]
fn what_goes_out_as_bytes_comes_in_again() {
    let served = Served::new();
    let mut client = served.with_accounts();
    client.send(&message(b'Q', &text("COPY account TO STDOUT (FORMAT binary)")));
    let heard = client.until_ready();
    assert_eq!(heard.iter().map(|heard| heard.letter).collect::<String>(), "HdddcCZ");
    assert!(heard[1].body.starts_with(b"PGCOPY\n\xff\r\n\0"), "{:?}", heard[1]);
    let copied: Vec<u8> = heard[1..4].iter().flat_map(|heard| heard.body.clone()).collect();
    client.query("DELETE FROM account");
    client.send(
        &[message(b'Q', &text("COPY account FROM STDIN (FORMAT binary)")), message(b'd', &copied), message(b'c', b"")]
            .concat(),
    );
    assert_eq!(client.told(), ["G", "C COPY 2", "Z I"]);
    assert_eq!(client.query("SELECT * FROM account ORDER BY id")[..2], ["D 1|100", "D 2|0"]);
    served.stop();
}

#[test]
fn a_copy_that_fails_leaves_nothing() {
    let served = Served::new();
    let mut client = served.with_accounts();
    let copy = message(b'Q', &text("COPY account FROM STDIN"));
    client.send(&[copy.clone(), message(b'd', b"3\t1\n"), message(b'f', &text("no more"))].concat());
    assert_eq!(client.told(), ["G", "E 57014", "Z I"]);
    client.send(&[copy.clone(), message(b'd', b"3\t1\n4\tx\n"), message(b'c', b"")].concat());
    assert_eq!(client.told(), ["G", "E 22P02", "Z I"]);
    client.send(&[copy.clone(), message(b'd', b"3\t1\n1\t1\n"), message(b'c', b"")].concat());
    assert_eq!(client.told(), ["G", "E 23505", "Z I"]);
    // What is left of it when it has failed in the middle is not taken for anything else.
    client.send(&[copy, message(b'd', b"3\n"), message(b'd', b"5\t5\n"), message(b'c', b"")].concat());
    assert_eq!(client.told(), ["G", "E 22P04", "Z I"]);
    assert_eq!(client.query("SELECT count(*) FROM account")[0], "D 2");
    client.query("BEGIN");
    client.query("SELECT nothing");
    assert_eq!(client.query("COPY account FROM STDIN"), ["E 25P02", "Z E"]);
    served.stop();
}

#[test]
fn a_copy_may_be_prepared() {
    let served = Served::new();
    let mut client = served.with_accounts();
    client.send(&[parse("", "COPY account FROM STDIN", &[]), bind("", "", 0, &[], 0), execute("", 0), sync()].concat());
    client.send(&[message(b'd', b"3\t1\n"), message(b'c', b""), sync()].concat());
    assert_eq!(client.told(), ["1", "2", "G", "C COPY 1", "Z I"]);
    assert_eq!(client.query("SELECT count(*) FROM account")[0], "D 3");
    served.stop();
}

#[test]
fn bytes_that_end_without_the_mark_are_whole_where_a_row_could_begin() {
    let served = Served::new();
    let mut client = served.with_accounts();
    let start = [&b"PGCOPY\n\xff\r\n\0"[..], &[0; 8]].concat();
    let row = |id: u8| [&[0, 2, 0, 0, 0, 4, 0, 0, 0, id][..], &[0, 0, 0, 4, 0, 0, 0, 9]].concat();
    let mut copied = |bytes: &[u8]| {
        client.send(&message(b'Q', &text("COPY account FROM STDIN (FORMAT binary)")));
        client.send(&[message(b'd', bytes), message(b'c', b"")].concat());
        client.told()
    };
    assert_eq!(copied(&[&start[..], &row(3), &row(4)].concat()), ["G", "C COPY 2", "Z I"]);
    assert_eq!(copied(&start), ["G", "C COPY 0", "Z I"]);
    assert_eq!(copied(&[&start[..], &row(5), &[0]].concat()), ["G", "C COPY 1", "Z I"]);
    assert_eq!(copied(&[&start[..], &row(6), &[0xff, 0xff]].concat()), ["G", "C COPY 1", "Z I"]);
    // In the middle of a row or of the signature something is missing, and behind the mark something is too much.
    assert_eq!(copied(&[&start[..], &row(7)[..9]].concat()), ["G", "E 22P04", "Z I"]);
    assert_eq!(copied(&start[..12]), ["G", "E 22P04", "Z I"]);
    assert_eq!(copied(b""), ["G", "E 22P04", "Z I"]);
    assert_eq!(copied(&[&start[..], &[0xff, 0xff], &row(7)].concat()), ["G", "E 22P04", "Z I"]);
    assert_eq!(client.query("SELECT count(*) FROM account")[0], "D 6");
    served.stop();
}
