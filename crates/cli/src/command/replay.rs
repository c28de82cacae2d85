//! The line that shows a run again.
//!
//! ```text
//!   skew serve --level causal --budget 5000 --replay 3 -- pytest -q
//!              └── every flag that changes what a run does, or what is said about it, if it was given
//! ```
//!
//! Each command fills such a line from its arguments. Which flags it may leave out stands below, with the reason; the test goes through all
//! flags that clap knows and insists that every other one comes back, so that a new flag cannot be forgotten.

use super::check::quote;
use super::program::UpdatesArgument;
use std::fmt::{Display, Write};
use std::path::Path;
use std::time::Duration;

/// A line that grows.
pub(super) struct ReplayLine(String);

impl ReplayLine {
    /// Begins with a command.
    pub(super) fn new(command: &str) -> ReplayLine {
        ReplayLine(command.to_owned())
    }

    /// A word that stands for itself, such as a file.
    pub(super) fn word(&mut self, word: &str) {
        let _ = write!(self.0, " {}", quote(word));
    }

    /// Words that are as a command line has them.
    pub(super) fn words(&mut self, words: impl IntoIterator<Item = String>) {
        words.into_iter().for_each(|words| {
            let _ = write!(self.0, " {words}");
        });
    }

    /// A flag without a value, if it was given.
    pub(super) fn flag(&mut self, name: &str, is_given: bool) {
        if is_given {
            let _ = write!(self.0, " {name}");
        }
    }

    /// A flag with its value.
    pub(super) fn value(&mut self, name: &str, value: impl Display) {
        let _ = write!(self.0, " {name} {}", quote(&value.to_string()));
    }

