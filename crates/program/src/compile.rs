//! Turns the tree of a procedure into instructions.
//!
//! ```text
//!   WHILE c DO body END WHILE;      a: Branch c, else b
//!                                      body
//!                                      Jump a
//!                                   b:
//! ```
//!
//! Loops over rows, and variables that are rows, are in `rows`.
//!
//! A variable that goes out of scope keeps its slot and loses its name, so that the values of a run stand where the statements that
//! were bound at different places expect them.

use crate::bind::{Binder, FunctionNames, ROW_COUNT};
use crate::instruction::*;
use crate::source::{FIELD_DOT, Piece, syntax};
use crate::syntax::*;
use skew_value::{Place, SqlError, SqlState, SqlType};
use std::sync::Arc;

/// How many variables a procedure may have.
const MOST_VARIABLES: usize = 10_000;

/// Compiles a procedure.
pub(crate) fn compile(binder: &mut Binder<'_>, text: &ProcedureText) -> Result<Procedure, SqlError> {
    let mut compiler = Compiler {
        binder,
        variables: vec![(ROW_COUNT.to_owned(), SqlType::BIGINT)],
        scopes: vec![Vec::new()],
        labels: Vec::new(),
        instructions: Vec::new(),
        places: Vec::new(),
        fields: Vec::new(),
        cursors: 0,
        records: Vec::new(),
    };
    let is_function = text.language != Language::Psm;
    compiler.binder.function = is_function.then(|| FunctionNames {
        name: text.name.text.clone(),
        parameters: text.parameters.iter().map(|parameter| parameter.name.text.clone()).collect(),
        rows: Vec::new(),
    });
    let parameters = compiler.parameters(&text.parameters)?;
    compiler.outermost(&text.body)?;
    compiler.emit(Instruction::End, text.body.place);
    compiler.binder.function = None;
    Ok(Procedure {
        name: text.name.text.clone(),
        parameters,
        fields: compiler.fields,
        slots: compiler.variables.len(),
        instructions: compiler.instructions,
        places: compiler.places,
        cursors: compiler.cursors,
        is_function,
    })
}

pub(crate) struct Compiler<'b, 'a> {
    pub(crate) binder: &'b mut Binder<'a>,
    /// By slot; out of scope or hidden ones have no name.
    pub(crate) variables: Vec<(String, SqlType)>,
    /// What each open block declared, and what that hid.
    pub(crate) scopes: Vec<Vec<Declared>>,
    labels: Vec<Label>,
    instructions: Vec<Instruction>,
    places: Vec<Place>,
    fields: Vec<Field>,
    pub(crate) cursors: usize,
    /// The variables that are rows of any kind, with the scope that each was declared in.
    pub(crate) records: Vec<(String, usize)>,
}

/// A variable of a block.
pub(crate) struct Declared {
    pub(crate) slot: usize,
    pub(crate) hides: Option<usize>,
}

/// A block or loop around the statement that is being compiled.
struct Label {
    name: Option<String>,
    /// Where ITERATE goes, if it is a loop.
    again: Option<usize>,
    /// The jumps that go to its end.
    leaves: Vec<usize>,
}

/// Variables.
impl Compiler<'_, '_> {
    fn parameters(&mut self, texts: &[ParameterText]) -> Result<Vec<Parameter>, SqlError> {
        let mut parameters = Vec::new();
        for text in texts {
            let sql_type = self.binder.sql_type(&text.sql_type, &self.variables)?;
            let slot = self.declare(&text.name, sql_type.clone())?;
            let name = text.name.text.clone();
            if text.mode != ParameterMode::In {
                self.fields.push(Field { name: name.clone(), sql_type: sql_type.clone(), slot });
            }
            parameters.push(Parameter { name, mode: text.mode, sql_type, slot, default: text.default.clone() });
        }
        Ok(parameters)
    }

