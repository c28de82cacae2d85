//! The definitions as code: brute force, the oracle of every test.
//!
//! Everything else in this crate is fast and intricate; this module is slow and obvious, shares no line with the rest, and
//! reads like the papers. A history satisfies a level when somebody can *explain* it:
//!
//! ```text
//!   History ── for some reading ──────────> for some total order ──────────> every read obeys its axiom?   (axioms)
//!              who counts, who wrote        co ⊇ so ∪ wr ∪ list order   └──> no forbidden cycle?           (graphs)
//!              what was read
//! ```
//!
//! A worked example, a lost update: `r(x,init) w(x,1); r(x,init) w(x,2)`. There is one reading (both reads are from the initial
//! state t0) and two orders, `t0 t1 t2` and `t0 t2 t1`. At serializable, t2 must have seen what is before it. In the first
//! order that is t1, which wrote x, so t1 would have to be before t0, from which t2 read: it is not. The second fails the same way.
//!
//! | module | holds |
//! |---|---|
//! | `choices` | which transactions count, and every way to say who wrote what was read |
//! | `lists` | the same for keys that are appended to |
//! | `reading` | the history that such a choice leaves: `(T, so, wr)` |
//! | `relation` | sets of pairs of transactions, and all total orders that contain one |
//! | `axioms` | Biswas & Enea 2019, for every level but psi, uniform or mixed |
//! | `graphs` | Cerone & Gotsman 2018, for prefix, psi, snapshot and serializable |
//! | `engines` | the levels of the engines, which split transactions into moments |
//!
//! # Decisions where the definitions leave room
//!
//! - *Who makes an unknown outcome count.* Any reader that counts, also one that its own program aborted: its reads obey
//!   the level, so what it read was committed.
//! - *Ambiguous reads and unknown outcomes.* First the writers are chosen, then the least set of transactions that counts
//!   follows from the choice; the history satisfies the level when some choice does.
//! - *Aborted, intermediate, thin-air reads.* A read may come from the initial state or from the last write of a
//!   transaction that committed or may have; a read that no such version explains is impossible, and it does not matter
//!   here which of the three it is.
//! - *Claims.* A claimed writer is the only candidate, and has to be one. A read after an own write of the key is
//!   internal: only the transaction itself may be claimed. On lists a claim names the writer of the last element as
//!   returned, so after own appends it too is the transaction itself; the elements before are matched by value.
//! - *Registers and lists.* A key that somebody writes (whatever the outcome) is a register, and its values are compared
//!   whole. Any other key is a list when somebody appends to it, reads a list from it, or its initial value is a list.
//! - *Initial lists.* The absent value, and any initial value that is no list, is the empty list. Every list that is read
//!   begins with the initial list: reading an empty list where the initial one is not empty is impossible, as is reading
//!   a value that is neither a list nor absent.
//! - *Own appends.* What a transaction's own appends follow in its own read is an external read like any other; the whole
//!   list, own elements included, is not evidence about the version order, because the transaction may commit later than
//!   others it did not see.
//! - *Unread appends of a transaction that counts* follow the longest list that a transaction that counts read, whether
//!   its outcome is committed or unknown.
//! - *Real time* orders every transaction that counts, also those that their program aborted.
//! - *Declared levels.* Every transaction that counts needs one; psi only when all declare it; never a strong one. A
//!   reading that breaks this satisfies nothing.

mod axioms;
mod choices;
mod engines;
mod graphs;
mod lists;
mod reading;
mod relation;

use reading::{Reading, some_reading};
use skew_history::{EngineLevel, EventId, History, IsolationLevel, KeyId, StatementKind, TransactionId, Writer};

/// Decides by the definition itself: by axioms, and psi, which has none, by graphs.
///
/// Exponential: for at most about seven transactions, and never for more than 63.
pub fn satisfies(history: &History, level: IsolationLevel) -> bool {
    if let Some(levels) = crate::levels::on_server(history, level) {
        return allows_engine_levels(history, &levels, true);
    }
    let (level, real_time) = without_real_time(level);
    some_reading(history, real_time, &mut |reading| match levels(reading, level) {
        None => false,
        Some(levels) if levels.iter().all(|&level| level == IsolationLevel::ParallelSnapshot) => {
            graphs::satisfied(reading, IsolationLevel::ParallelSnapshot)
        }
        Some(levels) => axioms::satisfied(reading, &levels),
    })
}

