//! Runs the transactions of a program, one at a time: what the search, the baseline and the oracle have in common.
//!
//! ```text
//!   Node = a history + what its transactions left + its share of the tree
//!   Runner = the program + the keys that were met
//!
//!   begin(node, t)        t is pending
//!   run(node, guide)      ──┬── Ended          t is over, its writes are there for others, absences are in the scans of others
//!                           ├── Branched       the next read has several writers, or none
//!                           └── EndOfList      a list of answers was followed to its end
//! ```

use crate::error::ExploreError;
use crate::explorable::{Explorable, TransactionEnd};
use crate::forced::ForcedOrder;
use crate::keys::Keys;
use crate::ordered::Ordered;
use crate::outline::{Options, Outline, Place};
use crate::requests::{Branch, Guide, Interrupt, Interruption, Requests};
use crate::server::outcome::ServerRun;
use crate::set::{Number, Set};
use skew_sql::RowKey;
use std::sync::Arc;

/// A history that waits to be explored, with what its transactions left.
#[derive(Debug)]
pub(crate) struct Node<L> {
    pub(crate) history: Ordered,
    /// By number.
    pub(crate) left: Vec<Option<Arc<L>>>,
    /// Which part of the whole tree it is.
    pub(crate) share: f64,
    /// At a level of an engine: the run on its server.
    pub(crate) server: Option<Arc<ServerRun>>,
}

impl<L> Clone for Node<L> {
    fn clone(&self) -> Node<L> {
        Node { history: self.history.clone(), left: self.left.clone(), share: self.share, server: self.server.clone() }
    }
}

/// How a run of a transaction ended.
pub(crate) enum Halt {
    /// It is over.
    Ended,
    /// Its next read has several answers, or none.
    Branched(Branch),
    /// There are no more answers in the list.
    EndOfList,
}

/// Runs transactions.
pub(crate) struct Runner<'p, P: Explorable + ?Sized> {
    pub(crate) program: &'p P,
    pub(crate) outline: Arc<Outline>,
    pub(crate) keys: Keys,
    /// Transactions that were run a second time, to see whether they are deterministic.
    repeated: Set,
}

