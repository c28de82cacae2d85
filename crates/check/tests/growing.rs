//! The growing history against the definition: what may be read is what `spec` allows, and what was recorded satisfies its levels.
//!
//! A run is made up event by event; beside it the test keeps the history in its own words, and asks brute force about every version of
//! every read. `SKEW_SEED` and `SKEW_HISTORIES` repeat or extend.

mod support;

use skew_check::{Budget, GrowingHistory, GrowingId, GrowingOptions, Updates, Verdict, Version, check, spec};
use skew_history::IsolationLevel::{self, *};
use skew_history::builder::ClaimedWriter;
use skew_history::{History, HistoryBuilder, KeyId, Name, Outcome, SessionId};
use std::collections::BTreeSet;
use support::Random;

#[derive(Clone)]
enum Op {
    Read(KeyId, Version, bool),
    Write(KeyId),
}

#[derive(Clone)]
struct Transaction {
    session: u32,
    level: IsolationLevel,
    ops: Vec<Op>,
    /// Nothing while it is pending.
    outcome: Option<Outcome>,
}

/// A run in the words of the test.
#[derive(Clone, Default)]
struct Run {
    transactions: Vec<Transaction>,
    commits: Vec<GrowingId>,
}

impl Run {
    /// The history `I`: committed transactions, and the reads of pending ones; the writes of one of them too if asked.
    fn history(&self, with_writes_of: Option<GrowingId>, mixed: bool) -> History {
        let mut builder = HistoryBuilder::new();
        for (number, transaction) in self.transactions.iter().enumerate() {
            let id = number.to_string();
            let session = builder.session(transaction.session.to_string().as_str());
            builder.begin(session, Some(Name::from(id.as_str()))).unwrap();
            let shown =
                transaction.outcome == Some(Outcome::Committed) || with_writes_of == Some(GrowingId(number as u32));
            for op in &transaction.ops {
                self.tell(&mut builder, number, op, shown);
            }
            builder.outcome(transaction.outcome.unwrap_or(Outcome::Committed));
            if mixed {
                builder.level(transaction.level);
            }
        }
        builder.finish().unwrap()
    }

    fn tell(&self, builder: &mut HistoryBuilder, number: usize, op: &Op, shown: bool) {
        let key = |key: KeyId| format!("k{}", key.0);
        match *op {
            Op::Write(written) => {
                let key = builder.key(key(written).as_str());
                let value = builder.values().integer(number as i64 + 1);
                if shown {
                    builder.write(key, value);
                }
            }
            Op::Read(read, version, locking) => {
                let key = builder.key(key(read).as_str());
                let (value, name) = match version {
                    Version::Initial => (skew_history::Value::ABSENT, None),
                    Version::Of(writer) => (builder.values().integer(writer.0 as i64 + 1), Some(writer.0.to_string())),
                };
                let mut event = skew_history::Event::new(skew_history::Action::Read, key, value);
                event.locking = locking;
                builder.event(event);
                builder.claim(match &name {
                    None => ClaimedWriter::Initial,
                    Some(name) => ClaimedWriter::Transaction(Name::from(name.as_str())),
                });
            }
        }
    }

    fn wrote(&self, transaction: GrowingId, key: KeyId) -> bool {
        let ops = &self.transactions[transaction.0 as usize].ops;
        ops.iter().any(|op| matches!(op, Op::Write(written) if *written == key))
    }
}

/// A run that is being made: sessions with at most one open transaction each.
struct Simulation {
    random: Random,
    growing: GrowingHistory,
    run: Run,
    open: Vec<Option<GrowingId>>,
    level: Option<IsolationLevel>,
    updates: Updates,
    /// Whether brute force is asked about every step.
    compare: bool,
    habits: Habits,
    refused: usize,
    /// The most transactions that were kept at once.
    most_kept: usize,
}

