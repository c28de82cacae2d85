//! What a server promised by a level of its own, and whether the run shows that it kept it.
//!
//! ```text
//!   asked for postgres:repeatable-read: kept
//!   asked for mysql:repeatable-read: not kept
//!   asked for postgres:serializable: inconclusive: the budget ran out before there was an answer; raise --budget
//! ```
//!
//! The level is that of the engine, with real time: one server has one clock. Of several nodes that are to look like one server the same is
//! asked.

use super::DriveCampaign;
use crate::{Checked, Conclusion};
use serde_json::Value;
use skew_check::Budget;
use skew_history::{EngineLevel, History, IsolationLevel};
use skew_value::Dialect;
use skew_view::{Palette, Picture, human};

/// The level of a server's own that transactions get when they ask for this one; nothing where SQL has no name for it.
pub fn engine_level(dialect: Dialect, asked: IsolationLevel) -> Option<EngineLevel> {
    use IsolationLevel::{Engine, ReadCommitted, Serializable, Snapshot};
    match (asked, dialect) {
        (ReadCommitted, Dialect::Postgres) => Some(EngineLevel::PostgresReadCommitted),
        (ReadCommitted, Dialect::MySql) => Some(EngineLevel::MysqlReadCommitted),
        (Snapshot, Dialect::Postgres) => Some(EngineLevel::PostgresRepeatableRead),
        (Snapshot, Dialect::MySql) => Some(EngineLevel::MysqlRepeatableRead),
        (Serializable, Dialect::Postgres) => Some(EngineLevel::PostgresSerializable),
        (Serializable, Dialect::MySql) => Some(EngineLevel::MysqlSerializable),
        (Engine(level), _) => Some(level),
        _ => None,
    }
}

/// Whether a run is what its server promised.
pub struct LevelPromise {
    level: EngineLevel,
    checked: Checked,
    /// The verdict, for programs.
    json: Value,
}

impl DriveCampaign<'_> {
    /// The level of its own that the server is asked for and held to, if there is one.
    pub fn promised(&self) -> Option<EngineLevel> {
        self.settings.level.of_engine()
    }
}

impl LevelPromise {
    /// Holds a recorded run to a level.
    pub fn new(history: &History, level: EngineLevel, budget: Budget<'_>) -> LevelPromise {
        let options = skew_check::Options::default();
        let checked = Checked::new(history, &[IsolationLevel::Engine(level)], options, budget, true);
        let report = checked.report("", history).json(None).ok();
        let report = report.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let json = report.and_then(|report| report.pointer("/verdicts/0").cloned()).unwrap_or_default();
        LevelPromise { level, checked, json }
    }

    /// What it says about everything.
    pub fn conclusion(&self) -> Conclusion {
        self.checked.conclusion()
    }

    /// The line, and why, for people.
    pub fn human(&self, palette: Palette) -> String {
        let (Palette { good, bad, doubtful, end, .. }, level) = (palette, self.level);
        let kept = match self.conclusion() {
            Conclusion::Holds => format!("{good}kept{end}"),
            Conclusion::Found => format!("{bad}not kept{end}"),
            Conclusion::Inconclusive => {
                let why = self.checked.levels.iter().find_map(|report| report.verdict.doubt());
                format!("{doubtful}inconclusive{end}{}", why.map_or(String::new(), |why| format!(": {why}")))
            }
        };
        let mut text = format!("  asked for {level}: {kept}\n");
        for found in &self.checked.counterexamples {
            text.push('\n');
            text.push_str(&human::counterexample(Picture::from(found), palette));
        }
        text
    }

    /// The verdict, for programs.
    pub fn json(&self) -> &Value {
        &self.json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_held_to_its_own_level_of_that_name() {
        let levels = [IsolationLevel::ReadCommitted, IsolationLevel::Snapshot, IsolationLevel::Serializable];
        for (dialect, engine) in [(Dialect::Postgres, "postgres"), (Dialect::MySql, "mysql")] {
            let own = levels.map(|level| engine_level(dialect, level).map(EngineLevel::name).unwrap_or_default());
            assert_eq!(
                own,
                ["read-committed", "repeatable-read", "serializable"].map(|name| format!("{engine}:{name}"))
            );
        }
        assert_eq!(engine_level(Dialect::Postgres, IsolationLevel::Causal), None);
    }
}
