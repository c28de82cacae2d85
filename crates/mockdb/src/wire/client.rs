//! A connected client: its messages, one after the other, until it goes.
//!
//! ```text
//!   Query "a; b"    a and b in one transaction, unless they say otherwise ── rows … C ── rows … C ── Z
//!   Parse Bind Describe Execute … Sync    see [`super::extended`]
//!   an error        E; the rest of the Query is not run, of a series nothing more until Sync
//! ```
//!
//! Between two statements nothing of the database is held, nor between two calls of one that takes long ([`super::desk`]). A statement that has to wait is put aside until its bell rings, the client
//! goes away, somebody cancels it or its time is over; then it is run again from its beginning, which the store makes look like going on.

use super::adversary::{Visit, is_step};
use super::desk::WireDesk;
use super::extended::{Portal, PreparedStatement};
use super::hall::{Hall, Member};
use super::line::{Gone, Line};
use super::message::{self, Message, ValueFormat};
use super::reply::Severity;
use super::running::StopReason;
use super::walk::{Isolation, Touch, question};
use super::{settings, value};
use crate::connection::{Connection, Desk, Status, error_of};
use crate::shared::Bell;
use crate::waits::Awaited;
use rustc_hash::FxHasher;
use skew_history::SessionId;
use skew_sql::{Interrupt, Stop};
use skew_sql::{session::Answer, session::Prepared, session::Rows};
use skew_value::{Datum, SqlError, SqlState};
use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So many rows of an answer are looked at to tell whether it is the same again.
const MOST_MARKED: usize = 20;

/// A client.
pub(crate) struct WireClient {
    pub(crate) hall: Arc<Hall>,
    pub(crate) line: Line,
    pub(crate) process: i32,
    /// What the adversary knows of it.
    visit: Visit,
    member: Arc<Member>,
    bell: Arc<Bell>,
    /// The session at which the bell hangs; another application_name makes it another one.
    session: SessionId,
    pub(crate) connection: Connection,
    /// The settings when the client was last told of them; they are shared until they change.
    told: Arc<BTreeMap<String, String>>,
    pub(crate) statements: BTreeMap<String, Arc<PreparedStatement>>,
    pub(crate) portals: BTreeMap<String, Portal>,
    /// After an error in a series of messages: nothing more is done until Sync.
    pub(crate) skipping: bool,
    /// Where the connection stood before the last statement.
    before: Status,
}

/// What came of an attempt to carry out a statement.
struct Attempted<T> {
    result: Result<T, Stop>,
    /// Why it was stopped, if it was.
    stopped: Option<StopReason>,
    /// Whether it waits for nothing but a thread of its own.
    wants_aside: bool,
    /// Whether it did something that could not be recorded.
    unrecorded: bool,
}

/// What a statement waits for, and until when.
struct Waits {
    deadline: Option<Instant>,
    /// How long it waits for a lock.
    lock: Option<Duration>,
    /// Being woken in vain does not make the wait a new one.
    wait: Option<(Awaited, Option<Instant>)>,
    /// How long anybody had been held back when it began: meanwhile no time passes for who waits.
    stood_still: Duration,
}

/// What goes wrong: with a statement, or with the client.
pub(crate) enum Trouble {
    /// The statement; the client is told.
    Error(SqlError),
    /// The client.
    Gone,
}

impl From<SqlError> for Trouble {
    fn from(error: SqlError) -> Trouble {
        Trouble::Error(error)
    }
}

impl From<Gone> for Trouble {
    fn from(_: Gone) -> Trouble {
        Trouble::Gone
    }
}

impl WireClient {
    pub(crate) fn new(
        hall: Arc<Hall>,
        (line, visit): (Line, Visit),
        process: i32,
        secret: i32,
        connection: Connection,
    ) -> WireClient {
        let (bell, session) = (Arc::new(Bell::default()), connection.id());
        hall.database.hang(session, &bell);
        let member = hall.enter(process, secret, session, Arc::clone(&bell));
        member.introduce(connection.session().user(), connection.session().database());
        if let Some(gate) = &hall.gate {
            // Nobody waits for the gate with the database in hand: who is at the gate waits for the database.
            let name = hall.database.work().store.session_name(session).to_owned();
            gate.arrive(process, &name);
        }
        hall.walking.iter().for_each(|walking| walking.hear(process));
        WireClient {
            hall,
            line,
            process,
            visit,
            member,
            bell,
            session,
            connection,
            told: Arc::default(),
            statements: BTreeMap::new(),
            portals: BTreeMap::new(),
            skipping: false,
            before: Status::Idle,
        }
    }

