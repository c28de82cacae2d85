//! The isolation levels: their names, and which of them is stronger.
//!
//! ```text
//!   read-committed ── read-atomic ── causal ──┬── prefix ──┬── snapshot ── serializable
//!                                             └── psi ─────┘       │             │
//!                                                          strong-snapshot ── strict-serializable
//! ```
//!
//! Weak on the left. Strength is a partial order ([`IsolationLevel::implies`]), and no other order is to be had from the type: `psi` and
//! `prefix` are incomparable (a long fork is allowed by the first only, a lost update by the second only). Where levels are listed they
//! come in the order of the table below, which is also all that there is to change for a new name; those of the engines come last, with
//! names of their own ([`crate::engine`]). What each level means is `skew-check`'s business; it has a table of its own.

use crate::engine::EngineLevel;
use std::fmt;
use std::str::FromStr;

/// What a level speaks about, and so where it can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    /// Single transactions, as the papers define it.
    Papers,
    /// Whole histories with times.
    Strong,
    /// Whole histories whose transactions say at which level they are.
    Declared,
    /// Single transactions on one server of a kind.
    Engines,
}

/// What there is to know of a level here.
#[derive(Clone, Copy)]
struct LevelNames {
    /// On the command line and in files.
    name: &'static str,
    /// For those who type it often.
    abbreviation: Option<&'static str>,
    /// What else it is called.
    aliases: &'static [&'static str],
    /// The levels directly below: when this one holds, so do they.
    next_weaker: &'static [IsolationLevel],
    family: Family,
}

