//! One run of a program on a server, whose steps somebody chooses.
//!
//! ```text
//!   alice and bob can move ── choose ──> alice: lock x        alice and bob can move ── choose ──> bob: waits for x, choose another
//!   alice refused with 40001 ──> another try of the same call, up to a limit; it is one more transaction of her session
//! ```
//!
//! The servers are those of the search ([`crate::schedules`]), so that a run without another try is one that the search finds.
//!
//! **PostgreSQL's serializable.** The search makes the runs of repeatable read, and leaves out those whose transactions could not have run one
//! after the other. A single run cannot be left out, so the transaction whose commit would make it such a run is refused with 40001, as
//! PostgreSQL refuses one of those that stand in a dangerous structure. Which of them, and how early, is PostgreSQL's choice; it refuses
//! more than it must, and that is not shown here.

use crate::error::ExploreError;
use crate::explorable::Explorable;
use crate::outline::{Options, Outline, Place};
use crate::run::Run;
use crate::runner::Runner;
use crate::schedules::beats::{self, Beat};
use crate::schedules::{ServerNode, active, root, stand_up, step_of_one_run};
use crate::set::Number;
use skew_history::EngineLevel;
use std::sync::Arc;

/// A session that may take the next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Movable {
    /// Which one, from 0.
    pub session: usize,
    /// Whether it is in the middle of a transaction.
    pub is_under_way: bool,
    /// Whether it is in the middle of a statement.
    pub is_within_statement: bool,
    /// How many statements its transaction has said that are answered, of a program that remembers them.
    pub said: usize,
}

/// Says who takes the next step: a place in the list, which is never empty.
pub type StepChooser<'a> = dyn FnMut(&[Movable]) -> usize + 'a;

/// Runs of a program on a server, one after the other.
pub struct Playing<'p, P: Explorable + ?Sized> {
    runner: Runner<'p, P>,
    /// The program as it is, every call once.
    whole: Arc<Outline>,
    /// How often a transaction that the server refused is tried again.
    retries: u32,
}

/// What is left to do in a session.
struct Agenda {
    /// Its calls, as numbers of the whole program.
    calls: Vec<Number>,
    /// How many of them are over.
    done: usize,
    /// How often the call under way was refused.
    tries: u32,
    /// Whose results the next transaction goes on with.
    follows: Option<Number>,
}

