//! When the statements of a run are sent: a schedule of the model as somebody types it who has a terminal per session.
//!
//! ```text
//!   steps of the model       1: snapshot   2: update x   2: commit   1: lock x (changed since)
//!   beats                    2 sends UPDATE x   1 sends UPDATE x, and waits for 2   2 sends COMMIT   1 goes on
//! ```
//!
//! A statement of the model may stop at several points, with steps of others between them; on a server it only stops where it waits for a
//! lock. What it saw in its snapshot depends on who had ended by then, and on nothing else. So it is sent as late as it can be: after all
//! that others did while it was under way, but before the first of them ends who leaves something to others, or begins to wait in a queue.
//! Then the others hold the locks that it has to wait for. Those who wait for one lock are sent in the order in which they got it.
//!
//! | a statement | is sent |
//! |---|---|
//! | whose points have nothing between them | then |
//! | that took its first step before somebody ended who changed or locked something, and its last one after that | just before that end |
//! | that begins to wait in a step of its own (InnoDB) | then at the latest |
//! | that has looked over a range in which another one locks or inserts later (InnoDB, where each row is looked at when its turn comes) | just before that |
//! | of somebody who waits when another one is refused because of that | then, after the one who is refused |

use super::{active, root, stand_up, step_of_one_run};
use crate::error::ExploreError;
use crate::explorable::Explorable;
use crate::keys::Keys;
use crate::outline::Place;
use crate::runner::Runner;
use crate::server::access::StepAccess;
use crate::server::turn::TurnPoint;
use crate::set::{Number, Set};
use skew_history::EngineLevel;
use skew_sql::Patience;
use std::collections::{BTreeMap, BTreeSet};

/// One thing that happens to a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Beat {
    /// The transaction.
    pub place: Place,
    /// Which of the statements that it says, from 0; nothing is its end.
    pub statement: Option<usize>,
    /// What happens.
    pub kind: BeatKind,
}

/// What happens to a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BeatKind {
    /// It is sent.
    Sent,
    /// It has to wait for these transactions. None are named where nothing on a server would make it wait, and it only was slow.
    Waits(Vec<Place>),
    /// It has its answer.
    Answered,
}

/// From which step to which a statement is under way, and when it is sent at the latest.
struct Window {
    first: usize,
    last: usize,
    latest: usize,
}

/// What is noted of a schedule.
#[derive(Default)]
struct Score {
    windows: BTreeMap<(Number, usize), Window>,
    ends: BTreeMap<Number, usize>,
    /// Steps that a statement of somebody else may not be sent after if it began before them.
    barriers: Vec<(usize, Number)>,
    /// Before each step: who waits for whom.
    blocked: Vec<BTreeMap<Number, Set>>,
    /// What the steps of a statement had to do with others, where that is so at the moment of each.
    done: Vec<((Number, usize), StepAccess)>,
    /// Statements that never wait (SKIP LOCKED, NOWAIT): where others come in between, they were slow.
    impatient: BTreeSet<(Number, usize)>,
}

impl Score {
    fn begins(&mut self, statement: (Number, usize), step: usize) -> &mut Window {
        self.windows.entry(statement).or_insert(Window { first: step, last: step, latest: usize::MAX })
    }

    /// A step of a statement: those of others that have looked over what it touches were sent by then.
    fn takes(&mut self, statement: (Number, usize), step: usize, access: StepAccess, keys: &Keys) {
        for (other, done) in self.done.iter().filter(|(other, _)| other.0 != statement.0) {
            if let Some(window) = self.windows.get_mut(other)
                && access.touches_in(done, keys)
            {
                window.latest = window.latest.min(step - 1);
            }
        }
        self.done.push((statement, access));
    }

    /// The step before which, or at which, a statement is sent.
    fn sent(&self, number: Number, window: &Window) -> usize {
        let is_within =
            |(step, other): &&(usize, Number)| window.first < *step && *step < window.last && *other != number;
        let barrier = self.barriers.iter().find(is_within).map_or(usize::MAX, |(step, _)| *step);
        window.last.min(window.latest).min(barrier)
    }

    /// For whom a statement waits that is sent before it is answered: whoever has what it wants, or ends before it goes on.
    fn waits_for(&self, (number, statement): (Number, usize), sent: usize, window: &Window) -> Set {
        if self.impatient.contains(&(number, statement)) {
            return Set::EMPTY;
        }
        let blocked = self.blocked[sent..window.last].iter().find_map(|blocked| blocked.get(&number));
        let ends = || self.ends.iter().find(|(_, step)| (sent..window.last).contains(step)).map(|(other, _)| *other);
        blocked.copied().or_else(|| ends().map(Set::only)).unwrap_or(Set::EMPTY)
    }
}

