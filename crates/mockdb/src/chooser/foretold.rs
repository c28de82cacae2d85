//! What a prediction names: each read returns the version that was foretold for it.
//!
//! ```text
//!   foretold    bob[0]: account/1 from bank[0]            the run: bank[0]  alice[0]  bob[0]
//!   asked       bob[0] reads account/1                    bank's, if the level allows it here
//!                                                         else the latest that it allows, and that is a divergence
//!               bob[0] reads payout/bob                   behind what was foretold for him: the latest
//! ```
//!
//! A transaction is its session and how many came before it there; those that the database refused do not count. So a transaction that is
//! run again is the same one, and the same reads are foretold for it. But not for ever: a program that tries again until it commits would
//! never end where the level cannot let what was foretold come true.
//!
//! The last foretold transaction of a session may be cut in its middle, so what it reads behind that is as ordinary as what later
//! transactions read. In any other a read that nobody foretold is a divergence.

use super::{Chooser, LockedRead, Reading};
use skew_check::Version;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A transaction that is refused so often reads the latest.
const MOST_REFUSALS: usize = 3;

/// A transaction: the name of its session, and how many came before it there, without those that the database refused.
pub type TransactionPlace = (String, u32);

/// What is foretold of a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Foretelling {
    /// By session, its transactions, first to last.
    pub sessions: BTreeMap<String, Vec<ForetoldTransaction>>,
}

/// What is foretold of a transaction.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ForetoldTransaction {
    /// Its reads of what others wrote, in program order.
    pub reads: Vec<ForetoldRead>,
    /// The sessions that are to miss what it writes: they have to be connected before it begins, else they would see it.
    pub company: BTreeSet<String>,
}

/// What is foretold of a read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForetoldRead {
    /// The name of its key.
    pub key: String,
    /// Who wrote what it returns; nothing for the initial state.
    pub from: Option<TransactionPlace>,
    /// Whether it is not what was observed.
    pub changed: bool,
}

/// Where a run was not as foretold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// Whose read it was.
    pub session: String,
    /// In which of its transactions, counted from 0, without those that the database refused.
    pub transaction: u32,
    /// The name of the key.
    pub key: String,
    /// What it was.
    pub how: HowDiverged,
}

/// In which way a run was not as foretold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HowDiverged {
    /// The read returned another version.
    Returned {
        /// Whose version was foretold.
        foretold: Option<TransactionPlace>,
        /// Whose it was.
        returned: Option<TransactionPlace>,
    },
    /// Nobody foretold the read.
    NotForetold {
        /// Whose version it returned.
        returned: Option<TransactionPlace>,
    },
    /// What was foretold to change was never read.
    NotAskedFor {
        /// Whose version was foretold.
        foretold: Option<TransactionPlace>,
    },
}

impl fmt::Display for Divergence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Divergence { session, transaction, key, how } = self;
        write!(out, "{session}'s transaction {}", u64::from(*transaction) + 1)?;
        match how {
            HowDiverged::Returned { foretold, returned } => {
                write!(out, " was to read {key} from {}, and read it from {}", told(foretold), told(returned))
            }
            HowDiverged::NotForetold { returned } => {
                write!(out, " read {key} from {}, which was not foretold", told(returned))
            }
            HowDiverged::NotAskedFor { foretold } => {
                write!(out, " was to read {key} from {}, and did not ask for it", told(foretold))
            }
        }
    }
}

fn told(writer: &Option<TransactionPlace>) -> String {
    match writer {
        None => "the initial state".to_owned(),
        Some((session, before)) => format!("{session}'s transaction {}", u64::from(*before) + 1),
    }
}

/// The strategy. Clones share what came of it, so that it can be looked at when the run is over.
#[derive(Clone, Debug)]
pub struct Foretold(Arc<Mutex<ForetoldBook>>);

impl Foretold {
    /// Follows what is foretold.
    pub fn new(foretelling: Foretelling) -> Foretold {
        Foretold(Arc::new(Mutex::new(ForetoldBook { foretelling, ..ForetoldBook::default() })))
    }

    fn book(&self) -> MutexGuard<'_, ForetoldBook> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the run was not as foretold, in the order in which that was seen.
    pub fn found(&self) -> Vec<Divergence> {
        self.book().divergences.iter().map(|(_, divergence)| divergence.clone()).collect()
    }

    /// What was foretold to change and was never read: known when the run is over. A scan reads the absence of what nobody has written
    /// yet without being asked about, which a look at the recorded run shows.
    pub fn unread(&self) -> Vec<Divergence> {
        self.book().unread()
    }
}

/// One try of a transaction.
#[derive(Default, Debug)]
struct ForetoldAttempt {
    /// How many transactions of its session came before it, the refused ones among them.
    ordinal: u32,
    /// Which of the foretold reads have happened.
    happened: BTreeSet<usize>,
    /// Behind the last of them.
    next: usize,
}

/// What is foretold, and what came of it so far.
#[derive(Default, Debug)]
struct ForetoldBook {
    foretelling: Foretelling,
    /// By session, which transactions were refused, by how many came before them.
    refused: BTreeMap<String, Vec<u32>>,
    attempts: BTreeMap<TransactionPlace, ForetoldAttempt>,
    /// With how many transactions of the session came before, the refused ones among them.
    divergences: Vec<(u32, Divergence)>,
}

impl ForetoldBook {
    /// The place of a transaction, of which this many came before, the refused ones among them.
    fn place(&self, session: &str, ordinal: u32) -> TransactionPlace {
        let refused = self.refused.get(session).map_or(0, |all| all.iter().filter(|one| **one < ordinal).count());
        (session.to_owned(), ordinal - refused as u32)
    }

