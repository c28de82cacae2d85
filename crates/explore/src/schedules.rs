//! The levels of the engines: every schedule of a program on a server, and of those that come to the same only one.
//!
//! ```text
//!   Search ──> ServerSearch ──> steps of sessions: snapshot, lock, wait, refusal, end ──> what all have told ──> Node
//! ```
//!
//! **Why not by swaps.** The search by swaps needs that a pending transaction can always go on, reading from its own past. Locks break
//! that, at read committed, too. Let t hold y, and v have committed after it waited for y; v has also locked x, at a moment before one that
//! t has seen. If t now wants x, it can neither be before v (v had x before t went on) nor after it (v waited for t):
//!
//! ```text
//!   v:  SELECT z and lock x    · lock y ·  commit           v.1 ──> C_w ──> t.1 ──> C_t ──> v.2 ──> C_v
//!   w:  UPDATE z
//!   t:  SELECT z from w        · lock y · lock x ?          C_t ──> v.1 and C_v ──> t.3 both close a cycle: a deadlock
//! ```
//!
//! Nor are locks that leave no trace in what is read (FOR UPDATE) swapped by anybody. So here a run is made as a server makes it, step by
//! step, and who is refused is part of it. The models of the servers are those that the definition is held against in `skew-check`, which
//! were compared with live servers; `tests/engines` holds these here against those.
//!
//! **Each history once.** Steps that may be exchanged ([`StepAccess`]) are tried in one order only: a session that has been tried at a state
//! *sleeps* below the others there until one of them does something that matters to it (Godefroid's sleep sets):
//!
//! ```text
//!   a: lock x  ·  b: lock y       a first: everything.   b first: a sleeps, because lock y does not matter to it, until b wants x
//! ```
//!
//! Schedules that differ in more than that come to the same state all the same; the search does not go on from one twice (`met`). What then
//! still comes twice, because nobody has seen the difference, is known by a fingerprint of 16 bytes per history: this is all that grows with
//! their number, for states have a limited room. The stack holds a state per step and sibling. What is remembered of histories and of states
//! is why such a search is not split over threads.
//!
//! Which commits matter to a snapshot is found by running ahead (`ahead`).
//!
//! Who waits for itself is found in `deadlock`; when the statements of one run are sent, as somebody does who has a terminal per session, in `beats`.

mod ahead;
pub(crate) mod beats;
mod deadlock;
mod met;

use crate::error::ExploreError;
use crate::explorable::{Explorable, TransactionEnd};
use crate::keys::{KeyNumber, Keys};
use crate::ordered::Ordered;
use crate::outline::Outline;
use crate::requests::{Interrupt, Requests};
use crate::runner::{Node, Runner};
use crate::server::access::StepAccess;
use crate::server::database::ServerState;
use crate::server::gap::Gap;
use crate::server::outcome::ServerRun;
use crate::server::told::ToldEnd;
use crate::server::turn::{Dialogue, Permit, ServerTurn, TurnPoint};
use crate::set::{Number, Set};
use met::MetStates;
use rustc_hash::FxHashSet;
use skew_history::{Engine, EngineLevel};
use skew_sql::RowKey;
use std::sync::Arc;

/// A state of the server and of its clients.
pub(crate) struct ServerNode<L> {
    database: ServerState,
    /// By number.
    dialogues: Vec<Arc<Dialogue>>,
    stands: Vec<TurnPoint>,
    /// What those leave who have come to their end, and whether they commit.
    endings: Vec<Option<(bool, Arc<L>)>>,
    left: Vec<Option<Arc<L>>>,
    pub(crate) over: Set,
    /// Those that are over, in the order in which they ended.
    order: Vec<Number>,
    /// Who took the steps that lead here.
    pub(crate) steps: Vec<Number>,
    /// Those who waited when somebody was refused because of that.
    needed: Set,
    /// Whether its last step shows that it comes to the same as another schedule, or to what nobody wants.
    in_vain: bool,
    /// Who need not take a step here, because that was tried where it came to the same.
    asleep: Vec<(Number, Arc<StepAccess>)>,
    share: f64,
}

impl<L> Clone for ServerNode<L> {
    fn clone(&self) -> ServerNode<L> {
        ServerNode {
            database: self.database.clone(),
            dialogues: self.dialogues.clone(),
            stands: self.stands.clone(),
            endings: self.endings.clone(),
            left: self.left.clone(),
            over: self.over,
            order: self.order.clone(),
            steps: self.steps.clone(),
            needed: self.needed,
            in_vain: self.in_vain,
            asleep: self.asleep.clone(),
            share: self.share,
        }
    }
}

