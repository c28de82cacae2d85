//! What is recorded destroys nothing, and a full disk is no secret.

use crate::serve::{Client, Server, listening};
use crate::{Folder, Ran};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

const OLD: &str = "what an earlier run left\n";

/// The names in a folder, hidden ones too.
fn names(folder: &Folder, inside: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path().join(inside)).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_server_that_does_not_start_leaves_what_is_there() {
    let folder = Folder::new("record-not-started");
    folder.write("old.jsonl", OLD);
    folder.write("old.log", OLD);
    folder.write("bad.sql", "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO nowhere VALUES (1);");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let record = ["--record", "old.jsonl", "--choices", "old.log"];
    for reason in [
        &["--port", &port][..],
        &["--http", "--port", &port],
        &["--init", "bad.sql"],
        &["--init", "missing.sql"],
        &["--port", &port, "--", "true"],
        &["--", "no-such-command-anywhere"],
    ] {
        let command = reason.iter().position(|word| *word == "--").unwrap_or(reason.len());
        let arguments = [&["serve"], &reason[..command], &record, &reason[command..]].concat();
        folder.skew(&arguments).expect(2);
        assert_eq!([folder.read("old.jsonl"), folder.read("old.log")], [OLD, OLD], "{reason:?}");
    }
    folder.skew(&["run", "smallbank", "--db", "postgres://u@127.0.0.1:1/d", "--record", "old.jsonl"]).expect(2);
    assert_eq!(folder.read("old.jsonl"), OLD);
    assert_eq!(names(&folder, ""), ["bad.sql", "old.jsonl", "old.log"], "nothing is left beside them");
}

