//! The last step of building: transactions by session, scans into reads, names into numbers.
//!
//! ```text
//!   drafts as they came   a0 b0 a1 b1        order    a0 a1 b0 b1        number   0 2 1 3
//! ```
//!
//! A counting sort by session, which moves nothing where the sessions came one after the other. Only now are all keys known, so only now can
//! scans become reads, and only now have all transactions been named, so only now is it clear whom a claim means.

use super::pending::{PendingScan, RangeKeys};
use super::{HistoryBuilder, PendingClaim, Place, Problem, Refusal, TransactionDraft};
use crate::history::{
    Event, EventId, Features, History, KeyId, Scan, TransactionEntry, TransactionId, UNNAMED, Writer,
};
use crate::name::Name;
use crate::statement::Asked;
use crate::value::Value;

/// The last step: transactions by session, scans into reads, names into numbers.
pub(super) struct Finish {
    pub(super) builder: HistoryBuilder,
    /// Draft numbers in final order.
    order: Vec<u32>,
    /// Per draft its final number.
    number: Vec<u32>,
    session_starts: Vec<u32>,
}

impl Finish {
    pub(super) fn new(builder: HistoryBuilder) -> Finish {
        let mut session_starts = vec![0u32; builder.sessions.len() + 1];
        for draft in &builder.drafts {
            session_starts[draft.session.index() + 1] += 1;
        }
        for session in 1..session_starts.len() {
            session_starts[session] += session_starts[session - 1];
        }
        let mut next = session_starts.clone();
        let mut order = vec![0; builder.drafts.len()];
        let mut number = vec![0; builder.drafts.len()];
        for (index, draft) in builder.drafts.iter().enumerate() {
            let place = &mut next[draft.session.index()];
            (order[*place as usize], number[index]) = (index as u32, *place);
            *place += 1;
        }
        Finish { builder, order, number, session_starts }
    }

    pub(super) fn run(mut self) -> Result<History, Refusal> {
        self.refuse_two_of_a_name()?;
        let in_order = self.builder.scans.is_empty() && self.order.is_sorted();
        let laid = if in_order { self.keep_layout()? } else { self.lay_out()? };
        let gone = self.deletions_that_hid(&laid)?;
        if laid.asked.iter().any(|asked| asked.found) {
            self.refuse_found_lists(&laid)?;
        }
        let Finish { builder, order, session_starts, .. } = self;
        let default = builder.default_initial.unwrap_or(Value::ABSENT);
        let mut initial = vec![default; builder.keys.len()];
        for (key, value) in builder.initial {
            initial[key as usize] = value;
        }
        let any_name = !builder.ids.is_empty();
        let drafts = || order.iter().map(|&draft| &builder.drafts[draft as usize]);
        let name_of = if any_name { drafts().map(|draft| draft.name).collect() } else { Vec::new() };
        let times_of = |&draft: &u32| builder.times.get(draft as usize).copied().unwrap_or_default();
        let times = if builder.times.is_empty() { Vec::new() } else { order.iter().map(times_of).collect() };
        let features = Features::of(&laid.events, &laid.asked, &initial);
        Ok(History {
            sessions: builder.sessions.into_names(),
            session_starts,
            transactions: laid.transactions,
            transaction_names: builder.ids.into_names(),
            name_of,
            times,
            events: laid.events,
            keys: builder.keys.into_names(),
            values: builder.values.freeze(),
            initial,
            claims: laid.claims,
            scans: laid.scans,
            event_notes: laid.event_notes,
            transaction_notes: laid.transaction_notes,
            about: builder.about,
            engine: builder.engine,
            asked: laid.asked,
            gone,
            refusals: laid.refusals,
            features,
        })
    }

    /// The usual case: one session after the other, or a single one; nothing moves.
    fn keep_layout(&mut self) -> Result<Laid, Refusal> {
        let builder = &mut self.builder;
        let transactions = builder.drafts.iter().map(|draft| draft.finished(draft.first_event)).collect();
        let events = std::mem::take(&mut builder.events);
        let event_notes = std::mem::take(&mut builder.event_notes);
        let transaction_notes = std::mem::take(&mut builder.transaction_notes);
        let claims = std::mem::take(&mut builder.claims);
        let asked = std::mem::take(&mut builder.asked);
        let gone = std::mem::take(&mut builder.gone);
        let refusals = std::mem::take(&mut builder.refusals);
        let mut laid = Laid {
            transactions,
            events,
            claims: Vec::with_capacity(claims.len()),
            scans: Vec::new(),
            event_notes: event_notes.into_iter().map(|(event, note)| (EventId(event), note)).collect(),
            transaction_notes: transaction_notes.into_iter().map(|(at, note)| (TransactionId(at), note)).collect(),
            asked,
            gone: gone.into_iter().map(|(event, by, place)| (EventId(event), by, place)).collect(),
            refusals: refusals
                .into_iter()
                .map(|(at, error, statement)| (TransactionId(at), error, statement))
                .collect(),
        };
        for (event, claim, place) in claims {
            let claim = self.resolve(claim, laid.events[event as usize].key, place)?;
            laid.claims.push((EventId(event), claim));
        }
        Ok(laid)
    }

