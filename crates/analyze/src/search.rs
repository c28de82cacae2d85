//! Looks for transactions that make a counterexample of the form of [`split`](crate::split).
//!
//! ```text
//!   t1 and the statement of b1 are chosen
//!     t2   every template that overwrites what b1 read, with the equalities that this forces
//!     tm   every template that closes the cycle, likewise
//!     one of them is both: found
//!     else templates in between, each linked to the next by a row they have in common, until t2 and tm are joined
//! ```
//!
//! Equalities that nobody forces only make more conflicts, and conflicts only forbid: so each step takes the least ones (`closure`), and an
//! instance in the chain is fully described by which of its terms are terms of t1. There are finitely many such descriptions, so chains of any
//! length are found by walking over a finite graph (`chain`). A link may force more upon the instances that it joins, or upon t1 itself; then these
//! refined instances are put into the graph as well (a refined t1 starts a graph of its own).
//!
//! Pairs are tried first, of every t1: most counterexamples are pairs, and a graph is made only for a t1 that has both a second and a last.

use crate::chain::{Chains, numbered};
use crate::closure::{Closure, Labels, TermGraph, TextNumbers};
use crate::cycle::SplitSearch;
use crate::instance::Instances;
use crate::split::{FirstTransaction, Level, OtherTransaction, Role, SplitFound};
use crate::steps::Steps;
use crate::template::{RowOperation, Template};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// How many rows of one transaction may be missing or not.
const MOST_MISSING: usize = 12;

/// How many instances of one t1 are remembered.
const MOST_REMEMBERED: usize = 20_000;

/// What a search came to.
#[derive(Clone, Debug)]
pub(crate) enum SearchOutcome {
    Found(SplitFound),
    Nothing,
    /// It was given up.
    TooLong,
}

/// What is known beside a t1, for all searches with it.
struct Beside {
    instances: Instances,
    /// Chains with a t1 at a level, of instances of these templates at theirs.
    chains: FxHashMap<(Level, LevelledTemplates), Rc<Chains>>,
}

/// Templates by number, each at a level.
type LevelledTemplates = Vec<(usize, Level)>;

/// The same for all searches.
type SharedBeside = Rc<RefCell<Beside>>;

/// The templates of a program, ready to be searched.
pub(crate) struct Searcher {
    templates: Rc<[Template]>,
    graphs: Rc<[TermGraph]>,
    /// What is known beside each t1, by its template and its labels.
    known: RefCell<FxHashMap<(usize, Labels), SharedBeside>>,
    steps: Rc<Steps>,
}

/// A template as t1 in one search.
struct FirstTemplate {
    first: usize,
    level: Level,
    /// It as it is, and as others refine it.
    refined: Vec<Labels>,
    /// How many of these were tried in pairs.
    paired: usize,
    /// Which of these have a second and a last somewhere, so that a chain may join them.
    open: Vec<Labels>,
}

/// One t1 in one place: which of its rows are missing, how many statements come first, and in which of them b1 may be.
struct SplitPlace {
    missing: Vec<u32>,
    prefix: usize,
    splitting: std::ops::Range<usize>,
}

impl Searcher {
    /// All questions together take so many steps at most.
    pub(crate) fn new(templates: Vec<Template>, most_steps: usize) -> Searcher {
        let mut texts = TextNumbers::default();
        let graphs = templates.iter().map(|template| TermGraph::new(template, &mut texts)).collect();
        Searcher {
            templates: templates.into(),
            graphs,
            known: RefCell::default(),
            steps: Rc::new(Steps::new(most_steps)),
        }
    }

    pub(crate) fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// How many steps all searches have taken.
    pub(crate) fn steps(&self) -> usize {
        self.steps.taken()
    }

    /// Looks for a counterexample among the procedures that have a level.
    pub(crate) fn search(&self, levels: &[Option<Level>]) -> SearchOutcome {
        let taking: Vec<(usize, Level)> = (0..self.templates.len())
            .filter_map(|number| Some((number, levels[self.templates[number].procedure]?)))
            .collect();
        let watched =
            |number: usize| self.templates[number].operations().all(|(_, one)| one.watched_reads() == one.reads);
        if taking.iter().all(|(number, level)| *level == Level::Serializable && watched(*number)) {
            return SearchOutcome::Nothing;
        }
        self.search_from(&taking, &taking)
    }

    /// Looks for a counterexample in which one procedure is interrupted, and all others are instances of another one.
    pub(crate) fn search_between(&self, first: usize, other: usize, level: Level) -> SearchOutcome {
        let of = |procedure: usize| {
            let own = (0..self.templates.len()).filter(|number| self.templates[*number].procedure == procedure);
            own.map(|number| (number, level)).collect::<Vec<(usize, Level)>>()
        };
        self.search_from(&of(first), &of(other))
    }

