//! SELECT: the order in which its clauses are bound is not the order in which they are written.
//!
//! ```text
//!   FROM ─> WHERE ─> select list, GROUP BY, HAVING, ORDER BY ─> groups are known: expressions are rewritten over them
//!                                                               │
//!   Read/Join ─> Filter ─> Aggregate ─> Filter ─> Window ─> Project ─> Distinct ─> Sort
//! ```

use super::group::Grouping;
use super::query::{Draft, ambiguous_order, checked_ordinal, order_keys, ordinal};
use super::scope::Name;
use super::{Binder, Clause, Scope};
use crate::answer::ResultColumn;
use crate::tree::expression::{Expression, Node};
use crate::tree::plan::{Locking, Plan, SortKey};
use crate::tree::visit;
use skew_value::{CastKind, Dialect, SqlError, SqlState, SqlType};
use sqlparser::ast::{self, Distinct, Expr, GroupByExpr, NamedWindowExpr, Select, SelectItem};

/// The expressions of a SELECT while it is bound, all over the row of FROM.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    /// The select list.
    pub(super) items: Vec<(Expression, String)>,
    /// What is sorted by besides: not in the select list.
    pub(super) hidden: Vec<Expression>,
    /// ORDER BY, by place in items and hidden.
    pub(super) keys: Vec<SortKey>,
    /// DISTINCT ON, by place; all items for DISTINCT.
    pub(super) distinct: Option<Vec<usize>>,
    /// HAVING.
    pub(super) having: Option<Expression>,
}

impl Outputs {
    /// All expressions that are computed after grouping.
    pub(super) fn expressions(&mut self) -> impl Iterator<Item = &mut Expression> {
        self.items.iter_mut().map(|(item, _)| item).chain(&mut self.hidden).chain(&mut self.having)
    }
}

