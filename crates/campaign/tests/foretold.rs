//! A command is recorded, something is foretold of it, and it is run again with that.
//!
//! The command is this test binary, told by `SKEW_TEST_APPLICATION` which application to be:
//!
//! ```text
//!   bank     CREATE TABLE, INSERT                        by itself
//!   alice    r(account/1) w(account/1) w(payout/alice)   ┐ at the same time, each if the account has enough
//!   bob      r(account/1) w(account/1) w(payout/bob)     ┘
//!   audit    r(account/1) scan(payout)                   by itself; fails if the money does not add up
//! ```

// Not all that a client can say is said here.
#[allow(dead_code)]
#[path = "../../mockdb/tests/wire/raw.rs"]
mod raw;

use raw::Raw;
use skew_campaign::command::CommandEnd;
use skew_campaign::foretold::{self, ForetoldRun, Prophecy, ProphecyTerms, Validation};
use skew_campaign::served::ServeSettings;
use skew_campaign::served::database::DatabaseSettings;
use skew_campaign::{Moment, StopFlags};
use skew_check::Budget;
use skew_history::format::{self, Format, Source};
use skew_history::{EventId, History, IsolationLevel, TransactionId, Writer, notation};
use skew_mockdb::wire::{Schedule, WireSettings};
use skew_mockdb::{ChooserKind, Updates};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

static NEVER: AtomicBool = AtomicBool::new(false);
const STOP: StopFlags<'static> = StopFlags { stop: &NEVER, interrupted: &NEVER };
const VARIABLE: &str = "SKEW_TEST_APPLICATION";

fn connect(name: &str) -> Raw {
    let variable = |name: &str| std::env::var(name).unwrap();
    let address: SocketAddr = format!("{}:{}", variable("PGHOST"), variable("PGPORT")).parse().unwrap();
    Raw::connect(address, &[("user", "skew"), ("application_name", name)])
}

fn number(client: &mut Raw, sql: &str) -> i64 {
    let told = client.query(sql);
    told[0].strip_prefix("D ").unwrap_or_else(|| panic!("{told:?}")).parse().unwrap()
}

/// Withdraws, again and again as long as the database refuses it.
fn withdraw(person: &'static str, lock: &str) {
    let mut client = connect(person);
    loop {
        client.query("BEGIN");
        let left = number(&mut client, &format!("SELECT balance FROM account WHERE id = 1{lock}"));
        if left >= 60 {
            client.query(&format!("UPDATE account SET balance = {} WHERE id = 1", left - 60));
            client.query(&format!("INSERT INTO payout VALUES ('{person}', 60)"));
        }
        if client.query("COMMIT")[0] == "C COMMIT" {
            return;
        }
    }
}

/// Adds to the account what was there before.
fn deposit(person: &'static str) {
    let mut client = connect(person);
    client.query("BEGIN");
    let left = number(&mut client, "SELECT balance FROM account WHERE id = 1");
    client.query(&format!("UPDATE account SET balance = {} WHERE id = 1", left + 60));
    client.query("COMMIT");
}

/// What the command does. By itself it is no test.
#[test]
fn application() {
    let Ok(name) = std::env::var(VARIABLE) else { return };
    let lock = if name == "locks" { " FOR UPDATE" } else { "" };
    let expected = if name == "deposits" { 220 } else { 100 };
    {
        let mut bank = connect("bank");
        bank.query("CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)");
        bank.query("CREATE TABLE payout (person TEXT PRIMARY KEY, amount INT NOT NULL)");
        bank.query("INSERT INTO account VALUES (1, 100)");
    }
    let does = match name.as_str() {
        "deposits" => |person, _| deposit(person),
        _ => withdraw,
    };
    if name == "in-turn" {
        ["alice", "bob"].iter().for_each(|person| does(person, lock));
    } else {
        let people = ["alice", "bob"].map(|person| thread::spawn(move || does(person, lock)));
        people.into_iter().for_each(|person| person.join().unwrap());
    }
    let mut audit = connect("audit");
    audit.query("BEGIN");
    let left = number(&mut audit, "SELECT balance FROM account WHERE id = 1");
    let paid = number(&mut audit, "SELECT coalesce(sum(amount), 0) FROM payout");
    audit.query("COMMIT");
    if left + paid != expected {
        std::process::exit(7);
    }
}

