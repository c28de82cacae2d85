//! What a transaction's past includes: one counter per session, joined along the way.

use super::holds::Replay;
use rustc_hash::FxHashMap;
use skew_history::{KeyId, TransactionId, Writer};

/// Pasts by session order and reads, or by all dependencies.
pub(super) struct Causality<'r, 'h> {
    replay: &'r Replay<'h>,
    /// The writers of each key, in commit order.
    writers: FxHashMap<KeyId, Vec<TransactionId>>,
    sessions: usize,
}

/// Per session, how many of its first transactions are in a past.
type Past = Vec<u32>;

impl<'r, 'h> Causality<'r, 'h> {
    pub(super) fn new(replay: &'r Replay<'h>) -> Causality<'r, 'h> {
        let mut writers: FxHashMap<KeyId, Vec<TransactionId>> = FxHashMap::default();
        for &transaction in &replay.order {
            for &key in &replay.writes[transaction.index()] {
                writers.entry(key).or_default().push(transaction);
            }
        }
        Causality { replay, writers, sessions: replay.history.session_count() }
    }

    fn join(&self, past: &mut Past, pasts: &[Past], before: TransactionId) {
        for (count, &other) in past.iter_mut().zip(&pasts[before.index()]) {
            *count = (*count).max(other);
        }
        let count = &mut past[self.replay.history.session_of(before).index()];
        *count = (*count).max(self.replay.history.position_in_session(before) + 1);
    }

    fn includes(&self, past: &Past, transaction: TransactionId) -> bool {
        past[self.replay.history.session_of(transaction).index()] > self.replay.history.position_in_session(transaction)
    }

    fn previous(&self, transaction: TransactionId) -> Option<TransactionId> {
        self.replay.history.before_in_session(transaction).rev().find(|&other| self.replay.ledger.counts(other))
    }

    /// The pasts of all transactions; with `versions`, the writer of the version before is part of it.
    fn pasts(&self, versions: bool) -> Vec<Past> {
        let mut pasts = vec![Past::new(); self.replay.history.transaction_count()];
        let mut latest: FxHashMap<KeyId, TransactionId> = FxHashMap::default();
        for &transaction in &self.replay.order {
            let mut past = vec![0; self.sessions];
            let read = self.replay.reads[transaction.index()].iter().filter_map(|read| transaction_of(read.writer));
            for before in self.previous(transaction).into_iter().chain(read) {
                self.join(&mut past, &pasts, before);
            }
            for &key in &self.replay.writes[transaction.index()] {
                if let Some(before) = latest.insert(key, transaction).filter(|_| versions) {
                    self.join(&mut past, &pasts, before);
                }
            }
            pasts[transaction.index()] = past;
        }
        pasts
    }

    /// Plain reads see the causal past: no writer of the key in it is newer than the one read.
    pub(super) fn keeps_causal(&self, mut readers: impl Iterator<Item = TransactionId>) -> bool {
        let pasts = self.pasts(false);
        readers.all(|reader| {
            let mut seen = vec![0; self.sessions];
            let reads = self.replay.reads[reader.index()].iter().filter(|read| !read.locking);
            let read_from = reads.clone().filter_map(|read| transaction_of(read.writer));
            for before in self.previous(reader).into_iter().chain(read_from) {
                self.join(&mut seen, &pasts, before);
            }
            reads.into_iter().all(|read| {
                // The newest writer of the key that was seen decides; newer ones than the one read must not have been.
                let writers = self.writers.get(&read.key).map_or(&[][..], Vec::as_slice);
                let newer = writers.iter().rev().take_while(|&&writer| !self.replay.is_not_newer(writer, read));
                newer.into_iter().all(|&writer| writer == reader || !self.includes(&seen, writer))
            })
        })
    }

    /// psi: no dependency path from an overwriting transaction back to the reader; and none with overwrites of locking reads.
    pub(super) fn keeps_parallel_snapshot(&self) -> bool {
        let pasts = self.pasts(true);
        let no_way_back =
            self.replay.order.iter().all(|&reader| {
                self.overwriters(reader, false).all(|later| !self.includes(&pasts[reader.index()], later))
            });
        no_way_back && self.locks_are_acyclic()
    }

    /// Who wrote the next version after each one read, other than the reader itself.
    fn overwriters(&self, reader: TransactionId, locking_only: bool) -> impl Iterator<Item = TransactionId> + '_ {
        let reads = self.replay.reads[reader.index()].iter().filter(move |read| read.locking || !locking_only);
        reads.filter_map(move |read| {
            let writers = self.writers.get(&read.key)?;
            let next = match read.writer {
                Writer::Initial => 0,
                Writer::Transaction(writer) => {
                    let commit = self.replay.commit_of(writer);
                    writers.partition_point(|&other| self.replay.commit_of(other) <= commit)
                }
            };
            writers[next..].iter().copied().find(|&later| later != reader)
        })
    }

    /// Dependencies and overwrites of locking reads have an order in common.
    fn locks_are_acyclic(&self) -> bool {
        let transactions = self.replay.history.transaction_count();
        let mut after: Vec<Vec<TransactionId>> = vec![Vec::new(); transactions];
        let mut waits = vec![0usize; transactions];
        let mut edge = |from: TransactionId, to: TransactionId| {
            after[from.index()].push(to);
            waits[to.index()] += 1;
        };
        for &transaction in &self.replay.order {
            self.previous(transaction).into_iter().for_each(|before| edge(before, transaction));
            let reads = self.replay.reads[transaction.index()].iter();
            reads.filter_map(|read| transaction_of(read.writer)).for_each(|writer| edge(writer, transaction));
            self.overwriters(transaction, true).for_each(|later| edge(transaction, later));
        }
        for writers in self.writers.values() {
            writers.windows(2).for_each(|pair| edge(pair[0], pair[1]));
        }
        let mut free: Vec<TransactionId> =
            self.replay.history.transactions().filter(|transaction| waits[transaction.index()] == 0).collect();
        let mut placed = 0;
        while let Some(transaction) = free.pop() {
            placed += 1;
            for &later in &after[transaction.index()] {
                waits[later.index()] -= 1;
                free.extend((waits[later.index()] == 0).then_some(later));
            }
        }
        placed == transactions
    }
}

fn transaction_of(writer: Writer) -> Option<TransactionId> {
    match writer {
        Writer::Initial => None,
        Writer::Transaction(transaction) => Some(transaction),
    }
}
