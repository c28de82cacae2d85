//! Expressions: one arm per construct, each a few lines.
//!
//! Chains such as `a AND b AND c …` are left-deep in the syntax; they are walked with a loop, so that their length costs no stack.

use super::{Binder, Clause, Scope};
use crate::tree::expression::{Expression, InList, Node};
use crate::tree::plan::Identity;
use skew_value::{CastKind, Datum, Dialect, SqlError, SqlState, SqlType, common_type, function};
use sqlparser::ast::{self, Expr};

impl Binder<'_> {
    /// Binds an expression; its type may still be unknown.
    pub(crate) fn expression(&mut self, expression: &Expr, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        self.count_expression()?;
        match expression {
            Expr::Identifier(ident) => self.column_reference(std::slice::from_ref(ident), scope),
            Expr::CompoundIdentifier(idents) => self.column_reference(idents, scope),
            Expr::Nested(inner) => self.expression(inner, scope),
            Expr::Value(value) => self.bind_value(value),
            Expr::Prefixed { value, .. } => self.expression(value, scope),
            Expr::TypedString(typed) => self.typed_string(typed),
            Expr::Interval(interval) => self.interval(interval, scope),
            Expr::BinaryOp { left, op, right } => self.binary(expression, left, op, right, scope),
            Expr::UnaryOp { op, expr } => self.unary(op, expr, scope),
            Expr::Function(call) => self.call(call, scope),
            Expr::Cast { kind, expr, data_type, format } => self.cast(kind, expr, data_type, format.is_some(), scope),
            Expr::Subquery(query) => self.scalar_subquery(query, scope),
            Expr::Exists { subquery, negated } => self.exists(subquery, *negated, scope),
            Expr::InSubquery { expr, subquery, negated } => self.in_subquery(expr, subquery, *negated, scope),
            Expr::AnyOp { left, compare_op, right, .. } => self.quantified(left, compare_op, right, false, scope),
            Expr::AllOp { left, compare_op, right } => self.quantified(left, compare_op, right, true, scope),
            _ => self.predicate(expression, scope),
        }
    }

    /// IS, IN, BETWEEN, LIKE.
    fn predicate(&mut self, expression: &Expr, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        match expression {
            Expr::IsNull(operand) => self.is_null(operand, scope),
            Expr::IsNotNull(operand) => self.is_not_null(operand, scope),
            Expr::IsTrue(operand) => self.is(operand, true, scope),
            Expr::IsNotTrue(operand) => self.is(operand, true, scope).map(not),
            Expr::IsFalse(operand) => self.is(operand, false, scope),
            Expr::IsNotFalse(operand) => self.is(operand, false, scope).map(not),
            Expr::IsUnknown(operand) => self.is_unknown(operand, scope),
            Expr::IsNotUnknown(operand) => self.is_unknown(operand, scope).map(not),
            Expr::IsDistinctFrom(left, right) => self.same(left, right, scope).map(not),
            Expr::IsNotDistinctFrom(left, right) => self.same(left, right, scope),
            Expr::InList { expr, list, negated } => {
                self.in_list(expr, list, scope).map(|found| negate(found, *negated))
            }
            Expr::Between { expr, negated, low, high } => {
                self.between(expr, low, high, scope).map(|found| negate(found, *negated))
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like("like", expr, pattern, escape_char.as_deref(), scope).map(|found| negate(found, *negated))
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like("~~*", expr, pattern, escape_char.as_deref(), scope).map(|found| negate(found, *negated))
            }
            Expr::Like { negated, any: true, expr, pattern, escape_char: None } => {
                let operator =
                    if *negated { ast::BinaryOperator::PGNotLikeMatch } else { ast::BinaryOperator::PGLikeMatch };
                self.quantified(expr, &operator, pattern, false, scope)
            }
            Expr::ILike { negated, any: true, expr, pattern, escape_char: None } => {
                let operator =
                    if *negated { ast::BinaryOperator::PGNotILikeMatch } else { ast::BinaryOperator::PGILikeMatch };
                self.quantified(expr, &operator, pattern, false, scope)
            }
            Expr::SimilarTo { negated, expr, pattern, escape_char: None } => {
                self.binary_call("similar to", expr, pattern, scope).map(|found| negate(found, *negated))
            }
            Expr::RLike { negated, expr, pattern, .. } => {
                let symbol = if self.dialect == Dialect::MySql { "regexp" } else { "~" };
                self.binary_call(symbol, expr, pattern, scope).map(|found| negate(found, *negated))
            }
            _ => self.special_form(expression, scope),
        }
    }

    /// Constructs that are functions with words between their arguments.
    fn special_form(&mut self, expression: &Expr, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        match expression {
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref(), scope)
            }
            Expr::AtTimeZone { timestamp, time_zone } => self.words("timezone", &[time_zone, timestamp], scope),
            Expr::Extract { field, expr, .. } => {
                let value = self.expression(expr, scope)?;
                let field = Expression::constant(Datum::text(field.to_string().to_lowercase()), SqlType::TEXT);
                self.function("extract", vec![field, value])
            }
            Expr::Ceil { expr, field } => self.rounding("ceil", expr, field, scope),
            Expr::Floor { expr, field } => self.rounding("floor", expr, field, scope),
            Expr::Position { expr, r#in } => match self.dialect {
                Dialect::Postgres => self.words("strpos", &[r#in, expr], scope),
                Dialect::MySql => self.words("locate", &[expr, r#in], scope),
            },
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                self.substring(expr, substring_from.as_deref(), substring_for.as_deref(), scope)
            }
            Expr::Trim { trim_where, trim_what, expr, trim_characters } => {
                let characters = match (trim_what, trim_characters.as_deref()) {
                    (Some(what), _) => Some(&**what),
                    (None, Some([what])) => Some(what),
                    _ => None,
                };
                self.trim(trim_where.as_ref(), characters, expr, scope)
            }
            Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let mut arguments = vec![&**expr, overlay_what, overlay_from];
                arguments.extend(overlay_for.as_deref());
                self.words("overlay", &arguments, scope)
            }
            Expr::Collate { expr, collation } => self.collate(expr, collation, scope),
            Expr::Array(array) => self.array(&array.elem, scope),
            Expr::CompoundFieldAccess { root, access_chain } => self.subscript(root, access_chain, scope),
            Expr::Convert { expr, data_type: Some(data_type), styles, .. } if styles.is_empty() => {
                self.cast(&ast::CastKind::Cast, expr, data_type, false, scope)
            }
            // CONVERT(… USING utf8): all texts are Unicode here.
            Expr::Convert { expr, data_type: None, charset: Some(_), .. } => self.expression(expr, scope),
            Expr::Tuple(parts) => self.row_value(parts.iter().collect(), scope),
            other => Err(SqlError::unsupported(format!("the expression {}", shortened(other)))),
        }
    }

    /// Several expressions.
    pub(super) fn expressions(&mut self, expressions: &[Expr], scope: &Scope<'_>) -> Result<Vec<Expression>, SqlError> {
        expressions.iter().map(|one| self.expression(one, scope)).collect()
    }

    /// The parts of a row value, or the only value.
    pub(super) fn parts(&mut self, operand: &Expr, scope: &Scope<'_>) -> Result<Vec<Expression>, SqlError> {
        let parts = row_parts(operand).unwrap_or_else(|| vec![operand]);
        parts.into_iter().map(|part| self.expression(part, scope)).collect()
    }

    fn words(&mut self, name: &str, arguments: &[&Expr], scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let arguments: Result<Vec<Expression>, SqlError> =
            arguments.iter().map(|one| self.expression(one, scope)).collect();
        self.function(name, arguments?)
    }

    /// A column, a variable of the program, or a variable of MySQL's session.
    fn column_reference(&mut self, idents: &[ast::Ident], scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let words: Vec<String> = idents.iter().map(|ident| self.name(ident)).collect();
        if self.dialect == Dialect::MySql && idents[0].quote_style.is_none() && words[0].starts_with('@') {
            return match words[0].strip_prefix("@@") {
                Some(_) => self.system_variable(&words),
                None => self.user_variable(&words[0][1..]),
            };
        }
        let (qualifier, name) = match words.as_slice() {
            [name] => (None, name),
            // A qualifier of a qualifier is a namespace or database; tables are told apart by their last name.
            [.., qualifier, name] => (Some(qualifier.as_str()), name),
            [] => return Err(SqlError::new(SqlState::SYNTAX_ERROR, "a name is missing")),
        };
        let variable = qualifier.is_none().then(|| self.variable(name)).flatten();
        if let Some(Expression { node: Node::Variable(index), .. }) = variable {
            let start = idents[0].span.start;
            self.variable_places.push(((start.line, start.column), index));
        }
        let column = self.find_column(qualifier, name, scope);
        match (variable, column) {
            (Some(variable), column) => {
                if matches!(column, Ok(Some(_))) {
                    self.warn(format!("the variable \"{name}\" hides the column of the same name"));
                }
                Ok(variable)
            }
            (None, column) => match column? {
                Some(column) => Ok(column),
                None => self.word_or_row(qualifier, name, scope),
            },
        }
    }

    /// What is no column may be a word of PostgreSQL that is a function, or a table: its whole row.
    fn word_or_row(&mut self, qualifier: Option<&str>, name: &str, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        if qualifier.is_some() || self.dialect != Dialect::Postgres {
            return Err(self.undefined_column(qualifier, name, scope));
        }
        if ["current_schema", "current_catalog", "current_role"].contains(&name) {
            return self.function(name, Vec::new());
        }
        if !scope.has_relation(name, self.dialect) {
            return Err(self.undefined_column(qualifier, name, scope));
        }
        let of_table = scope.names.iter().filter(|known| known.qualifier.as_deref() == Some(name));
        let (fields, values): (Vec<(String, SqlType)>, Vec<Expression>) =
            of_table.map(|known| ((known.name.clone(), known.meaning.sql_type.clone()), known.meaning.clone())).unzip();
        let sql_type = SqlType::Record(fields.into());
        // The row of an outer join that found no partner is NULL, not a row of NULLs.
        let missing = values.iter().map(|value| boolean(Node::IsNull(Box::new(value.clone())))).collect();
        let row = Expression { node: Node::Array(values), sql_type: sql_type.clone() };
        let nothing = Expression::constant(Datum::Null, sql_type.clone());
        let Some(missing) = Expression::all(missing) else { return Ok(row) };
        Ok(Expression { node: Node::Case { branches: vec![(missing, nothing)], otherwise: Box::new(row) }, sql_type })
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn variable(&self, name: &str) -> Option<Expression> {
        // The last of several wins: a block's variable hides that of the block around it.
        let index = self.variables.iter().rposition(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(Expression { node: Node::Variable(index), sql_type: self.variables[index].1.clone() })
    }

    /// The column in this scope or one further out.
    fn find_column(
        &self,
        qualifier: Option<&str>,
        name: &str,
        scope: &Scope<'_>,
    ) -> Result<Option<Expression>, SqlError> {
        let mut here = Some(scope);
        let mut depth = 0;
        while let Some(scope) = here {
            let found = scope.find(qualifier, name, self.dialect)?.cloned();
            let alias = || if qualifier.is_none() { scope.alias(name, self.dialect) } else { None };
            if let Some(mut found) = found.or_else(alias) {
                crate::tree::visit::expression(&mut found, 0, &mut |one, _| {
                    if let Node::Column { depth: own, .. } = &mut one.node {
                        *own += depth;
                    }
                });
                return Ok(Some(found));
            }
            here = scope.outer;
            depth += 1;
        }
        Ok(None)
    }

    fn undefined_column(&self, qualifier: Option<&str>, name: &str, scope: &Scope<'_>) -> SqlError {
        let mut scopes = std::iter::successors(Some(scope), |scope| scope.outer);
        match qualifier {
            None => SqlError::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist")),
            Some(table) if scopes.any(|scope| scope.has_relation(table, self.dialect)) => {
                SqlError::new(SqlState::UNDEFINED_COLUMN, format!("column {table}.{name} does not exist"))
            }
            Some(table) => {
                let message = format!("missing FROM-clause entry for table \"{table}\"");
                SqlError::new(SqlState::UNDEFINED_TABLE, message)
            }
        }
    }

    fn system_variable(&mut self, words: &[String]) -> Result<Expression, SqlError> {
        let name = words.last().map_or("", String::as_str).trim_start_matches('@').to_lowercase();
        let name = Expression::constant(Datum::text(name), SqlType::TEXT);
        self.function("current_setting", vec![name, Expression::boolean(true)])
    }

    fn is_null(&mut self, operand: &Expr, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let tests = self.null_tests(operand, scope)?;
        Expression::all(tests).ok_or_else(|| SqlError::unsupported("an empty row value"))
    }

    /// Of a row: every part is not NULL, which is not the opposite of every part being NULL.
    fn is_not_null(&mut self, operand: &Expr, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let tests = self.null_tests(operand, scope)?.into_iter().map(not).collect();
        Expression::all(tests).ok_or_else(|| SqlError::unsupported("an empty row value"))
    }

    fn null_tests(&mut self, operand: &Expr, scope: &Scope<'_>) -> Result<Vec<Expression>, SqlError> {
        let parts = self.parts(operand, scope)?;
        parts.into_iter().map(|part| Ok(boolean(Node::IsNull(Box::new(self.settled(part)?))))).collect()
    }

    fn is(&mut self, operand: &Expr, value: bool, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let operand = self.expression(operand, scope)?;
        let operand = self.condition(operand, "IS TRUE")?;
        Ok(boolean(Node::Is(Box::new(operand), value)))
    }

    fn is_unknown(&mut self, operand: &Expr, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let operand = self.expression(operand, scope)?;
        let operand = self.condition(operand, "IS UNKNOWN")?;
        Ok(boolean(Node::IsNull(Box::new(operand))))
    }

    /// IS NOT DISTINCT FROM, of rows part by part.
    fn same(&mut self, left: &Expr, right: &Expr, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let (Some(lefts), Some(rights)) = (row_parts(left), row_parts(right)) else {
            let operands = vec![self.expression(left, scope)?, self.expression(right, scope)?];
            return self.same_values(operands);
        };
        if lefts.len() != rights.len() {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "unequal number of entries in row expressions"));
        }
        let mut same = Vec::with_capacity(lefts.len());
        for (left, right) in lefts.into_iter().zip(rights) {
            same.push(self.same(left, right, scope)?);
        }
        Expression::all(same).ok_or_else(|| SqlError::unsupported("an empty row value"))
    }

    fn same_values(&mut self, operands: Vec<Expression>) -> Result<Expression, SqlError> {
        let mut operands = self.unify(operands)?;
        let right = operands.pop().map(Box::new);
        let left = operands.pop().map(Box::new);
        match (left, right) {
            (Some(left), Some(right)) => Ok(boolean(Node::Same(left, right))),
            _ => Err(SqlError::new(SqlState::INTERNAL, "two operands became none")),
        }
    }

    /// All operands as values of the type that holds them all.
    pub(super) fn unify(&mut self, operands: Vec<Expression>) -> Result<Vec<Expression>, SqlError> {
        let types: Vec<SqlType> = operands.iter().map(|operand| operand.sql_type.clone()).collect();
        let common = common_type(&types, self.dialect)?;
        operands.into_iter().map(|operand| self.coerce(operand, &common)).collect()
    }

    fn in_list(&mut self, operand: &Expr, list: &[Expr], scope: &Scope<'_>) -> Result<Expression, SqlError> {
        if row_parts(operand).is_some() {
            let alternatives: Result<Vec<Expression>, SqlError> =
                list.iter().map(|one| self.row_comparison("=", operand, one, scope)).collect();
            return Ok(boolean(Node::Or(alternatives?)));
        }
        let mut operands = vec![self.expression(operand, scope)?];
        operands.extend(self.expressions(list, scope)?);
        let operands = self.adapt_literals(operands);
        let mut operands = self.unify(operands)?;
        let sql_type = operands[0].sql_type.clone();
        let equality = function::operator("=", &[sql_type.clone(), sql_type], self.dialect)?;
        for operand in &mut operands {
            let taken = std::mem::replace(operand, Expression::boolean(false));
            *operand = self.coerce(taken, &equality.parameters[0])?;
        }
        let list = operands.split_off(1);
        let operand = operands.remove(0);
        Ok(boolean(Node::InList(Box::new(InList { operand, list, equality, identity: Identity::default() }))))
    }

    fn between(&mut self, operand: &Expr, low: &Expr, high: &Expr, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let low = self.comparison(">=", operand, low, scope)?;
        let high = self.comparison("<=", operand, high, scope)?;
        Ok(boolean(Node::And(vec![low, high])))
    }

    fn like(
        &mut self,
        symbol: &str,
        operand: &Expr,
        pattern: &Expr,
        escape: Option<&Expr>,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        let operand = self.expression(operand, scope)?;
        let mut pattern = self.expression(pattern, scope)?;
        if let Some(escape) = escape {
            let escape = self.expression(escape, scope)?;
            pattern = self.function("like_escape", vec![pattern, escape])?;
        }
        self.operator(symbol, vec![operand, pattern])
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&Expr>,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        let mut tests = Vec::with_capacity(conditions.len());
        let mut results = Vec::with_capacity(conditions.len() + 1);
        for branch in conditions {
            tests.push(match operand {
                Some(operand) => self.comparison("=", operand, &branch.condition, scope)?,
                None => {
                    let test = self.expression(&branch.condition, scope)?;
                    self.condition(test, "CASE/WHEN")?
                }
            });
            results.push(self.expression(&branch.result, scope)?);
        }
        results.push(match otherwise {
            Some(otherwise) => self.expression(otherwise, scope)?,
            None => Expression::constant(Datum::Null, SqlType::Unknown),
        });
        let results = self.literals_as_text(results);
        let mut results = self.unify(results)?;
        let Some(otherwise) = results.pop() else {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "CASE without a result"));
        };
        let sql_type = otherwise.sql_type.clone();
        let branches = tests.into_iter().zip(results).collect();
        Ok(Expression { node: Node::Case { branches, otherwise: Box::new(otherwise) }, sql_type })
    }

    fn cast(
        &mut self,
        kind: &ast::CastKind,
        operand: &Expr,
        data_type: &ast::DataType,
        formatted: bool,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        if formatted || !matches!(kind, ast::CastKind::Cast | ast::CastKind::DoubleColon) {
            return Err(SqlError::unsupported("TRY_CAST and CAST with a format"));
        }
        let operand = self.expression(operand, scope)?;
        let sql_type = self.cast_target(data_type)?;
        self.convert(operand, &sql_type, CastKind::Explicit)
    }

    /// MySQL's CAST(… AS CHAR) gives all the characters, and CHAR(3) as many, whereas a column of type CHAR has one.
    fn cast_target(&self, data_type: &ast::DataType) -> Result<SqlType, SqlError> {
        let sql_type = self.catalog.sql_type(data_type, self.dialect)?;
        Ok(match (sql_type, self.dialect) {
            (SqlType::Character(length), Dialect::MySql) => {
                SqlType::Text(data_type.to_string().contains('(').then_some(length))
            }
            (sql_type, _) => sql_type,
        })
    }

    fn rounding(
        &mut self,
        name: &str,
        operand: &Expr,
        field: &ast::CeilFloorKind,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        match field {
            ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) => self.words(name, &[operand], scope),
            _ => Err(SqlError::unsupported(format!("{name} to a field or scale"))),
        }
    }

    fn substring(
        &mut self,
        operand: &Expr,
        from: Option<&Expr>,
        length: Option<&Expr>,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        let mut arguments = vec![self.expression(operand, scope)?];
        match (from, length) {
            (Some(from), length) => {
                arguments.push(self.expression(from, scope)?);
                if let Some(length) = length {
                    arguments.push(self.expression(length, scope)?);
                }
            }
            (None, Some(length)) => {
                arguments.push(Expression::constant(Datum::Integer(1), SqlType::INTEGER));
                arguments.push(self.expression(length, scope)?);
            }
            (None, None) => {}
        }
        self.function("substring", arguments)
    }

    fn trim(
        &mut self,
        side: Option<&ast::TrimWhereField>,
        characters: Option<&Expr>,
        operand: &Expr,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        let name = match side {
            None | Some(ast::TrimWhereField::Both) => "trim",
            Some(ast::TrimWhereField::Leading) => "ltrim",
            Some(ast::TrimWhereField::Trailing) => "rtrim",
        };
        let mut arguments = vec![operand];
        arguments.extend(characters);
        self.words(name, &arguments, scope)
    }

    /// Collations that order by bytes are what PostgreSQL's texts have here anyway; others are not known.
    fn collate(
        &mut self,
        operand: &Expr,
        collation: &ast::ObjectName,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        let name =
            collation.0.last().and_then(|part| part.as_ident()).map_or(String::new(), |ident| ident.value.clone());
        if self.dialect == Dialect::Postgres && !skew_value::Collation::is_of_postgres(&name) {
            let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
        }
        let known = skew_value::Collation::from_name(&name) == skew_value::Collation::of(self.dialect);
        match known {
            true => self.expression(operand, scope),
            false => Err(SqlError::unsupported(format!("COLLATE {collation} in an expression"))),
        }
    }

    fn array(&mut self, elements: &[Expr], scope: &Scope<'_>) -> Result<Expression, SqlError> {
        let elements = self.expressions(elements, scope)?;
        let elements = self.unify(elements)?;
        let element = elements.first().map_or(SqlType::TEXT, |element| element.sql_type.clone());
        if matches!(element, SqlType::Array(_)) {
            return Err(SqlError::unsupported("an array of more than one dimension"));
        }
        Ok(Expression { node: Node::Array(elements), sql_type: SqlType::Array(Box::new(element)) })
    }

    /// `(1, 'a')` and `ROW(1, 'a')` where no other row stands beside it.
    pub(super) fn row_value(&mut self, parts: Vec<&Expr>, scope: &Scope<'_>) -> Result<Expression, SqlError> {
        if self.dialect != Dialect::Postgres {
            return Err(SqlError::unsupported("a row value outside of a comparison"));
        }
        let mut values = Vec::with_capacity(parts.len());
        for part in parts {
            let value = self.expression(part, scope)?;
            values.push(self.settled(value)?);
        }
        let fields = values.iter().enumerate();
        let fields = fields.map(|(place, value)| (format!("f{}", place + 1), value.sql_type.clone())).collect();
        Ok(Expression { node: Node::Array(values), sql_type: SqlType::Record(fields) })
    }

    /// A field of a row value.
    fn field(
        &self,
        value: Expression,
        fields: &[(String, SqlType)],
        field: &ast::Ident,
    ) -> Result<Expression, SqlError> {
        let name = self.name(field);
        let Some(place) = fields.iter().position(|(known, _)| *known == name) else {
            let message = format!("column \"{name}\" not found in data type {}", value.sql_type);
            return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
        };
        let index = Expression::constant(Datum::Integer(place as i128 + 1), SqlType::INTEGER);
        let sql_type = fields[place].1.clone();
        Ok(Expression { node: Node::Subscript(Box::new(value), Box::new(index)), sql_type })
    }

    fn subscript(&mut self, root: &Expr, chain: &[ast::AccessExpr], scope: &Scope<'_>) -> Result<Expression, SqlError> {
        // `con.conkey[1]`: what looks like a field is the column of a table.
        if let (Expr::Identifier(table), [ast::AccessExpr::Dot(Expr::Identifier(column)), rest @ ..]) = (root, chain)
            && self.find_column(None, &self.name(table), scope)?.is_none()
        {
            let column = Expr::CompoundIdentifier(vec![table.clone(), column.clone()]);
            return self.subscript(&column, rest, scope);
        }
        let mut value = self.expression(root, scope)?;
        if let [ast::AccessExpr::Subscript(ast::Subscript::Slice { lower_bound, upper_bound, stride: None })] = chain
            && matches!(value.sql_type, SqlType::Array(_))
        {
            let mut bound = |bound: &Option<Expr>, open: i32| match bound {
                Some(bound) => self.expression(bound, scope),
                None => Ok(Expression::constant(Datum::Integer(open.into()), SqlType::INTEGER)),
            };
            let (lower, upper) = (bound(lower_bound, 1)?, bound(upper_bound, i32::MAX)?);
            return self.function("[:]", vec![value, lower, upper]);
        }
        for access in chain {
            if let (ast::AccessExpr::Dot(Expr::Identifier(field)), SqlType::Record(fields)) = (access, &value.sql_type)
            {
                value = self.field(value.clone(), fields, field)?;
                continue;
            }
            let ast::AccessExpr::Subscript(ast::Subscript::Index { index }) = access else {
                return Err(SqlError::unsupported("a slice of a slice or a field of a composite value"));
            };
            let (SqlType::Array(element) | SqlType::Vector(element)) = value.sql_type.clone() else {
                let message = format!("cannot subscript type {} because it does not support it", value.sql_type);
                return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
            };
            let index = self.expression(index, scope)?;
            let mut index = self.coerce(index, &SqlType::INTEGER)?;
            if matches!(value.sql_type, SqlType::Vector(_)) {
                // Vectors count from 0.
                let one = Expression::constant(Datum::Integer(1), SqlType::INTEGER);
                index = self.operator("+", vec![index, one])?;
            }
            value = Expression { node: Node::Subscript(Box::new(value), Box::new(index)), sql_type: *element };
        }
        Ok(value)
    }

    /// Binds the condition of WHERE or ON.
    pub(crate) fn where_condition(
        &mut self,
        expression: &Expr,
        scope: &Scope<'_>,
        clause: &'static str,
    ) -> Result<Expression, SqlError> {
        let before = scope.clause.replace(Clause::Rows(clause));
        let bound = self.expression(expression, scope).and_then(|bound| self.condition(bound, clause));
        scope.clause.set(before);
        bound
    }
}

/// An expression as it is told to the user: not all of it, if it is long.
fn shortened(expression: &Expr) -> String {
    let text = expression.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The parts of a row value.
pub(super) fn row_parts(expression: &Expr) -> Option<Vec<&Expr>> {
    match expression {
        Expr::Tuple(parts) => Some(parts.iter().collect()),
        Expr::Nested(inner) => row_parts(inner),
        Expr::Function(call) => match call.name.0.as_slice() {
            [name] if name.as_ident().is_some_and(|name| name.value.eq_ignore_ascii_case("row")) => {
                super::call::arguments(&call.args, "row").ok().map(|arguments| arguments.expressions)
            }
            _ => None,
        },
        _ => None,
    }
}

/// A condition.
pub(super) fn boolean(node: Node) -> Expression {
    Expression { node, sql_type: SqlType::Boolean }
}

/// The opposite.
pub(super) fn not(expression: Expression) -> Expression {
    boolean(Node::Not(Box::new(expression)))
}

pub(super) fn negate(expression: Expression, negated: bool) -> Expression {
    if negated { not(expression) } else { expression }
}
