//! Counterexample files: a finding that outlives the run that found it.
//!
//! ```json
//! {"skew":1,
//! "counterexample":"lost-update",
//! "level":"psi",
//! "verdict":"fails",
//! "found_in":{"file":"a.jsonl","format":"native","sha256":"…"},
//! "replay":"skew check --level psi a.jsonl",
//! "transactions":["t1","t2"],
//! "edges":[{"from":"t1","to":"t2","kind":"ww","key":"x","because":"…"}],
//! "cases":[{"assuming":"…","edges":[0,1]}],
//! "history":[
//! {"session":"a","id":"t1","ops":[…]},
//! …
//! ]}
//! ```
//!
//! `history` holds the lines of the native format, so the file can be checked again by itself. Reading trusts nothing: names must
//! be those of the history, numbers must lie within it.

use crate::picture::{self, Picture};
use crate::report::{CaseJson, EdgeJson, FoundJson};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use skew_check::{AnomalyKind, Case, Counterexample, DependencyKind, Told};
use skew_history::builder::{Place, Problem};
use skew_history::format::{self, Format, ReadError, Source, WriteError};
use skew_history::{History, IsolationLevel, Writer};

const ADVICE: &str = "use a file that `skew check --save` wrote";

/// A counterexample and where it came from.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The level that is violated.
    pub level: IsolationLevel,
    /// What it is called.
    pub kind: AnomalyKind,
    /// The smallest part of the input that violates the level.
    pub history: History,
    /// Why it does.
    pub cases: Vec<Case>,
    /// The input it was found in.
    pub found_in: FoundIn,
    /// The command that finds it again.
    pub replay: String,
}

/// The input of a finding.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct FoundIn {
    /// Its name, as the user gave it.
    pub file: String,
    /// Its format.
    pub format: String,
    /// The hash of its bytes.
    pub sha256: String,
}

#[derive(Deserialize)]
struct FileJson {
    skew: u64,
    counterexample: String,
    level: String,
    found_in: FoundIn,
    #[serde(default)]
    replay: String,
    edges: Vec<EdgeJson>,
    cases: Vec<CaseJson>,
    history: Vec<Box<RawValue>>,
}

impl Finding {
    /// Keeps a counterexample.
    pub fn new(found: &Counterexample, found_in: FoundIn, replay: String) -> Finding {
        Finding {
            level: found.level,
            kind: found.kind,
            history: found.history.clone(),
            cases: found.cases.clone(),
            found_in,
            replay,
        }
    }

    /// What there is to show.
    pub fn picture(&self) -> Picture<'_> {
        Picture { level: self.level, kind: self.kind, history: &self.history, cases: &self.cases }
    }

    /// The file's text, a member per line and a transaction per line.
    pub fn to_json(&self) -> Result<String, WriteError> {
        let mut native = Vec::new();
        format::write(&self.history, Format::Native, &mut native)?;
        let native = String::from_utf8_lossy(&native);
        let history: Vec<&str> = native.lines().collect();
        let found = FoundJson::new(self.picture());
        let members = [
            member("counterexample", self.kind.name()),
            member("level", self.level.name()),
            member("verdict", "fails"),
            member("found_in", &self.found_in),
            member("replay", &self.replay),
            member("transactions", &found.transactions),
            member("edges", &found.edges),
            member("cases", &found.cases),
        ];
        Ok(format!("{{\"skew\":1,\n{}\"history\":[\n{}\n]}}\n", members.concat(), history.join(",\n")))
    }

    /// Reads a file back. `name` is the file's, for messages.
    pub fn from_json(name: &str, bytes: &[u8]) -> Result<Finding, ReadError> {
        let file: FileJson = serde_json::from_slice(bytes).map_err(|error| malformed(name, &error))?;
        let refuse = |what: String| refusal(name, Place::Whole, what);
        if file.skew != 1 {
            return Err(refuse(format!("this is version {} of the file, and only version 1 is known", file.skew)));
        }
        let kind = picture::kind_named(&file.counterexample);
        let kind = kind.ok_or_else(|| refuse(format!("`{}` is not an anomaly", file.counterexample)))?;
        let level: IsolationLevel =
            file.level.parse().map_err(|_| refuse(format!("`{}` is not a level", file.level)))?;
        let history = read_history(name, &file.history)?;
        let told = file.edges.iter().map(|edge| tell(&history, edge)).collect::<Result<Vec<Told>, String>>();
        let told = told.map_err(refuse)?;
        let cases = file.cases.into_iter().map(|case| gather(case, &told)).collect::<Result<Vec<Case>, String>>();
        let cases = cases.map_err(refuse)?;
        Ok(Finding { level, kind, history, cases, found_in: file.found_in, replay: file.replay })
    }
}

fn member(name: &str, value: impl Serialize) -> String {
    let value = serde_json::to_string(&value).expect("texts and numbers become JSON");
    format!("\"{name}\":{value},\n")
}

fn refusal(name: &str, place: Place, what: String) -> ReadError {
    ReadError { file: name.to_owned(), place, problem: Problem::malformed(what, ADVICE) }
}

fn malformed(name: &str, error: &serde_json::Error) -> ReadError {
    let place = if error.line() == 0 { Place::Whole } else { Place::Line(error.line() as u64) };
    refusal(name, place, format!("not a counterexample file: {error}"))
}

/// A line of the history may have been broken into several by whoever formatted the file; JSON has no line ends inside texts, so a
/// space does as well.
fn read_history(name: &str, lines: &[Box<RawValue>]) -> Result<History, ReadError> {
    let text = lines.iter().map(|line| format!("{}\n", line.get().replace(['\n', '\r'], " "))).collect::<String>();
    let inside = format!("{name}, in its history");
    format::read(&[Source { name: &inside, bytes: text.as_bytes() }], Format::Native)
}

fn tell(history: &History, edge: &EdgeJson) -> Result<Told, String> {
    Ok(Told {
        from: end_of(history, edge.from.as_deref())?,
        to: end_of(history, edge.to.as_deref())?,
        kind: kind_of(&edge.kind)?,
        key: match &edge.key {
            Some(name) => {
                Some(history.find_key(name).ok_or_else(|| format!("no event of the history has key `{name}`"))?)
            }
            None => None,
        },
        because: edge.because.clone(),
    })
}

fn end_of(history: &History, name: Option<&str>) -> Result<Writer, String> {
    let Some(name) = name else { return Ok(Writer::Initial) };
    let found = history.find_transaction(name);
    found.map(Writer::Transaction).ok_or_else(|| format!("the history has no transaction `{name}`"))
}

fn kind_of(letters: &str) -> Result<DependencyKind, String> {
    use DependencyKind::*;
    let all = [Session, ReadsFrom, VersionOrder, Overwrites, RealTime, Lock, Snapshot, Gone];
    let found = all.into_iter().find(|kind| kind.letters() == letters);
    found.ok_or_else(|| format!("`{letters}` is not a kind of edge: so, wr, ww, rw, rt, lock, snapshot or gone"))
}

fn gather(case: CaseJson, told: &[Told]) -> Result<Case, String> {
    let edge = |&place: &usize| told.get(place).cloned().ok_or_else(|| format!("there is no edge number {place}"));
    let edges = case.edges.iter().map(edge).collect::<Result<Vec<Told>, String>>()?;
    Ok(Case { assumption: case.assuming, edges })
}