impl Binder<'_> {
    pub(super) fn select(
        &mut self,
        select: &Select,
        order: Option<&ast::OrderBy>,
        outer: Option<&Scope<'_>>,
    ) -> Result<Draft, SqlError> {
        check_supported(select)?;
        let (mut plan, mut scope) = self.from(&select.from, outer)?;
        self.check_locks(&scope)?;
        if let Some(condition) = &select.selection {
            let condition = self.where_condition(condition, &scope, "WHERE")?;
            plan = Plan::Filter(Box::new(plan), condition);
        }
        let sets = self.set_returning(&select.projection);
        if let Some((calls, _)) = &sets {
            (plan, scope) = self.join_calls(calls, plan, scope, outer)?;
        }
        self.name_windows(&select.named_window, &scope)?;
        scope.clause.set(Clause::Output);
        let list = sets.as_ref().map_or(&select.projection, |(_, list)| list);
        let mut outputs = Outputs { items: self.items(list, &scope)?, ..Outputs::default() };
        let grouping = self.grouping_clause(&select.group_by, &outputs, &scope)?;
        if self.dialect == Dialect::MySql {
            let aliases = outputs.items.iter().map(|(item, name)| (name.clone(), item.clone())).collect();
            *scope.aliases.borrow_mut() = aliases;
        }
        if let Some(having) = &select.having {
            scope.clause.set(Clause::Having);
            let having = self.expression(having, &scope)?;
            outputs.having = Some(self.condition(having, "HAVING")?);
            scope.clause.set(Clause::Output);
        }
        self.order_clause(order, &mut outputs, &scope)?;
        self.distinct_clause(select.distinct.as_ref(), &mut outputs, &scope)?;
        // In MySQL a HAVING without groups is another WHERE, which sees aliases.
        let having = outputs.having.is_some() && self.dialect == Dialect::Postgres;
        let grouped = grouping.is_some() || having || !scope.aggregates.borrow().is_empty();
        if grouped && sets.is_some() {
            return Err(SqlError::unsupported("a function that gives rows in the select list of a query with groups")
                .with_hint("group in a subquery"));
        }
        if grouped && !self.locks.is_empty() {
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, "FOR UPDATE is not allowed with GROUP BY"));
        }
        if grouped {
            plan = grouping.unwrap_or_default().apply(plan, &mut outputs, &scope)?;
        }
        if let Some(having) = outputs.having.take() {
            plan = Plan::Filter(Box::new(plan), having);
        }
        plan = window_plan(plan, &mut outputs, &scope);
        if outputs.distinct.is_some() && !self.locks.is_empty() {
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, "FOR UPDATE is not allowed with DISTINCT"));
        }
        let locks_above = !self.locks.is_empty() && self.dialect == Dialect::Postgres;
        if locks_above && sets.is_some() {
            let message = "FOR UPDATE is not allowed with set-returning functions in the target list";
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if locks_above && matches!(plan, Plan::Window(..)) {
            let message = "FOR UPDATE is not allowed with window functions";
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(if locks_above { lock(plan, outputs, self.next_subquery()) } else { project(plan, outputs) })
    }

    fn name_windows(&mut self, windows: &[ast::NamedWindowDefinition], scope: &Scope<'_>) -> Result<(), SqlError> {
        for ast::NamedWindowDefinition(name, window) in windows {
            let name = self.name(name);
            if scope.named_windows.borrow().iter().any(|(known, _)| *known == name) {
                return Err(SqlError::new(SqlState("42P20"), format!("window \"{name}\" is already defined")));
            }
            let specification = match window {
                NamedWindowExpr::WindowSpec(own) => {
                    self.window_specification(&ast::WindowType::WindowSpec(own.clone()), scope)?
                }
                NamedWindowExpr::NamedWindow(_) => {
                    return Err(SqlError::unsupported("a window that is another window"));
                }
            };
            scope.named_windows.borrow_mut().push((name, specification));
        }
        Ok(())
    }

    /// The select list, `*` written out.
    pub(crate) fn items(
        &mut self,
        items: &[SelectItem],
        scope: &Scope<'_>,
    ) -> Result<Vec<(Expression, String)>, SqlError> {
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expression) => {
                    let value = self.expression(expression, scope)?;
                    bound.push((self.output(value)?, self.output_name(expression)));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let value = self.expression(expr, scope)?;
                    bound.push((self.output(value)?, alias.value.clone()));
                    if self.dialect == Dialect::Postgres
                        && let Some(last) = bound.last_mut()
                    {
                        last.1 = self.name(alias);
                    }
                }
                SelectItem::Wildcard(options) => {
                    check_wildcard(options)?;
                    if scope.relations.is_empty() {
                        return Err(SqlError::new(
                            SqlState::SYNTAX_ERROR,
                            "SELECT * with no tables specified is not valid",
                        ));
                    }
                    let names: Vec<&Name> = scope.names.iter().filter(|name| name.plain).collect();
                    self.note_wildcard(options, &names);
                    bound.extend(names.into_iter().map(whole));
                }
                SelectItem::QualifiedWildcard(kind, options) => {
                    check_wildcard(options)?;
                    let names = self.all_of(kind, scope)?;
                    self.note_wildcard(options, &names);
                    bound.extend(names.into_iter().map(whole));
                }
                other => return Err(SqlError::unsupported(format!("{other} in a select list"))),
            }
        }
        Ok(bound)
    }

    /// RETURNING: columns and their values.
    pub(crate) fn outputs(
        &mut self,
        items: &[SelectItem],
        scope: &Scope<'_>,
    ) -> Result<(Vec<ResultColumn>, Vec<Expression>), SqlError> {
        let before = scope.clause.replace(Clause::Rows("RETURNING"));
        let items = self.items(items, scope);
        scope.clause.set(before);
        let mut columns = Vec::new();
        let mut expressions = Vec::new();
        for (item, name) in items? {
            let item = self.settled(item)?;
            columns.push(ResultColumn { name, sql_type: item.sql_type.clone() });
            expressions.push(item);
        }
        Ok((columns, expressions))
    }

    /// MySQL has no booleans to show: a condition is 1 or 0.
    fn output(&mut self, value: Expression) -> Result<Expression, SqlError> {
        match (self.dialect, &value.sql_type) {
            (Dialect::MySql, SqlType::Boolean) => self.convert(value, &SqlType::BIGINT, CastKind::Explicit),
            _ => Ok(value),
        }
    }

    /// Remembers what `*` stands for, unless it is the `*` of a view, whose text is another one.
    fn note_wildcard(&mut self, options: &ast::WildcardAdditionalOptions, names: &[&Name]) {
        let start = options.wildcard_token.0.span.start;
        if let Some(wildcards) = self.wildcards.as_mut().filter(|_| self.views == 0) {
            let names = names.iter().map(|name| (name.qualifier.clone(), name.name.clone())).collect();
            wildcards.insert((start.line, start.column), names);
        }
    }

    /// `t.*`.
    fn all_of<'scope>(
        &self,
        kind: &ast::SelectItemQualifiedWildcardKind,
        scope: &'scope Scope<'_>,
    ) -> Result<Vec<&'scope Name>, SqlError> {
        let ast::SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
            return Err(SqlError::unsupported(".* of an expression"));
        };
        let wanted = name.0.last().and_then(|part| part.as_ident()).map_or(String::new(), |ident| self.name(ident));
        if !scope.has_relation(&wanted, self.dialect) {
            let message = format!("missing FROM-clause entry for table \"{wanted}\"");
            return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
        }
        let of_table = |name: &&Name| name.qualifier.as_ref().is_some_and(|qualifier| self.is_same(qualifier, &wanted));
        Ok(scope.names.iter().filter(of_table).collect())
    }

    /// The name of a column that has no alias.
    pub(super) fn output_name(&self, expression: &Expr) -> String {
        if let Expr::Identifier(ident) = expression {
            return self.name(ident);
        }
        if let Expr::CompoundIdentifier(idents) = expression {
            return idents.last().map_or(String::new(), |ident| self.name(ident));
        }
        match self.dialect {
            Dialect::MySql => expression.to_string(),
            Dialect::Postgres => postgres_name(expression).unwrap_or_else(|| "?column?".to_owned()),
        }
    }

    /// GROUP BY: ordinals and, where no column has the name, aliases of the select list.
    fn grouping_clause(
        &mut self,
        clause: &GroupByExpr,
        outputs: &Outputs,
        scope: &Scope<'_>,
    ) -> Result<Option<Grouping>, SqlError> {
        let GroupByExpr::Expressions(keys, modifiers) = clause else {
            return Err(SqlError::unsupported("GROUP BY ALL"));
        };
        if keys.is_empty() && modifiers.is_empty() {
            return Ok(None);
        }
        let mut grouping = Grouping::default();
        scope.clause.set(Clause::Rows("GROUP BY"));
        for key in keys {
            let alternatives = match key {
                Expr::Rollup(parts) => self.grouping_parts(parts, &mut grouping, outputs, scope)?.rollup(),
                Expr::Cube(parts) => self.grouping_parts(parts, &mut grouping, outputs, scope)?.cube()?,
                Expr::GroupingSets(sets) => self.grouping_parts(sets, &mut grouping, outputs, scope)?.0,
                Expr::Tuple(parts) if parts.is_empty() => vec![Vec::new()],
                key => vec![vec![self.grouping_key(key, &mut grouping, outputs, scope)?]],
            };
            grouping.multiply(&alternatives)?;
        }
        for modifier in modifiers {
            match modifier {
                ast::GroupByWithModifier::Rollup => grouping.roll_up(),
                ast::GroupByWithModifier::GroupingSets(Expr::GroupingSets(sets)) => {
                    let parts = self.grouping_parts(sets, &mut grouping, outputs, scope)?;
                    grouping.multiply(&parts.0)?;
                }
                other => return Err(SqlError::unsupported(format!("GROUP BY … {other}"))),
            }
        }
        scope.clause.set(Clause::Output);
        Ok(Some(grouping))
    }

    fn grouping_parts(
        &mut self,
        parts: &[Vec<Expr>],
        grouping: &mut Grouping,
        outputs: &Outputs,
        scope: &Scope<'_>,
    ) -> Result<super::group::Sets, SqlError> {
        let mut sets = Vec::with_capacity(parts.len());
        for part in parts {
            let mut set = Vec::with_capacity(part.len());
            for key in part {
                set.push(self.grouping_key(key, grouping, outputs, scope)?);
            }
            sets.push(set);
        }
        Ok(super::group::Sets(sets))
    }

    fn grouping_key(
        &mut self,
        key: &Expr,
        grouping: &mut Grouping,
        outputs: &Outputs,
        scope: &Scope<'_>,
    ) -> Result<usize, SqlError> {
        if let Some(number) = ordinal(key) {
            let place = checked_ordinal(number, outputs.items.len(), "GROUP BY")?;
            return grouping.key(outputs.items[place].0.clone());
        }
        if let Expr::Identifier(ident) = key {
            let name = self.name(ident);
            let column = scope.find(None, &name, self.dialect)?.is_some();
            if !column && let Some(place) = self.place_of_alias(&name, outputs) {
                return grouping.key(outputs.items[place].0.clone());
            }
        }
        let key = self.expression(key, scope)?;
        let key = self.settled(key)?;
        grouping.key(key)
    }

    fn place_of_alias(&self, name: &str, outputs: &Outputs) -> Option<usize> {
        outputs.items.iter().position(|(_, alias)| self.is_same(alias, name))
    }

    /// ORDER BY: ordinals, aliases of the select list, then any expression over the tables.
    fn order_clause(
        &mut self,
        order: Option<&ast::OrderBy>,
        outputs: &mut Outputs,
        scope: &Scope<'_>,
    ) -> Result<(), SqlError> {
        let Some(order) = order else { return Ok(()) };
        for key in order_keys(order)? {
            if key.with_fill.is_some() {
                return Err(SqlError::unsupported("WITH FILL"));
            }
            let index = self.sort_place(&key.expr, outputs, scope)?;
            let hidden = || &outputs.hidden[index - outputs.items.len()];
            let sql_type = &outputs.items.get(index).map_or_else(hidden, |item| &item.0).sql_type;
            let direction = self.direction(&key.options, sql_type)?;
            outputs.keys.push(SortKey { index, direction });
        }
        Ok(())
    }

    /// The place of an expression among the outputs; a new hidden one if it is not there.
    fn sort_place(&mut self, key: &Expr, outputs: &mut Outputs, scope: &Scope<'_>) -> Result<usize, SqlError> {
        if let Some(number) = ordinal(key) {
            return checked_ordinal(number, outputs.items.len(), "ORDER BY");
        }
        if let Expr::Identifier(ident) = key
            && let Some(place) = self.place_of_alias(&self.name(ident), outputs)
        {
            let (first, others) = (&outputs.items[place].0, &outputs.items[place + 1..]);
            let differs = |(item, alias): &(Expression, String)| {
                self.is_same(alias, &self.name(ident)) && !super::group::same(item, first)
            };
            if self.dialect == Dialect::Postgres && others.iter().any(differs) {
                return Err(ambiguous_order(&self.name(ident)));
            }
            return Ok(place);
        }
        let key = self.expression(key, scope)?;
        let key = self.settled(key)?;
        let known = outputs.items.iter().map(|(item, _)| item).chain(&outputs.hidden);
        let known = known.into_iter().position(|item| super::group::same(item, &key));
        Ok(known.unwrap_or_else(|| {
            outputs.hidden.push(key);
            outputs.items.len() + outputs.hidden.len() - 1
        }))
    }

    fn distinct_clause(
        &mut self,
        distinct: Option<&Distinct>,
        outputs: &mut Outputs,
        scope: &Scope<'_>,
    ) -> Result<(), SqlError> {
        match distinct {
            None | Some(Distinct::All) => Ok(()),
            Some(Distinct::Distinct) => {
                if !outputs.hidden.is_empty() {
                    let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                    return Err(SqlError::new(SqlState("42P10"), message));
                }
                outputs.distinct = Some((0..outputs.items.len()).collect());
                Ok(())
            }
            Some(Distinct::On(keys)) => {
                let mut places = Vec::with_capacity(keys.len());
                for key in keys {
                    places.push(self.sort_place(key, outputs, scope)?);
                }
                let leading = outputs.keys.iter().take(places.len());
                if leading.clone().any(|key| !places.contains(&key.index)) {
                    let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
                    return Err(SqlError::new(SqlState("42P10"), message));
                }
                outputs.distinct = Some(places);
                Ok(())
            }
        }
    }
}

