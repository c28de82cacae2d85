//! A history that could have been, as what a database is told in order to bring it about.
//!
//! ```text
//!   predicted   alice: r(x,bank) w(x,alice)   bob: r(x,bank) w(x,bob)          bob's read has changed
//!   foretold    alice[0]: x from bank[0]      bob[0]: x from bank[0]
//!   order       bank  alice  bob                                               as it was observed, where that is possible
//!   company     alice[0] waits until bob is connected: who connects later would see what she wrote
//! ```
//!
//! A database of a level orders the versions of a row as their writers commit, so not every order of transactions lets each read
//! return what is foretold. The order in which they were observed asks least of the application; it is tried out on a history that grows
//! as the database's does. Where it does not work, the order that the checker found does.

use crate::Complaint;
use skew_check::{
    Budget, CommitOrder, GrowingHistory, GrowingId, GrowingOptions, Instant, OtherRun, SomeRun, Updates, Version,
};
use skew_history::{EventId, History, IsolationLevel, KeyId, Outcome, TransactionId, Writer};
use skew_mockdb::wire::PrescribedTurn;
use skew_mockdb::{Foretelling, ForetoldRead, ForetoldTransaction, TransactionPlace};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// What is foretold of a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Prophecy {
    /// What each read returns.
    pub foretelling: Foretelling,
    /// Whose transaction comes next, from the first to the last.
    pub order: Vec<String>,
}

/// Under which conditions something is foretold.
#[derive(Clone, Copy)]
pub struct ProphecyTerms<'a> {
    /// The level, of the database and of the prediction; the declared one is that of each transaction.
    pub level: IsolationLevel,
    /// Whether updates lock.
    pub updates: Updates,
    /// How much work the checker may do.
    pub budget: Budget<'a>,
}

impl Prophecy {
    /// What is foretold by a history in which these reads are not as observed: the name of a transaction, and which of its events.
    /// Nothing if the level does not allow the history, or the budget ends before that is known.
    pub fn of(
        predicted: &History,
        changed: &BTreeSet<(String, usize)>,
        terms: ProphecyTerms<'_>,
    ) -> Result<Option<Prophecy>, Complaint> {
        let mut events = BTreeSet::new();
        for transaction in predicted.transactions() {
            let name = predicted.transaction_name(transaction).to_string();
            let numbers = predicted.event_range(transaction).map(EventId).enumerate();
            events.extend(numbers.filter(|(place, _)| changed.contains(&(name.clone(), *place))).map(|(_, id)| id));
        }
        foretell(predicted, &OtherRun::new(predicted), &events, terms)
    }

    /// A stepping stone: of what was observed one read returns what somebody else wrote. What came behind it is cut off, because nobody
    /// knows what becomes of it. Nothing if the level does not allow that.
    pub fn of_one_change(
        observed: &History,
        read: EventId,
        writer: Writer,
        terms: ProphecyTerms<'_>,
    ) -> Result<Option<Prophecy>, Complaint> {
        let reads = reads_of(&OtherRun::new(observed), &[])?;
        let cut = observed.transaction_of(read);
        let gone = cut_off(observed, &reads, cut, &past(observed, &reads, writer));
        if let Writer::Transaction(writer) = writer
            && (writer == cut || gone.contains(&writer))
        {
            return Ok(None);
        }
        let is_kept = |event: &EventId| {
            let transaction = observed.transaction_of(*event);
            !gone.contains(&transaction) && (transaction != cut || *event <= read)
        };
        let kept: Vec<EventId> = (0..observed.event_count() as u32).map(EventId).filter(is_kept).collect();
        let (part, origin) = observed.restrict(&kept);
        let place = |writer| origin.iter().position(|other| *other == writer);
        let writer = match writer {
            Writer::Initial => Some(Writer::Initial),
            Writer::Transaction(writer) => place(writer).map(|place| Writer::Transaction(TransactionId(place as u32))),
        };
        let (Some(writer), Ok(read)) = (writer, kept.binary_search(&read)) else { return Ok(None) };
        let read = EventId(read as u32);
        let mut run = OtherRun::new(&part);
        run.may_read(read, &[writer]).map_err(|error| impossible(error.to_string()))?;
        foretell(&part, &run, &BTreeSet::from([read]), terms)
    }

