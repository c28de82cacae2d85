//! What of a program does not change while it is explored: how many transactions, their places, names, levels, and the options.

use crate::consistency::Base;
use crate::error::ExploreError;
use crate::explorable::{Explorable, Place};
use crate::set::{MOST_TRANSACTIONS, Number, Set};
use skew_history::IsolationLevel;

/// So many events a transaction may have unless told otherwise.
pub const MOST_EVENTS: usize = 10_000;

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
}

impl Options {
    /// The usual way to explore at a level.
    pub fn new(level: IsolationLevel) -> Options {
        Options { level, base: None, most_events: MOST_EVENTS }
    }
}

/// The program as the search sees it. Transactions are numbered session by session, which is the oracle order.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) options: Options,
    /// By number; that of t0 means nothing.
    pub(crate) places: Vec<Place>,
    /// By number; that of t0 means nothing.
    pub(crate) bases: Vec<Base>,
    /// By number; that of t0 means nothing.
    pub(crate) levels: Vec<IsolationLevel>,
    pub(crate) session_names: Vec<String>,
    /// Those before each in its session, by number.
    session_pasts: Vec<Set>,
}

impl Shape {
    pub(crate) fn new<P: Explorable + ?Sized>(program: &P, options: Options) -> Result<Shape, ExploreError> {
        let sessions = 0..program.session_count();
        let places_of = |session| (0..program.transaction_count(session)).map(move |number| Place { session, number });
        let all = sessions.clone().flat_map(places_of);
        let places: Vec<Place> = all.filter(|&place| !program.is_left_out(place)).collect();
        if places.is_empty() {
            return Err(ExploreError::NoTransactions);
        }
        if places.len() > MOST_TRANSACTIONS {
            return Err(ExploreError::TooManyTransactions { count: places.len(), limit: MOST_TRANSACTIONS });
        }
        let levels: Vec<IsolationLevel> =
            places.iter().map(|&place| program.level(place).unwrap_or(options.level)).collect();
        let bases = levels.iter().map(|&level| base_of(level).min(options.base.unwrap_or(Base::Causal)));
        let shape = Shape {
            options,
            bases: std::iter::once(Base::Any).chain(bases).collect(),
            places: std::iter::once(Place { session: 0, number: 0 }).chain(places.iter().copied()).collect(),
            levels: std::iter::once(options.level).chain(levels).collect(),
            session_names: sessions.map(|session| program.session_name(session)).collect(),
            session_pasts: session_pasts(&places),
        };
        shape.refuse_levels()?;
        Ok(shape)
    }

    /// A program of which nothing is known yet; [`Shape::add`] says more. Numbers are then in the order in which transactions are met.
    pub(crate) fn unknown(options: Options) -> Shape {
        Shape {
            options,
            places: vec![Place { session: 0, number: 0 }],
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
        let place = self.session_names.iter().position(|name| name == session).unwrap_or_else(|| {
            self.session_names.push(session.to_owned());
            self.session_names.len() - 1
        });
        let past: Set = self.numbers().filter(|&number| self.places[number as usize].session == place).collect();
        self.places.push(Place { session: place, number: past.iter().count() });
        self.levels.push(level);
        self.bases[count] = base_of(level).min(self.options.base.unwrap_or(Base::Causal));
        self.session_pasts.push(past);
        self.refuse_levels()?;
        Ok(count as Number)
    }

    fn refuse_levels(&self) -> Result<(), ExploreError> {
        let of_histories = |level: &&IsolationLevel| !level.is_of_transactions();
        if let Some(&level) = self.levels.iter().find(of_histories) {
            return Err(ExploreError::RealTime(level));
        }
        let is_psi = |number: &Number| self.levels[*number as usize] == IsolationLevel::ParallelSnapshot;
        match (self.numbers().find(is_psi), self.numbers().all(|number| is_psi(&number))) {
            (Some(psi), false) => Err(ExploreError::MixedParallelSnapshot(self.transaction_name(psi))),
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
            let own = own_base(self.levels[number as usize]);
            own.is_some_and(|own| self.bases[number as usize] >= own)
        };
        self.numbers().all(exact)
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

/// The strongest base that a level implies.
fn base_of(level: IsolationLevel) -> Base {
    use IsolationLevel::{Causal, ReadAtomic, ReadCommitted};
    let strongest = [Causal, ReadAtomic, ReadCommitted].into_iter().find(|&weaker| level.implies(weaker));
    strongest.and_then(own_base).unwrap_or(Base::Any)
}

/// The base that is the level itself, where there is one.
pub(crate) fn own_base(level: IsolationLevel) -> Option<Base> {
    use IsolationLevel::*;
    match level {
        ReadCommitted => Some(Base::ReadCommitted),
        ReadAtomic => Some(Base::ReadAtomic),
        Causal => Some(Base::Causal),
        Prefix | ParallelSnapshot | Snapshot | Serializable | StrongSnapshot | StrictSerializable | Declared => None,
    }
}
