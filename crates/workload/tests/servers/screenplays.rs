//! Interleavings that are forced on real servers: who waits, for whom, what comes back; and that nothing hangs, whatever happens.

use crate::{command, installed};
use skew_workload::Url;
use skew_workload::connection::{Connection, Settings, connect};
use skew_workload::screenplay::{AfterRefusal, CueEnd, Happening, Screenplay, Staging, Transcript, perform};
use skew_workload::servers::{MariaDbServer, PostgresServer};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

fn prepare(url: &Url) {
    let engine = if url.to_string().starts_with("mysql") { " ENGINE = InnoDB" } else { "" };
    command(url, &format!("CREATE TABLE t (id INT PRIMARY KEY, value INT NOT NULL){engine}"));
    refill(url);
}

fn refill(url: &Url) {
    command(url, "DELETE FROM t");
    command(url, "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)");
}

fn performed(url: &Url, text: &str, after_refusal: AfterRefusal) -> Transcript {
    refill(url);
    let screenplay: Screenplay = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let staging = Staging { patience: PATIENCE, after_refusal };
    perform(url, &screenplay, staging).unwrap_or_else(|failure| panic!("{failure}"))
}

fn codes(transcript: &Transcript) -> Vec<&str> {
    transcript.refusals().map(|(_, code)| code).collect()
}

/// b waits for a; c, who wants the same row, for both or one of them; the others go on meanwhile.
fn waits_are_seen(url: &Url) {
    let text = "a: BEGIN
        b: BEGIN
        a: UPDATE t SET value = 11 WHERE id = 1
        b: UPDATE t SET value = value + 1 WHERE id = 1
        b late: SELECT value FROM t WHERE id = 1
        a mine: SELECT value FROM t WHERE id = 1
        c: UPDATE t SET value = 31 WHERE id = 3
        a: COMMIT
        b: COMMIT
        c end: SELECT id, value FROM t ORDER BY id";
    let transcript = performed(url, text, AfterRefusal::GoOn);
    assert_eq!(transcript.doubts, [] as [&str; 0]);
    assert_eq!(transcript.waited_for(3), Some(vec![0]), "{transcript:?}");
    assert_eq!((0..10).filter(|cue| transcript.waited_for(*cue).is_some()).count(), 1);
    assert_eq!(transcript.rows("late").as_deref(), Some("12"));
    assert_eq!(transcript.rows("end").as_deref(), Some("1 12, 2 20, 3 31"));
    let CueEnd::Answered(update) = &transcript.ends[3] else { panic!("{transcript:?}") };
    assert_eq!(update.affected, 1);
    let order: Vec<usize> = transcript
        .happenings
        .iter()
        .filter_map(|it| if let Happening::Sent(cue) = it { Some(*cue) } else { None })
        .collect();
    assert_eq!(order, [0, 1, 2, 3, 5, 6, 7, 4, 8, 9], "what b says after its wait comes when it has its answer");
    let place = |wanted: Happening| transcript.happenings.iter().position(|it| *it == wanted);
    assert!(place(Happening::Ended(7)) < place(Happening::Ended(3)), "the wait ends with the commit");
}

/// Three in a row for one lock, released one after the other. PostgreSQL looks for the new version of a row with nothing in hand, so that c
/// may overtake b after a's commit; then b waits for c, too, and is the last.
fn waits_in_a_row(url: &Url) {
    let text = "a: BEGIN
        b: BEGIN
        c: BEGIN
        a: UPDATE t SET value = 1 WHERE id = 1
        b: UPDATE t SET value = 2 WHERE id = 1
        c: UPDATE t SET value = 3 WHERE id = 1
        a: COMMIT
        b: COMMIT
        c: COMMIT
        d end: SELECT value FROM t WHERE id = 1";
    let transcript = performed(url, text, AfterRefusal::GoOn);
    let waits = |cue: usize| transcript.waited_for(cue).unwrap_or_default();
    assert!(waits(4).contains(&0) && waits(5).contains(&1), "{:?}", transcript.happenings);
    let last = if waits(4).contains(&2) { "2" } else { "3" };
    assert_eq!((transcript.rows("end").as_deref(), transcript.doubts.len()), (Some(last), 0));
}

/// One of two is refused, the other one gets what it waited for.
fn deadlocks_end(url: &Url, code: &str, after_refusal: AfterRefusal) {
    let text = "a: BEGIN
        b: BEGIN
        a: UPDATE t SET value = 11 WHERE id = 1
        b: UPDATE t SET value = 22 WHERE id = 2
        a: UPDATE t SET value = 21 WHERE id = 2
        b: UPDATE t SET value = 12 WHERE id = 1
        a: COMMIT
        b: COMMIT
        c end: SELECT id, value FROM t ORDER BY id";
    let transcript = performed(url, text, after_refusal);
    assert_eq!(codes(&transcript), [code], "{transcript:?}");
    assert_eq!(transcript.ends.iter().filter(|end| end.is_deadlock()).count(), 1);
    let rows = transcript.rows("end").unwrap_or_default();
    assert!(["1 11, 2 21, 3 30", "1 12, 2 22, 3 30"].contains(&rows.as_str()), "{rows}");
    let rolled_back = transcript.happenings.iter().filter(|it| matches!(it, Happening::RolledBack(_))).count();
    assert_eq!(rolled_back, usize::from(after_refusal == AfterRefusal::RollBack));
    assert_eq!(transcript.doubts, [] as [&str; 0]);
}

