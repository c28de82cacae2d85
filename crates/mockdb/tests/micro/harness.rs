//! The harness of the micro-benchmarks: a few sessions, a few operations each, one transaction at a time on one thread.
//!
//! An operation is a machine that runs exactly one transaction per call, so that whole transactions of all sessions can be
//! interleaved in any order that is wanted, and the same order again.
//!
//! ```text
//!   session 0   push ─ read ─ write ─ cas ─┐   pop …            by turns:  0 1 2 0 1 2 …
//!   session 1   pop ── read ─ read ── cas ─┤   push …           delayed:   drawn with the seed
//!   session 2   push …                     └─ observed          given:     whatever an enumeration asks for
//! ```
//!
//! A refused transaction is tried again when its session's turn comes; after [`PATIENCE`] refusals the run fails. What the
//! operations returned, and the state that a last read-only transaction finds, is what assertions are about.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use skew_check::{Budget, check};
use skew_mockdb::kv::{KvSession, KvTransaction};
use skew_mockdb::{Begin, Campaign, Chooser, ChooserKind, Kv, KvError, KvValue, Level, Options, Updates};
use std::collections::BTreeSet;
use std::fmt::Debug;

/// How often one transaction may be refused before the run is given up.
const PATIENCE: usize = 20;

/// How far an operation has come.
pub(crate) enum Status<Observed> {
    /// It has more transactions to run.
    More,
    /// It is done, and returned this.
    Done(Observed),
}

/// An operation of an application: a machine that stays as it is when its transaction fails.
pub(crate) trait Operation: Clone + Debug {
    /// What it returns to its client.
    type Observed: Clone + Ord + Debug;

    /// Runs one transaction.
    fn transaction(&mut self, session: &KvSession) -> Result<Status<Self::Observed>, KvError>;
}

/// What must not happen, and after how many iterations it happened in the paper (MonkeyDB, Table 1).
pub(crate) struct Assertion {
    pub(crate) name: &'static str,
    pub(crate) paper: Option<f64>,
    /// Whether it holds in every serial execution, whatever the order of sessions.
    pub(crate) invariant: bool,
}

impl Assertion {
    pub(crate) const fn of_paper(name: &'static str, iterations: f64) -> Assertion {
        Assertion { name, paper: Some(iterations), invariant: true }
    }
}

/// An application with its assertions.
pub(crate) trait Application: Sized {
    type Operation: Operation;
    /// What the last transaction reads.
    type Ending;

    const NAME: &'static str;
    const ASSERTIONS: &'static [Assertion];

    fn initial() -> Vec<(&'static str, KvValue)>;

    /// Any of the operations, each equally likely; no two operations of a run have the same number.
    fn draw(dice: &mut Dice, number: i64) -> Self::Operation;

    fn ending(transaction: &mut KvTransaction<'_>) -> Result<Self::Ending, KvError>;

    /// Which of the assertions failed.
    fn failures(run: &Run<Self>) -> Vec<bool>;
}

/// What an operation of an application returns.
pub(crate) type ObservedOf<A> = <<A as Application>::Operation as Operation>::Observed;

/// Seeded chance.
pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below `bound`; that small bounds divide 2⁶⁴ almost evenly is good enough here.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64() % bound as u64) as usize
    }
}

/// Who comes next.
pub(crate) enum Arrival<'a> {
    /// One transaction each.
    Turns,
    /// Any session that has something left: `--delay`.
    Drawn(Box<Dice>),
    /// The answer to: which of so many, when each session has committed so many transactions? Nothing ends the run.
    Given(&'a mut dyn FnMut(usize, &[u32]) -> Option<usize>),
}

impl Arrival<'_> {
    fn next(&mut self, ready: &[usize], last: Option<usize>, committed: &[u32]) -> Option<usize> {
        Some(match self {
            Arrival::Turns => *ready.iter().find(|&&session| Some(session) > last).unwrap_or(&ready[0]),
            Arrival::Drawn(dice) => ready[dice.below(ready.len())],
            Arrival::Given(choose) => ready[choose(ready.len(), committed)?],
        })
    }
}

/// How weak a run is.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) level: Level,
    pub(crate) updates: Updates,
    pub(crate) delay: bool,
    pub(crate) chooser: ChooserKind,
}

impl Setting {
    pub(crate) fn plain(level: Level) -> Setting {
        Setting { level, updates: Updates::Plain, delay: false, chooser: ChooserKind::Random }
    }

    /// The random parts of a run.
    pub(crate) fn chance(&self, seed: u64, campaign: &Campaign) -> (Box<dyn Chooser>, Arrival<'static>) {
        let arrival = if self.delay { Arrival::Drawn(Box::new(Dice::new(!seed))) } else { Arrival::Turns };
        (self.chooser.build(seed, campaign), arrival)
    }
}

/// An operation that has returned.
pub(crate) struct Step<A: Application> {
    /// The operation as it was drawn.
    pub(crate) asked: A::Operation,
    pub(crate) observed: ObservedOf<A>,
    /// How many transactions had ended before its last one.
    pub(crate) at: usize,
}

/// What the sessions saw, each step of each session.
pub(crate) struct Run<A: Application> {
    pub(crate) sessions: Vec<Vec<Step<A>>>,
    /// The state that the last transaction found.
    pub(crate) ending: Option<A::Ending>,
}

