//! The commands, one module each.
//!
//! A command is a struct of raw arguments that clap fills, and a `run` that turns them into checked settings, does the work and
//! says how it ended. A new one is a module of its own and a line in each of the two lists below.

mod analyze;
mod check;
mod conformance;
mod convert;
mod each_input;
mod explore;
mod generate;
mod play;
mod predict;
mod program;
mod replay;
mod run;
mod serve;
mod up;
mod view;

use crate::console::Console;
use crate::exit::Exit;

/// What can be done.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Analyze(analyze::Arguments),
    Check(check::Arguments),
    Conformance(conformance::Arguments),
    Convert(convert::Arguments),
    Explore(explore::Arguments),
    Generate(generate::Arguments),
    Play(play::Arguments),
    Predict(predict::Arguments),
    Run(run::Arguments),
    Serve(serve::Arguments),
    Up(up::Arguments),
    View(view::Arguments),
}

impl Command {
    pub(crate) fn run(self, console: &mut Console) -> Exit {
        match self {
            Command::Analyze(arguments) => arguments.run(console),
            Command::Check(arguments) => arguments.run(console),
            Command::Conformance(arguments) => arguments.run(console),
            Command::Convert(arguments) => arguments.run(console),
            Command::Explore(arguments) => arguments.run(console),
            Command::Generate(arguments) => arguments.run(console),
            Command::Play(arguments) => arguments.run(console),
            Command::Predict(arguments) => arguments.run(console),
            Command::Run(arguments) => arguments.run(console),
            Command::Serve(arguments) => arguments.run(console),
            Command::Up(arguments) => arguments.run(console),
            Command::View(arguments) => arguments.run(console),
        }
    }
}

/// How findings are shown.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
pub(crate) enum Show {
    /// Text for people
    Human,
    /// JSON for programs
    Json,
    /// A graph for Graphviz
    Dot,
    /// A drawing for browsers
    Svg,
}
