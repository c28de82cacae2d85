//! From open pairs and ambiguous reads to the solver's variables and edges, and back.
//!
//! An open pair is one variable. An ambiguous read has one variable per candidate, of which exactly one is true; the overwrites that it
//! would suffer have two conditions: that it read this version, and that the version was before the overwriting one.
//!
//! ```text
//!   t1: w(x,1)   t2: w(x,1)   t3: r(x,1)                     p: t1 before t2     c1, c2: t3 read from t1, from t2
//!
//!   c1 or c2, not both     t1 → t2 if p      t1 → t3 if c1      t3 → t2 if c1 and p      …
//! ```
//!
//! The polarity of every decision comes from the theory's row, and that is most of what makes the search short.

use crate::anomaly::{EdgeKind, Literal};
use crate::budget::Budget;
use crate::polygraph::{Consequence, Polygraph, Reach};
use crate::resolve::{Ambiguous, INITIAL, ReadFrom, writer_of};
use crate::saturate::{Choices, wrote};
use crate::solver::{FinalCheck, Outcome, Solver};
use crate::theory::{Conditional, Lit, NO_LIT, Role, Theory};
use skew_history::{KeyId, TransactionId};

/// What a conditional edge stands for, as the certificate tells it.
#[derive(Clone, Debug)]
pub(crate) struct Meaning {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) kind: EdgeKind,
}

/// The question for the solver.
pub(crate) struct Question {
    /// Open pairs first, then the candidates of ambiguous reads.
    pairs: Vec<(u32, u32)>,
    /// Per ambiguous read the first of its variables.
    first_candidate: Vec<u32>,
    ambiguous: Vec<Ambiguous>,
    conditionals: Vec<Conditional>,
    /// Per literal of a pair the first edge that it brings, and the end.
    first_edge: Vec<u32>,
    /// Parallel to the conditional edges.
    pub(crate) meanings: Vec<Meaning>,
}

impl Question {
    pub(crate) fn new(polygraph: &Polygraph<'_, '_>, reach: &Reach) -> Question {
        let resolved = polygraph.rules.resolved;
        let mut question = Question {
            pairs: polygraph.open.clone(),
            first_candidate: Vec::new(),
            ambiguous: resolved.ambiguous.clone(),
            conditionals: Vec::new(),
            first_edge: vec![0],
            meanings: Vec::new(),
        };
        let mut variable = question.pairs.len() as u32;
        for ambiguous in &question.ambiguous {
            question.first_candidate.push(variable);
            variable += ambiguous.candidates.len() as u32;
        }
        for number in 0..question.pairs.len() {
            let (first, second) = question.pairs[number];
            question.add_pair(polygraph, first, second, 2 * number as Lit);
            question.first_edge.push(question.conditionals.len() as u32);
            question.add_pair(polygraph, second, first, 2 * number as Lit + 1);
            question.first_edge.push(question.conditionals.len() as u32);
        }
        question.add_known_locking_overwrites(polygraph, reach);
        for number in 0..question.ambiguous.len() {
            question.add_ambiguous(polygraph, reach, number);
        }
        question
    }

    pub(crate) fn variable_count(&self) -> usize {
        self.pairs.len() + self.ambiguous.iter().map(|ambiguous| ambiguous.candidates.len()).sum::<usize>()
    }

    /// How many edges the open pairs might bring.
    pub(crate) fn conditional_count(&self) -> usize {
        self.conditionals.len()
    }

    /// The literal "`first` before `second`", when the pair is open.
    fn before(&self, first: u32, second: u32) -> Option<Lit> {
        let pair = (first.min(second), first.max(second));
        let number = self.pairs.binary_search(&pair).ok()? as Lit;
        Some(2 * number + Lit::from(first > second))
    }

    fn candidate(&self, read: usize, place: usize) -> Lit {
        2 * (self.first_candidate[read] + place as u32)
    }

    /// The literal as the certificate names it.
    pub(crate) fn literal(&self, literal: Lit) -> Literal {
        let (variable, negated) = ((literal >> 1) as usize, literal & 1 == 1);
        let positive = match self.pairs.get(variable) {
            Some(&(first, second)) => Literal::Before(TransactionId(first), TransactionId(second)),
            None => {
                let read = self.first_candidate.partition_point(|&first| first as usize <= variable) - 1;
                let place = variable - self.first_candidate[read] as usize;
                Literal::ReadsFrom(self.ambiguous[read].event, writer_of(self.ambiguous[read].candidates[place]))
            }
        };
        if negated { positive.negated() } else { positive }
    }

