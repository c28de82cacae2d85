//! The observer: gives transactions their numbers and times, and hands them on.
//!
//! Its clock counts the steps of the schedule. A transaction begins at the tick of its first step and ends at the tick of its
//! commit, so "ended before it began" in the history is "ended before it began" in the database.

use crate::attempt::GeneratedEvent;
use crate::parameters::Parameters;
use skew_history::{IsolationLevel, Outcome, Refused, Times};
use std::io;

/// A finished transaction.
#[derive(Clone, Copy, Debug)]
pub struct Generated<'a> {
    /// Its client, counted from 1.
    pub session: u32,
    /// Its number, counted from 1 in the order in which transactions end.
    pub id: u64,
    /// What it did, in program order.
    pub events: &'a [GeneratedEvent],
    /// How it ended.
    pub outcome: Outcome,
    /// The level that it declares.
    pub level: Option<IsolationLevel>,
    /// When it ran, if times were asked for.
    pub times: Times,
    /// At a level of an engine: with which code it was refused, and which statement.
    pub refused: Option<Refused<'a>>,
}

/// Where finished transactions go.
pub(crate) struct TransactionRecorder<'a> {
    sink: &'a mut dyn FnMut(&Generated<'_>) -> io::Result<()>,
    with_times: bool,
    with_refused: bool,
    level: Option<IsolationLevel>,
    is_on_server: bool,
    next_id: u64,
    clock: i64,
}

impl<'a> TransactionRecorder<'a> {
    pub(crate) fn new(
        parameters: &Parameters,
        sink: &'a mut dyn FnMut(&Generated<'_>) -> io::Result<()>,
    ) -> TransactionRecorder<'a> {
        TransactionRecorder {
            sink,
            with_times: parameters.times,
            with_refused: parameters.refused,
            level: parameters.declare_level.then_some(parameters.level),
            is_on_server: parameters.level.of_engine().is_some(),
            next_id: 1,
            clock: 0,
        }
    }

    /// The next moment.
    pub(crate) fn tick(&mut self) -> i64 {
        self.pass(1)
    }

    /// Lets this much time pass and says when that began.
    pub(crate) fn pass(&mut self, ticks: i64) -> i64 {
        let now = self.clock;
        self.clock += ticks;
        now
    }

    /// Records a transaction of a session, counted from 0. Of an unknown outcome nobody knows the end.
    pub(crate) fn record(
        &mut self,
        session: u32,
        events: &[GeneratedEvent],
        outcome: Outcome,
        begin: i64,
        end: i64,
    ) -> io::Result<()> {
        self.put(session, events, (outcome, None), begin, end)
    }

    fn put(
        &mut self,
        session: u32,
        events: &[GeneratedEvent],
        (outcome, refused): (Outcome, Option<Refused<'_>>),
        begin: i64,
        end: i64,
    ) -> io::Result<()> {
        let times = Times { begin: Some(begin), end: (outcome != Outcome::Unknown).then_some(end) };
        let times = if self.with_times { times } else { Times::default() };
        let id = self.next_id;
        self.next_id += 1;
        (self.sink)(&Generated { session: session + 1, id, events, outcome, level: self.level, times, refused })
    }

    /// Records an attempt that the database refused, if that was asked for.
    pub(crate) fn record_refused(
        &mut self,
        session: u32,
        events: &[GeneratedEvent],
        (error, statement): (&'static str, u32),
        begin: i64,
        end: i64,
    ) -> io::Result<()> {
        if !self.with_refused {
            return Ok(());
        }
        let refused = self.is_on_server.then_some(Refused { error, statement });
        self.put(session, events, (Outcome::AbortedByDatabase, refused), begin, end)
    }
}