impl<'p, P: Explorable + ?Sized> Runner<'p, P> {
    pub(crate) fn new(program: &'p P, options: Options) -> Result<Runner<'p, P>, ExploreError> {
        let outline = Arc::new(outline_of(program, options)?);
        Ok(Runner {
            program,
            outline,
            keys: Keys::new(program.initial()).in_order(program.indexes()),
            repeated: Set::EMPTY,
        })
    }

    /// A runner of a program of which this is known.
    pub(crate) fn of(program: &'p P, outline: Arc<Outline>, keys: Keys) -> Runner<'p, P> {
        Runner { program, outline, keys, repeated: Set::EMPTY }
    }

    /// The history in which nothing has begun.
    pub(crate) fn root(&self) -> Node<P::Left> {
        let count = self.outline.count();
        Node { history: Ordered::new(count), left: (0..=count).map(|_| None).collect(), share: 1.0, server: None }
    }

    /// Begins a transaction, which becomes the pending one.
    pub(crate) fn begin(&self, node: &mut Node<P::Left>, number: Number) {
        node.history.begin(number, self.outline.session_past(number));
    }

    /// The transactions that may begin: those whose session is not busy and has more to do.
    pub(crate) fn ready(&self, node: &Node<P::Left>) -> impl Iterator<Item = Number> {
        let complete = node.history.complete;
        let outline = Arc::clone(&self.outline);
        outline
            .numbers()
            .filter(move |&number| !complete.contains(number) && (outline.session_past(number) - complete).is_empty())
    }

    /// Runs the pending transaction as far as it goes.
    pub(crate) fn run(&mut self, node: &mut Node<P::Left>, guide: Guide<'_>) -> Result<Halt, ExploreError> {
        let number = node.history.pending().expect("a pending transaction");
        let is_told = matches!(guide, Guide::List(_));
        let TransactionEnd { commits, left } = match self.execute(&mut node.history, &node.left, number, guide)? {
            Ok(ending) => ending,
            Err(Interruption::Branch(branch)) => return Ok(Halt::Branched(branch)),
            Err(_) => return Ok(Halt::EndOfList),
        };
        if !self.repeated.contains(number) {
            // A second look at each transaction finds what is not deterministic also where nothing branches.
            self.repeated.insert(number);
            let repeated = self.execute(&mut node.history, &node.left, number, Guide::Nobody { commits })?;
            debug_assert!(repeated.is_ok() || is_told, "with nobody to answer, a run ends or is an error");
            if repeated.is_err() {
                return Err(ExploreError::ForeignSubtree);
            }
        }
        let mut known = ForcedOrder::clone(&node.history.forced);
        let fits = known.add(&node.history, number, node.history.complete, &self.outline.bases);
        debug_assert!(fits || is_told, "what is pending was allowed read by read, and its end adds nothing");
        if !fits {
            return Err(ExploreError::ForeignSubtree);
        }
        node.history.end(commits, known, &self.keys);
        node.left[number as usize] = Some(Arc::new(left));
        Ok(Halt::Ended)
    }

    /// Runs the program of a transaction: how it ended, or why it was interrupted.
    fn execute(
        &mut self,
        history: &mut Ordered,
        left: &[Option<Arc<P::Left>>],
        number: Number,
        guide: Guide<'_>,
    ) -> Result<Result<TransactionEnd<P::Left>, Interruption>, ExploreError> {
        let place = self.outline.places[number as usize];
        let is_first = self.outline.session_past(number).is_empty();
        let before = if is_first { None } else { left[number as usize - 1].as_deref() };
        let program = self.program;
        let names = |key: &RowKey| program.key_name(key);
        let mut requests = Requests::new(history, &mut self.keys, &self.outline, &names, guide);
        let ending = program.run(place, before, &mut requests);
        if let Ok(ending) = &ending {
            requests.end(ending.commits);
        }
        let failed = |message: &str| {
            let transaction = self.outline.transaction_name(number);
            Err(ExploreError::Failed { transaction, message: message.to_owned() })
        };
        match (requests.reason, ending) {
            (Some(Interruption::Error(error)), _) => Err(error),
            (_, Err(Interrupt::Failed(message))) => failed(&message),
            (Some(reason), _) => Ok(Err(reason)),
            (None, Ok(ending)) => Ok(Ok(ending)),
            (None, Err(Interrupt::Waiting | Interrupt::Refused(_))) => {
                failed("it was interrupted, but not by a request that waits")
            }
        }
    }

    /// Runs a transaction from its start with the writers of a list: to its end, or to the end of the list, where it stays pending.
    pub(crate) fn follow(
        &mut self,
        node: &mut Node<P::Left>,
        number: Number,
        sources: &[Number],
        ends: bool,
    ) -> Result<(), ExploreError> {
        if !self.ready(node).any(|ready| ready == number) {
            return Err(ExploreError::ForeignSubtree);
        }
        self.begin(node, number);
        let guide = Guide::List(sources.iter());
        let fits = match ends {
            true => matches!(self.run(node, guide)?, Halt::Ended),
            false => {
                matches!(
                    self.execute(&mut node.history, &node.left, number, guide)?,
                    Ok(_) | Err(Interruption::EndOfList)
                )
            }
        };
        match fits && node.history.log(number).reads().count() == sources.len() {
            true => Ok(()),
            false => Err(ExploreError::ForeignSubtree),
        }
    }
}

fn outline_of<P: Explorable + ?Sized>(program: &P, options: Options) -> Result<Outline, ExploreError> {
    let sessions = 0..program.session_count();
    let places_of = |session| (0..program.transaction_count(session)).map(move |number| Place { session, number });
    let places = sessions.clone().flat_map(places_of).filter(|&place| !program.is_left_out(place));
    let transactions: Vec<_> = places.map(|place| (place, program.level(place))).collect();
    Outline::new(options, sessions.map(|session| program.session_name(session)).collect(), &transactions)
}
