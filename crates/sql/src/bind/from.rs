//! FROM: tables, views, subqueries, functions, and how they are joined.
//!
//! ```text
//!   FROM a, b LEFT JOIN c ON b.x = c.x        Join(Join(a, b), c)       the comma is a cross join; what is to the left is seen by LATERAL
//! ```
//!
//! Conditions are bound over the row of both sides; moving them to where they are cheap is the planner's.

use super::scope::{Name, Relation};
use super::set_returning::{Calls, ONLY_COLUMN, qualifier};
use super::{Binder, Clause, LockClause, Scope, VIEW_LIMIT};
use crate::answer::ResultColumn;
use crate::catalog::View;
use crate::catalog::name::parts;
use crate::storage::{Lock, Patience};
use crate::syntax;
use crate::table_lock::TableMode;
use crate::tree::expression::{Expression, Node};
use crate::tree::plan::{CommonReference, FunctionRead, Join, JoinKind, Plan, Query, TableCall};
use crate::tree::visit;
use crate::virtual_tables;
use skew_value::{Dialect, SqlError, SqlState, SqlType, function};
use sqlparser::ast::{self, FunctionArg, JoinConstraint, JoinOperator, TableFactor, TableWithJoins};

/// How the name of a subquery starts that has none.
pub(crate) const UNNAMED: &str = "unnamed subquery";

/// So many tables may be joined: plans are as deep as joins are many.
const RELATION_LIMIT: usize = 100;

/// The words of a lock clause.
fn lock_words(lock: Lock) -> &'static str {
    if lock == Lock::Share { "FOR SHARE" } else { "FOR UPDATE" }
}

/// Something in FROM: its rows, and the names it gives them.
#[derive(Debug, Default)]
pub(super) struct Item {
    plan: Option<Plan>,
    names: Vec<Name>,
    relations: Vec<Relation>,
    width: usize,
    /// Whether it has to be evaluated for each row to its left.
    lateral: bool,
}

impl Item {
    /// The names as a scope.
    fn scope<'outer>(&self, outer: Option<&'outer Scope<'outer>>) -> Scope<'outer> {
        Scope { names: self.names.clone(), relations: self.relations.clone(), width: self.width, ..Scope::empty(outer) }
    }

    pub(super) fn of_scope(plan: Plan, scope: Scope<'_>) -> Item {
        Item { plan: Some(plan), names: scope.names, relations: scope.relations, width: scope.width, lateral: false }
    }
}

