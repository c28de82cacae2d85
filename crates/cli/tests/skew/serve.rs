//! `skew serve`: says where it listens, serves, and ends politely.

use crate::{Folder, Ran};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;

fn post(address: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(stream, "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn what_was_served_is_recorded_and_an_interrupt_is_a_good_end() {
    let folder = Folder::new("serve");
    let mut child = folder.start(&["serve", "--http", "--level", "cc", "--seed", "7", "--record", "run.jsonl"]);
    let mut first = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut first).unwrap();
    let address = first.trim().rsplit('/').next().unwrap();
    assert!(first.starts_with("serving causal over HTTP at http://127.0.0.1:"), "{first}");
    assert!(post(address, "/put", "{\"session\":\"a\",\"key\":\"x\",\"value\":1}").ends_with("{}\n"));
    assert!(post(address, "/get", "{\"session\":\"a\",\"key\":\"x\"}").ends_with("{\"value\":1}\n"));
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "2 committed, 0 rolled back, 0 refused, 0 deadlocks\n");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    folder.skew(&["check", "run.jsonl", "--level", "cc"]).expect(0);
}

fn refused(test: &str, arguments: &[&str]) -> Ran {
    Folder::new(test).skew(&[&["serve", "--http"], arguments].concat()).expect(2)
}

#[test]
fn wrong_settings_are_refused() {
    assert!(refused("serve-level", &["--level", "sser"]).err.contains("not a level that can be served"));
    assert!(refused("serve-rate", &["--abort-rate", "2"]).err.contains("use a number from 0 to 1"));
    assert!(refused("serve-replay", &["--replay", "nothing.jsonl"]).err.contains("nothing.jsonl"));
    Folder::new("serve-face").skew(&["serve"]).expect(2);
}
