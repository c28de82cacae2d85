//! Who takes part in a run that is explored: what was known before it, and what it showed.
//!
//! ```text
//!   alice ── waits ─┐                            awaited     alice, bob: nothing begins before they ask for something
//!   bob   ── waits ─┴─ a#0 ── b#0 ── gone        suspects    audit: perhaps it comes only now because it is slow
//!   audit                        └── asks …      afterwards  audit: it looks at what was left
//! ```
//!
//! Nothing that a server sees tells a test that looks at the end from a session that was slow to connect. So whoever came only when all
//! others were gone is a suspect in another run: there everybody is held back for a while, to see whether it comes.

use std::collections::{BTreeMap, BTreeSet};

/// What is known before a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Roll {
    /// The sessions that ask for something before the first transaction, whatever happens; nothing before the first run.
    pub awaited: Option<BTreeSet<String>>,
    /// Those that take part and come later.
    pub others: BTreeSet<String>,
    /// Those that may take part: everybody is held back until they come, or do not.
    pub suspects: BTreeSet<String>,
}

impl Roll {
    /// Whether a session takes part, as far as is known.
    pub fn has(&self, session: &str) -> bool {
        self.others.contains(session) || self.awaited.as_ref().is_some_and(|awaited| awaited.contains(session))
    }
}

/// What a run showed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Attendance {
    /// The sessions that set up, and in how many transactions.
    pub set_up: BTreeMap<String, u64>,
    /// The sessions that asked for something before the first transaction.
    pub awaited: BTreeSet<String>,
    /// Those that took part and came later.
    pub latecomers: BTreeSet<String>,
    /// Those that asked for something after the end.
    pub afterwards: BTreeSet<String>,
    /// A session that was waited for in vain while others waited.
    pub silent: Option<String>,
    /// A session that set up while others were connected, so that it may as well have taken part.
    pub unclear: Option<String>,
    /// A session that took part and went on after the end.
    pub went_on: Option<String>,
    /// Whether something was written after the end.
    pub written_after: bool,
    /// What the explored part could not have and was told so: whose it was, and what.
    pub refused: Option<(String, String)>,
    /// What changed the schema in the explored part: whose it was, and what.
    pub defined: Option<(String, String)>,
    /// Levels that clients asked for and did not get.
    pub overruled: BTreeSet<String>,
}

impl Attendance {
    /// Whether there is more after the end than somebody who looks at it: several sessions, of which one writes. Whether they were there
    /// at the same time is by chance, because nobody lets them wait for each other.
    pub fn goes_on(&self) -> bool {
        self.written_after && self.afterwards.len() > 1
    }
}
