//! Another solver, as a program that is installed: `z3` reads a question in SMT-LIB and prints `sat` or `unsat`.
//!
//! ```text
//!   question ── nameless file ── z3 -in ── nameless file ── sat | unsat
//!                                 └── too slow, or Ctrl-C: ended
//! ```
//!
//! Whatever else it prints is no answer, and the reason why there is none.

use crate::command::{read_end, scratch_file};
use crate::family::{Family, FamilyEnd};
use crate::{Complaint, StopFlags};
use skew_analyze::anode::{OtherSolver, SmtAnswer};
use std::io::{Seek, SeekFrom, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long it may take to say what it is.
const FIRST_WORD: Duration = Duration::from_secs(10);

/// So many megabytes it may use for one question.
const MOST_MEMORY: &str = "-memory:4096";

/// So much of what it prints is shown.
const MOST_SHOWN: usize = 200;

/// A solver that is installed.
#[derive(Clone, Debug)]
pub struct InstalledSolver {
    /// The program: a name to be found, or a path.
    program: String,
    /// Its name and version.
    name: String,
    /// How long it may take for one question.
    limit: Duration,
    stop: StopFlags<'static>,
}

/// How a program ended, and what it printed.
struct Printed {
    end: FamilyEnd,
    text: String,
}

impl InstalledSolver {
    /// Asks a program whether it is z3.
    pub fn find(program: &str, limit: Duration, stop: StopFlags<'static>) -> Result<InstalledSolver, Complaint> {
        let advice = "install z3 (Debian and Ubuntu: apt install z3; macOS: brew install z3), or name the program: --solver /path/to/z3";
        let complaint = |what: String| Complaint::new(&format!("--solver {program}"), what, advice);
        let mut solver = InstalledSolver { program: program.to_owned(), name: String::new(), limit: FIRST_WORD, stop };
        let printed = solver.run(&["--version"], "").map_err(complaint)?;
        let version = printed.text.lines().find_map(|line| line.strip_prefix("Z3 version ")).map(str::to_owned);
        let version = match (version, &printed.end) {
            (Some(version), FamilyEnd::Status(_)) => version,
            (_, end) => return Err(complaint(format!("is no z3: {}", told(end, &printed.text, FIRST_WORD)))),
        };
        let number = version.split([' ', '-']).next().unwrap_or_default();
        (solver.name, solver.limit) = (format!("z3 {number}"), limit);
        Ok(solver)
    }

    fn run(&self, words: &[&str], question: &str) -> Result<Printed, String> {
        let scratch = || scratch_file().map_err(|complaint| complaint.to_string());
        let (mut input, output) = (scratch()?, scratch()?);
        let rewound = input.write_all(question.as_bytes()).and_then(|()| input.seek(SeekFrom::Start(0)));
        rewound.map_err(|error| format!("the question cannot be written: {error}"))?;
        let clone = || output.try_clone().map_err(|error| error.to_string());
        let mut command = Command::new(&self.program);
        command.args(words).stdin(Stdio::from(input)).stdout(clone()?).stderr(clone()?);
        let started = Family::start(command, false, self.stop);
        let family = started.map_err(|error| format!("cannot be run: {error}"))?;
        let end = family.wait(Some(self.limit), || false).map_err(|error| format!("cannot be waited for: {error}"))?;
        let text = read_end(output).map_err(|complaint| complaint.to_string())?;
        Ok(Printed { end, text })
    }
}

impl OtherSolver for InstalledSolver {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(&self, question: &str) -> Result<SmtAnswer, String> {
        let printed = self.run(&["-in", "-smt2", MOST_MEMORY], question);
        let Printed { end, text } = printed.map_err(|reason| format!("{}: {reason}", self.name))?;
        let answer = match &end {
            FamilyEnd::Status(status) if status.success() && !text.contains("(error") => SmtAnswer::read(&text),
            FamilyEnd::TooLate => return Ok(SmtAnswer::Unknown),
            _ => None,
        };
        answer.ok_or_else(|| format!("{} gives no answer: {}", self.name, told(&end, &text, self.limit)))
    }
}

/// How it ended, and the beginning of what it printed.
fn told(end: &FamilyEnd, text: &str, limit: Duration) -> String {
    let how = match end {
        FamilyEnd::Status(status) => match status.code() {
            Some(code) => format!("exit code {code}"),
            None => status.to_string(),
        },
        FamilyEnd::TooLate => format!("it did not end within {} s", limit.as_secs_f64()),
        FamilyEnd::Interrupted | FamilyEnd::GivenUp => "it was interrupted".to_owned(),
    };
    let shown: String = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let visible = |letter: char| if letter.is_control() { '?' } else { letter };
    match shown.chars().take(MOST_SHOWN).map(visible).collect::<String>() {
        nothing if nothing.is_empty() => format!("{how}, and it printed nothing"),
        shown => format!("{how}, and it printed: {shown}"),
    }
}
