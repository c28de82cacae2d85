//! Replays an order of begins and commits and looks whether every read saw what its level lets it see.
//!
//! ```text
//!   level of the reader        a plain read sees                         a locking read sees
//!   serializable               the latest version when it commits        the same
//!   snapshot, prefix           the latest version when it begins         the latest when it commits
//!   read-committed … causal    what the axiom asks (below)               the latest when it commits
//! ```
//!
//! At snapshot nobody else may have committed a version of a key that the transaction writes since it began. A transaction without a
//! begin of its own begins when it commits. Session order (and real time, at the strong levels) goes from commit to begin.

use super::causality::Causality;
use super::ledger::Ledger;
use super::server;
use crate::commit_order::{CommitOrder, Instant};
use crate::levels::on_server;
use rustc_hash::{FxHashMap, FxHashSet};
use skew_history::{EventId, History, IsolationLevel, KeyId, Outcome, TransactionId, Value, Writer};

impl CommitOrder {
    /// Whether this order shows that `history` satisfies `level`. Shares no code with the search.
    pub fn justifies(&self, history: &History, level: IsolationLevel) -> bool {
        match on_server(history, level) {
            Some(levels) => server::justifies(self, history, &levels),
            None => Replay::new(self, history, level).is_some_and(|replay| replay.agrees()),
        }
    }
}

/// One external read, explained.
#[derive(Clone, Copy)]
pub(super) struct Explained {
    pub(super) key: KeyId,
    pub(super) writer: Writer,
    pub(super) locking: bool,
}

/// An order, and who read from whom in it.
pub(super) struct Replay<'h> {
    pub(super) history: &'h History,
    pub(super) ledger: Ledger<'h>,
    level: IsolationLevel,
    /// The transactions that count, in commit order.
    pub(super) order: Vec<TransactionId>,
    /// Per transaction, where it begins and commits; nothing for those that do not count.
    begin: Vec<Option<usize>>,
    commit: Vec<Option<usize>>,
    /// Per transaction its external reads, in program order.
    pub(super) reads: Vec<Vec<Explained>>,
    /// Per transaction the keys that it wrote.
    pub(super) writes: Vec<Vec<KeyId>>,
}

