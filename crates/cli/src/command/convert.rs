//! `skew convert`: the same history in another format.
//!
//! Formats hold different things: times, outcomes, names. What the new one cannot hold is told on standard error, a line per loss.

use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::{self, Complaint, Input, Limits};
use crate::output::{OutputFile, Stoppable, unwritable};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use skew_history::History;
use skew_history::format::{self, Format, WriteError};
use skew_view::dot;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a history in another format
#[derive(clap::Args)]
#[command(after_help = "Example:\n  printf 'a: w(x,1); b: r(x,1)' | skew convert - --to native")]
pub(crate) struct Arguments {
    /// The history; `-` is standard input
    input: PathBuf,
    /// Where to write; `-` is standard output
    #[arg(default_value = "-")]
    output: PathBuf,
    /// The format to write
    #[arg(long, value_name = "FORMAT", value_parser = Target::parser())]
    to: Target,
    #[arg(long, value_name = "FORMAT", help = input::from_help())]
    from: Option<Format>,
    #[command(flatten)]
    limits: Limits,
}

/// What can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    History(Format),
    /// A graph for Graphviz, which nothing reads back.
    Dot,
}

impl Target {
    /// Takes the name of a format that is written, or `dot`.
    fn parser() -> impl TypedValueParser<Value = Target> {
        let formats = Format::written().into_iter().map(|format| (format.name(), format.description()));
        let names = formats.chain([("dot", "A graph for Graphviz")]);
        let values = names.map(|(name, help)| PossibleValue::new(name).help(help));
        PossibleValuesParser::new(values).map(|name| name.parse().map_or(Target::Dot, Target::History))
    }
}

impl Arguments {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        let outcome = self.only_input().and_then(|input| input.into_history(self.from));
        let outcome = outcome.and_then(|(_, history)| self.write(&history, console));
        match outcome {
            Ok(losses) => {
                for loss in losses {
                    console.note(&loss);
                }
                Exit::Holds
            }
            Err(complaint) => {
                console.complain(&complaint);
                if clock::is_interrupted() { Exit::Inconclusive } else { Exit::BadInput }
            }
        }
    }

    fn only_input(&self) -> Result<Input, Complaint> {
        let name = self.input.to_string_lossy();
        let several = || Complaint::new(&name, "this holds several histories".to_owned(), "name one of them");
        let mut locations = input::locate(&self.input, input::HISTORIES)?;
        let location = locations.pop().filter(|_| locations.is_empty()).ok_or_else(several)?;
        let mut inputs = location.open(self.limits)?;
        inputs.pop().filter(|_| inputs.is_empty()).ok_or_else(several)
    }

    /// Writes the history; what was lost comes back.
    fn write(&self, history: &History, console: &mut Console) -> Result<Vec<String>, Complaint> {
        if self.output == Path::new("-") {
            clock::something_to_keep();
            return self.write_to(history, &mut Stoppable(console));
        }
        let complain = |error| unwritable(&self.output, &error);
        let mut out = OutputFile::create(&self.output).map_err(complain)?;
        let losses = self.write_to(history, &mut out)?;
        out.keep().map(|()| losses).map_err(complain)
    }

    fn write_to(&self, history: &History, out: &mut dyn Write) -> Result<Vec<String>, Complaint> {
        let written = match self.to {
            Target::History(format) => format::write(history, format, out),
            Target::Dot => dot::history(history, out).map(|()| Vec::new()).map_err(WriteError::Io),
        };
        written.map_err(|error| match error {
            WriteError::Io(error) => unwritable(&self.output, &error),
            error => Complaint::new(&self.output.to_string_lossy(), error.to_string(), error.advice()),
        })
    }
}
