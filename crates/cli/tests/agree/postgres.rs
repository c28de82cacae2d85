//! A program on a real PostgreSQL, statement by statement in an order that a seed decides.
//!
//! ```text
//!   coordinator ── next statement ──> a thread per session ── PostgreSQL
//!        ▲                                   │ an answer, or none yet: the statement waits for a lock, and another session goes on
//!        └───────────────────────────────────┘
//! ```
//!
//! Transactions that the server refused (40001, 40P01) are as if they had never been. What a serializable transaction saw that its own
//! program rolled back PostgreSQL does not promise to be serializable, so there the rest of the run is compared without it, too.

use crate::account::CallAccount;
use crate::draft::Draft;
use crate::explored;
use crate::generator::Numbers;
use crate::setting::{Setting, parse};
use crate::talk::{Heard, Talk};
use skew_check::Updates;
use skew_explore::Place;
use skew_history::IsolationLevel;
use skew_mockdb::Granularity;
use skew_program::Program;
use skew_sql::{Answer, MemoryStorage, Row, RowKey, Storage, Write};
use skew_workload::connection::{Connection, Settings, connect};
use skew_workload::servers::PostgresServer;
use skew_workload::{Failure, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// How long an answer is waited for before another session goes on. It decides about the interleaving, never about what is right.
const GLANCE: Duration = Duration::from_millis(8);

/// A server that does not answer for so long does not answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The levels that PostgreSQL has.
pub(crate) const LEVELS: [(IsolationLevel, &str); 3] = [
    (IsolationLevel::ReadCommitted, "READ COMMITTED"),
    (IsolationLevel::Snapshot, "REPEATABLE READ"),
    (IsolationLevel::Serializable, "SERIALIZABLE"),
];

/// What the tables hold, as both tell it.
const TABLES: [&str; 2] = ["SELECT k, v, w FROM kv ORDER BY k", "SELECT id, k FROM note ORDER BY id"];

/// What a session answered.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Said {
    Heard(Heard),
    /// The server gave the transaction up.
    Refused,
}

/// A session with a thread of its own.
struct Line {
    texts: Sender<String>,
    answers: Receiver<Said>,
}

/// The server and its sessions.
pub(crate) struct Server {
    admin: Box<dyn Connection>,
    lines: Vec<Line>,
    _server: PostgresServer,
}

/// What came of a run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Outcome {
    calls: BTreeMap<Place, CallAccount>,
    state: String,
}

/// What all runs of the explorer come to, by the calls that are left out; nothing where there are too many.
type Known = BTreeMap<BTreeSet<Place>, Option<BTreeSet<Outcome>>>;

impl Server {
    pub(crate) fn start() -> Server {
        let server = PostgresServer::start().expect("PostgreSQL starts");
        let join = |name: &str| {
            let settings = Settings { name: name.to_owned(), timeout: PATIENCE };
            connect(server.url(), &settings).expect("a connection")
        };
        let lines = (0..3).map(|number| line(join(&format!("session {number}")))).collect();
        Server { admin: join("admin"), lines, _server: server }
    }

    fn command(&mut self, text: &str) -> Result<(), String> {
        self.admin.command(text).map_err(|failure| format!("{text}: {failure}"))
    }

    /// Runs a program in several interleavings at a level, each of which the explorer has to have.
    pub(crate) fn agrees(&mut self, draft: &Draft, level: (IsolationLevel, &str), runs: u64) -> Result<usize, String> {
        let program = parse(draft)?;
        let setting = Setting { level: level.0, updates: Updates::Atomic, granularity: Granularity::Row };
        self.command("DROP TABLE IF EXISTS kv, note")?;
        draft.schema.iter().try_for_each(|statement| self.command(statement))?;
        let mut known = Known::new();
        let mut looked = 0;
        for number in 0..runs {
            self.command("TRUNCATE kv, note")?;
            draft.rows.iter().try_for_each(|statement| self.command(statement))?;
            let (outcome, refused) = self.run(draft, level.1, &mut Numbers::new(number + 1))?;
            looked +=
                usize::from(is_explored(&program, setting, &outcome, &refused, &mut known).map_err(|difference| {
                    format!("interleaving {number}, refused {refused:?}: PostgreSQL at {} shows\n{difference}", level.1)
                })?);
        }
        Ok(looked)
    }

