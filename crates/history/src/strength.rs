//! How strongly PostgreSQL locks a row: four strengths, and which of them go together.
//!
//! ```text
//!                     KEY SHARE   SHARE   NO KEY UPDATE   UPDATE
//!   KEY SHARE                                               ×
//!   SHARE                                       ×           ×
//!   NO KEY UPDATE                   ×           ×           ×
//!   UPDATE                ×         ×           ×           ×
//! ```

use crate::statement::StatementKind;

/// How strongly a row is locked, the weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RowStrength {
    /// The row stays, and its key with it.
    KeyShare,
    /// The row stays as it is.
    Share,
    /// The row may change, but for its key.
    NoKeyUpdate,
    /// The row may go.
    Update,
}

impl RowStrength {
    /// Whether two transactions cannot lock a row like this at the same time.
    pub fn conflicts(self, other: RowStrength) -> bool {
        match self {
            RowStrength::KeyShare => other == RowStrength::Update,
            RowStrength::Share => other >= RowStrength::NoKeyUpdate,
            RowStrength::NoKeyUpdate => other >= RowStrength::Share,
            RowStrength::Update => true,
        }
    }

    /// How a statement of this kind locks the rows that it takes.
    pub fn of(kind: StatementKind) -> RowStrength {
        match kind {
            StatementKind::ForKeyShare | StatementKind::ForeignKey => RowStrength::KeyShare,
            StatementKind::ForShare => RowStrength::Share,
            StatementKind::Update | StatementKind::Upsert | StatementKind::ForNoKeyUpdate => RowStrength::NoKeyUpdate,
            _ => RowStrength::Update,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RowStrength::{KeyShare, NoKeyUpdate, Share, Update};

    #[test]
    fn conflicts_are_those_of_the_manual() {
        let all = [KeyShare, Share, NoKeyUpdate, Update];
        let conflicting: Vec<usize> =
            all.iter().map(|one| all.iter().filter(|other| one.conflicts(**other)).count()).collect();
        assert_eq!(conflicting, [1, 2, 3, 4]);
        for one in all {
            assert!(all.iter().all(|other| one.conflicts(*other) == other.conflicts(one)));
        }
    }
}
