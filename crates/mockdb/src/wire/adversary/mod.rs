//! The adversary of a server at an engine's levels: it holds requests back so that those of others get in between, and counts who overlapped.
//!
//! ```text
//!   client a ── SELECT x ── UPDATE x ─ ─ held ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─┬─> the database
//!   client b ────────────────────────── SELECT x ──> the database ─┘
//! ```
//!
//! A server may be slow; it may not answer with what was overwritten before the request came. So nothing that is read here is stale, and what goes
//! wrong in a race is driven into it by the order of requests alone. Who goes first is drawn by [`priority`], who is held and until when is decided
//! by [`holds`], from what clients do and from how long all was [`quiet`]; both know no clock and no socket, which this page adds. [`overlap`] counts
//! on every server with such a level, also where nothing is held. The order is a log, which a later run may follow instead ([`course`]).

mod course;
mod holds;
mod overlap;
mod priority;
mod quiet;

pub use holds::HeldRequests;
pub use overlap::Overlap;
pub use priority::{Learned, Strategy};

use super::Schedule;
use super::statements::values;
use crate::connection::Status;
use crate::log::LoggedStep;
use course::Course;
use holds::Holds;
use overlap::Overlaps;
use priority::Priorities;
use quiet::Quiet;
use rustc_hash::{FxHashMap, FxHasher};
use skew_sql::session::Prepared;
use skew_value::Datum;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Who is held looks so often whether anything has changed, at least.
const GLANCE: Duration = Duration::from_millis(5);
/// So many texts are remembered by whether they touch rows.
const MOST_TEXTS: usize = 10_000;

/// How the adversary goes about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdversarySettings {
    /// What decides who goes first.
    pub strategy: Strategy,
    /// How many orderings the bug needs that is looked for; nothing is drawn by chance.
    pub depth: Option<u32>,
    /// How long a request may be held.
    pub hold: Duration,
    /// What the run before has shown.
    pub learned: Learned,
}

/// What a server at an engine's levels has seen of races.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Contention {
    /// Who overlapped.
    pub overlap: Overlap,
    /// What decided who goes first, where requests were held.
    pub strategy: Option<Strategy>,
    /// What was held.
    pub held: HeldRequests,
    /// What the next run can learn from this one.
    pub learned: Learned,
    /// How often it was not as the log says that it follows.
    pub divergences: u64,
    /// Where it was first.
    pub diverged: Option<String>,
}

#[derive(Debug)]
struct Game {
    overlaps: Overlaps,
    holds: Option<Holds>,
    tickets: BTreeMap<i32, oneshot::Sender<()>>,
    /// Whether texts touch rows.
    touching: FxHashMap<u64, bool>,
    last: i32,
    present: usize,
}

/// The adversary.
#[derive(Debug)]
pub(crate) struct Adversary {
    began: Instant,
    game: Mutex<Game>,
}

impl Adversary {
    /// The adversary of a schedule; some only count. Whether somebody writes down what they decide.
    pub(crate) fn new(seed: u64, schedule: &Schedule, records: bool) -> Adversary {
        let holds = match schedule {
            Schedule::Adversary(AdversarySettings { strategy, depth, hold, learned }) => {
                let priorities = Priorities::new(seed, *strategy, *depth, *learned);
                let mut holds = Holds::new(*hold, priorities, Quiet::new(learned.thinking));
                if learned.races {
                    holds.expect_newcomers();
                }
                Some(holds)
            }
            Schedule::Repeated { steps, wait } => {
                let priorities = Priorities::new(seed, Strategy::Mixed, None, Learned::default());
                let mut holds = Holds::new(Duration::MAX, priorities, Quiet::new(None));
                holds.follow(Course::new(steps), *wait);
                Some(holds)
            }
            _ => None,
        };
        let holds = holds.map(|mut holds| {
            if records {
                holds.keep_steps();
            }
            holds
        });
        let (overlaps, tickets, touching) = (Overlaps::default(), BTreeMap::new(), FxHashMap::default());
        let game = Game { overlaps, holds, tickets, touching, last: 0, present: 0 };
        Adversary { began: Instant::now(), game: Mutex::new(game) }
    }