    /// Answers messages until the client goes.
    pub(crate) async fn serve(&mut self) -> Result<(), Gone> {
        self.ready();
        loop {
            let bytes = match self.next_message().await? {
                Ok(bytes) if message::is_known(bytes[0]) => bytes,
                Ok(bytes) => return self.refuse(&format!("invalid frontend message type {}", bytes[0])).await,
                Err(malformed) => return self.refuse(malformed.0).await,
            };
            self.visit.hear();
            self.hall.walking.iter().for_each(|walking| walking.hear(self.process));
            match message::decode(bytes[0], &bytes[5..]) {
                Ok(Message::Terminate) => return Ok(()),
                // A length is right and the rest is not: what comes next can still be read.
                Err(_) if self.skipping => {}
                Err(malformed) => self.misunderstood(&protocol_violation(malformed.0), bytes[0] == b'Q'),
                Ok(message) => self.answer(message).await?,
            }
            self.line.flush_much().await?;
        }
    }

    /// The next message of the client, which may not be silent for longer than it has said while a transaction of it is open.
    async fn next_message(&mut self) -> Result<Result<Vec<u8>, message::Malformed>, Gone> {
        let is_open = self.connection.status() != Status::Idle;
        let Some(limit) = settings::timeouts(&self.connection).idle.filter(|_| is_open) else {
            return self.line.receive_message().await;
        };
        if let Ok(received) = tokio::time::timeout(limit, self.line.receive_message()).await {
            return received;
        }
        let error = SqlError::new(SqlState("25P03"), "terminating connection due to idle-in-transaction timeout");
        self.line.replies.error(Severity::Fatal, &error, "");
        self.line.flush().await?;
        Err(Gone)
    }

    async fn refuse(&mut self, what: &str) -> Result<(), Gone> {
        self.line.replies.error(Severity::Fatal, &protocol_violation(what), "");
        self.line.flush().await?;
        Err(Gone)
    }

    async fn answer(&mut self, message: Message) -> Result<(), Gone> {
        match message {
            message if self.skipping && message != Message::Sync => Ok(()),
            Message::Query(text) => self.query(&text).await,
            // What is left of a COPY that failed.
            Message::CopyChunk(_) | Message::CopyDone | Message::CopyFail(_) => Ok(()),
            Message::FunctionCall => {
                self.misunderstood(&SqlError::unsupported("the function call message"), true);
                Ok(())
            }
            message => self.extended(message).await,
        }
    }

    /// The simple protocol: all statements of a text.
    async fn query(&mut self, text: &str) -> Result<(), Gone> {
        self.portals.remove("");
        self.hall.statements.said(self.process, text);
        match self.query_all(text).await {
            Ok(()) => {}
            Err(Trouble::Error(error)) => self.failed(&error, text),
            Err(Trouble::Gone) => return Err(Gone),
        }
        self.ready();
        Ok(())
    }

    async fn query_all(&mut self, text: &str) -> Result<(), Trouble> {
        let statements = self.connection.session().parse(text)?;
        if statements.is_empty() {
            self.finish().await?;
            self.line.replies.empty(b'I');
        }
        if statements.len() > 1 {
            self.connection.begin_block();
        }
        let last = statements.len().saturating_sub(1);
        for (place, statement) in statements.iter().enumerate() {
            let prepared = self.connection.prepare(&self.hall.database.work(), statement, &[])?.once();
            let ends = place == last;
            if let Some(copy) = prepared.copy() {
                let tag = self.copy(&prepared, copy).await?;
                self.finish_if(ends).await?;
                self.line.replies.complete(&tag);
                continue;
            }
            let answer = self.run(&prepared, &[]).await?;
            self.finish_if(ends).await?;
            self.send(answer, &prepared).await?;
        }
        Ok(())
    }