#[test]
fn what_a_running_server_records_is_not_recorded_over() {
    let folder = Folder::new("record-twice");
    let (mut server, _out, address) = listening(&folder, &["--record", "run.jsonl"]);
    let mut client = Client::connect(&address);
    client.query("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    let recorded = folder.read("run.jsonl");
    folder.write("a.txt", crate::SERIAL);
    for second in [
        &["serve", "--record", "run.jsonl"][..],
        &["serve", "--http", "--record", "./run.jsonl"],
        &["serve", "--record", "run.jsonl", "--", "true"],
        &["run", "smallbank", "--transactions", "1", "--record", "run.jsonl"],
        &["generate", "-o", "run.jsonl"],
        &["convert", "a.txt", "run.jsonl", "--to", "native"],
    ] {
        let ran = folder.skew(second).expect(2);
        let said = "run.jsonl: cannot write it: another skew is writing it\n  end that one, or choose another file\n";
        assert!(ran.err.contains(said), "{second:?}: {}", ran.err);
        assert_eq!(folder.read("run.jsonl"), recorded, "{second:?}");
    }
    client.query("INSERT INTO t VALUES (2)").unwrap();
    server.0.kill().unwrap();
    server.0.wait().unwrap();
    assert!(folder.read("run.jsonl").starts_with(&recorded) && folder.read("run.jsonl").len() > recorded.len());
    folder.skew(&["check", "run.jsonl", "--level", "declared"]).expect(0);
    // Whoever was killed holds nothing any more.
    folder.skew(&["-q", "generate", "--transactions", "3", "-o", "run.jsonl"]).expect(0);
    assert_ne!(folder.read("run.jsonl"), recorded);
}

#[test]
#[cfg(unix)]
fn an_input_is_not_written_over_whatever_name_it_has() {
    let folder = Folder::new("record-input");
    let schema = "CREATE TABLE t (id INT PRIMARY KEY);\n";
    folder.write("schema.sql", schema);
    std::os::unix::fs::symlink("schema.sql", folder.path().join("link")).unwrap();
    std::fs::hard_link(folder.path().join("schema.sql"), folder.path().join("second")).unwrap();
    for name in ["schema.sql", "./schema.sql", "link", "second"] {
        for option in ["--record", "--choices"] {
            for ending in [&[][..], &["--", "true"]] {
                let arguments = [&["serve", "--init", "schema.sql", option, name], ending].concat();
                let ran = folder.skew(&arguments).expect(2);
                let said = "this is an input of the command, which would be lost\n  choose another file\n";
                assert!(ran.err.contains(said), "{arguments:?}: {}", ran.err);
                assert_eq!(folder.read("schema.sql"), schema, "{arguments:?}");
            }
        }
    }
    let log = "{\"choices\":1,\"seed\":7}\n";
    folder.write("log", log);
    folder.skew(&["serve", "--replay", "log", "--choices", "./log"]).expect(2);
    for name in ["one", "./one", "../record-input/one"] {
        let ran = folder.skew(&["serve", "--record", "one", "--choices", name]).expect(2);
        assert!(ran.err.contains("one: --record and --choices name one file"), "{}", ran.err);
    }
    assert_eq!(folder.read("log"), log);
}

#[test]
#[cfg(unix)]
fn no_command_writes_over_what_it_reads() {
    let folder = Folder::new("written-input");
    let program = "CREATE TABLE t (k INT PRIMARY KEY, v INT);\nINSERT INTO t VALUES (1, 0);\n\
        CREATE PROCEDURE bump() BEGIN DECLARE x INT; SELECT v INTO x FROM t WHERE k = 1; UPDATE t SET v = x + 1 WHERE k = 1; END;\n\
        SESSION a: CALL bump();\nSESSION b: CALL bump();\n";
    folder.write("runs/1.jsonl", program);
    folder.skew(&["play", "runs/1.jsonl", "--level", "causal", "--runs", "1", "--record", "runs"]).expect(2);
    let ran = folder.skew(&["explore", "runs/1.jsonl", "--resume", "runs/1.jsonl"]).expect(2);
    assert!(ran.err.contains("which would be lost\n  choose another file\n"), "{}", ran.err);
    folder.shell("skew play - --level causal --runs 1 --record runs < runs/1.jsonl").expect(2);
    assert_eq!(folder.read("runs/1.jsonl"), program);
    folder.write("a.txt", crate::SERIAL);
    std::os::unix::fs::symlink("a.txt", folder.path().join("link")).unwrap();
    std::fs::hard_link(folder.path().join("a.txt"), folder.path().join("second")).unwrap();
    for name in ["a.txt", "./a.txt", "link", "second"] {
        folder.skew(&["convert", "a.txt", name, "--to", "native"]).expect(2);
        folder.skew(&["check", "a.txt", "--certificate", name]).expect(2);
        folder.shell(&format!("skew convert - {name} --to native < a.txt")).expect(2);
        folder.shell(&format!("skew check - --certificate {name} < a.txt")).expect(2);
        assert_eq!(folder.read("a.txt"), crate::SERIAL, "{name}");
    }
}

#[test]
fn a_recording_replaces_what_was_there_once_the_server_serves() {
    let folder = Folder::new("record-replaces");
    folder.write("run.jsonl", OLD);
    let (_server, _out, address) = listening(&folder, &["--record", "run.jsonl"]);
    assert!(folder.read("run.jsonl").starts_with("{\"skew\":1"));
    Client::connect(&address).query("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(folder.read("run.jsonl").lines().count(), 2);
}

/// `skew` where no file can have more than so many kilobytes: a disk that becomes full, for whoever is not root.
#[cfg(target_os = "linux")]
fn with_little_space(folder: &Folder, half_kilobytes: u32, arguments: &[&str]) -> Child {
    // Blocks of 512 bytes; a signal that says the same as the error is ignored.
    let line = format!("trap '' XFSZ; ulimit -f {half_kilobytes}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &line, env!("CARGO_BIN_EXE_skew")]).args(arguments).current_dir(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[cfg(target_os = "linux")]
fn ran_with_little_space(folder: &Folder, half_kilobytes: u32, arguments: &[&str]) -> Ran {
    Ran::new(with_little_space(folder, half_kilobytes, arguments).wait_with_output().unwrap())
}

#[cfg(target_os = "linux")]
fn assert_whole_lines(folder: &Folder, name: &str) {
    let text = folder.read(name);
    assert!(text.ends_with("}\n") && text.lines().count() > 3, "{text}");
    assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{text}");
}

/// How many transactions a file holds.
#[cfg(target_os = "linux")]
fn transactions_in(folder: &Folder, name: &str) -> usize {
    folder.read(name).lines().filter(|line| line.starts_with("{\"session\"")).count()
}

/// A server whose disk becomes full while a client inserts.
#[cfg(target_os = "linux")]
struct Filled {
    server: Server,
    client: Client,
    /// What was told by then.
    told: String,
    /// How many inserts went well, as far as the client knows.
    acknowledged: usize,
}

#[cfg(target_os = "linux")]
fn filled(folder: &Folder, policy: &str) -> Filled {
    let arguments = ["serve", "--record", "run.jsonl", "--choices", "log", "--record-errors", policy];
    let mut child = with_little_space(folder, 8, &arguments);
    let mut first = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    let address = first.trim().split('@').nth(1).unwrap().trim_end_matches("/skew").to_owned();
    let mut client = Client::connect(&address);
    client.query("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut acknowledged = 0;
    for number in 0..60 {
        client.send(&format!("INSERT INTO t VALUES ({number})"));
        match client.heard() {
            Some(Ok(_)) => acknowledged += 1,
            _ => break,
        }
    }
    // The server may go on: what is read here was told at once.
    let mut told = String::new();
    while !told.contains("--record-errors") {
        assert!(errors.read_line(&mut told).unwrap() > 0, "{told}");
    }
    child.stderr = Some(errors.into_inner());
    Filled { server: Server(child), client, told, acknowledged }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_ends_a_server_that_records_with_whole_lines() {
    let folder = Folder::new("record-full-stop");
    let Filled { mut server, client, told, acknowledged } = filled(&folder, "stop");
    assert!(told.contains("run.jsonl: cannot write it any more: File too large"), "{told}");
    assert!(told.contains("the file ends with the last line that was written whole; this ends the run"), "{told}");
    client.wait_for_the_end();
    let mut rest = String::new();
    server.0.stderr.take().unwrap().read_to_string(&mut rest).unwrap();
    assert_eq!(server.0.wait().unwrap().code(), Some(2));
    assert!(rest.contains("recording stopped: run.jsonl: File too large") && !rest.contains("valid history"), "{rest}");
    assert_whole_lines(&folder, "run.jsonl");
    assert_eq!(acknowledged, transactions_in(&folder, "run.jsonl"), "what is not recorded is not acknowledged");
    folder.skew(&["check", "run.jsonl", "--level", "declared"]).expect(0);
}

/// The status of the answer to a request; nothing when the server is gone.
#[cfg(target_os = "linux")]
fn post(address: &str, path: &str, body: &str) -> Option<u16> {
    let mut stream = std::net::TcpStream::connect(address).ok()?;
    let length = body.len();
    let request =
        format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.get(9..12)?.parse().ok()
}

#[test]
#[cfg(target_os = "linux")]
fn over_http_nothing_is_acknowledged_that_is_not_recorded() {
    let folder = Folder::new("record-full-http");
    let mut child = with_little_space(&folder, 4, &["serve", "--http", "--record", "run.jsonl"]);
    let mut first = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    let address = first.trim().rsplit('/').next().unwrap().to_owned();
    let put = |number| post(&address, "/put", &format!("{{\"session\":\"a\",\"key\":\"x\",\"value\":{number}}}"));
    let acknowledged = (0..60).take_while(|number| put(*number) == Some(200)).count();
    // Nor is what comes after it, whether the server is still there or not.
    assert!(put(61) != Some(200) && acknowledged < 60);
    assert_eq!(Server(child).0.wait().unwrap().code(), Some(2));
    assert_eq!(acknowledged, transactions_in(&folder, "run.jsonl"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_that_is_told_to_goes_on_without_recording() {
    let folder = Folder::new("record-full-continue");
    let Filled { mut server, mut client, told, .. } = filled(&folder, "continue");
    assert!(told.contains("the run goes on without recording"), "{told}");
    assert_eq!(client.query("SELECT count(*) FROM t").unwrap(), "60");
    assert!(Command::new("kill").args(["-INT", &server.0.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    server.0.stderr.take().unwrap().read_to_string(&mut rest).unwrap();
    assert_eq!(server.0.wait().unwrap().code(), Some(2), "what is not all there is no success");
    assert_eq!(rest.matches("cannot write it any more").count(), 0, "it is told once: {rest}");
    assert!(rest.contains("recording stopped: run.jsonl"), "{rest}");
    assert_whole_lines(&folder, "run.jsonl");
    folder.skew(&["check", "run.jsonl", "--level", "declared"]).expect(0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_ends_a_run_or_its_recording() {
    let folder = Folder::new("record-full-run");
    let line = ["run", "registers", "--transactions", "200", "--level", "causal", "--record", "run.jsonl"];
    let ran = ran_with_little_space(&folder, 16, &line).expect(2);
    assert!(ran.err.contains("this ends the run (--record-errors stop)"), "{}", ran.err);
    assert!(!ran.err.contains("valid history"), "reads may be of transactions that are missing: {}", ran.err);
    assert_whole_lines(&folder, "run.jsonl");
    let goes_on = [&line[..], &["--record-errors", "continue", "--check", "causal"]].concat();
    let ran = ran_with_little_space(&folder, 16, &goes_on).expect(2);
    assert!(ran.out.contains("causal") && ran.out.contains("holds"), "all of it was checked: {}", ran.out);
    assert!(ran.err.contains("recording stopped: run.jsonl"), "{}", ran.err);
    assert_whole_lines(&folder, "run.jsonl");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_no_half_of_a_played_run() {
    let folder = Folder::new("record-full-play");
    let program = "CREATE TABLE t (k INT PRIMARY KEY, v INT);\nINSERT INTO t VALUES (1, 0);\n\
        CREATE PROCEDURE bump() BEGIN DECLARE x INT; SELECT v INTO x FROM t WHERE k = 1; UPDATE t SET v = x + 1 WHERE k = 1; END;\n\
        SESSION a: CALL bump();\nSESSION b: CALL bump();\n";
    folder.write("p.sql", program);
    let line = ["play", "p.sql", "--level", "causal", "--runs", "3", "--record", "runs"];
    let ran = ran_with_little_space(&folder, 0, &line).expect(2);
    assert!(ran.err.contains("this ends the runs (--record-errors stop)"), "{}", ran.err);
    assert!(ran.out.contains("1 run at causal from seed 1"), "what was found is told: {}", ran.out);
    let ran = ran_with_little_space(&folder, 0, &[&line[..], &["--record-errors", "continue"]].concat()).expect(2);
    assert!(ran.out.contains("3 runs at causal") && ran.err.contains("recording stopped"), "{}{}", ran.out, ran.err);
    assert_eq!(ran.err.matches("go on without recording").count(), 1, "{}", ran.err);
    assert_eq!(names(&folder, "runs"), [""; 0]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_history_that_cannot_begin_is_told_before_anything_is_served() {
    let folder = Folder::new("record-full-start");
    folder.write("run.jsonl", OLD);
    let ran = ran_with_little_space(&folder, 0, &["serve", "--record", "run.jsonl"]).expect(2);
    let said = "run.jsonl: cannot write it: File too large (os error 27)\n  nothing was begun; free some space";
    assert!(ran.err.contains(said) && !ran.out.contains("serving"), "{}{}", ran.out, ran.err);
    assert_eq!(folder.read("run.jsonl"), OLD);
}

/// A program of which every run is recorded, and its name.
fn program(folder: &Folder) -> String {
    let text = "CREATE TABLE t (k INT PRIMARY KEY, v INT);\nINSERT INTO t VALUES (1, 0);\n\
        CREATE PROCEDURE bump() BEGIN DECLARE x INT; SELECT v INTO x FROM t WHERE k = 1; UPDATE t SET v = x + 1 WHERE k = 1; END;\n\
        SESSION a: CALL bump();\nSESSION b: CALL bump();\n";
    folder.write("p.sql", text)
}

/// The campaigns that record a file for each run, as far as the runs of seeds 1 to 3.
const CAMPAIGNS: [(&[&str], &[&str]); 3] = [
    (&["serve", "--runs", "3"], &["--", "true"]),
    (&["run", "registers", "--runs", "3", "--transactions", "2"], &[]),
    (&["play", "p.sql", "--level", "causal", "--runs", "3"], &[]),
];

#[test]
fn a_later_run_that_cannot_be_recorded_ends_the_recording_or_the_runs() {
    for (number, (before, behind)) in CAMPAIGNS.into_iter().enumerate() {
        for (policy, runs) in [("continue", "3 runs"), ("stop", if number == 2 { "2 runs" } else { "1 run" })] {
            let folder = Folder::new(&format!("record-later-{number}-{policy}"));
            program(&folder);
            // Something is in the way of the second run.
            folder.write("runs/2.jsonl/in-the-way", "");
            let line = [before, &["--record", "runs", "--record-errors", policy], behind].concat();
            let ran = folder.skew(&line).expect(2);
            assert!(ran.out.contains(&format!(": {runs} ")), "{line:?}: {}{}", ran.out, ran.err);
            assert!(ran.err.contains("runs/2.jsonl: cannot write it: is a directory"), "{line:?}: {}", ran.err);
            assert_eq!(ran.err.matches("go on without recording").count(), usize::from(policy == "continue"));
            assert!(folder.path().join("runs/1.jsonl").is_file() && !folder.path().join("runs/3.jsonl").exists());
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_is_full_from_the_start_ends_the_recording_or_the_runs() {
    for (number, (before, behind)) in CAMPAIGNS.into_iter().enumerate() {
        let folder = Folder::new(&format!("record-never-{number}"));
        program(&folder);
        let line = |policy| [before, &["--record", "runs", "--record-errors", policy], behind].concat();
        let ran = ran_with_little_space(&folder, 0, &line("continue")).expect(2);
        assert!(ran.out.contains(": 3 runs "), "{number}: {}{}", ran.out, ran.err);
        assert_eq!(ran.err.matches("on without recording").count(), 1, "it is told once: {}", ran.err);
        assert_eq!(names(&folder, "runs"), [""; 0]);
        let ran = ran_with_little_space(&folder, 0, &line("stop")).expect(2);
        assert!(!ran.out.contains("3 runs"), "{number}: {}{}", ran.out, ran.err);
    }
}

#[test]
#[cfg(unix)]
fn a_run_without_its_choices_is_repeated_by_its_seed() {
    let folder = Folder::new("record-no-choices");
    folder.write("runs/1.choices/in-the-way", "");
    folder.write("runs/2.choices", OLD);
    folder.write("runs/0.jsonl", OLD);
    let line = ["serve", "--runs", "2", "--seed", "0", "--record", "runs", "--record-errors", "continue", "--"];
    let ran = folder.skew(&[&line[..], &["sh", "-c", "test -e first && exit 1; touch first"]].concat()).expect(2);
    assert!(ran.out.contains("seed 1: exit code 1") && ran.out.contains("Z --replay 1 -- sh"), "{}", ran.out);
}
