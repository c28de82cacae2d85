//! Who moves next.
//!
//! ```text
//!   one at a time    a: begin · · commit     b: begin · · commit     a: begin · · commit
//!   interleaved      every session has a transaction open, and a random one takes its next step:
//!                    a: begin ·        · commit  begin ·
//!                    b:         begin ·                  · commit
//! ```
//!
//! A run ends with all its transactions finished and everything at rest, so that an anomaly can be put between two runs without
//! touching either.

use crate::attempt::Attempt;
use crate::database::Database;
use crate::recorder::Recorder;
use crate::workload::Workload;
use std::io;

/// A way to choose who moves next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Schedule {
    /// A random session runs its next transaction from begin to end.
    OneAtATime,
    /// A random session takes its next step.
    Interleaved,
}

/// A client, between transactions or inside one.
#[derive(Default)]
struct Client {
    attempt: Attempt,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// It has nothing to do.
    #[default]
    Idle,
    /// It knows what it wants to do.
    Waiting,
    /// Its transaction has taken this many steps.
    Open(usize),
}

impl Client {
    fn new(session: u32) -> Client {
        Client { attempt: Attempt { session, ..Attempt::default() }, state: State::Idle }
    }
}

/// What a run works on.
struct Run<'a, 'b> {
    database: &'a mut dyn Database,
    workload: &'a mut Workload,
    recorder: &'a mut Recorder<'b>,
}

impl Schedule {
    /// Runs this many transactions to their end.
    pub(crate) fn run(
        self,
        count: u64,
        database: &mut dyn Database,
        workload: &mut Workload,
        recorder: &mut Recorder<'_>,
    ) -> io::Result<()> {
        let mut run = Run { database, workload, recorder };
        match self {
            Schedule::OneAtATime => run.one_at_a_time(count)?,
            Schedule::Interleaved => run.interleaved(count)?,
        }
        run.database.settle();
        Ok(())
    }
}

impl Run<'_, '_> {
    fn one_at_a_time(&mut self, count: u64) -> io::Result<()> {
        let mut client = Client::default();
        for _ in 0..count {
            let session = self.workload.random.below(u64::from(self.workload.sessions())) as u32;
            self.workload.draw(session, &mut client.attempt);
            client.state = State::Waiting;
            while client.state != State::Idle {
                self.step(&mut client)?;
            }
        }
        Ok(())
    }

    fn interleaved(&mut self, mut count: u64) -> io::Result<()> {
        let mut clients: Vec<Client> = (0..self.workload.sessions()).map(Client::new).collect();
        while !clients.is_empty() {
            let place = self.workload.random.index(clients.len());
            let client = &mut clients[place];
            if client.state == State::Idle {
                if count == 0 {
                    clients.swap_remove(place);
                    continue;
                }
                count -= 1;
                self.workload.draw(client.attempt.session, &mut client.attempt);
                client.state = State::Waiting;
            }
            self.step(client)?;
        }
        Ok(())
    }

    fn step(&mut self, client: &mut Client) -> io::Result<()> {
        let now = self.recorder.tick();
        let attempt = &mut client.attempt;
        client.state = match client.state {
            State::Idle => State::Idle,
            State::Waiting => {
                attempt.begin = now;
                self.database.begin(attempt, &mut self.workload.random);
                State::Open(0)
            }
            State::Open(taken) if taken < attempt.steps.len() => {
                self.database.advance(attempt);
                State::Open(taken + 1)
            }
            State::Open(_) => self.end(attempt, now)?,
        };
        Ok(())
    }

    fn end(&mut self, attempt: &mut Attempt, now: i64) -> io::Result<State> {
        let fate = self.workload.fate();
        if fate.installed && !self.database.commit(attempt, &mut self.workload.random) {
            self.recorder.record_refused(attempt.session, &attempt.events, attempt.begin, now)?;
            self.workload.renew(attempt);
            return Ok(State::Waiting);
        }
        self.recorder.record(attempt.session, &attempt.events, fate.outcome, attempt.begin, now)?;
        Ok(State::Idle)
    }
}
