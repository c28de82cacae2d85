//! Holds without a clock: times are what a test says.

use super::*;
use crate::chance::{Chance, Stream};
use crate::wire::adversary::priority::{Learned, Strategy};

const NOBODY: [i32; 0] = [];

/// A run in which times are milliseconds, and priorities as they are told.
struct Play {
    holds: Holds,
    now: u64,
}

impl Play {
    /// Of two clients the one of this number has the higher priority.
    fn new(first: i32) -> Play {
        let learned = Learned { steps: Some(1000), ..Learned::default() };
        let priorities = |seed| Priorities::new(seed, Strategy::Pct, Some(1), learned);
        let fits = |seed: &u64| {
            let mut drawn = priorities(*seed);
            [1, 2, 3].into_iter().max_by_key(|client| drawn.of(*client)) == Some(first)
        };
        let mut drawn = priorities((0..1000).find(fits).unwrap());
        (1..4).for_each(|client| assert!(drawn.of(client) > 0));
        Play { holds: Holds::new(Duration::from_millis(200), drawn, Quiet::new(None)), now: 0 }
    }

    fn at(&mut self, milliseconds: u64) -> Duration {
        self.now += milliseconds;
        Duration::from_millis(self.now)
    }

    fn decide(&mut self) -> Vec<i32> {
        let now = self.at(0);
        self.holds.decide(now).released.into_iter().map(|(client, _)| client).collect()
    }

    fn step(&mut self, client: i32) -> Vec<i32> {
        let now = self.at(0);
        self.holds.hear(client, now);
        self.holds.ask(client, Some(String::new()), now);
        self.decide()
    }

    fn rest(&mut self, client: i32, open: bool) -> Vec<i32> {
        let now = self.at(0);
        self.holds.rest(client, open, now);
        self.decide()
    }

    fn begin(&mut self, client: i32) {
        let now = self.at(0);
        self.holds.hear(client, now);
        self.holds.ask(client, None, now);
        self.rest(client, true);
    }
}

#[test]
fn one_request_after_the_other_is_never_held() {
    let mut play = Play::new(2);
    for client in [1, 2, 1, 1, 3, 2] {
        play.begin(client);
        for _ in 0..3 {
            assert_eq!(play.step(client), [client]);
            play.rest(client, true);
        }
        assert_eq!(play.step(client), [client]);
        play.rest(client, false);
    }
    assert_eq!(play.holds.held(), HeldRequests::default());
}

#[test]
fn who_has_the_higher_priority_is_waited_for_while_it_could_move() {
    let mut play = Play::new(2);
    play.begin(1);
    play.begin(2);
    assert_eq!(play.step(1), NOBODY);
    assert_eq!(play.step(2), [2]);
    assert_eq!(play.rest(2, true), NOBODY);
    assert_eq!(play.step(2), [2]);
    // Once the other one is idle, nobody could move.
    play.at(3);
    let released = play.rest(2, false);
    // It went idle only a moment ago, and this run has shown that clients do things at the same time.
    assert_eq!(released, NOBODY);
    play.at(6);
    assert_eq!(play.decide(), [1]);
    assert_eq!((play.holds.held().holds, play.holds.held().time), (1, Duration::from_millis(9)));
}

#[test]
fn who_has_the_higher_priority_goes_at_once() {
    let mut play = Play::new(1);
    play.begin(1);
    play.begin(2);
    assert_eq!(play.step(1), [1]);
    play.rest(1, true);
    assert_eq!(play.step(2), NOBODY);
    assert_eq!(play.step(1), [1]);
}

#[test]
fn when_all_is_quiet_nobody_is_waited_for() {
    let mut play = Play::new(2);
    play.begin(1);
    play.begin(2);
    assert_eq!(play.step(1), NOBODY);
    play.at(4);
    assert_eq!(play.decide(), NOBODY);
    play.at(1);
    assert_eq!(play.decide(), [1]);
    assert_eq!(play.holds.held().by_time, 1);
}

