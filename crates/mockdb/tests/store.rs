//! The store by itself: whatever is asked of it, in whatever order, what it records satisfies its level.

use skew_check::{Budget, check};
use skew_history::SessionId;
use skew_mockdb::{
    Begin, Campaign, ChooserKind, Granularity, Level, Options, Record, SpaceShape, StatementEnding, Store, Tape,
    Updates,
};
use skew_sql::{Columns, Interrupt, KeyPart, KeyRange, Lock, Row, RowKey, SpaceId, Stop, Write};
use skew_value::Datum;

const ITEM: SpaceId = SpaceId(1);
const INDEX: SpaceId = SpaceId(2);

fn item(number: i128) -> RowKey {
    RowKey { space: ITEM, parts: [KeyPart::Number(number)].into() }
}

fn entry(price: KeyPart, number: i128) -> RowKey {
    RowKey { space: INDEX, parts: [price, KeyPart::Number(number)].into() }
}

fn row(number: i128, price: i128) -> Row {
    Row::from([Datum::Integer(number), Datum::Integer(price), Datum::text("bolt")])
}

fn store(options: Options, kind: ChooserKind) -> (Store, Tape) {
    let chooser = kind.build(options.seed, &Campaign::default());
    let mut store = Store::new(options, chooser);
    let column = |name: &str, key| (name.to_owned(), key);
    let columns = vec![column("id", true), column("price", false), column("name", false)];
    store.describe(ITEM, SpaceShape { name: "item".into(), columns, index: false });
    store.describe(INDEX, SpaceShape { name: "item@price".into(), columns: Vec::new(), index: true });
    let loader = store.connect("loader");
    store.begin(loader, Begin::default()).unwrap();
    for number in [1, 3] {
        store.put(loader, &item(number), Write::Row(row(number, 10 * number))).unwrap();
        store.put(loader, &entry(KeyPart::Number(10 * number), number), Write::Row(Row::from([]))).unwrap();
    }
    store.commit(loader).unwrap();
    store.disconnect(loader);
    let tape = Tape::default();
    store.start(Record { history: Some(Box::new(tape.clone())), choices: None }, "");
    (store, tape)
}

/// A small generator, so that a failure names its seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn part(&mut self) -> KeyPart {
        match self.below(6) {
            0 => KeyPart::Text("a/b".into()),
            1 => KeyPart::Text("a$".into()),
            2 => KeyPart::Null,
            number => KeyPart::Number(10 * i128::from(number)),
        }
    }

    fn bound(&mut self) -> Option<KeyPart> {
        let chosen = self.below(3) > 0;
        chosen.then(|| self.part())
    }
}

/// What a session does next: the statement, so that it can be run again as it was.
#[derive(Clone, Debug)]
enum Step {
    Get(i128, Lock),
    Scan(KeyRange),
    ScanAndUpdate(KeyRange, i128),
    Insert(i128, i128),
    Price(i128, i128),
    Delete(i128),
    Entry(KeyPart, i128, bool),
    Fail(i128),
    Savepoint,
    RollBackTo,
    Commit,
    Abort,
}

fn step(dice: &mut Dice) -> Step {
    let number = 1 + i128::from(dice.below(4));
    match dice.below(14) {
        0 => Step::Get(number, Lock::None),
        1 => Step::Get(number, Lock::Update),
        2 => Step::Get(number, Lock::Share),
        3 => Step::Scan(range(dice, ITEM)),
        4 => Step::Scan(range(dice, INDEX)),
        5 => Step::ScanAndUpdate(range(dice, ITEM), number),
        6 => Step::Insert(number, i128::from(dice.below(90))),
        7 => Step::Price(number, i128::from(dice.below(90))),
        8 => Step::Delete(number),
        9 => Step::Entry(dice.part(), number, dice.below(3) > 0),
        10 => Step::Fail(number),
        11 if dice.below(2) == 0 => Step::Savepoint,
        11 => Step::RollBackTo,
        12 if dice.below(6) == 0 => Step::Abort,
        _ => Step::Commit,
    }
}

fn range(dice: &mut Dice, space: SpaceId) -> KeyRange {
    let number = |dice: &mut Dice| (dice.below(2) == 0).then(|| KeyPart::Number(1 + i128::from(dice.below(4))));
    let (low, high) = match space {
        ITEM => (number(dice), number(dice)),
        _ => (dice.bound(), dice.bound()),
    };
    let limit = (dice.below(3) == 0).then(|| 1 + dice.below(2) as usize);
    KeyRange { space, prefix: Vec::new(), low, high, descending: dice.below(2) == 0, limit }
}

