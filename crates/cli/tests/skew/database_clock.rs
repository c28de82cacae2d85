//! The clock of a database: real where applications are served, fixed where programs are explored, and the same when a run is repeated.

use crate::serve::{Client, as_client_of};
use crate::{Folder, Ran};
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// What the runs below do: this test binary, as a client.
#[test]
fn a_client_tells_the_time() {
    if std::env::var_os("SKEW_TEST_CLIENT").is_none() {
        return;
    }
    let address = format!("{}:{}", std::env::var("PGHOST").unwrap(), std::env::var("PGPORT").unwrap());
    let mut client = Client::connect(&address);
    for _ in 0..2 {
        let time = client.query("SELECT extract(epoch FROM now())::bigint").unwrap();
        writeln!(std::io::stdout(), "time {time}").unwrap();
    }
}

fn tell_time(folder: &Folder, arguments: &[&str]) -> Vec<u64> {
    let ran = Ran::new(as_client_of(folder, arguments, "database_clock::a_client_tells_the_time").output().unwrap());
    // Nobody races to ask what time it is.
    let ran = ran.expect(3);
    ran.out.lines().filter_map(|line| line.strip_prefix("time ")?.parse().ok()).collect()
}

#[test]
fn a_served_database_starts_at_the_real_time_and_a_repeat_has_the_same_clock() {
    let folder = Folder::new("clock-real");
    let seconds = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let before = seconds();
    let times = tell_time(&folder, &["--choices", "run.choices"]);
    assert!(times.len() == 2 && times[0] >= before && times[0] <= seconds() + 60, "{before} {times:?}");
    assert_eq!(times[1], times[0] + 1, "a second per transaction");
    assert_eq!(tell_time(&folder, &["--replay", "run.choices"]), times);
}

#[test]
fn the_clock_of_a_served_database_can_be_set_and_is_in_the_line_that_repeats_a_run() {
    let folder = Folder::new("clock-set");
    let midnight = 1_767_225_600;
    let times = tell_time(&folder, &["--clock", "2026-01-01T01:00:00+01:00"]);
    assert_eq!(times, tell_time(&folder, &["--clock", "2026-01-01"]));
    assert!(times[0] > midnight && times[0] < midnight + 10, "{times:?}");
    let ran = folder.skew(&["serve", "--clock", "2026-01-01 00:00:00.5", "--runs", "2", "--", "false"]).expect(1);
    assert!(ran.out.contains("\nskew serve --clock 2026-01-01T00:00:00.5Z --replay 1 -- false"), "{}", ran.out);
    let ran = folder.skew(&["serve", "--clock", "half past nine", "--", "true"]).expect(2);
    assert!(ran.err.contains("is not a time; write it like 2026-01-31T12:00:00Z"), "{}", ran.err);
}

const STAMPS: &str = "-- dialect: postgres
CREATE TABLE stamp (id INT PRIMARY KEY, at TIMESTAMPTZ);
INSERT INTO stamp VALUES (0, now());
CREATE PROCEDURE look(OUT year INT, OUT began INT)
BEGIN
  SELECT extract(year FROM now())::int INTO year;
  SELECT extract(year FROM at)::int INTO began FROM stamp WHERE id = 0;
END;
SESSION a:
  CALL look(@year, @began);
ASSERT 'it is 2024': a[1].year = 2024 AND a[1].began = 2024;
";

#[test]
fn programs_have_a_fixed_clock_that_can_be_set() {
    let folder = Folder::new("clock-programs");
    folder.write("stamps.sql", STAMPS);
    folder.skew(&["play", "stamps.sql", "--runs", "2"]).expect(0);
    folder.skew(&["explore", "stamps.sql", "--level", "causal"]).expect(0);
    let played = folder.skew(&["play", "stamps.sql", "--runs", "2", "--clock", "2031-05-06"]).expect(1);
    assert!(played.out.contains(" --clock 2031-05-06T00:00:00Z --seed 1 --runs 1"), "{}", played.out);
    let explored = folder.skew(&["explore", "stamps.sql", "--level", "causal", "--clock", "2031-05-06"]).expect(1);
    assert!(explored.out.contains(" --clock 2031-05-06T00:00:00Z "), "{}", explored.out);
}