#[test]
fn who_did_not_come_three_times_is_not_waited_for_again() {
    let mut play = Play::new(2);
    play.begin(1);
    play.begin(2);
    for _ in 0..VAIN {
        assert_eq!(play.step(1), NOBODY);
        play.at(5);
        assert_eq!(play.decide(), [1]);
        play.rest(1, true);
    }
    assert_eq!(play.step(1), [1]);
    play.rest(1, true);
    // It has come: it is worth waiting for again.
    assert_eq!(play.step(2), [2]);
    play.rest(2, true);
    assert_eq!(play.step(1), NOBODY);
}

#[test]
fn who_thinks_for_long_costs_three_short_holds() {
    let mut play = Play::new(2);
    play.begin(1);
    play.begin(2);
    // The other one thinks for a tenth of a second before each of its statements.
    for _ in 0..20 {
        for _ in 0..4 {
            if play.step(1).is_empty() {
                play.at(50);
                assert_eq!(play.decide(), [1]);
            }
            play.rest(1, true);
            play.at(25);
        }
        play.step(2);
        play.rest(2, true);
    }
    let held = play.holds.held();
    assert!(held.holds > 0 && held.holds <= 3 * 20, "{held:?}");
    assert!(held.time <= Duration::from_millis(50) * held.holds as u32, "{held:?}");
}

#[test]
fn who_waits_for_a_lock_is_not_waited_for() {
    let mut play = Play::new(2);
    play.begin(1);
    play.begin(2);
    assert_eq!(play.step(2), [2]);
    let now = play.at(0);
    play.holds.block(2, now);
    assert_eq!(play.step(1), [1]);
    assert_eq!(play.holds.held().holds, 0);
}

#[test]
fn no_hold_is_longer_than_it_may_be() {
    let mut play = Play::new(2);
    play.begin(1);
    play.begin(2);
    assert_eq!(play.step(1), NOBODY);
    // Somebody talks all the time, and never takes a step.
    for _ in 0..49 {
        let now = play.at(4);
        play.holds.hear(2, now);
        assert_eq!(play.decide(), NOBODY);
    }
    play.at(4);
    assert_eq!(play.decide(), [1]);
}

#[test]
fn the_others_take_so_many_steps_and_no_more() {
    let mut play = Play::new(2);
    play.begin(1);
    play.begin(2);
    assert_eq!(play.step(1), NOBODY);
    for number in 1..=MOST_STEPS {
        assert_eq!(play.step(2), [2], "{number}");
        let released = play.rest(2, true);
        assert_eq!(released, if number < MOST_STEPS { NOBODY.to_vec() } else { vec![1] });
    }
    assert_eq!(play.holds.held().by_time, 0);
}

#[test]
fn who_polls_is_not_waited_for() {
    let mut play = Play::new(2);
    play.begin(1);
    play.begin(2);
    assert_eq!(play.step(1), NOBODY);
    let mut released = Vec::new();
    for _ in 0..POLLS {
        assert_eq!(play.step(2), [2]);
        play.holds.get(2, 7, 7);
        released = play.rest(2, true);
    }
    assert_eq!(released, [1]);
}

#[test]
fn a_connection_that_is_about_to_be_there_is_waited_for() {
    let mut play = Play::new(2);
    play.begin(1);
    let now = play.at(0);
    play.holds.come(2, now);
    assert_eq!(play.step(1), NOBODY);
    assert_eq!(play.rest(2, false), NOBODY);
    assert_eq!(play.step(2), [2]);
    // One that was opened before and is not used is not.
    let mut play = Play::new(2);
    let now = play.at(0);
    play.holds.come(2, now);
    play.rest(2, false);
    assert_eq!(play.step(1), [1]);
}

