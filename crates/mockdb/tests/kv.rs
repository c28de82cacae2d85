//! The key-value face, and through it the store: every recorded run satisfies its level.

use skew_check::{Budget, check};
use skew_mockdb::{Campaign, ChoiceLog, ChooserKind, Kv, KvError, KvValue, Level, Options, Script, Updates};

fn open(options: Options, kind: ChooserKind) -> Kv {
    let chooser = kind.build(options.seed, &Campaign::default());
    Kv::open(options, chooser, &[("x", 0.into()), ("y", 0.into())])
}

/// What was recorded is a history that its level allows.
fn assert_level(db: &Kv, level: Level) {
    let history = db.history().expect("a history");
    assert!(check(&history, level, Budget::UNLIMITED).holds(), "{level}\n{}", db.history_text());
    assert!(check(&history, Level::Declared, Budget::UNLIMITED).holds(), "declared\n{}", db.history_text());
}

#[test]
fn one_session_sees_its_own_writes_at_every_level() {
    for level in Level::of_papers() {
        let db = Kv::new(level, 1);
        let a = db.session("a");
        assert_eq!(a.get("x"), Ok(None));
        a.put("x", 1).unwrap();
        assert_eq!(a.get("x"), Ok(Some(KvValue::Integer(1))));
        let mut t = a.begin();
        t.put("x", "two").unwrap();
        assert_eq!(t.get("x"), Ok(Some("two".into())));
        t.abort();
        assert_eq!(a.get("x"), Ok(Some(1.into())));
        a.delete("x").unwrap();
        assert_eq!(a.get("x"), Ok(None));
        assert_level(&db, level);
    }
}

#[test]
fn a_second_writer_waits_and_one_on_the_same_thread_is_told() {
    let db = Kv::new(Level::ReadCommitted, 1);
    let (a, b) = (db.session("a"), db.session("b"));
    let mut t = a.begin();
    t.put("x", 1).unwrap();
    let mut s = b.begin();
    assert_eq!(s.put("x", 2), Err(KvError::WouldBlock("x".into())));
    s.put("y", 2).unwrap();
    t.commit().unwrap();
    s.put("x", 3).unwrap();
    s.commit().unwrap();
    assert_eq!(db.latest("x"), Some(3.into()));
    assert_level(&db, Level::ReadCommitted);
}

