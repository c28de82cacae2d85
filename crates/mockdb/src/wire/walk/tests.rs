//! A walk by hand: times are milliseconds, and a guide that takes the last candidate.

use super::*;
use std::sync::{Arc, Mutex};

/// What a guide was asked and told.
#[derive(Default)]
struct Notes {
    candidates: Vec<Vec<String>>,
    touched: usize,
    left_behind: usize,
    awaited: Option<String>,
}

struct Last(Arc<Mutex<Notes>>);

impl Guide for Last {
    fn choose(&mut self, candidates: &BTreeSet<String>) -> Option<String> {
        let mut notes = self.0.lock().unwrap();
        notes.candidates.push(candidates.iter().cloned().collect());
        candidates.last().cloned()
    }

    fn awaits(&self, step: &str) -> bool {
        self.0.lock().unwrap().awaited.as_deref() == Some(step)
    }

    fn took(&mut self, _: Touched) {
        self.0.lock().unwrap().touched += 1;
    }

    fn leave_behind(&mut self) {
        self.0.lock().unwrap().left_behind += 1;
    }
}

fn begin() -> (StepWalk, Arc<Mutex<Notes>>) {
    let notes = Arc::new(Mutex::new(Notes::default()));
    (StepWalk::new(Box::new(Last(Arc::clone(&notes))), at(20)), notes)
}

fn at(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn nobody_goes_before_all_have_had_the_time_to_ask() {
    let (mut walk, notes) = begin();
    walk.hear(1, at(0));
    walk.hear(2, at(0));
    walk.ask(1, 7 << 4, at(1));
    assert_eq!(walk.decide(at(20)), None);
    walk.ask(2, 9 << 4, at(20));
    // Both ask: somebody new may still connect.
    assert_eq!(walk.decide(at(29)), None);
    assert_eq!(walk.decide(at(30)).map(|(client, _)| client), Some(2));
    assert_eq!(notes.lock().unwrap().candidates, [["0070.1.0", "0090.1.0"]]);
}

#[test]
fn one_step_is_taken_at_a_time_and_told_when_all_are_at_rest() {
    let (mut walk, notes) = begin();
    walk.ask(1, 1, at(0));
    walk.ask(2, 2, at(0));
    assert_eq!(walk.decide(at(10)).map(|(client, _)| client), Some(2));
    assert_eq!(walk.decide(at(100)), None);
    walk.touch(Touched::default());
    walk.rest(2, true, at(101));
    // 2 is in its transaction and may go on.
    assert_eq!(walk.decide(at(111)), None);
    assert_eq!(notes.lock().unwrap().touched, 1);
    assert_eq!(notes.lock().unwrap().left_behind, 0);
    // It does not: that may have been too soon.
    assert_eq!(walk.decide(at(121)), Some((1, "0001.1.0".to_owned())));
    assert_eq!(notes.lock().unwrap().left_behind, 1);
}

#[test]
fn who_waits_for_a_lock_goes_on_with_the_step_that_frees_it() {
    let (mut walk, notes) = begin();
    walk.ask(1, 1, at(0));
    assert!(walk.decide(at(10)).is_some());
    walk.block(1, at(11));
    walk.ask(2, 2, at(11));
    assert_eq!(walk.decide(at(21)).map(|(client, _)| client), Some(2));
    walk.go_on(1, at(22));
    walk.rest(2, false, at(22));
    assert_eq!(notes.lock().unwrap().touched, 1);
    assert_eq!(walk.decide(at(60)), None);
    walk.rest(1, false, at(61));
    assert_eq!(walk.decide(at(90)), None);
    assert_eq!(notes.lock().unwrap().touched, 2);
}

#[test]
fn a_step_that_is_known_to_be_next_need_not_wait_for_others() {
    let (mut walk, notes) = begin();
    walk.hear(2, at(0));
    notes.lock().unwrap().awaited = Some("0001.1.0".to_owned());
    walk.ask(1, 1, at(0));
    assert_eq!(walk.decide(at(0)), Some((1, "0001.1.0".to_owned())));
}

#[test]
fn a_transaction_keeps_its_name_on_whatever_connection_it_is() {
    let (mut walk, _) = begin();
    walk.ask(5, 3, at(0));
    assert_eq!(walk.decide(at(10)), Some((5, "0003.1.0".to_owned())));
    walk.rest(5, true, at(10));
    walk.ask(5, 8, at(11));
    assert_eq!(walk.decide(at(21)), Some((5, "0003.1.1".to_owned())));
    walk.rest(5, false, at(22));
    walk.ask(6, 3, at(23));
    // 5 is connected and might ask, too.
    assert_eq!(walk.decide(at(33)), None);
    assert_eq!(walk.decide(at(43)), Some((6, "0003.2.0".to_owned())));
}

#[test]
fn who_leaves_or_gives_up_does_not_hold_the_others() {
    let (mut walk, _) = begin();
    walk.ask(1, 1, at(0));
    assert!(walk.decide(at(10)).is_some());
    walk.leave(1, at(11));
    walk.ask(2, 2, at(12));
    walk.ask(3, 3, at(12));
    walk.withdraw(3, at(13));
    walk.leave(3, at(13));
    assert_eq!(walk.decide(at(23)), Some((2, "0002.1.0".to_owned())));
}
