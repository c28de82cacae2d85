//! Whose request is held back, and until when: the decisions of the adversary, without clocks and sockets.
//!
//! ```text
//!   a   BEGIN  SELECT x ─────────────────────┬─ held: b could move, and has the higher priority ─┬─ UPDATE x …
//!   b            BEGIN ── about to move ──────── SELECT x ── UPDATE x ── COMMIT ── idle ───────────┘
//! ```
//!
//! Each request that touches rows, each COMMIT and each ROLLBACK is a *step*. Among those who wait to take one the first by priority is next, as
//! soon as nobody of a higher priority *could move*: is about to take a step, but has not asked yet. That is who is idle in a transaction, at
//! work on something else, about to connect, or, where this run has shown that clients do things at the same time, went idle a moment ago. Who
//! waits for a lock could not move. Where nobody else could move nothing is ever held, which is why one request after the other is not disturbed.
//!
//! Whoever could move may not: it waits for the one that is held, or has nothing to do. So nobody waits for ever:
//!
//! | a hold ends when | |
//! |---|---|
//! | nobody could move | decided by what clients did |
//! | all is quiet: no byte from anybody for a while ([`super::quiet`]) | by time |
//! | the others took [`MOST_STEPS`] steps meanwhile | by what clients did |
//! | it took as long as it may | by time |
//!
//! Somebody who asks the same again and again and gets the same ([`POLLS`] times) waits for what another one has to do: it goes behind all
//! others. And two clients of which one did not come during [`VAIN`] holds of the other are not held for each other again.

use super::course::{Course, Next};
use super::priority::Priorities;
use super::quiet::Quiet;
use crate::log::LoggedStep;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A hold ends when the others took so many steps.
const MOST_STEPS: u32 = 50;
/// So often the same question with the same answer is polling.
const POLLS: u32 = 3;
/// So many holds for somebody who did not come.
const VAIN: u32 = 3;
/// So long somebody who is alone waits for those who may be about to connect, where another run has shown a race.
const EXPECTED: Duration = Duration::from_millis(5);
/// And so often in a run.
const MOST_EXPECTED: u32 = 100;

/// What a client does.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Doing {
    /// Its connection is about to be there.
    Starting,
    /// It is there and has not asked for anything.
    Fresh,
    /// Nothing asked, no transaction open.
    Idle,
    /// Nothing asked, a transaction open.
    Resting,
    /// Its statement is at work; whether that is a step.
    Working(bool),
    /// Its statement waits for a lock.
    Blocked,
    /// It wants to take a step.
    Held(Hold),
}

/// A request that is held.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Hold {
    since: Duration,
    /// How many steps others took meanwhile.
    steps: u32,
    /// Who could move when it came, or since.
    rivals: BTreeSet<i32>,
    /// Whether it had to wait at all.
    waits: bool,
    /// Who came before it.
    place: u64,
    /// How many steps had been taken when it came.
    after: u32,
    /// What it asks, where somebody wants to know.
    asks: String,
    /// Whether it waits for those who may be about to connect.
    expects: bool,
}

#[derive(Debug)]
struct Seat {
    state: Doing,
    /// Since when.
    since: Duration,
    /// Whether it was answered and said nothing since.
    thinks: bool,
    /// What it asked last, what it got, and how often in a row.
    poll: (u64, u64, u32),
    /// The number of its transaction.
    transaction: Option<u32>,
    /// How many steps had been taken when it came, or ended its last transaction.
    free: u32,
}

/// Why a request may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// It is first by priority, and nobody before it could move.
    First,
    /// The others took enough steps.
    Fair,
    /// All is quiet.
    Quiet,
    /// It was held for as long as it may be.
    Long,
}

impl Reason {
    /// Whether another run of the same requests may decide otherwise.
    pub(crate) fn is_time(self) -> bool {
        matches!(self, Reason::Quiet | Reason::Long)
    }
}

/// What is decided.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Decision {
    /// Who may go, in this order.
    pub(crate) released: Vec<(i32, Reason)>,
    /// When somebody has to look again, if nothing happens before.
    pub(crate) look_again: Option<Duration>,
}