impl<L> ServerNode<L> {
    /// One more transaction, behind all others.
    pub(crate) fn add(&mut self, level: EngineLevel) {
        self.database.add(level);
        self.dialogues.push(Arc::default());
        self.stands.push(TurnPoint::Unknown);
        self.endings.push(None);
        self.left.push(None);
    }

    /// Whether a transaction has come to its end, and is about to commit.
    pub(crate) fn is_committing(&self, number: Number) -> bool {
        let commits = self.endings[number as usize].as_ref().is_some_and(|ending| ending.0);
        commits && self.stands[number as usize] == TurnPoint::End
    }

    /// Those who look at nothing any more: they are over, or have come to their end.
    fn served(&self) -> Set {
        let at_end = (0..).zip(&self.stands).filter(|(_, stand)| **stand == TurnPoint::End);
        at_end.map(|(number, _)| number).fold(self.over, |served, number| served | Set::only(number))
    }

    /// How many statements of a transaction are answered, of those that it remembers.
    pub(crate) fn said(&self, number: Number) -> usize {
        self.dialogues[number as usize].said
    }

    /// Whether a transaction stands in the middle of a statement, and could go on.
    pub(crate) fn is_within_statement(&mut self, number: Number, keys: &Keys) -> bool {
        let has_begun = self.dialogues[number as usize].has_begun;
        match self.stands[number as usize] {
            TurnPoint::Lock(want) => {
                (has_begun || self.database.is_queued(number)) && self.database.blockers(number, &want, keys).is_empty()
            }
            TurnPoint::Open => has_begun,
            TurnPoint::Unknown | TurnPoint::End => false,
        }
    }

    /// Whether somebody who goes along an index may come to another row than the one that it stood before, after a step of somebody else:
    /// one that came or went. Who waits in a queue stays there.
    fn has_to_look_again(&self, number: Number, access: &StepAccess, keys: &Keys) -> bool {
        let TurnPoint::Lock(want) = self.stands[number as usize] else { return false };
        if want.is_check && self.database.looks_before_it_locks() {
            // The entry of an index may lead to another row now.
            let is_entry = keys.is_entry(want.key) && access.touches.contains(&want.key);
            return is_entry && !self.over.contains(number);
        }
        let goes_along = want.in_range && !self.database.looks_before_it_locks() && !self.database.is_queued(number);
        let dialogue = &self.dialogues[number as usize];
        let space = keys.key(want.key).space;
        let matters = |&key: &KeyNumber| keys.key(key).space == space && !dialogue.has_looked_at(key);
        goes_along && !self.over.contains(number) && access.touches.iter().any(matters)
    }

    /// How much a transaction has heard, and what it has locked or waits for.
    fn has_taken(&self, number: Number, keys: &Keys) -> ((usize, usize), Vec<KeyNumber>, Vec<Gap>) {
        let progress = self.dialogues[number as usize].progress();
        (progress, self.database.touched(number), self.database.touched_gaps(number, keys))
    }

    /// Whether the server has refused a transaction.
    pub(crate) fn is_refused(&self, number: Number) -> bool {
        matches!(self.dialogues[number as usize].told.end, Some(ToldEnd::Refused(..)))
    }

    /// What was told so far.
    pub(crate) fn told(&self, keys: &Keys) -> ServerRun {
        let told = self.dialogues.iter().map(|dialogue| dialogue.told.clone()).collect();
        ServerRun::new(told, self.order.clone(), self.steps.clone(), self.database.versions(), keys)
    }

    /// The run, when all are over.
    pub(crate) fn run(self, run: ServerRun, outline: &Outline, keys: &Keys) -> Node<L> {
        let history = run.ordered(outline, keys);
        Node { history, left: self.left, share: self.share, server: Some(Arc::new(run)) }
    }
}

/// A state after one more step, and what that step had to do with others.
pub(crate) type Next<L> = (ServerNode<L>, StepAccess);

/// What a search on a server has come across.
pub(crate) enum Met<L> {
    /// A run.
    Run(Node<L>),
    /// Nothing that was not met before; which part of the whole it is.
    Nothing(f64),
}

