//! A run that a model of a server shows, on a real server: the same statements in the same order, and whether everything comes out the same.
//!
//! ```text
//!   Typed ── tables and rows in a schema of its own ── Screenplay ── performed ──> every answer compared
//!                                                                                     └── the assertion, asked there
//! ```
//!
//! A run is *confirmed* when every statement was answered as the explorer says, refusals included, and the assertion that fails in the run
//! is false in the server's final state. Everything else says what differed, and proves nothing about the program: the server may be
//! another one than the level's, or the model of it is wrong.

use crate::conformance::Engine as Server;
use crate::typed::{Typed, TypedStatement, rows_words, words};
use crate::{Complaint, servers};
use serde_json::{Value as Json, json};
use skew_history::{Engine, EngineLevel, IsolationLevel};
use skew_program::{Heard, TextRows};
use skew_value::Dialect;
use skew_view::Palette;
use skew_view::words::clean;
use skew_workload::connection::{Connection, Settings, StatementAnswer, connect};
use skew_workload::screenplay::{AfterRefusal, Cue, CueEnd, Screenplay, Staging, Transcript, perform};
use skew_workload::servers::{Fleet, Kind};
use skew_workload::{BadUrl, Failure, Objection, Url, Value};
use std::str::FromStr;
use std::time::Duration;

/// How many names are tried for the schema.
const NAMES: usize = 100;

/// How long somebody is waited for who neither answers nor is known to wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server on which runs are confirmed.
pub(crate) struct LiveServer {
    url: Url,
    server: Server,
}

/// What a server showed of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Confirmation {
    /// `PostgreSQL 15.20`.
    pub(crate) server: String,
    /// What came of it.
    pub(crate) verdict: ConfirmationVerdict,
}

/// Whether a server does what the explorer says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ConfirmationVerdict {
    /// Every answer is the same, and the assertion is false there, too.
    Confirmed,
    /// These statements were answered otherwise, or the assertion is true there.
    Differs(Vec<LiveDifference>),
    /// It could not be tried, and why.
    Untried(String),
}

impl Confirmation {
    /// Why it is not confirmed, a line each.
    pub(crate) fn objections(&self) -> Vec<String> {
        let line = |one: &LiveDifference| {
            let session = one.session.as_deref().unwrap_or("assertion");
            format!("{session}: {}: {}; expected: {}", one.sql, one.answered, one.expected)
        };
        match &self.verdict {
            ConfirmationVerdict::Confirmed => Vec::new(),
            ConfirmationVerdict::Differs(differences) => differences.iter().map(line).collect(),
            ConfirmationVerdict::Untried(why) => vec![why.clone()],
        }
    }
}

/// A statement that was answered otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LiveDifference {
    /// Whose it was; nothing for the assertion.
    pub(crate) session: Option<String>,
    /// What was sent.
    pub(crate) sql: String,
    /// What the explorer says.
    pub(crate) expected: String,
    /// What the server said.
    pub(crate) answered: String,
}

/// What a run needs besides its statements.
pub(crate) struct Setting<'a> {
    /// The level at which it was found.
    pub(crate) level: EngineLevel,
    /// The statements that make tables and first rows.
    pub(crate) schema: &'a [String],
    /// The assertion that is false in it, as a query of one boolean.
    pub(crate) assertion: Option<String>,
}

impl LiveServer {
    /// Finds out who the server is.
    pub(crate) fn open(url: &Url) -> Result<LiveServer, Complaint> {
        let unreachable = |failure: Failure| {
            let advice = "check that the server runs, and user, password, database and rights; or let one be started: --confirm up";
            Complaint::new(&url.to_string(), failure.to_string(), advice)
        };
        let mut connection = connect(url, &settings()).map_err(unreachable)?;
        let server = Server::ask(&mut *connection).map_err(unreachable)?;
        Ok(LiveServer { url: url.clone(), server })
    }

