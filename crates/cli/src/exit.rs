//! What the exit code says: 0 everything asked holds · 1 something was found · 2 bad usage or input · 3 inconclusive.
//!
//! Several inputs are all processed, and then 2 beats 1 beats 3: whoever fixes the input first loses nothing, and a violation is a
//! violation however many other files were too large.

use skew_campaign::Conclusion;
use std::process::ExitCode;

/// How a command ended, least urgent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Exit {
    /// Everything asked holds.
    Holds,
    /// The budget or the time ran out, or somebody pressed Ctrl-C.
    Inconclusive,
    /// A violation, or a certificate that proves nothing.
    Found,
    /// The input or the command line is not usable.
    BadInput,
}

impl Exit {
    /// Keeps the more urgent of two.
    pub(crate) fn combine(&mut self, other: Exit) {
        *self = (*self).max(other);
    }
}

impl From<Conclusion> for Exit {
    fn from(conclusion: Conclusion) -> Exit {
        match conclusion {
            Conclusion::Holds => Exit::Holds,
            Conclusion::Found => Exit::Found,
            Conclusion::Inconclusive => Exit::Inconclusive,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Holds => 0,
            Exit::Found => 1,
            Exit::BadInput => 2,
            Exit::Inconclusive => 3,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn two_beats_one_beats_three() {
        let mut exit = Exit::Holds;
        for (next, expected) in [
            (Exit::Inconclusive, Exit::Inconclusive),
            (Exit::Holds, Exit::Inconclusive),
            (Exit::Found, Exit::Found),
            (Exit::Inconclusive, Exit::Found),
            (Exit::BadInput, Exit::BadInput),
            (Exit::Found, Exit::BadInput),
        ] {
            exit.combine(next);
            assert_eq!(exit, expected);
        }
    }
}
