//! What can be wrong with a program that is to be explored.

use skew_history::IsolationLevel;

/// Why a program cannot be explored, or not further.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExploreError {
    /// There is nothing to run.
    #[error("the program has no transaction to explore; give it a session that runs something")]
    NoTransactions,
    /// More than a set holds.
    #[error("the program has {count} transactions, and {limit} is the most that can be explored; run fewer of them")]
    TooManyTransactions {
        /// How many there are.
        count: usize,
        /// The most.
        limit: usize,
    },
    /// One transaction, run twice with the same answers, asked for different things.
    #[error(
        "transaction {transaction} is not deterministic: its event {event} was {recorded}, and with the same answers it is now \
         {asked}; what it does may depend only on what it reads"
    )]
    NotDeterministic {
        /// The transaction.
        transaction: String,
        /// Which event, from 1.
        event: usize,
        /// What it was.
        recorded: String,
        /// What it is now.
        asked: String,
    },
    /// A program that runs as a whole began a run with other rows.
    #[error(
        "the program is not deterministic: the row {key} was otherwise when another run began; what is set up may not depend on \
         clocks or chance"
    )]
    OtherInitial {
        /// The name of its key.
        key: String,
    },
    /// A program that runs as a whole did not run a transaction.
    #[error(
        "the program is not deterministic: transaction {transaction} was run before in the same circumstances, and does not come now; \
         what a session does may depend only on what it reads"
    )]
    Missing {
        /// The transaction.
        transaction: String,
    },
    /// How a history may have ended is too much.
    #[error("a history may have left more than {0} states; let fewer transactions write what none of them read")]
    TooManyFinalStates(usize),
    /// A transaction does not end.
    #[error(
        "transaction {transaction} has more than {limit} events; is there a loop without end? else raise the limit"
    )]
    TooManyEvents {
        /// The transaction.
        transaction: String,
        /// The limit.
        limit: usize,
    },
    /// A transaction cannot be run.
    #[error("transaction {transaction}: {message}")]
    Failed {
        /// The transaction.
        transaction: String,
        /// Why.
        message: String,
    },
    /// A subtree that this program does not have.
    #[error("this part of an exploration is of another program, or of other options; split the exploration anew")]
    ForeignSubtree,
    /// A run that was written down, and that the program does not have.
    #[error("this schedule is of another program, or of other options; the program does not run as it says")]
    ForeignSchedule,
    /// A level that says nothing about runs without a clock.
    #[error(
        "{0} cannot be explored: it speaks about real time; use one of the seven levels from read-committed to serializable"
    )]
    RealTime(IsolationLevel),
    /// One server has one engine, and none has a level of the papers.
    #[error(
        "{0} and {1} cannot be explored together: one server has the levels of one engine; give all transactions levels of one kind"
    )]
    MixedEngines(IsolationLevel, IsolationLevel),
    /// A program that runs only as a whole is not driven on a server.
    #[error("a command cannot be explored at {0} yet; use a level of the papers, such as read-committed or snapshot")]
    EngineCommand(IsolationLevel),
    /// Steps of sessions are chosen on servers only.
    #[error(
        "{0} is no level of an engine: whose turn it is decides nothing there; use one such as postgres:read-committed"
    )]
    NoEngineLevel(IsolationLevel),
    /// An order of transactions says nothing about a server.
    #[error("--algorithm dfs and --base are for the levels of the papers; at {0} every schedule is explored already")]
    EngineBaseline(IsolationLevel),
    /// psi has no rule for single transactions.
    #[error("{0} is at psi and others are not; psi has no rule for single transactions, use it for all or for none")]
    MixedParallelSnapshot(String),
}

impl ExploreError {
    /// A transaction asked for something else than before at one of its events, counted from 0.
    pub(crate) fn not_deterministic(transaction: String, event: usize, recorded: String, asked: &str) -> ExploreError {
        let asked = if recorded == asked { format!("{asked} with something else in it") } else { asked.to_owned() };
        ExploreError::NotDeterministic { transaction, event: event + 1, recorded, asked }
    }
}