/// How much was held.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HeldRequests {
    /// How many requests.
    pub holds: u64,
    /// How long all of them together.
    pub time: Duration,
    /// How many decisions were made by time.
    pub by_time: u64,
}

/// The holds of a run. Times are since its beginning.
#[derive(Debug)]
pub(crate) struct Holds {
    longest: Duration,
    seats: BTreeMap<i32, Seat>,
    /// Those that are not idle, or were not a moment ago.
    awake: BTreeSet<i32>,
    priorities: Priorities,
    quiet: Quiet,
    /// The last byte from anybody, the last answer or release.
    stirred: Duration,
    /// How often a client was held for another one that did not come.
    vain: BTreeMap<(i32, i32), u32>,
    /// Whether two clients wanted to take a step at the same time.
    concurrent: bool,
    held: HeldRequests,
    /// How long somebody was held, and since when somebody is.
    standing: (Duration, Option<Duration>),
    /// How often somebody may still wait for those who may be about to connect.
    newcomers: u32,
    /// How many requests to take a step there were, how many transactions, and how many steps were taken.
    asked: (u64, u32, u32),
    /// The steps that were taken and are not written down yet, where they are.
    taken: Option<Vec<LoggedStep>>,
    /// A log to follow, and how long who is next in it is waited for.
    course: Option<(Course, Duration)>,
}

impl Holds {
    pub(crate) fn new(longest: Duration, priorities: Priorities, quiet: Quiet) -> Holds {
        Holds {
            longest,
            seats: BTreeMap::new(),
            awake: BTreeSet::new(),
            priorities,
            quiet,
            stirred: Duration::ZERO,
            vain: BTreeMap::new(),
            concurrent: false,
            held: HeldRequests::default(),
            standing: (Duration::ZERO, None),
            asked: (0, 0, 0),
            taken: None,
            course: None,
            newcomers: 0,
        }
    }

    /// Another run has shown a race: who is alone now and then waits for those who are about to connect.
    pub(crate) fn expect_newcomers(&mut self) {
        self.newcomers = MOST_EXPECTED;
    }

    /// Whether who is alone may have to wait.
    pub(crate) fn expects_newcomers(&self) -> bool {
        self.newcomers > 0
    }

    /// From now on steps are kept until they are asked for.
    pub(crate) fn keep_steps(&mut self) {
        self.taken = Some(Vec::new());
    }

    /// Whether it matters what is asked.
    pub(crate) fn wants_texts(&self) -> bool {
        self.taken.is_some() || self.course.is_some()
    }