impl<A: Application> Run<A> {
    /// The client-observable state: the vector of all that was returned.
    pub(crate) fn state(&self) -> Vec<ObservedOf<A>> {
        self.sessions.iter().flatten().map(|step| step.observed.clone()).collect()
    }

    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step<A>> {
        self.sessions.iter().flatten()
    }
}

/// The operations of each session.
pub(crate) struct Harness<A: Application> {
    pub(crate) operations: Vec<Vec<A::Operation>>,
}

impl<A: Application> Harness<A> {
    /// So many operations for each session, drawn with the seed.
    pub(crate) fn draw(seed: u64, sessions: usize, operations: usize) -> Harness<A> {
        let mut dice = Dice::new(seed);
        let mut number = 0;
        let mut one = |_| {
            number += 1;
            A::draw(&mut dice, number)
        };
        Harness { operations: (0..sessions).map(|_| (0..operations).map(&mut one).collect()).collect() }
    }

    fn open(setting: &Setting, seed: u64, chooser: Box<dyn Chooser>) -> Kv {
        let options = Options { updates: setting.updates, ..Options::new(setting.level, seed) };
        Kv::open(options, chooser, &A::initial())
    }

    /// A whole run with its last transaction; what was recorded must satisfy the level.
    pub(crate) fn run(&self, setting: &Setting, seed: u64) -> Result<Run<A>, KvError> {
        let (chooser, mut arrival) = setting.chance(seed, &Campaign::default());
        let db = Self::open(setting, seed, chooser);
        // Only an enumeration ends a run early.
        let Some(mut run) = self.play(&db, &mut arrival)? else { return Err(KvError::Ended) };
        let session = db.session("assertions");
        let begin = Begin { read_only: true, chooser: Some(ChooserKind::LatestPerSession), ..Begin::default() };
        let mut transaction = session.begin_with(begin)?;
        run.ending = Some(A::ending(&mut transaction)?);
        transaction.commit()?;
        assert_level(&db, setting.level);
        Ok(run)
    }

    /// A run without its last transaction, for whoever wants to know only what the sessions saw; nothing if it was ended early.
    pub(crate) fn observe(
        &self,
        setting: &Setting,
        seed: u64,
        chooser: Box<dyn Chooser>,
        arrival: &mut Arrival<'_>,
    ) -> Result<Option<Run<A>>, KvError> {
        self.play(&Self::open(setting, seed, chooser), arrival)
    }

    fn play(&self, db: &Kv, arrival: &mut Arrival<'_>) -> Result<Option<Run<A>>, KvError> {
        let count = self.operations.len();
        let sessions: Vec<KvSession> = (0..count).map(|place| db.session(&format!("s{place}"))).collect();
        let mut run = Run { sessions: (0..count).map(|_| Vec::new()).collect(), ending: None };
        let mut current: Vec<Option<A::Operation>> = self.operations.iter().map(|all| all.first().cloned()).collect();
        let (mut last, mut refusals, mut committed) = (None, 0, vec![0; count]);
        for at in 0.. {
            let ready: Vec<usize> = (0..count).filter(|&session| current[session].is_some()).collect();
            if ready.is_empty() {
                break;
            }
            let Some(session) = arrival.next(&ready, last, &committed) else { return Ok(None) };
            last = Some(session);
            let Some(operation) = current[session].as_mut() else { break };
            let status = match operation.transaction(&sessions[session]) {
                Err(KvError::Refused) if refusals < PATIENCE => {
                    refusals += 1;
                    continue;
                }
                status => status?,
            };
            refusals = 0;
            committed[session] += 1;
            if let Status::Done(observed) = status {
                let done = run.sessions[session].len();
                run.sessions[session].push(Step { asked: self.operations[session][done].clone(), observed, at });
                current[session] = self.operations[session].get(done + 1).cloned();
            }
        }
        Ok(Some(run))
    }
}

/// What was recorded is a history that its level allows.
fn assert_level(db: &Kv, level: Level) {
    match db.history() {
        Ok(history) => {
            assert!(check(&history, level, Budget::UNLIMITED).holds(), "{level}\n{}", db.history_text());
        }
        Err(error) => panic!("no history: {error}\n{}", db.history_text()),
    }
}

/// A transaction that is rolled back when its work fails.
pub(crate) fn in_transaction<T>(
    session: &KvSession,
    work: impl FnOnce(&mut KvTransaction<'_>) -> Result<T, KvError>,
) -> Result<T, KvError> {
    let mut transaction = session.begin();
    let result = work(&mut transaction)?;
    transaction.commit()?;
    Ok(result)
}

/// A set of words, as applications keep them under one key.
pub(crate) type Words = BTreeSet<String>;

pub(crate) fn read_words(transaction: &mut KvTransaction<'_>, key: &str) -> Result<Words, KvError> {
    Ok(match transaction.get(key)? {
        Some(KvValue::Text(text)) => text.split_whitespace().map(str::to_owned).collect(),
        _ => Words::new(),
    })
}

pub(crate) fn write_words(transaction: &mut KvTransaction<'_>, key: &str, words: &Words) -> Result<(), KvError> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    transaction.put(key, words.join(" "))
}
