//! What of a program does not change while it is explored: how many transactions, their places, names, levels, and the options.

use crate::base::{Base, Filter, way};
use crate::error::ExploreError;
use crate::set::{MOST_TRANSACTIONS, Number, Set};
use skew_history::builder::ClaimedWriter;
use skew_history::{EngineLevel, IsolationLevel, Name};

/// So many events a transaction may have unless told otherwise.
const MOST_EVENTS: usize = 10_000;

/// So many bytes a search remembers states in unless told otherwise.
const MEMORY: usize = 256 << 20;

/// Where a transaction stands in its program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The session, from 0.
    pub session: usize,
    /// How many transactions of the session come before it.
    pub number: usize,
}

/// How to explore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// The level of all transactions that have none of their own.
    pub level: IsolationLevel,
    /// What the search itself keeps to: nothing is the strongest base that each transaction's level allows. A weaker one explores more and
    /// keeps the same.
    pub base: Option<Base>,
    /// So many events a transaction may have.
    pub most_events: usize,
    /// At a level of an engine: about so many bytes for states that the search remembers, so that it does not go on from one twice. What is
    /// found is the same without any.
    pub memory: usize,
}

impl Options {
    /// The usual way to explore at a level.
    pub fn new(level: IsolationLevel) -> Options {
        Options { level, base: None, most_events: MOST_EVENTS, memory: MEMORY }
    }

    /// What the search of transactions at its level keeps to.
    pub fn search_base(&self) -> Base {
        let strongest = way(self.level).map_or(Base::Causal, |way| way.base);
        self.base.map_or(strongest, |asked| asked.min(strongest))
    }
}

/// The program as the search sees it. Transactions are numbered session by session, which is the oracle order.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    pub(crate) options: Options,
    /// By number; that of t0 means nothing.
    pub(crate) places: Vec<Place>,
    /// The places of the program that they run: their own, unless some are tried again.
    calls: Vec<Place>,
    /// Of whom each goes on with what was left, by number.
    follows: Vec<Option<Number>>,
    /// By number; that of t0 means nothing.
    pub(crate) bases: Vec<Base>,
    /// By number; that of t0 means nothing.
    pub(crate) levels: Vec<IsolationLevel>,
    pub(crate) session_names: Vec<String>,
    /// Those before each in its session, by number.
    session_pasts: Vec<Set>,
}

impl Outline {
    /// A program with these sessions and transactions, session by session; a transaction may have a level of its own.
    pub(crate) fn new(
        options: Options,
        session_names: Vec<String>,
        transactions: &[(Place, Option<IsolationLevel>)],
    ) -> Result<Outline, ExploreError> {
        let count = transactions.len();
        if count == 0 {
            return Err(ExploreError::NoTransactions);
        }
        if count > MOST_TRANSACTIONS {
            return Err(ExploreError::TooManyTransactions { count, limit: MOST_TRANSACTIONS });
        }
        let places: Vec<Place> = transactions.iter().map(|transaction| transaction.0).collect();
        let levels = || transactions.iter().map(|transaction| transaction.1.unwrap_or(options.level));
        let bases = levels().map(|level| Options { level, ..options }.search_base());
        let session_pasts = session_pasts(&places);
        let places: Vec<Place> = std::iter::once(Place { session: 0, number: 0 }).chain(places).collect();
        let outline = Outline {
            options,
            session_names,
            follows: session_pasts.iter().map(|past| past.iter().last()).collect(),
            session_pasts,
            bases: std::iter::once(Base::Any).chain(bases).collect(),
            levels: std::iter::once(options.level).chain(levels()).collect(),
            calls: places.clone(),
            places,
        };
        outline.refuse_levels()?;
        Ok(outline)
    }

    /// A program of which nothing is known yet; [`Outline::add`] says more. Numbers are then in the order in which transactions are met.
    pub(crate) fn unknown(options: Options) -> Outline {
        Outline {
            options,
            places: vec![Place { session: 0, number: 0 }],
            calls: vec![Place { session: 0, number: 0 }],
            follows: vec![None],
            // Histories have room for all that may come.
            bases: vec![Base::Any; MOST_TRANSACTIONS + 1],
            levels: vec![options.level],
            session_names: Vec::new(),
            session_pasts: vec![Set::EMPTY],
        }
    }

    /// One more transaction, the next of its session.
    pub(crate) fn add(&mut self, session: &str, level: IsolationLevel) -> Result<Number, ExploreError> {
        let count = self.places.len();
        if count > MOST_TRANSACTIONS {
            return Err(ExploreError::TooManyTransactions { count, limit: MOST_TRANSACTIONS });
        }
        if level.of_engine().is_some() {
            return Err(ExploreError::EngineCommand(level));
        }
        let place = self.session_names.iter().position(|name| name == session).unwrap_or_else(|| {
            self.session_names.push(session.to_owned());
            self.session_names.len() - 1
        });
        let before = self.past_of_session(place).iter().last();
        let number = self.push(place, level, before);
        self.refuse_levels()?;
        Ok(number)
    }

