//! Every order of transactions: the plain way to explore, as the baseline to measure against and as the oracle of the tests.
//!
//! ```text
//!   a#0 then b#0      read x: t0 | a#0          whoever may begin, begins; whoever may have been read, was read
//!   b#0 then a#0      read x: t0 | b#0          the same history is met in many orders
//! ```
//!
//! [`Baseline`] keeps to the base levels as it goes, like the search without swaps: the paper calls it DFS. [`every_run`] keeps to
//! nothing, throws away what it met before, and asks the definition itself ([`skew_check::spec`]) about the rest: slow, obvious, and
//! sharing with the search only how transactions are run.

use crate::base::Base;
use crate::error::ExploreError;
use crate::explorable::Explorable;
use crate::outline::Options;
use crate::requests::Guide;
use crate::run::Run;
use crate::runner::{Halt, Node, Runner};
use skew_history::History;
use std::collections::BTreeMap;

/// An exploration of every order, on its way.
pub struct Baseline<'p, P: Explorable + ?Sized> {
    runner: Runner<'p, P>,
    stack: Vec<Node<P::Left>>,
}

impl<'p, P: Explorable + ?Sized> Baseline<'p, P> {
    /// An exploration of the whole program.
    pub fn new(program: &'p P, options: Options) -> Result<Baseline<'p, P>, ExploreError> {
        let runner = Runner::new(program, options)?;
        if runner.outline.is_on_server() {
            return Err(ExploreError::EngineBaseline(options.level));
        }
        let stack = vec![runner.root()];
        Ok(Baseline { runner, stack })
    }

    /// The next end of an order; the same history comes as often as there are orders that lead to it.
    pub fn next_run(&mut self) -> Result<Option<Run<'_, P>>, ExploreError> {
        while let Some(mut node) = self.stack.pop() {
            if node.history.pending().is_none() {
                let ready: Vec<_> = self.runner.ready(&node).collect();
                if ready.is_empty() {
                    return Ok(Some(Run::new(&self.runner, node)));
                }
                for number in ready.into_iter().rev() {
                    let mut next = node.clone();
                    self.runner.begin(&mut next, number);
                    self.stack.push(next);
                }
                continue;
            }
            match self.runner.run(&mut node, Guide::Levels)? {
                Halt::Ended | Halt::EndOfList => self.stack.push(node),
                Halt::Branched(branch) => {
                    for &source in branch.choices.iter().rev() {
                        let mut next = node.clone();
                        next.history.push_read(branch.key, branch.manner, branch.scanned, source);
                        self.stack.push(next);
                    }
                }
            }
        }
        Ok(None)
    }
}

/// All runs of a small program that its levels allow, by their patterns, from the definitions alone. Exponential in everything.
pub fn every_run<P: Explorable + ?Sized>(
    program: &P,
    options: Options,
) -> Result<BTreeMap<String, History>, ExploreError> {
    let mut baseline = Baseline::new(program, Options { base: Some(Base::Any), ..options })?;
    let level = baseline.runner.outline.level();
    let mut known = BTreeMap::new();
    while let Some(run) = baseline.next_run()? {
        if let std::collections::btree_map::Entry::Vacant(new) = known.entry(run.pattern()) {
            let history = run.history().ok();
            let allowed = history.filter(|history| skew_check::spec::satisfies(history, level));
            new.insert(allowed);
        }
    }
    Ok(known.into_iter().filter_map(|(pattern, history)| Some((pattern, history?))).collect())
}
