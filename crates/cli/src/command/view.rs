//! `skew view`: shows a counterexample that `--save` kept.

use super::Show;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::{Complaint, Location};
use skew_campaign::input::InputLimits;
use skew_view::{Finding, dot, human, svg};
use std::path::{Path, PathBuf};

/// Show a saved counterexample
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    printf 'a: r(x,init) w(x,1); b: r(x,init) w(x,2)' | skew check - --save findings\n  \
    skew view findings/1-lost-update.json")]
pub(crate) struct Arguments {
    /// A file that `--save` of check, play, explore or predict wrote; `-` is standard input
    file: PathBuf,
    /// How to show it
    #[arg(long, value_enum, default_value_t = Show::Human)]
    format: Show,
}

impl Arguments {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        let outcome = load(&self.file).map(|finding| show(&finding, self.format, console));
        console.conclude(outcome)
    }
}

fn load(file: &Path) -> Result<Finding, Complaint> {
    let name = file.to_string_lossy();
    if file.is_dir() {
        let advice = "name one of the files in it";
        return Err(Complaint::new(&name, "this is a folder, not a counterexample file".to_owned(), advice));
    }
    let bytes = Location::named(file).bytes(InputLimits::USUAL)?;
    Finding::from_json(&name, &bytes).map_err(|error| Complaint::of_file(&error))
}

fn show(finding: &Finding, format: Show, console: &mut Console) -> Exit {
    let picture = finding.picture();
    match format {
        Show::Human => {
            let found_in = format!("found in {} at {}", finding.found_in.file, finding.level);
            let text = human::counterexample(picture, console.palette);
            console.say(&format!("{text}\n  {}\n", skew_view::words::clean(&found_in)));
            if !finding.replay.is_empty() {
                console.say(&format!("  {}\n", skew_view::words::clean(&finding.replay)));
            }
        }
        Show::Json => match finding.to_json() {
            Ok(text) => console.result(&text),
            Err(error) => {
                let advice = "please report this: a history that was read can always be written";
                console.complain(&Complaint::new(&finding.found_in.file, error.to_string(), advice));
                return Exit::BadInput;
            }
        },
        Show::Dot => console.result(&dot::counterexample(picture)),
        Show::Svg => console.result(&svg::counterexamples(&[picture])),
    }
    Exit::Holds
}
