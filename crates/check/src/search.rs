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

use crate::anomaly::{Edge, EdgeKind, Literal};
use crate::budget::Budget;
use crate::graph::Node;
use crate::polygraph::{Consequence, Polygraph, Reach};
use crate::resolve::{Ambiguous, PackedWriter, ReadFrom, Resolved};
use crate::saturate::{Choices, wrote};
use crate::solver::{FinalCheck, Outcome, Solver};
use crate::theory::{Conditional, ConditionalId, Lit, NO_LIT, Role, Theory, Variable};
use skew_history::{EventId, TransactionId, Writer};

/// What a conditional edge stands for.
#[derive(Clone, Debug)]
struct Meaning {
    from: TransactionId,
    to: TransactionId,
    kind: EdgeKind,
}

/// The question for the solver.
pub(crate) struct Question {
    /// Open pairs first, then the candidates of ambiguous reads.
    pairs: Vec<(TransactionId, TransactionId)>,
    /// Per ambiguous read the first of its variables.
    first_candidate: Vec<Variable>,
    ambiguous: Vec<Ambiguous>,
    conditionals: Vec<Conditional>,
    /// Per literal of a pair the first edge that it brings, and the end.
    first_edge: Vec<u32>,
    /// Parallel to the conditional edges.
    meanings: Vec<Meaning>,
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
        let mut variables = question.pairs.len();
        for ambiguous in &question.ambiguous {
            question.first_candidate.push(Variable::new(variables));
            variables += ambiguous.candidates.len();
        }
        for number in 0..question.pairs.len() {
            let (first, second) = question.pairs[number];
            let before = Variable::new(number).positive();
            question.add_pair(polygraph, first, second, before);
            question.first_edge.push(question.conditionals.len() as u32);
            question.add_pair(polygraph, second, first, before.negated());
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
    fn before(&self, first: TransactionId, second: TransactionId) -> Option<Lit> {
        let pair = (first.min(second), first.max(second));
        let ascending = Variable::new(self.pairs.binary_search(&pair).ok()?).positive();
        Some(if first > second { ascending.negated() } else { ascending })
    }

    /// The literal "the read is from this one of its candidates".
    fn candidate(&self, read: usize, place: usize) -> Lit {
        Variable::new(self.first_candidate[read].index() + place).positive()
    }

    /// The ambiguous read that a variable is about, and the place among its candidates.
    fn candidate_of(&self, variable: Variable) -> (&Ambiguous, usize) {
        let read = self.first_candidate.partition_point(|&first| first <= variable) - 1;
        (&self.ambiguous[read], variable.index() - self.first_candidate[read].index())
    }

    /// What a conditional edge stands for, as the certificate tells it.
    pub(crate) fn told(&self, edge: ConditionalId) -> Edge {
        let Meaning { from, to, kind } = &self.meanings[edge.index()];
        Edge { from: Writer::Transaction(*from), to: Writer::Transaction(*to), kind: kind.clone() }
    }

    /// The literal as the certificate names it.
    pub(crate) fn literal(&self, literal: Lit) -> Literal {
        let positive = match self.pairs.get(literal.variable().index()) {
            Some(&(first, second)) => Literal::Before(first, second),
            None => {
                let (ambiguous, place) = self.candidate_of(literal.variable());
                Literal::ReadsFrom(ambiguous.event, ambiguous.candidates[place].into())
            }
        };
        if literal.is_positive() { positive } else { positive.negated() }
    }

    /// The solver's literal for one of the certificate's, when it is open.
    pub(crate) fn find(&self, literal: Literal) -> Option<Lit> {
        match literal {
            Literal::Before(first, second) => self.before(first, second),
            Literal::ReadsFrom(event, writer) => {
                let read = self.ambiguous.iter().position(|ambiguous| ambiguous.event == event)?;
                let candidates = &self.ambiguous[read].candidates;
                let place = candidates.iter().position(|&candidate| Writer::from(candidate) == writer)?;
                Some(self.candidate(read, place))
            }
            Literal::NotReadsFrom(..) => Some(self.find(literal.negated())?.negated()),
        }
    }

    fn add(&mut self, from: Node, to: Node, literals: [Lit; 2], role: Role, meaning: Meaning) {
        self.conditionals.push(Conditional { from, to, literals, role });
        self.meanings.push(meaning);
    }

    /// An overwrite: watched at psi, an edge elsewhere; at psi a locking one is both.
    fn add_overwrite(
        &mut self,
        polygraph: &Polygraph<'_, '_>,
        from: Node,
        to: Node,
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

    fn add_pair(&mut self, polygraph: &Polygraph<'_, '_>, first: TransactionId, second: TransactionId, literal: Lit) {
        let key = polygraph.common_keys(first, second).next().expect("a pair has a key in common");
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
                    let meaning = overwrite(reader, second, &read, first.into());
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
        for &(from, to) in polygraph.overwrites.edges() {
            let ends = (polygraph.rules.transaction(from), polygraph.rules.transaction(to));
            let (Some(reader), Some(later)) = ends else { continue };
            for read in resolved.reads(reader).iter().filter(|read| resolved.is_locking(read)) {
                let open = |writer| self.before(writer, later).is_some();
                let is_before = |writer| writer != later && !open(writer) && reach.knows(polygraph, writer, later);
                let known = |writer: &PackedWriter| writer.transaction().is_none_or(is_before);
                if let Some(writer) = read.writer().filter(|writer| wrote(resolved, later, read.key) && known(writer)) {
                    let meaning = overwrite(reader, later, read, writer);
                    self.add(from, to, [NO_LIT; 2], Role::LockingOverwrite, meaning);
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
            if let Some(from) = writer.transaction() {
                let meaning = Meaning { from, to: reader, kind: EdgeKind::ReadsFrom { read: event } };
                let (from, to) = (rules.commit(from), rules.read_target(reader, &read));
                self.add(from, to, [chosen, NO_LIT], Role::Dependency, meaning);
            }
            let Some(from) = rules.overwrite_source(reader, &read) else { continue };
            let others = rules.resolved.writers(key).iter().copied();
            for later in others.filter(|&later| writer != later.into() && later != reader) {
                let condition = match writer.transaction() {
                    None => NO_LIT,
                    Some(writer) => match self.before(writer, later) {
                        Some(literal) => literal,
                        None if reach.knows(polygraph, writer, later) => NO_LIT,
                        None => continue,
                    },
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
        let pair = |&(first, second): &(TransactionId, TransactionId)| {
            theory.place(polygraph.rules.commit(first)).min(theory.place(polygraph.rules.commit(second)))
        };
        let candidates = self.ambiguous.iter().flat_map(|ambiguous| vec![0; ambiguous.candidates.len()]);
        let ranks: Vec<u32> = self.pairs.iter().map(pair).chain(candidates).collect();
        let mut solver = Solver::new(theory, &ranks);
        for (read, ambiguous) in self.ambiguous.iter().enumerate() {
            let literals: Vec<Lit> = (0..ambiguous.candidates.len()).map(|place| self.candidate(read, place)).collect();
            for (place, &one) in literals.iter().enumerate() {
                literals[..place].iter().for_each(|&other| solver.add_given(vec![one.negated(), other.negated()]));
            }
            solver.add_given(literals);
        }
        let resolved = polygraph.rules.resolved;
        let excluded = resolved.excluded.iter().filter_map(|together| self.exclusion(resolved, together));
        excluded.for_each(|clause| solver.add_given(clause));
        solver.insert_unconditional();
        solver
    }

    /// That not all of these reads have these writers, unless it is certain that they do not.
    fn exclusion(&self, resolved: &Resolved<'_>, together: &[(EventId, PackedWriter)]) -> Option<Vec<Lit>> {
        let mut clause = Vec::new();
        for &(event, writer) in together {
            let reads = resolved.reads(resolved.history.transaction_of(event)).iter();
            match reads.into_iter().find(|read| read.event == event)?.writer() {
                Some(certain) if certain == writer => {}
                Some(_) => return None,
                None => clause.push(self.find(Literal::ReadsFrom(event, writer.into()))?.negated()),
            }
        }
        clause.sort_unstable();
        clause.dedup();
        Some(clause)
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
        let edges = self.first_edge[literal.index()] as usize..self.first_edge[literal.index() + 1] as usize;
        let against = |edge: &Conditional| theory.place(edge.from).saturating_sub(theory.place(edge.to));
        self.conditionals[edges].iter().map(|edge| u64::from(against(edge))).sum()
    }

    /// As the row has it: of a pair the order whose edges, overwrites included, go least against it; of candidates the last one
    /// before the reader.
    fn polarity(&self, polygraph: &Polygraph<'_, '_>, theory: &Theory<'_>, variable: Variable) -> bool {
        let rules = &polygraph.rules;
        if let Some(&(first, second)) = self.pairs.get(variable.index()) {
            let literals = [variable.positive(), variable.positive().negated()];
            let [forwards, backwards] = literals.map(|literal| self.displacement(theory, literal));
            let in_row = theory.place(rules.commit(first)) < theory.place(rules.commit(second));
            return if forwards == backwards { in_row } else { forwards < backwards };
        }
        let (ambiguous, number) = self.candidate_of(variable);
        let end = theory.place(rules.commit(ambiguous.reader));
        let place = |candidate: PackedWriter| match candidate.transaction() {
            None => 0,
            Some(writer) => theory.place(rules.commit(writer)) + 1,
        };
        let before = ambiguous.candidates.iter().filter(|&&candidate| place(candidate) <= end);
        let best = before.max_by_key(|&&candidate| place(candidate));
        best == Some(&ambiguous.candidates[number])
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

fn overwrite(reader: TransactionId, later: TransactionId, read: &ReadFrom, writer: PackedWriter) -> Meaning {
    let kind = EdgeKind::Overwrites { read: read.event, writer: writer.into() };
    Meaning { from: reader, to: later, kind }
}