    /// The solver's literal for one of the certificate's, when it is open.
    pub(crate) fn find(&self, literal: Literal) -> Option<Lit> {
        match literal {
            Literal::Before(first, second) => self.before(first.0, second.0),
            Literal::ReadsFrom(event, writer) => {
                let read = self.ambiguous.iter().position(|ambiguous| ambiguous.event == event)?;
                let candidates = &self.ambiguous[read].candidates;
                let place = candidates.iter().position(|&candidate| writer_of(candidate) == writer)?;
                Some(self.candidate(read, place))
            }
            Literal::NotReadsFrom(..) => Some(self.find(literal.negated())? ^ 1),
        }
    }

    fn add(&mut self, from: u32, to: u32, literals: [Lit; 2], role: Role, meaning: Meaning) {
        self.conditionals.push(Conditional { from, to, literals, role });
        self.meanings.push(meaning);
    }

    /// An overwrite: watched at psi, an edge elsewhere; at psi a locking one is both.
    fn add_overwrite(
        &mut self,
        polygraph: &Polygraph<'_, '_>,
        from: u32,
        to: u32,
        literals: [Lit; 2],
        meaning: Meaning,
    ) {
        if !polygraph.rules.watches_overwrites() {
            return self.add(from, to, literals, Role::Dependency, meaning);
        }
        let EdgeKind::Overwrites { read, .. } = meaning.kind else { unreachable!("an overwrite") };
        if polygraph.rules.resolved.history.event(read).locking {
            self.add(from, to, literals, Role::LockingOverwrite, meaning.clone());
        }
        self.add(from, to, literals, Role::Watched, meaning);
    }

    fn add_pair(&mut self, polygraph: &Polygraph<'_, '_>, first: u32, second: u32, literal: Lit) {
        let key = KeyId(polygraph.common_keys(first, second).next().expect("a pair has a key in common"));
        let mut found = Vec::new();
        polygraph.consequences(first, second, |consequence| {
            found.push(consequence);
            true
        });
        for consequence in found {
            match consequence {
                Consequence::Order { from, to } => {
                    let meaning = Meaning { from: first, to: second, kind: EdgeKind::VersionOrder { key } };
                    self.add(from, to, [literal, NO_LIT], Role::Dependency, meaning);
                }
                Consequence::Overwrite { from, to, read } => {
                    let reader = polygraph.rules.transaction(from).expect("a reader");
                    let meaning = overwrite(reader, second, &read, first);
                    self.add_overwrite(polygraph, from, to, [literal, NO_LIT], meaning);
                }
            }
        }
    }

    /// At psi, overwrites of locking reads that are certain stand in the graph too.
    fn add_known_locking_overwrites(&mut self, polygraph: &Polygraph<'_, '_>, reach: &Reach) {
        let resolved = polygraph.rules.resolved;
        if !polygraph.rules.watches_overwrites() || !resolved.has_locking {
            return;
        }
        for &(reader, later) in polygraph.overwrites.edges() {
            for read in resolved.reads(reader).iter().filter(|read| resolved.is_locking(read)) {
                let open = |writer| self.before(writer, later).is_some();
                let known = |writer| {
                    writer == INITIAL || writer != later && !open(writer) && reach.knows(polygraph, writer, later)
                };
                if let Some(writer) = read.writer().filter(|&writer| wrote(resolved, later, read.key) && known(writer))
                {
                    let meaning = overwrite(reader, later, read, writer);
                    self.add(reader, later, [NO_LIT; 2], Role::LockingOverwrite, meaning);
                }
            }
        }
    }

    fn add_ambiguous(&mut self, polygraph: &Polygraph<'_, '_>, reach: &Reach, number: usize) {
        let rules = &polygraph.rules;
        let Ambiguous { event, reader, key, candidates } = self.ambiguous[number].clone();
        let read = *rules.resolved.reads(reader).iter().find(|read| read.event == event).expect("a read of the reader");
        for (place, &writer) in candidates.iter().enumerate() {
            let chosen = self.candidate(number, place);
            if writer != INITIAL {
                let meaning = Meaning { from: writer, to: reader, kind: EdgeKind::ReadsFrom { read: event } };
                let (from, to) = (rules.commit(writer), rules.read_target(reader, &read));
                self.add(from, to, [chosen, NO_LIT], Role::Dependency, meaning);
            }
            let Some(from) = rules.overwrite_source(reader, &read) else { continue };
            for &later in rules.resolved.writers(key).iter().filter(|&&later| later != writer && later != reader) {
                let open = self.before(writer, later).filter(|_| writer != INITIAL);
                let known = || writer == INITIAL || reach.knows(polygraph, writer, later);
                let condition = match open {
                    Some(literal) => literal,
                    None if known() => NO_LIT,
                    None => continue,
                };
                let meaning = overwrite(reader, later, &read, writer);
                self.add_overwrite(polygraph, from, rules.commit(later), [chosen, condition], meaning);
            }
        }
    }

