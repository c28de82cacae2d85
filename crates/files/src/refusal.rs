//! Why we do not write a file that the system would let us write, and what to do about it.
//!
//! It travels inside an [`io::Error`], because whoever writes a history knows nothing of files.

use std::path::PathBuf;
use std::{error, fmt, io};

/// Why we do not write a file that the system would let us write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The command reads it.
    Input,
    /// Another one has it.
    Busy,
    /// Under the name that is for the new file stands something that no skew has left there.
    InTheWay(PathBuf),
    /// Links that go round and round.
    Links,
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

impl Refusal {
    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Refusal::Input => "choose another file",
            Refusal::Busy => "end that one, or choose another file",
            Refusal::InTheWay(_) => "look at what it is and remove it, or choose another file",
            Refusal::Links => "check where the links lead, or choose another file",
            Refusal::Interrupted => "nothing of it was written, and what was there before is still there",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Input => write!(out, "this is an input of the command, which would be lost"),
            Refusal::Busy => write!(out, "another skew is writing it"),
            Refusal::InTheWay(path) => write!(out, "{} is in the way, which no skew has left there", path.display()),
            Refusal::Links => write!(out, "too many links lead to it"),
            Refusal::Interrupted => write!(out, "interrupted"),
        }
    }
}

impl error::Error for Refusal {}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> io::Error {
        io::Error::other(refusal)
    }
}