/// Where a beat stands among the others: when, ends after everything else; whose turn it was first; who, which statement; sent, waits,
/// answered.
type BeatPlace = (usize, bool, usize, Number, usize, u8);

/// The beats of a schedule.
pub(crate) fn beats<P: Explorable + ?Sized>(
    runner: &mut Runner<'_, P>,
    steps: &[Number],
) -> Result<Vec<Beat>, ExploreError> {
    let score = score(runner, steps)?;
    let place = |number: Number| runner.outline.places[number as usize];
    let mut beats: Vec<(BeatPlace, Beat)> = Vec::new();
    for (&(number, statement), window) in &score.windows {
        let sent = score.sent(number, window);
        let mut add = |step: usize, order: u8, kind: BeatKind| {
            let beat = Beat { place: place(number), statement: Some(statement), kind };
            beats.push(((step, false, window.last, number, statement, order), beat));
        };
        add(sent, 0, BeatKind::Sent);
        if sent < window.last {
            let whom = score.waits_for((number, statement), sent, window);
            add(sent, 1, BeatKind::Waits(whom.iter().map(place).collect()));
        }
        add(window.last, 2, BeatKind::Answered);
    }
    for (&number, &step) in &score.ends {
        let beat = |kind: BeatKind| Beat { place: place(number), statement: None, kind };
        beats.push(((step, true, 0, number, 0, 0), beat(BeatKind::Sent)));
        beats.push(((step, true, 0, number, 0, 2), beat(BeatKind::Answered)));
    }
    beats.sort_by_key(|(key, _)| *key);
    Ok(beats.into_iter().map(|(_, beat)| beat).collect())
}

/// Takes the steps of a schedule and notes what they do to statements.
fn score<P: Explorable + ?Sized>(runner: &mut Runner<'_, P>, steps: &[Number]) -> Result<Score, ExploreError> {
    let (mut score, mut node) = (Score::default(), root(&runner.outline));
    for (place, &number) in steps.iter().enumerate() {
        let active = active(&runner.outline, &node);
        node = stand_up(runner, node, &active)?;
        if !active.contains(&number) {
            return Err(ExploreError::ForeignSubtree);
        }
        let mut blocked = BTreeMap::new();
        for &other in &active {
            if let TurnPoint::Lock(want) = node.stands[other as usize] {
                let blockers = node.database.blockers(other, &want, &runner.keys);
                blocked.extend((!blockers.is_empty()).then_some((other, blockers)));
            }
        }
        let said = node.dialogues[number as usize].said;
        let is_end = node.stands[number as usize] == TurnPoint::End;
        if matches!(node.stands[number as usize], TurnPoint::Lock(want) if want.patience != Patience::Wait) {
            score.impatient.insert((number, said));
        }
        let begins_to_wait = blocked.contains_key(&number) && !node.database.waits(number);
        let (next, access) = step_of_one_run(runner, &node, number)?.ok_or(ExploreError::ForeignSubtree)?;
        let is_serializable =
            runner.outline.levels[number as usize].of_engine() == Some(EngineLevel::PostgresSerializable);
        let matters_to_others = access.leaves_something() || is_serializable;
        // Who stands before its first record has taken nothing yet.
        let has_taken = node.has_taken(number, &runner.keys) != next.has_taken(number, &runner.keys);
        if !node.database.looks_before_it_locks() && has_taken {
            score.takes((number, said), place, access, &runner.keys);
        }
        let is_over = next.over.contains(number);
        // What asks for nothing, such as SAVEPOINT, may have been answered before the first step.
        for statement in 0..said {
            score.begins((number, statement), place);
        }
        if !is_end {
            score.begins((number, said), place);
        }
        if begins_to_wait {
            let window = score.begins((number, said), place);
            window.latest = window.latest.min(place);
        } else {
            for statement in said..next.dialogues[number as usize].said {
                score.begins((number, statement), place).last = place;
            }
        }
        if is_over && !is_end {
            // Whoever else waits when a wait ends by a refusal has sent what it waits with.
            for &other in blocked.keys().filter(|&&other| other != number && blocked.contains_key(&number)) {
                let statement = (other, node.dialogues[other as usize].said);
                let window = score.begins(statement, place);
                window.latest = window.latest.min(place);
            }
        }
        if is_over {
            score.ends.insert(number, place);
        }
        if is_over && matters_to_others || begins_to_wait {
            score.barriers.push((place, number));
        }
        score.blocked.push(blocked);
        node = next;
    }
    Ok(score)
}
