//! What a history should look like, and which wishes contradict each other.

use crate::anomaly::InjectedAnomaly;
use skew_chance::{Distribution, Mix, Preset};
use skew_history::IsolationLevel;

/// What to generate. The default is the history of the speed benchmarks, with a thousand transactions.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameters {
    /// How many clients there are.
    pub sessions: u32,
    /// How many transactions in all; those of an anomaly and refused attempts come on top.
    pub transactions: u64,
    /// How many events each transaction has.
    pub events: u32,
    /// How many keys there are, `0` to before this; lists that are full and anomalies use keys from here on.
    pub keys: u64,
    /// The share of events that are reads, before read-modify-write adds its own.
    pub reads: f64,
    /// How often each key is used.
    pub distribution: Distribution,
    /// Every event of a transaction uses another key, apart from the two of a read-modify-write.
    pub distinct_keys: bool,
    /// The share of keys that are lists: their writes are appends.
    pub lists: f64,
    /// A list with this many elements is left alone from then on, and a new key takes its place.
    pub list_length: u32,
    /// The share of writes that read their key just before.
    pub read_modify_write: f64,
    /// No transaction writes a key that it read before.
    pub blind_writes: bool,
    /// The share of writes whose value is one of three that are written over and over.
    pub duplicates: f64,
    /// The share of transactions that abort; every other one by its own program.
    pub aborted: f64,
    /// The share of transactions whose client never learns the outcome; every other one committed.
    pub unknown: f64,
    /// Also record the attempts that the database refused for a conflict, as aborted transactions.
    pub refused: bool,
    /// The level of the database that makes the history.
    pub level: IsolationLevel,
    /// Let every transaction declare that level.
    pub declare_level: bool,
    /// Record when transactions begin and end, on a clock that counts steps.
    pub times: bool,
    /// How many copies the databases of psi, causal and read-atomic have; each session talks to one of them.
    pub sites: u32,
    /// How many transactions a copy may be behind, before it has to catch up.
    pub lag: u32,
    /// Something that should go wrong, once, after half of the transactions.
    pub anomaly: Option<InjectedAnomaly>,
    /// Where chance begins.
    pub seed: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters {
            sessions: 20,
            transactions: 1000,
            events: 8,
            keys: 1000,
            reads: 0.5,
            distribution: Distribution::Uniform,
            distinct_keys: true,
            lists: 0.0,
            list_length: 32,
            read_modify_write: 0.0,
            blind_writes: false,
            duplicates: 0.0,
            aborted: 0.0,
            unknown: 0.0,
            refused: false,
            level: IsolationLevel::Serializable,
            declare_level: false,
            times: false,
            sites: 4,
            lag: 32,
            anomaly: None,
            seed: 0,
        }
    }
}

impl Parameters {
    /// A mix of the literature, as PolySI's tables have it: 20 sessions × 100 transactions on a database at snapshot isolation.
    pub fn preset(preset: Preset) -> Parameters {
        let Mix { events, keys, reads, distribution, blind_writes } = preset.mix();
        Parameters {
            sessions: 20,
            transactions: 2000,
            events,
            keys,
            reads,
            distribution,
            distinct_keys: false,
            blind_writes,
            level: IsolationLevel::Snapshot,
            ..Parameters::default()
        }
    }

    /// The history of the speed benchmarks: eight events on distinct keys, half of them reads, as many keys as transactions, and
    /// 20 sessions, or 50 above 10,000 transactions. `Serializable` is its serial mode, `Snapshot` its concurrent one.
    pub fn speed(level: IsolationLevel, transactions: u64) -> Parameters {
        let sessions = if transactions > 10_000 { 50 } else { 20 };
        Parameters { sessions, transactions, keys: transactions.max(8), level, ..Parameters::default() }
    }
}

/// The database keeps every key in memory, and of a transaction every event.
const MOST_KEYS: u64 = 1 << 28;
const MOST_EVENTS: u64 = 1 << 22;

