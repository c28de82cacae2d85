//! Who takes part in the runs of a command.
//!
//! ```text
//!   first run      alice, bob take part · audit came when they were gone ── a suspect
//!   first run      everybody is held back for audit; it does not come ── cleared: it looks at the end
//!   from here on   nothing begins before alice and bob are there
//! ```
//!
//! Only the first run of a level may begin anew like this. Whoever turns up later than that is told of, and the result is open.

use skew_mockdb::wire::{Attendance, Roll};
use std::collections::BTreeSet;

/// Who takes part, as far as it is known from the runs so far.
#[derive(Clone, Default)]
pub(super) struct Roster {
    pub(super) roll: Roll,
    /// Those that were suspects, and only look at the end, or come late in whatever run.
    cleared: BTreeSet<String>,
}

impl Roster {
    /// Learns from the first run of a level; whether there is somebody new, so that it has to be made again.
    pub(super) fn learn(&mut self, seen: &Attendance, disorder: Option<&String>) -> bool {
        let suspects = std::mem::take(&mut self.roll.suspects);
        let first = self.roll.awaited.is_none();
        let awaited = self.roll.awaited.get_or_insert_default();
        let came_early = seen.awaited.iter().filter(|name| first || suspects.contains(*name));
        awaited.extend(came_early.cloned());
        self.roll.others.extend(seen.latecomers.difference(awaited).cloned());
        let came = |name: &&String| seen.awaited.contains(*name);
        let news = suspects.iter().any(|name| came(&name) || seen.latecomers.contains(name));
        self.cleared.extend(suspects.iter().filter(|name| !came(name)).cloned());
        let strangers = seen.afterwards.iter().chain(disorder);
        self.roll.suspects = strangers.filter(|name| !self.is_known(name)).cloned().collect();
        news || !self.roll.suspects.is_empty()
    }

    fn is_known(&self, name: &str) -> bool {
        self.cleared.contains(name) || self.roll.awaited.as_ref().is_some_and(|awaited| awaited.contains(name))
    }

    /// Somebody who looked at the end in a later run, and may for all that is known have taken part.
    pub(super) fn stranger<'a>(&self, seen: &'a Attendance) -> Option<&'a String> {
        seen.afterwards.iter().find(|name| !self.is_known(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> BTreeSet<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn seen(awaited: &str, latecomers: &str, afterwards: &str) -> Attendance {
        Attendance {
            awaited: names(awaited),
            latecomers: names(latecomers),
            afterwards: names(afterwards),
            ..Attendance::default()
        }
    }

    #[test]
    fn who_looks_at_the_end_is_waited_for_once() {
        let mut roster = Roster::default();
        assert!(roster.learn(&seen("alice bob", "", "audit"), None));
        assert_eq!(roster.roll.suspects, names("audit"));
        assert!(!roster.learn(&seen("alice bob", "", "audit"), None), "it did not come");
        assert_eq!((roster.roll.awaited.clone(), roster.roll.suspects.len()), (Some(names("alice bob")), 0));
        assert!(!roster.learn(&seen("alice bob", "", "audit"), None), "at the next level nothing is new");
        assert_eq!(roster.stranger(&seen("", "", "audit")), None);
        assert_eq!(roster.stranger(&seen("", "", "audit other")), Some(&"other".to_owned()));
    }

    #[test]
    fn who_was_only_slow_takes_part() {
        let mut roster = Roster::default();
        assert!(roster.learn(&seen("alice", "", "bob"), None));
        assert!(roster.learn(&seen("alice bob", "", "audit"), None), "bob comes when it is waited for");
        assert!(!roster.learn(&seen("alice bob", "", "audit"), None));
        assert_eq!(roster.roll.awaited, Some(names("alice bob")));
    }

    #[test]
    fn who_comes_out_of_order_is_waited_for_once() {
        let mut roster = Roster::default();
        let late = "anna".to_owned();
        assert!(roster.learn(&seen("bob", "anna", ""), Some(&late)));
        assert_eq!(roster.roll.suspects, names("anna"));
        let again = seen("bob", "anna", "");
        assert!(roster.learn(&again, Some(&late)), "it came, but late");
        assert!(!roster.learn(&again, Some(&late)), "nothing more can be learned");
        assert!(roster.roll.has("anna") && roster.roll.suspects.is_empty());
    }
}