    /// One interleaving.
    fn run(&mut self, draft: &Draft, level: &str, numbers: &mut Numbers) -> Result<(Outcome, BTreeSet<Place>), String> {
        let begin = format!("BEGIN ISOLATION LEVEL {level}");
        let mut calls: Vec<usize> = vec![0; draft.sessions.len()];
        let talk = |session: usize, call: usize| draft.sessions[session].get(call).map(|it| Talk::new(it, &begin));
        let mut talks: Vec<Option<Talk<'_>>> = (0..calls.len()).map(|session| talk(session, 0)).collect();
        let mut busy = vec![false; calls.len()];
        let (mut ends, mut refused) = (BTreeMap::new(), BTreeSet::new());
        while talks.iter().any(Option::is_some) {
            let free: Vec<usize> = (0..talks.len()).filter(|&one| talks[one].is_some() && !busy[one]).collect();
            let patience = if free.is_empty() { PATIENCE } else { GLANCE };
            if !free.is_empty() {
                let session = free[numbers.below(free.len())];
                let text = talks[session].as_ref().and_then(Talk::text).ok_or("nothing to say")?;
                self.lines[session].texts.send(text).map_err(|_| "a session is gone")?;
                busy[session] = true;
            }
            let waiting: Vec<usize> = (0..talks.len()).filter(|&one| busy[one]).collect();
            for (session, said) in self.listen(&waiting, patience)? {
                busy[session] = false;
                let place = Place { session, number: calls[session] };
                let Some(talk_now) = &mut talks[session] else { continue };
                match said {
                    Said::Heard(heard) => talk_now.hear(heard),
                    Said::Refused => {
                        refused.insert(place);
                        self.lines[session].texts.send("ROLLBACK".to_owned()).map_err(|_| "a session is gone")?;
                        let _ = self.lines[session].answers.recv_timeout(PATIENCE);
                    }
                }
                let is_over = talk_now.text().is_none();
                if is_over {
                    let end = talk_now.end.clone().unwrap_or_default();
                    ends.insert(place, CallAccount { end, values: talk_now.values });
                }
                if is_over || refused.contains(&place) {
                    calls[session] += 1;
                    talks[session] = talk(session, calls[session]);
                }
            }
        }
        Ok((Outcome { calls: ends, state: self.state()? }, refused))
    }

    /// The answers that come from these sessions; at least one if patience is long.
    fn listen(&self, waiting: &[usize], patience: Duration) -> Result<Vec<(usize, Said)>, String> {
        let mut answers = Vec::new();
        let rounds = (patience.as_millis() / GLANCE.as_millis()).max(1);
        for _ in 0..rounds {
            // The last one was asked last; the others wait for locks.
            for &session in waiting {
                let glance = GLANCE / waiting.len() as u32;
                match self.lines[session].answers.recv_timeout(glance) {
                    Ok(said) => answers.push((session, said)),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Err("a session of PostgreSQL is gone".to_owned()),
                }
            }
            if !answers.is_empty() {
                return Ok(answers);
            }
        }
        if patience == PATIENCE { Err("PostgreSQL does not answer".to_owned()) } else { Ok(answers) }
    }

    fn state(&mut self) -> Result<String, String> {
        let mut state = Vec::new();
        for table in TABLES {
            let answer = self.admin.execute(table, &[]).map_err(|failure| format!("{table}: {failure}"))?;
            let rows = answer.rows.iter().map(|row| row.0.iter().map(number).collect::<Vec<_>>());
            state.push(format!("{:?}", rows.collect::<Vec<_>>()));
        }
        Ok(state.join(" "))
    }
}

fn line(mut connection: Box<dyn Connection>) -> Line {
    let (texts, said) = channel::<String>();
    let (answer, answers) = channel();
    thread::spawn(move || {
        for text in said {
            if answer.send(answered(&mut *connection, &text)).is_err() {
                return;
            }
        }
    });
    Line { texts, answers }
}