/// Decides by dependency graphs, which know prefix, psi, snapshot, serializable and the strong levels.
///
/// Exponential: for at most about seven transactions, and never for more than 63.
///
/// # Panics
///
/// When asked for a level that is defined by axioms only.
pub fn satisfies_by_graphs(history: &History, level: IsolationLevel) -> bool {
    let (level, real_time) = without_real_time(level);
    some_reading(history, real_time, &mut |reading| graphs::satisfied(reading, level))
}

/// Decides whether one server can show a history, with every transaction at the same level of an engine.
///
/// Real time holds where there are times. Exponential, as the others are.
pub fn allows_engine(history: &History, level: EngineLevel) -> bool {
    allows_engine_levels(history, &vec![level; history.transaction_count()], true)
}

/// Decides whether one server can show a history, with every transaction at the level that stands at its number in `levels`.
///
/// # Panics
///
/// When there are fewer levels than transactions, or more.
pub fn allows_engine_levels(history: &History, levels: &[EngineLevel], real_time: bool) -> bool {
    engines::allows(history, levels, real_time, &[], Attention::Full)
}

/// The same of a server that notices only what it cannot miss: whether a PostgreSQL *might* show a history at serializable, depending on what
/// the history does not say, such as by which indexes rows were found. At the other levels nothing is left open.
///
/// # Panics
///
/// When there are fewer levels than transactions, or more.
pub fn might_allow_engine_levels(history: &History, levels: &[EngineLevel], real_time: bool) -> bool {
    engines::allows(history, levels, real_time, &[], Attention::Least)
}

/// How much PostgreSQL's serializable is taken to notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attention {
    /// Everything that its definition speaks of.
    Full,
    /// What it cannot miss.
    Least,
}

/// Decides whether a history came about on one server in these steps: each a moment of its transaction, in its own order. The writers of some reads
/// that several could explain are given, sorted by event.
pub(crate) fn came_about(
    history: &History,
    levels: &[EngineLevel],
    steps: &[TransactionId],
    given: &[(EventId, Writer)],
    attention: Attention,
) -> bool {
    engines::came_about(history, levels, steps, given, attention)
}

/// A schedule in which a history came about on one server, found by trying all lock orders; nothing when there is none.
///
/// Exponential, as the others are.
pub(crate) fn some_schedule(
    history: &History,
    levels: &[EngineLevel],
    attention: Attention,
) -> Option<Vec<TransactionId>> {
    engines::some_schedule(history, levels, attention)
}

/// What a refused transaction wanted to lock when it was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WantedLock {
    /// The transaction.
    pub transaction: TransactionId,
    /// The key.
    pub key: KeyId,
    /// What its statement asked for.
    pub kind: StatementKind,
    /// An upsert that does nothing when it finds a row: it waits for changes, not for locks.
    pub only_looks: bool,
}

/// The same, and every refusal of which it is known what was `wanted` has a reason.
///
/// # Panics
///
/// When there are fewer levels than transactions, or more.
pub fn allows_engine_refusals(history: &History, levels: &[EngineLevel], wanted: &[WantedLock]) -> bool {
    engines::allows(history, levels, true, wanted, Attention::Full)
}

/// A strong level is another one with `so ∪ rt` for `so`.
fn without_real_time(level: IsolationLevel) -> (IsolationLevel, bool) {
    use IsolationLevel::*;
    match level {
        StrongSnapshot => (Snapshot, true),
        StrictSerializable => (Serializable, true),
        ReadCommitted | ReadAtomic | Causal | Prefix | ParallelSnapshot | Snapshot | Serializable | Declared
        | Engine(_) => (level, false),
    }
}

/// The level that each transaction of the reading is held to, t0 excepted; nothing when their levels do not go together.
fn levels(reading: &Reading, level: IsolationLevel) -> Option<Vec<IsolationLevel>> {
    use IsolationLevel::*;
    if level != Declared {
        return Some(vec![level; reading.declared.len()]);
    }
    let declared: Vec<IsolationLevel> = reading.declared.iter().copied().collect::<Option<_>>()?;
    let (mut parallel, mut of_histories) = (0, 0);
    for level in &declared {
        match level {
            ReadCommitted | ReadAtomic | Causal | Prefix | Snapshot | Serializable => {}
            ParallelSnapshot => parallel += 1,
            StrongSnapshot | StrictSerializable | Declared | Engine(_) => of_histories += 1,
        }
    }
    (of_histories == 0 && (parallel == 0 || parallel == declared.len())).then_some(declared)
}
