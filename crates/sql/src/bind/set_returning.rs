//! Functions that give rows, in a select list: `SELECT id, unnest(tags) FROM item`.
//!
//! Such a call is a lateral join with what the call gives: it is taken out of the list, joined behind WHERE, and named in its place.
//! Several calls run side by side; those that end earlier go on with NULL.
//!
//! ```text
//!   SELECT i.id, unnest(i.a), (pairs(i.b)).n FROM i WHERE …
//!   SELECT i.id, "set 0".set, "set 1".n      FROM i, LATERAL ROWS FROM (unnest(i.a), pairs(i.b)) WHERE …
//! ```

use super::from::Item;
use super::{Binder, Scope};
use crate::tree::plan::Plan;
use skew_value::{Dialect, SqlError, function};
use sqlparser::ast::{self, AccessExpr, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, SelectItem};

/// The name of the column of a call that has one.
pub(super) const ONLY_COLUMN: &str = "set";

/// The name by which the columns of a call are found.
pub(super) fn qualifier(place: usize) -> String {
    format!("set {place}")
}

/// The calls that were taken out of a select list.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The calls, each once, and whether it stands somewhere without a field.
    pub(super) found: Vec<(ast::Function, bool)>,
}

impl Binder<'_> {
    /// Takes calls that give rows out of a select list; nothing if there are none.
    pub(super) fn set_returning(&self, items: &[SelectItem]) -> Option<(Calls, Vec<SelectItem>)> {
        if self.dialect != Dialect::Postgres {
            return None;
        }
        if !items.iter().any(has_call) {
            return None;
        }
        let mut calls = Calls::default();
        let mut list = items.to_vec();
        for item in &mut list {
            let before = calls.found.len();
            match item {
                SelectItem::ExprWithAlias { expr, .. } => calls.take(expr),
                SelectItem::UnnamedExpr(expr) => {
                    let name = self.output_name(expr);
                    calls.take(expr);
                    if calls.found.len() > before || matches!(expr, Expr::CompoundIdentifier(_)) {
                        let alias = Ident::with_quote('"', name);
                        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
                    }
                }
                _ => {}
            }
        }
        (!calls.found.is_empty()).then_some((calls, list))
    }

    /// The rows of FROM, each with those of the calls.
    pub(super) fn join_calls<'outer>(
        &mut self,
        calls: &Calls,
        plan: Plan,
        scope: Scope<'outer>,
        outer: Option<&'outer Scope<'outer>>,
    ) -> Result<(Plan, Scope<'outer>), SqlError> {
        let left = Item::of_scope(plan, scope);
        let right = self.calls_item(calls, &left, outer)?;
        self.beside(left, right, outer)
    }
}

impl Calls {
    /// Replaces the calls in an expression by the names of their columns.
    fn take(&mut self, expression: &mut Expr) {
        if let Some(column) = self.column(expression) {
            *expression = column;
            return;
        }
        match expression {
            Expr::Nested(inner) | Expr::Cast { expr: inner, .. } | Expr::UnaryOp { expr: inner, .. } => {
                self.take(inner)
            }
            Expr::Collate { expr: inner, .. } | Expr::CompoundFieldAccess { root: inner, .. } => self.take(inner),
            Expr::BinaryOp { left, right, .. } => {
                self.take(left);
                self.take(right);
            }
            Expr::Function(call) if call.over.is_none() => {
                let FunctionArguments::List(list) = &mut call.args else { return };
                for argument in &mut list.args {
                    if let FunctionArg::Unnamed(FunctionArgExpr::Expr(inner)) = argument {
                        self.take(inner);
                    }
                }
            }
            _ => {}
        }
    }

    /// The name of a call's column, if the expression is a call or a field of one.
    fn column(&mut self, expression: &Expr) -> Option<Expr> {
        let (call, field) = match expression {
            Expr::Function(call) => (call, None),
            Expr::CompoundFieldAccess { root, access_chain } => match access_chain.as_slice() {
                [AccessExpr::Dot(Expr::Identifier(field))] => (called(root)?, Some(field.clone())),
                _ => return None,
            },
            _ => return None,
        };
        let name = call.name.0.last()?.as_ident()?.value.to_lowercase();
        if !function::is_table(&name) {
            return None;
        }
        let whole = field.is_none();
        let known = self.found.iter().position(|(other, _)| same_call(other, call));
        let place = known.unwrap_or(self.found.len());
        match known {
            Some(place) => self.found[place].1 |= whole,
            None => self.found.push((call.clone(), whole)),
        }
        let field = field.unwrap_or_else(|| Ident::with_quote('"', ONLY_COLUMN));
        Some(Expr::CompoundIdentifier(vec![Ident::with_quote('"', qualifier(place)), field]))
    }
}

/// How deep a call may stand in an expression: taking it out recurses.
const DEPTH_LIMIT: usize = 50;

/// Whether a call that gives rows stands in an item, not too deep. This does not recurse: expressions may be as long as statements.
fn has_call(item: &SelectItem) -> bool {
    let (SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr)) = item else { return false };
    let mut open = vec![(expr, 0)];
    let (mut found, mut deepest) = (false, 0);
    while let Some((expression, depth)) = open.pop() {
        deepest = deepest.max(depth);
        let mut visit = |inner| open.push((inner, depth + 1));
        match expression {
            Expr::Nested(inner) | Expr::Cast { expr: inner, .. } | Expr::UnaryOp { expr: inner, .. } => visit(inner),
            Expr::Collate { expr: inner, .. } | Expr::CompoundFieldAccess { root: inner, .. } => visit(inner),
            Expr::BinaryOp { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Expr::Function(call) => {
                found |= call
                    .name
                    .0
                    .last()
                    .and_then(|part| part.as_ident())
                    .is_some_and(|name| function::is_table(&name.value.to_lowercase()));
                let FunctionArguments::List(list) = &call.args else { continue };
                for argument in &list.args {
                    if let FunctionArg::Unnamed(FunctionArgExpr::Expr(inner)) = argument {
                        visit(inner);
                    }
                }
            }
            _ => {}
        }
    }
    found && deepest <= DEPTH_LIMIT
}

/// Two calls written alike are one: PostgreSQL runs them in step.
fn same_call(left: &ast::Function, right: &ast::Function) -> bool {
    left.to_string() == right.to_string()
}

fn called(expression: &Expr) -> Option<&ast::Function> {
    match expression {
        Expr::Nested(inner) => called(inner),
        Expr::Function(call) => Some(call),
        _ => None,
    }
}
