//! A history as the definitions speak of it: `(T, so, wr)`, and who writes what.
//!
//! Once it is chosen who wrote what was read, values, outcomes and names are gone, and what is left are numbers and relations:
//!
//! ```text
//!   w(x,1); w(x,2) !; r(x,1)         T: 0 = t0, 1, 2        so: 0→1, 0→2        wr: 1→2 on x        x is written by 0, 1
//! ```
//!
//! The choosing is done by [`super::choices`].

use super::choices::{Choices, LevelFamily, ValueSource, may_be_read, some_choices};
use super::lists;
use super::relation::Relation;
use skew_history::{Event, History, IsolationLevel, KeyId, Outcome, TransactionId, Writer};

/// A history with its writers chosen. Number 0 is t0, the others are the transactions that count.
pub(super) struct Reading {
    /// `so`, with t0 before everything; for the strong levels `so ∪ rt`.
    pub(super) session_order: Relation,
    /// The external reads, those of one transaction in program order.
    pub(super) reads: Vec<SpecRead>,
    /// Per key the transactions that write it; t0 writes every key.
    pub(super) writers: Vec<Vec<usize>>,
    /// The order that lists give to the transactions that append to them.
    pub(super) list_order: Relation,
    /// The declared level of each transaction but t0.
    pub(super) declared: Vec<Option<IsolationLevel>>,
}

/// One external read event.
pub(super) struct SpecRead {
    pub(super) reader: usize,
    pub(super) key: KeyId,
    pub(super) writer: usize,
    pub(super) locking: bool,
}

/// Whether `test` accepts some reading of the history; with `real_time`, session order is `so ∪ rt`.
pub(super) fn some_reading(history: &History, real_time: bool, test: &mut dyn FnMut(&Reading) -> bool) -> bool {
    some_choices(history, LevelFamily::Papers, &mut |choices| test(&Reading::new(history, choices, real_time)))
}

impl Reading {
    fn new(history: &History, choices: &Choices, real_time: bool) -> Reading {
        let counting: Vec<TransactionId> =
            history.transactions().filter(|transaction| choices.counts[transaction.index()]).collect();
        let numbered: Vec<Writer> =
            std::iter::once(Writer::Initial).chain(counting.iter().copied().map(Writer::Transaction)).collect();
        let writers = |key| (0..numbered.len()).filter(|&number| writes(history, numbered[number], key)).collect();
        let precedes = |from: usize, to: usize| precedes(history, numbered[from], numbered[to], real_time);
        let writers: Vec<Vec<usize>> = history.keys().map(writers).collect();
        let list_order = Relation::of(numbered.len(), |from, to| {
            let mut keys = history.keys().filter(|key| writers[key.index()].contains(&to));
            keys.any(|key| lists::show_before(&choices.appenders[key.index()], numbered[from], numbered[to]))
        });
        Reading {
            session_order: Relation::of(numbered.len(), precedes),
            reads: external_reads(history, choices, &numbered),
            writers,
            list_order,
            declared: counting.iter().map(|&transaction| history.declared_level(transaction)).collect(),
        }
    }

    /// How many transactions there are, t0 included.
    pub(super) fn size(&self) -> usize {
        self.declared.len() + 1
    }

    /// The pairs of writer and reader, of those reads that are asked for.
    pub(super) fn reads_from(&self, which: impl Fn(&SpecRead) -> bool) -> Relation {
        let mut relation = Relation::empty(self.size());
        self.reads.iter().filter(|read| which(read)).for_each(|read| relation.insert(read.writer, read.reader));
        relation
    }

    /// `so ∪ wr ∪ list order`: what every commit order contains.
    pub(super) fn required_order(&self) -> Relation {
        self.session_order.union(&self.reads_from(|_| true)).union(&self.list_order)
    }
}

/// Whether `one` is before `other` by session order or, when asked, by real time.
fn precedes(history: &History, one: Writer, other: Writer, real_time: bool) -> bool {
    match (one, other) {
        (Writer::Initial, other) => other != Writer::Initial,
        (_, Writer::Initial) => false,
        (Writer::Transaction(one), Writer::Transaction(other)) => {
            let in_session = history.session_of(one) == history.session_of(other) && one < other;
            in_session || real_time && ends_before(history, one, other)
        }
    }
}

/// `rt(one, other)`. An unknown outcome ends at infinity, and what has no time has no real-time order.
pub(super) fn ends_before(history: &History, one: TransactionId, other: TransactionId) -> bool {
    let times = (history.times(one).end, history.times(other).begin);
    history.outcome(one) != Outcome::Unknown && matches!(times, (Some(end), Some(begin)) if end < begin)
}

/// Whether there is a version of the key by this writer for others to see.
fn writes(history: &History, writer: Writer, key: KeyId) -> bool {
    match writer {
        Writer::Initial => true,
        Writer::Transaction(one) => {
            may_be_read(history, one) && history.events_of(one).iter().any(|event| event.key == key && !event.is_read())
        }
    }
}

fn external_reads(history: &History, choices: &Choices, numbered: &[Writer]) -> Vec<SpecRead> {
    let number = |writer: Writer| numbered.iter().position(|&other| other == writer).expect("what was read counts");
    let mut reads = Vec::new();
    for transaction in history.transactions().filter(|transaction| choices.counts[transaction.index()]) {
        for (event, &Event { key, locking, .. }) in history.numbered_events_of(transaction) {
            if let Some(ValueSource::External(writer)) = choices.sources[event.index()] {
                let reader = number(Writer::Transaction(transaction));
                reads.push(SpecRead { reader, key, writer: number(writer), locking });
            }
        }
    }
    reads
}
