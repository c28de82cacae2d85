//! No schedule, however forged, is believed of a history that one server cannot show; nor is a refutation of one that it can.
//!
//! The verifier trusts nobody, so it is given what a liar would write: schedules of all transactions in any order, the steps of a real one with two
//! exchanged, left out or said twice, and transactions that are said to be impossible on their own. `SKEW_HISTORIES` asks for more histories,
//! `SKEW_SEED` for others.

#![allow(clippy::print_stderr, reason = "how much was tried is for whoever looks")]

use crate::agreement::{number, random_program};
use crate::candidates;
use crate::random::Random;
use skew_check::spec::allows_engine_levels;
use skew_check::{Anomaly, Budget, CommitOrder, Instant, IsolationLevel, Refutation, Verdict, check};
use skew_history::{Engine, EngineLevel, EventId, History, TransactionId, Writer};

/// How many histories are lied about per engine, unless more are asked for.
const HISTORIES: u64 = 250;

/// So many moments a transaction has at most, as far as a liar guesses.
fn moments(history: &History, transaction: TransactionId, engine: Engine) -> usize {
    let events =
        (0..history.event_count() as u32).map(EventId).filter(|&event| history.transaction_of(event) == transaction);
    let mut statements: Vec<u32> = events.map(|event| history.asked(event).statement).collect();
    let rows = statements.len();
    statements.dedup();
    let per_statement = if engine == Engine::Postgres { 2 } else { 1 };
    2 + rows + per_statement * statements.len()
}

/// Any steps at all.
fn made_up(random: &mut Random, history: &History, engine: Engine) -> CommitOrder {
    let mut left: Vec<TransactionId> = history
        .transactions()
        .flat_map(|one| {
            let more = random.below(3);
            vec![one; (moments(history, one, engine) + 1).saturating_sub(more)]
        })
        .collect();
    let is_serial = random.chance(30);
    if !is_serial {
        let order = random.permutation(left.len());
        left = order.into_iter().map(|place| left[place]).collect();
    }
    CommitOrder { instants: left.into_iter().map(Instant::Step).collect(), choices: Vec::new() }
}

/// A real schedule with something changed.
fn changed(random: &mut Random, history: &History, order: &CommitOrder) -> CommitOrder {
    let mut order = order.clone();
    for _ in 0..random.up_to(3) {
        let length = order.instants.len();
        let (one, other) = (random.below(length), random.below(length));
        match random.below(8) {
            0 => drop(order.instants.remove(one)),
            1 => order.instants.insert(other, order.instants[one]),
            2 => order.choices = vec![(EventId(random.below(history.event_count()) as u32), Writer::Initial)],
            3 => {
                order.instants[one] =
                    Instant::Commit(TransactionId(random.below(history.transaction_count() + 1) as u32))
            }
            4 => {
                order.instants[one] = Instant::Step(TransactionId(random.below(history.transaction_count() + 1) as u32))
            }
            _ => order.instants.swap(one, other),
        }
        if order.instants.is_empty() {
            break;
        }
    }
    order
}

/// Lies about one history; how many of them are true after all.
fn lie(random: &mut Random, history: &History, levels: &[EngineLevel], others: &mut Vec<CommitOrder>) -> u64 {
    let level = IsolationLevel::Declared;
    let is_possible = allows_engine_levels(history, levels, true);
    let text = || skew_history::notation::write(history);
    if let Verdict::Holds(order) = check(history, level, Budget::UNLIMITED) {
        others.push(order);
    }
    let mut believed = 0;
    for _ in 0..30 {
        let order = match others.last() {
            Some(order) if random.chance(70) => changed(random, history, order),
            _ => made_up(random, history, levels[0].engine()),
        };
        let is_believed = order.justifies(history, level);
        believed += u64::from(is_believed);
        assert!(!is_believed || is_possible, "believed: {order:?} of\n{}", text());
        let some: Vec<TransactionId> = history.transactions().filter(|_| random.chance(60)).collect();
        let anomaly = Anomaly { level, refutation: Refutation::Alone(some) };
        assert!(!is_possible || !anomaly.refutes(history, level), "believed: {anomaly:?} of\n{}", text());
    }
    believed
}

fn lies_about(engine: Engine) {
    let all: Vec<EngineLevel> = engine.levels().collect();
    let (mut lied, mut believed, mut seed) = (0, 0, number("SKEW_SEED", 0));
    while lied < number("SKEW_HISTORIES", HISTORIES) {
        let random = &mut Random::new(seed);
        seed += 1;
        let program = random_program(random, engine);
        let levels: Vec<EngineLevel> = program.scripts().map(|_| random.pick(&all)).collect();
        let Some(mut histories) = candidates::histories(&program, &levels, 500) else { continue };
        // What was right of one run of a program is a good lie about another.
        let mut others = Vec::new();
        for _ in 0..histories.len().min(6) {
            let history = histories.swap_remove(random.below(histories.len()));
            if history.event_count() == 0 {
                continue;
            }
            believed += lie(random, &history, &levels, &mut others);
            lied += 1;
        }
    }
    eprintln!("{engine}: {lied} histories, 30 lies each, of which {believed} are true after all");
    assert!(believed > lied / 10, "{believed} of the lies are true: the liar does not try");
}

#[test]
fn no_forged_schedule_of_postgresql_is_believed() {
    lies_about(Engine::Postgres);
}

#[test]
fn no_forged_schedule_of_innodb_is_believed() {
    lies_about(Engine::Mysql);
}