    /// What the last statement of several is told to have done must have been committed.
    async fn finish_if(&mut self, ends: bool) -> Result<(), Trouble> {
        if ends { self.finish().await } else { Ok(()) }
    }

    /// Sends a whole answer in text.
    async fn send(&mut self, answer: Answer, prepared: &Prepared) -> Result<(), Trouble> {
        let (tag, rows) = self.take_answer(answer, prepared)?;
        if let Some(rows) = rows {
            self.line.replies.columns(&rows.columns, |_| ValueFormat::Text);
            for row in &rows.rows {
                self.send_row(row, &rows, |_| ValueFormat::Text).await?;
            }
        }
        self.tell_settings();
        self.line.replies.complete(&tag);
        Ok(())
    }

    /// A row; returns when there is room for another one.
    pub(crate) async fn send_row(
        &mut self,
        row: &[Datum],
        rows: &Rows,
        format: impl Fn(usize) -> ValueFormat,
    ) -> Result<(), Trouble> {
        let start = self.line.replies.len();
        let mut failure = None;
        let session = self.connection.session();
        self.line.replies.message(b'D', |body| {
            body.extend_from_slice(&(row.len() as u16).to_be_bytes());
            for (place, (datum, column)) in row.iter().zip(rows.columns.iter()).enumerate() {
                if let Err(error) = value::encode(datum, &column.sql_type, format(place), session, body) {
                    failure = Some(error);
                    return;
                }
            }
        });
        if let Some(error) = failure {
            self.line.replies.truncate(start);
            return Err(error.into());
        }
        Ok(self.line.flush_much().await?)
    }

    /// The tag of an answer and its rows.
    pub(crate) fn take_answer(
        &mut self,
        answer: Answer,
        prepared: &Prepared,
    ) -> Result<(String, Option<Rows>), SqlError> {
        Ok(match answer {
            Answer::Rows(rows) => (tag_of_rows(prepared.statement().text(), rows.rows.len()), Some(rows)),
            Answer::Changed(changed) => {
                let zero = if changed.command == "INSERT" { " 0" } else { "" };
                (format!("{}{zero} {}", changed.command, changed.count), changed.returning)
            }
            Answer::Done(words) => {
                self.warn_of(&words);
                self.forget_statements(&words, prepared.statement().text());
                (words, None)
            }
            Answer::Defined(words) => (words, None),
            Answer::Transaction(_) => ("SET".to_owned(), None),
            Answer::Set { .. } | Answer::SetSeveral(_) => (tag_of_set(prepared.statement().text()), None),
            Answer::Show(name) => return Err(settings::unrecognized(&name)),
        })
    }

    /// BEGIN in a transaction and COMMIT outside of one do nothing, which may not have been meant.
    fn warn_of(&mut self, words: &str) {
        let (state, message) = match (words, self.before) {
            ("BEGIN", Status::Open) => ("25001", "there is already a transaction in progress"),
            ("COMMIT" | "ROLLBACK", Status::Idle) => ("25P01", "there is no transaction in progress"),
            _ => return,
        };
        self.line.replies.error(Severity::Warning, &SqlError::new(SqlState(state), message), "");
    }

