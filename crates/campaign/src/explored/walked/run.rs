//! One run of a command along a route: a fresh server, and who says whose request is next.

use super::{LONGEST, WalkedApplication};
use crate::Complaint;
use crate::command::{self, CommandEnd};
use crate::served::database::{DatabaseSettings, listen};
use skew_check::Updates;
use skew_explore::{Footprint, Route};
use skew_history::format::{self, Format, Source};
use skew_history::{History, IsolationLevel};
use skew_mockdb::wire::{Contention, Guide, Schedule, Touched, WalkSettings, WireSettings};
use skew_mockdb::{Campaign, ChooserKind, Record, Tape};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a run left.
pub(super) struct WalkedRun {
    pub(super) ended: CommandEnd,
    pub(super) output: String,
    /// In the native format.
    pub(super) history: String,
    pub(super) route: Route,
    /// Whether a request went on though somebody whose transaction was open had been silent for long.
    pub(super) left_behind: bool,
    pub(super) contention: Contention,
    /// What clients asked for that is not supported, and how often.
    pub(super) unsupported: BTreeMap<String, u64>,
}

impl WalkedRun {
    pub(super) fn read(&self) -> Result<History, String> {
        let source = Source { name: "the recorded run", bytes: self.history.as_bytes() };
        format::read(&[source], Format::Native).map_err(|error| error.problem.to_string())
    }
}

/// A route that a server asks.
#[derive(Clone)]
struct Guided {
    route: Arc<Mutex<Route>>,
    left_behind: Arc<AtomicBool>,
}

impl Guided {
    fn new(route: Route) -> Guided {
        Guided { route: Arc::new(Mutex::new(route)), left_behind: Arc::default() }
    }

    fn route(&self) -> MutexGuard<'_, Route> {
        self.route.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guide for Guided {
    fn choose(&mut self, candidates: &BTreeSet<String>) -> Option<String> {
        self.route().choose(candidates)
    }

    fn awaits(&self, step: &str) -> bool {
        self.route().awaits(step)
    }

    fn took(&mut self, touched: Touched) {
        let mut footprint = Footprint::default();
        touched.looked_at.into_iter().for_each(|thing| footprint.look_at(thing));
        touched.changed.into_iter().for_each(|thing| footprint.change(thing));
        self.route().took(footprint);
    }

    fn leave_behind(&mut self) {
        self.left_behind.store(true, Ordering::Relaxed);
    }
}

impl WalkedApplication<'_> {
    fn database(&self, level: Option<IsolationLevel>) -> DatabaseSettings {
        DatabaseSettings {
            level,
            updates: Updates::Atomic,
            horizon: None,
            bare: false,
            abort_rate: 0.0,
            clock: self.clock,
            chooser: ChooserKind::Latest,
            log: None,
            initial: self.initial.clone(),
        }
    }

    /// Runs the command once.
    pub(super) fn run(
        &self,
        level: Option<IsolationLevel>,
        route: Route,
        patience: Duration,
        keeps_output: bool,
    ) -> Result<WalkedRun, Complaint> {
        let (guided, tape) = (Guided::new(route), Tape::default());
        let record = Record { history: Some(Box::new(tape.clone())), ..Record::default() };
        let database = self.database(level).fresh(1, &Campaign::default(), record)?;
        let guide: Box<dyn Guide> = Box::new(guided.clone());
        let schedule = Schedule::Walked(WalkSettings { guide: Arc::new(Mutex::new(Some(guide))), patience });
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let server = listen(database, WireSettings { address, password: None, schedule, delay: None })?;
        let output = if keeps_output { Some(command::scratch_file()?) } else { None };
        let family = command::spawn(self.line, server.address(), output.as_ref(), self.terms.stop)?;
        let longest = self.stall.saturating_mul(LONGEST);
        let ended = command::ended_of(family.wait(Some(longest), || self.terms.stop.is_stopped()));
        let summary = server.stop();
        let output = output.map(command::read_end).transpose()?.unwrap_or_default();
        let route = guided.route().clone();
        let contention = summary.contention.unwrap_or_default();
        let left_behind = guided.left_behind.load(Ordering::Relaxed);
        let (history, unsupported) = (tape.text(), summary.unsupported);
        Ok(WalkedRun { ended, output, history, route, left_behind, contention, unsupported })
    }
}
