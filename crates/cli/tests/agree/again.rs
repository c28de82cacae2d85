//! A run of the explorer, made again on the mock database: every read is told which version to return.
//!
//! ```text
//!   explored run ── its reads ──> Told, a chooser ── transactions one at a time ──> the same account
//!                                                                │ its choices
//!                                                          Script, a chooser ──> the same bytes
//! ```
//!
//! Transactions run whole, in the order of the run; where locks or the level want another order, any order of the program will do.

use crate::account::{self, Account, CallAccount};
use crate::draft::session_name;
use crate::setting::{Setting, Stored};
use skew_check::Version;
use skew_explore::{Place, Run as Explored, SqlProgram};
use skew_history::{History, SessionId, Writer};
use skew_mockdb::chooser::Reading;
use skew_mockdb::{Begin, ChoiceLog, Chooser, Script};
use skew_program::{CallOutcome, Client, Ending, MOST_STEPS, Program, Step};
use skew_sql::{Session, Stop};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Who wrote what is read; nothing: the initial state.
type From = Option<Place>;

/// What the reads of a run return, and how far it is.
#[derive(Default)]
struct Plan {
    /// By transaction and key, in the order of the reads.
    reads: BTreeMap<(Place, String), VecDeque<(bool, From)>>,
    /// Whether reads of a key that lock and stand before others are not those of a row that is sought.
    skips: bool,
    current: Option<Place>,
    /// How the store names the transactions that are over.
    names: BTreeMap<Place, String>,
}

impl Plan {
    fn of(history: &History, skips: bool) -> Plan {
        let place = |transaction| {
            let name = history.transaction_name(transaction).to_string();
            let (session, number) = name.split_once('#').expect("the explorer's names");
            Place { session: (session.as_bytes()[0] - b'a').into(), number: number.parse().expect("a number") }
        };
        let mut plan = Plan { skips, ..Plan::default() };
        for transaction in history.transactions() {
            for (number, event) in history.numbered_events_of(transaction).filter(|(_, event)| event.is_read()) {
                let from = match history.claim(number) {
                    Some(Writer::Transaction(writer)) => Some(place(writer)),
                    _ => None,
                };
                let key = (place(transaction), history.key_name(event.key).to_string());
                plan.reads.entry(key).or_default().push_back((event.locking, from));
            }
        }
        plan
    }

    /// Whether the next read of a key locks, and whom it reads from.
    fn next(&mut self, key: &str, seeks: bool) -> Option<(bool, From)> {
        let reads = self.reads.get_mut(&(self.current?, key.to_owned()))?;
        // Reads that lock without seeking choose nothing, and which they are the history does not tell.
        while (self.skips || !seeks) && reads.len() > 1 && reads.front()?.0 {
            reads.pop_front();
        }
        if reads.len() > 1 { reads.pop_front() } else { reads.front().copied() }
    }
}

/// The chooser. What is not in the plan is the latest.
struct Told(Arc<Mutex<Plan>>);

impl Chooser for Told {
    fn choose(&mut self, reading: &mut Reading<'_>) -> Option<Version> {
        let mut plan = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = plan.next(reading.key_name(), reading.seeks());
        let count = reading.versions().len();
        let name = |from: From| from.and_then(|place| plan.names.get(&place).cloned());
        let place = next.and_then(|(_, from)| (0..count).find(|&place| reading.writer_name(place) == name(from)));
        let place = match next {
            // It found a row that fits, and then, under its lock, one that does not.
            Some((true, _)) if reading.seeks() && !place.is_some_and(|place| reading.fits(place)) => {
                (0..count).find(|&place| reading.fits(place) && reading.allows(place))
            }
            _ => place.filter(|&place| reading.allows(place)),
        };
        let place = place.or_else(|| (0..count).rev().find(|&place| reading.allows(place)))?;
        Some(reading.versions()[place])
    }

    fn decides_all(&self) -> bool {
        true
    }
}

/// What came of one try.
struct Try {
    account: Account,
    history: String,
    choices: String,
    /// How often a script was not followed.
    divergences: usize,
}

