//! The report as SARIF 2.1.0, from which code hosts make comments on the right lines.

use super::{Analyzed, AnsweredQuestion, FileLocation, KnownFinding};
use serde_json::{Value, json};
use skew_analyze::{Finding, FindingStatus};
use skew_value::Place;
use std::collections::BTreeSet;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

impl Analyzed {
    /// The report as one SARIF log.
    pub fn sarif(&self) -> String {
        let names: BTreeSet<&String> = self.findings().map(|(_, finding, _)| &finding.anomaly).collect();
        let rule = |name: &&String| json!({ "id": name, "shortDescription": { "text": format!("{name}: an execution that no serial order explains") } });
        let rules: Vec<Value> = names.iter().map(rule).collect();
        let results: Vec<Value> =
            self.findings().map(|(question, finding, known)| self.result(question, finding, known)).collect();
        let driver = json!({ "name": "skew", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
        let run = json!({ "tool": { "driver": driver }, "results": results });
        format!("{}\n", json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] }))
    }

    fn result(&self, question: &AnsweredQuestion, finding: &Finding, known: &KnownFinding) -> Value {
        let fixes: String = finding.fixes.iter().map(|fix| format!(" Fix: {}.", fix.sentence)).collect();
        let level = &question.answer.level;
        let text = format!("{} at {level} ({}): {}.{fixes}", finding.anomaly, finding.status.name(), finding.sentence);
        let (first, others) = finding.locations.split_at(finding.locations.len().min(1));
        let located = |places: &[Place]| places.iter().map(|place| self.physical(*place)).collect::<Vec<Value>>();
        let suppressions: Vec<Value> =
            known.accepted.iter().map(|reason| json!({ "kind": "inSource", "justification": reason })).collect();
        json!({
            "ruleId": finding.anomaly,
            "level": if finding.status == FindingStatus::Confirmed { "error" } else { "note" },
            "message": { "text": text },
            "locations": located(first),
            "relatedLocations": located(others),
            "partialFingerprints": { "skewCycle/v1": known.fingerprint },
            "suppressions": suppressions,
        })
    }

    fn physical(&self, place: Place) -> Value {
        let FileLocation { file, line, column } = self.text.location(place);
        json!({ "physicalLocation": {
            "artifactLocation": { "uri": uri(&file) }, "region": { "startLine": line, "startColumn": column },
        } })
    }
}

/// The name of a file as a URI writes it: whatever could mean something else there becomes its bytes.
fn uri(file: &str) -> String {
    let file = if cfg!(windows) { file.replace('\\', "/") } else { file.to_owned() };
    let letter = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    file.bytes().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn names_of_files_are_uris() {
        assert_eq!(uri("db/my shop.sql"), "db/my%20shop.sql");
        assert_eq!(uri("a#b%c?.sql"), "a%23b%25c%3F.sql");
        assert_eq!(uri("café.sql"), "caf%C3%A9.sql");
    }
}
