//! Claims: what a question says, before any solver sees it.
//!
//! ```text
//!   atoms     Free             nothing is known of it          Equal(x, y)   Less(x, y)     values, which are whole numbers
//!             Visible(i, j)    j sees what i did               Arbitrated(i, j)             i comes before j in the one order of all
//!   gates     all of some claims; any of them is not all of their opposites
//! ```
//!
//! A question is a list of clauses over claims. Equal gates are one gate, so whoever builds the same claim twice pays for it once. Two
//! readers understand the list: the solver of this project (`solve`) and, as a text, any solver that speaks SMT-LIB (`smtlib`).

use rustc_hash::FxHashMap;

/// A claim or its opposite.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Claim {
    pub(crate) node: usize,
    pub(crate) negated: bool,
}

impl std::ops::Not for Claim {
    type Output = Claim;

    fn not(self) -> Claim {
        Claim { negated: !self.negated, ..self }
    }
}

/// A value that a question speaks of, by number.
pub(crate) type ValueNumber = usize;

/// What a claim is made of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ClaimNode {
    /// True.
    True,
    /// Anything; the number tells it from others.
    Free(usize),
    /// Two values are one, the smaller number first.
    Equal(ValueNumber, ValueNumber),
    /// One value is less than another.
    Less(ValueNumber, ValueNumber),
    /// An instance comes before a later-numbered one in the order of all.
    Arbitrated(usize, usize),
    /// The second instance sees what the first did.
    Visible(usize, usize),
    /// All of these.
    All(Vec<Claim>),
}

/// A question on its way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    pub(crate) nodes: Vec<ClaimNode>,
    pub(crate) required: Vec<Vec<Claim>>,
    /// Values; those of the text are constants.
    pub(crate) values: Vec<Option<String>>,
    known: FxHashMap<ClaimNode, usize>,
    constants: FxHashMap<String, ValueNumber>,
}

impl Claims {
    pub(crate) fn new() -> Claims {
        let mut claims = Claims::default();
        claims.node(ClaimNode::True);
        claims
    }

    fn node(&mut self, node: ClaimNode) -> Claim {
        if let Some(number) = self.known.get(&node) {
            return Claim { node: *number, negated: false };
        }
        self.nodes.push(node.clone());
        self.known.insert(node, self.nodes.len() - 1);
        Claim { node: self.nodes.len() - 1, negated: false }
    }

    pub(crate) fn yes(&self) -> Claim {
        Claim { node: 0, negated: false }
    }

    pub(crate) fn no(&self) -> Claim {
        !self.yes()
    }

    /// A new claim of which nothing is known.
    pub(crate) fn free(&mut self) -> Claim {
        self.node(ClaimNode::Free(self.nodes.len()))
    }

    /// A new value of which nothing is known.
    pub(crate) fn value(&mut self) -> ValueNumber {
        self.values.push(None);
        self.values.len() - 1
    }

    /// The value that stands in a text.
    pub(crate) fn constant(&mut self, text: &str) -> ValueNumber {
        if let Some(number) = self.constants.get(text) {
            return *number;
        }
        self.values.push(Some(text.to_owned()));
        self.constants.insert(text.to_owned(), self.values.len() - 1);
        self.values.len() - 1
    }

    /// Whether two values are certainly two: whole numbers, truth values, or texts that differ in more than case and spaces at the end.
    pub(crate) fn are_apart(&self, first: ValueNumber, second: ValueNumber) -> bool {
        let (Some(one), Some(two)) = (&self.values[first], &self.values[second]) else { return false };
        let kind = |text: &str| text.split('(').next().unwrap_or_default().to_owned();
        let plain = |text: &str| text.to_lowercase().replace([' ', '"', ')'], "");
        let is_plain = ["Integer", "Boolean", "Text"].contains(&kind(one).as_str());
        is_plain && kind(one) == kind(two) && plain(one) != plain(two)
    }

    pub(crate) fn equal(&mut self, first: ValueNumber, second: ValueNumber) -> Claim {
        if first == second {
            return self.yes();
        }
        if self.are_apart(first, second) {
            return self.no();
        }
        self.node(ClaimNode::Equal(first.min(second), first.max(second)))
    }

    pub(crate) fn less(&mut self, first: ValueNumber, second: ValueNumber) -> Claim {
        if first == second {
            return self.no();
        }
        let claim = self.node(ClaimNode::Less(first, second));
        // Both ways and the equality are there as soon as one is: a solver needs all three.
        self.node(ClaimNode::Less(second, first));
        self.equal(first, second);
        claim
    }

    /// The first instance comes before the second.
    pub(crate) fn before(&mut self, first: usize, second: usize) -> Claim {
        match first.cmp(&second) {
            std::cmp::Ordering::Less => self.node(ClaimNode::Arbitrated(first, second)),
            std::cmp::Ordering::Equal => self.no(),
            std::cmp::Ordering::Greater => !self.node(ClaimNode::Arbitrated(second, first)),
        }
    }

    /// The second instance sees what the first did.
    pub(crate) fn sees(&mut self, seen: usize, by: usize) -> Claim {
        if seen == by { self.no() } else { self.node(ClaimNode::Visible(seen, by)) }
    }

    pub(crate) fn all(&mut self, claims: impl IntoIterator<Item = Claim>) -> Claim {
        let mut claims: Vec<Claim> = claims.into_iter().filter(|claim| *claim != self.yes()).collect();
        claims.sort_unstable();
        claims.dedup();
        let opposed = claims.windows(2).any(|pair| pair[0] == !pair[1]);
        if opposed || claims.contains(&self.no()) {
            return self.no();
        }
        match claims.as_slice() {
            [] => self.yes(),
            [only] => *only,
            _ => self.node(ClaimNode::All(claims)),
        }
    }

    pub(crate) fn any(&mut self, claims: impl IntoIterator<Item = Claim>) -> Claim {
        let opposites: Vec<Claim> = claims.into_iter().map(|claim| !claim).collect();
        !self.all(opposites)
    }

    /// At least one of these holds.
    pub(crate) fn require(&mut self, claims: impl IntoIterator<Item = Claim>) {
        let clause: Vec<Claim> = claims.into_iter().filter(|claim| *claim != self.no()).collect();
        if !clause.contains(&self.yes()) {
            self.required.push(clause);
        }
    }

    /// Where all of these hold, so does that.
    pub(crate) fn imply(&mut self, premises: impl IntoIterator<Item = Claim>, conclusion: Claim) {
        let clause: Vec<Claim> = premises.into_iter().map(|claim| !claim).chain([conclusion]).collect();
        self.require(clause);
    }
}
