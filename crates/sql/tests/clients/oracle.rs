//! The same recordings on a real PostgreSQL, through `psql`, where one is named.

use crate::recording::Recording;
use crate::stage::Told;
use std::io::Write as _;
use std::process::{Command, Stdio};

const FIELD: char = '\u{1f}';
const ROW: char = '\u{1e}';
const NULL: char = '\u{2}';
const STATEMENT: &str = "\u{4}skew";

/// Whether a PostgreSQL is named.
pub(crate) fn is_there() -> bool {
    std::env::var_os("SKEW_ORACLE").is_some()
}

/// The database that a recording is played on.
pub(crate) fn database(recording: &Recording) -> String {
    format!("skew_{}", recording.client.replace(|letter: char| !letter.is_alphanumeric(), "_"))
}

/// What PostgreSQL answers, statement by statement, in a database of its own that is dropped first.
pub(crate) fn answers(recording: &Recording) -> Option<Vec<Told>> {
    let server = std::env::var("SKEW_ORACLE").ok()?;
    let database = database(recording);
    for statement in [format!("DROP DATABASE IF EXISTS {database}"), format!("CREATE DATABASE {database}")] {
        psql(&format!("{server} dbname=postgres"), &format!("{statement};\n"));
    }
    let mut script = format!(
        "\\set VERBOSITY verbose\n\\pset format unaligned\n\\pset footer off\n\\pset fieldsep '{FIELD}'\n\
         \\pset recordsep '{ROW}'\n\\pset null '{NULL}'\n\\set SHOW_CONTEXT never\n\\timing off\n"
    );
    for sent in &recording.sent {
        let text = sent.with_values();
        script.push_str(&format!("\\echo {STATEMENT}\n{};\n", text.trim_end().trim_end_matches(';')));
        if text.to_lowercase().starts_with("copy ") && text.to_lowercase().contains("stdin") {
            script.push_str("\\.\n");
        }
    }
    let told = psql(&format!("{server} dbname={database}"), &script);
    Some(told.split(&format!("{STATEMENT}\n")).skip(1).map(answer).collect())
}

/// What `psql` prints, errors included, in the order they come.
fn psql(connection: &str, script: &str) -> String {
    let file = std::env::temp_dir().join(format!("skew-oracle-{}.sql", std::process::id()));
    std::fs::File::create(&file).and_then(|mut file| file.write_all(script.as_bytes())).expect("a script");
    let command = format!("psql -X -q -d \"{connection}\" -f {} 2>&1", file.display());
    let output = Command::new("sh").args(["-c", &command]).stdin(Stdio::null()).output().expect("psql runs");
    let _ = std::fs::remove_file(&file);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn answer(told: &str) -> Told {
    let told = told.trim_end_matches('\n');
    if let Some(error) = told.lines().find_map(|line| line.split_once("ERROR:  ").map(|(_, error)| error)) {
        let (state, message) = error.split_once(": ").unwrap_or((error, ""));
        return Told::Refused(state.to_owned(), message.to_owned());
    }
    let rows: Vec<&str> = told.split(ROW).filter(|_| !told.is_empty()).collect();
    let fields = |row: &str| -> Vec<Option<String>> {
        row.split(FIELD).map(|cell| if cell == NULL.to_string() { None } else { Some(cell.to_owned()) }).collect()
    };
    let Some((names, rows)) =
        rows.split_first().filter(|_| told.contains(ROW) || told.contains(FIELD) || !told.is_empty())
    else {
        return Told::Done;
    };
    let is_notice = names.contains("NOTICE:  ") || names.contains("WARNING:  ");
    if is_notice {
        return Told::Done;
    }
    Told::Rows(names.split(FIELD).map(str::to_owned).collect(), rows.iter().map(|row| fields(row)).collect())
}
