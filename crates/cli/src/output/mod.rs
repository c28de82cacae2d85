//! Files that a command writes. Whoever writes one goes through here, so that there is one answer to what could be lost.
//!
//! ```text
//!   path ── Draft: refuse an input, refuse what another skew writes, open beside the place ──┬── publish   in its place, at once
//!                                                                                            └── dropped   as if never begun
//!        ├── OutputFile    a result: published when it is complete               check, convert, generate, play, explore
//!        └── RecordFile    a history as it happens: published when it begins     serve, run
//! ```
//!
//! Whatever fails before a file is published leaves what was there before: a port that is in use, a mistake in `--init`, a full disk,
//! Ctrl-C.

mod draft;
mod inputs;
mod recording;
mod whole;

pub(crate) use inputs::is_read as note_input;
pub(crate) use recording::{RecordErrors, RecordFile, RecordFiles, RecordingFailure};
pub(crate) use whole::{OutputFile, Stoppable, can_write, write_whole};