    fn lay_out(&mut self) -> Result<Laid, Refusal> {
        let mut laid = Laid::default();
        laid.events.reserve(self.builder.events.len());
        laid.transactions.reserve(self.order.len());
        let range_keys = RangeKeys::new(&self.builder.scans, &self.builder.keys);
        for position in 0..self.order.len() {
            let draft = self.order[position] as usize;
            laid.transactions.push(self.builder.drafts[draft].finished(laid.events.len() as u32));
            self.lay_out_transaction(draft, &range_keys, &mut laid)?;
            for (_, note) in entries_of(&self.builder.transaction_notes, draft as u32, draft as u32 + 1, |note| note.0)
            {
                laid.transaction_notes.push((TransactionId(position as u32), note.clone()));
            }
            for (_, error, statement) in
                entries_of(&self.builder.refusals, draft as u32, draft as u32 + 1, |entry| entry.0)
            {
                laid.refusals.push((TransactionId(position as u32), error.clone(), *statement));
            }
        }
        Ok(laid)
    }

    fn lay_out_transaction(&self, draft: usize, range_keys: &RangeKeys, laid: &mut Laid) -> Result<(), Refusal> {
        let builder = &self.builder;
        let next = builder.drafts.get(draft + 1);
        let events =
            builder.drafts[draft].first_event..next.map_or(builder.events.len() as u32, |next| next.first_event);
        let scans = builder.drafts[draft].first_scan..next.map_or(builder.scans.len() as u32, |next| next.first_scan);
        let mut scans = builder.scans[scans.start as usize..scans.end as usize].iter().peekable();
        let has_statements = !builder.asked.is_empty() || !builder.gone.is_empty();
        let has_more = !builder.claims.is_empty() || !builder.event_notes.is_empty() || has_statements;
        if scans.peek().is_none() && !has_more {
            laid.events.extend_from_slice(&builder.events[events.start as usize..events.end as usize]);
            return Ok(());
        }
        let mut claims = entries_of(&builder.claims, events.start, events.end, |claim| claim.0).iter().peekable();
        let mut notes = entries_of(&builder.event_notes, events.start, events.end, |note| note.0).iter().peekable();
        for event in events.clone() {
            while let Some(scan) = scans.next_if(|scan| scan.before_event <= event) {
                self.lay_out_scan(scan, range_keys, laid)?;
            }
            let number = EventId(laid.events.len() as u32);
            laid.events.push(builder.events[event as usize]);
            while let Some(&(_, claim, place)) = claims.next_if(|claim| claim.0 == event) {
                laid.claims.push((number, self.resolve(claim, builder.events[event as usize].key, place)?));
            }
            while let Some((_, note)) = notes.next_if(|note| note.0 == event) {
                laid.event_notes.push((number, note.clone()));
            }
            if has_statements {
                self.lay_out_statement(event, number, laid);
            }
        }
        scans.try_for_each(|scan| self.lay_out_scan(scan, range_keys, laid))
    }

    /// What is said of the statement behind an event. Few histories say anything.
    fn lay_out_statement(&self, event: u32, number: EventId, laid: &mut Laid) {
        laid.say(self.builder.asked.get(event as usize).copied().unwrap_or_default());
        let gone = entries_of(&self.builder.gone, event, event + 1, |gone| gone.0);
        laid.gone.extend(gone.iter().map(|&(_, by, place)| (number, by, place)));
    }

