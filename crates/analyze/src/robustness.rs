//! Robustness: whether every execution is serializable, at one level for all or at a level for each procedure.
//!
//! ```text
//!   is every execution serializable?          RobustnessAnalysis::ask(levels)
//!   which procedures go together?             maximal_subsets(level): all sets that are robust, and that no procedure can be added to
//!   which level does each one need?           lowest(): begin with serializable for all, then lower one after the other as far as it goes
//! ```
//!
//! Transactions are independent of each other: that a session waits for one before it begins the next is not used
//! (but see [`follows_commits`](RobustnessAnalysis::follows_commits)). `robust` is a proof for all
//! numbers of instances and all parameters. `not robust` is exact for programs whose statements go by key, and otherwise only possible.
//!
//! Without FOR UPDATE there is one lowest allocation, and whatever is above it is robust, too. With FOR UPDATE neither is so: "lock the parent,
//! check, write" is robust at read committed and not at repeatable read, because the snapshot is older than the wait for the lock. So the
//! answer of [`lowest`](RobustnessAnalysis::lowest) is asked for once more as a whole.

use crate::search::{SearchOutcome, Searcher};
use crate::split::{Level, SplitFound};
use crate::steps::MOST_STEPS_IN_ALL;
use crate::template::{RowOperation, Template};
use crate::transaction::Transactions;
use crate::unfold::{TooMany, UnfoldOptions, Unfolded, Vocabulary, unfold};
use crate::witness::Witness;

/// More procedures than this have too many subsets.
const MOST_FOR_SUBSETS: usize = 14;

/// So many counterexamples are told of one level.
const MOST_TOLD: usize = 20;

/// With more procedures than this only pairs of them are looked at one by one.
const MOST_FOR_TRIPLES: usize = 12;

/// Two procedures that touch the same, one of them changing it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Conflict {
    /// The procedures, by number; twice the same where two instances of one meet.
    pub between: (usize, usize),
    /// The table.
    pub table: String,
}

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
    searcher: Searcher,
    functions: Vec<String>,
    given: Vec<String>,
    tables: Vec<String>,
}

impl RobustnessAnalysis {
    /// Unfolds the procedures of a program.
    pub fn new(transactions: Transactions, options: UnfoldOptions) -> Result<RobustnessAnalysis, TooMany> {
        let vocabulary = Vocabulary::of(&transactions);
        let Unfolded { templates, functions, given } = unfold(&transactions, &vocabulary, options)?;
        let (functions, tables) = (functions.into_iter().collect(), vocabulary.tables);
        let given = given.into_iter().collect();
        let searcher = Searcher::new(templates, MOST_STEPS_IN_ALL);
        Ok(RobustnessAnalysis { transactions, searcher, functions, given, tables })
    }

    /// The same, where all questions together take so many steps at most.
    pub fn within(self, steps: usize) -> RobustnessAnalysis {
        let searcher = Searcher::new(self.templates().to_vec(), steps);
        RobustnessAnalysis { searcher, ..self }
    }

    fn templates(&self) -> &[Template] {
        self.searcher.templates()
    }

    /// How many steps all questions so far have taken.
    pub fn steps(&self) -> usize {
        self.searcher.steps()
    }

    /// The procedures.
    pub fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    /// The columns that were taken for functions of their rows because no procedure writes them: `account.custid`.
    pub fn functions(&self) -> &[String] {
        &self.functions
    }

    /// The tables with rows that were taken to be there, because the text begins with them and no procedure inserts or deletes rows there.
    pub fn given(&self) -> &[String] {
        &self.given
    }

    /// Whether every execution of the procedures that have a level is serializable.
    pub fn ask(&self, levels: &[Option<Level>]) -> Robustness {
        match self.searcher.search(levels) {
            SearchOutcome::Nothing => Robustness::Robust,
            SearchOutcome::TooLong => {
                Robustness::Unknown("there are too many ways in which instances can meet".to_owned())
            }
            SearchOutcome::Found(found) => Robustness::NotRobust(Box::new(self.witness(&found, levels))),
        }
    }

    /// Counterexamples with all procedures at one level: one for each set of up to three procedures that is not robust while all parts of it are;
    /// none if all of them are robust. An error says why that is not known.
    pub fn counterexamples(&self, level: Level) -> Result<Vec<Witness>, String> {
        let count = self.transactions.procedures.len();
        let whole = match self.ask(&vec![Some(level); count]) {
            Robustness::Robust => return Ok(Vec::new()),
            Robustness::Unknown(reason) => return Err(reason),
            Robustness::NotRobust(witness) => *witness,
        };
        let largest = if count > MOST_FOR_TRIPLES { 2 } else { 3 };
        let mut broken: Vec<Vec<usize>> = Vec::new();
        let mut told = Vec::new();
        for set in small_sets(count, largest) {
            if told.len() == MOST_TOLD || broken.iter().any(|part| part.iter().all(|one| set.contains(one))) {
                continue;
            }
            let levels: Vec<Option<Level>> = (0..count).map(|one| set.contains(&one).then_some(level)).collect();
            if let Robustness::NotRobust(witness) = self.ask(&levels) {
                told.push(*witness);
                broken.push(set);
            }
        }
        // A cycle of four different procedures that no smaller set has.
        if told.is_empty() {
            told.push(whole);
        }
        Ok(told)
    }

