//! What the arguments of `skew check` mean.

use super::Arguments;
use crate::command::Show;
use crate::input::Limits;
use skew_campaign::each_once;
use skew_campaign::replay_line::quote;
use skew_check::Options;
use skew_history::format::Format;
use skew_history::{History, IsolationLevel};
use std::path::PathBuf;
use std::time::Duration;

/// The arguments, checked and completed.
pub(super) struct Settings {
    pub(super) files: Vec<PathBuf>,
    /// The levels asked for, each once; none means the usual ones.
    levels: Vec<IsolationLevel>,
    pub(super) show: Show,
    pub(super) from: Option<Format>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) verify: Option<PathBuf>,
    pub(super) save: Option<PathBuf>,
    pub(super) stats: bool,
    pub(super) budget: u64,
    pub(super) timeout: Option<Duration>,
    pub(super) options: Options,
    pub(super) explain: bool,
    pub(super) limits: Limits,
}

impl Settings {
    pub(super) fn new(arguments: Arguments) -> Settings {
        Settings {
            files: arguments.files,
            levels: each_once(arguments.level),
            show: arguments.format,
            from: arguments.from,
            certificate: arguments.certificate,
            verify: arguments.verify,
            save: arguments.save,
            stats: arguments.stats,
            budget: arguments.budget.unwrap_or(u64::MAX),
            timeout: arguments.timeout,
            options: Options { prune: !arguments.no_prune },
            explain: !arguments.no_explain,
            limits: arguments.limits,
        }
    }

    /// The levels to ask of this history.
    pub(super) fn levels_for(&self, history: &History) -> Vec<IsolationLevel> {
        if self.levels.is_empty() { skew_check::levels_to_ask(history) } else { self.levels.clone() }
    }

    /// The command that finds a violation again.
    pub(super) fn replay(&self, name: &str, level: IsolationLevel) -> String {
        let from = self.from.map_or(String::new(), |format| format!(" --from {}", format.name()));
        format!("skew check --level {level}{from} {}", quote(name))
    }
}