fn whole(name: &Name) -> (Expression, String) {
    (name.meaning.clone(), name.name.clone())
}

/// Window functions get columns behind the row they are computed over.
fn window_plan(plan: Plan, outputs: &mut Outputs, scope: &Scope<'_>) -> Plan {
    let windows = scope.windows.take();
    if windows.is_empty() {
        return plan;
    }
    let width = plan.width();
    for output in outputs.expressions() {
        visit::expression(output, 0, &mut |one, level| {
            if let Node::Window(number) = one.node
                && level == 0
            {
                one.node = Node::Column { depth: 0, index: width + number };
            }
        });
    }
    Plan::Window(Box::new(plan), windows.into_iter().map(|(call, _)| call).collect())
}

/// The same where rows are locked as they come: behind what the query gives stands the row of FROM.
fn lock(from: Plan, mut outputs: Outputs, scope: usize) -> Draft {
    let width = outputs.items.len() + outputs.hidden.len();
    outputs.hidden.extend((0..from.width()).map(|place| Expression::column(place, SqlType::Unknown)));
    let draft = project(from, outputs);
    let locking = Locking { scope, input: draft.plan, width };
    Draft { plan: Plan::Lock(Box::new(locking)), ..draft }
}

/// The last steps: the select list, then duplicates, then the order. DISTINCT ON takes the first of each in the order.
fn project(plan: Plan, outputs: Outputs) -> Draft {
    let columns = outputs
        .items
        .iter()
        .map(|(item, name)| ResultColumn { name: name.clone(), sql_type: item.sql_type.clone() })
        .collect();
    let expressions = outputs.items.into_iter().map(|(item, _)| item).chain(outputs.hidden).collect();
    let mut plan = Plan::Project(Box::new(plan), expressions);
    if !outputs.keys.is_empty() {
        plan = Plan::Sort(Box::new(plan), outputs.keys.clone());
    }
    if let Some(distinct) = outputs.distinct {
        plan = Plan::Distinct(Box::new(plan), distinct);
    }
    Draft { plan, columns, keys: outputs.keys }
}

