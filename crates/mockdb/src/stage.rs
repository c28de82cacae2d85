//! Which part of a store's life it is: whether what is written is history, and who decides.
//!
//! ```text
//!   loading ── start ──> running                                            as the level says
//!   loading ── begin_steering ──> steered ── end_steering ──> over          as somebody else says; then what is left is looked at
//! ```

use crate::steering::{Steering, Wheel};

/// Which part of a store's life it is.
pub(crate) enum Stage {
    /// What is written is the initial state; who will steer afterwards, if anybody.
    Loading(Option<Wheel>),
    /// What is written is history, and the level decides what is read.
    Running,
    /// What is written is history, and somebody else decides what is read.
    Steered(Wheel),
    /// What somebody steered is over, and what it left is an initial state again; whether anything was written since.
    Over { written: bool },
}

impl Stage {
    /// Whether what is written is the initial state.
    pub(crate) fn is_loading(&self) -> bool {
        matches!(self, Stage::Loading(_) | Stage::Over { .. })
    }

    /// Whether what is written is still the initial state of what will be steered.
    pub(crate) fn is_setting_up(&self) -> bool {
        matches!(self, Stage::Loading(Some(_)))
    }

    /// Who steers, or will.
    pub(crate) fn wheel(&self) -> Option<&Wheel> {
        match self {
            Stage::Loading(Some(wheel)) | Stage::Steered(wheel) => Some(wheel),
            _ => None,
        }
    }

    pub(crate) fn wheel_mut(&mut self) -> Option<&mut Wheel> {
        match self {
            Stage::Loading(Some(wheel)) | Stage::Steered(wheel) => Some(wheel),
            _ => None,
        }
    }

    /// Somebody will steer, as soon as the set-up is over.
    pub(crate) fn prepare(&mut self, steering: Box<dyn Steering>) {
        *self = Stage::Loading(Some(Wheel::new(steering)));
    }

    /// The loading is over.
    pub(crate) fn start(&mut self) {
        *self = match std::mem::replace(self, Stage::Running) {
            Stage::Loading(Some(wheel)) | Stage::Steered(wheel) => Stage::Steered(wheel),
            _ => Stage::Running,
        };
    }

    /// Nobody steers any more.
    pub(crate) fn take_wheel(&mut self) -> Option<Wheel> {
        match std::mem::replace(self, Stage::Running) {
            Stage::Loading(Some(wheel)) | Stage::Steered(wheel) => Some(wheel),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Something is written into the initial state.
    pub(crate) fn note_write(&mut self) {
        if let Stage::Over { written } = self {
            *written = true;
        }
    }
}
