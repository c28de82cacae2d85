//! What came of a performance: how every cue ended, and in which order things happened.
//!
//! ```text
//!   sent a: UPDATE …      answered a
//!   sent b: UPDATE …      b waits for a
//!   sent a: COMMIT        answered a · answered b
//! ```
//!
//! What happened between two statements is in one order whatever threads did: first the cue that was sent, then the others by their
//! places. So two performances in which the server did the same have equal transcripts.

use super::Screenplay;
use crate::connection::StatementAnswer;

/// What came of a performance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transcript {
    /// What was to be said.
    pub screenplay: Screenplay,
    /// How each cue ended.
    pub ends: Vec<CueEnd>,
    /// What happened, in order.
    pub happenings: Vec<Happening>,
    /// Why this may be another interleaving than it seems: waits that were guessed, answers that did not come.
    pub doubts: Vec<String>,
}

/// How a cue ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CueEnd {
    /// With an answer.
    Answered(StatementAnswer),
    /// The server refused.
    Refused {
        /// Its code: `40001`, `1213`.
        code: String,
        /// Its words.
        message: String,
    },
    /// The connection was lost.
    Lost(String),
    /// It waited when everything else had been said.
    StillWaiting,
    /// It was not said: the session had been refused before, or was lost.
    NotSent,
}

/// One thing that happened to a cue, by its place, or to a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Happening {
    /// It was sent.
    Sent(usize),
    /// It waits for these sessions; none are named where it was only guessed.
    Waits(usize, Vec<usize>),
    /// It ended.
    Ended(usize),
    /// The session rolled back because it had been refused.
    RolledBack(usize),
}

impl CueEnd {
    /// Whether the server chose this one to end a deadlock.
    pub fn is_deadlock(&self) -> bool {
        matches!(self, CueEnd::Refused { code, .. } if code == "40P01" || code == "1213")
    }
}

impl Transcript {
    pub(super) fn new(screenplay: Screenplay) -> Transcript {
        let ends = vec![CueEnd::NotSent; screenplay.cues.len()];
        Transcript { screenplay, ends, happenings: Vec::new(), doubts: Vec::new() }
    }

    /// How the cue with this name ended.
    pub fn end(&self, name: &str) -> Option<&CueEnd> {
        self.screenplay.cue(name).and_then(|cue| self.ends.get(cue))
    }

    /// The rows that the cue with this name was answered with, as text: `1 10, 2 20`. Nothing where it was not answered.
    pub fn rows(&self, name: &str) -> Option<String> {
        let CueEnd::Answered(answer) = self.end(name)? else { return None };
        let row = |row: &crate::Row| row.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        Some(answer.rows.iter().map(row).collect::<Vec<_>>().join(", "))
    }

    /// For whom a cue waited, by their places: nobody, if it did not.
    pub fn waited_for(&self, cue: usize) -> Option<Vec<usize>> {
        let waits = self.happenings.iter().filter_map(|happening| match happening {
            Happening::Waits(other, sessions) if *other == cue => Some(sessions),
            _ => None,
        });
        let mut all: Option<Vec<usize>> = None;
        waits.for_each(|sessions| all.get_or_insert_default().extend(sessions));
        all.map(|mut sessions| {
            sessions.sort_unstable();
            sessions.dedup();
            sessions
        })
    }

    /// Whether anybody waited.
    pub fn has_waits(&self) -> bool {
        self.happenings.iter().any(|happening| matches!(happening, Happening::Waits(..)))
    }

    /// The places and codes of the cues that the server refused.
    pub fn refusals(&self) -> impl Iterator<Item = (usize, &str)> {
        self.ends.iter().enumerate().filter_map(|(cue, end)| match end {
            CueEnd::Refused { code, .. } => Some((cue, code.as_str())),
            _ => None,
        })
    }

    /// Why a connection was lost, if one was.
    pub fn loss(&self) -> Option<&str> {
        self.ends.iter().find_map(|end| if let CueEnd::Lost(why) = end { Some(why.as_str()) } else { None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Row, Value};

    #[test]
    fn answers_are_found_by_their_names() {
        let screenplay: Screenplay = "a x: SELECT 1\nb y: SELECT 2\nb: COMMIT".parse().expect("a screenplay");
        let mut transcript = Transcript::new(screenplay);
        let rows = vec![Row(vec!["1".into(), Value::Null]), Row(vec!["2".into(), "b".into()])];
        transcript.ends[0] = CueEnd::Answered(StatementAnswer { rows, affected: 2 });
        transcript.ends[1] = CueEnd::Refused { code: "1213".to_owned(), message: String::new() };
        transcript.happenings = vec![Happening::Waits(1, vec![0]), Happening::Waits(1, vec![0])];
        assert_eq!(transcript.rows("x").as_deref(), Some("1 null, 2 b"));
        assert_eq!((transcript.rows("y"), transcript.rows("z")), (None, None));
        assert_eq!((transcript.waited_for(0), transcript.waited_for(1)), (None, Some(vec![0])));
        assert!(transcript.has_waits() && transcript.loss().is_none());
        assert_eq!(transcript.refusals().collect::<Vec<_>>(), [(1, "1213")]);
        assert!(transcript.ends[1].is_deadlock() && !transcript.ends[0].is_deadlock());
    }
}
