//! The levels as the fast algorithm and the growing history know them: one table, a row per level.
//!
//! A transaction has two nodes, its begin S and its commit C; they are one where the level does not tell them apart.
//! A dependency leaves a transaction at one node and reaches another at one of its, and the history is allowed when the dependencies
//! have no cycle. So a level is where each of them starts and ends:
//!
//! | level of… | so, wr into it | ww into it | rw out of it | a lock's wr into it |
//! |---|---|---|---|---|
//! | serializable (one node) | t → t | t → t | t → t | t → t |
//! | snapshot | C → S | C → S | S → C | C → S |
//! | prefix | C → S | C → C | S → C | C → C |
//! | read-committed, read-atomic, causal (one node) | t → t | t → t | none: forced edges instead | t → t |
//! | psi (one node) | t → t | t → t | watched: no way back from its end by the others | t → t |
//!
//! Why that is so is argued in the papers and the book; `spec` and `certify` know the levels by definitions of their own, on purpose.
//!
//! Every rw ends in a commit, that of a locking read starts in one, too, and every edge of a plain read into a transaction ends at its begin.
//!
//! A level that is added to [`IsolationLevel`] has no row yet, so that nothing compiles before it has one.

use skew_history::{Engine, EngineLevel, History, IsolationLevel};

/// One of the two nodes of a transaction, which may be one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TransactionNode {
    /// It takes its snapshot.
    Begin,
    /// Its writes become the latest.
    Commit,
}

/// What a transaction must have seen, for levels at which that does not depend on the commit order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sight {
    /// Whom its earlier reads read from; it grows from read to read.
    EarlierReads,
    /// Its session so far, and whom any of its reads read from.
    SessionAndReads,
    /// All that is causally before it.
    CausalPast,
}

impl Sight {
    /// All of them, the ones that cost least first.
    pub(crate) const ALL: [Sight; 3] = [Sight::EarlierReads, Sight::SessionAndReads, Sight::CausalPast];
}

/// What is asked of a plain read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reads {
    /// Who must have been seen was not overwritten by whom it read from: the order of versions is forced where that is so.
    Seen(Sight),
    /// It is of the latest version at this node: here the overwrites that it suffers start.
    LatestAt(TransactionNode),
}

/// What an overwrite (rw) is in the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Overwrites {
    /// An edge like all others.
    Edges,
    /// No edge: only no other dependencies may lead back from its end to its start.
    Watched,
}

/// Which levels may be mixed in one history: those of one company.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Company {
    /// The levels that the papers define by axioms of single reads.
    Axioms,
    /// The level is for all transactions or for none.
    Nobody,
}

/// What a transaction at some level is held to.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Rule {
    /// Whether its begin and its commit are two nodes.
    pub(crate) is_split: bool,
    /// What is asked of its plain reads.
    pub(crate) reads: Reads,
    /// What the overwrites are that its reads suffer.
    pub(crate) overwrites: Overwrites,
    /// Where "reads from" ends if the read locks. Where it is the commit, that read binds none of the plain ones.
    pub(crate) locking_read_ends: TransactionNode,
    /// Where "overwrites the version of another" ends.
    pub(crate) version_order_ends: TransactionNode,
    /// Whether no two concurrent ones may write a key, so that the order of versions matters where nobody reads them.
    pub(crate) writes_conflict: bool,
    /// Whether its commit may contradict what is there already; else who reads by the rule can always commit.
    pub(crate) may_be_refused: bool,
    /// Which other levels transactions of the same history may be at.
    company: Company,
}

impl Rule {
    /// What it must have seen, where that does not depend on the commit order.
    pub(crate) fn sight(&self) -> Option<Sight> {
        match self.reads {
            Reads::Seen(sight) => Some(sight),
            Reads::LatestAt(_) => None,
        }
    }

    /// Whether transactions may be at this level and others at another.
    pub(crate) fn mixes(&self) -> bool {
        self.company != Company::Nobody
    }

    /// Whether overwrites are watched instead of being edges.
    pub(crate) fn watches_overwrites(&self) -> bool {
        self.overwrites == Overwrites::Watched
    }
}

