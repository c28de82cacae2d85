//! The search: from history to history, each complete one exactly once.
//!
//! ```text
//!   pop a history ──> run its pending transaction (else begin the next one in the oracle order)
//!                        read with several possible writers   ──> one history per writer
//!                        commit                               ──> go on, and one history per swap
//!                        nothing left to begin                ──> a run of the program
//! ```
//!
//! The stack holds histories that wait; it is as deep as a path of the tree has branches, and a history is a few words per transaction, so
//! memory does not grow with the number of runs. A history that waits is a whole subtree by itself: it can be written down
//! ([`Subtree`]), explored elsewhere, or kept in a file for tomorrow. The runs of a search are those of its subtrees together, whatever
//! the order and wherever they are explored.
//!
//! **How much is left** is estimated as Knuth does: a history that branches into four gives each a quarter of its share of the tree. When
//! runs with a total share of 1/50 have been found, there are about fifty times as many.

use crate::error::ExploreError;
use crate::explorable::Explorable;
use crate::outline::Options;
use crate::requests::{Branch, Guide};
use crate::run::Run;
use crate::runner::{Halt, Node, Runner};
use crate::schedules::beats::{self, Beat};
use crate::schedules::{Met, ServerSearch};
use crate::set::Number;
use crate::subtree::Subtree;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::AddAssign;

/// What a search has done so far. Kept beside a frontier, it lets a search that goes on another day tell the whole.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Complete histories that were found, before any filter.
    pub explored: u64,
    /// Histories that could not go on. At read-committed, read-atomic and causal there is none.
    pub blocked: u64,
    /// Which part of the tree is done, between 0 and 1.
    pub share: f64,
}

impl Progress {
    /// About how many complete histories there are in all; nothing before the first one.
    pub fn estimate(&self) -> Option<f64> {
        (self.explored > 0 && self.share > 0.0).then(|| self.explored as f64 / self.share)
    }
}

impl AddAssign for Progress {
    /// What was done here and elsewhere, of one exploration.
    fn add_assign(&mut self, other: Progress) {
        self.explored += other.explored;
        self.blocked += other.blocked;
        self.share += other.share;
    }
}

/// Histories that wait, the largest share of the tree first; of equal ones, the one whose order of transactions comes first.
struct BySize<L>(Node<L>);

impl<L> Ord for BySize<L> {
    fn cmp(&self, other: &BySize<L>) -> Ordering {
        let (one, other) = (&self.0, &other.0);
        one.share.total_cmp(&other.share).then_with(|| other.history.order.cmp(&one.history.order))
    }
}