#[test]
fn increments_of_eight_threads_lose_nothing_by_default() {
    let db = open(Options::new(Level::ReadCommitted, 3), ChooserKind::Random);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let session = db.session(&format!("s{number}"));
            scope.spawn(move || {
                for _ in 0..5 {
                    let mut t = session.begin();
                    let found = t.get_for_update("x").unwrap().and_then(|value| value.integer()).unwrap_or(0);
                    t.put("x", found + 1).unwrap();
                    t.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(db.latest("x"), Some(40.into()));
    assert_eq!(db.counts().committed, 40);
    assert_level(&db, Level::ReadCommitted);
}

fn increment(db: &Kv, rounds: usize) -> i64 {
    let sessions: Vec<_> = (0..8).map(|number| db.session(&format!("s{number}"))).collect();
    for _ in 0..rounds {
        for session in &sessions {
            let mut t = session.begin();
            let Ok(found) = t.get_for_update("x") else { continue };
            let found = found.and_then(|value| value.integer()).unwrap_or(0);
            if t.put("x", found + 1).is_ok() {
                let _ = t.commit();
            }
        }
    }
    db.latest("x").and_then(|value| value.integer()).unwrap_or(0)
}

#[test]
fn plain_increments_are_lost_at_read_committed_and_never_at_snapshot() {
    let plain = |level| Options { updates: Updates::Plain, ..Options::new(level, 5) };
    let weak = open(plain(Level::ReadCommitted), ChooserKind::Random);
    assert!(increment(&weak, 3) < 24, "some increment is lost");
    assert_level(&weak, Level::ReadCommitted);
    let strong = open(plain(Level::Snapshot), ChooserKind::Random);
    increment(&strong, 3);
    let found = strong.history().unwrap();
    assert!(check(&found, Level::Snapshot, Budget::UNLIMITED).holds(), "{}", strong.history_text());
}

/// Three sessions whose transactions overlap, on two keys.
fn mixture(db: &Kv) -> Vec<Option<KvValue>> {
    let sessions: Vec<_> = ["a", "b", "c"].iter().map(|name| db.session(name)).collect();
    let mut seen = Vec::new();
    for round in 0..6i64 {
        let mut open: Vec<_> = sessions.iter().map(|session| session.begin()).collect();
        for (place, t) in open.iter_mut().enumerate() {
            seen.extend(t.get("x"));
            seen.extend(t.get("y"));
            let key = if (place as i64 + round) % 2 == 0 { "x" } else { "y" };
            let _ = t.put(key, round * 10 + place as i64);
        }
        for t in open {
            let _ = t.commit();
        }
    }
    seen
}

#[test]
fn every_chooser_keeps_every_level_with_every_horizon() {
    for level in Level::of_papers() {
        for kind in ChooserKind::ALL {
            for horizon in [None, Some(2), Some(3), Some(10)] {
                for updates in [Updates::Atomic, Updates::Plain] {
                    let db = open(Options { horizon, updates, ..Options::new(level, 11) }, kind);
                    mixture(&db);
                    assert_level(&db, level);
                }
            }
        }
    }
}

#[test]
fn nothing_is_refused_up_to_prefix() {
    for level in [Level::ReadCommitted, Level::ReadAtomic, Level::Causal, Level::Prefix] {
        for seed in 0..20 {
            let db = open(Options { updates: Updates::Plain, ..Options::new(level, seed) }, ChooserKind::Random);
            mixture(&db);
            assert_eq!((db.counts().refused, db.counts().deadlocks), (0, 0), "{level}");
        }
    }
}

#[test]
fn a_seed_gives_the_same_bytes_and_so_does_the_log() {
    for level in [Level::ReadCommitted, Level::Causal, Level::Snapshot] {
        let options = || Options { updates: Updates::Plain, abort_rate: 0.2, ..Options::new(level, 9) };
        let first = open(options(), ChooserKind::Random);
        let seen = mixture(&first);
        let again = open(options(), ChooserKind::Random);
        assert_eq!(mixture(&again), seen);
        assert_eq!(again.history_text(), first.history_text());
        assert_eq!(again.choices_text(), first.choices_text());
        let log = ChoiceLog::parse(&first.choices_text()).unwrap();
        let initial = [("x", 0.into()), ("y", 0.into())];
        let replayed = Kv::open(options(), Box::new(Script::new(&log)), &initial);
        assert_eq!(mixture(&replayed), seen);
        assert_eq!(replayed.history_text(), first.history_text());
    }
}

#[test]
fn compare_and_set_sets_what_is_as_expected() {
    let db = Kv::new(Level::Serializable, 2);
    let a = db.session("a");
    assert_eq!(a.cas("x", None, 1), Ok(true));
    assert_eq!(a.cas("x", None, 2), Ok(false));
    assert_eq!(a.cas("x", Some(1.into()), 2), Ok(true));
    assert_eq!(db.latest("x"), Some(2.into()));
    assert_level(&db, Level::Serializable);
}

#[test]
fn two_that_wait_for_each_other_are_told_apart() {
    let db = Kv::new(Level::ReadCommitted, 1);
    let (a, b) = (db.session("a"), db.session("b"));
    let mut t = a.begin();
    t.put("x", 1).unwrap();
    let (barrier, go) = (std::sync::Barrier::new(2), &db);
    let ready = &barrier;
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            let mut s = b.begin();
            s.put("y", 1).unwrap();
            ready.wait();
            s.put("x", 2).and_then(|()| s.commit())
        });
        ready.wait();
        let mine = t.put("y", 2).and_then(|()| t.commit());
        let theirs = other.join().unwrap();
        assert!([&mine, &theirs].contains(&&Err(KvError::Deadlock)), "{mine:?} {theirs:?}");
        assert!([&mine, &theirs].contains(&&Ok(())), "{mine:?} {theirs:?}");
        assert_level(go, Level::ReadCommitted);
    });
}

/// Two sessions write one key in this order; what a third one reads then, and the log.
fn read_after(db: &Kv, order: [&str; 2]) -> Option<KvValue> {
    let reader = db.session("reader");
    let writers = order.map(|name| (name, db.session(name)));
    for (name, writer) in &writers {
        writer.put("x", *name).unwrap();
    }
    reader.get("x").unwrap()
}

#[test]
fn a_replay_follows_its_log_when_transactions_come_in_another_order() {
    for seed in 0..20 {
        let first = Kv::new(Level::Causal, seed);
        let read = read_after(&first, ["a", "b"]);
        let log = ChoiceLog::parse(&first.choices_text()).unwrap();
        let again = Kv::open(Options::new(Level::Causal, seed), Box::new(Script::new(&log)), &[]);
        assert_eq!(read_after(&again, ["b", "a"]), read, "{}", first.choices_text());
        assert_eq!(again.choices_text(), first.choices_text());
    }
}
