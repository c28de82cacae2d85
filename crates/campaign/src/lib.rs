//! Many runs of one thing: what `play`, `serve`, `run` and `explore` share.
//!
//! ```text
//!   seeds ──> a run each ──> Judge: is it what its level promises? what it is compared with? ──> tally ──> report
//!                              └── each pattern asked once                                        └── the line that repeats a run
//! ```
//!
//! [`predicted`] is the one that runs nothing: it asks what could have been instead of runs that are recorded. [`conformance`] leaves
//! nothing to chance: it forces one interleaving after the other on a server. [`analyzed`] begins with no run at all, only with SQL.
//!
//! [`input`] makes histories of the bytes of recorded ones.
//!
//! A campaign neither prints nor exits, opens no file of the user's and reads no arguments: it is told what to do, calls back with what
//! goes on, and returns values. What went wrong before or between runs is a [`Complaint`]; what runs have found never is.
//!
//! # What it touches of the world outside
//!
//! | module | what | for |
//! |---|---|---|
//! | `seeds` | threads | several runs at a time |
//! | `family`, [`command`] | child processes, a clock, a nameless file for what they print | commands that are run again and again, each for so long |
//! | [`solver`] | child processes, a clock | another solver, which is asked for so long |
//! | [`foretold`], [`conformance`], [`confirmed`] | a clock | how long a client or a server is waited for |
//! | [`served`], [`driven`] | addresses, a clock | where a command finds its database; how long runs took |
//!
//! The rest uses none of that. Clocks decide when to give up and what is told, never what a run does: that is the seed's. The user's files
//! are behind [`recording::Archive`], Ctrl-C and time limits behind [`StopFlags`].

pub mod analyzed;
pub mod anomalies;
mod checked;
pub mod command;
mod complaint;
mod conclusion;
pub mod confirmed;
pub mod conformance;
pub mod driven;
pub mod explored;
pub mod family;
pub mod foreseen;
pub mod foretold;
pub mod input;
pub mod judge;
mod moment;
pub mod pattern;
pub mod played;
pub mod predicted;
pub mod program_file;
pub mod recording;
pub mod replay_line;
mod said;
mod seeds;
pub mod served;
pub mod servers;
pub mod solver;
mod stop;
pub mod tally;
mod typed;
pub mod verified;

pub use anomalies::counted;
pub use checked::{Checked, each_once};
pub use complaint::Complaint;
pub use conclusion::Conclusion;
pub use moment::{Moment, parse_duration};
pub use program_file::ProgramFile;
pub use seeds::RunProgress;
pub use stop::StopFlags;
