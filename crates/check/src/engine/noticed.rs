//! What PostgreSQL's serializable is certain to notice.
//!
//! It notices that one transaction changed what another had read, by marks that searches leave on rows and on places in indexes, and trusts that
//! everything else a transaction sees had been committed before its snapshot. An INSERT takes a key that is free now, whoever freed it; that somebody
//! had to do with this key before is known only by a mark on its place:
//!
//! ```text
//!   DELETE … WHERE id = 2         marks the row and the place of 2 in the primary key        who inserts 2 meets the mark
//!   DELETE … WHERE name = 'b'     marks the row and the place of 'b' in the other index      who inserts 2, 'c' meets none
//! ```
//!
//! A history says which it was when it has the entries of indexes that statements read.

use super::looks::{Deed, EngineLook};
use rustc_hash::FxHashSet;
use skew_history::{History, KeyId, StatementKind};

/// Whose marks are known.
pub(super) struct Noticed<'h> {
    history: &'h History,
    /// Tables with another index of which the history has entries.
    indexed: FxHashSet<&'h str>,
}

impl<'h> Noticed<'h> {
    pub(super) fn new(history: &'h History) -> Noticed<'h> {
        let indexed = history.keys().filter_map(|key| by_other_index(history, key)).collect();
        Noticed { history, indexed }
    }

    /// Whether a transaction, whose looks are given, begins its changes of a key with an INSERT that found it free.
    pub(super) fn inserts(&self, looks: &[EngineLook], key: KeyId) -> bool {
        let first = looks.iter().find(|look| look.key == key && look.is_change());
        first.is_some_and(|first| is_insert(first.kind) && !first.found_row)
    }

    /// Whether a transaction has certainly marked the place of a key.
    pub(super) fn marks(&self, looks: &[EngineLook], key: KeyId) -> bool {
        let searches = looks.iter().filter(|look| look.key == key && !is_insert(look.kind));
        searches.into_iter().any(|look| match look.deed {
            Deed::Change { .. } => false,
            // Nobody learns that a key is free but by looking for it.
            Deed::Read { absent: true, .. } => true,
            Deed::Read { .. } => self.is_by_key(looks, look),
        })
    }

    /// Whether a read counts as one of its writer, whose looks are given.
    pub(super) fn counts(&self, look: &EngineLook, of_writer: Option<&[EngineLook]>) -> bool {
        let absent = matches!(look.deed, Deed::Read { absent: true, .. });
        match look.kind {
            StatementKind::Upsert => !absent && look.changes_it,
            StatementKind::Insert => !absent && of_writer.is_some_and(|looks| self.marks(looks, look.key)),
            _ => true,
        }
    }

    /// Whether a row was certainly found by its own key.
    fn is_by_key(&self, looks: &[EngineLook], look: &EngineLook) -> bool {
        let Some((table, index)) = self.history.table_and_index(look.key) else { return false };
        let is_told = self.history.asked(look.event).statement != 0 && self.indexed.contains(table);
        let mut together = looks.iter().filter(|other| other.start == look.start && !other.is_change());
        index.is_some() || is_told && !together.any(|other| by_other_index(self.history, other.key) == Some(table))
    }
}

/// The table of an entry of another index than the primary key's.
fn by_other_index(history: &History, key: KeyId) -> Option<&str> {
    match history.table_and_index(key)? {
        (_, None | Some("pkey")) => None,
        (table, Some(_)) => Some(table),
    }
}

fn is_insert(kind: StatementKind) -> bool {
    matches!(kind, StatementKind::Insert | StatementKind::Upsert)
}
