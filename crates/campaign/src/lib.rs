//! Many runs of one thing: what `play`, `serve`, `run` and `explore` share.
//!
//! ```text
//!   seeds ──> a run each ──> Judge: is it what its level promises? what it is compared with? ──> tally ──> report
//!                              └── each pattern asked once                                        └── the line that repeats a run
//! ```
//!
//! A campaign neither prints nor exits, opens no file of the user's and reads no arguments: it is told what to do, calls back with what
//! goes on, and returns values. What went wrong before or between runs is a [`Complaint`]; what runs have found never is.

pub mod anomalies;
mod complaint;
mod conclusion;
pub mod explored;
pub mod initial;
pub mod judge;
mod moment;
pub mod pattern;
pub mod program_file;
mod stop;
pub mod tally;

pub use anomalies::counted;
pub use complaint::Complaint;
pub use conclusion::Conclusion;
pub use moment::Moment;
pub use program_file::ProgramFile;
pub use stop::StopFlags;
