//! Something with a store that many tasks work on, one at a time; whose wait is over is woken.
//!
//! ```text
//!   task a   work() ── statement answers Wait ── lets go ── bell(a).rung().await ─ ─ ─ ─ ┐
//!   task b                                       work() ── COMMIT ── lets go ── rings a ─┘ ── a runs its statement again
//! ```
//!
//! Nobody sleeps while holding the store, and nobody asks again and again whether a wait is over: whoever lets go of the store rings for
//! those whom the store has woken meanwhile, each by a bell of its own, so that a thousand waiting sessions cost nothing.
//!
//! Who works for long takes the store very often and each time for a moment ([`Shared::work_patiently`]): it lets all others go first, else
//! it would have taken the store again before they have noticed that it was free.

use crate::store::Store;
use rustc_hash::FxHashMap;
use skew_history::SessionId;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use tokio::sync::Notify;

/// What has a store.
pub(crate) trait HasStore {
    /// The store.
    fn store(&mut self) -> &mut Store;
}

/// The bell of a session.
#[derive(Default, Debug)]
pub(crate) struct Bell(Notify);

impl Bell {
    /// Rings it; who comes later finds it rung.
    pub(crate) fn ring(&self) {
        self.0.notify_one();
    }

    /// Waits until it is rung.
    pub(crate) async fn rung(&self) {
        self.0.notified().await;
    }
}

/// A core with a store, and the bells of its sessions.
pub(crate) struct Shared<T: HasStore> {
    core: Mutex<T>,
    /// How many wait for it who should not wait for long.
    urgent: AtomicUsize,
    bells: Mutex<FxHashMap<SessionId, Arc<Bell>>>,
}

impl<T: HasStore> Shared<T> {
    pub(crate) fn new(core: T) -> Shared<T> {
        Shared { core: Mutex::new(core), urgent: AtomicUsize::new(0), bells: Mutex::default() }
    }

    /// Waits for its turn to work on the core, which is soon: nobody keeps it for longer than a short statement, or a call of a long one.
    pub(crate) fn work(&self) -> Work<'_, T> {
        if let Some(work) = self.try_work() {
            return work;
        }
        self.urgent.fetch_add(1, Ordering::Relaxed);
        let work = self.lock();
        self.urgent.fetch_sub(1, Ordering::Relaxed);
        work
    }

    /// The same for who has time: everybody else goes first.
    pub(crate) fn work_patiently(&self) -> Work<'_, T> {
        while self.urgent.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
        self.lock()
    }

    fn lock(&self) -> Work<'_, T> {
        Work { shared: self, core: self.core.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    /// The core, unless somebody works on it.
    pub(crate) fn try_work(&self) -> Option<Work<'_, T>> {
        let core = match self.core.try_lock() {
            Ok(core) => core,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Work { shared: self, core })
    }

    fn bells(&self) -> MutexGuard<'_, FxHashMap<SessionId, Arc<Bell>>> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose wait is over is told by this bell.
    pub(crate) fn hang(&self, session: SessionId, bell: &Arc<Bell>) {
        self.bells().insert(session, Arc::clone(bell));
    }

    /// The session is gone.
    pub(crate) fn take_down(&self, session: SessionId) {
        self.bells().remove(&session);
    }
}

/// The core, for as long as somebody works on it.
pub(crate) struct Work<'a, T: HasStore> {
    shared: &'a Shared<T>,
    core: MutexGuard<'a, T>,
}

impl<T: HasStore> Deref for Work<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.core
    }
}

impl<T: HasStore> DerefMut for Work<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.core
    }
}

impl<T: HasStore> Drop for Work<'_, T> {
    fn drop(&mut self) {
        let woken = self.core.store().take_woken();
        if woken.is_empty() {
            return;
        }
        let bells = self.shared.bells();
        woken.iter().filter_map(|session| bells.get(session)).for_each(|bell| bell.ring());
    }
}