impl Binder<'_> {
    /// The rows of a FROM clause and what can be named in it.
    pub(crate) fn from<'outer>(
        &mut self,
        from: &[TableWithJoins],
        outer: Option<&'outer Scope<'outer>>,
    ) -> Result<(Plan, Scope<'outer>), SqlError> {
        let mut all = Item::default();
        for tree in from {
            all = self.tree(tree, all, outer)?;
        }
        let scope = all.scope(outer);
        Ok((all.plan.unwrap_or(Plan::OneRow), scope))
    }

    /// One table with its joins, behind what stands to the left of it.
    fn tree(&mut self, tree: &TableWithJoins, left: Item, outer: Option<&Scope<'_>>) -> Result<Item, SqlError> {
        let keeps_right = |join: &ast::Join| {
            matches!(
                join.join_operator,
                JoinOperator::Right(_) | JoinOperator::RightOuter(_) | JoinOperator::FullOuter(_)
            )
        };
        // x, (a RIGHT JOIN b) is not (x, a) RIGHT JOIN b: there the tree stands on its own, and does not see what is to its left.
        if tree.joins.iter().any(keeps_right) && left.plan.is_some() {
            let own = self.tree(tree, Item::default(), outer)?;
            return self.combine(left, own, JoinKind::Inner, None);
        }
        let first = left.names.len();
        let right = self.factor(&tree.relation, &left, outer)?;
        let mut all = self.combine(left, right, JoinKind::Inner, None)?;
        for join in &tree.joins {
            let right = self.factor(&join.relation, &all, outer)?;
            all = self.join(all, right, &join.join_operator, first, outer)?;
        }
        Ok(all)
    }

    fn join(
        &mut self,
        left: Item,
        right: Item,
        operator: &JoinOperator,
        first: usize,
        outer: Option<&Scope<'_>>,
    ) -> Result<Item, SqlError> {
        let (kind, constraint) = match operator {
            JoinOperator::Join(on) | JoinOperator::Inner(on) | JoinOperator::CrossJoin(on) => (JoinKind::Inner, on),
            JoinOperator::StraightJoin(on) => (JoinKind::Inner, on),
            JoinOperator::Left(on) | JoinOperator::LeftOuter(on) => (JoinKind::Left, on),
            JoinOperator::Right(on) | JoinOperator::RightOuter(on) => (JoinKind::Right, on),
            JoinOperator::FullOuter(on) => (JoinKind::Full, on),
            other => return Err(SqlError::unsupported(format!("the join {other:?}"))),
        };
        if matches!(kind, JoinKind::Left | JoinKind::Full) {
            self.refuse_lock_of_nullable(&right)?;
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            self.refuse_lock_of_nullable(&left)?;
        }
        if right.lateral && matches!(kind, JoinKind::Right | JoinKind::Full) {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                "a lateral item cannot be the kept side of an outer join",
            ));
        }
        let shared = match constraint {
            JoinConstraint::Using(columns) => columns
                .iter()
                .map(|name| match name.0.as_slice() {
                    [part] => part.as_ident().map(|ident| self.name(ident)),
                    _ => None,
                })
                .map(|name| name.ok_or_else(|| SqlError::new(SqlState::SYNTAX_ERROR, "USING takes names of columns")))
                .collect::<Result<Vec<String>, SqlError>>()?,
            JoinConstraint::Natural => self.natural_columns(&left.names[first..], &right.names),
            JoinConstraint::On(_) | JoinConstraint::None => Vec::new(),
        };
        let left_names = left.names.len();
        let mut all = self.combine(left, right, kind, None)?;
        let condition = match constraint {
            JoinConstraint::On(condition) => {
                let visible = Scope {
                    names: all.names[first..].to_vec(),
                    relations: all.relations.clone(),
                    width: all.width,
                    ..Scope::empty(outer)
                };
                Some(self.where_condition(condition, &visible, "JOIN/ON")?)
            }
            _ => self.merge_columns(&mut all, &shared, kind, first, left_names)?,
        };
        if let Some(Plan::Join(join)) = &mut all.plan {
            join.condition = condition;
        }
        Ok(all)
    }

    fn natural_columns(&self, left: &[Name], right: &[Name]) -> Vec<String> {
        let is_there = |name: &str| right.iter().any(|other| other.plain && self.is_same(&other.name, name));
        left.iter().filter(|name| name.plain && is_there(&name.name)).map(|name| name.name.clone()).collect()
    }

    /// The columns of USING: equal on both sides, and one of them is what the name means from here on.
    fn merge_columns(
        &mut self,
        all: &mut Item,
        shared: &[String],
        kind: JoinKind,
        first: usize,
        left_names: usize,
    ) -> Result<Option<Expression>, SqlError> {
        let mut conditions = Vec::new();
        let mut merged = Vec::new();
        for name in shared {
            let left = self.hide(&mut all.names[first..left_names], name, "left")?;
            let right = self.hide(&mut all.names[left_names..], name, "right")?;
            conditions.push(self.operator("=", vec![left.clone(), right.clone()])?);
            let meaning = match kind {
                JoinKind::Inner | JoinKind::Left => left,
                JoinKind::Right => right,
                JoinKind::Full => {
                    let operands = self.unify(vec![left, right])?;
                    let sql_type = operands[0].sql_type.clone();
                    Expression { node: Node::Coalesce(operands), sql_type }
                }
            };
            merged.push(Name { qualifier: None, name: name.clone(), meaning, plain: true });
        }
        all.names.splice(first..first, merged);
        Ok(Expression::all(conditions))
    }

    fn hide(&self, names: &mut [Name], wanted: &str, side: &str) -> Result<Expression, SqlError> {
        let mut found = names.iter_mut().filter(|name| name.plain && self.is_same(&name.name, wanted));
        let name = found.next().ok_or_else(|| {
            let message = format!("column \"{wanted}\" specified in USING clause does not exist in {side} table");
            SqlError::new(SqlState::UNDEFINED_COLUMN, message)
        })?;
        if found.next().is_some() {
            let message = format!("common column name \"{wanted}\" appears more than once in {side} table");
            return Err(SqlError::new(SqlState::AMBIGUOUS_COLUMN, message));
        }
        name.plain = false;
        Ok(name.meaning.clone())
    }

    /// Two items side by side.
    fn combine(
        &mut self,
        left: Item,
        mut right: Item,
        kind: JoinKind,
        condition: Option<Expression>,
    ) -> Result<Item, SqlError> {
        let Some(left_plan) = left.plan else { return Ok(right) };
        for relation in &right.relations {
            if left.relations.iter().any(|known| self.is_same(&known.qualifier, &relation.qualifier)) {
                let message = format!("table name \"{}\" specified more than once", relation.qualifier);
                return Err(SqlError::new(SqlState("42712"), message));
            }
        }
        if left.relations.len() + right.relations.len() > RELATION_LIMIT {
            let message = format!("a FROM clause may hold {RELATION_LIMIT} tables");
            return Err(SqlError::new(SqlState::TOO_COMPLEX, message));
        }
        for name in &mut right.names {
            visit::renumber(&mut name.meaning, &|index| index + left.width);
        }
        right.relations.iter_mut().for_each(|relation| relation.start += left.width);
        let join = Join {
            kind,
            left: left_plan,
            right: right.plan.unwrap_or(Plan::OneRow),
            lateral: right.lateral,
            hashed: Vec::new(),
            condition,
            kept: None,
        };
        Ok(Item {
            plan: Some(Plan::Join(Box::new(join))),
            names: left.names.into_iter().chain(right.names).collect(),
            relations: left.relations.into_iter().chain(right.relations).collect(),
            width: left.width + right.width,
            lateral: false,
        })
    }

    /// A single thing in FROM.
    fn factor(&mut self, factor: &TableFactor, left: &Item, outer: Option<&Scope<'_>>) -> Result<Item, SqlError> {
        match factor {
            TableFactor::Table { name, alias, args: None, version: None, sample: None, json_path: None, .. } => {
                self.named(name, alias.as_ref(), outer)
            }
            TableFactor::Table { name, alias, args: Some(arguments), with_ordinality, .. } => {
                self.function_item(name, &arguments.args, *with_ordinality, alias.as_ref(), left, outer)
            }
            TableFactor::Function { name, args, alias, with_ordinality, .. } => {
                self.function_item(name, args, *with_ordinality, alias.as_ref(), left, outer)
            }
            TableFactor::UNNEST { alias, array_exprs, with_offset: false, with_ordinality, .. } => {
                let exprs: Vec<&ast::Expr> = array_exprs.iter().collect();
                self.function_call("unnest", &exprs, *with_ordinality, alias.as_ref(), left, outer)
            }
            TableFactor::Derived { lateral, subquery, alias, sample: None } => {
                self.derived(*lateral, subquery, alias.as_ref(), left, outer)
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                self.tree(table_with_joins, Item::default(), outer)
            }
            other => Err(SqlError::unsupported(format!("{other} in FROM"))),
        }
    }

    fn named(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
        outer: Option<&Scope<'_>>,
    ) -> Result<Item, SqlError> {
        let (namespace, last) = parts(name, self.dialect)?;
        let qualifier = alias.map_or_else(|| last.clone(), |alias| self.name(&alias.name));
        if namespace.is_none()
            && let Some(common) = self.common.iter().rev().find(|common| self.is_same(&common.name, &last))
        {
            let reference = CommonReference { number: common.number, width: common.columns.len() };
            let columns = common.columns.clone();
            return self.columns_item(Plan::Common(reference), &qualifier, columns, alias);
        }
        let virtual_table = || virtual_tables::find(namespace.as_deref(), &last, self.dialect);
        if namespace.is_some()
            && let Some(table) = virtual_table()
        {
            return self.virtual_item(table, &qualifier, alias);
        }
        if let (Some("pg_catalog" | "information_schema"), Dialect::Postgres) = (namespace.as_deref(), self.dialect) {
            return Err(SqlError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist")));
        }
        let resolved = self.catalog.resolve_existing(name, self.dialect)?;
        if let Some(table) = self.catalog.tables.get(&resolved).cloned() {
            let mut scope = Scope::empty(None);
            scope.add_table(&table, qualifier.clone());
            let taken = self.lock_of(Some(&qualifier));
            let name = table.name.clone();
            let mut plan = Plan::scan(table);
            self.lock_table(&name, if taken.is_some() { TableMode::RowShare } else { TableMode::AccessShare });
            if let (Plan::Read(read), Some(taken)) = (&mut plan, taken) {
                (read.lock, read.patience) = taken;
                read.takes_keys = read.lock == Lock::Update;
            }
            let mut item = Item::of_scope(plan, scope);
            self.rename(&mut item, alias)?;
            return Ok(item);
        }
        if let Some(view) = self.catalog.views.get(&resolved).cloned() {
            self.inherited = self.lock_of(Some(&qualifier));
            let query = self.view(&view, outer)?;
            return self.columns_item(pulled_up(query.plan, true), &qualifier, query.columns, alias);
        }
        match virtual_table() {
            Some(table) => self.virtual_item(table, &qualifier, alias),
            None => Err(SqlError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))),
        }
    }

    /// How rows of a table of this name are taken: what FOR UPDATE says. Without a name: what it says of all tables.
    pub(super) fn lock_of(&self, qualifier: Option<&str>) -> Option<(Lock, Patience)> {
        let applies = |clause: &&LockClause| match (&clause.of, qualifier) {
            (None, _) => true,
            (Some(name), Some(qualifier)) => self.is_same(name, qualifier),
            (Some(_), None) => false,
        };
        let clauses = || self.locks.iter().filter(applies);
        let lock = clauses().map(|clause| clause.lock).max()?;
        Some((lock, clauses().map(|clause| clause.patience).max()?))
    }

    /// Every table that FOR UPDATE names must be there.
    pub(super) fn check_locks(&self, scope: &Scope<'_>) -> Result<(), SqlError> {
        for clause in &self.locks {
            if let Some(name) = clause.of.as_ref().filter(|name| !scope.has_relation(name, self.dialect)) {
                let words = lock_words(clause.lock);
                let message = format!("relation \"{name}\" in {words} clause not found in FROM clause");
                return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
            }
        }
        Ok(())
    }

    /// PostgreSQL locks no row that may be missing.
    fn refuse_lock_of_nullable(&self, item: &Item) -> Result<(), SqlError> {
        let tables = item.relations.iter().filter(|relation| relation.table.is_some());
        let lock = tables.filter_map(|relation| self.lock_of(Some(&relation.qualifier))).map(|(lock, _)| lock).max();
        match lock.filter(|_| self.dialect == Dialect::Postgres) {
            Some(lock) => {
                let words = lock_words(lock);
                let message = format!("{words} cannot be applied to the nullable side of an outer join");
                Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
            None => Ok(()),
        }
    }

    fn virtual_item(
        &mut self,
        table: virtual_tables::VirtualTable,
        qualifier: &str,
        alias: Option<&ast::TableAlias>,
    ) -> Result<Item, SqlError> {
        let columns = table
            .columns
            .iter()
            .map(|(name, sql_type)| ResultColumn { name: (*name).to_owned(), sql_type: sql_type.clone() })
            .collect();
        self.columns_item(Plan::Virtual(Box::new(table)), qualifier, columns, alias)
    }

    /// A view's query is bound as it stands in the catalog: it sees no names of the statement that uses it.
    fn view(&mut self, view: &View, outer: Option<&Scope<'_>>) -> Result<Query, SqlError> {
        if self.views >= VIEW_LIMIT {
            let message = format!("view \"{}\" stands on too many other views", view.name);
            return Err(SqlError::new(SqlState::TOO_COMPLEX, message));
        }
        let _ = outer;
        let query = syntax::parse_query(self.dialect, &view.query)?;
        let variables = std::mem::take(&mut self.variables);
        let common = std::mem::take(&mut self.common);
        let zone = std::mem::take(&mut self.zone);
        self.views += 1;
        let bound = self.query(&query, None);
        self.views -= 1;
        self.zone = zone;
        self.common = common;
        self.variables = variables;
        let mut bound = bound?;
        for (column, name) in bound.columns.iter_mut().zip(&view.columns) {
            column.name.clone_from(name);
        }
        Ok(bound)
    }

    fn columns_item(
        &mut self,
        plan: Plan,
        qualifier: &str,
        columns: Vec<ResultColumn>,
        alias: Option<&ast::TableAlias>,
    ) -> Result<Item, SqlError> {
        let mut scope = Scope::empty(None);
        scope.add_columns(qualifier, columns.iter().map(|column| (column.name.as_str(), &column.sql_type)));
        // Behind its columns may stand what the query around it locks.
        scope.width = plan.width();
        let mut item = Item::of_scope(plan, scope);
        self.rename(&mut item, alias)?;
        Ok(item)
    }

    /// AS name (a, b): other names for the first columns.
    fn rename(&self, item: &mut Item, alias: Option<&ast::TableAlias>) -> Result<(), SqlError> {
        let Some(alias) = alias else { return Ok(()) };
        if alias.columns.len() > item.names.len() {
            let message = format!("table \"{}\" has fewer columns than names are given", alias.name);
            return Err(SqlError::new(SqlState("42P10"), message));
        }
        for (name, column) in item.names.iter_mut().zip(&alias.columns) {
            name.name = self.name(&column.name);
        }
        Ok(())
    }

    fn derived(
        &mut self,
        lateral: bool,
        subquery: &ast::Query,
        alias: Option<&ast::TableAlias>,
        left: &Item,
        outer: Option<&Scope<'_>>,
    ) -> Result<Item, SqlError> {
        let qualifier = match alias {
            Some(alias) => self.name(&alias.name),
            // Two subqueries without a name do not clash: no qualifier reaches them.
            None => format!("{UNNAMED} {}", self.next_subquery()),
        };
        self.inherited = self.lock_of(Some(&qualifier));
        let left_scope = left.scope(outer);
        let query = if lateral { self.query(subquery, Some(&left_scope))? } else { self.query(subquery, outer)? };
        let plan = pulled_up(query.plan, subquery.locks.is_empty());
        let mut item = self.columns_item(plan, &qualifier, query.columns, alias)?;
        if lateral {
            settle_lateral(&mut item);
        }
        Ok(item)
    }

    fn function_item(
        &mut self,
        name: &ast::ObjectName,
        written: &[FunctionArg],
        ordinality: bool,
        alias: Option<&ast::TableAlias>,
        left: &Item,
        outer: Option<&Scope<'_>>,
    ) -> Result<Item, SqlError> {
        let name = self.function_name(name)?;
        let mut expressions = Vec::with_capacity(written.len());
        for argument in written {
            match argument {
                FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expression)) => expressions.push(expression),
                other => return Err(SqlError::unsupported(format!("the argument {other} of {name}"))),
            }
        }
        self.function_call(&name, &expressions, ordinality, alias, left, outer)
    }

    /// A function in FROM may use what stands to its left, without the word LATERAL.
    fn function_call(
        &mut self,
        name: &str,
        written: &[&ast::Expr],
        ordinality: bool,
        alias: Option<&ast::TableAlias>,
        left: &Item,
        outer: Option<&Scope<'_>>,
    ) -> Result<Item, SqlError> {
        let left_scope = left.scope(outer);
        let scope = Scope::empty(Some(&left_scope));
        scope.clause.set(Clause::Rows("functions in FROM"));
        let mut arguments = Vec::with_capacity(written.len());
        for argument in written {
            arguments.push(self.expression(argument, &scope)?);
        }
        let (plan, mut columns) = self.function_plan(name, arguments, ordinality)?;
        let qualifier = alias.map_or_else(|| name.to_owned(), |alias| self.name(&alias.name));
        // A function with one column gives it its own name, or that of its alias.
        if let (Some(alias), true) = (alias, columns.len() == 1 + usize::from(ordinality)) {
            columns[0].name = self.name(&alias.name);
        }
        let mut item = self.columns_item(plan, &qualifier, columns, alias)?;
        settle_lateral(&mut item);
        Ok(item)
    }

    fn function_plan(
        &mut self,
        name: &str,
        arguments: Vec<Expression>,
        ordinality: bool,
    ) -> Result<(Plan, Vec<ResultColumn>), SqlError> {
        let types: Vec<SqlType> = arguments.iter().map(|argument| argument.sql_type.clone()).collect();
        // unnest(a, b) is unnest(a) beside unnest(b).
        if name == "unnest" && arguments.len() > 1 {
            let mut calls = Vec::with_capacity(arguments.len());
            for argument in arguments {
                calls.push(self.table_call(name, vec![argument])?);
            }
            return Ok(side_by_side(calls, ordinality));
        }
        if let Err(error) = function::table(name, &types, self.dialect) {
            // Any function is a table of one row.
            if error.state != SqlState::UNDEFINED_FUNCTION || ordinality {
                return Err(error);
            }
            let value = self.function(name, arguments).map_err(|_| error)?;
            let columns = vec![ResultColumn { name: name.to_owned(), sql_type: value.sql_type.clone() }];
            return Ok((Plan::Project(Box::new(Plan::OneRow), vec![value]), columns));
        }
        let call = self.table_call(name, arguments)?;
        Ok(side_by_side(vec![call], ordinality))
    }

    fn table_call(&mut self, name: &str, arguments: Vec<Expression>) -> Result<TableCall, SqlError> {
        let types: Vec<SqlType> = arguments.iter().map(|argument| argument.sql_type.clone()).collect();
        let routine = function::table(name, &types, self.dialect)?;
        let pairs = arguments.into_iter().zip(&routine.parameters);
        let arguments = pairs.map(|(argument, parameter)| self.coerce(argument, parameter));
        let arguments = arguments.collect::<Result<Vec<Expression>, SqlError>>()?;
        Ok(TableCall { routine, arguments })
    }

    /// The calls of a select list as one thing in FROM, each with a name of its own.
    pub(super) fn calls_item(
        &mut self,
        calls: &Calls,
        left: &Item,
        outer: Option<&Scope<'_>>,
    ) -> Result<Item, SqlError> {
        let left_scope = left.scope(outer);
        let inside = Scope::empty(Some(&left_scope));
        inside.clause.set(Clause::Rows("the arguments of a function that gives rows"));
        let mut bound = Vec::new();
        let mut scope = Scope::empty(None);
        for (place, (call, whole)) in calls.found.iter().enumerate() {
            let name = self.function_name(&call.name)?;
            let mut arguments = Vec::new();
            for argument in super::call::arguments(&call.args, &name)?.expressions {
                arguments.push(self.expression(argument, &inside)?);
            }
            let mut call = self.table_call(&name, arguments)?;
            if let [only] = call.routine.columns.as_mut_slice() {
                only.0 = ONLY_COLUMN.to_owned();
            }
            let (columns, start) = (&call.routine.columns, scope.width);
            scope.add_columns(&qualifier(place), columns.iter().map(|(name, kind)| (name.as_str(), kind)));
            if *whole && columns.len() > 1 {
                let fields = columns.iter().enumerate();
                let fields = fields.map(|(index, (_, kind))| Expression::column(start + index, kind.clone())).collect();
                let meaning =
                    Expression { node: Node::Array(fields), sql_type: SqlType::Record(columns.as_slice().into()) };
                scope.names.push(Name {
                    qualifier: Some(qualifier(place)),
                    name: ONLY_COLUMN.to_owned(),
                    meaning,
                    plain: false,
                });
            }
            bound.push(call);
        }
        let (plan, _) = side_by_side(bound, false);
        let mut item = Item::of_scope(plan, scope);
        // `SELECT *` does not mean them.
        item.names.iter_mut().for_each(|name| name.plain = false);
        settle_lateral(&mut item);
        Ok(item)
    }

    /// Every row of one with every row of the other.
    pub(super) fn beside<'outer>(
        &mut self,
        left: Item,
        right: Item,
        outer: Option<&'outer Scope<'outer>>,
    ) -> Result<(Plan, Scope<'outer>), SqlError> {
        let all = self.combine(left, right, JoinKind::Inner, None)?;
        let scope = all.scope(outer);
        Ok((all.plan.unwrap_or(Plan::OneRow), scope))
    }
}

