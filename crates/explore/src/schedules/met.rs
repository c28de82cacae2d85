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
//! **Memory.** Parts are kept once and have a number, a state is a row of numbers. When the room is used up, all is forgotten and the search
//! begins to remember anew: what was met before that and comes again costs time, and the fingerprints of histories still know it.
//!
//! [`StateParts`]: crate::server::part::StateParts

use super::ServerNode;
use crate::server::part::{StatePart, StateParts};
use crate::server::turn::{Dialogue, TurnPoint};
use crate::set::{Number, Set};
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::hash_map::Entry;
use std::hash::Hasher;
use std::sync::Arc;

/// The number of a part. It is given once: a part that was forgotten has another one when it comes again.
type PartNumber = u32;

/// What a state takes beside its numbers, and who slept there; about.
const STATE_BYTES: usize = 80;

/// The states that a search has met, as far as it remembers them.
pub(crate) struct MetStates {
    /// By the numbers of their parts: who slept there.
    states: FxHashMap<Box<[PartNumber]>, Vec<Set>>,
    dialogues: PartPool<Arc<Dialogue>>,
    /// The numbers of dialogues by where they are; those in the pool stay there.
    places: FxHashMap<*const Dialogue, PartNumber>,
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
            dialogues: PartPool::new(),
            places: FxHashMap::default(),
            parts: PartPool::new(),
            stands: FxHashMap::default(),
            next: 0,
            used: 0,
            room,
        }
    }

    /// Begins anew. Numbers are not given again; when there are none left, nothing is remembered.
    fn forget(&mut self) {
        let is_used_up = self.next > PartNumber::MAX / 2;
        *self = MetStates { next: self.next, ..MetStates::new(if is_used_up { 0 } else { self.room }) };
    }

    /// Meets a state: whether nothing has to be tried there any more.
    pub(crate) fn meet<L>(&mut self, node: &mut ServerNode<L>) -> bool {
        if self.room == 0 {
            return false;
        }
        if self.used > self.room {
            self.forget();
        }
        let state = self.state(node);
        let asleep: Set = node.asleep.iter().map(|asleep| asleep.0).collect();
        match self.states.entry(state) {
            Entry::Occupied(mut known) => {
                let is_done = known.get().iter().any(|&before| (before - asleep).is_empty());
                if !is_done {
                    self.used += size_of::<Set>();
                    known.get_mut().push(asleep);
                }
                is_done
            }
            Entry::Vacant(new) => {
                self.used += STATE_BYTES + size_of_val(&new.key()[..]);
                new.insert(vec![asleep]);
                false
            }
        }
    }

    /// A state as numbers. Equal dialogues become one, so that they take up their room once.
    fn state<L>(&mut self, node: &mut ServerNode<L>) -> Box<[PartNumber]> {
        let mut state = Vec::with_capacity(64);
        for number in 1..node.dialogues.len() {
            state.push(self.dialogue(&mut node.dialogues[number]));
            let is_over = node.over.contains(number as Number);
            state.push(if is_over { 0 } else { self.stand(node.stands[number]) });
        }
        push_set(&mut state, node.needed);
        let StateParts { snapshots, parts } = node.database.parts(node.served());
        for (number, taken, seen) in snapshots {
            state.extend([number.into(), taken]);
            push_set(&mut state, seen);
        }
        // No transaction has this number, so this is where the parts begin.
        state.push(0);
        state.extend(parts.into_iter().map(|part| self.part(part)));
        state.into()
    }

    fn dialogue(&mut self, dialogue: &mut Arc<Dialogue>) -> PartNumber {
        if let Some(&number) = self.places.get(&Arc::as_ptr(dialogue)) {
            return number;
        }
        let mut hasher = FxHasher::default();
        dialogue.hash_roughly(&mut hasher);
        let (kept, number, is_new) = self.dialogues.find(hasher.finish(), Arc::clone(dialogue), self.next);
        *dialogue = Arc::clone(kept);
        if is_new {
            self.places.insert(Arc::as_ptr(dialogue), number);
            self.next += 1;
            self.used += STATE_BYTES + dialogue.size();
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
        // 0 is for those who are over.
        let next = self.stands.len() as PartNumber + 1;
        *self.stands.entry(stand).or_insert(next)
    }
}

fn push_set(state: &mut Vec<PartNumber>, set: Set) {
    state.extend(set.words());
}