impl<L> PartialOrd for BySize<L> {
    fn partial_cmp(&self, other: &BySize<L>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<L> PartialEq for BySize<L> {
    fn eq(&self, other: &BySize<L>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<L> Eq for BySize<L> {}

/// A search on its way.
pub struct Search<'p, P: Explorable + ?Sized> {
    runner: Runner<'p, P>,
    stack: Vec<Node<P::Left>>,
    progress: Progress,
    /// At a level of an engine: the search of schedules, which has a stack of its own.
    server: Option<ServerSearch<P::Left>>,
}

impl<'p, P: Explorable + ?Sized> Search<'p, P> {
    /// A search of the whole program.
    pub fn new(program: &'p P, options: Options) -> Result<Search<'p, P>, ExploreError> {
        let mut search = Search::nothing(program, options)?;
        match &mut search.server {
            Some(server) => server.add_whole(&search.runner),
            None => search.stack.push(search.runner.root()),
        }
        Ok(search)
    }

    /// A search of nothing, to which subtrees are added.
    pub fn nothing(program: &'p P, options: Options) -> Result<Search<'p, P>, ExploreError> {
        let runner = Runner::new(program, options)?;
        let server = runner.outline.is_on_server().then(|| ServerSearch::new(options.memory));
        Ok(Search { runner, stack: Vec::new(), progress: Progress::default(), server })
    }

    /// Adds a subtree to what is left; one that this program does not have is an error.
    pub fn add(&mut self, subtree: &Subtree) -> Result<(), ExploreError> {
        match &mut self.server {
            Some(server) => server.add_steps(&mut self.runner, &subtree.steps()),
            None => {
                self.stack.push(subtree.follow(&mut self.runner)?);
                Ok(())
            }
        }
    }

    /// At a level of an engine: the statements of one run in the order in which somebody sends them who has a terminal per session. The
    /// program has to remember what it says. Nothing is added to what is left.
    pub fn beats(&mut self, run: &Subtree) -> Result<Vec<Beat>, ExploreError> {
        beats::beats(&mut self.runner, &run.steps())
    }

    /// What is left to explore. Together with what was found it is the whole.
    pub fn frontier(&self) -> Vec<Subtree> {
        let waiting = self.server.iter().flat_map(|server| server.waiting());
        let on_server = waiting.map(|(steps, share)| Subtree::of_steps(steps, true, share));
        self.stack.iter().map(|node| Subtree::of(node, &self.runner.keys)).chain(on_server).collect()
    }

    /// Gives the largest part of what is left away; nothing if there is only one, or none.
    pub fn give_away(&mut self) -> Option<Subtree> {
        if self.stack.len() < 2 {
            return None;
        }
        // The bottom of the stack is where the tree branched first.
        let node = self.stack.remove(0);
        Some(Subtree::of(&node, &self.runner.keys))
    }

    /// Branches until there are at least so many subtrees, or nothing branches any more. Runs that are found on the way are subtrees too.
    pub fn split(&mut self, parts: usize) -> Result<(), ExploreError> {
        let mut finished = Vec::new();
        let mut waiting: BinaryHeap<BySize<P::Left>> = BinaryHeap::new();
        loop {
            waiting.extend(self.stack.drain(..).map(BySize));
            if waiting.len() + finished.len() >= parts {
                break;
            }
            let Some(BySize(node)) = waiting.pop() else { break };
            finished.extend(self.advance(node)?);
        }
        self.stack = finished;
        self.stack.extend(waiting.into_sorted_vec().into_iter().map(|BySize(node)| node));
        Ok(())
    }

    /// What was done so far.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// The next run of the program that the base levels allow; nothing when there is no other.
    pub fn next_run(&mut self) -> Result<Option<Run<'_, P>>, ExploreError> {
        self.next_run_unless(&|| false)
    }

    /// The same; nothing, too, when somebody says meanwhile that it should stop, which leaves what is left as it is. From one run to the next
    /// it can be far: many schedules may come to what was met before.
    pub fn next_run_unless(&mut self, is_stopped: &dyn Fn() -> bool) -> Result<Option<Run<'_, P>>, ExploreError> {
        if self.server.is_some() {
            return self.next_on_server(is_stopped);
        }
        while let Some(node) = self.stack.pop_if(|_| !is_stopped()) {
            if let Some(node) = self.advance(node)? {
                self.progress.explored += 1;
                self.progress.share += node.share;
                return Ok(Some(Run::new(&self.runner, node)));
            }
        }
        Ok(None)
    }

    fn next_on_server(&mut self, is_stopped: &dyn Fn() -> bool) -> Result<Option<Run<'_, P>>, ExploreError> {
        let Some(server) = &mut self.server else { return Ok(None) };
        while !is_stopped() {
            let Some(met) = server.next(&mut self.runner)? else { break };
            match met {
                Met::Nothing(share) => self.progress.share += share,
                Met::Run(node) => {
                    self.progress.explored += 1;
                    self.progress.share += node.share;
                    return Ok(Some(Run::new(&self.runner, node)));
                }
            }
        }
        Ok(None)
    }

    /// Explores a history until it is complete, leaving on the stack what branches off; nothing if it is blocked.
    fn advance(&mut self, mut node: Node<P::Left>) -> Result<Option<Node<P::Left>>, ExploreError> {
        loop {
            if node.history.pending().is_none() && !self.begin_next(&mut node) {
                return Ok(Some(node));
            }
            match self.runner.run(&mut node, Guide::Levels)? {
                Halt::Ended => self.push_swaps(&mut node),
                Halt::Branched(branch) if branch.choices.is_empty() => {
                    self.progress.blocked += 1;
                    self.progress.share += node.share;
                    return Ok(None);
                }
                Halt::Branched(branch) => self.push_choices(&mut node, &branch),
                Halt::EndOfList => {}
            }
        }
    }

    /// Begins the first transaction of the oracle order that has not begun; false if there is none.
    fn begin_next(&self, node: &mut Node<P::Left>) -> bool {
        let next = self.runner.ready(node).next();
        if let Some(next) = next {
            self.runner.begin(node, next);
        }
        next.is_some()
    }

    /// Leaves on the stack what swaps with the transaction that has just ended lead to.
    fn push_swaps(&mut self, node: &mut Node<P::Left>) {
        let swaps = node.history.swaps(&self.runner.keys, &self.runner.outline.bases);
        node.share /= (swaps.len() + 1) as f64;
        for history in swaps {
            let kept = |number: usize| history.complete.contains(number as Number);
            let left = node.left.iter().enumerate().map(|(number, left)| left.clone().filter(|_| kept(number)));
            self.stack.push(Node { left: left.collect(), share: node.share, server: None, history });
        }
    }

    /// Leaves on the stack all answers to a read but the first, and goes on with that.
    fn push_choices(&mut self, node: &mut Node<P::Left>, branch: &Branch) {
        let Branch { key, manner, scanned, ref choices } = *branch;
        node.share /= choices.len() as f64;
        for &source in choices[1..].iter().rev() {
            let mut other = node.clone();
            other.history.push_read(key, manner, scanned, source);
            self.stack.push(other);
        }
        node.history.push_read(key, manner, scanned, choices[0]);
    }
}