/// PostgreSQL names a column after its function, its cast's column or type, and else not at all.
fn postgres_name(expression: &Expr) -> Option<String> {
    let word = match expression {
        Expr::Identifier(ident) if ident.quote_style.is_none() => ident.value.to_lowercase(),
        Expr::Identifier(ident) => ident.value.clone(),
        Expr::CompoundIdentifier(idents) => idents.last()?.value.to_lowercase(),
        Expr::Function(call) => call.name.0.last()?.as_ident()?.value.to_lowercase(),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => return postgres_name(inner),
        Expr::Cast { expr, data_type, .. } => {
            let mut inner = &**expr;
            while let Expr::Cast { expr: further, .. } | Expr::Nested(further) = inner {
                inner = further;
            }
            // The name of a column or function lasts through casts; else the last cast gives the name.
            let named = !matches!(inner, Expr::TypedString(_) | Expr::Value(_) | Expr::Case { .. });
            return postgres_name(inner).filter(|_| named).or_else(|| type_word(data_type));
        }
        Expr::TypedString(typed) => return type_word(&typed.data_type),
        Expr::Case { else_result, .. } => {
            return else_result.as_deref().and_then(postgres_name).or_else(|| Some("case".to_owned()));
        }
        Expr::Exists { .. } => "exists".to_owned(),
        Expr::Array(_) => "array".to_owned(),
        Expr::Extract { .. } => "extract".to_owned(),
        Expr::Position { .. } => "position".to_owned(),
        Expr::Substring { .. } => "substring".to_owned(),
        Expr::Trim { .. } => "btrim".to_owned(),
        Expr::Overlay { .. } => "overlay".to_owned(),
        Expr::Ceil { .. } => "ceil".to_owned(),
        Expr::Floor { .. } => "floor".to_owned(),
        Expr::AtTimeZone { .. } => "timezone".to_owned(),
        Expr::Interval(_) => "interval".to_owned(),
        Expr::Subquery(query) => return subquery_name(query),
        Expr::CompoundFieldAccess { root, access_chain } => {
            return match access_chain.last() {
                Some(ast::AccessExpr::Dot(field)) => postgres_name(field),
                _ => postgres_name(root),
            };
        }
        Expr::Tuple(_) => "row".to_owned(),
        Expr::Value(ast::ValueWithSpan { value: ast::Value::Boolean(_), .. }) => "bool".to_owned(),
        _ => return None,
    };
    Some(word)
}

