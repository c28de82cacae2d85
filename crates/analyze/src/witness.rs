//! A counterexample, told: instances with values for their parameters, and the order of their statements.
//!
//! ```text
//!   t1 balance(1)                                     t2 amalgamate(1, 2)
//!   bank.sql:13  SELECT balance … FROM savings
//!                                                     bank.sql:27  UPDATE savings SET balance = 0 …
//!                                                     bank.sql:29  UPDATE checking SET balance = 0 …
//!   bank.sql:14  SELECT balance … FROM checking
//! ```

use crate::closure::{Closure, Labels, TermGraph, TextNumbers};
use crate::split::{Level, SplitFound};
use crate::template::{OperationAt, RowOperation, Template, TermNode};
use crate::transaction::Transactions;
use skew_value::Place;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A counterexample.
#[derive(Clone, Debug)]
pub struct Witness {
    /// Who takes part; the first is the one that is interrupted.
    pub instances: Vec<WitnessInstance>,
    /// Their statements in order.
    pub statements: Vec<WitnessStatement>,
    /// Why they depend on each other: from each to the next, the last to the first.
    pub dependencies: Vec<Dependency>,
    /// Tables in which a row that the first one looks for is not there.
    pub missing: Vec<String>,
    /// Which instances only read.
    readers: Vec<bool>,
}

/// An instance of a procedure.
#[derive(Clone, Debug)]
pub struct WitnessInstance {
    /// The procedure, by number.
    pub procedure: usize,
    /// Its name.
    pub name: String,
    /// Its level.
    pub level: Level,
    /// Its parameters: equal numbers are equal values.
    pub parameters: Vec<(String, usize)>,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct WitnessStatement {
    /// Whose.
    pub instance: usize,
    /// Where it stands in the file.
    pub place: Place,
    /// Its text.
    pub text: Arc<str>,
}

/// A dependency of one instance on another.
#[derive(Clone, Debug)]
pub struct Dependency {
    /// The earlier one, and where its statement stands.
    pub from: (usize, Place),
    /// The later one, likewise.
    pub to: (usize, Place),
    /// What joins them.
    pub kind: DependencyKind,
    /// The table in which they meet.
    pub table: String,
    /// The row, by number: equal numbers are one row. Nothing where rows are searched for.
    row: Option<usize>,
}

/// What joins two transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DependencyKind {
    /// The later one overwrites what the earlier one read.
    Overwrites,
    /// The later one reads what the earlier one wrote.
    ReadsFrom,
    /// The later one overwrites what the earlier one wrote.
    Replaces,
}

impl DependencyKind {
    fn of(from: &RowOperation, to: &RowOperation) -> DependencyKind {
        match (from.reads & to.writes != 0, from.writes & to.reads != 0) {
            (true, _) => DependencyKind::Overwrites,
            (false, true) => DependencyKind::ReadsFrom,
            (false, false) => DependencyKind::Replaces,
        }
    }
}

impl Witness {
    pub(crate) fn new(
        (transactions, tables): (&Transactions, &[String]),
        templates: &[Template],
        found: &SplitFound,
        levels: &[Option<Level>],
    ) -> Witness {
        let used: Vec<&Template> = found.templates.iter().map(|number| &templates[*number]).collect();
        let values = values(&used, found);
        let mut instances = Vec::new();
        for (number, template) in used.iter().enumerate() {
            let procedure = &transactions.procedures[template.procedure];
            let given = procedure.given.iter().enumerate();
            // Parameters are the first free terms, in their order.
            let parameter = |(place, (_, name)): (usize, &(usize, String))| {
                let term = template.terms.iter().position(|term| *term == TermNode::Free(place + 1));
                (name.clone(), term.map_or(0, |term| values[number][term]))
            };
            instances.push(WitnessInstance {
                procedure: template.procedure,
                name: procedure.name.clone(),
                level: levels.get(template.procedure).copied().flatten().unwrap_or(Level::Serializable),
                parameters: given.map(parameter).collect(),
            });
        }
        let count = used.len();
        let place = |instance: usize, at: OperationAt| {
            let template = used[instance];
            transactions.procedures[template.procedure].steps[template.chunks[at.0].step].place
        };
        let dependency = |(number, (from, to)): (usize, &(OperationAt, OperationAt))| {
            let next = (number + 1) % count;
            let operation = |instance: usize, at: &OperationAt| used[instance].at(*at);
            let (one, other) = (operation(number, from), operation(next, to));
            Dependency {
                from: (number, place(number, *from)),
                to: (next, place(next, *to)),
                kind: DependencyKind::of(one, other),
                table: tables.get(one.table).cloned().unwrap_or_default(),
                row: one.row.filter(|_| other.row.is_some()).map(|row| values[number][row]),
            }
        };
        let dependencies = found.links.iter().enumerate().map(dependency).collect();
        let table = |row: &usize| match used[0].terms[*row] {
            TermNode::Row(table, ..) => tables.get(table).cloned(),
            _ => None,
        };
        let missing = found.missing.iter().filter_map(table).collect();
        let writes = |template: &&Template| template.operations().any(|(_, operation)| operation.writes != 0);
        let readers = used.iter().map(|template| !writes(template)).collect();
        let statements = statements(transactions, &used, found);
        Witness { instances, statements, dependencies, missing, readers }
    }

