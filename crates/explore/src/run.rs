//! A run of the program: a complete history, and what the transactions left.

use crate::base::{Filter, way};
use crate::consistency::{Beginning, NextRead};
use crate::explorable::Explorable;
use crate::forced::ForcedOrder;
use crate::lineup;
use crate::log::{Event, Manner, Outcome, Read, ReadKind};
use crate::outline::Place;
use crate::record::{Locked, Recorder};
use crate::runner::{Node, Runner};
use crate::server::outcome::ServerRun;
use crate::set::{INITIAL, Number, Set};
use crate::subtree::Subtree;
use skew_check::{Budget, Verdict};
use skew_history::builder::Refusal;
use skew_history::{Engine, EngineLevel, History, IsolationLevel};
use std::collections::BTreeMap;
use std::fmt::Write;

/// So much work it may be to find out how a row was passed over.
const WORK_PER_GUESS: u64 = 1_000_000;

/// Of so many rows that were passed over every combination is tried; of more, those of one writer stand or fall together.
const MOST_COMBINED: usize = 8;

/// Whether a run is one of a level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RunAnswer {
    /// It is.
    Holds,
    /// It is not.
    Fails,
    /// The budget ended before that was clear.
    Unknown,
}

/// One run of a program.
pub struct Run<'a, P: Explorable + ?Sized> {
    pub(crate) runner: &'a Runner<'a, P>,
    pub(crate) node: Node<P::Left>,
}

