//! Predictions for programs: an object per file and level.
//!
//! ```json
//! {"file":"h.jsonl","level":"causal","strategy":"exact","against":"serializable","verdict":"found","candidates":3,"runs":[
//!   {"number":1,"boundary":"strict","by":"prediction","changed":[{"transaction":"t3","event":0,"key":"x","from":null,"was":"t1"}],
//!    "cut":{"b":{"transaction":"t3","event":0}},"anomaly":"lost-update","transactions":["t1","t3"],"edges":[],"cases":[],"history":null}]}
//! ```

use super::{KnownRuns, LevelAnswer, PredictSettings, PredictedFile, PredictedLevel, PredictedRun};
use serde::Serialize;
use serde_json::{Map, Value, json};
use skew_history::{History, Writer};
use skew_predict::{ChangedRead, Cut};
use skew_view::Picture;
use skew_view::report::found_json;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct PredictedLevelJson<'a> {
    file: &'a str,
    level: &'static str,
    strategy: &'static str,
    against: &'static str,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    candidates: u64,
    /// Whether there are no others; of `found` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete: Option<bool>,
    runs: Vec<PredictedRunJson<'a>>,
    /// The level that the run itself breaks; of `observed` only, as is what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<&'static str>,
    #[serde(flatten)]
    found: Map<String, Value>,
}

#[derive(Serialize)]
struct PredictedRunJson<'a> {
    number: usize,
    boundary: &'static str,
    by: &'static str,
    changed: Vec<ChangedJson>,
    /// By session; null is a session that is left out.
    cut: BTreeMap<String, Option<CutJson>>,
    #[serde(flatten)]
    found: Map<String, Value>,
    history: Option<&'a str>,
    /// The file in which an equal run was met first.
    #[serde(skip_serializing_if = "Option::is_none")]
    same_as: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    validated: Option<&'static str>,
    /// Where a replay was first not as foretold.
    #[serde(skip_serializing_if = "Option::is_none")]
    divergence: Option<&'a str>,
    /// How the command failed in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
    /// What a real server showed of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<Value>,
}

#[derive(Serialize)]
struct ChangedJson {
    transaction: String,
    event: usize,
    key: String,
    from: Option<String>,
    was: Option<String>,
}

#[derive(Serialize)]
struct CutJson {
    transaction: String,
    event: usize,
}

impl PredictedFile {
    /// An object per level, in the order in which they were asked. All runs have been joined.
    pub fn json(&self, settings: &PredictSettings, known: &KnownRuns) -> Vec<String> {
        let object = |level: &PredictedLevel| {
            let made = serde_json::to_string(&self.level_json(level, settings, known));
            made.unwrap_or_else(|error| json!({"file": self.file, "error": {"message": error.to_string()}}).to_string())
        };
        self.levels.iter().map(object).collect()
    }

    fn level_json<'a>(
        &'a self,
        level: &'a PredictedLevel,
        settings: &PredictSettings,
        known: &'a KnownRuns,
    ) -> PredictedLevelJson<'a> {
        let observed = match &level.answer {
            LevelAnswer::Observed(found) => Some(&**found),
            _ => None,
        };
        PredictedLevelJson {
            file: &self.file,
            level: level.level.name(),
            strategy: settings.strategy.name(),
            against: settings.against.name(),
            verdict: level.verdict(),
            reason: match level.answer {
                LevelAnswer::Nothing(why) => why,
                LevelAnswer::Open(why) => Some(why),
                _ => None,
            },
            candidates: level.candidates,
            complete: match level.answer {
                LevelAnswer::Found(_, is_all) => Some(is_all),
                _ => None,
            },
            runs: level.runs().iter().map(|run| self.run_json(run, known)).collect(),
            broken: observed.map(|found| found.level.name()),
            found: observed.map(|found| members(Picture::from(found))).unwrap_or_default(),
        }
    }

    fn run_json<'a>(&'a self, run: &'a PredictedRun, known: &'a KnownRuns) -> PredictedRunJson<'a> {
        let (history, prediction) = (&self.history, &run.prediction);
        let first = known.first(run.number).filter(|_| run.is_repeated);
        PredictedRunJson {
            number: run.number,
            boundary: prediction.boundary.name(),
            by: "prediction",
            changed: prediction.changed.iter().map(|read| ChangedJson::new(history, read)).collect(),
            cut: prediction.cuts.iter().map(|cut| cut_json(history, cut)).collect(),
            found: members(Picture::from(&prediction.counterexample)),
            history: known.path(run.number),
            same_as: first.map(|(file, level)| json!({"file": file, "level": level.name()})),
            validated: run.replayed.as_ref().map(|replayed| replayed.validated),
            divergence: run.replayed.as_ref().and_then(|replayed| replayed.divergence.as_deref()),
            failure: run.replayed.as_ref().and_then(|replayed| replayed.failure.as_deref()),
            confirmed: run.confirmed.as_ref().map(|confirmed| confirmed.confirmation.json()),
        }
    }
}

fn members(picture: Picture<'_>) -> Map<String, Value> {
    match found_json(picture) {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

impl ChangedJson {
    fn new(history: &History, read: &ChangedRead) -> ChangedJson {
        let name = |writer: Writer| match writer {
            Writer::Initial => None,
            Writer::Transaction(id) => Some(history.transaction_name(id).to_string()),
        };
        ChangedJson {
            transaction: history.transaction_name(read.transaction).to_string(),
            event: read.place,
            key: history.key_name(read.key).to_string(),
            from: name(read.from),
            was: name(read.was),
        }
    }
}

fn cut_json(history: &History, cut: &Cut) -> (String, Option<CutJson>) {
    let last = cut.last.map(|(transaction, _, event)| CutJson {
        transaction: history.transaction_name(transaction).to_string(),
        event,
    });
    (history.session_name(cut.session).to_string(), last)
}