/// Makes a run again; an error says what came closest.
pub(crate) fn again(
    program: &Program,
    setting: Setting,
    explored: &Explored<'_, SqlProgram>,
    account: &Account,
) -> Result<(), String> {
    let history = explored.history().map_err(|error| format!("{error:?}"))?;
    let first = explored.order();
    let mut closest: Option<Account> = None;
    let orders = std::iter::once(first.clone()).chain(orders(&first));
    for (order, skips) in orders.flat_map(|order| [(order.clone(), false), (order, true)]) {
        let plan = Arc::new(Mutex::new(Plan::of(&history, skips)));
        let Some(made) = try_order(program, setting, &order, &plan, Box::new(Told(Arc::clone(&plan)))) else {
            continue;
        };
        if made.account == *account {
            return scripted(program, setting, &order, &made);
        }
        if closest.as_ref().is_none_or(|other| other.likeness(account) < made.account.likeness(account)) {
            closest = Some(made.account);
        }
    }
    let closest = closest.map_or("  every order is refused\n".to_owned(), |closest| closest.to_string());
    Err(format!("explore has\n{account}which the mock cannot play; it comes to\n{closest}"))
}

/// The choices of a run as a script give the run again.
fn scripted(program: &Program, setting: Setting, order: &[Place], made: &Try) -> Result<(), String> {
    let log = ChoiceLog::parse(&made.choices).map_err(|error| format!("the log of choices: {error}"))?;
    let again = try_order(program, setting, order, &Arc::default(), Box::new(Script::new(&log)));
    let again = again.ok_or("the script of a run is refused")?;
    if again.divergences > 0 || again.history != made.history {
        return Err(format!(
            "a run and its script differ ({} times):\n{}{}",
            again.divergences, made.history, again.history
        ));
    }
    Ok(())
}

/// Runs whole transactions in an order; nothing if one of them is refused.
fn try_order(
    program: &Program,
    setting: Setting,
    order: &[Place],
    plan: &Arc<Mutex<Plan>>,
    chooser: Box<dyn Chooser>,
) -> Option<Try> {
    let Stored { mut store, history, choices } = setting.store(program, 1, false, true, chooser);
    let mut seats: Vec<(SessionId, Session, Client, u32)> = Vec::new();
    for number in 0..program.scripts().len() {
        seats.push((store.connect(&session_name(number)), program.session(), Client::new(program, number), 0));
    }
    let (mut account, mut names) = (Account::default(), BTreeMap::new());
    for &place in order {
        plan.lock().unwrap_or_else(PoisonError::into_inner).current = Some(place);
        let (session, sql, client, begun) = &mut seats[place.session];
        let session = *session;
        store.begin(session, Begin::default()).ok()?;
        let mut run = client.start(program, place.number, MOST_STEPS).ok()?;
        let step = loop {
            let text = run.statement().cloned();
            match store.run_statement(session, text.as_deref(), |store| run.step(sql, &mut *store.view(session))) {
                Ok(Step::Continue) => {}
                other => break other,
            }
        };
        let (name, touched) = (store.transaction_name(session)?, store.has_events(session));
        let end = match step {
            Ok(Step::Done(Ending::Commit)) => {
                store.commit(session).ok()?;
                "committed".to_owned()
            }
            Ok(_) => "rolled back".to_owned(),
            Err(Stop::Error(error)) => format!("error {}", error.state.0),
            Err(Stop::Interrupted(_)) => return None,
        };
        store.abort(session);
        if touched {
            *begun += 1;
            let known = format!("{}[{begun}]", session_name(place.session));
            plan.lock().unwrap_or_else(PoisonError::into_inner).names.insert(place, known);
        }
        names.insert(name, place);
        let result = client.finish(program, place.number, &run, CallOutcome::Committed, true);
        account.calls.insert(place, CallAccount { end, values: account::values(&result.fields) });
    }
    if let Ok(history) = history.history() {
        account.events = account::events(&history, &names);
    }
    if setting.granularity == skew_mockdb::Granularity::Row {
        let states = store.final_states(1_000)?;
        account.states = states.into_iter().map(account::state).collect();
    }
    let divergences = store.divergences();
    Some(Try { account, history: history.text(), choices: choices.text(), divergences })
}

/// All orders of these transactions in which those of a session stay in order.
pub(crate) fn orders(places: &[Place]) -> Vec<Vec<Place>> {
    let mut found = Vec::new();
    let mut stack: Vec<Vec<Place>> = vec![Vec::new()];
    while let Some(order) = stack.pop() {
        let is_next = |place: &&Place| {
            let before = places.iter().filter(|other| other.session == place.session && other.number < place.number);
            !order.contains(place) && before.into_iter().all(|other| order.contains(other))
        };
        let longer: Vec<Vec<Place>> =
            places.iter().filter(is_next).map(|place| order.iter().copied().chain([*place]).collect()).collect();
        if longer.is_empty() {
            found.push(order);
        } else {
            stack.extend(longer);
        }
    }
    found
}
