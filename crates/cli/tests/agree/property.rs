//! The properties of one program in one setting, and how a program that breaks one is made small and told.

use crate::account::Account;
use crate::again;
use crate::draft::Draft;
use crate::explored;
use crate::naming;
use crate::setting::{Setting, parse};
use crate::stage::{self, Face, Made, Manner};
use crate::steered;
use skew_check::{Budget, Verdict, check};
use skew_explore::Place;
use skew_history::IsolationLevel;
use skew_mockdb::{ChooserKind, Granularity};
use skew_program::Program;
use skew_value::Dialect;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What was looked at.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Looked {
    pub(crate) programs: usize,
    /// Runs of the mock database.
    pub(crate) made: usize,
    /// Runs of the explorer that were made again.
    pub(crate) again: usize,
    /// Settings in which a program has too many runs.
    pub(crate) too_large: usize,
}

/// A property of a program; an error says what differs.
pub(crate) type Property<'a> = &'a dyn Fn(&Draft) -> Result<(), String>;

/// Runs a property so that a panic is a difference too.
pub(crate) fn guarded(property: Property<'_>, draft: &Draft) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| property(draft))).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().cloned();
        let words = words.or(panic.downcast_ref::<&str>().map(|words| (*words).to_owned()));
        Err(format!("it panics: {}", words.unwrap_or_default()))
    })
}

/// The smallest program found that breaks the property, with the difference; what is no program any more breaks nothing.
pub(crate) fn shrink(draft: &Draft, difference: String, property: Property<'_>) -> (Draft, String) {
    let (mut smallest, mut difference) = (draft.clone(), difference);
    'again: loop {
        for smaller in smallest.smaller() {
            if parse(&smaller).is_err() {
                continue;
            }
            if let Err(other) = guarded(property, &smaller) {
                (smallest, difference) = (smaller, other);
                continue 'again;
            }
        }
        return (smallest, difference);
    }
}

/// The manners in which run number n is made.
fn manner(draft: &Draft, number: u64) -> Manner {
    let face = if draft.dialect == Dialect::Postgres && number % 4 == 3 { Face::Serve } else { Face::Play };
    let chooser = match number % 8 {
        5 => ChooserKind::Stalest,
        6 => ChooserKind::Latest,
        _ => ChooserKind::Random,
    };
    Manner { face, turns: number % 3 != 2, chooser }
}

/// What the mock database shows the explorer has, and what is recorded is what the level allows.
pub(crate) fn shown_is_explored(draft: &Draft, setting: Setting, runs: u64, looked: &mut Looked) -> Result<(), String> {
    let program = parse(draft)?;
    let mut known: BTreeMap<BTreeSet<Place>, Option<BTreeSet<Account>>> = BTreeMap::new();
    for number in 0..runs {
        let manner = manner(draft, number);
        let at = |difference: String| format!("run {number}, {manner:?}: {difference}");
        let made = stage::make(draft, &program, setting, manner, number).map_err(at)?;
        holds(&made, setting).map_err(at)?;
        made.history
            .as_ref()
            .map_or(Ok(()), naming::is_right)
            .map_err(|what| at(format!("{what}\n{}", made.account)))?;
        looked.made += 1;
        if !known.contains_key(&made.left_out) {
            known.insert(made.left_out.clone(), explored::accounts(&program, setting, &made.left_out)?);
        }
        let Some(accounts) = &known[&made.left_out] else { continue };
        if !accounts.iter().any(|account| allows(account, &made.account, manner.face)) {
            let alike = accounts.iter().max_by_key(|account| account.likeness(&made.account));
            let alike = alike.map_or("  nothing at all\n".to_owned(), Account::to_string);
            let left_out =
                if made.left_out.is_empty() { String::new() } else { format!(" without {:?}", made.left_out) };
            return Err(at(format!(
                "the mock shows\n{}which explore{left_out} denies; closest is\n{alike}",
                made.account
            )));
        }
    }
    looked.too_large += usize::from(known.values().any(Option::is_none));
    Ok(())
}

/// Whether a run of the explorer is the one that was made. A server lets sessions see their own commits, so fewer orders of writes are
/// possible.
fn allows(explored: &Account, made: &Account, face: Face) -> bool {
    match face {
        Face::Play => explored == made,
        Face::Serve => {
            explored.calls == made.calls && explored.events == made.events && made.states.is_subset(&explored.states)
        }
    }
}

/// What was recorded satisfies its level, and the certificate says why.
pub(crate) fn holds(made: &Made, setting: Setting) -> Result<(), String> {
    let Some(history) = &made.history else { return Ok(()) };
    match check(history, setting.level, Budget::steps(1_000_000)) {
        Verdict::Holds(order) if order.justifies(history, setting.level) => Ok(()),
        Verdict::Holds(_) => Err("the certificate of a run is none".to_owned()),
        Verdict::Fails(anomaly) => {
            Err(format!("a run is not what {} allows: {anomaly:?}\n{}", setting.level, made.account))
        }
        Verdict::Unknown(_) => Err("a run of a few events is too hard to check".to_owned()),
    }
}

/// Every run of the explorer is played by the mock database.
pub(crate) fn explored_is_played(draft: &Draft, setting: Setting, looked: &mut Looked) -> Result<(), String> {
    let program: Program = parse(draft)?;
    let all = explored::each_run(&program, setting, &BTreeSet::new(), |explorable, run, account| {
        looked.again += 1;
        if setting.granularity == Granularity::Row {
            steered::follow(&program, setting, explorable, run)?;
        }
        again::again(&program, setting, run, &account)
    })?;
    looked.too_large += usize::from(!all);
    Ok(())
}

/// What clients who take failures back see satisfies its level; and at serializable it is what some order of whole transactions gives.
pub(crate) fn saved_is_serial(draft: &Draft, setting: Setting, runs: u64, looked: &mut Looked) -> Result<(), String> {
    let program = parse(draft)?;
    for number in 0..runs {
        let manner = Manner { face: Face::Serve, turns: number % 3 != 2, chooser: ChooserKind::Random };
        let at = |difference: String| format!("run {number}, {manner:?}: {difference}");
        let made = stage::make(draft, &program, setting, manner, number).map_err(at)?;
        holds(&made, setting).map_err(at)?;
        looked.made += 1;
        if setting.level != IsolationLevel::Serializable {
            continue;
        }
        let places: Vec<Place> = made.account.calls.keys().copied().collect();
        let mut serial = Vec::new();
        for order in again::orders(&places) {
            serial.push(stage::in_order(draft, &program, setting, &order)?);
        }
        let same =
            |other: &Account| other.calls == made.account.calls && other.states.is_superset(&made.account.states);
        if !serial.iter().any(same) {
            let told: String = serial.iter().map(Account::to_string).collect();
            return Err(at(format!("the mock shows\n{}which no order gives; they give\n{told}", made.account)));
        }
    }
    Ok(())
}

/// How calls may end.
pub(crate) fn ends(draft: &Draft, setting: Setting) -> Result<BTreeSet<String>, String> {
    let mut ends = BTreeSet::new();
    explored::each_run(&parse(draft)?, setting, &BTreeSet::new(), |_, _, account| {
        ends.extend(account.calls.into_values().map(|call| call.end));
        Ok(())
    })?;
    Ok(ends)
}
