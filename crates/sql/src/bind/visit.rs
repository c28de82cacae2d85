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
use crate::plan::{Access, Aggregation, Bounds, Definition, Plan, Query, Read, Values, WindowCall};

/// What is done at every expression, the outermost first.
pub(crate) type Visitor<'visit> = dyn FnMut(&mut Expression, usize) + 'visit;

/// Visits an expression and everything in it.
pub(crate) fn expression(expression: &mut Expression, level: usize, visitor: &mut Visitor<'_>) {
    visitor(expression, level);
    children(expression, level, visitor);
}

fn all(expressions: &mut [Expression], level: usize, visitor: &mut Visitor<'_>) {
    expressions.iter_mut().for_each(|one| expression(one, level, visitor));
}

fn children(parent: &mut Expression, level: usize, visitor: &mut Visitor<'_>) {
    match &mut parent.node {
        Node::Constant(_) | Node::Column { .. } | Node::Parameter(_) | Node::Variable(_) | Node::UserVariable(_) => {}
        Node::Aggregate(_) | Node::Window(_) => {}
        Node::Call(call) => all(&mut call.arguments, level, visitor),
        Node::Cast(cast) => expression(&mut cast.operand, level, visitor),
        Node::And(operands) | Node::Or(operands) | Node::Coalesce(operands) | Node::Array(operands) => {
            all(operands, level, visitor);
        }
        Node::Extreme { operands, .. } => all(operands, level, visitor),
        Node::Not(operand) | Node::IsNull(operand) | Node::Is(operand, _) => expression(operand, level, visitor),
        Node::Same(left, right) | Node::NullIf(left, right) | Node::Subscript(left, right) => {
            expression(left, level, visitor);
            expression(right, level, visitor);
        }
        Node::Case { branches, otherwise } => {
            for (condition, result) in branches {
                expression(condition, level, visitor);
                expression(result, level, visitor);
            }
            expression(otherwise, level, visitor);
        }
        Node::InList(list) => {
            expression(&mut list.operand, level, visitor);
            all(&mut list.list, level, visitor);
        }
        Node::Quantified(quantified) => {
            expression(&mut quantified.operand, level, visitor);
            expression(&mut quantified.array, level, visitor);
        }
        Node::Sequence(call) => all(&mut call.arguments, level, visitor),
        Node::Catalog(call) => all(&mut call.arguments, level, visitor),
        Node::Subquery(subquery) => {
            query(std::sync::Arc::make_mut(&mut subquery.query), level + 1, visitor);
            match &mut subquery.kind {
                SubqueryKind::Scalar | SubqueryKind::Exists | SubqueryKind::Array => {}
                SubqueryKind::In(operands) => all(operands, level, visitor),
                SubqueryKind::Quantified { comparison, .. } => expression(comparison, level + 1, visitor),
            }
        }
    }
}

/// Visits a query whose rows stand at this level.
pub(crate) fn query(query: &mut Query, level: usize, visitor: &mut Visitor<'_>) {
    plan(&mut query.plan, level, visitor);
}

/// Visits the expressions of a plan whose rows stand at this level.
pub(crate) fn plan(node: &mut Plan, level: usize, visitor: &mut Visitor<'_>) {
    match node {
        Plan::OneRow | Plan::Virtual(_) | Plan::Common(_) => {}
        Plan::Read(read) => visit_read(read, level, visitor),
        Plan::Values(rows) => rows.iter_mut().for_each(|row| all(row, level, visitor)),
        Plan::Function(function) => {
            function.calls.iter_mut().for_each(|call| all(&mut call.arguments, level, visitor));
        }
        Plan::Filter(input, condition) => {
            plan(input, level, visitor);
            expression(condition, level, visitor);
        }
        Plan::Project(input, expressions) => {
            plan(input, level, visitor);
            all(expressions, level, visitor);
        }
        Plan::Join(join) => {
            plan(&mut join.left, level, visitor);
            plan(&mut join.right, if join.lateral { level + 1 } else { level }, visitor);
            join.condition.iter_mut().for_each(|condition| expression(condition, level, visitor));
        }
        Plan::Aggregate(aggregation) => visit_aggregation(aggregation, level, visitor),
        Plan::Window(input, calls) => {
            plan(input, level, visitor);
            calls.iter_mut().for_each(|call| visit_window(call, level, visitor));
        }
        Plan::Distinct(input, _) | Plan::Sort(input, _) | Plan::Cut(input, _) => plan(input, level, visitor),
        Plan::Limit(input, limit) => {
            plan(input, level, visitor);
            limit.count.iter_mut().chain(&mut limit.offset).for_each(|one| expression(one, level, visitor));
        }
        Plan::SetOperation(operation) => {
            plan(&mut operation.left, level, visitor);
            plan(&mut operation.right, level, visitor);
        }
        Plan::With(with) => {
            with.definitions.iter_mut().for_each(|(_, definition)| visit_definition(definition, level, visitor));
            plan(&mut with.body, level, visitor);
        }
    }
}

fn visit_definition(definition: &mut Definition, level: usize, visitor: &mut Visitor<'_>) {
    match definition {
        Definition::Query(query) => plan(query, level, visitor),
        Definition::Recursive { base, step, .. } => {
            plan(base, level, visitor);
            plan(step, level, visitor);
        }
        // A change refers to nothing outside.
        Definition::Change(_) => {}
    }
}

fn visit_read(read: &mut Read, level: usize, visitor: &mut Visitor<'_>) {
    match &mut read.access {
        Access::Scan(_) => {}
        Access::Points(alternatives) | Access::UniquePoints(_, alternatives) => {
            alternatives.iter_mut().flatten().for_each(|values| visit_values(values, level, visitor));
        }
        Access::KeyRange(bounds) | Access::IndexRange(_, bounds) => visit_bounds(bounds, level, visitor),
    }
    read.condition.iter_mut().for_each(|condition| expression(condition, level, visitor));
}

fn visit_values(values: &mut Values, level: usize, visitor: &mut Visitor<'_>) {
    match values {
        Values::Each(expressions) => all(expressions, level, visitor),
        Values::Elements(array) => expression(array, level, visitor),
    }
}

fn visit_bounds(bounds: &mut Bounds, level: usize, visitor: &mut Visitor<'_>) {
    bounds.prefix.iter_mut().for_each(|values| visit_values(values, level, visitor));
    for bound in bounds.low.iter_mut().chain(&mut bounds.high) {
        expression(&mut bound.value, level, visitor);
    }
}

fn visit_aggregation(aggregation: &mut Aggregation, level: usize, visitor: &mut Visitor<'_>) {
    plan(&mut aggregation.input, level, visitor);
    all(&mut aggregation.groups, level, visitor);
    for call in &mut aggregation.calls {
        all(&mut call.arguments, level, visitor);
        call.filter.iter_mut().for_each(|filter| expression(filter, level, visitor));
        call.order.iter_mut().for_each(|(one, _)| expression(one, level, visitor));
    }
}

fn visit_window(call: &mut WindowCall, level: usize, visitor: &mut Visitor<'_>) {
    all(&mut call.arguments, level, visitor);
    call.filter.iter_mut().for_each(|filter| expression(filter, level, visitor));
    all(&mut call.partition, level, visitor);
    call.order.iter_mut().for_each(|(one, _)| expression(one, level, visitor));
    call.frame.start.expressions().for_each(|one| expression(one, level, visitor));
    call.frame.end.expressions().for_each(|one| expression(one, level, visitor));
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
