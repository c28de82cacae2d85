//! Which terms of several instances must be equal, once some rows of them are one row.
//!
//! ```text
//!   savings(c) of t1 = savings(d) of t2      so c = d, because a key tells its row
//!                                            so checking(c) = checking(d), because a row is told by its key
//! ```
//!
//! This is congruence closure, with rows that are equal only if their keys are. Two different constants in one class make it
//! impossible. An instance is described by its *labels*: for every term the first term of the first transaction
//! that it must be equal to, or else the first of its own.

use crate::template::{Template, TermId, TermNode};
use std::collections::BTreeMap;

/// The labels of an instance; those of the first transaction come before all others.
pub(crate) type Labels = Vec<u32>;

/// The terms of a template, made small: texts are numbers.
#[derive(Clone, Debug)]
pub(crate) struct TermGraph {
    nodes: Vec<GraphNode>,
}

#[derive(Clone, Debug)]
struct GraphNode {
    shape: TermShape,
    children: Vec<usize>,
}

/// What has to be the same for two terms with equal parts to be equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum TermShape {
    Constant(u32),
    Free,
    Row(usize, usize),
    Lookup(usize),
    Computed(u32),
}

/// Numbers for texts.
#[derive(Default)]
pub(crate) struct TextNumbers(BTreeMap<String, u32>);

impl TextNumbers {
    fn number(&mut self, text: &str) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(text.to_owned()).or_insert(next)
    }
}

impl TermGraph {
    pub(crate) fn new(template: &Template, texts: &mut TextNumbers) -> TermGraph {
        let nodes = template.terms.iter().map(|term| {
            let (shape, children) = match term {
                TermNode::Constant(text) => (TermShape::Constant(texts.number(text)), Vec::new()),
                TermNode::Free(_) => (TermShape::Free, Vec::new()),
                TermNode::Row(table, key, terms) => (TermShape::Row(*table, *key), terms.clone()),
                TermNode::Lookup(column, row) => (TermShape::Lookup(*column), vec![*row]),
                TermNode::Computed(text, terms) => (TermShape::Computed(texts.number(text)), terms.clone()),
            };
            GraphNode { shape, children }
        });
        TermGraph { nodes: nodes.collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }
}

/// Terms of several instances, and which of them are equal.
pub(crate) struct Closure<'a> {
    parts: Vec<(&'a TermGraph, usize)>,
    above: Vec<usize>,
}

impl<'a> Closure<'a> {
    /// The instances side by side; the labels of each say what is known of it and of the first.
    pub(crate) fn new(parts: &[(&'a TermGraph, &Labels)]) -> Closure<'a> {
        let mut placed = Vec::with_capacity(parts.len());
        let mut start = 0;
        for (graph, _) in parts {
            placed.push((*graph, start));
            start += graph.len();
        }
        let mut closure = Closure { parts: placed, above: (0..start).collect() };
        let first = closure.parts.first().map_or(0, |(graph, _)| graph.len());
        for (number, (_, labels)) in parts.iter().enumerate() {
            let offset = closure.parts[number].1;
            for (term, &label) in labels.iter().enumerate() {
                let label = label as usize;
                let other = if label < first { label } else { offset + label - first };
                closure.unite(offset + term, other);
            }
        }
        closure
    }

    /// The place of a term of an instance.
    pub(crate) fn at(&self, part: usize, term: TermId) -> usize {
        self.parts[part].1 + term
    }

    pub(crate) fn find(&self, mut place: usize) -> usize {
        while self.above[place] != place {
            place = self.above[place];
        }
        place
    }

    /// Makes two terms equal; the class is named after its first term.
    pub(crate) fn unite(&mut self, one: usize, two: usize) -> bool {
        let (one, two) = (self.find(one), self.find(two));
        self.above[one.max(two)] = one.min(two);
        one != two
    }

    /// Draws all conclusions; false if that is impossible. Only terms of one shape say anything about each other.
    pub(crate) fn close(&mut self) -> bool {
        let parts = self.parts.clone();
        let mut all: Vec<(usize, &GraphNode, usize)> = parts
            .iter()
            .flat_map(|(graph, offset)| {
                graph.nodes.iter().enumerate().map(move |(term, node)| (offset + term, node, *offset))
            })
            .filter(|(_, node, _)| node.shape != TermShape::Free)
            .collect();
        all.sort_by_key(|(_, node, _)| (node.shape, node.children.len()));
        let is_like = |one: &(usize, &GraphNode, usize), two: &(usize, &GraphNode, usize)| {
            one.1.shape == two.1.shape && one.1.children.len() == two.1.children.len()
        };
        let shapes: Vec<&[(usize, &GraphNode, usize)]> = all.chunk_by(is_like).filter(|same| same.len() > 1).collect();
        loop {
            let mut changed = false;
            for same in &shapes {
                for (number, one) in same.iter().enumerate() {
                    for two in &same[..number] {
                        changed |= self.conclude(*one, *two);
                    }
                }
            }
            if !changed {
                break;
            }
        }
        self.is_possible(&all)
    }

    /// How much work it is to draw conclusions, in steps of a search.
    pub(crate) fn cost(&self) -> usize {
        1 + self.above.len() * self.above.len() / 64
    }

    fn conclude(&mut self, one: (usize, &GraphNode, usize), two: (usize, &GraphNode, usize)) -> bool {
        let children =
            || one.1.children.iter().map(|child| one.2 + child).zip(two.1.children.iter().map(|child| two.2 + child));
        if self.find(one.0) == self.find(two.0) {
            let is_row = matches!(one.1.shape, TermShape::Row(..));
            let mut changed = false;
            for (left, right) in children().filter(|_| is_row) {
                changed |= self.unite(left, right);
            }
            return changed;
        }
        children().all(|(left, right)| self.find(left) == self.find(right)) && self.unite(one.0, two.0)
    }

    fn is_possible(&self, all: &[(usize, &GraphNode, usize)]) -> bool {
        let mut constants: BTreeMap<usize, u32> = BTreeMap::new();
        for (place, node, _) in all {
            if let TermShape::Constant(value) = node.shape
                && *constants.entry(self.find(*place)).or_insert(value) != value
            {
                return false;
            }
        }
        true
    }

    /// The labels of an instance.
    pub(crate) fn labels(&self, part: usize) -> Labels {
        let (graph, offset) = self.parts[part];
        let first = self.parts[0].0.len();
        let mut own: BTreeMap<usize, usize> = BTreeMap::new();
        let label = |term: usize| {
            let class = self.find(offset + term);
            // A class is named after its first place, and the first transaction stands first.
            if class < first { class as u32 } else { (first + *own.entry(class).or_insert(term)) as u32 }
        };
        (0..graph.len()).map(label).collect()
    }
}
