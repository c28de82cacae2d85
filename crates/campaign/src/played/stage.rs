//! One run: the sessions of a program on a fresh store, one event at a time in an order that the seed decides.
//!
//! ```text
//!   interleaved   a session is drawn, may do one event, and waits again:   alice r · bob r · alice w · alice commit · bob w …
//!   serial        a session is drawn and does its next transaction whole: weak all the same, by what its reads return
//! ```
//!
//! A transaction that the database refuses is tried again, as an application would, up to a limit; one that its own program aborts
//! is over.

use super::store::{self, Weakness};
use skew_history::SessionId;
use skew_mockdb::{Begin, Campaign, Chance, Store, Stream, Tape};
use skew_program::{CallOutcome, Client, Ending, Program, ProgramError, Results, Run, Step};
use skew_sql::{Interrupt, MemoryStorage, Session, Stop, Storage, Write};
use skew_value::{SqlError, SqlState};
use std::collections::BTreeMap;

/// How a run is made.
#[derive(Clone, Copy, Debug)]
pub struct PlayRules {
    /// How weak its database is.
    pub weakness: Weakness,
    /// How often a transaction that the database refused is tried again.
    pub retries: u32,
    /// How many steps a call may take.
    pub most_steps: u64,
}

/// More final states than these are not looked at.
pub(super) const MOST_FINAL_STATES: usize = 1_000;

/// What came of a run.
pub(crate) struct Played {
    pub(crate) seed: u64,
    /// The history in the native format.
    pub(crate) history: String,
    /// What tells it from other runs, where the history alone does not say: on a server refusals count, too.
    pub(crate) pattern: Option<String>,
    pub(crate) results: Results,
    /// The states in which it may have left the database; nothing when there are too many.
    pub(crate) final_states: Option<Vec<MemoryStorage>>,
    /// How often the database refused a transaction.
    pub(crate) refusals: u64,
    /// With which codes, on a server.
    pub(crate) codes: BTreeMap<&'static str, u64>,
    /// Calls that were refused for good.
    pub(crate) given_up: u64,
    /// Calls that their program aborted, and what was said.
    pub(crate) aborts: Vec<CallAbort>,
    /// A call that took too many steps.
    pub(crate) endless: Option<ProgramError>,
}

impl Played {
    /// Nothing came of it yet.
    pub(super) fn nothing(seed: u64, program: &Program) -> Played {
        Played {
            seed,
            history: String::new(),
            pattern: None,
            results: Results::new(program.scripts()),
            final_states: None,
            refusals: 0,
            codes: BTreeMap::new(),
            given_up: 0,
            aborts: Vec::new(),
            endless: None,
        }
    }
}

/// Why a call was aborted by its program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CallAbort {
    Rollback,
    Signal(String),
    Error(ProgramError),
}

/// A session on the stage.
struct Seat {
    session: SessionId,
    sql: Session,
    client: Client,
    call: usize,
    run: Option<Run>,
    tries: u32,
    /// It was given a turn that it has not used yet.
    granted: bool,
}

struct Stage<'a> {
    program: &'a Program,
    rules: PlayRules,
    store: Store,
    seats: Vec<Seat>,
    played: Played,
}

/// What a session did when it was its turn.
enum Turn {
    /// It waits for another turn or for a lock.
    Waits,
    /// Its transaction is over.
    Ended,
}

/// Plays one run.
pub(crate) fn play(program: &Program, rules: PlayRules, seed: u64, campaign: &Campaign) -> Result<Played, SqlError> {
    let about = format!("skew play, seed {seed}");
    let (mut store, tape) = store::fresh(program, rules.weakness, seed, campaign, &about)?;
    let seats = program.scripts().iter().enumerate().map(|(number, script)| Seat {
        session: store.connect(&script.name),
        sql: program.session(),
        client: Client::new(program, number),
        call: 0,
        run: None,
        tries: 0,
        granted: false,
    });
    let seats = seats.collect();
    let played = Played::nothing(seed, program);
    Stage { program, rules, store, seats, played }.everything(&tape)
}

