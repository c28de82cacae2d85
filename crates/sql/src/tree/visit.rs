//! Walking over expressions and the plans inside them.
//!
//! Everything that moves an expression (pushing a condition below a join, binding a subquery in a grouped query) has to find its
//! columns, also those inside subqueries. The walk tells each expression together with its *level*: how many rows lie between it
//! and the place where the walk began.
//!
//! ```text
//!   price > (SELECT avg(price) FROM item i WHERE i.shop = item.shop)
//!   level 0                                      level 1   level 1, depth 1: a column of the row where the walk began
//! ```
//!
//! So a column refers to the row where the walk began when its depth equals its level, and further out when it is greater.

use super::expression::{Expression, Node, SubqueryKind};
use crate::storage::Lock;
use crate::tree::plan::{Aggregation, Definition, Plan, WindowCall};
use crate::tree::read::{Access, Bounds, Order, Read, Values};

/// What is done at every expression, the outermost first.
pub(crate) type Action<'visit> = dyn FnMut(&mut Expression, usize) + 'visit;

/// What a walk meets.
trait Visitor {
    /// An expression, with its level; before what is in it.
    fn expression(&mut self, expression: &mut Expression, level: usize);

    /// A part of a plan; before the expressions in it.
    fn plan(&mut self, plan: &Plan) {
        let _ = plan;
    }
}

impl Visitor for &mut Action<'_> {
    fn expression(&mut self, expression: &mut Expression, level: usize) {
        self(expression, level);
    }
}

/// Visits an expression and everything in it.
pub(crate) fn expression(expression: &mut Expression, level: usize, mut action: &mut Action<'_>) {
    walk(expression, level, &mut action);
}

/// Visits the expressions of a plan whose rows stand at this level.
pub(crate) fn plan(node: &mut Plan, level: usize, mut action: &mut Action<'_>) {
    walk_plan(node, level, &mut action);
}

/// Visits all parts of a plan, subqueries included, and the expressions in them.
pub(crate) fn parts(plan: &Plan, part: &mut dyn FnMut(&Plan), expression: &mut dyn FnMut(&Expression)) {
    struct PartWalk<'visit>(&'visit mut dyn FnMut(&Plan), &'visit mut dyn FnMut(&Expression));
    impl Visitor for PartWalk<'_> {
        fn expression(&mut self, expression: &mut Expression, _: usize) {
            self.1(expression);
        }
        fn plan(&mut self, plan: &Plan) {
            self.0(plan);
        }
    }
    walk_plan(&mut plan.clone(), 0, &mut PartWalk(part, expression));
}

/// Whether a value is made of more than the row and what the statement was given: of other rows, or of what a store counts.
pub(crate) fn looks_elsewhere(value: &Expression) -> bool {
    let mut found = false;
    expression(&mut value.clone(), 0, &mut |part: &mut Expression, _| {
        found |= matches!(part.node, Node::Subquery(_) | Node::Sequence(_));
    });
    found
}

fn walk(expression: &mut Expression, level: usize, visitor: &mut dyn Visitor) {
    visitor.expression(expression, level);
    children(expression, level, visitor);
}

fn all(expressions: &mut [Expression], level: usize, visitor: &mut dyn Visitor) {
    expressions.iter_mut().for_each(|one| walk(one, level, visitor));
}

fn children(parent: &mut Expression, level: usize, visitor: &mut dyn Visitor) {
    match &mut parent.node {
        Node::Constant(_) | Node::Column { .. } | Node::Parameter(_) | Node::Variable(_) | Node::UserVariable(_) => {}
        Node::Aggregate(_) | Node::Window(_) => {}
        Node::Call(call) => all(&mut call.arguments, level, visitor),
        Node::Cast(cast) => walk(&mut cast.operand, level, visitor),
        Node::And(operands) | Node::Or(operands) | Node::Coalesce(operands) | Node::Array(operands) => {
            all(operands, level, visitor);
        }
        Node::Extreme { operands, .. } => all(operands, level, visitor),
        Node::Not(operand) | Node::IsNull(operand) | Node::Is(operand, _) => walk(operand, level, visitor),
        Node::Same(left, right) | Node::NullIf(left, right) | Node::Subscript(left, right) => {
            walk(left, level, visitor);
            walk(right, level, visitor);
        }
        Node::Case { branches, otherwise } => {
            for (condition, result) in branches {
                walk(condition, level, visitor);
                walk(result, level, visitor);
            }
            walk(otherwise, level, visitor);
        }
        Node::InList(list) => {
            walk(&mut list.operand, level, visitor);
            all(&mut list.list, level, visitor);
        }
        Node::Quantified(quantified) => {
            walk(&mut quantified.operand, level, visitor);
            walk(&mut quantified.array, level, visitor);
        }
        Node::Sequence(call) => all(&mut call.arguments, level, visitor),
        Node::Catalog(call) => all(&mut call.arguments, level, visitor),
        Node::Subquery(subquery) => {
            walk_plan(&mut std::sync::Arc::make_mut(&mut subquery.query).plan, level + 1, visitor);
            match &mut subquery.kind {
                SubqueryKind::Scalar | SubqueryKind::Exists | SubqueryKind::Array => {}
                SubqueryKind::In(operands) => all(operands, level, visitor),
                SubqueryKind::Quantified { comparison, .. } => walk(comparison, level + 1, visitor),
            }
        }
    }
}

