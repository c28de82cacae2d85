//! The encoding of a question: instances that run some procedure each, what they see, and which dependencies there are or are not.
//!
//! An edge that *must* be there comes from some pair of statements and one record: a record of its own, unless one of the two statements names
//! its row. An edge that must *not* be there is refused for every pair of statements and every record that is known by name, which is less
//! than for all rows: what is missing makes a question easier to satisfy, never harder.

use super::access::{Record, RecordNumber, RowAccess};
use super::claims::{Claim, ValueNumber};
use super::conflict::{Numbered, may_conflict};
use super::ground::Ground;
use super::shape::ProgramShape;
use super::specification::{RuleAtom, Specification, SpecificationRule};
use super::walk::Walk;
use crate::transaction::Transactions;
use crate::witness::DependencyKind;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Which round of a loop an edge comes from at its end, and at its start.
const ROUND_IN: usize = 0;
const ROUND_OUT: usize = 1;
const ROUNDS: usize = 2;

const KINDS: [DependencyKind; 3] = [DependencyKind::ReadsFrom, DependencyKind::Replaces, DependencyKind::Overwrites];

/// A way in which an edge can be there.
#[derive(Clone, Debug)]
pub(crate) struct EdgeWay {
    pub(crate) holds: Claim,
    pub(crate) kind: DependencyKind,
    /// The accesses by number, of the first instance and of the second.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) record: RecordNumber,
}

/// A question on its way.
pub(crate) struct Encoding<'a> {
    pub(crate) ground: Ground<'a>,
    pub(crate) accesses: Vec<Vec<RowAccess>>,
    /// Per instance and procedure whether it runs it; nothing where it may not.
    pub(crate) runs: Vec<Vec<Option<Claim>>>,
    /// The values of each instance, its parameters first.
    pub(crate) pools: Vec<Vec<ValueNumber>>,
    /// The records of edges, per table.
    free_records: BTreeMap<usize, Vec<RecordNumber>>,
    both_write: FxHashMap<(usize, usize), Claim>,
    /// Per instance that what it does not see comes after all that it sees.
    exact: Vec<Claim>,
}

impl<'a> Encoding<'a> {
    /// Instances that may each run one of some procedures.
    pub(crate) fn new(
        shape: &'a ProgramShape,
        transactions: &Transactions,
        specification: &Specification,
        allowed: &[Vec<usize>],
    ) -> Encoding<'a> {
        let mut ground = Ground::new(shape, specification.timing, allowed.len());
        let (mut accesses, mut runs, mut pools) = (Vec::new(), Vec::new(), Vec::new());
        for (instance, allowed) in allowed.iter().enumerate() {
            let runs_one = choose(&mut ground, transactions.procedures.len(), allowed);
            let (mut pool, mut all) = (Vec::new(), Vec::new());
            for (procedure, flow) in transactions.procedures.iter().enumerate() {
                let Some(is_run) = runs_one[procedure] else { continue };
                let walk = Walk {
                    ground: &mut ground,
                    flow,
                    instance,
                    procedure,
                    rounds: ROUNDS,
                    pool: &mut pool,
                    used: 0,
                    accesses: Vec::new(),
                    computed: BTreeMap::new(),
                    passed: Vec::new(),
                };
                all.extend(walk.run(is_run));
            }
            accesses.push(all);
            runs.push(runs_one);
            pools.push(pool);
        }
        let (free_records, both_write) = (BTreeMap::new(), FxHashMap::default());
        let mut encoding = Encoding { ground, accesses, runs, pools, free_records, both_write, exact: Vec::new() };
        encoding.exact = encoding.exactness(transactions, specification);
        encoding
    }

    pub(crate) fn size(&self) -> usize {
        self.accesses.len()
    }

    fn exactness(&mut self, transactions: &Transactions, specification: &Specification) -> Vec<Claim> {
        let has = |level: &str| specification.has(level);
        let everywhere =
            specification.timing.is_some() || has("prefix") || has("serializable") || has("psi") && has("causal");
        let single = specification.has_for("prefix");
        let mut exact = Vec::new();
        for instance in 0..self.size() {
            let runs = |procedure: &&str| {
                let number = transactions.procedures.iter().position(|flow| flow.name == **procedure)?;
                self.runs[instance][number]
            };
            let some: Vec<Claim> = single.iter().filter_map(runs).collect();
            let claims = &mut self.ground.claims;
            exact.push(if everywhere { claims.yes() } else { claims.any(some) });
        }
        exact
    }
}