    /// DEALLOCATE and DISCARD are also about what was prepared through the protocol.
    fn forget_statements(&mut self, words: &str, sql: &str) {
        match words {
            "DEALLOCATE" => {
                let name = sql.split_whitespace().next_back().unwrap_or_default();
                let name = match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
                    Some(quoted) => quoted.replace("\"\"", "\""),
                    None => name.to_lowercase(),
                };
                self.statements.remove(&name);
            }
            "DEALLOCATE ALL" | "DISCARD ALL" => self.statements.clear(),
            _ => {}
        }
    }

    /// Runs a statement to its end, however often it has to wait.
    pub(crate) async fn run(&mut self, prepared: &Prepared, parameters: &[Datum]) -> Result<Answer, Trouble> {
        self.member.works(prepared.statement().text());
        self.take_turn(prepared).await?;
        self.take_step(prepared, parameters).await?;
        self.walk(prepared, parameters).await?;
        self.before = self.connection.status();
        let answer = self.until_answered(prepared, parameters).await;
        if let Some(level) = self.connection.take_overruled() {
            tracing::warn!("a client asked for {level:?}; all transactions are at the level that was asked for here");
            if let Some(gate) = &self.hall.gate {
                gate.overrule(level);
            }
        }
        self.follow_session();
        if let Ok(answer) = &answer {
            self.visit.get(prepared.statement().text(), |hasher| mark(answer, parameters, hasher));
        }
        if let Some(turnstile) = &self.hall.turnstile {
            // From here on it is the client that lets others wait: a series without its end, an answer that nobody reads.
            turnstile.rest(&self.hall, self.process, true);
        }
        if let Some(gate) = &self.hall.gate {
            if let Ok(Answer::Defined(words)) = &answer {
                // Who sees which table is no part of a history.
                gate.define(self.process, words);
            }
            gate.rest(&self.hall, self.process, true);
        }
        answer
    }

    /// Commits the transaction of statements that stayed together.
    pub(crate) async fn finish(&mut self) -> Result<(), Trouble> {
        let finished = self.until_done(|connection, desk| connection.end_block(desk.database())).await;
        self.follow_session();
        finished
    }

    /// The bell hangs at the session, which another name makes another one.
    fn follow_session(&mut self) {
        if self.connection.id() != self.session {
            self.hall.database.take_down(std::mem::replace(&mut self.session, self.connection.id()));
            self.hall.database.hang(self.session, &self.bell);
            self.member.follow(self.session);
        }
    }

    /// Waits until the next statement may begin; who goes or is cancelled meanwhile does not begin it.
    async fn take_turn(&mut self, prepared: &Prepared) -> Result<(), Trouble> {
        // What was cancelled before it began was another statement.
        self.member.take_cancelled();
        if self.hall.settings.delay.is_none() && self.hall.turnstile.is_none() && self.hall.gate.is_none() {
            return Ok(());
        }
        let (hall, process, session) = (Arc::clone(&self.hall), self.process, self.session);
        let is_idle = self.connection.status() == Status::Idle && !prepared.uses_storage();
        hall.database.work().store.arrive(session);
        let turn = async move {
            if let Some(longest) = hall.settings.delay {
                tokio::time::sleep(hall.delay(longest)).await;
            }
            // What is said before a transaction touches anything does not decide about the order.
            if let Some(turnstile) = hall.turnstile.as_ref().filter(|turnstile| !is_idle || !turnstile.is_prescribed())
            {
                let name = hall.database.work().store.session_name(session).to_owned();
                turnstile.enter(&hall, process, &name).await;
            }
            if let Some(gate) = &hall.gate {
                let name = hall.database.work().store.session_name(session).to_owned();
                gate.enter(&hall, process, &name).await;
            }
        };
        self.unless_stopped(turn).await
    }

    /// Waits for the leave of the adversary, where there is one.
    async fn take_step(&mut self, prepared: &Prepared, parameters: &[Datum]) -> Result<(), Trouble> {
        if self.hall.adversary.is_none() {
            return Ok(());
        }
        let status = self.connection.status();
        let mut visit = std::mem::replace(&mut self.visit, Visit::begin(None));
        let taken = self.unless_stopped(visit.ask(prepared, parameters, status)).await;
        std::mem::swap(&mut self.visit, &mut visit);
        self.hall.write_steps();
        taken
    }

    /// Waits until somebody else says that it is next, where somebody does.
    async fn walk(&mut self, prepared: &Prepared, parameters: &[Datum]) -> Result<(), Trouble> {
        let hall = Arc::clone(&self.hall);
        let Some(walking) = hall.walking.as_ref().filter(|_| is_step(prepared, self.connection.status())) else {
            return Ok(());
        };
        // Who has a name is not taken for another one that asks the same.
        let name = self.connection.session().settings().get("application_name").cloned().unwrap_or_default();
        let question = question(prepared.statement().text(), &(name, format!("{parameters:?}")));
        self.unless_stopped(walking.ask(self.process, question)).await
    }

    /// Waits for something, unless the client goes or is cancelled.
    async fn unless_stopped(&mut self, something: impl Future<Output = ()>) -> Result<(), Trouble> {
        let mut something = std::pin::pin!(something);
        loop {
            tokio::select! {
                () = &mut something => return Ok(()),
                () = self.line.hung_up() => return Err(Trouble::Gone),
                () = self.bell.rung() => {}
            }
            if self.member.take_cancelled() {
                return Err(error_of(Interrupt::Cancelled).into());
            }
        }
    }

    /// Does a step of the connection that takes no long time, however often it has to wait.
    async fn until_done<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Connection, &mut WireDesk<'_>) -> Result<T, Stop>,
    ) -> Result<T, Trouble> {
        let mut waits = self.begin_waits();
        loop {
            let attempted = self.attempt(&waits, &mut attempt);
            if let Some(done) = self.settle_attempt(attempted, &mut waits).await? {
                return Ok(done);
            }
        }
    }

    /// Executes a statement: at once, and if that takes long, on a thread of its own.
    async fn until_answered(&mut self, prepared: &Prepared, parameters: &[Datum]) -> Result<Answer, Trouble> {
        let mut waits = self.begin_waits();
        let mut aside = None;
        loop {
            let attempted = match &aside {
                None => self.attempt(&waits, &mut |connection, desk| execute(connection, desk, prepared, parameters)),
                Some(statement) => self.attempt_aside(&waits, Arc::clone(statement)).await?,
            };
            if attempted.wants_aside {
                aside = Some(Arc::new((prepared.clone(), parameters.to_vec())));
                continue;
            }
            if let Some(answer) = self.settle_attempt(attempted, &mut waits).await? {
                return Ok(answer);
            }
        }
    }

    fn begin_waits(&self) -> Waits {
        let timeouts = settings::timeouts(&self.connection);
        let deadline = timeouts.statement.and_then(|limit| Instant::now().checked_add(limit));
        Waits { deadline, lock: timeouts.lock, wait: None, stood_still: self.visit.stood_still() }
    }

    fn attempt<T>(
        &mut self,
        waits: &Waits,
        attempt: &mut dyn FnMut(&mut Connection, &mut WireDesk<'_>) -> Result<T, Stop>,
    ) -> Attempted<T> {
        let mut desk = WireDesk::new(&self.hall, (self.process, &self.member), self.session, waits.deadline, false);
        let result = attempt(&mut self.connection, &mut desk);
        let unrecorded = result.is_ok() && desk.is_unrecorded();
        Attempted { result, stopped: desk.stopped(), wants_aside: desk.wants_aside(), unrecorded }
    }

    /// Lets the statement work elsewhere, and looks meanwhile whether the client is still there.
    async fn attempt_aside(
        &mut self,
        waits: &Waits,
        statement: Arc<(Prepared, Vec<Datum>)>,
    ) -> Result<Attempted<Answer>, Trouble> {
        let stand_in = self.connection.stand_in();
        let mut connection = std::mem::replace(&mut self.connection, stand_in);
        let (hall, member, session) = (Arc::clone(&self.hall), Arc::clone(&self.member), self.session);
        let (process, deadline, working) = (self.process, waits.deadline, self.hall.running.step_aside());
        let mut work = tokio::task::spawn_blocking(move || {
            let mut desk = WireDesk::new(&hall, (process, &member), session, deadline, true);
            let result = execute(&mut connection, &mut desk, &statement.0, &statement.1);
            let unrecorded = result.is_ok() && desk.is_unrecorded();
            let attempted = Attempted { result, stopped: desk.stopped(), wants_aside: false, unrecorded };
            drop((desk, working));
            (connection, attempted)
        });
        let done = tokio::select! {
            done = &mut work => done,
            () = self.line.hung_up() => {
                self.member.go();
                work.await
            }
        };
        // A statement that panicked took its connection with it: the stand-in is closed in its place.
        let (connection, attempted) = done.map_err(|_| Trouble::Gone)?;
        self.connection = connection;
        Ok(attempted)
    }

    /// What came of an attempt; nothing if there is to be another one.
    async fn settle_attempt<T>(&mut self, attempted: Attempted<T>, waits: &mut Waits) -> Result<Option<T>, Trouble> {
        let Attempted { result, stopped, unrecorded, .. } = attempted;
        match result {
            Ok(_) if unrecorded => Err(self.hide_unrecorded().await),
            Ok(done) => Ok(Some(done)),
            Err(Stop::Error(error)) => Err(error.into()),
            Err(Stop::Interrupted(Interrupt::Wait)) => {
                if let Some(turnstile) = &self.hall.turnstile {
                    turnstile.rest(&self.hall, self.process, false);
                }
                let awaited = self.hall.database.work().store.awaited(self.connection.id());
                let patience = match waits.wait {
                    Some((same, patience)) if same == awaited => patience,
                    _ => waits.lock.and_then(|limit| Instant::now().checked_add(limit)),
                };
                waits.wait = Some((awaited, patience));
                self.visit.block();
                self.hall.walking.iter().for_each(|walking| walking.block(self.process));
                self.wait(waits).await?;
                self.visit.go_on();
                self.hall.walking.iter().for_each(|walking| walking.go_on(self.process));
                self.wait_for_turn().await?;
                Ok(None)
            }
            Err(Stop::Interrupted(Interrupt::Cancelled)) if stopped == Some(StopReason::Gone) => Err(Trouble::Gone),
            Err(Stop::Interrupted(Interrupt::Cancelled)) => {
                self.member.take_cancelled();
                Err(stopped.unwrap_or(StopReason::Cancelled).error().into())
            }
            Err(Stop::Interrupted(interrupt)) => Err(error_of(interrupt).into()),
        }
    }

    /// What is in no history is not acknowledged: as after a crash, the client does not learn whether it happened.
    async fn hide_unrecorded(&mut self) -> Trouble {
        let error = SqlError::new(SqlState("58030"), "the history cannot be written any more; this server ends");
        self.line.replies.error(Severity::Fatal, &error, "");
        // Whoever is gone already need not be told.
        let _ = self.line.flush().await;
        Trouble::Gone
    }

    /// After a wait for a row, which gave the turn to others: whoever has the row may need it to let go.
    async fn wait_for_turn(&mut self) -> Result<(), Trouble> {
        let hall = Arc::clone(&self.hall);
        let Some(turnstile) = &hall.turnstile else { return Ok(()) };
        let name = hall.database.work().store.session_name(self.session).to_owned();
        self.unless_stopped(turnstile.enter(&hall, self.process, &name)).await
    }

    /// Waits until the statement may be tried again.
    async fn wait(&mut self, waits: &mut Waits) -> Result<(), Trouble> {
        loop {
            let patience = waits.wait.and_then(|(_, patience)| patience);
            tokio::select! {
                biased;
                () = self.bell.rung() => break,
                () = self.line.hung_up() => return Err(Trouble::Gone),
                () = until(earliest(waits.deadline, patience)) => {}
            }
            if waits.put_off(self.visit.stood_still()) {
                continue;
            }
            return Err(match waits.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                true => StopReason::Late.error().into(),
                false => SqlError::new(SqlState("55P03"), "canceling statement due to lock timeout").into(),
            });
        }
        if self.member.take_cancelled() {
            return Err(StopReason::Cancelled.error().into());
        }
        Ok(())
    }

    /// Tells of an error, which is the end of the transaction.
    pub(crate) fn failed(&mut self, error: &SqlError, sql: &str) {
        self.hall.statements.failed(self.process, &error.message, sql);
        self.connection.fail(&mut self.hall.database.work());
        if error.state == SqlState("40P01") {
            // Who closes a cycle of waits is refused, and that is whoever comes last.
            self.hall.walking.iter().for_each(|walking| walking.touch(self.process, Touch::Wait, Isolation::default()));
        }
        if error.state == SqlState::FEATURE_NOT_SUPPORTED {
            self.hall.note_unsupported(&error.message);
            self.hall.gate.iter().for_each(|gate| gate.refuse(self.process, &error.message));
        }
        self.line.replies.error(Severity::Error, error, sql);
    }

    /// Tells of a message that is no message: those of a series are skipped until its end, others are answered at once.
    fn misunderstood(&mut self, error: &SqlError, alone: bool) {
        self.failed(error, "");
        self.skipping = !alone;
        if alone {
            self.ready();
        }
    }

    /// The client may go on.
    pub(crate) fn ready(&mut self) {
        self.tell_settings();
        let status = self.connection.status();
        self.member.rests(status, self.connection.setting("application_name").unwrap_or_default());
        if status == Status::Idle {
            self.portals.clear();
        }
        if let Some(turnstile) = &self.hall.turnstile {
            turnstile.rest(&self.hall, self.process, status != Status::Idle);
        }
        if let Some(gate) = &self.hall.gate {
            gate.rest(&self.hall, self.process, status != Status::Idle);
        }
        self.visit.rest(status);
        self.hall.walking.iter().for_each(|walking| walking.rest(self.process, status != Status::Idle));
        self.line.replies.ready(status);
    }

    /// Tells of settings that have changed.
    fn tell_settings(&mut self) {
        let settings = self.connection.session().settings();
        if Arc::ptr_eq(settings, &self.told) {
            return;
        }
        for (name, key) in settings::REPORTED {
            let value = settings.get(key).map(String::as_str);
            if let Some(value) = value.filter(|value| self.told.get(key).is_none_or(|told| told != value)) {
                self.line.replies.parameter_status(name, value);
            }
        }
        self.told = Arc::clone(settings);
    }
}