    /// The order as a server is told it.
    pub(super) fn turns(foretelling: &Foretelling, order: &[String]) -> Vec<PrescribedTurn> {
        let mut counts: BTreeMap<&String, u32> = BTreeMap::new();
        let turn = |session| {
            let count = counts.entry(session).or_default();
            let number = *count;
            *count += 1;
            let transactions = foretelling.sessions.get(session);
            let foretold = transactions.and_then(|transactions| transactions.get(number as usize));
            let company = foretold.map(|foretold| foretold.company.clone()).unwrap_or_default();
            PrescribedTurn { session: session.clone(), number, company }
        };
        order.iter().map(turn).collect()
    }
}

/// The places of all transactions that count.
pub(super) fn places(history: &History) -> BTreeMap<TransactionId, TransactionPlace> {
    let mut places = BTreeMap::new();
    for session in history.sessions() {
        let counts = |transaction: &TransactionId| history.outcome(*transaction) != Outcome::AbortedByDatabase;
        let name = history.session_name(session).to_string();
        let counted = history.transactions_of(session).filter(counts);
        places.extend(counted.zip(0..).map(|(transaction, number)| (transaction, (name.clone(), number))));
    }
    places
}

/// The reads of what others wrote, and who wrote it; where several could have, whom the checker chose.
pub(super) type ReadsFrom = BTreeMap<EventId, Writer>;

pub(super) fn reads_of(run: &OtherRun<'_>, choices: &[(EventId, Writer)]) -> Result<ReadsFrom, Complaint> {
    let bad = |what: &str| impossible(format!("its reads cannot be explained: {what}"));
    let reads = run.reads().map_err(|read| bad(&format!("{read:?}")))?;
    let reads = reads.ok_or_else(|| bad("it is open which transactions committed"))?;
    let chosen = |read| choices.iter().find(|choice| choice.0 == read).map(|choice| choice.1);
    let writer = |read: &skew_check::ExternalRead| chosen(read.read).or(read.writers.first().copied());
    Ok(reads.iter().filter_map(|read| Some((read.read, writer(read)?))).collect())
}

pub(super) fn impossible(what: String) -> Complaint {
    Complaint::new("a predicted run", what, "")
}

/// The transactions that cannot be foretold when one is cut, because it may go on otherwise: the later ones of its session, those that came
/// after it and are not needed for what it reads, and who read from any of these.
fn cut_off(
    history: &History,
    reads: &ReadsFrom,
    cut: TransactionId,
    needed: &BTreeSet<TransactionId>,
) -> BTreeSet<TransactionId> {
    let later = |transaction: TransactionId| {
        let session = history.transactions_of(history.session_of(transaction));
        session.filter(move |other| *other > transaction)
    };
    let came_after = |other: &TransactionId| rank(history, *other) > rank(history, cut) && !needed.contains(other);
    let mut gone: BTreeSet<TransactionId> = history.transactions().filter(came_after).chain(later(cut)).collect();
    loop {
        let is_gone = |writer: &Writer| match writer {
            Writer::Initial => false,
            Writer::Transaction(writer) => *writer == cut || gone.contains(writer),
        };
        let readers = reads.iter().filter(|(_, writer)| is_gone(writer)).map(|(read, _)| history.transaction_of(*read));
        let behind: BTreeSet<TransactionId> = gone.iter().flat_map(|transaction| later(*transaction)).collect();
        // What the cut one itself read behind the cut is gone anyway.
        let new = readers.chain(behind).filter(|other| *other != cut && !gone.contains(other));
        let new: BTreeSet<TransactionId> = new.collect();
        if new.is_empty() {
            return gone;
        }
        gone.extend(new);
    }
}

/// A transaction, and all that it read from or that came before it in a session, and so on.
fn past(history: &History, reads: &ReadsFrom, writer: Writer) -> BTreeSet<TransactionId> {
    let mut past = BTreeSet::new();
    let mut open: Vec<Writer> = vec![writer];
    while let Some(writer) = open.pop() {
        let Writer::Transaction(transaction) = writer else { continue };
        if past.insert(transaction) {
            open.extend(history.before_in_session(transaction).map(Writer::Transaction));
            let range = history.event_range(transaction);
            open.extend(reads.range(EventId(range.start)..EventId(range.end)).map(|(_, writer)| *writer));
        }
    }
    past
}

