//! The command `skew`: checks recorded histories against isolation levels and explains what it finds.
//!
//! ```text
//!   arguments ── clap ──> command/<name>   one file (or folder) per command: arguments, checked settings, run
//!                            │
//!                            ├── input     files, folders, archives and standard input become histories
//!                            ├── output        files that are written: never over an input, never half of one
//!                            ├── clock     time limits, Ctrl-C, stopwatch, progress line
//!                            └── console   standard output and error, colours, closed pipes
//!                                  │
//!                                  └──> exit   0 holds · 1 found · 2 bad input · 3 inconclusive
//! ```
//!
//! This crate alone knows clap, files, exit codes, colours, clocks and signals. What a history means is `skew-check`'s business, what
//! it looks like `skew-view`'s.

mod clock;
mod command;
mod console;
mod exit;
mod input;
mod output;

use clap::Parser;
use command::Command;
use console::{Colour, Console};
use std::process::ExitCode;

/// Threads of `skew serve` free each other's memory all the time, and wait for nobody when they do.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Finds, explains and replays the bugs that weak transaction isolation lets into applications.
#[derive(Parser)]
#[command(
    name = "skew",
    version,
    after_help = "Example (two clients update the same version; one update is lost):\n  \
                  printf 'a: r(x,init) w(x,1); b: r(x,init) w(x,2)' | skew check -"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Say nothing but what goes wrong; the exit code tells the rest
    #[arg(short, long, global = true, display_order = 100)]
    quiet: bool,
    /// Colour the output: auto is on a terminal only, and never when NO_COLOR is set
    #[arg(long, value_enum, default_value_t = Colour::Auto, global = true, value_name = "WHEN", display_order = 100)]
    color: Colour,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut console = Console::new(arguments.color, arguments.quiet);
    clock::stop_on_interrupt(skew_campaign::family::kill_all);
    let exit = arguments.command.run(&mut console);
    console.finish(exit).into()
}
