//! The HTTP face, by a client of a few lines.

use serde_json::{Value, json};
use skew_check::{Budget, check};
use skew_mockdb::http::{HttpServer, HttpSettings, HttpSummary};
use skew_mockdb::{Campaign, ChooserKind, Level, Options, Record, Store, Tape};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<HttpSummary>,
    record: Tape,
}

fn start(level: Level, lock_wait: u64, idle: u64) -> Server {
    let store = Store::new(Options::new(level, 1), ChooserKind::Latest.build(1, &Campaign::default()));
    let record = Tape::default();
    let settings = HttpSettings {
        address: ([127, 0, 0, 1], 0).into(),
        lock_wait: Duration::from_millis(lock_wait),
        idle: Duration::from_millis(idle),
    };
    let written = Record { history: Some(Box::new(record.clone())), choices: None };
    let server = HttpServer::bind(store, written, settings).unwrap();
    let (address, stop) = (server.address(), Arc::new(AtomicBool::new(false)));
    let stopped = Arc::clone(&stop);
    let thread = std::thread::spawn(move || server.run(move || stopped.load(Ordering::Relaxed)).unwrap());
    Server { address, stop, thread, record }
}

impl Server {
    fn raw(&self, head: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let length = body.len();
        write!(stream, "{head} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer[9..12].parse().unwrap();
        let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.raw(&format!("POST {path}"), &body.to_string())
    }

    fn end(self, level: Level) -> HttpSummary {
        self.stop.store(true, Ordering::Relaxed);
        let summary = self.thread.join().unwrap();
        assert!(check(&self.record.history().unwrap(), level, Budget::UNLIMITED).holds());
        summary
    }
}

fn code(answer: &(u16, Value)) -> (u16, &str) {
    (answer.0, answer.1["error"]["code"].as_str().unwrap_or_default())
}

#[test]
fn transactions_and_single_requests_are_answered() {
    let server = start(Level::Causal, 1000, 60_000);
    let ann = |extra: Value| {
        let mut body = json!({"session": "ann"});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        body
    };
    assert_eq!(server.post("/get", &ann(json!({"key": "x"}))), (200, json!({"value": null})));
    assert_eq!(server.post("/put", &ann(json!({"key": "x", "value": 1}))), (200, json!({})));
    assert_eq!(server.post("/begin", &ann(json!({"level": "ser"}))).0, 200);
    assert_eq!(code(&server.post("/begin", &ann(json!({})))), (409, "transaction_state"));
    assert_eq!(
        server.post("/cas", &ann(json!({"key": "x", "expected": 1, "value": "two"}))),
        (200, json!({"swapped": true}))
    );
    assert_eq!(server.post("/get", &ann(json!({"key": "x"}))), (200, json!({"value": "two"})));
    assert_eq!(server.post("/commit", &ann(json!({}))), (200, json!({})));
    assert_eq!(code(&server.post("/commit", &ann(json!({})))), (409, "transaction_state"));
    assert_eq!(server.post("/delete", &ann(json!({"key": "x"}))), (200, json!({})));
    assert_eq!(server.end(Level::Causal).counts.committed, 4);
}

#[test]
fn wrong_requests_are_told_what_is_wrong() {
    let server = start(Level::Causal, 1000, 60_000);
    server.post("/put", &json!({"session": "a", "key": "x", "value": 1}));
    for (head, body, expected) in [
        ("POST /get", "{", (400, "bad_request")),
        ("POST /get", "[]", (400, "bad_request")),
        ("POST /get", "{\"session\":\"a\"}", (400, "bad_request")),
        ("POST /get", "{\"session\":1,\"key\":\"x\"}", (400, "bad_request")),
        ("POST /put", "{\"session\":\"a\",\"key\":\"x\",\"value\":1.5}", (400, "bad_request")),
        ("POST /put", "{\"session\":\"a\",\"key\":\"x\",\"value\":null}", (400, "bad_request")),
        ("POST /begin", "{\"session\":\"a\",\"level\":\"best\"}", (400, "bad_request")),
        ("POST /begin", "{\"session\":\"a\",\"level\":\"psi\"}", (400, "bad_request")),
        ("POST /nothing", "{\"session\":\"a\"}", (404, "not_found")),
        ("POST /a/b", "{}", (404, "not_found")),
        ("GET /get", "", (405, "method")),
    ] {
        assert_eq!(code(&server.raw(head, body)), expected, "{head} {body}");
    }
    let long = format!("{{\"session\":\"a\",\"key\":\"{}\"}}", "x".repeat(2000));
    assert_eq!(code(&server.raw("POST /get", &long)), (400, "bad_request"));
    let huge = "x".repeat(2 << 20);
    assert_eq!(server.raw("POST /get", &huge).0, 413);
    server.end(Level::Causal);
}

#[test]
fn a_lock_is_waited_for_and_a_silent_holder_is_rolled_back() {
    let server = start(Level::ReadCommitted, 200, 1500);
    let body = |session: &str| json!({"session": session, "key": "x", "value": session});
    server.post("/put", &body("z"));
    server.post("/begin", &json!({"session": "a"}));
    assert_eq!(server.post("/put", &body("a")).0, 200);
    assert_eq!(code(&server.post("/put", &body("b"))), (423, "locked"));
    // The client of `a` is gone without a word; `b` only has to be patient.
    while code(&server.post("/put", &body("b"))) == (423, "locked") {}
    assert_eq!(server.post("/get", &body("b")), (200, json!({"value": "b"})));
    assert_eq!(code(&server.post("/commit", &body("a"))), (409, "transaction_state"));
    assert_eq!(server.end(Level::ReadCommitted).counts.rolled_back, 1);
}

#[test]
fn a_client_that_leaves_while_it_waits_leaves_the_queue() {
    let server = start(Level::ReadCommitted, 60_000, 60_000);
    let body = |session: &str| json!({"session": session, "key": "x", "value": session});
    server.post("/begin", &json!({"session": "a"}));
    server.post("/put", &body("a"));
    let mut stream = TcpStream::connect(server.address).unwrap();
    let text = body("b").to_string();
    write!(stream, "POST /put HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{text}", text.len()).unwrap();
    // A request that is being answered makes its session busy: then it waits, and is left alone.
    while code(&server.post("/get", &json!({"session": "b", "key": "y"}))) != (409, "busy") {}
    drop(stream);
    while code(&server.post("/get", &json!({"session": "b", "key": "y"}))) == (409, "busy") {}
    // Its put was a transaction by itself, which is gone with it.
    assert_eq!(code(&server.post("/commit", &json!({"session": "b"}))), (409, "transaction_state"));
    server.post("/commit", &json!({"session": "a"}));
    assert_eq!(server.post("/put", &body("c")).0, 200);
    server.end(Level::ReadCommitted);
}