/// The levels in the order in which they are listed, each with its row: one list for the type, for all of its values and for the table.
macro_rules! levels {
    ($(#[doc = $meaning:literal] $level:ident { $($row:tt)* })*) => {
        /// A promise about what concurrent transactions may see of each other.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum IsolationLevel {
            $(#[doc = $meaning] $level,)*
            /// What one server of an engine can show.
            Engine(EngineLevel),
        }

        use IsolationLevel::*;

        impl IsolationLevel {
            /// All but those of the engines.
            const NAMED_HERE: &[IsolationLevel] = &[$($level,)*];

            const fn row(self) -> LevelNames {
                match self {
                    $($level => LevelNames { $($row)* },)*
                    Engine(level) => of_engine(level),
                }
            }
        }
    };
}

levels! {
    /// Reads see committed data, monotonically inside a transaction.
    ReadCommitted {
        name: "read-committed",
        abbreviation: Some("rc"),
        aliases: &[],
        next_weaker: &[],
        family: Family::Papers,
    }
    /// A transaction's writes are seen all or none.
    ReadAtomic {
        name: "read-atomic",
        abbreviation: Some("ra"),
        aliases: &[],
        next_weaker: &[ReadCommitted],
        family: Family::Papers,
    }
    /// Reads see the causal past.
    Causal {
        name: "causal",
        abbreviation: Some("cc"),
        aliases: &[],
        next_weaker: &[ReadAtomic],
        family: Family::Papers,
    }
    /// Reads see a prefix of the commit order.
    Prefix {
        name: "prefix",
        abbreviation: Some("pc"),
        aliases: &[],
        next_weaker: &[Causal],
        family: Family::Papers,
    }
    /// Causal, and no lost updates.
    ParallelSnapshot {
        name: "psi",
        abbreviation: None,
        aliases: &["parallel-snapshot"],
        next_weaker: &[Causal],
        family: Family::Papers,
    }
    /// One snapshot per transaction, and no two concurrent transactions write the same key.
    Snapshot {
        name: "snapshot",
        abbreviation: Some("si"),
        aliases: &[],
        next_weaker: &[Prefix, ParallelSnapshot],
        family: Family::Papers,
    }
    /// As if one after another.
    Serializable {
        name: "serializable",
        abbreviation: Some("ser"),
        aliases: &[],
        next_weaker: &[Snapshot],
        family: Family::Papers,
    }
    /// Snapshot that also respects real time.
    StrongSnapshot {
        name: "strong-snapshot",
        abbreviation: None,
        aliases: &["strong-si"],
        next_weaker: &[Snapshot],
        family: Family::Strong,
    }
    /// Serializable that also respects real time.
    StrictSerializable {
        name: "strict-serializable",
        abbreviation: Some("sser"),
        aliases: &[],
        next_weaker: &[Serializable, StrongSnapshot],
        family: Family::Strong,
    }
    /// Not a level of its own: each transaction at the level its line declares.
    Declared {
        name: "declared",
        abbreviation: None,
        aliases: &[],
        next_weaker: &[],
        family: Family::Declared,
    }
}

/// The row of a level of an engine, whose names are in [`crate::engine`].
const fn of_engine(level: EngineLevel) -> LevelNames {
    let next_weaker: &[IsolationLevel] = match level {
        EngineLevel::PostgresSerializable => &[Engine(EngineLevel::PostgresRepeatableRead)],
        EngineLevel::PostgresReadCommitted
        | EngineLevel::PostgresRepeatableRead
        | EngineLevel::MysqlReadCommitted
        | EngineLevel::MysqlRepeatableRead
        | EngineLevel::MysqlSnapshotIsolation
        | EngineLevel::MysqlSerializable => &[],
    };
    LevelNames {
        name: level.name(),
        abbreviation: Some(level.short()),
        aliases: &[],
        next_weaker,
        family: Family::Engines,
    }
}

impl IsolationLevel {
    /// All levels, in the order in which they are listed.
    pub fn all() -> impl DoubleEndedIterator<Item = IsolationLevel> + Clone {
        Self::NAMED_HERE.iter().copied().chain(EngineLevel::ALL.map(Engine))
    }

    /// The levels that a transaction can run at, those of the papers first.
    pub fn of_transactions() -> impl DoubleEndedIterator<Item = IsolationLevel> + Clone {
        Self::all().filter(|level| level.is_of_transactions())
    }

    /// Those of the papers among them: the ones that anomalies are named after.
    pub fn of_papers() -> impl DoubleEndedIterator<Item = IsolationLevel> + Clone {
        Self::all().filter(|level| level.is_of_papers())
    }

    /// The levels that respect real time and need a history with times.
    pub fn strong() -> impl DoubleEndedIterator<Item = IsolationLevel> + Clone {
        Self::all().filter(|level| level.is_strong())
    }

    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The shortest of its names.
    pub fn short(self) -> &'static str {
        self.names().min_by_key(|name| name.len()).unwrap_or(self.row().name)
    }

    fn names(self) -> impl Iterator<Item = &'static str> {
        let row = self.row();
        std::iter::once(row.name).chain(row.abbreviation).chain(row.aliases.iter().copied())
    }

    /// The levels directly below this one: when this one holds, so do they.
    pub fn next_weaker(self) -> &'static [IsolationLevel] {
        self.row().next_weaker
    }

    /// Whether every history that satisfies `self` satisfies `other`. Every level implies itself.
    pub fn implies(self, other: IsolationLevel) -> bool {
        self == other || self.next_weaker().iter().any(|weaker| weaker.implies(other))
    }

    /// Whether a transaction can run at the level; the others speak about whole histories.
    pub fn is_of_transactions(self) -> bool {
        match self.row().family {
            Family::Papers | Family::Engines => true,
            Family::Strong | Family::Declared => false,
        }
    }

    /// Whether it is a level of the papers that a transaction can run at.
    pub fn is_of_papers(self) -> bool {
        self.row().family == Family::Papers
    }

    /// The level of an engine, where it is one.
    pub fn of_engine(self) -> Option<EngineLevel> {
        match self {
            Engine(level) => Some(level),
            _ => None,
        }
    }

    /// Whether the level speaks about real time.
    pub fn is_strong(self) -> bool {
        match self.row().family {
            Family::Strong => true,
            Family::Papers | Family::Declared | Family::Engines => false,
        }
    }
}

/// Words in a row, as a sentence lists them: `rc, ra or cc`.
pub fn listed<'w>(words: impl IntoIterator<Item = &'w str>, last: &str) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.split_last() {
        Some((end, rest)) if !rest.is_empty() => format!("{} {last} {end}", rest.join(", ")),
        Some((only, _)) => (*only).to_owned(),
        None => String::new(),
    }
}

/// What may be written for one of these levels: `rc, ra or their long names`.
pub fn spellings(levels: impl Iterator<Item = IsolationLevel>) -> String {
    listed(levels.map(IsolationLevel::short).chain(["their long names"]), "or")
}

impl fmt::Display for IsolationLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// A level name that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not an isolation level; {hint}", hint = what_to_use(.0))]
pub struct UnknownLevel(pub String);