impl Drop for WireClient {
    fn drop(&mut self) {
        self.hall.leave(self.process);
        self.hall.statements.left(self.process);
        self.hall.database.take_down(self.session);
        self.connection.disconnect(&mut self.hall.database.work());
        if let Some(turnstile) = &self.hall.turnstile {
            turnstile.leave(&self.hall, self.process);
        }
        if let Some(gate) = &self.hall.gate {
            gate.leave(&self.hall, self.process);
        }
        self.hall.walking.iter().for_each(|walking| walking.leave(self.process));
        tracing::debug!(client = self.process, "disconnected");
    }
}

impl Waits {
    /// No time has passed for who waits while somebody was held back. Whether that puts its end off.
    fn put_off(&mut self, stood_still: Duration) -> bool {
        let more = stood_still.saturating_sub(std::mem::replace(&mut self.stood_still, stood_still));
        let later = |moment: Instant| moment.checked_add(more);
        self.deadline = self.deadline.and_then(later);
        self.wait = self.wait.map(|(awaited, patience)| (awaited, patience.and_then(later)));
        let patience = self.wait.and_then(|(_, patience)| patience);
        earliest(self.deadline, patience).is_none_or(|end| end > Instant::now())
    }
}

/// The earlier of two moments, of which either may be never.
fn earliest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