    /// One more transaction of a session that is known: it runs a call of the program, perhaps not for the first time, and goes on with what
    /// another one left. There has to be room for it.
    pub(crate) fn attempt(&mut self, call: Place, level: IsolationLevel, follows: Option<Number>) -> Number {
        let number = self.push(call.session, level, follows);
        self.calls[number as usize] = call;
        number
    }

    fn push(&mut self, session: usize, level: IsolationLevel, follows: Option<Number>) -> Number {
        let (past, count) = (self.past_of_session(session), self.places.len());
        let place = Place { session, number: past.iter().count() };
        self.places.push(place);
        self.calls.push(place);
        self.follows.push(follows);
        self.levels.push(level);
        self.bases[count] = Options { level, ..self.options }.search_base();
        self.session_pasts.push(past);
        count as Number
    }

    fn past_of_session(&self, session: usize) -> Set {
        self.numbers().filter(|&number| self.places[number as usize].session == session).collect()
    }

    /// The place of the program that a transaction runs.
    pub(crate) fn call(&self, number: Number) -> Place {
        self.calls[number as usize]
    }

    /// Of whom a transaction goes on with what was left.
    pub(crate) fn follows(&self, number: Number) -> Option<Number> {
        self.follows[number as usize]
    }

    /// How many more there may be.
    pub(crate) fn room(&self) -> usize {
        MOST_TRANSACTIONS - self.count()
    }

    /// Whether the levels are those of an engine.
    pub(crate) fn is_on_server(&self) -> bool {
        self.levels.get(1).is_some_and(|level| level.of_engine().is_some())
    }

    fn refuse_levels(&self) -> Result<(), ExploreError> {
        let engine = |level: &IsolationLevel| level.of_engine().map(EngineLevel::engine);
        let of_engines = self.levels.get(1..).unwrap_or_default();
        if let Some(other) = of_engines.iter().find(|level| engine(level) != engine(&of_engines[0])) {
            return Err(ExploreError::MixedEngines(of_engines[0], *other));
        }
        if let Some(&level) = self.levels.iter().find(|&&level| way(level).is_none()) {
            return Err(ExploreError::RealTime(level));
        }
        let level_of = |number: Number| self.levels[number as usize];
        let alone = |number: &Number| way(level_of(*number)).is_some_and(|way| !way.mixes);
        match self.numbers().find(alone) {
            Some(one) if self.numbers().any(|other| level_of(other) != level_of(one)) => {
                Err(ExploreError::MixedParallelSnapshot(self.transaction_name(one)))
            }
            _ => Ok(()),
        }
    }

    /// How many transactions there are.
    pub(crate) fn count(&self) -> usize {
        self.places.len() - 1
    }

    /// All transactions, in the oracle order.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = Number> + use<> {
        1..=self.count() as Number
    }

    /// The number of the transaction at a place.
    pub(crate) fn number(&self, place: Place) -> Option<Number> {
        self.numbers().find(|&number| self.places[number as usize] == place)
    }

    /// Those before a transaction in its session.
    pub(crate) fn session_past(&self, number: Number) -> Set {
        self.session_pasts[number as usize]
    }

    /// How a transaction is called: `alice#0`.
    pub(crate) fn transaction_name(&self, number: Number) -> String {
        let Place { session, number } = self.places[number as usize];
        format!("{}#{number}", self.session_names[session])
    }

    /// Whether a transaction is called otherwise than its place among those that run would say, because others are left out.
    pub(crate) fn has_gaps(&self) -> bool {
        self.numbers().any(|number| self.places[number as usize].number != self.session_past(number).iter().count())
    }

    /// The level that all transactions have, or that each has its own.
    pub(crate) fn level(&self) -> IsolationLevel {
        match self.levels[1..].windows(2).all(|pair| pair[0] == pair[1]) {
            true => self.levels[1],
            false => IsolationLevel::Declared,
        }
    }

    /// Whether the search itself keeps to the levels, so that nothing has to be filtered; with locking reads it never does.
    pub(crate) fn is_exact(&self) -> bool {
        let exact = |number: Number| {
            way(self.levels[number as usize])
                .is_some_and(|way| way.filter == Filter::Nobody && self.bases[number as usize] >= way.base)
        };
        self.numbers().all(exact)
    }
}

/// A writer by its name; nothing is t0.
pub(crate) fn claim(writer: &Option<String>) -> ClaimedWriter<'_> {
    match writer {
        Some(name) => ClaimedWriter::Transaction(Name::from(name.as_str())),
        None => ClaimedWriter::Initial,
    }
}

/// Per transaction those before it in its session, where numbers go session by session; that of t0 means nothing.
fn session_pasts(places: &[Place]) -> Vec<Set> {
    let past = |(count, it): (usize, &Place)| {
        let earlier = places[..count].iter().rev().take_while(|other| other.session == it.session).count();
        (count + 1 - earlier..=count).map(|number| number as Number).collect()
    };
    std::iter::once(Set::EMPTY).chain(places.iter().enumerate().map(past)).collect()
}