/// Exactly one of the allowed procedures is run.
fn choose(ground: &mut Ground<'_>, procedures: usize, allowed: &[usize]) -> Vec<Option<Claim>> {
    let mut runs = vec![None; procedures];
    let mut chosen: Vec<Claim> = Vec::new();
    for &procedure in allowed {
        let claim = if allowed.len() == 1 { ground.claims.yes() } else { ground.claims.free() };
        chosen.iter().for_each(|other| ground.claims.require([!claim, !*other]));
        chosen.push(claim);
        runs[procedure] = Some(claim);
    }
    ground.claims.require(chosen);
    runs
}

/// Edges.
impl Encoding<'_> {
    pub(super) fn numbered(&self, instance: usize) -> Vec<(usize, RowAccess)> {
        self.accesses[instance].iter().cloned().enumerate().collect()
    }

    /// A record of a table that nothing is known of.
    fn free_record(&mut self, table: usize) -> RecordNumber {
        let width = self.ground.shape.tables[table].width;
        let key = (0..width).map(|_| self.ground.claims.value()).collect();
        let record = self.ground.records.number(Record { table, key });
        self.free_records.entry(table).or_default().push(record);
        record
    }

    /// The second instance depends on the first, in one of these ways.
    pub(crate) fn edge(&mut self, first: usize, second: usize) -> Vec<EdgeWay> {
        let (from, to) = (self.numbered(first), self.numbered(second));
        let mut records: BTreeMap<usize, RecordNumber> = BTreeMap::new();
        let mut ways = Vec::new();
        for (number, access) in from.iter().filter(|(_, access)| access.round.is_none_or(|round| round == ROUND_OUT)) {
            let one = Numbered { number: *number, access };
            for (number, access) in to.iter().filter(|(_, access)| access.round.is_none_or(|round| round == ROUND_IN)) {
                let two = Numbered { number: *number, access };
                for kind in KINDS.into_iter().filter(|kind| may_conflict(one.access, two.access, *kind)) {
                    let record = match self.ground.meeting(one.access, two.access) {
                        Some(record) => record,
                        None => *records.entry(access.table).or_insert_with(|| self.free_record(access.table)),
                    };
                    let holds = self.ground.dependency(one, two, kind, record);
                    if holds != self.ground.claims.no() {
                        self.is_later(one, two, kind, record, holds);
                        ways.push(EdgeWay { holds, kind, from: one.number, to: two.number, record });
                    }
                }
            }
        }
        let any: Vec<Claim> = ways.iter().map(|way| way.holds).collect();
        self.ground.claims.require(any);
        ways
    }

    /// Who writes over what somebody read comes after all that was seen of it.
    fn is_later(
        &mut self,
        one: Numbered<'_>,
        two: Numbered<'_>,
        kind: DependencyKind,
        record: RecordNumber,
        holds: Claim,
    ) {
        let reader = one.access.instance;
        if kind != DependencyKind::Overwrites || self.exact[reader] == self.ground.claims.yes() {
            return;
        }
        let bits = match two.access.existence {
            super::shape::Existence::Stays => one.access.reads & two.access.writes & !super::shape::EXISTS,
            _ => super::shape::EXISTS,
        };
        for other in (0..self.size()).filter(|other| *other != reader && *other != two.access.instance) {
            for (number, access) in self.numbered(other) {
                if access.table == one.access.table && access.writes & bits == bits {
                    let writes = self.ground.writes(Numbered { number, access: &access }, record);
                    let seen = self.ground.claims.sees(other, reader);
                    let before = self.ground.claims.before(other, two.access.instance);
                    self.ground.claims.imply([holds, writes, seen], before);
                }
            }
        }
    }

    /// The second instance does not depend on the first, as far as that can be said.
    pub(crate) fn no_edge(&mut self, first: usize, second: usize) {
        let (from, to) = (self.numbered(first), self.numbered(second));
        for (number, access) in &from {
            let one = Numbered { number: *number, access };
            for (number, access) in &to {
                let two = Numbered { number: *number, access };
                for kind in KINDS.into_iter().filter(|kind| may_conflict(one.access, two.access, *kind)) {
                    for record in self.common(one.access, two.access) {
                        let holds = self.ground.dependency(one, two, kind, record);
                        let certain = match kind {
                            DependencyKind::Overwrites => self.exact[first],
                            _ => self.ground.claims.yes(),
                        };
                        self.ground.claims.require([!holds, !certain]);
                    }
                }
            }
        }
    }

    /// The records by which two accesses are known to meet.
    pub(super) fn common(&self, one: &RowAccess, two: &RowAccess) -> Vec<RecordNumber> {
        match self.ground.meeting(one, two) {
            Some(record) => vec![record],
            None => self.free_records.get(&one.table).cloned().unwrap_or_default(),
        }
    }

    /// Two instances write the same column of the same row.
    fn both_write(&mut self, first: usize, second: usize) -> Claim {
        let pair = (first.min(second), first.max(second));
        if let Some(claim) = self.both_write.get(&pair) {
            return *claim;
        }
        let (from, to) = (self.numbered(pair.0), self.numbered(pair.1));
        let mut ways = Vec::new();
        for (number, access) in &from {
            let one = Numbered { number: *number, access };
            for (number, access) in &to {
                let two = Numbered { number: *number, access };
                if may_conflict(one.access, two.access, DependencyKind::Replaces) {
                    for record in self.common(one.access, two.access) {
                        let (writes, over) = (self.ground.writes(one, record), self.ground.writes(two, record));
                        ways.push(self.ground.claims.all([writes, over]));
                    }
                }
            }
        }
        let claim = self.ground.claims.any(ways);
        self.both_write.insert(pair, claim);
        claim
    }
}

