//! What a transaction holds when it looks: a lock or a change that everybody else would have to wait for.
//!
//! ```text
//!   SELECT most INTO m FROM voucher WHERE id = v FOR UPDATE;     whoever redeems v waits here,
//!   SELECT COUNT(*) INTO n FROM purchase WHERE voucher = v;      so this cannot change any more: at read committed,
//! ```
//!
//! and not at PostgreSQL's repeatable read, where the count comes from a snapshot that may be older than the lock. A row that was *changed*
//! before protects there, too: who changes it next is refused. A lock counts if its key follows from what the look speaks of, and if everybody
//! who changes the table takes it first.

use super::reading::{ProcedureReading, ProgramReading, RowLook, is_change, variables_of};
use skew_history::EngineLevel;
use skew_sql::touched::{RowsTouched, TableTouch, TouchKind};

/// What a transaction holds when it looks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Protection {
    /// Nothing.
    None,
    /// A lock, which came after a plain read.
    LateLock,
    /// A lock.
    Lock,
    /// A row that it changed, or a lock that only the application understands.
    Change,
}

/// Who overwrites each other: no lock, and a level that lets both write.
pub(super) const OVERWRITING: [EngineLevel; 3] =
    [EngineLevel::PostgresReadCommitted, EngineLevel::MysqlReadCommitted, EngineLevel::MysqlRepeatableRead];

/// Who misses what the other writes: everything but serializable.
pub(super) const MISSING: [EngineLevel; 5] = [
    EngineLevel::PostgresReadCommitted,
    EngineLevel::PostgresRepeatableRead,
    EngineLevel::MysqlReadCommitted,
    EngineLevel::MysqlRepeatableRead,
    EngineLevel::MysqlSnapshotIsolation,
];

impl Protection {
    /// The levels at which what is read can be old all the same, of those where it can be without protection.
    pub(super) fn leaves(self, levels: &[EngineLevel]) -> Vec<EngineLevel> {
        use EngineLevel::{MysqlRepeatableRead, MysqlSnapshotIsolation, PostgresRepeatableRead};
        let open = |level: &EngineLevel| match self {
            Protection::None => true,
            Protection::Change => false,
            Protection::Lock => *level == PostgresRepeatableRead,
            Protection::LateLock => {
                [PostgresRepeatableRead, MysqlRepeatableRead, MysqlSnapshotIsolation].contains(level)
            }
        };
        levels.iter().copied().filter(open).collect()
    }
}

/// What protects a look.
pub(super) fn protection(program: &ProgramReading<'_>, procedure: &ProcedureReading, look: &RowLook<'_>) -> Protection {
    let holds = |step: usize| {
        let touches = &procedure.steps[step].touches;
        if touches.unsupported.iter().any(|construct| construct == "an advisory lock") {
            return Protection::Change;
        }
        // In a loop the same statement may have been about another row the last time.
        let again = |touch: &TableTouch| touch.table == look.touch.table && procedure.follows(look.step, step);
        let counts = |touch: &&TableTouch| !again(touch) && protects(program, procedure, look, touch);
        let held = touches.tables.iter().filter(counts).map(|touch| match touch.kind {
            TouchKind::Lock if plain_read_before(procedure, step) => Protection::LateLock,
            TouchKind::Lock => Protection::Lock,
            _ => Protection::Change,
        });
        held.max().unwrap_or(Protection::None)
    };
    procedure.before(look.step).map(holds).max().unwrap_or(Protection::None)
}

fn plain_read_before(procedure: &ProcedureReading, step: usize) -> bool {
    let reads =
        |earlier: usize| procedure.steps[earlier].touches.tables.iter().any(|touch| touch.kind == TouchKind::Read);
    procedure.before(step).any(reads)
}

/// Whether the row of a touch is one that everybody takes before they change what the look is about.
fn protects(
    program: &ProgramReading<'_>,
    procedure: &ProcedureReading,
    look: &RowLook<'_>,
    touch: &TableTouch,
) -> bool {
    if !takes_row(touch) {
        return false;
    }
    if touch.table == look.touch.table {
        return touch.rows == look.touch.rows && !look.is_search();
    }
    let RowsTouched::Keys { keys, .. } = &touch.rows else { return false };
    let spoken_of = &procedure.steps[look.step].touches.variables;
    let follows = |slot: usize| spoken_of.iter().any(|variable| variable.slot == slot);
    keys.iter().flatten().flat_map(variables_of).all(follows)
        && program.changes_of(&look.touch.table).iter().all(|(other, step)| takes_before(other, *step, &touch.table))
}

fn takes_before(procedure: &ProcedureReading, step: usize, table: &str) -> bool {
    let takes = |earlier: usize| {
        let touches = &procedure.steps[earlier].touches.tables;
        touches.iter().any(|touch| touch.table == table && takes_row(touch))
    };
    procedure.before(step).any(takes)
}

/// Whether a statement takes rows by key so that others wait.
fn takes_row(touch: &TableTouch) -> bool {
    let takes = touch.kind == TouchKind::Lock || (is_change(touch) && !matches!(touch.kind, TouchKind::Insert(..)));
    takes && matches!(touch.rows, RowsTouched::Keys { .. })
}
