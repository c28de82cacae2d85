//! `skew predict` on what others have recorded: real databases, one transaction at a time, and every format of the checker.

use crate::Folder;
use crate::run_servers::installed;
use skew_testing::{say, skipped};
use skew_workload::Url;
use skew_workload::servers::{MariaDbServer, PostgresServer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Records one at a time until a recording has a prediction, lets the checker confirm it, and makes it again on the mock database.
fn predicted_from(folder: &Folder, url: &Url) {
    let url = url.to_string();
    let found = (1..=10).find(|seed: &u64| {
        let seed = seed.to_string();
        let record = ["run", "smallbank", "--serial", "--drop", "--level", "serializable", "--transactions", "4"];
        folder.skew(&[&record[..], &["--seed", &seed, "--record", "run.jsonl", "--db", &url]].concat()).expect(0);
        folder.skew(&["check", "-q", "--level", "serializable", "run.jsonl"]).expect(0);
        let ran = folder.skew(&["predict", "run.jsonl", "--level", "causal", "--save", "findings"]);
        assert!(matches!(ran.code, Some(0 | 1)), "{}{}", ran.out, ran.err);
        ran.code == Some(1)
    });
    say(&format!("{}: predicted from seed {found:?}", url.split(':').next().unwrap_or_default()));
    let seed = found.expect("no recording of ten has a prediction");
    let again = format!("skew run smallbank --serial --transactions 4 --seed {seed}");
    let replayed = folder.skew(&["predict", "run.jsonl", "--level", "causal", "--replay", &again]).expect(1);
    assert!(replayed.out.contains("\nvalidated: "), "{}", replayed.out);
    let saved = std::fs::read_dir(folder.path().join("findings")).unwrap();
    let names = saved.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let histories: Vec<String> = names.filter(|name| name.ends_with(".jsonl")).collect();
    assert!(!histories.is_empty());
    for history in histories {
        let history = format!("findings/{history}");
        folder.skew(&["check", "-q", "--level", "causal", &history]).expect(0);
        folder.skew(&["check", "-q", "--level", "serializable", &history]).expect(1);
    }
}

#[test]
fn what_postgresql_recorded_could_have_gone_wrong_at_causal() {
    let Some(server) = installed(PostgresServer::start()) else { return };
    predicted_from(&Folder::new("predict-postgres"), server.url());
}

#[test]
fn what_mariadb_recorded_could_have_gone_wrong_at_causal() {
    let Some(server) = installed(MariaDbServer::start()) else { return };
    predicted_from(&Folder::new("predict-mariadb"), server.url());
}

fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("SKEW_SHARED").map_or_else(beside, PathBuf::from);
    Some(shared.join("corpus")).filter(|corpus| corpus.join("MANIFEST.tsv").exists())
}

/// So many files of a format are taken, the smallest ones.
const FILES: usize = 6;
/// So many candidates are looked at: this is about answers, not about finding.
const BUDGET: &str = "50";

#[test]
fn histories_of_every_format_get_an_answer() {
    let Some(corpus) = corpus() else { return skipped("no corpus beside the project") };
    let manifest = std::fs::read_to_string(corpus.join("MANIFEST.tsv")).unwrap();
    let mut formats: BTreeMap<&str, Vec<(u64, &str)>> = BTreeMap::new();
    for line in manifest.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        formats.entry(columns[1]).or_default().push((columns[5].parse().unwrap_or(u64::MAX), columns[0]));
    }
    let folder = Folder::new("predict-formats");
    let mut answers: BTreeMap<String, usize> = BTreeMap::new();
    for (format, mut files) in formats {
        files.sort_unstable();
        for (_, file) in files.into_iter().take(FILES) {
            let path = corpus.join(file);
            let arguments = ["predict", "--format", "json", "--budget", BUDGET, "--timeout", "20s"];
            let ran = folder.skew(&[&arguments[..], &[path.to_str().unwrap()]].concat());
            assert!(matches!(ran.code, Some(0 | 1 | 3)), "{format}: {file}: {:?} {}", ran.code, ran.err);
            let json = ran.json();
            let levels = json["predictions"].as_array().unwrap();
            assert_eq!(levels.len(), 2, "{file}: {}", ran.out);
            for level in levels {
                *answers.entry(format!("{format} {}", level["verdict"].as_str().unwrap())).or_default() += 1;
            }
        }
    }
    say(&format!("predictions from the corpus: {answers:?}"));
}
