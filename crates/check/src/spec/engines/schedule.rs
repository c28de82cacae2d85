//! The definition on one schedule: all moments in a row.
//!
//! With every moment at its place nothing is left to search for, and nobody has to say who wrote what was read: a read returns the version that was
//! the latest at its moment. Whoever had a lock first released it first, so the lock orders are those of the releases, and every edge is a comparison
//! of two places. One walk along each key is enough: the whole is nearly linear, however large the history.
//!
//! ```text
//!   steps   t1 t1 t2 t1 t2 …        the third moment of t1 is where t1 stands for the third time
//! ```

use super::latest::KeyVersions;
use super::order::StoryMoment;
use super::story::{CountingNumbers, Deed, EarlierWrites, From, Story};
use super::{queue, serial};
use crate::spec::Attention;
use crate::spec::choices::may_be_read;
use crate::spec::lists;
use skew_history::{EngineLevel, EventId, History, Outcome, TransactionId, Value, Writer};

/// Whether a history came about in these steps: each a moment of its transaction, in its own order. The writers of some reads are given, sorted by
/// event.
pub(super) fn went(
    history: &History,
    levels: &[EngineLevel],
    steps: &[TransactionId],
    given: &[(EventId, Writer)],
    attention: Attention,
) -> bool {
    let Some(counts) = counting(history, steps) else { return false };
    let (numbers, are_lists) = (CountingNumbers::new(&counts), lists::lists(history));
    let from = |event: EventId, own: Option<EarlierWrites>| match are_lists[history.event(event).key.index()] {
        true => Some(From::Version(None)),
        false => first_guess(history, &numbers, event, own),
    };
    let Some(story) = Story::told(history, &counts, levels, &from) else { return false };
    let Some(places) = places(&story, steps) else { return false };
    let mut schedule = WalkedSchedule { story, places, versions: Vec::new() };
    schedule.keeps_sessions()
        && schedule.keeps_real_time()
        && schedule.explains_reads(&are_lists)
        && schedule.agrees_with(given, &numbers)
        && schedule.story.keys().all(|key| queue::keeps_locks(&schedule, key))
        && serial::is_serializable_in(&schedule, attention)
}

/// Who takes part: those that must, and of unknown outcomes those that have a step. Nothing when a step is nobody's.
fn counting(history: &History, steps: &[TransactionId]) -> Option<Vec<bool>> {
    let mut counts: Vec<bool> = history.transactions().map(|one| history.outcome(one) != Outcome::Unknown).collect();
    steps.iter().try_for_each(|step| counts.get_mut(step.index()).map(|counts| *counts = true))?;
    Some(counts)
}

/// What can be said of a read of a register before its place is known: whether it is of an own write. Nothing when that is not what was read.
fn first_guess(
    history: &History,
    numbers: &CountingNumbers,
    read: EventId,
    own: Option<EarlierWrites>,
) -> Option<From> {
    if let Some(by) = history.gone(read) {
        return may_be_read(history, by).then(|| numbers.of(by)).flatten().map(From::Gone);
    }
    let is_of_another = || {
        let reader = Writer::Transaction(history.transaction_of(read));
        history.claim(read).is_some_and(|claim| claim != reader)
    };
    match own {
        Some(own) if !is_of_another() => history.may_return(history.event(read).value, own.last).then_some(From::Own),
        _ => Some(From::Version(None)),
    }
}

/// The place of each moment; nothing when the steps are not those of the transactions that count.
fn places(story: &Story, steps: &[TransactionId]) -> Option<Vec<usize>> {
    let mut next: Vec<Option<(usize, usize)>> = vec![None; story.history.transaction_count()];
    for teller in &story.transactions {
        next[teller.id.index()] = Some((teller.begin, teller.end));
    }
    let mut places = vec![usize::MAX; story.moments()];
    for (place, step) in steps.iter().enumerate() {
        let (moment, end) = (*next.get_mut(step.index())?)?;
        places[moment] = place;
        next[step.index()] = (moment < end).then_some((moment + 1, end));
    }
    (!places.contains(&usize::MAX)).then_some(places)
}