fn answered(connection: &mut dyn Connection, text: &str) -> Said {
    let is_query = text.starts_with("SELECT");
    let is_change = ["INSERT", "UPDATE", "DELETE"].iter().any(|word| text.starts_with(word));
    let answer = match is_query || is_change {
        true => connection.execute(text, &[]).map(Some),
        false => connection.command(text).map(|()| None),
    };
    Said::Heard(match answer {
        Ok(None) => Ok(None),
        Ok(Some(answer)) if is_query => Ok(answer.rows.first().and_then(|row| row.0.first()).and_then(number)),
        Ok(Some(answer)) => Ok(i64::try_from(answer.affected).ok()),
        Err(Failure::Refused("serialization failure" | "deadlock")) => return Said::Refused,
        Err(failure) => Err(state(&failure)),
    })
}

/// The state of an error, as SQL has it.
fn state(failure: &Failure) -> String {
    let words = failure.to_string();
    match failure {
        Failure::Constraint("check violation") => "23514".to_owned(),
        Failure::Constraint("not-null violation") => "23502".to_owned(),
        Failure::Constraint("unique violation") | Failure::Duplicate => "23505".to_owned(),
        Failure::Other(message) => message.trim_end_matches(')').rsplit('(').next().unwrap_or(&words).to_owned(),
        _ => words,
    }
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}

/// Whether the explorer was asked; an error tells the outcome that it does not have.
fn is_explored(
    program: &Program,
    setting: Setting,
    outcome: &Outcome,
    refused: &BTreeSet<Place>,
    known: &mut Known,
) -> Result<bool, String> {
    let Some(found) = has(program, setting, outcome, refused, known)? else { return Ok(false) };
    if found {
        return Ok(true);
    }
    let rolled_back = outcome.calls.iter().filter(|(_, call)| call.end != "committed").map(|(place, _)| *place);
    let without: BTreeSet<Place> = refused.iter().copied().chain(rolled_back).collect();
    if setting.level == IsolationLevel::Serializable && without != *refused {
        let mut rest = outcome.clone();
        rest.calls.retain(|place, _| !without.contains(place));
        match has(program, setting, &rest, &without, known)? {
            None => return Ok(false),
            Some(true) => return Ok(true),
            Some(false) => {}
        }
    }
    let all = known.get(refused).and_then(Option::as_ref).into_iter().flatten();
    let close = all.take(6).map(|other| format!("{other:?}\n")).collect::<String>();
    Err(format!("{outcome:?}\nwhich explore denies at {}; it has\n{close}", setting.level))
}

/// Whether a run of the explorer comes to an outcome; nothing if there are too many runs.
fn has(
    program: &Program,
    setting: Setting,
    outcome: &Outcome,
    left_out: &BTreeSet<Place>,
    known: &mut Known,
) -> Result<Option<bool>, String> {
    if !known.contains_key(left_out) {
        let mut outcomes = BTreeSet::new();
        let all = explored::each_run(program, setting, left_out, |_, run, account| {
            let states =
                run.final_states(1_000, skew_check::Budget::steps(1_000_000)).ok_or("too many final states")?;
            for state in states {
                outcomes.insert(Outcome { calls: account.calls.clone(), state: rows(program, state)? });
            }
            Ok(())
        })?;
        known.insert(left_out.clone(), all.then_some(outcomes));
    }
    Ok(known[left_out].as_ref().map(|outcomes| outcomes.contains(outcome)))
}

/// The tables in a final state.
fn rows(program: &Program, state: BTreeMap<RowKey, Row>) -> Result<String, String> {
    let mut storage = MemoryStorage::new();
    for (key, row) in state {
        // A store in memory never refuses a write.
        let _ = storage.put(&key, Write::Row(row));
    }
    let mut told = Vec::new();
    for table in TABLES {
        let mut session = program.session();
        let statements = session.parse(table).map_err(|error| error.message.to_string())?;
        let prepared = session.prepare(&statements[0], &[]).map_err(|error| error.message.to_string())?;
        let Ok(Answer::Rows(rows)) = session.execute(&prepared, &[], &mut storage) else {
            return Err(format!("no answer to {table}"));
        };
        let rows = rows.rows.iter().map(|row| row.iter().map(crate::account::number).collect::<Vec<_>>());
        told.push(format!("{:?}", rows.collect::<Vec<_>>()));
    }
    Ok(told.join(" "))
}