/// When a transaction was observed: by its end, else by the number in its name, which the mock database gives in the order of begins.
fn rank(history: &History, transaction: TransactionId) -> (i64, u64, TransactionId) {
    let name = history.transaction_name(transaction).to_string();
    let digits = name.len() - name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    let number = name[name.len() - digits..].parse().unwrap_or(u64::MAX);
    (history.times(transaction).end.unwrap_or(i64::MAX), number, transaction)
}

pub(super) fn foretell(
    history: &History,
    run: &OtherRun<'_>,
    changed: &BTreeSet<EventId>,
    terms: ProphecyTerms<'_>,
) -> Result<Option<Prophecy>, Complaint> {
    let SomeRun::Found(found) = run.find(terms.level, terms.budget) else { return Ok(None) };
    let reads = reads_of(run, &found.choices)?;
    let places = places(history);
    let lineup = Lineup { history, reads: &reads, places: &places, terms };
    let order = lineup.order(&found);
    let positions: BTreeMap<TransactionId, usize> = order.iter().copied().zip(0..).collect();
    let mut foretelling = Foretelling::default();
    for (transaction, (session, _)) in &places {
        let all = foretelling.sessions.entry(session.clone()).or_default();
        all.push(ForetoldTransaction {
            reads: lineup.foretold(*transaction, changed),
            company: lineup.company(*transaction, &positions),
        });
    }
    let order = order.iter().map(|transaction| places[transaction].0.clone()).collect();
    Ok(Some(Prophecy { foretelling, order }))
}

/// The transactions of a run, to be put in a row.
struct Lineup<'a> {
    history: &'a History,
    reads: &'a ReadsFrom,
    places: &'a BTreeMap<TransactionId, TransactionPlace>,
    terms: ProphecyTerms<'a>,
}

