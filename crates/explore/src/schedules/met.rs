//! States that were met before: the search does not go on from one of them a second time.
//!
//! ```text
//!   a: refused at statement 2   · b: lock x · c: snapshot      ┐ what a had locked is free again, and what all have heard is the same:
//!   b: lock x · a: refused at statement 2      · c: snapshot   ┘ two schedules, one state
//! ```
//!
//! Sleep sets know which two steps next to each other may be exchanged. That schedules which differ in more than that come to the same they do
//! not see: who was refused leaves no trace, who is over needs no snapshot. There were thirty schedules for each history of TPC-C.
//!
//! **What a state is.** All that anything that comes later can depend on, compared exactly: hashes only find what to compare with. That is
//!
//! - what each transaction has asked and heard, from which follow its next request, what it leaves, and what is told of it in the end;
//! - where those stand who are not over, and for whom a wait was needed;
//! - the server: tuples, locks, queues and the order of changes, row by row, and the snapshots that are still looked at ([`StateParts`]).
//!
//! Not in it is in which order transactions ended, and who took which step: runs that differ in nothing else are one history.
//!
//! **Why nothing is lost.** What can come after two equal states is the same. Of the first one everything was tried that begins with somebody who
//! was awake there, or comes to the same as what begins so. If whoever slept there sleeps at the second one, too, the second one has nothing
//! to try that the first one had not. A state that is met with others asleep is gone on from, and both sets are kept. The first one is never
//! under way when the second one is met, since no step leads back: so each history is met where it was met first without all this, by the same
//! steps, and not a byte of a report changes.
//!
//! **Memory.** Parts are kept once and have a number, a state is a row of numbers: of thirty or so, where three sessions are under way. When the room is used up, all is forgotten and the search
//! begins to remember anew: what was met before that and comes again costs time, and the fingerprints of histories still know it.
//!
//! [`StateParts`]: crate::server::part::StateParts

use super::ServerNode;
use crate::server::part::{StatePart, StateParts};
use crate::server::turn::{Dialogue, TurnPoint};
use crate::set::{Number, Set};
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The number of a part.
type PartNumber = u32;

/// What a state takes beside its numbers; about.
const STATE_BYTES: usize = 80;

/// Who slept at a state: the first time that it was met, and each other time that it was gone on from.
type Sleepers = (Set, Option<Box<Vec<Set>>>);

/// The states that a search has met, as far as it remembers them.
pub(crate) struct MetStates {
    /// By the numbers of their parts.
    states: FxHashMap<Box<[PartNumber]>, Sleepers>,
    databases: PartPool<Box<[PartNumber]>>,
    dialogues: PartPool<Arc<Dialogue>>,
    /// The numbers of dialogues by where they are; those in the pool stay there.
    places: FxHashMap<usize, PartNumber>,
    parts: PartPool<StatePart>,
    stands: FxHashMap<TurnPoint, PartNumber>,
    next: PartNumber,
    used: usize,
    room: usize,
}

/// Parts of one kind, each once.
struct PartPool<T> {
    known: FxHashMap<u64, Vec<(T, PartNumber)>>,
}

impl<T: PartialEq> PartPool<T> {
    fn new() -> PartPool<T> {
        PartPool { known: FxHashMap::default() }
    }

    /// The part that is equal to one, with its number, which is `next` if there was none; and whether it is new.
    fn find(&mut self, hash: u64, part: T, next: PartNumber) -> (&T, PartNumber, bool) {
        let alike = self.known.entry(hash).or_default();
        let (place, is_new) = match alike.iter().position(|other| other.0 == part) {
            Some(place) => (place, false),
            None => {
                alike.push((part, next));
                (alike.len() - 1, true)
            }
        };
        let (part, number) = &alike[place];
        (part, *number, is_new)
    }
}

impl MetStates {
    /// Nothing was met yet; room for about so many bytes.
    pub(crate) fn new(room: usize) -> MetStates {
        MetStates {
            states: FxHashMap::default(),
            databases: PartPool::new(),
            dialogues: PartPool::new(),
            places: FxHashMap::default(),
            parts: PartPool::new(),
            stands: FxHashMap::default(),
            next: 0,
            used: 0,
            room,
        }
    }