    fn reads(&self, place: &TransactionPlace) -> Option<&Vec<ForetoldRead>> {
        Some(&self.foretelling.sessions.get(&place.0)?.get(place.1 as usize)?.reads)
    }

    /// Whether all reads of a transaction are foretold: only the last one of a session may be cut.
    fn is_whole(&self, place: &TransactionPlace) -> bool {
        self.foretelling.sessions.get(&place.0).is_some_and(|all| place.1 as usize + 1 < all.len())
    }

    /// Whether a transaction was refused too often to be held to what is foretold.
    fn is_hopeless(&self, place: &TransactionPlace) -> bool {
        let all = self.refused.get(&place.0).into_iter().flatten();
        all.filter(|ordinal| self.place(&place.0, **ordinal) == *place).count() >= MOST_REFUSALS
    }

    /// Which foretold read of a transaction a read of this key is: the next one of the key, else an earlier one that did not happen.
    fn find(&mut self, (place, ordinal): (&TransactionPlace, u32), key: &str) -> Option<(usize, ForetoldRead)> {
        if self.attempts.get(place).is_none_or(|attempt| attempt.ordinal != ordinal) {
            self.attempts.insert(place.clone(), ForetoldAttempt { ordinal, ..ForetoldAttempt::default() });
        }
        let attempt = self.attempts.get(place)?;
        let reads = self.reads(place)?;
        let is_it = |number: &usize| reads[*number].key == key && !attempt.happened.contains(number);
        let found = (attempt.next..reads.len()).chain(0..attempt.next).find(is_it)?;
        Some((found, reads[found].clone()))
    }

    /// A read happened, which may have been foretold.
    fn note(
        &mut self,
        place: TransactionPlace,
        key: &str,
        foretold: Option<(usize, ForetoldRead)>,
        writer: Option<(String, u32)>,
    ) {
        let is_whole = self.is_whole(&place);
        let returned = writer.map(|(session, ordinal)| self.place(&session, ordinal));
        let how = match foretold {
            Some((number, read)) => {
                if let Some(attempt) = self.attempts.get_mut(&place) {
                    attempt.happened.insert(number);
                    attempt.next = number + 1;
                }
                (read.from != returned).then_some(HowDiverged::Returned { foretold: read.from, returned })
            }
            None => is_whole.then_some(HowDiverged::NotForetold { returned }),
        };
        if let Some(how) = how {
            let ordinal = self.attempts.get(&place).map_or(0, |attempt| attempt.ordinal);
            let (session, transaction) = place;
            self.divergences.push((ordinal, Divergence { session, transaction, key: key.to_owned(), how }));
        }
    }

    fn unread(&self) -> Vec<Divergence> {
        let mut unread = Vec::new();
        for (session, transactions) in &self.foretelling.sessions {
            for (number, transaction) in (0..).zip(transactions) {
                let attempt = self.attempts.get(&(session.clone(), number));
                let happened = |read: usize| attempt.is_some_and(|attempt| attempt.happened.contains(&read));
                let changed = transaction.reads.iter().enumerate().filter(|(_, read)| read.changed);
                unread.extend(changed.filter(|(place, _)| !happened(*place)).map(|(_, read)| Divergence {
                    session: session.clone(),
                    transaction: number,
                    key: read.key.clone(),
                    how: HowDiverged::NotAskedFor { foretold: read.from.clone() },
                }));
            }
        }
        unread
    }
}

/// Who wrote a version, the refused transactions of its session counted.
fn owned(writer: Option<(&str, u32)>) -> Option<(String, u32)> {
    writer.map(|(session, before)| (session.to_owned(), before))
}

/// The latest version that the level allows.
fn latest(reading: &mut Reading<'_>) -> Option<usize> {
    (0..reading.versions().len()).rev().find(|&place| reading.allows(place))
}

impl Chooser for Foretold {
    fn choose(&mut self, reading: &mut Reading<'_>) -> Option<Version> {
        let mut book = self.book();
        let place = book.place(reading.session(), reading.transaction());
        let foretold = book.find((&place, reading.transaction()), reading.key_name());
        let is_hopeless = book.is_hopeless(&place);
        let wanted = foretold.as_ref().filter(|_| !is_hopeless).and_then(|(_, read)| {
            let writer = |at: &usize| reading.writer(*at).map(|(session, ordinal)| book.place(session, ordinal));
            (0..reading.versions().len()).find(|at| writer(at) == read.from)
        });
        let chosen = wanted.filter(|at| reading.allows(*at)).or_else(|| latest(reading))?;
        // A row that is sought and fits is read under its lock, and that is the read that was foretold.
        if !(reading.seeks() && reading.fits(chosen)) {
            let writer = owned(reading.writer(chosen));
            book.note(place, reading.key_name(), foretold, writer);
        }
        Some(reading.versions()[chosen])
    }

    fn refuses(&mut self, _: &str, _: &str) -> Option<bool> {
        Some(false)
    }

    fn note_locked(&mut self, read: &LockedRead<'_>) {
        let mut book = self.book();
        let place = book.place(read.session, read.transaction);
        let foretold = book.find((&place, read.transaction), read.key);
        book.note(place, read.key, foretold, owned(read.writer));
    }

    fn note_refused(&mut self, session: &str, transaction: u32) {
        let mut book = self.book();
        book.refused.entry(session.to_owned()).or_default().push(transaction);
        // What a transaction did that was refused never was.
        book.divergences.retain(|(ordinal, found)| *ordinal != transaction || found.session != session);
    }

    fn decides_all(&self) -> bool {
        true
    }

    fn divergences(&self) -> usize {
        self.book().divergences.len()
    }
}
