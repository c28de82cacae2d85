//! `skew conformance` on real servers: what their levels prevent is pinned in `golden`, and written anew with `SKEW_BLESS=1`.

use crate::run_servers::{commands, installed, other};
use crate::serve::listening;
use crate::{Folder, Ran, schema};
use skew_workload::Url;
use skew_workload::servers::{MariaDbServer, PostgresServer};
use std::path::Path;

/// What is printed, without what is another one every day.
fn without_place(ran: &Ran, url: &Url) -> String {
    let (first, rest) = ran.out.split_once('\n').unwrap_or_default();
    let words = first.strip_suffix(&format!(" on {url}")).unwrap_or_else(|| panic!("{first}"));
    let name = words.split(' ').next().unwrap_or_default();
    assert!(words.len() > name.len() + 1, "no version: {words}");
    format!("{name}\n{rest}")
}

#[track_caller]
fn is_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/skew/golden").join(name);
    if std::env::var_os("SKEW_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(golden, text, "{name} differs; SKEW_BLESS=1 writes it anew");
}

/// All levels and all cases, as people and as programs see them.
fn the_matrix(folder: &Folder, url: &Url, golden: &str) {
    let place = url.to_string();
    let ran = folder.skew(&["conformance", &place]).expect(0);
    is_golden(golden, &without_place(&ran, url));
    let json = folder.skew(&["conformance", &place, "--format", "json"]).expect(0).json();
    let schema = schema::of_the_book("skew conformance");
    assert_eq!(schema::mistakes(&schema, &schema, &json, ""), [] as [&str; 0]);
    let levels = json["levels"].as_array().unwrap();
    assert!(levels.iter().all(|level| level["promise"] == "kept" && level["stronger"] == serde_json::json!([])));
    assert!(levels.iter().all(|level| level["cases"].as_array().is_some_and(|cases| cases.len() == 14)));
    assert_eq!(levels.iter().filter(|level| level["default"] == true).count(), 1);
}

/// What somebody else has there stays, and what was made is gone.
fn nothing_is_touched(folder: &Folder, url: &Url) {
    commands(url, &["CREATE TABLE skew_case_1 (id INT)", "INSERT INTO skew_case_1 VALUES (7)"]);
    folder.skew(&["conformance", &url.to_string(), "--case", "P4"]).expect(0);
    commands(url, &["SELECT id FROM skew_case_1", "CREATE TABLE skew_case_2 (id INT)"]);
    commands(url, &["DROP TABLE skew_case_1", "DROP TABLE skew_case_2"]);
}

#[test]
fn the_levels_of_postgresql_prevent_what_is_known_of_them() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    let folder = Folder::new("conformance-postgres");
    let url = server.url();
    the_matrix(&folder, url, "conformance-postgres.txt");
    let case = ["conformance", &url.to_string(), "--case", "p4", "--level", "repeatable-read"];
    is_golden("conformance-postgres-p4.txt", &without_place(&folder.skew(&case).expect(0), url));
    nothing_is_touched(&folder, url);
    commands(url, &["CREATE ROLE ann LOGIN PASSWORD 'right'"]);
    let ran = folder.skew(&["conformance", &other(url, "ann:right", "postgres")]).expect(2);
    assert!(
        ran.err.contains("no table can be made: permission denied") && ran.err.contains("GRANT CREATE"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("right"), "{}", ran.err);
    let ran = folder.skew(&["conformance", &url.to_string(), "--level", "read-uncommitted"]).expect(2);
    assert!(ran.err.contains("has no level `read-uncommitted`") && ran.err.contains("its levels are"), "{}", ran.err);
}

/// The mock is a server at PostgreSQL's levels: the same table, cell by cell, and whoever looks on sees who waits there.
#[test]
fn the_mock_prevents_what_postgresql_prevents() {
    let folder = Folder::new("conformance-mock");
    let (_server, _out, address) = listening(&folder, &[]);
    let url: Url = format!("postgres://skew@{address}/skew").parse().unwrap();
    let ran = folder.skew(&["conformance", &url.to_string()]).expect(0);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/skew/golden/conformance-postgres.txt");
    assert_eq!(without_place(&ran, &url), std::fs::read_to_string(golden).unwrap());
}

#[test]
fn the_levels_of_mariadb_prevent_what_is_known_of_them() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    let folder = Folder::new("conformance-mariadb");
    let url = server.url();
    the_matrix(&folder, url, "conformance-mariadb.txt");
    let case = ["conformance", &url.to_string(), "--case", "P4", "--level", "repeatable-read"];
    is_golden("conformance-mariadb-p4.txt", &without_place(&folder.skew(&case).expect(0), url));
    nothing_is_touched(&folder, url);
    let users = ["CREATE USER ann@'127.0.0.1' IDENTIFIED BY 'right'", "GRANT SELECT ON skew.* TO ann@'127.0.0.1'"];
    commands(url, &users);
    let ann = other(url, "ann:right", "skew");
    let ran = folder.skew(&["conformance", &ann]).expect(2);
    assert!(ran.err.contains("no table can be made") && ran.err.contains("GRANT ALL ON skew.*"), "{}", ran.err);
    // Who may make tables and not look at locks is told what was only guessed.
    commands(url, &["GRANT ALL ON skew.* TO ann@'127.0.0.1'"]);
    let ran = folder.skew(&["conformance", &ann, "--case", "G0,P4", "--level", "repeatable-read"]).expect(3);
    assert!(ran.out.contains("G0   inconclusive") && ran.out.contains("PROCESS"), "{}", ran.out);
    assert!(ran.out.contains("P4   happens"), "an anomaly that was seen happened: {}", ran.out);
}

#[test]
fn whoever_cannot_be_reached_or_asks_for_what_is_not_there_is_told() {
    let folder = Folder::new("conformance-nobody");
    let ran = folder.skew(&["conformance", "postgres://ann:secret@127.0.0.1:1/a"]).expect(2);
    assert!(ran.err.contains("check that the server runs") && !ran.err.contains("secret"), "{}", ran.err);
    let ran = folder.skew(&["conformance", "bank"]).expect(2);
    assert!(ran.err.contains("is not the URL of a server"), "{}", ran.err);
    let ran = folder.skew(&["conformance", "postgres://127.0.0.1:1/a", "--case", "P5"]).expect(2);
    assert!(ran.err.contains("there is no case `P5`") && ran.err.contains("G2-item"), "{}", ran.err);
    folder.skew(&["conformance"]).expect(2);
    folder.skew(&["conformance", "postgres://127.0.0.1:1/a", "--level", "snapshot"]).expect(2);
}