    fn declare(&mut self, name: &Name, sql_type: SqlType) -> Result<usize, SqlError> {
        let is_made = name.text.contains(FIELD_DOT) && self.binder.function.is_none();
        if is_made || name.text.starts_with('@') {
            return Err(syntax(name.place, format!("{} is no name of a variable", name.text)));
        }
        let hides = self.find(&name.text);
        let here =
            |slot: usize| self.scopes.last().is_some_and(|scope| scope.iter().any(|declared| declared.slot == slot));
        if hides.is_some_and(here) {
            let message = format!("{} is declared twice", name.text);
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message).at(name.place));
        }
        self.slot(name.text.clone(), sql_type, hides, name.place)
    }

    pub(crate) fn slot(
        &mut self,
        name: String,
        sql_type: SqlType,
        hides: Option<usize>,
        place: Place,
    ) -> Result<usize, SqlError> {
        let slot = self.variables.len();
        if slot >= MOST_VARIABLES {
            return Err(SqlError::new(SqlState::TOO_COMPLEX, "the procedure has too many variables").at(place));
        }
        if let Some(hidden) = hides {
            self.variables[hidden].0.clear();
        }
        self.variables.push((name, sql_type));
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(Declared { slot, hides });
        }
        Ok(slot)
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.variables.iter().rposition(|(variable, _)| variable == name)
    }

    pub(crate) fn close_scope(&mut self) {
        for declared in self.scopes.pop().unwrap_or_default().into_iter().rev() {
            let name = std::mem::take(&mut self.variables[declared.slot].0);
            if let Some(hidden) = declared.hides {
                self.variables[hidden].0 = name;
            }
        }
    }

    /// The variable that gets a value of a type.
    pub(crate) fn target(&self, name: &Name, from: SqlType) -> Result<Target, SqlError> {
        let slot = self.find(&name.text).ok_or_else(|| {
            let message = format!("there is no variable {}", name.text);
            let error = SqlError::new(SqlState::UNDEFINED_OBJECT, message).at(name.place);
            error.with_hint("write DECLARE at the beginning of the block, or add a parameter")
        })?;
        self.binder.target(from, slot, self.variables[slot].1.clone(), name.place)
    }
}

/// Instructions.
impl Compiler<'_, '_> {
    pub(crate) fn emit(&mut self, instruction: Instruction, place: Place) -> usize {
        self.instructions.push(instruction);
        self.places.push(place);
        self.instructions.len() - 1
    }

    fn here(&self) -> usize {
        self.instructions.len()
    }

    /// Makes earlier jumps go here.
    pub(crate) fn land(&mut self, jumps: &[usize]) {
        let here = self.here();
        for &jump in jumps {
            match &mut self.instructions[jump] {
                Instruction::Jump(to) | Instruction::Branch(_, to) | Instruction::Next { done: to, .. } => *to = here,
                _ => {}
            }
        }
    }

    fn condition(&mut self, piece: &Piece) -> Result<usize, SqlError> {
        let query = self.binder.condition(piece, &self.variables)?;
        let place = query.place;
        Ok(self.emit(Instruction::Branch(query, usize::MAX), place))
    }

    fn assign(&mut self, name: &Name, value: &Piece) -> Result<(), SqlError> {
        let query = self.binder.expression(value, &self.variables)?;
        let target = self.target(name, query.sql_type())?;
        self.emit(Instruction::Assign(query, target), name.place);
        Ok(())
    }
}

/// Statements.
impl Compiler<'_, '_> {
    /// The body of the procedure, whose declarations are its fields.
    fn outermost(&mut self, body: &Statement) -> Result<(), SqlError> {
        let StatementKind::Block(label, statements) = &body.kind else { return self.statement(body) };
        self.open_label(label, None)?;
        self.scopes.push(Vec::new());
        for statement in statements {
            self.statement(statement)?;
        }
        let declared: Vec<usize> = self.scopes.last().into_iter().flatten().map(|declared| declared.slot).collect();
        for slot in declared {
            let (name, sql_type) = self.variables[slot].clone();
            if !name.is_empty() && !name.contains(FIELD_DOT) && self.fields.iter().all(|field| field.name != name) {
                self.fields.push(Field { name, sql_type, slot });
            }
        }
        self.close_scope();
        self.close_label();
        Ok(())
    }

