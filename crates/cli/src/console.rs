//! Standard output and standard error.
//!
//! Results go to standard output, everything else to standard error. A reader that has seen enough (`skew check … | head`) closes
//! the pipe; that is no error: the rest is not written, and the exit code stays what was found.

use crate::exit::Exit;
use crate::input::Complaint;
use skew_campaign::RunProgress;
use skew_view::Palette;
use skew_view::words::clean;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Stdout, Write};

const COLOURFUL: Palette = Palette {
    heading: "\x1b[1m",
    good: "\x1b[32m",
    bad: "\x1b[1;31m",
    doubtful: "\x1b[33m",
    faint: "\x1b[2m",
    end: "\x1b[0m",
};

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Even into a file.
    Always,
    /// Nowhere.
    Never,
}

/// Where a command writes.
pub(crate) struct Console {
    out: BufWriter<Stdout>,
    /// The reader has gone: nothing more is written.
    closed: bool,
    failure: Option<io::Error>,
    quiet: bool,
    /// The colours of standard output.
    pub(crate) palette: Palette,
    /// The colours of standard error.
    error_palette: Palette,
}

impl Console {
    pub(crate) fn new(colour: Colour, quiet: bool) -> Console {
        let palette = |terminal: bool| match colour {
            Colour::Always => COLOURFUL,
            Colour::Auto if terminal && !colours_are_unwanted() => COLOURFUL,
            _ => Palette::PLAIN,
        };
        Console {
            out: BufWriter::with_capacity(1 << 16, io::stdout()),
            closed: false,
            failure: None,
            quiet,
            palette: palette(io::stdout().is_terminal()),
            error_palette: palette(io::stderr().is_terminal()),
        }
    }

    /// Writes a result for a machine to read, `-q` or not.
    pub(crate) fn result(&mut self, text: &str) {
        // The writer below keeps what goes wrong for the end.
        let _ = self.write_all(text.as_bytes());
    }

    /// Writes a result for people, unless they asked for quiet.
    pub(crate) fn say(&mut self, text: &str) {
        if !self.quiet {
            self.result(text);
        }
    }

    /// Whether people asked for quiet.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Says something beside the results, unless asked for quiet.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.write_error(&format!("skew: {}\n", clean(text)));
        }
    }

    /// Says what is wrong with an input, where, and what to do.
    pub(crate) fn complain(&mut self, complaint: &Complaint) {
        let text = told(complaint, self.error_palette);
        self.write_error(&text);
    }

    /// How a command ended; what was wrong with its input is said.
    pub(crate) fn conclude(&mut self, outcome: Result<Exit, Complaint>) -> Exit {
        outcome.unwrap_or_else(|complaint| {
            self.complain(&complaint);
            Exit::BadInput
        })
    }

    fn write_error(&mut self, text: &str) {
        // What is on the terminal stays in the order in which it was said.
        let _ = self.flush();
        // When even standard error is closed, nobody is left to tell.
        let _ = io::stderr().write_all(text.as_bytes());
    }

    /// Whether to draw a progress line.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Shows what goes on, in one line of a terminal that the next one replaces; the empty one erases it.
    pub(crate) fn progress(&mut self, text: &str) {
        if self.shows_progress() {
            let _ = io::stderr().write_all(format!("\r\x1b[K{}", clean(text)).as_bytes());
        }
    }

    /// Shows how far a campaign is.
    pub(crate) fn runs(&mut self, progress: RunProgress) {
        let RunProgress { done, runs, failed } = progress;
        self.progress(&format!("{done} of {runs} runs, {failed} failed"));
    }

    /// Writes what is still to be written; a full disk is bad news even when all levels hold.
    pub(crate) fn finish(&mut self, mut exit: Exit) -> Exit {
        let _ = self.flush();
        if let Some(failure) = self.failure.take() {
            self.complain(&Complaint::new("standard output", format!("cannot write it: {failure}"), "free some space"));
            exit.combine(Exit::BadInput);
        }
        exit
    }

    fn keep(&mut self, outcome: io::Result<()>) {
        match outcome {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.closed = true,
            Err(error) if self.failure.is_none() => {
                self.failure = Some(error);
                self.closed = true;
            }
            _ => {}
        }
    }
}

/// Never fails: a closed pipe swallows the rest, other failures are told by [`Console::finish`].
impl Write for Console {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.closed {
            let outcome = self.out.write_all(bytes);
            self.keep(outcome);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.closed {
            let outcome = self.out.flush();
            self.keep(outcome);
        }
        Ok(())
    }
}

/// Says what is wrong while the command goes on, whoever notices it: in the middle of a line of progress, if there is one.
pub(crate) fn complain_at_once(complaint: &Complaint) {
    let start = if io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
    let text = format!("{start}{}", told(complaint, Palette::PLAIN));
    // When even standard error is closed, nobody is left to tell.
    let _ = io::stderr().write_all(text.as_bytes());
}

fn told(complaint: &Complaint, palette: Palette) -> String {
    let Palette { bad, faint, end, .. } = palette;
    let mut text = format!("{bad}error{end}: {}\n", clean(&complaint.to_string()));
    if let Some(excerpt) = &complaint.excerpt {
        text.push_str(&format!("  {faint}{excerpt}{end}\n"));
    }
    if !complaint.advice.is_empty() {
        text.push_str(&format!("  {}\n", clean(&complaint.advice)));
    }
    text
}

/// See no-color.org: any value but the empty one.
fn colours_are_unwanted() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_some() || set("TERM").is_some_and(|terminal| terminal == "dumb")
}