    /// Whose levels it has.
    pub(crate) fn engine(&self) -> Engine {
        match self.url.dialect {
            Dialect::Postgres => Engine::Postgres,
            Dialect::MySql => Engine::Mysql,
        }
    }

    /// A run that cannot be made there.
    pub(crate) fn untried(&self, why: String) -> Confirmation {
        Confirmation { server: self.server.words.clone(), verdict: ConfirmationVerdict::Untried(why) }
    }

    /// Makes a run there, with tables of its own that are dropped afterwards.
    pub(crate) fn confirm(&self, typed: &Typed, setting: &Setting<'_>) -> Result<Confirmation, Complaint> {
        let server = self.server.words.clone();
        if self.engine() != setting.level.engine() {
            return Ok(self.untried(format!("{} is a level of another engine", setting.level.name())));
        }
        let mut schema = LiveSchema::create(&self.url)?;
        let verdict = match schema.fill(setting.schema) {
            Err(why) => ConfirmationVerdict::Untried(format!("its tables cannot be made there: {why}")),
            Ok(()) => self.perform(&mut schema, typed, setting)?,
        };
        Ok(Confirmation { server, verdict })
    }

    fn perform(
        &self,
        schema: &mut LiveSchema,
        typed: &Typed,
        setting: &Setting<'_>,
    ) -> Result<ConfirmationVerdict, Complaint> {
        let opening = self.opening(schema, setting.level);
        let count = opening.len() * typed.sessions.len();
        let cue =
            |statement: &TypedStatement| Cue { session: statement.session, name: None, sql: statement.sql.clone() };
        let cues = typed.statements.iter().map(cue).collect();
        let screenplay = Screenplay { sessions: typed.sessions.clone(), cues }.opened_with(&opening);
        let staging = Staging { patience: PATIENCE, after_refusal: AfterRefusal::GoOn };
        let transcript = perform(&schema.url, &screenplay, staging).map_err(|failure| {
            let advice = "check that the server is still there, then try again";
            Complaint::new(&self.url.to_string(), failure.to_string(), advice)
        })?;
        let mut differences = differences(typed, &transcript, count);
        if let Some(doubt) = transcript.doubts.first().filter(|_| differences.is_empty()) {
            return Ok(ConfirmationVerdict::Untried(doubt.clone()));
        }
        differences.extend(setting.assertion.as_ref().and_then(|sql| schema.assertion_difference(sql)));
        Ok(match differences.is_empty() {
            true => ConfirmationVerdict::Confirmed,
            false => ConfirmationVerdict::Differs(differences),
        })
    }

    /// What every session says first, of which nothing is shown: where its tables are, and settings that are no level.
    fn opening(&self, schema: &LiveSchema, level: EngineLevel) -> Vec<String> {
        let levels = self.server.levels();
        let name = match level {
            EngineLevel::MysqlSnapshotIsolation => "repeatable-read+innodb_snapshot_isolation",
            _ => "repeatable-read",
        };
        let all = levels.iter().filter(|level| level.name == name).flat_map(|level| &level.opening);
        let settings = all.filter(|sql| sql.contains("innodb_snapshot_isolation")).cloned();
        schema.path().into_iter().chain(settings).collect()
    }
}

/// Where runs are confirmed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConfirmOn {
    /// On servers that are started for it.
    Up,
    /// On this one.
    Server(Url),
}

impl FromStr for ConfirmOn {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<ConfirmOn, BadUrl> {
        if text == "up" { Ok(ConfirmOn::Up) } else { text.parse().map(ConfirmOn::Server) }
    }
}

/// The servers on which runs are confirmed: one that was named, or one per engine, started when it is needed.
pub struct LiveServers {
    is_named: bool,
    /// Those that were started with what ends them.
    known: Vec<(LiveServer, Option<Fleet>)>,
}

