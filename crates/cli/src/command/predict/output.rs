//! What `skew predict` prints: text as it comes, one JSON object over all inputs, or drawings of the predictions.
//!
//! ```json
//! {"skew":1,"predictions":[
//! {"file":"a.jsonl","level":"causal",…},
//! {"file":"b.jsonl","error":{"place":"line 3","message":"…","advice":"…"}}
//! ]}
//! ```

use crate::command::Show;
use crate::console::Console;
use crate::input::Complaint;
use serde_json::json;
use skew_campaign::predicted::{KnownRuns, PredictSettings, PredictedFile};
use skew_history::Place;
use skew_view::{Picture, beside, dot};

/// Where results go, in the form that was asked for.
pub(super) struct PredictOutput {
    show: Show,
    written: usize,
    /// One drawing holds all predictions, so it waits for the last.
    to_draw: Vec<PredictedFile>,
}

impl PredictOutput {
    pub(super) fn new(show: Show) -> PredictOutput {
        PredictOutput { show, written: 0, to_draw: Vec::new() }
    }

    pub(super) fn begin(&mut self, console: &mut Console) {
        if self.show == Show::Json {
            console.result("{\"skew\":1,\"predictions\":[");
        }
    }

    pub(super) fn report(
        &mut self,
        predicted: PredictedFile,
        settings: &PredictSettings,
        known: &KnownRuns,
        console: &mut Console,
    ) {
        match self.show {
            Show::Human => {
                let apart = if self.written > 0 { "\n" } else { "" };
                console.say(&format!("{apart}{}", predicted.human(settings, known, console.palette)));
                self.written += 1;
            }
            Show::Json => predicted.json(settings, known).iter().for_each(|object| self.object(object, console)),
            Show::Dot => predicted.new_runs().for_each(|(_, run)| {
                console.result(&dot::counterexample(Picture::from(&run.prediction.counterexample)));
            }),
            Show::Svg if predicted.new_runs().next().is_some() => self.to_draw.push(predicted),
            Show::Svg => {}
        }
    }

    /// An input that nothing could be predicted from has its place among the results too.
    pub(super) fn complaint(&mut self, complaint: &Complaint, console: &mut Console) {
        if self.show != Show::Json {
            return;
        }
        let place = (complaint.place != Place::Whole).then(|| complaint.place.to_string());
        let error = json!({ "place": place, "message": complaint.message, "advice": complaint.advice });
        let file = json!(complaint.file);
        self.object(&format!("{{\"file\":{file},\"error\":{error}}}"), console);
    }

    fn object(&mut self, object: &str, console: &mut Console) {
        console.result(if self.written > 0 { ",\n" } else { "\n" });
        console.result(object);
        self.written += 1;
    }

    pub(super) fn end(&mut self, console: &mut Console) {
        match self.show {
            Show::Json => console.result("\n]}\n"),
            Show::Svg => {
                let drawings: Vec<_> = self.to_draw.iter().flat_map(PredictedFile::drawings).collect();
                console.result(&beside::drawings(&drawings));
            }
            Show::Human | Show::Dot => {}
        }
    }
}