impl Stage<'_> {
    fn everything(mut self, tape: &Tape) -> Result<Played, SqlError> {
        let mut chance = Chance::new(self.played.seed, Stream::Turns);
        while self.played.endless.is_none() {
            let unfinished = (0..self.seats.len()).filter(|&number| !self.is_finished(number));
            let ready: Vec<usize> = unfinished.clone().filter(|&number| !self.is_blocked(number)).collect();
            match (ready.is_empty(), unfinished.count()) {
                (_, 0) => break,
                (true, _) => return Err(SqlError::new(SqlState::INTERNAL, "every session waits for another one")),
                (false, _) => self.turn(ready[chance.below(ready.len())])?,
            }
        }
        self.played.history = tape.text();
        self.played.final_states = self.final_states();
        Ok(self.played)
    }

    fn final_states(&self) -> Option<Vec<MemoryStorage>> {
        let states = self.store.final_states(MOST_FINAL_STATES)?;
        let storage = |rows| {
            let mut storage = MemoryStorage::new();
            for (key, row) in rows {
                // A store in memory never refuses a write.
                let _ = storage.put(&key, Write::Row(row));
            }
            storage
        };
        Some(states.into_iter().map(storage).collect())
    }

    fn is_finished(&self, number: usize) -> bool {
        self.seats[number].call >= self.program.scripts()[number].calls.len()
    }

    fn is_blocked(&self, number: usize) -> bool {
        self.store.is_waiting(self.seats[number].session)
    }

    /// Lets a session do one event, or a whole transaction.
    fn turn(&mut self, number: usize) -> Result<(), SqlError> {
        let session = self.seats[number].session;
        if self.rules.weakness.turns && !self.seats[number].granted {
            self.store.grant(session);
            self.seats[number].granted = true;
        }
        let turn = self.go_on(number)?;
        // Whoever waits for a lock keeps its turn for the event that the lock held up.
        self.seats[number].granted = matches!(turn, Turn::Waits) && !self.store.wants_turn(session);
        self.store.take_woken();
        Ok(())
    }

    /// Steps until the session waits or its transaction is over.
    fn go_on(&mut self, number: usize) -> Result<Turn, SqlError> {
        if self.seats[number].run.is_none() && !self.begin(number)? {
            return Ok(Turn::Ended);
        }
        loop {
            match self.step(number) {
                Ok(Step::Continue) => {}
                Ok(Step::Done(ending)) => return self.end(number, ending),
                Err(Stop::Interrupted(interrupt)) => return self.interrupted(number, interrupt),
                Err(Stop::Error(error)) => return Ok(self.fail(number, error)),
            }
        }
    }

    /// Begins the session's next call; false if its arguments are no values of its parameters.
    fn begin(&mut self, number: usize) -> Result<bool, SqlError> {
        let seat = &mut self.seats[number];
        let call = &self.program.scripts()[number].calls[seat.call];
        let started = seat.client.start(self.program, seat.call, self.rules.most_steps);
        self.store
            .begin(seat.session, Begin { level: call.level, ..Begin::default() })
            .map_err(|error| error.at(call.place))?;
        match started {
            Ok(run) => {
                seat.run = Some(run);
                Ok(true)
            }
            Err(error) => {
                self.store.abort(seat.session);
                self.played.aborts.push(CallAbort::Error(self.program.error(error)));
                self.finish(number, CallOutcome::Aborted, false);
                Ok(false)
            }
        }
    }

    fn step(&mut self, number: usize) -> Result<Step, Stop> {
        let seat = &mut self.seats[number];
        let Some(run) = &mut seat.run else { return Ok(Step::Done(Ending::Rollback)) };
        let (session, sql) = (seat.session, &mut seat.sql);
        match run.statement().cloned() {
            Some(text) => {
                self.store.run_statement(session, Some(text.as_ref()), |store| run.step(sql, &mut *store.view(session)))
            }
            None => run.step(sql, &mut *self.store.view(session)),
        }
    }

    fn end(&mut self, number: usize, ending: Ending) -> Result<Turn, SqlError> {
        let session = self.seats[number].session;
        let abort = match ending {
            Ending::Commit => {
                if let Err(interrupt) = self.store.commit(session) {
                    return self.interrupted(number, interrupt);
                }
                self.finish(number, CallOutcome::Committed, true);
                return Ok(Turn::Ended);
            }
            Ending::Rollback => CallAbort::Rollback,
            Ending::Signal { state, message, .. } => CallAbort::Signal(format!("{message} ({state})")),
        };
        self.store.abort(session);
        let hands_out = abort == CallAbort::Rollback;
        self.played.aborts.push(abort);
        self.finish(number, CallOutcome::Aborted, hands_out);
        Ok(Turn::Ended)
    }

    fn fail(&mut self, number: usize, error: SqlError) -> Turn {
        self.store.abort(self.seats[number].session);
        let is_endless = error.state == SqlState::LIMIT_EXCEEDED;
        let error = self.program.error(error);
        if is_endless {
            self.played.endless = Some(error);
        } else {
            self.played.aborts.push(CallAbort::Error(error));
        }
        self.finish(number, CallOutcome::Aborted, false);
        Turn::Ended
    }

    fn interrupted(&mut self, number: usize, interrupt: Interrupt) -> Result<Turn, SqlError> {
        match interrupt {
            Interrupt::Wait => return Ok(Turn::Waits),
            Interrupt::Cancelled => return Err(SqlError::new(SqlState::INTERNAL, "the store cancelled a run")),
            Interrupt::SerializationFailure | Interrupt::Deadlock => {}
        }
        self.played.refusals += 1;
        let seat = &mut self.seats[number];
        if seat.tries < self.rules.retries {
            seat.tries += 1;
            seat.run = None;
        } else {
            self.played.given_up += 1;
            self.finish(number, CallOutcome::Refused, false);
        }
        Ok(Turn::Ended)
    }

    fn finish(&mut self, number: usize, outcome: CallOutcome, hands_out: bool) {
        let seat = &mut self.seats[number];
        let result = match seat.run.take() {
            Some(run) => seat.client.finish(self.program, seat.call, &run, outcome, hands_out),
            None => seat.client.refuse(self.program, seat.call, outcome),
        };
        self.played.results.set(number, seat.call, result);
        seat.call += 1;
        seat.tries = 0;
    }
}
