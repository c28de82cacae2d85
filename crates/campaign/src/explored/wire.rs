//! A run once more, through PostgreSQL's protocol.
//!
//! ```text
//!   explored run ──┬── what its calls said and heard ──> one client per session ── text ──> mock database
//!                  │                                            compares the answers            │ what does this read return?
//!                  └── Follower: who asks for what, and what it got <───────────────────────────┘
//! ```
//!
//! Whole transactions are run, one after the other, in the order of the run: what they read is what the run says, so no interleaving is
//! needed to see it. What is printed is what a person would type into one console per session. An answer that is not that of the run, or a
//! request that the run does not have, ends the replay with its place.

use super::ExploredProgram;
use super::client::WireClient;
use super::steered::{Following, listen, steered};
use crate::Complaint;
use crate::program_file::{complaint, load};
use skew_explore::{Run, SqlProgram};
use skew_history::IsolationLevel;
use skew_mockdb::wire::{RunningServer, Schedule};
use skew_program::{Heard, Speaker, Spoken};
use skew_sql::Granularity;
use skew_view::words;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;
use std::io;
use std::sync::Arc;

/// Statements longer than this do not push the answers of all others to the right.
const WIDEST: usize = 70;

/// What was said over the wire.
pub(super) struct Conversation {
    lines: Vec<(String, String, Heard)>,
    /// Where it was not the run, if so.
    pub(super) difference: Option<String>,
}

impl ExploredProgram<'_> {
    /// Says everything that the calls of a run said.
    pub(super) fn over_the_wire(
        &self,
        program: &SqlProgram,
        run: &Run<'_, SqlProgram>,
        level: IsolationLevel,
    ) -> Result<Conversation, Complaint> {
        let following = Following::new(program, run);
        let server = self.serve_run(level, &following)?;
        let mut clients: BTreeMap<usize, WireClient> = BTreeMap::new();
        let mut talk = Conversation { lines: Vec::new(), difference: None };
        for place in run.order() {
            let Some(left) = run.left(place) else { continue };
            let session = &self.program().scripts()[place.session].name;
            let client = match clients.entry(place.session) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(WireClient::connect(server.address(), session).map_err(unheard)?),
            };
            for spoken in left.spoken.as_ref().map_err(|error| complaint(&self.file.name, error))? {
                talk.say(client, session, spoken, &following).map_err(unheard)?;
                if talk.difference.is_some() {
                    return Ok(talk);
                }
            }
        }
        if !following.is_over() {
            talk.difference = Some("the run has transactions that did not come".to_owned());
        }
        drop(clients);
        server.stop();
        Ok(talk)
    }

    /// A database with the program's first rows, in which every read is answered as in the run.
    fn serve_run(&self, level: IsolationLevel, following: &Following) -> Result<RunningServer, Complaint> {
        if self.terms.granularity == Granularity::Cell {
            let message = "--wire has whole rows, no cells".to_owned();
            return Err(self.complain(message, "leave --granularity out, and take a schedule of that"));
        }
        let catalog = Arc::clone(self.program().initial().0);
        let mut database = steered(&self.terms, level, self.clock.0, catalog, following.clone());
        database.dialect = self.program().dialect();
        let loaded = load(&mut database.store, self.program()).and_then(|()| database.store.begin_steering());
        loaded.map_err(|error| self.complain(error.message.to_string(), ""))?;
        listen(database, Schedule::Interleaved)
    }
}

impl Conversation {
    fn say(
        &mut self,
        client: &mut WireClient,
        session: &str,
        spoken: &Spoken,
        following: &Following,
    ) -> io::Result<()> {
        let heard = client.say(&spoken.text)?;
        let place = spoken.place;
        let at = |what: String| format!("line {}, column {}: {what}", place.line, place.column);
        self.difference = match following.difference() {
            Some(difference) => Some(at(difference.to_string())),
            None if heard.agrees(&spoken.heard) => None,
            None => Some(at(format!("the answer is `{heard}`, and was `{}` in the run", spoken.heard))),
        };
        self.lines.push((session.to_owned(), spoken.text.clone(), heard));
        Ok(())
    }

    /// Who said what, and what was heard.
    pub(super) fn told(&self) -> String {
        let length = |text: &str| text.chars().count();
        let sessions = self.lines.iter().map(|(session, ..)| length(session)).max().unwrap_or(0);
        let wide = |text: &str| Some(length(text)).filter(|width| *width <= WIDEST);
        let width = self.lines.iter().filter_map(|(_, text, _)| wide(text)).max().unwrap_or(WIDEST);
        let mut told = String::new();
        for (session, text, heard) in &self.lines {
            let line =
                format!("  {session:sessions$}  {:width$}  {}", words::clean(text), words::clean(&heard.to_string()));
            let _ = writeln!(told, "{}", line.trim_end());
        }
        told
    }
}

fn unheard(error: io::Error) -> Complaint {
    Complaint::new("skew explore", format!("the database over the wire does not answer: {error}"), "try again")
}
