//! `skew check`: which isolation levels does a recorded history satisfy, and why not the others?
//!
//! ```text
//!   arguments ──> Settings ──> for every input: read, check all levels, explain the weakest that fail
//!                                 │
//!                                 ├── tell          text, JSON or drawings
//!                                 ├── certificates  --certificate writes them, --verify checks them
//!                                 └── findings      --save keeps counterexamples
//! ```

mod certificates;
mod findings;
mod settings;
mod verify;

use super::Show;
use super::each_input::{EachInput, Results};
use crate::clock::{self, Stopwatch};
use crate::console::Console;
use crate::exit::Exit;
use crate::input::{self, Complaint, Input, Limits};
use certificates::CertificateFile;
use findings::Findings;
use serde_json::json;
use settings::Settings;
use skew_campaign::Checked;
use skew_check::{Budget, Counterexample};
use skew_history::History;
use skew_history::format::Format;
use skew_history::level::{IsolationLevel, spellings};
use skew_view::report::{Report, RunStatistics};
use skew_view::{Picture, dot, svg};
use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

/// Decide which isolation levels histories satisfy, and explain the weakest violation
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    printf 'a: r(x,init) w(x,1); b: r(x,init) w(x,2)' | skew check -\n  \
    printf 'a: w(x,1); b: r(x,1)' | skew check - --level snapshot,serializable --format json\n\n\
    Exit codes: 0 everything asked holds, 1 a level fails, 2 bad usage or input, 3 inconclusive")]
pub(crate) struct Arguments {
    /// Histories: files (gzip, xz, zstd and tar too), folders, or `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[arg(short, long, value_delimiter = ',', value_name = "LEVEL",
        help = format!("The levels to check: {} [default: the seven, and the strong ones where there are times]", spellings(IsolationLevel::all())))]
    level: Vec<IsolationLevel>,
    /// How to show the results
    #[arg(long, value_enum, default_value_t = Show::Human)]
    format: Show,
    #[arg(long, value_name = "FORMAT", help = input::from_help())]
    from: Option<Format>,
    /// Write a certificate per history and level
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Check the certificates in this file instead: 0 all are valid, 1 not, 2 bad input, 3 the verdict is unknown and there is nothing to check
    #[arg(long, value_name = "CERT", conflicts_with_all = ["certificate", "save", "level", "stats", "budget", "no_prune", "no_explain"])]
    verify: Option<PathBuf>,
    /// Keep every counterexample in this folder, for `skew view`
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Show constraints, conflicts, time per phase and memory
    #[arg(long)]
    stats: bool,
    /// Give up a level after so many steps of search
    #[arg(long, value_name = "STEPS")]
    budget: Option<u64>,
    /// Give up after this time, such as 30s, 500ms, 2m
    #[arg(long, value_parser = clock::parse_duration, value_name = "DURATION")]
    timeout: Option<Duration>,
    /// Search without pruning first, to measure what pruning is worth
    #[arg(long)]
    no_prune: bool,
    /// Leave out the counterexample, and save the time of making it small
    #[arg(long, conflicts_with = "save")]
    no_explain: bool,
    #[command(flatten)]
    limits: Limits,
}

impl Arguments {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        let settings = Settings::new(self);
        if let Some(limit) = settings.timeout {
            clock::stop_after(limit);
        }
        if let Some(certificates) = &settings.verify {
            return verify::run(certificates, &settings, console);
        }
        match Run::new(&settings, console) {
            Ok(run) => run.everything(),
            Err((complaint, console)) => {
                console.complain(&complaint);
                Exit::BadInput
            }
        }
    }
}

/// One run over all inputs.
struct Run<'a> {
    settings: &'a Settings,
    results: Results<'a>,
    certificates: Option<CertificateFile>,
    findings: Option<Findings>,
    /// One drawing holds all counterexamples, so it waits for the last.
    to_draw: Vec<Counterexample>,
}

impl<'a> EachInput<'a> for Run<'a> {
    const RESULTS: &'static str = "histories";
    const SKIPPED: (&'static str, &'static str) = ("not checked", "check it again");
    type Read = (Subject, History, Stopwatch);

    fn results(&mut self) -> &mut Results<'a> {
        &mut self.results
    }

    fn read(&self, input: Input) -> Result<Self::Read, Complaint> {
        let mut watch = Stopwatch::new();
        watch.enter("read");
        let keeps = self.certificates.is_some() || self.findings.is_some();
        let sha256 = if keeps { input.sha256() } else { String::new() };
        let name = input.name.clone();
        let (format, history) = input.into_history(self.settings.from)?;
        Ok((Subject { name, format, sha256 }, history, watch))
    }

    fn history(&mut self, (subject, history, watch): Self::Read) {
        clock::something_to_keep();
        let levels = self.levels_to_ask(&subject.name, &history);
        if levels.is_empty() {
            return;
        }
        let watch = RefCell::new(watch);
        let checked = self.check(&history, &levels, &watch);
        watch.borrow_mut().leave();
        self.results.exit.combine(checked.conclusion().into());
        self.keep(&subject, &history, &checked);
        let report = checked.report(&subject.name, &history);
        let watch = watch.into_inner();
        let statistics = self.settings.stats.then(|| RunStatistics {
            phases: watch.phases(),
            seconds: watch.seconds(),
            peak_memory: clock::peak_memory(),
        });
        self.results.progress.pause();
        self.tell(&report, statistics);
    }
}

