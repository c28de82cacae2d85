//! One input after the other: what `check` and `predict` do alike.
//!
//! ```text
//!   for every file: locate ── open ── read ──┬── history    what the command is about
//!                                            ├── complain   what is wrong with it; the others go on
//!                                            └── skip       the time was over, or somebody pressed Ctrl-C
//! ```
//!
//! As JSON all results are one object, written a history at a time: of a thousand files nobody has to wait for the last one.
//!
//! ```json
//! {"skew":1,"histories":[
//! {"file":"a.jsonl","sessions":2,…},
//! {"file":"b.jsonl","error":{"place":"line 3","message":"…","advice":"…"}}
//! ]}
//! ```

use super::Show;
use crate::clock::{self, ProgressLine};
use crate::console::Console;
use crate::exit::Exit;
use crate::input::{self, Complaint, Input, Limits, Location};
use std::path::PathBuf;

/// Where results go, in the form that was asked for.
pub(super) struct Results<'a> {
    pub(super) console: &'a mut Console,
    pub(super) show: Show,
    pub(super) progress: ProgressLine,
    pub(super) exit: Exit,
    written: usize,
}

impl<'a> Results<'a> {
    pub(super) fn new(show: Show, console: &'a mut Console) -> Results<'a> {
        let progress = ProgressLine::new(console.shows_progress());
        Results { console, show, progress, exit: Exit::Holds, written: 0 }
    }

    /// A result in words, apart from the one before it.
    pub(super) fn say(&mut self, text: &str) {
        let apart = if self.written > 0 { "\n" } else { "" };
        self.console.say(&format!("{apart}{text}"));
        self.written += 1;
    }

    /// A result as JSON.
    pub(super) fn object(&mut self, object: &str) {
        self.console.result(if self.written > 0 { ",\n" } else { "\n" });
        self.console.result(object);
        self.written += 1;
    }

    /// What is wrong; an input that nothing could be done with has its place among the results too.
    pub(super) fn complain(&mut self, complaint: &Complaint) {
        clock::something_to_keep();
        self.progress.pause();
        self.console.complain(complaint);
        self.refused(complaint);
        self.exit.combine(Exit::BadInput);
    }

    fn refused(&mut self, complaint: &Complaint) {
        if self.show == Show::Json {
            self.object(&complaint.json());
        }
    }
}

/// A command that does something with each history that it is given.
pub(super) trait EachInput<'a> {
    /// What the results are called.
    const RESULTS: &'static str;
    /// What is said of an input that nobody got to, and how to make up for that.
    const SKIPPED: (&'static str, &'static str);
    /// A history with what the command keeps of its input.
    type Read;

    fn results(&mut self) -> &mut Results<'a>;

    fn read(&self, input: Input) -> Result<Self::Read, Complaint>;

    fn history(&mut self, read: Self::Read);

    /// All histories of all files.
    fn each(&mut self, files: &[PathBuf], limits: Limits) {
        let is_json = self.results().show == Show::Json;
        if is_json {
            self.results().console.result(&format!("{{\"skew\":1,\"{}\":[", Self::RESULTS));
        }
        for argument in files {
            match input::locate(argument, input::HISTORIES) {
                Ok(locations) => locations.iter().for_each(|location| self.location(location, limits)),
                Err(complaint) => self.results().complain(&complaint),
            }
        }
        if is_json {
            self.results().console.result("\n]}\n");
        }
    }

    fn location(&mut self, location: &Location, limits: Limits) {
        if clock::is_stopped() {
            return self.skip(&location.name());
        }
        self.results().progress.begin(&location.name());
        match location.open(limits) {
            Ok(inputs) => inputs.into_iter().for_each(|input| self.input(input)),
            // It was not the file that ended the reading.
            Err(_) if clock::is_stopped() => self.skip(&location.name()),
            Err(complaint) => self.results().complain(&complaint),
        }
    }

    fn input(&mut self, input: Input) {
        if clock::is_stopped() {
            return self.skip(&input.name);
        }
        self.results().progress.begin(&input.name);
        let name = input.name.clone();
        match self.read(input) {
            _ if clock::is_stopped() => self.skip(&name),
            Ok(read) => self.history(read),
            Err(complaint) => self.results().complain(&complaint),
        }
    }

    fn skip(&mut self, name: &str) {
        let (not_done, again) = Self::SKIPPED;
        let (why, advice) = match clock::is_interrupted() {
            true => ("interrupted", again),
            false => ("the time was over", "raise --timeout"),
        };
        let complaint = Complaint::new(name, format!("{not_done}: {why}"), advice);
        let results = self.results();
        results.console.note(&complaint.to_string());
        results.refused(&complaint);
        results.exit.combine(Exit::Inconclusive);
    }

    /// How it ended: whatever was found before, what was not looked at might be worse.
    fn exit(&mut self) -> Exit {
        if clock::is_interrupted() { Exit::Inconclusive } else { self.results().exit }
    }
}
