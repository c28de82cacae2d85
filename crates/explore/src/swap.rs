//! Swaps: an earlier read reads from a later transaction.
//!
//! A read can only choose among those who have committed. So when a transaction `t` commits, every earlier read `r` of a key that it
//! wrote gets its turn again, this time with `t` before it:
//!
//! ```text
//!   a#0: … r(x) …   b#0   c#0   t: w(x) ✓            <
//!          │              └─ t read from c#0
//!          ▼
//!   c#0   t: w(x) ✓   a#0: … r(x) from t             a#0 is pending again; b#0, which t does not need, and what followed r are dropped
//! ```
//!
//! Several histories can lead to one by such swaps. Only one of them may: the one in which everything that is dropped, and `r` itself,
//! reads what it would read if it were as up to date as its own past makes it. That is [`Ordered::reads_latest`]:
//!
//! > r′ reads from the `<`-latest committed transaction (t0 included) that wrote its key, is `(so ∪ wr)+`-before r′'s transaction, and
//! > for which the history without what comes after r′, except t and what t needs, satisfies the base.
//!
//! The paper (Bouajjani, Enea, Román-Calvo 2023, §5.3) asks in addition that what is dropped was not swapped before (SWAPPED). As its
//! text prints it, that loses histories: `r(y) r(x)` ∥ `w(x)` ∥ `r(x) w(y) | w(x)` has 12 at read-committed and would get 11. Without it none is
//! missing and none comes twice, which `tests/explore/random.rs` holds against brute force.
//!
//! The version that r′ does read is always possible there, because levels are closed under prefixes. So only later ones in its past
//! are tried; mostly there is none, and a swap costs a walk over what it drops.

use crate::base::Base;
use crate::consistency::{Beginning, NextRead};
use crate::forced::ForcedOrder;
use crate::keys::Keys;
use crate::log::{Event, Read};
use crate::ordered::Ordered;
use crate::set::{INITIAL, Number, Set};
use std::sync::Arc;

impl Ordered {
    /// The histories that are reached by swaps with the transaction that has just committed.
    pub(crate) fn swaps(&self, keys: &Keys, bases: &[Base]) -> Vec<Ordered> {
        let Some(&committed) = self.order.last() else { return Vec::new() };
        let log = self.log(committed);
        let needed = log.past | Set::only(committed);
        let mut swaps = Vec::new();
        for &reader in self.order.iter().filter(|&&reader| !needed.contains(reader)) {
            for (event, read) in numbered_reads(&self.log(reader).events) {
                if log.shows(read.key) {
                    swaps.extend(self.swap(reader, event, committed, needed, keys, bases));
                }
            }
        }
        swaps
    }

    /// The history in which a read reads from the transaction that has just committed, if the search may go there.
    fn swap(
        &self,
        reader: Number,
        event: usize,
        committed: Number,
        needed: Set,
        keys: &Keys,
        bases: &[Base],
    ) -> Option<Ordered> {
        if !self.drops_only_latest(reader, event, needed, bases) {
            return None;
        }
        let kept = self.before(reader) | needed;
        let log = self.log(reader);
        let Event::Read(read) = &log.events[event] else { return None };
        let known = ForcedOrder::of(self, kept, bases)?;
        let next = NextRead { key: read.key, source: committed, kind: read.manner.kind(committed) };
        let beginning = Beginning { log, events: &log.events[..event], read: Some(next) };
        if !known.clone().add_beginning(self, beginning, kept, bases) {
            return None;
        }
        let mut history = self.swapped(kept, reader, event, committed, keys);
        history.forced = Arc::new(known);
        Some(history)
    }

    /// Whether a read, and everything that its swap would drop, reads what is latest for it.
    fn drops_only_latest(&self, reader: Number, event: usize, needed: Set, bases: &[Base]) -> bool {
        let mut earlier = Set::EMPTY;
        let mut is_dropped = false;
        for &number in &self.order {
            is_dropped |= number == reader;
            if is_dropped && !needed.contains(number) {
                let first = if number == reader { event } else { 0 };
                let mut reads = numbered_reads(&self.log(number).events).filter(|read| read.0 >= first);
                if !reads.all(|(place, read)| self.reads_latest(number, place, read, earlier | needed, bases)) {
                    return false;
                }
            }
            earlier.insert(number);
        }
        true
    }

    /// Whether a read reads from the latest version that its transaction's own past has to offer; `members` are the others that stay.
    fn reads_latest(&self, reader: Number, event: usize, read: &Read, members: Set, bases: &[Base]) -> bool {
        if read.source != INITIAL && !read.past.contains(read.source) {
            return false;
        }
        let candidates = self.writers(read.key) & read.past;
        let later = match read.source {
            INITIAL => candidates,
            source => candidates - self.before(source) - Set::only(source),
        };
        if later.is_empty() {
            return true;
        }
        let Some(known) = ForcedOrder::of(self, members, bases) else { return false };
        let log = self.log(reader);
        !later.iter().any(|source| {
            let next = NextRead { key: read.key, source, kind: read.manner.kind(source) };
            let beginning = Beginning { log, events: &log.events[..event], read: Some(next) };
            known.clone().add_beginning(self, beginning, members, bases)
        })
    }
}

/// The external reads among events, with their places.
fn numbered_reads(events: &[Event]) -> impl Iterator<Item = (usize, &Read)> {
    events.iter().enumerate().filter_map(|(place, event)| match event {
        Event::Read(read) => Some((place, read)),
        _ => None,
    })
}