    /// Meets a state: whether nothing has to be tried there any more.
    pub(crate) fn meet<L>(&mut self, node: &mut ServerNode<L>) -> bool {
        if self.room == 0 {
            return false;
        }
        if self.used > self.room || self.next > PartNumber::MAX / 2 {
            *self = MetStates::new(self.room);
        }
        let state = self.state(node);
        let asleep: Set = node.asleep.iter().map(|asleep| asleep.0).collect();
        match self.states.entry(state) {
            Entry::Occupied(mut known) => {
                let (first, others) = known.get_mut();
                let all = [*first].into_iter().chain(others.iter().flat_map(|others| others.iter().copied()));
                let is_done = all.into_iter().any(|before| (before - asleep).is_empty());
                if !is_done {
                    self.used += size_of::<Set>();
                    others.get_or_insert_default().push(asleep);
                }
                is_done
            }
            Entry::Vacant(new) => {
                self.used += STATE_BYTES + size_of_val(&new.key()[..]);
                new.insert((asleep, None));
                false
            }
        }
    }

    /// A state as numbers. Equal dialogues become one, so that they take up their room once.
    fn state<L>(&mut self, node: &mut ServerNode<L>) -> Box<[PartNumber]> {
        let mut state = Vec::with_capacity(32);
        state.extend(node.dialogues[1..].iter_mut().map(|dialogue| self.dialogue(dialogue)));
        // Who is over follows from the dialogues.
        for number in (1..node.dialogues.len()).filter(|&number| !node.over.contains(number as Number)) {
            state.push(self.stand(node.stands[number]));
        }
        push_set(&mut state, node.needed);
        let StateParts { snapshots, parts } = node.database.parts(node.served());
        for (number, taken, seen) in snapshots {
            state.extend([number.into(), taken]);
            push_set(&mut state, seen);
        }
        let parts: Box<[PartNumber]> = parts.into_iter().map(|part| self.part(part)).collect();
        state.push(self.database(parts));
        state.into()
    }

    fn dialogue(&mut self, dialogue: &mut Arc<Dialogue>) -> PartNumber {
        if let Some(&number) = self.places.get(&Arc::as_ptr(dialogue).addr()) {
            return number;
        }
        let mut hasher = FxHasher::default();
        dialogue.hash_roughly(&mut hasher);
        let (kept, number, is_new) = self.dialogues.find(hasher.finish(), Arc::clone(dialogue), self.next);
        *dialogue = Arc::clone(kept);
        if is_new {
            self.places.insert(Arc::as_ptr(dialogue).addr(), number);
            self.next += 1;
            self.used += STATE_BYTES + dialogue.size();
        }
        number
    }

    fn database(&mut self, parts: Box<[PartNumber]>) -> PartNumber {
        let mut hasher = FxHasher::default();
        parts.hash(&mut hasher);
        let (kept, number, is_new) = self.databases.find(hasher.finish(), parts, self.next);
        if is_new {
            self.next += 1;
            self.used += STATE_BYTES + size_of_val(&kept[..]);
        }
        number
    }

    fn part(&mut self, part: StatePart) -> PartNumber {
        let mut hasher = FxHasher::default();
        part.hash_roughly(&mut hasher);
        let (kept, number, is_new) = self.parts.find(hasher.finish(), part, self.next);
        if is_new {
            self.next += 1;
            self.used += STATE_BYTES + kept.size();
        }
        number
    }

    fn stand(&mut self, stand: TurnPoint) -> PartNumber {
        let next = self.stands.len() as PartNumber;
        *self.stands.entry(stand).or_insert(next)
    }
}

/// A set as words, which most programs need one of, and how many they are.
fn push_set(state: &mut Vec<PartNumber>, set: Set) {
    let words = set.words();
    let count = words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
    state.push(count as PartNumber);
    state.extend(&words[..count]);
}