/// The rows of several calls side by side, and their columns.
fn side_by_side(calls: Vec<TableCall>, ordinality: bool) -> (Plan, Vec<ResultColumn>) {
    let all = calls.iter().flat_map(|call| &call.routine.columns);
    let mut columns: Vec<ResultColumn> =
        all.map(|(name, sql_type)| ResultColumn { name: name.clone(), sql_type: sql_type.clone() }).collect();
    if ordinality {
        columns.push(ResultColumn { name: "ordinality".to_owned(), sql_type: SqlType::BIGINT });
    }
    (Plan::Function(Box::new(FunctionRead { calls, ordinality })), columns)
}

/// What was bound one row further in, but uses nothing of that row, needs not be evaluated for each.
fn settle_lateral(item: &mut Item) {
    let Some(plan) = &mut item.plan else { return };
    item.lateral = visit::plan_columns(plan).next;
    if !item.lateral {
        visit::shift_plan(plan, -1);
    }
}

/// A subquery of a table or a join that has no lock of its own: the rows of its tables are locked by the query around it, with its other rows.
fn pulled_up(plan: Plan, is_implied: bool) -> Plan {
    match plan {
        Plan::Lock(locking) if is_implied && matches!(locking.input, Plan::Project(..)) => locking.input,
        plan => plan,
    }
}