fn walk_plan(node: &mut Plan, level: usize, visitor: &mut dyn Visitor) {
    visitor.plan(node);
    match node {
        Plan::OneRow | Plan::Virtual(_) | Plan::Common(_) => {}
        Plan::Read(read) => visit_read(read, level, visitor),
        Plan::Values(rows) => rows.iter_mut().for_each(|row| all(row, level, visitor)),
        Plan::Function(function) => {
            function.calls.iter_mut().for_each(|call| all(&mut call.arguments, level, visitor));
        }
        Plan::Filter(input, condition) => {
            walk_plan(input, level, visitor);
            walk(condition, level, visitor);
        }
        Plan::Project(input, expressions) => {
            walk_plan(input, level, visitor);
            all(expressions, level, visitor);
        }
        Plan::Join(join) => {
            walk_plan(&mut join.left, level, visitor);
            walk_plan(&mut join.right, if join.lateral { level + 1 } else { level }, visitor);
            for (left, right) in &mut join.hashed {
                walk(left, level, visitor);
                walk(right, level, visitor);
            }
            join.condition.iter_mut().for_each(|condition| walk(condition, level, visitor));
        }
        Plan::Aggregate(aggregation) => visit_aggregation(aggregation, level, visitor),
        Plan::Window(input, calls) => {
            walk_plan(input, level, visitor);
            calls.iter_mut().for_each(|call| visit_window(call, level, visitor));
        }
        Plan::Distinct(input, _) | Plan::Sort(input, _) | Plan::Cut(input, _) => walk_plan(input, level, visitor),
        Plan::Lock(locking) => walk_plan(&mut locking.input, level, visitor),
        Plan::Limit(input, limit) => {
            walk_plan(input, level, visitor);
            limit.count.iter_mut().chain(&mut limit.offset).for_each(|one| walk(one, level, visitor));
        }
        Plan::SetOperation(operation) => {
            walk_plan(&mut operation.left, level, visitor);
            walk_plan(&mut operation.right, level, visitor);
        }
        Plan::Kept(kept) => {
            walk_plan(&mut kept.input, level, visitor);
            for equality in &mut kept.equalities {
                walk(&mut equality.inner, level, visitor);
                walk(&mut equality.outer, level, visitor);
            }
            kept.condition.iter_mut().for_each(|condition| walk(condition, level, visitor));
        }
        Plan::With(with) => {
            with.definitions.iter_mut().for_each(|(_, definition)| visit_definition(definition, level, visitor));
            walk_plan(&mut with.body, level, visitor);
        }
    }
}

fn visit_definition(definition: &mut Definition, level: usize, visitor: &mut dyn Visitor) {
    match definition {
        Definition::Query(query) => walk_plan(query, level, visitor),
        Definition::Recursive { base, step, .. } => {
            walk_plan(base, level, visitor);
            walk_plan(step, level, visitor);
        }
        // A change refers to nothing outside.
        Definition::Change(_) => {}
    }
}

fn visit_read(read: &mut Read, level: usize, visitor: &mut dyn Visitor) {
    match &mut read.access {
        Access::Scan(order) => visit_order(order, level, visitor),
        Access::Points(alternatives) | Access::UniquePoints(_, alternatives) => {
            alternatives.iter_mut().flatten().for_each(|values| visit_values(values, level, visitor));
        }
        Access::KeyRange(bounds) | Access::IndexRange(_, bounds) => visit_bounds(bounds, level, visitor),
    }
    read.condition.iter_mut().for_each(|condition| walk(condition, level, visitor));
}

fn visit_values(values: &mut Values, level: usize, visitor: &mut dyn Visitor) {
    match values {
        Values::Each(expressions) => all(expressions, level, visitor),
        Values::Elements(array) => walk(array, level, visitor),
    }
}

fn visit_bounds(bounds: &mut Bounds, level: usize, visitor: &mut dyn Visitor) {
    bounds.prefix.iter_mut().for_each(|values| visit_values(values, level, visitor));
    for bound in bounds.low.iter_mut().chain(&mut bounds.high) {
        walk(&mut bound.value, level, visitor);
    }
    visit_order(&mut bounds.order, level, visitor);
}

fn visit_order(order: &mut Order, level: usize, visitor: &mut dyn Visitor) {
    order.limit.iter_mut().for_each(|limit| walk(limit, level, visitor));
}

fn visit_aggregation(aggregation: &mut Aggregation, level: usize, visitor: &mut dyn Visitor) {
    walk_plan(&mut aggregation.input, level, visitor);
    all(&mut aggregation.groups, level, visitor);
    for call in &mut aggregation.calls {
        all(&mut call.arguments, level, visitor);
        call.filter.iter_mut().for_each(|filter| walk(filter, level, visitor));
        call.order.iter_mut().for_each(|(one, _)| walk(one, level, visitor));
    }
}

