//! When to stop: flags that somebody else raises, by a clock or by a signal. A campaign looks at them and never waits for them.

use std::sync::atomic::{AtomicBool, Ordering};

/// The two flags of whoever started a campaign.
#[derive(Clone, Copy, Debug)]
pub struct StopFlags<'a> {
    /// Time is over, or somebody pressed Ctrl-C: no other run begins, and the checker gives up.
    pub stop: &'a AtomicBool,
    /// Somebody pressed Ctrl-C: commands that run are told so.
    pub interrupted: &'a AtomicBool,
}

impl StopFlags<'_> {
    /// Whether nothing new is to begin.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether somebody pressed Ctrl-C.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
