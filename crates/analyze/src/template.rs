//! Templates: a path through a procedure as operations on rows whose keys are terms.
//!
//! ```text
//!   balance(n)        terms        n    r1 = account(n)    c = custid of r1    r2 = savings(c)    r3 = checking(c)
//!                     statements   1  reads custid of r1
//!                                  2  reads balance of r2
//!                                  3  reads balance of r3
//! ```
//!
//! An *instance* of a template gives values to its terms. Rows are terms as well: the row that has certain values in the columns of a key, so
//! equal values make equal rows and equal rows have equal keys. A column that nobody ever writes is a function of its row, `custid of r1`. What is
//! known of two terms is only whether they must be equal; whatever is not forced to be equal may differ.

/// A set of columns of one table; the first bit is whether the row exists.
pub(crate) type ColumnSet = u128;

/// The bit of whether a row exists.
pub(crate) const EXISTS: ColumnSet = 1;

use crate::effect::{LockStrength, Looking};

/// A number of a term in its template.
pub(crate) type TermId = usize;

/// An operation of a template: its statement, and its place in it.
pub(crate) type OperationAt = (usize, usize);

/// A term.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum TermNode {
    /// A value of the text; different texts are different values.
    Constant(String),
    /// Any value: a parameter, or what was read from a column that somebody writes. The number tells it from others.
    Free(usize),
    /// The row of a table (by number) that is found by a key (0: the primary key) with these values.
    Row(usize, usize, Vec<TermId>),
    /// The value of a column (by number) of a row, which never changes.
    Lookup(usize, TermId),
    /// A function of other terms.
    Computed(String, Vec<TermId>),
}

/// What a statement does to one row, or to any rows of a table.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct RowOperation {
    /// The table, by number.
    pub(crate) table: usize,
    /// The row; nothing stands for any rows.
    pub(crate) row: Option<TermId>,
    /// The columns that are read.
    pub(crate) reads: ColumnSet,
    /// The columns that are written.
    pub(crate) writes: ColumnSet,
    /// The lock, beyond that of the writes.
    pub(crate) lock: LockStrength,
    /// Whether it succeeds only where no row is.
    pub(crate) inserts: bool,
    /// The same, and nobody ever takes the row away again.
    pub(crate) inserts_once: bool,
    /// Who looks.
    pub(crate) looking: Looking,
}

impl RowOperation {
    /// What it reads so that PostgreSQL remembers it at serializable: constraints look in their own way.
    pub(crate) fn watched_reads(&self) -> ColumnSet {
        if self.looking == Looking::Statement { self.reads } else { 0 }
    }

    /// What it reads of the latest state, whatever the snapshot of its transaction.
    pub(crate) fn latest_reads(&self) -> ColumnSet {
        if matches!(self.looking, Looking::Latest | Looking::Inserting) { self.reads } else { 0 }
    }

    /// Whether the two are in conflict if they meet on one row.
    pub(crate) fn conflicts(&self, other: &RowOperation) -> bool {
        self.table == other.table && (self.writes & (other.reads | other.writes)) | (self.reads & other.writes) != 0
    }

    /// Whether what is read here stays as it is until the transaction commits, as far as a writer is concerned: the row is locked. A foreign key's
    /// lock keeps out who deletes the row or puts another one in its place, and nobody else.
    pub(crate) fn keeps_out(&self, writer: &RowOperation) -> bool {
        let locks = match self.lock {
            LockStrength::Update | LockStrength::Share => true,
            LockStrength::KeyShare => writer.writes & EXISTS != 0,
            LockStrength::None => false,
        };
        self.row.is_some() && (locks || self.writes != 0)
    }
}

/// A statement: nothing comes between its operations.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Chunk {
    /// The step of the procedure.
    pub(crate) step: usize,
    /// What it does.
    pub(crate) operations: Vec<RowOperation>,
    /// Whether the commit does it, on behalf of the step.
    pub(crate) at_commit: bool,
}

/// A path through a procedure.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Template {
    /// The procedure, by number.
    pub(crate) procedure: usize,
    /// Its terms; what a term is made of comes before it.
    pub(crate) terms: Vec<TermNode>,
    /// Rows that are written or locked, in tables whose rows neither come nor go: one that is not there is there for nobody.
    pub(crate) optional: Vec<TermId>,
    /// Rows that are there only if another one is: a child and its parent.
    pub(crate) needs: Vec<(TermId, TermId)>,
    /// Its statements.
    pub(crate) chunks: Vec<Chunk>,
}

impl Template {
    /// All operations with the number of their statement.
    pub(crate) fn operations(&self) -> impl Iterator<Item = (usize, &RowOperation)> {
        let numbered = self.chunks.iter().enumerate();
        numbered.flat_map(|(number, chunk)| chunk.operations.iter().map(move |operation| (number, operation)))
    }

    /// The operation at a place.
    pub(crate) fn at(&self, (number, place): OperationAt) -> &RowOperation {
        &self.chunks[number].operations[place]
    }

    /// The number of a term, which is added if it is new.
    pub(crate) fn term(&mut self, node: TermNode) -> TermId {
        match self.terms.iter().position(|known| *known == node) {
            Some(number) => number,
            None => {
                self.terms.push(node);
                self.terms.len() - 1
            }
        }
    }

    /// Whether it does the same as another, apart from where that stands.
    pub(crate) fn is_like(&self, other: &Template) -> bool {
        let same = |(one, two): (&Chunk, &Chunk)| one.operations == two.operations;
        self.procedure == other.procedure
            && self.terms == other.terms
            && self.optional == other.optional
            && self.chunks.len() == other.chunks.len()
            && self.chunks.iter().zip(&other.chunks).all(same)
    }
}
