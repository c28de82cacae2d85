//! Whether a small history satisfies its base levels, quickly.
//!
//! At read-committed, read-atomic and causal every read forces edges of the commit order and leaves nothing open (Biswas & Enea 2019):
//! a history satisfies its levels exactly when `so`, `wr` and the forced edges have no cycle.
//!
//! ```text
//!   t3 read x from t1, and must have seen t2, which wrote x too:   t2 ──> t1
//!
//!   must have seen    read-committed   whom an earlier plain read of t3 read from
//!                     read-atomic      so, and whom a plain read of t3 read from
//!                     causal           who is before those
//!                     a locking read   who is before t3
//!                     a row passed by  as a plain read, but it makes nobody else seen: it may turn out to have locked
//! ```
//!
//! The last line is less than the level asks of a locking read (all that is before in the commit order): what is explored is filtered
//! afterwards, and the base has to let through all that the level allows. With it the bases stay causally extensible.
//!
//! What is forced by transactions that are over is kept ([`ForcedOrder`]). A pending transaction is the last, so its own edges are tried on a copy. That the runs of a search are those
//! which `check::spec` allows is tested in `tests/explore/random.rs`.

use crate::base::Base;
use crate::forced::ForcedOrder;
use crate::keys::KeyNumber;
use crate::log::{Event, Log, Manner, ReadKind, reads_among};
use crate::ordered::Ordered;
use crate::set::{INITIAL, Number, Set};

/// A transaction up to one of its reads, and that read.
#[derive(Clone, Copy)]
pub(crate) struct Beginning<'a> {
    pub(crate) log: &'a Log,
    /// The events that count.
    pub(crate) events: &'a [Event],
    /// One more read.
    pub(crate) read: Option<NextRead>,
}

/// A read that may be.
#[derive(Clone, Copy)]
pub(crate) struct NextRead {
    pub(crate) key: KeyNumber,
    pub(crate) source: Number,
    pub(crate) kind: ReadKind,
}

/// What a transaction must have seen.
struct Seen {
    direct: Set,
    plain_past: Set,
    past: Set,
}

impl ForcedOrder {
    /// What these transactions force, all of which are over, and whom they read from; nothing when they contradict their levels.
    pub(crate) fn of(history: &Ordered, members: Set, bases: &[Base]) -> Option<ForcedOrder> {
        let mut known = ForcedOrder::new(bases.len() - 1);
        for &number in history.order.iter().filter(|&&number| members.contains(number)) {
            if !known.add(history, number, members, bases) {
                return None;
            }
        }
        Some(known)
    }

    /// Learns what a whole transaction forces; false when that is a contradiction.
    pub(crate) fn add(&mut self, history: &Ordered, number: Number, members: Set, bases: &[Base]) -> bool {
        let log = history.log(number);
        self.put_behind(number, log.past);
        let seen = Seen { direct: log.session_past | log.plain_sources, plain_past: log.plain_past, past: log.past };
        self.add_reads(history, log.number, &log.events, &seen, members, bases)
    }

    /// The same for a transaction that is not over.
    pub(crate) fn add_beginning(
        &mut self,
        history: &Ordered,
        beginning: Beginning<'_>,
        members: Set,
        bases: &[Base],
    ) -> bool {
        let Beginning { log, events, read } = beginning;
        let start = history.past_of_all(log.session_past);
        let mut seen = Seen { direct: log.session_past, plain_past: start, past: start };
        let mut earlier = Set::EMPTY;
        for read in reads_among(events) {
            seen.add(history, read.source, read.kind());
            if read.kind() == ReadKind::Plain {
                earlier.insert(read.source);
            }
        }
        if let Some(read) = read {
            seen.add(history, read.source, read.kind);
        }
        let fits = self.add_reads(history, log.number, events, &seen, members, bases);
        fits && read.is_none_or(|read| {
            let must_see = seen.by(bases[log.number as usize], read.kind, earlier);
            self.order(history.writers(read.key) & members & must_see, read.source, log.number)
        })
    }

    fn add_reads(
        &mut self,
        history: &Ordered,
        reader: Number,
        events: &[Event],
        seen: &Seen,
        members: Set,
        bases: &[Base],
    ) -> bool {
        let base = bases[reader as usize];
        reads_among(events).all(|read| {
            let others = history.writers(read.key) & members & seen.by(base, read.kind(), read.seen);
            others.is_empty() || self.order(others, read.source, reader)
        })
    }

    /// Other writers of a key that a reader must have seen come before the one that it read from.
    fn order(&mut self, others: Set, source: Number, reader: Number) -> bool {
        let others = others - Set::only(source) - Set::only(reader);
        others.is_empty() || source != INITIAL && others.iter().all(|other| self.insert(other, source))
    }
}

impl Seen {
    fn add(&mut self, history: &Ordered, source: Number, kind: ReadKind) {
        let shown = history.past_of(source) | Set::only(source);
        self.past |= shown;
        if kind == ReadKind::Plain {
            self.plain_past |= shown;
            self.direct.insert(source);
        }
    }

    /// Whom a read must have seen; `earlier` is whom earlier plain reads read from.
    fn by(&self, base: Base, kind: ReadKind, earlier: Set) -> Set {
        match base {
            Base::Any => Set::EMPTY,
            _ if kind == ReadKind::Locking => self.past,
            Base::ReadCommitted => earlier,
            Base::ReadAtomic => self.direct,
            Base::Causal => self.plain_past,
        }
    }
}

impl Ordered {
    /// The versions that the next read of the pending transaction may return, t0 first and then in the order `<`.
    pub(crate) fn choices(&self, key: KeyNumber, manner: Manner, bases: &[Base]) -> Vec<Number> {
        let writers = self.writers(key);
        if writers.is_empty() {
            return vec![INITIAL];
        }
        let log = self.log(*self.order.last().expect("a pending transaction"));
        let in_order = self.order.iter().copied().filter(|&number| writers.contains(number));
        let fits = |&source: &Number| {
            let read = Some(NextRead { key, source, kind: manner.kind(source) });
            let beginning = Beginning { log, events: &log.events, read };
            ForcedOrder::clone(&self.forced).add_beginning(self, beginning, self.complete, bases)
        };
        std::iter::once(INITIAL).chain(in_order).filter(fits).collect()
    }
}
