//! `skew analyze`: what could go wrong, from SQL alone. What is asked and told is in `skew_campaign::analyzed`.

use super::program::{GranularityArgument, UpdatesArgument, bytes_of, text_of};
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::{self, Complaint};
use crate::output::{unwritable, write_whole};
use skew_analyze::UnfoldOptions;
use skew_campaign::analyzed::{AnalyzeSettings, Analyzed, AnalyzedFile, AnalyzedText, Baseline};
use skew_campaign::each_once;
use skew_campaign::solver::InstalledSolver;
use skew_history::level::{IsolationLevel, spellings};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// Find what can go wrong between transactions, from their SQL alone, and the level that each one needs
#[derive(clap::Args)]
#[command(after_help = "Example (two people take money out of one account):\n  \
    skew analyze examples/withdraw.sql\n  \
    skew analyze schema.sql queries/ --level postgres:read-committed --format sarif\n\n\
    Exit codes: 0 robust or nothing certain found, 1 an anomaly is confirmed, 2 bad usage or input, 3 unknown")]
pub(crate) struct Arguments {
    /// Schema and transactions: files and folders of .sql, put together; `-` is standard input
    #[arg(required_unless_present = "verify_fix", value_name = "FILE")]
    files: Vec<PathBuf>,
    #[arg(short, long, value_name = "LEVEL,…", value_delimiter = ',',
        help = format!("The levels to ask about: {} [default: PostgreSQL's]", spellings(AnalyzeSettings::possible_levels())))]
    level: Vec<IsolationLevel>,
    /// What transactions conflict about: whole rows, or each cell of them
    #[arg(long, value_enum, default_value_t = GranularityArgument::Cell)]
    granularity: GranularityArgument,
    /// Whether an UPDATE is one step, or a read and then a write
    #[arg(long, value_enum, default_value_t = UpdatesArgument::Atomic)]
    updates: UpdatesArgument,
    /// Take each key that is looked up for any value, even where the column that it stands in never changes
    #[arg(long, value_name = "WHAT", value_parser = ["independent-keys"])]
    assume: Option<String>,
    /// At the papers' levels: look for cycles of up to so many transactions
    #[arg(long, default_value_t = 4, value_name = "K", value_parser = clap::value_parser!(u8).range(2..=9))]
    up_to: u8,
    /// Ask about a level of your own as well: a file of constraints on who sees whom, and on one order of all
    #[arg(long, value_name = "FILE")]
    specification: Option<PathBuf>,
    /// Ask another solver as well, and say only what both say: `z3`, or the path of one
    #[arg(long, default_value = "built-in", value_name = "PROGRAM")]
    solver: String,
    /// How long the other solver may take for one question
    #[arg(long, default_value = "10s", value_parser = clock::parse_duration, value_name = "TIME")]
    solver_time: Duration,
    /// Let one session run several of the transactions, one after the other
    #[arg(long)]
    sessions: bool,
    /// What makes the exit code 1: an anomaly that a run has shown, or one that no run has shown yet, too
    #[arg(long, default_value = "confirmed", value_name = "STATUS", value_parser = ["confirmed", "potential"])]
    fail_on: String,
    /// Accept the findings in this file
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write the findings to this file, to be accepted later
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,
    /// Keep the programs that show findings in this folder, for `skew explore`
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Say what a change repairs: two files or folders, before and after
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with_all = ["files", "keep", "baseline", "write_baseline", "format"])]
    verify_fix: Vec<PathBuf>,
    /// Tell every finding with its whole statements, however many no run has confirmed
    #[arg(long)]
    all: bool,
    /// How to show the results
    #[arg(long, default_value = "human", value_name = "FORMAT", value_parser = ["human", "json", "markdown", "sarif"])]
    format: String,
}

impl Arguments {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        let outcome = match &self.verify_fix[..] {
            [before, after] => self.verify(before, after, console),
            _ => self.analyze(console),
        };
        console.conclude(outcome)
    }

    fn settings(&self) -> AnalyzeSettings {
        let options = UnfoldOptions {
            cells: self.granularity == GranularityArgument::Cell,
            atomic: self.updates == UpdatesArgument::Atomic,
            functional: self.assume.is_none(),
        };
        let levels = each_once(self.level.iter().copied());
        AnalyzeSettings::new(levels, options, self.sessions, self.fail_on == "potential").telling_all(self.all)
    }

    /// The answers about some files.
    fn ask(&self, files: &[PathBuf], baseline: &Baseline) -> Result<Analyzed, Complaint> {
        let name = self.specification.as_ref().map(|path| path.to_string_lossy()).unwrap_or_default();
        let own = self.specification.as_ref().map(|path| text_of(path, &name)).transpose()?;
        let settings = self.settings().looking_at(self.up_to, own.as_deref().map(|text| (&*name, text)))?;
        let settings = match self.solver.as_str() {
            "built-in" => settings,
            program => {
                let solver = InstalledSolver::find(program, self.solver_time, clock::flags())?;
                settings.with_solver(Rc::new(solver))
            }
        };
        Analyzed::new(AnalyzedText::of(&files_of(files)?)?, settings, baseline)
    }

    fn analyze(&self, console: &mut Console) -> Result<Exit, Complaint> {
        let read = |path: &PathBuf| {
            let name = path.to_string_lossy();
            Baseline::read(&name, &text_of(path, &name)?)
        };
        let mut analyzed = self.ask(&self.files, &self.baseline.as_ref().map_or(Ok(Baseline::default()), read)?)?;
        if let Some(folder) = &self.keep {
            fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
            analyzed.keep(|name, text| {
                let path = folder.join(name);
                write(&path, text).map(|()| path.to_string_lossy().into_owned())
            })?;
        }
        self.write_baseline.as_ref().map_or(Ok(()), |path| write(path, &analyzed.baseline()))?;
        match self.format.as_str() {
            "json" => console.result(&analyzed.json()),
            "markdown" => console.result(&analyzed.markdown()),
            "sarif" => console.result(&analyzed.sarif()),
            _ => console.say(&analyzed.human(console.palette)),
        }
        Ok(analyzed.conclusion().into())
    }

    /// `--verify-fix`.
    fn verify(&self, before: &Path, after: &Path, console: &mut Console) -> Result<Exit, Complaint> {
        let before = self.ask(&[before.to_owned()], &Baseline::default())?;
        let after = self.ask(&[after.to_owned()], &Baseline::default())?;
        let (text, conclusion) = after.compared_with(&before, console.palette);
        console.say(&text);
        Ok(conclusion.into())
    }
}

/// All files that are named, of folders those that end in .sql.
fn files_of(named: &[PathBuf]) -> Result<Vec<AnalyzedFile>, Complaint> {
    let mut files = Vec::new();
    for path in named {
        let (is_folder, before) = (path.is_dir(), files.len());
        let names = input::locate(path, "name a file, or a folder that holds .sql files")?;
        for name in names.iter().map(input::Location::name).filter(|name| !is_folder || name.ends_with(".sql")) {
            files.push(AnalyzedFile::new(&name, bytes_of(Path::new(&name), &name, AnalyzedFile::WORTH_READING)?)?);
        }
        if files.len() == before {
            let message = "the folder holds no .sql files".to_owned();
            return Err(Complaint::new(&path.to_string_lossy(), message, "name a file"));
        }
    }
    Ok(files)
}

fn write(path: &Path, text: &str) -> Result<(), Complaint> {
    write_whole(path, text).map_err(|error| unwritable(path, &error))
}
