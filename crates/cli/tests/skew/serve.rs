//! `skew serve`: says where it listens, serves, and ends politely; `skew serve -- command` says what was behind a failure.

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

/// Tells a server that its terminal is gone; whoever ignores that is asked to end afterwards. With which code it ends.
#[cfg(target_os = "linux")]
fn hang_up(folder: &Folder, line: &str) -> Option<i32> {
    let mut command = Command::new("sh");
    command.args(["-c", line, env!("CARGO_BIN_EXE_skew")]).current_dir(folder.path());
    let mut server = Server(command.stdout(std::process::Stdio::piped()).spawn().unwrap());
    let mut out = BufReader::new(server.0.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    let address = first.trim().rsplit('/').next().unwrap();
    let process = server.0.id().to_string();
    let tell = |signal: &str| Command::new("kill").args([signal, &process]).status().unwrap();
    assert!(tell("-HUP").success());
    if line.contains("trap") {
        // Time enough to end for a server that would.
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(post(address, "/put", "{\"session\":\"a\",\"key\":\"x\",\"value\":1}").ends_with("{}\n"));
        assert!(server.0.try_wait().unwrap().is_none());
        assert!(tell("-INT").success());
    }
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest.contains("1 committed"), line.contains("trap"), "{rest}");
    server.0.wait().unwrap().code()
}

#[test]
#[cfg(target_os = "linux")]
fn a_terminal_that_goes_ends_a_server_unless_it_was_told_to_ignore_it() {
    let folder = Folder::new("serve-nohup");
    assert_eq!(hang_up(&folder, "exec $0 serve --http"), Some(0));
    assert_eq!(hang_up(&folder, "trap '' HUP; exec $0 serve --http"), Some(0));
}

fn refused(test: &str, arguments: &[&str]) -> Ran {
    Folder::new(test).skew(&[&["serve", "--http"], arguments].concat()).expect(2)
}

#[test]
fn wrong_settings_are_refused() {
    assert!(refused("serve-level", &["--level", "sser"]).err.contains("not a level that can be served"));
    assert!(refused("serve-rate", &["--abort-rate", "2"]).err.contains("use a number from 0 to 1"));
    assert!(refused("serve-replay", &["--replay", "nothing.jsonl"]).err.contains("nothing.jsonl"));
    let exposed = Folder::new("serve-exposed").skew(&["serve", "--listen", "0.0.0.0"]).expect(2);
    assert!(exposed.err.contains("set a --password, or say --insecure"), "{}", exposed.err);
}

/// The simplest client that there is: sends a query, returns the first field of the last row, or the state of the error.
pub(crate) struct Client(TcpStream);

impl Client {
    pub(crate) fn connect(address: &str) -> Client {
        let mut client = Client(TcpStream::connect(address).unwrap());
        client.0.write_all(b"\0\0\0\x12\0\x03\0\0user\0ann\0\0").unwrap();
        client.answer().unwrap();
        client
    }

    pub(crate) fn query(&mut self, sql: &str) -> Result<String, String> {
        self.send(sql);
        self.answer()
    }

    pub(crate) fn send(&mut self, sql: &str) {
        let length = (sql.len() as u32 + 5).to_be_bytes();
        self.0.write_all(&[b"Q", &length[..], sql.as_bytes(), b"\0"].concat()).unwrap();
    }

    /// The answer to what was sent; nothing when the server is gone.
    pub(crate) fn heard(&mut self) -> Option<Result<String, String>> {
        match self.0.peek(&mut [0]) {
            Ok(1) => Some(self.answer()),
            _ => None,
        }
    }

    /// Returns when the server is gone, in whatever way.
    pub(crate) fn wait_for_the_end(mut self) {
        let _ = self.0.read(&mut [0]);
    }

    fn answer(&mut self) -> Result<String, String> {
        let mut answer = Ok(String::new());
        loop {
            let mut head = [0; 5];
            self.0.read_exact(&mut head).unwrap();
            let mut body = vec![0; u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4];
            self.0.read_exact(&mut body).unwrap();
            match head[0] {
                b'D' => {
                    let length = i32::from_be_bytes(body[2..6].try_into().unwrap());
                    let field = &body[6..6 + usize::try_from(length).unwrap_or(0)];
                    answer = Ok(String::from_utf8(field.to_vec()).unwrap());
                }
                b'E' => answer = Err(String::from_utf8_lossy(&body).into_owned()),
                b'Z' => return answer,
                _ => {}
            }
            // Nothing comes after that.
            if answer.as_ref().is_err_and(|error| error.contains("FATAL")) {
                return answer;
            }
        }
    }
}