/// What the programs of a run are like.
#[derive(Clone, Copy)]
struct Habits {
    /// Of a hundred transactions that end, so many are rolled back by their programs.
    rollbacks: usize,
    /// Of a hundred transactions, so many only read.
    readers: usize,
    /// The first session does something so seldom: once in so many turns. Its transactions stay open for long.
    idleness: usize,
}

const ORDINARY: Habits = Habits { rollbacks: 8, readers: 0, idleness: 1 };

const MIXED: [IsolationLevel; 6] = [ReadCommitted, ReadAtomic, Causal, Prefix, Snapshot, Serializable];

impl Simulation {
    fn new(mut random: Random, options: GrowingOptions, level: Option<IsolationLevel>, compare: bool) -> Simulation {
        let open = vec![None; 2 + random.below(2)];
        let (growing, updates) = (GrowingHistory::new(options), options.updates);
        let (run, habits) = (Run::default(), ORDINARY);
        Simulation { random, growing, run, open, level, updates, compare, habits, refused: 0, most_kept: 0 }
    }

    fn go(&mut self, events: usize, transactions: usize) {
        for _ in 0..events {
            let session = self.random.below(self.open.len());
            if session == 0 && self.random.below(self.habits.idleness) > 0 {
                continue;
            }
            self.most_kept = self.most_kept.max(self.growing.kept());
            match self.open[session] {
                None if self.run.transactions.len() < transactions => self.begin(session),
                None => {}
                Some(id) => self.step(session, id),
            }
        }
        for session in 0..self.open.len() {
            if let Some(id) = self.open[session] {
                self.commit(session, id);
            }
        }
    }

    fn begin(&mut self, session: usize) {
        let level = self.level.unwrap_or_else(|| MIXED[self.random.below(6)]);
        let id = self.growing.begin(SessionId(session as u32), level);
        assert_eq!(id.0 as usize, self.run.transactions.len());
        self.run.transactions.push(Transaction { session: session as u32, level, ops: Vec::new(), outcome: None });
        self.open[session] = Some(id);
    }

    fn step(&mut self, session: usize, id: GrowingId) {
        let key = KeyId(self.random.below(3) as u32);
        let only_reads = id.0 as usize * 37 % 100 < self.habits.readers;
        match self.random.below(10) {
            0..=4 if !self.run.wrote(id, key) => self.read(session, id, key),
            0..=6 if !only_reads => self.write(session, id, key),
            0..=6 => self.read(session, id, key),
            _ if self.random.below(100) < self.habits.rollbacks => self.abort(session, id, Outcome::AbortedByProgram),
            _ => self.commit(session, id),
        }
    }

    fn read(&mut self, session: usize, id: GrowingId, key: KeyId) {
        let locking = self.updates == Updates::Atomic && self.random.below(3) == 0;
        if locking && self.is_locked(id, key) {
            return;
        }
        let choices = self.growing.choices(id, key, locking);
        assert!(!choices.is_empty());
        if self.compare && !locking {
            assert_eq!(choices, self.expected(id, key), "{}", self.told(id, key));
        }
        let version = choices[self.random.below(choices.len())];
        match self.growing.read(id, key, version, locking) {
            Ok(()) => self.run.transactions[id.0 as usize].ops.push(Op::Read(key, version, locking)),
            Err(_) => self.refuse(session, id),
        }
    }

    fn told(&self, id: GrowingId, key: KeyId) -> String {
        let history = self.run.history(Some(id), true);
        format!("{} of {:?} at {:?}:\n{}", id.0, key, self.level, support::describe(&history))
    }

    /// What brute force allows.
    fn expected(&self, id: GrowingId, key: KeyId) -> Vec<Version> {
        let committed = (0..self.run.transactions.len() as u32).map(GrowingId).filter(|&writer| {
            self.run.transactions[writer.0 as usize].outcome == Some(Outcome::Committed) && self.run.wrote(writer, key)
        });
        let versions: Vec<Version> = std::iter::once(Version::Initial).chain(committed.map(Version::Of)).collect();
        for with_writes in [self.refusable(id).then_some(id), None] {
            let allowed = |version: &&Version| {
                let mut run = self.run.clone();
                run.transactions[id.0 as usize].ops.push(Op::Read(key, **version, false));
                self.satisfied(&run, with_writes)
            };
            let mut allowed: Vec<Version> = versions.iter().filter(allowed).copied().collect();
            if !allowed.is_empty() {
                allowed.sort_by_key(|version| self.place(*version));
                return allowed;
            }
        }
        Vec::new()
    }