    /// A flag with its value, if it was given.
    pub(super) fn given(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.value(name, value);
        }
    }

    /// A flag with its value, unless that is the usual one.
    pub(super) fn unusual<T: Display + PartialEq>(&mut self, name: &str, value: T, usual: T) {
        if value != usual {
            self.value(name, value);
        }
    }

    /// `--updates`, unless updates are as usual.
    pub(super) fn updates(&mut self, updates: UpdatesArgument) {
        self.flag("--updates plain", updates == UpdatesArgument::Plain);
    }

    /// A flag with a file, if one was given.
    pub(super) fn file(&mut self, name: &str, path: Option<&Path>) {
        self.given(name, path.map(Path::to_string_lossy));
    }

    /// A flag with a time, if it was given.
    pub(super) fn time(&mut self, name: &str, time: Option<Duration>) {
        self.given(name, time.map(|time| format!("{}ms", time.as_secs_f64() * 1000.0)));
    }

    /// Ends with a command that is run.
    pub(super) fn behind(mut self, command: &[String]) -> String {
        self.0.push_str(" --");
        command.iter().for_each(|word| self.word(word));
        self.0
    }

    /// Ends here.
    pub(super) fn end(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::{explore, play, run, serve};
    use clap::{Arg, Args, FromArgMatches};

    /// A command whose runs can be had again.
    struct Replayed {
        name: &'static str,
        command: fn() -> clap::Command,
        /// What every line of it needs, in front of the flag that is tried and behind it.
        before: &'static [&'static str],
        after: &'static [&'static str],
        replay: fn(&clap::ArgMatches) -> String,
        /// Flags that lines leave out, and why.
        left_out: &'static [(&'static str, &'static str)],
    }

    fn clap_of<A: Args>() -> clap::Command {
        A::augment_args(clap::Command::new("skew").no_binary_name(true))
    }

    fn of<A: FromArgMatches>(matches: &clap::ArgMatches) -> A {
        A::from_arg_matches(matches).unwrap()
    }

    const ONE_RUN: &str = "there is one run, whatever else was made with it";
    const SHOWN: &str = "how a run is shown or kept is for whoever looks at it";

    const PLAY: Replayed = Replayed {
        name: "play",
        command: clap_of::<play::Arguments>,
        before: &["program.sql"],
        after: &[],
        replay: |matches| of::<play::Arguments>(matches).replay(7),
        left_out: &[
            ("stop_at_first", ONE_RUN),
            ("record", SHOWN),
            ("record_errors", SHOWN),
            ("save", SHOWN),
            ("format", SHOWN),
        ],
    };

    const SERVE: Replayed = Replayed {
        name: "serve",
        command: clap_of::<serve::Arguments>,
        before: &[],
        after: &["--", "true"],
        replay: |matches| of::<serve::Arguments>(matches).replay_command(7, true),
        left_out: &[
            ("http", "without a command there are no runs"),
            ("lock_wait", "only of --http"),
            ("idle", "only of --http"),
            ("seed", "the line has --replay"),
            ("runs", ONE_RUN),
            ("jobs", ONE_RUN),
            ("stop_at_first", ONE_RUN),
            ("record", SHOWN),
            ("record_errors", SHOWN),
            ("choices", SHOWN),
            ("verbose", SHOWN),
        ],
    };

    const RUN: Replayed = Replayed {
        name: "run",
        command: clap_of::<run::Arguments>,
        before: &["registers"],
        after: &[],
        replay: |matches| of::<run::Arguments>(matches).replay(7),
        left_out: &[
            ("list", "no run at all"),
            ("runs", ONE_RUN),
            ("jobs", ONE_RUN),
            ("timeout", "a run that it stopped is not told of"),
            ("record", SHOWN),
            ("record_errors", SHOWN),
            ("format", SHOWN),
        ],
    };

    const EXPLORE: Replayed = Replayed {
        name: "explore",
        command: clap_of::<explore::Arguments>,
        before: &["program.sql"],
        after: &[],
        replay: |matches| of::<explore::Arguments>(matches).replay_line("causal", &["a[1]".to_owned()], "1:0"),
        left_out: &[
            ("algorithm", "a run is found by its schedule, however it was found first"),
            ("stop_at_first", ONE_RUN),
            ("budget", ONE_RUN),
            ("timeout", ONE_RUN),
            ("jobs", ONE_RUN),
            ("resume", ONE_RUN),
            ("split", ONE_RUN),
            ("part", ONE_RUN),
            ("merge", ONE_RUN),
            ("list", SHOWN),
            ("wire", SHOWN),
            ("save", SHOWN),
            ("format", SHOWN),
            ("init", "only of commands"),
            ("stall", "only of commands"),
            ("command", "only of commands"),
        ],
    };

    const EXPLORE_COMMAND: Replayed = Replayed {
        name: "explore a command",
        command: clap_of::<explore::Arguments>,
        before: &[],
        after: &["--", "true"],
        replay: |matches| of::<explore::Arguments>(matches).replay_line("causal", &[], "1:0"),
        left_out: &[
            ("file", "only of programs"),
            ("algorithm", "only of programs"),
            ("granularity", "only of programs"),
            ("without", "only of programs"),
            ("max_steps", "only of programs"),
            ("resume", "only of programs"),
            ("split", "only of programs"),
            ("part", "only of programs"),
            ("merge", "only of programs"),
            ("wire", "only of programs"),
            ("stop_at_first", ONE_RUN),
            ("budget", ONE_RUN),
            ("timeout", ONE_RUN),
            ("jobs", ONE_RUN),
            ("list", SHOWN),
            ("save", SHOWN),
            ("format", SHOWN),
        ],
    };

    /// A value of a flag that is not the usual one, and what else has to be said with it.
    fn sample(id: &str) -> (&'static str, &'static [&'static str]) {
        match id {
            "level" | "against" | "check" | "base" => ("causal", &[]),
            "updates" => ("plain", &[]),
            "granularity" => ("cell", &[]),
            "chooser" => ("stalest", &[]),
            "schedule" => ("serial", &[]),
            "servers" => ("postgres://skew@127.0.0.1:1/skew", &[]),
            "prefix" => ("mine_", &["--db", "postgres://skew@127.0.0.1:1/skew"]),
            "drop" => ("", &["--db", "postgres://skew@127.0.0.1:1/skew"]),
            "up" => ("postgres", &[]),
            "nodes" => ("5", &["--up", "galera"]),
            "faults" => ("kill", &["--up", "postgres"]),
            "heal" | "stall" | "delay" | "timeout" => ("17s", &[]),
            "patience" => ("17s", &["--schedule", "serial"]),
            "preset" => ("blind-w", &[]),
            "reads" | "abort_rate" => ("0.25", &[]),
            "distribution" => ("zipfian", &[]),
            "listen" => ("::1", &[]),
            "password" => ("secret", &[]),
            "without" => ("alice[1]", &[]),
            "init" | "record" => ("a b.sql", &[]),
            "clock" => ("2026-01-31T12:00:00Z", &[]),
            _ => ("17", &[]),
        }
    }

    fn line_with(replayed: &Replayed, argument: &Arg) -> String {
        let id = argument.get_id().as_str();
        let (value, others) = sample(id);
        // Of run the patience is for every schedule.
        let others = if replayed.name == "run" && id == "patience" { &[] } else { others };
        let mut words: Vec<String> = replayed.before.iter().chain(others).map(|word| (*word).to_owned()).collect();
        if let Some(long) = argument.get_long() {
            words.push(format!("--{long}"));
            words.extend(argument.get_action().takes_values().then(|| value.to_owned()));
        }
        words.extend(replayed.after.iter().map(|word| (*word).to_owned()));
        let matches = (replayed.command)().try_get_matches_from(&words);
        (replayed.replay)(&matches.unwrap_or_else(|error| panic!("{words:?}: {error}")))
    }

    #[test]
    fn every_flag_comes_back_in_the_line_of_a_replay_or_is_listed_with_a_reason() {
        for replayed in [PLAY, SERVE, RUN, EXPLORE, EXPLORE_COMMAND] {
            let command = (replayed.command)();
            let known: Vec<&str> = command.get_arguments().map(|argument| argument.get_id().as_str()).collect();
            for (left_out, _) in replayed.left_out {
                assert!(known.contains(left_out), "{} has no flag {left_out}", replayed.name);
            }
            let is_left_out = |argument: &&Arg| replayed.left_out.iter().any(|it| it.0 == argument.get_id().as_str());
            for argument in command.get_arguments().filter(|argument| !is_left_out(argument)) {
                let line = line_with(&replayed, argument);
                let id = argument.get_id().as_str();
                let wanted = match argument.get_long() {
                    Some(long) => format!(" --{long} "),
                    None => format!(" {} ", replayed.before.first().or(replayed.after.last()).copied().unwrap_or("")),
                };
                assert!(format!("{line} ").contains(&wanted), "{}: {id} is forgotten in `{line}`", replayed.name);
            }
        }
    }

    #[test]
    fn a_password_is_never_part_of_a_line() {
        let words = ["--clock", "2026-01-31T12:00:00Z", "--password", "secret", "--", "true"];
        let matches = clap_of::<serve::Arguments>().try_get_matches_from(words).unwrap();
        let line = of::<serve::Arguments>(&matches).replay_command(3, true);
        assert_eq!(line, "skew serve --password \"$SKEW_PASSWORD\" --clock 2026-01-31T12:00:00Z --replay 3 -- true");
    }
}