/// An exploration of schedules, on its way.
pub(crate) struct ServerSearch<L> {
    stack: Vec<ServerNode<L>>,
    known: FxHashSet<u128>,
    met: MetStates,
}

impl<L> ServerSearch<L> {
    /// A search of nothing yet, with so many bytes for states that it remembers.
    pub(crate) fn new(memory: usize) -> ServerSearch<L> {
        ServerSearch { stack: Vec::new(), known: FxHashSet::default(), met: MetStates::new(memory) }
    }

    /// Begins with the whole.
    pub(crate) fn add_whole<P: Explorable<Left = L> + ?Sized>(&mut self, runner: &Runner<'_, P>) {
        self.stack.push(root(&runner.outline));
    }

    /// Begins with one schedule: the sessions take these steps, and then the run is over.
    pub(crate) fn add_steps<P: Explorable<Left = L> + ?Sized>(
        &mut self,
        runner: &mut Runner<'_, P>,
        steps: &[Number],
    ) -> Result<(), ExploreError> {
        let mut node = root(&runner.outline);
        for &number in steps {
            let active = active(&runner.outline, &node);
            node = stand_up(runner, node, &active)?;
            let is_active = active.contains(&number);
            let next = if is_active { step(runner, &node, number)? } else { None };
            node = next.ok_or(ExploreError::ForeignSubtree)?.0;
        }
        self.stack.push(node);
        Ok(())
    }

    /// The steps that lead to what waits.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (&[Number], f64)> {
        self.stack.iter().map(|node| (&node.steps[..], node.share))
    }

    /// Goes on until something is met; nothing when all is done.
    pub(crate) fn next<P: Explorable<Left = L> + ?Sized>(
        &mut self,
        runner: &mut Runner<'_, P>,
    ) -> Result<Option<Met<L>>, ExploreError> {
        let Some(node) = self.stack.pop() else { return Ok(None) };
        let active = active(&runner.outline, &node);
        if active.is_empty() {
            return Ok(Some(self.finished(runner, node)));
        }
        let share = node.share;
        let mut node = stand_up(runner, node, &active)?;
        if self.met.meet(&mut node) {
            return Ok(Some(Met::Nothing(share)));
        }
        let mut children = children(runner, node, &active)?;
        if children.is_empty() {
            return Ok(Some(Met::Nothing(share)));
        }
        let part = share / children.len() as f64;
        children.iter_mut().for_each(|child| child.share = part);
        self.stack.extend(children.into_iter().rev());
        Ok(Some(Met::Nothing(0.0)))
    }

    /// A run that is over, if it was not met before. One that is known and left other rows is met again.
    fn finished<P: Explorable<Left = L> + ?Sized>(&mut self, runner: &Runner<'_, P>, node: ServerNode<L>) -> Met<L> {
        let (mut run, share) = (node.told(&runner.keys), node.share);
        run.is_again = !self.known.insert(run.fingerprint(&runner.keys, false));
        if !self.known.insert(run.fingerprint(&runner.keys, true)) {
            return Met::Nothing(share);
        }
        Met::Run(node.run(run, &runner.outline, &runner.keys))
    }
}

/// Nothing has begun.
pub(crate) fn root<L>(outline: &Outline) -> ServerNode<L> {
    let count = outline.count() + 1;
    let level = |number: usize| outline.levels[number].of_engine().unwrap_or(EngineLevel::PostgresReadCommitted);
    ServerNode {
        database: ServerState::new((0..count).map(level).collect()),
        dialogues: vec![Arc::default(); count],
        stands: vec![TurnPoint::Unknown; count],
        endings: (0..count).map(|_| None).collect(),
        left: (0..count).map(|_| None).collect(),
        over: Set::EMPTY,
        order: Vec::new(),
        steps: Vec::new(),
        needed: Set::EMPTY,
        in_vain: false,
        asleep: Vec::new(),
        share: 1.0,
    }
}

/// Of each session the transaction that is under way or next.
pub(crate) fn active<L>(outline: &Outline, node: &ServerNode<L>) -> Vec<Number> {
    let is_active =
        |&number: &Number| !node.over.contains(number) && (outline.session_past(number) - node.over).is_empty();
    outline.numbers().filter(is_active).collect()
}

