//! `skew up`: servers that are there for a command, or until somebody says stop, however rudely; and where they cannot start.

use crate::{Folder, Ran};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Whether a server could not start because its package is missing, where that is nobody's mistake.
pub(crate) fn is_missing(ran: &Ran) -> bool {
    let was_set_up = std::env::var_os("SKEW_CLIENTS").is_some_and(|folder| folder != "no");
    let missing = ran.code == Some(2) && ran.err.contains("is not installed") && !was_set_up;
    if missing {
        skew_testing::skipped(ran.err.trim());
    }
    missing
}

#[test]
fn a_server_that_is_not_installed_is_told_with_its_package() {
    for command in [["up", "galera"].as_slice(), &["run", "registers", "--up", "galera"]] {
        let mut skew = Command::new(env!("CARGO_BIN_EXE_skew"));
        skew.args(command).env("PATH", "/nowhere").stdin(Stdio::null());
        let ran = Ran::new(skew.output().unwrap()).expect(2);
        assert!(ran.err.contains("rsync is not installed") && ran.err.contains("apt-get install rsync"), "{}", ran.err);
    }
}

/// Runs a workload on a server that is there only for it; nothing is left of the server afterwards.
fn on_a_server_of_its_own(kind: &str) {
    let folder = Folder::new(&format!("up-{kind}"));
    let line = "echo \"$DATABASE_URL\"; \"$0\" run voter --db \"$DATABASE_URL\" --transactions 10 --check serializable";
    let ran = folder.skew(&["up", kind, "--", "sh", "-c", line, env!("CARGO_BIN_EXE_skew")]);
    if is_missing(&ran) {
        return;
    }
    let ran = ran.expect(0);
    let url = ran.out.lines().next().unwrap();
    assert!(ran.out.contains("  holds  A14") && ran.out.contains("  serializable  holds"), "{}", ran.out);
    assert!(TcpStream::connect(place(url)).is_err(), "{url} still answers");
}

/// Host and port of a URL.
fn place(url: &str) -> &str {
    url.split('@').nth(1).and_then(|rest| rest.split('/').next()).unwrap()
}

#[test]
fn a_workload_runs_on_a_postgresql_of_its_own() {
    on_a_server_of_its_own("postgres");
}

#[test]
fn a_workload_runs_on_a_mariadb_of_its_own() {
    on_a_server_of_its_own("mariadb");
}

/// Starts a server whose temporary files are in the folder; skew and the URLs of the nodes.
fn up(folder: &Folder, kind: &str) -> Option<(Child, Vec<String>)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skew"));
    // Servers run as users of their own, who cannot look into every folder: theirs is the usual one.
    command.args(["up", kind]).current_dir(folder.path()).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut urls = Vec::new();
    for _ in 0..if kind == "galera" { 3 } else { 1 } {
        let mut line = String::new();
        if out.read_line(&mut line).unwrap() == 0 {
            assert!(is_missing(&Ran::new(child.wait_with_output().unwrap())), "{kind} does not start");
            return None;
        }
        urls.push(line.trim().to_owned());
    }
    assert!(urls.iter().all(|url| TcpStream::connect(place(url)).is_ok()), "{urls:?}");
    Some((child, urls))
}

/// Folders of servers that a process has started.
fn folders_of(process: u32) -> usize {
    let all = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let middle = format!("-{process}-");
    all.filter(|entry| {
        entry.file_name().to_string_lossy().starts_with("skew-")
            && entry.file_name().to_string_lossy().contains(&middle)
    })
    .count()
}

/// Sends signals to skew; sooner or later nothing is left of the servers. Its exit code, if it has one.
fn ends_by(kind: &str, signals: &[&str]) -> Option<i32> {
    let folder = Folder::new(&format!("up-{kind}-{}", signals.concat()));
    let (mut child, urls) = up(&folder, kind)?;
    assert_eq!(folders_of(child.id()), urls.len());
    for signal in signals {
        assert!(Command::new("kill").args([*signal, &child.id().to_string()]).status().unwrap().success());
    }
    let code = child.wait().unwrap().code();
    while folders_of(child.id()) > 0 || urls.iter().any(|url| TcpStream::connect(place(url)).is_ok()) {
        thread::sleep(Duration::from_millis(100));
    }
    code
}

#[test]
fn servers_end_with_skew_however_it_ends() {
    for (signals, code) in [(["-TERM"].as_slice(), Some(0)), (&["-INT", "-INT"], Some(3)), (&["-KILL"], None)] {
        let ended = ends_by("postgres", signals);
        assert!([code, Some(0), None].contains(&ended), "{signals:?}: {ended:?}");
    }
    ends_by("mariadb", &["-KILL"]);
}

#[test]
fn a_cluster_ends_with_skew_even_when_it_is_asked_twice() {
    ends_by("galera", &["-INT", "-INT"]);
}