    fn lay_out_scan(&self, scan: &PendingScan, range_keys: &RangeKeys, laid: &mut Laid) -> Result<(), Refusal> {
        let start = laid.events.len() as u32;
        let first_note = laid.event_notes.len();
        if let Some(note) = &scan.note {
            laid.event_notes.push((EventId(start), note.clone()));
        }
        for read in scan.expand(range_keys, &self.builder.keys, &self.builder.seals) {
            if let Some((claim, place)) = read.claim {
                let claim = self.resolve(claim, read.event.key, place)?;
                laid.claims.push((EventId(laid.events.len() as u32), claim));
            }
            laid.events.push(read.event);
            laid.say(scan.asked);
        }
        if laid.events.len() >= UNNAMED as usize {
            let what = "events, counting those that scans stand for";
            return Err(Refusal { place: scan.place(), problem: Problem::TooMany { what, limit: 1 << 32 } });
        }
        if laid.events.len() as u32 == start {
            laid.event_notes.truncate(first_note);
        }
        laid.scans.push(Scan { events: start..laid.events.len() as u32, prefix: scan.prefix.clone() });
        Ok(())
    }

    pub(super) fn resolve(&self, claim: PendingClaim, key: KeyId, place: Place) -> Result<Writer, Refusal> {
        let PendingClaim::Named(id) = claim else { return Ok(Writer::Initial) };
        match self.transaction(id) {
            Some(transaction) => Ok(Writer::Transaction(transaction)),
            None => {
                let key = self.builder.keys.get(key.index()).to_string();
                let id = self.builder.ids.get(id as usize).to_string();
                Err(Refusal { place, problem: Problem::UnknownWriter { key, id } })
            }
        }
    }

    /// The transaction with an id.
    pub(super) fn transaction(&self, id: u32) -> Option<TransactionId> {
        let draft = match self.builder.draft_of_id[id as usize] {
            UNNAMED => self.derived(self.builder.ids.get(id as usize)),
            draft => Some(draft),
        };
        draft.map(|draft| TransactionId(self.number[draft as usize]))
    }

    /// A given id that is also what a transaction without one is called: nobody could tell whom `from` means.
    fn refuse_two_of_a_name(&self) -> Result<(), Refusal> {
        let builder = &self.builder;
        for &(id, place) in &builder.like_derived {
            let Some(other) = self.derived(builder.ids.get(id as usize)) else { continue };
            let session = |draft: u32| builder.sessions.get(builder.drafts[draft as usize].session.index()).to_string();
            let id_text = builder.ids.get(id as usize).to_string();
            let (first, second) = (session(other), session(builder.draft_of_id[id as usize]));
            let problem = Problem::DuplicateTransaction { id: id_text, first, second };
            return Err(Refusal { place, problem });
        }
        Ok(())
    }

    /// The transaction without an id that is called `session#position`.
    fn derived(&self, id: Name<'_>) -> Option<u32> {
        let Name::Text(text) = id else { return None };
        let (session, position) = text.rsplit_once('#')?;
        // `a#00` and `a#+0` are no such names.
        let Name::Integer(position) = Name::from(position) else { return None };
        let session = self.builder.sessions.find(session.into())? as usize;
        let number = self.session_starts[session].checked_add(u32::try_from(position).ok()?)?;
        let inside = number < self.session_starts[session + 1];
        inside.then(|| self.order[number as usize]).filter(|&draft| self.builder.drafts[draft as usize].name == UNNAMED)
    }
}

#[derive(Default)]
pub(super) struct Laid {
    pub(super) transactions: Vec<TransactionEntry>,
    pub(super) events: Vec<Event>,
    claims: Vec<(EventId, Writer)>,
    scans: Vec<Scan>,
    event_notes: Vec<(EventId, Box<str>)>,
    transaction_notes: Vec<(TransactionId, Box<str>)>,
    asked: Vec<Asked>,
    pub(super) gone: Vec<(EventId, PendingClaim, Place)>,
    refusals: Vec<(TransactionId, Box<str>, u32)>,
}

impl Laid {
    /// Notes what the statement of the last event asked for.
    fn say(&mut self, asked: Asked) {
        if asked != Asked::default() {
            self.asked.resize(self.events.len() - 1, Asked::default());
            self.asked.push(asked);
        }
    }
}

impl TransactionDraft {
    fn finished(&self, first_event: u32) -> TransactionEntry {
        TransactionEntry { first_event, session: self.session, outcome: self.outcome, level: self.level }
    }
}

/// The entries with a number from `start` to before `end`, in a vector sorted by that number.
fn entries_of<T>(entries: &[T], start: u32, end: u32, number: impl Fn(&T) -> u32) -> &[T] {
    let from = entries.partition_point(|entry| number(entry) < start);
    let to = entries.partition_point(|entry| number(entry) < end);
    &entries[from..to]
}