/// The states that steps lead to which have to be tried; all stand somewhere.
fn children<P: Explorable + ?Sized>(
    runner: &mut Runner<'_, P>,
    node: ServerNode<P::Left>,
    active: &[Number],
) -> Result<Vec<ServerNode<P::Left>>, ExploreError> {
    let mut tried = node.asleep.clone();
    let mut children = Vec::new();
    for &number in active.iter().filter(|&&number| !node.asleep.iter().any(|asleep| asleep.0 == number)) {
        let Some((mut child, access)) = step(runner, &node, number)? else { continue };
        if child.in_vain {
            continue;
        }
        let sleeps = |(_, other): &&(Number, Arc<StepAccess>)| other.may_be_exchanged(&access, &runner.keys);
        child.asleep = tried.iter().filter(sleeps).cloned().collect();
        tried.push((number, Arc::new(access)));
        children.push(child);
    }
    Ok(children)
}

/// Asks those of whom it is not known where they stand: who has not begun runs up to its first point, which is no step yet.
pub(crate) fn stand_up<P: Explorable + ?Sized>(
    runner: &mut Runner<'_, P>,
    mut node: ServerNode<P::Left>,
    active: &[Number],
) -> Result<ServerNode<P::Left>, ExploreError> {
    for &number in active {
        if node.stands[number as usize] == TurnPoint::Unknown {
            node = execute(runner, node, number, Permit::Stay)?.0;
        }
    }
    Ok(node)
}

/// One step of a transaction; nothing if it has to wait.
pub(crate) fn step<P: Explorable + ?Sized>(
    runner: &mut Runner<'_, P>,
    node: &ServerNode<P::Left>,
    number: Number,
) -> Result<Option<Next<P::Left>>, ExploreError> {
    let Some((mut next, access)) = step_alone(runner, node, number)? else { return Ok(None) };
    for other in runner.outline.numbers().filter(|&other| other != number) {
        if next.has_to_look_again(other, &access, &runner.keys) {
            next.stands[other as usize] = TurnPoint::Unknown;
        }
    }
    Ok(Some((next, access)))
}

/// The same without what it means for where others stand.
fn step_alone<P: Explorable + ?Sized>(
    runner: &mut Runner<'_, P>,
    node: &ServerNode<P::Left>,
    number: Number,
) -> Result<Option<Next<P::Left>>, ExploreError> {
    let mut next = node.clone();
    next.steps.push(number);
    let want = match node.stands[number as usize] {
        TurnPoint::Open | TurnPoint::Unknown => return execute(runner, next, number, Permit::Pass).map(Some),
        TurnPoint::End => return Ok(Some(end(next, number, &runner.keys))),
        TurnPoint::Lock(want) => want,
    };
    if next.database.blockers(number, &want, &runner.keys).is_empty() {
        return execute(runner, next, number, Permit::Pass).map(Some);
    }
    if !node.database.waits(number) {
        if node.database.glances(number, &want, &runner.keys) {
            let (glanced, access) = execute(runner, next.clone(), number, Permit::Glance)?;
            if glanced.dialogues[number as usize].progress() != node.dialogues[number as usize].progress() {
                return Ok(Some((glanced, access)));
            }
        }
        let touches_gaps = next.database.wait(number, &want, &runner.keys);
        return Ok(Some((next, StepAccess { touches: vec![want.key], touches_gaps, ..StepAccess::default() })));
    }
    if !deadlock::is_deadlocked(&mut next, number, runner) {
        return Ok(None);
    }
    let code = match runner.outline.levels[number as usize].of_engine().map(EngineLevel::engine) {
        Some(Engine::Mysql) => "1213",
        _ => "40P01",
    };
    let waits =
        |&other: &Number| matches!(node.stands[other as usize], TurnPoint::Lock(_)) && !node.over.contains(other);
    next.needed |= runner.outline.numbers().filter(waits).collect();
    execute(runner, next, number, Permit::Refuse(code)).map(Some)
}

/// One step of a transaction in a run that stands alone; nothing if it has to wait. Where the search would leave the run out, because its
/// transactions at PostgreSQL's serializable could not have run one after the other, the commit that makes it such a run is refused.
pub(crate) fn step_of_one_run<P: Explorable + ?Sized>(
    runner: &mut Runner<'_, P>,
    node: &ServerNode<P::Left>,
    number: Number,
) -> Result<Option<Next<P::Left>>, ExploreError> {
    let Some((next, access)) = step(runner, node, number)? else { return Ok(None) };
    let level = runner.outline.levels[number as usize].of_engine();
    let is_asked = node.is_committing(number) && level == Some(EngineLevel::PostgresSerializable);
    if !is_asked || next.told(&runner.keys).is_serializable(&runner.outline) {
        return Ok(Some((next, access)));
    }
    refuse_commit(runner, node, number).map(Some)
}