/// Wishes that cannot be fulfilled.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ParameterError {
    /// There would be nothing to generate.
    #[error("the number of {what} is 0; ask for at least 1")]
    Nothing {
        /// Of what.
        what: &'static str,
    },
    /// It would not fit into memory.
    #[error("the number of {what} is {count}; ask for at most {most}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// What was given.
        count: u64,
        /// The limit.
        most: u64,
    },
    /// A share is no share.
    #[error("the share of {what} is {share}; use a number from 0 to 1")]
    NotAShare {
        /// Of what.
        what: &'static str,
        /// What was given.
        share: f64,
    },
    /// Aborted and unknown together are more than all.
    #[error("the shares of aborted and unknown transactions add up to more than 1; lower one of them")]
    MoreThanAll,
    /// A transaction cannot have that many distinct keys.
    #[error("{events} events on distinct keys need more than {keys} keys; add keys, or allow keys to repeat")]
    TooFewKeys {
        /// Events per transaction.
        events: u32,
        /// Keys.
        keys: u64,
    },
    /// Too steep or too flat.
    #[error("theta is {0}; the zipfian distribution takes a number between 0 and 1, such as 0.99")]
    Theta(f64),
    /// Both wishes at once.
    #[error("blind writes and read-modify-writes exclude each other; drop one of them")]
    BlindReadModifyWrite,
    /// No database here works at this level.
    #[error(
        "no history can be generated at {0}; use one of the seven levels, with times for the strong ones, or one of an engine"
    )]
    Level(IsolationLevel),
    /// The servers here know nothing of it.
    #[error("at {level} there are no {what}; leave them out, or use a level of the papers")]
    NotOnServer {
        /// The level.
        level: IsolationLevel,
        /// What was wished for.
        what: &'static str,
    },
    /// The anomaly takes more clients than there are.
    #[error("{anomaly} takes {needed} sessions, and there are {sessions}; add sessions")]
    TooFewSessions {
        /// The anomaly.
        anomaly: InjectedAnomaly,
        /// How many it takes.
        needed: u32,
        /// How many there are.
        sessions: u32,
    },
    /// The anomaly is about the clock, and there is none.
    #[error("{0} can only be seen in a history with times; ask for times")]
    NeedsTimes(InjectedAnomaly),
    /// The output format has no place for something.
    #[error("the {format} format cannot hold {what}; use the native format, or leave them out")]
    FormatCannotHold {
        /// The format.
        format: &'static str,
        /// What it has no place for.
        what: &'static str,
    },
}