impl<'h> Replay<'h> {
    fn new(order: &CommitOrder, history: &'h History, level: IsolationLevel) -> Option<Replay<'h>> {
        let transactions = history.transaction_count();
        let (mut begin, mut commit) = (vec![None; transactions], vec![None; transactions]);
        let mut commits = Vec::new();
        for (place, instant) in order.instants.iter().enumerate() {
            let (slot, transaction) = match *instant {
                Instant::Begin(transaction) => (begin.get_mut(transaction.index())?, transaction),
                Instant::Commit(transaction) => (commit.get_mut(transaction.index())?, transaction),
                Instant::Step(_) => return None,
            };
            if slot.replace(place).is_some() {
                return None;
            }
            commits.extend(matches!(instant, Instant::Commit(_)).then_some(transaction));
        }
        for transaction in 0..transactions {
            match (begin[transaction], commit[transaction]) {
                (Some(begin), Some(commit)) if begin < commit => {}
                (None, committed) => begin[transaction] = committed,
                _ => return None,
            }
        }
        let ledger = Ledger::with_counting(history, commit.iter().map(Option::is_some).collect());
        let (reads, writes) = (vec![Vec::new(); transactions], vec![Vec::new(); transactions]);
        let mut replay = Replay { history, ledger, level, order: commits, begin, commit, reads, writes };
        replay.explain(&order.choices)?;
        Some(replay)
    }

    /// Explains all reads of the transactions that count, or fails to.
    fn explain(&mut self, choices: &[(EventId, Writer)]) -> Option<()> {
        let lists = self.replay_lists();
        let choices: FxHashMap<EventId, Writer> = choices.iter().copied().collect();
        for transaction in self.order.clone() {
            for (read, event) in self.history.numbered_events_of(transaction).filter(|(_, event)| event.is_read()) {
                let list = self.ledger.is_list(event.key);
                let writer = if list {
                    Some(lists.get(&event.key).map_or_else(
                        || self.list_writer(read, &ListReplay::default()),
                        |list| self.list_writer(read, list),
                    )?)
                } else if let Some(own) = self.ledger.own_write(read) {
                    self.agrees_with_own(read, own).then_some(())?;
                    None
                } else {
                    Some(self.register_writer(read, choices.get(&read).copied())?)
                };
                if let Some(writer) = writer {
                    let explained = Explained { key: event.key, writer, locking: event.locking };
                    self.reads[transaction.index()].push(explained);
                }
            }
            let mut keys: Vec<KeyId> = self
                .history
                .events_of(transaction)
                .iter()
                .filter(|event| !event.is_read())
                .map(|event| event.key)
                .collect();
            keys.sort_unstable();
            keys.dedup();
            keys.retain(|&key| self.ledger.wrote(transaction, key));
            self.writes[transaction.index()] = keys;
        }
        Some(())
    }

    fn agrees_with_own(&self, read: EventId, own: EventId) -> bool {
        let itself = Writer::Transaction(self.history.transaction_of(read));
        self.history.may_return(self.history.event(read).value, self.history.event(own).value)
            && self.history.gone(read).is_none()
            && self.history.claim(read).is_none_or(|claim| claim == itself)
    }

    /// The chosen writer, or the only one there is among those that count.
    fn register_writer(&self, read: EventId, choice: Option<Writer>) -> Option<Writer> {
        let counts = |writer: &Writer| match writer {
            Writer::Initial => true,
            Writer::Transaction(writer) => self.ledger.counts(*writer),
        };
        let candidates: Vec<Writer> = self.ledger.candidates(read).into_iter().filter(counts).collect();
        match (choice, &candidates[..]) {
            (Some(choice), candidates) => candidates.contains(&choice).then_some(choice),
            (None, [only]) => Some(*only),
            _ => None,
        }
    }

    /// Every list as the commit order builds it.
    fn replay_lists(&self) -> FxHashMap<KeyId, ListReplay> {
        let mut lists: FxHashMap<KeyId, ListReplay> = FxHashMap::default();
        for &transaction in &self.order {
            for event in self.history.events_of(transaction) {
                if self.ledger.is_list(event.key) && !event.is_read() && self.ledger.wrote(transaction, event.key) {
                    let list = lists.entry(event.key).or_default();
                    list.elements.push(event.value);
                    match list.ends.last_mut() {
                        Some(last) if last.1 == transaction => last.0 += 1,
                        _ => list.ends.push((list.elements.len(), transaction)),
                    }
                }
            }
        }
        lists
    }

    /// What a list read saw of others must be a beginning of the list that ends where a transaction's elements end.
    fn list_writer(&self, read: EventId, list: &ListReplay) -> Option<Writer> {
        let event = self.history.event(read);
        let whole = self.history.elements(event.value);
        let initial = self.history.elements(self.history.initial(event.key));
        let own: Vec<Value> =
            self.ledger.own_appends(read).iter().map(|&append| self.history.event(append).value).collect();
        let external = whole.strip_prefix(initial)?.strip_suffix(&own[..])?;
        let is_list = event.value.is_list() || event.value.is_absent();
        if !is_list || !list.elements.starts_with(external) {
            return None;
        }
        let writer = match external.len() {
            0 => Writer::Initial,
            length => {
                let at = list.ends.binary_search_by_key(&length, |end| end.0).ok()?;
                Writer::Transaction(list.ends[at].1)
            }
        };
        let itself = Writer::Transaction(self.history.transaction_of(read));
        let last = if own.is_empty() { writer } else { itself };
        self.history.claim(read).is_none_or(|claim| claim == last).then_some(writer)
    }

    fn agrees(&self) -> bool {
        self.counts_whom_it_must() && self.keeps_sessions() && self.keeps_real_time() && self.keeps_levels()
    }

    fn counts_whom_it_must(&self) -> bool {
        self.history.transactions().all(|transaction| match self.history.outcome(transaction) {
            Outcome::Committed | Outcome::AbortedByProgram => self.ledger.counts(transaction),
            Outcome::AbortedByDatabase => !self.ledger.counts(transaction),
            Outcome::Unknown => true,
        })
    }

    fn keeps_sessions(&self) -> bool {
        self.history.sessions().all(|session| {
            let counting = self.history.transactions_of(session).filter(|&transaction| self.ledger.counts(transaction));
            let mut last = None;
            counting.into_iter().all(|transaction| {
                let after = last < Some(self.begin_of(transaction));
                last = Some(self.commit_of(transaction));
                after
            })
        })
    }

    /// Whoever ended before somebody began committed before that one's begin.
    fn keeps_real_time(&self) -> bool {
        if !self.level.is_strong() {
            return true;
        }
        let ended = |&transaction: &TransactionId| {
            let known = self.history.outcome(transaction) != Outcome::Unknown;
            Some((self.history.times(transaction).end.filter(|_| known)?, self.commit_of(transaction)))
        };
        let began =
            |&transaction: &TransactionId| Some((self.history.times(transaction).begin?, self.begin_of(transaction)));
        let mut ends: Vec<(i64, usize)> = self.order.iter().filter_map(ended).collect();
        let mut begins: Vec<(i64, usize)> = self.order.iter().filter_map(began).collect();
        ends.sort_unstable();
        begins.sort_unstable();
        let mut ends = ends.into_iter().peekable();
        let mut latest = None;
        begins.into_iter().all(|(time, begin)| {
            while let Some((_, commit)) = ends.next_if(|&(end, _)| end < time) {
                latest = latest.max(Some(commit));
            }
            latest < Some(begin)
        })
    }

    fn keeps_levels(&self) -> bool {
        let Some(levels) = self.levels() else { return false };
        let reads_follow = self.order.iter().all(|&reader| {
            self.reads[reader.index()].iter().all(|read| match read.writer {
                Writer::Initial => true,
                Writer::Transaction(writer) => writer != reader && self.commit_of(writer) < self.commit_of(reader),
            })
        });
        let psi = self.order.first().is_some_and(|first| levels[first.index()] == IsolationLevel::ParallelSnapshot);
        if !reads_follow {
            return false;
        }
        if psi {
            return Causality::new(self).keeps_parallel_snapshot();
        }
        self.sees_latest(&levels) && self.keeps_weak_levels(&levels)
    }

    /// The level of each transaction; nothing when they cannot be asked together.
    fn levels(&self) -> Option<Vec<IsolationLevel>> {
        use IsolationLevel::*;
        let each = |transaction: TransactionId| match self.level {
            Declared => self.history.declared_level(transaction),
            StrongSnapshot => Some(Snapshot),
            StrictSerializable => Some(Serializable),
            ReadCommitted | ReadAtomic | Causal | Prefix | ParallelSnapshot | Snapshot | Serializable | Engine(_) => {
                Some(self.level)
            }
        };
        // What does not count has no say, whatever it declares.
        let level =
            |t: TransactionId| if self.ledger.counts(t) { each(t) } else { Some(each(t).unwrap_or(Serializable)) };
        let levels: Vec<IsolationLevel> = self.history.transactions().map(level).collect::<Option<_>>()?;
        let psi = self.order.iter().filter(|transaction| levels[transaction.index()] == ParallelSnapshot).count();
        (psi == 0 || psi == self.order.len()).then_some(levels)
    }

    /// Walks through the instants and compares reads with the latest versions, where the level says so.
    fn sees_latest(&self, levels: &[IsolationLevel]) -> bool {
        use IsolationLevel::*;
        let mut instants: Vec<(usize, TransactionId, bool)> = Vec::new();
        for &transaction in &self.order {
            let (begin, commit) = (self.begin_of(transaction), self.commit_of(transaction));
            instants.push((commit, transaction, true));
            if begin != commit {
                instants.push((begin, transaction, false));
            }
        }
        instants.sort_unstable();
        let mut latest: FxHashMap<KeyId, TransactionId> = FxHashMap::default();
        let sees = |latest: &FxHashMap<KeyId, TransactionId>, read: &Explained| {
            latest.get(&read.key).map_or(Writer::Initial, |&writer| Writer::Transaction(writer)) == read.writer
        };
        for (_, transaction, is_commit) in instants {
            let level = levels[transaction.index()];
            let is_begin = !is_commit || self.begin_of(transaction) == self.commit_of(transaction);
            let checked = |read: &&Explained| match level {
                Prefix | Snapshot => is_begin && !read.locking || is_commit && read.locking,
                Serializable => is_commit,
                ReadCommitted | ReadAtomic | Causal => is_commit && read.locking,
                ParallelSnapshot | StrongSnapshot | StrictSerializable | Declared | Engine(_) => {
                    is_commit && read.locking
                }
            };
            if !self.reads[transaction.index()].iter().filter(checked).all(|read| sees(&latest, read)) {
                return false;
            }
            if is_commit {
                if level == Snapshot && !self.is_alone(transaction, &latest) {
                    return false;
                }
                self.writes[transaction.index()].iter().for_each(|&key| _ = latest.insert(key, transaction));
            }
        }
        true
    }

    /// Nobody committed a version of a key that it writes, or one that it read with a lock, after its begin.
    fn is_alone(&self, transaction: TransactionId, latest: &FxHashMap<KeyId, TransactionId>) -> bool {
        let begin = self.begin_of(transaction);
        let before = |writer: TransactionId| self.commit_of(writer) < begin;
        let locked = self.reads[transaction.index()].iter().filter(|read| read.locking);
        let mut locked_writers = locked.filter_map(|read| match read.writer {
            Writer::Initial => None,
            Writer::Transaction(writer) => Some(writer),
        });
        locked_writers.all(before)
            && self.writes[transaction.index()].iter().all(|key| latest.get(key).is_none_or(|&writer| before(writer)))
    }

    /// The axioms of read-committed, read-atomic and causal, for the plain reads of transactions at these levels.
    fn keeps_weak_levels(&self, levels: &[IsolationLevel]) -> bool {
        use IsolationLevel::*;
        let at = |level: IsolationLevel| self.order.iter().copied().filter(move |t| levels[t.index()] == level);
        let each = self.order.iter().all(|&reader| match levels[reader.index()] {
            ReadCommitted => self.keeps_read_committed(reader),
            // Those of one level together: see below.
            ReadAtomic | Causal => true,
            Prefix | ParallelSnapshot | Snapshot | Serializable => true,
            StrongSnapshot | StrictSerializable | Declared | Engine(_) => true,
        });
        each && self.keeps_read_atomic(levels)
            && (at(Causal).next().is_none() || Causality::new(self).keeps_causal(at(Causal)))
    }

    /// Whether a version that must have been seen is not newer than the one that was read.
    pub(super) fn is_not_newer(&self, seen: TransactionId, read: &Explained) -> bool {
        match read.writer {
            Writer::Initial => false,
            Writer::Transaction(writer) => seen == writer || self.commit_of(seen) < self.commit_of(writer),
        }
    }

    fn obeys(&self, seen: Writer, read: &Explained) -> bool {
        let Writer::Transaction(seen) = seen else { return true };
        !self.ledger.wrote(seen, read.key) || self.is_not_newer(seen, read)
    }

    fn keeps_read_committed(&self, reader: TransactionId) -> bool {
        let mut seen: FxHashSet<Writer> = FxHashSet::default();
        let mut plain = self.reads[reader.index()].iter().filter(|read| !read.locking);
        plain.all(|read| {
            let obeys = seen.iter().all(|&earlier| self.obeys(earlier, read));
            seen.insert(read.writer);
            obeys
        })
    }

    /// Session by session: a read sees the last write of its key in its own session, and all of every transaction it reads from.
    fn keeps_read_atomic(&self, levels: &[IsolationLevel]) -> bool {
        self.history.sessions().all(|session| {
            let mut last: FxHashMap<KeyId, TransactionId> = FxHashMap::default();
            self.history.transactions_of(session).all(|reader| {
                let concerned = self.ledger.counts(reader) && levels[reader.index()] == IsolationLevel::ReadAtomic;
                let plain = self.reads[reader.index()].iter().filter(|read| !read.locking);
                let seen: FxHashSet<Writer> = plain.clone().map(|read| read.writer).collect();
                let keeps = !concerned
                    || plain.clone().all(|read| {
                        let session = last.get(&read.key).is_none_or(|&last| self.is_not_newer(last, read));
                        session && seen.iter().all(|&other| self.obeys(other, read))
                    });
                self.writes[reader.index()].iter().for_each(|&key| _ = last.insert(key, reader));
                keeps
            })
        })
    }

    pub(super) fn begin_of(&self, transaction: TransactionId) -> usize {
        self.begin[transaction.index()].unwrap_or(usize::MAX)
    }

    pub(super) fn commit_of(&self, transaction: TransactionId) -> usize {
        self.commit[transaction.index()].unwrap_or(usize::MAX)
    }
}

/// A list and where each transaction's elements end.
#[derive(Default)]
struct ListReplay {
    elements: Vec<Value>,
    ends: Vec<(usize, TransactionId)>,
}