fn settings(application: &str, level: IsolationLevel) -> ServeSettings {
    let program = std::env::current_exe().unwrap();
    let line = format!("{VARIABLE}={application} exec '{}' --exact application", program.display());
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    ServeSettings {
        database: DatabaseSettings {
            level: Some(level),
            updates: Updates::Atomic,
            horizon: None,
            bare: false,
            abort_rate: 0.0,
            clock: Moment::USUAL,
            chooser: ChooserKind::Random,
            log: None,
            initial: None,
        },
        wire: WireSettings { address, password: None, schedule: Schedule::Interleaved, delay: None },
        command: ["sh", "-c", &line].map(str::to_owned).to_vec(),
        has_terminal: false,
        seed: 1,
        runs: 1,
        jobs: 1,
        stop_at_first: false,
        timeout: Some(Duration::from_secs(60)),
        against: IsolationLevel::Serializable,
        budget: 1_000_000,
    }
}

fn terms(level: IsolationLevel) -> ProphecyTerms<'static> {
    ProphecyTerms { level, updates: Updates::Atomic, budget: Budget::UNLIMITED }
}

fn history(text: &str) -> History {
    format::read(&[Source { name: "run", bytes: text.as_bytes() }], Format::Native).unwrap()
}

fn only_transaction_of(history: &History, session: &str) -> TransactionId {
    let session = history.sessions().find(|id| history.session_name(*id).to_string() == session).unwrap();
    let all: Vec<TransactionId> = history.transactions_of(session).collect();
    assert_eq!(all.len(), 1);
    all[0]
}

/// A run of the application; then one in which whoever was refused reads the balance that the bank wrote.
fn replayed(application: &str, level: IsolationLevel) -> (ForetoldRun, Validation) {
    let settings = settings(application, level);
    let recorded = foretold::record(&settings, STOP).unwrap();
    assert_eq!(recorded.ended, CommandEnd::Well, "{}", recorded.output);
    let observed = history(&recorded.history);
    let reads_only = |person: &&str| {
        observed.events_of(only_transaction_of(&observed, person)).iter().all(skew_history::Event::is_read)
    };
    let refused = ["alice", "bob"].into_iter().find(reads_only).unwrap();
    let read = EventId(observed.event_range(only_transaction_of(&observed, refused)).start);
    let bank = Writer::Transaction(only_transaction_of(&observed, "bank"));
    let prophecy = Prophecy::of_one_change(&observed, read, bank, terms(level)).unwrap().unwrap();
    let run = foretold::replay(&settings, &prophecy.foretelling, &prophecy.order, STOP).unwrap();
    let validation = foretold::validate(&run, level, IsolationLevel::Serializable, Budget::UNLIMITED).unwrap();
    (run, validation)
}

#[test]
#[cfg(unix)]
fn a_stale_read_leads_where_no_recording_was() {
    let (run, validation) = replayed("withdraw", IsolationLevel::ReadCommitted);
    assert_eq!(run.ended, CommandEnd::Badly("exit code 7".to_owned()), "{}\n{}", run.output, run.history);
    assert_eq!((validation, run.divergence, run.passed_over), (Validation::Validated, None, Vec::new()));
}

/// The recorded run, in which the second one to write an account reads the balance that the bank wrote; and that read.
fn with_lost_update(recorded: &str) -> (String, BTreeSet<(String, usize)>) {
    let mut lines: Vec<serde_json::Value> = recorded.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let id = |line: &serde_json::Value| line["id"].as_str().unwrap().to_owned();
    let bank = id(lines.iter().find(|line| line["session"] == "bank").unwrap());
    let writes = |line: &serde_json::Value| line["session"] != "bank" && line["ops"].as_array().unwrap().len() == 3;
    let second = lines.iter_mut().skip(1).filter(|line| writes(line)).nth(1).unwrap();
    assert!(second["ops"][0]["r"] == "account/1" && second["ops"][0]["from"] != bank.as_str(), "{recorded}");
    (second["ops"][0]["from"], second["ops"][0]["v"]) = (bank.into(), 100.into());
    let changed = BTreeSet::from([(id(second), 0)]);
    (lines.iter().map(|line| format!("{line}\n")).collect(), changed)
}