impl LiveServers {
    /// Nothing is started yet; a server that was named is asked who it is. Where all levels are of the papers there is nothing to confirm.
    pub fn new(confirm_on: &ConfirmOn, name: &str, levels: &[IsolationLevel]) -> Result<LiveServers, Complaint> {
        if !levels.is_empty() && levels.iter().all(|level| level.of_engine().is_none()) {
            let message =
                "--confirm is for levels of engines: no server has those of the papers, and what only they have";
            return Err(Complaint::new(name, message.to_owned(), "leave it out"));
        }
        Ok(match confirm_on {
            ConfirmOn::Up => LiveServers { is_named: false, known: Vec::new() },
            ConfirmOn::Server(url) => LiveServers { is_named: true, known: vec![(LiveServer::open(url)?, None)] },
        })
    }

    /// The server for the levels of an engine, or the one that was named.
    pub(crate) fn of(&mut self, engine: Engine) -> Result<&LiveServer, Complaint> {
        let fits = |(server, _): &(LiveServer, Option<Fleet>)| self.is_named || server.engine() == engine;
        if let Some(place) = self.known.iter().position(fits) {
            return Ok(&self.known[place].0);
        }
        let kind = match engine {
            Engine::Postgres => Kind::Postgres,
            Engine::Mysql => Kind::MariaDb,
        };
        let fleet = servers::start(kind, 1, &[], "--confirm up")?;
        let server = LiveServer::open(&fleet.urls()[0])?;
        self.known.push((server, Some(fleet)));
        Ok(&self.known[self.known.len() - 1].0)
    }
}

fn settings() -> Settings {
    Settings { name: "skew confirm".to_owned(), timeout: PATIENCE * 4 }
}

/// A schema of one's own, gone with its tables when nobody needs it any more.
struct LiveSchema {
    url: Url,
    name: String,
    connection: Box<dyn Connection>,
}

impl LiveSchema {
    /// Makes it under a name that nobody has.
    fn create(url: &Url) -> Result<LiveSchema, Complaint> {
        let lost = |failure: Failure| Complaint::new(&url.to_string(), failure.to_string(), "try again");
        let mut connection = connect(url, &settings()).map_err(lost)?;
        for number in 1..=NAMES {
            let name = format!("skew_confirm_{number}");
            match connection.type_in(&format!("CREATE SCHEMA {name}")) {
                Ok(_) => return LiveSchema::enter(url, name, connection).map_err(|why| refused(url, &why)),
                Err(Objection::Refused { code, .. }) if ["42P06", "23505", "1007"].contains(&code.as_str()) => {}
                Err(objection) => return Err(refused(url, &objection.to_string())),
            }
        }
        let what = format!("there are {NAMES} schemas skew_confirm_… already");
        Err(Complaint::new(&url.to_string(), what, "drop those that nobody needs, or name another server"))
    }

    fn enter(url: &Url, name: String, mut connection: Box<dyn Connection>) -> Result<LiveSchema, String> {
        let url = match url.dialect {
            Dialect::Postgres => url.clone(),
            Dialect::MySql => Url { database: name.clone(), ..url.clone() },
        };
        let sql = match url.dialect {
            Dialect::Postgres => format!("SET search_path TO {name}"),
            Dialect::MySql => format!("USE {name}"),
        };
        connection.type_in(&sql).map_err(|objection| objection.to_string())?;
        Ok(LiveSchema { url, name, connection })
    }

    /// How a session gets there; one of MySQL is there from its start.
    fn path(&self) -> Option<String> {
        (self.url.dialect == Dialect::Postgres).then(|| format!("SET search_path TO {}", self.name))
    }

    fn fill(&mut self, statements: &[String]) -> Result<(), String> {
        statements.iter().try_for_each(|sql| {
            let answer = self.connection.type_in(sql);
            answer.map(|_| ()).map_err(|objection| objection.to_string())
        })
    }