    /// A solver for this question.
    pub(crate) fn solver<'g>(&self, polygraph: &'g Polygraph<'_, '_>) -> Solver<'g> {
        let watched = polygraph.overwrites.edges().to_vec();
        let theory = Theory::new(&polygraph.graph, &polygraph.order, watched, self.conditionals.clone());
        // Pairs in the order in which the row comes to them, so that what is decided next to each other stands next to each other.
        let pair = |&(first, second): &(u32, u32)| {
            theory.place(polygraph.rules.commit(first)).min(theory.place(polygraph.rules.commit(second)))
        };
        let candidates = self.ambiguous.iter().flat_map(|ambiguous| vec![0; ambiguous.candidates.len()]);
        let ranks: Vec<u32> = self.pairs.iter().map(pair).chain(candidates).collect();
        let mut solver = Solver::new(theory, &ranks);
        for (read, ambiguous) in self.ambiguous.iter().enumerate() {
            let literals: Vec<Lit> = (0..ambiguous.candidates.len()).map(|place| self.candidate(read, place)).collect();
            for (place, &one) in literals.iter().enumerate() {
                literals[..place].iter().for_each(|&other| solver.add_given(vec![one ^ 1, other ^ 1]));
            }
            solver.add_given(literals);
        }
        solver.insert_unconditional();
        solver
    }

    /// Searches; `check` may refuse a full assignment with a clause.
    pub(crate) fn search<'g>(
        &self,
        polygraph: &Polygraph<'_, '_>,
        solver: &mut Solver<'g>,
        check: FinalCheck<'_, 'g>,
        budget: &mut Budget<'_>,
    ) -> Outcome {
        solver.search(&|theory, variable| self.polarity(polygraph, theory, variable), check, budget)
    }

    /// How far the edges that a literal of a pair brings go against the row.
    fn displacement(&self, theory: &Theory<'_>, literal: Lit) -> u64 {
        let edges = self.first_edge[literal as usize] as usize..self.first_edge[literal as usize + 1] as usize;
        let against = |edge: &Conditional| theory.place(edge.from).saturating_sub(theory.place(edge.to));
        self.conditionals[edges].iter().map(|edge| u64::from(against(edge))).sum()
    }

    /// As the row has it: of a pair the order whose edges, overwrites included, go least against it; of candidates the last one
    /// before the reader.
    fn polarity(&self, polygraph: &Polygraph<'_, '_>, theory: &Theory<'_>, variable: u32) -> bool {
        let rules = &polygraph.rules;
        if let Some(&(first, second)) = self.pairs.get(variable as usize) {
            let [forwards, backwards] =
                [2 * variable, 2 * variable + 1].map(|literal| self.displacement(theory, literal));
            let in_row = theory.place(rules.commit(first)) < theory.place(rules.commit(second));
            return if forwards == backwards { in_row } else { forwards < backwards };
        }
        let read = self.first_candidate.partition_point(|&first| first <= variable) - 1;
        let ambiguous = &self.ambiguous[read];
        let end = theory.place(rules.commit(ambiguous.reader));
        let place = |candidate: u32| match candidate {
            INITIAL => 0,
            writer => theory.place(rules.commit(writer)) + 1,
        };
        let before = ambiguous.candidates.iter().filter(|&&candidate| place(candidate) <= end);
        let best = before.max_by_key(|&&candidate| place(candidate));
        best == Some(&ambiguous.candidates[(variable - self.first_candidate[read]) as usize])
    }

    /// The writers that a full assignment chooses.
    pub(crate) fn choices(&self, solver: &Solver<'_>) -> Choices {
        let chosen = |(read, ambiguous): (usize, &Ambiguous)| {
            let place = (0..ambiguous.candidates.len()).find(|&place| solver.is_true(self.candidate(read, place)));
            ambiguous.candidates[place.expect("one candidate is chosen")]
        };
        self.ambiguous.iter().enumerate().map(chosen).collect()
    }
}

fn overwrite(reader: u32, later: u32, read: &ReadFrom, writer: u32) -> Meaning {
    let kind = EdgeKind::Overwrites { read: read.event, writer: writer_of(writer) };
    Meaning { from: reader, to: later, kind }
}
