//! A session on its way: it starts a [`Run`] per call and keeps the session's variables.
//!
//! A call that committed, or that ended with ROLLBACK, sets them; one that failed or was refused does not, as in every database.

use crate::call::{Argument, Call, CallOutcome, CallResult};
use crate::program::Program;
use crate::run::Run;
use crate::syntax::ParameterMode;
use skew_value::{Datum, Dialect, SqlError, SqlState};
use std::sync::Arc;

/// A session on its way: its variables.
#[derive(Clone, Debug)]
pub struct Client {
    session: usize,
    variables: Vec<Datum>,
}

impl Client {
    /// A session of a program, before its first call.
    pub fn new(program: &Program, session: usize) -> Client {
        let count = program.scripts().get(session).map_or(0, |script| script.variables);
        Client { session, variables: vec![Datum::Null; count] }
    }

    /// Begins a call; an argument that cannot become its parameter's type is an error.
    pub fn start(&self, program: &Program, call: usize, most_steps: u64) -> Result<Run, SqlError> {
        let call = self.call(program, call)?;
        let procedure = Arc::clone(&program.procedures()[call.procedure]);
        let value = |argument: &Argument| self.value(argument, program.dialect());
        let arguments: Result<Vec<Datum>, SqlError> = call.arguments.iter().map(value).collect();
        Ok(Run::new(procedure, arguments.map_err(|error| error.at(call.place))?, most_steps))
    }

    fn call<'a>(&self, program: &'a Program, call: usize) -> Result<&'a Call, SqlError> {
        let script = program.scripts().get(self.session);
        script
            .and_then(|script| script.calls.get(call))
            .ok_or_else(|| SqlError::new(SqlState::INTERNAL, "no such call"))
    }

    fn value(&self, argument: &Argument, dialect: Dialect) -> Result<Datum, SqlError> {
        match argument {
            Argument::Constant(value) => Ok(value.clone()),
            Argument::Variable { variable, taken: Some(target) } => target.convert(&self.variables[*variable], dialect),
            Argument::Variable { taken: None, .. } => Ok(Datum::Null),
        }
    }

    /// Ends a call that could not start: it hands out nothing, and all its fields are NULL.
    pub fn refuse(&self, program: &Program, call: usize, outcome: CallOutcome) -> CallResult {
        let procedure = self.call(program, call).ok().map(|call| &program.procedures()[call.procedure]);
        let fields = procedure.map_or(0, |procedure| procedure.fields.len());
        CallResult { outcome, fields: vec![Datum::Null; fields] }
    }

    /// Ends a call: what it hands out, and what the session's variables are now. `hands_out` is false after an error.
    pub fn finish(
        &mut self,
        program: &Program,
        call: usize,
        run: &Run,
        outcome: CallOutcome,
        hands_out: bool,
    ) -> CallResult {
        if let (true, Ok(call)) = (hands_out, self.call(program, call)) {
            for (number, (argument, parameter)) in call.arguments.iter().zip(&run.procedure().parameters).enumerate() {
                if let (Argument::Variable { variable, .. }, true) = (argument, parameter.mode != ParameterMode::In) {
                    self.variables[*variable] = run.parameter(number).clone();
                }
            }
        }
        let fields = (0..run.procedure().fields.len()).map(|number| run.field(number).clone()).collect();
        CallResult { outcome, fields }
    }
}