fn visit_window(call: &mut WindowCall, level: usize, visitor: &mut dyn Visitor) {
    all(&mut call.arguments, level, visitor);
    call.filter.iter_mut().for_each(|filter| walk(filter, level, visitor));
    all(&mut call.partition, level, visitor);
    call.order.iter_mut().for_each(|(one, _)| walk(one, level, visitor));
    call.frame.start.expressions().for_each(|one| walk(one, level, visitor));
    call.frame.end.expressions().for_each(|one| walk(one, level, visitor));
}

/// The greatest distance of a column that an expression refers to: 0 is the row it stands over, `None` is no row at all.
pub(crate) fn columns(expression_: &Expression) -> ColumnUse {
    let mut found = ColumnUse::default();
    // The walk needs a mutable expression; what is looked at here is a copy, which is small beside planning.
    let mut copy = expression_.clone();
    expression(&mut copy, 0, &mut |one, level| found.note(one, level));
    found
}

/// The same over a plan whose rows stand at this level.
pub(crate) fn plan_columns(plan_: &Plan) -> ColumnUse {
    let mut found = ColumnUse::default();
    let mut copy = plan_.clone();
    plan(&mut copy, 0, &mut |one, level| found.note(one, level));
    found
}

/// Which rows are referred to.
#[derive(Default, Debug)]
pub(crate) struct ColumnUse {
    /// Columns of the row where the walk began.
    pub(crate) own: Vec<usize>,
    /// Whether the row right outside of it is referred to.
    pub(crate) next: bool,
    /// Whether any row outside of it is.
    pub(crate) outer: bool,
    /// Whether there is a call that may differ between two evaluations.
    pub(crate) volatile: bool,
    /// Whether there is a subquery.
    pub(crate) subquery: bool,
}

impl ColumnUse {
    fn note(&mut self, expression: &Expression, level: usize) {
        match &expression.node {
            Node::Column { depth, index } if *depth == level && !self.own.contains(index) => self.own.push(*index),
            Node::Column { depth, .. } if *depth > level => {
                self.outer = true;
                self.next |= *depth == level + 1;
            }
            Node::Call(call) => self.volatile |= call.routine.volatile,
            Node::Sequence(_) => self.volatile = true,
            Node::Subquery(_) => self.subquery = true,
            _ => {}
        }
    }
}

/// What the rows of a plan depend on.
#[derive(Default, Debug)]
pub(crate) struct Dependence {
    /// The rows outside that it refers to, and what it calls.
    pub(crate) columns: ColumnUse,
    /// The common table expressions that it reads and does not define, by number.
    pub(crate) common: Vec<usize>,
    /// Whether it locks what it reads.
    pub(crate) locks: bool,
    defined: Vec<usize>,
}

impl Dependence {
    /// Whether its rows are the same whatever the rows outside are, and however often they are asked for.
    pub(crate) fn is_independent(&self) -> bool {
        !self.columns.outer && !self.columns.volatile && !self.locks
    }
}

impl Visitor for Dependence {
    fn expression(&mut self, expression: &mut Expression, level: usize) {
        self.columns.note(expression, level);
    }

    fn plan(&mut self, plan: &Plan) {
        match plan {
            Plan::Common(reference) => self.common.push(reference.number),
            Plan::With(with) => self.defined.extend(with.definitions.iter().map(|(number, _)| *number)),
            Plan::Read(read) => self.locks |= read.lock != Lock::None,
            _ => {}
        }
    }
}

/// What the rows of a plan depend on.
pub(crate) fn dependence(plan: &Plan) -> Dependence {
    let mut found = Dependence::default();
    walk_plan(&mut plan.clone(), 0, &mut found);
    let defined = std::mem::take(&mut found.defined);
    found.common.retain(|number| !defined.contains(number));
    found.common.sort_unstable();
    found.common.dedup();
    found
}

/// Moves all references to outer rows by some rows further out (or in).
pub(crate) fn shift_expression(target: &mut Expression, by: isize) {
    expression(target, 0, &mut |one, level| shift_column(one, level, by));
}

/// The same in a plan.
pub(crate) fn shift_plan(target: &mut Plan, by: isize) {
    plan(target, 0, &mut |one, level| shift_column(one, level, by));
}

fn shift_column(expression: &mut Expression, level: usize, by: isize) {
    if let Node::Column { depth, .. } = &mut expression.node
        && *depth > level
    {
        *depth = depth.saturating_add_signed(by);
    }
}

/// Gives the columns of the row where the expression stands other places.
pub(crate) fn renumber(target: &mut Expression, place: &dyn Fn(usize) -> usize) {
    expression(target, 0, &mut |one, level| {
        if let Node::Column { depth, index } = &mut one.node
            && *depth == level
        {
            *index = place(*index);
        }
    });
}