impl Lineup<'_> {
    fn foretold(&self, transaction: TransactionId, changed: &BTreeSet<EventId>) -> Vec<ForetoldRead> {
        let read = |(number, event): (EventId, &skew_history::Event)| {
            let from = match self.reads.get(&number)? {
                Writer::Initial => None,
                Writer::Transaction(writer) => Some(self.places.get(writer)?.clone()),
            };
            let key = self.history.key_name(event.key).to_string();
            Some(ForetoldRead { key, from, changed: changed.contains(&number) })
        };
        self.history.numbered_events_of(transaction).filter_map(read).collect()
    }

    /// As observed, if a database would go along with that; else as the checker says.
    fn order(&self, found: &CommitOrder) -> Vec<TransactionId> {
        match self.sorted(&[]) {
            Some(observed) if self.is_possible(&observed) => observed,
            observed => {
                let commits = found.instants.iter().filter_map(|instant| match instant {
                    Instant::Commit(transaction) => Some(*transaction),
                    Instant::Begin(_) | Instant::Step(_) => None,
                });
                self.sorted(&commits.collect::<Vec<_>>()).or(observed).unwrap_or_default()
            }
        }
    }

    /// The order that keeps to sessions, to who read from whom and to a row that is given, and otherwise to what was observed.
    fn sorted(&self, row: &[TransactionId]) -> Option<Vec<TransactionId>> {
        let mut after: BTreeMap<TransactionId, Vec<TransactionId>> = BTreeMap::new();
        let mut open: BTreeMap<TransactionId, usize> =
            self.places.keys().map(|transaction| (*transaction, 0)).collect();
        for (before, behind) in self.arrows(row) {
            after.entry(before).or_default().push(behind);
            *open.entry(behind).or_default() += 1;
        }
        let mut ready: BinaryHeap<Reverse<(i64, u64, TransactionId)>> = BinaryHeap::new();
        let free = open
            .iter()
            .filter(|(_, left)| **left == 0)
            .map(|(transaction, _)| Reverse(rank(self.history, *transaction)));
        ready.extend(free);
        let mut sorted = Vec::new();
        while let Some(Reverse((.., transaction))) = ready.pop() {
            sorted.push(transaction);
            for behind in after.remove(&transaction).into_iter().flatten() {
                let left = open.entry(behind).or_default();
                *left -= 1;
                if *left == 0 {
                    ready.push(Reverse(rank(self.history, behind)));
                }
            }
        }
        (sorted.len() == self.places.len()).then_some(sorted)
    }

    /// What has to come before what.
    fn arrows(&self, row: &[TransactionId]) -> Vec<(TransactionId, TransactionId)> {
        let neighbours = |all: &[TransactionId]| all.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>();
        let counts = |transaction: &TransactionId| self.places.contains_key(transaction);
        let row: Vec<TransactionId> = row.iter().copied().filter(counts).collect();
        let mut arrows = neighbours(&row);
        for session in self.history.sessions() {
            let all: Vec<TransactionId> = self.history.transactions_of(session).filter(counts).collect();
            arrows.extend(neighbours(&all));
        }
        for (read, writer) in self.reads {
            let reader = self.history.transaction_of(*read);
            if let Writer::Transaction(writer) = writer
                && counts(writer)
                && counts(&reader)
            {
                arrows.push((*writer, reader));
            }
        }
        arrows
    }

    /// Whether a database lets all this happen, one transaction after the other.
    fn is_possible(&self, order: &[TransactionId]) -> bool {
        let options = GrowingOptions { updates: self.terms.updates, horizon: None, ..GrowingOptions::default() };
        let mut growing = GrowingHistory::new(options);
        let mut begun = BTreeMap::new();
        order.iter().all(|transaction| self.happens(&mut growing, &mut begun, *transaction))
    }

    fn happens(
        &self,
        growing: &mut GrowingHistory,
        begun: &mut BTreeMap<TransactionId, GrowingId>,
        transaction: TransactionId,
    ) -> bool {
        let level = match self.terms.level {
            IsolationLevel::Declared => self.history.declared_level(transaction),
            level => Some(level),
        };
        let Some(level) = level.filter(|level| level.is_of_papers()) else { return false };
        let id = growing.begin(self.history.session_of(transaction), level);
        for (number, event) in self.history.numbered_events_of(transaction) {
            let version = match self.reads.get(&number) {
                None if event.is_read() => continue,
                None => None,
                Some(Writer::Initial) => Some(Version::Initial),
                Some(Writer::Transaction(writer)) => match begun.get(writer) {
                    Some(writer) => Some(Version::Of(*writer)),
                    None => return false,
                },
            };
            // A lock shows the latest version.
            let locks = event.locking && self.terms.updates == Updates::Atomic;
            let happened = match version {
                Some(version) if locks && version != growing.latest(event.key) => return false,
                Some(version) => growing.read(id, event.key, version, event.locking),
                None => growing.write(id, event.key),
            };
            if happened.is_err() {
                return false;
            }
        }
        begun.insert(transaction, id);
        if self.history.outcome(transaction) == Outcome::AbortedByProgram {
            growing.abort(id, true);
            return true;
        }
        growing.commit(id).is_ok()
    }

    /// The sessions that are to miss what a transaction writes, and come after it.
    fn company(&self, transaction: TransactionId, positions: &BTreeMap<TransactionId, usize>) -> BTreeSet<String> {
        let place = |transaction: TransactionId| positions.get(&transaction).copied();
        let Some(own) = place(transaction) else { return BTreeSet::new() };
        let written: BTreeSet<KeyId> = match self.history.outcome(transaction) {
            Outcome::AbortedByProgram => BTreeSet::new(),
            _ => self.history.events_of(transaction).iter().filter(|event| !event.is_read()).map(|it| it.key).collect(),
        };
        let misses = |read: EventId, writer: Writer| {
            let before = match writer {
                Writer::Initial => true,
                Writer::Transaction(writer) => place(writer).is_some_and(|writer| writer < own),
            };
            let reader = place(self.history.transaction_of(read));
            before && reader.is_some_and(|reader| reader > own) && written.contains(&self.history.event(read).key)
        };
        let readers = self.reads.iter().filter(|(read, writer)| misses(**read, **writer));
        let session = |read: EventId| self.history.session_of(self.history.transaction_of(read));
        let others = readers.map(|(read, _)| session(*read));
        let others = others.filter(|other| *other != self.history.session_of(transaction));
        others.map(|other| self.history.session_name(other).to_string()).collect()
    }
}
