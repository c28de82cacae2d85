//! Statements of several sessions, forced into one order on a real server.
//!
//! ```text
//!   a: BEGIN
//!   b: BEGIN
//!   a: UPDATE t SET value = 11 WHERE id = 1
//!   b: UPDATE t SET value = 12 WHERE id = 1      waits for a, and the others go on
//!   a: COMMIT                                    now b has its answer, too
//!   b seen: SELECT value FROM t WHERE id = 1     a cue with a name, by which its answer is found
//! ```
//!
//! Every session has a connection of its own. [`perform`] sends one statement after the other, as somebody with a terminal per session would,
//! and before the next one it knows of every session whether it has answered or waits for a lock: the server is asked, over one more
//! connection. A session that waits is left alone, its later statements come when it has its answer, and the others go on.
//!
//! ```text
//!   Screenplay ── director: whose cue is next ──> actor: a thread and a connection per session ── server
//!                    ▲    └── observer: who waits for whom? ────────────────────────────────────┘
//!                    └── Transcript: sent, waits, answered, refused, lost; in which order
//! ```
//!
//! What comes back is what happened, and nothing is judged here. It always comes back: nobody is waited for longer than the patience of
//! the [`Staging`], and where only that ended a wait, the transcript has a doubt.

mod actor;
mod director;
mod observer;
mod transcript;

pub use director::perform;
pub use transcript::{CueEnd, Happening, Transcript};

use std::str::FromStr;
use std::time::Duration;

/// Statements of several sessions in one order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Screenplay {
    /// The names of the sessions, in the order in which they come on.
    pub sessions: Vec<String>,
    /// What they say, one after the other.
    pub cues: Vec<Cue>,
}

/// One statement of one session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cue {
    /// Whose it is: a place among the sessions.
    pub session: usize,
    /// By which its answer is found, where somebody needs it.
    pub name: Option<String>,
    /// The statement, without a semicolon.
    pub sql: String,
}

/// How a screenplay is performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Staging {
    /// How long somebody is waited for who neither answers nor is known to wait.
    pub patience: Duration,
    /// What a session does that was refused.
    pub after_refusal: AfterRefusal,
}

/// What a session does after the server refused one of its statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterRefusal {
    /// It goes on with its next statement, and gets what the server has for it: on PostgreSQL that the transaction is aborted.
    GoOn,
    /// It rolls back and says no more, as an application that lets the error through.
    RollBack,
}

/// Text that is no screenplay.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "line {line}: {what}; write a statement per line, like `a: BEGIN`, or with a name for its answer, like `b seen: SELECT 1`"
)]
pub struct BadScreenplay {
    line: usize,
    what: String,
}

impl FromStr for Screenplay {
    type Err = BadScreenplay;

    /// A line is a cue. Empty ones and those that begin with `--` are passed over.
    fn from_str(text: &str) -> Result<Screenplay, BadScreenplay> {
        let mut screenplay = Screenplay::default();
        for (number, line) in (1..).zip(text.lines().map(str::trim)) {
            if line.is_empty() || line.starts_with("--") {
                continue;
            }
            let refuse = |what: String| BadScreenplay { line: number, what };
            let (who, sql) = line.split_once(':').ok_or_else(|| refuse(format!("`{line}` has no session")))?;
            let mut words = who.split_whitespace();
            let (session, name) = match (words.next(), words.next(), words.next()) {
                (Some(session), name, None) => (session, name),
                _ => return Err(refuse(format!("`{who}` is not a session, nor one with a name for its answer"))),
            };
            let sql = sql.trim().trim_end_matches(';').trim_end();
            if sql.is_empty() {
                return Err(refuse(format!("{session} says nothing")));
            }
            screenplay.add(session, name, sql).map_err(refuse)?;
        }
        Ok(screenplay)
    }
}

impl Screenplay {
    fn add(&mut self, session: &str, name: Option<&str>, sql: &str) -> Result<(), String> {
        if let Some(name) = name.filter(|name| self.cue(name).is_some()) {
            return Err(format!("two answers are called {name}"));
        }
        let known = self.sessions.iter().position(|other| other == session);
        let session = known.unwrap_or_else(|| {
            self.sessions.push(session.to_owned());
            self.sessions.len() - 1
        });
        self.cues.push(Cue { session, name: name.map(str::to_owned), sql: sql.to_owned() });
        Ok(())
    }

    /// The place of the cue with this name.
    pub fn cue(&self, name: &str) -> Option<usize> {
        self.cues.iter().position(|cue| cue.name.as_deref() == Some(name))
    }

    /// The same, after every session has said these statements.
    pub fn opened_with(mut self, statements: &[String]) -> Screenplay {
        let sessions = 0..self.sessions.len();
        let opening = sessions
            .flat_map(|session| statements.iter().map(move |sql| Cue { session, name: None, sql: sql.clone() }));
        self.cues.splice(0..0, opening);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        text.parse::<Screenplay>().expect_err("no screenplay").to_string()
    }

    #[test]
    fn a_line_is_a_statement_of_a_session() {
        let screenplay: Screenplay =
            "-- two sessions\na: BEGIN;\n\n  b seen: SELECT '::' ;\na: COMMIT".parse().expect("a screenplay");
        assert_eq!(screenplay.sessions, ["a", "b"]);
        let said: Vec<(usize, &str)> = screenplay.cues.iter().map(|cue| (cue.session, cue.sql.as_str())).collect();
        assert_eq!(said, [(0, "BEGIN"), (1, "SELECT '::'"), (0, "COMMIT")]);
        assert_eq!((screenplay.cue("seen"), screenplay.cue("other")), (Some(1), None));
    }

    #[test]
    fn what_is_no_statement_of_a_session_is_refused_with_its_line() {
        assert!(refused("a: BEGIN\nCOMMIT").starts_with("line 2: `COMMIT` has no session; write"));
        assert!(refused("a: ;").contains("a says nothing"));
        assert!(refused("a b c: SELECT 1").contains("`a b c` is not a session"));
        assert!(refused(": SELECT 1").contains("is not a session"));
        assert!(refused("a x: SELECT 1\nb x: SELECT 1").contains("line 2: two answers are called x"));
    }

    #[test]
    fn every_session_says_the_opening() {
        let screenplay: Screenplay = "b: BEGIN\na x: SELECT 1".parse().expect("a screenplay");
        let opened = screenplay.opened_with(&["SET p".to_owned(), "SET q".to_owned()]);
        let said: Vec<(usize, &str)> = opened.cues.iter().map(|cue| (cue.session, cue.sql.as_str())).collect();
        assert_eq!(said, [(0, "SET p"), (0, "SET q"), (1, "SET p"), (1, "SET q"), (0, "BEGIN"), (1, "SELECT 1")]);
        assert_eq!(opened.cue("x"), Some(5));
    }
}
