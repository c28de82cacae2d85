//! Which part of a store's life it is: whether what is written is history, and who decides.
//!
//! ```text
//!   loading ── start ──> running                                            as the level says
//!   loading ── begin_steering ──> steered ── end_steering ──> over          as somebody else says; then what is left is looked at
//! ```

use crate::steering::{Steering, Wheel};

/// Which part of a store's life it is.
pub(crate) enum Life {
    /// What is written is the initial state; who will steer afterwards, if anybody.
    Loading(Option<Wheel>),
    /// What is written is history, and the level decides what is read.
    Running,
    /// What is written is history, and somebody else decides what is read.
    Steered(Wheel),
    /// What somebody steered is over, and what it left is an initial state again; whether anything was written since.
    Over { written: bool },
}

impl Life {
    /// Whether what is written is the initial state.
    pub(crate) fn is_loading(&self) -> bool {
        matches!(self, Life::Loading(_) | Life::Over { .. })
    }

    /// Whether what is written is still the initial state of what will be steered.
    pub(crate) fn is_setting_up(&self) -> bool {
        matches!(self, Life::Loading(Some(_)))
    }

    /// Whether a steered transaction has touched anything.
    pub(crate) fn is_touched(&self) -> bool {
        self.wheel().is_some_and(Wheel::is_touched)
    }

    /// Whether anything was written after somebody steered.
    pub(crate) fn is_written_after(&self) -> bool {
        matches!(self, Life::Over { written: true })
    }

    /// Who steers, or will.
    pub(crate) fn wheel(&self) -> Option<&Wheel> {
        match self {
            Life::Loading(Some(wheel)) | Life::Steered(wheel) => Some(wheel),
            _ => None,
        }
    }

    pub(crate) fn wheel_mut(&mut self) -> Option<&mut Wheel> {
        match self {
            Life::Loading(Some(wheel)) | Life::Steered(wheel) => Some(wheel),
            _ => None,
        }
    }

    /// Somebody will steer, as soon as the set-up is over.
    pub(crate) fn prepare(&mut self, steering: Box<dyn Steering>) {
        *self = Life::Loading(Some(Wheel::new(steering)));
    }

    /// The loading is over.
    pub(crate) fn start(&mut self) {
        *self = match std::mem::replace(self, Life::Running) {
            Life::Loading(Some(wheel)) | Life::Steered(wheel) => Life::Steered(wheel),
            _ => Life::Running,
        };
    }

    /// Nobody steers any more.
    pub(crate) fn take_wheel(&mut self) -> Option<Wheel> {
        match std::mem::replace(self, Life::Running) {
            Life::Loading(Some(wheel)) | Life::Steered(wheel) => Some(wheel),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Something is written into the initial state.
    pub(crate) fn note_write(&mut self) {
        if let Life::Over { written } = self {
            *written = true;
        }
    }
}