    /// The steps that were taken since this was last asked.
    pub(crate) fn take_steps(&mut self) -> Vec<LoggedStep> {
        self.taken.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// From now on a log decides.
    pub(crate) fn follow(&mut self, course: Course, wait: Duration) {
        self.course = Some((course, wait));
    }

    /// The log that decides, if one does.
    pub(crate) fn course(&self) -> Option<&Course> {
        self.course.as_ref().map(|(course, _)| course)
    }

    pub(crate) fn priorities(&self) -> &Priorities {
        &self.priorities
    }

    pub(crate) fn quiet(&self) -> &Quiet {
        &self.quiet
    }

    /// Whether anybody is held.
    pub(crate) fn holds_anybody(&self) -> bool {
        self.standing.1.is_some()
    }

    /// How much was held so far.
    pub(crate) fn held(&self) -> HeldRequests {
        self.held
    }

    /// How long anybody was held: for so long the clocks of those who wait for a lock stand still.
    pub(crate) fn stood_still(&self, now: Duration) -> Duration {
        let (before, since) = self.standing;
        before + since.map_or(Duration::ZERO, |since| now.saturating_sub(since))
    }

    fn seat(&mut self, client: i32) -> &mut Seat {
        let free = self.asked.2;
        let new = || Seat {
            state: Doing::Idle,
            since: Duration::ZERO,
            thinks: false,
            poll: (0, 0, 0),
            transaction: None,
            free,
        };
        self.seats.entry(client).or_insert_with(new)
    }

    fn state(&mut self, client: i32, state: Doing, now: Duration) {
        let seat = self.seat(client);
        (seat.state, seat.since) = (state, now);
        self.awake.insert(client);
    }

    /// A client is about to be connected.
    pub(crate) fn come(&mut self, client: i32, now: Duration) {
        self.stirred = now;
        self.state(client, Doing::Starting, now);
    }

    /// A client said something.
    pub(crate) fn hear(&mut self, client: i32, now: Duration) {
        self.stirred = now;
        let Some(seat) = self.seats.get_mut(&client) else { return };
        // How long a client stays away between two transactions says nothing about how long it thinks inside of one.
        let thought = std::mem::take(&mut seat.thinks) && seat.state == Doing::Resting;
        let since = std::mem::replace(&mut seat.since, now);
        if thought {
            self.quiet.think(now.saturating_sub(since));
        }
    }

    /// Whether others than this client could move.
    pub(crate) fn others_could_move(&mut self, client: i32, now: Duration) -> bool {
        self.doze(now);
        self.awake.iter().any(|other| {
            let state = &self.seats[other].state;
            *other != client && *state != Doing::Fresh
        })
    }

    /// A client asks for something; with a text it is a step, and is held until it is released.
    pub(crate) fn ask(&mut self, client: i32, step: Option<String>, now: Duration) {
        self.stirred = now;
        let in_flight = |state: &Doing| matches!(state, Doing::Held(_) | Doing::Working(true) | Doing::Blocked);
        let company = self.awake.iter().any(|other| *other != client && in_flight(&self.seats[other].state));
        self.concurrent |= step.is_some() && company;
        self.vain.retain(|(_, rival), _| *rival != client);
        let Some(asks) = step else { return self.state(client, Doing::Working(false), now) };
        self.asked.0 += 1;
        let place = self.asked.0;
        if self.seat(client).transaction.is_none() {
            self.asked.1 += 1;
            let transaction = Some(self.asked.1);
            self.seat(client).transaction = transaction;
        }
        let since = self.seat(client).free;
        if let Some((course, _)) = &mut self.course {
            course.arrive(client, since, &asks);
        }
        let after = self.asked.2;
        let expects = self.newcomers > 0 && self.priorities.expects();
        self.newcomers = self.newcomers.saturating_sub(u32::from(expects));
        self.state(client, Doing::Held(Hold { since: now, place, asks, after, expects, ..Hold::default() }), now);
    }

    /// A client that is alone asks for something, and has it.
    pub(crate) fn pass(&mut self, client: i32, step: bool, now: Duration) {
        self.stirred = now;
        self.state(client, Doing::Working(step), now);
    }

    /// Its statement has to wait for a lock.
    pub(crate) fn block(&mut self, client: i32, now: Duration) {
        self.state(client, Doing::Blocked, now);
    }

    /// Its statement need not wait any more.
    pub(crate) fn go_on(&mut self, client: i32, now: Duration) {
        self.stirred = now;
        self.state(client, Doing::Working(true), now);
    }

    /// What it asked, and what it got.
    pub(crate) fn get(&mut self, client: i32, question: u64, answer: u64) {
        let seat = self.seat(client);
        let same = (seat.poll.0, seat.poll.1) == (question, answer);
        let times = if same { seat.poll.2.saturating_add(1) } else { 1 };
        seat.poll = (question, answer, times);
        let polls = times >= POLLS && self.holds_anybody();
        match (polls, same) {
            (true, _) => self.priorities.sink(client),
            (false, false) => self.priorities.rise(client),
            (false, true) => {}
        }
    }

    /// It may go on; whether a transaction is open.
    pub(crate) fn rest(&mut self, client: i32, open: bool, now: Duration) {
        self.stirred = now;
        let state = match self.seat(client).state {
            _ if open => Doing::Resting,
            Doing::Starting => Doing::Fresh,
            _ => Doing::Idle,
        };
        self.state(client, state, now);
        self.seat(client).thinks = true;
        if !open {
            self.end_transaction(client);
        }
    }

    fn end_transaction(&mut self, client: i32) {
        let free = self.asked.2;
        (self.seat(client).transaction, self.seat(client).free) = (None, free);
        if let Some((course, _)) = &mut self.course {
            course.end(client);
        }
    }

    /// A client is gone.
    pub(crate) fn leave(&mut self, client: i32, now: Duration) {
        self.withdraw(client, now);
        self.end_transaction(client);
        self.seats.remove(&client);
        self.awake.remove(&client);
        self.priorities.leave(client);
        self.vain.retain(|(held, rival), _| *held != client && *rival != client);
    }

    /// It does not want what it asked for any more.
    pub(crate) fn withdraw(&mut self, client: i32, now: Duration) {
        if let Some(Seat { state: Doing::Held(hold), .. }) = self.seats.get(&client) {
            let hold = hold.clone();
            self.count(&hold, now);
            self.state(client, Doing::Working(false), now);
            self.stand(now);
        }
    }

    fn count(&mut self, hold: &Hold, now: Duration) {
        self.held.holds += u64::from(hold.waits);
        if hold.waits {
            self.held.time += now.saturating_sub(hold.since);
        }
    }

    /// Those who went idle a while ago are asleep.
    fn doze(&mut self, now: Duration) {
        let Holds { awake, seats, quiet, concurrent, .. } = self;
        awake.retain(|client| {
            let seat = &seats[client];
            let recent = now.saturating_sub(seat.since) < quiet.limit();
            match seat.state {
                Doing::Idle => *concurrent && recent,
                Doing::Fresh => recent,
                _ => true,
            }
        });
    }

    fn holds(&self) -> impl Iterator<Item = (i32, &Hold)> {
        self.awake.iter().filter_map(|client| match &self.seats[client].state {
            Doing::Held(hold) => Some((*client, hold)),
            _ => None,
        })
    }

    /// Who may go now.
    pub(crate) fn decide(&mut self, now: Duration) -> Decision {
        let decision = if self.course.is_some() { self.decide_by_log(now) } else { self.decide_by_chance(now) };
        self.stand(now);
        decision
    }

    /// Who may go where a log says so.
    fn decide_by_log(&mut self, now: Duration) -> Decision {
        let mut decision = Decision::default();
        // A step is whole: whoever is next waits until it is done, or waits for a lock.
        while !self.awake.iter().any(|client| self.takes_step(*client)) {
            let mut waiting: Vec<(u64, i32, String)> =
                self.holds().map(|(client, hold)| (hold.place, client, hold.asks.clone())).collect();
            waiting.sort_unstable();
            let waiting: Vec<(i32, &str)> = waiting.iter().map(|(_, client, asks)| (*client, asks.as_str())).collect();
            let Some((course, wait)) = self.course.as_mut().filter(|_| !waiting.is_empty()) else { break };
            let end = self.stirred + *wait;
            match course.next(&waiting) {
                Next::Go(client) => {
                    self.release(client, Reason::First, &[], now, false);
                    decision.released.push((client, Reason::First));
                }
                Next::Wait if now >= end => course.give_up(&waiting),
                Next::Wait => {
                    decision.look_again = Some(end);
                    self.wait_for(0, Vec::new());
                    break;
                }
            }
        }
        decision
    }

    fn decide_by_chance(&mut self, now: Duration) -> Decision {
        let mut decision = Decision::default();
        while self.holds().next().is_some() {
            self.doze(now);
            let Some(best) = self.best() else { break };
            let steps = self.awake.len() > 1;
            let rivals = self.rivals(best);
            let Some(reason) = self.reason(best, &rivals, now) else {
                decision.look_again = Some(self.next_look(best, now));
                self.wait_for(best, rivals);
                break;
            };
            if reason == Reason::First && steps && self.priorities.falls(best) {
                continue;
            }
            self.release(best, reason, &rivals, now, steps);
            decision.released.push((best, reason));
        }
        decision
    }

    /// Who is first by priority among those who want to take a step; who was passed often enough comes before.
    fn best(&mut self) -> Option<i32> {
        if let Some((client, _)) = self.holds().find(|(_, hold)| hold.steps >= MOST_STEPS) {
            return Some(client);
        }
        let clients: Vec<i32> = self.holds().map(|(client, _)| client).collect();
        clients.into_iter().max_by_key(|client| (self.priorities.of(*client), std::cmp::Reverse(*client)))
    }

    /// Those who could move before it.
    fn rivals(&mut self, best: i32) -> Vec<i32> {
        let own = self.priorities.of(best);
        let awake: Vec<i32> = self.awake.iter().copied().filter(|other| *other != best).collect();
        awake.into_iter().filter(|other| self.is_rival(best, own, *other)).collect()
    }

    fn is_rival(&mut self, best: i32, own: u64, other: i32) -> bool {
        if self.vain.get(&(best, other)).is_some_and(|times| *times >= VAIN) {
            return false;
        }
        let is_known = |hold: &Hold| hold.rivals.contains(&other);
        let known = self.holds().any(|(client, hold)| client == best && is_known(hold));
        match self.seats[&other].state {
            Doing::Held(_) | Doing::Blocked => false,
            // A step is whole: nobody comes between.
            Doing::Working(true) => true,
            // A connection that is opened and not used is no reason to wait, unless it was opened while this request was there.
            Doing::Fresh => known && self.priorities.of(other) > own,
            Doing::Starting | Doing::Idle | Doing::Resting | Doing::Working(false) => self.priorities.of(other) > own,
        }
    }

    /// Why a request may go now, if it may.
    fn reason(&self, best: i32, rivals: &[i32], now: Duration) -> Option<Reason> {
        let Doing::Held(hold) = &self.seats[&best].state else { return None };
        if rivals.is_empty() {
            let is_early = hold.expects && now.saturating_sub(hold.since) < EXPECTED;
            (!is_early).then_some(Reason::First)
        } else if hold.steps >= MOST_STEPS && !rivals.iter().any(|rival| self.takes_step(*rival)) {
            Some(Reason::Fair)
        } else if now.saturating_sub(hold.since) >= self.longest {
            Some(Reason::Long)
        } else if now.saturating_sub(self.stirred) >= self.quiet.limit() {
            Some(Reason::Quiet)
        } else {
            None
        }
    }

    /// Whether a client is about a step.
    fn takes_step(&self, client: i32) -> bool {
        self.seats[&client].state == Doing::Working(true)
    }

    /// When time decides.
    fn next_look(&self, best: i32, now: Duration) -> Duration {
        let since = match &self.seats[&best].state {
            Doing::Held(hold) if hold.expects && now < hold.since + EXPECTED => return hold.since + EXPECTED,
            Doing::Held(hold) => hold.since,
            _ => self.stirred,
        };
        (self.stirred + self.quiet.limit()).min(since + self.longest)
    }

    fn wait_for(&mut self, best: i32, rivals: Vec<i32>) {
        for client in self.holds().map(|(client, _)| client).collect::<Vec<_>>() {
            if let Some(Seat { state: Doing::Held(hold), .. }) = self.seats.get_mut(&client) {
                hold.waits = true;
                if client == best {
                    hold.rivals.extend(rivals.iter().copied());
                }
            }
        }
    }

    fn release(&mut self, best: i32, reason: Reason, rivals: &[i32], now: Duration, steps: bool) {
        let Some(Seat { state: Doing::Held(hold), .. }) = self.seats.get(&best) else { return };
        let hold = hold.clone();
        self.count(&hold, now);
        self.stirred = now;
        self.keep(best, hold.asks, hold.after, reason);
        if reason.is_time() {
            self.held.by_time += 1;
            rivals.iter().for_each(|rival| *self.vain.entry((best, *rival)).or_default() += 1);
        }
        self.state(best, Doing::Working(true), now);
        for seat in self.seats.values_mut() {
            if let Doing::Held(hold) = &mut seat.state {
                hold.steps += 1;
            }
        }
        if steps {
            self.priorities.step();
        }
    }

    /// Notes a step that is taken.
    fn keep(&mut self, client: i32, asks: String, after: u32, reason: Reason) {
        self.asked.2 += 1;
        let Seat { transaction, free: since, .. } = *self.seat(client);
        let transaction = transaction.unwrap_or_default();
        let step =
            LoggedStep { client: client.unsigned_abs(), transaction, since, after, asks, by_time: reason.is_time() };
        self.taken.iter_mut().for_each(|taken| taken.push(step.clone()));
    }

    /// Whether anybody is held, from now on.
    fn stand(&mut self, now: Duration) {
        let stands = self.holds().any(|(_, hold)| hold.waits);
        match (stands, self.standing.1) {
            (true, None) => self.standing.1 = Some(now),
            (false, Some(since)) => self.standing = (self.standing.0 + now.saturating_sub(since), None),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