/// What a name that is none should have been: `use read-committed (rc), …`, all levels; of one that only an engine gives a meaning, which engines do.
fn what_to_use(wrong: &str) -> String {
    let name = |level: IsolationLevel| match level.row().abbreviation {
        Some(short) => format!("{level} ({short})"),
        None => level.name().to_owned(),
    };
    let of_engines: Vec<IsolationLevel> =
        EngineLevel::ALL.into_iter().filter(|level| level.is_called(wrong)).map(Engine).collect();
    if !of_engines.is_empty() {
        let names: Vec<String> = of_engines.into_iter().map(name).collect();
        return format!(
            "it means something else on each engine: use {}",
            listed(names.iter().map(String::as_str), "or")
        );
    }
    let names: Vec<String> = IsolationLevel::all().map(name).collect();
    format!("use {}", listed(names.iter().map(String::as_str), "or"))
}

impl FromStr for IsolationLevel {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        let found = Self::NAMED_HERE.iter().copied().find(|level| level.names().any(|name| name == text));
        found.or_else(|| text.parse().ok().map(Engine)).ok_or_else(|| UnknownLevel(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_aliases_read_back() {
        for level in IsolationLevel::all() {
            assert_eq!(level.name().parse(), Ok(level));
            assert_eq!(level.short().parse(), Ok(level));
        }
        assert_eq!("pg:rr".parse(), Ok(Engine(EngineLevel::PostgresRepeatableRead)));
        assert_eq!("mariadb:si".parse(), Ok(Engine(EngineLevel::MysqlSnapshotIsolation)));
        let both = "`repeatable-read` is not an isolation level; it means something else on each engine: use \
                    postgres:repeatable-read (pg:rr) or mysql:repeatable-read (mysql:rr)";
        assert_eq!("repeatable-read".parse::<IsolationLevel>().unwrap_err().to_string(), both);
    }

    #[test]
    fn no_two_levels_share_a_name() {
        let mut names: Vec<&str> = IsolationLevel::all().flat_map(IsolationLevel::names).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn psi_and_prefix_are_incomparable_and_below_snapshot() {
        assert!(!Prefix.implies(ParallelSnapshot) && !ParallelSnapshot.implies(Prefix));
        assert!(StrictSerializable.implies(ReadCommitted) && Snapshot.implies(ParallelSnapshot));
        assert!(!Serializable.implies(StrongSnapshot));
    }

    #[test]
    fn of_the_engines_only_postgres_serializable_implies_another() {
        for one in EngineLevel::ALL {
            for other in IsolationLevel::all() {
                let expected = Engine(one) == other
                    || one == EngineLevel::PostgresSerializable && other == Engine(EngineLevel::PostgresRepeatableRead);
                assert_eq!(Engine(one).implies(other), expected, "{one} and {other}");
            }
        }
    }

    #[test]
    fn strength_is_a_partial_order_and_lists_begin_with_the_weak() {
        for one in IsolationLevel::all() {
            for (place, other) in IsolationLevel::all().enumerate() {
                assert!(one == other || !(one.implies(other) && other.implies(one)), "{one} and {other}");
                let weaker = other.next_weaker().iter();
                let listed = weaker.map(|weaker| IsolationLevel::all().position(|level| level == *weaker));
                assert!(listed.flatten().all(|weaker| weaker < place), "{other}");
            }
        }
    }

    #[test]
    fn levels_are_listed_as_sentences_have_them() {
        let names = IsolationLevel::of_papers().map(IsolationLevel::name);
        let list = "read-committed, read-atomic, causal, prefix, psi, snapshot and serializable";
        assert_eq!(listed(names, "and"), list);
        let shorts = IsolationLevel::all().map(IsolationLevel::short);
        let all = "rc, ra, cc, pc, psi, si, ser, strong-si, sser, declared, pg:rc, pg:rr, pg:ser, mysql:rc, mysql:rr, mysql:si or mysql:ser";
        assert_eq!(listed(shorts, "or"), all);
        let refusal = "`x` is not an isolation level; use read-committed (rc), read-atomic (ra), causal (cc), prefix (pc), psi, \
                       snapshot (si), serializable (ser), strong-snapshot, strict-serializable (sser), declared, \
                       postgres:read-committed (pg:rc), postgres:repeatable-read (pg:rr), postgres:serializable (pg:ser), \
                       mysql:read-committed (mysql:rc), mysql:repeatable-read (mysql:rr), mysql:snapshot-isolation (mysql:si) or \
                       mysql:serializable (mysql:ser)";
        assert_eq!(UnknownLevel("x".to_owned()).to_string(), refusal);
    }
}
