//! `skew explore`: the same report however it was explored, runs that can be seen again, and what is said when something is wrong.

use crate::{Folder, Ran};

const WITHDRAW: &str = include_str!("../../../../examples/withdraw.sql");
const COURSES: &str = include_str!("../../../../examples/applications/courseware.sql");

fn explore(folder: &Folder, arguments: &[&str]) -> Ran {
    folder.skew(&[&["explore"], arguments].concat())
}

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("withdraw.sql", WITHDRAW);
    folder.write("courses.sql", COURSES);
    folder
}

#[test]
fn all_runs_of_three_levels_are_counted_and_the_smallest_failure_is_shown() {
    let levels = ["--level", "read-committed,snapshot,serializable"];
    let ran = explore(&folder("explore-report"), &[&["withdraw.sql"], &levels[..]].concat()).expect(1);
    assert!(
        ran.out.starts_with("withdraw.sql: 2 sessions, 3 transactions\n  read-committed  14 histories"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("fails  money adds up: in 11 histories"), "{}", ran.out);
    assert_eq!(ran.out.matches("holds  money adds up").count(), 2, "{}", ran.out);
    assert!(ran.out.contains("--level read-committed --replay '"), "{}", ran.out);
}

/// The levels of a report, in their order.
fn levels_of(ran: &Ran) -> Vec<String> {
    let levels = ran.json()["levels"].as_array().cloned().unwrap_or_default();
    levels.iter().map(|level| level["level"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn without_a_level_the_three_of_the_engine_are_asked_and_with_what_engines_do_not_have_those_of_the_papers() {
    let folder = folder("explore-levels");
    folder.write("postgres.sql", format!("-- dialect: postgres\n{WITHDRAW}"));
    folder.write("mysql.sql", format!("-- dialect: mysql\n{WITHDRAW}"));
    folder.write("at.sql", WITHDRAW.replace("@a);", "@a) AT snapshot;"));
    folder.write("at-engine.sql", WITHDRAW.replace("@a);", "@a) AT pg:rr;"));
    let levels = |arguments: &[&str]| levels_of(&explore(&folder, &[arguments, &["--format", "json"]].concat()));
    let of =
        |engine: &str| ["read-committed", "repeatable-read", "serializable"].map(|level| format!("{engine}:{level}"));
    assert_eq!(levels(&["withdraw.sql"]), of("postgres"));
    assert_eq!(levels(&["withdraw.sql", "--jobs", "2"]), of("postgres"));
    assert_eq!(levels(&["postgres.sql"]), of("postgres"));
    assert_eq!(levels(&["mysql.sql"]), of("mysql"));
    assert_eq!(levels(&["at-engine.sql"]), of("postgres"));
    let papers = ["read-committed", "snapshot", "serializable"];
    assert_eq!(levels(&["at.sql"]), papers);
    for flags in [
        &["--updates", "plain"][..],
        &["--granularity", "cell"],
        &["--base", "read-committed"],
        &["--algorithm", "dfs"],
        &["--resume", "state.json"],
    ] {
        assert_eq!(levels(&[&["withdraw.sql"], flags].concat()), papers, "{flags:?}");
    }
    explore(&folder, &["withdraw.sql", "--split", "2"]).expect(0);
}

#[test]
fn one_session_alone_never_fails_at_the_levels_of_engines() {
    let folder = Folder::new("explore-alone");
    let calls = "SESSION alice: CALL withdraw(1, 60, @a); CALL withdraw(1, 30, @b); CALL withdraw(1, 30, @c);";
    let (head, _) = WITHDRAW.split_once("SESSION ").expect("it has sessions");
    let assertion = "ASSERT 'money adds up': (SELECT balance FROM account WHERE id = 1) = 100 - alice[1].paid - alice[2].paid - alice[3].paid;";
    folder.write("alone.sql", format!("{head}{calls}\n{assertion}\n"));
    let all = "pg:rc,pg:rr,pg:ser,mysql:rc,mysql:rr,mysql:snapshot-isolation,mysql:ser";
    for level in all.split(',') {
        let ran = explore(&folder, &["alone.sql", "--level", level]).expect(0);
        assert!(ran.out.contains("  1 history\n    holds  money adds up\n"), "{}", ran.out);
    }
}

#[test]
fn a_text_that_is_asked_at_levels_of_two_engines_is_told_who_computes() {
    let folder = folder("explore-both");
    let said = |levels: &str| explore(&folder, &["withdraw.sql", "--level", levels]).expect(1).err;
    assert!(said("pg:rc,mysql:rc").contains("computed as PostgreSQL does"));
    assert!(!said("mysql:rc").contains("computed as"));
}

#[test]
fn at_the_level_of_an_engine_a_counterexample_is_what_two_people_type() {
    let folder = folder("explore-terminals");
    let ran = explore(&folder, &["withdraw.sql", "--level", "mysql:rc"]).expect(1);
    let typed = ran.out.split("  alice                      ").nth(1).unwrap_or_else(|| panic!("{}", ran.out));
    for words in
        ["BEGIN;", "UPDATE account SET balance = 100 - 60 WHERE id = 1;", "-- waits for bob", "-- goes on: no row"]
    {
        assert!(typed.contains(words), "{words}: {}", ran.out);
    }
}

#[test]
fn where_nothing_fails_the_exit_code_is_zero() {
    let folder = folder("explore-zero");
    explore(&folder, &["withdraw.sql", "--level", "si,ser"]).expect(0);
    explore(&folder, &["withdraw.sql", "--level", "rc", "--against", "causal"]).expect(1);
}

#[test]
fn the_report_is_the_same_for_every_number_of_jobs() {
    let folder = folder("explore-jobs");
    let report = |jobs: &str| explore(&folder, &["courses.sql", "--level", "cc,si", "--jobs", jobs]).expect(1).out;
    let one = report("1");
    assert!(one.contains("677 histories of 802 explored"), "{one}");
    for jobs in ["2", "3", "8"] {
        assert_eq!(report(jobs), one);
    }
}

#[test]
fn an_exploration_that_is_interrupted_and_resumed_reports_what_one_in_one_go_does() {
    let folder = folder("explore-resume");
    let whole = explore(&folder, &["courses.sql", "--level", "cc"]).expect(1).out;
    let mut rounds = 0;
    for budget in [50, 200, 500, 2000] {
        let arguments = ["courses.sql", "--level", "cc", "--resume", "state.json", "--budget", &budget.to_string()];
        let ran = explore(&folder, &arguments).expect(1);
        rounds += 1;
        if !ran.out.contains("not everything was explored") {
            assert_eq!(ran.out, whole);
            break;
        }
    }
    assert_eq!(rounds, 4, "the first three ended early");
}

#[test]
fn parts_add_up_to_the_whole() {
    let folder = folder("explore-parts");
    let whole = explore(&folder, &["courses.sql", "--level", "rc,si"]).expect(1).out;
    let split = explore(&folder, &["courses.sql", "--level", "rc,si", "--split", "3"]).expect(0);
    let parts: Vec<&str> = split.out.lines().collect();
    assert_eq!(parts, ["courses.sql.part-1.json", "courses.sql.part-2.json", "courses.sql.part-3.json"]);
    let merge = |folder: &Folder| explore(folder, &[&["courses.sql", "--merge"], &parts[..]].concat());
    assert!(
        merge(&folder).expect(3).out.contains("inconclusive  no course is overfull: fails in none that was seen"),
        "nothing was explored yet"
    );
    for part in &parts {
        explore(&folder, &["courses.sql", "--part", part]);
    }
    assert_eq!(merge(&folder).expect(1).out, whole);
}

#[test]
fn a_part_is_not_the_whole() {
    let folder = folder("explore-part");
    explore(&folder, &["withdraw.sql", "--level", "si", "--split", "2"]).expect(0);
    let [one, two] = ["withdraw.sql.part-1.json", "withdraw.sql.part-2.json"];
    let ran = explore(&folder, &["withdraw.sql", "--part", one]).expect(0);
    assert!(ran.out.contains("only part 1 of 2"), "{}", ran.out);
    let ran = explore(&folder, &["withdraw.sql", "--merge", one]).expect(3);
    assert!(ran.out.contains("only part 1 of 2"), "{}", ran.out);
    let ran = explore(&folder, &["withdraw.sql", "--merge", one, one]).expect(2);
    assert!(ran.err.contains("part 1 is already there"), "{}", ran.err);
    explore(&folder, &["withdraw.sql", "--part", two]).expect(0);
    let merged = explore(&folder, &["withdraw.sql", "--merge", two, one]).expect(0);
    assert!(merged.out.contains("snapshot  3 histories") && !merged.out.contains("only part"), "{}", merged.out);
    [one, two].iter().for_each(|part| std::fs::remove_file(folder.path().join(part)).unwrap());
    let many = explore(&folder, &["withdraw.sql", "--level", "si", "--split", "1000"]).expect(0);
    assert!(many.out.lines().count() <= 11, "no more parts than there are subtrees: {}", many.out);
}

#[test]
fn a_reported_run_can_be_seen_again() {
    let folder = folder("explore-replay");
    let report = explore(&folder, &["withdraw.sql", "--level", "rc"]).expect(1).out;
    let line = report.lines().last().unwrap();
    let schedule = line.split('\'').nth(1).unwrap();
    let ran = explore(&folder, &["withdraw.sql", "--level", "rc", "--replay", schedule]).expect(1);
    assert!(ran.out.contains("alice[1] withdraw: committed"), "{}", ran.out);
    assert!(ran.out.contains("fails  money adds up"), "{}", ran.out);
}

#[test]
fn the_plain_way_finds_the_same_histories() {
    let folder = folder("explore-dfs");
    let list = |algorithm: &str| {
        let arguments = ["withdraw.sql", "--level", "cc", "--updates", "plain", "--list", "--algorithm", algorithm];
        let out = explore(&folder, &arguments).out;
        out.lines().filter(|line| line.contains("alice#0:")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(!list("swaps").is_empty());
    assert_eq!(list("swaps"), list("dfs"));
}

#[test]
fn counterexamples_are_kept_for_view() {
    let folder = folder("explore-save");
    explore(&folder, &["withdraw.sql", "--level", "rc", "--save", "found"]).expect(1);
    let shown = folder.skew(&["view", "found/1-session-violation.json"]).expect(0);
    assert!(shown.out.contains("account/1"), "{}", shown.out);
}

#[test]
fn what_cannot_be_explored_is_refused_with_its_place() {
    let folder = folder("explore-refused");
    let program = |body: &str| {
        format!(
            "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);\nCREATE PROCEDURE p()\nBEGIN\n{body}\nEND;\nSESSION a: CALL p();"
        )
    };
    folder.write("endless.sql", program("WHILE TRUE DO SET @x = 1; END WHILE;"));
    folder.write("none.sql", "CREATE TABLE t (id INT PRIMARY KEY);");
    folder.write("advisory.sql", program("SELECT pg_advisory_lock(1);"));
    for (file, said) in [
        ("endless.sql", "line 4"),
        ("none.sql", "no SESSION calls anything"),
        ("advisory.sql", "line 4"),
        ("missing.sql", "cannot"),
    ] {
        let ran = explore(&folder, &[file]).expect(2);
        assert!(ran.err.contains(said), "{file}: {}", ran.err);
    }
    let ran = explore(&folder, &["withdraw.sql", "--level", "rc", "--replay", "9:0"]).expect(2);
    assert!(ran.err.contains("no such run"), "{}", ran.err);
    explore(&folder, &["withdraw.sql", "--level", "rc", "--replay", "x"]).expect(2);
}

#[test]
fn parts_are_not_written_over_parts() {
    let folder = folder("explore-parts-twice");
    folder.write("withdraw.sql.part-2.json", "days of work");
    let ran = explore(&folder, &["withdraw.sql", "--level", "si", "--split", "2"]).expect(2);
    assert!(ran.err.contains("withdraw.sql.part-2.json: this is there already"), "{}", ran.err);
    assert_eq!(folder.read("withdraw.sql.part-2.json"), "days of work");
    assert!(!folder.path().join("withdraw.sql.part-1.json").exists(), "all of them, or none");
}

#[test]
fn a_file_of_another_exploration_is_refused() {
    let folder = folder("explore-foreign");
    explore(&folder, &["withdraw.sql", "--level", "rc", "--split", "1"]).expect(0);
    let part = "withdraw.sql.part-1.json";
    let ran = explore(&folder, &["courses.sql", "--part", part]).expect(2);
    assert!(ran.err.contains("another program or of other options"), "{}", ran.err);
    explore(&folder, &["withdraw.sql", "--part", part, "--updates", "plain"]).expect(2);
    let ran = explore(&folder, &["withdraw.sql", "--part", part, "--level", "si"]).expect(2);
    assert!(ran.err.contains("at other levels"), "{}", ran.err);
    let text = folder.read(part);
    for (from, to, said) in [
        ("\"skew\":1", "\"skew\":2", "another version"),
        ("\"assertions\":[{\"runs\":0,\"allowed\":0,\"smallest\":null}]", "\"assertions\":[]", "changed by hand"),
        (
            "\"left\":[",
            "\"left\":[{\"transactions\":[[1,[0,0]],[2,[129]]],\"pending\":false,\"share\":1.0},",
            "of another program",
        ),
    ] {
        assert!(text.contains(from), "{text}");
        folder.write(part, text.replacen(from, to, 1));
        let ran = explore(&folder, &["withdraw.sql", "--part", part, "--jobs", "2"]).expect(2);
        assert!(ran.err.contains(said), "{}", ran.err);
    }
    folder.write(part, "{}");
    let ran = explore(&folder, &["withdraw.sql", "--part", part]).expect(2);
    assert!(ran.err.contains("this is no unfinished exploration"), "{}", ran.err);
}

#[test]
fn what_cannot_go_together_is_refused() {
    let folder = folder("explore-together");
    for (arguments, said) in [
        (&["--algorithm", "dfs", "--jobs", "2"][..], "with one thread"),
        (&["--algorithm", "dfs", "--split", "2"], "in one go"),
        (&["--init", "withdraw.sql"], "--init is for commands"),
        (&["--level", "rc", "--confirm", "up"], "--confirm is for levels of engines"),
        (&["--updates", "plain", "--confirm", "up"], "--confirm is for levels of engines"),
        (&["--confirm", "down"], "is not the URL of a server"),
        (&["--level", "rc", "--replay", "2:0.0 1:2 3:0.2", "--format", "json"], "not as JSON"),
        (&["--level", "rc", "--replay", "2:0.0"], "one that begins so is `2:0.0 "),
        (&["--level", "ser", "--replay", "2:0.0 1:2 3:0.2"], "no such run at serializable"),
        (&["--level", "rc", "--replay", "1:0.0 2:129 3:129.0"], "no such run"),
        (&["--resume", "nowhere/state.json"], "cannot write"),
    ] {
        let ran = explore(&folder, &[&["withdraw.sql"], arguments].concat()).expect(2);
        assert!(ran.err.contains(said), "{}", ran.err);
    }
}

#[test]
fn a_budget_ends_at_the_same_histories_for_every_number_of_jobs() {
    let folder = folder("explore-budget");
    let report = |jobs: &str| explore(&folder, &["courses.sql", "--level", "cc", "--budget", "50", "--jobs", jobs]);
    assert_eq!(report("1").out, report("4").out);
    assert!(report("2").out.contains("of 50 explored"), "{}", report("2").out);
}

#[test]
fn what_is_not_for_commands_is_refused_and_not_ignored() {
    let folder = folder("explore-command");
    let ran = explore(&folder, &["--level", "rc", "--jobs", "2", "--", "true"]).expect(2);
    assert!(ran.err.contains("--jobs is for programs: a command runs once at a time"), "{}", ran.err);
}