#[test]
#[cfg(unix)]
fn a_predicted_history_comes_true() {
    let (level, settings) = (IsolationLevel::ReadCommitted, settings("deposits", IsolationLevel::ReadCommitted));
    let recorded = foretold::record(&settings, STOP).unwrap();
    assert_eq!(recorded.ended, CommandEnd::Well, "{}", recorded.output);
    let (predicted, changed) = with_lost_update(&recorded.history);
    let prophecy = Prophecy::of(&history(&predicted), &changed, terms(level)).unwrap().unwrap();
    assert_eq!((prophecy.order[0].as_str(), prophecy.order[3].as_str()), ("bank", "audit"));
    let run = foretold::replay(&settings, &prophecy.foretelling, &prophecy.order, STOP).unwrap();
    assert_eq!(run.ended, CommandEnd::Badly("exit code 7".to_owned()), "{}\n{}", run.output, run.history);
    let validation = foretold::validate(&run, level, IsolationLevel::Serializable, Budget::UNLIMITED).unwrap();
    assert_eq!((validation, run.divergence), (Validation::Validated, None), "{}", run.history);
}

#[test]
#[cfg(unix)]
fn who_connects_later_cannot_miss_anything() {
    let (run, validation) = replayed("in-turn", IsolationLevel::ReadCommitted);
    assert_eq!(run.ended, CommandEnd::Well, "{}", run.output);
    let told = run.divergence.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(told.starts_with("bob's transaction 1 was to read account/1 from bank's transaction 1, and"), "{told}");
    assert_eq!(validation, Validation::Diverged(run.divergence.unwrap()));
}

#[test]
#[cfg(unix)]
fn a_lock_is_no_lost_update() {
    let (run, validation) = replayed("locks", IsolationLevel::ReadCommitted);
    assert_eq!(run.ended, CommandEnd::Well, "{}", run.output);
    assert!(matches!(validation, Validation::Diverged(_) | Validation::NotValidated), "{validation:?}");
}

#[test]
#[cfg(unix)]
fn what_a_snapshot_refuses_ends() {
    let (run, validation) = replayed("withdraw", IsolationLevel::Snapshot);
    assert_eq!(run.ended, CommandEnd::Well, "{}\n{}", run.output, run.history);
    assert!(matches!(validation, Validation::Diverged(_)), "{validation:?}");
}

/// The order and who is waited for, of a history in the notation.
fn prophecy(text: &str, changed: &[(&str, usize)], level: IsolationLevel) -> Option<Prophecy> {
    let changed: BTreeSet<(String, usize)> = changed.iter().map(|(name, place)| ((*name).to_owned(), *place)).collect();
    Prophecy::of(&notation::parse(text).unwrap(), &changed, terms(level)).unwrap()
}

#[test]
fn a_history_is_foretold_in_the_order_in_which_it_was_observed() {
    let lost_update = "bank: w(x,0) @0..1\na: r(x,0) w(x,1) @2..3\nb: r(x,0) w(x,2) @4..5";
    let foretold = prophecy(lost_update, &[("b#0", 0)], IsolationLevel::Causal).unwrap();
    assert_eq!(foretold.order, ["bank", "a", "b"]);
    let sessions = &foretold.foretelling.sessions;
    assert_eq!(sessions["a"][0].company, BTreeSet::from(["b".to_owned()]));
    assert_eq!(sessions["b"][0].company, BTreeSet::new());
    let reads = |session: &str| sessions[session][0].reads.clone();
    assert_eq!(reads("b")[0].from, Some(("bank".to_owned(), 0)));
    assert_eq!((reads("a")[0].changed, reads("b")[0].changed), (false, true));
    assert_eq!(prophecy(lost_update, &[], IsolationLevel::Snapshot), None);
}

#[test]
fn what_reads_a_later_version_comes_later_and_refused_transactions_do_not_count() {
    let text = "a: r(x,2) @0..1\nb: w(x,1) ! @2..3 | w(x,2) @4..5 | r(x,2) @6..7";
    let foretold = prophecy(text, &[("a#0", 0)], IsolationLevel::Causal).unwrap();
    assert_eq!(foretold.order, ["b", "a", "b"]);
    assert_eq!(foretold.foretelling.sessions["a"][0].reads[0].from, Some(("b".to_owned(), 0)));
}

#[test]
fn where_locks_do_not_go_along_the_order_is_the_checkers() {
    let text = "a: w(x,1) @0..1\nb: w(x,2) @2..3\nc: lock r(x,1) @4..5";
    let foretold = prophecy(text, &[("c#0", 0)], IsolationLevel::ReadCommitted).unwrap();
    let place = |name: &str| foretold.order.iter().position(|other| other == name).unwrap();
    assert!(place("a") < place("c") && (place("b") > place("c") || place("b") < place("a")), "{:?}", foretold.order);
}