    /// Looks for one whose t1 is an instance of one of some templates: pairs, then chains.
    fn search_from(&self, firsts: &[(usize, Level)], taking: &[(usize, Level)]) -> SearchOutcome {
        self.steps.begin_question();
        let mut candidates: Vec<FirstTemplate> = firsts.iter().filter_map(|one| self.candidate(*one)).collect();
        for candidate in &mut candidates {
            match self.search_pairs(candidate, taking) {
                SearchOutcome::Nothing => {}
                outcome => return outcome,
            }
        }
        for candidate in &mut candidates {
            match self.search_chains(candidate, taking) {
                SearchOutcome::Nothing => {}
                outcome => return outcome,
            }
        }
        SearchOutcome::Nothing
    }

    /// A template as t1; nothing if it has no instances.
    fn candidate(&self, (first, level): (usize, Level)) -> Option<FirstTemplate> {
        let start = Labels::from_iter(0..self.graphs[first].len() as u32);
        let mut closure = Closure::new(&[(&self.graphs[first], &start)]);
        let refined = closure.close().then(|| vec![closure.labels(0)])?;
        Some(FirstTemplate { first, level, refined, paired: 0, open: Vec::new() })
    }

    /// Looks for counterexamples of two transactions.
    fn search_pairs(&self, candidate: &mut FirstTemplate, taking: &[(usize, Level)]) -> SearchOutcome {
        while let Some(labels) = candidate.refined.get(candidate.paired).cloned() {
            candidate.paired += 1;
            let Some(places) = self.places(candidate, &labels) else { return SearchOutcome::TooLong };
            let mut is_open = false;
            for place in &places {
                let found = self.split(candidate, &labels, place, taking, |search| {
                    if search.first.level == Level::ReadCommitted && search.first.prefix == search.splitting.start {
                        return search.inserted_anew();
                    }
                    let seconds = search.seconds();
                    let found = search.both_at_once(&seconds);
                    is_open |= found.is_none() && !seconds.is_empty() && search.has_lasts();
                    found
                });
                match found {
                    Some(found) => return SearchOutcome::Found(found),
                    None if self.steps.is_over() => return SearchOutcome::TooLong,
                    None => {}
                }
            }
            candidate.open.extend(is_open.then_some(labels));
        }
        SearchOutcome::Nothing
    }

    /// Looks for counterexamples of more.
    fn search_chains(&self, candidate: &mut FirstTemplate, taking: &[(usize, Level)]) -> SearchOutcome {
        let mut next = 0;
        while let Some(labels) = candidate.open.get(next).cloned() {
            next += 1;
            let Some(chains) = self.chains(candidate, &labels, taking) else { return SearchOutcome::TooLong };
            let Some(places) = self.places(candidate, &labels) else { return SearchOutcome::TooLong };
            for place in &places {
                match self.split(candidate, &labels, place, taking, |search| search.walk(&chains)) {
                    Some(found) => return SearchOutcome::Found(found),
                    None if self.steps.is_over() => return SearchOutcome::TooLong,
                    None => {}
                }
            }
            for labels in &chains.refined {
                if !candidate.refined.contains(labels) {
                    candidate.refined.push(labels.clone());
                }
            }
            match self.search_pairs(candidate, taking) {
                SearchOutcome::Nothing => {}
                outcome => return outcome,
            }
        }
        SearchOutcome::Nothing
    }