#[test]
fn who_goes_is_not_waited_for_and_what_it_asked_is_forgotten() {
    let mut play = Play::new(2);
    play.begin(1);
    play.begin(2);
    assert_eq!(play.step(1), NOBODY);
    let now = play.at(0);
    play.holds.leave(2, now);
    assert_eq!(play.decide(), [1]);
    let mut play = Play::new(2);
    play.begin(1);
    play.begin(2);
    assert_eq!(play.step(1), NOBODY);
    let now = play.at(2);
    play.holds.leave(1, now);
    assert_eq!(play.step(2), [2]);
    let now = play.at(50);
    assert_eq!((play.holds.held().holds, play.holds.stood_still(now)), (1, Duration::from_millis(2)));
}

#[test]
fn clocks_of_others_stand_still_while_somebody_is_held() {
    let mut play = Play::new(2);
    play.begin(1);
    play.begin(2);
    play.at(10);
    play.step(1);
    let now = play.at(3);
    assert_eq!(play.holds.stood_still(now), Duration::from_millis(3));
    play.at(2);
    assert_eq!(play.decide(), [1]);
    let now = play.at(100);
    assert_eq!(play.holds.stood_still(now), Duration::from_millis(5));
}

/// Anything that clients may do, whatever they have done before.
fn disturb(play: &mut Play, chance: &mut Chance) {
    let (client, now) = (1 + chance.below(4) as i32, play.at(chance.below(3) as u64));
    let is_held = play.holds.holds().any(|(held, _)| held == client);
    match chance.below(9) {
        0 => play.holds.come(client, now),
        1 => play.holds.leave(client, now),
        2 => play.holds.hear(client, now),
        _ if is_held => {}
        3 => play.holds.ask(client, None, now),
        4 => play.holds.block(client, now),
        5 => play.holds.go_on(client, now),
        6 => play.holds.rest(client, chance.happens(0.7), now),
        _ => play.holds.ask(client, Some(String::new()), now),
    }
    play.decide();
}

#[test]
fn every_hold_ends_whatever_clients_do() {
    for seed in 0..300 {
        let (mut play, mut chance) = (Play::new(1 + seed as i32 % 3), Chance::new(seed, Stream::Delays));
        for _ in 0..60 {
            disturb(&mut play, &mut chance);
        }
        // Somebody talks all the time and takes no step, so that it is never quiet; or nobody does anything any more.
        let talks = seed % 2 == 0;
        let mut rounds = 0;
        while play.holds.holds().next().is_some() {
            let now = play.at(20);
            if talks {
                play.holds.hear(4, now);
            }
            let decision = play.holds.decide(now);
            assert!(decision.look_again.is_some_and(|moment| moment > now) || play.holds.holds().next().is_none());
            rounds += 1;
            assert!(rounds < 100, "{seed}: {:?}", play.holds);
        }
    }
}

#[test]
fn after_a_run_with_a_race_who_is_alone_waits_for_newcomers_now_and_then() {
    let mut play = Play::new(1);
    play.holds.expect_newcomers();
    let mut waited = 0;
    for _ in 0..40 {
        let now = play.at(1);
        play.holds.ask(1, Some(String::new()), now);
        if play.decide().is_empty() {
            waited += 1;
            // Nobody came.
            play.at(5);
            assert_eq!(play.decide(), [1]);
        }
        let now = play.at(0);
        play.holds.rest(1, false, now);
    }
    assert!((8..32).contains(&waited), "{waited}");
}

#[test]
fn who_waits_for_newcomers_waits_for_the_one_that_comes() {
    let mut play = Play::new(2);
    play.holds.expect_newcomers();
    for _ in 0..40 {
        let now = play.at(100);
        play.holds.ask(1, Some(String::new()), now);
        if play.decide().is_empty() {
            let now = play.at(1);
            play.holds.come(2, now);
            assert_eq!(play.decide(), NOBODY);
            let now = play.at(4);
            play.holds.ask(2, Some(String::new()), now);
            assert_eq!(play.decide(), [2]);
            return;
        }
        let now = play.at(0);
        play.holds.rest(1, false, now);
    }
    panic!("it never waits");
}