    /// Asks the assertion, which has to be false.
    fn assertion_difference(&mut self, sql: &str) -> Option<LiveDifference> {
        let answered = match self.connection.type_in(sql) {
            Ok(StatementAnswer { rows, .. }) => rows_words(&texts(&rows)),
            Err(objection) => objection.to_string(),
        };
        let is_false = ["0", "f", "false"].contains(&answered.as_str());
        let expected = "false".to_owned();
        (!is_false).then(|| LiveDifference { session: None, sql: sql.to_owned(), expected, answered })
    }
}

impl Drop for LiveSchema {
    fn drop(&mut self) {
        // Whoever cannot be reached any more keeps it.
        let sql = match self.url.dialect {
            Dialect::Postgres => format!("DROP SCHEMA {} CASCADE", self.name),
            Dialect::MySql => format!("DROP SCHEMA {}", self.name),
        };
        let _ = self.connection.type_in(&sql);
    }
}

fn refused(url: &Url, why: &str) -> Complaint {
    let grant = match url.dialect {
        Dialect::Postgres => format!("GRANT CREATE ON DATABASE {} TO {}", url.database, url.user),
        Dialect::MySql => format!("GRANT ALL ON `skew_confirm_%`.* TO {}", url.user),
    };
    let advice = format!("runs are confirmed in a schema of their own, which is dropped afterwards: {grant}");
    Complaint::new(&url.to_string(), format!("no schema can be made: {why}"), &advice)
}

/// The statements that were answered otherwise. What PostgreSQL says to everything after an error is told once.
fn differences(typed: &Typed, transcript: &Transcript, opening: usize) -> Vec<LiveDifference> {
    let ends = transcript.ends.iter().skip(opening);
    let is_echo = |end: &CueEnd| matches!(end, CueEnd::Refused { code, .. } if code == "25P02");
    let all = typed.statements.iter().zip(ends).filter(|(_, end)| !is_echo(end));
    let differing = all.filter(|(statement, end)| !agrees(typed, statement, end));
    let told = |(statement, end): (&TypedStatement, &CueEnd)| LiveDifference {
        session: typed.sessions.get(statement.session).cloned(),
        sql: statement.sql.clone(),
        expected: words(&statement.heard),
        answered: end_words(end, &statement.heard),
    };
    differing.map(told).collect()
}

/// Whether a server answered as the explorer says.
fn agrees(typed: &Typed, statement: &TypedStatement, end: &CueEnd) -> bool {
    match (&statement.heard, end) {
        (Heard::Done, CueEnd::Answered(_)) => true,
        (Heard::Rows(rows), CueEnd::Answered(answer)) => same_rows(rows, &texts(&answer.rows), &statement.sql),
        (Heard::Changed(count, rows), CueEnd::Answered(answer)) => {
            *count == answer.affected && same_rows(rows, &texts(&answer.rows), "")
        }
        (heard @ Heard::Failed { .. }, CueEnd::Refused { code, .. }) => {
            let codes = typed.codes(heard);
            codes.is_empty() || codes.contains(&code.as_str())
        }
        _ => false,
    }
}

/// Rows that are not ordered may come in any order.
fn same_rows(expected: &TextRows, answered: &TextRows, sql: &str) -> bool {
    let same = |(one, other): (&Vec<Option<String>>, &Vec<Option<String>>)| {
        one.len() == other.len()
            && one.iter().zip(other).all(|(one, other)| same_value(one.as_deref(), other.as_deref()))
    };
    if expected.len() != answered.len() {
        return false;
    }
    if sql.to_lowercase().contains("order by") {
        return expected.iter().zip(answered).all(same);
    }
    let mut left: Vec<&Vec<Option<String>>> = answered.iter().collect();
    expected.iter().all(|row| {
        let place = left.iter().position(|other| same((row, other)));
        place.map(|place| left.swap_remove(place)).is_some()
    })
}