    /// Versions are listed in the order of commits, which the growing history knows.
    fn place(&self, version: Version) -> usize {
        let transaction = match version {
            Version::Initial => return 0,
            Version::Of(id) => id,
        };
        1 + self.run.commits.iter().position(|&id| id == transaction).unwrap()
    }

    fn refusable(&self, id: GrowingId) -> bool {
        matches!(self.run.transactions[id.0 as usize].level, ParallelSnapshot | Snapshot | Serializable)
    }

    fn satisfied(&self, run: &Run, with_writes_of: Option<GrowingId>) -> bool {
        let level = self.level.unwrap_or(Declared);
        run.transactions.iter().all(|transaction| transaction.ops.is_empty())
            || spec::satisfies(&run.history(with_writes_of, self.level.is_none()), level)
    }

    /// Where updates lock, somebody else may hold the row.
    fn is_locked(&self, id: GrowingId, key: KeyId) -> bool {
        let others = self.open.iter().flatten().filter(|&&other| other != id);
        others.into_iter().any(|other| {
            self.run.transactions[other.0 as usize].ops.iter().any(|op| match op {
                Op::Write(written) => *written == key,
                Op::Read(read, _, locking) => *locking && *read == key,
            })
        })
    }

    fn write(&mut self, session: usize, id: GrowingId, key: KeyId) {
        if self.updates == Updates::Atomic && self.is_locked(id, key) {
            return;
        }
        self.run.transactions[id.0 as usize].ops.push(Op::Write(key));
        let written = self.growing.write(id, key);
        self.agree(id, written.is_ok());
        if written.is_err() {
            self.refuse(session, id);
        }
    }

    /// Whether brute force refuses the same.
    fn agree(&self, id: GrowingId, allowed: bool) {
        if self.compare && self.refusable(id) {
            assert_eq!(allowed, self.satisfied(&self.run, Some(id)), "{}", self.told(id, KeyId(0)));
        }
    }

    fn commit(&mut self, session: usize, id: GrowingId) {
        let committed = self.growing.commit(id);
        self.agree(id, committed.is_ok());
        match committed {
            Ok(()) => {
                self.run.transactions[id.0 as usize].outcome = Some(Outcome::Committed);
                self.run.commits.push(id);
                self.open[session] = None;
            }
            Err(_) => self.refuse(session, id),
        }
    }

    fn refuse(&mut self, session: usize, id: GrowingId) {
        assert!(self.refusable(id), "only psi, snapshot and serializable refuse: {}", self.told(id, KeyId(0)));
        self.refused += 1;
        self.abort(session, id, Outcome::AbortedByDatabase);
    }

    fn abort(&mut self, session: usize, id: GrowingId, outcome: Outcome) {
        self.growing.abort(id, outcome == Outcome::AbortedByProgram);
        self.run.transactions[id.0 as usize].outcome = Some(outcome);
        self.open[session] = None;
    }

