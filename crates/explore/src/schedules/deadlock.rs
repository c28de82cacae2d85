//! Who waits for itself, by way of others who wait.
//!
//! ```text
//!   a: has row 3, waits for row 1 ──> c: has row 1, waits for row 3 ──> a                        either is refused
//!   b: waits for row 3, too, and asked before c:    c ── queues behind ──> b ──> a ──> c         b may be refused as well, and then another
//! ```
//!
//! PostgreSQL's waiters queue: the first one of a row has a lock that keeps the later ones behind it, whoever holds the row. Which one came
//! first is nowhere told, so each may have. If that one is refused, the others still wait for each other, and a second one is refused
//! (live: both are, where the first one's `deadlock_timeout` ends before that of the others).

use super::ServerNode;
use crate::explorable::Explorable;
use crate::keys::KeyNumber;
use crate::runner::Runner;
use crate::server::turn::{TurnPoint, Want};
use crate::set::{Number, Set};

/// Who waits, for what, and for whom.
struct Waiter {
    one: Number,
    want: Want,
    holders: Set,
}

/// Whether somebody waits for itself.
pub(super) fn is_deadlocked<P: Explorable + ?Sized>(
    node: &mut ServerNode<P::Left>,
    number: Number,
    runner: &Runner<'_, P>,
) -> bool {
    let waiters = waiters(node, runner);
    if reaches(&waiters, number, |waiter| waiter.holders) {
        return true;
    }
    let queued = |waiter: &Waiter| waiter.holders | queued_before(node, waiter, &waiters);
    reaches(&waiters, number, queued) && is_in_cycle(node, number, &waiters)
}

fn waiters<P: Explorable + ?Sized>(node: &mut ServerNode<P::Left>, runner: &Runner<'_, P>) -> Vec<Waiter> {
    let mut waiters = Vec::new();
    for one in runner.outline.numbers() {
        let TurnPoint::Lock(want) = node.stands[one as usize] else { continue };
        if !node.over.contains(one) && node.database.waits(one) {
            let holders = node.database.blockers(one, &want, &runner.keys);
            waiters.push(Waiter { one, want, holders });
        }
    }
    waiters
}

/// Whether somebody comes back to itself.
fn reaches(waiters: &[Waiter], number: Number, next: impl Fn(&Waiter) -> Set) -> bool {
    let (mut reached, mut open) = (Set::EMPTY, vec![number]);
    while let Some(one) = open.pop() {
        let Some(waiter) = waiters.iter().find(|waiter| waiter.one == one) else { continue };
        for other in next(waiter).iter() {
            if other == number {
                return true;
            }
            if !reached.contains(other) {
                reached.insert(other);
                open.push(other);
            }
        }
    }
    false
}

/// Those who may have asked before for the row that somebody waits for, and keep it behind them.
fn queued_before<L>(node: &ServerNode<L>, waiter: &Waiter, waiters: &[Waiter]) -> Set {
    let before = |other: &&Waiter| {
        other.one != waiter.one
            && !waiter.holders.is_empty()
            && !other.holders.is_empty()
            && node.database.may_queue((waiter.one, &waiter.want), (other.one, &other.want))
    };
    waiters.iter().filter(before).map(|other| other.one).collect()
}

/// A way along which somebody waits for somebody, and who is the first in the queues on it.
#[derive(Clone)]
struct WaitPath {
    path: Vec<Number>,
    firsts: Vec<(KeyNumber, Number)>,
}

impl WaitPath {
    /// The same with one more, who has the row that the last one waits for, or is the first in the queue for it. Each queue has one first.
    fn with(&self, other: Number, queue: Option<KeyNumber>) -> Option<WaitPath> {
        let mut chain = self.clone();
        if let Some(key) = queue {
            match self.firsts.iter().find(|first| first.0 == key) {
                Some((_, first)) if *first != other => return None,
                _ => chain.firsts.push((key, other)),
            }
        }
        chain.path.push(other);
        Some(chain)
    }
}

/// The same as `reaches` with queues, where of each row one only is the first of its queue.
fn is_in_cycle<L>(node: &ServerNode<L>, number: Number, waiters: &[Waiter]) -> bool {
    let mut open = vec![WaitPath { path: vec![number], firsts: Vec::new() }];
    while let Some(chain) = open.pop() {
        let last = chain.path[chain.path.len() - 1];
        let Some(waiter) = waiters.iter().find(|waiter| waiter.one == last) else { continue };
        for other in (waiter.holders | queued_before(node, waiter, waiters)).iter() {
            let queue = (!waiter.holders.contains(other)).then_some(waiter.want.key);
            let Some(longer) = chain.with(other, queue) else { continue };
            if other == number {
                return true;
            }
            if !chain.path.contains(&other) {
                open.push(longer);
            }
        }
    }
    false
}
