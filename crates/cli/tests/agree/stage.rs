//! The sessions of a program on the mock database, one event or one transaction at a time, as `skew play` and `skew serve` run them.
//!
//! A transaction that the database refuses is tried again a few times; a call that is refused for good is left out of the account, as if
//! it had never been. A run that does not come to its end in so many turns and choices hangs, and is a difference.

use crate::account::{self, Account, CallAccount};
use crate::draft::{Draft, session_name};
use crate::setting::{Setting, Stored};
use crate::talk::Talk;
use skew_check::Version;
use skew_explore::Place;
use skew_history::{History, IsolationLevel, SessionId};
use skew_mockdb::chooser::Reading;
use skew_mockdb::{Begin, Campaign, Chance, Chooser, ChooserKind, Connection, Database, Status, Stream};
use skew_program::{CallOutcome, Client, Ending, MOST_STEPS, Program, Run, Step};
use skew_sql::{Answer, Interrupt, Prepared, Session, Stop};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How often a refused transaction is tried again.
const RETRIES: u32 = 3;

/// More turns than these no run of such a small program takes.
const MOST_TURNS: usize = 5_000;

/// Nor more choices.
const MOST_CHOICES: u64 = 20_000;

/// Who runs the sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Face {
    /// `skew play`: procedures, with the axioms alone.
    Play,
    /// `skew serve`: statements over a connection.
    Serve,
}

/// How a run is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Manner {
    pub(crate) face: Face,
    /// Whether sessions take turns after every event.
    pub(crate) turns: bool,
    pub(crate) chooser: ChooserKind,
}

/// What came of a run.
pub(crate) struct Made {
    pub(crate) account: Account,
    /// Calls that were refused for good.
    pub(crate) left_out: BTreeSet<Place>,
    /// Nothing when no transaction touched anything.
    pub(crate) history: Option<History>,
}

/// A chooser that ends what would go on for ever.
struct Counted {
    chooser: Box<dyn Chooser>,
    left: u64,
}

impl Chooser for Counted {
    fn choose(&mut self, reading: &mut Reading<'_>) -> Option<Version> {
        self.left = self.left.checked_sub(1).expect("the run hangs: it asks for versions again and again");
        self.chooser.choose(reading)
    }
}

/// How a session does its calls.
enum Work<'a> {
    Procedure { sql: Box<Session>, client: Client, run: Option<Run> },
    Statements { connection: Box<Connection>, talk: Option<Talk<'a>>, prepared: Option<Prepared> },
}

/// A session on the stage.
struct Seat<'a> {
    session: SessionId,
    work: Work<'a>,
    call: usize,
    tries: u32,
    granted: bool,
}

/// What a session did.
enum Turn {
    Waits,
    Refused(Interrupt),
    Ended(CallAccount),
}

struct Stage<'a> {
    draft: &'a Draft,
    program: &'a Program,
    setting: Setting,
    manner: Manner,
    database: Database,
    seats: Vec<Seat<'a>>,
    /// Which call a transaction of the history belongs to, by its name there.
    names: BTreeMap<String, Place>,
    made: Made,
}

/// Makes one run.
pub(crate) fn make(
    draft: &Draft,
    program: &Program,
    setting: Setting,
    manner: Manner,
    seed: u64,
) -> Result<Made, String> {
    make_with(draft, program, setting, manner, seed, |stage| stage.everything(seed))
}

/// What comes of whole transactions in an order, said as statements to a faithful database.
pub(crate) fn in_order(draft: &Draft, program: &Program, setting: Setting, order: &[Place]) -> Result<Account, String> {
    let manner = Manner { face: Face::Serve, turns: false, chooser: ChooserKind::Latest };
    let all = |stage: &mut Stage<'_>| {
        for place in order {
            stage.seats[place.session].call = place.number;
            stage.turn(place.session)?;
        }
        Ok(())
    };
    Ok(make_with(draft, program, setting, manner, 1, all)?.account)
}