/// The server refuses a transaction that is about to commit.
fn refuse_commit<P: Explorable + ?Sized>(
    runner: &mut Runner<'_, P>,
    node: &ServerNode<P::Left>,
    number: Number,
) -> Result<Next<P::Left>, ExploreError> {
    let mut next = node.clone();
    next.steps.push(number);
    execute(runner, next, number, Permit::Refuse("40001"))
}

/// A transaction ends as its program has it.
fn end<L>(mut node: ServerNode<L>, number: Number, keys: &Keys) -> Next<L> {
    let (touches, touches_gaps) = (node.database.touched(number), node.database.touched_gaps(number, keys));
    let mut access = StepAccess { touches, touches_gaps, ..StepAccess::default() };
    let dialogue = Arc::make_mut(&mut node.dialogues[number as usize]);
    let (commits, left) = match node.endings[number as usize].take() {
        Some((commits, left)) => (commits, Some(left)),
        None => (false, None),
    };
    match commits {
        true => {
            access.changes = dialogue.told.changes();
            node.database.commit(number, &dialogue.told, keys);
        }
        false => node.database.forget(number, keys),
    }
    dialogue.told.end = Some(if commits { ToldEnd::Committed } else { ToldEnd::RolledBack });
    node.left[number as usize] = left;
    node.over.insert(number);
    node.order.push(number);
    (node, access)
}

/// Runs the program of a transaction from its start to the next point, or to its refusal.
fn execute<P: Explorable + ?Sized>(
    runner: &mut Runner<'_, P>,
    mut node: ServerNode<P::Left>,
    number: Number,
    permit: Permit,
) -> Result<Next<P::Left>, ExploreError> {
    let outline = Arc::clone(&runner.outline);
    let place = outline.call(number);
    let before = outline.follows(number).and_then(|before| node.left[before as usize].clone());
    let touched = (node.database.touched(number), node.database.touched_gaps(number, &runner.keys));
    let dialogue = Arc::make_mut(&mut node.dialogues[number as usize]);
    let (program, mut unused) = (runner.program, Ordered::new(0));
    let names = |key: &RowKey| program.key_name(key);
    let turn = ServerTurn::new(number, &mut node.database, dialogue, permit);
    let mut requests = Requests::on_server(turn, &mut unused, &mut runner.keys, &outline, &names);
    let ending = program.run(place, before.as_deref(), &mut requests);
    let asked = requests.taken(ending.is_ok())?;
    let failed = |message: String| {
        let transaction = outline.transaction_name(number);
        Err(ExploreError::Failed { transaction, message })
    };
    let ending = match ending {
        Err(Interrupt::Failed(message)) => return failed(message),
        Err(Interrupt::Waiting) if asked.stands.is_none() && asked.refused.is_none() => {
            return failed("it was interrupted, but not by a request that waits".to_owned());
        }
        Err(_) => None,
        Ok(TransactionEnd { commits, left }) => Some((commits, Arc::new(left))),
    };
    let mut access = asked.access;
    let dialogue = Arc::make_mut(&mut node.dialogues[number as usize]);
    (dialogue.said, dialogue.has_begun) = (asked.said, asked.has_begun);
    node.in_vain = asked.is_unwanted || asked.waited_in_vain && !node.needed.contains(number);
    node.needed = node.needed - Set::only(number);
    if let Some((statement, code)) = asked.refused {
        node.database.forget(number, &runner.keys);
        access.touches.extend(touched.0);
        access.touches_gaps.extend(touched.1);
        access.is_refused = true;
        Arc::make_mut(&mut node.dialogues[number as usize]).told.end = Some(ToldEnd::Refused(statement, code));
        node.left[number as usize] = ending.map(|(_, left)| left);
        node.over.insert(number);
        node.order.push(number);
    } else {
        node.stands[number as usize] = asked.stands.unwrap_or(TurnPoint::End);
        node.endings[number as usize] = ending;
    }
    if permit == Permit::Pass
        && access.reads_all
        && !node.over.contains(number)
        && node.database.sees_one_snapshot(number)
        && let Some(seen) = ahead::seen_ahead(runner, &node, number)
    {
        access.sees_only(seen);
    }
    Ok((node, access))
}
