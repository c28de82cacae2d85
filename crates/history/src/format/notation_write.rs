//! Writes the notation so that it reads back as the same history, or says why it cannot.
//!
//! ```text
//!   init(x,100)                    initial values
//!   a: r(x,init) w(x,7)            values and names as they are
//!   b: w(x,7)
//!   c: r(x,7)<-a#0                 whose version it is, where the value does not say
//! ```
//!
//! Names and texts may hold whatever the notation is made of: brackets, commas, line ends. What was written is read back and compared,
//! which knows all such cases without a list of them.

use super::{Format, WriteError};
use crate::history::{Action, Event, EventId, History, KeyId, SessionId, TransactionId, Writer};
use crate::notation::{self, CLAIM, ENGINE, INITIAL};
use crate::value::{Value, ValueView};
use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use std::io::Write;

pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<Vec<String>, WriteError> {
    let mut losses = vec!["Transaction ids and notes are left out.".to_owned()];
    let writer =
        NotationWriter { history, sessions: session_names(history, &mut losses), writers: Writers::new(history) };
    let text = writer.text();
    refuse_other(history, &text)?;
    out.write_all(text.as_bytes())?;
    Ok(losses)
}

struct NotationWriter<'h> {
    history: &'h History,
    sessions: Vec<String>,
    writers: Writers,
}

impl NotationWriter<'_> {
    fn text(&self) -> String {
        let mut text = String::new();
        let engine = self.history.engine().map(|engine| format!("{ENGINE}{engine})"));
        let given: Vec<String> =
            engine.into_iter().chain(self.history.keys().filter_map(|key| self.initial(key))).collect();
        if !given.is_empty() {
            let _ = writeln!(text, "{}", given.join(" "));
        }
        for session in sessions(self.history) {
            let _ = write!(text, "{}:", self.sessions[session.index()]);
            for (place, transaction) in self.history.transactions_of(session).enumerate() {
                text.push_str(if place > 0 { " |" } else { "" });
                for (number, event) in self.history.numbered_events_of(transaction) {
                    let _ = write!(text, " {}", self.event(number, event));
                }
                notation::write_ending(self.history, transaction, &mut text);
            }
            text.push('\n');
        }
        text
    }

    fn initial(&self, key: KeyId) -> Option<String> {
        let initial = self.history.initial(key);
        (!initial.is_absent())
            .then(|| format!("{INITIAL}{},{})", self.history.key_name(key), self.history.show(initial)))
    }

    fn event(&self, number: EventId, event: &Event) -> String {
        let claimed = |writer: Writer| {
            let value = self.history.show(event.value).to_string();
            let unclaimed = notation::show_value(self.history, number, event, &value);
            format!("{unclaimed}{CLAIM}{}", self.name(writer))
        };
        if let Some(by) = self.history.gone(number) {
            return claimed(Writer::Transaction(by));
        }
        let claim = self.history.claim(number).filter(|_| event.is_read());
        let is_initial = self.history.same(event.value, self.history.initial(event.key));
        let shown = notation::show_event(self.history, number, event);
        match claim {
            Some(Writer::Initial) if is_initial && !event.value.is_found() => shown,
            Some(claim) if claim == Writer::Initial || !self.writers.only(self.history, event, claim) => claimed(claim),
            _ => shown,
        }
    }

    fn name(&self, writer: Writer) -> String {
        match writer {
            Writer::Initial => "init".to_owned(),
            Writer::Transaction(transaction) => {
                let session = &self.sessions[self.history.session_of(transaction).index()];
                format!("{session}#{}", self.history.position_in_session(transaction))
            }
        }
    }
}

/// Who wrote each value to each key; of several, which is not known.
struct Writers(FxHashMap<(KeyId, Value), Option<TransactionId>>);

impl Writers {
    fn new(history: &History) -> Writers {
        let mut writers: FxHashMap<(KeyId, Value), Option<TransactionId>> = FxHashMap::default();
        for transaction in history.transactions() {
            for event in history.events_of(transaction).iter().filter(|event| !event.is_read()) {
                let known = writers.entry((event.key, event.value)).or_insert(Some(transaction));
                *known = known.filter(|&known| known == transaction);
            }
        }
        Writers(writers)
    }