    pub(crate) fn statements(&mut self, statements: &[Statement]) -> Result<(), SqlError> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), SqlError> {
        let place = statement.place;
        match &statement.kind {
            StatementKind::Block(label, statements) => self.block(label, statements),
            StatementKind::Declare { names, sql_type, default } => self.declaration(names, sql_type, default),
            StatementKind::Set(assignments) => {
                assignments.iter().try_for_each(|(name, value)| self.assign(name, value))
            }
            StatementKind::SelectInto { query, into, rows } => self.select_into(query, into, *rows),
            StatementKind::Sql(piece) => {
                let query = self.binder.statement(piece, &self.variables)?;
                self.emit(Instruction::Execute(query), place);
                Ok(())
            }
            StatementKind::If { arms, otherwise, must_match } => {
                self.arms(arms, otherwise, *must_match, place, |this, piece| this.condition(piece))
            }
            StatementKind::Case { subject, arms, otherwise } => self.case(subject, arms, otherwise, place),
            StatementKind::While(label, condition, body) => self.while_loop(label, condition, body, place),
            StatementKind::Loop(label, body) => self.endless_loop(label, body, place),
            StatementKind::Repeat(label, body, condition) => self.repeat_loop(label, body, condition),
            StatementKind::For { label, row, query, body, tells } => {
                self.telling(*tells, place, |this, round| this.for_loop(label, row, query, body, round))
            }
            StatementKind::Range { label, number, bounds, body, tells } => {
                self.telling(*tells, place, |this, round| this.range_loop(label, number, bounds, body, round))
            }
            StatementKind::Leave(label) => self.leave(label, place),
            StatementKind::Iterate(label) => self.iterate(label, place),
            StatementKind::Signal { state, message } => self.signal(state, message.as_ref(), place),
            StatementKind::Rollback => {
                self.emit(Instruction::Rollback, place);
                Ok(())
            }
            StatementKind::Savepoint(verb, name, piece) => {
                let (name, text) = (Arc::from(name.text.as_str()), self.binder.text_of(piece));
                self.emit(Instruction::Savepoint(*verb, name, text), place);
                Ok(())
            }
            StatementKind::RowCount(name) => {
                let target = self.target(name, SqlType::BIGINT)?;
                self.emit(Instruction::CountInto(target), place);
                Ok(())
            }
        }
    }

    fn block(&mut self, label: &Option<Name>, statements: &[Statement]) -> Result<(), SqlError> {
        self.open_label(label, None)?;
        self.scopes.push(Vec::new());
        self.statements(statements)?;
        self.close_scope();
        self.close_label();
        Ok(())
    }

    fn declaration(&mut self, names: &[Name], sql_type: &Piece, default: &Option<Piece>) -> Result<(), SqlError> {
        if self.declares_rows(names, sql_type)? {
            return Ok(());
        }
        let sql_type = self.binder.sql_type(sql_type, &self.variables)?;
        // The default is read before the names exist: DECLARE x INT DEFAULT x takes the outer x.
        let default = match default {
            Some(piece) => Some(self.binder.expression(piece, &self.variables)?),
            None => None,
        };
        for name in names {
            let slot = self.declare(name, sql_type.clone())?;
            match &default {
                Some(query) => {
                    let target = self.binder.target(query.sql_type(), slot, sql_type.clone(), query.place)?;
                    self.emit(Instruction::Assign(query.clone(), target), name.place);
                }
                None => {
                    self.emit(Instruction::Clear(slot), name.place);
                }
            }
        }
        Ok(())
    }

    /// The arms of IF and CASE: the first whose condition is true is run.
    fn arms(
        &mut self,
        arms: &[(Piece, Vec<Statement>)],
        otherwise: &Option<Vec<Statement>>,
        must_match: bool,
        place: Place,
        mut condition: impl FnMut(&mut Self, &Piece) -> Result<usize, SqlError>,
    ) -> Result<(), SqlError> {
        let mut ends = Vec::new();
        for (piece, body) in arms {
            let branch = condition(self, piece)?;
            self.statements(body)?;
            ends.push(self.emit(Instruction::Jump(usize::MAX), place));
            self.land(&[branch]);
        }
        match otherwise {
            Some(body) => self.statements(body)?,
            // As MariaDB: a CASE in which nothing matches is an error.
            None if must_match => {
                self.emit(Instruction::Signal(Arc::from("20000"), None), place);
            }
            None => {}
        }
        self.land(&ends);
        Ok(())
    }

    fn case(
        &mut self,
        subject: &Piece,
        arms: &[(Piece, Vec<Statement>)],
        otherwise: &Option<Vec<Statement>>,
        place: Place,
    ) -> Result<(), SqlError> {
        let query = self.binder.expression(subject, &self.variables)?;
        let sql_type = query.sql_type();
        // A dot that nobody types, so that no other variable has this name.
        let name = format!("case{FIELD_DOT}{}", self.variables.len());
        let slot = self.slot(name.clone(), sql_type.clone(), None, place)?;
        self.emit(Instruction::Assign(query, Target { slot, from: sql_type.clone(), to: sql_type }), place);
        self.arms(arms, otherwise, true, place, |this, piece| {
            let query = this.binder.comparison(&name, piece, &this.variables)?;
            let place = query.place;
            Ok(this.emit(Instruction::Branch(query, usize::MAX), place))
        })
    }

    fn while_loop(
        &mut self,
        label: &Option<Name>,
        condition: &Piece,
        body: &[Statement],
        place: Place,
    ) -> Result<(), SqlError> {
        let again = self.here();
        self.open_label(label, Some(again))?;
        let branch = self.condition(condition)?;
        self.statements(body)?;
        self.emit(Instruction::Jump(again), place);
        self.land(&[branch]);
        self.close_label();
        Ok(())
    }

    fn endless_loop(&mut self, label: &Option<Name>, body: &[Statement], place: Place) -> Result<(), SqlError> {
        let again = self.here();
        self.open_label(label, Some(again))?;
        self.statements(body)?;
        self.emit(Instruction::Jump(again), place);
        self.close_label();
        Ok(())
    }

    fn repeat_loop(&mut self, label: &Option<Name>, body: &[Statement], condition: &Piece) -> Result<(), SqlError> {
        let again = self.here();
        self.open_label(label, Some(again))?;
        self.statements(body)?;
        let branch = self.condition(condition)?;
        if let Instruction::Branch(_, otherwise) = &mut self.instructions[branch] {
            *otherwise = again;
        }
        self.close_label();
        Ok(())
    }

    fn signal(&mut self, state: &str, message: Option<&Piece>, place: Place) -> Result<(), SqlError> {
        let message = match message {
            Some(piece) => Some(self.binder.expression(piece, &self.variables)?),
            None => None,
        };
        self.emit(Instruction::Signal(Arc::from(state), message), place);
        Ok(())
    }
}

