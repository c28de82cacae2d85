//! The report for programs.

use super::course::CourseStatement;
use super::{Analyzed, AnsweredQuestion, FileLocation, KnownFinding};
use serde_json::{Map, Value, json};
use skew_analyze::{AnalysisVerdict, Finding, Fix};

impl Analyzed {
    /// The report as one object.
    pub fn json(&self) -> String {
        let questions: Vec<Value> = self.questions.iter().map(|question| self.question(question)).collect();
        let lowest: Option<Map<String, Value>> = self.lowest.as_ref().map(|lowest| {
            lowest.iter().map(|(name, level)| (name.clone(), Value::String(level.name().to_owned()))).collect()
        });
        let unsupported = |one: &skew_analyze::Unsupported| {
            let FileLocation { file, line, column } = self.text.location(one.place);
            json!({ "file": file, "line": line, "column": column, "construct": one.construct })
        };
        let unsupported: Vec<Value> = self.unsupported.iter().map(unsupported).collect();
        // The version comes first, so that whoever reads knows what follows.
        format!(
            "{{\"skew\":1,\"files\":{},\"questions\":{},\"lowest\":{},\"unsupported\":{}}}\n",
            json!(self.text.files()),
            json!(questions),
            json!(lowest),
            json!(unsupported)
        )
    }

    fn question(&self, question: &AnsweredQuestion) -> Value {
        let answer = &question.answer;
        let reason = match &answer.verdict {
            AnalysisVerdict::Unknown(reason) => Some(reason),
            _ => None,
        };
        let findings: Vec<Value> =
            answer.findings.iter().zip(&question.known).map(|(one, known)| self.told(one, known)).collect();
        json!({
            "level": answer.level, "verdict": answer.verdict.name(), "engine": answer.engine.name(), "k": answer.k,
            "reason": reason, "covers": answer.covers, "findings": findings,
        })
    }

    fn told(&self, finding: &Finding, known: &KnownFinding) -> Value {
        let locations: Vec<Value> = finding.locations.iter().map(|place| self.at(self.text.location(*place))).collect();
        let fixes: Vec<Value> = finding.fixes.iter().map(|fix| self.fix(fix)).collect();
        let statement = |one: CourseStatement| {
            let FileLocation { file, line, .. } = self.text.location(one.place);
            let (instance, sql, answer) = (one.instance + 1, one.sql, one.answer);
            json!({ "instance": instance, "file": file, "line": line, "sql": sql, "answer": answer })
        };
        let interleaving: Vec<Value> = self.course(finding, known).into_iter().map(statement).collect();
        let end = known.run.as_ref().map(|run| json!({ "run": run.end, "serial": run.serial }));
        json!({
            "anomaly": finding.anomaly, "status": finding.status.name(), "transactions": finding.transactions,
            "locations": locations, "fixes": fixes, "replay": known.replay(),
            "sentence": finding.sentence, "calls": self.titles(known), "interleaving": interleaving, "end": end,
            "program": known.run.as_ref().filter(|_| known.kept.is_none()).map(|run| &run.text),
            "fingerprint": known.fingerprint, "accepted": known.accepted,
        })
    }

    fn at(&self, FileLocation { file, line, column }: FileLocation) -> Value {
        json!({ "file": file, "line": line, "column": column })
    }

    fn fix(&self, fix: &Fix) -> Value {
        let FileLocation { file, line, .. } = self.text.location(fix.place);
        json!({ "kind": fix.kind.name(), "file": file, "line": line, "verified": fix.verified, "sentence": fix.sentence })
    }
}