fn run(store: &mut Store, session: SessionId, step: &Step) -> Result<(), Stop> {
    let all = &Columns::All;
    match step {
        Step::Get(number, lock) => store.get(session, &item(*number), all, *lock).map(|_| ()),
        Step::Scan(range) => {
            let found = store.scan(session, range, all)?;
            assert!(
                found.iter().all(|(key, _)| range.contains(key))
                    && range.limit.is_none_or(|limit| found.len() <= limit)
            );
            let again = store.scan(session, range, all)?;
            assert_eq!(found, again, "a statement reads a key once");
            Ok(())
        }
        Step::ScanAndUpdate(range, price) => {
            for (key, _) in store.scan(session, range, all)? {
                let Some(found) = store.get(session, &key, all, Lock::Update)? else { continue };
                let Some(Datum::Integer(number)) = found.first() else { panic!("a row without its key: {found:?}") };
                store.put(session, &key, Write::Columns(row(*number, *price), vec![1]))?;
            }
            store.scan(session, range, all).map(|_| ())
        }
        Step::Insert(number, price) => match store.get(session, &item(*number), all, Lock::Update)? {
            None => store.put(session, &item(*number), Write::Row(row(*number, *price))),
            Some(_) => Ok(()),
        },
        Step::Price(number, price) => {
            match store.get(session, &item(*number), &Columns::Some(vec![1]), Lock::Update)? {
                Some(_) => store.put(session, &item(*number), Write::Columns(row(*number, *price), vec![1])),
                None => Ok(()),
            }
        }
        Step::Delete(number) => store.put(session, &item(*number), Write::Delete),
        Step::Entry(part, number, there) => {
            let write = if *there { Write::Row(Row::from([])) } else { Write::Delete };
            store.put(session, &entry(part.clone(), *number), write)
        }
        Step::Fail(number) => {
            store.put(session, &item(*number), Write::Row(row(*number, 0)))?;
            store.scan(session, &KeyRange::of_prefix(ITEM, Vec::new()), all)?;
            Err(skew_value::SqlError::unsupported("this").into())
        }
        Step::Savepoint => store.savepoint(session, "s"),
        Step::RollBackTo => match store.rollback_to_savepoint(session, "s") {
            Err(Stop::Error(_)) | Ok(()) => Ok(()),
            Err(stop) => Err(stop),
        },
        Step::Commit => store.commit(session).map_err(Stop::from),
        Step::Abort => {
            store.abort(session);
            Ok(())
        }
    }
}

/// Runs one step as a statement; whether it has to be run again.
fn take(store: &mut Store, session: SessionId, step: &Step) -> bool {
    if !store.in_transaction(session) {
        store.begin(session, Begin::default()).unwrap();
    }
    let plain = matches!(step, Step::Savepoint | Step::RollBackTo | Step::Commit | Step::Abort);
    if !plain && store.begin_statement(session, Some("step")).is_err() {
        return false;
    }
    let result = run(store, session, step);
    let waits = result == Err(Stop::Interrupted(Interrupt::Wait));
    if !plain {
        let ending = if waits { StatementEnding::Waiting } else { StatementEnding::Failed };
        store.end_statement(session, if result.is_ok() { StatementEnding::Done } else { ending });
    }
    waits
}

/// A random run of three sessions.
fn random_run(options: Options, kind: ChooserKind, steps: usize) -> (Store, Tape) {
    let mut dice = Dice(options.seed.wrapping_mul(977) + 13);
    let (mut store, tape) = store(options, kind);
    let sessions: Vec<SessionId> = ["a", "b", "c"].iter().map(|name| store.connect(name)).collect();
    let mut waiting: Vec<Option<Step>> = vec![None; sessions.len()];
    for _ in 0..steps {
        let place = dice.below(3) as usize;
        let next = waiting[place].take().unwrap_or_else(|| step(&mut dice));
        if take(&mut store, sessions[place], &next) {
            waiting[place] = Some(next);
        }
    }
    for session in sessions {
        store.disconnect(session);
    }
    (store, tape)
}

fn holds(tape: &Tape, level: Level) -> bool {
    check(&tape.history().unwrap(), level, Budget::UNLIMITED).holds()
}