/// Whoever is waited for has nothing more to say: the performance ends, and nothing holds the lock afterwards.
fn what_never_ends_is_ended(url: &Url) {
    let text = "a: BEGIN
        a: UPDATE t SET value = 11 WHERE id = 1
        b: UPDATE t SET value = 12 WHERE id = 1
        b: COMMIT";
    let transcript = performed(url, text, AfterRefusal::GoOn);
    assert_eq!((&transcript.ends[2], &transcript.ends[3]), (&CueEnd::StillWaiting, &CueEnd::NotSent));
    assert_eq!(transcript.doubts, [] as [&str; 0]);
    let after = performed(url, "a end: SELECT value FROM t WHERE id = 1", AfterRefusal::GoOn);
    assert_eq!(after.rows("end").as_deref(), Some("10"));
}

/// A session whose connection ends in the middle is reported, and the others go on.
fn lost_connections_are_reported(url: &Url, kill: &str) {
    let text = format!(
        "a: BEGIN
        a: UPDATE t SET value = 11 WHERE id = 1
        b: {kill}
        a: UPDATE t SET value = 12 WHERE id = 2
        a: COMMIT
        b end: SELECT id, value FROM t ORDER BY id"
    );
    let transcript = performed(url, &text, AfterRefusal::GoOn);
    assert!(matches!(transcript.ends[3], CueEnd::Lost(_)), "{transcript:?}");
    assert_eq!((&transcript.ends[4], transcript.loss().is_some()), (&CueEnd::NotSent, true));
    assert_eq!(transcript.rows("end").as_deref(), Some("1 10, 2 20, 3 30"));
}

/// Somebody who takes no part holds the lock: after the patience the transcript says that it is in doubt.
fn outsiders_put_it_in_doubt(url: &Url) {
    refill(url);
    let mut outsider = connection(url);
    outsider.command("BEGIN").expect("it begins");
    outsider.command("UPDATE t SET value = 99 WHERE id = 1").expect("it locks");
    let screenplay: Screenplay =
        "a: UPDATE t SET value = 11 WHERE id = 1\nb x: SELECT 1".parse().expect("a screenplay");
    let staging = Staging { patience: Duration::from_secs(2), after_refusal: AfterRefusal::GoOn };
    let transcript = perform(url, &screenplay, staging).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!((transcript.doubts.len(), &transcript.ends[0]), (1, &CueEnd::StillWaiting), "{transcript:?}");
    assert_eq!(transcript.rows("x").as_deref(), Some("1"));
    outsider.command("ROLLBACK").expect("it ends");
}

fn connection(url: &Url) -> Box<dyn Connection> {
    let settings = Settings { name: "test".to_owned(), timeout: PATIENCE };
    connect(url, &settings).unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn interleavings_are_forced_on_postgresql() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let url = server.url();
    prepare(url);
    waits_are_seen(url);
    waits_in_a_row(url);
    deadlocks_end(url, "40P01", AfterRefusal::RollBack);
    what_never_ends_is_ended(url);
    outsiders_put_it_in_doubt(url);
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'skew a'";
    lost_connections_are_reported(url, kill);
    // Until it is rolled back, everything is refused in an aborted transaction, and its commit does nothing.
    let text = "a: BEGIN\na: SELECT nothing\na: SELECT 1\na: COMMIT\na after: SELECT 1";
    let transcript = performed(url, text, AfterRefusal::GoOn);
    assert_eq!(codes(&transcript), ["42703", "25P02"]);
    assert_eq!(transcript.rows("after").as_deref(), Some("1"));
    let transcript = performed(url, text, AfterRefusal::RollBack);
    assert_eq!((codes(&transcript), &transcript.ends[2]), (vec!["42703"], &CueEnd::NotSent));
}

#[test]
fn interleavings_are_forced_on_mariadb() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    let url = server.url();
    prepare(url);
    waits_are_seen(url);
    waits_in_a_row(url);
    deadlocks_end(url, "1213", AfterRefusal::RollBack);
    deadlocks_end(url, "1213", AfterRefusal::GoOn);
    what_never_ends_is_ended(url);
    outsiders_put_it_in_doubt(url);
    // The connection before b's is a's.
    lost_connections_are_reported(url, "EXECUTE IMMEDIATE CONCAT('KILL CONNECTION ', CONNECTION_ID() - 1)");
    // A statement that fails leaves its transaction as it was.
    let text = "a: BEGIN\na: UPDATE t SET value = 11 WHERE id = 1\na: SELECT nothing\na: COMMIT\na after: SELECT value FROM t WHERE id = 1";
    let transcript = performed(url, text, AfterRefusal::GoOn);
    assert_eq!((codes(&transcript), transcript.rows("after").as_deref()), (vec!["1054"], Some("11")));
}

/// Whoever may not look at locks gets an answer all the same, and a doubt.
#[test]
fn waits_that_cannot_be_seen_are_guessed_and_doubted() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    let url = server.url();
    prepare(url);
    command(url, "CREATE USER ann@'127.0.0.1' IDENTIFIED BY 'right'");
    command(url, "GRANT ALL ON skew.* TO ann@'127.0.0.1'");
    let ann = Url { user: "ann".to_owned(), password: Some("right".to_owned()), ..url.clone() };
    let text = "a: BEGIN
        a: UPDATE t SET value = 11 WHERE id = 1
        b: UPDATE t SET value = value + 1 WHERE id = 1
        a: COMMIT
        b end: SELECT value FROM t WHERE id = 1";
    refill(url);
    let screenplay: Screenplay = text.parse().expect("a screenplay");
    let staging = Staging { patience: PATIENCE, after_refusal: AfterRefusal::GoOn };
    let transcript = perform(&ann, &screenplay, staging).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(transcript.doubts[0].contains("PROCESS"), "{:?}", transcript.doubts);
    assert_eq!((transcript.waited_for(2), transcript.rows("end").as_deref()), (Some(vec![]), Some("12")));
}
