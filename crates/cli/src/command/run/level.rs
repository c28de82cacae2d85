//! The level that transactions ask for, as the arguments have it; `skew_campaign::driven` has the table of what is meant where.

use super::Arguments;
use crate::input::Complaint;
use skew_campaign::driven::{Destination, NamedLevel, engine_level};
use skew_history::IsolationLevel;
use skew_value::Dialect;
use skew_workload::Url;

/// The name of a level in one way for all ways to say it.
pub(super) fn written(text: &str) -> Option<String> {
    text.parse::<NamedLevel>().ok().map(|level| level.to_string())
}

impl Arguments {
    /// The level that transactions run at: on a server that has it, the server's own.
    pub(super) fn level(&self) -> IsolationLevel {
        let asked = self.named_level();
        let Some(dialect) = self.dialect() else { return asked };
        engine_level(dialect, asked).map_or(asked, IsolationLevel::Engine)
    }

    /// The level in the words of whoever asked for it, or what is usual.
    pub(super) fn named_level(&self) -> IsolationLevel {
        self.destination().meant(self.level)
    }

    /// A level that nothing here can run at.
    pub(super) fn refuse_level(&self) -> Result<(), Complaint> {
        self.destination().refuse(self.level)
    }

    fn destination(&self) -> Destination {
        let dialect = self.dialect();
        let is_galera = self.own.is_cluster() || self.servers.len() > 1 && dialect == Some(Dialect::MySql);
        Destination { dialect, is_galera }
    }

    fn dialect(&self) -> Option<Dialect> {
        let first = self.servers.first().and_then(|url| url.parse::<Url>().ok());
        first.map(|url| url.dialect).or_else(|| self.own.dialect())
    }

    /// Whether the exit code is about a level that --check asks for. On a server `levels` and `all` are a look around, and nobody has
    /// promised what is above the level that transactions asked for.
    pub(super) fn counts(&self, level: IsolationLevel) -> bool {
        let is_named = self.check.contains(&super::AskedLevels::Level(level));
        self.is_mock() || is_named || self.named_level().implies(level)
    }
}