    fn game(&self) -> MutexGuard<'_, Game> {
        self.game.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// What was seen so far.
    pub(crate) fn contention(&self) -> Contention {
        let game = self.game();
        let overlap = game.overlaps.sum();
        let Some(holds) = &game.holds else { return Contention { overlap, ..Contention::default() } };
        let steps = Some(holds.priorities().steps());
        let (strategy, held) = (holds.priorities().strategy(), holds.held());
        let learned = Learned { steps, thinking: holds.quiet().median(), races: overlap.could > 0 };
        let Some(course) = holds.course() else {
            return Contention { overlap, strategy: Some(strategy), held, learned, ..Contention::default() };
        };
        let (left, (times, first)) = (course.left(), course.divergences());
        let (divergences, diverged) = (times + u64::from(left.is_some()), first.map(str::to_owned).or(left));
        Contention { overlap, strategy: None, held, learned, divergences, diverged }
    }

    /// The steps that were taken since this was last asked.
    pub(crate) fn take_steps(&self) -> Vec<LoggedStep> {
        self.game().holds.as_mut().map(Holds::take_steps).unwrap_or_default()
    }

    /// Something happens to the holds, and whoever may go then goes.
    fn happens(&self, what: impl FnOnce(&mut Holds, Duration)) -> Option<Duration> {
        let (mut game, now) = (self.game(), self.now());
        let game = &mut *game;
        let holds = game.holds.as_mut()?;
        what(holds, now);
        let decision = holds.decide(now);
        for (client, _) in &decision.released {
            // Who does not wait any more has no use for it.
            let _ = game.tickets.remove(client).map(|ticket| ticket.send(()));
        }
        decision.look_again.map(|moment| moment.saturating_sub(now))
    }
}

/// A client, from the moment at which it begins to connect until it is gone.
pub(crate) struct Visit {
    adversary: Option<Arc<Adversary>>,
    number: i32,
}

impl Drop for Visit {
    fn drop(&mut self) {
        let Some(adversary) = &self.adversary else { return };
        {
            let mut game = adversary.game();
            game.overlaps.end(self.number);
            game.tickets.remove(&self.number);
            game.present -= 1;
        }
        adversary.happens(|holds, now| holds.leave(self.number, now));
    }
}

/// A request that is held, until this is dropped.
struct Wish<'a>(&'a Adversary, i32);

impl Drop for Wish<'_> {
    fn drop(&mut self) {
        let was_held = self.0.game().tickets.remove(&self.1).is_some();
        if was_held {
            self.0.happens(|holds, now| holds.withdraw(self.1, now));
        }
    }
}

impl Visit {
    /// Somebody begins to connect.
    pub(crate) fn begin(adversary: Option<&Arc<Adversary>>) -> Visit {
        let Some(adversary) = adversary else { return Visit { adversary: None, number: 0 } };
        let number = {
            let mut game = adversary.game();
            game.last = game.last.wrapping_add(1);
            game.present += 1;
            game.last
        };
        adversary.happens(|holds, now| holds.come(number, now));
        Visit { adversary: Some(Arc::clone(adversary)), number }
    }

    fn happens(&self, what: impl FnOnce(&mut Holds, i32, Duration)) {
        if let Some(adversary) = &self.adversary {
            adversary.happens(|holds, now| what(holds, self.number, now));
        }
    }

    /// It said something.
    pub(crate) fn hear(&self) {
        let Some(adversary) = &self.adversary else { return };
        let now = adversary.now();
        if let Some(holds) = &mut adversary.game().holds {
            holds.hear(self.number, now);
        }
    }

