//! The line that shows a run again, made from the arguments that the command was given.
//!
//! ```text
//!   skew serve --level causal --budget 5000 --replay 3 -- pytest -q
//!              └── every flag that changes what a run does, or what is said about it, unless its value is the usual one
//! ```
//!
//! A command declares its flags to clap and says here only what is special: which flags its lines leave out, and why; the order where it
//! is not that of the declaration; values that are written otherwise than they were given, such as passwords. So a new flag comes back in
//! every line by itself. [`Given`] is a field of the arguments, the first one, because clap takes the values of the others away:
//!
//! ```text
//!   clap ── Given: every flag, its value in words, whether that is the usual one ── line() ── set, insist, without ── end()
//! ```

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use skew_campaign::Moment;
use skew_campaign::replay_line::{FlagKind, ReplayFlag, ReplayLine, quote};
use skew_chance::Distribution;
use skew_history::IsolationLevel;
use std::fmt::Display;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::time::Duration;

/// A command whose runs can be had again.
pub(super) trait Replayed: Args {
    /// How its lines begin.
    const COMMAND: &'static str;
    /// Flags that lines leave out, and why.
    const LEFT_OUT: &'static [(&'static str, &'static str)];
    /// The order of flags in a line; those that are not named come where [`REST`] stands, as they are declared.
    const ORDER: &'static [&'static str];
    /// Flags whose values are written otherwise than they were given, in a shell's words.
    const WRITTEN: &'static [(&'static str, Written)] = &[];
}

/// What stands in a line for a value; nothing if it is no value.
pub(super) type Written = fn(&str) -> Option<String>;

/// All flags without a place of their own.
pub(super) const REST: &str = "…";

pub(super) const ONE_RUN: &str = "there is one run, whatever else was made with it";
pub(super) const SHOWN: &str = "how a run is shown or kept is for whoever looks at it";

/// What a command was given, for lines that show its runs again.
pub(super) struct Given<A> {
    line: ReplayLine,
    of: PhantomData<fn() -> A>,
}

impl<A> Given<A> {
    /// A line with every flag that was given, as far as the command does not leave it out.
    pub(super) fn line(&self) -> ReplayLine {
        self.line.clone()
    }
}