/// How a level holds the transactions of a history to rules.
#[derive(Debug)]
pub(crate) enum Holds {
    /// All to this one.
    All(Rule),
    /// All to the rule of this level; and who ended before another began is before it.
    InRealTime(IsolationLevel),
    /// Each to the rule of the level that it declares.
    AsDeclared,
    /// To what one server can show: no rule for begins and commits, but for every statement ([`crate::engine`]).
    OnServer(EngineLevel),
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct LevelRow {
    /// What the transactions are held to.
    pub(crate) holds: Holds,
    /// When several levels are asked, those with the smaller number come first: see [`asking_order`].
    turn: u8,
    /// A stronger level whose search is better guided: when it holds that is the answer, any other verdict is none. (psi by way of
    /// snapshot is seconds instead of minutes with 1,000 short sessions.)
    pub(crate) by_way_of: Option<IsolationLevel>,
}

/// One node, plain reads by what was seen, and nothing else.
const fn by_sight(sight: Sight) -> Rule {
    Rule {
        is_split: false,
        reads: Reads::Seen(sight),
        overwrites: Overwrites::Edges,
        locking_read_ends: TransactionNode::Commit,
        version_order_ends: TransactionNode::Commit,
        writes_conflict: false,
        may_be_refused: false,
        company: Company::Axioms,
    }
}

const READ_COMMITTED: Rule = by_sight(Sight::EarlierReads);
const READ_ATOMIC: Rule = by_sight(Sight::SessionAndReads);
const CAUSAL: Rule = by_sight(Sight::CausalPast);

const PREFIX: Rule = Rule {
    is_split: true,
    reads: Reads::LatestAt(TransactionNode::Begin),
    overwrites: Overwrites::Edges,
    locking_read_ends: TransactionNode::Commit,
    version_order_ends: TransactionNode::Commit,
    writes_conflict: false,
    may_be_refused: false,
    company: Company::Axioms,
};

const SNAPSHOT: Rule = Rule {
    is_split: true,
    reads: Reads::LatestAt(TransactionNode::Begin),
    overwrites: Overwrites::Edges,
    locking_read_ends: TransactionNode::Begin,
    version_order_ends: TransactionNode::Begin,
    writes_conflict: true,
    may_be_refused: true,
    company: Company::Axioms,
};

const PARALLEL_SNAPSHOT: Rule = Rule {
    is_split: false,
    reads: Reads::LatestAt(TransactionNode::Commit),
    overwrites: Overwrites::Watched,
    locking_read_ends: TransactionNode::Begin,
    version_order_ends: TransactionNode::Commit,
    writes_conflict: true,
    may_be_refused: true,
    company: Company::Nobody,
};

const SERIALIZABLE: Rule = Rule {
    is_split: false,
    reads: Reads::LatestAt(TransactionNode::Commit),
    overwrites: Overwrites::Edges,
    locking_read_ends: TransactionNode::Begin,
    version_order_ends: TransactionNode::Commit,
    writes_conflict: false,
    may_be_refused: true,
    company: Company::Axioms,
};

/// The row of a level.
pub(crate) const fn row(level: IsolationLevel) -> &'static LevelRow {
    macro_rules! on_server {
        ($level:ident) => {
            &LevelRow { holds: Holds::OnServer(EngineLevel::$level), turn: 10, by_way_of: None }
        };
    }
    use Holds::{All, AsDeclared, InRealTime};
    use IsolationLevel::*;
    match level {
        ReadCommitted => &LevelRow { holds: All(READ_COMMITTED), turn: 0, by_way_of: None },
        ReadAtomic => &LevelRow { holds: All(READ_ATOMIC), turn: 1, by_way_of: None },
        Causal => &LevelRow { holds: All(CAUSAL), turn: 6, by_way_of: None },
        Prefix => &LevelRow { holds: All(PREFIX), turn: 8, by_way_of: None },
        ParallelSnapshot => &LevelRow { holds: All(PARALLEL_SNAPSHOT), turn: 7, by_way_of: Some(Snapshot) },
        Snapshot => &LevelRow { holds: All(SNAPSHOT), turn: 5, by_way_of: None },
        Serializable => &LevelRow { holds: All(SERIALIZABLE), turn: 3, by_way_of: None },
        StrongSnapshot => &LevelRow { holds: InRealTime(Snapshot), turn: 4, by_way_of: None },
        StrictSerializable => &LevelRow { holds: InRealTime(Serializable), turn: 2, by_way_of: None },
        Declared => &LevelRow { holds: AsDeclared, turn: 9, by_way_of: None },
        Engine(EngineLevel::PostgresReadCommitted) => on_server!(PostgresReadCommitted),
        Engine(EngineLevel::PostgresRepeatableRead) => on_server!(PostgresRepeatableRead),
        Engine(EngineLevel::PostgresSerializable) => on_server!(PostgresSerializable),
        Engine(EngineLevel::MysqlReadCommitted) => on_server!(MysqlReadCommitted),
        Engine(EngineLevel::MysqlRepeatableRead) => on_server!(MysqlRepeatableRead),
        Engine(EngineLevel::MysqlSnapshotIsolation) => on_server!(MysqlSnapshotIsolation),
        Engine(EngineLevel::MysqlSerializable) => on_server!(MysqlSerializable),
    }
}