    /// Its name, as far as the dependencies tell it: as `skew check` would call such a history.
    pub fn anomaly(&self) -> &'static str {
        let [first, .., last] = &self.dependencies[..] else { return "dependency-cycle" };
        let is_one_row = first.row.is_some() && first.row == last.row;
        let only_reads = self.readers.iter().any(|reads| *reads);
        match (self.instances.len(), last.kind, is_one_row) {
            (2, DependencyKind::Overwrites | DependencyKind::Replaces, true) => "lost-update",
            (2, DependencyKind::ReadsFrom, true) => "non-repeatable-read",
            (2, DependencyKind::ReadsFrom, false) => "fractured-read",
            (2, DependencyKind::Replaces, false) => "stale-update",
            (2, DependencyKind::Overwrites, false) => "write-skew",
            (_, DependencyKind::Overwrites, _) if only_reads => "read-only-anomaly",
            _ => "dependency-cycle",
        }
    }
}

/// The statements in the order of the schedule.
fn statements(transactions: &Transactions, used: &[&Template], found: &SplitFound) -> Vec<WitnessStatement> {
    let prefix = found.prefix;
    // What a commit does on behalf of a statement is told where the cycle goes through it.
    let is_linked = |instance: usize, number: usize| {
        let before = (instance + used.len() - 1) % used.len();
        let leaves = found.links.get(instance).is_some_and(|(from, _)| from.0 == number);
        leaves || found.links.get(before).is_some_and(|(_, to)| to.0 == number)
    };
    let told = |instance: usize, chunks: std::ops::Range<usize>| {
        let template = used[instance];
        let steps = &transactions.procedures[template.procedure].steps;
        let numbered = chunks.map(move |number| (number, &template.chunks[number]));
        let shown = numbered.filter(move |(number, chunk)| !chunk.at_commit || is_linked(instance, *number));
        shown.map(move |(_, chunk)| {
            let step = &steps[chunk.step];
            let text = if chunk.at_commit { Arc::from("COMMIT") } else { Arc::clone(&step.text) };
            WitnessStatement { instance, place: step.place, text }
        })
    };
    let others = (1..used.len()).flat_map(|instance| told(instance, 0..used[instance].chunks.len()));
    let mut all: Vec<WitnessStatement> =
        told(0, 0..prefix).chain(others).chain(told(0, prefix..used[0].chunks.len())).collect();
    // Of a statement that looks and then locks, the two halves are one unless somebody comes between them.
    let is_half = |one: &mut WitnessStatement, other: &mut WitnessStatement| {
        one.instance == other.instance && one.place == other.place && one.text == other.text
    };
    all.dedup_by(is_half);
    all
}

/// A number for every term of every instance: equal where they must be.
pub(crate) fn values(used: &[&Template], found: &SplitFound) -> Vec<Vec<usize>> {
    let mut texts = TextNumbers::default();
    let graphs: Vec<TermGraph> = used.iter().map(|template| TermGraph::new(template, &mut texts)).collect();
    let first = graphs[0].len() as u32;
    let labels: Vec<Labels> = graphs
        .iter()
        .enumerate()
        .map(|(number, graph)| {
            let start = if number == 0 { 0 } else { first };
            (0..graph.len() as u32).map(|term| start + term).collect()
        })
        .collect();
    let parts: Vec<(&TermGraph, &Labels)> = graphs.iter().zip(&labels).collect();
    let mut closure = Closure::new(&parts);
    let row = |instance: usize, at: OperationAt| used[instance].at(at).row;
    for (number, (from, to)) in found.links.iter().enumerate() {
        let next = (number + 1) % used.len();
        if let (Some(from), Some(to)) = (row(number, *from), row(next, *to)) {
            let (from, to) = (closure.at(number, from), closure.at(next, to));
            closure.unite(from, to);
        }
    }
    closure.close();
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    let mut number_of = |class: usize| {
        let next = numbers.len() + 1;
        *numbers.entry(class).or_insert(next)
    };
    let terms = |number: usize| 0..used[number].terms.len();
    (0..used.len())
        .map(|number| terms(number).map(|term| number_of(closure.find(closure.at(number, term)))).collect())
        .collect()
}
