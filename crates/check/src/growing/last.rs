//! How it may have ended: the last version of every key, in every commit order that is allowed.
//!
//! Two transactions that wrote `x` without having seen one another may stand in either order, so the final state may have either
//! version; two keys are not independent, because one order has to explain both:
//!
//! ```text
//!   a: w(x) w(y)      b: w(x) w(y)        at read-atomic  x and y are both a's or both b's
//! ```

use super::node::{Slot, Source};
use super::order::{Knowledge, Search};
use super::{GrowingHistory, Version};
use skew_history::KeyId;

impl GrowingHistory {
    /// The last versions of the keys that somebody wrote who is not sealed, in every way that some allowed commit order gives: each
    /// way is a list sorted by key. Nothing when there are more than `limit` ways, or when the budget ends before it is known whether a
    /// way is one.
    pub fn last_versions(&self, limit: usize) -> Option<Vec<Vec<(KeyId, Version)>>> {
        let mut keys: Vec<(KeyId, Vec<Slot>)> =
            self.nodes.rows.keys().map(|&key| (key, self.last_writers(key))).collect();
        keys.retain(|(_, last)| !last.is_empty());
        keys.sort();
        let mut found = Vec::new();
        let mut stack = vec![(self.knowledge.clone(), Vec::new())];
        while let Some((knowledge, chosen)) = stack.pop() {
            let Some((key, last)) = keys.get(chosen.len()) else {
                found.push(chosen);
                if found.len() > limit {
                    return None;
                }
                continue;
            };
            for &writer in last.iter().rev() {
                let Some(next) = self.with_last(&knowledge, *key, writer)? else { continue };
                let version = self.nodes.version(*key, Source::Node(writer));
                stack.push((next, chosen.iter().copied().chain([(*key, version)]).collect()));
            }
        }
        Some(found)
    }

    /// The writers of a key after whom no other is known to come.
    fn last_writers(&self, key: KeyId) -> Vec<Slot> {
        let writers = self.nodes.writers(key);
        let overwritten =
            |writer: Slot| writers.iter().any(|&other| self.knowledge.before(writer.commit(), other.commit()));
        writers.iter().copied().filter(|&writer| !overwritten(writer)).collect()
    }

    /// What is known if a writer of a key is its last, if it can be; nothing when that does not become clear.
    fn with_last(&self, knowledge: &Knowledge, key: KeyId, last: Slot) -> Option<Option<Knowledge>> {
        let mut knowledge = knowledge.clone();
        let others = self.nodes.writers(key).iter().filter(|&&other| other != last);
        let fits = others.into_iter().all(|&other| knowledge.insert((other.commit(), last.commit())));
        if !(fits && knowledge.propagate()) {
            return Some(None);
        }
        if knowledge.is_settled() {
            return Some(Some(knowledge));
        }
        let guide = self.witness.clone().unwrap_or_else(|| self.knowledge.linear(&[]));
        match knowledge.search(&guide, self.options.budget.max(1)) {
            Search::Found(_) => Some(Some(knowledge)),
            Search::Impossible => Some(None),
            Search::Unknown => None,
        }
    }
}
