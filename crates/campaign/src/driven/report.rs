//! What came of one run, in words and as JSON.
//!
//! ```text
//!   smallbank: 3 sessions of 100 transactions at causal on the mock database
//!     300 committed, 4 retried, 2 rolled back by their program
//!     aborted by the database: deadlock (4)
//!     kill of the server: after 57 transactions (0.2 s), healed after 61 transactions (1.4 s)
//!     1874 a second; latency p50 1.2 ms, p95 2.4 ms, p99 3.1 ms
//!     fails  A13 money: …
//!     not in the history: the rows that 12 scans passed over
//! ```

use super::{DriveCampaign, DrivenRun, LevelPromise, faults};
use serde_json::{Value, json};
use skew_view::report::Report as Verdicts;
use skew_view::{Palette, words};
use skew_workload::{End, Notes, Report, Url};
use std::fmt::Write;

/// Nanoseconds as milliseconds, with three digits that count.
pub fn milliseconds(nanoseconds: u64) -> String {
    let time = nanoseconds as f64 / 1e6;
    if time < 10.0 { format!("{time:.2}") } else { format!("{time:.0}") }
}

/// The sizes, the level and the place of runs.
pub(super) fn heading(campaign: &DriveCampaign<'_>) -> String {
    let harness = campaign.harness;
    let (sessions, operations) = (harness.sessions, harness.operations);
    let sessions = if sessions == 1 { "1 session".to_owned() } else { format!("{sessions} sessions") };
    let operations = if operations == 1 { "1 transaction".to_owned() } else { format!("{operations} transactions") };
    let in_turn = if campaign.settings.order.is_serial() { ", one at a time," } else { "" };
    format!("{sessions} of {operations}{in_turn} at {} on {}", campaign.settings.level, campaign.place())
}

/// One run, for people.
pub fn told_run(campaign: &DriveCampaign<'_>, ran: &DrivenRun, palette: Palette) -> String {
    let Palette { heading: bold, good, bad, end, .. } = palette;
    let report = &ran.report;
    let mut text = format!("{bold}{}{end}: {}\n", campaign.workload.name(), heading(campaign));
    if report.end != End::Finished {
        let _ = writeln!(
            text,
            "  stopped after {} of {} transactions; the assertions were not asked",
            report.operations,
            campaign.operations()
        );
    }
    let _ = writeln!(text, "  {}", counts(report));
    tell_aborts(report.aborted.iter().map(|(kind, count)| (*kind, *count)), &mut text);
    faults::tell(&report.faults, campaign.urls.len(), &mut text);
    let latency = report.latencies();
    let [p50, p95, p99] = [50.0, 95.0, 99.0].map(|share| milliseconds(latency.percentile(share)));
    let speed = report.throughput();
    let _ = writeln!(text, "  {speed:.0} a second; latency p50 {p50} ms, p95 {p95} ms, p99 {p99} ms");
    for assertion in &report.assertions {
        let word = if assertion.holds { format!("{good}holds{end}") } else { format!("{bad}fails{end}") };
        let _ = writeln!(text, "  {word}  {}: {}", words::clean(&assertion.name), words::clean(&assertion.detail));
    }
    if let Some(why) = &report.not_asked {
        let _ = writeln!(text, "  not all assertions were asked: {}", words::clean(why));
    }
    tell_notes(report.notes, &mut text);
    text
}

fn counts(report: &Report) -> String {
    let mut parts = vec![format!("{} committed", report.committed), format!("{} retried", report.retried)];
    let more = [
        (report.rolled_back, "rolled back by their program"),
        (report.given_up, "given up"),
        (report.unknown, "with an unknown outcome"),
    ];
    parts.extend(more.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    parts.join(", ")
}

/// A line of why the database refused, if it did.
pub(super) fn tell_aborts<'a>(aborted: impl Iterator<Item = (&'a str, u64)>, text: &mut String) {
    let kinds: Vec<String> = aborted.map(|(kind, count)| format!("{kind} ({count})")).collect();
    if !kinds.is_empty() {
        let _ = writeln!(text, "  aborted by the database: {}", kinds.join(", "));
    }
}

/// What a verdict on the history is not about.
pub(super) fn tell_notes(notes: Notes, text: &mut String) {
    let lines = [
        (notes.scans, "not in the history: rows that scans passed over; scans"),
        (notes.deletions, "open in the history: from which deletion a read of absence is; deletions"),
        (notes.unrecorded, "not in the history: statements without events"),
        (notes.unclaimed, "not claimed: reads of transactions that rolled back at serializable; transactions"),
    ];
    for (count, what) in lines.iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "  {what}: {count}");
    }
}

/// One run, for programs: with whether the server kept its promise, the verdicts on the history, and the file that it is in, where there are such.
pub fn json_of_run(
    campaign: &DriveCampaign<'_>,
    ran: &DrivenRun,
    promise: Option<&LevelPromise>,
    verdicts: Option<&Verdicts<'_>>,
    record: Option<String>,
) -> String {
    let report = &ran.report;
    let latency = report.latencies();
    let time = |share: f64| latency.percentile(share) as f64 / 1e6;
    let assertion = |assertion: &skew_workload::Assertion| json!({"name": assertion.name, "holds": assertion.holds, "detail": assertion.detail});
    let assertions: Vec<Value> = report.assertions.iter().map(assertion).collect();
    let why = if let End::Failed(why) = &report.end { Some(why) } else { None };
    let history = verdicts.and_then(|verdicts| verdicts.json(None).ok());
    let mut object = setting_json(campaign);
    let result = json!({
        "seed": ran.seed,
        "end": match report.end { End::Finished => "finished", End::Stopped => "stopped", End::Failed(_) => "failed" },
        "why": why,
        "not_asked": report.not_asked,
        "operations": report.operations,
        "committed": report.committed,
        "rolled_back": report.rolled_back,
        "retried": report.retried,
        "given_up": report.given_up,
        "unknown": report.unknown,
        "aborted": report.aborted,
        "seconds": report.elapsed.as_secs_f64(),
        "per_second": report.throughput(),
        "latency_ms": {"p50": time(50.0), "p95": time(95.0), "p99": time(99.0), "max": time(100.0)},
        "faults": faults::json(&report.faults),
        "assertions": assertions,
        "promise": promise.map(LevelPromise::json),
        "notes": notes_json(report.notes),
        "record": record,
        "history": history.and_then(|text| serde_json::from_str::<Value>(&text).ok()),
    });
    extend(&mut object, result);
    object.to_string()
}

/// What a verdict on the history is not about, in numbers.
pub(super) fn notes_json(notes: Notes) -> Value {
    json!({
        "scans": notes.scans,
        "deletions": notes.deletions,
        "unrecorded": notes.unrecorded,
        "unclaimed": notes.unclaimed,
    })
}

/// What was asked, as the first members of an object.
pub(super) fn setting_json(campaign: &DriveCampaign<'_>) -> Value {
    let servers: Vec<String> = campaign.urls.iter().map(Url::to_string).collect();
    json!({
        "skew": 1,
        "workload": campaign.workload.name(),
        "servers": servers,
        "level": campaign.settings.level.name(),
        "sessions": campaign.harness.sessions,
        "transactions": campaign.harness.operations,
    })
}

/// The members of both.
pub(super) fn extend(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}
