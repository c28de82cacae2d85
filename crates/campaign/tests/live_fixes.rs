//! Every fix that `skew analyze` calls verified, on a live PostgreSQL: the interleaving that goes wrong is forced there, as it is and with the fix.
//!
//! As it is the server has to show what the analysis confirmed, statement by statement; with the fix somebody is refused or waits, or what comes of it is
//! serializable. `SKEW_FIXES=all` adds the wrong fixes of the bugs and the applications.

use skew_analyze::UnfoldOptions;
use skew_campaign::analyzed::{AnalyzeSettings, Analyzed, AnalyzedText, Baseline, FixEnding};
use skew_campaign::confirmed::{ConfirmOn, LiveServers};
use skew_testing::{say, skipped};
use skew_workload::servers::{PostgresServer, ServerError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// At serializable each of the three has read everything when one of them is refused, at its COMMIT: what that one read may not be counted.
const REFUSED_AT_COMMIT: &str = "
    CREATE TABLE savings (id INT PRIMARY KEY, balance INT NOT NULL);
    CREATE TABLE checking (id INT PRIMARY KEY, balance INT NOT NULL);
    INSERT INTO savings VALUES (1, 0);
    INSERT INTO checking VALUES (1, 0);
    CREATE PROCEDURE look(IN c INT, OUT total INT)
    BEGIN DECLARE s, k INT;
      SELECT balance INTO s FROM savings WHERE id = c;
      SELECT balance INTO k FROM checking WHERE id = c;
      SET total = s + k; END;
    CREATE PROCEDURE deposit(IN c INT, IN v INT)
    BEGIN UPDATE savings SET balance = balance + v WHERE id = c; END;
    CREATE PROCEDURE write_check(IN c INT, IN v INT)
    BEGIN DECLARE s, k INT;
      SELECT balance INTO s FROM savings WHERE id = c;
      SELECT balance INTO k FROM checking WHERE id = c;
      IF s + k < v THEN UPDATE checking SET balance = balance - v - 1 WHERE id = c;
      ELSE UPDATE checking SET balance = balance - v WHERE id = c; END IF; END;
    SESSION a: CALL write_check(1, 10);
    SESSION b: CALL deposit(1, 20);
    SESSION c: CALL look(1, @t);";

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The bugs, then what else goes wrong. One is for MySQL only.
fn programs(with_all: bool) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(examples().join("bugs")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> =
        entries.filter(|path| path.is_dir() && !path.ends_with("10-get-or-create")).collect();
    folders.sort();
    let mut files: Vec<PathBuf> = folders.iter().map(|folder| folder.join("buggy.sql")).collect();
    files.extend(["withdraw.sql", "coupon.sql"].map(|name| examples().join(name)));
    if with_all {
        files.extend(folders.iter().map(|folder| folder.join("wrong-fix.sql")));
        let applications = ["shopping-cart", "courseware", "twitter", "wikipedia", "tpcc"];
        files.extend(applications.map(|name| examples().join(format!("applications/{name}.sql"))));
        // SmallBank lies beside the project, where that has a folder of other people's programs.
        let shared = std::env::var_os("SKEW_SHARED").map(PathBuf::from);
        files.extend(shared.map(|folder| folder.join("analyze/smallbank.sql")));
    }
    files.retain(|file| file.is_file());
    files
}

/// The name of a file, without the folders around it.
fn named(file: &Path) -> String {
    let folder = if file.starts_with(examples()) { examples() } else { file.parent().unwrap_or(file).to_owned() };
    file.strip_prefix(folder).unwrap_or(file).display().to_string()
}

fn analyzed(name: &str, text: String) -> Analyzed {
    let text =
        AnalyzedText::new(&[(name.to_owned(), text)]).unwrap_or_else(|complaint| panic!("{name}: {complaint:?}"));
    let levels = ["postgres:read-committed", "postgres:repeatable-read"].map(|level| level.parse().expect("a level"));
    let settings = AnalyzeSettings::new(levels.to_vec(), UnfoldOptions::default(), false, false);
    Analyzed::new(text, settings, &Baseline::default()).unwrap_or_else(|complaint| panic!("{name}: {complaint:?}"))
}

#[test]
fn verified_fixes_are_refused_wait_or_are_serializable_on_postgresql() {
    let was_set_up = std::env::var_os("SKEW_CLIENTS").is_some_and(|folder| folder != "no");
    let server = match PostgresServer::start() {
        Ok(server) => server,
        Err(error @ ServerError::Missing { .. }) if !was_set_up => return skipped(&error.to_string()),
        Err(error) => panic!("{error}"),
    };
    let mut servers = LiveServers::new(&ConfirmOn::Server(server.url().clone()), "live_fixes", &[])
        .unwrap_or_else(|complaint| panic!("{complaint:?}"));
    let with_all = std::env::var("SKEW_FIXES").is_ok_and(|value| value == "all");
    let (mut wrong, mut endings, mut findings) = (Vec::new(), BTreeMap::<&str, usize>::new(), 0);
    let files = programs(with_all);
    let read = |file: &PathBuf| (named(file), std::fs::read_to_string(file).expect("a program"));
    let own = ("refused at commit".to_owned(), REFUSED_AT_COMMIT.to_owned());
    for (name, text) in files.iter().map(read).chain([own]) {
        let rehearsed =
            analyzed(&name, text).rehearse(&mut servers).unwrap_or_else(|complaint| panic!("{name}: {complaint:?}"));
        for rehearsal in rehearsed {
            findings += 1;
            let at = format!("{name}: {} at {}", rehearsal.anomaly, rehearsal.level);
            wrong.extend(rehearsal.wrong.iter().map(|what| format!("{at}: {what}")));
            for (sentence, ending) in &rehearsal.fixes {
                *endings.entry(ending.name()).or_default() += 1;
                say(&format!("{at}: {sentence}: {}", ending.name()));
                if let FixEnding::Wrong(why) = ending {
                    wrong.push(format!("{at}: {sentence}: {}", why.join("; ")));
                }
            }
        }
    }
    say(&format!("{} programs, {findings} findings on a live server, their fixes: {endings:?}", files.len() + 1));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        findings >= 16 && endings.contains_key("refused") && endings.contains_key("waits"),
        "{findings} {endings:?}"
    );
}
