//! Files that a command writes. Whoever writes one goes through here, so that there is one answer to what could be lost.
//!
//! ```text
//!   path ── Draft, of the crate `files`
//!        ├── OutputFile    a result: published when it is complete               check, convert, generate, play, explore
//!        └── RecordFile    a history as it happens: published when it begins     serve, run
//!                └── RecordKeeper   the files of all runs; knows when nothing is recorded any more
//! ```
//!
//! Whatever fails before a file is published leaves what was there before: a port that is in use, a mistake in `--init`, a full disk,
//! Ctrl-C.

mod keeper;
mod recording;
mod refusal;
mod whole;

pub(crate) use keeper::{RecordErrors, RecordKeeper};
pub(crate) use recording::RecordFiles;
pub(crate) use refusal::unwritable;
pub(crate) use skew_files::note_input;
pub(crate) use whole::{OutputFile, Stoppable, can_write, write_finding, write_whole};