impl<'a, P: Explorable + ?Sized> Run<'a, P> {
    pub(crate) fn new(runner: &'a Runner<'a, P>, node: Node<P::Left>) -> Run<'a, P> {
        Run { runner, node }
    }

    /// Its history, as the checker knows histories; every transaction declares its level. Refused when the program gives two keys one name,
    /// or two sessions.
    pub fn history(&self) -> Result<History, Refusal> {
        if let Some(server) = &self.node.server {
            let Runner { program, outline, keys, .. } = self.runner;
            return server.history(*program, outline, keys);
        }
        self.history_with(self.locked(Budget::steps(WORK_PER_GUESS)))
    }

    fn history_with(&self, locked: Locked) -> Result<History, Refusal> {
        let Runner { program, outline, keys, .. } = self.runner;
        Recorder::new(*program, outline, keys, &self.node.history, locked).record()
    }

    /// Which rows that were passed over it must have locked all the same, for its levels to hold: as few as possible.
    ///
    /// A statement finds a row that fits, waits for its lock, and then finds that it fits no longer. What it saw there is the latest version,
    /// which binds nothing else that it reads: `UPDATE kv SET v = 9 WHERE v = 0` may pass over kv/1 as another transaction left it and
    /// kv/2 as it was before that transaction.
    pub(crate) fn locked(&self, budget: Budget<'_>) -> Locked {
        let contested = self.contested();
        if contested.is_empty() {
            return Locked::new();
        }
        let holds = |locked: &Locked| {
            self.checked_with(self.runner.outline.level(), locked.clone(), budget) == RunAnswer::Holds
        };
        self.guesses(&contested).0.into_iter().find(holds).unwrap_or_default()
    }

    /// Which of some reads may have locked: none first, then few, then all; and whether these are all combinations.
    fn guesses(&self, contested: &[(Number, usize)]) -> (Vec<Locked>, bool) {
        let source = |&(reader, place): &(Number, usize)| match &self.node.history.log(reader).events[place] {
            Event::Read(read) => read.source,
            _ => INITIAL,
        };
        let mut groups: BTreeMap<(Number, Number, usize), Vec<(Number, usize)>> = BTreeMap::new();
        let is_complete = contested.len() <= MOST_COMBINED;
        for read in contested {
            let alone = if is_complete { read.1 } else { 0 };
            groups.entry((read.0, source(read), alone)).or_default().push(*read);
        }
        let groups: Vec<Vec<(Number, usize)>> = groups.into_values().collect();
        (combinations(&groups), is_complete)
    }

    /// The rows that were passed over and may have been locked before that, where the level asks more of a plain read.
    fn contested(&self) -> Vec<(Number, usize)> {
        let history = &self.node.history;
        let weak = |level: IsolationLevel| !level.implies(IsolationLevel::ParallelSnapshot);
        let of = |&number: &Number| {
            let events = history.log(number).events.iter().enumerate();
            events.filter_map(move |(place, event)| match event {
                Event::Read(read) if read.kind() == ReadKind::Passing && self.is_contested(number, place, read) => {
                    Some((number, place))
                }
                _ => None,
            })
        };
        let levels = &self.runner.outline.levels;
        history.order.iter().filter(|&&number| weak(levels[number as usize])).flat_map(of).collect()
    }

    /// Whether there is a version that fits and at which the transaction may have looked before the lock showed another one.
    fn is_contested(&self, reader: Number, place: usize, read: &Read) -> bool {
        let Manner::Sought(sought) = read.manner else { return false };
        let writers = self.node.history.writers(read.key) - Set::only(reader) - Set::only(read.source);
        let fitting = writers.iter().filter(|&writer| !sought.knows(writer) || !sought.passed.contains(writer));
        let initial = (!sought.initial && read.source != INITIAL).then_some(INITIAL);
        initial.into_iter().chain(fitting).any(|looked| self.may_have_looked(reader, place, read, looked))
    }

    /// Whether a version was there before the one that a transaction then read, and could be looked at: because it was the latest, while that
    /// other one was still being written, or because a plain read might have returned it.
    fn may_have_looked(&self, reader: Number, place: usize, read: &Read, looked: Number) -> bool {
        let (history, bases) = (&self.node.history, &self.runner.outline.bases);
        let past = history.past_of(looked);
        if read.source == INITIAL || past.contains(reader) || past.contains(read.source) {
            return false;
        }
        let overwritten = (history.writers(read.key) & read.past) - past - Set::only(looked);
        if overwritten.is_empty() && !read.past.contains(read.source) {
            return true;
        }
        let log = history.log(reader);
        let next = NextRead { key: read.key, source: looked, kind: ReadKind::Plain };
        let beginning = Beginning { log, events: &log.events[..place], read: Some(next) };
        let members = history.past_of_all(read.past | Set::only(looked));
        let mut known = ForcedOrder::of(history, members, bases);
        known.as_mut().is_some_and(|known| known.add_beginning(history, beginning, members, bases))
    }

    /// Whether it satisfies the levels that were asked for, and not only their bases.
    pub fn answer(&self, budget: Budget<'_>) -> RunAnswer {
        let outline = &self.runner.outline;
        if let Some(server) = &self.node.server {
            let holds = server.is_serializable(outline);
            return if holds { RunAnswer::Holds } else { RunAnswer::Fails };
        }
        if outline.is_exact() && !self.locks() { RunAnswer::Holds } else { self.answer_at(outline.level(), budget) }
    }

    /// Whether its history satisfies a level, or, at the declared level, each transaction its own.
    pub fn answer_at(&self, level: IsolationLevel, budget: Budget<'_>) -> RunAnswer {
        if let Some(server) = self.node.server.as_ref().filter(|server| self.needs_history(server, level)) {
            return self.answer_of_server(server, level, budget);
        }
        if let Some(holds) = self.quick_answer(level) {
            let answer = if holds { RunAnswer::Holds } else { RunAnswer::Fails };
            debug_assert!(
                [answer, RunAnswer::Unknown].contains(&self.checked(level, Budget::steps(1_000_000))),
                "the quick way says {answer:?} at {level} of {}",
                self.pattern()
            );
            return answer;
        }
        self.checked(level, budget)
    }

    /// Whether only the history can tell: the search knows no row that was deleted and inserted anew while somebody waited for it, and takes whom
    /// the server refused for rolled back. What a refused transaction read does not count: its client knows that it is void. With those reads
    /// nothing is easier to allow, so that a yes of the search stands.
    fn needs_history(&self, server: &ServerRun, level: IsolationLevel) -> bool {
        let has_refusals = server.refusals().next().is_some();
        server.has_gone() || has_refusals && self.quick_answer(level) != Some(true)
    }

    /// The answer of the checker about the history as the server tells it.
    fn answer_of_server(&self, server: &ServerRun, level: IsolationLevel, budget: Budget<'_>) -> RunAnswer {
        let Runner { program, outline, keys, .. } = self.runner;
        let Ok(history) = server.history(*program, outline, keys) else { return RunAnswer::Unknown };
        match skew_check::check(&history, level, budget) {
            Verdict::Holds(_) => RunAnswer::Holds,
            Verdict::Fails(_) => RunAnswer::Fails,
            Verdict::Unknown(_) => RunAnswer::Unknown,
        }
    }

    /// The engine whose levels these are.
    pub fn engine(&self) -> Option<Engine> {
        self.runner.outline.levels.get(1)?.of_engine().map(EngineLevel::engine)
    }

    /// At a level of an engine: with which codes the server refused transactions, in the order of the program.
    pub fn refusals(&self) -> Vec<(Place, &'static str)> {
        let places = &self.runner.outline.places;
        let all = self.node.server.iter().flat_map(|server| server.refusals());
        all.map(|(number, _, code)| (places[number as usize], code)).collect()
    }

    /// Whether its history came before, and only what is left in the end differs. Such a run is looked at and not counted.
    pub fn is_again(&self) -> bool {
        self.node.server.as_ref().is_some_and(|server| server.is_again)
    }

    /// The answer without the checker, where there is one.
    fn quick_answer(&self, level: IsolationLevel) -> Option<bool> {
        let history = &self.node.history;
        if self.locks() {
            return None;
        }
        let way = way(level)?;
        match way.filter {
            Filter::Nobody => {
                let bases = vec![way.base; self.runner.outline.bases.len()];
                Some(ForcedOrder::of(history, history.complete, &bases).is_some())
            }
            Filter::Lineup(placing) => lineup::fits(history, placing),
            Filter::Checker => None,
        }
    }

    /// The answer of the checker: that for the reads which suit its own levels best.
    fn checked(&self, level: IsolationLevel, budget: Budget<'_>) -> RunAnswer {
        match self.checked_with(level, self.locked(budget), budget) {
            // Another combination might have been within the level.
            RunAnswer::Fails if level == self.runner.outline.level() && !self.guesses(&self.contested()).1 => {
                RunAnswer::Unknown
            }
            answer => answer,
        }
    }

    fn checked_with(&self, level: IsolationLevel, locked: Locked, budget: Budget<'_>) -> RunAnswer {
        let Ok(history) = self.history_with(locked) else { return RunAnswer::Unknown };
        match skew_check::check(&history, level, budget) {
            Verdict::Holds(_) => RunAnswer::Holds,
            Verdict::Fails(_) => RunAnswer::Fails,
            Verdict::Unknown(_) => RunAnswer::Unknown,
        }
    }

    /// Whether any of its reads locks, or might have.
    pub(crate) fn locks(&self) -> bool {
        let history = &self.node.history;
        history.order.iter().any(|&number| history.log(number).reads().any(|read| read.kind() != ReadKind::Plain))
    }

    /// The places of its transactions, in an order in which they can run one after the other.
    pub fn order(&self) -> Vec<Place> {
        self.node.history.order.iter().map(|&number| self.runner.outline.places[number as usize]).collect()
    }

    /// What a transaction left.
    pub fn left(&self, place: Place) -> Option<&P::Left> {
        self.node.left[self.runner.outline.number(place)? as usize].as_deref()
    }

    /// What each call left that came to an end; of one that was tried again, what its last try left.
    pub fn calls(&self) -> BTreeMap<Place, &P::Left> {
        let outline = &self.runner.outline;
        let left = |number: Number| Some((outline.call(number), self.node.left[number as usize].as_deref()?));
        outline.numbers().filter_map(left).collect()
    }

    /// The places of all transactions with the calls of the program that they make: one that is tried again makes a call once more.
    pub fn attempts(&self) -> Vec<(Place, Place)> {
        let outline = &self.runner.outline;
        outline.numbers().map(|number| (outline.places[number as usize], outline.call(number))).collect()
    }

    /// The run written down: a search to which this is added finds this run and no other.
    pub fn subtree(&self) -> Subtree {
        Subtree::of(&self.node, &self.runner.keys)
    }

    /// How large it is: transactions that committed, events, and its pattern, so that no two runs are equal.
    pub fn size(&self) -> (usize, usize, String) {
        let history = &self.node.history;
        let logs = || history.order.iter().map(|&number| history.log(number));
        let committed = logs().filter(|log| log.outcome == Outcome::Committed).count();
        (committed, logs().map(|log| log.events.len()).sum(), self.pattern())
    }

    /// The history in one line: who read what from whom, transaction by transaction in the order of the program. Two runs are one when
    /// their patterns are.
    pub fn pattern(&self) -> String {
        let mut pattern = String::new();
        let outline = &self.runner.outline;
        if let Some(server) = &self.node.server {
            return server.pattern(outline, |key| self.runner.program.key_name(self.runner.keys.key(key)));
        }
        let mut numbers: Vec<_> = outline.numbers().filter(|&number| self.node.history.has(number)).collect();
        numbers.sort_unstable();
        for number in numbers {
            let log = self.node.history.log(number);
            let _ = write!(pattern, "{}:", outline.transaction_name(number));
            for event in &log.events {
                let name = |key| self.runner.program.key_name(self.runner.keys.key(key));
                let _ = match event {
                    Event::Read(read) => {
                        let lock = if read.kind() == ReadKind::Locking { "lock " } else { "" };
                        let from = match read.source {
                            INITIAL => "init".to_owned(),
                            source => outline.transaction_name(source),
                        };
                        write!(pattern, " {lock}r({} from {from})", name(read.key))
                    }
                    Event::Own { key, .. } => write!(pattern, " r({} own)", name(*key)),
                    Event::Write { key, .. } => write!(pattern, " w({})", name(*key)),
                    Event::Scan { .. } => write!(pattern, " scan"),
                };
            }
            pattern.push_str(if log.outcome == Outcome::Committed { "; " } else { " !; " });
        }
        pattern
    }
}

/// All unions of some groups, small ones first; of too many groups none, each alone, and all.
fn combinations(groups: &[Vec<(Number, usize)>]) -> Vec<Locked> {
    let count = groups.len();
    let mut masks: Vec<Vec<bool>> = match count <= MOST_COMBINED {
        true => (0..1_usize << count).map(|mask| (0..count).map(|bit| mask >> bit & 1 == 1).collect()).collect(),
        false => {
            let alone = (0..count).map(|one| (0..count).map(|bit| bit == one).collect());
            [vec![false; count]].into_iter().chain(alone).chain([vec![true; count]]).collect()
        }
    };
    masks.sort_by_key(|mask| mask.iter().filter(|&&bit| bit).count());
    let union = |mask: Vec<bool>| {
        groups.iter().zip(mask).filter(|(_, bit)| *bit).flat_map(|(group, _)| group).copied().collect()
    };
    masks.into_iter().map(union).collect()
}