/// Labels.
impl Compiler<'_, '_> {
    pub(crate) fn open_label(&mut self, name: &Option<Name>, again: Option<usize>) -> Result<(), SqlError> {
        let text = name.as_ref().map(|name| name.text.clone());
        if let Some(name) = name.as_ref().filter(|_| self.labels.iter().any(|label| label.name == text)) {
            return Err(syntax(name.place, format!("the label {} is used inside itself", name.text)));
        }
        self.labels.push(Label { name: text, again, leaves: Vec::new() });
        Ok(())
    }

    pub(crate) fn close_label(&mut self) {
        if let Some(label) = self.labels.pop() {
            self.land(&label.leaves);
        }
    }

    fn label(&mut self, name: &Name) -> Result<&mut Label, SqlError> {
        let found = self.labels.iter_mut().rfind(|label| label.name.as_deref() == Some(&name.text));
        found.ok_or_else(|| syntax(name.place, format!("no block or loop around this is labelled {}", name.text)))
    }

    fn leave(&mut self, name: &Name, place: Place) -> Result<(), SqlError> {
        self.label(name)?;
        let jump = self.emit(Instruction::Jump(usize::MAX), place);
        self.label(name)?.leaves.push(jump);
        Ok(())
    }

    fn iterate(&mut self, name: &Name, place: Place) -> Result<(), SqlError> {
        let again = self.label(name)?.again;
        let again =
            again.ok_or_else(|| syntax(name.place, format!("{} is a block: only loops are iterated", name.text)))?;
        self.emit(Instruction::Jump(again), place);
        Ok(())
    }
}