impl Parameters {
    /// Refuses what cannot be.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.validate_counts()?;
        self.validate_shares()?;
        if let Distribution::Zipfian { theta } = self.distribution
            && !(theta > 0.0 && theta < 1.0)
        {
            return Err(ParameterError::Theta(theta));
        }
        if self.blind_writes && self.read_modify_write > 0.0 {
            return Err(ParameterError::BlindReadModifyWrite);
        }
        if !self.level.is_of_papers() && self.level.of_engine().is_none() {
            return Err(ParameterError::Level(self.level));
        }
        self.validate_server()?;
        self.anomaly.map_or(Ok(()), |anomaly| self.validate_anomaly(anomaly))
    }

    fn validate_counts(&self) -> Result<(), ParameterError> {
        let counts = [
            ("sessions", u64::from(self.sessions)),
            ("transactions", self.transactions),
            ("events", u64::from(self.events)),
            ("keys", self.keys),
            ("sites", u64::from(self.sites)),
            ("elements of a list", u64::from(self.list_length)),
        ];
        if let Some(&(what, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(ParameterError::Nothing { what });
        }
        for (what, count, most) in
            [("keys", self.keys, MOST_KEYS), ("events of a transaction", u64::from(self.events), MOST_EVENTS)]
        {
            if count > most {
                return Err(ParameterError::TooMany { what, count, most });
            }
        }
        if self.distinct_keys && u64::from(self.events) > self.keys {
            return Err(ParameterError::TooFewKeys { events: self.events, keys: self.keys });
        }
        Ok(())
    }

    fn validate_shares(&self) -> Result<(), ParameterError> {
        let shares = [
            ("reads", self.reads),
            ("lists", self.lists),
            ("read-modify-writes", self.read_modify_write),
            ("duplicate values", self.duplicates),
            ("aborted transactions", self.aborted),
            ("unknown transactions", self.unknown),
        ];
        if let Some(&(what, share)) = shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Err(ParameterError::NotAShare { what, share });
        }
        if self.aborted + self.unknown > 1.0 { Err(ParameterError::MoreThanAll) } else { Ok(()) }
    }

    /// A server has rows and clients that learn what became of them.
    fn validate_server(&self) -> Result<(), ParameterError> {
        let wishes = [
            (self.lists > 0.0, "lists"),
            (self.blind_writes, "blind writes"),
            (self.unknown > 0.0, "unknown outcomes"),
            (self.anomaly.is_some(), "anomalies"),
        ];
        match wishes.iter().find(|(wished, _)| *wished && self.level.of_engine().is_some()) {
            Some(&(_, what)) => Err(ParameterError::NotOnServer { level: self.level, what }),
            None => Ok(()),
        }
    }

    fn validate_anomaly(&self, anomaly: InjectedAnomaly) -> Result<(), ParameterError> {
        let needed = anomaly.sessions();
        if needed > self.sessions {
            return Err(ParameterError::TooFewSessions { anomaly, needed, sessions: self.sessions });
        }
        if anomaly == InjectedAnomaly::RealTimeViolation && !self.times {
            return Err(ParameterError::NeedsTimes(anomaly));
        }
        Ok(())
    }

    /// The parameters in one line, for the header of the file.
    pub fn describe(&self) -> String {
        let anomaly = self.anomaly.map_or(String::new(), |anomaly| format!(", with {anomaly}"));
        format!(
            "generated at {}: {} sessions, {} transactions of {} events, {} {} keys, {} reads, seed {}{anomaly}",
            self.level,
            self.sessions,
            self.transactions,
            self.events,
            self.keys,
            self.distribution,
            self.reads,
            self.seed
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl Fn(&mut Parameters)) -> ParameterError {
        let mut parameters = Parameters::default();
        change(&mut parameters);
        parameters.validate().unwrap_err()
    }

    #[test]
    fn wishes_that_contradict_each_other_are_refused() {
        assert_eq!(refusal(|wish| wish.sessions = 0), ParameterError::Nothing { what: "sessions" });
        assert_eq!(refusal(|wish| wish.reads = 1.5), ParameterError::NotAShare { what: "reads", share: 1.5 });
        assert!(matches!(refusal(|wish| wish.aborted = f64::NAN), ParameterError::NotAShare { .. }));
        assert!(matches!(refusal(|wish| wish.keys = u64::MAX), ParameterError::TooMany { what: "keys", .. }));
        assert!(matches!(refusal(|wish| wish.events = u32::MAX), ParameterError::TooMany { .. }));
        assert_eq!(refusal(|wish| wish.keys = 7), ParameterError::TooFewKeys { events: 8, keys: 7 });
        assert_eq!(refusal(|wish| (wish.aborted, wish.unknown) = (0.7, 0.7)), ParameterError::MoreThanAll);
        let level = IsolationLevel::StrictSerializable;
        assert_eq!(refusal(|wish| wish.level = level), ParameterError::Level(level));
        assert_eq!(
            refusal(|wish| (wish.blind_writes, wish.read_modify_write) = (true, 0.5)),
            ParameterError::BlindReadModifyWrite
        );
        assert_eq!(
            refusal(|wish| wish.distribution = Distribution::Zipfian { theta: 1.0 }),
            ParameterError::Theta(1.0)
        );
    }

    #[test]
    fn an_anomaly_asks_for_what_it_takes() {
        let anomaly = Some(InjectedAnomaly::LongFork);
        let refused = refusal(|wish| (wish.anomaly, wish.sessions) = (anomaly, 3));
        assert_eq!(refused.to_string(), "long-fork takes 4 sessions, and there are 3; add sessions");
        let refused = refusal(|wish| wish.anomaly = Some(InjectedAnomaly::RealTimeViolation));
        assert_eq!(refused, ParameterError::NeedsTimes(InjectedAnomaly::RealTimeViolation));
    }

    #[test]
    fn every_preset_can_be_generated() {
        for preset in Preset::ALL {
            assert_eq!(Parameters::preset(preset).validate(), Ok(()));
        }
        assert_eq!(Parameters::speed(IsolationLevel::Snapshot, 10_001).sessions, 50);
    }
}