impl<'p, P: Explorable + ?Sized> Playing<'p, P> {
    /// Nothing has run yet. All levels have to be those of one engine.
    pub fn new(program: &'p P, options: Options, retries: u32) -> Result<Playing<'p, P>, ExploreError> {
        let runner = Runner::new(program, options)?;
        let whole = Arc::clone(&runner.outline);
        match whole.is_on_server() {
            true => Ok(Playing { runner, whole, retries }),
            false => Err(ExploreError::NoEngineLevel(options.level)),
        }
    }

    /// Makes one run.
    pub fn run(&mut self, choose: &mut StepChooser<'_>) -> Result<Run<'_, P>, ExploreError> {
        let node = self.played(choose)?;
        Ok(self.over(node))
    }

    /// Makes one run, and says when each statement of it is sent.
    pub fn run_with_beats(&mut self, choose: &mut StepChooser<'_>) -> Result<(Run<'_, P>, Vec<Beat>), ExploreError> {
        let node = self.played(choose)?;
        let beats = beats::beats(&mut self.runner, &node.steps)?;
        Ok((self.over(node), beats))
    }

    fn over(&self, node: ServerNode<P::Left>) -> Run<'_, P> {
        let run = node.told(&self.runner.keys);
        let node = node.run(run, &self.runner.outline, &self.runner.keys);
        Run::new(&self.runner, node)
    }

    /// All steps up to the end.
    fn played(&mut self, choose: &mut StepChooser<'_>) -> Result<ServerNode<P::Left>, ExploreError> {
        let mut outline = Outline::unknown(self.whole.options);
        outline.session_names.clone_from(&self.whole.session_names);
        self.runner.outline = Arc::new(outline);
        let mut agendas: Vec<Agenda> = (0..self.whole.session_names.len()).map(|one| self.agenda(one)).collect();
        let mut node = self.empty();
        for agenda in &agendas {
            self.begin(agenda, &mut node);
        }
        loop {
            let active = active(&self.runner.outline, &node);
            if active.is_empty() {
                break;
            }
            node = stand_up(&mut self.runner, node, &active)?;
            let number = self.turn(&mut node, active, choose)?;
            if node.over.contains(number) {
                self.go_on(&mut agendas, &mut node, number);
            }
        }
        Ok(node)
    }

    /// A server of the right engine on which nothing has begun, and nobody is there.
    fn empty(&self) -> ServerNode<P::Left> {
        let mut outline = Outline::unknown(self.whole.options);
        // Of which engine it is, its levels say.
        outline.levels = vec![self.whole.levels[1]];
        root(&outline)
    }

    fn agenda(&self, session: usize) -> Agenda {
        let of_session = |&number: &Number| self.whole.places[number as usize].session == session;
        Agenda { calls: self.whole.numbers().filter(of_session).collect(), done: 0, tries: 0, follows: None }
    }

    /// The next transaction of a session, if it has one.
    fn begin(&mut self, agenda: &Agenda, node: &mut ServerNode<P::Left>) {
        let Some(&call) = agenda.calls.get(agenda.done) else { return };
        let (place, level) = (self.whole.places[call as usize], self.whole.levels[call as usize]);
        Arc::make_mut(&mut self.runner.outline).attempt(place, level, agenda.follows);
        node.add(level.of_engine().unwrap_or(EngineLevel::PostgresReadCommitted));
    }

    /// One step of whoever is chosen among those that need not wait: whose it was. A server does not pause within a statement, unless that
    /// waits for somebody; so who is in the middle of one goes on before all others, and at once when its wait is over.
    fn turn(
        &mut self,
        node: &mut ServerNode<P::Left>,
        mut able: Vec<Number>,
        choose: &mut StepChooser<'_>,
    ) -> Result<Number, ExploreError> {
        let keys = &self.runner.keys;
        let within: Vec<Number> =
            able.iter().copied().filter(|&number| node.is_within_statement(number, keys)).collect();
        let is_within_statement = !within.is_empty();
        if is_within_statement {
            able = within;
        }
        while !able.is_empty() {
            let movable = |number: &Number| self.movable(node, *number, is_within_statement);
            let movable: Vec<Movable> = able.iter().map(movable).collect();
            let number = able.remove(choose(&movable).min(able.len() - 1));
            if let Some((next, _)) = step_of_one_run(&mut self.runner, node, number)? {
                *node = next;
                return Ok(number);
            }
        }
        let transaction = self.whole.transaction_name(1);
        Err(ExploreError::Failed { transaction, message: "every session waits for another one".to_owned() })
    }

    fn movable(&self, node: &ServerNode<P::Left>, number: Number, is_within_statement: bool) -> Movable {
        let session = self.runner.outline.places[number as usize].session;
        let said = node.said(number);
        Movable { session, is_under_way: node.steps.contains(&number), is_within_statement, said }
    }

    /// A transaction is over: its session tries again, or goes on with the next call.
    fn go_on(&mut self, agendas: &mut [Agenda], node: &mut ServerNode<P::Left>, number: Number) {
        let place: Place = self.runner.outline.places[number as usize];
        // What was never tried needs room, too.
        let to_come: usize = agendas.iter().map(|agenda| agenda.calls.len() - agenda.done).sum();
        let agenda = &mut agendas[place.session];
        let has_room = self.runner.outline.room() >= to_come;
        if node.is_refused(number) && agenda.tries < self.retries && has_room {
            agenda.tries += 1;
        } else {
            *agenda = Agenda {
                calls: std::mem::take(&mut agenda.calls),
                done: agenda.done + 1,
                tries: 0,
                follows: Some(number),
            };
        }
        self.begin(&agendas[place.session], node);
    }
}