/// Levels.
impl Encoding<'_> {
    /// Says what a level says of these instances. Edges come before it, because their records do.
    pub(crate) fn specify(&mut self, transactions: &Transactions, specification: &Specification) {
        if let Some(timing) = specification.timing {
            self.take_turns(timing);
            return;
        }
        for first in 0..self.size() {
            for second in (0..self.size()).filter(|second| *second != first) {
                let (sees, before) = (self.ground.claims.sees(first, second), self.ground.claims.before(first, second));
                self.ground.claims.imply([sees], before);
            }
        }
        for rule in &specification.rules {
            for tuple in tuples(self.size(), rule.variables) {
                self.rule(transactions, rule, &tuple);
            }
        }
    }

    fn rule(&mut self, transactions: &Transactions, rule: &SpecificationRule, tuple: &[usize]) {
        let mut clause = Vec::new();
        for (atom, holds) in &rule.premises {
            let claim = self.atom(transactions, atom, tuple);
            clause.push(if *holds { !claim } else { claim });
            if clause.last() == Some(&self.ground.claims.yes()) {
                return;
            }
        }
        for (atom, holds) in &rule.conclusions {
            let claim = self.atom(transactions, atom, tuple);
            clause.push(if *holds { claim } else { !claim });
        }
        self.ground.claims.require(clause);
    }

    fn atom(&mut self, transactions: &Transactions, atom: &RuleAtom, tuple: &[usize]) -> Claim {
        match atom {
            RuleAtom::Visible(first, second) => self.ground.claims.sees(tuple[*first], tuple[*second]),
            RuleAtom::Before(first, second) => self.ground.claims.before(tuple[*first], tuple[*second]),
            RuleAtom::Overwritten(first, second) => {
                let (first, second) = (tuple[*first], tuple[*second]);
                if first == second {
                    return self.ground.claims.no();
                }
                let (both, before) = (self.both_write(first, second), self.ground.claims.before(first, second));
                self.ground.claims.all([both, before])
            }
            RuleAtom::Is(one, name) => {
                let number = transactions.procedures.iter().position(|flow| flow.name == *name);
                let claim = number.and_then(|number| self.runs[tuple[*one]][number]);
                claim.unwrap_or(self.ground.claims.no())
            }
            RuleAtom::Same(first, second) => match tuple[*first] == tuple[*second] {
                true => self.ground.claims.yes(),
                false => self.ground.claims.no(),
            },
        }
    }
}

/// All tuples of so many instances.
fn tuples(instances: usize, length: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..length {
        let longer = |tuple: &Vec<usize>| -> Vec<Vec<usize>> {
            (0..instances).map(|next| tuple.iter().copied().chain([next]).collect()).collect()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}