/// Numbers are equal however they are written, and truth is 1 for some.
fn same_value(one: Option<&str>, other: Option<&str>) -> bool {
    let number = |text: &str| match text {
        "t" | "true" => Some(1.0),
        "f" | "false" => Some(0.0),
        text => text.parse::<f64>().ok(),
    };
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one == other || number(one).is_some() && number(one) == number(other),
        _ => false,
    }
}

fn texts(rows: &[skew_workload::Row]) -> TextRows {
    let text = |value: &Value| match value {
        Value::Null => None,
        value => Some(value.to_string()),
    };
    rows.iter().map(|row| row.0.iter().map(text).collect()).collect()
}

/// What a server said, in the words for what was expected.
fn end_words(end: &CueEnd, expected: &Heard) -> String {
    match end {
        CueEnd::Answered(answer) => words(&match expected {
            Heard::Changed(..) => Heard::Changed(answer.affected, texts(&answer.rows)),
            _ if answer.rows.is_empty() => Heard::Changed(answer.affected, Vec::new()),
            _ => Heard::Rows(texts(&answer.rows)),
        }),
        CueEnd::Refused { code, message } => format!("refused: {message} ({code})"),
        CueEnd::Lost(why) => format!("the connection was lost: {why}"),
        CueEnd::StillWaiting => "it still waited when everything else had been said".to_owned(),
        CueEnd::NotSent => "it was not sent".to_owned(),
    }
}

impl Confirmation {
    /// What is told of it, a line each, the first one in the colour of the verdict.
    pub(crate) fn told(&self, has_assertion: bool, palette: Palette) -> String {
        let Palette { good, doubtful, end, .. } = palette;
        let colour = if self.verdict == ConfirmationVerdict::Confirmed { good } else { doubtful };
        let lines = self.lines(has_assertion);
        let (first, others) = lines.split_first().map_or(("", &[][..]), |(first, others)| (first.as_str(), others));
        let others: String = others.iter().map(|line| format!("{}\n", clean(line))).collect();
        format!("{colour}{}{end}\n{others}", clean(first))
    }

    /// What is told of it, a line each; the first one is the verdict.
    fn lines(&self, has_assertion: bool) -> Vec<String> {
        match &self.verdict {
            ConfirmationVerdict::Confirmed => {
                let assertion = if has_assertion { ", and the assertion is false there, too" } else { "" };
                vec![format!("confirmed on {}: every answer is the same{assertion}", self.server)]
            }
            ConfirmationVerdict::Untried(why) => vec![format!("not confirmed on {}: {why}", self.server)],
            ConfirmationVerdict::Differs(differences) => {
                let first = format!("not confirmed: {} does not show this", self.server);
                std::iter::once(first).chain(differences.iter().map(LiveDifference::line)).collect()
            }
        }
    }

    /// The same for programs.
    pub(crate) fn json(&self) -> Json {
        let (verdict, why) = match &self.verdict {
            ConfirmationVerdict::Confirmed => ("confirmed", None),
            ConfirmationVerdict::Differs(_) => ("differs", None),
            ConfirmationVerdict::Untried(why) => ("untried", Some(why)),
        };
        let differences = match &self.verdict {
            ConfirmationVerdict::Differs(differences) => differences.iter().map(LiveDifference::json).collect(),
            _ => Vec::new(),
        };
        json!({"server": self.server, "verdict": verdict, "why": why, "differences": differences})
    }
}

impl LiveDifference {
    fn line(&self) -> String {
        let LiveDifference { sql, expected, answered, .. } = self;
        match &self.session {
            Some(session) => format!("  {session}: {sql}: {answered}; expected: {expected}"),
            None => format!("  the assertion is {answered} there"),
        }
    }

    fn json(&self) -> Json {
        let LiveDifference { session, sql, expected, answered } = self;
        json!({"session": session, "sql": sql, "expected": expected, "answered": answered})
    }
}