    /// It asks for a statement, and may go on when this returns.
    pub(crate) async fn ask(&self, prepared: &Prepared, parameters: &[Datum], status: Status) {
        let Some(adversary) = &self.adversary else { return };
        let (sender, mut ticket) = oneshot::channel();
        let Some(alone) = self.enter(adversary, (prepared, parameters), status, sender) else { return };
        let _wish = Wish(adversary, self.number);
        if !alone {
            // What others have sent at the same time is heard before anything is decided.
            tokio::task::yield_now().await;
        }
        loop {
            let again = adversary.happens(|_, _| ());
            if ticket.try_recv().is_ok() {
                return;
            }
            let pause = again.map_or(GLANCE, |again| again.min(GLANCE));
            tokio::select! {
                biased;
                _ = &mut ticket => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Says what it asks for. Whether it is alone, if it is to wait for leave.
    fn enter(
        &self,
        adversary: &Adversary,
        (prepared, parameters): (&Prepared, &[Datum]),
        status: Status,
        ticket: oneshot::Sender<()>,
    ) -> Option<bool> {
        let now = adversary.now();
        let mut game = adversary.game();
        let step = game.is_step(prepared, status);
        let touches = step && prepared.uses_storage();
        let Game { overlaps, holds, tickets, present, .. } = &mut *game;
        let others = match holds {
            Some(holds) => holds.others_could_move(self.number, now),
            None => overlaps.has_others(self.number),
        };
        overlaps.ask(self.number, touches, others);
        let holds = holds.as_mut()?;
        if *present == 1 && !holds.wants_texts() && !holds.expects_newcomers() {
            // Nobody else is there, and nobody wants to know: it costs no more than it has to.
            holds.pass(self.number, step, now);
            return None;
        }
        let text = || if holds.wants_texts() { text_of(prepared, parameters) } else { String::new() };
        let asks = step.then(text);
        holds.ask(self.number, asks, now);
        if step {
            // Whoever decides next may let it go at once.
            tickets.insert(self.number, ticket);
        }
        step.then_some(*present == 1)
    }

    /// Its statement waits for a lock.
    pub(crate) fn block(&self) {
        self.happens(Holds::block);
    }

    /// Its statement need not wait any more.
    pub(crate) fn go_on(&self) {
        self.happens(Holds::go_on);
    }

    /// How long anybody was held so far.
    pub(crate) fn stood_still(&self) -> Duration {
        let Some(adversary) = &self.adversary else { return Duration::ZERO };
        let now = adversary.now();
        adversary.game().holds.as_ref().map_or(Duration::ZERO, |holds| holds.stood_still(now))
    }

    /// What it asked, and the answer that it gets.
    pub(crate) fn get(&self, question: &str, answer: impl FnOnce(&mut FxHasher)) {
        let Some(adversary) = &self.adversary else { return };
        if let Some(holds) = adversary.game().holds.as_mut().filter(|holds| holds.holds_anybody()) {
            let mut hasher = FxHasher::default();
            answer(&mut hasher);
            holds.get(self.number, hash(question), hasher.finish());
        }
    }

    /// It may go on; what is open.
    pub(crate) fn rest(&self, status: Status) {
        let Some(adversary) = &self.adversary else { return };
        let open = status != Status::Idle;
        if !open {
            adversary.game().overlaps.end(self.number);
        }
        adversary.happens(|holds, now| holds.rest(self.number, open, now));
    }
}

impl Game {
    /// Whether a statement is a step: it touches rows, or ends a transaction.
    fn is_step(&mut self, prepared: &Prepared, status: Status) -> bool {
        let text = prepared.statement().text();
        if !prepared.uses_storage() {
            return ends_open_transaction(prepared, status);
        }
        let hash = hash(text);
        if let Some(known) = self.touching.get(&hash) {
            return *known;
        }
        if self.touching.len() >= MOST_TEXTS {
            self.touching.clear();
        }
        let touches = touches_rows(prepared, text);
        self.touching.insert(hash, touches);
        touches
    }
}

/// What a step asks: the statement, and its parameters.
fn text_of(prepared: &Prepared, parameters: &[Datum]) -> String {
    let text = prepared.statement().text();
    match values(prepared, parameters) {
        None => text.to_owned(),
        Some(values) => format!("{text} -- {values}"),
    }
}

/// Whether a statement is a step: it touches rows, or ends a transaction.
pub(crate) fn is_step(prepared: &Prepared, status: Status) -> bool {
    match prepared.uses_storage() {
        true => touches_rows(prepared, prepared.statement().text()),
        false => ends_open_transaction(prepared, status),
    }
}

fn ends_open_transaction(prepared: &Prepared, status: Status) -> bool {
    status != Status::Idle && ends_transaction(prepared.statement().text())
}

fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    text.hash(&mut hasher);
    hasher.finish()
}

fn first_word(text: &str) -> &str {
    text.split(|letter: char| !letter.is_ascii_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default()
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
}

fn ends_transaction(text: &str) -> bool {
    is_one_of(first_word(text), &["commit", "end", "rollback", "abort"])
}

/// Whether a statement touches rows, or locks that applications name. Catalogs, and what is kept for one session alone, are nobody's race.
fn touches_rows(prepared: &Prepared, text: &str) -> bool {
    if is_one_of(first_word(text), &["prepare", "deallocate", "discard", "close", "explain"]) {
        return false;
    }
    let touches = prepared.touches();
    let is_query = prepared.columns().is_some() && is_one_of(first_word(text), &["select", "with", "values", "table"]);
    !touches.tables.is_empty() || !is_query || text.to_ascii_lowercase().contains("advisory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_transaction_is_found_by_its_first_word() {
        for text in ["COMMIT", " commit;", "END", "ROLLBACK TO SAVEPOINT s", "/**/ abort"] {
            assert!(ends_transaction(text), "{text}");
        }
        for text in ["BEGIN", "SAVEPOINT s", "SET x = 1", "", "SHOW commit"] {
            assert!(!ends_transaction(text), "{text}");
        }
    }
}