    /// A counterexample in which two different procedures take part, whatever each of them does alone.
    pub fn counterexample_between(&self, one: usize, other: usize, level: Level) -> Option<Witness> {
        let levels = vec![Some(level); self.transactions.procedures.len()];
        [(one, other), (other, one)].into_iter().find_map(|(first, second)| {
            match self.searcher.search_between(first, second, level) {
                SearchOutcome::Found(found) => Some(self.witness(&found, &levels)),
                SearchOutcome::Nothing | SearchOutcome::TooLong => None,
            }
        })
    }

    /// Whether in every execution whoever depends on another commits later: each row that is read and that others change is locked by who reads it.
    /// Then the order of commits is a serial one, and sessions keep to it whatever they run one after the other.
    ///
    /// Who reads what another wrote, and who overwrites it, comes later anyway. Who reads a row before another changes it has committed by then,
    /// because of the lock; at read committed a locking read sees the latest version, at repeatable read it is refused if that is too new.
    pub fn follows_commits(&self) -> bool {
        let all = || self.templates().iter().flat_map(|template| template.operations().map(|(_, operation)| operation));
        let is_kept = |reader: &RowOperation| {
            let mut writers = all().filter(|one| one.table == reader.table && one.writes & reader.reads != 0);
            writers.all(|writer| reader.keeps_out(writer))
        };
        all().all(is_kept)
    }

    /// Which procedures meet in which tables, and one of them writes there: what an answer has looked at.
    pub fn conflicts(&self) -> Vec<Conflict> {
        let mut conflicts = std::collections::BTreeSet::new();
        for (number, one) in self.templates().iter().enumerate() {
            for other in &self.templates()[number..] {
                let between = (one.procedure.min(other.procedure), one.procedure.max(other.procedure));
                for (_, mine) in one.operations() {
                    let meets = other.operations().any(|(_, theirs)| mine.conflicts(theirs));
                    // Entries of an index belong to their table.
                    let table = self.tables[mine.table].split('@').next().unwrap_or_default().to_owned();
                    conflicts.extend(meets.then_some(Conflict { between, table }));
                }
            }
        }
        conflicts.into_iter().collect()
    }

    fn witness(&self, found: &SplitFound, levels: &[Option<Level>]) -> Witness {
        Witness::new((&self.transactions, &self.tables), self.templates(), found, levels)
    }

    /// The largest sets of procedures that are robust when all are at one level; nothing if that is not known.
    pub fn maximal_subsets(&self, level: Level) -> Option<Vec<Vec<usize>>> {
        let count = self.transactions.procedures.len();
        if count > MOST_FOR_SUBSETS {
            return None;
        }
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
            match self.searcher.search(&levels) {
                SearchOutcome::Nothing => robust.push(set),
                SearchOutcome::TooLong => return None,
                SearchOutcome::Found(found) => {
                    let procedure = |template: &usize| self.templates()[*template].procedure;
                    broken.push(found.templates.iter().fold(0, |set, template| set | 1 << procedure(template)));
                }
            }
        }
        Some(robust.into_iter().map(|set| (0..count).filter(|one| set >> one & 1 == 1).collect()).collect())
    }

    /// A level for each procedure so that every execution is serializable: none can be lowered alone. Nothing if that is not known.
    pub fn lowest(&self) -> Option<Vec<Level>> {
        let mut levels = vec![Level::Serializable; self.transactions.procedures.len()];
        let is_robust = |levels: &[Level]| {
            let levels: Vec<Option<Level>> = levels.iter().copied().map(Some).collect();
            matches!(self.searcher.search(&levels), SearchOutcome::Nothing)
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

/// All sets of at most `largest` numbers below `count`; smaller sets come first.
fn small_sets(count: usize, largest: usize) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = (0..count).map(|one| vec![one]).collect();
    let mut from = 0;
    for _ in 1..largest {
        let end = sets.len();
        for place in from..end {
            let longer = |next: usize| sets[place].iter().copied().chain([next]).collect();
            let last = sets[place].last().copied().unwrap_or_default();
            let more: Vec<Vec<usize>> = (last + 1..count).map(longer).collect();
            sets.extend(more);
        }
        from = end;
    }
    sets
}