/// All moments at their places.
pub(super) struct WalkedSchedule<'a> {
    pub(super) story: Story<'a>,
    /// Per moment its place.
    places: Vec<usize>,
    /// Per key its versions.
    pub(super) versions: Vec<KeyVersions>,
}

impl WalkedSchedule<'_> {
    /// Where a moment stands.
    pub(super) fn at(&self, moment: StoryMoment) -> usize {
        self.places[moment]
    }

    /// Where a transaction ends.
    pub(super) fn end(&self, transaction: usize) -> usize {
        self.places[self.story.transactions[transaction].end]
    }

    /// Transactions of one session are neighbours.
    fn keeps_sessions(&self) -> bool {
        let session = |number: usize| self.story.history.session_of(self.story.transactions[number].id);
        let begin = |number: usize| self.places[self.story.transactions[number].begin];
        (1..self.story.transactions.len())
            .all(|number| session(number - 1) != session(number) || self.end(number - 1) < begin(number))
    }

    /// Whoever ended before another began stands before it, where both have times.
    fn keeps_real_time(&self) -> bool {
        let history = self.story.history;
        let mut ends: Vec<(i64, usize)> = Vec::new();
        let mut begins: Vec<(i64, usize)> = Vec::new();
        for one in &self.story.transactions {
            let times = history.times(one.id);
            let end = times.end.filter(|_| history.outcome(one.id) != Outcome::Unknown);
            ends.extend(end.map(|time| (time, self.places[one.end])));
            begins.extend(times.begin.map(|time| (time, self.places[one.begin])));
        }
        ends.sort_unstable();
        begins.sort_unstable();
        let mut ends = ends.into_iter().peekable();
        let mut last = None;
        begins.into_iter().all(|(time, place)| {
            while let Some((_, end)) = ends.next_if(|&(end, _)| end < time) {
                last = last.max(Some(end));
            }
            last.is_none_or(|last| last < place)
        })
    }

    /// Finds the version that every read returned: the latest at its moment. False when it is another one; and when an unknown outcome takes part
    /// that nobody has read.
    fn explains_reads(&mut self, are_lists: &[bool]) -> bool {
        let is_certain = |id: TransactionId| self.story.history.outcome(id) != Outcome::Unknown;
        let mut is_read: Vec<bool> = self.story.transactions.iter().map(|one| is_certain(one.id)).collect();
        for key in self.story.keys() {
            let versions = KeyVersions::new(self, key, are_lists[key]);
            let (mut reader, mut own): (usize, Vec<Value>) = (usize::MAX, Vec::new());
            for place in 0..self.story.numbers_of(key).len() {
                let number = self.story.numbers_of(key)[place] as usize;
                let touch = &self.story.touches[number];
                if std::mem::replace(&mut reader, touch.transaction) != touch.transaction {
                    own.clear();
                }
                let Deed::Read { from: guess, .. } = touch.deed else {
                    own.push(self.story.history.event(touch.event).value);
                    continue;
                };
                let Some(found) = versions.source(self, touch, guess, &own) else { return false };
                versions.read_by(found, &mut is_read);
                if let Deed::Read { from, .. } = &mut self.story.touches[number].deed {
                    *from = found;
                }
            }
            self.versions.push(versions);
        }
        is_read.into_iter().all(|is_read| is_read)
    }

    /// Whether reads are from whom they are said to be from.
    fn agrees_with(&self, given: &[(EventId, Writer)], numbers: &CountingNumbers) -> bool {
        let touches = &self.story.touches;
        given.iter().all(|&(event, writer)| {
            let touch = touches.binary_search_by_key(&event, |touch| touch.event).ok().map(|place| &touches[place]);
            let Some(Deed::Read { from, .. }) = touch.map(|touch| touch.deed) else { return false };
            match writer {
                Writer::Initial => from == From::Version(None),
                Writer::Transaction(id) => {
                    let number =
                        (id.index() < self.story.history.transaction_count()).then(|| numbers.of(id)).flatten();
                    number.is_some() && from == From::Version(number)
                }
            }
        })
    }
}