    /// Looks in one place.
    fn split(
        &self,
        candidate: &mut FirstTemplate,
        labels: &Labels,
        place: &SplitPlace,
        taking: &[(usize, Level)],
        look: impl FnOnce(&mut SplitSearch<'_>) -> Option<SplitFound>,
    ) -> Option<SplitFound> {
        let SplitPlace { missing, prefix, splitting } = place;
        let (first, template) = (candidate.first, &self.templates[candidate.first]);
        let transaction =
            FirstTransaction { template, labels, level: candidate.level, prefix: *prefix, missing: &missing[..] };
        let beside = self.beside(first, labels);
        let mut search = SplitSearch {
            templates: &self.templates,
            instances: &mut beside.borrow_mut().instances,
            first: &transaction,
            first_number: first,
            splitting: splitting.clone(),
            taking,
            refined: &mut candidate.refined,
            steps: &self.steps,
        };
        look(&mut search)
    }

    fn beside(&self, first: usize, labels: &Labels) -> SharedBeside {
        let new = || {
            let (templates, graphs) = (Rc::clone(&self.templates), Rc::clone(&self.graphs));
            let instances = Instances::new(templates, graphs, Rc::clone(&self.steps), (first, labels.clone()));
            Beside { instances, chains: FxHashMap::default() }
        };
        let mut known = self.known.borrow_mut();
        let beside = known.entry((first, labels.clone())).or_insert_with(|| Rc::new(RefCell::new(new())));
        if beside.borrow().instances.len() > MOST_REMEMBERED {
            *beside = Rc::new(RefCell::new(new()));
        }
        Rc::clone(beside)
    }

    /// The chains of instances of some templates beside a t1; nothing if finding them takes too long.
    fn chains(&self, candidate: &FirstTemplate, labels: &Labels, taking: &[(usize, Level)]) -> Option<Rc<Chains>> {
        let beside = self.beside(candidate.first, labels);
        let Beside { instances, chains } = &mut *beside.borrow_mut();
        let key = (candidate.level, taking.to_vec());
        if let Some(known) = chains.get(&key) {
            return Some(Rc::clone(known));
        }
        let may_be = |template: usize, other: &Labels| {
            let level =
                taking.iter().find(|(taken, _)| *taken == template).map_or(candidate.level, |(_, level)| *level);
            self.may_be(
                candidate,
                labels,
                OtherTransaction { template: &self.templates[template], labels: other, level },
            )
        };
        let members: Vec<usize> = taking.iter().map(|(template, _)| *template).collect();
        let found = Chains::new(&self.templates, (candidate.first, &members), instances, &may_be, &self.steps)?;
        let found = Rc::new(found);
        chains.insert(key, Rc::clone(&found));
        Some(found)
    }

    /// Whether an instance may be anything beside t1, wherever that is split, with some rows missing. What is known of an instance only grows along
    /// a chain, and forbids the more: who may be nothing leads nowhere.
    fn may_be(&self, candidate: &FirstTemplate, labels: &Labels, other: OtherTransaction<'_>) -> bool {
        let (own, level) = (&self.templates[candidate.first], candidate.level);
        let missing: Vec<u32> = own.optional.iter().map(|row| labels[*row]).collect();
        let split = |prefix: usize| FirstTransaction { template: own, labels, level, prefix, missing: &missing };
        let count = own.chunks.len();
        if split(count).allows(Role::Between, &other) {
            return true;
        }
        let is_same = |mine: &RowOperation, theirs: &RowOperation| match (mine.row, theirs.row) {
            (Some(mine), Some(theirs)) => labels[mine] == other.labels[theirs],
            _ => true,
        };
        let pairs = numbered(own).flat_map(|mine| numbered(other.template).map(move |theirs| (mine, theirs)));
        let meetings: Vec<_> =
            pairs.filter(|((_, mine), (_, theirs))| mine.conflicts(theirs) && is_same(mine, theirs)).collect();
        let begins = |prefix: usize, number: usize| level != Level::ReadCommitted || number + 1 == prefix;
        let prefixes = if level == Level::ReadCommitted { 1..count + 1 } else { count..count + 1 };
        prefixes.into_iter().any(|prefix| {
            let split = split(prefix);
            meetings.iter().any(|((a1, mine), (at, theirs))| {
                let second = begins(prefix, a1.0) && mine.reads & theirs.writes != 0;
                (second && split.allows(Role::Second { read_by: *a1 }, &other))
                    || (split.closes(theirs, a1.0, mine) && split.allows(Role::Last { by: *at, onto: *a1 }, &other))
            })
        })
    }

    /// All places in which t1 can be split. Nothing if there are too many.
    fn places(&self, candidate: &FirstTemplate, labels: &Labels) -> Option<Vec<SplitPlace>> {
        let splits = self.splits(candidate.first, candidate.level);
        let choices = self.missing(candidate.first, labels)?;
        let place = |missing: &Vec<u32>, (prefix, splitting): &(usize, std::ops::Range<usize>)| SplitPlace {
            missing: missing.clone(),
            prefix: *prefix,
            splitting: splitting.clone(),
        };
        let pairs = choices.iter().flat_map(|missing| splits.iter().map(move |split| place(missing, split)));
        Some(pairs.collect())
    }

    /// Which of the rows of t1 may be missing: all choices, as labels. Nothing if there are too many.
    fn missing(&self, first: usize, labels: &Labels) -> Option<Vec<Vec<u32>>> {
        let mut optional: Vec<u32> = self.templates[first].optional.iter().map(|row| labels[*row]).collect();
        optional.sort_unstable();
        optional.dedup();
        if optional.len() > MOST_MISSING {
            return None;
        }
        let chosen = |set: u32| {
            let numbered = optional.iter().enumerate().filter(move |(place, _)| set >> place & 1 == 1);
            numbered.map(|(_, label)| *label).collect()
        };
        Some((0..1_u32 << optional.len()).map(chosen).collect())
    }

    /// Where t1 can be split: how many statements come first, and in which of them b1 may be. A snapshot is split anywhere in the same way.
    fn splits(&self, first: usize, level: Level) -> Vec<(usize, std::ops::Range<usize>)> {
        let count = self.templates[first].chunks.len();
        match level {
            // After a statement; and while it waits.
            Level::ReadCommitted => {
                (0..count).flat_map(|number| [number + 1, number].map(|prefix| (prefix, number..number + 1))).collect()
            }
            Level::Snapshot | Level::Serializable => vec![(count, 0..count)],
        }
    }
}