/// What a transaction is held to that runs at a level: one that says nothing about single transactions asks the most of it.
pub(crate) const fn rule(level: IsolationLevel) -> &'static Rule {
    match &row(level).holds {
        Holds::All(rule) => rule,
        Holds::InRealTime(level) => rule(*level),
        Holds::AsDeclared | Holds::OnServer(_) => &SERIALIZABLE,
    }
}

/// The levels, each once, in the order that asks least.
///
/// read-committed and read-atomic cost next to nothing and say whether it is worth going on; then the strongest, which settle most
/// when they hold. causal comes after snapshot, which settles it in histories that are well, and before psi and prefix, which it
/// settles in others.
pub(crate) fn asking_order(levels: &[IsolationLevel]) -> Vec<IsolationLevel> {
    let mut order: Vec<IsolationLevel> = IsolationLevel::all().filter(|level| levels.contains(level)).collect();
    order.sort_by_key(|&level| row(level).turn);
    order
}

/// The level of every transaction, where the question is what one server can show. One that does not declare a level of an engine while another
/// does has that one's: it is for others to refuse such a history.
pub(crate) fn on_server(history: &History, level: IsolationLevel) -> Option<Vec<EngineLevel>> {
    match row(level).holds {
        Holds::OnServer(level) => Some(vec![level; history.transaction_count()]),
        Holds::AsDeclared => {
            let declared = |transaction| history.declared_level(transaction).and_then(IsolationLevel::of_engine);
            let some = history.transactions().find_map(declared)?;
            Some(history.transactions().map(|transaction| declared(transaction).unwrap_or(some)).collect())
        }
        Holds::All(_) | Holds::InRealTime(_) => None,
    }
}

/// Whether one transaction of a history may run at one of these levels and another at the other.
pub fn may_be_mixed(one: IsolationLevel, other: IsolationLevel) -> bool {
    match (one.of_engine(), other.of_engine()) {
        (Some(one), Some(other)) => one.engine() == other.engine(),
        (None, None) => one == other || rule(one).mixes() && rule(one).company == rule(other).company,
        _ => false,
    }
}

/// The levels that are asked of a history when nobody says which: the three of the engine that it comes from; where it does not say, those of the
/// papers.
pub fn levels_to_ask(history: &History) -> Vec<IsolationLevel> {
    let engine = history.engine().and_then(|text| text.parse::<Engine>().ok());
    match engine {
        Some(engine) => engine.usual_levels().map(IsolationLevel::Engine).collect(),
        None => papers_levels_to_ask(history),
    }
}

/// The levels of the papers that can be asked of a history: those of transactions and, where there are times, the strong ones.
pub fn papers_levels_to_ask(history: &History) -> Vec<IsolationLevel> {
    let strong = IsolationLevel::strong().filter(|_| history.has_times());
    IsolationLevel::of_papers().chain(strong).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_take_turns() {
        use IsolationLevel::*;
        assert_eq!(asking_order(&[Causal, Serializable, ReadCommitted, Causal]), [ReadCommitted, Serializable, Causal]);
    }

    #[test]
    fn a_level_that_answers_for_another_implies_it() {
        for level in IsolationLevel::all() {
            assert!(row(level).by_way_of.is_none_or(|stronger| stronger.implies(level)), "{level}");
        }
    }

    #[test]
    fn one_node_is_reached_wherever_it_ends() {
        for level in IsolationLevel::of_papers() {
            let rule = rule(level);
            let at_begin = rule.reads == Reads::LatestAt(TransactionNode::Begin)
                || rule.version_order_ends == TransactionNode::Begin;
            assert!(rule.is_split || !at_begin, "{level} has no begin of its own");
        }
    }
}