/// What tells answers apart.
fn mark(answer: &Answer, parameters: &[Datum], hasher: &mut FxHasher) {
    let rows = match answer {
        Answer::Rows(rows) => &rows.rows[..],
        Answer::Changed(changed) => return changed.count.hash(hasher),
        _ => return,
    };
    rows.len().hash(hasher);
    for row in rows.iter().take(MOST_MARKED) {
        format!("{parameters:?}{row:?}").hash(hasher);
    }
}

/// One attempt to carry out a statement.
fn execute(
    connection: &mut Connection,
    desk: &mut WireDesk<'_>,
    prepared: &Prepared,
    parameters: &[Datum],
) -> Result<Answer, Stop> {
    if prepared.defines() {
        desk.define()?;
    }
    connection.execute_at(desk, prepared, parameters)
}

/// Waits until a moment, or for ever.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

pub(crate) fn protocol_violation(what: &str) -> SqlError {
    SqlError::new(SqlState("08P01"), what)
}

fn tag_of_set(sql: &str) -> String {
    let reset = sql.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("reset"));
    if reset { "RESET" } else { "SET" }.to_owned()
}

/// Queries of all kinds select; what only tells something says what it is.
fn tag_of_rows(sql: &str, count: usize) -> String {
    match sql.split_whitespace().next() {
        Some(word) if word.eq_ignore_ascii_case("explain") => "EXPLAIN".to_owned(),
        Some(word) if word.eq_ignore_ascii_case("show") => "SHOW".to_owned(),
        Some(word) if word.eq_ignore_ascii_case("fetch") => format!("FETCH {count}"),
        _ => format!("SELECT {count}"),
    }
}
