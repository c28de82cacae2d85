//! Robustness: whether every execution is serializable, at one level for all or at a level for each procedure.
//!
//! ```text
//!   is every execution serializable?          RobustnessAnalysis::ask(levels)
//!   which procedures go together?             maximal_subsets(level): all sets that are robust, and that no procedure can be added to
//!   which level does each one need?           lowest(): begin with serializable for all, then lower one after the other as far as it goes
//! ```
//!
//! Transactions are independent of each other: that a session waits for one before it begins the next is not used. `robust` is a proof for all
//! numbers of instances and all parameters. `not robust` is exact for programs whose statements go by key, and otherwise only possible.
//!
//! Without FOR UPDATE there is one lowest allocation, and whatever is above it is robust, too. With FOR UPDATE neither is so: "lock the parent,
//! check, write" is robust at read committed and not at repeatable read, because the snapshot is older than the wait for the lock. So the
//! answer of [`lowest`](RobustnessAnalysis::lowest) is asked for once more as a whole.

use crate::closure::TermGraph;
use crate::search::{SearchOutcome, Searcher, SplitFound, term_graphs};
use crate::split::Level;
use crate::template::Template;
use crate::transaction::Transactions;
use crate::unfold::{TooMany, UnfoldOptions, Unfolded, Vocabulary, unfold};
use crate::witness::Witness;

/// More procedures than this have too many subsets.
const MOST_FOR_SUBSETS: usize = 14;

/// What is known of a program at some levels.
#[derive(Clone, Debug)]
pub enum Robustness {
    /// Every execution is serializable.
    Robust,
    /// This one is not.
    NotRobust(Box<Witness>),
    /// It was given up, for this reason.
    Unknown(String),
}

impl Robustness {
    /// Whether it is proved.
    pub fn is_robust(&self) -> bool {
        matches!(self, Robustness::Robust)
    }
}

/// A program, ready for questions.
pub struct RobustnessAnalysis {
    transactions: Transactions,
    templates: Vec<Template>,
    graphs: Vec<TermGraph>,
    functions: Vec<String>,
    tables: Vec<String>,
}

impl RobustnessAnalysis {
    /// Unfolds the procedures of a program.
    pub fn new(transactions: Transactions, options: UnfoldOptions) -> Result<RobustnessAnalysis, TooMany> {
        let vocabulary = Vocabulary::of(&transactions);
        let Unfolded { templates, functions } = unfold(&transactions, &vocabulary, options)?;
        let (functions, tables) = (functions.into_iter().collect(), vocabulary.tables);
        let graphs = term_graphs(&templates);
        Ok(RobustnessAnalysis { transactions, templates, graphs, functions, tables })
    }

    /// The procedures.
    pub fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    /// The columns that were taken for functions of their rows because no procedure writes them: `account.custid`.
    pub fn functions(&self) -> &[String] {
        &self.functions
    }

    /// Whether every execution of the procedures that have a level is serializable.
    pub fn ask(&self, levels: &[Option<Level>]) -> Robustness {
        self.answer(&Searcher::new(&self.templates, &self.graphs), levels)
    }

    fn answer(&self, searcher: &Searcher<'_>, levels: &[Option<Level>]) -> Robustness {
        match searcher.search(levels) {
            SearchOutcome::Nothing => Robustness::Robust,
            SearchOutcome::TooLong => {
                Robustness::Unknown("there are too many ways in which instances can meet".to_owned())
            }
            SearchOutcome::Found(found) => Robustness::NotRobust(Box::new(self.witness(&found, levels))),
        }
    }

    fn witness(&self, found: &SplitFound, levels: &[Option<Level>]) -> Witness {
        Witness::new((&self.transactions, &self.tables), &self.templates, found, levels)
    }

    /// The largest sets of procedures that are robust when all are at one level; nothing if that is not known.
    pub fn maximal_subsets(&self, level: Level) -> Option<Vec<Vec<usize>>> {
        let count = self.transactions.procedures.len();
        if count > MOST_FOR_SUBSETS {
            return None;
        }
        let searcher = Searcher::new(&self.templates, &self.graphs);
        let mut sets: Vec<u32> = (1..1_u32 << count).collect();
        sets.sort_by_key(|set| std::cmp::Reverse(set.count_ones()));
        let mut robust: Vec<u32> = Vec::new();
        let mut broken: Vec<u32> = Vec::new();
        for set in sets {
            // Parts of robust sets are robust, and what contains a counterexample has it.
            let is_part = robust.iter().any(|larger| set & larger == set);
            if is_part || broken.iter().any(|smaller| set & smaller == *smaller) {
                continue;
            }
            let levels: Vec<Option<Level>> = (0..count).map(|one| (set >> one & 1 == 1).then_some(level)).collect();
            match searcher.search(&levels) {
                SearchOutcome::Nothing => robust.push(set),
                SearchOutcome::TooLong => return None,
                SearchOutcome::Found(found) => {
                    let procedure = |template: &usize| self.templates[*template].procedure;
                    broken.push(found.templates.iter().fold(0, |set, template| set | 1 << procedure(template)));
                }
            }
        }
        Some(robust.into_iter().map(|set| (0..count).filter(|one| set >> one & 1 == 1).collect()).collect())
    }

    /// A level for each procedure so that every execution is serializable: none can be lowered alone. Nothing if that is not known.
    pub fn lowest(&self) -> Option<Vec<Level>> {
        let searcher = Searcher::new(&self.templates, &self.graphs);
        let mut levels = vec![Level::Serializable; self.transactions.procedures.len()];
        let is_robust = |levels: &[Level]| {
            let levels: Vec<Option<Level>> = levels.iter().copied().map(Some).collect();
            matches!(searcher.search(&levels), SearchOutcome::Nothing)
        };
        if !is_robust(&levels) {
            return None;
        }
        for number in 0..levels.len() {
            for lower in [Level::ReadCommitted, Level::Snapshot] {
                let mut tried = levels.clone();
                tried[number] = lower;
                if is_robust(&tried) {
                    levels = tried;
                    break;
                }
            }
        }
        is_robust(&levels).then_some(levels)
    }
}
