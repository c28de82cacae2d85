//! Whose turn it is, in a run that has one transaction at a time.
//!
//! ```text
//!   s1   ■■■■■ ····················· ■■■■■■ ··             ■ a transaction, with all its tries
//!   s2         ■■■■ ········· ■■■■                         · waits for its turn
//!   s3   ············ ■■■■■■■ (has ended)
//!             ▲    ▲       ▲      ▲
//!             nobody is on the way any more: all others wait or have ended, and the next one is picked among those who wait
//! ```
//!
//! A session is *on the way* until it asks for a transaction or ends, and picking waits for everybody who is. So who may be picked does not
//! depend on how fast threads run, and a seed gives the same order every time. What a session does between two of its transactions, it does alone, too.
//!
//! Nobody is told to leave the queue when a run is stopped: who waits gets a turn, ends its operation, and begins no other.

use crate::Random;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// In which order the transactions of a run come.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Turns {
    /// All sessions at once; what meets is up to the server.
    #[default]
    AsTheyCome,
    /// One transaction at a time. Whose it is, the seed decides among the sessions that have something left to do.
    BySeed,
    /// One transaction at a time, of these sessions, counted from 0: one number for each transaction. Who has nothing left to do is
    /// passed over; what is left behind the last number comes as the seed says.
    Prescribed(Vec<usize>),
}

impl Turns {
    /// Whether there is one transaction at a time.
    pub fn is_serial(&self) -> bool {
        *self != Turns::AsTheyCome
    }
}

/// No session has this number, so the order has a stream of chance of its own.
const STREAM: usize = 0x7475_726e;

/// Gives one session after the other its turn.
pub(crate) struct TurnKeeper {
    queue: Mutex<TurnQueue>,
    moved: Condvar,
}

/// Where a session is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whereabouts {
    /// It has the turn, or has not asked for its first one yet.
    OnTheWay,
    Waiting,
    Ended,
}

struct TurnQueue {
    sessions: Vec<Whereabouts>,
    /// Those who come next, where somebody has said so.
    prescribed: VecDeque<usize>,
    random: Random,
}

impl TurnQueue {
    /// Gives the turn to the next one, unless somebody is still on the way.
    fn pass_on(&mut self) {
        if self.sessions.contains(&Whereabouts::OnTheWay) {
            return;
        }
        if let Some(next) = self.next() {
            self.sessions[next] = Whereabouts::OnTheWay;
        }
    }

    fn next(&mut self) -> Option<usize> {
        while let Some(next) = self.prescribed.pop_front() {
            if self.sessions.get(next) == Some(&Whereabouts::Waiting) {
                return Some(next);
            }
        }
        let is_waiting = |session: &usize| self.sessions[*session] == Whereabouts::Waiting;
        let waiting: Vec<usize> = (0..self.sessions.len()).filter(is_waiting).collect();
        waiting.get(self.random.index(waiting.len())).copied()
    }
}

impl TurnKeeper {
    /// Nothing, where sessions do not wait for each other.
    pub(crate) fn new(turns: &Turns, sessions: usize, seed: u64) -> Option<TurnKeeper> {
        let prescribed = match turns {
            Turns::AsTheyCome => return None,
            Turns::BySeed => VecDeque::new(),
            Turns::Prescribed(order) => order.iter().copied().collect(),
        };
        let (sessions, random) = (vec![Whereabouts::OnTheWay; sessions], Random::of_operation(seed, STREAM, 0));
        Some(TurnKeeper { queue: Mutex::new(TurnQueue { sessions, prescribed, random }), moved: Condvar::new() })
    }

    /// A session that takes part, until it is dropped.
    pub(crate) fn participant(&self, session: usize) -> Participant<'_> {
        Participant { keeper: self, session }
    }

    fn go(&self, session: usize, to: Whereabouts) -> MutexGuard<'_, TurnQueue> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.sessions[session] = to;
        queue.pass_on();
        self.moved.notify_all();
        queue
    }
}

/// A session among those who take turns. Whoever ends, in whatever way, keeps nobody waiting.
pub(crate) struct Participant<'a> {
    keeper: &'a TurnKeeper,
    session: usize,
}

impl Participant<'_> {
    /// Ends the turn that it has, and comes back with the next one.
    pub(crate) fn await_turn(&self) {
        let queue = self.keeper.go(self.session, Whereabouts::Waiting);
        let waits = |queue: &mut TurnQueue| queue.sessions[self.session] == Whereabouts::Waiting;
        drop(self.keeper.moved.wait_while(queue, waits).unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        drop(self.keeper.go(self.session, Whereabouts::Ended));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Who had a turn after whom, when session n wants as many as the list says.
    fn taken(turns: &Turns, wanted: &[usize], seed: u64) -> Vec<usize> {
        let keeper = TurnKeeper::new(turns, wanted.len(), seed).expect("one at a time");
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for (session, wanted) in wanted.iter().enumerate() {
                let (participant, order) = (keeper.participant(session), &order);
                scope.spawn(move || {
                    for _ in 0..*wanted {
                        participant.await_turn();
                        order.lock().expect("nobody panics").push(session);
                        thread::yield_now();
                    }
                    drop(participant);
                });
            }
        });
        order.into_inner().expect("nobody panics")
    }

    #[test]
    fn a_seed_gives_one_order_with_the_turns_of_everybody() {
        let order = taken(&Turns::BySeed, &[4, 0, 9, 1], 7);
        let count = |session| order.iter().filter(|taken| **taken == session).count();
        assert_eq!([0, 1, 2, 3].map(count), [4, 0, 9, 1]);
        for _ in 0..20 {
            assert_eq!(taken(&Turns::BySeed, &[4, 0, 9, 1], 7), order);
        }
        assert!((0..10).any(|seed| taken(&Turns::BySeed, &[4, 0, 9, 1], seed) != order));
    }

    #[test]
    fn a_prescribed_order_is_followed_and_who_has_nothing_left_is_passed_over() {
        let of = |order: &[usize], wanted: &[usize]| taken(&Turns::Prescribed(order.to_vec()), wanted, 1);
        assert_eq!(of(&[1, 0, 0, 1, 2], &[2, 2, 1]), [1, 0, 0, 1, 2]);
        assert_eq!(of(&[2, 2, 2, 0, 9, 1], &[1, 1, 1]), [2, 0, 1]);
        let rest = of(&[1], &[2, 2]);
        assert_eq!((rest[0], rest.len()), (1, 4));
    }

    #[test]
    fn who_panics_keeps_nobody_waiting() {
        let keeper = TurnKeeper::new(&Turns::BySeed, 2, 1).expect("one at a time");
        thread::scope(|scope| {
            let lost = keeper.participant(0);
            let panics = scope.spawn(move || {
                let _lost = lost;
                std::panic::resume_unwind(Box::new("lost"));
            });
            let other = keeper.participant(1);
            scope.spawn(move || other.await_turn());
            assert!(panics.join().is_err());
        });
    }

    #[test]
    fn without_turns_there_is_nobody_to_ask() {
        assert!(TurnKeeper::new(&Turns::AsTheyCome, 3, 1).is_none());
        assert!(!Turns::default().is_serial() && Turns::Prescribed(Vec::new()).is_serial());
    }
}