    /// The whole run satisfies what it was made at.
    fn self_check(&self) {
        let level = self.level.unwrap_or(Declared);
        if self.run.transactions.iter().all(|transaction| transaction.ops.is_empty()) {
            return;
        }
        let history = self.run.history(None, self.level.is_none());
        let verdict = check(&history, level, Budget::steps(u64::MAX));
        assert!(matches!(verdict, Verdict::Holds(_)), "at {level}:\n{}", support::describe(&history));
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn levels() -> impl Iterator<Item = Option<IsolationLevel>> {
    IsolationLevel::of_papers().map(Some).chain([None])
}

/// Runs many simulations at every level and mixed; returns how many transactions were refused.
fn simulate(options: GrowingOptions, runs: u64, compare: bool, events: usize, transactions: usize) -> usize {
    simulate_with(ORDINARY, options, runs, compare, events, transactions).0
}

/// The same with other habits; returns also how many transactions were kept at most.
fn simulate_with(
    habits: Habits,
    options: GrowingOptions,
    runs: u64,
    compare: bool,
    events: usize,
    transactions: usize,
) -> (usize, usize) {
    let seed = number("SKEW_SEED", 1);
    let runs = number("SKEW_HISTORIES", runs);
    let (mut refused, mut most_kept) = (0, 0);
    for level in levels() {
        for run in 0..runs {
            let random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(run));
            let mut simulation = Simulation { habits, ..Simulation::new(random, options, level, compare) };
            simulation.go(events, transactions);
            simulation.self_check();
            refused += simulation.refused;
            most_kept = most_kept.max(simulation.most_kept);
        }
    }
    (refused, most_kept)
}

fn options(updates: Updates, horizon: Option<usize>) -> GrowingOptions {
    GrowingOptions { updates, horizon, bare: true, budget: 1_000_000 }
}

#[test]
fn what_may_be_read_is_what_the_definition_allows() {
    let refused = simulate(options(Updates::Plain, None), 300, true, 24, 5);
    assert!(refused > 20, "{refused}");
}

#[test]
fn what_is_recorded_satisfies_its_level() {
    for updates in [Updates::Plain, Updates::Atomic] {
        for bare in [true, false] {
            simulate(GrowingOptions { bare, ..options(updates, None) }, 100, false, 60, 12);
        }
    }
}

#[test]
fn sealing_keeps_the_level() {
    for horizon in [1, 2, 3, 10] {
        for updates in [Updates::Plain, Updates::Atomic] {
            simulate(options(updates, Some(horizon)), 100, false, 100, 25);
        }
    }
}

/// Sessions go on after they rolled back; some transactions only read.
#[test]
fn sealing_what_was_rolled_back_keeps_the_level() {
    for (rollbacks, readers) in [(50, 0), (90, 30), (100, 0), (60, 100)] {
        let habits = Habits { rollbacks, readers, idleness: 1 };
        for horizon in [1, 2, 3, 10] {
            for updates in [Updates::Plain, Updates::Atomic] {
                let (_, most_kept) = simulate_with(habits, options(updates, Some(horizon)), 40, false, 120, 30);
                // Twice the horizon, what is pending, what was refused and is not yet cleared away, and once more for those below.
                assert!(most_kept <= 6 * horizon + 24, "{most_kept} of horizon {horizon}");
            }
        }
    }
}

#[test]
fn sealing_beside_transactions_that_stay_open_keeps_the_level() {
    for (rollbacks, readers) in [(8, 0), (50, 30)] {
        let habits = Habits { rollbacks, readers, idleness: 30 };
        for horizon in [1, 2, 3, 10] {
            for updates in [Updates::Plain, Updates::Atomic] {
                let (_, most_kept) = simulate_with(habits, options(updates, Some(horizon)), 40, false, 300, 60);
                assert!(most_kept <= 6 * horizon + 24, "{most_kept} of horizon {horizon}");
            }
        }
    }
}

/// Brute force is asked about every read and every end, with as many roll-backs as commits.
#[test]
fn beside_what_was_rolled_back_may_be_read_what_the_definition_allows() {
    let habits = Habits { rollbacks: 50, readers: 20, idleness: 1 };
    simulate_with(habits, options(Updates::Plain, None), 150, true, 24, 5);
}

/// Nothing but roll-backs, or nothing but reads: what is kept does not grow.
#[test]
fn transactions_that_roll_back_are_forgotten() {
    for level in IsolationLevel::of_papers() {
        for updates in [Updates::Plain, Updates::Atomic] {
            let mut growing = GrowingHistory::new(options(updates, Some(8)));
            let idle = growing.begin(SessionId(9), level);
            growing.read(idle, KeyId(0), Version::Initial, false).unwrap();
            for round in 0..500 {
                let id = growing.begin(SessionId(round % 3), level);
                let version = growing.choices(id, KeyId(0), false)[0];
                growing.read(id, KeyId(0), version, false).unwrap();
                if round == 100 {
                    growing.write(id, KeyId(0)).unwrap();
                    growing.commit(id).unwrap();
                } else {
                    growing.abort(id, true);
                }
                assert!(growing.kept() <= 32, "{level}: {} in round {round}", growing.kept());
            }
        }
    }
}

/// What it read once it can read again, and what goes with it, however much is committed meanwhile.
#[test]
fn who_stays_open_keeps_what_it_has_seen() {
    for level in [ReadAtomic, Causal, Prefix] {
        let mut growing = GrowingHistory::new(options(Updates::Atomic, Some(4)));
        let write = |growing: &mut GrowingHistory| {
            let writer = growing.begin(SessionId(1), level);
            (0..3).for_each(|key| growing.write(writer, KeyId(key)).unwrap());
            growing.commit(writer).unwrap();
            writer
        };
        let first = write(&mut growing);
        let idle = growing.begin(SessionId(0), level);
        growing.read(idle, KeyId(0), Version::Of(first), false).unwrap();
        let mut dropped = Vec::new();
        for _ in 0..100 {
            write(&mut growing);
            dropped.extend(growing.take_dropped());
            assert!(growing.kept() <= 16, "{level}: {}", growing.kept());
        }
        for key in 0..3 {
            assert!(!dropped.contains(&(KeyId(key), Version::Of(first))), "{level}");
            assert_eq!(growing.choices(idle, KeyId(key), false), [Version::Of(first)], "{level}");
            growing.read(idle, KeyId(key), Version::Of(first), false).unwrap();
        }
        growing.commit(idle).unwrap();
        dropped.extend(growing.take_dropped());
        assert!((0..3).all(|key| dropped.contains(&(KeyId(key), Version::Of(first)))), "{level}");
    }
}

/// Who polls inside a transaction finds at read-committed what was committed meanwhile.
#[test]
fn who_stays_open_at_read_committed_sees_what_is_new() {
    let mut growing = GrowingHistory::new(options(Updates::Atomic, Some(4)));
    let idle = growing.begin(SessionId(0), ReadCommitted);
    growing.read(idle, KeyId(0), Version::Initial, false).unwrap();
    for _ in 0..40 {
        let writer = growing.begin(SessionId(1), ReadCommitted);
        growing.write(writer, KeyId(0)).unwrap();
        growing.commit(writer).unwrap();
        assert!(growing.choices(idle, KeyId(0), false).contains(&Version::Of(writer)));
        assert!(growing.kept() <= 16);
    }
    assert!(!growing.choices(idle, KeyId(0), false).contains(&Version::Initial));
}

/// With a look at all earlier reads at each one this would take minutes.
#[test]
fn a_statement_may_read_many_keys() {
    const KEYS: u32 = 50_000;
    for level in [ReadCommitted, ReadAtomic, Causal] {
        let mut growing = GrowingHistory::new(options(Updates::Atomic, None));
        let reader = growing.begin(SessionId(1), level);
        let writer = growing.begin(SessionId(0), level);
        // A write looks at all earlier ones of its transaction, so these are few.
        let written = |key: u32| key.is_multiple_of(100);
        (0..KEYS).filter(|key| written(*key)).for_each(|key| growing.write(writer, KeyId(key)).unwrap());
        growing.commit(writer).unwrap();
        growing.read(reader, KeyId(0), Version::Of(writer), false).unwrap();
        for key in 1..KEYS {
            let expected = if written(key) { Version::Of(writer) } else { Version::Initial };
            assert_eq!(growing.choices(reader, KeyId(key), false), [expected], "{level}");
            growing.read(reader, KeyId(key), expected, false).unwrap();
        }
        growing.commit(reader).unwrap();
    }
}

#[test]
fn a_small_budget_still_answers() {
    for budget in [0, 1, 2] {
        for updates in [Updates::Plain, Updates::Atomic] {
            simulate(GrowingOptions { budget, ..options(updates, Some(10)) }, 40, false, 100, 25);
        }
    }
}

/// The last versions of x, y and z that the definition allows: what a transaction after all others may read.
fn expected_last(run: &Run, level: IsolationLevel) -> BTreeSet<Vec<Version>> {
    let committed = |number: &usize| run.transactions[*number].outcome == Some(Outcome::Committed);
    let committed: Vec<usize> = (0..run.transactions.len()).filter(committed).collect();
    let mut last: Vec<Vec<Version>> = vec![Vec::new()];
    for key in (0..3).map(KeyId) {
        let wrote = committed.iter().map(|&number| GrowingId(number as u32)).filter(|&id| run.wrote(id, key));
        let mut wrote: Vec<Version> = wrote.map(Version::Of).collect();
        if wrote.is_empty() {
            wrote.push(Version::Initial);
        }
        last = last.iter().flat_map(|row| wrote.iter().map(|&version| [&row[..], &[version]].concat())).collect();
    }
    last.into_iter().filter(|last| may_end(run, level, &committed, last)).collect()
}

/// Whether a serializable transaction that comes after all others may read these versions. It comes after them because each of them
/// writes a key of its own, and it reads them all.
fn may_end(run: &Run, level: IsolationLevel, committed: &[usize], last: &[Version]) -> bool {
    let mut run = run.clone();
    run.transactions.iter_mut().for_each(|transaction| transaction.level = level);
    let mut ops: Vec<Op> = (0..3).map(|key| Op::Read(KeyId(key), last[key as usize], false)).collect();
    for &number in committed {
        let own = KeyId(3 + number as u32);
        run.transactions[number].ops.push(Op::Write(own));
        ops.push(Op::Read(own, Version::Of(GrowingId(number as u32)), false));
    }
    run.transactions.push(Transaction { session: 9, level: Serializable, ops, outcome: Some(Outcome::Committed) });
    spec::satisfies(&run.history(None, true), Declared)
}

/// Plays a run and asks how it may have ended; the answer, if there is one, must be what the definition allows.
fn ends_as_allowed(options: GrowingOptions, level: IsolationLevel, seed: u64) -> bool {
    let mut simulation = Simulation::new(Random::new(seed), options, Some(level), false);
    simulation.go(20, 4);
    let Some(found) = simulation.growing.last_versions(1000) else { return false };
    let whole = |way: &Vec<(KeyId, Version)>| -> Vec<Version> {
        let version = |key| way.iter().find(|pair| pair.0 == key).map_or(Version::Initial, |pair| pair.1);
        (0..3).map(KeyId).map(version).collect()
    };
    let found: BTreeSet<Vec<Version>> = found.iter().map(whole).collect();
    assert_eq!(found, expected_last(&simulation.run, level), "{level}, seed {seed}");
    true
}

#[test]
fn how_it_may_have_ended_is_what_the_definition_allows() {
    for level in MIXED {
        for seed in 0..150 {
            assert!(ends_as_allowed(options(Updates::Plain, None), level, seed), "few keys, few ways");
        }
    }
}

#[test]
fn with_a_small_budget_it_stays_open_how_a_run_ended() {
    let small = GrowingOptions { budget: 1, ..options(Updates::Plain, None) };
    let mut open = 0;
    for seed in 0..300 {
        ends_as_allowed(small, Serializable, seed);
        let mut simulation = Simulation::new(Random::new(seed), small, Some(Prefix), false);
        simulation.go(60, 9);
        open += usize::from(simulation.growing.last_versions(100_000).is_none());
    }
    assert!(open > 0, "the budget was enough for all of them");
}