/// A server that does not outlive its test, however that ends.
pub(crate) struct Server(pub(crate) std::process::Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server by itself, and where it listens.
pub(crate) fn listening(folder: &Folder, arguments: &[&str]) -> (Server, BufReader<std::process::ChildStdout>, String) {
    let mut child = folder.start(&[&["serve"], arguments].concat());
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let (mut first, mut second) = (String::new(), String::new());
    out.read_line(&mut first).unwrap();
    out.read_line(&mut second).unwrap();
    let address = first.trim().split('@').nth(1).unwrap().trim_end_matches("/skew").to_owned();
    assert!(second.starts_with("host 127.0.0.1, port "), "{second}");
    (Server(child), out, address)
}

#[test]
fn sql_is_served_and_recorded_until_an_interrupt() {
    let folder = Folder::new("serve-wire");
    folder.write("schema.sql", "CREATE TABLE t (id INT PRIMARY KEY, n INT);\nINSERT INTO t VALUES (1, 10);");
    let (mut server, mut out, address) =
        listening(&folder, &["--level", "causal", "--init", "schema.sql", "--record", "run.jsonl", "--choices", "log"]);
    let mut client = Client::connect(&address);
    client.query("UPDATE t SET n = n + 1").unwrap();
    assert_eq!(client.query("SELECT n FROM t").unwrap(), "11");
    assert!(client.query("SELECT m FROM t").unwrap_err().contains("42703"));
    assert!(Command::new("kill").args(["-INT", &server.0.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(rest.starts_with("1 client, 2 committed, "), "{rest}");
    assert_eq!(server.0.wait().unwrap().code(), Some(0));
    folder.skew(&["check", "run.jsonl", "--level", "causal"]).expect(0);
    assert!(folder.read("run.jsonl").contains("\"initial\":{\"t/1\":10}"), "{}", folder.read("run.jsonl"));
    assert!(folder.read("run.jsonl").contains("\"sql\":\"UPDATE t SET n = n + 1\""));
}

#[test]
fn a_server_that_is_killed_leaves_a_history() {
    let folder = Folder::new("serve-killed");
    let (mut server, _out, address) = listening(&folder, &["--record", "run.jsonl"]);
    let (mut one, mut other) = (Client::connect(&address), Client::connect(&address));
    one.query("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    for number in 0..50 {
        one.query(&format!("INSERT INTO t VALUES ({number})")).unwrap();
    }
    other.query("BEGIN; INSERT INTO t VALUES (50)").unwrap();
    server.0.kill().unwrap();
    server.0.wait().unwrap();
    let report = folder.skew(&["check", "run.jsonl", "--level", "declared"]).expect(0);
    assert!(report.out.contains("holds"), "{}", report.out);
}

#[test]
fn a_thousand_clients_are_served_at_once() {
    let folder = Folder::new("serve-thousand");
    let (mut server, _out, address) = listening(&folder, &[]);
    allow_many_files();
    let mut clients: Vec<Client> = (0..1000).map(|_| Client::connect(&address)).collect();
    clients[0].query("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    for (number, client) in clients.iter_mut().enumerate() {
        client.query(&format!("INSERT INTO t VALUES ({number})")).unwrap();
    }
    assert_eq!(clients[999].query("SELECT count(*) FROM t").unwrap(), "1000");
    server.0.kill().unwrap();
    server.0.wait().unwrap();
}

/// The server does this by itself; here the clients of one test are as many.
fn allow_many_files() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
}

#[test]
fn who_never_reads_takes_the_memory_of_one_answer() {
    let folder = Folder::new("serve-deaf");
    let (server, _out, address) = listening(&folder, &[]);
    let mut client = Client::connect(&address);
    let mut deaf = Client::connect(&address);
    deaf.0.set_write_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
    // Five megabytes each, a gigabyte in all.
    let sql = "SELECT repeat('x', 1000) FROM generate_series(1, 5000)";
    let question = [b"Q", &(sql.len() as u32 + 5).to_be_bytes()[..], sql.as_bytes(), b"\0"].concat();
    deaf.0.write_all(&question.repeat(200)).unwrap();
    for number in 0..100 {
        assert_eq!(client.query(&format!("SELECT {number}")).unwrap(), number.to_string());
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.0.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 200_000, "{kilobytes} kB");
}

#[test]
fn a_command_finds_the_database_in_its_environment() {
    let folder = Folder::new("serve-command");
    let line =
        "test \"$DATABASE_URL\" = \"postgresql://$PGUSER@$PGHOST:$PGPORT/$PGDATABASE\" && echo at $PGHOST $PGSSLMODE";
    let ran = folder.skew(&["serve", "--level", "rc", "--", "sh", "-c", line]).expect(0);
    assert!(ran.out.contains("at 127.0.0.1 disable\n"), "{}", ran.out);
    assert!(ran.out.contains("1 run at read-committed from seed 1\n  passes\n"), "{}", ran.out);
    let ran = folder.skew(&["serve", "--", "no-such-command-anywhere"]).expect(2);
    assert!(ran.err.contains("no-such-command-anywhere: cannot be run"), "{}", ran.err);
}

#[test]
fn failing_runs_are_told_with_their_output_and_how_to_repeat_them() {
    let folder = Folder::new("serve-failing");
    let line = "echo out; echo err >&2; case $DATABASE_URL in *[02468]/skew) exit 3;; esac; exit 4";
    let ran = folder.skew(&["serve", "--runs", "3", "--jobs", "2", "--seed", "5", "--", "sh", "-c", line]).expect(1);
    assert!(
        ran.out.contains("3 runs at its own level from seed 5\n  fails  in 3 runs\n    seed 5: exit code "),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("output of seed 5\n  out\n  err\n"), "{}", ran.out);
    assert!(ran.out.contains("\nskew serve --clock 20") && ran.out.contains("Z --replay 5 -- sh -c '"), "{}", ran.out);
    let ran = folder.skew(&["serve", "--timeout", "100ms", "--", "sleep", "60"]).expect(1);
    assert!(ran.out.contains("seed 1: did not end in time"), "{}", ran.out);
    let killed = folder.skew(&["serve", "--runs", "2", "--", "sh", "-c", "kill -9 $$"]).expect(1);
    assert!(killed.out.contains("signal: 9"), "{}", killed.out);
}

/// What the commands below run: this test binary, as a client.
fn as_client(folder: &Folder, arguments: &[&str]) -> Ran {
    Ran::new(as_client_of(folder, arguments, "serve::two_clients_withdraw").output().unwrap())
}

/// `skew serve` with one test of this binary as its command.
pub(crate) fn as_client_of(folder: &Folder, arguments: &[&str], test: &str) -> Command {
    let this = std::env::current_exe().unwrap();
    let this = this.to_str().unwrap();
    let child = ["--", this, "--exact", test, "--nocapture"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_skew"));
    command.args([&["serve"], arguments, &child].concat()).current_dir(folder.path()).env("SKEW_TEST_CLIENT", "1");
    command
}

/// Both clients look at the sum of two accounts before they take from one.
#[test]
fn two_clients_withdraw() {
    if std::env::var_os("SKEW_TEST_CLIENT").is_none() {
        return;
    }
    let address = format!("{}:{}", std::env::var("PGHOST").unwrap(), std::env::var("PGPORT").unwrap());
    let (mut one, mut other) = (Client::connect(&address), Client::connect(&address));
    one.query("BEGIN").unwrap();
    other.query("BEGIN").unwrap();
    let sum = "SELECT sum(balance) FROM account";
    let sums = [one.query(sum).unwrap(), other.query(sum).unwrap()];
    for (client, id, sum) in [(&mut one, 1, &sums[0]), (&mut other, 2, &sums[1])] {
        if sum.parse::<i32>().unwrap() >= 60
            && client.query(&format!("UPDATE account SET balance = balance - 60 WHERE id = {id}")).is_ok()
        {
            let _ = client.query("COMMIT");
        }
    }
    let mut witness = Client::connect(&address);
    witness.query("SET skew.chooser = 'latest'").unwrap();
    let left: i32 = witness.query(sum).unwrap().parse().unwrap();
    if left < 0 {
        writeln!(std::io::stdout(), "overdrawn: {left}").unwrap();
        std::process::exit(1);
    }
}

const ACCOUNTS: &str =
    "CREATE TABLE account (id INT PRIMARY KEY, balance INT); INSERT INTO account VALUES (1, 50), (2, 50);";

#[test]
fn a_client_asks_for_serializable() {
    if std::env::var_os("SKEW_TEST_CLIENT").is_none() {
        return;
    }
    let address = format!("{}:{}", std::env::var("PGHOST").unwrap(), std::env::var("PGPORT").unwrap());
    Client::connect(&address).query("BEGIN ISOLATION LEVEL SERIALIZABLE").unwrap();
}

#[test]
fn a_level_that_clients_do_not_get_is_told_once_in_many_runs() {
    let folder = Folder::new("serve-overruled");
    let arguments = ["--level", "causal", "--runs", "3"];
    let mut command = as_client_of(&folder, &arguments, "serve::a_client_asks_for_serializable");
    let ran = Ran::new(command.output().unwrap()).expect(0);
    assert_eq!(ran.err.matches("a client asked for Serializable").count(), 1, "{}", ran.err);
}

#[test]
fn the_anomaly_behind_a_failure_is_named_and_the_replay_fails_again() {
    let folder = Folder::new("serve-anomaly");
    folder.write("schema.sql", ACCOUNTS);
    let ran = as_client(&folder, &["--level", "snapshot", "--init", "schema.sql", "--runs", "4", "--record", "runs"])
        .expect(1);
    assert!(ran.out.contains("fails  in 4 runs\n    seed 1: exit code 1; write skew\n"), "{}", ran.out);
    assert!(ran.out.contains("4 runs are not serializable: write skew (4)"), "{}", ran.out);
    assert!(
        ran.out.contains("\nskew serve --level snapshot --init schema.sql --replay runs/1.choices -- "),
        "{}",
        ran.out
    );
    assert!(folder.read("runs/3.output").contains("overdrawn: -20"));
    folder.skew(&["check", "runs/2.jsonl", "--level", "snapshot"]).expect(0);
    let again =
        as_client(&folder, &["--level", "snapshot", "--init", "schema.sql", "--replay", "runs/2.choices"]).expect(1);
    assert!(again.out.contains("overdrawn: -20") && !again.out.contains("not in the log"), "{}", again.out);
    let safe =
        as_client(&folder, &["--level", "serializable", "--init", "schema.sql", "--runs", "4", "--against", "ser"])
            .expect(0);
    assert!(safe.out.contains("passes in every run\n  every run is serializable"), "{}", safe.out);
}

#[test]
fn wrong_sql_in_init_is_told_with_its_place() {
    let folder = Folder::new("serve-init");
    folder.write("schema.sql", "CREATE TABLE t (id INT);\nINSERT INTO u VALUES (1);");
    let ran = folder.skew(&["serve", "--init", "schema.sql", "--", "true"]).expect(2);
    assert!(ran.err.contains("schema.sql: line 2, column"), "{}", ran.err);
}

#[test]
fn where_nothing_could_race_a_command_never_passes() {
    let folder = Folder::new("serve-no-race");
    let ran = folder.skew(&["serve", "--runs", "2", "--", "true"]).expect(3);
    assert!(
        ran.out.contains("inconclusive: the command went well in every run, where nothing could go wrong"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("Writing a test that can race"), "{}", ran.out);
    let ran = folder.skew(&["serve", "--format", "json", "--", "true"]).expect(3);
    for expected in ["\"skew\":1", "\"nothing_could_race\":true", "\"could_overlap\":0", "\"unsupported\":[]"] {
        assert!(ran.out.contains(expected), "{}", ran.out);
    }
    // At the papers' levels reads are weak also where one transaction follows the other.
    folder.skew(&["serve", "--level", "causal", "--", "true"]).expect(0);
}

#[test]
fn flags_about_holding_back_are_refused_where_nothing_is_held() {
    let folder = Folder::new("serve-schedule");
    for (arguments, advice) in [
        (&["--level", "causal", "--schedule", "pct"][..], "or leave --level away"),
        (&["--schedule", "free", "--hold", "1s"][..], "use --schedule pct, random or adversary"),
        (&["--depth", "3"][..], "add --schedule pct"),
        (&["--delay", "5ms"][..], "add --schedule free"),
        (&["--hold", "0s"][..], "use --schedule free"),
    ] {
        let ran = folder.skew(&[&["serve"], arguments, &["--", "true"]].concat()).expect(2);
        assert!(ran.err.contains(advice), "{arguments:?}: {}", ran.err);
    }
    let ran = folder.skew(&["serve", "--schedule", "free", "--delay", "1ms", "--", "false"]).expect(1);
    assert!(ran.out.contains("skew serve --schedule free --delay 1ms "), "{}", ran.out);
}