fn subquery_name(query: &ast::Query) -> Option<String> {
    let ast::SetExpr::Select(select) = &*query.body else { return None };
    match select.projection.first()? {
        SelectItem::UnnamedExpr(expression) => postgres_name(expression),
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        _ => None,
    }
}

fn type_word(data_type: &ast::DataType) -> Option<String> {
    let text = data_type.to_string().to_lowercase().replace('"', "");
    let text = text.strip_prefix("pg_catalog.").unwrap_or(&text);
    let first = text.split(['(', ' ', '[']).next()?;
    Some(match first {
        "int" | "integer" => "int4".to_owned(),
        "bigint" => "int8".to_owned(),
        "smallint" => "int2".to_owned(),
        "double" => "float8".to_owned(),
        "real" => "float4".to_owned(),
        "boolean" => "bool".to_owned(),
        "decimal" => "numeric".to_owned(),
        other => other.to_owned(),
    })
}

fn check_supported(select: &Select) -> Result<(), SqlError> {
    let unsupported = [
        (select.top.is_some(), "TOP"),
        (select.exclude.is_some(), "EXCLUDE"),
        (select.into.is_some(), "SELECT … INTO"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW"),
        (select.prewhere.is_some(), "PREWHERE"),
        (!select.connect_by.is_empty(), "CONNECT BY"),
        (!select.cluster_by.is_empty() || !select.distribute_by.is_empty(), "CLUSTER BY"),
        (!select.sort_by.is_empty(), "SORT BY"),
        (select.qualify.is_some(), "QUALIFY"),
        (select.value_table_mode.is_some(), "SELECT AS STRUCT"),
        (!matches!(select.flavor, ast::SelectFlavor::Standard), "FROM before SELECT"),
    ];
    match unsupported.iter().find(|(used, _)| *used) {
        Some((_, construct)) => Err(SqlError::unsupported(construct)),
        None => Ok(()),
    }
}

fn check_wildcard(options: &ast::WildcardAdditionalOptions) -> Result<(), SqlError> {
    let plain = options.opt_ilike.is_none()
        && options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none()
        && options.opt_alias.is_none();
    if plain { Ok(()) } else { Err(SqlError::unsupported("* with options")) }
}
