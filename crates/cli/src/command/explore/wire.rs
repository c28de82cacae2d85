//! `--replay … --wire`: the run once more, through PostgreSQL's protocol.
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

use super::Arguments;
use super::client::Client;
use super::steered::listen;
use crate::command::program::GranularityArgument;
use crate::input::Complaint;
use skew_campaign::ProgramFile;
use skew_campaign::program_file::{complaint, load};
use skew_explore::{Difference, Follower, Run, SqlProgram};
use skew_history::IsolationLevel;
use skew_mockdb::Steering;
use skew_mockdb::wire::{RunningServer, Schedule};
use skew_program::{Heard, Speaker, Spoken};
use skew_sql::{Fits, KeyRange, Row, RowKey, SpaceId};
use skew_value::{SqlError, SqlState};
use skew_view::words;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Statements longer than this do not push the answers of all others to the right.
const WIDEST: usize = 70;

/// What was said over the wire.
pub(super) struct Conversation {
    lines: Vec<(String, String, Heard)>,
    /// Where it was not the run, if so.
    pub(super) difference: Option<String>,
}

/// A follower that the store and the client share.
#[derive(Clone)]
struct Following(Arc<Mutex<Follower>>);

impl Following {
    fn follower(&self) -> MutexGuard<'_, Follower> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask<T>(&self, request: impl FnOnce(&mut Follower) -> Result<T, Difference>) -> Result<T, SqlError> {
        request(&mut self.follower()).map_err(|other| SqlError::new(SqlState::INTERNAL, other.to_string()))
    }
}

impl Steering for Following {
    // The run knows its columns.
    fn describe(&mut self, _: SpaceId, _: Vec<(String, bool)>) {}

    fn initial(&mut self, rows: Vec<(RowKey, String, Row)>) -> Result<(), SqlError> {
        self.ask(|follower| follower.initial(rows.into_iter().map(|(key, _, row)| (key, row))))
    }

    fn begin(&mut self, session: &str, _: IsolationLevel) -> Result<u32, SqlError> {
        self.ask(|follower| follower.begin(session))
    }

    fn begin_statement(&mut self) {
        self.follower().begin_statement();
    }

    fn read(&mut self, key: &RowKey, name: &str, locking: bool) -> Result<Option<Row>, SqlError> {
        self.ask(|follower| follower.read(key, name, locking))
    }

    fn scan(&mut self, range: &KeyRange, locking: bool) -> Result<Vec<(RowKey, Row)>, SqlError> {
        self.ask(|follower| follower.scan(range, locking))
    }

    fn seek(&mut self, key: &RowKey, name: &str, fits: &mut Fits<'_>) -> Result<Option<Row>, SqlError> {
        self.ask(|follower| follower.seek(key, name, fits))
    }

    fn look_over(&mut self, range: &KeyRange, fits: &mut Fits<'_>) -> Result<Vec<RowKey>, SqlError> {
        self.ask(|follower| follower.look_over(range, fits))
    }

    fn enter(&mut self, scope: usize) -> usize {
        self.follower().enter(scope)
    }

    fn write(&mut self, key: &RowKey, name: &str, value: Option<Row>) -> Result<(), SqlError> {
        self.ask(|follower| follower.write(key, name, value))
    }

    fn end(&mut self, commits: bool) -> Result<(), SqlError> {
        self.ask(|follower| follower.end(commits))
    }

    // One thread says everything, so nobody has to wait for anybody.
    fn next(&self) -> Option<String> {
        None
    }

    fn skip(&mut self) {}

    fn finish(&mut self) -> Result<BTreeMap<RowKey, Row>, SqlError> {
        Err(SqlError::unsupported("the end of a run that is replayed"))
    }
}

impl Arguments {
    /// Says everything that the calls of a run said.
    pub(super) fn over_the_wire(
        &self,
        file: &ProgramFile,
        program: &SqlProgram,
        run: &Run<'_, SqlProgram>,
        level: IsolationLevel,
    ) -> Result<Conversation, Complaint> {
        let following = Following(Arc::new(Mutex::new(run.follower(|place| program.ordinal(place) as u32))));
        let server = self.serve_run(file, level, &following)?;
        let mut clients: BTreeMap<usize, Client> = BTreeMap::new();
        let mut talk = Conversation { lines: Vec::new(), difference: None };
        for place in run.order() {
            let Some(left) = run.left(place) else { continue };
            let session = &file.program.scripts()[place.session].name;
            let client = match clients.entry(place.session) {
                std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::btree_map::Entry::Vacant(new) => {
                    new.insert(Client::connect(server.address(), session).map_err(|error| unheard(&error))?)
                }
            };
            for spoken in left.spoken.as_ref().map_err(|error| complaint(&file.name, error))? {
                talk.say(client, session, spoken, &following)?;
                if talk.difference.is_some() {
                    return Ok(talk);
                }
            }
        }
        if !following.follower().is_over() {
            talk.difference = Some("the run has transactions that did not come".to_owned());
        }
        drop(clients);
        server.stop();
        Ok(talk)
    }

    /// A database with the program's first rows, in which every read is answered as in the run.
    fn serve_run(
        &self,
        file: &ProgramFile,
        level: IsolationLevel,
        following: &Following,
    ) -> Result<RunningServer, Complaint> {
        if self.granularity == GranularityArgument::Cell {
            let message = "--wire has whole rows, no cells".to_owned();
            return Err(Complaint::new(&file.name, message, "leave --granularity out, and take a schedule of that"));
        }
        let mut database = self.steered(level, Arc::clone(file.program.initial().0), following.clone());
        database.dialect = file.program.dialect();
        let loaded = load(&mut database.store, &file.program).and_then(|()| database.store.begin_steering());
        loaded.map_err(|error| Complaint::new(&file.name, error.message.to_string(), ""))?;
        listen(database, Schedule::Interleaved)
    }
}

impl Conversation {
    fn say(
        &mut self,
        client: &mut Client,
        session: &str,
        spoken: &Spoken,
        following: &Following,
    ) -> Result<(), Complaint> {
        let heard = client.say(&spoken.text).map_err(|error| unheard(&error))?;
        let place = spoken.place;
        let at = |what: String| format!("line {}, column {}: {what}", place.line, place.column);
        self.difference = match following.follower().difference() {
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

fn unheard(error: &std::io::Error) -> Complaint {
    Complaint::new("skew explore", format!("the database over the wire does not answer: {error}"), "try again")
}
