//! The walk of a server's run, with the clock and the sockets that it knows nothing of.

use super::touches::{Touched, Touches};
use super::{Guide, StepWalk};
use skew_sql::{RowKey, SequenceId, SpaceId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Who is held looks so often whether all has been quiet for long enough.
const GLANCE: Duration = Duration::from_millis(2);

/// Who walks, and how long everybody has to ask for their next step. It is there for one run.
#[derive(Clone)]
pub struct WalkSettings {
    /// Who chooses; taken by the server that begins.
    pub guide: Arc<Mutex<Option<Box<dyn Guide>>>>,
    /// After so long without a byte nobody else comes.
    pub patience: Duration,
}

impl std::fmt::Debug for WalkSettings {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "WalkSettings({:?})", self.patience)
    }
}

/// Two are one when the same guide walks.
impl PartialEq for WalkSettings {
    fn eq(&self, other: &WalkSettings) -> bool {
        Arc::ptr_eq(&self.guide, &other.guide) && self.patience == other.patience
    }
}

impl Eq for WalkSettings {}

struct Game {
    walk: StepWalk,
    tickets: BTreeMap<i32, oneshot::Sender<()>>,
    touches: BTreeMap<i32, Touches>,
}

/// A run that is walked.
pub(crate) struct Walking {
    began: Instant,
    game: Mutex<Game>,
}

impl Walking {
    /// Begins, if nobody else has with this guide.
    pub(crate) fn begin(settings: &WalkSettings) -> Option<Walking> {
        let guide = settings.guide.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let walk = StepWalk::new(guide, settings.patience);
        let game = Game { walk, tickets: BTreeMap::new(), touches: BTreeMap::new() };
        Some(Walking { began: Instant::now(), game: Mutex::new(game) })
    }

    fn game(&self) -> MutexGuard<'_, Game> {
        self.game.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn happens(&self, what: impl FnOnce(&mut Game, Duration)) {
        let (mut game, now) = (self.game(), self.began.elapsed());
        what(&mut game, now);
        if let Some((client, _)) = game.walk.decide(now) {
            // Who does not wait any more has no use for it.
            let _ = game.tickets.remove(&client).map(|ticket| ticket.send(()));
        }
    }

    /// Somebody begins to connect.
    pub(crate) fn stir(&self) {
        self.happens(|game, now| game.walk.stir(now));
    }

    /// A client comes, or says something.
    pub(crate) fn hear(&self, client: i32) {
        self.happens(|game, now| game.walk.hear(client, now));
    }

    /// A client asks for a step, and may take it when this returns.
    pub(crate) async fn ask(&self, client: i32, question: u64) {
        let (sender, mut ticket) = oneshot::channel();
        self.happens(|game, now| {
            game.tickets.insert(client, sender);
            game.touched(client);
            game.walk.ask(client, question, now);
        });
        let _wish = Wish(self, client);
        loop {
            tokio::select! {
                biased;
                _ = &mut ticket => return,
                () = tokio::time::sleep(GLANCE) => self.happens(|_, _| ()),
            }
        }
    }

    /// Its statement waits for a lock.
    pub(crate) fn block(&self, client: i32) {
        self.happens(|game, now| {
            game.touches.entry(client).or_default().wait();
            game.touched(client);
            game.walk.block(client, now);
        });
    }

    /// Its statement need not wait any more.
    pub(crate) fn go_on(&self, client: i32) {
        self.happens(|game, now| game.walk.go_on(client, now));
    }

    /// It was answered; whether its transaction goes on.
    pub(crate) fn rest(&self, client: i32, open: bool) {
        self.happens(|game, now| {
            if !open && let Some(touches) = game.touches.get_mut(&client) {
                touches.end();
            }
            game.touched(client);
            game.walk.rest(client, open, now);
        });
    }

    /// It is gone.
    pub(crate) fn leave(&self, client: i32) {
        self.happens(|game, now| {
            if let Some(touches) = game.touches.get_mut(&client) {
                touches.end();
            }
            game.touched(client);
            game.touches.remove(&client);
            game.tickets.remove(&client);
            game.walk.leave(client, now);
        });
    }

    /// Its statement touches something.
    pub(crate) fn touch(&self, client: i32, what: Touch<'_>, isolation: Isolation) {
        let mut game = self.game();
        let touches = game.touches.entry(client).or_default();
        touches.begin(isolation);
        match what {
            Touch::Read(key) => touches.read(key),
            Touch::ReadAll(space) => touches.read_all(space),
            Touch::Lock(key) => touches.lock(key),
            Touch::Write(key) => touches.write(key),
            Touch::Draw(sequence) => touches.draw(sequence),
            Touch::DrawKey(space) => touches.draw_key(space),
            Touch::LockName(name) => touches.lock_name(name),
            Touch::Chance => touches.chance(),
            Touch::Define => touches.define(),
            Touch::Wait => touches.wait(),
        }
    }
}

/// What a statement touches.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Touch<'a> {
    Read(&'a RowKey),
    ReadAll(SpaceId),
    Lock(&'a RowKey),
    Write(&'a RowKey),
    Draw(SequenceId),
    DrawKey(SpaceId),
    LockName(i128),
    Chance,
    Define,
    Wait,
}

/// What a transaction's level makes of what it touches.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Isolation {
    /// It goes on seeing what its first statement sees.
    pub(crate) keeps_snapshot: bool,
    /// What it has read decides whether it may commit.
    pub(crate) is_serializable: bool,
}

impl Game {
    /// What a client has touched so far belongs to the step that is taken.
    fn touched(&mut self, client: i32) {
        let touched = self.touches.get_mut(&client).map(Touches::take);
        if let Some(touched) = touched.filter(|touched| *touched != Touched::default()) {
            self.walk.touch(touched);
        }
    }
}

/// A step that is asked for, until this is dropped.
struct Wish<'a>(&'a Walking, i32);

impl Drop for Wish<'_> {
    fn drop(&mut self) {
        self.0.happens(|game, now| {
            if game.tickets.remove(&self.1).is_some() {
                game.walk.withdraw(self.1, now);
            }
        });
    }
}