#[test]
fn a_recorded_run_satisfies_its_level_whatever_is_asked() {
    let runs: u64 = std::env::var("SKEW_HISTORIES").ok().and_then(|runs| runs.parse().ok()).unwrap_or(12);
    for level in Level::of_papers() {
        for updates in [Updates::Atomic, Updates::Plain] {
            for granularity in [Granularity::Row, Granularity::Cell] {
                for horizon in [None, Some(2), Some(3), Some(10)] {
                    for seed in 0..runs {
                        let options = Options { updates, granularity, horizon, ..Options::new(level, seed) };
                        let (store, tape) = random_run(options, ChooserKind::Random, 40);
                        let refused = store.counts().refused;
                        let place = format!("{level} {updates:?} {granularity:?} {horizon:?} seed {seed}");
                        assert!(holds(&tape, level), "{place}\n{}", tape.text());
                        assert!(level.implies(Level::ParallelSnapshot) || refused == 0, "{place}: refused {refused}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for level in [Level::ReadCommitted, Level::Snapshot] {
        let bytes = || random_run(Options::new(level, 4), ChooserKind::Random, 200).1.text();
        assert_eq!(bytes(), bytes());
    }
}

/// Two sessions count the items and then insert one, unless there are three.
fn count_then_insert(level: Level, seed: u64) -> (usize, Tape) {
    let (mut store, tape) = store(Options::new(level, seed), ChooserKind::Random);
    let sessions = [store.connect("a"), store.connect("b")];
    let everything = KeyRange::of_prefix(ITEM, Vec::new());
    for session in sessions {
        store.begin(session, Begin::default()).unwrap();
    }
    let mut counts = Vec::new();
    for session in sessions {
        counts.push(store.scan(session, &everything, &Columns::All).map_or(9, |rows| rows.len()));
    }
    for (place, session) in sessions.into_iter().enumerate() {
        let number = 5 + place as i128;
        if counts[place] < 3 && store.put(session, &item(number), Write::Row(row(number, 0))).is_ok() {
            let _ = store.commit(session);
        }
    }
    (store.latest_rows().iter().filter(|found| found.0.space == ITEM).count(), tape)
}

#[test]
fn count_then_insert_shows_the_phantom_at_snapshot_and_never_at_serializable() {
    let (most, tape) = count_then_insert(Level::Snapshot, 1);
    assert_eq!(most, 4);
    assert!(holds(&tape, Level::Snapshot) && !holds(&tape, Level::Serializable), "{}", tape.text());
    for seed in 0..50 {
        let (most, tape) = count_then_insert(Level::Serializable, seed);
        assert!(most <= 3 && holds(&tape, Level::Serializable), "{}", tape.text());
    }
}

#[test]
fn a_scan_that_needs_one_row_reads_no_further() {
    let (mut store, tape) = store(Options::new(Level::Serializable, 1), ChooserKind::Latest);
    let session = store.connect("a");
    store.begin(session, Begin::default()).unwrap();
    for descending in [false, true] {
        let first = KeyRange { descending, limit: Some(1), ..KeyRange::of_prefix(ITEM, Vec::new()) };
        let found = store.scan(session, &first, &Columns::All).unwrap();
        assert_eq!(found[0].0, item(if descending { 3 } else { 1 }));
    }
    store.commit(session).unwrap();
    let expected = concat!(
        "{\"scan\":\"item/\",\"lo\":-9223372036854775808,\"hi\":1,\"reads\":",
        "[{\"k\":\"item/1\",\"v\":\"price=10 name=bolt\",\"from\":null}],\"sealed\":0}",
        ",{\"scan\":\"item/\",\"lo\":3,\"hi\":9223372036854775807,\"reads\":[{\"k\":\"item/3\",",
    );
    assert!(tape.text().contains(expected), "{}", tape.text());
}

#[test]
fn events_wait_for_their_turn() {
    let (mut store, tape) = store(Options { turns: true, ..Options::new(Level::Causal, 1) }, ChooserKind::Latest);
    let session = store.connect("a");
    let get = Step::Get(1, Lock::None);
    assert!(take(&mut store, session, &get) && store.wants_turn(session));
    store.grant(session);
    assert!(!take(&mut store, session, &get));
    assert!(take(&mut store, session, &Step::Commit));
    store.grant(session);
    assert!(!take(&mut store, session, &Step::Commit) && !store.wants_turn(session));
    assert_eq!(tape.history().unwrap().transaction_count(), 1);
}

#[test]
fn a_statement_that_waited_is_answered_as_before() {
    let (mut store, tape) = store(Options::new(Level::ReadCommitted, 1), ChooserKind::Latest);
    let (a, b) = (store.connect("a"), store.connect("b"));
    assert!(!take(&mut store, a, &Step::Price(3, 7)));
    let update = Step::ScanAndUpdate(KeyRange::of_prefix(ITEM, Vec::new()), 5);
    assert!(take(&mut store, b, &update) && store.is_waiting(b) && store.waits_for(b) == [a]);
    assert!(!take(&mut store, a, &Step::Insert(2, 1)) && !take(&mut store, a, &Step::Commit));
    assert_eq!(store.take_woken(), [b]);
    assert!(!take(&mut store, b, &update) && !take(&mut store, b, &Step::Commit));
    let prices: Vec<Datum> =
        store.latest_rows().into_iter().filter(|row| row.0.space == ITEM).map(|row| row.1[1].clone()).collect();
    assert_eq!(prices, [5, 5, 1].map(Datum::Integer), "the row that came meanwhile was not in the range that was read");
    assert!(holds(&tape, Level::ReadCommitted), "{}", tape.text());
}