    /// Whether nobody else may have written what was read.
    fn only(&self, history: &History, event: &Event, claim: Writer) -> bool {
        let initial = history.initial(event.key);
        let (value, may_be_initial) = match history.elements(event.value).last() {
            Some(&last) => (last, history.elements(initial).contains(&last)),
            None => (event.value, history.same(event.value, initial)),
        };
        let known = self.0.get(&(event.key, value)).copied().flatten();
        !may_be_initial && known.map(Writer::Transaction) == Some(claim)
    }
}

/// The sessions that have transactions: nothing can be said of others.
fn sessions(history: &History) -> impl Iterator<Item = SessionId> + '_ {
    history.sessions().filter(|&session| history.transactions_of(session).next().is_some())
}

/// The names of sessions, or numbers where the notation cannot carry them.
fn session_names(history: &History, losses: &mut Vec<String>) -> Vec<String> {
    let names: Vec<String> = history.sessions().map(|session| history.session_name(session).to_string()).collect();
    let marks = |letter: char| letter.is_whitespace() || "(@:;|#".contains(letter);
    if names.iter().all(|name| !name.is_empty() && !name.contains(marks)) {
        return names;
    }
    losses.push("Sessions are numbered, since the notation cannot carry all their names.".to_owned());
    (1..=names.len()).map(|number| format!("s{number}")).collect()
}

/// Reads back what was written, and refuses what is not the same.
fn refuse_other(history: &History, text: &str) -> Result<(), WriteError> {
    let unsupported =
        |reason: String| WriteError::Unsupported { format: Format::Notation, reason, advice: "write native" };
    let again =
        notation::parse(text).map_err(|refusal| unsupported(format!("it would not be read back: {refusal}")))?;
    let changed = |number: EventId| {
        let event = history.event(number);
        let shown = notation::show_value(history, number, event, &history.show(event.value).to_string());
        unsupported(format!("{} has {shown}, which would be read back as something else", {
            history.transaction_name(history.transaction_of(number))
        }))
    };
    if (history.transaction_count(), history.event_count()) != (again.transaction_count(), again.event_count()) {
        return Err(unsupported("names or texts in it look like the notation".to_owned()));
    }
    let refusals = |history: &History| -> Vec<_> {
        history
            .refusals
            .iter()
            .map(|(transaction, error, statement)| (*transaction, error.clone(), *statement))
            .collect()
    };
    if (history.engine(), refusals(history)) != (again.engine(), refusals(&again)) {
        return Err(unsupported(
            "its engine, or the error of a refused transaction, looks like the notation".to_owned(),
        ));
    }
    for number in (0..history.event_count() as u32).map(EventId) {
        if told(history, number) != told(&again, number) {
            return Err(changed(number));
        }
    }
    Ok(())
}

/// All that a checker looks at in an event, and in the transaction that it belongs to.
fn told(history: &History, number: EventId) -> impl PartialEq {
    let (event, transaction) = (history.event(number), history.transaction_of(number));
    let shown = |value: Value| match history.view(value) {
        // Other formats have them, the notation has integers and texts.
        ValueView::Real(number) => format!("real {number}"),
        // Nothing was appended yet: the same as no list. Where somebody writes, a list is a value like others.
        ValueView::List([]) if !is_written(history, event.key) => "nil".to_owned(),
        _ => history.show(value).to_string(),
    };
    let values = (shown(event.value), shown(history.initial(event.key)));
    let ending = (history.outcome(transaction), history.declared_level(transaction), history.times(transaction));
    let statement = (history.asked(number), history.gone(number));
    let key = history.key_name(event.key).to_string();
    (event.action, event.locking, key, values, statement, transaction.0, ending)
}

fn is_written(history: &History, key: KeyId) -> bool {
    let mut events = history.transactions().flat_map(|transaction| history.events_of(transaction));
    events.any(|event| event.key == key && event.action == Action::Write)
}
