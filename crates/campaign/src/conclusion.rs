//! How a campaign ended.

/// Whether something was found, and if not, whether everything was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conclusion {
    /// Everything asked holds.
    Holds,
    /// A violation, or a failed assertion.
    Found,
    /// Nothing was found, and something is open.
    Inconclusive,
}

impl Conclusion {
    /// Something failed, or something is open, or neither.
    pub fn judged(failed: bool, open: bool) -> Conclusion {
        match (failed, open) {
            (true, _) => Conclusion::Found,
            (false, true) => Conclusion::Inconclusive,
            (false, false) => Conclusion::Holds,
        }
    }
}