fn make_with<'a>(
    draft: &'a Draft,
    program: &'a Program,
    setting: Setting,
    manner: Manner,
    seed: u64,
    run: impl FnOnce(&mut Stage<'a>) -> Result<(), String>,
) -> Result<Made, String> {
    let chooser = manner.chooser.build(seed, &Campaign::default());
    let chooser = Box::new(Counted { chooser, left: MOST_CHOICES });
    let bare = manner.face == Face::Play;
    let Stored { store, history, .. } = setting.store(program, seed, manner.turns, bare, chooser);
    let mut database = Database::new(store, Arc::clone(program.initial().0));
    database.dialect = program.dialect();
    let seats = (0..draft.sessions.len()).map(|number| seat(program, &mut database, manner.face, number)).collect();
    let made = Made { account: Account::default(), left_out: BTreeSet::new(), history: None };
    let mut stage = Stage { draft, program, setting, manner, database, seats, names: BTreeMap::new(), made };
    run(&mut stage)?;
    let Stage { mut made, names, database, .. } = stage;
    if history.text().lines().count() > 1 {
        made.history = Some(history.history().map_err(|error| format!("what was recorded is no history: {error}"))?);
    }
    made.account.events = made.history.as_ref().map(|history| account::events(history, &names)).unwrap_or_default();
    if setting.granularity == skew_mockdb::Granularity::Row {
        let states = database.store.final_states(1_000).ok_or("too many final states")?;
        made.account.states = states.into_iter().map(account::state).collect();
    }
    Ok(made)
}

fn seat<'a>(program: &Program, database: &mut Database, face: Face, number: usize) -> Seat<'a> {
    let name = session_name(number);
    let (session, work) = match face {
        Face::Play => {
            let (sql, client) = (Box::new(program.session()), Client::new(program, number));
            (database.store.connect(&name), Work::Procedure { sql, client, run: None })
        }
        Face::Serve => {
            let connection = Box::new(Connection::open(database, &name, program.dialect()));
            (connection.id(), Work::Statements { connection, talk: None, prepared: None })
        }
    };
    Seat { session, work, call: 0, tries: 0, granted: false }
}

impl Stage<'_> {
    fn everything(&mut self, seed: u64) -> Result<(), String> {
        let mut chance = Chance::new(seed, Stream::Turns);
        for _ in 0..MOST_TURNS {
            let unfinished = |number: &usize| self.seats[*number].call < self.draft.sessions[*number].len();
            let unfinished: Vec<usize> = (0..self.seats.len()).filter(unfinished).collect();
            let blocked = |number: &usize| self.database.store.is_waiting(self.seats[*number].session);
            let ready: Vec<usize> = unfinished.iter().copied().filter(|number| !blocked(number)).collect();
            if unfinished.is_empty() {
                return Ok(());
            }
            if ready.is_empty() {
                return Err("every session waits for another one".to_owned());
            }
            self.turn(ready[chance.below(ready.len())])?;
        }
        Err(format!("the run hangs: it is not over after {MOST_TURNS} turns"))
    }

    fn turn(&mut self, number: usize) -> Result<(), String> {
        let session = self.seats[number].session;
        if self.manner.turns && !self.seats[number].granted {
            self.database.store.grant(session);
        }
        let turn = self.go_on(number)?;
        self.seats[number].granted = matches!(turn, Turn::Waits) && !self.database.store.wants_turn(session);
        self.database.store.take_woken();
        let place = Place { session: number, number: self.seats[number].call };
        match turn {
            Turn::Waits => return Ok(()),
            Turn::Ended(call) => drop(self.made.account.calls.insert(place, call)),
            Turn::Refused(why) => {
                if why == Interrupt::SerializationFailure && !refuses(self.setting.level) {
                    return Err(format!("{} refuses a transaction, which it never has to", self.setting.level));
                }
                self.seats[number].tries += 1;
                if self.seats[number].tries <= RETRIES {
                    return Ok(());
                }
                self.made.left_out.insert(place);
            }
        }
        self.seats[number].call += 1;
        self.seats[number].tries = 0;
        Ok(())
    }

    fn go_on(&mut self, number: usize) -> Result<Turn, String> {
        let place = Place { session: number, number: self.seats[number].call };
        let seat = &mut self.seats[number];
        let turn = match &mut seat.work {
            Work::Procedure { sql, client, run } => {
                play(self.program, &mut self.database, seat.session, place, sql, client, run, &mut self.names)
            }
            Work::Statements { connection, talk, prepared } => {
                let procedure = &self.draft.sessions[place.session][place.number];
                let talk = talk.get_or_insert_with(|| Talk::new(procedure, "BEGIN"));
                serve(&mut self.database, connection, talk, prepared, place, &mut self.names)
            }
        }?;
        if !matches!(turn, Turn::Waits) {
            match &mut seat.work {
                Work::Procedure { run, .. } => *run = None,
                Work::Statements { talk, .. } => *talk = None,
            }
        }
        Ok(turn)
    }
}

