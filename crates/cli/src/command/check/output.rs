//! What `skew check` prints: text as it comes, one JSON object over all inputs, or drawings of the counterexamples.
//!
//! ```json
//! {"skew":1,"histories":[
//! {"file":"a.jsonl","sessions":2,…},
//! {"file":"b.jsonl","error":{"place":"line 3","message":"…","advice":"…"}}
//! ]}
//! ```
//!
//! The JSON is written a history at a time: of a thousand files nobody has to wait for the last one.

use super::statistics;
use crate::command::Show;
use crate::console::Console;
use crate::input::Complaint;
use serde_json::json;
use skew_check::Counterexample;
use skew_history::Place;
use skew_view::report::{Report, RunStatistics};
use skew_view::{Picture, dot, svg};

/// Where results go, in the form that was asked for.
pub(super) struct Output {
    show: Show,
    written: usize,
    /// One drawing holds all counterexamples, so it waits for the last.
    to_draw: Vec<Counterexample>,
}

impl Output {
    pub(super) fn new(show: Show) -> Output {
        Output { show, written: 0, to_draw: Vec::new() }
    }

    pub(super) fn begin(&mut self, console: &mut Console) {
        if self.show == Show::Json {
            console.result("{\"skew\":1,\"histories\":[");
        }
    }

    pub(super) fn report(&mut self, report: &Report<'_>, statistics: Option<RunStatistics>, console: &mut Console) {
        match self.show {
            Show::Human => {
                let apart = if self.written > 0 { "\n" } else { "" };
                console.say(&format!("{apart}{}", report.human(console.palette)));
                if let Some(run) = statistics {
                    console.say(&statistics::human(report.levels, &run));
                }
            }
            Show::Json => {
                let object =
                    report.json(statistics).unwrap_or_else(|error| json!({ "error": error.to_string() }).to_string());
                self.object(&object, console);
            }
            Show::Dot => report.counterexamples.iter().for_each(|found| {
                console.result(&dot::counterexample(Picture::from(found)));
            }),
            Show::Svg => self.to_draw.extend(report.counterexamples.iter().cloned()),
        }
        self.written += 1;
    }

    /// An input that could not be checked has its place among the results too.
    pub(super) fn complaint(&mut self, complaint: &Complaint, console: &mut Console) {
        if self.show != Show::Json {
            return;
        }
        let place = (complaint.place != Place::Whole).then(|| complaint.place.to_string());
        let error = json!({ "place": place, "message": complaint.message, "advice": complaint.advice });
        let file = json!(complaint.file);
        self.object(&format!("{{\"file\":{file},\"error\":{error}}}"), console);
        self.written += 1;
    }

    fn object(&mut self, object: &str, console: &mut Console) {
        console.result(if self.written > 0 { ",\n" } else { "\n" });
        console.result(object);
    }

    pub(super) fn end(&mut self, console: &mut Console) {
        match self.show {
            Show::Json => console.result("\n]}\n"),
            Show::Svg => {
                let pictures: Vec<Picture<'_>> = self.to_draw.iter().map(Picture::from).collect();
                console.result(&svg::counterexamples(&pictures));
            }
            Show::Human | Show::Dot => {}
        }
    }
}