impl<'a> Run<'a> {
    fn new(settings: &'a Settings, console: &'a mut Console) -> Result<Run<'a>, (Complaint, &'a mut Console)> {
        let create = |path| CertificateFile::create(path, &settings.files);
        let certificates = settings.certificate.as_deref().map(create).transpose();
        let findings = settings.save.as_deref().map(Findings::create).transpose();
        match (certificates, findings) {
            (Ok(certificates), Ok(findings)) => {
                let results = Results::new(settings.show, console);
                Ok(Run { settings, results, certificates, findings, to_draw: Vec::new() })
            }
            (Err(complaint), _) | (_, Err(complaint)) => Err((complaint, console)),
        }
    }

    fn everything(mut self) -> Exit {
        self.each(&self.settings.files, self.settings.limits);
        if self.settings.show == Show::Svg {
            let pictures: Vec<Picture<'_>> = self.to_draw.iter().map(Picture::from).collect();
            self.results.console.result(&svg::counterexamples(&pictures));
        }
        if let Some(complaint) = self.certificates.take().and_then(CertificateFile::finish) {
            self.results.complain(&complaint);
        }
        if let Some(findings) = &self.findings {
            findings.tell(self.results.console, self.settings.show);
        }
        self.exit()
    }

    fn tell(&mut self, report: &Report<'_>, statistics: Option<RunStatistics>) {
        let results = &mut self.results;
        match results.show {
            Show::Human => {
                let statistics = statistics.map(|run| run.human(report.levels)).unwrap_or_default();
                results.say(&format!("{}{statistics}", report.human(results.console.palette)));
            }
            Show::Json => {
                let object = report.json(statistics);
                results.object(&object.unwrap_or_else(|error| json!({ "error": error.to_string() }).to_string()));
            }
            Show::Dot => report.counterexamples.iter().for_each(|found| {
                results.console.result(&dot::counterexample(Picture::from(found)));
            }),
            Show::Svg => self.to_draw.extend(report.counterexamples.iter().cloned()),
        }
    }

    /// The levels that were asked for and can be asked; the others are complained about.
    fn levels_to_ask(&mut self, name: &str, history: &History) -> Vec<IsolationLevel> {
        let mut possible = Vec::new();
        for level in self.settings.levels_for(history) {
            match skew_check::cannot_ask(history, level) {
                None => possible.push(level),
                Some(why) => {
                    self.results.complain(&Complaint::new(name, format!("{level} cannot be checked: {why}"), ""));
                }
            }
        }
        possible
    }

    fn check(&self, history: &History, levels: &[IsolationLevel], watch: &RefCell<Stopwatch>) -> Checked {
        let tell = |progress: skew_check::Progress| {
            watch.borrow_mut().enter(progress.phase.name());
            self.results.progress.tell(progress);
        };
        let budget = Budget { steps: self.settings.budget, stop: Some(clock::stop_flag()), progress: Some(&tell) };
        Checked::new(history, levels, self.settings.options, budget, self.explains())
    }

    /// Whether anybody would see or keep a counterexample.
    fn explains(&self) -> bool {
        let shown = self.settings.show != Show::Human || !self.results.console.is_quiet();
        self.settings.explain && (shown || self.findings.is_some())
    }

    /// Writes certificates and counterexamples, where that was asked for.
    fn keep(&mut self, subject: &Subject, history: &History, checked: &Checked) {
        let mut complaints = Vec::new();
        if let Some(certificates) = &mut self.certificates {
            complaints
                .extend(checked.levels.iter().filter_map(|report| certificates.write(subject, report, history).err()));
        }
        if let Some(findings) = &mut self.findings {
            let replay = |level| self.settings.replay(&subject.name, level);
            let save = |found: &Counterexample| findings.save(subject, found, replay(found.level)).err();
            complaints.extend(checked.counterexamples.iter().filter_map(save));
        }
        for complaint in complaints {
            self.results.complain(&complaint);
        }
    }
}

/// The input that verdicts are about.
struct Subject {
    name: String,
    format: Format,
    /// Empty when nobody asked for it: hashing takes time.
    sha256: String,
}