/// Whether a level may refuse a transaction for anything but a deadlock.
fn refuses(level: IsolationLevel) -> bool {
    level.implies(IsolationLevel::ParallelSnapshot)
}

/// Steps until the call waits or is over.
#[expect(clippy::too_many_arguments, reason = "the parts of a stage, which are borrowed one by one")]
fn play(
    program: &Program,
    database: &mut Database,
    session: SessionId,
    place: Place,
    sql: &mut Session,
    client: &mut Client,
    run: &mut Option<Run>,
    names: &mut BTreeMap<String, Place>,
) -> Result<Turn, String> {
    let store = &mut database.store;
    if run.is_none() {
        store.begin(session, Begin::default()).map_err(|error| error.message.to_string())?;
    }
    let started = || client.start(program, place.number, MOST_STEPS);
    let run = match run {
        Some(run) => run,
        None => run.insert(started().map_err(|error| error.message.to_string())?),
    };
    loop {
        let step = match run.statement().cloned() {
            Some(text) => store.run_statement(session, Some(&text), |store| run.step(sql, &mut *store.view(session))),
            None => run.step(sql, &mut *store.view(session)),
        };
        let name = store.transaction_name(session);
        let end = match step {
            Ok(Step::Continue) => continue,
            Ok(Step::Done(Ending::Commit)) => match store.commit(session) {
                Ok(()) => "committed".to_owned(),
                Err(Interrupt::Wait) => return Ok(Turn::Waits),
                Err(interrupt) => return Ok(Turn::Refused(interrupt)),
            },
            Ok(Step::Done(_)) => "rolled back".to_owned(),
            Err(Stop::Interrupted(Interrupt::Wait)) => return Ok(Turn::Waits),
            Err(Stop::Interrupted(interrupt)) => return Ok(Turn::Refused(interrupt)),
            Err(Stop::Error(error)) => format!("error {}", error.state.0),
        };
        store.abort(session);
        names.extend(name.map(|name| (name, place)));
        let result = client.finish(program, place.number, run, CallOutcome::Committed, true);
        return Ok(Turn::Ended(CallAccount { end, values: account::values(&result.fields) }));
    }
}

/// Says statements until one waits or the call is over.
fn serve(
    database: &mut Database,
    connection: &mut Connection,
    talk: &mut Talk<'_>,
    prepared: &mut Option<Prepared>,
    place: Place,
    names: &mut BTreeMap<String, Place>,
) -> Result<Turn, String> {
    while let Some(text) = talk.text() {
        let name = database.store.transaction_name(connection.id());
        let answer = say(database, connection, prepared, &text);
        if answer != Err(Stop::Interrupted(Interrupt::Wait)) {
            *prepared = None;
        }
        let heard = match answer {
            Ok(Answer::Rows(rows)) => Ok(rows.rows.first().and_then(|row| row.first()).and_then(account::number)),
            Ok(Answer::Changed(changed)) => Ok(i64::try_from(changed.count).ok()),
            Ok(_) => Ok(None),
            Err(Stop::Error(error)) => Err(error.state.0.to_owned()),
            Err(Stop::Interrupted(Interrupt::Wait)) => return Ok(Turn::Waits),
            Err(Stop::Interrupted(interrupt)) => {
                if connection.status() == Status::Failed {
                    let _ = say(database, connection, &mut None, "ROLLBACK");
                }
                return Ok(Turn::Refused(interrupt));
            }
        };
        talk.hear(heard);
        names.extend(name.filter(|_| talk.end.is_some()).map(|name| (name, place)));
    }
    let end = talk.end.clone().unwrap_or_default();
    Ok(Turn::Ended(CallAccount { end, values: talk.values }))
}

fn say(
    database: &mut Database,
    connection: &mut Connection,
    prepared: &mut Option<Prepared>,
    text: &str,
) -> Result<Answer, Stop> {
    let ready = match prepared.take() {
        Some(prepared) => prepared,
        None => {
            let statements = connection.session().parse(text)?;
            connection.prepare(database, &statements[0], &[])?
        }
    };
    let answer = connection.execute(database, &ready, &[]);
    *prepared = Some(ready);
    answer
}
