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
use crate::database::{Advance, Database};
use crate::recorder::TransactionRecorder;
use crate::workload::Workload;
use std::io;

/// A way to choose who moves next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Interleaving {
    /// A random session runs its next transaction from begin to end.
    OneAtATime,
    /// A random session takes its next step.
    Interleaved,
}

/// A client, between transactions or inside one.
#[derive(Default)]
struct ScheduledClient {
    attempt: Attempt,
    state: ClientState,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum ClientState {
    /// It has nothing to do.
    #[default]
    Idle,
    /// It knows what it wants to do.
    Waiting,
    /// Its transaction has taken this many steps.
    Open(usize),
}

impl ScheduledClient {
    fn new(session: u32) -> ScheduledClient {
        ScheduledClient { attempt: Attempt { session, ..Attempt::default() }, state: ClientState::Idle }
    }
}

/// What a run works on.
struct ScheduleRun<'a, 'b> {
    database: &'a mut dyn Database,
    workload: &'a mut Workload,
    recorder: &'a mut TransactionRecorder<'b>,
}

impl Interleaving {
    /// Runs this many transactions to their end.
    pub(crate) fn run(
        self,
        count: u64,
        database: &mut dyn Database,
        workload: &mut Workload,
        recorder: &mut TransactionRecorder<'_>,
    ) -> io::Result<()> {
        let mut run = ScheduleRun { database, workload, recorder };
        match self {
            Interleaving::OneAtATime => run.one_at_a_time(count)?,
            Interleaving::Interleaved => run.interleaved(count)?,
        }
        run.database.settle();
        Ok(())
    }
}

impl ScheduleRun<'_, '_> {
    fn one_at_a_time(&mut self, count: u64) -> io::Result<()> {
        let mut client = ScheduledClient::default();
        for _ in 0..count {
            let session = self.workload.random.below(u64::from(self.workload.sessions())) as u32;
            self.workload.draw(session, &mut client.attempt);
            client.state = ClientState::Waiting;
            while client.state != ClientState::Idle {
                self.step(&mut client)?;
            }
        }
        Ok(())
    }

    fn interleaved(&mut self, mut count: u64) -> io::Result<()> {
        let mut clients: Vec<ScheduledClient> = (0..self.workload.sessions()).map(ScheduledClient::new).collect();
        while !clients.is_empty() {
            let place = self.workload.random.index(clients.len());
            let client = &mut clients[place];
            if client.state == ClientState::Idle {
                if count == 0 {
                    clients.swap_remove(place);
                    continue;
                }
                count -= 1;
                self.workload.draw(client.attempt.session, &mut client.attempt);
                client.state = ClientState::Waiting;
            }
            self.step(client)?;
        }
        Ok(())
    }

    fn step(&mut self, client: &mut ScheduledClient) -> io::Result<()> {
        let now = self.recorder.tick();
        let attempt = &mut client.attempt;
        client.state = match client.state {
            ClientState::Idle => ClientState::Idle,
            ClientState::Waiting => {
                attempt.begin = now;
                self.database.begin(attempt, &mut self.workload.random);
                ClientState::Open(0)
            }
            ClientState::Open(taken) if taken < attempt.steps.len() => match self.database.advance(attempt) {
                Advance::Done => ClientState::Open(taken + 1),
                Advance::Waits => ClientState::Open(taken),
                Advance::Refused(code) => self.refused(attempt, (code, taken as u32 + 1), now)?,
            },
            ClientState::Open(_) => self.end(attempt, now)?,
        };
        Ok(())
    }

    /// The database rolled a transaction back, with a code, at a statement: it starts over.
    fn refused(&mut self, attempt: &mut Attempt, refusal: (&'static str, u32), now: i64) -> io::Result<ClientState> {
        self.recorder.record_refused(attempt.session, &attempt.events, refusal, attempt.begin, now)?;
        self.workload.renew(attempt);
        Ok(ClientState::Waiting)
    }

    fn end(&mut self, attempt: &mut Attempt, now: i64) -> io::Result<ClientState> {
        let fate = self.workload.fate();
        if fate.installed && !self.database.commit(attempt, &mut self.workload.random) {
            return self.refused(attempt, ("40001", attempt.steps.len() as u32 + 1), now);
        }
        if !fate.installed {
            self.database.abort(attempt);
        }
        self.recorder.record(attempt.session, &attempt.events, fate.outcome, attempt.begin, now)?;
        Ok(ClientState::Idle)
    }
}