/// It brings no flags of its own.
impl<A: Replayed> Args for Given<A> {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl<A: Replayed> FromArgMatches for Given<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Given<A>, Error> {
        // What is required is missing there; all that matters are the defaults.
        let command = A::augment_args(Command::new("skew").no_binary_name(true).ignore_errors(true));
        let usual = command.clone().try_get_matches_from(None::<&str>)?;
        let is_left_out = |argument: &&Arg| A::LEFT_OUT.iter().any(|(id, _)| *id == argument.get_id().as_str());
        let kept = command.get_arguments().filter(|argument| !is_left_out(argument));
        let mut flags: Vec<ReplayFlag> = kept.map(|argument| flag::<A>(argument, matches, &usual)).collect();
        let place = |id: &str| A::ORDER.iter().position(|known| *known == id);
        flags.sort_by_key(|flag| place(&flag.id).or_else(|| place(REST)));
        Ok(Given { line: ReplayLine::new(A::COMMAND, flags), of: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Given::from_arg_matches(matches)?;
        Ok(())
    }
}

fn flag<A: Replayed>(argument: &Arg, matches: &ArgMatches, usual: &ArgMatches) -> ReplayFlag {
    let values = values::<A>(argument, matches);
    let kind = match argument.get_long() {
        Some(long) if matches!(argument.get_action(), ArgAction::SetTrue) => FlagKind::Switch(format!("--{long}")),
        Some(long) => FlagKind::Valued(format!("--{long}")),
        None if argument.is_last_set() => FlagKind::Behind,
        None => FlagKind::Word,
    };
    let is_shown = !values.is_empty() && values != self::values::<A>(argument, usual);
    ReplayFlag { id: argument.get_id().as_str().to_owned(), kind, values, is_shown }
}

/// The values of a flag, as a shell wants them; several that are given as one are one.
fn values<A: Replayed>(argument: &Arg, matches: &ArgMatches) -> Vec<String> {
    let id = argument.get_id().as_str();
    let texts = texts(argument, matches);
    let written = A::WRITTEN.iter().find(|(known, _)| *known == id);
    let words: Vec<String> = match (written, argument.get_value_delimiter()) {
        (Some((_, written)), _) => texts.iter().filter_map(|text| written(text)).collect(),
        (None, None) => return texts.iter().map(|text| quote(text)).collect(),
        (None, Some(_)) => texts,
    };
    match argument.get_value_delimiter() {
        Some(delimiter) if !words.is_empty() => vec![quote(&words.join(&delimiter.to_string()))],
        _ => words,
    }
}

/// The values of a flag: one text for one value, whichever of its names was given; of the rest, what was given.
fn texts(argument: &Arg, matches: &ArgMatches) -> Vec<String> {
    let id = argument.get_id().as_str();
    let name_of = |given: &str| {
        let mut possible = argument.get_possible_values().into_iter();
        let found = possible.find(|value| value.matches(given, argument.is_ignore_case_set()));
        found.map_or_else(|| given.to_owned(), |value| value.get_name().to_owned())
    };
    let given = || matches.get_raw(id).into_iter().flatten().map(|given| name_of(&given.to_string_lossy())).collect();
    KNOWN.iter().find_map(|known| known(matches, id)).unwrap_or_else(given)
}

/// The texts of a flag's values, if they are of the type that it knows.
type Known = fn(&ArgMatches, &str) -> Option<Vec<String>>;

/// Types of values that can be given by several texts.
const KNOWN: [Known; 10] = [
    typed::<IsolationLevel>,
    typed::<Moment>,
    typed::<Distribution>,
    typed::<IpAddr>,
    typed::<u64>,
    typed::<u32>,
    typed::<u16>,
    typed::<usize>,
    typed::<f64>,
    times,
];

fn typed<T: Display + Clone + Send + Sync + 'static>(matches: &ArgMatches, id: &str) -> Option<Vec<String>> {
    let values = matches.try_get_many::<T>(id).ok()?;
    Some(values.into_iter().flatten().map(T::to_string).collect())
}

fn times(matches: &ArgMatches, id: &str) -> Option<Vec<String>> {
    let values = matches.try_get_many::<Duration>(id).ok()?;
    Some(values.into_iter().flatten().map(|time| format!("{}ms", time.as_secs_f64() * 1000.0)).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{explore, play, run, serve};
    use super::*;

    /// A command with which lines are tried.
    struct Tried {
        name: &'static str,
        command: fn() -> Command,
        /// What every line of it needs, in front of the flag that is tried and behind it.
        before: &'static [&'static str],
        after: &'static [&'static str],
        replay: fn(&ArgMatches) -> String,
        left_out: &'static [(&'static str, &'static str)],
        /// Flags that cannot be given with these.
        elsewhere: &'static [&'static str],
    }

    fn clap_of<A: Args>() -> Command {
        A::augment_args(Command::new("skew").no_binary_name(true))
    }

    fn of<A: FromArgMatches>(matches: &ArgMatches) -> A {
        A::from_arg_matches(matches).unwrap()
    }

    fn replay_of_play(matches: &ArgMatches, seed: u64) -> String {
        let arguments = of::<play::Arguments>(matches);
        arguments.replay_at(arguments.level.first().copied().unwrap_or(IsolationLevel::Causal), seed)
    }

    const PLAY: Tried = Tried {
        name: "play",
        command: clap_of::<play::Arguments>,
        before: &["program.sql"],
        after: &[],
        replay: |matches| replay_of_play(matches, 7),
        left_out: play::Arguments::LEFT_OUT,
        elsewhere: &[],
    };

    const SERVE: Tried = Tried {
        name: "serve",
        command: clap_of::<serve::Arguments>,
        before: &[],
        after: &["--", "true"],
        replay: |matches| of::<serve::Arguments>(matches).replay_command(7, true),
        left_out: serve::Arguments::LEFT_OUT,
        elsewhere: &[],
    };

    const RUN: Tried = Tried {
        name: "run",
        command: clap_of::<run::Arguments>,
        before: &["registers"],
        after: &[],
        replay: |matches| of::<run::Arguments>(matches).replay(7),
        left_out: run::Arguments::LEFT_OUT,
        elsewhere: &[],
    };

    const EXPLORE: Tried = Tried {
        name: "explore",
        command: clap_of::<explore::Arguments>,
        before: &["program.sql"],
        after: &[],
        replay: |matches| of::<explore::Arguments>(matches).replay_line("causal", &["a[1]".to_owned()], "1:0"),
        left_out: explore::Arguments::LEFT_OUT,
        elsewhere: &["init", "stall", "command"],
    };

    const EXPLORE_COMMAND: Tried = Tried {
        name: "explore a command",
        command: clap_of::<explore::Arguments>,
        before: &[],
        after: &["--", "true"],
        replay: |matches| of::<explore::Arguments>(matches).replay_line("causal", &[], "1:0"),
        left_out: explore::Arguments::LEFT_OUT,
        elsewhere: &["file", "granularity", "without", "max_steps"],
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
            "strategy" => ("exact-strict", &["--predict"]),
            "replays" | "stones" => ("17", &["--predict"]),
            _ => ("17", &[]),
        }
    }

    fn line_with(tried: &Tried, argument: &Arg) -> String {
        let id = argument.get_id().as_str();
        let (value, others) = sample(id);
        // Of run the patience is for every schedule.
        let others = if tried.name == "run" && id == "patience" { &[] } else { others };
        let mut words: Vec<String> = tried.before.iter().chain(others).map(|word| (*word).to_owned()).collect();
        if let Some(long) = argument.get_long() {
            words.push(format!("--{long}"));
            words.extend(argument.get_action().takes_values().then(|| value.to_owned()));
        }
        words.extend(tried.after.iter().map(|word| (*word).to_owned()));
        let matches = (tried.command)().try_get_matches_from(&words);
        (tried.replay)(&matches.unwrap_or_else(|error| panic!("{words:?}: {error}")))
    }

    #[test]
    fn every_flag_comes_back_in_the_line_of_a_replay_or_is_listed_with_a_reason() {
        for tried in [PLAY, SERVE, RUN, EXPLORE, EXPLORE_COMMAND] {
            let command = (tried.command)();
            let known: Vec<&str> = command.get_arguments().map(|argument| argument.get_id().as_str()).collect();
            for (left_out, _) in tried.left_out {
                assert!(known.contains(left_out), "{} has no flag {left_out}", tried.name);
            }
            let left_out: Vec<&str> =
                tried.left_out.iter().map(|it| it.0).chain(tried.elsewhere.iter().copied()).collect();
            let is_left_out = |argument: &&Arg| left_out.contains(&argument.get_id().as_str());
            for argument in command.get_arguments().filter(|argument| !is_left_out(argument)) {
                let line = line_with(&tried, argument);
                let id = argument.get_id().as_str();
                let wanted = match argument.get_long() {
                    Some(long) => format!(" --{long} "),
                    None => format!(" {} ", tried.before.first().or(tried.after.last()).copied().unwrap_or("")),
                };
                assert!(format!("{line} ").contains(&wanted), "{}: {id} is forgotten in `{line}`", tried.name);
            }
        }
    }

    #[test]
    fn what_was_given_is_told_by_one_text_and_the_usual_not_at_all() {
        let line = |words: &str| {
            let matches = clap_of::<play::Arguments>().try_get_matches_from(words.split(' ')).unwrap();
            replay_of_play(&matches, 3)
        };
        assert_eq!(
            line("a.sql --level rc --budget 1000000 --updates atomic --runs 9"),
            line("a.sql --level read-committed")
        );
        let all = "a.sql --against si --max-steps 07 --schedule serial --clock 2026-01-31T13:00:00+01 --save here";
        let clock = "--clock 2026-01-31T12:00:00Z";
        let expected = format!(
            "skew play a.sql --level causal {clock} --schedule serial --max-steps 7 --against snapshot --seed 3 --runs 1"
        );
        assert_eq!(line(all), expected);
    }

    #[test]
    fn a_password_is_never_part_of_a_line() {
        let words = ["--clock", "2026-01-31T12:00:00Z", "--password", "secret", "--", "true"];
        let matches = clap_of::<serve::Arguments>().try_get_matches_from(words).unwrap();
        let line = of::<serve::Arguments>(&matches).replay_command(3, true);
        assert_eq!(line, "skew serve --password \"$SKEW_PASSWORD\" --clock 2026-01-31T12:00:00Z --replay 3 -- true");
    }
}
