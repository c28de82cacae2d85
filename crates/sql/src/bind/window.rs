//! Window functions: `rank() OVER (PARTITION BY shop ORDER BY price)`.
//!
//! A window function sees the rows that are left after WHERE, GROUP BY and HAVING; so its arguments may hold aggregates, but no window
//! functions, and it may stand in the select list and in ORDER BY only.

use super::call::Arguments;
use super::{Binder, Clause, Scope};
use crate::tree::expression::{Expression, Node};
use crate::tree::plan::{Frame, FrameBound, WindowCall, WindowKind};
use skew_value::{EnumerationId, SqlError, SqlState, SqlType, function};
use sqlparser::ast::{self, Expr, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType};

impl Binder<'_> {
    pub(super) fn window_call(
        &mut self,
        name: &str,
        written: &Arguments<'_>,
        filter: Option<&Expr>,
        over: &WindowType,
        scope: &Scope<'_>,
    ) -> Result<Expression, SqlError> {
        if scope.clause.get() != Clause::Output {
            return Err(SqlError::new(SqlState("42P20"), "window functions are not allowed here"));
        }
        if written.distinct || !written.order.is_empty() {
            return Err(SqlError::unsupported("DISTINCT or ORDER BY in a window function's arguments"));
        }
        let specification = self.window_specification(over, scope)?;
        scope.clause.set(Clause::Having);
        let bound = self.window_parts(name, written, filter, &specification, scope);
        scope.clause.set(Clause::Output);
        let (call, sql_type, enumeration) = bound?;
        let mut windows = scope.windows.borrow_mut();
        windows.push((call, sql_type.clone()));
        let window = Expression { node: Node::Window(windows.len() - 1), sql_type };
        drop(windows);
        enumeration.map_or(Ok(window.clone()), |id| self.label_at(window, id))
    }

    fn window_parts(
        &mut self,
        name: &str,
        written: &Arguments<'_>,
        filter: Option<&Expr>,
        specification: &WindowSpec,
        scope: &Scope<'_>,
    ) -> Result<(WindowCall, SqlType, Option<EnumerationId>), SqlError> {
        let (kind, arguments, sql_type, enumeration) = if function::is_aggregate(name, self.dialect) {
            let (aggregate, arguments, enumeration) = self.aggregate(name, written, scope)?;
            let sql_type = aggregate.result.clone();
            (WindowKind::Aggregate(aggregate), arguments, sql_type, enumeration)
        } else {
            let (kind, arguments, sql_type) = self.window_routine(name, written, scope)?;
            (kind, arguments, sql_type, None)
        };
        if filter.is_some() && matches!(kind, WindowKind::Routine(_)) {
            return Err(SqlError::unsupported("FILTER for a window function that is no aggregate"));
        }
        let filter = match filter {
            Some(filter) => {
                let filter = self.expression(filter, scope)?;
                Some(self.condition(filter, "FILTER")?)
            }
            None => None,
        };
        let mut partition = Vec::with_capacity(specification.partition_by.len());
        for key in &specification.partition_by {
            let key = self.expression(key, scope)?;
            partition.push(self.settled(key)?);
        }
        let order = self.order_inside(&specification.order_by, scope)?;
        let frame = self.frame(specification.window_frame.as_ref(), order.len(), scope)?;
        Ok((WindowCall { kind, arguments, filter, partition, order, frame }, sql_type, enumeration))
    }

    fn window_routine(
        &mut self,
        name: &str,
        written: &Arguments<'_>,
        scope: &Scope<'_>,
    ) -> Result<(WindowKind, Vec<Expression>, SqlType), SqlError> {
        let mut arguments = Vec::with_capacity(written.expressions.len());
        for argument in &written.expressions {
            arguments.push(self.expression(argument, scope)?);
        }
        let types: Vec<SqlType> = arguments.iter().map(|argument| argument.sql_type.clone()).collect();
        let routine = function::window(name, &types, self.dialect)?;
        let arguments: Result<Vec<Expression>, SqlError> = arguments
            .into_iter()
            .zip(&routine.parameters)
            .map(|(argument, parameter)| self.coerce(argument, parameter))
            .collect();
        let sql_type = routine.result.clone();
        Ok((WindowKind::Routine(routine), arguments?, sql_type))
    }

    /// What OVER says, with the named window it may stand on.
    pub(super) fn window_specification(&self, over: &WindowType, scope: &Scope<'_>) -> Result<WindowSpec, SqlError> {
        let named = |name: &ast::Ident| {
            let wanted = self.name(name);
            let known =
                scope.named_windows.borrow().iter().find(|(known, _)| *known == wanted).map(|(_, spec)| spec.clone());
            known
                .ok_or_else(|| SqlError::new(SqlState::UNDEFINED_OBJECT, format!("window \"{wanted}\" does not exist")))
        };
        match over {
            WindowType::NamedWindow(name) => named(name),
            WindowType::WindowSpec(own) => match &own.window_name {
                None => Ok(own.clone()),
                Some(name) => {
                    let base = named(name)?;
                    if !own.partition_by.is_empty() || (!base.order_by.is_empty() && !own.order_by.is_empty()) {
                        let message = "a window that stands on another cannot override its clauses";
                        return Err(SqlError::new(SqlState("42P20"), message));
                    }
                    if base.window_frame.is_some() {
                        let message =
                            format!("cannot copy window \"{}\" because it has a frame clause", self.name(name));
                        return Err(SqlError::new(SqlState("42P20"), message)
                            .with_hint("Omit the parentheses in this OVER clause."));
                    }
                    let order_by = if own.order_by.is_empty() { base.order_by } else { own.order_by.clone() };
                    Ok(WindowSpec { order_by, window_frame: own.window_frame.clone(), ..base })
                }
            },
        }
    }

    fn frame(&mut self, frame: Option<&ast::WindowFrame>, keys: usize, scope: &Scope<'_>) -> Result<Frame, SqlError> {
        let Some(frame) = frame else {
            return Ok(Frame { rows: false, start: FrameBound::Unbounded, end: FrameBound::Current });
        };
        let rows = match frame.units {
            WindowFrameUnits::Rows => true,
            WindowFrameUnits::Range => false,
            WindowFrameUnits::Groups => return Err(SqlError::unsupported("a frame of GROUPS")),
        };
        let start = self.frame_bound(&frame.start_bound, rows, true, scope)?;
        let end = match &frame.end_bound {
            Some(end) => self.frame_bound(end, rows, false, scope)?,
            None => FrameBound::Current,
        };
        let offset = |bound: &FrameBound| matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_));
        if !rows && (offset(&start) || offset(&end)) && keys != 1 {
            let message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
            return Err(SqlError::new(SqlState("42P20"), message));
        }
        Ok(Frame { rows, start, end })
    }

    fn frame_bound(
        &mut self,
        bound: &WindowFrameBound,
        rows: bool,
        start: bool,
        scope: &Scope<'_>,
    ) -> Result<FrameBound, SqlError> {
        let backwards = matches!(bound, WindowFrameBound::Preceding(_));
        match bound {
            WindowFrameBound::CurrentRow => Ok(FrameBound::Current),
            WindowFrameBound::Preceding(None) | WindowFrameBound::Following(None) if backwards == start => {
                Ok(FrameBound::Unbounded)
            }
            WindowFrameBound::Preceding(Some(offset)) | WindowFrameBound::Following(Some(offset)) => {
                let offset = self.expression(offset, scope)?;
                let offset = if rows { self.coerce(offset, &SqlType::BIGINT)? } else { self.settled(offset)? };
                Ok(if backwards { FrameBound::Preceding(offset) } else { FrameBound::Following(offset) })
            }
            _ => Err(SqlError::new(SqlState("42P20"), "a frame cannot start at its end or end at its start")),
        }
    }
}
